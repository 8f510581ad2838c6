"""Oracles of the selection problem: clairvoyant optimum and exact index, each certified."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...models.base import InputError, frozen_copy, numbers
from ...models.draw import choose
from ...models.mixed import bound_of
from ...models.program import SOLVER_TOLERANCE, TIGHT, PyomoProgram, Solved, SolverError, power_of_two
from ...models.selection.instance import SelectionInstance
from ...models.selection.knapsack import Knapsack
from ...models.selection.program import add_cut, check_lambda, index_program, slot_program, weigh
from ...models.selection.setting import Setting
from ...models.stopwatch import library
from .. import cp_sat
from ..base import (
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
from . import vipr
from .certificate import of_slots
from .gang import ENTRY

DP, HIGHS, CP_SAT, SEARCH = "dp", "highs", "cp-sat", "search"
METHODS = (DP, HIGHS, CP_SAT)
INDEX_METHODS = (SEARCH, HIGHS)

EPS = float(np.finfo(np.float64).eps)

ROUNDINGS = 16
"""The most times that bounds are raised by the rounding of a sum over channels."""

LIFT = 900
"""Relaxations are computed with values below 2^LIFT, so that their quotients do not underflow."""

TABLE_BYTES = 2**29
"""The most the table of the dynamic program may take, and half of what it needs in all."""

CHUNK_BYTES = 2**32
"""Bytes of table that the dynamic program fills between two looks at the clock."""

SMALLEST = 1e-12
"""Positive variances are raised to this in HiGHS's program, where the largest term is from 1 to 2."""

LARGEST = 1e150
"""The largest estimate and variance."""

MOST_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class PatternCertificate(SlotCertificate):
    """Value and bound of every slot's optimum, and the sets."""

    x: np.ndarray  # the set chosen under each pattern, shape (P, E)


