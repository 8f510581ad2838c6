"""Seeded draws that generators and traces share: graphs, utilities, arrivals, and the kinds no trace has.

Every quantity has its own stream of random numbers: changing one argument changes only what it is about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import InputError
from ..draw import choose, choose_some, pair, real, streams, truth
from ..sources import UNITS, MachineType, RequestClass, amount, shares
from . import utility

stream = streams(
    *("graph", "machines", "requests", "filled capacity", "filled demand"),
    *("utility", "alpha", "overhead", "arrivals", "split", "tasks"),
)


@dataclass(frozen=True)
class Filling:
    """How a kind that no trace has is filled: choices and their weights of c, and the most tenths in a.

    A machine gets one of the ``capacities``; a request asks for 0 to ``tenths`` tenths of a device.
    """

    capacities: tuple[int, ...]
    weights: tuple[float, ...]
    tenths: int
    how: str


FILLED = {
    "NPU": Filling(tuple(range(9)), (1.0,) * 9, 5, "capacity uniform on 0 to 8"),
    "TPU": Filling(
        (1, 2, 4, 8), (2.1, 0.4, 6.7, 4.7), 5, "capacity from the published slices of up to 8 chips"
    ),
    "FPGA": Filling(tuple(range(5)), (1.0,) * 5, 3, "capacity uniform on 0 to 4"),
}
KINDS = (*UNITS, *FILLED)
RANGES = {"CPU": (1, 128), "MEM": (2, 512), "GPU": (0, 64), "NPU": (0, 8), "TPU": (0, 8), "FPGA": (0, 4)}
"""What the public code of the paper draws capacities and, before contention, requirements from."""


def devices(units: tuple[float, float]) -> dict[str, tuple[float, str]]:
    """Return size and description of one device of each real kind, from cores per CPU and GB per MEM."""
    cores, memory = pair("units", units)
    cores, memory = real("units[0]", cores, 1e-3, 1e6), real("units[1]", memory, 1e-3, 1e6)
    return UNITS | {"CPU": (cores, f"{cores:g} core{'s' * (cores != 1)}"), "MEM": (memory, f"{memory:g} GB")}


def kinds(names: Sequence[str], filled: bool) -> tuple[str, ...]:
    """Return the device kinds to use, without those that no trace has if ``filled`` is off."""
    names, filled = choose_some("kinds", names, KINDS), truth("filled", filled)
    chosen = tuple(name for name in names if filled or name not in FILLED)
    if not chosen:
        raise InputError(f"kinds: {list(names)!r} leaves no kind of device")
    return chosen


def edges(rng: np.random.Generator, allowed: np.ndarray, count: int) -> np.ndarray:
    """Draw ``count`` edges among the allowed (port, server) pairs, or all of those if there are fewer.

    Pairs are ranked, and the first ones taken, so that a larger count only adds edges. First comes one pair
    per port, on servers that have none yet where possible; then one pair per server still without; then the
    rest, each in random order. With all pairs allowed, min(count, L) ports and min(count, R) servers have an
    edge: all of them if ``count`` is at least both numbers. The same numbers are drawn whatever the count.
    """
    ports, servers = allowed.shape
    uniforms = np.where(allowed, rng.random(allowed.shape), np.inf)
    rank = uniforms + 2.0  # the covering pairs are moved before all others
    has_port = np.zeros(servers, dtype=bool)
    for place, port in enumerate(np.argsort(rng.random(ports)).tolist()):
        server = int(np.argmin(uniforms[port] + has_port))
        if allowed[port, server]:
            has_port[server] = True
            rank[port, server] = place / ports
    for server in np.flatnonzero(~has_port).tolist():
        port = int(np.argmin(uniforms[:, server]))
        rank[port, server] = 1.0 + uniforms[port, server]
    order = np.argsort(rank, axis=None, kind="stable")[: min(count, int(allowed.sum()))]
    return np.stack(np.unravel_index(order, allowed.shape), axis=1)


def classes(rng: np.random.Generator, known: Sequence[RequestClass], ports: int) -> list[RequestClass]:
    """Draw a class for each port by its share, none twice before all have been drawn once."""
    chosen: list[int] = []
    while len(chosen) < ports:
        chosen += np.argsort(rng.exponential(size=len(known)) / shares(known), kind="stable").tolist()
    return [known[i] for i in chosen[:ports]]


def capacity(
    rng: np.random.Generator,
    types: Sequence[MachineType],
    names: Sequence[str],
    units: Mapping[str, tuple[float, str]],
) -> np.ndarray:
    """Return c, shape (R, K): the real kinds in their units from the machine types, the others filled."""
    result = np.empty((len(types), len(names)))
    spare = {name: rng.random(len(types)) for name in FILLED}
    for k, name in enumerate(names):
        if name in FILLED:
            fill = FILLED[name]
            share = np.cumsum(fill.weights) / sum(fill.weights)
            sampled = np.searchsorted(share, spare[name], side="right")
            result[:, k] = np.array(fill.capacities)[np.minimum(sampled, len(share) - 1)]
        else:
            result[:, k] = [amount(item, name) / units[name][0] for item in types]
    return result


def demand(
    rng: np.random.Generator,
    known: Sequence[RequestClass],
    names: Sequence[str],
    units: Mapping[str, tuple[float, str]],
) -> np.ndarray:
    """Return a at contention 1, shape (L, K): the real kinds from the request classes, the others filled."""
    result = np.empty((len(known), len(names)))
    spare = {name: rng.random(len(known)) for name in FILLED}
    for k, name in enumerate(names):
        if name in FILLED:
            result[:, k] = np.floor(spare[name] * (FILLED[name].tenths + 1)) / 10
        else:
            result[:, k] = [amount(item, name) / units[name][0] for item in known]
    return result


def uniform(
    rng: np.random.Generator,
    count: int,
    names: Sequence[str],
    units: Mapping[str, tuple[float, str]],
    *,
    whole: bool,
) -> np.ndarray:
    """Return amounts uniform on :data:`RANGES`, shape (count, K), in whole cores, GB, cards or in parts."""
    spare = {name: rng.random(count) for name in RANGES}
    result = np.empty((count, len(names)))
    for k, name in enumerate(names):
        low, high = RANGES[name]
        found = low + spare[name] * (high - low + whole)
        result[:, k] = (np.floor(found) if whole else found) / units.get(name, (1.0, ""))[0]
    return result


def utilities(rng: np.random.Generator, wanted: Any, shape: tuple[int, int]) -> np.ndarray:
    """Draw the name of the utility family of each (server, kind).

    ``wanted`` is the name of one family, "mix" for all four with equal chances, or a mapping from names to
    weights.
    """
    weights = wanted
    if isinstance(wanted, str):
        choose(wanted, (*utility.KINDS, "mix"), "utility")
        weights = dict.fromkeys(utility.KINDS if wanted == "mix" else [wanted], 1.0)
    if not isinstance(weights, Mapping):
        raise InputError(f"utility: {wanted!r} is neither a name nor a mapping from names to weights")
    for name, weight in weights.items():
        choose(name, utility.KINDS, "utility")
        real(f"utility.{name}", weight, 0.0)
    weight = np.array([float(weights.get(name, 0.0)) for name in utility.KINDS])
    if weight.sum() == 0:
        raise InputError(f"utility: {wanted!r} gives no family a positive weight")
    share = np.cumsum(weight) / weight.sum()
    return np.array(utility.KINDS)[np.searchsorted(share, rng.random(shape), side="right")]


def arrivals(
    rng: np.random.Generator,
    shape: tuple[int, int],
    probability: float,
    rate: np.ndarray,
    *,
    counts: bool = False,
    fano: float = 1.0,
) -> np.ndarray:
    """Draw the arrivals x[slot, port] from one uniform number each.

    A port yields at least one job in slot t with probability 1 - (1 - probability)^rate[t]: exactly
    ``probability`` where the rate is one. Without ``counts`` that is all: x is 0 or 1. With ``counts`` x is
    the number of jobs, Poisson if ``fano`` is 1, else negative binomial with that variance-to-mean ratio. All
    of them agree on the slots with x > 0; more probability only adds jobs; more slots only add rows.

    ``probability``, below 1 with ``counts``, is that of at least one job per port and slot at rate one;
    ``rate`` has shape (T,) and a mean of about one; ``fano`` >= 1 is the variance / mean of the counts.
    """
    uniforms = rng.random(shape)
    none = np.power(1.0 - probability, rate)[:, None]  # probability of no job
    tail = 1.0 - none  # probability of more than j jobs, here j = 0
    x = (uniforms < tail).astype(np.int64)
    if not counts:
        return x
    scale = 1.0 if fano == 1.0 else (fano - 1.0) / math.log(fano)
    mean = -math.log1p(-probability) * scale * rate[:, None]
    chance, j = none, 0
    while tail.max(initial=0.0) > 1e-12:
        j += 1
        chance = chance * (mean + (j - 1) * (fano - 1.0)) / (j * fano)
        tail = tail - chance
        x += uniforms < tail
    return x
