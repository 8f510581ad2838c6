"""Claims of the ESDP paper: its theorems and Algorithm 2, regret, gangs, and every table and figure."""

from __future__ import annotations

from ...models.selection.generate import generate
from ..claim import Claim, Table
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
    columns = ("size", *next(iter(sampled.values())).facts(), "digest", "origin")
    rows = tuple((size, *i.facts().values(), i.digest(), str(i.origin)) for size, i in sampled.items())
    return [Table("Generated selection instances", columns, rows)]
