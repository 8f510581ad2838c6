"""Measures of admission schedules: by hand, against slow sums, and pictures of any size without overlap."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.analysis.admission import measures
from clairvoyant.analysis.plots import new_figure, plot_gantts, to_svg
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import CLASSES
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.models.base import InputError
from clairvoyant.testing import admission as kit


def job(arrival: int, *, decay: float = 0.0, target: float = 1.0, epochs: int = 2) -> dict[str, Any]:
    return {
        "arrival": arrival,
        "epochs": epochs,
        "chunks": 2,
        "minibatches": 1,
        "minibatch_time": 1,
        "gradient_size": 0,
        "worker_bandwidth": 1,
        "server_bandwidth": 2,
        "worker_demand": [1, 0, 2],
        "server_demand": [0, 0, 1],
        "utility": {"priority": 10, "decay": decay, "target": target},
    }


def small(*jobs: dict[str, Any]) -> AdmissionInstance:
    return AdmissionInstance(
        horizon=5,
        resources=["a", "nowhere", "b"],
        worker_servers=[[4, 0, 8], [0, 0, 2]],
        parameter_servers=[[0, 0, 2]],
        jobs=jobs,
    )


TWO = small(job(1, decay=0.5, target=1.5), job(2, target=4.0), job(3, decay=5.0))
# Job 0 does 4 worker-slots in slots 1, 2 and 4; job 1 starts and does not get done; job 2 never runs.
PLAN = Schedule(
    np.array([[1, 0, 0, 2], [2, 0, 0, 1], [4, 0, 0, 1], [5, 1, 0, 2]]),
    np.array([[1, 0, 0, 1], [2, 0, 0, 1], [4, 0, 0, 1], [5, 1, 0, 1]]),
)


class TestByHand:
    def test_timeliness_is_completion_less_arrival_less_target(self) -> None:
        found = measures.timeliness(TWO, PLAN)
        assert {kind: late.tolist() for kind, late in found.items()} == {
            "insensitive": [],
            "sensitive": [4 - 1 - 1.5],
            "critical": [],
        }

    def test_jobs_that_are_never_done_may_count_as_done_after_the_last_slot(self) -> None:
        found = measures.timeliness(TWO, PLAN, last=6)
        assert found["sensitive"].tolist() == [4 - 1 - 1.5]
        assert found["insensitive"].tolist() == [6 - 2 - 4.0]
        assert found["critical"].tolist() == [6 - 3 - 1.0]

    def test_utilisation_per_side_and_resource(self) -> None:
        found = measures.utilisation(TWO, PLAN)
        assert found.workers[:, 0].tolist() == [0.5, 0.25, 0.0, 0.25, 0.5]
        assert found.workers[:, 2].tolist() == [0.4, 0.2, 0.0, 0.2, 0.4]
        assert found.servers[:, 2].tolist() == [0.5, 0.5, 0.0, 0.5, 0.5]
        assert np.isnan(found.workers[:, 1]).all()
        assert np.isnan(found.servers[:, :2]).all()

    def test_counts(self) -> None:
        found = measures.counts(TWO, PLAN)
        assert found.workers.tolist() == [[2, 1, 0, 1, 0], [0, 0, 0, 0, 2], [0] * 5]
        assert found.servers.tolist() == [[1, 1, 0, 1, 0], [0, 0, 0, 0, 1], [0] * 5]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_measures_agree_with_each_other_on_any_schedule(data: st.DataObject) -> None:
    instance = data.draw(kit.instances(max_machines=3))
    schedule = data.draw(kit.schedules(instance))
    late = measures.timeliness(instance, schedule)
    ends = instance.completions(schedule)
    assert sum(len(late[kind]) for kind in CLASSES) == np.count_nonzero(ends)
    for kind in CLASSES:
        mine = [j for j in instance.jobs if j.kind == kind and ends[j.index]]
        utility = sum(j.utility(j.target + x) for j, x in zip(mine, late[kind], strict=True))
        assert utility == pytest.approx(sum(j.utility(ends[j.index] - j.arrival) for j in mine))
    table = measures.counts(instance, schedule)
    used = measures.utilisation(instance, schedule)
    s = instance.setting
    sides = (
        (table.workers, used.workers, instance.worker_needs, s.worker_units),
        (table.servers, used.servers, instance.server_needs, s.server_units),
    )
    for running, share, need, capacity in sides:
        total = capacity.sum(axis=0)
        assert np.array_equal(np.isnan(share), np.broadcast_to(total == 0, share.shape))
        assert np.nan_to_num(share).max(initial=0.0) <= 1.0
        assert np.nan_to_num(share * total) == pytest.approx(running.T @ need)


# ------------------------------------------------------------------ pictures


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_gantt_bars_are_as_high_as_their_counts_and_stand_apart() -> None:
    figure, ax = new_figure()
    plot_gantts({"": [[0, 2, 4, 0, 1], [4, 0, 0, 0, 0]]}, ["p", "q"], ["x", "y"], "workers", ax)
    first, second = (collection.get_paths() for collection in ax.collections)
    assert [len(first), len(second)] == [2, 1]
    box = first[0].get_extents()
    assert (box.x0, box.x1, box.height) == pytest.approx((1.5, 3.5, 0.85))
    assert first[1].get_extents().height == pytest.approx(0.85 / 4)
    assert second[0].get_extents().y0 > box.y1
    assert {"x", "y", "p", "q", "slot", "workers; full height: 4"} <= set(texts(to_svg(figure)))


def test_gantt_without_rows_is_empty_and_shapes_are_checked() -> None:
    _, ax = new_figure()
    plot_gantts({"": np.zeros((0, 3))}, [], [], "workers", ax)
    assert not ax.collections
    with pytest.raises(InputError, match=r"counts: shape \(1, 3\) does not fit 2 rows"):
        plot_gantts({"": np.zeros((1, 3))}, ["a", "b"], ["x", "y"], "workers", ax)
