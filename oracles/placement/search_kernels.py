"""Compiled kernels of the bound and the search for placement."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...models.compiled import njit
from ...models.placement import kernels as sim
from .exact_kernels import first_spread, next_spread, refine

NEVER = 2**62
"""A tick after all others."""

QUIET = 3
"""One more rule by which jobs are placed: as CONSOLIDATE, but ties go to where jobs contend the least; or, as
rule QUIET + 1 + k, to machine k first."""


class Genome(NamedTuple):
    """How jobs are started, one entry or row for each of them; see :func:`run_plan`."""

    keys: np.ndarray
    release: np.ndarray
    rule: np.ndarray
    reserves: np.ndarray  # 0 or 1
    spans: np.ndarray
    rows: np.ndarray  # machine and number of instances, shape (n, most, 2)


class Course(NamedTuple):
    """Epochs of a simulation in their order, shape (E,) each."""

    tick: np.ndarray
    waited: np.ndarray  # WAITED of the clock
    used: np.ndarray  # USED
    slot: np.ndarray  # where the rest of it is


class Trail(NamedTuple):
    """A simulation as it went: others can begin on its way, and end where they come back to it."""

    course: Course
    fresh: Course  # that of another simulation
    # Ten numbers: KEPT and FRESH, how many epochs these have; SPARE, slots without an epoch; MOVED, jobs that
    # run or start in the other one; MARK, the last mark; END_WAITED and END_USED, WAITED and USED at the end;
    # IDLE and FRESH_IDLE, the tick from which on jobs may be tried before they are released; EVERY: every so
    # manieth epoch is kept, none if 0.
    size: np.ndarray
    spare: np.ndarray  # slots without an epoch, shape (S,)
    # oldest, pending, running: the first job that waits, and how many wait and run; shape (S,).
    oldest: np.ndarray
    pending: np.ndarray
    running: np.ndarray
    jobs: np.ndarray  # the running jobs, shape (S, W)
    work: np.ndarray  # the work that each of them has left, shape (S, W)
    # start, finish, spans: as in a state, of all jobs, shape (n,); rows: of each job together, (n, most, 2).
    start: np.ndarray
    finish: np.ndarray
    spans: np.ndarray
    rows: np.ndarray
    by_start: np.ndarray  # jobs by ascending start, shape (n,)
    moved: np.ndarray  # the jobs that run or start in the other simulation, shape (n,)
    mark: np.ndarray  # a number of each job, shape (n,)


KEPT, FRESH, SPARE, MOVED, MARK, END_WAITED, END_USED, IDLE, FRESH_IDLE, EVERY = range(10)
"""Places in :attr:`Trail.size`."""

MARGIN = 2e-4
"""A round of the local search is given up if at some time it has cost more by this part of the best cost."""


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
def _fill(times, whole, use):  # type: ignore[no-untyped-def]
    """Add to the use of each row what fills whole intervals; ``whole`` has the changes of that."""
    filled = np.zeros(whole.shape[1])
    for k in range(times.size - 1):
        for r in range(filled.size):
            filled[r] += whole[k, r]
            use[k, r] += filled[r] * (times[k + 1] - times[k])


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
    _fill(times, whole, use)
    return steps


@njit(cache=True)
def _cheapest_run(submit, window, duration, longest, loss, times, price, spent):  # type: ignore[no-untyped-def]
    """Return the least completion time plus payment of a job, its start and end that give it, and steps.

    It starts in its ``window``, the first and the last tick of that, and runs for ``duration`` to ``longest``
    ticks; it gets back ``loss`` for each beyond the former. The cost is linear in start and end but where one
    of them is one of the times; so only these are tried, the end of the window, and the shortest and the
    longest run.
    """
    last, steps, gain, start = times.size - 1, 0, loss - 1.0, window[0]
    i = max(0, np.searchsorted(times, start, side="right") - 1)
    k = max(0, np.searchsorted(times, start + duration, side="right") - 1)
    m = max(0, np.searchsorted(times, start + longest, side="right") - 1)
    best, best_start, best_end = np.inf, start, start + duration
    while True:
        steps += 1
        done = start + duration
        if (done - submit) - max(0.0, gain) * (longest - duration) >= best:  # payments are not negative
            break
        before = spent[i] + price[i] * (start - times[i])
        cost = (done - submit) + (spent[k] + price[k] * (done - times[k]) - before)
        if cost < best:
            best, best_start, best_end = cost, start, done
        if gain > 0.0:
            for t in range(k + 1, m + 2):
                end = times[t] if t <= m else start + longest
                paid = spent[t] if t <= m else spent[m] + price[m] * (end - times[m])
                cost = (done - submit) - gain * (end - done) + (paid - before)
                if cost < best:
                    best, best_start, best_end = cost, start, end
            steps += m - k
        if i == last or start >= window[1]:
            break
        step = times[i + 1] - start
        if k < last:
            step = min(step, times[k + 1] - done)
        if m < last and gain > 0.0:
            step = min(step, times[m + 1] - (start + longest))
        start += min(step, window[1] - start)
        if start == times[i + 1]:
            i += 1
        if k < last and start + duration == times[k + 1]:
            k += 1
        while m < last and start + longest >= times[m + 1]:
            m += 1
    return best, best_start, best_end, steps


@njit(cache=True)
def cheapest_runs(jobs, windows, loss, times, prices, least, use, largest, more, starts):  # type: ignore[no-untyped-def]
    """Let every job run when that is cheapest for it, at prices of its own; return how many steps that took.

    As :func:`cheapest_starts`, with a price of each job, shape (K + 1, n). ``jobs`` are their submission,
    shortest and longest run, ``windows`` the first and the last start of each, shape (n, 2); ``loss`` is as
    :func:`_cheapest_run` takes it. Written are besides ``more``, by how many ticks each runs longer, and
    ``starts``.
    """
    submit, duration, longest = jobs
    last, steps = times.size - 1, 0
    price, spent = np.zeros(last + 1), np.zeros(last + 1)
    use[:] = 0.0
    for job in range(submit.size):
        for k in range(last):
            price[k] = prices[k, job]
            spent[k + 1] = spent[k] + price[k] * (times[k + 1] - times[k])
        given = submit[job], windows[job], duration[job], longest[job], loss[job]
        least[job], start, end, tried = _cheapest_run(*given, times, price, spent)
        starts[job] = start
        for k in range(max(0, np.searchsorted(times, start, side="right") - 1), last):
            if times[k] >= end:
                break
            use[k, job] = min(end, times[k + 1]) - max(start, times[k])
        largest[job], more[job] = spent[last], end - start - duration[job]
        steps += tried + last
    return steps


@njit(cache=True)
def share_machines(prices, taken, lost, cost, part):  # type: ignore[no-untyped-def]
    """Write what a job of each kind pays and loses per tick if it shares machines in the best way for it.

    ``prices`` are of all machines, shape (K,). The ways of a kind, shape (kinds, W) each, take less and less
    of them and lose more and more, on a convex curve: a way is the best if those next to it are no better,
    and near the best one at the price before. Written are ``cost``, and in ``part`` what is taken, shape
    (kinds, K) each.
    """
    last = taken.shape[1] - 1
    for kind in range(len(taken)):
        takes, loses, way = taken[kind], lost[kind], 0
        for k in range(prices.size):
            price = prices[k]
            while way < last and price * (takes[way] - takes[way + 1]) > loses[way + 1] - loses[way]:
                way += 1
            while way > 0 and price * (takes[way - 1] - takes[way]) <= loses[way] - loses[way - 1]:
                way -= 1
            part[kind, k], cost[kind, k] = takes[way], price * takes[way] + loses[way]


@njit(cache=True)
def _prices_of(submit, duration, share, column, own, first, times, prices, other, price, spent):  # type: ignore[no-untyped-def]
    """Write what a job pays per tick, and from ``first`` on in all, as far as it can matter; return where.

    Behind that interval, no start is better than one at once.
    """
    last, k, cost, reach = times.size - 1, first, np.inf, submit + duration
    spent[first] = 0.0
    while True:
        while k < last and times[k] <= reach:
            price[k] = other[k] + (prices[k, column] if k < own else 0.0)
            for r in range(share.size):
                price[k] += share[r] * prices[k, r]
            spent[k + 1] = spent[k] + price[k] * (times[k + 1] - times[k])
            k += 1
        price[k] = 0.0
        if cost < np.inf or k == last:
            return k
        end = np.searchsorted(times, reach, side="right") - 1
        paid = spent[end] + price[end] * (reach - times[end]) - price[first] * (submit - times[first])
        cost = duration + paid
        reach = submit + 1 + np.int64(np.ceil(min(cost, 2.0**60)))


@njit(cache=True)
def starts_in_lanes(submit, duration, share, shared, lane, until, times, prices, least, use, largest):  # type: ignore[no-untyped-def]
    """Let every job start when that is cheapest for it at given prices; return how many steps that took.

    As :func:`cheapest_starts`, but column R of the prices is that of machines. ``shared`` has the kind of
    each job, and what one of each kind pays for machines and takes of them, as :func:`share_machines` writes.
    And a job has a price of its own besides, in column R + 1 plus its ``lane``, from its submission ``until``
    a tick; ``largest`` is what it pays that runs as long as that can matter.
    """
    kind, other, part = shared
    last, rows, steps = times.size - 1, share.shape[1], 0
    price, spent = np.zeros(last + 1), np.zeros(last + 1)
    whole = np.zeros((last + 1, rows))
    use[:] = 0.0
    for job in range(submit.size):
        column, first = rows + 1 + lane[job], np.searchsorted(times, submit[job], side="right") - 1
        own = min(last, np.searchsorted(times, until[job], side="left"))
        now = submit[job], duration[job], share[job]
        k = _prices_of(*now, column, own, first, times, prices, other[kind[job]], price, spent)
        given = submit[job], (submit[job], times[-1] + submit[job]), duration[job], duration[job], 1.0
        least[job], start, end, tried = _cheapest_run(
            *given, times[first : k + 1], price[first:], spent[first:]
        )
        largest[job] = spent[k]
        steps += tried + k - first
        _count(times, start, end, share[job], whole, use)
        for i in range(np.searchsorted(times, start, side="right") - 1, last):
            if times[i] >= end:
                break
            ticks = min(end, times[i + 1]) - max(start, times[i])
            use[i, rows] += ticks * part[kind[job], i]
            if i < own:
                use[i, column] += ticks
    _fill(times, whole, use)
    return steps


@njit(cache=True)
def _best_fill(count, price, total, able, size, value, taken):  # type: ignore[no-untyped-def]
    """Return the largest sum of prices of jobs that count ``total`` at most, and the count; mark the jobs.

    The jobs are the first ``size`` of ``able``; ``taken`` tells of each, and each count, whether it is part.
    """
    value[:] = 0.0
    full = 0
    for i in range(size):
        need, worth = count[able[i]], price[i]
        taken[i] = False
        full = min(total, full + need)
        for c in range(full, need - 1, -1):
            if value[c - need] + worth > value[c]:
                value[c], taken[i, c] = value[c - need] + worth, True
    return np.argmax(value)


@njit(cache=True)
def best_fills(submit, count, total, lane, until, times, prices, worth, held):  # type: ignore[no-untyped-def]
    """Write for each interval what the most valuable set of jobs pays that fits, and which it is.

    A set fits that counts ``total`` at most. Its jobs pay the prices of their ``lane``, shape (K, W), from
    their submission ``until`` a tick. Written are ``worth``, shape (K,), and in ``held``, shape (K, W), 1 for
    the lanes of its jobs. Returned is about how many sums were looked at.
    """
    n, entered, waiting, looked = submit.size, 0, 0, 0
    active, able, price = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n)
    value, taken = np.zeros(total + 1), np.zeros((16, total + 1), dtype=np.bool_)
    held[:] = 0.0
    for k in range(worth.size):
        while entered < n and submit[entered] < times[k + 1]:
            active[waiting] = entered
            entered, waiting = entered + 1, waiting + 1
        kept, size, needed, worth[k] = 0, 0, 0, 0.0
        for i in range(waiting):
            job = active[i]
            if until[job] <= times[k]:
                continue
            active[kept] = job
            kept += 1
            if prices[k, lane[job]] > 0.0 and count[job] <= total:
                able[size], price[size] = job, prices[k, lane[job]]
                size, needed = size + 1, needed + count[job]
        waiting, at = kept, needed
        looked += kept
        if needed > total:
            if len(taken) < size:
                taken = np.zeros((2 * size, total + 1), dtype=np.bool_)
            at = _best_fill(count, price, total, able, size, value, taken)
            looked += size * total
        for i in range(size - 1, -1, -1):
            if needed <= total or taken[i, at]:
                held[k, lane[able[i]]] = 1.0
                worth[k] += price[i]
                at -= count[able[i]]
    return looked


@njit(cache=True)
def _losses(table, contention, jobs, counts, load, lost):  # type: ignore[no-untyped-def]
    """Write what jobs with so many instances on each machine lose per tick, of the work of a tick each."""
    load[:] = 0
    for p in range(jobs.size):
        for k in range(load.size):
            load[k] += table.intensity[jobs[p]] * table.need[jobs[p], 0] * counts[p, k]
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
        lost[p] = 1.0 - shortest / table.duration[job, spans] / slower


@njit(cache=True)
def packings(table, contention, path, sets, lost, until):  # type: ignore[no-untyped-def]
    """Write sets of jobs that can run at the same time, once for each way to place them; tell whether all.

    A set is a whole number whose bits are the jobs, at most 62; ``lost``, one row for each, is what its jobs,
    in their order, lose per tick. Of ways that differ in the order of equal machines, there is one. It ends
    when there are ``until`` of them and goes on from there, along the ``path``: its jobs, shape (n,), their
    counts, shape (n, M), what is free before each, shape (n + 1, M, 3), which is at first all that there is,
    for each machine the first one that is still the same, shape (n + 1, M), and how many jobs are on it, the
    next one, the ways so far, and the set, shape (4,).
    """
    n, machines = table.submit.size, table.capacity.shape[0]
    jobs, counts, free, alike, at = path
    order, load = np.arange(machines), np.empty(machines, dtype=np.int64)
    depth, job, size, chosen = at
    while size < until:
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
                at[:] = depth, job, size, chosen
                return True
            continue
        jobs[depth] = job
        chosen += 1 << job
        for k in range(machines):
            for r in range(3):
                free[depth + 1, k, r] = free[depth, k, r] - counts[depth, k] * table.need[job, r]
        refine(alike[depth], counts[depth], alike[depth + 1])
        depth += 1
        sets[size] = chosen
        _losses(table, contention, jobs[:depth], counts, load, lost[size])
        size += 1
        job += 1
    at[:] = depth, job, size, chosen
    return False


@njit(cache=True)
def most_lost(sets, lost, most):  # type: ignore[no-untyped-def]
    """Write the most that each job loses per tick in any of these ways, shape (n,)."""
    for w in range(sets.size):
        p = 0
        for job in range(most.size):
            if sets[w] >> job & 1:
                most[job] = max(most[job], lost[w, p])
                p += 1


@njit(cache=True)
def least_lost(tree, first, lost, price, loss, way):  # type: ignore[no-untyped-def]
    """Write what each set of jobs loses at least, at a price of each job's loss, and by which way.

    The ways of set i are those from ``first[i]`` to ``first[i + 1]``; ``tree`` is as :func:`best_sets` takes
    it.
    """
    parent, oldest, _ = tree
    own = np.empty(lost.shape[1])
    for i in range(parent.size):
        count, rest = 0, i
        while rest > 0:
            own[count] = price[oldest[rest]]
            count, rest = count + 1, parent[rest]
        loss[i], way[i] = 0.0 if count == 0 else np.inf, first[i]
        for w in range(first[i], first[i + 1]):
            total = 0.0
            for p in range(count):
                total += own[p] * lost[w, p]
            if total < loss[i]:
                loss[i], way[i] = total, w


@njit(cache=True)
def best_sets(known, tree, free, gpus, loss, prices, slack, worth, best):  # type: ignore[no-untyped-def]
    """Write for each interval what the most valuable set of jobs pays, less what it loses, and which it is.

    The first ``known`` sets of an interval may run in it, shape (K,); the first set has no jobs. Every other
    one is its parent and its oldest job. Those that only have older jobs besides follow it; they lose no
    less, by ``slack``, and what they may pay more is what their GPUs could at the highest price of a GPU.
    ``tree`` is the parent, that job, and the first set that does not follow, each of shape (sets,); ``free``
    are the GPUs that are left, and ``gpus`` those of jobs. Returned is how many sets were looked at.
    """
    parent, oldest, after = tree
    value, looked, before = np.zeros(parent.size), 0, 0
    dearest = np.zeros(gpus.size)  # a GPU of older jobs
    for k in range(known.size):
        price = prices[k]
        for job in range(gpus.size - 1):
            dearest[job + 1] = dearest[job]
            if price[job] > 0.0:
                dearest[job + 1] = max(dearest[job], price[job] / gpus[job] if gpus[job] > 0 else np.inf)
        most, chosen, i, paid = 0.0, 0, before, -loss[before]  # the best set of the last interval, first
        while i > 0:
            paid += price[oldest[i]]
            i = parent[i]
        if paid > most:
            most, chosen = paid, before
        i = 1
        while i < known[k]:
            looked += 1
            job = oldest[i]
            if price[job] == 0.0:
                i = after[i]
                continue
            value[i] = value[parent[i]] + price[job]
            if value[i] - loss[i] > most:
                most, chosen = value[i] - loss[i], i
            more = free[i] * dearest[job]
            hopeless = value[i] - loss[i] + more + slack + 1e-12 * (value[i] + more) <= most
            i = after[i] if hopeless else i + 1
        worth[k], best[k], before = most, chosen, chosen
    return looked


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
def _able(table, state, window, genome, eager, total):  # type: ignore[no-untyped-def]
    """Return the jobs of the window that are tried, by ascending key.

    These are released, or ``eager``; and all that is free is enough for them, or they reserve.
    """
    waiting, count = sim.waiting(state)[:window], 0
    jobs, keys = np.empty(waiting.size, dtype=np.int64), genome.keys
    for job in waiting:
        if not eager and genome.release[job] > state.clock[sim.NOW]:
            continue
        if genome.reserves[job] == 0 and not sim.enough(total, table.need[job], table.instances[job]):
            continue
        q = count
        while q > 0 and keys[jobs[q - 1]] > keys[job]:
            jobs[q] = jobs[q - 1]
            q -= 1
        jobs[q] = job
        count += 1
    return jobs[:count]


@njit(cache=True)
def _shortest(table, job):  # type: ignore[no-untyped-def]
    """Return the ticks that a job takes alone, on as few machines as can hold it."""
    for d in table.duration[job]:
        if d > 0:
            return d
    return NEVER


@njit(cache=True)
def _start(table, state, window, genome, eager, begun):  # type: ignore[no-untyped-def]
    """Write (job, machine, count) of the jobs that start now, and return how many rows; see run_plan."""
    total = np.empty(state.free.shape[1], dtype=np.int64)
    sim.summed(state.free, total)
    jobs = _able(table, state, window, genome, eager, total)
    if jobs.size == 0:
        return 0
    left, at, until = (state.free.copy(), state.load.copy(), total), 0, NEVER
    one = np.empty((state.free.shape[0], 2), dtype=np.int64)
    for job in jobs:
        need, instances = table.need[job], table.instances[job]
        if until < NEVER and state.clock[sim.NOW] + _shortest(table, job) > until:
            continue
        chosen, count = genome.rows[job], genome.spans[job]
        if not _planned_fits(left[0], need, chosen, count):
            chosen, count = one, 0
            if sim.enough(total, need, instances):
                count = _place(left[0], left[1], table.capacity, need, instances, genome.rule[job], one)
        if count == 0 and genome.reserves[job] > 0 and until == NEVER:
            until = _room_at(table, state, left[0], job)
        at = _begin(table, job, chosen, count, left, begun, at)
    return at


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
def _record(state, trail):  # type: ignore[no-untyped-def]
    """Write an epoch of the other simulation into a spare slot."""
    clock, at = state.clock, trail.size[FRESH]
    slot = trail.spare[trail.size[SPARE] - 1 - at]
    trail.size[FRESH] += 1
    now = clock[sim.NOW]
    trail.fresh.tick[at], trail.fresh.slot[at] = now, slot
    trail.fresh.waited[at], trail.fresh.used[at] = clock[sim.WAITED], clock[sim.USED]
    waiting = sim.waiting(state)
    trail.oldest[slot] = waiting[0] if waiting.size > 0 else clock[sim.ARRIVED]
    trail.pending[slot], trail.running[slot] = clock[sim.PENDING], clock[sim.RUNNING]
    for p in range(clock[sim.RUNNING]):
        job = state.running[p]
        trail.jobs[slot, p] = job
        trail.work[slot, p] = state.work[job] - state.speed[job] * (now - state.settled[job])


@njit(cache=True)
def resume(table, state, contention, trail, at):  # type: ignore[no-untyped-def]
    """Make a state that of an epoch of the trail, but for what it says of jobs that are done."""
    clock, slot = state.clock, trail.course.slot[at]
    now, count = trail.course.tick[at], trail.running[slot]
    clock[sim.NOW], clock[sim.WAITED], clock[sim.USED] = now, trail.course.waited[at], trail.course.used[at]
    clock[sim.ARRIVED] = np.searchsorted(table.submit, now, side="right")
    first = clock[sim.ARRIVED]
    clock[sim.PENDING], clock[sim.DONE] = trail.pending[slot], first - trail.pending[slot] - count
    for job in range(first - 1, trail.oldest[slot] - 1, -1):
        if trail.start[job] >= now:
            first -= 1
            state.pending[first] = job
    jobs = trail.jobs[slot, :count]
    for job in jobs:
        state.start[job] = trail.start[job]
    sim.resume(table, state, contention, jobs, trail.work[slot], trail.spans, trail.rows)


@njit(cache=True)
def _same_place(state, trail, job):  # type: ignore[no-untyped-def]
    """Return whether a job has as many instances on the same machines as in the trail."""
    if trail.spans[job] != state.spans[job]:
        return False
    for i in range(state.spans[job]):
        row = state.first[job] + i
        if trail.rows[job, i, 0] != state.rows[row, 0] or trail.rows[job, i, 1] != state.rows[row, 1]:
            return False
    return True


@njit(cache=True)
def _coincides(state, trail, at, changed):  # type: ignore[no-untyped-def]
    """Return whether a state is that of an epoch of the trail at its tick, and will go on as there."""
    clock, slot = state.clock, trail.course.slot[at]
    now, count = clock[sim.NOW], clock[sim.RUNNING]
    if count != trail.running[slot] or clock[sim.PENDING] != trail.pending[slot]:
        return False
    for job in changed:
        if trail.start[job] >= now:
            return False
    for job in sim.waiting(state):
        if trail.start[job] < now:
            return False
    trail.size[MARK] += 1
    for p in range(count):
        trail.mark[state.running[p]] = trail.size[MARK]
    for p in range(count):
        job = trail.jobs[slot, p]
        if trail.mark[job] != trail.size[MARK] or not _same_place(state, trail, job):
            return False
        if trail.work[slot, p] != state.work[job] - state.speed[job] * (now - state.settled[job]):
            return False
    return True


@njit(cache=True)
def run_plan(table, state, setting, genome, trail, changed, limit, margin):  # type: ignore[no-untyped-def]
    """Simulate from an epoch on to the end: the released jobs of the window are tried by ascending key.

    ``setting`` is contention, window, and what a GPU-tick costs in thousandths of a tick. The ``genome`` is
    ``keys`` and ``release``: who comes first, and from which tick on each job is tried (if nothing runs and
    nobody else comes, all are tried); ``spans``: on how many machines, those of ``rows`` with so many
    instances each, it goes if it fits there; the ``rule`` by which it is placed if not, or if that is 0; and
    whether it ``reserves``: if it does not fit at all, only those after it start that would end before what
    runs now leaves room for it.

    The run ends as soon as it comes back to the course of the ``trail``, which has one genome with this one
    but for the jobs ``changed``. Its own epochs are the fresh ones of the trail. Returned are WAITED and USED
    at the end, and at which epoch of the trail it came back to it. It is given up, and WAITED is -1, if it
    costs more than ``limit``, in thousandths of a tick, or has at some time cost by more than ``margin`` more
    than is left for it beside the trail.
    """
    contention, window, weight = setting
    clock, size, course = state.clock, trail.size, trail.course
    n, machines = table.submit.size, state.free.shape[0]
    begun = np.empty((max(1, min(window, n)) * machines, 3), dtype=np.int64)
    most = limit - (1000.0 * size[END_WAITED] + weight * size[END_USED]) + margin
    meet = np.searchsorted(course.tick[: size[KEPT]], clock[sim.NOW], side="right")
    size[FRESH], size[MOVED], size[FRESH_IDLE], epoch = 0, clock[sim.RUNNING], NEVER, 0
    trail.moved[: size[MOVED]] = state.running[: size[MOVED]]
    while True:
        while meet < size[KEPT] and course.tick[meet] < clock[sim.NOW]:
            meet += 1
        waited, used = size[END_WAITED], size[END_USED]
        if meet < size[KEPT]:
            waited, used = course.waited[meet], course.used[meet]
        waited, used = clock[sim.WAITED] - waited, clock[sim.USED] - used
        met = meet < size[KEPT] and course.tick[meet] == clock[sim.NOW]
        if met and _coincides(state, trail, meet, changed):
            waited, used = size[END_WAITED] + waited, size[END_USED] + used
            break
        if 1000.0 * waited + weight * used > most:
            return -1, 0, meet
        if size[EVERY] > 0 and epoch % size[EVERY] == 0 and size[FRESH] < size[SPARE]:
            _record(state, trail)
        epoch += 1
        at = _start(table, state, window, genome, False, begun)
        if at == 0 and clock[sim.RUNNING] == 0 and clock[sim.ARRIVED] == n:
            at = _start(table, state, window, genome, True, begun)
            size[FRESH_IDLE] = min(size[FRESH_IDLE], clock[sim.NOW])
        for r in range(at):
            if r == 0 or begun[r, 0] != begun[r - 1, 0]:
                trail.moved[size[MOVED]] = begun[r, 0]
                size[MOVED] += 1
        sim.start_rows(table, state, contention, begun[:at])
        if not sim.advance(table, state, contention, window):
            waited, used, meet = clock[sim.WAITED], clock[sim.USED], size[KEPT]
            break
    return (waited if 1000.0 * waited + weight * used <= limit else -1), used, meet


@njit(cache=True)
def _moves(state, trail):  # type: ignore[no-untyped-def]
    """Return whether the other simulation starts a job at another time or place than the trail."""
    for p in range(trail.size[MOVED]):
        job = trail.moved[p]
        if state.start[job] != trail.start[job] or not _same_place(state, trail, job):
            return True
    return False


@njit(cache=True)
def take(state, trail, waited, used, at, meet):  # type: ignore[no-untyped-def]
    """Let the trail be the other simulation, which began at epoch ``at`` and came back at ``meet``."""
    size, course, ended = trail.size, trail.course, meet == trail.size[KEPT]
    now = NEVER if ended else course.tick[meet]
    starts = trail.start[trail.by_start]
    low = np.searchsorted(starts, course.tick[at], side="left") if size[KEPT] > 0 else 0
    high = np.searchsorted(starts, now, side="left")
    for p in range(size[MOVED]):
        job = trail.moved[p]
        first, spans = state.first[job], state.spans[job]
        trail.start[job], trail.spans[job] = state.start[job], spans
        trail.rows[job, :spans] = state.rows[first : first + spans]
        if state.finish[job] <= now:
            trail.finish[job] = state.finish[job]
    jobs = np.sort(trail.by_start[low:high])
    trail.by_start[low:high] = jobs[np.argsort(trail.start[jobs], kind="mergesort")]
    course.waited[meet : size[KEPT]] += waited - size[END_WAITED]
    course.used[meet : size[KEPT]] += used - size[END_USED]
    gone, fresh = course.slot[at:meet].copy(), size[FRESH]
    for part in range(4):
        array, other = course[part], trail.fresh[part]
        after = array[meet : size[KEPT]].copy()
        array[at : at + fresh] = other[:fresh]
        array[at + fresh : at + fresh + after.size] = after
    size[SPARE] += gone.size - fresh
    trail.spare[size[SPARE] - gone.size : size[SPARE]] = gone
    size[KEPT] += fresh - gone.size
    size[END_WAITED], size[END_USED] = waited, used
    size[IDLE] = min(size[FRESH_IDLE], max(size[IDLE], now))


@njit(cache=True)
def _troubled(draw, table, trail):  # type: ignore[no-untyped-def]
    """Return the place of a job that is drawn; half of the time of two jobs the one that lost more ticks."""
    n = trail.by_start.size
    place = int(draw[0] * n)
    if draw[6] < 0.5:
        other = int(2.0 * draw[6] * n)
        a, b = trail.by_start[place], trail.by_start[other]
        lost_a = trail.finish[a] - table.submit[a] - table.duration[a, trail.spans[a]]
        lost_b = trail.finish[b] - table.submit[b] - table.duration[b, trail.spans[b]]
        if lost_b > lost_a:
            return other
    return place


@njit(cache=True)
def _block(draw, table, trail, genome, place, reach, changed):  # type: ignore[no-untyped-def]
    """Let up to so many jobs, from this place in the order of starts on, be tried as soon as its first one.

    Half of the time they are tried by duration times their share of all GPUs to a power, and half of these
    times wherever they fit.
    """
    since, count = trail.start[trail.by_start[place]], 0
    for job in trail.by_start[place : place + reach]:
        if genome.reserves[job] == 0:
            genome.release[job] = max(table.submit[job], since)
            changed[count] = job
            count += 1
    jobs = changed[:count]
    if draw >= 0.5:
        share = table.need[jobs, 0] * table.instances[jobs] / max(1, table.capacity[:, 0].sum())
        size = np.empty(count)
        for p in range(count):
            size[p] = _shortest(table, jobs[p]) * share[p] ** (4.0 * (draw % 0.25))
        genome.keys[jobs[np.argsort(size, kind="mergesort")]] = np.sort(genome.keys[jobs])
    if draw >= 0.75:
        genome.spans[jobs] = 0
    return count, since


@njit(cache=True)
def _change(draw, table, trail, genome, changed):  # type: ignore[no-untyped-def]
    """Change a genome as the draws say; write the jobs that are ``changed``, and return how many.

    Also returned is the tick from which on that may make a difference. Jobs that do not wait cannot begin
    earlier; so it is something else that is changed for them.
    """
    keys, release = genome.keys, genome.release
    n, machines = trail.by_start.size, table.capacity.shape[0]
    place = _troubled(draw, table, trail)
    reach = 1 + int(draw[1] ** 3 * min(n - 1, 60))
    other = min(n - 1, max(0, place + reach if draw[2] < 0.5 else place - reach))
    a, b, kind = trail.by_start[place], trail.by_start[other], draw[3]
    if kind < 0.5 and trail.start[a] <= table.submit[a]:
        kind += 0.5
    if 0.5 <= kind < 0.8:
        return _block(draw[4], table, trail, genome, place, 1 + reach, changed)
    changed[0], changed[1], count, since = a, b, 1, release[a]
    if kind < 0.2:
        keys[a], keys[b] = keys[b], keys[a]
        since, count = min(since, release[b]), 2
        release[a] = max(table.submit[a], min(release[a], trail.start[b]))
        release[b] = max(table.submit[b], min(release[b], trail.start[a]))
        since = min(since, release[b])
    elif kind < 0.4:
        keys[a] = keys[b] - draw[4]
        release[a] = max(table.submit[a], min(release[a], trail.start[b]))
        genome.reserves[a] = kind >= 0.3
    elif kind < 0.5:
        release[a] = table.submit[a]
        genome.reserves[a] = 0
    elif kind < 0.85:
        release[a] = max(trail.finish[b], table.submit[a])
    else:
        genome.spans[a] = 0
        genome.rule[a] = (
            int(8.0 * draw[4]) if draw[4] < 0.5 else QUIET + 1 + int((2.0 * draw[4] - 1.0) * machines)
        )
    return count, min(since, release[a])


@njit(cache=True)
def _copy_genes(source, target, jobs):  # type: ignore[no-untyped-def]
    """Copy the genes of some jobs."""
    for job in jobs:
        target.keys[job], target.release[job] = source.keys[job], source.release[job]
        target.rule[job], target.reserves[job] = source.rule[job], source.reserves[job]
        target.spans[job], target.rows[job] = source.spans[job], source.rows[job]


@njit(cache=True)
def search_rounds(table, state, trail, setting, genomes, costs, draws, heats, paid, work):  # type: ignore[no-untyped-def]
    """Change genes at random, and keep what costs no more, or only a little; return how many rounds.

    ``genomes`` are that of the trail, the same once more, and the best one, and ``costs``, shape (2,), the
    costs of the first and the last; all are kept up to date. Jobs that run or start in a round that is kept
    get the machines on which they ran as those of their genes. ``draws`` are uniform numbers, shape (rounds,
    7), and ``heats`` the increase of the cost that is accepted with probability 1/e, shape (rounds,),
    relative to what the best costs beyond ``paid``, the part that all schedules have. There is a round for
    each, until so many epochs have been simulated as ``work`` says.
    """
    incumbent, tried, best = genomes
    changed = np.empty(max(2, table.submit.size), dtype=np.int64)
    for r in range(heats.size):
        if work <= 0:
            return r
        count, since = _change(draws[r], table, trail, tried, changed)
        jobs, scale = changed[:count], costs[1] - paid
        limit = costs[0] - heats[r] * scale * np.log(max(draws[r, 5], 1e-300))
        ticks = trail.course.tick[: trail.size[KEPT]]
        at = np.searchsorted(ticks, min(since, trail.size[IDLE]), side="right") - 1
        resume(table, state, setting[0], trail, at)
        waited, used, meet = run_plan(table, state, setting, tried, trail, jobs, limit, MARGIN * scale)
        work -= 1 + trail.size[FRESH] * trail.size[EVERY]
        if waited < 0:
            _copy_genes(incumbent, tried, jobs)
            continue
        _copy_genes(tried, incumbent, jobs)
        if not _moves(state, trail):
            trail.size[IDLE] = min(trail.size[IDLE], trail.size[FRESH_IDLE])
            continue
        take(state, trail, waited, used, at, meet)
        costs[0] = 1000.0 * waited + setting[2] * used
        for job in trail.moved[: trail.size[MOVED]]:
            incumbent.spans[job] = trail.spans[job]
            incumbent.rows[job] = trail.rows[job]
        _copy_genes(incumbent, tried, trail.moved[: trail.size[MOVED]])
        if costs[0] < costs[1]:
            costs[1] = costs[0]
            _copy_genes(incumbent, best, trail.by_start)
    return heats.size
