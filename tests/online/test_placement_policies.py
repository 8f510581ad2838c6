"""The policies of the placement problem: the contract, and what each of the heuristics promises."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.api import make_policy, policy_table
from clairvoyant.cli.commands import cli
from clairvoyant.models.base import InputError, frozen
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.setting import Observation, Setting
from clairvoyant.models.placement.slowdown import NO_SLOWDOWN
from clairvoyant.online.placement import (
    DrfConsolidate,
    DrfFirstFit,
    DrfLoadBalance,
    FifoConsolidate,
    FifoFirstFit,
    FifoLoadBalance,
    Malo,
    Mosa,
    SjfConsolidate,
    SjfEstimateConsolidate,
    Tetris,
)
from clairvoyant.online.placement.heuristics import Drf
from clairvoyant.online.placement.learned.policies import Learned
from clairvoyant.online.play import play
from clairvoyant.problems import policies
from clairvoyant.testing import placement as kit
from clairvoyant.testing import policy_checks

# The learned ones have a test file of their own.
POLICIES = {name: kind for name, kind in policies("placement").items() if not issubclass(kind, Learned)}
ORDERED = (
    *(FifoFirstFit, FifoLoadBalance, DrfFirstFit, DrfLoadBalance),
    *(DrfConsolidate, FifoConsolidate, SjfConsolidate, SjfEstimateConsolidate),
)
CONSOLIDATING = (DrfConsolidate, FifoConsolidate, SjfConsolidate, SjfEstimateConsolidate)
HEURISTICS = (*ORDERED, Tetris)
WAITING = (
    *("drf-patient", "sjf-estimate-patient", "easy-estimate-consolidate"),
    *("rolling-horizon", "rolling-horizon-estimate"),
)
STRICT: dict[str, Callable[[], Any]] = {
    f"{kind.name}, strict": lambda kind=kind: kind(strict=True)  # type: ignore[misc]
    for kind in ORDERED
}
EVERY: dict[str, Callable[[], Any]] = {**POLICIES, **STRICT}
# Being strict is the same line of code for all: these have every order and every rule once.
CHECKED = (*POLICIES, "fifo-firstfit, strict", "drf-loadbalance, strict", "sjf-consolidate, strict")
# A search takes as long as it is told to, and does the same at every step.
SHORT: dict[str, Callable[[], Any]] = {
    "mosa": lambda: Mosa(iterations=5),
    "malo": lambda: Malo(iterations=2, population=4),
}
# What is listed is checked in full; of another setting of it one instance and one seed tell.
ONE: dict[str, Any] = {"instances": [kit.ordinary()["scarce machines"]], "seeds": (0,)}
CHECKS = [
    pytest.param(run, id=f"{name}-{check}")
    for name in CHECKED
    for check, run in policy_checks((EVERY | SHORT)[name], **({} if name in POLICIES else ONE))
]


@pytest.mark.parametrize("run", CHECKS)
def test_contract(run: Callable[[], None]) -> None:
    run()


def job(submit: float = 0, duration: float = 10, instances: int = 1, gpus: int = 1, **fields: Any) -> Any:
    """Return a job that needs next to nothing but GPUs."""
    plain = {"submit": submit, "duration": duration, "instances": instances, "gpus": gpus}
    return {**plain, "cpus": 1, "memory": 1, **fields}


def cluster(jobs: list[Any], gpus: Any = (4, 4), **fields: Any) -> PlacementInstance:
    """Return an instance on machines with so many GPUs, and CPUs and memory in plenty."""
    machines = [{"gpus": count, "cpus": 100, "memory": 100} for count in gpus]
    return PlacementInstance(machines=machines, jobs=jobs, **fields)


def starts(policy: Any, instance: PlacementInstance) -> list[list[list[int]]]:
    """Return the rows that start at every epoch, as the policy gives them."""
    run = play(policy, instance, keep_decisions=True)
    return [decision.tolist() for decision in run.decisions or ()]


def watch(policy: Any, instance: PlacementInstance) -> Iterator[tuple[Observation, np.ndarray]]:
    """Yield what a policy sees at every epoch, and what it decides."""
    policy.start(instance.setting, np.random.default_rng(0))
    episode = instance.episode(policy.traits.sees)
    for observation in episode:
        decision = policy.decide(observation)
        yield observation, decision
        outcome = episode.apply(decision)
        if hasattr(policy, "learn"):
            policy.learn(outcome.feedback)


def room(free: Any, need: Any, most: int = 10**9) -> int:
    """Return how many instances fit on a machine."""
    return min([most, *(int(f // n) for f, n in zip(free, need, strict=True) if n)])


def fits(free: np.ndarray, need: np.ndarray, instances: int) -> bool:
    """Tell whether all instances of a job fit on all machines together."""
    return sum(room(has, need, instances) for has in free) >= instances


def gangs(seen: Observation, decision: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the place of each job that starts, its rows, and what was free before it, in the order given."""
    free = seen.free.copy()
    for i, group in itertools.groupby(decision.tolist(), key=lambda row: row[0]):
        rows = np.array(list(group))
        p = seen.jobs.tolist().index(i)
        yield p, rows, free.copy()
        np.subtract.at(free, rows[:, 1], rows[:, 2:] * seen.need[p])


