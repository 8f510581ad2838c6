"""The best gang allocation: branch and bound over jobs and tasks; HiGHS proposes, and the bounds are our own.

HiGHS's answer on a node is a proposal. Its multipliers become a bound by :mod:`.gang_bound`, which needs no
tolerance, and that a node is infeasible counts only with a ray that proves it. Its allocation is rounded to
whole tasks, made to keep all limits, and scored by the setting.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import stopwatch
from ..program import SolverError
from . import utility
from .gang import AllocationGangSetting
from .gang_bound import FREE, OFF, ON, AllocationGangCertificate, Prices, Proven, Reduced, bound_of, presolve
from .gang_relaxation import Answer, Relaxation
from .setting import TOLERANCE

MOST_ROUNDS = 100
"""The most solves of a node's program, with new tangents each time."""

SMALL_GAIN = 0.1
"""Tangents that close less than this part of the distance are not worth another solve before a branch."""

WHOLE = 1e-7
"""How far from 0 and 1 HiGHS's parts of tasks may be to count as whole."""

ROUNDINGS = 2.0
"""A bound above the value by so many times its rounding is as near as can be: costs are lowered too."""

SUMS = 8.0
"""What rounding explains of such a distance is no more than so many times that of the value's own gains and
charges: a bound that is made of more than these proves nothing by it."""

HALVINGS = 30
"""Steps of the search for the price of a job's tasks."""

SCALE = 2.0**-20
"""Part of all that a bound is made of below which a gap is relative to that, not to what remains of it."""


class BestGang(NamedTuple):
    """An allocation y[pair, kind] and what is known about it."""

    # y, value: the allocation, and its reward as the setting computes it.
    y: np.ndarray
    value: float
    bound: float  # certified: no allocation is worth more
    scale: float  # the least that distances are compared with: ``SCALE`` of all that the bound is made of
    # The part of the gap between bound and value that may be rounding, of the sums that both are made of.
    rounding: float
    certificate: AllocationGangCertificate  # the certificate from which ``gang_bound`` computes the bound


def best_gang(
    setting: AllocationGangSetting,
    weights: Any,
    *,
    gap: float = 1e-6,
    time_limit: float | None = None,
    report: Callable[[int, float, float], None] | None = None,
) -> BestGang:
    """Maximise sum_l N_l q_l(y) over the sound gang set.

    N is between 0 and 1e50. ``gap`` is the relative gap (bound - value) / max(scale, bound) to reach, as far
    as rounding lets it. A search that runs out of ``time_limit`` seconds returns its incumbent (at worst no
    device) and its bound. ``report`` is called with the number of programs solved, the value and the bound.
    """
    end = math.inf if time_limit is None else stopwatch.now() + time_limit
    search = _Search(presolve(setting, weights), gap, end, report)
    search.start()
    search.run()
    return search.result()


