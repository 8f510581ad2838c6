"""Who holds what of which machine over time: what runs and optima are drawn from, whatever the problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..models.draw import choose
from .plots import HATCHES, INK, name_axes, name_rows, numbered_look, plot_bands, stacked_rows, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 80
"""Places are drawn from the first on, as long as there are no more bars than these; at least one."""

MOST_NAMED = 24
"""With more holders than these at a time there is no legend: it would be larger than the picture."""


class Held(NamedTuple):
    """What is held at a time: rows of a place, a holder, and how much of each resource, shape (n, R)."""

    place: np.ndarray
    holder: np.ndarray
    amount: np.ndarray


@dataclass(frozen=True, eq=False)
class Holdings:
    """Who holds what of which place over time.

    Attributes
    ----------
    resources, places, holders
        Their names: R resources of P places, such as machines; jobs or ports hold them.
    capacity
        What each place has of each resource, shape (P, R).
    times
        Where each step begins, and where the last one ends, ascending, shape (S + 1,). A slot reaches from
        half before its number to half after it.
    unit
        "slot", or "s" for seconds.
    at
        What is held in a step, by its number from 0 on.
    """

    resources: tuple[str, ...]
    places: tuple[str, ...]
    holders: tuple[str, ...]
    capacity: np.ndarray
    times: np.ndarray
    unit: str
    at: Callable[[int], Held]

    def held(self, time: float) -> Held:
        """Return what is held at a time: nothing before the first step and after the last."""
        step = int(np.searchsorted(self.times, time, side="right")) - 1
        if 0 <= step < len(self.times) - 1:
            return self.at(step)
        none = np.zeros(0, dtype=np.int64)
        return Held(none, none, np.zeros((0, len(self.resources))))

    def chosen(self, resource: str | None) -> list[int]:
        """Return the numbers of a resource, by default of all that the places have; refuse unknown ones."""
        if resource is not None:
            return [self.resources.index(choose(resource, self.resources, "resource"))]
        return np.flatnonzero(self.capacity.sum(axis=0) > 0).tolist()

    def shares(self, resource: str | None = None) -> np.ndarray:
        """Return the share of a resource that is held in each step, shape (S,).

        By default the mean share of all resources that the places have. What nobody has is not held.
        """
        kinds = self.chosen(resource)
        total = self.capacity.sum(axis=0)[kinds]
        used = [self.at(step).amount.sum(axis=0)[kinds] for step in range(len(self.times) - 1)]
        taken = np.array(used, dtype=np.float64).reshape(-1, len(kinds))
        share = np.divide(taken, total, out=np.zeros_like(taken), where=total > 0)
        return share.mean(axis=1) if kinds else np.zeros(len(taken))


def plot_shares(ax: Axes, found: Mapping[str, Holdings], resource: str | None = None) -> Axes:
    """Draw the share of a resource in use over time, a line for each; see :meth:`Holdings.shares`."""
    unit, size = _axis(found)
    most = 1.0
    for label, one in found.items():
        values = np.repeat(one.shares(resource), 2)
        none = np.full(values.shape, np.nan)
        plot_bands(ax, np.repeat(one.times / size, 2)[1:-1], {label: (values, none, none)})
        most = max(most, values.max(initial=0.0))
    ax.set_ylim(0.0, 1.04 * most)
    return name_axes(
        ax, "slot" if unit == "slot" else f"time ({unit})", f"share of {resource or 'capacity'} in use"
    )


def bars_of(one: Holdings, resource: str | None = None) -> list[tuple[int, int]]:
    """Return the bars that are drawn, as pairs of a place and a resource that it has."""
    kinds = one.chosen(resource)
    shown = max(1, MOST_BARS // max(1, len(kinds)))
    return [(p, r) for p in range(len(one.places))[:shown] for r in kinds if one.capacity[p, r] > 0]


def plot_held(ax: Axes, found: Mapping[str, Holdings], time: float, resource: str | None = None) -> Axes:
    """Draw who holds what at a time: a bar per place and resource, stacked by holder.

    Of several they stand below each other, under their labels. Of more than :data:`MOST_BARS` bars the first
    places are drawn, and the axis says so.
    """
    first = next(iter(found.values()))
    pools = bars_of(first, resource)
    alone = len({r for _, r in pools}) == 1
    names = [_pool(first, p, r, alone=alone) for p, r in pools]
    rows, tops = stacked_rows(dict.fromkeys(found, names))
    bars: dict[int, list[tuple[float, float, float]]] = {}
    for top, one in zip(tops, found.values(), strict=True):
        now = one.held(time)
        for row, (p, r) in enumerate(pools, start=top):
            left = 0.0
            for n in np.flatnonzero((now.place == p) & (now.amount[:, r] > 0)).tolist():
                width = float(now.amount[n, r] / one.capacity[p, r])
                bars.setdefault(int(now.holder[n]), []).append((row, left, width))
                left += width
    for holder, parts in sorted(bars.items()):
        at, left_ends, widths = zip(*parts, strict=True)
        look = numbered_look(holder)
        style: Any = {"color": look.colour, "hatch": HATCHES[look.place], "edgecolor": INK, "linewidth": 0.5}
        ax.barh(at, widths, 0.8, left_ends, label=first.holders[holder], **style)
    name_rows(ax, rows, found if len(found) > 1 else ())
    ax.set_xlim(0.0, max([1.0, *(left + width for parts in bars.values() for _, left, width in parts)]))
    ax.grid(visible=False, axis="y")
    unit, size = _axis(found)
    last = max((p for p, _ in pools), default=0)
    more = (first.capacity[last + 1 :, first.chosen(resource)] > 0).any()
    cut = f"; up to {first.places[last]} of {len(first.places)}" if more else ""
    moment = f"slot {time:g}" if unit == "slot" else f"{time / size:.4g} {unit}"
    ax.set_xlabel(f"share of capacity, {moment}{cut}")
    if 0 < len(bars) <= MOST_NAMED:
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4)
    return ax


def _axis(found: Mapping[str, Holdings]) -> tuple[str, float]:
    """Return the unit of the time axis that all share, and how much of their own is one on it."""
    if any(one.unit == "slot" for one in found.values()):
        return "slot", 1.0
    return time_unit(max(float(one.times[-1]) for one in found.values()))


def _pool(one: Holdings, place: int, resource: int, *, alone: bool) -> str:
    """Return the name of a bar: without that of the resource if there is one, of the place likewise."""
    parts = ([one.places[place]] if len(one.places) > 1 else []) + (
        [] if alone else [one.resources[resource]]
    )
    return ", ".join(parts) or one.resources[resource]
