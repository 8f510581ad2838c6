"""Instances of the allocation problem (Sec. 2 of OGASched)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from ..base import ORIGIN, Declared, InputError, Origin, Violation, frozen_copy, need
from ..fields import Choice, Field, Number, Record, complete
from ..graphs import bipartite, pair_order
from ..stopwatch import library
from . import utility
from .episode import SlotEpisode
from .setting import NAMES, Names, Setting

if TYPE_CHECKING:
    import networkx as nx


LARGEST = 1e50
"""The largest demand, capacity or scale; the smallest that is not 0 is its inverse, of an overhead too."""


SIZE: dict[str, Any] = {"high": LARGEST, "least": 1.0 / LARGEST}
"""Products of a few such numbers neither overflow nor vanish, whatever an oracle or a policy computes."""

SOME = "at least one port, server and kind"

FIELDS = Record(
    Field(
        "edges",
        Number(("E", 2), integer=True),
        "which port may use which server, as pairs [port, server]; none twice; stored by server, then port",
    ),
    Field(
        "demand",
        Number(("L", "K"), **SIZE, some=SOME),
        "a: the most devices of a kind that a job takes on one server",
    ),
    Field("capacity", Number(("R", "K"), **SIZE, some=SOME), "c: devices of each kind on each server"),
    Field(
        "overhead",
        Number(("K",), high=1.0, least=1.0 / LARGEST, some=SOME),
        "beta: weight of the communication overhead of each kind",
    ),
    Field(
        "utility.kind",
        Choice(utility.KINDS, ("R", "K")),
        "family of the utility",
        argument="utility_kind",
        at="kind",
    ),
    Field(
        "utility.alpha", Number(("R", "K"), **SIZE), "scale of the utility; positive where it is `reciprocal`"
    ),
    Field(
        "arrivals",
        Number(("T", "L"), high=2.0**31, integer=True),
        "x: number of jobs at each port in each slot; T may be 0",
        hidden=True,
    ),
    ORIGIN,
    Field(
        "names",
        NAMES,
        "labels: lists `ports`, `servers`, `kinds`",
        optional=True,
        null=True,
        absent=Names(),
        counts=False,
    ),
    Field(
        "copy_of",
        Number(("L",), high="L - 1", integer=True),
        "where ports are copies, one per simultaneous job: the port each stems from",
        optional=True,
        null=True,
    ),
)
complete(Setting, FIELDS)


class AllocationInstance(Declared[Setting]):
    """An allocation problem: a :class:`Setting` and the arrivals that nature reveals slot by slot."""

    problem: ClassVar[Literal["allocation"]] = "allocation"
    declared: ClassVar[Record] = FIELDS
    shows: ClassVar[frozenset[str]] = frozenset({"arrivals"})
    setting: Setting
    arrivals: np.ndarray

    def __init__(
        self,
        *,
        edges: Any,
        demand: Any,
        capacity: Any,
        overhead: Any,
        utility_kind: Any,
        alpha: Any,
        arrivals: Any,
        names: Names | Mapping[str, Sequence[str]] | None = None,
        origin: Origin | None = None,
        copy_of: Any = None,
    ) -> None:
        sizes: dict[str, int] = {}
        read = FIELDS.reader(sizes)
        beta, a, c = read("overhead", overhead), read("demand", demand), read("capacity", capacity)
        self.arrivals = read("arrivals", arrivals)
        sizes["L - 1"] = len(a) - 1
        copies, scale = read("copy_of", copy_of), read("utility.alpha", alpha)
        pairs = read("edges", edges)
        self.setting = Setting(
            edges=frozen_copy(
                pairs[pair_order(pairs, "edges", [(len(a), "ports"), (len(c), "servers")], by=1)]
            ),
            demand=a,
            capacity=c,
            overhead=beta,
            kind=_families(read("utility.kind", utility_kind), scale),
            alpha=scale,
            slots=len(self.arrivals),
            names=read("names", names.to_dict() if isinstance(names, Names) else names) or Names(),
            copy_of=copies,
        )
        self.origin = origin if origin is not None else Origin("given by hand")

    def __repr__(self) -> str:
        s = self.setting
        return (
            f"AllocationInstance(ports={s.ports}, servers={s.servers}, kinds={s.kinds}, "
            f"edges={len(s.edges)}, slots={s.slots}, digest={self.digest()})"
        )

    def facts(self) -> dict[str, float]:
        """Return the numbers that say how large the instance is, by name."""
        s = self.setting
        return {
            "ports": s.ports,
            "servers": s.servers,
            "device kinds": s.kinds,
            "edges": len(s.edges),
            "ports per server": s.density,
            "slots": s.slots,
            "jobs": int(self.arrivals.sum()),
        }

    def episode(self, sees: frozenset[str]) -> SlotEpisode:
        """Return a fresh pass through the slots; ``sees`` may hold "arrivals"."""
        return SlotEpisode(self, "arrivals" in sees)

    def violations(self, decision: Any) -> list[Violation]:
        """List the constraints of (3) and (4) that a decision y[edge, kind] breaks."""
        return self.setting.violations(decision)

    def rewards(self, y: np.ndarray) -> np.ndarray:
        """Return the reward of holding ``y`` in every slot, shape (T,)."""
        return self.arrivals @ self.setting.port_rewards(y)

    @cached_property
    def arrival_counts(self) -> np.ndarray:
        """N_l: jobs per port over all slots, shape (L,). The stationary optimum depends on nothing else."""
        return frozen_copy(self.arrivals.sum(axis=0))

    def with_arrivals(self, arrivals: Any) -> AllocationInstance:
        """Return the same setting under other arrivals (and so maybe another horizon)."""
        x = FIELDS.reader({"L": self.setting.ports})("arrivals", arrivals)
        other = object.__new__(type(self))
        other.setting = replace(self.setting, slots=len(x))
        other.arrivals = x
        other.origin = self.origin
        return other

    def copies(self) -> AllocationInstance:
        """Return the instance of Sec. 3.4: port l becomes J_l = max_t x_l(t) ports, one per simultaneous job.

        Copy j of a port yields a job in the slots with more than j arrivals. Copies of a port stand together;
        a port that never yields a job keeps one copy. ``setting.copy_of`` names the port of each copy.

        The number of copies tells how many jobs a port has at most at once, which nobody knows beforehand: a
        policy that is to be online must not use a copy before it is seen, as OGASched does not.
        """
        s = self.setting
        most = np.maximum(1, self.arrivals.max(axis=0, initial=0))
        origin_port = np.repeat(np.arange(s.ports), most)
        rank = np.concatenate([np.arange(n) for n in most])
        first = np.concatenate([[0], np.cumsum(most)])
        edges = [(first[p] + j, r) for p, r in s.edges.tolist() for j in range(int(most[p]))]
        labels = s.names.ports or tuple(f"port {p}" for p in range(s.ports))
        return AllocationInstance(
            edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
            demand=s.demand[origin_port],
            capacity=s.capacity,
            overhead=s.overhead,
            utility_kind=np.array(utility.KINDS)[s.kind],
            alpha=s.alpha,
            arrivals=(self.arrivals[:, origin_port] > rank).astype(np.int64),
            names=replace(
                s.names, ports=tuple(f"{labels[p]}, job {j}" for p, j in zip(origin_port, rank, strict=True))
            ),
            origin=self.origin,
            copy_of=origin_port,
        )

    def content(self) -> Iterator[tuple[str, Any]]:
        """Yield what identifies the instance; labels and origin do not."""
        yield from (("kind" if name == "utility_kind" else name, value) for name, value in super().content())

    def to_networkx(self) -> nx.Graph:
        """Return the bipartite graph: nodes ("port", l) and ("server", r), problem data as attributes."""
        nx = library("networkx")

        s = self.setting
        graph = nx.Graph(problem=self.problem, overhead=s.overhead.tolist(), arrivals=self.arrivals.tolist())
        for p in range(s.ports):
            graph.add_node(("port", p), bipartite=0, demand=s.demand[p].tolist())
        for r in range(s.servers):
            graph.add_node(
                ("server", r),
                bipartite=1,
                capacity=s.capacity[r].tolist(),
                kind=[utility.KINDS[k] for k in s.kind[r]],
                alpha=s.alpha[r].tolist(),
            )
        graph.add_edges_from((("port", p), ("server", r)) for p, r in s.edges.tolist())
        return graph

    @classmethod
    def from_networkx(cls, graph: nx.Graph) -> Self:
        """Build an instance from a graph like that of :meth:`to_networkx`.

        A node or graph attribute that is missing or malformed is an InputError.
        """
        ports, servers, edges = bipartite(graph)

        def column(side: str, key: str) -> list[Any]:
            count = ports if side == "port" else servers
            return [need(graph.nodes[side, i], key, f"graph.{side}[{i}].") for i in range(count)]

        return cls(
            edges=edges,
            demand=column("port", "demand"),
            capacity=column("server", "capacity"),
            utility_kind=column("server", "kind"),
            alpha=column("server", "alpha"),
            overhead=need(graph.graph, "overhead", "graph."),
            arrivals=need(graph.graph, "arrivals", "graph."),
        )


def _families(codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the utility families, where the scales allow them."""
    for r, k in np.argwhere((codes == utility.RECIPROCAL) & (scale == 0))[:1]:
        raise InputError(f"utility.alpha[{r}][{k}]: 0 is not positive, as reciprocal needs")
    return codes
