"""Certificates of the admission problem: what jobs pay for workers and servers, at the leaves of a tree.

Branch and price grows the tree; whether a leaf is closed is decided in the whole numbers of the checker.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.schedule import Schedule
from ...verify import Admission, RejectedError, changed, multiples
from ..base import Budget, Optimum
from ..deep import unrolled
from .bound import Priced
from .branch import Branching, Limits, Program, affordable, leaves
from .exact import FILL_WORK, PROGRAM_WORK

MOST_NODES, MOST_WORK = 500, 6.0
"""Nodes, and work, about seconds of a core, after which leaves are left open: the bound is then above the
value."""

STEP_WORK, TABLE_WORK, PRICE_WORK = 1e-5, 3e-8, 3e-6
"""The work of a step of the checker that fills a machine, of one of a job's table, and of taking a price."""

CLOSED, NEAR = 44, 20
"""A leaf is closed if its bound is above the best value by at most 2^-44 of it, the rounding of prices; or by
at most 2^-20, if that is no more than the oracle's bound."""


def of_schedule(instance: AdmissionInstance, optimum: Optimum[Schedule]) -> tuple[Any, Any]:
    """Return the schedule, or a better one, and the prices and the tree that prove that it is the best."""
    decision = [side.tolist() for side in (optimum.decision.workers, optimum.decision.servers)]
    search = _Search(instance, decision, optimum.bound or 0.0, optimum.certificate)
    tree = search.grow(MOST_NODES) if affordable(instance) else 0
    used = sorted({number for number, _ in leaves(tree)})
    prices = [search.prices[number].tolist() for number in used]
    return search.decision, {"prices": prices, "tree": unrolled(_renumbered(tree, used))}


def _renumbered(tree: Any, used: list[int]) -> Generator[Any, Any, Any]:
    """Return a tree whose leaves have the places of their prices among those that are used."""
    if isinstance(tree, int):
        return used.index(tree)
    *what, lower, upper = tree
    return [*what, (yield _renumbered(lower, used)), (yield _renumbered(upper, used))]


class _Counted(Budget):
    """As much time as a search's :attr:`_Search.work` takes."""

    def __init__(self, search: _Search) -> None:
        super().__init__(0.0, None)
        self._search = search

    @property
    def over(self) -> bool:
        """Whether the work is done."""
        return self._search.work >= MOST_WORK


class _Program(Program):
    """The linear program, whose solver is not asked for more than is counted."""

    def solve(self, budget: Budget) -> tuple[float, np.ndarray] | None:
        """Solve the program, unless the work is done."""
        return None if budget.over else super().solve(budget)

    def _packed(self, side: int, counts: np.ndarray, _: Budget | None) -> np.ndarray | None:
        """Find machines by the rule that is quick."""
        return super()._packed(side, counts, None)


class _Search(Branching):
    """The search for a tree of the checker, and the best decision that was met."""

    def __init__(
        self, instance: AdmissionInstance, decision: list[Any], bound: float, capacity: Priced | None
    ) -> None:
        self.of, self.decision = Admission(instance.to_dict()), decision
        self.value: int = self.of.value(decision)
        self._bound = math.floor(Fraction(bound) * self.of.scale)
        steps = [(self.of.T - arrival + 1) * work * most for arrival, work, _, _, most, _ in self.of.jobs]
        self._table = TABLE_WORK * sum(steps) / max(1, len(steps))
        self._price = PRICE_WORK * 2 * self.of.T * len(steps)
        super().__init__(instance, _Counted(self), capacity)

    @cached_property
    def program(self) -> Program:
        """The linear program, at some node."""
        return _Program(self.instance)

    @property
    def work(self) -> float:
        """What was done so far, counted in steps: it is the same on all machines."""
        work = STEP_WORK * self.of.steps + self._table * self.of.best.cache_info().misses
        work += self._price * len(self.prices)
        if self.programs:
            work += PROGRAM_WORK * self.program.rows**1.5 * self.programs + FILL_WORK * self.program.steps
        return work

    @property
    def most(self) -> int:
        """The bound at which a leaf is closed."""
        near = min(self._bound, self.value + (self.value >> NEAR))
        return max(self.value + (self.value >> CLOSED), near)

    @property
    def scale(self) -> int:
        """How many of the checker's units are 1."""
        return self.of.scale

    def keep(self, price: np.ndarray) -> int:
        """Keep prices, for the checker as well, and return their number."""
        self.of.prices.append(multiples(changed(price.tolist(), Fraction), self.of.scale))
        return super().keep(price)

    def proof(self, number: int, limits: Limits) -> int | None:
        """Return what the checker takes a leaf for; ``None`` if nothing is in it."""
        return self.of.leaf(number, limits)

    def met(self, decision: list[Any]) -> None:
        """Take a solution of a program as the best decision if it is better."""
        with suppress(RejectedError):  # the solver's tolerance may be a worker
            value = self.of.value(decision)
            if value > self.value:
                self.decision, self.value = decision, value
