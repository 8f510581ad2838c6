"""Three solvers and an enumeration of tiny instances: the same optimum, and no bound below it."""

import gc
import itertools
import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import exact
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.online.play import Replay, play
from clairvoyant.oracles.admission import branch
from clairvoyant.oracles.admission import exact as admission_exact
from clairvoyant.oracles.admission.bound import volume
from clairvoyant.oracles.base import Budget, OracleError
from clairvoyant.testing.admission import instances

from .admission_stages import Part, by_branching, by_cp_sat, by_highs, staged

Solver = Callable[..., Part]


def without_tables(*given: Any) -> Part:
    """HiGHS, where the tables of branch and price are too large: the bound is that of linear programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission_exact, "affordable", lambda _: False)
        return staged(admission_exact.by_highs)(*given)


def from_prices(
    instance: AdmissionInstance, budget: Budget, progress: Any = None, start: Schedule | None = None
) -> Part:
    """Branch and price from prices of capacity, as with many jobs."""
    capacity = volume(instance, Budget(0.0, None), 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branch, "FEW_JOBS", 0)
        return by_branching(instance, budget, progress, start, capacity)


DECLARED = (by_highs, by_cp_sat, without_tables)
SOLVERS = (by_branching, from_prices, *DECLARED)


def exactly(given_gap: float = 0.0, time_limit: float | None = None) -> Budget:
    return Budget(given_gap, time_limit)


def fits(rooms: list[list[int]], needs: list[list[int]], counts: Sequence[int]) -> bool:
    """Whether counts[j] items of needs[j] go on machines with these rooms, by trying every placement."""
    if not any(counts):
        return True
    item = next(j for j, count in enumerate(counts) if count)
    for room in rooms:
        if all(have >= need for have, need in zip(room, needs[item], strict=True)):
            for r, need in enumerate(needs[item]):
                room[r] -= need
            fine = fits(rooms, needs, [count - (j == item) for j, count in enumerate(counts)])
            for r, need in enumerate(needs[item]):
                room[r] += need
            if fine:
                return True
    return False


def slot_counts(instance: AdmissionInstance) -> Iterator[tuple[int, ...]]:
    """All numbers of workers of the jobs that fit in one slot, with the fewest parameter servers."""
    s, jobs = instance.setting, instance.jobs
    ratios = [exact(job.worker_bandwidth) / exact(job.server_bandwidth) for job in jobs]
    for counts in itertools.product(*(range(min(job.chunks, job.work) + 1) for job in jobs)):
        servers = [math.ceil(y * ratio) for y, ratio in zip(counts, ratios, strict=True)]
        if any(z > y for y, z in zip(counts, servers, strict=True)):
            continue
        sides = (
            (s.worker_units, instance.worker_needs, counts),
            (s.server_units, instance.server_needs, servers),
        )
        if all(fits(has.tolist(), needs.tolist(), number) for has, needs, number in sides):
            yield counts


def enumerated(instance: AdmissionInstance) -> float:
    """The optimum by trying all numbers of workers in every slot; placements are apart from each other."""
    jobs, choices = instance.jobs, list(slot_counts(instance))

    @cache
    def best(slot: int, left: tuple[int, ...]) -> float:
        if slot > instance.setting.horizon:
            return 0.0
        found = 0.0
        for counts in choices:
            if any(
                y > owed or (y and slot < job.arrival)
                for y, owed, job in zip(counts, left, jobs, strict=True)
            ):
                continue
            after = tuple(owed - y for owed, y in zip(left, counts, strict=True))
            gain = sum(
                job.utility(slot - job.arrival)
                for y, rest, job in zip(counts, after, jobs, strict=True)
                if y and not rest
            )
            found = max(found, gain + best(slot + 1, after))
        return found

    return best(1, tuple(job.work for job in jobs))


def schedule(workers: Sequence[tuple[int, ...]], servers: Sequence[tuple[int, ...]]) -> Schedule:
    return Schedule(np.array(workers), np.array(servers))


def value_of(instance: AdmissionInstance, part: Part) -> float:
    """The value of a part's schedule, which must be feasible and replay to the same."""
    assert instance.violations(part.schedule) == []
    value = math.fsum(instance.rewards(part.schedule).tolist())
    decisions = part.schedule.deployments(instance.setting.horizon)
    run = play(Replay(decisions, instance.problem), instance)
    assert run.total == pytest.approx(value, rel=1e-12)
    assert part.bound >= value
    return value


def job(**changes: Any) -> dict[str, Any]:
    base = {
        "arrival": 1,
        "epochs": 1,
        "chunks": 2,
        "minibatches": 1,
        "minibatch_time": 1,
        "gradient_size": 0,
        "worker_bandwidth": 1,
        "server_bandwidth": 1,
        "worker_demand": [1],
        "server_demand": [1],
        "utility": {"priority": 10, "decay": 1, "target": 1},
    }
    return base | changes


