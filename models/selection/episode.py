"""One pass through the slots of an instance whose decisions choose channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ..base import DecisionError, Outcome, frozen_copy
from .setting import Feedback, Observation


class Sampled(Protocol):
    """The members of an instance that an episode uses; see :class:`.instance.ChannelInstance`."""

    mean: np.ndarray
    arrivals: np.ndarray

    @property
    def setting(self) -> Any:
        """Checks decisions."""
        ...

    @property
    def path(self) -> np.ndarray:
        """Z~[slot][channel]."""
        ...


class SlotEpisode:
    """One pass through the slots of an instance; see :class:`clairvoyant.models.base.Episode`."""

    def __init__(self, instance: Sampled, sees_arrivals: bool) -> None:
        self._instance = instance
        self._sees_arrivals = sees_arrivals
        self._slot = -1

    def __iter__(self) -> Iterator[Observation]:
        """Yield one observation per slot; each holds its own copy of the arrivals, never a view."""
        for slot in range(self._instance.setting.slots):
            self._slot = slot
            shown = frozen_copy(self._instance.arrivals[slot]) if self._sees_arrivals else None
            yield Observation(slot, shown)

    def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
        """Check and score the decision of the current slot."""
        instance, setting = self._instance, self._instance.setting
        arrivals = instance.arrivals[self._slot]
        x = setting.check_shape(decision)
        feasible = setting.feasible(x, arrivals)
        if enforce and not feasible:
            broken = setting.violations(x, arrivals)
            raise DecisionError.at(f"slot {self._slot}", broken)
        chosen = frozen_copy(np.flatnonzero(x != 0.0))
        utility = frozen_copy(instance.path[self._slot, chosen])
        with np.errstate(over="ignore", invalid="ignore"):  # what has no finite reward is infeasible
            reward = float(instance.mean @ x)
        return Outcome(reward, feasible, Feedback(self._slot, chosen, utility))
