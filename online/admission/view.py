"""The admission problem for a trained model: arrays in, priorities and numbers of workers out."""

from __future__ import annotations

import numpy as np

from ...models.admission.jobs import Job
from ...models.admission.schedule import Deployment
from ...models.admission.setting import Feedback, Observation, Setting
from ...models.base import InputError
from ...models.draw import whole
from ..views import Seen
from .placement import Machines, Placed, deployment

JOBS = 16
"""N: how many of the oldest jobs in the system are seen and run."""


class AdmissionView:
    """The oldest N jobs that are not done, and can be, have a priority and a wish for workers.

    An action has shape (N, 2). In descending order of its first column, ties to the older job, each job gets
    the part of its most workers that the second says, from -1 for none to 1 for all, or as many as then fit,
    round robin, with their parameter servers; no more than it has work left. Seen are, R resources,

    - "jobs", shape (N, 6 + 2 R): the part of its work that is left; w / (1 + w) of the slots w that this
      takes with its most workers; the part of its priority that it would earn if it were done now; the part
      of the horizon since its arrival; gamma1 / (1 + gamma1) and gamma2 / (1 + gamma2) of its utility; the
      shares of each resource of all machines that a worker takes, and a parameter server;
    - "mask", shape (N,): 1 where there is a job;
    - "time", shape (1,): the part of the horizon that is over.
    """

    problem = "admission"
    sees: frozenset[str] = frozenset()

    def __init__(self, *, window: int = JOBS) -> None:
        self._window = whole("window", window, 1)

    def fit(self, setting: Setting) -> None:
        """Take the number of resources."""
        self._resources = len(setting.resources)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array that is seen."""
        return {"jobs": (self._window, 6 + 2 * self._resources), "mask": (self._window,), "time": (1,)}

    def action_shape(self) -> tuple[int, ...]:
        """Return (N, 2)."""
        return self._window, 2

    def start(self, setting: Setting) -> None:
        """Begin without jobs; another number of resources is an InputError."""
        if len(setting.resources) != self._resources:
            raise InputError(f"instance: {len(setting.resources)} resources, expected {self._resources}")
        self._setting = setting
        self._jobs: dict[int, Job] = {}
        self._left: dict[int, int] = {}

    def look(self, observation: Observation) -> Seen:
        """Return what is seen; see the class."""
        s, self._slot = self._setting, observation.slot
        for job in observation.jobs:
            if s.why_never(job) is None:
                self._jobs[job.index], self._left[job.index] = job, job.work
        jobs = np.zeros(self.shapes()["jobs"], dtype=np.float32)
        mask = np.zeros(self._window, dtype=np.float32)
        for row, job in enumerate(self._window_jobs()):
            left, waited = self._left[job.index], observation.slot - job.arrival
            slots = left / s.most_workers(job)
            worth = job.utility(waited) / job.priority
            known = [left / job.work, slots / (1.0 + slots), worth, waited / s.horizon]
            known += [job.priority / (1.0 + job.priority), job.decay / (1.0 + job.decay)]
            jobs[row] = [*known, *s.worker_share(job), *s.server_share(job)]
            mask[row] = 1.0
        time = np.array([(observation.slot - 1) / s.horizon], dtype=np.float32)
        return {"jobs": jobs, "mask": mask, "time": time}

    def _window_jobs(self) -> list[Job]:
        return list(self._jobs.values())[: self._window]

    def decide(self, action: np.ndarray) -> Deployment:
        """Return the deployment of the slot."""
        jobs, machines = self._window_jobs(), Machines(self._setting)
        placed: dict[int, Placed] = {}
        for row in np.argsort(-action[: len(jobs), 0], kind="stable").tolist():
            job = jobs[row]
            part = min(1.0, max(0.0, (float(action[row, 1]) + 1.0) / 2.0))
            count = min(round(part * self._setting.most_workers(job)), self._left[job.index])
            while count and (found := machines.place(job, count)) is None:
                count -= 1
            if count and found is not None:
                placed[job.index] = found
                self._left[job.index] -= count
        return deployment(placed)

    def learn(self, feedback: Feedback) -> None:
        """Forget the jobs that are done."""
        for index in feedback.completed:
            self._jobs.pop(index, None)
