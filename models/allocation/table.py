"""Allocation instances from tables of one's own: requests, ports, servers, and which port may use which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base import Origin
from ..checks import choose, numbers, real
from ..frames import COUNT, RESOURCES, Wanted, amounts, by_table, plain, resource_names
from ..port_tables import PORT, SERVER, all_edges, read_edges, read_ports, read_requests, read_servers
from .instance import LARGEST, AllocationInstance
from .setting import Names
from .utility import KINDS


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
    usual = choose(utility, KINDS, "utility")
    scale = real("alpha", alpha, 0.0, LARGEST)
    sizes: dict[str, Any] = {"high": LARGEST}
    shapes = [Wanted(f"utility_{name}", f"kind{plain(name)}", "name", usual) for name in kinds]
    scales = [
        Wanted(f"alpha_{name}", f"scale{plain(name)}", "amount", scale, None, **sizes) for name in kinds
    ]
    jobs = read_ports(ports, amounts(kinds, "amount", **sizes), given["ports"])
    names = jobs.values[PORT.name].tolist()
    servers = read_servers(
        machines, (*amounts(kinds, "amount", **sizes), *shapes, *scales), given["machines"]
    )
    for one in shapes:
        for i, family in enumerate(servers.columns.values[one.name]):
            choose(family, KINDS, f"machines: {one.name}: row {i}")
    real_edges: tuple[str, ...] = ()
    filled: tuple[str, ...] = ("edges: all of them",)
    if edges is None:
        pairs = all_edges(len(names), len(servers.row))
    else:
        joined, _ = read_edges(edges, (), given["edges"], names, servers)
        pairs, real_edges, filled = joined.pairs, joined.columns.real, joined.columns.filled
    requests = read_requests(table, names, given[""], slot, slots)
    each = overhead if isinstance(overhead, Sequence | np.ndarray) else [overhead] * len(kinds)
    beta = numbers(each, "overhead", (len(kinds),), high=1.0)

    def of_servers(prefix: str) -> np.ndarray:
        found = [servers.columns.values[f"{prefix}{name}"][servers.row] for name in kinds]
        return np.stack(found, axis=1)

    stated = f"overhead: {', '.join(f'{value:g}' for value in beta)}"
    return AllocationInstance(
        edges=pairs,
        demand=np.stack([jobs.values[name] for name in kinds], axis=1),
        capacity=of_servers(""),
        overhead=beta,
        utility_kind=of_servers("utility_"),
        alpha=of_servers("alpha_"),
        arrivals=requests.arrivals,
        names=Names(tuple(names), (), tuple(kinds)),
        origin=Origin(
            "table",
            real=(*requests.real, *jobs.real, *servers.columns.real, *real_edges),
            filled=(*requests.filled, *jobs.filled, *servers.columns.filled, *filled, stated),
        ),
    )
