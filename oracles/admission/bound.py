"""Certified upper bounds for admission: Lagrangian relaxation of the capacities (15) and (16) of OASiS.

With prices p[t,h,r] and q[t,k,r] >= 0 on the capacities, every job chooses its best schedule of the empty
cluster for itself, and no decision of all jobs together is worth more than::

    sum_i max(0, max_l f_i(t_il - a_i) - cost_l(p, q)) + sum p c + sum q c

:func:`lagrangian_bound` computes this from any prices, with the exact subroutine of
:mod:`..models.admission.schedule`; how the prices were found does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.jobs import UNIT, Job
from ...models.admission.market import Market, Volume
from ...models.admission.program import able
from ...models.admission.schedule import Offer, Plan, TooLargeError, cheapest_schedule
from ...models.admission.setting import Setting
from ...models.program import in_highs, power_of_two
from ...models.stopwatch import library
from ..base import Budget, OracleError, relative_gap, rounding
from ..turns import STEP, Stage
from .incumbent import Best

ROUNDING = 1e-10
"""The margin on a bound, relative to the sum of its positive terms, far more than rounding."""

ROUNDED = 1e-13
"""Prices of groups, and those per unit of their machines, differ by no more than this part, or are others."""

TABLE = 2 * 10**9
"""The most steps of the exact subroutine for one job; beyond, its payoff is bounded by convex hulls."""

VOLUME, COLUMNS = "volume method", "column generation"

VOLUME_ROUNDS, LEAST_ROUNDS = 2000, 50
COLUMN_ROUNDS = 300

COARSER, FEWEST, SAMPLED_ROUNDS = 4, 25, 30
"""It begins at prices for every job out of a power of this, of at least so many jobs, then those of the power
below, after so many rounds each."""

VOLUME_WORK = 75.0
"""The work of all rounds of the volume method, if they are more than :data:`LEAST_ROUNDS`."""

OFFERED = 8
"""How often a bound is offered on the way, after twice as many rounds each time."""

COLUMN_GAP = 1e-9
"""Column generation ends at this relative distance of the bound from the master."""

PULL = 0.8
"""The weight of the best prices in the smoothing of the master's duals."""

PRIMAL = 4
"""HiGHS's number for the primal simplex method, which starts again from the last basis."""


@dataclass(frozen=True, eq=False)
class Priced:
    """Prices, and the bound that they prove."""

    bound: float  # no decision is worth more
    # worker_prices, server_prices: p[t, h, r] and q[t, k, r]: utility per unit of the resource, shapes (T, H,
    # R) and (T, K, R).
    worker_prices: np.ndarray
    server_prices: np.ndarray
    payoffs: np.ndarray  # for every job a bound of what it can gain at these prices, shape (I,)
    method: str  # how the prices were found


def lagrangian_bound(
    instance: AdmissionInstance,
    worker_prices: np.ndarray,
    server_prices: np.ndarray,
    payoffs: np.ndarray | None = None,
    budget: Budget | None = None,
) -> tuple[float, np.ndarray]:
    """Return the bound that prices prove, and the payoffs of the jobs in it.

    Prices per unit of each resource are >= 0, shapes (T, H, R) and (T, K, R). Known ``payoffs`` bound those
    of the jobs, shape (I,); those of 0 are not computed again, and if the time is over they are kept for the
    jobs that are left. A job that the exact subroutine cannot handle has its known payoff, or at most what it
    earns alone.
    """
    setting = instance.setting
    best = np.zeros(len(instance.jobs)) if payoffs is None else payoffs.copy()
    for job in instance.jobs:
        known = payoffs is not None and (best[job.index] == 0.0 or not quick(job, setting.horizon))
        if (
            job.index in instance.never
            or known
            or (budget is not None and payoffs is not None and budget.over)
        ):
            continue
        offer = _offer(instance, job, worker_prices, server_prices)
        try:
            plan = cheapest_schedule(job, offer, 0.0)
            payoff = 0.0 if plan is None else plan.payoff
        except TooLargeError:  # no price is below 0
            payoff = alone(instance.setting, job)
        best[job.index] = payoff if payoffs is None else min(best[job.index], payoff)
    paid = [(worker_prices, setting.worker_units), (server_prices, setting.server_units)]
    terms = [*best.tolist(), *(float((prices.sum(axis=0) * units).sum() / UNIT) for prices, units in paid)]
    total = math.fsum(terms)
    each = 2 * len(setting.resources) + 8  # products and quotients for each worker-slot that may underflow
    products = each * sum(job.work for job in instance.jobs)
    return total + (ROUNDING * total + products * math.ulp(0.0) if total > 0.0 else 0.0), best


