"""Oracle of placement: every method proves tiny optima, replays, and keeps its promises."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.base import InputError
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.online.play import Replay, play
from clairvoyant.oracles.base import Budget, Optimum, OracleError, WhyStopped
from clairvoyant.oracles.placement import optimum as placement
from clairvoyant.oracles.placement.bound import sum_of_durations
from clairvoyant.oracles.placement.exact import Exact
from clairvoyant.oracles.placement.optimum import METHODS, check_certificate, offline
from clairvoyant.oracles.placement.search import list_schedule, search
from clairvoyant.testing.placement import instances

PROVEN = (WhyStopped.PROVED, WhyStopped.GAP_REACHED)
EXACT_METHODS = placement.EXACT
EXACT = ("branch-and-bound", "cp-sat", "program", "enumeration")
TINY: dict[str, Any] = {"max_jobs": 3, "max_gpus": 2, "max_instances": 2, "max_machines": 2}


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "MOST_ROUNDS", 200)
    monkeypatch.setattr("clairvoyant.oracles.placement.bound.MOST_INTERVALS", 500)
    monkeypatch.setattr("clairvoyant.oracles.placement.bound.ROUNDS", 60)
    monkeypatch.setattr("clairvoyant.oracles.placement.bound.FIRST_WORK", 1e6)
    monkeypatch.setattr("clairvoyant.oracles.placement.bound.PACKED_WORK", 1e7)


def made(count: int = 12, **options: Any) -> PlacementInstance:
    """Small gangs in each other's way on two machines of 4 GPUs."""
    rng = np.random.default_rng(count)
    numbers = rng.integers([0, 1, 1, 1], [12, 20, 4, 4], size=(count, 4)).tolist()
    jobs = [
        {"submit": s, "duration": d, "instances": c, "gpus": g, "cpus": 1, "memory": 2}
        for s, d, c, g in numbers
    ]
    machines = [{"gpus": 4, "cpus": 8, "memory": 16}] * 3
    return PlacementInstance(machines=machines, jobs=jobs, **options)


def changed(instance: PlacementInstance, **parts: Any) -> PlacementInstance:
    """Return an instance with other parts."""
    return PlacementInstance.from_dict({**instance.to_dict(), **parts})


SLOW: dict[str, Any] = {"slowdown": {"communication": 1.0, "contention": 0.5}, "gpu_weight": 0.2}


def check(instance: PlacementInstance, optimum: Optimum) -> None:
    assert optimum.minimised
    assert not instance.violations(optimum.decision)
    assert optimum.value == instance.cost(optimum.decision)
    assert optimum.bound is not None
    assert optimum.bound <= optimum.value
    assert check_certificate(instance, optimum.certificate).value <= optimum.bound
    assert optimum.gap == pytest.approx((optimum.value - optimum.bound) / (optimum.bound or 1.0))


@given(instances(contention=False, windows=False, **TINY))
@hypothesis_settings(max_examples=12, deadline=None)
def test_exact_methods_agree_and_the_rest_bounds(instance: PlacementInstance) -> None:
    found = {method: offline(instance, method=method) for method in METHODS}
    best = found["enumeration"].value
    for method, optimum in found.items():
        check(instance, optimum)
        if method == "search":
            assert optimum.bound is not None
            assert optimum.bound <= best <= optimum.value
        else:
            assert optimum.value == pytest.approx(best, rel=1e-6)
            assert optimum.why_stopped in PROVEN


@given(instances(**TINY))
@hypothesis_settings(max_examples=12, deadline=None)
def test_with_contention_all_agree_over_the_decision_epochs(instance: PlacementInstance) -> None:
    found = {method: offline(instance, method=method) for method in METHODS if method != "program"}
    best = found["enumeration"].value
    for method, optimum in found.items():
        check(instance, optimum)
        assert optimum.bound is not None
        assert optimum.bound <= best <= optimum.value
        if method in ("auto", "branch-and-bound", "enumeration"):
            assert optimum.value == pytest.approx(best, rel=1e-6)
            assert optimum.why_stopped in PROVEN


