"""The best gang allocation: a mixed-integer program declared in Pyomo, solved by outer approximation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..base import numbers
from ..program import PyomoProgram, SolverError
from . import utility
from .gang import GangSetting

EQUATIONS = (
    "maximise    sum_l N_l (sum_{r,k} z[l,r,k] - p_l)",
    "subject to  z[l,r,k] <= f(Y') + f'(Y') (Y[l,r,k] - Y')   at tangent points Y'; exact if f is linear",
    "            Y[l,r,k] = sum_q y[l,q,r,k]",
    "            p_l >= beta_k sum_r Y[l,r,k]                  for all l, k",
    "            b v[l,q] <= sum_r y[l,q,r,k] <= a v[l,q]      for all l, q, k",
    "            m_l u_l <= sum_q v[l,q],  v[l,q] <= u_l       for all l, q",
    "            sum_{l,q} y[l,q,r,k] <= c[r,k],  y >= 0       for all r, k",
    "            u, v binary",
)
FIRST_TANGENTS = 6
"""Tangent points per concave utility before the first solve."""

MOST_ROUNDS = 100

SOLVER_TOLERANCE = 1e-10
"""What HiGHS may break limits and optimality conditions by, in units in which every limit is 1."""

MARGIN = 1e-9
"""Part of the gross reward that is added to HiGHS's bound for its tolerances."""


class BestGang(NamedTuple):
    """An allocation y[pair, kind], its true value, a bound on all others, whether the gap was reached."""

    y: np.ndarray
    value: float
    bound: float
    closed: bool


class Units(NamedTuple):
    """Units of the variables y (pairs, K), Y (E, K), z and p (``worth``), and of the weights.

    Devices of one kind may come by the billion and of another one by one, but solvers know one absolute
    tolerance.
    """

    y: np.ndarray
    total: np.ndarray
    worth: float
    weight: float

    @classmethod
    def plain(cls, setting: GangSetting) -> Units:
        """Return ones: the program as the equations say it."""
        return cls(np.ones(setting.shape), np.ones(setting.base.shape), 1.0, 1.0)

    @classmethod
    def scaled(cls, setting: GangSetting, weights: np.ndarray) -> Units:
        """Return the largest value that each variable can have, 1 where that is zero."""
        total = _limits(setting)
        worth = utility.value(setting.base.edge_kind, setting.base.edge_alpha, total).max(initial=0.0)
        y, total = (np.where(limit > 0.0, limit, 1.0) for limit in (_most(setting), total))
        return cls(y, total, float(worth) or 1.0, float(weights.max(initial=0.0)) or 1.0)


