"""How kernels are declared: numba loads and compiles them while the clock is stopped, and says so.

The first compilation in a process is announced once, by a warning of the logger "clairvoyant": without any
set-up of :mod:`logging` that is a line on standard error, and
``logging.getLogger("clairvoyant").setLevel(logging.ERROR)`` silences it. Kernels in numba's cache are only
loaded, and nothing is announced.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from . import stopwatch

with stopwatch.stopped():
    # Numba loads it wherever it is installed, though nobody measures: that takes a sixth of the time.
    idle = sys.modules.setdefault("coverage", None) is None  # type: ignore[arg-type]
    import numba
    import numpy as np
    from numba.core import entrypoints, event

    if idle:
        del sys.modules["coverage"]
    # What the first call of a kernel would do by itself, while the clock goes.
    entrypoints.init_all()  # type: ignore[no-untyped-call]
    numba.typeof(np.empty(0))  # type: ignore[no-untyped-call]  # NumPy loads masked arrays for it

__all__ = ["KERNELS", "njit"]

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
    """Compile anew what numba's cache holds of other options, or names classes of an older version in.

    By itself numba takes the former for what is asked for, and raises an error for the latter.
    """
    file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)  # there is none without a cache
    if file is None:
        return
    file._source_stamp = (file._source_stamp, sorted(kernel.targetoptions.items()))
    load = file._load_index

    def load_index() -> Any:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    file._load_index = load_index


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
