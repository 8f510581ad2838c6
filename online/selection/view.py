"""The selection problem for a trained model: arrays in, scores of channels out."""

from __future__ import annotations

import numpy as np

from ...models.base import InputError
from ...models.selection.setting import Feedback, Observation, Setting
from ..base import shown_arrivals
from ..views import Seen


class SelectionView:
    """Channels between L ports and R servers have scores, and the best that fit are on.

    An action has shape (L, R): of the channels of ports with a job, those with a score above 0 are tried in
    descending order, ties in the order of the instance, and one that does not fit is passed over. Seen are

    - "arrivals", shape (L,): 1 where a port has a job in this slot;
    - "edges", shape (L, R): 1 where there is a channel;
    - "demand", shape (L, R): the largest share of a kind of device that it takes, at most 1;
    - "mean", shape (L, R): the mean net utility that it had while it was on, 0 before;
    - "count", shape (L, R): n / (1 + n) of the n slots in which it was on;
    - "time", shape (1,): the part of the horizon that is over.
    """

    problem = "selection"
    sees = frozenset({"arrivals"})

    def fit(self, setting: Setting) -> None:
        """Take the numbers of ports and servers."""
        self._sizes = setting.ports, setting.servers

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array that is seen."""
        pairs = dict.fromkeys(("edges", "demand", "mean", "count"), self._sizes)
        return {"arrivals": self._sizes[:1], **pairs, "time": (1,)}

    def action_shape(self) -> tuple[int, ...]:
        """Return (L, R)."""
        return self._sizes

    def start(self, setting: Setting) -> None:
        """Begin without experience; other ports, or more servers, are an InputError."""
        ports, servers = self._sizes
        if setting.ports != ports or setting.servers > servers:
            found = f"{setting.ports} ports, {setting.servers} servers"
            raise InputError(f"instance: {found}, expected {ports} ports and at most {servers} servers")
        self._setting = setting
        self._count, self._total = np.zeros(setting.channels), np.zeros(setting.channels)
        demand, most = setting.demand.astype(np.float64), setting.capacity.astype(np.float64)
        share = np.divide(demand, most, out=np.where(demand > 0, 1.0, 0.0), where=most > 0)
        self._share = np.minimum(1.0, share.max(axis=1, initial=0.0))

    def look(self, observation: Observation) -> Seen:
        """Return what is seen; see the class."""
        s = self._setting
        self._open = s.open(shown_arrivals(observation))
        columns = {
            "edges": np.ones(s.channels),
            "demand": self._share,
            "mean": self._total / np.maximum(1.0, self._count),
            "count": self._count / (1.0 + self._count),
        }
        seen = {name: np.zeros(self._sizes, dtype=np.float32) for name in columns}
        for name, column in columns.items():
            seen[name][s.edges[:, 0], s.edges[:, 1]] = column
        seen["arrivals"] = np.array(observation.arrivals, dtype=np.float32)
        seen["time"] = np.array([observation.slot / s.slots], dtype=np.float32)
        return seen

    def decide(self, action: np.ndarray) -> np.ndarray:
        """Return x[channel]."""
        s = self._setting
        score, left = action[s.edges[:, 0], s.edges[:, 1]], s.capacity.copy()
        on = np.zeros(s.channels)
        for e in np.argsort(-score, kind="stable").tolist():
            if score[e] > 0.0 and self._open[e] and (s.demand[e] <= left).all():
                on[e] = 1.0
                left -= s.demand[e]
        return on

    def learn(self, feedback: Feedback) -> None:
        """Count what the channels brought."""
        self._count[feedback.channels] += 1.0
        self._total[feedback.channels] += feedback.utility
