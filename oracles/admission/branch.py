"""Branch and price for admission: linear programs over schedules of jobs and fillings of machines.

Columns are generated as prices ask for them (Dantzig and Wolfe 1960). A price is what a job pays for a worker
or a parameter server in a slot, wherever it runs. Whatever the prices, no decision is worth more than what
all jobs gain by their best schedules, and all machines are paid for their best fillings. HiGHS solves the
programs; prices alone bear the bounds.
"""

from __future__ import annotations

import heapq
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.program import CAREFUL, SOLVER_TOLERANCE, TIGHT, in_highs, power_of_two
from ...models.stopwatch import library
from ..base import Budget, OracleError, rounding
from . import branch_kernels as kernels
from .bound import Priced, alone

MOST_ROUNDS = 60
"""Linear programs of a node."""

MOST_STEPS = 2**22
"""Steps of the tables of all jobs, up to which there are prices and a tree; they take some milliseconds."""

FEW_JOBS = 20
"""With more jobs, prices of capacity are where the first node begins; with fewer, nothing is."""

PULLS = (0.2, 0.6)
"""The weights of the best prices in the smoothing of the program's, in turns."""

HOPELESS = 0.2
"""A node is branched upon if its program is above the best value, and its bound is nearer than this to it."""

SETTLED = 1e-12
"""The bound of a node is the program's if they are relatively this near."""

GAINED = 1e-9
"""The part of the best value by which a program is above it at least where machines are divided."""

FRACTION = 1e-7
"""What is neither 0 nor 1 by more than this is branched upon."""

MARGIN = 1e-10
"""The margin on a bound, relative to the sum of its positive terms, far more than rounding."""

DUAL, PRIMAL = 1, 4
"""HiGHS's numbers for the simplex methods, which start again from the last basis: dual where limits are new,
primal where columns are."""

OPTIONS = {
    "presolve": "off",
    "solver": "simplex",
    "simplex_strategy": PRIMAL,
    "dual_simplex_cost_perturbation_multiplier": 0.0,
    "primal_simplex_bound_perturbation_multiplier": 0.0,
    "primal_feasibility_tolerance": SOLVER_TOLERANCE,
    "dual_feasibility_tolerance": SOLVER_TOLERANCE,
}

PENALTY = 4.0
"""What it costs not to do a job that has to be done, in units of all that jobs earn."""

ONE = np.ones(1)

ELSEWHERE = -1
"""In place of the first equal machine: what a machine holds is found elsewhere."""

Used = dict[int, list[tuple[Any, float]]]
Choices = list[tuple[float, tuple[int, ...], int]]
"""How much is at stake, and what is limited to n at most, or to more."""

Limits = dict[tuple[int, ...], tuple[int, float]]
"""From what to what the slot (job,) is in which a job is done, or its number of workers (job, slot), or that
of its workers (side 0) or servers (side 1) on a machine (job, slot, side, machine)."""


def affordable(instance: AdmissionInstance) -> bool:
    """Return whether prices and a tree can be found in reasonable time."""
    horizon = instance.setting.horizon
    jobs = (job for job in instance.jobs if job.index not in instance.never)
    return (
        sum((horizon - job.arrival + 1) * job.work * min(job.chunks, job.work) for job in jobs) <= MOST_STEPS
    )


def asked(instance: AdmissionInstance, capacity: Priced) -> np.ndarray:
    """Return what jobs pay for a worker and a parameter server in a slot at prices of capacity: the least.

    Its shape is (2, T, I); it is 0 before a job has arrived.
    """
    setting = instance.setting
    price = np.zeros((2, setting.horizon, len(instance.jobs)))
    for job in (job for job in instance.jobs if job.index not in instance.never):
        costs = capacity.worker_prices @ job.worker_demand, capacity.server_prices @ job.server_demand
        for side, cost, room in zip(
            price, costs, (setting.worker_room(job), setting.server_room(job)), strict=True
        ):
            side[job.arrival - 1 :, job.index] = cost[job.arrival - 1 :, room > 0].min(axis=1)
    return price


def leaves(tree: Any, limits: Limits | None = None) -> Iterator[tuple[int, Limits]]:
    """Yield the numbers of the prices of all leaves, and their limits."""
    nodes = [(tree, limits or {})]
    while nodes:
        node, within = nodes.pop()
        if isinstance(node, int):
            yield node, within
            continue
        *key, n, lower, upper = node
        below, above = _halves(within, tuple(key), n)
        nodes += [(upper, above), (lower, below)]


