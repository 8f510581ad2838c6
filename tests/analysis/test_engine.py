"""The engine: stores that behave alike and lose nothing, and cells that fail alone."""

import io
import itertools
import json
import math
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from clairvoyant.analysis.engine import cells, engine, processes, store
from clairvoyant.analysis.engine import worker as engine_worker
from clairvoyant.analysis.engine.cells import Answer, Cell, EngineError, State
from clairvoyant.analysis.engine.processes import Limits, Processes
from clairvoyant.models.base import InputError

HERE = Path(__file__).parent


def cell(name: str, key: str = "", **arguments: Any) -> Cell:
    return Cell(key or f"{name}{arguments}", name, f"engine_cells:{name}", arguments)


def numbered(n: int) -> tuple[Cell, Answer]:
    return cell("square", str(n), n=n), Answer(State.DONE, n * n, "", 0.5)


# Stores

ANSWERS = st.builds(
    Answer,
    st.sampled_from(State),
    st.none() | st.integers() | st.dictionaries(st.text(), st.floats(allow_nan=False)),
    st.text(),
    st.floats(0.0, 1e9),
    st.integers(1, 3),
    st.dictionaries(st.sampled_from(["seconds", "memory"]), st.floats(1.0, 1e9), max_size=1),
)
KEYS = st.sampled_from("abcdef")


class Stores(RuleBasedStateMachine):
    """A database and a journal are what a dictionary is, whatever happens to them."""

    @initialize()
    def begin(self) -> None:
        folder = Path(mkdtemp(dir=os.environ["STORES"]))
        self.paths = [folder / "a.sqlite", folder / "a.jsonl"]
        self.stores = [store.open_store(path) for path in self.paths]
        self.kept: dict[str, tuple[Cell, Answer]] = {}
        self.used: dict[str, int] = {}
        self.computed: dict[str, int] = {}
        self.opened = 1

    @rule(answers=st.lists(st.tuples(KEYS, ANSWERS), min_size=1))
    def add(self, answers: list[tuple[str, Answer]]) -> None:
        rows = [(cell("square", key, n=1), answer) for key, answer in answers]
        for one in self.stores:
            one.add(rows)
        self.kept |= {row[0].key: row for row in rows}
        self.used |= {row[0].key: self.opened for row in rows}
        self.computed |= {row[0].key: self.opened for row in rows}

    @rule(keys=st.sets(KEYS))
    def known(self, keys: set[str]) -> None:
        wanted = {key: self.kept[key][1] for key in keys if key in self.kept}
        assert [one.known(keys) for one in self.stores] == [wanted, wanted]
        self.used |= dict.fromkeys(wanted, self.opened)

    @rule(keys=st.sets(KEYS))
    def rename(self, keys: set[str]) -> None:
        named = {key: cell("logs", key, n=2) for key in keys}
        for one in self.stores:
            one.rename(named.values())
        self.kept |= {key: (named[key], self.kept[key][1]) for key in keys & self.kept.keys()}

    @rule(key=KEYS)
    def look(self, key: str) -> None:
        wanted = self.kept[key][1] if key in self.kept else None
        assert [one.look(key) for one in self.stores] == [wanted, wanted]
        with store.looking(self.paths[0]) as first, store.looking(self.paths[1]) as second:
            assert (first(key), second(key)) == (wanted, wanted)
        self.used |= {key: self.opened} if wanted else {}

    @rule(keys=st.sets(KEYS))
    def forget(self, keys: set[str]) -> None:
        for one in self.stores:
            one.forget(keys)
        self.kept = {key: row for key, row in self.kept.items() if key not in keys}

    @rule(share=st.floats(0.0, 1.0))
    def shrink(self, share: float) -> None:
        sizes = {row["key"]: store.size_of(row) for row in self.stores[0].rows()}
        most = int(share * sum(sizes.values()))
        room = most
        stay = set()
        for key in sorted(self.kept, key=lambda key: (-self.used[key], key)):
            room -= sizes[key]
            if room >= 0:
                stay.add(key)
        assert [one.shrink(most) for one in self.stores] == [len(sizes) - len(stay)] * 2
        self.kept = {key: row for key, row in self.kept.items() if key in stay}

    @rule(torn=st.binary().filter(lambda data: b"\n" not in data))
    def reopen(self, torn: bytes) -> None:
        for one in self.stores:
            one.close()
        with self.paths[1].open("ab") as stream:
            stream.write(torn)
        self.stores = [store.open_store(path) for path in self.paths]
        self.opened = 1 + max((self.used[key] for key in self.kept), default=0)

    @invariant()
    def alike(self) -> None:
        if not hasattr(self, "stores"):
            return
        rows = [[*one.rows()] for one in self.stores]
        assert rows[0] == rows[1] == store.read_rows(self.paths[0]) == store.read_rows(self.paths[1])
        assert [row["key"] for row in rows[0]] == sorted(self.kept)
        told = [(row["name"], row["function"], row["arguments"]) for row in rows[0]]
        named = [self.kept[key][0] for key in sorted(self.kept)]
        assert told == [(one.name, one.function, one.arguments) for one in named]
        for function in ("engine_cells:logs", "engine_cells:square"):
            some = [row for row in rows[0] if row["function"] == function]
            assert [[*one.rows(function)] for one in self.stores] == [some, some]
        for number, expected in (("used", self.used), ("computed", self.computed)):
            assert {row["key"]: row[number] for row in rows[0]} == {key: expected[key] for key in self.kept}

    def teardown(self) -> None:
        for one in getattr(self, "stores", []):
            one.close()


