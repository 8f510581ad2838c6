"""Notebooks: `make notebooks`, which `.ci/run` calls, fails where a cell does."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def recipe(folder: Path) -> str:
    """Return the command of `make notebooks` for the notebooks of another folder, from this interpreter."""
    found = re.search(r"^notebooks:.*\n\t(.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    words = found[1].replace("$(ONE_THREAD) $(BIN)/jupyter", f"{sys.executable} -m jupyter")
    command = words.replace("notebooks/*.ipynb", f"{folder}/*.ipynb").replace("reports/", f"{folder}/")
    assert "$" not in command
    return command


@pytest.mark.parametrize("bad", ["first", "second"])
def test_make_notebooks_fails_if_any_notebook_does(bad: str, tmp_path: Path) -> None:
    for name in ("first", "second"):
        source = "1 / 0" if name == bad else "1 + 1"
        cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": source, "outputs": []}
        notebook = {
            "cells": [cell | {"execution_count": None}],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (tmp_path / f"{name}.ipynb").write_text(json.dumps(notebook))
    done = subprocess.run(recipe(tmp_path), shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr


def test_ci_runs_the_notebooks() -> None:
    assert "\nmake notebooks\n" in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_notebook_lets_errors_pass(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    assert "execution" not in notebook["metadata"]
    for cell in notebook["cells"]:
        assert not {"raises-exception", "skip-execution"} & set(cell["metadata"].get("tags", []))
        assert not cell.get("outputs")
