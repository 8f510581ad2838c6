"""The cheapest schedule of one job at given prices, for all deadlines at once: (27) and (28) of OASiS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import kernels
from .instance import Schedule
from .jobs import Job


@dataclass(frozen=True, eq=False)
class Offer:
    """What the machines offer a job in its slots a, ..., T (S = T - a + 1 of them).

    Attributes
    ----------
    worker_room, worker_cost
        How many workers fit on each machine (30), whole, and what one costs there, >= 0, shape (S, H).
    server_room, server_cost
        How many parameter servers fit (31), and what one costs, shape (S, K).
    """

    worker_room: np.ndarray
    worker_cost: np.ndarray
    server_room: np.ndarray
    server_cost: np.ndarray


@dataclass(frozen=True, eq=False)
class Plan:
    """A schedule of one job, and what it is worth at the prices it was made for.

    Attributes
    ----------
    job, completion
        Index of the job, and the slot in which its work is done.
    cost, payoff
        Cost of the schedule, and the job's utility less the cost (27), possibly negative.
    schedule
        Its workers and parameter servers.
    """

    job: int
    completion: int
    cost: float
    payoff: float
    schedule: Schedule


def deadline_costs(job: Job, offer: Offer) -> np.ndarray:
    """Return the least cost (28) of doing the job's work by each slot a, ..., T; infinite if it cannot be."""
    if job.work > job.chunks * len(offer.worker_room):
        return np.full(len(offer.worker_room), np.inf)
    costs: np.ndarray = kernels.fill(_curve(job, offer), job.work)[0]
    return costs


def cheapest_schedule(job: Job, offer: Offer) -> Plan | None:
    """Return the schedule with the largest payoff f(t - a) - cost (27), or ``None`` if the job cannot finish.

    It is exact over worker-slots. Of equally good deadlines the earliest is taken.
    """
    slots = len(offer.worker_room)
    if job.work > job.chunks * slots:
        return None
    curve = _curve(job, offer)
    costs, choice = kernels.fill(curve, job.work)
    payoffs = job.utilities(slots + job.arrival - 1) - costs
    last = int(np.argmax(payoffs))
    if not np.isfinite(costs[last]):
        return None
    counts, left = np.zeros(last + 1, dtype=np.int64), job.work
    for s in range(last, -1, -1):
        counts[s] = choice[s, left]
        left -= counts[s]
    completion = job.arrival + int(np.flatnonzero(counts)[-1])
    cost = float(costs[last])
    worth = job.utility(completion - job.arrival) - cost
    return Plan(job.index, completion, cost, worth, place(job, offer, counts))


def place(job: Job, offer: Offer, counts: np.ndarray) -> Schedule:
    """Return the schedule with these numbers of workers in slots a, a + 1, ..., on the cheapest machines."""
    rows: list[list[tuple[int, int, int, int]]] = [[], []]
    sides = ((offer.worker_room, offer.worker_cost), (offer.server_room, offer.server_cost))
    for s in np.flatnonzero(counts).tolist():
        wanted = (counts[s], job.servers_for[counts[s]])
        for side, (room, cost), count in zip(rows, sides, wanted, strict=True):
            left = int(count)
            for machine in np.argsort(cost[s], kind="stable").tolist():
                taken = min(left, int(room[s, machine]))
                if taken:
                    side.append((job.arrival + s, job.index, machine, taken))
                    left -= taken
    return Schedule(*(np.array(side, dtype=np.int64).reshape(-1, 4) for side in rows))


def _curve(job: Job, offer: Offer) -> np.ndarray:
    curve: np.ndarray = kernels.slot_curves(
        offer.worker_room, offer.worker_cost, offer.server_room, offer.server_cost, job.servers_for
    )
    return curve