@pytest.mark.hypothesis
def test_both_kinds_of_store_are_what_a_dictionary_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORES", str(tmp_path))
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    run_state_machine_as_test(Stores, settings=settings(max_examples=25, stateful_step_count=15))


KINDS = pytest.mark.parametrize("name", ["a.sqlite", "a.jsonl"])


@KINDS
def test_one_process_writes_and_all_may_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / name
    with store.open_store(path) as kept:
        kept.add([numbered(2)])
        with pytest.raises(InputError, match=r"writes|writing") as refused:
            store.open_store(path)
        assert "\n" not in str(refused.value)
        assert [row["result"] for row in store.read_rows(path)] == [4]
    with store.open_store(path) as kept:
        assert kept.known(["2"]) == {"2": numbered(2)[1]}


@KINDS
def test_what_was_not_used_for_longest_goes_first(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for n in (1, 2, 3):
        with store.open_store(path) as kept:
            kept.add([numbered(n)])
    with store.open_store(path) as kept:
        assert kept.known(["1", "none"]) == {"1": numbered(1)[1]}
    with store.open_store(path) as kept:
        sizes = {row["key"]: store.size_of(row) for row in kept.rows()}
        assert [row["used"] for row in kept.rows()] == [4, 2, 3]
        assert kept.shrink(sum(sizes.values())) == 0
        assert kept.shrink(sizes["1"] + sizes["3"]) == 1
        assert [row["key"] for row in kept.rows()] == ["1", "3"]
        assert kept.shrink(sizes["1"] + sizes["3"] - 1) == 1
        assert [row["key"] for row in kept.rows()] == ["1"]


KILLED = """
import os, signal, sys
from pathlib import Path
from clairvoyant.analysis.engine import store
from clairvoyant.analysis.engine.cells import Answer, Cell, State
kept = store.open_store(Path(sys.argv[1]))
for n in range(int(sys.argv[2])):
    kept.add([(Cell(str(n), "c", "m:f", {}), Answer(State.DONE, n))])
os.kill(os.getpid(), signal.SIGKILL)
"""


@KINDS
def test_what_a_killed_process_has_handed_over_is_there(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), "5"], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(store.read_rows(path)) == 5
    with store.open_store(path) as kept:
        assert len(kept.known(map(str, range(9)))) == 5


def fill(kept: store.Store, numbers: Iterator[int]) -> None:
    for n in numbers:
        kept.add([(numbered(n)[0], Answer(State.DONE, "x" * 5000))])


@KINDS
def test_a_full_disk_is_told_in_one_line_and_loses_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4096))
    path = tmp_path / name
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    numbers = iter(range(2, 100))
    with store.open_store(path) as kept:
        kept.add([numbered(1)])
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
        try:
            with pytest.raises(InputError, match="cannot be used") as refused:
                fill(kept, numbers)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert "\n" not in str(refused.value)
        told = "the disk may be full, 4,096 bytes are free" if name == "a.sqlite" else "File too large"
        assert told in str(refused.value)
        kept.add([numbered(1000)])
    assert {int(row["key"]) for row in store.read_rows(path)} == {*range(1, next(numbers) - 1), 1000}


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE theirs (x)")
    file.close()


