"""Compiled kernels of the placement problem: the cluster simulator.

Everything is a whole number, so that a simulation can be repeated exactly and the order of sums does not
matter: times in ticks of 1 ms, amounts in units of :data:`.jobs.UNITS`, work in ticks times :data:`SCALE`. A
job alone does SCALE of work in a tick; contention slows that down to the whole number below the quotient of
floats, which may be one millionth less than that of fractions. The roundings are part of the format of
instances: ``docs/instance-files.md`` says which, and in what order.
"""

from __future__ import annotations

import numpy as np

from ..compiled import njit
from .state import ARRIVED as ARRIVED
from .state import CONSOLIDATE as CONSOLIDATE
from .state import DONE as DONE
from .state import FIRST_FIT as FIRST_FIT
from .state import IN_USE as IN_USE
from .state import LOAD_BALANCE as LOAD_BALANCE
from .state import NOW as NOW
from .state import PENDING as PENDING
from .state import ROWS as ROWS
from .state import RUNNING as RUNNING
from .state import SCALE as SCALE
from .state import THOUSAND as THOUSAND
from .state import USED as USED
from .state import WAITED as WAITED
from .state import State as State
from .state import Table as Table


@njit(cache=True)
def room(free, need, most):  # type: ignore[no-untyped-def]
    """Return how many instances fit into what is free on one machine, at most ``most``."""
    fits = most
    for r in range(need.size):
        if need[r] * fits > free[r]:  # divisions are slow
            fits = free[r] // need[r]
    return fits


@njit(cache=True)
def fits(free, need, instances):  # type: ignore[no-untyped-def]
    """Return whether all instances of a job fit into what is free on all machines."""
    left = instances
    for k in range(free.shape[0]):
        left -= room(free[k], need, left)
        if left == 0:
            return True
    return left == 0


@njit(cache=True)
def enough(total, need, instances):  # type: ignore[no-untyped-def]
    """Return whether what is free on all machines together is enough: where not, a job cannot fit."""
    for r in range(need.size):  # noqa: SIM110 - numba compiles no all()
        if need[r] * instances > total[r]:
            return False
    return True


@njit(cache=True)
def summed(free, total):  # type: ignore[no-untyped-def]
    """Write what is free on all machines together into ``total``."""
    total[:] = 0
    for k in range(free.shape[0]):
        for r in range(total.size):
            total[r] += free[k, r]


@njit(cache=True)
def fill(free, need, instances, order, job, rows, at):  # type: ignore[no-untyped-def]
    """Place a job: on each machine in this order as many instances as fit; take them from ``free``.

    Writes rows (job, machine, count) into ``rows`` from row ``at`` on and returns how many rows there are
    then. If not all instances fit, nothing is changed and ``at`` is returned.
    """
    left, end = instances, at
    for k in order:
        count = room(free[k], need, left)
        if count > 0:
            rows[end, 0], rows[end, 1], rows[end, 2] = job, k, count
            end += 1
            left -= count
            if left == 0:
                for i in range(at, end):
                    for r in range(need.size):
                        free[rows[i, 1], r] -= rows[i, 2] * need[r]
                return end
    return at


@njit(cache=True)
def waiting(state):  # type: ignore[no-untyped-def]
    """Return the waiting jobs in the order of their submission, a view that the next start makes void."""
    return state.pending[state.clock[ARRIVED] - state.clock[PENDING] : state.clock[ARRIVED]]


@njit(cache=True)
def any_fits(table, state, window):  # type: ignore[no-untyped-def]
    """Return whether a job of the window, the oldest pending ones, fits into what is free."""
    total = np.empty(state.free.shape[1], dtype=np.int64)
    summed(state.free, total)
    for job in waiting(state)[:window]:
        need, instances = table.need[job], table.instances[job]
        if enough(total, need, instances) and fits(state.free, need, instances):
            return True
    return False


@njit(cache=True)
def _speed(table, state, contention, job):  # type: ignore[no-untyped-def]
    """Return the work that a running job does in a tick: SCALE over the contention of its worst machine.

    The order of these operations is part of the format.
    """
    worst = 1.0
    beta = table.intensity[job] / THOUSAND
    for i in range(state.first[job], state.first[job] + state.spans[job]):
        k, count = state.rows[i, 0], state.rows[i, 1]
        others = state.load[k] - table.intensity[job] * table.need[job, 0] * count
        if others > 0:
            share = others / (THOUSAND * table.capacity[k, 0])
            worst = max(worst, 1.0 + contention * beta * share)
    return int(np.floor(SCALE / worst))


