"""Claims of the ESDP paper and its slides: theorems, Algorithm 2, gangs, tables and figures; and ours."""

from ...claim import Claim
from . import algorithm, figures, gangs, ours, rules, tables, theory

PARTS = (algorithm, theory, gangs, tables, figures, ours, rules)
CLAIMS: list[Claim] = [one for part in PARTS for one in part.claim.claims]
