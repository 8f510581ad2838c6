"""Cells on a Dask cluster: the same answers as on processes, whoever dies, and nothing left behind."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import pytest
from distributed import KilledWorker, LocalCluster

from clairvoyant.analysis.engine import cells, source
from clairvoyant.analysis.engine import cluster as engine_cluster
from clairvoyant.analysis.engine.cells import (
    LAYERS,
    SOURCE_HASH,
    Answer,
    Cell,
    EngineError,
    State,
    last_look,
)
from clairvoyant.analysis.engine.cluster import Cluster, kind_of
from clairvoyant.analysis.engine.processes import DEATHS, Limits, Processes
from clairvoyant.models.base import InputError

NOBODY: Any = None
MODULE = "cells_of_a_cluster"
FUNCTIONS = """
import os, pathlib, signal, time

def add(arguments, report):
    return {"sum": arguments["x"] + 1, "thread": os.environ["OMP_NUM_THREADS"]}

def where(arguments, report):
    return os.getppid()

def pid(arguments, report):
    return os.getpid()

def reports(arguments, report):
    while not pathlib.Path(arguments["file"]).exists():
        report(0.5)

def raises(arguments, report):
    raise ValueError("no")

def dies(arguments, report):
    os.kill(os.getpid(), signal.SIGKILL)

def kills(arguments, report):
    os.kill(os.getppid(), signal.SIGKILL)
    wait()

def swells(arguments, report):
    held = bytearray(600 * 2**20)
    held[::4096] = b"1" * len(held[::4096])
    wait()

def waits(arguments, report):
    pathlib.Path(arguments["file"]).write_text(str(os.getpid()))
    wait()

def stays(arguments, report):
    wait()

def wait():
    while True:
        time.sleep(60)
"""
DRIVER = """
import sys
sys.path.insert(0, sys.argv[1])
from clairvoyant.analysis.engine.cells import Cell
from clairvoyant.analysis.engine.cluster import Cluster
with Cluster.local(1) as cluster:
    for _ in cluster.run([Cell("key", "name", sys.argv[2], {"file": sys.argv[3]})]):
        pass
"""


def cell(function: str, x: int = 0, **arguments: Any) -> Cell:
    return Cell(f"{function}-{x}", f"{function} on {x}", f"{MODULE}:{function}", arguments | {"x": x})


def answers(executor: Processes | Cluster, cells: list[Cell]) -> dict[str, Answer]:
    """Run cells and check that each is answered once."""
    found = [pair for ended in executor.run(cells) for pair in ended]
    assert sorted(one.key for one, _ in found) == sorted(one.key for one in cells)
    return {one.key: answer for one, answer in found}


def outcomes(found: dict[str, Answer]) -> dict[str, Any]:
    return {key: (one.state, one.result, one.error, one.attempts) for key, one in found.items()}


def eventually(condition: Callable[[], Any]) -> Any:
    """Wait until something holds, however slow the machine is."""
    for _ in range(6000):
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came to hold")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("functions")
    (path / f"{MODULE}.py").write_text(FUNCTIONS)
    return path


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[Cluster]:
    """Return two workers; Dask gives up what a worker had to do as soon as it dies once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
        with Cluster.local(2) as cluster:
            yield cluster


