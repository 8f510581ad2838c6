"""A primal-dual interior point method for the stationary optimum, built on the structure of (3), (4) and (5).

For weights N >= 0, in minimisation form, with the maximum of the overhead as a variable p_l::

    min  sum_l N_l (p_l - sum_{r,k} f[r,k](y[l,r,k]))
    s.t. y >= 0                                     multiplier zl
         u = limit - y >= 0                         multiplier zu
         s[r,k] = c[r,k] - sum_l y[l,r,k] >= 0      multiplier price (lambda)
         t[l,k] = p_l - beta_k sum_r y[l,r,k] >= 0  multiplier w, with sum_k w[l,k] = N_l

An iterate also holds v, an estimate of N f'(y). Then stationarity, zl - zu = w beta + price - v, is linear in
the dual variables; what is not linear, v = N f'(y), is approached like the products y zl = mu and so on. The
start and every step keep the primal constraints, stationarity and sum_k w = N, up to rounding.

One Newton step eliminates y entry by entry (the Hessian H is diagonal), then the prices row by row
(Sherman-Morrison), which leaves per kind a matrix A_k over ports, then w by the K Cholesky factors of
B_k = diag(t / w) + beta_k^2 A_k, and at last p by the |L| x |L| system (sum_k B_k^-1) dp = rhs. Mehrotra's
predictor and corrector share the factors. The method stops on the certified gap, not on its own products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..compiled import njit
from . import utility
from .setting import Setting

MOST_ITERATIONS = 200
PATIENCE = 12
"""Iterations without a clearly better certified gap after which the method has stalled."""

ADDED = 2.0**-46
"""Part of the sums of a bound that its certificate is raised by, or more: a gap is reached only with it."""

NEGLIGIBLE = 1e-40
"""Entries whose possible gain, relative to the largest one, is below this are left out."""

SHARE = 0.99
"""The largest part of the way to the boundary that a step may go."""

SHORT = 0.1
"""A corrected step shorter than this is replaced by one that only centres, at half the mean product."""

Stop = Callable[[int, float, float, float], bool]
"""Takes the number of an iteration, the incumbent's value, the dual bound, and the sums that this is made of;
returns whether to stop."""

_LINEAR, _LOG, _RECIPROCAL = utility.LINEAR, utility.LOG, utility.RECIPROCAL


class Rows(NamedTuple):
    """The presolved program: (server, kind) rows by kind, entries (row, port) sorted by row and port."""

    start: np.ndarray  # entries of row i are ``start[i]:start[i + 1]``
    kind_start: np.ndarray  # rows of kind k are ``kind_start[k]:kind_start[k + 1]``
    # port, limit: per entry: its port, and the most it can be, min(a, c) > 0.
    port: np.ndarray
    limit: np.ndarray
    # cap, family, alpha, tight: per row: capacity, utility, and whether the capacity can bind at all (sum of
    # limits > c).
    cap: np.ndarray
    family: np.ndarray
    alpha: np.ndarray
    tight: np.ndarray
    weight: np.ndarray  # N per port
    overhead: np.ndarray  # beta per kind


class Point(NamedTuple):
    """An iterate: primal y, u, s, t, p and dual v, zl, zu, price, w.

    All are positive, except that the price of a row that cannot bind is 0.
    """

    y: np.ndarray
    u: np.ndarray
    v: np.ndarray
    zl: np.ndarray
    zu: np.ndarray
    s: np.ndarray
    price: np.ndarray
    t: np.ndarray
    w: np.ndarray
    p: np.ndarray


class Work(NamedTuple):
    """Room for one Newton step."""

    # slope, bend, inverse: per entry: N f'(y), minus the change of v with y, and D = 1 / H.
    slope: np.ndarray
    bend: np.ndarray
    inverse: np.ndarray
    # dy, low, high: per entry: the step, and the corrections to its two products.
    dy: np.ndarray
    low: np.ndarray
    high: np.ndarray
    # total, dprice, ds, row, drift: per row: the sum of D, the steps, the correction to s price, and the
    # rounding gathered in s.
    total: np.ndarray
    dprice: np.ndarray
    ds: np.ndarray
    row: np.ndarray
    drift: np.ndarray
    # factor, schur: U with U'U = B_k, per kind; and the factor of sum_k B_k^-1.
    factor: np.ndarray
    schur: np.ndarray
    # h, dw, dt, slip: per (port, kind): the correction to t w, the steps, and the rounding gathered in t.
    h: np.ndarray
    dw: np.ndarray
    dt: np.ndarray
    slip: np.ndarray
    # port, dp, rhs: per port: scratch, the step of p, and the right-hand side that belongs to it.
    port: np.ndarray
    dp: np.ndarray
    rhs: np.ndarray


class Solution(NamedTuple):
    """The result of the method, in the shape of the setting.

    ``price`` (R, K) and ``w`` (L, K) are the certificate; ``y`` (E, K) is feasible up to rounding.
    """

    y: np.ndarray
    price: np.ndarray
    w: np.ndarray
    iterations: int


def within(gap: float) -> Stop:
    """Return what stops at a gap, relative to the bound."""
    return lambda _, value, bound, __: bound - value <= gap * bound


def solve(setting: Setting, weights: np.ndarray, stop: Stop) -> Solution:
    """Maximise sum_l N_l q_l(y) over Y until ``stop`` says so, at an iteration, or nothing improves."""
    share = least_overhead(setting)
    rows, keep, ports, row_at = _presolve(setting, np.where(share.sum(axis=1) > 1.0, weights, 0.0))
    best = _iterate(rows, stop) if len(rows.port) else None
    y = np.zeros(setting.shape)
    price = np.zeros(setting.capacity.shape)
    w = weights[:, None] * share / share.sum(axis=1)[:, None]
    if best is None:
        return Solution(y, price, w, 0)
    y.T[keep.T] = best.y
    price[row_at] = best.price
    w[ports] = best.w
    return Solution(y, price, w, best.iterations)


def least_overhead(setting: Setting) -> np.ndarray:
    """Return the w / N at which the overhead costs a port as much as it can gain at most, shape (L, K).

    That is max over r of f'(0) / beta. Where its sum over kinds is at most 1, there is such a w, and the port
    holds nothing in an optimum. No share is infinite, and no port has none.
    """
    steepest = utility.slope_at_zero(setting.kind, setting.alpha)[setting.server]
    able = (setting.edge_demand > 0.0) & (setting.capacity[setting.server] > 0.0)
    slope = np.zeros((setting.ports, setting.kinds))
    np.maximum.at(slope, setting.port, np.where(able, steepest, 0.0))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        share = np.where(slope > 0.0, np.minimum(slope / setting.overhead, 2.0), 0.0)
    share[~share.any(axis=1), 0] = 1.0
    return share


def _presolve(
    setting: Setting, weights: np.ndarray
) -> tuple[Rows, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Drop the entries that gain nothing; return the rows and where entries, ports and rows lie.

    Ports without weight are left out.

    An entry gains at most N f'(0) min(a, c). Where that is 0, or next to nothing beside the largest, the
    entry stays 0; the certificate, which knows nothing of this, pays for what is lost.
    """
    limit = np.minimum(setting.edge_demand, setting.capacity[setting.server])
    steepest = utility.slope_at_zero(setting.kind, setting.alpha)[setting.server]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        most = weights[setting.port][:, None] * steepest * limit
    keep = most > NEGLIGIBLE * most.max(initial=0.0)
    kind, edge = np.nonzero(keep.T)
    ports, port = np.unique(setting.port[edge], return_inverse=True)
    key = kind * setting.servers + setting.server[edge]
    row_key, start = np.unique(key, return_index=True)
    at_kind, at_server = np.divmod(row_key, setting.servers)
    start = np.append(start, len(edge))
    limits = limit[edge, kind]
    cap = setting.capacity[at_server, at_kind]
    sums = np.add.reduceat(limits, start[:-1]) if len(edge) else np.zeros(0)
    rows = Rows(
        start=start,
        kind_start=np.searchsorted(at_kind, np.arange(setting.kinds + 1)),
        port=port.astype(np.int64),
        limit=limits,
        cap=cap,
        family=setting.kind[at_server, at_kind],
        alpha=setting.alpha[at_server, at_kind],
        tight=sums > cap,
        weight=weights[ports].astype(np.float64),
        overhead=setting.overhead,
    )
    return rows, keep, ports, (at_server, at_kind)


