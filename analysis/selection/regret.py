"""Regret against the clairvoyant optimum, beside the certificate of a run and what is proven of CUCB."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...models.base import InputError, numbers
from ...models.selection.gang import SelectionGangInstance
from ...models.selection.instance import SelectionInstance
from ...models.selection.setting import Setting
from ...online.base import Policy
from ...online.play import Run
from ...online.selection import statistics
from ...online.selection.esdp import scaling
from ...oracles.selection.optimum import ORACLES
from ..engine.kept import play
from ..optima import relied_on
from ..plots import POSITIVE, name_axes, new_figure, plot_bands, span_bound
from ..statistics import mean_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TIE = 1e-9
"""Values that differ by less are the same: gaps this small are rounding."""


@dataclass(frozen=True, eq=False)
class History:
    """What a policy knew in each slot: n of (8) and v-hat of (9), 0 where n is 0, both of shape (T, E)."""

    count: np.ndarray
    mean: np.ndarray

    @classmethod
    def of(cls, path: np.ndarray, decisions: np.ndarray) -> History:
        """Work the statistics out from the sample path and the decisions."""

        def before(seen: np.ndarray) -> np.ndarray:
            return np.concatenate([np.zeros((1, seen.shape[1])), np.cumsum(seen, axis=0)])[:-1]

        count = before(decisions)
        return cls(count, before(np.where(decisions > 0, path, 0.0)) / np.maximum(count, 1.0))

    def spread(self, width: np.ndarray) -> np.ndarray:
        """Return sigma-hat^2 = width(t) / n of (10), 0 where n is 0, shape (T, E)."""
        wide = np.broadcast_to(width[:, None], self.count.shape)
        return np.divide(wide, self.count, out=np.zeros(self.count.shape), where=self.count > 0)


@dataclass(frozen=True, eq=False)
class RunCertificate:
    """What the statistics of a run prove about its regret, slot by slot; every array has shape (T,).

    ``optimum`` is the upper end of the clairvoyant optimum, ``error`` is delta(t) + sqrt(m) / xi(t),
    by how much the decision may miss the largest index, and ``width`` is 2 sqrt(sigma-hat^2.x). ``untried``
    says whether the decision or the optimum holds a channel never tried before, ``missed`` whether (15) fails
    for one of them, all their channels tried.
    """

    optimum: np.ndarray
    error: np.ndarray
    width: np.ndarray
    untried: np.ndarray
    missed: np.ndarray

    @property
    def per_slot(self) -> np.ndarray:
        """min(opt, error + width), and opt where a channel was untried."""
        return np.where(self.untried, self.optimum, np.minimum(self.optimum, self.error + self.width))

    @property
    def strict_per_slot(self) -> np.ndarray:
        """As ``per_slot``, and opt also where (15) fails."""
        return np.where(self.missed, self.optimum, self.per_slot)

    @property
    def total(self) -> float:
        """The certificate: the sum of ``per_slot``."""
        return float(self.per_slot.sum())

    @property
    def strict(self) -> float:
        """The strict certificate: never below the regret of the run."""
        return float(self.strict_per_slot.sum())


class Best(NamedTuple):
    """The clairvoyant optimum: between what it lies in every slot, shape (T, 2), and its x[slot, channel]."""

    per_slot: np.ndarray
    decision: np.ndarray

    @classmethod
    def of(cls, instance: SelectionInstance | SelectionGangInstance) -> Best:
        """Ask the oracle."""
        name = "gang" if isinstance(instance, SelectionGangInstance) else "clairvoyant"
        found = relied_on(name, ORACLES[name], instance)
        return cls(found.certificate.per_slot, found.decision)

    def regret(self, rewards: np.ndarray) -> np.ndarray:
        """Return the regret of a run after each slot, the upper end, shape (T,)."""
        return np.asarray(np.cumsum(self.per_slot[:, 1] - rewards))


def certificate(
    instance: SelectionInstance,
    decisions: npt.ArrayLike,
    *,
    delta: str = "loglog",
    g: str = "full",
    best: Best | None = None,
) -> RunCertificate:
    r"""Return what the statistics of a run of arrival-aware ESDP prove about its regret.

    Let I(x) = v-hat.x + sqrt(sigma-hat^2.x), x the decision of a slot and x\* its optimum. ESDP maximises the
    rounded index, and for every x of at most m channels::

        I(x) <= (Upsilon.x + sqrt(Sigma^2.x)) / xi <= I(x) + m / xi + sqrt(m) / xi

    so I(x) >= I(x\*) - delta - sqrt(m) / xi by (18). Where (15) holds for both::

        v~.x\* <= I(x\*) <= I(x) + delta + sqrt(m) / xi <= v~.x + 2 sqrt(sigma-hat^2.x) + delta + sqrt(m) / xi

    and the slot costs at most delta + sqrt(m) / xi + 2 sqrt(sigma-hat^2.x). It never costs more than the
    optimum earns, which also stands for slots with untried channels. So ``total`` bounds the regret where
    (15) never fails; ``strict`` counts the whole optimum where it does, and so always bounds it. The
    statistics are worked out again from the decisions and the sample path.

    ``decisions`` are x[slot, channel] of :class:`clairvoyant.online.selection.Esdp` with the same sequences.
    The oracle is asked for what is ``best`` unless that is given.

    Raises
    ------
    InputError
        For unknown sequences, or decisions that are infeasible or of another shape.
    """
    s = instance.setting
    x = np.asarray(decisions, dtype=np.float64)
    for broken in instance.violations(x)[:1]:
        raise InputError(f"decisions: {broken}")
    per_slot, optimal = best or Best.of(instance)
    t, m, past = np.arange(1, s.slots + 1), s.most_channels, History.of(instance.path, x)
    slack, spread = statistics.delta(delta, t), past.spread(0.5 * statistics.g(g, t, m))
    xi = np.maximum(scaling(slack, m), 1.0)
    untried = ((past.count == 0) & ((x > 0) | optimal)).any(axis=1)
    missed = misses(instance, past, spread, x) | misses(instance, past, spread, optimal)
    return RunCertificate(
        optimum=per_slot[:, 1],
        error=slack + math.sqrt(m) / xi + (per_slot[:, 1] - per_slot[:, 0]),
        width=2.0 * np.sqrt((spread * x).sum(axis=1)),
        untried=untried,
        missed=missed & ~untried,
    )


def misses(
    instance: SelectionInstance, past: History, spread: np.ndarray, decisions: np.ndarray
) -> np.ndarray:
    """Return in which slots (15) fails for the decisions, by more than rounding explains."""
    off = abs(((instance.mean - past.mean) * decisions).sum(axis=1))
    return np.asarray(off > np.sqrt((spread * decisions).sum(axis=1)) + 1e-12)


def cucb_bound(instance: SelectionInstance, slots: int | None = None) -> float:
    r"""Return what the expected regret of CUCB is at most after some slots (all of them by default).

    4 sqrt(1.5 m \|E| T ln T) + m \|E| (1 + pi^2 / 3); the proof is in :class:`.online.selection.Cucb`.
    """
    s = instance.setting
    horizon, size = s.slots if slots is None else slots, s.most_channels * s.channels
    if horizon == 0:
        return 0.0
    return 4.0 * math.sqrt(1.5 * size * horizon * math.log(horizon)) + size * (1.0 + math.pi**2 / 3.0)


def bounds(instance: SelectionInstance) -> dict[str, float]:
    """Return the proven bounds on the expected regret against the clairvoyant optimum, by whose they are.

    Only that of CUCB can be evaluated: (38) has an unknown constant.
    """
    return {"cucb, in expectation": cucb_bound(instance)}


def all_patterns(setting: Setting) -> np.ndarray:
    """Return all arrival patterns, shape (2^L, L); an ``InputError`` if there are more than 16 ports."""
    if setting.ports > 16:
        raise InputError(f"ports: the 2^{setting.ports} arrival patterns are too many to list")
    return np.array(list(product((0, 1), repeat=setting.ports)), dtype=np.int64)


def blind_slope(instance: SelectionInstance, probability: float) -> float:
    r"""Return what deciding for all ports, and then dropping those without jobs, costs per slot at least.

    Let every port have a job with the same probability rho, independently of the others and of the past. A
    decision y that does not depend on the slot's arrivals earns rho v~.y in expectation once channels without
    jobs are dropped, which is at most rho opt(all ports); the optimum earns E[opt(arrivals)] in expectation.
    So the expected regret of such a policy is at least T times this, which is 0 if capacity never binds.

    Raises
    ------
    InputError
        If rho is not in [0, 1], there are more than 16 ports, or the capacities are too large for tables.
    """
    rho = float(numbers(probability, "probability", (), high=1.0))
    patterns = all_patterns(instance.setting)
    value = instance.setting.knapsack.best_of_patterns(instance.mean, patterns)[1]
    chance = np.where(patterns == 1, rho, 1.0 - rho).prod(axis=1)
    return float(chance @ value - rho * value[-1])


def smallest_gap(instance: SelectionInstance) -> float:
    """Return the smallest positive gap v~.x* - v~.x found over arrival patterns and feasible sets.

    Under every pattern, the best set without each channel of the optimum in turn. Every set but the optimum
    lacks one of its channels or adds some, so this is the smallest gap of all where means are positive and
    optima unique, and at least the smallest in any case. Infinite if there is no gap above 1e-9 of the
    optimum, which may be rounding. Raises as :func:`blind_slope` does.
    """
    s = instance.setting
    patterns = all_patterns(s)
    x, value, _ = s.knapsack.best_of_patterns(instance.mean, patterns)
    gaps = [math.inf]
    for pattern, chosen, best in zip(patterns, x, value, strict=True):
        for e in np.flatnonzero(chosen):
            allowed = s.open(pattern) & (np.arange(s.channels) != e)
            gap = float(best - s.knapsack.best(instance.mean, open=allowed).value)
            gaps += [gap] if gap > TIE * best else []
    return min(gaps)


@dataclass(frozen=True, eq=False)
class RegretCurves:
    """Regret over time of one policy on several instances of the same length.

    ``regret`` is that after each of the numbers of ``slots``, shape (N, P), the upper end of the sum of
    opt - v~.x(t); ``bounds`` holds by name what bounds it, of the same shape.
    """

    policy: str
    slots: np.ndarray
    regret: np.ndarray
    bounds: dict[str, np.ndarray]


def checkpoints(slots: int, count: int = 40) -> np.ndarray:
    """Return up to ``count`` numbers of slots, evenly spaced and ending with ``slots``."""
    return np.unique(np.linspace(0, slots, min(count, slots) + 1).round().astype(np.int64)[1:])


def over_time(instance: SelectionInstance | SelectionGangInstance, rewards: np.ndarray) -> np.ndarray:
    """Return the regret after each slot, the upper end by the oracle's bounds, shape (T,)."""
    return Best.of(instance).regret(rewards)


