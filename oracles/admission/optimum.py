"""Oracle of the admission problem: the best schedules of all jobs, with a certified bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...models.admission.instance import AdmissionInstance
from ...models.admission.schedule import Schedule
from ...models.draw import choose
from ..base import Budget, Incumbent, Optimum, OracleEntry, ProgressCallback, WhyStopped
from .bound import Priced, columns, lagrangian_bound, quick, volume, without_prices
from .branch import FEW_JOBS, affordable
from .certificate import of_schedule
from .exact import Part, by_branching, by_cp_sat, by_highs, tidied
from .search import search

__all__ = ["METHODS", "ORACLES", "Priced", "lagrangian_bound", "offline"]

AUTO, BRANCH, HIGHS, CP_SAT, LAGRANGIAN = "auto", "branch-and-price", "highs", "cp-sat", "lagrangian"
METHODS = (AUTO, BRANCH, HIGHS, CP_SAT, LAGRANGIAN)

SMALL = 20_000
"""Up to so many pairs of a slot of a job and a machine, "auto" tries the integer programs."""

EXACT_SECONDS = 90.0
"""The time "auto" gives the integer programs if it has no time limit."""

FIRST_SECONDS, FIRST_SHARE = 5.0, 0.5
"""Before the integer program, of few jobs before anything else, "auto" gives branch and price on a small
instance this time, and at most this part of the time limit."""

FIRST_ROUNDS = 500
"""Rounds of the volume method, at whose prices branch and price of many jobs begins, and a first search."""

VOLUME_WORK = 3e9
SEARCH_WORK = 1e8
"""Limits of the volume method and of the search, so that each ends within a minute or two."""

COLUMN_SIZE = 20_000
"""Up to so many slots of jobs, times resources, columns are generated after the volume method. With more, as
of 100 jobs in 100 slots, :data:`COLUMN_SECONDS` make the bound no better."""

COLUMN_SECONDS = 20.0
"""The most time that column generation takes."""

ROUNDS_PER_JOB = 100
UNTIL_TIME = 10**9
"""Rounds of the search without a time limit (no more than SEARCH_WORK allows), and with one."""

SEED = 0


class _Incumbent(Incumbent[Schedule, float]):
    """The best schedule and the least bound; the certificate is a :class:`Priced`."""

    def evaluate(self, decision: Schedule) -> float:
        """Return the utility of a schedule."""
        return float(self.instance.rewards(decision).sum())


def offline(
    instance: AdmissionInstance,
    *,
    method: str = AUTO,
    gap: float = 1e-6,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[Schedule]:
    """Return the best schedules of all jobs under (1)-(13), all arrivals known in advance.

    Every method begins with a greedy schedule and the sum of what the jobs are worth alone. "lagrangian" goes
    on with prices of capacity (:func:`.bound.volume`, for fewer jobs and slots :func:`.bound.columns`), which
    prove a bound, and ruin and recreate at these prices (:func:`.search.search`). "auto" adds, for small
    instances, branch and price for a short time before that, with many jobs after it (the integer program
    where its tables are too large), and then the integer program, until the gap is reached.

    Parameters
    ----------
    instance
        The instance.
    method
        "auto"; "branch-and-price" (schedules of jobs and fillings of machines, generated as prices ask for
        them); "highs" (the declared program (1)-(13) through Pyomo and HiGHS, and the
        bound of "branch-and-price"); "cp-sat" (an independent
        model in OR-Tools); or "lagrangian", without integer programs.
    gap
        Relative gap to reach.
    time_limit
        Seconds. Without one, "branch-and-price", "highs" and "cp-sat" run until the gap is reached, or the
        tree has no node left. "lagrangian" and "auto" end by themselves: volume method and search after a
        number of rounds that depends on the size alone, column generation after :data:`COLUMN_SECONDS` at the
        latest, and the programs of "auto" after :data:`FIRST_SECONDS` and :data:`EXACT_SECONDS`. What these
        clocks cut off may differ between runs.
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
    incumbent = _Incumbent(instance, budget, progress, start, proof, terms=len(instance.jobs))
    incumbent.offer(search(instance, alone, Budget(gap, None), SEED, iterations=0), "greedy")
    small = method == AUTO and _small(instance)
    many, tree = len(instance.jobs) > FEW_JOBS and affordable(instance), None
    if many and small and not incumbent.over:
        _by_prices(incumbent, brief=True)
    if many and method in (BRANCH, HIGHS) and not incumbent.over:
        _price(incumbent, volume(instance, budget.part(0.1), incumbent.report(0.0, 0.0), FIRST_ROUNDS))
    if small and not incumbent.over:
        first, (low, high) = budget.part(FIRST_SHARE, FIRST_SECONDS), (0.5, 0.6) if many else (0.0, 0.1)
        tree = _solve(incumbent, by_branching if affordable(instance) else by_highs, first, low, high)
    if method in (AUTO, LAGRANGIAN) and not (many and small) and not incumbent.over:
        _by_prices(incumbent, brief=small)
    if small and not incumbent.over:
        _by_programs(incumbent, tree, 0.6 if many else 0.5)
    programs = {BRANCH: by_branching, HIGHS: by_highs, CP_SAT: by_cp_sat}
    if method in programs and not incumbent.over:
        _solve(incumbent, programs[method], budget, 0.0, 1.0)
    if method in (AUTO, LAGRANGIAN):
        return incumbent.optimum(WhyStopped.ROUNDS)
    # a solver may also end early because its program is too large for the time
    return incumbent.optimum(
        WhyStopped.TIME_LIMIT if math.isfinite(budget.time_limit) else WhyStopped.STALLED
    )


