"""Training by evolution strategies: weights are judged by what whole episodes cost in the end.

As in Salimans et al. (arXiv 1703.03864): around the centre, weights are drawn in pairs, by a random step
and its opposite, and all play the same jobs. A step counts by how many ranks its opposite is better on
these jobs, so that an instance where a few long jobs decide counts for no more than others; the mean is the
direction in which Adam moves the centre. Nothing is drawn in an episode.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....models import stopwatch
from ....models.base import InputError
from ....models.draw import real, whole
from ....models.placement.instance import PlacementInstance
from ....models.placement.simulator import blank_state
from ....models.placement.state import USED, WAITED
from . import checkpoint
from .features import NO_ESTIMATES
from .plan import VALIDATION, Plan, Progress
from .rollout import Reference, above, reference
from .weights import Networks, shapes

FIRST, SECOND, TINY = 0.9, 0.99, 1e-12
"""The decay of the running means of Adam, and what keeps its quotient finite."""


def cost_of(networks: Networks, one: PlacementInstance) -> tuple[float, int]:
    """Return what a linear design comes to on an instance, in seconds, and how many decisions it took."""
    from .linear_kernels import run_by_scores

    estimates = one.jobs.estimate if networks.design.sees_estimates else NO_ESTIMATES
    slow, state = one.setting.slowdown, blank_state(one.table)
    rules = slow.communication, slow.contention, one.setting.window
    decisions = run_by_scores(networks.scores, rules, one.table, state, estimates)
    return one.weighted(state.clock[WAITED], state.clock[USED]), decisions


class Evolution:
    """A training by evolution that can be stopped after any iteration, and go on from its file."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.shapes = shapes(plan.design)
        self.rng = np.random.default_rng(np.random.SeedSequence(plan.seed).spawn(2)[1])
        self.centre, self.first, self.second = np.zeros((3, sum(map(math.prod, self.shapes.values()))))
        self.iteration = self.steps = 0
        self.best: float | None = None
        self.validations: list[float] = []
        self._judged: list[tuple[PlacementInstance, Reference]] | None = None

    def networks(self, weights: np.ndarray) -> Networks:
        """Return the networks of a vector of all weights."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])[:-1]
        parts = zip(self.shapes.items(), np.split(weights, ends), strict=True)
        arrays = {name: part.reshape(shape).astype(np.float32) for (name, shape), part in parts}
        return Networks(self.plan.design, arrays)

    def iterate(self) -> Progress:
        """Play the pairs of an iteration, and move the centre."""
        training, began = self.plan.training, stopwatch.now()
        direction, ratios, decisions = np.zeros(self.centre.size), [], 0
        for one in self.plan.lesson(self.iteration, self.rng):
            steps = self.rng.standard_normal((training.pairs, self.centre.size))
            moved = self.centre + training.spread * np.concatenate([steps, -steps])
            costs, counts = zip(*(cost_of(self.networks(weights), one) for weights in moved), strict=True)
            ranks = np.argsort(np.argsort(costs, kind="stable"), kind="stable")
            won = ranks[: training.pairs] - ranks[training.pairs :]
            direction += (won[:, None] * steps).sum(0)  # in the same order on every machine
            known = reference(one)
            ratios += [above(cost, known) for cost in costs]
            decisions += sum(counts)
        self._move(direction / (training.episodes * training.pairs))
        self.steps += decisions
        speed = decisions / (stopwatch.now() - began)
        total, objective = training.iterations, float(np.mean(ratios))
        return Progress(self.iteration, total, self.steps, speed, objective, None, self.best)

    def _move(self, direction: np.ndarray) -> None:
        """Take a step of Adam against a direction, which is that of more cost."""
        training = self.plan.training
        left = 1.0 - self.iteration / training.iterations if training.anneal else 1.0
        self.iteration += 1
        self.first += (1.0 - FIRST) * (direction - self.first)
        self.second += (1.0 - SECOND) * (direction**2 - self.second)
        mean = self.first / (1.0 - FIRST**self.iteration)
        size = np.sqrt(self.second / (1.0 - SECOND**self.iteration))
        self.centre -= training.learning_rate * left * mean / (size + TINY)

    def validate(self) -> float:
        """Return by how many per cent the centre costs more than FIFO-Consolidate."""
        if self._judged is None:
            judged = self.plan.judged(VALIDATION, self.plan.validation)
            self._judged = [(one, reference(one)) for one in judged]
        networks = self.networks(self.centre)
        return float(np.mean([above(cost_of(networks, one)[0], known) for one, known in self._judged]))

    def state(self) -> dict[str, Any]:
        """Return everything that decides how the training goes on."""
        return {
            "plan": self.plan.to_dict(),
            "design": self.plan.design.to_dict(),
            "iteration": self.iteration,
            "steps": self.steps,
            "best": self.best,
            "validations": self.validations,
            "actor": dict(self.networks(self.centre).arrays),
            "optimiser": {"centre": self.centre, "first": self.first, "second": self.second},
            "judges": self.plan.judges,
            "rng": json.dumps(self.rng.bit_generator.state),
        }

    def restore(self, path: Path) -> None:
        """Go on from a file of :meth:`state`; an InputError if none can go on from there."""
        found = checkpoint.read(path)
        self.plan.refuse_others(found, path)
        where = f"checkpoint: {path}: "
        self.iteration = whole(f"{where}iteration", found.get("iteration"), 0, self.plan.training.iterations)
        self.steps = whole(f"{where}steps", found.get("steps"), 0)
        best = found.get("best")
        self.best = None if best is None else real(f"{where}best", best, -math.inf)
        self.validations = checkpoint.numbers(found, "validations", path)
        try:
            self._restore(found["optimiser"])
            self.rng.bit_generator.state = json.loads(found["rng"])
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise InputError(f"{where}no training can go on from there: {error}") from error

    def _restore(self, kept: Mapping[str, np.ndarray]) -> None:
        for name in ("centre", "first", "second"):
            if kept[name].shape != self.centre.shape or not np.isfinite(kept[name]).all():
                raise ValueError(f"optimiser: {name} does not fit")
            setattr(self, name, kept[name].astype(np.float64))
