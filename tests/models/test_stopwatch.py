"""The clock stands while libraries load and kernels compile: no limit and no ``seconds`` counts that."""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

import clairvoyant as cv
from clairvoyant.models import compiled, stopwatch
from clairvoyant.online.base import Traits
from clairvoyant.oracles.base import Budget

HOUR = 3600.0


@contextmanager
def by_hand() -> Iterator[SimpleNamespace]:
    """Let the clock of the package go by what is added to ``seconds``, and by nothing else."""
    hand = SimpleNamespace(seconds=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stopwatch, "time", SimpleNamespace(perf_counter=lambda: hand.seconds))
        patch.setattr(stopwatch, "_stood", 0.0)
        patch.setattr(stopwatch, "_depth", {})
        yield hand


@pytest.fixture
def clock() -> Iterator[SimpleNamespace]:
    with by_hand() as hand:
        yield hand


def test_a_budget_does_not_count_what_numba_takes(clock: SimpleNamespace) -> None:
    budget = Budget(0.0, 5.0)
    clock.seconds += 1.0
    with global_compiler_lock:
        clock.seconds += HOUR
        with global_compiler_lock:  # one kernel compiles another
            clock.seconds += HOUR
        clock.seconds += HOUR
    assert (budget.seconds, budget.left, budget.over) == (1.0, 4.0, False)
    clock.seconds += 4.0
    assert (budget.seconds, budget.left, budget.over) == (5.0, 0.0, True)


def test_a_compilation_takes_no_time(clock: SimpleNamespace) -> None:
    class Slow(event.Listener):
        compiled = 0

        def on_start(self, event: Any) -> None:
            self.compiled += 1
            clock.seconds += HOUR

        def on_end(self, event: Any) -> None:
            clock.seconds += HOUR

    budget, slow = Budget(0.0, 5.0), Slow()
    inner = numba.njit(lambda x: x + 1)
    with event.install_listener("numba:compile", slow):
        assert numba.njit(lambda x: inner(x) + 1)(1) == 3
    assert slow.compiled == 2
    assert budget.seconds == 0.0


def test_the_seconds_of_a_run_do_not_count_loading_and_compiling(
    clock: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "the_clock", clock)
    (tmp_path / "heavy_library.py").write_text("import the_clock\nthe_clock.seconds += 3600\n")

    class Policy:
        name, traits = "heavy", Traits(problem="allocation")

        def start(self, setting: Any, rng: np.random.Generator) -> None:
            self.decision = np.zeros(setting.shape)
            stopwatch.library("heavy_library")

        def decide(self, observation: Any) -> np.ndarray:
            with global_compiler_lock:
                clock.seconds += HOUR
            clock.seconds += 1.0
            return self.decision

    try:
        run = cv.play(Policy(), cv.generate("allocation", size="tiny"))
    finally:
        sys.modules.pop("heavy_library", None)
    assert clock.seconds > HOUR
    assert run.seconds == len(run.rewards)


def test_the_clock_stands_until_the_last_thread_goes_on(clock: SimpleNamespace) -> None:
    inside, leave = threading.Event(), threading.Event()

    def compile_apart() -> None:
        with global_compiler_lock:
            inside.set()
            leave.wait()

    thread = threading.Thread(target=compile_apart)
    with stopwatch.stopped():
        thread.start()
        inside.wait()
        clock.seconds += HOUR
    clock.seconds += HOUR
    assert stopwatch.now() == 0.0
    leave.set()
    thread.join()
    clock.seconds += 1.0
    assert stopwatch.now() == 1.0


def test_a_stop_that_an_interrupt_left_open_ends_when_its_thread_asks_for_the_time(
    clock: SimpleNamespace,
) -> None:
    stopwatch.pause()
    stopwatch.pause()
    clock.seconds += HOUR
    assert stopwatch.now() == 0.0
    clock.seconds += 1.0
    assert stopwatch.now() == 1.0
    stopwatch.resume()  # an end without its beginning changes nothing
    clock.seconds += 1.0
    assert stopwatch.now() == 2.0


@given(st.lists(st.sampled_from(["begin", "end", "wait"]), max_size=30))
def test_only_what_is_outside_of_all_stops_counts(steps: list[str]) -> None:
    deep = outside = 0
    with by_hand() as clock:
        for step in steps:
            if step == "wait":
                clock.seconds += 1.0
                outside += not deep
            elif step == "begin":
                stopwatch.pause()
                deep += 1
            elif deep:
                stopwatch.resume()
                deep -= 1
        assert stopwatch.now() == outside


def test_compilation_is_told_once_and_can_be_silenced(caplog: pytest.LogCaptureFixture) -> None:
    for level, told in ((logging.ERROR, []), (logging.WARNING, [compiled.MESSAGE])):
        listener = compiled._Announce()
        with caplog.at_level(level, "clairvoyant"), event.install_listener("numba:compile", listener):
            for number in (1, 2):
                with event.trigger_event("numba:compile", data={"nth": number}):
                    pass
        own = compiled._Announce.announced
        assert own is False  # of the class: each process has one listener that remembers
        assert [r.getMessage() for r in caplog.records if r.name == "clairvoyant"][-1:] == told


def test_kernels_of_other_options_are_not_taken_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(compiled, "KERNELS", [])
    (tmp_path / "optional_kernel.py").write_text(
        "import os\nfrom clairvoyant.models.compiled import njit\n"
        "@njit(cache=True, error_model=os.environ['MODEL'])\ndef inverse(x):\n    return 1.0 / x\n"
    )
    found = []
    for model in ("numpy", "python", "python"):
        monkeypatch.setenv("MODEL", model)
        monkeypatch.delitem(sys.modules, "optional_kernel", raising=False)
        kernel = importlib.import_module("optional_kernel").inverse
        kernel(2.0)
        found.append((kernel.targetoptions["nogil"], sum(kernel.stats.cache_hits.values())))
    assert found == [(True, 0), (True, 0), (True, 1)]
    with pytest.raises(ZeroDivisionError):
        kernel(0.0)


def test_a_cache_that_names_a_class_of_an_older_version_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = """
from typing import NamedTuple
from clairvoyant.models.compiled import njit
class Old(NamedTuple):
    x: int
@njit(cache=True)
def twice(pair):
    return 2 * pair.x
"""
    for name in ("Old", "Renamed"):
        (tmp_path / "renamed_kernel.py").write_text(source.replace("Old", name))
        monkeypatch.delitem(sys.modules, "renamed_kernel", raising=False)
        importlib.invalidate_caches()
        module = importlib.import_module("renamed_kernel")
        monkeypatch.setattr(compiled, "KERNELS", [])
        assert module.twice(getattr(module, name)(4)) == 8
    assert list((tmp_path / "__pycache__").glob("*.nbi"))


def test_what_the_first_call_of_a_kernel_would_load_is_there_when_kernels_are_declared() -> None:
    code = (
        "import sys, clairvoyant.models.compiled\n"
        "from numba.core import entrypoints\n"
        "assert entrypoints._already_initialized and 'numpy.ma' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=300)
