"""Sweeps: what a plan asks for, what is known of it, and the tables and figures that come out."""

import inspect
import io
import json
import math
import re
import shutil
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clairvoyant as cv
from clairvoyant import api, sweeping
from clairvoyant.analysis.admission import experiments as admission
from clairvoyant.analysis.allocation import experiments as allocation
from clairvoyant.analysis.engine import identity, worker
from clairvoyant.analysis.engine.cells import Answer, Cell, State, source_of
from clairvoyant.analysis.engine.identity import settings_of
from clairvoyant.analysis.engine.kept import CHECK, keeping
from clairvoyant.analysis.engine.processes import Limits
from clairvoyant.analysis.engine.store import open_store
from clairvoyant.analysis.placement import experiments as placement
from clairvoyant.analysis.plots import to_svg
from clairvoyant.analysis.results import _point, plot_results
from clairvoyant.analysis.selection import experiments as selection
from clairvoyant.analysis.statistics import mean_interval
from clairvoyant.models.base import InputError
from clairvoyant.problems import problems, rival
from clairvoyant.tables import Row, compared, frame_of, summary, write_table

SMALL: dict[str, Any] = {"problem": "allocation", "size": "tiny", "policies": ["ogasched", "fairness"]}
TIMES = ["seconds"]


class Inline:
    """Runs cells in this process, and keeps their names."""

    def __init__(self, stop_after: int = -1) -> None:
        self.ran: list[str] = []
        self.limits = Limits()
        self.stop_after = stop_after

    @property
    def fractions(self) -> dict[str, float]:
        return {}

    def run(self, cells: Any) -> Iterator[list[tuple[Cell, Answer]]]:
        for cell in cells:
            if len(self.ran) == self.stop_after:
                raise KeyboardInterrupt
            self.ran.append(cell.name)
            task = {"function": cell.function, "arguments": cell.arguments}
            said = worker.answer(task, io.BytesIO())
            state = State.FAILED if "error" in said else State.DONE
            yield [(cell, Answer(state, said.get("result"), said.get("error", ""), said["seconds"]))]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def swept(store: Path, *blocks: dict[str, Any], **options: Any) -> tuple[pd.DataFrame, list[str]]:
    """Return the table of a sweep, and the names of the cells that were computed for it."""
    executor = Inline()
    frame = cv.sweep({"sweep": [*blocks]}, store=store, executor=executor, **options)
    return frame, executor.ran


def keys(*blocks: dict[str, Any]) -> list[str]:
    """Return the keys of what plays and solves, were the digest of every instance 0."""
    made = sweeping.Plan.read({"sweep": [*blocks]}).made()
    answers = {cell.key: Answer(State.DONE, {"digest": "0"}) for _, cell in made}
    return [cell.key for cell in sweeping._cells(made, answers)]


# What comes out


@pytest.mark.parametrize("problem", sorted(problems()))
def test_the_numbers_are_those_of_play_and_solve(problem: str, store: Path) -> None:
    record = problems()[problem]
    oracle, policy = rival(problem), next(iter(cv.list_policies(problem)))
    instance: cv.Instance = record.part("generate")("tiny", **record.small)
    options = {name: [value] for name, value in record.small.items()}
    block = {
        "problem": problem,
        "size": "tiny",
        "options": options,
        "policies": [policy],
        "oracles": [oracle],
    }
    frame, _ = swept(store, block)
    assert list(frame["state"]) == ["done", "done"]
    run, optimum = cv.play(policy, instance), cv.solve(instance, oracle)
    solved, played = frame.iloc[0], frame.iloc[1]
    assert (solved.value, solved.bound, solved.gap) == (optimum.value, optimum.bound, optimum.gap)
    assert (played.total, played.digest, played.events) == (run.total, instance.digest(), len(run.rewards))
    assert (played.minimised, played.unit) == (instance.minimised, instance.unit)
    assert played.optimum_value == optimum.value
    measure = "ratio" if record.has("ratio") else "regret"
    low, high = played[f"{measure}_low"], played[f"{measure}_high"]
    if measure == "regret":
        assert optimum.bound is not None
        assert (low, high) == (optimum.value - run.total, optimum.bound - run.total)
    else:
        expected = record.part("ratio")(optimum, run.total)
        assert (low, high) == (max(1.0, expected[0]), max(1.0, *expected))


def test_processes_give_the_same_table_as_this_process(store: Path, tmp_path: Path) -> None:
    block = SMALL | {"seeds": 2, "oracles": ["stationary"], "options": {"contention": [1.0, 4.0]}}
    other, _ = swept(tmp_path / "other.jsonl", block)
    told: list[tuple[float, str]] = []
    frame = cv.sweep({"sweep": [block]}, store=store, workers=2, progress=lambda *now: told.append(now))
    pd.testing.assert_frame_equal(frame.drop(columns=TIMES), other.drop(columns=TIMES))
    assert [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)
    assert told[-1] == (1.0, "12 of 12 cells")
    assert "4 of 4 instances" in {text for _, text in told}
    assert cv.results(store, plan={"sweep": [block]}).equals(frame)
    stored = cv.results(store)
    assert sorted(stored["instance"]) == sorted(frame["instance"])
    assert stored["option.contention"].tolist().count(4.0) == 6


