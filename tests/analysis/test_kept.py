"""Runs and optima that are kept: found again bit by bit, told apart by what matters, believed if whole."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import partial
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clairvoyant import api
from clairvoyant.analysis import audit as auditing
from clairvoyant.analysis.admission import experiments as admission
from clairvoyant.analysis.allocation import experiments as allocation
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict
from clairvoyant.analysis.engine import identity, kept
from clairvoyant.analysis.engine.cells import Answer, Cell, State, source_of, source_of_module
from clairvoyant.analysis.engine.store import looking, open_store, read_rows
from clairvoyant.analysis.experiments import Contender
from clairvoyant.analysis.placement import experiments as placement
from clairvoyant.analysis.placement import measures
from clairvoyant.analysis.selection import experiments as selection
from clairvoyant.models.base import InputError
from clairvoyant.online.allocation.heuristics import Drf
from clairvoyant.online.base import Policy
from clairvoyant.online.play import Run, play
from clairvoyant.online.selection import Thompson
from clairvoyant.online.views import Predicted

TEN_JOBS = admission.Setup(10, 12, 3, 3)
FEW = placement.Setup(4, None, 3.0, size="tiny")
THOMPSON = Contender("Thompson", Thompson)

FOUND: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "selection, run": (selection.played, (THOMPSON, selection.Setup("tiny"), 3), 2),
    "selection, optimum": (selection.solved, (selection.Setup("tiny"), 3), 2),
    "allocation, run": (allocation.rewards, (allocation.CONSTANT, allocation.Setup("tiny"), 3), 2),
    "allocation, optimum": (allocation.optimum, (allocation.Setup("tiny"), 3), 1),
    "admission, run": (admission.outcome, (admission.OASIS, TEN_JOBS, 3), 2),
    "admission, search": (admission.searched, (TEN_JOBS, 3, (10, 20)), 1),
    "placement, run": (placement.outcome, (placement.FIFO_FF, FEW, 3), 2),
    "placement, optimum": (placement.optimum, (FEW, 3), 2),
    "placement, bound": (placement.bound, (FEW, 3), 1),
}
"""What claims ask for, and in how many cells it is kept."""


class Memory:
    """A store without a file, whose results have been text."""

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}
        self.answers: dict[str, Answer] = {}
        self.handed: list[str] = []

    def look(self, key: str) -> Answer | None:
        return self.answers.get(key)

    def keep(self, cell: Cell, answer: Answer) -> None:
        self.handed.append(cell.name)
        self.cells[cell.key] = cell
        self.answers[cell.key] = Answer(answer.state, json.loads(json.dumps(answer.result)))

    @contextmanager
    def open(self) -> Iterator[list[str]]:
        """Be what results are taken from; yield the names of those that are computed and handed over."""
        self.handed = []
        with kept.keeping(self.look, self.keep):
            yield self.handed


def plain(found: Any) -> Any:
    """Return what can be compared, bit by bit, without what hangs on a clock."""
    if isinstance(found, np.ndarray):
        return found.dtype.str, found.shape, found.tobytes()
    if isinstance(found, dict):
        return {name: plain(value) for name, value in found.items()}
    if is_dataclass(found):
        return {name: plain(value) for name, value in vars(found).items() if name != "seconds"}
    return [plain(one) for one in found] if isinstance(found, tuple) else repr(found)


# What is found again


@given(
    hnp.arrays(
        st.sampled_from(["<f8", "<i8", "|b1", "<i4"]),
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    )
)
@pytest.mark.hypothesis
def test_arrays_come_back_bit_by_bit(array: np.ndarray) -> None:
    data = {"a": array, "deep": {"turned": array.T, "x": 0.1, "none": None}}
    found = kept.unpacked(json.loads(json.dumps(kept.packed(data))))
    assert plain(found) == plain(data)


@pytest.mark.parametrize("what", FOUND)
def test_what_is_taken_from_a_store_is_what_is_computed(what: str) -> None:
    function, arguments, cells = FOUND[what]
    computed, memory = plain(function.__wrapped__(*arguments)), Memory()
    with memory.open() as handed:
        assert plain(function.__wrapped__(*arguments)) == computed
    assert (len(handed), len(memory.cells)) == (cells, cells)
    with memory.open() as handed:
        assert plain(function.__wrapped__(*arguments)) == computed
    assert handed == []


# What is told apart


def names(memory: Memory, *calls: Callable[[], object]) -> list[str]:
    with memory.open() as handed:
        for call in calls:
            call()
    return handed


def test_seed_setting_instance_and_problem_are_told_apart() -> None:
    tiny, play = selection.Setup("tiny"), selection.played.__wrapped__
    calls: list[Callable[[], object]] = [
        partial(play, THOMPSON, tiny, 0),
        partial(play, THOMPSON, tiny, 1),
        partial(play, selection.ESDP, tiny, 0),
        partial(play, selection.ESDP, tiny, 1),
        partial(play, selection.ESDP_LN, tiny, 0),
        partial(play, selection.variant(selection.ESDP, delta="log"), tiny, 0),
        partial(play, selection.PRINTED, tiny, 0),
        partial(selection.solved.__wrapped__, tiny, 0),
    ]
    memory = Memory()
    assert len(names(memory, *calls)) == 2 * len(calls)
    assert names(memory, *calls) == []


@pytest.mark.parametrize(("who", "more"), [(THOMPSON, 2), (selection.ESDP, 0)])
def test_the_seed_of_who_draws_at_random_matters(
    who: Contender, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, memory = partial(selection.played.__wrapped__, who, selection.Setup("tiny"), 0), Memory()
    assert len(names(memory, call)) == 2
    monkeypatch.setattr(selection, "policy_seed", lambda seed: seed + 7)
    assert len(names(memory, call)) == more


def test_rounds_and_limits_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    search, optimum = (
        partial(admission.searched.__wrapped__, TEN_JOBS, 3),
        partial(unwrap(placement.optimum), FEW, 3),
    )
    memory, one = Memory(), ["searched of admission " + admission.instance(TEN_JOBS, 3).digest()]
    assert len(names(memory, partial(search, (10, 20)), optimum)) == 3
    monkeypatch.setattr(placement, "PATIENCE", 599.0)
    assert len(names(memory, partial(search, (11, 20)), optimum)) == 3
    assert names(memory, partial(search, (11, 21)), optimum) == one


@pytest.mark.parametrize(
    ("layer", "room", "anew"),
    [
        ("models", "placement", {"placement, run": 2, "placement, optimum": 2, "placement, bound": 1}),
        ("online", "placement", {"placement, run": 2}),
        ("oracles", "placement", {"placement, optimum": 2, "placement, bound": 1}),
        ("oracles", "allocation", {"allocation, optimum": 1}),
        ("online", "admission", {"admission, run": 2}),
        ("analysis", "selection", {}),
    ],
)
def test_a_change_of_the_source_concerns_what_depends_on_it(
    layer: str, room: str, anew: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Memory()

    def computed() -> dict[str, int]:
        counts = {
            what: len(names(memory, partial(FOUND[what][0].__wrapped__, *FOUND[what][1]))) for what in FOUND
        }
        return {what: count for what, count in counts.items() if count}

    assert set(computed()) == set(FOUND)

    def source(layers: tuple[str, ...], rooms: tuple[str, ...]) -> str:
        return source_of(layers, rooms) + ("new" if layer in layers and room in rooms else "")

    monkeypatch.setattr(identity, "source_of", source)
    assert computed() == anew


def other_slots(_instance: Any, run: Any) -> dict[str, Any]:
    return {"rewards": 2.0 * run.rewards}


def test_another_reduction_of_a_run_is_another_result(monkeypatch: pytest.MonkeyPatch) -> None:
    call = partial(allocation.rewards.__wrapped__, allocation.DRF, allocation.Setup("tiny"), 0)
    memory = Memory()
    assert len(names(memory, call)) == 2
    monkeypatch.setattr(allocation, "_slots", other_slots)
    assert len(names(memory, call)) == 1  # the total is that of the same run


def test_the_source_of_a_reduction_is_that_of_all_it_names_in_analyses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def source() -> str:
        identity.source_of_function.cache_clear()
        return identity.source_of_function(placement._scheduled)

    before = source()
    assert source() == before
    with monkeypatch.context() as patch:
        patch.setattr(placement, "followed", placement.instance.__wrapped__)
        assert source() != before
    for name, value in (("MINUTE", 1), ("gpu_ticks", placement.instance.__wrapped__)):
        with monkeypatch.context() as patch:
            patch.setattr(measures, name, value)
            assert source() != before
    assert source() == before


# What is believed


def shift(result: dict[str, Any]) -> Any:
    """Change the last number of an array."""
    array = kept.unpacked(result)["rewards"]
    array[-1] += 1.0
    return result | kept.packed({"rewards": array})


DAMAGE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "number": shift,
    "length": lambda result: result | {"rewards": result["rewards"] | {"shape": [1]}},
    "more": lambda result: result | {"more": 1},
    "unsigned": lambda result: {name: value for name, value in result.items() if name != kept.CHECK},
    "nothing": lambda _result: None,
    "text": lambda _result: "rewards",
    "list": lambda result: [result],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_computed_anew(damage: str, caplog: pytest.LogCaptureFixture) -> None:
    call = partial(allocation.rewards.__wrapped__, allocation.DRF, allocation.Setup("tiny"), 0)
    memory, computed = Memory(), plain(call())
    names(memory, call)
    (key,) = [key for key, answer in memory.answers.items() if "rewards" in answer.result]
    memory.answers[key] = Answer(State.DONE, DAMAGE[damage](memory.answers[key].result))
    with memory.open() as handed, caplog.at_level(logging.WARNING, "clairvoyant"):
        assert plain(call()) == computed
    assert len(handed) == 1
    assert caplog.messages == [f"what is kept as {key} is damaged, or of something else; it is not used"]
    assert names(memory, call) == []


@given(st.dictionaries(st.text(), st.integers() | st.floats() | st.none(), max_size=4))
@pytest.mark.hypothesis
def test_what_is_signed_is_intact_after_json(found: dict[str, Any]) -> None:
    signed = kept.signed("key", {"deep": [found], "plain": found})
    assert kept.intact("key", json.loads(json.dumps(signed)))
    assert not kept.intact("another", signed)


def test_numbers_of_numpy_are_kept_as_numbers() -> None:
    """Facts and measures of somebody's problem may be sums of arrays."""
    found = {"count": np.int64(3), "share": np.float32(0.5), "all": [np.bool_(True)]}
    signed = json.loads(json.dumps(kept.signed("key", found)))
    assert kept.intact("key", signed)
    assert (signed["count"], signed["share"], signed["all"]) == (3, 0.5, [True])


