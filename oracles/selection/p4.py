"""All P4(s) of (20) at once: a Pareto staircase of (Upsilon.x, Sigma2.x) per vector of used devices.

The recursion of Sec. 3.2 with its first branch restored is::

    V(s, c', i) = max(V(s, c', i+1), V(max(s - Upsilon, 0), c' - A, i+1) + Sigma2)

where the second branch exists only if c' >= A in every component and its V is not minus infinity. As a
function of s, V is a staircase that falls only at sums Upsilon.x of feasible sets. So one keeps the corners
of the staircase instead of all s, and, running through the channels once, only for the vectors of devices
that some set of them uses. Each corner carries its set as bits, so that no layer is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from ...models.base import InputError, numbers
from ...models.selection.program import whole_statistics
from ...models.selection.setting import Setting
from ..base import OracleError

UNATTAINABLE = -1
"""V(s) where no feasible set reaches s; the paper's minus infinity. Attainable values are >= 0."""

MOST_BYTES = 2**30
"""The most that the corners of all staircases may take."""

MOST_WHOLE = 2**62
"""The largest level, and the most capacity vectors that are numbered."""

MOST_LEVELS = 2**27
"""The most values V(s) that are written out one by one."""

_WORD = 64


@dataclass(frozen=True, eq=False)
class BudgetOptima:
    """The optima of P4(s) for s = 0..s_max, as the corners of the staircase V(s)."""

    # Upsilon.x at each corner, ascending, shape (F,). V(s) is the value of the first corner that has at least
    # s.
    reach: np.ndarray
    value: np.ndarray  # Sigma2.x at each corner, falling, shape (F,)
    x: np.ndarray  # the sets themselves, shape (F, E)
    s_max: int  # the last s; s above ``reach[-1]`` are unattainable
    points: int  # the most corners that were kept at once, over all vectors of used devices

    def corner(self, s: int) -> int | None:
        """Return the index of the corner that solves P4(s), ``None`` if s is unattainable; s is 0..s_max."""
        index = int(np.searchsorted(self.reach, _level("s", s, self.s_max)))
        return index if index < len(self.reach) else None

    @cached_property
    def values(self) -> np.ndarray:
        """V(s) for s = 0..s_max, ``UNATTAINABLE`` where no set reaches s, shape (s_max + 1,).

        More than 2**27 numbers are an InputError; the corners hold the same.
        """
        if self.s_max >= MOST_LEVELS:
            raise InputError(f"s_max: {self.s_max} is too many values to write out; use reach and value")
        corner = np.searchsorted(self.reach, np.arange(self.s_max + 1))
        result: np.ndarray = np.append(self.value, UNATTAINABLE)[corner]
        result.setflags(write=False)
        return result


def p4_optima(
    setting: Setting, upsilon: Any, sigma2: Any, arrivals: Any = None, s_max: int | None = None
) -> BudgetOptima:
    """Solve P4(s) of (20) over Omega(t) for every s = 0..s_max.

    ``upsilon`` and ``sigma2`` are the rounded statistics (16) and (17), whole, from 0 to 2**52. By default
    every port has a job, and ``s_max``, the end of S(t) in (19), is the largest attainable Upsilon.x. Each
    set is checked again: feasible, and worth what the staircase says. Staircases that would not fit in memory
    are an InputError, which says how large the table of capacities is.
    """
    reach, gain = whole_statistics(setting, upsilon, sigma2)
    given = np.ones(setting.ports) if arrivals is None else arrivals
    jobs = numbers(given, "arrivals", (setting.ports,), integer=True, high=1)
    if s_max is not None:
        s_max = _level("s_max", s_max, MOST_WHOLE)
    usable = setting.open(jobs) & (setting.demand <= setting.capacity).all(axis=1)
    channels = np.flatnonzero(usable)
    demand, capacity = _binding(setting.demand[channels], setting.capacity)
    free = np.equal(demand, 0).all(axis=1)
    staircase = _staircase(demand, capacity, reach[channels], gain[channels], free)
    x = np.zeros((len(staircase.reach), setting.channels), dtype=bool)
    x[:, channels] = _unpack(staircase.sets, len(channels))
    _check(setting, x, jobs, reach, gain, staircase)
    for array in (staircase.reach, staircase.value, x):
        array.setflags(write=False)
    last = int(staircase.reach[-1]) if s_max is None else s_max
    return BudgetOptima(staircase.reach, staircase.value, x, last, staircase.points)