def test_an_instance_that_cannot_be_made_has_a_row_and_is_tried_again_if_asked(store: Path) -> None:
    block = SMALL | {"size": ["tiny", "titanic"]}
    frame, ran = swept(store, block)
    assert [str(state) for state in frame["state"]] == ["failed", "done", "done"]
    assert "InputError: size: 'titanic' is not one of" in frame["error"][0]
    assert len(ran) == 4
    assert swept(store, block)[1] == []
    assert swept(store, block, retry=["failed"])[1] == ["allocation size=titanic,seed=0"]
    assert len(cv.results(store)) == 3


def test_a_run_with_infeasible_decisions_is_not_compared(store: Path) -> None:
    frame, _ = swept(store, SMALL | {"policies": ["ogasched-printed", "fairness"], "oracles": ["stationary"]})
    broken, sound = frame.iloc[1], frame.iloc[2]
    assert (broken.policy, sound.policy) == ("ogasched-printed", "fairness")
    assert (broken.infeasible > 0, sound.infeasible) == (True, 0)
    assert (math.isnan(broken.regret_low), math.isnan(sound.regret_low)) == (True, False)


def test_what_is_not_proven_has_no_upper_end() -> None:
    best = {
        "value": 4.0,
        "bound": None,
        "why_stopped": "time limit",
        "method": "",
        "seconds": 1.0,
        "scale": 0.0,
    }
    assert compared("allocation", 3.0, best)["regret_high"] == math.inf
    found = compared("placement", 6.0, best)
    assert (found["optimum_bound"], found["ratio_low"], found["ratio_high"]) == (None, 1.5, math.inf)
    assert compared("placement", 3.0, best | {"bound": 2.0})["ratio_low"] == 1.0


# What is computed, and what is known


def test_an_extended_plan_computes_what_is_new_and_plans_share(store: Path) -> None:
    assert len(swept(store, SMALL)[1]) == 3
    assert swept(store, SMALL)[1] == []
    extended = SMALL | {"seeds": 2, "policies": [*SMALL["policies"], "spreading"]}
    assert swept(store, extended)[1] == [
        "allocation size=tiny,seed=1",
        "spreading on allocation size=tiny,seed=0",
        *(f"{policy} on allocation size=tiny,seed=1" for policy in extended["policies"]),
    ]
    other = {"problem": "allocation", "size": "tiny", "seeds": [1], "policies": ["spreading", "fairness"]}
    frame, ran = swept(store, other)
    assert ran == []
    assert list(frame["policy"]) == ["spreading", "fairness"]


def test_an_instance_that_is_made_twice_is_one_and_each_name_of_it_is_told(store: Path) -> None:
    blocks = [SMALL, SMALL | {"options": {"contention": 1.0}}]
    assert cv.generate("allocation", size="tiny") != cv.generate("allocation", size="tiny", contention=2.0)
    same = cv.generate("allocation", size="tiny") == cv.generate("allocation", size="tiny", contention=1.0)
    frame, ran = swept(store, *blocks)
    assert len(ran) == (4 if same else 6)
    assert len(frame) == 4
    assert list(frame["option.contention"].notna()) == [False, False, True, True]


def test_settings_and_seeds_are_told_apart_by_what_they_mean() -> None:
    base = SMALL | {"problem": "allocation", "policies": ["ogasched"]}
    (key,) = keys(base)
    assert keys(base | {"policies": ["allocation/ogasched"]}) == [key]
    default = next(iter(settings_of(cv.make_policy("ogasched"))[2:]))
    assert keys(base | {"policies": [f"ogasched:{default[0]}={str(default[1]).lower()}"]}) == [key]
    assert keys(base | {"policies": ["ogasched:step=decay"]}) != [key]
    assert keys(base | {"policy_seeds": [7]}) == [key]  # it draws nothing
    random = {"problem": "placement", "size": "tiny", "policies": ["mosa"]}
    assert len({*keys(random | {"policy_seeds": 3}), *keys(random | {"policy_seeds": [2, 9]})}) == 4
    solved = SMALL | {"policies": [], "oracles": ["stationary"]}
    named = keys(solved | {"oracles": ["stationary:interior point"]})
    assert len({*keys(solved), *named, *keys(solved | {"gap": 0.1}), *keys(solved | {"time_limit": 9})}) == 3


@pytest.mark.parametrize(
    ("problem", "oracle"),
    [(problem, oracle) for problem in problems() for oracle in cv.list_oracles(problem)],
)
def test_what_an_oracle_takes_by_default_may_be_spelled_out(problem: str, oracle: str) -> None:
    entry = cv.list_oracles(problem)[oracle]
    gap = inspect.signature(entry.function).parameters["gap"].default

    def options(name: str, **more: float) -> Any:
        block = {"problem": problem, "oracles": [name], **more}
        return sweeping.Block.from_dict(block).oracles[0][1]

    plain = options(oracle)
    assert options(oracle, gap=gap) == plain
    assert json.dumps(plain["gap"]) == json.dumps(float(gap))
    for i, method in enumerate(entry.methods):
        assert (options(f"{oracle}:{method}") == plain) == (i == 0)


