"""Instances of the admission problem (Sec. III of OASiS).

A job earns its utility in the slot in which its work is done; one that is never done earns nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter
from types import ModuleType
from typing import Any, ClassVar, Literal

import numpy as np

from ..base import ORIGIN, Declared, InputError, Origin, Violation, frozen, things
from ..fields import Field, List, Number, Record, Text, complete
from .episode import SlotEpisode
from .jobs import AMOUNT, JOB, UNIT, Job, units
from .prices import price_range
from .schedule import Deployment, Schedule
from .setting import PRICES, PriceRange, Setting

MOST_SLOTS = 10_000

MOST_UNITS = 2**62
"""The most that all machines of a kind have of a resource, in multiples of 1e-6."""

MOST_TOLD = 10
"""How many of the jobs that can never finish are named."""


FIELDS = Record(
    Field("horizon", Number(low=1, high=MOST_SLOTS, integer=True), "T; the slots are 1, ..., T"),
    Field("resources", Text(listed=True, axis="R", names=True), "names of the resources"),
    Field(
        "worker_servers",
        Number(("H", "R"), **AMOUNT),
        "c_h^r: what each machine for workers has of each resource",
    ),
    Field(
        "parameter_servers",
        Number(("K", "R"), **AMOUNT),
        "c_k^r: what each machine for parameter servers has",
    ),
    Field(
        "jobs",
        List(JOB),
        "see below; stored by arrival, those of the same slot as they were given",
        hidden=True,
    ),
    ORIGIN,
    Field(
        "announced",
        PRICES,
        "the price range U and L told to policies that ask for it; that of all jobs by default",
        optional=True,
        null=True,
        at="_given",
        hidden=True,
    ),
)
complete(Setting, FIELDS)


class AdmissionInstance(Declared[Setting]):
    """An admission problem: machines of two kinds, and jobs that arrive over a horizon."""

    problem: ClassVar[Literal["admission"]] = "admission"
    declared: ClassVar[Record] = FIELDS
    shows: ClassVar[frozenset[str]] = frozenset({"announced"})
    setting: Setting
    jobs: tuple[Job, ...]

    def __init__(
        self,
        *,
        horizon: int,
        resources: Any,
        worker_servers: Any,
        parameter_servers: Any,
        jobs: Any,
        announced: Any = None,
        origin: Origin | None = None,
    ) -> None:
        sizes = {"T": FIELDS.reader({})("horizon", horizon)}
        read = FIELDS.reader(sizes)
        names, machines = read("resources", resources), []
        for field, given in (("worker_servers", worker_servers), ("parameter_servers", parameter_servers)):
            machines.append(read(field, given))
            if units(machines[-1]).sum(axis=0, dtype=np.float64).max() > MOST_UNITS:
                raise InputError(f"{field}: all machines together have more than {MOST_UNITS / UNIT:.6g}")
        self.setting = Setting(sizes["T"], names, *machines)
        rows = read("jobs", jobs)
        for i, row in enumerate(rows):
            if row["minibatch_time"] == row["gradient_size"] == 0.0:
                raise InputError(f"jobs[{i}].minibatch_time: 0 with gradient_size 0 leaves no work to do")
        rows.sort(key=itemgetter("arrival"))
        self.jobs = tuple(Job(index=i, **row) for i, row in enumerate(rows))
        self._given: PriceRange | None = read("announced", announced)
        self.origin = origin if origin is not None else Origin("given by hand")

    def __repr__(self) -> str:
        s = self.setting
        return (
            f"AdmissionInstance(jobs={len(self.jobs)}, horizon={s.horizon}, "
            f"worker_servers={len(s.worker_servers)}, parameter_servers={len(s.parameter_servers)}, "
            f"resources={len(s.resources)}, digest={self.digest()})"
        )

    @cached_property
    def announced(self) -> PriceRange:
        """U and L as they are announced: those given, or else the exact ones of all jobs."""
        return price_range(self.setting, self.jobs) if self._given is None else self._given

    @cached_property
    def works(self) -> np.ndarray:
        """W_i: worker-slots of work of each job, capped at 2^62, shape (I,)."""
        return frozen(np.array([min(job.work, 2**62) for job in self.jobs], dtype=np.int64))

    @cached_property
    def worker_needs(self) -> np.ndarray:
        """What a worker of each job takes, in whole multiples of 1e-6, shape (I, R)."""
        return self._needs("worker_units")

    @cached_property
    def server_needs(self) -> np.ndarray:
        """What a parameter server of each job takes, in whole multiples of 1e-6, shape (I, R)."""
        return self._needs("server_units")

    @cached_property
    def _limits(self) -> tuple[np.ndarray, ...]:
        """Arrivals, chunks and ``servers_for`` of the jobs, the latter in a row, and where each begins."""
        tables = [job.servers_for for job in self.jobs]
        ends = np.cumsum([0, *map(len, tables)], dtype=np.int64)
        rows = np.array([(job.arrival, job.chunks) for job in self.jobs], dtype=np.int64).reshape(-1, 2)
        whole = np.concatenate([np.zeros(0, dtype=np.int64), *tables])
        return tuple(map(frozen, (rows[:, 0].copy(), rows[:, 1].copy(), whole, ends)))

    def _needs(self, name: str) -> np.ndarray:
        rows = [getattr(job, name) for job in self.jobs]
        return frozen(np.array(rows, dtype=np.int64).reshape(len(rows), len(self.setting.resources)))

    @cached_property
    def never(self) -> dict[int, str]:
        """The jobs that can never finish, and why."""
        found = ((job.index, self.setting.why_never(job)) for job in self.jobs)
        return {i: why for i, why in found if why is not None}

    def episode(self, sees: frozenset[str]) -> SlotEpisode:
        """Return a fresh pass through the slots; ``sees`` may hold "announced"."""
        return SlotEpisode(self, "announced" in sees)

    def kept(self, decision: Any) -> Deployment:
        """Return the decision of a slot as a :class:`Deployment`."""
        return Deployment(*decision)

    def slot_violations(
        self, slot: int, workers: np.ndarray, servers: np.ndarray, done: np.ndarray
    ) -> list[Violation]:
        """List what a deployment breaks in a slot.

        ``workers`` and ``servers`` are whole rows (job, machine, count), sorted, and ``done`` the
        worker-slots that every job has behind it, shape (I,). The names are "job" and "machine" (index out of
        range), "twice", "count" (12) (13) [job, machine]; "arrival" (9) (10), "finished" (a job runs after
        its work is done, so that (8) says when that was), "chunks" (3), "bandwidth" (6) and "servers" (7)
        [job]; "worker capacity" (4) and "server capacity" (5) [machine, resource].
        """
        s = self.setting
        needs = self.worker_needs, self.server_needs
        held = s.worker_units, s.server_units, *needs
        if _kernels().is_feasible(slot, workers, servers, done, self.works, *self._limits, *held):
            return []
        found: list[Violation] = []
        sides = (
            ("worker", workers, s.worker_units, self.worker_needs),
            ("server", servers, s.server_units, self.server_needs),
        )
        for _, rows, capacity, _ in sides:
            found += _malformed(rows, len(self.jobs), len(capacity))
        if found:
            return found
        sums = (np.bincount(rows[:, 0], rows[:, 2], len(self.jobs)) for rows in (workers, servers))
        y, z = (counts.astype(np.int64) for counts in sums)
        for i in np.flatnonzero(y + z):
            found += self._job_violations(int(i), slot, int(y[i]), int(z[i]), int(done[i]))
        for name, rows, capacity, demand in sides:
            found += _over_capacity(f"{name} capacity", rows, capacity, demand)
        return found

    def _job_violations(self, i: int, slot: int, y: int, z: int, done: int) -> Iterator[Violation]:
        """Yield what a job with y workers and z parameter servers in a slot breaks."""
        job = self.jobs[i]
        if slot < job.arrival:
            yield Violation("arrival", (i,), float(job.arrival - slot))
        if done >= job.work:
            yield Violation("finished", (i,), float(y + z))
        if y > job.chunks:
            yield Violation("chunks", (i,), float(y - job.chunks))
        needed = int(job.servers_for[min(y, job.chunks)])
        if z < needed:
            yield Violation("bandwidth", (i,), float(needed - z))
        if z > y:
            yield Violation("servers", (i,), float(z - y))

    def violations(self, decision: Any) -> list[Violation]:
        """List the constraints (2)-(13) that a :class:`Schedule` breaks.

        Those of a slot are as in :meth:`slot_violations`, with the slot's number (from 1) before their
        index; "work" (2) [job] is what a job that runs has not done by the end, and "slot" [slot] a slot
        that is not one of 1, ..., T.
        """
        if not isinstance(decision, Schedule):
            raise InputError(f"decision: {type(decision).__name__} is not a Schedule")
        horizon = self.setting.horizon
        used = np.concatenate([decision.workers[:, 0], decision.servers[:, 0]])
        outside = np.unique(used[(used < 1) | (used > horizon)]).tolist()
        found = [Violation("slot", (t,), float(max(1 - t, t - horizon))) for t in outside]
        done = np.zeros(len(self.jobs), dtype=np.int64)
        touched = set(used.tolist())
        for slot, (workers, servers) in enumerate(decision.deployments(horizon), start=1):
            if slot in touched:
                broken = self.slot_violations(slot, workers, servers, done)
                found += [Violation(b.constraint, (slot, *b.index), b.excess) for b in broken]
                known = (workers[:, 0] >= 0) & (workers[:, 0] < len(done))
                np.add.at(done, workers[known, 0], workers[known, 2])
        for i in np.flatnonzero((done > 0) & (done < self.works)).tolist():
            found.append(Violation("work", (i,), float(self.jobs[i].work - done[i])))
        return found

    def completions(self, schedule: Schedule) -> np.ndarray:
        """Return the slot in which each job's work is done, 0 for those that never are, shape (I,)."""
        result = np.zeros(len(self.jobs), dtype=np.int64)
        rows = schedule.workers
        for i in schedule.jobs.tolist():
            mine = rows[rows[:, 1] == i]
            reached = np.cumsum(mine[:, 3]) >= self.jobs[i].work
            result[i] = mine[np.argmax(reached), 0] if reached.any() else 0
        return result

    def rewards(self, schedule: Schedule) -> np.ndarray:
        """Return the utility of the jobs that are done in each slot, shape (T,)."""
        result = np.zeros(self.setting.horizon)
        for i, slot in enumerate(self.completions(schedule).tolist()):
            if slot:
                result[slot - 1] += self.jobs[i].utility(slot - self.jobs[i].arrival)
        return result

    def facts(self) -> dict[str, float]:
        """Return the numbers that say how large the instance is, by name."""
        s = self.setting
        return {
            "jobs": len(self.jobs),
            "jobs that can never finish": len(self.never),
            "slots": s.horizon,
            "worker machines": len(s.worker_servers),
            "parameter-server machines": len(s.parameter_servers),
            "resources": len(s.resources),
            "worker-slots of work": sum(job.work for job in self.jobs),
        }

    def remarks(self) -> list[str]:
        """Name the jobs that can never finish, and why."""
        told = [f"jobs[{i}] can never finish: {why}" for i, why in self.never.items()]
        more = len(told) - MOST_TOLD
        return told if more <= 0 else [*told[:MOST_TOLD], f"{more} more {things(more, 'jobs')} too"]

    def decision_facts(self, decision: Schedule) -> dict[str, Any]:
        """Return the jobs that a schedule gets done, and the slots in which it does."""
        ends = self.completions(decision)
        accepted = np.flatnonzero(ends)
        slots = ends[accepted].tolist()
        return {"jobs_accepted": len(slots), "accepted": accepted.tolist(), "done_in_slots": slots}


