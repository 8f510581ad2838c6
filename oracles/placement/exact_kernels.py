"""Compiled kernels of the branch and bound over schedules; see :mod:`.exact`.

The search goes depth first through levels and places. A level is a decision epoch; its places are the waiting
jobs that fit then, the shortest first. At each place the job starts with one spread of its instances over the
machines after another, most compact first, and waits in the end. Costs are in millionths of a second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...models.compiled import njit
from ...models.placement import kernels as sim

LEVEL, PLACE, FRESH, NODES, BEST, CUT, STEPS, SEARCH = range(8)
"""Places in :attr:`Tree.cursor`; see there."""

OPEN, WAITS = range(2)
"""Of a place: there may be spreads to come; the job waits, so that it is done with."""

CHOSEN, SKIPPED, NONE = range(3)
"""The result of a step at a place: a choice, a spread that need not be tried, no choice any more."""

DEAD = 2**62
"""The bound of a state from which no schedule goes on."""

SLACK = 1e-9
"""The relative rounding error of a bound in floating point; about 1e3 roundings count."""


class Tariff(NamedTuple):
    """Prices that jobs pay while they run, and what the machines are worth; every array is read-only.

    K intervals of equal prices, then nothing is paid; n jobs.
    """

    times: np.ndarray  # ticks between which prices are constant, ascending, shape (K + 1,)
    price: np.ndarray  # what each job pays per tick, the last row 0, shape (K + 1, n)
    paid: np.ndarray  # what each has paid by a time if it runs from the first on, shape (K + 1, n)
    worth: np.ndarray  # what all machines are worth per tick, the last one 0, shape (K + 1,)
    left: np.ndarray  # what they are worth from a time on, shape (K + 1,)
    # Starts of each job between which its cost is concave, ascending, shape (n, 3 K + 3).
    starts: np.ndarray
    cheapest: np.ndarray  # of each job, the least end plus payment of these starts and later ones
    losses: np.ndarray  # what each job gets per tick that it loses, shape (n,)
    stretch: np.ndarray  # a job takes so many times as long as alone at most, shape (n,)
    windows: np.ndarray  # the first and the last tick at which each job may start, shape (n, 2)
    margin: float  # more than rounding adds to a bound, in ticks


class Costs(NamedTuple):
    """The input of the bounds; every array is read-only."""

    second: int  # the cost of a job per tick in the system
    gpu: int  # the cost of a GPU in use per tick
    gpus: np.ndarray  # the cost of each job's GPUs per tick that it runs, shape (n,)
    least: np.ndarray  # the shortest time that each job takes, in ticks, shape (n,)
    total: np.ndarray  # the demand of all instances of each job, shape (n, 3)
    scarce: np.ndarray  # the resources of which all jobs together want more than there is
    kind: np.ndarray  # the same number for jobs that differ in their submission only, shape (n,)
    shift: bool  # whether a job that could have started earlier on the same machines need not be tried
    tariff: Tariff  # the prices of a bound


class Tree(NamedTuple):
    """The path to where the search stands; D levels, n jobs, M machines."""

    # LEVEL and PLACE, where the search stands, the level -1 in the end; FRESH, whether it comes from above;
    # NODES, how many epochs it has seen; BEST, what the best schedule costs; CUT, the least bound of what was
    # left out; STEPS, how many steps it has made: choices, spreads that were skipped, epochs; SEARCH, how
    # often it has begun at the root.
    cursor: np.ndarray
    # The simulation at each level, before the decision; every array has an axis of length D in front.
    states: sim.State
    best: sim.State  # the simulation at the end of the best schedule
    bound: np.ndarray  # the lower bound of all schedules below each level, shape (D,)
    # jobs, places: the jobs at the places of each level, shape (D, n), and how many there are, shape (D,).
    jobs: np.ndarray
    places: np.ndarray
    status: np.ndarray  # OPEN or WAITS at each place, shape (D, n)
    free: np.ndarray  # the free capacity when the search comes to a place, shape (D, n + 1, M, 3)
    alike: np.ndarray  # for each machine the first one that is equal to it then, shape (D, n + 1, M)
    order: np.ndarray  # the machines in the order in which the spreads at a place fill them, shape (D, n, M)
    chosen: np.ndarray  # instances on each machine, shape (D, n, M)
    # States that were seen: now, and by job the work left, -1 of those that wait, and its instances on each
    # machine, shape (size, 1 + n + n M); what they cost so far, and in which search, shape (size, 2).
    seen: np.ndarray
    spent: np.ndarray


@njit(cache=True)
def at_level(states, level):  # type: ignore[no-untyped-def]
    """Return the state of one level."""
    return sim.State(
        states.clock[level],
        states.free[level],
        states.load[level],
        states.start[level],
        states.finish[level],
        states.work[level],
        states.speed[level],
        states.settled[level],
        states.first[level],
        states.spans[level],
        states.rows[level],
        states.running[level],
        states.pending[level],
        states.ended[level],
    )


@njit(cache=True)
def _work_left(state, job):  # type: ignore[no-untyped-def]
    """Return the work that is left of a running job."""
    return state.work[job] - state.speed[job] * (state.clock[sim.NOW] - state.settled[job])


@njit(cache=True)
def _running_ends(state, ends, jobs):  # type: ignore[no-untyped-def]
    """Write when the running jobs end at the earliest, at full speed from now on, ascending."""
    now = state.clock[sim.NOW]
    count = state.clock[sim.RUNNING]
    for p in range(count):
        job = state.running[p]
        end = now - (-_work_left(state, job) // sim.SCALE)
        q = p
        while q > 0 and ends[q - 1] > end:
            ends[q], jobs[q] = ends[q - 1], jobs[q - 1]
            q -= 1
        ends[q], jobs[q] = end, job
    return count


@njit(cache=True)
def _earliest(total, free, ends, running, count, job, earliest):  # type: ignore[no-untyped-def]
    """Return when a job can start at the earliest if all machines were one."""
    when = earliest
    for r in range(3):
        left = free[r]
        p = 0
        while left < total[job, r] and p < count:
            left += total[running[p], r]
            when = max(when, ends[p])
            p += 1
    return when


@njit(cache=True)
def _fluid(release, volume, left, capacity, ends, given, count, by_volume):  # type: ignore[no-untyped-def]
    """Process volumes one at a time with all that is free, least first; return the sum of times and of means.

    The least volume first makes the sum of the mean times at which the jobs are processed as small as it can
    be, the least rest of a volume first the sum of the times at which they are done.

    ``release`` is when each job can start, and ``left`` is scratch, shape (n,). ``capacity`` is how much is
    processed per tick at first; ``ends``, ``given`` and ``count`` say when how much more is. ``by_volume``
    says whether the volume decides, or else its rest.
    """
    n = volume.size
    open_jobs = 0
    now = np.inf
    for i in range(n):
        left[i] = volume[i]
        if volume[i] > 0.0:
            open_jobs += 1
            now = min(now, release[i])
    done, means = 0.0, 0.0
    p = 0
    while open_jobs > 0:
        while p < count and ends[p] <= now:
            capacity += given[p]
            p += 1
        chosen, event = -1, np.inf
        for i in range(n):
            if left[i] > 0.0:
                if release[i] > now:
                    event = min(event, release[i])
                elif chosen < 0 or (volume[i] < volume[chosen] if by_volume else left[i] < left[chosen]):
                    chosen = i
        if p < count:
            event = min(event, ends[p])
        if chosen < 0 or capacity <= 0.0:
            now = event
            continue
        end = now + left[chosen] / capacity
        if end <= event:
            means += left[chosen] / volume[chosen] * 0.5 * (now + end)
            done += end
            left[chosen] = 0.0
            open_jobs -= 1
            now = end
        else:
            part = (event - now) * capacity
            means += part / volume[chosen] * 0.5 * (now + event)
            left[chosen] -= part
            now = event
            if left[chosen] <= 0.0:  # by rounding
                left[chosen] = 0.0
                done += now
                open_jobs -= 1
    return done, means


@njit(cache=True)
def least_cost(table, state, costs, limit):  # type: ignore[no-untyped-def]
    """Return a lower bound of the cost of a simulation until its end.

    The cost so far counts; running jobs go on at full speed. A waiting job takes its shortest time from when
    enough is free on all machines together. The times at which they are done are at least, for each scarce
    resource, those of the shortest remaining volume first on all machines as one, and the mean times at which
    they run, half their duration before, those of the smallest volume first. The better bounds are only
    computed while the bound is below ``limit``.
    """
    n = table.submit.size
    now = state.clock[sim.NOW]
    ends, running = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    count = _running_ends(state, ends, running)
    cost = costs.second * state.clock[sim.WAITED] + costs.gpu * state.clock[sim.USED]
    free = np.zeros(3, dtype=np.int64)
    for k in range(state.free.shape[0]):
        for r in range(3):
            free[r] += state.free[k, r]
    for p in range(count):
        cost += (costs.second + costs.gpus[running[p]]) * (ends[p] - now)
    waiting = state.clock[sim.PENDING] + n - state.clock[sim.ARRIVED]
    release, length = np.empty(waiting), np.empty(waiting)
    jobs = np.empty(waiting, dtype=np.int64)
    single, base = 0, 0
    for p in range(waiting):
        if p < state.clock[sim.PENDING]:
            job = sim.waiting(state)[p]
        else:
            job = state.clock[sim.ARRIVED] + p - state.clock[sim.PENDING]
        earliest = max(now, table.submit[job])
        when = _earliest(costs.total, free, ends, running, count, job, earliest)
        jobs[p], release[p], length[p] = job, when, costs.least[job]
        single += when + costs.least[job]
        base += earliest
        cost += costs.gpus[job] * costs.least[job]
    best = cost + costs.second * (single - base)
    if waiting == 0:
        return best
    volume, left, given = np.empty(waiting), np.empty(waiting), np.empty(count)
    for r in costs.scarce:
        if best >= limit:
            break
        others, halves = 0.0, 0.0
        for p in range(waiting):
            volume[p] = costs.total[jobs[p], r] * length[p]
            if volume[p] > 0.0:
                halves += 0.5 * length[p]
            else:
                others += release[p] + length[p]
        for p in range(count):
            given[p] = costs.total[running[p], r]
        for by_volume in (True, False):
            done, means = _fluid(release, volume, left, float(free[r]), ends, given, count, by_volume)
            reached = others + (means + halves if by_volume else done)
            ticks = int(np.ceil(reached * (1.0 - SLACK) - 1e-6))
            best = max(best, cost + costs.second * (ticks - base))
    return best


@njit(cache=True)
def _paid(tariff, job, tick):  # type: ignore[no-untyped-def]
    """Return what a job has paid by some tick if it runs from the first time on."""
    k = np.searchsorted(tariff.times, tick, side="right") - 1
    return tariff.paid[k, job] + tariff.price[k, job] * (tick - tariff.times[k])


@njit(cache=True)
def _in_window(tariff, job, tick):  # type: ignore[no-untyped-def]
    """Return whether a job may start at some tick."""
    return tariff.windows[job, 0] <= tick <= tariff.windows[job, 1]


@njit(cache=True)
def _end_and_payment(tariff, job, shortest, work, tick):  # type: ignore[no-untyped-def]
    """Return the end of a job that starts at a tick, plus what it pays, less what it gets for what it loses.

    It runs for the ``shortest`` time at least, and for any more that its ``work`` can take.
    """
    before, end, gain = _paid(tariff, job, tick), tick + shortest, tariff.losses[job] - 1.0
    done = tick + work
    best = done - gain * (end - done) + (_paid(tariff, job, end) - before)
    latest = tick + max(shortest, longest_run(work, tariff.stretch[job]))
    if gain > 0.0 and latest > end:
        best = min(best, done - gain * (latest - done) + (_paid(tariff, job, latest) - before))
        k = np.searchsorted(tariff.times, end, side="right")
        while k < tariff.times.size and tariff.times[k] < latest:
            end = tariff.times[k]
            best = min(best, done - gain * (end - done) + (tariff.paid[k, job] - before))
            k += 1
    return best


@njit(cache=True)
def longest_run(work, stretch):  # type: ignore[no-untyped-def]
    """Return a number of ticks in which a job that is never slower than that has done such work."""
    return np.int64(np.ceil(work * stretch)) + 2


@njit(cache=True)
def cheapest_later(tariff, least):  # type: ignore[no-untyped-def]
    """Write the least end plus payment of each job from each of its starts on."""
    for job in range(tariff.starts.shape[0]):
        for k in range(tariff.starts.shape[1] - 1, -1, -1):
            length = least[job]
            here = _end_and_payment(tariff, job, length, float(length), tariff.starts[job, k])
            tariff.cheapest[job, k] = min(tariff.cheapest[job, k + 1], here)


@njit(cache=True)
def priced_cost(table, state, costs):  # type: ignore[no-untyped-def]
    """Return a lower bound of the cost of a simulation until its end, by prices.

    From now on, what runs pays no more than the machines are worth: completion times plus payments, less that
    worth, are no more than the completion times. A job that waits starts when that is cheapest for it. See
    :mod:`.bound`.
    """
    tariff, now, more = costs.tariff, state.clock[sim.NOW], 0.0
    cost = costs.second * state.clock[sim.WAITED] + costs.gpu * state.clock[sim.USED]
    for p in range(state.clock[sim.RUNNING]):
        job = state.running[p]
        left = _work_left(state, job)
        rest = -(-left // sim.SCALE)
        cost += costs.gpus[job] * rest
        work = left / sim.SCALE * (costs.least[job] / table.duration[job, state.spans[job]])
        more += _end_and_payment(tariff, job, rest, work, now) - now
    for job in sim.waiting(state):
        length = costs.least[job]
        cost += costs.gpus[job] * length
        k, here = np.searchsorted(tariff.starts[job], now), np.inf
        if _in_window(tariff, job, now):
            here = _end_and_payment(tariff, job, length, float(length), now)
        more += min(tariff.cheapest[job, k], here) - now
    for job in range(state.clock[sim.ARRIVED], table.submit.size):
        cost += costs.gpus[job] * costs.least[job]
        more += tariff.cheapest[job, 0] - table.submit[job]
    k = np.searchsorted(tariff.times, now, side="right") - 1
    worth = tariff.left[k] - tariff.worth[k] * (now - tariff.times[k])
    if more == np.inf:  # the window of a job is over
        return DEAD
    ticks = int(np.ceil(more - worth - tariff.margin))
    return cost + costs.second * max(0, ticks)


@njit(cache=True)
def refine(alike, counts, result):  # type: ignore[no-untyped-def]
    """Write which machines are still equal once they have these counts of a job."""
    for k in range(alike.size):
        first = alike[k]
        while alike[first] != alike[k] or counts[first] != counts[k]:
            first += 1
        result[k] = first


@njit(cache=True)
def _open_level(table, tree, costs, window, same):  # type: ignore[no-untyped-def]
    """Prepare the level at which the search stands: its jobs, and which machines are alike."""
    level = tree.cursor[LEVEL]
    state = at_level(tree.states, level)
    count = 0
    for job in sim.waiting(state)[:window]:
        able = _in_window(costs.tariff, job, state.clock[sim.NOW])
        if able and sim.fits(state.free, table.need[job], table.instances[job]):
            q = count
            while q > 0 and costs.least[tree.jobs[level, q - 1]] > costs.least[job]:
                tree.jobs[level, q] = tree.jobs[level, q - 1]
                q -= 1
            tree.jobs[level, q] = job
            count += 1
    tree.places[level] = count
    tree.free[level, 0] = state.free
    alike = tree.alike[level, 0]
    alike[:] = same
    counts = np.empty(same.size, dtype=np.int64)
    before = np.empty(same.size, dtype=np.int64)
    for p in range(state.clock[sim.RUNNING]):
        job = state.running[p]
        counts[:] = 0
        for i in range(state.first[job], state.first[job] + state.spans[job]):
            counts[state.rows[i, 0]] = state.rows[i, 1]
        before[:] = alike
        refine(before, counts, alike)
    tree.cursor[PLACE], tree.cursor[FRESH] = 0, 1


@njit(cache=True)
def _rank_machines(free, need, most, order):  # type: ignore[no-untyped-def]
    """Write the machines in the order of CONSOLIDATE: most instances first, then fewest free GPUs."""
    for k in range(order.size):
        fitting = sim.room(free[k], need, most)
        q = k
        while q > 0:
            other = sim.room(free[order[q - 1]], need, most)
            if other > fitting or (other == fitting and free[order[q - 1], 0] <= free[k, 0]):
                break
            order[q] = order[q - 1]
            q -= 1
        order[q] = k


@njit(cache=True)
def _spread(free, need, alike, order, counts, first, left):  # type: ignore[no-untyped-def]
    """Fill machines from place ``first`` of the order on; return what is left over.

    A machine takes no more than the one before it that is like it.
    """
    for p in range(first, order.size):
        k = order[p]
        count = sim.room(free[k], need, left)
        for q in range(p - 1, -1, -1):
            if alike[order[q]] == alike[k]:
                count = min(count, counts[order[q]])
                break
        counts[k] = count
        left -= count
    return left


@njit(cache=True)
def first_spread(free, need, alike, order, counts, instances):  # type: ignore[no-untyped-def]
    """Write the first spread of a job, the machines filled in their order; return whether there is one."""
    return _spread(free, need, alike, order, counts, 0, instances) == 0


@njit(cache=True)
def next_spread(free, need, alike, order, counts):  # type: ignore[no-untyped-def]
    """Go on to the next spread of a job in descending lexicographic order; return whether there is one."""
    after = 0
    for p in range(order.size - 1, -1, -1):
        k = order[p]
        if counts[k] > 0:
            counts[k] -= 1
            if _spread(free, need, alike, order, counts, p + 1, after + 1) == 0:
                return True
            after += 1 + counts[k]
            counts[k] = 0
    return False


@njit(cache=True)
def _holds(free, need, counts):  # type: ignore[no-untyped-def]
    """Return whether these instances fit into what is free."""
    for k in range(counts.size):
        for r in range(need.size):
            if counts[k] * need[r] > free[k, r]:
                return False
    return True


@njit(cache=True)
def _must_wait(tree, costs, level, place):  # type: ignore[no-untyped-def]
    """Return whether an equal job that is older waits at this level, so that this one need not start."""
    kind = costs.kind[tree.jobs[level, place]]
    for q in range(place):
        if tree.status[level, q] == WAITS and costs.kind[tree.jobs[level, q]] == kind:
            return True
    return False


@njit(cache=True)
def _next_choice(table, tree, costs):  # type: ignore[no-untyped-def]
    """Choose the next spread at the place of the search, in the end that the job waits; NONE after that."""
    level, place = tree.cursor[LEVEL], tree.cursor[PLACE]
    job = tree.jobs[level, place]
    need, total = table.need[job], table.instances[job]
    free, alike = tree.free[level, place], tree.alike[level, place]
    order, counts = tree.order[level, place], tree.chosen[level, place]
    fresh = tree.cursor[FRESH] == 1
    if fresh:
        tree.status[level, place] = OPEN
    elif tree.status[level, place] == WAITS:
        return NONE
    waited = costs.shift and level > 0 and table.submit[job] <= tree.states.clock[level - 1, sim.NOW]
    found = False
    if fresh:
        if not _must_wait(tree, costs, level, place):
            _rank_machines(free, need, total, order)
            found = first_spread(free, need, alike, order, counts, total)
    else:
        found = next_spread(free, need, alike, order, counts)
    if found and waited and _holds(tree.free[level - 1, tree.places[level - 1]], need, counts):
        tree.cursor[FRESH] = 0
        return SKIPPED
    if not found:
        tree.status[level, place] = WAITS
        counts[:] = 0
    after = tree.free[level, place + 1]
    for k in range(counts.size):
        for r in range(need.size):
            after[k, r] = free[k, r] - counts[k] * need[r]
    refine(alike, counts, tree.alike[level, place + 1])
    return CHOSEN


@njit(cache=True)
def _rows(tree, level):  # type: ignore[no-untyped-def]
    """Return the rows (job, machine, count) of the decision of a level."""
    count = tree.places[level]
    rows = np.empty((count * tree.chosen.shape[2], 3), dtype=np.int64)
    at = 0
    for p in range(count):
        for k in range(tree.chosen.shape[2]):
            if tree.chosen[level, p, k] > 0:
                rows[at, 0], rows[at, 1], rows[at, 2] = tree.jobs[level, p], k, tree.chosen[level, p, k]
                at += 1
    return rows[:at]


@njit(cache=True)
def _write_key(state, key):  # type: ignore[no-untyped-def]
    """Write all that the future of a simulation depends on, and return a hash of it."""
    n, machines, now = state.start.size, state.free.shape[0], state.clock[sim.NOW]
    key[:] = 0
    key[0] = now
    for job in sim.waiting(state):
        key[1 + job] = -1
    for p in range(state.clock[sim.RUNNING]):
        job = state.running[p]
        key[1 + job] = _work_left(state, job)
        for i in range(state.first[job], state.first[job] + state.spans[job]):
            key[1 + n + job * machines + state.rows[i, 0]] = state.rows[i, 1]
    mixed = np.uint64(0)
    for value in key:
        mixed = (mixed ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


@njit(cache=True)
def _was_cheaper(tree, state, cost):  # type: ignore[no-untyped-def]
    """Return whether this search has come to the same state at no more cost; keep it in mind otherwise.

    All that may follow has been tried then, as time goes on from epoch to epoch. Of states with the same
    place, the last one is kept.
    """
    key = np.empty(tree.seen.shape[1], dtype=np.int64)
    place = np.int64(_write_key(state, key) % np.uint64(tree.seen.shape[0]))
    spent = tree.spent[place]
    if spent[1] == tree.cursor[SEARCH] and spent[0] <= cost and (tree.seen[place] == key).all():
        return True
    tree.seen[place] = key
    spent[0], spent[1] = cost, tree.cursor[SEARCH]
    return False


@njit(cache=True)
def _descend(table, tree, costs, contention, window, slack, same):  # type: ignore[no-untyped-def]
    """Carry out the decision of a level, and open the next one if it may hold better schedules."""
    level, cursor = tree.cursor[LEVEL], tree.cursor
    rows = _rows(tree, level)
    before, state = at_level(tree.states, level), at_level(tree.states, level + 1)
    idle = before.clock[sim.RUNNING] == 0 and before.clock[sim.ARRIVED] == table.submit.size
    if rows.shape[0] == 0 and idle:
        return False
    sim.copy_state(before, state)
    sim.start_rows(table, state, contention, rows)
    more = sim.advance(table, state, contention, window)
    cursor[NODES] += 1
    if not more:
        cost = costs.second * state.clock[sim.WAITED] + costs.gpu * state.clock[sim.USED]
        if cost < cursor[BEST]:
            cursor[BEST] = cost
            sim.copy_state(state, tree.best)
        return False
    bound = max(tree.bound[level], priced_cost(table, state, costs))
    if bound < cursor[BEST] - slack:
        bound = max(bound, least_cost(table, state, costs, cursor[BEST] - slack))
    if bound >= cursor[BEST] - slack:
        cursor[CUT] = min(cursor[CUT], bound)
        return False
    cost = costs.second * state.clock[sim.WAITED] + costs.gpu * state.clock[sim.USED]
    if _was_cheaper(tree, state, cost):
        return False
    cursor[LEVEL] = level + 1
    tree.bound[level + 1] = bound
    _open_level(table, tree, costs, window, same)
    return True


@njit(cache=True)
def open_root(table, tree, costs, contention, window, same):  # type: ignore[no-untyped-def]
    """Go to the first epoch of a tree whose incumbent is known, for one more search."""
    state = at_level(tree.states, 0)
    if tree.cursor[SEARCH] == 0:
        sim.advance(table, state, contention, window)
    tree.bound[0] = max(priced_cost(table, state, costs), least_cost(table, state, costs, tree.cursor[BEST]))
    tree.cursor[LEVEL] = 0
    tree.cursor[SEARCH] += 1
    _open_level(table, tree, costs, window, same)


@njit(cache=True)
def explore(table, tree, costs, contention, window, slack, same, steps):  # type: ignore[no-untyped-def]
    """Search on for a number of steps; return whether the search has come to its end.

    A schedule is looked for only if it costs less than the best one by more than ``slack``. ``same`` is for
    each machine the first one with the same capacity, shape (M,).
    """
    cursor = tree.cursor
    last = cursor[STEPS] + steps
    while cursor[LEVEL] >= 0:
        if cursor[STEPS] >= last:
            return False
        cursor[STEPS] += 1
        level, place = cursor[LEVEL], cursor[PLACE]
        if place == tree.places[level]:
            if not _descend(table, tree, costs, contention, window, slack, same):
                cursor[PLACE], cursor[FRESH] = place - 1, 0
            continue
        choice = _next_choice(table, tree, costs)
        if choice == CHOSEN:
            cursor[PLACE], cursor[FRESH] = place + 1, 1
        elif choice == NONE and place > 0:
            cursor[PLACE], cursor[FRESH] = place - 1, 0
        elif choice == NONE:
            cursor[LEVEL] = level - 1
            if level > 0:
                cursor[PLACE], cursor[FRESH] = tree.places[level - 1] - 1, 0
    return True
