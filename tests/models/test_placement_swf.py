"""Logs in the Standard Workload Format: every line is a job, or said to be left out, or refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant as cv

HEADER = "; Version: 2.2\n; Computer: made up\n; MaxNodes: 4 (of 2 processors)\n; MaxProcs: 8\n"


def line(number: int, submit: Any = 0, run: Any = 10, procs: Any = 2, **other: Any) -> str:
    """Return a line of a log; every number is invented."""
    fields: list[Any] = [number, submit, 5, run, procs, -1, -1, other.get("asked", procs)]
    fields += [other.get("time", 100), -1, other.get("status", 1), 3, 1, -1, 1, -1, -1, -1]
    return "  ".join(map(str, fields))


def write(path: Path, *lines: str, header: str = HEADER) -> Path:
    text = (header + "\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def read(path: Path, **options: Any) -> dict[str, Any]:
    return cv.from_table("placement", path, format="swf", **options).to_dict()


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_a_log_is_read_by_hand(name: str, tmp_path: Path) -> None:
    lines = [
        line(1, 7, 100, 4),
        line(2, 10, 50.5, -1, asked=8, status=0),  # nobody says what it was given
        line(3, 20, -1),
        line(4, 30, 60, status=2),
        line(5, 40, 60, 9),
        "  ; a remark in the middle",
        "",
        line(6, 50, 0.0004, status=5) + " ; cancelled",
    ]
    found = cv.from_table("placement", write(tmp_path / name, *lines), format="swf")
    data = found.to_dict()
    assert data["machines"] == [{"gpus": 0, "cpus": 2.0, "memory": 0.0}] * 4
    told = [
        (job["submit"], job["duration"], job["instances"], job["cpus"], job["gpus"]) for job in data["jobs"]
    ]
    assert told == [(0, 100, 4, 1, 0), (3, 50.5, 8, 1, 0), (43, 0.001, 2, 1, 0)]
    assert [job["estimate"] for job in data["jobs"]] == [100] * 3
    assert [text for text in found.origin.filled if "left out" in text] == [
        "jobs left out: 1 that tell of a part of a job, of which another line tells the whole",
        "jobs left out: 1 that took no time, or whose run time is unknown",
        "jobs left out: 1 that need more than 8 processors",
    ]


JOBS = st.tuples(
    st.integers(-1, 50), st.integers(-1, 20), st.integers(-1, 10), st.integers(-1, 10), st.integers(-1, 5)
)


@settings(max_examples=40)
@given(jobs=st.lists(JOBS, max_size=8), gpus=st.booleans())
def test_every_line_is_a_job_or_left_out(
    jobs: list[tuple[int, int, int, int, int]], gpus: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Another program, line by line, finds the same jobs."""
    lines = [line(i, s, r, p, asked=a, status=c) for i, (s, r, p, a, c) in enumerate(jobs)]
    path = write(tmp_path_factory.getbasetemp() / "drawn.swf", *lines)
    kind = "gpus" if gpus else "cpus"
    found = cv.from_table("placement", path, format="swf", processors=kind)
    expected, left = [], 0
    for submit, run, given_, asked, status in jobs:
        procs = given_ if given_ > 0 else asked
        if status in (2, 3, 4) or submit < 0 or run <= 0 or not 1 <= procs <= 8:
            left += 1
        else:
            expected.append((submit, run, procs))
    first = min((submit for submit, _, _ in expected), default=0)
    told = [(job["submit"], job["duration"], job["instances"]) for job in found.to_dict()["jobs"]]
    assert told == sorted(((s - first, r, p) for s, r, p in expected), key=lambda job: job[0])
    counted = [int(text.split()[3]) for text in found.origin.filled if text.startswith("jobs left out")]
    assert sum(counted) == left
    assert all(job[kind] == 1 for job in found.to_dict()["jobs"])


