"""What schedules are judged by: who is served when, how full the machines are, what prices do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.jobs import CLASSES
from ...models.admission.schedule import Schedule


def timeliness(instance: AdmissionInstance, schedule: Schedule, last: int = 0) -> dict[str, np.ndarray]:
    """Return completion slot - a_i - gamma_3 of the jobs of every utility class, in slots; below 0 if early.

    A job that is never done has no completion slot: it is left out, or counts as done in slot ``last``.
    """
    ends = instance.completions(schedule)
    result = {}
    for kind in CLASSES:
        mine = [(ends[job.index] or last, job) for job in instance.jobs if job.kind == kind]
        result[kind] = np.array(
            [end - job.arrival - job.target for end, job in mine if end], dtype=np.float64
        )
    return result


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
    """Return the mean price of each resource on the machines that have it, shape (T, R); NaN where none has.

    From prices of shape (T, machines, R), as ``worker_prices`` of OASiS are, and a capacity (machines, R).
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
