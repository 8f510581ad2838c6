"""Oracles of the allocation problem: stationary, per-slot and gang optimum, each with a certified bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from ...models.allocation.bound import certificate_bound as certificate_bound
from ...models.allocation.bound import certified, normal, responses
from ...models.allocation.gang import AllocationGangInstance
from ...models.allocation.gang_search import best_gang
from ...models.allocation.instance import AllocationInstance
from ...models.allocation.program import scaled_program
from ...models.allocation.setting import Setting
from ...models.base import frozen, numbers
from ...models.draw import choose
from ...models.program import SolverError
from ..base import (
    CANCELLED,
    Budget,
    Optimum,
    OracleEntry,
    OracleError,
    ProgressCallback,
    WhyStopped,
    concluded,
    relative_gap,
    rounding,
    so_far,
)
from ..slots import Patterns, SlotCertificate
from .certificate import of_dynamic, of_gang, of_stationary

INTERIOR_POINT = "interior point"
CVXPY = "cvxpy"
METHODS = (INTERIOR_POINT, CVXPY)

KEPT_BYTES = 2**28
"""How many bytes of per-slot decisions are kept; the others are computed again on demand."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """The certificate of a bound: :func:`certificate_bound` computes it again from these numbers alone."""

    weights: np.ndarray  # N, jobs per port, shape (L,)
    w: np.ndarray  # N_l times a point of the simplex over kinds, shape (L, K)
    price: np.ndarray  # lambda >= 0, price of each server's devices, shape (R, K)


@dataclass(frozen=True)
class _Found:
    """The unchecked result of a method: an allocation, a certificate and why it stopped."""

    y: np.ndarray
    price: np.ndarray
    w: np.ndarray
    why: WhyStopped
    method: str


def stationary(
    instance: AllocationInstance,
    *,
    method: str = INTERIOR_POINT,
    gap: float = 1e-8,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]:
    """Return the best allocation to hold in every slot, max over y in Y of sum_t q(x(t), y).

    Parameters
    ----------
    instance
        Only its setting and the arrival counts N_l = sum_t x_l(t) matter.
    method
        "interior point" (the structured method of :mod:`..models.allocation.interior_point`) or "cvxpy"
        (the declared program, through HiGHS if all utilities are linear and Clarabel otherwise).
    gap
        Relative gap at which to stop.
    time_limit
        Seconds; a method that runs out returns its incumbent, with a bound. CVXPY's own translation and the
        first compilation of the kernels cannot be interrupted.
    progress
        Called with the fraction done and a text.

    Returns
    -------
    Optimum
        ``decision`` is y[edge, kind], ``certificate`` a :class:`Certificate`.
    """
    budget = Budget(gap, time_limit)
    choose(method, METHODS, "method")
    solve = _by_interior_point if method == INTERIOR_POINT else _by_cvxpy
    counts = instance.arrival_counts.astype(np.float64)
    found = solve(instance.setting, counts, budget, progress)
    checked = _checked(instance.setting, counts, found)
    return concluded(
        checked.y,
        checked.value,
        checked.bound,
        budget,
        found.method,
        checked.certificate,
        rounding=rounding(checked.y.size, checked.gross),
        otherwise=WhyStopped.TIME_LIMIT if found.why is WhyStopped.TIME_LIMIT else WhyStopped.STALLED,
        scale=checked.scale,
    )


@dataclass(frozen=True)
class _Checked:
    """A feasible allocation, its value by the setting, and our own bound and what proves it.

    ``gross`` is what the value is made of, its gains and its overhead; ``scale`` as in :class:`Optimum`.
    """

    y: np.ndarray
    value: float
    gross: float
    bound: float | None
    scale: float
    certificate: Certificate


def _checked(setting: Setting, weights: np.ndarray, found: _Found) -> _Checked:
    """Check what a method has found; ports that lose by it hold nothing."""
    y = setting.project(found.y)
    y[~(setting.port_rewards(y)[setting.port] > 0.0)] = 0.0
    value = float(weights @ setting.port_rewards(y))
    broken = setting.violations(y)
    if broken:
        raise OracleError(f"{found.method}: the allocation is infeasible: {broken[0]}")
    gross = float(weights @ (setting.gains(y) + setting.penalties(y)))
    certificate = Certificate(weights, normal(found.w), normal(found.price))
    bound, parts = certified(setting, weights, certificate.w, certificate.price)
    if not math.isfinite(bound):
        return _Checked(y, value, gross, None, 0.0, certificate)
    if bound < value - rounding(y.size, gross):
        raise OracleError(f"{found.method}: the bound {bound!r} is below the value {value!r}")
    return _Checked(y, value, gross, bound, CANCELLED * parts, certificate)


def _by_interior_point(
    setting: Setting, weights: np.ndarray, budget: Budget, progress: ProgressCallback | None
) -> _Found:
    from ...models.allocation import interior_point

    report = _gap_report(progress, budget.gap)

    def stop(iteration: int, value: float, bound: float, gross: float) -> bool:
        if report is not None:
            report(iteration, value, bound)
        return relative_gap(value, bound, CANCELLED * gross) <= budget.gap or budget.over

    found = interior_point.solve(setting, weights, stop)
    why = WhyStopped.TIME_LIMIT if budget.over else WhyStopped.STALLED
    return _Found(found.y, found.price, found.w, why, "structured interior point method")


def _gap_report(progress: ProgressCallback | None, goal: float) -> Callable[[int, float, float], None] | None:
    """Turn a progress callback into one on gaps: half the digits, half the work."""
    if progress is None:
        return None
    digits = -math.log10(max(goal, 1e-16))

    def report(iteration: int, value: float, bound: float) -> None:
        done = -math.log10(min(1.0, max(relative_gap(value, bound), 1e-16))) / max(digits, 1e-9)
        progress(min(1.0, done), f"{so_far(value, bound)}; iteration {iteration}")

    return report


def _by_cvxpy(
    setting: Setting, weights: np.ndarray, budget: Budget, progress: ProgressCallback | None
) -> _Found:
    from ...models.allocation.interior_point import least_overhead

    share = least_overhead(setting)
    pays = (share.sum(axis=1) > 1.0) & (weights > 0.0)
    program, units = scaled_program(setting, np.where(pays, weights, 0.0))
    name = "HiGHS" if program.linear else "Clarabel"
    if progress is not None:
        progress(0.0, f"{name} through CVXPY")
    nothing = _Found(
        y=np.zeros(setting.shape),
        price=np.zeros(setting.capacity.shape),
        w=_spread(weights, share),
        why=WhyStopped.TIME_LIMIT if budget.over else WhyStopped.STALLED,
        method=f"{name} through CVXPY",
    )
    if budget.over or not pays.any():
        return nothing
    options: dict[str, Any] = {} if math.isinf(budget.left) else {"time_limit": budget.left}
    if not program.linear:
        tight = max(1e-12, 0.1 * budget.gap)
        options |= {"tol_gap_rel": tight, "tol_gap_abs": tight, "accept_unknown": True}
    try:
        solved = program.solve(**options)
    except SolverError as error:
        raise OracleError(str(error)) from error
    why = {
        "optimal": WhyStopped.GAP_REACHED,
        "optimal_inaccurate": WhyStopped.STALLED,
        "user_limit": WhyStopped.TIME_LIMIT,
    }.get(solved.status)
    if why is None:
        raise OracleError(f"{nothing.method}: status {solved.status!r} for a problem that has an optimum")
    if solved.value is None:
        return replace(nothing, why=why)
    price = np.reshape(np.maximum(solved.duals["capacity"], 0.0), setting.capacity.shape)
    return _Found(
        y=np.reshape(solved.variables["y"], setting.shape) * units.entry,
        price=price * (units.money / units.row),
        w=_spread(weights, np.where(pays[:, None], solved.duals["overhead"], share)),
        why=why,
        method=nothing.method,
    )


def _spread(weights: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return ``w`` clipped at 0 and scaled so that row l sums to N_l; evenly where a row is all zero."""
    clipped = np.maximum(w, 0.0)
    clipped[clipped.sum(axis=1) <= 0.0] = 1.0
    return clipped * (weights / clipped.sum(axis=1))[:, None]


