"""Placement instances from tables of one's own: a row per job, and a row per machine or kind of machines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base import InputError
from ..frames import COUNT, Columns, Wanted, amounts, by_table, counts, origin_of, read_columns, read_frame
from .instance import PRICE, WINDOW, PlacementInstance
from .jobs import LARGEST, LONGEST, RESOURCES, TICKS
from .slowdown import NO_SLOWDOWN

UNKNOWN = math.nan
"""For a column that may be missing, without a value in its place."""

LASTS: dict[str, Any] = {"low": 1 / TICKS, "high": LONGEST}

NEEDS = (
    *amounts(["gpus"], "whole", 0, high=LARGEST),
    *amounts(["cpus", "memory"], "amount", 3, high=LARGEST),
)
JOBS = (
    Wanted(
        "submit",
        "submitted submittime submission submissiontime arrival arrivaltime arrived created creationtime "
        "queued timestamp time",
        "moment",
        decimals=3,
    ),
    Wanted(
        "duration", "runtime runningtime elapsed servicetime length walltime", "span", UNKNOWN, 3, **LASTS
    ),
    Wanted("start", "started starttime begin began", "moment", UNKNOWN, 3),
    Wanted("end", "ended endtime finish finished finishtime completed", "moment", UNKNOWN, 3),
    Wanted("instances", "tasks workers pods numinstances nodes", "whole", 1.0, low=1.0, high=LARGEST),
    *NEEDS,
    Wanted("intensity", "contention", "amount", 1.0, 3, high=1.0),
    Wanted("estimate", "estimated requestedtime timelimit expected", "span", UNKNOWN, 3, **LASTS),
)
"""What a row of jobs says; time is in seconds, memory in GB."""

MACHINES = (*NEEDS, COUNT)


def from_table(
    table: Any,
    *,
    machines: Any,
    columns: Mapping[str, str] | None = None,
    price: float = PRICE,
    slowdown: Any = NO_SLOWDOWN,
    gpu_weight: float = 0.0,
    window: int = WINDOW,
) -> PlacementInstance:
    """Make an instance from a table of jobs and one of machines.

    Times are in seconds unless the name of the column ends in another unit or ``columns`` states one; time
    stamps with or without zone are read as such. The first submission becomes time 0.

    Parameters
    ----------
    table
        A row per job: a CSV or Parquet file, a data frame of pandas or polars, or a mapping of columns. A job
        is submitted, takes a duration (or begins and ends), and has GPUs, cores and GB of memory per
        instance; an estimate of its duration is optional.
    machines
        A row per machine, or per kind with a ``count``, likewise.
    columns
        Which column is which, where that is not to be guessed: ``{"submit": "begin", "duration":
        "took:min"}``; after the colon stands the unit. A number stands for all rows: ``{"gpus": "1"}``. Those
        of the machines begin with ``machines.``.
    price, slowdown, gpu_weight, window
        Those of :class:`.instance.PlacementInstance`.

    Raises
    ------
    InputError
        Naming the table, the row, the column and the value at fault.
    """
    given = by_table(columns, "machines")
    jobs = read_columns(read_frame(table, "jobs"), JOBS, given[""], "jobs")
    kinds = read_machines(machines, given["machines"])
    values = dict(jobs.values)
    values["duration"], note = _durations(jobs)
    if len(values["submit"]) and not any(values[name].any() for name in RESOURCES):
        what = "gpus, cpus and memory are all 0 or empty"
        raise InputError(f"jobs: {what}. Say: gpus=COLUMN, or gpus=1 for all rows")
    values["submit"] = np.round(values["submit"] - values["submit"].min(initial=math.inf), 3)
    return PlacementInstance(
        machines=machine_rows(kinds),
        jobs=job_rows(values),
        price=price,
        slowdown=slowdown,
        gpu_weight=gpu_weight,
        window=window,
        origin=origin_of(jobs, kinds, real=note),
    )


def read_machines(machines: Any, columns: Mapping[str, str]) -> Columns:
    """Read a row per machine, or per kind with a ``count``."""
    return read_columns(read_frame(machines, "machines"), MACHINES, columns, "machines", fill=False)


def job_rows(values: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return jobs in their JSON form; estimates that are not numbers for all of them are left out."""
    names = [one.name for one in JOBS if one.name in values and one.name not in ("start", "end")]
    if np.isnan(values["estimate"]).any():
        names.remove("estimate")
    columns = (values[name].tolist() for name in names)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def machine_rows(kinds: Columns) -> list[dict[str, Any]]:
    """Return machines in their JSON form, one for each that a row stands for."""
    columns = (kinds.values[name].tolist() for name in RESOURCES)
    each = [dict(zip(RESOURCES, needs, strict=True)) for needs in zip(*columns, strict=True)]
    return [one for one, count in zip(each, counts(kinds), strict=True) for _ in range(count)]


def _durations(jobs: Columns) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return durations: those of the table, or from begin to end, and what there is to say of them."""
    values = jobs.values
    duration = values["duration"]
    taken = values["end"] - values["start"]
    if not len(duration) or not np.isnan(duration).all():
        beside = "jobs: start and end are not used, since there is a duration"
        return duration, () if np.isnan(taken).all() else (beside,)
    if np.isnan(taken).all():
        raise InputError(
            "jobs: no column for duration, nor for start and end. Say which it is: duration=COLUMN"
        )
    for i in np.flatnonzero(~(taken > 0.0)):
        raise InputError(f"jobs: row {i}: the end is not after the start: the duration is {taken[i]:g} s")
    return np.round(taken, 3), ("jobs: duration: from start to end",)