class _Best(NamedTuple):
    """The best feasible point and the best certificate seen, which may stem from different iterations."""

    y: np.ndarray
    price: np.ndarray
    w: np.ndarray
    value: float
    bound: float
    gross: float
    iterations: int


def _iterate(rows: Rows, stop: Stop) -> _Best:
    """Run the method on a program with at least one entry."""
    point = _start(rows)
    work = _room(rows)
    best = _Best(np.zeros_like(point.y), point.price, point.w, 0.0, np.inf, 0.0, 0)
    last_better = 0
    for iteration in range(MOST_ITERATIONS):
        value, bound, gross = _bounds(rows, point)
        if not (np.isfinite(value) and np.isfinite(bound)):
            break
        before = best.bound - best.value
        if value > best.value:
            best = best._replace(y=point.y.copy(), value=value)
        if bound < best.bound:
            best = best._replace(price=point.price.copy(), w=point.w.copy(), bound=bound, gross=gross)
        best = best._replace(iterations=iteration)
        distance = best.bound - best.value
        if stop(iteration, best.value, best.bound + ADDED * best.gross, best.gross):
            break
        if distance < 0.9 * before:
            last_better = iteration
        elif iteration - last_better >= PATIENCE:
            break
        if not _step(rows, point, work):
            break
    return best