Answers = Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Pattern numbers, their sets (n, E), and their bounds (n,), as a method finds them."""


def clairvoyant(
    instance: SelectionInstance,
    *,
    method: str = DP,
    gap: float = 1e-8,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]:
    """Return the best set of every slot, the sum over t of max v~.x over Omega(t) (7).

    Slots with equal arrivals share one solve. Every set is checked again, scored by the instance, and never
    worth less than a greedy one. Every bound is at most that of a continuous relaxation, which stands for the
    patterns that time does not reach.

    Parameters
    ----------
    instance
        The instance, of which the oracle sees the means.
    method
        "dp" (a dynamic program over capacities), "highs" (the declared program through Pyomo and HiGHS, its
        bound by our own branch and bound on multipliers) or
        "cp-sat" (OR-Tools). Where the table of the dynamic program would not fit, "dp" uses HiGHS and says
        so in ``method``; its program leaves out demands below a millionth of a capacity, over which the bound
        may stay above the optimum.
    gap
        Relative gap at which a solver may stop; the dynamic program does not need one.
    time_limit
        Seconds. Patterns that are not reached have a greedy set and the bound of the relaxation.
    progress
        Called with the fraction done and a text.

    Returns
    -------
    Optimum
        ``decision`` is x[slot, channel] (bool), ``certificate`` a :class:`PatternCertificate`. The bound
        covers rounding: a relative (E + T) 2^-52 for sums; for "highs", 1e-10 times E + 1 times the
        pattern's largest mean; for CP-SAT, values are rounded up to whole multiples of a power of two.
    """
    budget = Budget(gap, time_limit)
    choose(method, METHODS, "method")
    setting = instance.setting
    patterns = Patterns(instance.arrivals, budget, progress)
    x = _greedy(setting, instance.mean, patterns.arrivals)
    bounds = relaxed_bounds(setting, instance.mean, patterns.arrivals)
    patterns.values, patterns.bounds = x @ instance.mean, bounds
    solve, name = _method(setting, method)
    for which, sets, found in solve(setting, instance.mean, patterns):
        better = sets @ instance.mean > x[which] @ instance.mean
        x[which[better]] = sets[better]
        patterns.values[which] = x[which] @ instance.mean
        bounds[which] = np.minimum(bounds[which], found)
    _check_sets(name, setting, x, patterns.arrivals)
    values = x @ instance.mean
    _check_bounds(name, values, bounds)
    decision = x[patterns.index]
    value = float(instance.rewards(decision).sum())
    bound = math.fsum((patterns.repeats * bounds).tolist())
    arrays = [frozen_copy(array) for array in (patterns.arrivals, patterns.index, values, bounds, x)]
    decision.setflags(write=False)
    return concluded(
        decision,
        value,
        bound + rounding(setting.channels + setting.slots, bound),
        budget,
        name,
        PatternCertificate(*arrays),
        rounding=rounding(ROUNDINGS * (setting.channels + setting.slots), value),
        otherwise=WhyStopped.TIME_LIMIT if patterns.done < len(patterns) else WhyStopped.STALLED,
    )


def _method(setting: Setting, method: str) -> tuple[Callable[..., Answers], str]:
    """Return the function of a method and its name in words."""
    if method == CP_SAT:
        return _by_cp_sat, "CP-SAT, once per arrival pattern"
    if method == HIGHS:
        return _by_highs, "HiGHS through Pyomo, once per arrival pattern"
    knapsack = setting.knapsack
    if not knapsack.exact and knapsack.table_bytes <= TABLE_BYTES:
        knapsack = Knapsack(setting, TABLE_BYTES)
    if knapsack.exact:
        return partial(_by_dp, knapsack), "dynamic program over capacities, all arrival patterns at once"
    size = table_size(setting)
    return _by_highs, f"HiGHS (the table of the dynamic program would take {size}), once per arrival pattern"


def table_size(setting: Setting) -> str:
    """Return in words how much memory the exact table of the dynamic program takes."""
    size = setting.knapsack.table_bytes
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    power = min(len(units) - 1, max(0, (int(size).bit_length() - 1) // 10))
    amount = size / 2 ** (10 * power)
    return f"{amount:.1f} {units[power]}" if amount < 1024 else f"{amount:.1e} {units[power]}"


def _check_sets(method: str, setting: Setting, x: np.ndarray, patterns: np.ndarray) -> None:
    """Raise unless every set keeps (2) and (4) under its pattern; sums are of whole numbers."""
    used = x.astype(np.int64) @ setting.demand
    for i, k in np.argwhere(used > setting.capacity)[:1]:
        raise OracleError(f"{method}: pattern {i} takes {used[i, k]} of {setting.capacity[k]} devices [{k}]")
    for i, e in np.argwhere(x & ~_open(setting, patterns))[:1]:
        raise OracleError(f"{method}: pattern {i} takes channel {e}, whose port has no job")


def _check_bounds(method: str, values: np.ndarray, bounds: np.ndarray) -> None:
    for i in np.flatnonzero(~(bounds >= values))[:1]:
        raise OracleError(
            f"{method}: the bound {bounds[i]!r} of pattern {i} is below the value {values[i]!r}"
        )


def _open(setting: Setting, patterns: np.ndarray) -> np.ndarray:
    """Return which channels each pattern lets one choose, shape (P, E)."""
    return patterns[:, setting.port] > 0


def _greedy(setting: Setting, values: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    """Return a feasible set per pattern: channels by value per share of the scarcest kind, while they fit."""
    share = (setting.demand / np.maximum(setting.capacity, 1)).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.nan_to_num(values / share, nan=0.0, posinf=np.inf), kind="stable")
    allowed = _open(setting, patterns) & (values > 0.0)
    x = np.zeros((len(patterns), setting.channels), dtype=bool)
    left = np.tile(setting.capacity, (len(patterns), 1))
    for e in order.tolist():
        x[:, e] = allowed[:, e] & (left >= setting.demand[e]).all(axis=1)
        left[x[:, e]] -= setting.demand[e]
    return x


def relaxed_bounds(setting: Setting, values: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    """Return for each arrival pattern a bound on max values.x: the best fractional set under one kind alone.

    That is what channels are worth that are filled up in the order of their value per device (Dantzig), and
    the least of that over kinds. What rounding can take away is added.

    ``patterns`` are arrivals, shape (P, L); values are >= 0.
    """
    lift = LIFT - math.frexp(float(values.max(initial=0.0)))[1]
    gains = np.where((setting.demand <= setting.capacity).all(axis=1), np.ldexp(values, lift), 0.0)
    allowed = _open(setting, patterns)
    bounds = (allowed * gains).sum(axis=1)
    for demand, capacity in zip(setting.demand.T, setting.capacity, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.where(demand > 0, gains / demand, np.inf)
        order = np.argsort(-density, kind="stable")
        need = allowed[:, order] * demand[order]
        room = np.maximum(0, capacity - (np.cumsum(need, axis=1) - need))
        part = np.where(demand[order] > 0, np.minimum(1.0, room / np.maximum(1, demand[order])), 1.0)
        bounds = np.minimum(bounds, (allowed[:, order] * gains[order] * part).sum(axis=1))
    raised = np.ldexp(bounds * (1.0 + EPS * (2 * setting.channels + 8)), -lift)
    return np.where(raised > 0.0, np.nextafter(raised, np.inf), 0.0)


def _by_dp(knapsack: Knapsack, _setting: Setting, values: np.ndarray, patterns: Patterns) -> Answers:
    step = max(1, CHUNK_BYTES // max(1, knapsack.table_bytes))
    for start in range(0, len(patterns), step):
        if patterns.budget.over:
            return
        which = patterns.order[start : start + step]
        x, _, bounds = knapsack.best_of_patterns(values, patterns.arrivals[which])
        yield which, x, bounds
        patterns.report(len(which))


def _by_highs(setting: Setting, values: np.ndarray, patterns: Patterns) -> Answers:
    """Solve the slot program pattern by pattern, in units in which the largest value is from 1 to 2."""
    program = slot_program(setting, np.zeros(len(values)), scaled=True)
    for i in patterns:
        usable_values = _usable_values(setting, values, patterns.arrivals[i])
        unit = power_of_two(float(usable_values.max(initial=0.0)))
        if unit == 0.0:
            yield np.array([i]), np.zeros((1, len(values)), dtype=bool), np.zeros(1)
            continue
        weigh(program, usable_values / unit, patterns.arrivals[i])
        solved = _solve_with_highs(program, patterns.budget)
        x = _settled(setting, solved, usable_values, usable_values > 0.0)
        known = float(usable_values[x].sum()) / unit
        bound = _proved(program, known, patterns.budget, len(values))
        yield np.array([i]), x[None, :], np.array([bound * unit])


def _usable_values(setting: Setting, values: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """Return the values of the channels that a pattern lets one choose, 0 for the others, shape (E,)."""
    able = setting.open(pattern) & (setting.demand <= setting.capacity).all(axis=1)
    return np.where(able, values, 0.0)


def _solve_with_highs(program: PyomoProgram, budget: Budget) -> Solved:
    """Solve tightly; on a time limit return what there is."""
    try:
        solved = program.solve(
            time_limit=None if math.isinf(budget.left) else budget.left,
            gap=0.25 * budget.gap,
            mip_abs_gap=0.0,
            **TIGHT,
        )
    except SolverError as error:
        raise OracleError(str(error)) from error
    if solved.status not in ("convergenceCriteriaSatisfied", "maxTimeLimit"):
        raise OracleError(f"HiGHS: status {solved.status!r} for a program that has an optimum")
    return solved


def _proved(program: PyomoProgram, value: float, budget: Budget, channels: int) -> float:
    """Return a bound by our own branch and bound (:mod:`.models.mixed`): HiGHS's can be wrong (1.14).

    The objective of a set is ``value``. Added is more than the rounding of a scaled program can take away.
    """
    bound = bound_of(program, value, 0.25 * budget.gap * value, lambda: budget.over, SOLVER_TOLERANCE)
    return math.inf if bound is None else bound + SOLVER_TOLERANCE * (channels + 1)


def _settled(setting: Setting, solved: Solved, values: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return a solver's set without what breaks (2) or (4): with large demands its tolerance is devices."""
    x = np.zeros(len(values), dtype=bool)
    if solved.value is None:
        return x
    wanted = (solved.variables["x"] > 0.5) & allowed
    left = setting.capacity.copy()
    for e in np.flatnonzero(wanted)[np.argsort(-values[wanted], kind="stable")].tolist():
        if (setting.demand[e] <= left).all():
            x[e] = True
            left -= setting.demand[e]
    return x


