"""Gangs of the selection problem: what the policy checks need, and a Hypothesis strategy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..models.selection.gang import SelectionGangInstance
from ..models.selection.noise import NOISES
from .kit import LONG, afresh
from .strategies import among, arrays, integers

MEANS = st.sampled_from([0.0, 1.0, 0.5, 0.25]) | st.floats(0.0, 1.0, allow_subnormal=False)
"""Means of channels: often tied, and often at the ends."""


@st.composite
def gang_instances(
    draw: st.DrawFn,
    *,
    max_ports: int = 3,
    max_tasks: int = 2,
    max_servers: int = 2,
    max_kinds: int = 2,
    max_channels: int = 8,
    min_slots: int = 0,
    max_slots: int = 4,
    max_devices: int = 3,
) -> SelectionGangInstance:
    """Draw a gang instance; it shrinks towards ports without tasks.

    Ports may be without tasks, tasks without channels, servers without devices, and a minimum may be above
    the number of tasks.

    Parameters
    ----------
    max_ports, max_tasks, max_servers, max_kinds, max_channels, min_slots, max_slots
        Limits of the sizes; ``max_tasks`` is that of a port.
    max_devices
        The most devices of a kind on a server or in a demand.
    """
    L, R, K = (draw(integers(1, most)) for most in (max_ports, max_servers, max_kinds))
    owner = [p for p in range(L) for _ in range(draw(integers(0, max_tasks)))]
    joined = draw(_channels(len(owner), R, max_channels)) if owner else []
    slots = draw(integers(min_slots, max_slots))
    noise = draw(among(*NOISES))
    devices = integers(0, max_devices)
    return SelectionGangInstance(
        channels=joined,
        task_port=owner,
        demand=draw(arrays(np.int64, (len(owner), K), devices)),
        capacity=draw(arrays(np.int64, (R, K), devices)),
        minimum=draw(arrays(np.int64, L, integers(0, max_tasks + 1))),
        mean=draw(arrays(float, len(joined), MEANS)),
        noise=noise,
        scale=np.full(len(joined), 0.25) if noise == "clipped-normal" else None,
        arrivals=draw(arrays(np.int64, (slots, L), integers(0, 1))),
        seed=draw(integers(0, 3)),
    )


@cache
def _channels(tasks: int, servers: int, most: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Return the strategy of at most so many pairs (task, server)."""
    pairs = [(task, server) for task in range(tasks) for server in range(servers)]
    return st.lists(st.sampled_from(pairs), unique=True, max_size=most)


def _gang(
    servers: int, capacity: int, minimum: Any, *, tasks: Any = (2, 1, 2), slots: int = 6, seed: int = 0
) -> SelectionGangInstance:
    """Return a small instance of one kind in which every task reaches every server."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(tasks)), tasks)
    pairs = [(q, r) for q in range(len(owner)) for r in range(servers)]
    return SelectionGangInstance(
        channels=pairs,
        task_port=owner,
        demand=1 + np.arange(len(owner))[:, None] % 2,
        capacity=np.full((servers, 1), capacity),
        minimum=minimum,
        mean=rng.uniform(0.2, 0.8, len(pairs)),
        noise="clipped-normal",
        scale=rng.uniform(0.1, 0.3, len(pairs)),
        arrivals=rng.permuted(np.arange(len(tasks) * slots) % 4 > 0).reshape(slots, -1).astype(np.int64),
        seed=seed,
    )


@afresh
def ordinary_gangs() -> dict[str, SelectionGangInstance]:
    """Return the instances that policies are checked on; tiny, as they may solve integer programs."""
    return {
        "capacity binds": _gang(2, 2, [2, 1, 1]),
        "room for all": _gang(2, 20, [1, 1, 1], seed=1),
    }


@afresh
def long_gangs() -> dict[str, SelectionGangInstance]:
    """Return an instance of many slots."""
    return {"many slots": _gang(2, 2, [1, 1], tasks=(2, 1), slots=LONG, seed=2)}


@afresh
def degenerate_gangs() -> dict[str, SelectionGangInstance]:
    """Return instances at the edge of what is allowed."""
    some = _gang(2, 2, [2, 1, 1], slots=3)
    plain = some.to_dict()
    tasks, channels = some.setting.tasks, some.setting.channels

    def changed(**fields: Any) -> SelectionGangInstance:
        return SelectionGangInstance.from_dict({**plain, **fields})

    none = {"channels": [], "mean": [], "noise": {"kind": "none"}}
    quiet = {"kind": "none"}
    return {
        "no slots": some.with_arrivals(np.zeros((0, 3))),
        "one slot": some.with_arrivals(some.arrivals[:1]),
        "no jobs": some.with_arrivals(0 * some.arrivals),
        "no channels": changed(**none),
        "no tasks": changed(**none, task_port=[], demand=[]),
        "zero capacity": changed(capacity=[[0], [0]]),
        "zero demand": changed(demand=[[0]] * tasks),
        "no minimum": changed(minimum=[0, 0, 0]),
        "minimum above the number of tasks": changed(minimum=[3, 3, 3]),
        "means of zero": changed(mean=[0.0] * channels, noise=quiet),
        "means of one": changed(mean=[1.0] * channels, noise=quiet),
        "yes or no": changed(noise={"kind": "bernoulli"}),
        "huge numbers": changed(demand=[[500_000]] * tasks, capacity=[[1_000_000]] * 2),
        "one of everything": SelectionGangInstance(
            channels=[[0, 0]],
            task_port=[0],
            demand=[[1]],
            capacity=[[1]],
            minimum=[1],
            mean=[0.5],
            arrivals=[[1], [0], [1]],
        ),
    }
