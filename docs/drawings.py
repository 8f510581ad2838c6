"""The ten pictures of the page of concepts, drawn of what the toolkit finds, in the colour of the page."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

import clairvoyant as cv
from clairvoyant.analysis.plots import (
    INK,
    PALETTE,
    candidates,
    house_style,
    name_axes,
    new_figure,
    plot_bands,
    to_svg,
)
from clairvoyant.analysis.selection.regret import over_time

BLUE, ORANGE, TEAL, RED, GREEN = PALETTE[:5]


def bare(ax: Axes, wide: float, high: float) -> Axes:
    """Take the frame off and set the units."""
    ax.set(xlim=(0, wide), ylim=(0, high), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return ax


def box(
    ax: Axes, x: float, y: float, text: str, colour: str = INK, wide: float = 2.6, high: float = 0.9
) -> None:
    """Draw a box around a text, with its middle at (x, y)."""
    ax.add_patch(Rectangle((x - wide / 2, y - high / 2), wide, high, fill=False, edgecolor=colour, lw=1.5))
    ax.text(x, y, text, ha="center", va="center", fontsize=10)


def arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], text: str = "", lift: float = 0.25
) -> None:
    """Draw an arrow, with a text beside it."""
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=12, color=INK, lw=1.2))
    ax.text(
        (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + lift, text, ha="center", va="center", fontsize=9.5
    )


def colour_of(policy: str) -> str:
    """Return the colour that a policy has in all plots."""
    return candidates(policy)[0].colour


def instance() -> Any:
    """Draw ports, servers and edges, and below them who arrives when."""
    one = cv.generate("allocation", size="tiny", seed=1, slots=24)
    setting = one.setting
    figure, (left, right) = new_figure(2, height=2.2)
    bare(left, 4, 1)
    places = {"port": (1.0, setting.ports), "server": (3.0, setting.servers)}
    at = {(side, i): (x, (i + 0.5) / n) for side, (x, n) in places.items() for i in range(n)}
    for port, server in setting.edges:
        (x, y), (u, v) = at["port", int(port)], at["server", int(server)]
        left.plot([x, u], [y, v], "-", color=BLUE, lw=1.5)
    for (side, i), (x, y) in at.items():
        left.plot([x], [y], "o" if side == "port" else "s", color=BLUE, ms=9)
        left.text(x + (-0.2 if side == "port" else 0.2), y, f"{side} {i}", va="center", fontsize=9.5)
        left.texts[-1].set_ha("right" if side == "port" else "left")
    left.set_title("the setting: who may use what")
    slot, port = np.nonzero(one.arrivals)
    right.plot(slot, port, "s", color=ORANGE, ms=6)
    right.set(
        yticks=range(setting.ports), ylim=(-0.5, setting.ports - 0.5), title="what is revealed: who has a job"
    )
    name_axes(right, "slot", "port")
    return figure


def event() -> Any:
    """Draw the events of one problem, and equal slots of another."""
    one = cv.generate("placement", size="tiny", seed=1)
    run = cv.play("fifo-firstfit", one, keep_decisions=True)
    schedule = one.schedule_of(run.decisions)
    figure, (above, below) = new_figure(2, height=1.3)
    minutes = 60_000.0
    for ticks, colour, label in (
        (np.unique(one.jobs.submit), ORANGE, "a job is submitted"),
        (np.unique(schedule.finish), BLUE, "a job ends"),
    ):
        above.vlines(np.asarray(ticks) / minutes, 0, 1, color=colour, lw=1.5, label=label)
    above.set(yticks=[], xlim=(0, None), title="events: a decision where something happens")
    name_axes(above, "minutes", "")
    for t in range(13):
        below.axvline(t, color=INK, lw=1.5)
    below.set(xlim=(-0.3, 12.3), yticks=[], title="slots: a decision in each")
    name_axes(below, "slot", "")
    return figure


def revealed() -> Any:
    """Draw arrivals by slot: what is known now, and what is yet to come."""
    one = cv.generate("selection", size="tiny", seed=1)
    figure, ax = new_figure(height=1.9)
    now, ports = 8, one.setting.ports
    for slot, port in np.argwhere(one.arrivals):
        known = slot < now
        ax.plot(
            [slot], [port], "s", ms=9, color=BLUE if known else INK, fillstyle="full" if known else "none"
        )
    ax.axvline(now - 0.5, color=RED, lw=2)
    ax.text(now - 0.4, ports - 0.35, "now", color=RED, fontsize=10)
    ax.set(yticks=range(ports), ylim=(-0.6, ports), title="full: revealed; empty: yet to come")
    name_axes(ax, "slot", "port")
    return figure


def policy() -> Any:
    """Draw the loop: an instance shows observations, a policy decides, a copy checks and scores."""
    figure, ax = new_figure(height=2.3)
    bare(ax, 10, 4)
    box(ax, 1.5, 3.2, "instance", BLUE)
    box(ax, 8.5, 3.2, "policy", ORANGE)
    box(ax, 1.5, 0.7, "check and score,\non a copy", BLUE, high=1.2)
    arrow(ax, (2.9, 3.2), (7.1, 3.2), "setting, then\none observation at a time", 0.45)
    arrow(ax, (7.9, 2.7), (2.9, 0.9))
    ax.text(4.4, 1.95, "decision", ha="right", fontsize=9.5)
    arrow(ax, (2.9, 0.4), (8.9, 2.7))
    ax.text(7.1, 1.6, "feedback", ha="left", fontsize=9.5)
    arrow(ax, (1.5, 1.35), (1.5, 2.7))
    return figure


def optimum() -> Any:
    """Draw incumbent and dual bound as the gap that is asked for shrinks."""
    one = cv.generate("allocation", size="default", seed=7, slots=200)
    gaps = [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4]
    found = [cv.solve(one, gap=gap) for gap in gaps]
    ax = new_figure(height=2.4)[1]
    values, bounds = (np.array([getattr(o, end) for o in found]) / 1e3 for end in ("value", "bound"))
    ax.fill_between(gaps, values, bounds, color=BLUE, alpha=0.25, lw=0)
    ax.plot(gaps, bounds, "v-", color=RED, label="dual bound: nothing is better")
    ax.plot(gaps, values, "o-", color=BLUE, label="value of the incumbent")
    ax.invert_xaxis()
    ax.legend()
    return name_axes(ax, "relative gap asked for", "reward, thousands", log="x").figure


def regret() -> Any:
    """Draw what the optimum has earned, what the policy has, and the difference."""
    one = cv.generate("selection", seed=1, slots=100, servers=20, capacity=6)
    run = cv.play("cucb", one)
    behind = over_time(one, run.rewards)
    ax = new_figure(height=2.4)[1]
    slots, earned = np.arange(1, len(behind) + 1), np.cumsum(run.rewards)
    ax.plot(slots, earned + behind, "-", color=INK, label="the optimum")
    ax.plot(slots, earned, "--", color=colour_of("cucb"), label="CUCB")
    ax.fill_between(slots, earned, earned + behind, color=ORANGE, alpha=0.35, lw=0, label="regret")
    ax.legend()
    return name_axes(ax, "slot", "reward so far").figure


def ratio() -> Any:
    """Draw certified intervals of the ratio, where the optimum itself is not known."""
    days = [cv.generate("admission", size="tiny", seed=seed) for seed in (0, 1, 3)]
    ax = new_figure(height=1.9)[1]
    names = ("oasis", "fifo", "drf")
    bounds = [cv.solve(day, method="lagrangian", gap=0.05) for day in days]
    for place, name in enumerate(names):
        totals = [cv.play(name, day).total for day in days]
        low = np.mean([b.value / t for b, t in zip(bounds, totals, strict=True)])
        high = np.mean([b.bound / t for b, t in zip(bounds, totals, strict=True)])
        ax.plot([low, high], [place, place], "-", lw=7, color=colour_of(name), solid_capstyle="butt")
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    return name_axes(ax, "optimum / policy: somewhere in the bar", "").figure


def replay() -> Any:
    """Draw when jobs run by the optimum and by a policy, both replayed."""
    one = cv.generate("placement", size="tiny", seed=1)
    best = cv.solve(one)
    run = cv.play("fifo-firstfit", one, keep_decisions=True)
    figure, axes = new_figure(2, height=1.6)
    told = {"the optimum": best.decision, "FIFO-FirstFit": one.schedule_of(run.decisions)}
    for ax, (name, schedule) in zip(axes, told.items(), strict=True):
        jobs = range(len(one.jobs))
        for job in jobs:
            begin, end = (int(t[job]) / 60_000 for t in (schedule.start, schedule.finish))
            ax.barh([job], [end - begin], left=[begin], color=PALETTE[job % len(PALETTE)], height=0.7)
        minutes = sum(int(t) for t in one.completion_times(schedule)) / 60
        ax.set(
            yticks=jobs, ylim=(len(jobs) - 0.5, -0.5), title=f"{name}: {minutes:.1f} job-minutes, replayed"
        )
        name_axes(ax, "minutes", "job").set_xlim(0, 70)
    return figure


def verdict() -> Any:
    """Draw how many statements of each paper have which verdict."""
    colours = {"holds": GREEN, "holds amended": BLUE, "vacuous": PALETTE[6], "undetermined": PALETTE[5]}
    colours |= {"not checkable here": INK, "not reproduced": ORANGE, "refuted": RED}
    ax = new_figure(height=2.6)[1]
    papers = {"OGASched": "allocation", "ESDP": "selection", "OASiS": "admission", "DAS": "placement"}
    for place, problem in enumerate(papers.values()):
        path = Path(__file__).parent / "findings" / f"{problem}.json"
        kept = json.loads(path.read_text(encoding="utf-8"))["findings"]
        counts, left = Counter(one["verdict"] for one in kept if not one["ours"]), 0
        for name, colour in colours.items():
            ax.barh([place], [counts[name]], left=[left], color=colour, label=name if place == 0 else None)
            left += counts[name]
    ax.set(yticks=range(len(papers)), yticklabels=papers, ylim=(len(papers) - 0.5, -0.5))
    ax.legend(ncols=2)
    return name_axes(ax, "statements", "").figure


def sweep() -> Any:
    """Draw a grid of cells, some of which a store knows."""
    figure, ax = new_figure(height=2.2)
    bare(ax, 11, 5.6)
    for x in range(8):
        for y in range(4):
            known = x < 5 or (x == 5 and y > 1)
            ax.add_patch(
                Rectangle((x + 2.2, y + 0.4), 0.9, 0.9, facecolor=TEAL if known else "none", edgecolor=TEAL)
            )
    for y, name in enumerate(("oracle", "MOSA, seed 1", "MOSA, seed 0", "FIFO")):
        ax.text(2, y + 0.85, name, ha="right", va="center", fontsize=9.5)
    ax.text(6.2, 4.7, "instances", ha="center", fontsize=10)
    ax.text(
        6.2,
        0.05,
        "full: kept in the store; empty: still to be computed",
        ha="center",
        fontsize=9.5,
    )
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    one.__name__: one
    for one in (instance, event, revealed, policy, optimum, regret, ratio, replay, verdict, sweep)
}


def picture(name: str) -> str:
    """Return a picture as SVG that can stand in a page, described by what draws it."""
    with house_style():
        return in_a_page(PICTURES[name](), (PICTURES[name].__doc__ or "").removeprefix("Draw "))


ROOM = 9
"""Curves in a panel."""


def growth(kept: Mapping[str, Any]) -> str:
    """Return time and memory over size, log-log: oracles first, then the policies, the fastest first."""
    curves: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for one in kept["cells"]:
        if one["size"]:
            each = one["seconds"] / max(1, one.get("decisions", 1))
            curves.setdefault((one["kind"], one["name"]), []).append((one["size"], each, one["memory"]))
    ranked = sorted((who for who in curves if who[0] == "policy"), key=lambda who: curves[who][-1][1])
    panels = [[who for who in curves if who[0] == "oracle"]]
    panels += [ranked[at : at + ROOM] for at in range(0, len(ranked), ROOM)]
    shown = []
    for who in panels:
        figure, axes = new_figure(2, height=(2.6, 1.7))
        for ax, column, what in zip(axes, (1, 2), ("s", "GB"), strict=True):
            for kind, name in who:
                x, *columns = np.array(curves[kind, name]).T
                plot_bands(ax, x, {name: (columns[column - 1], *[np.full(len(x), np.nan)] * 2)})
            name_axes(ax, kept["counts"], what, log="xy")
        axes[0].set_ylabel("CPU s" if who is panels[0] else "CPU s per decision")
        shown.append(in_a_page(figure, f"time and memory over the size of {kept['problem']}"))
    return "\n".join(shown)


def in_a_page(figure: Any, label: str) -> str:
    """Return a figure as SVG that can stand in a page, with a description."""
    svg = to_svg(figure)
    lines = [
        line
        for line in svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1).splitlines()
        if line.strip()
    ]
    return '<div class="concepts">\n' + "\n".join(lines) + "\n</div>\n"
