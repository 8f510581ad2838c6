"""Policies of the admission problem: OASiS, the paper's baselines, and ours."""

from __future__ import annotations

from .dorm import Dorm
from .drf import Drf
from .elasticflow import ElasticFlow
from .fifo import Fifo
from .oasis import Oasis, OasisPrinted
from .rolling import RollingHorizon
from .rrh import Rrh

_ALL = (Oasis, OasisPrinted, Fifo, Drf, Rrh, Dorm, RollingHorizon, ElasticFlow)
POLICIES = {policy.name: policy for policy in _ALL}

__all__ = ["POLICIES", "Dorm", "Drf", "ElasticFlow", "Fifo", "Oasis", "OasisPrinted", "RollingHorizon", "Rrh"]