def _start(rows: Rows) -> Point:
    """Return a feasible point in the middle of the box and of the capacities, with products of about mu.

    mu is the mean of what an entry can gain or cost, (N f'(y) + N beta) limit. Where the multipliers of the
    box must differ from mu / y and mu / u to make the start stationary, one of them is raised.
    """
    counts = np.diff(rows.start)
    kinds = len(rows.overhead)
    kind = np.repeat(np.repeat(np.arange(kinds), np.diff(rows.kind_start)), counts)
    sums = np.add.reduceat(rows.limit, rows.start[:-1])
    share = np.minimum(0.5, 0.5 * rows.cap / sums)
    y = rows.limit * np.repeat(share, counts)
    weight = rows.weight[rows.port]
    v = weight * utility.slope(np.repeat(rows.family, counts), np.repeat(rows.alpha, counts), y)
    mu = float(np.mean((v + weight * rows.overhead[kind]) * rows.limit))
    totals = np.zeros((len(rows.weight), kinds))
    np.add.at(totals, (rows.port, kind), y)
    paid = totals * rows.overhead
    p = paid.max(axis=1) + mu * kinds / rows.weight
    t = p[:, None] - paid
    w = 1.0 / t
    w *= (rows.weight / w.sum(axis=1))[:, None]
    s = rows.cap - np.add.reduceat(y, rows.start[:-1])
    s[~rows.tight] = 1.0
    price = np.where(rows.tight, mu / s, 0.0)
    u = rows.limit - y
    lack = w[rows.port, kind] * rows.overhead[kind] + np.repeat(price, counts) - v
    zl = mu / y + np.maximum(lack, 0.0)
    zu = mu / u + np.maximum(-lack, 0.0)
    lack -= zl - zu
    zl += np.maximum(lack, 0.0)
    zu += np.maximum(-lack, 0.0)
    return Point(y, u, v, zl, zu, s, price, t, w, p)


