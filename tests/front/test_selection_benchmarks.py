"""The benchmarks, on a small scale: every row is measured, and rivals agree before they are compared."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )


@pytest.mark.slow
def test_every_row_of_the_selection_problem_is_measured(benchmark: Callable[..., Any]) -> None:
    b = benchmark("selection", SLOTS=200)
    rows = [b.compile_all(), *b.every_pattern(12, 0.02), *b.along_a_run(12, (0.3, 0.8, 7.0), 2)]
    rows += [b.many_channels(8, 20.0, 60, 2), *b.variances(), *b.gangs(), *b.certificates(20)]
    rows += [b.trees(problem, "tiny", 2) for problem in ("selection", "selection-gang")]
    rows.append(b.memory())
    assert all(row.ours > 0 for row in rows)
    rivals = [row for row in rows if row.rival]
    assert len(rivals) == 13
    assert all(row.ratio == row.theirs / row.ours for row in rivals)
    memory = rows[-1]
    assert memory.unit == "GB"
    assert memory.ours < memory.target


def test_rows_are_printed_in_columns() -> None:
    script = """
from benchmarks.measure import HEADER, Row, show
print(HEADER)
print(show(Row("one", 2.0, 3.0, "rival", 5.0, "ms")))
print(show(Row("other", 2.0, note="alone")))
"""
    head, one, other = python("-c", script).stdout.splitlines()
    assert one.split() == ["one", "2.000", "ms", "3.00", "2.5x", "rival"]
    assert other.split() == ["other", "2.000", "s", "alone"]
    assert one.index("3.00") + 4 == head.index("to reach") + len("to reach")


def test_an_unknown_problem_is_refused() -> None:
    done = python("-m", "benchmarks", "--problem", "chess")
    assert done.returncode == 2
    assert "invalid choice: 'chess'" in done.stderr
