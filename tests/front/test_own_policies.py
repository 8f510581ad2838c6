"""Policies of one's own: found by module or file, played, checked, and made from a template."""

import ast
import importlib
import json
import os
import shutil
import subprocess
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clairvoyant as cv
from clairvoyant import api, locating, sweeping, templates, testing
from clairvoyant.analysis.engine import cells, identity
from clairvoyant.analysis.engine.cells import Answer, State
from clairvoyant.problems import OURS, Problem, find
from clairvoyant.testing import CHECKS, UncheckedWarning, check_policy

Run = Callable[..., Any]  # of tests/front/conftest.py
pytest_plugins = "pytester"

MINE = """
from dataclasses import dataclass, field
from typing import ClassVar

import clairvoyant as cv


@dataclass
class Mine:
    share: float = 0.5
    name: str = field(default="mine", init=False)
    traits: ClassVar[cv.Traits] = cv.Traits(problem="allocation")

    def start(self, setting, rng):
        self.decision = self.share * setting.project(setting.edge_demand)

    def decide(self, observation):
        return self.decision


class Fails(Mine):
    def decide(self, observation):
        return 1 / 0


class Forgets(Mine):
    def start(self, setting):
        pass


class Leaves(Mine):
    def decide(self, observation):
        raise SystemExit(0)


class Narrow(Mine):
    def decide(self, observation):
        self.asked = getattr(self, "asked", 0) + 1
        return self.decision if self.asked < 3 else self.decision[:1]


class Greedy(Mine):
    def decide(self, observation):
        return 1000.0 + self.decision


class Borrowed(Mine):
    decide = None


class Worded(Mine):
    traits = "allocation"


class Boasts(Mine):
    traits = cv.Traits(problem="allocation", guarantee="the best there is")


class Picky(Mine):
    def __init__(self):
        raise ValueError("not today")


class Stops(Mine):
    def __init__(self):
        raise SystemExit(0)


class Hides(Mine):
    @property
    def name(self):
        raise SystemExit(0)


class Fixed(Mine):
    name = property(lambda self: "fixed")


class Nothing:
    pass
"""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with files of policies, in which one works; what is imported from it is forgotten."""
    known = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(locating, "_loaded", {})
    (tmp_path / "mine_for_tests.py").write_text(MINE)
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "broken_one.py").write_text("import os\nvalue = undefined\n")
    (tmp_path / "away" / "no_python.py").write_text("def f(:\n")
    (tmp_path / "away" / "json.py").write_text(MINE)
    (tmp_path / "away" / "lacks.py").write_text("import no_such_library\n")
    cv.generate("allocation", "tiny", 1).save("x.json")
    yield tmp_path
    for name in {*sys.modules} - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a.b:C", ("a.b", "C", None)),
        ("a/b c.py:C", ("a/b c.py", "C", None)),
        ("C:\\x\\a.py:D:e=1,f=a.py:b", ("C:\\x\\a.py", "D", "e=1,f=a.py:b")),
        ("a:B:", ("a", "B", "")),
        ("ogasched", None),
        ("ogasched:step=decay", None),
        ("placement/drf", None),
    ],
)
def test_what_is_a_class_and_what_a_name(text: str, wanted: Any) -> None:
    assert locating.own(text) == wanted


def test_a_class_is_found_by_its_module_and_by_its_file(there: Path) -> None:
    instance, total, path = cv.load("x.json"), {}, sys.path.copy()
    for text in (
        "mine_for_tests:Mine",
        "mine_for_tests.py:Mine",
        f"{there}/mine_for_tests.py:Mine:share=0.25",
    ):
        policy = cv.make_policy(text, "allocation")
        assert policy.name == text
        total[text] = cv.play(policy, instance).total
        assert cv.play(text, instance).total == total[text]
    assert sys.path[: len(path)] == path  # what is looked in besides hides nothing
    first, second, third = total.values()
    assert cv.play("mine_for_tests.py:Mine", instance, isolated=True).total == second
    assert first == second != third
    assert cv.make_policy("mine_for_tests:Fixed").name == "fixed"
    assert cv.make_policy("ogasched:eta0=5").eta0 == 5  # names come first


def test_a_run_is_known_by_the_source_of_its_policy_and_of_what_that_imports(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def source() -> object:
        policy = cv.make_policy("mine_for_tests.py:Mine", "allocation")
        return identity.parts_of_run(policy, 0, cv.AllocationInstance)["source"]

    monkeypatch.setitem(sys.modules, "by_hand_for_tests", types.ModuleType("by_hand_for_tests"))

    def write(rate: str, more: str = "") -> object:
        (there / "rate_for_tests.py").write_text(f"RATE = {rate}\n")
        (there / "mine_for_tests.py").write_text(
            f"import rate_for_tests, by_hand_for_tests, numpy\n{MINE}\n{more}"
        )
        return source()

    found = [write("0.5"), write("0.5"), write("0.25"), write("0.25", "# changed\n")]
    assert found[0] == found[1]
    assert len({*found}) == 3


def test_a_module_may_be_called_as_one_of_pythons(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script finds what lies beside it first."""
    monkeypatch.syspath_prepend(there)
    monkeypatch.delitem(sys.modules, "sched", raising=False)
    late = "import importlib as i\ndef late():\n    return i.import_module('late_for_tests').X\n"
    (there / "uses_for_tests.py").write_text(f"import json, os.path, math, sys, sched\n{late}")
    (there / "late_for_tests.py").write_text("X = 1\n")
    sources = []
    for rate in (0.5, 0.25):
        (there / "sched.py").write_text(f"RATE = {rate}\n")
        sys.modules.pop("uses_for_tests", None)
        importlib.import_module("uses_for_tests")
        sources.append(cells.sources_of_module("uses_for_tests"))
    assert sources[0].keys() == sources[1].keys() == {"uses_for_tests", "sched", "late_for_tests"}
    assert sources[0]["sched"] != sources[1]["sched"]


