"""The inner loops of the baselines; amounts are whole multiples of 1e-6."""

from __future__ import annotations

import numpy as np

from ...models.admission.kernels import room as most_of
from ...models.compiled import njit


@njit(cache=True)
def fits(free: np.ndarray, need: np.ndarray) -> bool:
    """Return whether a worker or parameter server fits on a machine with so much free, both of shape (R,)."""
    for r in range(len(need)):  # noqa: SIM110 - numba compiles no all()
        if need[r] > free[r]:
            return False
    return True


@njit(cache=True)
def next_machine(free: np.ndarray, need: np.ndarray, last: int) -> int:
    """Return the next machine after ``last``, in a circle, on which one fits; -1 if there is none."""
    for step in range(1, len(free) + 1):
        machine = (last + step) % len(free)
        if fits(free[machine], need):
            return machine
    return -1


@njit(cache=True)
def spread(free: np.ndarray, need: np.ndarray, count: int, last: int) -> tuple[np.ndarray, int]:
    """Put so many workers or parameter servers one after the other on the next machine with room.

    Placed workers are subtracted from ``free``, also if not all fit. ``last`` is the machine used last; -1
    begins with the first. Returned are how many are on each machine, all of them, if all fit, and the machine
    used last.
    """
    placed = np.zeros(len(free), dtype=np.int64)
    for _ in range(count):
        machine = next_machine(free, need, last)
        if machine < 0:
            break
        free[machine] -= need
        placed[machine] += 1
        last = machine
    return placed, last


@njit(cache=True)
def progressive_filling(
    free_workers: np.ndarray,
    free_servers: np.ndarray,
    worker_needs: np.ndarray,
    server_needs: np.ndarray,
    shares: np.ndarray,
    servers_for: np.ndarray,
    starts: np.ndarray,
    has: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Give one worker after the other to the job with the smallest share whose next one fits.

    What is free on each machine, shapes (H, R) and (K, R), is changed in place. ``shares`` and
    ``servers_for`` are for job i with y workers the share that counts, such as its dominant share, and the
    number of parameter servers, at starts[i] + y; a job gets no more workers than it has entries for. ``has``
    are the workers that each has already, with their parameter servers, shape (I,). Returned is how many more
    of each job are on each machine, shapes (I, H) and (I, K).
    """
    count = len(worker_needs)
    workers = np.zeros((count, len(free_workers)), dtype=np.int64)
    servers = np.zeros((count, len(free_servers)), dtype=np.int64)
    at = starts[:-1] + has
    last_worker, last_server = -1, -1
    growing = np.ones(count, dtype=np.bool_)
    while True:
        i = -1
        for j in range(count):
            if growing[j] and (i < 0 or shares[at[j]] < shares[at[i]]):
                i = j
        if i < 0:
            return workers, servers
        if at[i] + 1 == starts[i + 1]:
            growing[i] = False
            continue
        worker = next_machine(free_workers, worker_needs[i], last_worker)
        more = servers_for[at[i] + 1] > servers_for[at[i]]
        server = next_machine(free_servers, server_needs[i], last_server) if more else 0
        if worker < 0 or server < 0:
            growing[i] = False
            continue
        at[i] += 1
        free_workers[worker] -= worker_needs[i]
        workers[i, worker] += 1
        last_worker = worker
        if more:
            free_servers[server] -= server_needs[i]
            servers[i, server] += 1
            last_server = server


@njit(cache=True)
def minimum_share(
    free_workers: np.ndarray,
    free_servers: np.ndarray,
    worker_need: np.ndarray,
    server_need: np.ndarray,
    servers_for: np.ndarray,
    work: int,
) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the fewest workers at a time with which a job is done, and where they are in each slot.

    What is free in each slot that counts, shapes (S, H, R) and (S, K, R), is changed in place if the job can
    be done, otherwise 0 is returned. In each slot run as many workers as that or, if fewer fit, as fit, with
    their parameter servers, until ``work`` worker-slots are done; both on the machines by index. A job has at
    most as many workers as there are ``servers_for``, less one. The shapes of the others are (S, H) and
    (S, K).
    """
    slots, most = len(free_workers), len(servers_for) - 1
    workers = np.zeros((slots, free_workers.shape[1]), dtype=np.int64)
    servers = np.zeros((slots, free_servers.shape[1]), dtype=np.int64)
    room = np.zeros(slots, dtype=np.int64)
    for t in range(slots):
        room[t] = min(most, most_of(free_workers[t], worker_need, most).sum())
        if room[t] > 0:
            # no more than servers_for[y] of these are used, so that counting stops there
            count = most_of(free_servers[t], server_need, servers_for[room[t]]).sum()
            while servers_for[room[t]] > count:
                room[t] -= 1
    share, done = 0, 0
    while done < work and share < most:
        more = (room > share).sum()
        if more == 0:
            break
        share, done = share + 1, done + more
    if done < work:
        return 0, workers, servers
    left = work
    for t in range(slots):
        now = min(share, room[t], left)
        left -= now
        _by_index(free_workers[t], worker_need, now, workers[t])
        _by_index(free_servers[t], server_need, servers_for[now], servers[t])
    return share, workers, servers


@njit(cache=True)
def _by_index(free: np.ndarray, need: np.ndarray, count: int, placed: np.ndarray) -> None:
    """Put so many on the machines by index, and take what they need from what is free."""
    rooms = most_of(free, need, count)
    for h in range(len(free)):
        placed[h] = min(rooms[h], count)
        count -= placed[h]
        free[h] -= placed[h] * need
