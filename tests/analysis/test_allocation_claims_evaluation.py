"""Claims about Sec. 4: verdicts, texts and tables, the same bytes for the same seed, and planted faults."""

import json
import os
import re
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clairvoyant.analysis.allocation import experiments
from clairvoyant.analysis.allocation.claims import figures, readings, steps, tables
from clairvoyant.analysis.allocation.claims.readings import UNITS
from clairvoyant.analysis.allocation.experiments import (
    BINPACKING,
    CONSTANT,
    DRF,
    FAIRNESS,
    FAIRNESS_LITERAL,
    OGASCHED,
    PER_SLOT,
    PUBLIC_CODE,
    SPREADING,
    TABLE_1,
    WHO_SEES,
    Setup,
)
from clairvoyant.analysis.claim import Context, Finding, Verdict
from clairvoyant.analysis.experiments import Contender
from clairvoyant.analysis.study import Printed, Study, judge
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.online.allocation import Drf, Fairness, Ogasched
from clairvoyant.online.play import play

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="runs take minutes where kernels run as plain Python",
)

QUICK = Context("quick")
LISTED = [*tables.claim.claims, *steps.claim.claims, *figures.claim.claims]
CLAIMS = {claim.id.partition("/")[2]: claim for claim in LISTED}
ONE_SETTING = {"binpacking-spreading", "table-2-consistency"}
EMPIRICAL = [name for name, claim in CLAIMS.items() if claim.choices and name not in ONE_SETTING]


@cache
def finding(name: str) -> Finding:
    """Return the quick finding of a claim."""
    return CLAIMS[name].find(QUICK)


@pytest.mark.parametrize("name", CLAIMS)
class TestEveryClaim:
    def test_gives_the_expected_verdict(self, name: str) -> None:
        found = finding(name)
        assert CLAIMS[name].as_expected(found), (found.verdict, found.headline)
        assert found.faults == []

    def test_tables_and_figures_are_complete(self, name: str) -> None:
        found = finding(name)
        assert found.tables or found.verdict is Verdict.NOT_CHECKABLE
        for table in found.tables:
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
            assert not re.search(r"\bnan\b|\binf\b", str(table))
        for figure in found.figures:
            assert figure.svg.startswith("<svg")
            assert WHO_SEES in figure.caption
        assert not re.search("[{}]", found.headline + str(list(found.numbers)))
        json.dumps(found.numbers)

    def test_says_who_sees_what(self, name: str) -> None:
        titles = [table.title for table in finding(name).tables]
        without = {"table-2-consistency", "running-time"}
        assert name in without or any(re.search("(before|after)", title) for title in titles)


@pytest.mark.parametrize("name", EMPIRICAL)
def test_every_claim_about_runs_goes_over_the_units(name: str) -> None:
    shown = str(finding(name).tables[0])
    assert all(units in shown for units in ("8 cores, 64 GB", "1 core, 1 GB", "public code"))
    assert any("units" in choice for choice in CLAIMS[name].choices)


def test_ids_are_unique_and_figures_have_their_own_names() -> None:
    assert len(CLAIMS) == len(LISTED)
    names = [figure.name for name in CLAIMS for figure in finding(name).figures]
    assert len(names) == len(set(names)) >= 9


@pytest.mark.parametrize("name", ["figure-6", "step-26-grows"])
def test_the_same_seed_gives_the_same_finding_and_another_seed_another(name: str) -> None:
    assert repr(CLAIMS[name].find(QUICK)) == repr(finding(name))
    assert repr(CLAIMS[name].find(replace(QUICK, seed=1))) != repr(finding(name))


def test_a_threshold_is_shown_from_both_sides() -> None:
    """Shares around 10 %: more than 3.3 % for sure, less than 30 % for sure, and 10 % is not decided."""
    shares = {"one": np.array([9.0, 11.0, 10.0, 10.5]), "other": np.array([9.5, 10.5, 10.0, 10.0])}
    (judged,) = judge([steps._above("more than {:g} %", shares, 10.0)], shares)
    assert (judged.says, judged.word) == ("more than 10 %", "undecided")
    sides = steps._around("if", "more than {:g} %", shares, 10.0)
    assert sides == {"if 3.3 %": "holds", "if 30 %": "against"}


def test_table_2_is_complete() -> None:
    assert {len(printed) for printed in tables.TABLE_2.values()} == {len(tables.ALGORITHMS)}
    assert tables.ALGORITHMS == ("OGASched", "DRF", "FAIRNESS", "BINPACKING", "SPREADING")
    assert len(tables.TABLE_2) == 11


