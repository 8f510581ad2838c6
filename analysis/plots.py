"""The house style of all figures: readable in light and dark, on a phone and without colours.

A plotting function takes ``ax=None`` and returns the axes::

    def plot_reward(result, ax=None):
        ax = new_figure()[1] if ax is None else ax
        plot_bands(ax, result.slots, {"OGASched": mean_band(result.rewards)})
        return name_axes(ax, "slot", "reward", log="x")

    svg = to_svg(plot_reward(result).figure)

The same figure gives the same bytes. Text and axes take the colour of the page they stand on
(``currentColor``), the background is transparent, and the palette contrasts with white and with black.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..models.base import InputError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Curve = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
"""A mean, and the lower and the upper end of its band (NaN where there is none)."""

Range = tuple[float, float]
ANY: Range = (-np.inf, np.inf)
POSITIVE: Range = (0.0, np.inf)
"""Of what is never below 0: sizes, shares, what jobs that get done are worth, regret per slot."""
AT_MOST_ALL: Range = (-np.inf, 100.0)
"""Of what is saved, in per cent of a cost."""

INK = "#010203"
"""Stands for the colour of the text around the figure; becomes ``currentColor``."""

PALETTE = ("#3469d1", "#f0580d", "#067575", "#d10a2c", "#08a370", "#6040ff", "#2f97cc")
"""Apart for the colour-blind too; contrast at least 3 with white and with near-black (tested)."""

DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (7, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "///", "\\\\\\", "xxx", "---", "+++", "|||", "")

POLICIES = """
ogasched=ogasched-constant drf fairness binpacking spreading ogasched-table-1
perturbed-leader ogasched-printed follow-leader hedge slot-optimum

esdp hswf lcf lwtf cucb thompson escb greedy esdp-printed esdp-gang esdp-g-ln-t
escb-v cucb-v gaussian-thompson escb-v-gang aescb

oasis drf fifo rrh dorm oasis-printed rolling-horizon elasticflow

das fifo-firstfit fifo-loadbalance drf-firstfit drf-loadbalance tetris fifo-consolidate
sjf-consolidate dl2 rifling da da-mc da-rwgp clone-ppo=clone-then-ppo da-mc-capacity
da-mc-estimates sjf-estimate-consolidate mosa malo untrained
drf-consolidate drf-byload drf-patient drf-fgd sjf-estimate-patient easy-estimate-consolidate
rolling-horizon-estimate da-mc-patient evolved evolved-estimates rolling-horizon
"""
"""Policies, and settings of them, in paragraphs of those that figures show together.

