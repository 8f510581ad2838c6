"""Instances from traces: request classes as ports, machines as servers, requests per slot as arrivals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Unpack

import numpy as np

from .. import ports, sources
from ..base import InputError, Origin
from ..draw import choose_some, real, takes, whole
from ..sources import UNITS, Folder, MachineType, RequestClass
from .channels import LARGEST
from .generate import DrawnOptions, assemble, draw_channels, planned, stream
from .instance import SelectionInstance

WITHOUT_GPU = ("v2018",)
"""Sources of requests that say nothing of GPUs; theirs are drawn from ``PODS``."""

PODS = "gpu-2023"


class TraceOptions(ports.TraceOptions, DrawnOptions, total=False):
    """Options of :func:`from_trace` besides the folder, with their defaults."""

    requests: Annotated[str, "v2018"]
    slot_seconds: Annotated[float, 300.0]
    levels: Annotated[int, 2, "Largest demand of a channel for a kind, >= 1."]
    tightness: Annotated[float, 0.25]
    kinds: Annotated[Sequence[str], tuple(UNITS)]


@takes(TraceOptions)
def from_trace(folder: str | os.PathLike[str], **options: Unpack[TraceOptions]) -> SelectionInstance:
    r"""Make an instance from a folder of traces; ``origin`` lists what is real and what is filled.

    A port stands for one of the commonest request classes, and all its channels take the same: of each kind
    the request of its class relative to the largest of all ports, as a whole number of ``levels`` steps,
    rounded up, so 0 only where the class asks for nothing. The capacities are in proportion to the devices
    of the drawn machines (of 8 cores, 64 GB or a card each), and scaled: a whole cluster would never be short
    of devices for a few dozen channels.

    Parameters
    ----------
    machines, slots, slot_seconds, start, constraints
        As for :func:`clairvoyant.models.allocation.trace.from_trace`.
    requests
        Source of the ports: "v2018" (the paper's, whose GPUs are drawn from the pods of "gpu-2023"),
        "gpu-2023" or "dlrm-2025".
    arrivals
        Source of the arrivals. By default that of the requests: a port has a job in a slot if there is a
        request of its class. Or another of those, "pai-2020", "pai-tasks-2020" or "google-2011": their total
        is split over the ports at random, by the shares of the classes. More than one counts as one.
    tightness
        Mean over the kinds of c_k / sum_e a_ek, 0 to 1: about the share of all channels that can be on at
        once. No capacity is below 1 unless no machine has the kind, nor above what all channels together ask
        for.
    cost_scale
        As in :func:`.generate.generate`.
    kinds
        Names of the kinds of devices, of CPU, MEM and GPU.
    """
    plan = planned(options["size"], options["seed"], options)
    steps = whole("levels", options["levels"], 1, LARGEST)
    tight = real("tightness", options["tightness"], 0.0, 1.0)
    keep = real("thin", options["thin"], 0.0, 1.0)
    names = _kinds(options["kinds"])
    slots, requests, seconds = plan.preset.slots, options["requests"], options["slot_seconds"]
    read = ports.read(folder, plan.shape, slots, stream, options, requests=requests, slot_seconds=seconds)
    without_gpus = "GPU" in names and requests in WITHOUT_GPU
    classes = _with_gpus(plan.seed, folder, read.requests) if without_gpus else read.requests
    level, totals = _levels(classes, names, steps), _totals(read.types, names)
    channels = draw_channels(plan, ports.allowed(read.types, classes, options["constraints"]))
    changes = [*read.changes, "at most one per port and slot"]
    changes += [f"each kept with probability {keep:g}"] if keep < 1.0 else []
    lent = (f"demand of GPU: of pods of {sources.REQUESTS[PODS].file} drawn by share",)
    kept = stream(plan.seed, "thinning").random(read.arrivals.shape) < keep
    return assemble(
        plan,
        channels=channels,
        demand=np.broadcast_to(level[:, None, :], (*channels.shape, len(names))),
        capacity=_capacity(totals, channels.sum(axis=1) @ level, tight),
        arrivals=(read.arrivals > 0) & kept,
        origin=Origin(
            f"trace ({options['machines']} machines, {requests} requests, seed {plan.seed})",
            real=(*_real_columns(names, read, plan.shape[0], without_gpus), *read.arrived),
            filled=(
                f"edges: each allowed pair with probability {plan.density:g}",
                *(lent if without_gpus else ()),
                f"demand: in {steps} steps up to the largest of the ports",
                f"capacity: scaled to {tight:g} of what all channels take, in the mean of the kinds",
                *(f"arrivals: {change}" for change in changes),
            ),
        ),
    )


def _kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    names = choose_some("kinds", kinds, UNITS)
    if not names:
        raise InputError("kinds: an empty list leaves no kind of device")
    return names


def _real_columns(names: Sequence[str], read: ports.Traced, count: int, lent: bool) -> tuple[str, ...]:
    """Describe what is real in capacity and demand."""
    own = [name for name in names if not (name == "GPU" and lent)]
    proportions = " : ".join(f"{name} ({UNITS[name][1]})" for name in names)
    file, share = read.classes
    return (
        f"capacity in the proportions of {proportions}: types of {' '.join(read.machines)}",
        *((f"demand of {'/'.join(own)}: {count} commonest classes ({share:.0%}) of {file}",) if own else ()),
    )


def _totals(types: Sequence[MachineType], names: Sequence[str]) -> np.ndarray:
    """Return the capacity of all machines together, shape (K,)."""
    return np.array([sum(sources.amount(item, name) for item in types) / UNITS[name][0] for name in names])


def _with_gpus(seed: int, folder: Folder, classes: Sequence[RequestClass]) -> tuple[RequestClass, ...]:
    """Give each class the cards of a pod drawn by its share."""
    pods = sources.requests(folder, PODS).classes
    chosen = sources.sampled(stream(seed, "requests"), pods, len(classes))
    return tuple(replace(item, gpu=pod.gpu) for item, pod in zip(classes, chosen, strict=True))


def _levels(classes: Sequence[RequestClass], names: Sequence[str], steps: int) -> np.ndarray:
    """Return the demand of each port, shape (L, K): of each kind 0 to ``steps``, the largest of the ports."""
    wanted = np.array([[sources.amount(item, name) for name in names] for item in classes])
    most = wanted.max(axis=0)
    exact = steps * wanted / np.where(most > 0, most, 1.0)
    return np.ceil(exact - 1e-9).astype(np.int64)


def _capacity(totals: np.ndarray, needed: np.ndarray, tightness: float) -> np.ndarray:
    """Scale what the machines hold to c, shape (K,), such that c / needed is ``tightness`` in the mean."""
    both = (totals > 0) & (needed > 0)
    factor = tightness / (totals[both] / needed[both]).mean() if both.any() else 0.0
    c = np.clip(np.rint(factor * totals), 1, np.maximum(needed, 1))
    return np.where(totals > 0, c, 0).astype(np.int64)