def _halves(limits: Limits, key: tuple[int, ...], n: int) -> tuple[Limits, Limits]:
    """Return the limits of the sides of a branch: n at most, and more."""
    least, most = limits.get(key, (0, math.inf))
    return limits | {key: (least, min(most, n))}, limits | {key: (max(least, n + 1), most)}


class Run(NamedTuple):
    """A schedule of a job."""

    job: int
    counts: np.ndarray  # its workers and servers in every slot, shape (2, T)
    done: int  # the slot in which it is done
    earned: float


class Filling(NamedTuple):
    """What runs on a machine in a slot, besides what has to run there."""

    machine: int
    counts: tuple[tuple[int, int], ...]  # pairs of a job and how many


class _Node(NamedTuple):
    """A node that is neither closed nor branched upon yet."""

    bound: float  # what prices prove of its parent
    limits: Limits
    parent: list[Any]  # its tree belongs here, at this place
    place: int
    hint: int  # the number of its parent's prices
    basis: Any = None  # where HiGHS ended in its parent, if it is not there yet


class Branching(ABC):
    """The search for a tree whose leaves are closed by prices, and the prices so far.

    A tree is the number of prices, or a list (*what, n, tree, tree): what :data:`Limits` are on is at most n,
    or more; on machines only if ``split``. Of many jobs, the first node begins at prices of ``capacity``.
    """

    split = False

    def __init__(self, instance: AdmissionInstance, budget: Budget, capacity: Priced | None = None) -> None:
        self.instance, self.budget = instance, budget
        self.prices: list[np.ndarray] = []
        self._first = self.keep(np.zeros((2, instance.setting.horizon, len(instance.jobs))))
        if capacity is not None and len(instance.jobs) > FEW_JOBS:
            self._first = self.keep(asked(instance, capacity))
        self._top: list[Any] = [0]
        self._node: _Node | None = _Node(math.inf, {}, self._top, 0, self._first)
        self._heap: list[tuple[float, int, _Node]] = []
        self._count = itertools.count()
        self._left = -math.inf
        self._bounds: dict[tuple[int, frozenset[Any]], Any] = {}
        self.programs = 0  # linear programs so far

    @property
    def ended(self) -> bool:
        """Whether all leaves are closed, or cannot be branched upon."""
        return self._node is None and not self._heap

    @cached_property
    def program(self) -> Program:
        """The linear program, at some node."""
        return Program(self.instance)

    @property
    @abstractmethod
    def most(self) -> Any:
        """The bound at which a leaf is closed, in units of :attr:`scale` to 1."""

    @property
    def scale(self) -> Any:
        """How many units are 1."""
        return 1.0

    @property
    def goal(self) -> float:
        """The bound at which a leaf is about closed."""
        return float(self.most / self.scale)

    @abstractmethod
    def proof(self, number: int, limits: Limits) -> Any:
        """Return what prices prove of a leaf, in those units; ``None`` if nothing is in it."""

    def _proof(self, number: int, limits: Limits) -> Any:
        key = number, frozenset(limits.items())
        if key not in self._bounds:
            self._bounds[key] = self.proof(number, limits)
        return self._bounds[key]

    def closes(self, number: int, limits: Limits) -> bool:
        """Return whether prices close a leaf."""
        found = self._proof(number, limits)
        return found is None or found <= self.most

    def bound(self, number: int, limits: Limits) -> float:
        """Return what prices prove of a leaf."""
        found = self._proof(number, limits)
        return -math.inf if found is None else float(found / self.scale)

    def proved(self, over: Callable[[], bool]) -> float:
        """Return what the tree proves.

        Leaves that are open count by their own limits, the worst first, while there is time; then by those of
        their parents.
        """
        nodes = [one[-1] for one in self._heap] + ([] if self._node is None else [self._node])
        bounds = [(-node.bound, place, False) for place, node in enumerate(nodes)]
        heapq.heapify(bounds)
        while bounds and not bounds[0][-1] and (not over() or bounds[0][0] == -math.inf):
            node = nodes[bounds[0][1]]
            heapq.heapreplace(bounds, (-self.bound(node.hint, node.limits), bounds[0][1], True))
        return max([self._left, *(-one[0] for one in bounds[:1])])

    @abstractmethod
    def met(self, decision: list[Any]) -> None:
        """Take a whole solution: rows (slot from 1, job, machine, count) of workers and of servers."""

    def keep(self, price: np.ndarray) -> int:
        """Keep prices, and return their number."""
        self.prices.append(price)
        return len(self.prices) - 1

    def grow(self, most_nodes: int) -> Any:
        """Return a tree, grown by so many nodes from where it was; what is left open has its parent's prices.

        It goes down from a node by what is at most n, until a leaf is closed, and on where the bound is the
        largest.
        """
        for _ in range(most_nodes):
            if self._node is None and self._heap:
                self._node = heapq.heappop(self._heap)[-1]
            node = self._node
            if node is None or self.budget.over:
                break
            known = [n for n in (0, node.hint) if self.closes(n, node.limits)]
            closed = min(known, key=lambda n: self.bound(n, node.limits), default=None)
            tree, below = self._solved(node) if closed is None else self._leave(closed, node.limits)
            node.parent[node.place], self._node = tree, below
        return self._top[0]

    def _leave(self, number: int, limits: Limits) -> tuple[int, None]:
        """Return the prices of a leaf that stays one, and no node to go on with."""
        self._left = max(self._left, self.bound(number, limits))
        return number, None

    def _solved(self, node: _Node) -> tuple[Any, _Node | None]:
        """Return the number of prices that close a node, or a branch, and the node to go on with."""
        program, goal = self.program, self.goal
        bound, price = math.inf, self.prices[node.hint]
        best, new = price, 1
        program.enter(node.limits, node.basis)
        for turn in range(MOST_ROUNDS):
            self.programs += 1
            most, new = program.answer(price)
            if most < bound:
                bound, best = most, price
                if bound <= goal * (1.0 + SETTLED) and self.closes(number := self.keep(price), node.limits):
                    return self._leave(number, node.limits)
            solved = program.solve(self.budget)
            if solved is None:  # out of time: it may be gone on with from here
                number = self.keep(best)
                return number, node._replace(hint=number)
            value, duals = solved
            if bound - value <= SETTLED * bound or (not new and price is duals):
                break
            hopeless = value > goal * (1.0 + SETTLED) and bound - value <= HOPELESS * (bound - goal)
            if hopeless and program.branch() is not None:
                break
            pull = PULLS[turn % 2] if new else 0.0
            price = pull * best + (1.0 - pull) * duals if pull else duals
        decision = program.decision(goal, self.budget)
        if decision is not None:
            self.met(decision)
        number = self.keep(best)
        # machines only where more than rounding is to be gained
        split = self.split and value > self.goal * (1.0 + GAINED)
        where = None if self.closes(number, node.limits) else program.branch(split=split)
        if where is None:
            return self._leave(number, node.limits)
        bound, basis = self.bound(number, node.limits), program.basis()
        (key, n), branch = where, [*where[0], where[1], number, number]
        lower, upper = _halves(node.limits, key, n)
        below = _Node(bound, lower, branch, -2, number)
        above = _Node(bound, upper, branch, -1, number, basis)
        heapq.heappush(self._heap, (-bound, next(self._count), above))
        return branch, below


