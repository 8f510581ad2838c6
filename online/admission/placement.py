"""The common part of the baselines of Sec. V.A: jobs in progress, round-robin placement, and replanning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...models.admission.jobs import Job
from ...models.admission.schedule import NOTHING, Deployment
from ...models.admission.setting import Observation, Setting
from ...models.base import InputError

MOST_WORKERS = 30
"""FIFO and RRH give a job a number of workers drawn uniformly from 1 to this number (Sec. V.A)."""


def check_workers(workers: int) -> None:
    """Refuse a fixed number of workers that is not from 0 (drawn) to 30."""
    if not isinstance(workers, int) or isinstance(workers, bool) or not 0 <= workers <= MOST_WORKERS:
        raise InputError(f"workers: {workers!r} is not a whole number from 0 to {MOST_WORKERS}")


@dataclass(eq=False)
class Task:
    """A job in progress."""

    job: Job
    setting: Setting
    left: int  # worker-slots of work still to do
    workers: int = 0  # how many workers it always has; 0 if that is not fixed

    @property
    def slots(self) -> int:
        """Slots that it still takes with its fixed number of workers."""
        return -(-self.left // self.workers)

    @cached_property
    def most(self) -> int:
        """The most workers that it can have in the empty cluster."""
        return self.setting.most_workers(self.job)

    @cached_property
    def shares(self) -> np.ndarray:
        """Its dominant share with 0, 1, ..., N workers, shape (N + 1,).

        That is the largest share of all capacity that its workers take of a resource of the machines for
        workers, or its parameter servers of a resource of the machines for these.
        """
        worker = self.setting.worker_share(self.job).max()
        server = self.setting.server_share(self.job).max()
        counts = np.arange(self.job.chunks + 1)
        return np.maximum(counts * worker, self.job.servers_for * server)


@dataclass(frozen=True, eq=False)
class Placed:
    """How many workers and parameter servers of a job are on each machine, shapes (H,) and (K,)."""

    workers: np.ndarray
    servers: np.ndarray


class Machines:
    """The free capacity of the machines, and those used last.

    ``last`` are the machines of each kind that were used last; -1 begins with the first.
    """

    def __init__(self, setting: Setting, last: tuple[int, int] = (-1, -1)) -> None:
        self.workers = setting.worker_units.copy()
        self.servers = setting.server_units.copy()
        self.last = last

    def take(self, job: Job, placed: Placed) -> None:
        """Count what a job takes where it stands."""
        self.workers -= placed.workers[:, None] * job.worker_units
        self.servers -= placed.servers[:, None] * job.server_units

    def place(self, job: Job, count: int) -> Placed | None:
        """Place workers and their parameter servers round robin, or return ``None`` if they do not all fit.

        Each goes to the next machine after the last one used that has room for it; then nothing is changed.
        """
        from .kernels import spread

        needed = int(job.servers_for[count])
        free, servers_free = self.workers.copy(), self.servers.copy()
        workers, last_worker = spread(free, job.worker_units, count, self.last[0])
        servers, last_server = spread(servers_free, job.server_units, needed, self.last[1])
        if workers.sum() < count or servers.sum() < needed:
            return None
        self.workers, self.servers, self.last = free, servers_free, (last_worker, last_server)
        return Placed(workers, servers)

    def cut(self, job: Job, workers: np.ndarray, servers: np.ndarray) -> Placed:
        """Take what fits of these numbers, and no more workers than have their parameter servers."""
        placed = [
            _at_most(has, need, count)
            for has, need, count in (
                (self.workers, job.worker_units, workers),
                (self.servers, job.server_units, servers),
            )
        ]
        while job.servers_for[placed[0].sum()] > placed[1].sum():
            placed[0][np.flatnonzero(placed[0])[-1]] -= 1
        while placed[1].sum() > job.servers_for[placed[0].sum()]:
            placed[1][np.flatnonzero(placed[1])[-1]] -= 1
        result = Placed(*placed)
        self.take(job, result)
        return result


class Baseline(ABC):
    """Plans when jobs arrive or complete and repeats the deployment in between.

    Jobs that can never finish, even alone, are turned away. A job runs with what it was given in its last
    slot, too, even if less would do.
    """

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        self._setting = setting
        self._rng = rng
        self._tasks: dict[int, Task] = {}
        self._placed: dict[int, Placed] = {}
        self._deployment = NOTHING
        self._freed = False

    def decide(self, observation: Observation) -> Deployment:
        """Return the deployment of the slot."""
        arrived = [job for job in observation.jobs if self._setting.why_never(job) is None]
        for job in arrived:
            self.arrive(Task(job, self._setting, job.work), observation.slot)
        if arrived or self._freed:
            self._placed = self.plan(observation.slot)
            self._deployment = deployment(self._placed)
        self._work()
        return self._deployment

    @abstractmethod
    def arrive(self, task: Task, slot: int) -> None:
        """Admit a job by adding it to ``_tasks``, or turn it away."""

    @abstractmethod
    def plan(self, slot: int) -> dict[int, Placed]:
        """Return which of ``_tasks`` run from this slot on, and where."""

    def draw_workers(self, job: Job, fixed: int = 0) -> int:
        """Return a fixed number, for 0 one drawn from 1 to 30, at most N and what empty machines hold."""
        sampled = int(self._rng.integers(1, MOST_WORKERS + 1))
        return min(fixed or sampled, self._setting.most_workers(job))

    def _work(self) -> None:
        """Count the work of this slot, and forget the jobs that are done."""
        self._freed = False
        for i, placed in self._placed.items():
            task = self._tasks[i]
            task.left -= int(placed.workers.sum())
            if task.left <= 0:
                del self._tasks[i]
                self._freed = True
        if self._freed:
            self._placed = {i: placed for i, placed in self._placed.items() if i in self._tasks}


def deployment(placed: dict[int, Placed]) -> Deployment:
    """Return the rows (job, machine, count) of what is placed."""
    return Deployment(
        _rows((i, one.workers) for i, one in placed.items()),
        _rows((i, one.servers) for i, one in placed.items()),
    )


def _rows(counts: Iterable[tuple[int, np.ndarray]]) -> np.ndarray:
    parts = [np.zeros((0, 3), dtype=np.int64)]
    for i, count in counts:
        used = np.flatnonzero(count)
        parts.append(np.column_stack([np.full(len(used), i), used, count[used]]))
    return np.concatenate(parts)


def _at_most(free: np.ndarray, need: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the counts on each machine, as far as there is room."""
    asked = np.flatnonzero(need)
    return np.minimum(count, (free[:, asked] // need[asked]).min(axis=1, initial=count.max(initial=0)))
