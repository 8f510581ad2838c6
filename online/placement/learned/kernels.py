"""Compiled kernels of the learned schedulers: what the networks see, and how they decide.

The networks are those of :mod:`.networks`, in the arrays of :class:`.weights.Weights`, in single precision.
"""

from __future__ import annotations

import numpy as np

from ....models.compiled import njit
from ....models.placement.kernels import (
    CONSOLIDATE,
    FIRST_FIT,
    THOUSAND,
    fill,
    fits,
    machine_order,
    room,
)
from ..kernels import fewest

GPUS, ESTIMATE, RANK, CONTENTION = 5, 12, 4, 3  # places in features.JOB_FEATURES and PAIR_FEATURES
PATIENT = 5  # and in HOLD_FEATURES
PATIENCE = 2.0  # of DRF-Patient
ONE = np.float32(1.0)
TINY = np.float32(1e-6)


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
        look_at_pairs_of(capacity, free, instances[p], need[p], intensity[p], load, result[p])
    return result


@njit(cache=True)
def look_at_pairs_of(capacity, free, instances, need, intensity, load, result):  # type: ignore[no-untyped-def]
    """Write the features of one job on every machine, shape (M, 5)."""
    ranked = machine_order(CONSOLIDATE, free, capacity, need, instances)
    for place in range(ranked.size):
        k = ranked[place]
        fitting = room(free[k], need, instances)
        top = max(capacity[k, 0], 1)
        result[k, 0] = fitting / instances
        result[k, 1] = fitting == instances
        result[k, 2] = (free[k, 0] - fitting * need[0]) / top
        result[k, 3] = intensity / THOUSAND * load[k, 0] / top
        result[k, 4] = 1.0 - place / ranked.size


@njit(cache=True)
def _sigmoid(x):  # type: ignore[no-untyped-def]
    return ONE / (ONE + np.exp(-x))


@njit(cache=True)
def _add(x, weight, first, result):  # type: ignore[no-untyped-def]
    """Add to a row what a layer makes of the inputs x, whose weights begin at row ``first``.

    The inner loop is over the outputs: so it needs no sum, and works on several at once.
    """
    for i in range(x.size):
        for j in range(result.size):
            result[j] += x[i] * weight[first + i, j]


@njit(cache=True)
def _layer(x, count, weight, bias):  # type: ignore[no-untyped-def]
    """Return max(0, x W + b) of the first ``count`` columns of x."""
    result = np.empty((x.shape[0], bias.size), dtype=np.float32)
    for i in range(x.shape[0]):
        result[i] = bias
        _add(x[i, :count], weight, 0, result[i])
        result[i] = np.maximum(result[i], np.float32(0.0))
    return result


@njit(cache=True)
def _mean_of_rows(x):  # type: ignore[no-untyped-def]
    result = np.zeros(x.shape[1], dtype=np.float32)
    for i in range(x.shape[0]):
        result += x[i]
    return result / np.float32(x.shape[0])


@njit(cache=True)
def _groups(jobs, centres):  # type: ignore[no-untyped-def]
    """Return the centre of the group of each job."""
    result = np.empty((jobs.shape[0], centres.shape[1]), dtype=np.float32)
    for p in range(jobs.shape[0]):
        least, best = np.inf, 0
        for g in range(centres.shape[0]):
            far = 0.0
            for i in range(centres.shape[1]):
                far += (jobs[p, i] - centres[g, i]) ** 2
            if far < least:
                least, best = far, g
        result[p] = centres[best]
    return result


@njit(cache=True)
def _attend(z, heads, look, out):  # type: ignore[no-untyped-def]
    """Return z and what the attention adds, (6)."""
    n, e = z.shape
    size = e // heads
    scale = ONE / np.sqrt(np.float32(size))
    looked = np.zeros((n, 3 * e), dtype=np.float32)
    for i in range(n):
        _add(z[i], look, 0, looked[i])
    keys = looked[:, e : 2 * e].T.copy()
    result, share, mixed = z.copy(), np.empty(n, dtype=np.float32), np.empty(e, dtype=np.float32)
    for i in range(n):
        mixed[:] = 0.0
        for first in range(0, e, size):
            share[:] = 0.0
            _add(looked[i, first : first + size], keys, first, share)
            most = share.max()
            total = np.float32(0.0)
            for j in range(n):
                share[j] = np.exp((share[j] - most) * scale)
                total += share[j]
            for j in range(n):
                part = share[j] / total
                for d in range(first, first + size):
                    mixed[d] += part * looked[j, 2 * e + d]
        _add(mixed, out, 0, result[i])
    return result


