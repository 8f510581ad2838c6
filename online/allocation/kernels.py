"""Compiled inner loops of the heuristics and of the printed projection."""

from __future__ import annotations

import numpy as np

from ...models.compiled import njit


@njit(cache=True, error_model="numpy")
def take_in_order(  # type: ignore[no-untyped-def]
    order, arrivals, port_start, port_edges, server, demand, capacity
):
    """Serve the ports with jobs in the given order; each takes min(a, what is left) on all its servers."""
    kinds = capacity.shape[1]
    left = capacity.copy()
    y = np.zeros((server.shape[0], kinds))
    for p in order:
        if arrivals[p] == 0:
            continue
        for i in range(port_start[p], port_start[p + 1]):
            e = port_edges[i]
            r = server[e]
            for k in range(kinds):
                y[e, k] = min(demand[p, k], left[r, k])
                left[r, k] -= y[e, k]
    return y


@njit(cache=True, error_model="numpy")
def share_out(arrivals, port, server_start, demand, capacity, arrived_only):  # type: ignore[no-untyped-def]
    """Give every port with jobs min(a, c a / sum a) on each of its servers."""
    kinds = capacity.shape[1]
    y = np.zeros(demand.shape)
    total = np.empty(kinds)
    for r in range(capacity.shape[0]):
        total[:] = 0.0
        for e in range(server_start[r], server_start[r + 1]):
            if arrivals[port[e]] > 0 or not arrived_only:
                for k in range(kinds):
                    total[k] += demand[e, k]
        for e in range(server_start[r], server_start[r + 1]):
            if arrivals[port[e]] > 0:
                for k in range(kinds):
                    if total[k] > 0.0:
                        y[e, k] = min(demand[e, k], capacity[r, k] * (demand[e, k] / total[k]))
    return y


@njit(cache=True, error_model="numpy")
def take_by_score(  # type: ignore[no-untyped-def]
    sign, quota, arrivals, port_start, port_edges, server, demand, capacity
):
    """Serve the ports with jobs in index order, each on its servers by ascending ``sign * utilisation``."""
    kinds = capacity.shape[1]
    left = capacity.copy()
    score = np.zeros(capacity.shape[0])
    y = np.zeros((server.shape[0], kinds))
    wanted = np.empty(kinds)
    for p in range(arrivals.shape[0]):
        if arrivals[p] == 0:
            continue
        edges = port_edges[port_start[p] : port_start[p + 1]]
        wanted[:] = quota[p]
        for i in np.argsort(sign * score[server[edges]], kind="mergesort"):
            e = edges[i]
            r = server[e]
            for k in range(kinds):
                y[e, k] = min(min(demand[p, k], left[r, k]), wanted[k])
                left[r, k] -= y[e, k]
                wanted[k] -= y[e, k]
        for e in edges:
            score[server[e]] = _utilisation(left[server[e]], capacity[server[e]])
    return y


@njit(cache=True, error_model="numpy")
def _utilisation(left, capacity):  # type: ignore[no-untyped-def]
    used, counted = 0.0, 0
    for k in range(capacity.shape[0]):
        if capacity[k] > 0.0:
            used += 1.0 - left[k] / capacity[k]
            counted += 1
    return used / max(counted, 1)


@njit(cache=True, error_model="numpy")
def printed_row(z, a, c, repaired, limit):  # type: ignore[no-untyped-def]
    """Run lines 7 to 31 of Algorithm 1 on one row; return the result and whether it ended.

    As printed, S keeps what it once held, so the repeat loop cannot end after a negative entry; ``limit`` is
    the number of its passes after which the row counts as never ending. With ``repaired``, what keeps it from
    ending is mended and nothing else: S is emptied in every pass, the entries of B2 are set to zero, and an
    empty B3 needs no rho. The rest stays as printed: rho may be negative, the entries are sorted by z, and
    only the first of them is ever capped.
    """
    n = z.shape[0]
    order = np.argsort(-z, kind="mergesort")
    y = np.zeros(n)
    capped = 0  # B1 is order[:capped], B3 is order[capped:last], B2 is order[last:]
    s = n  # S is order[s:]
    passes = 0
    ended = True
    while ended:
        last = n
        while True:
            passes += 1
            if passes > limit:
                ended = False
                break
            if repaired:
                s = n
            total = -c
            for i in range(last):
                total += a[order[i]] if i < capped else z[order[i]]
            rho = 0.0 if repaired and last <= capped else 2.0 * total / (last - capped)
            for i in range(last):
                y[i] = a[order[i]] if i < capped else z[order[i]] - rho / 2.0
                if y[i] < 0.0:
                    s = i
                    break
            last = min(last, s)
            if repaired:
                y[last:] = 0.0
            if s == n:
                break
        if capped == 1 or not y[0] > a[order[0]]:
            break
        capped = 1
    out = np.empty(n)
    out[order] = y
    return out, ended


@njit(cache=True, error_model="numpy")
def printed_projection(z, server_start, demand, capacity, repaired):  # type: ignore[no-untyped-def]
    """Run :func:`printed_row` on every (server, kind) row; return the result and how many never ended."""
    y = np.zeros(z.shape)
    endless = 0
    for r in range(capacity.shape[0]):
        lo, hi = server_start[r], server_start[r + 1]
        if lo == hi:
            continue
        for k in range(capacity.shape[1]):
            row, ended = printed_row(
                z[lo:hi, k], demand[lo:hi, k], capacity[r, k], repaired, 4 * (hi - lo) + 4
            )
            if not ended:
                endless += 1
            for e in range(lo, hi):
                y[e, k] = row[e - lo]
    return y, endless
