"""The process of :mod:`.gaussian`, soundly read, and its derivatives, on a processor in float32.

What it computes for a job are matrices of some 70 rows, which stay in the cache here; PyTorch sends those of
all jobs through memory once per operation. A derivative by a symmetric matrix is kept as that of both of its
halves, so that half its product with a change is what the result changes by.
"""

from __future__ import annotations

import numpy as np

from ....models.compiled import njit
from .process import TERMS

ZERO, HALF, ONE, TWO, FIVE = map(np.float32, (0.0, 0.5, 1.0, 2.0, 5.0))
THIRD, FIVE_SIXTHS = np.float32(1.0 / 3.0), np.float32(5.0 / 6.0)

MOST = np.float32(126.0)
POWERS = (0.5 ** np.arange(256)).astype(np.float32)
BITS = np.float32(1.0 / np.log(2.0))
C1, C2, C3, C4, C5, C6 = np.cumprod(-np.log(2.0) / np.arange(1, 7)).astype(np.float32)
"""Taylor coefficients of 1 / 2^x, the next of which is below the rounding up to 1/2."""

FREE = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "error_model": "numpy", "cache": True}
"""Sums in any order, so that they are taken several numbers at a time; what is not finite stays so."""


@njit(**FREE)
def _seen(now, past, by, points):  # type: ignore[no-untyped-def]
    """Fill in the machines as seen by a job and by those of its past, times a number, shape (d, n)."""
    histories, machines, width = past.shape
    for e in range(width):
        for k in range(machines):
            points[e, k] = now[k, e] * by
            for h in range(histories):
                points[e, (h + 1) * machines + k] = past[h, k, e] * by


@njit(**FREE)
def _distances(points, far, decay):  # type: ignore[no-untyped-def]
    """Fill in sqrt(5) times the distances of points, and exp of minus it; their rows are a multiple of 8."""
    width, n = points.shape
    norm, whole = (points * points).sum(0), np.empty(n, np.float32)
    for i in range(n):
        row, out, other = far[i, i:], decay[i, i:], norm[i:]
        row[:] = ZERO
        for k in range(0, width, 8):
            x0, x1, x2, x3 = points[k, i:], points[k + 1, i:], points[k + 2, i:], points[k + 3, i:]
            x4, x5, x6, x7 = points[k + 4, i:], points[k + 5, i:], points[k + 6, i:], points[k + 7, i:]
            a0, a1, a2, a3, a4, a5, a6, a7 = x0[0], x1[0], x2[0], x3[0], x4[0], x5[0], x6[0], x7[0]
            for j in range(n - i):
                row[j] += (a0 * x0[j] + a1 * x1[j] + a2 * x2[j] + a3 * x3[j]) + (
                    a4 * x4[j] + a5 * x5[j] + a6 * x6[j] + a7 * x7[j]
                )
        own = norm[i]
        for j in range(n - i):
            row[j] = np.sqrt(FIVE * max(own + other[j] - TWO * row[j], ZERO))
        row[0] = ZERO
        for j in range(n - i):
            bits = min(row[j] * BITS, MOST)
            whole[j] = np.float32(np.int32(bits + HALF))
            x = bits - whole[j]
            out[j] = ONE + x * (C1 + x * (C2 + x * (C3 + x * (C4 + x * (C5 + x * C6)))))
        for j in range(n - i):  # apart, so that what is above is done for several numbers at a time
            out[j] *= POWERS[np.uint8(whole[j])]
        for j in range(i):
            far[i, j], decay[i, j] = far[j, i], decay[j, i]


@njit(**FREE)
def _parts(far, decay, machines, factors, similar, walks, psi, nodes):  # type: ignore[no-untyped-def]
    """Fill in Matern's kernel, numbers of walks, features of nodes, shape (terms, n), and their products."""
    n = far.shape[0]
    for i in range(n):
        for j in range(n):
            similar[i, j] = (ONE + far[i, j] + far[i, j] * far[i, j] * THIRD) * decay[i, j]
    walks[0] = ONE
    for step in range(1, TERMS):
        for i in range(n):
            first, total = i - i % machines, ZERO
            near, before = similar[i, first : first + machines], walks[step - 1, first : first + machines]
            for j in range(machines):
                total += near[j] * before[j]
            walks[step, i] = total / np.float32(machines)
    for term in range(TERMS):
        for i in range(n):
            psi[term, i] = walks[term, i] * factors[term]
    for i in range(n):
        row = nodes[i]
        row[:] = ZERO
        for term in range(0, TERMS, 4):
            a0, a1, a2, a3 = psi[term, i], psi[term + 1, i], psi[term + 2, i], psi[term + 3, i]
            x0, x1, x2, x3 = psi[term], psi[term + 1], psi[term + 2], psi[term + 3]
            for j in range(n):
                row[j] += a0 * x0[j] + a1 * x1[j] + a2 * x2[j] + a3 * x3[j]


