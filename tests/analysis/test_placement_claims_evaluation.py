"""Claims about the baselines of DAS: each comes to the verdict we stand for; what they are made of."""

import csv
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.analysis.claim import Claim, Context, Verdict
from clairvoyant.analysis.placement import experiments
from clairvoyant.analysis.placement.claims import evaluation
from clairvoyant.analysis.placement.experiments import FEE, FIFO_C, FIFO_FF, JCT, SJF_C, Contender, Setup
from clairvoyant.analysis.placement.measures import measures
from clairvoyant.analysis.statistics import Interval, paired
from clairvoyant.models.base import InputError
from clairvoyant.models.placement.generate import HOURLY, generate
from clairvoyant.models.placement.jobs import TICKS
from clairvoyant.online.play import play

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("CLAIRVOYANT_TRACES", ROOT.parent / "shared" / "traces"))

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="runs take minutes where kernels run as plain Python"
)


@pytest.mark.parametrize("claim", evaluation.claim.claims, ids=lambda claim: claim.id)
def test_claim_comes_to_the_expected_verdict(claim: Claim) -> None:
    told: list[float] = []
    finding = claim.find(Context("quick", 0, told.append))
    assert claim.as_expected(finding)
    assert finding.faults == []
    assert finding.tables
    for table in finding.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert told[-1] == 1.0
    assert all(np.isfinite(v) for v in finding.numbers.values() if isinstance(v, (int, float)))


def test_claims_belong_to_placement_and_have_names_of_their_own() -> None:
    ids = [claim.id for claim in evaluation.claim.claims]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in evaluation.claim.claims} == {"placement"}


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
    small, large = (experiments.instance(Setup(20, cluster), 3) for cluster in ("small", "large"))
    for name in ("submit", "duration", "instances", "need", "intensity"):
        assert np.array_equal(getattr(small.jobs, name), getattr(large.jobs, name))
    assert (len(small.setting.capacity), len(large.setting.capacity)) == (8, 32)


def test_random_placing_is_feasible_and_depends_on_the_seed_alone() -> None:
    sampled = experiments.instance(Setup(40, rho=2.0), 1)
    first, again, other = (play(evaluation.RandomFit(), sampled, seed).total for seed in (0, 0, 1))
    assert first == again != other


def test_what_a_policy_does_not_see_makes_no_other_run() -> None:
    plain, told = Setup(60, rho=8.0), Setup(60, rho=8.0, estimate_error=3.0)
    assert experiments.outcome(FIFO_FF, told, 1) is experiments.outcome(FIFO_FF, plain, 1)
    by_estimate = Contender("x", "sjf-estimate-consolidate")
    assert experiments.outcome(by_estimate, told, 1).cost != experiments.outcome(SJF_C, told, 1).cost
    for name in ("submit", "duration", "instances", "need", "intensity"):
        one, other = (getattr(experiments.instance(setup, 1).jobs, name) for setup in (plain, told))
        assert np.array_equal(one, other)
    tiny = Setup(4, None, 3.0, size="tiny")
    assert experiments.optimum(replace(tiny, estimate_error=0.5), 1) is experiments.optimum(tiny, 1)


# --- Statistics -------------------------------------------------------------------------------------------


def test_paired_by_hand() -> None:
    found = paired([3.0, 5.0, 7.0, 9.0, 12.0, 14.0], [1.0, 2.0, 3.0, 4.0, 6.0, 7.0])
    assert found.difference.mean == pytest.approx(4.5)
    assert found.p == 2 / 2**6  # all six differ in one direction
    assert found.difference.low > 0.0


def test_paired_without_any_difference() -> None:
    found = paired([1.0, 2.0], [1.0, 2.0])
    assert found.p == 1.0
    assert found.difference == Interval(0.0, 0.0, 0.0)


def test_one_pair_decides_nothing() -> None:
    found = paired([2.0], [1.0])
    assert np.isnan([found.difference.low, found.difference.high]).all()
    assert found.p == 1.0


def test_paired_refuses_what_does_not_fit() -> None:
    with pytest.raises(InputError, match="b: shape"):
        paired([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match=r"a\[1\]: nan is not a finite number"):
        paired([1.0, np.nan], [1.0, 2.0])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=7))
def test_swapping_the_two_turns_the_difference(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, dtype=np.float64).T
    one, other = paired(a, b), paired(b, a)
    assert one.difference.mean == -other.difference.mean
    assert one.p == pytest.approx(other.p)
    assert (one.difference.low, one.difference.high) == (-other.difference.high, -other.difference.low)


def test_excess_counts_every_instance_the_same() -> None:
    found = experiments.excess(np.array([110.0, 2.0]), np.array([100.0, 1.0]))
    assert found.tolist() == pytest.approx([10.0, 100.0])


