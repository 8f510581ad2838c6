"""Claims of the OASiS paper: its theorems and lemmas, the schedule subroutine, and every figure."""

from __future__ import annotations

from ...models.admission.generate import generate, testbed
from ..claim import Table, instance_table
from .claims import CLAIMS

__all__ = ["CLAIMS", "facts"]


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    sizes = ("tiny", "default") if mode == "quick" else ("tiny", "default", "large")
    sampled = {**{size: generate(size, seed) for size in sizes}, "testbed": testbed(seed)}
    return [instance_table("admission", sampled)]
