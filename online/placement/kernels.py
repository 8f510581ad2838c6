"""Compiled kernels of the placement heuristics.

All of them are in this one file, because compiled code is cached by file.
"""

from __future__ import annotations

import numpy as np

from ...models.compiled import njit
from ...models.placement.kernels import fill, fits, room


@njit(cache=True)
def dominant_shares(total, instances, need):  # type: ignore[no-untyped-def]
    """Return the largest share of all machines together that each job needs of any resource, shape (w,)."""
    result = np.zeros(instances.size)
    for p in range(instances.size):
        for r in range(total.size):
            if need[p, r] > 0:
                result[p] = max(result[p], instances[p] * need[p, r] / total[r])
    return result


@njit(cache=True)
def alignment(free, capacity, need):  # type: ignore[no-untyped-def]
    """Return the dot product of what an instance needs and what is free, both over a machine's capacity.

    -1 if no instance fits there; a resource that the machine does not have adds nothing.
    """
    if room(free, need, 1) == 0:
        return -1.0
    result = 0.0
    for r in range(need.size):
        if capacity[r] > 0:
            result += (need[r] / capacity[r]) * (free[r] / capacity[r])
    return result


@njit(cache=True)
def start_by_alignment(capacity, free, jobs, instances, need):  # type: ignore[no-untyped-def]
    """Return the rows (job, machine, count) that start under Tetris.

    Again and again, of the jobs that fit, the one with the largest alignment with any machine starts; it is
    placed on the machines in descending order of alignment. Ties go to the older job and the lower index.
    """
    left = free.copy()
    machines = free.shape[0]
    rows = np.empty((jobs.size * machines, 3), dtype=np.int64)
    at = 0
    open_ = np.ones(jobs.size, dtype=np.bool_)
    while True:
        best, top = -1, -1.0
        for p in range(jobs.size):
            open_[p] = open_[p] and fits(left, need[p], instances[p])
            if open_[p]:
                for k in range(machines):
                    score = alignment(left[k], capacity[k], need[p])
                    if score > top:
                        best, top = p, score
        if best < 0:
            return rows[:at].copy()
        scores = np.empty(machines)
        for k in range(machines):
            scores[k] = -alignment(left[k], capacity[k], need[best])
        ranked = np.argsort(scores, kind="mergesort")
        at = fill(left, need[best], instances[best], ranked, jobs[best], rows, at)
        open_[best] = False
