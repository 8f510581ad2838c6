"""The rolling horizon of the admission problem: what it promises, with and without what it keeps."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.admission import Deployment, Observation
from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import Rest
from clairvoyant.models.admission.market import Market, Volume
from clairvoyant.models.admission.program import able
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.models.admission.search import Search
from clairvoyant.models.base import InputError
from clairvoyant.online.admission import RollingHorizon
from clairvoyant.online.play import play
from clairvoyant.testing.admission import instances

KINDS = st.sampled_from([{}, {"keep": True}, {"keep": True, "forecast": True}, {"forecast": True}])
FEW: dict[str, Any] = {"steps": 8, "rounds": 12}


class Watched(RollingHorizon):
    """Notes what is planned in every slot."""

    def decide(self, observation: Observation) -> Deployment:
        """Decide, and note the slot of every change of what is planned."""
        before, found = self._seen[:], super().decide(observation)
        if self._seen != before:
            self.told = [*getattr(self, "told", []), (observation.slot, self.planned)]
        return found


@given(instances(max_horizon=7, max_machines=3, max_jobs=8, max_chunks=5), KINDS, st.integers(0, 3))
@hypothesis_settings(max_examples=30, deadline=None)
def test_what_is_earned_and_planned_never_falls_and_is_earned(
    instance: AdmissionInstance, kind: dict[str, bool], seed: int
) -> None:
    policy = Watched(**kind, **FEW)
    run = play(policy, instance, seed, keep_decisions=True)
    schedule = Schedule.of_deployments(run.decisions)
    earned = np.concatenate([[0.0], np.cumsum(instance.rewards(schedule))])
    told = [earned[slot - 1] + planned for slot, planned in getattr(policy, "told", [])]
    negligible = 1e-8 * sum(job.priority for job in instance.jobs)
    assert all(later >= before - negligible for before, later in pairwise(told))
    assert run.total == pytest.approx(told[-1] if told else 0.0, rel=1e-6, abs=negligible)


@given(instances(max_horizon=8, max_machines=3, max_jobs=8, max_chunks=5), st.booleans(), st.integers(0, 3))
@hypothesis_settings(max_examples=30, deadline=None)
def test_what_is_kept_is_done(instance: AdmissionInstance, forecast: bool, seed: int) -> None:
    run = play(RollingHorizon(keep=True, forecast=forecast, **FEW), instance, seed, keep_decisions=True)
    schedule = Schedule.of_deployments(run.decisions)
    assert (instance.completions(schedule)[schedule.jobs] > 0).all()


@pytest.mark.parametrize("seed", range(2))
def test_what_is_kept_is_done_under_load(seed: int) -> None:
    instance = generate("large", seed, jobs=30, horizon=20, worker_machines=6, server_machines=6, fit="short")
    done = {}
    for keep in (False, True):
        policy = RollingHorizon(keep=keep, forecast=True, steps=20)
        schedule = Schedule.of_deployments(play(policy, instance, seed, keep_decisions=True).decisions)
        done[keep] = (instance.completions(schedule)[schedule.jobs] > 0).all()
    assert done == {False: False, True: True}


def job(
    arrival: int, priority: float = 10.0, decay: float = 50.0, target: float = 0.5, **fields: Any
) -> dict[str, Any]:
    """Return a job of one worker-slot, worth the priority in its first slot and nothing later."""
    plain = {"epochs": 1, "chunks": 1, "minibatches": 1, "minibatch_time": 1, "gradient_size": 0}
    needs = {"worker_bandwidth": 1, "server_bandwidth": 1, "worker_demand": [1], "server_demand": [1]}
    utility = {"priority": priority, "decay": decay, "target": target}
    return {"arrival": arrival, **plain, **needs, **fields, "utility": utility}


def one_machine(jobs: list[dict[str, Any]], horizon: int) -> AdmissionInstance:
    """Return an instance in which one worker runs at a time."""
    return AdmissionInstance(
        horizon=horizon, resources=["gpu"], worker_servers=[[1]], parameter_servers=[[1]], jobs=jobs
    )


LONG = {"minibatch_time": 3, "priority": 4, "decay": 0}
"""Three slots of work, worth 2 whenever it is done."""


def ran(policy: RollingHorizon, instance: AdmissionInstance) -> list[int]:
    """Return the job that runs in each slot, -1 for none."""
    decisions = play(policy, instance, keep_decisions=True).decisions or ()
    return [int(d.workers[0, 0]) if len(d.workers) else -1 for d in decisions]


def test_a_job_is_paused_for_a_better_one_and_dropped_if_that_pays() -> None:
    assert ran(RollingHorizon(), one_machine([job(1, **LONG), job(2)], 5)) == [0, 1, 0, 0, -1]
    assert ran(RollingHorizon(), one_machine([job(1, **LONG), job(2)], 3)) == [0, 1, -1]
    assert ran(RollingHorizon(keep=True), one_machine([job(1, **LONG), job(2)], 3)) == [0, 0, 0]
    assert ran(RollingHorizon(keep=True), one_machine([job(1, **LONG), job(2)], 5)) == [0, 0, 0, -1, -1]


@pytest.mark.parametrize("rounds", [0, 60])
def test_a_job_without_room_is_tried_again(rounds: int) -> None:
    first = job(1, **LONG | {"minibatch_time": 4, "priority": 9})
    second = job(1, **LONG | {"minibatch_time": 2})
    rich = job(2, minibatch_time=2, priority=100, target=1.5)
    instance = one_machine([first, second, rich], 5)
    assert ran(RollingHorizon(rounds=rounds), instance) == [0, 2, 2, 1, 1]


def test_a_job_that_was_rejected_for_good_never_runs() -> None:
    jobs = [job(1), job(2), job(3), job(4, **LONG), job(4), job(9)]
    policy = RollingHorizon(keep=True, forecast=True, steps=300)
    assert ran(policy, one_machine(jobs, 20)) == [0, 1, 2, 4, *[-1] * 4, 5, *[-1] * 11]


@pytest.mark.parametrize("seed", range(4))
def test_what_is_earned_and_planned_never_falls_under_load(seed: int) -> None:
    instance = generate("large", seed, jobs=30, horizon=20, worker_machines=6, server_machines=6, fit="short")
    policy = Watched(rounds=40 * (seed % 2), steps=3)
    run = play(policy, instance, seed, keep_decisions=True)
    earned = np.concatenate([[0.0], np.cumsum(run.rewards)])
    told = [earned[slot - 1] + planned for slot, planned in policy.told]
    assert len(told) > 5
    assert all(later >= before * (1.0 - 1e-6) for before, later in pairwise(told))
    assert run.total == pytest.approx(told[-1], rel=1e-6)


def test_nothing_of_an_interrupted_run_remains() -> None:
    instance = one_machine([job(1, **LONG), job(2)], 5)
    policy = RollingHorizon()
    policy.start(instance.setting, np.random.default_rng(0))
    policy.decide(next(iter(instance.episode(frozenset()))))
    assert ran(policy, one_machine([job(3, **LONG)], 5)) == [-1, -1, 0, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_jobs_stay_in_a_search_that_is_told_so(seed: int) -> None:
    instance = generate("large", seed, jobs=30, horizon=20, worker_machines=6, server_machines=6, fit="short")
    jobs = able(instance)
    free = Market(instance.setting, jobs).per_unit(Volume(Market(instance.setting, jobs)).prices)
    search = Search(instance.setting, jobs, free, np.random.default_rng(seed))
    search.greedy(1.0)
    inside = [placed is not None for placed in search.placements]
    assert 0 < sum(inside) < len(inside)
    for _ in range(60):
        search.rounds(np.full(1, 1e9), same=True)
        assert [placed is not None for placed in search.placements] == inside
    search.rounds(np.full(5, 1e9))
    assert [placed is not None for placed in search.placements] != inside


def test_a_forecast_keeps_room_for_what_came_before() -> None:
    instance = one_machine([job(1), job(2), job(3), job(4, **LONG), job(4), job(5), job(6), job(7)], 8)
    keeping = RollingHorizon(keep=True, steps=300)
    assert 3 in ran(keeping, instance)
    foreseeing = replace(keeping, forecast=True)
    assert ran(foreseeing, instance) == [0, 1, 2, 4, 5, 6, 7, -1]


def test_expected_are_the_jobs_so_far_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = one_machine([job(1), job(2), job(2, chunks=2)], 9)
    policy = RollingHorizon(forecast=True)
    play(policy, instance)
    policy._seen = list(instance.jobs)
    found = [(one.index, one.arrival) for one in policy._expected(3)]
    assert found == [(0, 4), (1, 5), (2, 5), (0, 7), (1, 8), (2, 8)]
    assert policy._expected(9) == []
    assert [one.arrival for one in policy._expected(8)] == [9]
    monkeypatch.setattr("clairvoyant.online.admission.rolling.MOST_EXPECTED", 3)
    assert [(one.index, one.arrival) for one in policy._expected(3)] == [(0, 4), (2, 5), (2, 8)]


@given(instances(max_horizon=6, max_machines=3, max_jobs=6, max_chunks=4), KINDS, st.sampled_from([-30, 29]))
@hypothesis_settings(max_examples=15, deadline=None)
def test_the_unit_of_utility_does_not_matter(
    instance: AdmissionInstance, kind: dict[str, bool], exponent: int
) -> None:
    data = instance.to_dict()
    for one in data["jobs"]:
        one["utility"]["priority"] = 2.0 ** (exponent // 30)
    first = AdmissionInstance.from_dict(data)
    for one in data["jobs"]:
        one["utility"]["priority"] *= 2.0**exponent
    plain, scaled = (
        play(RollingHorizon(**kind, **FEW), one, keep_decisions=True)
        for one in (first, AdmissionInstance.from_dict(data))
    )
    assert plain.total * 2.0**exponent == scaled.total
    for one, other in zip(plain.decisions or (), scaled.decisions or (), strict=True):
        assert str(one) == str(other)


@given(instances(max_horizon=7, min_jobs=1, max_jobs=4), st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_what_is_left_of_a_job_earns_what_the_job_does(instance: AdmissionInstance, data: Any) -> None:
    whole = data.draw(st.sampled_from(instance.jobs))
    slot = data.draw(st.integers(whole.arrival, instance.setting.horizon))
    left = data.draw(st.integers(1, max(1, min(whole.work, 1000))))
    rest = Rest.of(whole, slot, left)
    assert (rest.index, rest.arrival, rest.work) == (whole.index, slot, left)
    delays = np.arange(instance.setting.horizon - slot + 1)
    expected = whole.utility(delays + slot - whole.arrival)
    np.testing.assert_allclose(rest.utilities(instance.setting.horizon), expected, rtol=1e-6, atol=1e-300)
    assert np.array_equal(rest.servers_for, whole.servers_for)


def test_prices_begin_where_they_are_told() -> None:
    instance = generate("tiny", 1, jobs=12, horizon=12, worker_machines=1, server_machines=1)
    market = Market(instance.setting, able(instance))
    first = Volume(market)
    for _ in range(100):
        first.step()
    assert first.best.bound < Volume(market).best.bound
    assert Volume(market, first.prices).best.bound == pytest.approx(first.best.bound, rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": 1}, "keep: 1 is not true or false"),
        ({"forecast": "yes"}, "forecast: 'yes' is not true or false"),
        ({"steps": -1}, "steps: -1 is not a whole number of at least 0 and at most 10000"),
        ({"rounds": 0.5}, "rounds: 0.5 is not a whole number"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RollingHorizon(**settings)


def test_without_rounds_nothing_is_drawn() -> None:
    assert not RollingHorizon(rounds=0).traits.randomised
    instance = generate("tiny", 3)
    first, second = (play(RollingHorizon(rounds=0), instance, seed, keep_decisions=True) for seed in (0, 1))
    assert str(first.decisions) == str(second.decisions)
