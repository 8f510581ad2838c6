"""What schedules are judged by: who is served when, how full the machines are, what prices do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.jobs import CLASSES, UNIT
from ...models.admission.schedule import Schedule
from ...models.base import InputError
from ..holdings import Held, Holdings
from ..plots import plot_gantts

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def timeliness(instance: AdmissionInstance, schedule: Schedule, last: int = 0) -> dict[str, np.ndarray]:
    """Return completion slot - a_i - gamma_3 of the jobs of every utility class, in slots; below 0 if early.

    A job that is never done has no completion slot: it is left out, or counts as done in slot ``last``.
    """
    ends = instance.completions(schedule)
    result = {}
    for kind in CLASSES:
        mine = [(ends[job.index] or last, job) for job in instance.jobs if job.kind == kind]
        late = [end - job.arrival - job.target for end, job in mine if end]
        result[kind] = np.array(late, dtype=np.float64)
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
    found = []
    for rows, need, capacity in (
        (schedule.workers, instance.worker_needs, s.worker_units),
        (schedule.servers, instance.server_needs, s.server_units),
    ):
        used, total = np.zeros((s.horizon, len(s.resources))), capacity.sum(axis=0, dtype=np.float64)
        np.add.at(used, rows[:, 0] - 1, rows[:, 3:] * need[rows[:, 1]].astype(np.float64))
        found.append(np.divide(used, total, out=np.full_like(used, np.nan), where=total > 0.0))
    return BothSides(*found)


def counts(instance: AdmissionInstance, schedule: Schedule) -> BothSides:
    """Return how many workers and parameter servers each job has in each slot, shape (I, T) per side."""
    found = []
    for rows in (schedule.workers, schedule.servers):
        table = np.zeros((len(instance.jobs), instance.setting.horizon), dtype=np.int64)
        np.add.at(table, (rows[:, 1], rows[:, 0] - 1), rows[:, 3])
        found.append(table)
    return BothSides(*found)


def schedule_of(instance: AdmissionInstance, decided: Any) -> Schedule:
    """Return what an oracle has decided for this instance, or the schedule of the decisions of a run."""
    if not isinstance(decided, Schedule):
        return Schedule.of_deployments(decided)
    for broken in instance.violations(decided)[:1]:
        raise InputError(f"decision: not for this instance: {broken}")
    return decided


def plot_schedules(instance: AdmissionInstance, decided: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw how many workers each job has in each slot, schedules below each other in the same axes."""
    tables = {label: counts(instance, schedule_of(instance, one)).workers for label, one in decided.items()}
    jobs, kinds = [f"job {job.index}" for job in instance.jobs], [job.kind for job in instance.jobs]
    return plot_gantts(tables, jobs, kinds, "workers", ax)


def holdings(instance: AdmissionInstance, decided: Any) -> Holdings:
    """Return who holds what in each slot: jobs hold resources of machines of both kinds."""
    schedule, s = schedule_of(instance, decided), instance.setting
    many, own = len(s.resources), len(s.worker_units)
    capacity = np.zeros((own + len(s.server_units), 2 * many))
    capacity[:own, :many], capacity[own:, many:] = s.worker_units / UNIT, s.server_units / UNIT
    parts = []
    sides = ((schedule.workers, instance.worker_needs), (schedule.servers, instance.server_needs))
    for side, (rows, need) in enumerate(sides):
        amount = np.zeros((len(rows), 2 * many))
        amount[:, side * many : (side + 1) * many] = rows[:, 3:] * (need[rows[:, 1]] / UNIT)
        parts.append((rows[:, 0], rows[:, 2] + side * own, rows[:, 1], amount))
    slots, places, jobs, amounts = (np.concatenate(columns) for columns in zip(*parts, strict=True))

    def at(step: int) -> Held:
        now = slots == step + 1
        return Held(places[now], jobs[now], amounts[now])

    return Holdings(
        resources=tuple(f"{name} of {side}" for side in ("workers", "servers") for name in s.resources),
        places=tuple(f"machine {k}" for side in (s.worker_units, s.server_units) for k in range(len(side))),
        holders=tuple(f"job {job.index}" for job in instance.jobs),
        capacity=capacity,
        times=np.arange(s.horizon + 1) + 0.5,
        unit="slot",
        at=at,
    )
