"""The formulas of the DAS network written down plainly (Sec. 4), as printed and as we use them.

They need numpy and scipy only. The literal ones are slow, and judge the code that is trained and played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...models.base import InputError, numbers
from ...models.draw import real

SMOOTHNESS = 2.5
"""nu in (11)."""

Kernel = Callable[[np.ndarray, np.ndarray], float]
"""A kernel on graphs, given by two adjacency matrices."""


# (11)


def matern(distance: Any, lengthscale: float = 1.0) -> np.ndarray:
    """Return the Matern 5/2 kernel of distances.

    Parameters
    ----------
    distance
        Distances, >= 0, any shape.
    lengthscale
        What distances are divided by, > 0.

    Raises
    ------
    InputError
        For a negative distance, or a lengthscale that is not positive.
    """
    r = np.asarray(distance, dtype=np.float64)
    flat = numbers(r.reshape(-1), "distance", (None,))
    s = np.sqrt(5.0) * flat.reshape(r.shape) / _positive("lengthscale", lengthscale)
    return (1.0 + s + s * s / 3.0) * np.exp(-s)


def matern_bessel(g: Any) -> np.ndarray:
    """Return (11) of the scaled distance ``g`` >= 0 by its Bessel function; the limit 1 at 0.

    The modified Bessel function is that of the second kind: the first kind grows with the distance.
    """
    from scipy.special import gamma, kv

    s = np.sqrt(2.0 * SMOOTHNESS) * np.asarray(g, dtype=np.float64)
    away = s > 1e-100
    some = np.where(away, s, 1.0)
    value = 2.0 ** (1.0 - SMOOTHNESS) / gamma(SMOOTHNESS) * some**SMOOTHNESS * kv(SMOOTHNESS, some)
    return np.where(away, value, 1.0)


def printed_matern(x1: Any, x2: Any, rho: float = 1.0) -> np.ndarray:
    """Return (11) as printed, where the scaled *squared* distance of two points stands for the distance.

    Parameters
    ----------
    x1, x2
        Points, shape (..., d); the other dimensions are broadcast.
    rho
        The lengthscale, > 0.
    """
    difference = np.asarray(x1, dtype=np.float64) - np.asarray(x2, dtype=np.float64)
    return matern_bessel((difference**2).sum(axis=-1) / _positive("rho", rho) ** 2)


def distances(x: Any) -> np.ndarray:
    """Return the Euclidean distance of every two rows of ``x``, shape (m, d), as a matrix (m, m)."""
    points = numbers(x, "x", (None, None), low=-np.inf)
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def adjacency(x: Any, lengthscale: float = 1.0, *, printed: bool = False) -> np.ndarray:
    """Return the graph of the machines: (11) of every two of their states, over the number of machines.

    Divided by it the spectral radius is at most 1, whatever the number of machines.

    Parameters
    ----------
    x
        States of the machines, shape (M, d), M >= 1.
    lengthscale
        rho in (11).
    printed
        Whether the squared distance is taken, as printed.
    """
    points = numbers(x, "x", (None, None), low=-np.inf)
    if printed:
        return printed_matern(points[:, None], points[None], lengthscale) / len(points)
    return matern(distances(points), lengthscale) / len(points)


# (12)


def walk_kernel_literal(P1: Any, P2: Any, beta: float) -> float:
    """Return 1' exp(beta P1 (x) P2) 1 by the matrix exponential of the Kronecker product.

    The sum over all entries of Proposition 2's matrix, which has M1 M2 rows.
    """
    from scipy.linalg import expm

    product = np.kron(_graph("P1", P1), _graph("P2", P2))
    return float(expm(real("beta", beta, 0.0) * product).sum())


def walk_kernel(P1: Any, P2: Any, beta: float) -> float:
    """Return 1' exp(beta P1 (x) P2) 1 by the eigenvalues of the two graphs.

    With P = U diag(l) U' and a = (U'1)^2 it is the sum of a1_i a2_k exp(beta l1_i l2_k).

    Parameters
    ----------
    P1, P2
        Symmetric adjacency matrices, shapes (M1, M1) and (M2, M2).
    beta
        The weight, >= 0.

    Raises
    ------
    InputError
        For a matrix that is not symmetric, or a negative weight.
    """
    return float(walk_gram([P1], [P2], beta)[0, 0])


def walk_gram(graphs: Sequence[Any], others: Sequence[Any], beta: float) -> np.ndarray:
    """Return :func:`walk_kernel` of every graph with every other one; each is decomposed once."""
    weight = real("beta", beta, 0.0)
    ours = [_spectrum("P1", P) for P in graphs]
    theirs = ours if others is graphs else [_spectrum("P2", P) for P in others]
    table = [[a1 @ np.exp(weight * np.outer(l1, l2)) @ a2 for l2, a2 in theirs] for l1, a1 in ours]
    return np.array(table, dtype=np.float64).reshape(len(ours), len(theirs))


def geometric_walk_kernel(P1: Any, P2: Any, lam: float) -> float:
    """Return the series of (12), the sum over lam^l 1' (P1 (x) P2)^l 1; infinite where it diverges.

    With entries >= 0 it diverges from lam = 1 / (rho(P1) rho(P2)) on: the eigenvector of the largest
    eigenvalue has no negative entry, so all ones are not orthogonal to it.

    Parameters
    ----------
    P1, P2
        Symmetric adjacency matrices with entries >= 0.
    lam
        The weight, >= 0.
    """
    weight = real("lam", lam, 0.0)
    (l1, a1), (l2, a2) = _spectrum("P1", P1, low=0.0), _spectrum("P2", P2, low=0.0)
    scaled = weight * np.outer(l1, l2)
    if scaled.size and scaled.max() >= 1.0:
        return float("inf")
    return float(a1 @ (1.0 / (1.0 - scaled)) @ a2)


def geometric_partial_sums(P1: Any, P2: Any, lam: float, terms: int) -> np.ndarray:
    """Return the sums of the first 1, 2, ... terms of (12), shape (terms,); infinite where too large.

    Arguments as for :func:`geometric_walk_kernel`.
    """
    graphs = (_graph("P1", P1, low=0.0), _graph("P2", P2, low=0.0))
    radii = [float(np.abs(np.linalg.eigvalsh(P)).max(initial=0.0)) or 1.0 for P in graphs]
    walks = np.prod([walk_counts(P / r, terms) for P, r in zip(graphs, radii, strict=True)], axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (real("lam", lam, 0.0) * radii[0] * radii[1]) ** np.arange(terms) * walks
    return np.cumsum(np.where(walks > 0.0, scaled, 0.0))


def walk_counts(P: Any, terms: int) -> np.ndarray:
    """Return 1'P^l 1 for l = 0, 1, ..., shape (terms,)."""
    return _powers(P, terms).sum(axis=0)


