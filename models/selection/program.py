"""The 0/1 programs of the selection problem, declared in Pyomo beside the paper's equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import SMALLEST as NORMAL
from ..base import InputError, numbers
from ..mixed import bound_of
from ..program import CAREFUL, SOLVER_TOLERANCE, TIGHT, PyomoProgram, SolverError, power_of_two
from ..stopwatch import library
from .channels import Channels

FEASIBLE = (
    "subject to  sum_e a[e,k] x[e] <= c[k]    for all k             (2)",
    "            x[e] <= 1_l                  for e = (l, r)        (4)",
)
SLOT_EQUATIONS = (
    "maximise    sum_e v[e] x[e]                                    (7)",
    *FEASIBLE,
    "            x binary                                           (1)",
)
BUDGET_EQUATIONS = (
    "maximise    sum_e Sigma2[e] x[e]                               (20)",
    *FEASIBLE,
    "            sum_e Upsilon[e] x[e] >= s                         (20)",
    "            x binary                                           (1)",
)
INDEX_EQUATIONS = (
    "maximise    sum_e v[e] x[e] + z                                (12) without delta",
    *FEASIBLE,
    "            z <= q.x / sqrt(q')          q' the least q > 0; the chord of sqrt from 0 to q'",
    "            z <= q.x / (2 lambda) + lambda / 2   at each lambda; tangent of sqrt at q.x = lambda^2",
    "            x binary                                           (1)",
)
LARGEST_WHOLE = 2.0**52
"""The largest Upsilon and Sigma2 of a channel."""

SMALLEST = 1e-12
"""Positive variances are raised to this, in units in which the largest term is from 1 to 2."""

LEAST_SHARE = 1e-6
"""The least share of a capacity that a scaled program counts."""

MOST_ROUNDS = 100

MOST_NODES = 200
"""Linear programs that prove the bound of the last program."""


def slot_program(
    setting: Channels, values: Any, arrivals: Any = None, *, scaled: bool = False
) -> PyomoProgram:
    """Declare the best channels of a slot, max of v.x over Omega(t) (7).

    ``values`` are what each channel is worth, of any sign; the means v~ for the clairvoyant. By default every
    port has a job, and the set is Phi of (29). With ``scaled`` each row of (2) is divided by its capacity,
    since solvers know one absolute tolerance. Demands below ``LEAST_SHARE`` of it are then left out, a
    relaxation: HiGHS loses optima over them. The variable is ``x`` (E,), constraints are ``capacity`` (2) and
    ``arrival`` (4), and the arrivals are the mutable parameter ``job`` of the model.
    """
    v = numbers(values, "values", (setting.channels,), low=-np.inf)
    m = _model("slot", setting, arrivals, scaled)
    _maximise(m, _dot(v, m.x))
    return _program(m, setting, "The best channels of a slot", SLOT_EQUATIONS)


def weigh(program: PyomoProgram, values: np.ndarray, arrivals: np.ndarray) -> None:
    """Give a slot program other values, not all 0, and other arrivals."""
    m = program.model
    for port, arrived in enumerate(arrivals.tolist()):
        m.job[port] = arrived
    m.del_component("utility")
    _maximise(m, _dot(values, m.x))


def budget_program(
    setting: Channels, upsilon: Any, sigma2: Any, s: int, arrivals: Any = None
) -> PyomoProgram:
    """Declare P4(s), max of Sigma2.x over Omega(t) with Upsilon.x >= s (20).

    ``upsilon`` and ``sigma2`` are the rounded statistics (16) and (17), whole and >= 0. The program is
    infeasible if no set reaches s. It is as for :func:`slot_program`, with the constraint ``reach``.
    """
    reach, gain = whole_statistics(setting, upsilon, sigma2)
    level = float(numbers(s, "s", (), integer=True, high=2.0**62))
    m = _model("budget", setting, arrivals, scaled=False)
    _maximise(m, _dot(gain, m.x))
    _add_constraint(m, "reach", _dot(reach.astype(np.float64), m.x), lower=level)
    return _program(m, setting, f"P4(s) at s = {level:.0f}", BUDGET_EQUATIONS)


def index_program(
    setting: Channels,
    v: Any,
    q: Any,
    arrivals: Any = None,
    lambdas: Sequence[float] = (),
    *,
    scaled: bool = False,
) -> PyomoProgram:
    """Declare an outer approximation of the exact index, max of v.x + sqrt(q.x) over Omega(t).

    This is P3 (12) without delta(t). The root enters by its tangents at lambda^2, of which :func:`add_cut`
    adds more, and by the chord from 0 to the least positive q, between which no q.x lies. So the optimum is
    never below the true one, and equal to it once the lambda = sqrt(q.x) of its own x is among the lambdas.

    Estimates v may have any sign; ``lambdas``, where the first tangents are, are > 0. Variables are ``x``
    (E,) and ``z``; constraints those of :func:`slot_program`, ``chord`` and ``tangent``.
    """
    pyo = library("pyomo.environ")

    value = numbers(v, "v", (setting.channels,), low=-np.inf)
    spread = numbers(q, "q", (setting.channels,))
    m = _model("index", setting, arrivals, scaled)
    m.z = pyo.Var(bounds=(0.0, math.sqrt(float(spread.sum()))))
    _maximise(m, _dot(value, m.x) + m.z)
    least = float(spread[spread > 0.0].min(initial=np.inf))
    _add_constraint(m, "chord", m.z - _dot(spread / math.sqrt(least), m.x), upper=0.0)
    m.tangent = pyo.ConstraintList()
    program = _program(m, setting, "The exact index", INDEX_EQUATIONS, z=True)
    m.spread = pyo.Param(
        range(setting.channels), initialize=dict(enumerate(spread.tolist())), domain=pyo.Reals
    )
    for lam in lambdas:
        add_cut(program, lam)
    return program


def add_cut(program: PyomoProgram, lam: float) -> None:
    """Add the tangent z <= q.x / (2 lambda) + lambda / 2, lambda > 0, to an index program."""
    tangent = check_lambda(lam)
    m = program.model
    q = np.array(list(m.spread.extract_values().values()), dtype=np.float64)
    m.tangent.add(m.z - _dot(q / (2.0 * tangent), m.x) <= 0.5 * tangent)


def best_by_program(
    setting: Channels, v: np.ndarray, q: np.ndarray, first: np.ndarray, goal: int, lam: float
) -> tuple[np.ndarray, float]:
    """Maximise v.x + sqrt(q.x) by HiGHS over the sets that hold ``goal`` channels that come first.

    Tangents are added at each new set until bound and value meet; a linear objective takes one program.

    ``first`` marks the channels that come first (1 or 0), of which at most ``goal`` fit; ``lam`` is where the
    first tangent is, and any positive number will do. Returns the set, by HiGHS's tolerance perhaps
    infeasible; and a bound that no set exceeds: that of :mod:`.mixed` on the last program, cut off after
    :data:`MOST_NODES` nodes, with 1e-10 for each channel added, which is more than its coefficients lack.
    """
    unit = power_of_two(max(float(v.max(initial=0.0)), math.sqrt(float(q.max(initial=0.0))))) or 1.0
    line = np.where(v > 0.0, np.maximum(v / unit, NORMAL), 0.0)  # programs refuse smaller ones
    square = q / unit / unit
    square = np.where(q > 0.0, np.maximum(square, SMALLEST), 0.0)
    lambdas = [lam / unit] if q.any() else []
    if lambdas:
        program = index_program(setting, line, square, None, lambdas, scaled=True)
    else:
        program = slot_program(setting, line, scaled=True)
    _add_constraint(program.model, "first", _dot(first.astype(np.float64), program.model.x), lower=goal)
    best, value, margin = np.zeros(len(v), dtype=bool), -1.0, SOLVER_TOLERANCE * (len(v) + 1)
    for _ in range(MOST_ROUNDS):
        solved = program.solve(gap=0.0, mip_abs_gap=SOLVER_TOLERANCE, **TIGHT)
        if solved.value is None:
            raise SolverError(f"HiGHS ended with {solved.status} on a program that has a solution")
        x = solved.variables["x"] > 0.5
        width = math.sqrt(float(square[x].sum()))
        if float(line[x].sum()) + width > value:
            best, value = x, float(line[x].sum()) + width
        if solved.value - value <= margin or width == 0.0 or width in lambdas:
            break
        lambdas.append(width)
        add_cut(program, width)
    found = bound_of(program, solved.value, margin, lambda: False, SOLVER_TOLERANCE, MOST_NODES)
    return best, math.inf if found is None else (found + margin) * unit


def check_lambda(lam: Any) -> float:
    """Return a lambda as a float, or raise InputError if it is not a positive finite number."""
    number = float(numbers(lam, "lambda", ()))
    if number <= 0.0:
        raise InputError(f"lambda: {lam!r} is not positive")
    return number


def whole_statistics(setting: Channels, upsilon: Any, sigma2: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return Upsilon and Sigma2 as checked whole numbers whose sums are exact, shape (E,) each.

    What is not whole, negative or above 2**52, and a sum above 2**62, is refused.
    """
    shape = (setting.channels,)
    checked = []
    for name, given in (("upsilon", upsilon), ("sigma2", sigma2)):
        array = numbers(given, name, shape, integer=True, high=LARGEST_WHOLE)
        total = sum(array.tolist())
        if total > 2**62:
            raise InputError(f"{name}: the sum {total} is more than 2**62")
        checked.append(array)
    return checked[0], checked[1]


