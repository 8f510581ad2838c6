"""Certificates of the admission problem: what jobs pay for workers and servers, at the leaves of a tree.

A node of the tree is a linear program over schedules of jobs and fillings of machines, which are generated
as their prices ask for them (Dantzig and Wolfe 1960); HiGHS solves it. Whether a leaf is closed is decided in
the whole numbers of the checker.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.schedule import Schedule
from ...models.program import SOLVER_TOLERANCE, in_highs, power_of_two
from ...models.stopwatch import library
from ...verify import Admission, RejectedError
from ..base import Optimum, OracleError

MOST_NODES = 500
"""Nodes after which leaves are left open: the bound is then above the value."""

MOST_ROUNDS = 60
"""Linear programs of a node."""

MOST_STEPS = 2**22
"""Steps of the tables of all jobs, up to which there are prices and a tree; they take about a second."""

CLOSED, NEAR = 44, 20
"""A leaf is closed if its bound is above the best value by at most 2^-44 of it, the rounding of prices; or by
at most 2^-20, if that is no more than the oracle's bound."""

PULLS = (0.2, 0.6)
"""The weights of the best prices in the smoothing of the program's, in turns."""

HOPELESS = 0.02
"""A node is branched upon if its program is above the best value, and its bound is nearer than this to it."""

SETTLED = 1e-12
"""The bound of a node is the program's if they are relatively this near."""

FRACTION = 1e-7
"""What is neither 0 nor 1 by more than this is branched upon."""

OPTIONS = {
    "presolve": "off",
    "solver": "simplex",
    "primal_feasibility_tolerance": SOLVER_TOLERANCE,
    "dual_feasibility_tolerance": SOLVER_TOLERANCE,
}

PENALTY = 4.0
"""What it costs not to do a job that has to be done, in units of all that jobs earn."""

ONE = np.ones(1)

Used = dict[int, list[tuple[Any, float]]]
Choices = list[tuple[float, tuple[int, ...], int]]
"""How much is at stake, and what is limited to n at most, or to more."""

Limits = dict[tuple[int, ...], tuple[int, float]]
"""From what to what the slot (job,) is in which a job is done, or its number of workers (job, slot)."""


def of_schedule(instance: AdmissionInstance, optimum: Optimum[Schedule]) -> tuple[Any, Any]:
    """Return the schedule, or a better one, and the prices and the tree that prove that it is the best."""
    of = Admission(instance.to_dict())
    decision = [side.tolist() for side in (optimum.decision.workers, optimum.decision.servers)]
    search = _Search(of, decision, optimum.bound or 0.0)
    tree = search.grow() if search.affordable else 0
    used = sorted({*_leaves(tree)})
    prices = [search.prices[number].tolist() for number in used]
    return search.decision, {"prices": prices, "tree": _renumbered(tree, used)}


def _leaves(tree: Any) -> Iterator[int]:
    """Yield the numbers of the prices of all leaves."""
    if isinstance(tree, int):
        yield tree
    else:
        yield from _leaves(tree[-2])
        yield from _leaves(tree[-1])


def _renumbered(tree: Any, used: list[int]) -> Any:
    """Return a tree whose leaves have the places of their prices among those that are used."""
    if isinstance(tree, int):
        return used.index(tree)
    return [*tree[:-2], *(_renumbered(side, used) for side in tree[-2:])]


class _Run(NamedTuple):
    """A schedule of a job."""

    job: int
    counts: np.ndarray  # its workers and servers in every slot, shape (2, T)
    done: int  # the slot in which it is done
    earned: float


class _Filling(NamedTuple):
    """What runs on a machine in a slot."""

    machine: int
    counts: tuple[tuple[int, int], ...]  # pairs of a job and how many


class _Node(NamedTuple):
    """A node that is neither closed nor branched upon yet."""

    limits: Limits
    parent: list[Any]  # its tree belongs here, at this place
    place: int
    hint: int  # the number of its parent's prices


