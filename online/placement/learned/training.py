"""Training by a plan: whole episodes, updates, validation, and files from which it goes on after a kill."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.cluster.vq import kmeans2

from ....models.base import ClairvoyantError, InputError
from ....models.placement.instance import PlacementInstance, taken_schedule
from . import checkpoint
from .acting import one_thread
from .features import WIDTHS
from .learner import Learner
from .networks import Actor, GroupedEncoder, seeded
from .plan import TEST, VALIDATION, Plan
from .rollout import Reference, Track, by_network, reference, roll

LAST, BEST, RESULT, LOG = "last.pt", "best.pt", "result.json", "progress.jsonl"
"""Files of a training: where it goes on, the best networks by validation, the test, and how it went."""


class Progress(NamedTuple):
    """What is told after an iteration.

    Attributes
    ----------
    iteration, iterations
        How many are done, and of how many.
    steps
        Decisions so far.
    speed
        Decisions of this iteration per second, updates included.
    objective
        By how many per cent the cost of the episodes was above that of FIFO-Consolidate.
    validation, best
        The same of the means of the actions on the validation instances, and the least of these so far;
        None as long as there is none.
    """

    iteration: int
    iterations: int
    steps: int
    speed: float
    objective: float
    validation: float | None
    best: float | None


class Trainer:
    """A training that can be stopped after any iteration and go on from its file.

    Parameters
    ----------
    plan
        What to do.
    device
        Where; by default a GPU if there is one.
    """

    def __init__(self, plan: Plan, device: torch.device | None = None) -> None:
        self.plan = plan
        where = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = device if device is not None else torch.device(where)
        _, draws, noise = np.random.SeedSequence(plan.seed).spawn(3)
        with seeded(plan.seed):
            self.learner = Learner(plan.design, plan.training, self.device)
        self.rng = np.random.default_rng(draws)
        self.noise = torch.Generator().manual_seed(int(noise.generate_state(1)[0]))
        self.iteration = self.steps = 0
        self.best: float | None = None
        self._judged: list[tuple[PlacementInstance, Reference]] | None = None

    def iterate(self) -> Progress:
        """Play the episodes of an iteration and learn from them."""
        plan, began = self.plan, time.perf_counter()
        lessons = plan.lesson(self.iteration, self.rng)
        tracks = [Track(one, reference(one), plan.design, self.rng, plan.training.variate) for one in lessons]
        roll(tracks, by_network(self.learner.actor, self.noise))
        if self.iteration == 0:
            self._group(tracks)
        for group in self.learner.optimiser.param_groups:
            group["lr"] = plan.training.learning_rate * (1.0 - self.iteration / plan.training.iterations)
        if self.iteration < plan.training.imitation:
            self.learner.imitate(tracks, self.rng)
        else:
            self.learner.improve(tracks, self.rng)
        self._refuse_nan()
        self.iteration += 1
        count = sum(len(track.steps) for track in tracks)
        self.steps += count
        objective = float(np.mean([excess(track) for track in tracks]))
        speed = count / (time.perf_counter() - began)
        total = plan.training.iterations
        return Progress(self.iteration, total, self.steps, speed, objective, None, self.best)

    def _group(self, tracks: Sequence[Track]) -> None:
        """Form the groups of jobs, where the design has them, of what was seen in the first episodes."""
        encoder = self.learner.actor.encoder
        if not isinstance(encoder, GroupedEncoder):
            return
        width = WIDTHS[self.plan.design.features][0]
        seen = np.concatenate([step.scene.jobs[:, :width] for track in tracks for step in track.steps])
        centres, _ = kmeans2(seen.astype(np.float64), len(encoder.centres), minit="++", seed=self.rng)
        encoder.centres.copy_(torch.from_numpy(centres.astype(np.float32)))

    def _refuse_nan(self) -> None:
        for name, weights in self.learner.actor.state_dict().items():
            if not torch.isfinite(weights).all():
                raise ClairvoyantError(
                    f"training: iteration {self.iteration + 1} of {self.plan.training.iterations}: {name} is no "
                    f"longer finite; what was saved before is untouched"
                )

    def validate(self) -> float:
        """Return the mean excess of the cost over FIFO-Consolidate in per cent, by the means of the actions."""
        if self._judged is None:
            judged = self.plan.judged(VALIDATION, self.plan.validation)
            self._judged = [(one, reference(one)) for one in judged]
        return float(np.mean([excess(track) for track in trial(self.learner.actor, self._judged)]))

    def state(self) -> dict[str, Any]:
        """Return everything that decides how the training goes on."""
        return {
            "plan": self.plan.to_dict(),
            "design": self.plan.design.to_dict(),
            "iteration": self.iteration,
            "steps": self.steps,
            "best": self.best,
            "actor": self.learner.actor.state_dict(),
            "critic": self.learner.critic.state_dict(),
            "optimiser": self.learner.optimiser.state_dict(),
            "rng": json.dumps(self.rng.bit_generator.state),
            "noise": self.noise.get_state(),
        }

    def restore(self, path: Path) -> None:
        """Go on from a file of :meth:`state`.

        Raises
        ------
        InputError
            If the file is none, or of another plan.
        """
        found = checkpoint.read(path)
        if found.get("plan") != self.plan.to_dict():
            raise InputError(f"checkpoint: {path} is of another plan; name another folder, or remove it")
        checkpoint.fit(self.learner.actor, found["actor"], path)
        checkpoint.fit(self.learner.critic, found["critic"], path)
        self.learner.optimiser.load_state_dict(found["optimiser"])
        self.rng.bit_generator.state = json.loads(found["rng"])
        self.noise.set_state(found["noise"])
        self.iteration, self.steps, self.best = found["iteration"], found["steps"], found["best"]


def excess(track: Track) -> float:
    """Return by how many per cent a simulation has cost more than FIFO-Consolidate."""
    return 100.0 * (track.cost / track.reference.total - 1.0)


def trial(actor: Actor, judged: Sequence[tuple[PlacementInstance, Reference]]) -> list[Track]:
    """Play instances by the means of the actions, those with equally many machines side by side."""
    rng = np.random.default_rng(0)
    tracks = [Track(one, known, actor.design, rng, "none") for one, known in judged]
    for count in sorted({len(track.instance.setting.capacity) for track in tracks}):
        roll([t for t in tracks if len(t.instance.setting.capacity) == count], by_network(actor, None))
    return tracks


def train(plan: Plan, folder: Path, tell: Callable[[Progress], None] | None = None) -> dict[str, Any]:
    """Train by a plan, or go on where a training by the same plan in the same folder has stopped.

    Returns what is written to ``result.json``: for each test instance the mean completion time (minutes), the
    mean fee (dollars) and the cost (seconds) of the best networks and of FIFO-Consolidate.

    Raises
    ------
    InputError
        If the folder holds a training by another plan.
    ClairvoyantError
        If numbers are no longer finite; what was saved before remains.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with one_thread():
        trainer = Trainer(plan)
        if (folder / LAST).exists():
            trainer.restore(folder / LAST)
        while trainer.iteration < plan.training.iterations:
            told = trainer.iterate()
            last = trainer.iteration == plan.training.iterations
            if last or trainer.iteration % plan.validation.every == 0:
                told = _validated(trainer, told, folder)
            checkpoint.write(folder / LAST, trainer.state())
            with (folder / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps(told._asdict()) + "\n")
            if tell is not None:
                tell(told)
        result = evaluate(plan, checkpoint.restored(folder / BEST))
    beside = folder / (RESULT + ".part")
    beside.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    os.replace(beside, folder / RESULT)
    return result


