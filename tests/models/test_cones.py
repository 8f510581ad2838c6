"""Bounds of minimisations over cones: whatever multipliers are, no feasible solution is beyond."""

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

from clairvoyant.models.cones import Cones, empty_by_cones, proven_by_cones
from clairvoyant.models.program import CvxpyProgram, SolverError

cp: Any = cvxpy  # its types are incomplete

DIMS = SimpleNamespace(
    zero=2, nonneg=3, soc=[1, 2, 3, 5], psd=[1, 3], exp=2, p3d=[0.3, 0.9], pnd=[[0.2, 0.3, 0.5]]
)
ROWS = 2 + 3 + 11 + 7 + 6 + 6 + 4


def member(rng: np.random.Generator, scale: float) -> np.ndarray:
    """Return a vector in the cones, of all scales."""
    many = 10.0 ** rng.uniform(-3, 3, ROWS) * scale
    parts = [np.zeros(2), many[:3]]
    for size in DIMS.soc:
        tail = rng.normal(size=size - 1) * many[:1]
        parts.append(
            np.array([np.linalg.norm(tail) * rng.choice([1.0, 1.5]) + rng.choice([0.0, 1.0]), *tail])
        )
    for order in DIMS.psd:
        root = rng.normal(size=(order, rng.integers(1, order + 1))) * many[:order, None]
        whole = root @ root.T
        column, row = np.tril_indices(order)
        parts.append(whole[row, column] * np.where(row == column, 1.0, math.sqrt(2.0)))
    for y in many[:2]:
        x = y * rng.uniform(-3, 3)
        parts.append(np.array([x, y, y * math.exp(x / y) * rng.choice([1.0, 1.0, 2.0])]))
    for exponents in [*([a, 1.0 - a] for a in DIMS.p3d), *DIMS.pnd]:
        sides = rng.permutation(many)[: len(exponents)]
        most = math.exp(np.array(exponents) @ np.log(sides))
        parts.append(np.array([*sides, most * rng.uniform(-1.0, 1.0)]))
    return np.concatenate(parts)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_member_is_negative_to_a_dual_one(seed: int) -> None:
    rng, cones = np.random.default_rng(seed), Cones(DIMS)
    z = cones.dual(rng.normal(size=ROWS) * 10.0 ** rng.uniform(-3, 3, ROWS))
    for _ in range(20):
        s = member(rng, 10.0 ** rng.uniform(-2, 2))
        parts = [[*range(2, 5)]]
        at = 5
        for size in (*DIMS.soc, 1, 6, 3, 3, 3, 3, 4):
            parts.append([*range(at, at + size)])
            at += size
        assert at == ROWS
        for part in parts:
            assert z[part] @ s[part] >= -1e-13 * np.abs(z[part] * s[part]).sum()


def test_rounding_leaves_no_multiplier_outside_a_cone() -> None:
    cones = Cones(SimpleNamespace(zero=0, nonneg=0, soc=[4] * 50, psd=[], exp=0, p3d=[], pnd=[]))
    z = cones.dual(np.random.default_rng(0).normal(size=200))
    for first, *tail in z.reshape(50, 4).tolist():
        assert Fraction(first) ** 2 >= sum(Fraction(one) ** 2 for one in tail)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_dual_member_stays_as_it_is(seed: int) -> None:
    rng, cones = np.random.default_rng(seed), Cones(DIMS)
    z = member(
        rng, 1.0
    )  # all of them but exponential cones, and powers but for a factor, are their own duals
    z[23:29] = [-1.0, 0.5, 2.0, 0.0, 1.0, 3.0]
    for of, exponents in cones.powers:
        z[of.start : of.stop - 1] *= exponents
    assert cones.dual(z) == pytest.approx(z, rel=1e-9, abs=1e-9 * np.abs(z).max())


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_ranges_keep_every_member(seed: int) -> None:
    rng, cones = np.random.default_rng(seed), Cones(DIMS)
    s = member(rng, 1.0)
    low, high = s - 10.0 ** rng.uniform(-3, 3, ROWS), s + 10.0 ** rng.uniform(-3, 3, ROWS)
    low[rng.random(ROWS) < 0.3], high[rng.random(ROWS) < 0.3] = -np.inf, np.inf
    cones.tighten(low, high)
    rounding = 1e-12 * (1.0 + np.abs(s).max())
    assert (low <= s + rounding).all()
    assert (s <= high + rounding).all()


