"""Regret of a policy against the stationary and per-slot optimum, beside Theorem 1 and its tightened form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...models.allocation import geometry
from ...models.allocation.gang import AllocationGangInstance
from ...models.allocation.gang_search import best_gang
from ...models.allocation.instance import AllocationInstance
from ...models.base import InputError
from ...online.base import Policy
from ...online.play import Run
from ...oracles.allocation import optimum
from ..engine.kept import play
from ..plots import ANY, PALETTE, POSITIVE, legend_above, name_axes, new_figure, plot_bands, span_bound
from ..statistics import mean_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def most_jobs(instance: AllocationInstance) -> np.ndarray:
    """Return the most jobs seen at once at every port up to every slot: what the constant step knows.

    The shape is (T, L). A port counts at least once, a copy of a port only once it is seen.
    """
    seen = np.maximum.accumulate(instance.arrivals, axis=0)
    return seen if instance.setting.copy_of is not None else np.maximum(seen, 1)


def theorem_1(instance: AllocationInstance) -> float:
    """Return the bound (14), D G sqrt(T), on the stationary regret of OGASched with the constant step.

    With several jobs at a port the port's gradient counts with the most jobs seen at once.
    """
    s = instance.setting
    if s.slots == 0:
        return 0.0
    norm = most_jobs(instance)[-1] ** 2 @ geometry.gradient_norms(s)
    return float(geometry.diameter(s) * np.sqrt(norm * s.slots))


def theorem_1_tightened(instance: AllocationInstance) -> float:
    """Return a smaller valid bound for the same runs: D'^2 / (2 eta) + sum_t eta_t G'_t^2 / 2.

    eta_t is the constant step as played; D' and G' use capacities cut to min(c, sum a) and each edge's own
    slopes (see :mod:`clairvoyant.models.allocation.geometry`).
    """
    s = instance.setting
    printed = most_jobs(instance) ** 2 @ geometry.gradient_norms(s)
    active = printed > 0
    if not active.any() or geometry.diameter(s) == 0:
        return 0.0
    eta = geometry.diameter(s) / np.sqrt(printed[active] * s.slots)
    tight = (most_jobs(instance) ** 2 @ geometry.tight_gradient_norms(s))[active]
    return float(geometry.tight_diameter(s) ** 2 / (2 * eta[-1]) + (eta * tight).sum() / 2)


def bounds(instance: AllocationInstance) -> dict[str, float]:
    """Return the proven bounds on the stationary regret with the constant step, by whose they are."""
    tightened = theorem_1_tightened(instance)
    return {"ogasched, theorem 1": theorem_1(instance), "ogasched, theorem 1 tightened": tightened}


@dataclass(frozen=True)
class RegretCurves:
    """Regret over time of one policy on several instances of the same size.

    ``slots`` are the numbers of slots t at which it is given. ``stationary`` and ``dynamic`` are certified
    upper ends of the regret after t slots, shape (instances, slots): against the best stationary decision
    *for those t slots*, and against the per-slot optima, if wanted. ``bound`` and ``tightened`` are Theorem
    1 for the whole horizon and its tightened form, per instance.
    """

    policy: str
    slots: np.ndarray
    stationary: np.ndarray
    dynamic: np.ndarray | None
    bound: np.ndarray
    tightened: np.ndarray


def checkpoints(slots: int, count: int = 25) -> np.ndarray:
    """Return up to ``count`` numbers of slots from 1 to ``slots``, evenly spaced on a log scale."""
    return np.unique(np.geomspace(1, max(slots, 1), count).round().astype(np.int64))


def regret_curves(
    make_policy: Callable[[], Policy],
    instances: Sequence[AllocationInstance],
    *,
    dynamic: bool = False,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _fraction: None,
) -> RegretCurves:
    """Play a policy on every instance and return its regret over time.

    Raises
    ------
    InputError
        If an instance has no slots or the instances differ in length.
    """
    lengths = {i.setting.slots for i in instances}
    if len(lengths) != 1 or 0 in lengths:
        raise InputError(f"instances: lengths {sorted(lengths)} must be equal and positive")
    points = checkpoints(lengths.pop())
    stationary, per_slot = [], []
    for n, instance in enumerate(instances):
        earned = np.cumsum(play(make_policy(), instance, seed).rewards)[points - 1]
        stationary.append(optimum.prefix_optima(instance, points)[1] - earned)
        if dynamic:
            best = np.cumsum(optimum.dynamic(instance).certificate.per_slot[:, 1])[points - 1]
            per_slot.append(best - earned)
        progress((n + 1) / len(instances))
    printed, tightened = np.array([[*bounds(instance).values()] for instance in instances]).T
    upper = np.array(per_slot) if dynamic else None
    return RegretCurves(make_policy().name, points, np.array(stationary), upper, printed, tightened)


def plot_runs(
    instance: AllocationInstance | AllocationGangInstance,
    runs: Mapping[str, Sequence[Run]],
    ax: Axes | None = None,
) -> Axes:
    """Draw what :func:`plot_regret` does of runs on one instance, by label; they stand for instances."""
    if not instance.setting.slots:
        raise InputError("instance: it has no slots, over which there is no regret")
    points = checkpoints(instance.setting.slots)
    if isinstance(instance, AllocationGangInstance):
        counts = np.cumsum(instance.arrivals, axis=0, dtype=np.float64)[points - 1]
        best = np.array([best_gang(instance.setting, row).bound for row in counts])
    else:
        best = optimum.prefix_optima(instance, points)[1]
    curves = []
    for label, some in runs.items():
        regret = best - np.cumsum([run.rewards for run in some], axis=1)[:, points - 1]
        proven = [np.empty(0), np.empty(0)]
        if isinstance(instance, AllocationInstance) and all(run.policy == "ogasched" for run in some):
            proven = [np.array([bound]) for bound in bounds(instance).values()]
        curves.append(RegretCurves(label, points, regret, None, *proven))
    axes = plot_regret(curves, ax)
    most = max((one.bound.max(initial=0.0) for one in curves), default=0.0)
    span_bound(axes, max(one.stationary.max() for one in curves), most)
    return axes


def plot_regret(curves: Sequence[RegretCurves], ax: Axes | None = None) -> Axes:
    """Draw regret over time, 95 % bands over instances, and the bounds of Theorem 1 at the horizon."""
    axes = new_figure()[1] if ax is None else ax
    first = curves[0]
    for kind in ("stationary", "dynamic"):
        shown = {f"{c.policy}, {kind} regret": getattr(c, kind) for c in curves}
        bands = {name: mean_band(values) for name, values in shown.items() if values is not None}
        if bands:  # only the best decision of each slot cannot be beaten
            plot_bands(axes, first.slots, bands, possible=POSITIVE if kind == "dynamic" else ANY)
    for one in [one for one in curves if one.bound.size][:1]:
        marks = ("v", "Theorem 1", one.bound), ("^", "Theorem 1, tightened", one.tightened)
        for (mark, name, heights), colour in zip(marks, PALETTE[:-3:-1], strict=True):
            axes.plot(first.slots[-1:], [heights.mean()], mark, color=colour, label=name, clip_on=False)
    name_axes(axes, "slots t", "regret after t slots (reward)")
    legend_above(axes)
    return axes
