"""Compiled kernels of branch and price for admission: what jobs and machines answer to prices."""

from __future__ import annotations

import numpy as np

from ...models.compiled import njit

FEW_TRIES, MOST_TRIES, ALL_TRIES = 200, 100_000, 2**18
"""Steps of the search for the best filling of a machine, before resources are weighed, and after; and about
the most for all machines in all slots. Beyond, a machine's relaxation bounds it."""

MOST_PIVOTS, TINY = 200, 1e-11
"""The most steps of the simplex method that weighs resources, and what counts as 0 in it."""

SLACK = 1e-11
"""More than what rounding adds to the shares of a machine that are taken."""

NEAR = 1.0 + 1e-13
"""No filling is looked for that is better by no more than this."""


@njit(cache=True, error_model="numpy")
def weigh(price, share, room, weights):  # type: ignore[no-untyped-def]
    """Write weights of the resources, with the sum 1 or, if all finds room, 0: multipliers of its program.

    ``share`` is what a worker (or parameter server) of each job takes of the machine's resources, shape
    (n, R), and at most ``room`` of them run. The primal simplex method with bounds works in a table: a row
    for each resource, the prices below, what is basic last. The column of a count that is at its most stands
    for what is missing to that.
    """
    size, resources = share.shape
    table, most = np.zeros((resources + 1, size + resources + 1)), np.full(size + resources, np.inf)
    table[:-1, :size], table[-1, :size], most[:size] = share.T, price / price.max(), room
    table[:-1, -1] = 1.0
    for r in range(resources):
        table[r, size + r] = 1.0
    basic, still = np.arange(size, size + resources), 0
    for _ in range(MOST_PIVOTS):
        # after many steps of no length the first column that gains: it then cannot go round in circles
        into = np.argmax(table[-1, :-1]) if still <= resources else np.argmax(table[-1, :-1] > TINY)
        row, step = -1, most[into]
        for r in range(resources):
            slope, at = table[r, into], table[r, -1]
            if abs(slope) > TINY:
                far = max(0.0, (at if slope > 0.0 else at - most[basic[r]]) / slope)
                if far < step - TINY or (far <= step + TINY and row >= 0 and basic[r] < basic[row]):
                    row, step = r, far
        still = still + 1 if step <= TINY else 0
        if table[-1, into] <= TINY or step == np.inf:
            break
        if row < 0:
            table[:, -1] -= step * table[:, into]
            table[:, into] *= -1.0
            continue
        if table[row, into] < 0.0:  # what is basic there reaches its most
            table[row, -1] -= most[basic[row]]
            table[row] *= -1.0
            table[row, basic[row]] = 1.0
        table[row] /= table[row, into]
        for r in range(resources + 1):
            if r != row:
                table[r] -= table[r, into] * table[row]
        basic[row] = into
    weights[:] = np.maximum(0.0, -table[-1, size:-1])
    if weights.sum() > 0.0:
        weights /= weights.sum()


@njit(cache=True, error_model="numpy")
def fill(price, room, need, has, tries, best):  # type: ignore[no-untyped-def]
    """Write the filling of a machine that pays most into ``best``; return a bound of what it pays, and steps.

    ``price`` is that of a worker (or parameter server) of each job, of which ``room`` fit on the empty
    machine; ``need`` is what it takes of each resource, shape (I, R), and ``has`` what the machine has. The
    costliest jobs are tried first; if that takes long, those with the best price per weighted sum of the
    resources (:func:`weigh`), whose capacity then limits what follows, too, in at most so many ``tries``.
    """
    jobs = np.argsort(-price * room)
    size, resources = 0, has.size
    for i in jobs.copy():
        if price[i] * room[i] > 0.0 and need[i].sum() > 0.0:
            jobs[size], size = i, size + 1
    jobs = jobs[:size]
    share = np.zeros((size, resources + 1))
    for q in range(size):
        for r in range(resources):
            if need[jobs[q], r] > 0.0:
                share[q, r] = need[jobs[q], r] / has[r]
    few = min(FEW_TRIES, tries)
    bound, taken = descend(price, room, need, has, jobs, share[:0, resources], (few, NEAR), best)
    if taken > few and size > 0:
        weights = np.zeros(resources)
        weigh(price[jobs], share[:, :resources], room[jobs], weights)
        for q in range(size):
            for r in range(resources):
                share[q, resources] += weights[r] * share[q, r]
        order = np.argsort(-price[jobs] / share[:, resources], kind="mergesort")
        within = tries, 1.0 + 2.0 * SLACK
        bound, more = descend(price, room, need, has, jobs[order], share[order, resources], within, best)
        taken += more
    for i in range(price.size):
        if price[i] * room[i] > 0.0 and need[i].sum() == 0.0:  # all that needs nothing runs
            best[i], bound = room[i], bound + price[i] * room[i] * NEAR
    return bound, taken


