"""What the best prices of capacities decide beforehand, so that the search has few channels left.

For prices p >= 0 of the capacities and lambda > 0, a set x of the wanted number of channels that come first
has at most the value::

    bound - sum of |reduced| over the channels on which x and the sign of ``reduced`` differ

where ``reduced`` is values + spread / (2 lambda) less the price of the demand. So a set that is worth more
than an incumbent differs only in channels whose |reduced| is less than bound - incumbent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..program import power_of_two

ROUNDING = 2.0**-48
"""For each channel and a few more: what rounding may take from a bound by prices, relative to all in it."""

FAINT = 2.0**-120
"""What all squared widths, in units of the largest term, add up to at least, or else have no price: the root
is then less than rounding, and is added to the bound as it is."""


@dataclass(frozen=True)
class Prices:
    """The reduced value of every channel, and what follows."""

    reduced: np.ndarray  # shape (n,)
    most: float  # what no set exceeds
    whole: bool  # whether the objective is linear in whole numbers
    lam: float  # lambda, 0 for a linear objective

    def beyond(self, size: Any) -> Any:
        """Return the bound on sets that differ from the signs in a channel whose |reduced| is ``size``."""
        return np.floor(self.most - size) if self.whole else self.most - size


def best_prices(
    v: np.ndarray, q: np.ndarray, demand: np.ndarray, capacity: np.ndarray, first: np.ndarray, goal: int
) -> Prices:
    """Return the prices by which v.x + sqrt(q.x) has nearly the least bound.

    The sets hold ``goal`` channels that come first, marked in ``first``, which is the most that fit. Every
    channel fits alone.
    """
    from . import kernels

    unit = power_of_two(max(float(v.max(initial=0.0)), math.sqrt(float(q.max(initial=0.0))))) or 1.0
    root, width = float((q / unit / unit).sum()) >= FAINT, math.sqrt(float(q.sum()))
    binding = demand.sum(axis=0) > capacity
    columns = [demand[:, binding] / capacity[binding]]
    limits = [1.0] * int(binding.sum())
    if root:
        columns, limits = [-(q / unit / unit)[:, None], *columns], [0.0, *limits]
    if goal > 0:
        columns, limits = [*columns, -(first / goal)[:, None]], [*limits, -1.0]
    gain, weights, limit = v / unit, np.ascontiguousarray(np.hstack(columns)), np.array(limits)
    prices = kernels.prices(gain, weights, limit, root)
    reduced = gain - weights @ prices
    added = float(np.maximum(reduced, 0.0).sum()) + float(limit @ prices)
    bound = added + (0.25 / prices[0] if root else width / unit)
    size = float(gain.sum() + (abs(weights) @ prices).sum() + abs(limit) @ prices) + bound
    bound += ROUNDING * (len(v) + 8) * size
    whole = width == 0.0 and bool((v == np.floor(v)).all())
    return Prices(reduced * unit, bound * unit, whole, 0.5 / float(prices[0]) * unit if root else width)
