"""The audit: order, files, what an interrupted one leaves, and how errors come out."""

import json
import os
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clairvoyant import api
from clairvoyant.analysis import audit as module
from clairvoyant.analysis.audit import (
    PARTIAL,
    CheckError,
    ForeignCheckError,
    source_digest,
)
from clairvoyant.analysis.claim import Claim, Context, Figure, Finding, Table, Verdict
from clairvoyant.analysis.engine.cells import Answer, Cell, State
from clairvoyant.analysis.engine.engine import Interrupted
from clairvoyant.analysis.engine.kept import CHECK, intact
from clairvoyant.analysis.engine.store import open_store, read_rows
from clairvoyant.analysis.findings import check_id
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.base import InputError
from clairvoyant.problems import claims, read_instance

HOLDS = Finding(Verdict.HOLDS, "fine")


@pytest.fixture(autouse=True)
def every_file_is_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Since 3.13 Python warns of a connection that is never closed, in whatever test comes next."""
    connect = sqlite3.connect
    opened: list[sqlite3.Connection] = []

    def connect_and_remember(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connect_and_remember)
    yield
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def claim(name: str, check: Callable[[Context], Finding], expected: Verdict = Verdict.HOLDS) -> Claim:
    return Claim(name, "Theorem 1", "It holds.", "By looking.", expected, check)


class Recorder:
    """Claims a/0 to a/n-1 whose checks note that they ran; claim ``stop`` raises instead."""

    def __init__(self, count: int, stop: int | None = None, error: type[BaseException] = KeyboardInterrupt):
        self.ran: list[int] = []
        self.stop, self.error = stop, error
        self.claims = [claim(f"a/{n}", partial(self.check, n)) for n in range(count)]

    def check(self, n: int, context: Context) -> Finding:
        if n == self.stop:
            raise self.error("stop")
        self.ran.append(n)
        return Finding(Verdict.HOLDS, f"claim {n}", {"seed": context.seed, "mode": context.mode})


def audit(out: Path, catalogue: Sequence[Claim], **options: Any) -> list[tuple[Claim, Finding]]:
    return api.audit(catalogue=catalogue, out=out, **{"workers": 1, **options})


def rich(context: Context) -> Finding:
    """Everything a finding can hold."""
    numbers: dict[str, Any] = {"a": np.float64(0.1), "b": np.int64(3), "c": np.bool_(True)}
    return Finding(
        Verdict.REFUTED,
        "no",
        {**numbers, "d": float("nan"), "e": float("-inf")},
        (Table("t", ("x", "y (s)"), (("é", np.float32(0.5)), (None, 2))),),
        (Figure("picture", "a caption", "<svg/>"),),
        generate("tiny", context.seed),
    )


def test_findings_come_in_the_order_of_the_claims_with_progress(tmp_path: Path) -> None:
    told: list[tuple[float, str]] = []

    def half(context: Context) -> Finding:
        context.progress(0.5)
        return HOLDS

    claims = [claim("b/first", half), claim("a/second", half)]
    found = audit(tmp_path, claims, progress=lambda fraction, text: told.append((fraction, text)))
    assert [c.id for c, _ in found] == ["b/first", "a/second"]
    assert [fraction for fraction, _ in told] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert told[-1][1] == "2 of 2 claims; a/second: holds"


def test_the_mode_and_the_seed_reach_the_check(tmp_path: Path) -> None:
    [(_, finding)] = audit(tmp_path, Recorder(1).claims, mode="quick", seed=7)
    assert finding.numbers == {"seed": 7, "mode": "quick"}


def test_every_finding_becomes_files(tmp_path: Path) -> None:
    [(_, finding)] = audit(tmp_path, [claim("a/rich", rich)], seed=3, mode="full")
    assert finding.counterexample == generate("tiny", 3)
    assert finding.tables[0].rows == (("é", 0.5), (None, 2))
    data = json.loads((tmp_path / "findings/a/rich.json").read_text(), parse_constant=pytest.fail)
    assert data["numbers"] == {"a": 0.1, "b": 3, "c": True, "d": "nan", "e": "-inf"}
    assert data["figures"] == [{"name": "picture", "caption": "a caption", "file": "figures/picture.svg"}]
    assert data["command"] == "clairvoyant audit --claim a/rich --full --seed 3"
    assert (tmp_path / "figures/picture.svg").read_text() == "<svg/>\n"
    assert type(finding.counterexample).load(tmp_path / data["counterexample"]) == finding.counterexample
    assert {path.name for path in tmp_path.iterdir()} == {"findings", "figures", "counterexamples"}


def test_the_same_seed_leaves_the_same_bytes(tmp_path: Path) -> None:
    def files(out: Path) -> dict[str, bytes]:
        audit(out, [claim("a/rich", rich)])
        return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_a_counterexample_of_an_earlier_audit_is_removed(tmp_path: Path) -> None:
    audit(tmp_path, [claim("a/x", rich)])
    audit(tmp_path, [claim("a/x", lambda _context: HOLDS)])
    assert not (tmp_path / "counterexamples/a/x.json").exists()


def test_an_interrupted_audit_is_continued(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="saved: 2 of 4 claims") as caught:
        audit(tmp_path, Recorder(4, stop=2).claims)
    assert (caught.value.saved, caught.value.total) == (2, 4)
    assert isinstance(caught.value, KeyboardInterrupt)
    second = Recorder(4)
    found = audit(tmp_path, second.claims)
    assert second.ran == [2, 3]
    assert [finding.headline for _, finding in found] == [f"claim {n}" for n in range(4)]
    third = Recorder(4)
    audit(tmp_path, third.claims)
    assert third.ran == [0, 1, 2, 3]  # a complete audit leaves nothing to continue


def test_what_is_taken_over_equals_what_was_found(tmp_path: Path) -> None:
    claims = [claim("a/rich", rich), *Recorder(1, stop=0).claims]
    with pytest.raises(Interrupted):
        audit(tmp_path / "broken", claims)
    (tmp_path / "broken/figures/picture.svg").unlink()
    claims[1] = Recorder(1).claims[0]
    taken, fresh = (dict(audit(tmp_path / name, claims))[claims[0]] for name in ("broken", "whole"))
    assert repr(taken) == repr(fresh)
    assert taken.counterexample == fresh.counterexample
    assert (tmp_path / "broken/figures/picture.svg").exists()


@pytest.mark.parametrize("change", ["seed", "mode", "source"])
def test_stale_findings_are_not_taken_over(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Interrupted):
        audit(tmp_path, Recorder(3, stop=2).claims)
    options: dict[str, Any] = {}
    if change == "source":
        monkeypatch.setattr(module, "source_digest", lambda _claims: "another")
    else:
        options[change] = {"seed": 1, "mode": "quick"}[change]
    again = Recorder(3)
    audit(tmp_path, again.claims, **options)
    assert again.ran == [0, 1, 2]


def test_an_audit_of_some_claims_leaves_the_larger_one_to_be_continued(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        audit(tmp_path, Recorder(4, stop=2).claims)
    some = Recorder(4)
    audit(tmp_path, some.claims, claims=["a/0", "a/3"])
    assert some.ran == [3]
    rest = Recorder(4)
    audit(tmp_path, rest.claims)
    assert rest.ran == [2]
    assert not (tmp_path / PARTIAL).exists()


def test_what_is_out_of_date_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        audit(tmp_path, Recorder(4, stop=2).claims)
    audit(tmp_path, Recorder(4).claims, claims=["a/3"], seed=1)
    assert not (tmp_path / PARTIAL).exists()


def test_the_source_digest_depends_on_the_modules_of_own_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "own_claims_digest.py"
    path.write_text("def check(context): ...\n")
    own = [claim("a/x", partial(__import__("own_claims_digest").check))]
    first = source_digest(own)
    assert first == source_digest(own)
    assert first != source_digest()
    path.write_text("def check(context): return None\n")
    assert source_digest(own) != first


def test_an_exception_in_a_check_stops_the_audit_and_saves_the_rest(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match=r"(?s)^a/2: Traceback.*ZeroDivisionError: stop"):
        audit(tmp_path, Recorder(4, stop=2, error=ZeroDivisionError).claims)
    again = Recorder(4)
    audit(tmp_path, again.claims)
    assert again.ran == [2, 3]


@pytest.mark.parametrize(
    ("finding", "message"),
    [
        (Finding(Verdict.HOLDS, "", {"x": object()}), "is no text, number"),  # type: ignore[dict-item]
        (Finding(Verdict.HOLDS, "", tables=(Table("t", ("x",), (([1],),)),)), "is no text, number"),
        (None, "a/x: its check returned NoneType, not a Finding"),
    ],
)
def test_what_is_no_finding_is_an_error(tmp_path: Path, finding: Any, message: str) -> None:
    with pytest.raises(CheckError, match=message):
        audit(tmp_path, [claim("a/x", lambda _context: finding)])


def test_two_claims_must_not_share_the_name_of_a_figure(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="a/y: a/x has a figure named 'picture' too"):
        audit(tmp_path, [claim("a/x", rich), claim("a/y", rich)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problems": ["nowhere"]}, "problem with claims: 'nowhere' is not one of a, b"),
        ({"claims": ["a/9"]}, "claim: 'a/9' is not one of a/0, a/1, b/0"),
        ({"mode": "huge"}, "mode: 'huge' is not one of quick, default, full"),
        ({"workers": 0}, "workers: 0"),
    ],
)
def test_unknown_names_are_refused_before_any_work(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    recorder = Recorder(2)
    with pytest.raises(InputError, match=message):
        audit(tmp_path / "out", [*recorder.claims, claim("b/0", rich)], **options)
    assert recorder.ran == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("options", "ran"), [({"problems": "b"}, ["b/0"]), ({"claims": "a/1"}, ["a/1"])])
def test_one_name_may_stand_alone(tmp_path: Path, options: dict[str, Any], ran: list[str]) -> None:
    found = audit(tmp_path, [*Recorder(2).claims, claim("b/0", rich)], **options)
    assert [one.id for one, _ in found] == ran


@pytest.mark.parametrize("name", ["plain", "a/", "a/../b", "a/b/c", "a/b c"])
def test_ids_that_cannot_name_files_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not of the form problem/name"):
        audit(tmp_path, [claim(name, rich)])


def test_an_id_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'a/0' is there twice"):
        audit(tmp_path, [*Recorder(1).claims, *Recorder(1).claims])


def raises(_context: Context) -> Finding:
    raise SystemExit("no licence")


class Damaged(AllocationInstance):
    """Counterexamples that cannot be read again."""

    def to_dict(self) -> dict[str, Any]:
        return {"problem": "nothing"}


def damaged(_context: Context) -> Finding:
    return Finding(Verdict.REFUTED, "no", counterexample=Damaged.from_dict(generate("tiny").to_dict()))


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (raises, "SystemExit: no licence"),
        (
            lambda _context: 3,
            "clairvoyant.models.checks.InputError: a/b: its check returned int, not a Finding",
        ),
        (damaged, r"clairvoyant\.models\.checks\.InputError: problem: 'nothing' is not one of .*"),
        (rich, "a/b: b/rich has a figure named 'picture' too"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_check_of_others_that_fails_keeps_none_from_being_checked(
    tmp_path: Path, check: Callable[[Context], Finding], why: str, first: bool
) -> None:
    recorder, own = Recorder(2), [claim("b/rich", rich)]
    theirs = claim("a/b", check)
    catalogue = [theirs, *own, *recorder.claims] if first else [*own, *recorder.claims, theirs]
    options: dict[str, Any] = {"out": tmp_path, "workers": 1, "read": read_instance}
    with pytest.raises(ForeignCheckError) as caught:
        module.run_audit(catalogue=catalogue, owners={"a/b": "stranger"}, **options)
    assert [one.id for one, _ in caught.value.results] == ["b/rich", "a/0", "a/1"]
    (told,) = caught.value.failed.values()
    assert re.fullmatch(f"its check, from stranger, failed: {why.replace('a/b: b/', '(a/b: )?b/')}", told)
    assert str(caught.value) == f"claim a/b: {told}"
    assert (tmp_path / PARTIAL).exists()
    if check is not rich:
        with pytest.raises(CheckError, match=r"^a/b: Traceback"):
            module.run_audit(catalogue=catalogue, **options)


def test_a_check_of_others_that_cannot_travel_to_a_worker_is_theirs(tmp_path: Path) -> None:
    theirs = claim("a/x", lambda _context: HOLDS)
    with pytest.raises(ForeignCheckError, match=r"^claim a/x: its check, from stranger, failed: .*<lambda>"):
        module.run_audit(
            catalogue=[theirs], owners={"a/x": "stranger"}, out=tmp_path, workers=2, read=read_instance
        )


def test_claims_can_be_chosen_by_problem_and_by_id(tmp_path: Path) -> None:
    claims = [*Recorder(2).claims, claim("b/0", lambda _context: HOLDS)]
    chosen = audit(tmp_path, claims, problems=["a"], claims=["a/1", "b/0"])
    assert [c.id for c, _ in chosen] == ["a/1"]


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    recorder = Recorder(1)
    with pytest.raises(InputError, match="cannot be made a folder"):
        audit(tmp_path / "file", recorder.claims)
    (tmp_path / PARTIAL).mkdir()
    with pytest.raises(InputError, match="it is not a regular file"):
        audit(tmp_path, recorder.claims)
    assert recorder.ran == []


def test_a_saved_audit_that_is_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / PARTIAL).write_text("this is not what an audit writes" * 100)
    with pytest.raises(InputError, match="it is not a store of results"):
        audit(tmp_path, Recorder(1).claims)


def test_two_audits_in_one_folder_are_refused(tmp_path: Path) -> None:
    def nested(_context: Context) -> Finding:
        return audit(tmp_path, Recorder(1).claims)[0][1]

    with pytest.raises(CheckError, match="another process is writing this store"):
        audit(tmp_path, [claim("a/x", nested)])


def test_a_finding_is_what_its_claim_expects_or_not(tmp_path: Path) -> None:
    found = audit(tmp_path, [claim("a/x", rich), claim("a/y", rich_without_files, Verdict.REFUTED)])
    assert [(one.id, one.as_expected(finding)) for one, finding in found] == [("a/x", False), ("a/y", True)]


def rich_without_files(_context: Context) -> Finding:
    return Finding(Verdict.REFUTED, "no", proof="1 < 2")


# Several processes: the claims live in a module that the workers import.

CLAIMS = """
import os, time
from functools import partial
from pathlib import Path
from clairvoyant.analysis.engine.store import read_rows
from clairvoyant.analysis.claim import Claim, Finding, Verdict