def node_features(P: Any, beta: float, terms: int) -> np.ndarray:
    """Return psi, row k of which is sqrt(beta^l / l!) (P^l 1)_k for l = 0, 1, ..., shape (M, terms).

    Summed over the rows of two graphs, their inner product is 1' exp(beta P1 (x) P2) 1 but for the terms
    that are left out: this proves the kernel positive semi-definite for any symmetric graphs.
    """
    from scipy.special import gammaln

    order = np.arange(terms)
    return _powers(P, terms) * np.sqrt(real("beta", beta, 0.0) ** order * np.exp(-gammaln(order + 1.0)))


def graph_features(P: Any, beta: float, terms: int) -> np.ndarray:
    """Return sqrt(beta^l / l!) 1'P^l 1 for l = 0, 1, ..., shape (terms,)."""
    return node_features(P, beta, terms).sum(axis=0)


def gram(graphs: Sequence[np.ndarray], others: Sequence[np.ndarray], kernel: Kernel) -> np.ndarray:
    """Return the kernel of every graph with every other one, shape (len(graphs), len(others))."""
    table = [[kernel(one, other) for other in others] for one in graphs]
    return np.array(table, dtype=np.float64).reshape(len(graphs), len(others))


def smallest_eigenvalue(matrix: np.ndarray) -> float:
    """Return the smallest eigenvalue of a symmetric matrix, over the largest modulus of one."""
    values = np.linalg.eigvalsh(matrix)
    return float(values[0] / np.abs(values).max())


# (1), (2), (13), (14)


