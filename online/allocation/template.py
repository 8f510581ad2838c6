"""Policies to start from, for ``clairvoyant new-policy``."""

from __future__ import annotations

TEMPLATE = '''"""A policy for the allocation problem."""

from dataclasses import dataclass, field
from typing import ClassVar

import clairvoyant as cv
import numpy as np
from clairvoyant.models.allocation import Feedback, Observation, Setting


@dataclass
class $kind:
    """Hold the demand of each port as often as it had jobs; no order, so no ties.

    Parameters
    ----------
    share
        The part of that which is asked for, from 0 to 1.
    """

    share: float = 0.5
    name: str = field(default="$name", init=False)
    traits: ClassVar[cv.Traits] = cv.Traits(problem="allocation")  # sees nothing of a slot

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything; ``rng`` is the only source of randomness."""
        self._setting = setting
        self._often, self._slots = np.ones(setting.ports), 1

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the devices of each kind that each edge holds, shape (edges, kinds)."""
        often = (self._often / self._slots)[self._setting.port][:, None]
        return self._setting.project(self.share * often * self._setting.edge_demand)

    def learn(self, feedback: Feedback) -> None:
        """Count the slots in which each port had jobs."""
        self._often += feedback.arrivals > 0
        self._slots += 1
'''

GANG_TEMPLATE = '''"""A policy for the allocation problem with gangs."""

from dataclasses import dataclass, field
from typing import ClassVar

import clairvoyant as cv
import numpy as np
from clairvoyant.models.allocation import AllocationGangSetting, Feedback, Observation
from clairvoyant.online.base import shown_arrivals


@dataclass
class $kind:
    """Serve the ports whose jobs earned most so far; ties: the smaller port."""

    name: str = field(default="$name", init=False)
    traits: ClassVar[cv.Traits] = cv.Traits(problem="allocation-gang", sees=frozenset({"arrivals"}))

    def start(self, setting: AllocationGangSetting, rng: np.random.Generator) -> None:
        """Forget everything; ``rng`` is the only source of randomness."""
        self._setting = setting
        self._earned = np.zeros(setting.ports)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the devices of each kind that each pair of edge and task holds, shape (pairs, kinds)."""
        self._held, self._free = np.zeros(self._setting.shape), self._setting.base.capacity.copy()
        jobs = shown_arrivals(observation)
        for port in np.argsort(-self._earned, kind="stable"):
            if jobs[port] > 0:
                self._serve(port)
        return self._held

    def _serve(self, port: int) -> None:
        """Give each task of a port its demand, or at least its floor; nothing if too few get that."""
        s, before, running = self._setting, (self._held.copy(), self._free.copy()), 0
        for task in np.flatnonzero(s.task_port == port):
            held, free, left = self._held.copy(), self._free.copy(), s.task_demand[task].copy()
            for pair in np.flatnonzero(s.pair_task == task):
                server = s.base.server[s.pair_edge[pair]]
                held[pair] = np.minimum(left, free[server])
                free[server] -= held[pair]
                left -= held[pair]
            if (s.task_demand[task] - left >= s.task_floor[task]).all():
                self._held, self._free, running = held, free, running + 1
        if running < s.minimum[port]:
            self._held, self._free = before

    def learn(self, feedback: Feedback) -> None:
        """Add to each port what it would earn, by the slot's arrivals, with what it held."""
        self._earned += feedback.arrivals * self._setting.port_rewards(self._held)
'''
