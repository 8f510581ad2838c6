"""Certificates of the selection problem: a tree for every arrival pattern, closed by prices of the devices.

The prices are multipliers of linear relaxations, which HiGHS solves; whether a leaf is closed is decided in
the whole numbers of the checker. A pattern whose table of devices is tiny needs no tree.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import suppress
from operator import sub
from typing import Any

import numpy as np

from ...models.program import CAREFUL, TIGHT, in_highs
from ...models.selection.instance import ChannelInstance
from ...models.stopwatch import library
from ...verify import RejectedError, Selection, Slot, flat
from ..base import Optimum
from ..deep import unrolled

MOST_NODES, MOST_NODES_IN_ALL = 2000, 20000
"""Nodes of a tree, and of all trees, after which leaves are left open: the bound is then above the value."""

MOST_DEPTH = 500
"""Channels in a row that a tree decides, after which leaves are left open: readers of JSON lose themselves in
deeper lists."""

TABLE_WORK = 2**13
"""Channels times amounts of devices up to which a pattern needs no tree."""

CLOSED = 44
"""A leaf is closed if its bound is above the best value by at most 2^-44 of it, the rounding of prices."""

BITS = 50
"""Prices are whole multiples of 2^-50 of the largest mean per device."""

MOST_SETS = 2**12
"""Sets of channels that fit on their server, in all, up to which servers are relaxed by their sets."""

RECENT = 3
"""How many of the last prices are tried before a program is solved."""

OPTIONS = {**CAREFUL, **TIGHT, "solver": "simplex"}

NEAR = 1e-6
"""A relaxation that is better than the best value by more than this, relatively, closes no leaf."""

FRACTION = 1e-7
"""A channel that is neither on nor off by more than this is branched upon."""


def of_slots(instance: ChannelInstance, optimum: Optimum[Any]) -> tuple[Any, Any]:
    """Return the channels of every arrival pattern, and the trees and prices that prove them the best."""
    proof = Proof(Selection(instance.to_dict()))
    found = list(proof.of_patterns(instance, optimum))
    return [on for *_, on, _ in found], {"prices": proof.prices, "trees": [tree for *_, tree in found]}


class Proof:
    """The prices so far, and what finds more; ``tables`` says whether some patterns need no tree."""

    def __init__(self, of: Selection, tables: bool = True) -> None:
        self.of, self.nodes, self.prices = of, 0, list[Any]()
        self._tables = tables and not of.gang
        highest = math.frexp(max(map(float, of.mean), default=0.0))[1]
        devices = max(flat(of.capacity)).bit_length()
        self._grid = min(1074, BITS + devices - highest)  # 2^-1074 is the least double
        self.scale = max([2**self._grid, *(mean.denominator for mean in of.mean)])
        self.whole: list[Any] = []
        self.keep([[0.0] * of.sizes["K"] for _ in of.capacity])
        unit, sets = math.ldexp(1.0, highest), _sets(of) if of.gang else None
        self.plain = _Relaxed(of, unit)
        self.relaxed = self.plain if sets is None else _Apart(of, sets, unit)

    def of_patterns(
        self, instance: ChannelInstance, optimum: Optimum[Any]
    ) -> Iterator[tuple[list[int], int, list[int], Any]]:
        """Yield every arrival pattern, how many slots have it, its best channels, and its tree or "table"."""
        patterns, first, slots = np.unique(instance.arrivals, axis=0, return_index=True, return_counts=True)
        for pattern, slot, times in zip(patterns.tolist(), first.tolist(), slots.tolist(), strict=True):
            on = np.flatnonzero(np.asarray(optimum.decision[slot]) > 0.5).tolist()
            yield pattern, times, *self._of_slot(Slot(self.of, pattern, self.scale), on)

    def keep(self, price: list[list[float]], apart: bool = False) -> int:
        """Keep prices, or what tasks pay and jobs get, rounded to the grid; return their number."""
        rows = [[round(math.ldexp(p, self._grid)) for p in row] for row in price]
        told = [[math.ldexp(p, -self._grid) for p in row] for row in rows]
        whole = [[p * self.scale >> self._grid for p in row] for row in rows]
        self.prices.append(dict(zip(("tasks", "jobs"), told, strict=True)) if apart else told)
        self.whole.append(tuple(whole) if apart else whole)
        return len(self.prices) - 1

    def bound(self, slot: Slot, on: set[int], off: set[int], number: int) -> int | None:
        """Return what the checker will derive of a leaf with the prices of this number."""
        return slot.bound(on, off, self.whole[number])

    def _of_slot(self, slot: Slot, on: list[int]) -> tuple[list[int], Any]:
        """Return the best channels known, of which ``on`` are one choice, and a tree or "table"."""
        search = _Search(self, slot, on)
        tiny = self._tiny(slot)
        if tiny and slot.table() <= search.value:
            return search.best, "table"
        search.slack = 0 if tiny else 1  # where the oracle's sums were rounded, better ones are found
        tree = unrolled(search.grow(set(), set(), [0]))
        return search.best, "table" if tiny else tree

    def _tiny(self, slot: Slot) -> bool:
        """Return whether a table is less work than a tree."""
        if not self._tables:
            return False
        used = [sum(self.of.demand[e][k] for e in slot.usable) for k in range(self.of.sizes["K"])]
        states = math.prod(min(c, u) + 1 for c, u in zip(self.of.capacity[0], used, strict=True))
        return states * len(slot.usable) <= TABLE_WORK


class _Search:
    """The search for the tree of a pattern, and the best channels that it has met."""

    def __init__(self, proof: Proof, slot: Slot, on: list[int]) -> None:
        self._proof, self._slot = proof, slot
        self.best, self.value, self.nodes, self.slack = on, slot.value(on), 0, 1

    def grow(self, on: set[int], off: set[int], hints: list[int]) -> Generator[Any, Any, Any]:
        """Return a tree for what is left where these channels are on and off; ``hints`` are prices to try."""
        self.nodes += 1
        self._proof.nodes += 1
        for number in hints:
            if self._closes(on, off, number):
                return self._exactly(on, off, number)
        many = self.nodes > MOST_NODES or self._proof.nodes > MOST_NODES_IN_ALL
        if self.nodes > 1 and (many or len(on) + len(off) >= MOST_DEPTH):
            return hints[-1]
        price, x, most = self._proof.relaxed.solve(self._slot, on, off)
        number = self._proof.keep(price, self._proof.relaxed.apart)
        self._try(x)
        left = self._slot.left(on)
        free = [e for e in self._slot.usable if e not in on | off and self._fits(e, left)]
        known = self.value / self._proof.scale
        near = most <= (1.0 + NEAR) * known + 2.0 * math.ulp(known)  # else the prices prove too little
        if not free or (near and self._closes(on, off, number)):
            return self._exactly(on, off, number)
        worth = {e: self._slot.worth[e] / self._proof.scale for e in free}
        branch = max(free, key=lambda e: (min(x[e], 1.0 - x[e]) * worth[e], worth[e]))
        hints = [*hints[-RECENT + 1 :], number]
        without = yield self.grow(on, off | {branch}, hints)
        return [branch, without, (yield self.grow(on | {branch}, off, hints))]

    def _exactly(self, on: set[int], off: set[int], number: int) -> Any:
        """Return a tree for a leaf that closes, its bound not above the value at all if that is easy.

        It is above by the rounding of prices only where all of the best channels are: there they are fixed,
        unless that makes the tree too deep.
        """
        best = set(self.best)
        if self._below(on, off, number) or not (on <= best and off.isdisjoint(best)):
            return number
        if len(best) + len(off) > MOST_DEPTH:
            return number
        last = self._without(best, off, number, self._proof.plain)
        if not self._below(best, off, last):
            return number
        tree: Any = last
        for e in sorted(best - on):
            best = best - {e}
            tree = [e, self._without(best, off | {e}, number, self._proof.relaxed), tree]
        return tree

    def _without(self, on: set[int], off: set[int], number: int, relaxed: _Relaxed | _Apart) -> int:
        """Return the number of the prices at which a leaf is not above the value, or else this number."""
        for known in (number, 0):
            if self._below(on, off, known):
                return known
        price, _, _ = relaxed.solve(self._slot, on, off)
        other = self._proof.keep(price, relaxed.apart)
        return other if self._below(on, off, other) else number

    def _below(self, on: set[int], off: set[int], number: int) -> bool:
        bound = self._proof.bound(self._slot, on, off, number)
        return bound is None or bound <= self.value

    def _closes(self, on: set[int], off: set[int], number: int) -> bool:
        bound = self._proof.bound(self._slot, on, off, number)
        return bound is None or bound <= self.value + self.slack * (self.value >> CLOSED)

    def _fits(self, e: int, left: list[list[int]]) -> bool:
        of = self._slot.of
        return all(a <= c for a, c in zip(of.demand[e], left[of.server[e]], strict=True))

    def _try(self, x: np.ndarray) -> None:
        """Take a relaxation's channels as the best if they are whole and better."""
        chosen = [e for e in self._slot.usable if x[e] > 0.5]
        if np.abs(x - np.rint(x)).max(initial=0.0) <= FRACTION:
            with suppress(RejectedError):  # the solver's tolerance may be a device
                value = self._slot.value(chosen)
                if value > self.value:
                    self.best, self.value = chosen, value