def left(seen: Observation, decision: np.ndarray) -> np.ndarray:
    """Return what is free after a decision."""
    free = seen.free.copy()
    for p, rows, before in gangs(seen, decision):
        free = before
        np.subtract.at(free, rows[:, 1], rows[:, 2:] * seen.need[p])
    return free


# ------------------------------------------------------------------ what all policies have in common


@pytest.mark.parametrize("name", EVERY)
@given(instance=kit.instances(max_jobs=5, estimates=True))
@hypothesis_settings(max_examples=10, deadline=None)
def test_every_schedule_keeps_every_limit_at_any_time(name: str, instance: PlacementInstance) -> None:
    run = play(EVERY[name](), instance, keep_decisions=True)
    schedule, jobs = instance.schedule_of(run.decisions or ()), instance.jobs
    assert instance.violations(schedule) == []
    assert (schedule.start >= jobs.submit).all()
    assert (schedule.finish - schedule.start >= jobs.duration).all()
    assert run.total == pytest.approx(instance.cost(schedule), rel=1e-12)
    placed = np.zeros(len(jobs), dtype=np.int64)
    np.add.at(placed, schedule.rows[:, 0], schedule.rows[:, 2])
    assert np.array_equal(placed, jobs.instances)
    for tick in {*schedule.start.tolist(), *schedule.finish.tolist()}:
        used = np.zeros_like(instance.setting.capacity)
        for i, k, count in schedule.rows.tolist():
            if schedule.start[i] <= tick < schedule.finish[i]:
                used[k] += count * jobs.need[i]
        assert (used <= instance.setting.capacity).all()


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in WAITING])
@given(instance=kit.instances(min_jobs=2, max_jobs=7, estimates=True))
@hypothesis_settings(max_examples=10, deadline=None)
def test_nothing_waits_for_which_there_is_room(name: str, instance: PlacementInstance) -> None:
    for seen, decision in watch(POLICIES[name](), instance):
        started, free = set(decision[:, 0].tolist()), left(seen, decision)
        assert started
        for p, i in enumerate(seen.jobs.tolist()):
            assert i in started or not fits(free, seen.need[p], int(seen.instances[p]))


@given(kit.instances(min_jobs=2, max_jobs=7, estimates=True), st.sampled_from(ORDERED))
@hypothesis_settings(max_examples=40, deadline=None)
def test_strict_means_that_nobody_overtakes(instance: PlacementInstance, kind: Any) -> None:
    for seen, decision in watch(kind(strict=True), instance):
        free = left(seen, decision)
        order = reference_order(kind, instance.setting, seen)
        started = [seen.jobs.tolist().index(i) for i, _ in itertools.groupby(decision[:, 0].tolist())]
        assert started == order[: len(started)]
        if len(started) < len(order):
            p = order[len(started)]
            assert not fits(free, seen.need[p], int(seen.instances[p]))


@given(
    kit.instances(min_jobs=2, max_jobs=7), st.sampled_from([FifoFirstFit, FifoLoadBalance, FifoConsolidate])
)
@hypothesis_settings(max_examples=40, deadline=None)
def test_strict_fifo_starts_jobs_in_the_order_of_submission(instance: PlacementInstance, kind: Any) -> None:
    run = play(kind(strict=True), instance, keep_decisions=True)
    schedule = instance.schedule_of(run.decisions or ())
    assert (np.diff(schedule.start) >= 0).all()


