r"""Certified lower bounds for placement at any size, from prices of capacity over time.

Whatever the slowdown, a job takes at least its own duration :math:`d_j`. So in every schedule job j holds
its share :math:`a_{jr}` of each resource r from its start :math:`S_j \ge r_j` until
:math:`S_j + d_j \le C_j`, and at no time do the jobs hold more than all of it. With prices
:math:`p_r(t) \ge 0` for all of a resource per tick, weak duality gives:

.. math::
    \sum_j (C_j - r_j) \ge \sum_j \min_{s \ge r_j} \Big[ s + d_j - r_j
    + \sum_r a_{jr} \int_s^{s + d_j} p_r(t)\,dt \Big] - \sum_r \int p_r(t)\,dt

because a feasible schedule pays no more for what it holds than :math:`\sum_r \int p_r`. The right-hand side
is that of the Lagrangian relaxation of the program with a variable for every start of every job.

The prices are constant between given ticks; then the minimum is at a start or an end at such a tick, and
:func:`check_certificate` computes it anew from the prices alone. How they were found does not matter. All
sums are rounded down by more than floating point can lose.

The capacity in the shares is what the machines can really be filled with: whole instances on each machine
(:class:`Row`).

**Jobs in lanes** (:class:`Lanes`) have a price :math:`q_j(t) \ge 0` each besides those of rows, from their
submission until they should have run, and capacity is worth what its rows pay and the most valuable set of
jobs whose GPUs are no more than there are. A gang that needs most of them, half of it done in the time of
one half and half in that of the other, no longer fits beside a job that runs all the time:

.. math::
    \sum_j (C_j - r_j) \ge \sum_j \min_{s \ge r_j} \Big[ s + d_j - r_j
    + \int_s^{s + d_j} \Big( q_j(t) + \sum_r a_{jr} p_r(t) \Big) dt \Big]
    - \int \Big( \sum_r p_r(t) + \max_A \sum_{j \in A} q_j(t) \Big) dt .

Jobs that never wait at the same time share a lane, a column of the prices.

There, contention counts by a price :math:`P(t) \ge 0` of all M **machines** (:class:`Ways`). If jobs share a
machine in proportion to :math:`\beta_i g_{ik}`, with :math:`g_{ik}` their GPUs on it, job j takes and loses

.. math::
    y_j = \sum_k \frac{\beta_j g_{jk}}{\beta_j g_{jk} + G_k z_k} \qquad\text{and}\qquad
    \ell_j \ge 1 - \frac{1}{1 + \eta \beta_j \max_k z_k}

machines and of its work per tick, with :math:`z_k` the share of the GPUs of machine k that its neighbours
have, times their intensities; a job that does not contend takes nothing. To take less, it has to lose more:
at least :math:`\varphi_j(P)`, the least :math:`P y_j / M + \ell_j` of all z that are possible. At no time do
the jobs take more than all machines, and :math:`C_j - S_j` is :math:`d_j` and all that job j loses. So
:math:`\varphi_j(P(t))` joins what it pays per tick, and :math:`P(t)` what capacity is worth.

**Few jobs** (:class:`Packed`) have a price :math:`p_j(t)` each, and capacity is worth what the most valuable
of the sets of jobs pays that the machines can hold at the same time. No resource can be worth less, so such
prices prove at least as much as those of resources; and here contention counts. A job that runs with speed
:math:`\sigma` on K machines has :math:`\sigma d_j / d_j(K)` of its own duration :math:`d_j` done per tick and
loses the rest, and :math:`C_j - S_j` is :math:`d_j` and all that it loses. With a price :math:`w_j \ge 0` of
that, and :math:`\ell_{jA}` for what job j of a set A loses per tick, placed in some way,

.. math::
    \sum_j (C_j - r_j) \ge \sum_j \min_{s \ge r_j, e} \Big[ e - r_j - w_j (e - s - d_j)
    + \int_s^e p_j(t)\,dt \Big] - \int \max_A \sum_{j \in A} \big( p_j(t) - w_j \ell_{jA} \big) dt ,

with e from :math:`s + d_j` to what a job takes that is always as slow as it can be. At :math:`w_j = 1` what
is lost costs the time of the job itself; at more it also takes the time of those that wait for it.
"""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...models.base import InputError, numbers
from ...models.placement.instance import WEIGHT_UNIT, PlacementInstance
from ...models.placement.jobs import RESOURCES, TICKS
from ...models.placement.kernels import THOUSAND
from ...models.placement.schedule import Schedule
from ...models.placement.setting import Setting
from ..base import Budget, PartProgress
from ..turns import Stage
from . import search_kernels as kernels
from .exact import UNIT_ROUNDOFF, any_time, first_equal, tariff_of
from .exact_kernels import Tariff
from .search import gap, list_schedule, most_at_once

MOST_PACKED, MOST_WAYS, MOST_LOSSES = 40, 2**20, 2**23
"""Jobs have prices of their own if there are no more of them, and no more ways to place some of them at the
same time, nor so many by the jobs that can run at once."""

FEW_WAYS = 2**16
"""Up to so many, jobs get no lanes before they have prices of their own."""

SECONDS_PER_WAY, SECONDS_PER_MACHINE, WAYS_SECONDS = 2e-6, 5e-7, 0.05
"""About the seconds that a core takes to find a way, and more for each machine, and those of a step."""

LOST = 2.0**-45
"""More than rounding can add to what a job loses per tick, and to a sum of that."""

SLOWER = 1e-4
"""The relative part by which rounded speeds can make a job slower, and more."""

FIRST_WORK, PACKED_WORK = 2.5e7, 5e8
"""The work of the volume method on prices of jobs, in sets of jobs that are looked at: in the first pass,
after which each does twice as much, and in all, without a time limit or if windows come after it."""

LANE_SUMS, LANE_PRICES = 10**8, 4 * 10**6
"""The most sums of GPUs, of all lanes in all intervals, and the most prices that jobs in lanes may need. What
a kind of jobs pays for machines counts a quarter of a price, as there are fewer copies of it."""

LANE_WORK = 8e8
"""The work of the volume method on them, as that of :data:`PACKED_WORK`."""

ROUND_SECONDS = 7e-5
"""About the seconds that a core takes for a round of the volume method, however few prices there are."""

LANE_INTERVALS = 3000
"""Their most intervals of equal prices."""

