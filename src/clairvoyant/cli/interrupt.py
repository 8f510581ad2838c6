"""Ctrl-C, from the first import of the command line to its last: status 130, and never a traceback."""

from __future__ import annotations

import os
import signal
import sys

# Nothing else is imported here, not even ``typing``: whatever takes time comes when the handler stands.

INTERRUPTED = 130
NOTHING_KNOWN = b'{"interrupted": true}\n'
BEGINNING, AT_WORK, OVER = range(3)


class CtrlC:
    """The effect of Ctrl-C, which depends on the phase of the command.

    While libraries are loaded, which may take a KeyboardInterrupt for an error of their own, it ends the
    process at once: there is nothing to save yet. Then it raises KeyboardInterrupt, and ``came`` is for those
    who ask later, for much third-party code swallows the exception. When the result is being printed it
    does nothing any more.
    """

    def __init__(self) -> None:
        self.came, self.phase = False, BEGINNING

    def __call__(self, *_frame: object) -> None:
        """Deal with the signal."""
        self.came = True
        if self.phase == BEGINNING:
            try:
                if "--json" in sys.argv:
                    os.write(1, NOTHING_KNOWN)
                os.write(2, b"interrupted\n")
            finally:  # if nobody reads, too
                os._exit(INTERRUPTED)
        if self.phase == AT_WORK:
            raise KeyboardInterrupt

    @property
    def pending(self) -> bool:
        """Whether a Ctrl-C came that should end the work."""
        return self.came and self.phase == AT_WORK

    def take_over(self) -> bool:
        """Handle Ctrl-C from now on, if it raises KeyboardInterrupt now; return whether it did."""
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return False
        try:
            signal.signal(signal.SIGINT, self)
        except ValueError:  # not in the main thread
            return False
        return True


ctrl_c = CtrlC()


class Interruptible:
    """A context in which Ctrl-C raises KeyboardInterrupt, and is noted; after it Ctrl-C does nothing.

    Where somebody else has called the command line, the usual handler is there again afterwards.
    """

    def __enter__(self) -> None:
        """Begin."""
        self._ours, self._hook = ctrl_c.take_over(), sys.unraisablehook
        sys.unraisablehook = self._unraisable
        ctrl_c.came, ctrl_c.phase = False, AT_WORK

    def __exit__(self, *_raised: object) -> None:
        """End."""
        ctrl_c.phase = OVER
        sys.unraisablehook = self._hook
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _unraisable(self, what: sys.UnraisableHookArgs) -> None:
        """Print no traceback where a Ctrl-C strikes in a destructor or a callback."""
        if not (ctrl_c.came and what.exc_type is KeyboardInterrupt):
            self._hook(what)
