"""Cells on processes of this machine: one that kills its process, or takes too much, fails alone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Self

from ...models import stopwatch
from ...models.base import InputError, reason
from ...models.checks import whole
from .cells import Answer, Cell, EngineError, State, changed, last_look
from .source import contents

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

TICK = 0.2  # seconds between two looks at how much time and memory cells take
DEATHS = 3  # how often a cell is begun whose process is killed

LOADING = 600.0
"""Seconds after which a process hangs that loads or compiles: no library and no kernel takes as long."""

FALSE_STARTS = 10  # how many processes in a row may end before they can do anything

WORKER = "clairvoyant.analysis.engine.worker"


@dataclass(frozen=True)
class Limits:
    """What a cell may take; None for any."""

    seconds: float | None = None
    """Wall-clock time, without that in which libraries load and kernels compile."""
    memory: int | None = None
    """Bytes that its process holds in memory; an InputError where the system does not say what it takes."""

    def __post_init__(self) -> None:
        for name in ("seconds", "memory"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name}: {value!r} is not above 0")
        if self.memory is not None and _resident(os.getpid()) is None:
            raise InputError("memory: this system does not say how much a process takes; leave the limit out")


def _resident(process: int) -> int | None:
    """Return how many bytes a process holds in memory; None where that is not said."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


class Clock:
    """The seconds that a cell has taken, without those in which libraries load or kernels compile."""

    def __init__(self) -> None:
        self._stopped = False
        self.start()

    def start(self) -> None:
        """Begin again at 0, standing still or not."""
        self._taken, self._since = 0.0, stopwatch.now()

    def stop(self, stands: bool) -> None:
        """Stand still from now on, or go on."""
        self._taken, self._since, self._stopped = self.seconds, stopwatch.now(), stands

    @property
    def stands(self) -> float:
        """Seconds for which it has been standing still."""
        return stopwatch.now() - self._since if self._stopped else 0.0

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return self._taken if self._stopped else self._taken + stopwatch.now() - self._since