LOADS = 128
"""Steps of the load of neighbours between none and as much as there can be, finer where it is small."""

MOST_PARTS = 2**14
"""The most instances of a job times those on a machine; with more, it shares machines for nothing."""

LINGER = 1.0
"""Jobs keep their lane after their end in a simple schedule for so much of the time that they take there."""

GPUS = RESOURCES.index("gpus")
"""The resource whose units jobs in lanes fill."""

DEAREST = 1e100
"""No price of a certificate is higher, so that all sums of payments are finite."""

MOST_UNITS = 4096
"""Up to so many units of a resource on a machine, all sums of needs are found."""

MOST_LEVEL, MOST_WHOLE = 8, 3
"""The highest level of a :class:`Row` of a machine, and of all machines as one."""

FIRST_INTERVALS = 256
MOST_INTERVALS = 800
"""Intervals of equal prices: at first, and at most, or one for each job if there are more."""

FEW_ROUNDS, ROUNDS, GRIDS = 100, 1000, 5
"""Rounds of the volume method on a grid: so few, or up to so many within the work on all grids over GRIDS."""

VOLUME_WORK = 5e7
"""The work that it may do on all grids, as :attr:`Market.work` counts it."""

SETTLED = 1e-6
"""The volume method ends when a step hopes for a relative gain of less than this."""

AGAIN, EAGER = 2e-3, 2e-2
"""The relative gain that the first step on a finer grid hopes for, and the first one of jobs in lanes, and in
windows."""

BOLD = 0.3
"""The most that a round in windows counts in the average excess at first."""

PATIENCE = 8
"""Rounds without a gain after which the steps become smaller."""


@dataclass(frozen=True, order=True)
class Row:
    """A resource as it counts in a bound: what an instance takes of it, and how much there is.

    At level 0, the units of the resource; a machine has as many as whole instances can fill. At level q >= 1,
    an instance of more than i / (q + 1) of the largest machine counts i, the largest such i. As the counts of
    instances that fit together on a machine add up to q at most, this may be tighter for large instances.

    A ``whole`` row takes all machines for one, which has as much as they can be filled with, and each job for
    one instance. This is tighter for large gangs: of those that take more than half of everything, one at a
    time can run.
    """

    resource: int  # its number
    level: int  # q
    whole: bool = False  # whether whole jobs fill all machines together


@dataclass(frozen=True, eq=False)
class Certificate:
    """Prices of capacity over time, from which :func:`check_certificate` computes a bound."""

    rows: tuple[Row, ...] | None  # the resource or level of a row; None if every job has a price of its own
    # Ticks between which prices are constant, ascending, the first not after any submission; before the first
    # and after the last they are 0; shape (K + 1,).
    times: np.ndarray
    # Ticks of completion time per tick, for all of a row, for all machines, or for a job, shape (K, R).
    prices: np.ndarray
    # What each job gets per tick that it loses, in ticks of completion time, shape (n,); none for rows.
    losses: np.ndarray = field(default_factory=lambda: np.zeros(0))
    # The column of prices that is a job's own until a tick, after those of rows and of machines, shape (n,)
    # each; or none.
    lane: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    until: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class Bound:
    """A lower bound of the cost of every schedule."""

    units: int  # in whole millionths of a second: ``jct`` plus lambda times ``gpu_seconds``
    jct: float  # the sum of the completion times is at least this
    gpu_seconds: float  # the GPU-seconds paid for are at least this
    method: str  # the certificate
    certificate: Certificate  # computes it again

    @property
    def value(self) -> float:
        """The bound in seconds."""
        return self.units / (TICKS * WEIGHT_UNIT)


