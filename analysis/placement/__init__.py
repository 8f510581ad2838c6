"""Claims of the DAS paper: its model, its trade-offs, its baselines, and the formulas of its networks."""

from __future__ import annotations

from ...models.placement.generate import generate
from ..claim import Table, instance_table
from .claims import CLAIMS

__all__ = ["CLAIMS", "facts"]


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    sizes = ("tiny", "default") if mode == "quick" else ("tiny", "default", "large")
    sampled = {size: generate(size, seed) for size in sizes}
    sampled |= {
        f"default, {cluster}": generate("default", seed, cluster=cluster) for cluster in ("medium", "large")
    }
    return [instance_table("placement", sampled)]
