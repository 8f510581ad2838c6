"""Which channels there are, and the feasible sets Omega(t) of a slot (Sec. 2 of ESDP)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base import Violation, decided, frozen_copy

LARGEST = 2**31
"""The largest demand and capacity: sums of them are exact."""


class Chosen:
    """What settings share whose decisions are arrays ``x[channel]`` of zeros and ones."""

    port: Any  # of each channel, shape (E,)

    @property
    def channels(self) -> int:
        """Number of channels E."""
        return len(self.port)

    def open(self, arrivals: np.ndarray) -> np.ndarray:
        """Return which channels belong to ports with a job, those that (4) lets one choose, shape (E,)."""
        return arrivals[self.port] > 0

    def check_shape(self, x: Any) -> np.ndarray:
        """Return a decision as a contiguous float array, or raise for a wrong shape or type."""
        return decided(x, (self.channels,), wanted="an array of zeros and ones, one per channel")

    def _listed(self, x: np.ndarray, arrivals: np.ndarray | None, **more: np.ndarray) -> list[Violation]:
        """List what is broken: "binary", ``more`` where it is above 0, and "arrival" if that is checked."""
        excess = {"binary": np.minimum(abs(x), abs(x - 1.0)), **more}
        if arrivals is not None:
            excess["arrival"] = np.where(self.open(arrivals), 0.0, abs(x))
        return [
            Violation(name, tuple(at), float(array[tuple(at)]))
            for name, array in excess.items()
            for at in np.argwhere(~(array <= 0.0)).tolist()
        ]


@dataclass(frozen=True, eq=False)
class Channels(Chosen):
    """The channels between ports and servers and what limits them; every array is read-only.

    Attributes
    ----------
    ports
        Number of ports.
    slots
        Length T of the horizon.
    """

    edges: np.ndarray
    demand: np.ndarray
    capacity: np.ndarray
    cost: np.ndarray
    ports: int
    slots: int

    @property
    def servers(self) -> int:
        """Number of servers, up to the last one with a channel."""
        return int(self.edges[:, 1].max(initial=-1)) + 1

    @property
    def kinds(self) -> int:
        """Number of device kinds K."""
        return len(self.capacity)

    @cached_property
    def port(self) -> np.ndarray:
        """Port of each channel, ascending, shape (E,)."""
        return frozen_copy(self.edges[:, 0])

    @cached_property
    def port_start(self) -> np.ndarray:
        """Channels of port l are ``port_start[l]:port_start[l + 1]``."""
        return frozen_copy(np.searchsorted(self.port, np.arange(self.ports + 1)))

    def violations(self, x: Any, arrivals: np.ndarray | None = None) -> list[Violation]:
        """List the broken constraints: "binary" [channel], "capacity" [kind] (2), "arrival" [channel] (4).

        Without arrivals (4) is not checked.
        """
        array = self.check_shape(x)
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite entry times a demand of 0
            used = array @ self.demand
        return self._listed(array, arrivals, capacity=used - self.capacity)

    def feasible(self, x: np.ndarray, arrivals: np.ndarray) -> bool:
        """Return whether a checked decision breaks nothing."""
        chosen = x.nonzero()[0]
        on, jobs = x[chosen].tolist(), arrivals[self.port[chosen]].tolist()  # a few: lists are faster
        if on.count(1.0) < len(on) or 0 in jobs:
            return False
        return False not in (np.add.reduce(self.demand[chosen]) <= self.capacity).tolist()
