"""The claims on the theorems and on Algorithm 2: the numbers they rest on, and planted faults."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from clairvoyant.analysis.claim import Context, Finding, Verdict
from clairvoyant.analysis.selection import CLAIMS, experiments, regret
from clairvoyant.analysis.selection.claims import algorithm, gangs, ours, tables, theory
from clairvoyant.analysis.selection.experiments import ESDP
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.online.play import play
from clairvoyant.online.selection import Esdp, EsdpPrinted, statistics
from clairvoyant.online.selection.printed import algorithm_2, algorithm_2_repaired, select

HOLDS, REFUTED = Verdict.HOLDS, Verdict.REFUTED


def check(name: str, seed: int = 0) -> Finding:
    return next(c for c in CLAIMS if c.id == f"selection/{name}").check(Context("quick", seed=seed))


class TestAlgorithm2:
    def test_loses_the_set_where_a_channel_is_not_taken(self) -> None:
        given = algorithm.NOT_HANDED_ON
        x, values = algorithm_2(given.upsilon, given.sigma2, given.demand, given.capacity, 0)
        better, _ = algorithm_2_repaired(given.upsilon, given.sigma2, given.demand, given.capacity, 0)
        assert values.tolist() == [11.0]
        assert x.astype(int).tolist() == [[0, 0]]
        assert better.astype(int).tolist() == [[0, 1]]
        found = check("algorithm-2").numbers
        assert found["all values V(s) right (%)"] == 100
        assert float(found["all sets x(s) right (%)"]) < 60

    def test_the_case_holds_what_esdp_knows_in_slot_4(self) -> None:
        xi = math.ceil(1.0 / float(statistics.delta("loglog", 4)))
        sigma2 = [math.ceil(xi * xi * 0.5 * float(statistics.g("full", 4, 1)) / n) for n in (2, 1)]
        assert algorithm.NOT_HANDED_ON.sigma2.tolist() == sigma2
        assert algorithm.NOT_HANDED_ON.upsilon.tolist() == [math.ceil(xi * 0.5)] * 2

    def test_an_unattainable_s_wins_although_nothing_reaches_it(self) -> None:
        given = algorithm.case([2], [4], [[1]], [1], 8)
        x, values = algorithm_2_repaired(
            given.upsilon, given.sigma2, given.demand, given.capacity, given.s_max
        )
        assert select(x, values, given.sigma2, "printed")[0] == 8
        assert select(x, values, given.sigma2, "dropped")[0] == 2
        assert given.indices().max() == 4.0
        used = check("unattainable-s")
        assert list(used.numbers.values()) == [22, 1000]
        assert "in 978 of 1000 slots" in used.headline

    def test_infinite_sigma_earns_nothing_beside_a_port_without_jobs(self) -> None:
        found = check("infinite-sigma").numbers
        assert found["slots that earn something, first of equals"] == 1
        assert found["slots that earn something, last of equals"] == 0
        assert found["values V(s) of the first slot"] == 3
        assert found["of these not a number in floating point"] == 2

    def test_the_plain_table_is_that_of_the_compiled_recursion(self) -> None:
        for given in algorithm.random_cases(np.random.default_rng(5), 30):
            x, values = algorithm_2(*given)
            cells, full = algorithm.literal_table(given), tuple(given.capacity.tolist())
            found = [cells[s, full, 0] for s in range(given.s_max + 1)]
            assert [value for value, _ in found] == values.tolist()
            assert [chosen.tolist() for _, chosen in found] == x.astype(float).tolist()

    def test_fills_a_cell_for_every_s_state_and_channel_and_one_more(self) -> None:
        for given in algorithm.random_cases(np.random.default_rng(2), 5):
            states = int(np.prod(given.capacity + 1))
            filled = len(algorithm.literal_table(given))
            assert filled == (len(given.upsilon) + 1) * (given.s_max + 1) * states

    def test_statistics_as_they_occur_keep_what_a_run_keeps(self) -> None:
        rng = np.random.default_rng(1)
        for _ in range(30):
            given, known = algorithm.occurring(rng)
            assert ((known.mean >= 0) & (known.mean <= 1) & (known.spread > 0)).all()
            assert given.s_max >= (given.sets @ given.upsilon).max()
            assert (given.upsilon <= known.xi).all()

    def test_alpha_costs_a_run_on_six_channels_most_of_what_there_is_to_lose(self) -> None:
        here = algorithm.six_channels(300)
        lost = [1500 - play(EsdpPrinted(alpha=a), here).total for a in (0.5, 1.0)]
        assert lost[0] > 10 * lost[1] > 0


class TestTheorems:
    def test_no_delta_reaches_a_quarter_of_the_gaps(self) -> None:
        found = check("theorem-2-condition").numbers
        assert float(found["4 delta(T) at T = 8000, loglog"]) > 10 * float(
            found["smallest positive gap, largest over instances"]
        )

    def test_the_chernoff_bound_is_false_where_the_print_drops_mu(self) -> None:
        found = check("all-ports")
        low, high = (float(found.numbers[f"false {end}, |L| = 8"]) for end in ("from rho", "up to rho"))
        step = 1e-4  # of the grid
        for rho, wrong in ((low - step, False), (low, True), (high, True), (high + step, False)):
            assert (rho**8 > theory.printed_probability(8, rho)) is wrong
        assert 1e9 * theory.printed_probability(100, 0.9) < 0.9**100
        excess = [v for k, v in found.numbers.items() if k.startswith("largest")]
        assert [float(v) > 1e-9 for v in excess] == [False, False, True]

    def test_the_index_error_of_a_run_is_above_delta_and_below_the_amended_bound(self) -> None:
        instance = check("index-error").counterexample
        assert isinstance(instance, SelectionInstance)
        run = play(Esdp(), instance, keep_decisions=True)
        at, error, delta = theory.index_errors(instance, np.array(run.decisions, dtype=bool))
        assert at[-1] == instance.setting.slots - 1
        assert error[-1] > delta[-1]
        assert error[-1] <= delta[-1] + 1 / math.ceil(1 / delta[-1])
        assert (error[:-1] <= delta[:-1]).all()

    def test_the_printed_form_loses_at_least_its_slope(self) -> None:
        found = check("theorem-2").numbers
        assert found["least expected regret per slot, two ports"] == pytest.approx(0.045)
        assert found["regret per slot as played, two ports"] == pytest.approx(0.045, abs=0.02)
        assert float(found["least expected regret per slot, default instances"]) > 0.2
        assert regret.blind_slope(theory.two_ports(10, 0), theory.RHO) == pytest.approx(0.045)
        alone = algorithm.one_device([(0, 0), (0, 1)], [0.5, 0.4], 10, "nobody else wants the device")
        assert regret.blind_slope(alone, theory.RHO) == pytest.approx(0.0)

    def test_one_channel_that_fits_has_regret_although_ln_1_is_0(self) -> None:
        assert check("theorem-2-symbols").numbers["regret over 400 slots of two channels, m = 1"] == 2.0
        (one, two) = (
            algorithm.one_device([(0, e) for e in range(3)], [0.9, 0.1, 0.1], 1, "", **more)
            for more in ({}, {"demand": [[2], [1], [1]], "capacity": [2]})
        )
        assert one.setting.most_channels == 1
        best = two.setting.knapsack.best(two.mean).x  # x* of (39)
        assert (best.sum(), two.setting.most_channels) == (1, 2)

    def test_theorem_1_is_missed_as_often_as_worked_out(self) -> None:
        found = check("theorem-1").numbers
        assert found["probability that (28) is reached, two ports"] == pytest.approx(0.79)
        assert float(found["share of slots that reach it"]) == pytest.approx(0.79, abs=0.04)
        assert found["p for two ports"] == pytest.approx(math.exp(-0.36 / 3))
        assert found["share of slots that reach it, one port"] == 1.0


class TestModel:
    def test_the_printed_product_divides_by_the_uses_so_far(self) -> None:
        assert list(check("matrix-13").numbers.values()) == [1.0, 0.5, 0.5]

    def test_a_channel_that_disappoints_is_not_tried_again(self) -> None:
        found = check("unbiased").numbers
        assert [found[f"mean of v-hat less 0.5 after 3 slots, g log, channel {e}"] for e in (0, 1)] == [
            -0.0625
        ] * 2

    def test_all_schedules_are_listed_once(self) -> None:
        here = theory.two_coins()
        found = {schedule.astype(int).tobytes() for schedule in theory.all_schedules(here)}
        assert len(found) == 3 * 2
        for x in product((0, 1), repeat=4):
            schedule = np.reshape(x, (2, 2))
            assert (schedule.astype(int).tobytes() in found) == (not here.violations(schedule))


class TestGangs:
    def test_one_of_two_jobs_can_run_in_the_sound_form_alone(self) -> None:
        here = gangs.two_jobs()
        assert gangs.printed_is_empty(here.setting, np.ones(2))
        assert here.violations([[0, 1]]) == []
        assert [str(v).split("[")[0] for v in here.violations([[1, 1]])] == ["capacity"]
        assert check("gang-literal").numbers["decisions of the sound form"] == 3
        assert check("gang-sound").numbers["infeasible decisions"] == 0


def test_certificates_and_bounds_are_above_what_was_measured() -> None:
    assert float(check("certificate").numbers["largest regret less certificate"]) <= 1e-6
    assert 0 < float(check("cucb-bound").numbers["largest regret of a run / bound"]) <= 1


class TestPlantedFaults:
    """What a claim rests on is changed, and its verdict follows."""

    def test_an_algorithm_2_that_hands_sets_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(algorithm, "algorithm_2", algorithm_2_repaired)
        assert check("algorithm-2").verdict is HOLDS

    def test_a_recursion_that_does_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(algorithm, "algorithm_2_repaired", algorithm_2)
        assert check("recursion").verdict is REFUTED

    def test_an_s_without_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(EsdpPrinted, "decide", Esdp.decide)
        assert check("truncated-s").verdict is HOLDS

    def test_a_selection_that_drops_what_nothing_reaches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(algorithm, "select", lambda x, v, q, _form: select(x, v, q, "dropped"))
        assert check("unattainable-s").verdict is HOLDS

    def test_a_table_that_fills_other_cells(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = algorithm.literal_table
        monkeypatch.setattr(
            algorithm, "literal_table", lambda given: {k: v for k, v in right(given).items() if any(k[1])}
        )
        assert check("algorithm-2-complexity").verdict is REFUTED

    def test_rounding_to_the_nearest(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(algorithm, "scaled", lambda v, q, xi: (np.round(xi * v), np.floor(xi * xi * q)))
        assert check("rounding").verdict is REFUTED
        assert check("chain-32").verdict is REFUTED

    def test_arrivals_that_are_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(theory, "PRINTED", ESDP)
        assert check("theorem-1").verdict is HOLDS
        assert check("theorem-2").verdict is Verdict.UNDETERMINED

    def test_a_probability_without_the_third(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = theory.printed_probability
        monkeypatch.setattr(theory, "printed_probability", lambda ports, rho: right(ports, rho) ** 3)
        assert check("theorem-1").verdict is HOLDS

    @pytest.mark.parametrize(("law", "verdict"), [(np.log1p, HOLDS), (np.sqrt, Verdict.NOT_REPRODUCED)])
    def test_a_regret_that_grows_by_one_law(
        self, monkeypatch: pytest.MonkeyPatch, law: np.ufunc, verdict: Verdict
    ) -> None:
        regrets = law(np.arange(1.0, 151.0))
        monkeypatch.setattr(experiments, "regret_of", lambda _who, _setup, seed: (1.0 + 0.1 * seed) * regrets)
        assert check("theorem-2-arrival-aware").verdict is verdict

    def test_costs_that_leave_something(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "SPREAD", 0.01)  # mu as if it were 50 times as large
        assert check("costs").verdict is HOLDS

    def test_a_certificate_that_promises_too_much(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = regret.certificate

        def half(*args: object, **more: object) -> regret.RunCertificate:
            found = right(*args, **more)  # type: ignore[arg-type]
            return regret.RunCertificate(
                0.1 * found.optimum, found.error, found.width, found.untried, found.missed
            )

        monkeypatch.setattr(ours, "certificate", half)
        monkeypatch.setattr(regret, "certificate", half)
        assert check("certificate").verdict is REFUTED

    def test_gangs_that_fit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gangs, "printed_is_empty", lambda _setting, _arrivals: False)
        assert check("gang-literal").verdict is HOLDS