def prefix_optima(
    instance: AllocationInstance, slots: Any, *, gap: float = 1e-8
) -> tuple[np.ndarray, np.ndarray]:
    """Return value and bound of the stationary optimum of the first t slots, for each t in ``slots``."""
    ends = numbers(slots, "slots", (None,), integer=True, high=instance.setting.slots)
    counts = np.zeros((len(ends), instance.setting.ports))
    total = np.zeros(instance.setting.ports)
    at = 0
    for i in np.argsort(ends, kind="stable"):
        total = total + instance.arrivals[at : ends[i]].sum(axis=0)
        at = int(ends[i])
        counts[i] = total
    patterns, index = np.unique(counts, axis=0, return_inverse=True)
    values = np.zeros(len(patterns))
    bounds = np.zeros(len(patterns))
    for i, weights in enumerate(patterns):
        found = _by_interior_point(instance.setting, weights, Budget(gap, None), None)
        checked = _checked(instance.setting, weights, found)
        values[i], bounds[i] = checked.value, np.inf if checked.bound is None else checked.bound
    return values[index], bounds[index]


class SlotDecisions(Sequence[np.ndarray]):
    """One allocation per slot, equal for slots with equal arrivals; read-only.

    At most ``KEPT_BYTES`` of allocations are kept. The others are solved for again on demand, which
    gives the same numbers, since the method is deterministic.
    """

    def __init__(
        self, index: np.ndarray, solve: Callable[[int], np.ndarray], kept: dict[int, np.ndarray]
    ) -> None:
        self._index = index
        self._solve = solve
        self._kept = kept

    def __len__(self) -> int:
        return len(self._index)

    @overload
    def __getitem__(self, slot: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, slot: slice) -> list[np.ndarray]: ...
    def __getitem__(self, slot: int | slice) -> np.ndarray | list[np.ndarray]:
        if isinstance(slot, slice):
            return [self[i] for i in range(*slot.indices(len(self)))]
        pattern = int(self._index[slot])
        return self._kept[pattern] if pattern in self._kept else self._solve(pattern)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[slot] for slot in range(len(self)))


