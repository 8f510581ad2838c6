"""The projection onto the feasible set against rational arithmetic, a QP solver and the KKT conditions."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.models.allocation import kernels
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.setting import Setting
from clairvoyant.models.base import InputError

cp: Any = cvxpy  # its types are incomplete
Row = tuple[list[float], list[float], float]

SIZES = st.sampled_from([0.0, 1e-12, 1e-6, 0.5, 1.0, 2.0, 3.0, 1e3]) | st.floats(1e-12, 20.0)
POINTS = SIZES | st.floats(-20.0, 40.0) | st.sampled_from([-1.0, -1e3])
EXTREMES = st.sampled_from([0.0, 1e-12, 1e-9, 1e-3, 1.0, 0.3, 1e6, 1e9, 1e12, 2e12 / 3])


@st.composite
def rows(draw: st.DrawFn, sizes: st.SearchStrategy[float], points: st.SearchStrategy[float]) -> Row:
    """Draw one row: z and a of each port, and c."""
    n = draw(st.integers(1, 7))
    z, a = (draw(st.lists(values, min_size=n, max_size=n)) for values in (points, sizes))
    return z, a, draw(sizes)


def setting_of(a: list[float], c: float) -> Setting:
    """One server, one kind, a port per entry."""
    ports = range(len(a))
    return AllocationInstance(
        edges=[[p, 0] for p in ports],
        demand=[[v] for v in a],
        capacity=[[c]],
        overhead=[0.5],
        utility_kind=[["log"]],
        alpha=[[1.0]],
        arrivals=np.ones((1, len(a)), dtype=np.int64),
    ).setting


def project_row(z: list[float], a: list[float], c: float) -> list[float]:
    return [float(v) for v in setting_of(a, c).project(np.array(z)[:, None])[:, 0]]


def exact(z: list[float], a: list[float], c: float) -> list[Fraction]:
    """Project in rational arithmetic: find the linear piece of sum clip(z - tau, 0, a) that meets c."""
    Z, A, C = [Fraction(v) for v in z], [Fraction(v) for v in a], Fraction(c)

    def at(tau: Fraction) -> list[Fraction]:
        return [min(max(v - tau, Fraction(0)), limit) for v, limit in zip(Z, A, strict=True)]

    tau = Fraction(0)
    if sum(at(tau)) > C:
        breaks = sorted({tau, *(b for v, limit in zip(Z, A, strict=True) for b in (v, v - limit) if b > 0)})
        left = next(low for low, high in pairwise(breaks) if sum(at(high)) <= C)
        free = sum(1 for v, limit in zip(Z, A, strict=True) if v - limit <= left < v)
        tau = left + (sum(at(left)) - C) / free
    return at(tau)


def assert_projects_exactly(row: Row) -> None:
    z, a, c = row
    size = max(1.0, c, *z)  # rounding of tau is relative to the largest number that takes part
    setting = setting_of(a, c)
    found = setting.project(np.array(z)[:, None])
    assert setting.violations(found) == []
    for got, want in zip(found[:, 0].tolist(), exact(*row), strict=True):
        assert abs(Fraction(got) - want) <= Fraction(size * len(z)) * Fraction(2) ** -48


@given(rows(SIZES, POINTS))
@settings(max_examples=200, deadline=None)
def test_row_equals_rational_arithmetic(row: Row) -> None:
    assert_projects_exactly(row)


@given(rows(EXTREMES, EXTREMES))
@settings(max_examples=300, deadline=None)
def test_row_from_1e_minus_12_to_1e12_is_feasible_and_equals_rational_arithmetic(row: Row) -> None:
    assert_projects_exactly(row)


@st.composite
def far_rows(draw: st.DrawFn) -> Row:
    """Draw a row whose entries are far from the capacity: tied, apart by parts of it, by digits, or far."""
    n, c, far = (
        draw(st.integers(1, 7)),
        10.0 ** draw(st.floats(-50.0, 50.0)),
        10.0 ** draw(st.floats(9.0, 150.0)),
    )
    base = c * far
    near: st.SearchStrategy[float] = st.sampled_from([0.0, 0.3, 1.0, -0.4, 2.5])
    digits: st.SearchStrategy[float] = st.sampled_from([0.0, 2.0**-52, -(2.0**-52), 1.0, -0.9, -2.0])
    z = [base * (1.0 + draw(digits)) + c * draw(near) for _ in range(n)]
    a = [c * draw(st.sampled_from([0.0, 1e-3, 0.25, 0.5, 1.0, 7.0])) for _ in range(n)]
    return z, [v if v >= 1e-50 else 0.0 for v in a], max(c, 1e-50)


@given(far_rows())
@settings(max_examples=300, deadline=None)
def test_a_row_far_from_its_capacity_equals_rational_arithmetic(row: Row) -> None:
    z, a, c = row
    setting = setting_of([min(v, 1e50) for v in a], min(c, 1e50))
    found = setting.project(np.array(z)[:, None])
    assert setting.violations(found) == []
    want = exact(z, setting.edge_demand[:, 0].tolist(), float(setting.capacity[0, 0]))
    for got, true in zip(found[:, 0].tolist(), want, strict=True):
        assert abs(Fraction(got) - true) <= Fraction(c) * Fraction(2) ** -32


@pytest.mark.parametrize(
    ("z", "a", "c", "want"),
    [
        ([2.0**53, 2.0**53], [1.0, 1.0], 1.0, [0.5, 0.5]),
        ([1e100, 1e100, 1e99], [1.0, 0.25, 1.0], 1.0, [0.75, 0.25, 0.0]),
        ([1e30, 1e20], [1.0, 1.0], 1.5, [1.0, 0.5]),
        ([1e300, 1.0], [1.0, 1.0], 1.5, [1.0, 0.5]),
        ([1e300, 1.0, -1e300], [1.0, 0.25, 9.0], 1.5, [1.0, 0.25, 0.0]),
        ([1e308, -1e308], [0.5, 0.5], 0.5, [0.5, 0.0]),
        ([1e16, 1e16], [1e-20, 1e-30], 1.0, [1e-20, 1e-30]),
    ],
)
def test_known_rows_far_from_their_capacity(
    z: list[float], a: list[float], c: float, want: list[float]
) -> None:
    assert project_row(z, a, c) == want


def test_a_start_beyond_what_it_was_good_for_does_not_matter() -> None:
    """A row that is not full, with the dual variable of one that was full, and far away."""
    lanes = kernels.LANES
    z, limit = np.repeat([[1e16], [-5.0]], lanes, axis=1), np.full((2, lanes), 0.1)
    kernels.project_block(
        z, limit, np.ones(lanes), np.full(lanes, 1e16 - 2.0), *(np.empty(lanes) for _ in range(4))
    )
    assert z[:, 0].tolist() == [0.1, 0.0]


@pytest.mark.parametrize(
    ("z", "a", "c", "want"),
    [
        # The rows on which the projection printed in the paper goes wrong.
        ([0.5], [1.0], 1.0, [0.5]),
        ([3.0, 3.0, 1.0], [1.0, 1.0, 1.0], 2.5, [1.0, 1.0, 0.5]),
        ([3.0, 2.0], [3.0, 0.5], 3.0, [2.5, 0.5]),
        ([-1.0, 0.0], [0.5, 0.5], 0.5, [0.0, 0.0]),
        ([2.0], [1.0], 1.5, [1.0]),
        # Ties, zeros, and a capacity that is just met.
        ([1.0] * 6, [1.0] * 6, 3.0, [0.5] * 6),
        ([5.0] * 4, [1.0] * 4, 4.0, [1.0] * 4),
        ([2.0, 1.0], [9.0, 9.0], 0.0, [0.0, 0.0]),
        ([2.0, 1.0], [0.0, 9.0], 3.0, [0.0, 1.0]),
        ([4.0, 3.0, 0.0], [9.0, 9.0, 9.0], 1.0, [1.0, 0.0, 0.0]),
    ],
)
def test_known_rows(z: list[float], a: list[float], c: float, want: list[float]) -> None:
    assert project_row(z, a, c) == pytest.approx(want, abs=1e-15)
    assert [float(v) for v in exact(z, a, c)] == want


def crowded(seed: int, **options: Any) -> tuple[Setting, np.ndarray, np.random.Generator]:
    """Return a generated setting with many ports per server, and a point with all kinds of entries."""
    options = {"ports": 9, "servers": 8, "density": 4.5} | options
    setting = generate("default", seed, slots=0, **options).setting
    rng = np.random.default_rng(seed)
    return setting, point(setting, rng), rng


def point(setting: Setting, rng: np.random.Generator) -> np.ndarray:
    """Return a point with entries below zero, inside, above their limits, and tied."""
    z = rng.normal(0.6, 1.0, setting.shape) * (setting.edge_demand + 1.0)
    return np.where(rng.random(z.shape) < 0.3, np.round(z), z)


@pytest.mark.parametrize("seed", range(5))
def test_every_row_of_an_instance_equals_rational_arithmetic(seed: int) -> None:
    setting, z, _ = crowded(seed)
    y = setting.project(z)
    tight = 0
    for r in range(setting.servers):
        here = slice(setting.server_start[r], setting.server_start[r + 1])
        for k in range(setting.kinds):
            want = exact(
                z[here, k].tolist(), setting.edge_demand[here, k].tolist(), float(setting.capacity[r, k])
            )
            assert y[here, k] == pytest.approx([float(v) for v in want], rel=1e-13, abs=1e-12)
            tight += sum(want) == Fraction(float(setting.capacity[r, k])) and len(want) > 1
    assert tight >= 10  # the test would mean little if capacity never bound


@pytest.mark.parametrize("seed", range(3))
def test_projection_equals_a_qp_solver(seed: int) -> None:
    setting, z, _ = crowded(seed, ports=4, servers=5, density=2.5)
    y = cp.Variable(setting.shape, nonneg=True)
    member = np.equal.outer(np.arange(setting.servers), setting.server).astype(float)
    limits = [y <= setting.edge_demand, member @ y <= setting.capacity]
    precise = {"tol_gap_abs": 1e-14, "tol_gap_rel": 1e-14, "tol_feas": 1e-12}
    cp.Problem(cp.Minimize(cp.sum_squares(y - z)), limits).solve(solver=cp.CLARABEL, **precise)
    assert setting.project(z) == pytest.approx(np.asarray(y.value), abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_optimality_conditions(seed: int) -> None:
    """(12) with stationarity 2 (y - z) + rho + mu - lambda = 0: one rho per row explains every entry."""
    setting, z, _ = crowded(seed)
    y, a = setting.project(z), setting.edge_demand
    assert setting.violations(y) == []
    slack = setting.capacity - setting.server_sums(y)
    inside = (y > 1e-12) & (y < a - 1e-12)
    for r in range(setting.servers):
        for k in range(setting.kinds):
            here = np.arange(setting.server_start[r], setting.server_start[r + 1])
            pull = (z - y)[here, k]  # rho / 2 + mu / 2 - lambda / 2
            half_rho = pull[inside[here, k]]
            if half_rho.size == 0:
                continue
            rho = half_rho[0]
            assert half_rho == pytest.approx(np.full(half_rho.size, rho), abs=1e-11)
            assert rho >= -1e-12  # dual feasibility
            assert rho * slack[r, k] == pytest.approx(0.0, abs=1e-10)  # complementarity
            room = a[here, k] > 0.0
            assert (pull[room & (y[here, k] <= 1e-12)] <= rho + 1e-11).all()  # lambda >= 0
            assert (pull[room & (y[here, k] >= a[here, k] - 1e-12)] >= rho - 1e-11).all()  # mu >= 0


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_idempotent_non_expansive_and_closest(seed: int) -> None:
    setting, z, rng = crowded(seed % 3)
    z, w = point(setting, rng) * rng.choice([0.1, 1.0, 100.0]), point(setting, np.random.default_rng(seed))
    y, v = setting.project(z), setting.project(w)
    assert setting.project(y) == pytest.approx(y, abs=1e-12)
    assert np.linalg.norm(y - v) <= np.linalg.norm(z - w) * (1 + 1e-12)
    assert ((z - y) * (v - y)).sum() <= 1e-9 * np.linalg.norm(z)  # the variational inequality, v being in Y


def test_a_feasible_point_stays_bit_by_bit() -> None:
    setting, _, rng = crowded(0)
    y = rng.random(setting.shape) * setting.edge_demand
    y *= (
        np.minimum(1.0, setting.capacity / np.maximum(setting.server_sums(y), 1e-300))[setting.server] * 0.999
    )
    assert (setting.project(y) == y).all()


def test_the_point_itself_is_left_alone() -> None:
    setting, z, _ = crowded(1)
    before = z.copy()
    setting.project(z)
    assert (z == before).all()


def test_an_instance_without_edges_has_an_empty_projection() -> None:
    setting = generate("tiny", density=0.0).setting
    assert setting.project(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_point_that_is_not_finite_is_refused(bad: float) -> None:
    setting = setting_of([1.0, 1.0], 1.0)
    with pytest.raises(InputError, match=r"z\[1\]\[0\]: -?(nan|inf) is not finite"):
        setting.project(np.array([[0.0], [bad]]))


def test_a_point_of_another_shape_is_refused() -> None:
    with pytest.raises(InputError, match=r"decision: shape \(3, 1\) does not fit, expected \(2, 1\)"):
        setting_of([1.0, 1.0], 1.0).project(np.zeros((3, 1)))


def plain(kernel: Any) -> Callable[..., Any]:
    """Return a kernel as interpreted Python (it is that already where numba is switched off)."""
    function: Callable[..., Any] = getattr(kernel, "py_func", kernel)
    return function


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every compiled kernel by its Python function."""
    for name, kernel in vars(kernels).copy().items():
        if hasattr(kernel, "py_func"):
            monkeypatch.setattr(kernels, name, kernel.py_func)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("scale", [1.0, 0.0, 1e6, 1e40])
