"""Claims about the projection, the theory and gangs: verdicts, texts, and that planted faults are noticed."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from clairvoyant.analysis.allocation import CLAIMS, facts
from clairvoyant.analysis.allocation.claims import gangs, projection, theory
from clairvoyant.analysis.allocation.claims.ledger import LEDGER
from clairvoyant.analysis.claim import Context, Finding
from clairvoyant.models.allocation import gang, geometry, utility
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.online.allocation.ogasched import Ogasched
from clairvoyant.online.allocation.printed import OgaschedPrinted, printed_projection
from clairvoyant.online.play import play

QUICK = Context("quick")
CHECKED = [*projection.claim.claims, *theory.claim.claims, *gangs.claim.claims]
BY_NAME = {claim.id.partition("/")[2]: claim for claim in CHECKED}


def check(name: str, seed: int = 0) -> Finding:
    """Return the quick finding of a claim."""
    return BY_NAME[name].find(Context("quick", seed))


@cache
def found(name: str) -> tuple[Finding, list[float]]:
    """Return the quick finding of a claim with seed 1, and the progress it told."""
    seen: list[float] = []
    return BY_NAME[name].find(Context("quick", seed=1, progress=seen.append)), seen


@pytest.mark.parametrize("name", BY_NAME)
def test_verdict_is_the_expected_one(name: str) -> None:
    finding, seen = found(name)
    assert BY_NAME[name].as_expected(finding), finding.verdict
    assert finding.faults == []
    assert finding.numbers or finding.tables or finding.remark
    assert all(0 <= fraction <= 1 for fraction in seen)
    for table in finding.tables:
        assert table.rows
        assert all(len(line) == len(table.columns) for line in table.rows)
    if finding.counterexample is not None:
        kept = json.loads(json.dumps(finding.counterexample.to_dict()))
        assert type(finding.counterexample).from_dict(kept) == finding.counterexample


@pytest.mark.parametrize("name", ["algorithm-1-projection", "theorem-1", "worst-case", "several-arrivals"])
def test_same_seed_same_finding(name: str) -> None:
    assert check(name, 1) == found(name)[0]


def test_ids_are_unique_and_every_claim_of_the_paper_is_in_the_ledger() -> None:
    ids = [claim.id for claim in CLAIMS]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in CLAIMS} == {"allocation"}
    listed = {
        f"allocation/{name}" for names in LEDGER.values() if not isinstance(names, str) for name in names
    }
    assert listed <= set(ids)
    assert {claim.id for claim in CLAIMS if not claim.ours} == listed


def test_the_ledger_has_no_gaps() -> None:
    """Equations to (27), two definitions, a proposition, a theorem, an algorithm, tables and figures."""
    assert {key for key in LEDGER if key.startswith("Eq")} == {f"Equation ({n})" for n in range(1, 28)}
    assert {f"Figure {n}" for n in range(1, 8)} | {"Table 1", "Table 2"} <= set(LEDGER)
    assert {"Definition 1", "Definition 2", "Proposition 1", "Theorem 1", "Algorithm 1"} <= set(LEDGER)
    assert all(names for names in LEDGER.values())


def test_refuted_claims_within_the_model_carry_an_instance_with_whole_numbers() -> None:
    for name in ("algorithm-1-projection", "algorithm-1-in-a-run", "equation-26", "gang-set"):
        instance = check(name).counterexample
        assert instance is not None
        if isinstance(instance, AllocationInstance):
            s = instance.setting
            assert (s.demand == np.floor(s.demand)).all()
            assert (s.capacity == np.floor(s.capacity)).all()


def test_the_counterexample_of_the_projection_in_a_run_is_one() -> None:
    instance = check("algorithm-1-in-a-run").counterexample
    assert isinstance(instance, AllocationInstance)
    assert play(OgaschedPrinted(), instance, enforce=False).infeasible > 0


def test_printed_examples_show_what_they_say() -> None:
    rows = check("algorithm-1-projection", 1)
    assert float(rows.numbers["exact as printed (%)"]) < 30
    printed = {line[0]: line[4:] for line in rows.tables[0].rows}
    assert printed["no test for rho >= 0"] == ("(1)", "(1)", "(0.5)")
    assert printed["only the first index is ever capped"][1:] == ("(2, 2.25, 0.75)", "(2, 2, 1)")
    assert printed["sorted by z instead of z - a"][1:] == ("(4, 2)", "(5, 1)")
    assert printed["S is never emptied, B2 keeps negative values"][0] == "never ends"


def test_the_traced_loop_is_the_repaired_one() -> None:
    rng = np.random.default_rng(0)
    for width in (1, 2, 3, 5):
        point, _, demand, capacity = projection.random_rows(rng, 50, width)
        setting = projection.rows(demand, capacity).setting
        found, _ = printed_projection(setting, point.reshape(-1, 1), repaired=True)
        for z, a, c, y in zip(point, demand, capacity, found.reshape(point.shape), strict=True):
            assert projection.traced(z, a, float(c)).y == pytest.approx(y, abs=1e-9)


def test_counted_visits_grow_quadratically_on_the_bad_rows_and_linearly_on_plain_ones() -> None:
    room = np.full(10, 1e30)
    assert projection.traced(np.ones(10), room, 1.0).visited == 10
    assert projection.traced(-(10.0 ** np.arange(10)), room, 1.0).visited == 55
    assert projection.traced(np.array([4.0]), np.array([2.0]), 3.0).emptied
    assert not projection.traced(np.array([4.0]), np.array([4.0]), 3.0).emptied


def test_facts_name_the_origin_of_every_instance() -> None:
    (table,) = facts("quick", 0)
    assert [line[0] for line in table.rows] == ["tiny", "default"]
    assert all("filled" in str(line[-1]) or "real" in str(line[-1]) for line in table.rows)


def test_the_figures_behind_the_verdicts() -> None:
    zipped = check("algorithm-1-zip").numbers
    assert (zipped["rows visited"], zipped["rows"], zipped["constraints broken with the product"]) == (
        6,
        768,
        0,
    )
    assert check("equation-12").numbers["amended (%)"] == 100
    assert check("equation-16").numbers["runs that break (16) with y(T)"] == 2
    wide = check("equation-24").numbers
    assert float(wide["farthest pair found"]) <= float(wide["tightened"]) < float(wide["diameter (25)"])
    assert check("definition-1").numbers["f(1) + f(1) - f(2), log"] == pytest.approx(
        2 * np.log(2) - np.log(3)
    )
    for line in check("regular-graph").tables[0].rows:
        assert line[3] == line[5]


GRADIENT_NORMS = geometry.gradient_norms


def _half(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: 0.25 * original(*args)


def _lazy(self: Ogasched, feedback: object) -> None:
    """Learn nothing."""


PLANTED = {
    "a bound four times too small": ("theorem-1", geometry, "diameter", _half(geometry.diameter)),
    "a bound on gradients sixteen times too small": (
        "equation-22",
        geometry,
        "gradient_norms",
        lambda s: GRADIENT_NORMS(s) / 16.0,
    ),
    "a policy that does not learn": ("growth-in-slots", Ogasched, "learn", _lazy),
    "a policy that does not learn, over time": ("regret-over-time", Ogasched, "learn", _lazy),
    "a diameter too small for the farthest pair": ("equation-24", geometry, "tight_diameter", lambda _s: 1.0),
    "an exact projection called printed": (
        "algorithm-1-projection",
        projection,
        "printed_projection",
        lambda s, z, **_: (s.project(z), 0),
    ),
    "the printed policy made exact": ("algorithm-1-in-a-run", projection, "OgaschedPrinted", Ogasched),
    "gradients that are none": ("equation-16", theory, "_summed", lambda *_: (False, False)),
    "steps that are none": ("equation-16", theory, "_slot_by_slot", lambda *_: (False, False)),
    "utilities that fall": ("equation-20", utility, "slope", lambda _kind, _alpha, y: -np.ones(y.shape)),
    "a gang set without crumbs": ("gang-set", gang, "printed_violations", lambda *_: ["one"]),
    "a regret that grows with the root of the servers": (
        "growth-in-servers",
        theory,
        "_regret",
        lambda drawn: drawn.setting.servers**0.5,
    ),
    "a run that goes elsewhere": (
        "complexity",
        projection,
        "decided",
        lambda _policy, made: made.arrivals * 0.0,
    ),
    "a loop that stops at once": (
        "complexity",
        projection,
        "traced",
        lambda z, *_: projection.Traced(1, len(z), False, z),
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_changes_the_verdict(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, where, attribute, wrong = PLANTED[fault]
    monkeypatch.setattr(where, attribute, wrong)
    if fault == "a gang set without crumbs":
        monkeypatch.setattr(gang, "printed_is_empty", lambda _s: False)
    assert check(name).verdict is not BY_NAME[name].expected


def test_the_printed_loop_never_ends_where_the_repaired_one_visits_every_pair() -> None:
    numbers = check("complexity").numbers
    assert int(numbers["rows"]) > 0
    assert numbers["of these on which the loop as printed never ends"] == numbers["rows"]
