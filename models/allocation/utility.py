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

import numpy as np

KINDS = ("linear", "log", "reciprocal", "poly")
LINEAR, LOG, RECIPROCAL, POLY = range(4)


def value(kind: np.ndarray, alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return f(y); the three arrays broadcast."""
    kind, alpha, y = np.broadcast_arrays(kind, alpha, y)
    out = np.empty(y.shape)
    for code, f in enumerate((_linear, _log, _reciprocal, _poly)):
        here = kind == code
        out[here] = f(alpha[here], y[here])
    return out


def slope(kind: np.ndarray, alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return f'(y); the three arrays broadcast."""
    kind, alpha, y = np.broadcast_arrays(kind, alpha, y)
    out = np.empty(y.shape)
    for code, f in enumerate((_d_linear, _d_log, _d_reciprocal, _d_poly)):
        here = kind == code
        out[here] = f(alpha[here], y[here])
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
    for code, invert in enumerate((None, _i_log, _i_reciprocal, _i_poly)):
        here = (kind == code) & (price > 0) & (weight > 0) & (limit > 0)
        if invert is None:
            out[here] = np.where(weight[here] * alpha[here] > price[here], limit[here], 0.0)
        else:
            with np.errstate(over="ignore"):
                found = invert(alpha[here], weight[here], price[here])
            out[here] = np.clip(found, 0.0, limit[here])
    return out


def _linear(alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    return alpha * y


def _log(alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    return alpha * np.log1p(y)


def _reciprocal(alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y / (alpha * (y + alpha))


def _poly(alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    return alpha * y / (np.sqrt(y + 1.0) + 1.0)


def _d_linear(alpha: np.ndarray, _y: np.ndarray) -> np.ndarray:
    return alpha


def _d_log(alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    return alpha / (1.0 + y)


def _d_reciprocal(alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    return 1.0 / (y + alpha) ** 2


def _d_poly(alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    return alpha / (2.0 * np.sqrt(y + 1.0))


def _i_log(alpha: np.ndarray, weight: np.ndarray, price: np.ndarray) -> np.ndarray:
    return weight * alpha / price - 1.0


def _i_reciprocal(alpha: np.ndarray, weight: np.ndarray, price: np.ndarray) -> np.ndarray:
    return np.sqrt(weight / price) - alpha


def _i_poly(alpha: np.ndarray, weight: np.ndarray, price: np.ndarray) -> np.ndarray:
    return (weight * alpha / (2.0 * price)) ** 2 - 1.0
