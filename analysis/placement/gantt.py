"""Gantt charts: which job has which GPU of which machine when."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count as naturals
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...models.base import InputError
from ...models.placement.instance import PlacementInstance
from ...models.placement.jobs import TICKS
from ...models.placement.schedule import Schedule
from ..plots import INK, PALETTE, embolden, new_figure, plain, stacked_rows, time_unit
from .measures import schedule_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 80
"""Machines are drawn from the first on, as long as there are no more rows than these; at least one."""

NAMED_ROWS = 24  # with more rows than these only machines have names


def lanes(instance: PlacementInstance, schedule: Schedule) -> np.ndarray:
    """Return rows (job, machine, lane), sorted: who has which lane of a machine for as long as the job runs.

    The first lanes of a machine are its GPUs. At its start a job takes the lowest ones that are free on each
    of its machines; a job without GPUs takes one of those behind, which have no end. More GPUs in use than
    there are is an InputError.
    """
    gpus = instance.setting.capacity[:, 0].tolist()
    in_use: list[set[int]] = [set() for _ in gpus]
    held: dict[int, list[tuple[int, int]]] = {}
    rows: list[tuple[int, int, int]] = []
    n = len(schedule.start)
    order = np.tile(np.arange(n), 2), np.repeat([0, 1], n), np.concatenate([schedule.finish, schedule.start])
    for event in np.lexsort(order).tolist():  # ends come first
        job = event % n
        if event < n:
            for k, lane in held.pop(job):
                in_use[k].remove(lane)
            continue
        held[job] = []
        for k, count in schedule.of_job(job).tolist():
            wanted = count * int(instance.jobs.need[job, 0])
            some = range(gpus[k]) if wanted else naturals(gpus[k])
            taken = list(islice((lane for lane in some if lane not in in_use[k]), max(1, wanted)))
            if len(taken) < wanted:
                raise InputError(
                    f"schedule: job {job} takes {wanted} GPUs of machine {k}, {len(taken)} are free"
                )
            in_use[k].update(taken)
            held[job] += [(k, lane) for lane in taken]
        rows += [(job, *place) for place in held[job]]
    return np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)


class Bar(NamedTuple):
    """A rectangle: a job on neighbouring rows ``first`` to ``last`` (inclusive) of the chart."""

    job: int
    first: int
    last: int


class Chart(NamedTuple):
    """The names of the rows of a chart, the first row of each machine and their number, and the bars."""

    names: list[str]
    tops: list[int]
    bars: list[Bar]


def chart(instance: PlacementInstance, schedule: Schedule, machines: int) -> Chart:
    """Lay out the first machines: a row per GPU, and below them the lanes of jobs without GPUs."""
    laid, names, tops, bars = lanes(instance, schedule), list[str](), [0], list[Bar]()
    for k, gpus in enumerate(instance.setting.capacity[:machines, 0].tolist()):
        here = laid[laid[:, 1] == k]
        for job, _, lane in here.tolist():
            row = tops[-1] + lane
            if lane and bars and (bars[-1].job, bars[-1].last) == (job, row - 1):
                bars[-1] = bars[-1]._replace(last=row)
            else:
                bars.append(Bar(job, row, row))
        more = max(0, int(here[:, 2].max(initial=-1)) + 1 - gpus)
        names += [f"machine {k}, GPU {g}" for g in range(gpus)] + [f"machine {k}, no GPU"] * more
        tops.append(len(names))
    return Chart(names, tops, bars)


def shown_machines(instance: PlacementInstance) -> int:
    """Return how many machines a chart shows."""
    rows = np.cumsum(np.maximum(1, instance.setting.capacity[:, 0]))
    return max(1, int(np.searchsorted(rows, MOST_ROWS, side="right")))


def plot_schedules(instance: PlacementInstance, decided: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw schedules below each other in the same axes, each under its title, over the same time.

    A row is a GPU, a bar a job, with its number by submission where there is room for it. Of the jobs without
    GPUs each takes a row below the GPUs of its machine. Clusters with more than :data:`MOST_ROWS` GPUs are
    cut off after a machine, and the time axis says so.
    """
    schedules = {title: schedule_of(instance, one) for title, one in decided.items()}
    machines = shown_machines(instance)
    charts = {title: chart(instance, schedule, machines) for title, schedule in schedules.items()}
    rows = sum(len(laid.names) + 1 for laid in charts.values())
    axes = new_figure(height=0.8 + rows * row_height(rows))[1] if ax is None else ax
    last = max(int(schedule.finish.max(initial=0)) for schedule in schedules.values())
    unit, seconds = time_unit(last / TICKS)
    axes.set_xlim(0.0, 1.015 * last / (seconds * TICKS) or 1.0)
    _draw(axes, charts, schedules, seconds * TICKS)
    many = len(instance.setting.capacity)
    cut = f" (machines 0 to {machines - 1} of {many})" if machines < many else ""
    axes.set_xlabel(f"time ({unit}){cut}")
    return axes


def row_height(rows: int) -> float:
    """Return the inches of a row of a chart with so many."""
    return 0.19 if rows <= NAMED_ROWS else 0.1


def _draw(ax: Axes, charts: Mapping[str, Chart], schedules: Mapping[str, Schedule], unit: int) -> None:
    """Draw charts below each other, in a unit of so many ticks; several have their titles above them."""
    from matplotlib.collections import PolyCollection

    names, tops = stacked_rows({title: laid.names for title, laid in charts.items()})
    middles: dict[float, str] = {}
    style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": 9, "fontweight": "bold"}
    for top, (title, laid) in zip(tops, charts.items(), strict=True):
        schedule, boxes, colours = schedules[title], [], []
        for job, first, last in laid.bars:
            left, right = schedule.start[job] / unit, schedule.finish[job] / unit
            low, high = top + first - 0.5, top + last + 0.5
            boxes.append([(left, low), (right, low), (right, high), (left, high)])
            colours.append(PALETTE[job % len(PALETTE)])
            wide, number = 3.4 * float(right - left) / ax.get_xlim()[1], str(job)
            if wide > 0.085 * len(number) + 0.03 and row_height(len(names)) * (high - low) > 0.13:
                ax.text((left + right) / 2, (low + high) / 2, number, color="white", clip_on=True, **style)
        ax.add_collection(PolyCollection(boxes, facecolor=colours, edgecolor=INK, linewidth=0.6))
        for line in laid.tops[1:-1]:
            ax.axhline(top + line - 0.5, color=INK, linewidth=0.8)
        middles |= {top - 1.0: title} if len(charts) > 1 else {}
        ends = enumerate(zip(laid.tops[:-1], laid.tops[1:], strict=True))
        middles |= {top + (a + b - 1) / 2: f"machine {k}" for k, (a, b) in ends}
    if len(names) <= NAMED_ROWS:
        ax.set_yticks(np.arange(len(names)), [*map(plain, names)])
    else:
        ax.set_yticks([*middles], [*map(plain, middles.values())])
    embolden(ax, charts if len(charts) > 1 else ())
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(1, len(names)) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
