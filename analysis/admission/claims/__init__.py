"""Claims of the OASiS paper: its theorems and lemmas, its settings and figures, and statements of ours."""

from __future__ import annotations

from ...claim import Claim
from . import figures, ours, rules, settings, subroutine, theory

CLAIMS: list[Claim] = [
    *subroutine.CLAIMS,
    *theory.CLAIMS,
    *settings.CLAIMS,
    *figures.CLAIMS,
    *ours.CLAIMS,
    *rules.CLAIMS,
]