def _room(rows: Rows) -> Work:
    n, m, ports, kinds = len(rows.port), len(rows.cap), len(rows.weight), len(rows.overhead)
    table = (ports, kinds)
    return Work(
        slope=np.zeros(n),
        bend=np.zeros(n),
        inverse=np.zeros(n),
        dy=np.zeros(n),
        low=np.zeros(n),
        high=np.zeros(n),
        total=np.zeros(m),
        dprice=np.zeros(m),
        ds=np.zeros(m),
        row=np.zeros(m),
        drift=np.zeros(m),
        factor=np.zeros((kinds, ports, ports)),
        schur=np.zeros((ports, ports)),
        h=np.zeros(table),
        dw=np.zeros(table),
        dt=np.zeros(table),
        slip=np.zeros(table),
        port=np.zeros(ports),
        dp=np.zeros(ports),
        rhs=np.zeros(ports),
    )


@njit(cache=True, error_model="numpy")
def _gain(family, alpha, y):  # type: ignore[no-untyped-def]
    """Return f(y)."""
    if family == _LINEAR:
        return alpha * y
    if family == _LOG:
        return alpha * np.log1p(y)
    if family == _RECIPROCAL:
        return y / (alpha * (y + alpha))
    return alpha * y / (np.sqrt(y + 1.0) + 1.0)


@njit(cache=True, error_model="numpy")
def _respond(family, alpha, weight, price, limit):  # type: ignore[no-untyped-def]
    """Return max over 0 <= y <= limit of ``weight f(y) - price y``, and the sum of its two parts."""
    if price <= 0.0:
        y = limit
    elif family == _LINEAR:
        if weight * alpha <= price:
            return 0.0, 0.0
        return (weight * alpha - price) * limit, (weight * alpha + price) * limit
    elif family == _LOG:
        y = weight * alpha / price - 1.0
    elif family == _RECIPROCAL:
        y = np.sqrt(weight / price) - alpha
    else:
        y = (weight * alpha / (2.0 * price)) ** 2 - 1.0
    y = min(max(y, 0.0), limit)
    gained, paid = weight * _gain(family, alpha, y), price * y
    return gained - paid, gained + paid


@njit(cache=True, error_model="numpy")
def _bounds(rows, point):  # type: ignore[no-untyped-def]
    """Return the value of ``point.y``, the bound of ``point.w`` and ``point.price``, and its gross sum.

    A port that loses counts as 0: it may hold nothing.
    """
    kinds = len(rows.overhead)
    totals = np.zeros(point.w.shape)
    gain = np.zeros(len(rows.weight))
    value = 0.0
    bound = 0.0
    gross = 0.0
    for k in range(kinds):
        beta = rows.overhead[k]
        for r in range(rows.kind_start[k], rows.kind_start[k + 1]):
            price = point.price[r]
            bound += price * rows.cap[r]
            gross += price * rows.cap[r]
            for i in range(rows.start[r], rows.start[r + 1]):
                port = rows.port[i]
                weight = rows.weight[port]
                y = point.y[i]
                totals[port, k] += y
                gain[port] += weight * _gain(rows.family[r], rows.alpha[r], y)
                cost = price + beta * point.w[port, k]
                payoff, parts = _respond(rows.family[r], rows.alpha[r], weight, cost, rows.limit[i])
                bound += payoff
                gross += parts
    for port in range(len(rows.weight)):
        worst = 0.0
        for k in range(kinds):
            worst = max(worst, rows.overhead[k] * totals[port, k])
        value += max(0.0, gain[port] - rows.weight[port] * worst)
    return value, bound, gross


@njit(cache=True, error_model="numpy")
def _shape(family, alpha):  # type: ignore[no-untyped-def]
    """Return (shift, power) with f'(y) proportional to (y + shift) ** -power."""
    if family == _LINEAR:
        return 1.0, 0.0
    if family == _LOG:
        return 1.0, 1.0
    if family == _RECIPROCAL:
        return alpha, 2.0
    return 1.0, 0.5