@njit(**FREE)
def _factor(beside):  # type: ignore[no-untyped-def]
    """Turn (A, B) into (U, B / U') with A = U' U; tell whether A is positive definite."""
    n, wide = beside.shape
    for start in range(0, n, 4):
        end = min(start + 4, n)
        for k in range(start, end):
            pivot = beside[k, k]
            if not pivot > ZERO:
                return False
            tail, by = beside[k, k:], ONE / np.sqrt(pivot)
            for j in range(wide - k):
                tail[j] *= by
            for i in range(k + 1, end):
                row, other, times = beside[i, i:], beside[k, i:], beside[k, i]
                for j in range(wide - i):
                    row[j] -= times * other[j]
        for i in range(end, n):  # of four rows at once: fewer have none below them
            row, x0, x1 = beside[i, i:], beside[start, i:], beside[start + 1, i:]
            x2, x3 = beside[start + 2, i:], beside[start + 3, i:]
            a0, a1, a2, a3 = x0[0], x1[0], x2[0], x3[0]
            for j in range(wide - i):
                row[j] -= a0 * x0[j] + a1 * x1[j] + a2 * x2[j] + a3 * x3[j]
    return True


@njit(**FREE)
def _solve(beside, weights):  # type: ignore[no-untyped-def]
    """Fill in the rows of the transpose of B / A, by what :func:`_factor` makes of (A, B)."""
    n = beside.shape[0]
    lower = beside[:, :n].T.copy()
    for r in range(weights.shape[0]):
        x = weights[r]
        x[:] = beside[:, n + r]
        for k in range(n - 1, -1, -1):
            row, left = lower[k, :k], x[:k]
            x[k] /= lower[k, k]
            times = x[k]
            for j in range(k):
                left[j] -= times * row[j]


