"""Sizes of the feasible set and of the gradients: the D and G of Theorem 1, as printed and tightened."""

from __future__ import annotations

import numpy as np

from . import utility
from .setting import Setting


def diameter(setting: Setting) -> float:
    """Return the D of (25): sqrt(2 sum_k max_l a_l^k sum_r c_r^k), an upper bound of the diameter of Y."""
    return float(np.sqrt(2.0 * (setting.demand.max(axis=0) * setting.capacity.sum(axis=0)).sum()))


def tight_diameter(setting: Setting) -> float:
    """Return a smaller upper bound of the diameter of Y.

    Per (server, kind) row the squared distance of two feasible points is at most 2 max_l a min(c, sum_l a),
    over the ports of the server only, and at most sum_l min(a, c)^2.
    """
    demand = np.minimum(setting.edge_demand, setting.capacity[setting.server])
    largest = np.zeros_like(setting.capacity)
    np.maximum.at(largest, setting.server, demand)
    paired = 2.0 * largest * np.minimum(setting.capacity, setting.server_demand)
    squares = setting.server_sums(demand**2)
    return float(np.sqrt(np.minimum(paired, squares).sum()))


def gradient_norms(setting: Setting) -> np.ndarray:
    """Return the G_l^2 of (22): sum_{r in R_l} (beta*^2 + K varpi_r*^2) per port, for one job, shape (L,)."""
    largest = utility.slope_at_zero(setting.kind, setting.alpha).max(axis=1)
    per_edge = setting.overhead.max() ** 2 + setting.kinds * largest[setting.server] ** 2
    return np.bincount(setting.port, weights=per_edge, minlength=setting.ports)


def tight_gradient_norms(setting: Setting) -> np.ndarray:
    """Return smaller upper bounds of a port's squared supergradient norm, for one job, shape (L,).

    A port is charged for one kind k* at a time: sum of varpi^2 over all entries, with max(beta^2,
    (varpi - beta)^2) instead for the worst k*. Entries whose demand or capacity is zero never move.
    """
    movable = (setting.edge_demand > 0) & (setting.capacity[setting.server] > 0)
    steepest = utility.slope_at_zero(setting.edge_kind, setting.edge_alpha)
    charged = np.maximum(setting.overhead**2, (steepest - setting.overhead) ** 2)
    plain = setting.port_sums(np.where(movable, steepest**2, 0.0))
    extra = setting.port_sums(np.where(movable, charged - steepest**2, 0.0))
    return plain.sum(axis=1) + extra.max(axis=1)
