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
from .features import RANK
from .networks import Actor, Critic, Past
from .plan import Training
from .rollout import Played


class DivergedError(ClairvoyantError):
    """Numbers of a training are no longer finite."""


class Samples(NamedTuple):
    """Decisions of many episodes as arrays; D decisions, S jobs that were started by them."""

    # jobs, machines: features, padded to N jobs, shapes (D, N, 14) and (D, M, 6).
    jobs: Tensor
    machines: Tensor
    # mask, fits: where there is a job, and where there is one that fits, shape (D, N).
    mask: Tensor
    fits: Tensor
    whole: Tensor  # shape (D, GLOBALS)
    priorities: Tensor  # shape (D, N)
    # owner, place: decision and place in the window of each started job, shape (S,).
    owner: Tensor
    place: Tensor
    # pairs, affinities: of each started job, shapes (S, M, p) and (S, M).
    pairs: Tensor
    affinities: Tensor
    # about, hold, free_to_hold: of jobs that may wait, see :class:`.rollout.Played`.
    about: Tensor
    hold: Tensor
    free_to_hold: Tensor
    past: Past | None  # the memory of the process then, or None

    @property
    def count(self) -> int:  # type: ignore[override]  # of the decisions, not of a value in the tuple
        """D."""
        return len(self.whole)


def collect(episodes: Sequence[Played], device: torch.device) -> Samples:
    """Return the decisions of episodes as arrays."""
    rows = np.concatenate([np.diff(one.rows) for one in episodes])
    begun = np.concatenate([np.diff(one.begun) for one in episodes])
    mask = np.arange(rows.max())[None, :] < rows[:, None]

    def joined(name: str) -> Tensor:
        return torch.from_numpy(np.concatenate([getattr(one, name) for one in episodes])).to(device)

    def padded(name: str) -> Tensor:
        flat = np.concatenate([getattr(one, name) for one in episodes])
        whole = np.zeros(mask.shape + flat.shape[1:], dtype=flat.dtype)
        whole[mask] = flat
        return torch.from_numpy(whole).to(device)

    pasts = [one.past for one in episodes if one.past is not None]
    memory = [torch.from_numpy(np.concatenate(parts)).to(device) for parts in zip(*pasts, strict=True)]
    owner = torch.from_numpy(np.repeat(np.arange(len(begun)), begun)).to(device)
    return Samples(
        padded("jobs"),
        joined("machines"),
        torch.from_numpy(mask).to(device),
        padded("fits"),
        joined("whole"),
        padded("priorities"),
        owner,
        joined("place"),
        joined("pairs"),
        joined("affinities"),
        joined("about"),
        joined("hold"),
        joined("free_to_hold"),
        Past(*memory) if memory else None,
    )


def pick(samples: Samples, chosen: Tensor) -> Samples:
    """Return some of the decisions, padded no more than they need."""
    place_of = torch.full((samples.count,), -1, dtype=torch.long, device=chosen.device)
    place_of[chosen] = torch.arange(len(chosen), device=chosen.device)
    mine = (place_of[samples.owner] >= 0).nonzero()[:, 0]
    free = mine if len(samples.hold) else mine[:0]
    mask = samples.mask[chosen]
    n = int(mask.sum(1).max())
    return Samples(
        samples.jobs[chosen, :n],
        samples.machines[chosen],
        mask[:, :n],
        samples.fits[chosen, :n],
        samples.whole[chosen],
        samples.priorities[chosen, :n],
        place_of[samples.owner[mine]],
        samples.place[mine],
        samples.pairs[mine],
        samples.affinities[mine],
        samples.about[free],
        samples.hold[free],
        samples.free_to_hold[free],
        None if samples.past is None else Past(*(part[mine] for part in samples.past)),
    )


ALIKE = (2, 4, 8, 16, 32)
"""Decisions about up to so many jobs are padded together."""

FEW = 256
"""Fewer decisions than this are not parted: calls cost more than padding."""


