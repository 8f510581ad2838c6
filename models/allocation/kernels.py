"""Compiled kernels of the allocation problem: scoring a decision, supergradients, and projection onto Y.

The projection works on (server, kind) rows, 32 at a time: a *block* holds rows of one kind and one utility
family with nearly the same number of ports, stored [position in row][lane]; the inner loops run over lanes.
"""

from __future__ import annotations

import numpy as np

from ..compiled import njit
from . import utility

LANES = 32
_LINEAR, _LOG, _RECIPROCAL, _POLY = utility.LINEAR, utility.LOG, utility.RECIPROCAL, utility.POLY
_HUGE = 1e150


@njit(cache=True, error_model="numpy")
def evaluate(  # type: ignore[no-untyped-def]
    y, arrivals, port, server_start, demand, capacity, overhead, kind, alpha, tolerance
):
    """Return the reward of one slot (5), (7) and whether the decision keeps (3) and (4).

    What is beyond 0 or the demand within the tolerance is held at it: no more scores than what is feasible.
    Log utilities of a row are summed as one logarithm of a product, of which 1 less is kept: what is small
    beside 1 is not lost.
    """
    kinds = overhead.shape[0]
    sums = np.zeros((arrivals.shape[0], kinds))
    used = np.empty(kinds)
    growth = np.empty(kinds)  # the product of all 1 + v, less 1
    feasible = True
    reward = 0.0
    for r in range(capacity.shape[0]):
        used[:] = 0.0
        growth[:] = 0.0
        for e in range(server_start[r], server_start[r + 1]):
            jobs = arrivals[port[e]]
            for k in range(kinds):
                v = y[e, k]
                limit = demand[e, k]
                if v >= -tolerance * limit and v <= limit + tolerance * limit:
                    v = _clip(v, limit)
                else:
                    feasible = False
                used[k] += v
                if jobs == 0:
                    continue
                sums[port[e], k] += v
                scale = alpha[r, k]
                family = kind[r, k]
                if family == _LINEAR:
                    reward += jobs * scale * v
                elif family == _LOG:
                    if jobs == 1:
                        growth[k] = (growth[k] + v) + growth[k] * v
                        if growth[k] > _HUGE:
                            reward += scale * np.log1p(growth[k])
                            growth[k] = 0.0
                    else:
                        reward += jobs * scale * np.log1p(v)
                elif family == _RECIPROCAL:
                    reward += jobs * v / (scale * (v + scale))
                else:
                    reward += jobs * scale * v / (np.sqrt(v + 1.0) + 1.0)
        for k in range(kinds):
            if growth[k] != 0.0:
                reward += alpha[r, k] * np.log1p(growth[k])
            if not used[k] <= capacity[r, k] + tolerance * capacity[r, k]:
                feasible = False
    for p in range(arrivals.shape[0]):
        if arrivals[p] > 0:
            worst = overhead[0] * sums[p, 0]
            for k in range(1, kinds):
                worst = max(worst, overhead[k] * sums[p, k])
            reward -= arrivals[p] * worst
    return reward, feasible


@njit(cache=True, error_model="numpy")
def project_all(z, start, limit, cap, tau):  # type: ignore[no-untyped-def]
    """Project every block in place; ``tau`` holds the starting dual variables and receives the final ones."""
    scratch = (np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES))
    for b in range(cap.shape[0]):
        lo, hi = start[b], start[b + 1]
        block = (z[lo:hi].reshape(-1, LANES), limit[lo:hi].reshape(-1, LANES))
        project_block(*block, cap[b], tau[b], *scratch)


@njit(cache=True, error_model="numpy", inline="always")
def _clip(v, limit):  # type: ignore[no-untyped-def]
    """Return v clipped to [0, limit]."""
    return min(limit, max(0.0, v))


@njit(cache=True, error_model="numpy")
def excess(z, limit, cap, tau, phi, free):  # type: ignore[no-untyped-def]
    """Set ``phi = sum clip(z - tau, 0, limit) - cap`` and count the entries strictly between, per lane."""
    for w in range(LANES):
        phi[w] = -cap[w]
        free[w] = 0.0
    for i in range(z.shape[0]):
        for w in range(LANES):
            v = z[i, w] - tau[w]
            phi[w] += _clip(v, limit[i, w])
            free[w] += (1.0 if v > 0.0 else 0.0) * (1.0 if v < limit[i, w] else 0.0)


