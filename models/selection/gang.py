"""Setting and instances of the gang variant (Sec. 3.4 of ESDP); :mod:`.gang_channels` states it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from ..base import InputError, Origin, frozen_copy
from ..fields import Field, Number, Record, complete
from ..graphs import pair_order
from .gang_channels import MOST_DEVICES, GangChannels
from .gang_program import most_tasks
from .instance import COUNT, HIDDEN, ChannelInstance, count_ports

DEVICES: dict[str, Any] = {"high": MOST_DEVICES, "integer": True}

FIELDS = Record(
    Field(
        "channels",
        Number(("E", 2), **COUNT),
        "which task may run on which server, as pairs [task, server], none twice; stored by task",
        at="pairs",
    ),
    Field(
        "task_port",
        Number(("Q",), **COUNT),
        "the port that each task belongs to, ascending; a port may have none",
    ),
    Field(
        "demand",
        Number(("Q", "K"), **DEVICES),
        "a: devices of each kind that a task takes on the server it runs on",
    ),
    Field(
        "capacity",
        Number(("R", "K"), **DEVICES, some="a server and a kind of device"),
        "c: devices of each kind on each server",
    ),
    Field(
        "minimum",
        Number(("L",), **COUNT),
        "m_l: how many tasks of a job must run for the job to run; with more than it has, it never can",
    ),
    *HIDDEN,
)
complete(GangChannels, FIELDS)


@dataclass(frozen=True, eq=False)
class SelectionGangSetting(GangChannels):
    """What a policy may know before it starts: :class:`.gang_channels.GangChannels`, and how many fit."""

    @cached_property
    def most_channels(self) -> int:
        """m: the most channels that can be chosen at once, when every port has a job, exactly."""
        return most_tasks(self, np.ones(self.channels, dtype=bool), np.ones(self.ports)).marked


class SelectionGangInstance(ChannelInstance):
    """A gang scheduling problem: a :class:`SelectionGangSetting`, and what nature hides."""

    problem: ClassVar[Literal["selection-gang"]] = "selection-gang"
    declared: ClassVar[Record] = FIELDS
    setting: SelectionGangSetting

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
        sizes: dict[str, int] = {}
        read = FIELDS.reader(sizes)
        c, owner = read("capacity", capacity), read("task_port", task_port)
        sizes["L"] = count_ports(owner, arrivals, read("ports", ports), "task_port[{}]")
        for i in np.flatnonzero(np.diff(owner) < 0)[:1]:
            raise InputError(f"task_port[{i + 1}]: {owner[i + 1]} after {owner[i]}; ports must ascend")
        pairs = read("channels", channels)
        order = pair_order(pairs, "channels", [(len(owner), "tasks"), (len(c), "servers")])
        a, m = read("demand", demand), read("minimum", minimum)
        self._hide(read, order, mean=mean, noise=noise, scale=scale, arrivals=arrivals, seed=seed, path=path)
        self.setting = SelectionGangSetting(
            frozen_copy(pairs[order]), owner, a, c, m, sizes["L"], len(self.arrivals)
        )
        self.origin = origin if origin is not None else Origin("given by hand")

    def __repr__(self) -> str:
        s = self.setting
        return (
            f"SelectionGangInstance(ports={s.ports}, tasks={s.tasks}, servers={s.servers}, kinds={s.kinds}, "
            f"channels={s.channels}, slots={s.slots}, digest={self.digest()})"
        )

    def facts(self) -> dict[str, float]:
        """Return the numbers that say how large the instance is, by name."""
        facts = super().facts()
        return {"ports": facts.pop("ports"), "tasks": self.setting.tasks, **facts}


def printed_counterexample() -> SelectionGangInstance:
    """Return the smallest instance on which the printed constraint fails: one of everything, and no job."""
    return SelectionGangInstance(
        channels=[[0, 0]],
        task_port=[0],
        demand=[[1]],
        capacity=[[1]],
        minimum=[1],
        mean=[0.5],
        arrivals=[[0]],
        origin=Origin("the smallest instance on which Sec. 3.4 as printed has no decision"),
    )
