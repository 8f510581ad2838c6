"""The ESDP paper: regret and what bounds it, runs, and in :mod:`.claims` what the audit checks."""

from __future__ import annotations

from ...models.selection.generate import generate
from ..claim import Paper, Table, instance_table
from .claims import CLAIMS as CLAIMS

PAPER = Paper(
    name="ESDP",
    authors="Hailiang Zhao, Shuiguang Deng, Feiyi Chen, Jianwei Yin, Schahram Dustdar and Albert Y. Zomaya",
    title="Learning to Schedule Multi-Server Jobs with Fluctuated Processing Speeds",
    venue="IEEE Transactions on Parallel and Distributed Systems 34(1), 234-245",
    year=2023,
    main=(
        *("theorem-1", "theorem-2", "theorem-2-condition", "theorem-2-arrival-aware"),
        *("recursion", "algorithm-2", "algorithm-2-complexity"),
        *("improvements", "figure-12"),
    ),
    picture="figure-9",
    number=(
        "theorem-2",
        "least expected regret per slot, default instances",
        "net utility per slot that Algorithm 1 loses to the optimum at the least, averaged over instances",
    ),
)


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    return [instance_table("selection", mode, lambda size: generate(size, seed))]
