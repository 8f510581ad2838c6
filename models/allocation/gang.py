"""Gang scheduling (Sec. 3.5): a job consists of tasks, and runs only if enough of them are wholly scheduled.

The set printed in 3.5 asks for a positive sum per task, which any epsilon meets. The sound form used here
has, for every task q of port l, a floor b and a demand a per kind, both for its total over all servers::

    b[l,q,k] v[l,q] <= sum_r y[l,q,r,k] <= a[l,q,k] v[l,q],   v[l,q] in {0, 1}     a task: all or nothing
    m_l u_l <= sum_q v[l,q],   v[l,q] <= u_l,   u_l in {0, 1}                      a job: none or at least m_l
    sum_{l,q} y[l,q,r,k] <= c[r,k],   y >= 0

The reward is that of the totals sum_q y, in the same separable form as for the fractional problem.
Decisions are arrays ``y[pair, kind]``; a pair is an edge and a task of its port.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from ..base import Declared, InputError, Origin, Violation, decided
from ..fields import Field, Number, Record
from . import draw
from .episode import SlotEpisode
from .instance import FIELDS, SIZE, AllocationInstance
from .setting import TOLERANCE, Setting


class _Scheduled(NamedTuple):
    """What a decision schedules."""

    least: np.ndarray  # what counts as nothing, shape (pairs, K)
    sums: np.ndarray  # what each task holds, shape (G, K)
    holds: np.ndarray  # tasks that hold more than that somewhere, shape (G,)
    lack: np.ndarray  # by how many tasks a port that holds something falls short of its minimum, shape (L,)
    held: np.ndarray  # what is scored, shape (pairs, K)


@dataclass(frozen=True, eq=False)
class AllocationGangSetting:
    """What a policy may know before it starts; every array is read-only.

    Attributes
    ----------
    base
        Graph, capacities, overhead and utilities. Its demand plays no part: tasks have their own.
    task_port
        Port of each task, ascending, shape (G,).
    task_demand, task_floor
        a and b of each task: the most and the least of each kind that a scheduled task holds, shape (G, K).
    minimum
        m_l: the least number of scheduled tasks of a job that runs, shape (L,).
    """

    base: Setting
    task_port: np.ndarray
    task_demand: np.ndarray
    task_floor: np.ndarray
    minimum: np.ndarray

    @property
    def ports(self) -> int:
        """Number of ports."""
        return self.base.ports

    @property
    def kinds(self) -> int:
        """Number of device kinds."""
        return self.base.kinds

    @property
    def slots(self) -> int:
        """Length T of the horizon."""
        return self.base.slots

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (pairs, K) of a decision."""
        return len(self.pair_edge), self.kinds

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        first = np.searchsorted(self.task_port, np.arange(self.ports + 1))
        many = np.diff(first)[self.base.port]
        edge = np.repeat(np.arange(len(self.base.edges)), many)
        rank = np.arange(len(edge)) - np.repeat(np.cumsum(many) - many, many)
        task = first[self.base.port[edge]] + rank
        for array in (edge, task):
            array.setflags(write=False)
        return edge, task

    @property
    def pair_edge(self) -> np.ndarray:
        """Edge of each pair, ascending, shape (pairs,)."""
        return self._pairs[0]

    @property
    def pair_task(self) -> np.ndarray:
        """Task of each pair, ascending within an edge, shape (pairs,)."""
        return self._pairs[1]

    def check_shape(self, y: Any) -> np.ndarray:
        """Return a decision as a contiguous float array, or raise for a wrong shape or type."""
        return decided(y, self.shape, " (pairs, kinds)")

    def totals(self, y: np.ndarray) -> np.ndarray:
        """Return sum_q y, what each edge carries, shape (E, K)."""
        total = np.zeros(self.base.shape)
        np.add.at(total, self.pair_edge, y)
        return total

    def task_sums(self, y: np.ndarray) -> np.ndarray:
        """Return sum_r y, what each task holds, shape (G, K)."""
        total = np.zeros(self.task_demand.shape)
        np.add.at(total, self.pair_task, y)
        return total

    def held(self, y: np.ndarray) -> np.ndarray:
        """Return what a decision is scored as, shape (pairs, K): 0 where what it holds counts as nothing.

        That is where ``y`` is below 0 by no more than the tolerance, and everything of a task that is not
        scheduled; see :meth:`violations`.
        """
        return self._scheduled(y).held

    def _scheduled(self, y: np.ndarray) -> _Scheduled:
        """Return which tasks a decision schedules, and what that leaves of it."""
        least = TOLERANCE * np.minimum(
            self.task_demand[self.pair_task], self.base.capacity[self.base.server[self.pair_edge]]
        )
        inside = np.where((y < 0.0) & (y >= -least), 0.0, y)
        held = np.zeros(len(self.task_port), dtype=bool)
        np.logical_or.at(held, self.pair_task, ~(y <= least).all(axis=1))
        sums = self.task_sums(inside)
        can = held | (sums >= self.task_floor * (1.0 - TOLERANCE)).all(axis=1)
        count = np.bincount(self.task_port, weights=can, minlength=self.ports)
        lack = np.where(
            np.bincount(self.task_port, weights=held, minlength=self.ports) > 0, self.minimum - count, 0
        )
        on = held | (can & (count >= self.minimum)[self.task_port])
        return _Scheduled(least, sums, held, lack, np.where(on[self.pair_task][:, None], inside, 0.0))

    def port_rewards(self, y: np.ndarray) -> np.ndarray:
        """Return each port's reward per arriving job, of what :meth:`held` returns, shape (L,)."""
        total = self.totals(self.held(y))
        return self.base.gains(total) - self.base.penalties(total)

    def evaluate(self, y: np.ndarray, arrivals: np.ndarray) -> tuple[float, bool]:
        """Return the slot's reward and whether ``y`` is feasible."""
        with np.errstate(all="ignore"):  # what has no finite reward is infeasible
            reward = float(arrivals @ self.port_rewards(y))
        return reward, not self.violations(y)

    @np.errstate(over="ignore", invalid="ignore")
    def violations(self, y: Any) -> list[Violation]:
        """List the broken constraints; every limit counts in its own unit.

        Whether a task is scheduled is read from ``y``: it is if it holds more than the tolerance anywhere.
        One that holds less, or nothing, may count as scheduled if that is no less than its floor. A floor is
        kept within the tolerance: that can earn what is above the bound of all that keep it. Indices:
        "nonnegative" port, server, task, kind; "floor" and "demand" port, task, kind; "minimum" port;
        "capacity" server, kind.
        """
        array = self.check_shape(y)
        found = []
        least, sums, holds, lack, held = self._scheduled(array)
        for i, k in np.argwhere(~(array >= -least)):
            port, server = self.base.edges[self.pair_edge[i]].tolist()
            task = self._rank(int(self.pair_task[i]))
            found.append(Violation("nonnegative", (port, server, task, int(k)), float(-array[i, k])))
        for name, excess, limit in (
            ("floor", self.task_floor - sums, self.task_floor),
            ("demand", sums - self.task_demand, self.task_demand),
        ):
            for g, k in np.argwhere(~(excess <= TOLERANCE * limit) & holds[:, None]):
                at = (int(self.task_port[g]), self._rank(g), int(k))
                found.append(Violation(name, at, float(excess[g, k])))
        found += [Violation("minimum", (int(p),), float(lack[p])) for p in np.flatnonzero(lack > 0)]
        used = self.base.server_sums(self.totals(held))
        excess = used - self.base.capacity
        for r, k in np.argwhere(~(excess <= TOLERANCE * self.base.capacity)):
            found.append(Violation("capacity", (int(r), int(k)), float(excess[r, k])))
        return found

    def _rank(self, task: int) -> int:
        """Return a task's number among its port's tasks."""
        return int(task - np.searchsorted(self.task_port, self.task_port[task]))


