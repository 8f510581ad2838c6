"""The usage of every machine in every slot, as policies and oracles track it."""

from __future__ import annotations

import numpy as np

from .jobs import Job
from .schedule import Schedule
from .setting import Setting


class Usage:
    """Amounts taken on the machines, in whole multiples of 1e-6.

    ``workers`` are g_h^r(t), taken by workers, shape (T, H, R), and ``servers`` v_k^r(t), shape (T, K, R).
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.workers = np.zeros((setting.horizon, *setting.worker_units.shape), dtype=np.int64)
        self.servers = np.zeros((setting.horizon, *setting.server_units.shape), dtype=np.int64)

    def add(self, job: Job, schedule: Schedule, sign: int = 1) -> None:
        """Add what a job's schedule takes, or with ``sign=-1`` take it off again."""
        sides = (
            (self.workers, schedule.workers, job.worker_units),
            (self.servers, schedule.servers, job.server_units),
        )
        for taken, rows, need in sides:
            np.add.at(taken, (rows[:, 0] - 1, rows[:, 2]), sign * rows[:, 3:] * need)

    def worker_room(self, job: Job) -> np.ndarray:
        """How many workers of the job fit on each machine in the slots a, ..., T, at most N (30)."""
        return _room(self.setting.worker_units, self.workers[job.arrival - 1 :], job.worker_units, job.chunks)

    def server_room(self, job: Job) -> np.ndarray:
        """How many parameter servers of the job fit on each machine, at most N (31)."""
        return _room(self.setting.server_units, self.servers[job.arrival - 1 :], job.server_units, job.chunks)


def _room(capacity: np.ndarray, taken: np.ndarray, need: np.ndarray, most: int) -> np.ndarray:
    asked = np.flatnonzero(need)
    fits = (capacity[:, asked] - taken[:, :, asked]) // need[asked]
    return np.minimum(fits.min(axis=2, initial=most), most)
