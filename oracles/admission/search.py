"""Good schedules at scale: ruin and recreate (Schrimpf et al. 2000) at the prices of a linear relaxation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

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
FALLS = ((0.1, 0.005, 0.0), (1.0, 0.05, 0.3))
"""In turns, and then again with twice as many rounds (:func:`.annealing.cooling`): the loss that is accepted
with probability 1/e at the start and at the end, as a part of what a placed job earns, and how unsure the
prices of slots are (:meth:`.search.Search.rounds`). The first is for many jobs, for which time is short. The
second is for few: at sure prices, a job has few places, and the best schedule may need others."""

BATCH, BATCH_WORK = 50, 200_000
"""The most rounds between two looks at the clock, and slots times machines times rounds."""


def search(
    instance: AdmissionInstance,
    prices: Priced,
    budget: Budget,
    seed: int = 0,
    progress: PartProgress | None = None,
    iterations: int = ITERATIONS,
    start: Schedule | None = None,
) -> Schedule:
    """Return a good schedule of all jobs, by ruin and recreate at given prices (:class:`.search.Search`).

    It begins with ``start`` and what finds room in it, or with a greedy schedule if that is better. In
    ``start``, every job finishes and has nothing to spare.

    A round that loses is undone, unless it loses little (simulated annealing). It cools by rounds, and the
    best of all rounds counts: with more rounds or time, what is returned is never worse.

    The search ends within ``budget.gap`` of the bound of the prices. With a time limit, how many rounds there
    are depends on the machine's speed; there are at most ``iterations``.
    """
    if len(prices.payoffs) == len(instance.never):
        return Schedule.empty()
    setting, state = instance.setting, _begun(instance, prices, seed, start)
    enough = (1.0 - budget.gap) * prices.bound
    machines = len(setting.worker_units) + len(setting.server_units)
    batch = max(1, min(BATCH, BATCH_WORK // (setting.horizon * machines)))
    done = 0
    for heats, unsure in _batches(state, batch):
        if done >= iterations or budget.over or state.best_value >= enough:
            break
        some = heats[: iterations - done]
        state.rounds(some, enough=enough, unsure=unsure)
        done += len(some)
        if progress is not None:
            part = max(done / iterations, budget.seconds / budget.time_limit)
            progress(part, f"search round {done}", value=state.best_value)
    return state.schedule()


def _batches(state: Search, most: int) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the heats of at most so many rounds at a time, and how unsure prices are, without an end."""
    share = 1.0 / max(1, sum(placed is not None for placed in state.placements))
    falls = [(cooling(FIRST, share * warm, share * cold), unsure) for warm, cold, unsure in FALLS]
    for doubled in itertools.count():
        for fall, unsure in falls:
            leg = itertools.islice(fall, FIRST << doubled)
            while len(heats := np.fromiter(itertools.islice(leg, most), np.float64)):
                yield heats, unsure


def _begun(instance: AdmissionInstance, prices: Priced, seed: int, start: Schedule | None) -> Search:
    """Return the better one of a start, with what finds room in it, and of a greedy schedule."""
    per_unit = prices.worker_prices, prices.server_prices
    given = instance.setting, able(instance), per_unit, np.random.default_rng(seed)
    begun = [Search(*given)]
    if start is not None:
        old = Search(*given)
        for i, job in enumerate(old.jobs):
            mine = start.of_job(job.index)
            if len(mine.workers):
                old.restore(i, *(rows[:, [0, 2, 3]] - [1, 0, 0] for rows in (mine.workers, mine.servers)))
        begun.append(old)
    for state in begun:
        state.greedy(1.0)
        state.greedy(0.0)
    return max(begun, key=lambda state: state.value)
