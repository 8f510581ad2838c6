"""Execute notebooks and compare what comes out with what they hold; with ``--write`` put it there instead.

Compared are the texts that cells print and those in figures: word for word, whole numbers exactly, others up
to one unit of their last digit or a millionth. Of a cell tagged "varies" only how much comes out counts. What
goes to standard error, such as that kernels are compiled, is left out; a cell that raises ends everything.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.preprocessors import ExecutePreprocessor

NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
WHOLE = re.compile(r"[-+]?[\d,]+\.?")  # the end of a sentence included
TEXT = re.compile(r"<text [^>]*>(.*?)</text>", re.DOTALL)
KEPT = ("image/svg+xml", "text/html", "text/plain")
"""The forms of an output that are kept, and of which the first one there is compared."""


def executed(path: Path) -> Any:
    """Return a notebook with what comes out of its cells, and nothing of the machine that ran it."""
    notebook = nbformat.read(path, as_version=4)
    extra = ["--InlineBackend.figure_format=svg", "--log-level=ERROR"]
    runner = ExecutePreprocessor(
        timeout=1800, kernel_name="python3", extra_arguments=extra, coalesce_streams=True
    )
    runner.preprocess(notebook, {"metadata": {"path": str(path.parent)}})
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
            for one in cell.outputs:
                if "data" in one:
                    one.metadata = {}
                    one.data = {form: one.data[form] for form in KEPT if form in one.data}
    return notebook


def told(cell: Any) -> list[str]:
    """Return the texts of every output of a cell."""
    found = []
    for one in cell.outputs:
        data = one.get("data", {"text/plain": one.get("text", "")})
        text = data[next(form for form in KEPT if form in data)]
        found.append("\n".join(TEXT.findall(text)) if "image/svg+xml" in data else text)
    return found


def close(one: str, other: str) -> bool:
    """Tell whether two numbers are equal: whole ones exactly, others up to a last digit or a millionth."""
    if any(WHOLE.fullmatch(text) for text in (one, other)):
        return one == other
    a, b = (float(text.replace(",", "")) for text in (one, other))
    digits = re.match(r"[-+]?[\d,]*\.?(\d*)(?:e([-+]?\d+))?", one)
    assert digits is not None  # noqa: S101 - NUMBER matched
    unit = 10.0 ** (int(digits[2] or 0) - len(digits[1]))
    return abs(a - b) <= max(1.001 * unit, 1e-6 * max(abs(a), abs(b)))


def same(one: str, other: str) -> bool:
    """Tell whether two texts are equal but for the last digits of their numbers."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    return all(map(close, NUMBER.findall(one), NUMBER.findall(other)))


def differences(held: Any, found: Any) -> list[str]:
    """Return what differs between the outputs that a notebook holds and those found."""
    lines: list[str] = []
    for number, (old, new) in enumerate(zip(held.cells, found.cells, strict=True)):
        if old.cell_type != "code":
            continue
        before, after = told(old), told(new)
        equal = len(before) == len(after)
        if equal and "varies" not in old.metadata.get("tags", []):
            equal = all(map(same, before, after))
        if not equal:
            lines.append(f"cell {number}:")
            texts = ("\n".join(some).splitlines() for some in (before, after))
            lines += difflib.unified_diff(*texts, "held", "found", lineterm="", n=0)
    return lines


def main() -> int:
    """Execute the notebooks; return 1 if one of them holds something else."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put what comes out into the notebooks")
    parser.add_argument("paths", nargs="+", type=Path)
    chosen = parser.parse_args()
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # the date in figures
    wrong = False
    for path in chosen.paths:
        found = executed(path)
        if chosen.write:
            nbformat.write(found, path)
        elif lines := differences(nbformat.read(path, as_version=4), found):
            print(f"{path}: holds other outputs", *lines, sep="\n")
            wrong = True
        print(f"{path}: done", file=sys.stderr)
    if wrong:
        print("If these are right: python .ci/notebooks.py --write notebooks/*.ipynb", file=sys.stderr)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
