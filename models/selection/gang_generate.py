"""Gang instances: synthetic ones, and those made from traces by giving the jobs tasks (Sec. 3.4, Sec. 4)."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import Origin
from ..draw import choose, real, streams, whole, whole_interval
from .channels import LARGEST
from .gang import SelectionGangInstance
from .gang_channels import MOST_DEVICES
from .instance import SelectionInstance
from .noise import NOISES, clipped_mean
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


def generate(
    size: str = "default",
    seed: int = 0,
    *,
    slots: int | None = None,
    ports: int | None = None,
    servers: int | None = None,
    kinds: int | None = None,
    tasks: tuple[int, int] | None = None,
    reach: int | None = None,
    demand: tuple[int, int] = (1, 2),
    capacity: tuple[int, int] | None = None,
    minimum: int | None = None,
    arrival_probability: float = 0.9,
    noise: str = "clipped-normal",
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
    seed
        Decides every draw; >= 0.
    slots, ports, servers, kinds
        T >= 0, and \|L|, \|R| and K, each >= 1.
    tasks
        (fewest, most) tasks of a port, uniform in between.
    reach
        Servers that a port reaches, all its tasks alike; all servers if there are fewer.
    demand, capacity
        (smallest, largest) devices of a kind that a task takes and that a server has; whole and uniform in
        between. Servers of the synthetic sizes hold a few tasks each.
    minimum
        m_l of every port, or by default uniform on 1 to its number of tasks (0 if it has none).
    arrival_probability
        rho, the probability that a port yields a job in a slot.
    noise
        "clipped-normal"; or "bernoulli" or "none", with the same means.

    Raises
    ------
    InputError
        Naming the argument and its value.
    """
    preset = SIZES[choose(size, SIZES, "size")]
    seed = whole("seed", seed, 0)
    L = whole("ports", preset.ports if ports is None else ports, 1)
    R = whole("servers", preset.servers if servers is None else servers, 1)
    K = whole("kinds", preset.kinds if kinds is None else kinds, 1)
    T = whole("slots", preset.slots if slots is None else slots, 0)
    few, many = whole_interval("tasks", preset.tasks if tasks is None else tasks, 1000)
    near = whole("reach", preset.reach if reach is None else reach, 0)
    low, high = whole_interval("demand", demand, MOST_DEVICES)
    least, most = whole_interval("capacity", preset.capacity if capacity is None else capacity, MOST_DEVICES)
    rho = real("arrival_probability", arrival_probability, 0.0, 1.0)
    owner = np.repeat(np.arange(L), stream(seed, "tasks").integers(few, many, L, endpoint=True))
    rank = stream(seed, "graph").random((L, R)).argsort(axis=1).argsort(axis=1)
    pairs = np.argwhere((rank < near)[owner])
    luck = stream(seed, "capacity").random((R, K))
    return SelectionGangInstance(
        channels=pairs,
        task_port=owner,
        demand=stream(seed, "demand").integers(low, high, (len(owner), K), endpoint=True),
        capacity=least + np.floor(luck * (most - least + 1)),
        minimum=_minimum(seed, owner, L, minimum),
        arrivals=(stream(seed, "arrivals").random((T, L)) < rho).astype(np.int64),
        ports=L,
        seed=int(stream(seed, "path").integers(2**53)),
        origin=Origin(
            f"synthetic ({size}, seed {seed})",
            filled=(
                f"channels: every task of a port on the same {min(near, R)} servers, drawn",
                f"demand: uniform on {low} to {high}",
                f"capacity: uniform on {least} to {most}",
                _minimum_words(minimum),
                f"arrivals: Bernoulli({rho:g}) per port and slot",
                *_utility_words(noise),
            ),
        ),
        **_utility(seed, len(pairs), noise),
    )


def _also_takes(
    base: Callable[..., SelectionInstance],
) -> Callable[[Callable[..., SelectionGangInstance]], Callable[..., SelectionGangInstance]]:
    """Say in the signature of a function that its ``**options`` are those of ``base``."""

    def tell(function: Callable[..., SelectionGangInstance]) -> Callable[..., SelectionGangInstance]:
        own = inspect.signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [p for p in inspect.signature(base).parameters.values() if p.name not in own.parameters]
        function.__signature__ = own.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
        return function

    return tell


