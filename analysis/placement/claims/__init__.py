"""Claims of the DAS paper: its model, its trade-offs, its baselines, and the formulas of its networks."""

from ...claim import Claim
from . import evaluation, learned, learned_cases, model, network, objective, ours, rules, table_1, theory

_FILES = (model, table_1, theory, network, objective, evaluation, learned, learned_cases, ours, rules)

CLAIMS: list[Claim] = [claim for file in _FILES for claim in file.claim.claims]
