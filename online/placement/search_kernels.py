"""Compiled kernels of the metaheuristics: a plan is valued by a rollout, and the good ones are kept.

A plan is a row of 2 w random keys in [0, 1] for w waiting jobs: they are tried in ascending order of the
first w keys, ties by submission, and the other w keys choose the rule by which each is placed (thirds:
FIRST_FIT, LOAD_BALANCE, CONSOLIDATE). Plans are valued by job-ticks in the system and GPU-ticks in use from
now on.
"""

from __future__ import annotations

import numpy as np

from ...models.compiled import njit
from ...models.placement import kernels as sim
from .plans import RULES

NICHES = 10.0
"""Plans are crowded if both objectives differ by less than the range of the archive over this."""

LOWEST = 1e-100
"""The lowest temperature, so that nothing is divided by 0."""

DIFFERENCE, CROSSOVER = 0.5, 0.9
"""F and CR of differential evolution."""


@njit(cache=True)
def remaining(seen_gpus, seen_ticks, gpus, age, prior):  # type: ignore[no-untyped-def]
    """Return the ticks that jobs of these GPUs and ages are expected still to take, shape (n,).

    Of the jobs that have ended and took longer than the age, those with as many GPUs count one each, and all
    of them together once more: the mean of what they took beyond the age. If none took that long, a job is
    expected to take as long again; before any job has ended, ``prior``.
    """
    result = np.full(gpus.size, prior)
    for i in range(gpus.size if seen_ticks.size else 0):
        alike, among, total, count = 0.0, 0, 0.0, 0
        for j in range(seen_ticks.size):
            over = seen_ticks[j] - age[i]
            if over > 0.0:
                total += over
                count += 1
                if seen_gpus[j] == gpus[i]:
                    alike += over
                    among += 1
        overall = total / count if count else age[i]
        result[i] = (overall + alike) / (1 + among)
    return result


@njit(cache=True)
def how_many_fit(table, state):  # type: ignore[no-untyped-def]
    """Return how many of the waiting jobs fit now, each for itself."""
    count = 0
    for job in sim.waiting(state):
        count += sim.fits(state.free, table.need[job], table.instances[job])
    return count


@njit(cache=True)
def _queue(forecast, keys):  # type: ignore[no-untyped-def]
    """Make ``work`` the state now, with the waiting jobs in the order of a plan; return the rules by job."""
    now, work = forecast.now, forecast.work
    sim.copy_state(now, work)
    w = now.clock[sim.PENDING]
    rules = np.zeros(now.start.size, dtype=np.int64)
    order = np.argsort(keys[:w], kind="mergesort")
    for p in range(w):
        sim.waiting(work)[p] = sim.waiting(now)[order[p]]
        rules[sim.waiting(now)[p]] = min(int(RULES * keys[w + p]), RULES - 1)
    return rules


@njit(cache=True)
def _starts(forecast, rules):  # type: ignore[no-untyped-def]
    """Write the rows that start now into ``rows`` and return how many; jobs that do not fit are skipped."""
    table, state = forecast.table, forecast.work
    free, at = state.free.copy(), 0
    total = np.empty(free.shape[1], dtype=np.int64)
    sim.summed(free, total)
    for job in sim.waiting(state):
        need, instances = table.need[job], table.instances[job]
        if sim.enough(total, need, instances) and sim.fits(free, need, instances):
            ranked = sim.machine_order(rules[job], free, table.capacity, need, instances)
            at = sim.fill(free, need, instances, ranked, job, forecast.rows, at)
            sim.summed(free, total)
    return at


@njit(cache=True)
def first_starts(forecast, keys):  # type: ignore[no-untyped-def]
    """Return the rows (job, machine, count) that a plan starts now."""
    rules = _queue(forecast, keys)
    return forecast.rows[: _starts(forecast, rules)].copy()