def _validated(trainer: Trainer, told: Progress, folder: Path) -> Progress:
    """Validate, and keep the networks if they are the best so far."""
    found = trainer.validate()
    if not math.isfinite(found):
        raise ClairvoyantError(f"training: iteration {trainer.iteration}: the validation gives {found}")
    if trainer.best is None or found < trainer.best:
        trainer.best = found
        kept = {
            name: trainer.state()[name] for name in ("plan", "design", "iteration", "steps", "best", "actor")
        }
        checkpoint.write(folder / BEST, kept)
    return told._replace(validation=found, best=trainer.best)


def evaluate(plan: Plan, actor: Actor) -> dict[str, Any]:
    """Play the test instances of a plan; see :func:`train`."""
    judged = [(one, reference(one)) for one in plan.judged(TEST, plan.test)]
    rows = []
    for track in trial(actor, judged):
        one = track.instance
        taken = taken_schedule(track.episode.simulator)
        rows.append(
            {
                "digest": one.digest(),
                "machines": len(one.setting.capacity),
                "jct": float(one.completion_times(taken).mean()) / 60.0,
                "fee": float(one.fees(taken).mean()),
                "cost": one.cost(taken),
                "reference": _reference_row(one),
            }
        )
    return {"plan": plan.to_dict(), "test": rows}


def _reference_row(one: PlacementInstance) -> dict[str, float]:
    """Return the measures of FIFO-Consolidate."""
    from ....models.placement.kernels import CONSOLIDATE, run_by_keys

    simulator, setting = one.simulator(), one.setting
    keys = np.arange(len(one.jobs))
    run_by_keys(
        simulator.table,
        simulator.state,
        setting.slowdown.contention,
        setting.window,
        keys,
        CONSOLIDATE,
        False,
    )
    taken = taken_schedule(simulator)
    fee = float(one.fees(taken).mean())
    return {"jct": float(one.completion_times(taken).mean()) / 60.0, "fee": fee, "cost": one.cost(taken)}