The place in a paragraph is the look; "=" joins names of one policy."""

WIDTH = 4.9
"""Inches; on a phone of 360 pixels the text is then about 10 pixels high."""

LONGEST_NAME = 30
"""Characters in a line of the name of a group, beside which its bars have about half of the width."""

LEGEND_LINE = 0.19
"""Inches."""

BAND = "95 % confidence"

MARKED = 0.13
"""How far the markers of a curve are apart, of the diagonal of its panel."""

FEW_POINTS = 8
"""Up to so many, each has a marker."""


class Look(NamedTuple):
    """A colour, and the place of a marker, a dash and a hatch in their lists."""

    colour: str
    place: int


def numbered_look(number: int) -> Look:
    """Return one of all looks, such as that of a numbered job; those in a row differ in both parts."""
    many = len(PALETTE)
    return Look(PALETTE[number % many], (number + number // many) % many)


_known = {
    name: numbered_look(place)
    for together in POLICIES.split("\n\n")
    for place, names in enumerate(together.split())
    for name in names.split("=")
}
_shown: WeakKeyDictionary[Any, dict[str, Look]] = WeakKeyDictionary()
"""The looks in every figure, by label."""


def candidates(label: str) -> list[Look]:
    """Return the looks that a label may have; what else a figure shows chooses among these.

    The oracle and a policy of :data:`POLICIES` have one. A label that begins with such a name, as in
    "ESDP (g = ln t)", has its colour. Any other may have any, in an order of its own.
    """
    text = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
    if text in {"oracle", "optimum"}:
        return [Look(INK, len(MARKERS) - 1)]
    if text in _known:
        return [_known[text]]
    first, many = int(hashlib.sha256(text.encode()).hexdigest(), 16), len(PALETTE)
    for name in sorted(_known, key=len, reverse=True):
        if text.startswith(f"{name}-"):
            colour, place = _known[name]
            return [Look(colour, (place + 1 + (first + i) % (many - 1)) % many) for i in range(many - 1)]
    return [numbered_look((first + i) % many**2) for i in range(many**2)]


def looks_of(labels: Iterable[str], shown: Mapping[str, Look]) -> dict[str, Look]:
    """Return a look for every label beside those that are shown: of its candidates what differs most."""
    found = dict(shown)
    for label in sorted(set(labels) - shown.keys(), key=lambda one: (len(candidates(one)), one)):

        def alike(look: Look) -> int:
            return sum(len({*look} & {*other}) ** 3 for other in found.values())

        found[label] = min(candidates(label), key=alike)
    return found


def _looks(ax: Axes, labels: Iterable[str]) -> dict[str, Look]:
    """Return the looks of labels in a figure, and remember them for its other panels."""
    figure = ax.get_figure(root=True) or ax
    _shown[figure] = looks_of(labels, _shown.get(figure, {}))
    return _shown[figure]


def house_style() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws in the house style."""
    import matplotlib as mpl
    from cycler import cycler

    return mpl.rc_context(
        {
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "axes.facecolor": "none",
            "figure.facecolor": "none",
            "axes.prop_cycle": cycler(color=PALETTE) + cycler(linestyle=DASHES[:-1]),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.formatter.useoffset": False,
            "axes.formatter.limits": (-4, 9),
            "grid.color": INK,
            "grid.alpha": 0.15,
            "grid.linewidth": 0.6,
            "hatch.color": INK,
            "hatch.linewidth": 0.6,
            "lines.linewidth": 1.7,
            "lines.markersize": 5,
            "font.family": ["DejaVu Sans"],  # comes with matplotlib: the layout is the same everywhere
            "font.size": 10.5,
            "legend.fontsize": 10,
            "legend.frameon": False,
            "mathtext.fontset": "dejavusans",
            "svg.fonttype": "none",
            "svg.hashsalt": "clairvoyant",
            "svg.id": None,
        }
    )


def new_figure(panels: int = 1, *, height: float | Sequence[float] = 3.1) -> tuple[Figure, Any]:
    """Return a figure in the house style and its axes; several panels, in a tuple, stand below each other.

    The height is in inches, of each panel or of all alike.
    """
    if panels < 1:
        raise InputError(f"panels: {panels} is not at least 1")
    heights = [height] * panels if isinstance(height, int | float) else list(height)
    if len(heights) != panels:
        raise InputError(f"height: {len(heights)} of them do not fit {panels} panels")
    with house_style():
        figure = _figure_class()(figsize=(WIDTH, sum(heights)), layout="constrained")
        axes = figure.subplots(panels, 1, squeeze=False, height_ratios=heights)[:, 0]
    return figure, axes[0] if panels == 1 else tuple(axes)


