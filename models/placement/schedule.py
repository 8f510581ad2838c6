"""Schedules: when and where each job ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import MOST_WHOLE, frozen, numbers


@dataclass(frozen=True, eq=False)
class Schedule:
    """When and where each job runs; every array is read-only, whole numbers."""

    # start, finish: in ticks of 1 ms, shape (n,).
    start: np.ndarray
    finish: np.ndarray
    # Rows (job, machine, count): how many instances of which job run on which machine, sorted, shape (r, 3).
    rows: np.ndarray

    def __post_init__(self) -> None:
        for name in ("start", "finish"):
            given = numbers(
                getattr(self, name), f"schedule.{name}", (None,), low=-1.0, high=MOST_WHOLE, integer=True
            )
            object.__setattr__(self, name, given)
        object.__setattr__(self, "rows", sorted_rows("schedule.rows", self.rows))

    def of_job(self, job: int) -> np.ndarray:
        """Return the rows (machine, count) of one job."""
        first, last = np.searchsorted(self.rows[:, 0], (job, job + 1))
        return self.rows[first:last, 1:]


def sorted_rows(field: str, given: Any) -> np.ndarray:
    """Return rows (job, machine, count) sorted, read-only; InputError for a wrong shape or type."""
    if not (isinstance(given, np.ndarray) and given.dtype == np.int64 and given.ndim == 2):
        given = numbers(given, field, (None, 3), low=-MOST_WHOLE, high=MOST_WHOLE, integer=True)
    elif given.shape[1] != 3:
        numbers(given, field, (None, 3))  # raises
    result: np.ndarray = given[np.lexsort((given[:, 1], given[:, 0]))]
    return frozen(result)


NOTHING = frozen(np.zeros((0, 3), dtype=np.int64))
"""The decision that starts no job."""