LOCKS = []
LOG = Path(__file__).with_name("log")

def check(n, context):
    with LOG.open("a") as log:
        log.write(f"{n} {os.getpid()} {os.environ['OMP_NUM_THREADS']}\\n")
    import multiprocessing
    LOCKS.append(multiprocessing.Lock())  # as Pyomo does when it is imported
    while n == SLOW and not LOG.with_name("go on").exists():
        context.progress(0.5)
        time.sleep(0.05)
    if n == WRONG:
        raise ValueError("wrong")
    if n == DEAD:
        os._exit(9)
    return Finding(Verdict.HOLDS, f"claim {n}")

CLAIMS = [
    Claim(f"a/{n}", "here", "says", "how", Verdict.HOLDS, partial(check, n)) for n in range(6)
]
"""

RUN = """
import sys
from pathlib import Path
from clairvoyant.analysis.engine.engine import Interrupted
from clairvoyant.api import audit
import some_claims

if __name__ == "__main__":
    def tell(fraction, text):
        print(f"{fraction:.3f} {text}", flush=True)
    try:
        found = audit(catalogue=some_claims.CLAIMS, out=Path(sys.argv[1]), workers=2, progress=tell)
    except Interrupted as stopped:
        print("saved", stopped.saved, "of", stopped.total)
        sys.exit(130)
    print([finding.headline for _, finding in found])
