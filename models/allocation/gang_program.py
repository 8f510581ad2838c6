"""The best gang allocation as the equations say it: a mixed-integer program in Pyomo, to read and to export.

:mod:`.gang_search` finds the optimum by a search of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import numbers
from ..program import CAREFUL, PyomoProgram
from ..stopwatch import library
from . import utility
from .gang import AllocationGangSetting

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
TANGENTS = 6
"""Tangent points per concave utility."""


def gang_program(setting: AllocationGangSetting, weights: Any) -> PyomoProgram:
    """Declare the mixed-integer program for weights N >= 0, shape (L,).

    Its variables are ``y`` (pairs, K), ``Y`` and ``z`` (E, K), ``p`` and ``u`` (L,), ``v`` (tasks,). Concave
    utilities enter by their tangents at a few points, so the optimum is never below the true one.
    """
    pyo = library("pyomo.environ")

    n = numbers(weights, "weights", (setting.ports,))
    base = setting.base
    edges, kinds = base.shape
    each_kind = range(kinds)
    of_edge = _groups(setting.pair_edge, edges)
    of_task = _groups(setting.pair_task, len(setting.task_port))
    tasks_of = _groups(setting.task_port, setting.ports)
    edges_of = _groups(base.port, setting.ports)
    edges_on = _groups(base.server, base.servers)

    m = pyo.ConcreteModel("gang")
    m.y = pyo.Var(range(setting.shape[0]), each_kind, bounds=(0.0, None))
    m.Y = pyo.Var(range(edges), each_kind, bounds=(0.0, None))
    m.z = pyo.Var(range(edges), each_kind)
    m.p = pyo.Var(range(setting.ports), bounds=(0.0, None))
    m.u = pyo.Var(range(setting.ports), domain=pyo.Binary)
    m.v = pyo.Var(range(len(setting.task_port)), domain=pyo.Binary)
    m.reward = pyo.Objective(
        expr=sum(
            float(n[p]) * (sum(m.z[e, k] for e in edges_of[p] for k in each_kind) - m.p[p])
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
            m.total.add(m.Y[e, k] == sum(m.y[i, k] for i in of_edge[e]))
        for p in range(setting.ports):
            m.overhead.add(m.p[p] >= float(base.overhead[k]) * sum(m.Y[e, k] for e in edges_of[p]))
        for r in range(base.servers):
            if len(edges_on[r]):
                m.capacity.add(sum(m.Y[e, k] for e in edges_on[r]) <= float(base.capacity[r, k]))
        for g, rows in enumerate(of_task):
            total = sum(m.y[i, k] for i in rows)
            m.task.add(total - float(setting.task_demand[g, k]) * m.v[g] <= 0.0)
            m.task.add(total - float(setting.task_floor[g, k]) * m.v[g] >= 0.0)
    for p in range(setting.ports):
        m.job.add(sum(m.v[g] for g in tasks_of[p]) >= int(setting.minimum[p]) * m.u[p])
        for g in tasks_of[p]:
            m.job.add(m.v[g] <= m.u[p])
    wanted = setting.totals(setting.task_demand[setting.pair_task])
    limit = np.minimum(wanted, base.capacity[base.server])
    for share in np.linspace(0.0, 1.0, TANGENTS) ** 2:
        slope = utility.slope(base.edge_kind, base.edge_alpha, share * limit)
        offset = utility.value(base.edge_kind, base.edge_alpha, share * limit) - slope * share * limit
        for e, k in np.argwhere((share == 0.0) | (base.edge_kind != utility.LINEAR)).tolist():
            m.tangent.add(m.z[e, k] <= float(offset[e, k]) + float(slope[e, k]) * m.Y[e, k])
    return PyomoProgram(
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
        highs_options=CAREFUL,
    )


def _groups(owner: np.ndarray, count: int) -> list[list[int]]:
    groups: list[list[int]] = [[] for _ in range(count)]
    for i, o in enumerate(owner.tolist()):
        groups[o].append(i)
    return groups