@njit(cache=True, error_model="numpy")
def _differentiate(rows, point, work):  # type: ignore[no-untyped-def]
    """Fill ``slope`` with N f'(y) and ``bend`` with the decay of v that goes with a growing y."""
    for r in range(len(rows.cap)):
        family, alpha = rows.family[r], rows.alpha[r]
        shift, power = _shape(family, alpha)
        for i in range(rows.start[r], rows.start[r + 1]):
            weight = rows.weight[rows.port[i]]
            x = point.y[i] + shift
            work.bend[i] = power * point.v[i] / x
            if family == _LINEAR:
                work.slope[i] = weight * alpha
            elif family == _LOG:
                work.slope[i] = weight * alpha / x
            elif family == _RECIPROCAL:
                work.slope[i] = weight / (x * x)
            else:
                work.slope[i] = 0.5 * weight * alpha / np.sqrt(x)


@njit(cache=True, error_model="numpy")
def _drift(rows, point, work):  # type: ignore[no-untyped-def]
    """Measure how far rounding has moved s and t away from what y and p say; the next step takes it back."""
    work.slip[:] = 0.0
    for k in range(len(rows.overhead)):
        for r in range(rows.kind_start[k], rows.kind_start[k + 1]):
            used = 0.0
            for i in range(rows.start[r], rows.start[r + 1]):
                used += point.y[i]
                work.slip[rows.port[i], k] += point.y[i]
            work.drift[r] = rows.cap[r] - used - point.s[r] if rows.tight[r] else 0.0
    for port in range(len(rows.weight)):
        for k in range(len(rows.overhead)):
            paid = rows.overhead[k] * work.slip[port, k]
            work.slip[port, k] = point.p[port] - paid - point.t[port, k]


@njit(cache=True, error_model="numpy")
def _factor(rows, point, work):  # type: ignore[no-untyped-def]
    """Factor the Newton system; False if it is not positive definite in floating point.

    Row r contributes to A_k the matrix D - price D 1 1' D / (s + price sum D). Off the diagonal it is
    -price D_i D_j / (...), and its row sums are s D_i / (...): these two, which come without cancellation,
    are what is stored and what :func:`_dominant_cholesky` needs.
    """
    ports = len(rows.weight)
    work.schur[:] = 0.0
    for k in range(len(rows.overhead)):
        a = work.factor[k]
        a[:] = 0.0
        for r in range(rows.kind_start[k], rows.kind_start[k + 1]):
            lo, hi = rows.start[r], rows.start[r + 1]
            total = 0.0
            for i in range(lo, hi):
                h = point.zl[i] / point.y[i] + point.zu[i] / point.u[i] + work.bend[i]
                work.inverse[i] = 1.0 / h
                total += work.inverse[i]
            work.total[r] = total
            if rows.tight[r]:
                _couple(a, rows.port[lo:hi], work.inverse[lo:hi], point.s[r], point.price[r], total)
            else:
                for i in range(lo, hi):
                    a[rows.port[i], rows.port[i]] += work.inverse[i]
        a *= rows.overhead[k] ** 2
        for i in range(ports):
            a[i, i] += point.t[i, k] / point.w[i, k]
        if not _dominant_cholesky(a):
            return False
        _add_inverse(a, work.schur)
    return _cholesky(work.schur)


@njit(cache=True, error_model="numpy")
def _couple(a, port, inverse, s, price, total):  # type: ignore[no-untyped-def]
    """Add one row's entries off the diagonal to the upper triangle of ``a``, its row sums to the diagonal."""
    n = len(port)
    scale = 1.0 / (s + price * total)
    together = port[n - 1] - port[0] == n - 1
    for i in range(n):
        a[port[i], port[i]] += s * scale * inverse[i]
        d = price * scale * inverse[i]
        if together:
            line = a[port[i], port[i] + 1 : port[0] + n]
            for j in range(len(line)):
                line[j] -= d * inverse[i + 1 + j]
        else:
            for j in range(i + 1, n):
                a[port[i], port[j]] -= d * inverse[j]


