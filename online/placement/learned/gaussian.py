r"""The random walk Gaussian process of Sec. 4.2.

A job and the machines make a graph with adjacency :math:`P_{kl} = Matern(x_k, x_l) / M`, where :math:`x_k` is
what machine k is to the job. Read soundly the process lives on its nodes,

.. math:: k((G, k), (G', l)) = s^2 \, Matern(x_k, x'_l) \, e^{-\beta} \langle \psi_k, \psi'_l \rangle, \quad
    \psi_k = \left[ \sqrt{\beta^l / l!} \, (P^l 1)_k \right]_{l = 0, 1, ...},

and the sum of the last factors over all pairs of nodes is the random walk kernel,
:math:`1^\top \exp(\beta P \otimes P') 1`. All arrays may have leading batch dimensions.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

TERMS = 12
"""Walks of up to so many steps less one: beta is at most 1, and 1 / 12! is below the rounding."""

GEOMETRIC_TERMS = 16

ROUNDING = 1e-12
"""Keeps the derivative of a distance finite where it is 0."""

JITTER = 1e-5
"""Added to the diagonal of a covariance before it is factored."""


def matern(x: Tensor, y: Tensor, lengthscale: Tensor, *, squared: bool = False) -> Tensor:
    r"""Return the Matern kernel with :math:`\nu = 5/2` between points, shape (..., m, n).

    Parameters
    ----------
    x, y
        Shapes (..., m, d) and (..., n, d).
    lengthscale
        :math:`\rho`.
    squared
        Put the squared distance in the place of the distance, as (11) does; not positive semi-definite.
    """
    a, b = x / lengthscale, y / lengthscale
    square = (a * a).sum(-1)[..., :, None] + (b * b).sum(-1)[..., None, :] - 2.0 * a @ b.transpose(-1, -2)
    square = square.clamp_min(0.0)
    g = math.sqrt(5.0) * (square if squared else torch.sqrt(square + ROUNDING))
    return (1.0 + g + g * g / 3.0) * torch.exp(-g)


def walk_features(adjacency: Tensor, weight: Tensor, *, geometric: bool = False) -> Tensor:
    r"""Return the features of the nodes, :math:`\psi` above, shape (..., M, terms).

    Parameters
    ----------
    adjacency
        P, shape (..., M, M).
    weight
        :math:`\beta`, or :math:`\lambda` if ``geometric``: then walks weigh :math:`\lambda^l` as in (12).
    """
    ones = adjacency.new_ones(adjacency.shape[:-1])
    walks, coefficients = [ones], [torch.ones_like(weight)]
    for step in range(1, GEOMETRIC_TERMS if geometric else TERMS):
        walks.append((adjacency @ walks[-1][..., None])[..., 0])
        coefficients.append(coefficients[-1] * (weight if geometric else weight / step))
    return torch.stack(walks, -1) * torch.sqrt(torch.stack(coefficients))


def walk_kernel(features: Tensor, others: Tensor) -> Tensor:
    r"""Return the random walk kernel between graphs, :math:`1^\top \exp(\beta P \otimes P') 1`.

    Parameters
    ----------
    features, others
        Features of nodes, shapes (..., m, M, terms) and (..., n, M, terms).

    Returns
    -------
    Tensor
        Shape (..., m, n).
    """
    return features.sum(-2) @ others.sum(-2).transpose(-1, -2)


def posterior(
    prior: Tensor, cross: Tensor, gram: Tensor, residual: Tensor, noise: Tensor, known: Tensor
) -> tuple[Tensor, Tensor]:
    """Return what (13) and (14) add to the mean, and the covariance, given noisy residuals.

    Parameters
    ----------
    prior
        Covariance of the m points asked for, shape (..., m, m).
    cross
        That between them and n points of the past, shape (..., m, n).
    gram
        That of the past, shape (..., n, n).
    residual
        Past values less their means, shape (..., n), or (..., n, c) for c outputs with the same kernel.
    noise
        The variance of the noise of past values.
    known
        Which points of the past count, shape (..., n); the others change nothing.
    """
    weight = known.to(gram.dtype)
    both = weight[..., :, None] * weight[..., None, :]
    eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    covariance = gram * both + eye * (noise + 1.0 - weight)[..., None, :]
    reach = cross * weight[..., None, :]
    columns = residual if residual.dim() == reach.dim() else residual[..., None]
    columns = columns * weight[..., None]
    factor = torch.linalg.cholesky(covariance)
    gain = torch.cholesky_solve(reach.transpose(-1, -2), factor).transpose(-1, -2)
    shift = gain @ columns
    return (shift if residual.dim() == reach.dim() else shift[..., 0]), prior - gain @ reach.transpose(-1, -2)


def projected(matrix: Tensor) -> Tensor:
    """Return the nearest positive semi-definite matrix, for kernels that are none."""
    values, vectors = torch.linalg.eigh((matrix + matrix.transpose(-1, -2)) / 2.0)
    return (vectors * values.clamp_min(0.0)[..., None, :]) @ vectors.transpose(-1, -2)
