"""Policies of the placement problem: heuristics, metaheuristics and learned schedulers."""

from __future__ import annotations

from typing import Any

from .backfilling import EasyEstimateConsolidate
from .heuristics import (
    DrfConsolidate,
    DrfFirstFit,
    DrfLoadBalance,
    FifoConsolidate,
    FifoFirstFit,
    FifoLoadBalance,
    SjfConsolidate,
    SjfEstimateConsolidate,
    Tetris,
)
from .learned.policies import TRAINED, Untrained
from .metaheuristics import Malo, Mosa
from .packing import DrfByLoad, DrfFgd, DrfPatient, SjfEstimatePatient
from .rolling import RollingHorizon, RollingHorizonEstimate

_PAPER = (FifoFirstFit, FifoLoadBalance, DrfFirstFit, DrfLoadBalance, Tetris, Mosa, Malo)
_OURS = (
    *(FifoConsolidate, SjfConsolidate, SjfEstimateConsolidate, DrfConsolidate),
    *(DrfByLoad, DrfPatient, DrfFgd, SjfEstimatePatient, EasyEstimateConsolidate),
    *(RollingHorizon, RollingHorizonEstimate),
)
_ALL: tuple[type[Any], ...] = (*_PAPER, *_OURS, *TRAINED.values(), Untrained)
POLICIES = {policy.name: policy for policy in _ALL}

__all__ = ["POLICIES", "DrfByLoad", "DrfConsolidate", "DrfFgd", "DrfFirstFit", "DrfLoadBalance", "DrfPatient"]
__all__ += ["EasyEstimateConsolidate", "FifoConsolidate", "FifoFirstFit", "FifoLoadBalance"]
__all__ += [
    "Malo",
    "Mosa",
    "RollingHorizon",
    "RollingHorizonEstimate",
    "SjfConsolidate",
    "SjfEstimateConsolidate",
    "SjfEstimatePatient",
    "Tetris",
    "Untrained",
]
