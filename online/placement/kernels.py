"""Compiled kernels of the placement heuristics."""

from __future__ import annotations

import numpy as np

from ...models.compiled import njit
from ...models.placement.kernels import CONSOLIDATE, fill, fits, machine_order, room

FEWEST_FREE, LEAST_CONTENTION, LEAST_FRAGMENTS = range(3)
"""Rules of :func:`tie_break`."""


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


@njit(cache=True)
def fewest(free, need, instances):  # type: ignore[no-untyped-def]
    """Return the fewest machines that hold all instances in what is free, M + 1 if all together do not."""
    machines = free.shape[0]
    rooms = np.empty(machines, dtype=np.int64)
    for k in range(machines):
        rooms[k] = room(free[k], need, instances)
    rooms.sort()
    left = instances
    for spans in range(1, machines + 1):
        left -= rooms[machines - spans]
        if left <= 0:
            return spans
    return machines + 1


@njit(cache=True)
def fragments(free, mix, most):  # type: ignore[no-untyped-def]
    """Return the sum over the jobs of a mix of the free GPUs of a machine that has no room for them.

    ``mix`` is what an instance of each takes, shape (m, 3), ``most`` how many an empty machine holds, (m,).
    """
    result = 0
    if free[0] > 0:
        for i in range(most.size):
            if room(free, mix[i], most[i]) < most[i]:
                result += free[0]
    return result


@njit(cache=True)
def tie_break(rule, free, gpus, load, taken, mix, most):  # type: ignore[no-untyped-def]
    """Return what decides between machines with equal room, the smallest first."""
    if rule == LEAST_CONTENTION:
        return load / gpus if gpus > 0 else 0.0
    if rule == FEWEST_FREE:
        return float(free[0])
    return float(fragments(free - taken, mix, most) - fragments(free, mix, most))


@njit(cache=True)
def start_packed(capacity, free, load, jobs, columns, due, order, rule, mix, most, strict):  # type: ignore[no-untyped-def]
    """Return the rows (job, machine, count) that start where there is most room for what is left of a job.

    Again and again, the machine with room for the most of the instances that are left takes these, ties by
    :func:`tie_break`, then by index.

    ``columns`` are the numbers of instances (w,), their needs (w, 3) and the load that an instance is (w,);
    ``load`` is that of each machine (M,). A job that is not ``due`` (w,) starts only on as few machines as
    hold it when they are empty. What does not start is passed over, or ends the matter if ``strict``.
    """
    instances, need, weight = columns
    left, load = free.copy(), load.copy()
    rows = np.empty((jobs.size * free.shape[0], 3), dtype=np.int64)
    at = 0
    for p in order:
        spans = fewest(left, need[p], instances[p])
        if spans > free.shape[0] or not (due[p] or spans <= fewest(capacity, need[p], instances[p])):
            if strict:
                break
            continue
        remaining = instances[p]
        while remaining > 0:
            best, largest, least = -1, 0, 0.0
            for k in range(free.shape[0]):
                count = room(left[k], need[p], remaining)
                if count > 0 and count >= largest:
                    tie = tie_break(rule, left[k], capacity[k, 0], load[k], count * need[p], mix, most)
                    if count > largest or tie < least:
                        best, largest, least = k, count, tie
            rows[at, 0], rows[at, 1], rows[at, 2] = jobs[p], best, largest
            at += 1
            remaining -= largest
            left[best] -= largest * need[p]
            load[best] += largest * weight[p]
    return rows[:at].copy()


@njit(cache=True)
def return_until(free, held, need, ends, head, instances):  # type: ignore[no-untyped-def]
    """Give back what running jobs hold, by their ends, until a job fits; return the end of the last of them.

    ``held`` are rows (place, machine, count), ``need`` what an instance takes and ``ends`` when it ends, by
    place; jobs that end at the same time give back together. ``free`` is changed.
    """
    order = np.argsort(ends[held[:, 0]], kind="mergesort")
    when = -1
    for i in order:
        place, k, count = held[i]
        if ends[place] > when and fits(free, head, instances):
            break
        when = ends[place]
        free[k] += count * need[place]
    return when


@njit(cache=True)
def start_easy(capacity, free, jobs, columns, communication, shortest, running, running_need, running_left):  # type: ignore[no-untyped-def]
    """Return the rows (job, machine, count) that start under EASY backfilling, and when their jobs end.

    ``columns`` are the numbers of instances (w,), their needs (w, 3) and the estimates (w,) of the waiting
    jobs; with ``shortest`` those behind the head are tried by estimate. ``running`` are rows (place, machine,
    count) of the running jobs; what an instance of each takes and how long it runs on is in ``running_need``,
    shape (r, 3), and ``running_left``, shape (r,). The ticks that the job of each row takes are the second
    result.
    """
    instances, need, estimate = columns
    waiting, machines, others = jobs.size, free.shape[0], running_left.size
    left, then, order = free.copy(), free.copy(), np.arange(waiting)
    rows = np.empty((waiting * machines, 3), dtype=np.int64)
    need_of = np.concatenate((running_need, need))
    left_of = np.concatenate((running_left, np.zeros(waiting, dtype=np.int64)))
    head, shadow, at = -1, 0, 0
    for q in range(waiting):
        p, before = order[q], at
        if fits(left, need[p], instances[p]):
            ranked = machine_order(CONSOLIDATE, left, capacity, need[p], instances[p])
            at = fill(left, need[p], instances[p], ranked, others + p, rows, at)
            spans, least = float(at - before), float(fewest(capacity, need[p], instances[p]))
            factor = 1.0 + communication * (spans - 1.0) / spans
            factor /= 1.0 + communication * (least - 1.0) / least
            left_of[others + p] = int(np.floor(estimate[p] * factor + 0.5))
        elif head < 0:
            head, then = p, left.copy()
            held = np.concatenate((running, rows[:at]))
            shadow = return_until(then, held, need_of, left_of, need[head], instances[head])
            if shortest:
                order[q + 1 :] = q + 1 + np.argsort(estimate[q + 1 :], kind="mergesort")
        if head >= 0 and at > before and left_of[others + p] > shadow:
            for i in range(before, at):
                then[rows[i, 1]] -= rows[i, 2] * need[p]
            if not fits(then, need[head], instances[head]):
                for i in range(before, at):
                    then[rows[i, 1]] += rows[i, 2] * need[p]
                    left[rows[i, 1]] += rows[i, 2] * need[p]
                at = before
    takes = left_of[rows[:at, 0]]
    rows[:at, 0] = jobs[rows[:at, 0] - others]
    return rows[:at].copy(), takes
