"""Oracle of gang scheduling in the selection problem: the best decision of every slot, means known."""

from __future__ import annotations

import math

import numpy as np

from ...models.draw import choose
from ...models.program import SolverError
from ...models.selection.gang import SelectionGangInstance, SelectionGangSetting
from ...models.selection.gang_program import GangChoice, best_gang, ceiling, total_value, usable
from ...models.stopwatch import library
from .. import cp_sat
from ..base import Budget, Optimum, OracleEntry, OracleError, ProgressCallback, concluded, rounding
from ..slots import Patterns, SlotCertificate
from . import vipr
from .certificate import of_slots

HIGHS = "highs"
CP_SAT = "cp-sat"
METHODS = (HIGHS, CP_SAT)

ROUNDINGS = 16
"""The most times that bounds are raised by the rounding of a sum over channels."""


def gang(
    instance: SelectionGangInstance,
    *,
    method: str = HIGHS,
    gap: float = 1e-8,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]:
    """Return the clairvoyant optimum, sum_t max v~.x over the sound gang set of slot t.

    Slots with equal arrivals share one search, and the most frequent ones come first.

    Parameters
    ----------
    instance
        The instance; its sample path plays no part.
    method
        "highs": ``gang_program.best_gang`` (Pyomo, HiGHS). "cp-sat": constraint programming (OR-tools).
    gap
        Relative gap to reach in every slot.
    time_limit
        Seconds. Patterns that time does not reach hold the best decision of a smaller pattern; their bound is
        the least of ``gang_program.ceiling`` and the bounds of larger patterns.
    progress
        Called with the fraction done and a text.

    Returns
    -------
    Optimum
        ``decision`` is x[slot, channel]. ``bound`` adds up the slots' bounds: for "highs" that of our own
        branch and bound on multipliers plus a margin for rounding, for "cp-sat" CP-SAT's for means rounded up
        to whole numbers, or the ceiling, which takes no solver. ``certificate`` is a
        :class:`.SlotCertificate`.
    """
    choose(method, METHODS, "method")
    budget = Budget(gap, time_limit)
    setting, mean = instance.setting, instance.mean
    solve = _by_cp_sat if method == CP_SAT else _by_highs
    patterns = Patterns(instance.arrivals, budget, progress)
    arrivals, index = patterns.arrivals, patterns.index
    patterns.bounds = np.array([ceiling(setting, mean, pattern) for pattern in arrivals])
    found: dict[int, GangChoice] = {}
    for i in patterns:
        found[i] = _checked(instance, arrivals[i], solve(setting, mean, arrivals[i], budget))
        patterns.values[i], patterns.bounds[i] = found[i].value, found[i].bound
    full = [found[i] if i in found else _late(instance, patterns, found, i) for i in range(len(patterns))]
    x = np.array([best.x for best in full]).reshape(len(patterns), setting.channels)
    bounds = np.array([best.bound for best in full])
    decision = x[index]
    decision.setflags(write=False)
    broken = instance.violations(decision)
    if broken:
        raise OracleError(f"{method}: the decision is infeasible: {broken[0]}")
    value = math.fsum(instance.rewards(decision).tolist())
    bound = math.fsum(bounds[index].tolist())
    if bound < value - rounding(setting.channels + setting.slots, value):
        raise OracleError(f"{method}: the bound {bound!r} is below the value {value!r}")
    return concluded(
        decision,
        value,
        max(bound, value) + rounding(setting.channels + setting.slots, bound),
        budget,
        f"{_WORDS[method]}, once per arrival pattern",
        SlotCertificate(arrivals, index, np.array([best.value for best in full]), bounds),
        rounding=rounding(ROUNDINGS * (setting.channels + setting.slots), value),
    )


_WORDS = {HIGHS: "0/1 program (Pyomo, HiGHS)", CP_SAT: "constraint programming (CP-SAT)"}


