"""Tables of one's own: whatever columns are called and times are counted in, the instance is the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant.models import port_tables
from clairvoyant.models.admission import table as admission
from clairvoyant.models.frames import (
    COUNT,
    MOST_FAULTS,
    RESOURCES,
    SECONDS,
    TIME,
    Columns,
    Wanted,
    amounts,
    in_slots,
    plain,
    unit_in,
)
from clairvoyant.models.placement import table as placement
from clairvoyant.models.selection import table as selection

NAMES = {
    "submit": ("submit", "Submit Time", "ARRIVAL", "created_at"[:7], "timestamp"),
    "duration": ("duration", "run-time", "Elapsed", "running time"),
    "instances": ("instances", "Tasks", "num_instances"),
    "gpus": ("gpus", "num_gpus", "GPU"),
    "cpus": ("cpus", "Cores", "vCPUs"),
    "memory": ("memory", "RAM", "mem"),
}
SPELLED = ("{} [{}]", "{} ({})", "{}_{}")
MACHINES = [{"gpus": 4, "cpus": 32, "memory": 128, "count": 2}]


def jobs_of(instance: cv.PlacementInstance) -> list[dict[str, Any]]:
    """Return the jobs of an instance as rows of a table."""
    return list(instance.to_dict()["jobs"])


@st.composite
def spelled(draw: st.DrawFn) -> tuple[cv.PlacementInstance, pd.DataFrame, dict[str, str]]:
    """Draw an instance, a table that says the same in other words, and the columns that must be named."""
    seed = draw(st.integers(0, 50))
    instance = cv.generate("placement", "tiny", seed, jobs=draw(st.integers(1, 6)))
    frame, columns = pd.DataFrame(jobs_of(instance)), {}
    frame["submit"] += draw(st.sampled_from([0.0, 1000.0, -5.0]))
    for name, known in NAMES.items():
        called = draw(st.sampled_from([*known, "x"]))
        unit = draw(st.sampled_from(["", "ms", "s", "min"])) if name in ("submit", "duration") else ""
        frame[name] = frame[name] / SECONDS.get(unit, 1.0)
        if called == "x":
            called = f"{name[::-1]}x"
            columns[name] = f"{called}:{unit}" if unit else called
        elif unit:
            called = draw(st.sampled_from(SPELLED)).format(called, unit)
        frame = frame.rename(columns={name: called})
    order = draw(st.permutations(range(frame.shape[1])))
    return instance, frame.iloc[:, list(order)].assign(remark="words"), columns


@given(spelled())
@settings(max_examples=60)
def test_however_it_is_spelled_the_jobs_are_the_same(
    case: tuple[cv.PlacementInstance, pd.DataFrame, dict[str, str]],
) -> None:
    instance, frame, columns = case
    machines = instance.to_dict()["machines"]
    found = cv.from_table("placement", frame, machines=machines, columns=columns)
    assert isinstance(found, cv.PlacementInstance)
    for ours, theirs in zip(jobs_of(found), jobs_of(instance), strict=True):
        first = jobs_of(instance)[0]["submit"]
        assert ours["submit"] == pytest.approx(theirs["submit"] - first, abs=2e-3)
        assert ours["duration"] == pytest.approx(theirs["duration"], abs=2e-3)
        others = {k: v for k, v in theirs.items() if k not in ("submit", "duration")}
        assert {k: v for k, v in ours.items() if k not in ("submit", "duration")} == others
    assert found.to_dict()["machines"] == machines


def test_files_frames_and_columns_say_the_same(tmp_path: Path) -> None:
    table = {"submit": [0, 60.5], "runtime_min": [1, 2], "gpus": [1, 2]}
    pd.DataFrame(table).to_csv(tmp_path / "jobs.csv", index=False)
    pd.DataFrame(MACHINES).to_csv(tmp_path / "machines.csv", index=False)
    found = [
        cv.from_table("placement", table, machines=MACHINES),
        cv.from_table("placement", pd.DataFrame(table), machines=pd.DataFrame(MACHINES)),
        cv.from_table("placement", tmp_path / "jobs.csv", machines=str(tmp_path / "machines.csv")),
    ]
    assert found[0] == found[1] == found[2]
    assert [job["duration"] for job in found[0].to_dict()["jobs"]] == [60.0, 120.0]
    assert any("runtime_min" in text for text in found[0].origin.real)


def test_time_stamps_of_any_zone_are_read_as_times() -> None:
    """The zone decides; start and end make a duration."""
    table = {
        "submit": ["2024-03-31T00:59:00Z", "2024-03-31T03:01:00+02:00", "2024-03-30 20:01:00.250-05:00"],
        "start": ["2024-03-31T01:00:00Z", "2024-03-31T03:01:00+02:00", "2024-03-31T01:02:00Z"],
        "end": ["2024-03-31T01:00:30Z", "2024-03-31T03:03:00+02:00", "2024-03-31T01:02:00.125Z"],
        "gpus": [1, 1, 1],
    }
    rows = cv.from_table("placement", table, machines=MACHINES).to_dict()["jobs"]
    assert [(row["submit"], row["duration"]) for row in rows] == [(0, 30), (120, 120), (120.25, 0.125)]


def test_rounding_is_said_once() -> None:
    table = {"submit": [0, 1], "duration": [1.00049, 2.0], "gpus": [1, 1]}
    found = cv.from_table("placement", table, machines=MACHINES)
    assert found.to_dict()["jobs"][0]["duration"] == 1.0
    assert [text for text in found.origin.filled if "rounded" in text] == [
        "jobs: duration: 1 values rounded to 3 decimals"
    ]


def test_empty_cells_hold_what_is_usual_and_that_is_said() -> None:
    table = {"submit": [0, 1], "duration": [1, 1], "gpus": [1, None], "cpus": [1, 1]}
    found = cv.from_table("placement", table, machines=MACHINES)
    assert [job["gpus"] for job in found.to_dict()["jobs"]] == [1, 0]
    assert "jobs: gpus: 0 in 1 rows without" in found.origin.filled
    table |= {"estimate": [None, 5]}
    with pytest.raises(cv.InputError, match="estimate: row 0: an empty cell is not a number"):
        cv.from_table("placement", table, machines=MACHINES)


def test_a_number_stands_for_all_rows() -> None:
    table = {"submit": [0, 1], "gpus": [2, 2]}
    columns = {"duration": "1.5:min", "cpus": "4", "machines.cpus": "32"}
    found = cv.from_table("placement", table, machines=MACHINES, columns=columns)
    assert [(job["duration"], job["gpus"], job["cpus"]) for job in found.to_dict()["jobs"]] == [
        (90, 2, 4)
    ] * 2
    assert {machine["cpus"] for machine in found.to_dict()["machines"]} == {32}
    told = {"jobs: duration: 1.5 (min) in all rows", "jobs: cpus: 4 in all rows"}
    assert told | {"machines: cpus: 32 in all rows"} <= {*found.origin.filled}
    assert not any("cpus" in text or "duration" in text for text in found.origin.real)
    column = table | {"4": [7, 8], "duration": [1, 1]}  # a column of that name stands before the number
    found = cv.from_table("placement", column, machines=MACHINES, columns={"cpus": "4"})
    assert [job["cpus"] for job in found.to_dict()["jobs"]] == [7, 8]


BAD = [
    ({"submit": ["x", 1], "duration": [1, 1]}, {}, r"^jobs: submit: row 0: 'x' is not a time$"),
    (
        {"submit": [0, 1], "took": [1, -2]},
        {"duration": "took"},
        r"took: row 1: -2 is not a number of at least 0",
    ),
    ({"submit": [0], "duration": [1], "gpus": [1.5]}, {}, r"gpus: row 0: 1\.5 is not a whole number"),
    (
        {"submit": [0], "duration": [1], "tasks": [0]},
        {},
        r"tasks: row 0: 0 is not a whole number of at least 1",
    ),
    ({"when": [0], "duration": [1]}, {}, r"no column for submit; there are when, duration\. Say which"),
    (
        {"submit": [0], "duration": [1]},
        {"duraton": "x"},
        r"columns: 'duraton' is not one of .*; did you mean",
    ),
    ({"submit": [0], "took": [1]}, {"duration": "tok"}, r"jobs: no column 'tok'; did you mean 'took'"),
    ({"submit": [0], "took": [1]}, {"duration": "took:parsec"}, r"duration: 'parsec' is not one of ms, "),
    ({"submit": [0], "gpus": [1]}, {}, r"no column for duration, nor for start and end"),
    ({"submit": [0], "start": [5], "end": [5], "gpus": [1]}, {}, r"row 0: the end is not after the start"),
    ({"submit": [0, float("nan")], "duration": [1, 1]}, {}, r"submit: row 1: an empty cell is not a time"),
    ({"submit": [17e11, 17e11 + 1], "duration": [1, 1]}, {}, r"row 0: .* is not a time in seconds: state"),
    ({"submit": ["12/01/2024 08:00"], "duration": [1]}, {}, r"row 0: '12/01/2024 08:00' is not a time"),
    ({"submit": ["2024-01-01", "2024-01-02", "5"], "duration": [1] * 3}, {}, r"^jobs: submit: row 2: '5' is"),
    ({"submit": ["1000", "2000", ""], "duration": [1] * 3}, {}, r"^jobs: submit: row 2: '' is not a time$"),
    (
        {"submit": ["2024", "2024-01-02", "2024-01-03"], "duration": [1] * 3},
        {},
        r"row 0: '2024' is not a time",
    ),
    ({"submit": ["1000-01-01"], "duration": [1]}, {}, r"row 0: '1000-01-01' is not a time"),
    ({"submit": ["now"], "duration": [1]}, {}, r"row 0: 'now' is not a time"),
    ({"submit": [0], "Run Time (us)": [1]}, {}, r"Run Time \(us\): the unit 'us' is not one of ms, "),
    ({"submit": [0], "RAM (KB)": [1], "duration": [1]}, {}, r"the unit 'KB' is not one of mb, "),
    ({"time": [0], "arrival": [0], "duration": [1]}, {}, r"submit: is it 'time' or 'arrival'\? Say"),
    ({"submit": [0], "duration": [True]}, {}, r"duration: row 0: True is not a number"),
    ({"submit": [0], "duration": [1], "gpus": [1e30]}, {}, r"gpus: row 0: 1e\+30 is not a whole number"),
    ({"submit": [0], "duration": [1, 2]}, {}, r"jobs: no table: "),
    ({"submit": [0], "duration": [1]}, {"gpus": "0.5"}, r"^jobs: gpus: row 0: '0\.5' is not a whole number"),
    ({"submit": [0], "duration": [1]}, {"gpus": "inf"}, r"^jobs: no column 'inf'"),
    ({"submit": [0], "duration": [1]}, {}, r"^jobs: gpus, cpus and memory are all 0 or empty\. Say: "),
]


@pytest.mark.parametrize(("table", "columns", "text"), BAD)
def test_faults_are_named_by_row_and_column(
    table: dict[str, list[Any]], columns: dict[str, str], text: str
) -> None:
    with pytest.raises(cv.InputError, match=text):
        cv.from_table("placement", table, machines=MACHINES, columns=columns)


MACHINE_FAULTS = [
    ([{"gpus": 8, "count": 1e9}], r"count: row 0: 1000000000.0 is not a whole number .* and at most 100000"),
    ([{"gpus": 8, "count": 1e30}], r"count: row 0: 1e\+30 is not a whole number"),
    ([{"gpus": 8, "count": 60_000}] * 2, r"count: 120000 machines in all are more than 100000"),
    ([{"gpus": 8}, {"gpus": None}], r"machines: gpus: row 1: an empty cell is not a whole number"),
]


@pytest.mark.parametrize(("machines", "text"), MACHINE_FAULTS)
def test_machines_that_cannot_be_are_refused(machines: list[dict[str, Any]], text: str) -> None:
    with pytest.raises(cv.InputError, match=text):
        cv.from_table("placement", {"submit": [0], "duration": [1], "gpus": [1]}, machines=machines)


def test_an_exact_name_stands_before_a_usual_one() -> None:
    table = {"time": [9, 9], "submit": [0, 5], "duration": [1, 1], "gpu": [3, 3], "gpus": [1, 1]}
    rows = cv.from_table("placement", table, machines=MACHINES).to_dict()["jobs"]
    assert [(row["submit"], row["gpus"]) for row in rows] == [(0, 1), (5, 1)]


def test_typed_times_are_times() -> None:
    """Whatever their resolution."""
    stamps = pd.to_datetime(["2024-01-01T00:00:00", "2024-01-01T00:00:00.050"], format="ISO8601").as_unit(
        "us"
    )
    took = pd.to_timedelta([1500, 20], unit="ms")
    table = pd.DataFrame({"submit": stamps, "duration": took, "gpus": [1, 1]})
    rows = cv.from_table("placement", table, machines=MACHINES).to_dict()["jobs"]
    assert [(row["submit"], row["duration"]) for row in rows] == [(0, 1.5), (0.05, 0.02)]


def test_rows_of_a_file_hold_what_their_heads_say(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("\ufeffsubmit,duration,gpus\n0,10,1,\n5,20,2,\n", encoding="utf-8")
    rows = cv.from_table("placement", path, machines=MACHINES).to_dict()["jobs"]
    assert [(row["submit"], row["duration"]) for row in rows] == [(0, 10), (5, 20)]
    for text in ("submit;duration;gpus\n0;10;1\n", "submit\tduration\tgpus\n0\t10\t1\n"):
        path.write_text(text, encoding="utf-8")
        (job,) = cv.from_table("placement", path, machines=MACHINES).to_dict()["jobs"]
        assert (job["submit"], job["duration"], job["gpus"]) == (0, 10, 1)
    for text, wrong in (
        (
            "submit,duration\n0,10,\n0,10,7\n",
            "no CSV table: row 1 has 3 cells, and the first line names 2 columns",
        ),
        ("# ours\nsubmit,duration\n0,10\n", "row 0 has 2 cells, and the first line names 1 columns"),
        ("PK\x03\x04sheet", "no CSV table: not a text; save a sheet as CSV"),
        ("", "no CSV table: No columns"),
        (f"submit,duration\n{'1' * 200_000},1,1\n", "no CSV table: "),
        ("submit,duration,duration\n0,10,7\n", "column 'duration' is there twice"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(cv.InputError, match=wrong):
            cv.from_table("placement", path, machines=MACHINES)


def test_options_that_are_none_or_missing_are_named() -> None:
    table = {"slot": [1], "chunks": [1], "minibatch_time": [1], "priority": [1], "worker_gpu": [2]}
    machines = {"side": ["worker", "server"], "gpus": [4, 4]}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "horizon: has to be given for 'admission'"),
        ({"horizon": 5, "resources": [3]}, r"resources: \[3\] is not a list of names"),
        ({"horizon": 5, "resources": "gpus,gpus"}, "resources: 'gpus' stands twice"),
        ({"horizon": 5, "resources": ["count"]}, "resources: 'count' is a column of the machines"),
        ({"horizon": 5, "columns": "a=b"}, "columns: 'a=b' is not a mapping"),
    ]
    for options, text in wrong:
        with pytest.raises(cv.InputError, match=text):
            cv.from_table("admission", table, machines=machines, **options)
    found = cv.from_table("admission", table, machines=machines, horizon=5, resources=["gpus"])
    assert found.to_dict()["jobs"][0]["worker_demand"] == [2.0]


def test_many_faults_are_counted() -> None:
    table = {"submit": range(20), "duration": ["?"] * 20, "gpus": [1] * 20}
    with pytest.raises(cv.InputError, match=rf"; and {20 - MOST_FAULTS} more$") as error:
        cv.from_table("placement", table, machines=MACHINES)
    assert str(error.value).count("row") == MOST_FAULTS


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    for table, text in ((3, "int is no table"), (tmp_path / "no.csv", "no.csv: cannot be read")):
        with pytest.raises(cv.InputError, match=text):
            cv.from_table("placement", table, machines=MACHINES)
    with pytest.raises(
        cv.InputError, match="'selection-gang' is not read from tables, but allocation and selection and"
    ):
        cv.from_table("selection-gang", {}, machines=MACHINES)


def test_admission_reads_demands_by_resource() -> None:
    table = {"slot": [1, 2], "chunks": [4, 2], "minibatch_time": [0.5, 1], "priority": [50, 20]}
    table |= {"worker_gpus": [1, 1], "server_cpus": [3, 1], "decay": [1, 0], "target": [2, 0]}
    machines = {"side": ["worker", "server"], "gpus": [4, 0], "cpus": [8, 16], "count": [2, 1]}
    options: Any = {"horizon": 10, "resources": ["gpus", "cpus"]}
    found = cv.from_table("admission", table, machines=machines, **options)
    assert isinstance(found, cv.AdmissionInstance)
    told = found.to_dict()
    assert told["worker_servers"] == [[4.0, 8.0], [4.0, 8.0]]
    assert told["parameter_servers"] == [[0.0, 16.0]]
    assert [job["worker_demand"] for job in told["jobs"]] == [[1.0, 0.0], [1.0, 0.0]]
    assert [job["server_demand"] for job in told["jobs"]] == [[0.0, 3.0], [0.0, 1.0]]
    assert told["jobs"][0]["utility"] == {"priority": 50.0, "decay": 1.0, "target": 2.0}
    assert cv.solve(found).value > 0
    with pytest.raises(cv.InputError, match="side: row 1: 'ps' is not one of worker, server"):
        cv.from_table("admission", table, machines=machines | {"side": ["worker", "ps"]}, **options)


@pytest.mark.parametrize(
    ("name", "unit", "bare"),
    [
        ("run time (min)", "min", "runtime"),
        ("RAM", "", "ram"),
        ("duration_h", "h", "durationh"),
        ("Elapsed [s]", "s", "elapsed"),
        ("times", "", "times"),
        ("duration (µs)", "", "duration"),
        ("duration_µs", "", "durations"),
        ("duration (10 min)", "", "duration"),
        ("duration (k s)", "", "duration"),
        ("duration_10min", "", "duration10min"),
        ("duration ( Min )", "min", "duration"),
    ],
)
def test_units_are_seen_in_names(name: str, unit: str, bare: str) -> None:
    assert unit_in(name, SECONDS) == unit
    assert plain(name) == bare


@pytest.mark.parametrize("name", ["duration (µs)", "duration (10 min)", "duration_µs", "duration (us)"])
def test_a_unit_that_is_none_of_ours_is_not_taken_for_one_of_its_letters(name: str) -> None:
    table = {"submit": [0], name: [60_000_000], "gpus": [1]}
    with pytest.raises(cv.InputError, match=r"the unit '.*' is not one of ms, |no column for duration"):
        cv.from_table("placement", table, machines=MACHINES)


def test_a_name_may_be_a_word_for_nothing(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("time,service\n0,NA\n1,null\n2,NA\n", "utf-8")
    (tmp_path / "ports.csv").write_text("service,gpus,cores\nNA,0,4\nnull,1,n/a\n", "utf-8")
    options: dict[str, Any] = {"columns": {"port": "service"}, "slot": "1 s"}
    made = cv.from_table("allocation", jobs, ports=tmp_path / "ports.csv", machines={"gpus": [9]}, **options)
    assert isinstance(made, cv.AllocationInstance)
    assert made.arrivals.tolist() == [[1, 0], [0, 1], [1, 0]]


@given(st.integers(0, 999), st.integers(1, 10**6), st.sampled_from([0.1, 0.25, 0.3, 1.5, 2.4, 1e-3, 7.0]))
def test_times_that_are_multiples_of_a_slot_begin_it(first: int, number: int, length: float) -> None:
    """0.3 / 0.1 is 2.9999999999999996."""
    multiples = (first, first + number, first + number + 0.5)
    times = np.array([float(f"{many * length:.12g}") for many in multiples])  # as they are written
    read = Columns({"time": times}, ("time from column 'at'",), ())
    found = in_slots(read, "time", length)[0]
    assert (found - found[0]).tolist() == [0, number, number]


NEEDS = amounts(tuple(RESOURCES), "amount")


@pytest.mark.parametrize(
    "wanted",
    [
        placement.JOBS,
        placement.MACHINES,
        (admission.ARRIVAL, *admission.JOBS),
        (TIME, *admission.JOBS),
        (admission.SIDE, *NEEDS, COUNT),
        (port_tables.SLOT, port_tables.PORT, port_tables.REQUESTS),
        (TIME, port_tables.PORT, port_tables.REQUESTS),
        (port_tables.SERVER, *NEEDS, COUNT),
        (port_tables.PORT, port_tables.SERVER, *selection.CHANNELS, *NEEDS),
    ],
)
def test_no_two_columns_are_looked_for_by_one_name(wanted: Sequence[Wanted]) -> None:
    names = [name for one in wanted for name in (plain(one.name), *one.names.split())]
    assert len(names) == len(set(names))
    assert all(name == plain(name) for name in names)