"""


PATIENCE = 600.0
"""Seconds after which something hangs, on any machine."""


def read_until(process: subprocess.Popen[str], text: str) -> None:
    """Read what an audit tells until a line holds the text."""
    assert process.stdout is not None
    assert any(text in line for line in process.stdout)


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Apart:
    """An audit with two workers in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "run.py").write_text(RUN)

    def begin(self, slow: int = -1, wrong: int = -1, dead: int = -1) -> subprocess.Popen[str]:
        text = CLAIMS.replace("SLOW", str(slow)).replace("WRONG", str(wrong)).replace("DEAD", str(dead))
        (self.folder / "some_claims.py").write_text(text)
        command = [sys.executable, "run.py", str(self.folder / "out")]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    def ran(self) -> list[tuple[int, ...]]:
        lines = (self.folder / "log").read_text().splitlines()
        return [tuple(map(int, line.split())) for line in lines]

    def workers_are_gone(self) -> bool:
        deadline = time.monotonic() + PATIENCE
        pids = {pid for _, pid, _ in self.ran()}
        while any(map(lives, pids)):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


@pytest.fixture
def apart(tmp_path: Path) -> Apart:
    return Apart(tmp_path)


def test_workers_share_the_claims(apart: Apart) -> None:
    process = apart.begin()
    output, errors = process.communicate(timeout=PATIENCE)
    assert errors == ""
    assert output.splitlines()[-1] == str([f"claim {n}" for n in range(6)])
    assert sorted(n for n, _, _ in apart.ran()) == list(range(6))
    assert process.pid not in {pid for _, pid, _ in apart.ran()}
    assert {threads for _, _, threads in apart.ran()} == {1}
    fractions = [float(line.split()[0]) for line in output.splitlines()[:-1]]
    assert fractions == sorted(fractions)


