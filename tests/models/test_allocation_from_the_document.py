"""An independent simulator of the allocation problems, written from docs/instance-files.md alone."""

import json
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant.models.base import Outcome
from clairvoyant.testing.allocation import decisions, gang_instances, instances

Rows = Sequence[Sequence[float]]

# --- What stands in the document -------------------------------------------------------------------------

UTILITY = {
    "linear": lambda a, y: a * y,
    "log": lambda a, y: a * math.log(1 + y),
    "reciprocal": lambda a, y: 1 / a - 1 / (y + a),
    "poly": lambda a, y: a * math.sqrt(y + 1) - a,
}


def edges_in_order(data: dict[str, Any]) -> list[tuple[int, int]]:
    return sorted(((p, r) for p, r in data["edges"]), key=lambda edge: (edge[1], edge[0]))


def pairs_in_order(data: dict[str, Any]) -> list[tuple[int, int, int, int]]:
    """Return edge, port, server and task of every row of a gang decision."""
    listed = enumerate(edges_in_order(data))
    return [(e, p, r, q) for e, (p, r) in listed for q in range(len(data["gang"]["demand"][p]))]


def keeps_capacity(data: dict[str, Any], servers: Sequence[int], y: Rows) -> bool:
    used = [[0.0] * len(c) for c in data["capacity"]]
    for r, row in zip(servers, y, strict=True):
        used[r] = [u + v for u, v in zip(used[r], row, strict=True)]
    rows = zip(used, data["capacity"], strict=True)
    return all(u <= c + 1e-9 * c for row, has in rows for u, c in zip(row, has, strict=True))


def near(v: float, a: float) -> bool:
    return -1e-9 * a <= v <= a + 1e-9 * a


def counted(data: dict[str, Any], y: Rows) -> Rows:
    """Return y as it counts: what is beyond a limit within the tolerance is at it."""
    if "gang" in data:
        return counted_gang(data, y)
    rows = [data["demand"][p] for p, _ in edges_in_order(data)]
    return [
        [min(max(v, 0.0), a) if near(v, a) else v for v, a in zip(row, limits, strict=True)]
        for row, limits in zip(y, rows, strict=True)
    ]


def is_feasible(data: dict[str, Any], y: Rows) -> bool:
    if "gang" in data:
        return is_feasible_gang(data, y)
    edges = edges_in_order(data)
    for (p, _), row in zip(edges, y, strict=True):
        if not all(near(v, a) for a, v in zip(data["demand"][p], row, strict=True)):
            return False
    return keeps_capacity(data, [r for _, r in edges], counted(data, y))


def read_gang(data: dict[str, Any], y: Rows) -> tuple[Rows, dict[Any, list[float]], set[Any], set[Any], bool]:
    """Return y without what is below 0, what tasks hold, which hold something or can run, and if y >= -e."""
    gang, kinds = data["gang"], range(len(data["overhead"]))
    held: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0 for _ in kinds])
    holds, rows, above = set(), [], True
    for (_, p, r, q), row in zip(pairs_in_order(data), y, strict=True):
        limits = [1e-9 * min(a, c) for a, c in zip(gang["demand"][p][q], data["capacity"][r], strict=True)]
        above &= all(v >= -e for v, e in zip(row, limits, strict=True))
        rows.append([0.0 if -e <= v < 0.0 else v for v, e in zip(row, limits, strict=True)])
        if not all(v <= e for v, e in zip(row, limits, strict=True)):
            holds.add((p, q))
        held[p, q] = [h + v for h, v in zip(held[p, q], rows[-1], strict=True)]
    tasks = [(p, q) for p, listed in enumerate(gang["floor"]) for q in range(len(listed))]
    can = {
        (p, q)
        for p, q in tasks
        if (p, q) in holds
        or all(s >= b - 1e-9 * b for s, b in zip(held[p, q], gang["floor"][p][q], strict=True))
    }
    return rows, held, holds, can, above


def enough(data: dict[str, Any], can: set[Any]) -> list[bool]:
    return [sum(p == port for p, _ in can) >= least for port, least in enumerate(data["gang"]["minimum"])]


def counted_gang(data: dict[str, Any], y: Rows) -> Rows:
    rows, _, holds, can, _ = read_gang(data, y)
    runs = enough(data, can)
    on = [(p, q) in holds or ((p, q) in can and runs[p]) for _, p, _, q in pairs_in_order(data)]
    return [row if counts else [0.0] * len(row) for row, counts in zip(rows, on, strict=True)]


