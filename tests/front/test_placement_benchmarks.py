"""The benchmarks of the placement problem on a small scale: rows are measured, and rivals agree."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import json
from dataclasses import asdict
from benchmarks import placement as b
b.JOBS, b.SEARCH_JOBS, b.STEPS, b.SOLVE_SECONDS, b.CLUSTERS = 60, 20, 50, 3.0, ("small",)
rows = [b.compile_all(), *b.simulators(), *b.heuristics(), *b.metaheuristics(), b.environment()]
rows += [*b.optima(5, 2, 8.0, range(1)), *b.contended(3, 2, range(1)), *b.bounds(((40, "small", 5.0),))]
print(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows]))
"""


LEARNING = """
import json
from dataclasses import asdict
from benchmarks import placement as b
from benchmarks import placement_learning as l
l.EPISODES, l.LESSON_JOBS, l.LESSONS, l.PLAYED_JOBS, l.PLAYS, l.REPEATS = 2, 6, 1, 5, 1, 1
l.MACHINES, l.BATCHES, l.DECISIONS = (3,), (2,), l.DECISIONS[:2]
print(json.dumps([asdict(row) | {"ratio": row.ratio} for row in b.learning()]))
"""


def test_every_row_of_the_learned_schedulers_is_measured() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEARNING], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    assert all(row["ours"] > 0 for row in rows)
    rivals = [row["rival"].split(",")[0] for row in rows if row["rival"]]
    assert rivals == ["Appendix F", "GPyTorch", "GPyTorch"]
    assert all(row["ratio"] == row["theirs"] / row["ours"] for row in rows if row["rival"])


def test_every_row_of_the_placement_problem_is_measured() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    assert all(row["ours"] > 0 for row in rows)
    rivals = [row["rival"] for row in rows if row["rival"]]
    assert rivals == ["SimPy", "fifo-firstfit", "fifo-firstfit", "branch-and-bound", "enumeration"]
    assert all(row["ratio"] == row["theirs"] / row["ours"] for row in rows if row["rival"])
