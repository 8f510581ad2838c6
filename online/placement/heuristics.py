"""The heuristics of the paper (Sec. 5.1.5), and four of ours that place a job on few machines.

At every decision epoch the jobs of the window are tried in an order. One that fits starts: the machines are
sorted once by a rule, and each takes as many of its instances as it has room for until all are placed. One
that does not fit is passed over, so that in the end no job of the window fits into what is left, or, if
``strict``, holds back all that come after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.base import InputError
from ...models.placement.setting import Observation, Setting
from ...models.placement.state import CONSOLIDATE, FIRST_FIT, LOAD_BALANCE
from ..base import Traits


@dataclass
class Heuristic(ABC):
    """A rule that orders jobs, and one that orders machines.

    Parameters
    ----------
    strict
        Whether a job that does not fit holds back all that come after it; by default it is passed over.
    """

    strict: bool = False
    rule: ClassVar[int]

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Store the machines."""
        self._capacity = setting.capacity

    @abstractmethod
    def order(self, observation: Observation) -> np.ndarray:
        """Return places in ``observation.jobs``, the job to try first at the front, shape (w,)."""

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now."""
        from ...models.placement.kernels import start_by_rule

        seen = observation
        return start_by_rule(
            self._capacity,
            seen.free,
            seen.jobs,
            seen.instances,
            seen.need,
            self.order(seen),
            self.rule,
            self.strict,
        )


class _Fifo(Heuristic):
    """First in, first out."""

    def order(self, observation: Observation) -> np.ndarray:
        """Return the order of submission, which is that of the window."""
        return np.arange(len(observation.jobs))


class Drf(Heuristic):
    """The smallest dominant resource share first."""

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Store the machines."""
        super().start(setting, rng)
        self._total = setting.capacity.sum(axis=0)

    def order(self, observation: Observation) -> np.ndarray:
        """Return the order of dominant shares, ties by submission."""
        from .kernels import dominant_shares

        shares = dominant_shares(self._total, observation.instances, observation.need)
        return np.argsort(shares, kind="stable")


@dataclass
class FifoFirstFit(_Fifo):
    """FIFO-FirstFit: the oldest job first, on the machines by their index; ties of jobs: file order."""

    name: str = field(default="fifo-firstfit", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="first in, first out, on the first machines that fit, the baseline of Xing et al., KDD "
        "2023, Sec. 5.1.5",
    )
    rule: ClassVar[int] = FIRST_FIT


@dataclass
class FifoLoadBalance(_Fifo):
    """FIFO-LoadBalance: the oldest job first, on the least loaded machines; ties: the lower index.

    Jobs of the same tick are tried in the order of the file. The load of a machine is the largest share of
    one of its resources that is in use.
    """

    name: str = field(default="fifo-loadbalance", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="first in, first out, on the least loaded machines, the baseline of Xing et al., KDD "
        "2023, Sec. 5.1.5",
    )
    rule: ClassVar[int] = LOAD_BALANCE


@dataclass
class DrfFirstFit(Drf):
    """DRF-FirstFit: the smallest dominant share first, on the machines by index; ties: the older job.

    The dominant share of a job is the largest share of all machines together that all of its instances need
    of any resource. Each job stands for itself: nobody knows whose jobs they are. Ties go to the older job.
    """

    name: str = field(default="drf-firstfit", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="dominant resource fairness (Ghodsi et al., NSDI 2011) as an order, on the first "
        "machines that fit, the baseline of Xing et al., KDD 2023, Sec. 5.1.5",
    )
    rule: ClassVar[int] = FIRST_FIT


@dataclass
class DrfLoadBalance(Drf):
    """DRF-LoadBalance: the smallest dominant share first, on the least loaded; ties: older, lower index.

    Ties go to the older job and to the machine with the lower index. The share as in :class:`DrfFirstFit`,
    the load as in :class:`FifoLoadBalance`.
    """

    name: str = field(default="drf-loadbalance", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="dominant resource fairness (Ghodsi et al., NSDI 2011) as an order, on the least loaded "
        "machines, the baseline of Xing et al., KDD 2023, Sec. 5.1.5",
    )
    rule: ClassVar[int] = LOAD_BALANCE