def test_a_strict_head_of_the_line_holds_back_what_would_fit() -> None:
    instance = cluster([job(duration=5), job(1, gpus=4), job(2)], gpus=(4,))
    assert starts(FifoFirstFit(), instance) == [[[0, 0, 1]], [[2, 0, 1]], [[1, 0, 1]]]
    assert starts(FifoFirstFit(strict=True), instance) == [[[0, 0, 1]], [], [[1, 0, 1]], [[2, 0, 1]]]


# ------------------------------------------------------------------ the order of the jobs


def reference_order(kind: type[Any], setting: Setting, seen: Observation) -> list[int]:
    """Return the order in which jobs are tried, with exact fractions."""
    total = setting.capacity.sum(axis=0).tolist()

    def share(p: int) -> Fraction:
        asked = zip(seen.need[p].tolist(), total, strict=True)
        return max(Fraction(int(seen.instances[p]) * n, has) for n, has in asked if n)

    keys: list[Any] = [0] * len(seen.jobs)
    if issubclass(kind, Drf):
        keys = [share(p) for p in range(len(seen.jobs))]
    elif kind is SjfConsolidate:
        assert seen.duration is not None
        keys = seen.duration.tolist()
    elif issubclass(kind, SjfEstimateConsolidate):
        assert seen.estimate is not None
        keys = seen.estimate.tolist()
    return sorted(range(len(seen.jobs)), key=lambda p: (keys[p], seen.jobs[p]))


@given(kit.instances(min_jobs=2, max_jobs=8, estimates=True), st.sampled_from(ORDERED))
@hypothesis_settings(max_examples=50, deadline=None)
def test_jobs_start_in_the_order_of_their_rule(instance: PlacementInstance, kind: Any) -> None:
    for seen, decision in watch(kind(), instance):
        started = [i for i, _ in itertools.groupby(decision[:, 0].tolist())]
        order = [int(seen.jobs[p]) for p in reference_order(kind, instance.setting, seen)]
        assert started == [i for i in order if i in started]
        free = seen.free.copy()
        placed = {p: rows for p, rows, _ in gangs(seen, decision)}
        for p in reference_order(kind, instance.setting, seen):
            assert fits(free, seen.need[p], int(seen.instances[p])) == (p in placed)
            if p in placed:
                np.subtract.at(free, placed[p][:, 1], placed[p][:, 2:] * seen.need[p])


def test_dominant_shares_by_hand() -> None:
    # Of 8 GPUs, 80 cores and 800 GB: 4/8 of the GPUs, 32/80 of the cores, 2 x 120/800 of the memory.
    jobs = [
        job(gpus=4, cpus=1, memory=1),
        job(gpus=1, cpus=32, memory=1),
        job(gpus=0, cpus=1, memory=120, instances=2),
        job(gpus=0, cpus=24, memory=8),
    ]
    machines = [{"gpus": 4, "cpus": 40, "memory": 400}] * 2
    instance = PlacementInstance(machines=machines, jobs=jobs)
    (first,) = starts(DrfFirstFit(strict=True), instance)
    assert [i for i, _ in itertools.groupby(row[0] for row in first)] == [2, 3, 1, 0]


def test_drf_lets_small_jobs_pass_and_sjf_short_ones() -> None:
    instance = cluster([job(duration=1), job(0.5, 8, gpus=4), job(0.6, 9, gpus=2), job(0.7, 7, 3)], (4,))
    order = {
        kind: [i for rows in starts(kind(strict=True), instance) for i in {row[0]: 0 for row in rows}]
        for kind in (FifoFirstFit, DrfFirstFit, SjfConsolidate)
    }
    assert order == {FifoFirstFit: [0, 1, 2, 3], DrfFirstFit: [0, 2, 3, 1], SjfConsolidate: [0, 3, 1, 2]}


@pytest.mark.parametrize("kind", [DrfFirstFit, DrfLoadBalance])
def test_drf_counts_shares_of_all_machines_together(kind: Any) -> None:
    # 4 of 10 GPUs and 90 of 300 CPUs: of the largest machine alone, the second job asks for more.
    instance = cluster([job(gpus=4), job(cpus=90)], gpus=(8, 1, 1))
    assert [row[0] for row in starts(kind(), instance)[0]] == [1, 0]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6))
