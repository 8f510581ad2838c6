"""Outcomes of placements, from which the process of an amended DAS learns."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ....models.placement.setting import Observation, Setting
from .features import Eyes
from .process import shifts
from .weights import Networks


@dataclass
class Placed:
    """A job that was placed: as the networks saw it, where it is, and how it has gone so far."""

    job: np.ndarray  # encoded, shape (e,)
    around: np.ndarray  # the encoded machines then, shape (M, e)
    machines: np.ndarray  # on which it is
    spread: float  # its slowdown by the number of machines
    ran: float = 0.0  # ticks
    work: float = 0.0  # the ticks it would have taken for as much if alone on the fewest machines


class Outcomes:
    """By how much the last jobs placed have been slowed down.

    A scheduler knows what it has placed where and, by the slowdown of the setting, what that costs; how long
    jobs take it does not know. Neighbours count as they were after the last decision.
    """

    def __init__(self, setting: Setting, eyes: Eyes, history: int, weight: float) -> None:
        self._setting, self._eyes, self._weight = setting, eyes, weight
        self._last: deque[tuple[int, Placed]] = deque(maxlen=history)
        self._rows, self._time = np.empty((0, 3), dtype=np.int64), 0

    def recent(self, seen: Observation) -> list[tuple[Placed, float]]:
        """Return the last jobs placed that have run, and by how much affinities to their machines were off.

        The eyes must have noted what is seen.
        """
        self._pass(seen)
        some = [one for _, one in self._last if one.work > 0.0]
        return [(one, -self._weight * float(np.log(one.ran / one.work))) for one in some]

    def known(self, seen: Observation) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[np.ndarray]]:
        """Return these jobs, encoded, each with the machines then; and on which it is."""
        some = self.recent(seen)
        return [(one.job, one.around) for one, _ in some], [one.machines for one, _ in some]

    def shift(
        self, networks: Networks, seen: Observation, jobs: np.ndarray, around: np.ndarray
    ) -> np.ndarray:
        """Return by how much affinities are to be moved now, shape (w, M); empty if nothing has run yet.

        ``jobs`` and ``around`` are encoded.
        """
        if not (some := self.recent(seen)):
            return np.empty((0, len(around)))
        past, off = [(one.job, one.around) for one, _ in some], [(one.machines, by) for one, by in some]
        return shifts(networks, jobs, around, past, off)

    def _pass(self, seen: Observation) -> None:
        """Add the time since the last decision to the jobs that ran."""
        known = self._eyes.known  # GPUs of an instance, and intensity, by job
        until = {job: finish for job, _, finish in seen.ended.tolist()}
        rows, slow = self._rows, self._setting.slowdown
        gpus = known[0, rows[:, 0]] * rows[:, 2]
        share = gpus / np.maximum(self._setting.capacity[rows[:, 1], 0], 1)
        beta = known[1, rows[:, 0]] / 1000.0
        load = np.bincount(rows[:, 1], beta * share, len(self._setting.capacity))
        factor = 1.0 + slow.contention * beta * (load[rows[:, 1]] - beta * share)
        for job, one in self._last:
            mine = rows[:, 0] == job
            if mine.any():
                ticks = max(0.0, float(until.get(job, seen.time) - self._time))  # 0 if it was seen before
                one.ran += ticks
                one.work += ticks / (one.spread * float(factor[mine].max()))
        self._time = seen.time

    def note(self, seen: Observation, rows: np.ndarray, jobs: np.ndarray, around: np.ndarray) -> None:
        """Remember the decision: rows (job, machine, count); ``jobs`` are encoded, all of the window."""
        from ..kernels import fewest

        for job in dict.fromkeys(rows[:, 0].tolist()):
            at, machines = int(np.flatnonzero(seen.jobs == job)[0]), rows[rows[:, 0] == job, 1]
            least = fewest(self._setting.capacity, seen.need[at], int(seen.instances[at]))
            spread = float(self._setting.slowdown.spread_factor(len(machines), least))
            self._last.append((job, Placed(jobs[at], around, machines, spread)))
        self._rows = np.concatenate([seen.running, rows])