class _Search:
    """The search for a tree, the prices so far, and the best decision that was met."""

    def __init__(self, of: Admission, decision: list[Any], bound: float) -> None:
        self.of, self.decision = of, decision
        self.value: int = of.value(decision)
        self._bound = math.floor(Fraction(bound) * of.scale)
        self.prices: list[np.ndarray] = []
        self._keep(np.zeros((2, of.T, len(of.jobs))))
        self._heap: list[tuple[float, int, _Node]] = []
        self._count = itertools.count()

    @property
    def affordable(self) -> bool:
        """Whether prices and a tree can be found in reasonable time."""
        steps: int = sum(
            (self.of.T - arrival + 1) * work * min(n, work) for arrival, work, n, *_ in self.of.jobs
        )
        return steps <= MOST_STEPS

    def grow(self) -> Any:
        """Return a tree, grown where the bound is the largest."""
        if self._closes(0, {}):
            return 0
        program, top = _Program(self.of), [0]
        self._push(math.inf, _Node({}, top, 0, 0))
        for _ in range(MOST_NODES):
            if not self._heap:
                break
            node = heapq.heappop(self._heap)[-1]
            known = [n for n in (0, node.hint) if self._closes(n, node.limits)]
            node.parent[node.place] = known[0] if known else self._solved(program, node)
        for *_, node in self._heap:  # left open
            node.parent[node.place] = node.hint
        return top[0]

    @property
    def _goal(self) -> int:
        """The bound at which a leaf is closed."""
        near = min(self._bound, self.value + (self.value >> NEAR))
        return max(self.value + (self.value >> CLOSED), near)

    def _push(self, bound: float, node: _Node) -> None:
        heapq.heappush(self._heap, (-bound, next(self._count), node))

    def _keep(self, price: np.ndarray) -> int:
        """Keep prices, and return their number."""
        self.prices.append(price)
        self.of.take([price.tolist()])
        return len(self.prices) - 1

    def _closes(self, number: int, limits: Limits) -> bool:
        bound = self.of.leaf(number, limits)
        return bound is None or bound <= self._goal

    def _solved(self, program: _Program, node: _Node) -> Any:
        """Return the number of prices that close a node, or a branch whose trees wait to be grown."""
        bound, price, goal = math.inf, self.prices[node.hint], self._goal / self.of.scale
        best, new = price, 1
        program.enter(node.limits)
        for turn in range(MOST_ROUNDS):
            most, new = program.answer(price)
            if most < bound:
                bound, best = most, price
                if bound <= goal * (1.0 + SETTLED) and self._closes(number := self._keep(price), node.limits):
                    return number
            value, duals = program.solve()
            if bound - value <= SETTLED * bound or (not new and price is duals):
                break
            if value > goal * (1.0 + SETTLED) and bound - value <= HOPELESS * (bound - goal):
                break
            pull = PULLS[turn % 2] if new else 0.0
            price = pull * best + (1.0 - pull) * duals if pull else duals
        self._try(program)
        number = self._keep(best)
        where = None if self._closes(number, node.limits) else program.branch()
        if where is None:
            return number
        (key, n), branch = where, [*where[0], where[1], number, number]
        least, most = node.limits.get(key, (0, math.inf))
        for place, ends in ((-2, (least, min(most, n))), (-1, (max(least, n + 1), most))):
            self._push(bound, _Node(node.limits | {key: ends}, branch, place, number))
        return branch

    def _try(self, program: _Program) -> None:
        """Take the program's solution as the best decision if it is whole and better."""
        decision = program.decision()
        if decision is not None:
            with suppress(RejectedError):  # the solver's tolerance may be a worker
                value = self.of.value(decision)
                if value > self.value:
                    self.decision, self.value = decision, value


