"""What trained models see of an episode and do in it, and the policy that asks such a model.

A :class:`View` turns what a policy may see into arrays of fixed shapes, and any action into a feasible
decision. Environments (:mod:`.environment`) put it in front of an episode, :class:`Predicted` in front of a
model: both see and do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..models.base import ClairvoyantError, InputError, Instance, numbers
from .base import Traits

Seen = dict[str, np.ndarray]
Source = Instance | Callable[[int], Instance]
"""An instance that every episode plays, or a function that makes one from a seed."""


class View(Protocol):
    """How arrays are made of what is seen, and decisions of actions: of one problem, and stateful.

    Attributes
    ----------
    problem
        The problem.
    sees
        What it has to be shown of an event before it decides, as :class:`.base.Traits` say.
    """

    problem: str
    sees: frozenset[str]

    def fit(self, setting: Any) -> None:
        """Take the shapes that instances with such a setting have; they stay until it is fitted anew."""
        ...

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array that is seen, by name; all numbers in it are from 0 to 1."""
        ...

    def action_shape(self) -> tuple[int, ...]:
        """Return the shape of an action, all numbers of which are finite and mean most from -1 to 1."""
        ...

    def start(self, setting: Any) -> None:
        """Forget everything and prepare for an instance; an InputError if it does not fit the shapes."""
        ...

    def look(self, observation: Any) -> Seen:
        """Return what is seen, as new arrays of single precision."""
        ...

    def decide(self, action: np.ndarray) -> Any:
        """Return the feasible decision that an action stands for, at the last observation."""
        ...

    def learn(self, feedback: Any) -> None:
        """Take notice of what a decision led to."""
        ...


def draw(source: Any, seed: int, kind: type[Any]) -> Any:
    """Return the instance of a seed; an InputError for a source that makes none of this kind."""
    if isinstance(source, kind):
        return source
    if not callable(source):
        if isinstance(source, Instance):
            raise InputError(f"source: an instance of {source.problem!r}, expected {kind.problem!r}")
        raise InputError(f"source: {source!r} is neither an instance nor a function of a seed")
    made = source(seed)
    if not isinstance(made, kind):
        raise InputError(f"source: it made {made!r} of seed {seed}, which is no {kind.__name__}")
    return made


def scores(given: Any, where: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an action as an array; an InputError for another shape, or numbers that are not finite."""
    if (
        isinstance(given, np.ndarray)
        and given.dtype.kind == "f"
        and given.shape == shape
        and np.isfinite(given).all()
    ):
        return given
    return numbers(given, where, shape, low=-np.inf)


def missing(error: ModuleNotFoundError) -> ClairvoyantError:
    """Return the error that names the extra of the package."""
    return ClairvoyantError(
        f'the environments need the package {error.name}: pip install "clairvoyant[environments]"'
    )


class Predicted:
    """A policy that asks a trained model: what it answers to what a view sees becomes the decision.

    Parameters
    ----------
    model
        A function of what is seen that returns an action, or an object with ``predict(seen,
        deterministic=True)`` that returns a pair of the action and something else, such as the models of
        Stable-Baselines3.
    view
        The view that it was trained with, made with the same arguments.
    name
        What tables call it.
    """

    def __init__(self, model: Any, view: View, name: str = "predicted") -> None:
        self._predict = model if not hasattr(model, "predict") else self._ask
        self._model, self._view, self.name = model, view, name
        self.traits = Traits(problem=view.problem, sees=view.sees)

    def _ask(self, seen: Seen) -> Any:
        return self._model.predict(seen, deterministic=True)[0]

    def start(self, setting: Any, rng: np.random.Generator) -> None:
        """Forget everything."""
        self._view.fit(setting)
        self._view.start(setting)

    def decide(self, observation: Any) -> Any:
        """Return the decision that the answer stands for; an InputError if it is no action."""
        answer = self._predict(self._view.look(observation))
        return self._view.decide(scores(answer, "action", self._view.action_shape()))

    def learn(self, feedback: Any) -> None:
        """Pass on what the decision led to."""
        self._view.learn(feedback)
