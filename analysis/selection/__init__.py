"""The ESDP paper: regret and what bounds it, runs, and in :mod:`.claims` what the audit checks."""

from __future__ import annotations

from ...models.selection.generate import generate
from ..claim import Table, instance_table
from .claims import CLAIMS

__all__ = ["CLAIMS", "facts"]


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    sizes = ("tiny", "default") if mode == "quick" else ("tiny", "default", "large")
    sampled = {size: generate(size, seed) for size in sizes}
    return [instance_table("selection", sampled)]
