"""Claims of the OASiS paper: its theorems and lemmas, the schedule subroutine, and every figure."""

from __future__ import annotations

from ...models.admission.generate import generate, testbed
from ..claim import Paper, Table, instance_table
from .claims import CLAIMS as CLAIMS

PAPER = Paper(
    name="OASiS",
    authors="Yixin Bao, Yanghua Peng, Chuan Wu and Zongpeng Li",
    title="Online Job Scheduling in Distributed Machine Learning Clusters",
    venue="IEEE INFOCOM, 495-503",
    year=2018,
    main=(
        *("theorem-4", "small-shares", "size-of-alpha", "theorem-2", "theorem-1", "theorem-3"),
        *("figure-3", "figure-4", "figure-5"),
    ),
    picture="figure-8",
    number=(
        "figure-5",
        "ratios of the certified bound, median",
        "a certified bound on the optimum over what OASiS earns with 10 jobs, in the median",
    ),
)


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    return [instance_table("admission", mode, lambda size: generate(size, seed), {"testbed": testbed(seed)})]
