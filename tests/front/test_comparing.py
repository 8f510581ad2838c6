"""``cv.compare`` and ``clairvoyant compare``: the same numbers as playing and solving one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.cbook import is_math_text

import clairvoyant as cv
from clairvoyant import comparing
from clairvoyant.analysis.engine.engine import Interrupted
from clairvoyant.analysis.engine.processes import Processes
from clairvoyant.comparing import Comparison
from clairvoyant.models.base import ClairvoyantError, InputError

Run = Callable[..., Any]  # of tests/front/conftest.py


@pytest.fixture
def columns() -> int:
    """Return the width of a terminal that nobody has made wider."""
    return 80


@pytest.fixture(scope="module")
def jobs() -> list[cv.Instance]:
    return [cv.generate("admission", "tiny", seed) for seed in range(3)]


@pytest.fixture(autouse=True)
def ran(compared_here: list[str]) -> list[str]:
    """Return the names of what was computed."""
    return compared_here


class Nothing:
    """A policy of a user: it serves nobody."""

    name = "nothing"
    traits = cv.Traits(problem="allocation")

    def start(self, setting: Any, rng: Any) -> None:
        self._shape = setting.shape

    def decide(self, observation: Any) -> np.ndarray:
        return np.zeros(self._shape)


def test_every_run_is_that_of_play_beside_the_optimum(jobs: list[cv.Instance]) -> None:
    found = cv.compare(jobs, ["rrh", "fifo:workers=2"], seeds=2, seed=5).to_frame()
    assert len(found) == 3 * (2 + 2)  # both draw at random
    for row in found.to_dict("records"):
        instance = jobs[int(row["instance"])]
        run, best = cv.play(row["policy"], instance, row["seed"]), cv.solve(instance)
        assert (row["digest"], row["total"], row["infeasible"]) == (instance.digest(), run.total, 0)
        assert (row["optimum_value"], row["optimum_bound"]) == (best.value, best.bound)
        assert best.bound is not None
        assert row["low"] == pytest.approx(best.value / run.total)
        assert row["high"] == pytest.approx(best.bound / run.total)
    assert sorted(set(found["seed"])) == [5, 6]


def test_processes_find_the_same_and_what_is_kept_is_not_computed_again(
    jobs: list[cv.Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: list[str]
) -> None:
    def compared(*policies: str, store: str) -> Any:
        found = cv.compare(jobs[:2], policies, seeds=2, workers=1, store=tmp_path / store)
        return found.to_frame().drop(columns="seconds")

    here = compared("fifo", "drf", store="here.sqlite")
    assert ran == [f"{what} on {name}" for name in "01" for what in ("offline", "fifo", "fifo", "drf")]
    ran.clear()
    who = ["instance", "policy", "seed"]
    again = compared("drf", "fifo", store="here.sqlite").set_index(who).sort_index()
    assert again.equals(here.set_index(who).sort_index())
    assert ran == []
    compared("fifo:workers=2", "drf", store="here.sqlite")
    assert ran == [f"fifo:workers=2 on {name}" for name in "0011"]
    monkeypatch.setattr(comparing, "Processes", Processes)
    assert compared("fifo", "drf", store="there.sqlite").equals(here)


def test_a_comparison_and_a_sweep_take_what_the_other_has_found(tmp_path: Path, ran: list[str]) -> None:
    plan = {"problem": "selection", "size": "tiny", "policies": ["cucb"], "oracles": ["clairvoyant"]}
    swept = cv.sweep({"sweep": [plan]}, store=tmp_path / "s", workers=1)
    found = cv.compare(cv.generate("selection", "tiny", 0), "cucb", store=tmp_path / "s")
    assert ran == []
    (mine,) = found.to_frame().to_dict("records")
    theirs = swept.dropna(subset="policy").iloc[0]
    assert (mine["total"], mine["seconds"]) == (theirs["total"], theirs["seconds"])
    assert (mine["low"], mine["high"]) == (theirs["regret_low"], theirs["regret_high"])


def test_what_a_comparison_has_found_bears_the_names_of_a_sweep(tmp_path: Path) -> None:
    plan = {"problem": "selection", "size": "tiny", "policies": ["cucb"], "options": {"servers": 2}}
    cv.compare(cv.generate("selection", "tiny", 0, servers=2), "cucb", optimum=False, store=tmp_path / "s")
    (swept,) = cv.sweep({"sweep": [plan]}, store=tmp_path / "s").to_dict("records")
    (kept,) = cv.results(tmp_path / "s").to_dict("records")
    assert (kept["instance"], kept["option.servers"]) == (swept["instance"], 2)
    cv.compare(cv.generate("selection", "tiny", 0, servers=2), "cucb", optimum=False, store=tmp_path / "s")
    (again,) = cv.results(tmp_path / "s").to_dict("records")
    assert again["instance"] == swept["instance"]


def test_pairs_are_of_what_both_have_played() -> None:
    rows = [(p, i, {"a": 3.0, "b": 1.0, "c": 2.0}[p]) for p in "abc" for i in range(4) if p != "c" or i < 2]
    frame = pd.DataFrame(rows, columns=["policy", "instance", "total"]).assign(infeasible=0)
    found = Comparison("admission", "", "", frame).pairs().set_index(["policy", "other"])
    assert found["difference"].to_dict() == {("a", "b"): 2.0, ("a", "c"): 1.0, ("b", "c"): -1.0}
    apart = frame[(frame["policy"] != "c") & ~((frame["policy"] == "a") & (frame["instance"] < 2))]
    lone = pd.concat([apart, frame[frame["policy"] == "c"]])
    assert [*Comparison("admission", "", "", lone).pairs()["other"]] == ["b", "c"]


def test_labels_may_have_dollars(jobs: list[cv.Instance], tmp_path: Path) -> None:
    found = cv.compare(jobs[0], {"$x^$": "drf", "a$_$b": "fifo"}, optimum=False, store=tmp_path / "s")
    ax = found.plot()
    ax.figure.canvas.draw()
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert not any(map(is_math_text, shown))
    assert [text.replace(r"\$", "$") for text in shown] == ["$x^$", "a$_$b"]


@pytest.mark.parametrize("mine", [False, True])
def test_an_interrupted_comparison_says_what_is_kept_and_goes_on(
    mine: bool, jobs: list[cv.Instance], tmp_path: Path, ran: list[str]
) -> None:
    """Also where the interrupt comes while an object is played in this process."""
    instance = cv.generate("allocation", "tiny", 1) if mine else jobs[0]
    policies = {"mine": Nothing(), "drf": "drf"} if mine else {"fifo": "fifo", "drf": "drf"}

    def stop(_part: float, text: str) -> None:
        if ("in this process" in text) if mine else text.startswith("2 of 3"):
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"saved: 2 of [23] runs and optima; the same command goes on"):
        cv.compare(instance, policies, store=tmp_path / "s", progress=stop)
    ran.clear()
    assert len(cv.compare(instance, policies, store=tmp_path / "s").to_frame()) == 2
    assert ran == ([] if mine else ["drf on 0"])


def test_a_run_that_fails_is_told_in_one_line_and_tried_again(
    jobs: list[cv.Instance], tmp_path: Path, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: Any) -> None:
        raise error

    monkeypatch.setattr("clairvoyant.sweeping.told_of", broken)
    for error in (InputError("jobs: too many"), ClairvoyantError("slot 3: no"), ZeroDivisionError("oops")):
        kind = InputError if isinstance(error, InputError) else ClairvoyantError
        ours = isinstance(error, ClairvoyantError)
        told = r".*\.py, line \d+, in broken: ZeroDivisionError: oops" if not ours else str(error)
        with pytest.raises(ClairvoyantError, match=f"^drf on 0: {told}$") as caught:
            cv.compare(jobs[0], ["drf"], store=tmp_path / "s")
        assert type(caught.value) is kind
    assert ran == ["offline on 0", "drf on 0", "drf on 0", "drf on 0"]


def test_a_policy_that_draws_nothing_is_played_once(jobs: list[cv.Instance]) -> None:
    assert len(cv.compare(jobs[0], ["oasis", "rrh"], seeds=3).to_frame()) == 1 + 3


def test_means_count_every_instance_once(jobs: list[cv.Instance]) -> None:
    """A summary by hand: means over seeds, and of these over instances; the interval is Student's."""
    found = cv.compare({f"job {n}": one for n, one in enumerate(jobs)}, ["oasis", "rrh"], seeds=2)
    frame, told = found.to_frame(), found.summary()
    for row in told.to_dict("records"):
        of = frame[frame["policy"] == row["policy"]]
        each = [of[of["instance"] == f"job {n}"] for n in range(3)]
        assert row["instances"] == 3
        assert row["total"] == pytest.approx(np.mean([part["total"].mean() for part in each]))
        lows = np.array([part["low"].mean() for part in each])
        assert row["low"] == pytest.approx(lows.mean())
        half = 4.302652729911275 * lows.std(ddof=1) / math.sqrt(3)  # t of 97.5 % with 2 degrees of freedom
        assert row["from"] == pytest.approx(max(1.0, lows.mean() - half))
    (pair,) = found.pairs().to_dict("records")
    mine, other = (frame[frame["policy"] == p].groupby("instance")["total"].mean() for p in ("oasis", "rrh"))
    assert pair["difference"] == pytest.approx(float((mine - other).mean()))
    assert pair["from"] < pair["difference"] < pair["to"]
    assert 0.0 < pair["p"] <= 1.0