@dataclass
class DrfConsolidate(Drf):
    """DRF-Consolidate: the smallest dominant share first, on as few machines as hold it; ties: the older job.

    The share as in :class:`DrfFirstFit`, the machines as in :class:`FifoConsolidate`: of equals, those with
    the lower index.
    """

    name: str = field(default="drf-consolidate", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="ours: the order of dominant resource fairness (Ghodsi et al., NSDI 2011), on the "
        "machines of fifo-consolidate",
    )
    rule: ClassVar[int] = CONSOLIDATE


@dataclass
class FifoConsolidate(_Fifo):
    """FIFO-Consolidate: the oldest job first, on as few machines as hold it now; ties: the lower index.

    The machines with room for the most of its instances come first, and among them those with the fewest free
    GPUs, so that large gaps are kept for large jobs; of equals, those with the lower index. Jobs of the same
    tick are tried in the order of the file.
    """

    name: str = field(default="fifo-consolidate", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="ours: gangs on few machines, whose locality Jeon et al., USENIX ATC 2019, measured, by "
        "best fit",
    )
    rule: ClassVar[int] = CONSOLIDATE


@dataclass
class SjfConsolidate(Heuristic):
    """SJF-Consolidate (clairvoyant): the shortest true duration first, consolidated; ties: the older job.

    No scheduler knows how long a job takes; this one does, and shows what that would be worth. The
    duration is that of the job alone on the fewest machines that hold it; ties go to the older job. Machines
    as in :class:`FifoConsolidate`.
    """

    name: str = field(default="sjf-consolidate", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        sees=frozenset({"durations"}),
        source="ours, as a yardstick: shortest job first (Smith, Naval Research Logistics Quarterly "
        "1956), on the machines of fifo-consolidate",
    )
    rule: ClassVar[int] = CONSOLIDATE

    def order(self, observation: Observation) -> np.ndarray:
        """Return the order of the lengths, ties by submission."""
        return np.argsort(self.length(observation), kind="stable")

    def length(self, observation: Observation) -> np.ndarray:
        """Return the assumed duration of each job, in ticks, shape (w,)."""
        if observation.duration is None:
            raise InputError("observation: this policy needs the durations, but was not shown them")
        return observation.duration


@dataclass
class SjfEstimateConsolidate(SjfConsolidate):
    """SJF-Estimate-Consolidate: the shortest user's estimate first, consolidated; ties: the older job.

    As :class:`SjfConsolidate`, with what a real scheduler has in the place of the true durations: what the
    user who submitted a job believes that it takes. The jobs of the instance need estimates.
    """

    name: str = field(default="sjf-estimate-consolidate", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        sees=frozenset({"estimates"}),
        source="ours: shortest job first (Smith, Naval Research Logistics Quarterly 1956) by "
        "estimates, on the machines of fifo-consolidate",
    )

    def length(self, observation: Observation) -> np.ndarray:
        """Return the estimate of each job, in ticks, shape (w,)."""
        if observation.estimate is None:
            raise InputError("observation: this policy needs the estimates, but was not shown them")
        return observation.estimate


@dataclass
class Tetris:
    """Tetris: the largest dot product of what is needed and free first; ties: the older job, lower index.

    Both are counted in shares of the machine's capacity, so that every resource weighs the same. The dot
    product is that of one instance, over the machines that have room for one. For gangs the printed rule says
    nothing more; here a job takes part only if all of its instances fit, the one with the largest product
    starts, and the machines take as many of its instances as they have room for in descending order of the
    product. Then the products are formed anew with what is left, until no job fits. Ties go to the older job
    and to the machine with the lower index. There is no order in which a head of the line could block. What
    the cited scheduler does besides (it weighs how much work a job has left) is not in the paper, nor here.
    """

    name: str = field(default="tetris", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="placement",
        source="Grandl et al., SIGCOMM 2014, as far as Xing et al., KDD 2023, Sec. 5.1.5 print it; for "
        "gangs ours",
    )

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Store the machines."""
        self._capacity = setting.capacity

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now."""
        from .kernels import start_by_alignment

        seen = observation
        return start_by_alignment(self._capacity, seen.free, seen.jobs, seen.instances, seen.need)
