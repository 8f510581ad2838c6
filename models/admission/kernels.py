"""Compiled kernels of the admission problem: the cheapest schedule of a job at given prices.

How the best schedule is found (:func:`best_counts`): the cost of a slot is a curve over how many workers run.
The lower hulls of the curves, merged by slope, give a Lagrangian bound on the cost for every deadline. The
deadlines are then solved in descending order of the payoff that their bound promises, until no bound promises
more than what was found. A deadline is solved by a program over deviations from the Lagrangian solution,
restricted to choices whose reduced cost is within a budget: if it finds anything, that is optimal, because
whatever it left out has a larger reduced cost. Where many slots cost the same, sums of deviations count
modulo the width of what is tied. If all that takes too long, the program over all worker-slots solves the
deadlines that are left at once.

An ``offer`` is a tuple of the arrays of :class:`.schedule.Offer` and of the parameter servers that y workers
need.
"""

from __future__ import annotations

import numpy as np

from ..compiled import njit

TINY = 1e-13  # of the utility: promises of less than that are rounding
ROUNDING = 1e-13  # differences of costs that are equal but for rounding
TRIES = 3  # budgets for a deadline
STEPS = 200_000  # of a program over deviations
TILE = 2048  # states that fit into the fastest memory
MOST_ENTRIES = 10**8  # of a table
MOST_STEPS = 10**11  # of the program over all worker-slots, half a minute


