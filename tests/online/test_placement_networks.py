"""The networks of the learned schedulers, their densities and losses, beside plain formulas."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Independent, MultivariateNormal
from torch.distributions import Normal as Gaussian

import clairvoyant as cv
from clairvoyant.analysis.placement import formulas as kernels
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.simulator import blank_state
from clairvoyant.models.placement.state import USED, WAITED
from clairvoyant.online.placement.learned import drawing, learner, mappo
from clairvoyant.online.placement.learned.acting import taken_by
from clairvoyant.online.placement.learned.design import DESIGNS, LITERAL, Design
from clairvoyant.online.placement.learned.episode_kernels import run_by_rule
from clairvoyant.online.placement.learned.features import ESTIMATE, PAIR_FEATURES, Eyes, Scene
from clairvoyant.online.placement.learned.learner import Learner, Samples, collect, log_densities, values
from clairvoyant.online.placement.learned.networks import (
    GLOBALS,
    Actor,
    Critic,
    GroupedEncoder,
    JobEncoder,
    Normal,
    OrderingHead,
    PlacementHead,
    positions,
)
from clairvoyant.online.placement.learned.plan import Training
from clairvoyant.online.placement.learned.rollout import (
    Played,
    Track,
    lessons,
    play,
    reference,
    roll,
)
from clairvoyant.testing.placement import instances

SEEDS = st.integers(0, 2**32 - 1)
CPU = torch.device("cpu")


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


# Densities


class Drawn:
    """Random distributions, actions, and which dimensions count."""

    def __init__(self, seed: int, batch: int, size: int) -> None:
        root = normal(batch, size, size, seed=seed)
        covariance = root @ root.mT + 0.1 * torch.eye(size, dtype=torch.float64)
        mean = normal(batch, size, seed=seed + 1)
        variance = covariance.diagonal(dim1=1, dim2=2)
        self.covariance = covariance
        self.independent = Normal(mean, variance)
        self.dependent = Normal(mean, variance, torch.linalg.cholesky(covariance))
        self.action = normal(batch, size, seed=seed + 2)
        self.counts = normal(batch, size, seed=seed + 3) > -0.3

    def parts(self, *, dependent: bool) -> list[tuple[Any, Tensor]]:
        """Return for each row the distribution of what counts in PyTorch, and the action."""
        found = []
        for i, kept in enumerate(self.counts):
            mean, action = self.independent.mean[i, kept], self.action[i, kept]
            if dependent:
                one: Any = MultivariateNormal(mean, self.covariance[i][kept][:, kept]) if kept.any() else None
            else:
                one = Independent(Gaussian(mean, self.independent.variance[i, kept].sqrt()), 1)
            found.append((one, action))
        return found


sampled = st.builds(Drawn, SEEDS, st.integers(1, 3), st.integers(1, 5))


@settings(max_examples=20, deadline=None)
@given(sampled)
def test_log_densities_and_entropies_are_those_of_torch(one: Drawn) -> None:
    diagonal = Independent(Gaussian(one.independent.mean, one.independent.variance.sqrt()), 1)
    whole = MultivariateNormal(one.dependent.mean, one.covariance)
    pairs: list[tuple[Normal, Any]] = [(one.independent, diagonal), (one.dependent, whole)]
    for made, theirs in pairs:
        found = mappo.log_density(made, one.action)
        torch.testing.assert_close(found, theirs.log_prob(one.action), rtol=1e-8, atol=1e-9)
        torch.testing.assert_close(mappo.entropy(made), theirs.entropy(), rtol=1e-8, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(sampled, st.booleans())
def test_what_does_not_count_is_left_out(one: Drawn, dependent: bool) -> None:
    made = one.dependent if dependent else one.independent
    found = mappo.log_density(made, one.action, one.counts)
    spread = mappo.entropy(made, one.counts)
    for i, (theirs, action) in enumerate(one.parts(dependent=dependent)):
        density = 0.0 if theirs is None else theirs.log_prob(action).item()
        entropy = 0.0 if theirs is None else theirs.entropy().item()
        assert found[i].item() == pytest.approx(density, rel=1e-8, abs=1e-9)
        assert spread[i].item() == pytest.approx(entropy, rel=1e-8, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(sampled)
def test_log_density_of_independent_actions_is_the_plain_one(one: Drawn) -> None:
    found = mappo.log_density(one.independent, one.action)
    for i, action in enumerate(one.action.numpy()):
        made = one.independent.mean[i].numpy(), one.independent.variance[i].numpy()
        assert found[i].item() == pytest.approx(kernels.log_density(action, *made), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(sampled)
def test_printed_density_is_the_plain_one(one: Drawn) -> None:
    found = mappo.printed_log_density(one.independent, one.action)
    some = mappo.printed_log_density(one.independent, one.action, one.counts)
    for i, kept in enumerate(one.counts.numpy()):
        parts = [part[i].numpy() for part in (one.action, one.independent.mean, one.independent.variance)]
        assert found[i].item() == pytest.approx(kernels.printed_log_density(*parts), rel=1e-9)
        of_some = kernels.printed_log_density(*(part[kept] for part in parts))
        assert some[i].item() == pytest.approx(of_some, rel=1e-9, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(sampled)
def test_printed_density_of_dependent_actions_has_the_determinant_of_what_counts(one: Drawn) -> None:
    off = (one.action - one.dependent.mean).numpy()
    found = mappo.printed_log_density(one.dependent, one.action)
    some = mappo.printed_log_density(one.dependent, one.action, one.counts)
    for i, kept in enumerate(one.counts.numpy()):
        for value, which in ((found, np.ones_like(kept)), (some, kept)):
            covariance = one.covariance[i].numpy()[np.ix_(which, which)]
            square = (off[i, which] ** 2).sum() + which.sum() * np.log(2.0 * np.pi)
            plain = -0.5 * square - np.linalg.slogdet(covariance)[1]
            assert value[i].item() == pytest.approx(plain, rel=1e-8, abs=1e-9)


# Objectives and advantages


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-5, 5)), min_size=1, max_size=6), st.floats(0.01, 0.9))
def test_objectives_are_the_plain_ones(pairs: list[tuple[float, float]], clip: float) -> None:
    log_ratio, gain = (torch.tensor(column, dtype=torch.float64) for column in zip(*pairs, strict=True))
    ratio = np.exp(log_ratio.numpy())
    found = mappo.clipped_objective(log_ratio, gain, clip).numpy()
    np.testing.assert_allclose(found, kernels.clipped(ratio, gain.numpy(), clip), rtol=1e-12)
    printed = mappo.printed_objective(log_ratio, gain, clip).numpy()
    plain = kernels.printed_clipped(ratio.mean(), gain.numpy(), clip)
    np.testing.assert_allclose(printed, plain, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 12), st.floats(0, 1), st.floats(0, 1))
def test_advantages_are_sums_of_what_exceeds_the_values(
    seed: int, steps: int, discount: float, smoothing: float
) -> None:
    rewards, worth = normal(steps, seed=seed), normal(steps, seed=seed + 1)
    found = mappo.advantages(rewards, worth, discount, smoothing)
    r, v = rewards.tolist(), [*worth.tolist(), 0.0]
    for t in range(steps):
        plain = sum(
            (discount * smoothing) ** (s - t) * (r[s] + discount * v[s + 1] - v[s]) for s in range(t, steps)
        )
        assert found[t].item() == pytest.approx(plain, rel=1e-9, abs=1e-12)


def test_advantages_without_smoothing_off_are_returns_less_values() -> None:
    rewards, worth = normal(6), normal(6, seed=1)
    returns = rewards.flip(0).cumsum(0).flip(0)
    torch.testing.assert_close(mappo.advantages(rewards, worth, 1.0, 1.0), returns - worth)


# Networks

M = TypeVar("M", bound=torch.nn.Module)
SMALL: dict[str, Any] = {"hidden": 8, "heads": 2, "history": 3}


def design(name: str = "das", *, literal: Sequence[str] = (), **changes: Any) -> Design:
    readings = dict.fromkeys(literal, LITERAL)
    return Design.of({"name": name, **SMALL, "readings": readings, **changes})


def made(kind: Callable[[Design], M], one: Design, seed: int = 0) -> M:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(one).double()


def seen(counts: Sequence[int], machines: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Return random states of jobs, padded with other numbers, of machines, and where there are jobs."""
    jobs = normal(len(counts), max(counts), 5, seed=seed)
    mask = torch.arange(max(counts))[None] < torch.tensor(counts)[:, None]
    return jobs, normal(len(counts), machines, 4, seed=seed + 1), mask


