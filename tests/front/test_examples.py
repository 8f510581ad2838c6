"""The examples, installed as a stranger would: built, put into a folder of their own, and used from there."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/pyproject.toml"))
POLICIES = {"job-assignment": ("greedy", "prices"), "one-way-trading": ("threshold", "reservation")}
STORE = "kept.jsonl"
LONGEST = 350


# What takes long to load is there already, and nothing of what a command finds out by itself.
SESSION = """
import json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
import highspy, matplotlib.backends.backend_svg, matplotlib.pyplot, scipy.stats
from clairvoyant.cli.commands import main

for line in sys.stdin:
    if os.fork():
        os.wait()
        continue
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as log:
        status = main(json.loads(line))
    print(json.dumps([status, out.getvalue(), log.getvalue()]), flush=True)
    os._exit(0)
"""


class Stranger:
    """Somebody with a folder of packages beside the installed ones."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"
        path = os.pathsep.join(map(str, (self.site, ROOT / "src")))
        self._environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}

    def run(self, *words: str | Path) -> str:
        """Run Python with arguments and return what it prints; what it logs stands in ``log``."""
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        self.log = done.stderr
        return done.stdout

    @contextmanager
    def session(self, more: Path) -> Iterator[None]:
        """Have a process that runs commands of ours in forks of itself, with one more folder of packages."""
        path = os.pathsep.join([str(more), self._environment["PYTHONPATH"]])
        with subprocess.Popen(
            [sys.executable, "-c", SESSION],
            cwd=self.folder,
            env=self._environment | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as self._session:
            yield

    def print(self, *words: str | Path) -> str:
        """Run a command of ours in the session and return what it prints."""
        assert self._session.stdin is not None
        assert self._session.stdout is not None
        self._session.stdin.write(json.dumps([*map(str, words)]) + "\n")
        self._session.stdin.flush()
        status, printed, log = json.loads(self._session.stdout.readline())
        assert status == 0, printed + log
        return str(printed)

    def tell(self, *words: str | Path) -> dict[str, Any]:
        """Run a command of ours and return the one JSON object that it prints."""
        told: dict[str, Any] = json.loads(self.print(*words, "--json"))
        return told


MUTE = """
from dataclasses import replace
import one_way_trading

PROBLEM = replace(one_way_trading.PROBLEM, name="mute-trading", claims=())

class MuteTrading(one_way_trading.OneWayTrading):
    problem = "mute-trading"

def generate(size="default", seed=0):
    return MuteTrading.from_dict(one_way_trading.generate(size, seed).to_dict())

class Mute(one_way_trading.Threshold):
    traits = replace(one_way_trading.Threshold.traits, problem="mute-trading")

PROBLEM = replace(PROBLEM, instance=MuteTrading, generate=generate, policies={"threshold": Mute})
"""


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stranger]:
    """Build every example from a copy, offline, and install it without touching this environment."""
    folder = tmp_path_factory.mktemp("stranger")
    one = Stranger(folder)
    copies = [shutil.copytree(example, folder / "source" / example.name) for example in EXAMPLES]
    offline = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    one.run("-m", "pip", "install", *offline, "--target", one.site, *copies)
    mute = folder / "mute"
    (mute / "mute-1.0.dist-info").mkdir(parents=True)
    (mute / "mute_trading.py").write_text(MUTE, encoding="utf-8")
    (mute / "mute-1.0.dist-info" / "METADATA").write_text("Name: mute\nVersion: 1.0\n", encoding="utf-8")
    points = "[clairvoyant.problems]\nmute-trading = mute_trading:PROBLEM\n"
    (mute / "mute-1.0.dist-info" / "entry_points.txt").write_text(points, encoding="utf-8")
    with one.session(mute):
        yield one


@pytest.fixture(scope="module", params=POLICIES)
def problem(request: pytest.FixtureRequest, stranger: Stranger) -> str:
    """One of their problems, with an instance in a file of its name."""
    name: str = request.param
    stranger.print("generate", name, "--size", "tiny", "--seed", "1", "--out", f"{name}.json")
    return name


@pytest.fixture(scope="module")
def audited(stranger: Stranger) -> dict[str, Any]:
    """What the audit of their problems tells, in one process for all of them."""
    chosen = [word for name in (*POLICIES, "mute-trading") for word in ("--problem", name)]
    told = stranger.tell("audit", *chosen, "--quick", "--workers", "1", "--out", "report", "--store", STORE)
    assert told["passed"]
    return told


def test_an_example_is_small_and_none_of_ours_names_it() -> None:
    names = {path.name for path in EXAMPLES}
    assert names == {"job_assignment", "one_way_trading"}
    for example in EXAMPLES:
        lines = sum(len(path.read_text("utf-8").splitlines()) for path in example.rglob("*.py"))
        assert lines < LONGEST, example
    ours = (path for layer in ("src", "models", "oracles", "online", "analysis") for path in layered(layer))
    assert [path for path in ours if any(name in path.read_text("utf-8") for name in names)] == []


def layered(layer: str) -> list[Path]:
    """The modules of a layer."""
    return sorted((ROOT / layer).rglob("*.py"))