@njit(cache=True)
def rollout(forecast, keys):  # type: ignore[no-untyped-def]
    """Return the job-ticks in the system and the GPU-ticks in use from now on if a plan is carried out."""
    rules = _queue(forecast, keys)
    work = forecast.work
    going = True
    while going:
        sim.start_rows(forecast.table, work, forecast.contention, forecast.rows[: _starts(forecast, rules)])
        going = sim.advance(forecast.table, work, forecast.contention, work.pending.size)
    return work.clock[sim.WAITED], work.clock[sim.USED]


@njit(cache=True)
def best(archive, weight):  # type: ignore[no-untyped-def]
    """Return the plan of least cost, ties by GPU-ticks."""
    values, found = archive.values, 0
    for i in range(1, archive.size[0]):
        cost = values[i, 0] + weight * values[i, 1]
        least = values[found, 0] + weight * values[found, 1]
        if cost < least or (cost == least and values[i, 1] < values[found, 1]):
            found = i
    return found


@njit(cache=True)
def crowding(archive):  # type: ignore[no-untyped-def]
    """Return the number of plans near each one in both objectives, itself included."""
    count = archive.size[0]
    values = archive.values[:count].astype(np.float64)
    result = np.zeros(count, dtype=np.int64)
    near = np.zeros(2)
    for q in range(2):
        near[q] = (values[:, q].max() - values[:, q].min()) / NICHES
    for i in range(count):
        for j in range(count):
            result[i] += (
                abs(values[i, 0] - values[j, 0]) <= near[0] and abs(values[i, 1] - values[j, 1]) <= near[1]
            )
    return result


@njit(cache=True)
def _copy_plan(archive, source, target):  # type: ignore[no-untyped-def]
    archive.keys[target] = archive.keys[source]
    archive.values[target] = archive.values[source]


@njit(cache=True)
def _thin(archive, weight):  # type: ignore[no-untyped-def]
    """Drop the most crowded plan; those best in one objective or in cost stay."""
    count = archive.size[0]
    crowd = crowding(archive)
    crowd[best(archive, weight)] = 0
    crowd[np.argmin(archive.values[:count, 0])] = 0
    crowd[np.argmin(archive.values[:count, 1])] = 0
    _copy_plan(archive, count - 1, np.argmax(crowd))
    archive.size[0] = count - 1


@njit(cache=True)
def keep(archive, keys, waited, used, weight):  # type: ignore[no-untyped-def]
    """Keep a plan, unless a kept one is as good in both objectives; drop those that it is as good as."""
    values = archive.values
    for i in range(archive.size[0]):
        if values[i, 0] <= waited and values[i, 1] <= used:
            return
    kept = 0
    for i in range(archive.size[0]):
        if values[i, 0] < waited or values[i, 1] < used:
            _copy_plan(archive, i, kept)
            kept += 1
    archive.size[0] = kept
    if kept == values.shape[0]:
        _thin(archive, weight)
    at = archive.size[0]
    archive.keys[at] = keys
    values[at, 0], values[at, 1] = waited, used
    archive.size[0] = at + 1


@njit(cache=True)
def _judge(forecast, archive, keys):  # type: ignore[no-untyped-def]
    """Value a plan, keep it if it is worth it, and return its two objectives in ticks."""
    waited, used = rollout(forecast, keys)
    keep(archive, keys, waited, used, forecast.weight)
    return waited, used


@njit(cache=True)
def acceptance(waited, used, scale, temperature):  # type: ignore[no-untyped-def]
    """Return the probability of going on from a plan with so many more job-ticks and GPU-ticks."""
    worse = max(0.0, waited * scale[0]) + max(0.0, used * scale[1])
    return np.exp(-worse / max(temperature, LOWEST))


