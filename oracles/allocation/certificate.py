"""Certificates of the allocation problem: prices, and decisions that are feasible without any tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...models.allocation.instance import AllocationInstance
from ...models.allocation.setting import Setting
from ..base import Optimum

GAP = 1e-11
"""Relative gap at which the prices of a single slot are good enough."""

ULP = 2.0**-52


def of_stationary(instance: AllocationInstance, optimum: Optimum[Any]) -> tuple[Any, Any]:
    """Return the decision, and the prices that the oracle has found."""
    kept = optimum.certificate
    return _written(instance.setting, [(kept.weights, optimum.decision, kept.w, kept.price)])


def of_dynamic(instance: AllocationInstance, optimum: Optimum[Any]) -> tuple[Any, Any]:
    """Return the decision of every arrival pattern, and its prices, which are found again."""
    from ...models.allocation.interior_point import solve, within  # with kernels, when they are used

    patterns, first = np.unique(instance.arrivals, axis=0, return_index=True)
    return _written(
        instance.setting,
        (
            (weights, optimum.decision[slot], found.w, found.price)
            for weights, slot in zip(patterns.astype(np.float64), first.tolist(), strict=True)
            for found in [solve(instance.setting, weights, within(GAP))]
        ),
    )


def _written(setting: Setting, cases: Iterable[tuple[np.ndarray, ...]]) -> tuple[Any, Any]:
    """Return decisions, and w and prices, for cases of weights, an allocation, w and prices."""
    decision: list[Any] = []
    proof: dict[str, list[Any]] = {"w": [], "price": []}
    for weights, y, w, price in cases:
        decision.append(feasible(setting, y).tolist())
        sums = w.sum(axis=1)
        shares = w * np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0.0)[:, None]
        proof["w"].append([_within(*one).tolist() for one in zip(shares, weights, strict=True)])
        proof["price"].append(price.tolist())
    return decision, proof


def feasible(setting: Setting, y: np.ndarray) -> np.ndarray:
    """Return an allocation, feasible up to rounding, shrunk until it is feasible in exact arithmetic."""
    y = np.clip(y, 0.0, setting.edge_demand)
    for server, row in enumerate(setting.capacity):
        here = slice(setting.server_start[server], setting.server_start[server + 1])
        for k, capacity in enumerate(row):
            y[here, k] = _within(y[here, k], capacity)
    return y


def _within(parts: np.ndarray, most: float) -> np.ndarray:
    """Return numbers >= 0, made smaller where their exact sum is above ``most``, until it is not.

    ``fsum`` rounds the exact sum once, so that its sign is right.
    """
    if (total := math.fsum(parts)) > most:
        parts = parts * (most / total)
    step = ULP
    while math.fsum([*parts, -most]) > 0.0:
        parts = parts * (1.0 - step) if step < 1.0 else np.zeros_like(parts)
        step *= 2.0
    return parts
