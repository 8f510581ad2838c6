"""The command line: what it prints where, its exit statuses, bad input, and Ctrl-C."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clairvoyant as cv
from clairvoyant.analysis.claim import Claim, Context, Finding
from clairvoyant.analysis.engine.engine import Interrupted
from clairvoyant.cli import commands, output
from clairvoyant.cli.interrupt import Interruptible, ctrl_c
from clairvoyant.cli.parts import BAD_INPUT
from clairvoyant.cli.playing import _beyond
from clairvoyant.models.base import DecisionError
from clairvoyant.online.play import Run as Played
from clairvoyant.oracles.base import Optimum, WhyStopped
from clairvoyant.problems import problems

COMMANDS = sorted(commands.cli.commands)
Run = Callable[..., Any]  # of tests/front/conftest.py


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("instances") / "tiny.json"
    cv.generate("allocation", size="tiny", seed=1).save(path)
    return path


@pytest.fixture(scope="module")
def gangs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An instance on which one run takes a moment and thousands of runs take for ever."""
    path = tmp_path_factory.mktemp("instances") / "gangs.json.gz"
    cv.generate("allocation-gang", size="tiny", seed=1, slots=2).save(path)
    return path


AS_USUAL = ("-m", "clairvoyant")
AT_ONCE = """
import sys
from clairvoyant.cli import output
from clairvoyant.__main__ import main
output.LINE_EVERY = 0.0
sys.exit(main())
"""
"""The command line, which prints at once how far it is, and not after five seconds."""