def shares(gain: Callable[[Any], Any], w: np.ndarray, most: float) -> CvxpyProgram:
    """Return the program of shares of an amount with the largest sum of weighted gains."""
    x = cp.Variable(len(w), name="x")
    rows = [x >= 0.0, x <= most, cp.sum(x) <= most]
    return CvxpyProgram(cp.Problem(cp.Maximize(w @ gain(x)), rows), {"x": x}, {}, title="", equations=())


def water(slope: Callable[[float, np.ndarray], np.ndarray], w: np.ndarray, most: float) -> np.ndarray:
    """Return the best shares, a little too small: each has the same slope, which is found by bisection."""
    low, high = -700.0, 700.0
    for _ in range(200):
        middle = (low + high) / 2.0
        over = np.clip(slope(math.exp(middle), w), 0.0, most).sum() > most
        low, high = (middle, high) if over else (low, middle)
    return np.asarray(np.clip(slope(math.exp(high), w), 0.0, most) * (1.0 - 1e-12))


def power(x: Any) -> Any:
    """Return x to the power of 3/4 by power cones."""
    return cp.power(x, 0.75, approx=False)


GAINS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[float, Any], Any]]] = {
    "logarithms": (lambda x: cp.log(1 + x), np.log1p, lambda p, w: w / p - 1.0),
    "roots": (cp.sqrt, np.sqrt, lambda p, w: (w / (2.0 * p)) ** 2),
    "powers by norms": (lambda x: cp.power(x, 0.75), lambda x: x**0.75, lambda p, w: (0.75 * w / p) ** 4),
    "powers": (power, lambda x: x**0.75, lambda p, w: (0.75 * w / p) ** 4),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GAINS)
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_shares_earn_more_than_the_bound(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gain, value, slope = GAINS[name]
    w = 10.0 ** rng.uniform(-6.5, 1.0) * rng.uniform(0.1, 1.0, rng.integers(1, 4))
    most = 10.0 ** rng.uniform(-2.0, 6.0)
    best = float(w @ value(water(slope, w, most)))
    try:
        solved = shares(gain, w, most).solve(solver="clarabel")
    except SolverError:  # where Clarabel fails nothing is said
        return
    assert not solved.guessed
    assert solved.bound is None or solved.bound >= best * (1.0 - 1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "w", "most"),
    [
        ("powers by norms", [2.54475509e-06, 3.57983413e-06, 4.85275776e-06], 330902.87710636546),
        ("roots", [4.82741028e-07], 385144.00171731546),
    ],
)
def test_shares_of_little_worth_earn_no_more_than_the_bound(name: str, w: list[float], most: float) -> None:
    gain, value, slope = GAINS[name]
    solved = shares(gain, np.array(w), most).solve(solver="clarabel")
    assert solved.bound is not None
    assert solved.bound >= float(w @ value(water(slope, np.array(w), most)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GAINS)
def test_bounds_of_programs_of_usual_size_are_near(name: str) -> None:
    gain, value, slope = GAINS[name]
    w = np.array([0.3, 0.5, 1.0])
    solved = shares(gain, w, 2.0).solve(solver="clarabel")
    assert solved.bound == pytest.approx(float(w @ value(water(slope, w, 2.0))), rel=1e-6)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_largest_eigenvalue_is_below_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    matrix = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-5, 5)
    matrix = matrix + matrix.T
    largest = float(np.linalg.eigvalsh(matrix)[-1])
    x = cp.Variable(name="x")
    size = 2.0 * float(np.linalg.norm(matrix))
    problem = cp.Problem(cp.Minimize(x), [x * np.eye(n) - matrix >> 0, x >= -size, x <= size])
    try:
        solved = CvxpyProgram(problem, {"x": x}, {}, title="", equations=()).solve(solver="clarabel")
    except SolverError:
        return
    assert not solved.guessed
    assert solved.bound is None or solved.bound <= largest + 1e-12 * size


