"""Bounds of few jobs by branching on windows: a job starts by some tick, or after it.

Prices of jobs (:class:`.bound.Packed`) let a job run in part here and in part there, where the cost of both
is the same. Of the schedules in which it starts by some tick between the two, and of those in which it starts
later, the rounds prove more; and every schedule is one or the other. So the least of the bounds of all leaves
of such a tree is a bound of all schedules. In each leaf the branch and bound over the decision epochs goes
on, by the prices of that: it raises the least bound a little, or gives up, and the leaf is split.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from ..turns import Stage
from .bound import ROUND_SECONDS, Packed, Pricing, Volume, units_of
from .exact import Branching, costs_of
from .search import gap

ROUNDS = 160
"""Rounds of the volume method in each window."""

MOST_LEAVES = 64
"""The leaves of the tree have prices of their own, and are kept."""

LEVELS, FURTHER = 10, 1.4
"""The branch and bound tries to raise the bound of a leaf by such a part of the gap at first; by so many
times as much once that is done, and by less by the square of it in the leaves that it is split into."""

WHOLE_WORK = 3.0
"""The least work of the branch and bound before anything is split."""

AS_LONG, LEAST_WORK = 6.0, 1.0
"""It gives up on a leaf, which is split, after so many times the work of its rounds, at least so much."""


@dataclass(eq=False)
class _Leaf:
    """Schedules in which every job starts in its window.

    Attributes
    ----------
    found
        The prices, and the bound that they prove.
    spread
        The standard deviation of each job's starts in the last rounds, in ticks, shape (n,).
    middle
        Their mean, rounded down, from the first of them to the last but one, shape (n,).
    work
        That of its rounds.
    step
        By how much the branch and bound tries to raise the bound, in millionths of a second.
    """

    found: Volume
    spread: np.ndarray
    middle: np.ndarray
    work: float
    step: float


class Windows:
    """The tree, step by step.

    Attributes
    ----------
    low
        No schedule costs less, in millionths of a second.
    """

    def __init__(self, branching: Branching, pricing: Pricing) -> None:
        self.instance, self.branching, self.low = branching.instance, branching, 0
        self._pricing = pricing
        self._heap, self._count = list[tuple[int, int, _Leaf]](), itertools.count()

    @property
    def text(self) -> str:
        """How far it is, in words."""
        parts = f", {len(self._heap)} windows of starts" if len(self._heap) > 1 else ""
        return self.branching.text + parts

    def steps(self, within: float) -> Stage:
        """Search where the bound is least, and split what takes too long; yield work, as a stage does.

        At first all is searched as a whole, which may be enough, and goes on unless jobs have prices alone.
        """
        yield from self._whole(within)
        found = self._pricing.of_jobs
        if found is None or gap(self.instance, self.branching.best, self.low) <= within:
            return
        market, root = found
        first = max(self.low, units_of(self.instance, root.bound))
        step = (self.branching.best - first) / LEVELS
        self._heap.append((yield from self._leaf(root, market.within(market.windows), first, step)))
        while True:
            low, _, leaf = self._heap[0]
            self.low, best = min(low, self.branching.best), self.branching.best
            if gap(self.instance, best, low) <= within:
                return
            whole = len(self._heap) >= MOST_LEAVES or not leaf.spread.any()
            goal = min(best, low + max(1, int(leaf.step)))
            costs = costs_of(self.instance, leaf.found.tariff(self.instance))
            work = math.inf if whole else max(LEAST_WORK, AS_LONG * leaf.work)
            cut = yield from self.branching.search(costs, goal, within, work)
            if cut is not None:
                leaf.step *= FURTHER
                heapq.heapreplace(self._heap, (max(low, cut), next(self._count), leaf))
                continue
            leaf.step /= FURTHER**2
            job, halves = int(leaf.spread.argmax()), []
            for side in (1, 0):
                windows = leaf.found.market.windows.copy()
                windows[job, side] = leaf.middle[job] + 1 - side
                halves.append((yield from self._leaf(leaf.found, market.within(windows), low, leaf.step)))
            heapq.heapreplace(self._heap, halves[0])
            heapq.heappush(self._heap, halves[1])

    def _whole(self, within: float) -> Stage:
        """Search all schedules at once, by the best prices so far, until these can be parted; yield work."""
        spent = 0.0
        for work in self.branching.steps(within, self._pricing.tariff):
            self.low, spent = self.branching.low, spent + work
            yield work
            if spent > WHOLE_WORK and self._pricing.of_jobs is not None:
                break
        self.low = self.branching.low

    def _leaf(
        self, parent: Volume, market: Packed, low: int, step: float
    ) -> Generator[float, None, tuple[int, int, _Leaf]]:
        """Do rounds in a market, from the prices of the parent; return the bound, a number and the leaf."""
        found, spent, starts = parent.within(market), 0.0, []
        for _ in range(ROUNDS):
            found.step()
            starts.append(market.starts.copy())
            before, spent = spent, market.work / market.per_second
            yield ROUND_SECONDS + spent - before
            if found.settled:
                break
        last = np.array(starts[len(starts) // 2 :])
        least, most = last.min(axis=0), last.max(axis=0)
        spread = np.where(least < most, last.std(axis=0), 0.0)
        middle = np.clip(last.mean(axis=0).astype(np.int64), least, np.maximum(least, most - 1))
        proved = max(low, units_of(self.instance, found.bound))
        return proved, next(self._count), _Leaf(found, spread, middle, spent, step)
