"""Instances from traces: machine types as servers, request classes as ports, counts per slot as arrivals."""

from __future__ import annotations

import os
from typing import Annotated, Unpack

import numpy as np

from .. import ports
from ..base import Origin
from ..draw import real, takes, truth
from . import draw
from .generate import DrawnOptions, assemble, measured, planned
from .instance import AllocationInstance


class TraceOptions(ports.TraceOptions, DrawnOptions, total=False):
    """Options of :func:`from_trace` besides the folder, with their defaults."""

    requests: Annotated[str, "gpu-2023"]
    slot_seconds: Annotated[float, 3600.0]
    clip: Annotated[bool, False, "Whether at most one job arrives at a port in a slot."]


@takes(TraceOptions)
def from_trace(folder: str | os.PathLike[str], **options: Unpack[TraceOptions]) -> AllocationInstance:
    r"""Make an instance from a folder of traces; ``origin`` lists what is real and what is filled.

    Parameters
    ----------
    machines
        Source of the servers: "pai-2020", "gpu-2023" or "spot-2026" (which has no memory: leave MEM out).
    requests
        Source of the ports, one for each of its commonest request classes: "gpu-2023", "v2018", "dlrm-2025".
    arrivals
        Source of the arrivals. By default that of the requests: a port's arrivals are the requests of its
        class. Or another of those, "pai-2020", "pai-tasks-2020" or "google-2011": their total is split over
        the ports at random, by the shares of the classes.
    slots, slot_seconds
        T and the length of a slot. By default all whole slots the trace holds, and at most those of the size.
    start
        Where slot 0 begins, in seconds of the source's clock. By default where 5 % of its requests are past
        (the clocks begin with stragglers), or its first bin.
    constraints
        Let requests for GPUs use only servers with GPUs, and of the models they name (``gpu_spec``; the
        publisher gave such constraints to a third of the pods, to match production).
    density
        Mean number of ports per server; fewer edges are drawn if the constraints allow no more.
    utility, alpha, overhead
        As in :func:`.generate.generate`.
    """
    machines, requests = options["machines"], options["requests"]
    plan = planned(options["size"], options["seed"], options)
    keep, clip = real("thin", options["thin"], 0.0, 1.0), truth("clip", options["clip"])
    shape, seconds = (plan.ports, plan.servers), options["slot_seconds"]
    read = ports.read(
        folder, shape, plan.preset.slots, draw.stream, options, requests=requests, slot_seconds=seconds
    )
    x, changes = read.arrivals, read.changes
    if keep < 1.0:
        x = draw.stream(plan.seed, "arrivals").binomial(x, keep)
        changes += [f"each kept with probability {keep:g}"]
    if clip:
        x = np.minimum(x, 1)
        changes += ["at most one per port and slot"]
    file, share = read.classes
    origin = Origin(
        f"trace ({machines} machines, {requests} requests, seed {plan.seed})",
        (
            f"types of {' '.join(read.machines)}",
            f"the {plan.ports} commonest classes of {file} ({share:.0%} of it)",
            *read.arrived,
        ),
        tuple(f"arrivals: {change}" for change in changes),
    )
    allowed = ports.allowed(read.types, read.requests, options["constraints"])
    return assemble(plan, measured(plan, read.types, read.requests), allowed, x, origin)
