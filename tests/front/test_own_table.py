"""The page on tables of one's own runs as written, and its tables say what there is."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant.models import port_tables
from clairvoyant.models.admission import table as admission
from clairvoyant.models.frames import TIME
from clairvoyant.models.placement import table as placement
from clairvoyant.models.selection import table as selection
from clairvoyant.problems import problems

Pages = Callable[[str], Any]  # of tests/front/conftest.py
NAME = "docs/own-table.md"


@pytest.mark.usefixtures("compared_here")
def test_the_page_runs_as_written(
    run: Callable[..., Any],
    page: Pages,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (*page(NAME).named("csv"), *page(NAME).named("swf")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    printed = []
    for program, *words in page(NAME).commands():
        assert program == "clairvoyant"
        done = run(*words)
        assert done.status == 0, done.err
        printed.append(done.out)
    assert "duration from column 'runtime_min' (min)" in printed[0]
    assert "nothing is better than 9,510 s (gap 0)" in " ".join(printed[1].split())
    assert "sjf-consolidate" in printed[2]
    log = cv.load("log.json", "allocation")
    assert log.arrivals.tolist() == [[2, 1], [1, 0], [1, 1]]
    assert len(cv.load("night.json").to_dict()["jobs"]) == 3
    (script,) = page(NAME).blocks("python")
    Path("script.py").write_text(script, encoding="utf-8")
    runpy.run_path("script.py", run_name="__main__")
    assert "duration from column 'runtime_min' (min)" in capfd.readouterr().out


def test_the_fault_that_the_page_shows_is_told(page: Pages, tmp_path: Path) -> None:
    text = dict(page(NAME).named("csv"))["jobs.csv"].replace(",15,4,", ",-15,4,")
    (tmp_path / "jobs.csv").write_text(text, encoding="utf-8")
    with pytest.raises(cv.InputError) as error:
        cv.from_table("placement", tmp_path / "jobs.csv", machines={"gpus": [8]})
    assert f"`{error.value}`" in page(NAME).text


def test_the_tables_of_the_page_name_all_columns_and_formats(page: Pages) -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \|(.*)$", page(NAME).text, flags=re.MULTILINE))
    graph = (port_tables.PORT, port_tables.SERVER, port_tables.SLOT, TIME, port_tables.REQUESTS)
    wanted = {
        "placement": placement.JOBS,
        "admission": (*admission.JOBS, admission.ARRIVAL, admission.SIDE, TIME),
        "allocation": graph,
        "selection": (*selection.CHANNELS, *graph[:2]),
    }
    for problem, columns in wanted.items():
        assert [one.name for one in columns if f"`{one.name}`" not in rows[problem]] == []
    for name, one in problems().items():
        for known in one.formats:
            assert f"`{name}`" in rows[known] or ("gangs" in rows[known] and name.endswith("-gang"))
