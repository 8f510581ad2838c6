"""The process of :mod:`.gaussian`, soundly read, and its derivatives, on a processor in float32.

What it computes for a job are matrices of some 70 rows, which stay in the cache here; PyTorch sends those of
all jobs through memory once per operation. A derivative by a symmetric matrix is kept as that of both of its
halves, so that half its product with a change is what the result changes by.

Of the past nothing is kept from one step of learning to the next, as each changes the lengthscale; products
of its points, which stay, are a tenth of the work.
"""

from __future__ import annotations

import numpy as np

from ....models.compiled import njit
from .process import TERMS

ZERO, HALF, ONE, TWO, FIVE = map(np.float32, (0.0, 0.5, 1.0, 2.0, 5.0))
THIRD, FIVE_SIXTHS = np.float32(1.0 / 3.0), np.float32(5.0 / 6.0)

MOST, BIAS, MANTISSA = np.float32(126.0), np.int32(127), np.int32(23)
BITS = np.float32(1.0 / np.log(2.0))
C1, C2, C3, C4, C5, C6 = np.cumprod(-np.log(2.0) / np.arange(1, 7)).astype(np.float32)
"""Taylor coefficients of 1 / 2^x, the next of which is below the rounding up to 1/2."""

ROWS = 8
"""Rows that are factored at a time."""

FREE = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "error_model": "numpy", "cache": True}
"""Sums in any order, so that they are taken several numbers at a time; what is not finite stays so."""


@njit(cache=True)
def room(jobs, histories, machines):  # type: ignore[no-untyped-def]
    """Return room for what :func:`regress` keeps of so many jobs."""
    n = (1 + histories) * machines
    square = np.empty((2, jobs, n, n), np.float32)
    return square[0], square[1], np.empty((jobs, histories * machines, machines + 1), np.float32)


@njit(cache=True)
def _factors(weight):  # type: ignore[no-untyped-def]
    """Return what the numbers of walks of each length count for, shape (terms,)."""
    found, factor = np.ones(TERMS, np.float32), np.float32(1.0)
    for step in range(1, TERMS):
        factor *= weight / np.float32(step)
        found[step] = np.sqrt(factor)
    return found


@njit(**FREE)
def _seen(now, past, by, points):  # type: ignore[no-untyped-def]
    """Fill in the machines as seen by a job and by those of its past, times a number, shape (d, n)."""
    histories, machines, width = past.shape
    for k in range(machines):
        for e in range(width):
            points[e, k] = now[k, e] * by
        for h in range(histories):
            for e in range(width):
                points[e, (h + 1) * machines + k] = past[h, k, e] * by


@njit(**FREE)
def _distances(points, far, decay):  # type: ignore[no-untyped-def]
    """Fill in sqrt(5) times the distances of points, and exp of minus it."""
    n = points.shape[1]
    norm, powers = np.empty(n, np.float32), np.empty(n * n, np.int32)
    np.dot(points.T, points, far)
    for i in range(n):
        norm[i] = far[i, i]  # not summed up anew, so that a point is exactly where it is
    for i in range(n):
        row, own = far[i], norm[i]
        for j in range(n):
            row[j] = own + norm[j] - TWO * row[j]
    away, less, power = far.ravel(), decay.ravel(), powers.view(np.float32)
    for q in range(n * n):
        away[q] = np.sqrt(FIVE * max(away[q], ZERO))
        bits = min(away[q] * BITS, MOST)
        whole = np.int32(bits + HALF)
        powers[q] = (BIAS - whole) << MANTISSA  # the bits of 2^-whole
        x = bits - np.float32(whole)
        less[q] = ONE + x * (C1 + x * (C2 + x * (C3 + x * (C4 + x * (C5 + x * C6)))))
    for q in range(n * n):
        less[q] *= power[q]


@njit(**FREE)
def _step(similar, before, machines, after):  # type: ignore[no-untyped-def]
    """Fill in what machines have after one more step of all walks between those of each job."""
    share = ONE / np.float32(machines)
    for i in range(before.size):
        first, total = i - i % machines, ZERO
        near, there = similar[i, first : first + machines], before[first : first + machines]
        for j in range(machines):
            total += near[j] * there[j]
        after[i] = share * total


