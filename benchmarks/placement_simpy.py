"""The rules of the placement simulator as a plain SimPy model, a rival in speed: a process for every job.

The same rules give the same schedule to the tick: first in, first out, jobs that do not fit are passed over,
each starts on the first machines with room, and the work left is counted piece by piece whenever the
contention of a running job changes.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import numpy as np
import simpy
from simpy.events import EventPriority

from clairvoyant.models.placement.instance import PlacementInstance

SCALE = 1_000_000
"""Work that a job without contention does in a tick."""

LAST = EventPriority(2)
"""Priority of what is done after all arrivals and completions of a tick (SimPy's own are 0 and 1)."""


class Job:
    """A job as a process: it arrives, waits until it is started, and works until it is done."""

    def __init__(self, cluster: Cluster, index: int) -> None:
        jobs = cluster.instance.jobs
        self.cluster, self.index = cluster, index
        self.submit, self.duration = int(jobs.submit[index]), int(jobs.duration[index])
        self.instances, self.need = int(jobs.instances[index]), jobs.need[index].tolist()
        self.intensity = int(jobs.intensity[index])
        self.started = cluster.env.event()
        self.start = self.finish = -1
        self.placed: dict[int, int] = {}
        self.work = self.speed = 0
        self.process = cluster.env.process(self.live())

    def live(self) -> Generator[Any, Any, None]:
        """Arrive, wait, work, leave."""
        env = self.cluster.env
        yield env.timeout(self.submit)
        self.cluster.pending.append(self)
        self.cluster.look()
        yield self.started
        while self.work > 0:
            since = self.cluster.now
            try:
                yield env.timeout(-(-self.work // self.speed))
            except simpy.Interrupt as change:
                self.work -= self.speed * (self.cluster.now - since)
                speed: Any = change.cause
                self.speed = speed
            else:
                self.work = 0
        self.finish = self.cluster.now
        self.cluster.leave(self)

    def rooms(self, machines: list[list[int]]) -> list[int]:
        """Return how many instances each machine has room for, at most all."""
        return [
            min([self.instances, *(has // n for has, n in zip(free, self.need, strict=True) if n)])
            for free in machines
        ]

    def factor(self, spans: int) -> float:
        """Return by how much communication over so many machines multiplies the duration, not normalised."""
        return float(1.0 + self.cluster.communication * (spans - 1.0) / spans)

    def total_work(self) -> int:
        """Return the work of the job on the machines where it is placed."""
        fitting, fewest = 0, 0
        for room in sorted(self.rooms(self.cluster.capacity), reverse=True):
            fitting, fewest = fitting + room, fewest + 1
            if fitting >= self.instances:
                break
        slower = self.factor(len(self.placed)) / self.factor(fewest)
        return math.floor(self.duration * slower + 0.5) * SCALE


class Cluster:
    """The machines, the jobs on them, and the scheduler."""

    def __init__(self, instance: PlacementInstance) -> None:
        setting = instance.setting
        self.instance, self.env = instance, simpy.Environment()
        self.capacity: list[list[int]] = setting.capacity.tolist()
        self.free = [list(machine) for machine in self.capacity]
        self.here: list[list[Job]] = [[] for _ in self.capacity]
        self.touched: set[int] = set()
        self.communication, self.contention = setting.slowdown.communication, setting.slowdown.contention
        self.pending: list[Job] = []
        self.looking = False
        self.jobs = [Job(self, index) for index in range(len(instance.jobs))]

    @property
    def now(self) -> int:
        """The tick."""
        return int(self.env.now)

    def look(self) -> None:
        """Let the scheduler look after everything else that happens in this tick."""
        if self.looking:
            return
        self.looking = True
        turn = simpy.Event(self.env)
        turn._ok, turn._value = True, None
        turn.callbacks.append(lambda _: self.schedule())
        self.env.schedule(turn, priority=LAST)

    def schedule(self) -> None:
        """Start the jobs of the window that fit, the oldest first, and notify all whose speed changed."""
        self.looking = False
        for job in self.pending[: self.instance.setting.window]:
            rooms = job.rooms(self.free)
            if sum(rooms) >= job.instances:
                self.start(job, rooms)
        near = {job.index: job for k in self.touched for job in self.here[k]}
        self.touched.clear()
        for job in near.values():
            speed = self.speed(job)
            if not job.started.triggered:
                job.speed = speed
                job.started.succeed()
            elif speed != job.speed:
                job.process.interrupt(speed)

    def start(self, job: Job, rooms: list[int]) -> None:
        """Start a job on the first machines with room."""
        left = job.instances
        for k, room in enumerate(rooms):
            if min(room, left) > 0:
                job.placed[k] = min(room, left)
                left -= job.placed[k]
        for k, count in job.placed.items():
            self.free[k] = [has - count * n for has, n in zip(self.free[k], job.need, strict=True)]
            self.here[k].append(job)
        self.touched.update(job.placed)
        job.start, job.work = self.now, job.total_work()
        self.pending.remove(job)

    def leave(self, job: Job) -> None:
        """Free the resources of a job."""
        for k, count in job.placed.items():
            self.free[k] = [has + count * n for has, n in zip(self.free[k], job.need, strict=True)]
            self.here[k].remove(job)
        self.touched.update(job.placed)
        self.look()

    def speed(self, job: Job) -> int:
        """Return the work that a job does in a tick: SCALE over the contention of its worst machine."""
        worst = 1.0
        for k in job.placed:
            others = sum(o.intensity * o.need[0] * o.placed[k] for o in self.here[k] if o is not job)
            if others:
                share = others / (1000 * self.capacity[k][0])
                worst = max(worst, 1.0 + self.contention * (job.intensity / 1000) * share)
        return math.floor(SCALE / worst)


def simulate(instance: PlacementInstance) -> tuple[np.ndarray, np.ndarray]:
    """Return when each job starts and ends under FIFO with FirstFit, in ticks, both of shape (n,)."""
    cluster = Cluster(instance)
    cluster.env.run()
    start = np.array([job.start for job in cluster.jobs], dtype=np.int64)
    finish = np.array([job.finish for job in cluster.jobs], dtype=np.int64)
    return start, finish
