"""What trains the networks of the package: it says what is left, goes on, and keeps how they learned."""

import json
from pathlib import Path
from typing import Any

import pytest

import clairvoyant
from clairvoyant.online.placement.learned import checkpoint
from clairvoyant.online.placement.learned.evolution import Evolution

from .conftest import script

PLAN = """
version = 1

[design]
ordering = "linear"
placement = "linear"
features = "capacity"
prior = "patient"
holds = true

[jobs]
machines = 2

[training]
method = "evolution"
iterations = {iterations}
episodes = 1
pairs = 1
jobs = 5

[validation]
instances = 1
jobs = 5
every = 2

[test]
instances = 1
jobs = 5
"""


@pytest.fixture
def networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the script, on a package of its own with a plan of 4 iterations and one of 3."""
    module = script("networks")
    for name, iterations in (("short", 3), ("long", 4)):
        (tmp_path / f"{name}.toml").write_text(PLAN.format(iterations=iterations), encoding="utf-8")
    monkeypatch.setattr(module, "SHIPPED", tmp_path)
    monkeypatch.setattr(module, "FOLDER", tmp_path / "training")
    return module


def test_what_is_named_is_trained_and_kept_and_what_fails_is_said(
    networks: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert networks.main(["--left", "long-0", "short-7"]) == 0
    nothing = "long: 0 of 1 done, 4 iterations left\nshort: 0 of 1 done, 3 iterations left\n"
    assert capsys.readouterr().out == f"{nothing}0 of 2 trainings done, 7 iterations left\n"
    assert not list(tmp_path.glob("*.npz"))

    broken = networks.Training("short", "1")
    broken.folder.mkdir(parents=True)
    (broken.folder / "last.npz").write_bytes(b"no network")
    assert networks.main(["long-0", "short-7", "short-1"]) == 1
    *_, one, two, three = capsys.readouterr().out.splitlines()
    ended = dict(line.split(";")[0].split(": ", 1) for line in (one, two, three))
    assert ended.pop("short-1").endswith("last.npz is no whole file of networks")
    assert ended == {"long-0": "done", "short-7": "done"}
    assert three.endswith("2 of 3 trainings done, 3 iterations left")

    again = clairvoyant.train(tmp_path / "short.toml", tmp_path / "again", seed=7)
    lines = [json.loads(line) for line in (tmp_path / "again" / "progress.jsonl").read_text().splitlines()]
    assert (tmp_path / "short-7.npz").read_bytes() == (tmp_path / "again" / "best.npz").read_bytes()
    assert checkpoint.read(tmp_path / "short-7.npz")["plan"] == again["plan"]
    records = json.loads((tmp_path / "curves.json").read_text("utf-8"))
    assert sorted(records) == ["long-0", "short-7"]
    assert records["short-7"]["jobs"] == 3 * 1 * 5
    validated = [[lines[at]["steps"], round(lines[at]["validation"], 3)] for at in (1, 2)]
    assert records["short-7"]["curve"] == validated
    log = (networks.Training("short", "7").folder / "progress.jsonl").read_text("utf-8").splitlines()
    steps, speed = zip(*((line["steps"], line["speed"]) for line in map(json.loads, log)), strict=True)
    seconds = [(now - before) / fast for before, now, fast in zip((0, *steps), steps, speed, strict=False)]
    assert records["short-7"]["seconds"] == round(sum(seconds), 1)
    assert not (tmp_path / "short-1.npz").exists()

    assert networks.main(["--left"]) == 0  # of what the package now has
    assert capsys.readouterr().out.endswith("2 of 2 trainings done, 0 iterations left\n")


def test_a_training_that_ended_early_has_learned_from_fewer_jobs(
    networks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = PLAN.format(iterations=9).replace("[validation]", "[validation]\npatience = 1")
    (tmp_path / "early.toml").write_text(told, encoding="utf-8")
    one = networks.Training("early", "0")
    monkeypatch.setattr(Evolution, "validate", lambda self: float(self.iteration))
    clairvoyant.train(one.plan, one.folder, seed=0)
    assert one.done
    assert one.left() == 0
    assert networks.record(one, "here")["jobs"] == len(one.progress()) * 1 * 5 < 9 * 5


def test_optima_are_no_new_jobs(networks: Any, tmp_path: Path) -> None:
    optima = "[optima]\ninstances = 2\njobs = 3\n[validation]\ninstances = 1\njobs = 5\n[test]\njobs = 5\n"
    learned = f"[training]\nimitation = 1\nepisodes = 1\njobs = 5\niterations = 3\n{optima}"
    told = f'version = 1\n[design]\nname = "da-mc"\n[jobs]\ncluster = "small"\n{learned}'
    (tmp_path / "exact.toml").write_text(told, "utf-8")
    one = networks.Training("exact", "0")
    clairvoyant.train(one.plan, one.folder, seed=0)
    assert networks.record(one, "here")["jobs"] == 2 * 5


def test_a_training_that_was_stopped_has_the_rest_left(networks: Any) -> None:
    one = networks.Training("long", "0")
    one.folder.mkdir(parents=True)
    log = one.folder / "progress.jsonl"
    log.write_text('{"iteration": 1}\n{"iteration": 2}\n{"iterat', encoding="utf-8")
    assert one.left() == 2
    assert networks.told([one]).splitlines()[-1] == "0 of 1 trainings done, 2 iterations left"


def test_unknown_names_are_refused(networks: Any) -> None:
    with pytest.raises(SystemExit, match="short: neither a plan of which there are networks"):
        networks.chosen(["short"])  # a plan, but no seed is kept
    with pytest.raises(SystemExit, match="other-0: neither"):
        networks.chosen(["other-0"])
