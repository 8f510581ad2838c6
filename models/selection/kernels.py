"""Compiled kernels of the selection problem: knapsack tables, all arrival patterns at once, and the search.

A *table* is a dynamic program over capacity states: entry [i][state] is the most that items i, i + 1, ...
can be worth within the remaining capacity of the state. States are mixed-radix numbers of the remaining
devices of each kind, the last kind running fastest; an item moves a state down by its ``offset``.
"""

from __future__ import annotations

import numpy as np

from ..compiled import njit

TAKE, SKIP, BACK = 0, 1, 2

NODES_PER_TABLE = 500
"""Entries of a table that take as long as a node of the search."""

HIDDEN = 2.0**-50
"""A part of all bonuses together: what is no more may be lost where they are added up."""

PRICE_STEPS, PRICE_GAP = 100, 1e-6
"""The most steps to the best prices, and the relative distance from their bound at which they end."""


@njit(cache=True, error_model="numpy")
def layer(old, new, gain, offset, blocked, floor, digits, rows, width):  # type: ignore[no-untyped-def]
    """Write new[state] = max(old[state], old[state - offset] + worth where the item fits).

    The layers ``old`` and ``new`` of a table have shape (states,). ``offset`` is how far the item moves a
    state; ``blocked`` is 0 where it fits and minus infinity where it does not. ``floor`` is the least number
    of remaining devices per kind for which anybody will ask (K >= 2 kinds), and ``digits`` are those of all
    kinds but the last two, for each block of states, shape (blocks, K - 2). The last kind but one has
    ``rows`` states, the last ``width``.
    """
    for block in range(digits.shape[0]):
        asked = True
        for k in range(digits.shape[1]):
            asked &= digits[block, k] >= floor[k]
        if asked:
            start = (block * rows + floor[-2]) * width
            end = (block + 1) * rows * width
            first = min(max(start, offset), end)
            new[start:first] = old[start:first]
            # Slices, because the compiler cannot see that j - offset is never negative.
            without, taken = old[first:end], old[first - offset : end - offset]
            no, better = blocked[first:end], new[first:end]
            for j in range(better.size):
                better[j] = max(without[j], taken[j] + gain + no[j])


@njit(cache=True, error_model="numpy")
def digits_of_top(digits, rows, width):  # type: ignore[no-untyped-def]
    """Return the capacities that a table knows: the digits of its last state."""
    top = np.empty(digits.shape[1] + 2, dtype=np.int64)
    top[:-2] = digits[-1]
    top[-2], top[-1] = rows - 1, width - 1
    return top


@njit(cache=True, error_model="numpy")
def best_of_patterns(  # type: ignore[no-untyped-def]
    patterns, port_first, gain, offsets, like, blocked, floors, digits, rows, width
):
    """Solve the linear problem for many arrival patterns; those with equal beginnings share layers.

    ``patterns`` are rows of 0 and 1, sorted, columns in the order of ``port_first``: items of column l are
    those from ``port_first[l]`` to before ``port_first[l + 1]``. ``like`` is the row of ``blocked`` that
    belongs to each item, see :func:`layer`, and ``floors`` what all items after it leave of each kind at
    least, shape (n, K). Returns whether each item is taken, shape (P, n), and the value of the table, shape
    (P,).
    """
    count, ports = patterns.shape
    n = gain.shape[0]
    states = digits.shape[0] * rows * width
    table = np.empty((n + 1, states))
    table[0, :] = 0.0
    item_at = np.empty(n + 1, dtype=np.int64)
    depth_at = np.zeros(ports + 1, dtype=np.int64)  # rows in use before column l
    taken = np.zeros((count, n), dtype=np.bool_)
    values = np.empty(count)
    for p in range(count):
        same = 0
        if p > 0:
            while same < ports and patterns[p, same] == patterns[p - 1, same]:
                same += 1
        depth = depth_at[same]
        for port in range(same, ports):
            if patterns[p, port]:
                for i in range(port_first[port], port_first[port + 1]):
                    old, new = table[depth], table[depth + 1]
                    layer(old, new, gain[i], offsets[i], blocked[like[i]], floors[i], digits, rows, width)
                    depth += 1
                    item_at[depth] = i
            depth_at[port + 1] = depth
        state = states - 1
        values[p] = table[depth, state]
        for row in range(depth, 0, -1):
            if table[row, state] > table[row - 1, state]:
                taken[p, item_at[row]] = True
                state -= offsets[item_at[row]]
    return taken, values


