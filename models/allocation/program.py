"""The stationary optimum, declared in CVXPY beside the paper's equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import numbers
from ..program import CvxpyProgram
from . import utility
from .instance import AllocationInstance, Setting

EQUATIONS = (
    "maximise    sum_l N_l (sum_{r,k} f[r,k](y[l,r,k]) - p_l)       (5), (7)",
    "subject to  p_l >= beta_k sum_r y[l,r,k]   for all l, k        (5)",
    "            0 <= y[l,r,k] <= a[l,k]        for all (l,r), k    (3)",
    "            sum_l y[l,r,k] <= c[r,k]       for all r, k        (4)",
)


def stationary_program(problem: AllocationInstance | Setting, weights: Any = None) -> CvxpyProgram:
    """Declare max over y in Y of sum_l N_l q_l(y).

    Parameters
    ----------
    problem
        An instance or its setting.
    weights
        N >= 0, shape (L,): the arrival counts for the stationary optimum (the default for an instance), or
        the arrivals x(t) of a slot for that slot's optimum.

    Returns
    -------
    CvxpyProgram
        Variables ``y`` (E, K) and ``p`` (L,); constraints ``demand`` (3), ``capacity`` (4), whose multiplier
        is the price lambda (R, K), and ``overhead``, whose multiplier is w (L, K).

    Raises
    ------
    InputError
        If the weights do not fit.
    """
    import cvxpy
    from scipy import sparse

    cp: Any = cvxpy  # its type information leaves out much of what it exports
    if isinstance(problem, AllocationInstance):
        setting = problem.setting
        weights = problem.arrival_counts if weights is None else weights
    else:
        setting = problem
    n = numbers(weights, "weights", (setting.ports,))
    edges = len(setting.edges)
    y = cp.Variable(setting.shape, name="y", nonneg=True)
    p = cp.Variable(setting.ports, name="p")
    ones = np.ones(edges)
    columns = np.arange(edges)
    of_port = sparse.csr_array((ones, (setting.port, columns)), shape=(setting.ports, edges))
    of_server = sparse.csr_array((ones, (setting.server, columns)), shape=(setting.servers, edges))
    a = cp.Constant(setting.edge_demand, name="a")
    c = cp.Constant(setting.capacity, name="c")
    beta = cp.Constant(np.tile(setting.overhead, (setting.ports, 1)), name="beta")
    constraints = {
        "demand": y <= a,
        "capacity": cp.Constant(of_server, name="sum_l") @ y <= c,
        "overhead": cp.multiply(beta, cp.Constant(of_port, name="sum_r") @ y) <= p[:, None],
    }
    gain = _gain(cp, setting, n, cp.vec(y, order="C"))
    objective = cp.Maximize(gain - cp.Constant(n, name="N") @ p)
    return CvxpyProgram(
        cp.Problem(objective, list(constraints.values())),
        {"y": y, "p": p},
        constraints,
        title=_title(setting),
        equations=EQUATIONS,
        curved=_curved(setting),
    )


def _gain(cp: Any, setting: Setting, n: np.ndarray, y: Any) -> Any:
    """Return sum N f(y) as an expression of the flat ``y``, one term per utility family that occurs."""
    weight = np.repeat(n[setting.port], setting.kinds)
    alpha = setting.edge_alpha.ravel()
    terms = []
    for family in range(len(utility.KINDS)):
        here = np.flatnonzero(setting.edge_kind.ravel() == family)
        if len(here):
            terms.append(_family_gain(cp, family, weight[here], alpha[here], y[here]))
    return sum(terms) if terms else cp.Constant(0.0)


def _family_gain(cp: Any, family: int, weight: np.ndarray, alpha: np.ndarray, y: Any) -> Any:
    """Return sum N f(y) of (27) over the entries of one family."""
    scaled = cp.Constant(weight * alpha, name="N_alpha")
    if family == utility.LINEAR:
        return scaled @ y
    if family == utility.LOG:
        return scaled @ cp.log1p(y)
    if family == utility.RECIPROCAL:
        return float(weight @ (1.0 / alpha)) - cp.Constant(weight, name="N") @ cp.inv_pos(
            y + cp.Constant(alpha, name="alpha")
        )
    return scaled @ (cp.sqrt(y + 1.0) - 1.0)


def _title(setting: Setting) -> str:
    size = (
        f"{setting.ports} ports, {setting.servers} servers, {setting.kinds} kinds, {len(setting.edges)} edges"
    )
    return f"The best stationary allocation ({size})"


def _curved(setting: Setting) -> str:
    """Say which utilities are not linear, or nothing."""
    families, count = np.unique(setting.edge_kind, return_counts=True)
    found = [f"{count[i]} {utility.KINDS[f]}" for i, f in enumerate(families.tolist()) if f != utility.LINEAR]
    return f"{' and '.join(found)} utilities are not linear" if found else ""
