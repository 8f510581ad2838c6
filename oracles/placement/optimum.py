"""Oracle of the placement problem: the cheapest schedule of all jobs, with a certified lower bound."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...models.draw import choose
from ...models.placement.instance import MOST_SUM, PlacementInstance
from ...models.placement.schedule import Schedule
from ..base import Budget, Incumbent, Optimum, OracleEntry, PartProgress, ProgressCallback, WhyStopped
from .bound import Bound, Certificate, check_certificate, lower_bound, sum_of_durations, tariff
from .certificate import of_offline
from .exact import MILLION, Exact, by_branch_and_bound, by_cpsat, by_enumeration, by_program
from .search import list_schedule, search

__all__ = ["METHODS", "ORACLES", "Bound", "Certificate", "check_certificate", "lower_bound", "offline"]

AUTO, SEARCH = "auto", "search"
EXACT: dict[str, Callable[[PlacementInstance, Budget, PartProgress | None], Exact]] = {
    "branch-and-bound": lambda *given: by_branch_and_bound(*given),
    "cp-sat": lambda *given: by_cpsat(*given),
    "program": lambda *given: by_program(*given),
    "enumeration": lambda *given: by_enumeration(*given),
}
METHODS = (AUTO, SEARCH, *EXACT)

FEW_JOBS = 40
"""Up to so many jobs, "auto" also tries the branch and bound."""

EXACT_NODES = 200_000
"""The epochs that "auto" gives the branch and bound if it has no time limit."""

BOUND_SHARE = 0.3
"""The part of the time left that the bound may take."""

BRIEF_SHARE = 0.1
"""The part of the time left that the search may take before the branch and bound."""

BRIEF_ROUNDS = 2000
"""Rounds of the search before the branch and bound."""


class _Incumbent(Incumbent[Schedule, int]):
    """The cheapest schedule and the largest bound, in whole millionths of a second."""

    minimised = True
    unit = MILLION

    def evaluate(self, decision: Schedule) -> int:
        """Return the cost of a schedule."""
        return self.instance.units(decision)

    @property
    def method(self) -> str:
        """The methods that found the schedule and, if it is another one, that proved the bound."""
        return self.maker if self.maker == self.prover else super().method


def offline(
    instance: PlacementInstance,
    *,
    method: str = AUTO,
    gap: float = 1e-6,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[Schedule]:
    """Return the cheapest schedule of all jobs, all of them known in advance.

    Every method begins with a list schedule and the sum of all durations, which are optimal where nobody has
    to wait. "search" goes on with prices, which prove a bound (:func:`.placement_bound.lower_bound`), and
    with plans and annealing (:func:`.placement_search.search`). "auto" adds the branch and bound for few
    jobs, between a short search and a long one.

    The cost is minimised over what policies can do: starts at decision epochs. The bound of prices holds for
    any starts, and so does that of CP-SAT and the program.

    Parameters
    ----------
    instance
        The instance.
    method
        "auto"; "search", for any size; or one exact method alone: "branch-and-bound" over the decision
        epochs, "cp-sat" (exact without contention; with it, its bound is that of the jobs undisturbed),
        "program" (the declared program through Pyomo and HiGHS, without contention) or "enumeration" (tiny
        instances).
    gap
        Relative gap to reach, by which less than the best may have been found. What every schedule pays for
        GPUs does not count in it. It is "proved" only if value and bound are equal.
    time_limit
        Seconds. Without one, an exact method runs until the gap is reached; "search" and "auto" end by
        themselves after a number of rounds that depends on the size alone, the branch and bound of "auto"
        after :data:`EXACT_NODES`. What a clock cuts off may differ between runs; with more time the search
        begins with all that it does with less. The first list schedule
        is made in any case.
    progress
        Called with the fraction done and a text.

    Returns
    -------
    Optimum
        ``decision`` is a :class:`.Schedule`; ``instance.decisions`` of it replay it. ``bound`` is the largest
        of all that were proved; ``method`` names what made the value and what proved the bound.
        ``certificate`` is the :class:`.Certificate` of the largest bound that prices prove, which
        :func:`check_certificate` computes again.
    """
    budget = Budget(gap, time_limit)
    choose(method, METHODS, "method")
    start, trivial = (list_schedule(instance), "shortest first"), sum_of_durations(instance)
    proof = trivial.units, trivial.method, trivial.certificate
    incumbent = _Incumbent(instance, budget, progress, start, proof, unavoidable=instance.unavoidable)
    last = WhyStopped.ROUNDS
    if method in EXACT:
        if not incumbent.over:
            last = _take(incumbent, EXACT[method](instance, budget.part(), incumbent.report(0.0, 1.0)))
    else:
        _by_prices_and_search(incumbent, exact=method == AUTO and _few(instance))
    return incumbent.optimum(last)


def _few(instance: PlacementInstance) -> bool:
    """Return whether the branch and bound is worth a try, and can count the costs."""
    return len(instance.jobs) <= FEW_JOBS and instance.costliest <= MOST_SUM


def _by_prices_and_search(incumbent: _Incumbent, *, exact: bool) -> None:
    """Bound by prices and search; with ``exact``, branch and bound between a short search and a long one."""
    instance, budget = incumbent.instance, incumbent.budget
    if incumbent.over:
        return
    part = budget.part(BOUND_SHARE)
    found = lower_bound(instance, part, incumbent.report(0.0, 0.2), schedule=incumbent.decision)
    incumbent.limit(found.units, found.method, found.certificate)
    if exact and not incumbent.over:
        part = budget.part(BRIEF_SHARE)
        incumbent.offer(
            *search(instance, part, incumbent.report(0.2, 0.3), rounds=BRIEF_ROUNDS, bound=incumbent.bound)
        )
    if exact and not incumbent.over:
        part, report, start = budget.part(0.8), incumbent.report(0.3, 0.8), incumbent.decision
        most = EXACT_NODES if math.isinf(budget.left) else math.inf
        prices = tariff(instance, found.certificate)
        _take(
            incumbent,
            by_branch_and_bound(instance, part, report, schedule=start, tariff=prices, most_nodes=most),
        )
    if not incumbent.over:
        low = 0.8 if exact else 0.2
        incumbent.offer(*search(instance, budget.part(), incumbent.report(low, 1.0), bound=incumbent.bound))


def _take(incumbent: _Incumbent, found: Exact) -> WhyStopped:
    """Take the result of an exact method, and return why it stopped."""
    if found.schedule is not None:
        incumbent.offer(found.schedule, found.method)
    if found.units is not None:
        incumbent.limit(found.units, found.method)
    return found.why_stopped


ORACLES = {
    "offline": OracleEntry(
        offline,
        PlacementInstance.problem,
        "the cheapest schedule of all jobs, known in advance",
        METHODS,
        "prices of capacity, machines and jobs, evaluated by our own code, for any starts; on few jobs also "
        "our own branch and bound, over the decision epochs; on request the dual bound of CP-SAT or HiGHS",
        writer=of_offline,
    )
}