@cache
def _figure_class() -> type[Figure]:
    """Return the class of our figures, which notebooks show as SVG even if pyplot is never imported."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_svg_(self) -> str:
            return to_svg(self).replace('width="100%"', f'width="{96 * self.get_figwidth():g}"', 1)

    return ShownFigure


def plot_bands(
    ax: Axes, x: npt.ArrayLike, curves: Mapping[str, Curve], *, band: str = BAND, possible: Range = ANY
) -> Axes:
    """Draw curves with bands, in addition to what is there; curves differ in colour, dashes and marker.

    A policy looks the same in every figure, and any other name in all panels of one, which share a legend. A
    curve is a mean, lower and upper ends, each of the shape of ``x``. No band is drawn where ends are NaN,
    nor beyond the least and the largest ``possible`` value.
    """
    places = np.asarray(x, dtype=np.float64)
    shaded, looks = False, _looks(ax, curves)
    for name, parts in curves.items():
        mean, low, high = _interval(name, parts, places.shape, possible)
        colour, place = looks[name]
        ax.plot(
            places,
            mean,
            label=plain(name),
            color=colour,
            linestyle=DASHES[place],
            marker=MARKERS[place],
            markevery=(MARKED * place / len(MARKERS), MARKED) if places.size > FEW_POINTS else None,
        )
        if np.isfinite(high - low).any():
            ax.fill_between(places, low, high, color=colour, alpha=0.18, linewidth=0)
            shaded = True
    if shaded and band not in ax.get_legend_handles_labels()[1]:
        ax.fill_between([], [], color=INK, alpha=0.18, linewidth=0, label=band)
    legend_above(ax)
    return ax


def plain(name: str) -> str:
    """Return a name as matplotlib takes it for text; what stands between two dollars is mathematics to it."""
    return name.replace("$", r"\$")


def _interval(name: str, parts: Curve, shape: tuple[int, ...], possible: Range) -> list[np.ndarray]:
    """Return mean, lower end and upper end of a curve, each of a shape; ends within what is possible."""
    mean, *ends = [np.asarray(part, dtype=np.float64) for part in parts]
    if any(array.shape != shape for array in (mean, *ends)):
        raise InputError(
            f"{name}: shapes {', '.join(str(a.shape) for a in (mean, *ends))} are not all {shape}"
        )
    return [mean, *(np.clip(end, *possible) for end in ends)]


def legend_above(ax: Axes) -> None:
    """Put a legend above the axes and their title, where it covers nothing."""
    names = ax.get_legend_handles_labels()[1]
    away = 2.1 if ax.get_title("left") else 0.2  # in heights of a letter
    with house_style():
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=away, ncols=_columns(names))


def _columns(names: Sequence[str]) -> int:
    longest = max(map(len, names), default=0)
    return 3 if longest <= 12 else 2 if longest <= 23 else 1


def plot_bars(
    ax: Axes, groups: Sequence[str], series: Mapping[str, Curve], *, band: str = BAND, possible: Range = ANY
) -> Axes:
    """Draw horizontal bars with error bars as :func:`plot_bands` draws curves, by group from top to bottom.

    Long names stay readable on a phone. Bars of several series differ in colour and hatching.
    """
    looks = _looks(ax, series)
    thick = 0.8 / max(1, len(series))
    places = np.arange(len(groups), dtype=np.float64)
    barred = None
    for index, (name, parts) in enumerate(series.items()):
        mean, low, high = _interval(name, parts, places.shape, possible)
        at = places - 0.4 + thick * (index + 0.5)
        ax.barh(at, mean, 0.9 * thick, label=plain(name), linewidth=0.5, **_filled(looks[name]))
        known = np.isfinite(high - low)
        if known.any():
            reach = [(mean - low)[known], (high - mean)[known]]
            barred = ax.errorbar(
                mean[known], at[known], xerr=reach, fmt="none", ecolor=INK, capsize=3, label="_"
            )
    if barred is not None:
        barred.set_label(band)  # the last one, so that it ends the legend
    ax.set_yticks(places, [plain(fill(group, LONGEST_NAME, break_long_words=False)) for group in groups])
    ax.set_ylim(len(groups) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    legend_above(ax)
    return ax


def _filled(look: Look) -> dict[str, Any]:
    """Return how an area is drawn; that of the oracle is empty."""
    colour = "none" if look.colour == INK else look.colour
    return {"facecolor": colour, "hatch": HATCHES[look.place], "edgecolor": INK}


def stacked_rows(blocks: Mapping[str, Sequence[str]]) -> tuple[list[str], list[int]]:
    """Return the names of all rows of blocks that stand below each other, and where each block begins.

    Where there are several, a row with its label stands above each.

    >>> stacked_rows({"FIFO": ["job 0"], "optimum": ["job 0"]})
    (['FIFO', 'job 0', 'optimum', 'job 0'], [1, 3])
    """
    names: list[str] = []
    tops = []
    for label, rows in blocks.items():
        names += [label] if len(blocks) > 1 else []
        tops.append(len(names))
        names += rows
    return names, tops


def name_rows(ax: Axes, names: Sequence[str], heads: Iterable[str]) -> None:
    """Name rows from top to bottom, those of ``heads`` in bold."""
    ax.set_yticks(np.arange(len(names)), [*map(plain, names)])
    ax.set_ylim(max(1, len(names)) - 0.45, -0.55)
    embolden(ax, heads)


def embolden(ax: Axes, heads: Iterable[str]) -> None:
    """Write these names of rows in bold."""
    known = {*map(plain, heads)}
    for text in ax.get_yticklabels():
        text.set_fontweight("bold" if text.get_text() in known else "normal")


def span_bound(ax: Axes, regret: float, bound: float) -> None:
    """Make the y axis logarithmic above the largest regret where a bound is far above it."""
    if not bound > 10.0 * regret > 0.0:
        return
    from matplotlib.ticker import FixedLocator, MaxNLocator

    ax.set_yscale("symlog", linthresh=regret, linscale=3.0)
    low = np.asarray(MaxNLocator(4).tick_values(0.0, regret), dtype=np.float64)
    powers = 10.0 ** np.arange(np.ceil(np.log10(2.0 * regret)), np.ceil(np.log10(bound)) + 1.0)
    ax.yaxis.set_major_locator(FixedLocator([*low[low <= regret].tolist(), *powers.tolist()]))
    ax.yaxis.set_major_formatter(lambda y, _place: f"{y:g}" if y <= regret else power_of_ten(y))


def time_unit(seconds: float) -> tuple[str, int]:
    """Return the unit of a time axis that ends there, and the seconds in it."""
    for name, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 4 * size:
            return name, size
    return "s", 1


def plot_gantts(
    tables: Mapping[str, npt.ArrayLike],
    rows: Sequence[str],
    kinds: Sequence[str],
    unit: str,
    ax: Axes | None = None,
    *,
    first: int = 1,
) -> Axes:
    """Draw when each row is busy and with how many, tables below each other in the same axes.

    Tables hold counts >= 0, from a first slot on, shape (rows, slots): the bar of a slot is as high as its
    count. Rows stand from top to bottom, of which 0.17 inches of height keep the names apart; their kinds
    differ in colour and hatching. The counted quantity stands above the panel, with the full height of a row.
    """
    from matplotlib.collections import PolyCollection

    counts = np.array([*tables.values()], dtype=np.float64)
    if counts.ndim != 3 or not counts.shape[1] == len(rows) == len(kinds):
        raise InputError(
            f"counts: shape {counts.shape[1:]} does not fit {len(rows)} rows, {len(kinds)} kinds"
        )
    names, tops = stacked_rows(dict.fromkeys(tables, rows))
    axes = new_figure(height=1.2 + 0.17 * len(names))[1] if ax is None else ax
    most = max(1.0, counts.max(initial=0.0))
    different = sorted({*kinds})
    looks = _looks(axes, different)
    for kind in different:
        outlines = [
            outline
            for top, table in zip(tops, counts, strict=True)
            for row in np.flatnonzero(np.array(kinds) == kind).tolist()
            for outline in _skylines(table[row] * 0.85 / most, top + row + 0.45, first - 0.5)
        ]
        look = _filled(looks[kind])
        axes.add_collection(PolyCollection(outlines, linewidth=0.4, label=plain(kind), **look))
    name_rows(axes, names, tables if len(tables) > 1 else ())
    axes.set_xlim(first - 0.5, max(1, counts.shape[2]) + first - 0.5)
    axes.set_xlabel("slot")
    axes.set_title(f"{unit}; full height: {most:g}", loc="left", fontsize=10.5)
    if len(different) > 1:
        legend_above(axes)
    return axes


def _skylines(heights: np.ndarray, base: float, left: float) -> list[np.ndarray]:
    """Return the outline of every unbroken stretch of bars above a base line; the y axis points down."""
    busy = np.concatenate([[False], heights > 0.0, [False]])
    outlines = []
    for first, last in np.flatnonzero(busy[1:] != busy[:-1]).reshape(-1, 2).tolist():
        x = np.repeat(np.arange(first, last + 1) + left, 2)
        y = np.concatenate([[base], np.repeat(base - heights[first:last], 2), [base]])
        outlines.append(np.column_stack([x, y]))
    return outlines


def name_axes(ax: Axes, x: str, y: str, *, log: str = "") -> Axes:
    """Label both axes, units included, and make those named in ``log`` ("", "x", "y" or "xy") logarithmic."""
    if log not in ("", "x", "y", "xy"):
        raise InputError(f"log: {log!r} is not one of '', 'x', 'y', 'xy'")
    ax.set(xlabel=x, ylabel=y)
    if "x" in log:
        ax.set_xscale("log")
    if "y" in log:
        ax.set_yscale("log")
    return ax


def to_svg(figure: Figure) -> str:
    """Return the figure as SVG text that can stand in a page: same figure, same bytes.

    All legends become one, above the panels, for which it grows. Text stays text, the size follows the page.
    """
    buffer = io.StringIO()
    width, height = figure.get_size_inches()
    with house_style():
        figure.set_size_inches(width, height + LEGEND_LINE * _one_legend(figure))
        for ax in figure.axes:
            if (spec := ax.get_subplotspec()) is not None:  # not where an earlier drawing ended
                ax.set_position(spec.get_position(figure))
                ax.set_in_layout(True)
            _plain_log_labels(ax.xaxis)
            _plain_log_labels(ax.yaxis)
        _print(figure, buffer)
    figure.set_size_inches(width, height)
    return _for_a_page(buffer.getvalue())


def _print(figure: Figure, buffer: io.StringIO) -> None:
    """Write SVG as ``savefig`` does, which draws everything once more, for the layout alone."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    before, dpi = figure.canvas, figure.get_dpi()
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    figure.set_dpi(dpi)
    figure.set_canvas(before)


