"""The benchmarks of the admission problem on a small scale: rows are measured, and rivals agree."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import json
from dataclasses import asdict
from benchmarks import admission as b
b.JOBS, b.OFFERS, b.MILPS, b.SOLVE_SECONDS, b.COLUMN_SECONDS, b.MILP_SECONDS = 6, 3, 2, 0.7, 0.7, 2.0
rows = [b.compile_all(), *b.schedules(12, 2, (0.2, 1.0)), b.all_ties(12, 2, 75.0)]
rows += [*b.optima(4, 8.0, range(1)), *b.at_scale(4, 10.0)]
print(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows]))
"""


def test_every_row_of_the_admission_problem_is_measured() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    assert all(row["ours"] > 0 for row in rows)
    rivals = [row["rival"] for row in rows if row["rival"]]
    assert len(rivals) == 6
    assert {"highs", "cp-sat", "lagrangian", "column generation"} <= set(rivals)
    assert all(row["ratio"] == row["theirs"] / row["ours"] for row in rows if row["rival"])
