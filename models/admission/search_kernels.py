"""Compiled kernels of the search for admission: ruin and recreate, and machines that are packed anew.

What a group is, and how a job is priced, stands in :mod:`.market_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import njit
from .kernels import lower_hull
from .market_kernels import absorb, ascending, heap_cost, settle, slot_curve

Sides = tuple[np.ndarray, np.ndarray]
"""An array for workers, and one for parameter servers."""


class Given(NamedTuple):
    """The jobs of a search, and what the machines cost; slots count from 0."""

    first: np.ndarray  # slot of arrival, shape (I,)
    work: np.ndarray  # worker-slots, shape (I,)
    chunks: np.ndarray  # N, shape (I,)
    begin: np.ndarray  # where a job's table of parameter servers begins in ``tables``, shape (I,)
    tables: np.ndarray  # parameter servers for 0, 1, ..., N workers, one job after the other
    utility: np.ndarray  # what is earned by completion in each slot, shape (I, T)
    needs: Sides  # what a worker and a parameter server take of each resource, shapes (I, R)
    costs: Sides  # what a worker and a parameter server cost, shapes (I, T, G) and (I, T, K)
    least: np.ndarray  # no more than what a worker costs with its part of parameter servers, shape (I, T)
    starts: np.ndarray  # where the rows of a job begin, and where those of the last end, shape (I + 1,)
    members: Sides  # the machines' groups, shapes (H,) and (K,)
    prices: Sides  # per unit of each resource, shapes (T, G, R) and (T, K, R)
    rank: np.ndarray  # the logarithm of utility per cost alone in the cluster, shape (I,)
    span: np.ndarray  # the first and the last slot in which a job would run there, shape (I, 2)


class Held(NamedTuple):
    """A schedule."""

    free: Sides  # what is free of each resource, shapes (T, R, H) and (T, R, K)
    rows: Sides  # rows (slot, machine, count), those of a job by slot
    ends: np.ndarray  # how many rows a job has on each side, 0 if it is not placed, shape (I, 2)
    earned: np.ndarray  # shape (I,)
    spent: np.ndarray  # what its rows cost, shape (I,)


@njit(cache=True, error_model="numpy")
def count_rooms(free, need, most, member, machine_room, room):  # type: ignore[no-untyped-def]
    """Write how many workers (or parameter servers) fit on each machine now, and in each group.

    Amounts are whole numbers below 2^52 held as floats: their quotients never round up to the next one.
    """
    machine_room[:] = most
    for r in range(need.shape[0]):
        if need[r] > 0.0:
            ask, has = need[r], free[r]
            for h in range(machine_room.shape[0]):
                machine_room[h] = min(machine_room[h], np.floor(has[h] / ask))
    room[:] = 0
    for h in range(machine_room.shape[0]):
        room[member[h]] += int(machine_room[h])
    for g in range(room.shape[0]):
        room[g] = min(room[g], most)


@njit(cache=True, error_model="numpy")
def put(free, need, price, count, order, member, machine_room, t, rows, at):  # type: ignore[no-untyped-def]
    """Place workers (or parameter servers) of a slot, the cheapest groups first.

    In a group, the machine comes first on which the least is left over, at the prices (T, G, R), per worker.
    Take what they need, write rows (slot from 0, machine, count) from ``at`` on, and return their end.
    """
    for g in order:
        while count > 0:
            best, least = -1, np.inf
            for h in range(member.shape[0]):
                if member[h] == g and machine_room[h] > 0:
                    taken, over = min(count, int(machine_room[h])), 0.0
                    for r in range(need.shape[0]):
                        over += price[t, g, r] * (free[t, r, h] - taken * need[r])
                    if over / taken < least:
                        best, least = h, over / taken
            if best < 0:
                break
            taken = min(count, int(machine_room[best]))
            machine_room[best] = 0.0
            count -= taken
            for r in range(need.shape[0]):
                free[t, r, best] -= taken * need[r]
            rows[at, 0], rows[at, 1], rows[at, 2] = t, best, taken
            at += 1
        if count == 0:
            break
    return at


@njit(cache=True, error_model="numpy")
def move(free, need, rows, sign):  # type: ignore[no-untyped-def]
    """Give back what rows (slot from 0, machine, count) take, or with sign -1 take it."""
    for j in range(rows.shape[0]):
        for r in range(need.shape[0]):
            free[rows[j, 0], r, rows[j, 1]] += sign * rows[j, 2] * need[r]


@njit(cache=True, error_model="numpy")
def insert(job, scale, weights, free, needs, members, prices, costs, rows, scratch):  # type: ignore[no-untyped-def]
    """Place a job in what is free, at the best utility less ``scale`` times its cost, if that is positive.

    What slots cost is times their ``weights``, shape (T,). Deadlines are compared by the lower bound of
    convex hulls; the schedule is the one that attains it but for one slot.

    ``job`` is the first slot (from 0), work, N, table of parameter servers, utilities of all slots, and the
    least that a worker costs in each. What is ``free`` has shapes (T, R, H) and (T, R, K), and what is taken
    is subtracted; ``needs`` is what a worker and a parameter server take, ``members`` the machines' groups,
    ``costs`` what a worker and a parameter server cost, shapes (T, G) and (T, K). In ``rows``, rows (slot
    from 0, machine, count) of both kinds are written. Returns the numbers of rows of both kinds, and the slot
    of completion (from 0; -1 if the job is not placed).
    """
    first, work, chunks, table, utility, least = job
    curves, vertices, corners, counts, slope, length = scratch[:6]
    order, server_order, room, server_room, rooms, server_rooms = scratch[6:]
    best, last, costliest, size, covered = 0.0, -1, 0.0, 0, 0
    for t in range(first, utility.shape[0]):
        if utility[t] <= best:
            break
        s = t - first
        corners[s] = 1
        if covered >= work and weights[t] * least[t] >= slope[0]:
            continue
        count_rooms(free[0][t], needs[0], chunks, members[0], rooms, room)
        if room.sum() == 0:
            continue
        count_rooms(free[1][t], needs[1], chunks, members[1], server_rooms, server_room)
        ascending(costs[0][t], order)
        ascending(costs[1][t], server_order)
        view = (room, costs[0][t], order, server_room, costs[1][t], server_order)
        top = slot_curve(curves[s], chunks, view, table)
        curves[s, : top + 1] *= weights[t]
        corners[s] = lower_hull(curves[s], top, vertices[s])
        size, covered = absorb(slope, length, size, covered, work, curves[s], vertices[s], corners[s])
        if covered >= work:
            cost = heap_cost(slope, length, size, covered, work)
            if utility[t] - scale * cost > best:
                best, last, costliest = utility[t] - scale * cost, s, slope[0]
    if last < 0:
        return 0, 0, -1
    settle(curves, vertices, corners, last, work, costliest, counts)
    end, server_end, done = 0, 0, -1
    for s in range(last + 1):
        if counts[s] > 0:
            t = first + s
            done = t
            count_rooms(free[0][t], needs[0], chunks, members[0], rooms, room)
            count_rooms(free[1][t], needs[1], chunks, members[1], server_rooms, server_room)
            ascending(costs[0][t], order)
            ascending(costs[1][t], server_order)
            end = put(free[0], needs[0], prices[0], counts[s], order, members[0], rooms, t, rows[0], end)
            servers = table[counts[s]]
            server_end = put(
                free[1], needs[1], prices[1], servers, server_order, members[1], server_rooms, t, rows[1],
                server_end,
            )  # fmt: skip
    return end, server_end, done


@njit(cache=True, error_model="numpy")
def lift(given, held, i, sign):  # type: ignore[no-untyped-def]
    """Give back what the rows of a job take, or with sign -1 take it."""
    a = given.starts[i]
    for side in range(2):
        move(held.free[side], given.needs[side][i], held.rows[side][a : a + held.ends[i, side]], sign)


@njit(cache=True, error_model="numpy")
def take_out(given, held, i):  # type: ignore[no-untyped-def]
    """Take a job out, if it is placed."""
    lift(given, held, i, 1)
    held.ends[i], held.earned[i], held.spent[i] = 0, 0.0, 0.0


@njit(cache=True, error_model="numpy")
def account(given, held, i, utility):  # type: ignore[no-untyped-def]
    """Write what a placed job earns, and what its rows cost."""
    total, a = 0.0, given.starts[i]
    for side in range(2):
        rows, member, cost = held.rows[side], given.members[side], given.costs[side][i]
        for j in range(a, a + held.ends[i, side]):
            total += rows[j, 2] * cost[rows[j, 0], member[rows[j, 1]]]
    held.earned[i], held.spent[i] = utility, total


@njit(cache=True, error_model="numpy")
def enter(given, held, i, scale, weights, scratch):  # type: ignore[no-untyped-def]
    """Place a job that is not placed, if that pays; ``scale`` as in :func:`insert`.

    ``weights`` are factors on what slots, groups of workers' machines and those of servers' machines cost.
    """
    slots, tilt, server_tilt = weights
    a, b, table = given.starts[i], given.starts[i + 1], given.begin[i]
    utility = given.utility[i]
    job = (
        given.first[i],
        given.work[i],
        given.chunks[i],
        given.tables[table : table + given.chunks[i] + 1],
        utility,
        given.least[i] * min(tilt.min(), server_tilt.min()),
    )
    needs = (given.needs[0][i], given.needs[1][i])
    costs = (given.costs[0][i] * tilt, given.costs[1][i] * server_tilt)
    rows = held.rows[0][a:b], held.rows[1][a:b]
    end, server_end, done = insert(
        job, scale, slots, held.free, needs, given.members, given.prices, costs, rows, scratch
    )
    if done >= 0:
        held.ends[i, 0], held.ends[i, 1] = end, server_end
        account(given, held, i, utility[done])


@njit(cache=True, error_model="numpy")
def largest(keys, most, chosen):  # type: ignore[no-untyped-def]
    """Write the places of the largest keys, the largest first, and return how many.

    Keys of minus infinity do not count; those that are chosen become that.
    """
    for count in range(most):
        best = np.argmax(keys)
        if keys[best] == -np.inf:
            return count
        keys[best] = -np.inf
        chosen[count] = best
    return most


@njit(cache=True, error_model="numpy")
def gumbel(rng):  # type: ignore[no-untyped-def]
    """Draw from the distribution of Gumbel."""
    return -np.log(-np.log(max(rng.random(), 1e-300)))


@njit(cache=True, error_model="numpy")
def victims(given, inside, outside, most, keys, chosen, rng):  # type: ignore[no-untyped-def]
    """Write which jobs to take out; return how many, and a rejected job to place first (-1 for none)."""
    count, kind, wanted = (
        min(inside.size, 1 + rng.integers(0, max(2, most))),
        rng.random(),
        -1,
    )
    if inside.size == 0:
        return 0, -1
    keys[:] = -np.inf
    if kind < 0.2:
        for i in inside:
            keys[i] = rng.random()
        return largest(keys, count, chosen), -1
    if outside.size and kind < 0.7:
        best = -np.inf
        for i in outside:
            key = given.rank[i] + gumbel(rng)
            if key > best:
                wanted, best = i, key
    near = wanted if wanted >= 0 else inside[rng.integers(0, inside.size)]
    cheap, span = rng.random() < 0.5, given.span
    for i in inside:
        gap = max(0, span[i, 0] - span[near, 1], span[near, 0] - span[i, 1])
        keys[i] = -(gap + 3.0 * rng.random() + (given.rank[i] if cheap else 0.0))
    return largest(keys, count, chosen), wanted


@njit(cache=True, error_model="numpy")
def copy_rows(given, ends, i, source, target):  # type: ignore[no-untyped-def]
    """Copy the rows of a job."""
    a = given.starts[i]
    for side in range(2):
        target[side][a : a + ends[i, side]] = source[side][a : a + ends[i, side]]


@njit(cache=True, error_model="numpy")
def keep_best(given, held, best, best_ends, worth):  # type: ignore[no-untyped-def]
    """Copy the schedule if it earns more than the best one; ``worth`` is what both earn."""
    if worth[0] > worth[1]:
        worth[1] = worth[0]
        best_ends[:] = held.ends
        for i in range(held.earned.size):
            copy_rows(given, best_ends, i, held.rows, best)


@njit(cache=True, error_model="numpy")
def concentration(free, price, member, t):  # type: ignore[no-untyped-def]
    """Return the sum of squares of what is free on each machine in a slot, at the prices (T, G, R)."""
    total = 0.0
    for h in range(member.size):
        worth = 0.0
        for r in range(free.shape[1]):
            worth += price[t, member[h], r] * free[t, r, h]
        total += worth * worth
    return total


@njit(cache=True, error_model="numpy")
def repack(given, held, side, t, noise, scratch, rng):  # type: ignore[no-untyped-def]
    """Pack what runs in a slot on machines of one kind anew, the costliest per worker first, with noise.

    It stays so if what is free is on fewer machines (:func:`concentration`), where more jobs fit.
    """
    free, row, need = held.free[side], held.rows[side], given.needs[side]
    price, member, costs = given.prices[side], given.members[side], given.costs[side]
    before = concentration(free, price, member, t)
    who, low, high, total, key, buffer, order, room, rooms = scratch
    here = 0
    for i in range(given.work.size):
        a, n = given.starts[i], held.ends[i, side]
        if n == 0 or row[a, 0] > t or row[a + n - 1, 0] < t:
            continue
        low[here] = high[here] = a + np.searchsorted(row[a : a + n, 0], t)
        total[here] = 0
        while high[here] < a + n and row[high[here], 0] == t:
            total[here] += row[high[here], 2]
            high[here] += 1
        if total[here]:
            who[here], key[here] = i, -costs[i, t].max() * np.exp(noise * rng.standard_normal())
            here += 1
    if here < 2 or before == 0.0:
        return
    old = free[t].copy()
    for j in range(here):
        move(free, need[who[j]], row[low[j] : high[j]], 1)
    at, whole, sequence, firsts = 0, True, np.argsort(key[:here]), np.zeros(here + 1, dtype=np.int64)
    for q in range(here):
        j, i = sequence[q], who[sequence[q]]
        count_rooms(free[t], need[i], given.chunks[i], member, rooms, room)
        ascending(costs[i, t], order)
        end = put(free, need[i], price, total[j], order, member, rooms, t, buffer, at)
        whole = whole and buffer[at:end, 2].sum() == total[j]
        firsts[q + 1] = at = end
    if not whole or concentration(free, price, member, t) <= before * (1.0 + 1e-9):
        free[t] = old
        return
    for q in range(here):
        j, i = sequence[q], who[sequence[q]]
        count, last = firsts[q + 1] - firsts[q], given.starts[i] + held.ends[i, side]
        later = row[high[j] : last].copy()
        row[low[j] : low[j] + count] = buffer[firsts[q] : firsts[q + 1]]
        row[low[j] + count : low[j] + count + later.shape[0]] = later
        held.ends[i, side] += count - (high[j] - low[j])
        account(given, held, i, held.earned[i])


@njit(cache=True, error_model="numpy")
def ruin_and_recreate(  # type: ignore[no-untyped-def]
    given, held, saved, best, best_ends, worth, limits, choices, heats, same, scratch, packs, rng
):
    """Do a round for each of the heats, relative to what is earned; see :meth:`.Search.rounds`.

    ``worth`` is what the schedule and the best one earn. ``limits`` are the most jobs that are taken out, the
    most rejected ones that are tried, slots that are packed anew, the weight of costs, enough, and how
    unsure prices are, where half of the jobs may be taken out and not a quarter; ``choices`` the scales and
    the noises.
    """
    most_out, most_tried, packed, weight, enough, unsure = limits
    scales, noises = choices
    groups, part = (given.costs[0].shape[2], given.costs[1].shape[2]), 2 if unsure > 0.0 else 4
    weights = (np.ones(given.utility.shape[1]), np.ones(groups[0]), np.ones(groups[1]))
    keys = np.empty(given.work.size)
    chosen, tried = np.empty(most_out, dtype=np.int64), np.empty(most_out + most_tried + 1, dtype=np.int64)
    old_ends, old = np.empty((most_out, 2), dtype=np.int64), np.empty((most_out, 2))
    keep_best(given, held, best, best_ends, worth)
    for heat in heats:
        if worth[1] >= enough:
            return
        for _ in range(packed):
            side = rng.integers(0, 2)
            t, noise = rng.integers(0, given.utility.shape[1]), noises[rng.integers(0, noises.size)]
            repack(given, held, side, t, noise, packs[side], rng)
        inside = np.flatnonzero(held.ends[:, 0] > 0)
        outside = inside[:0] if same else np.flatnonzero(held.ends[:, 0] == 0)
        most = min(most_out, inside.size // part)
        out, wanted = victims(given, inside, outside, most, keys, chosen, rng)
        gain, cost = 0.0, 0.0
        for j in range(out):
            i = chosen[j]
            old_ends[j], old[j, 0], old[j, 1] = held.ends[i], held.earned[i], held.spent[i]
            gain, cost = gain - held.earned[i], cost - held.spent[i]
            copy_rows(given, held.ends, i, held.rows, saved)
            take_out(given, held, i)
        scale, noise = scales[rng.integers(0, scales.size)], noises[rng.integers(0, noises.size)]
        if unsure > 0.0:
            spread = unsure * rng.random()
            for factors in weights:
                for place in range(factors.size):
                    factors[place] = np.exp(spread * rng.standard_normal())
        if wanted >= 0:
            enter(given, held, wanted, scale, weights, scratch)
        keys[:] = -np.inf
        for i in outside:
            keys[i] = given.rank[i] + gumbel(rng)
        more = largest(keys, most_tried, tried)
        keys[:] = -np.inf
        for i in tried[:more]:
            if i != wanted:
                keys[i] = given.rank[i] + noise * rng.standard_normal()
        for i in chosen[:out]:
            keys[i] = given.rank[i] + noise * rng.standard_normal()
        more = largest(keys, tried.size, tried)
        for i in tried[:more]:
            enter(given, held, i, scale, weights, scratch)
        if wanted >= 0:
            tried[more] = wanted
            more += 1
        whole = True
        for i in tried[:more]:
            gain, cost = gain + held.earned[i], cost + held.spent[i]
        for i in chosen[:out]:
            whole = whole and held.ends[i, 0] > 0
        least = heat * worth[0] * np.log(max(rng.random(), 1e-300))
        if gain - weight * cost >= least and (whole or not same):
            worth[0] = held.earned.sum()
            keep_best(given, held, best, best_ends, worth)
            continue
        for i in tried[:more]:
            take_out(given, held, i)
        for j in range(out):
            i = chosen[j]
            held.ends[i], held.earned[i], held.spent[i] = old_ends[j], old[j, 0], old[j, 1]
            copy_rows(given, held.ends, i, saved, held.rows)
            lift(given, held, i, -1)
