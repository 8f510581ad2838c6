"""The command line on the admission problem, as somebody meets it who has read no manual."""

import gzip
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant.cli import output
from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.schedule import Schedule

Run = Callable[..., Any]  # of tests/front/conftest.py


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("instances") / "tiny.json"
    cv.generate("admission", size="tiny", seed=1, jobs=6).save(path)
    return path


@pytest.fixture(scope="module")
def never(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny instance in which some jobs can never finish."""
    path = tmp_path_factory.mktemp("instances") / "never.json"
    instance = generate("tiny", 1, fit="any")
    assert 0 < len(instance.never) < len(instance.jobs)
    instance.save(path)
    return path


def load(path: Path) -> AdmissionInstance:
    instance = cv.load(path)
    assert isinstance(instance, AdmissionInstance)
    return instance


def assert_refused(printed: Any, message: str) -> None:
    assert (printed.status, printed.out) == (2, "")
    assert re.fullmatch(r"error: .*\n", printed.err), printed.err  # one line, no traceback
    assert re.search(message, printed.err), printed.err


# generate


def test_generate_passes_every_option_on(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    others = ["worker-machines=3", "server-machines=1", "priority=[5,6]", "classes=[0,0,1]", "swapped=false"]
    options = ["--jobs", 5, "--horizon", 7, "--fit", "short"]
    options += [word for other in others for word in ("--option", other)]
    data = run("generate", "admission", "--size", "tiny", "--seed", 3, *options, "--out", path, "--json").json
    wanted = cv.generate(
        "admission",
        size="tiny",
        seed=3,
        jobs=5,
        horizon=7,
        fit="short",
        worker_machines=3,
        server_machines=1,
        priority=(5, 6),
        classes=(0, 0, 1),
    )
    assert cv.load(path) == wanted
    assert data["digest"] == wanted.digest()
    assert data["facts"] == wanted.facts()
    assert data["origin"] == wanted.origin.to_dict()


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """A folder with some machines and some counts of arrivals, in the columns of the real files."""
    machines = ["m,P100,64,512,2"] * 30 + ["m,CPU,96,512,0"] * 10
    counts = ["bin_start_s,submits,class0,class1,class2,class3"]
    counts += [f"{600 + 300 * i},{i % 4},0,0,0,0" for i in range(200)]
    for name in ("alibaba-gpu-v2020", "google-2011"):
        (tmp_path / name).mkdir()
    (tmp_path / "alibaba-gpu-v2020/pai_machine_spec.csv").write_text(
        "\n".join([*machines, ""]), encoding="utf-8"
    )
    packed = gzip.compress("\n".join([*counts, ""]).encode(), mtime=0)
    (tmp_path / "google-2011/derived-job_submits_per_5min.csv.gz").write_bytes(packed)
    return tmp_path


def test_generate_reads_traces(run: Run, traces: Path) -> None:
    path = traces / "x.json"
    options = ("--size", "tiny", "--horizon", 6, "--jobs", 3, "--option", "machines=pai-2020")
    data = run("generate", "admission", "--trace", traces, *options, "--out", path, "--json").json
    assert cv.load(path) == cv.from_trace(
        "admission", traces, size="tiny", horizon=6, jobs=3, machines="pai-2020"
    )
    assert any("google-2011" in column for column in data["origin"]["real"])


def test_generate_says_how_large_it_is_and_where_it_comes_from(run: Run, tmp_path: Path) -> None:
    printed = run("generate", "admission", "--size", "tiny", "--out", tmp_path / "x.json")
    words = " ".join(printed.out.split())
    assert (
        "4 jobs, 0 jobs that can never finish, 5 slots, 2 worker machines, 2 parameter-server mach" in words
    )
    assert all(" ".join(column.split()) in words for column in load(tmp_path / "x.json").origin.filled)
    assert printed.err == ""


def test_jobs_that_can_never_finish_are_told_by_every_command(never: Path, run: Run, tmp_path: Path) -> None:
    instance = load(never)
    notes = [f"note: jobs[{i}] can never finish: {why}\n" for i, why in instance.never.items()]
    for arguments in (
        (
            "generate",
            "admission",
            "--size",
            "tiny",
            "--seed",
            1,
            "--fit",
            "any",
            "--out",
            tmp_path / "x.json",
        ),
        ("play", never, "--policy", "fifo", "--no-optimum"),
        ("solve", never, "--json"),
    ):
        printed = run(*arguments)
        assert printed.status == 0
        assert all(note in printed.err for note in notes)
    assert json.loads(printed.out)["facts"]["jobs that can never finish"] == len(notes)
    accepted = json.loads(printed.out)["accepted"]
    assert not set(accepted) & set(instance.never)


def test_not_more_than_ten_of_them_are_named(run: Run, tmp_path: Path) -> None:
    options = ("--fit", "any", "--jobs", 40, "--horizon", 3)
    printed = run("generate", "admission", *options, "--out", tmp_path / "x.json")
    assert printed.err.count("can never finish") == 10
    assert printed.err.endswith("note: 30 more jobs too\n")


# solve


def test_solve_prints_value_bound_and_who_is_accepted(tiny: Path, run: Run) -> None:
    printed, data = run("solve", tiny), run("solve", tiny, "--json").json
    optimum = cv.solve(cv.load(tiny))
    assert printed.status == 0
    assert f"offline optimum {optimum.value:,.12g}; nothing is better than" in printed.out
    accepted = ", ".join(map(str, data["accepted"]))
    assert re.search(
        rf"^jobs accepted +{data['jobs_accepted']}\naccepted +{accepted}\n", printed.out, re.MULTILINE
    )
    assert data["oracle"] == "offline"
    assert data["value"] == pytest.approx(optimum.value, rel=1e-9)
    assert data["value"] <= data["bound"] * (1 + 1e-12)
    assert data["gap"] <= 1e-6


def test_solve_writes_a_schedule_that_earns_the_value(tiny: Path, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "decision.json"
    data = run("solve", tiny, "--out", path, "--json").json
    instance = load(tiny)
    schedule = Schedule(**json.loads(path.read_text(encoding="utf-8"))["decision"])
    assert instance.violations(schedule) == []
    assert instance.rewards(schedule).sum() == pytest.approx(data["value"], rel=1e-12)
    ends = instance.completions(schedule)
    assert data["accepted"] == [i for i, end in enumerate(ends) if end]
    assert data["done_in_slots"] == [end for end in ends.tolist() if end]


def test_every_method_that_is_listed_finds_the_same_optimum(tiny: Path, run: Run) -> None:
    (listed,) = run("oracles", "--problem", "admission", "--json").json["oracles"]
    assert listed["name"] == "offline"
    best = cv.solve(cv.load(tiny)).value
    for method in listed["methods"]:
        proves = method != "lagrangian"  # which stops at a gap or when the time is up
        data = run("solve", tiny, "--method", method, "--time-limit", 60 if proves else 0.2, "--json").json
        assert data["value"] <= best * (1 + 1e-6)
        assert data["bound"] is None or best <= data["bound"] * (1 + 1e-6)
        if proves:
            assert data["why_stopped"].startswith(("proved by ", "gap reached"))
            assert data["value"] == pytest.approx(best, rel=1e-5)


def test_without_time_the_bound_is_still_true(tiny: Path, run: Run) -> None:
    data = run("solve", tiny, "--time-limit", 0, "--json").json
    best = cv.solve(cv.load(tiny)).value
    assert data["value"] <= best * (1 + 1e-9)
    assert data["bound"] is None or best <= data["bound"] * (1 + 1e-9)


def test_nothing_is_solved_where_there_is_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert run("generate", "admission", "--size", "tiny", "--jobs", 0, "--out", path).status == 0
    printed, data = run("solve", path), run("solve", path, "--json").json
    assert re.search(r"^jobs accepted +0$", printed.out, re.MULTILINE)
    assert (data["value"], data["bound"], data["accepted"]) == (0, 0, [])
    scores = run("play", path, "--policy", "oasis", "--json").json["policies"]["oasis"]
    assert (scores["total"], scores["ratio"], scores["ratio_at_most"]) == (0, 1, 1)


# play


SPECS = ("oasis", "oasis:steep=true,floor=false", "oasis:bounds=estimated", "fifo", "drf", "rrh")


def test_play_divides_the_optimum_by_the_total(tiny: Path, run: Run) -> None:
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
        if scores["total"] > 0:
            assert scores["ratio"] == pytest.approx(optimum.value / scores["total"], rel=1e-6)
            assert scores["ratio_at_most"] >= 1 - 1e-9
            assert scores["ratio"] <= scores["ratio_at_most"] * (1 + 1e-12)
        else:
            assert (scores["ratio"], scores["ratio_at_most"]) == ("inf", "inf")
    assert data["policies"]["oasis"]["sees"] == ["announced"]
    assert data["policies"]["fifo"]["sees"] == []
    for name, bound in data["bounds"].items():
        spec = name.removeprefix("ln(OPT / ALG) of ")
        scores = data["policies"].get(spec)
        assert scores is None or math.log(float(scores["ratio_at_most"])) <= bound


def test_play_prints_the_ratio_and_whose_bounds_there_are(tiny: Path, run: Run) -> None:
    printed = run("play", tiny, "--policy", "oasis", "--policy", "fifo")
    assert printed.status == 0
    assert re.search(r"^policy +also sees +total +optimum / total +seconds$", printed.out, re.MULTILINE)
    assert re.search(r"^oasis +announced +[\d.]+ +1(\.\d+)? +", printed.out, re.MULTILINE)
    assert re.search(r"^bound on ln\(OPT / ALG\) of oasis:floor=false: [\d.,]+$", printed.out, re.MULTILINE)
    assert "regret" not in printed.out


def test_without_time_the_ratio_is_an_interval(tiny: Path, run: Run) -> None:
    arguments = ("play", tiny, "--policy", "oasis", "--time-limit", 0)
    scores = run(*arguments, "--json").json["policies"]["oasis"]
    true = cv.solve(cv.load(tiny)).value / scores["total"]
    assert 1 <= scores["ratio"] <= true * (1 + 1e-9)
    assert true <= float(scores["ratio_at_most"]) * (1 + 1e-9)
    assert re.search(
        r"^oasis +announced +[\d.]+ +[\d.]+( to [\d.]+| or more)? +", run(*arguments).out, re.MULTILINE
    )


def test_play_without_the_optimum_has_no_ratio(tiny: Path, run: Run) -> None:
    data = run("play", tiny, "--policy", "drf", "--no-optimum", "--json").json
    assert data["optimum"] is None
    assert {"optimum", "ratio", "bounds"} & set(data["policies"]["drf"]) == set()
    assert "optimum" not in run("play", tiny, "--policy", "drf", "--no-optimum").out


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        ((1.25, 1.25), "1.25"),
        ((1.25, 1.25 * (1 + 1e-6)), "1.25"),
        ((1.25, 1.5), "1.25 to 1.5"),
        ((1.25, math.inf), "1.25 or more"),
        ((math.inf, math.inf), "inf"),
        ((-2.0, -2.0), "-2"),
        ((-2.0, 0.0), "-2 to 0"),
        ((1234567.0, 2e6), "1.235e+06 to 2e+06"),
    ],
)
def test_a_ratio_is_a_number_or_an_interval(ratio: tuple[float, float], shown: str) -> None:
    assert output.interval(*ratio) == shown


# policies, oracles


def test_the_lists_hold_what_plays_and_solves_the_problem(run: Run) -> None:
    rows = run("policies", "--problem", "admission", "--json").json["policies"]
    assert {"oasis", "oasis-printed", "fifo", "drf", "rrh", "dorm"} <= {row["name"] for row in rows}
    assert {row["problem"] for row in rows} == {"admission"}
    (oracle,) = run("oracles", "--problem", "admission", "--json").json["oracles"]
    assert (oracle["name"], oracle["problem"]) == ("offline", "admission")
    printed = run("policies", "--problem", "admission")
    assert re.search(
        r"^oasis \(admission\)\n.*\n  sees before deciding, besides .*: the announced price range\n",
        printed.out,
        re.MULTILINE,
    )
    assert run("oracles", "--problem", "admission").status == 0


# Bad input


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"horizon": 1}, r"jobs\[\d\]\.arrival: \d is not a whole number of at least 1 and at most 1"),
        ({"resources": ["GPU"] * 5}, r"resources\[1\]: 'GPU' stands twice"),
        ({"resources": ["GPU"]}, r"worker_servers: shape 2 x 5 does not fit, expected n x 1"),
        ({"worker_servers": [[1, 2, 3, 4, -5]]}, r"worker_servers\[0\]\[4\]: -5 is not a finite number"),
        ({"parameter_servers": [[1, 2, 3, 4, float("nan")]]}, r"parameter_servers\[0\]\[4\]: nan is not"),
        ({"jobs": [{}]}, r"jobs\[0\]\.arrival: missing field"),
        ({"jobs": [3]}, r"jobs\[0\]: 3 is not an object"),
        ({"announced": {}}, r"announced\.upper_workers: missing field"),
        ({"arrivals": []}, r"arrivals: unknown field"),
        ({"problem": "admissions"}, r"problem: 'admissions' is not one of .*admission"),
    ],
)
def test_bad_files_are_refused_in_one_line_naming_field_index_and_value(
    fields: dict[str, Any], message: str, tiny: Path, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(json.loads(tiny.read_text(encoding="utf-8")) | fields), encoding="utf-8")
    assert_refused(run("solve", path, "--json"), rf"bad\.json: {message}")
    assert_refused(run("play", path, "--policy", "oasis"), rf"bad\.json: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("generate admission --jobs -1 --out OUT", "jobs: -1 is not a whole number of at least 0"),
        ("generate admission --horizon 0 --out OUT", "horizon: 0 is not a whole number of at least 1"),
        ("generate admission --fit tight --out OUT", "fit: 'tight' is not one of feasible, short, any"),
        ("generate admission --size huge --out OUT", "size: 'huge' is not one of tiny, default, large"),
        ("generate admission --option fit=any --out OUT", "fit is not given in this way"),
        ("generate admission --option classes=[1,1,1] --out OUT", r"classes: \[1, 1, 1\] does not add up"),
        (
            "generate admission --slots 5 --out OUT",
            "slots: generate 'admission' takes no such option; .*horizon",
        ),
        ("generate admission --ports 5 --out OUT", "ports: generate 'admission' takes no such option"),
        ("generate selection --jobs 5 --out OUT", "jobs: generate 'selection' takes no such option"),
        ("generate admission --trace nowhere --out OUT", "nowhere"),
        ("generate admission --trace . --option machines=gpu --out OUT", "machines: 'gpu' is not one of ec2"),
        ("solve FILE --method simplex", "method: 'simplex' is not one of"),
        ("solve FILE --oracle stationary", r"oracle: 'stationary' is not one of offline"),
        ("solve FILE --gap -1", "gap: -1.0 is not"),
        ("solve FILE --time-limit -1", "time_limit: -1.0 is not"),
        ("play FILE --policy ogasched", "'ogasched' plays 'allocation', not 'admission'"),
        ("play FILE --policy oasis:bounds=none", "bounds: 'none' is not"),
        ("play FILE --policy oasis:scale=-1", "scale: -1.0 is not"),
        ("play FILE --policy oasis:speed=3", "setting 'speed' is unknown"),
        ("worst-case FILE --policy oasis", "no worst case is searched for 'admission'"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: str, message: str, tiny: Path, run: Run, tmp_path: Path
) -> None:
    places = {"FILE": tiny, "OUT": tmp_path / "out.json"}
    assert_refused(run(*(places.get(word, word) for word in arguments.split())), message)
    assert list(tmp_path.iterdir()) == []
