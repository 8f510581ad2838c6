"""Prices for jobs and machines: the Lagrangian relaxation of capacities, and the volume method.

With prices on the capacities (15) and (16) of OASiS every job chooses its best schedule of the empty cluster
for itself. :class:`Volume` looks for prices at which the jobs take about what there is. A policy asks for
prices of the jobs that it knows, and an oracle for those of all jobs, which prove a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import market_kernels as kernels
from .jobs import UNIT, Job
from .schedule import Offer
from .setting import Setting

MOST_GROUPS = 12
"""The most different prices of machines of one kind in a slot and resource."""

SETTLED = 4e-6
"""The volume method ends when a step hopes for a relative gain of less than this."""


class Market:
    """Jobs, all of which can finish and at least one, and the groups of machines, as arrays for the kernels.

    A price here is that of the whole of a group, so that all have one scale. Where the jobs are a sample, a
    ``share`` of every group is theirs.
    """

    def __init__(self, setting: Setting, jobs: Sequence[Job], share: float = 1.0) -> None:
        self.setting, self.jobs, self.share = setting, jobs, share
        self.members = (groups(setting.worker_units), groups(setting.server_units))
        self.capacity = tuple(
            _grouped(member, units) / UNIT
            for member, units in zip(self.members, (setting.worker_units, setting.server_units), strict=True)
        )
        self.shapes = tuple((setting.horizon, *capacity.shape) for capacity in self.capacity)
        self._pack()

    def _pack(self) -> None:
        """Fill the arrays that :func:`.market_kernels.price_jobs` takes."""
        jobs, setting = self.jobs, self.setting
        utility = np.zeros((len(jobs), setting.horizon))
        for row, job in zip(utility, jobs, strict=True):
            row[job.arrival - 1 :] = job.utilities(setting.horizon)
        sizes = np.array([job.chunks + 1 for job in jobs], dtype=np.int64)
        self.packed = (
            np.array([job.arrival - 1 for job in jobs], dtype=np.int64),
            np.array([job.work for job in jobs], dtype=np.int64),
            sizes - 1,
            np.cumsum(sizes) - sizes,
            np.concatenate([job.servers_for for job in jobs]),
            utility,
        )
        worker_room = np.array([_grouped(self.members[0], setting.worker_room(job)) for job in jobs])
        server_room = np.array([_grouped(self.members[1], setting.server_room(job)) for job in jobs])
        most = (sizes - 1)[:, None]
        self.sides = (
            np.minimum(worker_room, most),
            self._shares(worker_room, [job.worker_demand for job in jobs], self.capacity[0]),
            np.minimum(server_room, most),
            self._shares(server_room, [job.server_demand for job in jobs], self.capacity[1]),
        )

    def split(self, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the prices of both sides that stand one after the other."""
        cut = int(np.prod(self.shapes[0]))
        return prices[:cut].reshape(self.shapes[0]), prices[cut:].reshape(self.shapes[1])

    def per_unit(self, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return prices of whole groups per unit of their machines, shapes (T, H, R) and (T, K, R)."""
        both = []
        for price, capacity, member in zip(self.split(prices), self.capacity, self.members, strict=True):
            unit = np.divide(price, capacity, out=np.zeros(price.shape), where=capacity > 0.0)
            both.append(np.ascontiguousarray(unit[:, member]))
        return both[0], both[1]

    def joined(self, worker_prices: np.ndarray, server_prices: np.ndarray) -> np.ndarray:
        """Return prices per unit of machines as prices of whole groups, one after the other."""
        both = []
        for per_unit, member, capacity in zip(
            (worker_prices, server_prices), self.members, self.capacity, strict=True
        ):
            first = np.unique(member, return_index=True)[1]
            both.append((per_unit[:, first] * capacity).ravel())
        return np.concatenate(both)

    def offer(self, i: int, prices: tuple[np.ndarray, np.ndarray]) -> Offer:
        """Return the offer of the empty groups to the i-th job at prices of whole groups."""
        first = self.jobs[i].arrival - 1
        worker_room, worker_share, server_room, server_share = (side[i] for side in self.sides)
        slots = len(prices[0]) - first
        return Offer(
            np.tile(worker_room, (slots, 1)),
            np.einsum("tgr,gr->tg", prices[0][first:], worker_share),
            np.tile(server_room, (slots, 1)),
            np.einsum("tgr,gr->tg", prices[1][first:], server_share),
        )

    @staticmethod
    def _shares(room: np.ndarray, demand: list[np.ndarray], capacity: np.ndarray) -> np.ndarray:
        needs = np.array(demand)[:, None, :]
        usable = (room[:, :, None] > 0) & (needs > 0.0)
        return np.divide(needs, capacity, out=np.zeros(usable.shape), where=usable)

    def respond(self, prices: tuple[np.ndarray, np.ndarray]) -> Response:
        """Return the jobs' response to given prices, and the bound of the convex hulls."""
        used = (np.empty(self.shapes[0]), np.empty(self.shapes[1]))
        payoffs = np.zeros(len(self.jobs))
        kernels.price_jobs(self.packed, self.sides, prices[0], prices[1], used[0], used[1], payoffs)
        bound = float(payoffs.sum() + self.share * sum(p.sum() for p in prices))
        return Response(bound, payoffs, used[0], used[1])


@dataclass(frozen=True, eq=False)
class Response:
    """The jobs' response to given prices: the bound, the payoffs, and the shares of groups that are taken."""

    bound: float
    payoffs: np.ndarray
    used_workers: np.ndarray
    used_servers: np.ndarray


def groups(capacity: np.ndarray) -> np.ndarray:
    """Return a group for every machine, shape (H,): equal machines, or those equal in some resources.

    Resources count, the most uniform first, as long as there are at most :data:`MOST_GROUPS` groups.
    """
    member = np.zeros(len(capacity), dtype=np.int64)
    different = [len(np.unique(column)) for column in capacity.T]
    for r in np.argsort(different, kind="stable"):
        pairs = np.column_stack([member, capacity[:, r]])
        found, finer = np.unique(pairs, axis=0, return_inverse=True)
        if len(found) <= MOST_GROUPS:
            member = finer.reshape(-1)
    return member


def _grouped(member: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Add up the values of the machines of each group."""
    result = np.zeros((int(member.max(initial=-1)) + 1, *values.shape[1:]), dtype=np.int64)
    np.add.at(result, member, values)
    return result


class Volume:
    """The volume method (Barahona and Anbil 2000), step by step; it begins with prices 0 or those given."""

    def __init__(self, market: Market, prices: np.ndarray | None = None) -> None:
        self.market = market
        self.prices = np.zeros(sum(int(np.prod(shape)) for shape in market.shapes))
        if prices is not None:
            self.prices += prices
        self.best = market.respond(market.split(self.prices))
        self.excess = self._excess(self.best)
        self.round, self.failures = 0, 0
        self.ambition, self.largest = 0.02, 0.6

    @property
    def bound(self) -> float:
        """The least bound so far, that of the prices."""
        return self.best.bound

    @property
    def payoffs(self) -> np.ndarray:
        """What the jobs gain at the prices, shape (I,)."""
        return self.best.payoffs

    @property
    def settled(self) -> bool:
        """Whether the expected gain of a step is negligible."""
        return self.ambition < SETTLED

    def _excess(self, found: Response) -> np.ndarray:
        return np.concatenate([found.used_workers.ravel(), found.used_servers.ravel()]) - self.market.share

    def step(self) -> None:
        """Move the best prices along the average excess, as far as a gain of ``ambition`` asks (Polyak)."""
        direction = np.where((self.prices > 0.0) | (self.excess > 0.0), self.excess, 0.0)
        norm = float(direction @ direction)
        if norm < SETTLED**2:
            self.ambition = 0.0
            return
        prices = np.maximum(0.0, self.prices + self.ambition * self.best.bound / norm * direction)
        found = self.market.respond(self.market.split(prices))
        excess = self._excess(found)
        turn = excess - self.excess
        square = float(turn @ turn)
        share = -float(turn @ self.excess) / square if square > 0.0 else self.largest
        self.excess += (self.largest / 10.0 if share <= 0.0 else min(share, self.largest)) * turn
        self.round += 1
        if found.bound < self.best.bound:
            self.prices, self.best, self.failures = prices, found, 0
        else:
            self.failures += 1
        if self.failures == 8:
            self.ambition, self.failures = 0.7 * self.ambition, 0
        if self.round % 100 == 0:
            self.largest = max(0.5 * self.largest, 0.005)
