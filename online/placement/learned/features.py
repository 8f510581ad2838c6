"""The input of the networks: features of an observation, and of those before.

A policy and the training of it make them by the same code, from the observations that a policy gets. Nothing
in them shows how long a job takes; estimates are there only for those that declare to see them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....models.base import InputError, frozen
from ....models.placement.setting import Observation, Setting

JOB_FEATURES = (
    "instances",
    "GPUs",
    "cores",
    "memory",
    "waited",
    "all GPUs",
    "fits",
    "share of the free GPUs",
    "machines that hold it whole",
    "intensity",
    "position",
    "queue",
    "estimate",
    "estimated work",
)
"""Features of a waiting job. The first five are those of the paper, per instance; amounts are shares of the
largest machine, counts and times logarithmic."""

MACHINE_FEATURES = ("free GPUs", "free cores", "free memory", "utilisation", "intensity", "jobs")
"""Features of a machine. The first four are those of the paper, whose bandwidth is no part of the model."""

PAIR_FEATURES = ("room", "holds it whole", "GPUs left free", "contention", "rank")
"""Features of a job on a machine; none in the paper. The rank is that of FIFO-Consolidate, 1 the first."""

HOLD_FEATURES = ("spread", "contention", "waited", "elapsed", "free GPUs", "patient")
"""Features of a job that might start now, where its affinities put it. Machines it would span by those it
must, logarithmic; the worst contention; how long it has waited, and the running jobs have run on average, by
the mean time of the jobs that have ended, logarithmic; the share of free GPUs; 1 if DRF-Patient would let it
wait, else -1."""

LINEAR = {
    "ordering": ("share", "waited", "intensity", "GPUs", "estimate"),
    "placement": ("contention", "contention of others", "free GPUs", "filled", "cores"),
    "holding": ("one", "wide", "waited", "spread", "contention", "share", "estimate"),
}
"""Features of the linear design, by agent; those named "estimate" only with estimates.

Shares, GPUs, times and the spread are logarithmic, and times by the mean time of the jobs that have
ended. Of a machine: what the job would bear there and what it would add to others, the share of free
GPUs, whether none would be left, and by how much more of the cores is free. Of waiting: a job is wide if
it would span more machines than it must; "waited", "share" and "estimate" are of wide jobs alone."""

STATE = ("one", "load")
"""What each of them is multiplied with: 1, and what the running jobs and those of the window ask for by
all that there is, logarithmic."""

ESTIMATE, GPUS = (JOB_FEATURES.index(name) for name in ("estimate", "all GPUs"))
RANK = PAIR_FEATURES.index("rank")
PATIENT = HOLD_FEATURES.index("patient")

WIDTHS = {
    "paper": (5, 4, 0),
    "capacity": (12, 6, len(PAIR_FEATURES)),
    "estimates": (14, 6, len(PAIR_FEATURES)),
}
"""How many of the features of jobs, machines and pairs each choice of features uses."""

NO_ESTIMATES = frozen(np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Scene:
    """The input of the networks at one decision epoch, w waiting jobs and M machines."""

    observation: Observation
    jobs: np.ndarray  # shape (w, 14), see :data:`JOB_FEATURES`
    machines: np.ndarray  # shape (M, 6), see :data:`MACHINE_FEATURES`
    pairs: np.ndarray  # shape (w, M, 5), see :data:`PAIR_FEATURES`
    fits: np.ndarray  # whether each job fits now, shape (w,)


class Eyes:
    """Makes scenes of observations; remembers of running jobs what it saw of them while they waited."""

    def __init__(self, setting: Setting, estimates: bool) -> None:
        self.capacity = setting.capacity
        self._estimates = estimates
        # GPUs of an instance and intensity of every job by its number, shapes (n,); -1: not seen.
        self.known = np.full((2, 64), -1, dtype=np.int64)

    def look(self, seen: Observation) -> Scene:
        """Return the input of the networks now; an InputError if there should be estimates and are none."""
        from .kernels import look

        estimate = self.note(seen)
        needs = seen.instances, seen.need, seen.intensity, estimate
        known = seen.waiting, seen.running, self.known
        jobs, machines, pairs, fits = look(seen.time, self.capacity, seen.free, seen.submit, *needs, *known)
        return Scene(seen, jobs, machines, pairs, fits)

    def note(self, seen: Observation) -> np.ndarray:
        """Remember the waiting jobs; return their estimates, or none if these are not to be seen.

        An InputError names a running job that was never seen to wait.
        """
        running = seen.running[:, 0]
        last = max(int(seen.jobs.max(initial=0)), int(running.max(initial=0)))
        if last >= self.known.shape[1]:
            self.known = np.concatenate([self.known, np.full((2, last + 1), -1, dtype=np.int64)], 1)
        self.known[0, seen.jobs], self.known[1, seen.jobs] = seen.need[:, 0], seen.intensity
        for job in running[self.known[0, running] < 0][:1]:
            raise InputError(
                f"observation: job {job} runs, but this policy has not seen it wait; show it every decision"
            )
        if not self._estimates:
            return NO_ESTIMATES
        if seen.estimate is None:
            raise InputError(
                "observation: this policy needs estimates of the durations, but was not shown any"
            )
        return seen.estimate
