r"""OASiS (Alg. 1): exponential prices for all resources, and jobs accepted if they are worth their cost.

What is proved
--------------
Theorem 4 of the paper (OPT <= 2 alpha ALG) is false as printed: a job that does not fit is rejected although
the prices are below U. With the exact range and ``floor=False`` there is a guarantee nevertheless, of the
printed prices and, a smaller one where jobs are small beside the machines, of the steep ones,
p(g) = L (U / L)^min(1, g / ((1 - x) c)), which reach U where the largest job may no longer fit; x is the
largest share of a machine that a job can take in a slot. ``analysis/admission/competitive.py`` states and
proves both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...models.admission.cluster import Usage
from ...models.admission.jobs import UNIT, Job
from ...models.admission.prices import price_range
from ...models.admission.schedule import Deployment, Offer, Plan, cheapest_schedule, printed_schedule
from ...models.admission.setting import Observation, PriceRange, Setting
from ...models.base import InputError
from ...models.draw import choose
from ..base import Traits

BOUNDS = ("exact", "estimated")
HIGHEST = 600.0
"""No price is above e^600, so that costs stay finite."""

_NONE = np.zeros((0, 3), dtype=np.int64)
UNINFORMED = Traits(
    problem="admission",
    source="Bao et al., INFOCOM 2018, Algorithm 1; "
    "its best schedule of a job is exact here, and that of Algorithm 2 in oasis-printed",
)
ANNOUNCED = replace(UNINFORMED, sees=frozenset({"announced"}))
PROVED = {
    steep: replace(
        ANNOUNCED,
        guarantee="OPT <= 2 max(1, B) ALG; with a = alpha and x < 1/2 the largest share of a machine that a "
        f"job takes, B = {growth}",
        proven="analysis/admission/competitive.py",
    )
    for steep, growth in (
        (False, "(e^{xa} - 1) / x * (e^a - 1) / (e^{(1-x)a} - 1)"),
        (True, "(e^{xa/(1-x)} - 1) / x"),
    )
}
"""The guarantees of printed and of steep prices."""


@dataclass
class Oasis:
    """OASiS: accepts a job if its best schedule is worth more than it costs at prices; ties: rejects it.

    Prices are exponential. The best schedule is exact. Jobs of the same slot are served in their order; what
    is accepted runs as planned. Deadlines that promise equally much are tried from the latest on, and another
    one counts only if it pays more; for a deadline, as few workers run in late slots as equal cost allows; of
    machines of equal cost those with smaller numbers come first.

    Parameters
    ----------
    bounds
        "exact": U and L are those of all jobs, as announced. "estimated": those of the jobs that have
        arrived, the one at hand included; prices are those of the present range.
    scale
        U / L is multiplied by this, with L as it is (Fig. 6); U is never below L.
    floor
        Whether L counts utilities at the horizon as at least 1 % of the priority.
    steep
        Whether prices reach U where a job as large as the largest may no longer fit; see the module.

    Attributes
    ----------
    payoffs
        mu_i of every job that has arrived, at its arrival; 0 if rejected.
    plans
        The accepted plans, by job.
    usage
        The usage of the machines.
    range
        The U and L that are in use, before scaling.

    Raises
    ------
    InputError
        For unknown bounds, or a scale that is not positive and finite.
    """

    bounds: str = "exact"
    scale: float = 1.0
    floor: bool = True
    steep: bool = False
    name: str = field(default="oasis", init=False)
    traits: Traits = field(default=ANNOUNCED, init=False)

    def __post_init__(self) -> None:
        choose(self.bounds, BOUNDS, "bounds")
        if isinstance(self.scale, bool) or not isinstance(self.scale, int | float):
            raise InputError(f"scale: {self.scale!r} is not a number")
        if not 0.0 < self.scale < math.inf:
            raise InputError(f"scale: {self.scale!r} is not positive and finite")
        for name in ("floor", "steep"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name}: {getattr(self, name)!r} is not true or false")
        if self.bounds == "estimated":
            self.traits = UNINFORMED
        elif self.proved:
            self.traits = PROVED[self.steep]

    @property
    def proved(self) -> bool:
        """Whether these settings have a guarantee; see the module."""
        return self.bounds == "exact" and not self.floor and self.scale == 1.0

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        self._setting = setting
        self.range = price_range(setting, ())
        self.payoffs: dict[int, float] = {}
        self.plans: dict[int, Plan] = {}
        self._seen = Seen(setting)
        self._running: list[Running] = []
        self._workers = Market(setting.worker_units, setting.horizon)
        self._servers = Market(setting.server_units, setting.horizon)

    @property
    def worker_prices(self) -> np.ndarray:
        """p_h^r(t), per share of what all machines have; 0 for what no job demands, shape (T, H, R)."""
        return self._workers.prices.transpose(0, 2, 1)

    @property
    def server_prices(self) -> np.ndarray:
        """q_k^r(t), per share of what all machines have, shape (T, K, R)."""
        return self._servers.prices.transpose(0, 2, 1)

    @property
    def usage(self) -> Usage:
        """The amounts taken on the machines, as a copy."""
        usage = Usage(self._setting)
        usage.workers[:] = self._workers.taken.transpose(0, 2, 1)
        usage.servers[:] = self._servers.taken.transpose(0, 2, 1)
        return usage

    def decide(self, observation: Observation) -> Deployment:
        """Accept or reject the jobs that have arrived, and return what runs in this slot."""
        for job in observation.jobs:
            self._look(job, observation)
            self.payoffs[job.index] = 0.0
            plan = self.plan(job, self.offer(job))
            if plan is not None and plan.payoff > 0.0:
                self._accept(job, plan)
        self._running = [run for run in self._running if run.plan.completion >= observation.slot]
        sides = [[_NONE], [_NONE]]
        for plan, first, starts in self._running:
            slot, both = observation.slot - first, (plan.schedule.workers, plan.schedule.servers)
            for side, rows, start in zip(sides, both, starts, strict=True):
                side.append(rows[start[slot] : start[slot + 1], 1:])
        return Deployment(*(np.concatenate(side) for side in sides))

    def plan(self, job: Job, offer: Offer) -> Plan | None:
        """Return the job's best schedule if it has a positive payoff."""
        return cheapest_schedule(job, offer, least=0.0)

    def offer(self, job: Job) -> Offer:
        """Return the machines' offer to a job at the current prices, for the slots in which it may pay."""
        workers, servers = self._workers, self._servers
        worker_share, server_share = workers.share(job.worker_demand), servers.share(job.server_demand)
        per_worker = job.worker_bandwidth / job.server_bandwidth
        unit = workers.lowest @ worker_share + per_worker * (servers.lowest @ server_share)
        first = job.arrival - 1
        slots = slice(first, first + _worthwhile(job, float(job.work * unit), self._setting.horizon - first))
        return Offer(
            *workers.offer(slots, job.worker_units, worker_share, job.chunks),
            *servers.offer(slots, job.server_units, server_share, job.chunks),
        )

    def _look(self, job: Job, observation: Observation) -> None:
        """Bring the range up to date, and the prices if it has changed."""
        if self.bounds == "exact":
            if observation.announced is None:
                raise InputError("observation: this policy needs U and L announced, but was not shown them")
            if self.range is observation.announced:
                return
            self.range = observation.announced
        else:
            found = self._seen.with_job(job)
            if found is self.range:
                return
            self.range = found
        lower = self.range.lower(self.floor)
        share = self.range.share if self.steep else 0.0
        self._workers.reprice(Curve.of(self.range.upper_workers, lower[0], self.scale, share))
        self._servers.reprice(Curve.of(self.range.upper_servers, lower[1], self.scale, share))

    def _accept(self, job: Job, plan: Plan) -> None:
        self.payoffs[job.index] = plan.payoff
        self.plans[job.index] = plan
        slots = np.arange(job.arrival, plan.completion + 2)
        sides = (plan.schedule.workers, plan.schedule.servers)
        starts = [np.searchsorted(rows[:, 0], slots).tolist() for rows in sides]
        self._running.append(Running(plan, job.arrival, starts))
        self._workers.add(plan.schedule.workers, job.worker_units)
        self._servers.add(plan.schedule.servers, job.server_units)