def parted(samples: Samples, chosen: Tensor) -> list[Tensor]:
    """Part decisions by how many jobs wait, so that few are padded to many; on a GPU calls cost more."""
    if chosen.device.type != "cpu" or len(chosen) < FEW:
        return [chosen]
    kind = torch.bucketize(samples.mask[chosen].sum(1), torch.tensor(ALIKE))
    return [one for k in range(len(ALIKE) + 1) if len(one := chosen[kind == k])]


def log_densities(actor: Actor, samples: Samples) -> tuple[Tensor, Tensor]:
    """Return the log density of the actions, and the entropy, of each decision and agent, shape (D, agents).

    Only what can matter counts: priorities of jobs that fit, and affinities of jobs that start. Whether a job
    starts does not depend on its own affinities, so that leaving out the others changes no expectation of the
    gradient; but for the process, which remembers affinities of machines without room as well.
    """
    printed = actor.design.readings.literal("density")
    density = mappo.printed_log_density if printed else mappo.log_density
    encoded, machines = actor.encode(samples.jobs, samples.machines, samples.mask)
    found: list[tuple[Tensor, ...]] = []
    if actor.ordering is not None:
        normal = actor.ordering(encoded, samples.mask, samples.jobs)
        fits = (samples.fits & (samples.fits.sum(1, keepdim=True) > 1)).to(encoded.dtype)
        found.append((density(normal, samples.priorities, fits), mappo.entropy(normal, fits)))
    if actor.placement is not None:
        jobs = encoded[samples.owner, samples.place]
        normal, _ = actor.affinities(jobs, machines[samples.owner], samples.pairs, samples.past)
        blank = encoded.new_zeros(samples.count)
        room = (samples.pairs[..., 0] > 0.0).to(encoded.dtype)
        each = density(normal, samples.affinities, room), mappo.entropy(normal, room)
        found.append(tuple(blank.index_add(0, samples.owner, part) for part in each))
    if actor.holding is not None:
        normal = actor.holding(encoded[samples.owner, samples.place], samples.about)
        free, blank = samples.free_to_hold[:, None].to(encoded.dtype), encoded.new_zeros(samples.count)
        each = density(normal, samples.hold[:, None], free), mappo.entropy(normal, free)
        found.append(tuple(blank.index_add(0, samples.owner, part) for part in each))
    return torch.stack([d for d, _ in found], 1), torch.stack([e for _, e in found], 1)


