"""Compiled kernels of the staircases of P4(s); see :mod:`.p4`."""

from __future__ import annotations

import numpy as np

from ...models.compiled import njit


@njit(cache=True, error_model="numpy")
def sweep(  # type: ignore[no-untyped-def]
    demand, stride, capacity, step, reach, gain, channel, base, base_reach, base_gain, most
):
    """Return the corners of the staircase of all sets, and how far memory lasted.

    A layer holds the vectors of used devices in ascending order of their index; state j has the corners
    ``start[j]:start[j + 1]``, Upsilon falling and Sigma2 rising. Adding a channel merges the layer with
    itself shifted by the channel's demand. Stops if a layer might have more than ``most`` corners.

    ``demand`` (n, K), not all 0, is what each channel takes, and ``step`` the same as the index of a vector;
    ``stride`` is that of the index. ``reach`` and ``gain`` are Upsilon and Sigma2 of each channel, and
    ``channel`` the bit that stands for it. ``base`` is the set that all others contain, ``base_reach`` and
    ``base_gain`` its Upsilon.x and Sigma2.x. Returned are Upsilon.x (falling), Sigma2.x and sets of the
    corners, the most corners of a layer, and the channels done.
    """
    words = base.shape[0]
    states = np.zeros(1, dtype=np.int64)
    start = np.array([0, 1], dtype=np.int64)
    level = np.full(1, base_reach, dtype=np.int64)
    value = np.full(1, base_gain, dtype=np.int64)
    sets = np.zeros((1, words), dtype=np.uint64)
    sets[0] = base
    peak = 1
    done = 0
    for i in range(step.shape[0]):
        if 2 * level.shape[0] > most:
            break
        word, bit = channel[i] // 64, np.uint64(1) << np.uint64(channel[i] % 64)
        states, start, level, value, sets = add_channel(
            states,
            start,
            level,
            value,
            sets,
            demand[i],
            stride,
            capacity,
            step[i],
            reach[i],
            gain[i],
            word,
            bit,
        )
        peak = max(peak, level.shape[0])
        done += 1
    corners = merge_all(start, level, value)
    return level[corners], value[corners], sets[corners], peak, done


@njit(cache=True, error_model="numpy")
def add_channel(  # type: ignore[no-untyped-def]
    states, start, level, value, sets, demand, stride, capacity, step, reach, gain, word, bit
):
    """Return the layer merged with itself shifted by one channel; see :func:`sweep`."""
    n, points, words = states.shape[0], level.shape[0], sets.shape[1]
    new_states = np.empty(2 * n, dtype=np.int64)
    new_start = np.empty(2 * n + 1, dtype=np.int64)
    new_level = np.empty(2 * points, dtype=np.int64)
    new_value = np.empty(2 * points, dtype=np.int64)
    new_sets = np.empty((2 * points, words), dtype=np.uint64)
    kept, end = 0, 0
    p = 0
    q = next_fitting(states, 0, demand, stride, capacity)
    while p < n or q < n:
        plain = p < n and (q >= n or states[p] <= states[q] + step)
        shifted = q < n and (p >= n or states[q] + step <= states[p])
        new_states[kept] = states[p] if plain else states[q] + step
        new_start[kept] = end
        a, a_end = (start[p], start[p + 1]) if plain else (0, 0)
        b, b_end = (start[q], start[q + 1]) if shifted else (0, 0)
        last = np.int64(-1)
        while a < a_end or b < b_end:
            take_shifted = a >= a_end
            if not take_shifted and b < b_end:
                lead = level[b] + reach - level[a]
                take_shifted = lead > 0 or (lead == 0 and value[b] + gain > value[a])
            if take_shifted:
                if value[b] + gain > last:
                    last = value[b] + gain
                    new_level[end] = level[b] + reach
                    new_value[end] = last
                    for w in range(words):
                        new_sets[end, w] = sets[b, w]
                    new_sets[end, word] |= bit
                    end += 1
                b += 1
            else:
                if value[a] > last:
                    last = value[a]
                    new_level[end] = level[a]
                    new_value[end] = last
                    for w in range(words):
                        new_sets[end, w] = sets[a, w]
                    end += 1
                a += 1
        kept += 1
        p += plain
        if shifted:
            q = next_fitting(states, q + 1, demand, stride, capacity)
    new_start[kept] = end
    return (new_states[:kept], new_start[: kept + 1], new_level[:end], new_value[:end], new_sets[:end])


@njit(cache=True, error_model="numpy")
def next_fitting(states, q, demand, stride, capacity):  # type: ignore[no-untyped-def]
    """Return the first state from ``q`` on that leaves room for a demand."""
    while q < states.shape[0]:
        fits = True
        for k in range(capacity.shape[0]):
            used = (states[q] // stride[k]) % (capacity[k] + 1)
            if used + demand[k] > capacity[k]:
                fits = False
        if fits:
            return q
        q += 1
    return q


@njit(cache=True, error_model="numpy")
def merge_all(start, level, value):  # type: ignore[no-untyped-def]
    """Return the indices of the corners of the staircase of all states of a layer together."""
    front = np.empty(0, dtype=np.int64)
    for j in range(start.shape[0] - 1):
        merged = np.empty(front.shape[0] + start[j + 1] - start[j], dtype=np.int64)
        a, b, end = 0, start[j], 0
        last = np.int64(-1)
        while a < front.shape[0] or b < start[j + 1]:
            take = b >= start[j + 1]
            if not take and a < front.shape[0]:
                lead = level[front[a]] - level[b]
                take = lead > 0 or (lead == 0 and value[front[a]] >= value[b])
            if take:
                point = front[a]
                a += 1
            else:
                point = b
                b += 1
            if value[point] > last:
                last = value[point]
                merged[end] = point
                end += 1
        front = merged[:end]
    return front
