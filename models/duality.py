"""Weak duality: what multipliers of the rows prove of a linear program, whoever has found them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np


class Linear(NamedTuple):
    """A linear program as arrays, some of whose variables may be whole; it is minimised."""

    cost: np.ndarray
    matrix: Any  # sparse, by columns
    rows: tuple[np.ndarray, np.ndarray]  # lower and upper limits, possibly infinite
    columns: tuple[np.ndarray, np.ndarray]
    whole: np.ndarray  # whether a variable is a whole number
    offset: float  # of the objective


def proven(linear: Linear, columns: tuple[np.ndarray, np.ndarray], duals: np.ndarray) -> float:
    """Return the bound that multipliers of the rows prove by weak duality, -inf if none.

    Limits of the variables are ``columns``, the offset does not count. Multipliers are at least 0 for a lower
    limit of a row, at most 0 for an upper one. Nothing that is added up is taken for more than it is after
    its rounding, whatever the range of its variable. A reduced cost that is 0 but for that counts as 0 where
    its variable has no limit.
    """
    return _dual(linear.cost, linear, columns, duals)[0]


def all_limits(linear: Linear) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of the variables, and of rows of one variable, as far as any number keeps them."""
    low, high = (np.array(side, dtype=np.float64) for side in linear.columns)
    by_row = linear.matrix.tocsr()
    alone = np.flatnonzero(np.diff(by_row.indptr) == 1)
    column, entry = (part[by_row.indptr[alone]] for part in (by_row.indices, by_row.data))
    alone, column, entry = (part[entry != 0.0] for part in (alone, column, entry))
    ends = [side[alone] / entry for side in linear.rows]
    np.maximum.at(low, column, np.nextafter(np.minimum(*ends), -np.inf))
    np.minimum.at(high, column, np.nextafter(np.maximum(*ends), np.inf))
    return (low, high) if (low <= high).all() else linear.columns


def is_empty(linear: Linear, columns: tuple[np.ndarray, np.ndarray], ray: np.ndarray) -> bool:
    """Return whether multipliers of the rows prove that no solution keeps all limits (Farkas)."""
    bound, gross = _dual(np.zeros(len(linear.cost)), linear, columns, ray)
    return bound > 1e-9 * gross > 0.0


def _dual(
    cost: np.ndarray, linear: Linear, columns: tuple[np.ndarray, np.ndarray], duals: np.ndarray
) -> tuple[float, float]:
    """Return the bound that multipliers prove, and the sum of what is added up in it."""
    if len(duals) != len(linear.rows[0]) or not np.isfinite(duals).all():
        return -math.inf, math.inf
    y = np.where(np.isfinite(np.where(duals > 0.0, *linear.rows)), duals, 0.0)
    reduced = cost - linear.matrix.T @ y
    error = max(128, len(y) + 4) * 2.0**-52 * (np.abs(cost) + abs(linear.matrix).T @ np.abs(y))
    infinite = ~np.isfinite(np.where(reduced > 0.0, *columns))
    reduced[infinite & (np.abs(reduced) <= error)] = 0.0
    parts = []
    for factor, limits in ((y, linear.rows), (reduced, columns)):
        used = factor != 0.0
        parts.append(factor[used] * np.where(factor > 0.0, *limits)[used])
    widest = np.maximum(*(np.where(np.isfinite(side), np.abs(side), 0.0) for side in columns))
    total, gross = math.fsum(np.concatenate(parts)), math.fsum(np.abs(np.concatenate(parts)))
    if not math.isfinite(gross):
        return -math.inf, math.inf
    return total - math.fsum(error * widest) - 2.0**-52 * gross, gross
