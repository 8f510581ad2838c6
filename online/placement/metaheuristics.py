"""MOSA and MALO: search for an order and a placement of the waiting jobs anew at every epoch.

What both do at an epoch
------------------------
*Forecast.* The policy sets up a simulation that begins now and holds what it knows: the machines, the running
jobs where they are, the waiting jobs of the window, and the slowdown. Nobody else arrives. In the place of
durations stand estimates from the jobs that have ended, see :func:`._search_kernels.remaining`: the mean over
jobs with as many GPUs, to which the mean over all jobs is added as one more; of a running job, the mean of
what those took beyond its age. Times of jobs that spanned more machines than needed are corrected by comm(K);
contention is not corrected.

*Plans.* A plan has two random keys per waiting job: the first makes the order, the second the placing rule
(first fit, load balance or consolidate). Two objectives, both to be minimised, come from the rollout of a
plan in that simulation: the sum of completion times and the GPU-seconds of the jobs that run or wait.

*Search.* It begins with FIFO and with the shortest estimate first, both consolidating. An archive keeps at
most :data:`ARCHIVE` plans, none of them as good as another one in both objectives. If only one waiting job
fits now, it starts in any case; it consolidates, and there is no search.

*Decision.* The plan of the archive with the least cost, completion times plus lambda times GPU-seconds, is
carried out as far as it concerns now; ties go to fewer GPU-seconds, then to the plan found first. Jobs that
do not fit are passed over, so that no job waits for which there is room.

The sources of both methods schedule other things: MOSA in two steps, for the makespan and the cost of
resources.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.base import frozen
from ...models.draw import real, whole
from ...models.placement.jobs import TICKS, Jobs
from ...models.placement.setting import Observation, Setting
from ...models.placement.simulator import blank_state, fewest_machines
from ...models.placement.state import ARRIVED, CONSOLIDATE, PENDING, SCALE, Table
from ..base import Traits
from .plans import RULES, Archive, Forecast

ARCHIVE = 64
"""The most plans in an archive."""

PRIOR = 3600.0
"""Seconds that a job is expected to take still, before any job has ended."""

MEMORY = 1000
"""The number of jobs, the last that ended, from which estimates are made."""

MOST = 2.0**62
MOST_ITERATIONS = 10**6
SMALLEST = 1e-6


class Records:
    """A policy's records of the jobs that it has seen, by the job's number.

    ``facts`` are the number of instances, what each takes of GPUs, CPUs and memory, intensity, start (tick)
    and machines spanned; whole numbers, 0 if not known, shape (N, 7). ``factor`` is comm(K) for K machines,
    nan where the job cannot run, shape (N, M + 1). ``guess`` is what users estimate, in ticks, shape (N,),
    1 where that is not shown. ``seen_gpus`` and ``seen_ticks`` are those of the jobs that ended last: all
    GPUs, and how long they took divided by comm(K) and by the guess.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.facts = np.zeros((0, 7), dtype=np.int64)
        self.factor = np.zeros((0, len(setting.capacity) + 1))
        self.guess = np.ones(0)
        self.prior = PRIOR * TICKS
        self.seen_gpus = np.zeros(0, dtype=np.int64)
        self.seen_ticks = np.zeros(0)

    def note(self, observation: Observation) -> None:
        """Remember the jobs that are new, and how long those took that have ended."""
        size = int(observation.jobs.max(initial=-1)) + 1
        if size > len(self.facts):
            more = 2 * size - len(self.facts)
            self.facts = np.concatenate([self.facts, np.zeros((more, 7), dtype=np.int64)])
            self.factor = np.concatenate([self.factor, np.full((more, self.factor.shape[1]), np.nan)])
            self.guess = np.concatenate([self.guess, np.ones(more)])
        fresh = self.facts[observation.jobs, 0] == 0
        if fresh.any():
            self._add(observation, fresh)
        if len(observation.ended):
            self._learn(observation.ended)

    def start(self, rows: np.ndarray, time: int) -> None:
        """Remember that jobs start now, as rows (job, machine, count)."""
        jobs, spans = np.unique(rows[:, 0], return_counts=True)
        self.facts[jobs, 5], self.facts[jobs, 6] = time, spans

    def _add(self, observation: Observation, fresh: np.ndarray) -> None:
        jobs, instances = observation.jobs[fresh], observation.instances[fresh]
        need, intensity = observation.need[fresh], observation.intensity[fresh]
        self.facts[jobs, 0], self.facts[jobs, 1:4], self.facts[jobs, 4] = instances, need, intensity
        capacity = self.setting.capacity
        nothing = np.zeros(len(jobs), dtype=np.int64)
        fewest = fewest_machines(capacity, Jobs(nothing, nothing, instances, need, intensity))[:, None]
        spans = np.arange(1, len(capacity) + 1)
        factor = self.setting.slowdown.spread_factor(spans, fewest)
        factor[(spans < fewest) | (spans > instances[:, None])] = np.nan
        self.factor[jobs, 1:] = factor
        if observation.estimate is not None:
            self.guess[jobs], self.prior = observation.estimate[fresh], 1.0

    def _learn(self, ended: np.ndarray) -> None:
        jobs = ended[:, 0]
        ticks = (ended[:, 2] - ended[:, 1]) / self.factor[jobs, self.facts[jobs, 6]] / self.guess[jobs]
        gpus = self.facts[jobs, 0] * self.facts[jobs, 1]
        self.seen_gpus = np.concatenate([self.seen_gpus, gpus])[-MEMORY:]
        self.seen_ticks = np.concatenate([self.seen_ticks, ticks])[-MEMORY:]

    def estimates(self, jobs: np.ndarray, waiting: int, time: int) -> np.ndarray:
        """Return the ticks that jobs are expected still to take alone on the fewest machines, shape (n,).

        The last ``waiting`` of them have not started. At least a tick, and so few that no sum overflows.
        """
        from .search_kernels import remaining

        facts, age = self.facts[jobs], np.zeros(len(jobs))
        running = len(jobs) - waiting
        mine = facts[:running]
        age[:running] = (time - mine[:, 5]) / self.factor[jobs[:running], mine[:, 6]]
        guess = self.guess[jobs]
        known = self.seen_gpus, self.seen_ticks
        ticks = guess * remaining(*known, facts[:, 0] * facts[:, 1], age / guess, self.prior)
        gpus = float(self.setting.capacity[:, 0].sum())
        longest = MOST / max(SCALE, len(jobs) * max(len(jobs), gpus)) / self.setting.slowdown.worst
        return np.clip(ticks, 1.0, max(1.0, np.floor(longest)))


