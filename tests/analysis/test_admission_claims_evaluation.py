"""Claims about Sec. V of OASiS: verdicts, the same finding for the same seed, and tables without holes."""

from __future__ import annotations

import json
import os
import re
from functools import cache

import numpy as np
import pytest

from clairvoyant.analysis.admission import experiments, facts
from clairvoyant.analysis.admission.claims import figures, settings
from clairvoyant.analysis.admission.claims.cases import cluster, plain_job
from clairvoyant.analysis.admission.experiments import (
    NOTE,
    NOTE_TESTBED,
    OASIS,
    QUICK_BASELINES,
    Enlarged,
    Setup,
    instance,
    outcome,
)
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict
from clairvoyant.analysis.study import Study, judge
from clairvoyant.models.admission.generate import NoJobFitsError, Ranges
from clairvoyant.online.admission import Oasis
from clairvoyant.online.play import play

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="runs take minutes where kernels run as plain Python"
)

CLAIMS: dict[str, Claim] = {
    claim.id.removeprefix("admission/"): claim for claim in [*settings.claim.claims, *figures.claim.claims]
}
ON_TESTBED = ("figure-8", "figure-9", "large-testbed")
SMALL = Setup(6, 20, 3, 3, "short")


@cache
def finding(name: str) -> Finding:
    return CLAIMS[name].find(Context(mode="quick", seed=0))


@pytest.mark.parametrize("name", CLAIMS)
class TestClaims:
    def test_give_the_expected_verdict_and_its_evidence(self, name: str) -> None:
        assert CLAIMS[name].as_expected(finding(name)), finding(name).headline
        assert finding(name).faults == []

    def test_have_tables_and_figures_without_holes(self, name: str) -> None:
        found = finding(name)
        assert found.tables or found.numbers
        for table in found.tables:
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
        texts = [found.headline, *map(str, found.numbers.items()), *map(str, found.tables)]
        assert not [text for text in texts if re.search(r"\binf\b|\bnan\b", text)]
        for figure in found.figures:
            assert figure.name == f"admission-{name}"
            assert figure.svg.startswith("<svg")
            assert (NOTE_TESTBED if name in ON_TESTBED else NOTE) in figure.caption
            assert not figure.caption.endswith("..")
        json.dumps(found.numbers)

    def test_what_is_open_is_named_where_readings_are_swept(self, name: str) -> None:
        heads = [column for table in finding(name).tables for column in table.columns]
        swept = any("found, " in head or head == "reading" for head in heads)
        assert bool(CLAIMS[name].choices) or not swept


def test_same_seed_same_finding_and_another_seed_another() -> None:
    name = "figure-9"
    assert CLAIMS[name].find(Context(mode="quick", seed=0)) == finding(name)
    assert CLAIMS[name].find(Context(mode="quick", seed=1)).tables != finding(name).tables


def test_facts_name_the_origin_of_every_instance() -> None:
    (table,) = facts("quick", 0)
    assert [line[0] for line in table.rows] == ["tiny", "default", "testbed"]
    assert all("filled" in str(line[-1]) for line in table.rows)


def test_jobs_that_fit_at_once_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where half of the jobs can be done within 15 slots however they are drawn, the statement holds."""
    for slots, verdict in ((1.0, Verdict.HOLDS), (16.0, Verdict.NOT_REPRODUCED)):
        monkeypatch.setattr(settings, "lengths", lambda _, times, n=slots: np.full(times.shape, n))
        assert CLAIMS["job-ranges"].find(Context(mode="quick")).verdict is verdict


def test_chunks_that_are_long_even_at_the_lower_ends_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "Ranges", lambda: Ranges(minibatches=(1000, 2000)))
    assert CLAIMS["chunk-time"].find(Context()).verdict is Verdict.NOT_REPRODUCED


def test_where_no_job_can_be_drawn_the_other_instances_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = experiments.searched

    def without_the_second(
        place: experiments.Place, seed: int, *_rounds: tuple[int, int]
    ) -> tuple[float, float]:
        if seed == 1:
            raise NoJobFitsError("no draw fits")
        return searched(place, seed)

    whole = figures.ratios(figures.Case(SMALL), range(3))
    monkeypatch.setattr(experiments, "searched", without_the_second)
    found = figures.ratios(figures.Case(SMALL), range(3))
    assert not np.isnan(whole).any()
    assert np.isnan(found[1]).all()
    assert figures.known(found).tolist() == whole[[0, 2]].tolist()


def test_a_slow_policy_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is that of the times."""
    monkeypatch.setattr(settings, "seconds_per_job", lambda *_: np.array([2.0, 3.0]))
    assert CLAIMS["seconds"].find(Context(mode="quick")).verdict is not Verdict.HOLDS


