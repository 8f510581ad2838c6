"""``clairvoyant`` and ``python -m clairvoyant``: the command line, as a process of its own."""

from __future__ import annotations

import os
import signal
import sys

from .cli.interrupt import INTERRUPTED, ctrl_c


def main() -> int:
    """Run the command line and return the exit status."""
    _open_standard_files()
    ours = ctrl_c.take_over()
    try:
        from .cli.commands import main as run

        status = run()
    except KeyboardInterrupt:  # a second one, while the first was dealt with
        status = INTERRUPTED
    if ctrl_c.came:
        _leave(status)
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return status


def _open_standard_files() -> None:
    """Have standard files where there are none (``>&-``): the next file opened would take their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, os.fdopen(descriptor, "w" if number else "r"))


def _leave(status: int) -> None:
    """End the process; CPython would end it by the signal if that ever struck in an ``exec``."""
    import atexit
    from contextlib import suppress

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads any more
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
