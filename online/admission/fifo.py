"""FIFO, with a strict head of the line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.admission.setting import Setting
from ..base import Traits
from .placement import Baseline, Machines, Placed, Task, check_workers


@dataclass
class Fifo(Baseline):
    """Jobs start in the order of arrival with fixed numbers of workers, none overtakes; ties: file order.

    On arrival a job draws a number of workers uniformly from 1 to 30, but gets at most N_i and at most as
    many as fit on the empty machines, and ceil(y b / B) parameter servers. The first job in the line starts
    when all of them fit in what is free; until then everybody behind it waits, however small. They are placed
    round robin: each on the next machine after the last one used that has room. A job keeps its machines
    until it is done. Jobs that can never finish, even alone, are turned away, since they would block the line
    for good; those that cannot finish in time any more are run all the same. FIFO knows no utilities.

    Parameters
    ----------
    workers
        The number of workers of every job, 1 to 30, instead of one drawn for each; 0: drawn.
    """

    workers: int = 0
    name: str = field(default="fifo", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="admission",
        randomised=True,
        source="the default of Hadoop and Spark, as the baseline of Bao et al., INFOCOM 2018, Sec. V.A",
    )

    def __post_init__(self) -> None:
        check_workers(self.workers)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        super().start(setting, rng)
        self._last = (-1, -1)

    def arrive(self, task: Task, slot: int) -> None:
        """Join the end of the line."""
        task.workers = self.draw_workers(task.job, self.workers)
        self._tasks[task.job.index] = task

    def plan(self, slot: int) -> dict[int, Placed]:
        """Keep what runs and start the first jobs of the line while they fit."""
        machines, result = Machines(self._setting, self._last), dict(self._placed)
        for i, placed in result.items():
            machines.take(self._tasks[i].job, placed)
        for i, task in self._tasks.items():
            if i not in result:
                placed_now = machines.place(task.job, task.workers)
                if placed_now is None:
                    break
                result[i] = placed_now
        self._last = machines.last
        return result