def test_interpreted_projection_equals_compiled(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    setting, z, _ = crowded(2, ports=5, servers=3, density=3.0)
    slow = setting.project(z * scale)
    monkeypatch.undo()
    assert (setting.project(z * scale) == slow).all()


@pytest.mark.usefixtures("interpreted")
def test_interpreted_evaluation_equals_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    setting, z, rng = crowded(3, ports=5, servers=3, density=3.0)
    arrivals = rng.integers(0, 3, setting.ports)
    points = [setting.project(z), np.maximum(z, -0.5), np.full(setting.shape, np.nan)]
    slow = [setting.evaluate(y, arrivals) for y in points]
    monkeypatch.undo()
    assert [feasible for _, feasible in slow] == [True, False, False]
    for y, (reward, feasible) in zip(points, slow, strict=True):
        fast, fast_feasible = setting.evaluate(y, arrivals)
        assert fast == pytest.approx(reward, rel=1e-13, nan_ok=True)
        assert fast_feasible == feasible


def test_the_product_of_many_logarithms_does_not_overflow() -> None:
    """Log rewards of a row are summed as one logarithm of a product, which 200 factors would overflow."""
    n = 200
    setting = setting_of([1e9] * n, 1e12)
    y, ones = np.full((n, 1), 1e9), np.ones(n, dtype=np.int64)
    want = n * np.log1p(1e9) - 0.5 * 1e9 * n
    arrays = (setting.port, setting.server_start, setting.edge_demand, setting.capacity)
    more = (setting.overhead, setting.kind, setting.alpha, 1e-9)
    for reward, feasible in (setting.evaluate(y, ones), plain(kernels.evaluate)(y, ones, *arrays, *more)):
        assert reward == pytest.approx(want, rel=1e-12)
        assert feasible


def test_a_row_that_fits_ends_at_zero_whatever_the_start() -> None:
    """Above all breakpoints the sum is flat, and halving tau would never arrive at zero."""
    lanes = kernels.LANES
    z = np.repeat([[-7.4], [21.9], [6.8]], lanes, axis=1)
    limit = np.repeat([[4.0], [2.0], [1.0]], lanes, axis=1)
    tau, cap = np.full(lanes, 5.0), np.full(lanes, 4.0)
    kernels.project_block(z, limit, cap, tau, *(np.empty(lanes) for _ in range(4)))
    assert (tau == 0.0).all()
    assert z[:, 0].tolist() == [0.0, 2.0, 1.0]
