"""What a policy of the placement problem may know: setting, observations and feedback (Sec. 3 of DAS)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .slowdown import Slowdown


@dataclass(frozen=True, eq=False)
class Setting:
    """What a policy may know before it starts; every array is read-only.

    Attributes
    ----------
    capacity
        What each machine has of GPUs, CPUs and memory, in units (whole GPUs, thousandths of the others),
        shape (M, 3).
    """

    capacity: np.ndarray
    price: float
    slowdown: Slowdown
    gpu_weight: float
    window: int


@dataclass(frozen=True, eq=False)
class Observation:
    """What a policy sees before it decides; every array is read-only. Times are in ticks of 1 ms.

    Attributes
    ----------
    time
        Now.
    jobs
        The pending jobs that may start now, the oldest first, shape (w,).
    submit
        When each of them was submitted, shape (w,).
    instances, need, intensity
        Their numbers of instances (w,), what each instance takes in units (w, 3), and their intensities in
        thousandths (w,).
    waiting
        How many jobs wait, those beyond the window included.
    free
        What is free on each machine, in units, shape (M, 3).
    running
        Rows (job, machine, count) of the jobs that run, in the order in which they started, shape (r, 3).
    ended
        Rows (job, start, finish) of the jobs that have ended since the last decision, shape (e, 3).
    duration
        How long each job of ``jobs`` takes alone on the fewest machines that hold it, shape (w,); only for a
        policy that declares to see "durations".
    estimate
        How long their users believe that they take so, shape (w,); only for a policy that declares to see
        "estimates".
    """

    time: int
    jobs: np.ndarray
    submit: np.ndarray
    instances: np.ndarray
    need: np.ndarray
    intensity: np.ndarray
    waiting: int
    free: np.ndarray
    running: np.ndarray
    ended: np.ndarray
    duration: np.ndarray | None
    estimate: np.ndarray | None = None


@dataclass(frozen=True)
class Feedback:
    """What a policy learns after its decision: what it cost until the next one, in seconds."""

    cost: float
