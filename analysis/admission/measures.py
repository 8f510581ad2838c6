"""What schedules are judged by: who is served and when, how full the machines are, what prices do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.jobs import CLASSES
from ...models.admission.schedule import Schedule


def total_utility(instance: AdmissionInstance, schedule: Schedule) -> float:
    """Return (1): the sum of f_i(completion - arrival) over the jobs whose work is done."""
    return float(instance.rewards(schedule).sum())


class Timeliness(NamedTuple):
    """How well the target completion times of some jobs are met.

    Attributes
    ----------
    late
        Completion slot - a_i - gamma_3 of every job that is done, in slots; below 0 if it is done early.
        A job that is never done has no completion time: it is missing here, and stands in ``done``.
    done
        The share of the jobs that is done, 0 to 1; NaN without jobs.
    """

    late: np.ndarray
    done: float


def timeliness(instance: AdmissionInstance, schedule: Schedule) -> dict[str, Timeliness]:
    """Return actual minus target completion time of the jobs of every utility class, by its name."""
    ends = instance.completions(schedule)
    result = {}
    for kind in CLASSES:
        mine = [(ends[job.index], job) for job in instance.jobs if job.kind == kind]
        late = np.array([end - job.arrival - job.target for end, job in mine if end], dtype=np.float64)
        result[kind] = Timeliness(late, len(late) / len(mine) if mine else float("nan"))
    return result


class Shares(NamedTuple):
    """Shares of all jobs, those that can never finish included; 0 to 1, NaN without jobs.

    Attributes
    ----------
    started
        Jobs with a worker in some slot.
    completed
        Jobs whose work is done by T.
    """

    started: float
    completed: float


def shares(instance: AdmissionInstance, schedule: Schedule) -> Shares:
    """Return which shares of the jobs run at all, and are done."""
    jobs = len(instance.jobs)
    if jobs == 0:
        return Shares(float("nan"), float("nan"))
    return Shares(len(schedule.jobs) / jobs, np.count_nonzero(instance.completions(schedule)) / jobs)


class BothSides(NamedTuple):
    """One array for the machines of workers, one for those of parameter servers."""

    workers: np.ndarray
    servers: np.ndarray


def utilisation(instance: AdmissionInstance, schedule: Schedule) -> BothSides:
    """Return the share of each resource that is used in each slot, shape (T, R) per side.

    NaN where no machine of the side has the resource.
    """
    s = instance.setting
    sides = (
        (schedule.workers, instance.worker_needs, s.worker_units),
        (schedule.servers, instance.server_needs, s.server_units),
    )
    found = []
    for rows, need, capacity in sides:
        used, total = np.zeros((s.horizon, len(s.resources))), capacity.sum(axis=0, dtype=np.float64)
        np.add.at(used, rows[:, 0] - 1, rows[:, 3:] * need[rows[:, 1]].astype(np.float64))
        found.append(np.divide(used, total, out=np.full_like(used, np.nan), where=total > 0.0))
    return BothSides(*found)


def mean_prices(prices: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Return the mean price of each resource over the machines that have it, shape (T, R).

    Parameters
    ----------
    prices
        Shape (T, machines, R), such as ``worker_prices`` of an OASiS run.
    capacity
        What the machines have, shape (machines, R).

    Returns
    -------
    array
        NaN where no machine has the resource.
    """
    has = capacity > 0.0
    total, count = (prices * has).sum(axis=1), np.broadcast_to(has.sum(axis=0), prices[:, 0].shape)
    result: np.ndarray = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return result


def counts(instance: AdmissionInstance, schedule: Schedule) -> BothSides:
    """Return how many workers and parameter servers each job has in each slot, shape (I, T) per side."""
    found = []
    for rows in (schedule.workers, schedule.servers):
        table = np.zeros((len(instance.jobs), instance.setting.horizon), dtype=np.int64)
        np.add.at(table, (rows[:, 1], rows[:, 0] - 1), rows[:, 3])
        found.append(table)
    return BothSides(*found)
