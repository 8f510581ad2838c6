"""Policies of the selection problem: ESDP, other bandits, and the paper's baselines."""

from __future__ import annotations

from .bandits import Cucb, Greedy, Thompson
from .esdp import Aescb, Escb, Esdp
from .gang import GangEsdp
from .heuristics import Hswf, Lcf, Lwtf
from .printed import EsdpPrinted
from .variances import CucbV, EscbV, GangEscbV, GaussianThompson

POLICIES = {
    policy.name: policy
    for policy in (
        *(Esdp, EsdpPrinted, Escb, Cucb, Thompson, Greedy, Hswf, Lcf, Lwtf),
        *(EscbV, CucbV, GaussianThompson, GangEsdp, GangEscbV, Aescb),
    )
}

__all__ = [
    "POLICIES",
    "Aescb",
    "Cucb",
    "CucbV",
    "Escb",
    "EscbV",
    "Esdp",
    "EsdpPrinted",
    "GangEscbV",
    "GangEsdp",
    "GaussianThompson",
    "Greedy",
    "Hswf",
    "Lcf",
    "Lwtf",
    "Thompson",
]
