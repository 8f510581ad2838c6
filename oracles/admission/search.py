"""Good schedules at scale: ruin and recreate (Schrimpf et al. 2000) at the prices of a linear relaxation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.program import able
from ...models.admission.schedule import Schedule
from ...models.admission.search import Search
from ...models.admission.setting import Setting
from ..annealing import cooling
from ..base import Budget
from ..turns import Stage
from .bound import Priced
from .exact import tidied
from .incumbent import Best

ITERATIONS = 10_000
"""Rounds of ruin and recreate, unless the time is up before."""

FIRST = 1000
FALLS = ((0.1, 0.005, 0.0), (1.0, 0.05, 0.3))
"""In turns, and then again with twice as many rounds (:func:`.annealing.cooling`): the loss that is accepted
with probability 1/e at the start and at the end, as a part of what a placed job earns, and how unsure the
prices are (:meth:`.search.Search.rounds`). The first is for many jobs, for which time is short. The second is
for few: at sure prices, a job has few places, and the best schedule may need others."""

BATCH, BATCH_WORK = 50, 200_000
"""The most rounds between two looks at the clock, and slots times machines times rounds."""

ROUND_WORK, PLACE_WORK = 8e-5, 1e-7
"""The work of a round, and of it for each slot times machines."""

ROUNDS_PER_JOB, LEAST_ROUNDS, SEARCH_WORK = 100, 200, 10**8
"""Without a time limit there are so many rounds for each job, but not more than slots times machines times
rounds allow, or so many."""

BEGUN = 0.25
"""How many rounds of work it is to begin, for each job."""

SAME = 1e-9
"""Values that differ by less than this part are taken to be the same."""


def search(
    instance: AdmissionInstance,
    prices: Priced,
    budget: Budget,
    seed: int = 0,
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
    done, state = 0, _begun(instance, prices, seed, start)
    enough = (1.0 - budget.gap) * prices.bound
    for heats, unsure in itertools.chain.from_iterable(legs(state, FIRST << k) for k in itertools.count()):
        if done >= iterations or budget.over or state.best_value >= enough:
            break
        some = heats[: iterations - done]
        state.rounds(some, enough=enough, unsure=unsure)
        done += len(some)
    return state.schedule()


def by_search(best: Best, seed: int) -> Stage:
    """Search on from the best schedule, again and again, at the best prices and for twice as many rounds."""
    instance = best.instance
    if len(instance.jobs) == len(instance.never):
        return
    work, done = round_work(instance), 0
    for k in itertools.count():
        enough = (1.0 - best.budget.gap) * best.bound
        state = _begun(instance, best.certificate, seed + k, tidied(instance, best.decision))
        offered, begun = best.value * (1.0 + SAME), BEGUN * len(instance.jobs)
        for heats, unsure in legs(state, FIRST << k):
            state.rounds(heats, enough=enough, unsure=unsure)
            done += len(heats)
            if state.best_value > offered:
                offered = state.best_value
                best.offer(state.schedule(), "ruin and recreate")
            best.tell(f"search round {done}")
            yield work * (len(heats) + begun)
            begun = 0.0


def round_work(instance: AdmissionInstance) -> float:
    """Return the work of a round, about the seconds of a core."""
    return ROUND_WORK + PLACE_WORK * _places(instance.setting)


def search_work(instance: AdmissionInstance) -> float:
    """Return the work of a search without a time limit."""
    able = len(instance.jobs) - len(instance.never)
    rounds = min(ROUNDS_PER_JOB * able, max(LEAST_ROUNDS, SEARCH_WORK // _places(instance.setting)))
    return rounds * round_work(instance)


def _places(setting: Setting) -> int:
    """Return the number of slots times machines."""
    return setting.horizon * max(1, len(setting.worker_units) + len(setting.server_units))


def legs(state: Search, first: int) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the heats of some rounds at a time, ``first`` in each turn, and how unsure prices are."""
    most = max(1, min(BATCH, BATCH_WORK // _places(state.setting)))
    share = 1.0 / max(1, sum(placed is not None for placed in state.placements))
    for warm, cold, unsure in FALLS:
        heats = np.fromiter(itertools.islice(cooling(first, share * warm, share * cold), first), np.float64)
        for begin in range(0, first, most):
            yield heats[begin : begin + most], unsure


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
