"""Compiled kernels of training: a whole episode in one call, and what a rule would make of the rest of it.

All of them are in this one file, because compiled code is cached by file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....models.compiled import njit
from ....models.placement.kernels import (
    CONSOLIDATE,
    FIRST_FIT,
    NOW,
    PENDING,
    RUNNING,
    USED,
    WAITED,
    advance,
    copy_state,
    fill,
    fits,
    machine_order,
    run_by_keys,
    running_rows,
    start_by_rule,
    start_rows,
    waiting,
)
from .kernels import (
    ONE,
    affinities_of,
    encode,
    loads,
    look_at_jobs,
    look_at_machines,
    look_at_pairs_of,
    priorities_of,
)
from .process import JITTER, TERMS

CLOCK = 5
"""Numbers of :attr:`Kept.clock`."""


class Kept(NamedTuple):
    """What an episode leaves to learn from: D decisions about J rows of waiting jobs, which start S jobs."""

    # rows, begun: where the waiting and the started jobs of each decision begin, shape (D + 1,).
    rows: np.ndarray
    begun: np.ndarray
    # Tick, how many jobs wait and run, what has waited and is used, at each decision and in the end, shape
    # (D + 1, 5), and what waits and is used in the end if a rule takes over, shape (D + 1, 2).
    clock: np.ndarray
    final: np.ndarray
    jobs: np.ndarray  # shape (J, 14)
    fits: np.ndarray  # shape (J,)
    priorities: np.ndarray  # shape (J,)
    machines: np.ndarray  # shape (D, M, 6)
    place: np.ndarray  # of each started job in the window, in the order of placement, shape (S,)
    pairs: np.ndarray  # shape (S, M, 5)
    affinities: np.ndarray  # shape (S, M)
    # points, residual: of the process, shapes (S, M, d) and (S, M); d = 0 without it.
    points: np.ndarray
    residual: np.ndarray


def kept_of(jobs: int, machines: int, window: int, width: int) -> Kept:
    """Return room for an episode; an arrival or an end of a job leads to one decision at most."""
    most = 2 * jobs
    rows = most * min(window, jobs)

    def floats(*shape: int) -> np.ndarray:
        return np.empty(shape, dtype=np.float32)

    return Kept(
        np.zeros(most + 1, dtype=np.int64),
        np.zeros(most + 1, dtype=np.int64),
        np.empty((most + 1, CLOCK), dtype=np.int64),
        np.empty((most + 1, 2), dtype=np.int64),
        floats(rows, 14),
        np.empty(rows, dtype=np.bool_),
        floats(rows),
        floats(most, machines, 6),
        np.empty(jobs, dtype=np.int64),
        floats(jobs, machines, 5),
        floats(jobs, machines),
        floats(jobs, machines, width),
        floats(jobs, machines),
    )


@njit(cache=True)
def taken_over(table, state, scratch, contention, window, keys, rows, ends):  # type: ignore[no-untyped-def]
    """Write what waits and is used in the end if a rule takes over after these sorted rows start now.

    The rule tries jobs by ascending key, on the fewest machines. ``ends`` stays if it would start the same.
    ``scratch`` is overwritten.
    """
    jobs = waiting(state)[:window].copy()
    order = np.argsort(keys[jobs], kind="mergesort")
    need, instances = table.need[jobs], table.instances[jobs]
    same = start_by_rule(table.capacity, state.free, jobs, instances, need, order, CONSOLIDATE, False)
    if same.shape[0] == rows.shape[0]:
        turn = np.argsort(same[:, 0] * state.free.shape[0] + same[:, 1])
        if (same[turn] == rows).all():
            return
    copy_state(state, scratch)
    start_rows(table, scratch, contention, rows)
    run_by_keys(table, scratch, contention, window, keys, CONSOLIDATE, False)
    ends[0], ends[1] = scratch.clock[WAITED], scratch.clock[USED]


@njit(cache=True)
def _walks(similar, weight, nodes):  # type: ignore[no-untyped-def]
    """Write the features of the nodes of a graph of M machines, shape (M, TERMS)."""
    m = similar.shape[0]
    counts, factor = np.ones(m, dtype=np.float32), np.float32(1.0)
    for step in range(TERMS):
        if step > 0:
            counts = np.dot(similar, counts) / np.float32(m)
            factor *= weight / np.float32(step)
        nodes[:, step] = counts * np.sqrt(factor)


@njit(cache=True)
def covariance_given(process, seen, residual):  # type: ignore[no-untyped-def]
    """Return shift (13) and covariance (14) of the first M points, given noisy residuals of the others.

    ``process`` are lengthscale, scale, noise and weight of walks, ``seen`` the machines as seen by 1 + T
    jobs, shape ((1 + T) M, d), and ``residual`` has T M numbers. See :mod:`.gaussian`.
    """
    length, scale, noise, weight = process[0], process[1], process[2], process[3]
    all_, m = seen.shape[0], seen.shape[0] - residual.size
    points = seen / length
    far = (points * points).sum(1)
    similar = np.dot(points, points.T)
    for i in range(all_):
        for j in range(all_):
            square = max(far[i] + far[j] - np.float32(2.0) * similar[i, j], np.float32(0.0))
            g = np.sqrt(np.float32(5.0) * square)
            similar[i, j] = (ONE + g + g * g / np.float32(3.0)) * np.exp(-g)
    nodes = np.empty((all_, TERMS), dtype=np.float32)
    for first in range(0, all_, m):
        block = similar[first : first + m, first : first + m].copy()
        _walks(block, weight, nodes[first : first + m])
    kernel = similar * np.dot(nodes, nodes.T) * (scale * np.exp(-weight))
    own = kernel[:m, :m].copy()
    if residual.size == 0:
        return np.zeros(m, dtype=np.float32), own
    gram = kernel[m:, m:].copy()
    for i in range(all_ - m):
        gram[i, i] += noise
    both = np.empty((all_ - m, m + 1), dtype=np.float32)
    both[:, :m], both[:, m] = kernel[m:, :m], residual
    solved = np.linalg.solve(gram, both)
    change = np.dot(kernel[:m, m:].copy(), solved)
    return change[:, m].copy(), own - change[:, :m]


@njit(cache=True)
def _drawn(mean, process, seen, residual, noise):  # type: ignore[no-untyped-def]
    """Return affinities drawn from the process around their mean."""
    shift, covariance = covariance_given(process, seen, residual)
    for k in range(mean.size):
        covariance[k, k] += np.float32(JITTER)
    return mean + shift + np.dot(np.linalg.cholesky(covariance), noise)


@njit(cache=True)
def _normal(generator, draws, size):  # type: ignore[no-untyped-def]
    """Return standard normal numbers, or zeros if nothing is drawn."""
    result = np.zeros(size, dtype=np.float32)
    for i in range(size if draws else 0):
        result[i] = generator.standard_normal()
    return result


@njit(cache=True)
def _decide(networks, rules, capacity, scene, waits, generator, kept, row, s):  # type: ignore[no-untyped-def]
    """Return the sorted rows that start, and how many jobs have started then; write what is kept of them.

    ``networks`` and ``rules`` are as in :func:`episode`, ``scene`` are the features of jobs and machines,
    which jobs fit, the load of the machines, and what is free, ``waits`` jobs, instances, needs and
    intensities, ``row`` is where the waiting jobs are kept, and ``s`` how many jobs have started before.
    """
    shape, weights, process, positions = networks
    _, _, history, draws, _ = rules
    jobs, machines, fit, load, free = scene
    names, instances, need, intensity = waits
    w, m = instances.size, free.shape[0]
    encoded, around = encode(shape, weights, jobs, machines, positions)
    both = priorities_of(shape, weights, encoded, jobs)
    priorities = kept.priorities[row : row + w]
    if shape.orders:
        priorities[:] = both[:, 0] + np.sqrt(both[:, 1]) * _normal(generator, draws, w)
    else:
        priorities[:] = -np.arange(w)
    width, before = kept.points.shape[2], s
    past = min(history, before)
    left, rows, at = free.copy(), np.empty((w * m, 3), dtype=np.int64), 0
    for p in np.argsort(-priorities, kind="mergesort"):
        if not fit[p] or not fits(left, need[p], instances[p]):
            continue
        look_at_pairs_of(capacity, free, instances[p], need[p], intensity[p], load, kept.pairs[s])
        if shape.places:
            noise = _normal(generator, draws, m)
            found = affinities_of(shape, weights, encoded[p], around, kept.pairs[s])
            mean, drawn = found[:, 0].copy(), kept.affinities[s]
            drawn[:] = mean
            if width > 0:
                seen = np.empty(((1 + past) * m, width), dtype=np.float32)
                seen[:m] = around * encoded[p]
                kept.points[s] = seen[:m]
                if draws:
                    for t in range(past):
                        seen[(1 + t) * m : (2 + t) * m] = kept.points[before - past + t]
                    known = kept.residual[before - past : before].copy().ravel()
                    drawn[:] = _drawn(mean, process, seen, known, noise)
                kept.residual[s] = drawn - mean
            elif draws:
                drawn += np.sqrt(found[:, 1]) * noise
            ranked = np.argsort(-drawn, kind="mergesort")
        else:
            rule = CONSOLIDATE if shape.consolidates else FIRST_FIT
            ranked = machine_order(rule, left, free, need[p], instances[p])
        at = fill(left, need[p], instances[p], ranked, names[p], rows, at)
        kept.place[s] = p
        s += 1
    return rows[:at][np.argsort(rows[:at, 0] * m + rows[:at, 1])], s


@njit(cache=True)
def episode(networks, rules, table, state, scratch, keys, estimate, generator, kept):  # type: ignore[no-untyped-def]
    """Play a simulation to its end, write what is kept of it, and return how many decisions there were.

    ``networks`` are shape, weights, parameters of the process and encodings. ``rules`` are contention,
    window, history of the process, whether actions are drawn (by ``generator``; otherwise they are their
    means), and whether it is noted what is ahead if the rule of ``keys`` takes over. ``estimate`` has those
    of all jobs, or none.
    """
    contention, window, _, _, looks_ahead = rules
    clock, d, row, s = state.clock, 0, 0, 0
    ends = np.zeros(2, dtype=np.int64)
    if looks_ahead:
        copy_state(state, scratch)
        run_by_keys(table, scratch, contention, window, keys, CONSOLIDATE, False)
        ends[0], ends[1] = scratch.clock[WAITED], scratch.clock[USED]
    kept.final[0] = ends
    while advance(table, state, contention, window):
        names = waiting(state)[:window].copy()
        instances, need, intensity = table.instances[names], table.need[names], table.intensity[names]
        load = loads(running_rows(state), table.need[:, 0], table.intensity, state.free.shape[0])
        known = estimate[names] if estimate.size > 0 else estimate
        seen = table.submit[names], instances, need, intensity, known, clock[PENDING]
        jobs, fit = look_at_jobs(clock[NOW], table.capacity, state.free, *seen)
        machines = look_at_machines(table.capacity, state.free, load)
        kept.clock[d] = clock[NOW], clock[PENDING], clock[RUNNING], clock[WAITED], clock[USED]
        kept.jobs[row : row + names.size], kept.fits[row : row + names.size] = jobs, fit
        kept.machines[d] = machines
        scene = jobs, machines, fit, load, state.free
        waits = names, instances, need, intensity
        rows, s = _decide(networks, rules, table.capacity, scene, waits, generator, kept, row, s)
        if looks_ahead:
            taken_over(table, state, scratch, contention, window, keys, rows, ends)
        start_rows(table, state, contention, rows)
        d += 1
        row += names.size
        kept.rows[d], kept.begun[d], kept.final[d] = row, s, ends
    kept.clock[d] = clock[NOW], clock[PENDING], clock[RUNNING], clock[WAITED], clock[USED]
    return d
