"""Claims of the OGASched paper: the projection, the regret, gangs, every table and figure; and ours."""

from __future__ import annotations

from ...claim import Claim
from . import figures, gangs, ours, projection, rules, steps, tables, theory

CLAIMS: list[Claim] = [
    *projection.CLAIMS,
    *theory.CLAIMS,
    *gangs.CLAIMS,
    *tables.CLAIMS,
    *steps.CLAIMS,
    *figures.CLAIMS,
    *ours.CLAIMS,
    *rules.CLAIMS,
]
