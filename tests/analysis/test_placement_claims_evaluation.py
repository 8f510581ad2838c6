"""Claims about the baselines of DAS: each comes to the verdict we stand for; what they are made of."""

import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.analysis.claim import Claim, Context, Verdict
from clairvoyant.analysis.experiments import Statement
from clairvoyant.analysis.placement import experiments
from clairvoyant.analysis.placement.claims import evaluation
from clairvoyant.analysis.placement.experiments import FIFO_C, FIFO_FF, JCT, OURS, SJF_C, Setup
from clairvoyant.analysis.placement.measures import measures
from clairvoyant.analysis.statistics import Interval, Paired, paired
from clairvoyant.models.base import InputError
from clairvoyant.models.placement.generate import generate
from clairvoyant.online.play import play

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="runs take minutes where kernels run as plain Python"
)


@pytest.mark.parametrize("claim", evaluation.CLAIMS, ids=lambda claim: claim.id)
def test_claim_comes_to_the_expected_verdict(claim: Claim) -> None:
    told: list[float] = []
    finding = claim.check(Context("quick", 0, told.append))
    assert finding.verdict is claim.expected
    assert finding.headline
    assert finding.tables
    for table in finding.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert told[-1] == 1.0
    assert all(a <= b for a, b in pairwise(told))
    assert all(np.isfinite(v) for v in finding.numbers.values() if isinstance(v, (int, float)))


def test_claims_belong_to_placement_and_have_names_of_their_own() -> None:
    ids = [claim.id for claim in evaluation.CLAIMS]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in evaluation.CLAIMS} == {"placement"}


def test_an_outcome_is_what_play_measures() -> None:
    setup = Setup(30, rho=2.0)
    sampled = generate("large", 5, jobs=30, cluster="small", rho=2.0)
    assert experiments.instance(setup, 5) == sampled
    run = play(SJF_C.make(), sampled, 0, keep_decisions=True)
    found = experiments.outcome(SJF_C, setup, 5)
    assert found.cost == pytest.approx(run.total)
    assert found.measures == measures(sampled, run.decisions or ())
    assert sampled.violations(found.schedule) == []


def test_decisions_that_end_too_early_are_refused() -> None:
    sampled = experiments.instance(Setup(5), 0)
    run = play(FIFO_FF.make(), sampled, 0, keep_decisions=True)
    assert run.decisions is not None
    with pytest.raises(RuntimeError, match="end before"):
        experiments.followed(sampled, run.decisions[:-1])


def test_the_same_jobs_arrive_on_every_cluster() -> None:
    small, large = (experiments.instance(Setup(20).on(cluster), 3) for cluster in ("small", "large"))
    for name in ("submit", "duration", "instances", "need", "intensity"):
        assert np.array_equal(getattr(small.jobs, name), getattr(large.jobs, name))
    assert (len(small.setting.capacity), len(large.setting.capacity)) == (8, 32)


def test_random_placing_is_feasible_and_depends_on_the_seed_alone() -> None:
    sampled = experiments.instance(Setup(40, rho=2.0), 1)
    first, again, other = (play(evaluation.RandomFit(), sampled, seed).total for seed in (0, 0, 1))
    assert first == again != other


def test_queue_over_time_is_the_mean_number_of_jobs_that_wait() -> None:
    setup, sampled = Setup(40, rho=2.0), range(2)
    at, found = experiments.queue_over_time(OURS, setup, sampled, bins=4)
    assert at.tolist() == [12.5, 37.5, 62.5, 87.5]
    for who in OURS:
        assert found[who.label].shape == (2, 4)
        for row, seed in zip(found[who.label], sampled, strict=True):
            jobs = experiments.instance(setup, seed).jobs
            start = experiments.outcome(who, setup, seed).schedule.start
            last = int(jobs.submit[-1])
            waited = (np.minimum(start, last) - jobs.submit).clip(0).sum()
            assert row.mean() * last == pytest.approx(waited)


# --- Statistics -------------------------------------------------------------------------------------------


def test_paired_by_hand() -> None:
    found = paired([3.0, 5.0, 7.0, 9.0, 12.0, 14.0], [1.0, 2.0, 3.0, 4.0, 6.0, 7.0])
    assert found.difference.mean == pytest.approx(4.5)
    assert found.p == 2 / 2**6  # all six differ in one direction
    assert found.sign() == 1
    assert not found.equal


def test_paired_without_any_difference() -> None:
    found = paired([1.0, 2.0], [1.0, 2.0])
    assert (found.p, found.equal, found.sign()) == (1.0, True, 0)
    assert found.difference == Interval(0.0, 0.0, 0.0)


def test_one_pair_decides_nothing() -> None:
    assert paired([2.0], [1.0]).sign() is None


