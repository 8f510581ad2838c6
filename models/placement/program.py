"""The placement problem without contention as a mixed-integer program, declared in Pyomo.

It asks at the start of each job what runs then: in a schedule whose machines hold their jobs at every start,
they hold them at all times. Time is counted in steps that divide all submissions and durations.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..base import InputError
from ..program import CAREFUL, PyomoProgram
from ..stopwatch import library
from .instance import WEIGHT_UNIT, PlacementInstance
from .jobs import TICKS
from .simulator import rooms

EXACT = {**CAREFUL, "mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
"""Options of HiGHS: times are large beside a step, so that its usual tolerances would show in them."""

EQUATIONS = (
    "minimise    sum_i (u e[i] - a_i) + lambda u sum_i g_i sum_K d_i(K) z[i,K]  JCT and GPU-seconds",
    "                u: seconds of a step, a_i: submission, g_i: GPUs of all instances",
    "subject to  sum_k c[i,k] = C_i                    for all i                 all instances or none",
    "            p[i,k] <= c[i,k] <= R_ik p[i,k]       for all i, k              i is on machine k",
    "                R_ik: the most instances of i that the empty machine k holds",
    "            sum_k p[i,k] = sum_K K z[i,K],  sum_K z[i,K] = 1   for all i    i spans K machines",
    "            e[i] = s[i] + sum_K d_i(K) z[i,K]     for all i                 and then takes d_i(K)",
    "            x[i,j] + x[j,i] + b[i,j] + b[j,i] = 1 for all i < j             one of these holds:",
    "                x[i,j]: j starts first and still runs, or so it is counted, when i starts",
    "                b[i,j]: i is done when j starts",
    "            s[j] + 1_{j>i} <= s[i] + H (1 - x[i,j])   for all i != j        of two at once the one",
    "            e[i] <= s[j] + H (1 - b[i,j])             for all i != j        before is said to be first",
    "            y[i,j,k] >= c[j,k] - R_jk (1 - x[i,j])    for all i != j, k     instances of j then on k",
    "            n_i^r c[i,k] + sum_j n_j^r y[i,j,k] <= c_k^r   for all i, k, r  what machine k holds",
    "            c whole, x, b, p, z binary, y >= 0, s[i] >= a_i / u",
)


def steps(instance: PlacementInstance) -> int:
    """Return the most ticks that divide all submissions and possible durations; 1 if all are 0."""
    duration = instance.table.duration
    return math.gcd(*instance.jobs.submit.tolist(), *duration[duration > 0].tolist()) or 1


def placement_program(instance: PlacementInstance) -> PyomoProgram:
    """Declare the best placement of all jobs without contention, where any number of jobs may start.

    Variables are ``s`` and ``e`` [job], in steps of :func:`steps` ticks; ``c`` and ``p`` [job, machine];
    ``z`` [job, machines spanned]; ``x`` and ``b`` [job, job]; ``y`` [job, job, machine]. The objective is in
    seconds. Jobs that contend, or more of them than the window holds, are an InputError.
    """
    pyo = library("pyomo.environ")

    refuse_contention(instance)
    jobs, capacity = instance.jobs, instance.setting.capacity
    n, machines, step = len(jobs), len(capacity), steps(instance)
    duration = instance.table.duration // step
    room = {i: rooms(capacity, jobs.need[i], int(jobs.instances[i])).tolist() for i in range(n)}
    release = (jobs.submit // step).tolist()
    horizon = int(jobs.submit.max(initial=0)) // step + int(duration.max(axis=1, initial=0).sum())
    m = pyo.ConcreteModel("placement")
    places = [(i, k) for i in range(n) for k in range(machines) if room[i][k]]
    pairs = list(itertools.permutations(range(n), 2))
    spans = [(i, K) for i in range(n) for K in range(1, duration.shape[1]) if duration[i, K] > 0]
    here = [(i, j, k) for i, j in pairs for k in range(machines) if room[i][k] and room[j][k]]
    m.s = pyo.Var(range(n), bounds=lambda _, i: (release[i], horizon))
    m.e = pyo.Var(range(n), bounds=lambda _, i: (release[i], horizon))
    m.c = pyo.Var(places, domain=pyo.NonNegativeIntegers, bounds=lambda _, i, k: (0, room[i][k]))
    m.p = pyo.Var(places, domain=pyo.Binary)
    m.z = pyo.Var(spans, domain=pyo.Binary)
    m.x = pyo.Var(pairs, domain=pyo.Binary)
    m.b = pyo.Var(pairs, domain=pyo.Binary)
    m.y = pyo.Var(here, bounds=lambda _, *key: (0, room[key[1]][key[2]]))
    m.cost = pyo.Objective(expr=_cost(instance, m, step, duration), sense=pyo.minimize)
    _declare_jobs(instance, m, room, duration)
    _declare_order(m, pairs, horizon)
    m.counted = pyo.Constraint(
        here, rule=lambda m, i, j, k: m.y[i, j, k] >= m.c[j, k] - room[j][k] * (1 - m.x[i, j])
    )
    m.capacity = _capacities(instance, m, places, here)
    shapes = {"s": (n,), "e": (n,), "c": (n, machines), "p": (n, machines), "z": duration.shape}
    shapes |= {"x": (n, n), "b": (n, n), "y": (n, n, machines)}
    title = f"The best placement of all jobs ({n} jobs, {machines} machines, steps of {step / TICKS:g} s)"
    return PyomoProgram(m, shapes, title=title, equations=EQUATIONS, highs_options=EXACT)


def refuse_contention(instance: PlacementInstance) -> None:
    """Raise InputError if jobs contend, or if there are more of them than the window holds."""
    setting = instance.setting
    if setting.slowdown.contention > 0.0:
        raise InputError(
            f"slowdown.contention: {setting.slowdown.contention!r} is above 0; the program knows none"
        )
    if len(instance.jobs) > setting.window:
        raise InputError(
            f"window: {setting.window} is less than the {len(instance.jobs)} jobs; the program knows none"
        )


def _cost(instance: PlacementInstance, m: Any, step: int, duration: np.ndarray) -> Any:
    """Return the objective, with what every schedule pays for GPUs as a constant, beyond any tolerance."""
    jobs, seconds = instance.jobs, step / TICKS
    fixed = -sum(jobs.submit.tolist()) / TICKS + instance.unavoidable / (TICKS * WEIGHT_UNIT)
    rates = (instance.setting.gpu_weight * seconds * jobs.gpus).tolist()
    longer = (duration - (jobs.duration // step)[:, None]).tolist()
    fees = sum(rates[i] * longer[i][K] * z for (i, K), z in m.z.items() if rates[i] and longer[i][K])
    return sum(seconds * m.e[i] for i in range(len(jobs))) + fees + fixed


def _declare_jobs(
    instance: PlacementInstance, m: Any, room: dict[int, list[int]], duration: np.ndarray
) -> None:
    """Declare the rows of single jobs: their instances, machines and ends."""
    pyo = library("pyomo.environ")

    n = len(instance.jobs)
    places: dict[int, list[int]] = {i: [k for k, most in enumerate(room[i]) if most] for i in range(n)}
    spans: dict[int, list[int]] = {i: np.flatnonzero(duration[i] > 0).tolist() for i in range(n)}
    total = instance.jobs.instances.tolist()
    m.gang = pyo.Constraint(range(n), rule=lambda m, i: sum(m.c[i, k] for k in places[i]) == total[i])
    m.on = pyo.Constraint(list(m.c), rule=lambda m, i, k: m.p[i, k] <= m.c[i, k])
    m.off = pyo.Constraint(list(m.c), rule=lambda m, i, k: m.c[i, k] <= room[i][k] * m.p[i, k])
    m.spans = pyo.Constraint(
        range(n), rule=lambda m, i: sum(m.p[i, k] for k in places[i]) == sum(K * m.z[i, K] for K in spans[i])
    )
    m.one_span = pyo.Constraint(range(n), rule=lambda m, i: sum(m.z[i, K] for K in spans[i]) == 1)
    m.ends = pyo.Constraint(
        range(n), rule=lambda m, i: m.e[i] == m.s[i] + sum(int(duration[i, K]) * m.z[i, K] for K in spans[i])
    )


def _declare_order(m: Any, pairs: list[tuple[int, int]], horizon: int) -> None:
    """Declare which job starts first, and whether it is done when the other one starts."""
    pyo = library("pyomo.environ")

    m.relation = pyo.Constraint(
        [(i, j) for i, j in pairs if i < j],
        rule=lambda m, i, j: m.x[i, j] + m.x[j, i] + m.b[i, j] + m.b[j, i] == 1,
    )
    m.first = pyo.Constraint(
        pairs, rule=lambda m, i, j: m.s[j] + int(j > i) <= m.s[i] + (horizon + 1) * (1 - m.x[i, j])
    )
    m.done = pyo.Constraint(pairs, rule=lambda m, i, j: m.e[i] <= m.s[j] + horizon * (1 - m.b[i, j]))


def _capacities(
    instance: PlacementInstance, m: Any, places: list[tuple[int, int]], here: list[tuple[int, int, int]]
) -> Any:
    """Return the rows of what each machine holds when a job starts, in whole numbers as small as can be."""
    pyo = library("pyomo.environ")

    need, capacity = instance.jobs.need, instance.setting.capacity
    others: dict[tuple[int, int], list[int]] = {place: [] for place in places}
    for i, j, k in here:
        others[i, k].append(j)
    rows = {}
    for i, k in places:
        for r in range(need.shape[1]):
            unit = math.gcd(*need[[i, *others[i, k]], r].tolist())
            amounts = {j: int(need[j, r]) // unit for j in others[i, k] if need[j, r]}
            if need[i, r] and amounts:
                mine = int(need[i, r]) // unit * m.c[i, k]
                taken = sum(amount * m.y[i, j, k] for j, amount in amounts.items())
                rows[i, k, r] = mine + taken <= int(capacity[k, r]) // unit
    return pyo.Constraint(list(rows), rule=lambda _, i, k, r: rows[i, k, r])
