"""Certificates of the allocation problem: prices, and decisions that are feasible without any tolerance.

Those of gangs have a tree besides, that of the search, and decisions in fractions: where floors are as large
as demands and servers are full, no doubles keep both.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.allocation.gang import AllocationGangInstance
from ...models.allocation.gang_bound import Prices
from ...models.allocation.instance import AllocationInstance
from ...models.allocation.setting import Setting
from ...verify import AllocationGang, RejectedError, numbers
from ..base import Optimum
from ..deep import unrolled

GAP = 1e-11
"""Relative gap at which the prices of a single slot are good enough."""

ULP = 2.0**-52


def of_stationary(instance: AllocationInstance, optimum: Optimum[Any]) -> tuple[Any, Any]:
    """Return the decision, and the prices that the oracle has found."""
    kept = optimum.certificate
    return _written(instance.setting, [(kept.weights, optimum.decision, kept.w, kept.price)])


def of_dynamic(instance: AllocationInstance, optimum: Optimum[Any]) -> tuple[Any, Any]:
    """Return the decision of every arrival pattern, and its prices, which are found again."""
    from ...models.allocation.interior_point import solve, within  # with kernels, when they are used

    patterns, first = np.unique(instance.arrivals, axis=0, return_index=True)
    return _written(
        instance.setting,
        (
            (weights, optimum.decision[slot], found.w, found.price)
            for weights, slot in zip(patterns.astype(np.float64), first.tolist(), strict=True)
            for found in [solve(instance.setting, weights, within(GAP))]
        ),
    )


def _written(setting: Setting, cases: Iterable[tuple[np.ndarray, ...]]) -> tuple[Any, Any]:
    """Return decisions, and w and prices, for cases of weights, an allocation, w and prices."""
    decision: list[Any] = []
    proof: dict[str, list[Any]] = {"w": [], "price": []}
    for weights, y, w, price in cases:
        decision.append(feasible(setting, y).tolist())
        proof["w"].append(_shares(w, weights))
        proof["price"].append(price.tolist())
    return decision, proof


def _shares(w: np.ndarray, weights: np.ndarray) -> list[list[float]]:
    """Return w, its rows scaled until their exact sums are the weights, or somewhat less."""
    sums = w.sum(axis=1)
    shares = w * np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0.0)[:, None]
    return [_within(*one).tolist() for one in zip(shares, weights, strict=True)]


def feasible(setting: Setting, y: np.ndarray) -> np.ndarray:
    """Return an allocation, feasible up to rounding, shrunk until it is feasible in exact arithmetic."""
    y = np.clip(y, 0.0, setting.edge_demand)
    for server, row in enumerate(setting.capacity):
        here = slice(setting.server_start[server], setting.server_start[server + 1])
        for k, capacity in enumerate(row):
            y[here, k] = _within(y[here, k], capacity)
    return y


def _within(parts: np.ndarray, most: float) -> np.ndarray:
    """Return numbers >= 0, made smaller where their exact sum is above ``most``, until it is not.

    ``fsum`` rounds the exact sum once, so that its sign is right.
    """
    if (total := math.fsum(parts)) > most:
        parts = parts * (most / total)
    step = ULP
    while math.fsum([*parts, -most]) > 0.0:
        parts = parts * (1.0 - step) if step < 1.0 else np.zeros_like(parts)
        step *= 2.0
    return parts


TINY = 2.0**-200
"""Parts of the largest amount that are none."""


def of_gang(instance: AllocationGangInstance, optimum: Optimum[np.ndarray]) -> tuple[Any, Any]:
    """Return the decision in fractions, and the tree of the search with the prices of its leaves."""
    of, kept = AllocationGang(instance.to_dict()), optimum.certificate
    used: list[Prices] = []
    numbers: dict[int, int] = {}

    def node(at: int, limits: dict[int, bool]) -> Generator[Any, Any, Any]:
        choice = int(kept.branch[at])
        if choice >= 0:
            off, on = kept.child[at].tolist()
            return [
                choice,
                (yield node(off, limits | {choice: False})),
                (yield node(on, limits | {choice: True})),
            ]
        prices = _as_proved(of, kept.prices[at], kept.weights, limits)
        if id(prices) not in numbers:
            numbers[id(prices)] = len(used)
            used.append(prices)
        return numbers[id(prices)]

    tree = unrolled(node(0, {}))
    told = [_told(prices, kept.weights) for prices in used]
    return _exactly(of, optimum.decision), {"prices": told, "tree": tree}


def _as_proved(of: AllocationGang, prices: Prices, weights: np.ndarray, limits: dict[int, bool]) -> Prices:
    """Return the prices of a leaf, or none at all where they do not show that nothing is feasible."""
    if prices.empty:
        of.prices = numbers([_told(prices, weights)], "prices", (1,), of.price)
        try:
            of.leaf(0, limits)
        except RejectedError:
            return Prices(0.0 * prices.w, 0.0 * prices.price, 0.0 * prices.task_price)
    return prices


def _told(prices: Prices, weights: np.ndarray) -> dict[str, Any]:
    """Return the prices of a leaf as the checker reads them."""
    return {
        "feasible": int(not prices.empty),
        "w": _shares(prices.w, 0.0 * weights if prices.empty else weights),
        "price": prices.price.tolist(),
        "more": np.maximum(prices.task_price, 0.0).tolist(),
        "less": np.maximum(-prices.task_price, 0.0).tolist(),
    }


def _exactly(of: AllocationGang, y: np.ndarray) -> list[list[list[int]]]:
    """Return a decision that is feasible up to rounding as fractions that are so exactly.

    Tasks that cannot keep their floors exactly, and jobs that then run too few, hold nothing.
    """
    y = np.where(y > TINY * y.max(initial=0.0), y, 0.0)
    on = {q for (_, q), row in zip(of.pairs, y, strict=True) if row.any()}
    while True:
        for tasks, least in zip(of.tasks, of.minimum, strict=True):
            if sum(q in on or not any(of.floor[q]) for q in tasks) < least:
                on.difference_update(tasks)
        flows = [_Flow(of, y[:, k].tolist(), k, on) for k in range(of.K)]
        short = {q for flow in flows for q in flow.short}
        if not short:
            return [[list(flow.held[pair].as_integer_ratio()) for flow in flows] for pair in of.pairs]
        on.discard(min(short))


class _Flow:
    """What pairs hold of a kind: amounts move from server to server until all limits hold exactly."""

    def __init__(self, of: AllocationGang, y: list[float], kind: int, on: set[int]) -> None:
        held = {
            pair: Fraction(amount) if pair[1] in on else Fraction(0)
            for pair, amount in zip(of.pairs, y, strict=True)
        }
        self.held, self._server = held, [server for _, server in of.edges]
        self._of_task: dict[int, list[tuple[int, int]]] = {}
        self._on_server: dict[int, list[tuple[int, int]]] = {}
        for edge, task in of.pairs:
            self._of_task.setdefault(task, []).append((edge, task))
            self._on_server.setdefault(self._server[edge], []).append((edge, task))
        self._free = [row[kind] for row in of.capacity]
        self._above = [-row[kind] if q in on else Fraction(0) for q, row in enumerate(of.floor)]
        self._room = [row[kind] for row in of.ceiling]
        for pair, amount in held.items():
            held[pair] = Fraction(0)
            self._add(pair, amount)
        for pair, amount in held.items():
            excess = max(-self._free[self._server[pair[0]]], -self._room[pair[1]])
            if excess > 0:
                self._add(pair, -min(amount, excess))
        self.short = [q for q in sorted(on) if not self._fill(q)]

    def _add(self, pair: tuple[int, int], amount: Fraction) -> None:
        edge, task = pair
        self.held[pair] += amount
        self._free[self._server[edge]] -= amount
        self._above[task] += amount
        self._room[task] -= amount

    def _fill(self, task: int) -> bool:
        """Give a task what it lacks of its floor, as long as there is a way; return whether it has all."""
        while self._above[task] < 0:
            found = self._way(task)
            if found is None:
                return False
            amount, way = found
            for pair, sign in way:
                self._add(pair, sign * amount)
        return True

    def _way(self, task: int) -> tuple[Fraction, list[tuple[tuple[int, int], int]]] | None:
        """Return how much of what is free, or above a floor, can move to a task, and by which steps."""
        waiting = deque([(task, -self._above[task], list[tuple[tuple[int, int], int]]())])
        seen = {task}
        while waiting:
            who, amount, way = waiting.popleft()
            for pair in self._of_task.get(who, ()):
                server = self._server[pair[0]]
                taken = [*way, (pair, 1)]
                if self._free[server] > 0:
                    return min(amount, self._free[server]), taken
                for other in self._on_server[server]:
                    if other[1] not in seen and self.held[other] > 0:
                        seen.add(other[1])
                        least, given = min(amount, self.held[other]), [*taken, (other, -1)]
                        if self._above[other[1]] > 0:
                            return min(least, self._above[other[1]]), given
                        waiting.append((other[1], least, given))
        return None