def _first_equal(rows: np.ndarray) -> np.ndarray:
    """Return the first row that is equal, for each row."""
    found: dict[bytes, int] = {}
    return np.array([found.setdefault(row.tobytes(), h) for h, row in enumerate(rows)], dtype=np.int64)


class Program:
    """The linear program of a node.

    Columns are runs of jobs and fillings of machines; rows are::

    sum of what runs - sum of what is filled <= what has to run there, for every side, slot and job
    sum of the runs of a job <= 1                        = 1 if it has to be done
    sum of the fillings of a machine in a slot <= 1
    """

    def __init__(self, instance: AdmissionInstance) -> None:
        setting = instance.setting
        self._horizon, self._jobs = setting.horizon, len(instance.jobs)
        self._size = 2 * self._horizon * self._jobs
        sides = (
            (setting.worker_units, instance.worker_needs, setting.worker_room),
            (setting.server_units, instance.server_needs, setting.server_room),
        )
        self._arrays = [
            (
                np.array([room(job) for job in instance.jobs]).reshape(self._jobs, len(units)).T.copy(),
                needs.astype(np.float64),
                units.astype(np.float64),
                np.tile(_first_equal(units), (self._horizon, 1)),
                np.zeros((self._horizon, len(units), self._jobs), dtype=np.int64),
            )
            for units, needs, room in sides
        ]
        self._machines = [
            (side, h, t)
            for side, (units, *_) in enumerate(sides)
            for t in range(self._horizon)
            for h in range(len(units))
        ]
        self._earned = [job.utilities(self._horizon) for job in instance.jobs]
        able = [job.index not in instance.never for job in instance.jobs]
        reached = [alone(setting, job) if can else 0.0 for job, can in zip(instance.jobs, able, strict=True)]
        self._unit = power_of_two(max(reached, default=0.0)) or 1.0
        self._given = [  # what is earned in units, in which nothing that matters is near the least number
            (job.arrival, job.work if can else 1, np.minimum(earned, most) / self._unit, job.servers_for)
            for job, can, earned, most in zip(instance.jobs, able, self._earned, reached, strict=True)
        ]
        amounts = sum(float(has.max(axis=1, initial=0.0).sum()) for _, _, has, *_ in self._arrays)
        self._least = math.ulp(0.0) * self._horizon * (amounts + 8.0 * (self._jobs + len(self._machines)))
        most = (
            min(setting.most_workers(job), job.work) * can
            for job, can in zip(instance.jobs, able, strict=True)
        )
        self._most = np.fromiter(most, np.int64, self._jobs)
        self.steps = 0  # of the search for the best fillings, so far
        self._equal = [first.copy() for *_, first, _ in self._arrays]
        self._moved: list[int] = []  # rows of what has to run on machines
        self._known: set[Any] = set()
        self._columns: list[Run | Filling] = []
        # Of the columns that are runs, up to so many: place, job and the slot in which it is done; workers.
        self._stacked, self._facts = 0, np.zeros((0, 3), dtype=np.int64)
        self._workers = np.zeros((0, self._horizon), dtype=np.int64)
        self._x = np.zeros(0)
        self.rows = count = self._size + self._jobs + len(self._machines)
        upper = np.concatenate([np.zeros(self._size), np.ones(count - self._size)])
        none = np.zeros(0)
        empty = np.zeros(1, np.int32), np.zeros(0, np.int32), none
        self._highs = in_highs(
            none, empty, (np.full(count, -np.inf), upper), (none, none), OPTIONS, maximise=True
        )
        for i in range(self._jobs):  # what a job that has to be done costs if it cannot be
            self._highs.addCol(-PENALTY * self._jobs, 0.0, 0.0, 1, np.array([self._size + i], np.int32), ONE)
        self._limit({})

    def basis(self) -> Any:
        """Return where HiGHS has ended."""
        return self._highs.getBasis()

    def enter(self, limits: Limits, basis: Any = None) -> None:
        """Go to the node with these limits, and to where HiGHS ended in its parent.

        The columns that came since are 0 there. Limits break that solution: the dual simplex method goes on.
        """
        if basis is not None:
            new = self._jobs + len(self._columns) - len(basis.col_status)
            basis.col_status = [*basis.col_status, *[library("highspy").HighsBasisStatus.kLower] * new]
            self._highs.setBasis(basis)
        self._highs.setOptionValue("simplex_strategy", DUAL)
        self._limit(limits)
        upper = np.full(self._jobs + len(self._columns), math.inf)
        upper[: self._jobs] = self._must
        upper[self._jobs + self._forbidden()] = 0.0
        index = np.arange(len(upper), dtype=np.int32)
        self._highs.changeColsBounds(len(upper), index, np.zeros(len(upper)), upper)
        for i, must in enumerate(self._must):
            self._highs.changeRowBounds(self._size + i, 1.0 if must else -math.inf, 1.0)
        held = np.zeros((2, self._horizon, self._jobs))
        for (side, t, _), (_, _, least) in self._here.items():
            held[side, t] += least
        rows = np.flatnonzero(held)
        for row in {*self._moved, *rows.tolist()}:
            self._highs.changeRowBounds(row, -math.inf, held.flat[row])
        self._moved = rows.tolist()

    def _limit(self, limits: Limits) -> None:
        """Note what jobs may do within limits."""
        self._done = [limits.get((i,), (0, math.inf)) for i in range(self._jobs)]
        self._low = np.zeros((self._horizon, self._jobs), dtype=np.int64)
        self._high = np.tile(self._most, (self._horizon, 1))
        self._here: dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        for (*_, first, _), equal in zip(self._arrays, self._equal, strict=True):
            first[:] = equal
        for (i, *what), (least, most) in limits.items():
            if len(what) == 1:
                t = what[0] - 1
                self._low[t, i], self._high[t, i] = least, min(most, self._high[t, i])
            elif what:
                self._hold(i, what, least, most)
        self._must = [
            bool(self._low[:, i].any()) or self._done[i][1] <= self._horizon for i in range(self._jobs)
        ]

    def _hold(self, i: int, what: list[int], least: int, most: float) -> None:
        """Note how many of a job have to run on a machine at least, and what then has room there besides."""
        slot, side, h = what
        rooms, needs, has, first, _ = self._arrays[side]
        key = side, slot - 1, h
        room, left, held = self._here.setdefault(
            key, (rooms[h].copy(), has[h].copy(), np.zeros_like(rooms[h]))
        )
        room[i], held[i] = min(room[i], most) - least, least
        left -= least * needs[i]
        fits = np.floor_divide(left, needs, out=np.full(needs.shape, np.inf), where=needs > 0.0).min(axis=1)
        room[:] = np.minimum(room, fits)
        alone = first[slot - 1] == ELSEWHERE
        first[slot - 1] = np.where(alone, ELSEWHERE, np.arange(len(has)))
        first[slot - 1, h] = ELSEWHERE

    def _full(self) -> bool:
        """Return whether more has to run on some machine than it holds."""
        return any(
            room.min(initial=0) < 0 or left.min(initial=0.0) < 0.0 for room, left, _ in self._here.values()
        )

    def _forbidden(self) -> np.ndarray:
        """Return the places of the columns that do not keep the limits of the node."""
        fresh = enumerate(self._columns[self._stacked :], self._stacked)
        new = [(place, one) for place, one in fresh if isinstance(one, Run)]
        if new:
            facts = np.array([(place, one.job, one.done) for place, one in new], dtype=np.int64)
            self._facts = np.concatenate([self._facts, facts])
            self._workers = np.concatenate([self._workers, np.array([one.counts[0] for _, one in new])])
        self._stacked = len(self._columns)
        (place, job, done), (least, most) = self._facts.T, np.array(self._done).reshape(-1, 2).T
        low, high = self._low.T[job], self._high.T[job]
        kept = ((low <= self._workers) & (self._workers <= high)).all(axis=1)
        out = [place[~(kept & (least[job] <= done) & (done <= most[job]))]]
        for number, one in enumerate(self._columns if self._here else []):
            side, h, t = self._machines[one.machine] if isinstance(one, Filling) else (0, 0, -1)
            if (side, t, h) in self._here:
                room, left, _ = self._here[side, t, h]
                counts = np.zeros_like(room)
                counts[[i for i, _ in one.counts]] = [n for _, n in one.counts]
                if (counts > room).any() or (counts @ self._arrays[side][1] > left).any():
                    out.append(np.array([number]))
        return np.concatenate(out)

    def answer(self, price: np.ndarray) -> tuple[float, int]:
        """Add the best runs and fillings at some prices; return the bound, and how many are new."""
        price, bound, new = price / self._unit, 0.0, 0
        for i in range(self._jobs):
            gain, run = self._best_run(i, price)
            bound += gain
            new += self._add(run)
        bound += self._fill(price)
        for m, (side, h, t) in enumerate(self._machines):
            counts = self._arrays[side][-1][t, h]
            pairs = tuple((i, int(counts[i])) for i in counts.nonzero()[0].tolist())
            new += self._add(Filling(m, pairs) if pairs else None)
        return bound * self._unit, new

    def bound(self, price: np.ndarray, limits: Limits) -> float | None:
        """Return what no decision within limits exceeds, by these prices alone; ``None`` if there is none.

        Near the least number, a price per unit of an amount misses up to that for each unit.
        """
        self._limit(limits)
        if self._full():
            return None
        price = price / self._unit
        gains = [self._best_run(i, price)[0] for i in range(self._jobs)]
        if min(gains, default=0.0) == -math.inf:
            return None
        terms = [self._fill(price), *gains]
        gross = math.fsum(abs(term) for term in terms)
        if gross == 0.0 and not price.any():
            return 0.0
        total = math.fsum(terms) + MARGIN * gross + rounding(len(terms), gross) + self._least
        return total * self._unit + math.ulp(0.0)

    def _fill(self, price: np.ndarray) -> float:
        """Find the best filling of every machine; return a bound of what all are paid; both in units."""
        sides = [kernels.fill_all(one, *arrays) for one, arrays in zip(price, self._arrays, strict=True)]
        for (side, t, h), (room, left, held) in self._here.items():
            (_, needs, _, _, filled), one = self._arrays[side], price[side, t]
            paid, steps = kernels.fill(one, room, needs, left, kernels.MOST_TRIES, filled[t, h])
            sides.append((paid + math.fsum(one * held), steps))
        self.steps += sum(steps for _, steps in sides)
        return sum(paid for paid, _ in sides)

    def _best_run(self, i: int, price: np.ndarray) -> tuple[float, Run | None]:
        """Return the run of a job that earns most at prices (2, T, I), and what it gains; in units."""
        workers, (first, last) = np.empty(self._horizon, dtype=np.int64), self._done[i]
        gain, done = kernels.best_run(
            self._given[i],
            np.ascontiguousarray(self._low[:, i]),
            np.ascontiguousarray(self._high[:, i]),
            (int(first), int(min(last, self._horizon))),
            -math.inf if self._must[i] else 0.0,
            np.ascontiguousarray(price[:, :, i]),
            workers,
        )
        if not done:
            return gain, None
        arrival, _, _, servers = self._given[i]
        counts = np.array([workers, servers[workers]])
        return gain, Run(i, counts, done, float(self._earned[i][done - arrival]))

    def _add(self, one: Run | Filling | None) -> bool:
        """Add a column, unless it is there; return whether it is new."""
        if one is None:
            return False
        if isinstance(one, Filling):
            name: Any = one
            side, _, t = self._machines[one.machine]
            jobs, values = -np.array(one.counts).T
            rows = (side * self._horizon + t) * self._jobs - jobs
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

    def solve(self, budget: Budget) -> tuple[float, np.ndarray] | None:
        """Solve the program; return its value and the prices, shape (2, T, I), or ``None`` out of time."""
        known = library("highspy").HighsModelStatus
        self._highs.setOptionValue("time_limit", min(1e9, self._highs.getRunTime() + budget.left))
        self._highs.run()
        self._highs.setOptionValue("simplex_strategy", PRIMAL)
        status = self._highs.getModelStatus()
        if status == known.kTimeLimit:
            return None
        if status != known.kOptimal:
            raise OracleError(f"branch and price: HiGHS ends with {status}")
        found = self._highs.getSolution()
        self._x = np.array(found.col_value)[self._jobs :]
        duals = np.maximum(0.0, np.array(found.row_dual)[: self._size]) * self._unit
        value = self._highs.getInfo().objective_function_value * self._unit
        return value, duals.reshape(2, self._horizon, self._jobs)

    def _used(self, kind: type) -> Used:
        """Return the runs by job, or the fillings by machine, that the solution takes, and their weights."""
        found: Used = {}
        for one, x in zip(self._columns, self._x.tolist(), strict=False):
            if x > FRACTION and isinstance(one, kind):
                found.setdefault(one[0], []).append((one, x))
        return found

    def decision(self, goal: float, budget: Budget) -> list[Any] | None:
        """Return a schedule with a run of every job that the solution does rather than not, the likeliest.

        ``None`` if these earn no more than a goal, or find no machines; else rows of workers and of servers.
        """
        used = self._used(Run).values()
        whole = all(len(pairs) == 1 and pairs[0][1] > 1.0 - FRACTION for pairs in used)
        runs = [max(pairs, key=lambda pair: pair[1])[0] for pairs in used if sum(x for _, x in pairs) > 0.5]
        if sum(run.earned for run in runs) <= goal:
            return None
        counts = np.zeros((2, self._horizon, self._jobs), dtype=np.int64)
        for run in runs:
            counts[:, :, run.job] = run.counts
        rows: list[Any] = [[], []]
        for side, t in np.argwhere(counts.any(axis=2)).tolist():
            placed = self._packed(side, counts[side, t], budget if whole else None)
            if placed is None:
                return None
            rows[side] += [[t + 1, i, h, int(placed[h, i])] for h, i in np.argwhere(placed).tolist()]
        return rows

    def _packed(self, side: int, counts: np.ndarray, budget: Budget | None) -> np.ndarray | None:
        """Return how many of each job run on each machine, shape (H, I), if they find room.

        HiGHS is asked only with a budget, where the rule that is quick leaves some without.
        """
        rooms, needs, has, *_ = self._arrays[side]
        placed = np.zeros(rooms.shape, dtype=np.int64)
        if kernels.pack(counts, rooms, needs, has, placed):
            return placed
        if budget is None:
            return None
        jobs = counts.nonzero()[0]
        keys = [(i, h) for i in jobs.tolist() for h in range(len(has)) if rooms[h, i]]
        # of every column, an entry in the row of its job, and one for each resource of its machine
        width, unit = has.shape[1], np.where(has > 0.0, has, 1.0)
        index = [
            [int(np.searchsorted(jobs, i)), *range(len(jobs) + h * width, len(jobs) + (h + 1) * width)]
            for i, h in keys
        ]
        values = [[1.0, *(needs[i] / unit[h])] for i, h in keys]
        starts = np.arange(len(keys) + 1, dtype=np.int32) * (width + 1)
        low = np.concatenate([counts[jobs].astype(float), np.full(has.size, -np.inf)])
        high = np.concatenate([counts[jobs].astype(float), np.ones(has.size)])
        most = np.array([float(rooms[h, i]) for i, h in keys])
        matrix = starts, np.array(index, dtype=np.int32).ravel(), np.array(values).ravel()
        limits, options = (
            (np.zeros(len(keys)), most),
            {**CAREFUL, **TIGHT, "time_limit": min(1e9, budget.left)},
        )
        highs = in_highs(np.zeros(len(keys)), matrix, (low, high), limits, options, whole=True)
        highs.run()
        if highs.getModelStatus() != library("highspy").HighsModelStatus.kOptimal:
            return None
        placed[:] = 0
        for (i, h), x in zip(keys, highs.getSolution().col_value, strict=True):
            placed[h, i] = round(x)
        return placed if (placed @ needs <= has).all() else None  # HiGHS may exceed an amount a little

    def branch(self, *, split: bool = False) -> tuple[tuple[int, ...], int] | None:
        """Return what is not decided in the solution, on machines if ``split``, and the n between them."""
        runs = self._used(Run)
        shared = self._shared(runs) if split else []
        for choices in (self._rare(runs), self._late(runs), self._torn(runs), shared):
            if choices:
                _, key, n = max(choices, key=lambda choice: choice[0])
                return (key, n) if self._must[key[0]] else (key[:1], self._horizon)
        return None

    def _rare(self, runs: Used) -> Choices:
        """Return the jobs that are done in part: how much they earn by that, and the branch."""
        shares = {i: sum(x for _, x in pairs) for i, pairs in runs.items() if not self._must[i]}
        return [
            (min(x, 1.0 - x) * max(run.earned for run, _ in runs[i]), (i,), self._horizon)
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

    def _shared(self, runs: Used) -> Choices:
        """Return the machines on which jobs have several numbers: how different these are."""
        found: Choices = []
        for m, pairs in self._used(Filling).items():
            side, h, t = self._machines[m]
            weights = np.array([x for _, x in pairs])
            counts = np.zeros((len(pairs), self._jobs))
            for row, (filling, _) in zip(counts, pairs, strict=True):
                row[[i for i, _ in filling.counts]] = [n for _, n in filling.counts]
            counts[:, [i for i in range(self._jobs) if i not in runs]] = 0.0  # whatever of them is there
            mean = weights @ counts  # nothing runs in what is left of the slot
            spread = (weights @ counts**2 - mean**2) / np.maximum(1.0, counts.max(axis=0)) ** 2
            i = int(spread.argmax())
            if spread[i] > FRACTION:
                held = self._here[side, t, h][2][i] if (side, t, h) in self._here else 0
                n = int(held) + int(min(mean[i], counts[:, i].max() - 1))
                found.append((float(spread[i]), (i, t + 1, side, h), n))
        return found
