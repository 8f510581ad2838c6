"""Policies of the allocation problem: OGASched, the paper's heuristics, and perturbed leader for gangs."""

from __future__ import annotations

from .gang import PerturbedLeader
from .heuristics import BinPacking, Drf, Fairness, Spreading
from .ogasched import Ogasched
from .printed import OgaschedPrinted

POLICIES = {
    policy.name: policy
    for policy in (Ogasched, OgaschedPrinted, Drf, Fairness, BinPacking, Spreading, PerturbedLeader)
}

__all__ = [
    "POLICIES",
    "BinPacking",
    "Drf",
    "Fairness",
    "Ogasched",
    "OgaschedPrinted",
    "PerturbedLeader",
    "Spreading",
]
