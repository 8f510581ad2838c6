"""The baselines of Sec. 4: rank the ports that have jobs, and switch on their channels while these fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.draw import choose
from ...models.selection.setting import Feedback, Observation, Setting
from ..base import Traits, shown_arrivals
from .statistics import Statistics

MISFITS = ("stop", "skip")


@dataclass
class _Ranked(ABC):
    """Serve ports by rank.

    Parameters
    ----------
    misfit
        "stop" ends the slot at the first channel that does not fit, as printed; "skip" leaves it out and
        goes on.
    """

    misfit: str = "stop"
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        source="Zhao et al., IEEE TPDS 34(1) (2023), Sec. 4: a baseline there",
    )

    def __post_init__(self) -> None:
        choose(self.misfit, MISFITS, "misfit")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Remember the setting."""
        self._setting = setting

    @abstractmethod
    def rank(self) -> np.ndarray:
        """Return a number for every port, shape (L,): the smallest first, of equals the smaller port."""

    def decide(self, observation: Observation) -> np.ndarray:
        """Serve the ports that have jobs in their order."""
        from .kernels import take_in_turn

        s = self._setting
        order = np.argsort(self.rank(), kind="stable")
        return take_in_turn(
            order, shown_arrivals(observation), s.port_start, s.demand, s.capacity, self.misfit == "skip"
        )


@dataclass
class Hswf(_Ranked):
    """Ports with the largest sum of average net utilities first; ties: the smaller port.

    HSWF and HAUF are one baseline. A port counts with the sum of v-hat of (9) over its channels, untried ones
    as 0. Its channels are switched on in index order; ties go to the smaller port.
    """

    name: str = field(default="hswf", init=False)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        super().start(setting, rng)
        self._statistics = Statistics(setting.channels)

    def rank(self) -> np.ndarray:
        """Return minus the sum of the averages of each port."""
        s = self._setting
        return -np.bincount(s.port, weights=self._statistics.mean, minlength=s.ports)

    def learn(self, feedback: Feedback) -> None:
        """Count what the chosen channels have shown."""
        self._statistics.update(feedback)


@dataclass
class Lcf(_Ranked):
    """Ports with the lowest sum of supply costs first; ties: the smaller port.

    A port counts with the supply costs sum_k f_k(a) of all its channels. They are switched on in index order;
    ties go to the smaller port.
    """

    name: str = field(default="lcf", init=False)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Add up the costs."""
        super().start(setting, rng)
        self._cost = np.bincount(setting.port, weights=setting.cost, minlength=setting.ports)

    def rank(self) -> np.ndarray:
        """Return the cost of each port."""
        return self._cost


@dataclass
class Lwtf(_Ranked):
    """Ports that have waited longest first; ties: the smaller port.

    A port has waited for the slots since any of its channels was last switched on. A port that was never
    served has waited since before the first slot. Its channels are switched on in index order; ties go to the
    smaller port.
    """

    name: str = field(default="lwtf", init=False)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget who was served."""
        super().start(setting, rng)
        self._served = np.full(setting.ports, -1)

    def rank(self) -> np.ndarray:
        """Return the slot in which each port was last served, -1 if never."""
        return self._served

    def learn(self, feedback: Feedback) -> None:
        """Note who was served."""
        self._served[self._setting.port[feedback.channels]] = feedback.slot
