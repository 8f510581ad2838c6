"""The range of resource prices: U and L of (23)-(26), in logarithms and in shares of all capacity.

The paper adds amounts of different resources, whose units differ. Here every amount is a share of what all
machines of its side have of the resource, so that sums have a meaning: w~_i^r = w_i^r / sum_h c_h^r. The
competitive ratio of Theorem 4 is in ratios U / L, where units cancel if there is one resource.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .jobs import Job
from .setting import PriceRange, Setting

FLOOR = 0.01
"""With the floor, f_i(T - a_i) in (25) and (26) counts as at least this share of the priority."""


def price_range(setting: Setting, jobs: Iterable[Job]) -> PriceRange:
    """Return U and L of (23)-(26) for some jobs; those that can never finish do not count.

    U uses f_i(ceil(E_i m_i) - 1), the utility of the shortest run. Amounts are shares of all capacity; eta is
    the largest that the paper allows: 1 / eta = min_i W_i sum_r w~_i^r / (T R), R counting the resources that
    the machines have.
    """
    found = [job for job in jobs if setting.why_never(job) is None]
    workers = _side(setting, found, [setting.worker_share(job) for job in found], setting.worker_units)
    servers = _side(setting, found, [setting.server_share(job) for job in found], setting.server_units)
    share = max((setting.largest_share(job) for job in found), default=0.0)
    return PriceRange(workers[0], servers[0], workers[1], servers[1], workers[2], servers[2], share)


def _side(
    setting: Setting, jobs: list[Job], shares: list[np.ndarray], capacity: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """Return ln U^r, ln L, and ln L with the floor, of the machines of one kind."""
    upper = np.full(len(setting.resources), -np.inf)
    volume, low, floored = math.inf, math.inf, math.inf
    for job, share in zip(jobs, shares, strict=True):
        asked = share > 0.0
        if not asked.any():
            continue
        best = job.log_utility(job.shortest - 1)
        upper[asked] = np.maximum(upper[asked], best - np.log(share[asked]))
        total = math.log(job.work) + math.log(share.sum())
        last = job.log_utility(setting.horizon - job.arrival)
        volume = min(volume, total)
        low = min(low, last - total)
        floored = min(floored, max(last, math.log(FLOOR * job.priority)) - total)
    upper.setflags(write=False)
    kinds = int((capacity.sum(axis=0) > 0).sum())
    if volume == math.inf or kinds == 0:
        return upper, math.inf, math.inf
    scale = volume - math.log(4.0 * setting.horizon * kinds)  # ln 1 / (4 eta)
    return upper, low + scale, floored + scale