@pytest.mark.parametrize("group", [False, True], ids=["process", "terminal"])
def test_an_interrupt_saves_what_is_finished_and_leaves_no_process(apart: Apart, group: bool) -> None:
    process = apart.begin(slow=3)
    read_until(process, "5 of 6 claims")  # the other worker has done everything but the slow one
    if group:
        os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    else:
        process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, "")
    assert output.splitlines()[-1] == "saved 5 of 6"
    assert apart.workers_are_gone()


def test_a_killed_audit_leaves_no_process_and_is_continued(apart: Apart) -> None:
    process = apart.begin(slow=3)
    read_until(process, "5 of 6 claims")
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert apart.workers_are_gone()
    (apart.folder / "log").unlink()
    (apart.folder / "go on").touch()
    output, _ = apart.begin(slow=3).communicate(timeout=PATIENCE)
    assert output.splitlines()[-1] == str([f"claim {n}" for n in range(6)])
    assert [n for n, _, _ in apart.ran()] == [3]


def test_an_exception_in_a_worker_comes_out_with_its_traceback(apart: Apart) -> None:
    process = apart.begin(wrong=0)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "CheckError: a/0: Traceback" in errors
    assert "ValueError: wrong" in errors
    kept = {row["name"]: row["state"] for row in read_rows(apart.folder / "out" / PARTIAL)}
    assert kept.pop("a/0") == "failed"
    assert set(kept.values()) <= {"done"}


