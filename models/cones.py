r"""What multipliers prove of a minimisation over cones, whatever its solver says of them.

Of :math:`c^\top x + x^\top P x / 2` with :math:`s = b - A x` in a cone, multipliers z in its dual cone and
any :math:`\hat x` leave :math:`r = c + P \hat x + A^\top z` of the costs, and as :math:`z^\top s \ge 0`

.. math::
    c^\top x + \tfrac12 x^\top P x \ge r^\top x - b^\top z - \tfrac12 \hat x^\top P \hat x .

A solver's r is only nearly 0. So it counts at the worst end of the range of each variable: what rows and
cones leave to solutions that cost no more than a little above the solver's (:func:`_ranges`). What is proved
of these holds for all, if it is no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .stopwatch import library

PASSES = 4
"""How often the ranges of variables are derived from rows, cones and each other."""

OUTWARDS = 1e-12
"""What rounding may take from a range, as a part of what is added up."""

INWARDS = 1.0 + 2.0**-40
"""A multiplier that is moved into a dual cone is made larger by more than rounding may take."""

DEARER = 1e-3
"""The part of its value by which solutions may be dearer than the solver's."""

CLEAR = 1e-9
"""How clear a proof has to be that nothing keeps all limits, relative to what is added up."""


def proven_by_cones(data: Any, x: np.ndarray, z: np.ndarray) -> tuple[float, bool]:
    """Return the bound that multipliers z prove of CVXPY's minimisation, and whether that rests on a guess.

    A variable that rows, cones and costs leave without an end is guessed to be no more than twice what the
    solver's solution x says. ``data`` is what CVXPY passes to Clarabel.
    """
    matrix, cones = data["A"].tocsc(), Cones(data["dims"])
    z = cones.dual(z)
    slope = data["P"] @ x if "P" in data else np.zeros(len(x))
    value = math.fsum([*(data["c"] * x), *(0.5 * slope * x)])
    most = value + DEARER * abs(value)
    left = matrix.T @ z + data["c"] + slope
    low, high = _ranges(matrix, data["b"], cones, data["c"], most)
    worst = np.where(left > 0.0, low, high)
    ended = np.isfinite(worst)
    taken = np.where(ended, left * np.where(ended, worst, 0.0), -2.0 * np.abs(left * x))
    error = max(128, len(z) + 4) * 2.0**-52 * (abs(matrix).T @ np.abs(z) + np.abs(data["c"]) + np.abs(slope))
    ranged = np.isfinite(low) & np.isfinite(high)
    widest = np.where(ranged, np.maximum(np.abs(low), np.abs(high)), 2.0 * np.abs(x))
    proved = math.fsum([*(-data["b"] * z), *(-0.5 * slope * x), *taken, *(-error * widest)])
    return min(most, proved), not ranged.all()


def empty_by_cones(data: Any, z: np.ndarray) -> float:
    """Return how far multipliers z prove that nothing is in the cones of CVXPY's rows (Farkas).

    It is the distance from 0 up to which this holds of the variables that rows and cones leave without an
    end; infinite if there are none, 0 if nothing is proved. ``data`` is as in :func:`proven_by_cones`.
    """
    matrix, cones = data["A"].tocsc(), Cones(data["dims"])
    z = cones.dual(z)
    left, error = matrix.T @ z, max(128, len(z) + 4) * 2.0**-52 * (abs(matrix).T @ np.abs(z))
    low, high = _ranges(matrix, data["b"], cones, np.zeros(len(left)), 0.0)
    ranged = np.isfinite(low) & np.isfinite(high)
    ends = np.where(left > 0.0, low, high)[ranged]
    widest = np.maximum(np.abs(low), np.abs(high))[ranged]
    parts = [*(-data["b"] * z), *(left[ranged] * ends)]
    gross = math.fsum(map(abs, parts))
    proved = math.fsum([*parts, *(-error[ranged] * widest)]) - CLEAR * gross
    slope = math.fsum((np.abs(left) + error)[~ranged])
    return 0.0 if not proved > 0.0 else proved / slope if slope > 0.0 else math.inf


