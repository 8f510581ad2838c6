"""Claims about ESDP: verdicts, findings fit to be shown, the ledger, the runs of Sec. 4, planted faults."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict
from clairvoyant.analysis.experiments import Contender
from clairvoyant.analysis.selection import CLAIMS, experiments
from clairvoyant.analysis.selection.claims import figures, ledger, readings, tables
from clairvoyant.analysis.selection.experiments import (
    ESDP,
    ESDP_LN,
    HSWF,
    LCF,
    LWTF,
    PRINTED,
    Setup,
    variant,
)
from clairvoyant.models.base import Instance
from clairvoyant.models.selection.gang import SelectionGangInstance
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.online.play import play
from clairvoyant.online.selection import Lcf, Thompson

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="runs take minutes where kernels run as plain Python",
)

BY_NAME: dict[str, Claim] = {claim.id.removeprefix("selection/"): claim for claim in CLAIMS}
KINDS: dict[str, type[Instance]] = {"selection": SelectionInstance, "selection-gang": SelectionGangInstance}
SMALL = Setup("tiny")


@cache
def finding(name: str) -> Finding:
    return BY_NAME[name].find(Context(mode="quick", seed=0))


@pytest.mark.parametrize("name", BY_NAME)
class TestEveryClaim:
    def test_gives_the_expected_verdict_and_can_be_shown(self, name: str) -> None:
        assert BY_NAME[name].as_expected(finding(name)), finding(name).verdict
        assert finding(name).faults == []

    def test_tables_and_figures_are_complete(self, name: str) -> None:
        found = finding(name)
        assert found.tables or found.numbers or found.verdict is Verdict.NOT_CHECKABLE
        for table in found.tables:
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
        texts = [found.headline, *map(str, found.numbers.items()), *map(str, found.tables)]
        assert not [text for text in texts if re.search(r"\bnan\b|\binf\b", text)]
        assert not [text for text in (found.headline, *found.numbers) if re.search("[{}]", text)]
        for figure in found.figures:
            assert figure.name.startswith("selection-")
            assert figure.svg.startswith("<svg")
        json.dumps(found.numbers)

    def test_counterexample_can_be_stored(self, name: str) -> None:
        shown = finding(name).counterexample
        if shown is not None:
            again = KINDS[shown.problem].from_dict(json.loads(json.dumps(shown.to_dict())))
            assert again.digest() == shown.digest()


@pytest.mark.parametrize("name", ["truncated-s", "figure-8", "algorithm-2", "certificate"])
def test_same_seed_same_finding_and_another_seed_another(name: str) -> None:
    again = BY_NAME[name].find(Context(mode="quick", seed=0))
    assert again == finding(name)
    other = BY_NAME[name].find(Context(mode="quick", seed=1))
    assert BY_NAME[name].as_expected(other)
    assert (other.numbers, other.tables) != (again.numbers, again.tables)


class TestLedger:
    @pytest.mark.parametrize(
        ("pattern", "last"),
        [
            (r"\((\d+)\)", 40),
            (r"Fig. (\d+)", 13),
            (r"Table (\d+)", 3),
            (r"Algorithm (\d+)", 2),
            (r"Theorem (\d+)", 2),
            (r"Footnote (\d+)", 3),
        ],
    )
    def test_numbers_run_without_gaps(self, pattern: str, last: int) -> None:
        found = [int(m[1]) for item in ledger.LEDGER if (m := re.fullmatch(pattern, item))]
        assert sorted(found) == list(range(1, last + 1))

    def test_names_every_claim_about_the_paper_and_no_other(self) -> None:
        named = {name for entry in ledger.LEDGER.values() if isinstance(entry, tuple) for name in entry}
        assert named == {name for name, claim in BY_NAME.items() if not claim.ours}
        assert all(ledger.LEDGER.values())
        assert len(BY_NAME) == len(CLAIMS)


class TestRuns:
    def test_are_made_once_and_cannot_be_changed(self) -> None:
        found = experiments.rewards(LCF, SMALL, 0)
        assert found is experiments.rewards(LCF, SMALL, 0)
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 0.0

    @pytest.mark.parametrize(
        "who",
        [ESDP, ESDP_LN, PRINTED, HSWF, LCF, LWTF, Contender("Thompson", Thompson)],
        ids=lambda who: who.label,
    )
    def test_nobody_beats_the_oracle_and_a_longer_run_begins_like_a_shorter_one(self, who: Contender) -> None:
        longer = replace(SMALL, slots=40)
        for seed in range(3):
            assert (experiments.rewards(who, longer, seed) <= experiments.optimum(longer, seed) + 1e-12).all()
            assert np.array_equal(
                experiments.rewards(who, longer, seed)[:20],
                experiments.rewards(who, replace(SMALL, slots=20), seed),
            )

    def test_policies_of_one_label_are_told_apart_by_their_settings(self) -> None:
        made = variant(PRINTED, delta="log", g="log", alpha=1.0)
        policy = made.make()
        assert (policy.name, vars(policy)["delta"], vars(policy)["alpha"]) == ("esdp-printed", "log", 1.0)
        assert made != variant(PRINTED)
        assert variant(ESDP, g="log").make() == experiments.ESDP_LN.make()


class TestReadings:
    def test_a_game_is_played_by_the_policy_that_its_rules_name(self) -> None:
        base = readings.Game(SMALL)
        labels = [readings.player("ESDP", base.but(**more)).label for more in readings.CHANGES.values()]
        assert len(set(labels)) == 2
        assert readings.player("ESDP", base).make().name == "esdp-printed"
        assert readings.player("ESDP", base.but(plan="ports with jobs", g="log")).make() == ESDP_LN_MADE
        for label in readings.OTHERS:
            made = {readings.player(label, base.but(misfit=m, rank=r)) for m, r in RULES}
            assert len(made) == len(RULES)

    def test_a_change_goes_to_the_setup_or_to_the_rules(self) -> None:
        game = readings.Game(SMALL).but(capacity=2, plan="ports with jobs")
        assert (game.setup.capacity, game.plan, game.setup.size) == (2, "ports with jobs", "tiny")
        with pytest.raises(TypeError, match="colour"):
            game.but(colour="red")

    def test_a_reading_is_what_it_changes(self) -> None:
        base = readings.Game(SMALL)
        made = {name: change(base) for name, change in readings.readings(*readings.CHANGES).items()}
        assert made == {name: base.but(**more) for name, more in readings.CHANGES.items()}
        assert len(set(made.values())) == len(readings.CHANGES)

    def test_until_counts_the_first_slots(self) -> None:
        game = readings.Game(SMALL, until=5)
        expected = experiments.rewards(readings.player("HSWF", game), SMALL, 0)[:5].mean()
        assert readings.averages(readings.Who("HSWF"), game, [0]) == pytest.approx([expected])
        assert readings.optima(game, [0]) == pytest.approx([experiments.optimum(SMALL, 0)[:5].mean()])

    def test_ports_are_ranked_by_means_over_their_channels(self) -> None:
        for summed, meant in (
            rule.values() for rule in (readings.BASELINES["HSWF"], readings.BASELINES["LCF"])
        ):
            policies = [make() for make in (summed, meant)]
            made = experiments.instance(SMALL, 0)
            for policy in policies:
                play(policy, made)
            count = np.bincount(made.setting.port, minlength=made.setting.ports)
            ranks = [policy.rank() for policy in policies]  # type: ignore[attr-defined]
            assert ranks[1] * np.maximum(count, 1) == pytest.approx(ranks[0])


RULES = (("stop", "sum"), ("skip", "sum"), ("stop", "mean"))
ESDP_LN_MADE = experiments.ESDP_LN.make()


class TestEvidence:
    def test_programmes_are_counted_as_printed(self) -> None:
        # m = 0.5 * 4 = 2, delta(1) = 1 / (ln(ln 2 + 1) + 1) = 0.655, xi = ceil(3.05) = 4, s = 0 ... 8
        assert figures.programs("loglog", 1.0, 4) == 9.0

    def test_who_explores_loses_to_a_baseline_that_began_with_the_best(self) -> None:
        here = finding("figure-13").counterexample
        assert isinstance(here, SelectionInstance)
        assert play(HSWF.make(), here).total == here.setting.slots
        assert 0.0 < play(PRINTED.make(), here).total < here.setting.slots
        assert 0.0 < play(ESDP.make(), here).total < here.setting.slots

    def test_greed_is_larger_with_a_smaller_g(self) -> None:
        at = range(100, 200, 10)
        game = readings.Game(Setup(slots=200), plan="ports with jobs")
        assert figures.greed(game, 0, at) < figures.greed(game.but(g="log"), 0, at) <= 100.0 + 1e-9

    def test_alpha_is_too_large_at_2_and_often_too_small_at_24(self) -> None:
        (table,) = finding("truncated-s").tables
        assert table.rows[0][3:] == (0.0, 100.0)
        assert 30.0 < table.rows[2][3] < 100.0

    def test_printed_costs_leave_nothing(self) -> None:
        (table,) = finding("costs").tables
        means, drawn = table.rows[:5], table.rows[5:]
        assert float(means[0][2].split(" ")[0]) > 99.0
        assert means[0][-1] > 80.0
        assert float(means[-1][2].split(" ")[0]) == 0.0
        assert 94.0 < float(drawn[0][2].split(" ")[0]) < 99.0
        assert drawn[0][-1] < 80.0
        best = [float(row[3].split(" ")[0]) for row in drawn]
        assert 0.0 < best[0] < 0.05 * best[-1]  # "or nearly": of what there is without costs


class TestPlantedFaults:
    """What a claim rests on is changed, and its verdict follows."""

    def check(self, name: str) -> Finding:
        return BY_NAME[name].find(Context(mode="quick", seed=0))

    def test_an_esdp_that_always_leads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def grow(who: readings.Who, game: readings.Game, seeds: Sequence[int]) -> np.ndarray:
            return np.array(
                [(5.0 if who.label == "ESDP" else 1.0) * (game.until or 1) ** 0.1 + 1e-3 * s for s in seeds]
            )

        monkeypatch.setattr(readings, "LAB", replace(readings.LAB, averages=grow, optima=None))
        assert self.check("figure-13").verdict is Verdict.HOLDS

    def test_a_baseline_that_keeps_its_mind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "Hswf", Lcf)
        assert self.check("hswf-strategy").verdict is Verdict.HOLDS

    def test_baselines_that_all_learn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "BASELINES", (HSWF,))
        assert self.check("baselines").verdict is Verdict.HOLDS

    def test_a_plan_for_ports_with_jobs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(figures, "PRINTED", ESDP)
        found = self.check("figure-4-oracle")
        assert set(next(iter(found.signs.values())).values()) == {True}
        assert not BY_NAME["figure-4-oracle"].as_expected(replace(found, small=False))

    @pytest.mark.parametrize(("effect", "verdict"), [(0.02, "holds"), (0.1, "not reproduced")])
    def test_a_delta_that_has_some_effect(
        self, monkeypatch: pytest.MonkeyPatch, effect: float, verdict: str
    ) -> None:
        def worse(_who: readings.Who, game: readings.Game, seeds: Sequence[int]) -> np.ndarray:
            return np.array([1.0 + effect * (game.delta == "log") + 1e-3 * seed for seed in seeds])

        monkeypatch.setattr(readings, "LAB", replace(readings.LAB, averages=worse, optima=None))
        assert self.check("figure-7").verdict.value == verdict

    def test_rewards_that_fall_with_more_jobs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fewer(_who: readings.Who, game: readings.Game, seeds: Sequence[int]) -> np.ndarray:
            rho = game.setup.arrival_probability
            return np.array([min(rho, 1.6 - rho) + 1e-3 * seed for seed in seeds])

        monkeypatch.setattr(readings, "LAB", replace(readings.LAB, averages=fewer, optima=None))
        assert self.check("figure-9").verdict is Verdict.HOLDS