@pytest.mark.parametrize("options", [{}, SLOW])
@pytest.mark.parametrize("method", ["auto", "search"])
def test_playing_the_decision_gives_the_value(method: str, options: dict[str, Any]) -> None:
    instance = made(20, **options)
    optimum = offline(instance, method=method)
    check(instance, optimum)
    run = play(Replay(instance.decisions(optimum.decision), "placement"), instance)
    assert run.total == pytest.approx(optimum.value, rel=1e-12)
    assert run.infeasible == 0
    assert optimum.why_stopped is WhyStopped.ROUNDS
    assert optimum.gap is not None
    assert optimum.gap < 0.6


def test_few_jobs_are_proved() -> None:
    instance = made(6)
    optimum = offline(instance)
    check(instance, optimum)
    assert optimum.why_stopped in PROVEN
    assert "decision epochs" in optimum.method or "list" in optimum.method


@pytest.mark.parametrize("method", METHODS)
def test_a_time_limit_of_zero_still_gives_an_interval(method: str) -> None:
    instance = made()
    optimum = offline(instance, method=method, time_limit=0)
    check(instance, optimum)
    assert optimum.why_stopped is WhyStopped.TIME_LIMIT
    assert optimum.value == instance.cost(list_schedule(instance))
    assert optimum.bound == sum_of_durations(instance).value


@pytest.mark.parametrize("method", ["auto", "search"])
def test_a_time_limit_is_kept(method: str, monkeypatch: pytest.MonkeyPatch, ticking: type[Budget]) -> None:
    monkeypatch.setattr(placement, "Budget", ticking)
    instance = made(60, **SLOW)
    optimum = offline(instance, method=method, gap=0.0, time_limit=0.05)
    check(instance, optimum)
    assert optimum.seconds < 0.1
    assert optimum.why_stopped is WhyStopped.TIME_LIMIT


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_do_costs_nothing(method: str) -> None:
    machines = [{"gpus": 1, "cpus": 1, "memory": 1}]
    optimum = offline(PlacementInstance(machines=machines, jobs=[]), method=method)
    assert (optimum.value, optimum.bound) == (0.0, 0.0)
    assert optimum.why_stopped is WhyStopped.PROVED


def test_jobs_that_never_wait_are_proved_at_once() -> None:
    machines = [{"gpus": 4, "cpus": 8, "memory": 16}]
    job = {"duration": 3, "instances": 2, "gpus": 1, "cpus": 1, "memory": 1}
    jobs = [{"submit": 5 * i, **job} for i in range(30)]
    optimum = offline(PlacementInstance(machines=machines, jobs=jobs, gpu_weight=1))
    assert (optimum.value, optimum.bound) == (30 * 9.0, 30 * 9.0)
    assert optimum.why_stopped is WhyStopped.PROVED
    assert optimum.method == "schedule: shortest first; bound: sum of durations"


def test_the_same_bytes_without_a_time_limit() -> None:
    found = [offline(made(40, **SLOW)) for _ in range(2)]
    assert (found[0].value, found[0].bound) == (found[1].value, found[1].bound)
    np.testing.assert_array_equal(found[0].decision.start, found[1].decision.start)
    np.testing.assert_array_equal(found[0].decision.rows, found[1].decision.rows)


def test_more_rounds_and_other_seeds() -> None:
    instance = made(30, **SLOW)
    costs = [instance.cost(search(instance, Budget(0.0, None), rounds=k)[0]) for k in (0, 100, 1000)]
    assert costs == sorted(costs, reverse=True)
    assert costs[2] < costs[0] <= instance.cost(list_schedule(instance))
    others = {instance.cost(search(instance, Budget(0.0, None), seed=s, rounds=50)[0]) for s in range(4)}
    assert len(others) > 1


@given(instances(max_gpus=8, max_instances=6))
@hypothesis_settings(max_examples=30, deadline=None)
def test_the_search_keeps_every_constraint(instance: PlacementInstance) -> None:
    schedule, maker = search(instance, Budget(0.0, None), rounds=40)
    assert not instance.violations(schedule)
    assert sum_of_durations(instance).value <= instance.cost(schedule)
    assert instance.cost(schedule) <= instance.cost(list_schedule(instance))
    assert maker


def test_a_plan_keeps_a_long_job_from_delaying_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clairvoyant.oracles.placement.bound.ROUNDS", 1000)
    machines = [{"gpus": 1, "cpus": 1, "memory": 1}]
    job = {"instances": 1, "gpus": 1, "cpus": 0, "memory": 0}
    short = [{"submit": i, "duration": 1, **job} for i in range(1, 10)]
    instance = PlacementInstance(machines=machines, jobs=[{"submit": 0, "duration": 100, **job}, *short])
    schedule, maker = search(instance, Budget(0.0, None), rounds=0)
    assert "planned" in maker
    assert instance.cost(schedule) == 9 + 110
    assert offline(instance, method="search").why_stopped is WhyStopped.PROVED


