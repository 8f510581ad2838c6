"""What schedules are judged by: completion times, fees, utilisation, queues, and distances from bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...models.base import InputError
from ...models.placement.instance import PlacementInstance
from ...models.placement.jobs import TICKS
from ...models.placement.schedule import Schedule
from ...oracles.base import Optimum

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
    median, p95, p99 = np.percentile(taken, (50, 95, 99)) / MINUTE
    count = len(taken)
    return {
        "JCT (min)": int(taken.sum()) / (count * MINUTE),
        "median (min)": float(median),
        "p95 (min)": float(p95),
        "p99 (min)": float(p99),
        "fee ($)": instance.setting.price * gpu_ticks(instance, schedule) / (count * HOUR),
        "makespan (h)": int(schedule.finish.max()) / HOUR,
        "GPU use (%)": 100.0 * mean_utilisation(instance, schedule),
    }


def gpu_ticks(instance: PlacementInstance, schedule: Schedule) -> int:
    """Return the GPUs of each job times the ticks that it runs, summed over the jobs."""
    return int((instance.jobs.gpus * (schedule.finish - schedule.start)).sum())


def mean_utilisation(instance: PlacementInstance, schedule: Schedule) -> float:
    """Return the share of all GPUs in use from the first submission to the last end, 0 to 1."""
    gpus = int(instance.setting.capacity[:, 0].sum())
    if not len(instance.jobs) or not gpus:
        return 0.0
    span = int(schedule.finish.max()) - int(instance.jobs.submit[0])
    return gpu_ticks(instance, schedule) / (gpus * span)


def ratio(optimum: Optimum, total: float) -> tuple[float, float]:
    """Return the interval of total / optimum; its lower end is below 1 if the total is the best one known.

    The optimum lies between the certified bound and the cost of the schedule that was found. If that is 0
    nothing is better, and the ratio is 1 for a total of 0, else infinite; where nothing is proven there is no
    upper end.
    """
    if optimum.value <= 0.0:
        return (1.0, 1.0) if total <= 0.0 else (math.inf, math.inf)
    low = total / optimum.value
    if optimum.bound is None or optimum.bound <= 0.0:
        return low, math.inf
    return low, total / optimum.bound


def above(cost: float, bound: float) -> float:
    """Return by how many per cent of the bound a cost is above it; infinite above a bound of 0."""
    if bound <= 0.0:
        return 0.0 if cost <= 0.0 else math.inf
    return 100.0 * (cost - bound) / bound


class Steps(NamedTuple):
    """A whole number over time that changes in steps; 0 before the first and after the last of them.

    Attributes
    ----------
    times
        When it changes, in ticks, ascending, shape (s,).
    values
        What it is from then on, up to the next time; the last one is 0; shape (s,).
    """

    times: np.ndarray
    values: np.ndarray

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the values at these ticks."""
        place = np.searchsorted(self.times, times, side="right")
        result: np.ndarray = np.concatenate([[0], self.values])[place]
        return result

    def averages(self, edges: np.ndarray) -> np.ndarray:
        """Return the mean value between neighbouring edges (ticks, ascending), shape (edges - 1,)."""
        if len(edges) < 2 or (np.diff(edges) <= 0).any():
            raise InputError(f"edges: {edges!r} are not at least two ascending numbers")
        if not len(self.times):
            return np.zeros(len(edges) - 1)
        done = np.concatenate([[0], np.cumsum(self.values[:-1] * np.diff(self.times))])
        result: np.ndarray = np.diff(np.interp(edges, self.times, done)) / np.diff(edges)
        return result


def _count(start: np.ndarray, end: np.ndarray, size: np.ndarray) -> Steps:
    """Return the sum of the sizes of what has begun and not ended yet."""
    times, place = np.unique(np.concatenate([start, end]), return_inverse=True)
    change = np.zeros(len(times), dtype=np.int64)
    np.add.at(change, place, np.concatenate([size, -size]))
    return Steps(times, np.cumsum(change))


def queue_length(instance: PlacementInstance, schedule: Schedule) -> Steps:
    """Return how many jobs wait over time."""
    return _count(instance.jobs.submit, schedule.start, np.ones(len(instance.jobs), dtype=np.int64))


def utilisation(instance: PlacementInstance, schedule: Schedule) -> Steps:
    """Return how many GPUs are in use over time."""
    return _count(schedule.start, schedule.finish, instance.jobs.gpus)