def test_paired_refuses_what_does_not_fit() -> None:
    with pytest.raises(InputError, match="b: shape"):
        paired([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match=r"a\[1\]: not a finite number"):
        paired([1.0, np.nan], [1.0, 2.0])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=7))
def test_swapping_the_two_turns_the_sign(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, dtype=np.float64).T
    one, other = paired(a, b), paired(b, a)
    assert one.difference.mean == -other.difference.mean
    assert one.p == pytest.approx(other.p)
    sign, opposite = one.sign(), other.sign()
    assert (sign is None) == (opposite is None)
    if sign is not None and opposite is not None:
        assert sign == -opposite
        assert one.p < 0.05 or one.equal


def interval(low: float, high: float, p: float = 0.01) -> Paired:
    return Paired(Interval((low + high) / 2, low, high), p, False)


@pytest.mark.parametrize(
    ("found", "below"),
    [
        (interval(-3, -1), True),
        (interval(1, 3), False),
        (interval(-1, 3), None),
        (interval(-3, -1, p=0.2), None),
        (Paired(Interval(0.0, 0.0, 0.0), 1.0, True), False),
    ],
)
def test_less_needs_interval_and_test(found: Paired, below: bool | None) -> None:
    assert experiments.less(found) is below


def test_a_statement_must_hold_everywhere() -> None:
    assert experiments.everywhere([True, True]) is True
    assert experiments.everywhere([False, False]) is False
    for mixed in ([True, False], [True, None], [None, False], [None]):
        assert experiments.everywhere(mixed) is None


def statements(*signs: bool | None) -> list[Statement]:
    return [Statement("", "", sign) for sign in signs]


@pytest.mark.parametrize(
    ("signs", "comes_to"),
    [
        ([True, True], Verdict.HOLDS),
        ([True, None], Verdict.NOT_CHECKABLE),
        ([True, False, None], Verdict.FAILS),
        ([], Verdict.NOT_CHECKABLE),
        ([None, None], Verdict.NOT_CHECKABLE),
    ],
)
def test_what_is_undecided_counts_for_nothing(signs: list[bool | None], comes_to: Verdict) -> None:
    assert experiments.settled(statements(*signs)) is comes_to


def test_an_amended_claim_needs_its_supported_statements() -> None:
    for supported, rest, comes_to in (
        ((True, True), (True,), Verdict.HOLDS),
        ((True, True), (None,), Verdict.HOLDS_AMENDED),
        ((True, True), (False,), Verdict.HOLDS_AMENDED),
        ((True, None), (True,), Verdict.NOT_CHECKABLE),
        ((False, None), (True,), Verdict.FAILS),
    ):
        assert evaluation.as_amended(statements(*supported), statements(*rest)) is comes_to


def test_search_that_surely_adds_little_fails() -> None:
    for better, searched, comes_to in (
        ((None, True), (False, False), Verdict.FAILS),
        ((False, True), (None, None), Verdict.FAILS),
        ((True, True), (True, True), Verdict.HOLDS),
        ((None, None), (None, None), Verdict.NOT_CHECKABLE),
    ):
        assert evaluation._by_search(statements(*better), statements(*searched)) is comes_to


def test_a_share_is_at_least_its_exact_bound() -> None:
    assert evaluation.share_above(4, 4) == pytest.approx(0.05 ** (1 / 4))
    assert evaluation.share_above(0, 4) == 0.0
    assert [evaluation._often(count, 16) for count in (16, 4, 0)] == [True, None, False]


def test_a_test_that_finds_too_much_is_told_from_one_at_its_level() -> None:
    assert evaluation.at_level(np.array([30.0, 32.0, 31.0])) is False
    assert evaluation.at_level(np.array([4.0, 5.0, 4.5])) is True
    assert evaluation.at_level(np.array([0.0, 50.0, 0.0])) is None


def test_excess_counts_every_instance_the_same() -> None:
    found = experiments.excess(np.array([110.0, 2.0]), np.array([100.0, 1.0]))
    assert found.tolist() == pytest.approx([10.0, 100.0])


def test_printed_table_by_hand() -> None:
    assert evaluation._printed("DRF-FirstFit", "FIFO-FirstFit", 0, 0) == pytest.approx(19.717, abs=1e-3)
    assert pytest.approx(10.860, abs=1e-3) == evaluation.STATED_LEAD


def test_a_clearly_worse_policy_is_found_worse() -> None:
    setup, sampled = Setup(40, rho=4.0), range(8)
    assert experiments.less(experiments.versus(FIFO_FF, FIFO_FF, setup, sampled, JCT)) is False
    mine = experiments.samples(FIFO_C, setup, sampled, JCT)
    assert experiments.less(experiments.relative(mine, 1.5 * mine)) is True
