"""A policy to start from, for ``clairvoyant new-policy``."""

from __future__ import annotations

TEMPLATE = '''"""A policy for the admission problem."""

from dataclasses import dataclass, field
from typing import ClassVar

import clairvoyant as cv
import numpy as np
from clairvoyant.models.admission import Deployment, Job, Observation, Setting


@dataclass
class $kind:
    """Start each job as soon as there is room; ties: the job that came first, the lower machine.

    With a method ``learn(self, feedback: Feedback)`` it is told after each slot which jobs are done.

    Parameters
    ----------
    workers
        The most workers of a job.
    """

    workers: int = 4
    name: str = field(default="$name", init=False)
    traits: ClassVar[cv.Traits] = cv.Traits(problem="admission")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything; ``rng`` is the only source of randomness."""
        self._setting = setting
        self._free = setting.worker_units.copy(), setting.server_units.copy()
        self._left: dict[Job, int] = {}
        self._placed: dict[Job, tuple[np.ndarray, np.ndarray]] = {}

    def decide(self, observation: Observation) -> Deployment:
        """Return the rows (job, machine, count) of workers and of parameter servers in this slot."""
        self._left |= {job: job.work for job in observation.jobs if self._setting.why_never(job) is None}
        for job in [job for job in self._left if job not in self._placed]:
            self._place(job)
        now = Deployment(*(_rows({job: one[side] for job, one in self._placed.items()}) for side in (0, 1)))
        for job, (workers, _) in list(self._placed.items()):
            self._left[job] -= int(workers.sum())
            if self._left[job] <= 0:
                self._move(job, 1)
                del self._left[job], self._placed[job]
        return now

    def _place(self, job: Job) -> None:
        """Give a job its workers and their parameter servers if all of them fit."""
        count = min(self.workers, self._setting.most_workers(job))
        workers = _fill(self._free[0], job.worker_units, count)
        servers = _fill(self._free[1], job.server_units, int(job.servers_for[count]))
        if workers is not None and servers is not None:
            self._placed[job] = workers, servers
            self._move(job, -1)

    def _move(self, job: Job, sign: int) -> None:
        """Take what a job holds from what is free (-1), or give it back (1)."""
        for free, count, need in zip(
            self._free, self._placed[job], (job.worker_units, job.server_units), strict=True
        ):
            free += sign * count[:, None] * need


def _fill(free: np.ndarray, need: np.ndarray, count: int) -> np.ndarray | None:
    """Return how many of ``count`` each machine holds, one after the other; None if not all fit."""
    held = np.zeros(len(free), dtype=np.int64)
    for machine, units in enumerate(free):
        held[machine] = (units[need > 0] // need[need > 0]).min(initial=count - held.sum())
    return held if held.sum() == count else None


def _rows(counts: dict[Job, np.ndarray]) -> list[tuple[int, int, int]]:
    """Return rows (job, machine, count)."""
    return [(job.index, i, n) for job, held in counts.items() for i, n in enumerate(held.tolist()) if n]
'''
