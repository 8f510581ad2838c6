"""The claims on Algorithm 2, prices and the competitive ratio: verdicts, evidence, and planted faults."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from clairvoyant.analysis.admission import CLAIMS as ALL
from clairvoyant.analysis.admission import competitive
from clairvoyant.analysis.admission.claims import cases, subroutine, theory
from clairvoyant.analysis.admission.claims.ledger import LEDGER
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import exact
from clairvoyant.models.admission.schedule import cheapest_schedule, printed_schedule
from clairvoyant.online.admission import Rrh
from clairvoyant.online.admission.oasis import Oasis, OasisPrinted
from clairvoyant.online.play import play

CHECKED = {c.id.split("/")[1]: c for c in (*subroutine.claim.claims, *theory.claim.claims)}
WITH_EXAMPLE = {Verdict.REFUTED, Verdict.HOLDS_AMENDED}
BY_REMARK = ("theorem-3", "lemma-3")
"""Amended claims that no instance shows."""


def fresh(name: str) -> Finding:
    return CHECKED[name].check(Context("quick", seed=0))


check = lru_cache(fresh)


@pytest.mark.parametrize("claim", CHECKED.values(), ids=CHECKED)
def test_verdict_is_the_expected_one_and_has_its_evidence(claim: Claim) -> None:
    """Texts are short, tables without holes, and an instance survives its file."""
    seen: list[float] = []
    finding = claim.check(Context("quick", seed=0, progress=seen.append))
    assert finding.verdict is claim.expected
    assert finding.faults == []
    assert finding.numbers or finding.tables
    assert all(0 <= fraction <= 1 for fraction in seen)
    for table in finding.tables:
        assert table.rows
        assert all(len(line) == len(table.columns) for line in table.rows)
    if finding.verdict in WITH_EXAMPLE and claim.id.split("/")[1] not in BY_REMARK:
        shown = finding.counterexample
        assert isinstance(shown, AdmissionInstance)
        assert AdmissionInstance.from_dict(shown.to_dict()) == shown


@pytest.mark.parametrize("name", ["theorem-1", "theorem-3", "theorem-2", "theorem-4", "theorem-4-steep"])
def test_same_seed_same_finding(name: str) -> None:
    assert check(name) == fresh(name)


def test_ids_are_unique_and_the_ledger_is_complete() -> None:
    """It knows every claim of the paper, names no other, and leaves out no number."""
    ids = [claim.id for claim in ALL]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in ALL} == {"admission"}
    named = {f"admission/{name}" for names in LEDGER.values() if isinstance(names, tuple) for name in names}
    assert named == {claim.id for claim in ALL if not claim.ours}
    for pattern, most in (
        (r"\((\d+)\)", 35),
        (r"Theorem (\d)", 4),
        (r"Lemma (\d)", 3),
        (r"Definition (\d)", 2),
        (r"Algorithm (\d)", 2),
        (r"Fig. (\d)", 9),
        (r"Footnote (\d)", 4),
    ):
        found = [int(m[1]) for item in LEDGER if (m := re.fullmatch(pattern, item))]
        assert sorted(found) == list(range(1, most + 1)), pattern


PRICES: Any = competitive.prices
MARGINS: Any = theory._empty_margins
LOG_BOUND: Any = competitive.log_bound
BELOW: Any = cases.below
PAYOFF: Any = subroutine.payoff


def _nothing(*_: Any) -> float:
    return 0.0


def _scaled(old: Any, by: float) -> Any:
    return lambda *given: old(*given) * by


FAULTS: dict[str, tuple[str, Any, str, Any]] = {
    "Algorithm 2 is exact": ("theorem-1", subroutine, "printed_schedule", cheapest_schedule),
    "COST_t costs more": ("theorem-1", subroutine, "printed_cost", _scaled(subroutine.printed_cost, 1.1)),
    "COST_t costs more, alone": ("cost-t", subroutine, "printed_cost", _scaled(subroutine.printed_cost, 1.1)),
    "the bound is smaller": ("theorem-3", subroutine, "MOST_PART", 0.1),
    "covers cost more": ("theorem-3", subroutine, "cheapest_cover", _scaled(subroutine.cheapest_cover, 1.1)),
    "schedules earn more": ("equivalence", subroutine, "by_schedules", _scaled(subroutine.by_schedules, 1.1)),
    "no payoff at final prices": (
        "theorem-2",
        competitive,
        "payoffs_at",
        lambda instance, _: np.zeros(len(instance.jobs)),
    ),
    "alpha does not grow": ("remark-theorem-4", theory, "_span", _nothing),
    "utilities that make it rise": ("remark-theorem-4", theory, "WORTHS", ((10.0, 1.0), (100.0, 1.0))),
    "rises of 5 % more": ("lemma-2", theory, "below", lambda small, large: BELOW(1.05 * small, large)),
    "prices squared": ("lemma-3", competitive, "prices", lambda *a: tuple(p**2 for p in PRICES(*a))),
    "steps as small as alpha": ("finite-steps", competitive, "finite_steps", lambda alpha, _: alpha),
    "D_0 four times": ("initial-dual", theory, "literal_start", _scaled(theory.literal_start, 4.0)),
    "one server per worker": ("server-volume", theory, "fewest_servers", lambda i: i.jobs[0].work),
    "U ten times smaller": (
        "appendix-a-exhausted",
        theory,
        "_kept_out",
        lambda _: False,
    ),
    "payoffs less": (
        "appendix-a-empty",
        theory,
        "_empty_margins",
        lambda i: [(mu - 1.1 * claimed, claimed) for mu, claimed in MARGINS(i)],
    ),
    "bound too small": (
        "theorem-4-printed-prices",
        competitive,
        "log_bound",
        lambda *a: LOG_BOUND(*a) - 1.5,
    ),
    "half the dual": ("weak-duality", theory, "below", lambda small, large: BELOW(small, large / 2)),
    "small jobs that are worth much the same": ("theorem-4", cases, "SMALL_JOBS", (100, 2.0, 1)),
    "a printed schedule that is exact": ("whole-chunks", subroutine, "OasisPrinted", Oasis),
    "a printed schedule of nothing": (
        "whole-chunks",
        subroutine,
        "OasisPrinted",
        lambda **_: Rrh(threshold=1e9),
    ),
    "slack everywhere": ("whole-chunks", subroutine, "has_slack", lambda _: True),
    "a payoff more": ("exact-schedule", subroutine, "payoff", lambda case: PAYOFF(case) + 1.0),
}
"""By name: a claim, and what is put where in the code that its check rests on."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check depends on what it computes: another verdict comes out."""
    name, module, attribute, other = FAULTS[fault]
    monkeypatch.setattr(module, attribute, other)
    assert fresh(name).verdict is not CHECKED[name].expected


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
    small = subroutine.small_chunks()
    assert (small.jobs[0].work, small.jobs[0].chunk_time) == (4, exact(0.03))
    assert play(Oasis(floor=False), small).total == 100.0
    assert play(OasisPrinted(floor=False), small).total == 0.0
    late, few = subroutine.dear_chunks(), Oasis(floor=False)
    assert play(few, late).total == pytest.approx(200.0)
    assert len(few.plans[1].schedule.workers) == 4
    assert play(OasisPrinted(floor=False), late).total == pytest.approx(100.0)