def counted(instance: PlacementInstance, row: Row) -> tuple[np.ndarray, int]:
    """Return the count of all instances of each job in a row, shape (n,), and that of all full machines."""
    jobs, capacity = instance.jobs, instance.setting.capacity
    need, times = jobs.need, jobs.instances
    if row.whole:
        capacity = np.array([[counted(instance, Row(row.resource, 0))[1]]])
        need, times = (times * need[:, row.resource])[:, None], np.ones_like(times)
        row = Row(0, row.level)
    kinds, kind = np.unique(need, axis=0, return_inverse=True)
    count = kinds[:, row.resource]
    if row.level > 0:
        largest = max(1, int(capacity[:, row.resource].max()))
        count = np.maximum(0, ((row.level + 1) * count - 1) // largest)
    machines, machine = np.unique(capacity, axis=0, return_inverse=True)
    most = [_most_counted(row, kinds, count, units) for units in machines]
    total = sum(most[k] for k in machine.reshape(-1).tolist())
    return times * count[kind.reshape(-1)], total


def _most_counted(row: Row, kinds: np.ndarray, count: np.ndarray, units: np.ndarray) -> int:
    """Return the most that instances on one machine can count in a row together."""
    able = (kinds <= units).all(axis=1)
    needs, counts, most = kinds[able, row.resource], count[able], int(units[row.resource])
    if row.level == 0:
        return _fullest(np.unique(needs[needs > 0]).tolist(), most)
    smallest = {c: int(needs[counts == c].min()) for c in np.unique(counts[counts > 0]).tolist()}
    least = [0] + [most + 1] * row.level  # the least need that counts so much
    for value in range(1, row.level + 1):
        for c, need in smallest.items():
            if c <= value:
                least[value] = min(least[value], least[value - c] + need)
    return max(value for value in range(row.level + 1) if least[value] <= most)


def _fullest(needs: list[int], most: int) -> int:
    """Return the largest sum of such needs that is not above ``most``; ``most`` if that is too much work."""
    step = math.gcd(*needs) if needs else 0
    if step == 0:
        return 0
    size = most // step
    if size > MOST_UNITS:
        return size * step
    sums, mask = 1, (1 << (size + 1)) - 1
    for need in needs:
        shift = need // step
        while shift <= size:  # after this, any number of such instances
            sums |= (sums << shift) & mask
            shift *= 2
    return (sums.bit_length() - 1) * step


def rows_of(instance: PlacementInstance, *, plain: bool = False) -> tuple[Row, ...]:
    """Return the rows that count: every resource that is needed, and unless ``plain`` what may be tighter."""
    jobs = instance.jobs
    found = []
    for r in range(len(RESOURCES)):
        if not jobs.need[:, r].any():
            continue
        found.append(Row(r, 0))
        if plain:
            continue
        loads = []
        for level in range(MOST_LEVEL + 1):
            count, total = counted(instance, Row(r, level))
            loads.append(float((count * (jobs.duration / max(1, total))).sum()) if count.any() else 0.0)
        best = int(np.argmax(loads))
        if best > 0:
            found.append(Row(r, best))
        found += _whole_rows(instance, r)
    return tuple(found)


def _whole_rows(instance: PlacementInstance, resource: int) -> list[Row]:
    """Return the rows of whole jobs that count, but for those that another one of them dominates."""
    found: list[tuple[Row, np.ndarray]] = []
    for row in [Row(resource, level, whole=True) for level in range(MOST_WHOLE + 1)]:
        count, total = counted(instance, row)
        share = count / max(1, total)
        if share.any() and not any((other >= share).all() for _, other in found):
            found = [(kept, other) for kept, other in found if not (share >= other).all()]
            found.append((row, share))
    return [row for row, _ in found]


class Market:
    """Jobs and rows as the kernels take them."""

    priced = "capacity"
    per_second = 1e7
    """About the work that a core does in a second."""

    def __init__(self, instance: PlacementInstance, rows: tuple[Row, ...]) -> None:
        jobs = instance.jobs
        self.jobs = jobs
        self.rows: tuple[Row, ...] | None = rows
        pairs = [counted(instance, row) for row in rows]
        counts = np.array([count for count, _ in pairs], dtype=np.int64).reshape(len(rows), len(jobs)).T
        totals = np.array([max(1, total) for _, total in pairs], dtype=np.float64)
        self.share = np.ascontiguousarray(counts / totals)
        self.stretch, self.longest = np.ones(len(jobs)), jobs.duration  # jobs take as long as alone
        self.windows = any_time(instance)
        self.work = 0  # prices, and corners of jobs that were looked at, in all responses

    @property
    def columns(self) -> int:
        """How many prices an interval has."""
        return int(self.share.shape[1])

    @property
    def terms(self) -> int:
        """The most prices that are added to what a job pays, or to what capacity is worth, per tick."""
        return self.columns

    @property
    def most_intervals(self) -> int:
        """The most intervals of equal prices."""
        return max(MOST_INTERVALS, len(self.jobs))

    @property
    def losses(self) -> np.ndarray:
        """What each job gets at first per tick that it loses; nothing if losses do not count."""
        return np.zeros(0)

    def paid(self, times: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return what each job pays per tick, shape (K, n)."""
        result: np.ndarray = prices @ self.share.T
        return result

    def certificate(self, times: np.ndarray, prices: np.ndarray, losses: np.ndarray) -> Certificate:
        """Return prices as a certificate."""
        return Certificate(self.rows, times, prices, losses)

    def respond(self, times: np.ndarray, prices: np.ndarray, losses: np.ndarray) -> Response:
        """Return the bound that prices prove, and the use of each row at them."""
        n, length = len(self.jobs), np.diff(times).astype(np.float64)
        least, largest, more, use = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(prices.shape)
        padded = np.concatenate([prices, np.zeros((1, prices.shape[1]))])
        self.work += self._run(times, padded, losses, least, use, largest, more)
        worth, held, lost = self.capacity(times, prices, losses)
        bound = math.fsum(least.tolist()) - math.fsum((worth * length).tolist())
        paid = (prices * length[:, None]).ravel()
        bound -= self._margin(times, self.terms, paid, largest, losses)
        return Response(bound, use / length[:, None] - held, lost - more[: len(lost)])

    def _run(self, times: np.ndarray, prices: np.ndarray, losses: np.ndarray, *written: np.ndarray) -> int:
        """Let every job run when that is cheapest for it; return how much work that was."""
        given = self.jobs.submit, self.jobs.duration, self.share, times, prices
        return int(prices.size + kernels.cheapest_starts(*given, *written[:3]))

    def capacity(
        self, times: np.ndarray, prices: np.ndarray, losses: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the most that capacity is worth per tick, shape (K,), and what that takes.

        That is how much of each row, shape (K, R), and how many ticks each job loses, where that counts. Here
        it is 1 of each row: all rows can be full at the same time.
        """
        return prices.sum(axis=1), np.ones(prices.shape), losses

    def _margin(
        self, times: np.ndarray, rows: int, paid: np.ndarray, largest: np.ndarray, losses: np.ndarray
    ) -> float:
        r"""Return more than rounding can have added to the bound.

        A payment is a difference of two sums of at most K + 1 products of a length and a rate, itself the
        sum of at most R (``rows``) products of a price and a rounded quotient, or of prices. All terms are
        positive, so each sum is off by at most :math:`(K + R + 8) u` of itself to first order, and it is no
        more than what the job pays that runs all the time. Times are exact; adding them costs u of the total.
        The factor 8 covers the two sums, their difference and all terms of higher order.
        """
        latest = float(times[-1]) + float(self.longest.max(initial=0))
        scale = (
            math.fsum(largest.tolist()) + (len(largest) + float(losses.sum())) * latest + float(paid.sum())
        )
        return 8.0 * (len(times) + rows + 8) * UNIT_ROUNDOFF * scale


class _Packings:
    """The ways to place some of the jobs at the same time, each with what all of its jobs lose.

    Attributes
    ----------
    most
        If there are more, they are not kept.
    """

    def __init__(self, instance: PlacementInstance) -> None:
        capacity, width = instance.setting.capacity, most_at_once(instance)
        self.most = min(MOST_WAYS, MOST_LOSSES // max(1, width))
        self._few, self._all = len(instance.jobs) <= MOST_PACKED, False
        n, room = (len(instance.jobs), self.most + 1) if self._few else (0, 0)
        self._each = SECONDS_PER_WAY + SECONDS_PER_MACHINE * len(capacity)
        self._sets, self._lost = np.zeros(room, dtype=np.int64), np.zeros((room, width))
        self._at, free = np.zeros(4, dtype=np.int64), np.empty((n + 1, *capacity.shape), dtype=np.int64)
        alike = np.empty((n + 1, len(capacity)), dtype=np.int64)
        free[0], alike[0] = capacity, first_equal(capacity)
        jobs, counts = np.zeros(n, dtype=np.int64), np.zeros((n, len(capacity)), dtype=np.int64)
        path = jobs, counts, free, alike, self._at
        self._given = instance.table, instance.setting.slowdown.contention, path, self._sets, self._lost

    @property
    def more(self) -> bool:
        """Whether there may be some that are not found, and room for them."""
        return self._few and not self._all and int(self._at[2]) <= self.most

    def steps(self, until: int) -> Iterator[float]:
        """Find so many in all, some at a time; yield how much work that was."""
        step = max(1, int(WAYS_SECONDS / self._each))
        while self.more and (found := int(self._at[2])) < until:
            self._all = kernels.packings(*self._given, min(found + step, until, self.most + 1))
            yield self._each * (1 + int(self._at[2]) - found)

    @property
    def ways(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The sets, and what they lose, as the kernel writes them; None if not all are found."""
        count = int(self._at[2])
        return (self._sets[:count], self._lost[:count]) if self._all else None


class Packed(Market):
    """Few jobs that have a price each, and all sets of jobs that can run at the same time; see the top.

    Attributes
    ----------
    windows
        The first and the last tick at which each job may start, shape (n, 2).
    starts
        When each started in the last response.
    """

    priced, per_second = "jobs", 1.6e8

    def __init__(self, instance: PlacementInstance, packings: _Packings | None = None) -> None:
        super().__init__(instance, ())
        n = len(self.jobs)
        self.rows, self.share = None, np.eye(n)
        if packings is None:
            packings = _Packings(instance)
            for _ in packings.steps(packings.most + 1):
                pass
        if packings.ways is None:
            raise InputError(
                f"certificate: there are more than {packings.most} ways to place some of the jobs"
            )
        sets, lost = packings.ways
        order = np.argsort(sets, kind="stable")
        self.lost = np.maximum(0.0, lost[order] - LOST)
        self.sets, first = np.unique(np.append(0, sets[order]), return_index=True)  # nobody, and so on
        self.first = np.append(np.maximum(0, first - 1), len(sets))
        lowest = self.sets & -self.sets
        parent = np.searchsorted(self.sets, self.sets ^ lowest)
        oldest = np.maximum(0, np.frexp(lowest)[1].astype(np.int64) - 1)
        self.tree = parent, oldest, np.searchsorted(self.sets, self.sets + lowest)
        held = (self.sets[:, None] >> np.arange(n)) & 1
        self.free = (instance.setting.capacity[:, GPUS].sum() - held @ self.jobs.gpus).astype(np.float64)
        slowest = np.zeros(n)
        kernels.most_lost(sets, lost, slowest)
        self.stretch = (1.0 + SLOWER) / (1.0 - slowest)
        self.longest = np.ceil(self.jobs.duration * self.stretch).astype(np.int64) + 2
        self.starts = np.zeros(n, dtype=np.int64)

    def within(self, windows: np.ndarray) -> Packed:
        """Return the same market of jobs that start in these windows, each with its first and last tick.

        No first tick may be later than the last time of the prices, of which the margin for rounding is made.
        """
        other = copy.copy(self)
        other.windows, other.starts, other.work = windows, np.zeros_like(self.starts), 0
        return other

    @property
    def losses(self) -> np.ndarray:
        """What each job gets at first per tick that it loses: its own time."""
        return np.ones(len(self.jobs))

    def _run(self, times: np.ndarray, prices: np.ndarray, losses: np.ndarray, *written: np.ndarray) -> int:
        """Let every job run when, and for as long as, that is cheapest for it; return the work."""
        jobs = self.jobs
        given = (jobs.submit, jobs.duration, self.longest), self.windows, losses, times, prices
        return int(kernels.cheapest_runs(*given, *written, self.starts))

    def loss(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each set of jobs loses at least at such prices, and the way of it, shape (sets,)."""
        loss, way = np.empty(len(self.sets)), np.empty(len(self.sets), dtype=np.int64)
        kernels.least_lost(self.tree, self.first, self.lost, losses, loss, way)
        return loss, way

    def capacity(
        self, times: np.ndarray, prices: np.ndarray, losses: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what the best set of jobs is worth, less what it loses, which it is, and the losses."""
        loss, way = self.loss(losses)
        worth, best = np.zeros(len(prices)), np.zeros(len(prices), dtype=np.int64)
        submitted = np.searchsorted(self.jobs.submit, times[1:])  # others do not run yet
        known = np.searchsorted(self.sets, np.left_shift(1, submitted))
        given = known, self.tree, self.free, self.jobs.gpus, loss, prices, 4.0 * LOST * float(losses.sum())
        self.work += int(kernels.best_sets(*given, worth, best))
        held = (self.sets[best][:, None] >> np.arange(len(self.jobs))) & 1
        lost = np.zeros(len(self.jobs))
        k, j = np.nonzero(held)
        place = held.cumsum(axis=1)[k, j] - 1
        np.add.at(lost, j, np.diff(times)[k] * self.lost[way[best[k]], place])
        return worth, held.astype(np.float64), lost


class Ways:
    """In which ways jobs can share machines; see the top.

    Attributes
    ----------
    kind
        Jobs of a kind share them alike, shape (n,).
    taken, lost
        The least of all machines that a job of a kind takes in each of the ways, and of its work per tick
        that it loses, shape (kinds, W): less and less of the former, more and more of the latter, on a
        convex curve; the last way is repeated.
    """

    def __init__(self, instance: PlacementInstance) -> None:
        jobs = instance.jobs
        alike = np.stack([jobs.need[:, GPUS], jobs.instances, jobs.intensity], axis=1)
        kinds, which = np.unique(alike, axis=0, return_inverse=True)
        load = np.linspace(0.0, 1.0, LOADS + 1) ** 2 * (jobs.intensity.max(initial=0) / THOUSAND)
        found = [_ways_of(instance.setting, load, *kind) for kind in kinds.tolist()]
        width = max((len(taken) for taken, _ in found), default=1)
        padded = [np.pad(way, ((0, 0), (0, width - way.shape[1])), mode="edge") for way in found]
        self.kind, both = which.reshape(-1), np.array(padded).reshape(-1, 2, width)
        self.taken, self.lost = np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])

    def paid(self, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each kind pays and loses per tick at prices of machines, and takes, (kinds, K) each."""
        cost, part = np.empty((2, len(self.taken), len(prices)))
        kernels.share_machines(np.ascontiguousarray(prices), self.taken, self.lost, cost, part)
        return cost, part


def _ways_of(setting: Setting, load: np.ndarray, gpus: int, instances: int, intensity: int) -> np.ndarray:
    """Return what a job takes of all machines and loses per tick, in each way to share them, shape (2, W).

    Neighbours have loads from one step to the next, and no more than what is left of a machine: the job takes
    what it does at the latter and loses what it does at the former. Of all ways those that are on the lower
    convex hull, rounded down by more than rounding can add to them and to the least cost.
    """
    beta, eta = intensity / THOUSAND, setting.slowdown.contention
    if eta * beta == 0.0 or gpus == 0:
        return np.zeros((2, 1))
    taken = _least_taken(setting.capacity[:, GPUS], load, beta, gpus, instances)[1:] / len(setting.capacity)
    lost = 1.0 - 1.0 / (1.0 + eta * beta * load[:-1])
    kept: list[tuple[float, float]] = []
    for way in zip(taken.tolist(), lost.tolist(), strict=True):
        if kept and way[0] >= kept[-1][0]:
            continue
        while len(kept) > 1 and _above(kept[-2], kept[-1], way):
            kept.pop()
        kept.append(way)
    less = 1.0 - LOST - 2.0 * instances * UNIT_ROUNDOFF  # so many shares are added
    return np.array([[share * less, max(0.0, loss - LOST)] for share, loss in kept]).T


def _least_taken(
    capacity: np.ndarray, load: np.ndarray, beta: float, gpus: int, instances: int
) -> np.ndarray:
    """Return how many machines a job takes at least beside neighbours of each load, shape (L,)."""
    most = min(instances, int(capacity.max()) // gpus)
    if most * instances > MOST_PARTS:
        return np.zeros(len(load))
    count = np.arange(1, most + 1)[:, None]  # instances on a machine
    taken = np.full((most, len(load)), np.inf)
    for held in np.unique(capacity).tolist():
        own, left = beta * gpus * count, held - gpus * count
        beside = np.minimum(held * load, np.maximum(left, 0) * load[-1])
        taken = np.where(left >= 0, np.minimum(taken, own / (own + beside)), taken)
    least = np.zeros((instances + 1, len(load)))
    for placed in range(1, instances + 1):
        here = min(placed, most)
        least[placed] = (taken[:here] + least[placed - here : placed][::-1]).min(axis=0)
    return least[-1]


def _above(first: tuple[float, float], way: tuple[float, float], last: tuple[float, float]) -> bool:
    """Tell whether a way is not below the line between two others."""
    return (way[1] - first[1]) * (way[0] - last[0]) >= (last[1] - way[1]) * (first[0] - way[0])


class Lanes(Market):
    """Rows, machines, and a price of each job besides while it may have to wait; see the top.

    Attributes
    ----------
    lane, until
        As in the certificate, shape (n,) each.
    count, total
        The GPUs of each job, shape (n,), and of the cluster as far as instances can fill it.
    ways
        How jobs can share machines.
    """

    priced, per_second = "jobs and capacity", 4e7

    def __init__(
        self, instance: PlacementInstance, rows: tuple[Row, ...], lane: np.ndarray, until: np.ndarray
    ) -> None:
        super().__init__(instance, rows)
        self.lane, self.until = np.array(lane, dtype=np.int64), np.array(until, dtype=np.int64)
        self.count, self.total = counted(instance, Row(GPUS, 0))
        self.width = int(lane.max(initial=-1)) + 1
        self.ways = Ways(instance)

    @classmethod
    def begin(
        cls, instance: PlacementInstance, rows: tuple[Row, ...], times: np.ndarray, schedule: Schedule
    ) -> Lanes:
        """Give lanes to all jobs, for somewhat longer than a schedule keeps them."""
        submit = instance.jobs.submit
        late = schedule.finish + (LINGER * (schedule.finish - submit)).astype(np.int64)
        until = times[np.minimum(len(times) - 1, np.searchsorted(times, late))]
        free: list[int] = []
        busy: list[tuple[int, int]] = []  # until when, and which lane
        lane, width = np.zeros(len(submit), dtype=np.int64), 0
        for job, first in enumerate(times[np.searchsorted(times, submit, side="right") - 1].tolist()):
            while busy and busy[0][0] <= first:
                heapq.heappush(free, heapq.heappop(busy)[1])
            lane[job] = heapq.heappop(free) if free else width
            width = max(width, int(lane[job]) + 1)
            heapq.heappush(busy, (int(until[job]), int(lane[job])))
        return cls(instance, rows, lane, until)

    @property
    def columns(self) -> int:
        """How many prices an interval has: of rows, of machines, and of lanes."""
        return super().columns + 1 + self.width

    @property
    def terms(self) -> int:
        """The most prices that are added to what a job pays, or to what capacity is worth, per tick."""
        return super().columns + 1 + len(self.jobs)

    @property
    def most_intervals(self) -> int:
        """The most intervals for which there are not too many prices and sums."""
        sums, prices = max(1, self.width) * (self.total + 1), self.columns + len(self.ways.taken) // 4
        return min(LANE_INTERVALS, LANE_PRICES // prices, LANE_SUMS // sums)

    def own(self, times: np.ndarray) -> Iterator[tuple[int, slice, int]]:
        """Yield each job with the intervals in which it has a price of its own, and its column."""
        first = np.searchsorted(times, self.jobs.submit, side="right") - 1
        last, lanes = np.searchsorted(times, self.until), super().columns + 1
        for job in range(len(self.jobs)):
            yield job, slice(int(first[job]), int(last[job])), lanes + int(self.lane[job])

    def moved(self, times: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return prices of rows with those of GPUs as such moved into the lanes, shape (K, R + 1 + W)."""
        gpus = np.array([row.resource == GPUS and row.level == 0 for row in self.rows or ()])
        none = np.zeros((len(prices), 1 + self.width))
        result = np.concatenate([np.where(gpus, 0.0, prices), none], axis=1)
        for job, when, column in self.own(times):
            result[when, column] = prices[when] @ (self.share[job] * gpus)
        return result

    def _run(self, times: np.ndarray, prices: np.ndarray, losses: np.ndarray, *written: np.ndarray) -> int:
        """Let every job run when that is cheapest for it; return how much work that was."""
        jobs, shared = self.jobs, self.ways.paid(prices[:, super().columns])
        mine = (self.ways.kind, *shared), self.lane, self.until
        given = jobs.submit, jobs.duration, self.share, *mine, times, prices
        return int(prices.size + shared[0].size + kernels.starts_in_lanes(*given, *written[:3]))

    def capacity(
        self, times: np.ndarray, prices: np.ndarray, losses: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what rows, machines and the best set of jobs are worth, and 1 of each and of its lanes."""
        full = super().columns + 1
        own = np.ascontiguousarray(prices[:, full:])
        worth, held = np.zeros(len(prices)), np.zeros(own.shape)
        given = self.jobs.submit, self.count, self.total, self.lane, self.until, times, own
        self.work += int(kernels.best_fills(*given, worth, held))
        held = np.concatenate([np.ones((len(prices), full)), held], axis=1)
        return prices[:, :full].sum(axis=1) + worth, held, losses

    def paid(self, times: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return what each job pays per tick, shape (K, n)."""
        rows = super().columns
        result = super().paid(times, prices[:, :rows]) + self.ways.paid(prices[:, rows])[0][self.ways.kind].T
        for job, when, column in self.own(times):
            result[when, job] += prices[when, column]
        return result

    def certificate(self, times: np.ndarray, prices: np.ndarray, losses: np.ndarray) -> Certificate:
        """Return prices as a certificate."""
        return Certificate(self.rows, times, prices, losses, self.lane, self.until)


@dataclass(frozen=True, eq=False)
class Response:
    """The jobs' response to given prices."""

    bound: float  # in ticks; the sum of all completion times is at least this
    # By how much each row is overfull in each interval, as a share of its capacity, shape (K, R).
    excess: np.ndarray
    # By how many ticks more each job loses than it is paid for, shape (n,) if losses count.
    lost: np.ndarray


def market_of(instance: PlacementInstance, certificate: Certificate) -> Market:
    """Return what has the prices of a certificate."""
    rows, lane, until = certificate.rows, certificate.lane, certificate.until
    if rows is None:
        return Packed(instance)
    return Lanes(instance, rows, lane, until) if len(lane) else Market(instance, rows)


def check_certificate(instance: PlacementInstance, certificate: Certificate) -> Bound:
    """Return the bound that a certificate proves, computed from its prices alone; refuse wrong ones."""
    for row in certificate.rows or ():
        if not (0 <= row.resource < len(RESOURCES) and row.level >= 0):
            raise InputError(f"certificate.rows: {row} is no resource or level")
    n = len(instance.jobs)
    kept = n if np.size(certificate.lane) else 0
    lane = numbers(certificate.lane, "certificate.lane", (kept,), high=max(0, n - 1), integer=True)
    until = numbers(certificate.until, "certificate.until", (kept,), high=2.0**53, integer=True)
    times = np.array(numbers(certificate.times, "certificate.times", (None,), high=2.0**53, integer=True))
    market = market_of(instance, replace(certificate, lane=lane, until=until))
    prices = np.array(numbers(certificate.prices, "certificate.prices", (None, market.columns), high=DEAREST))
    losses = numbers(certificate.losses, "certificate.losses", market.losses.shape, high=DEAREST)
    if len(times) != len(prices) + 1:
        raise InputError(f"certificate.times: {len(times)} of them, expected {len(prices) + 1}")
    if (np.diff(times) <= 0).any() or (n and times[0] > instance.jobs.submit[0]):
        raise InputError("certificate.times: not ascending from the first submission or earlier")
    if kept and len(prices) > market.most_intervals:
        raise InputError(f"certificate.times: {len(times)} of them need too many sums of GPUs or prices")
    if kept and (pair := _crowded(times, instance.jobs.submit, lane, until)):
        raise InputError(f"certificate.lane: jobs {pair[0]} and {pair[1]} are in one at the same time")
    ticks = market.respond(times, prices, losses).bound
    return _bound(instance, ticks, f"Lagrangian prices of {market.priced}", certificate)


def _crowded(
    times: np.ndarray, submit: np.ndarray, lane: np.ndarray, until: np.ndarray
) -> tuple[int, int] | None:
    """Return two jobs that are in the same lane in the same interval, if there are any."""
    first = times[np.searchsorted(times, submit, side="right") - 1]
    order = np.lexsort((submit, lane))
    one, other = order[:-1], order[1:]
    wrong = np.flatnonzero((lane[one] == lane[other]) & (until[one] > first[other]))
    return (int(one[wrong[0]]), int(other[wrong[0]])) if len(wrong) else None


def tariff(instance: PlacementInstance, certificate: Certificate, market: Market | None = None) -> Tariff:
    """Return the prices of a certificate, or of its market, as the branch and bound takes them."""
    times, market = certificate.times, market or market_of(instance, certificate)
    worth, _, _ = market.capacity(times, certificate.prices, certificate.losses)
    own = float(len(certificate.lane) > 0)  # what jobs in lanes pay has all that they lose in it
    losses = certificate.losses if len(certificate.losses) else np.full(len(instance.jobs), own)
    paid, windows = market.paid(times, certificate.prices), market.windows
    return tariff_of(instance, times, paid, worth, losses, market.stretch, windows)


def units_of(instance: PlacementInstance, ticks: float) -> int:
    """Return a bound of completion times, less submissions, as one of the cost in millionths of a second."""
    return _bound(instance, ticks, "", sum_of_durations(instance).certificate).units


def _bound(instance: PlacementInstance, ticks: float, method: str, certificate: Certificate) -> Bound:
    """Return a bound; as a completion time is a whole number of ticks, it is rounded up to one."""
    jobs = instance.jobs
    alone, used = int(jobs.duration.sum()), int((jobs.gpus * jobs.duration).sum())
    waited = max(alone, math.ceil(ticks))
    if waited == alone:
        method = "sum of durations"
    units = instance.units_of_cost(waited, used)
    return Bound(units, waited / TICKS, used / TICKS, method, certificate)


def sum_of_durations(instance: PlacementInstance) -> Bound:
    """Return the bound at prices 0: every job takes at least its own duration."""
    times = np.zeros(1, dtype=np.int64)
    return _bound(instance, 0.0, "", Certificate((), times, np.zeros((0, 0))))


def lower_bound(
    instance: PlacementInstance,
    budget: Budget | None = None,
    progress: PartProgress | None = None,
    *,
    schedule: Schedule | None = None,
    plain: bool = False,
) -> Bound:
    """Return a lower bound of the cost of every schedule, with its certificate.

    The prices come from the volume method (Barahona and Anbil 2000), on finer and finer grids: intervals that
    have a price are halved. With no time left it is the sum of durations. It ends within ``budget.gap`` of
    the cost of ``schedule``, whose events are the first grid; by default it is that by shortest duration
    first. Then jobs get prices too, alone (:class:`Packed`) or beside those of rows (:class:`Lanes`), if they
    are not too many. With ``plain``, only resources as such have prices. Time only ends it: with more of it,
    it does all that it does with less, and goes on.
    """
    budget = Budget(0.0, None) if budget is None else budget
    trivial = sum_of_durations(instance)
    if not len(instance.jobs) or budget.over:
        return trivial
    schedule = list_schedule(instance) if schedule is None else schedule
    cost = instance.units(schedule)
    if gap(instance, cost, trivial.units) <= budget.gap or budget.over:
        return trivial
    pricing = Pricing(instance, schedule)
    for _ in pricing.steps(endless=math.isfinite(budget.time_limit), plain=plain):
        if progress is not None:
            bound = pricing.proved / (TICKS * WEIGHT_UNIT)
            progress(max(pricing.done, budget.used), pricing.text, bound=bound)
        if gap(instance, cost, pricing.proved) <= budget.gap or budget.over:
            break
    return pricing.bound()


class Pricing:
    """The rounds of the volume method in :func:`lower_bound`, step by step.

    Attributes
    ----------
    done
        The part of the work that is done, where it ends by itself.
    """

    def __init__(self, instance: PlacementInstance, schedule: Schedule) -> None:
        self.instance, self.schedule, self.done = instance, schedule, 0.0
        self._nothing = sum_of_durations(instance)
        self._rounds, self._made, self._endless, self._parted = 0, list[Volume](), False, False
        self._markets, self._spent, self._halves = list[Market](), 0.0, 0

    @property
    def proved(self) -> int:
        """The bound so far, in millionths of a second."""
        return units_of(self.instance, max((one.bound for one in self._made), default=0.0))

    @property
    def text(self) -> str:
        """How far it is, in words."""
        return f"volume round {self._rounds}, {len(self._made[-1].times) - 1 if self._made else 0} intervals"

    def bound(self) -> Bound:
        """Return the best bound so far, with its certificate."""
        if self.proved <= self._nothing.units:
            return self._nothing
        best, certificate = self._best, self._certificate
        # on a finer grid rounding may cost more
        ticks = best.market.respond(best.times, best.prices, best.losses).bound
        return _bound(self.instance, ticks, self.name, certificate)

    def tariff(self) -> Tariff | None:
        """Return the best prices so far as the branch and bound takes them; None if there are none."""
        return self._best.tariff(self.instance) if self._made else None

    @property
    def of_jobs(self) -> tuple[Packed, Volume] | None:
        """The market of prices of jobs alone, and the best of them, once the rounds on them are done."""
        if self.done < 1.0:
            return None
        return next(((one.market, one) for one in self._made if isinstance(one.market, Packed)), None)

    @property
    def name(self) -> str:
        """The best prices so far, in words."""
        if not self._made:
            return self._nothing.method
        return f"Lagrangian prices of {self._best.market.priced} in {len(self._best.times) - 1} intervals"

    @property
    def _best(self) -> Volume:
        return max(self._made, key=lambda one: one.bound)

    @property
    def _certificate(self) -> Certificate:
        best = self._best
        return best.market.certificate(best.times, best.prices, best.losses)

    def steps(self, *, endless: bool, plain: bool = False, parted: bool = False) -> Stage:
        """Do rounds for ever if ``endless``, or as many as the size allows; yield work, as a stage does.

        If schedules are ``parted`` into windows afterwards, those on prices of jobs alone end in any case.
        """
        self._endless, self._parted = endless, parted
        market = Market(self.instance, rows_of(self.instance, plain=plain))
        found = self._begin(market, first_grid(self.instance, self.schedule))
        yield from self._grid(found, VOLUME_WORK, VOLUME_WORK)
        yield from self._passes(found, VOLUME_WORK / 2.0, VOLUME_WORK) if plain else self._jobs(found)
        self.done = 1.0

    def _jobs(self, found: Volume) -> Stage:
        """Go on with prices of jobs: alone if the ways to place them are few, or beside those of capacity."""
        packings = _Packings(self.instance)
        yield from packings.steps(FEW_WAYS)
        if packings.ways is None:
            rows = found.market.rows or ()
            lanes = Lanes.begin(self.instance, rows, found.times, self.schedule)
            if len(found.times) > lanes.most_intervals:
                yield from self._passes(found, VOLUME_WORK / 2.0, VOLUME_WORK)
                return
            found = yield from self._better(lanes, found)
            if packings.more:
                yield from self._passes(found, FIRST_WORK, FIRST_WORK)
                yield from packings.steps(packings.most + 1)
        if packings.ways is None:
            yield from self._passes(found, FIRST_WORK, LANE_WORK)
            return
        waiting = self.instance.jobs.submit < found.times[1:, None]
        prices = found.market.paid(found.times, found.prices) * waiting
        alone = self._begin(Packed(self.instance, packings), found.times, prices)
        self._endless &= not self._parted
        yield from self._passes(alone, FIRST_WORK, PACKED_WORK)

    def _begin(self, market: Market, times: np.ndarray, *given: Any) -> Volume:
        """Return where rounds begin."""
        if market not in self._markets:
            self._markets.append(market)
        self._made.append(Volume(market, times, *given))
        return self._made[-1]

    def _better(self, lanes: Lanes, found: Volume) -> Generator[float, None, Volume]:
        """Return the better of two ways to begin, after a few rounds.

        Prices of GPUs move into lanes, or stay, as they have to where jobs wait until after their lanes end.
        """
        none = np.zeros((len(found.prices), 1 + lanes.width))
        starts = (lanes.moved(found.times, found.prices), np.concatenate([found.prices, none], axis=1))
        made = [self._begin(lanes, found.times, prices, EAGER) for prices in starts]
        for method in made:
            for _ in range(FEW_ROUNDS):
                if method.settled:
                    break
                yield self._step(method)
        return max(made, key=lambda one: one.bound)

    def _passes(self, method: Volume, most: float, last: float) -> Stage:
        """Do rounds on finer and finer grids, then again with twice the work, and so on.

        ``most`` is the work of all rounds on these prices in the first pass, ``last`` that in the last one;
        if there is more than one and they are endless, there is always another, unless nothing is too full.
        """
        endless, finest, self._halves = self._endless and most < last, False, 1
        while True:
            before = self._rounds, method.market.work
            yield from self._grid(method, most, last)
            while method.market.work <= most and not finest:
                finest = not method.refine()
                if not finest:
                    yield from self._grid(method, most, last)
            idle = self._rounds > before[0] and method.market.work == before[1]  # nothing is too full
            if idle or (most >= last and not endless):
                return
            most, finest = 2.0 * most, False

    def _grid(self, method: Volume, most: float, last: float) -> Stage:
        """Do rounds on a grid; on all grids they may do so much work."""
        market, begun = method.market, method.market.work
        method.restart()
        for k in range(ROUNDS):
            enough = k >= FEW_ROUNDS and market.work - begun > most / GRIDS
            if enough or method.settled or market.work > most:
                break
            yield self._step(method)
            self.done = max(self.done, (self._halves + min(1.0, market.work / last)) / 2.0)

    def _step(self, method: Volume) -> float:
        """Do a round, and return how much work it was."""
        method.step()
        self._rounds += 1
        before, self._spent = self._spent, sum(one.work / one.per_second for one in self._markets)
        return ROUND_SECONDS + self._spent - before


def first_grid(instance: PlacementInstance, schedule: Schedule) -> np.ndarray:
    """Return ticks from the first submission to the last end: some events of a schedule, and equal steps."""
    first, last = int(instance.jobs.submit[0]), int(schedule.finish.max())
    events = np.unique(np.concatenate([instance.jobs.submit, schedule.start, schedule.finish]))
    half = FIRST_INTERVALS // 2
    some = events[np.unique(np.linspace(0, len(events) - 1, half + 1).astype(np.int64))]
    steps = np.linspace(first, last, half + 1).astype(np.int64)
    return np.unique(np.concatenate([some, steps]))


class Volume:
    """State of the volume method; see :func:`lower_bound`."""

    def __init__(
        self, market: Market, times: np.ndarray, prices: np.ndarray | None = None, ambition: float = AGAIN
    ) -> None:
        self.market, self.times = market, times
        self.prices, self.losses = np.zeros((len(times) - 1, market.columns)), market.losses
        self.length = market.jobs.duration[: len(self.losses)].astype(np.float64)  # of losses
        self.ambition, self.largest, self.failures, self.frozen = 0.1, 0.6, 0, False
        self.patience = 1  # until a first step gains anything
        found = market.respond(times, self.prices, self.losses)
        self.bound, self.excess, self.lost = found.bound, found.excess, found.lost / self.length
        if prices is not None and (start := market.respond(times, prices, self.losses)).bound > self.bound:
            self.prices, self.bound, self.excess = prices, start.bound, start.excess
            self.lost, self.ambition = start.lost / self.length, ambition

    def tariff(self, instance: PlacementInstance) -> Tariff:
        """Return the prices as the branch and bound takes them."""
        return tariff(instance, self.market.certificate(self.times, self.prices, self.losses), self.market)

    @property
    def settled(self) -> bool:
        """Whether the expected gain of a step is negligible."""
        return self.ambition < SETTLED

    def within(self, market: Market) -> Volume:
        """Return the state in which rounds go on in another market, from the same prices; losses stay."""
        other = copy.copy(self)
        other.market, other.frozen = market, True
        other.ambition, other.largest, other.failures, other.patience = EAGER, BOLD, 0, 1
        other.bound = market.respond(self.times, self.prices, self.losses).bound
        return other

    def restart(self) -> None:
        """Take larger steps again, for a new grid."""
        self.ambition, self.failures = max(self.ambition, AGAIN), 0

    def refine(self) -> bool:
        """Halve the intervals that have a price, and their neighbours; return whether that was possible."""
        priced = self.prices.any(axis=1)
        padded = np.concatenate([[False], priced, [False]])
        near = (padded[:-2] | padded[1:-1] | padded[2:]) & (np.diff(self.times) > 1)
        if not near.any() or len(self.times) + near.sum() > self.market.most_intervals:
            return False
        middle = (self.times[:-1] + self.times[1:]) // 2
        times = np.sort(np.concatenate([self.times, middle[near]]))
        self.prices = np.repeat(self.prices, 1 + near, axis=0)
        self.times = times
        self.excess = np.repeat(self.excess, 1 + near, axis=0)
        return True

    def step(self) -> None:
        """Move the best prices along the average excess, as far as a gain of ``ambition`` asks (Polyak)."""
        length = np.diff(self.times).astype(np.float64)[:, None]
        direction = np.where((self.prices > 0.0) | (self.excess > 0.0), self.excess, 0.0)
        other = np.where(((self.losses > 0.0) | (self.lost > 0.0)) & (not self.frozen), self.lost, 0.0)
        norm = float((length * direction**2).sum() + (self.length * other**2).sum())
        step = self.ambition * abs(self.bound) / norm if norm > 0.0 else math.inf
        if step == math.inf:  # nothing is too full, or so little that no number is large enough
            self.ambition = 0.0
            return
        prices = np.maximum(0.0, self.prices + step * direction)
        losses = np.maximum(0.0, self.losses + step * other)
        found = self.market.respond(self.times, prices, losses)
        turn, other = found.excess - self.excess, found.lost / self.length - self.lost
        square = float((length * turn**2).sum() + (self.length * other**2).sum())
        along = float((length * turn * self.excess).sum() + (self.length * other * self.lost).sum())
        share = -along / square if square > 0.0 else self.largest
        share = self.largest / 10.0 if share <= 0.0 else min(share, self.largest)
        self.excess, self.lost = self.excess + share * turn, self.lost + share * other
        if found.bound > self.bound:
            self.prices, self.losses, self.bound = prices, losses, found.bound
            self.failures, self.patience = 0, PATIENCE
            return
        self.failures += 1
        if self.failures == self.patience:
            self.ambition, self.failures = 0.7 * self.ambition, 0
            self.largest = max(0.9 * self.largest, 0.01)
