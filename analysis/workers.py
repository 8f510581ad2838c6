"""Processes that work side by side: each on one thread, deaf to Ctrl-C, gone when the main process is."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

TICK = 0.2
"""Seconds between two looks at how far they are."""


@contextmanager
def side_by_side(count: int, initialise: Callable[..., None], *shared: Any) -> Iterator[ProcessPoolExecutor]:
    """Offer processes that first call ``initialise(*shared)``; an exception in the block ends them."""
    spawn = multiprocessing.get_context("spawn")  # safe with the threads of numba and OpenMP
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, spawn, _begin_worker, (initialise, shared))
    try:
        with _as_workers():
            for _ in range(count):
                pool.submit(os.getpid)  # starts a process
        yield pool
    except BaseException:  # Ctrl-C too; it is raised again
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker(initialise: Callable[..., None], shared: tuple[Any, ...]) -> None:
    """Leave Ctrl-C to the main process, and end when it ends, however that happens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    if "fork" in multiprocessing.get_all_start_methods():
        # Nothing forks here. But locks that libraries make on import (Pyomo does) then have no name in the
        # system, which would outlive a worker that is ended early.
        multiprocessing.set_start_method("fork", force=True)
    initialise(*shared)


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


@contextmanager
def _as_workers() -> Iterator[None]:
    """Let processes started meanwhile use one thread each: sums keep their order.

    They inherit that Ctrl-C is kept off, too: it would strike while they still load their libraries.
    """
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # raises now if there was a Ctrl-C