@pytest.mark.slow
def test_what_a_stranger_brings_is_generated_solved_and_played(stranger: Stranger, problem: str) -> None:
    file, players = f"{problem}.json", POLICIES[problem]
    optimum = stranger.tell("solve", file)
    assert optimum["problem"] == problem
    assert optimum["oracle"] == "program"
    assert optimum["bound"] >= optimum["value"] > 0
    assert optimum["gap"] <= 1e-6
    chosen = [word for player in players for word in ("--policy", player)]
    played = stranger.tell("play", file, *chosen)["policies"]
    assert set(played) == set(players)
    for scores in played.values():
        assert 0 < scores["total"] <= optimum["bound"]
        if "ratio" in scores:
            assert scores["ratio"] == pytest.approx(optimum["value"] / scores["total"])
        else:
            assert scores["regret"] == pytest.approx(optimum["value"] - scores["total"])
    listed = stranger.tell("policies", "--problem", problem)["policies"]
    assert {row["name"] for row in listed} == set(players)
    assert any(row["proven"] for row in listed)
    (oracle,) = stranger.tell("oracles", "--problem", problem)["oracles"]
    assert "multipliers of the solver prove" in oracle["guarantee"]


@pytest.mark.slow
def test_the_audit_has_their_claims_and_keeps_a_counterexample(
    stranger: Stranger, problem: str, audited: dict[str, Any]
) -> None:
    claims = [claim for claim in audited["claims"] if claim["id"].startswith(f"{problem}/")]
    assert claims
    assert all(claim["as_expected"] for claim in claims)
    assert problem in (stranger.folder / "report" / "index.html").read_text("utf-8")
    refuted = [claim for claim in claims if claim["verdict"] != "holds"]
    counterexamples = list((stranger.folder / "report" / "counterexamples" / problem).rglob("*.json*"))
    assert len(counterexamples) == len(refuted)
    for kept in counterexamples:
        scores = stranger.tell("play", kept, "--policy", POLICIES[problem][0])["policies"]
        assert scores[POLICIES[problem][0]]["optimum"] >= 100 * scores[POLICIES[problem][0]]["total"]


@pytest.mark.slow
def test_a_problem_without_claims_has_a_section_of_its_own(
    stranger: Stranger, audited: dict[str, Any]
) -> None:
    found = {claim["id"]: claim["verdict"] for claim in audited["claims"] if "mute-trading/" in claim["id"]}
    assert found == dict.fromkeys(
        ("mute-trading/oracles", "mute-trading/contract", "mute-trading/bound"), "holds"
    )
    page = (stranger.folder / "report" / "mute-trading.html").read_text("utf-8")
    assert 'id="mute-trading--bound"' in page


@pytest.mark.slow
def test_they_are_warmed_up_whatever_methods_their_programs_take(stranger: Stranger) -> None:
    use = "from clairvoyant._warmup import exercise, rooms\n"
    warm = f"{use}for room in rooms()[:2]: exercise(room); print(room)"
    assert stranger.run("-c", warm).split() == ["one", "job"]


@pytest.mark.slow
def test_their_own_tests_pass_and_what_is_not_checked_is_said(stranger: Stranger) -> None:
    tests = [stranger.folder / "source" / example.name / "tests" for example in EXAMPLES]
    script = (
        "import sys, pytest\n"
        "if pytest.main(['-q', '-p', 'no:cacheprovider', '--rootdir', *sys.argv[1:]]): sys.exit(1)\n"
        "print('passed')\n"
        "from clairvoyant import list_policies\n"
        "from clairvoyant.testing import check_policy\n"
        f"for problem in {list(POLICIES)}:\n"
        "    listed = list_policies(problem)\n"
        "    check_policy(next(iter(listed.values())))\n"  # their own tests check all of them
        "    print(problem, *listed)\n"
    )
    printed = stranger.run("-W", "always", "-c", script, stranger.folder, *tests).partition("passed\n")[2]
    assert printed.splitlines() == [" ".join([name, *listed]) for name, listed in POLICIES.items()]
    for name in POLICIES:
        assert f"UncheckedWarning: {name}: degenerate_instances does not check all" in stranger.log
        assert f"{name}: no_peeking" not in stranger.log


# The tutorial that builds the second one.

TUTORIAL = "docs/your-own-problem.md"
Pages = Callable[[str], Any]  # of tests/front/conftest.py


def test_the_tutorial_shows_the_whole_example(page: Pages) -> None:
    tutorial = page(TUTORIAL)
    example = ROOT / "examples" / "one_way_trading"
    module = "".join((example / "one_way_trading.py").read_text("utf-8").split())
    shown = [
        "".join(block.split()) for block in tutorial.blocks("python")
    ]  # methods stand there without indentation
    assert [block for block in shown if module.count(block) != 1] == []
    assert sum(map(len, shown)) == len(module)
    assert tutorial.blocks("toml") == [(example / "pyproject.toml").read_text("utf-8")]


@pytest.mark.slow
@pytest.mark.usefixtures("audited")
def test_the_commands_of_the_tutorial_run(page: Pages, stranger: Stranger) -> None:
    install, *others = page(TUTORIAL).commands()
    assert (ROOT / install[-1] / "pyproject.toml").exists()
    for program, *words in others:
        assert program == "clairvoyant"
        kept = ("--store", STORE) if words[0] == "audit" else ()  # what is known need not be found anew
        assert "one-way-trading" in stranger.print(*words, *kept)
