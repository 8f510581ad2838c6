"""The policies of the admission problem: the contract, and what each of the baselines promises."""

import itertools
import math
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.api import make_policy, policy_table
from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import Job
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.models.base import InputError
from clairvoyant.models.program import in_highs as program_in_highs
from clairvoyant.online.admission import POLICIES, Dorm, Drf, Fifo, OasisPrinted, RollingHorizon, Rrh, dorm
from clairvoyant.online.admission.dorm import Program
from clairvoyant.online.admission.drf import fair_placement
from clairvoyant.online.admission.placement import MOST_WORKERS, Machines, Placed, Task, deployment
from clairvoyant.online.play import play
from clairvoyant.oracles.admission.optimum import offline
from clairvoyant.problems import policies
from clairvoyant.testing import admission as kit
from clairvoyant.testing import policy_checks

CHECKED: dict[str, Callable[[], Any]] = {
    **POLICIES,
    "oasis-printed, estimated": lambda: OasisPrinted(bounds="estimated"),
    "rolling-horizon, keep": lambda: RollingHorizon(keep=True, forecast=True, steps=10, rounds=10),
}
# What is listed is checked in full; of another setting of it one instance and one seed tell.
ONE: dict[str, Any] = {"instances": [kit.ordinary()["scarce machines"]], "seeds": (0,)}
CHECKS = [
    pytest.param(name, check, run, id=f"{name}-{check}")
    for name, make in CHECKED.items()
    for check, run in policy_checks(make, **({} if name in POLICIES else ONE))
]
BASELINES = (Fifo, Drf, Rrh, Dorm)


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> dict[bytes, Any]:
    """Let HiGHS solve each program of Dorm once, and return them solved.

    Plays of one instance pose the same programs again, and those of an altered one up to where it is altered.
    That HiGHS solves one always alike, the check ``reproducible`` finds.
    """
    known: dict[bytes, Any] = {}

    def in_highs(*program: Any, **options: Any) -> Any:
        key = pickle.dumps((program, options))
        if key not in known:
            known[key] = program_in_highs(*program, **options)
            known[key].run()
        answers = ("getModelStatus", "getInfo", "getSolution")
        return SimpleNamespace(run=lambda: None, **{name: getattr(known[key], name) for name in answers})

    monkeypatch.setattr(dorm, "in_highs", in_highs)
    return known


@pytest.mark.parametrize(("name", "check", "run"), CHECKS)
def test_contract(name: str, check: str, run: Callable[[], None], request: pytest.FixtureRequest) -> None:
    solving = name == "dorm" and check not in ("members", "reproducible")
    solved = request.getfixturevalue("solved") if solving else None
    run()
    assert solved != {} or check != "no_peeking"


