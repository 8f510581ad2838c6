"""Who holds what in an allocation: ports hold devices of servers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.allocation.gang import AllocationGangInstance, AllocationGangSetting
from ...models.allocation.instance import AllocationInstance
from ...models.base import InputError
from ..holdings import Held, Holdings


def holdings(instance: AllocationInstance | AllocationGangInstance, decided: Any) -> Holdings:
    """Return who holds what in each slot: ports hold devices of servers.

    ``decided`` is a decision for each slot, or one that is held in all of them.
    """
    given = instance.setting
    s = given.base if isinstance(given, AllocationGangSetting) else given
    fixed = isinstance(decided, np.ndarray) and decided.ndim == 2
    if not fixed and len(decided) != s.slots:
        raise InputError(f"decisions: {len(decided)} of them, but the instance has {s.slots} slots")

    def at(step: int) -> Held:
        y = given.check_shape(decided if fixed else decided[step])
        devices = given.totals(y) if isinstance(given, AllocationGangSetting) else y
        return Held(s.server, s.port, np.maximum(devices, 0.0))

    return Holdings(
        resources=s.names.kinds or tuple(f"kind {k}" for k in range(s.kinds)),
        places=tuple(f"server {r}" for r in range(s.servers)),
        holders=tuple(f"port {p}" for p in range(s.ports)),
        capacity=s.capacity,
        times=np.arange(s.slots + 1) - 0.5,
        unit="slot",
        at=at,
    )
