"""Claims of the DAS paper: its model, its trade-offs, its baselines, and the formulas of its networks."""

from __future__ import annotations

from ...models.placement.generate import generate
from ..claim import Claim, Table
from . import evaluation, learned_cases, learned_ours, learning, model, network, objective, theory

CLAIMS: list[Claim] = [
    *model.CLAIMS,
    *theory.CLAIMS,
    *network.CLAIMS,
    *objective.CLAIMS,
    *evaluation.CLAIMS,
    *learning.CLAIMS,
    *learned_cases.CLAIMS,
    *learned_ours.CLAIMS,
]


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    sizes = ("tiny", "default") if mode == "quick" else ("tiny", "default", "large")
    sampled = {size: generate(size, seed) for size in sizes}
    sampled |= {
        f"default, {cluster}": generate("default", seed, cluster=cluster) for cluster in ("medium", "large")
    }
    columns = ("size", *next(iter(sampled.values())).facts(), "digest", "origin")
    rows = tuple((size, *i.facts().values(), i.digest(), str(i.origin)) for size, i in sampled.items())
    return [Table("Generated placement instances", columns, rows)]
