"""Admission instances from tables of one's own: a row per job, and a row per machine or kind of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..checks import choose, whole
from ..frames import (
    COUNT,
    RESOURCES,
    SLOT_HINT,
    TIME,
    Wanted,
    amounts,
    by_table,
    counts,
    in_slots,
    origin_of,
    plain,
    read_columns,
    read_frame,
    refuse,
    resource_names,
    slot_seconds,
)
from .instance import AdmissionInstance
from .jobs import LARGEST, MOST_CHUNKS

JOBS = (
    Wanted("epochs", "numepochs passes", "whole", 1.0, low=1.0, high=LARGEST),
    Wanted("chunks", "numchunks maxworkers", "whole", low=1.0, high=MOST_CHUNKS),
    Wanted("minibatches", "numminibatches batches", "whole", 1.0, low=1.0, high=LARGEST),
    Wanted("minibatch_time", "batchtime steptime", "slots", decimals=None, high=LARGEST),
    Wanted("gradient_size", "gradients modelsize", "amount", 0.0, None, high=LARGEST),
    Wanted("worker_bandwidth", "bandwidth", "amount", 1.0, None, low=1 / LARGEST, high=LARGEST),
    Wanted("server_bandwidth", "psbandwidth", "amount", 1.0, None, low=1 / LARGEST, high=LARGEST),
    Wanted("priority", "weight value worth", "amount", decimals=None, low=1 / LARGEST, high=LARGEST),
    Wanted("decay", "urgency", "amount", 0.0, None, high=LARGEST),
    Wanted("target", "deadline due targetslots", "slots", 0.0, None, high=LARGEST),
)
"""What a row of jobs says besides its arrival and the demands; times are in slots."""

ARRIVAL = Wanted("arrival", "slot arrivalslot submit submitted start", "whole", low=1.0, hint=SLOT_HINT)
UTILITY = ("priority", "decay", "target")
SIDES = ("worker", "server")
SIDE = Wanted("side", "role", "name")


def from_table(
    table: Any,
    *,
    machines: Any,
    columns: Mapping[str, str] | None = None,
    horizon: int,
    slot: float | str | None = None,
    resources: Sequence[str] = tuple(RESOURCES),
) -> AdmissionInstance:
    """Make an instance from a table of jobs and one of machines.

    Parameters
    ----------
    table
        A row per job: a CSV or Parquet file, a data frame of pandas or polars, or a mapping of columns.
        Besides the fields of a job it has what a worker and a parameter server take of every resource, as
        ``worker_gpus``, ``server_gpus``, ...; a missing one is 0.
    machines
        A row per machine, or per kind with a ``count``, likewise: every resource, and ``side``, which is
        "worker" or "server".
    columns
        Which column is which, where that is not to be guessed. Those of the machines begin with
        ``machines.``.
    horizon
        T, the number of slots.
    slot
        The length of a slot where jobs have a ``time`` and no slot: seconds, or a text with a unit such as
        "1h". The first slot is that of the first job.
    resources
        Their names.

    Raises
    ------
    InputError
        Naming the table, the row, the column and the value at fault.
    """
    resources = resource_names(resources, {SIDE.name, COUNT.name})
    given = by_table(columns, "machines")
    demands = [_demand(side, name) for side in SIDES for name in resources]
    arrival = ARRIVAL if slot is None else TIME
    length = 1.0 if slot is None else slot_seconds(slot)
    jobs = read_columns(read_frame(table, "jobs"), (arrival, *JOBS, *demands), given[""], "jobs")
    at, what = in_slots(jobs, arrival.name, length)
    jobs.values[ARRIVAL.name] = at.astype(np.int64) + (slot is not None)
    T = whole("horizon", horizon, 1)
    late = np.flatnonzero(jobs.values[ARRIVAL.name] > T)
    refuse([f"jobs: row {i}: slot {jobs.values[ARRIVAL.name][i]} is after the horizon, {T}" for i in late])
    wanted = (SIDE, *amounts(resources, "amount", 6), COUNT)
    frame = read_frame(machines, "machines")
    kinds = read_columns(frame, wanted, given["machines"], "machines", fill=False)
    stands: dict[str, list[list[float]]] = {side: [] for side in SIDES}
    for i, (side, count) in enumerate(zip(kinds.values[SIDE.name], counts(kinds), strict=True)):
        choose(side, SIDES, f"machines: side: row {i}")
        one = [kinds.values[name][i].item() for name in resources]
        stands[side] += [one] * count
    return AdmissionInstance(
        horizon=horizon,
        resources=list(resources),
        worker_servers=stands["worker"],
        parameter_servers=stands["server"],
        jobs=[_job(jobs.values, i, resources) for i in range(len(at))],
        origin=origin_of(jobs, kinds, real=[] if slot is None else [f"jobs: arrival: {what}"]),
    )


def _demand(side: str, resource: str) -> Wanted:
    """Return the column of what a worker or a parameter server takes of a resource."""
    return Wanted(f"{side}_{resource}", side + plain(resource).removesuffix("s"), "amount", 0.0, 6)


def _job(values: Mapping[str, Any], i: int, resources: Sequence[str]) -> dict[str, Any]:
    """Return a job as an instance takes it."""
    row: dict[str, Any] = {one.name: values[one.name][i].item() for one in (ARRIVAL, *JOBS)}
    row["utility"] = {name: row.pop(name) for name in UTILITY}
    for side in SIDES:
        row[f"{side}_demand"] = [values[f"{side}_{name}"][i].item() for name in resources]
    return row