class TestReadings:
    def test_each_changes_what_its_name_says(self) -> None:
        case = figures.Case(SMALL)
        assert figures.AS_OURS(case).version(OASIS).make().name == "oasis"
        assert vars(figures.L_PRINTED(case).version(OASIS).make())["floor"] is False
        assert vars(figures.L_ESTIMATED(case).version(OASIS).make())["bounds"] == "estimated"
        assert figures.PRINTED(case).version(OASIS).make().name == "oasis-printed"
        few = figures.FEW_WORKERS(case)
        assert [vars(few.version(who).make()).get("workers") for who in QUICK_BASELINES] == [1, None, 1]
        assert vars(figures.RRH_STRICT(case).version(QUICK_BASELINES[2]).make())["threshold"] == 10.0
        longer = figures.Case(Setup(6, 60, 3, 3, "short"))
        assert instance(figures.FEASIBLE(longer).place, 0) != instance(longer.place, 0)
        assert (instance(figures.ON_C4(case).place, 0).setting.worker_servers[:, 0] == 0).all()
        with pytest.raises(TypeError, match="fit"):
            figures.FEASIBLE(figures.Case(Enlarged()))

    def test_one_worker_is_what_fixed_workers_are(self) -> None:
        """A job with one worker takes as many slots as it has work."""
        case = figures.FEW_WORKERS(figures.Case(SMALL))
        plan = outcome(case.version(QUICK_BASELINES[0]), SMALL, 0).schedule
        assert set(plan.workers[:, 3].tolist()) <= {1}

    def test_jobs_that_are_never_done_count_where_they_should(self) -> None:
        case = figures.Case(SMALL)
        done, every = (
            figures.delays(QUICK_BASELINES[0], one, 0)["sensitive"]
            for one in (case, figures.UNFINISHED(case))
        )
        jobs = [job for job in instance(SMALL, 0).jobs if job.kind == "sensitive"]
        assert len(done) < len(every) == len(jobs)
        assert max(every) <= max(SMALL.horizon + 1 - job.arrival - job.target for job in jobs)
        assert set(done) <= set(every)

    def test_delays_are_compared_where_both_have_two_jobs(self) -> None:
        ours = [np.array([1.0, 3.0]), np.array([0.0]), np.array([-1.0, 1.0])]
        theirs = [np.array([4.0, 6.0]), np.array([5.0, 5.0]), np.array([-3.0, 9.0])]
        distance, deviation = figures.MEASURES.values()
        assert figures.more(ours, theirs, distance).tolist() == [3.0, 3.0]
        assert figures.more(ours, theirs, deviation).tolist() == pytest.approx([0.0, 7.0710678])
        assert figures.more(ours[1:2], theirs[1:2], distance).tolist() == [0.0]


class TestRatios:
    @pytest.mark.parametrize(
        ("least", "most", "sign"),
        [(1.2, 1.3, True), (1.6, 1.9, False), (0.8, 1.0, False), (1.2, 1.9, None), (0.9, 1.3, None)],
    )
    def test_a_range_needs_both_ends(self, least: float, most: float, sign: bool | None) -> None:
        noise = np.linspace(-0.01, 0.01, 6)[:, None]
        (one,) = judge([figures.Within("r", {"": np.log([[least, most]]) + noise})])
        assert one.signs == (sign,)

    @pytest.mark.parametrize(
        ("change", "sign"), [(1.1, True), (0.9, True), (1.8, False), (0.6, False), (1.5 / 1.1, None)]
    )
    def test_a_trend_is_one_as_wide_as_what_is_printed(self, change: float, sign: bool | None) -> None:
        samples = np.log(change) + np.linspace(-0.05, 0.05, 6)[:, None]
        assert judge([figures.Trend("t", {"": samples})])[0].signs == (sign,)

    def test_they_lie_between_a_schedule_and_a_bound(self) -> None:
        found = figures.ratios(figures.Case(SMALL), range(3))
        assert (found[:, 0] >= 0.0).all()
        assert (found[:, 1] >= found[:, 0] - 1e-9).all()

    def test_a_lead_that_grows_is_a_widening(self) -> None:
        ours, theirs = np.array([[10.0, 20.0], [10.0, 20.0]]), np.array([[9.0, 5.0], [8.0, 8.0]])
        study = Study(
            figures.LAB, {"": {who.label: theirs for who in QUICK_BASELINES} | {"OASiS": ours}}, "ab", [0, 1]
        )
        assert [one.samples[""].tolist() for one in figures.grows(study)] == [[14.0, 10.0]] * 3
        per_cent = [one.samples[""].tolist() for one in figures.grows(study, per_cent=True)]
        assert per_cent == [[65.0, 40.0]] * 3


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
            assert outcome(who, SMALL, seed).total <= experiments.searched(SMALL, seed)[1] * (1 + 1e-9)

    def test_the_search_is_between_oasis_and_the_bound(self) -> None:
        value, limit = experiments.searched(SMALL, 0)
        assert outcome(OASIS, SMALL, 0).total <= value <= limit * (1 + 1e-9)

    def test_the_testbed_is_its_own_place(self) -> None:
        assert [len(instance(Enlarged(n), 0).jobs) for n in (1, 3)] == [12, 36]
        assert instance(Enlarged(), 0).setting.horizon == 10


class TestEvidence:
    def test_reordered_machines_are_the_same_machines(self) -> None:
        made = instance(SMALL, 0)
        other = settings.reordered(made, np.random.default_rng(3))
        for side in ("worker_servers", "parameter_servers"):
            one, two = (sorted(getattr(i.setting, side).tolist()) for i in (made, other))
            assert one == two
        assert [job.to_dict() for job in other.jobs] == [job.to_dict() for job in made.jobs]

    def test_the_length_of_a_job_is_its_work_over_the_workers_that_fit(self) -> None:
        made = cluster([plain_job(need, need, epochs=3, chunks=5) for need in (4.0, 1.0)], horizon=9)
        assert settings.workers([made]).tolist() == [[2, 5]]
        assert settings.lengths([made], np.ones((1, 2))).tolist() == [[8, 3]]
        assert settings.lengths([made], np.full((1, 2), 0.3)).tolist() == [[3, 1]]  # 4.5 worker-slots

    def test_a_worker_with_a_gpu_never_runs_on_c4(self) -> None:
        made = settings.no_gpu()
        assert made.never == {0: "no machine holds a worker"}
        assert play(Oasis(), made).total == 0.0

    def test_every_slot_with_an_arrival_is_timed(self) -> None:
        made = instance(SMALL, 1)
        found = settings.seconds_per_job(Oasis(), made, 0)
        assert len(found) == len({job.arrival for job in made.jobs})
        assert (found > 0.0).all()
