"""Outcomes in the random walk process: what is noted of them, how they move affinities, and when not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clairvoyant.models.base import InputError
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.slowdown import Slowdown
from clairvoyant.online.placement import POLICIES
from clairvoyant.online.placement.learned.acting import Player
from clairvoyant.online.placement.learned.design import DESIGNS
from clairvoyant.online.placement.learned.features import Eyes
from clairvoyant.online.placement.learned.outcomes import Outcomes
from clairvoyant.online.placement.learned.policies import SHIPPED
from clairvoyant.online.placement.learned.process import shifts
from clairvoyant.online.placement.learned.weights import Networks, initial
from clairvoyant.online.play import play

Past = list[tuple[np.ndarray, np.ndarray]]


def quiet(noise: float) -> Networks:
    """Return networks whose process has noise of this variance."""
    networks = initial(DESIGNS["das"], 3)
    return replace(networks, arrays={**networks.arrays, "placement.log_noise": np.array(np.log(noise))})


def drawn(seed: int, machines: int = 3, count: int = 4) -> tuple[np.ndarray, Past]:
    """Return encoded machines, and encoded jobs of the past with the machines then."""
    rng = np.random.default_rng(seed)
    around, *then = rng.normal(size=(1 + count, machines, 32)).astype(np.float32)
    return around, [(rng.normal(size=32).astype(np.float32), one) for one in then]


@given(seed=st.integers(0, 10**6), off=st.lists(st.floats(-2.0, 2.0), min_size=4, max_size=4))
def test_a_job_like_one_before_is_moved_by_its_outcome(seed: int, off: list[float]) -> None:
    around, past = drawn(seed)
    outcomes = [(np.array([t % 3]), by) for t, by in enumerate(off)]
    for (job, then), (where, by) in zip(past, outcomes, strict=True):
        found = shifts(quiet(1e-9), job[None], then, past, outcomes)
        assert found.shape == (1, 3)
        assert found[0, where] == pytest.approx(by, abs=1e-3)
    deaf = shifts(quiet(1e9), around, around, past, outcomes)
    assert np.abs(deaf).max() < 1e-6
    twice = [(where, 2.0 * by) for where, by in outcomes]
    once, again = (shifts(quiet(0.1), around, around, past, told) for told in (outcomes, twice))
    assert again == pytest.approx(2.0 * once)


def rows_of(instance: PlacementInstance, **settings: Any) -> list[np.ndarray]:
    """Return what DAS starts, event by event."""
    run = play(POLICIES["das"](**settings), instance, seed=0, keep_decisions=True)
    return [np.asarray(rows) for rows in run.decisions or ()]


@given(seed=st.integers(0, 50), weight=st.floats(0.1, 1e3))
def test_without_slowdowns_outcomes_change_nothing(seed: int, weight: float) -> None:
    instance = generate("tiny", seed, jobs=8, contention=0.0, communication=0.0)
    for mine, without in zip(rows_of(instance, outcomes=weight), rows_of(instance), strict=True):
        np.testing.assert_array_equal(mine, without)


def test_outcomes_change_some_decisions() -> None:
    instance = generate("default", 3, cluster="small", jobs=80, rho=4.0, contention=3.0)
    mine, without = rows_of(instance, outcomes=100.0), rows_of(instance)
    assert len(mine) != len(without) or any(map(np.array_equal, mine, without))
    assert not all(map(np.array_equal, mine, without))


def test_outcomes_are_the_slowdowns_of_the_model() -> None:
    plain = {"submit": 0, "duration": 100, "instances": 1, "gpus": 4, "cpus": 1, "memory": 1}
    idle = plain | {"gpus": 0, "intensity": 0.0}
    jobs = [plain, plain | {"intensity": 0.5}, idle | {"submit": 40, "duration": 10}, idle | {"submit": 60}]
    machines, slowdown = [{"gpus": 8, "cpus": 8, "memory": 8}], Slowdown(communication=0.5, contention=3.0)
    instance = PlacementInstance(machines=machines, jobs=jobs, slowdown=slowdown)
    player = Player(initial(DESIGNS["das"], 1), instance.setting, np.random.default_rng(0), outcomes=2.0)
    episode = instance.episode(frozenset())
    for seen in episode:
        rows = player.decide(seen).rows
        moved = player._shift(seen)
        assert moved.size == 0 if seen.time == 0 else (moved < 0.0).all()
        episode.apply(rows)
    assert player._outcomes is not None
    noted = dict(player._outcomes._last)
    assert [noted[job].ran for job in (0, 1)] == [60_000.0, 60_000.0]
    # Beside half of the GPUs at intensity 0.5, or as one of intensity 0.5 beside half of them at 1.
    assert [noted[job].work for job in (0, 1)] == pytest.approx([60_000.0 / 1.75, 60_000.0 / 1.75])
    assert noted[2].ran == noted[2].work == 10_000.0
    assert noted[3].ran == 0.0


def test_the_worst_machine_and_the_spread_count() -> None:
    plain = {"submit": 0, "duration": 100, "instances": 1, "gpus": 4, "cpus": 1, "memory": 1}
    machines, slowdown = (
        [{"gpus": 8, "cpus": 8, "memory": 8}] * 2,
        Slowdown(communication=0.5, contention=3.0),
    )
    jobs = [plain | {"instances": 2}, plain | {"intensity": 0.5}]
    instance = PlacementInstance(machines=machines, jobs=jobs, slowdown=slowdown)
    eyes, seen = Eyes(instance.setting, False), next(iter(instance.episode(frozenset())))
    noted = Outcomes(instance.setting, eyes, 8, 1.0)
    eyes.note(seen)
    around, past = drawn(0, machines=2)
    noted.note(seen, np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1]]), np.stack([job for job, _ in past]), around)
    noted._pass(replace(seen, time=1000))
    (_, spread), (_, alone) = noted._last
    assert (spread.ran, alone.ran) == (1000.0, 1000.0)
    assert spread.work == pytest.approx(1000.0 / (1.25 * 1.75))
    assert alone.work == pytest.approx(1000.0 / 1.75)


def test_networks_play_with_the_outcomes_they_learned_with_unless_others_are_named() -> None:
    instance, networks = generate("default", 1, jobs=80, rho=2.0, cluster="small"), initial(DESIGNS["das"], 1)
    heard = replace(networks, design=replace(networks.design, outcomes=100.0))

    def played(of: Networks, weight: float) -> list[list[list[int]]]:
        player, episode, found = Player(of, instance.setting, np.random.default_rng(0), weight), None, []
        episode = instance.episode(frozenset())
        for seen in episode:
            found.append(player.decide(seen).rows.tolist())
            episode.apply(np.array(found[-1]).reshape(-1, 3))
        return found

    assert played(heard, 0.0) == played(networks, 100.0) != played(networks, 0.0)
    assert played(heard, 1.0) == played(networks, 1.0)


@pytest.mark.parametrize("settings", [{"outcomes": -1.0}, {"outcomes": float("nan")}])
def test_weights_below_zero_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="outcomes"):
        POLICIES["das"](**settings)


def test_networks_without_the_process_are_refused() -> None:
    with pytest.raises(InputError, match="outcomes: only of networks that have the process"):
        POLICIES["das"](checkpoint=str(SHIPPED / "da-0.npz"), outcomes=1.0)


def test_scores_show_the_affinities_that_decide() -> None:
    """What is asked for is what decides, and asking changes nothing."""
    made = generate("default", 3, jobs=40, rho=2.0, cluster="small")
    (policy, plain), asked = (POLICIES["das"](outcomes=100.0) for _ in range(2)), 0
    episode = made.episode(frozenset())
    for one in (policy, plain):
        one.start(made.setting, np.random.default_rng(0))
    for seen in episode:
        found = policy.scores(seen).affinities
        decision = policy._player.decide(seen)
        assert np.array_equal(decision.rows, plain.decide(seen))
        assert np.allclose(found[decision.started], decision.affinities, atol=1e-4)
        asked += len(decision.started)
        episode.apply(decision.rows)
    assert asked == 40
