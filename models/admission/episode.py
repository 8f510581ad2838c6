"""One pass through the slots of an admission instance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ..base import DecisionError, InputError, Outcome, Violation
from ..copying import copied
from .jobs import Job
from .schedule import read_rows
from .setting import Feedback, Observation, PriceRange, Setting


class Clustered(Protocol):
    """The members of an instance that an episode uses; see :class:`.instance.AdmissionInstance`."""

    setting: Setting
    jobs: tuple[Job, ...]

    @property
    def announced(self) -> PriceRange:
        """U and L as they are announced."""
        ...

    @property
    def works(self) -> np.ndarray:
        """W_i, shape (I,)."""
        ...

    def slot_violations(
        self, slot: int, workers: np.ndarray, servers: np.ndarray, done: np.ndarray
    ) -> list[Violation]:
        """List what a deployment breaks in a slot."""
        ...


class SlotEpisode:
    """One pass through the slots of an instance; see :class:`clairvoyant.models.base.Episode`."""

    def __init__(self, instance: Clustered, sees_announced: bool) -> None:
        self._instance = instance
        self._announced = instance.announced if sees_announced else None
        self._done = np.zeros(len(instance.jobs), dtype=np.int64)
        self._slot = 0

    def __iter__(self) -> Iterator[Observation]:
        """Yield an observation per slot, with copies of its jobs; what is announced is copied once."""
        jobs, first, announced = self._instance.jobs, 0, copied(self._announced)
        for slot in range(1, self._instance.setting.horizon + 1):
            self._slot = slot
            last = first
            while last < len(jobs) and jobs[last].arrival == slot:
                last += 1
            yield Observation(slot, copied(jobs[first:last]) if first < last else (), announced)
            first = last

    def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
        """Check and score the deployment of the current slot."""
        instance = self._instance
        workers, servers = (read_rows("decision", side, 3) for side in _pair(decision))
        broken = instance.slot_violations(self._slot, workers, servers, self._done)
        if enforce and broken:
            raise DecisionError.at(f"slot {self._slot}", broken)
        before = self._done.copy()
        known = (workers[:, 0] >= 0) & (workers[:, 0] < len(before))
        np.add.at(self._done, workers[known, 0], workers[known, 2])
        completed = np.flatnonzero((before < instance.works) & (self._done >= instance.works)).tolist()
        reward = sum(instance.jobs[i].utility(self._slot - instance.jobs[i].arrival) for i in completed)
        return Outcome(float(reward), not broken, Feedback(self._slot, tuple(completed)))


def _pair(decision: Any) -> tuple[Any, Any]:
    if decision is None:
        raise InputError("decision: None; decide() must return a Deployment(workers, servers)")
    if not isinstance(decision, tuple | list) or len(decision) != 2:
        raise InputError(f"decision: {type(decision).__name__} is not a pair (workers, servers)")
    return decision[0], decision[1]