class Cones:
    """The cones of CVXPY's rows, in Clarabel's order."""

    def __init__(self, dims: Any) -> None:
        self.equal, self.linear = int(dims.zero), int(dims.zero + dims.nonneg)
        at = self.linear
        self.norms: list[slice] = []  # second-order cones
        # Semi-definite ones: the order, and where which entry is, as a matrix and in their order.
        self.matrices: list[tuple[int, np.ndarray, np.ndarray]] = []
        for size in dims.soc:
            self.norms.append(slice(at, at + int(size)))
            at += int(size)
        for order in dims.psd:
            column, row = np.tril_indices(order)  # column by column of the upper triangle
            square = np.zeros((order, order), dtype=np.int64)
            square[row, column] = square[column, row] = at + np.arange(len(row))
            self.matrices.append((order, square, at + np.arange(len(row))))
            at += len(row)
        self.logs = at + 3 * np.arange(dims.exp)  # the first rows of exponential cones
        at += 3 * int(dims.exp)
        self.powers: list[tuple[slice, np.ndarray]] = []  # power cones, and the exponents of all but the last
        for exponents in [*((a, 1.0 - a) for a in dims.p3d), *dims.pnd]:
            self.powers.append((slice(at, at + len(exponents) + 1), np.asarray(exponents, dtype=np.float64)))
            at += len(exponents) + 1

    def dual(self, z: np.ndarray) -> np.ndarray:
        """Return multipliers in the dual cones, near to these."""
        z = z.copy()
        z[self.equal : self.linear] = np.maximum(z[self.equal : self.linear], 0.0)
        for of in self.norms:
            first, *_ = z[of]
            z[of.start] = max(first, INWARDS * float(np.linalg.norm(z[of][1:])))
        for order, square, _ in self.matrices:
            whole = z[square] * np.where(np.eye(order, dtype=bool), 1.0, math.sqrt(0.5))
            lost = order * 2.0**-48 * float(np.linalg.norm(whole))
            z[np.diag(square)] += max(0.0, lost - float(np.linalg.eigvalsh(whole)[0]))
        for at in self.logs.tolist():
            z[at : at + 3] = _dual_of_log(*z[at : at + 3].tolist())
        for of, exponents in self.powers:
            sides = np.maximum(z[of][:-1], 0.0)
            most = float(np.exp(exponents @ np.log(sides / exponents))) if (sides > 0.0).all() else 0.0
            z[of] = [*sides, math.copysign(min(abs(z[of][-1]), most / INWARDS), z[of][-1])]
        return z

    def tighten(self, low: np.ndarray, high: np.ndarray) -> None:
        """Move ends of ranges of s inwards, as far as the cones allow less."""
        for of in self.norms:
            low[of.start] = max(low[of.start], 0.0)
            _within(low, high, slice(of.start + 1, of.stop), high[of.start])
        for _, square, entries in self.matrices:
            diagonal = np.diag(square)
            low[diagonal] = np.maximum(low[diagonal], 0.0)
            root = np.sqrt(np.maximum(high[diagonal], 0.0))
            most = np.full(square.shape, np.inf)
            some = np.isfinite(root)
            most[np.ix_(some, some)] = math.sqrt(2.0) * np.outer(root[some], root[some])
            np.fill_diagonal(most, high[diagonal])
            within = np.zeros(len(entries))
            within[square - entries[0]] = most
            _within(low, high, entries, within)
        first, second, third = self.logs, self.logs + 1, self.logs + 2
        low[second], low[third] = np.maximum(low[second], 0.0), np.maximum(low[third], 0.0)
        high[first] = np.minimum(high[first], _log_at_most(low[second], high[second], high[third]))
        for of, exponents in self.powers:
            sides = slice(of.start, of.stop - 1)
            low[sides] = np.maximum(low[sides], 0.0)
            most = np.exp(exponents @ np.log(np.maximum(high[sides], 1e-300)))
            _within(low, high, slice(of.stop - 1, of.stop), most)

    def products(self) -> Iterator[tuple[int, int, int]]:
        """Yield rows (h, k, j) of second-order cones of three: s_j^2 <= (s_h - s_k) (s_h + s_k)."""
        for of in self.norms:
            if of.stop - of.start == 3:
                h = of.start
                yield from ((h, h + 1, h + 2), (h, h + 2, h + 1))


def _within(low: np.ndarray, high: np.ndarray, rows: Any, most: Any) -> None:
    """Let rows be within +- what is given, and what rounding may add to that."""
    most = np.maximum(most, 0.0) * (1.0 + OUTWARDS)
    low[rows], high[rows] = np.maximum(low[rows], -most), np.minimum(high[rows], most)


