"""Instances from traces: arrivals of a cluster, and optionally its machines; the jobs are drawn."""

from __future__ import annotations

import os
from typing import Annotated, Unpack

import numpy as np

from .. import sources
from ..base import InputError, Origin
from ..clock import Clock, total_arrivals
from ..draw import choose, real, takes
from ..sources import Folder, MachineType
from .generate import SLOT_SECONDS, DrawnOptions, assemble, planned, stream
from .instance import AdmissionInstance
from .machines import C4, P2_G3, RESOURCES, equipped, sampled
from .setting import Setting

MACHINES = ("ec2", "pai-2020", "gpu-2023")


class TraceOptions(DrawnOptions, total=False):
    """Options of :func:`from_trace` besides the folder, with their defaults."""

    arrivals: Annotated[str, "google-2011"]
    machines: Annotated[str, "ec2"]
    size: Annotated[str, "default", '"tiny", "default" or "large": sets what is not given otherwise.']
    seed: Annotated[int, 0]
    slot_seconds: Annotated[float, SLOT_SECONDS]
    start: Annotated[float | None, None]


@takes(TraceOptions)
def from_trace(folder: str | os.PathLike[str], **options: Unpack[TraceOptions]) -> AdmissionInstance:
    """Make an instance from a folder of traces; ``origin`` lists what is real and what is filled.

    Every job arrives in a slot that is drawn by how many jobs or requests of the trace arrive in each. The
    traces do not say what a training job is made of: the rest is drawn as by :func:`.generate.generate`.

    Parameters
    ----------
    arrivals
        Source of the arrivals: "google-2011" (the paper's), "pai-2020" or "pai-tasks-2020".
    machines
        Source of the machines: "ec2" (no trace, as generated), "pai-2020" or "gpu-2023", whose machines with
        GPUs are for workers and whose others are for parameter servers.
    fit, classes
        As in :func:`.generate.generate`.
    slot_seconds
        Length of a slot, >= 1, of which the trace must hold ``horizon``.
    start
        Where slot 1 begins, in seconds of the source's clock, which starts at midnight; by default where the
        trace does.
    """
    plan = planned(options["size"], options["seed"], options)
    arrivals = choose(options["arrivals"], sources.EVENTS, "arrivals")
    machines = choose(options["machines"], MACHINES, "machines")
    seconds, start, T = real("slot_seconds", options["slot_seconds"], 1.0), options["start"], plan.horizon
    first = None if start is None else real("start", start, 0.0)
    workers, servers, real_machines = _machines(folder, machines, plan.seed, *plan.machines)
    weights, arrived = _arrivals(folder, arrivals, Clock(seconds, first, T, T))
    return assemble(
        plan,
        Setting(T, RESOURCES, workers, servers),
        weights=weights,
        slot_seconds=seconds,
        origin=Origin(
            f"trace ({arrivals} arrivals, {machines} machines, seed {plan.seed})",
            real=(*real_machines, f"{arrived}, of which the number of jobs is drawn"),
        ),
    )


def _arrivals(folder: Folder, name: str, clock: Clock) -> tuple[np.ndarray, str]:
    """Count arrivals per slot; the error for a trace that is too short names our argument."""
    try:
        return total_arrivals(folder, name, clock)
    except InputError as error:
        if str(error).startswith("slots: "):
            raise InputError(f"horizon: {str(error).removeprefix('slots: ')}") from error
        raise


def _machines(
    folder: Folder, name: str, seed: int, workers: int, servers: int
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Draw machines for workers and for parameter servers, and say what of them is real."""
    rngs = [stream(seed, side) for side in ("workers", "servers")]
    if name == "ec2":
        real_parts = ("machines: GPU, vCPU and memory of EC2 P2 and G3 (workers) and C4 (parameter servers)",)
        return sampled(rngs[0], P2_G3, workers), sampled(rngs[1], C4, servers), real_parts
    types = sources.machine_types(folder, name)
    with_gpu, without = ([t for t in types if (t.gpu > 0) == wanted] for wanted in (True, False))
    for what, count, found in (("with", workers, with_gpu), ("without", servers, without)):
        if count > 0 and not found:
            raise InputError(f"machines: {name} has no machine {what} GPU")
    described = f"machines: GPU, cores and memory of {sources.MACHINES[name].file}, drawn by share"
    return _of_trace(rngs[0], with_gpu, workers), _of_trace(rngs[1], without, servers), (described,)


def _of_trace(rng: np.random.Generator, types: list[MachineType], count: int) -> np.ndarray:
    found = sources.sampled(rng, types, count)
    devices = [[sources.amount(item, kind) for kind in ("GPU", "CPU", "MEM")] for item in found]
    return equipped(devices, rng.random(count))
