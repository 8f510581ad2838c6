"""Rewards of the steps of the two agents: the paper's, and one whose sum is what is to be minimised.

A step goes from one decision epoch to the next, the last one to the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..base import DecisionError, InputError, numbers
from ..compiled import njit
from ..draw import real
from .instance import PlacementInstance
from .jobs import TICKS
from .schedule import Schedule
from .simulator import Simulator
from .state import DONE, RUNNING, SCALE

ALPHA = 0.1
"""The penalty in reward (3) for each GPU of a job that did not fit (Appendix D)."""

MINUTE = 60.0
"""Seconds of a unit of time in reward (3): completion times in Table 1 are in minutes, fees in dollars."""


def printed_reward(
    fees: np.ndarray, times: np.ndarray, failed_gpus: np.ndarray, alpha: float = ALPHA
) -> float:
    r"""Return reward (3) of one step, the mean over its N' finished and failed jobs, 0 if there are none.

    .. math::
        r = \frac{1}{N'} \sum_i \left(
            \frac{\zeta_i}{r^{fee}_i r^{jct}_i} - (1 - \zeta_i) \alpha C_i n^{GPU}_i \right)

    The paper does not say in which units; they matter, since something per dollar and time is added to a
    number of GPUs. Any may be used here; dollars and minutes are those of Table 1.

    ``fees`` and ``times`` are those of the jobs that finished, above 0, shape (f,); ``failed_gpus`` are C x
    n^GPU of the jobs that were tried and did not fit, shape (g,), each GPU of which costs the penalty
    ``alpha``.
    """
    count = len(fees) + len(failed_gpus)
    if not count:
        return 0.0
    return float(((1.0 / (fees * times)).sum() - alpha * failed_gpus.sum()) / count)


def refuse_free_jobs(instance: PlacementInstance) -> None:
    """Raise InputError if reward (3) is undefined, because the price is 0 or a job has no GPUs."""
    if len(instance.jobs) and instance.setting.price == 0.0:
        raise InputError("price: 0, but reward (3) divides by the fees")
    free = np.flatnonzero(instance.jobs.gpus == 0)
    if len(free):
        raise InputError(f"jobs[{free[0]}].gpus: 0, but reward (3) divides by the fee")


def printed_rewards(
    instance: PlacementInstance,
    schedule: Schedule,
    attempted: Sequence[Any] | None = None,
    *,
    alpha: float = ALPHA,
    unit: float = MINUTE,
) -> np.ndarray:
    """Return reward (3) of every step of a schedule, shape (number of epochs,).

    A job fails in a step if it is tried at the epoch that begins the step and does not start; it may fail
    many times. A job finishes in the step in which it ends, the end of the step included. What has happened
    in a run is ``instance.schedule_of(run.decisions)``.

    ``attempted`` are the jobs that are tried at each epoch; by default all of the window, as whoever passes
    over jobs that do not fit tries all. ``unit`` is the seconds of a unit of completion time; fees are in
    dollars. A job that pays nothing is an InputError.
    """
    refuse_free_jobs(instance)
    rate, second = real("alpha", alpha, 0.0, 1e9), real("unit", unit, 1e-9, 1e9)
    result: list[float] = []
    for simulator, meter, rows in _steps(instance, schedule):
        tried = simulator.pending
        if attempted is not None:
            tried = _tried(attempted, len(result), tried)
        failed = np.setdiff1d(tried, rows[:, 0])
        simulator.start(rows)
        simulator.advance()
        result.append(meter.printed(failed, rate, second))
    if attempted is not None and len(attempted) > len(result):
        raise InputError(f"attempted: {len(attempted)} lists, but there are {len(result)} epochs")
    return np.array(result, dtype=np.float64)


def _tried(attempted: Sequence[Any], epoch: int, window: np.ndarray) -> np.ndarray:
    """Return the jobs tried at an epoch, checked."""
    if epoch == len(attempted):
        raise InputError(f"attempted: {epoch} lists, but there are more epochs")
    tried = numbers(attempted[epoch], f"attempted[{epoch}]", (None,), integer=True)
    strange = np.setdiff1d(tried, window)
    if len(strange):
        raise InputError(f"attempted[{epoch}]: job {strange[0]:g} does not wait in the window")
    return tried.astype(np.int64)


def _steps(instance: PlacementInstance, schedule: Schedule) -> Iterator[tuple[Simulator, Meter, np.ndarray]]:
    """Yield a simulation at every epoch of a schedule and what starts there, which the caller carries out."""
    broken = instance.violations(schedule)
    if broken:
        first = "; ".join(map(str, broken[:3]))
        raise DecisionError(f"schedule: infeasible: {first}", broken)
    decisions = instance.decisions(schedule)
    simulator = instance.simulator()
    meter = Meter(instance, simulator)
    simulator.advance()
    for rows in decisions:
        yield simulator, meter, rows


class Meter:
    r"""The reward of every step of a simulation, read when the step has ended.

    The aligned reward is, in seconds,

    .. math:: r = - \left( \int n(t) \, dt + \lambda \, excess \right),

    where n(t) jobs are in the system and the excess is the GPU-time paid beyond what the work done in the
    step takes alone on the fewest machines. A job that is done has had its whole duration of work, hence the
    sum over all steps is :math:`\lambda \sum_i C_i n^{GPU}_i d_i`, which no policy changes, less the cost of
    the schedule.

    The simulation is at tick 0 when it is given.
    """

    def __init__(self, instance: PlacementInstance, simulator: Simulator) -> None:
        self._instance, self._simulator = instance, simulator
        self._gpus = instance.jobs.gpus
        self._counted = self._waited = self._excess = self._finished = 0

    def aligned(self) -> float:
        """Return the aligned reward of the step that ends now, in seconds."""
        simulator = self._simulator
        waited, excess = simulator.waited, self._excess_ticks() if self._instance.setting.gpu_weight else 0
        reward = -self._instance.weighted(waited - self._waited, excess - self._excess)
        self._waited, self._excess = waited, excess
        return reward

    def _excess_ticks(self) -> int:
        """Return the GPU-ticks paid so far beyond those that the work done takes without slowdown."""
        duration, table, state = self._instance.jobs.duration, self._simulator.table, self._simulator.state
        ended = state.ended[self._counted : state.clock[DONE]]
        self._counted += len(ended)
        self._finished += int((self._gpus[ended] * duration[ended]).sum())
        running = state.running[: state.clock[RUNNING]]
        now, work, speed, settled = self._simulator.now, state.work, state.speed, state.settled
        under_way = _unslowed_gpu_ticks(
            running, self._gpus, duration, table.duration, state.spans, now, work, speed, settled
        )
        return self._simulator.used - self._finished - int(under_way)

    def printed(self, failed: np.ndarray, alpha: float = ALPHA, unit: float = MINUTE) -> float:
        """Return reward (3) of the step that ends now; ``failed`` were tried when it began; not checked."""
        state, jobs = self._simulator.state, self._instance.jobs
        ended = state.ended[self._counted : state.clock[DONE]]
        self._counted += len(ended)
        finish = state.finish[ended]
        hours = (finish - state.start[ended]) / (3600.0 * TICKS)
        fees = self._instance.setting.price * self._gpus[ended] * hours
        return printed_reward(fees, (finish - jobs.submit[ended]) / (unit * TICKS), self._gpus[failed], alpha)


def aligned_rewards(instance: PlacementInstance, schedule: Schedule) -> np.ndarray:
    """Return the aligned reward of every step of a schedule in seconds; see :class:`Meter`."""
    result = []
    for simulator, meter, rows in _steps(instance, schedule):
        simulator.start(rows)
        simulator.advance()
        result.append(meter.aligned())
    return np.array(result, dtype=np.float64)


def unavoidable(instance: PlacementInstance) -> float:
    """Return lambda times the GPU-seconds of all jobs without slowdown, which every policy has to pay."""
    return instance.weighted(0, sum((instance.jobs.gpus * instance.jobs.duration).tolist()))


@njit(cache=True)
def _unslowed_gpu_ticks(  # type: ignore[no-untyped-def]
    running, gpus, duration, spread, spans, now, work, speed, settled
):
    """Return the GPU-ticks that the work done by running jobs takes without any slowdown.

    Of each job, its duration times the share of its work that is done, rounded down to whole ticks.
    ``spread`` are the durations on one, two, ... machines, shape (n, K + 1); the rest is as in the state.
    """
    total = 0
    for job in running:
        left = work[job] - speed[job] * (now - settled[job])
        share = 1.0 - left / (SCALE * spread[job, spans[job]])
        total += gpus[job] * int(duration[job] * share)
    return total