def test_one_instance_says_nothing_of_others(jobs: list[cv.Instance]) -> None:
    found = cv.compare(jobs[0], ["oasis", "drf"])
    assert found.summary()[["from", "to"]].isna().all(axis=None)
    assert found.pairs()[["from", "to"]].isna().all(axis=None)
    assert not found.summary()[["low", "high"]].isna().any(axis=None)


def test_without_decisions_there_is_no_time_of_one() -> None:
    found = cv.compare(cv.generate("allocation", "tiny", 1, slots=0), ["drf"])
    assert found.summary()["ms"].isna().all()


def test_ones_own_policy_stands_beside_ours() -> None:
    instance = cv.generate("allocation", "tiny", 1)
    found = cv.compare(instance, {"mine": Nothing(), "theirs": "drf"})
    mine = found.summary().iloc[0]
    assert (found.measure, mine["policy"], mine["total"]) == ("regret", "mine", 0.0)
    best = cv.solve(instance)
    assert mine["low"] == pytest.approx(best.value)
    assert mine["high"] == pytest.approx(best.bound)


def test_without_an_optimum_there_is_nothing_to_compare_with(jobs: list[cv.Instance]) -> None:
    found = cv.compare(jobs, ["oasis"], optimum=False)
    assert found.measure == ""
    assert found.to_frame()[["optimum_value", "optimum_bound", "low", "high"]].isna().all(axis=None)
    assert found.summary()["total"].notna().all()
    assert len(found.pairs()) == 0
    assert found.plot().get_xlabel().startswith("total")
    with pytest.raises(InputError, match="time_limit: without an optimum there is nothing to limit"):
        cv.compare(jobs, ["oasis"], optimum=False, time_limit=3.0)


