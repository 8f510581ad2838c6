"""Allocation and its gangs: what the policy checks need, and Hypothesis strategies.

>>> from hypothesis import given
>>> @given(instances(max_slots=4))
... def test_no_reward_without_jobs(instance):
...     idle = instance.with_arrivals(0 * instance.arrivals)
...     assert not idle.rewards(idle.setting.edge_demand).any()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from ..models.allocation.gang import AllocationGangInstance, generate_gang
from ..models.allocation.gang_generate import generate as generate_gangs
from ..models.allocation.generate import generate
from ..models.allocation.instance import AllocationInstance
from ..models.allocation.setting import Setting
from ..models.allocation.utility import KINDS
from .kit import LONG, Kit, Target, afresh, times
from .strategies import among, arrays, integers

SIZES = st.sampled_from([0.0, 1.0, 2.0, 0.5, 3.0]) | st.floats(2.0**-10, 10.0)
"""Demands and capacities: often zero or one, and often tied."""

ALPHAS = st.sampled_from([1.0, 1.5]) | st.floats(0.125, 4.0)
SHARES = st.sampled_from([0.5, 0.0, 1.0])
PARTS = st.sampled_from([0.0, 1.0]) | st.floats(0.0, 1.0)
OVERHEADS = st.sampled_from([0.0, 0.5, 1.0, 0.3]) | st.floats(2.0**-10, 1.0)


@st.composite
def instances(
    draw: st.DrawFn,
    *,
    max_ports: int = 4,
    max_servers: int = 3,
    max_kinds: int = 3,
    min_slots: int = 0,
    max_slots: int = 6,
    max_jobs: int = 2,
    families: Sequence[str] = KINDS,
    min_edges: int = 0,
    sizes: st.SearchStrategy[float] = SIZES,
) -> AllocationInstance:
    """Draw an instance; it shrinks towards one port, one server, one kind and no slots.

    Demands and capacities may be zero, ports and servers may have no edges, slots may be without jobs, and
    every (server, kind) has a utility family of its own.

    Parameters
    ----------
    max_ports, max_servers, max_kinds, min_slots, max_slots, min_edges
        Limits of the sizes.
    max_jobs
        The most jobs of one port in one slot.
    families
        The utility families to choose from.
    sizes
        Strategy for demands and capacities.
    """
    L, R, K = (draw(integers(1, most)) for most in (max_ports, max_servers, max_kinds))
    joined = draw(_edges(L, R, min_edges))
    slots = draw(integers(min_slots, max_slots))
    return AllocationInstance(
        edges=joined,
        demand=draw(arrays(float, (L, K), sizes)),
        capacity=draw(arrays(float, (R, K), sizes)),
        overhead=draw(arrays(float, K, OVERHEADS)),
        utility_kind=draw(arrays(object, (R, K), among(*families))),
        alpha=draw(arrays(float, (R, K), ALPHAS)),
        arrivals=draw(arrays(np.int64, (slots, L), integers(0, max_jobs))),
    )


@cache
def _edges(ports: int, servers: int, least: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Return the strategy of pairs (port, server), at least so many if there are."""
    pairs = [(port, server) for server in range(servers) for port in range(ports)]
    return st.lists(st.sampled_from(pairs), unique=True, min_size=min(least, len(pairs)))


def settings(**limits: Any) -> st.SearchStrategy[Setting]:
    """Draw the setting of an instance; limits as for :func:`instances`."""
    return instances(**limits).map(lambda instance: instance.setting)


@st.composite
def decisions(draw: st.DrawFn, setting: Setting, *, feasible: bool = True) -> np.ndarray:
    """Draw a decision y[edge, kind] for a setting; it shrinks towards zero.

    Feasible ones often lie on the boundary of Y. Infeasible ones break one constraint in one place, by
    something between a little (1e-6) and everything (not a number); a setting without edges has none.
    """
    part = draw(arrays(float, setting.shape, PARTS))
    y: np.ndarray = setting.edge_demand * part
    used = setting.server_sums(y)
    y *= np.divide(setting.capacity, used, out=np.ones_like(used), where=used > setting.capacity)[
        setting.server
    ]
    if feasible:
        return y
    assume(y.size > 0)
    at = draw(st.tuples(*(integers(0, n - 1) for n in setting.shape)))
    excess = draw(among(1.0, 1e-6, 1e6, np.inf, np.nan))
    server, kind = setting.server[at[0]], at[1]
    room = setting.capacity[server, kind] - (setting.server_sums(y)[server, kind] - y[at])
    match draw(among("demand", "nonnegative", "capacity")):
        case "demand":
            y[at] = setting.edge_demand[at] + excess * max(1.0, setting.edge_demand[at])
        case "nonnegative":
            y[at] = -excess
        case _:
            y[at] = room + excess * max(1.0, setting.capacity[server, kind])
    return y


