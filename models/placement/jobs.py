"""Gang jobs and machines as columns of numbers, read from lists of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..base import InputError, frozen, need, refuse_unknown
from ..draw import real, whole

TICKS = 1000
"""Ticks per second: times have at most three decimals."""

UNITS = (1, 1000, 1000)
"""Units per GPU, core and GB: whole GPUs, the others with at most three decimals."""

RESOURCES = ("gpus", "cpus", "memory")
AMOUNTS = ("GPUs", "cores", "GB of memory")
"""What the numbers of :data:`RESOURCES` count."""

LONGEST = 1e8
"""The longest duration, and the latest submission, in seconds."""

LARGEST = 1e6
"""The most instances, GPUs, cores and GB."""

JOB_FIELDS = ("submit", "duration", "instances", *RESOURCES)


@dataclass(frozen=True, eq=False)
class Jobs:
    """All jobs by columns, in the order of their submission; every array is read-only, shape (n,) or (n, 3).

    Attributes
    ----------
    submit, duration
        When the job is submitted, and how long it takes alone on the fewest machines that hold it, in ticks.
    instances
        C: how many instances it consists of; all of them run at once.
    need
        What each instance takes of GPUs, CPUs and memory, in units.
    intensity
        beta in thousandths: how much it contends with its neighbours, 0 to 1000.
    estimate
        The duration in ticks that the user who submitted the job believes in; None if the jobs have none.
    """

    submit: np.ndarray
    duration: np.ndarray
    instances: np.ndarray
    need: np.ndarray
    intensity: np.ndarray
    estimate: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def gpus(self) -> np.ndarray:
        """GPUs of all instances of each job together, shape (n,)."""
        result: np.ndarray = self.instances * self.need[:, 0]
        return result

    @classmethod
    def read(cls, jobs: Any) -> Self:
        """Read a list of objects; they are sorted by submission, ties as they were given.

        Raises
        ------
        InputError
            Naming the field, the index and the value at fault.
        """
        if not isinstance(jobs, Sequence) or isinstance(jobs, str):
            raise InputError(f"jobs: {jobs!r} is not a list")
        rows = [_job(job, f"jobs[{i}]") for i, job in enumerate(jobs)]
        estimated = _have_estimates([row[7] for row in rows])
        rows.sort(key=lambda row: row[0])
        table = np.array(rows, dtype=np.int64).reshape(len(rows), 8)
        columns = [table[:, 0], table[:, 1], table[:, 2], table[:, 3:6], table[:, 6]]
        if estimated:
            columns.append(table[:, 7])
        return cls(*(frozen(column.copy()) for column in columns))

    def to_list(self) -> list[dict[str, Any]]:
        """Return the JSON form."""
        result = []
        for i in range(len(self)):
            job = {"submit": seconds(self.submit[i]), "duration": seconds(self.duration[i])}
            if self.estimate is not None:
                job["estimate"] = seconds(self.estimate[i])
            job["instances"] = int(self.instances[i])
            job |= {name: amount(self.need[i, r], r) for r, name in enumerate(RESOURCES)}
            if self.intensity[i] != 1000:
                job["intensity"] = int(self.intensity[i]) / 1000
            result.append(job)
        return result


def seconds(ticks: Any) -> float:
    """Return a number of ticks in seconds."""
    return int(ticks) / TICKS


def amount(units: Any, resource: int) -> float:
    """Return a number of units as GPUs, cores or GB."""
    return int(units) // UNITS[resource] if UNITS[resource] == 1 else int(units) / UNITS[resource]


def read_machines(machines: Any) -> np.ndarray:
    """Read a list of objects as what each machine has, in units, shape (M, 3), read-only."""
    if not isinstance(machines, Sequence) or isinstance(machines, str) or not machines:
        raise InputError(f"machines: {machines!r} is not a list of at least one machine")
    rows = []
    for k, machine in enumerate(machines):
        _check_fields(machine, RESOURCES, (), f"machines[{k}]")
        rows.append(_amounts(machine, f"machines[{k}]"))
    return frozen(np.array(rows, dtype=np.int64))


def write_machines(capacity: np.ndarray) -> list[dict[str, float]]:
    """Return the JSON form of what each machine has."""
    return [{name: amount(row[r], r) for r, name in enumerate(RESOURCES)} for row in capacity]


def _job(job: Any, where: str) -> tuple[int, ...]:
    """Return a job as whole numbers; the last one is the estimate, 0 if it has none."""
    _check_fields(job, JOB_FIELDS, ("intensity", "estimate"), where)
    submit = scaled(f"{where}.submit", job["submit"], 0.0, LONGEST, TICKS)
    duration, estimate = (
        scaled(f"{where}.{name}", job[name], 1 / TICKS, LONGEST, TICKS) if name in job else 0
        for name in ("duration", "estimate")
    )
    instances = whole(f"{where}.instances", job["instances"], 1, LARGEST)
    intensity = scaled(f"{where}.intensity", job.get("intensity", 1.0), 0.0, 1.0, 1000)
    amounts = _amounts(job, where)
    if not any(amounts):
        raise InputError(f"{where}: gpus, cpus and memory are all 0: the job needs nothing")
    return submit, duration, instances, *amounts, intensity, estimate


def _have_estimates(estimates: Sequence[int]) -> bool:
    """Tell whether the jobs have estimates, 0 standing for none; raise if only some of them do."""
    if not any(estimates):
        return False
    if 0 in estimates:
        first = next(i for i, estimate in enumerate(estimates) if estimate)
        raise InputError(
            f"jobs[{estimates.index(0)}].estimate: missing, but jobs[{first}] has one; "
            "either all jobs have an estimate or none"
        )
    return True


def _check_fields(item: Any, fields: Sequence[str], optional: Sequence[str], where: str) -> None:
    if not isinstance(item, Mapping):
        raise InputError(f"{where}: {item!r} is not an object")
    refuse_unknown(item, {*fields, *optional}, f"{where}.")
    for field in fields:
        need(item, field, f"{where}.")


def _amounts(item: Mapping[str, Any], where: str) -> list[int]:
    return [
        scaled(f"{where}.{name}", item[name], 0.0, LARGEST, unit)
        for name, unit in zip(RESOURCES, UNITS, strict=True)
    ]


def scaled(field: str, value: Any, low: float, high: float, unit: int) -> int:
    """Return a number as a whole multiple of 1 / unit, or raise if it is none or out of range."""
    if unit == 1:
        return whole(field, value, int(low), high)
    number = real(field, value, low, high)
    result = round(number * unit)
    if result / unit != number:
        raise InputError(f"{field}: {value!r} has more than {len(str(unit)) - 1} decimals")
    return result
