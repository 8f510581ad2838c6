"""Synthetic instances of the paper's sizes, from facts about real machines and requests (Sec. 4, Table 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import InputError, Origin
from ..draw import choose, interval, real, truth, whole
from ..sources import UNITS, MachineType, RequestClass, drawn
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


def generate(
    size: str = "default",
    seed: int = 0,
    *,
    slots: int | None = None,
    ports: int | None = None,
    servers: int | None = None,
    density: float | None = None,
    arrival_probability: float = 0.7,
    contention: float | None = None,
    utility: str | Mapping[str, float] = "mix",
    alpha: tuple[float, float] = (1.0, 1.5),
    overhead: tuple[float, float] | None = None,
    kinds: Sequence[str] | None = None,
    filled: bool = True,
    counts: bool = False,
    fano: float = 1.0,
    pattern: str = "flat",
    slots_per_day: int = 24,
    machines: str = "pai-2020",
    requests: str = "gpu-2023",
) -> AllocationInstance:
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
    seed
        Decides every draw; >= 0.
    slots, ports, servers
        T >= 0, \|L| >= 1 and \|R| >= 1.
    density
        Mean number of ports per server, sum_r \|L_r| / \|R|: the graph has round(density \|R|) edges, drawn
        such that every port, then every server has one as far as there are enough.
    arrival_probability
        rho, the probability that a port yields a job in a slot; with a pattern, in an hour of average rate.
    contention
        Multiplies all requirements a.
    utility
        One family, "mix" (a family per server and kind, all equally likely), or weights by family.
    alpha, overhead
        (smallest, largest) utility scale and overhead beta; uniform in between.
    kinds
        Device kinds, of CPU (in 8 cores), MEM (64 GB), GPU (cards), NPU, TPU, FPGA.
    filled
        Off: only kinds that are real in the traces (CPU, MEM, GPU).
    counts, fano
        Whether several jobs may arrive at a port at once, and the variance / mean of their number (1:
        Poisson).
    pattern, slots_per_day
        "flat": plain Bernoulli(rho). Or the source of a daily rhythm that the intensity -ln(1 - rho) follows:
        "pai-2020", "google-2011", "gpu-2023 requests", "v2018 requests".
    machines, requests
        Sources of machine types ("pai-2020", "gpu-2023") and request classes ("gpu-2023", "v2018",
        "dlrm-2025") in the profile.

    Raises
    ------
    InputError
        Naming the argument and its value.
    """
    preset = SIZES[choose(size, SIZES, "size")]
    seed = whole("seed", seed, 0)
    L = whole("ports", preset.ports if ports is None else ports, 1)
    R = whole("servers", preset.servers if servers is None else servers, 1)
    T = whole("slots", preset.slots if slots is None else slots, 0)
    mean_ports = real("density", min(preset.density, L) if density is None else density, 0.0, L)
    factor = real("contention", preset.contention if contention is None else contention, 0.0, LARGEST)
    names = draw.kinds(preset.kinds if kinds is None else kinds, filled)
    rho = real("arrival_probability", arrival_probability, 0.0, 1.0)
    counts = truth("counts", counts)
    if counts and rho == 1.0:
        raise InputError("arrival_probability: 1 leaves the number of jobs open; counts need less than 1")
    rate = _rate(pattern, whole("slots_per_day", slots_per_day, 1), T)
    spread = real("fano", fano, 1.0)

    types = drawn(draw.stream(seed, "machines"), profile.machine_types(machines), R)
    asked = draw.classes(draw.stream(seed, "requests"), profile.request_classes(requests), L)
    return assemble(
        seed,
        types,
        asked,
        names,
        allowed=np.ones((L, R), dtype=bool),
        density=mean_ports,
        contention=factor,
        utility=utility,
        alpha=alpha,
        overhead=preset.overhead if overhead is None else overhead,
        arrivals=draw.arrivals(draw.stream(seed, "arrivals"), (T, L), rho, rate, counts=counts, fano=spread),
        origin=_origin(size, seed, names, machines, requests, rho, pattern, spread if counts else None),
    )


def assemble(
    seed: int,
    types: Sequence[MachineType],
    asked: Sequence[RequestClass],
    names: tuple[str, ...],
    *,
    allowed: np.ndarray,
    density: float,
    contention: float,
    utility: Any,
    alpha: Any,
    overhead: Any,
    arrivals: np.ndarray,
    origin: Origin,
) -> AllocationInstance:
    """Put an instance together from machine types, request classes and arrivals; the rest is drawn here."""
    shape = (len(types), len(names))
    low, high = interval("alpha", alpha)
    least, most = interval("overhead", overhead, 1.0)
    fill = draw.stream(seed, "filled demand")
    return AllocationInstance(
        edges=draw.edges(draw.stream(seed, "graph"), allowed, round(density * len(types))),
        demand=contention * draw.demand(fill, asked, names),
        capacity=draw.capacity(draw.stream(seed, "filled capacity"), types, names),
        overhead=draw.stream(seed, "overhead").uniform(least, most, len(names)),
        utility_kind=draw.utilities(draw.stream(seed, "utility"), utility, shape),
        alpha=draw.stream(seed, "alpha").uniform(low, high, shape),
        arrivals=arrivals,
        names=Names(
            tuple(f"{c.cpu:.3g} cores, {c.memory:.3g} GB, {c.gpu:g} cards" for c in asked),
            tuple(f"{t.name}: {t.cpu:g} cores, {t.gpu:g} cards" for t in types),
            names,
        ),
        origin=origin,
    )


def _rate(pattern: str, slots_per_day: int, slots: int) -> np.ndarray:
    """Return the relative arrival rate of each slot, shape (T,)."""
    if pattern == "flat":
        return np.ones(slots)
    shape = profile.by_hour(pattern)
    return shape[np.arange(slots) % slots_per_day * 24 // slots_per_day]


def _origin(
    size: str,
    seed: int,
    names: Sequence[str],
    machines: str,
    requests: str,
    rho: float,
    pattern: str,
    fano: float | None,
) -> Origin:
    """Say what is real and what is drawn."""
    facts = profile.load()
    rhythm = "" if pattern == "flat" else f", daily rhythm of {facts['arrivals'][pattern]['source']}"
    number = "" if fano is None else f", several at once (variance / mean {fano:g})"
    return Origin(
        f"synthetic ({size}, seed {seed})",
        real=real_columns(
            names,
            f"types of {facts['machines'][machines]['source']} drawn by share",
            f"classes of {facts['requests'][requests]['source']} drawn by share",
        ),
        filled=(
            *filled_columns(names),
            "edges and utility and alpha and overhead: drawn",
            f"arrivals: Bernoulli({rho:g}) per port and slot{rhythm}{number}",
        ),
    )


def real_columns(names: Sequence[str], machines: str, requests: str) -> tuple[str, ...]:
    """Describe the columns of the real kinds."""
    units = "/".join(f"{name} ({UNITS[name][1]})" for name in names if name in UNITS)
    return (f"capacity of {units}: {machines}", f"demand of {units}: {requests}") if units else ()


def filled_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Describe the columns of the kinds that no trace has."""
    return tuple(
        f"{name} ({draw.FILLED[name].how}; demand uniform on 0 to {draw.FILLED[name].tenths} tenths)"
        for name in names
        if name in draw.FILLED
    )
