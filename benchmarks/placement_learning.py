"""Speed of the learned schedulers: training, decisions, and the Gaussian process beside GPyTorch.

All on one thread, in seconds of CPU, so that other processes count little. The cost of a decision does not
depend on the weights, so that untrained networks serve.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import gpytorch
import numpy as np
import torch
from torch import Tensor, nn

from clairvoyant.models.placement.generate import generate
from clairvoyant.online.placement.learned.acting import Player
from clairvoyant.online.placement.learned.design import DESIGNS, Design
from clairvoyant.online.placement.learned.drawing import Memory, act, one_thread
from clairvoyant.online.placement.learned.features import Eyes
from clairvoyant.online.placement.learned.gaussian import walk_features
from clairvoyant.online.placement.learned.networks import Actor, Past, PlacementHead, seeded
from clairvoyant.online.placement.learned.plan import Plan
from clairvoyant.online.placement.learned.training import Trainer
from clairvoyant.online.placement.learned.weights import initial

from .measure import Row, timed

EPISODES = 4
LESSON_JOBS = 200
LESSONS = 3
PLAYED_JOBS = 100
PLAYS = 3
REPEATS = 5
MACHINES = (8, 16, 32)
HISTORY = 8
HIDDEN = 32
BATCHES = (1, 32)

STEP_TARGETS = {"da-mc": 1.0 / 3.0, "das": 1.0 / 1.5}
"""Milliseconds of a step: 3,000 and 1,500 steps per second."""

VARIATES = {"ahead": "what is ahead", "accrued": "what has accrued"}
"""With what the reward is compared: another simulation to the end per step, or numbers that are known."""

CLUSTERS = {"small": 13.2, "medium": 13.8, "large": 15.6}
"""Milliseconds that Appendix F reports for a job on each cluster, measured on another machine, with a GPU."""

DECISIONS = (("da-mc", "small", 0.1), ("das", "small", 0.5), ("das", "medium", None), ("das", "large", None))
"""Designs and clusters, and the milliseconds that a decision should not exceed."""


def cpu(job: Callable[[], Any]) -> float:
    """Return the CPU seconds of a job."""
    start = time.process_time()
    job()
    return time.process_time() - start


def steps() -> Iterator[Row]:
    """Measure decisions in training, the updates of the networks included, and on a GPU if there is one."""
    for (name, target), variate in product(STEP_TARGETS.items(), VARIATES):
        plan = Plan.of(
            {
                "version": 1,
                "design": {"name": name},
                "jobs": {"cluster": "small"},
                "training": {
                    "iterations": LESSONS + 1,
                    "episodes": EPISODES,
                    "jobs": LESSON_JOBS,
                    "variate": variate,
                },
            }
        )
        ours = step(plan, "cpu", cpu)
        label = f"training step with updates, {name}, by {VARIATES[variate]}"
        yield Row(label, ours, target, unit="ms", note=f"({1000.0 / ours:,.0f} steps/s of CPU)")
        if torch.cuda.is_available():
            there = step(plan, "cuda", timed)  # on a GPU other time counts than the processor's
            device = torch.cuda.get_device_name()
            note = f"({1000.0 / there:,.0f} steps/s)"
            yield Row(f"{label}, {device}", there, None, "one core", ours, unit="ms", note=note)


def step(plan: Plan, device: str, clock: Callable[[Callable[[], Any]], float]) -> float:
    """Return the milliseconds of a step on a device, the median over iterations but the first."""
    trainer, each = Trainer(plan, torch.device(device)), []
    trainer.iterate()
    for _ in range(LESSONS):
        before = trainer.steps
        spent = clock(trainer.iterate)
        each.append(1000.0 * spent / (trainer.steps - before))
    return statistics.median(each)


def decisions() -> Iterator[Row]:
    """Measure decisions on recorded observations, alone, beside PyTorch and, of DAS by job, the paper."""
    for name, cluster, target in DECISIONS:
        sampled = generate("large", 0, jobs=PLAYED_JOBS, cluster=cluster)
        networks, setting = initial(DESIGNS[name], 0), sampled.setting
        player, episode = Player(networks, setting, np.random.default_rng(0)), sampled.episode(frozenset())
        seen = []
        for observation in episode:
            seen.append(observation)
            episode.apply(player.decide(observation).rows)
        spent = [cpu(lambda: [player.decide(one) for one in seen]) for _ in range(PLAYS)]  # noqa: B023
        total = 1000.0 * statistics.median(spent)
        with seeded(0):
            actor = Actor(DESIGNS[name]).eval()
        eyes, memory = Eyes(setting, estimates=False), Memory()
        rival = 1000.0 * cpu(lambda: [act(actor, [eyes.look(one)], [memory], None) for one in seen])  # noqa: B023
        label = f"{name}, {len(setting.capacity)} machines, 32 hidden units"
        each, other = total / len(seen), rival / len(seen)
        yield Row(f"decision, {label}", each, target, "PyTorch, process included", other, unit="ms")
        if name == "das":
            paper, who = CLUSTERS[cluster], "Appendix F, another machine, 64 hidden units"
            yield Row(f"decisions on a job, {label}", total / PLAYED_JOBS, None, who, paper, unit="ms")


class Data(NamedTuple):
    """The input of both processes: P jobs on M machines, and the last jobs before each of them."""

    now: Tensor
    past: Past


def data(pairs: int, machines: int) -> Data:
    """Return random points and residuals."""
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(pairs, 1 + HISTORY, machines, HIDDEN, generator=generator).relu()
    residual = torch.randn(pairs, HISTORY, machines, generator=generator)
    known = torch.ones(pairs, HISTORY, dtype=torch.bool)
    return Data(points[:, 0], Past(points[:, 1:], residual, known))


class Ours(nn.Module):
    """Our process."""

    def __init__(self) -> None:
        super().__init__()
        self.head = PlacementHead(Design(hidden=HIDDEN, history=HISTORY))
        self.walk = self.head.walk

    def forward(self, given: Data) -> tuple[Tensor, Tensor]:
        """Return the change of the mean by the past, and the covariance."""
        return self.head.regress(given.now, given.past)


class Nodes(gpytorch.kernels.Kernel):  # type: ignore[misc]
    """The kernel on nodes of GPyTorch's parts: of points and features of nodes side by side."""

    def __init__(self, near: Any) -> None:
        super().__init__()
        whole = gpytorch.kernels.LinearKernel()
        whole.variance = 1.0
        whole.raw_variance.requires_grad_(False)
        self.near, self.linear = near, whole

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Any:
        """Return the product of both kernels."""
        near = self.near(x1[..., :HIDDEN], x2[..., :HIDDEN], diag=diag, **params)
        walks = self.linear(x1[..., HIDDEN:], x2[..., HIDDEN:], diag=diag, **params)
        return near * walks


