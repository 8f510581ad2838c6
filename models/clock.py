"""How many requests of a trace arrive in each slot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import sources
from .base import InputError, numbers
from .draw import choose
from .sources import Events, Folder, Requests, shares


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
        available = max(0, int((found.time.max() + found.bin - start) // self.seconds))
        if available == 0:
            raise InputError(
                f"slot_seconds: from {start:g} s the trace holds no whole slot of {self.seconds:g} s"
            )
        if self.slots is not None and self.slots > available:
            raise InputError(
                f"slots: {self.slots} is more than the {available} of {self.seconds:g} s that the trace holds"
            )
        return start, min(self.most, available) if self.slots is None else self.slots


def arrivals(
    rng: np.random.Generator,
    folder: Folder,
    found: Requests,
    ports: int,
    clock: Clock,
    *,
    requests: str,
    source: str | None,
) -> tuple[np.ndarray, str, list[str]]:
    """Count arrivals x[slot, port], where port l stands for the l-th request class.

    ``requests`` is the source of ``found``, whose first classes are the ports. If the source of the arrivals
    is the same or ``None``, a port's arrivals are the requests of its class; the totals of another one are
    split over the ports by the shares of the classes. Returns the counts, shape (T, L), what they are, and
    what was done to them.
    """
    if source is None or source == requests:
        x, arrived = _own_arrivals(sources.REQUESTS[requests].file, found, ports, clock)
        return x, arrived, []
    total, arrived = total_arrivals(folder, source, clock)
    x = rng.multinomial(total, shares(found.classes[:ports]))
    return x, arrived, ["split over the ports by the shares of their classes"]


def _own_arrivals(file: str, found: Requests, ports: int, clock: Clock) -> tuple[np.ndarray, str]:
    """Count the requests of each of the first classes per slot: x[slot, port], and what it is."""
    seen = np.isfinite(found.time)
    time, member = found.time[seen], found.member[seen]
    start, slots = clock.window(Events(time, np.ones(len(time)), 0.0))
    slot = np.floor((time - start) / clock.seconds)
    inside = (slot >= 0) & (slot < slots) & (member < ports)
    x = np.zeros((slots, ports), dtype=np.int64)
    np.add.at(x, (slot[inside].astype(np.int64), member[inside]), 1)
    return x, f"arrivals: requests of each class in {file} per {clock.seconds:g} s from {start:.12g} s"


def total_arrivals(folder: Folder, name: str, clock: Clock) -> tuple[np.ndarray, str]:
    """Count all arrivals of a source per slot, shape (T,), and say what it is."""
    known = {**sources.EVENTS, **sources.REQUESTS}
    file = known[choose(name, known, "arrivals")].file
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
    whole = numbers(np.floor(total), f"{file}: arrivals", (slots,), integer=True)
    return whole, f"arrivals: totals of {file} per {clock.seconds:g} s from {start:.12g} s"
