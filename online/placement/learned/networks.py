"""The networks: ordering agent (Sec. 4.1), placement agent (Sec. 4.2), critic (Sec. 4.3), and the rivals'.

Shapes: B decision epochs, N waiting jobs (padded), M machines, P pairs of an epoch and a job that is placed,
e hidden units, T jobs of the past.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from . import weights
from .design import Design
from .features import ESTIMATE, GPUS, HOLD_FEATURES, PATIENT, RANK, WIDTHS
from .gaussian import factorised, matern, posterior, process, projected, walk_features
from .process import JITTER
from .weights import FIRST_VARIANCE, GROUPS, SILENT, Networks, variance_bias

TINY = 1e-6
GLOBALS = 6
"""Numbers that the critic sees besides jobs and machines."""


class Normal(NamedTuple):
    """Independent normal distributions, or, with a factor, one of several dimensions."""

    mean: Tensor  # shape (..., m)
    variance: Tensor  # shape (..., m)
    # Lower Cholesky factor of the covariance, shape (..., m, m), or None if that is diagonal.
    factor: Tensor | None = None


class Past(NamedTuple):
    """The last T placed jobs before each of P decisions on a job."""

    points: Tensor  # the machines as seen by those jobs, shape (P, T, M, d)
    residual: Tensor  # their affinities less the mean then, shape (P, T, M)
    # Which of them there are, shape (P, T), or of which machines there are outcomes, shape (P, T, M).
    known: Tensor

    @property
    def machines(self) -> Tensor:
        """Which machines as seen by those jobs count, shape (P, T M)."""
        every = self.known if self.known.dim() == 3 else self.known[..., None]
        return every.expand(self.residual.shape).flatten(1)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Initialise the networks that are made in this context from the seed of a training."""
    stream = np.random.SeedSequence(seed).spawn(1)[0]
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(stream.generate_state(1)[0]))
        yield


def layer(inputs: int, outputs: int, bias: float = 0.0, *, silent: bool = False) -> nn.Linear:
    """Return a linear layer; a ``silent`` one answers with its bias until it has learned."""
    made = nn.Linear(inputs, outputs)
    if silent:
        nn.init.normal_(made.weight, std=SILENT)
    nn.init.constant_(made.bias, bias)
    return made


@lru_cache(maxsize=256)
def positions(count: int, width: int) -> Tensor:
    """Return PE(i) of Sec. 4.1.2 for i = 0, 1, ..., shape (count, width)."""
    return torch.from_numpy(weights.positions(count, width).copy())


