"""The random walk Gaussian process beside plain formulas, SciPy, GPyTorch and finite differences."""

from __future__ import annotations

import copy
import math
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from torch import Tensor

from clairvoyant.analysis.placement import formulas as kernels
from clairvoyant.online.placement.learned import mappo
from clairvoyant.online.placement.learned.design import LITERAL, Design, Readings
from clairvoyant.online.placement.learned.episode_kernels import _factorised
from clairvoyant.online.placement.learned.gaussian import (
    factorised,
    matern,
    posterior,
    projected,
    walk_features,
)
from clairvoyant.online.placement.learned.networks import Normal, Past, PlacementHead
from clairvoyant.online.placement.learned.process import GEOMETRIC_TERMS, JITTER, MORE_JITTER, TERMS
from clairvoyant.online.placement.learned.process_kernels import _distances

SEEDS = st.integers(0, 2**32 - 1)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def number(value: float, *, learned: bool = False) -> Tensor:
    return torch.tensor(value, dtype=torch.float64, requires_grad=learned)


# (11)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 6), st.integers(1, 5), st.floats(0.1, 10.0))
def test_matern_is_the_plain_formula(seed: int, count: int, size: int, lengthscale: float) -> None:
    x, y = normal(count, size, seed=seed), normal(3, size, seed=seed + 1)
    away = torch.cdist(x, y).numpy()
    found = matern(x, y, number(lengthscale)).numpy()
    np.testing.assert_allclose(found, kernels.matern(away, lengthscale), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found, kernels.matern_bessel(away / lengthscale), rtol=1e-6, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.floats(0.3, 10.0))