class Regression(gpytorch.models.ExactGP):  # type: ignore[misc]
    """GPyTorch's exact regression with mean zero."""

    def __init__(self, likelihood: Any, kernel: Any) -> None:
        super().__init__(None, None, likelihood)
        self.kernel = kernel

    def forward(self, x: Tensor) -> Any:
        """Return the prior."""
        return gpytorch.distributions.MultivariateNormal(x.new_zeros(x.shape[:-1]), self.kernel(x))


class Rival(nn.Module):
    """The same process by GPyTorch, with the same parameters at the same values."""

    def __init__(self, ours: PlacementHead) -> None:
        super().__init__()
        near = gpytorch.kernels.MaternKernel(nu=2.5)
        near.lengthscale = ours.log_lengthscale.exp().detach()
        scaled = gpytorch.kernels.ScaleKernel(Nodes(near))
        scaled.outputscale = ours.log_scale.exp().detach()
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        likelihood.noise = ours.log_noise.exp().detach()
        self.walk = nn.Parameter(ours.walk.detach().clone())
        self.near, self.model = near, Regression(likelihood, scaled).eval()

    def forward(self, given: Data) -> tuple[Tensor, Tensor]:
        """Return the change of the mean by the past, and the covariance."""
        points = torch.cat([given.now[:, None], given.past.points], 1)
        pairs, jobs, machines, _ = points.shape
        weight = torch.sigmoid(self.walk)
        adjacency = self.near(points).to_dense() / machines
        psi = walk_features(adjacency, weight) * torch.exp(-weight / 2.0)
        both = torch.cat([points, psi], -1).reshape(pairs, jobs * machines, -1)
        self.model.set_train_data(both[:, machines:], given.past.residual.flatten(1), strict=False)
        found = self.model(both[:, :machines])
        return found.mean, found.covariance_matrix


def pulled(process: nn.Module, given: Data, back: bool) -> list[Tensor]:
    """Return the posterior, and the derivative of its squares by the weight of walks, if it is asked for.

    In that of a plain sum so much cancels that single precision leaves four digits.
    """
    if not back:
        with torch.no_grad():
            return list(process(given))
    process.zero_grad()
    mean, covariance = process(given)
    (mean.square().sum() + covariance.square().sum()).backward()
    return [mean, covariance, process.get_parameter("walk").grad]


def processes() -> Iterator[Row]:
    """Measure the posterior of the process beside GPyTorch, after checking that both say the same."""
    torch.manual_seed(0)
    ours = Ours()
    theirs = Rival(ours.head)
    with gpytorch.settings.detach_test_caches(False), gpytorch.settings.debug(False):
        for machines in MACHINES:
            for pairs in BATCHES:
                for back in (False, True):
                    yield _beside(ours, theirs, data(pairs, machines), back)


def _beside(ours: nn.Module, theirs: nn.Module, given: Data, back: bool) -> Row:
    for one, other in zip(pulled(ours, given, back), pulled(theirs, given, back), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    spent: dict[nn.Module, list[float]] = {ours: [], theirs: []}
    for _ in range(REPEATS):
        for process, times in spent.items():
            times.append(1000.0 * cpu(lambda: pulled(process, given, back)))  # noqa: B023
    pairs, machines, _ = given.now.shape
    what = "posterior and derivatives" if back else "posterior"
    label = f"{what}, {HISTORY} x {machines} points, batch of {pairs}"
    mine, other_s = (statistics.median(times) for times in spent.values())
    return Row(label, mine, None, "GPyTorch", other_s, unit="ms")


def measure() -> Iterator[Row]:
    """Yield every measurement."""
    with one_thread():
        yield from steps()
        yield from decisions()
        yield from processes()
