"""Claims of the DAS paper that need no network: its model, its trade-offs, and its baselines."""

from __future__ import annotations

from ..claim import Claim, Table

CLAIMS: list[Claim] = []


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    return []