def _random(seed: int, *, jobs: int = 1, slots: int = 12, scale: float = 1.0) -> AllocationInstance:
    """Return a small instance of all utility families in which no two demands or capacities are alike."""
    rng = np.random.default_rng(seed)
    L, R, K = 4, 3, 2
    edges = [(p, r) for r in range(R) for p in range(L) if rng.random() < 0.75 or p == r]
    return AllocationInstance(
        edges=edges,
        demand=scale * rng.uniform(0.5, 2.0, (L, K)),
        capacity=scale * rng.uniform(1.0, 4.0, (R, K)),
        overhead=rng.uniform(0.1, 0.5, K),
        utility_kind=rng.permutation(np.resize(np.array(KINDS, dtype=object), R * K)).reshape(R, K),
        alpha=rng.uniform(1.0, 1.5, (R, K)),
        arrivals=rng.integers(0, jobs + 1, (slots, L)),
    )


@afresh
def ordinary() -> dict[str, AllocationInstance]:
    """Return the instances that policies are checked on: single jobs, several at once, plenty of room."""
    roomy = _random(2).to_dict()
    roomy["capacity"] = [[100.0, 100.0]] * 3
    return {
        "single jobs": _random(0),
        "several jobs": _random(1, jobs=3, slots=10),
        "ample capacity": AllocationInstance.from_dict(roomy),
    }


@afresh
def long() -> dict[str, AllocationInstance]:
    """Return an instance of many slots."""
    return {"many slots": _random(6, slots=LONG)}


@afresh
def degenerate() -> dict[str, AllocationInstance]:
    """Return instances at the edge of what is allowed."""
    some = _random(3)
    plain = some.to_dict()
    ports = some.setting.ports

    def changed(**fields: Any) -> AllocationInstance:
        return AllocationInstance.from_dict({**plain, **fields})

    one = {"demand": [[1.0]], "capacity": [[1.0]], "overhead": [0.5], "arrivals": [[1], [0], [1]]}
    return {
        "no slots": some.with_arrivals(np.zeros((0, ports))),
        "one slot": some.with_arrivals(some.arrivals[:1]),
        "no jobs": some.with_arrivals(0 * some.arrivals),
        "many jobs at once": some.with_arrivals(1000 * some.arrivals),
        "no edges": changed(edges=[]),
        "ports and servers without edges": changed(edges=[[1, 1]]),
        "zero capacity": changed(capacity=[[0.0, 0.0]] * 3),
        "one server without capacity": changed(capacity=[[0.0, 0.0], [1.0, 2.0], [2.0, 0.0]]),
        "zero demand": changed(demand=[[0.0, 0.0]] * ports),
        "one port without demand": changed(demand=[[0.0, 0.0], [1.0, 2.0], [2.0, 0.0], [1.0, 1.0]]),
        "no overhead": changed(overhead=[0.0, 0.0]),
        "overhead above every gain": changed(
            overhead=[1.0, 1.0], utility={"kind": [["linear"] * 2] * 3, "alpha": [[0.0, 0.0]] * 3}
        ),
        "all alike": changed(
            demand=[[1.0, 1.0]] * ports,
            capacity=[[2.0, 2.0]] * 3,
            utility={"kind": [["log"] * 2] * 3, "alpha": [[1.0, 1.0]] * 3},
        ),
        "one port, server and kind": AllocationInstance.from_dict(
            {**plain, **one, "edges": [[0, 0]], "utility": {"kind": [["poly"]], "alpha": [[1.0]]}}
        ),
        "huge numbers": _random(4, scale=1e12),
        "tiny numbers": _random(5, scale=1e-12),
    }


@st.composite
def gang_instances(draw: st.DrawFn, /, *, max_tasks: int = 2, **limits: Any) -> AllocationGangInstance:
    """Draw a gang instance; it shrinks towards ports without tasks.

    Parameters
    ----------
    max_tasks
        The most tasks of a port.
    **limits
        As for :func:`instances`; the sizes are those of the tasks, too.
    """
    base = draw(instances(**limits))
    L, K = base.setting.ports, base.setting.kinds
    tasks = [draw(integers(0, max_tasks)) for _ in range(L)]
    demand = [draw(arrays(float, (n, K), limits.get("sizes", SIZES))) for n in tasks]
    share = [draw(arrays(float, (n, K), SHARES)) for n in tasks]
    return AllocationGangInstance(
        base,
        demand=demand,
        floor=[part * whole for part, whole in zip(share, demand, strict=True)],
        minimum=[draw(integers(0, n)) for n in tasks],
    )


@afresh
def ordinary_gangs() -> dict[str, AllocationGangInstance]:
    """Return the gang instances that policies are checked on; tiny, as they may solve integer programs."""
    return {
        "two tasks": _gang([[0, 0], [1, 0], [1, 1]], [[2.5], [1.75]], "linear", 6, seed=0),
        "one server": _gang([[0, 0], [1, 0]], [[2.25]], "log", 5, seed=1),
    }