def _model(name: str, setting: Channels, arrivals: Any, scaled: bool) -> Any:
    """Return a model of Omega(t): binary x, capacities (2) and arrivals (4)."""
    pyo = library("pyomo.environ")

    given = np.ones(setting.ports) if arrivals is None else arrivals
    jobs = numbers(given, "arrivals", (setting.ports,), integer=True, high=1)
    port = setting.port.tolist()
    m = pyo.ConcreteModel(name)
    m.job = pyo.Param(
        range(setting.ports), initialize=dict(enumerate(jobs.tolist())), mutable=True, domain=pyo.Binary
    )
    m.x = pyo.Var(range(setting.channels), domain=pyo.Binary)
    m.capacity = pyo.ConstraintList()
    for demand, capacity in zip(setting.demand.T, setting.capacity.tolist(), strict=True):
        if demand.any():
            unit = float(capacity) if scaled and capacity > 0 else 1.0
            counted = np.where(demand < LEAST_SHARE * capacity, 0, demand) if scaled else demand
            if counted.any():
                m.capacity.add(_dot(counted / unit, m.x) <= capacity / unit)
    m.arrival = pyo.Constraint(range(setting.channels), rule=lambda m, e: m.x[e] <= m.job[port[e]])
    return m


def _dot(weights: np.ndarray, x: Any) -> Any:
    """Return the sum of weights[e] x[e] as a linear expression, without the terms that are zero."""
    LinearExpression = library("pyomo.core.expr").LinearExpression

    used = np.flatnonzero(weights).tolist()
    return LinearExpression(linear_coefs=weights[used].tolist(), linear_vars=[x[e] for e in used])


def _maximise(m: Any, expression: Any) -> None:
    pyo = library("pyomo.environ")

    m.utility = pyo.Objective(expr=expression, sense=pyo.maximize)


def _add_constraint(
    m: Any, name: str, body: Any, lower: float | None = None, upper: float | None = None
) -> None:
    pyo = library("pyomo.environ")

    setattr(m, name, pyo.Constraint(expr=(lower, body, upper)))


def _program(
    m: Any, setting: Channels, title: str, equations: tuple[str, ...], z: bool = False
) -> PyomoProgram:
    size = f"{setting.channels} channels of {setting.ports} ports, {setting.kinds} kinds"
    variables: dict[str, tuple[int, ...]] = {"x": (setting.channels,)}
    return PyomoProgram(
        m,
        variables | ({"z": ()} if z else {}),
        title=f"{title} ({size})",
        equations=equations,
        highs_options=CAREFUL,
    )
