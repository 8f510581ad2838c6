"""Stages of the oracle of admission as functions of an instance."""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.oracles.admission import exact
from clairvoyant.oracles.admission.bound import Priced, without_prices
from clairvoyant.oracles.admission.incumbent import Best
from clairvoyant.oracles.base import Budget
from clairvoyant.oracles.turns import Stage, Turn, in_turns


class Part(NamedTuple):
    """What stages have come to."""

    schedule: Schedule
    bound: float
    method: str


class Heard(Best):
    """It tells the progress with the numbers that stages give."""

    def tell(self, text: str, *, value: float = math.nan, bound: float = math.nan) -> None:
        if self.progress is not None:
            hear: Any = self.progress
            hear(max(self.done, self.budget.used), text, value=value, bound=bound)


def begun(
    instance: AdmissionInstance,
    budget: Budget,
    progress: Any = None,
    start: Schedule | None = None,
    capacity: Priced | None = None,
) -> Best:
    """A search that knows nothing but what is given."""
    alone = without_prices(instance)
    first = Schedule.empty() if start is None else exact.tidied(instance, start)
    best = Heard(
        instance,
        budget,
        progress,
        (first, "start"),
        (alone.bound, alone.method, capacity or alone),
        terms=len(instance.jobs),
    )
    best.offer(first, "start")
    return best


def staged(*stages: Callable[[Best], Stage]) -> Callable[..., Part]:
    """The stages in turns; after so many ``steps`` of the first, if given, no more."""

    def solve(
        instance: AdmissionInstance,
        budget: Budget,
        progress: Any = None,
        start: Schedule | None = None,
        capacity: Priced | None = None,
        steps: int | None = None,
    ) -> Part:
        best = begun(instance, budget, progress, start, capacity)
        if steps is None:
            in_turns(best, [Turn(stage(best), 1.0) for stage in stages])
        else:
            for _ in itertools.islice(stages[0](best), steps):
                pass
        return Part(best.decision, best.bound, best.method)

    return solve


by_branching = staged(exact.by_branching)
by_highs = staged(exact.by_highs, exact.by_branching)
by_cp_sat = staged(exact.by_cp_sat)