@njit(cache=True, error_model="numpy")
def _dominant_cholesky(a):  # type: ignore[no-untyped-def]
    """Overwrite ``a`` with U, B = U'U, for a matrix B with no positive entry off the diagonal.

    The upper triangle holds B's entries off the diagonal, the diagonal its row sums, all positive.
    Elimination keeps both signs, so numbers of opposite sign never meet and every entry of U has full
    relative accuracy (the algorithm of Grassmann, Taksar and Heyman). False if a number is not finite.
    """
    n = len(a)
    for j in range(n):
        spare = a[j, j]
        pivot = spare
        for i in range(j + 1, n):
            pivot -= a[j, i]
        if not (pivot > 0.0 and pivot < np.inf):
            return False
        for i in range(j + 1, n):
            d = a[j, i] / pivot
            if d != 0.0:
                a[i, i] -= d * spare
                for c in range(i + 1, n):
                    a[i, c] -= d * a[j, c]
        root = np.sqrt(pivot)
        a[j, j] = root
        for i in range(j + 1, n):
            a[j, i] /= root
    return True


@njit(cache=True, error_model="numpy")
def _cholesky(a):  # type: ignore[no-untyped-def]
    """Overwrite the upper triangle of ``a`` with U, a = U'U; False if a number is not finite.

    A pivot lost to rounding makes its component of every solution zero.
    """
    n = len(a)
    first = np.empty(n)
    for j in range(n):
        first[j] = a[j, j]
    for j in range(n):
        if not (first[j] > 0.0 and first[j] < np.inf and a[j, j] < np.inf):
            return False
        if a[j, j] <= 1e-15 * first[j]:
            a[j, j:] = 0.0
            a[j, j] = 1e100
            continue
        a[j, j:] /= np.sqrt(a[j, j])
        for i in range(j + 1, n):
            d = a[j, i]
            if d != 0.0:
                line = a[i, i:]
                for c in range(len(line)):
                    line[c] -= d * a[j, i + c]
    return True


@njit(cache=True, error_model="numpy")
def _solve(u, x):  # type: ignore[no-untyped-def]
    """Overwrite ``x`` with the solution of U'U x = b."""
    n = len(u)
    for i in range(n):
        x[i] /= u[i, i]
        for j in range(i + 1, n):
            x[j] -= u[i, j] * x[i]
    for i in range(n - 1, -1, -1):
        rest = x[i]
        for j in range(i + 1, n):
            rest -= u[i, j] * x[j]
        x[i] = rest / u[i, i]


@njit(cache=True, error_model="numpy")
def _add_inverse(u, out):  # type: ignore[no-untyped-def]
    """Add the upper triangle of (U'U)^-1 = W'W, where W = U'^-1, to ``out``."""
    n = len(u)
    w = np.zeros((n, n))
    for j in range(n):
        w[j, j] = 1.0
    for j in range(n):
        w[j, : j + 1] /= u[j, j]
        for i in range(j + 1, n):
            d = u[j, i]
            if d != 0.0:
                for c in range(j + 1):
                    w[i, c] -= d * w[j, c]
        for i in range(j + 1):
            d = w[j, i]
            for c in range(i, j + 1):
                out[i, c] += d * w[j, c]