@contextmanager
def started(
    *arguments: object, begin: tuple[str, ...] = AS_USUAL, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start the command line as a user does, and leave nothing running or open."""
    full = [sys.executable, *begin, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    with subprocess.Popen(full, text=True, **pipes) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def read_until(process: subprocess.Popen[str], start: str) -> str:
    """Read what a process says on standard error until a line begins so, a pattern; return all of it."""
    assert process.stderr is not None
    said = ""
    for row in process.stderr:
        said += row
        if re.match(start, row):
            return said
    raise AssertionError(f"no line begins with {start!r}:\n{said}")


# Help, version, completion


def test_without_a_command_the_help_goes_to_standard_error(run: Run) -> None:
    printed = run()
    assert (printed.status, printed.out) == (2, "")
    assert all(name in printed.err for name in COMMANDS)


def test_every_command_is_there() -> None:
    wanted = {
        "generate",
        "leaderboard",
        "solve",
        "verify",
        "import",
        "formats",
        "play",
        "compare",
        "check",
        "new-policy",
        "sweep",
        "store",
        "audit",
        "policies",
        "oracles",
        "worst-case",
        "completion",
        "train",
        "warmup",
    }
    assert set(COMMANDS) == wanted


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_ends_with_an_example_that_parses(name: str, run: Run) -> None:
    printed = run(name, "--help")
    assert (printed.status, printed.err) == (0, "")
    example = re.search(r"\nExample:\n  clairvoyant (.*)\n$", printed.out)
    assert example is not None
    words = example[1].split(" > ")[0].split()
    assert words[0] == name
    context = commands.cli.commands[name].make_context(name, words[1:])  # raises for what is no option
    context.close()


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version").out == f"clairvoyant {cv.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_names_the_command(shell: str, run: Run) -> None:
    printed = run("completion", shell)
    assert printed.status == 0
    assert "_CLAIRVOYANT_COMPLETE" in printed.out
    assert f"{shell}_complete" in printed.out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("clairvoyant pl", "play"),
        ("clairvoyant play x.json --policy ogasched-", "ogasched-printed"),
        ("clairvoyant generate alloc", "allocation"),
        ("clairvoyant solve x.json --oracle stat", "stationary"),
    ],
)
def test_the_shell_completes_names(
    typed: str, offered: str, run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = typed.split()
    monkeypatch.setenv("_CLAIRVOYANT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    with pytest.raises(SystemExit) as stopped:
        run()
    assert stopped.value.code == 0
    assert f"plain,{offered}" in capfd.readouterr().out.splitlines()


# What the commands print


def test_generate_prints_the_facts_and_where_they_come_from(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    printed = run("generate", "allocation", "--size", "tiny", "--seed", 5, "--slots", 9, "--out", path)
    assert printed.status == 0
    instance = cv.load(path)
    assert instance == cv.generate("allocation", size="tiny", seed=5, slots=9)
    assert instance.digest() in printed.out
    assert "9 slots" in printed.out
    assert "synthetic (tiny, seed 5)" in printed.out
    words = " ".join(printed.out.split())
    for column in (*instance.origin.real, *instance.origin.filled):
        assert column in words


def test_generate_passes_every_option_on(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    named = "--ports 4 --servers 5 --density 1.5 --utility log --arrival-probability 0.4 --contention 2"
    others = ["alpha=[1.2,1.3]", "counts=true", 'kinds=["CPU"]', "slots-per-day=12"]
    options = [*named.split(), *(word for other in others for word in ("--option", other))]
    printed = run("generate", "allocation", "--size", "tiny", *options, "--out", path, "--json")
    wanted = cv.generate(
        "allocation",
        size="tiny",
        ports=4,
        servers=5,
        density=1.5,
        utility="log",
        arrival_probability=0.4,
        contention=2.0,
        alpha=(1.2, 1.3),
        counts=True,
        kinds=["CPU"],
        slots_per_day=12,
    )
    assert printed.json["digest"] == wanted.digest() == cv.load(path).digest()
    assert printed.json["facts"]["ports"] == 4
    assert printed.json["origin"] == wanted.origin.to_dict()


def test_generate_reads_traces(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def from_trace(problem: str, folder: Path, **options: Any) -> cv.Instance:
        asked.update(options, problem=problem, folder=folder)
        return cv.generate("allocation", size="tiny")

    monkeypatch.setattr("clairvoyant.api.from_trace", from_trace)
    path = tmp_path / "x.json"
    assert run("generate", "allocation", "--trace", "t", "--slots", 24, "--out", path).status == 0
    assert asked == {"problem": "allocation", "folder": Path("t"), "seed": 0, "slots": 24}
    assert path.exists()


@pytest.mark.parametrize("oracle", ["stationary", "dynamic"])
def test_solve_prints_value_bound_and_origin(oracle: str, tiny: Path, run: Run) -> None:
    printed = run("solve", tiny, "--oracle", oracle, "--gap", "1e-7")
    assert printed.status == 0
    optimum = cv.solve(cv.load(tiny), oracle, gap=1e-7)
    told = re.search(r"optimum ([\d.]+); nothing is better than ([\d.]+) ", printed.out)
    assert told is not None
    assert [float(number) for number in told.groups()] == pytest.approx([optimum.value, optimum.bound])
    assert "synthetic (tiny, seed 1)" in printed.out


def test_solve_json_holds_all_that_is_known_and_nothing_else_is_printed(tiny: Path, run: Run) -> None:
    data = run("solve", tiny, "--json").json
    instance = cv.load(tiny)
    optimum = cv.solve(instance)
    assert data["value"] == pytest.approx(optimum.value, rel=1e-12)
    assert data["value"] <= data["bound"]
    assert 0 <= data["gap"] <= 1e-8
    assert data["why_stopped"] in {reason.value for reason in cv.WhyStopped}
    assert data["seconds"] > 0
    assert data["digest"] == instance.digest()
    assert data["origin"] == instance.origin.to_dict()
    assert (data["oracle"], data["method"]) == ("stationary", optimum.method)


def test_solve_takes_a_method_and_a_time_limit(tiny: Path, run: Run) -> None:
    data = run("solve", tiny, "--method", "cvxpy", "--gap", "1e-6", "--json").json
    assert "CVXPY" in data["method"]
    data = run("solve", tiny, "--time-limit", "0", "--json").json
    assert data["why_stopped"] == "time limit"
    assert data["bound"] is None or data["bound"] >= data["value"]


@pytest.mark.parametrize("oracle", ["stationary", "dynamic"])
def test_solve_writes_the_decision(oracle: str, tiny: Path, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "decision.json"
    assert run("solve", tiny, "--oracle", oracle, "--out", path).status == 0
    data = json.loads(path.read_text(encoding="utf-8"))
    instance = cv.load(tiny)
    decision = np.array(data["decision"])
    assert isinstance(instance, cv.AllocationInstance)
    slots, shape = instance.setting.slots, instance.setting.shape
    assert decision.shape == (shape if oracle == "stationary" else (slots, *shape))
    held = decision if oracle == "dynamic" else [decision] * slots
    total = sum(instance.setting.evaluate(y, x)[0] for y, x in zip(held, instance.arrivals, strict=True))
    assert total == pytest.approx(data["value"], rel=1e-9)


def test_play_compares_policies_with_the_optimum_and_the_bounds(tiny: Path, run: Run) -> None:
    specs = ["ogasched", "ogasched:step=decay,eta0=5", "fairness", "ogasched-printed"]
    data = run("play", tiny, *(word for s in specs for word in ("--policy", s)), "--seeds", 3, "--json").json
    instance = cv.load(tiny)
    optimum = cv.solve(instance)
    assert list(data["policies"]) == specs
    assert data["interrupted"] is False
    assert data["seeds"] == [0, 1, 2]
    for spec in specs[:3]:
        scores = data["policies"][spec]
        total = cv.play(spec, instance).total
        assert scores["per_seed"] == [total]  # they draw nothing at random, so one seed says it all
        assert scores["total"] == pytest.approx(total, rel=1e-12)
        assert scores["standard_error"] is None
        assert scores["optimum"] == pytest.approx(optimum.value, rel=1e-9)
        assert scores["regret"] == pytest.approx(optimum.value - total, rel=1e-6)
        assert scores["regret"] <= scores["regret_at_most"]
        assert scores["infeasible"] == 0
    assert data["policies"]["ogasched"]["sees"] == []
    assert data["policies"]["fairness"]["sees"] == ["arrivals"]
    assert data["policies"]["ogasched-printed"]["infeasible"] > 0
    bounds = data["policies"]["ogasched"]["bounds"]
    assert bounds["ogasched, theorem 1 tightened"] <= bounds["ogasched, theorem 1"]
    assert data["policies"]["ogasched"]["regret_at_most"] <= bounds["ogasched, theorem 1 tightened"]


def test_play_prints_who_sees_what_and_marks_what_means_nothing(tiny: Path, run: Run) -> None:
    printed = run("play", tiny, "--policy", "ogasched", "--policy", "drf", "--policy", "ogasched-printed")
    assert printed.status == 0
    assert re.search(r"^ogasched +nothing +\d", printed.out, flags=re.MULTILINE)
    assert re.search(r"^drf +arrivals +\d", printed.out, flags=re.MULTILINE)
    assert re.search(
        r"^ogasched-printed: \d+ infeasible decisions, so its total means nothing$", printed.out, re.MULTILINE
    )
    assert "bound on the regret of ogasched, theorem 1:" in printed.out
    assert "ogasched: stationary regret <= D G sqrt(T) with the constant step (Theorem 1" in printed.out
    assert "synthetic (tiny, seed 1)" in printed.out
    assert "drf, seed 0: total" in printed.err


def test_play_gives_every_seed_to_a_policy_that_draws(gangs: Path, run: Run) -> None:
    arguments = ("play", gangs, "--policy", "perturbed-leader", "--no-optimum", "--seeds", 3)
    scores = run(*arguments, "--json").json["policies"]["perturbed-leader"]
    assert scores["per_seed"] == [
        cv.play("perturbed-leader", cv.load(gangs), seed).total for seed in range(3)
    ]


def test_play_without_the_optimum_has_no_regret(tiny: Path, run: Run) -> None:
    arguments = ("play", tiny, "--policy", "drf", "--no-optimum", "--seed", 4)
    data = run(*arguments, "--json").json
    assert data["optimum"] is None
    assert data["seeds"] == [4]
    assert {"optimum", "regret", "bounds"} & set(data["policies"]["drf"]) == set()
    assert run(*arguments).status == 0


def test_an_instance_without_slots_is_fine(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert run("generate", "allocation", "--size", "tiny", "--slots", 0, "--out", path).status == 0
    data = run("play", path, "--policy", "ogasched", "--policy", "drf", "--json").json
    assert [scores["regret"] for scores in data["policies"].values()] == [0, 0]
    assert run("play", path, "--policy", "ogasched").status == 0


def test_play_with_a_time_limit_tells_the_regret_as_an_interval(tiny: Path, run: Run) -> None:
    scores = run("play", tiny, "--policy", "drf", "--time-limit", 0, "--json").json["policies"]["drf"]
    instance = cv.load(tiny)
    regret = cv.solve(instance).value - scores["total"]
    assert scores["regret"] <= regret <= scores["regret_at_most"]


def test_gangs_are_solved_by_their_own_oracle(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    options = ("--option", "tasks=3", "--option", "floor=0.25")
    assert run("generate", "allocation-gang", "--size", "tiny", *options, "--out", path).status == 0
    data = run("solve", path, "--json").json
    assert (data["problem"], data["oracle"], data["facts"]["tasks"]) == ("allocation-gang", "gang", 9)
    assert 0 < data["value"] <= data["bound"]
    assert_refused(run("solve", path, "--oracle", "stationary"), "oracle: 'stationary' is not one of gang")
    assert_refused(
        run("worst-case", path, "--policy", "drf"), "no worst case is searched for 'allocation-gang'"
    )
    assert_refused(run("play", path, "--policy", "drf"), "error: ")


def test_policies_lists_settings_and_traits(run: Run) -> None:
    rows = {row["name"]: row for row in run("policies", "--problem", "allocation", "--json").json["policies"]}
    assert rows["ogasched"]["settings"]["step"] == "constant"
    assert rows["drf"]["sees"] == ["arrivals"]
    printed = run("policies")
    assert printed.status == 0
    assert all(name in printed.out for name in rows)
    assert ":class:" not in printed.out
    assert "arXiv:2305.06572" in rows["ogasched"]["source"]
    assert " ".join(f"source: {rows['drf']['source']}".split()) in " ".join(printed.out.split())


def test_oracles_lists_methods_and_guarantees(run: Run) -> None:
    rows = {row["name"]: row for row in run("oracles", "--problem", "allocation", "--json").json["oracles"]}
    assert {"gap", "time_limit"} <= set(rows["stationary"]["settings"])
    assert "cvxpy" in rows["stationary"]["methods"]
    printed = run("oracles")
    assert printed.status == 0
    assert all(text in " ".join(printed.out.split()) for text in ("stationary", rows["dynamic"]["guarantee"]))


def test_worst_case_enumerates_what_is_small(run: Run, tmp_path: Path) -> None:
    path, worst = tmp_path / "x.json", tmp_path / "worst.json"
    cv.generate("allocation", size="tiny", slots=2).save(path)
    data = run("worst-case", path, "--policy", "ogasched", "--out", worst, "--json").json
    assert data["exhaustive"] is True
    assert data["evaluations"] == 2**6
    instance = cv.load(worst)
    assert instance.digest() == data["worst_digest"]
    regret = cv.solve(instance).value - cv.play("ogasched", instance).total
    assert data["regret"] == pytest.approx(regret, rel=1e-6)
    assert data["regret"] <= data["bound"]
    printed = run("worst-case", path, "--policy", "ogasched", "--out", worst)
    assert "the largest there is in 64 sequences" in printed.out
    assert (
        "the largest found in 5 sequences"
        in run("worst-case", path, "--policy", "drf", "--evaluations", 5).out
    )


def finding(verdict: cv.Verdict) -> cv.Finding:
    proof = "1 < 2" if verdict is cv.Verdict.REFUTED else ""
    return cv.Finding(verdict, "It was [tried], twice.", {"ratio": float("nan"), "runs": 2}, proof=proof)


def claim(name: str, expected: cv.Verdict) -> cv.Claim:
    return cv.Claim(
        f"allocation/{name}", "Sec. 1", "It holds.", "By trying.", expected, lambda _: finding(expected)
    )


def test_worst_case_searches_what_is_large(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"  # 2^1200 sequences: more than there are floating-point numbers
    cv.generate("allocation", size="tiny", seed=1, slots=400).save(path)
    data = run("worst-case", path, "--policy", "drf", "--evaluations", 3, "--json").json
    assert (data["exhaustive"], data["evaluations"]) == (False, 3)
    worst = cv.load(path).with_arrivals(data["arrivals"])  # type: ignore[attr-defined]
    assert data["regret"] == pytest.approx(cv.solve(worst).value - cv.play("drf", worst).total, rel=1e-6)


@pytest.mark.parametrize(("verdict", "status"), [(cv.Verdict.REFUTED, 0), (cv.Verdict.HOLDS, 1)])
def test_audit_fails_if_a_verdict_is_not_the_expected_one(
    verdict: cv.Verdict, status: int, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def run_audit(**options: Any) -> list[tuple[cv.Claim, cv.Finding]]:
        asked.update(options)
        return [
            (claim("first", cv.Verdict.HOLDS), finding(cv.Verdict.HOLDS)),
            (claim("second", cv.Verdict.REFUTED), finding(verdict)),
        ]

    monkeypatch.setattr("clairvoyant.analysis.audit.run_audit", run_audit)
    arguments = (
        "audit",
        "--out",
        tmp_path,
        "--quick",
        "--seed",
        3,
        "--workers",
        1,
        "--problem",
        "allocation",
    )
    printed = run(*arguments)
    assert printed.status == status
    assert {asked[key] for key in ("mode", "out", "seed", "workers", "claims")} == {
        "quick",
        tmp_path,
        3,
        1,
        None,
    }
    assert asked["problems"] == ("allocation",)
    assert "It was [tried], twice." in printed.out
    assert ("1 NOT as expected" if status else "all as expected") in printed.out
    assert ("holds, expected: refuted" in printed.out) == bool(status)
    assert f"report: {tmp_path / 'index.html'}\n" in printed.out
    page = (tmp_path / "allocation.html").read_text(encoding="utf-8")
    assert all(
        text in page for text in ("allocation/second", "ogasched", "stationary", "It was [tried], twice.")
    )
    data = run(*arguments, "--json").json
    assert data["passed"] is not bool(status)
    assert [row["as_expected"] for row in data["claims"]] == [True, not status]
    assert data["claims"][0]["numbers"] == {"ratio": None, "runs": 2}


def test_audit_checks_the_claims_that_are_asked_for(run: Run, tmp_path: Path) -> None:
    wanted = "allocation/equation-13"
    data = run("audit", "--claim", wanted, "--quick", "--workers", 1, "--out", tmp_path, "--json").json
    assert data["passed"] is True
    assert [row["id"] for row in data["claims"]] == [wanted]
    assert Path(data["report"]) == tmp_path / "index.html"
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert wanted in page
    other = (tmp_path / "allocation.html").read_text(encoding="utf-8")
    assert "<td>the arrivals of the slot</td>" in other
    assert f"To reproduce these pages: <code>clairvoyant audit --claim {wanted} --quick</code>" in page


# Bad input


def broken_files(folder: Path) -> Iterator[tuple[str, bytes, str]]:
    """File name, content and what must be said about it."""
    good: dict[str, Any] = cv.generate("allocation", size="tiny").to_dict()

    def changed(**fields: Any) -> bytes:
        return json.dumps(good | fields).encode()

    demand = [list(row) for row in good["demand"]]
    demand[1][0] = -3
    nan = [list(row) for row in good["capacity"]]
    nan[2][1] = float("nan")
    kinds = [list(row) for row in good["utility"]["kind"]]
    kinds[0][1] = "cubic"
    text = json.dumps(good)
    yield (
        "negative.json",
        changed(demand=demand),
        r"demand\[1\]\[0\]: -3 is not a finite number of at least 0",
    )
    yield "nan.json", changed(capacity=nan), r"capacity\[2\]\[1\]: nan is not a finite"
    yield "shape.json", changed(capacity=[[1]]), r"capacity: shape 1 x 1 does not fit, expected n x 2"
    yield "ragged.json", changed(arrivals=[[1, 0, 0], [1]]), r"arrivals\[1\]: length 1 differs from 3"
    yield "half.json", changed(arrivals=[[0.5, 0, 0]]), r"arrivals\[0\]\[0\]: 0\.5 is not a whole number"
    yield "range.json", changed(edges=[[0, 9]]), r"edges\[0\]\[1\]: 9 is out of range for 3 servers"
    yield "twice.json", changed(edges=[[0, 0], [0, 0]]), r"edges\[1\]: \[0, 0\] stands twice"
    yield (
        "utility.json",
        changed(utility=good["utility"] | {"kind": kinds}),
        r"utility\.kind\[0\]\[1\]: 'cubic'",
    )
    yield "unknown.json", changed(colour="red"), r"colour: unknown field"
    yield "version.json", changed(version=2), r"version: 2 is not supported"
    yield "problem.json", changed(problem="chess"), r"problem: 'chess' is not one of allocation"
    yield "cut.json", text[: len(text) // 2].encode(), r"not a complete JSON text"
    yield "binary.json", bytes(range(256)), r"cannot be read"
    yield "doubled.json", f'{text[:-1]}, "demand": []}}'.encode(), r"demand: the field stands twice"
    family = text.replace('"utility": {', '"utility": {"alpha": [[1]], ', 1)
    yield "doubled-within.json", family.encode(), r"alpha: the field stands twice"
    yield "huge.json", changed(arrivals=[[1, 0, 10**400]]), r"arrivals\[0\]\[2\]: a whole number beyond"
    yield "digits.json", text.replace("[[", f"[[{'9' * 5000}, ", 1).encode(), r"not a complete JSON text"
    yield "above.json", changed(overhead=[0.3, 1.0000001]), r"overhead\[1\]: 1\.0000001 is not .* at most 1"
    yield "list.json", b"[]", r"the file holds list, not one object"
    yield "cut.json.gz", gzip.compress(text.encode())[:-20], r"cannot be read"
    yield "plain.json.gz", text.encode(), r"cannot be read"
    (folder / "folder.json").mkdir()


def assert_refused(printed: Any, message: str) -> None:
    assert printed.status == 2
    assert printed.out == ""
    assert re.fullmatch(r"error: .*\n", printed.err), printed.err  # one line, no traceback
    assert re.search(message, printed.err), printed.err


def test_bad_files_are_refused_in_one_line_naming_field_index_and_value(run: Run, tmp_path: Path) -> None:
    for name, content, message in broken_files(tmp_path):
        (tmp_path / name).write_bytes(content)
        for arguments in (("solve", tmp_path / name, "--json"), ("play", tmp_path / name, "--policy", "drf")):
            assert_refused(run(*arguments), rf"{re.escape(name)}: {message}")
    assert_refused(run("solve", tmp_path / "folder.json"), "folder.json: cannot be read")
    assert_refused(run("solve", tmp_path / "missing.json"), "missing.json: cannot be read")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("frobnicate", "No such command 'frobnicate'"),
        ("solve", "Missing argument 'FILE'.* --help"),
        ("solve FILE --frob", "No such option"),
        ("solve FILE --oracle delphi", "oracle: 'delphi' is not one of stationary, dynamic"),
        ("solve FILE --gap -1", "gap: -1.0 is not"),
        ("solve FILE --gap x", "Invalid value for '--gap'"),
        ("solve FILE --time-limit nan", "time_limit: nan is not"),
        ("solve FILE --method magic", "method: 'magic' is not one of"),
        ("solve FILE --oracle dynamic --method cvxpy", "method: oracle 'dynamic' takes no such option"),
        ("solve FILE --option gap", "--option gap: is not of the form KEY=VALUE"),
        ("solve FILE --option progress=1", "--option progress=1: progress is not given in this way"),
        ("solve FILE --option gap=1", "--option gap=1: gap is not given in this way"),
        ("generate allocation --option seed=1 --out OUT", "seed is not given in this way"),
        ("play FILE", "Missing option '--policy'"),
        ("play FILE --policy nobody", "policy: 'nobody' is not one of binpacking"),
        ("play FILE --policy perturbed-leader", "plays 'allocation-gang', not 'allocation'; there are bin"),
        ("play FILE --policy drf:", "setting '' is unknown"),
        ("play FILE --policy drf:quota=1", "setting 'quota' is unknown"),
        ("play FILE --policy binpacking:quota=7", r"quota: 7.0 is not in \(0, 1\]"),
        ("play FILE --policy drf --policy drf", "--policy drf is given twice"),
        ("play FILE --policy drf --no-optimum --time-limit 3", "--time-limit: without an optimum there is"),
        ("play FILE --policy drf --seeds 0", "Invalid value for '--seeds'"),
        ("play FILE --policy drf --seed -1", "Invalid value for '--seed'"),
        ("policies --problem chess", "problem: 'chess'"),
        ("oracles --problem chess", "problem: 'chess' is not one of allocation"),
        ("generate chess --out OUT", "problem: 'chess' is not one of allocation"),
        ("generate allocation", "Missing option '--out'"),
        ("generate allocation --size huge --out OUT", "size: 'huge' is not one of"),
        ("generate allocation --slots -1 --out OUT", "slots: -1 is not a whole number of at least 0"),
        ("generate allocation --density nan --out OUT", "density: nan is not a finite number"),
        ("generate allocation --utility cubic --out OUT", "utility: 'cubic' is not one of"),
        ("generate allocation --arrival-probability 1.5 --out OUT", "arrival_probability: 1.5 is not"),
        ("generate allocation --option colour=red --out OUT", "colour: generate 'allocation' takes no such"),
        ('generate allocation --option kinds=["CPU","XPU"] --out OUT', r"kinds\[1\]: 'XPU' is not one of"),
        ("generate allocation --option kinds=3 --out OUT", "kinds: 3 is not a list of names"),
        ("generate allocation --option filled=maybe --out OUT", "filled: 'maybe' is neither true nor false"),
        ("generate allocation --option counts=1 --out OUT", "counts: 1 is neither true nor false"),
        (
            "generate allocation --trace . --option exact=no --out OUT",
            "exact: 'no' is neither true nor false",
        ),
        ("generate allocation --slots 99999999999999 --out OUT", "not enough memory"),
        ("generate allocation --trace nowhere --out OUT", "nowhere"),
        ("generate allocation --trace nowhere --arrival-probability 0.5 --out OUT", "takes no such option"),
        ("worst-case FILE --policy drf --evaluations 0", "Invalid value for '--evaluations'"),
        ("worst-case FILE --policy ogasched-printed", "ogasched-printed decides infeasibly"),
        ("audit --quick --full --out FOLDER", "--quick and --full exclude each other"),
        ("audit --problem chess --out FOLDER", "'chess'"),
        ("audit --claim allocation/nonsense --out FOLDER", "'allocation/nonsense'"),
        ("completion tcsh", "Invalid value for"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: str, message: str, tiny: Path, run: Run, tmp_path: Path
) -> None:
    places = {"FILE": tiny, "OUT": tmp_path / "out.json", "FOLDER": tmp_path / "reports"}
    assert_refused(run(*(places.get(word, word) for word in arguments.split())), message)
    assert not (tmp_path / "out.json").exists()
    assert list(tmp_path.iterdir()) == []


def test_every_command_has_the_same_words_for_an_unknown_name(tiny: Path, run: Run, tmp_path: Path) -> None:
    names = ", ".join(problems())
    for command in ("policies --problem", "oracles --problem", "audit --problem", "generate"):
        out = [] if command.startswith(("policies", "oracles")) else ["--out", tmp_path / "out"]
        done = run(*command.split(), "chess", *out)
        assert (done.status, done.err) == (2, f"error: problem: 'chess' is not one of {names}\n")
    policies = ", ".join(sorted(cv.list_policies("allocation")))
    for command in ("play", "worst-case"):
        done = run(command, tiny, "--policy", "nobody")
        assert (done.status, done.err) == (2, f"error: policy: 'nobody' is not one of {policies}\n")
    oracles = ", ".join(cv.list_oracles("allocation"))
    done = run("solve", tiny, "--oracle", "nobody")
    assert (done.status, done.err) == (2, f"error: oracle: 'nobody' is not one of {oracles}\n")
    assert list(tmp_path.iterdir()) == []


def never(*_arguments: Any, **_options: Any) -> None:
    raise AssertionError("work was done although the output cannot be written")


@pytest.mark.parametrize("place", ["missing/x.json", "folder", "file/x.json", "x" * 300])
@pytest.mark.parametrize("work", ["generate", "solve", "worst-case"])
def test_an_output_that_cannot_be_written_is_refused_before_any_work(
    work: str, place: str, tiny: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("generate", "solve", "load"):
        monkeypatch.setattr(f"clairvoyant.api.{name}", never)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    arguments = {
        "generate": ("generate", "allocation"),
        "solve": ("solve", tiny),
        "worst-case": ("worst-case", tiny, "--policy", "drf"),
    }[work]
    assert_refused(run(*arguments, "--out", tmp_path / place), "cannot be written")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_report_folder_that_cannot_be_written_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert_refused(run("audit", "--quick", "--out", tmp_path / "file"), "file: cannot be made")
    (tmp_path / "index.html").mkdir()
    assert_refused(run("audit", "--quick", "--out", tmp_path), "index.html: cannot be written")


# Failed checks and bugs


def test_a_failed_check_has_status_1(tiny: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def infeasible(*_arguments: Any, **_options: Any) -> None:
        raise DecisionError("slot 3: infeasible decision:\ncapacity[0][1] exceeded by 2", [])

    monkeypatch.setattr("clairvoyant.online.play.play", infeasible)
    printed = run("play", tiny, "--policy", "drf", "--json")
    assert (printed.status, printed.out) == (1, "")
    assert printed.err == "failed: slot 3: infeasible decision: capacity[0][1] exceeded by 2\n"


def test_a_bug_keeps_its_traceback(tiny: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_arguments: Any, **_options: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("clairvoyant.api.solve", bug)
    printed = run("solve", tiny, "--json")
    assert (printed.status, printed.out) == (3, "")
    assert "Traceback" in printed.err
    assert "ZeroDivisionError: oops" in printed.err
    assert "this is a bug in clairvoyant" in printed.err


def test_a_long_value_is_quoted_in_part(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(cv.generate("allocation", size="tiny").to_dict() | {"utility": "x" * 10**5}))
    printed = run("solve", path)
    assert_refused(printed, r"x\.json: utility: 'xxx.* \.\.\. xxx.*' is not an object")
    assert len(printed.err) < 2100


def test_numbers_that_are_no_json_become_null_and_infinities_texts() -> None:
    value = {
        "nan": float("nan"),
        "inf": [np.float64("inf"), np.array([1.0, -np.inf])],
        "why": cv.WhyStopped.PROVED,
    }
    assert output.plain(value) == {"nan": None, "inf": ["inf", [1.0, "-inf"]], "why": "proved"}
    assert output.plain({"seen": frozenset("ba"), 3: Path("x")}) == {"seen": ["a", "b"], "3": "x"}


# Ctrl-C, and readers that go away


def interrupt(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def ctrl_c(*_arguments: Any, **_options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, ctrl_c)


def test_interrupted_generate_leaves_nothing_behind(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("generate", "allocation", "--size", "tiny", "--out", tmp_path / "x.json")
    for place in ("clairvoyant.api.generate", "os.replace"):
        with monkeypatch.context() as patch:
            interrupt(patch, place)
            printed = run(*arguments)
        assert (printed.status, printed.out) == (130, "")
        assert re.fullmatch(r"interrupted: .*x\.json was not written\n", printed.err)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", [True, False])
def test_a_decision_is_saved_before_its_certificate_is_made(
    kept: bool, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("clairvoyant.oracles.base.Optimum.save_certificate", slow)
    file, target, proof = tmp_path / "i.json", tmp_path / "d.json", tmp_path / "c.json"
    cv.generate("admission", size="tiny", seed=1).save(file)
    out = ["--out", target] if kept else []
    printed = run("solve", file, "--time-limit", 9, "--certificate", proof, *out, "--json")
    assert (printed.status, proof.exists(), target.exists()) == (130, False, kept)
    saved = f"the decision is in {target}" if kept else "nothing was saved"
    told = f"interrupted at 100% (making the certificate): {saved}; no certificate was written; "
    assert printed.err.splitlines()[-1].startswith(told)
    assert "--time-limit" not in printed.err
    assert printed.json["interrupted"] is True
    assert printed.json["value"] == pytest.approx(cv.solve(cv.load(file)).value)
    if kept:
        assert json.loads(target.read_text())["value"] == printed.json["value"]


def test_who_has_set_a_time_limit_is_not_told_to_set_one(
    tiny: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("clairvoyant.api.solve", slow)
    assert "with a shorter --time-limit you get" in run("solve", tiny, "--time-limit", 100).err


def test_a_part_that_begins_is_shown_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    report = output.Reporter()
    report(0.5, "searching")
    report.begins("making the certificate")
    assert capfd.readouterr().err == "100% making the certificate\n"


@pytest.mark.parametrize("json_too", [True, False])
def test_interrupted_solve_says_how_far_it_came(
    json_too: bool, tiny: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(_instance: Any, _oracle: str, *, progress: Callable[[float, str], None]) -> None:
        progress(0.5, "iteration 7, gap 1e-3")
        raise KeyboardInterrupt

    monkeypatch.setattr("clairvoyant.api.solve", slow)
    printed = run("solve", tiny, *(["--json"] if json_too else []))
    assert printed.status == 130
    assert printed.err.startswith("interrupted at 50% (iteration 7, gap 1e-3): nothing was saved; ")
    assert printed.err.endswith("; with --time-limit you get the incumbent\n")
    assert printed.err.count("\n") == 1
    if json_too:
        assert printed.json["interrupted"] is True
        assert printed.json["progress"] == {"fraction": 0.5, "note": "iteration 7, gap 1e-3"}
    else:
        assert printed.out == ""


def test_interrupted_worst_case_says_how_far_it_came(
    tiny: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, "clairvoyant.analysis.allocation.worst_case.worst_case")
    printed = run("worst-case", tiny, "--policy", "drf", "--json")
    assert printed.status == 130
    assert printed.json["interrupted"] is True


def test_interrupted_play_prints_what_it_has(tiny: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "clairvoyant.api.solve")
    printed = run("play", tiny, "--policy", "drf", "--json")
    assert printed.status == 130
    assert printed.err == "interrupted: finished and printed are the runs of no policy\n"
    assert (printed.json["policies"], printed.json["optimum"]) == ({}, None)
    assert run("play", tiny, "--policy", "drf").status == 130


def test_interrupted_audit_says_what_is_saved(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_audit(**_options: Any) -> None:
        raise Interrupted(3, 7, "claims")

    monkeypatch.setattr("clairvoyant.analysis.audit.run_audit", run_audit)
    printed = run("audit", "--out", tmp_path)
    assert (printed.status, printed.out) == (130, "")
    assert printed.err == "interrupted: saved: 3 of 7 claims; the same command goes on from there\n"


def test_an_interrupt_at_any_other_moment_ends_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "clairvoyant.api.load")
    printed = run("solve", "x.json")
    assert (printed.status, printed.out, printed.err.strip()) == (130, "", "interrupted")


@pytest.mark.parametrize("json_too", [True, False])
def test_ctrl_c_prints_the_runs_that_were_finished(json_too: bool, gangs: Path) -> None:
    flags = ["--json"] if json_too else []
    drawing, later = "perturbed-leader", "perturbed-leader:eps=0.5"
    arguments = ("play", gangs, "--policy", drawing, "--policy", later, "--seeds", 10**6)
    with started(*arguments, *flags) as process:
        read_until(process, f"{drawing}, seed 2:")  # three runs are finished
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    (said,) = (row for row in err.splitlines() if "interrupted" in row)
    finished = re.fullmatch(
        rf"interrupted: finished and printed are the runs of {drawing} \((\d+) of 1000000\)", said
    )
    assert finished is not None, err
    assert int(finished[1]) >= 3
    if json_too:
        data = json.loads(out)
        assert data["interrupted"] is True
        assert list(data["policies"]) == [drawing]
        scores = data["policies"][drawing]
        assert len(scores["per_seed"]) == int(finished[1])
        assert scores["regret"] == data["optimum"]["value"] - scores["total"]
    else:
        assert re.search(rf"^{drawing} +nothing", out, flags=re.MULTILINE)


def test_ctrl_c_during_an_audit_says_what_is_saved_and_the_same_command_goes_on(tmp_path: Path) -> None:
    arguments = ("audit", "--quick", "--out", tmp_path, "--workers", 1, "--json")
    with started(*arguments, begin=("-c", AT_ONCE)) as process:
        read_until(process, r" *\d+% [1-9]\d* of \d+ claims; ")  # one is finished
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    data = json.loads(out)
    assert data["interrupted"] is True
    assert 1 <= data["saved"] < data["total"]
    assert f"saved: {data['saved']} of {data['total']} claims" in err.splitlines()[-1]


def test_ctrl_c_that_a_library_made_another_exception_of_still_says_what_is_saved(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, checked = Claim.find, list[str]()

    def find(claim: Claim, context: Context) -> Finding:
        checked.append(claim.id)
        if len(checked) == 2:
            ctrl_c.came = True
            raise RuntimeError("callback failed")
        return first(claim, context)

    monkeypatch.setattr(Claim, "find", find)
    claims = ("--claim", "selection/rounding", "--claim", "selection/unbiased")
    printed = run("audit", "--quick", *claims, "--out", tmp_path, "--workers", 1, "--json")
    assert printed.status == 130
    assert printed.json == {"interrupted": True, "saved": 1, "total": 2}


def test_a_reader_who_goes_away_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with started("policies", "--json", stdout=writer) as process:
        os.close(writer)
        _, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (141, "")


def in_a_shell(rest: str) -> tuple[int, str, str]:
    """Return status, output and error output of a command line that a shell reads."""
    line = f'"{sys.executable}" -m clairvoyant {rest}'
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


LISTING = "oracles --problem selection"
"""What prints something and loads little."""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("what", [LISTING, f"{LISTING} --json", "--version", "--help", "solve --help"])
def test_output_that_cannot_be_written_is_told_in_one_line(what: str) -> None:
    failure = "failed: standard output: cannot be written: No space left on device\n"
    assert in_a_shell(f"{what} >/dev/full") == (1, "", failure)


def test_standard_files_that_are_closed_are_none() -> None:
    assert in_a_shell(f"{LISTING} >&-") == (0, "", "")
    assert in_a_shell("nonsense 2>&-") == (2, "", "")
    assert in_a_shell(f"{LISTING} --json >&- 2>&- <&-") == (0, "", "")
    assert json.loads(in_a_shell(f"{LISTING} --json 2>&- <&-")[1])


def test_errors_that_nobody_reads_end_with_their_status() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen([sys.executable, "-m", "clairvoyant", "nonsense"], stderr=writer) as process:
        os.close(writer)
    assert process.returncode == 2


@pytest.mark.parametrize("arguments", [["--help"], ["solve", "--help"]])
def test_the_reader_of_a_help_may_go_away(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with started(*arguments, stdout=writer) as process:
        os.close(writer)
        _, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (141, "")


def test_a_swallowed_ctrl_c_is_raised_again_but_not_while_it_is_dealt_with(
    capfd: pytest.CaptureFixture[str],
) -> None:
    caught = 0
    with Interruptible(), output.progress("solving") as report:
        try:
            try:
                signal.raise_signal(signal.SIGINT)
            except BaseException:  # noqa: BLE001 - what libraries do
                caught += 1
            report(0.5, "half")
        except KeyboardInterrupt:
            report(0.6, "what is finished is being saved")
            caught += 1
    assert caught == 2
    assert (report.fraction, report.note) == (0.6, "what is finished is being saved")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert capfd.readouterr().err == ""


# On a terminal


def test_on_a_terminal_a_bar_moves(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(output, "DRAW_EVERY", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with output.progress("solving") as report:
        report(0.5, "half [done]")
        report.finished("one part")
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "solving" in printed.err
    assert "half [done]" in printed.err
    assert "one part" not in printed.err


def test_elsewhere_lines_are_printed_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "LINE_EVERY", 0.0)
    with output.progress("solving") as report:
        report(0.5, "half")
    assert capfd.readouterr().err == " 50% half\n"


@pytest.mark.parametrize(("minimised", "beyond"), [(False, ["more"]), (True, ["less"])])
def test_who_is_beyond_the_bound_by_feasible_decisions_is_named(minimised: bool, beyond: list[str]) -> None:
    def run(total: float, infeasible: int = 0) -> Played:
        return Played("policy", 0, "digest", np.array([total]), infeasible)

    runs = {"more": [run(1.0), run(2.1)], "same": [run(2.0)], "less": [run(1.9)], "none": [run(9.0, 1)]}
    runs |= {"under": [run(-9.0, 1)]}
    if minimised:
        runs["more"] = [run(2.1)]
    optimum = Optimum(2.0, 2.0, None, WhyStopped.PROVED, "program", 0.0, minimised=minimised)
    assert _beyond(runs, optimum) == beyond
    assert _beyond(runs, replace(optimum, bound=None)) == []


@pytest.mark.parametrize(
    ("said", "told"), [((), "not enough memory"), (("8 GiB",), "not enough memory: 8 GiB")]
)
def test_what_memory_lacks_is_told_where_python_says_it(
    said: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands._status_of(MemoryError(*said)) == BAD_INPUT
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"error: {told}")
