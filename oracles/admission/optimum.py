"""Oracle of the admission problem: the best schedules of all jobs, with a certified bound."""

from __future__ import annotations

import math

from ...models.admission.instance import AdmissionInstance
from ...models.admission.schedule import Schedule
from ...models.draw import choose
from ..base import Budget, Optimum, OracleEntry, ProgressCallback, WhyStopped
from ..turns import Stage, Turn, in_turns
from .bound import (
    Priced,
    begin_work,
    by_columns,
    by_volume,
    lagrangian_bound,
    quick,
    volume_rounds,
    volume_work,
    without_prices,
)
from .branch import FEW_JOBS, affordable
from .certificate import of_schedule
from .exact import by_branching, by_cp_sat, by_highs, declaring_work
from .incumbent import Best
from .search import by_search, search, search_work

__all__ = ["METHODS", "ORACLES", "Priced", "lagrangian_bound", "offline"]

AUTO, BRANCH, HIGHS, CP_SAT, LAGRANGIAN = "auto", "branch-and-price", "highs", "cp-sat", "lagrangian"
METHODS = (AUTO, BRANCH, HIGHS, CP_SAT, LAGRANGIAN)

SMALL = 20_000
"""Up to so many pairs of a slot of a job and a machine, "auto" tries the integer programs."""

EXACT_WORK = 45.0
"""The work, about seconds of a core, of branch and price and of HiGHS in "auto" without a time limit."""

FIRST_WORK = 3.0
"""The work that branch and price of few jobs does before anything else, and HiGHS in "highs"."""

FIRST_ROUNDS = 500
"""Rounds of the volume method, at whose prices branch and price of many jobs begins."""

PRICES_FIRST = 3.0
"""The most work of the volume method before the others begin."""

PRICES, TREE, DECLARED, SEARCH = 1.0, 3.0, 1.0, 1.0
"""The shares of the stages on small instances."""

SEARCH_ALONE = 3.0
"""The share of the search where prices are all there is besides."""

COLUMN_SIZE = 20_000
"""Up to so many slots of jobs, times resources, columns are generated after the volume method. With more, as
of 100 jobs in 100 slots, seconds of it make the bound no better."""

COLUMN_WORK = 20.0
"""The most work of column generation."""

SEED = 0


