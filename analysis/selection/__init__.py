"""Claims of the ESDP paper: its theorems and Algorithm 2, regret, gangs, and every table and figure."""

from __future__ import annotations

from ...models.selection.generate import generate
from ..claim import Claim, Table, instance_table
from . import algorithm, evaluation, figures, gangs, theory

CLAIMS: list[Claim] = [
    *algorithm.CLAIMS,
    *theory.CLAIMS,
    *gangs.CLAIMS,
    *evaluation.CLAIMS,
    *figures.CLAIMS,
]


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    sizes = ("tiny", "default") if mode == "quick" else ("tiny", "default", "large")
    sampled = {size: generate(size, seed) for size in sizes}
    return [instance_table("selection", sampled)]
