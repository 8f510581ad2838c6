"""Claims of the OGASched paper: the projection, the regret, gangs, and every table and figure."""

from __future__ import annotations

from ...models.allocation.generate import generate
from ..claim import Table, instance_table
from .claims import CLAIMS as CLAIMS


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    sizes = ("tiny", "default") if mode == "quick" else ("tiny", "default", "large")
    return [instance_table("allocation", {size: generate(size, seed) for size in sizes})]
