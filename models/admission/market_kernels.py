"""Compiled kernels of the market for admission.

A group is a set of machines that count as one here: its room for a job is that of its machines together,
and its price is that of each of them. In a slot, the cost of y workers and their parameter servers is a curve
over y; its lower convex hull falls into segments of ascending slope. The cheapest segments that hold the work
of a job cost no more than any of its schedules.
"""

from __future__ import annotations

import numpy as np

from ..compiled import njit
from .kernels import least_cost, lower_hull, pop, push

SAFE = 1.0 + 1e-9
"""By how much a slot has to be dearer than all segments so far for its curve to be left out: rounding."""


@njit(cache=True, error_model="numpy")
def ascending(cost, order):  # type: ignore[no-untyped-def]
    """Write the groups into ``order`` by ascending cost, those of equal cost by ascending number."""
    for g in range(cost.shape[0]):
        place = g
        while place > 0 and cost[order[place - 1]] > cost[g]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = g


@njit(cache=True, error_model="numpy")
def slot_curve(curve, most, sides, servers_for):  # type: ignore[no-untyped-def]
    """Write the cost of y = 0, 1, ... workers and their parameter servers; return the largest y that fits."""
    room, cost, order, server_room, server_cost, server_order = sides
    curve[0] = 0.0
    y, total = 0, 0.0
    for g in order:
        for _ in range(min(room[g], most - y)):
            total += cost[g]
            y += 1
            curve[y] = total
        if y == most:
            break
    top, y, placed, total = y, 1, 0, 0.0
    for k in server_order:
        left = server_room[k]
        while y <= top and servers_for[y] - placed <= left:
            left -= servers_for[y] - placed
            total += (servers_for[y] - placed) * server_cost[k]
            placed = servers_for[y]
            curve[y] += total
            y += 1
        if y > top:
            break
        total += left * server_cost[k]
        placed += left
    return y - 1


@njit(cache=True, error_model="numpy")
def absorb(slope, length, size, covered, work, curve, vertex, corners):  # type: ignore[no-untyped-def]
    """Add the segments of a slot to the heap of the cheapest that hold the work; return its size and length.

    Those that are not needed any more drop out.
    """
    for j in range(1, corners):
        n = vertex[j] - vertex[j - 1]
        new = (curve[vertex[j]] - curve[vertex[j - 1]]) / n
        if covered >= work and new >= slope[0]:
            break
        size = push(slope, length, size, new, n)
        covered += n
        while covered - length[0] >= work:
            covered -= length[0]
            size = pop(slope, length, size)
    return size, covered


@njit(cache=True, error_model="numpy")
def heap_cost(slope, length, size, covered, work):  # type: ignore[no-untyped-def]
    """Return the cost of the cheapest segments that hold the work; the most expensive one counts in part."""
    total = slope[0] * (length[0] - (covered - work))
    for j in range(1, size):
        total += slope[j] * length[j]
    return total


@njit(cache=True, error_model="numpy")
def settle(curves, vertices, corners, last, work, costliest, counts):  # type: ignore[no-untyped-def]
    """Write the workers of the slots up to ``last``: segments below a slope, and as many of it as needed."""
    left = work
    for s in range(last + 1):
        counts[s] = 0
        for j in range(1, corners[s]):
            a, b = vertices[s, j - 1], vertices[s, j]
            if (curves[s, b] - curves[s, a]) / (b - a) >= costliest:
                break
            counts[s] = b
        left -= counts[s]
    for s in range(last + 1):
        for j in range(1, corners[s]):
            a, b = vertices[s, j - 1], vertices[s, j]
            if left > 0 and a == counts[s] and (curves[s, b] - curves[s, a]) / (b - a) <= costliest:
                take = min(left, b - a)
                counts[s] += take
                left -= take


@njit(cache=True, error_model="numpy")
def unit_costs(price, share, cost):  # type: ignore[no-untyped-def]
    """Write what one worker (or parameter server) costs in each group, price (G, R) times share (G, R)."""
    for g in range(share.shape[0]):
        total = 0.0
        for r in range(share.shape[1]):
            total += price[g, r] * share[g, r]
        cost[g] = total