class JobEncoder(nn.Module):
    r"""From the states of jobs and machines to :math:`\hat S^j` and :math:`S^c`, (4) to (6).

    The skip connection around the attention is that of a Transformer, which (6) does not print.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        e, (jobs, machines, _) = design.hidden, WIDTHS[design.features]
        self.heads = design.heads
        self.attends = design.ordering == "attention"
        self.jobs = layer(jobs, e)
        self.machines = layer(machines, e)
        self.gate = layer(2 * e, e) if design.message else None
        self.look = nn.Linear(e, 3 * e, bias=False) if self.attends else None
        self.out = nn.Linear(e, e, bias=False) if self.attends else layer(2 * e, e)

    def forward(self, jobs: Tensor, machines: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the jobs, shape (B, N, e), and the machines, shape (B, M, e)."""
        s, c = functional.relu(self.jobs(jobs)), functional.relu(self.machines(machines))
        message = c.mean(1, keepdim=True).expand_as(s)
        if self.look is None:
            return functional.relu(self.out(torch.cat([s, message], -1))), c
        if self.gate is not None:
            share = torch.sigmoid(self.gate(torch.cat([s, message], -1)))
            s = share * message + (1.0 - share) * s
        z = s + positions(s.shape[1], s.shape[2]).to(s.device)
        b, n, e = z.shape
        q, k, v = self.look(z).view(b, n, 3, self.heads, e // self.heads).permute(2, 0, 3, 1, 4)
        seen = mask[:, None, None, :].expand(b, 1, n, n)
        heads = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return z + self.out(heads.transpose(1, 2).reshape(b, n, e)), c


class OrderingHead(nn.Module):
    r"""Means and variances of the priorities, (8): :math:`\tanh` and sigmoid of the encoded jobs."""

    def __init__(self, design: Design) -> None:
        super().__init__()
        self.prior = design.prior
        self.mean = layer(design.hidden, 1, silent=True)
        self.variance = layer(design.hidden, 1, variance_bias(FIRST_VARIANCE), silent=True)

    def forward(self, encoded: Tensor, mask: Tensor, jobs: Tensor) -> Normal:
        """Return the distribution of the priorities, shape (B, N); ``jobs`` are the features of the jobs."""
        mean = torch.tanh(self.mean(encoded)[..., 0])
        if self.prior != "none":
            place = torch.arange(mean.shape[1], dtype=mean.dtype, device=mean.device)
            if self.prior != "consolidate":
                key = ESTIMATE if self.prior == "estimates" else GPUS
                shorter = jobs[:, None, :, key] < jobs[:, :, None, key]
                place = (shorter & mask[:, None]).sum(-1)
            mean = mean - place / mask.sum(1, keepdim=True).clamp_min(1)
        return Normal(mean, torch.sigmoid(self.variance(encoded)[..., 0]) + TINY)


class PlacementHead(nn.Module):
    """Distribution of the affinities of one job to all machines: the process of Sec. 4.2, or without it."""

    def __init__(self, design: Design) -> None:
        super().__init__()
        e, pairs = design.hidden, WIDTHS[design.features][2]
        self.design, self.readings = design, design.readings
        self.prior = design.prior != "none"
        self.inner = layer(e + pairs, e)
        self.mean = layer(e, 1, silent=True)
        if design.placement == "process":
            self.log_lengthscale = nn.Parameter(torch.tensor(math.log(math.sqrt(e))))
            self.log_scale = nn.Parameter(torch.tensor(math.log(FIRST_VARIANCE)))
            self.log_noise = nn.Parameter(torch.tensor(math.log(FIRST_VARIANCE)))
            self.walk = nn.Parameter(torch.tensor(0.0))
        else:
            self.variance = layer(e, 1, variance_bias(FIRST_VARIANCE), silent=True)

    def points(self, jobs: Tensor, machines: Tensor) -> Tensor:
        r"""Return the machines as seen by jobs, :math:`\hat S^c`; shapes (P, e), (P, M, e), (P, M, d)."""
        if self.readings.literal("representation"):
            return (machines * jobs[:, None]) @ machines.transpose(1, 2)
        return jobs[:, None] * machines

    def forward(
        self,
        jobs: Tensor,
        machines: Tensor,
        pairs: Tensor,
        rank: Tensor,
        past: Past | None,
        factored: bool = True,
    ) -> tuple[Normal, Tensor]:
        """Return the distribution of the affinities, shape (P, M), and their mean without the past.

        Without being ``factored`` it has no factor of the covariance, which only draws and densities need.
        ``pairs`` are the features of the pairs, shape (P, M, p), and ``rank`` that of FIFO-Consolidate.
        """
        hidden = functional.relu(self.inner(torch.cat([jobs[:, None] * machines, pairs], -1)))
        mean = self.mean(hidden)[..., 0]
        mean = mean - mean.mean(-1, keepdim=True)
        if self.readings.literal("mean"):
            mean = torch.zeros_like(mean)
        if self.prior:
            mean = mean + rank
        if past is None:
            return Normal(mean, torch.sigmoid(self.variance(hidden)[..., 0]) + TINY), mean
        shift, covariance = self.regress(self.points(jobs, machines), past)
        covariance = covariance + JITTER * torch.eye(mean.shape[1], dtype=mean.dtype, device=mean.device)
        covariance, factor = factorised(covariance) if factored else (covariance, None)
        return Normal(mean + shift, torch.diagonal(covariance, dim1=-2, dim2=-1), factor), mean

    def regress(self, now: Tensor, past: Past) -> tuple[Tensor, Tensor]:
        """Return the change of the mean by the past, shape (P, M), and the covariance, shape (P, M, M)."""
        literal = self.readings.literal("matern")
        p, t, m, d = past.points.shape
        if self._compiled(now, past):
            beta = torch.sigmoid(self.walk)
            scale = torch.exp(self.log_scale - beta)
            scalars = torch.exp(-self.log_lengthscale), scale, self.log_noise.exp(), beta
            return process(now, torch.stack(scalars), past.points, past.residual, past.machines)
        everything = torch.cat([now[:, None], past.points], 1).reshape(p, (1 + t) * m, d)
        similar = matern(everything, everything, self.log_lengthscale.exp(), squared=literal)
        adjacency = similar.view(p, 1 + t, m, 1 + t, m).diagonal(dim1=1, dim2=3).movedim(-1, 1) / m
        weight = torch.sigmoid(self.walk)
        geometric = self.readings.literal("walk")
        psi = walk_features(adjacency, weight, geometric=geometric)
        scale = self.log_scale.exp() * (1.0 - weight if geometric else torch.exp(-weight))
        if self.readings.literal("process"):
            return self._over_graphs(psi, scale, past)
        nodes = psi.flatten(1, 2)
        kernel = scale * similar * (nodes @ nodes.mT)
        if literal:
            kernel = projected(kernel)
        shift, covariance = posterior(
            kernel[:, :m, :m],
            kernel[:, :m, m:],
            kernel[:, m:, m:],
            past.residual.reshape(p, t * m, 1),
            self.log_noise.exp(),
            past.machines,
        )
        return shift[..., 0], projected(covariance) if literal else covariance

    def _compiled(self, now: Tensor, past: Past) -> bool:
        """Tell whether kernels do what is asked for."""
        plain = now.device.type == "cpu" and now.dtype == torch.float32 and not past.points.requires_grad
        return plain and not any(map(self.readings.literal, ("matern", "walk", "process")))

    def _over_graphs(self, psi: Tensor, scale: Tensor, past: Past) -> tuple[Tensor, Tensor]:
        """Regress on whole graphs, one number per pair of them: all machines share one variance."""
        m = psi.shape[2]
        sums = psi.sum(2) / m
        kernel = scale * (sums @ sums.mT)
        shift, variance = posterior(
            kernel[:, :1, :1],
            kernel[:, :1, 1:],
            kernel[:, 1:, 1:],
            past.residual,
            self.log_noise.exp(),
            past.known,
        )
        return shift[:, 0], variance * torch.eye(m, dtype=psi.dtype, device=psi.device)


class HoldingHead(nn.Module):
    """Distribution of what lets a job wait that might start now, if it is above 0."""

    def __init__(self, design: Design) -> None:
        super().__init__()
        self.prior = design.prior == "patient"
        self.inner = layer(design.hidden + len(HOLD_FEATURES), design.hidden)
        self.mean = layer(design.hidden, 1, silent=True)
        self.variance = layer(design.hidden, 1, variance_bias(FIRST_VARIANCE), silent=True)

    def forward(self, jobs: Tensor, about: Tensor) -> Normal:
        """Return it of encoded jobs, shape (P, 1), by their features, shape (P, 6)."""
        hidden = functional.relu(self.inner(torch.cat([jobs, about], -1)))
        mean = self.mean(hidden)
        if self.prior:
            mean = mean + about[:, PATIENT, None]
        return Normal(mean, torch.sigmoid(self.variance(hidden)) + TINY)


class GroupedEncoder(nn.Module):
    """RIFLING's view: the group of a job, by k-means, in the place of the job, beside the machines."""

    def __init__(self, design: Design) -> None:
        super().__init__()
        jobs, machines, _ = WIDTHS[design.features]
        self.register_buffer("centres", torch.zeros(GROUPS, jobs))
        self.centres: Tensor
        self.jobs = layer(jobs, design.hidden)
        self.machines = layer(machines, design.hidden)

    def forward(self, jobs: Tensor, machines: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the groups of the jobs, shape (B, N, e), and the machines, shape (B, M, e)."""
        group = torch.cdist(jobs, self.centres.expand(len(jobs), -1, -1)).argmin(-1)
        return functional.relu(self.jobs(self.centres[group])), functional.relu(self.machines(machines))


class Actor(nn.Module):
    """All agents: what encodes jobs and machines, and a head for each agent that learns."""

    def __init__(self, design: Design) -> None:
        super().__init__()
        self.design = design
        self.widths = WIDTHS[design.features]
        grouped = design.placement == "grouped"
        self.encoder: nn.Module = GroupedEncoder(design) if grouped else JobEncoder(design)
        self.ordering = OrderingHead(design) if design.learns_order else None
        self.placement = PlacementHead(design) if design.learns_places else None
        self.holding = HoldingHead(design) if design.holds else None

    def networks(self) -> Networks:
        """Return the same as plain arrays, which play."""
        state = self.state_dict()
        return Networks(self.design, {name: x.numpy(force=True).copy() for name, x in state.items()})

    def encode(self, jobs: Tensor, machines: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the encoded jobs and machines of all features, of which the design's are used."""
        return self.encoder(jobs[..., : self.widths[0]], machines[..., : self.widths[1]], mask)

    def affinities(
        self, jobs: Tensor, machines: Tensor, pairs: Tensor, past: Past | None, factored: bool = True
    ) -> tuple[Normal, Tensor]:
        """Return the affinities of encoded jobs to encoded machines; see :class:`PlacementHead`."""
        placement = cast(PlacementHead, self.placement)
        return placement(jobs, machines, pairs[..., : self.widths[2]], pairs[..., RANK], past, factored)


class Critic(nn.Module):
    """The centralised critic (15): of means over jobs and machines, so that their numbers may differ.

    With actions, as printed, the priorities, and the sums of the affinities of the jobs that start, are
    further features.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        e, (jobs, machines, _) = design.hidden, WIDTHS[design.features]
        self.widths = (jobs, machines)
        actions = int(design.readings.literal("critic"))
        self.jobs = layer(jobs + actions, e)
        self.machines = layer(machines + actions, e)
        self.inner = layer(2 * e + GLOBALS, 2 * e)
        self.out = layer(2 * e, 1)

    def forward(self, jobs: Tensor, machines: Tensor, mask: Tensor, whole: Tensor) -> Tensor:
        """Return the value of each state, shape (B,); ``whole`` has numbers of it, shape (B, GLOBALS)."""
        weight = mask[..., None].to(jobs.dtype)
        pooled = (functional.relu(self.jobs(jobs)) * weight).sum(1) / weight.sum(1).clamp_min(1.0)
        state = torch.cat([pooled, functional.relu(self.machines(machines)).mean(1), whole], -1)
        return self.out(functional.relu(self.inner(state)))[:, 0]
