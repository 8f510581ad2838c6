"""Certificates of the placement problem: a schedule, and prices that bound what all others cost.

The prices are those of :mod:`.bound`, of resources as such: what other rows and prices of jobs prove
besides is left out. Where jobs are few, the checker goes through all decisions, and prices tell it where it
need not go on.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from ...models.placement.instance import PlacementInstance
from ...models.placement.jobs import RESOURCES
from ...models.placement.schedule import Schedule
from ...verify import Placement, RejectedError, Run
from ..base import Optimum
from .bound import Certificate, Row, counted, lower_bound
from .exact import MILLION

BITS = 50
"""Prices are whole multiples of 2^-50 of the largest, or somewhat finer."""

MOST_JOBS = 14
"""Up to so many jobs, a search is tried."""


def of_offline(instance: PlacementInstance, optimum: Optimum[Schedule]) -> tuple[Any, Any]:
    """Return start and machines of every job, and prices, with a search where they prove too little alone."""
    schedule = optimum.decision
    decision = [[int(start), schedule.of_job(job).tolist()] for job, start in enumerate(schedule.start)]
    kept = optimum.certificate
    few = len(instance.jobs) <= MOST_JOBS
    rows = kept.rows
    if (
        rows is None
        or len(kept.lane)
        or any(row != Row(row.resource, 0) for row in rows)
        or few  # whose optimum may have been proved after a few rounds on prices
    ):
        kept = lower_bound(instance, schedule=schedule, plain=True).certificate
    proof = {"search": 0, **_prices(instance, kept)}
    if few and optimum.bound is not None:
        of = Placement(instance.to_dict(), proof)
        if of.bound(Run()) < optimum.bound * MILLION:
            with suppress(RejectedError):  # too many steps
                of.search(instance.units(schedule))
                proof["search"] = 1
    return decision, proof


def _prices(instance: PlacementInstance, kept: Certificate) -> dict[str, Any]:
    """Return times, the first of them 0, and prices of a unit of each resource, where they change."""
    price = np.zeros((len(kept.prices), len(RESOURCES)))
    for r, row in enumerate(kept.rows or ()):
        if row == Row(row.resource, 0):
            price[:, row.resource] = kept.prices[:, r] / max(1, counted(instance, row)[1])
    grid = math.frexp(price.max(initial=0.0))[1] - BITS
    price = np.ldexp(np.rint(np.ldexp(price, -grid)), grid)
    times = kept.times
    if times[0] > 0:
        times, price = np.append(0, times), np.concatenate([np.zeros((1, len(RESOURCES))), price])
    changes = np.flatnonzero((price[1:] != price[:-1]).any(axis=1)) + 1
    starts = np.concatenate([[0] * (len(price) > 0), changes]).astype(np.int64)
    return {"times": [*times[starts].tolist(), int(times[-1])], "prices": price[starts].tolist()}