def is_feasible_gang(data: dict[str, Any], y: Rows) -> bool:
    gang = data["gang"]
    _, held, holds, can, above = read_gang(data, y)
    for p, q in holds:
        limits = zip(gang["floor"][p][q], held[p, q], gang["demand"][p][q], strict=True)
        if not all(b - 1e-9 * b <= s <= a + 1e-9 * a for b, s, a in limits):
            return False
    runs = enough(data, can)
    if not above or not all(runs[p] for p, _ in holds):
        return False
    return keeps_capacity(data, [r for _, _, r, _ in pairs_in_order(data)], counted(data, y))


def reward(data: dict[str, Any], y: Rows, arrivals: Sequence[int]) -> float:
    edges, kinds, y = edges_in_order(data), range(len(data["overhead"])), counted(data, y)
    if "gang" in data:
        amounts = [[0.0 for _ in kinds] for _ in edges]
        for (e, *_), row in zip(pairs_in_order(data), y, strict=True):
            amounts[e] = [u + v for u, v in zip(amounts[e], row, strict=True)]
        y = amounts
    result, utility = 0.0, data["utility"]
    for port, jobs in enumerate(arrivals):
        mine = [(r, row) for (p, r), row in zip(edges, y, strict=True) if p == port]
        gain = sum(
            UTILITY[utility["kind"][r][k]](utility["alpha"][r][k], row[k]) for r, row in mine for k in kinds
        )
        penalty = max(data["overhead"][k] * sum(row[k] for _, row in mine) for k in kinds)
        result += jobs * (gain - penalty)
    return result


# --- Whether that is what happens ------------------------------------------------------------------------


def outcomes(instance: Any, played: Sequence[Any]) -> list[tuple[Any, Outcome]]:
    """Return what is seen and what comes of decisions, feasible or not."""
    episode = instance.episode(frozenset({"arrivals"}))
    seen = zip(episode, played, strict=True)
    return [(observation, episode.apply(decision, enforce=False)) for observation, decision in seen]


def shuffled(data: dict[str, Any]) -> dict[str, Any]:
    """Return the same instance with its edges in another order."""
    return data | {"edges": random.Random(1).sample(data["edges"], len(data["edges"]))}


def agree(path: Path, policy: str, instance: Any) -> None:
    """Play, and let the simulator judge the decisions by the file alone."""
    instance.save(path)
    run = cv.play(policy, instance, seed=3, keep_decisions=True, enforce=policy != "ogasched-printed")
    data = shuffled(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(data), encoding="utf-8")
    assert cv.load(path) == instance
    assert run.decisions is not None
    plain = [decision.tolist() for decision in run.decisions]
    judged = [reward(data, y, x) for y, x in zip(plain, data["arrivals"], strict=True)]
    assert run.rewards == pytest.approx(judged, rel=1e-11, abs=1e-11)
    assert run.infeasible == sum(not is_feasible(data, y) for y in plain)
    assert run.total == pytest.approx(sum(judged), rel=1e-11, abs=1e-11)
    for slot, (seen, outcome) in enumerate(outcomes(cv.load(path), run.decisions)):
        assert (seen.slot, seen.arrivals.tolist()) == (slot, data["arrivals"][slot])
        told = outcome.feedback
        assert (told.slot, told.arrivals.tolist(), told.reward) == (
            slot,
            data["arrivals"][slot],
            outcome.reward,
        )
        assert outcome.reward == run.rewards[slot]


