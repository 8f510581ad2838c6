"""Notebooks: `make notebooks` fails where a cell does, or where one holds something else."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MOST_BYTES = 10**6
"""Of all notebooks together."""


def recipe(folder: Path) -> str:
    """Return the command of `make notebooks` for the notebooks of another folder, from this interpreter."""
    found = re.search(r"^notebooks:.*\n\t(.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    words = found[1].replace("$(ONE_THREAD) $(NO_GPU) $(BIN)/python", sys.executable)
    command = words.replace(" .ci/", f" {ROOT}/.ci/").replace("notebooks/*.ipynb", f"{folder}/*.ipynb")
    assert "$" not in command
    return command


def cell(source: str, printed: str = "", tags: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a cell of code that holds a text."""
    outputs = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
    metadata = {"tags": [*tags]} if tags else {}
    made = {"cell_type": "code", "metadata": metadata, "source": source, "outputs": outputs}
    return made | {"execution_count": None}


def notebook(*cells: dict[str, Any]) -> str:
    named = [one | {"id": f"cell-{number}"} for number, one in enumerate(cells)]
    return json.dumps({"cells": named, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "said"), [(cell("1 / 0"), "ZeroDivisionError"), (cell("print(2)", "4\n"), "cell 0:")]
)
def test_make_notebooks_fails_if_any_notebook_does(bad: dict[str, Any], said: str, tmp_path: Path) -> None:
    (tmp_path / "first.ipynb").write_text(notebook(cell("print(1)", "1\n")))
    (tmp_path / "second.ipynb").write_text(notebook(bad))
    done = subprocess.run(recipe(tmp_path), shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
    assert "first.ipynb: done" in done.stderr


def test_ci_runs_the_notebooks_and_makes_the_documentation() -> None:
    text = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "\nmake notebooks\n" in text
    assert "\nmake docs\n" in text


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("cost 12.34 s", "cost 12.35 s", True),  # the last digit
        ("cost 12.34 s", "cost 12.36 s", False),
        ("1,234,567.1", "1,234,567.9", True),  # a millionth
        ("2 of 3 jobs", "3 of 3 jobs", False),
        ("1,234,567 s", "1,234,568 s", False),
        ("1,234,567", "1,234,567.2", False),
        ("20 of 30 jobs.", "20 of 30 jobs.", True),
        ("9.78e-09", "9.79e-09", True),
        ("9.78e-09", "9.78e-08", False),
        ("-1.22 %", "+1.22 %", False),
        ("proved", "time limit", False),
        ("1 2", "1 2 3", False),
    ],
)
def test_whole_numbers_are_equal_and_others_may_differ_in_their_last_digit(
    notebooks: Any, one: str, other: str, equal: bool
) -> None:
    assert notebooks.same(one, other) is equal
    assert notebooks.same(other, one) is equal


def test_what_differs_is_said_by_cell(notebooks: Any) -> None:
    def read(*cells: dict[str, Any]) -> Any:
        return notebooks.nbformat.reads(notebook(*cells), as_version=4)

    held = read(cell("", "a 1.00\n"), cell("", "b 2.00\n"), cell("", "c 3.00\n", ("varies",)))
    found = read(cell("", "a 1.01\n"), cell("", "b 2.50\n"), cell("", "c 9.00\n", ("varies",)))
    assert notebooks.differences(held, held) == []
    assert notebooks.differences(held, found)[0] == "cell 1:"
    assert "+b 2.50" in notebooks.differences(held, found)
    assert not any("cell 0" in line or "cell 2" in line for line in notebooks.differences(held, found))
    missing = read(cell(""), cell("", "b 2.00\n"), cell(""))
    assert [line for line in notebooks.differences(held, missing) if "cell" in line] == ["cell 0:", "cell 2:"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_hold_what_comes_out_and_nothing_of_a_machine(path: Path) -> None:
    text = path.read_text("utf-8")
    held = json.loads(text)
    assert set(held["metadata"]) == {"kernelspec"}
    assert not re.search(r'image/png"|/tmp/|/home/|/work/|"stderr"|"error"', text)
    shown = [one for one in held["cells"] if one.get("outputs")]
    assert len(shown) >= 5
    for one in held["cells"]:
        assert set(one["metadata"]) <= {"tags"}
        assert set(one["metadata"].get("tags", [])) <= {"varies"}


def test_notebooks_are_small() -> None:
    assert sum(path.stat().st_size for path in NOTEBOOKS) < MOST_BYTES
