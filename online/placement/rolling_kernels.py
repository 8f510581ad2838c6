"""Compiled kernels of the rolling horizon: a plan is carried out in the forecast, and improved.

A plan is an order of the waiting jobs, by their numbers in the forecast, and for each job of it whether it
waits for a place on as few machines as hold it when they are empty. Its value is what it costs from now on:
the job-ticks in the system plus lambda times the GPU-ticks in use, and these.
"""

from __future__ import annotations

import numpy as np

from ...models.compiled import njit
from ...models.placement import kernels as sim
from .kernels import fewest


@njit(cache=True)
def starts(forecast, state, least, order, patient, free):  # type: ignore[no-untyped-def]
    """Write the rows that start in a state into ``rows``, and return how many there are.

    Jobs are tried in the order; the machine with room for the most of the instances that are left takes
    these, of equals the one with the fewest free GPUs, then the lower index. ``least`` are the fewest
    machines that hold each job, and ``free`` is room for what is left of the machines.
    """
    table, rows, at = forecast.table, forecast.rows, 0
    free[:] = state.free
    total = np.empty(free.shape[1], dtype=np.int64)
    sim.summed(free, total)
    for job in order:
        need, left = table.need[job], table.instances[job]
        if state.start[job] >= 0 or not (sim.enough(total, need, left) and sim.fits(free, need, left)):
            continue
        if patient[job] and fewest(free, need, left) > least[job]:
            continue
        while left > 0:
            best, largest = -1, 0
            for k in range(free.shape[0]):
                count = sim.room(free[k], need, left)
                if count > largest or (count == largest and best >= 0 and free[k, 0] < free[best, 0]):
                    best, largest = k, count
            rows[at, 0], rows[at, 1], rows[at, 2] = job, best, largest
            at += 1
            left -= largest
            free[best] -= largest * need
            total -= largest * need
    return at


@njit(cache=True)
def value(forecast, least, order, patient, free):  # type: ignore[no-untyped-def]
    """Return what it costs to carry out a plan from now on, and the GPU-ticks in use, which decide ties."""
    work, contention = forecast.work, forecast.contention
    sim.copy_state(forecast.now, work)
    going = True
    while going:
        at = starts(forecast, work, least, order, patient, free)
        sim.start_rows(forecast.table, work, contention, forecast.rows[:at])
        going = sim.advance(forecast.table, work, contention, work.pending.size)
    used = work.clock[sim.USED]
    return work.clock[sim.WAITED] + forecast.weight * used, float(used)


@njit(cache=True)
def moved(order, place, to):  # type: ignore[no-untyped-def]
    """Return an order in which the job at a place is at another one."""
    result = np.empty_like(order)
    at = 0
    for p in range(order.size):
        if p == to:
            result[p] = order[place]
        else:
            at += at == place
            result[p] = order[at]
            at += 1
    return result


@njit(cache=True)
def search(forecast, least, orders, plans):  # type: ignore[no-untyped-def]
    """Return the best plan found, its value, and how many were valued: at most ``plans``, but all first ones.

    The first ones are the orders, shape (k, w), where no job waits so, then where all do. From the best of
    them on, of each job that fits now, in the order of the plan, three changes are tried: whether it waits
    for fewer machines, that it comes first, and that it comes last. What is better is kept at once, and all
    are tried again while something was.
    """
    table, now = forecast.table, forecast.now
    count, free = now.start.size, np.empty_like(now.free)
    order, patient = orders[0], np.zeros(count, dtype=np.bool_)
    least_cost = value(forecast, least, order, patient, free)
    tried = 1
    for i in range(1, 2 * orders.shape[0]):
        waits = np.full(count, i >= orders.shape[0])
        cost = value(forecast, least, orders[i % orders.shape[0]], waits, free)
        tried += 1
        if cost < least_cost:
            least_cost, order, patient = cost, orders[i % orders.shape[0]], waits
    better = True
    while better and tried < plans:
        better = False
        for job in order.copy():
            if not sim.fits(now.free, table.need[job], table.instances[job]):
                continue
            for change in range(3):
                place = np.flatnonzero(order == job)[0]
                to = 0 if change == 1 else order.size - 1
                if tried == plans or (change > 0 and place == to):
                    continue
                trial = order if change == 0 else moved(order, place, to)
                if change == 0:
                    patient[job] = not patient[job]
                cost = value(forecast, least, trial, patient, free)
                tried += 1
                if cost < least_cost:
                    least_cost, order, better = cost, trial, True
                elif change == 0:
                    patient[job] = not patient[job]
    return order, patient, least_cost, tried


@njit(cache=True)
def first_starts(forecast, least, order, patient):  # type: ignore[no-untyped-def]
    """Return the rows (job, machine, count) that a plan starts now."""
    at = starts(forecast, forecast.now, least, order, patient, np.empty_like(forecast.now.free))
    return forecast.rows[:at].copy()