@pytest.mark.parametrize("when", ["before", "while it is played", "before, and put back meanwhile"])
def test_a_run_of_other_source_than_its_key_is_of_is_no_answer(when: str, there: Path) -> None:
    text = "import rate_for_tests\n" + MINE.replace(
        "        self.decision", "        CHANGE\n        self.decision"
    )
    rate = 0.5 if "back" in when else 0.125
    change = f"__import__('pathlib').Path('rate_for_tests.py').write_text('RATE = {rate}\\n')"
    (there / "rate_for_tests.py").write_text("RATE = 0.5\n")
    (there / "mine_for_tests.py").write_text(text.replace("CHANGE", change if when != "before" else "pass"))
    plan = {"problem": "allocation", "files": ["x.json"], "policies": ["mine_for_tests.py:Mine"]}
    made = sweeping.Plan.read({"sweep": [plan]}).made()
    answers = {one.key: Answer(State.DONE, {"digest": cv.load("x.json").digest()}) for _, one in made}
    (cell,) = sweeping._cells(made, answers)
    if when != "while it is played":
        (there / "rate_for_tests.py").write_text("RATE = 0.25\n")
    with pytest.raises(cells.ChangedError, match=r"^mine_for_tests: its source, or that of what it imports"):
        sweeping.played(cell.arguments, lambda _part: None)
    (there / "rate_for_tests.py").write_text("RATE = 0.5\n")
    (there / "mine_for_tests.py").write_text(text.replace("CHANGE", "pass"))
    if when == "before":
        assert sweeping.played(cell.arguments, lambda _part: None)["infeasible"] == 0


def test_what_has_changed_since_it_was_loaded_is_played_as_it_is_now(there: Path) -> None:
    (there / "rate_for_tests.py").write_text("RATE = 0.5\n")
    text = MINE.replace("= 0.5", "= RATE")
    (there / "mine_for_tests.py").write_text(f"from rate_for_tests import RATE\n{text}")
    assert cv.make_policy("mine_for_tests.py:Mine").share == 0.5
    kind = type(cv.make_policy("mine_for_tests.py:Mine"))
    assert type(cv.make_policy("mine_for_tests.py:Mine")) is kind  # nothing has changed
    (there / "rate_for_tests.py").write_text("RATE = 0.125\n")
    assert cv.make_policy("mine_for_tests.py:Mine").share == 0.125


