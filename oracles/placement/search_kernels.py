"""Compiled kernels of the bound and the search for placement.

All of them are in this one file, because compiled code is cached by file.
"""

from __future__ import annotations

import numpy as np

from ...models.compiled import njit
from ...models.placement import kernels as sim
from .exact_kernels import at_level, first_spread, next_spread, refine

NEVER = 2**62
"""A tick after all others."""

QUIET = 3
"""One more rule by which jobs are placed: as CONSOLIDATE, but ties go to where jobs contend the least; or, as
rule QUIET + 1 + k, to machine k first."""


@njit(cache=True)
def _rate(share, prices, spent, k):  # type: ignore[no-untyped-def]
    """Return what a job pays per tick in an interval, and what one that runs from the first until there."""
    rate, paid = 0.0, 0.0
    for r in range(share.size):
        rate += share[r] * prices[k, r]
        paid += share[r] * spent[k, r]
    return rate, paid


@njit(cache=True)
def _cheapest(submit, duration, share, times, prices, spent):  # type: ignore[no-untyped-def]
    """Return the least completion time plus payment of a job, the earliest start that gives it, and steps.

    As a function of the start it is piecewise linear, with corners where the start or the end is one of the
    times; so only these are tried. From the last time on nothing is paid.
    """
    last, steps = times.size - 1, 0
    i = max(0, np.searchsorted(times, submit, side="right") - 1)
    k = max(0, np.searchsorted(times, submit + duration, side="right") - 1)
    start, best, best_start = submit, np.inf, submit
    rate_i, paid_i = _rate(share, prices, spent, i)
    rate_k, paid_k = _rate(share, prices, spent, k)
    while True:
        steps += 1
        end = start + duration
        if end - submit >= best:  # payments are not negative
            break
        paid = (paid_k + rate_k * (end - times[k])) - (paid_i + rate_i * (start - times[i]))
        if (end - submit) + paid < best:
            best, best_start = (end - submit) + paid, start
        if i == last:
            break
        step = times[i + 1] - start
        if k < last:
            step = min(step, times[k + 1] - end)
        start += step
        if start == times[i + 1]:
            i += 1
            rate_i, paid_i = _rate(share, prices, spent, i)
        if k < last and start + duration == times[k + 1]:
            k += 1
            rate_k, paid_k = _rate(share, prices, spent, k)
    return best, best_start, steps


@njit(cache=True)
def _count(times, start, end, share, whole, use):  # type: ignore[no-untyped-def]
    """Add the ticks that a job runs in each interval: ``whole`` counts changes of how much fills it."""
    last = times.size - 1
    i = np.searchsorted(times, start, side="right") - 1
    k = np.searchsorted(times, end, side="right") - 1
    if i >= last:
        return
    for r in range(share.size):
        if i == k:
            use[i, r] += share[r] * (end - start)
            continue
        use[i, r] += share[r] * (times[i + 1] - start)
        whole[i + 1, r] += share[r]
        whole[k, r] -= share[r]
        if k < last:
            use[k, r] += share[r] * (end - times[k])


@njit(cache=True)
def cheapest_starts(submit, duration, share, times, prices, least, use, largest):  # type: ignore[no-untyped-def]
    """Let every job start when that is cheapest for it at given prices; return how many steps that took.

    ``share`` is that of each resource that a job takes, shape (n, R). Prices change at ``times``, ascending,
    the first not above any ``submit``, shape (K + 1,); they are of the whole of a resource in each interval,
    per tick, shape (K + 1, R), the last row 0. Written are ``least``, completion time plus payment of each
    job; ``use``, ticks that each resource is in use in each interval, times its share, shape (K, R); and
    ``largest``, what a job pays that runs all the time.
    """
    intervals, rows, steps = times.size - 1, share.shape[1], 0
    spent, whole = np.zeros((intervals + 1, rows)), np.zeros((intervals + 1, rows))
    for k in range(intervals):
        for r in range(rows):
            spent[k + 1, r] = spent[k, r] + prices[k, r] * (times[k + 1] - times[k])
    use[:] = 0.0
    for job in range(submit.size):
        mine = share[job]
        least[job], start, more = _cheapest(submit[job], duration[job], mine, times, prices, spent)
        _count(times, start, start + duration[job], mine, whole, use)
        largest[job] = _rate(mine, prices, spent, intervals)[1]
        steps += more
    filled = np.zeros(rows)
    for k in range(intervals):
        for r in range(rows):
            filled[r] += whole[k, r]
            use[k, r] += filled[r] * (times[k + 1] - times[k])
    return steps


