"""CP-SAT (OR-Tools) as all oracles run it: on one thread, with one seed, and within their budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..models.stopwatch import library
from .base import Budget, NoOptimumError, rounding

BITS = 60
"""CP-SAT's objective is whole: values are rounded up so that a sum of all takes at most so many bits."""


def run(
    model: Any, budget: Budget, report: Callable[[float, float], bool] | None = None, **options: Any
) -> tuple[Any, bool]:
    """Solve a model that has a solution.

    CP-SAT runs in a thread of its own, so that Ctrl-C ends it and is not swallowed. Its own handling of
    Ctrl-C stays off: it would leave none behind, and the next Ctrl-C would kill Python.

    The budget's gap is ignored. ``report`` is called with value and bound of every better solution, and
    returns whether to go on. Returned are the solver, which knows solution and bound, ``None`` if it has no
    solution; and whether it ended by itself. If CP-SAT fails or says that there is none, that is a
    NoOptimumError.
    """
    cp_model = library("ortools.sat.python.cp_model")

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[name-defined, misc]
        def on_solution_callback(self) -> None:
            if report is not None and not report(self.objective_value, self.best_objective_bound):
                self.stop_search()

    solver = cp_model.CpSolver()
    options = {"num_workers": 1, "random_seed": 0, "catch_sigint_signal": False, **options}
    if not math.isinf(budget.left):
        options["max_time_in_seconds"] = budget.left
    for name, value in options.items():
        setattr(solver.parameters, name, value)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(solver.solve, model, None if report is None else Watch())
        try:
            status = running.result()
        except BaseException:  # Ctrl-C too must end the thread; it is raised again
            solver.stop_search()
            raise
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN):
        raise NoOptimumError("CP-SAT", solver.status_name(status))
    return None if status == cp_model.UNKNOWN else solver, status == cp_model.OPTIMAL


def bits(count: int, largest: float) -> int:
    """Return by which power of two to scale ``count`` values up to ``largest`` before they are rounded up."""
    return BITS - count.bit_length() - math.frexp(largest)[1]


def bound(solver: Any, power: int) -> float:
    """Return the bound of a model that is maximised, whose values were scaled by 2^power and rounded up."""
    return math.ldexp(float(solver.best_objective_bound), -power) + lost(power)


def lost(power: int) -> float:
    """Return more than rounding takes from the bound that CP-SAT says, of values scaled by 2^power.

    It may be a difference of numbers as large as the objective could ever be.
    """
    return math.ldexp(rounding(0, 2.0**BITS), -power)
