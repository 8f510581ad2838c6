"""The common part of the policies that play the best decision by an index of every channel."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ...models.selection.setting import Feedback, Observation, Setting
from ..base import shown_arrivals
from .statistics import Statistics


class IndexPolicy(ABC):
    """Maximise values.x + sqrt(spread.x) over Omega(t), untried channels first.

    Channels never tried so far come before everything: a decision holds as many of them as any decision in
    Omega(t) can hold, and of those with as many it has the largest index. A channel that never fits, or
    whose port never has a job, delays nothing.

    Ties: of decisions with the largest index, up to rounding, the last decision under the same arrivals stays
    if it is one; otherwise, as while a channel is untried, the exact search returns one of them, the same in
    every run, by no simple rule.

    With a ``gap`` above 0 the search may end with an index of which 1 + gap times is proved to be as much as
    the largest; without one too, where that takes too long. Untried channels are counted exactly all the
    same.

    Attributes
    ----------
    largest_gap
        The largest distance from its bound that an index had since the start, relative to the bound, with
        what rounding may take. Slots in which channels were tried for the first time do not count.
    """

    gap: float = 0.0

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        self._setting = setting
        self._statistics = Statistics(setting.channels)
        self._last: dict[bytes, np.ndarray] = {}  # by arrivals: where the next search begins
        self.largest_gap = 0.0

    @abstractmethod
    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return values and spread of every channel from what was seen before ``slot``, shape (E,)."""

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the best decision by the index."""
        arrivals = shown_arrivals(observation)
        values, spread = self.index(observation.slot)
        key = arrivals.tobytes()
        found = self._setting.knapsack.best(
            values,
            spread,
            self._setting.open(arrivals),
            first=self._statistics.untried,
            guess=self._last.get(key),
            gap=self.gap,
        )
        if found.first == 0 and found.bound > 0.0:
            self.largest_gap = max(self.largest_gap, 1.0 - found.value / found.bound)
        self._last[key] = found.x
        return found.x

    def learn(self, feedback: Feedback) -> None:
        """Count what the chosen channels have shown."""
        self._statistics.update(feedback)
