"""Dual certificates and proven bounds of OASiS, against exact optima; counterexamples by their numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.analysis.admission import competitive
from clairvoyant.analysis.admission.claims import cases
from clairvoyant.analysis.admission.competitive import log_bound
from clairvoyant.models.admission.cluster import Usage
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.online.admission.oasis import Oasis
from clairvoyant.online.play import play
from clairvoyant.oracles.admission.optimum import offline
from clairvoyant.oracles.base import Optimum, WhyStopped
from clairvoyant.testing.admission import instances

TIE = 1e-6


def optimum(instance: AdmissionInstance) -> tuple[float, float]:
    found = offline(instance, method="highs", gap=1e-9)
    assert found.bound is not None
    return found.value, found.bound


def played(instance: AdmissionInstance, steep: bool) -> tuple[Oasis, float]:
    policy = Oasis(floor=False, steep=steep)
    return policy, play(policy, instance).total


# What holds of every run


@settings(max_examples=60, deadline=None)
@given(instances(), st.booleans())
def test_prices_from_the_books_are_those_of_the_policy(instance: AdmissionInstance, steep: bool) -> None:
    policy, _ = played(instance, steep)
    if instance.jobs:
        workers, servers = competitive.prices(policy.range, policy.usage, steep=steep)
        np.testing.assert_allclose(workers, policy.worker_prices, rtol=1e-9)
        np.testing.assert_allclose(servers, policy.server_prices, rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(instances(), st.booleans())
def test_steps_add_up_to_what_was_earned_and_to_the_dual(instance: AdmissionInstance, steep: bool) -> None:
    policy, earned = played(instance, steep)
    steps = list(competitive.steps(instance, policy))
    found = competitive.duals(instance, policy)
    assert [step.job for step in steps] == sorted(policy.plans)
    assert sum(step.gain for step in steps) == pytest.approx(earned)
    assert found.start + sum(step.rise for step in steps) == pytest.approx(found.printed)
    alpha = instance.announced.alpha()
    for step in steps:
        assert step.largest <= instance.announced.share * (1 + 1e-12)
        if not steep:
            assert step.relation <= competitive.finite_steps(alpha, step.largest) * (1 + TIE)
        assert step.rise <= max(1.0, step.relation) * step.gain * (1 + TIE)


@settings(max_examples=60, deadline=None)
@given(instances(min_jobs=1), st.booleans())
def test_raised_prices_are_dual_feasible_with_the_payoffs_at_arrival(
    instance: AdmissionInstance, steep: bool
) -> None:
    policy, _ = played(instance, steep)
    payoffs = competitive.payoffs_at(instance, competitive.prices_of(policy, policy.usage, raised=True))
    for i, mu in policy.payoffs.items():
        assert payoffs[i] <= mu + TIE * instance.jobs[i].priority


@settings(max_examples=40, deadline=None)
@given(instances(min_jobs=1), st.booleans())
def test_duals_and_bounds_against_the_exact_optimum(instance: AdmissionInstance, steep: bool) -> None:
    policy, earned = played(instance, steep)
    least, most = optimum(instance)
    found = competitive.duals(instance, policy)
    assert least <= found.repaired * (1 + TIE)
    assert least <= found.raised * (1 + TIE)
    assert found.start <= most / 2 * (1 + TIE)
    if steep:
        assert found.raised == pytest.approx(found.printed)
    if least > 0.0:
        log = competitive.log_bounds(instance)[steep]
        assert math.log(least) <= math.log(earned) + log + TIE
        assert found.raised - found.start <= math.exp(log) / 2 * earned * (1 + TIE)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(0.01, 1.0), min_size=1, max_size=30),
    st.floats(0.02, 0.99),
    st.floats(0.1, 30.0),
    st.booleans(),
)
def test_no_price_rises_by_more_than_b_times_what_was_paid(
    parts: list[float], share: float, span: float, steep: bool
) -> None:
    """One resource of one machine in one slot: steps (3) and (4) of the proof, for any sequence of steps."""
    taken, paid, steps = 0.0, 0.0, [part * share for part in parts]

    def price(at: float) -> float:
        return math.exp(span * min(1.0, at / (1.0 - share))) if steep else math.exp(span * at)

    done: list[float] = []
    for step in steps:
        if taken + step <= 1.0:
            paid += price(taken) * step
            taken += step
            done.append(step)
    final = price(taken) if taken < 1.0 - share else math.exp(span)
    bound = math.exp(log_bound(max(1.0, span), share, min(done), steep)) / 2.0
    assert final - 1.0 <= bound * paid * (1 + 1e-9)


# The bounds as functions


@given(st.floats(1.0, 50.0), st.floats(0.001, 1.0))
def test_bounds_grow_with_alpha(alpha: float, share: float) -> None:
    for steep in (False, True):
        assert log_bound(alpha, share, share, steep) <= log_bound(alpha * 1.01, share, share, steep)
        assert log_bound(alpha, share, share, steep) >= math.log(2.0 * alpha) - 1e-9


@pytest.mark.parametrize("steep", [False, True])
def test_bounds_go_to_two_alpha_and_stay_finite(steep: bool) -> None:
    assert math.exp(log_bound(10.0, 1e-9, 1e-9, steep)) == pytest.approx(20.0)
    assert math.exp(log_bound(10.0, 0.0, 0.0, steep)) == pytest.approx(20.0)
    assert log_bound(10.0, 0.5 - 1e-12, 0.1, steep) == pytest.approx(log_bound(10.0, 0.5, 0.1, steep))
    assert log_bound(5000.0, 1.0, 0.01, steep) == pytest.approx(5000.0 + math.log(200.0))
    assert competitive.finite_steps(5000.0, 1.0) == math.inf


def test_bounds_by_hand() -> None:
    a = math.log(1000.0)
    printed = (math.exp(0.2 * a) - 1) / 0.2 * 999 / (math.exp(0.8 * a) - 1)
    assert math.exp(log_bound(a, 0.2, 0.01)) == pytest.approx(2 * printed)
    steep = (math.exp(0.25 * a) - 1) / 0.2
    assert math.exp(log_bound(a, 0.2, 0.01, steep=True)) == pytest.approx(2 * steep)
    assert math.exp(log_bound(a, 0.9, 0.25, steep=True)) == pytest.approx(2 * 999 / 0.25)
    assert competitive.finite_steps(a, 0.5) == pytest.approx((math.sqrt(1000) - 1) / 0.5)
    assert competitive.finite_steps(a, 0.0) == pytest.approx(a)


def test_bounds_of_an_instance_are_named_after_the_policies() -> None:
    instance = cases.by_hand(10.0, 10.0)
    found = competitive.bounds(instance)
    assert set(found) == {
        "ln(OPT / ALG) of oasis:floor=false",
        "ln(OPT / ALG) of oasis:floor=false,steep=true",
    }
    alpha = math.log(10.0 / 0.6 / 0.25)
    assert found["ln(OPT / ALG) of oasis:floor=false"] == pytest.approx(math.log(2 * math.expm1(alpha) / 0.6))


def test_nothing_is_proven_where_no_job_can_finish_or_another_range_is_announced() -> None:
    assert competitive.bounds(cases.never_done()) == {}
    data = cases.by_hand(10.0, 10.0).to_dict()
    exact = cases.by_hand(10.0, 10.0).announced.to_dict()
    same = AdmissionInstance.from_dict({**data, "announced": exact})
    other = AdmissionInstance.from_dict({**data, "announced": {**exact, "lower_workers": 0.0}})
    assert competitive.bounds(same) == competitive.bounds(cases.by_hand(10.0, 10.0))
    assert competitive.bounds(other) == {}


@pytest.mark.parametrize("utility", [4.0, 10.0, 20.0])
def test_for_large_shares_the_same_range_asks_for_opposite_decisions(utility: float) -> None:
    """The last paragraph of the module: who takes the first job has about 1 of F, who does not 1/F of 1."""
    first, second = (600_000.0, 0.0, 1.0), (600_000.0, 0.0, utility)
    last = (600_000.0 / utility**2, 0.0, 1.0 / utility)
    alone, both = (
        cases.cluster([cases.plain_job(*row) for row in rows], 1e6, 0.0)
        for rows in ([first, last], [first, second, last])
    )
    assert alone.announced.lower_workers == pytest.approx(both.announced.lower_workers)
    np.testing.assert_allclose(alone.announced.upper_workers, both.announced.upper_workers)
    assert alone.announced.alpha() == pytest.approx(math.log(4.0 * utility**3 / 0.6))
    assert optimum(alone)[0] == pytest.approx(1.0 + 1.0 / utility)
    assert optimum(both)[0] == pytest.approx(utility + 1.0 / utility)
    assert [played(both, steep)[1] for steep in (False, True)] == pytest.approx([1.0 + 1.0 / utility, 1.0])


def test_steps_where_prices_nearly_underflow() -> None:
    """Prices start above 0 but below 1e-308, so that the relation is beyond all numbers."""
    data = cases.late_job(1, 10, 10).to_dict()
    jobs = [
        {**data["jobs"][0], "epochs": 1, "utility": {"priority": 1, "decay": decay, "target": 0}}
        for decay in (0.0, 79.0)
    ]
    instance = AdmissionInstance.from_dict(
        {**data, "worker_servers": [[1]], "parameter_servers": [[1]], "jobs": jobs}
    )
    assert 0.0 < math.exp(instance.announced.lower_workers) < 1e-308
    policy, earned = played(instance, steep=False)
    assert earned == pytest.approx(0.5)
    assert [step.relation for step in competitive.steps(instance, policy)] == [math.inf, math.inf]


def test_ratio_is_an_interval_with_its_ends_defined() -> None:
    def found(value: float, bound: float | None) -> Optimum:
        return Optimum(value, bound, None, WhyStopped.TIME_LIMIT, "by hand", 0.0)

    assert competitive.ratio(found(6.0, 9.0), 3.0) == (2.0, 3.0)
    assert competitive.ratio(found(6.0, None), 3.0) == (2.0, math.inf)
    assert competitive.ratio(found(0.0, 0.0), 0.0) == (1.0, 1.0)
    assert competitive.ratio(found(0.0, 1.0), 0.0) == (1.0, math.inf)
    assert competitive.ratio(found(1.0, 1.0), 0.0) == (math.inf, math.inf)


# Counterexamples by their numbers


@pytest.mark.parametrize(
    ("capacity", "utility", "two_alpha"),
    [(10.0, 10.0, 8.4), (10.0, 100.0, 13.0), (10.0, 1000.0, 17.6), (1000.0, 1000.0, 30.4)],
)
def test_theorem_4_fails_by_hand(capacity: float, utility: float, two_alpha: float) -> None:
    instance = cases.by_hand(capacity, utility)
    earned = played(instance, steep=False)[1]
    assert optimum(instance) == pytest.approx((utility, utility))
    assert earned == 1.0
    assert 2 * instance.announced.alpha() == pytest.approx(two_alpha, abs=0.05)
    assert utility / earned > 2 * instance.announced.alpha()


def test_the_printed_dual_is_below_the_optimum() -> None:
    found = competitive.duals(cases.by_hand(10.0, 10.0), played(cases.by_hand(10.0, 10.0), False)[0])
    after = 0.25 * math.exp(0.6 * math.log(10.0 / 0.6 / 0.25))  # the price of either machine
    assert found.start == pytest.approx(0.5)
    assert found.printed == pytest.approx(0.7 + 2 * after)
    assert found.printed == pytest.approx(6.9, abs=0.05)
    assert found.repaired == pytest.approx(2 * after + 10 - 2 * 0.6 * after)
    assert found.raised == pytest.approx(0.7 + 2 * 10 / 0.6)


def test_the_bound_for_finite_steps_fails_too() -> None:
    instance = cases.by_hand(10.0, 1000.0)
    alpha, share = instance.announced.alpha(), instance.announced.share
    assert share == 0.6
    assert 2 * competitive.finite_steps(alpha, share) == pytest.approx(653.15, abs=0.01)
    assert 1000.0 / played(instance, False)[1] == pytest.approx(1000.0)
    rising, best = cases.rising(5, 100.0, 20)
    alpha = rising.announced.alpha()
    assert rising.announced.share == 0.2
    assert optimum(rising)[0] == pytest.approx(best)
    assert best / played(rising, False)[1] == pytest.approx(79.57, abs=0.01)
    assert 2 * competitive.finite_steps(alpha, 0.2) == pytest.approx(62.48, abs=0.01)


def test_the_proven_bounds_hold_there() -> None:
    for instance, best in (
        (cases.by_hand(10.0, 1000.0), 1000.0),
        (cases.by_hand(1000.0, 1000.0), 1000.0),
        cases.rising(5, 100.0, 20),
        cases.rising(20, 1000.0, 5),
    ):
        for steep in (False, True):
            _, earned = played(instance, steep)
            assert best / earned <= math.exp(competitive.log_bounds(instance)[steep])


def test_least_share_counts_only_jobs_that_can_finish() -> None:
    assert competitive.least_share(cases.by_hand(10.0, 10.0)) == 0.6
    assert competitive.least_share(cases.by_hand(1000.0, 10.0)) == 0.001
    assert competitive.least_share(cases.never_done()) == 0.0


def test_prices_of_an_empty_cluster_are_l_and_of_a_full_one_u() -> None:
    instance = cases.by_hand(10.0, 10.0)
    usage = Usage(instance.setting)
    for steep in (False, True):
        usage.workers[:] = 0
        assert competitive.prices(instance.announced, usage, steep=steep)[0].item() == pytest.approx(0.25)
        usage.workers[:] = instance.setting.worker_units
        assert competitive.prices(instance.announced, usage, steep=steep)[0].item() == pytest.approx(10 / 0.6)
    usage.workers[:] = instance.setting.worker_units * 4 // 10  # all but the share of a job
    assert competitive.prices(instance.announced, usage, steep=True)[0].item() == pytest.approx(10 / 0.6)
