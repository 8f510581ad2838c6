"""Synthetic instances of the paper's sizes, from facts about real machines and requests (Sec. 4, Table 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypedDict, Unpack

import numpy as np

from ..base import InputError, Origin
from ..draw import choose, given, interval, real, takes, truth, whole
from ..sources import MachineType, RequestClass, sampled
from . import draw, profile
from .instance import LARGEST, AllocationInstance
from .setting import Names


@dataclass(frozen=True)
class Size:
    """Default parameters of a named size."""

    ports: int
    servers: int
    slots: int
    density: float
    contention: float
    overhead: tuple[float, float]
    kinds: tuple[str, ...] = draw.KINDS


SIZES = {
    "tiny": Size(3, 3, 6, 2.0, 5.0, (0.3, 0.5), ("CPU", "GPU")),
    "default": Size(10, 128, 2000, 2.5, 10.0, (0.3, 0.5)),  # Table 1
    "large": Size(100, 1024, 10000, 10.0, 5.0, (0.01, 0.015)),  # Sec. 4.3 and the caption of Fig. 5
}


UNIFORM = "uniform"
"""Stands for machines and requests that no trace has, but the public code of the paper draws."""


class DrawnOptions(TypedDict, total=False):
    """Options of both :func:`generate` and :func:`.trace.from_trace`, with their defaults."""

    ports: Annotated[int | None, None, "Number of ports, >= 1."]
    servers: Annotated[int | None, None, "Number of servers, >= 1."]
    density: Annotated[float | None, None]
    contention: Annotated[float | None, None, "Multiplies all requirements a."]
    utility: Annotated[str | Mapping[str, float], "mix"]
    alpha: Annotated[tuple[float, float], (1.0, 1.5)]
    overhead: Annotated[tuple[float, float] | None, None]
    kinds: Annotated[Sequence[str] | None, None, "Device kinds, of CPU, MEM, GPU (cards), NPU, TPU, FPGA."]
    filled: Annotated[bool, True, "Off: only kinds that are real in the traces (CPU, MEM, GPU)."]
    units: Annotated[tuple[float, float], (8.0, 64.0), "Cores of one CPU device, and GB of one MEM device."]
    integer: Annotated[bool, False, "Round requirements up to whole devices, which Sec. 2.1 has them in."]


class GenerateOptions(DrawnOptions, total=False):
    """Options of :func:`generate` besides size and seed, with their defaults."""

    slots: Annotated[int | None, None, "T, the number of slots, >= 0."]
    arrival_probability: Annotated[float, 0.7]
    counts: Annotated[bool, False]
    fano: Annotated[float, 1.0]
    pattern: Annotated[str, "flat"]
    slots_per_day: Annotated[int, 24]
    machines: Annotated[str, "pai-2020"]
    requests: Annotated[str, "gpu-2023"]


@takes(GenerateOptions)
def generate(size: str = "default", seed: int = 0, **options: Unpack[GenerateOptions]) -> AllocationInstance:
    r"""Generate a synthetic instance.

    Servers are machine types and ports are request classes of the built-in profile, drawn by their shares
    (classes without repetition until all are used); kinds that no trace has are filled. Every quantity has a
    random stream of its own: other slots or another probability leave the graph as it is, the first t slots
    do not depend on T, more probability only adds arrivals, more density only adds edges.

    Parameters
    ----------
    size
        "tiny" (3 ports, 3 servers, 2 kinds, 6 slots: small enough to enumerate), "default" (Table 1) or
        "large" (Sec. 4.3); it sets what is not given otherwise.
    density
        Mean number of ports per server, sum_r \|L_r| / \|R|: the graph has round(density \|R|) edges, drawn
        such that every port, then every server has one as far as there are enough.
    arrival_probability
        rho, the probability that a port yields a job in a slot; with a pattern, in an hour of average rate.
    utility
        One family, "mix" (a family per server and kind, all equally likely), or weights by family.
    alpha, overhead
        (smallest, largest) utility scale and overhead beta; uniform in between.
    counts, fano
        Whether several jobs may arrive at a port at once, and the variance / mean of their number (1:
        Poisson).
    pattern, slots_per_day
        "flat": plain Bernoulli(rho). Or the source of a daily rhythm that the intensity -ln(1 - rho) follows:
        "pai-2020", "google-2011", "gpu-2023 requests", "v2018 requests".
    machines, requests
        Sources of machine types ("pai-2020", "gpu-2023") and request classes ("gpu-2023", "v2018",
        "dlrm-2025") in the profile. Or both "uniform": no trace, but the ranges of the paper's public code.
    """
    plan = planned(size, seed, options)
    arrivals, arrived = _arrivals(plan, options)
    machines, requests = options["machines"], options["requests"]
    source = f"synthetic ({size}, seed {plan.seed})"
    everywhere = np.ones((plan.ports, plan.servers), dtype=bool)
    if UNIFORM in (machines, requests):
        if machines != requests:
            raise InputError(f"machines: {machines!r} and requests {requests!r} are not both {UNIFORM!r}")
        return assemble(plan, _uniform(plan), everywhere, arrivals, Origin(source, (), (arrived,)))
    types = sampled(draw.stream(plan.seed, "machines"), profile.machine_types(machines), plan.servers)
    classes = draw.classes(draw.stream(plan.seed, "requests"), profile.request_classes(requests), plan.ports)
    facts = profile.load()
    real = (
        f"types of {facts['machines'][machines]['source']} drawn by share",
        f"classes of {facts['requests'][requests]['source']} drawn by share",
    )
    sizes = measured(plan, types, classes)
    return assemble(plan, sizes, everywhere, arrivals, Origin(source, real, (arrived,)))


class Plan(NamedTuple):
    """:class:`DrawnOptions`, checked."""

    seed: int
    preset: Size
    ports: int
    servers: int
    density: float
    contention: float
    kinds: tuple[str, ...]
    options: DrawnOptions


def planned(size: str, seed: int, o: DrawnOptions) -> Plan:
    """Check options, and take what is not given from the size."""
    preset = SIZES[choose(size, SIZES, "size")]
    seed = whole("seed", seed, 0)
    ports = whole("ports", given(o["ports"], preset.ports), 1)
    servers = whole("servers", given(o["servers"], preset.servers), 1)
    density = real("density", given(o["density"], min(preset.density, ports)), 0.0, ports)
    contention = real("contention", given(o["contention"], preset.contention), 0.0, LARGEST)
    kinds = draw.kinds(given(o["kinds"], preset.kinds), o["filled"])
    return Plan(seed, preset, ports, servers, density, contention, kinds, o)


class Sizes(NamedTuple):
    """Capacities c[server, kind] and requirements a[port, kind] at contention 1, with the names of both."""

    capacity: np.ndarray
    demand: np.ndarray
    servers: tuple[str, ...]
    ports: tuple[str, ...]


def measured(plan: Plan, types: Sequence[MachineType], classes: Sequence[RequestClass]) -> Sizes:
    """Return the sizes of machine types and request classes; kinds that no trace has are filled."""
    seed, kinds, units = plan.seed, plan.kinds, _units(plan)
    return Sizes(
        draw.capacity(draw.stream(seed, "filled capacity"), types, kinds, units),
        draw.demand(draw.stream(seed, "filled demand"), classes, kinds, units),
        tuple(f"{t.name}: {t.cpu:g} cores, {t.gpu:g} cards" for t in types),
        tuple(f"{c.cpu:.3g} cores, {c.memory:.3g} GB, {c.gpu:g} cards" for c in classes),
    )


def _uniform(plan: Plan) -> Sizes:
    seed, kinds, units = plan.seed, plan.kinds, _units(plan)
    return Sizes(
        draw.uniform(draw.stream(seed, "filled capacity"), plan.servers, kinds, units, whole=True),
        draw.uniform(draw.stream(seed, "filled demand"), plan.ports, kinds, units, whole=False),
        (),
        (),
    )


def _units(plan: Plan) -> dict[str, tuple[float, str]]:
    return draw.devices(plan.options["units"])


def assemble(
    plan: Plan, sizes: Sizes, allowed: np.ndarray, arrivals: np.ndarray, origin: Origin
) -> AllocationInstance:
    """Put an instance together from sizes and arrivals; the rest is drawn here.

    ``origin`` says what is real of the capacities, of the demands and of more (nothing where sizes are drawn
    too), and what is filled in the arrivals; what is drawn here is added.
    """
    seed, kinds = plan.seed, plan.kinds
    shape = (len(sizes.capacity), len(kinds))
    low, high = interval("alpha", plan.options["alpha"])
    least, most = interval("overhead", given(plan.options["overhead"], plan.preset.overhead), 1.0)
    scarce = allowed.sum() / shape[0]
    demand = plan.contention * sizes.demand
    whole_demand = truth("integer", plan.options["integer"])
    return AllocationInstance(
        edges=draw.edges(draw.stream(seed, "graph"), allowed, round(plan.density * shape[0])),
        demand=np.ceil(demand) if whole_demand else demand,
        capacity=sizes.capacity,
        overhead=draw.stream(seed, "overhead").uniform(least, most, len(kinds)),
        utility_kind=draw.utilities(draw.stream(seed, "utility"), plan.options["utility"], shape),
        alpha=draw.stream(seed, "alpha").uniform(low, high, shape),
        arrivals=arrivals,
        names=Names(sizes.ports, sizes.servers, kinds),
        origin=Origin(
            origin.source,
            (*_real_columns(plan, *origin.real[:2]), *origin.real[2:]),
            (
                *_filled_columns(plan, bool(origin.real)),
                *(("demand: rounded up to whole devices",) if whole_demand else ()),
                *((f"density (no more than {scarce:.3g} is allowed)",) if scarce < plan.density else ()),
                "edges and utility and alpha and overhead: drawn",
                *origin.filled,
            ),
        ),
    )


def _arrivals(plan: Plan, o: GenerateOptions) -> tuple[np.ndarray, str]:
    """Draw the arrivals, and say how."""
    T = whole("slots", given(o["slots"], plan.preset.slots), 0)
    rho = real("arrival_probability", o["arrival_probability"], 0.0, 1.0)
    counts, pattern = truth("counts", o["counts"]), o["pattern"]
    if counts and rho == 1.0:
        raise InputError("arrival_probability: 1 leaves the number of jobs open; counts need less than 1")
    rate = _rate(pattern, whole("slots_per_day", o["slots_per_day"], 1), T)
    fano = real("fano", o["fano"], 1.0)
    rng = draw.stream(plan.seed, "arrivals")
    x = draw.arrivals(rng, (T, plan.ports), rho, rate, counts=counts, fano=fano)
    rhythm = "" if pattern == "flat" else f", daily rhythm of {profile.load()['arrivals'][pattern]['source']}"
    number = f", several at once (variance / mean {fano:g})" if counts else ""
    return x, f"arrivals: Bernoulli({rho:g}) per port and slot{rhythm}{number}"


def _rate(pattern: str, slots_per_day: int, slots: int) -> np.ndarray:
    """Return the relative arrival rate of each slot, shape (T,)."""
    if pattern == "flat":
        return np.ones(slots)
    shape = profile.by_hour(pattern)
    return shape[np.arange(slots) % slots_per_day * 24 // slots_per_day]


def _real_columns(plan: Plan, machines: str = "", requests: str = "") -> tuple[str, ...]:
    """Describe the columns of the real kinds, if there are any."""
    known = _units(plan)
    units = "/".join(f"{name} ({known[name][1]})" for name in plan.kinds if name in known)
    return (
        (f"capacity of {units}: {machines}", f"demand of {units}: {requests}") if machines and units else ()
    )


def _filled_columns(plan: Plan, measured: bool) -> tuple[str, ...]:
    """Describe the columns of the kinds that no trace has, or of all if they are drawn."""
    if measured:
        return tuple(
            f"{name} ({draw.FILLED[name].how}; demand uniform on 0 to {draw.FILLED[name].tenths} tenths)"
            for name in plan.kinds
            if name in draw.FILLED
        )
    units = {name: text for name, (_, text) in _units(plan).items()}
    return tuple(
        f"{name} (in {units.get(name, '1 device')}; capacity and demand uniform on {low} to {high})"
        for name, (low, high) in draw.RANGES.items()
        if name in plan.kinds
    )