def _by_cp_sat(setting: Setting, values: np.ndarray, patterns: Patterns) -> Answers:
    """Solve pattern by pattern in whole numbers, values rounded up to multiples of a power of two."""
    cp_model = library("ortools.sat.python.cp_model")

    for i in patterns:
        usable_values = _usable_values(setting, values, patterns.arrivals[i])
        allowed = np.flatnonzero(usable_values).tolist()
        bits = cp_sat.bits(len(allowed), float(usable_values.max(initial=0.0)))
        whole = np.ceil(np.ldexp(usable_values, bits)).astype(np.int64).tolist()
        model = cp_model.CpModel()
        x = {e: model.new_bool_var(f"x_{e}") for e in allowed}
        for k, capacity in enumerate(setting.capacity.tolist()):
            model.add(sum(int(setting.demand[e, k]) * x[e] for e in allowed) <= capacity)
        model.maximize(sum(whole[e] * x[e] for e in allowed))
        budget = patterns.budget
        solver, _ = cp_sat.run(model, budget, relative_gap_limit=0.25 * budget.gap)
        sets = np.zeros((1, setting.channels), dtype=bool)
        bound = math.inf
        if solver is not None:
            sets[0, [e for e in allowed if solver.boolean_value(x[e])]] = True
            bound = cp_sat.bound(solver, bits)
        yield np.array([i]), sets, np.array([bound])


