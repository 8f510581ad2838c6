"""Exact search in the feasible sets Omega(t): linear values, the index, all arrival patterns at once."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import InputError, frozen_copy
from ..program import SolverError
from .channels import Channels
from .core import best_prices

if TYPE_CHECKING:
    from types import ModuleType


TABLE_BYTES = 2**26
"""The most one table may take; beyond it, states are lumped together, and tables give bounds only."""

TINIEST = 2.0**-1074
"""The most that rounding takes where numbers are smaller than the least normal one."""

TABLES = 6
"""The most multipliers that are tried before a long search."""

ROUNDING = 2.0**-50
"""For each channel and a few more: distance of value and bound, relative to all that is added up, that counts
as none."""

CHUNK = 2**13
"""Nodes of a long depth-first search between two looks at whether to stop."""

MOST_NODES = 2**13
"""Nodes after which the depth-first search gives way to the one over labels, which needs exact tables."""

LONG_SEARCH = 2**21
"""Nodes after which the depth-first search over lumped tables gives way to 0/1 programs."""

SMALL_TABLE = 3 * 2**18
"""Entries of a table of all channels up to which they are searched without prices."""

CORE = 24
"""Channels that prices leave undecided at first."""

_room = threading.local()


@cache
def _kernels() -> ModuleType:
    from . import kernels

    return kernels


@dataclass(frozen=True, eq=False)
class Choice:
    """The best set that a search found, and what it proved."""

    x: np.ndarray  # chosen channels, shape (E,)
    # value, bound: objective of ``x``, and what no feasible set exceeds; they differ by rounding alone unless
    # the search was stopped, or it went on by 0/1 programs: they have a tolerance of 1e-10 of the largest
    # term per channel, and their proof may be cut off.
    value: float
    bound: float
    first: int  # how many of the channels that come first are chosen
    # The multipliers whose tables gave the bounds; the last one is 0 for a linear objective.
    lambdas: tuple[float, ...]
    nodes: int  # nodes that the search visited; 0 if tables alone closed the problem

    @property
    def count(self) -> int:
        """The value as a whole number, where all are 0 or 1; refused if the bound leaves room for more."""
        if math.floor(self.bound) > round(self.value):
            raise SolverError(f"the most channels at once are {self.value:g} to {self.bound:g}: not proved")
        return round(self.value)


class Knapsack:
    """The constraints of a setting, ready for dynamic programming over capacity states.

    Kinds that never bind are dropped, and the others are divided by what all demands have in common. If a
    table would still take more than ``most_bytes``, its states are lumped (demands and capacities divided
    and rounded down): a relaxation whose values are bounds, which the depth-first search closes, or 0/1
    programs do if that takes long.

    ``full_states`` and ``table_bytes`` are the number of states of the exact table, and the bytes it would
    take; ``exact`` says whether tables are exact.
    """

    def __init__(self, setting: Channels, most_bytes: int | None = None) -> None:
        most = TABLE_BYTES if most_bytes is None else most_bytes
        self._port = setting.port
        self.demand, self.capacity = setting.demand, setting.capacity
        self.fits = frozen_copy(np.all(self.demand <= self.capacity, axis=1))
        demand, capacity = _reduced(self.demand, self.capacity, self.fits)
        count = len(demand) + 1
        self.full_states = math.prod(int(c) + 1 for c in capacity)
        self.table_bytes = 8 * self.full_states * count
        self.exact = self.table_bytes <= most
        step = _steps(capacity, max(1, most // (8 * count)))
        told = capacity >= step  # kinds of one level alone tell nothing
        told[-2:] = True
        demand, capacity, step = demand[:, told], capacity[told], step[told]
        self._needs = frozen_copy(demand // step)
        levels = capacity // step + 1
        self.states = int(levels.prod())
        radix = np.concatenate([np.cumprod(levels[:0:-1])[::-1], [1]]).astype(np.int64)
        self._offsets = frozen_copy(self._needs @ radix)
        rows, width = (int(n) for n in levels[-2:])
        blocks = np.arange(0, self.states, rows * width)[:, None] // radix[:-2] % levels[:-2]
        self._grid = (frozen_copy(blocks), rows, width)
        self._top = frozen_copy(levels - 1)
        kinds_of_need, like = np.unique(self._needs, axis=0, return_inverse=True)
        self._like = frozen_copy(like.reshape(-1))
        self._blocked = frozen_copy(_blocked(kinds_of_need, levels, radix))

    def best(
        self,
        values: Any,
        spread: Any = None,
        open: np.ndarray | None = None,  # noqa: A002
        *,
        first: np.ndarray | None = None,
        guess: np.ndarray | None = None,
        cap: float = math.inf,
        gap: float = 0.0,
        stop: Callable[[], bool] | None = None,
    ) -> Choice:
        """Maximise min(values.x, cap) + sqrt(spread.x) over the feasible sets.

        By default exactly, but for what rounding takes, unless tables of amounts are too large and the search
        too long: then the bound says how far the value may be from the largest one.

        ``values`` and ``spread`` are finite and >= 0; without a spread the objective is linear. Only ``open``
        channels may be chosen. Those marked in ``first`` come first: among the feasible sets with the most of
        these, the best one is wanted. Their own values and spread should be 0 (never give them huge values
        instead: many equal sets would have to be distinguished). ``guess`` is a warm start, such as the last
        decision under the same arrivals; what is not feasible in it is left out. A bound of at most
        1 + ``gap`` times the value, and what rounding takes, is near enough; how many come first is exact.
        ``stop`` is asked now and then during a long search; if it returns True, the best so far is returned
        with the bound proven so far, or a SolverError is raised if it is not proved how many channels that
        come first fit.
        """
        v = self._weights("values", values)
        q = np.zeros(len(v)) if spread is None else self._weights("spread", spread)
        allowed = self.fits if open is None else self.fits & open
        goal, start = 0, guess
        if first is not None and (first & allowed).any():
            most = self.best(first & allowed, stop=stop)
            goal, start = most.count, most.x
            v, q = np.where(first, 0.0, v), np.where(first, 0.0, q)
        comes_first = np.zeros(len(v), dtype=bool) if goal == 0 or first is None else first
        items = np.flatnonzero(allowed & ((v > 0.0) | (q > 0.0) | comes_first))
        if (len(items) + 1) * self.full_states > SMALL_TABLE and cap >= v.sum():
            return self._search_core(items, v, q, comes_first, goal, start, gap, stop)
        return self._search(items, v[items], q[items], cap, comes_first[items], goal, start, gap, stop)

    def _search_core(
        self,
        items: np.ndarray,
        v: np.ndarray,
        q: np.ndarray,
        first: np.ndarray,
        goal: int,
        guess: np.ndarray | None,
        gap: float,
        stop: Callable[[], bool] | None,
    ) -> Choice:
        """Search among those channels alone that the best prices of the capacities leave undecided.

        At first these are few, and the others are decided by their reduced values; what the incumbent then
        misses of the bound says how many have to be undecided for a proof.
        """
        kernels = _kernels()
        of = (v[items], q[items], first[items], self.demand[items], self.capacity)
        kept = kernels.undominated(*of)
        items = items[kept if guess is None else kept | (guess[items] > 0)]
        known = best_prices(v[items], q[items], self.demand[items], self.capacity, first[items], goal)
        size = abs(known.reduced)
        order = np.argsort(size, kind="stable")  # those that are hardest to decide first
        best = np.zeros(len(items), dtype=bool) if guess is None else guess[items] > 0
        by_worth = np.argsort(-known.reduced, kind="stable")
        kernels.keep_what_fits(best, self.demand[items], self.capacity)
        what = (v[items], q[items], math.inf, first[items].astype(np.int64))
        value = float(kernels.score(best, *what)[1])
        bound, nodes, count = float(known.beyond(0.0)), 0, CORE
        while True:
            core, rest = np.sort(order[:count]), order[count:]
            sure = rest[known.reduced[rest] > 0.0][::-1]
            beyond = float(known.beyond(size[rest[0]])) if len(rest) else 0.0
            least = beyond / (1.0 + gap)
            found = self._search_part(items, core, sure, what, goal, best, gap, stop, known.lam, least)
            x = self._completed(found.x, items, by_worth)
            nodes += found.nodes
            held, reached = kernels.score(x, *what)
            if held == goal and reached > value:
                best, value = x, float(reached)
            bound = min(bound, max(found.bound, beyond))
            if found.value >= least or (stop is not None and stop()):
                break
            count += max(1, CORE // 4)
            count = max(count, int((known.beyond(size) > value + gap * value).sum()))
            if 2 * count < len(items):
                count = min(count, 2 * len(core))
        chosen = np.zeros(len(v), dtype=bool)
        chosen[items[best]] = True
        return Choice(chosen, value, max(value, bound), goal, (known.lam,), nodes)

    def _completed(self, x: np.ndarray, items: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Return a set with all that still fits in it, in order: more is never worth less."""
        order = np.append(np.flatnonzero(x), order[~x[order]])
        fit = np.ones(len(x), dtype=bool)
        _kernels().keep_what_fits(fit, self.demand[items[order]], self.capacity)
        result = np.zeros(len(x), dtype=bool)
        result[order[fit]] = True
        return result

    def _search_part(
        self,
        items: np.ndarray,
        core: np.ndarray,
        sure: np.ndarray,
        what: tuple[Any, ...],
        goal: int,
        guess: np.ndarray,
        gap: float,
        stop: Callable[[], bool] | None,
        lam: float,
        least: float,
    ) -> Choice:
        """Search among the sets that hold, of what is not ``core``, those of ``sure`` that fit.

        The sure ones are one item, which takes nothing of what they leave of the capacities. Value and bound
        are below 0 if none of the sets has as many channels that come first as are wanted. The search is no
        longer than with tables if they find less than ``least``.
        """
        v, q, _, first = what
        demand = self.demand[items]
        fit = np.ones(len(sure), dtype=bool)
        _kernels().keep_what_fits(fit, demand[sure], self.capacity)
        sure = sure[fit]
        left = self.capacity - demand[sure].sum(axis=0)
        part = Knapsack(_channels(np.vstack([np.zeros_like(left), demand[core]]), left))
        line, square, before = (np.append(array[sure].sum(), array[core]) for array in (v, q, first))
        some = np.flatnonzero(part.fits)
        keep = np.append([True], guess[core])
        which = (some, line[some], square[some], math.inf, before[some], goal, keep, gap, stop)
        found = part._search(*which, lam, least)
        x = np.zeros(len(items), dtype=bool)
        x[sure], x[core] = found.x[0], found.x[1:]
        return replace(found, x=x)

    def _search(
        self,
        items: np.ndarray,
        v: np.ndarray,
        q: np.ndarray,
        cap: float,
        first: np.ndarray,
        goal: int,
        guess: np.ndarray | None,
        gap: float,
        stop: Callable[[], bool] | None,
        lam: float = 0.0,
        least: float = 0.0,
    ) -> Choice:
        """Search among ``items``; no longer than with tables if they find less than ``least``."""
        kernels = _kernels()
        n = len(items)
        demand, needs, offsets, like = (
            array[items] for array in (self.demand, self._needs, self._offsets, self._like)
        )
        best = np.zeros(n, dtype=bool) if guess is None else guess[items] > 0
        kernels.keep_what_fits(best, demand, self.capacity)
        first = first.astype(np.int64)
        room = self._tables(n + 1)
        tolerance = (ROUNDING * (n + 8), gap)
        lines = np.zeros((TABLES, 2))
        lines[0, 0] = lam if q.any() and lam > 0.0 else _first_lambda(q, best)
        what = (v, q, float(cap), first, goal)
        grid = (needs, offsets, like, self._blocked, *self._grid)
        count, value, bound, nodes = kernels.close_at_root(
            what, demand, self.capacity, grid, room, lines, best, tolerance
        )
        known = (room[:count], lines[:count])
        bonus = goal * float(lines[:count, 1].max())
        if bound - value > kernels.margin(tolerance, value, bonus) and value >= least:
            machines = (demand, self.capacity, offsets, like, self._blocked)
            search = _Search(what, *machines, known, best, value, tolerance)
            solver = not self.exact and stop is None and cap >= v.sum()
            search.by_depth(
                self.states - 1,
                None if self.exact else stop,
                MOST_NODES if self.exact else LONG_SEARCH if solver else math.inf,
            )
            if self.exact and not search.done:
                search.by_labels(self.states - 1, stop)
            value, nodes = search.value, nodes + search.nodes
            bound = min(bound, value + gap * value) if search.done else bound
            if solver and not search.done:
                value, bound = self._by_program(items, v, q, first, goal, best, value, bound)
        x = np.zeros(len(self.fits), dtype=bool)
        x[items[best]] = True
        proven = max(value, bound)
        if proven > 0.0 or any(kernels.hides(bonus, lam, what) for lam, bonus in lines[:count]):
            proven += tolerance[0] * (value + bonus) + n * TINIEST
        return Choice(x, float(value), float(proven), goal, tuple(lines[:count, 0].tolist()), nodes)

    def _by_program(
        self,
        items: np.ndarray,
        v: np.ndarray,
        q: np.ndarray,
        first: np.ndarray,
        goal: int,
        best: np.ndarray,
        value: float,
        bound: float,
    ) -> tuple[float, float]:
        """Go on with 0/1 programs; ``best`` is improved in place. Return its value and the bound."""
        from .program import best_by_program

        part = _channels(self.demand[items], self.capacity)
        x, above = best_by_program(part, v, q, first, goal, _first_lambda(q, best))
        kernels = _kernels()
        kernels.keep_what_fits(x, part.demand, part.capacity)
        count, reached = kernels.score(x, v, q, math.inf, first)
        if count == goal and reached > value:
            best[:], value = x, float(reached)
        return value, min(bound, above)

    def best_of_patterns(
        self, values: Any, patterns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Maximise values.x for many arrival patterns; equal beginnings of patterns share their work.

        ``patterns`` are arrivals 0 or 1, shape (P, L). Returns the chosen channels, shape (P, E); their
        values, shape (P,); and bounds that nothing exceeds, above the values by what rounding may have taken
        from them. The tables must be exact.
        """
        if not self.exact:
            raise InputError(f"capacity: the table would take {self.table_bytes:,} bytes; use a MILP solver")
        v = self._weights("values", values)
        ports = patterns.shape[1]
        useful = self.fits & (v > 0.0)
        many = np.bincount(self._port[useful], minlength=ports)
        columns = np.argsort(
            -many, kind="stable"
        )  # ports with many channels first: their layers are shared most
        items = [np.flatnonzero(useful & (self._port == port)) for port in columns]
        chosen = np.concatenate([*items, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        start = np.concatenate([[0], np.cumsum([len(part) for part in items])]).astype(np.int64)
        needs = self._needs[chosen]
        after = needs[::-1].cumsum(axis=0)[::-1] - needs
        wanted = (np.asarray(patterns)[:, columns] > 0).astype(np.int64)
        order = np.lexsort(wanted.T[::-1])
        taken, _ = _kernels().best_of_patterns(
            wanted[order],
            start,
            v[chosen],
            self._offsets[chosen],
            self._like[chosen],
            self._blocked,
            np.maximum(self._top - after, 0),
            *self._grid,
        )
        x = np.zeros((len(order), len(v)), dtype=bool)
        x[order[:, None], chosen[None, :]] = taken
        value = x @ v
        rounding = (len(v) + 8) * (ROUNDING * value + TINIEST)
        return x, value, value + np.where(value > 0.0, rounding, 0.0)

    def _weights(self, field: str, given: Any) -> np.ndarray:
        array = np.asarray(given, dtype=np.float64)
        if array.shape != self.fits.shape:
            raise InputError(f"{field}: shape {array.shape} does not fit, expected {self.fits.shape}")
        if not (array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) < math.inf):
            wrong = ~((array >= 0.0) & (array < math.inf))
            index = int(np.flatnonzero(wrong)[0])
            raise InputError(f"{field}[{index}]: {array[index]} is not a finite number of at least 0")
        return array

    def _tables(self, rows: int) -> np.ndarray:
        """Return room for the tables: the same memory for every search in this thread."""
        size = TABLES * rows * self.states
        memory: np.ndarray = getattr(_room, "memory", np.empty(0))
        if memory.size < size:
            memory = _room.memory = np.empty(size)
        return memory[:size].reshape(TABLES, rows, self.states)


class _Search:
    """The search where no table proves the incumbent: branch and bound, with bounds from the tables."""

    def __init__(
        self,
        what: tuple[Any, ...],
        demand: np.ndarray,
        capacity: np.ndarray,
        offsets: np.ndarray,
        like: np.ndarray,
        blocked: np.ndarray,
        known: tuple[np.ndarray, np.ndarray],
        best: np.ndarray,
        value: float,
        tolerance: tuple[float, float],
    ) -> None:
        self.value, self.best, self.nodes, self.done = value, best, 0, False
        self._tolerance = tolerance
        self._what, self._known = what, known
        self._demand, self._capacity = demand, capacity
        self._offsets, self._like, self._blocked = offsets, like, blocked

    def by_depth(self, top: int, stop: Callable[[], bool] | None, most: float) -> None:
        """Search depth-first, through at most about ``most`` nodes."""
        kernels = _kernels()
        v, q, _, first, _ = self._what
        n = len(v)
        twin = kernels.earlier_twins(v, q, first, self._demand)
        place, choice = np.empty(3), np.empty(n + 1, dtype=np.int64)
        sums, left = np.empty((n + 1, 4)), np.empty((n + 1, len(self._capacity)), dtype=np.int64)
        kernels.begin_search(place, choice, sums, left, self.value, top, self._capacity)
        walk = (twin, place, choice, sums, left)
        rest = (self._demand, self._offsets, self._known, walk, self.best, self._tolerance, CHUNK)
        while place[0] >= 0 and place[2] < most and not (stop is not None and stop()):
            kernels.search(self._what, *rest)
        self.value, self.nodes, self.done = float(place[1]), int(place[2]), place[0] < 0

    def by_labels(self, top: int, stop: Callable[[], bool] | None) -> None:
        """Search breadth-first over partial sets that no other one dominates; needs exact tables."""
        kernels = _kernels()
        v, _, cap, _, goal = self._what
        n = len(v)
        state, sums = np.array([top]), np.zeros((1, 3))
        words = np.zeros((1, n // 64 + 1), dtype=np.uint64)
        grid = (self._offsets, self._like, self._blocked)
        for i in range(n):
            if stop is not None and stop():
                return
            state, sums, words = kernels.next_labels(
                i, state, sums, words, self._what, grid, self._known, self.value, self._tolerance
            )
            self.nodes += len(state)
            reached = np.where(sums[:, 2] == goal, np.minimum(sums[:, 0], cap) + np.sqrt(sums[:, 1]), -1.0)
            if len(reached) and reached.max() > self.value:
                at = int(reached.argmax())
                self.value = float(reached[at])
                bits = np.arange(n, dtype=np.uint64)
                self.best[:] = words[at, bits // np.uint64(64)] >> (bits % np.uint64(64)) & np.uint64(1) > 0
        self.done = True


def _channels(demand: np.ndarray, capacity: np.ndarray) -> Channels:
    """Return channels of one port."""
    n = len(demand)
    edges = np.column_stack([np.zeros(n, dtype=np.int64), np.arange(n)])
    return Channels(edges, demand, frozen_copy(capacity), np.zeros(n), 1, 0)


def _first_lambda(spread: np.ndarray, guess: np.ndarray) -> float:
    """Return the initial multiplier: that of the warm start, or one in the middle of what is possible."""
    square = float(spread[guess].sum())
    if square == 0.0:
        square = 0.5 * float(spread.sum()) or float(spread.sum())  # half of the least number is 0
    return math.sqrt(square)


def _reduced(demand: np.ndarray, capacity: np.ndarray, fits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the constraints without kinds that never bind, in common units; at least two kinds."""
    able = np.where(fits[:, None], demand, 0)
    binding = able.sum(axis=0) > capacity
    able, capacity = able[:, binding], capacity[binding]
    unit = np.gcd.reduce(able, axis=0) if len(able) else np.ones(len(capacity), dtype=np.int64)
    order = np.argsort(capacity // unit, kind="stable")  # the longest rows last
    able, capacity = (able // unit)[:, order], (capacity // unit)[order]
    for _ in range(2 - len(capacity)):
        able, capacity = np.pad(able, ((0, 0), (1, 0))), np.pad(capacity, (1, 0))
    return able, capacity


def _blocked(needs: np.ndarray, levels: np.ndarray, radix: np.ndarray) -> np.ndarray:
    """Return 0 where each need fits a state and minus infinity where it does not, shape (needs, states)."""
    states = np.arange(int(levels.prod()))
    result = np.zeros((len(needs), len(states)))
    for k, least in enumerate(needs.T):
        if least.any():
            left = states // radix[k] % levels[k]
            for row, need in zip(result, least, strict=True):
                row[left < need] = -np.inf
    return result


def _steps(capacity: np.ndarray, most: int) -> np.ndarray:
    """Return by how much each kind is to be divided so that there are at most ``most`` states."""
    step = np.ones(len(capacity), dtype=np.int64)
    while math.prod(int(c) // int(s) + 1 for c, s in zip(capacity, step, strict=True)) > most:
        widest = int(np.argmax(capacity // step))
        step[widest] = max(step[widest] + 1, -(-step[widest] * 5 // 4))
    return step
