"""One pass through the decision epochs of a placement instance.

A decision epoch is an arrival or a completion after which some job of the window fits; a decision says which
pending jobs start now, and how many instances of them on which machine. Jobs run to their end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ..base import DecisionError, InputError, Outcome, frozen
from .jobs import Jobs, seconds
from .schedule import sorted_rows
from .setting import Feedback, Observation
from .simulator import MEANING, Simulator
from .state import DONE, PENDING


class Simulated(Protocol):
    """The members of an instance that an episode uses; see :class:`.instance.PlacementInstance`."""

    jobs: Jobs

    def simulator(self) -> Simulator:
        """Return a fresh simulation."""
        ...

    def weighted(self, waited: int, used: int) -> float:
        """Return the cost of so many job-ticks in the system and GPU-ticks in use."""
        ...


class JobEpisode:
    """One pass through the decision epochs; see :class:`clairvoyant.models.base.Episode`.

    ``sees`` is what the observations show besides: "durations", "estimates", both or neither; estimates that
    the jobs do not have are an InputError. ``simulator`` is the simulation, at the epoch that is decided
    next, or at its end.
    """

    def __init__(self, instance: Simulated, sees: frozenset[str]) -> None:
        if "estimates" in sees and instance.jobs.estimate is None and len(instance.jobs):
            raise InputError(
                "estimates: the policy sees those of the users, but the jobs of the instance have none; give "
                "every job an estimate, or generate the instance with one (--option estimate_error=0.5)"
            )
        self._instance = instance
        self._sees = sees
        self.simulator = instance.simulator()
        self._ended_shown = 0
        self._more = self.simulator.advance()

    def __iter__(self) -> Iterator[Observation]:
        """Yield one observation per decision epoch."""
        while self._more:
            yield self._observe()

    def _observe(self) -> Observation:
        simulator = self.simulator
        clock = simulator.state.clock
        from .kernels import observe

        seen = observe(simulator.table, simulator.state, simulator.window, self._ended_shown)
        jobs, (submit, instances, need, intensity), free, running, ended = seen
        self._ended_shown = int(clock[DONE])
        return Observation(
            time=simulator.now,
            jobs=frozen(jobs),
            submit=frozen(submit),
            instances=frozen(instances),
            need=frozen(need),
            intensity=frozen(intensity),
            waiting=int(clock[PENDING]),
            free=frozen(free),
            running=frozen(running),
            ended=frozen(ended),
            duration=self._shown("durations", self._instance.jobs.duration, jobs),
            estimate=self._shown("estimates", self._instance.jobs.estimate, jobs),
        )

    def _shown(self, what: str, column: np.ndarray | None, jobs: np.ndarray) -> np.ndarray | None:
        """Return a column of these jobs if it is seen."""
        return frozen(column[jobs]) if what in self._sees and column is not None else None

    def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
        """Check and carry out the starts, and go on to the next epoch; the reward is what that cost.

        An infeasible decision always raises: there is no way to run it.
        """
        simulator = self.simulator
        rows = read_starts(decision)
        waited, used = simulator.waited, simulator.used
        feasible, goes_on = simulator.step(rows)
        if not feasible:
            broken = simulator.violations(rows)
            texts = (f"{b} ({MEANING[b.constraint]})" for b in broken)
            raise DecisionError.at(f"time {seconds(simulator.now):g} s", broken, texts)
        self._more = goes_on
        cost = self._instance.weighted(simulator.waited - waited, simulator.used - used)
        return Outcome(cost, True, Feedback(cost))


def read_starts(decision: Any) -> np.ndarray:
    """Return the rows (job, machine, count) of a decision, sorted; InputError if it is none."""
    if decision is None:
        raise InputError("decision: None; decide() must return rows (job, machine, count), none to wait")
    return sorted_rows("decision", decision)
