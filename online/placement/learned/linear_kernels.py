"""Compiled kernels of the linear design: how it decides, and whole episodes in one call.

Three scores say which job is tried first, which of the machines with equal room takes it, and whether it
waits though it fits, if that is above 0. Each is a prior plus the sum of all products of a feature, one
of :data:`.features.LINEAR`, a number of the state, one of :data:`.features.STATE`, and their weight. With
weights of 0 the decisions are those of DRF-Patient, or with estimates those of SJF-Estimate-Patient.
"""

from __future__ import annotations

import numpy as np

from ....models.compiled import njit
from ....models.placement.kernels import (
    NOW,
    PENDING,
    THOUSAND,
    advance,
    enough,
    fits,
    room,
    running_rows,
    start_rows,
    summed,
    waiting,
)
from ..kernels import dominant_shares, fewest
from .episode_kernels import QUIET, _tally
from .kernels import PATIENCE, give_back

SECOND = 1000.0  # ticks
LEAST = 1e-4  # of a share, and of what is asked of all that there is


@njit(cache=True)
def _bent(weights, state):  # type: ignore[no-untyped-def]
    """Return the weights of the features of an agent in a state."""
    result = np.zeros(weights.shape[0])
    for i in range(result.size):
        for j in range(state.size):
            result[i] += weights[i, j] * state[j]
    return result


@njit(cache=True)
def _sum(weight, seen):  # type: ignore[no-untyped-def]
    result = 0.0
    for i in range(weight.size):
        result += weight[i] * seen[i]
    return result


@njit(cache=True)
def around(running, known, machines):  # type: ignore[no-untyped-def]
    """Return of each machine GPUs in use times the intensity of their job, and its sum, shape (M, 2).

    Both in thousandths, so that they are whole. ``running`` are rows (job, machine, count); ``known`` are
    GPUs of an instance and intensity by job.
    """
    result = np.zeros((machines, 2))
    for r in range(running.shape[0]):
        job, k, count = running[r]
        result[k, 0] += known[1][job] * known[0][job] * count
        result[k, 1] += known[1][job]
    return result


@njit(cache=True)
def look_at_state(capacity, free, instances, need):  # type: ignore[no-untyped-def]
    """Return 1 and the logarithm of the load, and whether all is quiet."""
    quiet, load = True, LEAST
    for r in range(need.shape[1]):
        total, asked = 0, 0
        for k in range(free.shape[0]):
            total += capacity[k, r]
            asked += capacity[k, r] - free[k, r]
        for p in range(instances.size):
            asked += instances[p] * need[p, r]
        quiet = quiet and asked <= QUIET * total
        if total > 0:
            load = max(load, asked / total)
    return np.array([1.0, np.log2(max(load, 0.125)) / 4.0]), quiet


@njit(cache=True)
def order_of(weight, capacity, instances, need, intensity, waited, estimate):  # type: ignore[no-untyped-def]
    """Return the score of every waiting job by which they are tried, and the logarithm of its share, (w,).

    ``waited`` and ``estimate``, which may be empty, are in mean times of the jobs that have ended.
    """
    shares = dominant_shares(capacity.sum(0), instances, need)
    result, seen = np.empty(instances.size), np.zeros(5)
    for p in range(instances.size):
        shares[p] = np.log2(max(shares[p], LEAST))
        seen[0], seen[1] = shares[p] / 4.0, np.log1p(waited[p]) / 2.0
        seen[2], seen[3] = intensity[p] / THOUSAND, np.log2(instances[p] * need[p, 0] + 0.5) / 4.0
        result[p] = -seen[0]
        if estimate.size > 0:
            seen[4] = np.log2(estimate[p]) / 4.0
            result[p] = -seen[4]
        result[p] += _sum(weight, seen)
    return result, shares


