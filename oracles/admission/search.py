"""Good schedules at scale: ruin and recreate (Schrimpf et al. 2000) at the prices of a linear relaxation."""

from __future__ import annotations

import itertools

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.program import able
from ...models.admission.schedule import Schedule
from ...models.admission.search import Search
from ..annealing import cooling
from ..base import Budget, PartProgress
from .bound import Priced

ITERATIONS = 10_000
"""Rounds of ruin and recreate without a time limit."""

FIRST = 1000
WARM, COLD = 5e-3, 1e-4
"""Relative loss that is accepted with probability 1/e: at the start, and after so many rounds; then it begins
again with twice as many, and so on (:func:`.annealing.cooling`)."""

BATCH, BATCH_WORK = 50, 200_000
"""The most rounds between two looks at the clock, and slots times machines times rounds."""


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
    setting, per_unit = instance.setting, (prices.worker_prices, prices.server_prices)
    state = Search(setting, able(instance), per_unit, np.random.default_rng(seed))
    state.greedy(1.0)
    state.greedy(0.0)
    enough = (1.0 - budget.gap) * prices.bound
    machines = len(setting.worker_units) + len(setting.server_units)
    batch = max(1, min(BATCH, BATCH_WORK // (setting.horizon * machines)))
    heats, done = cooling(FIRST, WARM, COLD), 0
    while done < iterations and not budget.over and state.best_value < enough:
        count = min(batch, iterations - done)
        state.rounds(np.fromiter(itertools.islice(heats, count), np.float64), enough=enough)
        done += count
        if progress is not None:
            part = max(done / iterations, budget.seconds / budget.time_limit)
            progress(part, f"search round {done}", value=state.best_value)
    return state.schedule()
