"""The command line on the placement problem, as somebody meets it who has read no manual."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.problems import problems

Run = Callable[..., Any]  # of tests/front/conftest.py


@pytest.fixture
def columns() -> int:
    return 200


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four jobs without contention."""
    path = tmp_path_factory.mktemp("instances") / "tiny.json"
    cv.generate("placement", size="tiny", seed=2, jobs=4, contention=0.0).save(path)
    return path


def load(path: Path) -> PlacementInstance:
    instance = cv.load(path)
    assert isinstance(instance, PlacementInstance)
    return instance


def assert_refused(printed: Any, message: str) -> None:
    assert (printed.status, printed.out) == (2, "")
    assert re.fullmatch(r"error: .*\n", printed.err), printed.err  # one line, no traceback
    assert re.search(message, printed.err), printed.err


# generate


def test_generate_passes_every_option_on(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    others = ["communication=0.5", "estimate_error=0.75", "gpu_weight=0.25", "window=9", "price=3"]
    options = ["--jobs", 30, "--cluster", "medium", "--rho", 0.6, "--contention", 1.5]
    options += [word for other in others for word in ("--option", other)]
    data = run("generate", "placement", "--seed", 3, *options, "--out", path, "--json").json
    wanted = cv.generate(
        "placement",
        seed=3,
        jobs=30,
        cluster="medium",
        rho=0.6,
        contention=1.5,
        communication=0.5,
        estimate_error=0.75,
        gpu_weight=0.25,
        window=9,
        price=3,
    )
    assert cv.load(path) == wanted
    assert data["digest"] == wanted.digest()
    assert data["facts"] == wanted.facts()
    assert data["origin"] == wanted.origin.to_dict()
    assert data["facts"]["GPUs"] == 128
    assert data["facts"]["load"] == pytest.approx(0.3, rel=1e-4)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """A folder with some jobs and some pods, in the columns of the real files."""
    jobs = ["job_id,arrival_s,service_sec,gpu_count"]
    jobs += [f"j,{10.0 * i},{5.0 + i},{(1, 1, 4, 70)[i % 4]}" for i in range(80)]
    pods = ["cpu_milli,memory_mib,num_gpu,pod_phase,creation_time,deletion_time,scheduled_time"]
    pods += [f"{1000 * (1 + i % 5)},2048,1,Failed,{i},{100 + i},{i}" for i in range(40)]
    for name, lines in (
        ("alibaba-gpu-v2020/alibaba_trace_sub.head30000.csv.gz", jobs),
        ("alibaba-gpu-v2023/openb_pod_list_gpuspec33.csv.gz", pods),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))
    return tmp_path


def test_generate_reads_traces(run: Run, traces: Path) -> None:
    path = traces / "x.json"
    options = ("--rho", 0.5, "--jobs", 20, "--option", "first=10", "--option", "estimate_error=1")
    data = run("generate", "placement", "--trace", traces, *options, "--out", path, "--json").json
    assert cv.load(path) == cv.from_trace("placement", traces, rho=0.5, jobs=20, first=10, estimate_error=1)
    assert any("alibaba_trace_sub" in part for part in data["origin"]["real"])
    others = ("--size", "tiny", "--option", "source=gpu-2023")
    data = run("generate", "placement", "--trace", traces, *others, "--out", path, "--json").json
    assert cv.load(path) == cv.from_trace("placement", traces, size="tiny", source="gpu-2023")
    assert any("openb_pod_list" in part for part in data["origin"]["real"])


def test_generate_says_how_large_it_is_and_where_it_comes_from(run: Run, tmp_path: Path) -> None:
    printed = run("generate", "placement", "--size", "tiny", "--out", tmp_path / "x.json")
    words = " ".join(printed.out.split())
    assert "6 jobs, 2 machines, 8 GPUs, " in words
    assert re.search(r", largest gang \d, ", words)
    assert "load 3" in words
    assert "synthetic (tiny, seed 0)" in words
    assert all(" ".join(column.split()) in words for column in load(tmp_path / "x.json").origin.filled)
    assert printed.err == ""


