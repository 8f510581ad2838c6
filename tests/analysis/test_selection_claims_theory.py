"""The claims on the theorems and on Algorithm 2: verdicts over seeds, and the numbers they rest on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clairvoyant.analysis.claim import Claim, Context, Finding
from clairvoyant.analysis.selection import algorithm, regret, theory
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.online.play import play
from clairvoyant.online.selection import Esdp
from clairvoyant.online.selection.printed import algorithm_2, algorithm_2_repaired, select

CHECKED = [*algorithm.CLAIMS, *theory.CLAIMS]


def check(name: str, seed: int = 0) -> Finding:
    return next(c for c in CHECKED if c.id == f"selection/{name}").check(Context("quick", seed=seed))


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
    for figure in finding.figures:
        assert figure.name.startswith("selection-")
        assert figure.svg.startswith("<svg")


@pytest.mark.parametrize("name", ["algorithm-2", "index-error", "theorem-2", "certificate"])
def test_same_seed_same_finding(name: str) -> None:
    assert check(name, 4) == check(name, 4)


def test_ids_are_unique_and_name_the_problem() -> None:
    ids = [claim.id for claim in CHECKED]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in CHECKED} == {"selection"}


def test_failing_claims_on_instances_carry_the_instance() -> None:
    for name in (
        *("algorithm-2", "unattainable-s", "truncated-s", "infinite-sigma"),
        *("theorem-1", "index-error", "theorem-2"),
    ):
        found = check(name).counterexample
        assert isinstance(found, SelectionInstance)
        assert SelectionInstance.from_dict(found.to_dict()) == found


def test_algorithm_2_loses_the_set_where_a_channel_is_not_taken() -> None:
    given = algorithm.NOT_HANDED_ON
    x, values = algorithm_2(given.upsilon, given.sigma2, given.demand, given.capacity, 0)
    better, _ = algorithm_2_repaired(given.upsilon, given.sigma2, given.demand, given.capacity, 0)
    assert values.tolist() == [3.0]
    assert x.astype(int).tolist() == [[0, 0]]
    assert better.astype(int).tolist() == [[0, 1]]
    found = check("algorithm-2").numbers
    assert found["cases with all V(s) right (%)"] == 100
    assert float(found["cases with all x(s) right (%)"]) < 60
    assert found["cases with all right when repaired (%)"] == 100


def test_an_unattainable_s_wins_although_nothing_reaches_it() -> None:
    given = algorithm.UNREACHED
    x, values = algorithm_2_repaired(given.upsilon, given.sigma2, given.demand, given.capacity, given.s_max)
    assert select(x, values, given.sigma2, "printed")[0] == 8
    assert select(x, values, given.sigma2, "dropped")[0] == 2
    assert algorithm.largest_index(given) == 4.0


def test_infinite_sigma_gives_what_is_not_a_number_and_explores_nothing() -> None:
    found = check("infinite-sigma").numbers
    assert found["channels ever chosen as printed"] == 0
    assert found["channels ever chosen with x handed on"] == algorithm.EXCLUSIVE
    assert int(found["V(s) that are not numbers in slot 1"]) > 0


@pytest.mark.parametrize("handed_on", [False, True])
def test_the_plain_recursion_is_that_of_the_compiled_ones_where_sigma_is_finite(handed_on: bool) -> None:
    rng = np.random.default_rng(5)
    for given in algorithm.random_cases(rng, 30):
        solve = algorithm_2_repaired if handed_on else algorithm_2
        x, values = solve(given.upsilon, given.sigma2, given.demand, given.capacity, given.s_max)
        expected = select(x, values, given.sigma2)[1]
        missing, found = algorithm.literal_selection(
            given, given.sigma2.astype(float), nan="lowest", handed_on=handed_on
        )
        assert missing == 0
        assert found.astype(bool).tolist() == expected.tolist()


def test_algorithm_2_fills_a_cell_for_every_s_state_and_channel_and_one_more() -> None:
    for given in algorithm.random_cases(np.random.default_rng(2), 5):
        states = int(np.prod(given.capacity + 1))
        assert algorithm.cells(given) == (len(given.upsilon) + 1) * (given.s_max + 1) * states


def test_the_bound_of_escb_says_nothing_at_the_size_of_sec_4() -> None:
    assert theory.escb_bound(33, 9, 0.001, 8000) == pytest.approx(
        16 * 33 * 3 * math.log(8000) / 0.001 + 4 * 33 * 9**3 / 1e-6
    )
    found = check("theorem-2-condition").numbers
    assert float(found["bound of [28] for ESCB, T = 8000, least"]) > 8000 * 12


def test_the_chernoff_bound_is_false_where_the_print_drops_mu() -> None:
    found = check("all-ports").numbers
    low, high = float(found["false from rho, |L| = 8"]), float(found["false up to rho, |L| = 8"])
    for rho, wrong in ((low - 1e-6, False), (low + 1e-6, True), (high - 1e-6, True), (high + 1e-6, False)):
        assert (rho**8 > theory.printed_probability(8, rho)) is wrong
    assert found["probability, |L| = 100, rho = 0.9"] == pytest.approx(2.7e-5, rel=0.02)
    assert found["bound as printed, |L| = 100, rho = 0.9"] == pytest.approx(3.3e-15, rel=0.02)


def test_the_index_error_of_a_run_is_above_delta_and_below_the_amended_bound() -> None:
    instance = check("index-error").counterexample
    assert isinstance(instance, SelectionInstance)
    run = play(Esdp(), instance, keep_decisions=True)
    at, error, delta = theory.index_errors(instance, np.array(run.decisions, dtype=bool), 1, 10**6)
    assert at[-1] == instance.setting.slots - 1
    assert error[-1] > delta[-1]
    assert error[-1] <= delta[-1] + 1 / math.ceil(1 / delta[-1])
    assert (error[:-1] <= delta[:-1]).all()


def test_the_printed_form_loses_its_least_slope_even_with_the_means_known() -> None:
    found = check("theorem-2").numbers
    predicted, known = (
        float(found["predicted slope (reward per slot)"]),
        float(found["slope with the means known"]),
    )
    assert 0.2 < predicted < 0.6
    assert known == pytest.approx(predicted, abs=0.15)
    assert float(found["measured slope, second half"]) > predicted
    smallest = theory.two_ports(4000, 0)
    assert regret.blind_slope(smallest, theory.RHO) == pytest.approx(0.045)


def test_certificates_and_bounds_are_above_what_was_measured() -> None:
    found = check("certificate").numbers
    assert float(found["largest regret less certificate"]) <= 1e-6
    assert float(found["largest regret less strict certificate"]) <= 1e-6
    cucb = check("cucb-bound").numbers
    assert 0 < float(cucb["largest regret of a run / bound"]) <= 1


def test_the_condition_of_theorem_2_begins_beyond_any_horizon() -> None:
    found = check("theorem-2-condition").numbers
    assert float(found["ln(1 + ln t) needed at least"]) > 100 * float(found["ln(1 + ln t) at T = 8000"])
    assert found["slots needed for a gap of 1"] == pytest.approx(math.exp(math.exp(3) - 1))


def test_less_regret_on_every_instance_where_capacity_binds() -> None:
    for seed in range(2):
        found = check("arrival-aware", seed).numbers
        assert found["of these below the printed form"] == found["instances where capacity binds"]
