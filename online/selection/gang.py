"""Gang scheduling (Sec. 3.4): an index, such as ESDP's, maximised over the sound gang set of the slot."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...models.selection.gang import SelectionGangSetting
from ...models.selection.setting import Feedback, Observation
from ..base import Traits, shown_arrivals
from . import statistics
from .esdp import scaled, scaling
from .statistics import DELTAS, GS, Statistics, check_name


class GangIndexPolicy(ABC):
    """Maximise values.x + sqrt(spread.x) over the gang set of the jobs that are there, new channels first.

    Where the decisions of a slot are few, they are listed once for all slots with the same jobs, otherwise
    0/1 programs are solved, whose index is proved to be the largest but for 1e-7 of it, unless the search for
    a proof becomes too long. Of listed decisions with the same index that one counts whose last task on which
    they differ does not run, or runs on the smaller server; of others, what HiGHS returns, by no simple rule.

    Attributes
    ----------
    largest_gap
        The largest distance from its bound that an index had since the start, relative to the bound, with
        what rounding may take. Slots in which channels were tried for the first time do not count.
    unproved
        In how many slots the search ended without a proof: that the index is the largest, or that no decision
        has more new channels.
    """

    def start(self, setting: SelectionGangSetting, rng: np.random.Generator) -> None:
        """Forget what was learnt."""
        self._setting = setting
        self._seen = Statistics(setting.channels)
        self._most = setting.most_channels
        self._width: float | None = None
        self._listed: dict[bytes, np.ndarray | None] = {}
        self.largest_gap, self.unproved = 0.0, 0

    @abstractmethod
    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return values and spread of every channel from what was seen before ``slot``, shape (E,)."""

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the decision with the largest index among those of the slot's jobs."""
        from ...models.selection.gang_program import best_gang_index, every_decision

        arrivals = shown_arrivals(observation)
        pattern = arrivals.tobytes()
        if pattern not in self._listed:
            self._listed[pattern] = every_decision(self._setting, arrivals)
        v, q = self.index(observation.slot)
        best = best_gang_index(
            self._setting,
            v,
            q,
            arrivals,
            untried=self._seen.untried,
            start=self._width,
            listed=self._listed[pattern],
        )
        self._width = math.sqrt(float(q @ best.x))
        self.unproved += not best.closed
        if best.marked == 0 and best.bound > 0.0:
            self.largest_gap = max(self.largest_gap, 1.0 - best.value / best.bound)
        return best.x

    def learn(self, feedback: Feedback) -> None:
        """Note what the chosen channels have shown."""
        self._seen.update(feedback)


@dataclass
class GangEsdp(GangIndexPolicy):
    """ESDP for gangs: the best decision by a confidence index; ties: late tasks rest, or take low servers.

    In every slot it maximises v-hat.x + sqrt(sigma-hat^2.x); how exactly, and ties, are those of
    :class:`GangIndexPolicy`. With a sequence ``delta`` both statistics are rounded up to multiples of 1/xi
    and 1/xi^2 as in (16) to (18), where m is the most channels that can be chosen at once.

    Parameters
    ----------
    delta
        Name of the sequence delta(t), see :data:`.statistics.DELTAS`; ``None`` does not round.
    g
        Name of the sequence g(t), see :data:`.statistics.GS`.
    """

    delta: str | None = "loglog"
    g: str = "full"
    name: str = field(default="esdp-gang", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="selection-gang",
        sees=frozenset({"arrivals"}),
        source="Zhao et al., IEEE TPDS 34(1) (2023), Sec. 3.4; ours: the sound gang sets, and the "
        "index maximised by a search",
    )

    def __post_init__(self) -> None:
        if self.delta is not None:
            check_name("delta", self.delta, DELTAS)
        check_name("g", self.g, GS)

    def index(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return v-hat and sigma-hat^2 for a slot (0-based), rounded if so set; 0 for channels never used."""
        t = slot + 1.0
        v = self._seen.mean
        q = self._seen.spread(0.5 * float(statistics.g(self.g, t, self._most)))
        if self.delta is None or self._most == 0:
            return v, q
        xi = float(scaling(statistics.delta(self.delta, t), self._most))
        upsilon, sigma2 = scaled(v, q, xi)
        return upsilon / xi, sigma2 / (xi * xi)
