"""Training by a plan: whole episodes, updates, validation, and files from which it goes on after a kill."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch.linalg import LinAlgError  # type: ignore[attr-defined]

from ....models import stopwatch
from ....models.base import InputError, make_folder, read_text, remove_parts, write_whole
from ....models.draw import real, whole
from ....models.placement.instance import PlacementInstance
from ....models.placement.schedule import Schedule
from . import checkpoint
from .acting import taken_by
from .drawing import one_thread
from .evolution import Evolution
from .features import WIDTHS
from .learner import DivergedError, Learner, refuse_endless
from .networks import GroupedEncoder, seeded
from .plan import EVOLUTION, TEST, VALIDATION, Plan, Progress
from .rollout import Played, Reference, above, lessons, play, reference
from .weights import Networks

LAST, BEST, RESULT, LOG = "last.npz", "best.npz", "result.json", "progress.jsonl"
"""Files of a training: where it goes on, the best networks by validation, the test, and how it went."""

Solve = Callable[[PlacementInstance, float], Schedule | None]
"""Returns a schedule that is proved to within a gap of the optimum, or None."""


class Trainer:
    """A training that can be stopped after any iteration and go on from its file.

    By default it is on a GPU if there is one. ``solve`` is for plans with optima, which imitate them.
    """

    def __init__(self, plan: Plan, device: torch.device | None = None, solve: Solve | None = None) -> None:
        if plan.optima is not None and solve is None:
            raise InputError("optima: nothing is at hand that solves instances")
        self.plan, self._solve = plan, solve
        where = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = device if device is not None else torch.device(where)
        _, draws, noise = np.random.SeedSequence(plan.seed).spawn(3)
        with seeded(plan.seed):
            self.learner = Learner(plan.design, plan.training, self.device)
        self.rng = np.random.default_rng(draws)
        self.noise = torch.Generator().manual_seed(int(noise.generate_state(1)[0]))
        self.iteration = self.steps = 0
        self.best: float | None = None
        self.validations: list[float] = []
        self._judged: list[tuple[PlacementInstance, Reference]] | None = None
        self._optima: list[Played] = []

    def iterate(self) -> Progress:
        """Play the episodes of an iteration and learn from them.

        If a loss or weights are no longer finite, that is a DivergedError, and the trainer is of no use then.
        """
        with self._explained(self.iteration + 1):
            return self._iterate()

    @contextmanager
    def _explained(self, current: int) -> Iterator[None]:
        """Raise an error with the iteration in which numbers were no longer finite."""
        try:
            yield
        except (DivergedError, LinAlgError, np.linalg.LinAlgError) as error:
            what = str(error)
            if not isinstance(error, DivergedError):
                what = f"a covariance has no factors any more ({what.partition('.')[0]})"
            saved = (
                f"what was saved after iteration {current - 1} is untouched"
                if current > 1
                else "nothing was saved"
            )
            raise DivergedError(
                f"training: iteration {current} of {self.plan.training.iterations}: {what}; {saved}"
            ) from error

    def _iterate(self) -> Progress:
        plan, began = self.plan, stopwatch.now()
        imitates = self.iteration < plan.training.imitation
        if imitates and plan.optima is not None:
            episodes = self._followed()
        else:
            instances, variate = plan.lesson(self.iteration, self.rng), plan.training.variate
            episodes = lessons(self.learner.actor, instances, self.rng, self.noise, variate)
        if self.iteration == 0:
            self._group(episodes)
        for group in self.learner.optimiser.param_groups:
            left = 1.0 - self.iteration / plan.training.iterations if plan.training.anneal else 1.0
            group["lr"] = plan.training.learning_rate * left
        if imitates:
            self.learner.imitate(episodes, self.rng, optima=plan.optima is not None)
        else:
            self.learner.improve(episodes, self.rng)
        self._refuse_nan()
        self.iteration += 1
        count = sum(map(len, episodes))
        self.steps += count
        objective = float(np.mean([one.above for one in episodes]))
        speed = count / (stopwatch.now() - began)
        total = plan.training.iterations
        return Progress(self.iteration, total, self.steps, speed, objective, None, self.best)

    def _followed(self) -> list[Played]:
        """Return the small instances of the plan, played as their optima; they are solved once."""
        if not self._optima and self.plan.optima is not None:
            networks, solve = self.learner.actor.networks(), cast(Solve, self._solve)
            known = ((one, solve(one, self.plan.optima.gap)) for one in self.plan.small())
            self._optima = [
                play(networks, one, reference(one), None, taught=found)
                for one, found in known
                if found is not None
            ]
            if not self._optima:
                raise InputError("optima: no instance could be proved; fewer jobs or machines can be")
        return self._optima

    def _group(self, episodes: Sequence[Played]) -> None:
        """Form the groups of jobs, where the design has them, of what was seen in the first episodes."""
        encoder = self.learner.actor.encoder
        if not isinstance(encoder, GroupedEncoder):
            return
        width = WIDTHS[self.plan.design.features][0]
        kmeans2 = stopwatch.library("scipy.cluster.vq").kmeans2
        seen = np.concatenate([one.jobs[:, :width] for one in episodes])
        centres, _ = kmeans2(seen.astype(np.float64), len(encoder.centres), minit="++", seed=self.rng)
        encoder.centres.copy_(torch.from_numpy(centres.astype(np.float32)))

    def _refuse_nan(self) -> None:
        for whose, networks in (("actor", self.learner.actor), ("critic", self.learner.critic)):
            for name, weights in networks.state_dict().items():
                if not torch.isfinite(weights).all():
                    raise DivergedError(f"{whose}.{name} is no longer finite")

    def validate(self) -> float:
        """Return by how many per cent the means of the actions cost more than FIFO-Consolidate.

        If that is no longer finite, or nothing can be decided any more, it is a DivergedError.
        """
        with self._explained(self.iteration):
            return self._validate()

    def _validate(self) -> float:
        if self._judged is None:
            judged = self.plan.judged(VALIDATION, self.plan.validation)
            self._judged = [(one, reference(one)) for one in judged]
        networks, rng = self.learner.actor.networks(), np.random.default_rng(0)
        if not self.plan.design.in_steps:
            costs = [play(networks, *each, None).above for each in self._judged]
        else:
            costs = [above(one.cost(taken_by(networks, one, rng)), known) for one, known in self._judged]
        found = float(np.mean(costs))
        refuse_endless({"the validation": found})
        return found

    def state(self) -> dict[str, Any]:
        """Return everything that decides how the training goes on."""
        return {
            "plan": self.plan.to_dict(),
            "design": self.plan.design.to_dict(),
            "iteration": self.iteration,
            "steps": self.steps,
            "best": self.best,
            "actor": arrays_of(self.learner.actor),
            "critic": arrays_of(self.learner.critic),
            "validations": self.validations,
            "optimiser": {
                f"{number}.{name}": x.numpy(force=True)
                for number, one in self.learner.optimiser.state_dict()["state"].items()
                for name, x in one.items()
            },
            "judges": self.plan.judges,
            "rng": json.dumps(self.rng.bit_generator.state),
            "noise": self.noise.get_state().numpy(),
        }

    def restore(self, path: Path) -> None:
        """Go on from a file of :meth:`state`; an InputError if it is none, or of another plan."""
        found = checkpoint.read(path)
        self.plan.refuse_other(found, path)
        for name in self.state():
            if name not in found:
                raise InputError(f"checkpoint: {path}: {name} is missing: no training can go on from there")
        self.plan.refuse_others(found, path)
        for module, name in ((self.learner.actor, "actor"), (self.learner.critic, "critic")):
            shapes = {key: tuple(x.shape) for key, x in module.state_dict().items()}
            kept = checkpoint.fitting(found[name], shapes, path)
            module.load_state_dict({key: torch.tensor(x) for key, x in kept.items()})
        self.iteration = whole(
            f"checkpoint: {path}: iteration", found["iteration"], 0, self.plan.training.iterations
        )
        self.steps = whole(f"checkpoint: {path}: steps", found["steps"], 0)
        self.best = (
            None if found["best"] is None else real(f"checkpoint: {path}: best", found["best"], -math.inf)
        )
        self.validations = checkpoint.numbers(found, "validations", path)
        try:
            self._restore_optimiser(found["optimiser"])
            self.rng.bit_generator.state = json.loads(found["rng"])
            self.noise.set_state(torch.tensor(found["noise"]))
        except (ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
            raise InputError(f"checkpoint: {path}: no training can go on from there: {error}") from error

    def _restore_optimiser(self, kept: Mapping[str, np.ndarray]) -> None:
        """Put the running means of the optimiser back; a ValueError if they are not those of the weights."""
        optimiser, state = self.learner.optimiser, defaultdict[int, dict[str, torch.Tensor]](dict)
        parameters = [one for group in optimiser.param_groups for one in group["params"]]
        for name, x in kept.items():
            number, _, what = name.partition(".")
            state[int(number)][what] = torch.tensor(x)
            if x.shape not in ((), tuple(parameters[int(number)].shape)) or not np.isfinite(x).all():
                raise ValueError(f"optimiser: {name} does not fit")
        if not state or any(one.keys() != {"step", "exp_avg", "exp_avg_sq"} for one in state.values()):
            raise ValueError("optimiser: something is missing")
        optimiser.load_state_dict(optimiser.state_dict() | {"state": dict(state)})


def arrays_of(module: torch.nn.Module) -> dict[str, np.ndarray]:
    """Return the weights of a module by name."""
    return {name: x.numpy(force=True) for name, x in module.state_dict().items()}


def standing(plan: Plan, folder: Path) -> tuple[int, bool]:
    """Return after how many iterations a training in a folder goes on, 0 if there is none, and if it ended.

    A training by another plan in the folder, or a file that cannot be read, is an InputError.
    """
    done, over = 0, False
    for name in (BEST, LAST):
        if (folder / name).exists():
            found = checkpoint.read(folder / name)
            plan.refuse_other(found, folder / name)
            if name == LAST:
                where = f"checkpoint: {folder / name}: iteration"
                done = whole(where, found.get("iteration"), 0, plan.training.iterations)
                kept = "validations" in found  # or no training goes on from there
                judged = checkpoint.numbers(found, "validations", folder / name) if kept else []
                over = ended(plan, done, judged)
    return done, over


def ended(plan: Plan, iteration: int, validations: Sequence[float]) -> bool:
    """Return whether a training is over: all iterations are done, or it gets no better by its patience."""
    patience = plan.validation.patience
    if iteration == plan.training.iterations or patience is None or len(validations) < 2 * patience:
        return iteration == plan.training.iterations
    before, last = np.reshape(validations[-2 * patience :], (2, patience)).mean(axis=1)
    return bool(last >= before)


def train(
    plan: Plan,
    folder: Path,
    report: Callable[[Progress], None] | None = None,
    solve: Solve | None = None,
) -> dict[str, Any]:
    """Train by a plan, or go on where a training by the same plan in the same folder has stopped.

    Going on, on the same machine, gives the same as never having stopped. A training that is finished is not
    repeated. What is returned is written to ``result.json``; see :func:`clairvoyant.train`.
    """
    make_folder(folder)
    remove_parts(folder)
    done, over = standing(plan, folder)
    with one_thread():
        _ = plan.judges  # what cannot be made is refused before any work
        evolves = plan.training.method == EVOLUTION
        trainer = Evolution(plan) if evolves else Trainer(plan, solve=solve)
        if done:
            trainer.restore(folder / LAST)
            if trainer.best is not None and not (folder / BEST).exists():
                raise InputError(f"{folder / BEST}: missing, but validation has chosen networks")
        if over and (folder / RESULT).exists():
            return _result(plan, folder / RESULT)
        _shorten(folder / LOG, done)
        while not ended(plan, trainer.iteration, trainer.validations):
            progress = trainer.iterate()
            last = trainer.iteration == plan.training.iterations
            if last or trainer.iteration % plan.validation.every == 0:
                progress = _validated(trainer, progress, folder)
            # The log first: what it says of an iteration that is not saved then is taken back later.
            _note(folder / LOG, progress)
            checkpoint.write(folder / LAST, trainer.state())
            if report is not None:
                report(progress)
        result = evaluate(plan, checkpoint.restored(folder / BEST))
    write_whole(folder / RESULT, (json.dumps(result, indent=1) + "\n").encode())
    return result


def _result(plan: Plan, path: Path) -> dict[str, Any]:
    """Return the result of a training that is finished."""
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}; without it the test is played again") from error
    if not isinstance(found, dict) or found.get("plan") != plan.to_dict() or not found.get("test"):
        raise InputError(f"{path}: is no result of this plan; without it the test is played again")
    return found


def _shorten(path: Path, iteration: int) -> None:
    """Cut the log after an iteration: the networks of later ones were not saved."""
    if not path.exists():
        return
    kept = []
    try:
        for line in read_text(path).splitlines(keepends=True):
            if not line.endswith("\n") or json.loads(line)["iteration"] > iteration:
                break
            kept.append(line)
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise InputError(
            f"{path}: is no log of a training: {error}; without it a new one is begun"
        ) from error
    write_whole(path, "".join(kept).encode())


def _note(path: Path, progress: Progress) -> None:
    try:
        with path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(progress._asdict()) + "\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _validated(trainer: Trainer | Evolution, progress: Progress, folder: Path) -> Progress:
    """Validate, and keep the networks if they are the best so far."""
    found = trainer.validate()
    trainer.validations.append(found)
    if trainer.best is None or found < trainer.best:
        trainer.best = found
        state = trainer.state()
        kept = ("plan", "design", "iteration", "steps", "best", "actor")
        checkpoint.write(folder / BEST, {name: state[name] for name in kept})
    return progress._replace(validation=found, best=trainer.best)


def evaluate(plan: Plan, networks: Networks) -> dict[str, Any]:
    """Play the test instances of a plan; see :func:`train`."""
    rows, rng = [], np.random.default_rng(0)
    for one in plan.judged(TEST, plan.test):
        known, taken = reference(one), taken_by(networks, one, rng)
        facts = {"digest": one.digest(), "machines": len(one.setting.capacity)}
        rows.append(facts | measured(one, taken) | {"reference": measured(one, known.schedule)})
    return {"plan": plan.to_dict(), "test": rows}


def measured(one: PlacementInstance, taken: Schedule) -> dict[str, float]:
    """Return mean completion time (minutes), mean fee (dollars) and cost (seconds) of a schedule."""
    return {
        "jct": float(one.completion_times(taken).mean()) / 60.0,
        "fee": float(one.fees(taken).mean()),
        "cost": one.cost(taken),
    }
