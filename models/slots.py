"""What instances share whose arrivals are revealed slot by slot: what is seen of a slot, and the pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from .base import Outcome, frozen_copy


@dataclass(frozen=True)
class Observation:
    """What a policy sees before it decides: the slot, and the arrivals only if it declares to see them."""

    slot: int
    arrivals: np.ndarray | None


class Slotted(Protocol):
    """The members of an instance that every such episode uses."""

    @property
    def arrivals(self) -> np.ndarray:
        """What arrives, [slot][port]."""
        ...

    @property
    def setting(self) -> Any:
        """Checks decisions."""
        ...


One = TypeVar("One", bound=Slotted)


class SlotEpisode(ABC, Generic[One]):
    """One pass through the slots of an instance; see :class:`clairvoyant.models.base.Episode`."""

    def __init__(self, instance: One, sees_arrivals: bool) -> None:
        self._instance = instance
        self._sees_arrivals = sees_arrivals
        self._slot = -1

    def __iter__(self) -> Iterator[Observation]:
        """Yield one observation per slot; each holds its own copy of the arrivals, never a view."""
        for slot in range(self._instance.setting.slots):
            self._slot = slot
            shown = frozen_copy(self._instance.arrivals[slot]) if self._sees_arrivals else None
            yield Observation(slot, shown)

    @abstractmethod
    def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
        """Check and score the decision of the current slot."""
