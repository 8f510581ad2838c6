"""Allocation instances from tables of one's own: requests, ports, servers, and which port may use which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..checks import choose, numbers, real
from ..frames import COUNT, RESOURCES, Told, Wanted, amounts, by_table, origin_of, plain, resource_names
from ..port_tables import (
    PORT,
    SERVER,
    Servers,
    all_edges,
    read_edges,
    read_ports,
    read_requests,
    read_servers,
)
from .instance import LARGEST, AllocationInstance
from .setting import Names
from .utility import KINDS

UTILITY, ALPHA = "utility_{}", "alpha_{}"
"""The columns of the utility of a resource on a server, and of its scale."""


def from_table(
    table: Any,
    *,
    machines: Any,
    ports: Any,
    edges: Any = None,
    columns: Mapping[str, str] | None = None,
    slot: float | str | None = None,
    slots: int | None = None,
    resources: Sequence[str] | str = tuple(RESOURCES),
    utility: str = "log",
    alpha: float = 1.0,
    overhead: float | Sequence[float] = 0.0,
) -> AllocationInstance:
    """Make an instance from a table of requests, one of ports and one of servers.

    Ports and servers are known by their names; ports are numbered as in their table, servers likewise.

    Parameters
    ----------
    table
        A row per request, or per port and slot with a ``count``: a CSV or Parquet file, a data frame, or a
        mapping of columns. It has the ``port`` (or type of service), and the ``slot``, from 0, or a ``time``.
    machines
        A row per server, or per kind with a ``count``, likewise: what it has of every resource. Optional are
        its name, ``server``, and for every resource its utility, ``utility_gpus``, and the scale of that,
        ``alpha_gpus``.
    ports
        A row per port: its name, ``port``, and the most that a job takes of every resource on one server.
    edges
        A row per pair of a ``port`` and a ``server`` that it may use; by default it may use all of them.
    columns
        Which column is which, where that is not to be guessed. Those of the other tables begin with
        ``machines.``, ``ports.`` or ``edges.``.
    slot
        The length of a slot where requests have times: seconds, or a text with a unit such as "5min".
    slots
        T; by default one more than the last slot with a request.
    resources
        Their names, a list or a text with commas.
    utility, alpha
        What stands for missing columns of utilities and their scales.
    overhead
        beta, 0 to 1: one number for all resources, or one for each.

    Raises
    ------
    InputError
        Naming the table, the row, the column and the value at fault.
    """
    own = {one.name for one in (PORT, SERVER, COUNT)}
    kinds, given = resource_names(resources, own), by_table(columns, "machines", "ports", "edges")
    each = overhead if isinstance(overhead, Sequence | np.ndarray) else [overhead] * len(kinds)
    beta = numbers(each, "overhead", (len(kinds),), high=1.0)
    usual = choose(utility, KINDS, "utility"), real("alpha", alpha, 0.0, LARGEST)
    jobs = read_ports(ports, amounts(kinds, "amount", high=LARGEST), given["ports"])
    names = jobs.values[PORT.name].tolist()
    servers = _servers(machines, kinds, given["machines"], *usual)
    requests = read_requests(table, names, given[""], slot, slots)
    told: list[Told] = [requests, jobs, servers.columns]
    notes = [f"overhead: {', '.join(f'{value:g}' for value in beta)}"]
    if edges is None:
        pairs = all_edges(len(names), len(servers.row))
        notes.append("edges: all of them")
    else:
        joined, _ = read_edges(edges, (), given["edges"], names, servers)
        pairs = joined.pairs
        told.append(joined.columns)
    return AllocationInstance(
        edges=pairs,
        demand=np.stack([jobs.values[name] for name in kinds], axis=1),
        capacity=servers.each("{}", kinds),
        overhead=beta,
        utility_kind=servers.each(UTILITY, kinds),
        alpha=servers.each(ALPHA, kinds),
        arrivals=requests.arrivals,
        names=Names(tuple(names), (), tuple(kinds)),
        origin=origin_of(*told, filled=notes),
    )


def _servers(
    table: Any, kinds: Sequence[str], columns: Mapping[str, str], utility: str, alpha: float
) -> Servers:
    """Read capacities, utilities and their scales; a family that is none is refused by row."""
    families = [Wanted(UTILITY.format(n), f"kind{plain(n)}", "name", utility) for n in kinds]
    scales = [Wanted(ALPHA.format(n), f"scale{plain(n)}", "amount", alpha, None, high=LARGEST) for n in kinds]
    capacities = amounts(kinds, "amount", high=LARGEST)
    servers = read_servers(table, (*capacities, *families, *scales), columns)
    for one in families:
        for i, family in enumerate(servers.columns.values[one.name]):
            choose(family, KINDS, f"machines: {one.name}: row {i}")
    return servers