def test_printed_leads_by_hand() -> None:
    assert evaluation.printed_lead("DRF-FirstFit", 0, JCT) == pytest.approx(19.717, abs=1e-3)
    assert evaluation.printed_lead("Tetris", 2, FEE) == pytest.approx(3.690, abs=1e-3)


def test_who_is_ahead_has_the_lower_cost() -> None:
    setup, sampled = Setup(40, rho=4.0), range(3)
    found = evaluation.Trial(Context(), sampled, {"": setup}).ahead(FIFO_C, FIFO_FF)[""]
    ours, theirs = (experiments.samples(who, setup, sampled, JCT) for who in (FIFO_C, FIFO_FF))
    assert found.tolist() == pytest.approx((100.0 * (theirs - ours) / ours).tolist())


def test_the_gain_in_figure_7_is_what_is_saved_at_high_less_that_at_low() -> None:
    def saved(rho: float) -> np.ndarray:
        better, worse = (
            experiments.samples(who, Setup(60, rho=rho), range(5), JCT) for who in (FIFO_C, FIFO_FF)
        )
        result: np.ndarray = 100.0 * (worse - better) / worse
        return result

    found = next(c for c in evaluation.claim.claims if c.id == "placement/figure-7").find(Context("quick"))
    (row,) = [row for row in found.tables[0].rows if "better placing (" in row[0]]
    assert row[1].startswith(f"{float((saved(4.0) - saved(1.0)).mean()):+.1f} ± ")


def test_the_test_over_jobs_has_two_sides() -> None:
    """Of six differences of one sign 2 of 2^6 orders are as far off, of five 2 of 2^5."""
    for jobs, found in ((6, True), (5, False)):
        more = np.arange(1.0, jobs + 1.0)
        assert (paired(more, np.zeros(jobs)).p < evaluation.LEVELS["JCT"]) is found
        assert (paired(np.zeros(jobs), more).p < evaluation.LEVELS["JCT"]) is found
    balanced = np.array([1.0, -2.0, 3.0, -4.0, -5.0, 6.0, 7.0, -8.0])
    assert paired(balanced, np.zeros(8)).p > evaluation.LEVELS["JCT"]


def test_busy_hours_by_hand() -> None:
    """Two jobs in the busiest hour and one in the quietest; the second day counts like the first."""
    hour = 3600 * TICKS
    assert evaluation.by_hours(np.array([0, 24, 23], dtype=np.int64) * hour) == pytest.approx(100.0)


@pytest.mark.parametrize("fault", ["no large jobs", "no long tail"])
def test_jobs_unlike_those_of_figure_4_are_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = experiments.instance

    def planted(setup: Setup, seed: int) -> SimpleNamespace:
        jobs = real(setup, seed).jobs
        gpus, duration = jobs.gpus, jobs.duration
        if fault == "no large jobs":
            gpus = np.minimum(gpus, 32)
        else:
            duration = 3600.0 + np.arange(len(jobs))
        return SimpleNamespace(jobs=SimpleNamespace(gpus=gpus, duration=duration))

    claim = next(c for c in evaluation.claim.claims if c.id == "placement/figure-4")
    assert claim.find(Context("quick")).verdict is Verdict.HOLDS
    monkeypatch.setattr(experiments, "instance", planted)
    assert claim.find(Context("quick")).verdict is Verdict.NOT_REPRODUCED


def test_days_without_busy_hours_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = next(c for c in evaluation.claim.claims if c.id == "placement/figure-4-hours")
    for days, verdict in (((30, -30, 20, -20), Verdict.UNDETERMINED), ((-9, -8, -7), Verdict.NOT_REPRODUCED)):
        monkeypatch.setattr(evaluation, "DAYS", days)
        assert claim.find(Context("quick")).verdict is verdict


@pytest.mark.skipif(not REAL.is_dir(), reason="the traces are not here")
def test_the_days_are_those_of_the_trace() -> None:
    with (REAL / "alibaba-gpu-v2020" / "pai.csv").open(encoding="utf-8") as file:
        rows = [(int(float(row["hourofyear"])), int(row["job_name"])) for row in csv.DictReader(file)]
    hours, tasks = np.array(rows[: 24 * len(evaluation.DAYS)]).T
    assert (hours % 24 == np.arange(hours.size) % 24).all()
    busy, days = np.argsort(HOURLY), tasks.reshape(-1, 24)
    most, least = days[:, busy[-evaluation.HOURS :]].sum(1), days[:, busy[: evaluation.HOURS]].sum(1)
    assert tuple(np.round(100.0 * (most / least - 1.0))) == evaluation.DAYS


def test_where_a_job_holds_back_others_is_played_by_rules_that_do() -> None:
    for who in (*experiments.HEURISTICS, *experiments.OURS):
        strict = evaluation.holding(who)
        assert (strict == who) == (who == experiments.TETRIS)
        made = strict.make()
        assert who == experiments.TETRIS or (made.strict and not who.make().strict)  # type: ignore[attr-defined]