@njit(cache=True)
def _loss(table, contention, jobs, counts, load):  # type: ignore[no-untyped-def]
    """Return what jobs with so many instances on each machine lose per tick, of the work of a tick each."""
    load[:] = 0
    for p in range(jobs.size):
        for k in range(load.size):
            load[k] += table.intensity[jobs[p]] * table.need[jobs[p], 0] * counts[p, k]
    lost = 0.0
    for p in range(jobs.size):
        job, worst, spans = jobs[p], 0.0, 0
        shortest = np.int64(-1)
        for d in table.duration[job]:
            if d > 0 and (shortest < 0 or d < shortest):
                shortest = d
        for k in range(load.size):
            if counts[p, k] > 0:
                spans += 1
                others = load[k] - table.intensity[job] * table.need[job, 0] * counts[p, k]
                if others > 0:
                    worst = max(worst, others / (sim.THOUSAND * table.capacity[k, 0]))
        slower = 1.0 + contention * (table.intensity[job] / sim.THOUSAND) * worst
        lost += 1.0 - shortest / table.duration[job, spans] / slower
    return lost


@njit(cache=True)
def packings(table, contention, same, sets, losses):  # type: ignore[no-untyped-def]
    """Write all sets of jobs that can run at the same time, once for each way to place them.

    A set is a whole number whose bits are the jobs, at most 62; ``losses`` are what they lose per tick.
    ``same`` is for each machine the first one with the same capacity, shape (M,); of ways that differ in the
    order of equal machines, there is one. Returned is how many there are, or one more than there is room for.
    """
    n, machines = table.submit.size, table.capacity.shape[0]
    most = sets.size
    jobs, counts = np.zeros(n, dtype=np.int64), np.zeros((n, machines), dtype=np.int64)
    free = np.empty((n + 1, machines, 3), dtype=np.int64)
    free[0] = table.capacity
    order, load = np.arange(machines), np.empty(machines, dtype=np.int64)
    alike = np.empty((n + 1, machines), dtype=np.int64)
    alike[0] = same
    depth, job, size, chosen = 0, 0, 0, 0
    while True:
        found = False
        while job < n and not found:  # the next job that fits beside those chosen
            instances, given = table.instances[job], (free[depth], table.need[job], alike[depth], order)
            found = first_spread(*given, counts[depth], instances)
            if not found:
                job += 1
        while not found and depth > 0:  # another place of the last one, or another one
            depth -= 1
            job = jobs[depth]
            given = free[depth], table.need[job], alike[depth], order
            found = next_spread(*given, counts[depth])
            if not found:
                chosen -= 1 << job
                job += 1
                break
            chosen -= 1 << job
        if not found:
            if depth == 0 and job >= n:
                return size
            continue
        if size == most:
            return most + 1
        jobs[depth] = job
        chosen += 1 << job
        for k in range(machines):
            for r in range(3):
                free[depth + 1, k, r] = free[depth, k, r] - counts[depth, k] * table.need[job, r]
        refine(alike[depth], counts[depth], alike[depth + 1])
        depth += 1
        sets[size] = chosen
        losses[size] = _loss(table, contention, jobs[:depth], counts, load)
        size += 1
        job += 1


@njit(cache=True)
def _order(free, load, capacity, need, instances, rule):  # type: ignore[no-untyped-def]
    """Return the machines in the order of a rule; ``load`` is that of the state, shape (M,)."""
    if rule < QUIET:
        return sim.machine_order(rule, free, capacity, need, instances)
    key = np.zeros(free.shape[0])
    for k in range(free.shape[0]):
        share = load[k] / max(1.0, sim.THOUSAND * capacity[k, 0])
        key[k] = share - 4.0 * sim.room(free[k], need, instances) - 2.0 * (rule == QUIET + 1 + k)
    return np.argsort(key, kind="mergesort")