def test_a_time_limit_leaves_the_certified_bound(jobs: list[cv.Instance]) -> None:
    """What is not proved widens the interval, and never moves the truth out of it."""
    (proved,) = cv.compare(jobs[1], ["drf"]).to_frame().to_dict("records")
    (stopped,) = cv.compare(jobs[1], ["drf"], time_limit=0.0).to_frame().to_dict("records")
    assert stopped["low"] <= proved["low"] * (1 + 1e-9)
    assert stopped["high"] > 1.01 * proved["high"]  # nothing but what is there at once


def test_what_people_see(jobs: list[cv.Instance], tmp_path: Path) -> None:
    found = cv.compare(jobs, ["oasis", "drf"])
    assert "oasis" in found._repr_html_()
    told = "Comparison of admission, ratio between low and high"
    assert repr(found).startswith(f"{told}; that of the kind between from and to, 95 %:\npolicy ")
    assert repr(cv.compare(jobs[0], ["drf"])).startswith(f"{told}:\npolicy ")
    assert "NaN" not in repr(cv.compare(jobs[0], ["drf"], optimum=False))
    axes = found.plot()
    assert [one.get_text() for one in axes.get_yticklabels()] == ["oasis", "drf"]
    assert axes.get_xlabel() == "ratio; thin lines: the mean of the kind, 95 %"
    assert cv.compare(jobs[0], ["oasis"]).plot().get_xlabel() == "ratio"
    found.save(tmp_path / "runs.csv")
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert len(lines) == 1 + 6
    assert lines[0].startswith("instance,policy,digest,seed,total,")
    with pytest.raises(InputError, match=r"tables end in \.csv or \.parquet"):
        found.save(tmp_path / "runs.txt")


