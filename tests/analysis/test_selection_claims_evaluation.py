"""Claims about Sec. 4 of ESDP: verdicts, the same finding for the same seed, and tables without holes."""

import json
import os
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from clairvoyant.analysis import experiments as shared
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict
from clairvoyant.analysis.selection import evaluation, experiments, figures
from clairvoyant.analysis.selection.experiments import (
    BASELINES,
    ESDP,
    EVERYONE,
    HSWF,
    LCF,
    NOTE,
    PRINTED,
    Setup,
    variant,
)
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.online.play import play

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="some 10000 slots take hours where kernels run as plain Python",
)

CLAIMS: dict[str, Claim] = {
    claim.id.removeprefix("selection/"): claim for claim in [*evaluation.CLAIMS, *figures.CLAIMS]
}
NO_POLICY = {"table-3", "alpha", "costs", "heuristics"}
SMALL = Setup("tiny")


@cache
def finding(name: str) -> Finding:
    return CLAIMS[name].check(Context(mode="quick", seed=0))


@pytest.mark.parametrize("name", CLAIMS)
class TestEveryClaim:
    def test_gives_the_expected_verdict(self, name: str) -> None:
        assert finding(name).verdict is CLAIMS[name].expected, finding(name).headline

    def test_tables_and_figures_are_complete(self, name: str) -> None:
        found = finding(name)
        assert found.tables or found.verdict is Verdict.NOT_CHECKABLE
        for table in found.tables:
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
        texts = [found.headline, *map(str, found.numbers.items()), *map(str, found.tables)]
        assert not [text for text in texts if re.search(r"\bnan\b|\binf\b", text)]
        assert not [text for text in (found.headline, *found.numbers) if re.search("[{}]", text)]
        for figure in found.figures:
            assert figure.name.startswith("selection-")
            assert figure.svg.startswith("<svg")
            assert NOTE in figure.caption
        json.dumps(found.numbers)

    def test_says_what_is_measured_and_that_instances_are_synthetic(self, name: str) -> None:
        for table in finding(name).tables:
            assert "ynthetic instances with the distributions of Table 3" in table.title
            assert name in NO_POLICY or NOTE in table.title

    def test_counterexample_can_be_stored(self, name: str) -> None:
        shown = finding(name).counterexample
        if shown is not None:
            again = SelectionInstance.from_dict(json.loads(json.dumps(shown.to_dict())))
            assert again.digest() == shown.digest()


@pytest.mark.parametrize("name", ["alpha", "costs", "baselines", "figure-5"])
def test_same_seed_same_finding_and_another_seed_another(name: str) -> None:
    again = CLAIMS[name].check(Context(mode="quick", seed=0))
    assert again == finding(name)
    other = CLAIMS[name].check(Context(mode="quick", seed=1))
    assert other.verdict is again.verdict
    assert other.numbers != again.numbers


@pytest.mark.parametrize("name", [name for name in CLAIMS if name.startswith("figure-")])
def test_most_statements_are_decided_where_a_figure_holds(name: str) -> None:
    found = finding(name)
    stated = next(table for table in found.tables if table.columns[0] == "statement")
    words = [row[2] for row in stated.rows]
    assert set(words) <= {"holds", "fails", "undecided"}
    assert ("fails" in words) == (found.verdict is Verdict.FAILS)
    assert found.verdict is Verdict.FAILS or words.count("holds") > len(words) / 2


def test_every_figure_of_the_paper_has_a_claim_and_ids_are_unique() -> None:
    assert {f"figure-{n}" for n in range(2, 14)} <= CLAIMS.keys()
    assert len(CLAIMS) == len(evaluation.CLAIMS) + len(figures.CLAIMS)


