"""Gantt charts: which job has which GPU of which machine when."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...models.base import InputError
from ...models.placement.instance import PlacementInstance
from ...models.placement.jobs import TICKS
from ...models.placement.schedule import Schedule
from ..plots import INK, PALETTE, embolden, house_style, new_figure, stacked_rows, time_unit
from .measures import queue_length, schedule_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 80
"""Machines are drawn from the first on, as long as there are no more rows than these; at least one."""

NAMED_ROWS = 24
"""With more rows than these only machines have names."""


class Lanes(NamedTuple):
    """Who has which lane of a machine: rows (job, machine, lane), for as long as the job runs.

    ``gpus`` has one per GPU of a job; ``others``, of jobs without GPUs, one per machine that they run on.
    """

    gpus: np.ndarray
    others: np.ndarray


def lanes(instance: PlacementInstance, schedule: Schedule) -> Lanes:
    """Return which GPUs each job has: at its start the lowest ones that are free on each of its machines.

    Jobs without GPUs take the lowest free lane of a list of its own for each machine, which has no end. More
    GPUs in use than there are is an InputError.
    """
    machines = len(instance.setting.capacity)
    free = [list(range(int(gpus))) for gpus in instance.setting.capacity[:, 0]]
    spare: list[list[int]] = [[] for _ in range(machines)]
    opened = [0] * machines
    in_use: dict[int, list[tuple[list[int], int]]] = {}
    gpus: list[tuple[int, int, int]] = []
    others: list[tuple[int, int, int]] = []
    n = len(schedule.start)
    starts = np.repeat([False, True], n)
    times = np.concatenate([schedule.finish, schedule.start])
    for event in np.lexsort((np.tile(np.arange(n), 2), starts, times)).tolist():  # ends come first
        job = event % n
        if event < n:
            for heap, number in in_use.pop(job):
                heapq.heappush(heap, number)
            continue
        in_use[job] = []
        for k, count in schedule.of_job(job).tolist():
            wanted = count * int(instance.jobs.need[job, 0])
            if wanted > len(free[k]):
                raise InputError(
                    f"schedule: job {job} takes {wanted} GPUs of machine {k}, {len(free[k])} are free"
                )
            if not wanted and not spare[k]:
                spare[k].append(opened[k])
                opened[k] += 1
            heap, into = (free[k], gpus) if wanted else (spare[k], others)
            taken = [heapq.heappop(heap) for _ in range(max(1, wanted))]
            in_use[job] += [(heap, number) for number in taken]
            into += [(job, k, number) for number in taken]
    return Lanes(*(np.array(rows, dtype=np.int64).reshape(-1, 3) for rows in (gpus, others)))


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
    numbered = lanes(instance, schedule)
    capacity = instance.setting.capacity[:, 0].tolist()
    names: list[str] = []
    tops = [0]
    bars: list[Bar] = []
    for k in range(machines):
        gpus = numbered.gpus[numbered.gpus[:, 1] == k]
        others = numbered.others[numbered.others[:, 1] == k]
        extra = int(others[:, 2].max(initial=-1)) + 1
        names += [f"machine {k}, GPU {g}" for g in range(capacity[k])] + [f"machine {k}, no GPU"] * extra
        bars += _bars(gpus, tops[-1]) + _bars(others, tops[-1] + capacity[k])
        tops.append(len(names))
    return Chart(names, tops, bars)


def _bars(rows: np.ndarray, top: int) -> list[Bar]:
    """Join the neighbouring rows of each job."""
    ordered = rows[np.lexsort((rows[:, 2], rows[:, 0]))]
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = (np.diff(ordered[:, 0]) != 0) | (np.diff(ordered[:, 2]) != 1)
    start = np.flatnonzero(new)
    end = np.append(start[1:], len(ordered))[: len(start)]
    return [
        Bar(int(ordered[a, 0]), top + int(ordered[a, 2]), top + int(ordered[b - 1, 2]))
        for a, b in zip(start, end, strict=True)
    ]


def shown_machines(instance: PlacementInstance) -> int:
    """Return how many machines a chart shows."""
    rows = np.cumsum(np.maximum(1, instance.setting.capacity[:, 0]))
    return max(1, int(np.searchsorted(rows, MOST_ROWS, side="right")))


def gantt_panels(instance: PlacementInstance, schedules: Mapping[str, Schedule]) -> Figure:
    """Return charts of schedules of one instance below each other, over the same time, by title.

    A row is a GPU, a bar a job, with its number by submission where there is room for it. Of the jobs without
    GPUs each takes a row below the GPUs of its machine. The number of jobs that wait stands below each chart.
    Clusters with more than :data:`MOST_ROWS` GPUs are cut off after a machine, and the title says so.
    """
    machines = shown_machines(instance)
    charts = {title: chart(instance, schedule, machines) for title, schedule in schedules.items()}
    rows = [len(laid.names) for laid in charts.values()]
    heights = [part for n in rows for part in (0.55 + n * row_height(n), 0.9)]
    figure, _ = new_figure(len(heights), height=heights)
    time = _time(schedules)
    panels = iter(figure.axes)
    for title, schedule in schedules.items():
        ax, below = next(panels), next(panels)
        with house_style():
            _draw(ax, {title: charts[title]}, schedules, time)
            _draw_queue(below, instance, schedule, time.ticks)
        ax.set_title(title + _cut(instance), loc="left", fontsize=10.5)
        for panel in (ax, below):
            panel.set_xlim(0.0, time.end)
        ax.tick_params(labelbottom=False)
        below.set_xlabel(f"time ({time.unit})")
    return figure


def plot_schedules(instance: PlacementInstance, decided: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw schedules below each other in the same axes, with rows and bars as in :func:`gantt_panels`."""
    schedules = {title: schedule_of(instance, one) for title, one in decided.items()}
    machines = shown_machines(instance)
    charts = {title: chart(instance, schedule, machines) for title, schedule in schedules.items()}
    rows = sum(len(laid.names) + 1 for laid in charts.values())
    axes = new_figure(height=0.8 + rows * row_height(rows))[1] if ax is None else ax
    time = _time(schedules)
    _draw(axes, charts, schedules, time)
    axes.set_xlim(0.0, time.end)
    axes.set_xlabel(f"time ({time.unit}){_cut(instance)}")
    return axes


