"""From episodes to better networks: the updates of Algorithm 1."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from inspect import unwrap
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ....models.base import ClairvoyantError
from . import mappo
from .design import Design
from .drawing import Batch, stack
from .features import RANK
from .networks import Actor, Critic, Past
from .plan import Training
from .rollout import Step, Track


class DivergedError(ClairvoyantError):
    """Numbers of a training are no longer finite."""


class Samples(NamedTuple):
    """Decisions of many episodes as arrays; D decisions, S jobs that were started by them."""

    batch: Batch  # the observations, padded to N jobs; its pairs are not used
    whole: Tensor  # shape (D, GLOBALS)
    priorities: Tensor  # shape (D, N)
    # owner, place: decision and place in the window of each started job, shape (S,).
    owner: Tensor
    place: Tensor
    # pairs, affinities: of each started job, shapes (S, M, p) and (S, M).
    pairs: Tensor
    affinities: Tensor
    past: Past | None  # the memory of the process then, or None

    @property
    def count(self) -> int:  # type: ignore[override]  # of the decisions, not of a value in the tuple
        """D."""
        return len(self.whole)


def collect(steps: Sequence[Step], device: torch.device) -> Samples:
    """Return the decisions as arrays."""
    batch = stack([step.scene for step in steps], device)
    priorities = np.zeros(batch.mask.shape, dtype=np.float32)
    for i, step in enumerate(steps):
        priorities[i, : len(step.move.priorities)] = step.move.priorities
    owner = np.repeat(np.arange(len(steps)), [len(step.move.started) for step in steps])
    place = np.concatenate([step.move.started for step in steps])
    pairs = np.concatenate([step.scene.pairs[step.move.started] for step in steps])
    pasts = [step.move.past for step in steps if step.move.past is not None]
    return Samples(
        batch,
        torch.from_numpy(np.array([step.whole for step in steps])).to(device),
        torch.from_numpy(priorities).to(device),
        torch.from_numpy(owner).to(device),
        torch.from_numpy(place).to(device),
        torch.from_numpy(pairs).to(device),
        torch.from_numpy(np.concatenate([step.move.affinities for step in steps])).to(device),
        Past(*(torch.cat(parts) for parts in zip(*pasts, strict=True))) if pasts else None,
    )


def pick(samples: Samples, chosen: Tensor) -> Samples:
    """Return some of the decisions, padded no more than they need."""
    place_of = torch.full((samples.count,), -1, dtype=torch.long, device=chosen.device)
    place_of[chosen] = torch.arange(len(chosen), device=chosen.device)
    mine = (place_of[samples.owner] >= 0).nonzero()[:, 0]
    mask = samples.batch.mask[chosen]
    n = int(mask.sum(1).max())
    b = samples.batch
    batch = Batch(b.jobs[chosen, :n], b.machines[chosen], b.pairs[:0], mask[:, :n], b.fits[chosen, :n])
    return Samples(
        batch,
        samples.whole[chosen],
        samples.priorities[chosen, :n],
        place_of[samples.owner[mine]],
        samples.place[mine],
        samples.pairs[mine],
        samples.affinities[mine],
        None if samples.past is None else Past(*(part[mine] for part in samples.past)),
    )


def log_densities(actor: Actor, samples: Samples) -> tuple[Tensor, Tensor]:
    """Return the log density of the actions, and the entropy, of each decision and agent, shape (D, agents).

    Only what can matter counts: priorities of jobs that fit, and affinities of jobs that start. Whether a job
    starts does not depend on its own affinities, so that leaving out the others changes no expectation of the
    gradient; but for the process, which remembers affinities of machines without room as well.
    """
    printed = actor.design.readings.literal("density")
    density = mappo.printed_log_density if printed else mappo.log_density
    b = samples.batch
    encoded, machines = actor.encode(b.jobs, b.machines, b.mask)
    found: list[tuple[Tensor, ...]] = []
    if actor.ordering is not None:
        normal = actor.ordering(encoded, b.mask, b.jobs)
        fits = (b.fits & (b.fits.sum(1, keepdim=True) > 1)).to(encoded.dtype)
        found.append((density(normal, samples.priorities, fits), mappo.entropy(normal, fits)))
    if actor.placement is not None:
        jobs = encoded[samples.owner, samples.place]
        normal, _ = actor.affinities(jobs, machines[samples.owner], samples.pairs, samples.past)
        blank = encoded.new_zeros(samples.count)
        room = (samples.pairs[..., 0] > 0.0).to(encoded.dtype)
        each = density(normal, samples.affinities, room), mappo.entropy(normal, room)
        found.append(tuple(blank.index_add(0, samples.owner, part) for part in each))
    return torch.stack([d for d, _ in found], 1), torch.stack([e for _, e in found], 1)


def values(critic: Critic, design: Design, samples: Samples) -> Tensor:
    """Return the value of each decision's state, or of state and actions as printed, shape (D,)."""
    b = samples.batch
    jobs, machines = b.jobs[..., : critic.widths[0]], b.machines[..., : critic.widths[1]]
    if design.readings.literal("critic"):
        jobs = torch.cat([jobs, samples.priorities[..., None]], -1)
        affinity = machines.new_zeros(machines.shape[:2])
        if samples.affinities.numel():
            affinity = affinity.index_add(0, samples.owner, samples.affinities)
        machines = torch.cat([machines, affinity[..., None]], -1)
    return critic(jobs, machines, b.mask, samples.whole)


def refuse_endless(numbers: Mapping[str, float]) -> None:
    """Raise DivergedError that names the first number that is not finite."""
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise DivergedError(f"{name} is {value}")


