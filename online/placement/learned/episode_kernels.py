"""Compiled kernels of training: a whole episode in one call, and what a rule would make of the rest of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....models.compiled import njit
from ....models.placement.kernels import (
    CONSOLIDATE,
    DONE,
    FIRST_FIT,
    NOW,
    PENDING,
    RUNNING,
    USED,
    WAITED,
    advance,
    copy_state,
    fill,
    fits,
    machine_order,
    run_by_keys,
    running_rows,
    start_by_rule,
    start_rows,
    waiting,
)
from ....models.placement.schedule import Schedule
from ..kernels import FEWEST_FREE, LEAST_CONTENTION, dominant_shares, start_packed
from .kernels import (
    ONE,
    PATIENCE,
    affinities_of,
    encode,
    give_back,
    hold_of,
    loads,
    look_at_hold,
    look_at_jobs,
    look_at_machines,
    look_at_pairs_of,
    priorities_of,
)
from .process import JITTER, MORE_JITTER
from .process_kernels import regress, room

QUIET = 0.5  # of DRF-Patient
CLOCK = 5
"""Numbers of :attr:`Kept.clock`."""


class Kept(NamedTuple):
    """What an episode leaves to learn from: D decisions about J rows of waiting jobs, which start S jobs.

    With an agent that lets jobs wait, S counts all that might have started.
    """

    # rows, begun: where the waiting and the started jobs of each decision begin, shape (D + 1,).
    rows: np.ndarray
    begun: np.ndarray
    # Tick, how many jobs wait and run, what has waited and is used, at each decision and in the end, shape
    # (D + 1, 5), and what waits and is used in the end if a rule takes over, shape (D + 1, 2).
    clock: np.ndarray
    final: np.ndarray
    jobs: np.ndarray  # shape (J, 14)
    fits: np.ndarray  # shape (J,)
    priorities: np.ndarray  # shape (J,)
    machines: np.ndarray  # shape (D, M, 6)
    place: np.ndarray  # of each started job in the window, in the order of placement, shape (S,)
    pairs: np.ndarray  # shape (S, M, 5)
    affinities: np.ndarray  # shape (S, M)
    # about, hold, free_to_hold: of jobs that might wait, shapes (S, 6), (S,) and (S,), or nothing.
    about: np.ndarray
    hold: np.ndarray
    free_to_hold: np.ndarray
    # points, residual: of the process, shapes (S, M, d) and (S, M); d = 0 without it.
    points: np.ndarray
    residual: np.ndarray


def kept_of(jobs: int, machines: int, window: int, width: int, holds: bool) -> Kept:
    """Return room for an episode; an arrival or an end of a job leads to one decision at most."""
    most = 2 * jobs
    rows = most * min(window, jobs)
    tried = rows if holds else jobs

    def floats(*shape: int) -> np.ndarray:
        return np.empty(shape, dtype=np.float32)

    return Kept(
        np.zeros(most + 1, dtype=np.int64),
        np.zeros(most + 1, dtype=np.int64),
        np.empty((most + 1, CLOCK), dtype=np.int64),
        np.empty((most + 1, 2), dtype=np.int64),
        floats(rows, 14),
        np.empty(rows, dtype=np.bool_),
        floats(rows),
        floats(most, machines, 6),
        np.empty(tried, dtype=np.int64),
        floats(tried, machines, 5),
        floats(tried, machines),
        floats(tried if holds else 0, 6),
        floats(tried if holds else 0),
        np.empty(tried if holds else 0, dtype=np.bool_),
        floats(jobs, machines, width),
        floats(jobs, machines),
    )


def teacher(taught: Schedule | None, machines: int) -> tuple[np.ndarray, np.ndarray]:
    """Return starts, shape (n,), and shares of a job's instances on the machines, shape (n, M); or none."""
    if taught is None:
        return np.empty(0, dtype=np.int64), np.empty((0, machines), dtype=np.float32)
    shares = np.zeros((len(taught.start), machines), dtype=np.float32)
    job, machine, count = taught.rows.T
    shares[job, machine] = count
    return taught.start.copy(), shares / shares.sum(1, keepdims=True)


