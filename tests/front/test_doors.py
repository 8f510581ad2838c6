"""The front door for type checkers: as the signatures are, and found from outside the checkout."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clairvoyant.problems import OURS, Problem

ROOT = Path(__file__).resolve().parents[2]


def test_the_overloads_are_those_of_the_signatures(doors: Any) -> None:
    assert doors.TARGET.read_text(encoding="utf-8") == doors.formatted(doors.stub()), "run .ci/doors.py"


@pytest.mark.parametrize("problem", OURS, ids=lambda problem: problem.name)
def test_instances_say_the_name_of_their_problem_as_a_literal(problem: Problem) -> None:
    hint = problem.part("instance").__annotations__["problem"]  # else any name of an oracle would do
    assert hint.replace("'", '"') == f'ClassVar[Literal["{problem.name}"]]'


def test_a_type_checker_finds_the_package_from_anywhere(tmp_path: Path) -> None:
    script = tmp_path / "own.py"
    script.write_text(
        "import clairvoyant as cv\n"
        'reveal_type(cv.generate("allocation", slots=3).setting.capacity)\n'
        'cv.generate("alocation", sluts=3)\n'
    )
    cache = ROOT / ".mypy_cache" / "doors"  # stays, for all libraries have to be read the first time
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), str(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert 'own.py:2: note: Revealed type is "numpy.ndarray[' in lines[0], done.stdout
    assert "own.py:3: error: No overload variant" in done.stdout
    assert 'Unexpected keyword argument "sluts"' in done.stdout
    assert {line[:8] for line in lines[1:-1]} == {"own.py:3"}, done.stdout
