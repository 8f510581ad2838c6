"""Gang scheduling (Sec. 3.4 of ESDP): a job consists of tasks, and runs only if enough of them do.

A channel joins a task q of a port l with a server r, so x is one number per channel. The sound form, with a
launch y_l that is 1 if and only if any task of the job runs, is in every slot::

    y_l <= 1_l(t)                                     only jobs that are there
    sum_r x[q,r] <= y_l                               a task runs on one server at most
    sum_{q,r} x[q,r] >= m_l y_l                       none of a job's tasks, or at least m_l of them
    sum_{l,q} a[q,k] x[q,r] <= c[r,k]                 devices of each kind on each server
    x, y binary

As printed the third row lacks y_l: then no decision is feasible once a port with m_l >= 1 has no job.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base import Violation, frozen_copy
from .channels import Chosen

MOST_DEVICES = 10**6
"""The largest demand and capacity of a server: HiGHS loses optima over much smaller shares of a capacity."""


@dataclass(frozen=True, eq=False)
class GangChannels(Chosen):
    """The channels between tasks and servers and what limits them; every array is read-only.

    Attributes
    ----------
    ports
        Number of ports.
    slots
        Length T of the horizon.
    """

    pairs: np.ndarray
    task_port: np.ndarray
    demand: np.ndarray
    capacity: np.ndarray
    minimum: np.ndarray
    ports: int
    slots: int

    @property
    def tasks(self) -> int:
        """Number of tasks Q of all ports together."""
        return len(self.task_port)

    @property
    def servers(self) -> int:
        """Number of servers R."""
        return len(self.capacity)

    @property
    def kinds(self) -> int:
        """Number of device kinds K."""
        return self.capacity.shape[1]

    @cached_property
    def task(self) -> np.ndarray:
        """Task of each channel, ascending, shape (E,)."""
        return frozen_copy(self.pairs[:, 0])

    @cached_property
    def server(self) -> np.ndarray:
        """Server of each channel, shape (E,)."""
        return frozen_copy(self.pairs[:, 1])

    @cached_property
    def port(self) -> np.ndarray:
        """Port of each channel, ascending, shape (E,)."""
        return frozen_copy(self.task_port[self.task])

    @cached_property
    def fits(self) -> np.ndarray:
        """Whether the task of a channel fits on its server while that is empty, shape (E,)."""
        return frozen_copy((self.demand[self.task] <= self.capacity[self.server]).all(axis=1))

    def used(self, x: np.ndarray) -> np.ndarray:
        """Return the devices of each kind that a decision takes on each server, shape (R, K)."""
        result = np.zeros(self.capacity.shape)
        np.add.at(result, self.server, x[:, None] * self.demand[self.task])
        return result

    def violations(self, x: Any, arrivals: np.ndarray | None = None) -> list[Violation]:
        """List the broken constraints.

        A job counts as launched if any of its channels is not zero. Indices: "binary" and "arrival" (a
        channel of a port without a job) channel; "once" (a task on several servers) task; "minimum" port;
        "capacity" server, kind. Without arrivals it is not checked whether there are jobs.
        """
        array = self.check_shape(x)
        with np.errstate(over="ignore", invalid="ignore"):
            once = np.bincount(self.task, weights=array, minlength=self.tasks) - 1.0
            lack, over = self._lack(array), self.used(array) - self.capacity
        return self._listed(array, arrivals, once=once, minimum=lack, capacity=over)

    def feasible(self, x: np.ndarray, arrivals: np.ndarray) -> bool:
        """Return whether a checked decision breaks nothing."""
        if not ((x == 0.0) | (x == 1.0)).all() or (x[~self.open(arrivals)] != 0.0).any():
            return False
        once = (np.bincount(self.task, weights=x, minlength=self.tasks) <= 1.0).all()
        return bool(once and (self._lack(x) <= 0.0).all() and (self.used(x) <= self.capacity).all())

    def _lack(self, x: np.ndarray) -> np.ndarray:
        """Return by how much the launched jobs fall short of their minimum, shape (L,)."""
        running = np.bincount(self.port, weights=x, minlength=self.ports)
        launched = np.bincount(self.port, weights=x != 0.0, minlength=self.ports) > 0
        return np.where(launched, self.minimum - running, 0.0)
