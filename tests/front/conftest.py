"""What tests of the benchmarks share."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return what loads the benchmarks of a problem, with constants changed so that they are small."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])

    def load(name: str, **constants: Any) -> Any:
        module = import_module(f"benchmarks.{name}")
        for constant, value in constants.items():
            monkeypatch.setattr(module, constant, value)
        return module

    return load
