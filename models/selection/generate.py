"""Synthetic instances of the paper's sizes (Sec. 4, Table 3); nothing in them stems from a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy as np

from ..base import InputError, Origin
from ..draw import choose, given, real, streams, takes, whole, whole_interval
from .channels import LARGEST
from .instance import SelectionInstance
from .noise import NOISES, clipped_mean

stream = streams(
    *("graph", "demand", "utility", "cost", "arrivals", "path"),
    *("machines", "requests", "split", "thinning"),
)
MEAN = (0.1, 1.0)
"""Range of mu, the mean utility of a channel before its cost and before clipping (Table 3)."""
SPREAD = 0.5
"""Standard deviation of the utility of a channel relative to mu (Table 3)."""
COST = (0.5, 0.1)
"""Mean and standard deviation of the supply cost f_k of a kind of device (Table 3)."""


@dataclass(frozen=True)
class Size:
    """Default parameters of a named size."""

    ports: int
    servers: int
    kinds: int
    density: float
    capacity: int
    slots: int


SIZES = {
    "tiny": Size(3, 4, 2, 0.5, 4, 12),
    "default": Size(8, 40, 3, 0.1, 12, 2000),  # Table 3
    "large": Size(8, 40, 3, 0.1, 24, 8000),  # the same graph, with the horizon of Sec. 4.1
}


class DrawnOptions(TypedDict, total=False):
    """Options of both :func:`generate` and :func:`.trace.from_trace`, with their defaults."""

    ports: Annotated[int | None, None, "Number of ports, >= 1."]
    servers: Annotated[int | None, None, "Number of servers, >= 1."]
    density: Annotated[float | None, None, "Probability that an allowed (port, server) pair is a channel."]
    noise: Annotated[str, "clipped-normal", '"clipped-normal", "bernoulli" or "none", of the same means.']
    cost_scale: Annotated[float, 0.1]


class GenerateOptions(DrawnOptions, total=False):
    """Options of :func:`generate` besides size and seed, with their defaults."""

    slots: Annotated[int | None, None, "T, the number of slots, >= 0."]
    capacity: Annotated[int | Sequence[int] | None, None]
    arrival_probability: Annotated[float, 0.9, "rho, the probability that a port yields a job in a slot."]
    demand: Annotated[tuple[int, int], (1, 2), "(smallest, largest) devices of a kind that a channel takes."]
    kinds: Annotated[int | None, None]


@takes(GenerateOptions)
def generate(size: str = "default", seed: int = 0, **options: Unpack[GenerateOptions]) -> SelectionInstance:
    r"""Generate a synthetic instance.

    Every quantity has a random stream of its own. More density only adds channels and leaves demand, cost
    and mean of the others as they are; a larger capacity or another probability changes nothing else; more
    probability only adds jobs; the first t slots, sample path included, do not depend on T.

    The utility of a channel before its cost is Z ~ N(mu, (mu/2)^2) with mu ~ U(0.1, 1), and the supply cost
    f_k of each kind it takes is drawn from N(0.5, 0.1^2), no less than 0. Its net utility in a slot, (5), is
    Z less ``cost_scale`` times the sum of its f_k, clipped to [0, 1].

    Parameters
    ----------
    size
        "tiny" (3 ports, 4 servers, about 6 channels, 2 kinds of devices, 12 slots: small enough to
        enumerate), "default" (Table 3 with capacity 12) or "large" (the same graph with capacity 24 over 8000
        slots); it sets what is not given otherwise.
    capacity
        c, whole: one number for all kinds of devices, or one for each. 2 is the paper's, under which at most
        two channels are on at once.
    cost_scale
        Multiplies all supply costs. At 1, the paper's, the mean of Z less the costs is negative for nearly
        every channel, and little is left after clipping.
    kinds
        Number K of kinds of devices, >= 1; more of them leave the demands for the first ones as they are.
    """
    plan = planned(size, seed, options)
    seed, (L, R) = plan.seed, plan.shape
    T = whole("slots", given(options["slots"], plan.preset.slots), 0)
    K = whole("kinds", given(options["kinds"], plan.preset.kinds), 1)
    c = _capacity(given(options["capacity"], plan.preset.capacity), K)
    rho = real("arrival_probability", options["arrival_probability"], 0.0, 1.0)
    low, high = whole_interval("demand", options["demand"], LARGEST)
    uniforms = stream(seed, "demand").random((K, L, R))
    filled = (
        f"edges: each (port, server) pair with probability {plan.density:g}",
        f"demand: uniform on {low} to {high}",
        "capacity: given",
        f"arrivals: Bernoulli({rho:g}) per port and slot",
    )
    return assemble(
        plan,
        channels=draw_channels(plan, np.ones((L, R), dtype=bool)),
        demand=(low + np.floor(uniforms * (high - low + 1))).transpose(1, 2, 0),
        capacity=c,
        arrivals=stream(seed, "arrivals").random((T, L)) < rho,
        origin=Origin(f"synthetic ({size}, seed {seed})", filled=filled),
    )


class Plan(NamedTuple):
    """:class:`DrawnOptions`, checked; ``shape`` is the numbers of ports and servers."""

    seed: int
    preset: Size
    shape: tuple[int, int]
    density: float
    options: DrawnOptions


def planned(size: str, seed: int, o: DrawnOptions) -> Plan:
    """Check options, and take what is not given from the size."""
    preset = SIZES[choose(size, SIZES, "size")]
    seed = whole("seed", seed, 0)
    ports = whole("ports", given(o["ports"], preset.ports), 1)
    servers = whole("servers", given(o["servers"], preset.servers), 1)
    density = real("density", given(o["density"], preset.density), 0.0, 1.0)
    return Plan(seed, preset, (ports, servers), density, o)


def draw_channels(plan: Plan, allowed: np.ndarray) -> np.ndarray:
    """Return whether a (port, server) pair is a channel: if allowed, and its number is below the density."""
    return allowed & (stream(plan.seed, "graph").random(allowed.shape) < plan.density)


def assemble(
    plan: Plan,
    *,
    channels: np.ndarray,
    demand: np.ndarray,
    capacity: np.ndarray,
    arrivals: np.ndarray,
    origin: Origin,
) -> SelectionInstance:
    """Put an instance together and draw its utilities, costs and the seed of its sample path.

    ``channels`` says whether a (port, server) pair is a channel, shape (L, R), and ``demand`` is a of every
    pair, channel or not, shape (L, R, K); kinds that a channel does not take cost nothing. The plan's
    ``noise`` and ``cost_scale`` are checked here. To the origin of what is given that of what is drawn is
    added.
    """
    seed, o = plan.seed, plan.options
    kind, factor = choose(o["noise"], NOISES, "noise"), real("cost_scale", o["cost_scale"], 0.0, 1e6)
    L, R, K = demand.shape
    mu = stream(seed, "utility").uniform(*MEAN, (L, R))[channels]
    price = np.maximum(stream(seed, "cost").normal(*COST, (K, L, R)), 0.0).transpose(1, 2, 0)
    cost = factor * np.where(demand > 0, price, 0.0).sum(axis=2)[channels]
    scale = SPREAD * mu
    return SelectionInstance(
        edges=np.argwhere(channels),
        demand=demand[channels],
        capacity=capacity,
        mean=clipped_mean(mu - cost, scale),
        noise=kind,
        scale=scale if kind == "clipped-normal" else None,
        arrivals=arrivals.astype(np.int64),
        seed=int(stream(seed, "path").integers(2**53)),
        cost=cost,
        ports=L,
        origin=replace(
            origin,
            filled=(
                *origin.filled,
                f"cost: {factor:g} times normal, mean {COST[0]:g} and deviation {COST[1]:g} a kind",
                f"mean: of a normal utility with mu uniform on {MEAN[0]:g} to {MEAN[1]:g} less cost, clipped",
                f"sample path: {kind} noise around the mean",
            ),
        ),
    )


def _capacity(value: Any, kinds: int) -> np.ndarray:
    """Return c, shape (K,), from one number for all kinds or one for each."""
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) != kinds:
            raise InputError(f"capacity: {value!r} has not one number for each of the {kinds} kinds")
        return np.array([whole(f"capacity[{k}]", c, 0, LARGEST) for k, c in enumerate(value)])
    return np.full(kinds, whole("capacity", value, 0, LARGEST))