def test_a_wide_gap_is_reached_early() -> None:
    instance = made(40)
    optimum = offline(instance, gap=0.9)
    assert optimum.why_stopped is WhyStopped.GAP_REACHED
    assert optimum.gap is not None
    assert 1e-6 < optimum.gap <= 0.9


@pytest.mark.parametrize("method", ["auto", "search", "branch-and-bound"])
def test_progress_goes_from_0_to_1_and_may_interrupt(method: str) -> None:
    seen: list[float] = []
    offline(made(7), method=method, progress=lambda done, _: seen.append(done))
    assert all(0.0 <= done <= 1.0 for done in seen)
    assert seen[-1] == 1.0

    def stop(_: float, __: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        offline(made(7), method=method, progress=stop)


def test_progress_of_the_search_does_not_run_backwards() -> None:
    seen: list[float] = []
    search(made(40), Budget(0.0, None), lambda done, _text, **_told: seen.append(done), rounds=100)
    assert seen == sorted(seen)
    assert len(set(seen)) > 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "dp"}, "method: 'dp' is not one of auto, search, branch-and-bound, cp-sat, program"),
        ({"gap": -1.0}, "gap: -1.0"),
        ({"gap": math.nan}, "gap: nan"),
        ({"time_limit": -1}, "time_limit: -1"),
        ({"time_limit": "1"}, "time_limit: '1'"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        offline(made(), **options)


def test_an_infeasible_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = made()
    good = list_schedule(instance)
    wrong = Schedule(good.start, good.finish + 1, good.rows)
    monkeypatch.setattr(placement, "by_cpsat", lambda *_: Exact(wrong, None, WhyStopped.PROVED, "wrong"))
    with pytest.raises(OracleError, match="wrong: infeasible"):
        offline(instance, method="cp-sat")


def test_a_bound_above_the_value_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Exact(None, 10**15, WhyStopped.PROVED, "a wrong bound")
    monkeypatch.setattr(placement, "by_cpsat", lambda *_: part)
    with pytest.raises(OracleError, match=r"is below the bound 1000000000.0 \(a wrong bound\)"):
        offline(made(), method="cp-sat")


@pytest.mark.parametrize("why", [WhyStopped.TIME_LIMIT, WhyStopped.STALLED])
def test_a_method_that_finds_nothing_leaves_what_is_held(
    why: WhyStopped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "by_branch_and_bound", lambda *_: Exact(None, None, why, "nothing"))
    optimum = offline(made(), method="branch-and-bound")
    check(made(), optimum)
    assert optimum.why_stopped is why
    assert optimum.method == "schedule: shortest first; bound: sum of durations"


@pytest.mark.parametrize("slowdown", [{}, {"slowdown": {"communication": 1.0, "contention": 1.0}}])
def test_costs_beyond_64_bits_are_left_to_the_search(slowdown: dict[str, Any]) -> None:
    jobs = [
        {"submit": i, "duration": 1e4 + i, "instances": 1, "gpus": 10**5 + i, "cpus": 0, "memory": 0}
        for i in range(6)
    ]
    huge = {"gpus": 3 * 10**5, "cpus": 1, "memory": 1}
    instance = PlacementInstance(machines=[huge], jobs=jobs, gpu_weight=1e6, **slowdown)
    assert instance.costliest > 2**63
    check(instance, offline(instance, gap=0.0))
    for method in ("branch-and-bound", "cp-sat"):
        with pytest.raises(InputError, match="too much for exact methods"):
            EXACT_METHODS[method](instance, Budget(0.0, None), None)


@pytest.mark.parametrize("method", METHODS)
@given(instances(slowdowns=False, windows=False, gpu_weights=False, **TINY))
@hypothesis_settings(max_examples=8, deadline=None)
def test_gpu_time_that_all_schedules_pay_changes_no_decision_and_no_status(
    method: str, instance: PlacementInstance
) -> None:
    """However much it counts: without a slowdown, all schedules pay the same."""
    for gap in (1e-6, 0.1):
        plain = offline(instance, method=method, gap=gap)
        assert (plain.why_stopped is WhyStopped.PROVED) == (plain.value == plain.bound)
        for weight in (0.001, 1.0, 1e6):
            dear = changed(instance, gpu_weight=weight)
            optimum = offline(dear, method=method, gap=gap)
            assert optimum.why_stopped is plain.why_stopped
            assert np.array_equal(optimum.decision.start, plain.decision.start)
            assert optimum.value == pytest.approx(plain.value + dear.unavoidable / 1e6, rel=1e-15)
            assert plain.bound is not None
            assert optimum.bound == pytest.approx(plain.bound + dear.unavoidable / 1e6, rel=1e-15)


@pytest.mark.parametrize("method", EXACT)
@given(instances(slowdowns=False, **TINY), st.sampled_from([10, 1000, 10**6]))
@hypothesis_settings(max_examples=8, deadline=None)
def test_times_that_are_so_many_times_as_long_change_no_decision_and_no_status(
    method: str, instance: PlacementInstance, factor: int
) -> None:
    assume(method != "program" or len(instance.jobs) <= instance.setting.window)
    data = instance.to_dict()
    jobs = [job | {name: job[name] * factor for name in ("submit", "duration")} for job in data["jobs"]]
    for gap in (0.0, 1e-6):
        plain = offline(instance, method=method, gap=gap)
        longer = offline(changed(instance, jobs=jobs), method=method, gap=gap)
        assert longer.why_stopped is plain.why_stopped
        assert longer.value == pytest.approx(factor * plain.value, rel=1e-15)
        assert plain.bound is not None
        assert longer.bound == pytest.approx(factor * plain.bound, rel=1e-15)
        assert np.array_equal(longer.decision.start, factor * plain.decision.start)


def test_a_large_price_of_gpu_time_hides_no_waiting() -> None:
    """A relative gap of 1e-6 of what GPUs cost here is more than a minute; the jobs wait for seconds."""
    instance = changed(made(8), gpu_weight=1e6)
    assert instance.unavoidable * 1e-6 > 60 * 1e6
    plain, dear = offline(made(8)), offline(instance)
    assert plain.why_stopped is dear.why_stopped is WhyStopped.PROVED
    assert instance.units(dear.decision) - instance.unavoidable == round(plain.value * 1e6)


@pytest.mark.parametrize("method", METHODS)
@given(instances(contention=False, windows=False, **TINY), st.sampled_from([0.0, 1e-6, 0.01, 0.5]))
@hypothesis_settings(max_examples=8, deadline=None)
def test_proved_means_equal_and_a_gap_is_only_reached(
    method: str, instance: PlacementInstance, gap: float
) -> None:
    optimum = offline(instance, method=method, gap=gap)
    assert optimum.bound is not None
    assert (optimum.why_stopped is WhyStopped.PROVED) == (optimum.value == optimum.bound)
    if optimum.why_stopped is WhyStopped.GAP_REACHED:
        paid = instance.unavoidable / 1e6
        assert 0.0 < optimum.value - optimum.bound <= gap * (optimum.bound - paid) * (1.0 + 1e-9)


@pytest.mark.parametrize("method", ["auto", "branch-and-bound", "cp-sat", "enumeration"])
def test_proved_is_exact_beside_a_job_of_years(method: str) -> None:
    plain = {"submit": 0.001, "duration": 0.001, "instances": 1, "gpus": 4, "cpus": 0, "memory": 0}
    jobs = [plain | {"duration": 1e8, "gpus": 3}, plain | {"submit": 0, "duration": 0.05}, plain, plain]
    machines = [{"gpus": gpus, "cpus": 1, "memory": 1} for gpus in (4, 3)]
    instance = PlacementInstance(machines=machines, jobs=jobs)
    found = offline(instance, method=method, gap=0.0)
    check(instance, found)
    assert found.why_stopped is WhyStopped.PROVED
    assert found.value == 1e8 + 0.056  # the long one alone, the others by duration: 0.053 + 0.001 + 0.002


def test_the_program_refuses_contention() -> None:
    with pytest.raises(InputError):
        offline(made(**SLOW), method="program")


def test_the_entry_says_what_the_bound_rests_on() -> None:
    entry = placement.ORACLES["offline"]
    assert entry.function is offline
    assert entry.problem == "placement"
    assert entry.methods == METHODS
    assert "prices" in entry.guarantee