@pytest.mark.parametrize(
    ("count", "policies", "text"),
    [
        (0, ["oasis"], "instances: there is none"),
        (1, [], "policies: there is none"),
        (1, ["oasis", "oasis"], "policies: 'oasis' is given twice"),
        (1, ["tetris"], "policy: 'tetris' plays 'placement', not 'admission'"),
    ],
)
def test_bad_input_is_one_clear_error(
    jobs: list[cv.Instance], count: int, policies: list[str], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        cv.compare(jobs[:count], policies)


def test_problems_are_not_mixed(jobs: list[cv.Instance]) -> None:
    with pytest.raises(InputError, match="instances: of several problems: admission, placement"):
        cv.compare([jobs[0], cv.generate("placement", "tiny", 0)], ["oasis"])


def test_one_instance_is_not_two_samples(jobs: list[cv.Instance]) -> None:
    with pytest.raises(InputError, match="instances: 'a' and 'b' are the same instance"):
        cv.compare({"a": jobs[0], "b": jobs[0]}, ["oasis"])


@pytest.mark.parametrize(
    ("instances", "policies", "text"),
    [
        (5, ["oasis"], "int is no instance"),
        (None, 5, "int is no policy"),
        (None, [5], "int has no member 'name'"),
        (None, [Nothing], "Nothing is a class: give an object"),
        (None, [Nothing()], "nothing plays 'allocation', the instance is 'admission'"),
    ],
)
def test_what_is_no_instance_and_no_policy_is_refused(
    jobs: list[cv.Instance], ran: list[str], instances: Any, policies: Any, text: str
) -> None:
    with pytest.raises(InputError, match=text):
        cv.compare(jobs if instances is None else instances, policies)
    assert not ran


def test_what_was_not_possible_is_compared_with_nobody(run: Run, tmp_path: Path) -> None:
    instance = cv.generate("allocation", "tiny", 1)
    found = cv.compare(instance, ["ogasched-printed", "drf"])
    told = found.summary().set_index("policy")
    assert told.loc["ogasched-printed", "infeasible"] > 0
    assert math.isnan(told.loc["ogasched-printed", "low"])
    assert len(found.pairs()) == 0
    instance.save(tmp_path / "i.json")
    words = ["compare", str(tmp_path / "i.json"), "--policy", "ogasched-printed"]
    shown = run(*words).out
    assert "so its total means nothing" in shown
    assert "nan" not in shown
    assert "\noptimum " in run(*words, "--policy", "drf").out
    refused = run(*words, "--out", str(tmp_path / "i.json"))
    assert (refused.status, "cannot be written: it is read" in refused.err) == (2, True)


def test_the_command_prints_and_keeps_the_same(run: Run, tmp_path: Path, jobs: list[cv.Instance]) -> None:
    paths = [tmp_path / f"{n}.json" for n in range(3)]
    for path, instance in zip(paths, jobs, strict=True):
        instance.save(path)
    words = ["compare", *map(str, paths), "--policy", "oasis", "--policy", "drf"]
    found = cv.compare(paths, ["oasis", "drf"])
    told = run(*words, "--json", "--out", str(tmp_path / "r.csv")).json
    assert told["problem"] == "admission"
    assert told["measure"] == "ratio"
    assert [row["total"] for row in told["runs"]] == found.to_frame()["total"].tolist()
    assert [row["low"] for row in told["policies"]] == found.summary()["low"].tolist()
    assert told["pairs"][0]["difference"] == found.pairs()["difference"][0]
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 7
    shown = run(*words)
    assert all(len(line) <= 80 for line in shown.out.splitlines())
    assert "p (Holm)" in shown.out
    best = found.to_frame().drop_duplicates("instance")["optimum_value"].mean()
    assert f"mean optimum {best:,.6g}; nothing is better than" in shown.out
    alone = run("compare", str(paths[0]), "--policy", "oasis").out
    assert "mean of the kind" in shown.out
    assert "further" not in alone  # no empty column
    assert alone.splitlines()[3].startswith("optimum ")
    refused = run("compare", str(paths[0]), "--policy", "oasiss")
    assert refused.status == 2
    assert "did you mean 'oasis'" in refused.err


def test_an_interrupted_command_says_what_is_kept(
    run: Run, tmp_path: Path, jobs: list[cv.Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_arguments: Any, **_options: Any) -> None:
        raise Interrupted(2, 3, "runs and optima")

    monkeypatch.setattr(comparing, "run_cells", stopped)
    jobs[0].save(tmp_path / "0.json")
    words = ("compare", tmp_path / "0.json", "--policy", "drf", "--store", tmp_path / "s", "--workers", 2)
    told = run(*words, "--json")
    assert (told.status, told.json) == (130, {"interrupted": True, "saved": 2, "total": 3})
    assert told.err == "interrupted: saved: 2 of 3 runs and optima; the same command goes on from there\n"
