"""Good schedules for placement at any size: list schedules, plans made with all knowledge, and annealing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator

import numpy as np

from ...models.placement import kernels as sim
from ...models.placement.instance import WEIGHT_UNIT, PlacementInstance, taken_schedule
from ...models.placement.jobs import TICKS
from ...models.placement.schedule import Schedule
from ..annealing import cooling
from ..base import Budget, PartProgress, relative_gap
from . import search_kernels as kernels

EXPONENTS = (0.0, 0.25, 0.5, 1.0)
"""Jobs are ranked by duration times the share of the cluster that they take to such a power."""

ROOM = (1.0, 1.1, 1.25)
"""Factors on the durations of plans, if jobs contend."""

PLACING = {sim.CONSOLIDATE: "", sim.FIRST_FIT: ", first fit", sim.LOAD_BALANCE: ", balanced"}

MOST_PARTS, PART_JOBS, ROLLOUT_WORK = 48, 4, 2e4
"""Rollouts begin in so many parts of the time, of at least so many jobs; at most so many by that of jobs."""

MOST_TRIES = 32
"""Rollouts from the beginning of a part."""

PATIENCE = 2.0
"""Rollouts wait for reservations from 1 to 10 to this power times a duration."""

SLACK = 0.5
"""They expect jobs to run for up to so much longer than alone, if jobs contend."""

PLAN_WORK = 4e6
"""Plans are made up to so many jobs squared times machines."""

PLAN_BATCH_WORK = 10**6
MOST_PLANNED = 50
"""Jobs that are planned between two looks at the clock: so many, and no more than PLAN_BATCH_WORK by the
number of all jobs and machines."""

WARM, COLD = 0.05, 5e-5
"""Loss that is accepted with probability 1/e, at the start and at the end: as part of a job's mean cost."""

FEW_JOBS, WARMER = 40, 1.0
"""The former for so many jobs at most, each of which is a larger part of the whole."""

MOST_ROUNDS = 20_000
"""Rounds of the local search without a time limit."""

COOLINGS = 15
"""It first cools down in such a part of these rounds: 1 + 2 + 4 + 8 of them make the whole."""

BATCH_WORK, MOST_BATCH = 160_000, 200
"""Work, in epochs times machines, and rounds of the local search between two looks at the clock."""

MOST_KEPT = 10**6
"""Jobs that run at the epochs which the local search keeps, about so many in all."""

JOB_SECONDS, PLACE_SECONDS, PLAN_SECONDS, BATCH_SECONDS = 1e-5, 5e-7, 2e-7, 0.015
"""About the seconds that a core takes for a job in a simulation, and more for each machine; for a planned
job, by the number of all and of machines; and for a batch of rounds."""

ANNEALED = ", improved by annealing"
UNTIL_TIME = 10**9
SEED = 0


def gap(instance: PlacementInstance, value: int, bound: int) -> float:
    """Return the relative gap between a cost and a bound, in millionths of a second, as searches judge it.

    The unavoidable GPU cost does not count, so that a large ``gpu_weight`` hides nothing.
    """
    return relative_gap(instance.unavoidable - value, instance.unavoidable - bound)