@njit(cache=True, error_model="numpy")
def score(x, values, spread, cap, first):  # type: ignore[no-untyped-def]
    """Return the number of priority items of a set, and min(values.x, cap) + sqrt(spread.x)."""
    count, line, square = 0, 0.0, 0.0
    for i in range(x.shape[0]):
        if x[i]:
            count += first[i]
            line += values[i]
            square += spread[i]
    return count, min(line, cap) + np.sqrt(square)


@njit(cache=True, error_model="numpy")
def margin(tolerance, value, bonuses):  # type: ignore[no-untyped-def]
    """Return the distance from a value that counts as none, by the tolerance of :func:`close_at_root`."""
    return tolerance[0] * (value + bonuses) + tolerance[1] * value


@njit(cache=True, error_model="numpy")
def keep_what_fits(x, demand, capacity):  # type: ignore[no-untyped-def]
    """Leave out, in order, the items that no longer fit the true capacities."""
    left = capacity.copy()
    for i in range(x.shape[0]):
        if x[i]:
            fits = True
            for k in range(left.shape[0]):
                if demand[i, k] > left[k]:
                    fits = False
            if fits:
                for k in range(left.shape[0]):
                    left[k] -= demand[i, k]
            else:
                x[i] = False


@njit(cache=True, error_model="numpy")
def close_at_root(what, demand, capacity, grid, tables, lines, best, tolerance):  # type: ignore[no-untyped-def]
    r"""Look for a multiplier lambda whose bound proves a solution optimal; ``best`` is improved in place.

    For every lambda > 0, values.x + sqrt(spread.x) <= (values + spread / (2 lambda)).x + lambda / 2. The
    right side is convex in 1 / lambda, and its slope has the sign of spread.x - lambda^2 at its maximiser x:
    lambda = sqrt(spread.x) is tried next, or the lambda at which the two ends of the bracket are worth the
    same. Items that come first are worth a bonus above all others together.

    From the second table on, a depth-first search is given about as much time as a table takes, before the
    next one is filled.

    ``what`` is values, spread and cap of the objective min(values.x, cap) + sqrt(spread.x); which items come
    first (1 or 0), and how many of them a set must hold, the most that is possible; while none is known that
    does, the value is -1.
    ``demand`` and ``capacity`` are the true constraints; ``grid`` is needs, offsets, like, blocked, digits,
    rows and width of the tables, which may be a relaxation. ``tables`` has room for them, shape (at least 1,
    more than n, states), and one is filled per lambda; ``lines`` has room for [lambda, bonus] of each, and
    lines[0, 0] is where to begin, 0 if spread is zero. ``tolerance`` is the distance of value and bound that
    counts as none: what is relative to the value and all bonuses in it, and what is to the value alone.

    Returns the number of tables filled, the value of ``best``, the smallest bound (the value itself where the
    search was complete), and the nodes of the search.
    """
    values, spread, cap, first, goal = what
    n = values.shape[0]
    top = tables.shape[2] - 1
    floors = _floors(grid)
    x = np.zeros(n, dtype=np.bool_)
    count, value = score(best, values, spread, cap, first)
    if count < goal:
        value = -1.0
    bound = np.inf
    bracket = np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.inf])
    lam = lines[0, 0]
    place, choice = np.empty(3), np.empty(n + 1, dtype=np.int64)
    sums, left = np.empty((n + 1, 4)), np.empty((n + 1, capacity.shape[0]), dtype=np.int64)
    walk = (earlier_twins(values, spread, first, demand), place, choice, sums, left)
    nodes, chunk = 0, n * (top + 1) // NODES_PER_TABLE
    for number in range(tables.shape[0]):
        table = tables[number]
        bonus = _fill(table, lam, what, grid, floors)
        lines[number, 0], lines[number, 1] = lam, bonus
        bound = min(bound, table[0, top] - goal * bonus + 0.5 * lam)
        leading, line, square = _read_off(table, x, grid[1], what)
        keep_what_fits(x, demand, capacity)
        count, reached = score(x, values, spread, cap, first)
        if count == goal and reached > value:
            value = reached
            best[:] = x
        nothing = leading == goal and line == 0.0 and square == 0.0
        if nothing and not hides(bonus, lam, what):  # nothing fits beside what comes first
            return number + 1, value, value, nodes
        if bound - value <= margin(tolerance, value, goal * bonus) or lam == 0.0:
            return number + 1, value, bound, nodes
        if number > 0:
            begin_search(place, choice, sums, left, value, top, capacity)
            known = (tables[: number + 1], lines[: number + 1])
            search(what, demand, grid[1], known, walk, best, tolerance, chunk)
            value = place[1]
            nodes += int(place[2])
            if place[0] < 0:
                return number + 1, value, min(bound, value + tolerance[1] * value), nodes
        lam = _next_lambda(bracket, lam, line, square)
        if lam < 0.0:
            return number + 1, value, bound, nodes
    return tables.shape[0], value, bound, nodes


