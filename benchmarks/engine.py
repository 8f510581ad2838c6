"""Time that the engine takes per cell, on processes and on Dask, and how it grows with the workers."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from clairvoyant.analysis.engine.cells import Answer, Cell, State
from clairvoyant.analysis.engine.engine import Executor
from clairvoyant.analysis.engine.processes import Processes
from clairvoyant.analysis.engine.store import open_store

from .measure import Row, timed

CELLS = 2000
"""How many cells without work show what is spent on each."""

WORKERS = 2
SCALE = (1, 2, 4, 8, 16)
PER_WORKER = 12
WAIT = 0.25
"""Seconds that a cell waits which needs no core."""

HASHES = 200_000
"""How much a cell computes which needs one: a tenth of a second or so."""


def nothing(_arguments: Any, _report: Any = None) -> int:
    """Do no work."""
    return 0


def waits(_arguments: Any, _report: Any = None) -> int:
    """Wait, and leave the core to others."""
    time.sleep(WAIT)
    return 0


def computes(_arguments: Any, _report: Any = None) -> str:
    """Keep a core busy."""
    value = b""
    for _ in range(HASHES):
        value = hashlib.sha256(value).digest()
    return value.hex()


def cells(work: Callable[..., Any], count: int) -> list[Cell]:
    """Return so many cells."""
    function = f"{__name__}:{work.__name__}"
    return [Cell(f"{work.__name__}-{i}", f"{work.__name__} {i}", function, {}) for i in range(count)]


def run(executor: Executor, wanted: Sequence[Cell]) -> None:
    """Run cells, all of which have to succeed."""
    found = [answer.state for ended in executor.run(wanted) for _, answer in ended]
    assert found == [State.DONE] * len(wanted)


def measure(full: bool) -> Iterator[Row]:
    """Yield all measurements."""
    yield from on_processes(CELLS * (5 if full else 1))
    yield from in_the_store(CELLS * (5 if full else 1))
    yield from on_dask(CELLS * (5 if full else 1))
    for workers in SCALE:
        yield from scaled(workers)


def on_processes(count: int) -> Iterator[Row]:
    """Compare the time per cell on processes with that of a pool; all processes have begun before."""
    with Processes(WORKERS) as processes:
        run(processes, cells(nothing, 10 * WORKERS))
        ours = timed(lambda: run(processes, cells(nothing, count)))
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        list(pool.map(nothing, range(10 * WORKERS)))
        theirs = timed(lambda: list(pool.map(nothing, range(count))))
    what = f"a cell without work, {WORKERS} processes"
    yield Row(what, 1e3 * ours / count, 5.0, "ProcessPoolExecutor", 1e3 * theirs / count, "ms")


def in_the_store(count: int) -> Iterator[Row]:
    """Measure how long it takes to keep an answer, one by one and in batches."""
    answers = [(cell, Answer(State.DONE, {"total": 1.0})) for cell in cells(nothing, count)]
    for batch in (1, 100):
        with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "store.sqlite")) as store:
            begin = time.perf_counter()
            for first in range(0, count, batch):
                store.add(answers[first : first + batch])
            spent = time.perf_counter() - begin
        yield Row(f"an answer kept in the store, {batch} at a time", 1e3 * spent / count, unit="ms")


def on_dask(count: int) -> Iterator[Row]:
    """Compare the time per cell on Dask with that of a task of Dask; and say who is busy for how long."""
    import psutil
    from distributed import Client

    from clairvoyant.analysis.engine.cluster import Cluster

    with Cluster.local(WORKERS) as cluster, Client(cluster.address, set_as_default=False) as client:
        run(cluster, cells(nothing, 10 * WORKERS))
        (scheduler,) = (
            one
            for one in psutil.Process().children()
            if "clairvoyant.analysis.engine.cluster" in str(one.cmdline())
        )
        workers = [psutil.Process(pid) for pid in client.run(_pid).values()]
        busy = {"driver": [psutil.Process()], "scheduler": [scheduler], "Dask workers": workers}
        before = {name: _busy(processes) for name, processes in busy.items()}
        ours = timed(lambda: run(cluster, cells(nothing, count)))
        after = {name: _busy(processes) for name, processes in busy.items()}
        client.gather(client.map(nothing, range(10 * WORKERS)))
        theirs = timed(lambda: client.gather(client.map(nothing, range(100, 100 + count))))
    what = f"a cell without work, {WORKERS} workers of Dask"
    yield Row(what, 1e3 * ours / count, 20.0, "Client.map", 1e3 * theirs / count, "ms")
    for name in busy:
        spent = 1e3 * (after[name] - before[name]) / count
        yield Row(f"    a core is busy with it: {name}", spent, unit="ms")


def _pid() -> int:
    import os

    return os.getpid()


def _busy(processes: Sequence[Any]) -> float:
    """Return for how many seconds these processes have kept a core busy."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def scaled(workers: int) -> Iterator[Row]:
    """Compare how long cells take on so many workers, here and on Dask, with how long they take on rivals."""
    from distributed import Client

    from clairvoyant.analysis.engine.cluster import Cluster

    with Processes(workers) as processes, ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield from _side_by_side(processes, "ProcessPoolExecutor", lambda *job: list(pool.map(*job)), workers)
    with Cluster.local(workers) as cluster, Client(cluster.address, set_as_default=False) as client:

        def mapped(*job: Any) -> None:
            client.gather(client.map(*job, pure=False))

        yield from _side_by_side(cluster, "Client.map", mapped, workers)


def _side_by_side(executor: Executor, rival: str, mapped: Callable[..., Any], workers: int) -> Iterator[Row]:
    """Compare an executor with a rival, all of whose processes have begun before."""
    kind = type(executor).__name__
    for work, count in ((waits, PER_WORKER * workers), (computes, PER_WORKER)):
        run(executor, cells(waits, workers))
        mapped(waits, range(workers))
        begun = time.perf_counter()
        run(executor, cells(work, count))
        between = time.perf_counter()
        mapped(work, range(count))
        theirs = time.perf_counter() - between
        target = 1.2 * WAIT * PER_WORKER if work is waits else None
        what = f"{count} cells, each {work.__name__}: {kind}, {workers} workers"
        yield Row(what, between - begun, target, rival, theirs)