def test_whatever_multipliers_are_the_bound_holds() -> None:
    """The distance of a point from a box is sqrt(8); multipliers are drawn."""
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.norm(x - 3.0)), [x >= 0.0, x <= 1.0])
    data, _, _ = problem.get_problem_data(cp.CLARABEL)
    rng, best = np.random.default_rng(0), -math.inf
    for _ in range(2000):
        z = rng.normal(size=len(data["b"]))
        solution = np.concatenate([[math.sqrt(8.0)], rng.uniform(0.0, 1.0, 2)])
        bound, guessed = proven_by_cones(data, solution, z)
        assert not guessed
        assert bound <= math.sqrt(8.0) * (1.0 + 1e-9)
        best = max(best, bound)
    assert best > 2.0  # and some prove much of it


def test_whatever_the_solution_of_a_solver_is_the_bound_holds() -> None:
    """It may claim less than any point costs: ranges then keep none, and prove no more than the claim."""
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x) + cp.norm(x - 3.0)), [x >= 0.0, x <= 1.0])
    data, _, _ = problem.get_problem_data(cp.CLARABEL)
    rng, best = (
        np.random.default_rng(0),
        min(a + b + math.hypot(a - 3, b - 3) for a in (0, 1) for b in (0, 1)),
    )
    for _ in range(2000):
        z = rng.normal(size=len(data["b"])) * rng.choice([0.1, 1.0, 10.0])
        claimed = rng.uniform(-1.0, 5.0, len(data["c"]))
        assert proven_by_cones(data, claimed, z)[0] <= best * (1.0 + 1e-9)


def test_what_rests_on_a_guess_is_said() -> None:
    x = cp.Variable(2, name="x")
    free = cp.Problem(cp.Minimize(cp.sum_squares(x - 3.0)), [x[0] >= 4.0])
    solved = CvxpyProgram(free, {"x": x}, {}, title="", equations=()).solve(solver="clarabel")
    assert solved.guessed
    assert solved.bound == pytest.approx(1.0, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [1, 2, 4])
def test_bounds_over_other_cones_are_near_too(n: int) -> None:
    matrix = np.random.default_rng(n).normal(size=(n, n))
    matrix = matrix + matrix.T
    x, whole = cp.Variable(n, name="x"), cp.Variable((n, n), symmetric=True, name="x")
    rows = [x >= 0.0, x <= 7.0, cp.sum(x) <= 7.0]
    cases = [
        (cp.Maximize(cp.geo_mean(x, approx=False)), rows, x, 7.0 / n),
        (cp.Minimize(cp.pnorm(x - 1.0, 3, approx=False)), [x >= 2.0, x <= 3.0], x, n ** (1.0 / 3.0)),
        (
            cp.Maximize(cp.trace(matrix @ whole)),
            [whole >> 0, cp.trace(whole) == 1.0],
            whole,
            float(np.linalg.eigvalsh(matrix)[-1]),
        ),
    ]
    for objective, limits, variable, best in cases:
        program = CvxpyProgram(cp.Problem(objective, limits), {"x": variable}, {}, title="", equations=())
        solved = program.solve(solver="clarabel")
        assert not solved.guessed
        assert solved.bound == pytest.approx(best, rel=1e-6)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_multipliers_prove_empty_what_has_a_member(seed: int) -> None:
    """Sparse rows, so that some variables have limits, and members on borders of cones, of all scales."""
    rng, s, n = np.random.default_rng(seed), member(np.random.default_rng(seed), 1.0), 4
    x = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3, n)
    matrix = (
        rng.normal(size=(ROWS, n)) * (rng.random((ROWS, n)) < 0.3) * 10.0 ** rng.uniform(-2, 2, ROWS)[:, None]
    )
    data = {"A": csc_array(matrix), "b": matrix @ x + s, "c": np.ones(n), "dims": DIMS}
    # Some of the multipliers are nearly orthogonal to the rows, as those of a solver.
    guesses = [rng.normal(size=ROWS), rng.normal(size=ROWS) * member(rng, 1.0), member(rng, 1.0)]
    near = guesses[0] - matrix @ np.linalg.lstsq(matrix, guesses[0], rcond=None)[0]
    for z in (*guesses, near, near - 1e-3 * s):
        assert empty_by_cones(data, z) <= np.abs(x).max() * (1.0 + 1e-9)