@njit(cache=True)
def _lesson(taught, names, clock):  # type: ignore[no-untyped-def]
    """Return what a teacher does: ranks of waiting jobs, shares on machines, and who waits on; or nothing."""
    start, shares = taught
    some = names if start.size > 0 else names[:0]
    ranks, order = np.empty(some.size, dtype=np.float32), np.argsort(start[some], kind="mergesort")
    ranks[order] = np.arange(some.size)
    later = start[some] > clock[NOW]
    if clock[RUNNING] == 0 and clock[DONE] + clock[PENDING] == start.size:
        later[order[0]] = False  # nothing else would happen any more
    return ranks, shares[some], later


@njit(cache=True)
def _tally(state, ended):  # type: ignore[no-untyped-def]
    """Bring up to date for how long the jobs that have ended ran, and their number, shape (2,)."""
    for i in range(ended[1], state.clock[DONE]):
        job = state.ended[i]
        ended[0] += state.finish[job] - state.start[job]
        ended[1] += 1


@njit(cache=True)
def rule_rows(table, state, window, keys, ended):  # type: ignore[no-untyped-def]
    """Return the rows that a rule starts now.

    It tries jobs by ascending key, on the fewest machines; without keys it is DRF-Patient, which needs
    ``ended`` of :func:`_tally`.
    """
    jobs = waiting(state)[:window].copy()
    need, instances = table.need[jobs], table.instances[jobs]
    if keys.size > 0:
        order = np.argsort(keys[jobs], kind="mergesort")
        return start_by_rule(table.capacity, state.free, jobs, instances, need, order, CONSOLIDATE, False)
    total, asked = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    for r in range(3):
        total[r] = table.capacity[:, r].sum()
        asked[r] = total[r] - state.free[:, r].sum() + (instances * need[:, r]).sum()
    order = np.argsort(dominant_shares(total, instances, need), kind="mergesort")
    due = (state.clock[NOW] - table.submit[jobs]) * float(ended[1]) >= PATIENCE * ended[0]
    rule = LEAST_CONTENTION if (asked <= QUIET * total).all() else FEWEST_FREE
    columns = instances, need, table.intensity[jobs] * need[:, 0]
    none, most = np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64)
    fixed = table.capacity, state.free, state.load
    return start_packed(*fixed, jobs, columns, due, order, rule, none, most, False)


@njit(cache=True)
def run_by_rule(table, state, contention, window, keys, ended):  # type: ignore[no-untyped-def]
    """Simulate to the end by :func:`rule_rows`."""
    if keys.size > 0:
        run_by_keys(table, state, contention, window, keys, CONSOLIDATE, False)
        return
    while advance(table, state, contention, window):
        _tally(state, ended)
        start_rows(table, state, contention, rule_rows(table, state, window, keys, ended))


@njit(cache=True)
def taken_over(table, state, scratch, contention, window, keys, ended, rows, ends):  # type: ignore[no-untyped-def]
    """Write what waits and is used in the end if a rule takes over after these sorted rows start now.

    ``ends`` stays if the rule would start the same. ``scratch`` is overwritten.
    """
    same = rule_rows(table, state, window, keys, ended)
    if same.shape[0] == rows.shape[0]:
        turn = np.argsort(same[:, 0] * state.free.shape[0] + same[:, 1])
        if (same[turn] == rows).all():
            return
    copy_state(state, scratch)
    start_rows(table, scratch, contention, rows)
    run_by_rule(table, scratch, contention, window, keys, ended.copy())
    ends[0], ends[1] = scratch.clock[WAITED], scratch.clock[USED]