class _Search:
    """The tree, as lists with an entry per node, the incumbent, and a heap of open nodes."""

    def __init__(
        self, reduced: Reduced, gap: float, end: float, report: Callable[[int, float, float], None] | None
    ) -> None:
        self.reduced = reduced
        self.gap = gap
        self.end = end
        self.report = report
        self.y, self.value = np.zeros(reduced.setting.shape), 0.0
        self.fixed: list[np.ndarray] = []
        self.proven: list[Proven] = []
        self.prices: list[Prices | None] = []
        self.branch: list[int] = []
        self.child: list[tuple[int, int]] = []
        self.open: list[tuple[float, int]] = []
        self.solved = 0

    @property
    def left(self) -> float:
        """Seconds left."""
        return max(0.0, self.end - stopwatch.now())

    def late(self) -> bool:
        """Whether the time is up."""
        return self.left <= 0.0

    def done(self, node: int) -> bool:
        """Whether a node's bound is as close to the value as asked for, or as rounding lets it be."""
        bound, terms, rounding = self.proven[node]
        return bound - self.value <= max(self.gap * max(SCALE * terms, bound), ROUNDINGS * rounding)

    def start(self) -> None:
        """Make the root, bounded without any program, and try the allocation of jobs that are alone."""
        setting, n = self.reduced.setting, self.reduced.weights
        free = np.full(len(setting.task_port) + setting.ports, FREE)
        even = np.repeat(n[:, None] / setting.kinds, setting.kinds, axis=1)
        zero = Prices(even, np.zeros(setting.base.capacity.shape), np.zeros(setting.task_demand.shape))
        root = self._add(free, bound_of(self.reduced, free, zero), zero)
        if self.proven[root].bound > 0.0:  # however near: where gains and charges cancel, much may be near
            for total in (self.reduced.limits(self.reduced.able), self._alone(root, zero)):
                self._take(self.reduced.able, self._shared(total))
        self._wait(root)

    def run(self) -> None:
        """Solve nodes: that with the largest bound, then below it the one closest to HiGHS's answer."""
        relaxation = None
        while self.open and not self.done(self.open[0][1]) and not self.late():
            relaxation = relaxation or Relaxation(self.reduced, self.late)
            node: int | None = heapq.heappop(self.open)[1]
            while node is not None:
                node = self._explore(relaxation, node)

    def _alone(self, root: int, zero: Prices) -> np.ndarray:
        """Improve the root's bound by other prices than zero; return what edges carry at them, (E, K).

        It is as if every job had all servers to itself and paid for the mean overhead of all kinds. The
        price of its devices of a kind is the least at which it wants no more than its tasks can hold.
        """
        reduced, base = self.reduced, self.reduced.setting.base
        weight = reduced.weights[base.port][:, None]
        charge = weight * base.overhead / base.kinds
        limit = reduced.limits(reduced.able)

        def carried(price: np.ndarray) -> np.ndarray:
            cost = charge + price[base.port]
            return utility.best_response(base.edge_kind, base.edge_alpha, weight, cost, limit)

        wanted = reduced.port_sum(np.where(reduced.able[:, None], reduced.demand, 0.0))
        low, high = np.zeros_like(wanted), np.zeros_like(wanted)
        np.maximum.at(high, base.port, weight * utility.slope_at_zero(base.edge_kind, base.edge_alpha))
        high[base.port_sums(carried(low)) <= wanted] = 0.0
        for _ in range(HALVINGS):
            if self.late():
                break
            middle = 0.5 * (low + high)
            much = base.port_sums(carried(middle)) > wanted
            low, high = np.where(much, middle, low), np.where(much, high, middle)
        self._improve(root, zero._replace(task_price=high[reduced.setting.task_port]))
        return carried(low)

    def _shared(self, total: np.ndarray) -> np.ndarray:
        """Divide what the edges carry among tasks by their demands; return y (pairs, K)."""
        setting, demand = self.reduced.setting, np.where(self.reduced.able[:, None], self.reduced.demand, 0.0)
        whole = self.reduced.port_sum(demand)[setting.task_port]
        part = np.divide(demand, whole, out=np.zeros_like(demand), where=whole > 0.0)
        return total[setting.pair_edge] * part[setting.pair_task]

    def result(self) -> BestGang:
        """Return the incumbent."""
        leaves = (p for p, choice in zip(self.proven, self.branch, strict=True) if choice < 0)
        bound, terms, rounding = max(leaves, key=lambda proven: proven.bound)
        bound = max(0.0, bound)
        if bound < self.value - TOLERANCE * self.reduced.gross():
            raise SolverError(f"the bound {bound!r} is below the value {self.value!r}")
        tree = np.array(self.branch), np.array(self.child), tuple(self.prices)
        certificate = AllocationGangCertificate(self.reduced.weights, *tree)
        setting, total = self.reduced.setting.base, self.reduced.setting.totals(self.y)
        gross = float(self.reduced.weights @ (setting.gains(total) + setting.penalties(total)))
        rounding *= min(ROUNDINGS, SUMS * gross / terms) if terms > 0.0 else 0.0
        return BestGang(self.y, self.value, max(bound, self.value), SCALE * terms, rounding, certificate)

    def _add(self, fixed: np.ndarray, proven: Proven, prices: Prices | None) -> int:
        self.fixed.append(fixed)
        self.proven.append(proven)
        self.prices.append(prices)
        self.branch.append(-1)
        self.child.append((0, 0))
        return len(self.proven) - 1

    def _wait(self, node: int) -> None:
        heapq.heappush(self.open, (-self.proven[node].bound, node))

    def _improve(self, node: int, prices: Prices | None) -> None:
        """Take prices that tighten the bound of a node."""
        if prices is not None:
            proven = bound_of(self.reduced, self.fixed[node], prices)
            if proven.bound < self.proven[node].bound:
                self.proven[node], self.prices[node] = proven, prices

    def _explore(self, relaxation: Relaxation, node: int) -> int | None:
        """Bound a node, and branch unless that is enough; return the child to go on with."""
        if self.done(node):
            return None
        before, answer = math.inf, Answer(None)
        for _ in range(MOST_ROUNDS):
            left = self.left if relaxation.ready else 0.0
            found = relaxation.solve(self.fixed[node], left) if left > 0.0 else None
            if found is None:
                self._wait(node)
                return None
            answer = found
            self._improve(node, answer.prices)
            if answer.y is not None:
                self._take(answer.v > 0.5, answer.y)
            self._report_progress(node)
            if self.done(node):
                return None
            if answer.y is None:
                break
            bound = self.proven[node].bound
            gained, before = before - bound, bound
            whole = np.abs(answer.v - np.rint(answer.v)).max(initial=0.0) <= WHOLE
            if not whole and gained <= SMALL_GAIN * (bound - self.value):
                break
            if not relaxation.tighten():
                break
        return self._split(node, answer)

    def _split(self, node: int, answer: Answer) -> int | None:
        """Branch on the most fractional job, or else task; return the child to go on with, if any."""
        setting, tasks = self.reduced.setting, len(self.reduced.able)
        part = np.full(tasks + setting.ports, 0.5)
        if answer.y is not None:
            part[:tasks], part[tasks:] = answer.v, 0.0
            np.maximum.at(part[tasks:], setting.task_port, answer.v)
        free = self.fixed[node] == FREE
        free[:tasks] &= self.reduced.able
        free[tasks:] &= np.bincount(setting.task_port, self.reduced.able, setting.ports) > 0
        if not free.any():  # nothing is left to decide, and still the bound is too far
            return None
        fractionality = np.where(free, np.minimum(part, 1.0 - part), -1.0)
        fractionality[tasks:] += fractionality[tasks:] > WHOLE
        choice = int(np.argmax(fractionality))
        below = []
        for decided in (OFF, ON):
            fixed = self.fixed[node].copy()
            fixed[choice] = decided
            below.append(self._add(fixed, self.proven[node], self.prices[node]))
            self._improve(below[-1], self.prices[node])
        self.branch[node], self.child[node] = choice, (below[OFF], below[ON])
        self.prices[node] = None
        near = ON if part[choice] > 0.5 else OFF
        self._wait(below[1 - near])
        return below[near]

    def _take(self, on: np.ndarray, y: np.ndarray) -> None:
        """Take the tasks ``on`` of an allocation, made feasible, as the incumbent if they are better."""
        y = _settled(self.reduced, on, y)
        value = float(self.reduced.weights @ self.reduced.setting.port_rewards(y))
        if value > self.value and not self.reduced.setting.violations(y):
            self.y, self.value = y, value

    def _report_progress(self, node: int) -> None:
        self.solved += 1
        if self.report is not None:
            bound = max(self.proven[at].bound for at in (node, *(other for _, other in self.open[:1])))
            self.report(self.solved, self.value, max(self.value, bound))


def _settled(reduced: Reduced, on: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return y within all limits, with tasks ``on`` that keep floors, without jobs that gain nothing."""
    setting = reduced.setting
    y = _only(setting, on, np.maximum(y, 0.0))
    sums = setting.task_sums(y)
    floor = np.minimum(setting.task_floor, reduced.demand)  # as it is, not as presolve has lowered it
    y = y * _ratio(np.clip(sums, floor, reduced.demand), sums)[setting.pair_task]
    used = setting.base.server_sums(setting.totals(y))
    room = np.minimum(1.0, _ratio(setting.base.capacity, used))
    y = y * room[setting.base.server[setting.pair_edge]]
    short = (setting.task_sums(y) < reduced.floor * (1.0 - TOLERANCE)).any(axis=1)
    on = on & reduced.able & ~short
    on &= (np.bincount(setting.task_port, on, setting.ports) >= setting.minimum)[setting.task_port]
    y = _only(setting, on, y)
    return _only(setting, (setting.port_rewards(y) > 0.0)[setting.task_port], y)


def _only(setting: AllocationGangSetting, on: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(on[setting.pair_task][:, None], y, 0.0)


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    return np.divide(over, under, out=np.ones_like(under), where=under > 0.0)
