"""Instances of the selection problem (Sec. 2 of ESDP)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..base import (
    FORMAT_VERSION,
    InputError,
    Instance,
    Origin,
    Violation,
    fields,
    frozen_copy,
    need,
    numbers,
    refuse_unknown,
    things,
)
from ..draw import choose, whole
from ..graphs import bipartite
from ..stopwatch import library
from .channels import LARGEST
from .episode import SlotEpisode
from .noise import NOISES, draw_path
from .setting import Setting

if TYPE_CHECKING:
    import networkx as nx


FIELDS = ("edges", "demand", "capacity", "mean", "noise", "arrivals", "seed")


class ChannelInstance(Instance):
    """What instances share whose decisions choose channels: means, noise, sample path, arrivals, rewards."""

    mean: np.ndarray
    """v~: expected net utility of each channel, shape (E,)."""
    noise: str
    scale: np.ndarray
    seed: int
    recorded: np.ndarray | None
    """The sample path, if it was given and not drawn."""
    arrivals: np.ndarray
    """1_l(t), shape (T, L)."""

    def _hide(
        self,
        order: np.ndarray,
        ports: int,
        *,
        mean: Any,
        noise: Any,
        scale: Any,
        arrivals: Any,
        seed: Any,
        path: Any,
    ) -> None:
        """Check what nature hides and keep it, with the channels put in ``order``."""
        count = len(order)
        self.mean = frozen_copy(numbers(mean, "mean", (count,), high=1.0)[order])
        self.noise, self.scale = _noise(noise, scale, count, order)
        self.arrivals = numbers(arrivals, "arrivals", (None, ports), integer=True, high=1)
        self.seed = whole("seed", seed, 0)
        self.recorded = None
        if path is not None:
            shape = (len(self.arrivals), count)
            self.recorded = frozen_copy(numbers(path, "path", shape, high=1.0)[:, order])

    def _hidden(self) -> Iterator[tuple[str, Any]]:
        """Yield the part of :meth:`content` that nature hides."""
        yield "mean", self.mean
        yield "noise", self.noise
        yield "scale", self.scale
        yield "arrivals", self.arrivals
        if self.recorded is None:
            yield "seed", self.seed
        else:
            yield "path", self.recorded

    def _hidden_fields(self) -> dict[str, Any]:
        """Return the part of the JSON form that nature hides, and the origin."""
        noise: dict[str, Any] = {"kind": self.noise}
        if self.noise == "clipped-normal":
            noise["scale"] = self.scale.tolist()
        data = {
            "mean": self.mean.tolist(),
            "noise": noise,
            "arrivals": self.arrivals.tolist(),
            "seed": self.seed,
            "origin": self.origin.to_dict(),
        }
        if len(self.arrivals) == 0:
            data["ports"] = self.setting.ports
        if self.recorded is not None:
            data["path"] = self.recorded.tolist()
        return data

    def with_arrivals(self, arrivals: Any) -> Self:
        """Return the same nature under other arrivals (and so maybe another horizon)."""
        data = self.to_dict() | {"arrivals": np.asarray(arrivals), "ports": self.setting.ports}
        slots = len(data["arrivals"])
        if self.recorded is not None and slots > len(self.recorded):
            raise InputError(f"arrivals: {slots} slots are more than the {len(self.recorded)} recorded ones")
        if self.recorded is not None:
            data["path"] = self.recorded[:slots]
        return type(self).from_dict(data)

    @cached_property
    def path(self) -> np.ndarray:
        """Z~[slot, channel]: the net utilities that nature has in store, shape (T, E).

        The first t rows do not depend on T.
        """
        if self.recorded is not None:
            return self.recorded
        return frozen_copy(draw_path(self.noise, self.mean, self.scale, self.setting.slots, self.seed))

    def episode(self, sees: frozenset[str]) -> SlotEpisode:
        """Return a fresh pass through the slots; ``sees`` may hold "arrivals"."""
        return SlotEpisode(self, "arrivals" in sees)

    def violations(self, decision: Any) -> list[Violation]:
        """List the constraints that a schedule x[slot, channel] breaks; indices begin with the slot."""
        return [
            replace(broken, index=(slot, *broken.index))
            for slot, x in enumerate(self._rows(decision))
            for broken in self.setting.violations(x, self.arrivals[slot])
        ]

    def rewards(self, decision: Any) -> np.ndarray:
        """Return the expected net utility of a schedule x[slot, channel] in every slot, shape (T,)."""
        result: np.ndarray = self._rows(decision) @ self.mean
        return result

    def _rows(self, decision: Any) -> np.ndarray:
        rows = np.asarray(decision, dtype=np.float64)
        shape = (self.setting.slots, self.setting.channels)
        if rows.size == 0:
            rows = rows.reshape(shape) if 0 in shape else rows
        if rows.shape != shape:
            raise InputError(f"decision: shape {rows.shape} does not fit, expected {shape} (slots, channels)")
        return rows


class SelectionInstance(ChannelInstance):
    """A selection problem: a :class:`Setting`, and what nature hides: means, sample path and arrivals.

    Parameters
    ----------
    edges
        The channels: (port, server) pairs, 0-based, none twice; stored sorted by port, then server.
    demand
        a[channel][kind], whole and >= 0.
    capacity
        c[kind], whole and >= 0.
    mean
        v~[channel] in [0, 1]: expected net utility of a channel in a slot.
    noise
        Distribution of the net utility Z~: "clipped-normal" (a normal variable clipped to [0, 1], whose mean
        after clipping is ``mean``), "bernoulli" (0 or 1) or "none".
    scale
        Standard deviation of each channel's normal variable before clipping, >= 0; only for that noise.
    arrivals
        1_l(t): [slot][port], 0 or 1. Zero slots are allowed.
    seed
        Decides the sample path Z~[slot, channel], which every policy faces.
    cost
        Supply cost of each channel, >= 0, already taken off the mean; 0 by default.
    path
        A recorded sample path [slot][channel] in [0, 1], in place of the one that ``seed`` draws.
    ports
        Number of ports; by default as many as the arrivals have columns.
    origin
        Provenance.

    Raises
    ------
    InputError
        Naming the field, the index and the value at fault.
    """

    problem: ClassVar[str] = "selection"
    setting: Setting

    def __init__(
        self,
        *,
        edges: Any,
        demand: Any,
        capacity: Any,
        mean: Any,
        arrivals: Any,
        noise: str = "none",
        scale: Any = None,
        seed: int = 0,
        cost: Any = None,
        path: Any = None,
        ports: int | None = None,
        origin: Origin | None = None,
    ) -> None:
        c = numbers(capacity, "capacity", (None,), integer=True, high=LARGEST)
        if len(c) == 0:
            raise InputError("capacity: empty; an instance needs at least one kind of device")
        pairs = numbers(edges, "edges", (None, 2), integer=True, high=LARGEST)
        count = len(pairs)
        ports = count_ports(pairs[:, 0], arrivals, ports)
        order = edge_order(pairs)
        a = numbers(demand, "demand", (count, len(c)), integer=True, high=LARGEST)
        supply = np.zeros(count) if cost is None else numbers(cost, "cost", (count,))
        self._hide(order, ports, mean=mean, noise=noise, scale=scale, arrivals=arrivals, seed=seed, path=path)
        self.setting = Setting(
            frozen_copy(pairs[order]),
            frozen_copy(a[order]),
            c,
            frozen_copy(supply[order]),
            ports,
            len(self.arrivals),
        )
        self.origin = origin if origin is not None else Origin("given by hand")

    def __repr__(self) -> str:
        s = self.setting
        return (
            f"SelectionInstance(ports={s.ports}, servers={s.servers}, kinds={s.kinds}, "
            f"channels={s.channels}, slots={s.slots}, digest={self.digest()})"
        )

    def facts(self) -> dict[str, float]:
        """Return the numbers that say how large the instance is, by name."""
        s = self.setting
        return {
            "ports": s.ports,
            "servers": s.servers,
            "device kinds": s.kinds,
            "channels": s.channels,
            "channels at once at most": s.most_channels,
            "slots": s.slots,
            "jobs": int(self.arrivals.sum()),
        }

    def content(self) -> Iterator[tuple[str, Any]]:
        """Yield what identifies the instance; the origin does not."""
        s = self.setting
        yield "edges", s.edges
        yield "demand", s.demand
        yield "capacity", s.capacity
        yield "cost", s.cost
        yield from self._hidden()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with ``cost`` and ``origin``, and ``path`` if it is recorded."""
        s = self.setting
        return {
            "problem": self.problem,
            "version": FORMAT_VERSION,
            "edges": s.edges.tolist(),
            "demand": s.demand.tolist(),
            "capacity": s.capacity.tolist(),
            "cost": s.cost.tolist(),
            **self._hidden_fields(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build an instance from its JSON form; see the class for what is refused."""
        given = fields(data, FIELDS, ("cost", "path", "ports"))
        kind, scale = noise_fields(given.pop("noise"))
        return cls(**given, noise=kind, scale=scale)

    def to_networkx(self) -> nx.Graph:
        """Return the bipartite graph: nodes ("port", l) and ("server", r), an edge with data per channel.

        A recorded sample path is the graph's attribute ``path``, its columns sorted by port, then server.
        """
        nx = library("networkx")

        s = self.setting
        graph = nx.Graph(
            problem=self.problem,
            capacity=s.capacity.tolist(),
            noise=self.noise,
            arrivals=self.arrivals.tolist(),
            seed=self.seed,
        )
        if self.recorded is not None:
            graph.graph["path"] = self.recorded.tolist()
        graph.add_nodes_from((("port", p) for p in range(s.ports)), bipartite=0)
        graph.add_nodes_from((("server", r) for r in range(s.servers)), bipartite=1)
        for e, (p, r) in enumerate(s.edges.tolist()):
            data = {"demand": s.demand[e].tolist(), "mean": float(self.mean[e]), "cost": float(s.cost[e])}
            if self.noise == "clipped-normal":
                data["scale"] = float(self.scale[e])
            graph.add_edge(("port", p), ("server", r), **data)
        return graph

    @classmethod
    def from_networkx(cls, graph: nx.Graph) -> Self:
        """Build an instance from a graph like that of :meth:`to_networkx`.

        Raises
        ------
        InputError
            For an edge or graph attribute that is missing or malformed, by name.
        """
        ports, _, pairs = bipartite(graph)

        def column(key: str) -> list[Any]:
            ends = [(("port", p), ("server", r)) for p, r in pairs]
            return [need(graph.edges[u, v], key, f"graph.edges[{u}, {v}].") for u, v in ends]

        noise = need(graph.graph, "noise", "graph.")
        return cls(
            edges=pairs,
            demand=column("demand"),
            capacity=need(graph.graph, "capacity", "graph."),
            mean=column("mean"),
            arrivals=need(graph.graph, "arrivals", "graph."),
            noise=noise,
            scale=column("scale") if noise == "clipped-normal" else None,
            seed=need(graph.graph, "seed", "graph."),
            cost=column("cost"),
            path=graph.graph.get("path"),
            ports=ports,
        )


def count_ports(port: np.ndarray, arrivals: Any, ports: int | None, where: str = "edges[{}][0]") -> int:
    """Return the number of ports, and refuse an entry of ``port`` that is not there.

    ``where`` is how an error names the entry with that index.
    """
    rows = arrivals if isinstance(arrivals, (list, tuple, np.ndarray)) else ()
    known = int(port.max(initial=-1)) + 1
    if ports is not None:
        count = whole("ports", ports, 1, LARGEST)
    elif isinstance(rows, np.ndarray) and rows.ndim == 2:
        count = rows.shape[1]
    elif len(rows) and isinstance(rows[0], (list, tuple, np.ndarray)):
        count = len(rows[0])
    else:
        count = max(1, known)
    if count == 0:
        raise InputError("arrivals: no columns; an instance needs at least one port")
    for i in np.flatnonzero(port >= count)[:1]:
        raise InputError(f"{where.format(i)}: {port[i]} is out of range for {count} {things(count, 'ports')}")
    return count


def edge_order(pairs: np.ndarray, field: str = "edges") -> np.ndarray:
    """Return the order by first, then second entry, and refuse a pair that stands twice."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    for i in np.flatnonzero((np.diff(ordered, axis=0) == 0).all(axis=1))[:1]:
        raise InputError(f"{field}[{int(order[i + 1])}]: {ordered[i].tolist()} stands twice")
    return order


def noise_fields(noise: Any) -> tuple[Any, Any]:
    """Return the kind and the scale of the JSON object ``noise``."""
    if not isinstance(noise, Mapping):
        raise InputError(f"noise: {noise!r} is not an object with kind and scale")
    refuse_unknown(noise, {"kind", "scale"}, "noise.")
    return need(noise, "kind", "noise."), noise.get("scale")


def _noise(kind: Any, scale: Any, count: int, order: np.ndarray) -> tuple[str, np.ndarray]:
    """Check the distribution and return its kind and the scales in the order of the channels."""
    choose(kind, NOISES, "noise.kind")
    if scale is None:
        if kind == "clipped-normal":
            raise InputError("noise.scale: missing field; clipped-normal needs one number per channel")
        return kind, frozen_copy(np.zeros(count))
    values = numbers(scale, "noise.scale", (count,), high=1e6)
    if kind != "clipped-normal":
        for i in np.flatnonzero(values)[:1]:
            raise InputError(f"noise.scale[{i}]: {values[i]:g} has no meaning for {kind}")
    return kind, frozen_copy(values[order])
