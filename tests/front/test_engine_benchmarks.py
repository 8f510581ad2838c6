"""The benchmarks of the engine on a small scale: every row is measured, and no cell fails."""

from collections.abc import Callable
from typing import Any

import pytest

from clairvoyant.analysis.engine.processes import Processes


def test_every_row_of_the_engine_is_measured(benchmark: Callable[..., Any]) -> None:
    b = benchmark("engine", CELLS=20, WORKERS=1, SCALE=(1,), PER_WORKER=2, WAIT=0.01, HASHES=10)
    rows = list(b.measure(full=False))
    assert len(rows) == 11
    assert all(row.ours >= 0 for row in rows)
    assert {row.rival for row in rows} == {"", "ProcessPoolExecutor", "Client.map"}


def test_a_cell_that_fails_is_not_measured(benchmark: Callable[..., Any]) -> None:
    b = benchmark("engine")
    with Processes(1) as processes, pytest.raises(AssertionError):
        b.run(processes, b.cells(b.measure, 1))
