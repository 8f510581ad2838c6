"""Placement instances from logs in the Standard Workload Format, version 2.2."""

from __future__ import annotations

import math
import os
import re
from typing import Any

import numpy as np

from ..base import InputError, Origin, path_of, read_text
from ..checks import choose, things, whole
from ..frames import MOST_MACHINES, MOST_SECONDS, refuse
from .instance import PRICE, WINDOW, PlacementInstance
from .jobs import LARGEST, LONGEST, RESOURCES, TICKS
from .slowdown import NO_SLOWDOWN
from .table import job_rows, machine_rows, read_machines

COLUMNS = 18
"""Fields of every line."""

READ = {
    "submit time": 1,
    "run time": 3,
    "allocated processors": 4,
    "requested processors": 7,
    "requested time": 8,
    "status": 10,
}
"""The fields that are read, and their places."""

PARTS = (2, 3, 4)
"""Statuses of lines that tell of a part of a job, of which another line tells the whole."""


def from_swf(
    path: str | os.PathLike[str],
    *,
    machines: Any = None,
    processors: str = "cpus",
    jobs: int | None = None,
    first: int = 0,
    price: float = PRICE,
    slowdown: Any = NO_SLOWDOWN,
    gpu_weight: float = 0.0,
    window: int = WINDOW,
) -> PlacementInstance:
    """Make an instance from a log in the Standard Workload Format.

    A job is a gang with an instance for each of its processors: of those allocated, or if the log does not
    say, those requested. It takes its run time, whatever became of it. The requested time is its estimate if
    all jobs have one. Left out are lines that tell of a part of a job, jobs whose run time or processors are
    unknown or 0, and jobs of more processors than there are. The first submission becomes time 0.

    Parameters
    ----------
    path
        The log, gzipped if its name ends in ``.gz``.
    machines
        A row per machine, or per kind with a ``count``, as for :func:`.table.from_table`. By default what
        the header says: MaxNodes machines that share MaxProcs processors alike, or with one of the two,
        machines of one processor.
    processors
        What a processor is: "cpus" or "gpus".
    jobs, first
        How many jobs, all by default, and the number of the first, of those that are not left out.
    price, slowdown, gpu_weight, window
        Those of :class:`.instance.PlacementInstance`.

    Raises
    ------
    InputError
        Naming the line, the field and the value at fault.
    """
    kind = choose(processors, ("cpus", "gpus"), "processors")
    start, count = whole("first", first, 0), None if jobs is None else whole("jobs", jobs, 0)
    text, where = read_text(path_of("path", path)), str(path)
    real: tuple[str, ...]
    if machines is None:
        stands, real, filled = _of_header(text, kind, where)
    else:
        kinds = read_machines(machines, {})
        stands, real, filled = machine_rows(kinds), kinds.real, ()
    log, dropped = _kept(_lines(text, where), sum(int(one[kind]) for one in stands))
    there = len(log["submit"])
    if start > there:
        raise InputError(f"first: number {start} is more than the {there} jobs there are")
    if start + (count or 0) > there:
        raise InputError(f"jobs: {count} from number {start} on are more than the {there} there are")
    values = {name: column[start:][:count] for name, column in log.items()}
    found = len(values["submit"])
    values["submit"] = np.round(values["submit"] - values["submit"].min(initial=math.inf), 3)
    values |= {name: np.full(found, int(name == kind)) for name in RESOURCES}
    known = not np.isnan(values["estimate"]).any()
    return PlacementInstance(
        machines=stands,
        jobs=job_rows(values),
        price=price,
        slowdown=slowdown,
        gpu_weight=gpu_weight,
        window=window,
        origin=Origin(
            f"Standard Workload Format ({found} {things(found, 'jobs')} from number {start} on)",
            real=(*real, f"jobs: submission, run time, processors{' and requested time' if known else ''}"),
            filled=(
                *filled,
                f"jobs: each processor is an instance with 1 of {kind}, and nothing else",
                *(f"jobs left out: {text}" for text in dropped),
                *(() if known else ("jobs: no estimates: not all of them have a requested time",)),
            ),
        ),
    )