def test_the_columns_of_table_2_are_the_settings_of_their_names() -> None:
    study = tables._columns(QUICK)
    assert study.heads == [head for head in tables.TABLE_2 if head != "T = 5000"]
    for name, turn in readings.on(QUICK).scenarios.items():
        for who in (TABLE_1, CONSTANT):
            for head, setup in (
                ("T = 10000", Setup(slots=100)),
                ("rho = 0.3", Setup(slots=20, arrival_probability=0.3)),
                ("density 3.0", Setup(slots=20, density=3.0)),
            ):
                direct = experiments.averages(who, turn(setup), study.seeds)
                column = study.found[name][who.label][:, study.heads.index(head)]
                assert column == pytest.approx(direct, rel=1e-12)


def test_inconsistency_follows_from_the_printed_numbers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding("table-2-consistency").tables[0].rows[0] == ("OGASched", 2886.33, 3117.29, "+8.00")
    mended = {**tables.TABLE_2, "rho = 0.7": tables.TABLE_2["T = 2000"]}
    monkeypatch.setattr(tables, "TABLE_2", mended)
    assert CLAIMS["table-2-consistency"].find(QUICK).verdict is Verdict.HOLDS
    monkeypatch.setattr(
        tables, "TABLE_2", {**mended, "rho = 0.7": tuple(9.0 * x for x in mended["rho = 0.7"])}
    )
    assert CLAIMS["table-2-consistency"].find(QUICK).verdict is Verdict.UNDETERMINED


def test_draws_as_far_apart_as_printed_by_hand() -> None:
    """Rewards change by 0.1, 0.05 and 0.05, and leads by 0.1, 0 and 0.1, in the three pairs of draws."""
    logs = np.array([[0.0, 0.1, 0.05], [0.0, 0.0, 0.05]])
    own, ahead, both, _ = tables.as_far_apart(logs, np.array([0.09, 0.02]))
    assert (own, ahead, both) == pytest.approx((100 / 3, 200 / 3, 100 / 3))


def test_the_chance_of_changes_is_that_of_two_draws() -> None:
    """Differences of two normal draws have chances that are uniform: a tenth is below 10 %."""
    rng = np.random.default_rng(0)
    found = [tables.as_far_apart(v[:, :-2], v[:, -1] - v[:, -2])[-1] for v in rng.normal(size=(2000, 3, 12))]
    assert np.mean(np.array(found) < 10.0) == pytest.approx(0.1, abs=0.03)


class TestReadings:
    def test_units_multiply_cpu_and_mem(self) -> None:
        usual, fine = (
            experiments.instance(UNITS[name](Setup(slots=1)), 0).setting
            for name in ("8 cores, 64 GB", "2 cores, 16 GB")
        )
        assert np.allclose(fine.capacity, usual.capacity * [4, 4, 1, 1, 1, 1])

    def test_the_public_code_has_linear_utilities_unless_they_are_given(self) -> None:
        turn = UNITS["ranges of the public code"]
        assert turn(Setup()).utility == "linear"
        assert turn(Setup(utility="log")).utility == "log"
        assert turn(Setup()).machines == turn(Setup()).requests == "uniform"

    def test_the_setting_of_the_public_code_is_the_same_whatever_the_setup(self) -> None:
        (turn,) = readings.SETTING.values()
        assert turn(Setup(utility="log", contention=20.0)) == turn(Setup())
        s = experiments.instance(turn(Setup()), 0).setting
        assert (s.ports, s.servers, s.kinds, s.slots, len(s.port)) == (20, 20, 3, 10, 110)
        assert 0.01 <= s.overhead.min() <= s.overhead.max() <= 0.1
        assert 32.0 < s.demand[:, 0].max() <= 0.4 * 128 < s.capacity[:, 0].max() <= 128
        assert PUBLIC_CODE.make() == Ogasched("decay", "fair", eta0=0.999, decay=0.99)

    def test_either_form_of_fairness_is_a_reading_of_its_own(self) -> None:
        earned = {who.label: np.array([[2.0], [2.1], [2.2]]) for who in OGASCHED}
        earned |= {FAIRNESS.label: np.array([[3.0]] * 3), FAIRNESS_LITERAL.label: np.array([[1.0]] * 3)}
        study = Study(readings.LAB, {"here": earned}, [""], range(3))
        said = readings.ours(study, "ahead", partial(readings.ahead, theirs=FAIRNESS.label))
        (judged,) = judge([said], said.samples)
        assert (judged.word, judged.signs.count(True), judged.signs.count(False)) == ("depends", 2, 2)

    def test_what_one_job_may_take_is_a_reading_of_its_own(self) -> None:
        lead = {"DRF": 9.0, "BINPACKING (quota 0.25)": 1.0, "SPREADING (quota 0.25)": 1.0}
        players = [who.label for who in experiments.ALL_FORMS]
        earned = {who: lead.get(who, 2.0 if who.startswith("OGA") else 3.0) for who in players}
        found = {who: np.array([[v], [1.001 * v], [1.002 * v]]) for who, v in earned.items()}
        study = Study(readings.LAB, {"here": found}, ["linear"], range(3))
        said = [*readings.leads(study), readings.linear(study)]
        words = {one.says: one.word for one in judge(said)}
        assert [words[f"OGASched is ahead of {who}"] for who in ("DRF", "BINPACKING", "SPREADING")] == [
            *("against", "depends", "depends")
        ]
        assert readings.by_linear(said).endswith("by what a job may take.")
        assert "behind DRF in every reading" in readings.by_linear(said)
        without = {who: v for who, v in found.items() if "quota" not in who}
        others = readings.leads(replace(study, found={"here": without}))
        assert {one.word for one in judge(others)} == {"against"}

    def test_leads_are_per_cent_of_the_larger_mean(self) -> None:
        found = {"a": np.array([[2.0], [4.0]]), "b": np.array([[1.0], [-3.0]])}
        assert readings.ahead(found, "a", "b").ravel() == pytest.approx([100 / 3, 700 / 3])
        assert readings.ahead(found, "b", "a").ravel() == pytest.approx([-100 / 3, -700 / 3])