GANG = Record(
    *FIELDS.fields,
    Field(
        "gang.demand",
        Number(("L", "tasks", "K"), **SIZE, each="port"),
        "the most devices of a kind that a task takes over all servers",
    ),
    Field(
        "gang.floor",
        Number(("L", "tasks", "K"), **SIZE, each="port"),
        "the least it needs to run; at most the demand",
    ),
    Field(
        "gang.minimum",
        Number(("L",), integer=True),
        "how many tasks of a job must run for the job to run; at most those it has",
    ),
)
PARTS = GANG.fields[-3:]


class AllocationGangInstance(Declared[AllocationGangSetting]):
    """A gang scheduling problem.

    Parameters
    ----------
    base
        Graph, capacities, overhead, utilities and arrivals.
    demand, floor
        a and b, [port][task][kind], 0 <= b <= a; ports may have different numbers of tasks, or none.
    minimum
        m, [port]: whole, at most the port's number of tasks.
    """

    problem: ClassVar[Literal["allocation-gang"]] = "allocation-gang"
    declared: ClassVar[Record] = GANG
    shows: ClassVar[frozenset[str]] = AllocationInstance.shows
    setting: AllocationGangSetting

    def __init__(self, base: AllocationInstance, *, demand: Any, floor: Any, minimum: Any) -> None:
        ports, kinds = base.setting.ports, base.setting.kinds
        read = GANG.reader({"L": ports, "K": kinds})
        a, b, m = (
            read(f"gang.{name}", value)
            for name, value in (("demand", demand), ("floor", floor), ("minimum", minimum))
        )
        for p in range(ports):
            if len(a[p]) != len(b[p]):
                raise InputError(f"gang.floor[{p}]: {len(b[p])} tasks, but gang.demand has {len(a[p])}")
            for q, k in np.argwhere(b[p] > a[p])[:1]:
                raise InputError(
                    f"gang.floor[{p}][{q}][{k}]: {b[p][q, k]:g} is more than the demand {a[p][q, k]:g}"
                )
            if m[p] > len(a[p]):
                raise InputError(f"gang.minimum[{p}]: {m[p]} is more than the port's {len(a[p])} tasks")
        task_port = np.repeat(np.arange(ports), [len(rows) for rows in a])
        task_demand, task_floor = np.concatenate(a), np.concatenate(b)
        for array in (task_port, task_demand, task_floor):
            array.setflags(write=False)
        self.base = base
        self.setting = AllocationGangSetting(base.setting, task_port, task_demand, task_floor, m)

    def __repr__(self) -> str:
        s = self.setting
        return (
            f"AllocationGangInstance(ports={s.ports}, servers={s.base.servers}, kinds={s.kinds}, "
            f"tasks={len(s.task_port)}, slots={s.slots}, digest={self.digest()})"
        )

    @property
    def origin(self) -> Origin:  # type: ignore[override]
        """Where the instance comes from."""
        return self.base.origin

    @property
    def arrivals(self) -> np.ndarray:
        """x[slot][port]."""
        return self.base.arrivals

    @property
    def arrival_counts(self) -> np.ndarray:
        """N_l: jobs per port over all slots, shape (L,)."""
        return self.base.arrival_counts

    def facts(self) -> dict[str, float]:
        """Return the numbers that say how large the instance is, by name."""
        return self.base.facts() | {"tasks": len(self.setting.task_port)}

    def episode(self, sees: frozenset[str]) -> SlotEpisode:
        """Return a fresh pass through the slots; ``sees`` may hold "arrivals"."""
        return SlotEpisode(self, "arrivals" in sees)

    def violations(self, decision: Any) -> list[Violation]:
        """List the constraints that a decision y[pair, kind] breaks."""
        return self.setting.violations(decision)

    def rewards(self, y: np.ndarray) -> np.ndarray:
        """Return the reward of holding ``y`` in every slot, shape (T,)."""
        return self.arrivals @ self.setting.port_rewards(y)

    def with_arrivals(self, arrivals: Any) -> AllocationGangInstance:
        """Return the same setting under other arrivals."""
        other = object.__new__(type(self))
        other.base = self.base.with_arrivals(arrivals)
        other.setting = replace(self.setting, base=other.base.setting)
        return other

    def content(self) -> Iterator[tuple[str, Any]]:
        """Yield what identifies the instance."""
        yield from self.base.content()
        s = self.setting
        yield "task_port", s.task_port
        yield "task_demand", s.task_demand
        yield "task_floor", s.task_floor
        yield "minimum", s.minimum

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: that of the base, and ``gang``."""
        s = self.setting
        start = np.searchsorted(s.task_port, np.arange(s.ports + 1))
        split = [slice(start[p], start[p + 1]) for p in range(s.ports)]
        tasks = ([array[part] for part in split] for array in (s.task_demand, s.task_floor))
        gang = zip(PARTS, (*tasks, s.minimum), strict=True)
        return {**self.base.to_dict(), "problem": self.problem, **GANG.written(gang)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build an instance from its JSON form; see the class for what is refused."""
        given = cls.given(data)
        gang = {one.argument: given.pop(one.name) for one in PARTS}
        return cls(AllocationInstance.of(given), **gang)


