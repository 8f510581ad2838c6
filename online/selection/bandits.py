"""Policies that need no joint confidence: CUCB, Thompson sampling, and the greedy one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.selection.setting import Feedback, Observation, Setting
from ..base import Traits, shown_arrivals
from .index import IndexPolicy


@dataclass
class Cucb(IndexPolicy):
    r"""CUCB: the best decision by sums of v-hat + sqrt(1.5 ln t / n); ties: the last decision stays.

    These are upper confidence bounds. Untried channels come first; ties are those of
    :class:`.index.IndexPolicy`. Its expected regret is at most 4 sqrt(1.5 m \|E| T ln T) + m \|E| (1 + pi^2 /
    3), whatever the arrivals:

    - A slot with untried channels in its decision costs at most m, and there are at most \|E| of them.
    - In any other slot all channels in Omega(t) were tried. By Hoeffding and a union bound over n < t, one
      of the \|E| averages is off by more than its radius with probability at most 2 / t^2 each; this costs at
      most m \|E| pi^2 / 3 in all.
    - Otherwise the index of the decision is at least that of the best one, which is at least what the best
      one earns, so the slot costs at most 2 sum_{e in x} sqrt(1.5 ln T / n_e); and
      sum_t sum_{e in x} 1 / sqrt(n_e) <= 2 sum_e sqrt(N_e) <= 2 sqrt(m \|E| T), by Cauchy-Schwarz.

    Bounds are not clipped at 1. Clipped ones would do as well: they still reach the mean, which is at most 1.
    """

    name: str = field(default="cucb", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        guarantee="expected regret <= 4 sqrt(1.5 m |E| T ln T) + m |E| (1 + pi^2 / 3)",
        proven="docstring of Cucb, along Lemma 1 of Kveton et al. (2015)",
        source="Chen, Wang and Yuan, ICML 2013; Kveton, Wen, Ashkan and Szepesvari, AISTATS 2015",
    )

    def index(self, slot: int) -> tuple[np.ndarray, None]:
        """Return the upper confidence bounds."""
        known = self._statistics
        return known.mean + np.sqrt(known.spread(1.5 * math.log(slot + 1))), None


@dataclass
class Greedy(IndexPolicy):
    """The best decision by the average net utilities so far; ties: the last decision stays.

    It explores nothing but untried channels, which come first; ties are those of :class:`.index.IndexPolicy`.
    """

    name: str = field(default="greedy", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        source="ours, as a control: follow the leader, which explores nothing",
    )

    def index(self, slot: int) -> tuple[np.ndarray, None]:
        """Return v-hat."""
        return self._statistics.mean, None


@dataclass
class Thompson:
    """Thompson sampling: the best decision by means drawn from Beta posteriors; ties: by what is drawn.

    The prior is Beta(1, 1), which needs no rule for untried channels. A net utility Z in [0, 1] is turned
    into a success with probability Z, and into a failure otherwise.
    """

    name: str = field(default="thompson", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        randomised=True,
        source="Thompson, Biometrika 1933; rewards turned into successes as by Agrawal and Goyal, COLT "
        "2012; over sets of channels: Wang and Chen, ICML 2018",
    )

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Return to the prior."""
        self._setting, self._rng = setting, rng
        self._won, self._lost = np.ones(setting.channels), np.ones(setting.channels)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the best decision by one draw of all means."""
        sampled = self._rng.beta(self._won, self._lost)
        return self._setting.knapsack.best(sampled, open=self._setting.open(shown_arrivals(observation))).x

    def learn(self, feedback: Feedback) -> None:
        """Turn what the chosen channels have shown into successes and failures."""
        won = self._rng.random(len(feedback.utility)) < feedback.utility
        self._won[feedback.channels] += won
        self._lost[feedback.channels] += ~won
