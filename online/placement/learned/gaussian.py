r"""The random walk Gaussian process of Sec. 4.2.

A job and the machines make a graph with adjacency :math:`P_{kl} = Matern(x_k, x_l) / M`, where :math:`x_k` is
what machine k is to the job. Read soundly the process lives on its nodes,

.. math:: k((G, k), (G', l)) = s^2 \, Matern(x_k, x'_l) \, e^{-\beta} \langle \psi_k, \psi'_l \rangle, \quad
    \psi_k = \left[ \sqrt{\beta^l / l!} \, (P^l 1)_k \right]_{l = 0, 1, ...},

and the sum of the last factors over all pairs of nodes is the random walk kernel,
:math:`1^\top \exp(\beta P \otimes P') 1`. All arrays may have leading batch dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.linalg import LinAlgError  # type: ignore[attr-defined]

from .process import GEOMETRIC_TERMS, MORE_JITTER, TERMS
from .process_kernels import pull, regress, room


class _Matern(torch.autograd.Function):
    """The kernel of squared distances (of anything, if squared), with its derivative written out.

    In terms of the square the derivative is finite everywhere, at 0 as well.
    """

    @staticmethod
    def forward(ctx: Any, square: Tensor) -> Tensor:
        """Return the kernel, elementwise."""
        g = (5.0 * square).sqrt_()
        decay = torch.exp(-g)
        ctx.save_for_backward(g, decay)
        return (g * g / 3.0).add_(g).add_(1.0).mul_(decay)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Tensor:
        """Return the derivative."""
        g, decay = ctx.saved_tensors
        return (g + 1.0).mul_(decay).mul_(-5.0 / 6.0).mul_(outer[0])


_kernel_of_squares: Callable[[Tensor], Tensor] = _Matern.apply


def matern(x: Tensor, y: Tensor, lengthscale: Tensor, *, squared: bool = False) -> Tensor:
    r"""Return the Matern kernel with :math:`\nu = 5/2` between points, shape (..., m, n).

    The lengthscale is :math:`\rho`. With ``squared`` the squared distance is in the place of the distance, as
    (11) has it; not positive semi-definite.
    """
    a, b = x / lengthscale, y / lengthscale
    far = (a * a).sum(-1)[..., :, None] + (b * b).sum(-1)[..., None, :]
    square = torch.baddbmm(far, a, b.transpose(-1, -2), alpha=-2.0) if a.dim() == 3 else far - 2.0 * a @ b.mT
    square = square.clamp_min(0.0)
    return _kernel_of_squares(square * square if squared else square)


def walk_features(adjacency: Tensor, weight: Tensor, *, geometric: bool = False) -> Tensor:
    r"""Return the features of the nodes, :math:`\psi` above, shape (..., M, terms).

    ``adjacency`` is P, and ``weight`` is :math:`\beta`, or :math:`\lambda` if ``geometric``: then walks weigh
    :math:`\lambda^l` as in (12).
    """
    # One contiguous stack of matrices, so that no product copies them again.
    matrices = adjacency.reshape(-1, *adjacency.shape[-2:])
    walks, coefficients = [matrices.new_ones(*matrices.shape[:-1], 1)], [torch.ones_like(weight)]
    for step in range(1, GEOMETRIC_TERMS if geometric else TERMS):
        walks.append(torch.bmm(matrices, walks[-1]))
        coefficients.append(coefficients[-1] * (weight if geometric else weight / step))
    counts = torch.cat(walks, -1).reshape(*adjacency.shape[:-1], len(walks))
    return counts * torch.sqrt(torch.stack(coefficients))


class _Regression(torch.autograd.Function):
    r"""The change of the mean and of the covariance by data, derivatives written out.

    With :math:`W = K^{-1} C^T` and :math:`\alpha = K^{-1} Y` these are :math:`C \alpha` and :math:`C W`.
    The derivatives need products of them alone, not that of a Cholesky factor.
    """

    @staticmethod
    def forward(ctx: Any, gram: Tensor, cross: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return both; shapes (p, n, n), (p, m, n) and (p, n, c)."""
        m = cross.shape[-2]
        factor = torch.linalg.cholesky(gram)
        solved = torch.cholesky_solve(torch.cat([cross.mT, values], -1), factor)
        weights, alpha = solved[..., :m], solved[..., m:]
        ctx.save_for_backward(weights, alpha)
        return cross @ alpha, cross @ weights

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the derivatives."""
        weights, alpha = ctx.saved_tensors
        shift, less = outer
        both = less + less.mT
        pulled = weights @ shift
        gram = -(pulled @ alpha.mT) - (weights @ less @ weights.mT)
        return gram, shift @ alpha.mT + both @ weights.mT, pulled


_regression: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]] = _Regression.apply


def factorised(covariance: Tensor) -> tuple[Tensor, Tensor]:
    """Return covariances, shape (..., m, m), and their lower factors; what has none gets more jitter.

    Raises
    ------
    LinAlgError
        If one has no factor with the most jitter: it is not finite, or far from positive definite.
    """
    identity = torch.eye(covariance.shape[-1], dtype=covariance.dtype, device=covariance.device)
    factor, failed = torch.linalg.cholesky_ex(covariance)
    for jitter in MORE_JITTER:
        if failed.any():
            more = torch.where(failed > 0, jitter, 0.0).to(covariance.dtype)
            covariance = covariance + more[..., None, None] * identity
            factor, failed = torch.linalg.cholesky_ex(covariance)
    if failed.any():
        raise LinAlgError("the covariance of affinities is not positive definite")
    return covariance, factor


def posterior(
    prior: Tensor, cross: Tensor, gram: Tensor, residual: Tensor, noise: Tensor, known: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the change of the mean by (13) and (14), and the covariance, given noisy residuals.

    ``prior`` is the covariance of the m points asked for, shape (p, m, m), ``cross`` that between them and n
    points of the past, shape (p, m, n), ``gram`` that of the past, shape (p, n, n). ``residual`` is past
    values less their means, of c outputs with the same kernel, shape (p, n, c), with a ``noise`` of this
    variance. Only the ``known`` points of the past, shape (p, n), count; the others change nothing. The
    results have shapes (p, m, c) and (p, m, m).
    """
    weight = known.to(gram.dtype)
    covariance = gram * (weight[..., :, None] * weight[..., None, :])
    covariance = covariance + torch.diag_embed(noise + 1.0 - weight)
    known_cross, known_residual = cross * weight[..., None, :], residual * weight[..., None]
    shift, less = _regression(covariance, known_cross, known_residual)
    return shift, prior - less