@njit(cache=True, error_model="numpy")
def project_block(z, limit, cap, tau, phi, free, low, high):  # type: ignore[no-untyped-def]
    """Project the rows of one block, [position][lane], in place: clip(z - tau, 0, limit), tau >= 0.

    ``tau`` is rho / 2 in the notation of (12): 0 where the sum at 0 fits the capacity, else the root of the
    piecewise linear ``excess``. Newton's method from the given start, kept inside a shrinking bracket,
    ends on the exact linear piece after a few passes.
    """
    low[:] = -1.0
    high[:] = 0.0
    for i in range(z.shape[0]):
        for w in range(LANES):
            high[w] = max(high[w], z[i, w])
    for w in range(LANES):
        tau[w] = min(max(tau[w], 0.0), high[w])
    for iteration in range(400):
        excess(z, limit, cap, tau, phi, free)
        if _improve(cap, tau, phi, free, low, high, iteration % 8 == 7) == 0.0:
            break
    far = False
    for w in range(LANES):
        far |= _is_far(z.shape[0], cap[w], tau[w])
    before = z.copy() if far else z
    for i in range(z.shape[0]):
        for w in range(LANES):
            z[i, w] = _clip(z[i, w] - tau[w], limit[i, w])
    if far:
        for w in range(LANES):
            if _is_far(z.shape[0], cap[w], tau[w]):
                _project_far(before[:, w], limit[:, w], cap[w], z[:, w])


@njit(cache=True, error_model="numpy", inline="always")
def _is_far(rows, cap, tau):  # type: ignore[no-untyped-def]
    """Return whether the last digits of ``tau`` may be more than a small part of the capacity."""
    return tau * rows > 1e5 * cap


@njit(cache=True, error_model="numpy")
def _filled(z, limit, at, rise):  # type: ignore[no-untyped-def]
    """Return ``sum min(z - at + rise, limit)`` over the entries of at least ``at``, and how many can rise."""
    total = 0.0
    free = 0
    for i in range(len(z)):
        if z[i] >= at:
            v = z[i] - at + rise
            total += min(v, limit[i])
            free += v < limit[i]
    return total, free


@njit(cache=True, error_model="numpy")
def _least_above(z, limit, cap):  # type: ignore[no-untyped-def]
    """Return the least entry at which, as tau, the row would not be full, by halving the sorted entries."""
    order = np.sort(z)
    low, high = -1, len(z) - 1  # the sum is at least cap at order[low], and below it at order[high]
    while high - low > 1:
        middle = (low + high) // 2
        if _filled(z, limit, order[middle], 0.0)[0] >= cap:
            low = middle
        else:
            high = middle
    return order[high]


@njit(cache=True, error_model="numpy")
def _project_far(z, limit, cap, out):  # type: ignore[no-untyped-def]
    """Set ``out`` to the projection of a row, however far it is from the capacity.

    tau itself, which has no digits for the capacity there, is not formed. It is the least entry above it,
    ``at``, less a ``rise``: only differences of entries count, which are exact where they are small.
    Newton's method finds ``rise`` from below: every step passes a piece of the concave, piecewise linear sum.
    """
    at, rise = 0.0, 0.0  # where the row is not full
    if _filled(z, limit, at, rise)[0] > cap:
        at = _least_above(z, limit, cap)
        for _ in range(len(z) + 8):
            total, free = _filled(z, limit, at, rise)
            if total >= cap or free == 0:
                break
            rise += (cap - total) / free
    for i in range(len(z)):
        out[i] = min(z[i] - at + rise, limit[i]) if z[i] >= at else 0.0