@njit(cache=True)
def _place(weight, capacity, left, near, job, quiet, rows, at):  # type: ignore[no-untyped-def]
    """Write where a job would start, and return how many rows there are then and the worst contention.

    The machine with room for the most of the instances that are left takes these, of equals that with the
    highest score, then the lower index. ``job`` is its name, instances, need and intensity.
    """
    name, remaining, need, beta = job
    seen, worst = np.zeros(5), 0.0
    while remaining > 0:
        best, largest, top = -1, 0, 0.0
        for k in range(left.shape[0]):
            count = room(left[k], need, remaining)
            if count == 0 or count < largest:
                continue
            gpus = max(capacity[k, 0], 1)
            free = left[k, 0] - count * need[0]
            seen[0] = beta * (near[k, 0] / (THOUSAND * gpus))
            seen[1] = beta * (near[k, 1] * count * need[0] / (THOUSAND * gpus))
            seen[2] = left[k, 0] / gpus
            seen[3] = 1.0 if free == 0 else 0.0
            seen[4] = left[k, 1] / max(capacity[k, 1], 1) - seen[2]
            score = (-near[k, 0] / (THOUSAND * gpus) if quiet else -float(left[k, 0]) / 8.0) + _sum(
                weight, seen
            )
            if count > largest or score > top:
                best, largest, top = k, count, score
        rows[at, 0], rows[at, 1], rows[at, 2] = name, best, largest
        worst = max(worst, beta * (near[best, 0] / (THOUSAND * max(capacity[best, 0], 1))))
        at += 1
        remaining -= largest
        for r in range(need.size):
            left[best, r] -= largest * need[r]
    return at, worst


@njit(cache=True)
def decide(weights, rules, capacity, known, seen, ended):  # type: ignore[no-untyped-def]
    """Return the rows (job, machine, count) that start now, and the scores by which jobs are tried, (w,).

    ``weights`` are those of order, machines and waiting; ``rules`` are kappa and eta of the slowdown, and the
    window. ``known`` and ``seen`` are as in :func:`.kernels.decide`. ``ended`` is for how long the jobs that
    have ended ran together, and their number.
    """
    kappa, eta = rules[0], rules[1]
    now, names, submit, instances, need, intensity, estimate, _, free, running = seen
    mean = max(ended[0] / ended[1] if ended[1] > 0 else 0.0, SECOND)
    waited = now - submit
    state, quiet = look_at_state(capacity, free, instances, need)
    ordering, placement = _bent(weights[0], state), _bent(weights[1], state)
    holding = _bent(weights[2], state)
    times = waited / mean, estimate / mean
    order, share = order_of(ordering, capacity, instances, need, intensity, *times)
    left, near = free.copy(), around(running, known, free.shape[0])
    rows, at = np.empty((instances.size * free.shape[0], 3), dtype=np.int64), 0
    about, total = np.zeros(7), np.empty(need.shape[1], dtype=np.int64)
    summed(left, total)
    for p in np.argsort(-order, kind="mergesort"):
        if not (enough(total, need[p], instances[p]) and fits(left, need[p], instances[p])):
            continue
        beta, begin = intensity[p] / THOUSAND, at
        job = names[p], instances[p], need[p], beta
        at, worst = _place(placement, capacity, left, near, job, quiet, rows, begin)
        if begin > 0 or running.shape[0] > 0:
            spans, least = at - begin, fewest(capacity, need[p], instances[p])
            wide = 1.0 if spans > least else 0.0
            late = waited[p] * float(ended[1]) >= PATIENCE * ended[0]
            comm = (1.0 + kappa * (spans - 1.0) / spans) / (1.0 + kappa * (least - 1.0) / least)
            about[0], about[1], about[2] = 1.0, wide, wide * np.log1p(waited[p] / mean) / 2.0
            about[3], about[4], about[5] = np.log2(comm), eta * worst, wide * share[p] / 4.0
            if estimate.size > 0:
                about[6] = wide * np.log2(estimate[p] / mean) / 4.0
            prior = 1.0 if wide > 0.0 and not late else -1.0
            if prior + _sum(holding, about) > 0.0:
                give_back(left, need[p], rows[begin:at])
                at = begin
                continue
        total -= instances[p] * need[p]
        for i in range(begin, at):
            near[rows[i, 1], 0] += intensity[p] * rows[i, 2] * need[p, 0]
            near[rows[i, 1], 1] += intensity[p]
    return rows[:at], order


@njit(cache=True)
def run_by_scores(weights, rules, table, state, estimates):  # type: ignore[no-untyped-def]
    """Simulate to the end, and return how many decisions there were; ``estimates`` of all jobs, or none."""
    ended, known, decisions = np.zeros(2, dtype=np.int64), (table.need[:, 0], table.intensity), 0
    clock = state.clock
    while advance(table, state, rules[1], rules[2]):
        _tally(state, ended)
        names = waiting(state)[: rules[2]].copy()
        needs = table.instances[names], table.need[names], table.intensity[names]
        estimate = estimates[names] if estimates.size > 0 else estimates
        seen = clock[NOW], names, table.submit[names], *needs, estimate, clock[PENDING], state.free
        seen_all = (*seen, running_rows(state))
        rows, _ = decide(weights, rules, table.capacity, known, seen_all, ended)
        start_rows(table, state, rules[1], rows)
        decisions += 1
    return decisions
