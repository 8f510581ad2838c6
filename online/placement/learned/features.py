"""The input of the networks: features of an observation, and of those before.

A policy and the training of it make them by the same code, from the observations that a policy gets. Nothing
in them shows how long a job takes; estimates are there only for those that declare to see them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....models.base import InputError
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

ESTIMATE = JOB_FEATURES.index("estimate")
RANK = PAIR_FEATURES.index("rank")

WIDTHS = {
    "paper": (5, 4, 0),
    "capacity": (12, 6, len(PAIR_FEATURES)),
    "estimates": (14, 6, len(PAIR_FEATURES)),
}
"""How many of the features of jobs, machines and pairs each choice of features uses."""

NO_ESTIMATES = np.empty(0, dtype=np.int64)


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
        self._capacity = setting.capacity
        self._estimates = estimates
        self._gpus = np.zeros(64, dtype=np.int64)
        self._intensity = np.zeros(64, dtype=np.int64)

    def look(self, seen: Observation) -> Scene:
        """Return the input of the networks now; an InputError if there should be estimates and are none."""
        from .kernels import loads, look_at_jobs, look_at_machines, look_at_pairs

        if self._estimates and seen.estimate is None:
            raise InputError(
                "observation: this policy needs estimates of the durations, but was not shown any"
            )
        self._remember(seen)
        capacity = self._capacity
        load = loads(seen.running, self._gpus, self._intensity, len(capacity))
        jobs, fits = look_at_jobs(
            seen.time,
            capacity,
            seen.free,
            seen.submit,
            seen.instances,
            seen.need,
            seen.intensity,
            seen.estimate if self._estimates else NO_ESTIMATES,
            seen.waiting,
        )
        machines = look_at_machines(capacity, seen.free, load)
        pairs = look_at_pairs(capacity, seen.free, seen.instances, seen.need, seen.intensity, load)
        return Scene(seen, jobs, machines, pairs, fits)

    def _remember(self, seen: Observation) -> None:
        """Note the GPUs and the intensity of the waiting jobs."""
        last = int(seen.jobs.max(initial=0))
        if last >= len(self._gpus):
            size = 2 * (last + 1)
            self._gpus = np.resize(self._gpus, size)
            self._intensity = np.resize(self._intensity, size)
        self._gpus[seen.jobs] = seen.need[:, 0]
        self._intensity[seen.jobs] = seen.intensity
