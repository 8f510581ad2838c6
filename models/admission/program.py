"""The integer programs of the admission problem, declared in Pyomo beside the paper's equations.

Amounts enter as whole multiples of what divides all demands of a row, so that the programs are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..base import InputError
from ..program import CAREFUL, PyomoProgram
from ..stopwatch import library
from .instance import AdmissionInstance
from .jobs import Job
from .schedule import Plan
from .setting import Setting

BITS = 12
"""Larger capacities, in whole numbers, are divided by a power of two that brings them below 2^BITS."""

TIMING = (
    "maximise    sum_i sum_d f_i(d - a_i) u[i,d]            i is done by slot d         (1)",
    "subject to  sum_d u[i,d] <= 1                          for all i                   (8) (11)",
    "            sum_t Y[i,t] = W_i sum_d u[i,d]            for all i                   (2)",
    "            sum_{s<=t} Y[i,s] >= sum_d max(0, W_i - M_i (d - t)+) u[i,d]           (2) (8)",
    "            Y[i,t] <= M_i sum_{d>=t} u[i,d]            for all i, t                (3) (8)",
    "                M_i: the most workers of i in a slot of the empty cluster, at most W_i",
    "            rho_i Y[i,t] <= Z[i,t]                     for all i, t                (6)",
    "                rho_i = min_{0<y<=M_i} ceil(y b_i/B_i) / y: the same whole Y and Z as b_i Y <= B_i Z",
    "            Z[i,t] <= Y[i,t]                           for all i, t                (7)",
)
COMPACT_EQUATIONS = (
    *TIMING,
    "            Y[i,t] = sum_h y[i,h,t],  Z[i,t] = sum_k z[i,k,t]      for all i, t >= a_i  (9) (10)",
    "            sum_i w_i^r y[i,h,t] <= c_h^r              for all h, r, t             (4)",
    "            sum_i s_i^r z[i,k,t] <= c_k^r              for all k, r, t             (5)",
    "            u binary, y and z whole and at most what the empty machine holds       (11)-(13)",
)
SCHEDULE_EQUATIONS = (
    "maximise    sum_l f_i(t_l - a_i) x[l]                                              (14)",
    "subject to  sum_l w_i^r y_h^l(t) x[l] <= c_h^r         for all h, r, t             (15)",
    "            sum_l s_i^r z_k^l(t) x[l] <= c_k^r         for all k, r, t             (16)",
    "            sum_{l of i} x[l] <= 1                     for all i                   (17)",
    "            x binary                                   l: a schedule of its job i  (18)",
)


class Row(NamedTuple):
    """A row of (4) or (5): whole ``needs`` of the terms, and the whole ``limit`` of their sum."""

    needs: list[int]
    limit: int


def capacity_row(needs: Sequence[int], most: Sequence[int], capacity: int) -> Row | None:
    """Return sum_j needs[j] x[j] <= capacity in the smallest whole numbers, or ``None`` if it always holds.

    ``needs`` are whole amounts > 0, ``most`` is the largest x[j]. The capacity, whole, is rounded down to
    what whole x can reach.
    """
    unit = math.gcd(*needs)
    row = Row([need // unit for need in needs], capacity // unit)
    return row if sum(n * m for n, m in zip(row.needs, most, strict=True)) > row.limit else None


def least_ratio(job: Job, most: int) -> Fraction:
    """Return rho = min ceil(y b / B) / y over y = 1, ..., most (6).

    For whole y <= most, ceil(rho y) = ceil(y b / B): the tightest slope that asks for the same parameter
    servers.
    """
    return min(Fraction(int(job.servers_for[y]), y) for y in range(1, most + 1))


class Timing(NamedTuple):
    """The work and the deadlines of a job that can finish, with slots counted from 0."""

    most: int  # M: workers in a slot of the empty cluster, at most W
    deadlines: range  # the slots by which it can be done, ascending
    # Of every slot t from its arrival: worker-slots that are done by the end of t if the deadline is d, for
    # the deadlines in order. In the last slot they are W.
    cuts: dict[int, list[int]]
    ratio: Fraction  # rho of (6)


def timing(setting: Setting, job: Job) -> Timing:
    """Return the :class:`Timing` of a job that can finish."""
    most = min(setting.most_workers(job), job.work)
    first = job.arrival - 1
    deadlines = range(first - (-job.work // most) - 1, setting.horizon)
    cuts = {
        t: [max(0, job.work - most * max(0, d - t)) for d in deadlines] for t in range(first, setting.horizon)
    }
    return Timing(most, deadlines, cuts, least_ratio(job, most))


def able(instance: AdmissionInstance) -> list[Job]:
    """Return the jobs that can finish."""
    return [job for job in instance.jobs if job.index not in instance.never]


def compact_program(instance: AdmissionInstance) -> PyomoProgram:
    """Declare the best schedules of all jobs (1)-(13), with 0/1 variables for deadlines in place of (8).

    u[i,d] = 1 promises that job i is done by slot d. It may be done earlier, so that the schedule earns at
    least the objective, and as much in an optimum. More work than W_i is of no use, so (2) is an equation.
    Jobs that can never finish have no variables.

    Variables are ``u``, ``Y`` and ``Z`` [job, slot], and ``y`` and ``z`` [job, machine, slot]; slot t has the
    index t - 1. Rows are ``once`` (8), ``work`` (2), ``stop`` (3), ``bandwidth`` (6), ``servers`` (7), and
    ``worker_sum``, ``server_sum``, ``worker_capacity`` (4) and ``server_capacity`` (5) [machine, resource,
    slot].
    """
    pyo = library("pyomo.environ")

    m, shapes = _timing_model("compact", instance)
    setting, jobs = instance.setting, able(instance)
    for name, total, side in (("y", "Y", _workers(instance)), ("z", "Z", _servers(instance))):
        room = {job.index: np.minimum(side.room(setting, job), job.work).tolist() for job in jobs}
        keys = [(i, h, t) for i, t in getattr(m, total) for h, most in enumerate(room[i]) if most]
        x = pyo.Var(keys, domain=pyo.NonNegativeIntegers, bounds=lambda _, i, h, *__, r=room: (0, r[i][h]))
        setattr(m, name, x)
        terms: dict[tuple[int, int], list[Any]] = {key: [] for key in getattr(m, total)}
        for i, h, t in keys:
            terms[i, t].append(x[i, h, t])
        rows = {
            key: (0, _linear([1] * len(xs) + [-1], [*xs, getattr(m, total)[key]]), 0)
            for key, xs in terms.items()
        }
        setattr(m, f"{side.name}_sum", _constraints(rows))
        setattr(m, f"{side.name}_capacity", _constraints(_capacities(side, x)))
        shapes[name] = (len(instance.jobs), len(side.capacity), setting.horizon)
    return _program(m, shapes, "The best schedules of all jobs", instance, COMPACT_EQUATIONS)


def schedule_program(instance: AdmissionInstance, plans: Sequence[Plan]) -> PyomoProgram:
    """Declare the choice among given schedules of the jobs, (14)-(18).

    The multipliers of its linear relaxation are prices: of (15) and (16) those of machines, of (17) the
    payoffs mu_i of (19).

    The plans are schedules of single jobs; what one earns is what its schedule earns by (1), its completion
    and its prices do not count. One that breaks a constraint by itself is an InputError. The variable is
    ``x`` [plan]; rows are ``job`` (17) [job], and ``worker_capacity`` (15) and ``server_capacity`` (16)
    [machine, resource, slot].
    """
    pyo = library("pyomo.environ")

    for number, plan in enumerate(plans):
        broken = instance.violations(plan.schedule)
        if broken or plan.schedule.jobs.tolist() != [plan.job]:
            why = broken[0] if broken else f"its schedule is not one of job {plan.job}"
            raise InputError(f"plans[{number}]: {why}")
    m = pyo.ConcreteModel("schedules")
    m.x = pyo.Var(range(len(plans)), domain=pyo.Binary)
    utilities = [float(instance.rewards(plan.schedule).sum()) for plan in plans]
    m.utility = pyo.Objective(expr=_linear(utilities, list(m.x.values())), sense=pyo.maximize)
    of_job: dict[int, list[Any]] = {}
    for number, plan in enumerate(plans):
        of_job.setdefault(plan.job, []).append(m.x[number])
    m.job = _constraints({i: (None, _linear([1] * len(xs), xs), 1) for i, xs in sorted(of_job.items())})
    for side, parts in (
        (_workers(instance), [plan.schedule.workers for plan in plans]),
        (_servers(instance), [plan.schedule.servers for plan in plans]),
    ):
        setattr(m, f"{side.name}_capacity", _constraints(_used(side, parts, m.x)))
    title = f"The best of {len(plans)} schedules"
    return _program(m, {"x": (len(plans),)}, title, instance, SCHEDULE_EQUATIONS)


class _Side(NamedTuple):
    """The machines of one kind: what they have, and what a worker or parameter server of each job takes."""

    name: str
    capacity: np.ndarray
    needs: np.ndarray
    room: Any


def _workers(instance: AdmissionInstance) -> _Side:
    return _Side("worker", instance.setting.worker_units, instance.worker_needs, Setting.worker_room)


def _servers(instance: AdmissionInstance) -> _Side:
    return _Side("server", instance.setting.server_units, instance.server_needs, Setting.server_room)


def _timing_model(name: str, instance: AdmissionInstance) -> tuple[Any, dict[str, tuple[int, ...]]]:
    """Return a model with u, Y, Z and all rows but those of machines, and the shapes of its variables."""
    pyo = library("pyomo.environ")

    horizon, jobs = instance.setting.horizon, able(instance)
    times = {job.index: timing(instance.setting, job) for job in jobs}
    m = pyo.ConcreteModel(name)
    m.u = pyo.Var([(i, d) for i, time in times.items() for d in time.deadlines], domain=pyo.Binary)
    keys = [(job.index, t) for job in jobs for t in range(job.arrival - 1, horizon)]
    most = {job.index: (times[job.index].most, int(job.servers_for[times[job.index].most])) for job in jobs}
    m.Y = pyo.Var(keys, domain=pyo.NonNegativeIntegers, bounds=lambda _, *key: (0, most[key[0]][0]))
    m.Z = pyo.Var(keys, domain=pyo.NonNegativeIntegers, bounds=lambda _, *key: (0, most[key[0]][1]))
    utilities = [instance.jobs[i].utility(d - instance.jobs[i].arrival + 1) for i, d in m.u]
    m.utility = pyo.Objective(expr=_linear(utilities, list(m.u.values())), sense=pyo.maximize)
    ends = {i: [m.u[i, d] for d in time.deadlines] for i, time in times.items()}
    m.once = _constraints({i: (None, _linear([1] * len(us), us), 1) for i, us in ends.items()})
    m.work = _constraints({(i, t): _work_row(m, i, t, times[i]) for i, t in keys})
    m.stop = _constraints({(i, t): _stop_row(m, i, t, times[i]) for i, t in keys})
    m.bandwidth = _constraints(
        {
            (i, t): (0, _linear([r.denominator, -r.numerator], [m.Z[i, t], m.Y[i, t]]), None)
            for i, t in keys
            for r in [times[i].ratio]
        }
    )
    m.servers = _constraints({key: (0, _linear([1, -1], [m.Y[key], m.Z[key]]), None) for key in keys})
    size = (len(instance.jobs), horizon)
    return m, {"u": size, "Y": size, "Z": size}


def _work_row(m: Any, i: int, t: int, time: Timing) -> tuple[Any, Any, Any]:
    """Return the row (2) of a job up to slot t: an equation in the last slot."""
    owed = {d: done for d, done in zip(time.deadlines, time.cuts[t], strict=True) if done}
    slots = [m.Y[i, s] for s in time.cuts if s <= t]
    body = _linear([1] * len(slots) + [-done for done in owed.values()], slots + [m.u[i, d] for d in owed])
    return (0, body, 0 if t == time.deadlines[-1] else None)


def _stop_row(m: Any, i: int, t: int, time: Timing) -> tuple[Any, Any, Any]:
    """Return the row Y[i,t] <= M sum_{d>=t} u[i,d]."""
    later = [m.u[i, d] for d in time.deadlines if d >= t]
    return (None, _linear([1] + [-time.most] * len(later), [m.Y[i, t], *later]), 0)


def _capacities(side: _Side, x: Mapping[tuple[int, int, int], Any]) -> dict[Any, tuple[Any, Any, Any]]:
    """Return the rows (4) or (5) that can bind, of variables by job, machine and slot."""
    found: dict[tuple[int, int], list[int]] = {}
    for i, h, t in x:
        found.setdefault((h, t), []).append(i)
    rows = {}
    for (h, t), jobs in sorted(found.items()):
        for r, capacity in enumerate(side.capacity[h].tolist()):
            asking = [i for i in jobs if side.needs[i, r]]
            if asking:
                xs = [x[i, h, t] for i in asking]
                row = capacity_row(side.needs[asking, r].tolist(), [v.ub for v in xs], capacity)
                if row is not None:
                    rows[h, r, t] = _scaled(row, xs)
    return rows


def _used(side: _Side, parts: Sequence[np.ndarray], x: Any) -> dict[Any, tuple[Any, Any, Any]]:
    """Return the rows (15) or (16) that can bind, of schedules with the rows (slot, job, machine, count)."""
    taken: dict[tuple[int, int, int], dict[int, int]] = {}
    for number, part in enumerate(parts):
        for slot, i, h, count in part.tolist():
            for r in np.flatnonzero(side.needs[i]).tolist():
                taken.setdefault((h, r, slot - 1), {})[number] = count * int(side.needs[i, r])
    rows = {}
    for (h, r, t), needs in sorted(taken.items()):
        row = capacity_row(list(needs.values()), [1] * len(needs), int(side.capacity[h, r]))
        if row is not None:
            rows[h, r, t] = _scaled(row, [x[number] for number in needs])
    return rows


def _scaled(row: Row, xs: list[Any]) -> tuple[Any, Any, Any]:
    """Return a row for Pyomo, divided by a power of two if its limit is not below 2^BITS."""
    unit = 2.0 ** max(0, row.limit.bit_length() - BITS)
    return (None, _linear([need / unit for need in row.needs], xs), row.limit / unit)


def _linear(weights: Sequence[float], xs: Sequence[Any]) -> Any:
    LinearExpression = library("pyomo.core.expr").LinearExpression

    return LinearExpression(linear_coefs=list(weights), linear_vars=list(xs))


def _constraints(rows: Mapping[Any, tuple[Any, Any, Any]]) -> Any:
    """Return constraints lower <= body <= upper by their index."""
    pyo = library("pyomo.environ")

    return pyo.Constraint(list(rows), rule=lambda _, *key: rows[key if len(key) > 1 else key[0]])


def _program(
    m: Any,
    shapes: Mapping[str, tuple[int, ...]],
    title: str,
    instance: AdmissionInstance,
    equations: tuple[str, ...],
) -> PyomoProgram:
    s = instance.setting
    machines = f"{len(s.worker_units)} + {len(s.server_units)} machines"
    size = f"{len(instance.jobs)} jobs, {s.horizon} slots, {machines}, {len(s.resources)} resources"
    return PyomoProgram(m, shapes, title=f"{title} ({size})", equations=equations, highs_options=CAREFUL)
