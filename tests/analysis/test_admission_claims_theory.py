"""The claims on Algorithm 2, prices and the competitive ratio: verdicts, and the numbers they rest on."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

from clairvoyant.analysis.admission import competitive, subroutine, theory
from clairvoyant.analysis.claim import Claim, Context, Finding
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.schedule import cheapest_schedule, printed_schedule
from clairvoyant.online.admission.oasis import Oasis, OasisPrinted
from clairvoyant.online.play import play

CHECKED = [*subroutine.CLAIMS, *theory.CLAIMS]


def fresh(name: str) -> Finding:
    return next(c for c in CHECKED if c.id == f"admission/{name}").check(Context("quick", seed=0))


check = lru_cache(fresh)


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


@pytest.mark.parametrize("name", ["theorem-1", "theorem-3", "theorem-2", "theorem-4", "theorem-4-steep"])
def test_same_seed_same_finding(name: str) -> None:
    assert check(name) == fresh(name)


def test_ids_are_unique_and_name_the_problem() -> None:
    ids = [claim.id for claim in CHECKED]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in CHECKED} == {"admission"}


@pytest.mark.parametrize(
    "name",
    [
        *("theorem-1", "completion-slot", "theorem-2", "theorem-4", "theorem-4-finite-steps", "lemma-1"),
        *("small-shares", "finite-steps", "initial-dual", "appendix-a-exhausted", "largest-utility"),
    ],
)
def test_failing_claims_carry_an_instance_that_survives_a_file(name: str) -> None:
    found = check(name).counterexample
    assert isinstance(found, AdmissionInstance)
    assert AdmissionInstance.from_dict(found.to_dict()) == found


# Algorithm 2


@pytest.mark.parametrize(
    ("given", "exact", "printed"),
    list(zip(subroutine.PRINTED_CASES, (94.0, 90.0, 92.0), (92.0, None, None), strict=True)),
)
def test_algorithm_2_at_unit_prices(
    given: tuple[int, int, int, float, float], exact: float, printed: float | None
) -> None:
    case = subroutine.unit_case(*given)
    best, found = cheapest_schedule(case.job, case.offer), printed_schedule(case.job, case.offer)
    assert best is not None
    assert best.payoff == exact
    assert (None if found is None else found.payoff) == printed
    assert subroutine.milp_payoff(case) == pytest.approx(exact)


def test_the_printed_programme_loses_the_only_job() -> None:
    instance = subroutine.rejected_instance()
    assert play(Oasis(floor=False), instance).total == 100.0
    assert play(OasisPrinted(floor=False), instance).total == 0.0


def test_printed_payoffs_are_never_above_the_exact_ones() -> None:
    worse = 0
    for case in subroutine.random_cases(np.random.default_rng(3), 300):
        exact, printed = subroutine.payoff(case), subroutine.payoff(case, printed=True)
        assert printed <= exact + 1e-9
        worse += printed < exact - 1e-9
    assert worse > 5


def test_the_share_of_wrong_answers_is_counted() -> None:
    found = check("theorem-1").numbers
    assert 5 < float(found["suboptimal (%)"]) < 40
    assert 2 < float(found["wrongly rejected (%)"]) <= float(found["suboptimal (%)"])


def test_the_least_cost_of_a_cover_is_that_of_the_knapsack() -> None:
    sizes, costs = np.array([3, 5, 7]), np.array([4.0, 5.0, 9.0])
    case = subroutine.knapsack_case(sizes, costs, 8)
    plan = cheapest_schedule(case.job, case.offer)
    assert subroutine.cheapest_cover(sizes, costs, 8) == 9.0
    assert case.job.work == 8
    assert plan is not None
    assert plan.cost == 8.0 + 9.0
    assert plan.schedule.servers[:, 0].tolist() == [1, 2]


# Prices, duals and ratios


def test_optima_of_random_instances_are_proved_to_the_tolerance() -> None:
    for seed in range(10):
        instance, (least, most) = theory.solved(seed)
        assert least <= most <= least * (1 + 1e-6) + 1e-9
        assert theory.random_instance(seed) == instance


def test_the_printed_dual_is_below_the_optimum_in_print_and_at_random() -> None:
    found = check("theorem-2").numbers
    assert found["D_I of the counterexample"] == pytest.approx(6.91, abs=0.005)
    assert found["its optimum"] == 10.0
    assert int(found["with D_I below the optimum"]) > 0
    assert found["runs that break a constraint"] == 0


def test_repaired_duals_are_valid_and_empty() -> None:
    found = check("weak-duality").numbers
    assert found["repaired D_I >= OPT"] == found["raised D_I >= OPT"] == found["instances"]
    assert float(found["generated instances: repaired D_I / sum of best utilities, median"]) > 10


def test_theorem_4_fails_by_its_numbers() -> None:
    found = check("theorem-4").numbers
    assert [found[f"F = {f}: OPT / ALG"] for f in (10, 100)] == [10.0, 100.0]
    assert [found[f"F = {f}: 2 alpha"] for f in (10, 100)] == pytest.approx([8.40, 13.00], abs=0.005)
    assert found["w / c = 0.001: OPT / ALG"] == 1000.0
    assert found["w / c = 0.001: 2 alpha"] == pytest.approx(30.40, abs=0.005)


def test_the_bound_for_finite_steps_fails_by_its_numbers() -> None:
    found = check("theorem-4-finite-steps").numbers
    assert found["F = 1000: OPT / ALG"] == 1000.0
    assert found["F = 1000: 2 (e^{xa} - 1) / x"] == pytest.approx(653.15, abs=0.01)
    assert float(found["x = 1/5: OPT / ALG"]) > float(found["x = 1/5: 2 (e^{xa} - 1) / x"])


@pytest.mark.parametrize("steep", [False, True])
def test_the_proven_bounds_hold_in_every_run_of_the_claims(steep: bool) -> None:
    found = check("theorem-4-steep" if steep else "theorem-4-printed-prices").numbers
    assert found["runs that break the bound or a step of the proof"] == 0
    assert 0.1 < float(found["largest ratio / bound"]) <= 1.0


def test_a_wrong_bound_or_dual_would_be_seen() -> None:
    run = theory.hand_run(10.0, 1000.0)
    assert theory.proof_holds(run, competitive.log_bounds(run.instance)[0], steep=False)
    assert not theory.proof_holds(run, math.log(200.0), steep=False)


def test_lemma_1_needs_a_dual_that_is_feasible() -> None:
    found = check("lemma-1").numbers
    assert float(found["F = 1000: OPT / ALG"]) > 2 * float(found["F = 1000: alpha of the condition"])
    assert found["of these above 2 alpha"] == 0
    assert int(found["runs with D_I >= OPT"]) > 20


def test_rising_utilities_are_all_taken_before_the_best_ones_do_not_fit() -> None:
    for parts, last in ((5, 20), (5, 0), (10, 10)):
        run = theory.rising_run(parts, 100.0, last)
        small = len(run.instance.jobs) - parts
        assert sorted(run.policy.plans) == list(range(small))
        assert run.earned == pytest.approx(sum(job.utility(0) for job in run.instance.jobs[:small]))
        assert run.least == parts * 100.0


def test_prices_alone_overfill_a_machine() -> None:
    assert theory.by_prices_alone(theory.by_hand(10.0, 10.0)) == pytest.approx(1.2)
    falling = theory.one_machine([(6.0, 6.0, 10.0), (6.0, 6.0, 1.0)])
    assert theory.by_prices_alone(falling) == pytest.approx(0.6)


def test_a_job_without_the_exhausted_resource_is_admitted() -> None:
    policy = Oasis(floor=False)
    play(policy, theory.other_resource())
    assert policy.usage.workers[0, 0].tolist() == [10_000_000, 1_000_000]


def test_jobs_that_can_never_finish_must_not_count() -> None:
    none = theory.never_done()
    assert theory.literal_start(none) == pytest.approx(0.5)
    policy = Oasis(floor=False)
    assert play(policy, none).total == 0.0
    assert competitive.duals(none, policy).start == 0.0
    assert theory.literal_start(theory.by_hand(10.0, 10.0)) == pytest.approx(0.5)


def test_the_floor_rejects_a_job_in_an_empty_cluster() -> None:
    slow = theory.late_job(1, 10, 10)
    assert play(Oasis(floor=False), slow).total == pytest.approx(100 / (1 + math.exp(40)))
    assert play(Oasis(floor=True), slow).total == 0.0


@pytest.mark.parametrize(
    ("chunks", "wide", "fewest"), [(10, 1.0, 10), (10, 2.0, 5), (10, 3.0, 4), (8, 8.0, 1)]
)
def test_fewest_parameter_servers(chunks: int, wide: float, fewest: int) -> None:
    job = subroutine.one_job(1, chunks, 1, 1.0, bandwidths=(1.0, wide)).jobs[0]
    assert job.work == chunks
    assert theory.fewest_servers(job, 1) == fewest


def test_u_as_printed_is_larger_for_late_jobs_only() -> None:
    late = theory.late_job(10, 3, 12)
    assert theory.with_arrival(late).alpha() > late.announced.alpha() + 5
    first = subroutine.one_job(4, 2, 2, 1.0, (100.0, 1.0, 1.0))
    assert theory.with_arrival(first).alpha() == pytest.approx(first.announced.alpha())
    np.testing.assert_allclose(theory.with_arrival(first).upper_workers, first.announced.upper_workers)


def test_two_alpha_is_above_the_number_of_jobs() -> None:
    for line in check("size-of-alpha").tables[0].rows:
        _, jobs, twice, *_ = line
        assert twice > 10 * jobs