@njit(cache=True, error_model="numpy")
def _improve(cap, tau, phi, free, low, high, bisect):  # type: ignore[no-untyped-def]
    """Move the tau of every open lane (low < high) after a pass of ``excess``; return how many stay open.

    Written without branches, so that it runs on all lanes at once.
    """
    still = 0.0
    for w in range(LANES):
        at, p, n = tau[w], phi[w], free[w]
        lo = at if p > 0.0 else low[w]
        hi = high[w] if p > 0.0 else at
        small = 2.0**-50 * (cap[w] + n * at)
        done = (low[w] >= high[w]) | (abs(p) <= small) | ((p < 0.0) & (at <= 0.0))
        newton = max(at + p / max(n, 1.0), 0.0)
        middle = 0.5 * (lo + hi) if lo >= 0.0 else 0.0
        inside = (n > 0.0) & (newton > lo) & (newton < hi) & (not bisect)
        trial = newton if inside else middle
        stuck = (trial <= lo) | (trial >= hi)
        trial = hi if stuck else trial
        closed = done | stuck
        tau[w] = at if done else trial
        low[w] = hi if closed else lo
        high[w] = hi
        still += 0.0 if closed else 1.0
    return still


@njit(cache=True, error_model="numpy")
def tables(sums, arrivals, overhead, gain, charge):  # type: ignore[no-untyped-def]
    """Fill x_l and x_l beta_k [k = k*_l] per (port, kind) from the port sums; ties of (10): smallest k."""
    kinds = overhead.shape[0]
    for p in range(arrivals.shape[0]):
        best = 0
        for k in range(kinds):
            gain[p * kinds + k] = arrivals[p]
            charge[p * kinds + k] = 0.0
            if overhead[k] * sums[p * kinds + k] > overhead[best] * sums[p * kinds + best]:
                best = k
        charge[p * kinds + best] = arrivals[p] * overhead[best]


@njit(cache=True, error_model="numpy", inline="always")
def _slope(family, alpha, y):  # type: ignore[no-untyped-def]
    if family == _LINEAR:
        return alpha
    if family == _LOG:
        return alpha / (1.0 + y)
    if family == _RECIPROCAL:
        return 1.0 / ((y + alpha) * (y + alpha))
    return 0.5 * alpha / np.sqrt(y + 1.0)


@njit(cache=True, error_model="numpy")
def squared_norm(y, gain, charge, start, slot, alpha, family):  # type: ignore[no-untyped-def]
    """Return the squared norm of the supergradient (9) at ``y``, given the tables of the slot."""
    total = 0.0
    for b in range(family.shape[0]):
        for i in range(start[b], start[b + 1], LANES):
            for w in range(LANES):
                s = slot[i + w]
                g = gain[s] * _slope(family[b], alpha[b, w], y[i + w]) - charge[s]
                total += g * g
    return total


@njit(cache=True, error_model="numpy")
def ascend(y, eta, gain, charge, start, slot, alpha, family):  # type: ignore[no-untyped-def]
    """Replace ``y`` by y + eta g, g the supergradient (9)."""
    for b in range(family.shape[0]):
        code = family[b]
        block = y[start[b] : start[b + 1]].reshape(-1, LANES)
        place = slot[start[b] : start[b + 1]].reshape(-1, LANES)
        if code == _LINEAR:
            _ascend_block(_LINEAR, block, eta, gain, charge, place, alpha[b])
        elif code == _LOG:
            _ascend_block(_LOG, block, eta, gain, charge, place, alpha[b])
        elif code == _RECIPROCAL:
            _ascend_block(_RECIPROCAL, block, eta, gain, charge, place, alpha[b])
        else:
            _ascend_block(_POLY, block, eta, gain, charge, place, alpha[b])


@njit(cache=True, error_model="numpy", inline="always")
def _ascend_block(family, y, eta, gain, charge, place, alpha):  # type: ignore[no-untyped-def]
    for i in range(y.shape[0]):
        for w in range(LANES):
            s = place[i, w]
            y[i, w] += eta * (gain[s] * _slope(family, alpha[w], y[i, w]) - charge[s])


@njit(cache=True, error_model="numpy")
def project_blocks(y, sums, tau, start, slot, limit, cap):  # type: ignore[no-untyped-def]
    """Project ``y`` onto the feasible set in place and recompute the port sums."""
    sums[:] = 0.0
    scratch = (np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES))
    for b in range(cap.shape[0]):
        lo, hi = start[b], start[b + 1]
        block = (y[lo:hi].reshape(-1, LANES), limit[lo:hi].reshape(-1, LANES))
        project_block(*block, cap[b], tau[b], *scratch)
        for i in range(lo, hi):
            sums[slot[i]] += y[i]
