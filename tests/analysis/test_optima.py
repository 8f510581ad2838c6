"""Optima that verdicts rest on: what proves each is noted, counted and shown."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant import _own
from clairvoyant.analysis import report
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict
from clairvoyant.analysis.engine import identity
from clairvoyant.analysis.findings import from_dict, to_dict
from clairvoyant.analysis.optima import in_all, noting, relied_on, remembered, rest_on, share
from clairvoyant.analysis.placement import experiments as placement
from clairvoyant.cli import rendering
from clairvoyant.oracles.allocation.certificate import of_stationary
from clairvoyant.oracles.allocation.optimum import ORACLES, prefix_optima
from clairvoyant.oracles.base import VERIFIED, OracleEntry, OracleError

STATIONARY = ORACLES["stationary"]
METHOD = "structured interior point method"


def noted(entry: OracleEntry, *instances: Any) -> dict[str, int]:
    with noting() as found:
        for instance in instances:
            relied_on("stationary", entry, instance)
    return in_all([Counter(found.values())])


def written_by(writer: Callable[..., Any] | None) -> OracleEntry:
    return replace(STATIONARY, writer=writer)


def test_each_optimum_counts_once_by_what_proves_it() -> None:
    one, other = (cv.generate("allocation", "tiny", seed) for seed in (1, 2))
    assert noted(STATIONARY, one, other, one) == {VERIFIED: 2}
    assert noted(written_by(None), one, other, one) == {METHOD: 2}


def test_what_a_certificate_does_not_prove_is_not_certified() -> None:
    def loose(instance: Any, found: Any) -> Any:
        decision, proof = of_stationary(instance, found)
        return decision, {"w": proof["w"], "price": [[[2.0 * p for p in row] for row in proof["price"][0]]]}

    def worse(instance: Any, found: Any) -> Any:
        decision, proof = of_stationary(instance, found)
        return [[[y / 2.0 for y in row] for row in decision[0]]], proof

    def wrong(instance: Any, found: Any) -> Any:
        decision, proof = of_stationary(instance, found)
        return [[[y * 2.0 for y in row] for row in decision[0]]], proof

    instance = cv.generate("allocation", "tiny", 1)
    assert noted(written_by(loose), instance) == {METHOD: 1}
    assert noted(written_by(worse), instance) == {METHOD: 1}
    with pytest.raises(OracleError, match=r"the certificate is rejected: .* is above the demand"):
        noted(written_by(wrong), instance)


def test_a_certificate_of_other_numbers_with_the_same_gap_proves_nothing() -> None:
    found = cv.solve(cv.generate("allocation", "tiny", 1)).verified()
    assert found.certified
    assert found.status == f"proved, {VERIFIED}" or found.status == f"gap reached, {VERIFIED}"
    assert found.bound is not None
    larger = replace(found, value=1.01 * found.value, bound=1.01 * found.bound)
    assert larger.gap == pytest.approx(found.gap)
    assert not larger.certified
    assert not replace(found, value=0.99 * found.value, bound=0.99 * found.bound).certified
    assert "not certified" in larger.status


def test_outside_of_a_check_no_certificate_is_written() -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("a certificate is written")

    found = relied_on("stationary", written_by(refuse), cv.generate("allocation", "tiny", 1))
    assert found.statement is None
    assert found.value > 0.0


def test_what_is_remembered_is_noted_again() -> None:
    made = []

    @remembered
    def best(seed: int) -> float:
        made.append(seed)
        return relied_on("stationary", STATIONARY, cv.generate("allocation", "tiny", seed)).value

    @remembered
    def both(seed: int, apart: int = 1) -> float:
        return best(seed) + best(seed=seed + apart)

    for named in ({}, {"apart": 1}):
        with noting() as found:
            both(1, **named)
        assert in_all([Counter(found.values())]) == {VERIFIED: 2}
    assert made == [1, 2]


def test_the_optimum_of_the_first_slots_is_that_of_a_shorter_instance() -> None:
    whole = cv.generate("allocation", "default", 1, slots=40)
    ends = [1, 13, 40]
    alone = [ORACLES["stationary"].function(whole.with_arrivals(whole.arrivals[:end])) for end in ends]
    values, bounds = prefix_optima(whole, ends)
    assert values.tolist() == [one.value for one in alone]
    assert bounds.tolist() == [one.bound for one in alone]


def test_what_is_said_of_the_counts() -> None:
    assert share({VERIFIED: 3}) == "3 of 3 have a verified certificate"
    some = in_all([{"B": 1}, {VERIFIED: 1200, "A": 2}, {}])
    assert list(some) == [VERIFIED, "A", "B"]
    assert share(some) == "1,200 of 1,203 have a verified certificate; the others rest on A (2); B (1)"
    assert share({"A": 2}) == "0 of 2 have a verified certificate; the others rest on A (2)"


def check(context: Context) -> Finding:
    instance = cv.generate("allocation", "tiny", context.seed)
    relied_on("stationary", STATIONARY, instance)
    rest_on("other", instance, "a <solver>")
    return Finding(Verdict.HOLDS, "It holds.")


def test_the_finding_the_page_and_the_command_say_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = Claim("allocation/x", "Theorem 1", "It holds.", "By looking.", Verdict.HOLDS, check)
    found = claim.find(Context("quick"))
    assert found.optima == {VERIFIED: 1, "a <solver>": 1}
    assert from_dict(to_dict(found), cv.AllocationInstance.from_dict) == found
    plain = replace(claim, id="allocation/y", check=lambda _context: Finding(Verdict.HOLDS, "It holds."))
    results = [(claim, found), (plain, plain.find(Context("quick")))]
    assert results[1][1].optima == {}
    nothing: dict[str, Any] = {"facts": {}, "policies": [], "oracles": {}, "papers": {}}
    report.write_report(tmp_path, results, mode="quick", seed=0, **nothing)
    said = "1 of 2 have a verified certificate; the others rest on a &lt;solver&gt; (1)"
    assert f"Of the optima that verdicts rest on, {said}." in (tmp_path / "index.html").read_text()
    assert (tmp_path / "allocation.html").read_text().count(said) == 1
    rendering.print_claims(results, verbose=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert f"optima that verdicts rest on: {share(found.optima)} " in printed
    assert [one["optima"] for one in rendering.claim_facts(results)] == [found.optima, {}]


def test_what_another_checker_has_verified_is_not_taken_from_a_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = identity.source_of_function.__wrapped__(placement._certified)
    monkeypatch.setattr(placement, "CHECKER", "another")
    assert identity.source_of_function.__wrapped__(placement._certified) != before


def test_optima_that_the_claims_share_are_noted_by_all_of_them() -> None:
    claims = {claim.id: claim for claim in _own.catalogue()}
    ids = ("allocation/several-arrivals", "selection/theorem-2-symbols", "admission/theorem-2")
    first, again = ([claims[one].find(Context("quick")).optima for one in ids] for _ in range(2))
    assert first == again
    assert first[0] == {VERIFIED: 6}
    assert first[1] == {VERIFIED: 3}
    assert sum(first[2].values()) == 40
