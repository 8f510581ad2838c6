"""The environment of Gymnasium over the episodes that policies play, for every problem that has a view.

It needs the extra "environments" of the package. Placement has environments of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..models.base import Episode, InputError, Instance
from ..models.copying import copied
from .views import Seen, Source, View, draw, missing, scores

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError as error:
    raise missing(error) from error


class Environment(gymnasium.Env[Any, np.ndarray]):
    """One agent that plays instances as ``clairvoyant.play`` does, event by event.

    Its rewards are those of play, with the other sign where the problem minimises: their sum is the total.
    ``reset(seed=s)`` plays the instance of seed s; without a seed, one of a seed that is drawn.

    Parameters
    ----------
    source
        An instance that every episode plays, or a function that makes one from a seed. Their sizes have to be
        those of the instance of seed 0.
    view
        What is seen, and what actions mean.

    Raises
    ------
    InputError
        For a source that is neither, an instance of another problem or size, or one without events.
    """

    def __init__(self, source: Source, view: View) -> None:
        self._source, self._view = source, view
        self.instance = self._draw(0)
        view.fit(self.instance.setting)
        self.observation_space = spaces.Dict(
            {name: spaces.Box(0.0, 1.0, shape, np.float32) for name, shape in view.shapes().items()}
        )
        self.action_space = spaces.Box(-1.0, 1.0, view.action_shape(), np.float32)
        self._episode: Episode | None = None

    def _draw(self, seed: int) -> Instance:
        """Return the instance of a seed, checked."""
        made: Instance = draw(self._source, seed, Instance)
        if made.problem != self._view.problem:
            raise InputError(f"source: an instance of {made.problem!r}, expected {self._view.problem!r}")
        return made

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode; see the class. There are no options."""
        super().reset(seed=seed)
        sampled = int(self.np_random.integers(2**32)) if seed is None else seed
        self.instance = self._draw(sampled)
        played = copied(self.instance)
        self._view.start(played.setting)
        self._episode = played.episode(self._view.sees)
        self._events: Iterator[Any] = iter(self._episode)
        first = next(self._events, None)
        if first is None:
            raise InputError("instance: nothing happens in it, so that there is nothing to decide")
        self._seen = self._view.look(first)
        return self._seen, {}

    def step(self, action: Any) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Carry out an action; one of another shape or that is not finite is an InputError.

        So is a step when the episode is over. After the last event the last observation stands.
        """
        if self._episode is None:
            raise InputError("the episode is over, or there is none yet: the environment must be reset")
        decision = self._view.decide(scores(action, "action", self._view.action_shape()))
        outcome = self._episode.apply(decision)
        self._view.learn(outcome.feedback)
        event = next(self._events, None)
        if event is None:
            self._episode = None
        else:
            self._seen = self._view.look(event)
        reward = -outcome.reward if self.instance.minimised else outcome.reward
        seen = {name: array.copy() for name, array in self._seen.items()}
        return seen, float(reward), event is None, False, {}