def gang_program(setting: GangSetting, weights: Any, units: Units | None = None) -> PyomoProgram:
    """Declare the mixed-integer program for weights N >= 0, shape (L,).

    Its variables are ``y`` (pairs, K), ``Y`` and ``z`` (E, K), ``p`` and ``u`` (L,), ``v`` (tasks,). Concave
    utilities enter by their tangents at a few points, so the optimum is never below the true one;
    :func:`add_tangents` tightens it. With ``units`` the variables are in those, and every row is divided by
    its own limit.

    Raises
    ------
    InputError
        If the weights do not fit or are negative.
    """
    import pyomo.environ as pyo

    n = numbers(weights, "weights", (setting.ports,))
    base = setting.base
    unit = Units.plain(setting) if units is None else units
    edges, kinds = base.shape
    pairs = range(setting.shape[0])
    each_kind = range(kinds)
    of_edge = _groups(setting.pair_edge, edges)
    of_task = _groups(setting.pair_task, len(setting.task_port))
    tasks_of = _groups(setting.task_port, setting.ports)
    edges_of = _groups(base.port, setting.ports)
    edges_on = _groups(base.server, base.servers)

    most = _most(setting) / unit.y

    def at_most(_m: Any, i: int, k: int) -> tuple[float, float]:
        return 0.0, float(most[i, k])

    def devices(e: int, k: int, divisor: float = 1.0) -> Any:
        return float(unit.total[e, k] / divisor) * m.Y[e, k]

    def own(limit: float) -> float:
        return 1.0 if units is None or limit <= 0.0 else float(limit)

    m = pyo.ConcreteModel("gang")
    m.y = pyo.Var(pairs, each_kind, bounds=at_most)
    m.Y = pyo.Var(range(edges), each_kind, bounds=(0.0, None))
    m.z = pyo.Var(range(edges), each_kind)
    m.p = pyo.Var(range(setting.ports), bounds=(0.0, None))
    m.u = pyo.Var(range(setting.ports), domain=pyo.Binary)
    m.v = pyo.Var(range(len(setting.task_port)), domain=pyo.Binary)
    m.reward = pyo.Objective(
        expr=sum(
            float(n[p] / unit.weight) * (sum(m.z[e, k] for e in edges_of[p] for k in each_kind) - m.p[p])
            for p in range(setting.ports)
        ),
        sense=pyo.maximize,
    )
    m.total = pyo.ConstraintList()
    m.overhead = pyo.ConstraintList()
    m.capacity = pyo.ConstraintList()
    m.task = pyo.ConstraintList()
    m.job = pyo.ConstraintList()
    m.tangent = pyo.ConstraintList()
    for k in each_kind:
        for e in range(edges):
            part = unit.y[:, k] / unit.total[e, k]
            m.total.add(m.Y[e, k] == sum(float(part[i]) * m.y[i, k] for i in of_edge[e]))
        for p in range(setting.ports):
            paid = sum(devices(e, k, unit.worth) for e in edges_of[p])
            m.overhead.add(m.p[p] >= float(base.overhead[k]) * paid)
        for r in range(base.servers):
            capacity = base.capacity[r, k]
            if len(edges_on[r]):
                used = sum(devices(e, k, own(capacity)) for e in edges_on[r])
                m.capacity.add(used <= float(capacity / own(capacity)))
        for g, rows in enumerate(of_task):
            a, b = setting.task_demand[g, k], setting.task_floor[g, k]
            held = sum(float(unit.y[i, k] / own(a)) * m.y[i, k] for i in rows)
            m.task.add(held - float(a / own(a)) * m.v[g] <= 0.0)
            m.task.add(held - float(b / own(a)) * m.v[g] >= 0.0)
    for p in range(setting.ports):
        m.job.add(sum(m.v[g] for g in tasks_of[p]) >= int(setting.minimum[p]) * m.u[p])
        for g in tasks_of[p]:
            m.job.add(m.v[g] <= m.u[p])
    program = PyomoProgram(
        m,
        {
            "y": setting.shape,
            "Y": base.shape,
            "z": base.shape,
            "p": (setting.ports,),
            "u": (setting.ports,),
            "v": (len(setting.task_port),),
        },
        title=f"The best gang allocation ({len(setting.task_port)} tasks of {setting.ports} ports)",
        equations=EQUATIONS,
    )
    limit = _limits(setting)
    for share in np.linspace(0.0, 1.0, FIRST_TANGENTS) ** 2:
        where = np.full(base.shape, share == 0.0) | ~_linear(setting)
        add_tangents(program, setting, share * limit, where, units)
    return program


def add_tangents(
    program: PyomoProgram, setting: GangSetting, at: np.ndarray, where: np.ndarray, units: Units | None = None
) -> None:
    """Add the tangents of f at the totals ``at``, shape (E, K), for the entries where ``where`` is true."""
    kind, alpha = setting.base.edge_kind, setting.base.edge_alpha
    unit = Units.plain(setting) if units is None else units
    slope = utility.slope(kind, alpha, at)
    offset = (utility.value(kind, alpha, at) - slope * at) / unit.worth
    slope = slope * unit.total / unit.worth
    m = program.model
    for e, k in np.argwhere(where).tolist():
        m.tangent.add(m.z[e, k] <= float(offset[e, k]) + float(slope[e, k]) * m.Y[e, k])