def namesake(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute(f"CREATE TABLE cell ({', '.join(store.KINDS)})")
        file.execute(f"PRAGMA user_version = {store.FORMAT}")
    file.close()


def newer_database(path: Path) -> None:
    store.open_store(path).close()
    with sqlite3.connect(path) as file:
        file.execute(f"PRAGMA user_version = {store.FORMAT + 1}")
    file.close()


def damaged_rows(path: Path) -> None:
    with store.open_store(path) as kept:
        kept.add([numbered(1)])
    with sqlite3.connect(path) as file:
        file.execute("UPDATE cell SET result = '{', state = 'gone'")
    file.close()


def damaged_pages(path: Path) -> None:
    with store.open_store(path) as kept:
        kept.add([numbered(n) for n in range(200)])
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x7f" * (len(data) - 4096)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.sqlite", lambda path: path.write_text("a letter")),
        ("a.sqlite", lambda path: path.write_bytes(os.urandom(5000))),
        ("a.sqlite", other_database),
        ("a.sqlite", namesake),
        ("a.sqlite", newer_database),
        ("a.sqlite", damaged_rows),
        ("a.sqlite", damaged_pages),
        ("a.sqlite", lambda path: path.mkdir()),
        ("a.jsonl", lambda path: path.write_text('{"key": 1}\n')),
        ("a.jsonl", lambda path: path.write_text("a letter\n[]\n")),
        ("a.jsonl", lambda path: path.write_text("[1]\n")),
        ("a.jsonl", lambda path: path.write_text("[" * 100_000 + "\n")),
        ("a.jsonl", lambda path: path.mkdir()),
    ],
)
def test_what_is_no_store_is_refused_in_one_line_and_left_as_it_is(
    name: str, make: Any, tmp_path: Path
) -> None:
    path = tmp_path / name
    make(path)
    before = path.read_bytes() if path.is_file() else None

    def write() -> None:
        with store.open_store(path) as kept:
            kept.known(["1"])

    for use in (write, lambda: store.read_rows(path)):
        with pytest.raises(InputError, match=name) as refused:
            use()
        assert "\n" not in str(refused.value)
    assert before is None or path.read_bytes() == before
    with pytest.raises(InputError, match=name):  # and not because it is still locked
        write()


@pytest.mark.parametrize("wrong", [{"used": 2**70}, {"name": "caf\udce9"}])
def test_lines_that_no_database_can_hold_are_refused_and_left_as_they_are(
    wrong: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    with store.open_store(path) as kept:
        kept.add([numbered(1)])
    path.write_text(json.dumps(json.loads(path.read_text()) | wrong) + "\n")
    before = path.read_bytes()
    for _ in range(2):  # and not because it is still locked
        with pytest.raises(InputError, match=r"a\.jsonl: cannot be used"):
            store.open_store(path)
    assert path.read_bytes() == before


def test_what_is_known_already_adds_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with store.open_store(path) as kept:
        kept.add([numbered(1), numbered(2)])
        for _ in range(2):
            kept.known(["1", "2", "3"])
            kept.rename([numbered(1)[0], numbered(3)[0]])
        assert len(path.read_bytes().splitlines()) == 2
        kept.rename([cell("logs", "1")])
        assert len(path.read_bytes().splitlines()) == 3


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "a.sqlite", Path("/proc/self/a.sqlite"), Path("/proc/self/a.jsonl")):
        with pytest.raises(InputError, match="cannot be"):
            store.open_store(path)
    with pytest.raises(InputError, match="there is no such file"):
        store.read_rows(tmp_path / "none.sqlite")


