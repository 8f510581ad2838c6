"""``clairvoyant sweep`` and ``clairvoyant store``: what they print, their exit statuses, and Ctrl-C."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant.analysis.engine.processes import Limits, Processes
from clairvoyant.analysis.engine.store import open_store, read_rows
from clairvoyant.cli.sweeping import Size
from clairvoyant.models.base import MOST_BYTES, InputError

Run = Callable[..., Any]  # of tests/front/conftest.py

PLAN = """
[limits]
seconds = 600
[[sweep]]
problem = "placement"
size = "tiny"
seeds = 2
policies = ["tetris", "fifo-consolidate"]
oracles = ["offline"]
[[sweep]]
problem = "allocation"
size = {size}
policies = ["fairness"]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN.replace("{size}", '"tiny"'))
    return file


LIGHT = """
[limits]
seconds = 600
[[sweep]]
problem = "allocation"
seeds = 2
size = {size}
policies = ["fairness"]
"""


@pytest.fixture
def light_plan(tmp_path: Path) -> Path:
    file = tmp_path / "light.toml"
    file.write_text(LIGHT.replace("{size}", '"tiny"'))
    return file


@pytest.fixture
def bad_plan(tmp_path: Path) -> Path:
    file = tmp_path / "bad.toml"
    file.write_text(LIGHT.replace("{size}", '["titanic", "tiny"]').replace("seeds = 2", "seeds = 1"))
    return file


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that holds all that the plan asks for."""
    store = tmp_path_factory.mktemp("computed") / "store.sqlite"
    plan = tomllib.loads(PLAN.replace("{size}", '"tiny"'))
    assert set(cv.sweep(plan, store=store, workers=1)["state"]) == {"done"}
    return store


@pytest.fixture
def known(computed: Path, store: Path) -> None:
    """Let all be known that the plan asks for."""
    shutil.copy(computed, store)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAIRVOYANT_STORE", str(tmp_path / "store.sqlite"))
    return tmp_path / "store.sqlite"


@pytest.mark.usefixtures("known")
def test_a_sweep_prints_what_policies_are_worth(plan: Path, store: Path, run: Run, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    printed = run("sweep", plan, "--workers", 1, "--out", table)
    assert printed.status == 0
    lines = printed.out.splitlines()
    heads = ["policy", "problem", "cells", "mean total", "compared", "mean", "instances", "s / decision"]
    assert [head.strip() for head in lines[0].split("  ") if head.strip()] == heads
    frame = cv.results(store)
    for policy in ("tetris", "fifo-consolidate"):
        (row,) = (line for line in lines if line.startswith(f"{policy} "))
        ours = frame[frame["policy"] == policy]
        words = row.split()
        assert words[1:3] == ["placement", "2"]
        assert words[3].replace(",", "") == f"{ours['total'].mean():.6g}"
        assert words[4:8] == ["s", "total", "/", "optimum"]
        assert words[8:10] == [f"{ours['ratio_low'].mean():.4g}", "2"]
    assert any(line.startswith("offline") for line in lines)
    assert lines[-2:] == ["cells: 7 done", f"store: {store}"]
    assert table.read_text().count("\n") == 8
    again = run("sweep", plan, "--json", "--dry-run")
    forecast = again.json["forecast"]
    assert (forecast["cells"], forecast["done"], forecast["unmade"]) == (7, 7, 0)


@pytest.mark.usefixtures("known")
def test_the_json_holds_what_is_printed(plan: Path, store: Path, run: Run) -> None:
    printed = run("sweep", plan, "--workers", 1, "--json")
    assert printed.status == 0
    assert printed.json["store"] == str(store)
    assert printed.json["states"] == {"done": 7}
    assert printed.json["failures"] == []
    assert [row["policy"] for row in printed.json["policies"]] == ["tetris", "fifo-consolidate", "fairness"]
    assert printed.json["policies"][2]["measure"] is None
    assert printed.json["oracles"][0]["gap"] == 0.0


def test_a_sweep_with_failures_says_which_and_why(bad_plan: Path, run: Run) -> None:
    printed = run("sweep", bad_plan, "--workers", 1)
    assert printed.status == 1
    (row,) = (line for line in printed.out.splitlines() if "titanic" in line and "making it" in line)
    assert "failed" in row
    assert "not one of tiny, default, large" in " ".join(printed.out.split())
    assert "cells: 1 failed, 1 done" in printed.out
    retried = run("sweep", bad_plan, "--workers", 1, "--retry", "failed", "--retry", "timed-out", "--json")
    assert retried.status == 1
    (failure,) = retried.json["failures"]
    assert failure["why"].endswith("InputError: size: 'titanic' is not one of tiny, default, large")
    assert run("store", "--forget", "failed", "--json").json["dropped"] == 1
    assert "failed" not in run("store").out


def test_a_dry_run_does_nothing(plan: Path, store: Path, run: Run) -> None:
    printed = run("sweep", plan, "--dry-run", "--workers", 2)
    assert printed.status == 0
    assert printed.out.splitlines() == [
        "7 cells on 3 instances",
        "0 are done, 0 have failed or timed out, 7 are to do",
        "3 instances have yet to be made; of their cells some may be known then",
        "time with 2 workers: none is measured",
        f"store: {store}",
    ]
    assert not store.exists()


@pytest.mark.usefixtures("known")
def test_a_store_is_looked_at_and_emptied(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = run("store", "--out", tmp_path / "all.csv")
    assert printed.status == 0
    words = [line.split()[:3] for line in printed.out.splitlines()]
    assert ["describe", "placement", "2"] in words
    assert ["played", "placement", "4"] in words
    assert ["solved", "placement", "2"] in words
    assert (tmp_path / "all.csv").read_text().count("\n") == 8
    monkeypatch.setattr(
        "clairvoyant.sweeping._newest", lambda rows: [row for row in rows if "policy" in row["arguments"]][:1]
    )
    for versions, lines in (("newest", 2), ("all", 8)):
        run("store", "--out", tmp_path / "some.csv", "--versions", versions)
        assert (tmp_path / "some.csv").read_text().count("\n") == lines
    there = run("store", "--json").json
    assert (there["cells"], there["states"], there["dropped"]) == (10, {"done": 10}, 0)
    half = there["bytes"] // 2
    left = run("store", "--shrink", half, "--json").json
    assert 0 < left["bytes"] <= half
    assert left["dropped"] + left["cells"] == 10
    assert run("store", "--forget", "all", "--json").json["cells"] == 0
    assert "cells: none" in run("store").out


@pytest.mark.usefixtures("known")
def test_what_is_read_is_not_written_over(run: Run, plan: Path, store: Path, tmp_path: Path) -> None:
    named = plan.rename(tmp_path / "plan.csv")
    before = named.read_bytes()
    assert run("sweep", named, "--out", named).err.endswith("plan.csv: cannot be written: it is read\n")
    assert named.read_bytes() == before
    kept = shutil.copyfile(store, tmp_path / "store.csv")
    assert run("store", "--store", kept, "--out", kept).err.endswith("cannot be written: it is read\n")
    assert kept.read_bytes() == store.read_bytes()


def test_a_sweep_leaves_no_larger_store_than_it_may(
    plan: Path, computed: Path, store: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(computed, store)
    assert run("sweep", plan, "--store-size", "2K", "--json").json["states"] == {"done": 7}
    assert 0 < run("store", "--json").json["bytes"] <= 2048
    shutil.copy(computed, store)
    monkeypatch.setenv("CLAIRVOYANT_STORE_SIZE", "0")
    assert run("sweep", plan, "--json").json["states"] == {"done": 7}
    assert run("store", "--json").json["cells"] == 0


@pytest.mark.parametrize(
    ("text", "size"),
    [("12", 12), ("500M", 500 * 2**20), ("1.5k", 1536), ("2 GiB", 2**31), ("3tb", 3 * 2**40)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert Size()(text) == size


def test_bad_input_is_refused_in_one_line(plan: Path, store: Path, run: Run, tmp_path: Path) -> None:
    other = tmp_path / "letter.sqlite"
    other.write_text("a letter")
    large = tmp_path / "large.toml"
    with large.open("wb") as stream:
        stream.truncate(MOST_BYTES + 1)
    for words, said in (
        (["sweep", tmp_path / "none.toml"], "none.toml: cannot be read"),
        (["sweep", large], "holds more than"),
        (["sweep", plan, "--store", other], "it is not a store of results"),
        (["sweep", plan, "--store", plan / "x"], "cannot be made a folder"),
        (["sweep", plan, "--out", tmp_path / "x.xlsx"], "tables end in .csv or .parquet"),
        (["sweep", plan, "--out", tmp_path / "none" / "x.csv"], "cannot be written"),
        (["sweep", plan, "--workers", 2, "--dask", "local:2"], "exclude each other"),
        (["sweep", plan, "--store-size", "much"], "'much' is not a size"),
        (["sweep", plan, "--retry", "done"], "'done' is not one of"),
        (["store", "--store", tmp_path / "none"], "there is no such file"),
        (["store", "--store", other], "it is not a store of results"),
    ):
        printed = run(*words)
        assert (printed.status, printed.out) == (2, ""), words
        assert said in printed.err
        assert printed.err.count("\n") == 1
    assert not store.exists()


def test_two_sweeps_do_not_write_one_store(plan: Path, store: Path, run: Run) -> None:
    with open_store(store):
        for words in (["sweep", plan], ["store", "--forget", "all"]):
            printed = run(*words)
            assert printed.status == 2
            why = "another process is writing this store; wait for it, or name another store"
            assert printed.err == f"error: {store}: {why}\n"
        assert run("store").status == 0


class Cluster(Processes):
    """Stands for the cluster: processes of this machine that note how they were asked for."""

    asked: list[Any]

    def __init__(self, address: str, limits: Limits) -> None:
        self.asked.append((address, limits.seconds))
        super().__init__(1, limits)

    @classmethod
    def local(cls, workers: int, limits: Limits) -> "Cluster":
        return cls(f"{workers} here", limits)


@pytest.mark.usefixtures("known")
def test_a_cluster_is_asked_for_with_the_limits_of_the_plan(
    plan: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = ModuleType("cluster")
    module.Cluster = Cluster
    monkeypatch.setattr(Cluster, "asked", [], raising=False)
    monkeypatch.setitem(sys.modules, "clairvoyant.analysis.engine.cluster", module)
    assert run("sweep", plan, "--dask", "tcp://there:8786", "--json").json["states"] == {"done": 7}
    assert run("sweep", plan, "--dask", "local:3").status == 0
    assert Cluster.asked == [("tcp://there:8786", 600.0), ("3 here", 600.0)]
    assert "local:N needs a number" in run("sweep", plan, "--dask", "local:some").err


def test_a_sweep_on_a_cluster_of_this_machine(
    light_plan: Path, run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clairvoyant.analysis.engine.cluster.LOOK_EVERY", 0.02)
    assert "time with 77 workers" in run("sweep", light_plan, "--dask", "local:77", "--dry-run").out
    printed = run("sweep", light_plan, "--dask", "local:1", "--json")
    assert (printed.status, printed.json["states"]) == (0, {"done": 2})
    again = run("sweep", light_plan, "--json")  # without a worker: it is all there
    assert again.json["policies"] == printed.json["policies"]
    assert {row["attempts"] for row in read_rows(store)} == {1}


def test_ctrl_c_says_what_is_saved_and_the_same_command_goes_on(
    store: Path, run: Run, tmp_path: Path
) -> None:
    endless = tmp_path / "endless.toml"
    endless.write_text(
        '[[sweep]]\nproblem = "allocation"\nsize = "tiny"\nseeds = 9000\npolicies = ["fairness"]\n'
    )
    command = [sys.executable, "-m", "clairvoyant", "sweep", str(endless), "--workers", "1", "--json"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        while not store.exists() or not holds_any(store):
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    told = json.loads(out)
    assert told["interrupted"] is True
    assert (
        f"interrupted: saved: {told['saved']} of 9000 instances; the same command goes on from there" in err
    )
    assert run("store", "--json").json["cells"] == told["saved"] >= 1


def holds_any(store: Path) -> bool:
    """Whether there is anything in a store that is being made."""
    try:
        return len(read_rows(store)) > 0
    except InputError:
        return False
