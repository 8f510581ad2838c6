"""Compiled kernels of the learned schedulers: what the networks see.

All of them are in this one file, because compiled code is cached by file.
"""

from __future__ import annotations

import numpy as np

from ....models.compiled import njit
from ....models.placement.kernels import CONSOLIDATE, THOUSAND, fits, machine_order, room


@njit(cache=True)
def loads(running, gpus, intensity, machines):  # type: ignore[no-untyped-def]
    """Return the GPUs in use times the intensity of their job, and the number of jobs, of each machine.

    ``running`` are rows (job, machine, count); ``gpus`` of an instance and ``intensity`` in thousandths are
    indexed by job. Shape (M, 2).
    """
    result = np.zeros((machines, 2))
    for r in range(running.shape[0]):
        job, k, count = running[r, 0], running[r, 1], running[r, 2]
        result[k, 0] += gpus[job] * count * intensity[job] / THOUSAND
        result[k, 1] += 1.0
    return result


@njit(cache=True)
def look_at_jobs(now, capacity, free, submit, instances, need, intensity, estimate, waiting):  # type: ignore[no-untyped-def]
    """Return the features of the waiting jobs, shape (w, 14), and whether each fits now, shape (w,).

    ``estimate`` is empty if there are none.
    """
    w, machines = submit.size, free.shape[0]
    result = np.zeros((w, 14), dtype=np.float32)
    fit = np.zeros(w, dtype=np.bool_)
    total, left = capacity[:, 0].sum(), free[:, 0].sum()
    for p in range(w):
        gpus = instances[p] * need[p, 0]
        fit[p] = fits(free, need[p], instances[p])
        result[p, 0] = np.log2(1.0 + instances[p]) / 8.0
        for r in range(3):
            most = capacity[:, r].max()
            result[p, 1 + r] = need[p, r] / most if most > 0 else 0.0
        result[p, 4] = np.log1p((now - submit[p]) / 1000.0) / 12.0
        result[p, 5] = np.log1p(gpus) / np.log1p(max(total, 1))
        result[p, 6] = fit[p]
        result[p, 7] = min(gpus / max(left, 1), 2.0) / 2.0
        able = 0
        for k in range(machines):
            able += room(free[k], need[p], instances[p]) == instances[p]
        result[p, 8] = able / machines
        result[p, 9] = intensity[p] / THOUSAND
        result[p, 10] = p / 32.0
        result[p, 11] = np.log1p(waiting) / 6.0
        if estimate.size > 0:
            seconds = estimate[p] / 1000.0
            result[p, 12] = np.log1p(seconds) / 6.0 - 1.0
            result[p, 13] = np.log1p(seconds * gpus) / 8.0 - 1.0
    return result, fit


@njit(cache=True)
def look_at_machines(capacity, free, load):  # type: ignore[no-untyped-def]
    """Return the features of the machines, shape (M, 6)."""
    machines = free.shape[0]
    result = np.zeros((machines, 6), dtype=np.float32)
    for k in range(machines):
        used = 0.0
        for r in range(3):
            if capacity[k, r] > 0:
                share = free[k, r] / capacity[k, r]
                result[k, r] = share
                used = max(used, 1.0 - share)
        result[k, 3] = used
        result[k, 4] = load[k, 0] / max(capacity[k, 0], 1)
        result[k, 5] = load[k, 1] / 8.0
    return result


@njit(cache=True)
def look_at_pairs(capacity, free, instances, need, intensity, load):  # type: ignore[no-untyped-def]
    """Return the features of every waiting job on every machine, shape (w, M, 5).

    The last one is the place of the machine under FIFO-Consolidate, from 1 for the first one down to 1 / M.
    """
    w, machines = instances.size, free.shape[0]
    result = np.zeros((w, machines, 5), dtype=np.float32)
    for p in range(w):
        ranked = machine_order(CONSOLIDATE, free, capacity, need[p], instances[p])
        for place in range(machines):
            k = ranked[place]
            fitting = room(free[k], need[p], instances[p])
            top = max(capacity[k, 0], 1)
            result[p, k, 0] = fitting / instances[p]
            result[p, k, 1] = fitting == instances[p]
            result[p, k, 2] = (free[k, 0] - fitting * need[p, 0]) / top
            result[p, k, 3] = intensity[p] / THOUSAND * load[k, 0] / top
            result[p, k, 4] = 1.0 - place / machines
    return result