@pytest.mark.filterwarnings("ignore")
def test_what_is_empty_is_proved_as_far_as_multipliers_go() -> None:
    x, whole = cp.Variable(2, name="x"), cp.Variable((3, 3), symmetric=True, name="x")
    cases = [
        ([cp.norm(x) <= 1.0, x[0] >= 2.0], x, math.inf),
        ([x[0] >= cp.square(x[1] - 3.0), x[0] <= -1.0], x, math.inf),
        ([cp.exp(x[0]) + x[1] <= -1e-3, x[1] >= 0.0], x, 1e4),
        ([whole >> 0, whole[1, 1] == -1.0], whole, 1e4),
        ([cp.geo_mean(x) >= 1.0, x[0] <= -1.0], x, 1e4),
    ]
    for rows, variable, least in cases:
        problem = cp.Problem(cp.Minimize(cp.sum_squares(variable)), rows)
        solved = CvxpyProgram(problem, {"x": variable}, {}, title="", equations=()).solve(solver="clarabel")
        assert (solved.status, solved.value) == ("infeasible", None)
        assert solved.empty >= least


def test_what_only_large_numbers_keep_is_empty_up_to_these() -> None:
    """Two free variables with a sum of 1e9: one of them is 5e8 at least."""
    x = cp.Variable(2, name="x")
    data, _, _ = cp.Problem(cp.Minimize(0.0), [1e-9 * cp.sum(x) >= 1.0]).get_problem_data(cp.CLARABEL)
    assert 4.99e8 <= empty_by_cones(data, np.ones(1)) <= 5e8


def test_rows_that_differ_by_next_to_nothing_are_not_empty() -> None:
    x = cp.Variable(name="x")
    rows = [3.0 * x == 0.3 + 1e-12, 10.0 * x == 1.0]
    data, _, _ = cp.Problem(cp.Minimize(0.0), rows).get_problem_data(cp.CLARABEL)
    for z in ([-10.0, 3.0], [10.0, -3.0]):
        assert empty_by_cones(data, 2.0**40 * np.array(z)) == 0.0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cost", [4.9e-10, 4.9e-7, 1.0, 3.0e7])
def test_costs_of_any_size_are_solved_alike(cost: float) -> None:
    """Three equal shares of 62,234; at costs of 1e-7 Clarabel calls a twenty-fourth of the mean optimal."""
    x = cp.Variable(3, name="x")
    limits = {"amount": cp.sum(x) <= 62234.0}
    problem = cp.Problem(cp.Maximize(cost * cp.geo_mean(x)), [x >= 0.0, x <= 62234.0, *limits.values()])
    solved = CvxpyProgram(problem, {"x": x}, limits, title="", equations=()).solve(solver="clarabel")
    best = cost * 62234.0 / 3.0
    assert solved.value == pytest.approx(best, rel=1e-5)
    assert solved.bound == pytest.approx(best, rel=1e-4)
    assert solved.bound is not None
    assert solved.bound >= best * (1.0 - 1e-9)
    assert solved.duals["amount"] == pytest.approx(cost / 3.0, rel=1e-4)


def test_what_is_infeasible_or_unbounded_is_said_in_any_unit() -> None:
    x = cp.Variable(name="x")
    for rows, status in (([x >= 2.0, x <= 1.0], "infeasible"), ([x <= 1.0], "unbounded")):
        problem = cp.Problem(cp.Minimize(1e-6 * x), rows)
        solved = CvxpyProgram(problem, {"x": x}, {}, title="", equations=()).solve(solver="clarabel")
        assert (solved.status, solved.value, solved.bound) == (status, None, None)
