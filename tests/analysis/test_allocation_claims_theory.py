"""Every claim about the projection, the theory and gangs: verdict, figures, and the same result twice."""

from __future__ import annotations

import numpy as np
import pytest

from clairvoyant.analysis.allocation import CLAIMS, facts, gangs, projection, theory
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict, amended_if, holds_if

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


def check(name: str) -> Finding:
    return next(c for c in CHECKED if c.id == f"allocation/{name}").check(Context("quick", seed=1))


def test_the_figures_behind_the_verdicts_are_those_of_the_counterexamples() -> None:
    zipped = check("algorithm-1-zip").numbers
    assert (zipped["rows visited"], zipped["rows"]) == (6, 768)
    rows = check("algorithm-1-projection")
    assert float(rows.numbers["exact as printed (%)"]) < 30
    assert (
        float(rows.numbers["exact as printed (%)"])
        < float(rows.numbers["exact when repaired to end (%)"])
        < 70
    )
    printed = {line[0]: line[4:] for line in rows.tables[0].rows}
    assert printed["no test for rho >= 0"] == ("(1)", "(1)", "(0.5)")
    assert printed["only the first index is ever capped"] == ("never ends", "(1, 1.5, 0)", "(1, 1, 0.5)")
    assert check("equation-12").numbers["amended (%)"] == 100
    steep = check("equation-22").numbers
    assert float(steep["slope of -y^2 at y = 3"]) > float(steep["bound (22) there"])
    wide = check("equation-24").numbers
    assert float(wide["farthest pair found"]) <= float(wide["tightened"]) < float(wide["diameter (25)"])
    assert check("definition-1").numbers["f(1) + f(1) - f(2), log"] == pytest.approx(
        2 * np.log(2) - np.log(3)
    )
    for line in check("regular-graph").tables[0].rows:
        assert line[3] == line[5]
