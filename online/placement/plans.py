"""The data of the metaheuristics: a forecast to evaluate plans on, and an archive of the good ones.

Nothing here is compiled, so that policies can be listed without loading a compiler.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...models.placement.state import State, Table

RULES = 3
"""The number of placing rules that a plan chooses from."""


class Forecast(NamedTuple):
    """The knowledge at an epoch, as a simulation that can be run from now on."""

    table: Table  # the running jobs, then the waiting ones, with estimates in the place of durations
    now: State  # the state now, at tick 0
    work: State  # a state of the same shape, to be overwritten
    rows: np.ndarray  # room for the rows (job, machine, count) that start, shape (w M, 3)
    contention: float  # eta of the slowdown
    weight: float  # lambda of the cost
    # Factors from job-ticks to seconds per job, and from GPU-ticks to seconds per demanded GPU, shape (2,).
    scale: np.ndarray


class Archive(NamedTuple):
    """Plans of which none is as good as another one in both objectives."""

    # keys, values: the plans, shape (A, 2 w), and their job-ticks and GPU-ticks, shape (A, 2).
    keys: np.ndarray
    values: np.ndarray
    size: np.ndarray  # how many of them are in use, shape (1,)
