"""The proof that no allocation earns more: prices of devices, and shares of the overhead of each kind."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from ..base import InputError, numbers
from . import utility
from .setting import Setting


def certificate_bound(setting: Setting, weights: Any, w: Any, price: Any) -> float:
    """Return a certified upper bound on max over y in Y of sum_l N_l q_l(y), by weak duality.

    For every w >= 0 with sum_k w[l,k] = N_l and every price >= 0 nothing is better than::

        sum_{r,k} price c + sum_{l,r,k} max over 0 <= y <= min(a, c) of N_l f(y) - (w[l,k] beta_k + price) y

    because max_k beta_k Y_k >= sum_k (w[l,k] / N_l) beta_k Y_k and price (c - sum_l y) >= 0. Each inner
    maximum has a closed form. What rounding can take away from sums by pairs is added, of numbers below the
    least normal one too.

    N is >= 0. ``w`` (L, K) has rows that sum to N_l up to rounding (a relative 1e-6); they are scaled to do
    so exactly. ``price`` has shape (R, K). What does not fit, is negative or not finite is an InputError.
    """
    return certified(setting, weights, w, price)[0]


def certified(setting: Setting, weights: Any, w: Any, price: Any) -> tuple[float, float]:
    """Return the bound of :func:`certificate_bound` and the sum of all that is added and taken off in it."""
    n = numbers(weights, "weights", (setting.ports,))
    charge = numbers(w, "w", (setting.ports, setting.kinds)) * setting.overhead
    cost = numbers(price, "price", setting.capacity.shape)
    sums = np.sum(w, axis=1)
    for port in np.flatnonzero(np.abs(sums - n) > 1e-6 * n)[:1]:
        raise InputError(f"w[{port}]: the sum {sums[port]:g} is not the weight {n[port]:g}")
    charge *= np.divide(n, sums, out=np.zeros_like(n), where=sums > 0)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        capacity_cost = float(np.sum(cost * setting.capacity))
        gained, paid = responses(setting, n, charge, cost)
        gross = capacity_cost + float(np.sum(gained)) + float(np.sum(paid))
        tiny = math.ulp(0.0) * float(np.count_nonzero(cost) + np.count_nonzero(gained))
        return capacity_cost + float(np.sum(gained - paid)) + 2.0**-47 * gross + tiny, gross


def responses(
    setting: Setting, n: np.ndarray, charge: np.ndarray, price: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return gain and cost, shape (E, K), of the allocation that is best for every entry by itself.

    Costs are lowered by more than their rounding: where a linear gain equals its cost, it decides.
    """
    weight = n[setting.port][:, None]
    cost = (charge[setting.port] + price[setting.server]) * (1.0 - 2.0**-49)
    limit = np.minimum(setting.edge_demand, setting.capacity[setting.server])
    y = utility.best_response(setting.edge_kind, setting.edge_alpha, weight, cost, limit)
    return weight * utility.value(setting.edge_kind, setting.edge_alpha, y), cost * y


def normal(multipliers: np.ndarray) -> np.ndarray:
    """Return multipliers >= 0 without those below the least normal number: 0 proves as much."""
    return np.where(multipliers < sys.float_info.min, 0.0, multipliers)
