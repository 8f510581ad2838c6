"""What instances of ports and servers take from a folder of traces: servers, request classes and arrivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple, TypedDict

import numpy as np

from . import clock, sources
from .draw import real, truth, whole
from .sources import Folder, MachineType, RequestClass

Stream = Callable[[int, str], np.random.Generator]


class TraceOptions(TypedDict, total=False):
    """Options of the trace readers of all problems of ports and servers, with defaults, for :func:`read`.

    ``requests`` and ``slot_seconds``, which each problem adds, have other defaults for each.
    """

    machines: Annotated[str, "pai-2020"]
    arrivals: Annotated[str | None, None]
    size: Annotated[str, "default", '"tiny", "default" or "large": sets what is not given otherwise.']
    slots: Annotated[int | None, None]
    start: Annotated[float | None, None]
    exact: Annotated[bool, False, "Take machine types in proportion to their shares; else draw them."]
    constraints: Annotated[bool, True]
    thin: Annotated[float, 1.0, "Probability with which each arrival is kept."]
    seed: Annotated[int, 0]


class Traced(NamedTuple):
    """The servers, classes and arrivals of a folder."""

    types: Sequence[MachineType]  # the machine type of each server
    requests: Sequence[RequestClass]  # the request class of each port
    arrivals: np.ndarray  # requests per slot and port, shape (T, L)
    # machines, classes: the files of the first two, and how the servers were taken or what share the classes
    # are of all.
    machines: tuple[str, str]
    classes: tuple[str, float]
    arrived: tuple[str, ...]  # further data that are real: the arrivals, and the models that a class may use
    changes: list[str]  # the changes made to the arrivals


def read(
    folder: Folder,
    shape: tuple[int, int],
    most: int,
    stream: Stream,
    o: TraceOptions,
    *,
    requests: str,
    slot_seconds: float,
) -> Traced:
    """Read servers, ports and arrivals from a folder of traces.

    ``shape`` is the numbers of ports and servers, ``most`` the most slots if the options give no number, and
    ``stream`` gives the random streams "machines" and "split" of a seed.
    """
    ports, servers = shape
    for name, flag in (("exact", o["exact"]), ("constraints", o["constraints"])):
        truth(name, flag)
    slots, start = o["slots"], o["start"]
    window = clock.Clock(
        real("slot_seconds", slot_seconds, 1.0),
        None if start is None else real("start", start, 0.0),
        None if slots is None else whole("slots", slots, 0),
        most,
    )
    known = sources.machine_types(folder, o["machines"])
    types = sources.servers(stream(o["seed"], "machines"), known, servers, o["exact"])
    found = sources.requests(folder, requests, constraints=o["constraints"])
    classes = sources.commonest(found, ports, requests)
    rng = stream(o["seed"], "split")
    x, arrived, changes = clock.arrivals(
        rng, folder, found, ports, window, requests=requests, source=o["arrivals"]
    )
    return Traced(
        types,
        classes,
        x,
        (sources.MACHINES[o["machines"]].file, "in proportion" if o["exact"] else "drawn by share"),
        (sources.REQUESTS[requests].file, float(sources.shares(found.classes)[:ports].sum())),
        (arrived, *(("which GPU models a class may use",) if any(c.allowed for c in classes) else ())),
        changes,
    )


def allowed(types: Sequence[MachineType], classes: Sequence[RequestClass], constraints: bool) -> np.ndarray:
    """Return whether port l may use server r, shape (L, R): any, unless the constraints count."""
    return np.array([[not constraints or sources.may_run(c, t) for t in types] for c in classes])