def cluster(jobs: list[dict[str, Any]], **changes: Any) -> AdmissionInstance:
    base: dict[str, Any] = {
        "horizon": 3,
        "resources": ["cpu"],
        "worker_servers": [[2], [1]],
        "parameter_servers": [[3]],
    }
    return AdmissionInstance(**(base | changes), jobs=jobs)


TINY = instances(max_jobs=3, max_horizon=3, max_chunks=3)


@given(TINY)
@hypothesis_settings(max_examples=25, deadline=None)
def test_the_solvers_find_the_optimum_of_enumeration(instance: AdmissionInstance) -> None:
    optimum = enumerated(instance)
    for solver in SOLVERS:
        part = solver(instance, exactly())
        assert value_of(instance, part) == pytest.approx(optimum, abs=1e-9)
        assert part.bound == pytest.approx(optimum, rel=1e-6)


@given(instances(min_jobs=3, max_jobs=5, max_machines=3))
@hypothesis_settings(max_examples=20, deadline=None)
def test_the_solvers_agree_where_enumeration_is_too_long(instance: AdmissionInstance) -> None:
    first, *others = (value_of(instance, solver(instance, exactly())) for solver in SOLVERS)
    assert others == pytest.approx([first] * len(others), rel=1e-9, abs=1e-9)


@given(TINY, st.sampled_from([(0.9, None), (0.0, 0.0), (1e6, None)]), st.sampled_from(SOLVERS))
@hypothesis_settings(max_examples=40, deadline=None)
def test_a_bound_is_never_below_the_optimum(
    instance: AdmissionInstance, stop: tuple[float, float | None], method: Solver
) -> None:
    part = method(instance, exactly(*stop))
    optimum = enumerated(instance)
    assert part.bound >= optimum - 1e-12 * optimum
    assert value_of(instance, part) <= optimum + 1e-12 * optimum


@given(instances(max_jobs=3), st.randoms(use_true_random=False))
@hypothesis_settings(max_examples=15, deadline=None)
def test_the_order_of_jobs_and_machines_does_not_count(instance: AdmissionInstance, uniforms: Any) -> None:
    data = instance.to_dict()
    for name in ("jobs", "worker_servers", "parameter_servers"):
        uniforms.shuffle(data[name])
    other = AdmissionInstance.from_dict(data)
    for solver in SOLVERS:
        first, second = (value_of(i, solver(i, exactly())) for i in (instance, other))
        assert first == pytest.approx(second, abs=1e-9)


