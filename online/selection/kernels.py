"""Compiled inner loops of the baselines and of Algorithm 2."""

from __future__ import annotations

import numpy as np

from ...models.compiled import njit


@njit(cache=True, error_model="numpy")
def take_in_turn(order, arrivals, port_start, demand, capacity, skip):  # type: ignore[no-untyped-def]
    """Switch on the channels of the ports with jobs, in order, while they fit.

    At the first one that does not fit it stops, or with ``skip`` leaves it out and goes on.
    """
    x = np.zeros(demand.shape[0], dtype=np.bool_)
    left = capacity.copy()
    for port in order:
        if arrivals[port] == 0:
            continue
        for e in range(port_start[port], port_start[port + 1]):
            fits = True
            for k in range(left.shape[0]):
                if demand[e, k] > left[k]:
                    fits = False
            if fits:
                x[e] = True
                for k in range(left.shape[0]):
                    left[k] -= demand[e, k]
            elif not skip:
                return x
    return x


@njit(cache=True, error_model="numpy")
def _radix(capacity):  # type: ignore[no-untyped-def]
    """Return the stride of capacity states that differ by one device of each kind, and their number."""
    radix = np.empty(capacity.shape[0], dtype=np.int64)
    states = 1
    for k in range(capacity.shape[0] - 1, -1, -1):
        radix[k] = states
        states *= capacity[k] + 1
    return radix, states


@njit(cache=True, error_model="numpy")
def dense_printed(upsilon, sigma2, demand, capacity, s_max):  # type: ignore[no-untyped-def]
    """Run Algorithm 2 as printed.

    The table of i overwrites that of i + 1: s and c' run downwards, and what is read lies below. Of every
    x(s, c', i) it is kept how it came about: by taking channel i + 1 (line 12), by handing on x(s, c', i + 1)
    (line 15), or not at all, which leaves it 0. Line 13 finds a violation where A <= c' fails and only there:
    by induction every x(s, c', i) keeps within c'. Returns x(s), shape (s_max + 1, E), and V(s).
    """
    count = sigma2.shape[0]
    radix, states = _radix(capacity)
    value = np.empty((s_max + 1, states), dtype=sigma2.dtype)
    value[:] = -np.inf
    value[0, :] = 0.0
    taken = np.zeros((s_max + 1, states, (count + 7) // 8), dtype=np.uint8)
    handed = np.zeros((s_max + 1, states, (count + 7) // 8), dtype=np.uint8)
    below = np.empty(states, dtype=np.int64)
    fits = np.empty(states, dtype=np.bool_)
    for i in range(count - 1, -1, -1):
        word, bit = i // 8, np.uint8(1 << (i % 8))
        for state in range(states):
            below[state], fits[state] = 0, True
            for k in range(capacity.shape[0]):
                rest = state // radix[k] % (capacity[k] + 1) - demand[i, k]
                below[state] += max(rest, 0) * radix[k]
                fits[state] &= rest >= 0
        for s in range(s_max, -1, -1):
            before = max(s - upsilon[i], 0)
            for state in range(states - 1, 0, -1):  # in state 0, line 6 keeps V
                found = value[before, below[state]] + sigma2[i]
                if found > value[s, state]:
                    if fits[state]:
                        value[s, state] = found
                        taken[s, state, word] |= bit
                    else:
                        handed[s, state, word] |= bit
    x = np.zeros((s_max + 1, count), dtype=np.bool_)
    for first in range(s_max + 1):
        s, state = first, states - 1
        for i in range(count):
            if taken[s, state, i // 8] >> (i % 8) & 1:
                x[first, i] = True
                s = max(s - upsilon[i], 0)
                for k in range(capacity.shape[0]):
                    state -= demand[i, k] * radix[k]
            elif not handed[s, state, i // 8] >> (i % 8) & 1:
                break
    return x, value[:, states - 1].copy()


@njit(cache=True, error_model="numpy")
def dense_repaired(upsilon, sigma2, demand, capacity, s_max):  # type: ignore[no-untyped-def]
    """Solve P4(s) for all s with a dense table and the correct recursion.

    As in :func:`dense_printed` the table of i overwrites that of i + 1; what is kept besides is whether
    channel i + 1 was taken. Where it does not fit, it is worth minus infinity.
    """
    count, kinds = demand.shape
    radix, states = _radix(capacity)
    value = np.empty((s_max + 1, states), dtype=sigma2.dtype)
    value[:] = -np.inf
    value[0, :] = 0.0
    taken = np.zeros(((count + 7) // 8, s_max + 1, states), dtype=np.uint8)
    gain = np.empty(states, dtype=sigma2.dtype)
    for i in range(count - 1, -1, -1):
        offset = np.int64(0)
        for k in range(kinds):
            offset += demand[i, k] * radix[k]
        for state in range(states):
            gain[state] = sigma2[i]
            for k in range(kinds):
                if state // radix[k] % (capacity[k] + 1) < demand[i, k]:
                    gain[state] = -np.inf
        for s in range(s_max, -1, -1):
            before = max(s - upsilon[i], 0)
            source = value[before] if before < s else value[s].copy()
            bit, mark = np.uint8(1 << (i % 8)), taken[i // 8, s, offset:]
            _take_where_better(source, value[s, offset:], gain[offset:], mark, bit)
    x = np.zeros((s_max + 1, count), dtype=np.bool_)
    for first in range(s_max + 1):
        s, state = first, states - 1
        for i in range(count):
            if taken[i // 8, s, state] >> (i % 8) & 1:
                x[first, i] = True
                s = max(s - upsilon[i], 0)
                for k in range(kinds):
                    state -= demand[i, k] * radix[k]
    return x, value[:, states - 1].copy()


@njit(cache=True, error_model="numpy")
def _take_where_better(source, target, gain, mark, bit):  # type: ignore[no-untyped-def]
    """Write source + gain over target where it is larger, and set a bit of mark there."""
    for j in range(len(target)):
        found = source[j] + gain[j]
        better = found > target[j]
        target[j] = found if better else target[j]
        mark[j] |= bit if better else np.uint8(0)