def _kernels() -> ModuleType:
    from . import kernels

    return kernels


def _malformed(rows: np.ndarray, jobs: int, machines: int) -> Iterator[Violation]:
    """Yield the rows that name no job or no machine, stand twice, or have a negative count."""
    for j, (i, h, count) in enumerate(rows.tolist()):
        if not 0 <= i < jobs:
            yield Violation("job", (i,), float(max(-i, i - jobs + 1)))
        if not 0 <= h < machines:
            yield Violation("machine", (i, h), float(max(-h, h - machines + 1)))
        if j and (i, h) == tuple(rows[j - 1, :2].tolist()):
            yield Violation("twice", (i, h), 1.0)
        if count < 0:
            yield Violation("count", (i, h), float(-count))


def _over_capacity(
    name: str, rows: np.ndarray, capacity: np.ndarray, demand: np.ndarray
) -> Iterator[Violation]:
    """Yield the resources of machines that a deployment overloads; sums are exact where they matter."""
    rough, used = np.zeros(capacity.shape), np.zeros(capacity.shape, dtype=np.int64)
    with np.errstate(over="ignore"):  # a whole number that overflows is one of the clearly too large ones
        taken = demand[rows[:, 0]] * rows[:, 2:]
    np.add.at(rough, rows[:, 1], demand[rows[:, 0]] * rows[:, 2:].astype(np.float64))
    np.add.at(used, rows[:, 1], taken)
    clear = rough > 2.0 * capacity
    for h, r in np.argwhere(clear | (used > capacity)).tolist():
        excess = rough[h, r] - capacity[h, r] if clear[h, r] else used[h, r] - capacity[h, r]
        yield Violation(name, (h, r), float(excess) / UNIT)
