"""Gang instances: synthetic ones, and those made from traces by giving the jobs tasks (Sec. 3.4, Sec. 4)."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict, Unpack

import numpy as np

from ..base import Origin
from ..draw import choose, given, real, streams, takes, whole, whole_interval
from .channels import LARGEST
from .gang import SelectionGangInstance
from .gang_channels import MOST_DEVICES
from .instance import SelectionInstance
from .noise import NOISES, clipped_mean
from .trace import TraceOptions
from .trace import from_trace as base_from_trace

stream = streams("graph", "tasks", "demand", "capacity", "minimum", "utility", "arrivals", "path")

MEAN = (0.1, 1.0)
"""Range of mu, the mean utility of a channel before clipping (Table 3); its standard deviation is mu / 2."""


@dataclass(frozen=True)
class Size:
    """Default parameters of a named size."""

    ports: int
    servers: int
    kinds: int
    tasks: tuple[int, int]
    reach: int
    capacity: tuple[int, int]
    slots: int


SIZES = {
    "tiny": Size(2, 2, 1, (1, 2), 2, (1, 3), 12),
    "default": Size(8, 8, 3, (2, 3), 3, (2, 4), 400),
    "large": Size(16, 24, 3, (2, 4), 4, (2, 4), 1000),
}


class GenerateOptions(TypedDict, total=False):
    """Options of :func:`generate` besides size and seed, with their defaults."""

    slots: Annotated[int | None, None, "T, the number of slots, >= 0."]
    ports: Annotated[int | None, None, "Number of ports, >= 1."]
    servers: Annotated[int | None, None, "Number of servers, >= 1."]
    kinds: Annotated[int | None, None, "Number of kinds of devices, >= 1."]
    tasks: Annotated[tuple[int, int] | None, None, "(fewest, most) tasks of a port, uniform in between."]
    reach: Annotated[int | None, None]
    demand: Annotated[tuple[int, int], (1, 2)]
    capacity: Annotated[tuple[int, int] | None, None]
    minimum: Annotated[int | None, None]
    arrival_probability: Annotated[float, 0.9, "rho, the probability that a port yields a job in a slot."]
    noise: Annotated[str, "clipped-normal", '"clipped-normal", "bernoulli" or "none", of the same means.']


@takes(GenerateOptions)
def generate(
    size: str = "default", seed: int = 0, **options: Unpack[GenerateOptions]
) -> SelectionGangInstance:
    r"""Generate a synthetic instance.

    Every quantity has a random stream of its own: more arrival probability only adds jobs, other capacities
    change nothing else, and the first t slots, sample path included, do not depend on T. The utility of a
    channel in a slot is a normal variable with mean mu ~ U(0.1, 1) and deviation mu/2, clipped to [0, 1];
    supply costs are left out, as if they were part of mu.

    Parameters
    ----------
    size
        "tiny" (2 ports, 2 servers, 1 kind, at most 8 channels, 12 slots: small enough to enumerate),
        "default" (8 ports, 8 servers, 3 kinds, about 60 channels) or "large"; it sets what is not given
        otherwise.
    reach
        Servers that a port reaches, all its tasks alike; all servers if there are fewer.
    demand, capacity
        (smallest, largest) devices of a kind that a task takes and that a server has; whole and uniform in
        between. Servers of the synthetic sizes hold a few tasks each.
    minimum
        m_l of every port, or by default uniform on 1 to its number of tasks (0 if it has none).
    """
    preset = SIZES[choose(size, SIZES, "size")]
    seed = whole("seed", seed, 0)
    L = whole("ports", given(options["ports"], preset.ports), 1)
    R = whole("servers", given(options["servers"], preset.servers), 1)
    K = whole("kinds", given(options["kinds"], preset.kinds), 1)
    T = whole("slots", given(options["slots"], preset.slots), 0)
    owner, _ = _owners(seed, L, given(options["tasks"], preset.tasks))
    near = whole("reach", given(options["reach"], preset.reach), 0)
    low, high = whole_interval("demand", options["demand"], MOST_DEVICES)
    least, most = whole_interval("capacity", given(options["capacity"], preset.capacity), MOST_DEVICES)
    rho = real("arrival_probability", options["arrival_probability"], 0.0, 1.0)
    rank = stream(seed, "graph").random((L, R)).argsort(axis=1).argsort(axis=1)
    uniforms = stream(seed, "capacity").random((R, K))
    minimum, noise = options["minimum"], options["noise"]
    filled = (
        f"channels: every task of a port on the same {min(near, R)} servers, drawn",
        f"demand: uniform on {low} to {high}",
        f"capacity: uniform on {least} to {most}",
        _minimum_words(minimum),
        f"arrivals: Bernoulli({rho:g}) per port and slot",
    )
    return _instance(
        seed,
        owner,
        (rank < near)[owner],
        (minimum, noise),
        demand=stream(seed, "demand").integers(low, high, (len(owner), K), endpoint=True),
        capacity=least + np.floor(uniforms * (most - least + 1)),
        arrivals=(stream(seed, "arrivals").random((T, L)) < rho).astype(np.int64),
        path_seed=int(stream(seed, "path").integers(2**53)),
        origin=Origin(f"synthetic ({size}, seed {seed})", filled=filled),
    )


def _owners(seed: int, ports: int, tasks: tuple[int, int]) -> tuple[np.ndarray, str]:
    """Draw how many tasks each port has; return the port of each task, and what to say of it."""
    few, many = whole_interval("tasks", tasks, 1000)
    count = stream(seed, "tasks").integers(few, many, ports, endpoint=True)
    return np.repeat(np.arange(ports), count), f"tasks: {few} to {many} a port"


def _instance(
    seed: int,
    owner: np.ndarray,
    joined: np.ndarray,
    options: tuple[int | None, str],
    *,
    demand: np.ndarray,
    capacity: np.ndarray,
    arrivals: np.ndarray,
    path_seed: int,
    origin: Origin,
) -> SelectionGangInstance:
    """Put an instance together from which task may run on which server, and draw minimum and utilities.

    ``options`` are the minimum, if one is given, and the noise; what is drawn here is added to the origin.
    """
    minimum, noise = options
    pairs, ports = np.argwhere(joined), arrivals.shape[1]
    kind = choose(noise, NOISES, "noise")
    mu = stream(seed, "utility").uniform(*MEAN, len(pairs))
    words = (
        f"mean: of a normal utility with mu uniform on {MEAN[0]:g} to {MEAN[1]:g}, clipped",
        f"sample path: {kind} noise around the mean",
    )
    return SelectionGangInstance(
        channels=pairs,
        task_port=owner,
        demand=demand,
        capacity=capacity,
        minimum=_minimum(seed, owner, ports, minimum),
        mean=clipped_mean(mu, 0.5 * mu),
        noise=kind,
        scale=0.5 * mu if kind == "clipped-normal" else None,
        arrivals=arrivals,
        ports=ports,
        seed=path_seed,
        origin=replace(origin, filled=(*origin.filled, *words)),
    )


@takes(TraceOptions)
def from_trace(
    folder: str | os.PathLike[str],
    *,
    tasks: tuple[int, int] = (2, 3),
    minimum: int | None = None,
    **options: Unpack[TraceOptions],
) -> SelectionGangInstance:
    """Make an instance from a folder of traces, then give its jobs tasks; see :func:`split`.

    Parameters
    ----------
    folder, **options
        As for :func:`.trace.from_trace`.
    tasks, minimum
        As for :func:`generate`.

    Raises
    ------
    InputError
        As for :func:`.trace.from_trace`, or for tasks and minimum.
    """
    return split(base_from_trace(folder, **options), options["seed"], tasks, minimum)


def split(
    base: SelectionInstance, seed: int, tasks: tuple[int, int] = (2, 3), minimum: int | None = None
) -> SelectionGangInstance:
    """Make a gang instance with the ports, servers, arrivals and noise of an instance without tasks.

    Each task of a port may run on every server that the port has a channel to, and takes what its cheapest
    channel takes, kind by kind. Every server has an even share of the cluster's devices, but no less than the
    largest task takes, so that each task fits somewhere. Means are drawn afresh.

    Number, minimum and utilities of the tasks depend on the seed; ``tasks`` and ``minimum`` are as for
    :func:`generate`.
    """
    s = base.setting
    owner, words = _owners(seed, s.ports, tasks)
    joined = np.zeros((s.ports, max(1, s.servers)), dtype=bool)
    joined[s.edges[:, 0], s.edges[:, 1]] = True
    wanted = np.full((s.ports, s.kinds), LARGEST)
    np.minimum.at(wanted, s.port, s.demand)
    wanted[~joined.any(axis=1)] = 0
    even = np.maximum(s.capacity // joined.shape[1], wanted[owner].max(axis=0, initial=0))
    kept = (line for line in base.origin.filled if not line.startswith(("mean", "cost", "sample path")))
    filled = (
        *kept,
        words,
        "demand: of each task the least of its port's channels",
        "capacity: an even share of the cluster's for every server, at least the largest task",
        _minimum_words(minimum),
    )
    return _instance(
        seed,
        owner,
        joined[owner],
        (minimum, base.noise),
        demand=wanted[owner],
        capacity=np.broadcast_to(np.where(s.capacity > 0, even, 0), (joined.shape[1], s.kinds)),
        arrivals=base.arrivals,
        path_seed=base.seed,
        origin=Origin(f"gangs of {base.origin.source}", base.origin.real, filled),
    )


def _minimum(seed: int, owner: np.ndarray, ports: int, minimum: int | None) -> np.ndarray:
    """Return m_l of every port: as given, or uniform on 1 to its number of tasks."""
    if minimum is not None:
        return np.full(ports, whole("minimum", minimum, 0, LARGEST))
    count = np.bincount(owner, minlength=ports)
    uniforms = stream(seed, "minimum").random(ports)
    return np.minimum(1 + np.floor(uniforms * count), count)


def _minimum_words(minimum: int | None) -> str:
    return f"minimum: {'uniform on 1 to the number of tasks' if minimum is None else minimum}"
