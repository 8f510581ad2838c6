"""Ruin and recreate (Schrimpf et al. 2000): jobs are taken out of a schedule and placed again, at prices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import search_kernels as kernels
from .jobs import UNIT, Job
from .market import groups
from .schedule import Schedule
from .setting import Setting

NOISE = (0.0, 0.1, 0.3, 1.0)
"""Standard deviations of the logarithm of what jobs are ranked by."""

SCALES = (1.0, 0.8, 0.5, 0.2)
"""Factors on the prices when jobs are placed."""

MOST_OUT = 10
"""The most jobs that are taken out in a round."""

MOST_TRIED = 6
"""The most rejected jobs that are tried in a round."""

SHADOW = 0.1
"""A further price for all of a resource of a machine, relative to the price of the machine in all."""

LEAST = 1e-9
"""Utilities below this share of the priority do not count."""

UNITS = ("worker_units", "server_units")

THRIFT = 0.2
"""What a round loses or gains is utility less this part of what the jobs cost."""

PACKED = 6
"""How often a round packs the machines of one kind in some slot anew."""


def _shadow(prices: np.ndarray, member: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return prices per unit for each group, shape (T, G, R), with :data:`SHADOW` of the machine in each.

    The relaxation gives no price to a resource of which there is enough in all. But a job that takes all of
    it on a machine strands the expensive ones; so it pays there.
    """
    first = np.unique(member, return_index=True)[1]
    price, amount = prices[:, first], units[first] / UNIT
    whole = (price * amount).sum(axis=2, keepdims=True)
    shadow = np.divide(SHADOW * whole, amount, out=np.zeros(price.shape), where=amount > 0.0)
    return np.ascontiguousarray(price + shadow)


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows (slot from 0, machine, count) of a job's workers and parameter servers, and what it earns."""

    workers: np.ndarray
    servers: np.ndarray
    utility: float


