"""What schedules are judged by: completion times, fees, utilisation, queues, and distances from bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...models.base import InputError
from ...models.placement.instance import PlacementInstance
from ...models.placement.jobs import AMOUNTS, TICKS, UNITS
from ...models.placement.schedule import Schedule
from ...oracles.base import Optimum
from ..holdings import Held, Holdings

MINUTE, HOUR = 60 * TICKS, 3600 * TICKS


def measures(instance: PlacementInstance, decisions: Iterable[Any]) -> dict[str, float]:
    """Return what :func:`measures_of` says of the schedule of decisions, one per epoch."""
    return measures_of(instance, instance.schedule_of(decisions))


def measures_of(instance: PlacementInstance, schedule: Schedule) -> dict[str, float]:
    """Return the numbers that a schedule is judged by; each name has its unit. Nothing without jobs.

    JCT and fee are means over the jobs (Sec. 5.1.4); the median and the percentiles are those of the JCT,
    linear between two jobs. The makespan is the end of the last job. GPU use is the share of all GPUs that
    are in use from the first submission to the end of the last job; 0 without GPUs.
    """
    if not len(instance.jobs):
        return {}
    taken = schedule.finish - instance.jobs.submit
    gpus = int(instance.setting.capacity[:, 0].sum())
    span = int(schedule.finish.max()) - int(instance.jobs.submit[0])
    median, p95, p99 = np.percentile(taken, (50, 95, 99)) / MINUTE
    count = len(taken)
    return {
        "JCT (min)": int(taken.sum()) / (count * MINUTE),
        "median (min)": float(median),
        "p95 (min)": float(p95),
        "p99 (min)": float(p99),
        "fee ($)": instance.setting.price * gpu_ticks(instance, schedule) / (count * HOUR),
        "makespan (h)": int(schedule.finish.max()) / HOUR,
        "GPU use (%)": 100.0 * gpu_ticks(instance, schedule) / (gpus * span) if gpus else 0.0,
    }


def gpu_ticks(instance: PlacementInstance, schedule: Schedule) -> int:
    """Return the GPUs of each job times the ticks that it runs, summed over the jobs."""
    return int((instance.jobs.gpus * (schedule.finish - schedule.start)).sum())


def ratio(optimum: Optimum, total: float) -> tuple[float, float]:
    """Return the interval of total / optimum, which lies between its certified bound and the best cost found.

    If that cost is 0 the ratio is 1 for a total of 0, else infinite; where nothing is proven it has no end.
    """
    if optimum.value <= 0.0:
        return (1.0, 1.0) if total <= 0.0 else (math.inf, math.inf)
    low = total / optimum.value
    if optimum.bound is None or optimum.bound <= 0.0:
        return low, math.inf
    return low, total / optimum.bound


class Steps(NamedTuple):
    """A whole number over time: from each of the times (ticks, ascending) on it has the value there.

    It is 0 before the first time, and from the last on.
    """

    times: np.ndarray
    values: np.ndarray


def queue_length(instance: PlacementInstance, schedule: Schedule) -> Steps:
    """Return how many jobs wait over time."""
    ends = instance.jobs.submit, np.sort(schedule.start)
    times = np.unique(np.concatenate(ends))
    came, started = (np.searchsorted(end, times, side="right") for end in ends)
    return Steps(times, came - started)


def schedule_of(instance: PlacementInstance, decided: Any) -> Schedule:
    """Return what an oracle has decided for this instance, or the schedule of the decisions of a run."""
    if not isinstance(decided, Schedule):
        return instance.schedule_of(decided)
    for broken in instance.violations(decided)[:1]:
        raise InputError(f"decision: not for this instance: {broken}")
    return decided


def holdings(instance: PlacementInstance, decided: Any) -> Holdings:
    """Return who holds what of which machine over time: jobs hold GPUs, cores and GB of memory."""
    schedule = schedule_of(instance, decided)
    job, count = schedule.rows[:, 0], schedule.rows[:, 2]
    amounts = count[:, None] * instance.jobs.need[job] / UNITS
    begin, end = schedule.start[job], schedule.finish[job]
    times = np.unique(np.concatenate([instance.jobs.submit[:1], schedule.start, schedule.finish]))

    def at(step: int) -> Held:
        runs = (begin <= times[step]) & (times[step] < end)
        return Held(schedule.rows[runs, 1], job[runs], amounts[runs])

    return Holdings(
        resources=AMOUNTS,
        places=tuple(f"machine {k}" for k in range(len(instance.setting.capacity))),
        holders=tuple(f"job {i}" for i in range(len(instance.jobs))),
        capacity=instance.setting.capacity / UNITS,
        times=(times if len(times) else np.zeros(1)) / TICKS,
        unit="s",
        at=at,
    )