class _Best:
    """The best simulation so far, and what made it."""

    def __init__(self, instance: PlacementInstance) -> None:
        self.instance, self.table = instance, instance.table
        self.blank, self.first, self.other, self.best = (instance.simulator().state for _ in range(4))
        self.cost, self.maker = math.inf, ""
        self.setting = (
            instance.setting.slowdown.contention,
            instance.setting.window,
            float(instance.units_of_cost(0, 1)),
        )
        sim.advance(self.table, self.first, *self.setting[:2])
        self.nothing = new_trail(instance, 0)

    def by_list(self, keys: np.ndarray, rule: int, strict: bool, maker: str) -> None:
        """Run the list schedule of some keys."""
        contention, window, _ = self.setting
        sim.copy_state(self.blank, self.other)
        sim.run_by_keys(self.table, self.other, contention, window, keys, rule, strict)
        clock = self.other.clock
        self.take(float(self.instance.units_of_cost(int(clock[sim.WAITED]), int(clock[sim.USED]))), maker)

    def by_plan(
        self, start: np.ndarray, places: tuple[np.ndarray, np.ndarray], obeyed: bool, maker: str
    ) -> None:
        """Run a plan; unless it is ``obeyed``, jobs may start before it says so, on any machines."""
        rows, spans = places
        genome = _genome(start, start, spans, rows)
        if not obeyed:
            genome = _genome(start, self.table.submit, np.zeros_like(spans), rows)
        self.take(self.run(genome, self.cost), maker)

    def run(self, genome: kernels.Genome, limit: float, trail: kernels.Trail | None = None) -> float:
        """Simulate, and return the cost in millionths of a second, infinite if it is above the limit.

        A ``trail`` that is new becomes that of this simulation.
        """
        sim.copy_state(self.first, self.other)
        given = self.table, self.other, self.setting, genome
        nobody = np.zeros(0, dtype=np.int64)
        waited, used, _ = kernels.run_plan(*given, trail or self.nothing, nobody, limit, 0.0)
        if waited < 0:
            return math.inf
        if trail is not None:
            kernels.take(self.other, trail, waited, used, 0, 0)
        return 1000.0 * waited + self.setting[2] * used

    def take(self, cost: float, maker: str) -> None:
        """Take the other state, if it costs less than the best."""
        if cost < self.cost:
            self.cost, self.maker = cost, maker
            sim.copy_state(self.other, self.best)

    def genome(self) -> kernels.Genome:
        """Return a genome with which the best simulation runs again, whatever made it.

        Every job is released after the last event before its start.
        """
        state, submit, taken = self.best, self.table.submit, self.schedule().rows
        rows = np.zeros((len(submit), self.table.duration.shape[1] - 1, 2), dtype=np.int64)
        place = np.arange(len(taken)) - np.repeat(np.cumsum(state.spans) - state.spans, state.spans)
        rows[taken[:, 0], place] = taken[:, 1:]
        events = np.unique(np.concatenate([[-1], submit, state.finish]))
        before = events[np.searchsorted(events, state.start, side="left") - 1]
        return _genome(state.start, np.maximum(submit, before + 1), state.spans.copy(), rows)

    def schedule(self) -> Schedule:
        """Return the schedule of the best simulation."""
        simulator = self.instance.simulator()
        sim.copy_state(self.best, simulator.state)
        return taken_schedule(simulator)


def _genome(keys: np.ndarray, release: np.ndarray, spans: np.ndarray, rows: np.ndarray) -> kernels.Genome:
    """Return keys as places in their order, and the rest as given; other machines as few as there can be."""
    ranks = np.empty(len(keys))
    ranks[np.argsort(keys, kind="stable")] = np.arange(len(keys), dtype=np.float64)
    return kernels.Genome(
        ranks, release.copy(), np.full_like(spans, sim.CONSOLIDATE), np.zeros_like(spans), spans, rows
    )