def look_ahead(records: Records, observation: Observation) -> tuple[Forecast, np.ndarray, np.ndarray]:
    """Return a simulation of what is known now, the number of each job in it, and its estimate in ticks.

    The running jobs come first, in the order in which they started, then the waiting ones.
    """
    from ...models.placement.kernels import start_rows

    setting, rows = records.setting, observation.running.copy()
    new = np.flatnonzero(np.diff(rows[:, 0], prepend=-1))
    jobs = np.concatenate([rows[new, 0], observation.jobs])
    rows[:, 0] = np.repeat(np.arange(len(new)), np.diff(new, append=len(rows)))
    estimate = records.estimates(jobs, len(observation.jobs), observation.time)
    ticks = np.floor(estimate[:, None] * records.factor[jobs] + 0.5)
    facts = records.facts[jobs]
    table = Table(
        capacity=setting.capacity,
        submit=frozen(np.zeros(len(jobs), dtype=np.int64)),
        instances=frozen(facts[:, 0].copy()),
        need=frozen(facts[:, 1:4].copy()),
        duration=frozen(np.where(np.isnan(ticks), -1.0, ticks).astype(np.int64)),
        intensity=frozen(facts[:, 4].copy()),
    )
    now, contention = blank_state(table), setting.slowdown.contention
    now.pending[:] = np.arange(len(jobs))
    now.clock[ARRIVED] = now.clock[PENDING] = len(jobs)
    start_rows(table, now, contention, rows)
    gpus = int((facts[:, 0] * facts[:, 1]).sum())
    forecast = Forecast(
        table=table,
        now=now,
        work=blank_state(table),
        rows=np.empty((len(observation.jobs) * len(setting.capacity), 3), dtype=np.int64),
        contention=contention,
        weight=setting.gpu_weight,
        scale=np.array([1.0 / (TICKS * len(jobs)), 1.0 / (TICKS * max(1, gpus))]),
    )
    return forecast, jobs, estimate


def first_plans(estimate: np.ndarray) -> np.ndarray:
    """Return the plans that a search begins with: FIFO and the shortest first, consolidating.

    Their shape is (2, 2 w); ``estimate`` says how long each waiting job is expected to take, shape (w,).
    """
    w = len(estimate)
    oldest = (np.arange(w) + 0.5) / w
    shortest = np.empty(w)
    shortest[np.argsort(estimate, kind="stable")] = oldest
    rules = np.full(w, (CONSOLIDATE + 0.5) / RULES)
    return np.array([np.concatenate([order, rules]) for order in (oldest, shortest)])


def blank_archive(waiting: int) -> Archive:
    """Return an archive without plans for so many waiting jobs."""
    keys, values = np.zeros((ARCHIVE, 2 * waiting)), np.zeros((ARCHIVE, 2), dtype=np.int64)
    return Archive(keys, values, np.zeros(1, dtype=np.int64))


