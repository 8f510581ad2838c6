"""Strategies that are made once: to make one and to draw from it first takes longer than to draw again."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as extra

__all__ = ["among", "arrays", "integers", "orders"]


@cache
def integers(low: int, high: int) -> st.SearchStrategy[int]:
    """Return the strategy of the whole numbers from ``low`` to ``high``."""
    return st.integers(low, high)


@lru_cache(maxsize=None, typed=True)
def among(*options: Any) -> st.SearchStrategy[Any]:
    """Return the strategy of one of some things that can be hashed, the simplest first."""
    return st.sampled_from(options)


@cache
def orders(count: int) -> st.SearchStrategy[list[int]]:
    """Return the strategy of the orders of 0, 1, ..., ``count`` - 1."""
    return st.permutations(range(count))


@cache
def arrays(
    dtype: Any, shape: int | tuple[int, ...], elements: st.SearchStrategy[Any] | None = None
) -> st.SearchStrategy[np.ndarray]:
    """Return the strategy of arrays of a shape; all there are of the type, if no elements are given."""
    return extra.arrays(dtype, shape, elements=elements)