REWARDS = st.lists(st.lists(st.floats(1.0, 1e4), min_size=2, max_size=2), min_size=3, max_size=3)


class TestStatements:
    @given(constant=REWARDS, table_1=REWARDS, drf=REWARDS)
    def test_rises_and_printed_leads_are_those_of_the_rewards(
        self, constant: list[list[float]], table_1: list[list[float]], drf: list[list[float]]
    ) -> None:
        labels = [who.label for who in (CONSTANT, TABLE_1, DRF)]
        found = dict(zip(labels, map(np.array, (constant, table_1, drf)), strict=True))
        study = Study(readings.LAB, {"here": found}, ["low", "high"], range(3))
        names = {f"here; {who.label}": who.label for who in OGASCHED}
        ours = readings.rises(study, readings.OURS, "rises")
        theirs = readings.rises(study, DRF.label, "rises")
        (printed,) = readings.printed_leads(study, "{} by {:.1f}", {DRF: 7.25})
        assert (ours.says, theirs.says, printed.says) == ("OGASched rises", "DRF rises", "DRF by 7.2")
        assert isinstance(printed, Printed)
        assert printed.number == 7.25
        for name, label in names.items():
            for said, earned in ((ours, found[label]), (theirs, found[DRF.label])):
                less, more = earned.T
                assert said.samples[name] == pytest.approx(100.0 * (more - less) / less.mean())
            over = (found[label] / found[DRF.label].mean(axis=0)).sum(axis=1)
            assert printed.samples[name].mean() == pytest.approx(50.0 * over.mean() - 100.0, abs=1e-6)


class TestPlace:
    def test_averages_over_time_are_those_of_the_first_slots(self) -> None:
        place, setup = readings.on(QUICK, [0, 1]), Setup(slots=12)
        study = place.over_time((CONSTANT, DRF), setup, [3, 12])
        assert (study.heads, study.numbers) == (["3", "12"], {"slots": 12})
        for name, turn in place.scenarios.items():
            for who in (CONSTANT, DRF):
                earned = experiments.rewards(who, turn(setup), 1)
                expected = [earned[:3].mean(), earned.mean()]
                assert study.found[name][who.label][1] == pytest.approx(expected)

    def test_slots_are_a_number_where_all_settings_have_as_many(self) -> None:
        settings = {"one": Setup(slots=2), "other": Setup(slots=2, density=2.0)}
        place = readings.on(QUICK, [0])
        assert place.play((DRF,), settings).numbers == {"slots": 2}
        assert place.play((DRF,), {**settings, "other": Setup(slots=3)}).numbers == {}

    def test_gain_less_penalty_is_the_reward(self) -> None:
        setup = Setup(slots=8)
        for who in OGASCHED:
            gain, penalty = experiments.parts(who, setup, 0)
            assert penalty > 0.0
            assert gain - penalty == pytest.approx(experiments.rewards(who, setup, 0).mean())