def start(module: str, arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process that calls ``main`` of a module of the engine, with a session and pipes of its own."""
    path = [os.fspath(folder) for folder in sys.path]  # some programs put a Path there
    code = f"import sys; sys.path[:] = {path!r}; from {module} import main; main({arguments})"
    command, pipe = [sys.executable, "-P", "-c", code], subprocess.PIPE
    try:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True, **options)
    except OSError as error:
        raise EngineError(f"a process cannot be started: {reason(error)}") from error


class Worker:
    """A process that runs one cell at a time; see :mod:`.worker`."""

    def __init__(self) -> None:
        env = os.environ | dict.fromkeys(THREADS, "1")
        self._process = start(WORKER, repr(last_look().others), bufsize=0, env=env)
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018 - for types
        self._into, self.out = self._process.stdin, self._process.stdout
        os.set_blocking(self.out.fileno(), False)
        self._rest, self.source, self.changed, self.dead = bytearray(), "", "", False
        self.pid = self._process.pid
        self.cell: Cell | None = None
        self.kept: list[tuple[Cell, Answer]] = []
        self.attempts, self.fraction, self._clock = 0, 0.0, Clock()

    @property
    def ready(self) -> bool:
        """Whether it has said of which source it is."""
        return self.source != ""

    @property
    def is_strange(self) -> bool:
        """Whether it runs other source than there was at the last look."""
        return self.ready and self.source != last_look().contents

    def hand(self, cell: Cell, attempts: int, store: Path | None = None) -> None:
        """Let it run a cell; ``attempts`` counts this one too."""
        self.cell, self.attempts, self.fraction = cell, attempts, 0.0
        self._clock.start()
        self._clock.stop(True)  # until the module of the function is loaded
        where = store and os.fspath(store.absolute())
        task = {"function": cell.function, "arguments": dict(cell.arguments), "store": where}
        data = json.dumps(task).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):  # it has died, and its output ends, too
            while data:
                data = data[self._into.write(data) :]

    def read(self) -> Answer | None:
        """Read what there is; return the answer if it is there.

        ``dead`` tells if the process has ended; ``kept`` has got what the cell has found on its way.
        """
        found: Answer | None = None
        over = self._process.poll() is not None  # others may still hold its output
        while data := self.out.read(2**20):
            self._rest += data
        self.dead = over or data == b""
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            message = json.loads(line)
            self.fraction = message.get("fraction", self.fraction)
            self.source = message.get("source", self.source)
            self.changed = message.get("changed", self.changed)
            if "begun" in message:
                self._clock.stop(False)
                self._clock.start()
            elif "stands" in message:
                self._clock.stop(message["stands"])
            elif "kept" in message:
                done = Answer(State.DONE, message["result"], "", message["seconds"])
                self.kept.append((Cell(**message["kept"]), done))
            elif "seconds" in message:
                state = State.FAILED if "error" in message else State.DONE
                result, error = message.get("result"), message.get("error", "")
                found = Answer(state, result, error, message["seconds"], self.attempts)
        return found

    def over(self, limits: Limits) -> Answer | None:
        """Return the answer for a cell whose process is no more or that has taken too much, if that is so."""
        state, why, exceeded = State.FAILED, "", dict[str, float]()
        if self.dead:
            why = f"its process ended {_ended(self._process.wait())}"
        elif self._clock.stands > LOADING:
            why = f"its libraries or kernels were not loaded within {LOADING:g} s"
        elif limits.seconds is not None and self._clock.seconds > limits.seconds:
            state, why = State.TIMED_OUT, f"it took more than {limits.seconds:g} s"
            exceeded["seconds"] = limits.seconds
        elif limits.memory is not None and (_resident(self.pid) or 0) > limits.memory:
            why = f"it took more than {limits.memory / 2**20:.6g} MiB of memory"
            exceeded["memory"] = limits.memory
        return Answer(state, None, why, self._clock.seconds, self.attempts, exceeded) if why else None

    def end(self) -> None:
        """End it, with all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._into.close()
        self.out.close()


def _ended(status: int) -> str:
    """Return how a process with this status ended."""
    if status >= 0:
        return f"with status {status}"
    return f"by {signal.Signals(-status).name}" if -status in [*signal.Signals] else f"by signal {-status}"


class Processes:
    """Workers side by side on this machine, by default one per core.

    What cells find on their way is looked up in the store, if there is one; what is not there is yielded
    before their answers, as cells with keys of their own.
    """

    def __init__(
        self, count: int | None = None, limits: Limits | None = None, store: Path | None = None
    ) -> None:
        if count is not None:
            whole("workers", count, 1)
        self.count, self.limits = count or os.cpu_count() or 1, limits or Limits()
        self._store = store
        self._workers: list[Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers = []

    def run(self, cells: Iterable[Cell]) -> Generator[list[tuple[Cell, Answer]], None, None]:
        """Yield what became of cells as they end; now and then nothing, so that progress can be told.

        A cell whose process dies is begun again, up to :data:`DEATHS` times. What a process answers that runs
        other source than there was at the last look (:func:`.cells.look_again`) is not taken: that, a cell's
        own ChangedError, or that processes end before they can do anything, is an EngineError.
        """
        waiting = deque((cell, 1) for cell in cells)
        false_starts, other = 0, ""
        for worker in [one for one in self._workers if one.is_strange]:
            self._drop(worker)  # of a run before the last look
        try:
            while waiting or self.fractions:
                self._hand_out(waiting)
                wait([worker.out.fileno() for worker in self._workers], TICK)
                ended: list[tuple[Cell, Answer]] = []
                for worker in tuple(self._workers):
                    found = [*self._look(worker, waiting)]
                    if worker.is_strange:
                        other = f"process {worker.pid}: its source of clairvoyant: {changed()}"
                    else:
                        ended += found
                    other = other or worker.changed
                    if worker.dead:
                        false_starts = 0 if worker.ready else false_starts + 1
                        self._drop(worker)
                yield ended
                if other:
                    raise EngineError(other)
                if false_starts >= FALSE_STARTS:
                    raise EngineError(f"{false_starts} workers in a row ended before they could do anything")
        finally:  # nobody waits for what is still being run
            for worker in [one for one in self._workers if one.cell is not None]:
                self._drop(worker)

    def _drop(self, worker: Worker) -> None:
        self._workers.remove(worker)
        worker.end()

    @property
    def fractions(self) -> dict[str, float]:
        """How far the cells are that are being run, by key."""
        return {worker.cell.key: worker.fraction for worker in self._workers if worker.cell is not None}

    def _hand_out(self, waiting: deque[tuple[Cell, int]]) -> None:
        """Hand out what waits, no more than ``count`` at a time."""
        for worker in self._workers:
            if worker.cell is None and waiting:
                worker.hand(*waiting.popleft(), self._store)
        while waiting and len(self._workers) < self.count:
            self._workers.append(Worker())
            self._workers[-1].hand(*waiting.popleft(), self._store)

    def _look(self, worker: Worker, waiting: deque[tuple[Cell, int]]) -> Iterator[tuple[Cell, Answer]]:
        """Yield what a worker has found, and its cell unless that runs on or is to be begun again."""
        answer, cell = worker.read(), worker.cell
        yield from worker.kept
        worker.kept = []
        begun = worker.attempts - (not worker.ready)
        if cell is None:
            return
        if answer is None and worker.dead and begun < DEATHS:
            worker.cell = None
            waiting.append((cell, begun + 1))
            return
        if answer is None and (answer := worker.over(self.limits)) is not None:
            # It cannot say what it has loaded.
            worker.dead, worker.source = True, contents(last_look().others)
        if answer is not None:
            worker.cell = None
            yield cell, answer
