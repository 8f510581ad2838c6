"""The environments of the placement problem and their rewards: conformance, costs as in play, no leaks."""

import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pettingzoo.test import parallel_api_test, parallel_seed_test

import clairvoyant as cv
from clairvoyant.environments import trained
from clairvoyant.models.base import DecisionError, InputError
from clairvoyant.models.placement import kernels
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.models.placement.placing import place
from clairvoyant.models.placement.reward import (
    ALPHA,
    aligned_rewards,
    printed_reward,
    printed_rewards,
    unavoidable,
)
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.models.placement.setting import Observation
from clairvoyant.online.base import Traits
from clairvoyant.online.placement.environment import ParallelEnvironment, SingleEnvironment
from clairvoyant.online.placement.view import AGENTS, PlacementView
from clairvoyant.online.play import play
from clairvoyant.testing.placement import instances, schedules

WINDOW = 3


def tiny(seed: int) -> PlacementInstance:
    """Return a small instance of its own for every seed."""
    return generate("tiny", seed)


def job(submit: float = 0, duration: float = 1, **fields: Any) -> dict[str, Any]:
    """Return a job of one instance with one GPU."""
    plain = {"instances": 1, "gpus": 1, "cpus": 1, "memory": 2}
    return {"submit": submit, "duration": duration, **plain, **fields}


def cluster(jobs: list[dict[str, Any]], machines: int = 2, **other: Any) -> PlacementInstance:
    """Return an instance on machines of 4 GPUs, 8 cores and 16 GB."""
    return PlacementInstance(machines=[{"gpus": 4, "cpus": 8, "memory": 16}] * machines, jobs=jobs, **other)


class Scripted:
    """A policy that places by given priorities and affinities, one pair for every epoch."""

    name = "scripted"
    traits = Traits(problem="placement")

    def __init__(self, script: list[tuple[np.ndarray, np.ndarray]]) -> None:
        self.script = script

    def start(self, setting: Any, rng: np.random.Generator) -> None:
        """Begin with the first pair."""
        self.at = 0

    def decide(self, observation: Observation) -> np.ndarray:
        """Carry out the next pair."""
        priorities, affinities = self.script[self.at]
        self.at += 1
        w = len(observation.jobs)
        return place(observation, priorities[:w], affinities[:w])


