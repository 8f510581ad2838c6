"""Policies of the allocation problem: OGASched, the paper's heuristics, leaders, and one for gangs."""

from __future__ import annotations

from .gang import PerturbedLeader
from .heuristics import BinPacking, Drf, Fairness, Spreading
from .leaders import FollowLeader, Hedge, SlotOptimum
from .ogasched import Ogasched
from .printed import OgaschedPrinted

POLICIES = {
    policy.name: policy
    for policy in (
        *(Ogasched, OgaschedPrinted, Drf, Fairness, BinPacking, Spreading),
        *(FollowLeader, Hedge, SlotOptimum, PerturbedLeader),
    )
}

__all__ = [
    "POLICIES",
    "BinPacking",
    "Drf",
    "Fairness",
    "FollowLeader",
    "Hedge",
    "Ogasched",
    "OgaschedPrinted",
    "PerturbedLeader",
    "SlotOptimum",
    "Spreading",
]