def _lines(text: str, where: str) -> dict[str, np.ndarray]:
    """Return the fields that are read, each an array with an entry per line."""
    rows, faults = [], []
    for i, line in enumerate(text.splitlines(), 1):
        fields = line.partition(";")[0].split()
        if not fields:
            continue
        if len(fields) != COLUMNS:
            faults.append(f"{where}: line {i}: {len(fields)} fields, expected {COLUMNS}")
            continue
        row = []
        for name, place in READ.items():
            try:
                row.append(float(fields[place]))
            except ValueError:
                row.append(math.nan)
            most = MOST_SECONDS if name == "submit time" else LONGEST  # a log may be longer than an instance
            if not -1.0 <= row[-1] <= most:
                faults.append(
                    f"{where}: line {i}: {name}: {fields[place]!r} is not a number of -1 to {most:g}"
                )
        rows.append(row)
    refuse(faults)
    return dict(zip(READ, np.array(rows, dtype=np.float64).reshape(-1, len(READ)).T, strict=True))


def _kept(log: dict[str, np.ndarray], most: float) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the jobs that have all that is needed, and which were left out, why, and how many."""
    asked, given = log["requested processors"], log["allocated processors"]
    found = {
        "submit": log["submit time"],
        "duration": log["run time"],
        "instances": np.where(given > 0, given, asked),
        "estimate": np.where(log["requested time"] > 0, log["requested time"], math.nan),
    }
    reasons = (
        (
            "that tell of a part of a job, of which another line tells the whole",
            np.isin(log["status"], PARTS),
        ),
        ("that have no time of submission", found["submit"] < 0),
        ("that took no time, or whose run time is unknown", found["duration"] <= 0),
        (
            "that have no whole number of processors",
            (found["instances"] < 1) | (found["instances"] % 1 != 0),
        ),
        (f"that need more than {most:g} processors", found["instances"] > min(most, LARGEST)),
    )
    left, dropped = np.ones(len(found["submit"]), dtype=bool), []
    for why, those in reasons:
        if number := int((left & those).sum()):
            dropped.append(f"{number:,} {why}")
        left &= ~those
    kept = {name: values[left] for name, values in found.items()}
    kept |= {name: np.maximum(np.round(kept[name], 3), 1 / TICKS) for name in ("duration", "estimate")}
    return kept | {"instances": kept["instances"].astype(np.int64)}, dropped


def _of_header(
    text: str, kind: str, where: str
) -> tuple[list[dict[str, Any]], tuple[str, ...], tuple[str, ...]]:
    """Return the machines that the comments at the beginning of a log tell of, what is real and what not."""
    said: dict[str, str] = dict(re.findall(r"^;\s*(MaxNodes|MaxProcs):\s*(\d{1,9})\b", text, re.MULTILINE))
    if not said:
        raise InputError(f"{where}: the header has neither MaxNodes nor MaxProcs: give a table of machines")
    nodes = int(said.get("MaxNodes") or said.get("MaxProcs") or 0)
    procs = int(said.get("MaxProcs") or nodes)
    if not 1 <= nodes <= MOST_MACHINES:
        raise InputError(f"{where}: MaxNodes: {nodes} is not a number of machines from 1 to {MOST_MACHINES}")
    if procs % nodes:
        raise InputError(
            f"{where}: MaxProcs: {procs} processors are not shared alike by {nodes} machines: give a table"
        )
    stands = [{name: procs // nodes if name == kind else 0 for name in RESOURCES} for _ in range(nodes)]
    alone = "machines: one processor each, as the header has but one of MaxNodes and MaxProcs"
    real = f"machines: {' and '.join(sorted(said))} of the header"
    return stands, (real,), (alone,) if len(said) < 2 else ()