def test_where_nothing_can_be_locked_results_are_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def flock(*_arguments: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", flock)
    with store.open_store(tmp_path / "a.sqlite") as kept:
        assert isinstance(kept, store._Journal)
        kept.add([numbered(3)])
    assert "cannot be locked" in caplog.text
    assert store.read_rows(tmp_path / "a.sqlite")[0]["result"] == 9
    assert len(store.read_rows(tmp_path / "a.sqlite")) == 1


def test_the_mark_of_a_process_that_is_gone_is_no_hindrance(tmp_path: Path) -> None:
    mark = tmp_path / "a.jsonl.lock"
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    mark.write_text(f"{os.uname().nodename} {gone.stdout.decode()}")
    store.open_store(tmp_path / "a.jsonl").close()
    assert not mark.exists()
    mark.write_text("elsewhere 1")
    with pytest.raises(InputError, match="process 1 on elsewhere"):
        store.open_store(tmp_path / "a.jsonl")
    mark.write_text("")
    with pytest.raises(InputError, match=r"a process that does not say which writes this store; delete the"):
        store.open_store(tmp_path / "a.jsonl")


def test_a_mark_that_cannot_be_written_is_not_left_behind(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(InputError, match=r"a.jsonl.lock: cannot be used: File too large"):
            store.open_store(tmp_path / "a.jsonl")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not [*tmp_path.iterdir()]
    store.open_store(tmp_path / "a.jsonl").close()


# Keys


def test_equal_parts_have_equal_keys_in_every_order() -> None:
    assert cells.key_of(a=1, b=[2]) == cells.key_of(b=[2], a=1)
    assert cells.key_of(a=1, b=[2]) != cells.key_of(a=1, b=[3])


def test_a_change_in_one_room_is_none_in_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "PACKAGE", tmp_path)
    for name in (
        "models/base.py",
        "models/one/a.py",
        "models/other/a.py",
        "online/one/net.npz",
        "models/one/x.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def sources() -> list[str]:
        cells.look_again()
        return [cells.source_of(("models", "online"), (room,)) for room in ("one", "other")]

    def changed(name: str) -> list[bool]:
        before = sources()
        (tmp_path / name).write_text("new")
        return [one != other for one, other in zip(before, sources(), strict=True)]

    assert changed("models/one/a.py") == [True, False]
    assert changed("online/one/net.npz") == [True, False]
    assert changed("models/base.py") == [True, True]
    assert changed("models/one/x.txt") == [False, False]
    (tmp_path / "models" / ".#base.py").symlink_to("an editor's mark")
    assert sources() == sources()
    monkeypatch.undo()
    cells.look_again()


# Processes


@pytest.fixture(autouse=True)
def in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find the functions of the cells."""
    monkeypatch.syspath_prepend(HERE)


def run(*wanted: Cell, count: int = 2, limits: Limits | None = None) -> dict[str, Answer]:
    with Processes(count, limits) as executor:
        return {one.name: answer for answers in executor.run(wanted) for one, answer in answers}


def gone(process: int) -> bool:
    """Whether a process is no more, or a dead one that nobody has asked for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(process: int) -> None:
    """Return when a process has ended, which nobody here does; if it does not, neither does this."""
    while not gone(process):
        time.sleep(0.01)


def test_cells_that_fail_do_so_alone() -> None:
    found = run(
        *(cell(name) for name in ("fails", "exits", "returns_no_json", "prints", "returns_much", "missing")),
        cell("reports_half"),
        cell("square", n=5),
    )
    assert {name: answer.state.value for name, answer in found.items()} == {
        **dict.fromkeys(("fails", "exits", "returns_no_json", "missing", "reports_half"), "failed"),
        **dict.fromkeys(("prints", "returns_much", "square"), "done"),
    }
    assert found["fails"].error.endswith("ValueError: as it should\n")
    assert "SystemExit: no more" in found["exits"].error
    assert "not JSON serializable" in found["returns_no_json"].error
    assert "no attribute 'missing'" in found["missing"].error
    assert (found["prints"].result, len(found["returns_much"].result)) == ("true", 3_000_000)
    assert found["square"].result == 25
    assert "could not convert string to float: 'half'" in found["reports_half"].error
    assert all(answer.attempts == 1 for answer in found.values())


def test_a_copy_of_a_worker_says_nothing() -> None:
    found = run(cell("doubles_itself"), cell("square", n=5), count=1)
    assert [answer.result for answer in found.values()] == [1, 25]


def test_what_a_cell_starts_takes_no_line_of_its_worker() -> None:
    wanted = [cell("reads"), *(cell("square", n=n) for n in range(3))]
    found = run(*wanted, count=1, limits=Limits(seconds=60.0))
    assert [answer.result for answer in found.values()] == ["", 4]


@pytest.mark.parametrize(("times", "state"), [(2, State.DONE), (3, State.FAILED)])
def test_a_cell_whose_process_is_killed_is_begun_again(times: int, state: State, tmp_path: Path) -> None:
    found = run(cell("kills_itself", folder=str(tmp_path), times=times), count=1)["kills_itself"]
    assert (found.state, found.attempts) == (state, 3)
    assert len(list(tmp_path.iterdir())) == 3
    assert found.error == ("" if state is State.DONE else "its process ended by SIGKILL")


def test_a_signal_without_a_name_is_told_by_its_number() -> None:
    found = run(cell("dies_of", signal=40), cell("square", n=5), count=1)
    assert found["dies_of"].error == "its process ended by signal 40"
    assert found["square"].result == 25


def test_what_rests_on_what_changed_is_no_answer() -> None:
    found: list[Any] = []
    with Processes(1) as executor:
        running = executor.run([cell("rests_on_what_changed"), cell("square", n=5)])
        with pytest.raises(EngineError, match=r"^mine: its source changed meanwhile$"):
            found.extend(itertools.chain.from_iterable(running))
    assert found == []


PLACE = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n    ^^^\n'


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ("its process ended by SIGKILL", "its process ended by SIGKILL"),
        ("", ""),
        (f"{PLACE}ValueError: a\n", "ValueError: a"),
        (f"{PLACE}ValueError: server 3\n  while reading\n  table B\n", "ValueError: server 3"),
        (f"{PLACE}ValueError: a\n\nDuring that:\n\n{PLACE}KeyError: b\nwith a note\n", "KeyError: b"),
    ],
)
def test_what_was_raised_is_its_first_line(error: str, line: str) -> None:
    assert cells.raised(error) == line


@pytest.mark.parametrize("name", ["never_ends", "stops_the_clock_in_a_copy"])
def test_what_takes_too_much_time_is_ended(name: str) -> None:
    found = run(cell(name), limits=Limits(seconds=0.5))[name]
    assert (found.state, found.error, found.attempts) == (State.TIMED_OUT, "it took more than 0.5 s", 1)
    assert found.exceeded == {"seconds": 0.5}


