"""Tables of one's own for problems of ports and servers: requests, ports, servers, and who may use whom."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .base import InputError, did_you_mean
from .checks import whole
from .frames import (
    COUNT,
    MOST_FAULTS,
    SLOT_HINT,
    TIME,
    Columns,
    Wanted,
    counts,
    in_slots,
    read_columns,
    read_frame,
    refuse,
    slot_seconds,
)

PORT = Wanted("port", "type service servicetype jobtype requesttype class app application", "name")
SERVER = Wanted("server", "machine node host name servername machinename model", "name")
SLOT = Wanted(
    "slot",
    "timeslot period step",
    "whole",
    hint=SLOT_HINT,
)
REQUESTS = Wanted("count", "number requests jobs", "whole", 1.0, high=2.0**31)

MOST_ARRIVALS = 10_000_000
"""The most entries, slots times ports, that the arrivals of a table may have."""

MOST_EDGES = 1_000_000
"""The most pairs of a port and a server."""


class Requests(NamedTuple):
    """Requests per slot and port, shape (T, L), and what the origin says of them."""

    arrivals: np.ndarray
    real: tuple[str, ...]
    filled: tuple[str, ...]


class Servers(NamedTuple):
    """The columns of a table of servers, and which of its rows each server is of, shape (R,)."""

    columns: Columns
    row: np.ndarray

    def each(self, column: str, names: Sequence[str]) -> np.ndarray:
        """Return the columns of these resources, one value for each server, shape (R, K)."""
        return np.stack([self.columns.values[column.format(name)][self.row] for name in names], axis=1)

    def named(self) -> dict[str, list[int]]:
        """Return the servers by their name, or by the number of their row where the table has no names."""
        found: dict[str, list[int]] = {}
        for server, row in enumerate(self.row.tolist()):
            found.setdefault(self.columns.values[SERVER.name][row] or str(row), []).append(server)
        return found


def read_requests(
    table: Any, ports: Sequence[str], columns: Mapping[str, str], slot: Any, slots: int | None
) -> Requests:
    """Count the requests of a table by slot and port.

    Parameters
    ----------
    table
        A row per request, or per port and slot with a ``count``: ``port``, and ``slot`` or ``time``.
    ports
        The names of the ports in their order.
    columns
        Which column is which.
    slot
        The length of a slot, where requests have times: slot 0 begins at the last whole multiple of it, from
        time 0 or from 1970-01-01 in UTC, before the first request. None: requests have slots, from 0.
    slots
        T; by default one more than the last slot with a request.
    """
    wanted = SLOT if slot is None else TIME
    length = 1.0 if slot is None else slot_seconds(slot)
    most = None if slots is None else whole("slots", slots, 0)
    read = read_columns(read_frame(table, "requests"), (wanted, PORT, REQUESTS), columns, "requests")
    at, what = in_slots(read, wanted.name, length)
    place = {name: i for i, name in enumerate(ports)}
    faults = _unknown("requests: port", read.values[PORT.name], place)
    T = int(at.max(initial=-1)) + 1 if most is None else most
    faults += [f"requests: row {i}: slot {at[i]:.0f} is not below {T}" for i in np.flatnonzero(at >= T)]
    refuse(faults)
    if T * len(ports) > MOST_ARRIVALS:
        raise InputError(f"requests: {T} slots of {len(ports)} ports are more than {MOST_ARRIVALS} in all")
    x = np.zeros((T, len(ports)), dtype=np.int64)
    port = np.array([place[name] for name in read.values[PORT.name]], dtype=np.int64)
    np.add.at(x, (at.astype(np.int64), port), read.values[REQUESTS.name])
    return Requests(x, (*read.real, f"requests: counted by port and {what}"), read.filled)


def read_ports(table: Any, wanted: Sequence[Wanted], columns: Mapping[str, str]) -> Columns:
    """Read a row per port, none named twice."""
    read = read_columns(read_frame(table, "ports"), (PORT, *wanted), columns, "ports")
    names = read.values[PORT.name].tolist()
    first = {name: i for i, name in reversed([*enumerate(names)])}
    refuse([f"ports: port: row {i}: {n!r} stands twice" for i, n in enumerate(names) if first[n] != i])
    return read


def read_servers(table: Any, wanted: Sequence[Wanted], columns: Mapping[str, str]) -> Servers:
    """Read a row per server, or per kind of servers with a ``count``."""
    frame, unnamed = read_frame(table, "machines"), SERVER._replace(usual="")
    read = read_columns(frame, (unnamed, *wanted, COUNT), columns, "machines", fill=False)
    return Servers(read, np.repeat(np.arange(len(frame)), counts(read)))


class Edges(NamedTuple):
    """Pairs (port, server), shape (E, 2), the row each is of, shape (E,), and the columns of the table."""

    pairs: np.ndarray
    row: np.ndarray
    columns: Columns


def read_edges(
    table: Any,
    wanted: Sequence[Wanted],
    columns: Mapping[str, str],
    ports: Sequence[str] | None,
    servers: Servers,
) -> tuple[Edges, tuple[str, ...]]:
    """Read a row per port and server, where the name of several servers means each of them.

    Returns the edges and the names of the ports: those given, or the ports of the table in its order.
    """
    read = read_columns(read_frame(table, "edges"), (PORT, SERVER, *wanted), columns, "edges")
    joined, of = read.values[PORT.name].tolist(), servers.named()
    order = tuple(dict.fromkeys(joined)) if ports is None else tuple(ports)
    place = {name: i for i, name in enumerate(order)}
    pairs: list[tuple[int, int]] = []
    rows: list[int] = []
    faults = _unknown("edges: port", joined, place) + _unknown("edges: server", read.values[SERVER.name], of)
    seen = set()
    for i, (port, server) in enumerate(zip(joined, read.values[SERVER.name].tolist(), strict=True)):
        if (port, server) in seen:
            faults.append(f"edges: row {i}: {port!r} and {server!r} stand twice")
        seen.add((port, server))
        reached = of.get(server, [])
        pairs += [(place.get(port, 0), one) for one in reached]
        rows += [i] * len(reached)
        if len(pairs) > MOST_EDGES:
            raise InputError(f"edges: row {i}: there are more than {MOST_EDGES} pairs of ports and servers")
    refuse(faults)
    return Edges(np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(rows, dtype=np.int64), read), order


def _unknown(where: str, names: Iterable[str], known: Collection[str]) -> list[str]:
    """Return a fault for every row with a name that is unknown; those that are told say what may be meant."""
    faults: list[str] = []
    for i, name in enumerate(names):
        if name not in known:
            meant = did_you_mean(name, known) if len(faults) < MOST_FAULTS else ""
            faults.append(f"{where}: row {i}: {name!r} is unknown{meant}")
    return faults


def all_edges(ports: int, servers: int) -> np.ndarray:
    """Return every pair of a port and a server, shape (L R, 2)."""
    if ports * servers > MOST_EDGES:
        raise InputError(
            f"edges: {ports} ports and {servers} servers are more than {MOST_EDGES} pairs: give edges"
        )
    return np.stack(np.meshgrid(np.arange(ports), np.arange(servers), indexing="ij"), axis=-1).reshape(-1, 2)
