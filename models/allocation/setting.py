"""What a policy of the allocation problem may know: setting, observations and feedback (Sec. 2 of OGASched).

Decisions are arrays ``y[edge, kind]`` in devices, rows in the order of ``setting.edges``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from ..base import InputError, Violation, decided, frozen_copy
from ..fields import Field, Record, Text
from ..slots import Observation as Observation
from . import utility

TOLERANCE = 1e-9
"""A limit counts as kept if exceeded by at most this part of it, whatever the unit; a demand also below 0.

An entry that is within it beyond 0 or the demand scores as if it were there (:meth:`Setting.held`). Only
what is above a capacity scores as it is. As rewards are concave and 0 at 0, a slot then earns at most
1 + TOLERANCE times what can be had without any tolerance, up to the rounding of sums.
"""


def _kernels() -> ModuleType:
    """Load the compiled kernels when they are first needed."""
    from . import kernels

    return kernels


@dataclass(frozen=True)
class Names:
    """Optional labels of ports, servers and device kinds, for people to read."""

    ports: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, list[str]]:
        """Return the JSON form, leaving out what is not named."""
        return NAMES.write(self)


NAMES = Record(
    Field("ports", Text(listed=True, axis="L"), "labels of the ports", optional=True, absent=()),
    Field("servers", Text(listed=True, axis="R"), "labels of the servers", optional=True, absent=()),
    Field("kinds", Text(listed=True, axis="K"), "labels of the kinds of devices", optional=True, absent=()),
    make=Names,
)


@dataclass(frozen=True, eq=False)
class Setting:
    """What a policy may know before it starts; every array is read-only.

    Attributes
    ----------
    kind
        Utility family, index into ``utility.KINDS``, shape (R, K).
    slots
        Length T of the horizon.
    """

    edges: np.ndarray
    demand: np.ndarray
    capacity: np.ndarray
    overhead: np.ndarray
    kind: np.ndarray
    alpha: np.ndarray
    slots: int
    names: Names = Names()
    copy_of: np.ndarray | None = None

    @property
    def ports(self) -> int:
        """Number of ports |L|."""
        return len(self.demand)

    @property
    def servers(self) -> int:
        """Number of servers |R|."""
        return len(self.capacity)

    @property
    def kinds(self) -> int:
        """Number of device kinds K."""
        return len(self.overhead)

    @property
    def density(self) -> float:
        """Mean number of ports per server, sum_r |L_r| / |R|."""
        return len(self.edges) / self.servers

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (E, K) of a decision."""
        return len(self.edges), self.kinds

    @cached_property
    def port(self) -> np.ndarray:
        """Port of each edge, shape (E,)."""
        return frozen_copy(self.edges[:, 0])

    @cached_property
    def server(self) -> np.ndarray:
        """Server of each edge, shape (E,)."""
        return frozen_copy(self.edges[:, 1])

    @cached_property
    def server_start(self) -> np.ndarray:
        """Edges of server r are ``server_start[r]:server_start[r + 1]``."""
        return frozen_copy(np.searchsorted(self.server, np.arange(self.servers + 1)))

    @cached_property
    def port_edges(self) -> np.ndarray:
        """Edge indices grouped by port, each group by server; see ``port_start``."""
        return frozen_copy(np.argsort(self.port, kind="stable"))

    @cached_property
    def port_start(self) -> np.ndarray:
        """Edges of port l are ``port_edges[port_start[l]:port_start[l + 1]]``."""
        return frozen_copy(np.searchsorted(self.port[self.port_edges], np.arange(self.ports + 1)))

    @cached_property
    def edge_demand(self) -> np.ndarray:
        """Upper limit a of every entry of a decision, shape (E, K)."""
        return frozen_copy(self.demand[self.port])

    @cached_property
    def edge_kind(self) -> np.ndarray:
        """Utility family of every entry of a decision, shape (E, K)."""
        return frozen_copy(self.kind[self.server])

    @cached_property
    def edge_alpha(self) -> np.ndarray:
        """Utility scale of every entry of a decision, shape (E, K)."""
        return frozen_copy(self.alpha[self.server])

    @cached_property
    def server_demand(self) -> np.ndarray:
        """Sum of the demands of the ports of each server, sum_{l in L_r} a, shape (R, K)."""
        total = np.zeros((self.servers, self.kinds))
        np.add.at(total, self.server, self.edge_demand)
        return frozen_copy(total)

    @cached_property
    def blocks(self) -> Blocks:
        """Rows of the decision in the order of the compiled kernels; see :class:`Blocks`."""
        return Blocks(self)

    def check_shape(self, y: Any) -> np.ndarray:
        """Return a decision as a contiguous float array, or raise for a wrong shape or type."""
        return decided(y, self.shape, " (edges, kinds)", "an array of shape (edges, kinds)")

    def project(self, z: np.ndarray) -> np.ndarray:
        """Return the Euclidean projection of ``z`` onto the feasible set Y, exact up to rounding (11).

        Every (server, kind) row is solved by a safeguarded Newton iteration on its dual variable: it finds
        rho/2 >= 0 with sum_l clip(z - rho/2, 0, a) = c, or rho = 0 where the row is not full. Another shape,
        or entries that are not finite, are an InputError.
        """
        array = self.check_shape(z)
        if not np.isfinite(array).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise InputError(f"z[{index[0]}][{index[1]}]: {array[index]} is not finite")
        return self.blocks.project(array)

    def port_sums(self, y: np.ndarray) -> np.ndarray:
        """Return sum_{r in R_l} y, the devices of each kind that each port holds, shape (L, K)."""
        total = np.zeros((self.ports, self.kinds))
        np.add.at(total, self.port, y)
        return total

    def server_sums(self, y: np.ndarray) -> np.ndarray:
        """Return sum_{l in L_r} y, the devices of each kind in use on each server, shape (R, K)."""
        total = np.zeros((self.servers, self.kinds))
        np.add.at(total, self.server, y)
        return total

    def held(self, y: np.ndarray) -> np.ndarray:
        """Return what a decision is scored as, shape (E, K).

        That is 0 or the demand where ``y`` is beyond it by no more than the tolerance, and ``y`` elsewhere.
        """
        most = self.edge_demand
        inside = np.clip(y, 0.0, most)
        return np.where((y >= -TOLERANCE * most) & (y <= most + TOLERANCE * most), inside, y)

    def gains(self, y: np.ndarray) -> np.ndarray:
        """Return each port's computation gain sum_{r,k} f(y) per job, shape (L,)."""
        values = utility.value(self.edge_kind, self.edge_alpha, y).sum(axis=1)
        return np.bincount(self.port, weights=values, minlength=self.ports)

    def penalties(self, y: np.ndarray) -> np.ndarray:
        """Return each port's dominant overhead max_k beta_k sum_r y per job, shape (L,)."""
        return (self.port_sums(y) * self.overhead).max(axis=1)

    def port_rewards(self, y: np.ndarray) -> np.ndarray:
        """Return q_l(y), each port's reward per arriving job (5) in the separable form (7), shape (L,).

        As :meth:`evaluate`, it scores what :meth:`held` returns.
        """
        held = self.held(y)
        return self.gains(held) - self.penalties(held)

    def supergradient(self, y: np.ndarray, arrivals: np.ndarray) -> np.ndarray:
        """Return a supergradient (9) of the slot's reward at ``y``, shape (E, K).

        Where several kinds attain the maximum of (10), the smallest is taken.
        """
        dominant = (self.port_sums(y) * self.overhead).argmax(axis=1)
        slope = utility.slope(self.edge_kind, self.edge_alpha, y)
        charged = np.arange(self.kinds) == dominant[self.port][:, None]
        return arrivals[self.port][:, None] * (slope - charged * self.overhead)

    def evaluate(self, y: np.ndarray, arrivals: np.ndarray) -> tuple[float, bool]:
        """Return the slot's reward and whether ``y`` is feasible, in one compiled pass."""
        reward, feasible = _kernels().evaluate(
            y,
            arrivals,
            self.port,
            self.server_start,
            self.edge_demand,
            self.capacity,
            self.overhead,
            self.kind,
            self.alpha,
            TOLERANCE,
        )
        return float(reward), bool(feasible)

    @np.errstate(over="ignore", invalid="ignore")
    def violations(self, y: Any) -> list[Violation]:
        """List the broken constraints of (3) and (4); not-a-number entries break both limits.

        Of a server's devices, those are used that :meth:`held` returns.
        """
        array = self.check_shape(y)
        demand, capacity = self.edge_demand, self.capacity
        used = self.server_sums(self.held(array))
        found = []
        for name, kept, excess in (
            ("nonnegative", array >= -TOLERANCE * demand, -array),
            ("demand", array <= demand + TOLERANCE * demand, array - demand),
            ("capacity", used <= capacity + TOLERANCE * capacity, used - capacity),
        ):
            for i, k in np.argwhere(~kept):
                at = (int(self.port[i]), int(self.server[i])) if name != "capacity" else (int(i),)
                found.append(Violation(name, (*at, int(k)), float(excess[i, k])))
        return found


