"""Instances of the selection problem (Sec. 2 of ESDP)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from ..base import ORIGIN, Declared, InputError, Origin, Violation, floats, frozen_copy, need, things
from ..fields import Choice, Field, Number, Record, complete
from ..graphs import bipartite, pair_order
from ..stopwatch import library
from .channels import LARGEST, Channels
from .episode import SlotEpisode
from .noise import NOISES, draw_path
from .setting import Setting

if TYPE_CHECKING:
    import networkx as nx


COUNT: dict[str, Any] = {"high": LARGEST, "integer": True}

HIDDEN = (
    Field(
        "mean",
        Number(("E",), high=1.0),
        "v~: expected net utility of a channel in a slot, costs taken off",
        hidden=True,
    ),
    Field(
        "noise.kind",
        Choice(NOISES),
        "distribution of the net utility: a normal one clipped to [0, 1], one of 0 and 1, or the mean",
        argument="noise",
        hidden=True,
    ),
    Field(
        "noise.scale",
        Number(("E",), high=1e6),
        "for `clipped-normal` only: standard deviation before clipping",
        optional=True,
        null=True,
        hidden=True,
    ),
    Field(
        "arrivals",
        Number(("T", "L"), high=1, integer=True),
        "1_l(t): whether a port has a job in a slot; T may be 0",
        hidden=True,
    ),
    Field(
        "seed",
        Number(integer=True),
        "decides the net utilities that the channels have in every slot",
        hidden=True,
    ),
    ORIGIN,
    Field(
        "ports", Number(low=1, **COUNT), "L; needed only where T is 0", optional=True, null=True, counts=False
    ),
    Field(
        "path",
        Number(("T", "E"), high=1.0),
        "the net utilities themselves, in place of those that the seed draws",
        optional=True,
        null=True,
        at="recorded",
        hidden=True,
    ),
)
"""What nature hides, and the number of ports."""

FIELDS = Record(
    Field(
        "edges",
        Number(("E", 2), **COUNT),
        "the channels, as pairs [port, server], none twice; stored by port, then server",
    ),
    Field(
        "demand", Number(("E", "K"), **COUNT), "a: devices of each kind that a channel takes while it is on"
    ),
    Field(
        "capacity",
        Number(("K",), **COUNT, some="at least one kind of device"),
        "c: devices of each kind in the whole cluster",
    ),
    Field(
        "cost",
        Number(("E",)),
        "supply cost of a channel, already taken off the mean; 0 by default",
        optional=True,
        null=True,
    ),
    *HIDDEN,
)
complete(Channels, FIELDS)


class ChannelInstance(Declared):
    """What instances share whose decisions choose channels: means, noise, sample path, arrivals, rewards."""

    shows: ClassVar[frozenset[str]] = frozenset({"arrivals"})
    mean: np.ndarray
    """v~: expected net utility of each channel, shape (E,)."""
    noise: str
    scale: np.ndarray
    seed: int
    recorded: np.ndarray | None
    """The sample path, if it was given and not drawn."""
    arrivals: np.ndarray
    """1_l(t), shape (T, L)."""

    def _hide(self, read: Callable[[str, Any], Any], order: np.ndarray, **given: Any) -> None:
        """Read what nature hides and keep it, with the channels put in ``order``."""
        self.mean = frozen_copy(read("mean", given["mean"])[order])
        self.noise = read("noise.kind", given["noise"])
        self.scale = _scale(self.noise, read("noise.scale", given["scale"]), order)
        self.arrivals, self.seed = read("arrivals", given["arrivals"]), read("seed", given["seed"])
        path = read("path", given["path"])
        self.recorded = None if path is None else frozen_copy(path[:, order])

    def content(self) -> Iterator[tuple[str, Any]]:
        """Yield what identifies the instance; the origin does not, nor a seed that draws nothing."""
        yield from (pair for pair in super().content() if pair[0] != "seed" or self.recorded is None)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with ``origin``, and ``path`` if it is recorded."""
        data = super().to_dict()
        if self.noise != "clipped-normal":
            del data["noise"]["scale"]
        if len(self.arrivals):
            del data["ports"]
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
        return self._rows(decision) @ self.mean

    def _rows(self, decision: Any) -> np.ndarray:
        rows = floats(decision)
        shape = (self.setting.slots, self.setting.channels)
        if rows.size == 0:
            rows = rows.reshape(shape) if 0 in shape else rows
        if rows.shape != shape:
            raise InputError(f"decision: shape {rows.shape} does not fit, expected {shape} (slots, channels)")
        return rows


class SelectionInstance(ChannelInstance):
    """A selection problem: a :class:`Setting`, and what nature hides: means, sample path and arrivals."""

    problem: ClassVar[Literal["selection"]] = "selection"
    declared: ClassVar[Record] = FIELDS
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
        sizes: dict[str, int] = {}
        read = FIELDS.reader(sizes)
        c, pairs = read("capacity", capacity), read("edges", edges)
        sizes["L"] = count_ports(pairs[:, 0], arrivals, read("ports", ports))
        order = pair_order(pairs)
        a, supply = read("demand", demand), read("cost", np.zeros(len(pairs)) if cost is None else cost)
        self._hide(read, order, mean=mean, noise=noise, scale=scale, arrivals=arrivals, seed=seed, path=path)
        self.setting = Setting(
            frozen_copy(pairs[order]),
            frozen_copy(a[order]),
            c,
            frozen_copy(supply[order]),
            sizes["L"],
            len(self.arrivals),
        )
        self.origin = origin if origin is not None else Origin("given by hand")

    def __repr__(self) -> str:
        s = self.setting
        return (
            f"SelectionInstance(ports={s.ports}, servers={s.servers}, kinds={s.kinds}, "
            f"channels={s.channels}, slots={s.slots}, digest={self.digest()})"
        )

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

        An edge or graph attribute that is missing or malformed is an InputError.
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
        count = ports
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


def _scale(noise: str, scale: np.ndarray | None, order: np.ndarray) -> np.ndarray:
    """Return the scales in the order of the channels; refuse those that the distribution has no use for."""
    if scale is None and noise == "clipped-normal":
        raise InputError("noise.scale: missing field; clipped-normal needs one number per channel")
    values = np.zeros(len(order)) if scale is None else scale
    for i in np.flatnonzero(values)[:1] if noise != "clipped-normal" else ():
        raise InputError(f"noise.scale[{i}]: {values[i]:g} has no meaning for {noise}")
    return frozen_copy(values[order])
