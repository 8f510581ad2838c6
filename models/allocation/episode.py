"""One pass through the slots of an allocation instance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ..base import DecisionError, Outcome, frozen_copy
from .setting import Feedback, Observation


class Slotted(Protocol):
    """An instance in slots: :class:`AllocationInstance`, and the gang instance built on it."""

    @property
    def arrivals(self) -> np.ndarray:
        """x[slot][port]."""
        ...

    @property
    def setting(self) -> Any:
        """Checks and scores decisions."""
        ...


class SlotEpisode:
    """One pass through the slots of an instance; see :class:`clairvoyant.models.base.Episode`."""

    def __init__(self, instance: Slotted, sees_arrivals: bool) -> None:
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
        setting, arrivals = self._instance.setting, self._instance.arrivals[self._slot]
        y = setting.check_shape(decision)
        reward, feasible = setting.evaluate(y, arrivals)
        if enforce and not feasible:
            broken = setting.violations(y)
            raise DecisionError.at(f"slot {self._slot}", broken)
        return Outcome(reward, feasible, Feedback(self._slot, frozen_copy(arrivals), reward))
