"""Densities, advantages and losses of multi-agent proximal policy optimisation (Sec. 4.3)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .gaussian import factorised
from .networks import Normal

LOG_2_PI = math.log(2.0 * math.pi)


def log_density(normal: Normal, action: Tensor, counts: Tensor | None = None) -> Tensor:
    """Return the logarithm of the density of actions, or of the dimensions of them that count."""
    off = action - normal.mean
    if normal.factor is not None:
        weight = torch.ones_like(off) if counts is None else counts.to(off.dtype)
        factor = normal.factor if counts is None else _marginal(normal.factor, weight)
        white = torch.linalg.solve_triangular(factor, (off * weight)[..., None], upper=False)[..., 0]
        return -0.5 * ((white * white).sum(-1) + weight.sum(-1) * LOG_2_PI) - _half_log_determinant(factor)
    each = -0.5 * (off * off / normal.variance + normal.variance.log() + LOG_2_PI)
    return (each if counts is None else each * counts).sum(-1)


def _marginal(factor: Tensor, weight: Tensor) -> Tensor:
    """Return the factor of the covariance of what counts; the others are 1 on the diagonal, 0 beside it."""
    covariance = factor @ factor.transpose(-1, -2)
    both = weight[..., :, None] * weight[..., None, :]
    return factorised(covariance * both + torch.diag_embed(1.0 - weight))[1]


def _half_log_determinant(factor: Tensor) -> Tensor:
    return torch.diagonal(factor, dim1=-2, dim2=-1).log().sum(-1)


def printed_log_density(normal: Normal, action: Tensor, counts: Tensor | None = None) -> Tensor:
    r"""Return the expression below (17): :math:`-[(a - \mu)^2 + N \log 2 \pi] / 2 - \log |\Sigma|`.

    Arguments as for :func:`log_density`; with ``counts`` N and :math:`\Sigma` are those of what counts.
    """
    off = action - normal.mean
    weight = torch.ones_like(off) if counts is None else counts.to(off.dtype)
    if normal.factor is not None:
        factor = normal.factor if counts is None else _marginal(normal.factor, weight)
        log_determinant = 2.0 * _half_log_determinant(factor)
    else:
        log_determinant = (normal.variance.log() * weight).sum(-1)
    return -0.5 * ((off * off + LOG_2_PI) * weight).sum(-1) - log_determinant


def entropy(normal: Normal, counts: Tensor | None = None) -> Tensor:
    """Return the entropy of distributions, shape (...); ``counts`` as in :func:`log_density`."""
    if normal.factor is not None:
        weight = torch.ones_like(normal.mean) if counts is None else counts.to(normal.mean.dtype)
        factor = normal.factor if counts is None else _marginal(normal.factor, weight)
        return 0.5 * weight.sum(-1) * (1.0 + LOG_2_PI) + _half_log_determinant(factor)
    each = 0.5 * (1.0 + LOG_2_PI + normal.variance.log())
    return (each if counts is None else each * counts).sum(-1)


def advantages(rewards: Tensor, values: Tensor, discount: float, smoothing: float) -> Tensor:
    """Return the generalised advantage estimates of one whole episode, shape (T,).

    After the last step the episode is over and worth nothing. ``smoothing`` is the lambda of the estimator.
    """
    following = torch.cat([values[1:], values.new_zeros(1)])
    delta = rewards + discount * following - values
    result = torch.empty_like(delta)
    ahead = delta.new_zeros(())
    for t in range(len(delta) - 1, -1, -1):
        ahead = delta[t] + discount * smoothing * ahead
        result[t] = ahead
    return result


def clipped_objective(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return min(r B, clip(r) B) of each decision, the objective of PPO, shape (B,)."""
    ratio = log_ratio.exp()
    return torch.minimum(ratio * advantage, ratio.clamp(1.0 - clip, 1.0 + clip) * advantage)


def printed_objective(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return (17) as printed: min(ratio, clip(ratio)) B with the mean of all ratios, shape (B,)."""
    ratio = log_ratio.exp().mean()
    return torch.minimum(ratio, ratio.clamp(1.0 - clip, 1.0 + clip)) * advantage