OPTIONS: list[dict[str, Any]] = [
    {"utility": "mix"},
    {"utility": "reciprocal", "counts": True, "fano": 3.0},
    {"utility": "linear", "overhead": (0.9, 1.0), "density": 1.0},
    {"utility": {"log": 0.5, "poly": 0.5}, "pattern": "pai-2020", "contention": 0.5, "servers": 9},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(
    "policy", ["ogasched", "ogasched-printed", "drf", "fairness", "binpacking", "spreading"]
)
def test_the_simulator_gets_the_same_rewards(tmp_path: Path, options: dict[str, Any], policy: str) -> None:
    agree(tmp_path / "file.json", policy, cv.generate("allocation", size="tiny", seed=5, slots=12, **options))


@pytest.mark.parametrize("options", [{"floor": 0.2}, {"tasks": 3, "minimum": 1}, {"floor": 0.0}], ids=str)
def test_the_simulator_gets_the_same_rewards_of_gangs(tmp_path: Path, options: dict[str, Any]) -> None:
    instance = cv.generate("allocation-gang", size="tiny", seed=2, slots=6, servers=2, ports=2, **options)
    agree(tmp_path / "file.json", "perturbed-leader", instance)


class Draws:
    """A policy that notes what it draws."""

    name = "draws"
    traits = cv.Traits(problem="allocation", randomised=True)

    def start(self, setting: Any, rng: np.random.Generator) -> None:
        """Draw once."""
        self.shape, self.sampled = setting.shape, rng.random()

    def decide(self, observation: Any) -> np.ndarray:
        """Hold nothing."""
        return np.zeros(self.shape)


def test_a_policy_draws_from_the_generator_of_the_document() -> None:
    policy = Draws()
    cv.play(policy, cv.generate("allocation", size="tiny", slots=1), seed=7)
    number = int.from_bytes(sha256(b"policy/7").digest(), "little")
    assert policy.sampled == np.random.default_rng(number).random()


def same_verdict(instance: Any, y: np.ndarray) -> bool:
    """Return the verdict on a decision that is held in all slots, after a comparison of both."""
    data, plain = json.loads(json.dumps(instance.to_dict())), y.tolist()
    verdict = is_feasible(shuffled(data), plain)
    assert (not instance.violations(y)) == verdict
    if np.isfinite(y).all() and (y > -1e-6).all():
        for slot, (_, outcome) in enumerate(outcomes(instance, [y] * len(data["arrivals"]))):
            assert outcome.feasible == verdict
            assert outcome.reward == pytest.approx(reward(data, plain, data["arrivals"][slot]), abs=1e-9)
    return verdict


NUDGES: st.SearchStrategy[float] = st.sampled_from([0.0, 0.9e-9, -0.9e-9, 2e-9, -2e-9])
PARTS: st.SearchStrategy[float] = st.sampled_from([0.0, 0.5, 1.0])
COIN: st.SearchStrategy[bool] = st.booleans()


@given(st.data(), instances(min_slots=1, max_slots=2), COIN)
@hypothesis_settings(max_examples=50)
def test_the_simulator_finds_the_same_feasible(data: st.DataObject, instance: Any, feasible: bool) -> None:
    y = data.draw(decisions(instance.setting, feasible=feasible))
    assert same_verdict(instance, y) == feasible
    if feasible and y.size:
        places = st.tuples(*(st.integers(0, n - 1) for n in y.shape))
        at, other = data.draw(places), data.draw(places)
        y[at] = instance.setting.edge_demand[at] * (data.draw(PARTS) + data.draw(NUDGES))
        y[other] += instance.setting.capacity[instance.setting.server[other[0]], other[1]] * data.draw(NUDGES)
        same_verdict(instance, y)


@given(st.data(), gang_instances(min_slots=1, max_slots=2))
@hypothesis_settings(max_examples=50)
def test_the_simulator_finds_the_same_gangs_feasible(data: st.DataObject, instance: Any) -> None:
    """Every task holds a part of its demand or its floor on one of its servers, more or less, or nothing."""
    s = instance.setting
    y = np.zeros(s.shape)
    for task in range(len(s.task_port)):
        rows = np.flatnonzero(s.pair_task == task).tolist()
        if data.draw(COIN) and rows:
            whole = (s.task_demand if data.draw(COIN) else s.task_floor)[task]
            at: st.SearchStrategy[int] = st.sampled_from(rows)
            y[data.draw(at)] = whole * (data.draw(PARTS) + data.draw(NUDGES))
    if y.size and data.draw(st.integers(0, 9)) == 9:
        y[0, 0] = data.draw(st.sampled_from([math.nan, math.inf, -math.inf, -1.0]))
    same_verdict(instance, y)


@pytest.mark.parametrize(
    ("floor", "holds", "feasible"),
    [
        (0.0, 0.0, True),
        (0.9e-9, 0.0, False),
        (0.9e-9, 0.9e-9, True),
        (2e-9, 0.0, False),
        (0.5, 0.4e-9, False),
    ],
)
def test_a_task_that_holds_all_it_needs_counts_as_scheduled(
    floor: float, holds: float, feasible: bool
) -> None:
    instance = cv.generate("allocation-gang", size="tiny", seed=1, ports=1, servers=1)
    plain = instance.to_dict()
    kinds = len(plain["overhead"])
    plain |= {"demand": [[1.0] * kinds], "capacity": [[1.0] * kinds], "edges": [[0, 0]]}
    floors = [[[0.5] * kinds, [floor] * kinds]]
    plain["gang"] = {"demand": [[[1.0] * kinds] * 2], "floor": floors, "minimum": [2]}
    y = np.array([[0.5] * kinds, [holds] * kinds])
    assert same_verdict(type(instance).from_dict(plain), y) == feasible


def test_both_verdicts_on_gangs_occur() -> None:
    data = json.loads(json.dumps(cv.generate("allocation-gang", size="tiny", seed=1).to_dict()))
    none = [[0.0] * len(data["overhead"])] * len(pairs_in_order(data))
    assert is_feasible(data, none)
    assert not is_feasible(data, [[1e-3] * len(data["overhead"]), *none[1:]])
