"""Compiled kernels of the admission problem: the cheapest schedule of a job at given prices.

All of them stand in this one file, because compiled code is cached by file.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def slot_curves(worker_room, worker_cost, server_room, server_cost, servers_for):  # type: ignore[no-untyped-def]
    """Return the cost of y workers and the parameter servers they need, [slot][y]; infinite if too many.

    Machines are filled in ascending order of cost, those of equal cost in ascending order of their numbers;
    both parts are optimal (32).
    """
    slots, most = worker_room.shape[0], servers_for.size - 1
    curve = np.full((slots, most + 1), np.inf)
    for s in range(slots):
        curve[s, 0] = 0.0
        order, filled, cost = np.argsort(worker_cost[s], kind="mergesort"), 0, 0.0
        for h in order:
            for _ in range(min(worker_room[s, h], most - filled)):
                cost += worker_cost[s, h]
                filled += 1
                curve[s, filled] = cost
        order, placed, cost, y = np.argsort(server_cost[s], kind="mergesort"), 0, 0.0, 1
        for k in order:
            left = server_room[s, k]
            while y <= filled and servers_for[y] - placed <= left:
                left -= servers_for[y] - placed
                cost += (servers_for[y] - placed) * server_cost[s, k]
                placed = servers_for[y]
                curve[s, y] += cost
                y += 1
            if y > filled:
                break
            cost += left * server_cost[s, k]
            placed += left
        curve[s, y:] = np.inf
    return curve


@njit(cache=True, error_model="numpy")
def fill(curve, work):  # type: ignore[no-untyped-def]
    """Return the least cost of ``work`` worker-slots by each slot, and the workers chosen [slot][work left].

    One forward pass over worker-slots serves all deadlines, O(S W N).
    """
    slots, most = curve.shape[0], curve.shape[1] - 1
    best, costs = np.full(work + 1, np.inf), np.full(slots, np.inf)
    best[0] = 0.0
    choice = np.zeros((slots, work + 1), dtype=np.int32)
    for s in range(slots):
        for w in range(work, 0, -1):
            for y in range(1, min(most, w) + 1):
                cost = best[w - y] + curve[s, y]
                if cost < best[w]:
                    best[w] = cost
                    choice[s, w] = y
        costs[s] = best[work]
    return costs, choice