def test_a_worker_that_dies_is_an_error(apart: Apart) -> None:
    process = apart.begin(dead=5)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "CheckError: a/" in errors
    assert "its process ended with status 9" in errors


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Claim]:
    name = f"claims_of_{tmp_path.name.replace('-', '_')}"
    text = CLAIMS.replace("SLOW", "-1").replace("WRONG", "4").replace("DEAD", "-1")
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    claims: list[Claim] = __import__(name).CLAIMS
    return claims


def test_two_workers_find_what_one_finds(importable: list[Claim], tmp_path: Path) -> None:
    good = [c for c in importable if c.id != "a/4"]
    before = os.environ.get("OMP_NUM_THREADS")
    found = audit(tmp_path / "two", good, workers=2)
    assert found == [(c, Finding(Verdict.HOLDS, f"claim {c.id[2:]}")) for c in good]
    assert os.environ.get("OMP_NUM_THREADS") == before


def test_a_store_is_for_every_later_audit(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    first = audit(tmp_path / "one", Recorder(3).claims, store=store)
    again = Recorder(4)
    second = audit(tmp_path / "two", again.claims, store=store)
    assert again.ran == [3]
    assert [finding for _, finding in second[:3]] == [finding for _, finding in first]
    assert (tmp_path / "two/findings/a/0.json").exists()
    other = Recorder(3)
    audit(tmp_path / "one", other.claims, store=store, seed=1)
    assert other.ran == [0, 1, 2]
    audit(tmp_path / "one", again.claims, store=store)
    assert again.ran == [3]


DAMAGE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "verdict": lambda result: result | {"verdict": "refuted"},
    "number": lambda result: result | {"numbers": {"seed": 1, "mode": "default"}},
    "unsigned": lambda result: {name: value for name, value in result.items() if name != CHECK},
    "of another claim": lambda result: result | {"headline": "claim 1"},
    "nothing": lambda _result: None,
    "text": lambda _result: "fine",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["store.sqlite", "store.jsonl"])
