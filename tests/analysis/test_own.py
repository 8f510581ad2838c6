"""What is checked of any problem, on one where less is better."""

from dataclasses import replace
from typing import Any

import pytest

import clairvoyant as cv
from clairvoyant.analysis.claim import Context, Finding, Verdict
from clairvoyant.analysis.own import consistent, contract, within_bound
from clairvoyant.online.placement import POLICIES
from clairvoyant.oracles.base import Optimum, WhyStopped
from clairvoyant.oracles.placement import ORACLES
from clairvoyant.testing.placement import TARGET

FIFO = "fifo-firstfit"


@pytest.fixture(scope="module")
def instance() -> cv.PlacementInstance:
    return cv.generate("placement", "tiny", jobs=3, rho=10.0)


@pytest.fixture(scope="module")
def optimum(instance: cv.PlacementInstance) -> Optimum:
    return cv.solve(instance)


def asked(instance: cv.Instance, optimum: Optimum, **changed: Any) -> Finding:
    """What comes out where an oracle says something else."""
    entry = replace(ORACLES["offline"], function=lambda _: replace(optimum, **changed))
    return consistent({"it": instance}, {"best": entry}, {"best": TARGET.replay}, Context("quick"))


def compared(instance: cv.Instance, optimum: Optimum, **changed: Any) -> Finding:
    """What comes out where a policy is compared with something else."""
    said = replace(optimum, **changed)
    return within_bound(
        {"it": instance}, lambda _: said, {FIFO: POLICIES[FIFO]}, None, ceiling=True, context=Context("quick")
    )


def test_a_bound_of_costs_is_below_the_value(instance: cv.PlacementInstance, optimum: Optimum) -> None:
    assert asked(instance, optimum).verdict is Verdict.HOLDS
    apart = {"bound": 0.5 * optimum.value, "why_stopped": WhyStopped.TIME_LIMIT}
    assert asked(instance, optimum, **apart).verdict is Verdict.HOLDS
    found = asked(instance, optimum, bound=1.001 * optimum.value)
    assert (found.verdict, found.counterexample) == (Verdict.REFUTED, instance)
    assert "is beyond the bound" in found.proof
    assert asked(instance, optimum, value=1.001 * optimum.value).verdict is Verdict.REFUTED
    assert asked(instance, optimum, minimised=False).verdict is Verdict.REFUTED


def test_what_is_far_from_its_bound_is_not_proved(instance: cv.PlacementInstance, optimum: Optimum) -> None:
    proved = replace(optimum, why_stopped=WhyStopped.PROVED)
    assert asked(instance, proved, bound=(1 - 1e-9) * optimum.value).verdict is Verdict.HOLDS
    found = asked(instance, proved, bound=0.5 * optimum.value)
    assert (found.verdict, found.counterexample) == (Verdict.REFUTED, instance)
    assert found.proof == "best on it: why_stopped: it is proved, but the gap is 1.0"


def test_no_policy_costs_less_than_the_bound(instance: cv.PlacementInstance, optimum: Optimum) -> None:
    total = cv.play(FIFO, instance).total
    found = compared(instance, optimum)
    assert found.verdict is Verdict.HOLDS
    (row,) = found.tables[0].rows
    assert row[:3] == (FIFO, 1, total - optimum.value)
    found = compared(instance, optimum, bound=1.001 * total)
    assert (found.verdict, found.counterexample) == (Verdict.REFUTED, instance)
    assert compared(instance, optimum, bound=total).verdict is Verdict.HOLDS
    assert compared(instance, optimum, bound=None).verdict is Verdict.NOT_CHECKABLE


@pytest.mark.parametrize("bound", [float("inf"), float("-inf"), float("nan"), None])
def test_what_is_no_bound_decides_nothing(
    bound: float | None, instance: cv.PlacementInstance, optimum: Optimum
) -> None:
    assert asked(instance, optimum, bound=bound).verdict is Verdict.NOT_CHECKABLE
    assert compared(instance, optimum, bound=bound).verdict is Verdict.NOT_CHECKABLE


def test_infeasible_runs_and_nobody_at_all_decide_nothing(
    instance: cv.PlacementInstance, optimum: Optimum, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cv.play(FIFO, instance)
    monkeypatch.setattr(
        "clairvoyant.analysis.own.play", lambda *_args, **_options: replace(made, infeasible=1)
    )
    found = compared(instance, optimum)
    assert found.verdict is Verdict.NOT_CHECKABLE
    assert "infeasible decisions" in found.remark
    assert contract({}, {}, Context("quick")).verdict is Verdict.NOT_CHECKABLE
    assert consistent({"it": instance}, {}, {}, Context("quick")).verdict is Verdict.NOT_CHECKABLE


def test_who_is_not_seen_to_be_blind_is_not_said_to_be() -> None:
    found = contract({"mine": lambda: {"a": None}}, {"no_peeking": "no kit"}, Context("quick"))
    assert found.verdict is Verdict.NOT_CHECKABLE
    assert "no_peeking: no kit" in found.remark


def test_one_check_that_fails_refutes_the_contract() -> None:
    def check(**results: str | None) -> Finding:
        return contract({"mine": lambda: results}, {"a": "no kit"}, Context("quick"))

    good, bad = check(a=None, b=None), check(a=None, b="mine fails b")
    assert (good.verdict, bad.verdict) == (Verdict.HOLDS, Verdict.REFUTED)
    assert good.headline == "All checks of one policy pass."
    assert good.remark == "These cannot look at everything: a."
    assert bad.proof == "mine fails b"
    assert bad.tables[0].rows == (("mine", 1, 1, "b"),)
