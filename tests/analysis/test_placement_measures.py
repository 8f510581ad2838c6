"""Measures of placement schedules, and their Gantt charts: by hand, and as properties of random schedules."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.analysis.placement import gantt
from clairvoyant.analysis.placement import measures as judged
from clairvoyant.analysis.plots import new_figure, to_svg
from clairvoyant.models.base import InputError
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.oracles.base import Optimum, WhyStopped
from clairvoyant.testing.placement import instances, schedules


@st.composite
def scheduled(draw: st.DrawFn, /, **limits: Any) -> tuple[PlacementInstance, Schedule]:
    instance = draw(instances(**limits))
    return instance, draw(schedules(instance))


def job(submit: float, duration: float, gpus: int, instances: int = 1, cpus: float = 1.0) -> dict[str, float]:
    return {
        "submit": submit,
        "duration": duration,
        "instances": instances,
        "gpus": gpus,
        "cpus": cpus,
        "memory": 1.0,
    }


def by_hand() -> tuple[PlacementInstance, Schedule]:
    """Two machines with 2 GPUs: job 0 has all of machine 0 for an hour, job 1 half of machine 1 for half an
    hour, job 2 both of machine 1 after that, as a gang of two, and job 3 waits for a GPU of machine 0."""
    instance = PlacementInstance(
        machines=[{"gpus": 2, "cpus": 8, "memory": 8}] * 2,
        jobs=[job(0, 3600, 2), job(0, 1800, 1), job(600, 1800, 1, 2), job(1200, 600, 2)],
        price=3.0,
    )
    start = np.array([0, 0, 1800, 3600]) * 1000
    finish = np.array([3600, 1800, 3600, 4200]) * 1000
    rows = np.array([[0, 0, 1], [1, 1, 1], [2, 1, 2], [3, 0, 1]])
    schedule = Schedule(start, finish, rows)
    assert instance.violations(schedule) == []
    return instance, schedule


def test_measures_of_a_schedule_counted_by_hand() -> None:
    instance, schedule = by_hand()
    # completion times in minutes: 60, 30, 50, 50; GPU-hours: 2, 1/2, 1, 1/3
    found = judged.measures_of(instance, schedule)
    assert found == pytest.approx(
        {
            "JCT (min)": 47.5,
            "median (min)": 50.0,
            "p95 (min)": 58.5,
            "p99 (min)": 59.7,
            "fee ($)": 3.0 * (2 + 1 / 2 + 1 + 1 / 3) / 4,
            "makespan (h)": 7 / 6,
            "GPU use (%)": 100.0 * (2 + 1 / 2 + 1 + 1 / 3) / (4 * 7 / 6),
        }
    )
    assert all(type(value) is float for value in found.values())
    assert judged.measures(instance, instance.decisions(schedule)) == found


def test_queue_counted_by_hand() -> None:
    waiting = judged.queue_length(*by_hand())
    assert (waiting.times / 1000).tolist() == [0, 600, 1200, 1800, 3600]
    assert waiting.values.tolist() == [0, 1, 2, 1, 0]


def test_without_jobs_nothing_is_measured() -> None:
    instance = PlacementInstance(machines=[{"gpus": 1, "cpus": 1, "memory": 1}], jobs=[])
    nothing = Schedule(np.array([]), np.array([]), np.zeros((0, 3), dtype=np.int64))
    assert judged.measures(instance, []) == {}
    assert len(judged.queue_length(instance, nothing).times) == 0
    assert "machine 0" in charted(instance, {"nothing": nothing})


def test_machines_without_gpus_are_not_in_use() -> None:
    instance = PlacementInstance(machines=[{"gpus": 0, "cpus": 4, "memory": 4}], jobs=[job(0, 60, 0)])
    found = judged.measures(instance, [np.array([[0, 0, 1]])])
    assert found["GPU use (%)"] == 0.0
    assert found["fee ($)"] == 0.0
    assert found["JCT (min)"] == 1.0


@settings(max_examples=60, deadline=None)
@given(scheduled(min_jobs=1, gpu_weights=False))
def test_mean_jct_times_jobs_is_the_cost(given: tuple[PlacementInstance, Schedule]) -> None:
    instance, schedule = given
    found = judged.measures_of(instance, schedule)
    assert found["JCT (min)"] * 60 * len(instance.jobs) == pytest.approx(instance.cost(schedule))
    assert found["fee ($)"] == pytest.approx(instance.fees(schedule).mean())
    assert found["median (min)"] <= found["p95 (min)"] <= found["p99 (min)"]
    assert found["p99 (min)"] <= 60 * found["makespan (h)"] * (1 + 1e-12)
    assert 0.0 <= found["GPU use (%)"] <= 100.0


@settings(max_examples=60, deadline=None)
@given(scheduled())
def test_queue_over_time_is_the_waiting_of_all(given: tuple[PlacementInstance, Schedule]) -> None:
    instance, schedule = given
    times, values = judged.queue_length(instance, schedule)
    waited = int((values[:-1] * np.diff(times)).sum())
    assert waited == int((schedule.start - instance.jobs.submit).sum())
    assert (np.diff(times) > 0).all()
    assert values.min(initial=0) >= 0
    assert values[-1:].sum() == 0


@pytest.mark.parametrize(
    ("value", "bound", "total", "interval"),
    [
        (10.0, 8.0, 12.0, (1.2, 1.5)),
        (10.0, 10.0, 10.0, (1.0, 1.0)),
        (10.0, None, 15.0, (1.5, math.inf)),
        (10.0, 0.0, 15.0, (1.5, math.inf)),
        (10.0, 8.0, 9.0, (0.9, 1.125)),
        (0.0, 0.0, 0.0, (1.0, 1.0)),
        (0.0, 0.0, 3.0, (math.inf, math.inf)),
        (0.0, None, 0.0, (1.0, 1.0)),
    ],
)
def test_ratio_is_the_interval_of_total_over_optimum(
    value: float, bound: float | None, total: float, interval: tuple[float, float]
) -> None:
    optimum = Optimum(value, bound, None, WhyStopped.TIME_LIMIT, "by hand", 0.0, minimised=True)
    assert judged.ratio(optimum, total) == interval


# --- Gantt charts ----------------------------------------------------------------------------------------


def charted(instance: PlacementInstance, schedules: dict[str, Schedule]) -> str:
    axes: Any = gantt.plot_schedules(instance, schedules)
    return to_svg(axes.figure)


def test_lanes_counted_by_hand() -> None:
    assert gantt.lanes(*by_hand()).tolist() == [
        [0, 0, 0],
        [0, 0, 1],
        [1, 1, 0],
        [2, 1, 0],
        [2, 1, 1],
        [3, 0, 0],
        [3, 0, 1],
    ]


@settings(max_examples=50, deadline=None)
@given(scheduled(max_jobs=8))
def test_lanes_never_overlap_and_every_job_has_its_gpus(given: tuple[PlacementInstance, Schedule]) -> None:
    instance, schedule = given
    laid = gantt.lanes(instance, schedule)
    for k, lane in np.unique(laid[:, 1:], axis=0).tolist():
        here = laid[(laid[:, 1] == k) & (laid[:, 2] == lane), 0]
        here = here[np.argsort(schedule.start[here])]
        assert (schedule.finish[here[:-1]] <= schedule.start[here[1:]]).all()
    got: dict[tuple[int, int], int] = {}
    idle = []
    for i, k, lane in laid.tolist():
        if lane < instance.setting.capacity[k, 0]:
            got[i, k] = got.get((i, k), 0) + 1
        else:
            idle.append((i, k))
    asked = {(i, k): count * int(instance.jobs.need[i, 0]) for i, k, count in schedule.rows.tolist()}
    assert got == {place: gpus for place, gpus in asked.items() if gpus}
    assert sorted(idle) == sorted(place for place, gpus in asked.items() if not gpus)


def test_lanes_refuse_more_gpus_than_there_are() -> None:
    instance, schedule = by_hand()
    start = schedule.start.copy()
    start[3] = 1_800_000
    early = Schedule(start, schedule.finish, schedule.rows)
    with pytest.raises(InputError, match="job 3 takes 2 GPUs of machine 0, 0 are free"):
        gantt.lanes(instance, early)


@settings(max_examples=60, deadline=None)
@given(scheduled())
def test_bars_cover_the_lanes_once(given: tuple[PlacementInstance, Schedule]) -> None:
    instance, schedule = given
    laid = gantt.chart(instance, schedule, len(instance.setting.capacity))
    gpus, lanes = instance.setting.capacity[:, 0].tolist(), gantt.lanes(instance, schedule)
    rows = list(gpus)
    for _, k, lane in lanes.tolist():
        rows[k] = max(rows[k], lane + 1)
    assert np.diff(laid.tops).tolist() == rows
    assert len(laid.names) == laid.tops[-1]
    drawn = sorted((bar.job, row) for bar in laid.bars for row in range(bar.first, bar.last + 1))
    assert drawn == sorted((i, laid.tops[k] + lane) for i, k, lane in lanes.tolist())
    machine = np.repeat(range(len(rows)), rows)
    assert all(machine[bar.first] == machine[bar.last] for bar in laid.bars)
    together = {(bar.job, bar.last + 1) for bar in laid.bars} & {(bar.job, bar.first) for bar in laid.bars}
    assert all(row in laid.tops for _, row in together)  # what could be joined is


def test_a_job_on_neighbouring_machines_has_a_bar_on_each() -> None:
    instance = PlacementInstance(
        machines=[{"gpus": 1, "cpus": 4, "memory": 4}] * 2, jobs=[job(0, 60, 1, 2)], price=1.0
    )
    schedule = Schedule(np.array([0]), np.array([60_000]), np.array([[0, 0, 1], [0, 1, 1]]))
    assert gantt.chart(instance, schedule, 2).bars == [(0, 0, 0), (0, 1, 1)]


def test_figure_names_jobs_rows_and_unit() -> None:
    instance, schedule = by_hand()
    svg = charted(instance, {"one": schedule, "again": schedule})
    texts = re.findall(r">([^<>]+)</text>", svg)
    assert texts.count("machine 1, GPU 1") == 2
    assert {"one", "again", "0", "3", "time (minutes)"} <= set(texts)
    assert svg == charted(instance, {"one": schedule, "again": schedule})


def test_panels_of_different_heights() -> None:
    figure, axes = new_figure(2, height=[3.0, 1.0])
    assert figure.get_figheight() == 4.0
    assert len(axes) == 2
    with pytest.raises(InputError, match="height: 1 of them do not fit 2 panels"):
        new_figure(2, height=[3.0])


def test_large_clusters_are_cut_off_and_the_axis_says_so() -> None:
    instance = PlacementInstance(
        machines=[{"gpus": 8, "cpus": 8, "memory": 8}] * 12, jobs=[job(0, 60, 1, 96)], price=1.0
    )
    rows = np.array([[0, k, 8] for k in range(12)])
    schedule = Schedule(np.array([0]), np.array([60_000]), rows)
    assert gantt.shown_machines(instance) == 10
    svg = charted(instance, {"all of them": schedule})
    assert "(machines 0 to 9 of 12)" in svg
    assert "machine 9" in svg
    assert "machine 10" not in svg
