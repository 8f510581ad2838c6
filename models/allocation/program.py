"""The stationary optimum, declared in CVXPY beside the paper's equations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base import numbers
from ..program import CvxpyProgram, power_of_two
from ..stopwatch import library
from . import utility
from .instance import AllocationInstance
from .setting import Setting

EQUATIONS = (
    "maximise    sum_l N_l (sum_{r,k} f[r,k](y[l,r,k]) - p_l)       (5), (7)",
    "subject to  p_l >= beta_k sum_r y[l,r,k]   for all l, k        (5)",
    "            0 <= y[l,r,k] <= a[l,k]        for all (l,r), k    (3)",
    "            sum_l y[l,r,k] <= c[r,k]       for all r, k        (4)",
)

MOST_CUTS = 12
"""How often the most that a y can be is cut to what its port's gains pay for; each time roots are taken."""

STRAIGHT = 1e-6
"""A utility that bends by less than this part up to its limit is taken for linear in a scaled program."""


def stationary_program(problem: AllocationInstance | Setting, weights: Any = None) -> CvxpyProgram:
    """Declare max over y in Y of sum_l N_l q_l(y).

    ``weights`` N >= 0 are the arrival counts for the stationary optimum (the default for an instance), or the
    arrivals x(t) of a slot for that slot's optimum. Variables are ``y`` (E, K) and ``p`` (L,); constraints
    ``demand`` (3), ``capacity`` (4), whose multiplier is the price lambda (R, K), and ``overhead``, whose
    multiplier is w (L, K).
    """
    cp = library("cvxpy")
    if isinstance(problem, AllocationInstance):
        setting = problem.setting
        weights = problem.arrival_counts if weights is None else weights
    else:
        setting = problem
    n = numbers(weights, "weights", (setting.ports,))
    y = cp.Variable(setting.shape, name="y", nonneg=True)
    p = cp.Variable(setting.ports, name="p")
    of_port, of_server = _sums(setting)
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


class Units(NamedTuple):
    """The units of the numbers of a scaled program."""

    entry: np.ndarray  # of y, shape (E, K)
    row: np.ndarray  # of the capacities, shape (R, K)
    money: float  # of the objective


def scaled_program(setting: Setting, weights: np.ndarray) -> tuple[CvxpyProgram, Units]:
    """Declare :func:`stationary_program` in the instance's own units, for solvers with absolute tolerances.

    Every y is a part of the most that it can be in an optimum, every capacity is 1, the most that an entry
    gains is from 1 to 2, and p_l is counted for all N_l jobs, so that its multipliers add up to 1. Of the
    units, y is ``entry`` times its variable, lambda is ``money / row`` times its multiplier of ``capacity``,
    and w is N times that of ``overhead``.
    """
    cp = library("cvxpy")
    n = weights[setting.port][:, None]
    entry = np.where(n > 0.0, _reach(setting), 0.0)
    gains = n * utility.value(setting.edge_kind, setting.edge_alpha, entry)
    units = Units(
        entry,
        np.where(setting.capacity > 0.0, setting.capacity, 1.0),
        power_of_two(float(gains.max(initial=0.0))) or 1.0,
    )
    y = cp.Variable(setting.shape, name="y", nonneg=True)
    p = cp.Variable(setting.ports, name="p")
    of_port, of_server = _sums(setting)
    constraints = {
        "demand": y <= 1.0,
        "capacity": of_server @ cp.multiply(entry / units.row[setting.server], y) <= 1.0,
        "overhead": of_port @ cp.multiply(setting.overhead * entry * (n / units.money), y) <= p[:, None],
    }
    terms = [_straight(gains, entry, setting) / units.money @ cp.vec(y, order="C"), -cp.sum(p)]
    terms += _bent(cp, setting, n / units.money, entry, y)
    program = CvxpyProgram(
        cp.Problem(cp.Maximize(sum(terms)), list(constraints.values())),
        {"y": y, "p": p},
        constraints,
        title=f"{_title(setting)}, in units of its own",
        equations=EQUATIONS,
        curved=_curved(setting),
    )
    return program, units


def _reach(setting: Setting) -> np.ndarray:
    """Return the most that each y can be in an optimum: no port pays more overhead than it gains."""
    most = np.minimum(setting.edge_demand, setting.capacity[setting.server])
    for _ in range(MOST_CUTS):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            paid = setting.gains(most)[setting.port][:, None] / setting.overhead
        most = np.where(most > 0.0, np.minimum(most, paid), 0.0)
    return most


def _bend(setting: Setting, entry: np.ndarray) -> np.ndarray:
    """Return the curvature of each utility up to ``entry``: y over what is added to it in the utility."""
    shift = np.where(setting.edge_kind == utility.RECIPROCAL, setting.edge_alpha, 1.0)
    return np.where(setting.edge_kind == utility.LINEAR, 0.0, entry / shift)


def _straight(gains: np.ndarray, entry: np.ndarray, setting: Setting) -> np.ndarray:
    """Return the gains of the entries that are linear or nearly so, 0 for the others, flat."""
    return np.where(_bend(setting, entry) < STRAIGHT, gains, 0.0).ravel()


def _bent(cp: Any, setting: Setting, weight: np.ndarray, entry: np.ndarray, y: Any) -> list[Any]:
    """Return the gains of all other entries, a term per family; the sum under a root or so is at most 2."""
    terms = []
    bent = _bend(setting, entry) >= STRAIGHT
    for family in (utility.LOG, utility.RECIPROCAL, utility.POLY):
        rows, columns = np.nonzero(bent & (setting.edge_kind == family))
        if not len(rows):
            continue
        n, most, alpha = weight[rows, 0], entry[rows, columns], setting.edge_alpha[rows, columns]
        shift = alpha if family == utility.RECIPROCAL else np.ones(len(rows))
        unit = np.maximum(shift, most)
        z = shift / unit + cp.multiply(most / unit, cp.vec(y, order="C")[rows * setting.kinds + columns])
        if family == utility.LOG:
            terms.append((n * alpha) @ (cp.log(z) + np.log(unit)))
        elif family == utility.RECIPROCAL:
            terms.append(float(np.sum(n / alpha)) - (n / unit) @ cp.inv_pos(z))
        else:
            terms.append((n * alpha) @ (cp.multiply(np.sqrt(unit), cp.sqrt(z)) - 1.0))
    return terms


def _sums(setting: Setting) -> tuple[Any, Any]:
    """Return the matrices that add up entries by port and by server."""
    sparse = library("scipy.sparse")

    edges = len(setting.edges)
    ones, columns = np.ones(edges), np.arange(edges)
    of_port = sparse.csr_array((ones, (setting.port, columns)), shape=(setting.ports, edges))
    of_server = sparse.csr_array((ones, (setting.server, columns)), shape=(setting.servers, edges))
    return of_port, of_server


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
    """Return which utilities are not linear, or nothing."""
    families, count = np.unique(setting.edge_kind, return_counts=True)
    found = [f"{count[i]} {utility.KINDS[f]}" for i, f in enumerate(families.tolist()) if f != utility.LINEAR]
    return f"{' and '.join(found)} utilities are not linear" if found else ""
