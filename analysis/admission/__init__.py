"""Claims of the OASiS paper: its theorems and lemmas, and every figure."""

from __future__ import annotations

from ..claim import Claim, Table

CLAIMS: list[Claim] = []


def facts(mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that the claims start from."""
    return []
