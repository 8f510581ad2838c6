"""ESDP as printed (Algorithms 1 and 2), kept runnable because claims depend on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...models.base import InputError, numbers
from ...models.selection.setting import Observation
from ..base import Traits, shown_arrivals
from .esdp import Esdp

TABLE_BYTES = 2**32
"""The most memory a dense table may take."""

FORMS = ("printed", "values", "dropped")


@dataclass
class EsdpPrinted(Esdp):
    r"""Algorithm 1 as printed: it decides for all ports, then drops idle ones; ties: the last decision stays.

    What it drops are the channels of ports without jobs; of decisions with the largest index the last one
    made for all ports stays, if it is one and no channel is untried. It is repaired only where it cannot run:
    untried channels come first, in place of their infinite sigma-hat of (10), and the programs P4(s) are
    solved exactly. As printed, alpha \|E| stands for m in (11), (18) and (19), so Upsilon.x counts at most as
    the largest s of S(t), floor(xi(t) alpha \|E|). Its expected regret is linear in T where other
    ports could use the devices that it plans for ports without jobs.

    Parameters
    ----------
    delta
        One of :data:`.statistics.DELTAS`.
    g
        One of :data:`.statistics.GS`.
    alpha
        In [0, 1].
    """

    alpha: float = 0.5
    gap: float = field(default=0.0, init=False)
    name: str = field(default="esdp-printed", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        source="Zhao et al., IEEE TPDS 34(1) (2023), Algorithms 1 and 2 as printed",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        real = isinstance(self.alpha, (int, float)) and not isinstance(self.alpha, bool)
        if not real or not 0 <= self.alpha <= 1:
            raise InputError(f"alpha: {self.alpha!r} is not in [0, 1]")

    def _most(self) -> float:
        return self.alpha * self._setting.channels

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the best decision for all ports, less the channels of ports without jobs."""
        values, spread = self.index(observation.slot)
        x = self._last[b""] = self._setting.knapsack.best(
            values,
            spread,
            first=self._statistics.untried,
            guess=self._last.get(b""),
            cap=math.floor(self._xi[observation.slot] * self._most()),
        ).x
        return x & self._setting.open(shown_arrivals(observation))


def algorithm_2(
    upsilon: Any, sigma2: Any, demand: Any, capacity: Any, s_max: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Run Algorithm 2 exactly as printed, with its dense table over s, c' and i.

    It has no branch that hands x(i + 1) on where a channel is not taken, so the x it returns is often not
    the one its values belong to.

    ``upsilon`` and ``sigma2`` are Upsilon and Sigma^2 of each channel, ``demand`` and ``capacity`` are A and
    c, all whole and >= 0. Returned are x\*(s), shape (s_max + 1, E), and V(s), shape (s_max + 1,), minus
    infinity where no x reaches s. A table that takes more than ``TABLE_BYTES`` is an InputError.
    """
    return _dense(upsilon, sigma2, demand, capacity, s_max, repaired=False)


def algorithm_2_repaired(
    upsilon: Any, sigma2: Any, demand: Any, capacity: Any, s_max: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Solve P4(s) for all s by the dense table with the correct recursion.

    V(s, c', i) = max(V(s, c', i + 1), V(max(s - Upsilon, 0), c' - A, i + 1) + Sigma^2), the second of them
    only where A <= c' in every kind, and x follows the larger one. Arguments, results and errors are those of
    :func:`algorithm_2`.
    """
    return _dense(upsilon, sigma2, demand, capacity, s_max, repaired=True)


def _dense(
    upsilon: Any, sigma2: Any, demand: Any, capacity: Any, s_max: int, *, repaired: bool
) -> tuple[np.ndarray, np.ndarray]:
    from . import kernels as _kernels

    c = numbers(capacity, "capacity", (None,), integer=True)
    squares = numbers(sigma2, "sigma2", (None,), integer=True)
    count = len(squares)
    steps = numbers(upsilon, "upsilon", (count,), integer=True)
    need = numbers(demand, "demand", (count, len(c)), integer=True)
    if isinstance(s_max, bool) or not isinstance(s_max, (int, np.integer)) or s_max < 0:
        raise InputError(f"s_max: {s_max!r} is not a whole number of at least 0")
    size = (int(s_max) + 1) * math.prod(int(k) + 1 for k in c) * (8 + -(-count // 8) * (1 if repaired else 2))
    if size > TABLE_BYTES:
        raise InputError(
            f"capacity: the dense table over s, c' and i would take {size:,} bytes, more than {TABLE_BYTES:,}"
        )
    exact = np.float32 if squares.sum() < 2**24 else np.float64  # half the memory where it holds every sum
    solve = _kernels.dense_repaired if repaired else _kernels.dense_printed
    x, values = solve(steps, squares.astype(exact), need, c, int(s_max))
    return x, values.astype(np.float64)


def select(x: np.ndarray, values: np.ndarray, sigma2: Any, form: str = "printed") -> tuple[int, np.ndarray]:
    r"""Return s\* of (21) and its x, the smallest s of those that tie.

    ``x`` and ``values`` are as returned by :func:`algorithm_2`. The form "printed" scores every s with s +
    sqrt(Sigma^2.x\*(s)), where x\*(s) = 0 if no x reaches s; "values" scores s + sqrt(V(s)) in its place
    where V(s) is finite; "dropped" leaves out every s that no x reaches, as it should be.
    """
    if form not in FORMS:
        raise InputError(f"form: {form!r} is not one of {', '.join(FORMS)}")
    reached = values > -np.inf
    square = x @ np.asarray(sigma2, dtype=np.float64)
    if form == "values":
        square = np.where(reached, values, square)
    scores = np.arange(len(values)) + np.sqrt(square)
    if form == "dropped":
        scores = np.where(reached, scores, -np.inf)
    best = int(np.argmax(scores))
    return best, x[best]
