"""An oracle for every problem that declares its offline optimum: a Pyomo or CVXPY program is enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from ..models.base import DecisionError, InputError, Instance
from ..models.draw import choose
from ..models.mixed import bound_of, without_solution
from ..models.program import CAREFUL, CvxpyProgram, Program, PyomoProgram, SolverError, power_of_two
from . import cp_sat
from .base import (
    Budget,
    NoOptimumError,
    Optimum,
    OracleEntry,
    OracleError,
    ProgressCallback,
    WhyStopped,
    rounding,
    so_far,
    why_stopped,
)
from .whole import WholeModel, whole_model

AUTO, HIGHS, CP_SAT, CLARABEL = "auto", "highs", "cp-sat", "clarabel"
METHODS = (AUTO, HIGHS, CP_SAT, CLARABEL)

TOLERANCE = {HIGHS: 1e-9, CLARABEL: 1e-8}
"""What solvers may break limits and optimality conditions by. Their bounds are moved outwards by this part of
themselves, and at least by this."""

NEXT_TO_0 = "all variables 0 or at their limit next to it"
SOLVED = ("convergenceCriteriaSatisfied", "optimal", "optimal_inaccurate")
LIMITED = ("maxTimeLimit", "user_limit", "user_limit_inaccurate")

NO_DECISIONS = "it is infeasible: no decisions keep all of its constraints; see which exclude each other"
NO_LIMIT = "the solver says that its objective improves without end; give its variables limits"
INFEASIBLE = ("infeasible", "infeasible_inaccurate", "provenInfeasible", "INFEASIBLE")
EITHER = ("infeasibleOrUnbounded", "infeasible_or_unbounded")
UNPROVED = "infeasible, which its multipliers do not prove"
WITHOUT_OPTIMUM = {
    **dict.fromkeys(INFEASIBLE, NO_DECISIONS),
    UNPROVED: "there may be decisions that it has missed; scale rows and variables, or try another method",
    **dict.fromkeys(("unbounded", "unbounded_inaccurate"), NO_LIMIT),
    **dict.fromkeys(EITHER, f"no decisions keep all of its constraints, or {NO_LIMIT}"),
}
"""What the word of a solver means for who has declared a program that has no optimum."""


class _Found(NamedTuple):
    """What a solver says, whether its time was up, and what rounding may have added to the bound."""

    variables: Mapping[str, np.ndarray] | None
    bound: float | None
    method: str
    limited: bool = False
    rounding: float = -math.inf  # that is, a bound which rests on tolerances proves no optimum


def declared(
    instance: Instance,
    *,
    method: str = AUTO,
    gap: float = 1e-6,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum:
    """Return the best decisions by the program that the instance declares, checked and paid by the instance.

    The decisions are applied to an episode one by one: a broken constraint is an error, and the value is the
    sum of the rewards. The bound is what the solver's multipliers prove. Where HiGHS solves a program with
    whole variables, it is that of our own branch and bound on multipliers: see :mod:`.models.mixed`. If that
    is cut off, or HiGHS has missed the best decisions, a gap stays.

    Parameters
    ----------
    instance
        With a method ``program`` as in :class:`.program.Declares`.
    method
        "highs" for linear programs; "clarabel" for convex ones in CVXPY; "auto": one of these; "cp-sat" for
        linear Pyomo programs in whole variables with limits and rows of whole numbers, to prove the optimum.
    gap
        Relative gap at which the solver may stop.
    time_limit
        Seconds, with the declaration. If nothing was found by then, the decisions are those of variables that
        are all 0, or at their limit next to it; without a bound of the solver there is none.
    progress
        Called with the fraction done and a text.

    Returns
    -------
    Optimum
        ``decision`` holds one decision for each event.

    Raises
    ------
    InputError
        If no program is declared, or the method does not take it, naming why.
    OracleError
        If a solver fails, or its answer does not survive the instance's own check; if the program is
        infeasible or unbounded.
    """
    budget = Budget(gap, time_limit)
    choose(method, METHODS, "method")
    program, sign = _program(instance), -1.0 if instance.minimised else 1.0
    solve = _solver(program, method, sign)
    if progress is not None:
        progress(0.0, f"declared: {program.title}")
    found = _answer(instance.problem, solve, budget)
    variables = program.zeros() if found.variables is None else _cleaned(program, found.variables)
    decisions = list(program.decisions(variables))  # type: ignore[misc]  # _program has looked
    rewards = _replayed(instance, decisions, found)
    value, slack = math.fsum(rewards), rounding(len(rewards), math.fsum(map(abs, rewards)))
    above = None if found.bound is None else sign * found.bound
    if above is not None and sign * value - above > 2.0 * slack:
        raise OracleError(
            f"{found.method}: the decisions come to {value!r}, the bound is {found.bound!r}: the program is "
            "not that of the instance"
        )
    above = None if above is None else max(above, sign * value)
    why = why_stopped(
        sign * value,
        above,
        budget,
        rounding=2.0 * slack + found.rounding,
        otherwise=WhyStopped.TIME_LIMIT if found.limited else WhyStopped.STALLED,
    )
    bound = None if above is None else sign * above + 0.0  # no -0
    if progress is not None:
        progress(1.0, so_far(value, bound))
    method = found.method if found.variables is not None else f"{found.method}; nothing found, {NEXT_TO_0}"
    return Optimum(value, bound, decisions, why, method, budget.seconds, minimised=instance.minimised)


def _answer(problem: str, solve: Callable[[Budget], _Found], budget: Budget) -> _Found:
    """Solve, if there is time; an OracleError says why there is no optimum, and of which problem."""
    if budget.over:
        return _Found(None, None, "no time for a solver", True)
    try:
        return solve(budget)
    except SolverError as error:
        raise OracleError(str(error)) from error
    except NoOptimumError as error:
        kind = error.status.partition(", if ")[0]
        why = WITHOUT_OPTIMUM.get(kind, "the solver does not say why; try another method")
        told = f"the program of {problem!r} is not solved, {error.solver}: status {error.status!r}: {why}"
        raise OracleError(told) from error


def _program(instance: Any) -> Program:
    """Return the program that an instance declares."""
    if not hasattr(instance, "program"):
        raise InputError(f"instance: {instance.problem!r} declares no program; give it a method program()")
    program = instance.program()
    if not isinstance(program, (CvxpyProgram, PyomoProgram)):
        raise InputError(f"instance: its program is {type(program).__name__}, not one of Pyomo or CVXPY")
    if program.decisions is None:
        raise InputError("instance: its program has no `decisions`, which make decisions of a solution")
    if program.maximised == instance.minimised:
        does, should = ("max", "min") if program.maximised else ("min", "max")
        raise InputError(
            f"instance: its program {does}imises, and its rewards are to be {should}imised; see `minimised`"
        )
    return program


def _cleaned(program: Program, variables: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the variables, whole ones rounded; what occurs nowhere in the program is next to 0."""
    whole = program.whole()
    unmet = any(np.isnan(value).any() for value in variables.values())
    others = program.zeros() if unmet else variables
    filled = {name: np.where(np.isnan(value), others[name], value) for name, value in variables.items()}
    return {name: np.where(whole[name], np.rint(value), value) for name, value in filled.items()}


