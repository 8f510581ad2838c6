"""ESDP (Algorithm 1) and ESCB, the policy it approximates, both over the channels of ports with jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

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
    maximises Upsilon.x + sqrt(Sigma^2.x) over Omega(t) exactly, with the statistics of the slots before t.
    That is what (21) selects: as S(t) covers max Upsilon.x, the maximum of s + sqrt(P4(s)) over s is the
    maximum of this index over x, so no program has to be solved for every s. m is the most channels that
    fit at once, exactly. Untried channels come first.

    Its decisions miss the largest exact index (that of :class:`Escb`) by at most delta(t) + sqrt(m) / xi(t).
    No bound on its expected regret is claimed: Theorem 2 needs delta(t) <= Delta_min / 4, which no horizon of
    use reaches.

    Parameters
    ----------
    delta
        One of :data:`.statistics.DELTAS`.
    g
        One of :data:`.statistics.GS`.
    """

    delta: str = "loglog"
    g: str = "full"
    name: str = field(default="esdp", init=False)
    traits: ClassVar[Traits] = Traits(problem="selection", sees=frozenset({"arrivals"}))

    def __post_init__(self) -> None:
        statistics.check_name("delta", self.delta, statistics.DELTAS)
        statistics.check_name("g", self.g, statistics.GS)

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
    """

    g: str = "full"
    name: str = field(default="escb", init=False)
    traits: ClassVar[Traits] = Traits(problem="selection", sees=frozenset({"arrivals"}))

    def __post_init__(self) -> None:
        statistics.check_name("g", self.g, statistics.GS)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything, and work out g for all slots."""
        super().start(setting, rng)
        self._width = 0.5 * statistics.g(self.g, np.arange(1, setting.slots + 1), setting.most_channels)

    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return v-hat and sigma-hat^2."""
        return self._statistics.mean, self._statistics.spread(self._width[slot])