def _one_legend(figure: Figure) -> int:
    """Replace the legends of the panels by one above them and return its lines; a single name needs none."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
    for old in list(figure.legends):
        old.remove()
    if len(entries) < 2:
        return 0
    columns = _columns([*entries])
    figure.legend(entries.values(), entries.keys(), loc="outside upper left", ncols=columns)
    return -(-len(entries) // columns)


def _plain_log_labels(axis: Axis) -> None:
    """Write 10⁶ as text instead of two pieces of mathematics, where matplotlib chose the labels."""
    from matplotlib.ticker import LogFormatter, LogFormatterSciNotation, NullLocator

    low, high = sorted(axis.get_view_interval())
    powers = low < 1e-3 or high >= 1e4  # on all ticks of an axis or on none

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            if not super().__call__(x, pos):
                return ""
            return power_of_ten(x) if powers else f"{x:g}"

    if isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
        axis.set_major_formatter(Plain(labelOnlyBase=False))
        axis.set_minor_formatter(Plain(labelOnlyBase=False, minor_thresholds=(1.0, 0.4)))
        if low > 0 and high / low > 1000:
            axis.set_minor_locator(NullLocator())


def power_of_ten(value: float) -> str:
    """Return a short text for a number on a logarithmic axis.

    >>> power_of_ten(500), power_of_ten(1e6), power_of_ten(2e-7)
    ('5×10²', '10⁶', '2×10⁻⁷')
    """
    factor, exponent = f"{value:.3e}".split("e")
    raised = superscript(int(exponent))
    return f"10{raised}" if float(factor) == 1.0 else f"{float(factor):g}×10{raised}"


def superscript(number: int) -> str:
    """Return a number as an exponent."""
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


_SIZE = re.compile(r'<svg [^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>')
_REPLACED = {
    r"\s*<metadata>.*?</metadata>": "",
    r"\s*<defs>\s*<style.*?</style>\s*</defs>": "",
    r"\s*<!--.*?-->": "",
    r' transform="rotate\(-0 [^"]*"': "",
    "xlink:href": "href",
    r"font-family: [^;\"]*": "font-family: inherit",
    rf"({INK}|#000000)\b": "currentColor",
}


def _for_a_page(text: str) -> str:
    """Turn matplotlib's file into an element: no prologue, metadata, page-wide style or unused ids."""
    size = _SIZE.search(text)
    if size is None:
        raise ValueError("matplotlib's SVG has no viewBox")
    body = text[size.end() :]
    for what, instead in _REPLACED.items():
        body = re.sub(what, instead, body, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', body))
    body = re.sub(r' id="([^"]+)"', lambda match: match[0] if match[1] in used else "", body)
    body = re.sub(r"\n\s*", "\n", body)
    body = re.sub(r' (d|x|y|transform)="[^"]*"', _rounded, body)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[1]} {size[2]}" width="100%" '
    head += 'fill="currentColor" stroke-linejoin="round" font-family="system-ui, sans-serif">'
    return prefix_ids(head + body, "f" + hashlib.sha256(body.encode()).hexdigest()[:10])


def _rounded(attribute: re.Match[str]) -> str:
    """Return coordinates in hundredths of a pixel, which nobody sees."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", attribute[0])


def prefix_ids(svg: str, prefix: str) -> str:
    """Prefix every id in an SVG text and everything that refers to it, so that figures can share a page."""
    svg = re.sub(r'(\sid=")', rf"\g<1>{prefix}-", svg)
    return re.sub(r'((?:href="|url\()#)', rf"\g<1>{prefix}-", svg)
