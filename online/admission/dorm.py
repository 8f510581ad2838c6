"""Dorm: a mixed integer program at every event."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...models.admission.jobs import exact
from ...models.admission.setting import Setting
from ...models.base import ClairvoyantError, InputError
from ...models.program import CAREFUL, Rows, in_highs
from ...models.stopwatch import library
from ..base import Traits
from .drf import fair_placement
from .placement import Baseline, Machines, Placed, Task

WHOLE = 1e6
"""Capacities up to this many steps stay whole numbers in the program; others are scaled down to it."""

OPTIONS = {
    **CAREFUL,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_root_reduced_cost": False,
    "mip_pool_soft_limit": 200,
    "mip_pool_age_limit": 1,
    "mip_lp_age_limit": 1,
}
"""Options of HiGHS: few cuts and short sub-searches, which take most of the time otherwise."""


@dataclass
class Dorm(Baseline):
    """Dorm: uses most of the machines, subject to fairness and few adjustments; ties: as HiGHS decides.

    All jobs are admitted that can ever run. When a job arrives or completes, HiGHS solves a mixed integer
    program in the workers y_ih and parameter servers z_ik of the unfinished jobs. It maximises the used
    shares of capacity, added up over the resources of both kinds of machines, subject to

    - the capacity of every machine; sum_h y_ih is at most N_i and the worker-slots of work left, and
      sum_k z_ik is ceil(b sum_h y_ih / B);
    - a fairness floor: the dominant share of a job is at least (1 - theta1) times what DRF would give it
      now (see :class:`.drf.Drf`), so that who gets a worker from DRF has one here, and others may wait;
    - an adjustment limit: of the jobs that have run in the slot before and are not done, at most theta2, in
      number and rounded up, change their numbers or places.

    If no such deployment is found, the floor of a job is lowered to the number of workers that it has now,
    none for one that waits; then leaving all as it is will do, and is done if HiGHS finds nothing. There is
    no clock: HiGHS stops at the relative gap or after so many nodes, and then its best deployment counts.
    Its solution is rounded and checked exactly; a worker too many by rounding is taken off, where its
    machine has the largest number. Of deployments that use as much HiGHS picks one, by no simple rule. Dorm
    knows no utilities.

    Parameters
    ----------
    theta1
        How much of its fair share a job may lose, 0 to 1.
    theta2
        Which part of the running jobs may be adjusted at a time, 0 to 1.
    gap
        Relative gap at which HiGHS stops.
    nodes
        Branch-and-bound nodes after which it stops.
    """

    theta1: float = 0.2
    theta2: float = 0.2
    gap: float = 0.02
    nodes: int = 1
    name: str = field(default="dorm", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="admission",
        source="Sun, Wen, Ta and Yan, IEEE SMARTCOMP 2017, as the baseline of Bao et al., INFOCOM "
        "2018, Sec. V.A",
    )

    def __post_init__(self) -> None:
        for key in ("theta1", "theta2"):
            if not 0.0 <= getattr(self, key) <= 1.0:
                raise InputError(f"{key}: {getattr(self, key)!r} is not in [0, 1]")
        if not 0.0 <= self.gap < math.inf:
            raise InputError(f"gap: {self.gap!r} is not a finite number of at least 0")
        if not 1 <= self.nodes <= 10**9:
            raise InputError(f"nodes: {self.nodes!r} is not from 1 to 1e9")

    def arrive(self, task: Task, slot: int) -> None:
        """Admit the job."""
        self._tasks[task.job.index] = task

    def plan(self, slot: int) -> dict[int, Placed]:
        """Solve the program, with lower floors if there is no other way."""
        tasks = list(self._tasks.values())
        if not tasks:
            return {}
        program = Program(self._setting, tasks, self._placed)
        floors = program.floors(self.theta1)
        adjusted = math.ceil(self.theta2 * len(self._placed))
        found = program.solve(floors, adjusted, self.gap, self.nodes)
        if found is None:
            found = program.solve(np.minimum(floors, program.now), adjusted, self.gap, self.nodes)
        return self._placed if found is None else found


class Program:
    r"""The program of :class:`Dorm` at one event.

    A running job has a variable r_i that says whether it is adjusted. If r_i = 0 it stays as it is;
    y_ih and z_ik are those of new jobs, and of running ones the new numbers if r_i = 1 and 0 otherwise.

    ``placed`` says where the running ones among the tasks stand, by index.
    """

    def __init__(self, setting: Setting, tasks: Sequence[Task], placed: dict[int, Placed]) -> None:
        self.setting, self.tasks, self.placed = setting, tasks, placed
        self.most = np.array([min(task.left, setting.most_workers(task.job)) for task in tasks])
        self.running = np.array([task.job.index in placed for task in tasks])
        workers = _Side(
            np.array([task.job.worker_units for task in tasks]),
            setting.worker_units,
            np.array([setting.worker_room(task.job) for task in tasks]),
            self._now("workers", len(setting.worker_units)),
            0,
        )
        servers = _Side(
            np.array([task.job.server_units for task in tasks]),
            setting.server_units,
            np.array([setting.server_room(task.job) for task in tasks]),
            self._now("servers", len(setting.server_units)),
            workers.columns,
        )
        self._sides = (workers, servers)
        self.now = workers.now.sum(axis=1)

    def _now(self, name: str, machines: int) -> np.ndarray:
        """Return how many workers or parameter servers are on each machine now, shape (I, machines)."""
        none = np.zeros(machines, dtype=np.int64)
        indices = (task.job.index for task in self.tasks)
        return np.array([getattr(self.placed[i], name) if i in self.placed else none for i in indices])

    def floors(self, theta1: float) -> np.ndarray:
        """Return the least numbers of workers with which jobs have 1 - theta1 of their fair shares."""
        fair = fair_placement(self.setting, self.tasks)
        result = np.zeros(len(self.tasks), dtype=np.int64)
        for i, task in enumerate(self.tasks):
            if task.job.index in fair:
                share = task.shares[int(fair[task.job.index].workers.sum())]
                result[i] = max(1, np.searchsorted(task.shares, (1.0 - theta1) * share * (1.0 - 1e-12)))
        return result

    def solve(self, floors: np.ndarray, adjusted: int, gap: float, nodes: int) -> dict[int, Placed] | None:
        """Return the best deployment that HiGHS finds, or ``None`` if it finds none.

        ``floors`` are the least numbers of workers of each job, ``adjusted`` is how many running jobs may be
        adjusted.
        """
        highspy = library("highspy")

        highs = self._model(floors, adjusted, {**OPTIONS, "mip_rel_gap": gap, "mip_max_nodes": nodes})
        highs.run()
        status, ends = highs.getModelStatus(), highspy.HighsModelStatus
        if status not in (ends.kOptimal, ends.kSolutionLimit, ends.kInfeasible):
            raise ClairvoyantError(f"dorm: HiGHS ends with {status}")
        if highs.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None
        return self._read(np.rint(highs.getSolution().col_value).astype(np.int64))

    def _model(self, floors: np.ndarray, adjusted: int, options: dict[str, Any]) -> Any:
        """Return HiGHS with the program; columns are y, z, r, rows as they are added."""
        tasks, count = self.tasks, len(self.tasks)
        r = self._sides[0].columns + self._sides[1].columns + np.arange(count)
        rows = Rows()
        value = np.zeros(r[-1] + 1)
        for side in self._sides:
            side.add_capacity(rows, r)
            value[side.first : side.first + side.columns] = side.share[side.job]
            value[r] -= side.share * side.now.sum(axis=1)
        workers, servers = self._sides
        fixed = self.running
        numbers = rows.add(np.where(fixed, -np.inf, floors), np.where(fixed, 0.0, self.most), count)
        rows.fill(numbers[workers.job], workers.column, 1.0)
        rows.fill(numbers[fixed], r[fixed], -self.most[fixed])
        least = rows.add(0.0, np.inf, count)
        rows.fill(least[workers.job], workers.column, 1.0)
        rows.fill(least[fixed], r[fixed], -floors[fixed])
        ratios = [exact(t.job.worker_bandwidth) / exact(t.job.server_bandwidth) for t in tasks]
        needed = rows.add(0.0, np.array([1.0 - 1.0 / ratio.denominator for ratio in ratios]), count)
        rows.fill(needed[servers.job], servers.column, 1.0)
        rows.fill(needed[workers.job], workers.column, -np.array([float(x) for x in ratios])[workers.job])
        rows.add(-np.inf, adjusted, 1, (0, r, 1.0))

        upper = np.concatenate([side.room for side in self._sides] + [fixed]).astype(np.float64)
        lower = np.zeros(len(upper))
        lower[r] = fixed & (self.now < floors)
        matrix, limits = rows.gathered(len(value))
        return in_highs(
            value,
            matrix,
            limits,
            (lower, upper),
            options,
            maximise=True,
            whole=True,
            offset=-float(value[r].sum()),
        )

    def _read(self, x: np.ndarray) -> dict[int, Placed]:
        """Return a solution of HiGHS, without what rounding puts beyond a limit."""
        workers, servers = (side.table(x) for side in self._sides)
        adjusted = x[-len(self.tasks) :] > 0
        machines, result = Machines(self.setting), {}
        for task, changed in zip(self.tasks, adjusted, strict=True):
            if task.job.index in self.placed and not changed:
                result[task.job.index] = self.placed[task.job.index]
                machines.take(task.job, self.placed[task.job.index])
        for i, task in enumerate(self.tasks):
            if task.job.index not in result:
                placed = machines.cut(task.job, workers[i], servers[i])
                if placed.workers.any():
                    result[task.job.index] = placed
        return result


class _Side:
    """The columns of the machines of one kind: a count for every job and machine that can hold one.

    ``needs`` is the demand of one, shape (I, R), ``units`` the capacity of the machines, shape (M, R);
    ``room`` and ``now`` are how many of a job fit on an empty machine, and how many of a running one stand
    there, shape (I, M). ``first`` is the number of the first column.
    """

    def __init__(
        self, needs: np.ndarray, units: np.ndarray, room: np.ndarray, now: np.ndarray, first: int
    ) -> None:
        self.now, self.first = now, first
        self.job, self.machine = np.nonzero(room)
        self.room = room[self.job, self.machine]
        self.columns = len(self.job)
        self.column = first + np.arange(self.columns)
        step = np.maximum(np.gcd.reduce(needs, axis=0), 1)
        scale = np.maximum(1.0, units // step / WHOLE)
        self._limits = units // step / scale
        self._parts = np.where(units > 0, (needs // step)[:, None] / scale, 0.0)
        self.share = (needs / np.maximum(units.sum(axis=0), 1)).sum(axis=1)

    def add_capacity(self, rows: Rows, r: np.ndarray) -> None:
        """Add the capacity of every resource of every machine, in shares of it."""
        used = np.einsum("im,imr->mr", self.now, self._parts)
        base = rows.add(-np.inf, (self._limits - used).ravel(), used.size).reshape(used.shape)
        taken = self._parts[self.job, self.machine]
        e, k = np.nonzero(taken)
        rows.fill(base[self.machine[e], k], self.column[e], taken[e, k])
        gone = self.now[:, :, None] * self._parts
        i, m, k = np.nonzero(gone)
        rows.fill(base[m, k], r[i], -gone[i, m, k])

    def table(self, x: np.ndarray) -> np.ndarray:
        """Return the counts of a solution, shape (I, M)."""
        result = np.zeros(self.now.shape, dtype=np.int64)
        result[self.job, self.machine] = x[self.column]
        return result