def offline(
    instance: AdmissionInstance,
    *,
    method: str = AUTO,
    gap: float = 1e-6,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[Schedule]:
    """Return the best schedules of all jobs under (1)-(13), all arrivals known in advance.

    Every method begins with a greedy schedule and the sum of what the jobs are worth alone, and goes on with
    stages that take turns (:mod:`.turns`). "lagrangian" has prices of capacity (:func:`.bound.volume`, for
    fewer jobs and slots :func:`.bound.columns`), which prove a bound, and ruin and recreate at these prices
    (:func:`.search.by_search`). "auto" adds, for small instances, branch and price, which is first with few
    jobs, and the integer program.

    Parameters
    ----------
    instance
        The instance.
    method
        "auto"; "branch-and-price" (schedules of jobs and fillings of machines, generated as prices ask for
        them, beside ruin and recreate where jobs are many); "highs" (the declared program (1)-(13) through
        Pyomo and HiGHS, beside branch and price for the bound); "cp-sat" (an independent model in OR-Tools);
        or "lagrangian", without integer programs.
    gap
        Relative gap to reach.
    time_limit
        Seconds. A run with more time does all that one with less does, and goes on: it never ends worse on a
        machine of the same speed. Without a limit, "branch-and-price", "highs" and "cp-sat" run until the gap
        is reached, or the tree has no node left; "lagrangian" and "auto" end by themselves, after work that
        depends on the size alone, so that the result is the same every time.
    progress
        Called with the fraction done and a text.

    Returns
    -------
    Optimum
        ``decision`` is a :class:`Schedule`; its ``deployments`` replay it. ``bound`` is the least of all that
        were proved; ``method`` names what made the value and what proved the bound. ``certificate`` is the
        :class:`Priced` with the least Lagrangian bound: :func:`lagrangian_bound` computes that again from
        its prices (and from its payoffs, for jobs that are too large for the exact subroutine).
    """
    budget = Budget(gap, time_limit)
    choose(method, METHODS, "method")
    start, alone = (Schedule.empty(), "nothing runs"), without_prices(instance)
    proof = alone.bound, alone.method, alone
    best = Best(instance, budget, progress, start, proof, terms=len(instance.jobs))
    best.offer(search(instance, alone, Budget(gap, None), SEED, iterations=0), "greedy")
    if in_turns(best, _turns(best, method)):
        return best.optimum(WhyStopped.TIME_LIMIT)
    return best.optimum(WhyStopped.ROUNDS if method in (AUTO, LAGRANGIAN) else WhyStopped.STALLED)


def _turns(best: Best, method: str) -> list[Turn]:
    """Return the stages of a method."""
    if method == CP_SAT:
        return [Turn(by_cp_sat(best), 1.0)]
    instance, limited = best.instance, math.isfinite(best.budget.time_limit)
    rough = method in (AUTO, LAGRANGIAN)
    programs = method in (BRANCH, HIGHS) or (method == AUTO and _small(instance))
    tree, many = programs and affordable(instance), len(instance.jobs) > FEW_JOBS
    exact = math.inf if limited or not rough else EXACT_WORK
    turns = []
    if rough or (tree and many):
        begin, each, rounds = begin_work(instance), volume_work(instance), volume_rounds(instance)
        first = begin + min(FIRST_ROUNDS, rounds) * each
        ahead = min(first, PRICES_FIRST) if rough else first
        most = begin + rounds * each + COLUMN_WORK * _few(instance)
        stage = _by_prices(best) if rough else by_volume(best)
        turns.append(Turn(stage, PRICES, most if rough else first, ahead))
    if tree:
        turns.append(Turn(by_branching(best), TREE, exact, 0.0 if many or method == HIGHS else FIRST_WORK))
    if programs and method != BRANCH:
        ahead = declaring_work(instance) + FIRST_WORK if method == HIGHS else 0.0
        turns.append(Turn(by_highs(best), DECLARED, exact, ahead))
    if rough or (method == BRANCH and tree and many):  # at prices; at none it finds little
        share = SEARCH if programs else SEARCH_ALONE
        most = math.inf if limited and rough else search_work(instance)
        turns.append(Turn(by_search(best, SEED), share, most))
    return turns


def _by_prices(best: Best) -> Stage:
    """Bound by the volume method, and go on with column generation if that is worth it."""
    yield from by_volume(best)
    if _few(best.instance):
        yield from by_columns(best)


def _few(instance: AdmissionInstance) -> bool:
    """Return whether column generation makes bounds better in little time."""
    setting = instance.setting
    slots = sum(setting.horizon - job.arrival + 1 for job in instance.jobs if job.index not in instance.never)
    size = slots * len(setting.resources)
    return size <= COLUMN_SIZE and all(quick(job, setting.horizon) for job in instance.jobs)


def _small(instance: AdmissionInstance) -> bool:
    """Return whether the integer program is worth a try."""
    setting = instance.setting
    able = [job for job in instance.jobs if job.index not in instance.never]
    slots = sum(setting.horizon - job.arrival + 1 for job in able)
    return slots * (len(setting.worker_units) + len(setting.server_units)) <= SMALL


ORACLES = {
    "offline": OracleEntry(
        offline,
        AdmissionInstance.problem,
        "the best schedules of all jobs, known in advance",
        METHODS,
        "Lagrangian bounds, computed by our own code from prices, on small instances those at the leaves of "
        "a tree, whoever has found the schedule; by cp-sat the dual bound of CP-SAT, exact in whole numbers",
        writer=of_schedule,
    )
}
