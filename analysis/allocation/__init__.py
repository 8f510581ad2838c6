"""Claims of the OGASched paper: the projection, the regret, gangs, and every table and figure."""

from __future__ import annotations

from ...models.allocation.generate import generate
from ..claim import Paper, Table, instance_table
from .claims import CLAIMS as CLAIMS

PAPER = Paper(
    name="OGASched",
    authors="Hailiang Zhao, Shuiguang Deng, Zhengzhe Xiang, Xueqiang Yan, Jianwei Yin, Schahram Dustdar and "
    "Albert Y. Zomaya",
    title="Scheduling Multi-Server Jobs with Sublinear Regrets via Online Learning",
    venue="arXiv:2305.06572",
    year=2023,
    main=(
        *("theorem-1", "growth-in-ports", "growth-in-slots", "gang-regret"),
        *("algorithm-1-projection", "complexity"),
        *("abstract-improvement", "always-best", "table-2"),
    ),
    picture="regret-over-time",
    number=(
        "theorem-1",
        "largest regret / bound",
        "the largest regret of all runs against the best fixed allocation, in units of the printed bound",
    ),
)


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    return [instance_table("allocation", mode, lambda size: generate(size, seed))]
