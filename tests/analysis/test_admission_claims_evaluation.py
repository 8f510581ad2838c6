"""Claims about Sec. V of OASiS: verdicts, the same finding for the same seed, and tables without holes."""

from __future__ import annotations

import json
import os
import re
from functools import cache

import numpy as np
import pytest

from clairvoyant.analysis.admission import CLAIMS as ALL
from clairvoyant.analysis.admission import evaluation, experiments, facts, figures
from clairvoyant.analysis.admission.experiments import (
    NOTE,
    NOTE_TESTBED,
    OASIS,
    QUICK_BASELINES,
    TESTBED,
    Setup,
    instance,
    outcome,
    scaled,
)
from clairvoyant.analysis.claim import Claim, Context, Finding
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.online.admission import Oasis
from clairvoyant.online.play import play

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="runs take minutes where kernels run as plain Python"
)

CLAIMS: dict[str, Claim] = {
    claim.id.removeprefix("admission/"): claim for claim in [*evaluation.CLAIMS, *figures.CLAIMS]
}
CHEAP = ("job-ranges", "c4-gpu", "seconds", "ties", "figure-8", "figure-9")
SMALL = Setup(6, 20, 3, 3, "short")


@cache
def finding(name: str) -> Finding:
    return CLAIMS[name].check(Context(mode="quick", seed=0))


@pytest.mark.parametrize("name", CHEAP)
class TestCheapClaims:
    def test_give_the_expected_verdict(self, name: str) -> None:
        assert finding(name).verdict is CLAIMS[name].expected, finding(name).headline

    def test_have_tables_and_figures_without_holes(self, name: str) -> None:
        found = finding(name)
        on_testbed = name in ("figure-8", "figure-9")
        assert found.tables
        for table in found.tables:
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
            assert ("ynthetic instances with the ranges of Sec. V.A" in table.title) is not on_testbed
            assert (NOTE_TESTBED in table.title) is on_testbed
        texts = [found.headline, *map(str, found.numbers.items()), *map(str, found.tables)]
        assert not [text for text in texts if re.search(r"\bnan\b|\binf\b", text)]
        for figure in found.figures:
            assert figure.name.startswith("admission-")
            assert figure.svg.startswith("<svg")
            assert (NOTE_TESTBED if on_testbed else NOTE) in figure.caption
        json.dumps(found.numbers)

    def test_counterexample_can_be_stored(self, name: str) -> None:
        shown = finding(name).counterexample
        if shown is not None:
            again = AdmissionInstance.from_dict(json.loads(json.dumps(shown.to_dict())))
            assert again.digest() == shown.digest()


def test_same_seed_same_finding_and_another_seed_another() -> None:
    name = "ties"
    assert CLAIMS[name].check(Context(mode="quick", seed=0)) == finding(name)
    other = CLAIMS[name].check(Context(mode="quick", seed=1))
    assert other.verdict is finding(name).verdict
    assert other.numbers != finding(name).numbers


def test_ids_are_unique_and_every_figure_with_results_has_a_claim() -> None:
    ids = [claim.id for claim in ALL]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in ALL} == {"admission"}
    assert {f"figure-{n}" for n in (3, 4, 5, 6, 8, 9)} <= CLAIMS.keys()


def test_facts_name_the_origin_of_every_instance() -> None:
    (table,) = facts("quick", 0)
    assert [line[0] for line in table.rows] == ["tiny", "default", "testbed"]
    assert all("filled" in str(line[-1]) for line in table.rows)


class TestRuns:
    def test_are_made_once_and_agree_with_play(self) -> None:
        found = outcome(OASIS, SMALL, 0)
        assert found is outcome(OASIS, SMALL, 0)
        made = instance(SMALL, 0)
        assert found.total == play(Oasis(), made).total
        assert not made.violations(found.schedule)
        assert made.rewards(found.schedule).sum() == pytest.approx(found.total)

    @pytest.mark.parametrize("who", [OASIS, *QUICK_BASELINES], ids=lambda who: who.label)
    def test_nobody_is_above_the_bound(self, who: experiments.Contender) -> None:
        for seed in range(3):
            assert outcome(who, SMALL, seed).total <= experiments.bound(SMALL, seed) * (1 + 1e-9)

    def test_the_search_is_between_oasis_and_the_bound(self) -> None:
        _, value, limit = experiments.searched(SMALL, 0)
        assert outcome(OASIS, SMALL, 0).total <= value <= limit * (1 + 1e-9)

    def test_scaled_contenders_have_their_settings(self) -> None:
        made = scaled(10, False).make()
        assert (vars(made)["scale"], vars(made)["floor"]) == (0.1, False)

    def test_the_testbed_is_its_own_place(self) -> None:
        assert (len(instance(TESTBED, 0).jobs), instance(TESTBED, 0).setting.horizon) == (12, 10)


class TestEvidence:
    def test_reordered_machines_are_the_same_machines(self) -> None:
        made = instance(SMALL, 0)
        other = evaluation.reordered(made, np.random.default_rng(3))
        for side in ("worker_servers", "parameter_servers"):
            one, two = (sorted(getattr(i.setting, side).tolist()) for i in (made, other))
            assert one == two
        assert [job.to_dict() for job in other.jobs] == [job.to_dict() for job in made.jobs]

    def test_a_worker_with_a_gpu_never_runs_on_c4(self) -> None:
        made = evaluation.no_gpu()
        assert made.never == {0: "no machine holds a worker"}
        assert play(Oasis(), made).total == 0.0

    def test_every_slot_with_an_arrival_is_timed(self) -> None:
        made = instance(SMALL, 1)
        found = evaluation.seconds_per_job(Oasis(), made, 0)
        assert len(found) == len({job.arrival for job in made.jobs})
        assert (found > 0.0).all()

    def test_more_tells_far_samples_apart_and_equal_ones_not(self) -> None:
        rng = np.random.default_rng(5)
        near, far = rng.normal(0.0, 1.0, 200), rng.normal(5.0, 3.0, 200)
        assert figures._more(near, far, figures._distance)[1] is True
        assert figures._more(far, near, figures._deviation)[1] is False
        assert figures._more(near, near, figures._deviation)[1] is None
        assert figures._more(near[:2], far, figures._distance)[1] is None

    def test_ratios_leave_out_where_oasis_earns_nothing(self) -> None:
        rows = np.array([[2.0, 3.0, 3.0], [0.0, 5.0, 5.0], [4.0, 4.0, 4.4]])
        assert figures._ratios(rows).tolist() == [1.5, 1.0]
        assert figures._ratio_row((10, 100.0), rows) == (10, "100", 1.0, 1.25, 1.5, 1, 2)
        found = {(1, 1.0): rows, (2, 1.0): 2 * rows[::-1]}
        assert figures._changes(found, [(1, 1.0)], [(2, 1.0)]).tolist() == [-0.5, 0.5]

    def test_no_trend_needs_a_narrow_interval(self) -> None:
        assert figures._no_trend(np.array([0.01, -0.01, 0.0, 0.02])) is True
        assert figures._no_trend(np.array([1.0, 1.1, 0.9])) is False
        assert figures._no_trend(np.array([-3.0, 3.0, 1.0])) is None
        assert figures._no_trend(np.array([1.0])) is None

    def test_an_empty_schedule_has_an_empty_picture(self) -> None:
        figure = experiments.gantt(
            "empty", "A test.", instance(SMALL, 0), {"workers": (Schedule.empty(), "workers")}
        )
        assert "all 0 jobs that run (6 arrive)" in figure.caption