@hypothesis_settings(max_examples=30, deadline=None)
def test_shortest_first_is_best_on_one_gpu(durations: list[int]) -> None:
    instance = cluster([job(duration=d) for d in durations], gpus=(1,))
    best = min(sum(itertools.accumulate(order)) for order in itertools.permutations(durations))
    assert play(SjfConsolidate(), instance).total == best


@pytest.mark.parametrize(
    ("kind", "what"), [(SjfConsolidate, "durations"), (SjfEstimateConsolidate, "estimates")]
)
def test_shortest_first_needs_to_be_told(kind: Any, what: str) -> None:
    instance = cluster([job(estimate=5)])
    policy = kind()
    policy.start(instance.setting, np.random.default_rng(0))
    others = frozenset({"durations", "estimates"}) - {what}
    with pytest.raises(InputError, match=f"needs the {what}, but was not shown them"):
        policy.decide(next(iter(instance.episode(others))))


@given(kit.instances(min_jobs=1, max_jobs=8), st.booleans())
@hypothesis_settings(max_examples=50, deadline=None)
def test_true_estimates_are_as_good_as_the_durations(instance: PlacementInstance, strict: bool) -> None:
    data = instance.to_dict()
    told = [one | {"estimate": one["duration"]} for one in data["jobs"]]
    estimated = PlacementInstance.from_dict(data | {"jobs": told})
    assert starts(SjfEstimateConsolidate(strict), estimated) == starts(SjfConsolidate(strict), instance)


@pytest.mark.parametrize("seed", range(3))
def test_users_who_never_err_are_as_good_as_the_durations(seed: int) -> None:
    sampled = generate(seed=seed, jobs=150, rho=2, estimate_error=0)
    assert starts(SjfEstimateConsolidate(), sampled) == starts(SjfConsolidate(), sampled)


def test_the_shortest_estimate_comes_first_though_the_job_is_the_longest() -> None:
    jobs = [job(duration=1, estimate=9), job(duration=3, estimate=2), job(duration=2, estimate=7)]
    instance = cluster([job(duration=1, estimate=1, gpus=4), *jobs], gpus=(4,))
    strict = cluster([one | {"gpus": 4} for one in jobs], gpus=(4,))
    assert starts(SjfEstimateConsolidate(), strict) == [[[1, 0, 1]], [[2, 0, 1]], [[0, 0, 1]]]
    assert starts(SjfEstimateConsolidate(), instance) == [[[0, 0, 1]], [[2, 0, 1], [3, 0, 1], [1, 0, 1]]]


# ------------------------------------------------------------------ the machines


def load(free: np.ndarray, capacity: np.ndarray) -> Fraction:
    """Return the largest share of a resource of a machine that is in use."""
    shares = [Fraction(c - f, c) for f, c in zip(free.tolist(), capacity.tolist(), strict=True) if c]
    return max(shares, default=Fraction(0))


def check_filled(ranked: list[int], rows: np.ndarray, free: np.ndarray, need: np.ndarray, most: int) -> None:
    """Assert that a job fills the machines in this order."""
    want = []
    for k in ranked:
        count = room(free[k], need, most)
        most -= count
        want += [[k, count]] if count else []
    assert rows[:, 1:].tolist() == want


@given(kit.instances(min_jobs=1, max_jobs=7), st.sampled_from([FifoFirstFit, DrfFirstFit]))
@hypothesis_settings(max_examples=40, deadline=None)
def test_first_fit_uses_the_lowest_indices(instance: PlacementInstance, kind: Any) -> None:
    for seen, decision in watch(kind(), instance):
        for p, rows, free in gangs(seen, decision):
            check_filled(list(range(len(free))), rows, free, seen.need[p], int(seen.instances[p]))


@given(kit.instances(min_jobs=1, max_jobs=7), st.sampled_from([FifoLoadBalance, DrfLoadBalance]))
@hypothesis_settings(max_examples=40, deadline=None)
def test_load_balance_uses_the_least_loaded(instance: PlacementInstance, kind: Any) -> None:
    capacity = instance.setting.capacity
    for seen, decision in watch(kind(), instance):
        for p, rows, free in gangs(seen, decision):
            loads = [load(has, all_) for has, all_ in zip(free, capacity, strict=True)]
            ranked = sorted(range(len(free)), key=lambda k: (loads[k], k))
            check_filled(ranked, rows, free, seen.need[p], int(seen.instances[p]))


