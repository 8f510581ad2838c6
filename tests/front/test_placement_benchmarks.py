"""The benchmarks of the placement problem on a small scale: rows are measured, and rivals agree."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.slow
def test_every_row_of_the_learned_schedulers_is_measured(benchmark: Callable[..., Any]) -> None:
    decisions = benchmark("placement_learning").DECISIONS[:2]
    sizes = {"EPISODES": 2, "LESSON_JOBS": 6, "LESSONS": 1, "PLAYED_JOBS": 5, "PLAYS": 1, "REPEATS": 1}
    benchmark("placement_learning", **sizes, MACHINES=(3,), BATCHES=(2,), DECISIONS=decisions)
    rows = list(benchmark("placement").learning())
    assert all(row.ours > 0 for row in rows)
    rivals = [row.rival.split(",")[0] for row in rows if row.rival]
    assert rivals == [*["PyTorch"] * 2, "Appendix F", *["GPyTorch"] * 2]
    assert all(row.ratio == row.theirs / row.ours for row in rows if row.rival)


@pytest.mark.slow
def test_every_row_of_the_placement_problem_is_measured(benchmark: Callable[..., Any]) -> None:
    b = benchmark("placement", JOBS=60, SEARCH_JOBS=20, STEPS=50, SOLVE_SECONDS=0.3, CLUSTERS=("small",))
    rows = [b.compile_all(), *b.simulators(), *b.heuristics(), *b.packing(), *b.metaheuristics()]
    rows += [
        b.environment(),
        *b.optima(5, 2, 8.0, range(1)),
        *b.contended(3, 2, range(1)),
        *b.bounds(((40, "small", 5.0),)),
        *b.intervals(0.3, (0, 1)),
        *b.searches(2, ((20, "small"),)),
    ]
    assert all(row.ours > 0 for row in rows)
    gaps = [row for row in rows if row.unit == "%"]
    assert [row.target for row in gaps] == [3.0, 8.0, 1.5, 5.0, 4.0, 15.0]
    assert all(row.note.count(",") == 2 for row in gaps)  # two seeds
    rivals = [row.rival for row in rows if row.rival]
    assert rivals[:5] == ["SimPy", *["fifo-consolidate"] * 4]
    assert rivals[5:] == [
        *["fifo-firstfit"] * 4,
        *("branch-and-bound", "enumeration", "whole simulations"),
    ]
    assert all(row.ratio == row.theirs / row.ours for row in rows if row.rival)
