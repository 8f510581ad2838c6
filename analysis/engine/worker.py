"""What runs cells: a process of its own, which is handed one cell at a time as a line of JSON.

:func:`main` reads lines from standard input and writes lines to what was its standard output; whatever a cell
prints goes to standard error. Nothing is unpickled. The process is deaf to Ctrl-C, and ends as soon as nobody
can write to it any more, with all that its cells have started.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from ...models import stopwatch
from .source import contents

if TYPE_CHECKING:  # a cell that needs no more than this begins at once
    from .cells import Answer, Cell

REPORT_EVERY = 0.2  # seconds between two reports of how far a cell is


_writing = threading.Lock()


def main(others: Sequence[str] = ()) -> None:
    """Run cells until standard input ends; say first, and whenever modules were loaded, of which source.

    That is the source of Clairvoyant and of these other packages.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tasks, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)  # or what a cell starts could take the lines
    os.dup2(2, 1)
    os.register_at_fork(after_in_child=lambda: os.dup2(nowhere, out.fileno()))  # a copy has nothing to say
    lines: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(tasks, lines), daemon=True).start()
    stopwatch.listen(lambda stands: write(out, {"stands": stands}))
    write(out, {"source": contents(others)})
    process, loaded = os.getpid(), len(sys.modules)
    while True:
        message = answer(lines.get(), out)
        if os.getpid() != process:  # a copy that the cell has made of this process
            os._exit(0)
        if len(sys.modules) != loaded:
            message["source"], loaded = contents(others), len(sys.modules)
        write(out, message)


def _read(stream: BinaryIO, lines: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Hand lines over; when there are no more, nobody waits for the answer either."""
    for line in stream:
        lines.put(json.loads(line))
    _end()


def _end() -> NoReturn:
    """End this process, and those that it has started, where it leads a group."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def write(out: Any, message: dict[str, Any]) -> None:
    """Write a line of JSON, whole, whoever else writes."""
    data = json.dumps(message).encode() + b"\n"
    with _writing:
        try:
            while data:
                data = data[out.write(data) :]
        except BrokenPipeError:
            _end()


def answer(task: dict[str, Any], out: Any) -> dict[str, Any]:
    """Run a cell; return its result, or the traceback of what it raised, and its seconds.

    Of a ChangedError only what it says is returned: there is no answer.

    What it finds on its way is taken from a store if one is named, and told to who writes that.
    """

    def tell(cell: Cell, answer: Answer) -> None:
        write(out, {"kept": asdict(cell), "result": answer.result, "seconds": answer.seconds})

    begin = stopwatch.now()
    try:
        module, _, name = task["function"].partition(":")
        function = getattr(import_module(module), name)
        write(out, {"begun": True})
        with ExitStack() as opened:
            if task.get("store"):
                from .kept import keeping
                from .store import looking

                look = opened.enter_context(looking(Path(task["store"])))
                opened.enter_context(keeping(look, tell))
            begin = stopwatch.now()
            result = function(task["arguments"], _reporter(out))
        message = {"result": result, "seconds": stopwatch.now() - begin}
        json.dumps(message)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is told to who handed out the cell
        from .cells import ChangedError

        if isinstance(error, ChangedError):
            return {"changed": str(error)}
        return {"error": traceback.format_exc(), "seconds": stopwatch.now() - begin}
    return message


def _reporter(out: Any) -> Callable[[float], None]:
    told = stopwatch.now()

    def report(fraction: float) -> None:
        nonlocal told
        now, part = stopwatch.now(), min(1.0, max(0.0, float(fraction)))  # 0 for what is no number
        if now - told >= REPORT_EVERY:
            told = now
            write(out, {"fraction": part})

    return report
