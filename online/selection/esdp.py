"""ESDP (Algorithm 1), ESCB and AESCB, from which it comes, all over the channels of ports with jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.draw import real
from ...models.selection.setting import Setting
from ..base import Traits
from . import statistics
from .index import IndexPolicy


def scaling(delta: np.ndarray, m: float) -> np.ndarray:
    """Return xi(t) = ceil(m / delta(t)) of (18)."""
    return np.ceil(m / delta)


def scaled(mean: np.ndarray, spread: np.ndarray, xi: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Upsilon = ceil(xi v-hat) of (16) and Sigma^2 = ceil(xi^2 sigma-hat^2) of (17), shape (E,)."""
    return np.ceil(xi * mean), np.ceil(xi * xi * spread)


@dataclass
class Esdp(IndexPolicy):
    """ESDP that sees the arrivals: the best decision by the rounded index; ties: the last decision stays.

    It decides over the ports that have jobs; ties are those of :class:`.index.IndexPolicy`. In slot t it
    maximises Upsilon.x + sqrt(Sigma^2.x) over Omega(t), with the statistics of the slots before t: exactly,
    unless there is a ``gap`` or a proof takes too long (``largest_gap`` says how far it was). That is what
    (21) selects: as S(t) covers max Upsilon.x, the maximum of s + sqrt(P4(s)) over s is the maximum of this
    index over x, so no program has to be solved for every s. m is the most channels that fit at once,
    exactly. Untried channels come first.

    Its decisions miss the largest exact index (that of :class:`Escb`) by at most delta(t) + sqrt(m) / xi(t),
    and with a ``gap`` by up to gap / (1 + gap) of that index more, while no channel is untried. No bound on
    its expected regret is claimed: Theorem 2 needs delta(t) <= Delta_min / 4, which no horizon of use
    reaches.

    Parameters
    ----------
    delta
        One of :data:`.statistics.DELTAS`.
    g
        One of :data:`.statistics.GS`.
    gap
        How far the index may be from the largest one, relative to it; see :class:`.index.IndexPolicy`.
    """

    delta: str = "loglog"
    g: str = "full"
    gap: float = 0.0
    name: str = field(default="esdp", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        source="Zhao et al., IEEE TPDS 34(1) (2023), Algorithm 1; ours: it decides over the ports that "
        "have jobs, by the exact search",
    )

    def __post_init__(self) -> None:
        statistics.check_name("delta", self.delta, statistics.DELTAS)
        statistics.check_name("g", self.g, statistics.GS)
        real("gap", self.gap, 0.0, 1.0)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything, and work out xi and g for all slots."""
        super().start(setting, rng)
        t, m = np.arange(1, setting.slots + 1), self._most()
        self._xi = scaling(statistics.delta(self.delta, t), m)
        self._width = 0.5 * statistics.g(self.g, t, m)

    def _most(self) -> float:
        return self._setting.most_channels

    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return Upsilon and Sigma^2."""
        known = self._statistics
        return scaled(known.mean, known.spread(self._width[slot]), self._xi[slot])


@dataclass
class Escb(IndexPolicy):
    """ESCB: the exact index v-hat.x + sqrt(sigma-hat^2.x), that ESDP rounds; ties: the last decision stays.

    This is P3 without delta. Untried channels come first; ties are those of :class:`.index.IndexPolicy`.

    Parameters
    ----------
    g
        One of :data:`.statistics.GS`.
    gap
        How far the index may be from the largest one, relative to it; see :class:`.index.IndexPolicy`.
    """

    g: str = "full"
    gap: float = 0.0
    name: str = field(default="escb", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        source="Combes, Talebi, Proutiere and Lelarge, Combinatorial Bandits Revisited, NIPS 2015; the "
        "widths g are those of ESDP",
    )

    def __post_init__(self) -> None:
        statistics.check_name("g", self.g, statistics.GS)
        real("gap", self.gap, 0.0, 1.0)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything, and work out g for all slots."""
        super().start(setting, rng)
        self._width = 0.5 * statistics.g(self.g, np.arange(1, setting.slots + 1), setting.most_channels)

    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return v-hat and sigma-hat^2."""
        return self._statistics.mean, self._statistics.spread(self._width[slot])


@dataclass
class Aescb(IndexPolicy):
    """AESCB: the index of ESCB with v-hat rounded up to steps of delta(t) / m; ties: the last decision stays.

    ESDP builds on it. As in the authors' code, delta(t) = |E| max(1, ln m)^2 / t, m being the most channels
    that fit at once. Decisions miss the largest index of :class:`Escb` by at most delta(t),
    and the sum of all delta(t) grows with ln T. For independent utilities, and the same feasible set in all
    slots, the authors state a regret of O(|E| (ln m)^2 ln T / Delta_min), as of ESCB. Here the feasible set
    changes with the arrivals, so no bound is claimed.

    Their budgeted programs, one for each sum of the rounded v-hat, take polynomial time. The exact search for
    the largest rounded index selects the same without them, but is not polynomial in the worst case. Untried
    channels come first; ties are those of :class:`.index.IndexPolicy`.

    Parameters
    ----------
    g
        One of :data:`.statistics.GS`.
    """

    g: str = "full"
    name: str = field(default="aescb", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        source="Cuvelier, Combes and Gourdin, Statistically Efficient, Polynomial-Time Algorithms for "
        "Combinatorial Semi-Bandits, POMACS 2021",
    )

    def __post_init__(self) -> None:
        statistics.check_name("g", self.g, statistics.GS)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything, and work out xi = m / delta and g for all slots."""
        super().start(setting, rng)
        t, m = np.arange(1, setting.slots + 1), max(1, setting.most_channels)
        self._xi = m * t / (max(1, setting.channels) * max(1.0, math.log(m)) ** 2)
        self._width = 0.5 * statistics.g(self.g, t, m)

    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return v-hat and sigma-hat^2 in steps: xi v-hat rounded up, and xi^2 sigma-hat^2."""
        xi, known = self._xi[slot], self._statistics
        return np.ceil(xi * known.mean), xi * xi * known.spread(self._width[slot])