ENCODED = [design(), design("da"), design("dl2"), design("rifling")]


@pytest.mark.parametrize("one", ENCODED, ids=lambda one: f"{one.ordering}-{one.placement}-{one.message}")
def test_padding_changes_nothing(one: Design) -> None:
    actor, counts = made(Actor, one), [2, 5, 1]
    jobs, machines, mask = seen(counts, 3)
    if isinstance(actor.encoder, GroupedEncoder):
        actor.encoder.centres.copy_(normal(4, 5, seed=9))
    with torch.no_grad():
        together, around = actor.encode(jobs, machines, mask)
        for i, n in enumerate(counts):
            alone, own = actor.encode(jobs[i : i + 1, :n], machines[i : i + 1], mask[i : i + 1, :n])
            torch.testing.assert_close(together[i, :n], alone[0], rtol=1e-9, atol=1e-12)
            torch.testing.assert_close(around[i], own[0], rtol=1e-9, atol=1e-12)
            if actor.ordering is not None:
                apart = actor.ordering(alone, mask[i : i + 1, :n], jobs[i : i + 1, :n])
                all_ = actor.ordering(together, mask, jobs)
                torch.testing.assert_close(all_.mean[i, :n], apart.mean[0], rtol=1e-9, atol=1e-12)
                torch.testing.assert_close(all_.variance[i, :n], apart.variance[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("one", ENCODED, ids=lambda one: f"{one.ordering}-{one.placement}-{one.message}")
def test_machines_may_be_numbered_in_any_way(one: Design) -> None:
    actor = made(Actor, one)
    jobs, machines, mask = seen([4, 2], 5)
    turn = torch.tensor([3, 1, 4, 0, 2])
    with torch.no_grad():
        encoded, around = actor.encode(jobs, machines, mask)
        found, turned = actor.encode(jobs, machines[:, turn], mask)
        torch.testing.assert_close(found[mask], encoded[mask], rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(turned, around[:, turn], rtol=1e-12, atol=1e-14)
        if one.placement == "gaussian":
            pairs, job = normal(2, 5, len(PAIR_FEATURES), seed=3), encoded[:, 0]
            before, mean = actor.affinities(job, around, pairs, None)
            after, other = actor.affinities(job, turned, pairs[:, turn], None)
            torch.testing.assert_close(other, mean[:, turn], rtol=1e-9, atol=1e-12)
            torch.testing.assert_close(after.variance, before.variance[:, turn], rtol=1e-9, atol=1e-12)


def fusion(encoder: Any) -> kernels.Fusion:
    """Return the weights of (4) and (5)."""
    parts = [(one.weight.detach().numpy().T, one.bias.detach().numpy()) for one in linear(encoder)]
    return kernels.Fusion(*(array for pair in parts for array in pair))


def linear(encoder: Any) -> list[torch.nn.Linear]:
    return [encoder.jobs, encoder.machines, encoder.gate]


def attended(encoder: Any, z: np.ndarray) -> np.ndarray:
    """Return (6): attention head by head and job by job."""
    n, e = z.shape
    q, k, v = (z @ part.T for part in encoder.look.weight.detach().numpy().reshape(3, e, e))
    size, result = e // encoder.heads, np.zeros((n, e))
    for first in range(0, e, size):
        own = slice(first, first + size)
        for i in range(n):
            score = np.array([q[i, own] @ k[j, own] / np.sqrt(size) for j in range(n)])
            share = np.exp(score - score.max())
            result[i, own] = sum(s * v[j, own] for j, s in enumerate(share / share.sum()))
    found: np.ndarray = result @ encoder.out.weight.detach().numpy().T
    return found


def test_jobs_are_encoded_by_the_plain_formulas() -> None:
    encoder = made(JobEncoder, design())
    jobs, machines, mask = seen([4, 4], 3)
    with torch.no_grad():
        found, _ = encoder(jobs, machines, mask)
    for i in range(2):
        s = kernels.fused(jobs[i].numpy(), machines[i].numpy(), fusion(encoder))[0]
        z = s + kernels.position_encoding(np.arange(4), 8)
        np.testing.assert_allclose(found[i].numpy(), z + attended(encoder, z), rtol=1e-5, atol=1e-6)


def test_fused_jobs_lie_between_the_job_and_the_message() -> None:
    encoder = made(JobEncoder, design())
    jobs, machines, mask = seen([6], 4)
    assert isinstance(encoder.out, torch.nn.Linear)
    with torch.no_grad():
        encoder.out.weight.zero_()
        found = (encoder(jobs, machines, mask)[0] - positions(6, 8))[0].numpy()
    s, own, message = kernels.fused(jobs[0].numpy(), machines[0].numpy(), fusion(encoder))
    np.testing.assert_allclose(found, s, rtol=1e-9, atol=1e-12)
    assert (found >= np.minimum(own, message) - 1e-12).all()
    assert (found <= np.maximum(own, message) + 1e-12).all()


@pytest.mark.parametrize("width", [2, 8, 32])
def test_position_encoding_is_the_plain_one(width: int) -> None:
    plain = kernels.position_encoding(np.arange(64), width)
    np.testing.assert_allclose(positions(64, width).numpy(), plain, rtol=0, atol=1e-5)


def test_without_message_jobs_do_not_depend_on_machines() -> None:
    jobs, machines, mask = seen([3], 4)
    for name, changes in (("da", False), ("da-mc", True)):
        encoder = made(JobEncoder, design(name))
        with torch.no_grad():
            one, other = (encoder(jobs, part, mask)[0] for part in (machines, machines + 1.0))
        assert (not torch.equal(one, other)) is changes


def test_priorities_are_those_of_8_and_follow_the_prior() -> None:
    encoded = normal(2, 4, 8)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    jobs = normal(2, 4, 14, seed=1)
    for prior in ("none", "consolidate", "estimates"):
        head = made(OrderingHead, design(prior=prior, features="estimates"))
        with torch.no_grad():
            found = head(encoded, mask, jobs)
            parts = [encoded @ one.weight[0] + one.bias for one in (head.mean, head.variance)]
        mean, variance = torch.tanh(parts[0]), torch.sigmoid(parts[1]) + 1e-6
        if prior == "consolidate":
            mean = mean - torch.arange(4) / torch.tensor([[4.0], [2.0]], dtype=torch.float64)
        if prior == "estimates":
            estimates = jobs[..., ESTIMATE]
            mean[0] -= estimates[0].argsort().argsort() / 4.0
            mean[1, :2] -= estimates[1, :2].argsort().argsort() / 2.0
        torch.testing.assert_close(found.mean[mask], mean[mask])
        torch.testing.assert_close(found.variance[mask], variance[mask])


def test_affinities_have_the_prior_as_their_mean_and_no_level() -> None:
    jobs, machines, rank = normal(3, 8), normal(3, 4, 8, seed=1), normal(3, 4, seed=2)
    for prior in ("none", "consolidate"):
        for literal in ((), ("mean",)):
            head = made(PlacementHead, design("da-mc", prior=prior, literal=literal))
            with torch.no_grad():
                found, mean = head(jobs, machines, normal(3, 4, 0), rank, None)
            torch.testing.assert_close(found.mean, mean)
            own = mean - rank if prior == "consolidate" else mean
            torch.testing.assert_close(own.sum(1), torch.zeros(3, dtype=torch.float64))
            assert own.any() == (not literal)


@pytest.mark.parametrize("literal", [(), ("critic",)])
def test_critic_does_not_depend_on_padding(literal: tuple[str, ...]) -> None:
    critic, counts = made(Critic, design(literal=literal)), [3, 1, 5]
    jobs, machines, mask = seen(counts, 4)
    if literal:
        jobs, machines = torch.cat([jobs, jobs[..., :1]], -1), torch.cat([machines, machines[..., :1]], -1)
    whole = normal(3, GLOBALS, seed=4)
    with torch.no_grad():
        together = critic(jobs, machines, mask, whole)
        for i, n in enumerate(counts):
            one = slice(i, i + 1)
            alone = critic(jobs[one, :n], machines[one], mask[one, :n], whole[one])
            assert together[i].item() == pytest.approx(alone.item(), rel=1e-10)


# Decisions and what is learned from them


def busy(seed: int, jobs: int = 16) -> PlacementInstance:
    """Return an instance where many jobs wait at the same time."""
    rng = np.random.default_rng(seed)
    return PlacementInstance(
        machines=[{"gpus": 4, "cpus": 32, "memory": 64}] * 4,
        jobs=[
            {
                "submit": 5.0 * (i // 4),
                "duration": float(rng.integers(10, 100)),
                "instances": int(rng.integers(1, 4)),
                "gpus": int(rng.integers(1, 4)),
                "cpus": 4,
                "memory": 8,
                "intensity": 1.0,
                "estimate": float(rng.integers(10, 100)),
            }
            for i in range(jobs)
        ],
        price=2.84,
        slowdown={"communication": 1.0, "contention": 0.5},
    )


def tracks(one: Design, count: int = 2) -> list[Track]:
    sampled = [busy(seed) for seed in range(count)]
    return [Track(each, reference(each), one, np.random.default_rng(0)) for each in sampled]


def taught(one: Design, seed: int = 0, **changes: Any) -> Learner:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        student = Learner(one, Training(**{"epochs": 1, "minibatch": 10**6, **changes}), CPU)
    if isinstance(student.actor.encoder, GroupedEncoder):
        student.actor.encoder.centres.copy_(normal(4, 5, seed=seed).abs() / 4.0)
    return student


def played(student: Learner, seed: int = 0) -> list[Played]:
    rng, noise = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    return lessons(student.actor, [busy(0), busy(1)], rng, noise, "ahead")


KERNELS = ("representation", "walk", "process", "history")
VARIED = {
    **{name: design(name) for name in DESIGNS},
    "capacity": design(features="capacity", prior="consolidate"),
    **{
        f"literal-{part}": design(literal=[part]) for part in ("representation", "walk", "process", "history")
    },
    "literal-matern": design(literal=["matern"], history=2),
    "outcomes": design(outcomes=1.0),
}


@pytest.mark.parametrize("name", VARIED)
def test_learning_sees_the_distributions_that_the_actions_were_drawn_from(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    student = taught(VARIED[name])

    def shifted(normal: Normal, _: torch.Generator | None) -> Tensor:
        return normal.mean + 0.5 * torch.cos(3.0 * torch.arange(normal.mean.shape[-1]))

    monkeypatch.setattr(drawing, "draw", shifted)
    generator = torch.Generator()
    done = roll(tracks(student.design), student.actor, generator)
    samples = collect(done, CPU)
    priorities, affinities, _ = distributions(student, samples)
    if priorities is not None:
        again = shifted(priorities, None)[samples.mask]
        torch.testing.assert_close(samples.priorities[samples.mask], again, rtol=1e-4, atol=1e-4)
    if affinities is not None:
        torch.testing.assert_close(samples.affinities, shifted(affinities, None), rtol=1e-3, atol=1e-3)
    if samples.past is not None:
        assert samples.past.known.any()


def distributions(student: Learner, samples: Samples) -> tuple[Normal | None, ...]:
    """Return those of priorities, of affinities, and of what lets jobs wait, as learning sees them."""
    actor, priorities, affinities, holds = student.actor, None, None, None
    with torch.no_grad():
        encoded, machines = actor.encode(samples.jobs, samples.machines, samples.mask)
        if actor.ordering is not None:
            priorities = actor.ordering(encoded, samples.mask, samples.jobs)
        if actor.placement is not None:
            jobs, around = encoded[samples.owner, samples.place], machines[samples.owner]
            affinities = actor.affinities(jobs, around, samples.pairs, samples.past)[0]
            if actor.holding is not None:
                holds = actor.holding(jobs, samples.about)
    return priorities, affinities, holds


PATIENT = design("da-mc", features="capacity", prior="patient", holds=True)
IN_ONE_CALL = {name: one for name, one in VARIED.items() if not one.in_steps} | {
    "patient": PATIENT,
    "holds": design("da-mc", holds=True),
}


def noisy(normal_: Normal, at: int, count: int, rng: np.random.Generator) -> Tensor:
    """Return what the next numbers of a generator make of one of the distributions."""
    noise = torch.from_numpy(rng.standard_normal(count).astype(np.float32))
    if normal_.factor is not None:
        return normal_.mean[at] + normal_.factor[at] @ noise
    return normal_.mean[at, :count] + normal_.variance[at, :count].sqrt() * noise


@pytest.mark.parametrize("name", IN_ONE_CALL)
def test_episodes_in_one_call_draw_from_these_distributions(name: str) -> None:
    student, one = taught(IN_ONE_CALL[name]), busy(0)
    done = play(student.actor.networks(), one, reference(one), np.random.default_rng(7), "ahead")
    samples, rng = collect([done], CPU), np.random.default_rng(7)
    priorities, affinities, holds = distributions(student, samples)
    first, machines = 0, samples.machines.shape[1]
    for d in range(len(done)):
        mine = int(done.rows[d + 1] - done.rows[d])
        if priorities is not None:
            again = noisy(priorities, d, mine, rng)
            torch.testing.assert_close(samples.priorities[d, :mine], again, rtol=1e-4, atol=1e-4)
        for s in range(first, int(done.begun[d + 1])):
            if affinities is not None:
                again = noisy(affinities, s, machines, rng)
                torch.testing.assert_close(samples.affinities[s], again, rtol=1e-3, atol=1e-3)
            if holds is not None:
                again = noisy(holds, s, 1, rng)[0]
                torch.testing.assert_close(samples.hold[s], again, rtol=1e-4, atol=1e-4)
        first = int(done.begun[d + 1])
    assert samples.past is None or samples.past.known.all(1).any()
    assert holds is None or {True, False} == set((samples.hold[samples.free_to_hold] > 0.0).tolist())


@pytest.mark.parametrize("variate", ["ahead", "accrued", "none"])
@pytest.mark.parametrize("name", [*(name for name in IN_ONE_CALL if name in VARIED), "estimates"])
def test_episodes_in_one_call_are_those_of_single_decisions(name: str, variate: str) -> None:
    one = VARIED.get(name) or design("da-mc", features="estimates", prior="estimates")
    student, made = taught(one), busy(1)
    mine = play(student.actor.networks(), made, reference(made), None, variate)
    track = Track(made, reference(made), one, np.random.default_rng(0), variate)
    (theirs,) = roll([track], student.actor, None)
    for part in ("rows", "begun", "fits", "place"):
        np.testing.assert_array_equal(getattr(mine, part), getattr(theirs, part))
    for part in ("jobs", "priorities", "machines", "whole", "reward", "pairs", "affinities"):
        np.testing.assert_allclose(getattr(mine, part), getattr(theirs, part), rtol=1e-4, atol=2e-5)
    assert mine.cost == pytest.approx(theirs.cost, rel=1e-12)
    assert mine.above == pytest.approx(theirs.above, abs=1e-9)
    if mine.past is not None and theirs.past is not None:
        for own, other in zip(mine.past, theirs.past, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-4, atol=2e-5)
    assert (mine.past is None) == (theirs.past is None)


@pytest.mark.parametrize("name", ["das", "da-mc", "dl2", "rifling"])
def test_the_first_ratio_is_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    student = taught(design(name), minibatch=6)
    noted: list[Tensor] = []

    def noting(log_ratio: Tensor, gain: Tensor, clip: float) -> Tensor:
        noted.append(log_ratio.detach())
        return clipped(log_ratio, gain, clip)

    clipped = mappo.clipped_objective
    monkeypatch.setattr(mappo, "clipped_objective", noting)
    student.improve(played(student), np.random.default_rng(0))
    agents = student.design.learns_order + student.design.learns_places
    assert len(noted) > agents
    assert all(log_ratio.abs().max() < 1e-3 for log_ratio in noted[:agents])
    assert any(log_ratio.abs().max() > 1e-2 for log_ratio in noted[agents:])


def widened(value: Any) -> Any:
    """Return tensors in double precision."""
    if isinstance(value, Tensor):
        return value.double() if value.is_floating_point() else value
    return type(value)(*map(widened, value)) if isinstance(value, tuple) else value


def unused(one: Design) -> set[str]:
    """Return the parameters that change nothing."""
    found = set()
    if one.learns_places:
        # What is the same for all machines is taken off their affinities.
        found.add("placement.mean.bias")
    if one.readings.literal("mean"):
        found |= {f"placement.{part}.{what}" for part in ("inner", "mean") for what in ("weight", "bias")}
    if one.ordering == "perceptron":
        # It sees the message beside the job, ungated.
        found |= {"encoder.gate.weight", "encoder.gate.bias"}
    return found


@pytest.mark.parametrize("name", [*VARIED, "holds", "patient", "literal-mean", "literal-critic"])
def test_every_parameter_is_learned(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = VARIED.get(name) or IN_ONE_CALL.get(name) or design(literal=[name.removeprefix("literal-")])
    student = taught(one)
    done = played(student)
    monkeypatch.setattr(learner, "collect", lambda *given_: widened(collect(*given_)))
    for network in (student.actor, student.critic):
        network.double()
    student.improve(done, np.random.default_rng(0))
    named = [*student.actor.named_parameters(), *student.critic.named_parameters()]
    still = {part for part, weights in named if weights.grad is None or weights.grad.abs().max() < 1e-12}
    assert still == unused(one)


LEARNED = {
    **{name: design(name, hidden=4, history=2) for name in ("das", "da-mc", "dl2", "rifling")},
    "literal": design(hidden=4, history=2, literal=["density", "ratio", "critic", "walk"]),
    "patient": design("da-mc", hidden=4, features="capacity", prior="patient", holds=True),
}


@pytest.mark.parametrize("name", LEARNED)
def test_steps_follow_the_derivative_of_the_losses(name: str) -> None:
    student = taught(LEARNED[name], entropy=0.1)
    samples: Samples = widened(collect(played(student), CPU))
    for network in (student.actor, student.critic):
        for weights in network.double().parameters():
            # Biases of 0 lie on the kinks of ReLU.
            weights.data.add_(0.1 * normal(*weights.shape, seed=6))
    with torch.no_grad():
        old = log_densities(student.actor, samples)[0]
    old = old + 0.2 * normal(*old.shape, seed=3)
    rest = (old, normal(samples.count, seed=4), normal(samples.count, seed=5))

    def loss(one: Learner) -> float:
        told = one._descend([samples], *rest)
        return told["critic"] - told["objective"]

    stepped = copy.deepcopy(student)
    longer = max(1.0, stepped._descend([samples], *rest)["norm"])
    names = {**dict(stepped.actor.named_parameters()), **dict(stepped.critic.named_parameters())}
    assert len(names) > 8
    rng, step = np.random.default_rng(0), 1e-6
    for whose in ("actor", "critic"):
        for part, weights in getattr(stepped, whose).named_parameters():
            if part in unused(student.design):
                continue
            way = torch.from_numpy(rng.normal(size=tuple(weights.shape)))
            ends = []
            for sign in (1.0, -1.0):
                moved = copy.deepcopy(student)
                with torch.no_grad():
                    getattr(moved, whose).get_parameter(part).add_(sign * step * way)
                ends.append(loss(moved))
            slope = (ends[0] - ends[1]) / (2.0 * step)
            assert weights.grad is not None
            assert slope == pytest.approx(longer * float((weights.grad * way).sum()), rel=1e-4, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(instances(min_jobs=1))
def test_without_keys_the_rule_is_drf_patient(one: PlacementInstance) -> None:
    table, eta, none = one.table, one.setting.slowdown.contention, np.empty(0, dtype=np.int64)
    state = blank_state(table)
    run_by_rule(table, state, eta, one.setting.window, none, np.zeros(2, dtype=np.int64))
    taken = one.weighted(state.clock[WAITED], state.clock[USED])
    assert taken == pytest.approx(cv.play("drf-patient", one).total, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(instances(min_jobs=1), SEEDS)
def test_who_waits_in_play_is_who_waits_in_training(one: PlacementInstance, seed: int) -> None:
    networks = taught(PATIENT, seed).actor.networks()
    mine = play(networks, one, reference(one), None, "ahead")
    assert mine.cost == pytest.approx(one.cost(taken_by(networks, one)), rel=1e-12)
    drawn = play(networks, one, reference(one), np.random.default_rng(seed), "ahead")
    patient = cv.play("drf-patient", one).total
    scale = reference(one).total / len(one.jobs)
    assert drawn.reward.sum() * scale == pytest.approx(patient - drawn.cost, rel=1e-9, abs=1e-9 * patient)


def test_literal_critic_sees_priorities_and_affinities() -> None:
    student = taught(design(literal=["critic"]))
    samples = collect(played(student), CPU)
    with torch.no_grad():
        before = values(student.critic, student.design, samples)
        others = samples._replace(affinities=samples.affinities + 1.0)
        assert not torch.equal(before, values(student.critic, student.design, others))
        sound = taught(design())
        assert torch.equal(
            values(sound.critic, sound.design, samples), values(sound.critic, sound.design, others)
        )


def decided(scene: Scene, priorities: np.ndarray, scores: np.ndarray, places: np.ndarray) -> list[list[int]]:
    rows: list[list[int]] = drawing._by_rank(scene, priorities, places, torch.from_numpy(scores[places]))[
        0
    ].tolist()
    return rows


@settings(max_examples=60, deadline=None)
@given(instances(min_jobs=2, max_jobs=8), SEEDS)
def test_what_is_left_out_of_the_densities_changes_no_decision(one: PlacementInstance, seed: int) -> None:
    rng = np.random.default_rng(seed)
    episode, eyes = one.episode(frozenset()), Eyes(one.setting, False)
    for observation in episode:
        scene = eyes.look(observation)
        waiting, machines = len(scene.jobs), len(scene.machines)
        everyone, fit = np.arange(waiting), np.flatnonzero(scene.fits)
        priorities, scores = rng.standard_normal(waiting), rng.standard_normal((waiting, machines))
        rows = decided(scene, priorities, scores, fit)
        started = np.isin(observation.jobs, [row[0] for row in rows])
        noise = 10.0 * rng.standard_normal(waiting)
        other = 10.0 * rng.standard_normal((waiting, machines))
        assert rows
        # Jobs that do not fit might as well not be asked.
        assert decided(scene, np.where(scene.fits, priorities, noise), scores, everyone) == rows
        # Affinities of jobs that do not start, and to machines without room.
        assert decided(scene, priorities, np.where(started[:, None], scores, other), fit) == rows
        room = scene.pairs[..., 0] > 0.0
        assert decided(scene, priorities, np.where(room, scores, other), fit) == rows
        # The priority of the only one that fits.
        if len(fit) == 1:
            assert decided(scene, noise, scores, fit) == rows
        # Whether a job starts does not depend on its own affinities.
        picked = rng.integers(waiting)
        changed = scores.copy()
        changed[picked] = other[picked]
        again = decided(scene, priorities, changed, fit)
        here = observation.jobs[picked]
        assert (here in [row[0] for row in again]) == bool(started[picked])
        episode.apply(np.array(rows))


def test_a_scene_alone_is_decided_as_beside_others() -> None:
    student = taught(design())
    waiting = [track.look() for track in tracks(student.design, 3)]
    scenes = [scene for scene in waiting if scene is not None]
    together = drawing.act(student.actor, scenes, [drawing.Memory() for _ in scenes], None)
    for scene, move in zip(scenes, together, strict=True):
        (alone,) = drawing.act(student.actor, [scene], [drawing.Memory()], None)
        np.testing.assert_allclose(alone.priorities, move.priorities, rtol=1e-4, atol=1e-5)
        assert alone.rows.tolist() == move.rows.tolist()


def test_samples_picked_are_those_of_the_chosen_decisions() -> None:
    student = taught(design())
    samples = collect(played(student), CPU)
    chosen = torch.from_numpy(np.random.default_rng(1).permutation(samples.count)[: samples.count // 2])
    with torch.no_grad():
        for all_, some in zip(
            log_densities(student.actor, samples),
            log_densities(student.actor, learner.pick(samples, chosen)),
            strict=True,
        ):
            torch.testing.assert_close(all_[chosen], some, rtol=1e-3, atol=1e-3)


def test_by_the_means_alone_the_past_adds_nothing() -> None:
    student = taught(design())
    done = tracks(student.design)
    roll(done, student.actor, None)
    past = [step.move.past for track in done for step in track.steps]
    # What is remembered is by how much affinities were off their means: without draws, by nothing.
    assert any(each is not None and each.known.any() for each in past)
    assert not any(each is not None and each.residual.any() for each in past)