def test_the_help_says_which_options_are_for_this_problem(run: Run) -> None:
    words = " ".join(run("generate", "--help").out.split())
    assert "admission, placement: Number of jobs." in words
    for text in ("small, medium or large", "Load on the small", "eta of the slowdown"):
        assert f"placement: {text}" in words
    for name, problem in problems().items():
        assert f"{name} {problem.summary}" in words


# solve


def test_solve_prints_value_and_bound_and_what_it_means_for_the_jobs(tiny: Path, run: Run) -> None:
    printed, data = run("solve", tiny), run("solve", tiny, "--json").json
    optimum = cv.solve(cv.load(tiny))
    assert printed.status == 0
    assert data["oracle"] == "offline"
    assert data["minimised"] is True
    assert data["value"] == pytest.approx(optimum.value, rel=1e-9)
    assert data["bound"] <= data["value"] * (1 + 1e-12)
    assert data["gap"] <= 1e-6
    assert data["mean_jct_seconds"] == pytest.approx(data["value"] / 4, rel=1e-9)  # lambda is 0
    assert re.search(r"^makespan seconds +[\d.,]+$", printed.out, re.MULTILINE)


def test_solve_writes_a_schedule_that_costs_the_value(tiny: Path, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "decision.json"
    data = run("solve", tiny, "--out", path, "--json").json
    instance = load(tiny)
    schedule = Schedule(**json.loads(path.read_text(encoding="utf-8"))["decision"])
    assert instance.violations(schedule) == []
    assert instance.cost(schedule) == pytest.approx(data["value"], rel=1e-12)


def test_every_method_that_is_listed_finds_the_same_optimum(tiny: Path, run: Run) -> None:
    (listed,) = run("oracles", "--problem", "placement", "--json").json["oracles"]
    assert listed["name"] == "offline"
    best = cv.solve(cv.load(tiny)).value
    for method in listed["methods"]:
        proves = method != "search"  # which stops at a gap or when the time is up
        data = run("solve", tiny, "--method", method, "--time-limit", 60 if proves else 0.2, "--json").json
        assert data["value"] >= best * (1 - 1e-6)
        assert data["bound"] is None or data["bound"] <= best * (1 + 1e-6)
        if proves:
            assert data["why_stopped"].startswith(("proved by ", "gap reached"))
            assert data["value"] == pytest.approx(best, rel=1e-5)


def test_without_time_the_bound_is_still_true(tiny: Path, run: Run) -> None:
    data = run("solve", tiny, "--time-limit", 0, "--json").json
    best = cv.solve(cv.load(tiny)).value
    assert data["value"] >= best * (1 - 1e-9)
    assert data["bound"] is None or data["bound"] <= best * (1 + 1e-9)


def test_nothing_is_solved_where_there_is_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert run("generate", "placement", "--size", "tiny", "--jobs", 0, "--out", path).status == 0
    assert run("solve", path).status == 0
    data = run("solve", path, "--json").json
    assert (data["value"], data["bound"]) == (0, 0)
    scores = run("play", path, "--policy", "fifo-firstfit", "--json").json["policies"]["fifo-firstfit"]
    assert (scores["total"], scores["ratio"], scores["ratio_at_most"]) == (0, 1, 1)


# play


SPECS = ("fifo-firstfit", "fifo-firstfit:strict=true", "drf-loadbalance", "tetris", "sjf-consolidate")


def test_play_divides_the_total_by_the_optimum(tiny: Path, run: Run) -> None:
    words = [word for spec in SPECS for word in ("--policy", spec)]
    data = run("play", tiny, *words, "--seeds", 2, "--json").json
    instance = load(tiny)
    optimum = cv.solve(instance)
    assert data["optimum"]["oracle"] == "offline"
    assert list(data["policies"]) == list(SPECS)
    for spec, scores in data["policies"].items():
        seeds = (0, 1) if scores["randomised"] else (0,)
        assert scores["per_seed"] == [cv.play(spec, instance, seed).total for seed in seeds]
        assert scores["optimum"] == pytest.approx(optimum.value, rel=1e-9)
        assert "regret" not in scores
        assert scores["infeasible"] == 0
        assert scores["ratio"] == pytest.approx(scores["total"] / optimum.value, rel=1e-6)
        assert scores["ratio"] >= 1
        assert scores["ratio"] <= scores["ratio_at_most"] * (1 + 1e-12)
        assert scores["sees"] == (["durations"] if spec == "sjf-consolidate" else [])
        mean = next(value for name, value in scores["measures"].items() if name.startswith("JCT"))
        assert mean == pytest.approx(scores["total"] / 4 / 60, rel=1e-6)


def test_play_prints_the_ratio_and_the_measures(tiny: Path, run: Run) -> None:
    printed = run("play", tiny, "--policy", "sjf-consolidate", "--policy", "fifo-firstfit")
    assert printed.status == 0
    heads = r"^policy +also sees +total cost \(s\) +total / optimum +seconds$"
    assert re.search(heads, printed.out, re.MULTILINE)
    assert re.search(r"^sjf-consolidate +durations +[\d.,]+ +1(\.\d+)? +", printed.out, re.MULTILINE)
    assert "JCT (min)" in printed.out
    assert "regret" not in printed.out


def test_without_time_the_ratio_is_an_interval(tiny: Path, run: Run) -> None:
    arguments = ("play", tiny, "--policy", "fifo-firstfit", "--time-limit", 0)
    scores = run(*arguments, "--json").json["policies"]["fifo-firstfit"]
    true = scores["total"] / cv.solve(cv.load(tiny)).value
    assert 1 <= scores["ratio"] <= true * (1 + 1e-9)
    assert true <= float(scores["ratio_at_most"]) * (1 + 1e-9)


def test_play_without_the_optimum_has_no_ratio(tiny: Path, run: Run) -> None:
    data = run("play", tiny, "--policy", "tetris", "--no-optimum", "--json").json
    assert data["optimum"] is None
    assert {"optimum", "ratio", "bounds"} & set(data["policies"]["tetris"]) == set()
    assert {"total", "measures"} <= set(data["policies"]["tetris"])
    assert "optimum" not in run("play", tiny, "--policy", "tetris", "--no-optimum").out


def test_play_shows_estimates_where_there_are_some(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    options = ("--size", "tiny", "--seed", 3, "--option", "estimate_error=0")
    assert run("generate", "placement", *options, "--out", path).status == 0
    specs = ("sjf-consolidate", "sjf-estimate-consolidate", "sjf-estimate-consolidate:strict=true")
    words = [word for spec in specs for word in ("--policy", spec)]
    found = run("play", path, *words, "--no-optimum", "--json").json["policies"]
    assert [scores["sees"] for scores in found.values()] == [["durations"], ["estimates"], ["estimates"]]
    assert found[specs[0]]["per_seed"] == found[specs[1]]["per_seed"]


def test_play_refuses_to_show_estimates_that_are_not_there(
    tiny: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("the error comes too late")

    monkeypatch.setattr("clairvoyant.api.solve", work)
    monkeypatch.setattr("clairvoyant.online.placement.heuristics.FifoFirstFit.decide", work)
    names = ("--policy", "fifo-firstfit", "--policy", "sjf-estimate-consolidate")
    for more in ((), ("--no-optimum",), ("--json",)):
        assert_refused(run("play", tiny, *names, *more), "^error: estimates: .* generate .* estimate_error")


# policies, oracles

POLICIES = {
    *("fifo-firstfit", "fifo-loadbalance", "drf-firstfit", "drf-loadbalance", "tetris"),
    *("mosa", "malo", "fifo-consolidate", "sjf-consolidate", "sjf-estimate-consolidate"),
}


def test_the_lists_hold_what_plays_and_solves_the_problem(run: Run) -> None:
    rows = run("policies", "--problem", "placement", "--json").json["policies"]
    assert {row["name"] for row in rows} >= POLICIES
    assert {row["problem"] for row in rows} == {"placement"}
    assert {row["name"] for row in rows if row["sees"]} >= {"sjf-consolidate", "sjf-estimate-consolidate"}
    (oracle,) = run("oracles", "--problem", "placement", "--json").json["oracles"]
    assert (oracle["name"], oracle["problem"]) == ("offline", "placement")
    printed = run("policies", "--problem", "placement")
    assert re.search(
        r"^sjf-consolidate \(placement\)\n.*\n  sees before deciding, besides what all see: durations$",
        printed.out,
        re.MULTILINE,
    )
    assert run("oracles", "--problem", "placement").status == 0


# Bad input


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"machines": []}, r"machines: \[\] is not a list of at least one machine"),
        ({"machines": [{"gpus": 1, "cpus": 1}]}, r"machines\[0\]\.memory: missing field"),
        ({"machines": [{"gpus": 1, "cpus": -1, "memory": 1}]}, r"machines\[0\]\.cpus: -1 is not"),
        (
            {"machines": [{"gpus": 0, "cpus": 96, "memory": 512}]},
            r"jobs\[0\]: the job submitted at .* can never run: an instance needs \d GPUs, the largest",
        ),
        ({"jobs": [3]}, r"jobs\[0\]: 3 is not an object"),
        ({"jobs": [{"submit": -1}]}, r"jobs\[0\]\.duration: missing field"),
        ({"slowdown": {"communication": 99, "contention": 0}}, r"slowdown\.communication: 99 is not"),
        ({"price": float("nan")}, r"price: nan is not"),
        ({"window": 0}, r"window: 0 is not"),
        ({"horizon": 3}, r"horizon: unknown field"),
        ({"problem": "placements"}, r"problem: 'placements' is not one of .*placement"),
    ],
)
def test_bad_files_are_refused_in_one_line_naming_field_index_and_value(
    fields: dict[str, Any], message: str, tiny: Path, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(json.loads(tiny.read_text(encoding="utf-8")) | fields), encoding="utf-8")
    assert_refused(run("solve", path, "--json"), rf"bad\.json: {message}")
    assert_refused(run("play", path, "--policy", "tetris"), rf"bad\.json: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("generate placement --jobs -1 --out OUT", "jobs: -1 is not a whole number of at least 0"),
        ("generate placement --rho 0 --out OUT", "rho: 0.* is so small"),
        ("generate placement --rho -2 --out OUT", r"rho: -2\.0 is not at least 0"),
        ("generate placement --cluster huge --out OUT", "cluster: 'huge' is not one of small, medium, large"),
        ("generate placement --contention 11 --out OUT", r"slowdown\.contention: 11\.0 is not at least 0"),
        ("generate placement --size huge --out OUT", "size: 'huge' is not one of tiny, default, large"),
        ("generate placement --option estimate_error=-1 --out OUT", "estimate_error: -1 is not at least 0"),
        ("generate placement --option machines=0 --out OUT", "machines: 0 is not a whole number"),
        ("generate placement --option rho=1 --out OUT", "rho is not given in this way"),
        ("generate placement --option speed=1 --out OUT", "speed: generate 'placement' takes no such option"),
        (
            "generate placement --horizon 5 --out OUT",
            "horizon: generate 'placement' takes no such option; .*rho",
        ),
        ("generate admission --rho 1 --out OUT", "rho: generate 'admission' takes no such option"),
        ("generate placement --trace nowhere --out OUT", "nowhere"),
        ("generate placement --trace . --option source=x --out OUT", "source: 'x' is not one of pai-2020"),
        ("solve FILE --method simplex", "method: 'simplex' is not one of"),
        ("solve FILE --oracle stationary", r"oracle: 'stationary' is not one of offline"),
        ("solve FILE --gap -1", "gap: -1.0 is not"),
        ("solve FILE --time-limit -1", "time_limit: -1.0 is not"),
        ("play FILE --policy oasis", "'oasis' plays 'admission', not 'placement'"),
        ("play FILE --policy fifo-firstfit:strict=3", "strict: '3' is not true or false"),
        ("play FILE --policy fifo-firstfit:speed=3", "setting 'speed' is unknown"),
        ("worst-case FILE --policy tetris", "no worst case is searched for 'placement'"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: str, message: str, tiny: Path, run: Run, tmp_path: Path
) -> None:
    places = {"FILE": tiny, "OUT": tmp_path / "out.json"}
    assert_refused(run(*(places.get(word, word) for word in arguments.split())), message)
    assert list(tmp_path.iterdir()) == []
