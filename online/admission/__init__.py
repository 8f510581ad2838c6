"""Policies of the admission problem: OASiS, the paper's baselines, and ours."""

from __future__ import annotations

from .dorm import Dorm
from .drf import Drf
from .fifo import Fifo
from .oasis import Oasis, OasisPrinted
from .rolling import RollingHorizon
from .rrh import Rrh

POLICIES = {policy.name: policy for policy in (Oasis, OasisPrinted, Fifo, Drf, Rrh, Dorm, RollingHorizon)}

__all__ = ["POLICIES", "Dorm", "Drf", "Fifo", "Oasis", "OasisPrinted", "RollingHorizon", "Rrh"]
