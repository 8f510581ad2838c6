"""The linear relaxation of ``gang_program`` at a node, passed to HiGHS without a modelling library.

Columns are in units of the most that they can be, rows in units of their limits, rewards in units of the
largest gain. Numbers are rounded to ``BITS``: an instance in other units gives the same program to the last
bit. What HiGHS returns is a proposal; no rounding here matters for what is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..program import CAREFUL, TIGHT, Rows, SolverError, in_highs
from ..stopwatch import library
from . import utility
from .gang_bound import FREE, ROUNDING, Prices, Reduced

TANGENTS = 8
"""Tangent points per concave utility before the first solve."""

LEAST_FLOOR = 1e-6
"""Rows of floors are in units of the floor, or of this part of the demand if that is more."""


BITS = 40
"""Binary digits to which numbers are rounded for HiGHS."""


class Answer(NamedTuple):
    """HiGHS's answer on a node."""

    # Its multipliers, or the ray by which there is no allocation; ``None`` if it has neither.
    prices: Prices | None
    # v, y: which part of each task is scheduled (G,), and what it holds (pairs, K); ``None`` without a
    # solution.
    v: Any = None
    y: Any = None


class Relaxation:
    """The linear program in HiGHS; see the module.

    Its columns are y, Y, z where f is concave, p, u and v, in this order, where they can be more than 0.
    ``late`` says whether the time is up: what is not ready by then is left, and ``ready`` is false.
    """

    def __init__(self, reduced: Reduced, late: Callable[[], bool]) -> None:
        self.reduced = reduced
        self.ready = False
        setting, base = reduced.setting, reduced.setting.base
        most = np.where(reduced.able[:, None], reduced.demand, 0.0)[setting.pair_task]
        most = np.minimum(most, base.capacity[base.server[setting.pair_edge]])
        limit = reduced.limits(reduced.able)
        self._pair = np.nonzero(most > 0.0)
        self._entry = np.nonzero(limit > 0.0)
        self._limit = limit[self._entry]
        self._y_unit, self._unit = most[self._pair], self._limit
        edge, kind = self._entry
        self._family, self._alpha = base.edge_kind[edge, kind], base.edge_alpha[edge, kind]
        self._weight = reduced.weights[base.port[edge]]
        gain = self._weight * utility.value(self._family, self._alpha, self._limit)
        self._largest_gain = float(gain.max(initial=0.0)) or 1.0
        self._curved = np.flatnonzero((self._family != utility.LINEAR) & (gain > 0.0))
        self._z_unit = gain[self._curved]
        self._task = np.flatnonzero(reduced.able)
        self._port = np.unique(setting.task_port[self._task])
        sizes = [
            len(self._y_unit),
            len(edge),
            len(self._curved),
            len(self._port),
            len(self._port),
            len(self._task),
        ]
        ends = np.cumsum([0, *sizes])
        self._y, self._Y, self._z, self._p, self._u, self._v = (
            np.arange(low, high) for low, high in pairwise(ends.tolist())
        )
        if late():
            return
        rows = Rows()
        self._declare(rows)
        for tangent in self._first_tangents():
            self._add_tangents(rows, tangent, np.arange(len(self._curved)))
        if late():
            return
        self._highs = self._in_highs(rows)
        self.ready = True

    def _declare(self, rows: Rows) -> None:
        """Declare all rows but the tangents."""
        reduced, setting, base = self.reduced, self.reduced.setting, self.reduced.setting.base
        (pair, pair_kind), (edge, kind) = self._pair, self._entry
        number = np.zeros(base.shape, dtype=np.int64)
        number[edge, kind] = np.arange(len(edge))
        entry = number[setting.pair_edge[pair], pair_kind]
        part = self._y_unit / self._unit[entry]
        rows.add(0.0, 0.0, len(edge), (entry, self._y, part), (np.arange(len(edge)), self._Y, -1.0))

        # overhead: p >= beta sum Y, in units of the largest factor
        port = base.port[edge]
        factor = self._weight * base.overhead[kind] * self._unit / self._largest_gain
        charged = np.flatnonzero(factor > 0.0)
        which, row = np.unique(port[charged] * setting.kinds + kind[charged], return_inverse=True)
        scale = np.ones(len(which))
        np.maximum.at(scale, row, factor[charged])
        owner = np.searchsorted(self._port, which // setting.kinds)
        self._overhead = np.divmod(which, setting.kinds), 1.0 / scale
        self._overhead_rows = rows.add(
            0.0,
            np.inf,
            len(which),
            (np.arange(len(which)), self._p[owner], 1.0 / scale),
            (row, self._Y[charged], -factor[charged] / scale[row]),
        )

        # capacity, where it can bind
        where = base.server[edge] * setting.kinds + kind
        wanted = np.bincount(where, weights=self._limit, minlength=base.capacity.size)
        capacity = base.capacity.ravel()
        tight = np.flatnonzero(wanted > capacity)
        inside = np.flatnonzero(np.isin(where, tight))
        row = np.searchsorted(tight, where[inside])
        self._capacity = np.divmod(tight, setting.kinds)
        self._capacity_rows = rows.add(
            -np.inf, 1.0, len(tight), (row, self._Y[inside], self._unit[inside] / capacity[where[inside]])
        )

        # tasks: b v <= sum y <= a v
        column = np.zeros(len(setting.task_port), dtype=np.int64)
        column[self._task] = self._v
        which, row = np.unique(setting.pair_task[pair] * setting.kinds + pair_kind, return_inverse=True)
        task, k = self._demand = np.divmod(which, setting.kinds)
        demand, floor = reduced.demand[task, k], reduced.floor[task, k]
        self._demand_rows = rows.add(
            -np.inf,
            0.0,
            len(which),
            (row, self._y, self._y_unit / demand[row]),
            (np.arange(len(which)), column[task], -1.0),
        )
        some = np.flatnonzero(floor > 0.0)
        self._floor_unit = np.maximum(floor, LEAST_FLOOR * demand)[some]
        self._floor = task[some], k[some]
        at = np.full(len(which), -1)
        at[some] = np.arange(len(some))
        inside = np.flatnonzero(at[row] >= 0)
        self._floor_rows = rows.add(
            0.0,
            np.inf,
            len(some),
            (at[row][inside], self._y[inside], self._y_unit[inside] / self._floor_unit[at[row][inside]]),
            (np.arange(len(some)), column[task[some]], -floor[some] / self._floor_unit),
        )

        # jobs: m u <= sum v, v <= u
        owner = np.searchsorted(self._port, setting.task_port[self._task])
        minimum = setting.minimum[self._port].astype(np.float64)
        job, each = np.arange(len(self._port)), np.arange(len(self._task))
        rows.add(0.0, np.inf, len(job), (owner, self._v, 1.0), (job, self._u, -minimum))
        rows.add(-np.inf, 0.0, len(each), (each, self._v, 1.0), (each, self._u[owner], -1.0))

    def _first_tangents(self) -> list[np.ndarray]:
        """Return points of the concave utilities where slopes fall by equal factors, from 0 to the limit."""
        family, alpha, limit = (a[self._curved] for a in (self._family, self._alpha, self._limit))
        steep, flat = utility.slope_at_zero(family, alpha), utility.slope(family, alpha, limit)
        ratio = flat / steep
        return [
            utility.best_response(family, alpha, np.ones_like(alpha), steep * ratio**share, limit)
            for share in np.linspace(0.0, 1.0, TANGENTS)
        ]

    def _add_tangents(self, rows: Rows, at: np.ndarray, which: np.ndarray) -> None:
        """Add z <= N (f(Y') + f'(Y') (Y - Y')) at the points Y' of these concave utilities."""
        entry = self._curved[which]
        family, alpha = self._family[entry], self._alpha[entry]
        unit = self._z_unit[which] / self._weight[entry]
        slope = utility.slope(family, alpha, at)
        offset = np.maximum(0.0, (utility.value(family, alpha, at) - slope * at) / unit)
        slope = slope * self._unit[entry] / unit
        scale = 1.0 / np.maximum(1.0, slope)
        each = np.arange(len(which))
        most = _rounded(offset * scale)
        rows.add(
            -np.inf, most, len(which), (each, self._z[which], scale), (each, self._Y[entry], -slope * scale)
        )

    def _in_highs(self, rows: Rows) -> Any:
        columns = int(self._v[-1]) + 1
        (start, row, value), limits = rows.gathered(columns)
        cost, high = np.zeros(columns), np.ones(columns)
        linear = self._family == utility.LINEAR
        cost[self._Y] = np.where(linear, -self._weight * self._alpha * self._unit / self._largest_gain, 0.0)
        cost[self._z] = -self._z_unit / self._largest_gain
        cost[self._p] = 1.0
        high[self._y] = np.inf  # the rows of its task imply its limit, and have a price for it
        high[self._p] = np.inf
        options = {**CAREFUL, **TIGHT, "solver": "simplex"}
        matrix = (start, row, _rounded(value))
        return in_highs(_rounded(cost), matrix, limits, (np.zeros(columns), high), options)

    def solve(self, fixed: np.ndarray, seconds: float) -> Answer | None:
        """Solve the node that has fixed these tasks and jobs, (G + L,); return ``None`` if the time is up."""
        highspy = library("highspy")

        known = highspy.HighsModelStatus
        choice = np.concatenate([fixed[len(self.reduced.able) + self._port], fixed[self._task]])
        column = np.concatenate([self._u, self._v]).astype(np.int32)
        low, high = np.where(choice == FREE, 0.0, choice), np.where(choice == FREE, 1.0, choice)
        highs = self._highs
        highs.changeColsBounds(len(column), column, low, high)
        status = self._run(seconds)
        if status == known.kUnknown:  # a basis from before may have led it astray
            highs.clearSolver()
            status = self._run(seconds)
        if status == known.kTimeLimit:
            return None
        if status == known.kInfeasible:
            _, exists, ray = highs.getDualRay()
            return Answer(self._prices(np.asarray(ray), empty=True) if exists else None)
        if status not in (known.kOptimal, known.kUnknown):
            raise SolverError(f"HiGHS ended with {highs.modelStatusToString(status)}")
        found = highs.getSolution()
        prices = self._prices(np.asarray(found.row_dual), empty=False) if found.dual_valid else None
        self._values = np.asarray(found.col_value)
        if not (found.value_valid and np.isfinite(self._values).all()):
            return Answer(prices)
        v, y = np.zeros(len(self.reduced.able)), np.zeros(self.reduced.setting.shape)
        v[self._task] = self._values[self._v]
        y[self._pair] = self._values[self._y] * self._y_unit
        return Answer(prices, v, y)

    def _run(self, seconds: float) -> Any:
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(0.0, seconds))
        self._highs.run()
        return self._highs.getModelStatus()

    def _prices(self, dual: np.ndarray, *, empty: bool) -> Prices | None:
        """Turn multipliers of a minimisation into prices in the instance's units."""
        if not np.isfinite(dual).all():
            return None
        setting, base = self.reduced.setting, self.reduced.setting.base
        w = np.zeros((setting.ports, setting.kinds))
        price, task_price = np.zeros(base.capacity.shape), np.zeros(setting.task_demand.shape)
        if not empty:
            at, scale = self._overhead
            w[at] = np.maximum(0.0, dual[self._overhead_rows]) * scale
            w[w.sum(axis=1) <= 0.0] = 1.0
            w *= (self.reduced.weights / w.sum(axis=1))[:, None]
        price[self._capacity] = np.maximum(0.0, -dual[self._capacity_rows]) / base.capacity[self._capacity]
        task_price[self._demand] = (
            np.maximum(0.0, -dual[self._demand_rows]) / self.reduced.demand[self._demand]
        )
        task_price[self._floor] -= np.maximum(0.0, dual[self._floor_rows]) / self._floor_unit
        return Prices(w, price * self._largest_gain, task_price * self._largest_gain, empty)

    def tighten(self) -> bool:
        """Add tangents where the last solution's z is above the true gain; return whether there were any."""
        values = self._values
        entry = self._curved
        total = np.clip(values[self._Y[entry]] * self._unit[entry], 0.0, self._limit[entry])
        true = self._weight[entry] * utility.value(self._family[entry], self._alpha[entry], total)
        which = np.flatnonzero(values[self._z] * self._z_unit > true + ROUNDING * self._largest_gain)
        rows = Rows()
        self._add_tangents(rows, total[which], which)
        (z, y), (low, high) = rows.entries, rows.limits[0]
        index = np.column_stack([z[1], y[1]]).ravel().astype(np.int32)
        value = _rounded(np.column_stack([z[2], y[2]]).ravel())
        start = np.arange(0, 2 * len(which), 2, dtype=np.int32)
        self._highs.addRows(len(which), low, high, 2 * len(which), start, index, value)
        return len(which) > 0


def _rounded(x: Any) -> np.ndarray:
    """Return x to ``BITS`` binary digits."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS)
