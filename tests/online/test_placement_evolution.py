"""The linear design and its training: what decides, what it starts out from, and where evolution goes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.base import InputError
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.setting import Observation, Setting
from clairvoyant.models.placement.simulator import rooms
from clairvoyant.online.base import Traits
from clairvoyant.online.placement import DrfPatient, SjfEstimatePatient
from clairvoyant.online.placement.learned import checkpoint, evolution
from clairvoyant.online.placement.learned.acting import Player, taken_by
from clairvoyant.online.placement.learned.design import Design
from clairvoyant.online.placement.learned.evolution import Evolution, cost_of
from clairvoyant.online.placement.learned.features import LINEAR, STATE
from clairvoyant.online.placement.learned.plan import Plan, Progress
from clairvoyant.online.placement.learned.policies import SHIPPED
from clairvoyant.online.placement.learned.training import train
from clairvoyant.online.placement.learned.weights import Networks, initial, shapes
from clairvoyant.online.play import play
from clairvoyant.testing.placement import instances

BLIND = Design(ordering="linear", placement="linear", features="capacity", prior="patient", holds=True)
TOLD = replace(BLIND, features="estimates", prior="estimates")
BOTH = pytest.mark.parametrize("design", [BLIND, TOLD], ids=["blind", "estimates"])


def drawn(design: Design, seed: int, scale: float = 1.0) -> Networks:
    """Return networks with random weights."""
    rng = np.random.default_rng(seed)
    arrays = {name: scale * rng.standard_normal(shape) for name, shape in shapes(design).items()}
    return Networks(design, {name: x.astype(np.float32) for name, x in arrays.items()})


class Plain:
    """Decides by the three scores, in plain Python, feature by feature and by their names."""

    name = "plain"

    def __init__(self, networks: Networks) -> None:
        estimates = networks.design.sees_estimates
        self.traits = Traits(problem="placement", sees=frozenset({"estimates"} if estimates else ()))
        self.estimates = estimates
        self.weights = {agent: networks.arrays[f"{agent}.score"].astype(float) for agent in LINEAR}

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        self.setting, self.known = setting, dict[int, tuple[int, int]]()
        self.ended, self.ran = 0, 0

    def score(self, agent: str, seen: dict[str, float]) -> float:
        """Return the weighted sum of the products of features and state."""
        names = [name for name in LINEAR[agent] if self.estimates or name != "estimate"]
        assert self.weights[agent].shape == (len(names), len(STATE))
        return sum(
            float(self.weights[agent][i, j]) * seen[name] * self.state[of]
            for i, name in enumerate(names)
            for j, of in enumerate(STATE)
        )

    def decide(self, one: Observation) -> list[tuple[int, int, int]]:
        """Return what starts."""
        capacity, total = self.setting.capacity, self.setting.capacity.sum(0)
        self.ended += len(one.ended)
        self.ran += int((one.ended[:, 2] - one.ended[:, 1]).sum())
        self.mean = max(self.ran / self.ended if self.ended else 0.0, 1000.0)
        for p, job in enumerate(one.jobs.tolist()):
            self.known[job] = int(one.need[p, 0]), int(one.intensity[p])
        near = [[0, 0] for _ in capacity]
        for job, k, count in one.running.tolist():
            self.add(near[k], job, count)
        asked = total - one.free.sum(0) + (one.instances[:, None] * one.need).sum(0)
        load = max([1e-4] + [asked[r] / total[r] for r in range(3) if total[r]])
        self.state = {"one": 1.0, "load": math.log2(max(load, 0.125)) / 4.0}
        self.quiet = bool((asked <= 0.5 * total).all())
        ranks, shares = zip(*(self.rank(one, p, total) for p in range(len(one.jobs))), strict=True)
        left, rows = one.free.copy(), list[tuple[int, int, int]]()
        for p in sorted(range(len(one.jobs)), key=lambda p: (-ranks[p], p)):
            own, worst = self.place(one, p, left, near)
            if own and not ((rows or len(one.running)) and self.waits(one, p, len(own), worst, shares[p])):
                rows += own
                for job, k, count in own:
                    left[k] -= count * one.need[p]
                    self.add(near[k], job, count)
        return rows

    def add(self, near: list[int], job: int, count: int) -> None:
        """Count a job on a machine, in thousandths."""
        gpus, beta = self.known[job]
        near[0], near[1] = near[0] + beta * gpus * count, near[1] + beta

    def rank(self, one: Observation, p: int, total: np.ndarray) -> tuple[float, float]:
        """Return the score by which a job is tried, and the logarithm of its dominant share."""
        asked = one.instances[p] * one.need[p]
        share = math.log2(max([1e-4] + [asked[r] / total[r] for r in range(3) if asked[r]]))
        seen = {
            "share": share / 4.0,
            "waited": math.log1p((one.time - one.submit[p]) / self.mean) / 2.0,
            "intensity": one.intensity[p] / 1000.0,
            "GPUs": math.log2(asked[0] + 0.5) / 4.0,
        }
        prior = -seen["share"]
        if self.estimates:
            assert one.estimate is not None
            seen["estimate"] = math.log2(one.estimate[p] / self.mean) / 4.0
            prior = -seen["estimate"]
        return prior + self.score("ordering", seen), share

    def place(
        self, one: Observation, p: int, free: np.ndarray, near: list[list[int]]
    ) -> tuple[list[tuple[int, int, int]], float]:
        """Return the rows of a job, none if it does not fit, and the worst contention there."""
        left, need, remaining = free.copy(), one.need[p], int(one.instances[p])
        rows, worst, beta = list[tuple[int, int, int]](), 0.0, one.intensity[p] / 1000.0
        while remaining:
            room = rooms(left, need, remaining)
            if not room.max():
                return [], 0.0
            found = []
            for k in np.flatnonzero(room == room.max()).tolist():
                gpus, cores, _ = np.maximum(self.setting.capacity[k], 1)
                mine, share = room.max() * need[0], left[k, 0] / gpus
                seen = {
                    "contention": beta * (near[k][0] / (1000.0 * gpus)),
                    "contention of others": beta * (near[k][1] * mine / (1000.0 * gpus)),
                    "free GPUs": share,
                    "filled": float(left[k, 0] == mine),
                    "cores": left[k, 1] / cores - share,
                }
                prior = -near[k][0] / (1000.0 * gpus) if self.quiet else -left[k, 0] / 8.0
                found.append((-(prior + self.score("placement", seen)), k, seen["contention"]))
            _, best, contention = min(found)
            count = int(room.max())
            rows.append((int(one.jobs[p]), best, count))
            left[best] -= count * need
            worst, remaining = max(worst, contention), remaining - count
        return rows, worst

    def waits(self, one: Observation, p: int, spans: int, worst: float, share: float) -> bool:
        """Return whether a job waits that would span so many machines."""
        waited = int(one.time - one.submit[p])
        room = np.sort(rooms(self.setting.capacity, one.need[p], int(one.instances[p])))[::-1]
        least = int(np.argmax(np.cumsum(room) >= one.instances[p])) + 1
        wide, late = float(spans > least), waited * float(self.ended) >= 2.0 * self.ran
        seen = {
            "one": 1.0,
            "wide": wide,
            "waited": wide * math.log1p(waited / self.mean) / 2.0,
            "spread": math.log2(float(self.setting.slowdown.spread_factor(spans, least))),
            "contention": self.setting.slowdown.contention * worst,
            "share": wide * share / 4.0,
        }
        if self.estimates:
            assert one.estimate is not None
            seen["estimate"] = wide * math.log2(one.estimate[p] / self.mean) / 4.0
        return (1.0 if wide and not late else -1.0) + self.score("holding", seen) > 0.0


def decided(policy: Any, one: PlacementInstance) -> list[list[tuple[int, int, int]]]:
    """Return the rows of every decision, sorted."""
    decisions = play(policy, one, keep_decisions=True).decisions
    assert decisions is not None
    return [sorted(tuple(row) for row in np.asarray(rows).reshape(-1, 3).tolist()) for rows in decisions]


class Playing:
    """Networks as a policy."""

    name = "playing"

    def __init__(self, networks: Networks) -> None:
        self.networks = networks
        sees = {"estimates"} if networks.design.sees_estimates else ()
        self.traits = Traits(problem="placement", sees=frozenset(sees))

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Begin anew."""
        self.player = Player(self.networks, setting, rng)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return what starts; its scores show the same order, and change nothing."""
        before = self.player.scores(observation).priorities
        made = self.player.decide(observation)
        np.testing.assert_array_equal(before, made.priorities)
        np.testing.assert_array_equal(self.player.scores(observation).priorities, made.priorities)
        return made.rows


@BOTH
@given(one=instances(min_jobs=1, max_jobs=8, estimates=True), seed=st.integers(0, 99))
@hypothesis_settings(max_examples=40, deadline=None)
def test_decisions_are_those_of_the_formulas(design: Design, one: PlacementInstance, seed: int) -> None:
    networks = drawn(design, seed)
    assert decided(Playing(networks), one) == decided(Plain(networks), one)


@BOTH
@pytest.mark.parametrize("which", ["drawn", "shipped"])
def test_decisions_on_a_cluster_are_those_of_the_formulas(design: Design, which: str) -> None:
    options: dict[str, Any] = {"cluster": "small", "rho": 3.2, "estimate_error": 0.5, "contention": 2.0}
    one = generate(jobs=150, seed=5, **options)
    name = "evolved-estimates" if design is TOLD else "evolved"
    networks = checkpoint.restored(SHIPPED / f"{name}-0.npz") if which == "shipped" else drawn(design, 1, 0.3)
    assert decided(Playing(networks), one) == decided(Plain(networks), one)


@BOTH
@given(one=instances(min_jobs=1, max_jobs=8, estimates=True), seed=st.integers(0, 99))
@hypothesis_settings(max_examples=25, deadline=None)
def test_whole_episodes_are_those_of_single_decisions(
    design: Design, one: PlacementInstance, seed: int
) -> None:
    networks = drawn(design, seed)
    cost, decisions = cost_of(networks, one)
    assert cost == pytest.approx(one.cost(taken_by(networks, one)), rel=1e-12)
    assert decisions == len(decided(Playing(networks), one))


@BOTH
@given(one=instances(min_jobs=1, max_jobs=8, estimates=True))
@hypothesis_settings(max_examples=40, deadline=None)
def test_without_weights_they_are_the_rules(design: Design, one: PlacementInstance) -> None:
    rule = SjfEstimatePatient() if design is TOLD else DrfPatient()
    assert decided(Playing(initial(design, 0)), one) == decided(rule, one)


def test_equal_loads_are_equal_whatever_jobs_they_are_of() -> None:
    one = generate(seed=3, jobs=1000, cluster="medium", rho=1.6)  # 0.91 in all, of unlike intensities
    assert cost_of(initial(BLIND, 0), one)[0] == play(DrfPatient(), one).total


def content(name: str = "capacity", **training: Any) -> Plan:
    """Return a plan that takes a second."""
    prior = "estimates" if name == "estimates" else "patient"
    design = {"ordering": "linear", "placement": "linear", "features": name, "prior": prior, "holds": True}
    usual = {"method": "evolution", "iterations": 3, "episodes": 2, "jobs": 8, "pairs": 2}
    return Plan.of(
        {
            "version": 1,
            "design": design,
            "jobs": {"size": "tiny", "rho": 4.0, "estimate_error": 0.5},
            "training": usual | training,
            "validation": {"instances": 2, "jobs": 8, "every": 1},
            "test": {"instances": 1, "jobs": 8},
        }
    )


def left(folder: Path) -> tuple[bytes, ...]:
    """Return what a training leaves but its log, which has the speed."""
    return tuple((folder / name).read_bytes() for name in ("best.npz", "last.npz", "result.json"))


@pytest.mark.parametrize("name", ["capacity", "estimates"])
def test_stopped_after_any_iteration_it_goes_on_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    plan = content(name)
    train(plan, tmp_path / "whole")

    def stop(_told: Progress) -> None:
        raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            train(plan, tmp_path / "stopped", stop)
    train(plan, tmp_path / "stopped")
    assert left(tmp_path / "stopped") == left(tmp_path / "whole")
    train(replace(plan, seed=1), tmp_path / "other")
    one, other = (checkpoint.read(tmp_path / name / "last.npz") for name in ("whole", "other"))
    assert not np.array_equal(one["optimiser"]["centre"], other["optimiser"]["centre"])


def test_what_no_training_can_go_on_from_is_refused(tmp_path: Path) -> None:
    plan, path = content(), tmp_path / "last.npz"
    state = Evolution(plan).state()
    kept = state["optimiser"]
    for change, message in (
        ({"rng": "{"}, "no training can go on from there"),
        ({"optimiser": kept | {"first": np.zeros(1)}}, "optimiser: first does not fit"),
        ({"optimiser": kept | {"centre": kept["centre"] + np.nan}}, "optimiser: centre does not fit"),
        ({"iteration": 4}, "iteration: 4 is not"),
        ({"validations": 1.0}, "validations: 1.0 is no list"),
        ({"validations": [1.0, "x"]}, r"validations\[1\]: 'x' is not a finite number"),
    ):
        checkpoint.write(path, state | change)
        with pytest.raises(InputError, match=message):
            Evolution(plan).restore(path)
    checkpoint.write(path, state)
    Evolution(plan).restore(path)
    with pytest.raises(InputError, match=r"another plan \(training.spread is 0.3 there, 0.4 here\)"):
        Evolution(content(spread=0.4)).restore(path)


def test_evolution_descends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of a training lead to weights that cost less, here by how far they are from known ones."""
    trainer = Evolution(content(iterations=150, learning_rate=0.1, pairs=8, spread=0.1))
    goal = np.linspace(-1.0, 1.0, trainer.centre.size)

    def far(networks: Networks, one: PlacementInstance) -> tuple[float, int]:
        weights = np.concatenate([x.ravel() for x in networks.arrays.values()])
        return len(one.jobs) * math.exp(float(((weights - goal) ** 2).sum()) / 100.0), 1

    monkeypatch.setattr(evolution, "cost_of", far)
    begun = float(np.abs(trainer.centre - goal).max())
    while trainer.iteration < 150:
        trainer.iterate()
    assert float(np.abs(trainer.centre - goal).max()) < 0.25 * begun