def values(critic: Critic, design: Design, samples: Samples) -> Tensor:
    """Return the value of each decision's state, or of state and actions as printed, shape (D,)."""
    jobs, machines = samples.jobs[..., : critic.widths[0]], samples.machines[..., : critic.widths[1]]
    if design.readings.literal("critic"):
        jobs = torch.cat([jobs, samples.priorities[..., None]], -1)
        affinity = machines.new_zeros(machines.shape[:2])
        if samples.affinities.numel():
            affinity = affinity.index_add(0, samples.owner, samples.affinities)
        machines = torch.cat([machines, affinity[..., None]], -1)
    return critic(jobs, machines, samples.mask, samples.whole)


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

    def improve(self, episodes: Sequence[Played], rng: np.random.Generator) -> dict[str, float]:
        """Learn from whole episodes; return the losses of the last step. They must be finite."""
        samples = collect(episodes, self.device)
        old, predicted = self._before(samples)
        gain = self._advantages(episodes, predicted)
        target = gain + predicted
        if len(gain) > 1:
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        losses: dict[str, float] = {}
        literal = self.design.readings.literal("updates")
        for _ in range(1 if literal else self.settings.epochs):
            for turn, chosen in enumerate(self._parts(episodes, rng)):
                some = parted(samples, chosen)
                parts, now = [pick(samples, one) for one in some], torch.cat(some)
                if literal and turn % 2 == 0:
                    copied = copy.deepcopy(self.actor)
                before = self._under(copied, parts) if literal else old[now]
                losses = self._descend(parts, before, gain[now], target[now])
        return losses

    @torch.no_grad()
    def _before(self, samples: Samples) -> tuple[Tensor, Tensor]:
        """Return the log densities and the values before anything is learned."""
        some = parted(samples, torch.arange(samples.count, device=self.device))
        parts, back = [pick(samples, one) for one in some], torch.argsort(torch.cat(some))
        predicted = torch.cat([values(self.critic, self.design, part) for part in parts])
        return self._under(self.actor, parts)[back], predicted[back]

    @staticmethod
    @torch.no_grad()
    def _under(actor: Actor, parts: Sequence[Samples]) -> Tensor:
        """Return the log densities of actions under a policy; in Algorithm 1 that is a copied one."""
        return torch.cat([log_densities(actor, part)[0] for part in parts])

    def _parts(self, episodes: Sequence[Played], rng: np.random.Generator) -> Iterator[Tensor]:
        """Yield the places of decisions to learn from together."""
        lengths = [len(one) for one in episodes]
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

    def _advantages(self, episodes: Sequence[Played], predicted: Tensor) -> Tensor:
        result, first, limit = [], 0, self.settings.reward_limit
        known = predicted.cpu()
        for one in episodes:
            last = first + len(one)
            rewards = torch.from_numpy(np.clip(one.reward, -limit, limit).astype(np.float32))
            smoothed = self.settings.discount, self.settings.smoothing
            result.append(mappo.advantages(rewards, known[first:last], *smoothed))
            first = last
        return torch.cat(result).to(self.device)

    def _descend(
        self, parts: Sequence[Samples], old: Tensor, gain: Tensor, target: Tensor
    ) -> dict[str, float]:
        """Take one step down the losses (16) and (17), of the decisions of all parts."""
        both = [log_densities(self.actor, part) for part in parts]
        now, spread = (torch.cat(of) for of in zip(*both, strict=True))
        objective = (
            mappo.printed_objective if self.design.readings.literal("ratio") else mappo.clipped_objective
        )
        aims = torch.stack(
            [objective(now[:, a] - old[:, a], gain, self.settings.clip).mean() for a in range(now.shape[1])]
        )
        loss = -(aims.sum() + self.settings.entropy * spread.mean(0).sum())
        value = torch.cat([values(self.critic, self.design, part) for part in parts])
        error = functional.mse_loss(value, target)
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

    def imitate(self, episodes: Sequence[Played], rng: np.random.Generator, *, optima: bool = False) -> float:
        """Learn to answer as FIFO-Consolidate would in the same scenes; return the error of the last step.

        With ``optima`` the episodes were played as optima, and their actions are what is learned.
        """
        samples = collect(episodes, self.device)
        error = float("nan")
        for _ in range(self.settings.epochs):
            for chosen in self._parts(episodes, rng):
                part = pick(samples, chosen)
                loss = self._distance(part, optima)
                error = float(loss.detach())
                refuse_endless({"the distance from what is imitated": error})
                self.optimiser.zero_grad()
                loss.backward()
                self.optimiser.step()
        return error

    def _distance(self, part: Samples, optima: bool = False) -> Tensor:
        """Return the mean squared distance of means from the ranks of FIFO-Consolidate, or from actions."""
        actor, mask = self.actor, part.mask
        encoded, machines = actor.encode(part.jobs, part.machines, mask)
        loss = encoded.new_zeros(())
        if actor.ordering is not None:
            mean = actor.ordering(encoded, mask, part.jobs).mean
            ranks = -part.priorities if optima else torch.arange(mean.shape[1], device=mean.device)
            loss = loss + ((mean + ranks / mask.sum(1, keepdim=True)) ** 2 * mask).sum() / mask.sum()
        if actor.placement is not None:
            jobs = encoded[part.owner, part.place]
            _, mean = actor.affinities(jobs, machines[part.owner], part.pairs, part.past)
            distance = (mean - (part.affinities if optima else part.pairs[..., RANK])) ** 2
            loss = loss + (distance.mean() if len(distance) else distance.sum())
        if actor.holding is not None and optima:
            mean = actor.holding(encoded[part.owner, part.place], part.about).mean[:, 0]
            loss = loss + ((mean - part.hold) ** 2 * part.free_to_hold).sum() / max(1, len(mean))
        return loss