@dataclass
class Planner(ABC):
    """The common part of MOSA and MALO: the forecast, the first plans and the decision; see the module."""

    name: str = field(default="", init=False)
    traits: ClassVar[Traits] = Traits(problem="placement", randomised=True)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        self._rng = rng
        self._records = Records(setting)

    def decide(self, observation: Observation) -> np.ndarray:
        """Search, and return the rows (job, machine, count) that the chosen plan starts now."""
        from .search_kernels import best, first_starts, how_many_fit

        records = self._records
        records.note(observation)
        forecast, jobs, estimate = look_ahead(records, observation)
        waiting = len(observation.jobs)
        plans = first_plans(estimate[-waiting:])
        chosen = plans[0]
        if how_many_fit(forecast.table, forecast.now) > 1:
            archive = blank_archive(waiting)
            self._search(forecast, archive, plans)
            chosen = archive.keys[best(archive, forecast.weight)]
        rows: np.ndarray = first_starts(forecast, chosen)
        rows[:, 0] = jobs[rows[:, 0]]
        records.start(rows, observation.time)
        return frozen(rows)

    @abstractmethod
    def _search(self, forecast: Forecast, archive: Archive, plans: np.ndarray) -> None:
        """Fill the archive, beginning with these plans."""


@dataclass
class Mosa(Planner):
    """MOSA: anneals order and placement anew at every epoch, from estimates; ties: fewer GPU-seconds.

    Of plans that are equal in these as well, the one found first counts. The annealing begins with the best
    of the first plans. In turn, a job gets another key in the order, and a job another rule. Objectives are
    in seconds per job and seconds per GPU asked for; a step that worsens them by D (the sum over those that
    get worse) is taken with probability exp(-D / temperature), and the temperature falls by a factor with
    every step. See the module for the rest.

    Parameters
    ----------
    iterations
        Steps at an epoch; 50 in Table 2, whose rows for MALO and MOSA are swapped.
    temperature
        In seconds; 400 in Table 2, where it has no unit.
    cooling
        The factor, more than 0 and at most 1; 0.99 in Table 2.

    Raises
    ------
    InputError
        For a setting out of range.
    """

    iterations: int = 50
    temperature: float = 400.0
    cooling: float = 0.99
    name: str = field(default="mosa", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        randomised=True,
        source="Sekkal and Belkaid, Journal of Combinatorial Optimization 2020, as the baseline of "
        "Xing et al., KDD 2023, Sec. 5.1.5; what is searched, the objectives and the first "
        "plans are ours",
    )

    def __post_init__(self) -> None:
        self.iterations = whole("iterations", self.iterations, 0, MOST_ITERATIONS)
        self.temperature = real("temperature", self.temperature, SMALLEST)
        self.cooling = real("cooling", self.cooling, SMALLEST, 1.0)

    def _search(self, forecast: Forecast, archive: Archive, plans: np.ndarray) -> None:
        from .search_kernels import anneal

        anneal(forecast, archive, plans, self._rng, self.iterations, self.temperature, self.cooling)


@dataclass
class Malo(Planner):
    """MALO: order and placement by an ant lion optimiser and evolution; ties: fewer GPU-seconds.

    The evolution is differential. Of plans that are equal in GPU-seconds as well, the one found first counts.
    Plans of the archive are the ant lions. In every iteration each ant goes to the mean of two random walks,
    one around an ant lion drawn with a chance inverse to its crowding in the archive, one around the elite,
    the plan with the least cost. The walks of iteration t of T reach w^(-t / T) far for w waiting jobs: at
    last, only neighbours in the order change places. Then plans of the archive, one for every five ants and
    at least one, are refined by differential evolution: part of the difference of two ants is added. See the
    module for the rest.

    Parameters
    ----------
    iterations
        T; 100 in Table 2, whose rows for MALO and MOSA are swapped, fewer here, so that a trace of thousands
        of jobs takes no hours.
    population
        Number of ants; 50 in Table 2.

    Raises
    ------
    InputError
        For a setting out of range.
    """

    iterations: int = 10
    population: int = 10
    name: str = field(default="malo", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        randomised=True,
        source="Abualigah and Diabat, Cluster Computing 2021, as the baseline of Xing et al., KDD "
        "2023, Sec. 5.1.5; what is searched, the objectives and the first plans are ours",
    )

    def __post_init__(self) -> None:
        self.iterations = whole("iterations", self.iterations, 0, MOST_ITERATIONS)
        self.population = whole("population", self.population, 2, MOST_ITERATIONS)

    def _search(self, forecast: Forecast, archive: Archive, plans: np.ndarray) -> None:
        from .search_kernels import hunt

        hunt(forecast, archive, plans, self._rng, self.iterations, self.population)
