"""Environments of all problems: what they pay is what play pays, and what they show is within its bounds."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pettingzoo.test import api_test, parallel_api_test
from pettingzoo.utils import parallel_to_aec

import clairvoyant as cv
from clairvoyant import environments
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.reward import unavoidable
from clairvoyant.online.environment import Environment
from clairvoyant.online.placement.environment import ParallelEnvironment, SingleEnvironment
from clairvoyant.online.placement.view import AGENTS, PlacementView
from clairvoyant.testing import placement

PAGE = Path(__file__).resolve().parents[2] / "docs" / "environments.md"
PROBLEMS = tuple(environments.NAMES.values())
LEAST: dict[str, dict[str, Any]] = {
    "allocation": {"min_slots": 1},
    "selection": {"min_slots": 1},
    "admission": {},
    "placement": {"min_jobs": 1},
}
rare = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
generate: Any = cv.generate  # of any problem


def answer(shape: tuple[int, ...]) -> Any:
    """Return a model whose answer depends on all that it sees, and on nothing else."""

    def model(seen: dict[str, np.ndarray]) -> np.ndarray:
        total = sum(
            float(seen[name].astype(np.float64).sum()) * (i + 1) for i, name in enumerate(sorted(seen))
        )
        rng = np.random.default_rng(np.array([total]).view(np.uint64))
        return rng.integers(-2, 3, shape).astype(np.float32) / 2

    return model


def run(env: Any) -> tuple[list[float], list[dict[str, Any]], list[dict[str, np.ndarray]]]:
    """Play an episode; return rewards, infos and what was seen before each step."""
    model = answer(env.action_space.shape)
    seen, _ = env.reset(seed=3)
    rewards, infos, shown, over = [], [], [seen], False
    while not over:
        seen, reward, over, cut, info = env.step(model(seen))
        assert not cut
        rewards.append(reward)
        infos.append(info)
        shown.append(seen)
    return rewards, infos, shown


@pytest.mark.parametrize("name", environments.NAMES)
def test_registered_environments_pass_the_tests_of_gymnasium(name: str) -> None:
    env = gymnasium.make(f"clairvoyant.environments:{name}")
    check_env(env.unwrapped, skip_render_check=True)
    fixed = generate(environments.NAMES[name], size="tiny", seed=7)
    env = gymnasium.make(name, source=fixed)
    check_env(env.unwrapped, skip_render_check=True)
    inner: Any = env.unwrapped
    assert inner.instance == fixed


@pytest.mark.parametrize("problem", PROBLEMS)
@rare
@given(data=st.data())
def test_an_environment_pays_what_play_pays(problem: str, data: st.DataObject) -> None:
    room = importlib.import_module(f"clairvoyant.testing.{problem}")
    instance = data.draw(room.instances(**LEAST[problem]))
    env = environments.make(problem, instance)
    rewards, _, shown = run(env)
    for seen in shown:
        assert env.observation_space.contains(seen)
    policy = environments.trained(problem, answer(env.action_space.shape or ()))
    if problem == "placement":  # the environment never shows more than its window
        assume(len(instance.jobs) <= 24)
        assert sum(rewards) - unavoidable(instance) == pytest.approx(-cv.play(policy, instance).total)
    else:
        assert rewards == cv.play(policy, instance).rewards.tolist()


def watched(problem: str, instance: Any) -> tuple[list[dict[str, np.ndarray]], list[Any]]:
    """Return what a model sees before each decision, and what is decided."""
    env, shown = environments.make(problem, instance), list[dict[str, np.ndarray]]()
    model = answer(env.action_space.shape or ())

    def noting(seen: dict[str, np.ndarray]) -> Any:
        shown.append(seen)
        return model(seen)

    policy = environments.trained(problem, noting)
    return shown, [*(cv.play(policy, instance, keep_decisions=True).decisions or ())]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_seen_is_what_decisions_and_nature_have_made_so_far(seed: int) -> None:
    allocation = generate("allocation", size="tiny", seed=seed)
    shown, _ = watched("allocation", allocation)
    before = np.vstack([0 * allocation.arrivals[:1], allocation.arrivals[:-1]])
    assert np.array([seen["arrivals"] for seen in shown]) == pytest.approx(before / (1.0 + before))

    selection = generate("selection", size="tiny", seed=seed, noise="none")
    shown, decisions = watched("selection", selection)
    assert np.array_equal([seen["arrivals"] for seen in shown], selection.arrivals)
    on = np.cumsum([np.zeros(selection.setting.channels), *decisions], axis=0)[:-1]
    port, server = selection.setting.edges.T
    for seen, count in zip(shown, on, strict=True):
        assert seen["count"][port, server] == pytest.approx(count / (1.0 + count))
        assert seen["mean"][port, server] == pytest.approx(np.where(count > 0, selection.mean, 0.0))
    assert on[-1].any()

    admission = generate("admission", size="tiny", seed=seed)
    shown, decisions = watched("admission", admission)
    left = {job.index: job.work for job in admission.jobs if admission.setting.why_never(job) is None}
    done = 0
    for slot, (seen, decided) in enumerate(zip(shown, decisions, strict=True), 1):
        there = [job for job in admission.jobs if job.arrival <= slot and left.get(job.index)]
        assert seen["mask"].sum() == len(there)
        for job, row in zip(there, seen["jobs"], strict=False):
            part = left[job.index] / job.work, (slot - job.arrival) / len(shown)
            assert (row[0], row[3]) == pytest.approx(part)
        for job, _, workers in decided.workers:
            left[job] -= workers
            done += workers
    assert done
    assert min(left.values()) >= 0


def test_costs_are_negative_rewards() -> None:
    instance = generate("placement", size="tiny", seed=1)
    env = Environment(instance, PlacementView())
    total = sum(run(env)[0])
    model = answer(env.action_space.shape or ())
    assert total == pytest.approx(-cv.play(environments.trained("placement", model), instance).total) != 0


# Placement, scaled


@rare
@given(placement.instances(min_jobs=1), st.sampled_from(("both", *AGENTS)))
def test_scaled_is_within_bounds_and_else_the_same(instance: PlacementInstance, agent: str) -> None:
    plain, scaled = (SingleEnvironment(instance, 3, agent=agent, scaled=one) for one in (False, True))
    assert plain.action_space == scaled.action_space
    model, over = answer(plain.action_space.shape or ()), False
    seen, small = plain.reset(seed=0)[0], scaled.reset(seed=0)[0]
    costs: list[float] = []
    spaces: Any = scaled.stage.seen_space()
    while not over:
        assert scaled.observation_space.contains(small)
        for name in ("jobs", "machines"):
            assert spaces[name].high.max() == 1.0
            assert ((small[name] > 0) == (seen[name] > 0)).all() or name == "machines"
        assert np.array_equal(small["mask"], seen["mask"])
        action = model(seen)
        seen, reward, over, _, info = plain.step(action)
        small, part, ended, _, told = scaled.step(action)
        assert (over, info) == (ended, told)
        assert -1.0 <= part <= 1e-12
        assert part * scaled.stage.scale == pytest.approx(reward, rel=1e-9, abs=1e-9)
        costs.append(info["cost"])
    narrow = PlacementInstance.from_dict({**instance.to_dict(), "window": min(3, instance.setting.window)})
    model = answer(plain.action_space.shape or ())
    policy = environments.trained("placement", model, window=3, agent=agent)
    assert cv.play(policy, narrow).rewards.tolist() == costs


def test_the_scaled_features_by_hand() -> None:
    big = {"submit": 0, "duration": 7200, "instances": 2, "gpus": 3, "cpus": 1.5, "memory": 4}
    small = {"submit": 3600, "duration": 1, "instances": 1, "gpus": 4, "cpus": 0, "memory": 0}
    machines = [{"gpus": 4, "cpus": 8, "memory": 16}] * 2 + [{"gpus": 8, "cpus": 0, "memory": 4}]
    env = SingleEnvironment(PlacementInstance(machines=machines, jobs=[big, big, small]), 2, scaled=True)
    seen, _ = env.reset(seed=0)
    assert seen["jobs"][0].tolist() == pytest.approx([0.2, 3 / 8, 1.5 / 8, 0.25, 0.0])
    assert seen["machines"].tolist() == [[1.0, 1.0, 1.0, 0.0]] * 2 + [[1.0, 0.0, 1.0, 0.0]]
    seen = env.step(np.zeros(env.action_space.shape or (), dtype=np.float32))[0]
    assert seen["machines"][0].tolist() == pytest.approx([0.25, 6.5 / 8, 0.75, 0.75])
    assert seen["jobs"][0].tolist() == pytest.approx([0.2, 3 / 8, 1.5 / 8, 0.25, 0.5])
    assert seen["jobs"][1].tolist() == pytest.approx([1 / 9, 0.5, 0.0, 0.0, 0.0])
    instance = cv.generate("placement", size="tiny", seed=0)
    with pytest.raises(cv.InputError, match="scaled: True, but the printed reward"):
        SingleEnvironment(instance, reward="printed", scaled=True)


@pytest.mark.filterwarnings("ignore::UserWarning")  # what it recommends for names and spaces
def test_two_agents_scaled_pass_the_tests_of_pettingzoo() -> None:
    def tiny(seed: int) -> PlacementInstance:
        return cv.generate("placement", size="tiny", seed=seed)

    for scaled in (False, True):
        parallel_api_test(ParallelEnvironment(tiny, 3, scaled=scaled), num_cycles=30)
        api_test(parallel_to_aec(ParallelEnvironment(tiny, 3, scaled=scaled)), num_cycles=30)


# Trained models


@pytest.mark.usefixtures("compared_here")
def test_a_model_needs_no_gymnasium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    instance = cv.generate("selection", size="tiny", seed=0)
    shape = (instance.setting.ports, instance.setting.servers)
    first = cv.play(environments.trained("selection", lambda _: np.ones(shape)), instance)
    again = cv.compare(
        instance, [environments.trained("selection", lambda _: np.ones(shape), "mine"), "cucb"]
    )
    assert again.to_frame()["total"][0] == first.total > 0
    monkeypatch.delitem(sys.modules, "clairvoyant.online.environment")
    with pytest.raises(cv.ClairvoyantError, match=r'pip install "clairvoyant\[environments\]"'):
        environments.make("selection")


@pytest.mark.usefixtures("compared_here")
def test_the_page_trains_a_model_that_plays_as_it_acts() -> None:
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    text = PAGE.read_text("utf-8")
    there: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        quick = block.replace("n_steps=512", "n_steps=64, n_epochs=1").replace("learn(6000)", "learn(64)")
        exec(quick.replace("range(30)", "range(2)"), there)  # noqa: S102 - our own page
    model, options, instance = there["model"], there["options"], there["day"](3)
    env = SingleEnvironment(instance, **options)
    seen, over, cost = env.reset(seed=0)[0], False, 0.0
    while not over:
        seen, _, over, _, info = env.step(model.predict(seen, deterministic=True)[0])
        cost += info["cost"]
    narrow = PlacementInstance.from_dict({**instance.to_dict(), "window": options["window"]})
    assert cv.play(there["trained"], narrow).total == pytest.approx(cost)
    assert set(re.findall(r"`(clairvoyant/\w+-v0)`", text)) == set(environments.NAMES)


# Bad input


def test_what_does_not_fit_is_refused() -> None:
    small, large = (cv.generate("allocation", size="tiny", seed=1, ports=n) for n in (2, 3))
    env = environments.make("allocation", lambda seed: small if seed == 0 else large)
    with pytest.raises(cv.InputError, match=r"instance: \(3, 3, 2\) ports, servers and kinds, expected \(2"):
        env.reset(seed=1)
    env.reset(seed=0)
    with pytest.raises(cv.InputError, match="action"):
        env.step(np.zeros(3))
    for _ in range(small.setting.slots):
        over = env.step(np.zeros(env.action_space.shape or ()))[2]
    assert over
    with pytest.raises(cv.InputError, match="must be reset"):
        env.step(np.zeros(env.action_space.shape or ()))
    with pytest.raises(cv.InputError, match="source: an instance of 'allocation', expected 'selection'"):
        environments.make("selection", small)
    with pytest.raises(cv.InputError, match="source: 3 is neither an instance nor a function"):
        environments.make("selection", 3)  # type: ignore[arg-type]
    with pytest.raises(cv.InputError, match="nothing happens in it"):
        environments.make("allocation", cv.generate("allocation", size="tiny", slots=0)).reset(seed=0)
    with pytest.raises(cv.InputError, match="'allocation-gang' has no environment; these have: allocation, "):
        environments.make("allocation-gang")
    with pytest.raises(cv.InputError, match=r"no environment; .* new-policy selection-gang NAME"):
        environments.trained("selection-gang", None)
    with pytest.raises(cv.InputError, match="agent: 'x' is not one of"):
        PlacementView(agent="x")
    view = PlacementView()
    view.fit(cv.generate("placement", size="tiny", seed=1).setting)
    with pytest.raises(cv.InputError, match="machines, expected"):
        view.start(cv.generate("placement", size="default", seed=1, jobs=3).setting)
    assert isinstance(environments.make("admission"), Environment)