@given(kit.instances(min_jobs=1, max_jobs=7, estimates=True), st.sampled_from(CONSOLIDATING))
@hypothesis_settings(max_examples=40, deadline=None)
def test_consolidate_spans_the_fewest_machines_there_are_now(instance: PlacementInstance, kind: Any) -> None:
    for seen, decision in watch(kind(), instance):
        for p, rows, free in gangs(seen, decision):
            instances = int(seen.instances[p])
            rooms = [room(has, seen.need[p], instances) for has in free]
            subsets = (
                size
                for size in range(1, len(free) + 1)
                if any(sum(held) >= instances for held in itertools.combinations(rooms, size))
            )
            assert len(rows) == next(subsets)
            if len(rows) == 1:
                k = int(rows[0, 1])
                assert free[k, 0] == min(
                    has[0] for has, held in zip(free, rooms, strict=True) if held >= instances
                )


def test_placement_by_hand() -> None:
    # 4 + 2 + 6 GPUs, of which the first job takes 3 + 0 + 0; then a gang of 5 comes.
    jobs = [job(duration=99, gpus=3), job(1, instances=5)]
    want = {
        FifoFirstFit: [[1, 0, 1], [1, 1, 2], [1, 2, 2]],
        FifoConsolidate: [[1, 2, 5]],
    }
    for kind, rows in want.items():
        assert starts(kind(), cluster(jobs, gpus=(4, 2, 6)))[1] == rows
    # Consolidate puts the first job on machine 0, which leaves the larger gap alone.
    assert starts(FifoConsolidate(), cluster(jobs, gpus=(4, 2, 6)))[0] == [[0, 0, 1]]
    # The loads are 3/4, 0 and 0: machine 1 is filled first, then machine 2.
    assert starts(FifoLoadBalance(), cluster(jobs, gpus=(4, 2, 6)))[1] == [[1, 1, 2], [1, 2, 3]]


# ------------------------------------------------------------------ Tetris


def products(setting: Setting, free: np.ndarray, need: np.ndarray) -> list[Fraction | None]:
    """Return the dot product of shares needed and free on each machine, None without room for an instance."""
    result: list[Fraction | None] = []
    for has, all_ in zip(free.tolist(), setting.capacity.tolist(), strict=True):
        shares = zip(need.tolist(), has, all_, strict=True)
        value = sum((Fraction(n * f, c * c) for n, f, c in shares if c), Fraction(0))
        result.append(value if room(has, need.tolist(), 1) else None)
    return result


CLOSE = Fraction(1, 10**12)


@given(kit.instances(min_jobs=2, max_jobs=7))
@hypothesis_settings(max_examples=50, deadline=None)
def test_tetris_starts_the_pair_with_the_largest_product(instance: PlacementInstance) -> None:
    for seen, decision in watch(Tetris(), instance):
        waiting = set(range(len(seen.jobs)))
        for p, rows, free in gangs(seen, decision):
            fitting = [q for q in waiting if fits(free, seen.need[q], int(seen.instances[q]))]
            every = {q: products(instance.setting, free, seen.need[q]) for q in fitting}
            best = {q: max(value for value in mine if value is not None) for q, mine in every.items()}
            assert best[p] >= max(best.values()) - CLOSE
            mine = every[p]
            ranked = sorted(
                (k for k in range(len(free)) if mine[k] is not None), key=lambda k: -(mine[k] or 0)
            )
            used = [mine[k] or Fraction(0) for k in rows[:, 1]]
            assert all(a >= b - CLOSE for a, b in itertools.pairwise(used))
            assert used[0] >= (mine[ranked[0]] or 0) - CLOSE
            for k in rows[:-1, 1]:
                count = int(rows[rows[:, 1] == k, 2][0])
                assert count == room(free[k], seen.need[p], int(seen.instances[p]))
            unused = [mine[k] or Fraction(0) for k in ranked if k not in rows[:, 1]]
            assert all(value <= used[-1] + CLOSE for value in unused)
            waiting.discard(p)