def quick(job: Job, horizon: int) -> bool:
    """Return whether the exact subroutine prices a job within :data:`TABLE` steps."""
    return (horizon - job.arrival + 1) * job.work * job.chunks <= TABLE


def alone(setting: Setting, job: Job) -> float:
    """Return what a job that can finish earns if it has the cluster for itself."""
    return float(job.utility(-(-job.work // setting.most_workers(job)) - 1))


def _offer(
    instance: AdmissionInstance, job: Job, worker_prices: np.ndarray, server_prices: np.ndarray
) -> Offer:
    """Return the offer of the empty cluster to a job at given prices per unit."""
    setting, slots = instance.setting, instance.setting.horizon - job.arrival + 1
    rooms = (np.tile(room, (slots, 1)) for room in (setting.worker_room(job), setting.server_room(job)))
    sides = ((worker_prices, job.worker_demand), (server_prices, job.server_demand))
    costs = (np.ascontiguousarray(prices[job.arrival - 1 :] @ demand) for prices, demand in sides)
    (worker_room, server_room), (worker_cost, server_cost) = rooms, costs
    return Offer(worker_room, worker_cost, server_room, server_cost)


def without_prices(instance: AdmissionInstance) -> Priced:
    """Return the bound at prices 0: every job that can finish is worth what it is worth alone."""
    setting = instance.setting
    payoffs = np.zeros(len(instance.jobs))
    for job in instance.jobs:
        if job.index not in instance.never:
            payoffs[job.index] = alone(setting, job)
    prices = [
        np.zeros((setting.horizon, *units.shape)) for units in (setting.worker_units, setting.server_units)
    ]
    total = math.fsum(payoffs.tolist())
    bound = total + rounding(len(payoffs), total)
    return Priced(bound, prices[0], prices[1], payoffs, "every job alone in the cluster")


def _priced(instance: AdmissionInstance, method: Any, name: str, budget: Budget) -> Priced:
    """Return the certificate of a method's prices of groups, the payoffs made as small as time allows."""
    market, prices, payoffs = method.market, method.prices, method.payoffs
    worker_prices, server_prices = market.per_unit(prices)
    told = market.joined(worker_prices, server_prices)
    if (abs(told - prices) > ROUNDED * prices).any():  # near the least number: these are other prices
        payoffs = market.respond(market.split(told)).payoffs
    every = np.zeros(len(instance.jobs))
    every[[job.index for job in market.jobs]] = payoffs * (1.0 + ROUNDING / 10)
    bound, every = lagrangian_bound(instance, worker_prices, server_prices, every, budget)
    for array in (worker_prices, server_prices, every):
        array.setflags(write=False)
    return Priced(bound, worker_prices, server_prices, every, f"{name}, {method.round} rounds")


def volume(instance: AdmissionInstance, budget: Budget, rounds: int = VOLUME_ROUNDS) -> Priced:
    """Return prices by the volume method (Barahona and Anbil 2000), and the bound that they prove.

    Machines of a group have equal prices. In the rounds, a slot's cost is replaced by its convex hull in the
    number of workers; at the end the exact subroutine prices the jobs that gain anything.
    """
    if not able(instance):
        return without_prices(instance)
    for begun, _ in _begun(instance):
        method = begun
        if budget.over:
            break
    for _ in _rounds(method, method.step, rounds, budget):
        pass
    return _priced(instance, method, VOLUME, budget)


def columns(
    instance: AdmissionInstance, budget: Budget, start: Priced | None = None, rounds: int = COLUMN_ROUNDS
) -> Priced:
    """Return prices by column generation, and the bound that they prove.

    The master is the linear relaxation of (14) over the schedules found so far, with machines of a group
    taken together; HiGHS solves it. The exact subroutine is the pricing problem. Duals are smoothed
    towards the best ones found (Wentges 1997).
    """
    jobs = able(instance)
    if not jobs:
        return without_prices(instance)
    master = _Columns(Market(instance.setting, jobs), start, budget)
    for _ in _rounds(master, partial(master.step, budget), rounds, budget):
        pass
    return _priced(instance, master, COLUMNS, budget)


def _rounds(method: Any, step: Callable[[], None], rounds: int, budget: Budget) -> Iterator[int]:
    """Do rounds until they settle, or time is up; yield the number of each."""
    while method.round < rounds and not method.settled and not budget.over:
        step()
        yield method.round


def by_volume(best: Best) -> Stage:
    """Bound by :func:`volume`, for :func:`volume_rounds`."""
    rounds, spent = volume_rounds(best.instance), 0.0
    if not able(best.instance):
        return
    try:
        for method, work in _begun(best.instance):
            spent += work
            if spent >= STEP:
                best.tell(f"{VOLUME}, samples of the jobs", bound=(1.0 + 2.0 * ROUNDING) * method.bound)
                yield spent
                spent = 0.0
    except GeneratorExit:
        best.limit_by(_priced(best.instance, method, VOLUME, best.budget))
        raise
    yield from _told(best, method, VOLUME, _rounds(method, method.step, rounds, best.budget), rounds)


def _begun(instance: AdmissionInstance) -> Iterator[tuple[Volume, float]]:
    """Yield the volume method at the prices of samples of the jobs, small ones first, and each round's work.

    A sample has the part of the capacity that it is of the jobs, so that its prices are near those of all.
    """
    jobs, each = able(instance), volume_work(instance)
    market = Market(instance.setting, jobs)
    method = Volume(market)
    yield method, each
    for every in samples(len(jobs)):
        some = jobs[::every]
        sampled = Volume(Market(instance.setting, some, len(some) / len(jobs)), method.prices)
        while sampled.round < SAMPLED_ROUNDS and not sampled.settled:
            sampled.step()
            yield method, each / every
        method = min(method, Volume(market, sampled.prices), key=lambda one: one.bound)
        yield method, each


def samples(jobs: int) -> list[int]:
    """Return out of how many jobs one is in each sample, the smallest one first."""
    every = [1]
    while every[0] * COARSER * FEWEST <= jobs:
        every.insert(0, every[0] * COARSER)
    return every[:-1]


def begin_work(instance: AdmissionInstance) -> float:
    """Return the work of the volume method on samples, about the seconds of a core."""
    each = [1.0 + SAMPLED_ROUNDS / every for every in samples(len(able(instance)))]
    return volume_work(instance) * (1.0 + sum(each))


def by_columns(best: Best) -> Stage:
    """Bound by :func:`columns`, from the best prices on."""
    jobs, budget = able(best.instance), best.budget
    if jobs:
        master = _Columns(Market(best.instance.setting, jobs), best.certificate, budget)
        every = _rounds(master, partial(master.step, budget), COLUMN_ROUNDS, budget)
        yield from _told(best, master, COLUMNS, every, COLUMN_ROUNDS)


def _told(best: Best, method: Any, name: str, rounds: Iterator[int], most: int) -> Stage:
    """Do rounds; offer the bound after 1, 1/2, 1/4 of all and so on, and where it ends."""
    work = volume_work(best.instance) if name == VOLUME else column_work(best.instance)
    often, offered = max(1, int(STEP / work)), {most >> k for k in range(1, OFFERED)}
    last = 0
    try:
        for number in rounds:
            if number in offered:
                best.limit_by(_priced(best.instance, method, name, best.budget))
            if number % often == 0 or number in offered:
                best.tell(f"{name}, {number} rounds", bound=(1.0 + 2.0 * ROUNDING) * method.bound)
                yield work * (number - last)
                last = number
    finally:
        best.limit_by(_priced(best.instance, method, name, best.budget))


def volume_rounds(instance: AdmissionInstance) -> int:
    """Return how many rounds of the volume method end within a minute or two."""
    return int(min(VOLUME_ROUNDS, max(LEAST_ROUNDS, VOLUME_WORK / volume_work(instance))))


def volume_work(instance: AdmissionInstance) -> float:
    """Return the work of a round of the volume method, about the seconds of a core."""
    jobs, horizon = able(instance), instance.setting.horizon
    return 3e-5 + 2.5e-8 * sum((horizon - job.arrival + 1) * job.chunks for job in jobs)


def column_work(instance: AdmissionInstance) -> float:
    """Return the work of a round of column generation, about the seconds of a core."""
    jobs, horizon = able(instance), instance.setting.horizon
    return 1e-3 + 1e-8 * sum((horizon - job.arrival + 1) * job.work * job.chunks for job in jobs)


class _Columns:
    """State of column generation; see :func:`columns`."""

    def __init__(self, market: Market, start: Priced | None, budget: Budget) -> None:
        self.market = market
        self.sizes = [int(np.prod(shape)) for shape in market.shapes]
        self.prices = np.zeros(sum(self.sizes))
        if start is not None:
            self.prices = market.joined(start.worker_prices, start.server_prices)
        found = market.respond(market.split(self.prices))
        self.bound, self.payoffs = found.bound, found.payoffs
        self.round, self.settled, self.value = 0, False, 0.0
        self.known: list[set[bytes]] = [set() for _ in market.jobs]
        reached = max(alone(market.setting, job) for job in market.jobs)
        self.unit = power_of_two(reached) or 1.0  # of the master's objective
        none, most = np.zeros(0), np.ones(len(market.jobs) + sum(self.sizes))
        empty, rows = (np.zeros(1, np.int32), np.zeros(0, np.int32), none), (-np.inf * most, most)
        options = {"simplex_strategy": PRIMAL}
        self.highs = in_highs(none, empty, rows, (none, none), options, maximise=True)
        self._price(self.prices, budget)

    def step(self, budget: Budget) -> None:
        """Solve the master, price all jobs at its smoothed duals, and add schedules."""
        highspy = library("highspy")

        self.highs.setOptionValue("time_limit", min(1e9, self.highs.getRunTime() + budget.left))
        self.highs.run()
        status = self.highs.getModelStatus()
        if status == highspy.HighsModelStatus.kTimeLimit:
            return
        if status == highspy.HighsModelStatus.kModelEmpty:  # no job has paid yet
            self.value, duals = 0.0, np.zeros(len(self.prices))
        elif status == highspy.HighsModelStatus.kOptimal:
            self.value = self.highs.getInfo().objective_function_value * self.unit
            duals = np.array(self.highs.getSolution().row_dual)[len(self.market.jobs) :]
            duals = np.maximum(0.0, duals * self.unit)
        else:
            raise OracleError(f"column generation: HiGHS ends with {status}")
        self.round += 1
        for pull in (PULL, 0.0):
            new = self._price(pull * self.prices + (1.0 - pull) * duals, budget)
            if new or budget.over:
                break
        self.settled = not budget.over and (not new or relative_gap(self.value, self.bound) <= COLUMN_GAP)

    def _price(self, prices: np.ndarray, budget: Budget) -> int:
        """Add the best schedule of every job at some prices; return how many are new, and keep the bound."""
        market, new = self.market, 0
        split = market.split(prices)
        payoffs = np.zeros(len(market.jobs))
        for i, job in enumerate(market.jobs):
            if budget.over:
                return new
            try:
                plan = cheapest_schedule(job, market.offer(i, split), 0.0)
            except TooLargeError:  # its payoff is then bounded by convex hulls
                plan, payoffs[i] = None, market.respond(split).payoffs[i]
            if plan is not None:
                payoffs[i] = plan.payoff
                new += self._add(i, job, plan)
        bound = float(payoffs.sum() + prices.sum())
        if bound < self.bound:
            self.bound, self.prices, self.payoffs = bound, prices, payoffs
        return new

    def _add(self, i: int, job: Job, plan: Plan) -> bool:
        """Add a schedule of the i-th job to the master, unless it is there."""
        market, name = self.market, plan.schedule.workers.tobytes() + plan.schedule.servers.tobytes()
        if name in self.known[i]:
            return False
        self.known[i].add(name)
        rows, values = [np.array([i])], [np.ones(1)]
        sides = ((plan.schedule.workers, 1, 0), (plan.schedule.servers, 3, self.sizes[0]))
        for (taken, side, at), shape in zip(sides, market.shapes, strict=True):
            shares = market.sides[side][i][taken[:, 2]] * taken[:, 3:]
            place = ((taken[:, 0] - 1) * shape[1] + taken[:, 2])[:, None] * shape[2] + np.arange(shape[2])
            rows.append(len(market.jobs) + at + place[shares > 0.0])
            values.append(shares[shares > 0.0])
        row, value = np.concatenate(rows).astype(np.int32), np.concatenate(values)
        utility = job.utility(plan.completion - job.arrival)
        self.highs.addCol(utility / self.unit, 0.0, np.inf, len(row), row, value)
        return True