def best_gang(
    setting: GangSetting,
    weights: Any,
    *,
    gap: float = 1e-6,
    time_limit: float | None = None,
    report: Callable[[int, float], None] | None = None,
) -> BestGang:
    """Maximise sum_l N_l q_l(y) over the sound gang set.

    Each round solves the mixed-integer program in units in which every limit is 1, scores its allocation by
    the true reward, and adds tangents there. ``bound`` is HiGHS's plus ``MARGIN`` of the gross reward.

    Parameters
    ----------
    setting, weights
        The gang set and N >= 0, shape (L,).
    gap
        Relative gap (bound - value) / max(1, |bound|) to reach.
    time_limit
        Seconds. What runs out returns the best allocation so far (at worst to hold nothing) and the best
        bound.
    report
        Called after each round with its number and the gap.

    Raises
    ------
    InputError
        If the weights do not fit or are negative.
    SolverError
        If HiGHS fails, its allocation is infeasible beyond tolerance, or better than its bound.
    """
    end = math.inf if time_limit is None else time.perf_counter() + time_limit
    n = numbers(weights, "weights", (setting.ports,))
    gross = _ceiling(setting, n)
    best = BestGang(np.zeros(setting.shape), 0.0, gross, False)
    if setting.shape[0] == 0 or best.bound <= 0.0:
        return best._replace(bound=0.0, closed=True)
    if time.perf_counter() >= end or not math.isfinite(gross):
        return best
    units = Units.scaled(setting, n)
    program = gang_program(setting, n, units)
    for number in range(MOST_ROUNDS):
        left = end - time.perf_counter()
        if left <= 0.0:
            break
        solved = program.solve(
            time_limit=None if math.isinf(left) else left,
            gap=0.25 * gap,
            mip_abs_gap=0.0,
            mip_feasibility_tolerance=SOLVER_TOLERANCE,
            primal_feasibility_tolerance=SOLVER_TOLERANCE,
            dual_feasibility_tolerance=SOLVER_TOLERANCE,
            small_matrix_value=1e-12,
        )
        if solved.bound is not None:
            bound = solved.bound * units.worth * units.weight + MARGIN * gross
            best = best._replace(bound=min(best.bound, bound))
        if solved.value is None:
            if solved.status == "maxTimeLimit":
                break
            raise SolverError(f"HiGHS ended with {solved.status} on a program that has a solution")
        y = _settled(setting, solved.variables["v"], solved.variables["y"] * units.y)
        value = float(n @ setting.port_rewards(y))
        if value > best.value:
            best = best._replace(y=y, value=value)
        if best.value > best.bound:
            raise SolverError(f"HiGHS's bound {best.bound!r} is below the value {best.value!r}")
        distance = (best.bound - best.value) / max(1.0, abs(best.bound))
        if report is not None:
            report(number, distance)
        if distance <= gap:
            return best._replace(closed=True)
        total = setting.totals(y)
        true = utility.value(setting.base.edge_kind, setting.base.edge_alpha, total)
        loose = solved.variables["z"] * units.worth > true + 1e-12 * np.abs(true)
        if not loose.any():
            break
        add_tangents(program, setting, total, loose, units)
    return best


def _settled(setting: GangSetting, v: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the solver's y with the dust of its tolerances removed; raise if it is infeasible still."""
    y = np.where(v[setting.pair_task, None] > 0.5, np.maximum(y, 0.0), 0.0)
    broken = setting.violations(y)
    if broken:
        raise SolverError(f"HiGHS returned an infeasible gang allocation: {broken[0]}")
    return y


def _most(setting: GangSetting) -> np.ndarray:
    """Return the most a task can hold on a server, min(c, a), shape (pairs, K)."""
    capacity = setting.base.capacity[setting.base.server[setting.pair_edge]]
    most: np.ndarray = np.minimum(capacity, setting.task_demand[setting.pair_task])
    return most


def _limits(setting: GangSetting) -> np.ndarray:
    """Return the most an edge can carry, min(c, sum_q a), shape (E, K)."""
    total = setting.totals(setting.task_demand[setting.pair_task])
    limit: np.ndarray = np.minimum(total, setting.base.capacity[setting.base.server])
    return limit


def _ceiling(setting: GangSetting, n: np.ndarray) -> float:
    """Return sum N f at the most each edge can carry: no allocation is worth more."""
    with np.errstate(over="ignore", invalid="ignore"):
        gain = utility.value(setting.base.edge_kind, setting.base.edge_alpha, _limits(setting)).sum(axis=1)
        return float(n[setting.base.port] @ gain)


def _linear(setting: GangSetting) -> np.ndarray:
    result: np.ndarray = setting.base.edge_kind == utility.LINEAR
    return result


def _groups(owner: np.ndarray, count: int) -> list[list[int]]:
    """Return the indices that belong to each owner."""
    groups: list[list[int]] = [[] for _ in range(count)]
    for i, o in enumerate(owner.tolist()):
        groups[o].append(i)
    return groups
