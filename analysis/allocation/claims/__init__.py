"""Claims of the OGASched paper: the projection, the regret, gangs, every table and figure; and ours."""

from ...claim import Claim
from . import figures, gangs, ours, projection, rules, steps, tables, theory

PARTS = (projection, theory, gangs, tables, steps, figures, ours, rules)
CLAIMS: list[Claim] = [one for part in PARTS for one in part.claim.claims]
