"""One pass through the slots of an allocation instance."""

from __future__ import annotations

from typing import Any

from .. import slots
from ..base import DecisionError, Outcome, frozen_copy
from .setting import Feedback


class SlotEpisode(slots.SlotEpisode[slots.Slotted]):
    """One pass through the slots of an instance, or of a gang instance built on it."""

    def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
        """Check and score the decision of the current slot."""
        setting, arrivals = self._instance.setting, self._instance.arrivals[self._slot]
        y = setting.check_shape(decision)
        reward, feasible = setting.evaluate(y, arrivals)
        if enforce and not feasible:
            broken = setting.violations(y)
            raise DecisionError.at(f"slot {self._slot}", broken)
        return Outcome(reward, feasible, Feedback(self._slot, frozen_copy(arrivals), reward))
