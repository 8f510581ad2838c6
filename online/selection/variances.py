"""Bandits that estimate variances: where net utilities vary little, narrow confidence is enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.draw import real
from ...models.selection.setting import Setting
from ..base import Traits
from .gang import GangIndexPolicy
from .index import IndexPolicy
from .statistics import Statistics


@dataclass
class EscbV(IndexPolicy):
    """ESCB with variances: the best by v-hat.x + sqrt(sum 2 ln t s^2 / n); ties: the last decision stays.

    s^2 is the empirical variance with ``prior`` further samples of the largest variance, 1/4. With that for
    s^2, it would be :class:`.esdp.Escb` with g = ln t, whose width is that of Hoeffding's inequality. Untried
    channels come first; ties are those of :class:`.index.IndexPolicy`. No bound on its expected regret is
    claimed.

    Parameters
    ----------
    prior
        Samples of the variance 1/4, above 0.
    gap
        How far the index may be from the largest one, relative to it; see :class:`.index.IndexPolicy`.
    """

    prior: float = 2.0
    gap: float = 0.0
    name: str = field(default="escb-v", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        source="ours: ESCB (Combes et al., NIPS 2015) with empirical variances, after UCB-V (Audibert, "
        "Munos and Szepesvari, Theoretical Computer Science 2009)",
    )

    def __post_init__(self) -> None:
        real("prior", self.prior, 1e-6, 1e6)
        real("gap", self.gap, 0.0, 1.0)

    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return v-hat and 2 ln t s^2 / n."""
        return _index(self._statistics, self.prior, slot)


def _index(known: Statistics, prior: float, slot: int) -> tuple[np.ndarray, np.ndarray]:
    return known.mean, known.variance(prior) * known.spread(2.0 * math.log(slot + 1))


@dataclass
class CucbV(IndexPolicy):
    """CUCB-V: the best by sums of v-hat + sqrt(2 s^2 ln t / n) + ln t / n; ties: the last decision stays.

    s^2 is the empirical variance. The index is at most 1. The second term stands for what s^2 may be too
    small by, with a third of the factor that the analysis of UCB-V needs; no bound on its expected regret is
    claimed. Untried channels come first; ties are those of :class:`.index.IndexPolicy`.
    """

    name: str = field(default="cucb-v", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        source="ours: CUCB (Chen, Wang and Yuan, ICML 2013) with the index of UCB-V (Audibert, Munos "
        "and Szepesvari, Theoretical Computer Science 2009), its second term a third as large",
    )

    def index(self, slot: int) -> tuple[np.ndarray, None]:
        """Return the upper confidence bounds."""
        known, log = self._statistics, math.log(slot + 1)
        width = np.sqrt(known.variance(0.0) * known.spread(2.0 * log)) + known.spread(log)
        return np.minimum(1.0, known.mean + width), None


@dataclass
class GaussianThompson(IndexPolicy):
    """Thompson sampling: the best by means drawn from N(v-hat, s^2 / n); ties: the last decision stays.

    s^2 is the empirical variance with one further sample of the largest variance, 1/4. What is drawn below 0
    counts as 0. Untried channels come first; ties are those of :class:`.index.IndexPolicy`.
    """

    name: str = field(default="gaussian-thompson", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection",
        sees=frozenset({"arrivals"}),
        randomised=True,
        source="ours: Gaussian Thompson sampling (Agrawal and Goyal, AISTATS 2013; of unknown "
        "variance: Honda and Takemura, AISTATS 2014), with the empirical variance in the place "
        "of a posterior",
    )

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget everything."""
        super().start(setting, rng)
        self._rng = rng

    def index(self, slot: int) -> tuple[np.ndarray, None]:
        """Return one draw of all means."""
        known = self._statistics
        width = np.sqrt(known.variance(1.0) * known.spread(1.0))
        return np.maximum(0.0, known.mean + width * self._rng.standard_normal(len(width))), None


@dataclass
class GangEscbV(GangIndexPolicy):
    """ESCB with variances for gangs, over the sound gang set; ties: late tasks rest, or take low servers.

    The index is that of :class:`EscbV`; search and ties are those of :class:`.gang.GangIndexPolicy`.

    Parameters
    ----------
    prior
        Samples of the variance 1/4, above 0.
    """

    prior: float = 2.0
    name: str = field(default="escb-v-gang", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection-gang",
        sees=frozenset({"arrivals"}),
        source="ours: the index of escb-v over the gang sets of Zhao et al., IEEE TPDS 34(1) (2023), "
        "Sec. 3.4",
    )

    def __post_init__(self) -> None:
        real("prior", self.prior, 1e-6, 1e6)

    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return v-hat and 2 ln t s^2 / n."""
        return _index(self._seen, self.prior, slot)