@dataclass(frozen=True, eq=False)
class IndexCertificate:
    """The certificate of an index: multipliers, and the bound that each gives."""

    lambdas: tuple[float, ...]  # multipliers > 0
    # ``index_bound(setting, v, q, arrivals, lambda)`` for each of them: anyone can compute them again.
    bounds: tuple[float, ...]
    # The bound of the search or of the solver; below all of these where branching was needed.
    closed_by: float
    # Nodes of the search; 0 if a multiplier alone proves the optimum. ``None`` for a solver.
    nodes: int | None


def index_bound(setting: Setting, v: Any, q: Any, arrivals: Any, lam: float) -> float:
    """Return a certified bound on max v.x + sqrt(q.x) over Omega(t), by one multiplier.

    For every lambda > 0, sqrt(q.x) <= q.x / (2 lambda) + lambda / 2, so nothing is better than::

        max over Omega(t) of (v + q / (2 lambda)).x + lambda / 2

    which is a linear knapsack. What rounding can take away is added.

    ``arrivals`` are ``None`` if every port has a job. What does not fit or is negative is refused, and a
    lambda that is not positive or so small that q / (2 lambda) overflows.
    """
    return _index_bound(setting, *_index_input(setting, v, q, arrivals), check_lambda(lam), None)


def _index_input(
    setting: Setting, v: Any, q: Any, arrivals: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    given = np.ones(setting.ports) if arrivals is None else arrivals
    shape = (setting.channels,)
    jobs = numbers(given, "arrivals", (setting.ports,), integer=True, high=1)
    return numbers(v, "v", shape, high=LARGEST), numbers(q, "q", shape, high=LARGEST), jobs


def _index_bound(
    setting: Setting,
    v: np.ndarray,
    q: np.ndarray,
    jobs: np.ndarray,
    lam: float,
    stop: Callable[[], bool] | None,
) -> float:
    with np.errstate(over="ignore"):
        weights = v + q / (2.0 * lam)
        everything = float(weights.sum())
    if not math.isfinite(everything):
        raise InputError(f"lambda: {lam!r} is too small for these variances")
    knapsack = setting.knapsack.best(weights, open=setting.open(jobs), stop=stop).bound
    bound = float(knapsack + 0.5 * lam)
    return bound + rounding(setting.channels, bound)


def index_optimum(
    setting: Setting,
    v: Any,
    q: Any,
    arrivals: Any = None,
    *,
    method: str = SEARCH,
    gap: float = 1e-8,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]:
    """Return the exact index, max v.x + sqrt(q.x) over Omega(t): P3 (12) without delta(t).

    Parameters
    ----------
    setting
        Channels, demands and capacities.
    v, q
        Estimates v-hat and variances sigma-hat^2, finite and >= 0, shape (E,).
    arrivals
        1_l(t), shape (L,). By default every port has a job.
    method
        "search" (knapsack tables and a depth-first search) or "highs" (the declared outer approximation, with
        tangents at lambda = sqrt(q.x) added until bound and value meet).
    gap
        Relative gap at which "highs" may stop.
    time_limit
        Seconds; what runs out returns the incumbent with a valid bound. The first tables of the
        search cannot be interrupted.
    progress
        Called with the fraction done and a text.

    Returns
    -------
    Optimum
        ``decision`` is x (E,) (bool), ``certificate`` an :class:`IndexCertificate`.
    """
    budget = Budget(gap, time_limit)
    choose(method, INDEX_METHODS, "method")
    value, spread, jobs = _index_input(setting, v, q, arrivals)
    solve = _index_by_search if method == SEARCH else _index_by_highs
    x, certificate, name = solve(setting, value, spread, jobs, budget, progress)
    _check_sets(name, setting, x[None, :], jobs[None, :])
    reached = _index_value(x, value, spread)
    bound = min(certificate.closed_by, *certificate.bounds, _everything(setting, value, spread, jobs))
    _check_bounds(name, np.array([reached]), np.array([bound]))
    most = rounding(ROUNDINGS * setting.channels, reached)
    return concluded(frozen_copy(x), reached, bound, budget, name, certificate, rounding=most)


def _index_value(x: np.ndarray, v: np.ndarray, q: np.ndarray) -> float:
    return float(v[x].sum() + math.sqrt(float(q[x].sum())))


def _everything(setting: Setting, v: np.ndarray, q: np.ndarray, jobs: np.ndarray) -> float:
    """Return a bound that costs nothing: each sum of its own, relaxed."""
    line = relaxed_bounds(setting, v, jobs[None, :])[0]
    square = relaxed_bounds(setting, q, jobs[None, :])[0]
    bound = float(line + math.sqrt(float(square)))
    return bound + rounding(0, bound)


def _certificate(
    setting: Setting,
    v: np.ndarray,
    q: np.ndarray,
    jobs: np.ndarray,
    lambdas: tuple[float, ...],
    closed_by: float,
    nodes: int | None,
    budget: Budget,
) -> IndexCertificate:
    """Return the certificate with the bounds of the multipliers computed afresh."""
    bounds = tuple(_index_bound(setting, v, q, jobs, lam, _stop(budget)) for lam in lambdas)
    return IndexCertificate(lambdas, bounds, closed_by, nodes)


def _stop(budget: Budget) -> Callable[[], bool] | None:
    """Return a function that says whether the time is up, ``None`` if there is no limit."""
    return None if math.isinf(budget.time_limit) else lambda: budget.over


def _index_by_search(
    setting: Setting,
    v: np.ndarray,
    q: np.ndarray,
    jobs: np.ndarray,
    budget: Budget,
    progress: ProgressCallback | None,
) -> tuple[np.ndarray, IndexCertificate, str]:
    if progress is not None:
        progress(0.0, "tables and search")
    found = setting.knapsack.best(v, q, setting.open(jobs), stop=_stop(budget))
    lambdas = tuple(lam for lam in found.lambdas if lam > 0.0)
    certificate = _certificate(setting, v, q, jobs, lambdas, found.bound, found.nodes, budget)
    return found.x > 0, certificate, "knapsack tables and depth-first search"


def _index_by_highs(
    setting: Setting,
    v: np.ndarray,
    q: np.ndarray,
    jobs: np.ndarray,
    budget: Budget,
    progress: ProgressCallback | None,
) -> tuple[np.ndarray, IndexCertificate, str]:
    """Add the tangent at each new set until bound and value meet; the largest term is from 1 to 2."""
    name = "outer approximation by mixed-integer programs (Pyomo, HiGHS)"
    allowed = setting.open(jobs) & (setting.demand <= setting.capacity).all(axis=1)
    line, square = np.where(allowed, v, 0.0), np.where(allowed, q, 0.0)
    unit = power_of_two(max(float(line.max(initial=0.0)), math.sqrt(float(square.max(initial=0.0)))))
    best = np.zeros(setting.channels, dtype=bool)
    if unit == 0.0:
        return best, IndexCertificate((), (), 0.0, None), name
    line, square = line / unit, square / unit / unit
    best = _greedy(setting, line + np.sqrt(square), jobs[None, :])[0]
    value, bound = _index_value(best, v, q), math.inf
    square = np.where(allowed & (q > 0.0), np.maximum(square, SMALLEST), 0.0)
    lambdas: list[float] = []
    program = None
    x = best
    for number in range(MOST_ROUNDS):
        lam = math.sqrt(float(square[x].sum()))
        new = lam > 0.0 and lam not in lambdas
        if budget.over or (program is not None and not new):
            break
        if new:
            lambdas.append(lam)
        if program is None:
            program = index_program(setting, line, square, jobs, lambdas, scaled=True)
        elif new:
            add_cut(program, lam)
        solved = _solve_with_highs(program, budget)
        x = _settled(setting, solved, line + np.sqrt(square), allowed)
        known = float(line[x].sum()) + min(
            ((float(square[x].sum()) / one + one) / 2.0 for one in lambdas), default=0.0
        )
        bound = min(bound, unit * _proved(program, known, budget, setting.channels))
        reached = _index_value(x, v, q)
        if reached > value:
            best, value = x, reached
        distance = relative_gap(value, bound)
        if progress is not None:
            progress(float(distance <= budget.gap), f"{so_far(value, bound)}; round {number + 1}")
        if distance <= budget.gap:
            break
    found = tuple(lam * unit for lam in lambdas)
    return best, _certificate(setting, v, q, jobs, found, bound, None, budget), name


ORACLES = {
    "clairvoyant": OracleEntry(
        clairvoyant,
        SelectionInstance.problem,
        "the best channels of every slot, with the means known",
        METHODS,
        "exact dynamic program, our own branch and bound on multipliers, or the dual bound of CP-SAT, exact "
        "in whole numbers; and a continuous relaxation",
        of_slots,
        vipr.of_slots,
    ),
    **ENTRY,
}
