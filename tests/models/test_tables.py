"""Tables of all problems: whatever holds them the instance is the same, and damaged ones are refused."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant.models import port_tables
from clairvoyant.models.placement.jobs import RESOURCES
from clairvoyant.testing import admission, allocation, placement, selection

Table = dict[str, list[Any]]


class Tables(NamedTuple):
    """What an instance is in tables: the first one, the others by their names, and options."""

    table: Table
    others: dict[str, Table]
    options: dict[str, Any]

    def read(self, problem: str, held: Callable[[Table, str], Any]) -> cv.Instance:
        others = {name: held(other, name) for name, other in self.others.items()}
        return cv.from_table(problem, held(self.table, "table"), **others, **self.options)


def labels(kind: str, count: int) -> list[Any]:
    return list(range(count)) if kind == "number" else [f"{kind} {i}" for i in range(count)]


def of_kinds(array: np.ndarray, prefix: str = "") -> Table:
    return {f"{prefix}k{k}": array[:, k].tolist() for k in range(array.shape[1])}


def of_requests(arrivals: np.ndarray, ports: list[Any]) -> Table:
    slot, port = np.nonzero(arrivals)
    counts = arrivals[slot, port].tolist()
    return {"slot": slot.tolist(), "port": [ports[p] for p in port], "count": counts}


def of_edges(edges: np.ndarray, ports: list[Any], servers: list[Any]) -> Table:
    return {"port": [ports[p] for p, _ in edges], "server": [servers[r] for _, r in edges]}


def of_allocation(instance: cv.AllocationInstance, ports: list[Any], servers: list[Any]) -> Tables:
    data, s = instance.to_dict(), instance.setting
    machines = {"server": servers, **of_kinds(s.capacity), **of_kinds(s.alpha, "alpha_")}
    machines |= of_kinds(np.array(data["utility"]["kind"]), "utility_")
    others = {"machines": machines, "ports": {"port": ports, **of_kinds(s.demand)}}
    others["edges"] = of_edges(s.edges, ports, servers)
    options = {"slots": s.slots, "resources": [f"k{k}" for k in range(s.kinds)], "overhead": s.overhead}
    return Tables(of_requests(instance.arrivals, ports), others, options)


def of_selection(instance: cv.SelectionInstance, ports: list[Any], servers: list[Any]) -> Tables:
    s = instance.setting
    capacity = np.zeros((len(servers), s.kinds), dtype=np.int64)
    capacity[0] = s.capacity
    edges = of_edges(s.edges, ports, servers) | of_kinds(s.demand)
    edges |= {"mean": instance.mean.tolist(), "cost": s.cost.tolist(), "scale": instance.scale.tolist()}
    others = {"machines": {"server": servers, **of_kinds(capacity)}, "edges": edges, "ports": {"port": ports}}
    options = {"slots": s.slots, "resources": [f"k{k}" for k in range(s.kinds)]}
    return Tables(
        of_requests(instance.arrivals, ports),
        others,
        options | {"noise": instance.noise, "seed": instance.seed},
    )


def of_admission(instance: cv.AdmissionInstance) -> Tables:
    data = instance.to_dict()
    names, jobs = data["resources"], data["jobs"]
    plain = [
        name
        for name in (jobs[0] if jobs else ())
        if name not in ("utility", "worker_demand", "server_demand")
    ]
    table: Table = {name: [job[name] for job in jobs] for name in plain}
    table |= {name: [job["utility"][name] for job in jobs] for name in ("priority", "decay", "target")}
    for side in ("worker", "server"):
        table |= {f"{side}_{n}": [j[f"{side}_demand"][r] for j in jobs] for r, n in enumerate(names)}
    if not jobs:
        table |= {"arrival": [], "chunks": [], "minibatch_time": []}
    sides = {"worker": data["worker_servers"], "server": data["parameter_servers"]}
    rows = [(side, *one) for side, ones in sides.items() for one in ones]
    machines = {name: [row[i] for row in rows] for i, name in enumerate(["side", *names])}
    return Tables(table, {"machines": machines}, {"horizon": data["horizon"], "resources": names})


def of_placement(instance: cv.PlacementInstance) -> Tables:
    data = instance.to_dict()
    jobs, names = data["jobs"], ("submit", "duration", "instances", *RESOURCES)
    table: Table = {name: [job[name] for job in jobs] for name in names}
    table["intensity"] = [job.get("intensity", 1) for job in jobs]
    if jobs and "estimate" in jobs[0]:
        table["estimate"] = [job["estimate"] for job in jobs]
    machines = {name: [machine[name] for machine in data["machines"]] for name in RESOURCES}
    options: dict[str, Any] = {
        name: data[name] for name in ("price", "slowdown", "gpu_weight", "window") if name in data
    }
    return Tables(table, {"machines": machines}, options)


@st.composite
def cases(draw: st.DrawFn, problem: str) -> tuple[cv.Instance, Tables]:
    """Draw an instance, and what it is in tables."""
    kind = draw(st.sampled_from(["number", "type", "Größe"]))
    if problem == "allocation":
        one = draw(allocation.instances())
        return one, of_allocation(one, labels(kind, one.setting.ports), labels("s", one.setting.servers))
    if problem == "selection":
        two = draw(selection.instances())
        servers = int(two.setting.edges[:, 1].max(initial=0)) + 1
        return two, of_selection(two, labels(kind, two.setting.ports), labels(kind, servers))
    if problem == "admission":
        three = draw(admission.instances())
        return three, of_admission(three)
    four = draw(placement.instances(estimates=draw(st.booleans())))
    data = four.to_dict()
    first = min((job["submit"] for job in data["jobs"]), default=0)
    data["jobs"] = [job | {"submit": job["submit"] - first} for job in data["jobs"]]
    four = cv.PlacementInstance.from_dict(data)
    return four, of_placement(four)


FORMS = ("mapping", "pandas", "polars", "lazy", "pyarrow", "csv", "csv.gz", "parquet")


def holder(form: str, folder: Path) -> Callable[[Table, str], Any]:
    """Return a function that puts a table into a form."""

    def held(table: Table, name: str) -> Any:
        path = folder / f"{name}.{form}"
        match form:
            case "mapping":
                return table
            case "pandas":
                return pd.DataFrame(table)
            case "polars":
                return pl.DataFrame(table, strict=False)
            case "lazy":
                return pl.LazyFrame(table, strict=False)
            case "pyarrow":
                return pa.table(table)
            case "parquet":
                pl.DataFrame(table, strict=False).write_parquet(path)
            case _:
                pd.DataFrame(table).to_csv(path, index=False)
        return path

    return held


@pytest.mark.parametrize("problem", ["allocation", "selection", "admission", "placement"])
@settings(max_examples=25)
@given(data=st.data())
def test_an_instance_in_tables_is_read_back(
    problem: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    instance, tables = data.draw(cases(problem))
    form = data.draw(st.sampled_from(FORMS))
    found = tables.read(problem, holder(form, tmp_path_factory.getbasetemp()))
    assert found == instance
    assert found.origin.source == "table"
    assert len(found.origin.real) >= len(tables.table)


def log() -> Table:
    """Return requests of all types that tables have, the same in every form."""
    paris = timezone(timedelta(hours=1))
    first = datetime(2024, 3, 31, 0, 59, 59, 250_000, tzinfo=paris)
    return {
        "Requested": [first, first + timedelta(minutes=3), first + timedelta(hours=2)],
        "service": ["NA-1", "01", "NA-1"],
        "Jobs": [Decimal("1.0"), Decimal("2.00"), Decimal("3.0")],
        "ticket": [7, None, 9],
    }


TYPED: dict[str, Callable[[], Any]] = {
    "category": lambda: pd.DataFrame(log()).astype({"service": "category", "ticket": "Int64"}),
    "zone": lambda: pd.DataFrame(log()).assign(
        Requested=pd.to_datetime(log()["Requested"]).tz_convert("America/New_York")
    ),
    "arrow in pandas": lambda: pa.table(log()).to_pandas(types_mapper=pd.ArrowDtype),
    "enum": lambda: pl.DataFrame(log()).with_columns(
        pl.col("service").cast(pl.Categorical), pl.col("Requested").dt.cast_time_unit("ns")
    ),
    "dictionary": lambda: pa.table(log()).set_column(
        1, "service", pa.array(log()["service"]).dictionary_encode()
    ),
    "iso": lambda: log() | {"Requested": [one.isoformat() for one in log()["Requested"]]},
    "seconds": lambda: (
        {k: v for k, v in log().items() if k != "Requested"}
        | {"time (ms)": [1000 * one.timestamp() for one in log()["Requested"]]}
    ),
}


@pytest.mark.parametrize("form", [*FORMS, *TYPED])
def test_whatever_holds_a_request_log_the_instance_is_the_same(form: str, tmp_path: Path) -> None:
    """Zones, categories, decimals, empty cells: three requests in slots of an hour from midnight in UTC."""
    table: Any = TYPED[form]() if form in TYPED else holder(form, tmp_path)(log(), "log")
    ports = {"type": ["01", "NA-1"], "cores": [2, 0.5], "RAM (MB)": [0, 500]}
    machines = {"name": ["small", "large"], "cores": [4, 8], "memory": [8, 64], "count": [2, 1]}
    found = cv.from_table(
        "allocation",
        table,
        machines=machines,
        ports=ports,
        slot="1h",
        resources="cpus,memory",
        overhead=[0, 0.5],
    )
    assert isinstance(found, cv.AllocationInstance)
    assert found.arrivals.tolist() == [[0, 1], [2, 0], [0, 3]]  # 23:59, 00:02, 01:59
    assert found.setting.demand.tolist() == [[2, 0], [0.5, 0.5]]
    assert found.setting.capacity.tolist() == [[4, 8], [4, 8], [8, 64]]
    assert len(found.setting.edges) == 6
    assert found.setting.names.ports == ("01", "NA-1")
    told = " ".join(found.origin.real)
    since = "1711839600 s" if form == "seconds" else "2024-03-30T23:00:00Z"
    assert f"counted by port and slot of 3600 s from {since}" in told


REQUESTS = {"slot": [0, 1, 1], "port": ["a", "b", "b"]}
SERVERS = {"server": ["x", "y"], "gpus": [1, 2], "count": [1, 2]}
EDGES = {"port": ["a", "b"], "server": ["x", "y"], "mean": [0.5, 1], "gpus": [1, 1]}
PORTS = {"port": ["a", "b"], "gpus": [1, 1]}


def test_a_name_of_several_servers_stands_for_each_of_them() -> None:
    found = cv.from_table("selection", REQUESTS, machines=SERVERS, edges=EDGES, resources="gpus")
    assert isinstance(found, cv.SelectionInstance)
    assert found.setting.edges.tolist() == [[0, 0], [1, 1], [1, 2]]
    assert found.setting.capacity.tolist() == [5]
    assert found.arrivals.tolist() == [[1, 0], [0, 1]]
    assert any("1 times more than one at a port" in text for text in found.origin.filled)
    unnamed = {"gpus": [1, 2], "count": [1, 2]}
    by_row = cv.from_table(
        "selection", REQUESTS, machines=unnamed, edges=EDGES | {"server": [0, 1]}, resources="gpus"
    )
    assert by_row == found
    assert not any(text.startswith("machines:") for text in by_row.origin.filled)


def test_a_scale_of_channels_is_that_of_the_noise_unless_another_is_named() -> None:
    given: dict[str, Any] = {"machines": SERVERS, "edges": EDGES | {"scale": [0.2, 0]}, "resources": "gpus"}
    found = {
        noise: cv.from_table("selection", REQUESTS, **given, **noise_of) for noise, noise_of in NOISES.items()
    }
    kinds = {noise: one.to_dict()["noise"]["kind"] for noise, one in found.items()}
    assert kinds == {"": "clipped-normal", "auto": "clipped-normal", "none": "none", "bernoulli": "bernoulli"}
    assert found[""].to_dict()["noise"]["scale"] == [0.2, 0.0, 0.0]
    unused = {noise: [text for text in one.origin.filled if "scale" in text] for noise, one in found.items()}
    assert unused["bernoulli"] == ["edges: scale is not used, since the noise is bernoulli"]
    assert unused[""] == []
    plain = cv.from_table("selection", REQUESTS, machines=SERVERS, edges=EDGES, resources="gpus")
    assert plain.to_dict()["noise"]["kind"] == "none"


NOISES: dict[str, dict[str, Any]] = {
    "": {},
    **{noise: {"noise": noise} for noise in ("auto", "none", "bernoulli")},
}


def test_names_that_are_numbers_are_the_same_whatever_their_type() -> None:
    given: dict[str, Any] = {"machines": {"server": ["7"], "gpus": [1]}, "resources": ["gpus"]}
    found = [
        cv.from_table(
            "selection",
            pd.DataFrame({"slot": [0, 1], "port": np.array([2, 1]).astype(dtype)}),
            edges={"port": ["1", "2"], "server": np.array([7, 7]).astype(dtype), "mean": [0.5, 1]},
            **given,
        )
        for dtype in ("int64", "float64", "object", "str")
    ]
    assert [one.to_dict()["arrivals"] for one in found] == [[[0, 1], [1, 0]]] * 4


GRAPH_FAULTS: list[tuple[dict[str, Any], str]] = [
    (
        {"table": REQUESTS | {"port": ["a", "bb", "b"]}},
        r"requests: port: row 1: 'bb' is unknown; did",
    ),
    ({"table": REQUESTS | {"port": ["a", None, "b"]}}, r"requests: port: row 1: an empty cell is not a name"),
    ({"slots": 1}, r"^requests: row 1: slot 1 is not below 1; requests: row 2: slot 1 is not below 1$"),
    ({"table": REQUESTS | {"slot": [0, 1, 10**9]}}, r"requests: 1000000001 slots of 2 ports are more than"),
    ({"table": {"time": [1], "port": ["a"]}}, r"no column for slot; .* give the length of a slot besides"),
    ({"slot": "5 parsec"}, r"slot: '5 parsec': 'parsec' is not one of ms, "),
    ({"slot": "1e3"}, r"slot: '1e3' is no length of time: write seconds"),
    ({"slot": 0}, r"slot: 0 is not at least 0\.001"),
    ({"edges": EDGES | {"server": ["x", "z"]}}, r"edges: server: row 1: 'z' is unknown"),
    ({"edges": EDGES | {"port": ["a", "c"]}}, r"edges: port: row 1: 'c' is unknown"),
    (
        {"edges": {"port": ["a", "a"], "server": ["x", "x"], "mean": [1, 1]}},
        r"row 1: 'a' and 'x' stand twice",
    ),
    ({"ports": {"port": ["a", "b", "a"], "gpus": [1, 1, 1]}}, r"ports: port: row 2: 'a' stands twice"),
    ({"machines": SERVERS | {"gpus": [1, -2]}}, r"machines: gpus: row 1: -2 is not a .*number of at least 0"),
    ({"columns": {"edges.port": "who"}}, r"edges: no column 'who'"),
    ({"columns": {"machine.gpus": "x"}}, r"columns: 'machine\.gpus' is not one of slot, "),
    ({"resources": ["server"]}, r"resources: 'server' is a column of the machines"),
]


@pytest.mark.parametrize(("change", "text"), GRAPH_FAULTS)
@pytest.mark.parametrize("problem", ["allocation", "selection"])
def test_faults_of_requests_and_graphs_are_named(problem: str, change: dict[str, Any], text: str) -> None:
    given = {
        "table": REQUESTS,
        "machines": SERVERS,
        "ports": PORTS,
        "edges": EDGES,
        "resources": "gpus",
    } | change
    with pytest.raises(cv.InputError, match=text):
        cv.from_table(problem, given.pop("table"), **given)


def test_faults_of_one_problem_alone_are_named() -> None:
    given: dict[str, Any] = {"machines": SERVERS, "ports": PORTS, "resources": "gpus"}
    cubic = given | {"machines": SERVERS | {"utility_gpus": ["log", "cubic"]}}
    with pytest.raises(
        cv.InputError, match=r"machines: utility_gpus: row 1: 'cubic' is not one of linear, log"
    ):
        cv.from_table("allocation", REQUESTS, **cubic)
    with pytest.raises(
        cv.InputError, match=r"overhead\[0\]: 2 is not a finite number of at least 0 and at most 1"
    ):
        cv.from_table("allocation", REQUESTS, **given, overhead=2)
    with pytest.raises(cv.InputError, match=r"edges: mean: row 0: 1\.5 is not a number of .* at most 1"):
        cv.from_table("selection", REQUESTS, **given, edges=EDGES | {"mean": [1.5, 1]})
    with pytest.raises(cv.InputError, match="edges: has to be given for 'selection'"):
        cv.from_table("selection", REQUESTS, **given)
    with pytest.raises(cv.InputError, match="ports: from_table 'placement' takes no such option"):
        cv.from_table("placement", {}, machines={}, ports={})
    late = {"time": ["2024-01-01T00:30", "2024-01-01T02:00"], "chunks": [1, 1], "minibatch_time": [1, 1]}
    late["priority"] = [1, 1]
    with pytest.raises(cv.InputError, match=r"jobs: row 1: slot 3 is after the horizon, 2"):
        cv.from_table("admission", late, machines={"side": ["worker"]}, horizon=2, slot="60min")


@pytest.mark.parametrize(
    ("name", "columns", "unit"),
    [
        ("minibatch_time_ms", {}, "ms"),
        ("Step Time [s]", {}, "s"),
        ("took (min)", {"minibatch_time": "took (min)"}, "min"),
        ("took", {"minibatch_time": "took:h"}, "h"),
    ],
)
def test_times_of_jobs_in_slots_are_not_read_in_units_of_time(
    name: str, columns: dict[str, str], unit: str
) -> None:
    jobs = {"arrival": [1], "chunks": [1], "priority": [1], name: [300]}
    given: dict[str, Any] = {"machines": {"side": ["worker"]}, "horizon": 2, "columns": columns}
    why = f": minibatch_time is a number of slots, not of '{unit}'; convert it"
    with pytest.raises(cv.InputError, match=why):
        cv.from_table("admission", jobs, **given)
    given["columns"] = {"minibatch_time": "1", "priority": "priority:ms"}
    with pytest.raises(cv.InputError, match="priority: 'ms' is given, but it has no unit"):
        cv.from_table("admission", jobs, **given)


def test_times_of_jobs_in_slots_may_say_so() -> None:
    jobs = {
        "arrival": [1],
        "chunks": [1],
        "priority": [1],
        "minibatch_time [slots]": [2],
        "Target (slots)": [3],
    }
    found = cv.from_table("admission", jobs, machines={"side": ["worker"]}, horizon=2).to_dict()["jobs"][0]
    assert (found["minibatch_time"], found["utility"]["target"]) == (2.0, 3.0)
    late = {**jobs, "due_min": jobs.pop("Target (slots)")}
    del late["Target (slots)"]
    with pytest.raises(cv.InputError, match="target is a number of slots, not of 'min'"):
        cv.from_table("admission", late, machines={"side": ["worker"]}, horizon=2)
    columns = {"target": "due_min:GB"}
    with pytest.raises(cv.InputError, match="'GB' is not one of slot, slots"):
        cv.from_table("admission", late, machines={"side": ["worker"]}, horizon=2, columns=columns)


def test_lengths_of_time_are_read_as_clocks_show_them() -> None:
    table = {
        "submit": [0] * 5,
        "duration": ["00:00:10", "1-00:00:01.5", "2 days 01:00:00", " 5 ", timedelta(0, 7)],
    }
    found = cv.from_table("placement", table | {"gpus": [1] * 5}, machines={"gpus": [8]})
    durations = [job["duration"] for job in found.to_dict()["jobs"]]
    assert durations == [10, 86401.5, 2 * 86400 + 3600, 5, 7]


# Damage


def told_of(read: Callable[[], cv.Instance]) -> str:
    """Return the digest of what is read, or the error that refuses it; any other error is one."""
    try:
        return read().digest()
    except cv.InputError as error:
        return str(error)


CELLS = st.sampled_from(
    [
        *(
            None,
            math.nan,
            math.inf,
            -1,
            0,
            1e30,
            10**700,
            True,
            "",
            " ",
            "x",
            "1_0",
            "0x1",
            "\x1b[31m",
            "1e999",
        ),
        *("2024-01-01", "2024-13-01", "9999-12-31T23:59:59Z", "99:99:99", pd.NaT, pd.NA, Decimal("sNaN")),
        *(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1), date(2024, 1, 1), timedelta.max),  # noqa: DTZ001
        *(np.float64("nan"), np.int64(3), 1j, b"\xff", [1], {"a": 1}, object(), "a" * 1000),
    ]
)


@st.composite
def damaged(draw: st.DrawFn, tables: Tables) -> Tables:
    """Change cells, drop, double, rename or empty columns, and give columns and options that may be none."""
    everything: dict[str, Table] = {"": dict(tables.table), **{k: dict(v) for k, v in tables.others.items()}}
    for _ in range(draw(st.integers(1, 4))):
        table = everything[draw(st.sampled_from(sorted(everything)))]
        if not table:
            continue
        name = draw(st.sampled_from(sorted(table)))
        how = draw(st.sampled_from(["cell", "cell", "cell", "drop", "double", "rename", "short", "column"]))
        if how == "cell" and table[name]:
            place = draw(st.integers(0, len(table[name]) - 1))
            table[name] = [draw(CELLS) if i == place else one for i, one in enumerate(table[name])]
        elif how in ("drop", "rename"):
            moved = table.pop(name)
            if how == "rename":
                table[draw(st.sampled_from(["x", "", "time", "Slot (h)", "count [GB]", "gpus (PB)"]))] = moved
        elif how == "double":
            table[f" {name} "] = table[name]
        elif how == "short":
            table[name] = table[name][1:]
        else:
            table[name] = [draw(CELLS)] * len(table[name])
    options = dict(tables.options)
    key = draw(st.sampled_from(["", "slot", "slots", "columns", "resources", "horizon", "machines", "seed"]))
    if key and draw(st.booleans()):
        options[key] = draw(CELLS | st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=2))
    others = {name: table for name, table in everything.items() if name and name not in options}
    return Tables(everything[""], others, options)


@pytest.mark.parametrize("problem", ["allocation", "selection", "admission", "placement"])
@settings(max_examples=30)
@given(data=st.data())
def test_damaged_tables_are_refused_or_read(problem: str, data: st.DataObject) -> None:
    _, tables = data.draw(cases(problem))
    tables = data.draw(damaged(tables))
    told = told_of(lambda: tables.read(problem, lambda table, _: table))
    assert "\n" not in told


JOBS = {"submit": [0, 1, 2], "duration": [5, 6, 7], "gpus": [1, 2, 1]}


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
@settings(max_examples=30)
@given(data=st.data())
def test_damaged_files_are_refused_or_read(
    form: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = holder(form, tmp_path_factory.getbasetemp())(JOBS, "whole")
    whole = path.read_bytes()
    begin = data.draw(st.integers(0, len(whole)))
    bad = (
        whole[:begin] + data.draw(st.binary(max_size=6)) + whole[data.draw(st.integers(begin, len(whole))) :]
    )
    path = path.with_name(f"bad.{form}")
    path.write_bytes(bad)
    assert "\n" not in told_of(lambda: cv.from_table("placement", path, machines={"gpus": [8]}))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "text.csv.gz").write_bytes(gzip.compress(b"submit,duration\n0,1\n")[:-5])
    for name, text in (
        ("folder.parquet", "cannot be read: it is not a regular file"),
        ("no.parquet", "cannot be read: No such file"),
        ("text.csv.gz", "damaged gzip data"),
    ):
        with pytest.raises(cv.InputError, match=text):
            cv.from_table("placement", tmp_path / name, machines={"gpus": [8]})


def test_frames_that_are_none_are_refused() -> None:
    twice = pd.DataFrame([[0, 1, 2]], columns=["submit", "duration", "duration"])
    for table, text in (
        (twice, "jobs: column 'duration' is there twice"),
        (pl.LazyFrame({"a": [1]}).select("b"), "jobs: no table: "),
        (np.zeros((2, 2)), "jobs: ndarray is no table, nor the path of one"),
        ([1, 2], "no column for submit; there are 0"),
    ):
        with pytest.raises(cv.InputError, match=text):
            cv.from_table("placement", table, machines={"gpus": [8]})


@pytest.mark.parametrize(
    ("submit", "moved"),
    [
        (["2024-05-01T10:00:00.000400Z", "2024-05-01T10:00:01Z"], 1),
        (["2024-05-01T10:00:00.123", "2024-05-01T10:00:01.999"], 0),
        ([1714557600.001, 1714557610.999], 0),
        ([1714557600.001, 1714557610.0014], 1),
    ],
)
def test_rounding_of_late_times_is_said(submit: list[Any], moved: int) -> None:
    found = cv.from_table(
        "placement", {"submit": submit, "duration": [1, 2], "gpus": [1, 1]}, machines={"gpus": [1]}
    )
    told = [text for text in found.origin.filled if "rounded" in text]
    assert told == [f"jobs: submit: {moved} values rounded to 3 decimals"] * (moved > 0)


def test_the_origin_says_what_zone_and_which_columns_count() -> None:
    table = {"submit": ["2024-05-01T10:00:00"], "duration": [1], "start": [0], "end": [9], "gpus": [1]}
    found = cv.from_table("placement", table, machines={"gpus": [1]})
    assert found.to_dict()["jobs"][0]["duration"] == 1
    assert any("in UTC where they name no zone" in text for text in found.origin.real)
    assert "jobs: start and end are not used, since there is a duration" in found.origin.real


def test_a_priority_of_nothing_is_refused_by_row() -> None:
    jobs = {"arrival": [1, 2], "chunks": [1, 1], "minibatch_time": [1.0, 1.0], "priority": [1.0, 0.0]}
    machines = {"gpus": [1, 1], "side": ["worker", "server"]}
    with pytest.raises(cv.InputError, match=r"jobs: priority: row 1: 0\.0 is not a number of at least 1e-09"):
        cv.from_table("admission", jobs, machines=machines, horizon=3)


def test_only_of_faults_that_are_told_it_is_asked_what_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong column makes every row a fault, and the likest name takes long to find."""
    asked: list[str] = []

    def meant(name: str, _known: object) -> str:
        asked.append(name)
        return ""

    monkeypatch.setattr(port_tables, "did_you_mean", meant)
    wrong = [f"typo {i}" for i in range(50)]
    ports, machines = {"port": ["a"], "gpus": [1]}, {"server": ["x"], "gpus": [1]}
    for table, edges, kinds in (
        ({"slot": [0] * 50, "port": wrong}, None, 1),
        ({"slot": [0], "port": ["a"]}, {"port": wrong, "server": wrong}, 2),
    ):
        asked.clear()
        with pytest.raises(cv.InputError, match=f"row 0: 'typo 0' is unknown.*; and {50 * kinds - 5} more"):
            cv.from_table("allocation", table, machines=machines, ports=ports, edges=edges)
        assert len(asked) == 5 * kinds
