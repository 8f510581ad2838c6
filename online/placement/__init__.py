"""Policies of the placement problem: heuristics and metaheuristics."""

from __future__ import annotations

from .heuristics import (
    DrfFirstFit,
    DrfLoadBalance,
    FifoConsolidate,
    FifoFirstFit,
    FifoLoadBalance,
    SjfConsolidate,
    SjfEstimateConsolidate,
    Tetris,
)
from .metaheuristics import Malo, Mosa

_PAPER = (FifoFirstFit, FifoLoadBalance, DrfFirstFit, DrfLoadBalance, Tetris, Mosa, Malo)
_OURS = (FifoConsolidate, SjfConsolidate, SjfEstimateConsolidate)
POLICIES = {policy.name: policy for policy in (*_PAPER, *_OURS)}

__all__ = ["POLICIES", "DrfFirstFit", "DrfLoadBalance", "FifoConsolidate", "FifoFirstFit", "FifoLoadBalance"]
__all__ += ["Malo", "Mosa", "SjfConsolidate", "SjfEstimateConsolidate", "Tetris"]
