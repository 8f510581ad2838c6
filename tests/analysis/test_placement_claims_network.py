"""The claims on DAS's kernels, process, densities and objective; the formulas that they rest on."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from scipy.linalg import expm
from scipy.special import softmax
from scipy.stats import multivariate_normal

from clairvoyant.analysis.claim import Claim, Context, Finding
from clairvoyant.analysis.placement import formulas as kernels
from clairvoyant.analysis.placement.claims import network, objective
from clairvoyant.models.placement.instance import PlacementInstance

CHECKED = [*network.claim.claims, *objective.claim.claims]


@lru_cache(maxsize=64)
def check(name: str, seed: int = 0) -> Finding:
    return next(c for c in CHECKED if c.id == f"placement/{name}").check(Context("quick", seed=seed))


def number(name: str, key: str) -> float:
    return float(check(name).numbers[key])


@pytest.mark.parametrize("claim", CHECKED, ids=lambda claim: claim.id.split("/")[1])
def test_verdict_is_the_expected_one(claim: Claim) -> None:
    finding = check(claim.id.split("/")[1])
    assert finding.verdict is claim.expected
    assert finding.faults == []
    for table in finding.tables:
        assert table.rows
        assert all(len(line) == len(table.columns) for line in table.rows)
    for figure in finding.figures:
        assert figure.name.startswith("placement-")
        assert figure.svg.startswith("<svg")


@pytest.mark.parametrize("claim", CHECKED, ids=lambda claim: claim.id.split("/")[1])
def test_another_seed_gives_the_same_verdict(claim: Claim) -> None:
    seen: list[float] = []
    finding = claim.check(Context("quick", seed=3, progress=seen.append))
    assert finding.verdict is claim.expected
    assert all(0 <= fraction <= 1 for fraction in seen)


@pytest.mark.parametrize("name", ["proposition-1", "machines-apart", "copy-interval"])
def test_same_seed_same_finding(name: str) -> None:
    claim = next(c for c in CHECKED if c.id == f"placement/{name}")
    assert claim.check(Context("quick", seed=0)) == check(name)


def test_ids_are_unique_and_name_the_problem() -> None:
    ids = [claim.id for claim in CHECKED]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in CHECKED} == {"placement"}


def test_the_counterexample_survives_a_file() -> None:
    found = check("history-rows").counterexample
    assert isinstance(found, PlacementInstance)
    assert PlacementInstance.from_dict(found.to_dict()) == found
    assert check("history-rows").tables[0].rows[0] == ("two jobs", 1, 1, 0.0, 100.0)


# (11)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.0, 50.0, allow_subnormal=False), st.floats(0.05, 20.0))
def test_the_closed_form_of_matern_is_that_by_bessel_functions(distance: float, lengthscale: float) -> None:
    closed = kernels.matern(distance, lengthscale)
    assert float(closed) == pytest.approx(float(kernels.matern_bessel(distance / lengthscale)), abs=1e-12)
    assert 0.0 <= float(closed) <= 1.0


def test_the_printed_form_is_the_kernel_of_the_squared_distance() -> None:
    x, y = np.array([0.3, -1.0, 2.0]), np.array([0.1, 0.5, 1.0])
    squared = ((x - y) ** 2).sum()
    assert float(kernels.printed_matern(x, y, 2.0)) == pytest.approx(float(kernels.matern(squared / 4.0)))
    assert float(kernels.printed_matern(x, x)) == 1.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 10), st.floats(0.1, 5.0))
def test_the_kernel_of_the_distance_is_positive_semi_definite(seed: int, m: int, lengthscale: float) -> None:
    x = np.random.default_rng(seed).normal(size=(m, 3))
    P = kernels.adjacency(x, lengthscale)
    assert kernels.smallest_eigenvalue(P) >= -network.ROUNDING
    assert np.diagonal(P) == pytest.approx(1.0 / m)
    assert np.abs(np.linalg.eigvalsh(P)).max() <= 1.0 + 1e-12


def test_three_points_show_that_the_printed_kernel_is_none() -> None:
    step, graph = network.three_points()
    K = 3 * graph
    assert pytest.approx(kernels.matern(np.array([0.0, 1.0, 4.0]) * step**2)) == K[0]
    a, b = K[0, 1], K[0, 2]
    by_hand = 1 + b / 2 - np.sqrt(b * b / 4 + 2 * a * a)
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(by_hand)
    assert by_hand < -0.1


@pytest.mark.parametrize(("polynomial", "times"), [([1.0], 0), ([1.0, 1.0], 2), ([3.0, 3.0, 1.0], 4)])
def test_derivatives_at_0_by_hand(polynomial: list[float], times: int) -> None:
    """The first derivative of exp(-s) is -1, the third of (1 + s) exp(-s) 2, the fifth of the last -8."""
    assert network.times_differentiable(Polynomial(polynomial)) == times


# (12)


@st.composite
def symmetric(draw: st.DrawFn, low: float = -1.0, most: int = 4) -> np.ndarray:
    m = draw(st.integers(1, most))
    parts = st.floats(low, 1.0).map(lambda part: round(part, 12))
    entries = draw(st.lists(parts, min_size=m * m, max_size=m * m))
    A = np.array(entries, dtype=np.float64).reshape(m, m)
    result: np.ndarray = (A + A.T) / (2 * m)
    return result


@settings(max_examples=50, deadline=None)
@given(symmetric(), symmetric(), st.floats(0.0, 4.0))
def test_eigenvalues_and_features_give_the_literal_kernel(
    P1: np.ndarray, P2: np.ndarray, beta: float
) -> None:
    literal = float(expm(beta * np.kron(P1, P2)).sum())
    near = pytest.approx(literal, rel=1e-10, abs=1e-10)
    assert kernels.walk_kernel_literal(P1, P2, beta) == near
    assert kernels.walk_kernel(P1, P2, beta) == near
    psi, other = kernels.node_features(P1, beta, 60), kernels.node_features(P2, beta, 60)
    assert float((psi @ other.T).sum()) == near


@settings(max_examples=30, deadline=None)
@given(st.lists(symmetric(), min_size=1, max_size=5), st.floats(0.0, 4.0))
def test_the_walk_kernel_of_any_symmetric_graphs_is_one(graphs: list[np.ndarray], beta: float) -> None:
    K = kernels.walk_gram(graphs, beta)
    assert pytest.approx(K.T) == K
    assert kernels.smallest_eigenvalue((K + K.T) / 2) >= -network.ROUNDING
    literal = np.array([[kernels.walk_kernel_literal(a, b, beta) for b in graphs] for a in graphs])
    assert pytest.approx(literal, rel=1e-10, abs=1e-10) == K


@settings(max_examples=30, deadline=None)
@given(symmetric(0.0, 3), symmetric(0.0, 3), st.floats(0.01, 0.9))
def test_the_series_is_the_sum_of_powers_of_the_kronecker_product(
    P1: np.ndarray, P2: np.ndarray, share: float
) -> None:
    product = np.kron(P1, P2)
    rho = float(np.abs(np.linalg.eigvalsh(product)).max())
    lam = share / max(rho, 1e-3)
    powers = [np.linalg.matrix_power(product, k).sum() * lam**k for k in range(6)]
    partial = kernels.geometric_partial_sums(P1, P2, lam, 400)
    assert partial[:6] == pytest.approx(np.cumsum(powers))
    assert kernels.geometric_walk_kernel(P1, P2, lam) == pytest.approx(partial[-1])


def test_the_series_diverges_from_one_over_the_radius_on() -> None:
    ones = np.ones((2, 2))
    assert kernels.geometric_walk_kernel(ones, ones, 0.2) == pytest.approx(4 / (1 - 0.8))
    assert kernels.geometric_walk_kernel(ones, ones, 0.2500001) == np.inf
    assert kernels.geometric_walk_kernel(ones, ones, 1.0) == np.inf
    assert kernels.geometric_partial_sums(ones, ones, 1.0, 4).tolist() == [4, 20, 84, 340]
    nothing = np.zeros((3, 3))
    assert kernels.geometric_walk_kernel(nothing, ones, 1e6) == pytest.approx(6.0)


def test_two_machines_need_two_weights_by_hand() -> None:
    (_, _, _, alike, _), (_, _, _, apart, _) = check("proposition-2").tables[0].rows
    assert (alike, apart) == pytest.approx((np.log(2), 4 * np.log(8 / 7)))


def test_a_function_of_the_product_that_is_no_kernel_by_hand() -> None:
    (_, a, b), (_, _, c) = check("proposition-1-proof").tables[0].rows
    assert [a, b, c] == pytest.approx([4 * np.exp(-1), 4 * np.exp(-0.5), 4 * np.exp(-0.25)])
    assert a * c < b * b


# (1), (2), (13)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 5), st.integers(1, 3))
def test_the_posterior_is_that_of_the_joint_normal_distribution(seed: int, old: int, new: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(old + new, old + new))
    K, means, y = A @ A.T + 0.1 * np.eye(old + new), rng.normal(size=old + new), rng.normal(size=old)
    blocks = K[:old, :old], K[old:, :old], K[old:, old:]
    mean, covariance = kernels.posterior(*blocks, y, 0.3, means[:old], means[old:])
    joint = K + np.diag([0.3] * old + [0.0] * new)
    precision = np.linalg.inv(joint)[old:, old:]
    assert covariance == pytest.approx(np.linalg.inv(precision), abs=1e-9)
    point = rng.normal(size=new)
    conditional = multivariate_normal.logpdf(point, mean, covariance, allow_singular=True)
    both = multivariate_normal.logpdf(np.concatenate([y, point]), means, joint)
    first = multivariate_normal.logpdf(y, means[:old], joint[:old, :old]) if old else 0.0
    assert conditional == pytest.approx(both - first, abs=1e-6)


def test_without_a_history_the_posterior_is_the_prior() -> None:
    none = np.empty((0, 0))
    mean, covariance = kernels.posterior(none, np.empty((2, 0)), np.eye(2), np.empty((0, 3)), 0.1)
    assert mean.tolist() == np.zeros((2, 3)).tolist()
    assert covariance.tolist() == np.eye(2).tolist()


def test_renumbering_machines_renumbers_what_the_process_over_machines_says() -> None:
    rng = np.random.default_rng(5)
    history, swapped = network.busy_and_empty(rng, 4, 5)
    y, order = rng.normal(size=(4, 5)), rng.permutation(5)
    mean, covariance = network.node_posterior(history, y, 0.2)
    again, spread = network.node_posterior(history[:, order], y[:, order], 0.2)
    assert again == pytest.approx(mean[order])
    assert spread == pytest.approx(covariance[np.ix_(order, order)])
    assert abs(mean[0] - mean[1]) > 1e-3
    assert np.abs(network.node_posterior(swapped, y, 0.2)[0] - mean).max() > 1e-3


def test_rows_of_the_window_by_hand() -> None:
    seen = [[0, 1, 2], [1, 2, 3], [1, 4]]
    assert network.rows_back(seen, 1).tolist() == [5, 1, 3]
    assert network.rows_back(seen, 2).tolist() == [2, 0, 1]
    assert network.rows_back(seen, 3).tolist() == [0, 0, 0]


def test_the_process_of_two_epochs_by_hand() -> None:
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    draws, means = np.array([[1.0, -1.0], [2.0, 0.0]]), np.array([[0.1, 0.2], [0.3, 0.4]])
    actions = network.process_actions(K, 4, 0.25, draws, means)
    assert actions[0] == pytest.approx([1.1, -0.8])
    spread = np.sqrt(1 - 0.25 / 1.25)
    assert actions[1] == pytest.approx([0.3 + 0.4 * 1.0 + 2 * spread, 0.4 - 0.4])


def test_zero_affinities_place_as_first_fit() -> None:
    found = check("zero-mean").numbers
    assert found["epochs"] == found["as FirstFit"]
    assert found["without noise"] == 0.0


# (7), (8), log pi


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_the_density_is_scipys_and_the_printed_one_is_off_by_known_terms(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    a, mu, v = rng.normal(size=n), rng.uniform(-1, 1, n), rng.uniform(0.05, 0.95, n)
    right = float(multivariate_normal.logpdf(a, mu, np.diag(v)))
    assert kernels.log_density(a, mu, v) == pytest.approx(right)
    off = 0.5 * ((a - mu) ** 2 * (1 / v - 1)).sum() - 0.5 * np.log(v).sum()
    assert kernels.printed_log_density(a, mu, v) == pytest.approx(right + off)


def test_slopes_of_the_densities_by_differences() -> None:
    a, mu, h = np.array([2.0]), np.zeros(1), 1e-6
    for density, slope in ((kernels.printed_log_density, -2.0), (kernels.log_density, 7.0)):
        high, low = (density(a, mu, np.array([0.5 + d])) for d in (h, -h))
        assert (high - low) / (2 * h) == pytest.approx(slope)


def test_the_probability_of_being_first_by_drawing() -> None:
    scores = np.random.default_rng(0).normal(size=(200_000, 5)) * np.sqrt(0.5)
    scores[:, 0] += 0.69
    share = float((scores.argmax(axis=1) == 0).mean())
    assert objective.first_probability(0.69, 0.5, 5) == pytest.approx(share, abs=0.006)
    assert objective.first_probability(0.0, 0.5, 8) == pytest.approx(1 / 8)


# (17)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 5.0), st.floats(-3.0, 3.0))
def test_the_printed_objective_is_ppos_for_good_actions_alone(ratio: float, advantage: float) -> None:
    printed = float(kernels.printed_clipped(ratio, advantage, 0.2))
    ppo = float(kernels.clipped(ratio, advantage, 0.2))
    assert printed == pytest.approx(min(ratio, 1.2) * advantage)
    assert ppo == pytest.approx((min(ratio, 1.2) if advantage >= 0 else max(ratio, 0.8)) * advantage)


def stay_or_move(policy: np.ndarray) -> objective.Chain:
    """Return two states: staying in the second one pays 2, moving there 1."""
    P = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    return objective.Chain(P, np.array([[0.0, 1.0], [2.0, 0.0]]), policy)


def test_exact_values_by_iterating() -> None:
    chain = stay_or_move(softmax(np.array([[0.3, -0.2], [1.0, 0.5]]), axis=1))
    V, Q = chain.values()
    W = np.zeros(2)
    for _ in range(3000):
        W = (chain.policy * (chain.rewards + objective.DISCOUNT * chain.P @ W)).sum(axis=1)
    assert pytest.approx(W) == V
    assert (chain.policy * Q).sum(axis=1) == pytest.approx(V)


def test_advantages_by_playing() -> None:
    rng = np.random.default_rng(0)
    chain = stay_or_move(np.full((2, 2), 0.5))
    V, Q = chain.values()
    runs, steps, decay = 20_000, 12, 0.5
    weights = (objective.DISCOUNT * decay) ** np.arange(steps)
    state, action = np.zeros(runs, dtype=int), np.ones(runs, dtype=int)
    total = {"q": np.zeros(runs), "v": np.zeros(runs)}
    for weight in weights:
        after = np.where(action == 1, 1 - state, state)
        following = rng.integers(0, 2, runs)
        gain = chain.rewards[state, action]
        total["q"] += weight * (gain + objective.DISCOUNT * Q[after, following] - Q[state, action])
        total["v"] += weight * (gain + objective.DISCOUNT * V[after] - V[state])
        state, action = after, following
    for name, by_q in (("q", True), ("v", False)):
        exact = chain.expected_advantage(decay, by_q=by_q)[0, 1]
        error = 4 * total[name].std() / np.sqrt(runs)
        assert total[name].mean() == pytest.approx(exact, abs=error)
    assert total["q"].std() > 0.5


def test_ratios_are_1_at_the_first_and_every_odd_update() -> None:
    away = np.abs(objective.single_updates(np.random.default_rng(0), 101, 1e-4) - 1.0)
    assert (away == 0.0).sum() == 1 + 50
    assert 0.0 < away.max() < objective.BOUND


def test_a_far_too_large_learning_rate_is_clipped() -> None:
    away = np.abs(objective.single_updates(np.random.default_rng(0), 60, 0.05) - 1.0)
    assert away.max() > objective.BOUND


# (4), (5), positions, sizes


def test_the_gate_by_hand() -> None:
    one, zero = np.ones((1, 1)), np.zeros(1)
    weights = kernels.Fusion(one, zero, one, zero, np.zeros((2, 1)), zero)
    out, own, message = kernels.fused(np.array([[2.0], [-1.0]]), np.array([[3.0], [5.0]]), weights)
    assert message.tolist() == [4.0]
    assert own.tolist() == [[2.0], [0.0]]
    assert out.tolist() == [[3.0], [2.0]]


def test_position_encodings_by_hand() -> None:
    found = kernels.position_encoding([0, 3], 4)
    assert found[0].tolist() == [0, 1, 0, 1]
    assert found[1] == pytest.approx([np.sin(3), np.cos(3), np.sin(0.03), np.cos(0.03)])


def test_the_critics_inputs_by_hand() -> None:
    (found,) = check("scalable").tables
    assert [row[-1] for row in found.rows] == [24 * 5 + 5 * m + 24 + 24 * m for m in (8, 16, 32)]


def test_a_kronecker_product_has_another_shape() -> None:
    assert np.kron(np.ones((2, 3)), np.ones((4, 3))).shape == (8, 9)
    assert check("kronecker-shape").tables[0].rows[0][2] == f"{24 * 8} x {64**2}"