@pytest.fixture
def cluster(shared: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(engine_cluster, "LOOK_EVERY", 0.02)
    yield shared
    shared.limits = Limits()


@pytest.fixture
def empty() -> Iterator[LocalCluster]:
    """Return a scheduler without workers."""
    scheduler = LocalCluster(n_workers=0, processes=False, dashboard_address=None, protocol="tcp://")
    yield scheduler
    scheduler.close()


@pytest.mark.slow
def test_what_goes_wrong_goes_wrong_alone_and_as_on_processes(cluster: Cluster) -> None:
    cells = [cell("add", x) for x in range(20)]
    cells[3:3] = [cell("raises"), cell("dies"), cell("swells")]
    found: dict[str, Answer] = {}
    for limits, some in ((Limits(memory=500 * 2**20), cells), (Limits(seconds=1.0), [cell("stays")])):
        cluster.limits = limits
        with Processes(2, limits) as processes, ThreadPoolExecutor() as beside:
            other = beside.submit(answers, processes, some)  # both wait for the limit at the same time
            mine = answers(cluster, some)
            assert outcomes(mine) == outcomes(other.result())
        found |= mine
    good = {key: answer for key, answer in found.items() if answer.state is State.DONE}
    assert {key: answer.result for key, answer in good.items()} == {
        f"add-{x}": {"sum": x + 1, "thread": "1"} for x in range(20)
    }
    assert {answer.attempts for answer in good.values()} == {1}
    assert found["raises-0"].error.endswith("ValueError: no\n")
    assert (found["dies-0"].error, found["dies-0"].attempts) == ("its process ended by SIGKILL", DEATHS)
    assert "500 MiB of memory" in found["swells-0"].error
    assert found["stays-0"].state is State.TIMED_OUT


@pytest.mark.slow
def test_a_cell_that_kills_dask_workers_takes_nothing_along(cluster: Cluster) -> None:
    found = answers(
        cluster, [*(cell("add", x) for x in range(6)), cell("kills"), cell("add", 6), cell("add", 7)]
    )
    killer = found.pop("kills-0")
    assert (killer.state, killer.error) == (State.FAILED, engine_cluster.GIVEN_UP)
    assert killer.attempts == DEATHS
    assert [found[f"add-{x}"].result["sum"] for x in range(8)] == list(range(1, 9))


@pytest.mark.slow
def test_no_cell_is_lost_if_somebody_kills_dask_workers(cluster: Cluster) -> None:
    cells = [cell("where", x) for x in range(200)]
    killed: set[int] = set()
    found: list[tuple[Cell, Answer]] = []
    for ended in cluster.run(cells):
        for one, answer in ended:
            found.append((one, answer))
            if len(killed) < 2 and answer.result not in killed:
                os.kill(answer.result, signal.SIGKILL)
                killed.add(answer.result)
    assert len(killed) == 2
    assert sorted(one.key for one, _ in found) == sorted(one.key for one in cells)
    assert {answer.state for _, answer in found} == {State.DONE}


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["the run", "the cluster"])
def test_who_leaves_takes_the_cells_along(leaves: str, cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with Cluster(cluster.address) as other:
        run = other.run([cell("waits", file=str(file))])
        for _ in run:
            if file.exists() and file.read_text():
                break
        process = Path("/proc", file.read_text())
        if leaves == "the run":
            run.close()
            eventually(lambda: not process.exists())
            assert answers(other, [cell("add", 1)])["add-1"].result["sum"] == 2
    eventually(lambda: not process.exists())
    assert answers(cluster, [cell("add", 1)])["add-1"].result["sum"] == 2


class TwoWorkers:
    """Stands for a Dask cluster whose workers begin all that they have at once, and die with what kills."""

    id, status = "driver", "running"

    def __init__(self) -> None:
        self.looks, self.draw = 0, random.Random(0)
        self.at_hand: list[list[Any]] = [[], []]
        self.most = 0

    def subscribe_topic(self, topic: str, handler: Callable[[Any], None]) -> None:
        assert topic == self.id
        self._handler = handler

    def map(self, function: Any, texts: list[str], *, key: list[tuple[str, str]], pure: bool) -> list[Any]:
        assert (function, pure, len(key)) == (engine_cluster.serve, False, len(texts))
        futures = [
            SimpleNamespace(status="pending", exception=lambda: None, **json.loads(text)) for text in texts
        ]
        for future in futures:
            self.draw.choice(self.at_hand).append(future)
        self.most = max(self.most, sum(map(len, self.at_hand)))
        return futures

    def nthreads(self) -> dict[str, int]:
        """Return the threads of the workers, of which one or the other does its work now and then."""
        self.looks += 1
        if self.looks % 3 == 0:
            self._work(self.at_hand[self.looks % 2])
        return {"tcp://one": 1, "tcp://two": 1}

    def _work(self, tasks: list[Any]) -> None:
        dies = any(task.function.endswith("kills") for task in tasks)
        for task in tasks:
            task.status = "error" if dies else "finished"
            task.exception = lambda: KilledWorker("key", NOBODY, 0) if dies else None
            mute = task.function.endswith("mute") and task.id.endswith("-0")
            if not dies and not mute:
                self.tell(task.id, answer=asdict(Answer(State.DONE, 1)) | {"state": "done"})
        tasks.clear()

    def tell(self, name: str, **message: Any) -> None:
        """Tell the driver something of a cell."""
        self._handler((0.0, {"action": "something of Dask's own"}))
        self._handler((0.0, json.dumps({"id": name, "worker": "tcp://one"} | message)))


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> TwoWorkers:
    workers = TwoWorkers()
    monkeypatch.setattr(engine_cluster, "Client", lambda *_args, **_options: workers)
    for interval in ("LOOK_EVERY", "TICK"):
        monkeypatch.setattr(engine_cluster, interval, 0.0)
    return workers


@pytest.mark.parametrize("seed", range(5))
def test_even_those_that_die_with_every_killer_are_told_apart(seed: int, two_workers: TwoWorkers) -> None:
    cells = [cell(function, x) for x in range(20) for function in ("add", "kills")]
    random.Random(seed).shuffle(cells)
    found = answers(Cluster("tcp://one", patience=0.0), cells)
    for one in cells:
        answer = found[one.key]
        if one.function.endswith("kills"):
            assert (answer.state, answer.error) == (State.FAILED, engine_cluster.GIVEN_UP)
            assert answer.attempts == DEATHS
        else:
            assert answer.state is State.DONE
    assert max(answer.attempts for answer in found.values()) == DEATHS
    assert two_workers.most == 2 * engine_cluster.PER_THREAD + 1


@pytest.mark.usefixtures("two_workers")
def test_an_answer_that_never_comes_is_asked_for_again() -> None:
    run = Cluster("tcp://one").run([cell("mute"), cell("add")])
    found = {one.key: answer for ended in islice(run, 100) for one, answer in ended}
    assert outcomes(found) == dict.fromkeys(["mute-0", "add-0"], (State.DONE, 1, "", 1))


@pytest.mark.parametrize("what", ["a worker is broken", "the connection to the scheduler is lost"])
def test_what_was_answered_before_an_error_is_not_lost(what: str, two_workers: TwoWorkers) -> None:
    run = Cluster("tcp://one").run([cell("add", x) for x in range(3)])
    next(run)
    next(run)
    two_workers.looks = 0
    first, second, _ = two_workers.at_hand[0] + two_workers.at_hand[1]
    answer = asdict(Answer(State.DONE, 1)) | {"state": "done"}
    two_workers.tell(first.id, answer=answer)
    if what == "a worker is broken":
        two_workers.tell(first.id, broken=what)
        two_workers.tell(second.id, answer=answer)
    else:
        two_workers.tell(second.id, answer=answer)
        two_workers.status = "closed"
    found: list[str] = []

    def take() -> None:
        for ended in run:
            found.extend(one.key for one, _ in ended)

    with pytest.raises(EngineError, match=what):
        take()
    assert found == [one.id.rpartition("-")[0] for one in (first, second)]


def test_how_far_a_cell_is_is_known_until_it_ends(two_workers: TwoWorkers) -> None:
    cluster = Cluster("tcp://one")
    run = cluster.run([cell("add")])
    next(run)
    next(run)
    (task,) = two_workers.at_hand[0] + two_workers.at_hand[1]
    two_workers.tell(task.id, fraction=0.25)
    two_workers.tell("of another run", fraction=0.75)
    two_workers.looks = 0
    assert next(run) == []
    assert cluster.fractions == {"add-0": 0.25}
    ended = next(ended for ended in run if ended)
    assert [one.key for one, _ in ended] == ["add-0"]
    assert cluster.fractions == {}


def test_a_worker_tells_how_far_a_cell_is(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(engine_cluster, "TELL_EVERY", -1.0)
    file, told = tmp_path / "told", list[Any]()

    def tell(**message: Any) -> None:
        told.append(message)
        if message.get("fraction"):
            file.touch()

    with Processes(1) as seat:
        engine_cluster._watch(seat, cell("reports", file=str(file)), tell, lambda: True)
    assert {message["fraction"] for message in told[:-1]} == {0.0, 0.5}
    assert told[-1]["answer"]["state"] == "done"


def test_what_has_nothing_to_do_is_kept_only_for_a_while(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    with Processes(1) as seat:
        where = answers(seat, [cell("pid", 1)])["pid-1"].result
        monkeypatch.setattr(engine_cluster, "KEEP", 3600.0)
        engine_cluster._keep(seat)
        assert engine_cluster._take() is seat
        eventually(lambda: not any(isinstance(one, threading.Timer) for one in threading.enumerate()))
        assert answers(seat, [cell("pid", 2)])["pid-2"].result == where
        assert engine_cluster._take() is not seat
        monkeypatch.setattr(engine_cluster, "KEEP", 0.0)
        engine_cluster._keep(seat)
        eventually(lambda: not Path("/proc", str(where)).exists())
    assert engine_cluster._idle == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"numpy": "0.1"}, f"numpy is {last_look().edition['numpy']}, and here 0.1"),
        ({"clairvoyant": "9.9"}, f"clairvoyant is {last_look().edition['clairvoyant']}, and here 9.9"),
        ({SOURCE_HASH: "other"}, "its source of clairvoyant is not the one here"),
    ],
)
def test_a_worker_of_another_version_is_refused_by_name(
    changed: dict[str, str], message: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = last_look()
    here = seen._replace(edition={**seen.edition, **changed})
    monkeypatch.setattr(engine_cluster, "last_look", lambda: here)
    with pytest.raises(EngineError) as caught:
        answers(cluster, [cell("add")])
    address, _, told = str(caught.value).partition(": ")
    assert address in cluster._client.nthreads()
    assert told == f"on this worker {message}"


def test_the_source_is_the_same_for_a_checkout_and_for_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, before = [], last_look().edition
    no_bytecode = shutil.ignore_patterns("__pycache__")

    def look() -> Mapping[str, str]:
        cells.look_again()
        return last_look().edition

    for links in (True, False):
        tree = tmp_path / str(links)
        shutil.copytree(source.PACKAGE, tree, symlinks=links, ignore=no_bytecode)
        for layer in LAYERS if links else ():
            (tree / layer).unlink(missing_ok=True)
            (tree / layer).symlink_to(source.PACKAGE / layer)
        monkeypatch.setattr(cells, "PACKAGE", tree)
        found.append(look())
    assert found == [before] * 2
    for changed in ("sweeping.py", "models/base.py"):
        (tmp_path / "False" / changed).write_text("")
        found.append(look())
    assert len({one[SOURCE_HASH] for one in found}) == 3
    monkeypatch.undo()
    cells.look_again()


@pytest.mark.slow
def test_workers_that_can_begin_no_process_are_named(cluster: Cluster) -> None:
    here = cluster._client.nthreads()
    cluster._client.run(lambda: setattr(sys, "executable", "/bin/false"))
    try:
        with pytest.raises(EngineError, match="ended before they could do anything") as caught:
            answers(cluster, [cell("dies", x) for x in range(4)])
    finally:
        cluster._client.run(lambda executable: setattr(sys, "executable", executable), sys.executable)
    assert str(caught.value).partition(": ")[0] in here


def test_without_workers_it_ends(empty: LocalCluster) -> None:
    with (
        Cluster(empty.scheduler_address, patience=0.0) as cluster,
        pytest.raises(EngineError, match="there have been no workers for 0 s"),
    ):
        answers(cluster, [cell("add")])


def test_without_a_scheduler_it_ends(empty: LocalCluster) -> None:
    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}):
        with Cluster(empty.scheduler_address) as cluster:
            run = cluster.run([cell("add")])
            assert next(run) == []
            empty.close()
            with pytest.raises(EngineError, match="the connection to the scheduler is lost"):
                list(run)
            eventually(lambda: cluster._client.status == "closed")
        with pytest.raises(EngineError, match="no scheduler answers"):
            Cluster(empty.scheduler_address)
    with pytest.raises(InputError, match="'carrier://pigeon' cannot be connected to"):
        Cluster("carrier://pigeon")
    with pytest.raises(InputError, match="workers: 0 is not a whole number of at least 1"):
        Cluster.local(0)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_local_cluster_ends_with_its_driver(how: signal.Signals, folder: Path, tmp_path: Path) -> None:
    file, mark = tmp_path / "pid", uuid.uuid4().hex

    def left() -> list[Path]:
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                found += [path] if mark.encode() in (path / "environ").read_bytes() else []
            except OSError:
                continue
        return found

    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), f"{MODULE}:waits", str(file)],
        env=os.environ | {"MARK": mark, "TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    eventually(lambda: file.exists() and file.read_text())
    assert len(left()) >= 4  # the driver, the scheduler, the worker, and the process of the cell
    driver.send_signal(how)
    assert driver.wait() in {-how, 1}
    eventually(lambda: not left())
    assert [path.name for path in tmp_path.iterdir()] == ["pid"]


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, engine_cluster.__name__)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError) as caught:
        import_module(engine_cluster.__name__)
    assert str(caught.value) == 'a cluster needs the package distributed: pip install "clairvoyant[cluster]"'


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ogasched on allocation size=tiny,seed=1", "ogasched"),
        ("das:checkpoint=best.npz on x.json", "das"),
        ("da-mc-h1 on x.json", "da-mc-h1"),
        ("", "cell"),
    ],
)
def test_the_dashboard_names_policies_and_oracles(name: str, kind: str) -> None:
    assert kind_of(Cell("key", name, "f:g", {})) == kind