@pytest.mark.parametrize(
    ("design", "training", "message"),
    [
        ({"placement": "gaussian"}, {}, 'design.ordering: "linear" needs placement = "linear"'),
        ({"ordering": "attention"}, {}, 'design.ordering: "linear" needs placement = "linear"'),
        ({"prior": "none"}, {}, "design.prior: 'none' with features = 'capacity'"),
        ({"features": "estimates"}, {}, "design.prior: 'patient' with features = 'estimates'"),
        ({"prior": "consolidate", "holds": False}, {}, "design.prior: 'consolidate'"),
        ({"readings": {"window": "literal"}}, {}, "design.holds: not with literal window"),
        ({}, {"method": "gradient"}, 'training.method: "evolution" is for a linear design'),
        *(
            ({}, {part: value}, f'training.{part}: has no effect with training.method "evolution"')
            for part, value in (
                ("imitation", 1),
                ("variate", "none"),
                ("reward_limit", 2.0),
                ("epochs", 1),
                ("minibatch", 8),
                ("discount", 1.0),
                ("smoothing", 1.0),
                ("clip", 0.5),
                ("entropy", 0.5),
            )
        ),
        ({}, {"pairs": 0}, "training.pairs: 0 is not"),
        ({}, {"spread": 0.0}, "training.spread: 0"),
        ({}, {"method": "luck"}, "training.method: 'luck' is not one of gradient, evolution"),
    ],
)
def test_a_plan_that_cannot_be(design: dict[str, Any], training: dict[str, Any], message: str) -> None:
    data = content().to_dict()
    with pytest.raises(InputError, match=message):
        Plan.of(data | {"design": data["design"] | design, "training": data["training"] | training})


def test_only_linear_designs_evolve() -> None:
    data = content().to_dict() | {"design": {"name": "da-mc"}}
    with pytest.raises(InputError, match=r"training\.method"):
        Plan.of(data)


def test_the_plans_of_the_package_are_alike_but_for_estimates() -> None:
    blind, told = (Plan.load(SHIPPED / f"{name}.toml") for name in ("evolved", "evolved-estimates"))
    assert (blind.design, told.design) == (BLIND, TOLD)
    assert (blind.training, blind.validation, blind.test) == (told.training, told.validation, told.test)
