"""Gang jobs and machines as columns of numbers, read from lists of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..base import InputError, need, refuse_unknown
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
    """

    submit: np.ndarray
    duration: np.ndarray
    instances: np.ndarray
    need: np.ndarray
    intensity: np.ndarray

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
        rows.sort(key=lambda row: row[0])
        table = np.array(rows, dtype=np.int64).reshape(len(rows), 7)
        columns = (table[:, 0], table[:, 1], table[:, 2], table[:, 3:6], table[:, 6])
        return cls(*(frozen(column.copy()) for column in columns))

    def to_list(self) -> list[dict[str, Any]]:
        """Return the JSON form."""
        result = []
        for i in range(len(self)):
            job = {"submit": seconds(self.submit[i]), "duration": seconds(self.duration[i])}
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
    _check_fields(job, JOB_FIELDS, ("intensity",), where)
    submit = scaled(f"{where}.submit", job["submit"], 0.0, LONGEST, TICKS)
    duration = scaled(f"{where}.duration", job["duration"], 1 / TICKS, LONGEST, TICKS)
    instances = whole(f"{where}.instances", job["instances"], 1, LARGEST)
    intensity = scaled(f"{where}.intensity", job.get("intensity", 1.0), 0.0, 1.0, 1000)
    amounts = _amounts(job, where)
    if not any(amounts):
        raise InputError(f"{where}: gpus, cpus and memory are all 0: the job needs nothing")
    return submit, duration, instances, *amounts, intensity


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


def frozen(array: np.ndarray) -> np.ndarray:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array
