"""The allocation problem for a trained model: arrays in, shares of demands out."""

from __future__ import annotations

import numpy as np

from ...models.allocation.setting import Feedback, Observation, Setting
from ...models.base import InputError
from ..views import Seen


class AllocationView:
    """Ports ask for shares of what they can use of every server; L ports, R servers, K kinds of devices.

    An action has shape (L, R, K): -1 asks for nothing, 1 for the whole demand; what asks for too much is
    projected onto what is feasible. It is decided before the arrivals of the slot are known, and seen are

    - "arrivals", shape (L,): x / (1 + x) of the x jobs that each port had in the slot before;
    - "demand", shape (L, K), and "capacity", shape (R, K): as parts of the largest of their kind;
    - "edges", shape (L, R): 1 where a port may use a server;
    - "time", shape (1,): the part of the horizon that is over.
    """

    problem = "allocation"
    sees: frozenset[str] = frozenset()

    def fit(self, setting: Setting) -> None:
        """Take the numbers of ports, servers and kinds."""
        self._sizes = setting.ports, setting.servers, setting.kinds

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array that is seen."""
        L, R, K = self._sizes
        return {"arrivals": (L,), "demand": (L, K), "capacity": (R, K), "edges": (L, R), "time": (1,)}

    def action_shape(self) -> tuple[int, ...]:
        """Return (L, R, K)."""
        return self._sizes

    def start(self, setting: Setting) -> None:
        """Begin with no arrivals; another number of ports, servers or kinds is an InputError."""
        sizes = setting.ports, setting.servers, setting.kinds
        if sizes != self._sizes:
            raise InputError(f"instance: {sizes} ports, servers and kinds, expected {self._sizes}")
        self._setting, self._arrivals = setting, np.zeros(setting.ports)
        edges = np.zeros((setting.ports, setting.servers))
        edges[setting.port, setting.server] = 1.0
        parts = {"demand": _part(setting.demand), "capacity": _part(setting.capacity), "edges": edges}
        self._fixed = {name: array.astype(np.float32) for name, array in parts.items()}

    def look(self, observation: Observation) -> Seen:
        """Return what is seen; see the class."""
        now = {
            "arrivals": (self._arrivals / (1.0 + self._arrivals)).astype(np.float32),
            "time": np.array([observation.slot / self._setting.slots], dtype=np.float32),
        }
        return now | {name: array.copy() for name, array in self._fixed.items()}

    def decide(self, action: np.ndarray) -> np.ndarray:
        """Return y[edge, kind]."""
        s = self._setting
        asked = np.clip((action[s.port, s.server].astype(np.float64) + 1.0) / 2.0, 0.0, 1.0)
        return s.project(asked * s.edge_demand)

    def learn(self, feedback: Feedback) -> None:
        """Keep the arrivals."""
        self._arrivals = np.array(feedback.arrivals, dtype=np.float64)


def _part(amounts: np.ndarray) -> np.ndarray:
    """Return amounts as parts of the largest of their kind, 0 where there are none."""
    most = amounts.max(axis=0)
    return np.divide(amounts, most, out=np.zeros_like(amounts), where=most > 0)
