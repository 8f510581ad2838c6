"""Schedules, and the cheapest one of a job at given prices for all deadlines at once: (27) and (28) of OASiS.

A decision in a slot is a :class:`Deployment`: how many workers and parameter servers of which job run on
which machine. A :class:`Schedule` is the deployments of all slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import InputError, frozen_copy, numbers
from .jobs import LARGEST, Job

MOST_ENTRIES = 10**8
"""The most entries of the table of the printed program."""


class Deployment(NamedTuple):
    """The deployment of one slot: rows (job, machine, count) of workers and of parameter servers.

    Arrays or lists of shape (n, 3); no row twice for one job and machine.
    """

    workers: Any
    servers: Any


NOTHING = Deployment(np.zeros((0, 3), dtype=np.int64), np.zeros((0, 3), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Schedule:
    """The deployments of all slots; every array is read-only and sorted by slot, job, machine."""

    workers: np.ndarray  # rows (slot, job, machine, count) with y_ih(t) > 0, whole, shape (n, 4)
    servers: np.ndarray  # rows (slot, job, machine, count) with z_ik(t) > 0, whole, shape (m, 4)

    def __post_init__(self) -> None:
        for name in ("workers", "servers"):
            object.__setattr__(self, name, read_rows(f"schedule.{name}", getattr(self, name), 4))

    @classmethod
    def empty(cls) -> Schedule:
        """Return the schedule in which nothing runs."""
        none = np.zeros((0, 4), dtype=np.int64)
        return cls(none, none)

    @classmethod
    def join(cls, parts: list[Schedule]) -> Schedule:
        """Return one schedule with the rows of several, such as those of single jobs."""
        if not parts:
            return cls.empty()
        return cls(np.concatenate([p.workers for p in parts]), np.concatenate([p.servers for p in parts]))

    @classmethod
    def of_deployments(cls, deployments: Any) -> Schedule:
        """Return the schedule of deployments, one per slot from slot 1 on, such as a run's decisions."""
        sides: list[list[np.ndarray]] = [[], []]
        for slot, deployment in enumerate(deployments):
            for side, given in zip(sides, deployment, strict=True):
                fits = _are_whole(given) and given.shape[1] == 3
                side.append(given if fits else read_rows(f"decisions[{slot}]", given, 3))
        stacked = []
        for side in sides:
            slots = np.repeat(np.arange(1, len(side) + 1), [*map(len, side)])
            stacked.append(np.column_stack([slots, np.concatenate([NOTHING.workers, *side])]))
        return cls(*stacked)

    @property
    def jobs(self) -> np.ndarray:
        """The jobs with a worker in some slot, ascending."""
        return np.unique(self.workers[:, 1])

    def of_job(self, job: int) -> Schedule:
        """Return the part of one job."""
        return Schedule(*(rows[rows[:, 1] == job] for rows in (self.workers, self.servers)))

    def deployments(self, horizon: int) -> tuple[Deployment, ...]:
        """Return the deployment of every slot, for :class:`clairvoyant.online.play.Replay`."""
        sides = []
        for rows in (self.workers, self.servers):
            ends = np.searchsorted(rows[:, 0], np.arange(1, horizon + 2))
            kept = frozen_copy(rows[:, 1:])  # contiguous, so that kernels are compiled for one layout
            sides.append([kept[ends[t] : ends[t + 1]] for t in range(horizon)])
        return tuple(Deployment(w, s) for w, s in zip(*sides, strict=True))


def read_rows(field: str, given: Any, width: int) -> np.ndarray:
    """Return whole, non-zero rows in ascending order, read-only, or raise for a wrong shape or type."""
    if _are_whole(given):
        rows = given
    else:
        rows = numbers(given, field, (None, width), low=-LARGEST, high=LARGEST, integer=True)
    if rows.shape[1] != width:
        raise InputError(f"{field}: shape {rows.shape} does not fit, expected (any, {width})")
    rows = rows[rows[:, -1] != 0].astype(np.int64)
    result: np.ndarray = rows[np.lexsort(rows.T[-2::-1])]
    result.setflags(write=False)
    return result


def _are_whole(given: Any) -> bool:
    """Return whether these are rows of whole numbers, none of them too large."""
    if not (isinstance(given, np.ndarray) and given.dtype.kind in "iu" and given.ndim == 2):
        return False
    return bool(given.min(initial=0) >= -LARGEST and given.max(initial=0) <= LARGEST)


@dataclass(frozen=True, eq=False)
class Offer:
    """The prices and room for a job in its slots a, ..., T (S = T - a + 1 of them)."""

    # worker_room, worker_cost: how many workers fit on each machine (30), whole, and what one costs there, >=
    # 0, shape (S, H).
    worker_room: np.ndarray
    worker_cost: np.ndarray
    # server_room, server_cost: how many parameter servers fit (31), and what one costs, shape (S, K).
    server_room: np.ndarray
    server_cost: np.ndarray


@dataclass(frozen=True, eq=False)
class Plan:
    """A schedule of one job, and what it is worth at the prices it was made for."""

    # job, completion: index of the job, and the last slot in which it runs (8).
    job: int
    completion: int
    # cost, payoff: cost of the schedule, and the job's utility less the cost (27), possibly negative.
    cost: float
    payoff: float
    schedule: Schedule  # its workers and parameter servers