def test_machines_are_those_given_or_of_the_header(tmp_path: Path) -> None:
    one = line(1)
    path = write(tmp_path / "log.swf", one)
    given = read(path, machines={"cpus": [16], "memory": [4], "count": [3]})["machines"]
    assert given == [{"gpus": 0, "cpus": 16.0, "memory": 4.0}] * 3
    alone = "machines: one processor each, as the header has but one of MaxNodes and MaxProcs"
    for header, cpus, real in (
        ("; MaxProcs: 5\n", [1.0] * 5, "MaxProcs"),
        ("; MaxNodes: 2\n", [1.0] * 2, "MaxNodes"),
        ("; MaxNodes: 2\n; MaxProcs: 8\n", [4.0] * 2, "MaxNodes and MaxProcs"),
    ):
        found = read(write(path, one, header=header))
        assert [m["cpus"] for m in found["machines"]] == cpus
        assert found["origin"]["real"][0] == f"machines: {real} of the header"
        assert (alone in found["origin"]["filled"]) == (" and " not in real)
    for header, text in (
        ("; Computer: x\n", "has neither MaxNodes nor MaxProcs: give a table"),
        ("; MaxNodes: 3\n; MaxProcs: 8\n", "8 processors are not shared alike by 3 machines"),
        ("; MaxNodes: 0\n", "MaxNodes: 0 is not a number of machines from 1"),
        ("; MaxNodes: 900000\n", "MaxNodes: 900000 is not a number"),
    ):
        with pytest.raises(cv.InputError, match=text):
            read(write(path, one, header=header))


def test_ranges_of_jobs_are_chosen_and_estimates_are_of_all_or_none(tmp_path: Path) -> None:
    path = write(tmp_path / "log.swf", *(line(i, 10 * i, i + 1, time=-1 if i == 3 else 9) for i in range(4)))
    found = read(path, first=1, jobs=2)["jobs"]
    assert [(job["submit"], job["duration"], job["estimate"]) for job in found] == [(0, 2, 9), (10, 3, 9)]
    whole = cv.from_table("placement", path, format="swf")
    assert "estimate" not in whole.to_dict()["jobs"][0]
    assert any("no estimates" in text for text in whole.origin.filled)
    with pytest.raises(cv.InputError, match="jobs: 3 from number 2 on are more than the 4"):
        read(path, first=2, jobs=3)
    with pytest.raises(cv.InputError, match="first: number 5 is more than the 4 jobs"):
        read(path, first=5)


def test_of_a_log_of_many_years_a_part_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "log.swf", line(1), line(2, 200_000_000), line(3, 200_000_005))
    assert [job["submit"] for job in read(path, first=1)["jobs"]] == [0, 5]
    with pytest.raises(cv.InputError, match="submit"):
        read(path)


def test_faults_are_named_by_line_and_field(tmp_path: Path) -> None:
    path = write(tmp_path / "log.swf", line(1), line(2, run="long"), "1 2 3", line(3, submit=1e12))
    with pytest.raises(cv.InputError) as error:
        read(path)
    for text in (
        "log.swf: line 6: run time: 'long' is not a number of -1 to 1e+08",
        "line 7: 3 fields, expected 18",
        "line 8: submit time: '1000000000000.0' is not",
    ):
        assert text in str(error.value)
    for options, text in (
        ({"processors": "tpus"}, "processors: 'tpus' is not one of cpus, gpus"),
        ({"columns": {"submit": "x"}}, "columns: those of the format 'swf' are known"),
        ({"size": "tiny"}, "size: format 'swf' takes no such option"),
    ):
        with pytest.raises(cv.InputError, match=text):
            read(path, **options)


@settings(max_examples=60)
@given(data=st.data())
def test_damaged_logs_are_refused_or_read(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.getbasetemp() / "damaged.swf", line(1), line(2, 5))
    whole = path.read_bytes()
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, min(len(whole), begin + 20)))
    path.write_bytes(whole[:begin] + data.draw(st.binary(max_size=6)) + whole[end:])
    try:
        assert len(read(path)["jobs"]) <= 3
    except cv.InputError as error:
        refused = str(error)
        assert "\n" not in refused