class Search:
    """A schedule of jobs, all of which can finish and at least one, and what makes it better.

    Jobs are placed one after the other, the best utility per cost first, each on its cheapest schedule in
    what is free. All resources of a machine that costs anything cost a little more (:data:`SHADOW`). Round by
    round, the machines of some slots are packed anew, so that what is free is on few of them; and some jobs
    are taken out and tried again with rejected ones, in an order with noise.

    ``prices`` are per unit of each resource, >= 0, shapes (T, H, R) and (T, K, R). The best schedule so far
    is kept.
    """

    def __init__(
        self,
        setting: Setting,
        jobs: Sequence[Job],
        prices: tuple[np.ndarray, np.ndarray],
        rng: np.random.Generator,
    ) -> None:
        self.setting, self.jobs, self.rng = setting, jobs, rng
        capacities = (setting.worker_units, setting.server_units)
        self._given = self._read(prices, capacities)
        amounts = [capacity.T[None].astype(np.float64) for capacity in capacities]
        free = (
            np.repeat(amounts[0], setting.horizon, axis=0),
            np.repeat(amounts[1], setting.horizon, axis=0),
        )
        ends = np.zeros((len(jobs), 2), dtype=np.int64)
        self._held = kernels.Held(free, self._rows(), ends, np.zeros(len(jobs)), np.zeros(len(jobs)))
        self._saved, self._best, self._ends = self._rows(), self._rows(), ends.copy()
        self._worth = np.zeros(2)
        groups = (cost.shape[2] for cost in self._given.costs)
        self._even = (np.ones(setting.horizon), *(np.ones(count) for count in groups))
        self._scratch, self._packs = self._workspace()
        self._rank()

    def _read(
        self, prices: tuple[np.ndarray, np.ndarray], capacities: tuple[np.ndarray, np.ndarray]
    ) -> kernels.Given:
        """Return the jobs and prices as the kernels take them."""
        setting, jobs = self.setting, self.jobs
        members = (groups(capacities[0]), groups(capacities[1]))
        dear = [_shadow(*side) for side in zip(prices, members, capacities, strict=True)]
        utility = np.zeros((len(jobs), setting.horizon))
        for row, job in zip(utility, jobs, strict=True):
            row[job.arrival - 1 :] = job.utilities(setting.horizon)
            row[row < LEAST * job.priority] = 0.0
        sizes = np.array([job.chunks + 1 for job in jobs], dtype=np.int64)
        machines, slots = max(len(c) for c in capacities), setting.horizon + 1
        rows = [min(job.work, (slots - job.arrival) * min(job.chunks, machines)) for job in jobs]
        needs = [np.array([getattr(job, name) for job in jobs], dtype=np.float64) for name in UNITS]
        costs = [np.array([p @ n for n in need / UNIT]) for p, need in zip(dear, needs, strict=True)]
        ratio = np.array([(job.servers_for[1:] / np.arange(1, job.chunks + 1)).min() for job in jobs])
        cheapest = [cost.min(axis=2) for cost in costs]  # jobs can finish, so there are machines
        return kernels.Given(
            first=np.array([job.arrival - 1 for job in jobs], dtype=np.int64),
            work=np.array([job.work for job in jobs], dtype=np.int64),
            chunks=sizes - 1,
            begin=np.cumsum(sizes) - sizes,
            tables=np.concatenate([job.servers_for for job in jobs]),
            utility=utility,
            needs=(needs[0], needs[1]),
            costs=(costs[0], costs[1]),
            least=cheapest[0] + ratio[:, None] * cheapest[1],
            starts=np.cumsum([0, *rows], dtype=np.int64),
            members=members,
            prices=(dear[0], dear[1]),
            rank=np.zeros(len(jobs)),
            span=np.zeros((len(jobs), 2), dtype=np.int64),
        )

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        shape = (int(self._given.starts[-1]), 3)
        return np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)

    def _workspace(self) -> tuple[tuple[np.ndarray, ...], tuple[tuple[np.ndarray, ...], ...]]:
        """Return the arrays that the kernels write into when they place a job, and when they pack."""
        given, slots = self._given, self.setting.horizon
        most, count = int(given.chunks.max()), len(self.jobs)
        kinds = [int(member.max(initial=-1)) + 1 for member in given.members]
        entries = int(np.minimum(given.work, slots * given.chunks).max()) + most + 1
        corners, counts, length, *rest = _whole(slots, slots, entries, *kinds, *kinds)
        rooms = [np.empty(len(member)) for member in given.members]
        curves, slope = np.empty((slots, most + 1)), np.empty(entries)
        vertices = np.empty((slots, most + 1), dtype=np.int64)
        packs = []
        for side, member in enumerate(given.members):
            jobs = _whole(count, count, count, count)
            rows = np.empty((int(np.minimum(given.chunks, len(member)).sum()), 3), dtype=np.int64)
            packs.append((*jobs, np.empty(count), rows, *_whole(kinds[side], kinds[side]), rooms[side]))
        return (curves, vertices, corners, counts, slope, length, *rest, *rooms), tuple(packs)

    def _rank(self) -> None:
        """Note each job's utility per cost alone in the cluster, as a logarithm, and when it would run."""
        given, held = self._given, self._held
        for i in range(len(self.jobs)):
            self.insert(i, 0.5)
            given.span[i], given.rank[i] = given.first[i], -50.0
            if held.ends[i, 0]:
                earned, a = float(held.earned[i]), int(given.starts[i])
                given.rank[i] = math.log(earned / max(float(held.spent[i]), 1e-6 * earned))
                given.span[i, 1] = held.rows[0][a + held.ends[i, 0] - 1, 0]
                kernels.take_out(given, held, i)
        self._worth[0] = 0.0

    @property
    def value(self) -> float:
        """What the schedule earns."""
        return float(self._worth[0])

    @property
    def best_value(self) -> float:
        """What the best schedule earns."""
        return float(self._worth.max())

    def insert(self, i: int, scale: float) -> None:
        """Place the i-th job, which is not placed, if that pays at the prices times ``scale``."""
        kernels.enter(self._given, self._held, i, scale, self._even, self._scratch)
        self._worth[0] += self._held.earned[i]

    def restore(self, i: int, workers: np.ndarray, servers: np.ndarray) -> None:
        """Place the i-th job as rows (slot from 0, machine, count) say, by slot; they fit in what is free."""
        given, held = self._given, self._held
        for side, rows in enumerate((workers, servers)):
            held.rows[side][given.starts[i] : given.starts[i] + len(rows)] = rows
            held.ends[i, side] = len(rows)
        kernels.lift(given, held, i, -1)
        kernels.account(given, held, i, given.utility[i, workers[-1, 0]])
        self._worth[0] += held.earned[i]

    def greedy(self, scale: float) -> None:
        """Try to place all jobs that are not placed, at the prices times ``scale``, the best ranked first."""
        for i in np.argsort(-self._given.rank, kind="stable").tolist():
            if not self._held.ends[i, 0]:
                self.insert(i, scale)

    def rounds(
        self, heats: np.ndarray, *, same: bool = False, enough: float = math.inf, unsure: float = 0.0
    ) -> None:
        """Do a round for each of the heats, as long as the best schedule earns less than ``enough``.

        A round takes some jobs out, tries these and rejected ones again, and undoes it all if too much is
        lost: more of what all earn than its heat times a random number with mean 1. Utility less a part of
        the costs counts (:data:`THRIFT`). With ``same`` no rejected job is tried, and a job that finds no
        place again is too much, too. When jobs are placed, the costs in each slot and of each group of
        machines are times random factors, whose logarithms have a standard deviation of at most ``unsure``;
        then more jobs may be taken out at a time.
        """
        kernels.ruin_and_recreate(
            self._given, self._held, self._saved, self._best, self._ends, self._worth,
            (MOST_OUT, MOST_TRIED, PACKED, THRIFT, enough, unsure), (np.array(SCALES), np.array(NOISE)),
            heats, same, self._scratch, self._packs, self.rng,
        )  # fmt: skip

    @property
    def placements(self) -> list[Placed | None]:
        """How each job is placed, ``None`` if it is not."""
        return self._placed(self._held.rows, self._held.ends)

    @property
    def best(self) -> list[Placed | None]:
        """How each job is placed in the best schedule."""
        if self._worth[0] >= self._worth[1]:
            return self.placements
        return self._placed(self._best, self._ends)

    def _placed(self, rows: tuple[np.ndarray, np.ndarray], ends: np.ndarray) -> list[Placed | None]:
        found: list[Placed | None] = []
        for i, counts in enumerate(ends.tolist()):
            a = int(self._given.starts[i])
            workers, servers = (side[a : a + n].copy() for side, n in zip(rows, counts, strict=True))
            utility = self._given.utility[i]
            found.append(Placed(workers, servers, float(utility[workers[-1, 0]])) if counts[0] else None)
        return found

    def schedule(self) -> Schedule:
        """Return the best schedule."""
        sides: list[list[np.ndarray]] = [[np.zeros((0, 4), np.int64)], [np.zeros((0, 4), np.int64)]]
        for job, placed in zip(self.jobs, self.best, strict=True):
            if placed is not None:
                for side, rows in zip(sides, (placed.workers, placed.servers), strict=True):
                    number = np.full(len(rows), job.index)
                    side.append(np.column_stack([rows[:, 0] + 1, number, rows[:, 1:]]))
        return Schedule(*(np.concatenate(side) for side in sides))


def _whole(*sizes: int) -> list[np.ndarray]:
    return [np.empty(size, dtype=np.int64) for size in sizes]
