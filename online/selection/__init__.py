"""Policies of the selection problem: ESDP, other bandits, and the paper's baselines."""

from __future__ import annotations

from .bandits import Cucb, Greedy, Thompson
from .esdp import Escb, Esdp
from .gang import GangEsdp
from .heuristics import Hswf, Lcf, Lwtf
from .printed import EsdpPrinted

POLICIES = {
    policy.name: policy
    for policy in (Esdp, EsdpPrinted, Escb, Cucb, Thompson, Greedy, Hswf, Lcf, Lwtf, GangEsdp)
}

__all__ = [
    "POLICIES",
    "Cucb",
    "Escb",
    "Esdp",
    "EsdpPrinted",
    "GangEsdp",
    "Greedy",
    "Hswf",
    "Lcf",
    "Lwtf",
    "Thompson",
]
