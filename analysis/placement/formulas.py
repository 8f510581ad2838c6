"""The formulas of the DAS network written down plainly (Sec. 4), as printed and as we use them.

They need numpy and scipy only. The literal ones are slow, and judge the code that is trained and played.
Graphs are symmetric adjacency matrices, shape (M, M); weights and lengthscales are positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


def matern(distance: Any, lengthscale: float = 1.0) -> np.ndarray:
    """Return the Matern 5/2 kernel (11) of distances, any shape, in closed form."""
    s = np.sqrt(5.0) * np.asarray(distance, dtype=np.float64) / lengthscale
    return np.asarray((1.0 + s + s * s / 3.0) * np.exp(-s))


def matern_bessel(g: Any) -> np.ndarray:
    """Return (11) of the scaled distance ``g`` >= 0 by its Bessel function, of the second kind; 1 at 0."""
    from scipy.special import gamma, kv

    nu = 2.5
    s = np.sqrt(2.0 * nu) * np.asarray(g, dtype=np.float64)
    some = np.where(s > 1e-100, s, 1.0)
    return np.where(s > 1e-100, 2.0 ** (1.0 - nu) / gamma(nu) * some**nu * kv(nu, some), 1.0)


def printed_matern(x1: Any, x2: Any, rho: float = 1.0) -> np.ndarray:
    """Return (11) as printed, where the scaled *squared* distance of two points (..., d) is the distance."""
    difference = np.asarray(x1, dtype=np.float64) - np.asarray(x2, dtype=np.float64)
    return matern_bessel((difference**2).sum(axis=-1) / rho**2)


def distances(x: np.ndarray) -> np.ndarray:
    """Return the Euclidean distance of every two rows of ``x``, shape (m, d), as a matrix (m, m)."""
    return np.linalg.norm(x[:, None] - x[None], axis=-1)


def adjacency(x: np.ndarray, lengthscale: float = 1.0, *, printed: bool = False) -> np.ndarray:
    """Return the graph of machines with states ``x``, shape (M, d): (11) of every two of them, over M.

    Divided by M the spectral radius is at most 1, whatever M is. If ``printed`` the distance is squared.
    """
    if printed:
        return printed_matern(x[:, None], x[None], lengthscale) / len(x)
    return matern(distances(x), lengthscale) / len(x)


def walk_kernel_literal(P1: np.ndarray, P2: np.ndarray, beta: float) -> float:
    """Return 1' exp(beta P1 (x) P2) 1: the sum over Proposition 2's matrix, which has M1 M2 rows."""
    from scipy.linalg import expm

    return float(expm(beta * np.kron(P1, P2)).sum())


def walk_kernel(P1: np.ndarray, P2: np.ndarray, beta: float) -> float:
    """Return 1' exp(beta P1 (x) P2) 1 by the eigenvalues of the two graphs.

    With P = U diag(l) U' and a = (U'1)^2 it is the sum of a1_i a2_k exp(beta l1_i l2_k).
    """
    return float(walk_gram([P1, P2], beta)[0, 1])


def walk_gram(graphs: Sequence[np.ndarray], beta: float) -> np.ndarray:
    """Return :func:`walk_kernel` of every two graphs; each is decomposed once."""
    known = [_spectrum(P) for P in graphs]
    return np.array([[a1 @ np.exp(beta * np.outer(l1, l2)) @ a2 for l2, a2 in known] for l1, a1 in known])


def geometric_walk_kernel(P1: np.ndarray, P2: np.ndarray, lam: float) -> float:
    """Return the series of (12), the sum over lam^l 1' (P1 (x) P2)^l 1; infinite where it diverges.

    With entries >= 0 it diverges from lam = 1 / (rho(P1) rho(P2)) on: the eigenvector of the largest
    eigenvalue has no negative entry, so all ones are not orthogonal to it.
    """
    (l1, a1), (l2, a2) = _spectrum(P1), _spectrum(P2)
    scaled = lam * np.outer(l1, l2)
    return float(a1 @ (1.0 / (1.0 - scaled)) @ a2) if scaled.max() < 1.0 else float("inf")


def geometric_partial_sums(P1: np.ndarray, P2: np.ndarray, lam: float, terms: int) -> np.ndarray:
    """Return the sums of the first 1, 2, ... terms of (12), shape (terms,), for entries >= 0."""
    return np.cumsum(_powers(lam * np.kron(P1, P2), terms).sum(axis=0))


def node_features(P: np.ndarray, beta: float, terms: int) -> np.ndarray:
    """Return psi, row k of which is sqrt(beta^l / l!) (P^l 1)_k for l = 0, 1, ..., shape (M, terms).

    Summed over the rows of two graphs, their inner product is 1' exp(beta P1 (x) P2) 1 but for the terms
    that are left out: this proves the kernel positive semi-definite for any symmetric graphs.
    """
    from scipy.special import gammaln

    order = np.arange(terms)
    return _powers(P, terms) * np.sqrt(beta**order * np.exp(-gammaln(order + 1.0)))


def smallest_eigenvalue(matrix: np.ndarray) -> float:
    """Return the smallest eigenvalue of a symmetric matrix, over the largest modulus of one."""
    values = np.linalg.eigvalsh(matrix)
    return float(values[0] / np.abs(values).max())


def _spectrum(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of a graph, and the squared sums of their eigenvectors."""
    values, vectors = np.linalg.eigh(P)
    return values, vectors.sum(axis=0) ** 2


