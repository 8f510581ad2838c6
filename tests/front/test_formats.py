"""Published formats by name: each is described, and read by what reads folders of traces, too."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant import api
from clairvoyant.cli import commands
from clairvoyant.models.formats import FORMATS
from clairvoyant.models.sources import Source
from clairvoyant.problems import problems

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("CLAIRVOYANT_TRACES", ROOT.parent / "shared" / "traces"))
READ = [(name, problem) for name in FORMATS for problem, one in problems().items() if name in one.formats]
TRACES = [pair for pair in READ if pair[0] != "swf"]
SMALL: dict[str, dict[str, Any]] = {
    "placement": {"jobs": 5},
    "admission": {"jobs": 2, "horizon": 5, "fit": "any"},
}


def test_every_format_that_a_problem_knows_is_described_and_the_other_way_round() -> None:
    assert {name for one in problems().values() for name in one.formats} == {*FORMATS}
    assert {name for name, _ in READ} == {*FORMATS}
    for one in FORMATS.values():
        assert all((one.about, one.where, one.filled, one.files))


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no traces at {REAL}")
@pytest.mark.parametrize("name", sorted({name for name, _ in TRACES}))
def test_the_files_of_a_format_are_those_that_are_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is read is what ``from_trace`` makes of it."""
    opened, rows = set(), Source.rows

    def noted(source: Source, folder: Any) -> Any:
        opened.add(source)
        return rows(source, folder)

    monkeypatch.setattr(Source, "rows", noted)
    for problem in (p for known, p in TRACES if known == name and not p.endswith("-gang")):
        options = SMALL.get(problem, {"size": "tiny"})
        found = cv.from_table(problem, REAL, format=name, **options)
        preset: Any = problems()[problem].formats[name]
        assert found == api.from_trace(problem, REAL, **preset, **options)
        assert "trace (" in found.origin.source
    assert opened == {*FORMATS[name].files}


def test_what_a_format_does_not_take_is_refused(tmp_path: Path) -> None:
    for problem, options, text in (
        ("placement", {"format": "phily"}, "format: 'phily' is not one of .*; did you mean 'philly'"),
        ("selection", {"format": "swf"}, "format: 'swf' is not one of alibaba-2018, alibaba-gpu-2023$"),
        (
            "placement",
            {"format": "philly", "machines": {"gpus": [1]}},
            "machines: a table of machines is not taken",
        ),
        (
            "placement",
            {"format": "philly", "columns": {"a": "b"}},
            "columns: those of the format 'philly' are known",
        ),
        (
            "placement",
            {"format": "philly", "job": 3},
            "job: format 'philly' takes no such option; .*mean 'jobs'",
        ),
        ("placement", {"format": "philly"}, "no-folder: no such folder of traces"),
    ):
        with pytest.raises(cv.InputError, match=text):
            cv.from_table(problem, tmp_path / "no-folder", **options)


def run(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    capfd.readouterr()
    status = commands.main([str(word) for word in words])
    out, err = capfd.readouterr()
    return status, out, err


def test_formats_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "formats", "--json")
    rows = json.loads(out)["formats"]
    assert status == 0
    assert {row["format"]: row["problems"] for row in rows}["philly"] == ["placement"]
    status, out, _ = run(capfd, "formats")
    text = " ".join(out.split())
    for row in rows:
        assert all(
            " ".join(row[key].split()) in text for key in ("format", "about", "published by", "filled")
        )
        assert all(file["terms"] in text and file["columns"][0] in text for file in row["files"])


LOG = "time,service\n2024-01-01T10:00:05Z,web\n2024-01-01T10:07:00Z,batch\n2024-01-01T10:07:30Z,web\n"


def test_requests_are_imported_from_the_command_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    texts = {
        "log": LOG,
        "machines": "name,gpus,cpus\na,4,8\nb,0,16\n",
        "ports": "service,gpus,cpus\nweb,0,2\nbatch,1,4\n",
        "edges": "service,server,mean,cores\nweb,b,0.5,1\nbatch,a,0.25,2\n",
    }
    paths = {name: tmp_path / f"{name}.csv" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text, encoding="utf-8")
    words: list[object] = ["import", paths["log"], "--machines", paths["machines"], "--slot", "5min"]
    words += ["--option", "resources=gpus,cpus", "--out", tmp_path / "x.json"]
    for problem, more in (
        ("allocation", ["--ports", paths["ports"]]),
        ("selection", ["--edges", paths["edges"], "--map", "edges.cpus=cores,machines.server=name"]),
    ):
        status, out, err = run(capfd, *words, "--problem", problem, *more)
        assert (status, err) == (0, "")
        assert "slot of 300 s from 2024-01-01T10:00:00Z" in " ".join(out.split())
        found: Any = api.load(tmp_path / "x.json", problem)
        assert found.arrivals.tolist() == [[1, 0], [1, 1]]
    status, _, err = run(capfd, *words)
    assert (status, err.partition(";")[0]) == (2, "error: slot: from_table 'placement' takes no such option")
    status, _, err = run(capfd, *words, "--problem", "allocation", "--ports", tmp_path / "x.json")
    assert (status, err.count("\n")) == (2, 1)


def test_a_log_is_imported_from_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 4\n1 0 5 10 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1\n", encoding="utf-8")
    words = ("import", log, "--format", "swf", "--out", tmp_path / "x.json")
    status, out, _ = run(capfd, *words, "--option", "processors=gpus")
    assert (status, "Standard Workload Format (1 job from number 0 on)" in out) == (0, True)
    assert cv.load(tmp_path / "x.json").to_dict()["machines"] == [{"gpus": 1, "cpus": 0.0, "memory": 0.0}] * 4
    status, _, err = run(capfd, "import", log, "--out", log)
    assert (status, err) == (2, f"error: {log}: cannot be written: it is read\n")
