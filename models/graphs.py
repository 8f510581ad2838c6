"""Bipartite graphs: those of ports and servers that networkx holds, and lists of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .base import InputError, things

if TYPE_CHECKING:
    import networkx as nx


def bipartite(graph: nx.Graph) -> tuple[int, int, list[tuple[int, int]]]:
    """Return the number of ports, that of servers, and the edges as (port, server) pairs, sorted.

    An InputError if a node is neither ("port", l) nor ("server", r), the numbers of a side are not 0 to n -
    1, or an edge does not join a port and a server.
    """
    sides: dict[str, list[Any]] = {"port": [], "server": []}
    for node in graph.nodes:
        if not isinstance(node, tuple) or len(node) != 2 or node[0] not in sides:
            raise InputError(f'graph: node {node!r} is neither ("port", l) nor ("server", r)')
        sides[node[0]].append(node[1])
    for side, indices in sides.items():
        if set(indices) != set(range(len(indices))):
            raise InputError(f"graph: {side} numbers {indices!r} are not 0 to {len(indices) - 1}")
    pairs = []
    for u, v in graph.edges:
        ends = {u[0]: u[1], v[0]: v[1]}
        if len(ends) != 2:
            raise InputError(f"graph: edge {u!r} - {v!r} does not join a port and a server")
        pairs.append((ends["port"], ends["server"]))
    return len(sides["port"]), len(sides["server"]), sorted(pairs)


def pair_order(
    pairs: np.ndarray, field: str = "edges", sides: Sequence[tuple[int, str]] = (), by: int = 0
) -> np.ndarray:
    """Return the order of pairs by their entry ``by``, then the other one; refuse one that stands twice.

    With ``sides`` an entry that is not below their number, (count, name), is refused too.
    """
    for column, (count, name) in enumerate(sides):
        for i in np.flatnonzero(pairs[:, column] >= count)[:1]:
            what = f"{pairs[i, column]} is out of range for {count} {things(count, name)}"
            raise InputError(f"{field}[{i}][{column}]: {what}")
    order = np.lexsort((pairs[:, 1 - by], pairs[:, by]))
    ordered = pairs[order]
    for i in np.flatnonzero((np.diff(ordered, axis=0) == 0).all(axis=1))[:1]:
        raise InputError(f"{field}[{int(order[i + 1])}]: {ordered[i].tolist()} stands twice")
    return order
