"""The cluster simulator: the compiled core with a Python handle."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..base import Violation
from .jobs import RESOURCES, UNITS, Jobs
from .slowdown import Slowdown
from .state import ARRIVED, NOW, PENDING, RUNNING, USED, WAITED, State, Table


def table_of(capacity: np.ndarray, jobs: Jobs, slowdown: Slowdown) -> Table:
    """Return the constant data of a simulation of these jobs on these machines.

    The duration of a job on K machines is its own times comm(K), rounded to the nearest tick (halves up), in
    the operations that the format of instances lays down.
    """
    most = int(min(jobs.instances.max(initial=1), len(capacity)))
    spans = np.arange(1, most + 1)
    fewest = fewest_machines(capacity, jobs)
    duration = np.full((len(jobs), most + 1), -1, dtype=np.int64)
    factor = slowdown.spread_factor(spans[None, :], fewest[:, None])
    duration[:, 1:] = np.floor(jobs.duration[:, None] * factor + 0.5)
    possible = (spans >= fewest[:, None]) & (spans <= jobs.instances[:, None])
    duration[:, 1:][~possible] = -1
    duration.setflags(write=False)
    return Table(capacity, jobs.submit, jobs.instances, jobs.need, duration, jobs.intensity)


def rooms(capacity: np.ndarray, need: np.ndarray, most: int) -> np.ndarray:
    """Return how many instances fit on each machine, at most ``most``, shape (M,)."""
    asked = need > 0
    fits = (capacity[:, asked] // need[asked]).min(axis=1, initial=most)
    return np.minimum(fits, most)


def fewest_machines(capacity: np.ndarray, jobs: Jobs) -> np.ndarray:
    """Return the fewest machines that hold each job when they are empty, M + 1 if none do, shape (n,)."""
    kinds, kind = np.unique(np.column_stack([jobs.need, jobs.instances]), axis=0, return_inverse=True)
    result, step = np.empty(len(kinds), dtype=np.int64), max(1, AT_A_TIME // max(1, capacity.size))
    for first in range(0, len(kinds), step):
        *needs, most = kinds[first : first + step].T[:, :, None]
        fits = most
        for need, has in zip(needs, capacity.T, strict=True):
            fits = np.minimum(fits, np.where(need > 0, has // np.maximum(need, 1), most))
        fitting = np.cumsum(np.sort(fits, axis=1)[:, ::-1], axis=1)
        result[first : first + step] = (fitting < most).sum(axis=1) + 1
    return result[kind.reshape(-1)]


AT_A_TIME = 10**5
"""Amounts of machines that are compared with needs at a time."""


def blank_state(table: Table) -> State:
    """Return the state before anything has happened, at tick 0."""
    n, machines = len(table.submit), len(table.capacity)
    rows = int(np.minimum(table.instances, machines).sum())

    def column(value: int = 0) -> np.ndarray:
        return np.full(n, value, dtype=np.int64)

    return State(
        clock=np.zeros(9, dtype=np.int64),
        free=table.capacity.copy(),
        load=np.zeros(machines, dtype=np.int64),
        start=column(-1),
        finish=column(-1),
        work=column(),
        speed=column(),
        settled=column(),
        first=column(),
        spans=column(),
        rows=np.zeros((rows, 2), dtype=np.int64),
        running=column(),
        pending=column(),
        ended=column(),
    )


def stacked(state: State, depth: int) -> State:
    """Return so many copies of a state; every array has an axis of length ``depth`` in front."""
    return State(*(np.repeat(array[None], depth, axis=0) for array in state))


MEANING = {
    "job": "there is no such job",
    "machine": "there is no such machine",
    "count": "fewer than one instance",
    "twice": "two rows for the same job and machine",
    "window": "the job does not wait, or is not among the oldest that may start",
    "gang": "not exactly all instances of the job",
    "capacity": "more than is free on the machine; resource 0 is GPUs, 1 cores, 2 GB of memory",
    "progress": "no job starts although none runs and none is to come",
}
"""The meaning of each constraint of a decision, by its name in :meth:`Simulator.violations`."""


class Simulator:
    """One simulation: go to the next decision epoch, start jobs there, and so on to the end.

    Only the ``window`` oldest pending jobs may start; ``contention`` is eta of the slowdown.
    """

    def __init__(self, table: Table, contention: float, window: int) -> None:
        self.table, self.contention, self.window = table, contention, window
        self.state = blank_state(table)

    def advance(self) -> bool:
        """Go on to the next decision epoch; return False if there is none, that is, all jobs are done."""
        from .kernels import advance

        return bool(advance(self.table, self.state, self.contention, self.window))

    def start(self, rows: np.ndarray) -> None:
        """Start jobs now; ``rows`` (job, machine, count), sorted, must be feasible."""
        from .kernels import start_rows

        start_rows(self.table, self.state, self.contention, rows)

    def feasible(self, rows: np.ndarray) -> bool:
        """Return whether these sorted rows break nothing now; fast."""
        from .kernels import is_feasible

        return bool(is_feasible(self.table, self.state, self.window, rows))

    def step(self, rows: np.ndarray) -> tuple[bool, bool]:
        """Start these sorted rows and advance; return whether that broke nothing and whether it goes on.

        Rows that are not feasible change nothing.
        """
        from .kernels import step

        feasible, more = step(self.table, self.state, self.contention, self.window, rows)
        return bool(feasible), bool(more)

    def follow(self, decisions: Iterable[np.ndarray]) -> tuple[bool, bool]:
        """Start the rows of a decision in each decision epoch, from the first epoch on.

        Return whether that broke nothing, and whether there is an epoch after the last.
        """
        from .kernels import follow

        parts = [np.asarray(one, dtype=np.int64).reshape(-1, 3) for one in decisions]
        sizes, rows = [*map(len, parts)], np.concatenate([np.zeros((0, 3), dtype=np.int64), *parts])
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0], np.repeat(np.arange(len(sizes)), sizes)))]
        ends = np.cumsum(sizes, dtype=np.int64)
        feasible, more = follow(self.table, self.state, self.contention, self.window, rows, ends)
        return bool(feasible), bool(more)

    @property
    def now(self) -> int:
        """The tick."""
        return int(self.state.clock[NOW])

    @property
    def waited(self) -> int:
        """The sum over all ticks so far of the jobs in the system."""
        return int(self.state.clock[WAITED])

    @property
    def used(self) -> int:
        """The sum over all ticks so far of the GPUs in use."""
        return int(self.state.clock[USED])

    @property
    def pending(self) -> np.ndarray:
        """The waiting jobs of the window, a copy."""
        arrived, pending = int(self.state.clock[ARRIVED]), int(self.state.clock[PENDING])
        first = arrived - pending
        return self.state.pending[first : first + min(self.window, pending)].copy()

    def violations(self, rows: np.ndarray) -> list[Violation]:
        """List what starting these sorted rows now would break.

        "job" and "machine" (index out of range), "count" (less than 1) and "twice" [job, machine]; "window"
        [job]: it does not wait, or not in the window; "gang" [job]: not exactly all instances;
        "capacity" [machine, resource], in GPUs, cores or GB; "progress" []: nothing starts although nothing
        runs and nobody else will come.
        """
        clock = self.state.clock
        n, machines = len(self.table.submit), len(self.table.capacity)
        if not len(rows):
            over = clock[RUNNING] == 0 and clock[ARRIVED] == n and clock[PENDING] > 0
            return [Violation("progress", (), float(clock[PENDING]))] if over else []
        found = []
        for j, (i, k, count) in enumerate(rows.tolist()):
            if not 0 <= i < n:
                found.append(Violation("job", (i,), float(max(-i, i - n + 1))))
            if not 0 <= k < machines:
                found.append(Violation("machine", (i, k), float(max(-k, k - machines + 1))))
            if count < 1:
                found.append(Violation("count", (i, k), float(1 - count)))
            if j and (i, k) == tuple(rows[j - 1, :2].tolist()):
                found.append(Violation("twice", (i, k), 1.0))
        if found:
            return found
        waiting = set(self.pending.tolist())
        taken: dict[tuple[int, int], int] = {}  # Python's whole numbers do not overflow
        for i in np.unique(rows[:, 0]).tolist():
            mine = rows[rows[:, 0] == i].tolist()
            placed, asked = sum(count for _, _, count in mine), int(self.table.instances[i])
            if i not in waiting:
                found.append(Violation("window", (i,), 1.0))
            if placed != asked:
                found.append(Violation("gang", (i,), float(abs(placed - asked))))
            for _, k, count in mine:
                for r in range(len(RESOURCES)):
                    taken[k, r] = taken.get((k, r), 0) + count * int(self.table.need[i, r])
        for (k, r), units in sorted(taken.items()):
            excess = units - int(self.state.free[k, r])
            if excess > 0:
                found.append(Violation("capacity", (k, r), excess / UNITS[r]))
        return found
