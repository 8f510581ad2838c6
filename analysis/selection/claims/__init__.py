"""Claims of the ESDP paper and its slides: theorems, Algorithm 2, gangs, tables and figures; and ours."""

from __future__ import annotations

from ...claim import Claim
from . import algorithm, figures, gangs, ours, rules, tables, theory

CLAIMS: list[Claim] = [
    *algorithm.CLAIMS,
    *theory.CLAIMS,
    *gangs.CLAIMS,
    *tables.CLAIMS,
    *figures.CLAIMS,
    *ours.CLAIMS,
    *rules.CLAIMS,
]