def test_matern_of_squares_is_the_printed_one(seed: int, rho: float) -> None:
    x, y = normal(4, 3, seed=seed), normal(5, 3, seed=seed + 1)
    found = matern(x, y, number(rho), squared=True).numpy()
    printed = kernels.printed_matern(x.numpy()[:, None], y.numpy()[None], rho)
    np.testing.assert_allclose(found, printed, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_matern_is_that_of_gpytorch(batch: tuple[int, ...]) -> None:
    theirs = gpytorch.kernels.MaternKernel(nu=2.5).double()
    theirs.lengthscale = number(1.7)
    x, y = normal(*batch, 5, 4), normal(*batch, 6, 4, seed=1)
    with torch.no_grad():
        torch.testing.assert_close(matern(x, y, number(1.7)), theirs(x, y).to_dense(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("squared", [False, True])
def test_matern_of_coincident_points_is_one_with_a_finite_derivative(squared: bool) -> None:
    x = normal(4, 3)
    x[1] = x[0]
    ours = x.clone().requires_grad_()
    scale = number(0.9, learned=True)
    found = matern(ours, ours, scale, squared=squared)
    torch.testing.assert_close(found.diagonal(), torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-12)
    assert found[0, 1].item() == pytest.approx(1.0, abs=1e-12)
    pulled = torch.autograd.grad((found * normal(4, 4, seed=3)).sum(), [ours, scale])
    assert all(torch.isfinite(part).all() for part in pulled)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("batched", [False, True])
def test_derivative_of_matern_is_that_of_differences(squared: bool, batched: bool) -> None:
    x, y = normal(2, 3, 2), normal(2, 4, 2, seed=1)
    y[:, 0] = x[:, 0]
    points = (x, y) if batched else (x[0], y[0])
    inputs = [*(part.clone().requires_grad_() for part in points), number(1.3, learned=True)]
    assert torch.autograd.gradcheck(lambda *a: matern(*a, squared=squared), inputs, eps=1e-6, atol=1e-5)


# (12)


def graphs(seed: int, sizes: tuple[int, ...], lengthscale: float = 1.0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [kernels.adjacency(rng.normal(size=(m, 3)), lengthscale) for m in sizes]


def features(graph: np.ndarray, beta: float, *, geometric: bool = False) -> Tensor:
    return walk_features(torch.from_numpy(graph), number(beta), geometric=geometric)


def walk_kernel(psi: Tensor, others: Tensor) -> Tensor:
    """The random walk kernel between graphs, by the features of their nodes."""
    return psi.sum(-2) @ others.sum(-2).mT


def walks(P1: np.ndarray, P2: np.ndarray, beta: float, *, geometric: bool = False) -> float:
    one, other = (features(P, beta, geometric=geometric)[None] for P in (P1, P2))
    return float(walk_kernel(one, other))


TRUNCATION = sum(1.0 / math.factorial(step) for step in range(TERMS, 40))
"""At most so much of the kernel is left out with beta <= 1: walks of length 0 alone weigh M1 M2, and those of
length l at most M1 M2 / l!, as the spectral radii are at most 1."""


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 5), st.integers(1, 5), st.floats(0.0, 1.0), st.floats(0.2, 20.0))
def test_walk_kernel_is_the_exponential_of_the_product(
    seed: int, m1: int, m2: int, beta: float, lengthscale: float
) -> None:
    P1, P2 = graphs(seed, (m1, m2), lengthscale)
    found = walks(P1, P2, beta)
    assert found == pytest.approx(float(expm(beta * np.kron(P1, P2)).sum()), rel=1.01 * TRUNCATION)
    assert found == pytest.approx(kernels.walk_kernel(P1, P2, beta), rel=1.01 * TRUNCATION)


def test_what_is_left_out_is_below_the_rounding_of_the_networks() -> None:
    assert torch.finfo(torch.float32).eps / 2.0 > TRUNCATION
    # Machines that are all alike come closest to the limit.
    P = np.full((4, 4), 1.0 / 4.0)
    missing = 1.0 - walks(P, P, 1.0) / kernels.walk_kernel(P, P, 1.0)
    assert 0.0 < missing < TRUNCATION


def test_features_of_nodes_are_the_plain_ones_and_keep_batches() -> None:
    many = graphs(1, (4, 4, 4))
    together = walk_features(torch.from_numpy(np.stack(many)), number(0.7))
    for graph, found in zip(many, together, strict=True):
        np.testing.assert_allclose(found.numpy(), kernels.node_features(graph, 0.7, TERMS), rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(0.0, 1.0), st.booleans())
def test_gram_matrices_of_graphs_and_of_nodes_are_positive_semidefinite(
    seed: int, beta: float, geometric: bool
) -> None:
    weight = 0.99 * beta if geometric else beta
    psi = torch.stack([features(graph, weight, geometric=geometric) for graph in graphs(seed, (4,) * 6)])
    nodes = psi.reshape(24, -1)
    points = normal(24, 3, seed=seed)
    node_level = matern(points, points, number(1.0)) * (nodes @ nodes.mT)
    for gram in (walk_kernel(psi, psi), node_level):
        assert kernels.smallest_eigenvalue(gram.numpy()) > -1e-12


def test_node_kernel_without_matern_sums_to_the_walk_kernel() -> None:
    P1, P2 = graphs(3, (3, 5))
    sums = (features(P1, 0.6) @ features(P2, 0.6).mT).sum()
    assert sums.item() == pytest.approx(kernels.walk_kernel(P1, P2, 0.6), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 4), st.integers(1, 4), st.floats(0.0, 0.95))
def test_geometric_walks_are_the_closed_form_but_for_the_truncation(
    seed: int, m1: int, m2: int, lam: float
) -> None:
    P1, P2 = graphs(seed, (m1, m2))
    product = np.kron(P1, P2)
    radius = lam * np.abs(np.linalg.eigvalsh(product)).max()
    closed = float(np.linalg.inv(np.eye(len(product)) - lam * product).sum())
    found = walks(P1, P2, lam, geometric=True)
    partial = kernels.geometric_partial_sums(P1, P2, lam, GEOMETRIC_TERMS)[-1]
    assert found == pytest.approx(float(partial), rel=1e-10)
    left_out = m1 * m2 * radius**GEOMETRIC_TERMS / (1.0 - radius)
    assert -1e-9 * closed <= closed - found <= left_out * (1.0 + 1e-9) + 1e-9 * closed


def test_geometric_walks_leave_out_much_where_the_weight_is_large() -> None:
    P = np.full((3, 3), 1.0 / 3.0)
    for lam in (0.5, 0.9):
        missing = 1.0 - walks(P, P, lam, geometric=True) / kernels.geometric_walk_kernel(P, P, lam)
        assert missing == pytest.approx(lam**GEOMETRIC_TERMS, rel=1e-6)


# (13), (14)


class Case:
    """Points of a process with the kernel on nodes, and noisy values at those of the past."""

    def __init__(self, seed: int = 0, batch: int = 2, new: int = 3, old: int = 7, outputs: int = 1) -> None:
        self.new, self.batch, self.old = new, batch, old
        self.points = normal(batch, new + old, 3, seed=seed)
        self.psi = normal(batch, new + old, 4, seed=seed + 1)
        self.values = normal(batch, old, outputs, seed=seed + 2)
        self.known = torch.ones(batch, old, dtype=torch.bool)

    def kernel(self, lengthscale: Tensor, scale: Tensor | float = 0.8) -> Tensor:
        return scale * matern(self.points, self.points, lengthscale) * (self.psi @ self.psi.mT)

    def blocks(self, lengthscale: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        m, kernel = self.new, self.kernel(lengthscale)
        return kernel[:, :m, :m], kernel[:, :m, m:], kernel[:, m:, m:]

    def solve(
        self, noise: Tensor, lengthscale: Tensor | None = None, known: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        blocks = self.blocks(number(1.2) if lengthscale is None else lengthscale)
        return posterior(*blocks, self.values, noise, self.known if known is None else known)


class Nodes(gpytorch.kernels.Kernel):  # type: ignore[misc]
    """The kernel on nodes for GPyTorch: points and features of nodes side by side."""

    def __init__(self, width: int, lengthscale: float, scale: float) -> None:
        super().__init__()
        self.width, self.scale = width, scale
        self.near = gpytorch.kernels.MaternKernel(nu=2.5).double()
        self.near.lengthscale = number(lengthscale)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Any:
        near = self.near(x1[..., : self.width], x2[..., : self.width], diag=diag, **params)
        a, b = x1[..., self.width :], x2[..., self.width :]
        if diag:
            return self.scale * near * (a * b).sum(-1)
        return self.scale * near.to_dense() * (a @ b.mT)


class Regression(gpytorch.models.ExactGP):  # type: ignore[misc]
    """GPyTorch's exact regression with mean zero."""

    def __init__(self, x: Tensor, y: Tensor, likelihood: Any, kernel: Any) -> None:
        super().__init__(x, y, likelihood)
        self.kernel = kernel

    def forward(self, x: Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(x.new_zeros(x.shape[:-1]), self.kernel(x))


def by_gpytorch(case: Case, lengthscale: float, noise: float) -> tuple[Tensor, Tensor]:
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = number(noise)
    both = torch.cat([case.points, case.psi], -1)
    kernel = Nodes(3, lengthscale, 0.8)
    model = Regression(both[:, case.new :], case.values[..., 0], likelihood, kernel).double().eval()
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        found = model(both[:, : case.new])
        return found.mean, found.covariance_matrix


def test_posterior_is_that_of_gpytorch() -> None:
    for seed in range(4):
        case = Case(seed, batch=3, new=4, old=12)
        shift, covariance = case.solve(number(0.05), number(1.4))
        mean, theirs = by_gpytorch(case, 1.4, 0.05)
        torch.testing.assert_close(shift[..., 0], mean, rtol=1e-7, atol=1e-9)
        torch.testing.assert_close(covariance, theirs, rtol=1e-7, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 4), st.integers(0, 8), st.integers(1, 3), st.floats(0.01, 2.0))
def test_posterior_is_the_plain_formula(seed: int, new: int, old: int, outputs: int, noise: float) -> None:
    case = Case(seed, new=new, old=old, outputs=outputs)
    shift, covariance = case.solve(number(noise))
    prior, cross, gram = (part.numpy() for part in case.blocks(number(1.2)))
    for p in range(case.batch):
        plain = kernels.posterior(gram[p], cross[p], prior[p], case.values[p].numpy(), noise)
        np.testing.assert_allclose(shift[p].numpy(), plain[0], rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(covariance[p].numpy(), plain[1], rtol=1e-7, atol=1e-8)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.lists(st.booleans(), min_size=7, max_size=7))
def test_unknown_points_are_as_if_left_out(seed: int, mask: list[bool]) -> None:
    case = Case(seed, batch=1)
    known = torch.tensor([mask])
    case.values[~known] = 1e6
    shift, covariance = case.solve(number(0.1), known=known)
    prior, cross, gram = (part[0].numpy() for part in case.blocks(number(1.2)))
    kept = np.flatnonzero(mask)
    left = kernels.posterior(
        gram[np.ix_(kept, kept)], cross[:, kept], prior, case.values[0, kept].numpy(), 0.1
    )
    np.testing.assert_allclose(shift[0].numpy(), left[0], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(covariance[0].numpy(), left[1], rtol=1e-8, atol=1e-9)
    if not any(mask):
        assert not shift.any()
        np.testing.assert_array_equal(covariance[0].numpy(), prior)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.permutations(range(7)))
def test_the_order_of_the_past_changes_nothing(seed: int, order: list[int]) -> None:
    case, turned = Case(seed), Case(seed)
    case.known = normal(2, 7, seed=seed + 9) > -0.5
    new = torch.arange(case.new)
    everything = torch.cat([new, torch.tensor(order) + case.new])
    turned.points, turned.psi = case.points[:, everything], case.psi[:, everything]
    turned.values, turned.known = case.values[:, order], case.known[:, order]
    for one, other in zip(case.solve(number(0.1)), turned.solve(number(0.1)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-10)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(0.01, 1.0))
def test_more_data_never_raise_the_variance(seed: int, noise: float) -> None:
    case = Case(seed, batch=1)
    before = case.blocks(number(1.2))[0]
    for count in range(1, case.old + 1):
        covariance = case.solve(number(noise), known=(torch.arange(case.old) < count)[None])[1]
        # Less in every direction, so of every sum of the values too.
        assert np.linalg.eigvalsh((before - covariance)[0].numpy()).min() > -1e-9
        before = covariance
    assert np.linalg.eigvalsh(before[0].numpy()).min() > -1e-9


def test_derivatives_of_the_posterior_are_those_of_differences() -> None:
    case = Case(5, new=2, old=4, outputs=2)
    known = torch.tensor([[True, True, False, True], [True, True, True, True]])

    def solve(points: Tensor, psi: Tensor, values: Tensor, noise: Tensor, lengthscale: Tensor) -> Any:
        case.points, case.psi, case.values = points, psi, values
        return case.solve(noise, lengthscale, known)

    inputs = [case.points, case.psi, case.values, number(0.3), number(1.1)]
    assert torch.autograd.gradcheck(solve, [part.clone().requires_grad_() for part in inputs], atol=1e-6)


def test_projection_is_the_nearest_positive_semidefinite_matrix() -> None:
    matrix = normal(3, 5, 5)
    symmetric = (matrix + matrix.mT) / 2.0
    found = projected(matrix)
    assert all(np.linalg.eigvalsh(part.numpy()).min() > -1e-12 for part in found)
    # What was taken off is semi-definite too, and at right angles to what is left.
    taken = found - symmetric
    assert all(np.linalg.eigvalsh(part.numpy()).min() > -1e-12 for part in taken)
    assert (taken * found).sum((1, 2)).abs().max() < 1e-12
    torch.testing.assert_close(projected(found), found, rtol=1e-10, atol=1e-12)


def turned(values: list[float]) -> Tensor:
    """Return a symmetric matrix of these eigenvalues, up to rounding."""
    basis: Tensor = torch.linalg.qr(normal(len(values), len(values)))[0]
    return (basis * torch.tensor(values, dtype=torch.float64)) @ basis.mT


SPECTRA = {
    "all equal": turned([2.0, 2.0, 2.0, 2.0]),
    "repeated": turned([-1.0, -1.0, 3.0, 3.0, 3.0]),
    "the unit matrix": torch.eye(4, dtype=torch.float64),
    "positive": turned([1.0, 2.0, 3.0]),
    "negative": turned([-1.0, -2.0, -2.0]),
    "of both signs": turned([-2.0, -0.1, 0.1, 4.0]),
    "of two parts": torch.diag(torch.tensor([5.0, -5.0, 5.0, -5.0], dtype=torch.float64)),
    "nothing": torch.zeros(3, 3, dtype=torch.float64),
    "several": torch.stack([turned([1.0, 1.0, -1.0]), turned([1.0, 2.0, -3.0])]),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_projection_has_a_gradient_at_repeated_eigenvalues(name: str) -> None:
    matrix = SPECTRA[name].clone().requires_grad_()
    outer, way = normal(*matrix.shape, seed=1), normal(*matrix.shape, seed=2)
    (found,) = torch.autograd.grad(projected(matrix), matrix, outer)
    step = 1e-5
    with torch.no_grad():
        change = (projected(matrix + step * way) - projected(matrix - step * way)) / (2 * step)
    assert float((found * way).sum()) == pytest.approx(float((outer * change).sum()), rel=1e-6, abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([-3.0, -1e-30, -0.0, 0.0, 5e-324, 1e-8, 1.0, 1e20]), min_size=1, max_size=6))
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_gradient_of_the_projection_is_finite_and_shrinks(kind: torch.dtype, values: list[float]) -> None:
    matrix = torch.diag(torch.tensor(values, dtype=kind)).requires_grad_()
    outer = normal(*matrix.shape).to(kind)
    (found,) = torch.autograd.grad(projected(matrix), matrix, outer)
    assert found.isfinite().all()
    assert float(found.norm()) <= float(outer.norm()) * 1.0001  # no point is moved further than its origin


# The process as a whole


def head(**literal: str) -> PlacementHead:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = PlacementHead(Design(hidden=4, heads=2, history=3, readings=Readings(**literal))).double()
    with torch.no_grad():
        made.log_lengthscale.fill_(0.3)
        made.log_scale.fill_(-0.4)
        made.log_noise.fill_(-1.5)
        made.walk.fill_(0.7)
    return made


def history(made: PlacementHead, pairs: int, machines: int, *, seed: int = 0, full: bool) -> tuple[Any, Past]:
    e, t = made.design.hidden, made.design.history
    around = normal(pairs, 1 + t, machines, e, seed=seed).relu()
    jobs = normal(pairs * (1 + t), e, seed=seed + 1)
    with torch.no_grad():
        points = made.points(jobs, around.flatten(0, 1)).unflatten(0, (pairs, 1 + t))
    known = torch.ones(pairs, t, dtype=torch.bool)
    if not full:
        known[0, 1:], known[-1] = False, False
        points[:, 1:][~known] = 0.0
    residual = normal(pairs, t, machines, seed=seed + 2) * known[..., None]
    return points[:, 0], Past(points[:, 1:], residual, known)


def scalars(made: PlacementHead) -> tuple[float, float, float, float]:
    return (
        math.exp(made.log_lengthscale.item()),
        math.exp(made.log_scale.item()),
        math.exp(made.log_noise.item()),
        1.0 / (1.0 + math.exp(-made.walk.item())),
    )


def similarity(made: PlacementHead, x: np.ndarray, y: np.ndarray) -> float:
    """Return (11) of two points, by the distance or, read literally, by its square."""
    g = float(np.linalg.norm(x - y)) / scalars(made)[0]
    s = math.sqrt(5.0) * (g * g if made.readings.literal("matern") else g)
    return (1.0 + s + s * s / 3.0) * math.exp(-s)


def psi_of(made: PlacementHead, machines: np.ndarray) -> np.ndarray:
    """Return the features of the machines of one job, walk by walk."""
    beta, m = scalars(made)[3], len(machines)
    P = np.array([[similarity(made, x, y) / m for y in machines] for x in machines])
    geometric = made.readings.literal("walk")
    terms = 16 if geometric else 12
    columns = []
    for length in range(terms):
        weight = beta**length / (1.0 if geometric else math.factorial(length))
        columns.append(math.sqrt(weight) * np.linalg.matrix_power(P, length) @ np.ones(m))
    return np.stack(columns, -1)


def slow(made: PlacementHead, now: np.ndarray, past: Past, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Regress for one pair, node by node, on known jobs."""
    _, scale, noise, beta = scalars(made)
    scale *= (1.0 - beta) if made.readings.literal("walk") else math.exp(-beta)
    literal = made.readings.literal("matern")
    # A projection looks at the whole matrix; without one the unknown jobs are left out.
    kept = [j for j in range(past.points.shape[1]) if literal or past.known[p, j]]
    jobs = [now[p], *(past.points[p, j].numpy() for j in kept)]
    residual = past.residual[p, kept].numpy()
    psi, m = [psi_of(made, job) for job in jobs], len(now[p])
    if made.readings.literal("process"):
        K = np.array([[scale * (a.sum(0) @ b.sum(0)) / m**2 for b in psi] for a in psi])
        shift, variance = kernels.posterior(K[1:, 1:], K[:1, 1:], K[:1, :1], residual, noise)
        return shift[0], variance[0, 0] * np.eye(m)
    nodes = [(i, k) for i in range(len(jobs)) for k in range(m)]
    K = np.array(
        [
            [scale * similarity(made, jobs[i][k], jobs[j][q]) * (psi[i][k] @ psi[j][q]) for j, q in nodes]
            for i, k in nodes
        ]
    )
    if literal:
        K = nearest(K)
    shift, covariance = kernels.posterior(K[m:, m:], K[:m, m:], K[:m, :m], residual.reshape(-1), noise)
    return shift, nearest(covariance) if literal else covariance


def nearest(K: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh((K + K.T) / 2.0)
    found: np.ndarray = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return found


READINGS = [
    *({}, {"representation": LITERAL}, {"matern": LITERAL}, {"walk": LITERAL}, {"process": LITERAL}),
    {"walk": LITERAL, "process": LITERAL},
    {"representation": LITERAL, "matern": LITERAL, "walk": LITERAL},
]


@pytest.mark.parametrize("literal", READINGS, ids=lambda one: "+".join(one) or "sound")
def test_the_process_is_the_slow_one_node_by_node(literal: dict[str, str]) -> None:
    made = head(**literal)
    for machines in (1, 3):
        now, past = history(made, 3, machines, full="matern" in literal)
        with torch.no_grad():
            shift, covariance = made.regress(now, past)
        for p in range(3):
            plain = slow(made, now.numpy(), past, p)
            np.testing.assert_allclose(shift[p].numpy(), plain[0], rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(covariance[p].numpy(), plain[1], rtol=1e-6, atol=1e-7)
            assert np.linalg.eigvalsh(covariance[p].numpy()).min() > -1e-9


def test_points_are_products_and_read_literally_rows_of_a_quadratic_form() -> None:
    jobs, machines = normal(2, 4), normal(2, 3, 4, seed=1)
    for p in range(2):
        s, c = jobs[p].numpy(), machines[p].numpy()
        np.testing.assert_allclose(head().points(jobs, machines)[p].numpy(), s * c)
        found = head(representation=LITERAL).points(jobs, machines)[p].numpy()
        np.testing.assert_allclose(found, c @ np.diag(s) @ c.T)


@pytest.mark.parametrize("literal", [{}, {"process": LITERAL}, {"walk": LITERAL}])
def test_unknown_jobs_change_nothing(literal: dict[str, str]) -> None:
    made = head(**literal)
    now, past = history(made, 3, 3, full=False)
    other = Past(past.points.clone(), past.residual.clone(), past.known)
    other.points[~past.known] = normal(*other.points[~past.known].shape, seed=8)
    other.residual[~past.known] = 1e3
    with torch.no_grad():
        for one, two in zip(made.regress(now, past), made.regress(now, other), strict=True):
            torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("literal", [{}, {"walk": LITERAL}, {"process": LITERAL}])
def test_the_process_turns_with_the_machines_and_not_with_the_order_of_the_past(
    literal: dict[str, str],
) -> None:
    made = head(**literal)
    now, past = history(made, 2, 4, full=False)
    turn, order = torch.tensor([2, 0, 3, 1]), torch.tensor([1, 2, 0])
    turned = Past(past.points[:, order][:, :, turn], past.residual[:, order][..., turn], past.known[:, order])
    with torch.no_grad():
        shift, covariance = made.regress(now, past)
        found = made.regress(now[:, turn], turned)
    torch.testing.assert_close(found[0], shift[:, turn], rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(found[1], covariance[:, turn][:, :, turn], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("literal", [{}, {"walk": LITERAL}, {"process": LITERAL}])
def test_derivatives_of_the_process_are_those_of_differences(literal: dict[str, str]) -> None:
    made = head(**literal)
    now, past = history(made, 1, 2, full=True)
    names = ("log_lengthscale", "log_scale", "log_noise", "walk")

    def solve(now: Tensor, *scalars: Tensor) -> Any:
        given_ = dict(zip(names, scalars, strict=True))
        return torch.func.functional_call(Regressing(made), {f"head.{k}": v for k, v in given_.items()}, now)

    class Regressing(torch.nn.Module):
        def __init__(self, one: PlacementHead) -> None:
            super().__init__()
            self.head = one

        def forward(self, now: Tensor) -> tuple[Tensor, Tensor]:
            return self.head.regress(now, past)

    inputs = [now.clone().requires_grad_()]
    inputs += [getattr(made, name).detach().clone().requires_grad_() for name in names]
    assert torch.autograd.gradcheck(solve, inputs, atol=1e-5)


# The same in compiled kernels, in float32


def answers(made: PlacementHead, now: Tensor, past: Past, seed: int) -> list[Tensor]:
    """Return the results of a head in its precision, and the derivatives of a sum of multiples of them."""
    kind = made.log_scale.dtype
    point = now.to(kind).requires_grad_()
    past = Past(past.points.to(kind), past.residual.to(kind), past.known)
    shift, covariance = made.regress(point, past)
    of = [normal(*one.shape, seed=seed + i).to(kind) for i, one in enumerate((shift, covariance))]
    learned = [point, made.log_lengthscale, made.log_scale, made.log_noise, made.walk]
    pulled = torch.autograd.grad((shift * of[0]).sum() + (covariance * of[1]).sum(), learned)
    return [one.detach().double() for one in (shift, covariance, *pulled)]


def assert_alike(made: PlacementHead, now: Tensor, past: Past, seed: int = 0) -> None:
    """Assert that answers in float32, of kernels if the reading is sound, are those in double."""
    expected = answers(made, now, past, seed)
    for one, other in zip(answers(copy.deepcopy(made).float(), now, past, seed), expected, strict=True):
        scale = max(1.0, float(other.abs().max()) if other.numel() else 0.0)
        torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-5 * scale * math.sqrt(len(now) + 1))


@settings(max_examples=60, deadline=None)
@given(st.data(), SEEDS, st.integers(0, 4), st.integers(1, 9), st.integers(0, 8), st.integers(1, 33))
def test_compiled_the_process_is_that_of_double_precision(
    data: st.DataObject, seed: int, pairs: int, machines: int, histories: int, width: int
) -> None:
    made = head()
    with torch.no_grad():
        for name, most in (("log_lengthscale", 3.0), ("log_scale", 2.0), ("log_noise", 2.0), ("walk", 4.0)):
            getattr(made, name).fill_(data.draw(st.floats(-1.0, most), label=name))
    shape = (pairs, 1 + histories, machines, width)
    points = normal(*shape, seed=seed).relu() * data.draw(st.sampled_from((0.0, 1e-3, 0.3, 1.0, 3.0)))
    share = data.draw(st.sampled_from((0.0, 0.5, 1.0)))
    of = (pairs, histories, machines)[: data.draw(st.sampled_from((2, 3)), label="of jobs, or of machines")]
    known = torch.from_numpy(np.random.default_rng(seed).random(of) < share)
    residual = normal(pairs, histories, machines, seed=seed + 1)
    assert_alike(made, points[:, 0], Past(points[:, 1:], residual, known), seed)


def test_compiled_the_exponential_is_exact_but_for_rounding() -> None:
    points = np.random.default_rng(0).normal(size=(8, 90)).astype(np.float32)
    points[:, :30] *= np.float32(1e-3)
    points[:, 60:] *= np.float32(10.0)
    far, decay = np.empty((2, 90, 90), dtype=np.float32)
    _distances(points, far, decay)
    exact = np.exp(-far.astype(np.float64))
    assert (np.abs(decay - exact) <= 3e-7 * (1.0 + far) * exact + 2e-38).all()
    assert 0.0 < decay.min() < 1e-20


def test_far_from_the_origin_a_point_is_still_where_it_is() -> None:
    points = 300.0 * normal(8, 4, 3, 32)
    known = torch.ones(8, 3, dtype=torch.bool)
    assert_alike(head(), points[:, 0], Past(points[:, 1:], normal(8, 3, 3), known))


@pytest.mark.parametrize("literal", READINGS, ids=lambda one: "+".join(one) or "sound")
def test_every_reading_is_the_same_in_both_precisions(literal: dict[str, str]) -> None:
    made = head(**literal)
    now, past = history(made, 3, 4, full="matern" in literal)
    assert_alike(made, now, past)


def test_kernels_are_for_the_sound_reading_in_float32_on_a_processor() -> None:
    now, past = history(head(), 2, 3, full=True)
    single = Past(past.points.float(), past.residual.float(), past.known)
    learned = Past(single.points.clone().requires_grad_(), single.residual, single.known)

    def name(made: PlacementHead, now: Tensor, past: Past) -> str:
        with torch.enable_grad():
            return str(made.regress(now, past)[0].grad_fn)

    assert "Process" in name(head().float(), now.float(), single)
    assert "Process" not in name(head().float(), now.float(), learned)
    assert "Process" not in name(head(), now, past)
    assert "Process" not in name(head(walk=LITERAL).float(), now.float(), single)


def test_what_has_no_covariance_is_refused_by_the_kernels_too() -> None:
    made = head().float()
    now, past = history(made, 2, 3, full=True)
    points = past.points.float()
    points[1, 0, 0, 0] = math.nan
    with pytest.raises(torch.linalg.LinAlgError, match="not positive definite"):  # type: ignore[attr-defined]
        made.regress(now.float(), Past(points, past.residual.float(), past.known))


def off(by: float) -> np.ndarray:
    """Return a covariance of machines that are alike, but for so much less on its diagonal."""
    return (2.8 * np.ones((8, 8)) - by * np.eye(8)).astype(np.float32)


@settings(max_examples=30, deadline=None)
@given(by=st.floats(2e-6, MORE_JITTER[-1]))
def test_what_rounding_leaves_without_factors_gets_no_more_jitter_than_it_needs(by: float) -> None:
    single = off(by)
    jitter = JITTER * torch.eye(8)
    covariance, factor = factorised(torch.stack([torch.eye(8), torch.from_numpy(single)]) + jitter)
    with_jitter = torch.eye(8) + jitter
    assert torch.equal(covariance[0], with_jitter)  # to the bit: others are not touched
    assert torch.equal(factor[0], torch.linalg.cholesky(with_jitter))
    added = (covariance[1].diagonal() - torch.from_numpy(single).diagonal()).double().numpy()
    assert np.allclose(added, added[0])
    assert by - 2e-6 < added[0] <= max(1.11 * JITTER, 11.5 * (by + 2e-6))
    assert torch.allclose(factor[1] @ factor[1].mT, covariance[1], atol=2e-6)
    played = single.copy()
    assert np.allclose(_factorised(played), factor[1].numpy(), atol=1e-3)
    assert np.allclose(played, covariance[1].numpy(), atol=1e-6)


def test_what_is_no_covariance_has_no_factor() -> None:
    with pytest.raises(torch.linalg.LinAlgError, match="of affinities is not positive"):  # type: ignore[attr-defined]
        factorised(torch.from_numpy(off(0.1))[None])
    with pytest.raises(torch.linalg.LinAlgError, match="of affinities is not positive"):  # type: ignore[attr-defined]
        factorised(torch.full((1, 2, 2), math.nan))
    for single in (off(0.1), np.full((2, 2), np.nan, dtype=np.float32)):
        with pytest.raises(np.linalg.LinAlgError, match="of affinities is not positive"):
            _factorised(single)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, by=st.just(-1e-7) | st.floats(0.0, 1e-3))
def test_machines_that_are_alike_have_densities_and_derivatives(seed: int, by: float) -> None:
    rng = np.random.default_rng(seed)
    alike = torch.from_numpy(np.repeat(off(by)[None], 16, axis=0))  # by -1e-7 its factor's square has none
    alike.requires_grad_()
    covariance, factor = factorised(alike)
    normal = Normal(torch.zeros(16, 8), covariance.diagonal(dim1=1, dim2=2), factor)
    counts = torch.from_numpy((rng.random((16, 8)) < 0.8).astype(np.float32))
    action = (factor.detach() @ torch.from_numpy(rng.standard_normal((16, 8, 1)).astype(np.float32)))[..., 0]
    found = mappo.log_density(normal, action, counts).sum() + mappo.entropy(normal, counts).sum()
    found.backward()
    assert torch.isfinite(found)
    assert alike.grad is not None
    assert torch.isfinite(alike.grad).all()
    assert alike.grad.any()