def most_at_once(instance: PlacementInstance) -> int:
    """Return a number of jobs than which no more can run at once."""
    table = instance.table
    least, total = table.need.min(axis=0, initial=2**62), table.capacity.sum(axis=0)
    return int((total[least > 0] // least[least > 0]).min(initial=len(instance.jobs)))


def new_trail(instance: PlacementInstance, most: int) -> kernels.Trail:
    """Return a trail that has nothing yet, and room for about so many jobs that run at its epochs."""
    table, n = instance.table, len(instance.jobs)
    width = most_at_once(instance)
    epochs = 2 * n + 1 if most > 0 else 0
    every = 1 + epochs * width // most if most > 0 else 0
    slots = 2 * epochs // max(1, every) + 2  # one is spare whatever is kept

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.int64)

    size, most_rows = zeros(10), table.duration.shape[1] - 1
    size[kernels.SPARE], size[kernels.EVERY], size[kernels.IDLE] = slots, every, kernels.NEVER
    return kernels.Trail(
        course=kernels.Course(*zeros(4, epochs)),
        fresh=kernels.Course(*zeros(4, epochs)),
        size=size,
        spare=np.arange(slots),
        oldest=zeros(slots),
        pending=zeros(slots),
        running=zeros(slots),
        jobs=zeros(slots, width),
        work=zeros(slots, width),
        start=zeros(n),
        finish=zeros(n),
        spans=zeros(n),
        rows=zeros(n, most_rows, 2),
        by_start=np.arange(n),
        moved=zeros(n),
        mark=zeros(n),
    )


def size_keys(instance: PlacementInstance, exponent: float) -> np.ndarray:
    """Return duration times the largest share of a resource to a power, shape (n,)."""
    jobs = instance.jobs
    total = np.maximum(1, instance.setting.capacity.sum(axis=0))
    share = (jobs.need * jobs.instances[:, None] / total).max(axis=1)
    return jobs.duration * share**exponent


def list_schedule(instance: PlacementInstance) -> Schedule:
    """Return the schedule by shortest duration first, on as few machines as each job can have."""
    best = _Best(instance)
    best.by_list(size_keys(instance, 0.0), sim.CONSOLIDATE, False, "shortest first")
    return best.schedule()


def search(
    instance: PlacementInstance,
    budget: Budget,
    progress: PartProgress | None = None,
    *,
    seed: int = SEED,
    rounds: int | None = None,
) -> tuple[Schedule, str]:
    """Return a good schedule of all jobs, known in advance, and what made it.

    First list schedules by several keys and rules. Then those in which jobs that waited for long get
    reservations, by settings drawn at random for each part of the time (``Searching._rollouts``). Then
    plans: in the order of such keys each job is planned as early as it fits beside those planned before it,
    whether they come earlier or later; so a long job does not start where it would delay many short ones.
    Plans are played, and those that contention upsets are also played as mere orders. Last, simulated
    annealing on the keys, on the ticks from which on jobs are tried, and on where they go. A round changes a
    job, two, or a row of jobs that start one after the other; it is simulated from its first change on until
    all is again as it was without, so that it costs as much as it changes. It cools by rounds
    (:func:`.annealing.cooling`), and the best of all rounds counts: with more rounds or time, what is
    returned is never worse.

    The first list schedule is made in any case. By default there are :data:`MOST_ROUNDS`, with a time limit
    as many as there is time for.
    """
    state = Searching(instance)
    if rounds is None:
        rounds = MOST_ROUNDS if math.isinf(budget.time_limit) else UNTIL_TIME
    for _ in state.steps(rounds, seed):
        if progress is not None:
            progress(max(state.done, budget.used), state.maker, value=state.cost / (TICKS * WEIGHT_UNIT))
        if budget.over:
            break
    return state.schedule(), state.maker


class Searching:
    """The search of :func:`search`, step by step.

    Attributes
    ----------
    done
        The part that is done.
    """

    def __init__(self, instance: PlacementInstance) -> None:
        self.instance, self.done, self._best = instance, 0.0, _Best(instance)

    @property
    def cost(self) -> float:
        """The cost of the best schedule so far, in millionths of a second; infinite if there is none."""
        return self._best.cost

    @property
    def maker(self) -> str:
        """What made it."""
        return self._best.maker or "nothing to run"

    def schedule(self) -> Schedule:
        """Return the best schedule so far."""
        return self._best.schedule()

    def steps(self, rounds: int, seed: int) -> Iterator[float]:
        """Search, with so many rounds of annealing; yield how much work each step was, as stages do."""
        if len(self.instance.jobs):
            yield from self._lists()
            yield from self._rollouts(np.random.default_rng(seed))
            yield from self._plans()
            yield from self._anneal(np.random.default_rng(seed), rounds)

    @property
    def _simulated(self) -> float:
        """The work of a simulation."""
        machines = len(self.instance.setting.capacity)
        return len(self.instance.jobs) * (JOB_SECONDS + PLACE_SECONDS * machines)

    def _lists(self) -> Iterator[float]:
        """Try list schedules."""
        for keys, name in self._keys():
            for rule, placing in PLACING.items():
                for strict in (False, True):
                    maker = f"{name}{placing}{', strictly' if strict else ''}"
                    self._best.by_list(keys, rule, strict, maker)
                    yield self._simulated

    def _keys(self) -> Iterator[tuple[np.ndarray, str]]:
        for exponent in EXPONENTS:
            name = f"least duration x share^{exponent:g}" if exponent else "shortest first"
            yield size_keys(self.instance, exponent), name
        yield self.instance.jobs.submit.astype(np.float64), "oldest first"

    def _rollouts(self, rng: np.random.Generator) -> Iterator[float]:
        """Try list schedules with reservations, with other settings in each part of the time.

        From the start of each part, in turn, several random settings are simulated to the end. The part is
        then run by the setting of the cheapest of all, and the next part begins there.
        """
        best, submit = self._best, self.instance.jobs.submit
        parts = max(1, min(MOST_PARTS, len(submit) // PART_JOBS, int(ROLLOUT_WORK / len(submit))))
        now, least, chosen = self.instance.simulator().state, math.inf, self._draw(rng)
        sim.copy_state(best.first, now)
        for part in range(parts):
            self.done = 0.1 + 0.1 * part / parts
            for _ in range(MOST_TRIES):
                drawn = self._draw(rng)
                sim.copy_state(now, best.other)
                cost = kernels.run_reserved(
                    best.table, best.other, best.setting, *drawn, kernels.NEVER, least
                )
                if cost < least:
                    least, chosen = cost, drawn
                    best.take(cost, "reservations")
                yield self._simulated
            if part + 1 < parts:
                self._go_on(now, chosen, int(submit[len(submit) * (part + 1) // parts]), math.inf)

    def _go_on(self, state: sim.State, setting: tuple[np.ndarray, ...], until: int, limit: float) -> float:
        """Simulate from an epoch on, and return the cost in millionths, infinite if it is above the limit."""
        best = self._best
        return float(kernels.run_reserved(best.table, state, best.setting, *setting, until, limit))

    def _draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return random keys, patience and expected durations, each of shape (n,)."""
        exponent, relative = EXPONENTS[rng.integers(len(EXPONENTS))], rng.random() < 0.5
        factor, slack = 10.0 ** (PATIENCE * rng.random()), 1.0
        if self.instance.setting.slowdown.contention > 0.0:
            slack += SLACK * rng.random()
        duration = self.instance.jobs.duration.astype(np.float64)
        patience = factor * (duration if relative else np.full_like(duration, duration.mean()))
        return size_keys(self.instance, exponent), patience, slack * duration

    def _plans(self) -> Iterator[float]:
        """Try plans."""
        n, machines = len(self.instance.jobs), len(self.instance.setting.capacity)
        if float(n) * n * machines > PLAN_WORK:
            return
        for factor in ROOM if self.instance.setting.slowdown.contention > 0.0 else (1.0,):
            for keys, name in self._keys():
                planned = yield from self._plan(keys, factor)
                for obeyed in (True, False):
                    how = "planned" if obeyed else "ordered by plan"
                    self._best.by_plan(*planned, obeyed, f"{name}, {how} with {factor:g} x duration")
                    yield self._simulated

    def _plan(
        self, keys: np.ndarray, factor: float
    ) -> Generator[float, None, tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]]:
        """Plan jobs by ascending key, some at a time; return when they start, and where."""
        instance, capacity = self.instance, self.instance.setting.capacity
        n, pieces = len(instance.jobs), 3 * len(instance.jobs) + 2
        ticks, piece = np.zeros(pieces, dtype=np.int64), np.zeros(pieces, dtype=np.int64)
        free, size = np.empty((pieces, *capacity.shape), dtype=np.int64), np.ones(1, dtype=np.int64)
        free[0] = capacity
        start, spans = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        rows = np.zeros((n, instance.table.duration.shape[1] - 1, 2), dtype=np.int64)
        order, each = np.argsort(keys, kind="stable"), n * len(capacity)
        step = max(1, min(MOST_PLANNED, PLAN_BATCH_WORK // each))
        for first in range(0, n, step):
            batch = order[first : first + step]
            kernels.plan(instance.table, factor, batch, (ticks, piece, free, size), start, rows, spans)
            yield len(batch) * each * PLAN_SECONDS
        return start, (rows, spans)

    def _anneal(self, rng: np.random.Generator, rounds: int) -> Iterator[float]:
        """Improve the best by small changes."""
        chain, done = _Chain(self._best, rng), 0
        while done < rounds:
            done += chain.go(min(MOST_BATCH, rounds - done))
            self.done = 0.2 + 0.8 * done / rounds
            yield BATCH_SECONDS


class _Chain:
    """Simulated annealing: where it stands, and how warm it is."""

    def __init__(self, best: _Best, rng: np.random.Generator) -> None:
        self.best, self.rng = best, rng
        self.genomes = tuple(best.genome() for _ in range(3))
        n = len(best.instance.jobs)
        warm = WARM if n > FEW_JOBS else WARMER
        self.heats = cooling(max(1, MOST_ROUNDS // COOLINGS), warm / n, COLD / n)
        self.draws, self.heat = np.zeros((0, 7)), np.zeros(0)
        self.trail = new_trail(best.instance, MOST_KEPT)
        self.state = best.instance.simulator().state
        self.costs = np.full(2, best.run(self.genomes[0], math.inf, self.trail))

    def go(self, rounds: int) -> int:
        """Do up to so many rounds, and return how many."""
        more, best = rounds - len(self.heat), self.best
        if more > 0:
            self.draws = np.concatenate([self.draws, self.rng.random((more, 7))])
            heat = np.fromiter(itertools.islice(self.heats, more), dtype=np.float64)
            self.heat = np.concatenate([self.heat, heat])
        done = kernels.search_rounds(
            best.table, self.state, self.trail, best.setting, self.genomes, self.costs,
            self.draws[:rounds], self.heat[:rounds], float(best.instance.unavoidable),
            max(1, BATCH_WORK // len(best.table.capacity)),
        )  # fmt: skip
        self.draws, self.heat = self.draws[done:], self.heat[done:]
        if self.costs[1] < best.cost:
            maker = f"{best.maker.removesuffix(ANNEALED)}{ANNEALED}"
            best.take(best.run(self.genomes[2], math.inf), maker)
        return int(done)