def test_slack_is_time_for_whole_chunks_in_every_slot() -> None:
    for given in subroutine.PRINTED_CASES:
        assert not subroutine.has_slack(subroutine.unit_case(*given))
    assert subroutine.has_slack(subroutine.unit_case(4, 4, 2, 0.4, 1.0))
    assert subroutine.has_slack(subroutine.unit_case(2, 2, 1, 1.0, 10.0))
    assert not subroutine.has_slack(subroutine.unit_case(1, 2, 1, 1.5, 1.0))  # no schedule at all


def test_a_wider_range_of_utilities_may_lower_alpha() -> None:
    (table,) = check("remark-theorem-4").tables
    assert [row[2] for row in table.rows] == pytest.approx([10.0, 40.0, 1000.0])
    assert [row[3] for row in table.rows] == pytest.approx([4e7, 1e7, 4e6])  # by hand


def test_printed_payoffs_are_never_above_the_exact_ones() -> None:
    """Some plan workers that have nothing left to do: cut off when the work is done they would pay more."""
    worse, spare = 0, []
    for case in subroutine.random_cases(np.random.default_rng(3), 3000):
        plan, exact = printed_schedule(case.job, case.offer), subroutine.payoff(case)
        worse += (0.0 if plan is None else max(0.0, plan.payoff)) < exact - 1e-9
        if plan is not None:
            assert plan.payoff <= exact + 1e-9 or exact == 0.0
            rows = plan.schedule.workers
            done = int(rows[np.argmax(np.cumsum(rows[:, 3]) >= case.job.work), 0])
            if done < plan.completion:
                kept = plan.schedule.workers[rows[:, 0] <= done], plan.schedule.servers
                costs = (case.offer.worker_cost, case.offer.server_cost)
                cut = case.job.utility(done - 1) - sum(
                    float((part[:, 3] * cost[part[:, 0] - 1, part[:, 2]])[part[:, 0] <= done].sum())
                    for part, cost in zip(kept, costs, strict=True)
                )
                spare.append(cut - plan.payoff)
    assert worse > 5
    assert len(spare) >= 5
    assert min(spare) >= -1e-9
    assert max(spare) > 1.0


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
        instance, (least, most) = cases.solved(seed)
        assert least <= most <= least * (1 + 1e-6) + 1e-9
        assert cases.random_instance(seed) == instance


def test_the_printed_dual_is_below_the_optimum_in_print_and_at_random() -> None:
    found = check("theorem-2").numbers
    first = cases.hand_run(*cases.HAND[0])
    assert first.duals.printed == pytest.approx(6.91, abs=0.005)
    assert first.least == 10.0
    assert float(found["D_I of the counterexample"]) < float(found["its optimum"])
    assert int(found["of infeasible duals"]) >= int(found["with D_I below the optimum"])
    assert int(found["with D_I below the optimum"]) > 0
    assert found["runs that break a constraint"] == 0