@njit(cache=True)
def _place(free, load, capacity, need, instances, rule, rows):  # type: ignore[no-untyped-def]
    """Write (machine, count) of a job placed by a rule and return how many machines it spans, 0 if none."""
    left, spans = instances, 0
    if not sim.fits(free, need, instances):
        return 0
    for k in _order(free, load, capacity, need, instances, rule):
        count = sim.room(free[k], need, left)
        if count > 0:
            rows[spans, 0], rows[spans, 1] = k, count
            spans += 1
            left -= count
            if left == 0:
                break
    return spans


@njit(cache=True)
def _begin(table, job, chosen, count, left, begun, at):  # type: ignore[no-untyped-def]
    """Write (job, machine, count) of a job from row ``at`` on, and return the row after them.

    It is taken from what is ``left``: free and load of each machine, and what is free on all of them.
    """
    free, load, total = left
    for i in range(count):
        k, placed = chosen[i, 0], chosen[i, 1]
        begun[at + i, 0], begun[at + i, 1], begun[at + i, 2] = job, k, placed
        load[k] += table.intensity[job] * table.need[job, 0] * placed
        for r in range(3):
            free[k, r] -= placed * table.need[job, r]
            total[r] -= placed * table.need[job, r]
    return at + count


@njit(cache=True)
def _left(state):  # type: ignore[no-untyped-def]
    """Return what is left before anything starts, as :func:`_begin` takes it."""
    total = np.empty(state.free.shape[1], dtype=np.int64)
    sim.summed(state.free, total)
    return state.free.copy(), state.load.copy(), total


@njit(cache=True)
def _split(profile, when):  # type: ignore[no-untyped-def]
    """Return the place of the piece of a profile that begins at a tick, after a cut there if need be."""
    ticks, piece, free, size = profile
    at = np.searchsorted(ticks[: size[0]], when, side="right") - 1
    if ticks[at] == when:
        return at
    n = size[0]
    for e in range(n, at + 1, -1):
        ticks[e], piece[e] = ticks[e - 1], piece[e - 1]
    ticks[at + 1], piece[at + 1] = when, n
    free[n] = free[piece[at]]
    size[0] += 1
    return at + 1


@njit(cache=True)
def _lowest(profile, first, end, need, instances, low):  # type: ignore[no-untyped-def]
    """Write the least that is free from the piece ``first`` on until a tick.

    Returns the first piece at which too little is left for a job, -1 if there is none.
    """
    ticks, piece, free, size = profile
    low[:] = free[piece[first]]
    e = first
    while True:
        if e > first:
            here = free[piece[e]]
            for k in range(low.shape[0]):
                for r in range(low.shape[1]):
                    low[k, r] = min(low[k, r], here[k, r])
        if not sim.fits(low, need, instances):
            return e
        e += 1
        if e == size[0] or ticks[e] >= end:
            return -1


@njit(cache=True)
def plan(table, factor, order, profile, start, rows, spans):  # type: ignore[no-untyped-def]
    """Plan jobs one after the other, each as early as it fits beside those planned before.

    ``factor`` multiplies durations, to leave room for contention. ``profile`` is the free capacity over time:
    the ticks at which it changes, ascending; the place in the next array of each piece; what is free on each
    machine, shape (pieces, M, 3); and how many pieces there are. It is kept up to date. Written are
    ``start``, the tick at which each of these jobs starts, and ``rows`` and ``spans``: machine and count, and
    how many machines, shapes (n, most, 2) and (n,).
    """
    ticks, piece, free, _ = profile
    low, quiet = np.empty_like(free[0]), np.zeros(free.shape[1], dtype=np.int64)
    for job in order:
        need, instances = table.need[job], table.instances[job]
        shortest = np.int64(-1)
        for d in table.duration[job]:
            if d > 0 and (shortest < 0 or d < shortest):
                shortest = d
        at = _split(profile, table.submit[job])
        while True:
            duration, span = shortest, 0
            while True:
                end = ticks[at] + np.int64(np.ceil(factor * duration))
                stuck = _lowest(profile, at, end, need, instances, low)
                if stuck >= 0:
                    break
                span = _place(low, quiet, table.capacity, need, instances, sim.CONSOLIDATE, rows[job])
                if table.duration[job, span] <= duration:
                    break
                duration = table.duration[job, span]
            if stuck < 0:
                break
            alone = sim.fits(free[piece[stuck]], need, instances)
            at = at + 1 if alone and stuck > at else stuck + 1
        start[job], spans[job] = ticks[at], span
        last = _split(profile, end)
        for e in range(at, last):
            for i in range(span):
                for r in range(3):
                    free[piece[e], rows[job, i, 0], r] -= rows[job, i, 1] * need[r]