def _replayed(instance: Instance, decisions: Sequence[Any], found: _Found) -> list[float]:
    """Return the reward of every event, or raise if the instance does not take the decisions."""
    rewards: list[float] = []
    episode = instance.episode(frozenset())
    missing = object()
    for event, (seen, decision) in enumerate(zip_longest(episode, decisions, fillvalue=missing)):
        if decision is missing or seen is missing:
            raise OracleError(
                f"the program has {len(decisions)} decisions, one for each event, and the episode has not"
            )
        try:
            rewards.append(float(episode.apply(decision).reward))
        except (DecisionError, InputError) as error:
            if found.variables is None:
                raise OracleError(
                    f"{found.method}: found nothing, and {NEXT_TO_0} are no decision"
                ) from error
            raise OracleError(f"{found.method}: event {event}: {error}") from error
        if not math.isfinite(rewards[-1]):
            raise OracleError(f"event {event}: the instance pays {rewards[-1]!r}, which is no finite number")
    return rewards


def _solver(program: Program, method: str, sign: float) -> Callable[[Budget], _Found]:
    """Return what solves a program by a method; the objective times ``sign`` is maximised."""
    form: WholeModel | str = "it is not declared in Pyomo"
    if isinstance(program, PyomoProgram) and method == CP_SAT:
        form = whole_model(program)
        if isinstance(form, WholeModel):
            return partial(_by_cp_sat, program, form, sign)
    curved = program.curved if isinstance(program, CvxpyProgram) else ""
    why = {CP_SAT: form, HIGHS: curved}.get(method, "")
    if method == CLARABEL and not isinstance(program, CvxpyProgram):
        why = "it is not declared in CVXPY"
    if curved and program.mixed:
        why = f"it has whole variables, and {curved}"
    if why:
        raise InputError(f"method: {method!r} does not take the program: {why}")
    chosen = CLARABEL if curved or method == CLARABEL else HIGHS
    return partial(_by_library, program, chosen, sign)