def test_what_takes_too_much_memory_is_ended_alone() -> None:
    wanted = [cell("takes_memory", bytes=400 * 2**20), cell("square", n=5)]
    found = run(*wanted, limits=Limits(memory=300 * 2**20))
    assert found["takes_memory"].state is State.FAILED
    assert found["takes_memory"].error == "it took more than 300 MiB of memory"
    assert found["takes_memory"].exceeded == {"memory": 300 * 2**20}
    assert found["square"].result == 25


@pytest.mark.parametrize("dies", [False, True])
def test_what_a_cell_leaves_running_ends_with_its_worker(dies: bool, tmp_path: Path) -> None:
    found = run(cell("leaves_a_process", dies=dies, folder=str(tmp_path)), count=1)
    (answer,) = found.values()
    assert answer.state is (State.FAILED if dies else State.DONE)
    left = [int(path.name) for path in tmp_path.iterdir()]
    assert len(left) == answer.attempts == (3 if dies else 1)
    for process in left:
        wait_until_gone(process)


def test_a_run_that_is_left_ends_what_is_being_run() -> None:
    with Processes(1) as executor:
        running = executor.run([cell("never_ends")])
        while not executor.fractions.get(cell("never_ends").key):
            assert next(running) == []
        assert executor.fractions == {cell("never_ends").key: 0.25}
        (worker,) = executor._workers
        running.close()
        assert executor.fractions == {}
        assert gone(worker.pid)
        assert [answer.result for found in executor.run([cell("square", n=3)]) for _, answer in found] == [9]


def test_workers_serve_several_runs_in_the_order_of_the_cells() -> None:
    with Processes(1) as executor:
        begun = [
            [
                one.arguments["n"]
                for found in executor.run([cell("square", n=n) for n in some])
                for one, _ in found
            ]
            for some in (range(5), range(5, 9))
        ]
        assert begun == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]
        assert len(executor._workers) == 1


def test_a_worker_that_died_while_it_had_nothing_to_do_is_replaced() -> None:
    with Processes(1) as executor:
        assert [*executor.run([cell("square", n=3)])]
        os.kill(executor._workers[0].pid, signal.SIGKILL)
        found = [pair for answers in executor.run([cell("square", n=4)]) for pair in answers]
        assert [answer.result for _, answer in found] == [16]