class Blocks:
    """The rows of a setting, arranged in blocks of ``kernels.LANES`` rows of one utility family.

    Entries of block b are ``start[b]:start[b + 1]``, as [position][lane]. Per entry, ``limit`` is the most it
    can be, min(a, c) (0 in padding), and ``slot`` its place ``port * K + kind`` in tables by port and kind
    (padding points at one place past the end). ``position`` is the entry of each (edge, kind) of a decision,
    shape (E * K,). Per lane, ``cap`` and ``alpha`` are the capacity and utility scale; per block, ``family``
    is the utility family.
    """

    def __init__(self, setting: Setting) -> None:
        lanes, kinds = _kernels().LANES, setting.kinds
        degree = np.diff(setting.server_start)
        r, k = np.divmod(np.arange(setting.servers * kinds), kinds)
        family = setting.kind[r, k]
        order = np.lexsort((k, -degree[r], family))
        order = order[degree[r[order]] > 0]
        r, k, family = r[order], k[order], family[order]
        lane = (np.arange(len(order)) - np.searchsorted(family, family)) % lanes
        first = lane == 0  # in its block
        block, depth = np.cumsum(first) - 1, degree[r[first]]
        self.start = np.concatenate([[0], np.cumsum(depth * lanes)]).astype(np.int64)
        self.cap, self.alpha = np.zeros((len(depth), lanes)), np.ones((len(depth), lanes))
        self.cap[block, lane], self.alpha[block, lane] = setting.capacity[r, k], setting.alpha[r, k]
        self.family = family[first].astype(np.int64)
        row = np.repeat(np.arange(len(order)), degree[r])
        rank = np.arange(len(row)) - np.repeat(np.cumsum(degree[r]) - degree[r], degree[r])
        entry, edge = (self.start[block] + lane)[row] + rank * lanes, setting.server_start[r][row] + rank
        size, kind = int(self.start[-1]), k[row]
        self.limit, self.slot = np.zeros(size), np.full(size, setting.ports * kinds, dtype=np.int64)
        self.limit[entry] = np.minimum(setting.edge_demand[edge, kind], setting.capacity[r, k][row])
        self.slot[entry] = setting.port[edge] * kinds + kind
        self.position = np.empty(setting.shape[0] * kinds, dtype=np.int64)
        self.position[edge * kinds + kind] = entry
        for array in vars(self).values():  # a policy gets at them through its setting
            array.setflags(write=False)

    def pack(self, y: np.ndarray) -> np.ndarray:
        """Return a decision's values in block order, zero in padding."""
        packed = np.zeros(len(self.limit))
        packed[self.position] = y.ravel()
        return packed

    def project(self, z: np.ndarray) -> np.ndarray:
        """Return the projection of ``z[edge, kind]`` onto the feasible set."""
        packed = self.pack(z)
        _kernels().project_all(packed, self.start, self.limit, self.cap, np.zeros_like(self.cap))
        return packed[self.position].reshape(z.shape)


@dataclass(frozen=True)
class Feedback:
    """What a policy learns after its decision: the slot's arrivals and its own reward."""

    slot: int
    arrivals: np.ndarray
    reward: float
