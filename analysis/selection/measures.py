"""Who holds what in a selection: the channels of ports hold devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.base import InputError
from ...models.selection.gang import SelectionGangInstance
from ...models.selection.instance import SelectionInstance
from ..holdings import Held, Holdings
from ..plots import plot_gantts

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def channels_on(instance: SelectionInstance | SelectionGangInstance, decided: Any) -> np.ndarray:
    """Return which channels are on in each slot, shape (T, E)."""
    s = instance.setting
    if len(decided) != s.slots:
        raise InputError(f"decisions: {len(decided)} of them, but the instance has {s.slots} slots")
    return np.array([s.check_shape(x) > 0 for x in decided], dtype=bool).reshape(-1, s.channels)


def plot_schedules(
    instance: SelectionInstance | SelectionGangInstance, decided: Mapping[str, Any], ax: Axes | None = None
) -> Axes:
    """Draw how many channels of each port are on in each slot, below each other in the same axes."""
    s, tables = instance.setting, {}
    for label, one in decided.items():
        tables[label] = np.zeros((s.ports, s.slots), dtype=np.int64)
        np.add.at(tables[label], s.port, channels_on(instance, one).T)
    ports = [f"port {p}" for p in range(s.ports)]
    return plot_gantts(tables, ports, ["on"] * len(ports), "channels", ax, first=0)


def holdings(instance: SelectionInstance | SelectionGangInstance, decided: Any) -> Holdings:
    """Return who holds what in each slot: ports hold devices of the cluster, of its servers with gangs."""
    s, on = instance.setting, channels_on(instance, decided)
    if isinstance(instance, SelectionGangInstance):
        g = instance.setting
        place, amount, capacity = g.server, g.demand[g.task], g.capacity
        places = tuple(f"server {r}" for r in range(g.servers))
    else:
        place, amount, places = np.zeros(s.channels, dtype=np.int64), s.demand, ("cluster",)
        capacity = s.capacity[None, :]

    def at(step: int) -> Held:
        now = np.flatnonzero(on[step])
        return Held(place[now], s.port[now], amount[now])

    return Holdings(
        resources=tuple(f"kind {k}" for k in range(s.kinds)),
        places=places,
        holders=tuple(f"port {p}" for p in range(s.ports)),
        capacity=capacity,
        times=np.arange(s.slots + 1) - 0.5,
        unit="slot",
        at=at,
    )
