"""Admission instances from tables of one's own: a row per job, and a row per machine or kind of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base import InputError, Origin
from ..frames import COUNT, Wanted, counts, plain, read_columns, read_frame
from .instance import AdmissionInstance

JOBS = (
    Wanted("arrival", "slot arrivalslot submit submitted start", "whole", low=1.0),
    Wanted("epochs", "numepochs passes", "whole", 1.0, low=1.0),
    Wanted("chunks", "numchunks maxworkers", "whole", low=1.0),
    Wanted("minibatches", "numminibatches batches", "whole", 1.0, low=1.0),
    Wanted("minibatch_time", "batchtime steptime", "amount", decimals=12),
    Wanted("gradient_size", "gradients modelsize", "amount", 0.0, 12),
    Wanted("worker_bandwidth", "bandwidth", "amount", 1.0, 12),
    Wanted("server_bandwidth", "psbandwidth", "amount", 1.0, 12),
    Wanted("priority", "weight value worth", "amount", decimals=12),
    Wanted("decay", "urgency", "amount", 0.0, 12),
    Wanted("target", "deadline due targetslots", "amount", 0.0, 12),
)
"""What a row of jobs says besides the demands; times are in slots."""

UTILITY = ("priority", "decay", "target")


def from_table(
    table: Any,
    *,
    machines: Any,
    columns: Mapping[str, str] | None = None,
    horizon: int,
    resources: Sequence[str] = ("gpus", "cpus", "memory"),
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
    resources
        Their names.

    Raises
    ------
    InputError
        Naming the table, the row, the column and the value at fault.
    """
    if isinstance(resources, str) or not all(isinstance(name, str) for name in resources):
        raise InputError(f"resources: {resources!r} is not a list of names")
    if reserved := {"side", "count"} & {*resources}:
        raise InputError(f"resources: {min(reserved)!r} is a column of the machines")
    given = dict(columns or {})
    of_machines = {key.partition(".")[2]: given.pop(key) for key in [*given] if key.startswith("machines.")}
    demands = [_demand(side, name) for side in SIDES for name in resources]
    jobs = read_columns(read_frame(table, "jobs"), (*JOBS, *demands), given, "jobs")
    frame, place = read_frame(machines, "machines"), of_machines.pop("side", "side")
    if place not in frame.columns:
        raise InputError(f"machines: no column {place}; there are {', '.join(map(str, frame.columns))}")
    wanted = [Wanted(name, plain(name).removesuffix("s"), "amount", 0.0, 6) for name in resources]
    kinds = read_columns(frame, (*wanted, COUNT), of_machines, "machines", fill=False)
    stands: dict[str, list[list[float]]] = {side: [] for side in SIDES}
    for i, (side, count) in enumerate(zip(frame[place].astype(str), counts(kinds), strict=True)):
        if side not in stands:
            raise InputError(f"machines: side: row {i}: {side!r} is not one of {', '.join(SIDES)}")
        one = [float(kinds.values[name][i]) for name in resources]
        stands[side] += [one] * count
    return AdmissionInstance(
        horizon=horizon,
        resources=list(resources),
        worker_servers=stands["worker"],
        parameter_servers=stands["server"],
        jobs=[_job(jobs.values, i, resources) for i in range(len(jobs.values["arrival"]))],
        origin=Origin("table", real=(*jobs.real, *kinds.real), filled=(*jobs.filled, *kinds.filled)),
    )


SIDES = ("worker", "server")


def _demand(side: str, resource: str) -> Wanted:
    """Return the column of what a worker or a parameter server takes of a resource."""
    return Wanted(f"{side}_{resource}", side + plain(resource).removesuffix("s"), "amount", 0.0, 6)


def _job(values: Mapping[str, Any], i: int, resources: Sequence[str]) -> dict[str, Any]:
    """Return a job as an instance takes it."""
    row: dict[str, Any] = {one.name: values[one.name][i].item() for one in JOBS}
    row["utility"] = {name: row.pop(name) for name in UTILITY}
    for side in SIDES:
        row[f"{side}_demand"] = [values[f"{side}_{name}"][i].item() for name in resources]
    return row
