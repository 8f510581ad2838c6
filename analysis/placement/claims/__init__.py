"""Claims of the DAS paper: its model, its trade-offs, its baselines, and the formulas of its networks."""

from __future__ import annotations

from ...claim import Claim
from . import (
    evaluation,
    learned,
    learned_cases,
    model,
    network,
    objective,
    rules,
    table_1,
    theory,
)

CLAIMS: list[Claim] = [
    *model.CLAIMS,
    *table_1.CLAIMS,
    *theory.CLAIMS,
    *network.CLAIMS,
    *objective.CLAIMS,
    *evaluation.CLAIMS,
    *learned.CLAIMS,
    *learned_cases.CLAIMS,
    *rules.CLAIMS,
]
