"""Claims of the OASiS paper: its theorems and lemmas, the schedule subroutine, and every figure."""

from __future__ import annotations

from ...models.admission.generate import generate, testbed
from ..claim import Claim, Table, instance_table
from . import evaluation, figures, subroutine, theory

CLAIMS: list[Claim] = [*subroutine.CLAIMS, *theory.CLAIMS, *evaluation.CLAIMS, *figures.CLAIMS]


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    sizes = ("tiny", "default") if mode == "quick" else ("tiny", "default", "large")
    sampled = {**{size: generate(size, seed) for size in sizes}, "testbed": testbed(seed)}
    return [instance_table("admission", sampled)]
