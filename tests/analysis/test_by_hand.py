"""Cases worked out by hand: what agrees holds, and one number that differs refutes."""

from __future__ import annotations

import numpy as np
import pytest

from clairvoyant.analysis.by_hand import by_hand
from clairvoyant.analysis.claim import Context, Verdict
from clairvoyant.problems import find


@pytest.mark.parametrize(
    ("ours", "worked", "agrees"),
    [
        (1.0, 1, True),
        (np.eye(2), [[1, 0], [0, 1]], True),
        (1.0 + 1e-9, 1.0, True),
        (1.0 + 1e-4, 1.0, False),
        (float("nan"), 1.0, False),
        ((1.0, 2.0), (1.0,), False),
        ((), (), True),
    ],
)
def test_one_case_that_differs_is_enough(ours: object, worked: object, agrees: bool) -> None:
    found = by_hand([("a", 1, 1), ("b", ours, worked)])
    assert found.verdict is (Verdict.HOLDS if agrees else Verdict.REFUTED)
    assert found.numbers == {"cases": 2, "cases that differ": 0 if agrees else 1}
    assert found.faults == []


@pytest.mark.parametrize("problem", ["allocation", "selection", "admission", "placement"])
def test_every_problem_has_its_rules_worked_out(problem: str) -> None:
    (claim,) = (one for one in find(problem).part("claims") if one.id == f"{problem}/rules")
    found = claim.find(Context("quick", 3))
    assert found.verdict is Verdict.HOLDS, found.tables
    assert found.numbers["cases"] >= 7