@njit(cache=True)
def _planned_fits(free, need, rows, spans):  # type: ignore[no-untyped-def]
    """Return whether a job fits on the machines that were planned for it."""
    for i in range(spans):
        for r in range(need.size):
            if rows[i, 1] * need[r] > free[rows[i, 0], r]:
                return False
    return spans > 0


@njit(cache=True)
def _able(table, state, window, keys, release, total):  # type: ignore[no-untyped-def]
    """Return the released jobs of the window for which all that is free is enough, by ascending key."""
    waiting, count = sim.waiting(state)[:window], 0
    jobs = np.empty(waiting.size, dtype=np.int64)
    for job in waiting:
        if release[job] > state.clock[sim.NOW] or not sim.enough(
            total, table.need[job], table.instances[job]
        ):
            continue
        q = count
        while q > 0 and keys[jobs[q - 1]] > keys[job]:
            jobs[q] = jobs[q - 1]
            q -= 1
        jobs[q] = job
        count += 1
    return jobs[:count]


@njit(cache=True)
def run_plan(table, state, setting, genome, rows, limit, kept, slots, level):  # type: ignore[no-untyped-def]
    """Simulate from an epoch on to the end: the released jobs of the window are tried by ascending key.

    ``setting`` is contention, window, and what a GPU-tick costs in thousandths of a tick. The ``genome`` is
    ``keys`` and ``release``: who comes first, and from which tick on each job is tried (if nothing runs and
    nobody else comes, all are tried); ``style``: by which rule each job is placed, and on how many machines
    at most (unless nothing runs and nobody else comes), shape (n, 2); and ``spans``: on how many machines,
    those of ``rows`` with so many instances each, it goes if it fits there; those of 0 ``spans``, and those
    that do not fit, go by their style.

    Returned is the cost in thousandths of a tick; infinite if it is above the limit, where the simulation is
    given up. ``kept`` are states for later runs: the first epoch at which q of Q equal parts of all jobs have
    started, or after which jobs may be tried before they are released, is copied to the one whose place is
    ``slots[q]``, from q = ``level`` on, shape (Q,); if there is none, its tick is NEVER.
    """
    contention, window, weight = setting
    keys, release, style, spans = genome
    clock = state.clock
    n, machines = table.submit.size, state.free.shape[0]
    begun = np.empty((max(1, min(window, n)) * machines, 3), dtype=np.int64)
    one = np.empty((machines, 2), dtype=np.int64)
    for q in range(level, slots.size):
        kept.clock[slots[q], sim.NOW] = NEVER
    while True:
        at, alone = 0, clock[sim.RUNNING] == 0 and clock[sim.ARRIVED] == n
        started = clock[sim.ARRIVED] - clock[sim.PENDING]
        while level < slots.size and (alone or started * slots.size >= level * n):
            sim.copy_state(state, at_level(kept, slots[level]))
            level += 1
        left = _left(state)
        for attempt in range(2):
            if attempt == 1 and (at > 0 or not alone):
                break
            since = release if attempt == 0 else table.submit
            for job in _able(table, state, window, keys, since, left[2]):
                need, instances = table.need[job], table.instances[job]
                if _planned_fits(left[0], need, rows[job], spans[job]):
                    chosen, count = rows[job], spans[job]
                elif sim.enough(left[2], need, instances):
                    chosen, rule = one, style[job, 0]
                    count = _place(left[0], left[1], table.capacity, need, instances, rule, one)
                    if attempt == 0 and count > style[job, 1]:
                        continue
                else:
                    continue
                at = _begin(table, job, chosen, count, left, begun, at)
        sim.start_rows(table, state, contention, begun[:at])
        more = sim.advance(table, state, contention, window)
        cost = 1000.0 * clock[sim.WAITED] + weight * clock[sim.USED]
        if cost > limit:
            return np.inf
        if not more:
            return cost


