"""Gang scheduling (Sec. 3.4 of ESDP): a job consists of tasks, and runs only if enough of them do.

A channel joins a task q of a port l with a server r, so x is one number per channel. The sound form, with a
launch y_l that is 1 if and only if any task of the job runs, is in every slot::

    y_l <= 1_l(t)                                     only jobs that are there
    sum_r x[q,r] <= y_l                               a task runs on one server at most
    sum_{q,r} x[q,r] >= m_l y_l                       none of a job's tasks, or at least m_l of them
    sum_{l,q} a[q,k] x[q,r] <= c[r,k]                 devices of each kind on each server
    x, y binary

As printed the third row lacks y_l: then no decision is feasible once a port with m_l >= 1 has no job.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..base import FORMAT_VERSION, InputError, Origin, Violation, need, numbers, refuse_unknown
from .instance import LARGEST, ChannelInstance, count_ports, edge_order, frozen, noise_fields

MOST_DEVICES = 10**6
"""The largest demand and capacity of a server: HiGHS loses optima over much smaller shares of a capacity."""


@dataclass(frozen=True, eq=False)
class GangSetting:
    r"""What a policy may know before it starts; every array is read-only.

    Attributes
    ----------
    pairs
        The channels: (task, server) pairs, shape (E, 2), sorted by task, then server, and so by port.
    task_port
        Port of each task, ascending, shape (Q,).
    demand
        a: devices of each kind that a task takes on the server it runs on, whole, shape (Q, K).
    capacity
        c: devices of each kind on each server, whole, shape (R, K).
    minimum
        m_l: the least number of tasks of a job that runs, whole, shape (L,). A job with fewer tasks than
        that can never run.
    ports
        Number of ports \|L|.
    slots
        Length T of the horizon.
    """

    pairs: np.ndarray
    task_port: np.ndarray
    demand: np.ndarray
    capacity: np.ndarray
    minimum: np.ndarray
    ports: int
    slots: int

    @property
    def channels(self) -> int:
        """Number of channels E."""
        return len(self.pairs)

    @property
    def tasks(self) -> int:
        """Number of tasks Q of all ports together."""
        return len(self.task_port)

    @property
    def servers(self) -> int:
        """Number of servers R."""
        return len(self.capacity)

    @property
    def kinds(self) -> int:
        """Number of device kinds K."""
        return self.capacity.shape[1]

    @cached_property
    def task(self) -> np.ndarray:
        """Task of each channel, ascending, shape (E,)."""
        return frozen(self.pairs[:, 0])

    @cached_property
    def server(self) -> np.ndarray:
        """Server of each channel, shape (E,)."""
        return frozen(self.pairs[:, 1])

    @cached_property
    def port(self) -> np.ndarray:
        """Port of each channel, ascending, shape (E,)."""
        return frozen(self.task_port[self.task])

    @cached_property
    def fits(self) -> np.ndarray:
        """Whether the task of a channel fits on its server while that is empty, shape (E,)."""
        return frozen((self.demand[self.task] <= self.capacity[self.server]).all(axis=1))

    @cached_property
    def most_channels(self) -> int:
        """m: the most channels that can be chosen at once, when every port has a job, exactly."""
        from .gang_program import most_tasks

        return most_tasks(self, np.ones(self.channels, dtype=bool), np.ones(self.ports)).marked

    def open(self, arrivals: np.ndarray) -> np.ndarray:
        """Return which channels belong to ports with a job, shape (E,)."""
        result: np.ndarray = arrivals[self.port] > 0
        return result

    def used(self, x: np.ndarray) -> np.ndarray:
        """Return the devices of each kind that a decision takes on each server, shape (R, K)."""
        result = np.zeros(self.capacity.shape)
        np.add.at(result, self.server, x[:, None] * self.demand[self.task])
        return result

    def check_shape(self, x: Any) -> np.ndarray:
        """Return a decision as a contiguous float array, or raise for a wrong shape or type."""
        if x is None:
            raise InputError(
                "decision: None; decide() must return an array of zeros and ones, one per channel"
            )
        try:
            array = np.ascontiguousarray(x, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"decision: not an array of numbers: {error}") from error
        if array.shape != (self.channels,):
            raise InputError(f"decision: shape {array.shape} does not fit, expected ({self.channels},)")
        return array

    def violations(self, x: Any, arrivals: np.ndarray | None = None) -> list[Violation]:
        """List the broken constraints.

        A job counts as launched if any of its channels is not zero. Indices: "binary" and "arrival" (a
        channel of a port without a job) channel; "once" (a task on several servers) task; "minimum" port;
        "capacity" server, kind.

        Parameters
        ----------
        x
            A decision, shape (E,).
        arrivals
            The slot's arrivals; without them it is not looked at whether there are jobs.
        """
        array = self.check_shape(x)
        with np.errstate(invalid="ignore"):
            broken = {
                "binary": np.minimum(abs(array), abs(array - 1.0)),
                "once": np.bincount(self.task, weights=array, minlength=self.tasks) - 1.0,
                "minimum": self._lack(array),
                "capacity": self.used(array) - self.capacity,
            }
        if arrivals is not None:
            broken["arrival"] = np.where(self.open(arrivals), 0.0, abs(array))
        return [
            Violation(name, tuple(at), float(excess[tuple(at)]))
            for name, excess in broken.items()
            for at in np.argwhere(~(excess <= 0.0)).tolist()
        ]

    def feasible(self, x: np.ndarray, arrivals: np.ndarray) -> bool:
        """Tell whether a checked decision breaks nothing."""
        if not ((x == 0.0) | (x == 1.0)).all() or (x[~self.open(arrivals)] != 0.0).any():
            return False
        once = (np.bincount(self.task, weights=x, minlength=self.tasks) <= 1.0).all()
        return bool(once and (self._lack(x) <= 0.0).all() and (self.used(x) <= self.capacity).all())

    def _lack(self, x: np.ndarray) -> np.ndarray:
        """Return by how much the launched jobs fall short of their minimum, shape (L,)."""
        running = np.bincount(self.port, weights=x, minlength=self.ports)
        launched = np.bincount(self.port, weights=x != 0.0, minlength=self.ports) > 0
        result: np.ndarray = np.where(launched, self.minimum - running, 0.0)
        return result


class GangInstance(ChannelInstance):
    """A gang scheduling problem: a :class:`GangSetting`, and what nature hides.

    Parameters
    ----------
    channels
        (task, server) pairs, 0-based, none twice; stored sorted by task, then server.
    task_port
        Port of each task, ascending; a port may have no tasks.
    demand
        a[task][kind], whole and >= 0.
    capacity
        c[server][kind], whole and >= 0.
    minimum
        m[port], whole and >= 0; a job with fewer tasks than that can never run.
    mean, noise, scale, arrivals, seed, path, ports, origin
        As for :class:`.instance.SelectionInstance`, one entry per channel in place of one per edge.

    Raises
    ------
    InputError
        Naming the field, the index and the value at fault.
    """

    problem: ClassVar[str] = "selection-gang"
    setting: GangSetting

    def __init__(
        self,
        *,
        channels: Any,
        task_port: Any,
        demand: Any,
        capacity: Any,
        minimum: Any,
        mean: Any,
        arrivals: Any,
        noise: str = "none",
        scale: Any = None,
        seed: int = 0,
        path: Any = None,
        ports: int | None = None,
        origin: Origin | None = None,
    ) -> None:
        c = numbers(capacity, "capacity", (None, None), integer=True, high=MOST_DEVICES)
        if c.size == 0:
            raise InputError("capacity: empty; an instance needs a server and a kind of device")
        owner = numbers(task_port, "task_port", (None,), integer=True, high=LARGEST)
        ports = count_ports(owner, arrivals, ports, "task_port[{}]")
        for i in np.flatnonzero(np.diff(owner) < 0)[:1]:
            raise InputError(f"task_port[{i + 1}]: {owner[i + 1]} after {owner[i]}; ports must ascend")
        pairs = numbers(channels, "channels", (None, 2), integer=True, high=LARGEST)
        for column, (count, name) in enumerate(((len(owner), "tasks"), (len(c), "servers"))):
            for i in np.flatnonzero(pairs[:, column] >= count)[:1]:
                found = pairs[i, column]
                raise InputError(f"channels[{i}][{column}]: {found} is out of range for {count} {name}")
        order = edge_order(pairs, "channels")
        a = numbers(demand, "demand", (len(owner), c.shape[1]), integer=True, high=MOST_DEVICES)
        m = numbers(minimum, "minimum", (ports,), integer=True, high=LARGEST)
        self._hide(order, ports, mean=mean, noise=noise, scale=scale, arrivals=arrivals, seed=seed, path=path)
        self.setting = GangSetting(frozen(pairs[order]), owner, a, c, m, ports, len(self.arrivals))
        self.origin = origin if origin is not None else Origin("given by hand")

    def __repr__(self) -> str:
        s = self.setting
        return (
            f"SelectionGangInstance(ports={s.ports}, tasks={s.tasks}, servers={s.servers}, kinds={s.kinds}, "
            f"channels={s.channels}, slots={s.slots}, digest={self.digest()})"
        )

    @classmethod
    def generate(cls, size: str = "default", seed: int = 0, **options: Any) -> GangInstance:
        """Return a synthetic instance; options as in :func:`.gang_generate.generate`."""
        from .gang_generate import generate

        return generate(size, seed, **options)

    @classmethod
    def from_trace(cls, folder: str | os.PathLike[str], **options: Any) -> GangInstance:
        """Return an instance made from traces; options as in :func:`.gang_generate.from_trace`."""
        from .gang_generate import from_trace

        return from_trace(folder, **options)

    def facts(self) -> dict[str, float]:
        """Return the numbers that say how large the instance is, by name."""
        s = self.setting
        return {
            "ports": s.ports,
            "tasks": s.tasks,
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
        yield "channels", s.pairs
        yield "task_port", s.task_port
        yield "demand", s.demand
        yield "capacity", s.capacity
        yield "minimum", s.minimum
        yield from self._hidden()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with ``origin``, and ``path`` if it is recorded."""
        s = self.setting
        return {
            "problem": self.problem,
            "version": FORMAT_VERSION,
            "channels": s.pairs.tolist(),
            "task_port": s.task_port.tolist(),
            "demand": s.demand.tolist(),
            "capacity": s.capacity.tolist(),
            "minimum": s.minimum.tolist(),
            **self._hidden_fields(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build an instance from its JSON form; see the class for what is refused."""
        fields = {"channels", "task_port", "demand", "capacity", "minimum", "mean", "arrivals", "seed"}
        optional = {"path", "ports"}
        refuse_unknown(data, fields | optional | {"problem", "version", "noise", "origin"})
        kind, scale = noise_fields(need(data, "noise"))
        return cls(
            **{name: need(data, name) for name in fields},
            **{name: data[name] for name in optional & data.keys()},
            noise=kind,
            scale=scale,
            origin=Origin.from_dict(data["origin"]) if "origin" in data else None,
        )


def printed_counterexample() -> GangInstance:
    """Return the smallest instance on which the printed constraint fails: one of everything, and no job."""
    return GangInstance(
        channels=[[0, 0]],
        task_port=[0],
        demand=[[1]],
        capacity=[[1]],
        minimum=[1],
        mean=[0.5],
        arrivals=[[0]],
        origin=Origin("the smallest instance on which Sec. 3.4 as printed has no decision"),
    )