def regret_curves(
    make_policy: Callable[[], Policy],
    instances: Sequence[SelectionInstance],
    *,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _fraction: None,
) -> RegretCurves:
    """Play a policy on every instance and return its regret over time; for CUCB with its bound.

    Raises
    ------
    InputError
        If an instance has no slots or the instances differ in length.
    """
    lengths = {i.setting.slots for i in instances}
    if len(lengths) != 1 or 0 in lengths:
        raise InputError(f"instances: lengths {sorted(lengths)} must be equal and positive")
    runs = []
    for n, instance in enumerate(instances):
        runs.append(play(make_policy(), instance, seed))
        progress((n + 1) / len(instances))
    best = np.array([over_time(instance, np.zeros(instance.setting.slots)) for instance in instances])
    return _curves(runs[0].policy, instances, runs, best)


def plot_runs(
    instance: SelectionInstance | SelectionGangInstance,
    runs: Mapping[str, Sequence[Run]],
    ax: Axes | None = None,
) -> Axes:
    """Draw what :func:`plot_regret` does of runs on one instance, by label; they stand for instances."""
    if not instance.setting.slots:
        raise InputError("instance: it has no slots, over which there is no regret")
    best = over_time(instance, np.zeros(instance.setting.slots))
    curves = [_curves(label, [instance] * len(some), some, best) for label, some in runs.items()]
    axes = plot_regret(curves, ax)
    most = max((bound.max() for one in curves for bound in one.bounds.values()), default=0.0)
    span_bound(axes, max(one.regret.max() for one in curves), most)
    return axes


