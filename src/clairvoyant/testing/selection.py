"""Selection and its gangs: what the policy checks need, and Hypothesis strategies.

>>> from hypothesis import given
>>> @given(instances(max_slots=4))
... def test_no_reward_without_decision(instance):
...     slots, channels = instance.setting.slots, instance.setting.channels
...     assert not instance.rewards([[0] * channels] * slots).any()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from ..models.selection.channels import LARGEST
from ..models.selection.gang_generate import generate as generate_gangs
from ..models.selection.generate import generate
from ..models.selection.instance import ChannelInstance, SelectionInstance
from ..models.selection.noise import NOISES
from ..models.selection.setting import Setting
from . import selection_gang as gang
from .kit import LONG, Kit, Target, afresh, times
from .strategies import among, arrays, integers, orders

DEMANDS = st.integers(0, 3)
CAPACITIES = st.integers(0, 6)
MEANS = st.sampled_from([0.5, 0.0, 1.0, 0.25]) | st.floats(0.0, 1.0, allow_subnormal=False)
"""Often tied, and often at the ends."""

COSTS = st.sampled_from([0.0, 1.0, 0.5])
SCALES = st.sampled_from([0.0, 0.25, 1.0])


@st.composite
def instances(
    draw: st.DrawFn,
    *,
    max_ports: int = 4,
    max_servers: int = 3,
    max_kinds: int = 3,
    min_slots: int = 0,
    max_slots: int = 6,
    min_channels: int = 0,
    max_channels: int = 8,
    noises: Sequence[str] = NOISES,
    demands: st.SearchStrategy[int] = DEMANDS,
    capacities: st.SearchStrategy[int] = CAPACITIES,
) -> SelectionInstance:
    """Draw an instance; it shrinks towards one port, one server, one kind and no slots.

    Demands and capacities may be zero, channels may never fit, ports may have no channels, and slots no jobs.

    Parameters
    ----------
    max_ports, max_servers, max_kinds, min_slots, max_slots, min_channels, max_channels
        Limits of the sizes.
    noises
        The kinds of noise to choose from.
    demands, capacities
        Strategies for whole numbers.
    """
    L, R, K = (draw(integers(1, most)) for most in (max_ports, max_servers, max_kinds))
    joined = draw(_edges(L, R, min_channels, max_channels))
    count, slots = len(joined), draw(integers(min_slots, max_slots))
    noise = draw(among(*noises))
    return SelectionInstance(
        edges=joined,
        demand=draw(arrays(np.int64, (count, K), demands)),
        capacity=draw(arrays(np.int64, K, capacities)),
        mean=draw(arrays(float, count, MEANS)),
        noise=noise,
        scale=draw(arrays(float, count, SCALES)) if noise == "clipped-normal" else None,
        arrivals=draw(arrays(np.int64, (slots, L), integers(0, 1))),
        seed=draw(integers(0, 9)),
        cost=draw(arrays(float, count, COSTS)),
    )


@cache
def _edges(ports: int, servers: int, least: int, most: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Return the strategy of pairs (port, server), as many as there can be of ``least`` to ``most``."""
    pairs = [(port, server) for port in range(ports) for server in range(servers)]
    least, most = (min(number, len(pairs)) for number in (least, most))
    return st.lists(st.sampled_from(pairs), unique=True, min_size=least, max_size=most)


def settings(**limits: Any) -> st.SearchStrategy[Setting]:
    """Draw the setting of an instance; limits as for :func:`instances`."""
    return instances(**limits).map(lambda instance: instance.setting)


@st.composite
def decisions(
    draw: st.DrawFn, setting: Setting, arrivals: np.ndarray | None = None, *, feasible: bool = True
) -> np.ndarray:
    """Draw a decision x[channel] for a slot; it shrinks towards zero.

    Feasible ones take channels in a random order while they fit, so that often no other fits. Infeasible ones
    break one kind of constraint: a channel is neither on nor off, or its port has no job, or more channels
    are on than fit. Where nothing can be broken, as without channels, the draw is rejected.

    Parameters
    ----------
    setting
        The setting.
    arrivals
        The arrivals of the slot; without them every port counts as having a job.
    feasible
        Whether the decision is feasible.
    """
    count = setting.channels
    usable = np.ones(count, dtype=bool) if arrivals is None else setting.open(arrivals)
    wanted = draw(arrays(np.bool_, count)) & usable
    left = setting.capacity.copy()
    x = np.zeros(count)
    for e in draw(orders(count)):
        if wanted[e] and (setting.demand[e] <= left).all():
            x[e] = 1.0
            left -= setting.demand[e]
    if feasible:
        return x
    assume(count > 0)
    breaks = ["binary"]
    if not usable.all():
        breaks.append("arrival")
    if (setting.demand[usable].sum(axis=0) > setting.capacity).any():
        breaks.append("capacity")
    match draw(among(*breaks)):
        case "binary":
            at = draw(integers(0, count - 1))
            x[at] = draw(among(0.5, 2.0, -1.0, 1.0 + 1e-6, np.inf, np.nan))
        case "arrival":
            x[draw(st.sampled_from(np.flatnonzero(~usable).tolist()))] = 1.0
        case _:
            for e in draw(st.permutations(np.flatnonzero(usable).tolist())):
                if (x @ setting.demand <= setting.capacity).all():
                    x[e] = 1.0
    return x