@njit(cache=True, error_model="numpy")
def _floors(grid):  # type: ignore[no-untyped-def]
    """Return the least that the items before each item leave of each kind, shape (n + 1, K)."""
    needs, _, _, _, digits, rows, width = grid
    floors = np.empty((needs.shape[0] + 1, needs.shape[1]), dtype=np.int64)
    floors[0] = digits_of_top(digits, rows, width)
    for i in range(needs.shape[0]):
        floors[i + 1] = np.maximum(floors[i] - needs[i], 0)
    return floors


@njit(cache=True, error_model="numpy")
def _fill(table, lam, what, grid, floors):  # type: ignore[no-untyped-def]
    """Fill the table of a lambda, and return the bonus of the items that come first."""
    values, spread, _, first, goal = what
    _, offsets, like, blocked, digits, rows, width = grid
    n = values.shape[0]
    gain = np.empty(n)
    half = 0.5 / lam if lam > 0.0 else 0.0
    everything = 0.0
    for i in range(n):
        gain[i] = values[i] + half * spread[i]
        everything += gain[i]
    bonus = 0.0
    if goal > 0:  # above all others together; 1 where these are worth nothing
        total = everything + 0.5 * lam
        bonus = 2.0 ** (np.floor(np.log2(total)) + 1.0) if total > 0.0 else 1.0
    for i in range(n):
        gain[i] += bonus * first[i]
    table[n, :] = 0.0
    for i in range(n - 1, -1, -1):
        no = blocked[like[i]]
        layer(table[i + 1], table[i], gain[i], offsets[i], no, floors[i], digits, rows, width)
    return bonus


@njit(cache=True, error_model="numpy")
def hides(bonus, lam, what):  # type: ignore[no-untyped-def]
    """Return whether the bonuses are so large that a sum with them does not tell of some item."""
    values, spread, _, first, goal = what
    half = 0.5 / lam if lam > 0.0 else 0.0
    for i in range(values.shape[0]):
        some = not first[i] and (values[i] > 0.0 or spread[i] > 0.0)
        if some and values[i] + half * spread[i] <= HIDDEN * goal * bonus:
            return True
    return False


@njit(cache=True, error_model="numpy")
def _read_off(table, x, offsets, what):  # type: ignore[no-untyped-def]
    """Set ``x`` to the best set of a table; return how many items come first, values.x and spread.x."""
    values, spread, _, first, _ = what
    state = table.shape[1] - 1
    leading, line, square = 0, 0.0, 0.0
    for i in range(x.shape[0]):
        x[i] = table[i, state] > table[i + 1, state]
        if x[i]:
            state -= offsets[i]
            leading += first[i]
            line += values[i]
            square += spread[i]
    return leading, line, square


@njit(cache=True, error_model="numpy")
def _next_lambda(bracket, lam, line, square):  # type: ignore[no-untyped-def]
    """Return the multiplier to try next, or -1 if there is none; the bracket is made smaller.

    ``bracket`` holds values.x, spread.x and lambda of its end where lambda is too small, and of the other.
    """
    low, high = bracket[:3], bracket[3:]
    end = low if square > lam * lam else high
    end[0], end[1], end[2] = line, square, lam
    lam = np.sqrt(square)
    if not low[2] < lam < high[2]:
        if low[2] == 0.0 or high[2] == np.inf or low[0] >= high[0]:
            return -1.0
        lam = 0.5 * (low[1] - high[1]) / (high[0] - low[0])
        if not low[2] < lam < high[2]:
            return -1.0
    return lam