@njit(cache=True)
def _room_at(table, state, free, job):  # type: ignore[no-untyped-def]
    """Return when a job will fit, as far as the running jobs tell; NEVER if what starts now is in its way."""
    left = free.copy()
    running = state.running[: state.clock[sim.RUNNING]]
    for p in np.argsort(state.finish[running], kind="mergesort"):
        other = running[p]
        for i in range(state.first[other], state.first[other] + state.spans[other]):
            for r in range(3):
                left[state.rows[i, 0], r] += state.rows[i, 1] * table.need[other, r]
        if sim.fits(left, table.need[job], table.instances[job]):
            return state.finish[other]
    return NEVER


@njit(cache=True)
def _reserve(table, state, window, keys, patience, lasts, begun):  # type: ignore[no-untyped-def]
    """Write (job, machine, count) of the jobs that start now, and return how many rows; see run_reserved."""
    clock = state.clock
    jobs = sim.waiting(state)[:window].copy()
    order = np.argsort(keys[jobs], kind="mergesort")
    late = clock[sim.NOW] - table.submit[jobs] >= patience[jobs]
    one = np.empty((state.free.shape[0], 2), dtype=np.int64)
    left, at, until = _left(state), 0, NEVER
    for first in (True, False):
        for p in order:
            job = jobs[p]
            if late[p] != first or clock[sim.NOW] + lasts[job] > until:
                continue
            need = table.need[job]
            count = 0
            if sim.enough(left[2], need, table.instances[job]):
                given = table.capacity, need, table.instances[job], sim.CONSOLIDATE
                count = _place(left[0], left[1], *given, one)
            if count == 0 and first and until == NEVER:
                until = _room_at(table, state, left[0], job)
            at = _begin(table, job, one, count, left, begun, at)
    return at


@njit(cache=True)
def run_reserved(table, state, setting, keys, patience, lasts, until, limit):  # type: ignore[no-untyped-def]
    """Simulate from a decision epoch on to the first one at ``until`` or later, or to the end.

    Waiting jobs are tried by ascending key; first those that have waited for at least their ``patience``, in
    ticks, shape (n,). The first of these that does not fit gets a reservation: until the running jobs leave
    room for it, only those start that end before, if they run for ``lasts`` ticks, shape (n,). ``setting``
    and ``limit`` are as in :func:`run_plan`. Returned is the cost so far, infinite if it is above the limit.
    """
    contention, window, weight = setting
    clock, n = state.clock, table.submit.size
    begun = np.empty((max(1, min(window, n)) * state.free.shape[0], 3), dtype=np.int64)
    while True:
        count = _reserve(table, state, window, keys, patience, lasts, begun)
        sim.start_rows(table, state, contention, begun[:count])
        more = sim.advance(table, state, contention, window)
        cost = 1000.0 * clock[sim.WAITED] + weight * clock[sim.USED]
        if cost > limit:
            return np.inf
        if not more or clock[sim.NOW] >= until:
            return cost


@njit(cache=True)
def _troubled(draw, table, state, by_start):  # type: ignore[no-untyped-def]
    """Return the place of a job that is drawn; half of the time of two jobs the one that lost more ticks."""
    place = int(draw[0] * by_start.size)
    if draw[6] < 0.5:
        other = int(2.0 * draw[6] * by_start.size)
        a, b = by_start[place], by_start[other]
        lost_a = state.finish[a] - table.submit[a] - table.duration[a, state.spans[a]]
        lost_b = state.finish[b] - table.submit[b] - table.duration[b, state.spans[b]]
        if lost_b > lost_a:
            return other
    return place


