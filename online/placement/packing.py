"""Policies of ours that fill the machines with most room, and differ in the choice between equal ones.

As in :mod:`.heuristics`, jobs are tried in an order. Again and again, the machine with room for the most of
a job's instances that are left takes these. So a job spans as few machines as it can now, and what is left of
it at last goes where there is just room for it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.draw import real
from ...models.placement.setting import Observation, Setting
from ...models.placement.simulator import rooms
from ..base import Traits
from .heuristics import Drf, Heuristic, SjfEstimateConsolidate

MIX = 200
"""The number of jobs, the last that arrived, that stand for those to come."""


class _Packing(Heuristic):
    """The common part: what is started where, once it is known how to choose between equal machines."""

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        super().start(setting, rng)
        self._all = setting.capacity.sum(axis=0)
        self._weight: dict[int, int] = {}
        self._mix, self._most = np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now."""
        from .kernels import start_packed

        seen, running = observation, observation.running
        weight = seen.intensity * seen.need[:, 0]
        self._weight.update(zip(seen.jobs.tolist(), weight.tolist(), strict=True))
        load = np.zeros(len(seen.free), dtype=np.int64)
        one = np.array([self._weight[job] for job in running[:, 0].tolist()], dtype=np.int64)
        np.add.at(load, running[:, 1], one * running[:, 2])
        columns = seen.instances, seen.need, weight
        due, order, rule = self.due(seen), self.order(seen), self.choice(seen)
        mix, most = self._mix, self._most
        return start_packed(
            self._capacity, seen.free, load, seen.jobs, columns, due, order, rule, mix, most, self.strict
        )

    @abstractmethod
    def choice(self, observation: Observation) -> int:
        """Return how to choose between equal machines, a rule of :func:`.kernels.tie_break`."""

    def due(self, observation: Observation) -> np.ndarray:
        """Return which jobs start now, however many machines they span, shape (w,)."""
        return np.ones(len(observation.jobs), dtype=np.bool_)


@dataclass
class _ByLoad(_Packing):
    """The choice of :class:`DrfByLoad`."""

    quiet: float = 0.5

    def __post_init__(self) -> None:
        self.quiet = real("quiet", self.quiet, 0.0)

    def choice(self, observation: Observation) -> int:
        """Return the least contention or, under load, the fewest free GPUs."""
        from .kernels import FEWEST_FREE, LEAST_CONTENTION

        seen = observation
        asked = self._all - seen.free.sum(axis=0) + seen.instances @ seen.need
        return LEAST_CONTENTION if (asked <= self.quiet * self._all).all() else FEWEST_FREE


@dataclass
class _Patient(_ByLoad):
    """The waiting of :class:`DrfPatient`."""

    patience: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.patience = real("patience", self.patience, 0.0)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        super().start(setting, rng)
        self._ended, self._ran = 0, 0

    def due(self, observation: Observation) -> np.ndarray:
        """Return which jobs have waited long enough."""
        ended = observation.ended
        self._ended += len(ended)
        self._ran += int((ended[:, 2] - ended[:, 1]).sum())
        waited = (observation.time - observation.submit) * float(self._ended)
        return waited >= self.patience * self._ran


@dataclass
class DrfByLoad(_ByLoad, Drf):
    """DRF-ByLoad: most room first, by load the least contention or fewest free; ties: older, lower index.

    The smallest dominant share is tried first. While the jobs that run and those of the window ask for at
    most the share ``quiet`` of all machines together, of every resource, ties between machines with equal
    room go to the one on which neighbours contend least: the GPUs in use there, each times the intensity of
    its job, by all of its GPUs. Under more load they go to the one with the fewest free GPUs, so that large
    gaps are kept for large jobs. What is still equal goes to the older job and to the lower index.

    Parameters
    ----------
    strict
        Whether a job that does not start holds back all that come after it; by default it is passed over.
    quiet
        See above, 0 or more.

    Raises
    ------
    InputError
        For a setting out of range.
    """

    name: str = field(default="drf-byload", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="ours, with the order of dominant resource fairness (Ghodsi et al., NSDI 2011)",
    )


@dataclass
class DrfPatient(_Patient, Drf):
    """DRF-Patient: waits, up to a bound, until few machines hold a job; ties: the older job, lower index.

    As :class:`DrfByLoad`, but a job that would span more machines now than it would if they were empty is
    passed over, until it has waited for ``patience`` times the mean time for which the jobs that have ended
    ran; from the first decision on after that it starts as the others do. Before any job has ended, none
    waits so. True durations are not known.

    Parameters
    ----------
    strict
        Whether a job that does not start holds back all that come after it; by default it is passed over.
    quiet
        As for :class:`DrfByLoad`.
    patience
        See above, 0 or more; with 0 it is :class:`DrfByLoad`.

    Raises
    ------
    InputError
        For a setting out of range.
    """

    name: str = field(default="drf-patient", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="ours: drf-byload with the waiting of delay scheduling (Zaharia et al., EuroSys 2010), "
        "where the bound is fixed and the place is where the data are",
    )


@dataclass
class SjfEstimatePatient(_Patient, SjfEstimateConsolidate):
    """SJF-Estimate-Patient: the shortest user's estimate first, as DRF-Patient; ties: older, lower index.

    The order is that of :class:`.heuristics.SjfEstimateConsolidate`; the machines and the waiting, whose
    bound does not depend on estimates, are those of :class:`DrfPatient`. Ties go to the older job and to the
    machine with the lower index.

    Parameters
    ----------
    strict, quiet, patience
        As for :class:`DrfPatient`.

    Raises
    ------
    InputError
        For a setting out of range.
    """

    name: str = field(default="sjf-estimate-patient", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        sees=frozenset({"estimates"}),
        source="ours: sjf-estimate-consolidate with the machines and the waiting of drf-patient, after "
        "delay scheduling (Zaharia et al., EuroSys 2010)",
    )


@dataclass
class DrfFgd(_Packing, Drf):
    """DRF-FGD: most room first, then where fragmentation grows least; ties: the older job, lower index.

    Fragmentation gradient descent places a task where the expected fragmentation grows least: the mean, over
    the mix of demands, of the free GPUs of all machines that have no room for the task. GPUs are whole here,
    and three things differ. A gang first of all goes where there is most room for it: placed one by one, by
    fragmentation alone, its instances span so many machines that it costs more than it gains. A job of the
    mix asks for room for as many of its instances as an empty machine holds. The mix is not given, but that
    of the last :data:`MIX` jobs with GPUs that have come into the window. The smallest dominant share is
    tried first; ties go to the older job and to the machine with the lower index.
    """

    name: str = field(default="drf-fgd", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="fragmentation gradient descent (Weng et al., Beware of Fragmentation, USENIX ATC "
        "2023); ours: gangs first go where most room is",
    )

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        super().start(setting, rng)
        self._last = -1
        self._arrived: deque[tuple[np.ndarray, int]] = deque(maxlen=MIX)

    def choice(self, observation: Observation) -> int:
        """Count the jobs that are new, and return the least growth of fragmentation."""
        from .kernels import LEAST_FRAGMENTS

        seen = observation
        new = np.flatnonzero((seen.jobs > self._last) & (seen.need[:, 0] > 0))
        for p in new.tolist():
            most = rooms(self._capacity, seen.need[p], int(seen.instances[p])).max()
            self._arrived.append((seen.need[p].copy(), int(most)))
        if len(new):
            self._mix = np.array([need for need, _ in self._arrived])
            self._most = np.array([most for _, most in self._arrived])
        self._last = max(self._last, int(seen.jobs[-1]))
        return LEAST_FRAGMENTS
