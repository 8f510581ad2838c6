"""A rolling horizon: at every epoch all waiting jobs are planned anew on estimated durations.

The forecast is that of :mod:`.metaheuristics`: a simulation that begins now, with the running jobs where they
are and estimates in the place of durations, by users or by the jobs that have ended; nobody else arrives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.base import InputError, frozen
from ...models.draw import whole
from ...models.placement.setting import Observation, Setting
from ..base import Traits
from .metaheuristics import Records, look_ahead

MOST_PLANS = 10**6
SOURCE = (
    "ours: a rollout (Bertsekas, Tsitsiklis and Wu, Journal of Heuristics 1997) of plans on the forecast of "
    "mosa and malo"
)


@dataclass
class RollingHorizon:
    """Rolling-Horizon: plans what waits anew, by how long jobs have taken so far; ties: older, lower index.

    A plan is an order of the jobs of the window, and of each whether it waits until no more machines hold it
    than if they were empty; it is carried out in the forecast, where a job that does not start is passed over
    and the machine with room for the most of its instances takes these, of equals the one with the fewest
    free GPUs. Its value is the cost of the instance from now on: completion times plus lambda times
    GPU-seconds, of equals fewer GPU-seconds. The first plans are by age, by dominant share, by expected
    duration, and by the product of both, each without and with waiting. The best of them is improved: a job
    that fits now may wait or not, come first, or come last. What the best plan starts now, starts. So a job
    may wait though it fits, but not for ever: where nothing runs, the first in the order starts.

    A job is expected to take the mean of the jobs that have ended with as many GPUs, and of all of them as
    one more, a running job that of those beyond its age, as in :meth:`.metaheuristics.Records.estimates`;
    contention is simulated, but not corrected when durations are learned. Nothing is proven. Ties go to the
    plan found first, in an order to the older job, and to the machine with the lower index.

    Parameters
    ----------
    plans
        The most plans that are valued at an epoch; the first eight always are.

    Raises
    ------
    InputError
        For a setting out of range.
    """

    plans: int = 64
    name: str = field(default="rolling-horizon", init=False)
    traits: ClassVar[Traits] = Traits(problem="placement", source=SOURCE)

    def __post_init__(self) -> None:
        self.plans = whole("plans", self.plans, 0, MOST_PLANS)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        self._total = setting.capacity.sum(axis=0)
        self._records = Records(setting)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that the best plan starts now."""
        from .kernels import dominant_shares
        from .rolling_kernels import first_starts, search

        seen, records = observation, self._records
        records.note(seen)
        forecast, jobs, estimate = look_ahead(records, seen)
        running, least = len(jobs) - len(seen.jobs), fewest_of(records, jobs)
        share = dominant_shares(self._total, seen.instances, seen.need)
        length = estimate[running:]
        keys = np.zeros(len(seen.jobs)), share, length, share * length
        orders = running + np.array([np.argsort(key, kind="stable") for key in keys])
        order, patient, _, _ = search(forecast, least, orders, self.plans)
        rows: np.ndarray = first_starts(forecast, least, order, patient)
        rows[:, 0] = jobs[rows[:, 0]]
        records.start(rows, seen.time)
        return frozen(rows)


@dataclass
class RollingHorizonEstimate(RollingHorizon):
    """Rolling-Horizon-Estimate: plans what waits anew, by users' estimates; ties: older, lower index.

    It is :class:`RollingHorizon`, but a job is expected to take its estimate times the mean ratio of
    durations and estimates so far, of a running job that of those beyond its age.
    """

    name: str = field(default="rolling-horizon-estimate", init=False)
    traits: ClassVar[Traits] = Traits(problem="placement", sees=frozenset({"estimates"}), source=SOURCE)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that the best plan starts now."""
        if observation.estimate is None:
            raise InputError("observation: this policy needs the estimates, but was not shown them")
        return super().decide(observation)


def fewest_of(records: Records, jobs: np.ndarray) -> np.ndarray:
    """Return the fewest machines that hold each job when they are empty, shape (n,)."""
    return np.asarray((~np.isnan(records.factor[jobs])).argmax(axis=1), dtype=np.int64)