def _random(seed: int, *, capacity: int = 6, slots: int = 9, noise: str = "bernoulli") -> SelectionInstance:
    """Return a small instance in which no two channels are alike."""
    rng = np.random.default_rng(seed)
    L, R, K = 4, 3, 2
    edges = [
        (port, server) for port in range(L) for server in range(R) if rng.random() < 0.6 or port == server
    ]
    count = len(edges)
    return SelectionInstance(
        edges=edges,
        demand=rng.integers(1, 4, (count, K)),
        capacity=[capacity, capacity + 1],
        mean=rng.uniform(0.2, 0.8, count),
        noise=noise,
        scale=rng.uniform(0.1, 0.5, count) if noise == "clipped-normal" else None,
        arrivals=rng.integers(0, 2, (slots, L)),
        seed=seed,
        cost=rng.uniform(0.1, 1.0, count),
    )


@afresh
def ordinary() -> dict[str, SelectionInstance]:
    """Return the instances that policies are checked on: scarce devices, two kinds of noise, much room."""
    return {
        "scarce devices": _random(0),
        "normal noise": _random(1, noise="clipped-normal", slots=6),
        "ample capacity": _random(2, capacity=100),
    }


@afresh
def long() -> dict[str, SelectionInstance]:
    """Return an instance of many slots."""
    return {"many slots": _random(4, slots=LONG)}


@afresh
def degenerate() -> dict[str, SelectionInstance]:
    """Return instances at the edge of what is allowed."""
    some = _random(3)
    plain = some.to_dict()
    ports, count = some.setting.ports, some.setting.channels

    def changed(**fields: Any) -> SelectionInstance:
        return SelectionInstance.from_dict({**plain, **fields})

    one: dict[str, Any] = {"edges": [[0, 0]], "demand": [[1]], "capacity": [1], "mean": [0.5], "cost": [0.25]}
    none: dict[str, Any] = {"edges": [], "demand": [], "mean": [], "cost": []}
    exact = {"noise": {"kind": "none"}}
    return {
        "no slots": some.with_arrivals(np.zeros((0, ports))),
        "one slot": some.with_arrivals(some.arrivals[:1]),
        "no jobs": some.with_arrivals(0 * some.arrivals),
        "jobs everywhere": some.with_arrivals(0 * some.arrivals + 1),
        "no channels": changed(**none),
        "one channel": changed(**one, arrivals=[[1], [0], [1]]),
        "ports without channels": changed(**one),
        "zero capacity": changed(capacity=[0, 0]),
        "one kind without capacity": changed(capacity=[6, 0]),
        "zero demand": changed(demand=[[0, 0]] * count),
        "zero demand and capacity": changed(demand=[[0, 0]] * count, capacity=[0, 0]),
        "no channel fits": changed(demand=[[9, 9]] * count),
        "one channel never fits": changed(demand=[[9, 9], *plain["demand"][1:]]),
        "nothing to earn": changed(mean=[0.0] * count, **exact),
        "everything sure": changed(mean=[1.0] * count, **exact),
        "all alike": changed(demand=[[1, 1]] * count, mean=[0.5] * count, cost=[0.0] * count),
        "huge capacity": changed(capacity=[LARGEST, LARGEST]),
        "huge demand": changed(demand=[[LARGEST, 1]] * count, capacity=[LARGEST, 3]),
        "huge numbers": changed(
            demand=[[LARGEST // (e + 2), LARGEST // 3 - e] for e in range(count)],
            capacity=[LARGEST, LARGEST - 1],
        ),
    }


Channels = TypeVar("Channels", bound=ChannelInstance)


def alter(
    instance: Channels, event: int, sees: frozenset[str], _decisions: Sequence[Any]
) -> Iterator[Channels]:
    """Yield instances with the same setting that differ in what was not shown when ``event`` is decided.

    These are the arrivals from the event on, or after it for who sees them; the sample path from the event
    on; and the means, with the sample path kept as a recorded one.
    """
    first = event + ("arrivals" in sees)
    arrivals, path, mean = instance.arrivals, instance.path, instance.mean

    def changed(**fields: Any) -> Channels:
        data = {**instance.to_dict(), "ports": instance.setting.ports, **fields}
        return type(instance).from_dict(data)

    rest = arrivals[first:]
    for other in (1 - rest, rest[::-1]):
        if not np.array_equal(other, rest):
            yield changed(arrivals=np.concatenate([arrivals[:first], other]))
    ahead = path[event:]
    for utility in (1.0 - ahead, np.roll(ahead, 1, axis=1)):
        if not np.array_equal(utility, ahead):
            yield changed(path=np.concatenate([path[:event], utility]))
    for value in (1.0 - mean, mean[::-1]):
        if not np.array_equal(value, mean):
            yield changed(mean=value, path=path)


def secrets(instance: ChannelInstance) -> Iterator[np.ndarray]:
    """Yield the arrivals, the sample path, and the means unless a slot may show these as they are.

    Without noise a policy rightly holds the mean of every channel that it has tried.
    """
    yield instance.arrivals
    yield instance.path
    if not (instance.path[:, -2:] == instance.mean[-2:]).all(axis=1).any():
        yield instance.mean


KIT = Kit(
    "selection",
    ordinary,
    degenerate,
    SelectionInstance.shows,
    alter,
    secrets,
    long=long,
    sampled=partial(generate, "tiny"),
)
GANG_KIT = Kit(
    "selection-gang",
    gang.ordinary_gangs,
    gang.degenerate_gangs,
    ChannelInstance.shows,
    alter,
    secrets,
    long=gang.long_gangs,
    sampled=partial(generate_gangs, "tiny"),
)


def scaled(data: dict[str, Any], factor: float) -> dict[str, Any]:
    """Return the JSON form of an instance with its rewards multiplied, as far as that is allowed."""
    if factor < 1.0:  # means are at most 1
        data["mean"] = times(data["mean"], factor)
    return data


TARGET = Target(instances(max_slots=3), scaled, lambda _, x: list(x), "clairvoyant")
GANG_TARGET = Target(gang.gang_instances(max_slots=3), scaled, lambda _, x: list(x), "gang")
