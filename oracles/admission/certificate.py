"""Certificates of the admission problem: what jobs pay for workers and servers, at the leaves of a tree.

Branch and price grows the tree; whether a leaf is closed is decided in the whole numbers of the checker.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.schedule import Schedule
from ...verify import Admission, RejectedError
from ..base import Budget, Optimum
from ..deep import unrolled
from .bound import Priced
from .branch import Branching, Limits, affordable, leaves

MOST_NODES, MOST_WORK = 500, 2**39
"""Nodes after which leaves are left open: the bound is then above the value; and the most nodes times slots,
machines and the fourth power of the jobs, about like which the time grows that they take."""

CLOSED, NEAR = 44, 20
"""A leaf is closed if its bound is above the best value by at most 2^-44 of it, the rounding of prices; or by
at most 2^-20, if that is no more than the oracle's bound."""


def of_schedule(instance: AdmissionInstance, optimum: Optimum[Schedule]) -> tuple[Any, Any]:
    """Return the schedule, or a better one, and the prices and the tree that prove that it is the best."""
    decision = [side.tolist() for side in (optimum.decision.workers, optimum.decision.servers)]
    search = _Search(instance, decision, optimum.bound or 0.0, optimum.certificate)
    tree = search.grow(_most_nodes(instance)) if affordable(instance) else 0
    used = sorted({number for number, _ in leaves(tree)})
    prices = [search.prices[number].tolist() for number in used]
    return search.decision, {"prices": prices, "tree": unrolled(_renumbered(tree, used))}


def _most_nodes(instance: AdmissionInstance) -> int:
    """Return how many nodes a tree may have."""
    setting = instance.setting
    machines = len(setting.worker_units) + len(setting.server_units)
    return min(
        MOST_NODES, MOST_WORK // (setting.horizon * max(1, machines) * max(1, len(instance.jobs)) ** 4)
    )


def _renumbered(tree: Any, used: list[int]) -> Generator[Any, Any, Any]:
    """Return a tree whose leaves have the places of their prices among those that are used."""
    if isinstance(tree, int):
        return used.index(tree)
    *what, lower, upper = tree
    return [*what, (yield _renumbered(lower, used)), (yield _renumbered(upper, used))]


class _Search(Branching):
    """The search for a tree of the checker, and the best decision that was met."""

    def __init__(
        self, instance: AdmissionInstance, decision: list[Any], bound: float, capacity: Priced | None
    ) -> None:
        self.of, self.decision = Admission(instance.to_dict()), decision
        self.value: int = self.of.value(decision)
        self._bound = math.floor(Fraction(bound) * self.of.scale)
        super().__init__(instance, Budget(0.0, None), capacity)

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
        self.of.take([price.tolist()])
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
