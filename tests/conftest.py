"""What holds for all tests: Hypothesis draws the same examples on every run and machine, however slow.

`HYPOTHESIS_PROFILE=fuzz` draws fresh ones, and prints with a failure how to reproduce it. Unless `CI` is set,
the first half of a test's examples is all that is drawn.
"""

import gc
import io
import os
import signal
from collections.abc import Generator, Iterable
from typing import Any, ClassVar

import pytest
from _pytest.unraisableexception import gc_collect_iterations_key
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from clairvoyant.analysis.engine.cells import Answer, Cell, State
from clairvoyant.oracles.base import Budget

settings.register_profile(
    "suite", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, print_blob=True
)
settings.register_profile("fuzz", settings.get_profile("suite"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))
HALF = settings().derandomize and not os.environ.get("CI")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for what a shell begins in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hypothesis also draws numbers that stand in the source of the modules that are loaded: what it draws hangs
# on the tests that ran before in the same process, and on the folder's name ("tests" is passed over).
_of_the_source = providers._get_local_constants


def _numbers_of_the_source() -> Constants:
    return Constants() if settings().derandomize else _of_the_source()


providers._get_local_constants = _numbers_of_the_source


def pytest_configure(config: pytest.Config) -> None:
    """Look for garbage once at the end, not five times as other Pythons need it."""
    config.stash[gc_collect_iterations_key] = 1


def pytest_itemcollected(item: pytest.Item) -> None:
    """Draw half as many examples where a first look is enough: Hypothesis cannot scale `max_examples`."""
    test: Any = getattr(item, "function", None)
    own = getattr(test, "_hypothesis_internal_use_settings", None)
    if HALF and own is not None and test not in _halved:
        _halved.add(test)
        test._hypothesis_internal_use_settings = settings(own, max_examples=(own.max_examples + 1) // 2)


_halved: set[Any] = set()


def pytest_collection_finish() -> None:
    """Let no collection of garbage look again at what all tests share: modules, and the tests
    themselves. What becomes garbage is mostly freed without a collection."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _store(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what tests compare in a store of their own, which no other process writes."""
    os.environ["CLAIRVOYANT_STORE"] = str(tmp_path_factory.mktemp("store") / "store.sqlite")


@pytest.fixture
def small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lump the tables of channels that take more than 2 MB, where 64 MB are usual: the same code, sooner."""
    monkeypatch.setattr("clairvoyant.models.selection.knapsack.TABLE_BYTES", 2**21)


@pytest.fixture
def ticking() -> type[Budget]:
    """Return budgets whose clock moves on by 0.001 s when it is looked at, and not by itself."""

    class Ticking(Budget):
        now = 0.0

        def __init__(self, gap: float, time_limit: float | None) -> None:
            super().__init__(gap, time_limit)
            self._begun = Ticking.now

        @property
        def seconds(self) -> float:
            Ticking.now += 0.001
            return Ticking.now - self._begun

    return Ticking


@pytest.fixture
def here() -> type[Any]:
    """Return what runs cells as processes do, but in this one; ``ran`` has the names of those that it ran."""
    from clairvoyant.analysis.engine import processes, worker

    class Here(processes.Processes):
        ran: ClassVar[list[str]] = []

        def run(self, cells: Iterable[Cell]) -> Generator[list[tuple[Cell, Answer]], None, None]:
            for cell in cells:
                self.ran.append(cell.name)
                said = worker.answer({"function": cell.function, "arguments": cell.arguments}, io.BytesIO())
                state = State.FAILED if "error" in said else State.DONE
                yield [(cell, Answer(state, said.get("result"), said.get("error", ""), said["seconds"]))]

    return Here


@pytest.fixture
def compared_here(monkeypatch: pytest.MonkeyPatch, here: type[Any]) -> list[str]:
    """Let comparisons be computed in this process, and return the names of what was."""
    monkeypatch.setattr("clairvoyant.comparing.Processes", here)
    ran: list[str] = here.ran
    return ran
