"""Perturbed leader for gang scheduling: all or nothing, so the set is not convex and gradients fail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from ...models.allocation import utility
from ...models.allocation.gang import AllocationGangSetting
from ...models.allocation.instance import LARGEST
from ...models.allocation.setting import Feedback, Observation
from ...models.draw import real
from ..base import Traits


class LeaderBounds(NamedTuple):
    """The terms of the guarantee of :class:`PerturbedLeader`."""

    diameter: float  # D >= sum_l |q_l(y) - q_l(y')| for all decisions without ports that lose
    reward: float  # R >= the reward of a slot
    arrivals: float  # A >= the number of jobs of a slot, with at most one per port

    def regret(self, slots: int) -> float:
        """Return 2 sqrt(D R A T), the bound on the expected regret."""
        return 2.0 * float(np.sqrt(self.diameter * self.reward * self.arrivals * slots))


def reward_caps(setting: AllocationGangSetting) -> np.ndarray:
    """Return upper bounds of the ports' rewards q_l per job, in closed form, shape (L,).

    With A_k = sum_q a[q,k], and the overhead of all kinds averaged instead of that of the worst, kind k adds
    at most sum_r max over 0 <= y <= min(A_k, c) of f(y) - beta_k y / K, and at most A_k times the steepest of
    these at zero.
    """
    base = setting.base
    wanted = np.zeros((setting.ports, setting.kinds))
    np.add.at(wanted, setting.task_port, setting.task_demand)
    price = np.broadcast_to(base.overhead / base.kinds, base.shape)
    limit = np.minimum(wanted[base.port], base.capacity[base.server])
    y = utility.best_response(base.edge_kind, base.edge_alpha, np.ones(base.shape), price, limit)
    best = utility.value(base.edge_kind, base.edge_alpha, y) - price * y
    steepest = np.zeros_like(wanted)
    np.maximum.at(steepest, base.port, utility.slope_at_zero(base.edge_kind, base.edge_alpha) - price)
    return np.minimum(base.port_sums(best), wanted * steepest).sum(axis=1)


def leader_bounds(setting: AllocationGangSetting) -> LeaderBounds:
    """Return D, R and A; rewards are between zero and the ports' caps, whose sum serves as D and as R."""
    total = float(reward_caps(setting).sum())
    return LeaderBounds(diameter=total, reward=total, arrivals=float(setting.ports))


@dataclass
class PerturbedLeader:
    """Lazy follow-the-perturbed-leader on arrival counts, with a guarantee on any set; ties: as searched.

    The set need not be convex. Of equally good allocations the search returns one, always the same for the
    same counts, by no simple rule; a port that would lose by it holds nothing, one that gains nothing keeps
    what it was given. Rewards are linear in x, so the past matters only by its counts s. Once, p is drawn
    uniformly from [0, 1/eps]^L; it shifts a grid of width 1/eps. Every slot is played as if the counts were
    the one grid point in s + [0, 1/eps)^L, and the best allocation is searched for again only when that point
    changes. The decision is committed before the arrivals are seen.

    Parameters
    ----------
    eps
        Larger is less perturbed and less lazy; sqrt(D / (R A T)) by default, see :func:`leader_bounds`.
    gap, time_limit
        For each search. The gap adds to the regret; a time limit (seconds) makes runs differ.
    """

    eps: float | None = None
    gap: float = 1e-6
    time_limit: float | None = None
    name: str = field(default="perturbed-leader", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="allocation-gang",
        randomised=True,
        guarantee="expected stationary regret <= 2 sqrt(D R A T), oblivious adversary, single jobs",
        proven="Theorem 1.1 and Lemma 1.2 of Kalai and Vempala (2005)",
        source="FLL (Kalai and Vempala, Journal of Computer and System Sciences 2005); ours: on "
        "arrival counts",
    )

    def __post_init__(self) -> None:
        for key in ("eps", "gap", "time_limit"):
            if getattr(self, key) is not None:
                real(key, getattr(self, key), 1.0 / LARGEST)

    def start(self, setting: AllocationGangSetting, rng: np.random.Generator) -> None:
        """Draw the grid; nothing has arrived yet."""
        self._setting = setting
        self._width = 1.0 / (self._default_eps(setting) if self.eps is None else self.eps)
        self._shift = rng.uniform(0.0, self._width, setting.ports)
        self._counts = np.zeros(setting.ports)
        self._cell: np.ndarray | None = None
        self._decision = np.zeros(setting.shape)
        self.solved = 0

    @staticmethod
    def _default_eps(setting: AllocationGangSetting) -> float:
        """Return sqrt(D / (R A T)), or 1 where there is nothing to gain or to do and any would serve."""
        bounds = leader_bounds(setting)
        spread = bounds.reward * bounds.arrivals * setting.slots
        return float(np.sqrt(bounds.diameter / spread)) if spread > 0 else 1.0

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the best response to the grid point of the counts so far."""
        cell = np.ceil((self._counts - self._shift) / self._width)
        if self._cell is None or not np.array_equal(cell, self._cell):
            self._cell = cell
            self._decision = self._best(np.maximum(0.0, self._shift + self._width * cell))
            self.solved += 1
        return self._decision

    def _best(self, weights: np.ndarray) -> np.ndarray:
        """Return the best gang allocation for the weights, without ports that lose by it."""
        from ...models.allocation.gang_search import best_gang

        y = best_gang(self._setting, weights, gap=self.gap, time_limit=self.time_limit).y
        losing = self._setting.port_rewards(y) < 0.0
        return np.where(losing[self._setting.base.port][self._setting.pair_edge][:, None], 0.0, y)

    def learn(self, feedback: Feedback) -> None:
        """Count the arrivals."""
        self._counts += feedback.arrivals