@dataclass
class OasisPrinted(Oasis):
    """OASiS with schedules from Alg. 2 as printed, which are not always optimal; ties: rejects the job.

    Of equally good deadlines its chunk program takes the earliest, of machines of equal cost those with
    smaller numbers. That program may plan more workers than the work needs; they count in the payoff that
    decides and in the machines' usage, as printed, but a job stops running when its work is done. Settings
    and attributes are those of :class:`Oasis`; that one's guarantee is not claimed.
    """

    name: str = field(default="oasis-printed", init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bounds == "exact":
            self.traits = ANNOUNCED

    def plan(self, job: Job, offer: Offer) -> Plan | None:
        """Return the schedule of the printed program."""
        return printed_schedule(job, offer)

    def _accept(self, job: Job, plan: Plan) -> None:
        super()._accept(job, plan)
        rows, run = plan.schedule.workers, self._running.pop()
        done = int(rows[np.argmax(np.cumsum(rows[:, 3]) >= job.work), 0])
        self._running.append(run._replace(plan=replace(plan, completion=done)))


class Running(NamedTuple):
    """An accepted plan, the job's first slot, and where the rows of each slot from then on begin."""

    plan: Plan
    first: int
    starts: list[list[int]]


class Seen:
    """U and L of the jobs that have arrived so far, job by job."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._range = price_range(setting, ())
        self._volumes = np.full(2, np.inf)  # least ln W sum_r w~^r of workers and of parameter servers
        # least ln L of a job alone less its volume, per side without and with the floor
        self._lows = np.full((2, 2), np.inf)

    def with_job(self, job: Job) -> PriceRange:
        """Return the range with one job more; the same object if it has not changed."""
        old, one = self._range, price_range(self._setting, (job,))
        shares = (self._setting.worker_share(job), self._setting.server_share(job))
        lows = ((one.lower_workers, one.floor_workers), (one.lower_servers, one.floor_servers))
        for side, (share, low) in enumerate(zip(shares, lows, strict=True)):
            if math.isfinite(low[0]):
                volume = math.log(job.work) + math.log(share.sum())
                self._volumes[side] = min(self._volumes[side], volume)
                self._lows[side] = np.minimum(self._lows[side], np.array(low) - volume)
        found = np.where(np.isfinite(self._lows), self._lows + self._volumes[:, None], np.inf).tolist()
        new = PriceRange(
            np.maximum(old.upper_workers, one.upper_workers),
            np.maximum(old.upper_servers, one.upper_servers),
            *(found[0][0], found[1][0], found[0][1], found[1][1]),
            share=max(old.share, one.share),
        )
        if new.to_dict() != old.to_dict():
            self._range = new
        return self._range


class Curve(NamedTuple):
    """The prices (22) of the machines of one kind, per share of what all of them have, by what is taken."""

    low: float  # ln L; 0 if there is none
    span: np.ndarray  # ln (U^r / L), not below 0, shape (R,)
    demanded: np.ndarray  # whether the resource has a price, shape (R,); what nobody demands costs nothing
    share: float  # prices reach U when all but this share of a machine is taken; 0 is (22)

    @classmethod
    def of(cls, upper: np.ndarray, lower: float, scale: float, share: float) -> Curve:
        """Return the curve for ln U^r and ln L, U / L being multiplied by ``scale``."""
        demanded = np.isfinite(upper) & math.isfinite(lower)
        low = lower if math.isfinite(lower) else 0.0
        high = np.where(demanded, upper, low) + math.log(scale)
        return cls(low, np.maximum(0.0, high - low), demanded, share)

    def __call__(self, taken: np.ndarray, capacity: np.ndarray) -> np.ndarray:
        """Return the prices where so much is taken of so much, shape (..., R) both."""
        has = (1.0 - self.share) * capacity
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(taken > 0.0, np.minimum(1.0, taken / has), 0.0)
        return np.where(self.demanded, np.exp(np.minimum(HIGHEST, self.low + self.span * part)), 0.0)


class Market:
    """The usage and the prices of the machines of one kind, [slot][resource][machine].

    Amounts are whole multiples of 1e-6 held as floats, which is exact.
    """

    def __init__(self, capacity: np.ndarray, horizon: int) -> None:
        self._capacity = capacity.astype(np.float64)
        self._total = capacity.sum(axis=0) / UNIT
        self._by_resource = np.ascontiguousarray(self._capacity.T)
        self.taken = np.zeros((horizon, *capacity.T.shape))
        self.prices = np.zeros_like(self.taken)
        self.lowest = np.zeros(capacity.shape[1])

    def share(self, demand: np.ndarray) -> np.ndarray:
        """Return a demand's share of what all machines have; 0 where they have none: there is no room."""
        return np.divide(demand, self._total, out=np.zeros_like(demand), where=self._total > 0.0)

    def reprice(self, curve: Curve) -> None:
        """Set all prices by a curve."""
        self._curve = curve
        self.lowest = curve(np.zeros(len(self.lowest)), np.ones(len(self.lowest)))
        taken = self.taken.transpose(0, 2, 1)
        self.prices.transpose(0, 2, 1)[:] = curve(taken, self._capacity)

    def add(self, rows: np.ndarray, need: np.ndarray) -> None:
        """Take what rows (slot, job, machine, count) of one job need, and raise the prices there."""
        slots, machines = rows[:, 0] - 1, rows[:, 2]
        taken = self.taken[slots, :, machines] + rows[:, 3:] * need
        self.taken[slots, :, machines] = taken
        self.prices[slots, :, machines] = self._curve(taken, self._capacity[machines])

    def offer(
        self, slots: slice, need: np.ndarray, share: np.ndarray, most: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return how many fit on each machine in each slot, and the cost of one."""
        from ...models.admission import kernels

        room = kernels.rooms(self._by_resource, self.taken[slots], need.astype(np.float64), most)
        return room, kernels.unit_costs(self.prices[slots], share)


def _worthwhile(job: Job, cost: float, slots: int) -> int:
    """Return how many of its first slots a job may be done in to be worth more than a cost, or a few more."""
    if cost <= 0.0:
        return slots
    if cost >= job.priority:
        return 0
    if job.decay == 0.0:
        return slots if cost < job.priority * 0.5 * (1.0 + 1e-9) else 0
    delay = job.target + math.log(job.priority / cost - 1.0 + 1e-9) / job.decay
    return int(min(max(0.0, delay + 2.0), slots))