@pytest.mark.parametrize("name", [1, 2.5, None, True, ("a", "b")])
def test_names_that_json_would_change_are_refused(name: Any) -> None:
    """10 comes before 9 as a text: the hash would be another one as soon as the result is read back."""
    for result, where in (({name: 1}, "result"), ({"by": [{name: 1}]}, "result['by'][0]")):
        with pytest.raises(InputError, match=r"the name .* is not a text") as told:
            kept.signed("key", result)
        assert str(told.value) == f"{where}: the name {name!r} is not a text"


def test_the_result_of_another_run_is_not_believed() -> None:
    calls = [
        partial(allocation.rewards.__wrapped__, allocation.DRF, allocation.Setup("tiny"), seed)
        for seed in (0, 1)
    ]
    memory = Memory()
    names(memory, *calls)
    one, other = (key for key, answer in memory.answers.items() if "rewards" in answer.result)
    memory.answers[one] = memory.answers[other]
    assert len(names(memory, *calls)) == 1


def test_a_run_that_has_failed_is_none(caplog: pytest.LogCaptureFixture) -> None:
    call = partial(allocation.rewards.__wrapped__, allocation.DRF, allocation.Setup("tiny"), 0)
    memory = Memory()
    names(memory, call)
    memory.answers = {key: Answer(State.FAILED, None, "no") for key in memory.answers}
    assert len(names(memory, call)) == 2
    assert caplog.messages == []


