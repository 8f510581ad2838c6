"""How kernels are declared: numba loads and compiles them while the clock is stopped, and says so.

The first compilation in a process is announced once, by a warning of the logger "clairvoyant": without any
set-up of :mod:`logging` that is a line on standard error, and
``logging.getLogger("clairvoyant").setLevel(logging.ERROR)`` silences it. Kernels in numba's cache are only
loaded, and nothing is announced.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from . import stopwatch

with stopwatch.stopped():
    # Numba loads it wherever it is installed, though nobody measures: that takes a sixth of the time.
    idle = sys.modules.setdefault("coverage", None) is None  # type: ignore[arg-type]
    import numba
    import numpy as np
    from numba.core import entrypoints, event
    from numba.core.dispatcher import Dispatcher

    if idle:
        del sys.modules["coverage"]
    # What the first call of a kernel would do by itself, while the clock goes.
    entrypoints.init_all()  # type: ignore[no-untyped-call]
    numba.typeof(np.empty(0))  # type: ignore[no-untyped-call]  # NumPy loads masked arrays for it

__all__ = ["KERNELS", "njit"]

CONSTANTS = (bool, int, float, complex, str, tuple, np.generic)
"""What is compiled into a kernel as it is when it is compiled."""

KERNELS: list[Any] = []
"""All kernels of the modules that are loaded."""

MESSAGE = "compiling kernels, once per machine: some seconds ... (`clairvoyant warmup` compiles all of them)"


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a kernel, with the options of numba's decorator of this name; other threads run meanwhile."""

    def declare(function: Callable[..., Any]) -> Any:
        with stopwatch.stopped():
            kernel = numba.njit(nogil=True, **options)(function)
            _forget_what_is_not_ours(kernel)
        KERNELS.append(kernel)
        return kernel

    return declare


def _forget_what_is_not_ours(kernel: Any) -> None:
    """Compile anew what numba's cache holds of other options, or of other sources of what is called.

    By itself numba looks at the file of a kernel alone, takes what else it holds for what is asked for, and
    raises an error for what names classes of an older version.
    """
    file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)  # there is none without a cache
    if file is None:
        return
    load = file._load_index
    known: list[Any] = []

    def load_index() -> Any:
        if not known:  # the first time, when all that the kernel calls has been declared
            files, constants = _sources(kernel.py_func)
            known.extend([[_stamp(path) for path in sorted(files)], sorted(constants)])
            file._source_stamp = (file._source_stamp, known, sorted(kernel.targetoptions.items()))
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    file._load_index = load_index


def _sources(function: Any) -> tuple[set[str], set[tuple[str, str]]]:
    """Return the files of all kernels and tuples that a kernel may use, and all constants in them."""
    files, constants, found = set[str](), set[tuple[str, str]](), [function]
    for one in found:
        files.add(one.__code__.co_filename)
        for name, value in _named(one):
            if isinstance(value, Dispatcher) and value.py_func not in found:
                found.append(value.py_func)
            elif isinstance(value, type) and issubclass(value, tuple):
                files.add(str(sys.modules[value.__module__].__file__))
            elif isinstance(value, CONSTANTS):
                constants.add((name, repr(value)))
    return files, constants


def _named(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what the names in a function stand for: globals, and attributes of the modules among them."""
    names, there = function.__code__.co_names, function.__globals__
    yield from ((name, there[name]) for name in names if name in there)
    modules = [there[name] for name in names if isinstance(there.get(name), ModuleType)]
    yield from ((name, getattr(one, name)) for one in modules for name in names if hasattr(one, name))


@lru_cache(None)
def _stamp(path: str) -> tuple[float, int]:
    """Return the time and the size of a file."""
    found = Path(path).stat()
    return found.st_mtime, found.st_size


class _StopTheClock(event.Listener):
    """Stops the clock while numba loads or compiles, and while it waits for another thread that does."""

    def on_start(self, event: Any) -> None:
        stopwatch.pause()
        if "numba.np.arraymath" not in sys.modules:
            _load_arrays()

    def on_end(self, event: Any) -> None:
        stopwatch.resume()


def _load_arrays() -> None:
    """Let numba load what it knows of arrays without SciPy's linear algebra, which takes a fifth of a second.

    It would only look whether that is there. A kernel that multiplies matrices loads it later.
    """
    linalg = stopwatch.library("numba.np.linalg")

    look, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        stopwatch.library("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look


class _Announce(event.Listener):
    """Warns of the first compilation in this process."""

    announced = False

    def on_start(self, event: Any) -> None:
        if not self.announced:
            self.announced = True
            logging.getLogger("clairvoyant").warning(MESSAGE)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compiler_lock", _StopTheClock())  # type: ignore[no-untyped-call]
event.register("numba:compile", _Announce())  # type: ignore[no-untyped-call]