def test_dot_products_by_hand() -> None:
    # Machines of 4 GPUs, 10 cores and 10 GB. Jobs 0 and 1 leave (4, 2, 10) free on machine 0 and (2, 9, 10)
    # on machine 1. Dot products of shares, machine 0 | machine 1:
    #   job 2 needs (2, 1, 1): 1/2 x 1 + 1/10 x 2/10 + 1/10 x 1 = 0.62 | 1/4 + 0.09 + 1/10 = 0.44
    #   job 3 needs (1, 6, 1): no room                                 | 1/8 + 0.54 + 1/10 = 0.765
    #   job 4 needs (1, 1, 4): 1/4 x 1 + 1/10 x 2/10 + 4/10 x 1 = 0.67 | 1/8 + 0.09 + 4/10 = 0.615
    # Job 3 starts on machine 1 and leaves (1, 3, 9) there. Then job 4 has 0.67 | 0.4525 and starts on machine
    # 0, which leaves (3, 1, 6) there: 0.445 for job 2, which has no room on machine 1.
    def need(submit: float, gpus: int, cpus: int, memory: int) -> Any:
        return job(submit, gpus=gpus, cpus=cpus, memory=memory, duration=50)

    jobs = [need(0, 0, 8, 0), need(1, 2, 1, 0), need(2, 2, 1, 1), need(2, 1, 6, 1), need(2, 1, 1, 4)]
    instance = PlacementInstance(machines=[{"gpus": 4, "cpus": 10, "memory": 10}] * 2, jobs=jobs)
    assert starts(Tetris(), instance) == [[[0, 0, 1]], [[1, 1, 1]], [[3, 1, 1], [4, 0, 1], [2, 0, 1]]]


def test_tetris_prefers_what_uses_the_scarce_resource_of_the_free_machines() -> None:
    machines = [{"gpus": 4, "cpus": 8, "memory": 8}, {"gpus": 0, "cpus": 8, "memory": 8}]
    jobs = [job(gpus=0, cpus=4, memory=4), job(gpus=2, cpus=4, memory=4)]
    instance = PlacementInstance(machines=machines, jobs=jobs)
    assert starts(Tetris(), instance) == [[[1, 0, 1], [0, 1, 1]]]


# ------------------------------------------------------------------ names do not matter


@st.composite
def moments(draw: st.DrawFn) -> tuple[Setting, Observation]:
    """Draw what a policy may see at one time, with numbers so large that ties are rare."""
    count, waiting = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    amount = st.integers(1, 10**6)

    def table(rows: int, element: st.SearchStrategy[int], columns: int = 3) -> np.ndarray:
        values = draw(st.lists(element, min_size=columns * rows, max_size=columns * rows))
        return frozen(np.array(values, dtype=np.int64).reshape(rows, columns).copy())

    free = table(count, amount)
    capacity = frozen(free + table(count, st.integers(0, 10**6)))
    place = frozen(np.arange(waiting))
    nothing = frozen(np.zeros((0, 3), dtype=np.int64))
    seen = Observation(
        time=10**7,
        jobs=place,
        submit=place,
        instances=table(waiting, st.integers(1, 5), 1).ravel(),
        need=table(waiting, st.integers(1, 500_000)),
        intensity=frozen(np.full(waiting, 1000)),
        waiting=waiting,
        free=free,
        running=nothing,
        ended=nothing,
        duration=table(waiting, amount, 1).ravel(),
        estimate=table(waiting, amount, 1).ravel(),
    )
    return Setting(capacity, 1.0, NO_SLOWDOWN, 0.0, 64), seen


def decided(kind: Any, setting: Setting, seen: Observation) -> np.ndarray:
    """Return the sorted rows that a heuristic starts."""
    policy = kind()
    policy.start(setting, np.random.default_rng(0))
    rows = policy.decide(seen)
    result: np.ndarray = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return result


def no_ties(values: list[Any]) -> bool:
    return len(set(values)) == len(values)


@pytest.mark.parametrize("kind", [FifoLoadBalance, DrfLoadBalance, *CONSOLIDATING, Tetris])
@given(moment=moments(), data=st.data())
@hypothesis_settings(max_examples=25, deadline=None)
def test_the_names_of_machines_do_not_matter(
    kind: Any, moment: tuple[Setting, Observation], data: st.DataObject
) -> None:
    setting, seen = moment
    order = np.array(data.draw(st.permutations(range(len(seen.free)))))
    there = np.argsort(order)  # where each machine has gone to
    assume(no_ties([load(has, all_) for has, all_ in zip(seen.free, setting.capacity, strict=True)]))
    assume(no_ties(seen.free[:, 0].tolist()))
    want = decided(kind, setting, seen)
    free = left(seen, want)
    assume(no_ties(free[:, 0].tolist()))
    renamed = replace(setting, capacity=frozen(setting.capacity[order]))
    found = decided(kind, renamed, replace(seen, free=frozen(seen.free[order])))
    want[:, 1] = there[want[:, 1]]
    assert {tuple(row) for row in found.tolist()} == {tuple(row) for row in want.tolist()}