def dynamic(
    instance: AllocationInstance,
    *,
    gap: float = 1e-8,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]:
    """Return the sum of all slots' own optima, sum_t max over y in Y of q(x(t), y).

    Slots with equal arrivals share one solve. When the time is up, the patterns not reached hold the
    stationary allocation, and their bound is the stationary certificate's, so the total stays certified.

    Parameters
    ----------
    instance, gap, time_limit, progress
        As for :func:`stationary`; the gap is that of every single slot.

    Returns
    -------
    Optimum
        ``decision`` is a :class:`SlotDecisions`, ``certificate`` a :class:`SlotCertificate`.
    """
    budget = Budget(gap, time_limit)
    setting, patterns = instance.setting, Patterns(instance.arrivals, budget, progress)
    weights = patterns.arrivals.astype(np.float64)
    fallback, values, bounds = _fallback(instance, weights, budget)
    patterns.values, patterns.bounds = values, bounds
    gross, scales = np.zeros(len(patterns)), np.zeros(len(patterns))
    decisions: dict[int, np.ndarray] = {}
    late = set(range(len(patterns)))
    room = KEPT_BYTES
    for i in patterns:
        found = _by_interior_point(setting, weights[i], budget, None)
        checked = _checked(setting, weights[i], found)
        late.discard(i)
        gross[i], scales[i] = checked.gross, checked.scale
        if checked.value >= values[i]:
            values[i] = checked.value
            room -= checked.y.nbytes
            if room >= 0 or found.why is WhyStopped.TIME_LIMIT:
                decisions[i] = frozen(checked.y)
        else:
            decisions[i] = fallback
        bounds[i] = min(bounds[i], math.inf if checked.bound is None else checked.bound)

    def again(pattern: int) -> np.ndarray:
        if pattern in late:
            return fallback
        found = _by_interior_point(setting, weights[pattern], Budget(gap, None), None)
        return frozen(_checked(setting, weights[pattern], found).y)

    above = float(patterns.repeats @ bounds)
    return concluded(
        SlotDecisions(patterns.index, again, decisions),
        float(patterns.repeats @ values),
        above + rounding(setting.slots, above) if math.isfinite(above) else None,
        budget,
        "structured interior point method, once per arrival pattern",
        SlotCertificate(patterns.arrivals, patterns.index, values, bounds),
        rounding=rounding(fallback.size + setting.slots, float(patterns.repeats @ gross)),
        scale=float(patterns.repeats @ scales),
    )