@njit(cache=True, error_model="numpy")
def _direction(rows, point, work, mu):  # type: ignore[no-untyped-def]
    """Solve for the Newton step towards products ``mu - correction``.

    The corrections stand in ``low``, ``high`` (box), ``row`` (capacities) and ``h`` (overhead). The price's
    step is formed as one quotient of sums over the row; the difference of large numbers that it stands for
    would stall at a gap of 1e-4. On return ``dy, dprice, ds, dw, dt, dp`` hold the step.
    """
    ports, kinds = point.w.shape
    work.dt[:] = 0.0
    for k in range(kinds):
        for r in range(rows.kind_start[k], rows.kind_start[k + 1]):
            pull = 0.0
            for i in range(rows.start[r], rows.start[r + 1]):
                port = rows.port[i]
                g = (mu - work.low[i]) / point.y[i] - (mu - work.high[i]) / point.u[i]
                g += work.slope[i] - point.w[port, k] * rows.overhead[k] - point.price[r]
                work.dy[i] = g
                pull += work.inverse[i] * g
            d = 0.0
            if rows.tight[r]:
                target = mu - work.row[r] - (point.s[r] + work.drift[r]) * point.price[r]
                d = (target + point.price[r] * pull) / (point.s[r] + point.price[r] * work.total[r])
            work.dprice[r] = d
            for i in range(rows.start[r], rows.start[r + 1]):
                work.dt[rows.port[i], k] += work.inverse[i] * (work.dy[i] - d)
    work.rhs[:] = -rows.weight
    for k in range(kinds):
        beta = rows.overhead[k]
        for port in range(ports):
            t = point.t[port, k] + work.slip[port, k]
            work.port[port] = (mu - work.h[port, k]) / point.w[port, k] - t + beta * work.dt[port, k]
            work.rhs[port] += point.w[port, k]
        work.dw[:, k] = work.port
        _solve(work.factor[k], work.port)
        work.rhs[:] += work.port
    work.dp[:] = work.rhs
    _solve(work.schur, work.dp)
    for k in range(kinds):
        work.port[:] = work.dw[:, k] - work.dp
        _solve(work.factor[k], work.port)
        work.dw[:, k] = work.port
    work.dt[:] = 0.0
    for k in range(kinds):
        beta = rows.overhead[k]
        for r in range(rows.kind_start[k], rows.kind_start[k + 1]):
            lo, hi = rows.start[r], rows.start[r + 1]
            if rows.tight[r]:
                pull = 0.0
                for i in range(lo, hi):
                    pull += work.inverse[i] * work.dw[rows.port[i], k]
                scale = point.s[r] + point.price[r] * work.total[r]
                work.dprice[r] -= point.price[r] * beta * pull / scale
            moved = 0.0
            for i in range(lo, hi):
                port = rows.port[i]
                dy = work.inverse[i] * (work.dy[i] - work.dprice[r] - beta * work.dw[port, k])
                work.dy[i] = dy
                work.dt[port, k] += dy
                moved += dy
            work.ds[r] = work.drift[r] - moved if rows.tight[r] else 0.0
    for port in range(ports):
        for k in range(kinds):
            work.dt[port, k] = work.dp[port] - rows.overhead[k] * work.dt[port, k] + work.slip[port, k]


@njit(cache=True, error_model="numpy")
def _dual_steps(point, work, mu, i):  # type: ignore[no-untyped-def]
    """Return the steps of zl, zu and v of entry i that belong to ``dy``."""
    dy = work.dy[i]
    dzl = (mu - work.low[i] - point.zl[i] * dy) / point.y[i] - point.zl[i]
    dzu = (mu - work.high[i] + point.zu[i] * dy) / point.u[i] - point.zu[i]
    dv = work.slope[i] - point.v[i] - work.bend[i] * dy
    return dzl, dzu, dv


@njit(cache=True, error_model="numpy")
def _lengths(rows, point, work, mu):  # type: ignore[no-untyped-def]
    """Return the inverse of the longest primal and dual steps that keep everything non-negative."""
    primal = 0.0
    dual = 0.0
    for i in range(len(rows.port)):
        dzl, dzu, dv = _dual_steps(point, work, mu, i)
        primal = max(primal, -work.dy[i] / point.y[i], work.dy[i] / point.u[i])
        dual = max(dual, -dzl / point.zl[i], -dzu / point.zu[i], -dv / point.v[i])
    for r in range(len(rows.cap)):
        if rows.tight[r]:
            primal = max(primal, -work.ds[r] / point.s[r])
            dual = max(dual, -work.dprice[r] / point.price[r])
    for port in range(len(rows.weight)):
        for k in range(len(rows.overhead)):
            primal = max(primal, -work.dt[port, k] / point.t[port, k])
            dual = max(dual, -work.dw[port, k] / point.w[port, k])
    return primal, dual