@njit(**FREE)
def _parts(far, decay, machines, factors, similar, walks, psi, nodes):  # type: ignore[no-untyped-def]
    """Fill in Matern's kernel, numbers of walks, features of nodes, shape (terms, n), and their products."""
    away, less, near = far.ravel(), decay.ravel(), similar.ravel()
    for q in range(near.size):
        near[q] = (ONE + away[q] + away[q] * away[q] * THIRD) * less[q]
    walks[0] = ONE
    for step in range(1, TERMS):
        _step(similar, walks[step - 1], machines, walks[step])
    for term in range(TERMS):
        for i in range(psi.shape[1]):
            psi[term, i] = walks[term, i] * factors[term]
    np.dot(psi.T, psi, nodes)


@njit(**FREE)
def _factor(beside, product):  # type: ignore[no-untyped-def]
    """Turn (A, B) into (U, B / U') with A = U' U; tell whether A is positive definite.

    ``product`` is room, shape (ROWS, width of both).
    """
    n, wide = beside.shape
    for start in range(0, n, ROWS):
        end = min(start + ROWS, n)
        if start > 0:
            above = beside[:start, start:end].T.copy()
            less = product[: end - start]
            np.dot(above, beside[:start], less)
            for i in range(start, end):
                row, other = beside[i, start:], less[i - start, start:]
                for j in range(wide - start):
                    row[j] -= other[j]
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
    return True


