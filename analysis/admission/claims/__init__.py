"""Claims of the OASiS paper: its theorems and lemmas, its settings and figures, and statements of ours."""

from ...claim import Claim
from . import figures, ours, rules, settings, subroutine, theory

PARTS = (subroutine, theory, settings, figures, ours, rules)
CLAIMS: list[Claim] = [one for part in PARTS for one in part.claim.claims]