def _small(instance: AdmissionInstance) -> bool:
    """Return whether the integer program is worth a try."""
    setting = instance.setting
    able = [job for job in instance.jobs if job.index not in instance.never]
    slots = sum(setting.horizon - job.arrival + 1 for job in able)
    return slots * (len(setting.worker_units) + len(setting.server_units)) <= SMALL


def _by_prices(incumbent: _Incumbent, *, brief: bool) -> None:
    """Bound by prices, and search at them; ``brief`` leaves most of the time to the programs."""
    instance, setting = incumbent.instance, incumbent.instance.setting
    jobs = [job for job in instance.jobs if job.index not in instance.never]
    slots = sum(setting.horizon - job.arrival + 1 for job in jobs)
    steps = sum((setting.horizon - job.arrival + 1) * job.chunks for job in jobs)
    rounds = int(min(2000, max(50, VOLUME_WORK // steps)))
    budget, low = incumbent.budget, 0.1
    if brief and rounds > FIRST_ROUNDS:  # at other prices, the search ends elsewhere
        _price(incumbent, volume(instance, budget.part(0.2), incumbent.report(low, 0.2), FIRST_ROUNDS))
        if not incumbent.over:
            _search(incumbent, budget.part(0.1), 0.2, 0.3)
        low = 0.3
    if not incumbent.over:
        _price(incumbent, volume(instance, budget.part(0.4), incumbent.report(low, 0.35), rounds))
    few = slots * len(setting.resources) <= COLUMN_SIZE and all(quick(job, setting.horizon) for job in jobs)
    few = few and not (brief and affordable(instance))  # branch and price is tighter
    if few and not incumbent.over:
        part = budget.part(0.1 if brief else 0.3, COLUMN_SECONDS)
        _price(incumbent, columns(instance, part, incumbent.report(0.35, 0.4), incumbent.certificate))
    if not incumbent.over:
        _search(incumbent, budget.part(0.1 if brief else 1.0), 0.4, 0.5 if brief else 1.0)


def _search(incumbent: _Incumbent, budget: Budget, low: float, high: float, seed: int = SEED) -> None:
    """Search at the best prices, from the best schedule on: until the time is up, or for some rounds."""
    setting, able = incumbent.instance.setting, len(incumbent.instance.jobs) - len(incumbent.instance.never)
    machines = len(setting.worker_units) + len(setting.server_units)
    rounds = min(ROUNDS_PER_JOB * able, max(200, int(SEARCH_WORK // (setting.horizon * machines))))
    if incumbent.budget.time_limit < math.inf:
        rounds = UNTIL_TIME
    start = tidied(incumbent.instance, incumbent.decision)
    found = search(
        incumbent.instance, incumbent.certificate, budget, seed, incumbent.report(low, high), rounds, start
    )
    incumbent.offer(found, "ruin and recreate")


def _by_programs(incumbent: _Incumbent, tree: Any, low: float) -> None:
    """Solve the integer program, bound what it finds by a tree that goes on growing, and search on."""
    most = EXACT_SECONDS if incumbent.budget.left == math.inf else incumbent.budget.left
    _solve(incumbent, by_highs, incumbent.budget.part(0.8, most), low, 0.9, tree)
    if not incumbent.over:
        _search(incumbent, incumbent.budget.part(), 0.9, 1.0, SEED + 1)


def _price(incumbent: _Incumbent, found: Priced) -> None:
    incumbent.limit(found.bound, found.method, found)


def _solve(
    incumbent: _Incumbent,
    method: Callable[..., Part],
    budget: Budget,
    low: float,
    high: float,
    tree: Any = None,
) -> Any:
    """Try for a better schedule and bound, from the best schedule and prices so far; return the tree."""
    report, start = incumbent.report(low, high), incumbent.decision
    more = () if method is by_cp_sat else (incumbent.certificate, tree)
    found = method(incumbent.instance, budget, report, start, *more)
    if found.schedule is not None:
        incumbent.offer(found.schedule, found.method)
    if found.bound is not None:
        incumbent.limit(found.bound, found.method)
    return found.tree


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