class _Process(torch.autograd.Function):
    """The change of the mean and the covariance by the process soundly read; see :mod:`.process_kernels`."""

    @staticmethod
    def forward(ctx: Any, now: Tensor, scalars: Tensor, *past: Tensor) -> tuple[Tensor, Tensor]:
        """Return both; shapes (p, m) and (p, m, m)."""
        points, residual, known = (np.ascontiguousarray(part) for part in past)
        p, t, m, _ = points.shape
        there, numbers = known.astype(np.float32), tuple(map(np.float32, scalars.tolist()))
        given = np.ascontiguousarray(now.detach()), points, there, numbers
        kept = room(p if any(ctx.needs_input_grad) else min(p, 1), t, m)
        shift, covariance = np.empty((p, m), np.float32), np.empty((p, m, m), np.float32)
        if not regress(*given[:2], residual.reshape(p, t * m), *given[2:], shift, covariance, kept):
            raise LinAlgError("the covariance of the past is not positive definite")
        ctx.given = *given, kept
        return torch.from_numpy(shift), torch.from_numpy(covariance)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        """Return the derivatives by the points and by the scalars."""
        now, sums = np.empty_like(ctx.given[0]), np.zeros(4)
        pull(*ctx.given, *(np.ascontiguousarray(one) for one in outer), now, sums)
        return torch.from_numpy(now), torch.from_numpy(sums.astype(np.float32)), None, None, None


process: Callable[..., tuple[Tensor, Tensor]] = _Process.apply
"""Return the change of the mean and the covariance by the process soundly read, in float32 on a processor.

Of machines as seen by jobs, shape (p, m, d), the scalars 1 / lengthscale, scale, noise and beta, and points,
residuals and which are known of the past, shapes (p, t, m, d), (p, t, m) and (p, t m); no derivative by them.
"""


class _Projection(torch.autograd.Function):
    """The nearest positive semi-definite matrix, its derivative written out.

    That of eigenvectors does not exist at repeated eigenvalues, but that of the projection does: in the
    basis of eigenvectors it weighs entry (i, j) by the slope of max(x, 0) between eigenvalues i and j. For
    two that are 0 this takes 1/2, the mean of the slopes on either side.
    """

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        """Return the projection; shape (..., n, n)."""
        values, vectors = torch.linalg.eigh((matrix + matrix.mT) / 2.0)
        ctx.save_for_backward(values, vectors)
        return (vectors * values.clamp_min(0.0)[..., None, :]) @ vectors.mT

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Tensor:
        """Return the derivative."""
        values, vectors = ctx.saved_tensors
        positive, size = values.clamp_min(0.0), values.abs()
        far = size[..., :, None] + size[..., None, :]
        slope = (positive[..., :, None] + positive[..., None, :]) / far
        slope = torch.where(far > 0.0, slope, 0.5)
        pulled = vectors @ (slope * (vectors.mT @ outer[0] @ vectors)) @ vectors.mT
        return (pulled + pulled.mT) / 2.0


projected: Callable[[Tensor], Tensor] = _Projection.apply
"""Return the nearest positive semi-definite matrix, for kernels that are none."""