@njit(cache=True)
def _refresh(table, state, contention, touched):  # type: ignore[no-untyped-def]
    """Count the work done so far, and the new speed and end, of the running jobs on a touched machine."""
    now = state.clock[NOW]
    for p in range(state.clock[RUNNING]):
        job = state.running[p]
        hit = False
        for i in range(state.first[job], state.first[job] + state.spans[job]):
            hit = hit or touched[state.rows[i, 0]]
        if hit:
            state.work[job] -= state.speed[job] * (now - state.settled[job])
            state.settled[job] = now
            state.speed[job] = _speed(table, state, contention, job)
            state.finish[job] = now - (-state.work[job] // state.speed[job])


@njit(cache=True)
def _take(table, state, job, sign, touched):  # type: ignore[no-untyped-def]
    """Count what a job takes from its machines (sign 1) or gives back (sign -1)."""
    for i in range(state.first[job], state.first[job] + state.spans[job]):
        k, count = state.rows[i, 0], sign * state.rows[i, 1]
        for r in range(3):
            state.free[k, r] -= count * table.need[job, r]
        state.load[k] += table.intensity[job] * table.need[job, 0] * count
        touched[k] = True
    state.clock[IN_USE] += sign * table.need[job, 0] * table.instances[job]


@njit(cache=True)
def _remove(state, job):  # type: ignore[no-untyped-def]
    """Take a job out of those that wait: the older ones move up, of which a window has few."""
    jobs = waiting(state)
    p = 0
    while jobs[p] != job:
        p += 1
    for q in range(p, 0, -1):
        jobs[q] = jobs[q - 1]
    state.clock[PENDING] -= 1


@njit(cache=True)
def start_rows(table, state, contention, rows):  # type: ignore[no-untyped-def]
    """Start jobs now; ``rows`` are (job, machine, count), feasible, those of a job one after the other."""
    clock = state.clock
    touched = np.zeros(state.free.shape[0], dtype=np.bool_)
    r = 0
    while r < rows.shape[0]:
        job = rows[r, 0]
        state.first[job] = clock[ROWS]
        while r < rows.shape[0] and rows[r, 0] == job:
            state.rows[clock[ROWS], 0], state.rows[clock[ROWS], 1] = rows[r, 1], rows[r, 2]
            clock[ROWS] += 1
            r += 1
        state.spans[job] = clock[ROWS] - state.first[job]
        state.start[job] = state.settled[job] = clock[NOW]
        state.work[job] = table.duration[job, state.spans[job]] * SCALE
        _remove(state, job)
        state.running[clock[RUNNING]] = job
        clock[RUNNING] += 1
        _take(table, state, job, 1, touched)
    _refresh(table, state, contention, touched)


@njit(cache=True)
def resume(table, state, contention, jobs, work, spans, rows):  # type: ignore[no-untyped-def]
    """Let jobs run from now on with so much work left, after all that ran before has been taken away.

    ``work`` has one of each of ``jobs``; ``spans`` and ``rows``, (machine, count), those of all jobs, shapes
    (n,) and (n, most, 2). Their starts are left as they are.
    """
    clock = state.clock
    state.free[:] = table.capacity
    state.load[:] = 0
    clock[RUNNING] = clock[ROWS] = clock[IN_USE] = 0
    touched = np.ones(state.free.shape[0], dtype=np.bool_)
    for p in range(jobs.size):
        job = jobs[p]
        state.first[job], state.spans[job] = clock[ROWS], spans[job]
        for i in range(spans[job]):
            state.rows[clock[ROWS], 0], state.rows[clock[ROWS], 1] = rows[job, i, 0], rows[job, i, 1]
            clock[ROWS] += 1
        state.work[job], state.settled[job], state.speed[job] = work[p], clock[NOW], 0
        state.running[p] = job
        clock[RUNNING] += 1
        _take(table, state, job, 1, touched)
    _refresh(table, state, contention, touched)


@njit(cache=True)
def next_event(table, state):  # type: ignore[no-untyped-def]
    """Return the tick of the next arrival or completion, -1 if there is none."""
    clock = state.clock
    when = -1
    if clock[ARRIVED] < table.submit.size:
        when = table.submit[clock[ARRIVED]]
    for p in range(clock[RUNNING]):
        end = state.finish[state.running[p]]
        if when < 0 or end < when:
            when = end
    return when


@njit(cache=True)
def _complete(table, state, touched):  # type: ignore[no-untyped-def]
    """End the jobs that are done now."""
    clock = state.clock
    kept = 0
    for p in range(clock[RUNNING]):
        job = state.running[p]
        if state.finish[job] == clock[NOW]:
            _take(table, state, job, -1, touched)
            state.ended[clock[DONE]] = job
            clock[DONE] += 1
        else:
            state.running[kept] = job
            kept += 1
    clock[RUNNING] = kept


@njit(cache=True)
def advance(table, state, contention, window):  # type: ignore[no-untyped-def]
    """Go on to the next decision epoch, and return whether there is one.

    That is the next time at which jobs arrive or end and after which a job of the window fits.
    """
    clock = state.clock
    touched = np.zeros(state.free.shape[0], dtype=np.bool_)
    while True:
        when = next_event(table, state)
        if when < 0:
            return False
        clock[WAITED] += (when - clock[NOW]) * (clock[PENDING] + clock[RUNNING])
        clock[USED] += (when - clock[NOW]) * clock[IN_USE]
        clock[NOW] = when
        touched[:] = False
        _complete(table, state, touched)
        while clock[ARRIVED] < table.submit.size and table.submit[clock[ARRIVED]] == when:
            state.pending[clock[ARRIVED]] = clock[ARRIVED]
            clock[PENDING] += 1
            clock[ARRIVED] += 1
        _refresh(table, state, contention, touched)
        if any_fits(table, state, window):
            return True


@njit(cache=True)
def copy_state(source, target):  # type: ignore[no-untyped-def]
    """Make ``target`` equal to ``source``."""
    target.clock[:] = source.clock
    target.free[:] = source.free
    target.load[:] = source.load
    target.start[:] = source.start
    target.finish[:] = source.finish
    target.work[:] = source.work
    target.speed[:] = source.speed
    target.settled[:] = source.settled
    target.first[:] = source.first
    target.spans[:] = source.spans
    target.rows[:] = source.rows
    target.running[:] = source.running
    target.pending[:] = source.pending
    target.ended[:] = source.ended


@njit(cache=True)
def is_feasible(table, state, window, rows):  # type: ignore[no-untyped-def]
    """Return whether starting these rows (job, machine, count), sorted, now breaks nothing."""
    clock = state.clock
    n, machines = table.submit.size, state.free.shape[0]
    if rows.shape[0] == 0:
        return clock[RUNNING] > 0 or clock[ARRIVED] < n or clock[PENDING] == 0
    for r in range(rows.shape[0]):
        job, k, count = rows[r, 0], rows[r, 1], rows[r, 2]
        if not (0 <= job < n and 0 <= k < machines and 0 < count <= table.instances[job]):
            return False
        if r > 0 and rows[r - 1, 0] == job and rows[r - 1, 1] == k:
            return False
    free = state.free.copy()
    r = 0
    while r < rows.shape[0]:
        job, placed = rows[r, 0], 0
        waits = False
        for other in waiting(state)[:window]:
            waits = waits or other == job
        if not waits:
            return False
        while r < rows.shape[0] and rows[r, 0] == job:
            for q in range(3):
                free[rows[r, 1], q] -= rows[r, 2] * table.need[job, q]
                if free[rows[r, 1], q] < 0:
                    return False
            placed += rows[r, 2]
            r += 1
        if placed != table.instances[job]:
            return False
    return True


@njit(cache=True)
def running_rows(state):  # type: ignore[no-untyped-def]
    """Return the rows (job, machine, count) of the running jobs, in the order in which they started."""
    count = 0
    for p in range(state.clock[RUNNING]):
        count += state.spans[state.running[p]]
    result = np.empty((count, 3), dtype=np.int64)
    at = 0
    for p in range(state.clock[RUNNING]):
        job = state.running[p]
        for i in range(state.first[job], state.first[job] + state.spans[job]):
            result[at, 0], result[at, 1], result[at, 2] = job, state.rows[i, 0], state.rows[i, 1]
            at += 1
    return result


@njit(cache=True)
def observe(table, state, window, known):  # type: ignore[no-untyped-def]
    """Return the observation of now, as new arrays.

    The waiting jobs of the window, their submissions, instances, needs and intensities, what is free, the
    rows of the running jobs, and the rows (job, start, finish) of the jobs that have ended, but for the first
    ``known`` of them.
    """
    jobs = waiting(state)[:window].copy()
    need = np.empty((jobs.size, 3), dtype=np.int64)
    for p in range(jobs.size):
        need[p] = table.need[jobs[p]]
    ended = np.empty((state.clock[DONE] - known, 3), dtype=np.int64)
    for e in range(ended.shape[0]):
        job = state.ended[known + e]
        ended[e, 0], ended[e, 1], ended[e, 2] = job, state.start[job], state.finish[job]
    columns = table.submit[jobs], table.instances[jobs], need, table.intensity[jobs]
    return jobs, columns, state.free.copy(), running_rows(state), ended


@njit(cache=True)
def step(table, state, contention, window, rows):  # type: ignore[no-untyped-def]
    """Start these sorted rows, if that breaks nothing, and go on to the next decision epoch.

    Returns whether they were feasible, and whether there is such an epoch; if not feasible, nothing happens.
    """
    if not is_feasible(table, state, window, rows):
        return False, True
    start_rows(table, state, contention, rows)
    return True, advance(table, state, contention, window)


@njit(cache=True)
def follow(table, state, contention, window, rows, ends):  # type: ignore[no-untyped-def]
    """Go to the first decision epoch, and start in each the sorted rows up to the next of ``ends``.

    Returns whether all were feasible, and whether there is an epoch after the last.
    """
    more, begin = advance(table, state, contention, window), 0
    for end in ends:
        feasible, more = step(table, state, contention, window, rows[begin:end])
        if not feasible:
            return False, more
        begin = end
    return True, more


@njit(cache=True)
def machine_order(rule, free, capacity, need, instances):  # type: ignore[no-untyped-def]
    """Return the machines in the order in which a job is placed on them; ties by index.

    FIRST_FIT: by index. LOAD_BALANCE: the least loaded first, by the largest share of a resource in use.
    CONSOLIDATE: those that hold the most instances first, so that the job spans as few machines as it can
    now, and among them those with the fewest free GPUs.
    """
    machines = free.shape[0]
    if rule == FIRST_FIT:
        return np.arange(machines)
    key = np.zeros(machines)
    if rule == LOAD_BALANCE:
        for k in range(machines):
            for r in range(need.size):
                if capacity[k, r] > 0:
                    key[k] = max(key[k], 1.0 - free[k, r] / capacity[k, r])
    else:
        most = capacity[:, 0].max() + 1
        for k in range(machines):
            key[k] = float(free[k, 0]) - float(most) * room(free[k], need, instances)
    return np.argsort(key, kind="mergesort")


@njit(cache=True)
def start_by_rule(capacity, free, jobs, instances, need, order, rule, strict):  # type: ignore[no-untyped-def]
    """Return the rows (job, machine, count) that start if jobs are tried in an order and placed by a rule.

    ``jobs``, ``instances`` and ``need`` describe the waiting jobs, ``order`` are places in them, the first to
    try first, and ``rule`` is one of :func:`machine_order`. A job that does not fit is passed over, or ends
    the matter if ``strict``.
    """
    left = free.copy()
    total = np.empty(free.shape[1], dtype=np.int64)
    summed(free, total)
    rows = np.empty((jobs.size * free.shape[0], 3), dtype=np.int64)
    at = 0
    for p in order:
        if enough(total, need[p], instances[p]) and fits(left, need[p], instances[p]):
            ranked = machine_order(rule, left, capacity, need[p], instances[p])
            at = fill(left, need[p], instances[p], ranked, jobs[p], rows, at)
            summed(left, total)
        elif strict:
            break
    return rows[:at].copy()


@njit(cache=True)
def start_by_rank(free, jobs, instances, need, order, ranked, strict):  # type: ignore[no-untyped-def]
    """Return the rows that start when jobs are tried in an order, each on machines in its own order.

    ``jobs``, ``instances`` and ``need`` describe the waiting jobs; ``order`` are places in them, and
    ``ranked[p]`` the machines in the order for the job at place p, shape (w, M). Otherwise as
    :func:`start_by_rule`.
    """
    rows = np.empty((jobs.size * free.shape[0], 3), dtype=np.int64)
    at = 0
    for p in order:
        before = at
        at = fill(free, need[p], instances[p], ranked[p], jobs[p], rows, at)
        if strict and at == before:
            break
    return rows[:at]


@njit(cache=True)
def run_by_keys(table, state, contention, window, keys, rule, strict):  # type: ignore[no-untyped-def]
    """Simulate to the end: at every epoch the waiting jobs are tried by ascending key, ties by submission."""
    while advance(table, state, contention, window):
        jobs = waiting(state)[:window].copy()
        order = np.argsort(keys[jobs], kind="mergesort")
        instances, need = table.instances[jobs], table.need[jobs]
        rows = start_by_rule(table.capacity, state.free, jobs, instances, need, order, rule, strict)
        start_rows(table, state, contention, rows)