class Time(NamedTuple):
    """The time axis that schedules share: its unit, the ticks in it, and where it ends."""

    unit: str
    ticks: int
    end: float


def _time(schedules: Mapping[str, Schedule]) -> Time:
    last = max(int(schedule.finish.max(initial=0)) for schedule in schedules.values())
    unit, seconds = time_unit(last / TICKS)
    return Time(unit, seconds * TICKS, 1.015 * last / (seconds * TICKS) or 1.0)


def _cut(instance: PlacementInstance) -> str:
    """Return what is said of machines that are not drawn."""
    machines, many = shown_machines(instance), len(instance.setting.capacity)
    return f" (machines 0 to {machines - 1} of {many})" if machines < many else ""


def row_height(rows: int) -> float:
    """Return the inches of a row of a chart with so many."""
    return 0.19 if rows <= NAMED_ROWS else 0.1


def _draw(ax: Axes, charts: Mapping[str, Chart], schedules: Mapping[str, Schedule], time: Time) -> None:
    """Draw charts below each other; with several, each has its title in a row above it."""
    from matplotlib.collections import PolyCollection

    names, tops = stacked_rows({title: laid.names for title, laid in charts.items()})
    middles: dict[float, str] = {}
    for top, (title, laid) in zip(tops, charts.items(), strict=True):
        schedule, boxes, colours = schedules[title], [], []
        for job, first, last in laid.bars:
            left, right = schedule.start[job] / time.ticks, schedule.finish[job] / time.ticks
            low, high = top + first - 0.5, top + last + 0.5
            boxes.append([(left, low), (right, low), (right, high), (left, high)])
            colours.append(PALETTE[job % len(PALETTE)])
        ax.add_collection(PolyCollection(boxes, facecolor=colours, edgecolor=INK, linewidth=0.6))
        _write_jobs(ax, laid, schedule, time, top, row_height(len(names)))
        for line in laid.tops[1:-1]:
            ax.axhline(top + line - 0.5, color=INK, linewidth=0.8)
        middles |= {top - 1.0: title} if len(charts) > 1 else {}
        ends = enumerate(zip(laid.tops[:-1], laid.tops[1:], strict=True))
        middles |= {top + (a + b - 1) / 2: f"machine {k}" for k, (a, b) in ends}
    if len(names) <= NAMED_ROWS:
        ax.set_yticks(np.arange(len(names)), names)
    else:
        ax.set_yticks([*middles], [*middles.values()])
    embolden(ax, charts if len(charts) > 1 else ())
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(1, len(names)) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def _write_jobs(ax: Axes, laid: Chart, schedule: Schedule, time: Time, top: int, row: float) -> None:
    """Write the number of its job into every bar where it fits; rows are so many inches high."""
    style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": 9, "fontweight": "bold"}
    for job, first, last in laid.bars:
        left, right = schedule.start[job] / time.ticks, schedule.finish[job] / time.ticks
        wide = 3.4 * float(right - left) / time.end
        if wide > 0.085 * len(str(job)) + 0.03 and row * (last - first + 1) > 0.13:
            at = ((left + right) / 2, top + (first + last) / 2)
            ax.text(*at, str(job), color="white", clip_on=True, **style)


def _draw_queue(ax: Axes, instance: PlacementInstance, schedule: Schedule, ticks: int) -> None:
    from matplotlib.ticker import MaxNLocator

    waiting = queue_length(instance, schedule)
    times, values = waiting.times / ticks, waiting.values
    ax.fill_between(times, values, step="post", color=PALETTE[0], alpha=0.5, linewidth=0)
    ax.set_ylim(0.0, max(1, int(values.max(initial=0))) * 1.05)
    ax.set_ylabel("waiting")
    ax.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
