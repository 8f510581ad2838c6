"""Policies of the admission problem: OASiS and the paper's baselines."""

from __future__ import annotations

from .dorm import Dorm
from .drf import Drf
from .fifo import Fifo
from .oasis import Oasis, OasisPrinted
from .rrh import Rrh

POLICIES = {policy.name: policy for policy in (Oasis, OasisPrinted, Fifo, Drf, Rrh, Dorm)}

__all__ = ["POLICIES", "Dorm", "Drf", "Fifo", "Oasis", "OasisPrinted", "Rrh"]