@njit(cache=True)
def encode(shape, weights, jobs, machines, positions):  # type: ignore[no-untyped-def]
    """Return the encoded jobs, shape (w, e), and machines, shape (M, e), of their features."""
    around = _layer(machines, weights.machines.shape[0], weights.machines, weights.machines_bias)
    if shape.grouped:
        seen = _groups(jobs, weights.centres)
        return _layer(seen, seen.shape[1], weights.jobs, weights.jobs_bias), around
    s = _layer(jobs, weights.jobs.shape[0], weights.jobs, weights.jobs_bias)
    message = _mean_of_rows(around)
    n, e = s.shape
    if not shape.attends:
        both = np.empty((n, 2 * e), dtype=np.float32)
        both[:, :e] = s
        both[:, e:] = message
        return _layer(both, 2 * e, weights.out, weights.out_bias), around
    if shape.fuses:
        told, share = weights.gate_bias.copy(), np.empty(e, dtype=np.float32)
        _add(message, weights.gate, e, told)
        for p in range(n):
            share[:] = told
            _add(s[p], weights.gate, 0, share)
            for j in range(e):
                part = _sigmoid(share[j])
                s[p, j] = part * message[j] + (ONE - part) * s[p, j]
    return _attend(s + positions[:n], shape.heads, weights.look, weights.out), around


@njit(cache=True)
def priorities_of(shape, weights, encoded, jobs):  # type: ignore[no-untyped-def]
    """Return means and variances of the priorities, shape (w, 2); NaN if nobody learns the order."""
    n = encoded.shape[0]
    result = np.full((n, 2), np.float32(np.nan), dtype=np.float32)
    for p in range(n):
        if not shape.orders:
            continue
        result[p] = weights.order_bias
        _add(encoded[p], weights.order, 0, result[p])
        place = p
        if shape.prior > 1:
            place, key = 0, ESTIMATE if shape.prior == 2 else GPUS
            for q in range(n):
                place += jobs[q, key] < jobs[p, key]
        result[p, 0] = np.tanh(result[p, 0])
        if shape.prior > 0:
            result[p, 0] -= np.float32(place) / np.float32(n)
        result[p, 1] = _sigmoid(result[p, 1]) + TINY
    return result


@njit(cache=True)
def affinities_of(shape, weights, job, around, pairs):  # type: ignore[no-untyped-def]
    """Return means and, without the process, variances of the affinities of an encoded job, (M, 1 or 2).

    ``pairs`` are its features with each machine, shape (M, 5).
    """
    m, e = around.shape
    result = np.empty((m, weights.affinity_bias.size), dtype=np.float32)
    hidden = np.empty(e, dtype=np.float32)
    for k in range(m):
        hidden[:] = weights.inner_bias
        _add(job * around[k], weights.inner, 0, hidden)
        _add(pairs[k, : shape.pairs], weights.inner, e, hidden)
        result[k] = weights.affinity_bias
        _add(np.maximum(hidden, np.float32(0.0)), weights.affinity, 0, result[k])
        for c in range(1, result.shape[1]):
            result[k, c] = _sigmoid(result[k, c]) + TINY
    level = result[:, 0].sum() / np.float32(m)
    for k in range(m):
        result[k, 0] = np.float32(0.0) if shape.silent else result[k, 0] - level
        if shape.prior > 0:
            result[k, 0] += pairs[k, RANK]
    return result


@njit(cache=True)
def look_at_hold(capacity, free, need, instances, rows, pairs, waited, elapsed, ended):  # type: ignore[no-untyped-def]
    """Return the features of a job that might start on rows (job, machine, count), shape (6,).

    ``elapsed`` are for how long all running jobs have run together, and their number, ``ended`` the same of
    the jobs that have ended; ``free`` is what is free without the job, ``pairs`` are its features by machine.
    """
    least = fewest(capacity, need, instances)
    mean = ended[0] / ended[1] if ended[1] > 0 else THOUSAND
    result = np.zeros(6, dtype=np.float32)
    result[0] = np.log2(rows.shape[0] / least) / 2.0
    for k in rows[:, 1]:
        result[1] = max(result[1], pairs[k, CONTENTION])
    result[2] = np.log1p(waited / max(mean, 1.0)) / 2.0
    result[3] = np.log1p(elapsed[0] / max(elapsed[1], 1) / max(mean, 1.0)) / 2.0
    result[4] = free[:, 0].sum() / max(capacity[:, 0].sum(), 1)
    late = waited * float(ended[1]) >= PATIENCE * ended[0]
    result[PATIENT] = 1.0 if rows.shape[0] > least and not late else -1.0
    return result


@njit(cache=True)
def hold_of(shape, weights, job, seen):  # type: ignore[no-untyped-def]
    """Return mean and variance of what lets an encoded job wait if it is above 0, by its features."""
    hidden = weights.holding_bias.copy()
    _add(job, weights.holding, 0, hidden)
    _add(seen, weights.holding, job.size, hidden)
    result = weights.hold_bias.copy()
    _add(np.maximum(hidden, np.float32(0.0)), weights.hold, 0, result)
    if shape.prior == 3:
        result[0] += seen[PATIENT]
    result[1] = _sigmoid(result[1]) + TINY
    return result