def test_a_row_that_cannot_be_read_is_named_and_computed_anew(caplog: pytest.LogCaptureFixture) -> None:
    def look(key: str) -> Answer | None:
        raise InputError(f"a.sqlite: cell {key!r} is damaged")

    memory = Memory()
    with kept.keeping(look, memory.keep), caplog.at_level(logging.WARNING, "clairvoyant"):
        allocation.rewards.__wrapped__(allocation.DRF, allocation.Setup("tiny"), 0)
    assert len(memory.handed) == 2
    assert all("is damaged; it is computed anew" in message for message in caplog.messages)


@pytest.mark.parametrize("name", ["a.sqlite", "a.jsonl"])
def test_a_store_is_looked_up_while_another_process_writes_it(name: str, tmp_path: Path) -> None:
    done = Answer(State.DONE, {"x": 1.5}, "", 2.0)
    with open_store(tmp_path / name) as store:
        store.add([(Cell("k", "name", "f", {}), done)])
        with looking(tmp_path / name) as look:
            assert (look("k"), look("other")) == (done, None)
        assert (store.look("k"), store.look("other")) == (done, None)
    with pytest.raises(InputError, match="cannot be used"), looking(tmp_path / "none.sqlite"):
        pass


# Audits

CLAIMS = """
import os, time
from functools import partial
from inspect import unwrap
from pathlib import Path
from clairvoyant.analysis.claim import Claim, Finding, Verdict
from clairvoyant.analysis.allocation import experiments
from clairvoyant.analysis.engine import kept

HERE = Path(__file__).parent
play = kept.play

def logged(policy, instance, seed, **options):
    with (HERE / "log").open("a") as log:
        log.write(f"{policy.name} {seed}\\n")
    return play(policy, instance, seed, **options)

kept.play = logged

def check(n, context):
    setup = experiments.Setup("tiny")
    found = [experiments.rewards(experiments.DRF, setup, seed).sum() for seed in range(n, n + 3)]
    found.append(experiments.optimum(setup, n))
    (HERE / f"played {n}").touch()
    while (HERE / "wait").exists():
        time.sleep(0.05)
    return Finding(Verdict.HOLDS, repr(found))

CLAIMS = [Claim(f"a/{n}", "here", "says", "how", Verdict.HOLDS, partial(check, n)) for n in (0, 10)]
"""