class _Relaxed:
    """The linear relaxation of a slot, in HiGHS: means in a ``unit``, capacities as 1.

    Columns are channels and jobs; rows are capacities, and where jobs have minima, tasks and jobs::

        sum_e a x / c <= 1,    sum of a task's x <= y,    m y <= sum of a job's x
    """

    apart = False

    def __init__(self, of: Selection, unit: float) -> None:
        self._of, self._unit, count = of, unit, len(of.mean)
        self._capacity = np.maximum(1.0, np.array(of.capacity, dtype=np.float64))
        kinds, jobs = of.sizes["K"], max(of.job, default=-1) + 1
        rows, tasks = self._capacity.size, max(of.task, default=-1) + 1
        columns: list[list[tuple[int, float]]] = [
            [
                (server * kinds + k, a / self._capacity[server, k])
                for k, a in enumerate(of.demand[e])
                if a and a <= of.capacity[server][k]
            ]
            for e, server in enumerate(of.server)
        ]
        if of.gang:
            for e, column in enumerate(columns):
                column += [(rows + of.task[e], 1.0), (rows + tasks + of.job[e], -1.0)]
            own = [
                sorted({q for q, j in zip(of.task, of.job, strict=True) if j == job}) for job in range(jobs)
            ]
            columns += [
                [*((rows + q, -1.0) for q in own[job]), (rows + tasks + job, float(of.minimum[job]))]
                for job in range(jobs)
            ]
        upper = np.concatenate([np.ones(rows), np.zeros((tasks + jobs) if of.gang else 0)])
        start = np.cumsum([0, *map(len, columns)]).astype(np.int32)
        entries = [entry for column in columns for entry in column]
        self._highs = in_highs(
            np.concatenate([-np.array(of.mean, dtype=np.float64) / unit, np.zeros(len(columns) - count)]),
            (start, np.array([r for r, _ in entries], dtype=np.int32), np.array([v for _, v in entries])),
            (np.full(len(upper), -np.inf), upper),
            (np.zeros(len(columns)), np.ones(len(columns))),
            OPTIONS,
        )

    def solve(self, slot: Slot, on: set[int], off: set[int]) -> tuple[list[list[float]], np.ndarray, float]:
        """Return prices [server][kind], at least 0, x of the channels, and its value.

        All of them are 0 if there is no such x.
        """
        count, left = len(self._of.mean), slot.left(on)
        low, high = np.zeros(count), np.zeros(count)
        for e in slot.usable:
            need, room = self._of.demand[e], left[self._of.server[e]]
            low[e] = e in on
            high[e] = e in on or (e not in off and all(a <= c for a, c in zip(need, room, strict=True)))
        self._highs.changeColsBounds(count, np.arange(count, dtype=np.int32), low, high)
        self._highs.run()
        known, found = library("highspy").HighsModelStatus, self._highs.getSolution()
        if self._highs.getModelStatus() != known.kOptimal:
            return [[0.0] * len(row) for row in self._capacity], np.zeros(count), 0.0
        dual = np.asarray(found.row_dual)[: self._capacity.size].reshape(self._capacity.shape)
        price = np.maximum(0.0, -dual) * self._unit / self._capacity
        value = -self._unit * self._highs.getInfo().objective_function_value
        rows: list[list[float]] = price.tolist()
        return rows, np.asarray(found.col_value)[:count], value


