"""RRH, the risk-reward heuristic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ...models.base import InputError
from ..base import Traits
from .placement import Baseline, Machines, Placed, Task, check_workers


@dataclass
class Rrh(Baseline):
    """Jobs are admitted if they outweigh the delay of others, the densest run first; ties: the earlier job.

    On arrival a job draws a number of workers uniformly from 1 to 30, but gets at most N_i and at most as
    many as fit on the empty machines, and ceil(y b / B) parameter servers; it runs with these or pauses. In
    slot t it still takes d_i slots, work left over workers, rounded up, and g_i is its dominant share with
    these workers. Utilities after slot T count as zero.

    *Rank.* The score of a job is its utility if it runs from now on, f_i(t + d_i - 1 - a_i), over what it
    still needs of its dominant resource, g_i d_i; ties go to the earlier job. When jobs arrive or complete,
    the admitted ones are placed anew in the order of their scores, round robin from the first machine on;
    one that does not fit pauses, and the next is tried. A job that cannot be done by T any more is dropped.

    *Admission.* With the new job j ranked among the admitted ones, its completion is estimated as
    t + d_j - 1 if it is placed at once, and otherwise as if it waited until the jobs before it have had what
    they need of all capacity: ceil(sum_i g_i d_i) slots more. Its cost is what the others lose if they are
    delayed by its length, weighted by its share: g_j sum_i (f_i(t + d_i - 1 - a_i) - f_i(t + d_i - 1 + d_j -
    a_i)) over all admitted jobs. It is admitted if its utility at the estimated completion less this cost
    is above the threshold. Jobs that arrive together are judged one after the other.

    Parameters
    ----------
    threshold
        The threshold on the utility less the cost.
    workers
        The number of workers of every job, 1 to 30, instead of one drawn for each; 0: drawn.
    """

    threshold: float = 0.0
    workers: int = 0
    name: str = field(default="rrh", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="admission",
        randomised=True,
        source="the risk-reward heuristic of Irwin, Grit and Chase, HPDC 2004, as the baseline of Bao "
        "et al., INFOCOM 2018, Sec. V.A",
    )

    def __post_init__(self) -> None:
        if not math.isfinite(self.threshold):
            raise InputError(f"threshold: {self.threshold!r} is not a finite number")
        check_workers(self.workers)

    def arrive(self, task: Task, slot: int) -> None:
        """Admit the job if its risk is worth its reward."""
        task.workers = self.draw_workers(task.job, self.workers)
        reward = self.utility(task, self.completion(task, slot))
        if reward - self.cost(task, slot) > self.threshold:
            self._tasks[task.job.index] = task

    def plan(self, slot: int) -> dict[int, Placed]:
        """Drop who is late, and run the others in their order as far as they fit."""
        late = [i for i, task in self._tasks.items() if slot + task.slots - 1 > self._setting.horizon]
        for i in late:
            del self._tasks[i]
        return self._place(self.ranked(list(self._tasks.values()), slot))

    def utility(self, task: Task, completion: int) -> float:
        """Return the utility of a job that is done in a slot, 0 after the last one."""
        if completion > self._setting.horizon:
            return 0.0
        return float(task.job.utility(completion - task.job.arrival))

    def ranked(self, tasks: Sequence[Task], slot: int) -> list[Task]:
        """Return jobs in the order of their scores."""

        def score(task: Task) -> float:
            needed = _share(task) * task.slots
            earned = self.utility(task, slot + task.slots - 1)
            return earned / needed if needed > 0.0 else math.inf

        return sorted(tasks, key=lambda task: (-score(task), task.job.index))

    def completion(self, task: Task, slot: int) -> int:
        """Return the slot in which a new job is estimated to be done."""
        order = self.ranked([*self._tasks.values(), task], slot)
        before = order[: order.index(task)]
        if task.job.index in self._place([*before, task]):
            return slot + task.slots - 1
        return slot + task.slots - 1 + math.ceil(sum(_share(one) * one.slots for one in before))

    def cost(self, task: Task, slot: int) -> float:
        """Return the loss of the admitted jobs if a new one delays them, weighted by its dominant share."""
        ends = [(one, slot + one.slots - 1) for one in self._tasks.values()]
        loss = sum(self.utility(one, end) - self.utility(one, end + task.slots) for one, end in ends)
        return _share(task) * loss

    def _place(self, order: Sequence[Task]) -> dict[int, Placed]:
        machines = Machines(self._setting)
        found = ((task, machines.place(task.job, task.workers)) for task in order)
        return {task.job.index: placed for task, placed in found if placed is not None}


def _share(task: Task) -> float:
    return float(task.shares[task.workers])
