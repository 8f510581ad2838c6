"""A policy in a separate process, which receives messages and nothing else.

The process is a fresh interpreter, no copy of this one. What goes there is pickled; what comes back are plain
data, which cannot make this process do anything.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import re
import signal
import struct
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any, Self

import numpy as np

from ..models.base import ClairvoyantError, InputError
from ..models.copying import packed, unpacked
from .guard import plain

MOST_BYTES = 2**31
"""The longest answer that is read."""

HUGE = frozenset({"PUT", "BINPUT", "LONG_BINPUT", "BYTEARRAY8"})
"""What no answer of ours has in its pickle, and what takes as much memory as the number beside it says."""

PATIENCE = 10.0
"""Seconds in which a process that answers no more should have ended."""


class PolicyError(ClairvoyantError):
    """A policy in a separate process raised an error, or its process ended."""


class Isolated:
    """Stands for a policy of which a copy plays in a process of its own; a context that ends the process.

    ``name`` and ``traits`` are those of the policy here.

    A policy that cannot be pickled, or not be loaded there, is an InputError, also whenever it raises one
    itself; any other error, and the end of its process, are a PolicyError.
    """

    def __init__(self, policy: Any) -> None:
        self.name, self.traits = policy.name, policy.traits
        self._file = getattr(sys.modules.get(type(policy).__module__), "__file__", None)
        sent = _pickled(policy)
        if hasattr(policy, "learn"):
            self.learn = self._learn
        path = [os.fspath(folder) for folder in sys.path]  # some programs put a Path there
        code = f"import sys; sys.path[:] = {path!r}; from {__name__} import serve; serve()"
        self._process = subprocess.Popen(  # a session of its own: Ctrl-C is for us, and we end it then
            [sys.executable, "-u", "-c", code],  # killed in the end, it must not hold back what it prints
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self._ask("load", sent)
        except BaseException:  # Ctrl-C too must leave no process behind; it is raised again
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def start(self, setting: Any, rng: np.random.Generator) -> None:
        """Call its ``start``."""
        self._ask("start", setting, rng)

    def decide(self, observation: Any) -> Any:
        """Return its decision."""
        return self._ask("decide", observation)

    def _learn(self, feedback: Any) -> None:
        self._ask("learn", feedback)

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Call a method in the process and return its result."""
        try:
            _send(self._process.stdin, pickle.dumps((method, packed(arguments)), 5))
            failed, answer = _read_plain(_receive(self._process.stdout))
        except (EOFError, BrokenPipeError):
            raise PolicyError(f"policy {self.name!r}: its process {self._fate()} in {method}") from None
        except pickle.UnpicklingError as error:
            raise PolicyError(f"policy {self.name!r}: its process answered {method} with no data") from error
        if failed:
            raise self._error(method, *answer)
        return answer

    def _error(self, method: str, is_input: bool, kind: str, message: str, trace: str) -> ClairvoyantError:
        """Return the error to raise here for an error there, with its traceback in a note."""
        error: ClairvoyantError
        if is_input:
            error = InputError(message)
        elif method == "load":
            error = InputError(
                f"policy: {self.name!r} cannot be loaded in a process of its own: {kind}: {message}"
            )
        else:
            place = _place(self._file, trace)
            error = PolicyError(f"policy {self.name!r} raised {kind} in {method}: {message}{place}")
        error.add_note(f"In the process of the policy:\n{trace}")
        return error

    def _fate(self) -> str:
        """Return why the process answers no more."""
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return "closed its way to answer"
        self._kill()
        return (
            f"ended with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"
        )

    def _end(self) -> None:
        """End the process, and what it started in its session."""
        if self._process.returncode is None:  # until we have waited for it, its number is nobody else's
            self._kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # of what was still to be sent and has no reader any more
                    pipe.close()

    def _kill(self) -> None:
        """Kill all that runs in the session of the process, which itself may have ended."""
        if not hasattr(os, "killpg"):
            self._process.kill()
            return
        with suppress(ProcessLookupError, PermissionError):  # nobody is left, or on macOS only what has ended
            os.killpg(self._process.pid, signal.SIGKILL)


class _Pickler(pickle.Pickler):
    """Refuses what a process of its own could not import."""

    def reducer_override(self, part: Any) -> Any:
        """Raise for what is defined in the program that is run."""
        if isinstance(part, type | FunctionType) and part.__module__ == "__main__":
            raise InputError(
                f"policy: {part.__qualname__} is defined in the program or notebook that is run, which a "
                "process of its own cannot import; put it into a module, such as my_policies.py, and import "
                "it from there"
            )
        return NotImplemented