@njit(cache=True, error_model="numpy")
def _products(rows, point, work, mu, primal, dual):  # type: ignore[no-untyped-def]
    """Return the sum of all products after a step of the given lengths, and their number."""
    total = 0.0
    count = 2 * len(rows.port) + point.w.size
    for i in range(len(rows.port)):
        dzl, dzu, _ = _dual_steps(point, work, mu, i)
        dy = primal * work.dy[i]
        total += (point.y[i] + dy) * (point.zl[i] + dual * dzl)
        total += (point.u[i] - dy) * (point.zu[i] + dual * dzu)
    for r in range(len(rows.cap)):
        if rows.tight[r]:
            count += 1
            total += (point.s[r] + primal * work.ds[r]) * (point.price[r] + dual * work.dprice[r])
    for port in range(len(rows.weight)):
        for k in range(len(rows.overhead)):
            t = point.t[port, k] + primal * work.dt[port, k]
            total += t * (point.w[port, k] + dual * work.dw[port, k])
    return total, count


@njit(cache=True, error_model="numpy")
def _correct(rows, point, work):  # type: ignore[no-untyped-def]
    """Turn the predictor step (towards products 0) into second-order corrections."""
    for i in range(len(rows.port)):
        dzl, dzu, _ = _dual_steps(point, work, 0.0, i)
        work.low[i] = work.dy[i] * dzl
        work.high[i] = -work.dy[i] * dzu
    for r in range(len(rows.cap)):
        if rows.tight[r]:
            work.row[r] = work.ds[r] * work.dprice[r]
    for port in range(len(rows.weight)):
        for k in range(len(rows.overhead)):
            work.h[port, k] = work.dt[port, k] * work.dw[port, k]


@njit(cache=True, error_model="numpy")
def _move(rows, point, work, mu, primal, dual):  # type: ignore[no-untyped-def]
    """Take the step; rounding must not move sum_k w away from N, on which the bound rests."""
    for i in range(len(rows.port)):
        dzl, dzu, dv = _dual_steps(point, work, mu, i)
        point.zl[i] += dual * dzl
        point.zu[i] += dual * dzu
        point.v[i] += dual * dv
        point.y[i] += primal * work.dy[i]
        point.u[i] -= primal * work.dy[i]
    for r in range(len(rows.cap)):
        if rows.tight[r]:
            point.s[r] += primal * work.ds[r]
            point.price[r] += dual * work.dprice[r]
    for port in range(len(rows.weight)):
        point.p[port] += primal * work.dp[port]
        for k in range(len(rows.overhead)):
            point.t[port, k] += primal * work.dt[port, k]
            point.w[port, k] += dual * work.dw[port, k]
        point.w[port] *= rows.weight[port] / point.w[port].sum()


@njit(cache=True, error_model="numpy")
def _forget(work):  # type: ignore[no-untyped-def]
    """Clear all corrections."""
    work.low[:] = 0.0
    work.high[:] = 0.0
    work.row[:] = 0.0
    work.h[:] = 0.0


@njit(cache=True, error_model="numpy")
def _step(rows, point, work):  # type: ignore[no-untyped-def]
    """Take one predictor-corrector step in place; False if the system cannot be factored."""
    _differentiate(rows, point, work)
    _drift(rows, point, work)
    if not _factor(rows, point, work):
        return False
    _forget(work)
    now, count = _products(rows, point, work, 0.0, 0.0, 0.0)
    _direction(rows, point, work, 0.0)
    primal, dual = _lengths(rows, point, work, 0.0)
    then, _ = _products(rows, point, work, 0.0, 1.0 / max(1.0, primal), 1.0 / max(1.0, dual))
    mu = (max(then, 0.0) / now) ** 3 * now / count
    _correct(rows, point, work)
    _direction(rows, point, work, mu)
    primal, dual = _lengths(rows, point, work, mu)
    if max(primal, dual) > 1.0 / SHORT:
        _forget(work)
        mu = 0.5 * now / count
        _direction(rows, point, work, mu)
        primal, dual = _lengths(rows, point, work, mu)
    _move(rows, point, work, mu, min(1.0, SHARE / primal), min(1.0, SHARE / dual))
    return True
