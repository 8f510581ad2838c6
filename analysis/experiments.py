"""The common part of all experiments: seeds, progress, the spread of samples, their figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..online.base import Policy
from ..online.play import policy_stream
from .claim import Context, Figure
from .plots import ANY, Curve, Range, name_axes, new_figure, plot_bands, plot_bars, to_svg
from .statistics import mean_band, mean_interval

T = TypeVar("T")


@dataclass(frozen=True)
class Contender:
    """A policy with its settings, known by its label."""

    label: str
    make: Callable[[], Policy] = field(compare=False)


@dataclass(frozen=True)
class Listed:
    """A policy of a table, which the class names, with its settings, known by its label."""

    table: ClassVar[Mapping[str, Callable[..., Policy]]]
    label: str
    policy: str
    settings: tuple[tuple[str, Any], ...] = ()

    def make(self) -> Policy:
        """Return the policy."""
        return self.table[self.policy](**dict(self.settings))


SEEDS_APART = 1000
"""Contexts with different seeds use different instances, as long as a check draws fewer than this."""


def seeds(context: Context, quick: int, default: int, full: int) -> range:
    """Return the instance seeds of a check; how many depends on the mode."""
    first = SEEDS_APART * context.seed
    return range(first, first + int(context.pick(quick, default, full)))


def apart(context: Context, quick: int, default: int, full: int) -> range:
    """Return instance seeds as :func:`seeds` does, but of instances that no other check plays on.

    Nobody has chosen the settings of a policy by them, or how many a check needs.
    """
    usual, ahead = seeds(context, quick, default, full), 3 * SEEDS_APART // 4
    return range(usual.start + ahead, usual.stop + ahead)


def policy_seed(seed: int) -> int:
    """Return the seed of the policies on the instance of this seed: another stream than the instance's."""
    return int(np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(1)[0])


def timed(policy: Policy, instance: Any, seed: int) -> Iterator[tuple[Any, float]]:
    """Yield what a policy that learns nothing observes in a run, and the CPU seconds of each decision."""
    policy.start(instance.setting, policy_stream(seed))
    episode = instance.episode(policy.traits.sees)
    for observation in episode:
        start = time.process_time()
        decision = policy.decide(observation)
        yield observation, time.process_time() - start
        episode.apply(decision)


def lead(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return by how many per cent of their mean over the seeds ``ours`` is above ``theirs``, seed by seed.

    The mean of the result is the ratio of the means less one; single rewards may be near zero or negative.
    The seeds run along the first axis.
    """
    return np.asarray(100.0 * (ours - theirs) / abs(theirs.mean(axis=0)))


def spread(samples: np.ndarray, digits: int = 1, sign: bool = False) -> str:
    """Return mean and half width of the 95 % interval over seeds as text; of one seed, what it is."""
    mean, low, _ = mean_interval(samples)
    half = "" if np.isnan(low) else f" ± {mean - low:.{digits}f}"
    return f"{mean:{'+' if sign else ''}.{digits}f}{half}"


def curves(
    name: str,
    caption: str,
    x: Sequence[float] | np.ndarray,
    panels: Mapping[str, Mapping[str, np.ndarray]],
    x_axis: str,
    log: str = "",
    *,
    problem: str,
    note: str,
    possible: Range = ANY,
) -> Figure:
    """Return a figure with one panel per y axis label, of curves with bands over seeds.

    ``panels[y axis][curve]`` has shape (seeds, points); a second line of a y axis label is the title of the
    panel. The problem begins the figure's name, the note ends its caption. Bands end at what is possible.
    """
    figure, axes = new_figure(len(panels))
    for ax, (told, lines) in zip(np.atleast_1d(np.array(axes, dtype=object)), panels.items(), strict=True):
        plot_bands(ax, x, {who: mean_band(samples) for who, samples in lines.items()}, possible=possible)
        y_axis, _, title = told.partition("\n")
        name_axes(ax, x_axis, y_axis, log=log)
        ax.set_title(title, loc="left", fontsize="medium")
    return Figure(f"{problem}-{name}", f"{caption} {note.removesuffix('.')}.", to_svg(figure))


def bars_of(
    name: str,
    caption: str,
    groups: Sequence[str],
    series: Mapping[str, Curve],
    axis: str,
    *,
    problem: str,
    note: str,
    **more: Any,
) -> Figure:
    """Return a figure of bars whose ends are known; ``more`` are options of :func:`.plots.plot_bars`."""
    figure, ax = new_figure(height=max(3.3, 0.16 * len(groups) * (len(series) + 1)))
    plot_bars(ax, groups, series, **more)
    ax.set_xlabel(axis, loc="right")  # beside long names the panel is narrower than its label
    return Figure(f"{problem}-{name}", f"{caption} {note.removesuffix('.')}.", to_svg(figure))


def track(context: Context, items: Iterable[T]) -> Iterator[T]:
    """Yield the items, reporting how many are done."""
    known = list(items)
    for done, item in enumerate(known):
        context.progress(done / len(known))
        yield item
    context.progress(1.0)