def test_a_checkpoint_that_changes_is_another_cell(tmp_path: Path) -> None:
    checkpoint = tmp_path / "best.npz"
    shutil.copy(next(Path(str(files("clairvoyant.online"))).rglob("das-0.npz")), checkpoint)
    block = {"problem": "placement", "policies": [f"das:checkpoint={checkpoint}"]}
    before = keys(block)
    assert keys(block) == before
    moved = checkpoint.rename(tmp_path / "moved.npz")
    shutil.copy(moved, checkpoint)
    assert keys(block) == before
    checkpoint.write_bytes(moved.read_bytes() + b"\0")
    assert keys(block) != before


def test_a_change_of_the_source_concerns_what_depends_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [
        {"problem": problem, "size": "tiny", "policies": [policy], "oracles": [oracle]}
        for problem, policy, oracle in (
            ("placement", "tetris", "offline"),
            ("allocation", "fairness", "stationary"),
        )
    ]
    real, before = source_of, keys(*blocks)

    def changed(layer: str, room: str) -> list[bool]:
        def source(layers: tuple[str, ...], rooms: tuple[str, ...]) -> str:
            return real(layers, rooms) + ("new" if layer in layers and room in rooms else "")

        monkeypatch.setattr(identity, "source_of", source)
        return [one != other for one, other in zip(before, keys(*blocks), strict=True)]

    assert changed("models", "placement") == [True, True, False, False]
    assert changed("online", "placement") == [False, True, False, False]
    assert changed("oracles", "allocation") == [False, False, True, False]
    monkeypatch.setattr(identity, "source_of", real)
    with monkeypatch.context() as patch:
        patch.setattr(identity, "told_of_optimum", swept)
        assert [one != other for one, other in zip(before, keys(*blocks), strict=True)] == [True, False] * 2
    monkeypatch.setattr(identity, "_module_text", lambda _module: "new")
    assert [one != other for one, other in zip(before, keys(*blocks), strict=True)] == [
        False,
        True,
        False,
        False,
    ]


@pytest.fixture
def versions(store: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pd.DataFrame]:
    """Return what sweeps with a version of the layers of source, as if they had been changed."""
    real = source_of

    def sweep(block: dict[str, Any], **of_layers: str) -> pd.DataFrame:
        def source(layers: tuple[str, ...], rooms: tuple[str, ...]) -> str:
            return real(layers, rooms) + "".join(of_layers.get(layer, "") for layer in layers)

        monkeypatch.setattr(identity, "source_of", source)
        return swept(store, block)[0]

    return sweep