def generate_gang(
    base: AllocationInstance, seed: int, *, tasks: int = 2, floor: float = 0.5, minimum: int | None = None
) -> AllocationGangInstance:
    """Split every port's demand over tasks, to make a gang instance out of a fractional one.

    ``tasks`` is how many a port has, ``floor`` is b as a share of a, and ``minimum`` is m of every port; by
    default all tasks must be scheduled.
    """
    if tasks < 1:
        raise InputError(f"tasks: {tasks!r} is not at least 1")
    if not 0.0 <= floor <= 1.0:
        raise InputError(f"floor: {floor!r} is not between 0 and 1")
    rng = draw.stream(seed, "tasks")
    share = rng.dirichlet(np.full(tasks, 4.0), size=base.setting.ports)
    demand = share[:, :, None] * base.setting.demand[:, None, :]
    return AllocationGangInstance(
        base,
        demand=demand.tolist(),
        floor=(floor * demand).tolist(),
        minimum=np.full(base.setting.ports, tasks if minimum is None else minimum),
    )


@np.errstate(over="ignore", invalid="ignore")
def printed_violations(setting: AllocationGangSetting, y: Any) -> list[Violation]:
    """List the constraints of the set *printed* in 3.5 that ``y`` breaks, literally and without tolerance.

    Every port, whether a job arrives or not, must have at least m_l tasks with a positive sum ("minimum");
    every entry is at most its task's demand, server by server ("demand"); and the capacity holds.
    """
    array = setting.check_shape(y)
    positive = setting.task_sums(array).sum(axis=1) > 0
    count = np.bincount(setting.task_port, weights=positive, minlength=setting.ports)
    found = [
        Violation("minimum", (int(p),), float(setting.minimum[p] - count[p]))
        for p in np.flatnonzero(count < setting.minimum)
    ]
    limit = setting.task_demand[setting.pair_task]
    for name, excess in (("nonnegative", -array), ("demand", array - limit)):
        for i, k in np.argwhere(~(excess <= 0)):
            port, server = setting.base.edges[setting.pair_edge[i]].tolist()
            at = (port, server, setting._rank(int(setting.pair_task[i])), int(k))
            found.append(Violation(name, at, float(excess[i, k])))
    excess = setting.base.server_sums(setting.totals(array)) - setting.base.capacity
    for r, k in np.argwhere(~(excess <= 0)):
        found.append(Violation("capacity", (int(r), int(k)), float(excess[r, k])))
    return found


