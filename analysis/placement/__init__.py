"""Claims of the DAS paper: its model, its trade-offs, its baselines, and the formulas of its networks."""

from __future__ import annotations

from ...models.placement.generate import generate
from ..claim import Paper, Table, instance_table
from .claims import CLAIMS as CLAIMS

PAPER = Paper(
    name="DAS",
    authors="Mingzhe Xing, Hangyu Mao, Shenglin Yin, Lichen Pan, Zhengchao Zhang, Zhen Xiao and Jieyi Long",
    title="A Dual-Agent Scheduler for Distributed Deep Learning Jobs on Public Cloud via Reinforcement "
    "Learning",
    venue="29th ACM SIGKDD Conference on Knowledge Discovery and Data Mining (KDD '23)",
    year=2023,
    main=(
        *("np-hard", "proposition-1", "proposition-2", "reward-misaligned", "clip", "eager-jct"),
        *("table-1-trained", "ablation-trained", "significance"),
    ),
    picture="sub-optimal",
    number=(
        "learned-gap",
        "DAS above the certified bound, median (%)",
        "per cent by which the JCT of DAS is above a certified bound on the optimum, in the median",
    ),
)


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    others = {f"default, {on}": generate("default", seed, cluster=on) for on in ("medium", "large")}
    return [instance_table("placement", mode, lambda size: generate(size, seed), others)]
