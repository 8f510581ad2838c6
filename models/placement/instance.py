"""Instances of the placement problem (Sec. 3 of DAS).

Jobs arrive over time. The cost, which is minimised, is the sum of all job completion times plus lambda times
the GPU-seconds that are paid for, in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from ..base import ORIGIN, Declared, InputError, Origin, Violation, frozen
from ..fields import Field, Number, Record, complete
from .episode import JobEpisode
from .jobs import AMOUNTS, JOBS, MACHINES, TICKS, Jobs, amount, seconds
from .schedule import Schedule
from .setting import Setting
from .simulator import Simulator, fewest_machines, rooms, table_of
from .slowdown import NO_SLOWDOWN, SLOWDOWN, Slowdown
from .state import Table

WINDOW = 64
"""How many of the oldest pending jobs may start, unless an instance says otherwise."""

PRICE = 2.84
"""Dollars per GPU hour (Sec. 5.1.3)."""

MOST_TICKS = 2**52
"""The longest that all jobs together may take, so that times are exact as floats, too."""

MOST_SUM = 2**62
"""The most that sums over all ticks may come to."""

WEIGHT_UNIT = 1000


FIELDS = Record(
    Field("machines", MACHINES, "what each machine has", at="capacity"),
    Field(
        "jobs", JOBS, "see below; stored by submission, ties as they were given; may be empty", hidden=True
    ),
    Field("price", Number(high=1e9), "dollars per GPU hour"),
    Field("slowdown", SLOWDOWN, "how much longer jobs take that span machines or share them"),
    Field(
        "gpu_weight",
        Number(high=1e6, unit=WEIGHT_UNIT),
        "lambda: the seconds of completion time that a GPU-second counts in the cost; 0 by default",
        optional=True,
    ),
    Field(
        "window",
        Number(low=1, high=10**9, integer=True),
        "how many of the oldest pending jobs may start at a decision epoch; 64 by default",
        optional=True,
    ),
    ORIGIN,
)
complete(Setting, FIELDS)


class PlacementInstance(Declared[Setting]):
    """A placement problem: machines, and gang jobs that arrive over time.

    Raises
    ------
    InputError
        Naming the field, the index and the value at fault; among them jobs that no machines can ever hold,
        and what is missing.
    """

    problem: ClassVar[Literal["placement"]] = "placement"
    declared: ClassVar[Record] = FIELDS
    shows: ClassVar[frozenset[str]] = frozenset({"durations", "estimates"})
    minimised: ClassVar[bool] = True
    unit: ClassVar[str] = "s"
    setting: Setting
    jobs: Jobs

    def __init__(
        self,
        *,
        machines: Any,
        jobs: Any,
        price: float = PRICE,
        slowdown: Any = NO_SLOWDOWN,
        gpu_weight: float = 0.0,
        window: int = WINDOW,
        origin: Origin | None = None,
    ) -> None:
        read = FIELDS.reader({})
        self.setting = Setting(
            read("machines", machines),
            read("price", price),
            slowdown if isinstance(slowdown, Slowdown) else read("slowdown", slowdown),
            read("gpu_weight", gpu_weight),
            read("window", window),
        )
        self.jobs = read("jobs", jobs)
        self._refuse_unplaceable(jobs)
        self._refuse_endless()
        self.origin = origin if origin is not None else Origin("given by hand")

    def _refuse_unplaceable(self, given: Sequence[Mapping[str, Any]]) -> None:
        """Raise for jobs that do not even fit on the empty machines, saying what is missing."""
        capacity, jobs = self.setting.capacity, self.jobs
        lost = np.flatnonzero(fewest_machines(capacity, jobs) > len(capacity))
        if not len(lost):
            return
        i = int(lost[0])
        held = int(rooms(capacity, jobs.need[i], int(jobs.instances[i])).sum())
        short = [r for r in range(3) if (jobs.need[i, r] > capacity[:, r]).all()]
        why = [
            f"an instance needs {amount(jobs.need[i, r], r):g} {AMOUNTS[r]}, the largest machine has "
            f"{amount(capacity[:, r].max(), r):g}"
            for r in short
        ] or [f"the empty machines hold {held} of {jobs.instances[i]} instances"]
        more = f"; other jobs that do not fit either: {len(lost) - 1}" if len(lost) > 1 else ""
        place = sorted(range(len(given)), key=lambda k: given[k]["submit"])[i]
        raise InputError(
            f"jobs[{place}]: the job submitted at {seconds(jobs.submit[i]):g} s can never run: "
            f"{'; '.join(why)}{more}"
        )

    def _refuse_endless(self) -> None:
        """Raise if the sums that the simulator keeps could leave what whole numbers of 64 bits hold."""
        last, gpus = self.latest, sum(self.setting.capacity[:, 0].tolist())
        if last > MOST_TICKS or last * max(len(self.jobs), gpus) > MOST_SUM:
            raise InputError(f"jobs: together they may take {last / TICKS:.3g} s, too long to count in ms")

    @cached_property
    def latest(self) -> int:
        """A tick by which all jobs are done, whatever is decided: one after the other, as slow as can be."""
        total = float(self.jobs.duration.astype(np.float64).sum()) * self.setting.slowdown.worst
        return int(self.jobs.submit.max(initial=0)) + int(total) + 2 * len(self.jobs)

    @property
    def costliest(self) -> int:
        """A cost that no schedule exceeds, in whole millionths of a second."""
        gpus = sum(self.setting.capacity[:, 0].tolist())
        return self.units_of_cost(self.latest * len(self.jobs), self.latest * gpus)

    def __repr__(self) -> str:
        return (
            f"PlacementInstance(jobs={len(self.jobs)}, machines={len(self.setting.capacity)}, "
            f"gpus={int(self.setting.capacity[:, 0].sum())}, digest={self.digest()})"
        )

    @cached_property
    def table(self) -> Table:
        """What never changes in a simulation of this instance."""
        return table_of(self.setting.capacity, self.jobs, self.setting.slowdown)

    @cached_property
    def fewest(self) -> np.ndarray:
        """The fewest machines that hold each job when they are empty, shape (n,)."""
        return frozen(fewest_machines(self.setting.capacity, self.jobs))

    def simulator(self) -> Simulator:
        """Return a fresh simulation, at tick 0."""
        return Simulator(self.table, self.setting.slowdown.contention, self.setting.window)

    def episode(self, sees: frozenset[str]) -> JobEpisode:
        """Return a fresh pass through the decision epochs; ``sees`` may hold "durations" and "estimates".

        The latter without any are an InputError.
        """
        return JobEpisode(self, sees)

    def weighted(self, waited: int, used: int) -> float:
        """Return the cost in seconds of so many job-ticks in the system and GPU-ticks in use."""
        return self.units_of_cost(waited, used) / (TICKS * WEIGHT_UNIT)

    def units_of_cost(self, waited: int, used: int) -> int:
        """Return the cost of so many job-ticks and GPU-ticks in whole millionths of a second."""
        return WEIGHT_UNIT * int(waited) + round(self.setting.gpu_weight * WEIGHT_UNIT) * int(used)

    @cached_property
    def unavoidable(self) -> int:
        """What every schedule pays for GPUs at least, in whole millionths of a second."""
        return self.units_of_cost(0, int((self.jobs.gpus * self.jobs.duration).sum()))

    def cost(self, schedule: Schedule) -> float:
        """Return what a schedule costs: all completion times plus lambda times GPU-seconds, in seconds."""
        return self.units(schedule) / (TICKS * WEIGHT_UNIT)

    def units(self, schedule: Schedule) -> int:
        """Return what a schedule costs in whole millionths of a second."""
        waited = int((schedule.finish - self.jobs.submit).sum())
        used = int((self.jobs.gpus * (schedule.finish - schedule.start)).sum())
        return self.units_of_cost(waited, used)

    def fees(self, schedule: Schedule) -> np.ndarray:
        """Return the training fee of each job in dollars, r^fee of Sec. 3, shape (n,)."""
        hours = (schedule.finish - schedule.start) / (3600.0 * TICKS)
        return self.setting.price * self.jobs.gpus * hours

    def completion_times(self, schedule: Schedule) -> np.ndarray:
        """Return the completion time of each job in seconds, r^jct of Sec. 3, shape (n,)."""
        return (schedule.finish - self.jobs.submit) / TICKS

    def schedule_of(self, decisions: Iterable[Any]) -> Schedule:
        """Return the schedule of decisions, one per epoch, such as those of a run; refuse infeasible ones."""
        episode, given = self.episode(frozenset()), list(decisions)
        used = 0
        for _ in episode:
            if used == len(given):
                raise InputError(f"decisions: {used} of them, but the instance goes on")
            episode.apply(given[used])
            used += 1
        if used < len(given):
            raise InputError(f"decisions: {len(given)} of them, but there are {used} epochs")
        return taken_schedule(episode.simulator)

    def _follow(self, schedule: Schedule) -> tuple[list[np.ndarray], list[Violation], Simulator]:
        """Play a schedule: the decisions at every epoch, what they break, and the simulation in the end."""
        simulator, decisions = self.simulator(), []
        job_of = schedule.rows[:, 0]
        known = schedule.rows[(job_of >= 0) & (job_of < len(schedule.start))]
        times = schedule.start[known[:, 0]]
        order = np.argsort(times, kind="stable")
        times, by_time = times[order], known[order]
        while simulator.advance():
            first, last = np.searchsorted(times, (simulator.now, simulator.now + 1))
            rows = by_time[first:last]
            decisions.append(frozen(rows))
            if not simulator.feasible(rows):
                return decisions, simulator.violations(rows), simulator
            simulator.start(rows)
        return decisions, [], simulator

    def decisions(self, schedule: Schedule) -> tuple[np.ndarray, ...]:
        """Return the decision of every epoch, for :class:`clairvoyant.online.play.Replay`."""
        return tuple(self._follow(schedule)[0])

    def violations(self, decision: Any) -> list[Violation]:
        """List what a :class:`Schedule` breaks, by playing it through the simulator.

        Those of a decision as in :meth:`.simulator.Simulator.violations`, with the tick before their index;
        or else "job" [job]: there is no such job, "start" [job]: there is no decision epoch then, and
        "finish" [job]: the job ends at another tick.
        """
        if not isinstance(decision, Schedule):
            raise InputError(f"decision: {type(decision).__name__} is not a Schedule")
        n = len(self.jobs)
        for name in ("start", "finish"):
            if len(getattr(decision, name)) != n:
                raise InputError(f"schedule.{name}: {len(getattr(decision, name))} jobs, expected {n}")
        known = np.unique(decision.rows[:, 0])
        unknown = known[(known < 0) | (known >= n)]
        if len(unknown):
            return [Violation("job", (i,), float(max(-i, i - n + 1))) for i in unknown.tolist()]
        _, broken, simulator = self._follow(decision)
        missed = np.flatnonzero((simulator.state.start < 0) & (decision.start >= 0)).tolist()
        if broken and broken[0].constraint == "progress" and missed:
            return [Violation("start", (i,), 1.0) for i in missed]
        if broken:
            return [Violation(b.constraint, (simulator.now, *b.index), b.excess) for b in broken]
        off = np.abs(simulator.state.finish - decision.finish)
        return [Violation("finish", (i,), float(off[i])) for i in np.flatnonzero(off).tolist()]

    def facts(self) -> dict[str, float]:
        """Return the numbers that say how large the instance is, by name."""
        jobs, capacity = self.jobs, self.setting.capacity
        gpu_seconds = float((jobs.gpus * (jobs.duration / TICKS)).sum())
        return {
            "jobs": len(jobs),
            "machines": len(capacity),
            "GPUs": int(capacity[:, 0].sum()),
            "largest gang": int(jobs.instances.max(initial=0)),
            "hours of submissions": float(jobs.submit.max(initial=0)) / (3600.0 * TICKS),
            "GPU-hours of work": gpu_seconds / 3600.0,
            "load": self.offered_load,
        }

    @property
    def offered_load(self) -> float:
        """The GPU-seconds of all jobs over those of all GPUs until the last submission."""
        jobs, gpus = self.jobs, int(self.setting.capacity[:, 0].sum())
        span = float(jobs.submit.max(initial=0))
        work = float((jobs.gpus * jobs.duration.astype(np.float64)).sum())
        return work / (gpus * span) if gpus * span > 0.0 else 0.0

    def decision_facts(self, decision: Schedule) -> dict[str, Any]:
        """Return the mean completion time and fee of a schedule, and when it ends."""
        if not len(self.jobs):
            return {}
        return {
            "mean_jct_seconds": float(self.completion_times(decision).mean()),
            "mean_fee_dollars": float(self.fees(decision).mean()),
            "makespan_seconds": seconds(decision.finish.max()),
        }

    def content(self) -> Iterator[tuple[str, Any]]:
        """Yield what identifies the instance, the jobs by columns; the origin does not."""
        for name, value in super().content():
            columns = vars(self.jobs) if name == "jobs" else {name: value}
            yield from ((name, column) for name, column in columns.items() if column is not None)


def taken_schedule(simulator: Simulator) -> Schedule:
    """Return the schedule of a simulation that has come to its end."""
    state = simulator.state
    job = np.repeat(np.arange(len(state.start)), state.spans)
    begin = np.repeat(state.first - np.cumsum(state.spans) + state.spans, state.spans)
    rows = state.rows[begin + np.arange(len(job))]
    return Schedule(state.start.copy(), state.finish.copy(), np.column_stack([job, rows]))