class TestFindings:
    def test_who_commits_first_loses_half_when_ports_take_turns(self) -> None:
        shown = finding("always-best").counterexample
        assert isinstance(shown, AllocationInstance)
        instance = shown.with_arrivals(np.tile(shown.arrivals, (25, 1)))
        assert play(Drf(), instance).total == play(Fairness(), instance).total == 200.0
        for policy in (Ogasched(), Ogasched("decay"), Ogasched(start_at="fair")):
            assert play(policy, instance).total <= 101.0

    def test_binpacking_and_spreading_coincide_at_quota_1_only(self) -> None:
        numbers = finding("binpacking-spreading").numbers
        assert numbers["slots that differ (%), quota 1"] == 0.0
        assert all(float(numbers[f"slots that differ (%), quota {q}"]) > 50 for q in (0.25, 0.5))

    def test_the_stationary_optimum_rises_with_rho_like_rho(self) -> None:
        numbers = finding("rho-monotone").numbers
        assert numbers["arrivals nested"] is True
        assert numbers["stationary optimum never falls"] is True
        assert float(numbers["least change of the stationary optimum from 0.7 to 0.9 (%)"]) > 20.0

    def test_the_stationary_optimum_never_falls_with_contention(self) -> None:
        assert finding("figure-3").numbers["stationary optimum never falls with contention beyond 1"] is True

    def test_with_units_the_lead_changes_its_sign(self) -> None:
        """With the step of Table 1 against DRF, on the defaults."""
        for units, sign in (("8 cores, 64 GB", -1.0), ("1 core, 1 GB", 1.0)):
            setup = UNITS[units](Setup(slots=100))
            ours, theirs = (experiments.averages(who, setup, range(3)) for who in (TABLE_1, DRF))
            assert ((ours - theirs) * sign > 0.0).all()

    def test_an_algorithm_that_always_wins_is_found_to_hold(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The machinery can come out either way: planted rewards decide the verdict of a claim on leads."""
        ours = {who.label for who in OGASCHED}

        def averages(wins: bool, who: Contender, _setup: Setup, seeds: range) -> np.ndarray:
            noise = np.random.default_rng(seeds[0]).normal(0.0, 0.1, len(seeds))
            result: np.ndarray = (100.0 if (who.label in ours) is wins else 50.0) + noise
            return result

        for wins, verdict in ((True, Verdict.HOLDS), (False, Verdict.NOT_REPRODUCED)):
            lab = replace(readings.LAB, averages=partial(averages, wins))
            settings = readings.varied(QUICK, "servers {}", "servers", (16, 32))
            study = readings.on(QUICK, range(6)).play(experiments.EVERYONE, settings, lab)
            found = readings.finding(study, "", readings.leads(study), title="")
            assert found.verdict is verdict


class TestExperiments:
    def test_a_shorter_instance_is_the_beginning_of_a_longer_one(self) -> None:
        for who in (TABLE_1, FAIRNESS):
            short, long = (experiments.rewards(who, Setup(slots=slots), 1) for slots in (20, 60))
            assert long[:20] == pytest.approx(short, rel=1e-12)

    def test_who_decides_when(self) -> None:
        assert not any("arrivals" in who.make().traits.sees for who in OGASCHED)
        heuristics = (DRF, FAIRNESS, BINPACKING, SPREADING)
        assert all("arrivals" in who.make().traits.sees for who in heuristics)

    def test_setups_of_the_same_instances_are_equal_and_share_their_runs(self) -> None:
        spelled = Setup(ports=10, servers=128, density=2.5, contention=10.0, slots=3)
        assert spelled == Setup(slots=3) != Setup(slots=3, density=2.0)
        drawn = generate("default", 0, ports=10, servers=128, density=2.5, contention=10.0, slots=3)
        assert experiments.instance(spelled, 0).digest() == drawn.digest()

    def test_own_steps_are_those_that_ogasched_takes(self) -> None:
        """Playing them one by one, as constant steps, gives the same decisions."""
        setup = Setup(slots=4)
        found, _ = steps.own_steps(PER_SLOT, setup, 0, 4)
        instance = experiments.instance(setup, 0)
        assert isinstance(instance, AllocationInstance)
        own = play(Ogasched("per-slot", "fair"), instance, keep_decisions=True).decisions or ()
        for slot in range(3):
            once = Ogasched("decay", own[slot], eta0=float(found[slot]), decay=1.0)
            later = instance.with_arrivals(instance.arrivals[slot : slot + 2])
            decisions = play(once, later, keep_decisions=True).decisions or ()
            assert decisions[1] == pytest.approx(own[slot + 1], abs=1e-9)