def _powers(P: np.ndarray, terms: int) -> np.ndarray:
    """Return P^l 1 for l = 0, 1, ..., shape (M, terms)."""
    result = np.ones((len(P), terms))
    for order in range(1, terms):
        result[:, order] = P @ result[:, order - 1]
    return result


def posterior(
    K: np.ndarray,
    k_star: np.ndarray,
    k_star_star: np.ndarray,
    y: np.ndarray,
    noise: float,
    mean: Any = 0.0,
    mean_star: Any = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of a Gaussian process at s new points given n old ones, (1) and (2).

    ``K`` is the covariance of the old points, ``k_star`` that of the new ones with the old ones, shape
    (s, n), ``k_star_star`` that of the new ones. ``y``, shape (n,) or (n, m) for m independent outputs, was
    observed with noise of variance ``noise``; the prior means are zero as printed.
    """
    weights = np.linalg.solve(K + noise * np.eye(len(K)), k_star.T).T
    return mean_star + weights @ (y - mean), k_star_star - weights @ k_star.T


class Fusion(NamedTuple):
    """The weights of (4) and (5): W1 (u, e), b1 (e,), W2 (v, e), b2 (e,), W3 (2 e, e), b3 (e,)."""

    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray
    W3: np.ndarray
    b3: np.ndarray


def fused(jobs: np.ndarray, machines: np.ndarray, weights: Fusion) -> tuple[np.ndarray, ...]:
    """Return the fused job states of (5), the job states of (4), and the message, (N, e), (N, e) and (e,).

    Observed are jobs (N, u) and machines (M, v).
    """
    from scipy.special import expit

    own = np.maximum(jobs @ weights.W1 + weights.b1, 0.0)
    message = np.maximum(machines @ weights.W2 + weights.b2, 0.0).mean(axis=0)
    received = np.broadcast_to(message, own.shape)
    gate = expit(np.concatenate([own, received], axis=1) @ weights.W3 + weights.b3)
    return gate * received + (1.0 - gate) * own, own, message


def position_encoding(positions: Any, size: int) -> np.ndarray:
    """Return PE(i) for positions i, shape (len(positions), size); ``size`` is even."""
    turn = np.outer(np.asarray(positions, dtype=np.float64), 10000.0 ** (-np.arange(0, size, 2) / size))
    return np.stack([np.sin(turn), np.cos(turn)], axis=-1).reshape(len(turn), size)


def log_density(action: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    """Return the logarithm of the normal density with a diagonal covariance; all of shape (N,)."""
    return float(-0.5 * ((action - mean) ** 2 / variance + np.log(2.0 * np.pi * variance)).sum())


def printed_log_density(action: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    """Return log pi as printed: without the inverse covariance, and with all of its log determinant."""
    square = ((action - mean) ** 2).sum() + len(action) * np.log(2.0 * np.pi)
    return float(-0.5 * square - np.log(variance).sum())


def clipped(ratio: Any, advantage: Any, bound: float) -> np.ndarray:
    """Return PPO's objective of every sample, min(r B, clip(r, 1 - bound, 1 + bound) B)."""
    return np.minimum(ratio * advantage, np.clip(ratio, 1.0 - bound, 1.0 + bound) * advantage)


def printed_clipped(ratio: Any, advantage: Any, bound: float) -> np.ndarray:
    """Return the objective of (17) as printed, min(r, clip(r, 1 - bound, 1 + bound)) B."""
    return np.minimum(ratio, np.clip(ratio, 1.0 - bound, 1.0 + bound)) * advantage