def test_processes_that_cannot_begin_are_no_fault_of_cells(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(processes, "WORKER", "this_does_not_start")
    monkeypatch.setattr(processes, "FALSE_STARTS", 3)
    with store.open_store(tmp_path / "a.sqlite") as kept, Processes(1) as executor:
        with pytest.raises(EngineError, match="3 workers in a row"):
            engine.run_cells([cell("square", n=1)], kept, executor)
        assert [*kept.rows()] == []
    assert "this_does_not_start" in capfd.readouterr().err


def test_a_process_that_cannot_be_started_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(EngineError, match="a process cannot be started: No such file or directory"):
        run(cell("square", n=1))


def test_limits_and_counts_that_are_none_are_refused() -> None:
    for wrong in ({"seconds": 0.0}, {"memory": -1}):
        with pytest.raises(InputError, match="is not above 0"):
            Limits(**wrong)
    for count in (0, 1.5, "2", True):
        with pytest.raises(InputError, match=f"workers: {count!r} is not a whole number of at least 1"):
            Processes(count)  # type: ignore[arg-type]


def test_the_clock_of_a_cell_stands_while_its_worker_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("clairvoyant.models.stopwatch.now", lambda: now)
    clock = processes.Clock()
    now = 5.0
    clock.stop(True)
    now = 9.0
    assert clock.seconds == 5.0
    clock.stop(False)
    now = 10.0
    assert clock.seconds == 6.0
    clock.stop(True)
    clock.start()
    now = 30.0
    assert clock.seconds == 0.0


def test_what_a_worker_takes_to_load_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, limits = 0.0, Limits(seconds=1.0)
    monkeypatch.setattr("clairvoyant.models.stopwatch.now", lambda: now)
    worker = processes.Worker()
    try:
        worker.hand(cell("sleeps", log=os.devnull), 1)
        now = 100.0
        assert worker.over(limits) is None
        while worker.over(limits) is None:  # as soon as it is begun
            assert worker.read() is None
            now += 0.6
        now += processes.LOADING
        worker._clock.stop(True)
        assert worker.over(Limits()) is None
        now += processes.LOADING + 1.0
        hangs = worker.over(Limits())
        assert hangs is not None
        assert hangs.error == "its libraries or kernels were not loaded within 600 s"
    finally:
        worker.end()


@pytest.mark.parametrize("part", [math.nan, -1.0, 0.25, 7.0])
def test_how_far_a_cell_is_lies_between_0_and_1(part: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_worker, "REPORT_EVERY", 0.0)
    told = io.BytesIO()
    engine_worker._reporter(told)(part)
    assert json.loads(told.getvalue()) == {"fraction": {0.25: 0.25, 7.0: 1.0}.get(part, 0.0)}


# Source


@pytest.fixture
def of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the file of a module that another distribution seems to bring; forget what source there was."""
    path = tmp_path / "module_of_others.py"
    path.write_text("NUMBER = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    brought = EntryPoint("x", f"{path.stem}:X", "clairvoyant.policies")
    monkeypatch.setattr(cells, "entry_points", lambda **_group: [brought])
    cells._brought.cache_clear()
    cells.look_again()
    yield path
    monkeypatch.undo()
    cells._brought.cache_clear()
    cells.look_again()


def test_a_process_that_begins_from_other_source_is_refused(of_others: Path, tmp_path: Path) -> None:
    with store.open_store(tmp_path / "a.sqlite") as kept, Processes(1) as executor:

        def take(_cell: Cell, _answer: Answer) -> None:
            of_others.write_text("NUMBER = 2\n")
            os.kill(executor._workers[0].pid, signal.SIGKILL)

        wanted = [cell("square", n=n) for n in range(3)]
        with pytest.raises(EngineError) as refused:
            engine.run_cells(wanted, kept, executor, take=take)
        told = r"process \d+: its source of clairvoyant: it is not the one here; saved: 1 of 3 cells"
        assert re.fullmatch(told, str(refused.value))
        assert [row["result"] for row in kept.rows()] == [0]
        cells.look_again()
        assert len(engine.run_cells(wanted[:2], kept, executor)) == 2


@pytest.mark.parametrize("how", ["answers", "ends", "takes too long"])
def test_what_loads_a_module_that_was_changed_is_refused(how: str, of_others: Path) -> None:
    found: list[Any] = []
    with Processes(1, Limits(seconds=0.5)) as executor:
        running = executor.run([cell("changes", file=str(of_others), how=how)])
        with pytest.raises(EngineError, match="its source of clairvoyant"):
            found.extend(itertools.chain.from_iterable(running))
    assert found == []
    assert of_others.read_text() != "NUMBER = 1\n"


def test_processes_of_an_earlier_look_are_replaced(of_others: Path) -> None:
    with Processes(1) as executor:
        pids = []
        for number in (1, 2, 2):
            if not of_others.read_text().startswith(f"NUMBER = {number}"):
                of_others.write_text(f"NUMBER = {number}  # of another length, too\n")
            cells.look_again()
            (found,) = [pair for ended in executor.run([cell("imports")]) for pair in ended]
            assert found[1].result == number
            pids.append(executor._workers[0].pid)
    assert pids[0] != pids[1] == pids[2]


def test_what_was_only_written_anew_is_the_same(of_others: Path) -> None:
    with Processes(1) as executor:
        assert len([*executor.run([cell("square", n=1)])]) > 0
        os.kill(executor._workers[0].pid, signal.SIGKILL)
        of_others.with_suffix(".new").write_bytes(of_others.read_bytes())
        of_others.with_suffix(".new").replace(of_others)
        found = [answer.result for ended in executor.run([cell("imports")]) for _, answer in ended]
    assert found == [1]


def test_what_was_changed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text("1")
    cells.look_again()
    assert cells.changed() == "it is not the one here"
    (tmp_path / "b.py").write_text("2")
    assert cells.changed() == "b.py changed meanwhile"
    (tmp_path / "b.py").replace(tmp_path / "a.py")  # of the same size
    assert cells.changed() == "a.py changed meanwhile"
    (tmp_path / "a.py").replace(tmp_path / "b.py")
    assert cells.changed() == "a.py and 1 more changed meanwhile"
    monkeypatch.undo()
    cells.look_again()


def test_a_library_of_another_version_and_a_damaged_file_of_others_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> str:
        cells.look_again()
        return cells.last_look().contents

    monkeypatch.syspath_prepend(tmp_path)
    before = told()
    (tmp_path / "other-1.0.dist-info").mkdir()
    assert told() == before
    numpy = tmp_path / "numpy-0.1.dist-info"
    numpy.mkdir()
    (numpy / "METADATA").write_text("Name: numpy\nVersion: 0.1\n")
    assert told() != before
    assert cells.last_look().edition["numpy"] == "0.1"
    monkeypatch.setattr(cells, "entry_points", lambda **_group: 1 / 0)
    assert cells._brought(("something else is installed",))[0] == ()
    monkeypatch.undo()
    cells.look_again()
    assert cells.last_look().edition["numpy"] != "0.1"


# Runs


class Recorded:
    """An executor that answers at once, and keeps what it was asked."""

    def __init__(self, interrupt_after: int | None = None) -> None:
        self.asked: list[str] = []
        self.limits = Limits()
        self._left = interrupt_after

    @property
    def fractions(self) -> dict[str, float]:
        return {}

    def run(self, wanted: Any) -> Iterator[list[tuple[Cell, Answer]]]:
        for one in wanted:
            if self._left == 0:
                raise KeyboardInterrupt
            self._left = None if self._left is None else self._left - 1
            self.asked.append(one.key)
            state = State.FAILED if one.arguments["n"] == 2 else State.DONE
            yield [(one, replace(numbered(one.arguments["n"])[1], state=state))]


def test_only_what_is_not_known_is_computed_and_once(tmp_path: Path) -> None:
    wanted = [numbered(n)[0] for n in (1, 2, 3, 1)]
    told: list[tuple[float, str]] = []
    with store.open_store(tmp_path / "a.sqlite") as kept:
        first = Recorded()
        found = engine.run_cells(wanted[:2], kept, first)
        assert (first.asked, found["2"].state) == (["1", "2"], State.FAILED)
        second = Recorded()
        found = engine.run_cells(wanted, kept, second, progress=lambda *now: told.append(now), what="games")
        assert (second.asked, [*found]) == (["3"], ["1", "2", "3"])
        assert told[0] == (2 / 3, "2 of 3 games, 2 of them taken from the store, 1 failed")
        assert told[-1] == (1.0, "3 of 3 games, 2 of them taken from the store, 1 failed")
        again = Recorded()
        engine.run_cells(wanted, kept, again, retry={State.FAILED})
        assert again.asked == ["2"]


def test_answers_under_limits_that_are_raised_are_computed_anew(tmp_path: Path) -> None:
    slow, large, old, broken = (numbered(n)[0] for n in (4, 5, 6, 7))
    failed = Answer(State.FAILED, None, "it fails")
    answers = [
        (slow, Answer(State.TIMED_OUT, None, "slow", 5.0, 1, {"seconds": 5.0})),
        (large, replace(failed, exceeded={"memory": 1000})),
        (broken, failed),
    ]

    def asked(seconds: float | None, memory: int | None) -> list[str]:
        with store.open_store(tmp_path / f"{seconds} {memory}.jsonl") as kept:
            kept.add([*answers, (old, Answer(State.TIMED_OUT))])
            executor = Recorded()
            executor.limits = Limits(seconds, memory)
            engine.run_cells([slow, large, old, broken], kept, executor)
            return executor.asked

    assert asked(4.0, 999) == asked(5.0, 1000) == ["6"]
    assert asked(5.1, 1000) == asked(None, 1000) == ["4", "6"]
    assert asked(5.0, 1001) == asked(5.0, None) == ["5", "6"]
    assert asked(None, None) == ["4", "5", "6"]


def test_an_interrupted_run_says_what_is_saved_and_goes_on_from_it(tmp_path: Path) -> None:
    wanted = [numbered(n)[0] for n in range(4, 9)]
    with store.open_store(tmp_path / "a.sqlite") as kept:
        with pytest.raises(engine.Interrupted, match="saved: 3 of 5 cells") as stopped:
            engine.run_cells(wanted, kept, Recorded(interrupt_after=3))
        assert (stopped.value.saved, stopped.value.total) == (3, 5)
        rest = Recorded()
        engine.run_cells(wanted, kept, rest)
        assert rest.asked == ["7", "8"]


def test_an_answer_that_was_kept_when_ctrl_c_came_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [numbered(n)[0] for n in range(4, 9)]
    with store.open_store(tmp_path / "a.sqlite") as kept:
        engine.run_cells(wanted[:1], kept, Recorded())
        add = kept.add

        def late(answers: Any) -> None:
            add(answers)
            raise KeyboardInterrupt

        monkeypatch.setattr(kept, "add", late)
        with pytest.raises(engine.Interrupted, match="saved: 2 of 5 cells"):
            engine.run_cells(wanted, kept, Recorded())


def test_times_are_told_in_units_that_people_use() -> None:
    assert [engine.duration(seconds) for seconds in (0.4, 119, 120, 7300, 200_000)] == [
        *("0 s", "119 s", "2 min", "2 h", "2 days"),
    ]


ALONE = """
import sys
from clairvoyant.analysis.engine.cells import Cell
from clairvoyant.analysis.engine.processes import Processes
[*Processes(1).run([Cell("a", "a", "engine_cells:sleeps", {"log": sys.argv[1]})])]
"""


def seeing() -> dict[str, str]:
    """Return an environment in which the functions of the cells are found."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}


def test_a_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with subprocess.Popen([sys.executable, "-c", ALONE, str(log)], env=seeing()) as driver:
        while not (log.exists() and log.read_text().endswith("\n")):
            assert driver.poll() is None
            time.sleep(0.01)
        driver.kill()
    wait_until_gone(int(log.read_text()))


def test_a_worker_ends_with_its_driver_even_in_a_kernel(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with subprocess.Popen(
        [sys.executable, "-c", ALONE.replace("sleeps", "spins"), str(log)], env=seeing()
    ) as driver:
        while not (log.exists() and log.read_text().endswith("\n")):
            assert driver.poll() is None
            time.sleep(0.01)
        driver.kill()
    worker = int(log.read_text())
    try:
        for _ in range(3000):  # the kernel itself takes centuries
            if not gone(worker):
                time.sleep(0.02)
        assert gone(worker)
    finally:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


DRIVER = """
import sys
from pathlib import Path
from clairvoyant.analysis.engine.cells import Cell
from clairvoyant.analysis.engine.engine import run_cells
from clairvoyant.analysis.engine.processes import Processes
from clairvoyant.analysis.engine.store import open_store
path, log = sys.argv[1:]
cells = [Cell(str(n), str(n), "engine_cells:logs", {"n": n, "log": log}) for n in range(60)]
with open_store(Path(path)) as kept, Processes(2) as executor:
    def tell(fraction, _text):
        print(round(60 * fraction), *[worker.pid for worker in executor._workers], flush=True)
        sys.stdin.readline()
    run_cells(cells, kept, executor, progress=tell)
"""


@contextmanager
def driven(path: Path) -> Iterator[tuple[subprocess.Popen[str], Iterator[list[int]]]]:
    """Run 60 cells in another process; give it, and how many are done with the workers, again and again.

    The process waits whenever it has told that, until more is asked for.
    """
    command = [sys.executable, "-c", DRIVER, str(path), str(path.with_name("log"))]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=seeing(), **pipes) as driver:
        yield driver, told(driver)


def told(driver: subprocess.Popen[str]) -> Iterator[list[int]]:
    assert driver.stdin is not None
    assert driver.stdout is not None
    for line in driver.stdout:
        yield [*map(int, line.split())]
        driver.stdin.write("\n")
        driver.stdin.flush()


def begun(path: Path) -> list[str]:
    return path.with_name("log").read_text().splitlines()


def squares(path: Path) -> list[int]:
    return [row["result"] for row in sorted(store.read_rows(path), key=lambda row: int(row["key"]))]


@KINDS
def test_a_driver_that_is_killed_loses_no_cell_and_computes_none_again(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    before, kept = 0, set[str]()
    for most in (10, 35):
        with driven(path) as (driver, said):
            next(driver for done, *_ in said if done >= most).kill()
            driver.communicate()
        assert kept.isdisjoint(begun(path)[before:])
        before, kept = len(begun(path)), {row["key"] for row in store.read_rows(path)}
        assert most <= len(kept) < 60
    with driven(path) as (_, said):
        assert [*said][-1][0] == 60
    assert kept.isdisjoint(begun(path)[before:])
    assert squares(path) == [n * n for n in range(60)]


def test_workers_that_are_killed_cost_nothing_but_time(tmp_path: Path) -> None:
    path, wanted = tmp_path / "a.sqlite", [5, 20, 40]
    with driven(path) as (_, said):
        for done, *workers in said:
            if wanted and done >= wanted[0] and workers:
                os.kill(workers[0], signal.SIGKILL)
                wanted.pop(0)
    assert not wanted
    assert squares(path) == [n * n for n in range(60)]
    assert 60 <= len(begun(path)) <= 63


def test_workers_take_modules_from_where_the_driver_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queue.py").write_text("raise SystemExit('of the folder one stands in')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*map(Path, sys.path)])  # some programs put a Path there
    with Processes(1) as one:
        found = [answer for ended in one.run([cell("square", n=3)]) for _, answer in ended]
    assert [answer.result for answer in found] == [9]


def test_an_error_that_cannot_be_written_as_it_is_harms_no_other(tmp_path: Path) -> None:
    with store.open_store(tmp_path / "store.sqlite") as kept:
        kept.add([(cell("square", n=1), Answer(State.FAILED, None, "caf\udce9"))])
    (row,) = store.read_rows(tmp_path / "store.sqlite")
    assert row["error"] == r"caf\udce9"


def test_a_store_that_lost_its_table_is_refused_and_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opened, connect = tmp_path / "store.sqlite", list[sqlite3.Connection](), sqlite3.connect
    store.open_store(path).close()
    damaging = connect(path)
    damaging.executescript("DROP TABLE cell; CREATE TABLE other (x)")
    damaging.close()

    def connect_and_remember(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connect_and_remember)
    for _ in range(2):  # the second time nothing is locked either
        with pytest.raises(InputError, match="cannot be used: it is not a store of results"):
            store.open_store(path)
    assert len(opened) == 2
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
