"""Instances from traces: machine types as servers, request classes as ports, counts per slot as arrivals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..base import InputError, Origin
from . import draw, sources
from .generate import SIZES, assemble, filled_columns, real_columns
from .instance import AllocationInstance
from .sources import Events, MachineType, RequestClass, Requests

SAME_MODEL = {"V100": "V100M16"}
"""Names that PAI's machines and the pods' constraints give to the same GPU model."""


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
    preset = SIZES[sources.choose(size, SIZES, "size")]
    seed = draw.whole("seed", seed, 0)
    L = draw.whole("ports", preset.ports if ports is None else ports, 1)
    R = draw.whole("servers", preset.servers if servers is None else servers, 1)
    mean_ports = draw.real("density", min(preset.density, L) if density is None else density, 0.0, L)
    factor = draw.real("contention", preset.contention if contention is None else contention, 0.0)
    names = draw.kinds(preset.kinds if kinds is None else kinds, filled)
    keep = draw.real("thin", thin, 0.0, 1.0)
    for name, flag in (("exact", exact), ("constraints", constraints), ("clip", clip)):
        draw.truth(name, flag)
    clock = Clock(
        draw.real("slot_seconds", slot_seconds, 1.0),
        None if start is None else draw.real("start", start, 0.0),
        None if slots is None else draw.whole("slots", slots, 0),
        preset.slots,
    )
    types = _servers(draw.stream(seed, "machines"), sources.machine_types(folder, machines), R, exact)
    found = sources.requests(folder, requests, constraints=constraints)
    if len(found.classes) < L:
        raise InputError(f"ports: {L} is more than the {len(found.classes)} request classes of {requests}")
    asked = found.classes[:L]
    allowed = np.array([[not constraints or _may_run(c, t) for t in types] for c in asked])
    if arrivals is None or arrivals == requests:
        x, arrived, changes = _own_arrivals(sources.REQUESTS[requests].file, found, L, clock)
    else:
        total, arrived = _total_arrivals(folder, arrivals, clock)
        x = draw.stream(seed, "split").multinomial(total, sources.shares(asked))
        changes = ["split over the ports by the shares of their classes"]
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


@dataclass(frozen=True)
class Clock:
    """Length of a slot and start of slot 0 in seconds, the number of slots, and the most if none is given."""

    seconds: float
    start: float | None
    slots: int | None
    most: int

    def window(self, found: Events) -> tuple[float, int]:
        """Return where slot 0 begins in a trace, and how many slots there are."""
        if len(found.time) == 0:
            raise InputError("arrivals: the trace gives the time of no request")
        start = self.start
        if start is None:
            first = np.quantile(found.time, 0.0 if found.bin else 0.05)
            start = float(first // self.seconds * self.seconds)
        held = max(0, int((found.time.max() + found.bin - start) // self.seconds))
        if held == 0:
            raise InputError(
                f"slot_seconds: from {start:g} s the trace holds no whole slot of {self.seconds:g} s"
            )
        if self.slots is not None and self.slots > held:
            raise InputError(
                f"slots: {self.slots} is more than the {held} of {self.seconds:g} s that the trace holds"
            )
        return start, min(self.most, held) if self.slots is None else self.slots


def _servers(
    rng: np.random.Generator, types: Sequence[MachineType], servers: int, exact: bool
) -> list[MachineType]:
    """Draw types by their shares or, if ``exact``, in proportion (largest remainders) and random order."""
    if not exact:
        return draw.machines(rng, types, servers)
    want = sources.shares(types) * servers
    count = np.floor(want).astype(np.int64)
    count[np.argsort(count - want, kind="stable")[: servers - count.sum()]] += 1
    return [types[i] for i in rng.permutation(np.repeat(np.arange(len(types)), count))]


def _may_run(asked: RequestClass, machine: MachineType) -> bool:
    if asked.gpu > 0 and machine.gpu == 0:
        return False
    return not asked.allowed or SAME_MODEL.get(machine.name, machine.name) in asked.allowed


def _own_arrivals(file: str, found: Requests, ports: int, clock: Clock) -> tuple[np.ndarray, str, list[str]]:
    """Count the requests of each of the first classes per slot: x[slot, port], and what it is."""
    seen = np.isfinite(found.time)
    time, member = found.time[seen], found.member[seen]
    start, slots = clock.window(Events(time, np.ones(len(time)), 0.0))
    slot = np.floor((time - start) / clock.seconds)
    inside = (slot >= 0) & (slot < slots) & (member < ports)
    x = np.zeros((slots, ports), dtype=np.int64)
    np.add.at(x, (slot[inside].astype(np.int64), member[inside]), 1)
    return x, f"arrivals: requests of each class in {file} per {clock.seconds:g} s from {start:.12g} s", []


def _total_arrivals(folder: sources.Folder, name: str, clock: Clock) -> tuple[np.ndarray, str]:
    """Count all arrivals of a source per slot, and say what it is."""
    known = {**sources.EVENTS, **sources.REQUESTS}
    file = known[sources.choose(name, known, "arrivals")].file
    if name in sources.EVENTS:
        found = sources.events(folder, name)
    else:
        time = sources.requests(folder, name).time
        time = time[np.isfinite(time)]
        found = Events(time, np.ones(len(time)), 0.0)
    if found.bin and clock.seconds % found.bin:
        raise InputError(
            f"slot_seconds: {clock.seconds:g} is no multiple of the {found.bin:g} s that {file} counts by"
        )
    start, slots = clock.window(found)
    slot = np.floor((found.time - start) / clock.seconds)
    inside = (slot >= 0) & (slot < slots)
    total = np.bincount(slot[inside].astype(np.int64), weights=found.count[inside], minlength=slots)
    return total.astype(np.int64), f"arrivals: totals of {file} per {clock.seconds:g} s from {start:.12g} s"
