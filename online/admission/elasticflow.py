"""ElasticFlow: deadlines, minimum satisfactory shares, and elastic use of the rest.

Written from the paper; https://github.com/pkusys/ElasticFlow was read beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from ...models.admission.jobs import Job
from ...models.admission.schedule import Deployment
from ...models.admission.setting import Observation, Setting
from ...models.checks import real
from ..base import Traits
from .placement import Placed, deployment


class Share(NamedTuple):
    """What a job has in the slots from ``first`` on, on each machine, shapes (S, H) and (S, K)."""

    first: int
    workers: np.ndarray
    servers: np.ndarray


@dataclass
class ElasticFlow:
    """ElasticFlow: admits what can be done by its deadline beside all admitted; ties: earlier, lower index.

    Of the original: a job has a deadline. Its minimum satisfactory share is the least number of workers that,
    where fewer fit only these, get it done by then; so the jobs are filled into the future one after the
    other, by deadline. A new job is admitted if this works out for all, and otherwise rejected for good. What
    is left over in a slot goes, one worker after the other, to the admitted job with the largest return per
    resource. What is admitted is done by its deadline, since the last plan that worked out is kept.

    What is ours: the deadline, which the original is given. It is the last slot in which the job still earns
    the part ``worth`` of what it would in the slot of its arrival; with 1/2 about its arrival plus its
    target, and for a job whose utility does not decay the horizon. The original counts GPUs, a power of two
    for each job, and moves jobs between machines as it likes; here machines are filled by their index, and
    workers bring the parameter servers that they need. Its jobs are slower per GPU on more of them, and the
    next GPU goes where GPU-time grows least; here work is linear in workers, and the return is 1 over the
    largest share of all capacity that the next worker takes, with the parameter servers it needs more.
    Jobs without deadlines, which the original runs in the background, are not here. It knows no priorities.

    Jobs that arrive together are judged one after the other. Ties, of deadlines and of returns, go to the
    earlier job, and to the machine with the lower index; what is left over goes round robin from the first
    machine on.

    Parameters
    ----------
    worth
        See above, 0 to 1.

    Raises
    ------
    InputError
        For a setting out of range.
    """

    worth: float = 0.5
    name: str = field(default="elasticflow", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="admission",
        source="Gu et al., ElasticFlow, ASPLOS 2023; what is ours stands in its docstring",
    )

    def __post_init__(self) -> None:
        self.worth = real("worth", self.worth, 0.0, 1.0)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        self._setting = setting
        self._left: dict[Job, int] = {}
        self._shares: dict[Job, Share] = {}

    def decide(self, observation: Observation) -> Deployment:
        """Judge the jobs that arrive, and return what runs in this slot."""
        for job in observation.jobs:
            self._judge(job, observation.slot)
        return self._run(observation.slot)

    def deadline(self, job: Job) -> int:
        """Return the last slot in which a job still earns what is worth it."""
        earns = job.utilities(self._setting.horizon)
        return job.arrival + int(np.flatnonzero(earns >= self.worth * earns[0])[-1])

    def _judge(self, new: Job, slot: int) -> None:
        """Admit a job if all can be done by their deadlines, and plan them anew."""
        from .kernels import minimum_share

        if self._setting.why_never(new) is not None:
            return
        left = self._left | {new: new.work}
        deadlines = {job: self.deadline(job) for job in left}
        slots = max(deadlines.values()) - slot + 1
        free = [np.repeat(units[None], slots, axis=0) for units in self._capacity()]
        shares = {}
        for job in sorted(left, key=lambda job: (deadlines[job], job.index)):
            until = deadlines[job] - slot + 1
            sides = free[0][:until], free[1][:until]
            needs = job.worker_units, job.server_units, job.servers_for
            share, workers, servers = minimum_share(*sides, *needs, left[job])
            if share == 0:
                return
            shares[job] = Share(slot, workers, servers)
        self._left, self._shares = left, shares

    def _capacity(self) -> tuple[np.ndarray, np.ndarray]:
        return self._setting.worker_units, self._setting.server_units

    def _run(self, slot: int) -> Deployment:
        """Return the shares of a slot with what is left over, and count the work."""
        jobs = sorted(self._left, key=lambda job: job.index)
        planned = [planned_in(self._shares[job], slot) for job in jobs]
        placed: dict[int, Placed] = {}
        for job, share, more in zip(jobs, planned, self._more(jobs, planned), strict=True):
            now = Placed(share.workers + more.workers, share.servers + more.servers)
            if now.workers.any():
                placed[job.index] = now
                self._left[job] -= int(now.workers.sum())
            if self._left[job] <= 0:
                del self._left[job], self._shares[job]
        return deployment(placed)

    def _more(self, jobs: list[Job], planned: list[Placed]) -> list[Placed]:
        """Return what each job gets of what is left over in a slot."""
        from .kernels import progressive_filling

        if not jobs:
            return []
        free = [units.copy() for units in self._capacity()]
        for job, share in zip(jobs, planned, strict=True):
            free[0] -= share.workers[:, None] * job.worker_units
            free[1] -= share.servers[:, None] * job.server_units
        has = np.array([share.workers.sum() for share in planned])
        most = [min(self._left[job], self._setting.most_workers(job)) for job in jobs]
        ends = np.maximum(most, has) + 1
        workers, servers = progressive_filling(
            *free,
            np.array([job.worker_units for job in jobs]),
            np.array([job.server_units for job in jobs]),
            np.concatenate([self._costs(job)[:end] for job, end in zip(jobs, ends, strict=True)]),
            np.concatenate([job.servers_for[:end] for job, end in zip(jobs, ends, strict=True)]),
            np.concatenate([[0], np.cumsum(ends)]),
            has,
        )
        return [Placed(y, z) for y, z in zip(workers, servers, strict=True)]

    def _costs(self, job: Job) -> np.ndarray:
        """Return the largest share of all capacity that worker 1, ..., N + 1 takes, shape (N + 1,)."""
        worker, server = self._setting.worker_share(job).max(), self._setting.server_share(job).max()
        return np.maximum(worker, np.diff(job.servers_for, append=job.servers_for[-1]) * server)


def planned_in(share: Share, slot: int) -> Placed:
    """Return what a share has in a slot; nothing after its last one."""
    t = slot - share.first
    if t < len(share.workers):
        return Placed(share.workers[t], share.servers[t])
    return Placed(np.zeros_like(share.workers[0]), np.zeros_like(share.servers[0]))
