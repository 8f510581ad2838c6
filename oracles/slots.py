"""Slots with equal arrivals share one solve: which there are, in which order, and what is proved of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .base import Budget, ProgressCallback, so_far


@dataclass(frozen=True, eq=False)
class SlotCertificate:
    """Value and bound of every slot's optimum."""

    patterns: np.ndarray  # the distinct arrivals, shape (P, L)
    index: np.ndarray  # pattern of each slot, shape (T,)
    # pattern_value, pattern_bound: the best value under each pattern, and what no decision exceeds, shape
    # (P,).
    pattern_value: np.ndarray
    pattern_bound: np.ndarray

    @property
    def per_slot(self) -> np.ndarray:
        """Value and certified bound of each slot, shape (T, 2)."""
        return np.column_stack([self.pattern_value, self.pattern_bound])[self.index]


class Patterns:
    """The distinct arrivals of all slots; iterated, the most frequent first, until the time is up.

    The callback is told of every pattern that is done, and first of value and bound of the whole: of what the
    oracle keeps in ``values`` and ``bounds``, shape (P,), for the optimum under each pattern.
    """

    def __init__(self, arrivals: np.ndarray, budget: Budget, progress: ProgressCallback | None) -> None:
        self.arrivals, index, self.repeats = np.unique(
            arrivals, axis=0, return_inverse=True, return_counts=True
        )
        self.index = index.reshape(-1)
        self.order = np.argsort(-self.repeats, kind="stable")
        self.values, self.bounds = np.zeros(len(self.arrivals)), np.full(len(self.arrivals), np.inf)
        self.budget, self.progress, self.done = budget, progress, 0

    def __len__(self) -> int:
        return len(self.arrivals)

    def __iter__(self) -> Iterator[int]:
        for i in self.order.tolist():
            if self.budget.over:
                return
            yield i
            self.report(1)

    def report(self, count: int) -> None:
        """Report that so many more are done."""
        self.done += count
        if self.progress is not None:
            where = so_far(float(self.repeats @ self.values), float(self.repeats @ self.bounds))
            self.progress(self.done / len(self), f"{where}; {self.done} of {len(self)} arrival patterns")