@njit(**FREE)
def _solve(beside, weights):  # type: ignore[no-untyped-def]
    """Fill in the quotient of B by A, from what :func:`_factor` makes of (A, B)."""
    n, many = weights.shape
    weights[:] = beside[:, n:]
    for start in range((n - 1) // ROWS * ROWS, -1, -ROWS):
        end = min(start + ROWS, n)
        if end < n:
            weights[start:end] -= np.dot(beside[start:end, end:n].copy(), weights[end:])
        for k in range(end - 1, start - 1, -1):
            by, own = ONE / beside[k, k], weights[k]
            for r in range(many):
                own[r] *= by
            for i in range(start, k):
                row, times = weights[i], beside[i, k]
                for r in range(many):
                    row[r] -= times * own[r]


@njit(**FREE)
def _workplace(histories, machines, width):  # type: ignore[no-untyped-def]
    """Return room for points and for :func:`_parts` of one job."""
    n = (1 + histories) * machines
    square, terms = np.empty((2, n, n), np.float32), np.empty((2, TERMS, n), np.float32)
    return np.empty((width, n), np.float32), (square[0], terms[0], terms[1], square[1])


@njit(**FREE)
def _systems(kernel, known, noise, residual, beside, cross):  # type: ignore[no-untyped-def]
    """Fill in the covariances of the past, beside those with a job and the residuals; and with a job."""
    m, n = cross.shape
    for k in range(m):
        row, near = cross[k], kernel[k, m:]
        for i in range(n):
            row[i] = near[i] * known[i]
    for i in range(n):
        row, near, own = beside[i], kernel[m + i, m:], known[i]
        for j in range(n):
            row[j] = own * near[j] * known[j]
        row[i] += noise + ONE - own
        for k in range(m):
            row[n + k] = own * kernel[m + i, k]
        row[n + m] = own * residual[i]


@njit(**FREE)
def regress(now, past, residual, known, numbers, shift, covariance, kept):  # type: ignore[no-untyped-def]
    """Fill in by how much the past shifts affinities, and their covariance; tell whether there is one.

    ``numbers`` are 1 / lengthscale, scale, noise and beta, ``known`` is of each machine of the past. ``kept``
    are the distances, decays and weights of each job, for :func:`pull`, or room for those of one.
    """
    pairs, histories, machines, width = past.shape
    by, scale, noise, beta = numbers
    m, n, factors = machines, histories * machines, _factors(beta)
    points, parts = _workplace(histories, machines, width)
    near, kernel = parts[0].ravel(), parts[3].ravel()
    beside, cross = np.empty((n, n + m + 1), np.float32), np.empty((m, n), np.float32)
    product, less = np.empty((ROWS, n + m + 1), np.float32), np.empty((m, m + 1), np.float32)
    for p in range(pairs):
        place = min(p, kept[0].shape[0] - 1)
        far, decay, weights = kept[0][place], kept[1][place], kept[2][place]
        _seen(now[p], past[p], by, points)
        _distances(points, far, decay)
        _parts(far, decay, m, factors, *parts)
        for q in range(kernel.size):
            kernel[q] *= scale * near[q]
        _systems(parts[3], known[p], noise, residual[p], beside, cross)
        if not _factor(beside, product):
            return False
        _solve(beside, weights)
        np.dot(cross, weights, less)
        shift[p] = less[:, m]
        for k in range(m):
            for j in range(m):
                covariance[p, k, j] = parts[3][k, j] - less[k, j]
    return True


@njit(**FREE)
def _outer(shift, covariance, known, weights, outer):  # type: ignore[no-untyped-def]
    """Fill in the derivative by the kernel of all points, of both halves; return that by the noise."""
    (n, _), m, by_row = weights.shape, shift.size, weights.T.copy()
    both, alpha, left = covariance + covariance.T, by_row[m], np.empty((m + 2, n), np.float32)
    right, less, pulled = np.empty_like(left), np.dot(both, by_row[:m]), np.dot(shift, by_row[:m])
    left[: m + 1], left[m + 1], right[:m] = by_row, pulled, less
    for i in range(n):
        right[m, i], right[m + 1, i] = -pulled[i], -alpha[i]
    outer[:m, :m] = both
    outer[m:, m:] = np.dot(left.T, right)
    noise = ZERO
    for i in range(n):
        for k in range(m):
            outer[k, m + i] = outer[m + i, k] = known[i] * (shift[k] * alpha[i] - less[k, i])
        noise += outer[m + i, m + i]
    return HALF * noise


@njit(**FREE)
def _through_walks(by_psi, factors, similar, walks, machines, by_similar):  # type: ignore[no-untyped-def]
    """Add to the derivative by Matern's kernel, of both halves, what walks hand on of that by features."""
    n, share = walks.shape[1], ONE / np.float32(machines)
    after, handed = np.zeros(n, np.float32), np.zeros((TERMS, n), np.float32)
    for step in range(TERMS - 1, 0, -1):  # what numbers of walks of so many steps hand on
        for i in range(n):
            after[i] += by_psi[step, i] * factors[step]
            handed[step - 1, i] = share * after[i]
        _step(similar, after.copy(), machines, after)
    added = np.dot(handed.T, walks)
    for i in range(n):
        first = i - i % machines
        for j in range(first, first + machines):
            by_similar[i, j] += added[i, j] + added[j, i]


@njit(**FREE)
def pull(now, past, known, numbers, kept, shift, covariance, by_now, sums):  # type: ignore[no-untyped-def]
    """Fill in the derivative by the points, and add up those by the scalars, from those by the results.

    ``sums`` are the derivatives by the ``numbers`` of :func:`regress`.
    """
    pairs, histories, machines, width = past.shape
    by, scale, _, beta = numbers
    factors = _factors(beta)
    points, parts = _workplace(histories, machines, width)
    similar, walks, psi, nodes = parts
    outer, by_psi, by_point = (
        np.empty_like(nodes),
        np.empty_like(psi),
        np.empty((machines, width), np.float32),
    )
    flat, near, node = outer.ravel(), similar.ravel(), nodes.ravel()
    for p in range(pairs):
        away, less = kept[0][p].ravel(), kept[1][p].ravel()
        _seen(now[p], past[p], by, points)
        _parts(kept[0][p], kept[1][p], machines, factors, *parts)
        sums[2] += _outer(shift[p], covariance[p], known[p], kept[2][p], outer)
        total = ZERO
        for q in range(flat.size):
            total += flat[q] * near[q] * node[q]
        sums[1] += HALF * total
        for q in range(flat.size):  # from here on nodes are the derivative by Matern's kernel, outer by nodes
            node[q] *= scale * flat[q]
            flat[q] *= scale * near[q]
        np.dot(psi, outer, by_psi)
        for term in range(TERMS):
            sums[3] += HALF * np.float32(term) / beta * (psi[term] * by_psi[term]).sum()
        _through_walks(by_psi, factors, similar, walks, machines, nodes)
        total = ZERO
        for q in range(flat.size):
            node[q] *= -FIVE_SIXTHS * (ONE + away[q]) * less[q]
            total += node[q] * away[q] * away[q]
        sums[0] += total / (FIVE * by)
        np.dot(nodes[:machines], points.T, by_point)
        for k in range(machines):
            own = nodes[k].sum()
            for e in range(width):
                by_now[p, k, e] = TWO * by * (own * points[e, k] - by_point[k, e])