def scores(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return random scores, with ties."""
    return rng.integers(-2, 3, shape).astype(np.float32) / 2


# Conformance


@pytest.mark.parametrize("reward", ["aligned", "printed"])
def test_the_parallel_environment_passes_the_tests_of_pettingzoo(reward: str) -> None:
    parallel_api_test(ParallelEnvironment(tiny, reward=reward), num_cycles=100)
    parallel_api_test(ParallelEnvironment(tiny(1), WINDOW, reward), num_cycles=100)
    parallel_seed_test(lambda: ParallelEnvironment(tiny, reward=reward))


@pytest.mark.parametrize("agent", ["both", *AGENTS])
@pytest.mark.parametrize("reward", ["aligned", "printed"])
def test_the_single_environment_passes_the_tests_of_gymnasium(agent: str, reward: str) -> None:
    check_env(SingleEnvironment(tiny, reward=reward, agent=agent), skip_render_check=True)
    check_env(SingleEnvironment(tiny(1), WINDOW, reward, agent), skip_render_check=True)


# What an environment does is what play does


@hypothesis_settings(max_examples=40, deadline=None)
@given(instances(min_jobs=1), st.integers(0, 2**32))
def test_a_run_costs_what_play_says(instance: PlacementInstance, seed: int) -> None:
    narrow = PlacementInstance.from_dict(
        {**instance.to_dict(), "window": min(WINDOW, instance.setting.window)}
    )
    rng, machines = np.random.default_rng(seed), len(instance.setting.capacity)
    parallel, single = ParallelEnvironment(instance, WINDOW), SingleEnvironment(instance, WINDOW)
    seen, infos = parallel.reset(seed=1)
    alone, info = single.reset(seed=1)
    script, costs, rewards, times = [], [], [], [infos["ordering"]["time"]]
    while parallel.agents:
        for agent in AGENTS:
            for name, array in seen[agent].items():
                assert np.array_equal(array, alone[name])
                assert parallel.observation_space(agent)[name].contains(array)
        script.append((scores((WINDOW,), rng), scores((WINDOW, machines), rng)))
        actions = dict(zip(AGENTS, script[-1], strict=True))
        seen, paid, over, cut, infos = parallel.step(actions)
        alone, reward, ended, _, info = single.step(np.column_stack([script[-1][0], script[-1][1]]))
        assert paid == dict.fromkeys(AGENTS, reward)
        assert over == dict.fromkeys(AGENTS, ended)
        assert cut == dict.fromkeys(AGENTS, False)
        assert infos == dict.fromkeys(AGENTS, info)
        costs.append(info["cost"])
        rewards.append(reward)
        times.append(info["time"])
    run = play(Scripted(script), narrow, keep_decisions=True)
    assert run.rewards.tolist() == costs
    assert run.decisions is not None
    schedule = narrow.schedule_of(run.decisions)
    assert rewards == aligned_rewards(narrow, schedule).tolist()
    assert times[-1] == schedule.finish.max() / 1000
    assert times == sorted(times)
    assert not alone["mask"].any()
    if (instance.jobs.gpus > 0).all():
        printed = ParallelEnvironment(instance, WINDOW, "printed")
        printed.reset(seed=1)
        steps = [printed.step(dict(zip(AGENTS, pair, strict=True)))[1]["ordering"] for pair in script]
        assert steps == pytest.approx(printed_rewards(narrow, schedule), rel=1e-12)


@hypothesis_settings(max_examples=30, deadline=None)
@given(instances(min_jobs=1, windows=False), st.integers(0, 2**32))
def test_the_other_side_is_fifo_or_consolidation(instance: PlacementInstance, seed: int) -> None:
    keys = np.arange(len(instance.jobs), dtype=np.float64)
    simulator = instance.simulator()
    kernels.run_by_keys(
        simulator.table,
        simulator.state,
        simulator.contention,
        simulator.window,
        keys,
        kernels.CONSOLIDATE,
        strict=False,
    )
    env = SingleEnvironment(instance, agent="ordering")
    env.reset(seed=seed)
    zeros = np.zeros(env.stage.shape("ordering"), dtype=np.float32)
    cost = 0.0
    while not env.stage.over:
        cost += env.step(zeros)[4]["cost"]
    assert cost == pytest.approx(instance.cost(taken_schedule(simulator)), rel=1e-12)

    rng = np.random.default_rng(seed)
    both, placement = SingleEnvironment(instance), SingleEnvironment(instance, agent="placement")
    both.reset(seed=0)
    placement.reset(seed=0)
    while not both.stage.over:
        affinities = scores(placement.stage.shape("placement"), rng)
        oldest_first = np.column_stack([np.zeros(len(affinities), dtype=np.float32), affinities])
        assert placement.step(affinities)[1] == both.step(oldest_first)[1]


def test_every_step_starts_a_job() -> None:
    env = ParallelEnvironment(tiny, window=2)
    for seed in range(5):
        env.reset(seed=seed)
        assert env.stage.simulator is not None
        assert env.instance is env.stage.instance
        state, rng = env.stage.simulator.state, np.random.default_rng(seed)
        while env.agents:
            before = int((state.start >= 0).sum())
            spaces = {agent: env.action_space(agent).shape for agent in AGENTS}
            env.step({agent: scores(shape, rng) for agent, shape in spaces.items()})
            assert (state.start >= 0).sum() > before
        assert (state.finish > state.start).all()


# What is seen


def fitting(free: np.ndarray, instance: PlacementInstance, order: list[int]) -> set[int]:
    """Return which jobs start if they are tried in this order and consolidated."""
    jobs = instance.jobs
    rows = kernels.start_by_rule(
        *(instance.setting.capacity, free, np.arange(len(jobs)), jobs.instances, jobs.need),
        *(np.array(order, dtype=np.int64), kernels.CONSOLIDATE, False),
    )
    return set(rows[:, 0].tolist())


@hypothesis_settings(max_examples=40, deadline=None)
@given(instances(min_jobs=1), st.sampled_from(["both", "ordering"]), st.integers(0, 2**32))
def test_who_is_held_back_waits_for_the_next_event(
    instance: PlacementInstance, agent: str, seed: int
) -> None:
    data = {**instance.to_dict(), "window": min(WINDOW, instance.setting.window)}
    narrow = PlacementInstance.from_dict(data)
    shape = (WINDOW, 1 + len(instance.setting.capacity)) if agent == "both" else (WINDOW,)

    def model(seen: dict[str, np.ndarray]) -> np.ndarray:
        state = sum(int(1000 * array.sum()) for array in seen.values())
        return scores(shape, np.random.default_rng([seed, state]))

    environment = SingleEnvironment(narrow, WINDOW, agent=agent, wait=True)
    (seen, _), over, costs = environment.reset(seed=1), False, []
    simulator = environment.stage.simulator
    assert simulator is not None
    while not over:
        action, waiting = model(seen), simulator.pending
        state, was_running = simulator.state, int(simulator.state.clock[kernels.RUNNING])
        priority = dict(zip(waiting.tolist(), action.reshape(WINDOW, -1)[:, 0].tolist(), strict=False))
        ends = state.finish[state.running[:was_running]].tolist()
        coming = narrow.jobs.submit[int(state.clock[kernels.ARRIVED]) :][:1].tolist()
        tried = [i for i in sorted(priority, key=lambda i: (-priority[i], i)) if priority[i] >= 0.0]
        able = fitting(state.free.copy(), narrow, tried)
        seen, _, over, _, info = environment.step(action)
        costs.append(info["cost"])
        started = [i for i in waiting.tolist() if state.start[i] >= 0]
        if not tried:
            first = max(priority, key=lambda i: (priority[i], -i))
            assert started == ([] if was_running else [first])
            assert not was_running or simulator.now == min(ends + coming)
        else:
            assert set(started) == able or (agent == "both" and set(started) <= set(tried))
    assert (simulator.state.finish >= 0).all()
    policy = trained("placement", model, window=WINDOW, agent=agent, wait=True)
    assert play(policy, narrow).rewards.tolist() == costs


@pytest.mark.parametrize("wait", [False, True])
def test_who_waits_may_span_fewer_machines(wait: bool) -> None:
    """Both machines have two free GPUs when a job of three comes, one of them is empty later."""
    busy = [job(duration=10, gpus=2, cpus=1), job(duration=15, gpus=2, cpus=1, memory=16)]
    instance = cluster([*busy, job(1, instances=3, memory=0)])
    environment = SingleEnvironment(instance, agent="ordering", wait=wait)
    environment.reset(seed=0)
    over = False
    for sign in (1.0, -1.0, 1.0):
        if not over:
            over = environment.step(np.full(24, sign))[2]
    state = environment.stage.simulator.state  # type: ignore[union-attr]
    assert (state.start[2], state.spans[2]) == ((10_000, 1) if wait else (1_000, 2))


def test_a_job_that_is_held_back_has_not_failed() -> None:
    instance = cluster([job(duration=9), job(1, gpus=4)], price=2.0)
    environment = SingleEnvironment(instance, agent="ordering", reward="printed", wait=True)
    environment.reset(seed=0)
    environment.step(np.ones(24))
    _, reward, *_ = environment.step(-np.ones(24))
    assert reward == printed_reward(np.array([2.0 * 9 / 3600]), np.array([9 / 60]), np.zeros(0))


def test_only_who_gives_priorities_can_wait() -> None:
    for make in (partial(SingleEnvironment, tiny), PlacementView):
        with pytest.raises(InputError, match="wait: True, but the agent 'placement' gives no priorities"):
            make(agent="placement", wait=True)
        with pytest.raises(InputError, match="wait: 1 is neither true nor false"):
            make(wait=1)  # type: ignore[arg-type]


def test_the_features_are_those_of_the_paper_in_plain_units() -> None:
    jobs = [
        job(0, 7200, instances=2, gpus=3, cpus=1.5, memory=0.25),
        job(0, 7200, gpus=4),
        job(3600, 1, gpus=1, cpus=4),
        job(7200, 1),
    ]
    env = ParallelEnvironment(cluster(jobs), window=3)
    seen, info = env.reset()
    shown = seen["ordering"]
    assert shown["jobs"].tolist() == [[2, 3, 1.5, 0.25, 0], [1, 4, 1, 2, 0], [0] * 5]
    assert shown["machines"].tolist() == [[4, 8, 16, 0]] * 2
    assert shown["mask"].tolist() == [1, 1, 0]
    assert info["placement"] == {"cost": 0.0, "time": 0.0}
    high = {"ordering": np.array([1, 0, 0]), "placement": np.zeros((3, 2))}
    seen, _, _, _, info = env.step(high)  # job 0 fills 3 of 4 GPUs of both; job 2 is next to fit
    shown = seen["placement"]
    assert info["ordering"]["time"] == 3600
    assert shown["mask"].tolist() == [1, 1, 0]
    assert shown["jobs"].tolist() == [[1, 4, 1, 2, 1], [1, 1, 4, 2, 0], [0] * 5]
    assert shown["machines"].tolist() == [[1, 6.5, 15.75, 0.75]] * 2


def test_a_machine_without_some_resource_is_not_in_use() -> None:
    machines = [{"gpus": 0, "cpus": 4, "memory": 0}]
    instance = PlacementInstance(machines=machines, jobs=[job(gpus=0, memory=0)] * 5)
    seen, _ = SingleEnvironment(instance).reset()
    assert seen["machines"].tolist() == [[0, 4, 0, 0]]


def test_what_is_seen_does_not_tell_durations() -> None:
    def first_steps(durations: list[float]) -> list[dict[str, np.ndarray]]:
        # Two jobs of 4 GPUs run from 0 to 5; the others wait until then, and two of them start.
        jobs = [job(0, 5, gpus=4), job(0, 5, gpus=4)]
        jobs += [job(1 + i, duration, gpus=4) for i, duration in enumerate(durations)]
        env = SingleEnvironment(cluster(jobs))
        seen, _ = env.reset(seed=0)
        shape = env.action_space.shape
        return [seen, env.step(np.zeros(shape))[0]]

    for one, other in zip(first_steps([1, 2, 3]), first_steps([30, 20, 10]), strict=True):
        for name, array in one.items():
            assert np.array_equal(array, other[name])


def test_what_is_seen_belongs_to_who_sees_it() -> None:
    env = ParallelEnvironment(tiny(0))
    seen, _ = env.reset(seed=0)
    kept = {name: array.copy() for name, array in seen["placement"].items()}
    for array in seen["ordering"].values():
        array[:] = 0
    for name, array in seen["placement"].items():
        assert np.array_equal(array, kept[name])
    assert env.instance == tiny(0)


# Seeds


def test_a_seed_names_the_instance_and_those_after_it() -> None:
    parallel, single = ParallelEnvironment(tiny), SingleEnvironment(tiny)
    for env in (parallel, single):
        env.reset(seed=5)
        assert env.instance == tiny(5)
        env.reset()
        second = env.instance
        env.reset()
        assert env.instance != second != tiny(5)
        env.reset(seed=5)
        env.reset()
        assert env.instance == second


# Rewards


@hypothesis_settings(max_examples=50, deadline=None)
@given(st.data())
def test_aligned_rewards_add_up_to_a_constant_less_the_cost(data: st.DataObject) -> None:
    instance = data.draw(instances())
    constant = round(unavoidable(instance) * 10**6)
    ideal = (instance.jobs.gpus * instance.jobs.duration).sum() / 1000 * instance.setting.gpu_weight
    assert unavoidable(instance) == pytest.approx(float(ideal), rel=1e-12)
    for _ in range(2):
        schedule = data.draw(schedules(instance))
        rewards = aligned_rewards(instance, schedule)
        assert len(rewards) == len(instance.decisions(schedule))
        assert (rewards <= 0).all()
        millionths = sum(round(reward * 10**6) for reward in rewards.tolist())
        assert millionths == constant - round(instance.cost(schedule) * 10**6)


def test_excess_is_counted_while_it_is_paid() -> None:
    # Job 0 on both machines where one would do takes 15 s for 10 s of work on 2 GPUs; job 2 arrives at 6 s.
    jobs = [job(0, 10, instances=2), job(6, 1)]
    slow = {"communication": 1, "contention": 0}
    instance = cluster(jobs, slowdown=slow, gpu_weight=0.5)
    start, finish = np.array([0, 6000]), np.array([15_000, 7000])
    schedule = Schedule(start, finish, np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1]]))
    assert instance.violations(schedule) == []
    first = 6 + 0.5 * 2 * (6 - 4)
    last = 9 + 1 + 0.5 * 2 * (9 - 6)
    assert aligned_rewards(instance, schedule).tolist() == pytest.approx([-first, -last], abs=1e-9)


def test_reward_3_is_the_mean_over_finished_and_failed_jobs() -> None:
    def reward(fees: list[float], times: list[float], failed: list[int], alpha: float = ALPHA) -> float:
        return printed_reward(np.array(fees), np.array(times), np.array(failed), alpha)

    assert reward([2.0, 4.0], [0.5, 1.0], [3]) == pytest.approx((1 + 0.25 - 0.3) / 3)
    assert reward([2.0], [0.5], [3, 1], alpha=1) == pytest.approx((1 - 4) / 3)
    assert reward([], [], [8]) == pytest.approx(-0.8)
    assert reward([], [], []) == 0.0


def four_jobs() -> tuple[PlacementInstance, Schedule]:
    """Return four jobs on 4 GPUs, of which one fails twice, and their schedule."""
    jobs = [job(0, 60, gpus=2), job(0, 60, gpus=4), job(0, 120, gpus=1), job(30, 60, gpus=1)]
    instance = cluster(jobs, machines=1, price=60.0)
    start, finish = np.array([0, 120_000, 0, 30_000]), np.array([60_000, 180_000, 120_000, 90_000])
    return instance, Schedule(start, finish, np.array([[i, 0, 1] for i in range(4)]))


def test_rewards_3_of_a_schedule_count_finished_jobs_and_those_that_were_tried_in_vain() -> None:
    instance, schedule = four_jobs()
    assert instance.violations(schedule) == []
    # Dollars and minutes at 60 dollars per GPU hour: fees 2, 4, 2, 1 and times 1, 3, 2, 1.
    expected = [-0.4, (1 / 2 + 1 / 4 + 1 - 0.4) / 4, 1 / 12]
    assert printed_rewards(instance, schedule).tolist() == pytest.approx(expected)
    in_order = printed_rewards(instance, schedule, [[0], [1, 3], [1]])
    assert in_order.tolist() == pytest.approx([0.0, *expected[1:]])
    hours = printed_rewards(instance, schedule, alpha=0, unit=3600)
    assert hours.tolist() == pytest.approx([0, 60 * 1.75 / 4, 60 / 12])


def test_rewards_3_refuse_what_they_cannot_judge() -> None:
    instance, schedule = four_jobs()
    with pytest.raises(InputError, match=r"attempted: 2 lists, but there are more epochs"):
        printed_rewards(instance, schedule, [[0], [1]])
    with pytest.raises(InputError, match=r"attempted: 4 lists, but there are 3 epochs"):
        printed_rewards(instance, schedule, [[], [], [], []])
    with pytest.raises(InputError, match=r"attempted\[0\]: job 3 does not wait in the window"):
        printed_rewards(instance, schedule, [[3], [], []])
    with pytest.raises(DecisionError, match="schedule: infeasible: start"):
        printed_rewards(instance, Schedule(schedule.start + 1, schedule.finish + 1, schedule.rows))
    with pytest.raises(InputError, match=r"jobs\[1\]\.gpus: 0, but reward \(3\)"):
        printed_rewards(cluster([job(), job(gpus=0)]), schedule)
    with pytest.raises(InputError, match=r"price: 0, but reward \(3\)"):
        printed_rewards(cluster([job()], price=0), schedule)


# What is refused


@pytest.mark.parametrize("environment", [ParallelEnvironment, SingleEnvironment])
def test_bad_arguments_are_named(environment: Any) -> None:
    with pytest.raises(InputError, match="source: 3 is neither an instance nor a function"):
        environment(3)
    with pytest.raises(InputError, match="source: an instance of 'selection', expected 'placement'"):
        environment(cv.generate("selection", "tiny", 1))
    with pytest.raises(InputError, match="source: it made 'x' of seed 0"):
        environment(lambda _: "x")
    with pytest.raises(InputError, match="jobs: none"):
        environment(cluster([]))
    with pytest.raises(InputError, match="window: 0"):
        environment(tiny(0), window=0)
    with pytest.raises(InputError, match="reward: 'best' is not one of aligned, printed"):
        environment(tiny(0), reward="best")
    with pytest.raises(InputError, match=r"jobs\[0\]\.gpus: 0, but reward"):
        environment(cluster([job(gpus=0)]), reward="printed")
    growing = environment(lambda seed: cluster([job()], machines=1 + seed))
    with pytest.raises(InputError, match="machines: 3 with seed 2, but 1 with seed 0"):
        growing.reset(seed=2)
    with pytest.raises(InputError, match="must be reset first"):
        environment(tiny(0)).stage.observe()


def test_an_unknown_agent_is_refused() -> None:
    with pytest.raises(InputError, match="agent: 'all' is not one of both, ordering, placement"):
        SingleEnvironment(tiny(0), agent="all")


def test_bad_actions_are_named() -> None:
    env = ParallelEnvironment(cluster([job()]), window=2)
    good = {"ordering": np.zeros(2), "placement": np.zeros((2, 2))}
    with pytest.raises(InputError, match="must be reset"):
        env.step(good)
    env.reset(seed=0)
    with pytest.raises(InputError, match="action of ordering: None"):
        env.step({"placement": good["placement"]})
    with pytest.raises(InputError, match="action of placement"):
        env.step({**good, "placement": np.zeros((2, 3))})
    with pytest.raises(InputError, match=r"action of ordering\[1\]: nan"):
        env.step({**good, "ordering": np.array([0, np.nan])})
    with pytest.raises(InputError, match=r"action of placement\[0\]\[1\]: inf"):
        env.step({**good, "placement": np.array([[0, np.inf], [0, 0]])})
    env.step({"ordering": [0, 0], "placement": [[0, 0], [0, 1]]})
    assert env.agents == []
    with pytest.raises(InputError, match="the episode is over"):
        env.step(good)


# The libraries are optional


def test_the_package_does_not_load_the_libraries_and_says_what_is_missing() -> None:
    code = """
import sys
import clairvoyant, clairvoyant.online
clairvoyant.list_policies()
assert not {"gymnasium", "pettingzoo"} & set(sys.modules)
sys.modules[sys.argv[1]] = None
try:
    import clairvoyant.online.placement.environment
except clairvoyant.ClairvoyantError as error:
    print(error)
"""
    for name in ("gymnasium", "pettingzoo"):
        done = subprocess.run(
            [sys.executable, "-c", code, name], capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, done.stderr
        expected = f'the environments need the package {name}: pip install "clairvoyant[environments]"\n'
        assert done.stdout == expected
