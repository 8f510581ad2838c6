"""The data of the simulator: constant tables, changing states, and the positions of their entries.

Nothing here is compiled, so that settings and policies can be listed without loading a compiler.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SCALE = 1_000_000
THOUSAND = 1000  # intensities are in thousandths

NOW, ARRIVED, RUNNING, ROWS, PENDING, DONE, WAITED, USED, IN_USE = range(9)
"""Places in :attr:`State.clock`; see there."""


class Table(NamedTuple):
    """The constant data of a simulation; every array is read-only, whole numbers."""

    capacity: np.ndarray  # what each machine has of GPUs, CPUs and memory, shape (M, 3)
    submit: np.ndarray  # when each job is submitted, in ticks, ascending, shape (n,)
    instances: np.ndarray  # C_i, shape (n,)
    need: np.ndarray  # what each instance takes, shape (n, 3)
    # Ticks that the job takes on K machines without contention, shape (n, K + 1); -1 where it cannot run.
    duration: np.ndarray
    intensity: np.ndarray  # beta_i in thousandths, shape (n,)


class State(NamedTuple):
    """The variable data of a simulation; whole numbers."""

    # Nine numbers: NOW, the tick; ARRIVED, how many jobs have arrived; RUNNING and PENDING, how many jobs run
    # and wait; ROWS, how many of ``rows`` are used; DONE, how many jobs are done; WAITED, the sum over all
    # ticks so far of the jobs in the system; USED, that of the GPUs in use; IN_USE, those in use now.
    clock: np.ndarray
    free: np.ndarray  # what is free on each machine, shape (M, 3)
    load: np.ndarray  # GPUs in use on each machine, each times the intensity of its job, shape (M,)
    # start, finish: when each job starts and ends, in ticks, -1 if not known yet; the end of a running job is
    # what it would be if nothing changed any more; shape (n,).
    start: np.ndarray
    finish: np.ndarray
    # work, speed, settled: work left at tick ``settled`` and how much is done in a tick from there on, shape
    # (n,).
    work: np.ndarray
    speed: np.ndarray
    settled: np.ndarray
    # first, spans: where the rows of each job begin in ``rows``, and how many machines it spans, shape (n,).
    first: np.ndarray
    spans: np.ndarray
    rows: np.ndarray  # machine and number of instances, shape (R, 2)
    running: np.ndarray  # the running jobs in the order in which they started, shape (n,)
    # The waiting jobs in the order of their submission, which end at place ARRIVED, shape (n,).
    pending: np.ndarray
    ended: np.ndarray  # the jobs that are done, in the order in which they ended, shape (n,)


FIRST_FIT, LOAD_BALANCE, CONSOLIDATE = range(3)
"""Rules of :func:`.kernels.machine_order`."""