@njit(cache=True)
def _drawn(mean, process, now, past, residual, noise):  # type: ignore[no-untyped-def]
    """Return affinities drawn from the process around their mean, given residuals of the jobs of the past."""
    (length, scale, nugget, beta), (t, m, _) = process, past.shape
    numbers = ONE / length, scale * np.exp(-beta), nugget, beta
    shift, covariance = np.empty((1, m), np.float32), np.empty((1, m, m), np.float32)
    given = now[np.newaxis], past[np.newaxis], residual.reshape((1, t * m)), np.ones((1, t * m), np.float32)
    if not regress(*given, numbers, shift, covariance, room(1, t, m)):
        raise np.linalg.LinAlgError("the covariance of the past is not positive definite")
    return mean + shift[0] + np.dot(_factorised(covariance[0]), noise)


@njit(cache=True)
def _factorised(covariance):  # type: ignore[no-untyped-def]
    """Return a lower factor of a covariance with jitter, more of it as in :func:`.gaussian.factorised`."""
    done, factor = False, covariance
    for jitter in (JITTER, *MORE_JITTER):
        for k in range(0 if done else len(covariance)):
            covariance[k, k] += np.float32(jitter)
        try:
            factor, done = np.linalg.cholesky(covariance), True
        except Exception:  # noqa: BLE001 - numba knows no other; what goes on failing is raised below
            done = False
    if not (done and np.isfinite(factor).all()):
        raise np.linalg.LinAlgError("the covariance of affinities is not positive definite")
    return factor


@njit(cache=True)
def _normal(generator, draws, size):  # type: ignore[no-untyped-def]
    """Return standard normal numbers, or zeros if nothing is drawn."""
    result = np.zeros(size, dtype=np.float32)
    for i in range(size if draws else 0):
        result[i] = generator.standard_normal()
    return result


@njit(cache=True)
def _decide(networks, rules, capacity, scene, waits, times, lesson, generator, kept, row, s):  # type: ignore[no-untyped-def]
    """Return the sorted rows that start, and how many jobs have started then; write what is kept of them.

    ``networks`` and ``rules`` are as in :func:`episode`, ``scene`` are the features of jobs and machines,
    which jobs fit, the load of the machines, and what is free, ``waits`` jobs, instances, needs, intensities
    and for how long they have waited, ``times`` are elapsed and ended as in :func:`.kernels.look_at_hold`,
    ``lesson`` is as :func:`_lesson` returns it, ``row`` is where the waiting jobs are kept, and ``s`` how
    many jobs have started before.
    """
    shape, weights, process, positions = networks
    _, _, history, draws, _ = rules
    jobs, machines, fit, load, free = scene
    names, instances, need, intensity, waited = waits
    ranks, shares, later = lesson
    w, m = instances.size, free.shape[0]
    encoded, around = encode(shape, weights, jobs, machines, positions)
    both = priorities_of(shape, weights, encoded, jobs)
    priorities = kept.priorities[row : row + w]
    if ranks.size > 0:
        priorities[:] = -ranks
    elif shape.orders:
        priorities[:] = both[:, 0] + np.sqrt(both[:, 1]) * _normal(generator, draws, w)
    else:
        priorities[:] = -np.arange(w)
    width, before = kept.points.shape[2], s
    past = min(history, before)
    left, rows, at = free.copy(), np.empty((w * m, 3), dtype=np.int64), 0
    for p in np.argsort(-priorities, kind="mergesort"):
        waits_on = later.size > 0 and later[p]
        if not fit[p] or not fits(left, need[p], instances[p]) or (waits_on and not shape.holds):
            continue
        look_at_pairs_of(capacity, free, instances[p], need[p], intensity[p], load, kept.pairs[s])
        if shape.places:
            noise = _normal(generator, draws, m)
            found = affinities_of(shape, weights, encoded[p], around, kept.pairs[s])
            mean, drawn = found[:, 0].copy(), kept.affinities[s]
            drawn[:] = mean if ranks.size == 0 else shares[p]
            if width > 0:
                kept.points[s] = around * encoded[p]
                if draws:
                    then, known = kept.points[before - past : before], kept.residual[before - past : before]
                    drawn[:] = _drawn(mean, process, kept.points[s], then, known, noise)
                kept.residual[s] = drawn - mean
            elif draws:
                drawn += np.sqrt(found[:, 1]) * noise
            ranked = np.argsort(-drawn, kind="mergesort")
        else:
            rule = CONSOLIDATE if shape.consolidates else FIRST_FIT
            ranked = machine_order(rule, left, free, need[p], instances[p])
        end = fill(left, need[p], instances[p], ranked, names[p], rows, at)
        kept.place[s] = p
        s += 1
        if shape.holds:
            own, about = rows[at:end], kept.about[s - 1]
            give_back(left, need[p], own)
            fixed = capacity, left, need[p], instances[p], own, kept.pairs[s - 1]
            about[:] = look_at_hold(*fixed, waited[p], times[0], times[1])
            both_ = hold_of(shape, weights, encoded[p], about)
            kept.hold[s - 1] = both_[0] + np.sqrt(both_[1]) * _normal(generator, draws, 1)[0]
            kept.free_to_hold[s - 1] = at > 0 or times[0, 1] > 0
            if ranks.size > 0:
                kept.hold[s - 1] = 1.0 if waits_on else -1.0
            if waits_on or (kept.free_to_hold[s - 1] and kept.hold[s - 1] > 0.0):
                continue
            fill(left, need[p], instances[p], ranked, names[p], rows, at)
        at = end
    return rows[:at][np.argsort(rows[:at, 0] * m + rows[:at, 1])], s


