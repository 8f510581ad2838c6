"""Good schedules for placement at any size: list scheduling, plans made with all knowledge, and local search."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..models.placement.instance import WEIGHT_UNIT, PlacementInstance, taken_schedule
from ..models.placement.kernels import CONSOLIDATE, FIRST_FIT, LOAD_BALANCE, State, copy_state, run_by_keys
from ..models.placement.schedule import Schedule
from . import placement_search_kernels as kernels
from .base import Budget, ProgressCallback

EXPONENTS = (0.0, 0.25, 0.5, 1.0)
"""Jobs are ranked by duration times the share of the cluster that they take to such a power."""

ROOM = (1.0, 1.1, 1.25)
"""What plans multiply durations by, if jobs contend."""

PLAN_WORK = 4e8
"""Plans are made up to so many jobs squared times machines."""

BATCH = 50
"""Jobs that are planned between two looks at the clock."""

WARM, COLD = 1e-3, 1e-6
"""Relative loss that is accepted with probability 1/e, at the start and at the end."""

SEARCH_WORK = 6e6
MOST_ROUNDS = 20_000
"""Rounds of the local search without a time limit: so many, and no more than SEARCH_WORK jobs simulated."""

UNTIL_TIME = 10**9
SEED = 0


class _Best:
    """The best simulation so far, and what made it."""

    def __init__(self, instance: PlacementInstance) -> None:
        self.instance, self.table = instance, instance.table
        self.blank, self.current, self.other, self.best = (instance.simulator().state for _ in range(4))
        self.cost, self.maker = math.inf, ""
        self.weight = float(round(instance.setting.gpu_weight * WEIGHT_UNIT))
        n, most = len(instance.jobs), self.table.duration.shape[1] - 1
        self.keys = instance.jobs.submit.astype(np.float64)
        self.release = instance.jobs.submit.copy()
        self.rows, self.spans = np.zeros((n, most, 2), dtype=np.int64), np.zeros(n, dtype=np.int64)

    def by_list(self, keys: np.ndarray, rule: int, strict: bool, maker: str) -> None:
        """Run the list schedule of some keys."""
        setting = self.instance.setting
        copy_state(self.blank, self.other)
        run_by_keys(self.table, self.other, setting.slowdown.contention, setting.window, keys, rule, strict)
        cost = float(self.instance.units_of_cost(*_used(self.other)))
        self._take(cost, maker, keys, self.instance.jobs.submit, self.rows, 0 * self.spans)

    def by_plan(
        self, start: np.ndarray, rows: np.ndarray, spans: np.ndarray, obeyed: bool, maker: str
    ) -> None:
        """Run a plan; unless it is ``obeyed``, jobs may start before it says so, on any machines."""
        setting = self.instance.setting
        release = start if obeyed else self.instance.jobs.submit
        spans = spans if obeyed else 0 * spans
        keys = start.astype(np.float64)
        cost = kernels.run_plan(
            self.table, self.blank, self.other, setting.slowdown.contention, setting.window, keys, release,
            rows, spans, self.weight, self.cost,
        )  # fmt: skip
        self._take(cost, maker, keys, release, rows, spans)

    def _take(
        self,
        cost: float,
        maker: str,
        keys: np.ndarray,
        release: np.ndarray,
        rows: np.ndarray,
        spans: np.ndarray,
    ) -> None:
        if cost < self.cost:
            self.cost, self.maker = cost, maker
            copy_state(self.other, self.best)
            self.keys, self.release = _ranks(keys), release.copy()
            self.rows, self.spans = rows.copy(), spans.copy()

    def schedule(self) -> Schedule:
        """Return the schedule of the best simulation."""
        simulator = self.instance.simulator()
        copy_state(self.best, simulator.state)
        return taken_schedule(simulator)


def _used(state: State) -> tuple[int, int]:
    """Return the job-ticks and GPU-ticks of a simulation."""
    return int(state.clock[kernels.WAITED]), int(state.clock[kernels.USED])


def _ranks(keys: np.ndarray) -> np.ndarray:
    """Return the place of each job by ascending key, as floats."""
    result = np.empty(len(keys))
    result[np.argsort(keys, kind="stable")] = np.arange(len(keys), dtype=np.float64)
    return result


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

    def _plan(self, keys: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Plan jobs by ascending key; None if the time is up before."""
        instance = self.instance
        n, capacity = len(instance.jobs), instance.setting.capacity
        pieces = 3 * n + 2
        ticks, piece = np.zeros(pieces, dtype=np.int64), np.zeros(pieces, dtype=np.int64)
        free, size = np.empty((pieces, *capacity.shape), dtype=np.int64), np.ones(1, dtype=np.int64)
        free[0] = capacity
        start, rows, spans = np.zeros(n, dtype=np.int64), np.zeros_like(self.best.rows), np.zeros(n, np.int64)
        order = np.argsort(keys, kind="stable")
        for first in range(0, n, BATCH):
            if self.over:
                return None
            batch = order[first : first + BATCH]
            kernels.plan(instance.table, factor, batch, (ticks, piece, free, size), start, rows, spans)
        return start, rows, spans

    def anneal(self, rng: np.random.Generator, rounds: int) -> None:
        """Improve the best by small changes."""
        best, setting = self.best, self.instance.setting
        copy_state(best.best, best.current)
        costs = np.array([best.cost, best.cost])
        keys, release = best.keys.copy(), best.release.copy()
        done, step = 0, max(1, min(200, 20_000 // len(self.instance.jobs)))
        while done < rounds and not self.over:
            part = done / rounds
            if not math.isinf(self.budget.time_limit):
                part = max(part, self.budget.seconds / self.budget.time_limit)
            count = min(step, rounds - done)
            kernels.search_rounds(
                best.table, (best.blank, best.current, best.other, best.best), setting.slowdown.contention,
                setting.window, keys, release, best.rows, best.spans, best.weight, costs,
                rng.random((count, 6)), costs[1] * WARM * (COLD / WARM) ** part,
            )  # fmt: skip
            done += count
            if costs[1] < best.cost:
                best.cost = float(costs[1])
                best.maker = f"{best.maker.removesuffix(ANNEALED)}{ANNEALED}"
            self.tell(0.2 + 0.8 * part)


ANNEALED = ", improved by annealing"