class Adam(torch.optim.Adam):
    """Adam, called without what makes it known to PyTorch's compiler.

    That would load the compiler, which takes longer than a short training, and nothing here is compiled.
    """

    add_param_group = unwrap(torch.optim.Adam.add_param_group)
    state_dict = unwrap(torch.optim.Adam.state_dict)
    load_state_dict = unwrap(torch.optim.Adam.load_state_dict)
    zero_grad = unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))


class Learner:
    """Networks and their optimiser."""

    def __init__(self, design: Design, settings: Training, device: torch.device) -> None:
        self.design, self.settings, self.device = design, settings, device
        self.actor, self.critic = Actor(design).to(device), Critic(design).to(device)
        both = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimiser = Adam(both, lr=settings.learning_rate)

    def improve(self, tracks: Sequence[Track], rng: np.random.Generator) -> dict[str, float]:
        """Learn from whole episodes; return the losses of the last step. They must be finite."""
        samples = collect([step for track in tracks for step in track.steps], self.device)
        with torch.no_grad():
            old = log_densities(self.actor, samples)[0]
            predicted = values(self.critic, self.design, samples)
            gain = self._advantages(tracks, predicted)
            target = gain + predicted
            if len(gain) > 1:
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        losses: dict[str, float] = {}
        literal = self.design.readings.literal("updates")
        for _ in range(1 if literal else self.settings.epochs):
            for turn, chosen in enumerate(self._parts(tracks, rng)):
                part = pick(samples, chosen)
                if literal and turn % 2 == 0:
                    copied = copy.deepcopy(self.actor)
                before = self._before(copied, part) if literal else old[chosen]
                losses = self._descend(part, before, gain[chosen], target[chosen])
        return losses

    @staticmethod
    @torch.no_grad()
    def _before(copied: Actor, part: Samples) -> Tensor:
        """Return the log densities under the copied policy, of Algorithm 1."""
        return log_densities(copied, part)[0]

    def _parts(self, tracks: Sequence[Track], rng: np.random.Generator) -> Iterator[Tensor]:
        """Yield the places of decisions to learn from together."""
        lengths = [len(track.steps) for track in tracks]
        count = sum(lengths)
        if self.design.readings.literal("updates"):
            first = np.cumsum([0, *lengths[:-1]])
            for t in range(max(lengths)):
                yield torch.tensor(
                    [f + t for f, n in zip(first, lengths, strict=True) if t < n], device=self.device
                )
            return
        order = rng.permutation(count)
        parts = max(1, round(count / self.settings.minibatch))
        for part in np.array_split(order, parts):
            yield torch.from_numpy(part).to(self.device)

    def _advantages(self, tracks: Sequence[Track], predicted: Tensor) -> Tensor:
        result, first = [], 0
        predicted = predicted.cpu()
        for track in tracks:
            last = first + len(track.steps)
            rewards = torch.tensor([step.reward for step in track.steps], dtype=torch.float32)
            rewards = rewards.clamp(-self.settings.reward_limit, self.settings.reward_limit)
            result.append(
                mappo.advantages(
                    rewards, predicted[first:last], self.settings.discount, self.settings.smoothing
                )
            )
            first = last
        return torch.cat(result).to(self.device)

    def _descend(self, part: Samples, old: Tensor, gain: Tensor, target: Tensor) -> dict[str, float]:
        """Take one step down the losses (16) and (17)."""
        now, spread = log_densities(self.actor, part)
        objective = (
            mappo.printed_objective if self.design.readings.literal("ratio") else mappo.clipped_objective
        )
        aims = torch.stack(
            [objective(now[:, a] - old[:, a], gain, self.settings.clip).mean() for a in range(now.shape[1])]
        )
        loss = -(aims.sum() + self.settings.entropy * spread.mean(0).sum())
        error = functional.mse_loss(values(self.critic, self.design, part), target)
        self.optimiser.zero_grad()
        (loss + error).backward()
        norm = torch.nn.utils.clip_grad_norm_([*self.actor.parameters(), *self.critic.parameters()], 1.0)
        losses = {"objective": -float(loss.detach()), "critic": float(error.detach()), "norm": float(norm)}
        refuse_endless(
            {
                "the objective of the agents": losses["objective"],
                "the loss of the critic": losses["critic"],
                "the norm of the gradient": losses["norm"],
            }
        )
        self.optimiser.step()
        return losses

    def imitate(self, tracks: Sequence[Track], rng: np.random.Generator) -> float:
        """Learn to answer as FIFO-Consolidate would in the same scenes; return the error of the last step."""
        samples = collect([step for track in tracks for step in track.steps], self.device)
        error = float("nan")
        for _ in range(self.settings.epochs):
            for chosen in self._parts(tracks, rng):
                part = pick(samples, chosen)
                loss = self._distance(part)
                error = float(loss.detach())
                refuse_endless({"the distance from FIFO-Consolidate": error})
                self.optimiser.zero_grad()
                loss.backward()
                self.optimiser.step()
        return error

    def _distance(self, part: Samples) -> Tensor:
        """Return the mean squared distance of the means from the ranks of FIFO-Consolidate."""
        b, actor = part.batch, self.actor
        encoded, machines = actor.encode(b.jobs, b.machines, b.mask)
        loss = encoded.new_zeros(())
        if actor.ordering is not None:
            mean = actor.ordering(encoded, b.mask, b.jobs).mean
            place = torch.arange(mean.shape[1], device=mean.device) / b.mask.sum(1, keepdim=True)
            loss = loss + ((mean + place) ** 2 * b.mask).sum() / b.mask.sum()
        if actor.placement is not None:
            jobs = encoded[part.owner, part.place]
            _, mean = actor.affinities(jobs, machines[part.owner], part.pairs, part.past)
            distance = (mean - part.pairs[..., RANK]) ** 2
            loss = loss + (distance.mean() if len(distance) else distance.sum())
        return loss