@njit(cache=True, error_model="numpy")
def room(capacity, demand, most):  # type: ignore[no-untyped-def]
    """Return how many times whole demands fit on each machine, at most ``most``, shape (machines,)."""
    result = np.full(len(capacity), most)
    for h in range(len(capacity)):
        for r in range(demand.size):
            if demand[r] > 0:
                result[h] = min(result[h], capacity[h, r] // demand[r])
    return result


@njit(cache=True, error_model="numpy")
def rooms(capacity, taken, need, most):  # type: ignore[no-untyped-def]
    """Return how many more of ``need`` fit on each machine in each slot, at most ``most``, [slot][machine].

    ``capacity`` is [resource][machine] and ``taken`` [slot][resource][machine], whole multiples of 1e-6 held
    as floats. Quotients of whole numbers below 2^52 never round up to the next whole number.
    """
    slots, machines = taken.shape[0], taken.shape[2]
    result, row = np.empty((slots, machines), dtype=np.int64), np.empty(machines)
    for s in range(slots):
        row[:] = most
        for r in range(need.size):
            if need[r] > 0.0:
                has, used, ask = capacity[r], taken[s, r], need[r]
                for h in range(machines):
                    fits = np.floor((has[h] - used[h]) / ask)
                    row[h] = min(row[h], fits)
        for h in range(machines):
            result[s, h] = int(row[h])
    return result


@njit(cache=True, error_model="numpy")
def unit_costs(prices, share):  # type: ignore[no-untyped-def]
    """Return the cost of one unit on each machine in each slot; ``prices`` is [slot][resource][machine]."""
    slots, machines = prices.shape[0], prices.shape[2]
    result = np.zeros((slots, machines))
    for s in range(slots):
        row = result[s]
        for r in range(share.size):
            if share[r] > 0.0:
                part, price = share[r], prices[s, r]
                for h in range(machines):
                    row[h] += part * price[h]
    return result


@njit(cache=True, error_model="numpy")
def least_cost(costs, room):  # type: ignore[no-untyped-def]
    """Return the least cost where there is room; infinity if there is none."""
    low = np.inf
    for h in range(costs.size):
        value = costs[h] if room[h] > 0 else np.inf
        low = min(low, value)
    return low


@njit(cache=True, error_model="numpy")
def _next_machine(costs, room, after, index):  # type: ignore[no-untyped-def]
    """Return the machine that follows (cost, number) in ascending order among those with room, or -1."""
    best, found = np.inf, -1
    for h in range(costs.size):
        c = costs[h]
        if c < best and room[h] > 0 and (c > after or (c == after and h > index)):
            best, found = c, h
    return found


@njit(cache=True, error_model="numpy")
def _slot_curve(offer, s, curve):  # type: ignore[no-untyped-def]
    """Write the cost of y workers and their parameter servers in a slot into ``curve``; return the largest y.

    Machines are filled in ascending order of cost, those of equal cost in ascending order of their numbers;
    both parts are optimal (32). Numbers of workers that are too many cost infinity.
    """
    worker_room, worker_cost, server_room, server_cost = offer[0][s], offer[1][s], offer[2][s], offer[3][s]
    servers_for = offer[4]
    most, filled, cost = servers_for.size - 1, 0, 0.0
    curve[:] = np.inf
    curve[0] = 0.0
    h = _next_machine(worker_cost, worker_room, -1.0, -1)
    while h >= 0 and filled < most:
        for _ in range(min(worker_room[h], most - filled)):
            cost += worker_cost[h]
            filled += 1
            curve[filled] = cost
        if filled < most:
            h = _next_machine(worker_cost, worker_room, worker_cost[h], h)
    placed, left, cost, k, after = 0, 0, 0.0, -1, -1.0
    for y in range(1, filled + 1):
        while placed < servers_for[y]:
            if left == 0:
                k = _next_machine(server_cost, server_room, after, k)
                if k < 0:
                    curve[y:] = np.inf
                    return y - 1
                left, after = server_room[k], server_cost[k]
            now = min(left, servers_for[y] - placed)
            cost += now * after
            placed += now
            left -= now
        curve[y] += cost
    return filled


@njit(cache=True, error_model="numpy")
def slot_curves(offer):  # type: ignore[no-untyped-def]
    """Return the curves of all slots, [slot][y], and the largest y of each."""
    slots = offer[0].shape[0]
    curves, limits = np.empty((slots, offer[4].size)), np.empty(slots, dtype=np.int64)
    for s in range(slots):
        limits[s] = _slot_curve(offer, s, curves[s])
    return curves, limits


@njit(cache=True, error_model="numpy")
def _reveal(offer, curves, limits, unit, limit, slots):  # type: ignore[no-untyped-def]
    """Work out the curves of the slots that may cost no more than ``limit`` a worker, if they are unknown."""
    for s in range(slots):
        if limits[s] < 0 and unit[s] <= limit:
            limits[s] = _slot_curve(offer, s, curves[s])


@njit(cache=True, error_model="numpy")
def lower_hull(curve, most, vertices):  # type: ignore[no-untyped-def]
    """Write the vertices of the lower convex hull of curve[0..most] from left to right; return how many."""
    n = 1
    vertices[0] = 0
    for y in range(1, most + 1):
        while n >= 2:
            a, b = vertices[n - 2], vertices[n - 1]
            if (curve[b] - curve[a]) * (y - b) < (curve[y] - curve[b]) * (b - a):
                break
            n -= 1
        vertices[n] = y
        n += 1
    return n


@njit(cache=True, error_model="numpy")
def _alike(offer, s):  # type: ignore[no-untyped-def]
    """Return whether a slot offers the same as the one before."""
    for h in range(offer[0].shape[1]):
        if offer[0][s, h] != offer[0][s - 1, h] or offer[1][s, h] != offer[1][s - 1, h]:
            return False
    for k in range(offer[2].shape[1]):
        if offer[2][s, k] != offer[2][s - 1, k] or offer[3][s, k] != offer[3][s - 1, k]:
            return False
    return True


@njit(cache=True, error_model="numpy")
def push(slopes, widths, size, slope, width):  # type: ignore[no-untyped-def]
    """Add a segment to a heap with the largest slope on top."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if slopes[parent] >= slope:
            break
        slopes[i], widths[i] = slopes[parent], widths[parent]
        i = parent
    slopes[i], widths[i] = slope, width
    return size + 1


@njit(cache=True, error_model="numpy")
def pop(slopes, widths, size):  # type: ignore[no-untyped-def]
    """Take the top off the heap."""
    size -= 1
    slope, width, i = slopes[size], widths[size], 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and slopes[child + 1] > slopes[child]:
            child += 1
        if slopes[child] <= slope:
            break
        slopes[i], widths[i] = slopes[child], widths[child]
        i = child
    slopes[i], widths[i] = slope, width
    return size


@njit(cache=True, error_model="numpy")
def _relax(before, now, cost):  # type: ignore[no-untyped-def]
    """Lower ``now`` to ``before`` plus a cost, where that is less."""
    for i in range(now.size):
        now[i] = min(now[i], before[i] + cost)


@njit(cache=True, error_model="numpy")
def _advance(before, now, curve, most, low, high):  # type: ignore[no-untyped-def]
    """Work out the least costs of low, ..., high worker-slots with one slot more."""
    now[low : high + 1] = before[low : high + 1]
    for start in range(low, high + 1, TILE):
        stop = min(high + 1, start + TILE)
        for y in range(1, most + 1):
            first = max(start, y)
            if first < stop:
                _relax(before[first - y : stop - y], now[first:stop], curve[y])


@njit(cache=True, error_model="numpy")
def all_counts(curves, limits, work, first, last, utilities):  # type: ignore[no-untyped-def]
    """Return the largest payoff of the deadlines first, ..., last and its workers, by all worker-slots.

    Of equal payoffs the earliest deadline counts, and work is done as early as possible.
    """
    best = np.empty((last + 2, work + 1))
    best[0, 0], best[0, 1 : limits[0] + 1] = 0.0, np.inf
    rest = np.zeros(last + 2, dtype=np.int64)  # what the slots s, ..., last can do at most
    for s in range(last, -1, -1):
        rest[s] = rest[s + 1] + limits[s]
    reach, payoff, deadline = 0, -np.inf, -1
    for s in range(last + 1):
        reach = min(work, reach + limits[s])
        _advance(best[s], best[s + 1], curves[s], limits[s], max(0, work - rest[s + 1]), reach)
        if s < last:
            best[s + 1, reach + 1 : reach + limits[s + 1] + 1] = np.inf
        if s >= first and utilities[s] - best[s + 1, work] > payoff:
            payoff, deadline = utilities[s] - best[s + 1, work], s
    counts = np.zeros(last + 1, dtype=np.int64)
    left = work
    for s in range(deadline, -1, -1):
        for y in range(min(left, limits[s]) + 1):
            if best[s, left - y] + curves[s, y] == best[s + 1, left]:
                counts[s] = y
                left -= y
                break
    return counts


@njit(cache=True, error_model="numpy")
def _choices(curves, limits, base, price, budget):  # type: ignore[no-untyped-def]
    """Return the deviations of slots from ``base`` with a reduced cost at ``price`` within the budget.

    Returns the slots that can deviate, where their choices begin (and end), the changes in workers with 0
    among them, in ascending order, and their reduced costs.
    """
    slots = base.size
    slot, begin = np.empty(slots, dtype=np.int64), np.zeros(slots + 1, dtype=np.int64)
    size, levels, n = 256, 0, 0
    delta, cost = np.empty(size, dtype=np.int64), np.empty(size)
    for s in range(slots):
        zero, here = curves[s, base[s]] - price * base[s], n
        if n + limits[s] + 1 > size:
            size = 2 * (n + limits[s] + 1)
            wider, dearer = np.empty(size, dtype=np.int64), np.empty(size)
            wider[:n], dearer[:n] = delta[:n], cost[:n]
            delta, cost = wider, dearer
        for y in range(limits[s] + 1):
            reduced = curves[s, y] - price * y - zero
            if reduced <= budget or y == base[s]:
                delta[n], cost[n] = y - base[s], max(0.0, reduced)
                n += 1
        if n - here <= 1:  # it cannot deviate, or its curve is not needed
            n = here
        else:
            slot[levels] = s
            levels += 1
            begin[levels] = n
    return slot[:levels], begin[: levels + 1], delta[:n], cost[:n]


@njit(cache=True, error_model="numpy")
def _within(base, slot, begin, delta, cost, budget, missing, counts):  # type: ignore[no-untyped-def]
    """Find the cheapest choices that add ``missing`` workers to ``base``, by sums of deviations.

    Returns 1 and writes ``counts`` if there are any within the budget, 0 if not, -1 if it would take too
    long.
    """
    levels = slot.size
    lows, highs = np.zeros(levels + 1, dtype=np.int64), np.zeros(levels + 1, dtype=np.int64)
    for at in range(levels):
        lows[at + 1] = lows[at] + delta[begin[at]]
        highs[at + 1] = highs[at] + delta[begin[at + 1] - 1]
    # the states of a level are the sums that the slots before reach and the slots after can complete
    bottom, top = np.empty(levels + 1, dtype=np.int64), np.empty(levels + 1, dtype=np.int64)
    offset = np.zeros(levels + 2, dtype=np.int64)
    steps = 0
    for at in range(levels + 1):
        bottom[at] = max(lows[at], missing - (highs[levels] - highs[at]))
        top[at] = min(highs[at], missing - (lows[levels] - lows[at]))
        if bottom[at] > top[at]:
            return 0
        offset[at + 1] = offset[at] + top[at] - bottom[at] + 1
        if at:
            steps += (begin[at] - begin[at - 1]) * (top[at - 1] - bottom[at - 1] + 1)
        if steps > STEPS:
            return -1
    value = np.full(offset[levels + 1], np.inf)
    value[0] = 0.0
    for at in range(levels):
        for i in range(offset[at], offset[at + 1]):
            if value[i] <= budget:
                state = bottom[at] + i - offset[at]
                for j in range(begin[at], begin[at + 1]):
                    to = state + delta[j]
                    if bottom[at + 1] <= to <= top[at + 1]:
                        total, k = value[i] + cost[j], offset[at + 1] + to - bottom[at + 1]
                        if total < value[k]:
                            value[k] = total
    if value[offset[levels]] > budget:
        return 0
    counts[:] = base
    state = missing
    for at in range(levels, 0, -1):
        goal = value[offset[at] + state - bottom[at]]
        for j in range(begin[at - 1], begin[at]):
            source = state - delta[j]
            if (
                bottom[at - 1] <= source <= top[at - 1]
                and value[offset[at - 1] + source - bottom[at - 1]] + cost[j] == goal
            ):
                counts[slot[at - 1]] += delta[j]
                state = source
                break
    return 1


@njit(cache=True, error_model="numpy")
def _modulo(  # type: ignore[no-untyped-def]
    curves, limits, base, slot, begin, delta, cost, budget, missing, price, width, counts
):
    """Find the cheapest choices that add ``missing`` workers but for a multiple of ``width``, and mend that.

    ``width`` is that of a segment at the price: where many slots have such a segment, workers by the width
    cost the same in all of them. The multiple is made up for by these segments; the result is optimal if that
    works, since a multiple more or less was allowed for nothing. Returns 1 and writes ``counts`` if so, 0 if
    there is nothing within the budget, -1 if it did not work.
    """
    levels = slot.size
    value = np.full((levels + 1, width), np.inf)
    value[0, 0] = 0.0
    idle = -1  # a level that changed nothing
    for at in range(levels):
        now, before = value[at + 1], value[at]
        now[:] = before
        size = begin[at + 1] - begin[at]
        if idle >= 0 and begin[idle + 1] - begin[idle] == size:
            same = True
            for j in range(size):
                if (
                    delta[begin[idle] + j] != delta[begin[at] + j]
                    or cost[begin[idle] + j] != cost[begin[at] + j]
                ):
                    same = False
                    break
            if same:
                continue
        for j in range(begin[at], begin[at + 1]):
            turn = delta[j] % width
            _relax(before[: width - turn], now[turn:], cost[j])
            _relax(before[width - turn :], now[:turn], cost[j])
        changed = False
        for i in range(width):
            changed = changed or now[i] < before[i]
        idle = -1 if changed else at
    state = missing % width
    if value[levels, state] > budget:
        return 0
    counts[:] = base
    for at in range(levels, 0, -1):
        goal = value[at, state]
        if value[at - 1, state] == goal:
            continue
        for j in range(begin[at - 1], begin[at]):
            source = (state - delta[j]) % width
            if value[at - 1, source] + cost[j] == goal:
                counts[slot[at - 1]] += delta[j]
                missing -= delta[j]
                state = source
                break
    for s in range(counts.size):
        while missing >= width and counts[s] + width <= limits[s]:
            if curves[s, counts[s] + width] - curves[s, counts[s]] > price * width * (1.0 + ROUNDING):
                break
            counts[s] += width
            missing -= width
    for s in range(counts.size - 1, -1, -1):
        while missing < 0 and counts[s] >= width:
            if curves[s, counts[s]] - curves[s, counts[s] - width] < price * width * (1.0 - ROUNDING):
                break
            counts[s] -= width
            missing += width
    return 1 if missing == 0 else -1


@njit(cache=True, error_model="numpy")
def _bounds(offer, unit, work, utilities, curves, limits, hull, corners):  # type: ignore[no-untyped-def]
    """Return the Lagrangian price and the payoff that it promises for every deadline.

    One pass over the slots keeps the cheapest ``work`` worker-slots of all hulls. The curves and hulls of the
    slots that matter are written into the arrays.
    """
    slots, capacity = utilities.size, 1024
    slopes, widths = np.empty(capacity), np.empty(capacity, dtype=np.int64)
    size, total, cost, peak = 0, 0, 0.0, 0.0
    prices, promise = np.full(slots, np.inf), np.full(slots, -np.inf)
    for s in range(slots):
        if total < work or unit[s] < slopes[0]:
            if s and corners[s - 1] and _alike(offer, s):
                limits[s], corners[s] = limits[s - 1], corners[s - 1]
                curves[s], hull[s] = curves[s - 1], hull[s - 1]
            else:
                limits[s] = _slot_curve(offer, s, curves[s])
                corners[s] = lower_hull(curves[s], limits[s], hull[s])
            if size + corners[s] > capacity:
                capacity = 2 * (size + corners[s])
                more, wider = np.empty(capacity), np.empty(capacity, dtype=np.int64)
                more[:size], wider[:size] = slopes[:size], widths[:size]
                slopes, widths = more, wider
            for v in range(1, corners[s]):
                slope, width = _segment(curves[s], hull[s], v)
                if total >= work and slope >= slopes[0]:
                    break
                size = push(slopes, widths, size, slope, width)
                total += width
                cost += slope * width
                peak = max(peak, cost)
                while total - widths[0] >= work:
                    total -= widths[0]
                    cost -= slopes[0] * widths[0]
                    size = pop(slopes, widths, size)
            if peak > 16.0 * cost:  # what has been taken off again has left its rounding
                cost = 0.0
                for i in range(size):
                    cost += slopes[i] * widths[i]
                peak = cost
        if total >= work:
            prices[s] = slopes[0]
            promise[s] = utilities[s] - (cost - slopes[0] * (total - work))
    return prices, promise


@njit(cache=True, error_model="numpy")
def _segment(curve, vertices, v):  # type: ignore[no-untyped-def]
    """Return slope and width of the segment of a hull that ends at vertex v."""
    a, b = vertices[v - 1], vertices[v]
    return (curve[b] - curve[a]) / (b - a), b - a


@njit(cache=True, error_model="numpy")
def _lagrangian(curves, hull, corners, price, work, base):  # type: ignore[no-untyped-def]
    """Write the workers that the price calls for into ``base``, of tied segments the first ones that fit.

    Returns how many workers are missing, and the width of the first tied segment that does not fit.
    """
    for s in range(base.size):
        base[s] = 0
        for v in range(1, corners[s]):
            if _segment(curves[s], hull[s], v)[0] >= price:
                break
            base[s] = hull[s, v]
        work -= base[s]
    spare = 0
    for s in range(base.size):
        for v in range(1, corners[s]):
            slope, width = _segment(curves[s], hull[s], v)
            if slope > price:
                break
            if slope == price and hull[s, v - 1] == base[s]:
                if width <= work:
                    base[s] += width
                    work -= width
                elif spare == 0:
                    spare = width
    return work, spare


@njit(cache=True, error_model="numpy")
def _repair(offer, unit, price, missing, width, curves, limits, corners, base, counts):  # type: ignore[no-untyped-def]
    """Add the missing workers to ``base`` at the least cost; return whether that succeeded, and the tries.

    The workers are written into ``counts``. All of them in one slot give the budget to start from.
    """
    gap = np.inf
    for s in range(base.size):
        if corners[s] and base[s] + missing <= limits[s]:
            gap = min(gap, curves[s, base[s] + missing] - curves[s, base[s]] - price * missing)
    gap = max(0.0, gap) * (1.0 + 1e-9) + 10.0 * ROUNDING * price * curves.shape[1]
    budget = gap / 16.0 if gap < np.inf else price * missing
    for tries in range(1, TRIES + 1):
        _reveal(offer, curves, limits, unit, price + budget, base.size)
        slot, begin, delta, cost = _choices(curves, limits, base, price, budget)
        state = _within(base, slot, begin, delta, cost, budget, missing, counts)
        if state < 0 and width > 0:
            state = _modulo(
                curves, limits, base, slot, begin, delta, cost, budget, missing, price, width, counts
            )
        if state or budget >= gap:
            return state > 0, tries
        budget = min(gap, 4.0 * budget)
    return False, TRIES


@njit(cache=True, error_model="numpy")
def best_counts(offer, ratio, work, utilities, least):  # type: ignore[no-untyped-def]
    """Return payoff, cost and workers in every slot of the schedule with the largest payoff above ``least``.

    Without one there are no workers. ``ratio`` is at most the parameter servers per worker, b / B. Also
    returns how the result came about: how often a program over deviations was solved, and 1 if the one over
    all worker-slots was needed, -1 if a table or that program would be too large, so that nothing is known.
    """
    slots, most, useful, low = utilities.size, offer[4].size - 1, 0, np.inf
    unit = np.empty(slots)  # no more than what a worker costs in the slot
    for s in range(slots):
        unit[s] = least_cost(offer[1][s], offer[0][s]) + ratio * least_cost(offer[3][s], offer[2][s])
        low = min(low, unit[s])
        if utilities[s] - work * low > least:
            useful = s + 1
    slots, utilities = useful, utilities[:useful]
    if slots * (most + 1) > MOST_ENTRIES:
        return least, np.inf, np.zeros(0, dtype=np.int64), 0, -1
    curves = np.empty((slots, most + 1))
    curves[:, 0] = 0.0
    limits = np.full(slots, -1, dtype=np.int64)  # -1: the curve has not been needed
    hull, corners = np.empty((slots, most + 1), dtype=np.int64), np.zeros(slots, dtype=np.int64)
    prices, promise = _bounds(offer, unit, work, utilities, curves, limits, hull, corners)
    payoff, outlay, counts, tries = least, np.inf, np.zeros(0, dtype=np.int64), 0
    base = np.zeros(slots, dtype=np.int64)
    while True:
        last, bound = -1, -np.inf
        for s in range(slots):
            if promise[s] > payoff + TINY * utilities[s] and promise[s] >= bound:
                last, bound = s, promise[s]
        if last < 0:
            return payoff, outlay, counts, tries, 0
        here = base[: last + 1]
        missing, width = _lagrangian(curves, hull, corners, prices[last], work, here)
        found, solved = here.copy(), missing == 0
        if not solved:
            solved, tried = _repair(
                offer, unit, prices[last], missing, width, curves, limits, corners, here, found
            )
            tries += tried
        if not solved:
            break
        for s in range(last + 1):  # with the same utility, earlier deadlines are no better
            if utilities[s] == utilities[last]:
                promise[s] = -np.inf
        spent, new = _payoff(curves, found, utilities)
        if new > payoff:
            payoff, outlay, counts = new, spent, found
    first = last
    for s in range(slots):
        if promise[s] > payoff + TINY * utilities[s]:
            first, last = min(first, s), max(last, s)
    if (last + 1) * work > MOST_ENTRIES or (last + 1) * work * most > MOST_STEPS:
        return payoff, outlay, counts, tries, -1
    _reveal(offer, curves, limits, unit, np.inf, last + 1)
    found = all_counts(curves, limits, work, first, last, utilities)
    spent, new = _payoff(curves, found, utilities)
    if new > payoff:
        payoff, outlay, counts = new, spent, found
    return payoff, outlay, counts, tries, 1


@njit(cache=True, error_model="numpy")
def _payoff(curves, counts, utilities):  # type: ignore[no-untyped-def]
    """Return cost and payoff of these numbers of workers."""
    cost, last = 0.0, 0
    for s in range(counts.size):
        if counts[s]:
            cost += curves[s, counts[s]]
            last = s
    return cost, utilities[last] - cost


@njit(cache=True, error_model="numpy")
def fill_chunks(curves, takes, chunks):  # type: ignore[no-untyped-def]
    """Return the least cost of ``chunks`` chunks by each slot, and the workers chosen [slot][chunks left].

    In a slot, y workers train up to ``takes[y]`` chunks; this is DP_COST of Alg. 2 with one table for all
    deadlines.
    """
    slots, most = curves.shape[0], curves.shape[1] - 1
    best, costs = np.full(chunks + 1, np.inf), np.full(slots, np.inf)
    best[0] = 0.0
    choice = np.zeros((slots, chunks + 1), dtype=np.int32)
    for s in range(slots):
        for d in range(chunks, 0, -1):
            for y in range(1, most + 1):
                if takes[y] == takes[y - 1]:
                    continue
                cost = best[max(0, d - takes[y])] + curves[s, y]
                if cost < best[d]:
                    best[d] = cost
                    choice[s, d] = y
                if takes[y] >= d:
                    break
        costs[s] = best[chunks]
    return costs, choice


@njit(cache=True, error_model="numpy")
def place(room, cost, counts, first, job):  # type: ignore[no-untyped-def]
    """Return rows (slot, job, machine, count) that put so many in each slot on the cheapest machines."""
    rows, n = np.empty((counts.size * 4, 4), dtype=np.int64), 0
    for s in range(counts.size):
        left, after, h = counts[s], -1.0, -1
        while left > 0:
            h = _next_machine(cost[s], room[s], after, h)
            after, now = cost[s, h], min(left, int(room[s, h]))
            left -= now
            if n == rows.shape[0]:
                more = np.empty((2 * n, 4), dtype=np.int64)
                more[:n] = rows
                rows = more
            rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3] = first + s, job, h, now
            n += 1
    return rows[:n]


@njit(cache=True)
def is_feasible(  # type: ignore[no-untyped-def]
    slot, workers, servers, done, works, arrivals, chunks, servers_for, start, *held
):
    """Return whether sorted rows (job, machine, count) of workers and servers break nothing in a slot.

    ``held`` is what the machines of both kinds have, and what a worker and a parameter server of each job
    need.
    """
    counts = np.zeros((2, done.size), dtype=np.int64)
    if not _fit(workers, held[0], held[2], counts[0]) or not _fit(servers, held[1], held[3], counts[1]):
        return False
    for i in range(done.size):
        y, z = counts[0, i], counts[1, i]
        if y == 0 and z == 0:
            continue
        if slot < arrivals[i] or done[i] >= works[i] or y > chunks[i]:
            return False
        if z < servers_for[start[i] + y] or z > y:
            return False
    return True


@njit(cache=True)
def _fit(rows, capacity, needs, counts):  # type: ignore[no-untyped-def]
    """Return whether rows are sound and fit on the machines; add their counts up by job."""
    free = capacity.copy()
    for j in range(rows.shape[0]):
        i, h, count = rows[j, 0], rows[j, 1], rows[j, 2]
        if not (0 <= i < counts.size and 0 <= h < free.shape[0] and count >= 0):
            return False
        if j > 0 and rows[j - 1, 0] == i and rows[j - 1, 1] == h:
            return False
        counts[i] += count
        for r in range(free.shape[1]):
            if needs[i, r] > 0:
                if count > free[h, r] // needs[i, r]:
                    return False
                free[h, r] -= count * needs[i, r]
    return True