class _Program:
    """The linear program of a node.

    Columns are runs of jobs and fillings of machines; rows are::

    sum of what runs - sum of what is filled <= 0        for every side, slot and job
    sum of the runs of a job <= 1                        = 1 if it has to be done
    sum of the fillings of a machine in a slot <= 1
    """

    def __init__(self, of: Admission) -> None:
        self._of, self._jobs, self._size = of, len(of.jobs), 2 * of.T * len(of.jobs)
        self._machines = [
            (side, h, t) for side, rows in enumerate(of.has) for h in range(len(rows)) for t in range(of.T)
        ]
        self._earned = [[high / of.scale for _, high in one] for one in of.earned]
        self._servers = [
            np.array([math.ceil(y * share) for y in range(most + 1)]) for _, _, _, share, most, _ in of.jobs
        ]
        self._unit = power_of_two(max((max(one, default=0.0) for one in self._earned), default=0.0)) or 1.0
        self._known: set[Any] = set()
        self._columns: list[_Run | _Filling] = []
        self._x = np.zeros(0)
        count = self._size + self._jobs + len(self._machines)
        upper = np.concatenate([np.zeros(self._size), np.ones(count - self._size)])
        none = np.zeros(0)
        empty = np.zeros(1, np.int32), np.zeros(0, np.int32), none
        self._highs = in_highs(
            none, empty, (np.full(count, -np.inf), upper), (none, none), OPTIONS, maximise=True
        )
        for i in range(self._jobs):  # what a job that has to be done costs if it cannot be
            self._highs.addCol(-PENALTY * self._jobs, 0.0, 0.0, 1, np.array([self._size + i], np.int32), ONE)

    def enter(self, limits: Limits) -> None:
        """Go to the node with these limits."""
        T = self._of.T
        self._done = [limits.get((i,), (0, math.inf)) for i in range(self._jobs)]
        self._low = np.zeros((T, self._jobs), dtype=np.int64)
        self._high = np.tile(np.array([most for *_, most, _ in self._of.jobs], dtype=np.int64), (T, 1))
        for (i, *slot), (least, most) in limits.items():
            for t in slot:
                self._low[t - 1, i], self._high[t - 1, i] = least, min(most, self._high[t - 1, i])
        self._must = [bool(self._low[:, i].any()) or self._done[i][1] <= T for i in range(self._jobs)]
        allowed = [math.inf if self._allowed(one) else 0.0 for one in self._columns]
        upper = np.array([1.0 if must else 0.0 for must in self._must] + allowed)
        index = np.arange(len(upper), dtype=np.int32)
        self._highs.changeColsBounds(len(upper), index, np.zeros(len(upper)), upper)
        for i, must in enumerate(self._must):
            self._highs.changeRowBounds(self._size + i, 1.0 if must else -math.inf, 1.0)

    def _allowed(self, one: _Run | _Filling) -> bool:
        """Return whether a column keeps the limits of the node."""
        if isinstance(one, _Filling):
            return True
        least, most = self._done[one.job]
        low, high, y = self._low[:, one.job], self._high[:, one.job], one.counts[0]
        return bool(least <= one.done <= most and (low <= y).all() and (y <= high).all())

    def answer(self, price: np.ndarray) -> tuple[float, int]:
        """Add the best runs and fillings at some prices; return the bound, and how many are new."""
        bound, new = 0.0, 0
        for i in range(self._jobs):
            gain, run = self._best_run(i, price[:, :, i])
            bound += gain
            new += self._add(run)
        for m in range(len(self._machines)):
            gain, filling = self._best_filling(m, price)
            bound += gain
            new += self._add(filling)
        return bound, new

    def _best_run(self, i: int, price: np.ndarray) -> tuple[float, _Run | None]:
        """Return the run of a job that earns most at prices of shape (2, T), and what that is."""
        arrival, work, *_ = self._of.jobs[i]
        least, most = self._done[i]
        gain, last = (-math.inf if self._must[i] else 0.0), 0
        least = max(least, np.flatnonzero(self._low[:, i]).max(initial=-1) + 1)
        costs, picks, every = np.full(work + 1, np.inf), [], np.arange(work + 1)[:, None]
        costs[0] = 0.0
        for t in range(arrival, int(min(most, self._of.T)) + 1):
            y = np.arange(self._low[t - 1, i], self._high[t - 1, i] + 1)
            if not len(y):
                break
            z = self._servers[i][y]
            table = costs[np.maximum(every - y, 0)] + (price[0, t - 1] * y + price[1, t - 1] * z)
            pick = table.argmin(axis=1)
            costs = table[every[:, 0], pick]
            picks.append((t, y[pick], z[pick]))
            now = self._earned[i][t - arrival] - costs[work]
            if t >= least and now > gain:
                gain, last = now, t
        if not last:
            return gain, None
        counts, left = np.zeros((2, self._of.T), dtype=np.int64), work
        for t, y, z in reversed(picks[: last - arrival + 1]):
            counts[:, t - 1] = y[left], z[left]
            left = max(0, left - y[left])
        return gain, _Run(i, counts, last, self._earned[i][last - arrival])

    def _best_filling(self, m: int, price: np.ndarray) -> tuple[float, _Filling | None]:
        """Return what a machine is filled with that pays most, and what it pays."""
        side, h, t = self._machines[m]
        items = [
            (float(p), self._of.jobs[i][-1][side][h], self._of.needs[side][i], i)
            for i, p in enumerate(price[side, t])
            if p > 0.0 and self._of.jobs[i][-1][side][h]
        ]
        items.sort(key=lambda one: -one[0] * one[1])
        gain, counts = filled(items, self._of.has[side][h], 0.0)
        return gain, _Filling(m, counts) if counts else None

    def _add(self, one: _Run | _Filling | None) -> bool:
        """Add a column, unless it is there; return whether it is new."""
        if one is None:
            return False
        if isinstance(one, _Filling):
            name: Any = one
            side, _, t = self._machines[one.machine]
            jobs, values = -np.array(one.counts).T
            rows = (side * self._of.T + t) * self._jobs - jobs
            own, earned = self._jobs + one.machine, 0.0
        else:
            name = one.job, one.done, one.counts.tobytes()
            places = np.flatnonzero(one.counts)
            rows, values = places * self._jobs + one.job, one.counts.ravel()[places]
            own, earned = one.job, one.earned / self._unit
        if name in self._known:
            return False
        self._known.add(name)
        self._columns.append(one)
        index = np.append(rows, self._size + own).astype(np.int32)
        self._highs.addCol(earned, 0.0, math.inf, len(index), index, np.append(values, 1.0).astype(float))
        return True

    def solve(self) -> tuple[float, np.ndarray]:
        """Solve the program; return its value and the prices, shape (2, T, I)."""
        self._highs.run()
        status = self._highs.getModelStatus()
        if status != library("highspy").HighsModelStatus.kOptimal:
            raise OracleError(f"certificate: HiGHS ends with {status}")
        found = self._highs.getSolution()
        self._x = np.array(found.col_value)[self._jobs :]
        duals = np.maximum(0.0, np.array(found.row_dual)[: self._size]) * self._unit
        value = self._highs.getInfo().objective_function_value * self._unit
        return value, duals.reshape(2, self._of.T, self._jobs)

    def _used(self, kind: type) -> Used:
        """Return the runs by job, or the fillings by machine, that the solution takes, and their weights."""
        found: Used = {}
        for one, x in zip(self._columns, self._x.tolist(), strict=False):
            if x > FRACTION and isinstance(one, kind):
                found.setdefault(one[0], []).append((one, x))
        return found

    def decision(self) -> list[Any] | None:
        """Return the solution's schedule if it is whole: rows of workers and of servers."""
        runs, fillings = self._used(_Run), self._used(_Filling)
        if any(len(pairs) > 1 for used in (runs, fillings) for pairs in used.values()):
            return None
        left = {(i, *at): n for i, ((run, _),) in runs.items() for at, n in np.ndenumerate(run.counts) if n}
        rows: list[Any] = [[], []]
        for m, ((filling, _),) in fillings.items():
            side, h, t = self._machines[m]
            for i, most in filling.counts:
                n = int(min(left.get((i, side, t), 0), most))
                if n:
                    left[i, side, t] -= n
                    rows[side].append([t + 1, i, h, n])
        return None if any(left.values()) else [sorted(side) for side in rows]

    def branch(self) -> tuple[tuple[int, ...], int] | None:
        """Return what is not decided in the solution, and the n between whose sides it is split."""
        runs = self._used(_Run)
        for choices in (self._rare(runs), self._late(runs), self._torn(runs)):
            if choices:
                _, key, n = max(choices, key=lambda choice: choice[0])
                return (key, n) if self._must[key[0]] else (key[:1], self._of.T)
        return None

    def _rare(self, runs: Used) -> Choices:
        """Return the jobs that are done in part: how much they earn by that, and the branch."""
        shares = {i: sum(x for _, x in pairs) for i, pairs in runs.items() if not self._must[i]}
        return [
            (min(x, 1.0 - x) * max(run.earned for run, _ in runs[i]), (i,), self._of.T)
            for i, x in shares.items()
            if FRACTION < x < 1.0 - FRACTION
        ]

    def _late(self, runs: Used) -> Choices:
        """Return the jobs that are done in several slots and earn differently."""
        found: Choices = []
        for i, pairs in runs.items():
            slots, earned = ([getattr(run, name) for run, _ in pairs] for name in ("done", "earned"))
            if max(earned) > min(earned):
                mean = sum(run.done * x for run, x in pairs) / sum(x for _, x in pairs)
                n = int(min(max(mean, min(slots)), max(slots) - 1))
                found.append((max(earned) - min(earned), (i,), n))
        return found

    def _torn(self, runs: Used) -> Choices:
        """Return the slots in which jobs have several numbers of workers: how different these are."""
        found: Choices = []
        for i, pairs in runs.items():
            counts = np.array([run.counts[0] for run, _ in pairs])
            weights = np.array([x for _, x in pairs])
            mean = weights @ counts / weights.sum()
            spread = weights @ (counts - mean) ** 2 / max(1, counts.max()) ** 2
            t = int(spread.argmax())
            if len(pairs) > 1 and spread[t] > FRACTION:
                n = int(min(max(mean[t], counts[:, t].min()), counts[:, t].max() - 1))
                found.append((float(spread[t]), (i, t + 1), n))
        return found


def filled(items: list[Any], left: list[int], least: float) -> tuple[float, tuple[Any, ...]]:
    """Return the most that whole numbers of (price, limit, needs, job) bring, and pairs (job, number)."""
    if any(all(a[r] and least * a[r] >= has * p for p, _, a, _ in items) for r, has in enumerate(left)):
        return least, ()
    (price, limit, needs, i), *rest = items
    best: tuple[Any, ...] = ()
    for n in range(min([limit, *(has // a for has, a in zip(left, needs, strict=True) if a)]), -1, -1):
        after = [has - n * a for has, a in zip(left, needs, strict=True)]
        more, others = filled(rest, after, max(0.0, least - n * price))
        if n * price + more > least:
            least, best = n * price + more, ((i, n), *others)
    return least, best