def _level(field: str, value: Any, most: int) -> int:
    """Return a level s, which may be beyond what floating point tells apart, or raise an InputError."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) <= most:
        raise InputError(f"{field}: {value!r} is not a whole number from 0 to {most}")
    return int(value)


@dataclass(frozen=True)
class Selected:
    """The selection of (21)."""

    s: int  # the attainable s with the largest score
    x: np.ndarray  # an optimal set of P4(s), shape (E,)
    score: float  # s + sqrt(Sigma2.x)


def select(optima: BudgetOptima) -> Selected:
    """Select by (21): the attainable s in 0..s_max that maximises s + sqrt(V(s)).

    Between two corners V is constant and s grows, so the best s is a corner's own, cut off at s_max. If s_max
    cuts nothing off, the score is the maximum of Upsilon.x + sqrt(Sigma2.x) over all feasible sets: every x
    is feasible for P4 at s = Upsilon.x, and no optimum x of P4(s) has s above Upsilon.x.
    """
    first_beyond = int(np.searchsorted(optima.reach, optima.s_max))
    s = np.minimum(optima.reach[: first_beyond + 1], optima.s_max)
    scores = s + np.sqrt(optima.value[: first_beyond + 1].astype(np.float64))
    best = int(np.argmax(scores))
    return Selected(int(s[best]), optima.x[best], float(scores[best]))


@dataclass(frozen=True, eq=False)
class _Staircase:
    reach: np.ndarray
    value: np.ndarray
    sets: np.ndarray
    points: int


def _binding(demand: np.ndarray, capacity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return demands and capacities of the kinds that can run out, the only ones the recursion needs."""
    total = demand.sum(axis=0)
    scarce = total > capacity
    return np.ascontiguousarray(demand[:, scarce]), capacity[scarce]


def _staircase(
    demand: np.ndarray, capacity: np.ndarray, reach: np.ndarray, gain: np.ndarray, free: np.ndarray
) -> _Staircase:
    """Return the staircase of all sets; ``free`` channels need nothing scarce and are always taken."""
    from .kernels import sweep

    table = 1
    strides = []
    for c in capacity.tolist():
        strides.append(table)
        table *= c + 1
    if table > MOST_WHOLE:
        raise InputError(
            f"capacity: {_count(table)} capacity vectors are more than can be numbered; divide demands and "
            "capacities by a factor that they share, or solve budget_program for single s instead"
        )
    stride = np.array(strides, dtype=np.int64)
    words = max(1, -(-len(demand) // _WORD))
    base = np.zeros(words, dtype=np.uint64)
    for i in np.flatnonzero(free).tolist():
        base[i // _WORD] |= np.uint64(1 << (i % _WORD))
    taken = np.flatnonzero(~free)
    most = MOST_BYTES // (8 * (4 + words))  # two numbers and the set, and two numbers per state
    level, value, sets, points, done = sweep(
        demand[taken],
        stride,
        capacity,
        demand[taken] @ stride,
        reach[taken],
        gain[taken],
        taken,
        base,
        int(reach[free].sum()),
        int(gain[free].sum()),
        most,
    )
    if done < len(taken):
        raise _too_large(table, f" after {done} of {len(taken)} channels")
    return _Staircase(level[::-1].copy(), value[::-1].copy(), sets[::-1].copy(), int(points))


def _too_large(table: int, when: str) -> InputError:
    return InputError(
        f"capacity: the staircases of a table of {_count(table)} capacity vectors would take more than "
        f"{MOST_BYTES / 2**30:g} GiB{when}; solve budget_program for single s instead"
    )


def _count(number: int) -> str:
    return str(number) if number < 10**6 else f"{number:.2e}"


def _unpack(sets: np.ndarray, channels: int) -> np.ndarray:
    """Return the bits of each row of 64-bit words as booleans, shape (F, channels)."""
    index = np.arange(channels)
    shift = (index % _WORD).astype(np.uint64)
    return (sets[:, index // _WORD] >> shift) & np.uint64(1) > 0


def _check(
    setting: Setting,
    x: np.ndarray,
    jobs: np.ndarray,
    reach: np.ndarray,
    gain: np.ndarray,
    staircase: _Staircase,
) -> None:
    """Raise unless every set is feasible and worth what its corner says."""
    taken = x.astype(np.int64)
    fits = (taken @ setting.demand <= setting.capacity).all(axis=1) & ~x[:, ~setting.open(jobs)].any(axis=1)
    correct = (taken @ reach == staircase.reach) & (taken @ gain == staircase.value)
    for i in np.flatnonzero(~(fits & correct))[:1]:
        raise OracleError(f"p4: the set of s = {staircase.reach[i]} fails the check: {x[i].tolist()}")
