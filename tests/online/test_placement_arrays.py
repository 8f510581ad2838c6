"""Networks as plain arrays, as they play, beside PyTorch, by which they are trained."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch

from clairvoyant.models.base import ClairvoyantError
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.setting import Observation, Setting
from clairvoyant.online.placement import Untrained
from clairvoyant.online.placement.learned import checkpoint
from clairvoyant.online.placement.learned.acting import Player, taken_by
from clairvoyant.online.placement.learned.design import DESIGNS, LITERAL, Design, Readings
from clairvoyant.online.placement.learned.drawing import Memory, Move, act, one_thread, recall, stack
from clairvoyant.online.placement.learned.features import Eyes, Scene
from clairvoyant.online.placement.learned.kernels import look_at_hold
from clairvoyant.online.placement.learned.networks import Actor, Normal, Past, seeded
from clairvoyant.online.placement.learned.outcomes import Outcomes
from clairvoyant.online.placement.learned.policies import SHIPPED, TRAINED
from clairvoyant.online.placement.learned.weights import Networks, initial, shapes

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="plain Python sums in another order, and slowly"
)

ROUNDING = 2e-5
CAPACITY: dict[str, Any] = {"features": "capacity", "prior": "consolidate"}
VARIANTS = {
    **DESIGNS,
    "no message": Design(ordering="perceptron", placement="gaussian", message=False, hidden=8),
    "first-fit": replace(DESIGNS["dl2"], placement="consolidate"),
    "estimates": Design(features="estimates", prior="estimates", placement="gaussian"),
    "one head": Design(heads=1, hidden=20, history=3),
    **{f"{name}-capacity": replace(DESIGNS[name], **CAPACITY) for name in DESIGNS},
    **{
        f"literal {part.name}": Design(hidden=16, history=3, readings=Readings(**{part.name: LITERAL}))
        for part in fields(Readings)
        if part.name != "window"  # of it nothing but the draw is seen here
    },
}


def loud(design: Design, seed: int) -> Actor:
    """Return networks with weights of which no part is silent."""
    with seeded(seed):
        actor = Actor(design).eval()
        with torch.no_grad():
            for name, weight in actor.state_dict().items():
                if weight.dim():
                    weight.add_(0.3 * torch.randn(weight.shape))
                elif name.startswith("placement."):
                    weight.add_(0.3 * torch.randn(()))
    return actor


def watched(setting: dict[str, Any], seed: int, count: int) -> tuple[Setting, list[Observation]]:
    """Return observations of a crowded cluster where jobs start at random."""
    rng = np.random.default_rng(seed)
    found: list[Observation] = []
    while len(found) < count:
        seeded_by = int(rng.integers(2**31))
        one = generate(seed=seeded_by, estimate_error=0.5, jobs=60, **{"size": "large", **setting})
        episode = one.episode(frozenset({"estimates"}))
        player = Player(initial(DESIGNS["da"], int(rng.integers(1000))), one.setting, rng)
        for seen in episode:
            found.append(seen)
            episode.apply(player.decide(seen).rows)
    return one.setting, found[:count]


def blank(eyes: Eyes) -> Eyes:
    """Let running jobs that were never shown count as ones without GPUs: observations come from many runs."""
    eyes.known = np.zeros((2, 200), dtype=np.int64)
    return eyes


def near(scene: Scene, move: Move, affinities: np.ndarray) -> bool:
    """Tell whether two numbers that decide are so near that rounding may have turned them."""
    priorities = np.sort(move.priorities[scene.fits])
    gaps = [np.diff(priorities), np.diff(np.sort(affinities, axis=1), axis=1).ravel()]
    return bool((np.concatenate(gaps) < 2.0 * ROUNDING).any())


def compare(actor: Actor, setting: Setting, observations: list[Observation]) -> int:
    """Compare decisions and their numbers, each from an empty memory; return how many are surely equal."""
    networks, eyes = actor.networks(), blank(Eyes(setting, estimates=True))
    scenes, surely = [eyes.look(seen) for seen in observations], 0
    with one_thread():
        moves = act(actor, scenes, [Memory() for _ in scenes], None)
    player = Player(networks, setting, np.random.default_rng(0))
    blank(player._eyes)
    for scene, move in zip(scenes, moves, strict=True):
        mine, shown = player.decide(scene.observation), player.scores(scene.observation)
        np.testing.assert_allclose(mine.priorities, move.priorities, rtol=1e-4, atol=ROUNDING)
        if networks.design.learns_order:
            np.testing.assert_array_equal(shown.priorities, mine.priorities)
        if networks.design.learns_places:
            np.testing.assert_array_equal(shown.affinities[mine.started], mine.affinities)
        same = np.array_equal(mine.rows, move.rows)
        if same:
            np.testing.assert_allclose(mine.affinities, move.affinities, rtol=1e-4, atol=ROUNDING)
        assert same or near(scene, move, shown.affinities[scene.fits])
        surely += same
    return surely


@pytest.fixture(scope="module")
def crowd() -> tuple[Setting, list[Observation]]:
    """Return observations in which up to some twenty jobs wait."""
    setting, observations = watched({"cluster": "small", "rho": 60.0}, seed=0, count=80)
    observations = observations[::2]
    assert max(len(seen.jobs) for seen in observations) > 20
    return setting, observations


@pytest.mark.parametrize("name", VARIANTS)
def test_decisions_are_those_of_pytorch(name: str, crowd: tuple[Setting, list[Observation]]) -> None:
    assert compare(loud(VARIANTS[name], seed=1), *crowd) > 25


NEVER_WAIT = [name for name, policy in TRAINED.items() if not policy().networks().design.holds]
"""Of those that let jobs wait, PyTorch decides nothing: it sees the distributions that they draw from."""


@pytest.mark.parametrize("name", NEVER_WAIT)
def test_shipped_networks_decide_as_with_pytorch(name: str, crowd: tuple[Setting, list[Observation]]) -> None:
    assert compare(in_pytorch(TRAINED[name]().networks()), *crowd) > 25


def in_pytorch(kept: Networks) -> Actor:
    """Return networks in PyTorch, but without outcomes, which are those of a whole run."""
    actor = Actor(replace(kept.design, outcomes=0.0))
    actor.load_state_dict({key: torch.tensor(x) for key, x in kept.arrays.items()})
    return actor.eval()


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["small", "large"])
def test_ten_thousand_decisions_are_those_of_pytorch(cluster: str) -> None:
    """Of all networks of the package, but those that draw what they look at or decide nothing in PyTorch."""
    found = [checkpoint.restored(path) for path in sorted(SHIPPED.glob("*.npz"))]
    there = [one for one in found if not (one.design.linear or one.design.holds or one.design.draws_jobs)]
    each = -(-5000 // len(there))
    surely = 0
    for number, one in enumerate(there):
        setting, observations = watched(
            {"cluster": cluster, "rho": (1.0, 4.0, 16.0)[number % 3]}, number, each
        )
        surely += compare(in_pytorch(one), setting, observations)
    assert len(there) > 90
    assert surely > 0.995 * each * len(there)  # the others are too near to tell


# What the process says


def past_of(design: Design, count: int) -> tuple[Actor, Setting, list[Observation]]:
    setting, observations = watched({"size": "tiny", "machines": 3, "rho": 4.0}, seed=3, count=count)
    return loud(design, seed=2), setting, observations


@torch.no_grad()
def said(actor: Actor, scene: Scene, memory: Memory) -> tuple[Normal, torch.Tensor, Past, Move]:
    """Return what PyTorch says of all affinities, their means, what is remembered, and what it then does."""
    assert actor.placement is not None
    with one_thread():
        batch = stack([scene], torch.device("cpu"))
        encoded, around = actor.encode(batch.jobs, batch.machines, batch.mask)
        which, place = batch.mask.nonzero(as_tuple=True)
        jobs, machines = encoded[which, place], around[which]
        points = actor.placement.points(jobs, machines)
        past = recall(actor.design, [scene], [memory], which, place, points)
        normal, mean = actor.affinities(jobs, machines, batch.pairs[which, place], past, factored=False)
        (move,) = act(actor, [scene], [memory], None)
    return normal, mean, past, move


@pytest.mark.parametrize("name", ["das", "one head", *(n for n in VARIANTS if n.startswith("literal "))])
def test_deviations_are_those_of_pytorch_and_means_are_not_moved(name: str) -> None:
    actor, setting, observations = past_of(VARIANTS[name], 12)
    player, memory = Player(actor.networks(), setting, np.random.default_rng(0)), Memory()
    eyes, compared = Eyes(setting, estimates=True), 0
    for seen in observations:
        shown, scene = player.scores(seen), eyes.look(seen)
        normal, mean, past, _ = said(actor, scene, memory)
        np.testing.assert_array_equal(normal.mean, mean)
        np.testing.assert_allclose(shown.affinities, mean, rtol=1e-4, atol=ROUNDING)
        player.decide(seen)
        # Projected, the kernel depends on the points that PyTorch's fills up with where there are too few.
        if past.known.all() or not actor.design.readings.literal("matern"):
            deviations, compared = normal.variance.sqrt(), compared + 1
            np.testing.assert_allclose(shown.affinity_deviations, deviations, rtol=2e-3, atol=1e-4)
    assert compared > 3


def test_training_hears_what_play_hears_of_outcomes() -> None:
    made, design = generate(seed=3, jobs=40, rho=2.0, cluster="small"), replace(DESIGNS["das"], outcomes=3.0)
    actor, setting, moved = loud(design, seed=1), made.setting, 0
    player, eyes = Player(actor.networks(), setting, np.random.default_rng(0)), Eyes(setting, estimates=False)
    memory, episode = Memory(outcomes=Outcomes(setting, eyes, design.history, 3.0)), made.episode(frozenset())
    for seen in episode:
        shown, scene = player.scores(seen), eyes.look(seen)
        normal, mean, _, move = said(actor, scene, memory)
        np.testing.assert_allclose(shown.affinities, normal.mean, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(shown.affinity_deviations, normal.variance.sqrt(), rtol=2e-3, atol=1e-4)
        moved += bool((normal.mean - mean).abs().max() > 1e-3)
        mine = player.decide(seen)
        np.testing.assert_array_equal(mine.rows, move.rows)
        np.testing.assert_allclose(mine.affinities, move.affinities, rtol=1e-3, atol=1e-4)
        episode.apply(mine.rows)
    assert moved > 20


def test_a_process_without_a_covariance_is_told_and_no_decision_needs_one(
    crowd: tuple[Setting, list[Observation]],
) -> None:
    arrays = dict(initial(DESIGNS["das"], 0).arrays)
    arrays["placement.log_noise"] = np.array(-200.0, dtype=np.float32)
    setting, observations = crowd
    player = Player(Networks(DESIGNS["das"], arrays), setting, np.random.default_rng(0))
    blank(player._eyes)
    for seen in observations:
        assert len(player.decide(seen).rows)
    # Twice the same point: without noise their covariance is singular.
    player.decide(observations[-1])
    with pytest.raises(ClairvoyantError, match=r"^with the weights of these networks the process"):
        player.scores(observations[-1])


def test_features_of_waiting_by_hand() -> None:
    capacity = np.array([[8, 64, 64], [8, 64, 64], [4, 64, 64]])
    free = np.array([[4, 64, 64], [2, 64, 64], [0, 64, 64]])
    need, rows = np.array([2, 1, 1]), np.array([[7, 0, 2], [7, 1, 1]])  # three instances, 2 + 1
    pairs = np.zeros((3, 5), dtype=np.float32)
    pairs[:, 3] = 0.25, 0.5, 9.0  # the third machine is none of its
    fixed = capacity, free, need, 3, rows, pairs
    elapsed, ended = np.array([3000, 2]), np.array([4000, 2])  # the mean of the ended is 2,000
    found = look_at_hold(*fixed, 2000, elapsed, ended)
    twice = np.log(2.0) / 2.0
    wanted = [np.log2(2 / 1) / 2.0, 0.5, twice, np.log(1.75) / 2.0, 6 / 20, 1.0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert [look_at_hold(*fixed, waited, elapsed, ended)[5] for waited in (3999, 4000)] == [1.0, -1.0]
    assert look_at_hold(*fixed, 0, elapsed, np.zeros(2, dtype=np.int64))[5] == -1.0  # nothing has ended
    alone = np.array([[7, 0, 3]])
    assert look_at_hold(capacity, free, need, 3, alone, pairs, 0, elapsed, ended)[5] == -1.0


# How networks begin


@pytest.mark.parametrize("name", [*VARIANTS, "holds"])
def test_first_weights_are_those_of_a_training_but_for_rounding(name: str) -> None:
    design = replace(VARIANTS.get(name) or replace(DESIGNS["da-mc"], holds=True), hidden=32, heads=4)
    with seeded(3):
        state = Actor(design).state_dict()
    found = initial(design, 3)
    assert {key: tuple(x.shape) for key, x in state.items()} == shapes(design)
    assert list(found.arrays) == list(shapes(design))
    for key, x in state.items():
        assert found.arrays[key].dtype == np.float32
        np.testing.assert_allclose(found.arrays[key], x.numpy(), rtol=1e-4, atol=1e-6, err_msg=key)
    other = initial(design, 4).arrays
    assert any((other[key] != x).any() for key, x in found.arrays.items())


def test_an_untrained_policy_has_them() -> None:
    mine, plain = Untrained(design="da", seed=3).networks(), initial(DESIGNS["da"], 3)
    assert mine.design == DESIGNS["da"]
    assert all(np.array_equal(x, plain.arrays[key]) for key, x in mine.arrays.items())
    assert all(path.suffix in (".npz", ".toml", ".json") for path in SHIPPED.iterdir())


@pytest.mark.parametrize("name", ["das", "da-rwgp"])
def test_the_length_of_the_history_changes_no_schedule_in_play(name: str) -> None:
    networks, made = TRAINED[name]().networks(), generate(seed=1, cluster="small", rho=2.0, jobs=30)
    own = taken_by(networks, made)
    for tau in (1, 4, 10):
        other = taken_by(Networks(replace(networks.design, history=tau), networks.arrays), made)
        np.testing.assert_array_equal(other.start, own.start)
        np.testing.assert_array_equal(other.rows, own.rows)