@njit(cache=True, error_model="numpy")
def in_parts(price, room, jobs, share, rest):  # type: ignore[no-untyped-def]
    """Return what jobs pay that fill the rest of a weighted sum in their order, the last of them in part."""
    paid = 0.0
    for q in range(jobs.size):
        i = jobs[q]
        if share[q] * room[i] > rest:
            return paid + rest / share[q] * price[i]
        rest -= share[q] * room[i]
        paid += price[i] * room[i]
    return paid


@njit(cache=True, error_model="numpy")
def descend(price, room, need, has, jobs, share, within, best):  # type: ignore[no-untyped-def]
    """Return an upper bound of what a filling pays, as :func:`fill`, and steps: after the most it is loose.

    The jobs are tried in their order. ``share`` is what a worker (or parameter server) of each takes of the
    weighted sum of all resources, which is 1, with the best price per share first; it is empty if they have
    not been weighed. What may follow pays no more than all that is left of any one resource at the best price
    per unit of it, nor than what fills the rest of the sum in parts. ``within`` is the most steps, and the
    factor on what is found within which nothing better is looked for.
    """
    best[:] = 0
    size, resources, (most_tries, near) = jobs.size, has.size, within
    ratio, left = np.zeros((size + 1, resources)), np.empty((size + 1, resources + 1))
    for q in range(size - 1, -1, -1):
        i = jobs[q]
        for r in range(resources):
            ratio[q, r] = max(ratio[q + 1, r], price[i] / need[i, r] if need[i, r] > 0.0 else np.inf)
    left[0, :-1], left[0, -1] = has, 1.0 + SLACK
    paid, counts, most, tries = np.zeros(size + 1), np.zeros(size, dtype=np.int64), 0.0, 0
    q, deeper, whole = 0, True, np.inf
    while q >= 0:
        if deeper:
            bound = np.inf if q < size else 0.0
            for r in range(resources):
                if ratio[q, r] < np.inf:
                    bound = min(bound, ratio[q, r] * left[q, r])
            if share.size:
                bound = min(bound, in_parts(price, room, jobs[q:], share[q:], left[q, -1]))
            if tries == 0:
                whole = bound
            if paid[q] > most:
                most = paid[q]
                best[:] = 0
                for p in range(q):
                    best[jobs[p]] = counts[p]
            tries += 1
            if tries > most_tries:
                return max(most, whole) * near, tries
            if paid[q] + bound <= most * near:
                q, deeper = q - 1, False
                continue
            i = jobs[q]
            counts[q] = room[i]
            for r in range(resources):
                if need[i, r] > 0.0:
                    counts[q] = min(counts[q], int(left[q, r] // need[i, r]))
        elif counts[q] > 0:
            counts[q] -= 1
        else:
            q -= 1
            continue
        i = jobs[q]
        for r in range(resources):
            left[q + 1, r] = left[q, r] - counts[q] * need[i, r]
        if share.size:
            left[q + 1, -1] = max(0.0, left[q, -1] - counts[q] * share[q])
        paid[q + 1] = paid[q] + counts[q] * price[i]
        q, deeper = q + 1, True
    return most * near, tries


@njit(cache=True, error_model="numpy")
def fill_all(prices, rooms, needs, has, first, fillings):  # type: ignore[no-untyped-def]
    """Write the best filling of every machine in every slot, shape (T, H, I); return a bound, and steps.

    Prices have the shape (T, I), ``rooms`` (H, I), ``needs`` (I, R), and ``has`` (H, R); ``first`` is the
    first machine that is equal, shape (T, H), or below 0 if nothing is to be found for a machine. Slots are
    added up one by one: of millions of equal terms in one sum all would be rounded the same way.
    """
    total, taken, each = 0.0, 0, np.zeros(first.shape[1])
    for t in range(prices.shape[0]):
        paid = 0.0
        for h in range(each.size):
            if first[t, h] < 0:
                continue
            if first[t, h] < h:
                each[h], fillings[t, h] = each[first[t, h]], fillings[t, first[t, h]]
            else:
                tries = max(FEW_TRIES, min(MOST_TRIES, ALL_TRIES - taken))
                each[h], more = fill(prices[t], rooms[h], needs, has[h], tries, fillings[t, h])
                taken += more
            paid += each[h]
        total += paid
    return total, taken


@njit(cache=True, error_model="numpy")
def best_run(job, low, high, ends, least, price, counts):  # type: ignore[no-untyped-def]
    """Return what a job gains at most, and by which slot (from 1; 0 for none); write its workers by slot.

    ``job`` is the slot of arrival, the work, what is earned by delay, and the table of parameter servers. In
    a slot it has ``low`` to ``high`` workers, shape (T,); it is done in a slot within ``ends``, and gains
    more than ``least``. Prices have the shape (2, T).
    """
    arrival, work, earned, servers = job
    horizon = low.size
    first = ends[0]
    for t in range(horizon):
        if low[t] > 0:
            first = max(first, t + 1)
    costs, now = np.full(work + 1, np.inf), np.empty(work + 1)
    costs[0] = 0.0
    picks = np.zeros((horizon, work + 1), dtype=np.int64)
    last, gain = 0, least
    for t in range(arrival - 1, min(ends[1], horizon)):
        if low[t] > high[t]:
            break
        now[:] = np.inf
        for y in range(low[t], high[t] + 1):
            cost = price[0, t] * y + price[1, t] * servers[y]
            for w in range(work + 1):
                total = costs[max(w - y, 0)] + cost
                if total < now[w]:
                    now[w] = total
                    picks[t, w] = y
        costs, now = now, costs
        if t + 1 >= first and earned[t + 1 - arrival] - costs[work] > gain:
            gain, last = earned[t + 1 - arrival] - costs[work], t + 1
    counts[:] = 0
    left = work
    for t in range(last - 1, arrival - 2, -1):
        counts[t] = picks[t, left]
        left = max(0, left - counts[t])
    return gain, last


@njit(cache=True, error_model="numpy")
def pack(counts, rooms, needs, has, placed):  # type: ignore[no-untyped-def]
    """Write how many of each job run on each machine, shape (H, I), and return whether all found room.

    The jobs that fill the machines most come first, each time on the machine of which the least is left over.
    """
    size, resources = has.shape
    left = has.copy()
    placed[:] = 0
    for i in np.argsort(-counts / np.maximum(1, rooms.sum(axis=0))):
        missing = counts[i]
        while missing > 0:
            best, taken, least = -1, 0, np.inf
            for h in range(size):
                fits = min(missing, rooms[h, i])
                for r in range(resources):
                    if needs[i, r] > 0.0:
                        fits = min(fits, int(left[h, r] // needs[i, r]))
                over = 0.0
                for r in range(resources):
                    if has[h, r] > 0.0:
                        over += (left[h, r] - fits * needs[i, r]) / has[h, r]
                if fits > 0 and placed[h, i] == 0 and over / fits < least:
                    best, taken, least = h, fits, over / fits
            if best < 0:
                return False
            placed[best, i] = taken
            missing -= taken
            for r in range(resources):
                left[best, r] -= taken * needs[i, r]
    return True