@njit(cache=True, error_model="numpy")
def take_units(used, share, room, order, count, weight):  # type: ignore[no-untyped-def]
    """Add what some workers (or parameter servers) take of the groups, the cheapest filled first."""
    left = count
    for g in order:
        taken = min(left, room[g])
        for r in range(share.shape[1]):
            used[g, r] += weight * taken * share[g, r]
        left -= taken
        if left == 0:
            break


@njit(cache=True, error_model="numpy")
def price_jobs(jobs, sides, worker_price, server_price, used_workers, used_servers, payoffs):  # type: ignore[no-untyped-def]
    """Write what every job can gain at given prices, at most, and what that takes.

    ``jobs`` is the first slot (from 0), work, N, where its table of parameter servers starts, those tables,
    utilities [job][slot]. ``sides`` is rooms of the empty groups and shares of a group that one unit takes,
    of workers and of parameter servers: shapes (I, G), (I, G, R), (I, K), (I, K, R). Prices are of the whole
    of each group, shapes (T, G, R) and (T, K, R); ``used_workers`` and ``used_servers``, of the same shapes,
    are where the shares taken are written, and ``payoffs`` where an upper bound of each payoff is, at least
    0.
    """
    first, work, chunks, start, tables, utility = jobs
    worker_room, worker_share, server_room, server_share = sides
    slots, most = utility.shape[1], chunks.max()
    curves = np.empty((slots, most + 1))
    vertices = np.empty((slots, most + 1), dtype=np.int64)
    corners, counts = np.empty(slots, dtype=np.int64), np.empty(slots, dtype=np.int64)
    slope = np.empty(work.max() + most + 1)
    length = np.empty(work.max() + most + 1, dtype=np.int64)
    cost, order = np.empty(worker_room.shape[1]), np.empty(worker_room.shape[1], dtype=np.int64)
    server_cost = np.empty(server_room.shape[1])
    server_order = np.empty(server_room.shape[1], dtype=np.int64)
    used_workers[:] = 0.0
    used_servers[:] = 0.0
    for i in range(work.shape[0]):
        needs = tables[start[i] : start[i] + chunks[i] + 1]
        view = (worker_room[i], cost, order, server_room[i], server_cost, server_order)
        fewest = (needs[1:] / np.arange(1, chunks[i] + 1)).min()
        best, last, costliest, size, covered = 0.0, -1, 0.0, 0, 0
        for s in range(slots - first[i]):
            t = first[i] + s
            if utility[i, t] <= best:
                break
            unit_costs(worker_price[t], worker_share[i], cost)
            unit_costs(server_price[t], server_share[i], server_cost)
            if covered >= work[i]:
                cheapest = least_cost(cost, worker_room[i])
                cheapest += fewest * least_cost(server_cost, server_room[i])
                if cheapest > SAFE * slope[0]:
                    corners[s] = 1
                    continue
            ascending(cost, order)
            ascending(server_cost, server_order)
            top = slot_curve(curves[s], chunks[i], view, needs)
            corners[s] = lower_hull(curves[s], top, vertices[s])
            size, covered = absorb(slope, length, size, covered, work[i], curves[s], vertices[s], corners[s])
            if covered >= work[i]:
                payoff = utility[i, t] - heap_cost(slope, length, size, covered, work[i])
                if payoff > best:
                    best, last, costliest = payoff, s, slope[0]
        payoffs[i] = best
        if last < 0:
            continue
        settle(curves, vertices, corners, last, work[i], costliest, counts)
        for s in range(last + 1):
            if counts[s] == 0:
                continue
            t = first[i] + s
            unit_costs(worker_price[t], worker_share[i], cost)
            unit_costs(server_price[t], server_share[i], server_cost)
            ascending(cost, order)
            ascending(server_cost, server_order)
            j = np.searchsorted(vertices[s, : corners[s]], counts[s])
            b = vertices[s, j]
            a = b if b == counts[s] else vertices[s, j - 1]
            part = 1.0 if a == b else (counts[s] - a) / (b - a)
            for y, weight in ((b, part), (a, 1.0 - part)):
                if weight > 0.0:
                    take_units(used_workers[t], worker_share[i], worker_room[i], order, y, weight)
                    take_units(
                        used_servers[t], server_share[i], server_room[i], server_order, needs[y], weight
                    )
