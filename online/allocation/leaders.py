"""What an interior point method makes possible online: leaders, a hedge over one, the optimum of a slot."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from ...models.allocation.bound import certificate_bound, normal
from ...models.allocation.instance import LARGEST
from ...models.allocation.setting import Feedback, Observation, Setting
from ...models.draw import real
from ..base import Traits, shown_arrivals
from .ogasched import Ogasched

MOST_KEPT_BYTES = 2**28
"""The most memory for decisions that are kept, in case that their arrivals come again."""

EXPERTS = 2


class Response(NamedTuple):
    """An allocation y (E, K), and how far it is from its bound at most, relative to the bound."""

    y: np.ndarray
    gap: float


def best_response(setting: Setting, weights: np.ndarray, gap: float) -> Response:
    """Return the y in Y that earns most with so many jobs at the ports, up to a relative gap.

    The gap of what is returned is proved by its prices, rounding included. It is above what is asked for
    where the method stalls, as it does where scales differ by very much; at most 1, which is of no worth.
    Ports that would lose by it hold nothing.
    """
    from ...models.allocation.interior_point import solve, within

    found = solve(setting, weights, within(gap))
    y = setting.project(found.y)
    y[~(setting.port_rewards(y)[setting.port] > 0.0)] = 0.0
    value = float(weights @ setting.port_rewards(y))
    gross = float(weights @ (setting.gains(y) + setting.penalties(y)))
    bound = certificate_bound(setting, weights, normal(found.w), normal(found.price))
    if not bound < math.inf:
        return Response(y, 1.0)
    short = bound - value + (y.size + 8) * 2.0**-52 * gross
    return Response(y, min(1.0, max(0.0, short / bound)) if bound > 0.0 else 0.0)


@dataclass
class FollowLeader:
    """Follow the leader: hold what is best for the arrival counts so far; ties: as the interior point ends.

    Rewards are linear in x, so that the past matters only by its counts, to which one job of every port is
    added at first (none where ports are copies: no copy is known before it is seen). The best allocation is
    found again only when the slots so far have grown by a factor. The decision is committed before the
    arrivals are seen. Against an adversary its regret may grow like T; where arrivals repeat themselves it is
    small.

    Parameters
    ----------
    growth
        The factor, above 1: 1.1 makes some 70 searches in 2,000 slots.
    gap
        Of a search, relative to its bound, at which it stops.

    Attributes
    ----------
    largest_gap
        The largest that is proved of a leader since the start: above ``gap`` where the search has stalled.
    """

    growth: float = 1.1
    gap: float = 1e-6
    name: str = field(default="follow-leader", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="allocation",
        source="follow the leader (Kalai and Vempala, Journal of Computer and System Sciences 2005); ours: "
        "on arrival counts, found again only as the slots grow by a factor",
    )

    def __post_init__(self) -> None:
        real("growth", self.growth, 1.0 + 1e-6, LARGEST)
        real("gap", self.gap, 1e-12, 1.0)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Count one job of every port."""
        self._setting, self._slot, self._next = setting, 0, 1.0
        self._counts = np.full(setting.ports, 1.0 if setting.copy_of is None else 0.0)
        self._y: np.ndarray | None = None
        self.largest_gap = 0.0

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the leader, that of some slots ago if these were few."""
        if self._y is None or self._slot >= self._next:
            self._y, gap = best_response(self._setting, self._counts, self.gap)
            self.largest_gap = max(self.largest_gap, gap)
            self._next = max(self._slot + 1.0, self._slot * self.growth)
        return self._y

    def learn(self, feedback: Feedback) -> None:
        """Count the arrivals."""
        self._counts += feedback.arrivals
        self._slot += 1


@dataclass
class Hedge:
    r"""Hold a mixture of what OGASched and follow-leader hold, by what both would earn; ties: equal parts.

    With R_i what i would have earned so far, its
    part w_i is in proportion to exp(eta R_i). With h = sum_i w_i r_i of a slot and
    m = ln(sum_i w_i exp(eta r_i)) / eta, eta is (ln 2) / Delta for the next slot, where Delta is the sum of
    m - h so far; at first, where that is 0, only who leads has a part. OGASched has the constant step and
    begins with the fair share, or with nothing where ports are copies.

    The guarantee, s_t being the distance of their rewards in slot t: :math:`\sum_t q_t \ge \max_i R_i - 2
    \sqrt{(1 + \tfrac14 \ln 2) \sum_t s_t^2}`. So the stationary regret is at most this root above that of
    OGASched (Theorem 1), and above that of follow-leader.

    Proof. q is concave, so the mixture earns at least h. 0 <= m - h <= s as m is at most the larger reward
    and h at least the smaller one, and m - h <= eta s^2 / 8 (Hoeffding). Let F(eta, R) be
    ln(sum_i exp(eta R_i) / 2) / eta, or max R_i for eta = infinity. m is F(eta, R + r) - F(eta, R) for the
    eta of the slot. F grows with eta, which never grows, so the sum of m is at least F(eta_T, R), which is at
    least max R_i - (ln 2) / eta_T = max R_i - Delta_{T-1}. Hence the sum of h, which is that of m less
    Delta_T, is at least max R_i - 2 Delta_T. At last, Delta_T^2 is the sum of
    2 Delta_{t-1} (m - h) + (m - h)^2 <= (2 / 8) (ln 2) s_t^2 + s_t^2, as Delta_{t-1} eta_t = ln 2.
    """

    name: str = field(default="hedge", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="allocation",
        guarantee="stationary regret <= D G sqrt(T) + 2 sqrt((1 + ln(2) / 4) sum_t s_t^2)",
        proven="docstring of Hedge, with Theorem 1 of OGASched",
        source="AdaHedge (de Rooij, van Erven, Grunwald and Koolen, JMLR 2014); ours: over these two experts",
    )

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Start both; no one has earned anything yet."""
        self._setting = setting
        first = "fair" if setting.copy_of is None else "zero"
        self._experts = (Ogasched(start_at=first), FollowLeader())
        for expert in self._experts:
            expert.start(setting, rng)
        self._earned, self._mixed = np.zeros(EXPERTS), 0.0
        self.squares = 0.0
        """The sum of s_t^2 so far."""

    def _rate(self) -> float:
        return math.log(EXPERTS) / self._mixed if self._mixed > 0.0 else math.inf

    def _parts(self) -> np.ndarray:
        """Return w; for an infinite rate those who lead have equal parts."""
        behind, rate = self._earned - self._earned.max(), self._rate()
        parts = np.exp(rate * behind) if math.isfinite(rate) else (behind == 0.0).astype(np.float64)
        result: np.ndarray = parts / parts.sum()
        return result

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the mixture."""
        self._held = [np.array(expert.decide(observation)) for expert in self._experts]
        mixture: np.ndarray = np.tensordot(self._parts(), self._held, 1)
        return mixture

    def learn(self, feedback: Feedback) -> None:
        """Reward both."""
        rewards = np.array([self._setting.evaluate(y, feedback.arrivals)[0] for y in self._held])
        parts, rate = self._parts(), self._rate()
        if math.isfinite(rate):
            most = rewards.max()
            mixed = most + math.log(parts @ np.exp(rate * (rewards - most))) / rate
        else:
            mixed = float((self._earned + rewards).max() - self._earned.max())
        self._mixed += max(0.0, mixed - float(parts @ rewards))
        self._earned += rewards
        self.squares += float(np.ptp(rewards)) ** 2
        for expert in self._experts:
            expert.learn(feedback)


@dataclass
class SlotOptimum:
    """The best allocation for the arrivals of the slot, which it sees; ties: as the interior point ends.

    Rewards of slots do not depend on each other, so that nothing earns more by more than the gap. It commits
    to nothing beforehand: compare it with policies that see arrivals, not with OGASched.

    Parameters
    ----------
    gap
        Of the optimum of a slot, relative to its bound, at which the search stops.

    Attributes
    ----------
    largest_gap
        The largest that is proved of a slot since the start. It is above ``gap`` where the search has
        stalled: where scales differ by very much, or gains and overhead cancel up to their rounding.
    """

    gap: float = 1e-6
    name: str = field(default="slot-optimum", init=False)
    traits: ClassVar[Traits] = Traits(
        problem="allocation",
        sees=frozenset({"arrivals"}),
        guarantee="reward of every slot >= (1 - largest_gap) times the largest one",
        proven="weak duality, by the prices of every slot; largest_gap is gap unless the search stalls",
        source="ours: the per-slot optimum, a yardstick of dynamic regret, by an interior point method",
    )

    def __post_init__(self) -> None:
        real("gap", self.gap, 1e-12, 1.0)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Forget all patterns of arrivals."""
        self._setting = setting
        self._kept: OrderedDict[bytes, np.ndarray] = OrderedDict()
        self.largest_gap = 0.0
        self._most = max(1, MOST_KEPT_BYTES // max(1, 8 * math.prod(setting.shape)))

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the optimum for these arrivals."""
        arrivals = shown_arrivals(observation)
        key = arrivals.tobytes()
        if key not in self._kept:
            if len(self._kept) == self._most:
                self._kept.popitem(last=False)
            weights = arrivals.astype(np.float64)
            self._kept[key], gap = best_response(self._setting, weights, self.gap)
            self.largest_gap = max(self.largest_gap, gap)
        self._kept.move_to_end(key)
        return self._kept[key]
