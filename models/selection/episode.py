"""One pass through the slots of an instance whose decisions choose channels."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .. import slots
from ..base import DecisionError, Outcome, frozen, frozen_copy
from .setting import Feedback


class Sampled(slots.Slotted, Protocol):
    """The members of an instance that an episode uses; see :class:`.instance.ChannelInstance`."""

    mean: np.ndarray

    @property
    def path(self) -> np.ndarray:
        """Z~[slot][channel]."""
        ...


class SlotEpisode(slots.SlotEpisode[Sampled]):
    """One pass through the slots of an instance."""

    def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
        """Check and score the decision of the current slot."""
        instance, setting = self._instance, self._instance.setting
        arrivals = instance.arrivals[self._slot]
        x = setting.check_shape(decision)
        feasible = setting.feasible(x, arrivals)
        if enforce and not feasible:
            broken = setting.violations(x, arrivals)
            raise DecisionError.at(f"slot {self._slot}", broken)
        chosen = frozen_copy(x.nonzero()[0])
        utility = frozen(instance.path[self._slot][chosen])
        with np.errstate(over="ignore", invalid="ignore"):  # what has no finite reward is infeasible
            reward = float(instance.mean @ x)
        return Outcome(reward, feasible, Feedback(self._slot, chosen, utility))