def job(arrival: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a job of one resource: two worker-slots of work, at most two workers."""
    plain = {"epochs": 1, "chunks": 2, "minibatches": 1, "minibatch_time": 1, "gradient_size": 0}
    needs = {"worker_bandwidth": 1, "server_bandwidth": 100, "worker_demand": [1], "server_demand": [0]}
    utility = {
        name: fields.pop(name, value) for name, value in {"priority": 10, "decay": 1, "target": 3}.items()
    }
    return {"arrival": arrival, **plain, **needs, **fields, "utility": utility}


def cluster(
    jobs: list[dict[str, Any]], workers: Any = (2,), servers: Any = (9,), horizon: int = 8
) -> AdmissionInstance:
    """Return an instance of one resource."""
    machines = [[[has] for has in side] for side in (workers, servers)]
    return AdmissionInstance(
        horizon=horizon,
        resources=["r"],
        worker_servers=machines[0],
        parameter_servers=machines[1],
        jobs=jobs,
    )


def counts(policy: Any, instance: AdmissionInstance, seed: int = 0) -> np.ndarray:
    """Return the workers of every job in every slot, shape (T, I)."""
    run = play(policy, instance, seed, keep_decisions=True)
    result = np.zeros((instance.setting.horizon, len(instance.jobs)), dtype=np.int64)
    for slot, decision in enumerate(run.decisions or ()):
        for i, _, count in np.asarray(decision.workers).tolist():
            result[slot, i] += count
    return result


# ------------------------------------------------------------------ what all baselines have in common


@pytest.mark.parametrize("policy", BASELINES)
@given(instance=kit.instances())
@hypothesis_settings(max_examples=25, deadline=None)
def test_only_arrivals_and_completions_change_what_runs(policy: Any, instance: AdmissionInstance) -> None:
    run = play(policy(), instance, keep_decisions=True)
    schedule = Schedule.of_deployments(run.decisions)
    ends = instance.completions(schedule)
    assert run.total == pytest.approx(instance.rewards(schedule).sum())
    arrivals = {one.arrival for one in instance.jobs if one.index not in instance.never}
    for slot in range(2, instance.setting.horizon + 1):
        if slot not in arrivals and slot - 1 not in ends:
            before, now = (run.decisions or ())[slot - 2 : slot]
            assert np.array_equal(before.workers, now.workers)
            assert np.array_equal(before.servers, now.servers)
    assert not any(ends[i] or (schedule.workers[:, 1] == i).any() for i in instance.never)


def test_round_robin_goes_on_after_the_machine_used_last() -> None:
    instance = cluster([job(chunks=5), job(chunks=5)], workers=(2, 1, 3), servers=(1, 1), horizon=9)
    first, second = instance.jobs
    machines = Machines(instance.setting)
    placed = machines.place(first, 4)
    assert placed is not None
    assert placed.workers.tolist() == [2, 1, 1]  # 0, 1, 2, 0
    assert placed.servers.tolist() == [1, 0]
    assert machines.place(second, 3) is None  # two are left on the last machine, none elsewhere
    placed = machines.place(second, 2)
    assert placed is not None
    assert placed.workers.tolist() == [0, 0, 2]
    assert placed.servers.tolist() == [0, 1]


# ------------------------------------------------------------------ FIFO


@given(instance=kit.instances(max_horizon=6, max_jobs=5))
@hypothesis_settings(max_examples=40, deadline=None)
def test_fifo_never_overtakes_and_keeps_numbers_and_places(instance: AdmissionInstance) -> None:
    run = play(Fifo(), instance, 3, keep_decisions=True)
    schedule = Schedule.of_deployments(run.decisions)
    y = counts(Fifo(), instance, 3)
    starts = []
    for one in instance.jobs:
        slots = np.flatnonzero(y[:, one.index])
        if one.index in instance.never:
            assert not len(slots)
            continue
        starts.append(slots[0] if len(slots) else instance.setting.horizon)
        if len(slots):
            assert slots.tolist() == list(range(slots[0], slots[-1] + 1))
            mine = schedule.of_job(one.index).workers
            rows = [mine[mine[:, 0] == slot + 1][:, 2:].tolist() for slot in slots]
            assert all(row == rows[0] for row in rows)
            number = int(y[slots[0], one.index])
            assert 1 <= number <= min(MOST_WORKERS, instance.setting.most_workers(one))
            done = slots[0] + math.ceil(one.work / number) <= instance.setting.horizon
            assert done == (y[:, one.index].sum() >= one.work)
    assert starts == sorted(starts)


def test_the_head_of_the_line_blocks_a_job_that_would_fit() -> None:
    """Two of three units are taken, so that the second job waits, and the third behind it."""
    big: dict[str, Any] = {"worker_demand": [2], "chunks": 1, "epochs": 3}
    small: dict[str, Any] = {"worker_demand": [1], "chunks": 1, "epochs": 1}
    y = counts(Fifo(), cluster([job(**big), job(**big), job(**small)], workers=(3,)))
    assert [np.flatnonzero(y[:, i]).tolist() for i in range(3)] == [[0, 1, 2], [3, 4, 5], [3]]


def test_fifo_goes_on_after_the_machine_that_it_used_last_in_any_slot() -> None:
    short = {"chunks": 1, "epochs": 1, "server_demand": [1]}
    instance = cluster([job(t, **short) for t in (1, 2, 4)], workers=(1, 1, 1), servers=(1, 1))
    used = Schedule.of_deployments(play(Fifo(), instance, keep_decisions=True).decisions)
    assert used.workers[:, [0, 2]].tolist() == [[1, 0], [2, 1], [4, 2]]
    assert used.servers[:, [0, 2]].tolist() == [[1, 0], [2, 1], [4, 0]]


def test_fifo_draws_from_1_to_30() -> None:
    instance = cluster([job(chunks=90, epochs=2) for _ in range(300)], workers=(10**6,), horizon=9)
    sampled = counts(Fifo(), instance).max(axis=0)
    assert sampled.min() == 1
    assert sampled.max() == MOST_WORKERS
    assert sampled.mean() == pytest.approx(15.5, abs=4 * math.sqrt(899 / 12 / 300))


# ------------------------------------------------------------------ DRF


def tasks_of(instance: AdmissionInstance) -> list[Task]:
    never = instance.never
    return [Task(one, instance.setting, one.work) for one in instance.jobs if one.index not in never]


def amounts(placed: dict[int, Placed], tasks: list[Task]) -> dict[int, tuple[int, int]]:
    """Return the workers and parameter servers of every job."""
    none = (0, 0)
    found = {i: (int(p.workers.sum()), int(p.servers.sum())) for i, p in placed.items()}
    return {task.job.index: found.get(task.job.index, none) for task in tasks}


def dominant(instance: AdmissionInstance, one: Job, y: int) -> float:
    """Return the dominant share of a job with y workers, by plain loops."""
    z, s = int(one.servers_for[y]), instance.setting
    shares = [0.0]
    for count, need, total in (
        (y, one.worker_demand, s.worker_total),
        (z, one.server_demand, s.server_total),
    ):
        shares += [count * a / c for a, c in zip(need, total, strict=True) if a > 0]
    return max(shares)


def by_turns(instance: AdmissionInstance, tasks: list[Task]) -> dict[int, tuple[list[int], list[int]]]:
    """Return the machines of the workers and of the parameter servers that DRF gives, by plain loops."""
    s = instance.setting
    free = [[list(map(int, row)) for row in side] for side in (s.worker_units, s.server_units)]
    last = [-1, -1]
    given: dict[int, tuple[list[int], list[int]]] = {task.job.index: ([], []) for task in tasks}
    open_ = {task.job.index: task for task in tasks}
    while open_:
        i = min(open_, key=lambda i: (dominant(instance, instance.jobs[i], len(given[i][0])), i))
        one, y = instance.jobs[i], len(given[i][0])
        if y == min(one.chunks, open_[i].left, s.most_workers(one)):
            del open_[i]
            continue
        wanted = (1, int(one.servers_for[y + 1]) - len(given[i][1]))
        chosen = []
        for side, need in enumerate((one.worker_units, one.server_units)):
            machines = len(free[side])
            turn = [(last[side] + 1 + step) % machines for step in range(machines)]
            room = [h for h in turn if all(a <= c for a, c in zip(need, free[side][h], strict=True))]
            chosen.append(room[:1] if wanted[side] else [])
        if [len(machines) for machines in chosen] != list(wanted):
            del open_[i]
            continue
        for side, need in enumerate((one.worker_units, one.server_units)):
            for h in chosen[side]:
                free[side][h] = [c - int(a) for a, c in zip(need, free[side][h], strict=True)]
                given[i][side].append(h)
                last[side] = h
    return given


@given(instance=kit.instances(max_jobs=5))
@hypothesis_settings(max_examples=60, deadline=None)
def test_drf_against_plain_loops(instance: AdmissionInstance) -> None:
    tasks = tasks_of(instance)
    placed = fair_placement(instance.setting, tasks)
    for i, sides in by_turns(instance, tasks).items():
        assert (i in placed) == bool(sides[0])
        if sides[0]:
            for found, want in zip((placed[i].workers, placed[i].servers), sides, strict=True):
                assert found.tolist() == [want.count(h) for h in range(len(found))]


@given(instance=kit.instances(max_jobs=5))
@hypothesis_settings(max_examples=60, deadline=None)
def test_drf_leaves_room_for_nobody_who_could_do_with_more(instance: AdmissionInstance) -> None:
    tasks = tasks_of(instance)
    placed = fair_placement(instance.setting, tasks)
    number = amounts(placed, tasks)
    free = [instance.setting.worker_units.copy(), instance.setting.server_units.copy()]
    for i, where in placed.items():
        free[0] -= where.workers[:, None] * instance.jobs[i].worker_units
        free[1] -= where.servers[:, None] * instance.jobs[i].server_units
    assert all((side >= 0).all() for side in free)
    for task in tasks:
        one = task.job
        y, z = number[one.index]
        assert z == one.servers_for[y]
        assert task.shares[y] == pytest.approx(dominant(instance, one, y))
        if y < min(instance.setting.most_workers(one), one.work):
            needs = [one.worker_units, (one.servers_for[y + 1] - z) * one.server_units]
            assert not all((side >= need).all(axis=1).any() for side, need in zip(free, needs, strict=True))


def test_equal_jobs_get_equal_shares_and_a_smaller_one_more_workers() -> None:
    """Shares of 12 units: 2, 2 and 1 per worker, filled to 4, 4 and 4."""
    needs: list[dict[str, Any]] = [{"worker_demand": [n], "chunks": 9, "epochs": 5} for n in (2, 2, 1)]
    y = counts(Drf(), cluster([job(**n) for n in needs], workers=(12,)))
    assert y[0].tolist() == [2, 2, 4]


# ------------------------------------------------------------------ RRH


def test_rrh_admits_what_is_worth_more_than_the_delay_it_means() -> None:
    """The first job takes the machine for two slots and loses 7.31 - 2.69 if two slots late."""
    first = job(worker_demand=[2], chunks=1, epochs=2, decay=1, target=2)
    late = 10 / (1 + math.exp(1 - 2)) - 10 / (1 + math.exp(3 - 2))
    for priority, admitted in ((1.01 * 2 * late, True), (0.99 * 2 * late, False)):
        second = job(worker_demand=[2], chunks=1, epochs=2, decay=0, priority=priority)
        y = counts(Rrh(), cluster([first, second]))
        assert y[:, 0].sum() == 2
        assert bool(y[:, 1].sum()) == admitted


@pytest.mark.parametrize("kind", [Fifo, Rrh])
@pytest.mark.parametrize("workers", [1, 3, 30])
def test_a_fixed_number_of_workers_is_that_of_every_job(kind: Any, workers: int) -> None:
    """Unless the job has fewer chunks, or the empty machines hold fewer."""
    instance = generate("default", 3, fit="any", jobs=30, worker_machines=8)
    policy, episode = kind(workers=workers), instance.episode(frozenset())
    policy.start(instance.setting, np.random.default_rng(0))
    seen = {}
    for observation in episode:
        for job in observation.jobs:
            seen[job.index] = policy.draw_workers(job, policy.workers)
        episode.apply(policy.decide(observation))
    most = {job.index: instance.setting.most_workers(job) for job in instance.jobs}
    assert seen == {i: min(workers, most[i]) for i in seen}
    assert len(seen) == len(instance.jobs)


def test_rrh_needs_more_than_the_threshold() -> None:
    instance = cluster([job(chunks=1, epochs=2, decay=0, priority=20)])  # worth 10 at any time
    assert play(Rrh(threshold=9.99), instance).total == 10.0
    assert play(Rrh(threshold=10.0), instance).total == 0.0


def test_rrh_pauses_a_job_for_a_denser_one_and_goes_on_later() -> None:
    slow = job(worker_demand=[2], chunks=1, epochs=4, decay=0, priority=20)
    dense = job(2, worker_demand=[2], chunks=1, epochs=1, decay=0, priority=60)
    y = counts(Rrh(), cluster([slow, dense]))
    assert y.T.tolist() == [[1, 0, 1, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0]]


def test_rrh_drops_who_cannot_be_done_in_time() -> None:
    """Nobody loses by waiting, so all are admitted that are not late at once; two of them fit in 4 slots."""
    jobs = [job(worker_demand=[2], chunks=1, epochs=2, decay=0, priority=p) for p in (10, 30, 20)]
    y = counts(Rrh(), cluster(jobs, horizon=4))
    assert y.T.tolist() == [[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]]


@given(instance=kit.instances(max_horizon=6, max_jobs=5))
@hypothesis_settings(max_examples=40, deadline=None)
def test_rrh_runs_with_its_number_or_pauses(instance: AdmissionInstance) -> None:
    for column in counts(Rrh(), instance, 5).T:
        assert len(set(column[column > 0].tolist())) <= 1


@given(instance=kit.instances(max_jobs=5, min_jobs=2))
@hypothesis_settings(max_examples=60, deadline=None)
def test_rrh_ranks_and_charges_as_it_says(instance: AdmissionInstance) -> None:
    """Utility over what is needed, and the cost of a delay, by plain formulas."""
    tasks = tasks_of(instance)
    assume(len(tasks) > 1)
    policy, slot, horizon = Rrh(), max(t.job.arrival for t in tasks), instance.setting.horizon
    policy.start(instance.setting, np.random.default_rng(0))
    for task in tasks:
        task.workers = policy.draw_workers(task.job)

    def worth(task: Task, delay: int) -> float:
        end = slot + math.ceil(task.left / task.workers) - 1 + delay
        one = task.job
        x = one.decay * (end - one.arrival - one.target)
        return 0.0 if end > horizon else one.priority / (1.0 + math.exp(min(x, 700.0)))

    *others, new = tasks
    scores = [
        worth(t, 0) / (dominant(instance, t.job, t.workers) * t.slots or 1e-300)
        for t in policy.ranked(tasks, slot)
    ]
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(scores))
    for task in others:
        policy.arrive(task, slot)
    held = [task for task in others if task.job.index in policy._tasks]
    loss = sum(worth(t, 0) - worth(t, new.slots) for t in held)
    cost = dominant(instance, new.job, new.workers) * loss
    assert policy.cost(new, slot) == pytest.approx(cost, abs=1e-9)


# ------------------------------------------------------------------ Dorm

TINY = kit.instances(max_horizon=3, max_machines=2, max_resources=1, min_jobs=2, max_jobs=2, max_chunks=3)


def used(instance: AdmissionInstance, y: np.ndarray, z: np.ndarray) -> float:
    """Return the used shares of capacity, added up; y and z are counts by job and machine."""
    s, total = instance.setting, 0.0
    for count, need, has in (
        (y, instance.worker_needs, s.worker_units), (z, instance.server_needs, s.server_units)
    ):  # fmt: skip
        taken = count.sum(axis=1) @ need
        total += sum(a / c for a, c in zip(taken, has.sum(axis=0), strict=True) if c > 0)
    return total


def every(instance: AdmissionInstance) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return every deployment (y, z) that breaks nothing in the last slot, with as few servers as can be."""
    s, jobs = instance.setting, instance.jobs
    found, never, done = [], instance.never, np.zeros(len(instance.jobs), dtype=np.int64)
    sides = []
    for machines in (len(s.worker_units), len(s.server_units)):
        options = []
        for one in jobs:
            most = 0 if one.index in never else min(one.chunks, one.work)
            lines = itertools.product(range(most + 1), repeat=machines)
            options.append([line for line in lines if sum(line) <= most])
        sides.append(options)
    for y in itertools.product(*sides[0]):
        for z in itertools.product(*sides[1]):
            if all(sum(b) == one.servers_for[sum(a)] for one, a, b in zip(jobs, y, z, strict=True)):
                pair = [np.array(side, dtype=np.int64).reshape(len(jobs), -1) for side in (y, z)]
                rows = deployment({i: Placed(pair[0][i], pair[1][i]) for i in range(len(jobs))})
                if not instance.slot_violations(s.horizon, rows.workers, rows.servers, done):
                    found.append((pair[0], pair[1]))
    return found


def tables(instance: AdmissionInstance, placed: dict[int, Placed]) -> tuple[np.ndarray, np.ndarray]:
    """Return counts by job and machine."""
    y = np.zeros((len(instance.jobs), len(instance.setting.worker_units)), dtype=np.int64)
    z = np.zeros((len(instance.jobs), len(instance.setting.server_units)), dtype=np.int64)
    for i, where in placed.items():
        y[i], z[i] = where.workers, where.servers
    return y, z


@given(TINY, st.integers(0, 99))
@hypothesis_settings(max_examples=25, deadline=None)
def test_dorm_solves_its_program(instance: AdmissionInstance, which: int) -> None:
    """Against all deployments, from nothing and beside any other deployment."""
    tasks = tasks_of(instance)
    assume(tasks)
    options = [(y, z, used(instance, y, z)) for y, z in every(instance)]
    y, z, _ = options[which % len(options)]
    beside = {task.job.index: Placed(y[task.job.index], z[task.job.index]) for task in tasks}
    for placed in ({}, {i: where for i, where in beside.items() if where.workers.any()}):
        program = Program(instance.setting, tasks, placed)
        floors = np.minimum(program.floors(0.2), 1)
        now = tables(instance, placed)
        least = np.zeros(len(instance.jobs), dtype=np.int64)
        least[[task.job.index for task in tasks]] = floors
        for adjusted in range(len(placed) + 1):
            found = program.solve(floors, adjusted, 0.0, 10**6)
            allowed = []
            for y, z, share in options:
                moved = sum(
                    not (np.array_equal(y[i], now[0][i]) and np.array_equal(z[i], now[1][i])) for i in placed
                )
                if moved <= adjusted and (y.sum(axis=1) >= least).all():
                    allowed.append(share)
            assert (found is None) == (not allowed)
            if found is not None:
                y, z = tables(instance, found)
                assert any(np.array_equal(y, a) and np.array_equal(z, b) for a, b, _ in options)
                assert used(instance, y, z) == pytest.approx(max(allowed), abs=1e-6)


@given(instance=kit.instances(max_horizon=5, max_jobs=5))
@hypothesis_settings(max_examples=30, deadline=None)
def test_dorm_keeps_its_adjustment_limit_and_its_floors(instance: AdmissionInstance) -> None:
    policy = Dorm(theta1=0.25, theta2=0.3)
    policy.start(instance.setting, np.random.default_rng(0))
    episode = instance.episode(policy.traits.sees)
    for observation in episode:
        running = dict(policy._placed)
        before = {i: (where.workers.tolist(), where.servers.tolist()) for i, where in running.items()}
        left = {i: task.left for i, task in policy._tasks.items()}
        decision = policy.decide(observation)
        episode.apply(decision)
        y = np.zeros((len(instance.jobs), len(instance.setting.worker_units)), dtype=np.int64)
        z = np.zeros((len(instance.jobs), len(instance.setting.server_units)), dtype=np.int64)
        for table, rows in ((y, decision.workers), (z, decision.servers)):
            table[rows[:, 0], rows[:, 1]] = rows[:, 2]
        moved = sum((y[i].tolist(), z[i].tolist()) != before[i] for i in before)
        assert moved <= math.ceil(0.3 * len(before))
        if len(observation.jobs) and not before:  # nothing binds but the floors
            for one in observation.jobs:
                if one.index not in instance.never:
                    left[one.index] = one.work
            tasks = [Task(instance.jobs[i], instance.setting, n) for i, n in left.items()]
            fair = amounts(fair_placement(instance.setting, tasks), tasks)
            for i, (workers, _) in fair.items():
                share = dominant(instance, instance.jobs[i], workers)
                assert dominant(instance, instance.jobs[i], int(y[i].sum())) >= 0.75 * share - 1e-9
                assert bool(workers) <= bool(y[i].sum())


def test_dorm_leaves_a_running_job_alone_if_it_may_adjust_none() -> None:
    wide = job(chunks=4, epochs=4)
    rigid, free = (
        counts(Dorm(theta2=t), cluster([wide, {**wide, "arrival": 2}], workers=(4,))) for t in (0, 1)
    )
    assert rigid[:2].tolist() == [[4, 0], [4, 0]]
    assert free[0].tolist() == [4, 0]
    assert free[1].sum() == 4
    assert min(free[1]) >= 2  # at least 0.8 of the fair 2, rounded up


def test_dorm_may_adjust_the_part_of_the_running_jobs_rounded_up() -> None:
    wide = job(chunks=4, epochs=4)
    instance = cluster([wide, {**wide, "arrival": 2}], workers=(4,))
    assert counts(Dorm(theta2=0.1), instance).tolist() == counts(Dorm(theta2=1), instance).tolist()


def test_dorm_wants_no_parameter_server_too_many() -> None:
    """One more of the first job would fill the machine, and leave no room for the second job's."""
    one = {"server_bandwidth": 1, "chunks": 2, "epochs": 1}
    needs = (([2], [3]), ([0], [2]))
    jobs = [job(**one, worker_demand=worker, server_demand=server) for worker, server in needs]
    instance = cluster(jobs, workers=(2,), servers=(6,))
    tasks = tasks_of(instance)
    found = Program(instance.setting, tasks, {}).solve(np.zeros(2, dtype=np.int64), 0, 0.0, 10**6)
    assert found is not None
    assert amounts(found, tasks) == {0: (1, 1), 1: (1, 1)}


def test_dorm_prefers_the_larger_use_of_the_machines() -> None:
    """One machine of 5: a job of 3 beside one of 2 fills it, two of 3 do not fit."""
    needs = ([3], [3], [2])
    jobs = [job(worker_demand=need, chunks=1, epochs=1) for need in needs]
    y = counts(Dorm(theta1=1.0), cluster(jobs, workers=(5,)))
    assert y[0].tolist() == [1, 0, 1]


# ------------------------------------------------------------------ beside the optimum, settings, list


@pytest.mark.parametrize("where", ["ample machines", "a job that cannot run"])
def test_no_policy_earns_more_than_the_offline_optimum(where: str) -> None:
    instance = kit.ordinary()[where]
    bound = offline(instance, time_limit=30.0).bound
    assert bound is not None
    totals = {name: play(make_policy(name, "admission"), instance).total for name in POLICIES}
    assert all(0.0 < total <= bound * (1.0 + 1e-9) for total in totals.values()), totals
    if where == "ample machines":
        assert min(totals.values()) == pytest.approx(bound)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rrh:threshold=nan", "policy rrh: threshold: nan is not a finite number"),
        ("rrh:workers=31", "policy rrh: workers: 31 is not a whole number from 0 to 30"),
        ("fifo:workers=-1", "policy fifo: workers: -1 is not a whole number from 0 to 30"),
        ("dorm:theta1=2", r"policy dorm: theta1: 2.0 is not in [0, 1]"),
        ("dorm:theta2=-1", r"policy dorm: theta2: -1.0 is not in [0, 1]"),
        ("dorm:gap=inf", "policy dorm: gap: inf is not a finite number of at least 0"),
        ("dorm:nodes=0", "policy dorm: nodes: 0 is not from 1 to 1e9"),
    ],
)
def test_settings_that_do_not_exist(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        make_policy(text, "admission")
    assert str(error.value) == message


def test_the_list_of_policies_says_what_they_see() -> None:
    rows = {row.name: row for row in policy_table("admission")}
    assert list(rows) == list(POLICIES) == list(policies("admission"))
    assert [name for name, row in rows.items() if row.sees] == ["oasis", "oasis-printed"]
    assert [name for name, row in rows.items() if row.randomised] == ["fifo", "rrh", "rolling-horizon"]
    assert all(row.feasible for row in rows.values())
    assert rows["dorm"].settings == {"theta1": 0.2, "theta2": 0.2, "gap": 0.02, "nodes": 1}
