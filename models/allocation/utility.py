"""The four utility families of (27): values, derivatives and their inverses.

``alpha`` is the scale of the family; all are zero at zero, concave and non-decreasing on y >= 0.

=========== ========================== ===========================
kind        f(y)                       f'(y)
=========== ========================== ===========================
linear      alpha y                    alpha
log         alpha ln(1 + y)            alpha / (1 + y)
reciprocal  1/alpha - 1/(y + alpha)    1 / (y + alpha)^2
poly        alpha sqrt(y + 1) - alpha  alpha / (2 sqrt(y + 1))
=========== ========================== ===========================
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

KINDS = ("linear", "log", "reciprocal", "poly")
LINEAR, LOG, RECIPROCAL, POLY = range(4)


Formula = Callable[[np.ndarray, np.ndarray], np.ndarray]

VALUES: tuple[Formula, ...] = (
    lambda alpha, y: alpha * y,
    lambda alpha, y: alpha * np.log1p(y),
    lambda alpha, y: y / (alpha * (y + alpha)),
    lambda alpha, y: alpha * y / (np.sqrt(y + 1.0) + 1.0),
)
"""f of each family, from the scale and y; without differences of nearly equal numbers."""
SLOPES: tuple[Formula, ...] = (
    lambda alpha, _y: alpha,
    lambda alpha, y: alpha / (1.0 + y),
    lambda alpha, y: 1.0 / (y + alpha) ** 2,
    lambda alpha, y: alpha / (2.0 * np.sqrt(y + 1.0)),
)
"""f' of each family."""
INVERSES: dict[int, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    LOG: lambda alpha, weight, price: weight * alpha / price - 1.0,
    RECIPROCAL: lambda alpha, weight, price: np.sqrt(weight / price) - alpha,
    POLY: lambda alpha, weight, price: (weight * alpha / (2.0 * price)) ** 2 - 1.0,
}
"""The y at which ``weight f'(y)`` is the price, of each family that is not linear."""


def value(kind: np.ndarray, alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return f(y); the three arrays broadcast."""
    return _of_families(VALUES, kind, alpha, y)


def slope(kind: np.ndarray, alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return f'(y); the three arrays broadcast."""
    return _of_families(SLOPES, kind, alpha, y)


def _of_families(
    formulas: tuple[Formula, ...], kind: np.ndarray, alpha: np.ndarray, y: np.ndarray
) -> np.ndarray:
    kind, alpha, y = np.broadcast_arrays(kind, alpha, y)
    out = np.empty(y.shape)
    for code, formula in enumerate(formulas):
        here = kind == code
        out[here] = formula(alpha[here], y[here])
    return out


def slope_at_zero(kind: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return f'(0), the varpi of (8): the largest slope of each utility."""
    return slope(kind, alpha, np.zeros_like(alpha))


def best_response(
    kind: np.ndarray, alpha: np.ndarray, weight: np.ndarray, price: np.ndarray, limit: np.ndarray
) -> np.ndarray:
    """Return the y in [0, limit] that maximises ``weight f(y) - price y``; all arrays broadcast."""
    kind, alpha, weight, price, limit = np.broadcast_arrays(kind, alpha, weight, price, limit)
    out = np.zeros(limit.shape)
    full = price <= 0
    out[full] = limit[full]
    inside = (price > 0) & (weight > 0) & (limit > 0)
    here = (kind == LINEAR) & inside
    out[here] = np.where(weight[here] * alpha[here] > price[here], limit[here], 0.0)
    for code, invert in INVERSES.items():
        here = (kind == code) & inside
        with np.errstate(over="ignore"):
            found = invert(alpha[here], weight[here], price[here])
        out[here] = np.clip(found, 0.0, limit[here])
    return out
