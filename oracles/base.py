"""What every oracle returns: a value, a certified bound, and why it stopped."""

from __future__ import annotations

import enum
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..models.base import ClairvoyantError, InputError

ProgressCallback = Callable[[float, str], None]
"""Called with the fraction done (0 to 1) and a short text."""


class OracleError(ClairvoyantError):
    """A solver's answer did not survive our own check, or it reported a status we do not know."""


class WhyStopped(enum.Enum):
    """Why an oracle stopped; apart from what it holds."""

    PROVED = "proved"
    GAP_REACHED = "gap reached"
    TIME_LIMIT = "time limit"
    STALLED = "no further progress in floating point"
    ROUNDS = "all rounds are done"


@dataclass(frozen=True)
class Optimum:
    """What an oracle found and what it can certify.

    Attributes
    ----------
    value
        Objective of ``decision``, recomputed by the instance.
    bound
        Certified: nothing is better than this. ``None`` if nothing is proven.
    decision
        The decision itself; playing it gives ``value``.
    why_stopped, method, seconds
        Why and how, and how long it took.
    certificate
        The numbers from which anyone can compute ``bound`` again, where the method has them.
    minimised
        Whether less is better, so that ``bound`` is below ``value``.
    """

    value: float
    bound: float | None
    decision: Any
    why_stopped: WhyStopped
    method: str
    seconds: float
    certificate: Any = None
    minimised: bool = False

    @property
    def gap(self) -> float | None:
        """Distance of ``bound`` from ``value`` over max(1, |bound|), never negative."""
        if self.bound is None:
            return None
        sign = -1.0 if self.minimised else 1.0
        return relative_gap(sign * self.value, sign * self.bound)

    def __repr__(self) -> str:
        gap = "none proven" if self.gap is None else f"{self.gap:.2e}"
        bound = "none" if self.bound is None else f"{self.bound:.9g}"
        return (
            f"Optimum(value={self.value:.9g}, bound={bound}, gap={gap}, {self.why_stopped.value!r}, "
            f"{self.method!r}, {self.seconds:.3g} s)"
        )


def relative_gap(value: float, bound: float) -> float:
    """Return (bound - value) / max(1, |bound|), at least 0."""
    return max(0.0, (bound - value) / max(1.0, abs(bound)))


class Budget:
    """A relative gap to reach and a time limit to keep; both are checked here, once for all oracles."""

    def __init__(self, gap: float, time_limit: float | None) -> None:
        if not (isinstance(gap, (int, float)) and math.isfinite(gap) and gap >= 0):
            raise InputError(f"gap: {gap!r} is not a finite number of at least 0")
        if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit >= 0):
            raise InputError(f"time_limit: {time_limit!r} is not a number of seconds of at least 0")
        self.gap = float(gap)
        self.time_limit = math.inf if time_limit is None else float(time_limit)
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the budget was made."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float:
        """Seconds left, possibly infinite, never negative."""
        return max(0.0, self.time_limit - self.seconds)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.left <= 0.0


@dataclass(frozen=True)
class OracleEntry:
    """One line of the list of oracles.

    Attributes
    ----------
    function
        Takes an instance and at least ``gap``, ``time_limit`` and ``progress``; returns an :class:`Optimum`.
    problem
        The problem whose instances it takes.
    description
        What is optimised.
    methods
        The values of its ``method`` argument, the default first; empty if it has none.
    guarantee
        What the bound rests on.
    """

    function: Callable[..., Optimum]
    problem: str
    description: str
    methods: tuple[str, ...]
    guarantee: str


def run_cp_sat(solver: Any, model: Any, watch: Any = None) -> Any:
    """Run CP-SAT in a thread of its own, so that Ctrl-C ends it and is not swallowed; return its status.

    Its own handling of Ctrl-C stays off: it would leave none behind, and the next Ctrl-C would kill Python.
    """
    solver.parameters.catch_sigint_signal = False
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(solver.solve, model, watch)
        try:
            return running.result()
        except BaseException:  # Ctrl-C too must end the thread; it is raised again
            solver.stop_search()
            raise