@njit(cache=True, error_model="numpy")
def undominated(values, spread, first, demand, capacity):  # type: ignore[no-untyped-def]
    """Return which items may be needed: those that few others equal or exceed in everything.

    Any others are as many as fit together with the item itself, and then one of them can take its place.
    """
    n, kinds = demand.shape
    least = np.full(kinds, np.iinfo(np.int64).max)
    for i in range(n):
        for k in range(kinds):
            least[k] = min(least[k], demand[i, k])
    keep = np.ones(n, dtype=np.bool_)
    for i in range(n):
        most = n  # items in a set with this one
        for k in range(kinds):
            if least[k] > 0:
                most = min(most, 1 + (capacity[k] - demand[i, k]) // least[k])
        for j in range(n):
            better = values[j] >= values[i] and spread[j] >= spread[i] and first[j] >= first[i] and j != i
            same = j > i and values[j] == values[i] and spread[j] == spread[i] and first[j] == first[i]
            if better:
                for k in range(kinds):
                    better &= demand[j, k] <= demand[i, k]
                    same &= demand[j, k] == demand[i, k]
                if better and not same:
                    most -= 1
                    if most == 0:
                        keep[i] = False
                        break
    return keep


@njit(cache=True, error_model="numpy")
def prices(gain, weights, limits, root):  # type: ignore[no-untyped-def]
    r"""Minimise the Lagrangian bound of a relaxed problem over its prices, by Newton steps along a barrier.

    For prices p >= 0 no set x with weights'x <= limits is worth more than::

        limits.p + sum_i max(0, gain_i - weights_i.p)    (+ 1 / (4 p_0) with ``root``)

    With ``root``, ``limits[0]`` is 0 and ``weights[:, 0]`` the negative spread: p_0 is 1 / (2 lambda), and
    what is bounded is gain.x + sqrt(spread.x). Gains, spreads and limits are about 1 or less.

    Returns the prices of the smallest bound that was met; any prices give one, and rounding is the caller's.
    """
    n, rows = weights.shape
    p, best, step = np.ones(rows), np.ones(rows), np.zeros(rows)
    slope, hessian = np.empty(rows), np.empty((rows, rows))
    if root:
        spread = 0.0
        for i in range(n):
            spread -= weights[i, 0]
        p[0] = 0.5 / np.sqrt(spread)
        best[0] = p[0]
    bound, barrier, expected = np.inf, 1e-2, 0.0
    for _ in range(PRICE_STEPS):
        total = _barrier(p, gain, weights, limits, root, barrier, slope, hessian)
        ahead = 0.0
        for a in range(rows):
            ahead += step[a] * slope[a]
            if total < bound:
                best[a] = p[a]
        bound = min(bound, total)
        if ahead > 0.5 * expected:  # it went too far
            expected *= 0.5
            for a in range(rows):
                step[a] *= 0.5
                p[a] -= step[a]
            continue
        _solve(hessian, slope, step)
        expected, part = 0.0, 1.0
        for a in range(rows):
            step[a] = -step[a]
            expected -= step[a] * slope[a]
            if step[a] < 0.0:
                part = min(part, -0.9 * p[a] / step[a])
        if expected < 0.5 * barrier:
            if 2 * n * barrier < PRICE_GAP * bound:
                break
            barrier, expected, part = 0.1 * barrier, 0.0, 0.0
        expected *= part
        for a in range(rows):
            step[a] *= part
            p[a] += step[a]
    return best


@njit(cache=True, error_model="numpy")
def _barrier(p, gain, weights, limits, root, barrier, slope, hessian):  # type: ignore[no-untyped-def]
    """Return the bound of :func:`prices` at p; set slope and lower half of the Hessian, barrier included.

    The barrier is -ln p for every price, and the greatest of x reduced + ln x + ln (1 - x) for every item.
    """
    n, rows = weights.shape
    total = 0.0
    for a in range(rows):
        total += limits[a] * p[a]
        slope[a] = limits[a] - barrier / p[a]
        for b in range(a):
            hessian[a, b] = 0.0
        hessian[a, a] = barrier / (p[a] * p[a])
    if root:
        total += 0.25 / p[0]
        slope[0] -= 0.25 / (p[0] * p[0])
        hessian[0, 0] += 0.5 / (p[0] * p[0] * p[0])
    for i in range(n):
        reduced = gain[i]
        for a in range(rows):
            reduced -= weights[i, a] * p[a]
        total += max(0.0, reduced)
        ratio = reduced / barrier
        less = 2.0 / (np.sqrt(ratio * ratio + 4.0) + 2.0 + abs(ratio))
        more = 1.0 - less
        x = less if ratio < 0.0 else more
        bend = 1.0 / (barrier / (less * less) + barrier / (more * more))
        for a in range(rows):
            slope[a] -= x * weights[i, a]
            for b in range(a + 1):
                hessian[a, b] += bend * weights[i, a] * weights[i, b]
    return total


@njit(cache=True, error_model="numpy")
def _solve(matrix, right, x):  # type: ignore[no-untyped-def]
    """Set x to the solution of a system of which the lower half is given, and then overwritten.

    The matrix is positive definite.
    """
    n = right.shape[0]
    for i in range(n):
        x[i] = right[i]
        for j in range(i + 1):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(matrix[i, i]) if i == j else matrix[i, j] / matrix[j, j]
        for k in range(i):
            x[i] -= matrix[i, k] * x[k]
        x[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= matrix[k, i] * x[k]
        x[i] /= matrix[i, i]


@njit(cache=True, error_model="numpy")
def earlier_twins(values, spread, first, demand):  # type: ignore[no-untyped-def]
    """Return for each item the last one before it that is the same in everything, or -1."""
    n = values.shape[0]
    twin = np.full(n, -1)
    for i in range(n):
        for j in range(i - 1, -1, -1):
            same = values[i] == values[j] and spread[i] == spread[j] and first[i] == first[j]
            for k in range(demand.shape[1]):
                if demand[i, k] != demand[j, k]:
                    same = False
            if same:
                twin[i] = j
                break
    return twin


@njit(cache=True, error_model="numpy")
def begin_search(place, choice, sums, left, value, top, capacity):  # type: ignore[no-untyped-def]
    """Put a search at its root: no item is decided; see :func:`search`."""
    place[0], place[1], place[2] = 0.0, value, 0.0
    choice[0] = TAKE
    sums[0, :] = 0.0
    sums[0, 3] = top
    left[0] = capacity


@njit(cache=True, error_model="numpy")
def search(what, demand, offsets, known, walk, best, tolerance, chunk):  # type: ignore[no-untyped-def]
    """Continue a depth-first search for a better set than ``best``, for at most ``chunk`` nodes.

    A node, at which items 0 to i - 1 are decided, is left if by some table nothing below it is worth more
    than the best value plus the tolerance. Of items that are the same, the earlier ones are taken first.

    ``what``, ``demand``, ``best`` and ``tolerance`` are as in :func:`close_at_root`; ``known`` is the filled
    tables and their lines. ``walk`` is the twins of :func:`earlier_twins`; the place: [depth i, value of
    ``best``, nodes visited so far], depth 0 to begin, below 0 at the end; the choice: what is to be done next
    at each depth; and by depth the sums: [values.x, spread.x, items that come first, state], and the
    capacities that are left.
    """
    values, spread, cap, first, goal = what
    tables, lines = known
    twin, place, choice, sums, left = walk
    n = values.shape[0]
    i, value, visited = int(place[0]), place[1], 0
    while i >= 0 and visited < chunk:
        if i == n:
            reached = min(sums[i, 0], cap) + np.sqrt(sums[i, 1])
            if sums[i, 2] == goal and reached > value:
                value = reached
                for j in range(n):
                    best[j] = choice[j] == SKIP  # skipping comes next: the item is taken now
            i -= 1
        elif choice[i] == TAKE:
            visited += 1
            hopeless = False
            for number in range(tables.shape[0] - 1, -1, -1):  # the last ones are the sharpest
                lam, bonus = lines[number, 0], lines[number, 1]
                half = 0.5 / lam if lam > 0.0 else 0.0
                rest = tables[number, i, int(sums[i, 3])] + bonus * (sums[i, 2] - goal)
                most = sums[i, 0] + half * sums[i, 1] + 0.5 * lam + rest
                if most <= value + margin(tolerance, value, goal * bonus):
                    hopeless = True
                    break
            if hopeless:
                i -= 1
                continue
            choice[i] = SKIP
            fits = twin[i] < 0 or choice[twin[i]] == SKIP
            for k in range(left.shape[1]):
                if demand[i, k] > left[i, k]:
                    fits = False
            if fits:
                sums[i + 1, 0] = sums[i, 0] + values[i]
                sums[i + 1, 1] = sums[i, 1] + spread[i]
                sums[i + 1, 2] = sums[i, 2] + first[i]
                sums[i + 1, 3] = sums[i, 3] - offsets[i]
                for k in range(left.shape[1]):
                    left[i + 1, k] = left[i, k] - demand[i, k]
                i += 1
                choice[i] = TAKE
        elif choice[i] == SKIP:
            choice[i] = BACK
            sums[i + 1, :] = sums[i, :]
            left[i + 1, :] = left[i, :]
            i += 1
            choice[i] = TAKE
        else:
            i -= 1
    place[0], place[1] = i, value
    place[2] += visited


@njit(cache=True, error_model="numpy")
def next_labels(i, state, sums, words, what, grid, known, value, tolerance):  # type: ignore[no-untyped-def]
    """Decide item ``i`` in every partial set, and keep those that may still lead to more than ``value``.

    Of partial sets in the same state only those are kept that no other one equals or exceeds in both values.x
    and spread.x, so that many sets that are nearly the same cost little.

    Of each partial set there are its ``state``, its ``sums`` [values.x, spread.x, items that come first], and
    its items as bits, the ``words``; returned are those of the sets that are kept. ``grid`` is offsets, like
    and blocked, and ``known`` the filled tables, which must be exact, with their lines; ``what`` and
    ``tolerance`` are as in :func:`close_at_root`.
    """
    values, spread, _, first, goal = what
    offsets, like, blocked = grid
    tables, lines = known
    count = state.shape[0]
    new_state = np.empty(2 * count, dtype=np.int64)
    new_sums = np.empty((2 * count, 3))
    parent = np.empty(2 * count, dtype=np.int64)
    made = 0
    for take in range(2):
        for j in range(count):
            s = state[j]
            if take == 1 and blocked[like[i], s] != 0.0:
                continue
            s -= take * offsets[i]
            line, square = sums[j, 0] + take * values[i], sums[j, 1] + take * spread[i]
            leading = sums[j, 2] + take * first[i]
            hopeless = False
            for number in range(tables.shape[0]):
                lam, bonus = lines[number, 0], lines[number, 1]
                half = 0.5 / lam if lam > 0.0 else 0.0
                rest = tables[number, i + 1, s] + bonus * (leading - goal)
                most = line + half * square + 0.5 * lam + rest
                if most <= value + margin(tolerance, value, goal * bonus):
                    hopeless = True
                    break
            if not hopeless:
                new_state[made] = s
                new_sums[made, 0], new_sums[made, 1], new_sums[made, 2] = line, square, leading
                parent[made] = j if take == 0 else -1 - j
                made += 1
    order = np.argsort(-new_sums[:made, 1], kind="mergesort")
    order = order[np.argsort(-new_sums[order, 0], kind="mergesort")]
    order = order[np.argsort(new_state[order], kind="mergesort")]
    kept = np.empty(made, dtype=np.int64)
    n, last, most = 0, -1, -1.0
    for j in order:
        if new_state[j] != last:
            last, most = new_state[j], -1.0
        if new_sums[j, 1] > most:
            most = new_sums[j, 1]
            kept[n] = j
            n += 1
    kept = kept[:n]
    new_words = np.empty((n, words.shape[1]), dtype=np.uint64)
    for j in range(n):
        p = parent[kept[j]]
        new_words[j] = words[p if p >= 0 else -1 - p]
        if p < 0:
            new_words[j, i // 64] |= np.uint64(1) << np.uint64(i % 64)
    return new_state[kept], new_sums[kept], new_words
