"""DRF, the default of YARN and Mesos: max-min fairness in dominant shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.admission.setting import Setting
from ..base import Traits
from .placement import Baseline, Placed, Task


@dataclass
class Drf(Baseline):
    """DRF: the job with the smallest dominant share gets the next worker; ties: the earlier job.

    All jobs are admitted that can ever run. When a job arrives or completes, all start from nothing, and one
    worker after the other goes to the job with the smallest dominant share, of equals the earliest (of the
    same slot, that which stands first in the file); with it go the parameter servers that it then needs more
    (ceil(y b / B) in all). A job whose next worker or parameter server fits on no machine gets no more, nor
    does one with N_i workers or with as many as worker-slots of work left. The dominant share of a job is the
    largest share of all capacity that it takes of any resource of either kind of machines. Placement is round
    robin, from the first machine on: each on the next machine with room after the last one used. DRF knows no
    utilities, and gives shares also to jobs that cannot finish in time any more.
    """

    name: str = field(default="drf", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="admission",
        source="dominant resource fairness (Ghodsi et al., NSDI 2011), as the baseline of Bao et al., "
        "INFOCOM 2018, Sec. V.A",
    )

    def arrive(self, task: Task, slot: int) -> None:
        """Admit the job."""
        self._tasks[task.job.index] = task

    def plan(self, slot: int) -> dict[int, Placed]:
        """Fill the machines anew."""
        return fair_placement(self._setting, list(self._tasks.values()))


def fair_placement(setting: Setting, tasks: Sequence[Task]) -> dict[int, Placed]:
    """Return the result of progressive filling, by job; those without a worker are not in it."""
    from .kernels import progressive_filling

    if not tasks:
        return {}
    most = [min(task.left, task.most) + 1 for task in tasks]
    workers, servers = progressive_filling(
        setting.worker_units.copy(),
        setting.server_units.copy(),
        np.array([task.job.worker_units for task in tasks]),
        np.array([task.job.server_units for task in tasks]),
        np.concatenate([task.shares[:m] for task, m in zip(tasks, most, strict=True)]),
        np.concatenate([task.job.servers_for[:m] for task, m in zip(tasks, most, strict=True)]),
        np.concatenate([[0], np.cumsum(most)]),
        np.zeros(len(tasks), dtype=np.int64),
    )
    found = zip(tasks, workers, servers, strict=True)
    return {task.job.index: Placed(y, z) for task, y, z in found if y.any()}