HELD = (
    *("number", "generator", "method", "table", "objects", "masked", "compiled", "pattern", "module"),
    *("partial", "layer"),
)


def test_what_a_class_of_ones_own_holds_is_told_alike_by_every_process(there: Path) -> None:
    """Neither where objects lie nor the order of sets, which differ from one process to another, is told.

    But all that is in them: a number in the middle of a table, or of a layer, is not written by ``repr``.
    """
    pytest.importorskip("torch")
    (there / "holder_for_tests.py").write_text(HOLDER)
    keys = f"[h.told(many, of) for of in {HELD} for many in (3, 4)]"
    command = [sys.executable, "-c", f"import holder_for_tests as h; print(*{keys})"]
    folders = os.pathsep.join([str(there), *sys.path])
    found = [
        subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": folders},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert len({*found[0]}) == 2 * len(HELD)


HOLDER = """
import functools
import math
import re
from dataclasses import dataclass

import numba
import numpy as np
import pandas as pd

from clairvoyant.analysis.engine.cells import key_of
from clairvoyant.analysis.engine.identity import settings_of


class Inside:
    def __init__(self, many, of):
        self.of, self.self = {"names": {"a", "b", "c", "d", "e"}}, [self]
        self.add = lambda more: more + many
        self.held = HELD[of](many)

    def method(self):
        pass


@dataclass
class Pair:
    inside: Inside


class Mine:
    name = "mine"

    def __init__(self, many, of):
        self.pair = Pair(Inside(3, of))  # of which all differs by what it holds alone
        self.pair.inside.held = HELD[of](many)


def table(many):
    return pd.DataFrame({"a": np.arange(200.0) + many * (np.arange(200) == 100), "b": ["x"] * 200})


def layer(many):
    import torch

    made = torch.nn.Linear(40, 40)
    torch.nn.init.zeros_(made.bias)
    torch.nn.init.constant_(made.weight, 1.0)
    made.weight.data[20, 20] = many
    return made


HELD = {
    "number": lambda many: many,
    "generator": np.random.default_rng,
    "method": lambda many: Inside(many, "number").method,
    "table": table,
    "objects": lambda many: np.array([many, "x", None], dtype=object),
    "masked": lambda many: np.ma.masked_array(np.zeros(5), mask=np.arange(5) == many),
    "compiled": lambda many: numba.njit(lambda x: x + many),
    "pattern": lambda many: re.compile(f"a{many}"),
    "module": lambda many: {3: math, 4: re}[many],
    "partial": lambda many: functools.partial(max, many),
    "layer": layer,
}


def told(many, of):
    return key_of(settings=settings_of(Mine(many, of)))
"""


def test_what_no_other_process_can_tell_is_refused_by_its_name(there: Path) -> None:
    (there / "locked_for_tests.py").write_text(
        MINE.replace("    def start", "    def __post_init__(self):\n        pass\n\n    def start").replace(
            "share: float = 0.5", "share: object = __import__('threading').Lock()"
        )
    )
    policy = cv.make_policy("locked_for_tests.py:Mine", "allocation")
    with pytest.raises(cv.InputError, match=r"policy: locked_for_tests.py:Mine: share: lock cannot be told"):
        identity.settings_of(policy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ogasch:Mine", "'ogasch' is neither a policy nor a module; did you mean 'ogasched'?"),
        ("mine_for_tests.py", "policy: 'mine_for_tests.py' names no class; write mine_for_tests.py:Class"),
        ("mine_for_tests:Mini", "mine_for_tests has no class 'Mini'; did you mean 'Mine'?"),
        ("away/nowhere.py:Mine", "away/nowhere.py: cannot be read: No such file or directory"),
        ("away/broken_one.py:Mine", "broken_one.py, line 2, in <module>: NameError: name 'undefined' is not"),
        ("away/no_python.py:Mine", "no_python.py, line 1: SyntaxError: invalid syntax"),
        (
            "away/lacks.py:Mine",
            "lacks.py, line 1, in <module>: ModuleNotFoundError: No module named 'no_such",
        ),
        ("away/json.py:Mine", "away/json.py: the name of the file is also that of "),
        ("mine_for_tests:Mine:shore=1", "policy Mine: setting 'shore' is unknown; its settings are: share"),
        ("mine_for_tests:Mine:share=x", "policy Mine: share: 'x' is not a number"),
        ("mine_for_tests:Picky", "policy Picky: "),
        ("mine_for_tests:Nothing", "policy: Nothing has no member 'name'"),
        ("mine_for_tests:Borrowed", "policy: Borrowed.decide is no method but None"),
        ("mine_for_tests:Stops", "in __init__: SystemExit: 0"),
        ("mine_for_tests:Hides", "in name: SystemExit: 0"),
        ("mine_for_tests:Worded", "policy: traits of Worded: 'allocation' is no Traits"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(text: str, message: str, run: Run) -> None:
    printed = run("play", "x.json", "--policy", text)
    assert (printed.status, printed.out) == (2, "")
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert message in printed.err


def test_a_module_beside_a_file_is_not_taken_from_elsewhere(run: Run, there: Path) -> None:
    """Two files from two folders, each with a module of the same name beside it; and one named as NumPy."""
    for folder, share in (("one_side", "0.0"), ("other_side", "0.01")):
        (there / folder).mkdir()
        (there / folder / "beside_for_tests.py").write_text(f"SHARE = {share}\n")
        mine = f"from beside_for_tests import SHARE\n{MINE}"
        (there / folder / f"{folder}_for_tests.py").write_text(mine)
    assert cv.make_policy("one_side/one_side_for_tests.py:Mine", "allocation").traits.problem == "allocation"
    printed = run("play", "x.json", "--policy", "other_side/other_side_for_tests.py:Mine")
    assert (printed.status, printed.out) == (2, "")
    first = there / "one_side" / "beside_for_tests.py"
    told = f"imports 'beside_for_tests', which is {first}, and not beside_for_tests.py beside it"
    assert told in printed.err
    (there / "third_side").mkdir()
    (there / "third_side" / "numpy.py").write_text("")
    (there / "third_side" / "third_side_for_tests.py").write_text(f"import numpy\n{MINE}")
    assert "and not numpy.py beside it" in run("play", "x.json", "--policy", f"{THIRD}:Mine").err


@pytest.mark.parametrize("package", [True, False])
def test_a_folder_beside_a_file_is_not_taken_from_elsewhere(package: bool, there: Path) -> None:
    """Neither a package nor a folder without an ``__init__.py``, nor what a module of it imports."""
    name = f"folder_{package}_for_tests".lower()
    for folder in ("a_side", "b_side"):
        inner = there / folder / name
        inner.mkdir(parents=True, exist_ok=True)
        if package:
            (inner / "__init__.py").write_text("")
        (inner / "inner.py").write_text(f"from deep_{name} import SHARE\n")
        (there / folder / f"deep_{name}.py").write_text("SHARE = 0.5\n")
        (there / folder / f"{folder}_{name}.py").write_text(f"from {name}.inner import SHARE\n{MINE}")
    assert cv.make_policy(f"a_side/a_side_{name}.py:Mine", "allocation").share == 0.5
    with pytest.raises(
        cv.InputError, match=rf"imports '{name}', which is .*a_side/{name}, and not {name} beside"
    ):
        cv.make_policy(f"b_side/b_side_{name}.py:Mine", "allocation")
    shutil.rmtree(there / "b_side" / name)
    (there / "c_side" / f"{name}_c").mkdir(parents=True)
    (there / "c_side" / f"{name}_c" / "inner.py").write_text(f"from deep_{name} import SHARE\n")
    (there / "c_side" / f"deep_{name}.py").write_text("SHARE = 0.25\n")
    (there / "c_side" / f"c_side_{name}.py").write_text(f"from {name}_c.inner import SHARE\n{MINE}")
    with pytest.raises(cv.InputError, match=rf"imports 'deep_{name}', which is .*a_side"):
        cv.make_policy(f"c_side/c_side_{name}.py:Mine", "allocation")


THIRD = "third_side/third_side_for_tests.py"


def test_an_error_of_the_policy_is_told_with_its_place_and_is_no_bug_of_ours(run: Run, there: Path) -> None:
    printed = run("play", "x.json", "--policy", "mine_for_tests:Fails", "--no-optimum")
    line = MINE.splitlines().index("        return 1 / 0") + 1
    place = f"{there}/mine_for_tests.py, line {line}, in decide"
    assert printed.status == 1
    assert printed.err.splitlines() == [f"failed: {place}: ZeroDivisionError: division by zero"]
    checks = run("check", "mine_for_tests:Fails", "--json").json["checks"]
    (row,) = (one for one in checks if one["check"] == "reproducible")
    assert not row["passed"]
    assert f"start() or decide() does not expect such an instance ({place})" in row["reason"]


@pytest.mark.parametrize(
    ("kind", "of", "told"),
    [
        ("Forgets", "start()", "TypeError: Forgets.start() takes 2 positional arguments but 3 were given"),
        ("Leaves", "decide() at event 0", "ends the process: SystemExit(0)"),
    ],
)
def test_who_forgets_an_argument_or_leaves_is_told_and_no_bug_of_ours(
    kind: str, of: str, told: str, run: Run
) -> None:
    printed = run("play", "x.json", "--policy", f"mine_for_tests:{kind}", "--no-optimum")
    assert printed.status == 1
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert line.startswith(f"failed: mine_for_tests:{kind}: {of}")
    assert line.endswith(told)
    printed = run("check", f"mine_for_tests:{kind}")
    assert printed.status == 1
    assert "checks failed" in printed.out


@pytest.mark.parametrize(
    ("kind", "status", "told"),
    [
        ("Narrow", 2, "error: mine_for_tests:Narrow: event 2: decision: shape "),
        ("Greedy", 1, "failed: mine_for_tests:Greedy: event 0: slot 0: infeasible decision: "),
    ],
)
def test_a_decision_that_does_not_fit_is_told_with_policy_and_event(
    kind: str, status: int, told: str, run: Run
) -> None:
    options = ("--policy", "drf", "--policy", f"mine_for_tests:{kind}", "--no-optimum")
    printed = run("play", "x.json", *options)
    assert (printed.status, printed.out) == (status, "")
    assert printed.err.splitlines()[-1].startswith(told)


def test_a_comparison_tells_type_and_place_of_an_error(run: Run, there: Path) -> None:
    options = ("--policy", "mine_for_tests:Fails", "--policy", "drf", "--no-optimum", "--workers", "1")
    printed = run("compare", "x.json", *options)
    line = MINE.splitlines().index("        return 1 / 0") + 1
    place = f"{there}/mine_for_tests.py, line {line}, in decide"
    assert printed.status == 1
    assert printed.err.splitlines()[-1] == (
        f"failed: mine_for_tests:Fails on x.json: {place}: ZeroDivisionError: division by zero"
    )


def test_the_file_of_runs_holds_every_reward(run: Run) -> None:
    arguments = ("play", "x.json", "--policy", "mine_for_tests:Mine", "--policy", "drf")
    printed = run(*arguments, "--json", "--out", "runs.json").json
    kept = json.loads(Path("runs.json").read_text())
    for spec, scores in kept["policies"].items():
        (rewards,) = scores.pop("rewards")
        assert sum(rewards) == pytest.approx(scores["total"])
        np.testing.assert_allclose(rewards, cv.play(spec, cv.load("x.json")).rewards)
    assert kept == printed
    for name, message in (("runs.txt", "runs end in .json, .csv or .parquet"), ("x.json", "it is read")):
        refused = run(*arguments, "--out", name)
        assert (refused.status, refused.out) == (2, "")
        assert message in refused.err


def test_check_prints_a_line_for_every_check(run: Run) -> None:
    printed = run("check", "mine_for_tests:Boasts")
    assert printed.status == 1
    verdicts = [line.split()[:2] for line in printed.out.splitlines() if line[:1].isalpha()][:-1]
    wanted = {check.__name__: "pass" for check in CHECKS} | {"declared_traits": "FAIL:"}
    assert dict(verdicts) == wanted
    assert "a guarantee without a place where it is proven" in " ".join(printed.out.split())
    assert printed.out.endswith("mine_for_tests:Boasts: 1 of 12 checks failed\n")
    printed = run("check", "mine_for_tests:Nothing")
    assert printed.status == 1
    assert printed.out.startswith("members  FAIL: Nothing has no traits.")
    for arguments, message in (
        (("mine_for_tests:Mine", "--problem", "placement"), "plays 'allocation', not 'placement'"),
        (("mine_for_tests:Mini",), "has no class"),
        (("drf",), "'drf' is allocation/drf or admission/drf"),
    ):
        refused = run("check", *arguments)
        assert (refused.status, refused.out) == (2, "")
        assert message in refused.err


def test_what_is_checked_in_part_or_interrupted_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_part() -> None:
        warnings.warn("no_peeking does not check all", UncheckedWarning, stacklevel=2)

    def interrupted() -> None:
        raise KeyboardInterrupt

    for check, status in ((in_part, 0), (interrupted, 130)):
        monkeypatch.setattr(testing, "policy_checks", lambda _, check=check: [("no_peeking", check)])
        printed = run("check", "mine_for_tests:Mine")
        assert printed.status == status
        if status == 0:
            assert printed.out.startswith("no_peeking  pass in part: no_peeking does not check all")
        else:
            assert printed.out == ""
            assert "interrupted at 0% (no_peeking): nothing was saved" in printed.err


def test_the_tests_of_a_bad_policy_fail_where_it_is_bad(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_them=f"""{MINE}
from clairvoyant.testing import parametrize_with_checks

few = [cv.generate("allocation", "tiny", 1)]


@parametrize_with_checks(Mine, Boasts, Picky, Fixed(), instances=few)
def test_them(check):
    check()
"""
    )
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly", "-rA", "-q")
    found = {
        line.split("[")[1].split("]")[0]: line.split()[0]
        for line in done.outlines
        if line.startswith(("PASSED", "FAILED"))
    }
    names = [check.__name__ for check in CHECKS]
    bad = {"Boasts-declared_traits", *(f"Picky-{name}" for name in names)}
    assert list(found) == [] or set(found) == {
        f"{who}-{name}" for who in ("Mine", "Boasts", "Picky", "fixed") for name in names
    }
    assert {name for name, verdict in found.items() if verdict == "FAILED"} == bad
    done.assert_outcomes(passed=len(found) - len(bad), failed=len(bad))


def test_the_plug_in_makes_a_test_of_every_check(pytester: pytest.Pytester) -> None:
    Path("mine_for_tests.py").write_text(MINE)  # pytester has moved to a folder of its own
    plugin = ("-p", "clairvoyant.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:randomly")
    wanted = ("--clairvoyant-policy", "mine_for_tests.py:Mine:share=0.25")
    others = ("--clairvoyant-policy", "mine_for_tests:Fails")
    listed = pytester.runpytest_inprocess(*plugin, *wanted, "--collect-only", "-q").outlines
    assert f"{len(CHECKS)} tests collected" in listed[-1]
    names = [check.__name__ for check in CHECKS]
    assert listed[: len(names)] == [f"mine_for_tests.py:Mine:share=0.25::{name}" for name in names]
    pytester.makepyfile(test_beside="def test_beside(): pass")
    chosen = "beside or reproducible or declared_traits"
    done = pytester.runpytest_inprocess(*plugin, *wanted, *others, "-k", chosen, "-rA", "-q")
    done.assert_outcomes(passed=3, failed=2, deselected=2 * len(names) - 4)
    assert "PASSED mine_for_tests.py:Mine:share=0.25::reproducible" in done.outlines
    told = "\n".join(done.outlines)
    assert "policy 'mine_for_tests:Fails' fails reproducible: ZeroDivisionError on instance" in told
    line = MINE.splitlines().index("        return 1 / 0") + 1
    assert f"mine_for_tests.py, line {line}, in decide)" in told
    assert "Traceback" not in told
    refused = pytester.runpytest_inprocess(*plugin, "--clairvoyant-policy", "mine_for_tests:Mini")
    assert refused.ret == pytest.ExitCode.INTERRUPTED
    assert "policy: mine_for_tests has no class 'Mini'; did you mean 'Mine'?" in refused.outlines


# Templates.


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, templates.NewPolicy]:
    folder = tmp_path_factory.mktemp("new") / "policies"
    return {one.name: templates.new_policy(one.name, f"own-{one.name}", folder) for one in OURS}


@pytest.mark.parametrize("problem", [one.name for one in OURS])
def test_a_new_policy_plays_and_keeps_its_contract(
    problem: str, written: dict[str, templates.NewPolicy]
) -> None:
    new = written[problem]
    text = f"{new.policy}:{new.kind}"
    instance = api.generate(problem, "tiny", 1)
    check_policy(lambda: cv.make_policy(text, problem), instances=[instance], seeds=[0])
    run = cv.play(text, instance)
    assert run.infeasible == 0
    assert run.total > 0  # it does something
    tree = ast.parse(new.test.read_text(encoding="utf-8"))
    assert f"from {new.policy.stem} import {new.kind}" in map(ast.unparse, tree.body)


def test_new_policies_please_ruff(written: dict[str, templates.NewPolicy]) -> None:
    plain = ("--isolated", "--no-cache", "--line-length", "110")
    rules = ("--select", "ANN,B,D,E,F,I,N,PERF,RUF,SIM,UP", "--config", "lint.pydocstyle.convention='numpy'")
    for command in (("check", *plain, *rules, "."), ("format", *plain, "--check", ".")):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command],
            cwd=written["allocation"].policy.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_nothing_is_overwritten_and_bad_names_are_refused(
    run: Run, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there / "test_taken.py").write_text("mine")
    before = sorted(there.iterdir())
    for problem, name, message in (
        ("allocation", "taken", "test_taken.py: is there already"),
        ("allocation", "my policy", "name: 'my policy' is not made of words"),
        ("allocation", "../away", "is not made of words"),
        ("allocation", "3rd", "is not made of words"),
        ("allocation", "numpy", "is that of something in Python, in a package or in the template"),
        ("allocation", "class", "is that of something"),
        ("allocation", "setting", "is that of something"),
        ("allocation", "Drf", "name: 'allocation' has a policy 'drf' already"),
        ("allocatoin", "mine", "did you mean 'allocation'?"),
    ):
        refused = run("new-policy", problem, name)
        assert (refused.status, refused.out) == (2, "")
        assert message in refused.err
    bare = Problem(name="allocation", instance=find("allocation").instance)
    monkeypatch.setattr(templates, "find", lambda _: bare)
    assert (
        "'allocation' has no template: its record has to name" in run("new-policy", "allocation", "mine").err
    )
    assert sorted(there.iterdir()) == before


# The page.


@pytest.mark.slow
def test_the_page_runs_as_written(run: Run, page: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-q -p no:cacheprovider -k members")  # the others were run by check
    own = page("docs/own-policy.md")
    edited, decorated, script = own.blocks("python")
    told: dict[str, str] = {}
    tests: list[str] = []
    for program, *words in own.commands():
        if program in ("pytest", "python"):
            tests += [word for word in words if word not in ("-m", "pytest")]
            continue
        assert program == "clairvoyant"
        printed = run(*words)
        assert printed.status == 0, printed.err
        told.setdefault(words[0], printed.out)
        if words[0] == "new-policy":
            before, begin, _ = Path("my_policy.py").read_text().partition("    def start")
            assert begin
            Path("my_policy.py").write_text(before + edited)
    command = [sys.executable, "-m", "pytest", *tests]  # by the test file and by the plug-in, at once
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout
    assert told["check"].endswith("none of 12 checks failed\n")
    policies = ("my_policy.py:MyPolicy", "my_policy.py:MyPolicy:share=0.1", "drf")
    assert [line.split()[0] for line in told["play"].splitlines() if line.startswith(("my_", "drf "))] == [
        *policies
    ]
    assert "my_policy.py:MyPolicy" in told["compare"]
    compile(decorated, "test_my_policy.py", "exec")
    with redirect_stdout(StringIO()) as printed_by_script:
        exec(compile(script, "script.py", "exec"), {})  # noqa: S102 - it stands in the page
    instance = cv.load("monday.json")
    low, high = cv.regret(cv.play(policies[0], instance), cv.solve(instance))
    wanted = f"the regret is between {low:.3f} and {high:.3f}"
    assert printed_by_script.getvalue().splitlines()[-1] == wanted
