"""Every claim about the projection, the theory and gangs: verdict, figures, and the same result twice."""

from __future__ import annotations

import numpy as np
import pytest

from clairvoyant.analysis.allocation import CLAIMS, facts, gangs, projection, theory
from clairvoyant.analysis.claim import Claim, Context, Verdict, amended_if, holds_if

CHECKED = [*projection.CLAIMS, *theory.CLAIMS, *gangs.CLAIMS]


@pytest.mark.parametrize("claim", CHECKED, ids=lambda claim: claim.id.split("/")[1])
def test_verdict_is_the_expected_one(claim: Claim) -> None:
    seen: list[float] = []
    finding = claim.check(Context("quick", seed=0, progress=seen.append))
    assert finding.verdict is claim.expected
    assert finding.numbers or finding.tables
    assert all(0 <= fraction <= 1 for fraction in seen)
    for table in finding.tables:
        assert table.rows
        assert all(len(line) == len(table.columns) for line in table.rows)


@pytest.mark.parametrize("name", ["algorithm-1-projection", "theorem-1", "worst-case", "several-arrivals"])
def test_same_seed_same_finding(name: str) -> None:
    claim = next(c for c in CHECKED if c.id == f"allocation/{name}")
    assert claim.check(Context("quick", seed=4)) == claim.check(Context("quick", seed=4))


def test_ids_are_unique_and_name_the_problem() -> None:
    ids = [claim.id for claim in CLAIMS]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in CLAIMS} == {"allocation"}


def test_failing_claims_on_instances_carry_the_instance() -> None:
    for name in ("algorithm-1-projection", "equation-13", "equation-26", "gang-set"):
        claim = next(c for c in CHECKED if c.id == f"allocation/{name}")
        assert claim.check(Context("quick")).counterexample is not None


def test_verdicts_follow_the_evidence() -> None:
    assert holds_if(True) is Verdict.HOLDS
    assert holds_if(False) is Verdict.FAILS
    assert amended_if(True, False) is Verdict.HOLDS
    assert amended_if(False, True) is Verdict.HOLDS_AMENDED
    assert amended_if(False, False) is Verdict.FAILS


def test_counted_steps_grow_quadratically_on_the_bad_rows_and_linearly_on_plain_ones() -> None:
    assert projection.count_steps(np.ones(10), 1.0) == 10
    bad = [projection.count_steps(-(float(n) ** np.arange(n)), 1.0) for n in (10, 20)]
    assert bad == [n * (n + 1) // 2 for n in (10, 20)]


def test_facts_name_the_origin_of_every_instance() -> None:
    (table,) = facts("quick", 0)
    assert [line[0] for line in table.rows] == ["tiny", "default"]
    assert all("filled" in str(line[-1]) or "real" in str(line[-1]) for line in table.rows)