def _sets(of: Selection) -> list[list[int]] | None:
    """Return all sets of channels that fit on their server, not the empty ones; ``None`` for many."""
    found: list[list[int]] = []
    for server, room in enumerate(of.capacity):
        begun: list[tuple[list[int], list[int]]] = [([], room)]
        for e in (e for e, at in enumerate(of.server) if at == server):
            after = [([*chosen, e], [*map(sub, left, of.demand[e])]) for chosen, left in begun]
            begun += [(chosen, left) for chosen, left in after if min(left) >= 0]
            if len(found) + len(begun) > MOST_SETS:
                return None
        found += [chosen for chosen, _ in begun[1:]]
    return found


class _Apart:
    """The relaxation of a slot in which servers choose among sets of channels, in HiGHS.

    Columns are sets, jobs, and what a job lacks that must run; rows are tasks, jobs and servers::

        sum of a task's x <= y,    m y <= sum of a job's x + lack,    sum of a server's sets <= 1

    What is lacking costs more than all sets earn, so that a job that cannot run has multipliers that say so.
    """

    apart = True

    def __init__(self, of: Selection, sets: list[list[int]], unit: float) -> None:
        self._of, self._unit = of, unit
        self._tasks, self._jobs = of.sizes["Q"], of.sizes["L"]
        tasks, lines = self._tasks, self._tasks + self._jobs
        self._server = np.array([of.server[chosen[0]] for chosen in sets], dtype=np.int64)
        self._holds = np.zeros((len(sets), len(of.mean)))
        columns: list[dict[int, float]] = []
        for row, chosen in zip(self._holds, sets, strict=True):
            row[chosen] = 1.0
            column = {lines + of.server[chosen[0]]: 1.0}
            for e in chosen:
                for line, one in ((of.task[e], 1.0), (tasks + of.job[e], -1.0)):
                    column[line] = column.get(line, 0.0) + one
            columns.append(column)
        for job in range(self._jobs):
            own = {q for q, j in zip(of.task, of.job, strict=True) if j == job}
            columns.append(dict.fromkeys(own, -1.0) | {tasks + job: float(of.minimum[job])})
        columns += [{tasks + job: -1.0} for job in range(self._jobs)]
        upper = np.concatenate([np.zeros(lines), np.ones(len(of.capacity))])
        start = np.cumsum([0, *map(len, columns)]).astype(np.int32)
        entries = [entry for column in columns for entry in column.items()]
        worth = self._holds @ np.array(of.mean, dtype=np.float64)
        self._highs = in_highs(
            np.concatenate(
                [-worth / unit, np.zeros(self._jobs), np.full(self._jobs, 1.0 + worth.sum() / unit)]
            ),
            (start, np.array([r for r, _ in entries], dtype=np.int32), np.array([v for _, v in entries])),
            (np.full(len(upper), -np.inf), upper),
            (np.zeros(len(columns)), np.concatenate([np.ones(len(columns) - self._jobs), of.minimum])),
            OPTIONS,
        )

    def solve(self, slot: Slot, on: set[int], off: set[int]) -> tuple[list[list[float]], np.ndarray, float]:
        """Return what tasks pay and jobs get, at least 0, x of the channels, and its value.

        All of them are 0 if there is no such x.
        """
        of, count, sets = self._of, len(self._of.mean), len(self._holds)
        fixed, barred = np.zeros(count), np.ones(count)
        fixed[list(on)] = 1.0
        barred[slot.usable] = 0.0
        barred[list(off)] = 1.0
        forced = np.bincount(of.server, weights=fixed, minlength=len(of.capacity))
        allowed = (self._holds @ barred == 0.0) & (self._holds @ fixed == forced[self._server])
        self._highs.changeColsBounds(sets, np.arange(sets, dtype=np.int32), np.zeros(sets), allowed * 1.0)
        for server, number in enumerate(forced.tolist()):
            line = self._tasks + self._jobs + server
            self._highs.changeRowBounds(line, 1.0 if number else -np.inf, 1.0)
        self._highs.run()
        known, found = library("highspy").HighsModelStatus, self._highs.getSolution()
        if self._highs.getModelStatus() != known.kOptimal:
            return [[0.0] * self._tasks, [0.0] * self._jobs], np.zeros(count), 0.0
        dual = np.maximum(0.0, -np.asarray(found.row_dual)) * self._unit
        value = -self._unit * self._highs.getInfo().objective_function_value
        price = [dual[: self._tasks].tolist(), dual[self._tasks : self._tasks + self._jobs].tolist()]
        return price, np.asarray(found.col_value)[:sets] @ self._holds, value
