"""Oracle of the placement problem: the cheapest schedule of all jobs, with a certified lower bound."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...models.draw import choose
from ...models.placement.instance import MOST_SUM, PlacementInstance
from ...models.placement.schedule import Schedule
from ..base import Budget, Optimum, OracleEntry, PartProgress, ProgressCallback, WhyStopped
from ..turns import STEP, Best, Stage, Turn, in_turns
from .bound import Bound, Certificate, Pricing, check_certificate, lower_bound, sum_of_durations
from .certificate import of_offline
from .exact import (
    BRANCHED,
    MILLION,
    Branching,
    Exact,
    by_branch_and_bound,
    by_cpsat,
    by_enumeration,
    by_program,
)
from .search import MOST_ROUNDS, SEED, UNTIL_TIME, Searching, gap, list_schedule
from .windows import Windows

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

PRICES, TREE, SEARCHED = 3.0, 5.0, 2.0
"""Shares of all work: of the rounds on prices, of the branch and bound, and of the search beside it."""

SEARCH_ALONE = 7.0
"""The share of the search where there is no branch and bound."""

PRICES_FIRST, SEARCH_FIRST = 3e-4, 0.02
"""Work that is done before the branch and bound begins: by the cube of the number of jobs, and by it."""


class _Best(Best[Schedule, int]):
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
    to wait. "search" goes on with stages that take turns (:mod:`.turns`): prices, which prove a bound
    (:func:`.bound.lower_bound`), and plans and annealing (:func:`.search.search`). "auto"
    adds the branch and bound for few jobs, in windows of their starts if all sets of jobs that can run
    together are known (:mod:`.windows`).

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
        after :data:`EXACT_NODES`. What a clock cuts off may differ between runs; with more time "search" and
        "auto" begin with all that they do with less, and never end worse. The first list schedule is made in
        any case.
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
    best = _Best(instance, budget, progress, start, proof, unavoidable=instance.unavoidable)
    last = WhyStopped.ROUNDS
    if method in EXACT:
        if not best.over:
            last = _take(best, EXACT[method](instance, budget.rest(), best.report()))
    elif not best.over:
        in_turns(best, _turns(best, exact=method == AUTO and _few(instance)))
    return best.optimum(last)


def _few(instance: PlacementInstance) -> bool:
    """Return whether the branch and bound is worth a try, and can count the costs."""
    return len(instance.jobs) <= FEW_JOBS and instance.costliest <= MOST_SUM


def _turns(best: _Best, *, exact: bool) -> list[Turn]:
    """Return the rounds on prices, the search and, if ``exact``, the branch and bound, which begins later."""
    limited, few = math.isfinite(best.budget.time_limit), len(best.instance.jobs) if exact else 0
    pricing = Pricing(best.instance, best.decision)
    prices = _by_prices(best, pricing, endless=limited, parted=exact)
    search = _by_search(best, pricing, UNTIL_TIME if limited else MOST_ROUNDS, shared=exact)
    turns = [
        Turn(prices, PRICES, ahead=PRICES_FIRST * few**3),
        Turn(search, SEARCHED if exact else SEARCH_ALONE, ahead=SEARCH_FIRST * few),
    ]
    if exact:
        turns.append(Turn(_by_branching(best, pricing, math.inf if limited else EXACT_NODES), TREE))
    return turns


def _by_prices(best: _Best, pricing: Pricing, *, endless: bool, parted: bool) -> Stage:
    """Bound by prices; the certificate is made in the end."""
    spent = 0.0
    try:
        for work in pricing.steps(endless=endless, parted=parted):
            spent += work
            if spent >= STEP:
                best.limit(pricing.proved, pricing.name)
                best.tell(pricing.text)
                yield spent
                spent = 0.0
    finally:
        found = pricing.bound()
        best.limit(found.units, found.method, found.certificate)


def _by_search(best: _Best, pricing: Pricing, rounds: int, *, shared: bool) -> Stage:
    """Search for so many rounds; what is found is ``shared`` at once, or if it suffices, or in the end."""
    searching, spent = Searching(best.instance), 0.0
    try:
        for work in searching.steps(rounds, SEED):
            spent += work
            if spent >= STEP:
                if shared or gap(best.instance, int(searching.cost), best.bound) <= best.budget.gap:
                    _offer(best, searching)
                best.done = min(pricing.done, searching.done)
                best.tell(searching.maker, value=searching.cost / MILLION)
                yield spent
                spent = 0.0
    finally:
        _offer(best, searching)


def _offer(best: _Best, searching: Searching) -> None:
    """Take the best schedule of a search so far, if it is better."""
    if searching.cost < best.value:
        best.offer(searching.schedule(), searching.maker)


def _by_branching(best: _Best, pricing: Pricing, most_nodes: float) -> Stage:
    """Branch and bound from the best schedule so far, in windows if jobs have prices alone."""
    branching, spent = Branching(best.instance, best.decision), 0.0
    tree = Windows(branching, pricing)
    for work in tree.steps(best.budget.gap):
        spent += work
        if spent >= STEP:
            _know(best, branching, tree.low)
            best.tell(tree.text)
            if branching.nodes >= most_nodes:
                return
            yield spent
            spent = 0.0
    _know(best, branching, tree.low)


def _know(best: _Best, branching: Branching, low: int) -> None:
    """Exchange what the branch and bound and the other stages have found."""
    if branching.best < best.value:
        best.offer(branching.schedule, BRANCHED)
    best.limit(low, BRANCHED)
    branching.know(best.value)


def _take(best: _Best, found: Exact) -> WhyStopped:
    """Take the result of an exact method, and return why it stopped."""
    if found.schedule is not None:
        best.offer(found.schedule, found.method)
    if found.units is not None:
        best.limit(found.units, found.method)
    return found.why_stopped


ORACLES = {
    "offline": OracleEntry(
        offline,
        PlacementInstance.problem,
        "the cheapest schedule of all jobs, known in advance",
        METHODS,
        "prices of capacity, machines and jobs, evaluated by our own code, for any starts; on few jobs also "
        "our own branch and bound, over the decision epochs; on request the dual bound of CP-SAT, or what "
        "multipliers of the declared program prove",
        writer=of_offline,
    )
}