@njit(cache=True)
def anneal(forecast, archive, seeds, rng, iterations, temperature, cooling):  # type: ignore[no-untyped-def]
    """Fill the archive by simulated annealing, beginning with the best of the seeds.

    In turn, a job gets another key in the order, and one another rule.
    """
    for i in range(seeds.shape[0]):
        _judge(forecast, archive, seeds[i])
    at = best(archive, forecast.weight)
    current, w = archive.keys[at].copy(), seeds.shape[1] // 2
    waited, used = archive.values[at, 0], archive.values[at, 1]
    for t in range(iterations):
        candidate = current.copy()
        p, change = int(w * rng.random()), rng.random()
        if t % 2 and forecast.table.capacity.shape[0] > 1:
            moved = current[w + p] + (1.0 + np.floor((RULES - 1) * change)) / RULES
            candidate[w + p] = moved - np.floor(moved)
        else:
            candidate[p] = change
        then = _judge(forecast, archive, candidate)
        chance = acceptance(then[0] - waited, then[1] - used, forecast.scale, temperature)
        if rng.random() < chance:
            current, waited, used = candidate, then[0], then[1]
        temperature *= cooling


@njit(cache=True)
def walk(centre, reach, step, steps, rng):  # type: ignore[no-untyped-def]
    """Return the position of a random walk of so many steps at one of them.

    Steps are up or down by one; the walk is stretched so that it covers just what is within ``reach`` of the
    centre and within [0, 1].
    """
    place = low = high = here = 0
    for t in range(1, steps + 1):
        place += 1 if rng.random() < 0.5 else -1
        low, high = min(low, place), max(high, place)
        if t == step:
            here = place
    left, right = max(0.0, centre - reach), min(1.0, centre + reach)
    return left + (right - left) * (here - low) / (high - low)


@njit(cache=True)
def _roulette(archive, rng):  # type: ignore[no-untyped-def]
    """Return a plan of the archive, drawn with chances inverse to its crowding."""
    chances = np.cumsum(1.0 / crowding(archive))
    return min(np.searchsorted(chances, chances[-1] * rng.random(), side="right"), chances.size - 1)


@njit(cache=True)
def _refine(archive, ants, rng):  # type: ignore[no-untyped-def]
    """Return a plan of the archive to which part of the difference of two ants is added."""
    trial = archive.keys[_roulette(archive, rng)].copy()
    one = int(ants.shape[0] * rng.random())
    other = (one + 1 + int((ants.shape[0] - 1) * rng.random())) % ants.shape[0]
    sure = int(trial.size * rng.random())
    for d in range(trial.size):
        if rng.random() < CROSSOVER or d == sure:
            moved = trial[d] + DIFFERENCE * (ants[one, d] - ants[other, d])
            trial[d] = min(max(moved, 0.0), 1.0)
    return trial


@njit(cache=True)
def hunt(forecast, archive, seeds, rng, iterations, population):  # type: ignore[no-untyped-def]
    """Fill the archive by ants that walk around its plans, and by differential evolution of its plans.

    The seeds and random plans are the first ants. In iteration t of T, each ant goes to the mean of a walk
    around a plan drawn from the archive and one around the best plan, with reach w^(-t / T); then as many of
    the archive's plans as there are ants over five, at least one, are refined.
    """
    for i in range(seeds.shape[0]):
        _judge(forecast, archive, seeds[i])
    if iterations == 0:
        return
    size, w = seeds.shape[1], seeds.shape[1] // 2
    ants = np.empty((population, size))
    for i in range(population):
        if i < seeds.shape[0]:
            ants[i] = seeds[i]
        else:
            for d in range(size):
                ants[i, d] = rng.random()
            _judge(forecast, archive, ants[i])
    for t in range(1, iterations + 1):
        reach = float(w) ** (-t / iterations)
        elite = archive.keys[best(archive, forecast.weight)].copy()
        for i in range(population):
            lion = archive.keys[_roulette(archive, rng)].copy()
            for d in range(size):
                near = walk(lion[d], reach, t, iterations, rng)
                ants[i, d] = 0.5 * (near + walk(elite[d], reach, t, iterations, rng))
            _judge(forecast, archive, ants[i])
        for _ in range(max(1, population // 5)):
            trial = _refine(archive, ants, rng)
            _judge(forecast, archive, trial)