@_also_takes(base_from_trace)
def from_trace(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    noise: str = "clipped-normal",
    tasks: tuple[int, int] = (2, 3),
    minimum: int | None = None,
    **options: Any,
) -> SelectionGangInstance:
    """Make an instance from a folder of traces, then give its jobs tasks; see :func:`split`.

    Parameters
    ----------
    folder, seed, noise, **options
        As for :func:`.trace.from_trace`.
    tasks, minimum
        As for :func:`generate`.

    Raises
    ------
    InputError
        As for :func:`.trace.from_trace`, or for tasks and minimum.
    """
    return split(base_from_trace(folder, seed=seed, noise=noise, **options), seed, tasks, minimum)


def split(
    base: SelectionInstance, seed: int, tasks: tuple[int, int] = (2, 3), minimum: int | None = None
) -> SelectionGangInstance:
    """Make a gang instance with the ports, servers, arrivals and noise of an instance without tasks.

    Each task of a port may run on every server that the port has a channel to, and takes what its cheapest
    channel takes, kind by kind. Every server has an even share of the cluster's devices, but no less than the
    largest task takes, so that each task fits somewhere. Means are drawn afresh.

    Parameters
    ----------
    base
        The instance without tasks.
    seed
        Decides number, minimum and utilities of the tasks.
    tasks, minimum
        As for :func:`generate`.

    Raises
    ------
    InputError
        For tasks or a minimum out of range.
    """
    few, many = whole_interval("tasks", tasks, 1000)
    s = base.setting
    owner = np.repeat(np.arange(s.ports), stream(seed, "tasks").integers(few, many, s.ports, endpoint=True))
    joined = np.zeros((s.ports, max(1, s.servers)), dtype=bool)
    joined[s.edges[:, 0], s.edges[:, 1]] = True
    wanted = np.full((s.ports, s.kinds), LARGEST)
    np.minimum.at(wanted, s.port, s.demand)
    wanted[~joined.any(axis=1)] = 0
    pairs = np.argwhere(joined[owner])
    even = np.maximum(s.capacity // joined.shape[1], wanted[owner].max(axis=0, initial=0))
    words = "demand: of each task the least of its port's channels"
    return SelectionGangInstance(
        channels=pairs,
        task_port=owner,
        demand=wanted[owner],
        capacity=np.broadcast_to(np.where(s.capacity > 0, even, 0), (joined.shape[1], s.kinds)),
        minimum=_minimum(seed, owner, s.ports, minimum),
        arrivals=base.arrivals,
        ports=s.ports,
        seed=base.seed,
        origin=Origin(
            f"gangs of {base.origin.source}",
            real=base.origin.real,
            filled=(
                *(
                    line
                    for line in base.origin.filled
                    if not line.startswith(("mean", "cost", "sample path"))
                ),
                f"tasks: {few} to {many} a port",
                words,
                "capacity: an even share of the cluster's for every server, at least the largest task",
                _minimum_words(minimum),
                *_utility_words(base.noise),
            ),
        ),
        **_utility(seed, len(pairs), base.noise),
    )


def _minimum(seed: int, owner: np.ndarray, ports: int, minimum: int | None) -> np.ndarray:
    """Return m_l of every port: as given, or uniform on 1 to its number of tasks."""
    if minimum is not None:
        return np.full(ports, whole("minimum", minimum, 0, LARGEST))
    count = np.bincount(owner, minlength=ports)
    luck = stream(seed, "minimum").random(ports)
    return np.minimum(1 + np.floor(luck * count), count)


def _minimum_words(minimum: int | None) -> str:
    return f"minimum: {'uniform on 1 to the number of tasks' if minimum is None else minimum}"


def _utility(seed: int, channels: int, noise: str) -> dict[str, Any]:
    """Draw the utilities of the channels."""
    kind = choose(noise, NOISES, "noise")
    mu = stream(seed, "utility").uniform(*MEAN, channels)
    return {
        "mean": clipped_mean(mu, 0.5 * mu),
        "noise": kind,
        "scale": 0.5 * mu if kind == "clipped-normal" else None,
    }


def _utility_words(noise: str) -> tuple[str, ...]:
    return (
        f"mean: of a normal utility with mu uniform on {MEAN[0]:g} to {MEAN[1]:g}, clipped",
        f"sample path: {noise} noise around the mean",
    )
