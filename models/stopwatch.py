"""The clock of all time limits and every ``seconds``: stopped while libraries load and kernels compile.

What is loaded or compiled once depends on what ran before, and says nothing about a method. Kernels are
declared with :mod:`.compiled`, which stops the clock for numba; :func:`library` loads other heavy libraries.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_guard = threading.RLock()
_depth: dict[int, int] = {}
"""The number of nested stops of each thread."""

_since = 0.0
"""The time at which the first of these threads stopped the clock."""

_stood = 0.0
"""Seconds for which the clock was stopped before that."""


_listeners: list[Callable[[bool], None]] = []


def listen(listener: Callable[[bool], None]) -> None:
    """Call a function with True whenever the clock stops, and with False whenever it goes on."""
    _listeners.append(listener)


def now() -> float:
    """Return the seconds of a clock of this process that is stopped while anything loads or compiles."""
    with _guard:
        while _depth.get(threading.get_ident()):  # an interrupt hid the end of a stop: who asks is not in one
            resume()
        return (_since if _depth else time.perf_counter()) - _stood


def pause() -> None:
    """Stop the clock, until :func:`end`; stops may be nested, and those of several threads overlap."""
    global _since
    with _guard:
        if not _depth:
            _since = time.perf_counter()
            _tell(True)
        me = threading.get_ident()
        _depth[me] = _depth.get(me, 0) + 1


def resume() -> None:
    """Resume the clock, if this ends the outermost stop of the last thread that is in one."""
    global _stood
    with _guard:
        me = threading.get_ident()
        deep = _depth.pop(me, 0)
        if deep > 1:
            _depth[me] = deep - 1
        elif deep and not _depth:
            _stood += time.perf_counter() - _since
            _tell(False)


def _tell(stands: bool) -> None:
    for listener in _listeners:
        listener(stands)


@contextmanager
def stopped() -> Iterator[None]:
    """Stop the clock for the time of a block."""
    pause()
    try:
        yield
    finally:
        resume()


def library(module: str) -> Any:
    """Import a module of another package by its full name, while the clock is stopped."""
    with stopped():
        return import_module(module)