def _checked(instance: SelectionGangInstance, arrivals: np.ndarray, best: GangChoice) -> GangChoice:
    """Return a pattern's answer with its value recomputed, or raise if it fails the check."""
    broken = instance.setting.violations(best.x, arrivals)
    if broken:
        raise OracleError(f"the decision for arrivals {arrivals.tolist()} is infeasible: {broken[0]}")
    value = total_value(instance.mean, best.x)
    if best.bound < value - rounding(instance.setting.channels, value):
        raise OracleError(f"the bound {best.bound!r} for arrivals {arrivals.tolist()} is below {value!r}")
    return best._replace(value=value, bound=max(best.bound, value))


def _late(
    instance: SelectionGangInstance, patterns: Patterns, found: dict[int, GangChoice], i: int
) -> GangChoice:
    """Return value and bound of a pattern not reached in time: fewer jobs earn less, more earn more."""
    arrivals, wanted = patterns.arrivals, patterns.arrivals[i]
    nothing = GangChoice(np.zeros(instance.setting.channels), 0.0, 0.0, False)
    smaller = (found[j] for j in found if (arrivals[j] <= wanted).all())
    best = max(smaller, key=lambda other: other.value, default=nothing)
    larger = [found[j].bound for j in found if (arrivals[j] >= wanted).all()]
    return best._replace(bound=min([float(patterns.bounds[i]), *larger]), closed=False)


def _by_highs(
    setting: SelectionGangSetting, mean: np.ndarray, arrivals: np.ndarray, budget: Budget
) -> GangChoice:
    left = None if math.isinf(budget.left) else budget.left
    try:
        return best_gang(setting, mean, arrivals, gap=budget.gap, time_limit=left)
    except SolverError as error:
        raise OracleError(str(error)) from error


def _by_cp_sat(
    setting: SelectionGangSetting, mean: np.ndarray, arrivals: np.ndarray, budget: Budget
) -> GangChoice:
    """Maximise by CP-SAT, with means scaled by a power of two and rounded up: nothing is worth more."""
    channels = np.flatnonzero(usable(setting, arrivals)).tolist()
    gross = ceiling(setting, mean, arrivals)
    largest = float(mean[channels].max(initial=0.0))
    bits = cp_sat.bits(len(channels), largest)
    model = library("ortools.sat.python.cp_model").CpModel()
    x = {e: model.new_bool_var(f"x{e}") for e in channels}
    y = {p: model.new_bool_var(f"y{p}") for p in sorted({int(setting.port[e]) for e in channels})}

    for q in sorted({int(setting.task[e]) for e in channels}):
        model.add(sum(x[e] for e in channels if setting.task[e] == q) <= y[int(setting.task_port[q])])
    for p in y:
        model.add(sum(x[e] for e in channels if setting.port[e] == p) >= int(setting.minimum[p]) * y[p])
    for r in range(setting.servers):
        here = [e for e in channels if setting.server[e] == r]
        for k in range(setting.kinds):
            used = sum(int(setting.demand[setting.task[e], k]) * x[e] for e in here)
            if here:
                model.add(used <= int(setting.capacity[r, k]))
    model.maximize(sum(math.ceil(math.ldexp(float(mean[e]), bits)) * x[e] for e in channels))
    solver, whole = cp_sat.run(model, budget, relative_gap_limit=0.25 * budget.gap)
    decision = np.zeros(setting.channels)
    if solver is None:
        return GangChoice(decision, 0.0, gross, False)
    for e in channels:
        decision[e] = float(solver.boolean_value(x[e]))
    return GangChoice(decision, total_value(mean, decision), min(gross, cp_sat.bound(solver, bits)), whole)


ENTRY = {
    "gang": OracleEntry(
        gang,
        SelectionGangInstance.problem,
        "the sum of all slots' best all-or-nothing decisions, means known",
        METHODS,
        "our own branch and bound on multipliers with a margin, or CP-SAT's with whole numbers rounded up",
        of_slots,
        vipr.of_slots,
    )
}
