"""Selection instances from tables of one's own: requests, channels between ports and servers, and servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..frames import COUNT, RESOURCES, Told, Wanted, amounts, by_table, origin_of, resource_names
from ..port_tables import PORT, SERVER, read_edges, read_ports, read_requests, read_servers
from .channels import LARGEST
from .instance import SelectionInstance

CHANNELS = (
    Wanted("mean", "gain value utility netutility reward", "amount", decimals=None, high=1.0),
    Wanted("cost", "supplycost price", "amount", 0.0, None),
    Wanted("scale", "sd std deviation", "amount", 0.0, None, high=1e6),
)
"""What a row of channels says besides its port, its server and its demands."""

AUTO, CLIPPED = "auto", "clipped-normal"
"""The noise that follows from the table, and the one that has a scale."""


def from_table(
    table: Any,
    *,
    machines: Any,
    edges: Any,
    ports: Any = None,
    columns: Mapping[str, str] | None = None,
    slot: float | str | None = None,
    slots: int | None = None,
    resources: Sequence[str] | str = tuple(RESOURCES),
    noise: str = AUTO,
    seed: int = 0,
) -> SelectionInstance:
    """Make an instance from a table of requests, one of channels and one of servers.

    Ports and servers are known by their names. More than one request at a port in a slot counts as one.

    Parameters
    ----------
    table
        A row per request, or per port and slot with a ``count``: a CSV or Parquet file, a data frame, or a
        mapping of columns. It has the ``port`` (or type of service), and the ``slot``, from 0, or a ``time``.
    machines
        A row per server, or per kind with a ``count``, likewise: its name, ``server``, and whole numbers of
        what it has of every resource. The capacity of the cluster is the sum.
    edges
        A row per channel: ``port``, ``server``, the ``mean`` net utility, 0 to 1, and whole numbers of what
        it takes of every resource while it is on; its ``cost``, already taken off the mean, and the ``scale``
        of the noise are optional. A name of several servers stands for a channel to each.
    ports
        A row per ``port``; by default those with a channel, in the order of ``edges``.
    columns
        Which column is which, where that is not to be guessed. Those of the other tables begin with
        ``machines.``, ``ports.`` or ``edges.``.
    slot
        The length of a slot where requests have times: seconds, or a text with a unit such as "5min".
    slots
        T; by default one more than the last slot with a request.
    resources
        Their names, a list or a text with commas.
    noise, seed
        Those of :class:`.instance.SelectionInstance`; "auto" is "clipped-normal" if a channel has a ``scale``
        above 0, else "none".

    Raises
    ------
    InputError
        Naming the table, the row, the column and the value at fault.
    """
    kinds = resource_names(resources, {one.name for one in (PORT, SERVER, COUNT, *CHANNELS)})
    given = by_table(columns, "machines", "ports", "edges")
    devices = amounts(kinds, "whole", 0, high=LARGEST)
    known = None if ports is None else read_ports(ports, (), given["ports"])
    servers = read_servers(machines, devices, given["machines"])
    listed = None if known is None else known.values[PORT.name].tolist()
    channels, names = read_edges(edges, (*CHANNELS, *devices), given["edges"], listed, servers)
    requests = read_requests(table, names, given[""], slot, slots)
    values = {name: column[channels.row] for name, column in channels.columns.values.items()}
    scaled = bool((values["scale"] > 0.0).any())
    kind = noise if noise != AUTO else CLIPPED if scaled else "none"
    notes = [f"noise: {kind}"]
    if scaled and kind != CLIPPED:
        notes.append(f"edges: scale is not used, since the noise is {kind}")
    if several := int((requests.arrivals > 1).sum()):
        notes.append(f"arrivals: {several} times more than one at a port in a slot, counted as one")
    tables: list[Told] = [requests, channels.columns, servers.columns, *([] if known is None else [known])]
    return SelectionInstance(
        edges=channels.pairs,
        demand=np.stack([values[name] for name in kinds], axis=1),
        capacity=servers.each("{}", kinds).sum(axis=0),
        mean=values["mean"],
        cost=values["cost"],
        noise=kind,
        scale=values["scale"] if kind == CLIPPED else None,
        arrivals=np.minimum(requests.arrivals, 1),
        seed=seed,
        ports=len(names),
        origin=origin_of(*tables, real=["capacity: the sum of all servers"], filled=notes),
    )