def _curves(label: str, instances: Sequence[Any], runs: Sequence[Run], best: np.ndarray) -> RegretCurves:
    """Return the regret of one run on each instance; ``best`` is what optima earn until each slot."""
    points = checkpoints(instances[0].setting.slots)
    regret = best - np.cumsum([run.rewards for run in runs], axis=1)
    own = isinstance(instances[0], SelectionInstance) and all(run.policy == "cucb" for run in runs)
    bounds = {"CUCB, bound in expectation": cucb_curve(instances, points)} if own else {}
    return RegretCurves(label, points, regret[:, points - 1], bounds)


def cucb_curve(instances: Sequence[SelectionInstance], points: np.ndarray) -> np.ndarray:
    """Return the bound of CUCB after each of some numbers of slots, per instance, shape (N, P)."""
    return np.array([[cucb_bound(i, t) for t in points.tolist()] for i in instances])


def plot_regret(curves: Sequence[RegretCurves], ax: Axes | None = None) -> Axes:
    """Draw regret over time with 95 % bands over instances, and the mean of what bounds it."""
    axes = new_figure()[1] if ax is None else ax
    for curve in curves:
        plot_bands(axes, curve.slots, {curve.policy: mean_band(curve.regret)}, possible=POSITIVE)
        for name, bound in curve.bounds.items():
            none = np.full(curve.slots.shape, np.nan)
            plot_bands(axes, curve.slots, {name: (bound.mean(axis=0), none, none)})
    return name_axes(axes, "slots t", "regret after t slots (reward)")
