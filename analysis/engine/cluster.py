"""Cells on a Dask cluster: one that kills its process, or takes too much, fails alone.

A Dask worker does not run cells itself: each of its threads keeps a process for that, and watches it as
:mod:`.processes` does, so that only what comes from outside ends a Dask worker. What is sent is the name of a
function of this module and a text of JSON; what comes back are texts of JSON, as events of the scheduler.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any, Self

from ...models.base import InputError
from ...models.checks import whole
from ...models.stopwatch import now
from .cells import SOURCE_HASH, Answer, Cell, EngineError, State, key_of, last_look
from .processes import DEATHS, TICK, Limits, Processes, start

try:
    import dask
    from distributed import Client, KilledWorker, LocalCluster, get_worker
except ModuleNotFoundError as error:
    message = f'a cluster needs the package {error.name}: pip install "clairvoyant[cluster]"'
    raise InputError(message) from error

PER_THREAD = 3
"""How many cells are handed to Dask for each thread of its workers, so that it always has a next one."""

LOOK_EVERY = 0.5  # seconds between two looks at how many workers there are
TELL_EVERY = 5.0  # seconds between two reports of how far a cell is
KEEP = 30.0  # seconds for which a Dask worker keeps a process that has nothing to do

GIVEN_UP = "the Dask workers that ran it ended, one after the other"

# What a Dask worker does.

_idle: dict[Processes, threading.Timer] = {}  # what has run cells in this Dask worker, and what will end it


def serve(text: str) -> None:
    """Run a cell on a Dask worker; what becomes of it is told to the driver in events."""
    task, worker = json.loads(text), get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        known = worker.state.tasks.get(key)
        return known is not None and known.state == "executing"

    def tell(**message: Any) -> None:
        worker.log_event(task["driver"], json.dumps({"id": task["id"], "worker": worker.address} | message))

    here = last_look().edition
    if task["edition"] != key_of(**here):
        tell(edition=here)
        return
    cell = Cell(task["id"], task["id"], task["function"], task["arguments"])
    seat = _take()
    try:
        seat.limits = Limits(**task["limits"])
        _watch(seat, cell, tell, wanted)
    except EngineError as error:
        tell(broken=str(error))
    finally:
        _keep(seat)


def _watch(seat: Processes, cell: Cell, tell: Callable[..., None], wanted: Callable[[], bool]) -> None:
    """Tell how far a cell is, and how it ends; end it if nobody waits for it any more."""
    told = now()
    with contextlib.closing(seat.run([cell])) as run:
        for ended in run:
            for _, answer in ended:
                tell(answer=vars(answer) | {"state": answer.state.value})
            if not ended and not wanted():
                return
            if seat.fractions and now() - told > TELL_EVERY:
                told = now()
                tell(fraction=seat.fractions[cell.key])


def _take() -> Processes:
    """Return what runs one cell at a time: one that is idle, if there is one."""
    try:
        seat, timer = _idle.popitem()
    except KeyError:
        return Processes(1)
    timer.cancel()
    return seat


def _keep(seat: Processes) -> None:
    """Keep it for the next cell, for a while."""
    _idle[seat] = timer = threading.Timer(KEEP, _end, [seat])
    timer.daemon = True
    timer.start()


def _end(seat: Processes) -> None:
    """End what is idle, unless it was just taken."""
    if _idle.pop(seat, None):
        seat.__exit__()


# What the driver does.


class Cluster:
    """The workers of a Dask cluster, by the address of its scheduler, such as ``tcp://10.0.0.1:8786``.

    Without workers it waits for as many seconds as it has patience. A ``distributed.Security`` is for a
    cluster with TLS; by default it is what Dask's configuration says.

    Raises
    ------
    InputError
        For what is no address.
    EngineError
        If no scheduler answers there.
    """

    def __init__(
        self, address: str, limits: Limits | None = None, *, security: Any = None, patience: float = 600.0
    ) -> None:
        self.address, self.limits, self.patience = address, limits or Limits(), patience
        self.fractions: dict[str, float] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._flights: dict[str, tuple[Cell, Any]] = {}  # what was handed to Dask, and its future
        self._heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._threads, self._looked, self._seen = 0, -LOOK_EVERY, now()
        self._count, self._token = itertools.count(), uuid.uuid4().hex[:8]
        try:
            self._client = Client(address, security=security, set_as_default=False, name="clairvoyant")
        except (ValueError, TypeError) as error:
            raise InputError(f"cluster: {address!r} cannot be connected to: {error}") from error
        except OSError as error:
            raise EngineError(f"{address}: no scheduler answers: {error}") from error
        self._client.subscribe_topic(self._client.id, self._note)

    @classmethod
    def local(cls, workers: int, limits: Limits | None = None) -> Self:
        """Start a cluster on this machine, which ends with this process, and no later than this context."""
        whole("workers", workers, 1)
        process = start(__name__, f"{workers:d}")
        assert process.stdout is not None  # noqa: S101 - for types
        address = process.stdout.readline().decode().strip()
        if not address:
            raise EngineError(f"the Dask cluster of this machine ended at once, with status {process.wait()}")
        try:
            cluster = cls(address, limits)
        except BaseException:  # it is raised again
            process.communicate()
            raise
        cluster._process = process
        return cluster

    @property
    def dashboard(self) -> str:
        """The address of the page on which Dask shows what its workers do."""
        return str(self._client.dashboard_link)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        with contextlib.suppress(TimeoutError, OSError):  # then the scheduler sees it when this process ends
            if self._client.status == "running":
                self._client.unsubscribe_topic(self._client.id)
            self._client.close(timeout=2)
        if self._process is not None:
            self._process.communicate()  # closes its standard input, with which it ends

    def run(self, cells: Iterable[Cell]) -> Generator[list[tuple[Cell, Answer]], None, None]:
        """Yield what became of cells, as :meth:`.processes.Processes.run` does.

        When a worker dies, Dask begins all that it had to do elsewhere, and after some such deaths gives all
        of it up. Those cells are suspects, which are handed to Dask anew, one at a time. What it gives up
        :data:`DEATHS` times has failed; the last time a cell is handed out all by itself, so that one that
        kills its workers takes nothing along. It is an EngineError if there are no workers, the scheduler is
        lost, or a worker is of another version.
        """
        waiting, suspects, given_up = deque(cells), deque[Cell](), Counter[str]()
        try:
            while waiting or suspects or self._flights:
                try:
                    over = self._look(given_up)
                    self._submit(self._next(waiting, suspects, given_up))
                except EngineError:
                    yield self._hear(given_up)[0]  # what was told before is no less true
                    raise
                ended, wrong = self._hear(given_up)
                if wrong:
                    yield ended
                    raise EngineError(wrong)
                for cell in [self._flights.pop(name)[0] for name in over if name in self._flights]:
                    times = given_up[cell.key]
                    if times < DEATHS:
                        (suspects if times else waiting).append(cell)
                    else:
                        ended.append((cell, Answer(State.FAILED, None, GIVEN_UP, attempts=times)))
                yield ended
        finally:
            self._flights.clear()
            self.fractions.clear()

    def _note(self, event: tuple[float, Any]) -> None:
        """Take an event down; those of Dask itself, which are no text, are of no interest."""
        if isinstance(event[1], str):
            self._heard.put(event[1])

    def _look(self, given_up: Counter[str]) -> list[str]:
        """See, now and then, how many workers there are, and which cells Dask is through with.

        What of these has not told its answer, then, never will. Those that Dask has given up are counted.
        """
        if self._client.status != "running":
            raise EngineError(f"{self.address}: the connection to the scheduler is lost")
        if now() - self._looked < LOOK_EVERY:
            return []
        self._looked = now()
        try:
            self._threads = sum(self._client.nthreads().values())
            ended = {name: one for name, one in self._flights.items() if one[1].status != "pending"}
            errors = [(cell, future.exception()) for cell, future in ended.values()]
        except (OSError, CancelledError) as error:
            raise EngineError(f"{self.address}: the scheduler does not answer: {error!r}") from error
        for cell, why in errors:
            if isinstance(why, KilledWorker):
                given_up[cell.key] += 1
            elif why is not None:
                raise EngineError(f"{self.address}: its workers cannot run cells: {why!r}") from why
        if self._threads:
            self._seen = now()
        elif now() - self._seen > self.patience:
            raise EngineError(f"{self.address}: there have been no workers for {self.patience:g} s")
        return [*ended]

    def _next(self, waiting: deque[Cell], suspects: deque[Cell], given_up: Counter[str]) -> list[Cell]:
        """Take and return what is to be handed to Dask now."""
        flying = max((given_up[cell.key] for cell, _ in self._flights.values()), default=0)
        last = [cell for cell in suspects if given_up[cell.key] == DEATHS - 1]
        if flying == DEATHS - 1 or (last and self._flights):
            return []
        if last:
            suspects.remove(last[0])
            return last[:1]
        room = max(0, PER_THREAD * self._threads - len(self._flights))
        cells = [waiting.popleft() for _ in range(min(room, len(waiting)))]
        return cells if flying or not suspects else [*cells, suspects.popleft()]

    def _submit(self, cells: Sequence[Cell]) -> None:
        """Hand cells to Dask."""
        edition = key_of(**last_look().edition)
        common = {"driver": self._client.id, "edition": edition, "limits": vars(self.limits)}
        tasks = {f"{cell.key}-{next(self._count)}": cell for cell in cells}
        texts = [
            json.dumps(common | {"id": name, "function": cell.function, "arguments": dict(cell.arguments)})
            for name, cell in tasks.items()
        ]
        keys = [(f"{kind_of(cell)}-{self._token}", name) for name, cell in tasks.items()]
        futures = self._client.map(serve, texts, key=keys, pure=False) if tasks else []
        self._flights |= {name: (tasks[name], one) for name, one in zip(tasks, futures, strict=True)}

    def _hear(self, given_up: Counter[str]) -> tuple[list[tuple[Cell, Answer]], str]:
        """Return the answers that have come, after waiting for a moment; and why workers cannot go on."""
        wait, ended, wrong = TICK, list[tuple[Cell, Answer]](), ""
        while True:
            try:
                told = json.loads(self._heard.get(timeout=wait))
            except queue.Empty:
                return ended, wrong
            wait = 0.0
            cell, _ = self._flights.get(told["id"], (None, None))
            if "edition" in told or "broken" in told:
                why = _difference(told["edition"]) if "edition" in told else told["broken"]
                wrong = wrong or f"{told['worker']}: {why}"
            elif cell is not None and "answer" in told:
                del self._flights[told["id"]]
                self.fractions.pop(cell.key, None)
                answer = Answer(**told["answer"] | {"state": State(told["answer"]["state"])})
                ended.append((cell, replace(answer, attempts=answer.attempts + given_up[cell.key])))
            elif cell is not None:
                self.fractions[cell.key] = told["fraction"]


def main(workers: int) -> None:
    """Be a cluster on this machine: print the address of its scheduler, serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    folder = tempfile.mkdtemp(prefix="clairvoyant-")
    dask.config.set({"temporary-directory": folder})
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=None,  # cells have processes of their own
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)


def kind_of(cell: Cell) -> str:
    """Return what Dask's dashboard calls a cell: its policy or oracle, without settings."""
    return re.split(r"[^\w-]", cell.name, maxsplit=1)[0] or "cell"


def _difference(theirs: dict[str, str]) -> str:
    """Say in what a worker differs from the driver."""
    ours = last_look().edition
    found = [
        f"{name} is {theirs.get(name, 'none')}, and here {version}"
        for name, version in ours.items()
        if name != SOURCE_HASH and theirs.get(name) != version
    ]
    if theirs.get(SOURCE_HASH) != ours[SOURCE_HASH]:
        found.append("its source of clairvoyant is not the one here")
    return f"on this worker {'; '.join(found)}"