@njit(cache=True)
def give_back(free, need, rows):  # type: ignore[no-untyped-def]
    """Undo that a job takes rows (job, machine, count)."""
    for i in range(rows.shape[0]):
        for r in range(need.size):
            free[rows[i, 1], r] += rows[i, 2] * need[r]


@njit(cache=True)
def decide(shape, weights, positions, capacity, known, seen, past, shift):  # type: ignore[no-untyped-def]
    """Return the decision by the means of the actions.

    ``known`` are GPUs and intensity of the jobs by their number, and ``seen`` the observation: time, jobs,
    submissions, instances, needs, intensities, estimates (empty if there are none), how many jobs wait, what
    is free and what runs; ``past`` are elapsed and ended as in :func:`look_at_hold`, shape (2, 2);
    ``shift``, if not empty, is added to the affinities, shape (w, M). Returns the rows (job, machine, count),
    the priorities (w,), the places of the jobs that start and their affinities, (s,) and (s, M), and the
    encoded jobs and machines. Jobs are tried by falling priority, each
    on machines of falling affinity; only of a job that still fits they are needed.
    """
    now, names, submit, instances, need, intensity, estimate, waiting, free, running = seen
    w, m = instances.size, free.shape[0]
    load = loads(running, known[0], known[1], m)
    jobs, fit = look_at_jobs(now, capacity, free, submit, instances, need, intensity, estimate, waiting)
    machines = look_at_machines(capacity, free, load)
    encoded, around = encode(shape, weights, jobs, machines, positions)
    priorities = priorities_of(shape, weights, encoded, jobs)[:, 0].copy()
    if not shape.orders:
        priorities = -np.arange(w).astype(np.float32)
    left, pairs = free.copy(), np.zeros((m, 5), dtype=np.float32)
    rows, at = np.empty((w * m, 3), dtype=np.int64), 0
    started, affinities, count = np.empty(w, dtype=np.int64), np.empty((w, m), dtype=np.float32), 0
    for p in np.argsort(-priorities, kind="mergesort"):
        if not fit[p] or not fits(left, need[p], instances[p]):
            continue
        if shape.places:
            if shape.pairs > 0 or shape.prior > 0 or shape.holds:
                look_at_pairs_of(capacity, free, instances[p], need[p], intensity[p], load, pairs)
            affinities[count] = affinities_of(shape, weights, encoded[p], around, pairs)[:, 0]
            if shift.size > 0:
                affinities[count] += shift[p]
            ranked = np.argsort(-affinities[count], kind="mergesort")
        else:
            rule = CONSOLIDATE if shape.consolidates else FIRST_FIT
            ranked = machine_order(rule, left, free, need[p], instances[p])
        end = fill(left, need[p], instances[p], ranked, names[p], rows, at)
        if shape.holds and (at > 0 or running.shape[0] > 0):
            own, waited = rows[at:end], now - submit[p]
            give_back(left, need[p], own)
            about = look_at_hold(capacity, left, need[p], instances[p], own, pairs, waited, past[0], past[1])
            if hold_of(shape, weights, encoded[p], about)[0] > 0.0:
                continue
            fill(left, need[p], instances[p], ranked, names[p], rows, at)
        at = end
        started[count] = p
        count += 1
    shown = affinities[:count] if shape.places else affinities[:count, :0]
    return rows[:at], priorities, started[:count], shown, encoded, around


@njit(cache=True)
def look(now, capacity, free, submit, instances, need, intensity, estimate, waiting, running, known):  # type: ignore[no-untyped-def]
    """Return all that the networks see: of jobs, of machines and of pairs, and which jobs fit."""
    load = loads(running, known[0], known[1], free.shape[0])
    jobs, fit = look_at_jobs(now, capacity, free, submit, instances, need, intensity, estimate, waiting)
    machines = look_at_machines(capacity, free, load)
    return jobs, machines, look_at_pairs(capacity, free, instances, need, intensity, load), fit


@njit(cache=True)
def means_and_variances(shape, weights, positions, jobs, machines, pairs):  # type: ignore[no-untyped-def]
    """Return them of the priorities, (w, 2), and of the affinities, (w, M, 1 or 2), and the encoded."""
    encoded, around = encode(shape, weights, jobs, machines, positions)
    affinities = np.empty((jobs.shape[0], around.shape[0], weights.affinity_bias.size), dtype=np.float32)
    for p in range(jobs.shape[0]):
        if shape.places:
            affinities[p] = affinities_of(shape, weights, encoded[p], around, pairs[p])
    return priorities_of(shape, weights, encoded, jobs), affinities, encoded, around
