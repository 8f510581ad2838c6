"""The rolling horizon of the placement problem: plans are what their docstring says, and pay."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.api import make_policy
from clairvoyant.models.base import InputError
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.jobs import TICKS
from clairvoyant.models.placement.setting import Observation
from clairvoyant.models.placement.state import USED
from clairvoyant.online.base import Traits
from clairvoyant.online.placement import RollingHorizon, RollingHorizonEstimate
from clairvoyant.online.placement.metaheuristics import Records, look_ahead
from clairvoyant.online.placement.rolling import fewest_of
from clairvoyant.online.placement.rolling_kernels import search, value
from clairvoyant.online.play import play
from clairvoyant.testing.placement import instances

MACHINE = {"gpus": 4, "cpus": 8, "memory": 16}


def job(submit: float = 0, duration: float = 10, estimate: float | None = None, **fields: Any) -> Any:
    """Return a job of one instance with one GPU, of which the user knows how long it takes."""
    plain = {"instances": 1, "gpus": 1, "cpus": 0, "memory": 0, "estimate": estimate or duration}
    return {"submit": submit, "duration": duration, **plain, **fields}


def told(instance: PlacementInstance) -> PlacementInstance:
    """Return an instance whose jobs all wait at once, and whose users do not err."""
    data = instance.to_dict()
    jobs = [{**one, "submit": 0, "estimate": one["duration"]} for one in data["jobs"]]
    return PlacementInstance.from_dict({**data, "jobs": jobs, "window": 64})


class Follow:
    """Carries out a plan, in Python."""

    name = "follow"
    traits = Traits(problem="placement")

    def __init__(self, order: list[int], patient: list[bool]) -> None:
        self.plan = list(zip(order, patient, strict=True))

    def start(self, setting: Any, rng: np.random.Generator) -> None:
        """Store the machines."""
        self.capacity = setting.capacity

    def decide(self, observation: Observation) -> list[tuple[int, int, int]]:
        """Start what the plan starts now."""
        free, rows = observation.free.copy(), []
        for i, patient in self.plan:
            if i not in observation.jobs:
                continue
            p = observation.jobs.tolist().index(i)
            need, left = observation.need[p], int(observation.instances[p])
            if patient and spans(free, need, left) > spans(self.capacity, need, left):
                continue
            if rooms(free, need, left).sum() < left:
                continue
            while left:
                room = rooms(free, need, left)
                k = min(range(len(free)), key=lambda k: (-room[k], free[k, 0], k))
                rows.append((i, k, int(room[k])))
                free[k] -= room[k] * need
                left -= int(room[k])
        return rows


def rooms(free: np.ndarray, need: np.ndarray, most: int) -> np.ndarray:
    """Return how many instances fit on each machine."""
    return np.array([min([most, *(has // n for has, n in zip(f, need, strict=True) if n)]) for f in free])


def spans(free: np.ndarray, need: np.ndarray, instances: int) -> int:
    """Return the fewest machines that hold all instances, more than there are if all do not."""
    held = np.cumsum(sorted(rooms(free, need, instances))[::-1])
    return int((held < instances).sum()) + 1


@given(instances(min_jobs=1, max_jobs=7), st.data())
@hypothesis_settings(max_examples=50, deadline=None)
def test_a_plan_costs_what_it_costs_to_follow_it(instance: PlacementInstance, data: st.DataObject) -> None:
    instance = told(instance)
    n, records = len(instance.jobs), Records(instance.setting)
    observation = next(iter(instance.episode(frozenset({"estimates"}))))
    records.note(observation)
    forecast, jobs, estimate = look_ahead(records, observation)
    assert jobs.tolist() == list(range(n))
    assert estimate.tolist() == instance.jobs.duration.tolist()
    least = fewest_of(records, jobs)
    assert least.tolist() == instance.fewest.tolist()

    def cost(order: np.ndarray, patient: np.ndarray) -> float:
        run = play(Follow(order.tolist(), patient[order].tolist()), instance)
        return run.total

    orders = np.array([data.draw(st.permutations(range(n))) for _ in range(2)])
    patient = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    room = np.empty_like(observation.free)
    ticks, used = value(forecast, least, orders[0], patient, room)
    assert ticks / TICKS == pytest.approx(cost(orders[0], patient), rel=1e-9)
    assert used == forecast.work.clock[USED]
    firsts = [cost(order, np.full(n, waits)) for waits in (False, True) for order in orders]
    for plans in (0, 5, 30):
        order, waits, (best, _), tried = search(forecast, least, orders, plans)
        assert sorted(order.tolist()) == list(range(n))
        assert best / TICKS == pytest.approx(cost(order, waits), rel=1e-9)
        assert best / TICKS <= min(firsts) * (1.0 + 1e-9)
        assert 4 <= tried <= max(plans, 4)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=7))
@hypothesis_settings(max_examples=20, deadline=None)
def test_it_is_best_on_one_gpu(durations: list[int]) -> None:
    instance = PlacementInstance(
        machines=[{**MACHINE, "gpus": 1}], jobs=[job(duration=one) for one in durations]
    )
    assert play(RollingHorizonEstimate(), instance).total == np.cumsum(sorted(durations)).sum()


@pytest.mark.parametrize(("kappa", "start"), [(0.1, 1.0), (8.0, 3.0)])
def test_it_waits_for_fewer_machines_where_that_pays(kappa: float, start: float) -> None:
    """A job of three GPUs finds two free on each machine; two seconds later all of one are."""
    busy = [job(duration=3, gpus=2, memory=9), job(duration=90, gpus=2, memory=9)]
    instance = PlacementInstance(
        machines=[MACHINE] * 2,
        jobs=[*busy, job(1, 10, instances=3)],
        slowdown={"communication": kappa, "contention": 0.0},
    )
    run = play(RollingHorizonEstimate(), instance, keep_decisions=True)
    assert run.decisions is not None
    assert instance.schedule_of(run.decisions).start[2] == start * TICKS


def test_small_plans_give_way_to_a_better_one() -> None:
    """None of the first plans is best: the search finds it."""
    shapes = [(9, 3), (7, 2), (4, 4), (6, 1), (5, 3), (8, 2)]
    jobs = [job(duration=duration, gpus=gpus) for duration, gpus in shapes]
    instance = PlacementInstance(machines=[MACHINE], jobs=jobs)
    none, some = (play(RollingHorizonEstimate(plans), instance).total for plans in (0, 64))
    assert some < none


def test_errors_of_users_are_learned() -> None:
    """Users who say ten times as much are believed at first, and not later; age counts in their unit."""
    users = [job(0, 4, 40, gpus=4), job(0, 4, 40, gpus=3), job(5, 4, 80)]
    instance = PlacementInstance(machines=[MACHINE], jobs=users)
    records, told = Records(instance.setting), []
    episode = instance.episode(frozenset({"estimates"}))
    for observation in episode:
        records.note(observation)
        now, running = observation.time, observation.running[:1, 0]
        jobs = np.concatenate([running, observation.jobs])
        told.append((records.estimates(jobs, len(observation.jobs), now) / TICKS).tolist())
        rows = np.array([[observation.jobs[0], 0, 1]])
        records.start(rows, now)
        episode.apply(rows)
    assert sum(told, []) == pytest.approx([40.0, 40.0, 4.0, 3.0, 8.0])  # noqa: RUF017


def test_without_estimates_it_plans_by_how_long_jobs_took() -> None:
    """Jobs of four GPUs took long, those of three ended soon: of two that wait the smaller goes first."""
    long, short = {"gpus": 4, "cpus": 0}, {"gpus": 3, "cpus": 0}
    past = [job(0, 100, **long), job(0, 1, **short), job(0, 100, **long), job(0, 1, **short)]
    waiting = [job(1, 50, 1, **long), job(2, 50, 9, **short)]
    for estimates in (False, True):
        kept = [*past, *waiting]
        if not estimates:
            kept = [{name: x for name, x in one.items() if name != "estimate"} for one in kept]
        instance = PlacementInstance(machines=[MACHINE], jobs=kept)
        run = play(RollingHorizon(), instance, keep_decisions=True)
        assert run.decisions is not None
        start = instance.schedule_of(run.decisions).start
        assert start[5] < start[4]
    told = play(RollingHorizonEstimate(), instance, keep_decisions=True)  # whose user of the larger says 1
    assert told.decisions is not None
    other = instance.schedule_of(told.decisions).start
    assert other[4] < other[5]


@given(instances(min_jobs=1, max_jobs=7))
@hypothesis_settings(max_examples=30, deadline=None)
def test_without_estimates_it_is_as_with_estimates_that_say_nothing(instance: PlacementInstance) -> None:
    """Users who say of all jobs what is the first guess without them say nothing."""
    data = instance.to_dict()
    jobs = [{**one, "estimate": 3600.0} for one in data["jobs"]]
    same = PlacementInstance.from_dict({**data, "jobs": jobs})
    blind, told = (play(kind(), same).total for kind in (RollingHorizon, RollingHorizonEstimate))
    assert blind == pytest.approx(told, rel=1e-12)


def test_it_needs_to_be_told() -> None:
    instance = PlacementInstance(machines=[MACHINE], jobs=[{**job(), "estimate": 3}])
    observation = next(iter(instance.episode(frozenset())))
    policy = RollingHorizonEstimate()
    policy.start(instance.setting, np.random.default_rng(0))
    with pytest.raises(InputError, match="needs the estimates"):
        policy.decide(observation)


@pytest.mark.parametrize("plans", ["-1", "1.5", "2000000"])
@pytest.mark.parametrize("name", ["rolling-horizon", "rolling-horizon-estimate"])
def test_settings_out_of_range_are_named(name: str, plans: str) -> None:
    with pytest.raises(InputError, match=f"policy {name}: plans: "):
        make_policy(f"{name}:plans={plans}", "placement")