def printed_is_empty(setting: AllocationGangSetting) -> bool:
    """Return whether the set printed in 3.5 is empty.

    A task can have a positive sum if somewhere both its demand and a capacity are positive; all tasks that
    can, can at once, by small enough amounts.
    """
    somewhere = (setting.task_demand[setting.pair_task] > 0) & (
        setting.base.capacity[setting.base.server[setting.pair_edge]] > 0
    )
    able = np.zeros(len(setting.task_port), dtype=bool)
    np.logical_or.at(able, setting.pair_task, somewhere.any(axis=1))
    count = np.bincount(setting.task_port, weights=able, minlength=setting.ports)
    return bool((count < setting.minimum).any())


def printed_counterexample(capacity: float, minimum: int) -> AllocationGangInstance:
    """Return the smallest instance on which the printed set fails: one port, server and kind, two unit tasks.

    With capacity 1 and minimum 2 the printed set admits y = (1 - e, e): neither all nor nothing. With
    capacity 0 and minimum 1 it is empty.
    """
    base = AllocationInstance(
        edges=[[0, 0]],
        demand=[[2.0]],
        capacity=[[capacity]],
        overhead=[0.0],
        utility_kind=[["linear"]],
        alpha=[[1.0]],
        arrivals=[[1]],
    )
    return AllocationGangInstance(base, demand=[[[1.0], [1.0]]], floor=[[[1.0], [1.0]]], minimum=[minimum])