@njit(cache=True)
def episode(networks, rules, table, state, scratch, keys, estimate, taught, generator, kept):  # type: ignore[no-untyped-def]
    """Play a simulation to its end, write what is kept of it, and return how many decisions there were.

    ``networks`` are shape, weights, parameters of the process and encodings. ``rules`` are contention,
    window, history of the process, whether actions are drawn (by ``generator``; otherwise they are their
    means), and whether it is noted what is ahead if the rule of ``keys`` takes over. ``estimate`` has those
    of all jobs, or none; ``taught`` is as :func:`teacher` returns it.
    """
    contention, window, _, _, looks_ahead = rules
    clock, d, row, s = state.clock, 0, 0, 0
    ends, times = np.zeros(2, dtype=np.int64), np.zeros((2, 2), dtype=np.int64)
    if looks_ahead:
        copy_state(state, scratch)
        run_by_rule(table, scratch, contention, window, keys, times[1].copy())
        ends[0], ends[1] = scratch.clock[WAITED], scratch.clock[USED]
    kept.final[0] = ends
    while advance(table, state, contention, window):
        names = waiting(state)[:window].copy()
        instances, need, intensity = table.instances[names], table.need[names], table.intensity[names]
        load = loads(running_rows(state), table.need[:, 0], table.intensity, state.free.shape[0])
        known = estimate[names] if estimate.size > 0 else estimate
        seen = table.submit[names], instances, need, intensity, known, clock[PENDING]
        jobs, fit = look_at_jobs(clock[NOW], table.capacity, state.free, *seen)
        machines = look_at_machines(table.capacity, state.free, load)
        kept.clock[d] = clock[NOW], clock[PENDING], clock[RUNNING], clock[WAITED], clock[USED]
        kept.jobs[row : row + names.size], kept.fits[row : row + names.size] = jobs, fit
        kept.machines[d] = machines
        scene = jobs, machines, fit, load, state.free
        waits = names, instances, need, intensity, clock[NOW] - table.submit[names]
        _tally(state, times[1])
        times[0, 0], times[0, 1] = 0, clock[RUNNING]
        for job in state.running[: clock[RUNNING]]:
            times[0, 0] += clock[NOW] - state.start[job]
        lesson = _lesson(taught, names, clock)
        rows, s = _decide(
            networks, rules, table.capacity, scene, waits, times, lesson, generator, kept, row, s
        )
        if looks_ahead:
            taken_over(table, state, scratch, contention, window, keys, times[1], rows, ends)
        start_rows(table, state, contention, rows)
        d += 1
        row += names.size
        kept.rows[d], kept.begun[d], kept.final[d] = row, s, ends
    kept.clock[d] = clock[NOW], clock[PENDING], clock[RUNNING], clock[WAITED], clock[USED]
    return d
