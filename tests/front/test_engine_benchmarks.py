"""The benchmarks of the engine on a small scale: every row is measured, and no cell fails."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import pytest

from clairvoyant.analysis.engine.cluster import Cluster
from clairvoyant.analysis.engine.processes import Processes


@pytest.mark.slow
def test_every_row_of_the_engine_is_measured(
    benchmark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    small: dict[str, Any] = {"CELLS": 20, "WORKERS": 1, "SCALE": (1,), "PER_WORKER": 2}
    b = benchmark("engine", **small, WAIT=0.01, HASHES=10)
    # Both take long to start: one cluster serves all rows, and threads are the processes of the rival.
    monkeypatch.setattr(b, "ProcessPoolExecutor", lambda workers, _context: ThreadPoolExecutor(workers))
    with Cluster.local(1) as cluster:
        monkeypatch.setattr(Cluster, "local", lambda _workers: nullcontext(cluster))
        rows = list(b.measure(full=False))
    assert len(rows) == 11
    assert all(row.ours >= 0 for row in rows)
    assert {row.rival for row in rows} == {"", "ProcessPoolExecutor", "Client.map"}


def test_a_cell_that_fails_is_not_measured(benchmark: Callable[..., Any]) -> None:
    b = benchmark("engine")
    with Processes(1) as processes, pytest.raises(AssertionError):
        b.run(processes, b.cells(b.measure, 1))