@njit(cache=True)
def _change(draw, table, state, by_start, genome):  # type: ignore[no-untyped-def]
    """Change the key, the release or the style of one job, as the draws say, or exchange two keys.

    Returned is the tick from which on that may make a difference.
    """
    keys, release, style, spans = genome
    n, machines = by_start.size, table.capacity.shape[0]
    place = _troubled(draw, table, state, by_start)
    reach = 1 + int(draw[1] ** 3 * min(n - 1, 60))
    other = place + reach if draw[2] < 0.5 else place - reach
    other = min(n - 1, max(0, other))
    a, b, kind = by_start[place], by_start[other], draw[3]
    before = release[a]
    if kind < 0.3:
        keys[a], keys[b] = keys[b], keys[a]
        release[a] = min(release[a], state.start[b])
        release[b] = min(release[b], state.start[a])
        since = max(table.submit[b], release[b])
        return min(since, max(table.submit[a], release[a]))
    if kind < 0.5:
        keys[a] = keys[b] - draw[4]
        release[a] = min(release[a], state.start[b])
    elif kind < 0.6:
        release[a] = table.submit[a]
    elif kind < 0.75:
        release[a] = max(state.finish[b], table.submit[a])
    elif kind < 0.9:
        spans[a] = 0
        style[a, 0] = (
            int(8.0 * draw[4]) if draw[4] < 0.5 else QUIET + 1 + int((2.0 * draw[4] - 1.0) * machines)
        )
    elif draw[4] < 0.5:
        style[a, 1] = max(1, state.spans[a] - 1)
    else:
        style[a, 1] = machines
    return max(table.submit[a], min(before, release[a]))


@njit(cache=True)
def search_rounds(table, states, kept, which, setting, incumbent, tried, rows, costs, draws, heats, paid):  # type: ignore[no-untyped-def]
    """Change keys, releases and styles at random, and keep what costs no more, or only a little.

    ``states`` are the current and another state, and the best one; ``kept`` are states on the way to the
    current one, whose places ``which`` has, shape (Q,), and as many places for those of another one: a round
    begins at the last of them that it does not change. ``incumbent`` is the genome of the last accepted
    round, kept up to date, and ``tried`` the same once more; it, ``setting`` and ``rows`` are as in
    :func:`run_plan`; ``costs`` is that of the current and of the best state, kept up to date. ``draws`` are
    uniform numbers, shape (rounds, 7), and ``heats`` the increase of the cost that is accepted with
    probability 1/e, shape (rounds,), relative to what the best costs beyond ``paid``, the part that all
    schedules have.
    """
    current, other, best = states
    by_start = np.argsort(current.start, kind="mergesort")
    for r in range(heats.size):
        draw = draws[r]
        since = _change(draw, table, current, by_start, tried)
        limit = costs[0] - heats[r] * (costs[1] - paid) * np.log(max(draw[5], 1e-300))
        level = which.size - 1
        while kept.clock[which[level], sim.NOW] > since:
            level -= 1
        sim.copy_state(at_level(kept, which[level]), other)
        slots = (which + which.size) % (2 * which.size)
        cost = run_plan(table, other, setting, tried, rows, limit, kept, slots, level + 1)
        if cost <= limit:
            which[level + 1 :] = slots[level + 1 :]
            incumbent[0][:] = tried[0]
            incumbent[1][:] = tried[1]
            incumbent[2][:] = tried[2]
            incumbent[3][:] = tried[3]
            costs[0] = cost
            sim.copy_state(other, current)
            by_start = np.argsort(current.start, kind="mergesort")
            if cost < costs[1]:
                costs[1] = cost
                sim.copy_state(other, best)
        else:
            tried[0][:] = incumbent[0]
            tried[1][:] = incumbent[1]
            tried[2][:] = incumbent[2]
            tried[3][:] = incumbent[3]