def test_of_several_versions_the_newest_is_told(
    store: Path, versions: Callable[..., pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    block = SMALL | {"oracles": ["stationary"]}
    for online in ("a", "b", "a"):  # what was computed last is of b, whatever was used since
        versions(block, online=online)
    newest, every = cv.results(store), cv.results(store, versions="all")
    assert newest["policy"].dropna().tolist() == ["fairness", "ogasched"]
    assert (len(newest), len(every), len(every["source"].unique())) == (3, 5, 3)
    of_b = versions(block, online="b").set_index("policy")["source"]
    assert newest.set_index("policy")["source"].equals(of_b.loc[newest["policy"]])
    assert newest["regret_low"].notna().tolist() == newest["policy"].notna().tolist()
    monkeypatch.setattr(identity, "settings_of", lambda policy: [*settings_of(policy), ["new", 1]])
    versions(block, online="c")
    assert cv.results(store)["policy"].dropna().tolist() == ["fairness", "ogasched"]
    with pytest.raises(InputError, match="versions: 'latest' is not one of"):
        cv.results(store, versions="latest")


def test_optimum_and_totals_of_different_versions_are_not_compared(
    store: Path, versions: Callable[..., pd.DataFrame]
) -> None:
    versions(SMALL | {"oracles": ["stationary"]})
    versions(SMALL | {"policies": ["fairness"]}, models="changed")
    for which, compared_ones in (("newest", {"ogasched"}), ("all", {"ogasched", "fairness"})):
        frame = cv.results(store, versions=which)
        plays = frame[frame["policy"].notna()]
        assert set(plays["policy"][plays["regret_low"].notna()]) == compared_ones
        assert plays["optimum_value"].notna().equals(plays["regret_low"].notna())
        assert plays["regret_low"].isna().sum() == 1
    assert len(plays) == 3


def test_an_instance_that_is_made_otherwise_now_takes_the_place_of_the_old(
    store: Path, versions: Callable[..., pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, which is how it is made; and so does one that cannot be made any more."""
    block, found = SMALL | {"policies": ["fairness"]}, []
    real = api.generate
    for seed, models in ((0, "a"), (1, "b")):
        monkeypatch.setattr(api, "generate", lambda *_, s=seed, **__: real("allocation", "tiny", s))
        found += [*versions(block, models=models)["digest"]]
    monkeypatch.setattr(api, "generate", lambda *_, **__: real("allocation", size="none"))
    versions(block, models="c")
    assert {*cv.results(store)["state"]} == {"done", "failed"}
    assert len(cv.results(store)) == 2
    assert cv.results(store)["digest"].dropna().tolist() == found[1:]
    assert len(cv.results(store, versions="all")) == 3


def test_a_file_that_changes_before_it_is_read_leaves_nothing_wrong(store: Path, tmp_path: Path) -> None:
    """Its instance had been kept under the key of what the file held before."""
    file = tmp_path / "x.json"
    ours, theirs = (cv.generate("allocation", size="tiny", seed=seed) for seed in (0, 1))
    plan = {"sweep": [{"problem": "allocation", "policies": ["fairness"], "files": [str(file)]}]}

    class Late(Inline):
        def run(self, cells: Any) -> Any:
            theirs.save(file)
            return super().run(cells)

    ours.save(file)
    failed = cv.sweep(plan, store=store, executor=Late())
    assert "has changed meanwhile" in failed["error"][0]
    assert cv.sweep(plan, store=store, executor=Inline())["digest"].tolist() == [theirs.digest()]
    ours.save(file)
    again = cv.sweep(plan, store=store, executor=Inline(), retry=["failed"])
    assert (again["digest"].tolist(), again["state"].tolist()) == ([ours.digest()], ["done"])


def test_files_and_traces_are_known_by_what_they_hold(store: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json.gz"
    cv.generate("allocation", size="tiny").save(one)
    cv.generate("allocation", size="tiny").save(other)
    block = {"problem": "allocation", "policies": ["fairness"], "files": [str(one), str(other)]}
    frame, ran = swept(store, block)
    assert ran == ["one.json", "other.json.gz", "fairness on one.json"]
    assert list(frame["instance"]) == ["one.json", "other.json.gz"]
    assert swept(store, SMALL | {"policies": ["fairness"]})[1] == ["allocation size=tiny,seed=0"]
    cv.generate("allocation", size="tiny", seed=1).save(one)
    assert swept(store, block)[1] == ["one.json", "fairness on one.json"]
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "machines.csv").write_text("1")
    before = sweeping._contents(None, str(folder))
    assert sweeping._contents(None, str(folder)) == before
    (folder / "machines.csv").write_text("2")
    assert sweeping._contents(None, str(folder)) != before


def test_a_file_that_holds_another_instance_replaces_no_result(store: Path, tmp_path: Path) -> None:
    file, found = tmp_path / "day.json", []
    block = {"problem": "allocation", "policies": ["fairness"], "files": [str(file)]}
    for seed in (0, 1):
        file.write_text("{}")
        swept(store, block)
        cv.generate("allocation", size="tiny", seed=seed).save(file)
        found += [*swept(store, block)[0]["digest"]]
    assert {*cv.results(store)["digest"].dropna()} == {*found}
    assert cv.results(store)["state"].tolist() == ["done", "done"]  # what could not be made is made now


def test_a_row_that_does_not_say_what_it_is_of_is_left_out(
    store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    swept(store, SMALL)
    with open_store(store) as opened:
        opened._file.execute("UPDATE cell SET arguments = '{}' WHERE name LIKE 'ogasched on %'")
    assert cv.results(store)["policy"].dropna().tolist() == ["fairness"]
    assert "does not say of which instance it is; it is left out" in caplog.text


def test_an_instance_that_is_not_the_expected_one_is_refused() -> None:
    recipe = {"problem": "allocation", "options": {"size": "tiny"}}
    with pytest.raises(InputError, match="is not feed, as it was planned: its file, traces or generator"):
        sweeping.played({"recipe": recipe, "digest": "feed"}, lambda _fraction: None)


def test_an_interrupted_sweep_goes_on_and_a_clock_may_go_backwards(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(10**9, 0, -1000))
    monkeypatch.setattr(time, "time", lambda: next(now))
    block = SMALL | {"seeds": 3}
    for stop, said in ((2, "saved: 2 of 3 instances"), (3, "saved: 2 of 6 cells")):
        with pytest.raises(KeyboardInterrupt, match=said):
            cv.sweep({"sweep": [block]}, store=store, executor=Inline(stop))
    frame, ran = swept(store, block)
    assert len(ran) == 4
    whole, _ = swept(tmp_path / "whole.sqlite", block)
    pd.testing.assert_frame_equal(frame.drop(columns=TIMES), whole.drop(columns=TIMES))


def test_a_small_store_keeps_what_was_used_last(store: Path) -> None:
    swept(store, SMALL | {"seeds": [0]})
    with open_store(store) as opened:
        size = sum(len(json.dumps(row)) for row in opened.rows())
    swept(store, SMALL | {"seeds": [1]}, store_size=0)
    assert len(cv.results(store)) == 0
    swept(store, SMALL | {"seeds": [0]})
    swept(store, SMALL | {"seeds": [1]}, store_size=size)
    assert set(cv.results(store)["option.seed"]) == {1}


def test_a_forecast_does_nothing_and_knows_what_there_is(store: Path) -> None:
    plan = {"sweep": [SMALL | {"seeds": 2, "size": ["tiny", "titanic"]}]}
    found = sweeping.forecast(plan, store)
    assert (found.cells, found.instances, found.unmade, found.unknown, found.seconds) == (8, 4, 4, 8, 0.0)
    assert not store.exists()
    swept(store, SMALL | {"policies": ["fairness"], "size": ["tiny", "titanic"]})
    found = sweeping.forecast(plan, store)
    assert (found.cells, found.done, found.failed, found.unmade, found.unknown) == (6, 1, 0, 2, 3)
    assert found.seconds > 0.0
    swept(store, plan["sweep"][0])
    found = sweeping.forecast(plan, store)
    assert (found.cells, found.done, found.unmade, found.seconds) == (4, 4, 0, 0.0)


# What audits and sweeps share

AUDITED: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "selection": (
        selection.played,
        (selection.ESDP_LN, selection.Setup("tiny"), 3),
        {"policies": ["esdp:g=log"]},
    ),
    "allocation": (
        allocation.rewards,
        (allocation.TABLE_1, allocation.Setup("tiny"), 3),
        {"policies": ["ogasched:step=decay,start_at=fair"]},
    ),
    "admission": (
        admission.outcome,
        (admission.DORM, admission.Setup(5, 10, 3, 3), 3),
        {"policies": ["dorm:gap=0.2,nodes=1"]},
    ),
    "placement": (
        placement.outcome,
        (placement.TETRIS, placement.Setup(5), 3),
        {"policies": ["tetris"]},
    ),
    "selection, optimum": (
        selection.solved,
        (selection.Setup("tiny"), 3),
        {"oracles": ["clairvoyant:dp"], "gap": 1e-8},
    ),
    "allocation, optimum": (
        allocation.optimum,
        (allocation.Setup("tiny"), 3),
        {"oracles": ["stationary"]},
    ),
    "placement, optimum": (
        placement.optimum,
        (placement.Setup(3), 3),
        {"oracles": ["offline:branch-and-bound"], "gap": 0.0, "time_limit": 600.0},
    ),
}
"""What a claim asks for, and the block of a plan that asks for the same."""


def asked(what: str, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Return what makes a run or an optimum of a claim, and the block that does."""
    function, arguments, block = AUDITED[what]
    instance = sys.modules[function.__module__].instance(*arguments[-2:])
    instance.save(folder / "instance.json")
    whole = {"problem": instance.problem, "files": [str(folder / "instance.json")], **block}
    return partial(function.__wrapped__, *arguments), whole


@pytest.mark.parametrize(
    ("what", "name"), [*((what, "a.sqlite") for what in AUDITED), ("placement, optimum", "a.jsonl")]
)
def test_a_sweep_takes_what_an_audit_has_found(what: str, name: str, tmp_path: Path) -> None:
    find, block = asked(what, tmp_path)
    store = tmp_path / name
    with open_store(store) as opened, keeping(opened.look, lambda *kept: opened.add([kept])):
        find()
    assert len(cv.results(store)) == 0
    frame, ran = swept(store, block)
    assert ran == ["instance.json"]
    fresh, ran = swept(tmp_path / "fresh.sqlite", block)
    assert len(ran) == 2
    pd.testing.assert_frame_equal(frame.drop(columns=TIMES), fresh.drop(columns=TIMES))
    assert cv.results(store).equals(frame)
    for other in ({"policy_seeds": [5]}, {"gap": 0.5}):
        assert len(swept(store, block | other)[1]) == ("gap" in other and "oracles" in block)


@pytest.mark.parametrize("what", AUDITED)
def test_an_audit_takes_what_a_sweep_has_found_where_that_is_enough(
    what: str, store: Path, tmp_path: Path
) -> None:
    find, block = asked(what, tmp_path)
    frame, _ = swept(store, block)
    handed: list[Cell] = []

    with open_store(store) as opened:

        def keep(cell: Cell, answer: Answer) -> None:
            handed.append(cell)
            opened.add([(cell, answer)])

        with keeping(opened.look, keep):
            find()
    assert len(handed) == (what != "allocation, optimum")  # a sweep keeps no rewards, decisions or slots
    assert cv.results(store).equals(frame)


@pytest.mark.parametrize(
    ("name", "change", "left"),
    [
        ("total", {"total": 1e9}, 1),
        ("total", {CHECK: None}, 1),
        ("facts", {"facts": {}}, 2),
        ("facts", {CHECK: None}, 2),
    ],
)
def test_what_is_damaged_in_a_store_is_computed_anew(
    name: str, change: dict[str, Any], left: int, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A result with other numbers, or without its hash, which ``None`` takes away."""
    frame, _ = swept(store, SMALL)
    with open_store(store) as opened:
        row = next(row for row in opened.rows() if name in row["result"])
        kept = {of: value for of, value in (row["result"] | change).items() if value is not None}
        wrong = Answer(State.DONE, kept)
        opened.add([(Cell(row["key"], row["name"], row["function"], row["arguments"]), wrong)])
    assert len(cv.results(store)) == left
    assert f"what is kept as {row['key']} is damaged" in caplog.text
    again, ran = swept(store, SMALL)
    assert ran == [row["name"]]
    pd.testing.assert_frame_equal(again.drop(columns=TIMES), frame.drop(columns=TIMES))


def test_a_forecast_knows_that_limits_were_raised(store: Path) -> None:
    plan = {"sweep": [SMALL]}
    swept(store, SMALL)
    over = Answer(State.TIMED_OUT, None, "too slow", 5.0, 1, {"seconds": 5.0})
    made = sweeping.Plan.read(plan).made()
    with open_store(store) as kept:
        known = kept.known(cell.key for _, cell in made)
        kept.add([(sweeping._cells(made, known)[0], over)])
    for limits, failed in (
        ({"seconds": 5}, 1),
        ({"seconds": 4, "memory_mib": 9000}, 1),
        ({"seconds": 6}, 0),
        ({}, 0),
    ):
        found = sweeping.forecast(plan | {"limits": limits}, store)
        assert (found.cells, found.done, found.failed) == (2, 1, failed)
    assert swept(store, SMALL)[1] == ["ogasched on allocation size=tiny,seed=0"]


# Plans that are none


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"problem": "allocatoin"}, "sweep[0]: problem: 'allocatoin' is not one of"),
        ({"polices": []}, "sweep[0]: polices: unknown field"),
        ({"policies": []}, "sweep[0]: policies: neither these nor oracles are given"),
        ({"policies": "ogasched"}, "sweep[0]: policies: 'ogasched' is not a list of names"),
        ({"policies": ["ogasched", "ogasched"]}, "sweep[0]: policies[1]: 'ogasched' stands twice"),
        ({"policies": ["ogasched", "das"]}, "sweep[0]: policies[1]: policy: 'das' plays 'placement'"),
        ({"policies": [3]}, "sweep[0]: policies[0]: 3 is not a name"),
        ({"oracles": ["best"]}, "sweep[0]: oracles: 'best' is not one of"),
        ({"oracles": ["stationary:slow"]}, "sweep[0]: oracles: stationary: 'slow' is not one of"),
        ({"gap": -1}, "sweep[0]: gap: -1 is not at least 0"),
        ({"time_limit": "1 h"}, "sweep[0]: time_limit: '1 h' is not a finite number"),
        ({"seeds": 0}, "sweep[0]: seeds: 0 is not a whole number of at least 1"),
        (
            {"seeds": 10**11},
            "sweep[0]: seeds: 100000000000 is not a whole number of at least 1 and at most 1000000",
        ),
        ({"seeds": [1, -1]}, "sweep[0]: seeds[1]: -1 is not a whole number"),
        ({"seeds": []}, "sweep[0]: seeds: an empty list leaves nothing to run"),
        ({"policy_seeds": 1.5}, "sweep[0]: policy_seeds: 1.5 is not a whole number"),
        ({"options": {"slot": 3}}, "sweep[0]: options: 'slot' is not one of"),
        ({"options": {"seed": 3}}, "sweep[0]: options: 'seed' is not one of"),
        ({"options": []}, "sweep[0]: options: [] is not a table"),
        ({"options": {"slots": []}}, "sweep[0]: slots: an empty list leaves no instance"),
        ({"options": {"slots": pd.Timestamp(0)}}, "is not made of numbers and texts"),
        ({"files": ["x.json"]}, "sweep[0]: size: cannot be combined with files"),
        ({"trace": "nowhere"}, "sweep[0]: trace: 'nowhere' is not a folder"),
    ],
)
def test_a_plan_that_is_none_is_refused_before_any_work(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        cv.sweep({"sweep": [SMALL | change]}, store="/nowhere/at/all", executor=Inline())
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "sweep: missing field"),
        ("sweep = 3", "sweep: 3 is not a list"),
        ("sweep = []", "sweep: [] is not a list of at least one block"),
        ("sweep = [3]", "sweep[0]: instance: 3 is not an object"),
        ("[[sweep]\n", "not TOML"),
        ("[limits]\nhours = 1\n[[sweep]]\n", "limits.hours: unknown field"),
        ("[limits]\nseconds = 0\n[[sweep]]\n", "limits.seconds: 0 is not at least 0.001"),
        ("[[sweep]]\nproblem = 'allocation'\nfiles = ['none.json']\npolicies = ['fairness']", "none.json"),
    ],
)
def test_a_file_that_holds_no_plan_is_refused_by_its_name(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        sweeping.Plan.read(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert said in str(refused.value)
    file.unlink()
    with pytest.raises(InputError) as missed:
        sweeping.Plan.read(file)
    assert str(missed.value).count(str(file)) == 1


def test_the_plans_of_the_documentation_ask_for_what_it_says() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    text = (docs / "sweeps.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    plan = sweeping.Plan.read(tomllib.loads(example))
    assert (len(plan.made()), len(keys(*tomllib.loads(example)["sweep"]))) == (60, 360)
    figure = tomllib.loads((docs / "sweeps" / "placement-load.toml").read_text(encoding="utf-8"))
    assert len({*figure["sweep"][0]["policies"]} & {*cv.list_policies("placement")}) == 20
    assert len(keys(*figure["sweep"])) == 2835
    text = (docs / "sweeps" / "placement-traces.toml").read_text(encoding="utf-8")
    (traces,) = tomllib.loads(text)["sweep"]
    assert {*traces["policies"]} <= {*cv.list_policies("placement")}


def test_limits_are_read(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        "[limits]\nseconds = 5\nmemory_mib = 2\n[[sweep]]\nproblem = 'allocation'\npolicies = ['fairness']"
    )
    limits = sweeping.Plan.read(file).limits
    assert (limits.seconds, limits.memory) == (5.0, 2 * 2**20)


def test_the_store_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAIRVOYANT_STORE", "/here/x.sqlite")
    assert sweeping.default_store() == Path("/here/x.sqlite")
    monkeypatch.delenv("CLAIRVOYANT_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert sweeping.default_store() == Path("/cache/clairvoyant/store.sqlite")


# Tables and figures


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    store = tmp_path_factory.mktemp("frame") / "store.jsonl"
    block = SMALL | {"seeds": 3, "oracles": ["stationary"], "options": {"contention": [1.0, 2.0]}}
    return swept(store, block)[0]


def test_a_summary_takes_means_over_instances(frame: pd.DataFrame) -> None:
    found = summary(frame)
    assert [row["policy"] for row in found["policies"]] == SMALL["policies"]
    ours = frame[frame["policy"] == "ogasched"]
    row = found["policies"][0]
    assert (row["cells"], row["instances"], row["measure"]) == (6, 6, "regret")
    assert row["total"] == pytest.approx(ours["total"].mean())
    assert row["low"] == pytest.approx(ours["regret_low"].mean())
    assert row["high"] == pytest.approx(ours["regret_high"].mean())
    assert row["seconds"] == pytest.approx(ours["seconds"].sum() / ours["events"].sum())
    assert found["oracles"][0]["gap"] == frame["gap"].max()
    assert summary(frame[:0]) == {"policies": [], "oracles": []}
    alone = summary(frame[frame["policy"].notna()].assign(regret_low=math.nan))["policies"][0]
    assert (alone["measure"], alone["instances"]) == (None, 0)


def test_what_has_failed_is_counted_and_leaves_no_point(frame: pd.DataFrame) -> None:
    """A mean over the others would flatter who fails where it is hard."""
    place = frame.index[(frame["policy"] == "ogasched") & (frame["option.contention"] == 2.0)][0]
    changes: tuple[dict[str, Any], ...] = ({"state": "failed"}, {"state": "timed out"}, {"infeasible": 3}, {})
    for change in changes:  # the last one is compared with no optimum
        broken = frame.copy()
        broken.loc[place, [*change, "regret_low", "regret_high"]] = [*change.values(), math.nan, math.nan]
        (first, *others) = summary(broken)["policies"]
        assert (first["cells"], first["failed"]) == ((5, 1) if "state" in change else (6, 0))
        assert [row["failed"] for row in [*others, *summary(broken)["oracles"]]] == [0, 0]
        lines = {line.get_label(): line for line in plot_results(broken, "option.contention").get_lines()}
        assert np.isnan(np.asarray(lines["ogasched"].get_ydata())).tolist() == [False, True]
        assert np.isfinite(np.asarray(lines["fairness"].get_ydata())).all()


def test_a_size_that_is_none_is_refused_before_any_work(store: Path) -> None:
    for size in (-1, "500M", 2.5):
        with pytest.raises(InputError, match=f"store_size: {size!r} is not a whole number of at least 0"):
            cv.sweep({"sweep": [SMALL]}, store=store, store_size=size)  # type: ignore[arg-type]
    assert not store.exists()


def test_a_text_is_not_several_names(frame: pd.DataFrame, store: Path) -> None:
    for call in (cv.sweep, sweeping.forecast):
        with pytest.raises(InputError, match="retry: 'failed' is not a list of names"):
            call({"sweep": [SMALL]}, store=store, retry="failed")
    with pytest.raises(InputError, match="policies: 'ogasched' is not a list of names"):
        plot_results(frame, "option.contention", policies="ogasched")


def test_a_play_is_compared_with_the_best_proven_optimum() -> None:
    recipe = {"problem": "placement", "options": {}}
    made = {"recipe": recipe, "instance": "x", "digest": "0", "version": "new"}
    proven = {"value": 4.0, "bound": 4.0, "gap": 0.0, "why_stopped": "proved", "method": "", "seconds": 1.0}
    loose = proven | {"bound": 2.0, "gap": 1.0}
    open_ended = proven | {"bound": None, "gap": None}
    rows = [
        Row(made | {"oracle": "offline"}, Answer(State.DONE, one | {"scale": 0.0}))
        for one in (loose, proven, open_ended)
    ]
    played = {"total": 8.0, "events": 1, "infeasible": 0, "seconds": 1.0, "measures": {}}
    found = frame_of(
        [Row(made | {"policy": "das", "policy_seed": 0}, Answer(State.DONE, played)), *rows]
    ).iloc[0]
    assert (found["ratio_low"], found["ratio_high"]) == (2.0, 2.0)


def test_tables_are_written_whole_or_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    write_table(frame, file)
    again = pd.read_csv(file)
    assert list(again.columns) == list(frame.columns)
    assert again["total"].dropna().tolist() == frame["total"].dropna().tolist()
    with pytest.raises(InputError, match=r"tables end in \.csv or \.parquet"):
        write_table(frame, tmp_path / "table.xlsx")


class Handed:
    """Stands for what writes Parquet: keeps the table that pandas hands it."""

    def write(self, frame: pd.DataFrame, path: Any, **_options: Any) -> None:
        self.frame = frame
        path.write(b"PAR1")


def test_parquet_is_handed_columns_of_one_kind_each(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, file = Handed(), tmp_path / "table.parquet"
    monkeypatch.setitem(sys.modules, "pyarrow", ModuleType("pyarrow"))
    monkeypatch.setattr("pandas.io.parquet.get_engine", lambda _name: written)
    options: dict[str, list[Any]] = {
        "option.mixed": [1, "auto", None, True],
        "option.list": [[4, 8], [], math.nan, None],
        "option.flag": [True, False, None, None],
        "option.large": [2**70, 1, 2, 3],
    }
    four = frame[:4].assign(**{name: pd.Series(one, dtype=object) for name, one in options.items()})
    write_table(four, file)
    assert file.read_bytes() == b"PAR1"
    kinds = {name: {*map(type, written.frame[name].dropna())} for name in options}
    assert kinds == {name: {bool if name == "option.flag" else str} for name in options}
    assert [*written.frame["option.mixed"][:2], *written.frame["option.list"][:2]] == [
        "1",
        "auto",
        "[4, 8]",
        "[]",
    ]
    for name in written.frame.columns[written.frame.dtypes == "object"]:
        assert len({*map(type, written.frame[name].dropna())}) <= 1
    rest = [name for name in four.columns if name not in options]
    pd.testing.assert_frame_equal(
        written.frame[rest].convert_dtypes(), four[rest].convert_dtypes(), check_dtype=False
    )


def test_a_table_is_read_back_from_parquet(frame: pd.DataFrame, tmp_path: Path) -> None:
    mixed = frame.assign(**{"option.mixed": [1, "auto", [2]] * (len(frame) // 3)})
    write_table(mixed, tmp_path / "table.parquet")
    again = pd.read_parquet(tmp_path / "table.parquet")
    assert again["option.mixed"].tolist() == ["1", "auto", "[2]"] * (len(frame) // 3)
    pd.testing.assert_frame_equal(
        again[frame.columns].convert_dtypes(), frame.convert_dtypes(), check_dtype=False
    )


def test_what_no_file_can_hold_is_written_out(tmp_path: Path) -> None:
    recipe = {"problem": "placement", "options": {"cluster": "caf\udce9"}}
    broken = Row({"recipe": recipe, "instance": "x"}, Answer(State.FAILED, None, "no caf\udce9"))
    write_table(frame_of([broken]), tmp_path / "table.csv")
    again = pd.read_csv(tmp_path / "table.csv").iloc[0]
    assert (again["option.cluster"], again["error"]) == (r"caf\udce9", r"no caf\udce9")


def test_parquet_needs_pyarrow(frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r'pip install "clairvoyant\[parquet\]"'):
        write_table(frame, tmp_path / "table.parquet")


def test_a_figure_shows_means_and_bands_of_every_policy(frame: pd.DataFrame) -> None:
    ax = plot_results(frame, "option.contention")
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert list(lines) == SMALL["policies"]
    ours = frame[frame["policy"] == "fairness"].groupby("option.contention")["regret_low"].mean()
    assert np.asarray(lines["fairness"].get_xdata()).tolist() == [1.0, 2.0]
    assert np.asarray(lines["fairness"].get_ydata()).tolist() == pytest.approx(list(ours))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("contention", "regret")
    assert all(tick == round(tick) for tick in ax.get_xticks())
    assert "95 % confidence" in to_svg(ax.figure)  # type: ignore[arg-type]
    part = frame[(frame["policy"] != "ogasched") | (frame["option.contention"] > 1.0)]
    again = plot_results(part, "option.contention", policies=["ogasched", "fairness"], bands=False)
    (line, other) = again.get_lines()
    assert [line.get_label(), other.get_label()] == ["ogasched", "fairness"]
    assert np.isnan(np.asarray(line.get_ydata())).tolist() == [True, False]
    assert "95 % confidence" not in to_svg(again.figure)  # type: ignore[arg-type]


def test_a_band_covers_the_intervals_of_both_ends() -> None:
    ends = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 7.0]])
    middle, low, high = _point(ends)
    assert middle == pytest.approx(ends.mean())
    assert (low, high) == (mean_interval(ends[:, 0]).low, mean_interval(ends[:, 1]).high)


@pytest.mark.parametrize(
    ("change", "x", "said"),
    [
        ({}, "option.rho", "x: 'option.rho' is not one of"),
        ({}, "option.size", "x: option.size does not hold numbers"),
        ({"regret_low": math.nan}, "option.contention", "nothing in it is compared with an optimum"),
        ({"regret_high": math.inf}, "option.contention", "regret has no upper end"),
    ],
)
def test_a_table_that_gives_no_figure_is_refused(
    change: dict[str, Any], x: str, said: str, frame: pd.DataFrame
) -> None:
    with pytest.raises(InputError, match=said.replace(".", r"\.")):
        plot_results(frame.assign(**change), x)
    with pytest.raises(InputError, match="policies"):
        plot_results(frame, "option.contention", policies=["das"])


def test_a_figure_is_of_one_problem(frame: pd.DataFrame) -> None:
    two = pd.concat([frame, frame.assign(problem="selection")])
    with pytest.raises(InputError, match="it holds allocation, selection"):
        plot_results(two, "option.contention")
