"""Backfilling: jobs overtake the oldest one that has to wait if, as far as is known, they do not delay it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.base import InputError, frozen
from ...models.placement.setting import Observation, Setting
from ..base import Traits


@dataclass
class EasyEstimateConsolidate:
    """EASY-Estimate-Consolidate: FIFO, overtaken by what delays it not by estimates; ties: file order.

    EASY backfilling, with the users' estimates, on machines in the order of
    :class:`.heuristics.FifoConsolidate`. The oldest jobs start as long as they fit. The first one that does
    not, the head, is promised the time at which it will: when, by the estimates, enough of what runs has
    ended. A younger job starts if it fits now, and either ends by then, or leaves room for the head then;
    what it could do on other machines is not tried. An estimate counts times comm(K) on K machines and
    contention is not counted; a job that outlives its estimate is expected to end at the next tick. With true
    estimates and without contention no head starts later than it was promised. Jobs of the same tick are
    tried in the order of the file, and of equal machines the lower index counts.

    Parameters
    ----------
    shortest
        Whether those behind the head are tried by their estimates, the shortest first; by default they
        are tried by age.
    """

    shortest: bool = False
    name: str = field(default="easy-estimate-consolidate", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        sees=frozenset({"estimates"}),
        source="EASY backfilling (Lifka, JSSPP 1995); shortest=true: Tsafrir, Etsion and Feitelson, "
        "IEEE TPDS 2007; on the machines of fifo-consolidate",
    )

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        self._setting = setting
        self._running: dict[int, tuple[np.ndarray, int]] = {}  # what an instance takes, expected end

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now."""
        from .kernels import start_easy

        seen, setting = observation, self._setting
        if seen.estimate is None:
            raise InputError("observation: this policy needs the estimates, but was not shown them")
        for job in seen.ended[:, 0].tolist():
            del self._running[job]
        held = seen.running.copy()
        held[:, 0] = np.cumsum(np.diff(held[:, 0], prepend=-1) != 0) - 1
        known = self._running.values()  # in the order in which they started, as are the rows
        need = np.array([need for need, _ in known], dtype=np.int64).reshape(-1, 3)
        left = np.array([max(1, end - seen.time) for _, end in known], dtype=np.int64)
        columns, kappa = (seen.instances, seen.need, seen.estimate), setting.slowdown.communication
        rows, takes = start_easy(
            setting.capacity, seen.free, seen.jobs, columns, kappa, self.shortest, held, need, left
        )
        for job, ticks in sorted(dict(zip(rows[:, 0].tolist(), takes.tolist(), strict=True)).items()):
            place = int(np.searchsorted(seen.jobs, job))
            self._running[job] = seen.need[place].copy(), seen.time + ticks
        return frozen(rows)
