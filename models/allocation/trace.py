"""Instances from traces: machine types as servers, request classes as ports, counts per slot as arrivals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from .. import sources
from ..base import Origin
from ..clock import Clock
from ..clock import arrivals as count_arrivals
from ..draw import choose, real, truth, whole
from . import draw
from .generate import SIZES, assemble, filled_columns, real_columns
from .instance import LARGEST, AllocationInstance


def from_trace(
    folder: str | os.PathLike[str],
    *,
    machines: str = "pai-2020",
    requests: str = "gpu-2023",
    arrivals: str | None = None,
    size: str = "default",
    ports: int | None = None,
    servers: int | None = None,
    slots: int | None = None,
    slot_seconds: float = 3600.0,
    start: float | None = None,
    exact: bool = False,
    constraints: bool = True,
    density: float | None = None,
    contention: float | None = None,
    thin: float = 1.0,
    clip: bool = False,
    seed: int = 0,
    utility: str | Mapping[str, float] = "mix",
    alpha: tuple[float, float] = (1.0, 1.5),
    overhead: tuple[float, float] | None = None,
    kinds: Sequence[str] | None = None,
    filled: bool = True,
) -> AllocationInstance:
    r"""Make an instance from a folder of traces; ``origin`` lists what is real and what is filled.

    Parameters
    ----------
    folder
        Folder of traces in the layout that ``sources`` names; nothing else is read.
    machines
        Source of the servers: "pai-2020", "gpu-2023" or "spot-2026" (which has no memory: leave MEM out).
    requests
        Source of the ports, one for each of its commonest request classes: "gpu-2023", "v2018", "dlrm-2025".
    arrivals
        Source of the arrivals. By default that of the requests: a port's arrivals are the requests of its
        class. Or another of those, "pai-2020", "pai-tasks-2020" or "google-2011": their total is split over
        the ports at random, by the shares of the classes.
    size
        "tiny", "default" or "large": sets what is not given otherwise, as for generated instances.
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
        Let requests for GPUs use only servers with GPUs, and of the models they name (``gpu_spec``; the
        publisher gave such constraints to a third of the pods, to match production).
    density
        Mean number of ports per server; fewer edges are drawn if the constraints allow no more.
    contention
        Multiplies all requirements a.
    thin
        Probability with which each arrival is kept.
    clip
        Whether at most one job arrives at a port in a slot.
    seed, utility, alpha, overhead, kinds, filled
        As in :func:`.generate.generate`.

    Raises
    ------
    InputError
        For an argument out of range, or a file that is missing, damaged, malformed or too short.
    """
    preset = SIZES[choose(size, SIZES, "size")]
    seed = whole("seed", seed, 0)
    L = whole("ports", preset.ports if ports is None else ports, 1)
    R = whole("servers", preset.servers if servers is None else servers, 1)
    mean_ports = real("density", min(preset.density, L) if density is None else density, 0.0, L)
    factor = real("contention", preset.contention if contention is None else contention, 0.0, LARGEST)
    names = draw.kinds(preset.kinds if kinds is None else kinds, filled)
    keep = real("thin", thin, 0.0, 1.0)
    for name, flag in (("exact", exact), ("constraints", constraints), ("clip", clip)):
        truth(name, flag)
    clock = Clock(
        real("slot_seconds", slot_seconds, 1.0),
        None if start is None else real("start", start, 0.0),
        None if slots is None else whole("slots", slots, 0),
        preset.slots,
    )
    types = sources.servers(draw.stream(seed, "machines"), sources.machine_types(folder, machines), R, exact)
    found = sources.requests(folder, requests, constraints=constraints)
    asked = sources.commonest(found, L, requests)
    allowed = np.array([[not constraints or sources.may_run(c, t) for t in types] for c in asked])
    x, arrived, changes = count_arrivals(
        draw.stream(seed, "split"), folder, found, L, clock, requests=requests, source=arrivals
    )
    if keep < 1.0:
        x = draw.stream(seed, "arrivals").binomial(x, keep)
        changes += [f"each kept with probability {keep:g}"]
    if clip:
        x = np.minimum(x, 1)
        changes += ["at most one per port and slot"]
    share = sources.shares(found.classes)[:L].sum()
    most = allowed.sum() / R
    how = "in proportion" if exact else "drawn by share"
    return assemble(
        seed,
        types,
        asked,
        names,
        allowed=allowed,
        density=mean_ports,
        contention=factor,
        utility=utility,
        alpha=alpha,
        overhead=preset.overhead if overhead is None else overhead,
        arrivals=x,
        origin=Origin(
            f"trace ({machines} machines, {requests} requests, seed {seed})",
            real=(
                *real_columns(
                    names,
                    f"types of {sources.MACHINES[machines].file} {how}",
                    f"the {L} commonest classes of {sources.REQUESTS[requests].file} ({share:.0%} of it)",
                ),
                arrived,
                *(("which GPU models a class may use",) if any(c.allowed for c in asked) else ()),
            ),
            filled=(
                *filled_columns(names),
                *((f"density (no more than {most:.3g} is allowed)",) if most < mean_ports else ()),
                "edges and utility and alpha and overhead: drawn",
                *(f"arrivals: {change}" for change in changes),
            ),
        ),
    )