class TooLargeError(InputError):
    """A job that the exact program over worker-slots cannot handle at some prices."""


def cheapest_schedule(job: Job, offer: Offer, least: float = -np.inf) -> Plan | None:
    """Return the schedule with the largest payoff f(t - a) - cost (27).

    It is exact over worker-slots, up to rounding: what could be gained beyond it is less than 1e-12 of the
    utility or of the cost.

    No slot is used that is not offered. ``None`` is returned if the job cannot finish, or no schedule is
    worth more than ``least``; the more is asked, the faster it is. Ties: deadlines are tried in descending
    order of the payoff that a Lagrangian bound allows, of equal ones the latest first, and the next one
    counts only if it pays more; for a deadline, as few workers run in the late slots as equal cost allows; of
    machines of equal cost those with smaller numbers come first.

    A job of much work is a :class:`TooLargeError` if so many schedules cost the same that all worker-slots
    would have to be gone through, in more than :data:`.kernels.MOST_STEPS` or with a table of more than
    :data:`.kernels.MOST_ENTRIES`.
    """
    from . import kernels

    if _hopeless(job, offer):
        return None
    payoff, cost, counts, _, how = kernels.best_counts(
        _arrays(job, offer),
        job.worker_bandwidth / job.server_bandwidth * (1.0 - 1e-12),
        job.work,
        job.utilities(job.arrival + len(offer.worker_room) - 1),
        least,
    )
    if how < 0:
        what = f"{job.work} worker-slots of work in {len(offer.worker_room)} slots"
        too_large = f"{what} are more than the exact program can handle"
        raise TooLargeError(f"jobs[{job.index}].chunks: {job.chunks!r}: {too_large}")
    return _plan(job, offer, counts, cost, payoff) if len(counts) else None


def printed_schedule(job: Job, offer: Offer) -> Plan | None:
    """Return the schedule of Alg. 2 as printed, or ``None`` where that finds none.

    It hands whole chunks to slots: d chunks take ceil(d m) workers in a slot, so that what rounding up wastes
    in every slot is lost, and where a chunk takes more worker-slots than N none can be handed out at all. Of
    equally good deadlines the earliest is taken. Because of the rounding the workers may have done all the
    work before the deadline. All are part of the schedule nevertheless, of its completion, cost and payoff:
    so it is printed, although a job that is done must not run.

    A job with so many chunks that the table of the program has more than :data:`MOST_ENTRIES` is an
    InputError.
    """
    from . import kernels

    slots, chunks = len(offer.worker_room), job.epochs * job.chunks
    # y workers take floor(y / m) chunks at most; handing out fewer costs as much
    takes = np.array([min(int(y / job.chunk_time), chunks) for y in range(job.chunks + 1)], dtype=np.int64)
    if _hopeless(job, offer) or chunks > int(takes[-1]) * slots:
        return None
    if slots * chunks > MOST_ENTRIES:
        what = f"{chunks} chunks in {slots} slots are more than the printed program can handle"
        raise InputError(f"jobs[{job.index}].epochs: {job.epochs!r}: {what}")
    curves = kernels.slot_curves(_arrays(job, offer))[0]
    costs, choice = kernels.fill_chunks(curves, takes, chunks)
    last = int(np.argmax(job.utilities(slots + job.arrival - 1) - costs))
    if not np.isfinite(costs[last]):
        return None
    counts, left = np.zeros(slots, dtype=np.int64), chunks
    for s in range(last, -1, -1):
        counts[s] = choice[s, left]
        left = max(0, left - int(takes[counts[s]]))
    cost = float(curves[np.arange(slots), counts].sum())
    return _plan(job, offer, counts, cost, job.utility(last) - cost)


def place(job: Job, offer: Offer, counts: np.ndarray) -> Schedule:
    """Return the schedule with these numbers of workers in slots a, a + 1, ..., on the cheapest machines."""
    from . import kernels

    worker_room, worker_cost, server_room, server_cost, servers_for = _arrays(job, offer)
    return Schedule(
        kernels.place(worker_room, worker_cost, counts, job.arrival, job.index),
        kernels.place(server_room, server_cost, servers_for[counts], job.arrival, job.index),
    )


def _plan(job: Job, offer: Offer, counts: np.ndarray, cost: float, payoff: float) -> Plan:
    completion = job.arrival + int(np.flatnonzero(counts)[-1])
    return Plan(job.index, completion, cost, payoff, place(job, offer, counts))


def _hopeless(job: Job, offer: Offer) -> bool:
    """Return whether bandwidths, or N workers in every slot offered, rule the job out."""
    slots = len(offer.worker_room)
    return job.worker_bandwidth > job.server_bandwidth or job.work > job.chunks * slots


def _arrays(job: Job, offer: Offer) -> tuple[np.ndarray, ...]:
    return (
        _plain(offer.worker_room, np.int64),
        _plain(offer.worker_cost, np.float64),
        _plain(offer.server_room, np.int64),
        _plain(offer.server_cost, np.float64),
        job.servers_for,
    )


def _plain(array: np.ndarray, kind: type) -> np.ndarray:
    """Return an array, or its copy, as compiled code takes it: contiguous, and it can be written to."""
    return array if array.dtype == kind and array.flags.carray else np.array(array, dtype=kind, order="C")