def test_mended_duals_are_valid_and_loose() -> None:
    printed, raised, repaired = check("weak-duality").tables[0].rows
    assert printed[1] < printed[2] == raised[1] == repaired[1]
    assert min(raised[5], repaired[5]) > 5


def test_theorem_4_fails_by_its_numbers() -> None:
    rows = check("theorem-4").tables[0].rows
    assert [row[5] for row in rows] == [10.0, 100.0, 1000.0, 1e6]
    assert [row[6] for row in (rows[0], rows[1], rows[3])] == pytest.approx([8.40, 13.00, 44.22], abs=0.005)


def test_the_bound_for_finite_steps_fails_by_its_numbers() -> None:
    rows = check("theorem-4-finite-steps").tables[0].rows
    assert rows[2][2:] == pytest.approx((1000.0, 653.15), abs=0.01)
    fifth = next(row for row in rows if "shares of 1/5, a last job of 20/" in row[0])
    assert fifth[2] > fifth[3]


@pytest.mark.parametrize("steep", [False, True])
def test_the_proven_bounds_hold_in_every_run_of_the_claims(steep: bool) -> None:
    found = check("theorem-4-steep" if steep else "theorem-4-printed-prices").numbers
    assert found["runs that break the bound or a step of the proof"] == 0
    assert 0.1 < float(found["largest ratio / bound"]) <= 1.0


def test_a_wrong_bound_or_dual_would_be_seen() -> None:
    run = cases.hand_run(10.0, 1000.0)
    assert theory.proof_holds(run, competitive.log_bounds(run.instance)[0], steep=False)
    assert not theory.proof_holds(run, math.log(200.0), steep=False)


def test_lemma_1_needs_a_dual_that_is_feasible() -> None:
    found = check("lemma-1").numbers
    assert float(found["F = 10^6: OPT / ALG"]) > 2 * float(found["F = 10^6: alpha of the condition"])
    assert float(found["F = 10^6: alpha of the condition"]) == pytest.approx(288540.18, abs=0.01)
    assert found["of these above 2 alpha"] == 0
    assert int(found["runs with D_I >= OPT"]) > 20


def test_rising_utilities_are_all_taken_before_the_best_ones_do_not_fit() -> None:
    for parts, last in ((5, 20), (5, 0), (10, 10)):
        run = cases.rising_run(parts, 100.0, last)
        small = len(run.instance.jobs) - parts
        assert sorted(run.policy.plans) == list(range(small))
        assert run.earned == pytest.approx(sum(job.utility(0) for job in run.instance.jobs[:small]))
        assert run.least == parts * 100.0


def test_a_job_is_admitted_to_a_machine_beside_an_exhausted_one() -> None:
    policy = Oasis(floor=False)
    assert play(policy, theory.other_machine()).total == pytest.approx(2.0)
    assert policy.usage.workers[0].tolist() == [[10_000_000], [10_000_000]]


def test_jobs_that_can_never_finish_must_not_count() -> None:
    none = cases.never_done()
    assert theory.literal_start(none) == pytest.approx(0.5)
    policy = Oasis(floor=False)
    assert play(policy, none).total == 0.0
    assert competitive.duals(none, policy).start == 0.0
    assert theory.literal_start(cases.by_hand(10.0, 10.0)) == pytest.approx(0.5)


def test_the_floor_rejects_a_job_in_an_empty_cluster() -> None:
    slow = cases.late_job(1, 10, 10)
    assert play(Oasis(floor=False), slow).total == pytest.approx(100 / (1 + math.exp(40)))
    assert play(Oasis(floor=True), slow).total == 0.0


@pytest.mark.parametrize(
    ("chunks", "wide", "fewest"), [(10, 1.0, 10), (10, 2.0, 5), (10, 3.0, 4), (8, 8.0, 1)]
)
def test_fewest_parameter_servers(chunks: int, wide: float, fewest: int) -> None:
    instance = subroutine.one_job(1, chunks, 1, 1.0, server_bandwidth=wide)
    assert instance.jobs[0].work == chunks
    assert theory.fewest_servers(instance) == fewest


def test_u_as_printed_is_larger_for_late_jobs_only() -> None:
    late = cases.late_job(10, 3, 12)
    assert theory.with_arrival(late).alpha() > late.announced.alpha() + 5
    first = subroutine.one_job(4, 2, 2, 1.0, worth=50.0, decay=1.0, target=1.0)
    assert theory.with_arrival(first).alpha() == pytest.approx(first.announced.alpha())
    np.testing.assert_allclose(theory.with_arrival(first).upper_workers, first.announced.upper_workers)


def test_two_alpha_is_above_the_number_of_jobs() -> None:
    for line in check("size-of-alpha").tables[0].rows:
        _, _, jobs, twice, *_ = line
        assert twice > 10 * jobs
