"""The front door for type checkers: as the signatures are, and found from outside the checkout."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clairvoyant.problems import OURS, Problem
from clairvoyant.templates import new_policy

ROOT = Path(__file__).resolve().parents[2]
STRICT = (
    *("disallow_any_generics", "disallow_subclassing_any", "disallow_untyped_calls", "disallow_untyped_defs"),
    *("disallow_incomplete_defs", "check_untyped_defs", "disallow_untyped_decorators", "strict_equality"),
    *("warn_unused_ignores", "warn_return_any", "no_implicit_reexport", "extra_checks"),
)
"""What mypy's strict mode asks of a module, so that the cache of all others serves lax and strict alike."""


def test_the_overloads_are_those_of_the_signatures(doors: Any) -> None:
    assert doors.TARGET.read_text(encoding="utf-8") == doors.formatted(doors.stub()), "run .ci/doors.py"


@pytest.mark.parametrize("problem", OURS, ids=lambda problem: problem.name)
def test_instances_say_the_name_of_their_problem_as_a_literal(problem: Problem) -> None:
    hint = problem.part("instance").__annotations__["problem"]  # else any name of an oracle would do
    assert hint.replace("'", '"') == f'ClassVar[Literal["{problem.name}"]]'


def test_a_type_checker_finds_the_package_from_anywhere_and_likes_new_policies(tmp_path: Path) -> None:
    script = tmp_path / "own.py"
    script.write_text(
        "import clairvoyant as cv\n"
        'reveal_type(cv.generate("allocation", slots=3).setting.capacity)\n'
        'cv.generate("alocation", sluts=3)\n'
        "def untyped(x): return x\n"
    )
    new = [new_policy(problem.name, f"new-{problem.name}", tmp_path) for problem in OURS]
    strict = "\n".join(f"{option} = True" for option in STRICT)
    files = [script, *(path for one in new for path in (one.policy, one.test))]
    modules = ",".join(f"mypy-{path.stem}" for path in files)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\n[{modules}]\n{strict}\n")
    cache = ROOT / ".mypy_cache" / "doors"  # stays, for all libraries have to be read the first time
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *map(str, files)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert 'own.py:2: note: Revealed type is "numpy.ndarray[' in lines[0], done.stdout
    assert "own.py:3: error: No overload variant" in done.stdout
    assert 'Unexpected keyword argument "sluts"' in done.stdout
    assert "own.py:4: error: Function is missing a type annotation" in done.stdout  # it is strict
    assert {line[:8] for line in lines[1:-1]} == {"own.py:3", "own.py:4"}, done.stdout
