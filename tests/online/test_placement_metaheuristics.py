"""MOSA and MALO: what they know, how plans are valued, and the parts of the search."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.models.base import InputError, frozen
from clairvoyant.models.placement import kernels
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.setting import Observation
from clairvoyant.models.placement.simulator import blank_state
from clairvoyant.online.placement import search_kernels as search
from clairvoyant.online.placement.metaheuristics import (
    ARCHIVE,
    PRIOR,
    Malo,
    Mosa,
    Planner,
    Records,
    blank_archive,
    first_plans,
    look_ahead,
)
from clairvoyant.online.placement.plans import RULES, Archive, Forecast
from clairvoyant.online.play import play
from clairvoyant.testing.placement import instances

MACHINE = {"gpus": 4, "cpus": 16, "memory": 64}
FEW = settings(max_examples=40, deadline=None)


def job(submit: float, duration: float, instances: int = 1, gpus: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "submit": submit,
        "duration": duration,
        "instances": instances,
        "gpus": gpus,
        "cpus": 1,
        "memory": 1,
    } | more


def cluster(jobs: list[dict[str, Any]], machines: int = 2, **more: Any) -> PlacementInstance:
    return PlacementInstance(machines=[MACHINE] * machines, jobs=jobs, **more)


def busy(seed: int = 0, jobs: int = 12, **more: Any) -> PlacementInstance:
    """Return jobs that are all there at once, and more than there is room for."""
    rng = np.random.default_rng(seed)
    gangs, lengths = rng.integers(1, 5, jobs).tolist(), rng.integers(1, 60, jobs).tolist()
    slowdown = {"communication": 1.0, "contention": 0.5}
    return cluster([job(0, d, c) for c, d in zip(gangs, lengths, strict=True)], slowdown=slowdown, **more)


def known(instance: PlacementInstance) -> Forecast:
    """Return the forecast where all durations are known, with every job there and none running."""
    n = len(instance.jobs)
    table = instance.table._replace(submit=frozen(np.zeros(n, dtype=np.int64)))
    now = blank_state(table)
    now.pending[:] = np.arange(n)
    now.clock[kernels.ARRIVED] = now.clock[kernels.PENDING] = n
    return Forecast(
        table,
        now,
        blank_state(table),
        np.empty((n * len(table.capacity), 3), dtype=np.int64),
        instance.setting.slowdown.contention,
        instance.setting.gpu_weight,
        np.array([1.0 / (1000 * max(1, n)), 1.0 / (1000 * max(1, int(instance.jobs.gpus.sum())))]),
    )


def plans_of(instance: PlacementInstance) -> np.ndarray:
    return first_plans(instance.jobs.duration.astype(np.float64))


def cost(forecast: Forecast, plan: np.ndarray) -> float:
    waited, used = search.rollout(forecast, plan)
    return float(waited + forecast.weight * used)


def members(archive: Archive) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in archive.values[: archive.size[0]]]


def run_search(name: str, forecast: Forecast, plans: np.ndarray, iterations: int = 20) -> Archive:
    archive, rng = blank_archive(plans.shape[1] // 2), np.random.default_rng(1)
    if name == "mosa":
        search.anneal(forecast, archive, plans, rng, iterations, 400.0, 0.99)
    else:
        search.hunt(forecast, archive, plans, rng, iterations, 5)
    return archive


SEARCHES = pytest.mark.parametrize("name", ["mosa", "malo"])


class Watched:
    """A policy that plays as another one does and looks at every decision."""

    def __init__(self, policy: Planner, look: Any) -> None:
        self.name, self.traits, self.start = policy.name, policy.traits, policy.start
        self._policy, self._look = policy, look

    def decide(self, observation: Observation) -> np.ndarray:
        rows = self._policy.decide(observation)
        self._look(self._policy, observation, rows)
        return rows


# what is known


def test_expected_ticks_by_hand() -> None:
    seen = (np.array([1, 1, 2]), np.array([100.0, 300.0, 800.0]))

    def expected(gpus: int, age: float) -> float:
        return float(search.remaining(*seen, np.array([gpus]), np.array([age]), 7.0)[0])

    assert expected(1, 0.0) == pytest.approx((400 + 100 + 300) / 3)
    assert expected(2, 0.0) == pytest.approx((400 + 800) / 2)
    assert expected(4, 0.0) == 400  # nobody had as many
    assert expected(1, 200.0) == pytest.approx((350 + 100) / 2)  # 300 and 800 took 100 and 600 more
    assert expected(1, 500.0) == 300
    assert expected(1, 1000.0) == 1000  # as long again


def test_before_any_job_has_ended_the_prior_counts() -> None:
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
    assert search.remaining(*nothing, np.array([1, 4]), np.array([0.0, 9e9]), 7.0).tolist() == [7, 7]


@FEW
@given(instances(contention=False))
def test_without_contention_durations_are_learned_to_the_tick(instance: PlacementInstance) -> None:
    policy = Mosa(iterations=2)
    ended: list[int] = []

    def look(_: Planner, observation: Observation, __: np.ndarray) -> None:
        ended.extend(observation.ended[:, 0].tolist())

    play(Watched(policy, look), instance)
    records = policy._records
    assert np.abs(records.seen_ticks - instance.jobs.duration[ended]).max(initial=0.0) <= 0.5
    assert records.seen_gpus.tolist() == instance.jobs.gpus[ended].tolist()


@FEW
@given(instances())
def test_the_outlook_is_what_is_observed(instance: PlacementInstance) -> None:
    records = Records(instance.setting)

    def look(_: Planner, observation: Observation, rows: np.ndarray) -> None:
        records.note(observation)
        forecast, jobs, estimate = look_ahead(records, observation)
        running = observation.running
        assert jobs[len(jobs) - len(observation.jobs) :].tolist() == observation.jobs.tolist()
        assert set(jobs.tolist()) == set(running[:, 0].tolist()) | set(observation.jobs.tolist())
        assert (forecast.now.free == observation.free).all()
        again = kernels.running_rows(forecast.now)
        assert (np.column_stack([jobs[again[:, 0]], again[:, 1:]]) == running).all()
        assert (forecast.table.submit == 0).all()
        assert (estimate >= 1).all()
        assert (forecast.now.finish[: len(jobs) - len(observation.jobs)] > 0).all()
        gpus = max(1, int(instance.jobs.gpus[jobs].sum()))
        assert forecast.scale.tolist() == [1.0 / (1000 * len(jobs)), 1.0 / (1000 * gpus)]
        records.start(rows, observation.time)

    play(Watched(Mosa(iterations=1), look), instance)


def test_the_outlook_holds_nothing_unknown() -> None:
    """Neither durations, nor who arrives later, nor who waits beyond the window."""
    now = [job(0, 5, 3), job(0, 7, 2), job(0, 9, 4)]
    one = cluster([*now, job(1, 3)], window=2)
    other = cluster(
        [*({**j, "duration": 1000} for j in now[:2]), job(0, 1, 1, 2), *[job(2, 8)] * 5], window=2
    )
    seen = []
    for instance in (one, other):
        observation = next(iter(instance.episode(frozenset())))
        records = Records(instance.setting)
        records.note(observation)
        forecast, jobs, estimate = look_ahead(records, observation)
        assert (estimate == PRIOR * 1000).all()
        assert (forecast.table.duration[:, 1] == PRIOR * 1000).all()
        seen.append([*map(np.ndarray.tolist, forecast.table), jobs.tolist()])
    assert seen[0] == seen[1]
    assert len(seen[0][-1]) == 2


def test_a_job_that_outlives_all_others_is_expected_to_run_on() -> None:
    """The first job takes 2 s, the second one 100 s; at 50 s it is as if it took 50 s more."""
    instance = cluster([job(0, 2), job(0, 100), job(50, 1)], machines=1)
    found = []

    def look(policy: Planner, observation: Observation, _: np.ndarray) -> None:
        if observation.time == 50_000:
            _outlook, jobs, estimate = look_ahead(policy._records, observation)
            found.append((jobs.tolist(), estimate.tolist()))

    play(Watched(Mosa(), look), instance)
    assert found == [([1, 2], [50_000, 2000])]


def test_how_long_a_spread_job_has_run_is_counted_without_its_slowdown() -> None:
    """Job 3 gets one GPU on each machine at 3 s; at 53 s it is expected to take as long again."""
    first = [job(0, 1000, gpus=3), job(0, 1000, gpus=3), job(0, 2)]
    slowdown = {"communication": 1.0, "contention": 0.0}
    instance = cluster([*first, job(3, 100, 2), job(53, 1, gpus=0)], slowdown=slowdown)
    found: dict[int, int] = {}

    def look(policy: Planner, observation: Observation, _: np.ndarray) -> None:
        if observation.time == 53_000:
            _outlook, jobs, estimate = look_ahead(policy._records, observation)
            found.update(zip(jobs.tolist(), estimate.tolist(), strict=True))

    play(Watched(Mosa(), look), instance)
    slower = float(instance.setting.slowdown.spread_factor(np.array(2), np.array(1)))
    assert slower > 1.0
    assert found[0] == found[1] == 53_000
    assert found[3] == pytest.approx(50_000 / slower)


# how plans are valued


@FEW
@given(instances(min_jobs=1, windows=False), st.sampled_from(range(3)), st.randoms(use_true_random=False))
def test_a_rollout_is_the_simulation_of_the_plan(instance: PlacementInstance, rule: int, random: Any) -> None:
    n = len(instance.jobs)
    forecast = known(instance)
    keys = np.array([random.random() for _ in range(n)])
    simulator = instance.simulator()
    kernels.run_by_keys(forecast.table, simulator.state, forecast.contention, n, keys, rule, False)
    plan = np.concatenate([keys, np.full(n, (rule + 0.5) / RULES)])
    assert search.rollout(forecast, plan) == (simulator.waited, simulator.used)
    assert search.rollout(forecast, plan) == (
        simulator.waited,
        simulator.used,
    )  # the state now stays as it is


def test_first_plans_are_fifo_and_the_shortest_first() -> None:
    """On one GPU, jobs of 5, 1 and 3 s end at 5, 6 and 9 s, or at 9, 1 and 4 s."""
    instance = PlacementInstance(machines=[MACHINE | {"gpus": 1}], jobs=[job(0, 5), job(0, 1), job(0, 3)])
    waited = [search.rollout(known(instance), plan)[0] for plan in plans_of(instance)]
    assert waited == [20_000, 14_000]
    rows = [search.first_starts(known(instance), plan).tolist() for plan in plans_of(instance)]
    assert rows == [[[0, 0, 1]], [[1, 0, 1]]]


def test_each_job_has_a_rule_of_its_own() -> None:
    """Machine 0 is empty and machine 1 has one GPU left; a job that consolidates takes that one."""
    instance = PlacementInstance(machines=[MACHINE, MACHINE | {"gpus": 1}], jobs=[job(0, 1, 1), job(0, 1, 1)])
    forecast = known(instance)

    def places(*rules: int) -> list[list[int]]:
        plan = np.array([0.1, 0.2, *((rule + 0.5) / RULES for rule in rules)])
        rows: list[list[int]] = search.first_starts(forecast, plan).tolist()
        return rows

    assert places(kernels.FIRST_FIT, kernels.CONSOLIDATE) == [[0, 0, 1], [1, 1, 1]]
    assert places(kernels.CONSOLIDATE, kernels.FIRST_FIT) == [[0, 1, 1], [1, 0, 1]]
    assert places(kernels.LOAD_BALANCE, kernels.LOAD_BALANCE) == [[0, 0, 1], [1, 1, 1]]


@SEARCHES
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_search_never_ends_worse_than_it_begins(name: str, seed: int, weight: float) -> None:
    instance = busy(seed, gpu_weight=weight)
    forecast, plans = known(instance), plans_of(instance)
    archive = run_search(name, forecast, plans)
    chosen = archive.keys[search.best(archive, weight)]
    assert cost(forecast, chosen) <= min(cost(forecast, plan) for plan in plans)
    for plan, value in zip(archive.keys, members(archive), strict=False):
        assert search.rollout(forecast, plan) == value
    assert archive.keys.min() >= 0.0
    assert archive.keys.max() <= 1.0


@SEARCHES
def test_a_search_does_find_something_better(name: str) -> None:
    better = 0
    for seed in range(5):
        instance = busy(seed)
        forecast, plans = known(instance), plans_of(instance)
        archive = run_search(name, forecast, plans, 50)
        found = cost(forecast, archive.keys[search.best(archive, 0.0)])
        better += found < min(cost(forecast, plan) for plan in plans)
    assert better > 0


def test_a_longer_annealing_is_never_worse() -> None:
    """The random numbers of a shorter one are the first of a longer one."""
    instance = busy(3, gpu_weight=0.5)
    forecast, plans = known(instance), plans_of(instance)
    archives = [run_search("mosa", forecast, plans, iterations) for iterations in range(0, 60, 5)]
    for shorter, longer in pairwise(archives):
        for waited, used in members(shorter):
            assert any(a <= waited and b <= used for a, b in members(longer))


# the archive


@FEW
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40), st.sampled_from([0.0, 0.5]))
def test_the_archive_is_the_pareto_front(points: list[tuple[int, int]], weight: float) -> None:
    archive = blank_archive(1)
    for i, (waited, used) in enumerate(points):
        search.keep(archive, np.array([i, 0.0]), waited, used, weight)
    front = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    assert sorted(members(archive)) == sorted(front)
    for keys, value in zip(archive.keys, members(archive), strict=False):
        assert points[int(keys[0])] == value
    if points:
        least = min((a + weight * b, b) for a, b in points)
        waited, used = archive.values[search.best(archive, weight)]
        assert (waited + weight * used, used) == least


def test_a_full_archive_keeps_its_ends_and_the_least_cost() -> None:
    rng, archive, weight = np.random.default_rng(0), blank_archive(1), 0.7
    points = [(int(x), int(1e6 / x)) for x in rng.integers(10, 100_000, 400)]
    for waited, used in points:
        search.keep(archive, np.zeros(2), waited, used, weight)
    kept = members(archive)
    assert len(kept) == ARCHIVE
    assert all((a, b) == (c, d) or (a < c) == (b > d) for a, b in kept for c, d in kept)
    assert min(kept) == min(points)
    assert min(b for _, b in kept) == min(b for _, b in points)
    assert min(a + weight * b for a, b in kept) == min(a + weight * b for a, b in points)


def test_crowding_counts_who_is_near_in_both_objectives() -> None:
    archive = blank_archive(1)
    for waited, used in ((0, 100), (5, 95), (50, 50), (100, 0)):
        search.keep(archive, np.zeros(2), waited, used, 0.0)
    assert search.crowding(archive).tolist() == [2, 2, 1, 1]


# the steps of the searches


def test_acceptance_by_hand() -> None:
    """Two jobs wait 3 s and 1 s longer, that is 2 s each; 4 GPUs run 8 GPU-seconds less, or more."""
    scale = np.array([1.0 / 2000, 1.0 / 4000])
    assert search.acceptance(4000, -8000, scale, 4.0) == pytest.approx(np.exp(-0.5))
    assert search.acceptance(4000, 8000, scale, 4.0) == pytest.approx(np.exp(-1.0))
    assert search.acceptance(-4000, -8000, scale, 4.0) == 1.0
    assert search.acceptance(0, 0, scale, 0.0) == 1.0
    assert search.acceptance(1, 0, scale, 0.0) == 0.0


@FEW
@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 30), st.integers(0, 1000))
def test_walks_stay_within_reach(centre: float, reach: float, steps: int, seed: int) -> None:
    left, right = max(0.0, centre - reach), min(1.0, centre + reach)
    for step in range(1, steps + 1):
        place = search.walk(centre, reach, step, steps, np.random.default_rng(seed))
        assert left - 1e-12 <= place <= right + 1e-12


def literal_mosa(forecast: Forecast, archive: Archive, plans: np.ndarray, rng: Any, iterations: int) -> None:
    """Anneal as the docstring of Mosa says, at 3 s that fall by 0.9."""
    worth = [judged(forecast, archive, plan) for plan in plans]
    chosen = search.best(archive, forecast.weight)
    current, value, w = archive.keys[chosen].copy(), members(archive)[chosen], len(plans[0]) // 2
    assert value in worth
    for step in range(iterations):
        plan, place, change = current.copy(), int(w * rng.random()), rng.random()
        if step % 2 == 0:
            plan[place] = change  # another key in the order
        else:
            plan[w + place] = (plan[w + place] + (1 + int((RULES - 1) * change)) / RULES) % 1.0
        then = judged(forecast, archive, plan)
        worse = sum(max(0.0, (b - a) * unit) for a, b, unit in zip(value, then, forecast.scale, strict=True))
        if rng.random() < np.exp(-worse / (3.0 * 0.9**step)):
            current, value = plan, then


def literal_malo(forecast: Forecast, archive: Archive, plans: np.ndarray, rng: Any, iterations: int) -> None:
    """Hunt with five ants as the docstring of Malo says."""
    for plan in plans:
        judged(forecast, archive, plan)
    size, w = len(plans[0]), len(plans[0]) // 2
    ants = np.array([*plans, *([rng.random() for _ in range(size)] for _ in range(5 - len(plans)))])
    for ant in ants[len(plans) :]:
        judged(forecast, archive, ant)
    for t in range(1, iterations + 1):
        reach = w ** (-t / iterations)
        elite = archive.keys[search.best(archive, forecast.weight)].copy()
        for ant in ants:
            lion = archive.keys[search._roulette(archive, rng)].copy()
            for d in range(size):
                walks = [search.walk(centre[d], reach, t, iterations, rng) for centre in (lion, elite)]
                ant[d] = sum(walks) / 2
            judged(forecast, archive, ant)
        judged(forecast, archive, search._refine(archive, ants, rng))  # one for every five ants


def test_a_plan_is_drawn_with_a_chance_inverse_to_its_crowding() -> None:
    archive, rng = blank_archive(1), np.random.default_rng(0)
    for keys, (waited, used) in enumerate(((0, 10**6), (1, 10**6 - 1), (10**6, 0))):
        search.keep(archive, np.full(2, 0.1 * keys), waited, used, 1.0)
    assert search.crowding(archive).tolist() == [2, 2, 1]
    sampled = np.bincount([search._roulette(archive, rng) for _ in range(4000)]) / 4000
    assert sampled == pytest.approx([0.25, 0.25, 0.5], abs=0.04)


def judged(forecast: Forecast, archive: Archive, plan: np.ndarray) -> tuple[int, int]:
    waited, used = search.rollout(forecast, plan)
    search.keep(archive, plan, waited, used, forecast.weight)
    return waited, used


@SEARCHES
@pytest.mark.parametrize("seed", range(4))
def test_a_search_is_what_its_docstring_says(seed: int, name: str) -> None:
    instance = busy(seed, gpu_weight=0.5)
    forecast, plans = known(instance), plans_of(instance)
    archive, found, rng = blank_archive(12), blank_archive(12), np.random.default_rng
    if name == "mosa":
        literal_mosa(forecast, archive, plans, rng(seed), 60)
        search.anneal(forecast, found, plans, rng(seed), 60, 3.0, 0.9)
    else:
        literal_malo(forecast, archive, plans, rng(seed), 20)
        search.hunt(forecast, found, plans, rng(seed), 20, 5)
    assert members(found) == members(archive)
    count = len(members(found))
    np.testing.assert_allclose(found.keys[:count], archive.keys[:count], rtol=1e-12)


def test_a_walk_covers_what_is_within_reach() -> None:
    """It is stretched: each walk is at both ends at some step, or begins there."""
    for seed in range(20):
        places = [search.walk(0.5, 0.2, step, 9, np.random.default_rng(seed)) for step in range(1, 10)]
        assert min(places) == pytest.approx(0.3) or max(places) == pytest.approx(0.7)
        assert max(places) - min(places) > 0.2


# the policies


@SEARCHES
@FEW
@given(instance=instances(max_jobs=8))
def test_no_job_waits_for_which_there_is_room(name: str, instance: PlacementInstance) -> None:
    def look(_: Planner, observation: Observation, rows: np.ndarray) -> None:
        free, started = observation.free.copy(), set(rows[:, 0].tolist())
        for i, k, count in rows.tolist():
            free[k] -= count * instance.jobs.need[i]
        assert started
        for i in set(observation.jobs.tolist()) - started:
            assert not kernels.fits(free, instance.jobs.need[i], instance.jobs.instances[i])

    policy = Mosa(iterations=6) if name == "mosa" else Malo(iterations=2, population=3)
    run = play(Watched(policy, look), instance, keep_decisions=True)
    schedule = instance.schedule_of(run.decisions or ())
    assert instance.violations(schedule) == []
    assert run.total == pytest.approx(instance.cost(schedule))


@SEARCHES
def test_equal_seeds_equal_runs_and_other_seeds_other_runs(name: str) -> None:
    instance = busy(jobs=20)
    policy = Mosa() if name == "mosa" else Malo()
    runs = [play(policy, instance, seed) for seed in (0, 0, 1, 2, 3, 4)]
    assert (runs[0].rewards == runs[1].rewards).all()
    assert len({run.total for run in runs[1:]}) > 1
    assert policy.traits.randomised


@SEARCHES
def test_it_learns_which_jobs_are_short(name: str) -> None:
    """Jobs with 2 GPUs take 1 s, others 100 s; later, a short one goes first though it came last."""
    history = [job(0, 1, 1, 2) for _ in range(6)] + [job(0, 100) for _ in range(6)]
    late = [job(1000, 300, 4), job(1001, 100, 3), job(1002, 1, 1, 2)]
    instance = cluster(history + late, machines=1)
    policy = Mosa() if name == "mosa" else Malo()
    schedule = instance.schedule_of(play(policy, instance, keep_decisions=True).decisions or ())
    assert schedule.start[[13, 14]].tolist() == [1_301_000, 1_300_000]


@SEARCHES
@pytest.mark.parametrize(
    "instance",
    [
        cluster([]),
        cluster([job(0, 1)]),
        busy(window=1),
        cluster([job(0, 3, 2, 0), job(0, 2, 5, 0)], machines=1),
        cluster([job(0, 1e8, 4), job(1e8, 0.001, 4), job(1e8, 1e8, 1), job(1e8, 5, 8)], gpu_weight=5),
        cluster([job(0, 0.001)] * 100, machines=1),
    ],
    ids=["no jobs", "one job", "window 1", "no GPUs", "huge", "many at once"],
)
def test_edges(name: str, instance: PlacementInstance) -> None:
    policy = Mosa(iterations=5) if name == "mosa" else Malo(iterations=2, population=4)
    run = play(policy, instance, keep_decisions=True)
    assert instance.violations(instance.schedule_of(run.decisions or ())) == []


def test_no_sum_overflows() -> None:
    """A million GPUs and estimates as long as can be, in a queue: objectives stay what they should be."""
    slowdown = {"communication": 10, "contention": 10}
    huge = [{"gpus": 1_000_000, "cpus": 1, "memory": 1}] * 4
    jobs = [job(0, 1, 1, 1_000_000) for _ in range(64)]
    instance = PlacementInstance(machines=huge, jobs=jobs, slowdown=slowdown)
    observation = next(iter(instance.episode(frozenset())))
    records = Records(instance.setting)
    records.note(observation)
    records.seen_gpus, records.seen_ticks = np.array([1]), np.array([1e15])
    forecast, _, estimate = look_ahead(records, observation)
    waited, used = search.rollout(forecast, first_plans(estimate)[0])
    assert waited == sum(int(estimate[0]) * (1 + i // 4) for i in range(64))
    assert used == 64 * 1_000_000 * int(estimate[0])


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Mosa(iterations=-1), "iterations"),
        (lambda: Mosa(temperature=0.0), "temperature"),
        (lambda: Mosa(cooling=1.5), "cooling"),
        (lambda: Malo(iterations=2.5), "iterations"),  # type: ignore[arg-type]
        (lambda: Malo(population=1), "population"),
    ],
)
def test_settings_out_of_range_are_named(make: Any, field: str) -> None:
    with pytest.raises(InputError, match=field):
        make()
