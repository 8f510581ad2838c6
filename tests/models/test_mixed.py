"""Branch and bound on multipliers: enumeration and exact linear programs judge its bounds."""

import importlib
import itertools
import math
from fractions import Fraction
from itertools import product
from operator import mul
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array

from clairvoyant.models import mixed
from clairvoyant.models.duality import Linear, is_empty, proven
from clairvoyant.models.program import CvxpyProgram, Program, PyomoProgram


def test_what_is_nearly_whole_is_branched_on_while_a_gap_stays() -> None:
    """Open for nothing but rounding: with a row of 1e9 a billionth of y lets x be what it likes."""
    linear = Linear(
        np.array([-1.0, 5.0]),
        csc_array([[1.0, -1e9]]),
        (np.array([-math.inf]), np.zeros(1)),
        (np.zeros(2), np.array([0.5, 1.0])),
        np.array([False, True]),
        0.0,
    )
    assert mixed.lower_bound(linear, 0.0, 1e-7, lambda: False, 1e-9) == pytest.approx(0.0, abs=1e-7)
    assert mixed.lower_bound(linear, math.inf, 1e-7, lambda: False, 1e-9) == pytest.approx(-0.5, abs=1e-7)


@given(st.integers(0, 2**32 - 1))
def test_what_is_beyond_a_limit_by_rounding_is_branched_on_no_further(seed: int) -> None:
    """Rows of decimal numbers that add up: HiGHS has whole numbers there that are off by their last bits."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    matrix, x = rng.integers(-9, 10, (m, n)) / 10.0, rng.integers(0, 4, n)
    right = matrix @ x
    limits = np.zeros(n), np.full(n, 3.0)
    cost, whole = rng.normal(size=n), np.ones(n, dtype=bool)
    linear = Linear(cost, csc_array(matrix), (right, right), limits, whole, 0.0)
    best = min(
        float(cost @ one)
        for one in map(np.array, product(range(4), repeat=n))
        if np.abs(matrix @ one - right).max() < 1e-9
    )
    looked = itertools.count()
    bound = mixed.lower_bound(linear, best + 1.0, 1e-6, lambda: next(looked) < 0, 1e-9, 2000)
    assert bound is not None
    assert best - 1e-6 <= bound <= best + 1e-6
    assert next(looked) < 900


class Sites(NamedTuple):
    """Open at most ``most`` sites at a charge, and sell at most ``limit`` of what they make."""

    price: list[int]
    charge: list[int]
    weight: list[int]
    size: list[int]
    limit: int
    most: int

    def optimum(self) -> float:
        """What is earned at best: for given sites the best amounts are those of a fractional knapsack."""
        best = Fraction(0)
        by_worth = sorted(range(len(self.price)), key=lambda i: Fraction(-self.price[i], self.weight[i]))
        for chosen in product((0, 1), repeat=len(self.price)):
            left, earned = Fraction(self.limit), Fraction(0)
            for i in by_worth if sum(chosen) <= self.most else ():
                amount = min(Fraction(chosen[i] * self.size[i]), left / self.weight[i])
                left -= amount * self.weight[i]
                earned += amount * self.price[i] - chosen[i] * self.charge[i]
            best = max(best, earned)
        return float(best)

    def by_pyomo(self, unit: float = 1.0) -> Program:
        import pyomo.environ as pyo

        m, n = pyo.ConcreteModel(), range(len(self.price))
        m.x, m.z = pyo.Var(n, domain=pyo.NonNegativeReals), pyo.Var(n, domain=pyo.Binary)
        m.opened = pyo.Constraint(n, rule=lambda m, i: m.x[i] <= self.size[i] * m.z[i])
        m.limit = pyo.Constraint(expr=sum(self.weight[i] * m.x[i] for i in n) <= self.limit)
        m.most = pyo.Constraint(expr=sum(m.z.values()) <= self.most)
        earned = sum(unit * (self.price[i] * m.x[i] - self.charge[i] * m.z[i]) for i in n)
        m.total = pyo.Objective(expr=earned + 3.0 * unit, sense=pyo.maximize)
        shapes = {"x": (len(n),), "z": (len(n),)}
        return PyomoProgram(m, shapes, title="Sites", equations=())

    def by_cvxpy(self, unit: float = 1.0) -> Program:
        cp: Any = importlib.import_module("cvxpy")

        n = len(self.price)
        x, z = cp.Variable(n, nonneg=True), cp.Variable(n, boolean=True)
        rows = [
            x <= cp.multiply(self.size, z),
            np.array(self.weight) @ x <= self.limit,
            cp.sum(z) <= self.most,
        ]
        earned = np.array(self.price) @ x - np.array(self.charge) @ z
        problem = cp.Problem(cp.Maximize(unit * earned + 3.0 * unit), rows)
        named = dict(zip("abc", rows, strict=True))
        return CvxpyProgram(problem, {"x": x, "z": z}, named, title="Sites", equations=())

    def declared(self, library: str, unit: float = 1.0) -> Linear:
        return (self.by_pyomo if library == "pyomo" else self.by_cvxpy)(unit).linear_form()


@st.composite
def sites(draw: st.DrawFn) -> Sites:
    count = draw(st.integers(1, 4))
    some = st.lists(st.integers(1, 9), min_size=count, max_size=count)
    price, charge, weight, size = (draw(some) for _ in range(4))
    return Sites(price, charge, weight, size, draw(st.integers(0, 20)), draw(st.integers(0, count)))


MISSED = Sites([9, 3, 6], [8, 7, 9], [7, 7, 5], [9, 5, 7], 14, 1)
"""HiGHS 1.14 calls 7.8 optimal: the path to 10 is cut off."""


def bound(linear: Linear, value: float = math.inf, nodes: int = 1000) -> float:
    """The bound on what is maximised."""
    allowed = 1e-9 * abs(value) if math.isfinite(value) else 0.0
    found = mixed.lower_bound(linear, value, allowed, lambda: False, 1e-9, nodes)
    assert found is not None
    return -(found + linear.offset)


@pytest.mark.parametrize("library", ["pyomo", "cvxpy"])
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e6])
def test_what_the_solver_cuts_off_is_not_lost(library: str, unit: float) -> None:
    assert MISSED.optimum() == 10.0
    assert bound(MISSED.declared(library, unit)) == pytest.approx(13.0 * unit, rel=1e-8)
    wrong = -7.8 * unit  # the solver's
    assert bound(MISSED.declared(library, unit), wrong) == pytest.approx(13.0 * unit, rel=1e-8)


@given(case=sites(), library=st.sampled_from(["pyomo", "cvxpy"]), known=st.booleans())
def test_the_bound_is_the_optimum_of_enumeration(case: Sites, library: str, known: bool) -> None:
    best = case.optimum()
    found = bound(case.declared(library), -best if known else math.inf) - 3.0
    assert best - 1e-9 * (best + 3.0) <= found <= best + 1e-6 * (best + 3.0)


@given(case=sites(), data=st.data())
def test_no_multipliers_prove_what_is_not_so(case: Sites, data: st.DataObject) -> None:
    linear = case.declared("pyomo")
    numbers = st.floats(-100.0, 100.0) | st.sampled_from([0.0, 1.0, -1.0])
    duals = np.array(data.draw(st.lists(numbers, min_size=len(linear.rows[0]), max_size=len(linear.rows[0]))))
    capped = linear.columns[0], np.where(np.isfinite(linear.columns[1]), linear.columns[1], 1e3)
    for columns in (linear.columns, capped):
        found = proven(linear, columns, duals)
        assert found <= -case.optimum() - 3.0 - linear.offset + 1e-12
        assert not is_empty(linear, columns, duals)  # nothing made, nothing sold: there is a solution


def test_what_is_open_at_the_end_limits_the_bound() -> None:
    found = [bound(MISSED.declared("pyomo"), nodes=nodes) for nodes in (1, 3, 5, 100)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 13.1
    assert found[-1] == pytest.approx(13.0)


def impossible(limit: float, low: float) -> Linear:
    """x + y = limit, in two whole numbers from ``low`` to 1."""
    sides = (np.array([limit]), np.array([limit]))
    columns = (np.full(2, low), np.ones(2))
    whole = np.ones(2, dtype=bool)
    return Linear(np.array([1.0, 1.0]), csc_array(np.array([[1.0, 1.0]])), sides, columns, whole, 0.0)


@pytest.mark.parametrize(("limit", "low"), [(3.0, 0.0), (0.5, 0.0), (1.5, 0.0)])
def test_that_there_is_no_solution_is_proved(limit: float, low: float) -> None:
    assert mixed.lower_bound(impossible(limit, low), math.inf, 0.0, lambda: False, 1e-9) == math.inf


def test_an_infeasible_node_without_a_proof_keeps_the_bound_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    linear = impossible(0.5, 0.0)
    monkeypatch.setattr(mixed, "is_empty", lambda *_: False)
    assert mixed.lower_bound(linear, math.inf, 0.0, lambda: False, 1e-9) == pytest.approx(0.5)


@given(st.data())
def test_what_is_proved_is_no_more_than_the_same_sum_without_rounding(data: st.DataObject) -> None:
    some = st.floats(-1e6, 1e6, allow_subnormal=False) | st.sampled_from([0.1, -0.1, 1.0 / 3.0, 1e-9])
    cost, low, wide = (np.array(data.draw(st.lists(some, min_size=3, max_size=3))) for _ in range(3))
    matrix = np.array(data.draw(st.lists(some, min_size=6, max_size=6))).reshape(2, 3)
    limit, y = (np.array(data.draw(st.lists(some, min_size=2, max_size=2))) for _ in range(2))
    columns = low, low + np.abs(wide)
    rows, whole = (limit, limit), np.zeros(3, dtype=bool)
    found = proven(Linear(cost, csc_array(matrix), rows, columns, whole, 0.0), columns, y)
    exact = sum(map(mul, map(Fraction, y), map(Fraction, limit)), Fraction())
    for j in range(3):
        left = Fraction(cost[j]) - sum(Fraction(y[i]) * Fraction(matrix[i, j]) for i in range(2))
        exact += min(left * Fraction(side[j]) for side in columns)
    assert Fraction(found) <= exact


def test_what_a_solver_leaves_out_counts_in_the_proof() -> None:
    """HiGHS drops coefficients up to 1e-12, so that its optimum is 1 and not 0."""
    import pyomo.environ as pyo

    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0.0, 1e13)), pyo.Var(bounds=(0.0, 9.0))
    m.enough = pyo.Constraint(expr=m.y + 1e-13 * m.x >= 1.0)
    m.also = pyo.Constraint(expr=(-5.0, m.y, 7.0))
    m.cost = pyo.Objective(expr=m.y + 3.0)
    program = PyomoProgram(m, {"x": (), "y": ()}, title="Dropped", equations=())
    solved = program.solve()
    assert solved.value == pytest.approx(4.0)
    assert solved.bound == pytest.approx(3.0)
    m.x.setub(0.0)
    assert program.solve().bound == pytest.approx(4.0)
    m.cost.sense = pyo.maximize
    assert program.solve().bound == pytest.approx(10.0)


@pytest.mark.parametrize("duals", [[], [math.nan], [math.inf]])
def test_multipliers_that_are_none_prove_nothing(duals: list[Any]) -> None:
    linear = impossible(1.0, 0.0)
    assert proven(linear, linear.columns, np.array(duals)) == -math.inf
