"""Ruin and recreate (Schrimpf et al. 2000): jobs are taken out of a schedule and placed again, at prices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import market_kernels as kernels
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
    round, some jobs are taken out and tried again with rejected ones, in an order with noise.

    ``prices`` are per unit of each resource, >= 0, shapes (T, H, R) and (T, K, R).
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
        self.members = tuple(groups(capacity) for capacity in capacities)
        amounts = (capacity.T[None].astype(np.float64) for capacity in capacities)
        self.free = tuple(np.repeat(one, setting.horizon, axis=0) for one in amounts)  # (T, R, H), (T, R, K)
        sides = zip(prices, self.members, capacities, strict=True)
        self.prices = tuple(_shadow(*side) for side in sides)
        self.given = [self._given(job) for job in self.jobs]
        slots, most = setting.horizon, max(job.chunks for job in self.jobs)
        self.rows = tuple(np.empty((slots * min(len(c), most), 3), dtype=np.int64) for c in capacities)
        self.scratch = self._workspace(slots, most)
        self.placements: list[Placed | None] = [None] * len(self.jobs)
        self.value = 0.0
        self.rank, self.span = self._ranks()

    def _given(self, job: Job) -> tuple[Any, ...]:
        """Return a job as :func:`.market_kernels.insert` takes it, needs and costs with it."""
        utility = np.zeros(self.setting.horizon)
        utility[job.arrival - 1 :] = job.utilities(len(utility))
        utility[utility < LEAST * job.priority] = 0.0
        given = (job.arrival - 1, job.work, job.chunks, job.servers_for, utility)
        needs = (job.worker_units.astype(np.float64), job.server_units.astype(np.float64))
        demands = (job.worker_demand, job.server_demand)
        costs = tuple(np.ascontiguousarray(p @ d) for p, d in zip(self.prices, demands, strict=True))
        return given, needs, costs

    def _workspace(self, slots: int, most: int) -> tuple[np.ndarray, ...]:
        kinds = [int(member.max(initial=-1)) + 1 for member in self.members]
        entries = max(min(job.work, slots * job.chunks) for job in self.jobs) + most + 1
        whole = [slots, slots, entries, *kinds, *kinds]
        corners, counts, length, *rest = (np.empty(n, dtype=np.int64) for n in whole)
        rooms = [np.empty(len(member)) for member in self.members]
        curves, slope = np.empty((slots, most + 1)), np.empty(entries)
        vertices = np.empty((slots, most + 1), dtype=np.int64)
        return (curves, vertices, corners, counts, slope, length, *rest, *rooms)

    def insert(self, i: int, scale: float) -> float:
        """Place the i-th job if that pays; return the cost."""
        given, needs, costs = self.given[i]
        end, server_end, done, cost = kernels.insert(
            given, scale, self.free, needs, self.members, self.prices, costs, self.rows, self.scratch
        )
        if done >= 0:
            utility = float(given[4][done])
            self.placements[i] = Placed(self.rows[0][:end].copy(), self.rows[1][:server_end].copy(), utility)
            self.value += utility
        return float(cost)

    def move(self, i: int, placed: Placed, sign: int) -> None:
        """Take a job out (sign 1) or put it back as it was (sign -1)."""
        needs = self.given[i][1]
        kernels.move(self.free[0], needs[0], placed.workers, sign)
        kernels.move(self.free[1], needs[1], placed.servers, sign)
        self.placements[i] = None if sign > 0 else placed
        self.value -= sign * placed.utility

    def _ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each job's utility per cost alone in the cluster, as a logarithm, and when it would run."""
        rank, span = np.empty(len(self.jobs)), np.empty((len(self.jobs), 2), dtype=np.int64)
        for i, job in enumerate(self.jobs):
            cost = self.insert(i, 0.5)
            placed = self.placements[i]
            if placed is None:
                rank[i], span[i] = -50.0, (job.arrival - 1, job.arrival - 1)
                continue
            rank[i] = math.log(placed.utility / max(cost, 1e-6 * placed.utility))
            span[i] = job.arrival - 1, placed.workers[-1, 0]
            self.move(i, placed, 1)
        return rank, span

    def recreate(self, tried: np.ndarray, scale: float, noise: float) -> None:
        """Try to place jobs, the best ranked first."""
        keys = self.rank[tried] + noise * self.rng.standard_normal(len(tried))
        for i in tried[np.argsort(-keys, kind="stable")].tolist():
            self.insert(i, scale)

    def restore(self, i: int, workers: np.ndarray, servers: np.ndarray) -> None:
        """Place the i-th job as rows (slot from 0, machine, count) say, which fit in what is free."""
        self.move(i, Placed(workers, servers, float(self.given[i][0][4][workers[-1, 0]])), -1)

    def greedy(self, scale: float) -> None:
        """Try to place all jobs that are not placed, at the prices times ``scale``."""
        out = [i for i, placed in enumerate(self.placements) if placed is None]
        self.recreate(np.array(out, dtype=np.int64), scale, 0.0)

    def round(self, heat: float, *, same: bool = False) -> None:
        """Take some jobs out, try these and rejected ones again, and undo it all if too much is lost.

        Too much is more utility than ``heat`` times a random number with mean 1. With ``same`` no rejected
        job is tried, and a job that finds no place again is too much, too.
        """
        rng, before = self.rng, self.value
        inside = np.array(
            [i for i, placed in enumerate(self.placements) if placed is not None], dtype=np.int64
        )
        outside = inside[:0] if same else np.setdiff1d(np.arange(len(self.jobs)), inside)
        victims, wanted = self._victims(inside, outside)
        undone = [(i, self.placements[i]) for i in victims.tolist()]
        for i, placed in undone:
            self.move(i, placed, 1)
        scale = SCALES[rng.integers(len(SCALES))]
        if wanted >= 0:
            self.insert(wanted, scale)
        chances = self.rank[outside] + rng.gumbel(size=len(outside))
        tried = outside[np.argsort(-chances, kind="stable")[:MOST_TRIED]]
        tried = np.concatenate([victims, tried[tried != wanted]])
        self.recreate(tried, scale, NOISE[rng.integers(len(NOISE))])
        lost = before + heat * math.log(max(rng.random(), 1e-300))
        if self.value < lost or (same and any(self.placements[i] is None for i, _ in undone)):
            for i in [*tried.tolist(), wanted]:
                if i >= 0 and self.placements[i] is not None:
                    self.move(i, self.placements[i], 1)
            for i, placed in undone:
                self.move(i, placed, -1)
            self.value = before

    def _victims(self, inside: np.ndarray, outside: np.ndarray) -> tuple[np.ndarray, int]:
        """Return which jobs to take out, and a rejected job to place first (-1 for none)."""
        rng = self.rng
        if len(inside) == 0:
            return inside, -1
        most = max(2, min(MOST_OUT, len(inside) // 4))
        count = min(len(inside), 1 + int(rng.integers(most)))
        kind = rng.random()
        if kind < 0.2:
            return rng.choice(inside, count, replace=False), -1
        wanted = -1
        if len(outside) and kind < 0.7:
            wanted = int(outside[np.argmax(self.rank[outside] + rng.gumbel(size=len(outside)))])
        low, high = self.span[wanted if wanted >= 0 else rng.choice(inside)]
        gap = np.maximum(0, np.maximum(self.span[inside, 0] - high, low - self.span[inside, 1]))
        keys = gap + 3.0 * rng.random(len(inside)) + (self.rank[inside] if rng.random() < 0.5 else 0.0)
        return inside[np.argsort(keys, kind="stable")[:count]], wanted

    def schedule(self, placements: Sequence[Placed | None]) -> Schedule:
        """Return the schedule of placed jobs."""
        sides: list[list[np.ndarray]] = [[np.zeros((0, 4), np.int64)], [np.zeros((0, 4), np.int64)]]
        for job, placed in zip(self.jobs, placements, strict=True):
            if placed is not None:
                for side, rows in zip(sides, (placed.workers, placed.servers), strict=True):
                    number = np.full(len(rows), job.index)
                    side.append(np.column_stack([rows[:, 0] + 1, number, rows[:, 1:]]))
        return Schedule(*(np.concatenate(side) for side in sides))