class TestRuns:
    def test_are_made_once_and_cannot_be_changed(self) -> None:
        found = experiments.rewards(LCF, SMALL, 0)
        assert found is experiments.rewards(LCF, SMALL, 0)
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 0.0

    @pytest.mark.parametrize("who", EVERYONE, ids=lambda who: who.label)
    def test_nobody_beats_the_oracle_and_a_longer_run_begins_like_a_shorter_one(
        self, who: experiments.Contender
    ) -> None:
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

    def test_running_means_end_with_the_average(self) -> None:
        points = np.array([1, 6, 12])
        means = experiments.running_means(HSWF, SMALL, range(3), points)
        assert means.shape == (3, 3)
        assert means[:, -1] == pytest.approx(experiments.averages(HSWF, SMALL, range(3)))
        oracle = experiments.running_means(experiments.OPTIMUM, SMALL, range(3), points)
        assert oracle[:, -1] == pytest.approx(experiments.optima(SMALL, range(3)))

    def test_all_of(self) -> None:
        assert shared.all_of([True, True]) is True
        assert shared.all_of([True, None]) is None
        assert shared.all_of([None, False]) is False


class TestEvidence:
    def test_the_ceiling_without_arrivals_holds_on_average_and_is_below_the_oracle(self) -> None:
        setup = Setup(slots=400, arrival_probability=0.5)
        for seed in range(3):
            ceiling = figures.ceiling(setup, seed)
            assert ceiling < experiments.optimum(setup, seed).mean()
            assert experiments.rewards(PRINTED, setup, seed).mean() < 1.1 * ceiling

    def test_programmes_are_counted_as_printed(self) -> None:
        # m = 0.5 * 4 = 2, delta(1) = 1 / (ln(ln 2 + 1) + 1) = 0.655, xi = ceil(3.05) = 4, s = 0 ... 8
        assert figures.programmes("loglog", np.array([1.0]), 4).tolist() == [9.0]

    def test_dense_cells_are_those_of_the_three_loops(self) -> None:
        sampled = experiments.instance(SMALL, 0)
        channels, states = sampled.setting.channels, int(np.prod(sampled.setting.capacity + 1))
        assert figures.dense_cells(sampled, 3) == channels * states * figures.programmes(
            "loglog", np.array([3.0]), channels
        )

    def test_two_ports_in_turn_cost_the_printed_algorithm_what_others_earn(self) -> None:
        sampled = figures.in_turn(20)
        totals = {who: play(who.make(), sampled).total for who in (PRINTED, ESDP, *BASELINES)}
        assert totals[PRINTED] < 0.8 * totals[ESDP]
        assert totals[ESDP] == totals[HSWF] == 10.0

    def test_turns_are_counted_in_the_average(self) -> None:
        assert figures.turns(np.array([1.0, 2.0, 3.0, 4.0])) == 0.0
        assert figures.turns(np.array([1.0, 2.0, 0.0, 0.0, 5.0])) == 2.0
        assert figures.turns(np.ones(4)) == 0.0

    def test_greed_is_all_of_it_for_the_greedy_policy(self) -> None:
        at = range(100, 200, 10)
        setup = Setup(slots=200)
        assert figures.greed(experiments.GREEDY, setup, 0, at) == pytest.approx(100.0)
        assert figures.greed(ESDP, setup, 0, at) < 99.0

    def test_only_baselines_that_learn_change_their_mind(self) -> None:
        setup = Setup(slots=200)
        assert figures.changes_its_mind(HSWF, setup, 0)
        assert not figures.changes_its_mind(LCF, setup, 0)

    def test_printed_costs_leave_nothing(self) -> None:
        numbers = finding("costs").numbers
        assert numbers["channels with a negative mean, costs times 1 (%)"] > 99.0  # type: ignore[operator]
        assert finding("costs").counterexample is not None

    def test_alpha_is_too_large_at_2_and_often_too_small_at_24(self) -> None:
        numbers = finding("alpha").numbers
        assert numbers["share of instances with alpha |E| > m, c = 2"] == 1.0
        assert 0.5 < float(numbers["share of instances with alpha |E| < m, c = 24"]) < 1.0