@afresh
def long_gangs() -> dict[str, AllocationGangInstance]:
    """Return a gang instance of many slots."""
    return {"many slots": _gang([[0, 0], [1, 0]], [[2.25]], "log", LONG, seed=2)}


def _gang(edges: Any, capacity: Any, family: str, slots: int, seed: int) -> AllocationGangInstance:
    """Return a gang instance of two ports with two tasks each, of which the first needs both."""
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.5, 1.5, (2, 2, 1))
    base = AllocationInstance(
        edges=edges,
        demand=demand.sum(axis=1),
        capacity=capacity,
        overhead=[0.25],
        utility_kind=[[family]] * len(capacity),
        alpha=rng.uniform(1.0, 1.5, (len(capacity), 1)),
        arrivals=rng.permuted(np.arange(2 * slots) % 3 > 0).reshape(slots, 2).astype(np.int64),
    )
    return AllocationGangInstance(base, demand=list(demand), floor=list(0.5 * demand), minimum=[2, 1])


@afresh
def degenerate_gangs() -> dict[str, AllocationGangInstance]:
    """Return gang instances at the edge of what is allowed: the fractional ones in gangs, and gangs' own."""
    some = ordinary_gangs()["two tasks"]
    base, gang = some.base, some.to_dict()["gang"]

    def changed(**fields: Any) -> AllocationGangInstance:
        return AllocationGangInstance(base, **{**gang, **fields})

    def edge(name: str) -> AllocationGangInstance:
        whole = degenerate()[name]
        return generate_gang(whole.with_arrivals(whole.arrivals[:2]), seed=0)

    fractional = ("no slots", "no jobs", "no edges", "zero capacity", "zero demand")
    return {
        **{name: edge(name) for name in (*fractional, "many jobs at once", "one port, server and kind")},
        "large numbers": generate_gang(_random(4, slots=2, scale=1e6), seed=0),
        "no tasks": changed(demand=[[], []], floor=[[], []], minimum=[0, 0]),
        "one port without tasks": changed(
            demand=[[], gang["demand"][1]], floor=[[], gang["floor"][1]], minimum=[0, 2]
        ),
        "no floor": changed(floor=[[[0.0], [0.0]]] * 2),
        "no minimum": changed(minimum=[0, 0]),
        "floor above every capacity": changed(demand=[[[50.0], [50.0]]] * 2, floor=[[[50.0], [50.0]]] * 2),
    }


Arrivals = TypeVar("Arrivals", AllocationInstance, AllocationGangInstance)


def alter(
    instance: Arrivals, event: int, sees: frozenset[str], _decisions: Sequence[Any]
) -> Iterator[Arrivals]:
    """Yield the instance with other arrivals from ``event`` on, or after it for who sees the arrivals."""
    first = event + ("arrivals" in sees)
    rest = instance.arrivals[first:]
    for other in (np.where(rest > 0, 0, 1), 2 * rest + 1, rest[::-1], 0 * rest):
        if not np.array_equal(other, rest):
            yield instance.with_arrivals(np.concatenate([instance.arrivals[:first], other]))


def secrets(instance: AllocationInstance | AllocationGangInstance) -> tuple[np.ndarray, ...]:
    """Return the arrivals."""
    return (instance.arrivals,)


KIT = Kit(
    "allocation",
    ordinary,
    degenerate,
    AllocationInstance.shows,
    alter,
    secrets,
    long=long,
    sampled=partial(generate, "tiny"),
)
GANG_KIT = Kit(
    "allocation-gang",
    ordinary_gangs,
    degenerate_gangs,
    AllocationGangInstance.shows,
    alter,
    secrets,
    long=long_gangs,
    sampled=partial(generate_gangs, "tiny"),
)


def scaled(data: dict[str, Any], factor: float) -> dict[str, Any]:
    """Return the JSON form of an instance with its rewards multiplied, as far as that is allowed."""
    utility = data["utility"]
    if any(kind == "reciprocal" for row in utility["kind"] for kind in row):
        return data  # its alpha is no factor
    utility["alpha"] = times(utility["alpha"], factor)
    data["overhead"] = times(data["overhead"], factor if factor <= 1.0 else 0.0)  # it is at most 1
    return data


TARGET = Target(
    instances(max_slots=3),
    scaled,
    lambda instance, y: [y] * instance.setting.slots if isinstance(y, np.ndarray) else list(y),
    "dynamic",
)
_GANGS = {"max_ports": 2, "max_servers": 2, "max_kinds": 2, "max_slots": 2}
GANG_TARGET = Target(
    gang_instances(**_GANGS) | gang_instances(**_GANGS, min_slots=1, min_edges=2),
    scaled,
    lambda instance, y: [y] * instance.setting.slots,
    None,
)
