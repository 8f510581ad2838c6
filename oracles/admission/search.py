"""Good schedules at scale: ruin and recreate (Schrimpf et al. 2000) at the prices of a linear relaxation."""

from __future__ import annotations

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.program import able
from ...models.admission.schedule import Schedule
from ...models.admission.search import Search
from ..annealing import cooling
from ..base import Budget, PartProgress, relative_gap
from .bound import Priced

ITERATIONS = 10_000
"""Rounds of ruin and recreate without a time limit."""

FIRST = 1000
WARM, COLD = 1.5e-2, 1e-4
"""Relative loss that is accepted with probability 1/e: at the start, and after so many rounds; then it begins
again with twice as many, and so on (:func:`.annealing.cooling`)."""


def search(
    instance: AdmissionInstance,
    prices: Priced,
    budget: Budget,
    seed: int = 0,
    progress: PartProgress | None = None,
    iterations: int = ITERATIONS,
) -> Schedule:
    """Return a good schedule of all jobs, by ruin and recreate at given prices (:class:`.search.Search`).

    A round that loses is undone, unless it loses little (simulated annealing). It cools by rounds, and the
    best of all rounds counts: with more rounds or time, what is returned is never worse.

    The search ends within ``budget.gap`` of the bound of the prices. With a time limit, how many rounds there
    are depends on the machine's speed; there are at most ``iterations``.
    """
    if len(prices.payoffs) == len(instance.never):
        return Schedule.empty()
    per_unit = prices.worker_prices, prices.server_prices
    state = Search(instance.setting, able(instance), per_unit, np.random.default_rng(seed))
    state.greedy(1.0)
    state.greedy(0.0)
    best, value = list(state.placements), state.value
    heats = cooling(FIRST, WARM, COLD)
    for k in range(iterations):
        if budget.over or relative_gap(value, prices.bound) <= budget.gap:
            break
        state.round(value * next(heats))
        if state.value > value:
            best, value = list(state.placements), state.value
        if progress is not None and k % 100 == 0:
            done = max(k / iterations, budget.seconds / budget.time_limit)
            progress(done, f"search round {k}", value=value)
    return state.schedule(best)