def test_a_damaged_finding_in_a_store_is_computed_again(
    tmp_path: Path, name: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    first = audit(tmp_path / "out", Recorder(2).claims, store=tmp_path / name)
    with open_store(tmp_path / name) as store:
        (row,) = (row for row in store.rows() if row["name"] == "a/0")
        cell = Cell(row["key"], row["name"], row["function"], row["arguments"])
        store.add([(cell, Answer(State.DONE, DAMAGE[damage](row["result"])))])
    again = Recorder(2)
    assert [f for _, f in audit(tmp_path / "out", again.claims, store=tmp_path / name)] == [
        f for _, f in first
    ]
    assert again.ran == [0]
    assert f"what is kept as {row['key']} is damaged" in caplog.text
    audit(tmp_path / "out", again.claims, store=tmp_path / name)
    assert again.ran == [0]


def test_a_finding_of_another_claim_is_not_believed(tmp_path: Path) -> None:
    """Whole, but under the key of another one."""
    audit(tmp_path / "out", Recorder(2).claims, store=tmp_path / "store.sqlite")
    with open_store(tmp_path / "store.sqlite") as store:
        one, other = sorted(store.rows(), key=lambda row: str(row["name"]))
        cell = Cell(one["key"], one["name"], one["function"], one["arguments"])
        store.add([(cell, Answer(State.DONE, other["result"]))])
    again = Recorder(2)
    audit(tmp_path / "out", again.claims, store=tmp_path / "store.sqlite")
    assert again.ran == [0]


def test_two_workers_sign_what_they_find(importable: list[Claim], tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    audit(tmp_path / "out", [c for c in importable if c.id != "a/4"], workers=2, store=store)
    rows = read_rows(store)
    assert len(rows) == 5
    assert all(intact(row["key"], row["result"]) for row in rows)


def test_an_error_in_a_worker_is_an_error_here(importable: list[Claim], tmp_path: Path) -> None:
    with pytest.raises(CheckError, match=r"(?s)^a/4: Traceback.*ValueError: wrong"):
        audit(tmp_path / "out", importable, workers=2)


def test_a_check_that_cannot_travel_to_a_worker_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match=r"^a/x: .*<lambda>"):
        audit(tmp_path, [claim("a/x", lambda _context: HOLDS)], workers=2)


def test_the_claims_of_the_package_can_be_audited() -> None:
    everything = claims()
    assert len({c.id for c in everything}) == len(everything)
    pickle.dumps(everything)
    for c in everything:
        check_id(c)
        assert c.problem in c.id
        assert all((c.where, c.says, c.how))