@given(TINY)
@hypothesis_settings(max_examples=15, deadline=None)
def test_a_schedule_to_begin_with_is_kept_or_bettered(instance: AdmissionInstance) -> None:
    best = by_cp_sat(instance, exactly())
    for solver in SOLVERS:
        kept = solver(instance, exactly(0.0, 0.0), None, best.schedule)
        assert value_of(instance, kept) == value_of(instance, best)
        again = solver(instance, exactly(), None, best.schedule)
        assert value_of(instance, again) == pytest.approx(value_of(instance, best), abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_loses_what_earns_nothing(solver: Solver) -> None:
    instance = cluster([job(), job(epochs=3, chunks=1)])  # W = 2 and 3
    workers = [(1, 0, 0, 1), (2, 0, 0, 2), (3, 1, 0, 1)]
    servers = [(1, 0, 0, 1), (2, 0, 0, 2), (3, 1, 0, 1)]
    kept = solver(instance, exactly(0.0, 0.0), None, schedule(workers, servers)).schedule
    assert kept.workers.tolist() == [[1, 0, 0, 1], [2, 0, 0, 1]]
    assert kept.servers.tolist() == [[1, 0, 0, 1], [2, 0, 0, 1]]


def test_decimals_are_exact() -> None:
    """0.1 + 0.2 fit on 0.3, three workers of 0.1 need one parameter server of 0.3, and W = 3."""
    three = job(chunks=3, worker_bandwidth=0.1, server_bandwidth=0.3, worker_demand=[0.1], server_demand=[2])
    parts = [job(chunks=1, worker_demand=[w], server_demand=[0]) for w in (0.1, 0.2)]
    for jobs, servers in (([three], [[2]]), (parts, [[0]])):
        instance = cluster(jobs, worker_servers=[[0.3]], parameter_servers=servers)
        everything = sum(j.utility(0) for j in instance.jobs)
        for solver in SOLVERS:
            part = solver(instance, exactly())
            assert value_of(instance, part) == pytest.approx(everything)
        assert enumerated(instance) == pytest.approx(everything)


@pytest.mark.parametrize(
    "changes",
    [
        {"jobs": []},
        {"worker_servers": []},
        {"parameter_servers": []},
        {"worker_servers": [], "parameter_servers": [], "jobs": []},
        {"jobs": [job(epochs=9), job(worker_bandwidth=2), job(worker_demand=[4])]},
    ],
)
@pytest.mark.parametrize("method", SOLVERS)
def test_where_nothing_can_finish_the_optimum_is_0(changes: dict[str, Any], method: Solver) -> None:
    part = method(cluster(**({"jobs": [job()]} | changes)), exactly())
    assert part.bound == 0.0
    if part.schedule is not None:
        assert len(part.schedule.workers) == len(part.schedule.servers) == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_jobs_that_demand_nothing_run_at_once(solver: Solver) -> None:
    free = [job(worker_demand=[0], server_demand=[0]) for _ in range(4)]
    instance = cluster(free, worker_servers=[[0]], parameter_servers=[[0]])
    part = solver(instance, exactly())
    assert value_of(instance, part) == pytest.approx(sum(j.utility(0) for j in instance.jobs))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("priority", [2.3e-308, 1e-200, 1e-9, 1e9])
def test_priorities_of_any_size(solver: Solver, priority: float) -> None:
    utility = {"priority": priority, "decay": 0.5, "target": 2}
    instance = cluster([job(utility=utility), job(utility=utility, epochs=2), job(chunks=1, utility=utility)])
    part = solver(instance, exactly())
    assert value_of(instance, part) == pytest.approx(enumerated(instance), rel=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_six_decimals_and_large_amounts(solver: Solver) -> None:
    needs = [333333.333333, 333333.333334, 123456.789012, 1.000001]
    jobs = [job(chunks=1, worker_demand=[need], server_demand=[need]) for need in needs]
    for capacity in (1e6, 999999.999999, 666666.666666, 790123.456, 666667.666667):
        instance = cluster(jobs, worker_servers=[[capacity]], parameter_servers=[[2e6], [1e-6]], horizon=1)
        assert value_of(instance, solver(instance, exactly())) == pytest.approx(enumerated(instance))


@pytest.mark.parametrize("need", [5e3, 5e6, 5e8])
def test_what_exceeds_an_amount_by_less_than_highs_tells_apart_is_no_schedule(need: float) -> None:
    jobs = [job(chunks=1, worker_demand=[a], server_demand=[1]) for a in (need, need + 1e-6)]
    instance = cluster(jobs, worker_servers=[[2 * need]], parameter_servers=[[2]], horizon=1)
    found = by_highs(instance, exactly())
    assert found.bound >= enumerated(instance) == value_of(instance, by_branching(instance, exactly()))
    assert not instance.violations(found.schedule)


def test_amounts_beyond_the_64_bits_of_cp_sat_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission_exact, "LARGEST_ROW", 1)
    with pytest.raises(OracleError, match="the amounts of resource 0 on machine 0 are too large"):
        by_cp_sat(cluster([job(), job()]), exactly())


LARGER = generate("default", 1, jobs=20, worker_machines=10, server_machines=10)


def test_cp_sat_that_is_stopped_leaves_an_honest_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = generate("default", 2, jobs=5)
    best, solve = value_of(instance, by_highs(instance, exactly())), cp_model.CpSolver.solve

    def first(solver: Any, *rest: Any) -> Any:
        solver.parameters.stop_after_first_solution = True
        return solve(solver, *rest)

    monkeypatch.setattr(cp_model.CpSolver, "solve", first)
    part = by_cp_sat(instance, exactly())
    assert value_of(instance, part) < best <= part.bound


class Looks(Budget):
    """Time that is up after three looks at it."""

    looks: ClassVar[int] = 0

    @property
    def over(self) -> bool:
        Looks.looks += 1
        return Looks.looks > 3


@pytest.mark.parametrize("method", [by_highs, without_tables])
def test_highs_ends_when_the_time_is_up_and_leaves_an_honest_bound(
    method: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Looks, "looks", 0)
    part = method(LARGER, Looks(0.0, None))
    assert 3 < Looks.looks < 20
    assert not part.method.endswith("too large for the time")
    assert part.bound > 249.96  # ten of its jobs alone earn 249.9618, proved in half a minute
    value_of(LARGER, part)


def test_cp_sat_is_told_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    def solve(solver: Any, *_: Any) -> Any:
        told.append(solver.parameters.max_time_in_seconds)
        return cp_model.UNKNOWN

    monkeypatch.setattr(cp_model.CpSolver, "solve", solve)
    for limit in (100.0, None):
        by_cp_sat(LARGER, exactly(0.0, limit))
    assert 0.0 < told[0] <= 100.0
    assert math.isinf(told[1])


@pytest.mark.parametrize("method", [staged(admission_exact.by_highs), by_cp_sat])
def test_too_large_for_the_time_is_not_even_declared(method: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("declared")

    for name in ("compact_program", "_cp_sat_model"):
        monkeypatch.setattr(admission_exact, name, never)
    told: list[str] = []
    short = 0.9 * admission_exact.declaring_work(LARGER)
    part = method(LARGER, exactly(0.0, short), lambda _, text, **__: told.append(text))
    assert part.bound == pytest.approx(sum(best_alone(LARGER)))
    assert told == ["too large for the time"]
    with pytest.raises(AssertionError, match="declared"):
        method(LARGER, exactly(0.0, 1e3))


def best_alone(instance: AdmissionInstance) -> list[float]:
    most = [instance.setting.most_workers(j) for j in instance.jobs]
    return [j.utility(math.ceil(j.work / n) - 1) for j, n in zip(instance.jobs, most, strict=True)]


@pytest.mark.parametrize("method", SOLVERS)
def test_progress_is_reported_and_what_it_raises_comes_through(method: Solver) -> None:
    told: list[tuple[float, dict[str, float]]] = []
    medium = generate("default", 2, jobs=5)
    method(medium, exactly(0.5), lambda done, _, **found: told.append((done, found)))
    assert told
    assert all(0.0 <= done <= 1.0 for done, _ in told)
    assert all(found["bound"] > 0.0 or math.isnan(found["bound"]) for _, found in told)

    def interrupt(_: float, text: str, **_found: float) -> None:
        raise KeyboardInterrupt(text)

    with pytest.raises(KeyboardInterrupt, match=r"HiGHS|CP-SAT|branch and price"):
        method(medium, exactly(), interrupt)


@pytest.mark.parametrize("solver", SOLVERS)
def test_two_runs_are_equal(solver: Solver) -> None:
    instance = generate("tiny", 3)
    first, second = (solver(instance, exactly()) for _ in range(2))
    assert np.array_equal(first.schedule.workers, second.schedule.workers)
    assert first.bound == second.bound


def answering(monkeypatch: pytest.MonkeyPatch, machine: int) -> None:
    """HiGHS says that two workers run on a machine in slot 1, and two parameter servers on the first."""
    names = {("y", 0, machine, 0): 2, ("z", 0, 0, 0): 2}
    monkeypatch.setattr(admission_exact._Stepped, "found", lambda *_: [names])


def test_an_infeasible_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, 1)  # which holds one
    with pytest.raises(OracleError, match="worker capacity"):
        staged(admission_exact.by_highs)(cluster([job()]), exactly())


@pytest.mark.parametrize("solve", [by_branching, without_tables])
def test_a_bound_below_the_value_is_an_error(monkeypatch: pytest.MonkeyPatch, solve: Solver) -> None:
    instance = cluster([job(), job()])
    found = by_cp_sat(instance, exactly()).schedule
    monkeypatch.setattr(admission_exact, "bound_of", lambda *_: 1.0)
    monkeypatch.setattr(admission_exact.Tree, "proved", lambda *_: 0.0)
    with pytest.raises(OracleError, match=r"the value .* \(start\) is above the bound [01]\.0"):
        solve(instance, exactly(), None, found)


def stop(_: float, text: str, **__: float) -> None:
    if text == "HiGHS":
        raise KeyboardInterrupt


def test_threads_end_with_the_search() -> None:
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        staged(admission_exact.by_highs)(LARGER, exactly(), stop)
    assert threading.active_count() == before
    next_to_none = staged(admission_exact.by_highs)(LARGER, exactly(), steps=3)
    assert threading.active_count() == before
    assert next_to_none.bound > 249.96
    gc.collect()
    assert not [one for one in gc.get_objects() if type(one) is admission_exact._Stepped]


def test_a_thread_that_is_not_awaited_at_first_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    join, tried = threading.Thread.join, []

    def interrupted(thread: threading.Thread) -> None:
        tried.append(thread)
        if len(tried) == 1:
            raise KeyboardInterrupt
        join(thread)

    before = threading.active_count()
    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        staged(admission_exact.by_highs)(LARGER, exactly(), stop)
    assert len(tried) == 2
    assert threading.active_count() == before


@pytest.mark.parametrize("seed", range(3))
def test_without_tables_the_bound_is_proved_after_highs_has_ended(seed: int) -> None:
    part = without_tables(generate("tiny", seed, jobs=8), exactly())
    value = value_of(generate("tiny", seed, jobs=8), part)
    assert value > 0.0
    assert part.bound == pytest.approx(value, rel=1e-8)


def test_ctrl_c_ends_cp_sat_and_is_not_swallowed() -> None:
    instance, main = generate("default", 2, jobs=5), threading.get_ident()
    with pytest.raises(KeyboardInterrupt):
        by_cp_sat(instance, exactly(), lambda *_, **__: signal.pthread_kill(main, signal.SIGINT))
    assert not [thread for thread in threading.enumerate() if "ThreadPool" in thread.name]
