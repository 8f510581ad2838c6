"""The benchmarks of the admission problem on a small scale: rows are measured, and rivals agree."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.slow
def test_every_row_of_the_admission_problem_is_measured(benchmark: Callable[..., Any]) -> None:
    seconds = {"SOLVE_SECONDS": 0.2, "COLUMN_SECONDS": 0.2, "MILP_SECONDS": 0.5}
    b = benchmark("admission", JOBS=6, OFFERS=3, MILPS=2, SEARCH_ROUNDS=5, **seconds)
    rows = [b.compile_all(), *b.schedules(12, 2, (0.2, 1.0)), b.all_ties(12, 2, 75.0)]
    rows += [*b.optima(4, 8.0, range(1)), *b.at_scale(4, 10.0), *b.rolling(4, 1.0)]
    gap = b.intervals(20, 0.3, (0, 1))
    assert (gap.unit, gap.target, gap.note.count(",")) == ("%", 2.0, 1)
    assert all(row.ours > 0 for row in rows)
    rivals = [row.rival for row in rows if row.rival]
    assert len(rivals) == 7
    assert {"highs", "cp-sat", "lagrangian", "column generation"} <= set(rivals)
    assert all(row.ratio == row.theirs / row.ours for row in rows if row.rival)