@njit(**FREE)
def _room(histories, machines, width):  # type: ignore[no-untyped-def]
    """Return room for the points, Matern's kernel, walks, features and products of one job."""
    n = (1 + histories) * machines
    square, terms = np.zeros((2, n, n), np.float32), np.zeros((2, TERMS, n), np.float32)
    return np.zeros((-(-width // 8) * 8, n), np.float32), square[0], terms[0], terms[1], square[1]


@njit(**FREE)
def regress(now, past, residual, known, numbers, factors, shift, covariance, kept):  # type: ignore[no-untyped-def]
    """Fill in by how much the past shifts affinities, and their covariance; tell whether there is one.

    ``numbers`` are 1 / lengthscale, scale and noise. ``kept`` are the distances, decays and weights of each
    job, for :func:`pull`, or room for those of one.
    """
    pairs, histories, machines, width = past.shape
    by, scale, noise = numbers
    m, n = machines, histories * machines
    points, similar, walks, psi, nodes = _room(histories, machines, width)
    beside, cross = np.empty((n, n + m + 1), np.float32), np.empty((m, n), np.float32)
    for p in range(pairs):
        place = min(p, kept[0].shape[0] - 1)
        far, decay, weights = kept[0][place], kept[1][place], kept[2][place]
        _seen(now[p], past[p], by, points)
        _distances(points, far, decay)
        _parts(far, decay, m, factors, similar, walks, psi, nodes)
        for i in range(n):
            of = scale * known[p, i // m]
            row, near, node = beside[i], similar[m + i], nodes[m + i]
            for h in range(histories):
                each, start = of * known[p, h], h * m
                part, a, b = row[start : start + m], near[m + start :], node[m + start :]
                for j in range(m):
                    part[j] = each * a[j] * b[j]
            row[i] += noise + ONE - known[p, i // m]
            for k in range(m):
                cross[k, i] = row[n + k] = of * near[k] * node[k]
            row[n + m] = known[p, i // m] * residual[p, i]
        if not _factor(beside):
            return False
        _solve(beside, weights)
        for k in range(m):
            shift[p, k] = (cross[k] * weights[m]).sum()
            for j in range(m):
                covariance[p, k, j] = scale * similar[k, j] * nodes[k, j] - (cross[k] * weights[j]).sum()
    return True


@njit(**FREE)
def _outer(shift, covariance, known, weights, outer):  # type: ignore[no-untyped-def]
    """Fill in the derivative by the kernel of all points, of both halves; return that by the noise."""
    m, n = weights.shape[0] - 1, weights.shape[1]
    alpha, both = weights[m], covariance + covariance.T
    less, pulled = np.zeros((m, n), np.float32), np.zeros(n, np.float32)
    for k in range(m):
        for i in range(n):
            pulled[i] += shift[k] * weights[k, i]
        for j in range(m):
            for i in range(n):
                less[k, i] += both[k, j] * weights[j, i]
    outer[:m, :m] = both
    noise = ZERO
    for i in range(n):
        for k in range(m):
            outer[k, m + i] = known[i // m] * (shift[k] * alpha[i] - less[k, i])
            outer[m + i, k] = outer[k, m + i]
        row, a, b = outer[m + i, m:], alpha[i], pulled[i]
        for j in range(n):
            row[j] = -(b * alpha[j] + a * pulled[j])
        for k in range(m):
            times, other = weights[k, i], less[k]
            for j in range(n):
                row[j] += times * other[j]
        noise += row[i]
    return HALF * noise


@njit(**FREE)
def _through_walks(by_psi, factors, similar, walks, machines, by_similar):  # type: ignore[no-untyped-def]
    """Add to the derivative by Matern's kernel, of both halves, what walks hand on of that by features."""
    m, share = machines, ONE / np.float32(machines)
    after, here = np.empty(m, np.float32), np.empty(m, np.float32)
    for first in range(0, similar.shape[0], m):
        graph, found = similar[first : first + m, first : first + m], by_similar[first : first + m]
        after[:] = by_psi[TERMS - 1, first : first + m] * factors[TERMS - 1]
        for step in range(TERMS - 2, -1, -1):
            count = walks[step, first : first + m]
            for i in range(m):
                total = ZERO
                for j in range(m):
                    found[i, first + j] += share * (after[i] * count[j] + after[j] * count[i])
                    total += graph[i, j] * after[j]
                here[i] = share * total + by_psi[step, first + i] * factors[step]
            after[:] = here


@njit(**FREE)
def pull(now, past, known, numbers, factors, kept, shift, covariance, by_now, sums):  # type: ignore[no-untyped-def]
    """Fill in the derivative by the points, and add up those by the scalars, from those by the results.

    ``sums`` are the derivatives by 1 / lengthscale, scale and noise, and by the logarithm of beta.
    """
    pairs, histories, machines, width = past.shape
    by, scale, _ = numbers
    points, similar, walks, psi, nodes = _room(histories, machines, width)
    outer, by_psi = np.empty_like(similar), np.empty_like(psi)
    n = len(outer)
    for p in range(pairs):
        far, decay = kept[0][p], kept[1][p]
        _seen(now[p], past[p], by, points)
        _parts(far, decay, machines, factors, similar, walks, psi, nodes)
        sums[2] += _outer(shift[p], covariance[p], known[p], kept[2][p], outer)
        for i in range(n):
            row, near, node, total = outer[i], similar[i], nodes[i], ZERO
            for j in range(n):
                total += row[j] * near[j] * node[j]
            sums[1] += HALF * total
            for j in range(n):  # from here on nodes are the derivative by Matern's kernel, outer by nodes
                node[j] *= scale * row[j]
                row[j] *= scale * near[j]
        for term in range(TERMS):
            feature, total = psi[term], ZERO
            for i in range(n):
                row, each = outer[i], ZERO
                for j in range(n):
                    each += row[j] * feature[j]
                by_psi[term, i] = each
                total += each * feature[i]
            sums[3] += HALF * np.float32(term) * total
        _through_walks(by_psi, factors, similar, walks, machines, nodes)
        for i in range(n):
            node, away, less, total = nodes[i], far[i], decay[i], ZERO
            for j in range(n):
                node[j] *= -FIVE_SIXTHS * (ONE + away[j]) * less[j]
                total += node[j] * away[j] * away[j]
            sums[0] += total / (FIVE * by)
        for k in range(machines):
            node, own = nodes[k], nodes[k].sum()
            for e in range(width):
                point, total = points[e], ZERO
                for j in range(n):
                    total += node[j] * point[j]
                by_now[p, k, e] = TWO * by * (own * point[k] - total)