@pytest.mark.parametrize(
    "kind", [DrfConsolidate, DrfFirstFit, DrfLoadBalance, SjfConsolidate, SjfEstimateConsolidate, Tetris]
)
@given(moment=moments(), data=st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_age_does_not_matter_but_for_fifo(
    kind: Any, moment: tuple[Setting, Observation], data: st.DataObject
) -> None:
    setting, seen = moment
    order = np.array(data.draw(st.permutations(range(len(seen.jobs)))))
    assert seen.duration is not None
    assert seen.estimate is not None
    assume(no_ties(seen.duration.tolist()))
    assume(no_ties(seen.estimate.tolist()))
    total = setting.capacity.sum(axis=0)
    assume(no_ties([max(share) for share in (seen.instances[:, None] * seen.need / total).tolist()]))
    want = decided(kind, setting, seen)
    turned = replace(
        seen,
        instances=frozen(seen.instances[order]),
        need=frozen(seen.need[order]),
        duration=frozen(seen.duration[order]),
        estimate=frozen(seen.estimate[order]),
    )
    found = decided(kind, setting, turned)
    found[:, 0] = order[found[:, 0]]
    assert {tuple(row) for row in found.tolist()} == {tuple(row) for row in want.tolist()}


@given(
    kit.instances(min_jobs=1, max_jobs=5, slowdowns=False, estimates=True),
    st.sampled_from(HEURISTICS),
    st.sampled_from([2, 3, 10]),
)
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_unit_of_time_does_not_matter(instance: PlacementInstance, kind: Any, factor: int) -> None:
    data = instance.to_dict()
    for one in data["jobs"]:
        one |= {name: factor * one[name] for name in ("submit", "duration", "estimate")}
    slower = PlacementInstance.from_dict(data)
    assert starts(kind(), slower) == starts(kind(), instance)
    assert play(kind(), slower).total == pytest.approx(factor * play(kind(), instance).total)


# ------------------------------------------------------------------ the register and the command line


def test_the_register_knows_them_and_their_settings() -> None:
    rows = {row.name: row for row in policy_table("placement")}
    assert set(rows) >= {kind.name for kind in HEURISTICS}
    for kind in HEURISTICS:
        assert rows[kind.name].settings == ({} if kind is Tetris else {"strict": False})
        assert not rows[kind.name].randomised
        assert rows[kind.name].guarantee == "none"
    assert make_policy("fifo-firstfit:strict=true", "placement").strict
    assert make_policy("drf-firstfit").name == "drf-firstfit"
    assert {"admission/drf", "fifo", "fifo-firstfit"} <= set(policies())
    with pytest.raises(InputError, match="policy: 'fifo' plays 'admission', not 'placement'"):
        make_policy("fifo", "placement")
    with pytest.raises(InputError, match="its settings are: none"):
        make_policy("tetris:strict=true")


def test_only_shortest_first_sees_durations_or_estimates_and_says_so() -> None:
    rows = {row.name: row for row in policy_table("placement")}
    seen = {name: row.sees for name, row in rows.items() if name in {kind.name for kind in HEURISTICS}}
    told = {"sjf-consolidate": ("durations",), "sjf-estimate-consolidate": ("estimates",)}
    assert seen == dict.fromkeys(seen, ()) | told
    assert {name for name, row in rows.items() if "durations" in row.sees} == {"sjf-consolidate"}
    assert [name for name, row in rows.items() if "(clairvoyant)" in row.summary] == ["sjf-consolidate"]
    listed = CliRunner().invoke(cli, ["policies", "--problem", "placement"])
    assert listed.exit_code == 0
    for name in POLICIES:
        _, _, entry = listed.output.partition(f"{name} (placement)\n")
        sees = next(line for line in entry.splitlines() if "sees before deciding, " in line)
        assert sees.endswith(": durations") == (name == "sjf-consolidate")
    assert "SJF-Consolidate (clairvoyant)" in listed.output
