"""Gang jobs and machines as columns of numbers, read from lists of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from ..base import InputError, frozen
from ..fields import Field, List, Number, Record, Sizes

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
        return self.instances * self.need[:, 0]

    def to_list(self) -> list[dict[str, Any]]:
        """Return the JSON form; an intensity of 1 is left out."""
        columns = {"submit": self.submit, "duration": self.duration, "estimate": self.estimate}
        columns |= {"instances": self.instances, **dict(zip(RESOURCES, self.need.T, strict=True))}
        columns["intensity"] = np.where(self.intensity == SCALES["intensity"], -1, self.intensity)
        lists = {
            name: (column / SCALES[name] if name in SCALES else column).tolist()
            for name, column in columns.items()
            if column is not None
        }
        rows = zip(*lists.values(), strict=True)
        return [{k: v for k, v in zip(lists, row, strict=True) if v >= 0} for row in rows]


def seconds(ticks: Any) -> float:
    """Return a number of ticks in seconds."""
    return int(ticks) / TICKS


def amount(units: Any, resource: int) -> float:
    """Return a number of units as GPUs, cores or GB."""
    return int(units) // UNITS[resource] if UNITS[resource] == 1 else int(units) / UNITS[resource]


SCALES = {
    "submit": TICKS,
    "duration": TICKS,
    "estimate": TICKS,
    "cpus": UNITS[1],
    "memory": UNITS[2],
    "intensity": 1000,
}
"""In what the numbers of a file are counted, where they may have decimals."""


def _column(rows: Sequence[Mapping[str, float]], name: str, usual: float = 0.0) -> np.ndarray:
    """Return a field of all records in whole units, shape (n,), read-only."""
    column = np.array([row.get(name, usual) for row in rows], dtype=np.float64)
    return frozen(np.rint(column * SCALES.get(name, 1)).astype(np.int64))


def _needs(rows: Sequence[Mapping[str, float]]) -> np.ndarray:
    return frozen(np.stack([_column(rows, name) for name in RESOURCES], axis=1))


def _have_estimates(estimates: Sequence[float | None]) -> bool:
    """Tell whether the jobs have estimates; raise if only some of them do."""
    some = [i for i, estimate in enumerate(estimates) if estimate is not None]
    if some and len(some) < len(estimates):
        raise InputError(
            f"jobs[{estimates.index(None)}].estimate: missing, but jobs[{some[0]}] has one; "
            "either all jobs have an estimate or none"
        )
    return bool(some)


class Machines(List):
    """What each machine has, in units, shape (M, 3), read-only."""

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the array."""
        return _needs(super().read(value, where, sizes))

    def write(self, value: Any) -> list[Any]:
        """Return the JSON form."""
        return [{name: amount(row[r], r) for r, name in enumerate(RESOURCES)} for row in value]


class JobList(List):
    """Jobs; they are sorted by submission, ties as they were given."""

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return :class:`Jobs`."""
        rows = super().read(value, where, sizes)
        for i, row in enumerate(rows):
            if not any(row[name] for name in RESOURCES):
                raise InputError(f"{where}[{i}]: gpus, cpus and memory are all 0: the job needs nothing")
        estimated = _have_estimates([row.get("estimate") for row in rows])
        rows.sort(key=itemgetter("submit"))
        columns = {name: _column(rows, name) for name in ("submit", "duration", "instances")}
        columns |= {"need": _needs(rows), "intensity": _column(rows, "intensity", 1.0)}
        return Jobs(**columns, estimate=_column(rows, "estimate") if estimated else None)

    def write(self, value: Any) -> list[Any]:
        """Return the JSON form."""
        return value.to_list()


TIME: dict[str, Any] = {"high": LONGEST, "unit": TICKS}
NEEDS = (
    Field("gpus", Number(high=LARGEST, integer=True), "GPUs"),
    Field("cpus", Number(high=LARGEST, unit=UNITS[1]), "cores"),
    Field("memory", Number(high=LARGEST, unit=UNITS[2]), "GB of memory"),
)
MACHINES = Machines(Record(*NEEDS), some="machine")
JOBS = JobList(
    Record(
        Field("submit", Number(**TIME), "when it is submitted, in seconds"),
        Field(
            "duration",
            Number(low=1 / TICKS, **TIME),
            "seconds it takes alone on the fewest machines that hold it",
        ),
        Field(
            "estimate",
            Number(low=1 / TICKS, **TIME),
            "the `duration` that its user believes in; either all jobs have one or none",
            optional=True,
        ),
        Field("instances", Number(low=1, high=LARGEST, integer=True), "C: how many instances it consists of"),
        *NEEDS,
        Field(
            "intensity",
            Number(high=1.0, unit=1000),
            "beta: how much it contends with its neighbours; 1 by default",
            optional=True,
        ),
    )
)
