"""Three solvers and an enumeration of tiny instances: the same optimum, and honest bounds."""

import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.base import InputError
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.online.play import Replay, play
from clairvoyant.oracles.base import Budget, OracleError, WhyStopped
from clairvoyant.oracles.placement import exact as placement_exact
from clairvoyant.oracles.placement.exact import (
    Exact,
    by_branch_and_bound,
    by_cpsat,
    by_enumeration,
    by_program,
    list_schedule,
)
from clairvoyant.testing.placement import instances, schedules

Method = Callable[..., Exact]
SEARCHES = (by_cpsat, by_branch_and_bound)
METHODS = (*SEARCHES, by_enumeration, by_program)


def few(examples: int) -> hypothesis_settings:
    return hypothesis_settings(max_examples=examples, deadline=None)


def optimum(instance: PlacementInstance, method: Method) -> float:
    """The proven optimum; the schedule is the instance's and so is its cost."""
    found = method(instance, Budget(0.0, None))
    assert found.schedule is not None
    assert instance.violations(found.schedule) == []
    assert found.why_stopped is WhyStopped.PROVED
    assert found.bound == instance.cost(found.schedule)
    return float(found.bound)


def busy(jobs: int, seed: int = 0, **options: Any) -> PlacementInstance:
    """Random jobs on two machines of 4 GPUs, about as much as these can do."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "duration": float(rng.integers(10, 1001)),
            "instances": int(rng.integers(1, 5)),
            "gpus": int(rng.integers(1, 3)),
            "cpus": 1,
            "memory": 1,
        }
        for _ in range(jobs)
    ]
    span = sum(row["duration"] * row["instances"] * row["gpus"] for row in rows) / 8
    rows = [{"submit": float(np.round(rng.uniform(0.0, span))), **row} for row in rows]
    machines = [{"gpus": 4, "cpus": 64, "memory": 256}] * 2
    return PlacementInstance(machines=machines, jobs=rows, **options)


def without_contention(**options: Any) -> st.SearchStrategy[PlacementInstance]:
    return instances(contention=False, windows=False, **options)


@given(without_contention(max_jobs=4))
@few(40)
def test_all_methods_have_the_same_optimum_without_contention(instance: PlacementInstance) -> None:
    found = {optimum(instance, method) for method in (by_cpsat, by_branch_and_bound, by_program)}
    assert len(found) == 1
    if len(instance.jobs) <= 3:
        assert found == {optimum(instance, by_enumeration)}


@given(instances(max_jobs=3))
@few(60)
def test_branch_and_bound_finds_what_the_enumeration_finds(instance: PlacementInstance) -> None:
    assert optimum(instance, by_branch_and_bound) == optimum(instance, by_enumeration)


@given(without_contention(min_jobs=5, max_jobs=7))
@few(20)
def test_two_searches_agree_on_more_jobs(instance: PlacementInstance) -> None:
    assert optimum(instance, by_cpsat) == optimum(instance, by_branch_and_bound)


@given(st.data(), instances(max_jobs=6))
@few(30)
def test_no_schedule_beats_the_optimum(data: st.DataObject, instance: PlacementInstance) -> None:
    best = optimum(instance, by_branch_and_bound)
    relaxed = by_cpsat(instance, Budget(0.0, None))
    assert relaxed.bound is not None
    assert relaxed.bound <= best <= instance.cost(data.draw(schedules(instance)))
    assert best <= instance.cost(list_schedule(instance))


@given(instances(max_jobs=5))
@few(20)
def test_the_optimum_can_be_played(instance: PlacementInstance) -> None:
    for method in SEARCHES:
        found = method(instance, Budget(0.0, None))
        assert found.schedule is not None
        run = play(Replay(instance.decisions(found.schedule), "placement"), instance, keep_decisions=True)
        assert run.total == pytest.approx(instance.cost(found.schedule), rel=1e-12)
        assert run.decisions is not None
        again = instance.schedule_of(run.decisions)
        for name in ("start", "finish", "rows"):
            assert np.array_equal(getattr(again, name), getattr(found.schedule, name))


def changed(instance: PlacementInstance, **parts: Any) -> PlacementInstance:
    data = {key: value for key, value in instance.to_dict().items() if key not in ("problem", "version")}
    return PlacementInstance(**{**data, "origin": instance.origin, **parts})


@given(st.data(), instances(max_jobs=5, windows=False))
@few(30)
def test_the_order_of_jobs_and_machines_does_not_matter(
    data: st.DataObject, instance: PlacementInstance
) -> None:
    parts = instance.to_dict()
    other = changed(
        instance,
        machines=data.draw(st.permutations(parts["machines"])),
        jobs=data.draw(st.permutations(parts["jobs"])),
    )
    assert optimum(other, by_branch_and_bound) == optimum(instance, by_branch_and_bound)


@given(st.data(), without_contention(min_jobs=1, max_jobs=5))
@few(25)
def test_more_machines_fewer_jobs_and_shorter_ones_cost_no_more(
    data: st.DataObject, instance: PlacementInstance
) -> None:
    """Without spreading, so that another machine does not change what a job takes on the fewest."""
    instance = changed(instance, slowdown={"communication": 0, "contention": 0})
    parts = instance.to_dict()
    machines, jobs = parts["machines"], parts["jobs"]
    best = optimum(instance, by_branch_and_bound)
    more = changed(instance, machines=[*machines, data.draw(st.sampled_from(machines))])
    rounding = 1.0 + 1e-12
    assert optimum(more, by_branch_and_bound) <= best * rounding
    i = data.draw(st.integers(0, len(jobs) - 1))
    fewer = optimum(changed(instance, jobs=jobs[:i] + jobs[i + 1 :]), by_branch_and_bound)
    alone = optimum(changed(instance, jobs=[jobs[i]]), by_branch_and_bound)
    assert fewer + alone <= best * rounding
    longer = [*jobs[:i], {**jobs[i], "duration": 2 * jobs[i]["duration"]}, *jobs[i + 1 :]]
    most = optimum(changed(instance, jobs=longer), by_branch_and_bound)
    assert best + jobs[i]["duration"] <= most * rounding


@pytest.mark.parametrize("method", METHODS)
def test_no_jobs_and_one_job(method: Method) -> None:
    machines = [{"gpus": 2, "cpus": 4, "memory": 8}] * 2
    job = {"submit": 3, "duration": 5, "instances": 2, "gpus": 2, "cpus": 1, "memory": 1}
    assert optimum(PlacementInstance(machines=machines, jobs=[]), method) == 0.0
    one = PlacementInstance(machines=machines, jobs=[job], gpu_weight=0.5)
    assert optimum(one, method) == 5.0 + 0.5 * 4 * 5.0


@pytest.mark.parametrize("method", METHODS)
def test_waiting_for_one_machine_can_be_better_than_two(method: Method) -> None:
    """A job of 2 GPUs: 15 s at once on two machines, or 10 s on one that is free 1.5 s later."""
    machines = [{"gpus": 2, "cpus": 8, "memory": 8}] * 2
    alone: dict[str, Any] = {"submit": 0, "instances": 1, "gpus": 1, "cpus": 1, "memory": 8}
    jobs = [{**alone, "duration": d} for d in (2, 20)]
    jobs.append({"submit": 0.5, "duration": 10, "instances": 2, "gpus": 1, "cpus": 1, "memory": 0})
    slow = {"communication": 1, "contention": 0}
    instance = PlacementInstance(machines=machines, jobs=jobs, slowdown=slow)
    assert optimum(instance, method) == 2.0 + 20.0 + 1.5 + 10.0
    hurried = PlacementInstance(machines=machines, jobs=[{**jobs[1]}, {**jobs[1]}, jobs[2]], slowdown=slow)
    assert optimum(hurried, method) == 20.0 + 20.0 + 15.0


@pytest.mark.parametrize("method", [by_branch_and_bound, by_enumeration])
def test_contention_is_avoided_by_waiting(method: Method) -> None:
    """Side by side each of two jobs takes up to 1.5 times as long; a short one first is better."""
    machine = {"gpus": 2, "cpus": 8, "memory": 8}
    common = {"submit": 0, "instances": 1, "gpus": 1, "cpus": 1, "memory": 1}
    jobs = [{**common, "duration": d} for d in (1, 10)]
    instance = PlacementInstance(
        machines=[machine], jobs=jobs, slowdown={"communication": 0, "contention": 10}
    )
    found = method(instance, Budget(0.0, None))
    assert found.bound == 1.0 + 11.0
    assert found.schedule is not None
    assert found.schedule.start.tolist() == [0, 1000]
    assert "decision epochs" in found.method
    relaxed = by_cpsat(instance, Budget(0.0, None))
    assert relaxed.bound == 1.0 + 10.0
    assert "without contention" in relaxed.method
    assert relaxed.why_stopped is WhyStopped.ROUNDS


def test_equal_starts_do_not_overfill_a_machine_in_the_program() -> None:
    """Three jobs of 1 GPU on 2, all at 0: each with one other would fit."""
    job = {"submit": 0, "duration": 4, "instances": 1, "gpus": 1, "cpus": 1, "memory": 1}
    instance = PlacementInstance(machines=[{"gpus": 2, "cpus": 8, "memory": 8}], jobs=[job] * 3)
    for method in METHODS:
        assert optimum(instance, method) == 4.0 + 4.0 + 8.0


def test_the_window_is_kept_and_left_out_of_the_relaxation() -> None:
    """A window of one makes the short job wait for the long one."""
    job = {"submit": 0, "instances": 1, "gpus": 2, "cpus": 1, "memory": 1}
    machines = [{"gpus": 2, "cpus": 8, "memory": 8}]
    jobs = [{**job, "duration": 10}, {**job, "duration": 1}]
    narrow = PlacementInstance(machines=machines, jobs=jobs, window=1)
    assert optimum(narrow, by_branch_and_bound) == optimum(narrow, by_enumeration) == 10.0 + 11.0
    found = by_cpsat(narrow, Budget(0.0, None))
    assert found.bound == 1.0 + 11.0
    assert "the limit of the window" in found.method
    assert found.schedule is not None
    assert narrow.cost(found.schedule) == 21.0
    with pytest.raises(InputError, match="window: 1 is less than the 2 jobs"):
        by_program(narrow, Budget(0.0, None))


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("contention", [0.0, 1.0])
def test_no_time_at_all_leaves_an_honest_bound(method: Method, contention: float) -> None:
    instance = busy(9, slowdown={"communication": 1.0, "contention": contention})
    found = method(instance, Budget(0.0, 0.0))
    assert found.schedule is not None
    assert found.bound is not None
    assert found.why_stopped is WhyStopped.TIME_LIMIT
    assert found.bound < optimum(instance, by_branch_and_bound) <= instance.cost(found.schedule)


def test_an_early_stop_leaves_an_honest_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = busy(8, 1, slowdown={"communication": 1.0, "contention": 1.0})
    best = optimum(instance, by_branch_and_bound)
    monkeypatch.setattr(placement_exact, "SLICE", 100_000)
    calls: list[str] = []

    class Later(Budget):
        @property
        def over(self) -> bool:
            calls.append("")
            return len(calls) > 3

    found = by_branch_and_bound(instance, Later(0.0, 1000.0))
    assert found.schedule is not None
    assert found.bound is not None
    assert found.why_stopped is WhyStopped.TIME_LIMIT
    assert found.bound < best <= instance.cost(found.schedule)


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("gap", [0.02, 0.2])
def test_a_gap_is_enough(method: Method, gap: float) -> None:
    for seed in range(3):
        instance = busy(7, seed)
        found = method(instance, Budget(gap, None))
        best = optimum(instance, by_branch_and_bound)
        assert found.schedule is not None
        assert found.bound is not None
        value = instance.cost(found.schedule)
        assert found.bound <= best <= value
        assert value - found.bound <= gap * found.bound
        assert found.why_stopped in (WhyStopped.PROVED, WhyStopped.GAP_REACHED)


@pytest.mark.parametrize("method", SEARCHES)
def test_the_same_instance_gives_the_same_result(method: Method) -> None:
    instance = busy(7, 1, slowdown={"communication": 1.0, "contention": 0.0})
    first, second = (method(instance, Budget(0.0, None)) for _ in range(2))
    assert (first.bound, first.method) == (second.bound, second.method)
    for name in ("start", "finish", "rows"):
        assert np.array_equal(getattr(first.schedule, name), getattr(second.schedule, name))


@pytest.mark.parametrize("method", METHODS)
def test_progress_is_told_and_its_errors_come_through(method: Method) -> None:
    instance = busy(3, 0)
    told: list[tuple[float, str]] = []
    method(instance, Budget(0.0, None), lambda *args, **_: told.append(args))
    assert told
    assert all(0.0 <= done <= 1.0 and text for done, text in told)

    def fails(_: float, text: str, **_found: float) -> None:
        raise KeyError(text)

    with pytest.raises(KeyError):
        method(instance, Budget(0.0, None), fails)


@pytest.mark.parametrize("method", SEARCHES)
def test_ctrl_c_ends_a_search(method: Method) -> None:
    slowdown = {"communication": 1.0, "contention": 1.0 if method is by_branch_and_bound else 0.0}
    instance = busy(24, 3, slowdown=slowdown)
    main = threading.get_ident()
    with pytest.raises(KeyboardInterrupt):
        method(instance, Budget(0.0, None), lambda *_, **__: signal.pthread_kill(main, signal.SIGINT))
    assert not [thread for thread in threading.enumerate() if "ThreadPool" in thread.name]


def test_too_many_schedules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_exact, "MOST_LEAVES", 10)
    with pytest.raises(InputError, match="more than 10 schedules"):
        by_enumeration(busy(4), Budget(0.0, None))


def test_an_enumeration_out_of_time_proves_nothing() -> None:
    found = by_enumeration(busy(4), Budget(0.0, 0.0))
    assert found.bound is None
    assert found.why_stopped is WhyStopped.TIME_LIMIT
    assert found.schedule is None


def test_too_many_jobs_for_the_path_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_exact, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="4 jobs on 2 machines are too many"):
        by_branch_and_bound(busy(4), Budget(0.0, None))


def test_a_wrong_bound_or_schedule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = busy(3)
    honest = list_schedule(instance)
    wrong = Schedule(honest.start + 1, honest.finish, honest.rows)
    with pytest.raises(OracleError, match="above the value"):
        placement_exact._exact(instance, honest, 10**12, Budget(0.0, None), "")
    monkeypatch.setattr(placement_exact, "_simulated", lambda *_: wrong)
    monkeypatch.setattr(PlacementInstance, "units", lambda *_: 0)
    with pytest.raises(OracleError):
        by_cpsat(instance, Budget(0.0, None))