def posterior(
    K: np.ndarray,
    k_star: np.ndarray,
    k_star_star: np.ndarray,
    y: np.ndarray,
    noise: float,
    mean: Any = 0.0,
    mean_star: Any = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of a Gaussian process at new points given old ones, (1) and (2).

    Parameters
    ----------
    K
        Covariance of the old points, shape (n, n); n may be 0.
    k_star
        Covariance of the new points with the old ones, shape (s, n).
    k_star_star
        Covariance of the new points, shape (s, s).
    y
        Observed values, shape (n,), or (n, m) for m independent outputs.
    noise
        sigma^2, the variance of the noise, >= 0.
    mean, mean_star
        Prior means at the old and the new points, zero as printed.

    Returns
    -------
    tuple
        Mean, shape (s,) or (s, m), and covariance, shape (s, s).
    """
    noisy = K + real("noise", noise, 0.0) * np.eye(len(K))
    weights = np.linalg.solve(noisy, k_star.T).T
    return mean_star + weights @ (y - mean), k_star_star - weights @ k_star.T


# (4), (5), (8)


class Fusion(NamedTuple):
    """The weights of (4) and (5): W1 (u, e), b1 (e,), W2 (v, e), b2 (e,), W3 (2 e, e), b3 (e,)."""

    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray
    W3: np.ndarray
    b3: np.ndarray


def fused(jobs: np.ndarray, machines: np.ndarray, weights: Fusion) -> tuple[np.ndarray, ...]:
    """Return the fused job states of (5), the job states of (4), and the message that is mixed in.

    Parameters
    ----------
    jobs, machines
        The observations, shapes (N, u) and (M, v).
    weights
        The weights; their shapes do not depend on N and M.

    Returns
    -------
    tuple
        Shapes (N, e), (N, e) and (e,).
    """
    from scipy.special import expit

    own = np.maximum(jobs @ weights.W1 + weights.b1, 0.0)
    message = np.maximum(machines @ weights.W2 + weights.b2, 0.0).mean(axis=0)
    received = np.broadcast_to(message, own.shape)
    gate = expit(np.concatenate([own, received], axis=1) @ weights.W3 + weights.b3)
    return gate * received + (1.0 - gate) * own, own, message


def position_encoding(positions: Any, size: int) -> np.ndarray:
    """Return PE(i) for positions i, shape (len(positions), size); ``size`` is even."""
    if size % 2:
        raise InputError(f"size: {size} is not even")
    turn = np.outer(np.asarray(positions, dtype=np.float64), 10000.0 ** (-np.arange(0, size, 2) / size))
    return np.stack([np.sin(turn), np.cos(turn)], axis=-1).reshape(len(turn), size)


# (17), (18)


def log_density(action: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    """Return the logarithm of the normal density with a diagonal covariance; all of shape (N,)."""
    return float(-0.5 * ((action - mean) ** 2 / variance + np.log(2.0 * np.pi * variance)).sum())


def printed_log_density(action: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    """Return log pi as printed: without the inverse covariance, and with all of its log determinant."""
    square = ((action - mean) ** 2).sum() + len(action) * np.log(2.0 * np.pi)
    return float(-0.5 * square - np.log(variance).sum())


def clipped(ratio: Any, advantage: Any, bound: float) -> np.ndarray:
    """Return PPO's objective of every sample, min(r B, clip(r, 1 - bound, 1 + bound) B)."""
    r, B = np.asarray(ratio, dtype=np.float64), np.asarray(advantage, dtype=np.float64)
    return np.minimum(r * B, np.clip(r, 1.0 - bound, 1.0 + bound) * B)


def printed_clipped(ratio: Any, advantage: Any, bound: float) -> np.ndarray:
    """Return the objective of (17) as printed, min(r, clip(r, 1 - bound, 1 + bound)) B."""
    r, B = np.asarray(ratio, dtype=np.float64), np.asarray(advantage, dtype=np.float64)
    return np.minimum(r, np.clip(r, 1.0 - bound, 1.0 + bound)) * B


def _positive(field: str, value: float) -> float:
    """Return a finite number above 0."""
    result = real(field, value, 0.0)
    if result == 0.0:
        raise InputError(f"{field}: {value!r} is not above 0")
    return result


def _graph(field: str, matrix: Any, low: float = -np.inf) -> np.ndarray:
    """Return a symmetric matrix with entries of at least ``low``."""
    result = numbers(matrix, field, (None, None), low=low)
    if result.shape[0] != result.shape[1]:
        raise InputError(f"{field}: shape {'x'.join(map(str, result.shape))} is not square")
    asymmetry = np.abs(result - result.T)
    if result.size and asymmetry.max() > 1e-9 * np.abs(result).max():
        i, k = (int(n) for n in np.unravel_index(asymmetry.argmax(), asymmetry.shape))
        raise InputError(f"{field}[{i}][{k}]: {result[i, k]:g} is not the {result[k, i]:g} of [{k}][{i}]")
    return result


def _spectrum(field: str, matrix: Any, low: float = -np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of a graph, and the squared sums of their eigenvectors."""
    values, vectors = np.linalg.eigh(_graph(field, matrix, low))
    return values, vectors.sum(axis=0) ** 2


def _powers(P: Any, terms: int) -> np.ndarray:
    """Return P^l 1 for l = 0, 1, ..., shape (M, terms)."""
    matrix = _graph("P", P)
    result = np.ones((len(matrix), terms))
    for order in range(1, terms):
        result[:, order] = matrix @ result[:, order - 1]
    return result