def _fallback(
    instance: AllocationInstance, patterns: np.ndarray, budget: Budget
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return an allocation for slots that time does not reach, and each pattern's value and bound.

    It is the stationary one, in which no port loses. With w and price of its certificate, scaled to
    a slot, and also with price 0, port l adds Phi_l(x_l), convex in x_l with Phi_l(0) = 0, so at most
    x_l / m_l Phi_l(m_l) where m_l is its largest arrival. Without a time limit nothing is late and nothing
    is computed.
    """
    setting = instance.setting
    y = np.zeros(setting.shape)
    if math.isinf(budget.time_limit):
        return y, np.zeros(len(patterns)), np.full(len(patterns), np.inf)
    counts = instance.arrival_counts.astype(np.float64)
    found = _by_interior_point(setting, counts, budget, None)
    y = _checked(setting, counts, found).y
    most = instance.arrivals.max(axis=0, initial=0).astype(np.float64)
    once = np.divide(1.0, most, out=np.zeros_like(most), where=most > 0)
    share = np.divide(most, counts, out=np.zeros_like(most), where=counts > 0)
    charge = found.w * share[:, None] * setting.overhead
    bounds = []
    for price in (found.price / max(1, setting.slots), np.zeros(setting.capacity.shape)):
        gained, paid = responses(setting, most, charge, price)
        entry = (gained - paid + 2.0**-48 * (gained + paid)).sum(axis=1)
        port = np.bincount(setting.port, weights=entry, minlength=setting.ports)
        above = float(np.sum(price * setting.capacity)) + patterns @ (once * port)
        rounded = max(1e-12, 2.0**-52 * (gained.size + setting.ports + 64))  # of sums one after the other
        bounds.append(above * (1.0 + rounded) + math.ulp(0.0) * np.count_nonzero(gained))
    return frozen(y), patterns @ setting.port_rewards(y), np.minimum(*bounds)


def gang(
    instance: AllocationGangInstance,
    *,
    gap: float = 1e-6,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]:
    """Return the best gang allocation to hold in every slot; see ``gang_search.best_gang``.

    Parameters
    ----------
    instance
        Only its setting and the arrival counts matter.
    gap, time_limit, progress
        As for :func:`stationary`. The search is exponential in the worst case.

    Returns
    -------
    Optimum
        ``decision`` is y[pair, kind]. ``certificate`` is an ``AllocationGangCertificate``, prices at the
        leaves of a tree of choices; ``models.allocation.gang_bound.gang_bound`` computes the bound from it.
    """
    budget = Budget(gap, time_limit)
    counts = instance.arrival_counts.astype(np.float64)
    try:
        found = best_gang(
            instance.setting, counts, gap=gap, time_limit=time_limit, report=_gap_report(progress, gap)
        )
    except SolverError as error:
        raise OracleError(str(error)) from error
    broken = instance.violations(found.y)
    if broken:
        raise OracleError(f"gang: the allocation is infeasible: {broken[0]}")
    value = float(counts @ instance.setting.port_rewards(found.y))
    return concluded(
        found.y,
        value,
        found.bound if math.isfinite(found.bound) else None,
        budget,
        "branch and bound over jobs and tasks, linear relaxations by HiGHS",
        found.certificate,
        rounding=found.rounding,
        scale=found.scale,
    )


ORACLES = {
    "stationary": OracleEntry(
        stationary,
        AllocationInstance.problem,
        "the best allocation to hold in every slot",
        METHODS,
        "weak duality: w and price can be checked by certificate_bound alone",
        of_stationary,
    ),
    "dynamic": OracleEntry(
        dynamic,
        AllocationInstance.problem,
        "the sum of all slots' own optima",
        (),
        "weak duality in every slot",
        of_dynamic,
    ),
    "gang": OracleEntry(
        gang,
        AllocationGangInstance.problem,
        "the best all-or-nothing allocation to hold in every slot",
        (),
        "weak duality at every leaf of a search tree, which gang_bound checks without a solver",
        of_gang,
    ),
}
