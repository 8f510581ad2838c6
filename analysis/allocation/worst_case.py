"""The arrivals on which a policy regrets most: enumerated where that is possible, searched elsewhere."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...models.allocation.instance import AllocationInstance
from ...models.base import InputError
from ...online.base import Policy
from ...oracles.annealing import cooling
from ..engine.kept import play
from .experiments import hindsight
from .regret import theorem_1

Progress = Callable[[float, str], None]

FIRST = 100
WARM, COLD = 0.05, 5e-5
"""Loss of regret that is accepted with probability 1/e, relative to that of the best pattern: at the start,
and after so many flips; then it begins again with twice as many, and so on."""


@dataclass(frozen=True)
class WorstCase:
    """The worst arrivals found: the instance under them, and Theorem 1 for it.

    ``regret`` is the certified lower end of the stationary regret there: the optimum's value minus what the
    policy earned. ``exhaustive`` tells whether every 0/1 sequence was tried, so that nothing is worse (up to
    the oracle's gap of 1e-9), ``evaluations`` how many were played.
    """

    instance: AllocationInstance
    regret: float
    exhaustive: bool
    evaluations: int
    bound: float


class _Search:
    """Plays sequences and remembers the worst; stationary optima are remembered by arrival counts."""

    def __init__(
        self, policy: Policy, instance: AllocationInstance, seed: int, limit: int, progress: Progress | None
    ) -> None:
        self._policy, self._seed, self._limit, self._progress = policy, seed, limit, progress
        self._optima: dict[bytes, float] = {}
        self.evaluations = 0
        self.worst = instance.with_arrivals(instance.arrivals.clip(max=1))
        self.regret = -np.inf

    def regret_of(self, arrivals: np.ndarray) -> float:
        """Play one sequence and return its regret."""
        self.evaluations += 1
        instance = self.worst.with_arrivals(arrivals)
        key = instance.arrival_counts.tobytes()
        if key not in self._optima:
            self._optima[key] = hindsight(instance, gap=1e-9).value
        regret = self._optima[key] - play(self._policy, instance, self._seed).total
        if regret > self.regret:
            self.regret, self.worst = regret, instance
        if self._progress is not None:
            self._progress(self.evaluations / self._limit, f"largest regret so far {self.regret:.6g}")
        return regret

    def anneal(self, rng: np.random.Generator) -> None:
        """Start from the worst of a few patterns; accept single flips that raise the regret, or with luck."""
        for arrivals in _patterns(self.worst.arrivals, rng)[: self._limit]:
            self.regret_of(arrivals)
        current, value = self.worst.arrivals.copy(), self.regret
        scale = max(abs(value), sys.float_info.min)
        for heat in itertools.islice(cooling(FIRST, WARM, COLD), self._limit - self.evaluations):
            flip = rng.integers(current.shape[0]), rng.integers(current.shape[1])
            current[flip] ^= 1
            trial = self.regret_of(current.copy())
            if trial >= value or rng.random() < np.exp((trial - value) / (scale * heat)):
                value = trial
            else:
                current[flip] ^= 1


def _patterns(arrivals: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Return 0/1 starting points: the given arrivals, random ones, all, one-sided and alternating ones."""
    slots, ports = arrivals.shape
    time, port = np.arange(slots)[:, None], np.arange(ports)[None, :]
    shapes = [np.broadcast_to(time >= 0, arrivals.shape), (time < slots // 2) ^ (port % 2 == 0)]
    shapes += [(time // period + port) % 2 == 0 for period in (1, 2, 4)]
    shapes += [(time % 6 == 0) == (port == 0)]
    shapes += [rng.random(arrivals.shape) < rate for rate in (0.2, 0.5, 0.8)]
    return [arrivals, *(shape.astype(np.int64) for shape in shapes)]


def worst_case(
    make_policy: Callable[[], Policy],
    instance: AllocationInstance,
    *,
    seed: int = 0,
    evaluations: int = 4096,
    progress: Progress | None = None,
) -> WorstCase:
    """Return the 0/1 arrival sequence with the largest stationary regret, of the instance's length.

    All sequences are tried if there are at most ``evaluations``; else simulated annealing over single
    flips starts from the worst of a few patterns (the instance's own, random, periodic and one-sided ones).
    It cools by flips, whatever their number, so that more evaluations never find less. The seed decides the
    policy and the search; progress is called with the fraction done and a text.

    Raises
    ------
    InputError
        If ``evaluations`` is not positive, or the policy declares that its decisions may be infeasible.
    """
    if evaluations < 1:
        raise InputError(f"evaluations: {evaluations!r} is not a positive number")
    policy = make_policy()
    if not policy.traits.feasible:
        raise InputError(f"policy: {policy.name} decides infeasibly, so it has no regret")
    search = _Search(policy, instance, seed, evaluations, progress)
    exhaustive = 2**instance.arrivals.size <= evaluations
    if exhaustive:
        for bits in itertools.product((0, 1), repeat=instance.arrivals.size):
            search.regret_of(np.array(bits, dtype=np.int64).reshape(instance.arrivals.shape))
    else:
        search.anneal(np.random.default_rng(seed))
    return WorstCase(search.worst, search.regret, exhaustive, search.evaluations, theorem_1(search.worst))
