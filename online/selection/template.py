"""Policies to start from, for ``clairvoyant new-policy``."""

from __future__ import annotations

TEMPLATE = '''"""A policy for the selection problem."""

from dataclasses import dataclass, field
from typing import ClassVar

import clairvoyant as cv
import numpy as np
from clairvoyant.models.selection import Feedback, Observation, Setting
from clairvoyant.online.base import shown_arrivals


@dataclass
class $kind:
    """The best channels by their averages so far; ties: as the exact search decides.

    Parameters
    ----------
    hope
        What a channel counts for that was never used, from 0 to 1.
    """

    hope: float = 1.0
    name: str = field(default="$name", init=False)
    traits: ClassVar[cv.Traits] = cv.Traits(problem="selection", sees=frozenset({"arrivals"}))

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything; ``rng`` is the only source of randomness."""
        self._setting = setting
        self._count, self._total = np.zeros(setting.channels), np.zeros(setting.channels)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return a zero or a one for each channel, shape (channels,)."""
        average = np.where(self._count > 0, self._total / np.maximum(self._count, 1), self.hope)
        there = self._setting.open(shown_arrivals(observation))
        return self._setting.knapsack.best(average, open=there).x

    def learn(self, feedback: Feedback) -> None:
        """Note what the chosen channels have shown."""
        self._count[feedback.channels] += 1
        self._total[feedback.channels] += feedback.utility
'''

GANG_TEMPLATE = '''"""A policy for the selection problem with gangs."""

from dataclasses import dataclass, field
from typing import ClassVar

import clairvoyant as cv
import numpy as np
from clairvoyant.models.selection import Feedback, Observation, SelectionGangSetting
from clairvoyant.online.base import shown_arrivals


@dataclass
class $kind:
    """Each task on the server with the best average so far that has room; ties: the lower index.

    Parameters
    ----------
    hope
        What a channel counts for that was never used, from 0 to 1.
    """

    hope: float = 1.0
    name: str = field(default="$name", init=False)
    traits: ClassVar[cv.Traits] = cv.Traits(problem="selection-gang", sees=frozenset({"arrivals"}))

    def start(self, setting: SelectionGangSetting, rng: np.random.Generator) -> None:
        """Forget everything; ``rng`` is the only source of randomness."""
        self._setting = setting
        self._count, self._total = np.zeros(setting.channels), np.zeros(setting.channels)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return a zero or a one for each channel of a task and a server, shape (channels,)."""
        s, free = self._setting, self._setting.capacity.copy()
        average = np.where(self._count > 0, self._total / np.maximum(self._count, 1), self.hope)
        chosen = np.zeros(s.channels)
        for port in np.flatnonzero(shown_arrivals(observation)):
            room, mine = free.copy(), list[int]()
            for task in np.flatnonzero(s.task_port == port):
                channels = np.flatnonzero(s.task == task)
                for channel in channels[np.argsort(-average[channels], kind="stable")]:
                    if (s.demand[task] <= room[s.server[channel]]).all():
                        room[s.server[channel]] -= s.demand[task]
                        mine.append(channel)
                        break
            if len(mine) >= s.minimum[port]:  # else the job does not run
                chosen[mine], free = 1.0, room
        return chosen

    def learn(self, feedback: Feedback) -> None:
        """Note what the chosen channels have shown."""
        self._count[feedback.channels] += 1
        self._total[feedback.channels] += feedback.utility
'''
