"""Good schedules for placement at any size: list schedules, plans made with all knowledge, and annealing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..models.placement.instance import WEIGHT_UNIT, PlacementInstance, taken_schedule
from ..models.placement.kernels import (
    CONSOLIDATE,
    FIRST_FIT,
    LOAD_BALANCE,
    USED,
    WAITED,
    copy_state,
    run_by_keys,
)
from ..models.placement.schedule import Schedule
from . import placement_search_kernels as kernels
from .base import Budget, ProgressCallback

EXPONENTS = (0.0, 0.25, 0.5, 1.0)
"""Jobs are ranked by duration times the share of the cluster that they take to such a power."""

ROOM = (1.0, 1.1, 1.25)
"""What plans multiply durations by, if jobs contend."""

PLACING = {CONSOLIDATE: "", FIRST_FIT: ", first fit", LOAD_BALANCE: ", balanced"}

PLAN_WORK = 4e8
"""Plans are made up to so many jobs squared times machines."""

BATCH = 50
"""Jobs that are planned between two looks at the clock."""

WARM, COLD = 1e-3, 1e-6
"""Relative loss that is accepted with probability 1/e, at the start and at the end."""

SEARCH_WORK = 6e6
MOST_ROUNDS = 20_000
"""Rounds of the local search without a time limit: so many, and no more than SEARCH_WORK jobs simulated."""

BATCH_WORK = 20_000
"""Jobs that are simulated in the local search between two looks at the clock."""

ANNEALED = ", improved by annealing"
UNTIL_TIME = 10**9
SEED = 0


class _Best:
    """The best simulation so far, and what made it: keys, releases and styles, and the places of a plan."""

    def __init__(self, instance: PlacementInstance) -> None:
        self.instance, self.table = instance, instance.table
        self.blank, self.current, self.other, self.best = (instance.simulator().state for _ in range(4))
        self.cost, self.maker = math.inf, ""
        self.setting = (
            instance.setting.slowdown.contention,
            instance.setting.window,
            float(instance.units_of_cost(0, 1)),
        )
        n, most = len(instance.jobs), self.table.duration.shape[1] - 1
        self.genome = self._genome(np.zeros(n), instance.jobs.submit, CONSOLIDATE)
        self.places = np.zeros((n, most, 2), dtype=np.int64), np.zeros(n, dtype=np.int64)

    def _genome(self, keys: np.ndarray, release: np.ndarray, rule: int) -> tuple[np.ndarray, ...]:
        """Return keys as places in their order, releases, and one style for all jobs."""
        ranks = np.empty(len(keys))
        ranks[np.argsort(keys, kind="stable")] = np.arange(len(keys), dtype=np.float64)
        style = np.tile(np.array([rule, len(self.instance.setting.capacity)]), (len(keys), 1))
        return ranks, release.copy(), style

    def by_list(self, keys: np.ndarray, rule: int, strict: bool, maker: str) -> None:
        """Run the list schedule of some keys."""
        contention, window, _ = self.setting
        copy_state(self.blank, self.other)
        run_by_keys(self.table, self.other, contention, window, keys, rule, strict)
        clock = self.other.clock
        cost = float(self.instance.units_of_cost(int(clock[WAITED]), int(clock[USED])))
        genome = self._genome(keys, self.instance.jobs.submit, rule)
        self._take(cost, maker, genome, (self.places[0], 0 * self.places[1]))

    def by_plan(
        self, start: np.ndarray, places: tuple[np.ndarray, np.ndarray], obeyed: bool, maker: str
    ) -> None:
        """Run a plan; unless it is ``obeyed``, jobs may start before it says so, on any machines."""
        genome = self._genome(start, start if obeyed else self.instance.jobs.submit, CONSOLIDATE)
        if not obeyed:
            places = (places[0], 0 * places[1])
        self._take(self.run(genome, places, self.cost), maker, genome, places)

    def run(
        self, genome: tuple[np.ndarray, ...], places: tuple[np.ndarray, np.ndarray], limit: float
    ) -> float:
        """Simulate, and return the cost in millionths of a second, infinite if it is above the limit."""
        contention, window, weight = self.setting
        keys, release, style = genome
        rows, spans = places
        cost: float = kernels.run_plan(
            self.table, self.blank, self.other, contention, window, keys, release, style, rows, spans,
            weight, limit,
        )  # fmt: skip
        return cost

    def _take(
        self,
        cost: float,
        maker: str,
        genome: tuple[np.ndarray, ...],
        places: tuple[np.ndarray, np.ndarray],
    ) -> None:
        if cost < self.cost:
            self.cost, self.maker, self.genome = cost, maker, genome
            self.places = places[0].copy(), places[1].copy()
            copy_state(self.other, self.best)

    def schedule(self) -> Schedule:
        """Return the schedule of the best simulation."""
        simulator = self.instance.simulator()
        copy_state(self.best, simulator.state)
        return taken_schedule(simulator)


def size_keys(instance: PlacementInstance, exponent: float) -> np.ndarray:
    """Return duration times the largest share of a resource to a power, shape (n,)."""
    jobs = instance.jobs
    total = np.maximum(1, instance.setting.capacity.sum(axis=0))
    share = (jobs.need * jobs.instances[:, None] / total).max(axis=1)
    result: np.ndarray = jobs.duration * share**exponent
    return result


def list_schedule(instance: PlacementInstance) -> Schedule:
    """Return the schedule by shortest duration first, on as few machines as each job can have."""
    best = _Best(instance)
    best.by_list(size_keys(instance, 0.0), CONSOLIDATE, False, "shortest first")
    return best.schedule()


def search(
    instance: PlacementInstance,
    budget: Budget,
    progress: ProgressCallback | None = None,
    *,
    seed: int = SEED,
    rounds: int | None = None,
    bound: float = -math.inf,
) -> tuple[Schedule, str]:
    """Return a good schedule of all jobs, known in advance, and what made it.

    First list schedules by several keys and rules. Then plans: in the order of such keys each job is planned
    as early as it fits beside those planned before it, whether they come earlier or later; so a long job does
    not start where it would delay many short ones. Plans are played, and those that contention upsets are
    also played as mere orders. Last, simulated annealing on the keys and on the ticks from which on jobs are
    tried, each round by a whole simulation.

    Parameters
    ----------
    instance
        The instance.
    budget
        Gap and time limit; the first list schedule is made in any case. With a time limit the result depends
        on the machine's speed.
    progress
        Called with the fraction done and a text.
    seed
        Decides all that is random.
    rounds
        Rounds of the local search; by default as many as the size allows (:data:`SEARCH_WORK`), or until the
        time is up if there is a limit.
    bound
        A lower bound of the cost in seconds: the search ends within ``budget.gap`` of it.
    """
    state = _Search(instance, budget, progress, bound)
    if rounds is None:
        rounds = min(MOST_ROUNDS, int(SEARCH_WORK // max(1, len(instance.jobs))))
        rounds = rounds if math.isinf(budget.time_limit) else UNTIL_TIME
    if len(instance.jobs):
        state.lists()
        state.plans()
        state.anneal(np.random.default_rng(seed), rounds)
    return state.best.schedule(), state.best.maker or "nothing to run"


class _Search:
    """State of the search; see :func:`search`."""

    def __init__(
        self, instance: PlacementInstance, budget: Budget, progress: ProgressCallback | None, bound: float
    ) -> None:
        self.instance, self.budget, self.progress = instance, budget, progress
        self.best, self.bound = _Best(instance), bound

    @property
    def over(self) -> bool:
        """Whether the time is up or the bound is near enough."""
        value = self.best.cost / (1000.0 * WEIGHT_UNIT)
        near = value - self.bound <= self.budget.gap * max(1.0, abs(self.bound))
        return self.budget.over or near

    def tell(self, done: float) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(done, f"{self.best.maker}: {self.best.cost / (1000.0 * WEIGHT_UNIT):.6g}")

    def lists(self) -> None:
        """Try list schedules."""
        for keys, name in self._keys():
            for rule, placing in (
                (CONSOLIDATE, ""),
                (FIRST_FIT, ", first fit"),
                (LOAD_BALANCE, ", balanced"),
            ):
                for strict in (False, True):
                    if self.best.maker and self.over:
                        return
                    self.best.by_list(keys, rule, strict, f"{name}{placing}{', strictly' if strict else ''}")
                    self.tell(0.0)

    def _keys(self) -> Iterator[tuple[np.ndarray, str]]:
        for exponent in EXPONENTS:
            name = f"least duration x share^{exponent:g}" if exponent else "shortest first"
            yield size_keys(self.instance, exponent), name
        yield self.instance.jobs.submit.astype(np.float64), "oldest first"

    def plans(self) -> None:
        """Try plans."""
        n, machines = len(self.instance.jobs), len(self.instance.setting.capacity)
        if float(n) * n * machines > PLAN_WORK:
            return
        for factor in ROOM if self.instance.setting.slowdown.contention > 0.0 else (1.0,):
            for keys, name in self._keys():
                planned = self._plan(keys, factor)
                if planned is None:
                    return
                for obeyed in (True, False):
                    how = "planned" if obeyed else "ordered by plan"
                    self.best.by_plan(*planned, obeyed, f"{name}, {how} with {factor:g} x duration")
                self.tell(0.1)

    def _plan(
        self, keys: np.ndarray, factor: float
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None:
        """Plan jobs by ascending key: when they start, and where; None if the time is up before."""
        instance, capacity = self.instance, self.instance.setting.capacity
        n, pieces = len(instance.jobs), 3 * len(instance.jobs) + 2
        ticks, piece = np.zeros(pieces, dtype=np.int64), np.zeros(pieces, dtype=np.int64)
        free, size = np.empty((pieces, *capacity.shape), dtype=np.int64), np.ones(1, dtype=np.int64)
        free[0] = capacity
        start, spans = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        rows = np.zeros_like(self.best.places[0])
        order = np.argsort(keys, kind="stable")
        for first in range(0, n, BATCH):
            if self.over:
                return None
            batch = order[first : first + BATCH]
            kernels.plan(instance.table, factor, batch, (ticks, piece, free, size), start, rows, spans)
        return start, (rows, spans)

    def anneal(self, rng: np.random.Generator, rounds: int) -> None:
        """Improve the best by small changes."""
        best = self.best
        cost = best.run(best.genome, best.places, math.inf)  # more than the best if that was made strictly
        copy_state(best.other, best.current)
        costs = np.array([cost, best.cost])
        held, tried = (tuple(array.copy() for array in best.genome) for _ in range(2))
        states = (best.blank, best.current, best.other, best.best)
        done, step = 0, max(1, min(200, BATCH_WORK // len(self.instance.jobs)))
        while done < rounds and not self.over:
            part = done / rounds
            if not math.isinf(self.budget.time_limit):
                part = max(part, self.budget.seconds / self.budget.time_limit)
            count = min(step, rounds - done)
            heat = costs[1] * WARM * (COLD / WARM) ** part
            draws = rng.random((count, 6))
            kernels.search_rounds(
                best.table, states, best.setting, held, tried, best.places, costs, draws, heat
            )
            done += count
            if costs[1] < best.cost:
                best.cost = float(costs[1])
                best.maker = f"{best.maker.removesuffix(ANNEALED)}{ANNEALED}"
            self.tell(0.2 + 0.8 * part)
