"""Instances from traces: request classes as ports, machines as servers, requests per slot as arrivals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import sources
from ..base import InputError, Origin
from ..clock import Clock
from ..clock import arrivals as count_arrivals
from ..draw import choose, choose_some, real, truth, whole
from ..sources import UNITS, Folder, RequestClass
from .channels import LARGEST
from .generate import SIZES, assemble, draw_channels, stream
from .instance import SelectionInstance

WITHOUT_GPU = ("v2018",)
"""Sources of requests that say nothing of GPUs; theirs are drawn from ``PODS``."""

PODS = "gpu-2023"


def from_trace(
    folder: str | os.PathLike[str],
    *,
    machines: str = "pai-2020",
    requests: str = "v2018",
    arrivals: str | None = None,
    size: str = "default",
    ports: int | None = None,
    servers: int | None = None,
    slots: int | None = None,
    slot_seconds: float = 300.0,
    start: float | None = None,
    exact: bool = False,
    constraints: bool = True,
    density: float | None = None,
    levels: int = 2,
    tightness: float = 0.25,
    thin: float = 1.0,
    seed: int = 0,
    noise: str = "clipped-normal",
    cost_scale: float = 0.1,
    kinds: Sequence[str] = tuple(UNITS),
) -> SelectionInstance:
    r"""Make an instance from a folder of traces; ``origin`` lists what is real and what is filled.

    A port stands for one of the commonest request classes, and all its channels take the same: of each kind
    the request of its class relative to the largest of all ports, as a whole number of ``levels`` steps,
    rounded up, so 0 only where the class asks for nothing. The capacities are in proportion to the devices
    of the drawn machines (of 8 cores, 64 GB or a card each), and scaled: a whole cluster would never be short
    of devices for a few dozen channels.

    Parameters
    ----------
    folder
        Folder of traces in the layout that ``models/sources.py`` names; nothing else is read.
    machines
        Source of the servers: "pai-2020", "gpu-2023" or "spot-2026" (which has no memory: leave MEM out).
    requests
        Source of the ports: "v2018" (the paper's, whose GPUs are drawn from the pods of "gpu-2023"),
        "gpu-2023" or "dlrm-2025".
    arrivals
        Source of the arrivals. By default that of the requests: a port has a job in a slot if there is a
        request of its class. Or another of those, "pai-2020", "pai-tasks-2020" or "google-2011": their total
        is split over the ports at random, by the shares of the classes. More than one counts as one.
    size
        "tiny", "default" or "large": sets ports, servers, density and the most slots, as for generated
        instances.
    ports, servers
        \|L| and \|R|.
    slots, slot_seconds
        T and the length of a slot. By default all whole slots the trace holds, and at most those of the size.
    start
        Where slot 0 begins, in seconds of the source's clock. By default where 5 % of its requests are past
        (the clocks begin with stragglers), or its first bin.
    exact
        Take every machine type as often as its share says, instead of drawing the servers by the shares.
    constraints
        Let requests for GPUs use only servers with GPUs, and of the models they name (``gpu_spec``).
    density
        Probability that a (port, server) pair that the constraints allow is a channel.
    levels
        Largest demand of a channel for a kind, >= 1.
    tightness
        Mean over the kinds of c_k / sum_e a_ek, 0 to 1: about the share of all channels that can be on at
        once. No capacity is below 1 unless no machine has the kind, nor above what all channels together ask
        for.
    thin
        rho, the probability with which an arrival is kept.
    seed, noise, cost_scale
        As in :func:`.generate.generate`.
    kinds
        Names of the kinds of devices, of CPU, MEM and GPU.

    Raises
    ------
    InputError
        For an argument out of range, or a file that is missing, damaged, malformed or too short.
    """
    preset = SIZES[choose(size, SIZES, "size")]
    seed = whole("seed", seed, 0)
    L = whole("ports", preset.ports if ports is None else ports, 1)
    R = whole("servers", preset.servers if servers is None else servers, 1)
    share = real("density", preset.density if density is None else density, 0.0, 1.0)
    steps = whole("levels", levels, 1, LARGEST)
    tight = real("tightness", tightness, 0.0, 1.0)
    keep = real("thin", thin, 0.0, 1.0)
    names = choose_some("kinds", kinds, UNITS)
    if not names:
        raise InputError("kinds: an empty list leaves no kind of device")
    for name, flag in (("exact", exact), ("constraints", constraints)):
        truth(name, flag)
    clock = Clock(
        real("slot_seconds", slot_seconds, 1.0),
        None if start is None else real("start", start, 0.0),
        None if slots is None else whole("slots", slots, 0),
        preset.slots,
    )
    types = sources.servers(stream(seed, "machines"), sources.machine_types(folder, machines), R, exact)
    held = np.array([sum(sources.amount(item, name) for item in types) / UNITS[name][0] for name in names])
    found = sources.requests(folder, requests, constraints=constraints)
    asked = sources.commonest(found, L, requests)
    covered = sources.shares(found.classes)[:L].sum()
    lent = "GPU" in names and requests in WITHOUT_GPU
    if lent:
        asked = _with_gpus(seed, folder, asked)
    wanted = np.array([[sources.amount(item, name) for name in names] for item in asked])
    level = _levels(wanted, steps)
    allowed = np.array([[not constraints or sources.may_run(c, t) for t in types] for c in asked])
    channels = draw_channels(seed, allowed, share)
    counts, arrived, changes = count_arrivals(
        stream(seed, "split"), folder, found, L, clock, requests=requests, source=arrivals
    )
    kept = stream(seed, "thinning").random(counts.shape) < keep
    return assemble(
        seed,
        channels=channels,
        demand=np.broadcast_to(level[:, None, :], (*channels.shape, len(names))),
        capacity=_capacity(held, channels.sum(axis=1) @ level, tight),
        arrivals=(counts > 0) & kept,
        noise=noise,
        cost_scale=cost_scale,
        origin=Origin(
            f"trace ({machines} machines, {requests} requests, seed {seed})",
            real=(
                *_real_columns(names, machines, requests, exact, f"{L} commonest classes ({covered:.0%})"),
                arrived,
                *(("which GPU models a class may use",) if any(c.allowed for c in asked) else ()),
            ),
            filled=(
                f"edges: each allowed pair with probability {share:g}",
                *(
                    (f"demand of GPU: of pods of {sources.REQUESTS[PODS].file} drawn by share",)
                    if lent
                    else ()
                ),
                f"demand: in {steps} steps up to the largest of the ports",
                f"capacity: scaled to {tight:g} of what all channels take, in the mean of the kinds",
                *(f"arrivals: {change}" for change in changes),
                "arrivals: at most one per port and slot",
                *((f"arrivals: each kept with probability {keep:g}",) if keep < 1.0 else ()),
            ),
        ),
    )


def _real_columns(
    names: Sequence[str], machines: str, requests: str, exact: bool, which: str
) -> tuple[str, ...]:
    """Describe what is real in capacity and demand."""
    how = "in proportion" if exact else "drawn by share"
    own = [name for name in names if not (name == "GPU" and requests in WITHOUT_GPU)]
    proportions = " : ".join(f"{name} ({UNITS[name][1]})" for name in names)
    return (
        f"capacity in the proportions of {proportions}: types of {sources.MACHINES[machines].file} {how}",
        *((f"demand of {'/'.join(own)}: {which} of {sources.REQUESTS[requests].file}",) if own else ()),
    )


def _with_gpus(seed: int, folder: Folder, asked: Sequence[RequestClass]) -> tuple[RequestClass, ...]:
    """Give each class the cards of a pod drawn by its share."""
    pods = sources.requests(folder, PODS).classes
    lent = sources.drawn(stream(seed, "requests"), pods, len(asked))
    return tuple(replace(item, gpu=pod.gpu) for item, pod in zip(asked, lent, strict=True))


def _levels(wanted: np.ndarray, steps: int) -> np.ndarray:
    """Return the demand of each port, shape (L, K): of each kind 0 to ``steps``, the largest of the ports."""
    most = wanted.max(axis=0)
    exact = steps * wanted / np.where(most > 0, most, 1.0)
    result: np.ndarray = np.ceil(exact - 1e-9).astype(np.int64)
    return result


def _capacity(held: np.ndarray, needed: np.ndarray, tightness: float) -> np.ndarray:
    """Scale what the machines hold to c, shape (K,), such that c / needed is ``tightness`` in the mean."""
    both = (held > 0) & (needed > 0)
    factor = tightness / (held[both] / needed[both]).mean() if both.any() else 0.0
    c = np.clip(np.rint(factor * held), 1, np.maximum(needed, 1))
    result: np.ndarray = np.where(held > 0, c, 0).astype(np.int64)
    return result
