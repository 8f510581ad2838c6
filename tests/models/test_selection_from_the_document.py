"""An independent simulator of the selection problems, written from docs/instance-files.md alone."""

import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant import api
from clairvoyant.testing import selection, selection_gang

# --- What stands in the document -------------------------------------------------------------------------


def channels_in_order(data: dict[str, Any]) -> list[int]:
    """Return the places in the file of the channels, sorted by port or task, then by server."""
    pairs = data["channels" if "channels" in data else "edges"]
    return sorted(range(len(pairs)), key=lambda place: tuple(pairs[place]))


def in_order(data: dict[str, Any], values: Sequence[Any]) -> list[Any]:
    return [values[place] for place in channels_in_order(data)]


def fits(taken: Sequence[Sequence[int]], has: Sequence[int]) -> bool:
    return all(sum(row[k] for row in taken) <= most for k, most in enumerate(has))


def is_feasible(data: dict[str, Any], x: Sequence[float], arrivals: Sequence[int]) -> bool:
    if any(value not in (0, 1) for value in x):
        return False
    on = [place for place, value in zip(channels_in_order(data), x, strict=True) if value]
    if "channels" not in data:
        demands = [data["demand"][place] for place in on]
        return all(arrivals[data["edges"][place][0]] for place in on) and fits(demands, data["capacity"])
    runs = [data["channels"][place] for place in on]
    ports = Counter(data["task_port"][task] for task, _ in runs)
    return (
        all(arrivals[port] for port in ports)
        and all(count == 1 for count in Counter(task for task, _ in runs).values())
        and all(count >= data["minimum"][port] for port, count in ports.items())
        and all(
            fits([data["demand"][task] for task, server in runs if server == r], has)
            for r, has in enumerate(data["capacity"])
        )
    )


def reward(data: dict[str, Any], x: Sequence[float]) -> float:
    return math.fsum(mean * value for mean, value in zip(in_order(data, data["mean"]), x, strict=True))


def optimum(data: dict[str, Any]) -> float:
    """Return the sum over all slots of the largest reward of a feasible decision, of few channels."""
    every = list(product((0, 1), repeat=len(data["mean"])))
    return sum(max(reward(data, x) for x in every if is_feasible(data, x, a)) for a in data["arrivals"])


def clipped_mean(location: float, scale: float) -> float:
    """Return the mean of a normal variable that is clipped to [0, 1]."""

    def below(z: float) -> float:
        return 0.5 * math.erfc(-z / math.sqrt(2))

    def density(z: float) -> float:
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    low, high = -location / scale, (1 - location) / scale
    inside = location * (below(high) - below(low)) + scale * (density(low) - density(high))
    return inside + below(-high)


def location_of(mean: float, scale: float) -> float:
    if scale == 0 or mean in (0, 1):
        return mean if 0 < mean < 1 else (mean - 0.5) * math.inf
    low, high = -40 * scale, 1 + 40 * scale
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if clipped_mean(middle, scale) < mean else (low, middle)
    return low


def net_utilities(data: dict[str, Any]) -> np.ndarray:
    """Return u[slot, channel] of the channels in order."""
    slots, count = len(data["arrivals"]), len(data["mean"])
    if "path" in data:
        return np.array([in_order(data, row) for row in data["path"]]).reshape(slots, count)
    mean, kind = np.array(in_order(data, data["mean"])), data["noise"]["kind"]
    rng = np.random.default_rng(np.random.SeedSequence(data["seed"], spawn_key=(1505,)))
    if kind == "none":
        return np.tile(mean, (slots, 1))
    if kind == "bernoulli":
        return (rng.random((slots, count)) < mean).astype(float)
    scale = np.array(in_order(data, data["noise"]["scale"]))
    location = np.array([location_of(*pair) for pair in zip(mean, scale, strict=True)])
    return np.clip(location + scale * rng.standard_normal((slots, count)), 0, 1)


# --- Whether that is what happens ------------------------------------------------------------------------

PER_CHANNEL = ("edges", "channels", "mean", "cost")


def shuffled(data: dict[str, Any]) -> dict[str, Any]:
    """Return the same instance with its channels in another order."""
    places = random.Random(1).sample(range(len(data["mean"])), len(data["mean"]))
    lists = [*PER_CHANNEL] + ["demand"] * ("edges" in data)
    data = data | {name: [data[name][place] for place in places] for name in lists if name in data}
    if "scale" in data["noise"]:
        data["noise"] = data["noise"] | {"scale": [data["noise"]["scale"][place] for place in places]}
    if "path" in data:
        data["path"] = [[row[place] for place in places] for row in data["path"]]
    return data


def as_read(instance: Any) -> dict[str, Any]:
    """Return what the file of an instance holds, its channels in another order."""
    return shuffled(json.loads(json.dumps(instance.to_dict())))


def agree(instance: Any, data: dict[str, Any], played: Sequence[Any]) -> int:
    """Let both judge the decisions, feasible or not; return how many were not."""
    episode, u, broken = instance.episode(frozenset({"arrivals"})), net_utilities(data), 0
    for slot, (seen, x) in enumerate(zip(episode, played, strict=True)):
        outcome, arrivals = episode.apply(x, enforce=False), data["arrivals"][slot]
        assert (seen.slot, seen.arrivals.tolist()) == (slot, arrivals)
        assert outcome.feasible == is_feasible(data, x.tolist(), arrivals)
        broken += not outcome.feasible
        if outcome.feasible:
            assert outcome.reward == pytest.approx(reward(data, x.tolist()), rel=1e-12)
            told, on = outcome.feedback, np.flatnonzero(x)
            assert (told.slot, told.channels.tolist()) == (slot, on.tolist())
            assert told.utility == pytest.approx(u[slot, on], abs=1e-9)
    return broken


CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("selection", "esdp", {"slots": 30}),
    ("selection", "esdp-printed", {"slots": 30, "capacity": (3, 4)}),
    ("selection", "thompson", {"noise": "bernoulli", "slots": 30, "capacity": 5, "demand": (0, 3)}),
    ("selection", "cucb", {"noise": "none", "slots": 20, "density": 0.4, "kinds": 1}),
    ("selection", "lcf", {"cost_scale": 0.5, "arrival_probability": 0.4, "slots": 30}),
    ("selection-gang", "esdp-gang", {"slots": 12}),
    ("selection-gang", "esdp-gang", {"slots": 8, "noise": "bernoulli", "minimum": 2, "capacity": (1, 3)}),
]


@pytest.mark.parametrize(("problem", "policy", "options"), CASES, ids=str)
@pytest.mark.parametrize("recorded", [False, True])
def test_the_simulator_gets_the_same_rewards(
    tmp_path: Path, problem: str, policy: str, options: dict[str, Any], recorded: bool
) -> None:
    path = tmp_path / "file.json"
    instance = api.generate(problem, size="tiny", seed=4, **options)
    instance.save(path)
    data = shuffled(json.loads(path.read_text(encoding="utf-8")))
    if recorded:
        rng = random.Random(2)
        data["path"] = [[rng.random() for _ in data["mean"]] for _ in data["arrivals"]]
    path.write_text(json.dumps(data), encoding="utf-8")
    loaded = cv.load(path)
    assert (loaded == instance) == (not recorded)
    run = cv.play(policy, loaded, seed=1, keep_decisions=True)
    assert run.decisions is not None
    assert agree(loaded, data, run.decisions) == 0
    judged = [reward(data, x.tolist()) for x in run.decisions]
    assert run.rewards == pytest.approx(judged, rel=1e-12)
    assert run.total == pytest.approx(sum(judged), rel=1e-12)


@given(selection.instances(min_slots=1), st.integers(0, 2**31), st.floats(0.0, 1.0))
@hypothesis_settings(max_examples=60)
def test_the_simulator_finds_the_same_feasible(instance: Any, seed: int, share: float) -> None:
    rng, s = np.random.default_rng(seed), instance.setting
    played = (rng.random((s.slots, s.channels)) < share).astype(float)
    odd = rng.random(played.shape) < 0.03
    played[odd] = rng.choice([2.0, -1.0, 0.5, 1.0 + 1e-15, math.nan, math.inf], odd.sum())
    for x, arrivals in zip(played, instance.arrivals, strict=True):
        if rng.random() < 0.5:
            x[~s.open(arrivals)] = 0.0
    agree(instance, as_read(instance), list(played))


@given(selection_gang.gang_instances(min_slots=1), st.integers(0, 2**31), st.floats(0.0, 1.0))
@hypothesis_settings(max_examples=60)
def test_the_simulator_finds_the_same_gangs_feasible(instance: Any, seed: int, share: float) -> None:
    rng, s = np.random.default_rng(seed), instance.setting
    played = [(rng.random(s.channels) < share) & (rng.random() < 0.3) for _ in range(s.slots)]
    for slot, x in enumerate(played):
        if rng.random() < 0.8:  # a task runs once, and only where there is a job
            once = np.unique(s.task, return_index=True)[1]
            x[np.setdiff1d(np.arange(s.channels), once)] = False
            x &= s.open(instance.arrivals[slot])
    agree(instance, as_read(instance), [x.astype(float) for x in played])


@given(selection.instances(max_channels=5, max_slots=3) | selection_gang.gang_instances(max_channels=5))
@hypothesis_settings(max_examples=30)
def test_the_optimum_is_that_of_the_document(instance: Any) -> None:
    assert cv.solve(instance).value == pytest.approx(optimum(as_read(instance)), rel=1e-7, abs=1e-9)


def test_means_at_the_ends_and_scales_of_0_leave_no_room_for_noise() -> None:
    data = cv.generate("selection", size="tiny", seed=1, slots=40).to_dict()
    data["mean"][:4], data["noise"]["scale"][:4] = [0.0, 1.0, 0.5, 0.7], [0.5, 0.5, 0.0, 1e-3]
    instance = cv.SelectionInstance.from_dict(data)
    u = net_utilities(as_read(instance))
    assert u == pytest.approx(instance.path, abs=1e-9)
    assert (u[:, :3] == [0.0, 1.0, 0.5]).all()


def test_every_rule_of_gangs_is_broken_by_itself() -> None:
    data: dict[str, Any] = {
        "problem": "selection-gang",
        "version": 1,
        "channels": [[0, 0], [0, 1], [1, 0], [2, 1]],
        "task_port": [0, 0, 1],
        "demand": [[1], [2], [1]],
        "capacity": [[3], [1]],
        "minimum": [2, 0],
        "mean": [0.5, 0.8, 0.25, 0.4],
        "noise": {"kind": "none"},
        "arrivals": [[1, 0], [1, 1]] * 4,
        "seed": 7,
    }
    good, lonely, twice, full = [1, 0, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]
    idle, half = [1, 0, 1, 1], [1.0, 0.0, 0.5, 0.0]
    played: list[Any] = [good, idle, lonely, twice, half, full, good, idle]
    verdicts = [
        True,
        True,
        False,
        False,
        False,
        False,
        True,
        True,
    ]  # in every other slot both ports have jobs
    instance = type(cv.generate("selection-gang", size="tiny")).from_dict(data)
    assert [is_feasible(data, x, a) for x, a in zip(played, data["arrivals"], strict=True)] == verdicts
    assert agree(instance, data, [np.array(x, dtype=float) for x in played]) == 4
    assert not is_feasible(data, idle, [1, 0])