RUN = """
import sys
from pathlib import Path
from clairvoyant.api import audit
import kept_claims

if __name__ == "__main__":
    out, store = sys.argv[1:3]
    more = {"store": Path(store)} if store else {}
    found = audit(catalogue=kept_claims.CLAIMS, out=Path(out), workers=2, **more)
    print([finding.headline for _, finding in found])
"""


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    (tmp_path / "kept_claims.py").write_text(CLAIMS)
    (tmp_path / "run.py").write_text(RUN)
    return tmp_path


def begin(folder: Path, store: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "run.py", "out", store]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True)


def finished(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return output


def plays(folder: Path) -> int:
    """Return how many runs were made since the last time."""
    log = folder / "log"
    count = len(log.read_text().splitlines()) if log.exists() else 0
    log.unlink(missing_ok=True)
    return count


def test_an_audit_of_edited_analyses_takes_all_runs_from_the_store(apart: Path) -> None:
    store = "s.jsonl"  # the audit that is killed below has one of the other kind
    found = finished(begin(apart, store))
    assert plays(apart) == 6
    with (apart / "kept_claims.py").open("a") as claims:
        claims.write("# a comment\n")
    assert finished(begin(apart, store)) == found
    assert plays(apart) == 0
    rows = read_rows(apart / store)
    assert [row["function"].partition(":")[2] for row in rows].count("check_apart") == 4
    assert not (apart / "out" / auditing.PARTIAL).exists()


def test_a_killed_audit_goes_on_with_its_runs(apart: Path) -> None:
    (apart / "wait").touch()
    process = begin(apart)
    while not all((apart / f"played {n}").exists() for n in (0, 10)):
        assert process.poll() is None
        os.sched_yield()
    # What a worker has told is in the store before the driver reads what it tells next.
    while len(read_rows(apart / "out" / auditing.PARTIAL)) < 14:
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert plays(apart) == 6
    (apart / "wait").unlink()
    (apart / "kept_claims.py").write_text(CLAIMS + "# a comment\n")
    finished(begin(apart))
    assert plays(apart) == 0
    assert not (apart / "out" / auditing.PARTIAL).exists()


def test_one_worker_keeps_runs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def check(_context: Context) -> Finding:
        found = allocation.rewards.__wrapped__(allocation.DRF, allocation.Setup("tiny"), 0)
        return Finding(Verdict.HOLDS, repr(found.sum()))

    made: list[str] = []

    def counted(who: Policy, *rest: Any, **more: Any) -> Run[Any]:
        made.append(who.name)
        return play(who, *rest, **more)

    monkeypatch.setattr(kept, "play", counted)
    claim = Claim("a/x", "here", "says", "how", Verdict.HOLDS, check)
    store = tmp_path / "s.sqlite"

    def audited(source: str) -> str:
        monkeypatch.setattr(auditing, "source_digest", lambda _claims: source)
        ((_, finding),) = api.audit(catalogue=[claim], out=tmp_path / "out", workers=1, store=store)
        return finding.headline

    first = audited("one")
    assert [audited("two"), audited("two")] == [first, first]
    assert len(made) == 1
    with open_store(store) as opened:
        damaged = next(row for row in opened.rows() if "rewards" in row["result"])
        opened.add([(Cell(damaged["key"], "", "", {}), Answer(State.DONE, {"rewards": [1.0]}))])
    assert audited("three") == first
    assert len(made) == 2
    assert any(damaged["key"] in message for message in caplog.messages)


# What is not kept, and what is no dataclass


@pytest.mark.parametrize(("limit", "kept_then"), [(0.0, 0), (None, 2)])
def test_what_a_time_limit_has_ended_is_not_kept(limit: float | None, kept_then: int) -> None:
    """On a machine with more to spare it would be another one."""
    memory = Memory()
    instance = placement.instance(FEW, 3)
    entry = api.list_oracles("placement")["offline"]
    with memory.open() as handed:
        found = kept.optimum_of(
            "offline",
            entry,
            instance,
            {"time_limit": limit},
            lambda _instance, optimum: {"why": optimum.why_stopped.value},
        )
    assert (found["why"] == "time limit") == (limit is not None)
    assert len(handed) == kept_then


class Plain:
    """A policy that is no dataclass."""

    def __init__(self, share: Any) -> None:
        self.share = share


def test_settings_of_any_class_and_all_of_an_array_count() -> None:
    long = np.zeros(5000)
    other = long.copy()
    other[2500] = 1.0
    found = [identity.settings_of(Plain(share)) for share in (1, 2, long, other)]
    assert len({json.dumps(one) for one in found}) == 4
    assert identity.settings_of(Plain(long.copy())) == found[2]
    by_default = [identity.settings_of(Plain(lambda x, n=n: x + n)) for n in (1, 2)]
    by_name = [identity.settings_of(Plain(lambda x, *, n=n: x + n)) for n in (1, 2)]
    assert by_default[0] != by_default[1]
    assert by_name[0] != by_name[1]


def test_only_what_the_package_itself_plays_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    forged = type("Drf", (Drf,), {"__module__": Drf.__module__})
    asks = object.__new__(Predicted)
    trusted: list[bool] = []
    monkeypatch.setattr(kept, "play_watched", lambda *_, **options: trusted.append(options["trusted"]))
    for policy in (Drf(), forged(), asks, Plain(1)):
        kept.play(policy, None)  # type: ignore[arg-type]
    assert trusted == [True, False, False, False]


def test_what_was_typed_in_is_known_by_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook has no file whose hash would tell an edit."""
    for place in (None, "<stdin>"):
        monkeypatch.setattr(sys.modules["__main__"], "__file__", place, raising=False)
        assert source_of_module("__main__") != source_of_module("__main__")


@pytest.mark.parametrize("marked", [True, False], ids=["package", "folder"])
def test_what_a_module_imports_anywhere_counts_also_from_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marked: bool
) -> None:
    """In a function, in turn, and from a folder that has no ``__init__.py``; what nobody imports does not."""
    kind = "marked" if marked else "bare"
    top, folder, other = f"top_{kind}", f"helpers_{kind}", f"other_{kind}"
    texts = {
        f"{top}.py": f"def rate():\n    import {folder}.rates\n",
        f"{folder}/rates.py": f"from .deeper import x\nimport {other}\n",
        f"{folder}/deeper.py": "x = 1\n",
        f"{other}.py": "",
        "alone.py": "",
    }
    (tmp_path / folder).mkdir()
    if marked:
        (tmp_path / folder / "__init__.py").write_text("")
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    modules = [import_module(name) for name in (top, f"{folder}.rates")]
    before = [source_of_module(one.__name__) for one in modules]
    for name in texts:
        (tmp_path / name).write_text(texts[name] + "# changed\n")
        after = [source_of_module(one.__name__) for one in modules]
        changes = [old != new for old, new in zip(before, after, strict=True)]
        assert changes == [name != "alone.py", name not in ("alone.py", f"{top}.py")], name
        before = after