LINE = re.compile(r'^ *File "(.+)", line (\d+), in (.+)$', re.MULTILINE)
"""A place in a traceback."""


def _place(file: str | None, trace: str) -> str:
    """Return, in brackets, where a traceback was last in a file, or in one beside it; or nothing."""
    folder = None if file is None else Path(file).resolve().parent
    lines = [one.groups() for one in LINE.finditer(trace) if not one[1].startswith("<")]
    own = [f" ({path}, line {n}, in {of})" for path, n, of in lines if Path(path).resolve().parent == folder]
    return own[-1] if own else ""


def _pickled(policy: Any) -> bytes:
    stream = io.BytesIO()
    try:
        _Pickler(stream, 5).dump(policy)
    except InputError:
        raise
    except Exception as error:  # whatever its own __reduce__ raises, too
        raise InputError(
            f"policy: {policy.name!r} cannot be pickled, as a process of its own needs it to be: "
            f"{type(error).__name__}: {error}"
        ) from error
    return stream.getvalue()


def _send(pipe: Any, data: bytes) -> None:
    pipe.write(struct.pack("<q", len(data)) + data)
    pipe.flush()


def _receive(pipe: Any) -> bytes:
    """Return the next message; EOFError if there is none any more."""
    head = pipe.read(8)
    (size,) = struct.unpack("<q", head) if len(head) == 8 else (-1,)
    if size > MOST_BYTES:
        raise pickle.UnpicklingError(f"a message of {size} bytes")
    data: bytes = pipe.read(size) if size >= 0 else b""
    if len(data) != size:
        raise EOFError
    return data


class _PlainWriter(pickle.Pickler):
    """Writes plain data, arrays as their type, shape and bytes."""

    def persistent_id(self, part: Any) -> Any:
        """Return the placeholder of an array."""
        return (part.dtype.str, part.shape, part.tobytes()) if type(part) is np.ndarray else None


class _PlainReader(pickle.Unpickler):
    """Reads plain data, and calls nothing that the data name."""

    def persistent_load(self, pid: Any) -> Any:
        """Return the array that something stands for."""
        kind, shape, data = pid
        if type(data) is not bytes:  # a number would ask for so many of them
            raise pickle.UnpicklingError("an array without bytes")
        return np.frombuffer(bytearray(data), np.dtype(kind)).reshape(shape)

    def find_class(self, module: str, name: str) -> Any:
        """Refuse every class and function."""
        raise pickle.UnpicklingError(f"{module}.{name} is no plain data")


def _written(answer: tuple[bool, Any]) -> bytes:
    stream = io.BytesIO()
    _PlainWriter(stream, 5).dump(answer)
    return stream.getvalue()


def _read_plain(data: bytes) -> tuple[bool, Any]:
    try:
        if any(code.name in HUGE for code, _, _ in pickletools.genops(data)):
            raise pickle.UnpicklingError("it takes more memory than it has bytes")
        failed, answer = _PlainReader(io.BytesIO(data)).load()
        _refuse_more(answer, len(data))
        if failed:
            is_input, kind, message, trace = answer
            answer = bool(is_input), str(kind), str(message), str(trace)
        return bool(failed), answer
    except Exception as error:  # whatever bytes nobody wrote for us may lead to
        raise pickle.UnpicklingError(str(error)) from error


def _refuse_more(answer: Any, most: int) -> None:
    """Raise if an answer has more parts than its message had bytes: some stand in it over and over.

    Those who unfold it, as :func:`.plain` does, would never come to an end.
    """
    parts = [answer]
    for part in parts:  # which grow
        if len(parts) > most:
            raise pickle.UnpicklingError("its parts stand in it over and over")
        if isinstance(part, dict):
            parts += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple)):
            parts += part


def serve() -> None:
    """Answer messages until there are no more: the whole of the process of a policy.

    The output of the policy goes to standard error, as standard output carries the answers.
    """
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    policy: Any = None
    while True:
        try:
            method, pack = pickle.loads(_receive(questions))  # noqa: S301 - from the process that began this one
        except EOFError:
            return
        try:
            arguments = unpacked(pack)
            if method == "load":
                policy, answer = pickle.loads(*arguments), None  # noqa: S301 - the same
            else:
                answer = getattr(policy, method)(*arguments)
            reply = _written((False, plain(answer) if method == "decide" else None))
        except Exception as error:  # noqa: BLE001 - it is raised again where it was asked
            raised = (isinstance(error, InputError), type(error).__name__, str(error), traceback.format_exc())
            reply = _written((True, raised))
        _send(answers, reply)