def _by_library(program: Program, solver: str, sign: float, budget: Budget) -> _Found:
    """Solve by HiGHS or Clarabel through the modelling library; the bound is moved by their tolerance."""
    by_pyomo = isinstance(program, PyomoProgram)
    mixed = solver == HIGHS and program.mixed
    options: dict[str, Any] = {}
    unit, constant = 1.0, False
    if solver == HIGHS:
        # HiGHS's tolerances are absolute. It scales no constant, beside which costs would be lost if small.
        largest = float(np.abs(program.linear_form().cost).max(initial=0.0))
        unit, constant = min(1.0, power_of_two(largest) or 1.0), largest == 0.0
        options["user_objective_scale"] = 1 - math.frexp(unit)[1]
        kinds = ("primal_feasibility", "dual_feasibility", "mip_feasibility")
        options |= {f"{kind}_tolerance": TOLERANCE[HIGHS] for kind in kinds} | {**CAREFUL, "mip_abs_gap": 0.0}
        options |= {"small_matrix_value": 1e-12, "gap" if by_pyomo else "mip_rel_gap": 0.5 * budget.gap}
    if not math.isinf(budget.time_limit):
        options["time_limit"] = (0.5 if mixed else 1.0) * budget.left
    solved = program.solve(solver=solver, **options)
    name = f"{'HiGHS' if solver == HIGHS else 'Clarabel'} through {'Pyomo' if by_pyomo else 'CVXPY'}"
    if solved.status not in (*SOLVED, *LIMITED):
        raise NoOptimumError(name, _doubted(program, solved.status, solved.empty, budget))
    bound = solved.bound
    if mixed:  # HiGHS's own is not believed
        allowed = 0.5 * budget.gap * abs(solved.value or 0.0)
        bound = bound_of(program, solved.value, allowed, lambda: budget.over, TOLERANCE[HIGHS])
    if bound is not None and not (constant and bound == 0.0):  # which no decisions change
        bound += sign * TOLERANCE[solver] * max(unit, abs(bound))
    variables = None if solved.value is None else solved.variables
    source = "our branch and bound on multipliers of linear programs" if mixed else "the solver's multipliers"
    if solved.guessed:
        source += ", if no variable without limits is twice as large as it says"
    limited = solved.status in LIMITED or (mixed and budget.over)
    return _Found(variables, bound, f"{name}; bound: {source}", limited)


def _doubted(program: Program, status: str, within: float, budget: Budget) -> str:
    """Return the status of a program without an optimum: infeasible only as far as that is proved.

    Multipliers over cones prove it up to a distance from 0 of the variables without limits.
    """
    if status not in (*INFEASIBLE, *EITHER):
        return status
    curved = isinstance(program, CvxpyProgram) and program.curved
    if not curved and without_solution(program, lambda: budget.over, TOLERANCE[HIGHS]):
        return INFEASIBLE[0]
    if within > 0.0:
        known = math.isfinite(within)
        far = f", if no variable without limits is beyond 1e{math.floor(math.log10(within))}" if known else ""
        return INFEASIBLE[0] + far
    return UNPROVED if status in INFEASIBLE else status


def _by_cp_sat(program: PyomoProgram, form: WholeModel, sign: float, budget: Budget) -> _Found:
    """Solve in whole numbers; the bound is exact but for the rounding of the objective, which is added."""
    try:
        solver, whole = cp_sat.run(form.model, budget, relative_gap_limit=0.5 * budget.gap)
    except NoOptimumError as error:
        raise NoOptimumError(error.solver, _doubted(program, error.status, 0.0, budget)) from error
    method = "CP-SAT on the program in whole numbers; bound: the solver's, exact in these"
    if solver is None:
        return _Found(None, None, method, limited=True)
    for column, variable in form.variables:
        column.set_value(solver.value(variable))
    bound, lost = form.objective(float(solver.best_objective_bound))
    return _Found(program.values(), sign * bound, method, not whole, lost)


def oracles(problem: str) -> dict[str, OracleEntry]:
    """Return the oracle of a problem that has no other: that of the program which its instances declare."""
    entry = OracleEntry(
        declared,
        problem,
        "the program that the instance declares, solved as it stands",
        METHODS,
        "what the multipliers of the solver prove, with whole variables in our own branch and bound, widened "
        "by its tolerance; CP-SAT's dual bound is exact in whole numbers",
    )
    return {"program": entry}