def _dual_of_log(u: float, v: float, w: float) -> tuple[float, float, float]:
    """Return some in the dual of an exponential cone: u < 0, w >= -u e^(v / u - 1), or u = 0 <= v, w."""
    least = v / u - 1.0 if u < 0.0 else math.inf
    if least > 700.0:
        return 0.0, max(v, 0.0), max(w, 0.0)
    return u, v, max(w, -u * math.exp(least) * INWARDS)


def _log_at_most(low: np.ndarray, high: np.ndarray, third: np.ndarray) -> np.ndarray:
    """Return the most that y log(z / y) can be for y from low to high and z up to third."""
    known = np.isfinite(third)
    z = np.where(known, np.maximum(third, 0.0), 1.0)
    y = np.clip(z / math.e, low, np.maximum(low, high))
    some = (y > 0.0) & (z > 0.0)
    most = np.where(some, y * np.log(np.where(some, z / np.where(some, y, 1.0), 1.0)), 0.0)
    return np.where(known, most + OUTWARDS * (np.abs(most) + z), np.inf)


def _ranges(
    matrix: Any, limit: np.ndarray, cones: Cones, cost: np.ndarray, most: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return ranges of the variables that are in the cones and cost no more than so much.

    The costs of P count as 0 at least. Cones of three rows have two more rows for each factor of
    :meth:`Cones.products`, which are at least 0 as well.
    """
    sparse = library("scipy.sparse")
    rows, threes = sparse.csr_array(matrix), [*cones.products()]
    h, k, j = np.array(threes, dtype=np.int64).reshape(-1, 3).T
    every = sparse.vstack([rows, rows[h] - rows[k], rows[h] + rows[k], sparse.csr_array(cost[None])]).tocsr()
    every.eliminate_zeros()
    all_limits = np.concatenate([limit, limit[h] - limit[k], limit[h] + limit[k], [most]])
    factors = len(limit) + np.arange(len(h)), len(limit) + len(h) + np.arange(len(h))
    left = np.full(len(all_limits), -np.inf), np.full(len(all_limits), np.inf)  # of all_limits, by the row
    left[0][: cones.linear], left[1][: cones.equal] = 0.0, 0.0
    left[0][len(limit) :] = 0.0
    found = np.full(rows.shape[1], -np.inf), np.full(rows.shape[1], np.inf)
    terms = every.tocoo()
    for _ in range(PASSES):
        least, gross = _least(terms, *found)
        largest, other = _least(terms, -found[1], -found[0])  # of the sum with its sign turned
        np.minimum(left[1], all_limits - least + OUTWARDS * (np.abs(all_limits) + gross), out=left[1])
        np.maximum(left[0], all_limits + largest - OUTWARDS * (np.abs(all_limits) + other), out=left[0])
        cones.tighten(*left)
        sides = (np.sqrt(np.maximum(left[1][of], 0.0)) for of in factors)
        one, two = sides
        known = np.isfinite(one) & np.isfinite(two)
        _within(*left, j[known], one[known] * two[known])
        _imply(terms, 1.0, all_limits - left[0], *found)
        _imply(terms, -1.0, left[1] - all_limits, *found)
    return found


def _least(terms: Any, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least that rows add up to, and the sum of the absolute values."""
    each = terms.data * np.where(terms.data > 0.0, low[terms.col], high[terms.col])
    many = terms.shape[0]
    return np.bincount(terms.row, each, many), np.bincount(terms.row, np.abs(each), many)


def _imply(terms: Any, sign: float, limit: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Move ends of ranges inwards, as far as rows that are at most a limit allow less."""
    row, at, entry = terms.row, terms.col, sign * terms.data
    least = np.where(entry > 0.0, low[at], high[at])  # where a term is least
    open_ = ~np.isfinite(least)
    term = np.where(open_, 0.0, entry * np.where(open_, 0.0, least))
    total, gross, many = (
        np.bincount(row, weights, len(limit)) for weights in (term, np.abs(term), open_.astype(float))
    )
    known = (many[row] == open_) & np.isfinite(limit[row])  # what the others come to at least
    row, at, entry, term = row[known], at[known], entry[known], term[known]
    end = (limit[row] - (total[row] - term)) / entry
    slack = OUTWARDS * (np.abs(limit[row]) + gross[row]) / np.abs(entry)
    upper = entry > 0.0
    np.minimum.at(high, at[upper], (end + slack)[upper])
    np.maximum.at(low, at[~upper], (end - slack)[~upper])
