"""Lower bounds for placement: below every schedule, computed again from prices alone, tight where easy."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.base import InputError
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import WEIGHT_UNIT, PlacementInstance
from clairvoyant.models.placement.jobs import TICKS
from clairvoyant.oracles.base import Budget
from clairvoyant.oracles.placement import bound as placement_bound
from clairvoyant.oracles.placement import exact as placement_exact
from clairvoyant.oracles.placement.bound import (
    MOST_LEVEL,
    MOST_WHOLE,
    Bound,
    Certificate,
    Row,
    check_certificate,
    counted,
    lower_bound,
    rows_of,
    sum_of_durations,
)
from clairvoyant.oracles.placement.exact import _decisions, by_branch_and_bound, by_enumeration
from clairvoyant.oracles.placement.exact_kernels import priced_cost
from clairvoyant.oracles.placement.optimum import offline
from clairvoyant.oracles.placement.search import list_schedule
from clairvoyant.oracles.turns import STEP
from clairvoyant.testing.placement import instances, schedules


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_bound, "FIRST_INTERVALS", 24)
    monkeypatch.setattr(placement_bound, "MOST_INTERVALS", 60)
    monkeypatch.setattr(placement_bound, "ROUNDS", 40)


def job(duration: float, gpus: int = 1, instances: int = 1, submit: float = 0.0) -> dict[str, Any]:
    given = {"submit": submit, "duration": duration, "instances": instances, "gpus": gpus}
    return {**given, "cpus": 0, "memory": 0}


def alike(jobs: list[dict[str, Any]], machines: int = 1, gpus: int = 8, **options: Any) -> PlacementInstance:
    held = [{"gpus": gpus, "cpus": 1, "memory": 1}] * machines
    return PlacementInstance(machines=held, jobs=jobs, **options)


def random_prices(instance: PlacementInstance, data: Any) -> Certificate:
    """Any prices on any ticks."""
    kinds = [(0, False), (1, False), (3, False), (0, True), (1, True), (2, True)]
    rows = tuple(Row(r, *kind) for r in range(3) for kind in kinds if instance.jobs.need[:, r].any())
    first = int(instance.jobs.submit.min(initial=0))
    gaps = data.draw(st.lists(st.integers(1, 4000), min_size=1, max_size=6))
    times = np.cumsum([first - data.draw(st.integers(0, min(first, 50))), *gaps])
    price = st.sampled_from([0.0, 0.1, 1.0, 1 / 3, 2.5])
    width = len(rows)
    lines = data.draw(
        st.lists(st.lists(price, min_size=width, max_size=width), min_size=len(gaps), max_size=len(gaps))
    )
    return Certificate(rows, times, np.array(lines).reshape(len(gaps), width))


def exact_ticks(instance: PlacementInstance, certificate: Certificate) -> Fraction:
    """The dual value at some prices, in fractions, by trying every corner."""
    times = certificate.times.tolist()
    prices = [[Fraction(p) for p in line] for line in certificate.prices.tolist()]
    pairs = [counted(instance, row) for row in certificate.rows or ()]
    total = Fraction(0)
    for line, begin, end in zip(prices, times, times[1:], strict=False):
        total -= sum(line) * (end - begin)
    jobs = instance.jobs
    for j in range(len(jobs)):
        submit, duration = int(jobs.submit[j]), int(jobs.duration[j])
        shares = [Fraction(int(count[j]), max(1, held)) for count, held in pairs]
        corners = {submit, *(t for t in times), *(t - duration for t in times)}
        total += min(
            start + duration - submit + _paid(start, start + duration, times, prices, shares)
            for start in corners
            if start >= submit
        )
    return total


def _paid(
    start: int, end: int, times: list[int], prices: list[list[Fraction]], shares: list[Fraction]
) -> Fraction:
    paid = Fraction(0)
    for line, low, high in zip(prices, times, times[1:], strict=False):
        overlap = max(0, min(end, high) - max(start, low))
        paid += overlap * sum((p * a for p, a in zip(line, shares, strict=True)), Fraction(0))
    return paid


@given(st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_any_prices_prove_a_bound_of_any_schedule(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1))
    schedule = data.draw(schedules(instance))
    bound = check_certificate(instance, random_prices(instance, data))
    assert bound.value <= instance.cost(schedule)
    assert bound.jct <= instance.completion_times(schedule).sum() * (1.0 + 1e-12)


@given(st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_certificate_in_fractions(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1))
    certificate = random_prices(instance, data)
    ticks = exact_ticks(instance, certificate)
    found = placement_bound.Market(instance, certificate.rows or ()).respond(
        certificate.times, certificate.prices, certificate.losses
    )
    scale = float(instance.jobs.duration.sum()) + float(certificate.prices.sum()) * 24_000 + 1.0
    assert Fraction(found.bound) <= ticks
    assert float(ticks - Fraction(found.bound)) <= 1e-9 * scale * len(instance.jobs)
    proved = check_certificate(instance, certificate).jct
    assert proved <= max(math.ceil(ticks), int(instance.jobs.duration.sum())) / TICKS


@given(instances(max_jobs=3, max_gpus=3, max_instances=2, max_machines=2))
@hypothesis_settings(max_examples=25, deadline=None)
def test_the_bound_is_below_the_optimum(instance: PlacementInstance) -> None:
    best = by_enumeration(instance, Budget(0.0, None))
    assert best.schedule is not None
    bound = lower_bound(instance)
    assert bound.value <= instance.cost(best.schedule)
    again = check_certificate(instance, bound.certificate)
    assert (again.value, again.jct, again.gpu_seconds) == (bound.value, bound.jct, bound.gpu_seconds)


@given(st.data())
@hypothesis_settings(max_examples=30, deadline=None)
def test_prices_at_another_scale_of_time(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1))
    certificate = random_prices(instance, data)
    content = instance.to_dict()
    for one in content["jobs"]:
        one["submit"], one["duration"] = 4 * one["submit"], 4 * one["duration"]
    longer = PlacementInstance.from_dict(content)
    small = check_certificate(instance, certificate)
    large = check_certificate(longer, replace(certificate, times=4 * certificate.times))
    assert 4.0 * (small.jct - 1 / TICKS) <= large.jct + 1e-9
    assert large.jct <= 4.0 * small.jct + 1e-9


@given(st.data())
@hypothesis_settings(max_examples=30, deadline=None)
def test_more_jobs_cost_more_at_the_same_prices(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, windows=False))
    certificate = random_prices(instance, data)
    assert certificate.rows is not None
    rows = tuple(row for row in certificate.rows if row.level == 0)
    kept = [certificate.rows.index(row) for row in rows]
    certificate = Certificate(rows, certificate.times, certificate.prices[:, kept])
    content = instance.to_dict()
    first = content["jobs"][0]
    content["jobs"] = [*content["jobs"], first]  # the sums of needs that fill a machine stay the same
    more = PlacementInstance.from_dict(content)
    low, high = check_certificate(instance, certificate), check_certificate(more, certificate)
    assert high.jct >= low.jct
    assert high.gpu_seconds >= low.gpu_seconds


@given(st.data())
@hypothesis_settings(max_examples=30, deadline=None)
def test_the_order_of_jobs_and_machines_does_not_matter(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1))
    certificate = random_prices(instance, data)
    content = instance.to_dict()
    for name in ("jobs", "machines"):
        content[name] = data.draw(st.permutations(content[name]))
    other = PlacementInstance.from_dict(content)
    assert rows_of(instance) == rows_of(other)
    values = [check_certificate(one, certificate).jct for one in (instance, other)]
    assert values[0] == pytest.approx(values[1], abs=1.5 / TICKS)


@given(instances(min_jobs=1, max_jobs=1))
@hypothesis_settings(max_examples=30, deadline=None)
def test_one_job_is_known_exactly(instance: PlacementInstance) -> None:
    assert lower_bound(instance).value == instance.cost(list_schedule(instance))


def test_no_jobs_cost_nothing() -> None:
    bound = lower_bound(alike([]))
    assert (bound.value, bound.jct, bound.gpu_seconds, bound.method) == (0.0, 0.0, 0.0, "sum of durations")
    assert check_certificate(alike([]), bound.certificate).value == 0.0


def test_equal_jobs_one_after_the_other() -> None:
    instance = alike([job(10.0, gpus=8)] * 5)
    bound = lower_bound(instance)
    assert 0.99 * 150.0 <= bound.value <= 150.0
    assert bound.method.startswith("Lagrangian")


def test_rounds_on_hardly_any_prices_are_work() -> None:
    """Or a stage of them would last beyond every time limit."""
    data = generate("tiny", 1).to_dict()
    jobs = [job | {"submit": 1e8, "duration": 0.001} for job in data["jobs"]]
    instance = PlacementInstance.from_dict(data | {"jobs": jobs})
    pricing = placement_bound.Pricing(instance, list_schedule(instance))
    assert sum(itertools.islice(pricing.steps(endless=True), 3000)) > STEP


def test_whole_instances_fill_a_machine() -> None:
    threes = alike([job(10.0, gpus=3)] * 3)
    assert counted(threes, Row(0, 0))[1] == 6
    fives = alike([job(10.0, gpus=5)] * 4 + [job(10.0, gpus=3)] * 4, machines=2)
    assert counted(fives, Row(0, 0))[1] == 16
    count, held = counted(fives, Row(0, 1))
    assert (count.tolist(), held) == ([1] * 4 + [0] * 4, 2)
    only_fives = alike([job(10.0, gpus=5)] * 6, machines=2)
    assert lower_bound(only_fives).value >= 0.98 * (2 * 10 + 2 * 20 + 2 * 30)


@given(instances(min_jobs=1, max_gpus=8, max_instances=6), st.integers(0, MOST_LEVEL))
@hypothesis_settings(max_examples=40, deadline=None)
def test_what_fits_on_the_machines_never_counts_more_than_they_hold(
    instance: PlacementInstance, level: int
) -> None:
    jobs, capacity = instance.jobs, instance.setting.capacity
    for r in range(3):
        count, held = counted(instance, Row(r, level))
        each = count // jobs.instances
        total = 0
        for machine in capacity:
            total += max(
                int(np.dot(chosen, each))
                for chosen in itertools.product(range(3), repeat=len(jobs))
                if (np.array(chosen) @ jobs.need <= machine).all()
            )
        assert total <= held


@given(instances(min_jobs=1, max_jobs=4, max_machines=2, max_instances=3), st.integers(0, MOST_LEVEL))
@hypothesis_settings(max_examples=60, deadline=None)
def test_jobs_that_run_together_never_count_more_than_all_machines_hold(
    instance: PlacementInstance, level: int
) -> None:
    rows = [Row(r, level, whole=True) for r in range(3)]
    pairs = [counted(instance, row) for row in rows]
    free = instance.setting.capacity.tolist()
    one = instance.simulator()
    for taken in _decisions(one, list(range(len(instance.jobs))), free):
        together = np.unique(taken[:, 0])
        for count, held in pairs:
            assert count[together].sum() <= held


def test_whole_gangs_fill_all_machines() -> None:
    fives = alike([job(10.0, instances=5)] * 5, machines=2, gpus=4)
    count, held = counted(fives, Row(0, 1, whole=True))
    assert (count.tolist(), held) == ([1] * 5, 1)
    assert counted(fives, Row(0, 0, whole=True))[1] == 5
    assert Row(0, 0, whole=True) in rows_of(fives)
    assert rows_of(fives, plain=True) == (Row(0, 0),)
    assert 0.99 * 150.0 <= lower_bound(fives).value <= 150.0
    assert lower_bound(fives, plain=True).value < 0.9 * 150.0


def test_more_levels_are_kept_unless_another_is_at_least_as_tight() -> None:
    mixed = alike([job(10.0, instances=k) for k in (1, 2, 3, 4, 6) * 4], machines=2, gpus=4)
    rows = [row for row in rows_of(mixed) if row.whole]
    shares = [count / held for count, held in (counted(mixed, row) for row in rows)]
    assert len(rows) > 1
    assert not any((a >= b).all() for a, b in itertools.permutations(shares, 2))
    every = [counted(mixed, Row(0, level, whole=True)) for level in range(MOST_WHOLE + 1)]
    assert all(any((share >= count / held).all() for share in shares) for count, held in every)


def relaxation(instance: PlacementInstance, step: int) -> float:
    """The mean busy time relaxation with all amounts as they are, in slots of some ticks, in ticks."""
    from scipy.optimize import linprog

    jobs, total = instance.jobs, instance.setting.capacity.sum(axis=0)
    slots = -(-int(jobs.submit.max() + jobs.duration.sum()) // step)
    cost, rows, limit, upper = [], [], [], []
    begin = np.arange(slots) * step
    for j in range(len(jobs)):
        middle = np.where(begin >= jobs.submit[j], begin + step / 2, 0.0)
        cost.append(middle / jobs.duration[j] * step)
        upper.append(np.where(begin >= jobs.submit[j], 1.0, 0.0))
    for r in range(3):
        taken = (jobs.instances * jobs.need[:, r])[:, None, None] * np.eye(slots)
        rows.append(np.concatenate(taken, axis=1))
        limit.append(np.full(slots, float(total[r])))
    work = np.kron(np.eye(len(jobs)), np.full((1, slots), float(step)))
    found = linprog(
        np.concatenate(cost),
        A_ub=np.concatenate(rows),
        b_ub=np.concatenate(limit),
        A_eq=work,
        b_eq=jobs.duration.astype(float),
        bounds=list(zip(np.zeros(len(cost) * slots), np.concatenate(upper), strict=True)),
    )
    assert found.status == 0
    return float(found.fun + (jobs.duration / 2 - jobs.submit).sum())


@pytest.mark.parametrize("seed", range(3))
def test_at_least_the_mean_busy_time_relaxation(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_bound, "MOST_INTERVALS", 200)
    monkeypatch.setattr(placement_bound, "ROUNDS", 200)
    rng = np.random.default_rng(seed)
    jobs = [
        job(
            float(rng.integers(1, 9)),
            int(rng.integers(1, 5)),
            int(rng.integers(1, 3)),
            float(rng.integers(5)),
        )
        for _ in range(8)
    ]
    instance = alike(jobs, machines=2, gpus=4)
    least = relaxation(instance, 1000) / TICKS
    found = lower_bound(instance)
    assert found.jct >= 0.99 * least
    assert least > sum_of_durations(instance).jct


def test_contention_and_spread_do_not_break_the_bound() -> None:
    jobs = [job(10.0, gpus=2, instances=3, submit=float(i)) for i in range(6)]
    for options in ({"communication": 0, "contention": 0}, {"communication": 2, "contention": 2}):
        instance = alike(jobs, machines=2, gpus=4, slowdown=options, gpu_weight=0.5)
        bound = lower_bound(instance)
        assert bound.value <= instance.cost(list_schedule(instance))
        assert bound.gpu_seconds == 6 * 60.0
        assert bound.value == pytest.approx(bound.jct + 0.5 * bound.gpu_seconds)


def of_jobs(instance: PlacementInstance, data: Any) -> Certificate:
    """Any prices of jobs and of what they lose, on any ticks."""
    n, first = len(instance.jobs), int(instance.jobs.submit[0])
    gaps = data.draw(st.lists(st.integers(1, 4000), min_size=1, max_size=4))
    price = st.sampled_from([0.0, 0.1, 1.0, 1 / 3, 2.5])
    prices = [data.draw(st.lists(price, min_size=n, max_size=n)) for _ in gaps]
    losses = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 4 / 3, 5.0, 40.0]), min_size=n, max_size=n))
    return Certificate(None, np.cumsum([first, *gaps]), np.array(prices), np.array(losses))


def by_hand(instance: PlacementInstance, price: list[float]) -> dict[int, Fraction]:
    """What jobs that run at the same time lose per tick at least, by the bits of their set, in fractions."""
    found: dict[int, Fraction] = {}
    jobs, capacity = instance.jobs, instance.setting.capacity
    beta = [Fraction(int(b), 1000) for b in jobs.intensity]
    for taken in _decisions(instance.simulator(), list(range(len(jobs))), capacity.tolist()):
        lost = Fraction(0)
        load = [Fraction(0)] * len(capacity)
        for j, k, count in taken.tolist():
            load[k] += beta[j] * int(jobs.need[j, 0]) * count
        for j in np.unique(taken[:, 0]).tolist():
            mine = taken[taken[:, 0] == j].tolist()
            near = [load[k] - beta[j] * int(jobs.need[j, 0]) * count for _, k, count in mine]
            share = max(s / int(capacity[k, 0]) if s else s for s, (_, k, _) in zip(near, mine, strict=True))
            slower = 1 + Fraction(instance.setting.slowdown.contention) * beta[j] * share
            speed = Fraction(int(jobs.duration[j]), int(instance.table.duration[j, len(mine)])) / slower
            lost += Fraction(price[j]) * (1 - speed)
        chosen = sum(1 << j for j in np.unique(taken[:, 0]).tolist())
        found[chosen] = min(lost, found.get(chosen, lost))
    return found


def windows_of(instance: PlacementInstance, data: Any) -> np.ndarray:
    """Any windows of starts, some of which are open."""
    submit, n = instance.jobs.submit, len(instance.jobs)
    ticks = st.lists(st.sampled_from((0, 1, 700, 5000, 2**60)), min_size=n, max_size=n)
    first = submit + np.array([tick % 2**60 for tick in data.draw(ticks)], dtype=np.int64)
    return np.stack([first, np.minimum(2**60, first + np.array(data.draw(ticks)))], axis=1)


@given(st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_prices_of_jobs_in_fractions(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, max_jobs=4, max_machines=2, max_instances=3))
    certificate, windows = of_jobs(instance, data), windows_of(instance, data)
    losses = certificate.losses.tolist()
    lost = by_hand(instance, losses)
    jobs, times = instance.jobs, certificate.times.tolist()
    packed = placement_bound.Packed(instance)
    assert packed.sets.tolist() == sorted(lost)
    np.testing.assert_allclose(
        packed.loss(certificate.losses)[0], [float(lost[s]) for s in sorted(lost)], atol=1e-9
    )
    ticks = Fraction(0)
    for line, begin, end in zip(certificate.prices.tolist(), times, times[1:], strict=False):
        here = {s for s in lost if all(jobs.submit[j] < end for j in range(len(jobs)) if s >> j & 1)}
        paid = {s: sum(Fraction(p) for j, p in enumerate(line) if s >> j & 1) for s in here}
        ticks -= max(paid[s] - lost[s] for s in here) * (end - begin)
    for j in range(len(jobs)):
        submit, duration = int(jobs.submit[j]), int(jobs.duration[j])
        prices = [[Fraction(line[j])] for line in certificate.prices.tolist()]
        longest, loss = int(packed.longest[j]), Fraction(losses[j])
        first, last = windows[j].tolist()
        corners = {first, last, *(t - run for t in times for run in (0, duration, longest))}
        ticks += min(
            e - submit - loss * (e - s - duration) + _paid(s, e, times, prices, [Fraction(1)])
            for s in corners
            for e in {s + duration, s + longest, *times}
            if first <= s <= last and s + duration <= e <= s + longest
        )
    found = packed.within(windows).respond(certificate.times, certificate.prices, certificate.losses).bound
    assert Fraction(found) <= ticks
    assert float(ticks) - found <= 1e-6 * (1.0 + abs(float(ticks)))


@given(st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_prices_of_jobs_prove_a_bound_of_any_schedule(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, max_jobs=5))
    bound, schedule = check_certificate(instance, of_jobs(instance, data)), data.draw(schedules(instance))
    assert bound.value <= instance.cost(schedule)
    assert (schedule.finish - schedule.start <= placement_bound.Packed(instance).longest).all()


def in_lanes(instance: PlacementInstance, data: Any) -> Certificate:
    """Any prices of rows and machines on any ticks, and of jobs in lanes, one after the other."""
    rows = random_prices(instance, data)
    submit, times, n = instance.jobs.submit, rows.times, len(instance.jobs)
    first = times[np.searchsorted(times, submit, side="right") - 1]
    until = np.array([data.draw(st.sampled_from([int(t), int(t) + 1, int(times[-1])])) for t in first])
    lane, ends = [], list[int]()
    for job in range(n):
        free = [k for k, end in enumerate(ends) if end <= first[job]]
        lane.append(data.draw(st.sampled_from([*free, len(ends)])))
        ends[lane[-1] : lane[-1] + 1] = [int(until[job])]
    price = st.sampled_from([0.0, 0.1, 1.0, 1 / 3, 2.5])
    width = 1 + len(ends)
    other = [data.draw(st.lists(price, min_size=width, max_size=width)) for _ in rows.prices]
    prices = np.concatenate([rows.prices, np.array(other).reshape(-1, width)], axis=1)
    return Certificate(rows.rows, times, prices, lane=np.array(lane), until=until)


def least_cost(ways: placement_bound.Ways, job: int, price: float) -> Fraction:
    """What a job pays and loses per tick at a price of all machines, by trying every way to share them."""
    both = zip(ways.taken[ways.kind[job]].tolist(), ways.lost[ways.kind[job]].tolist(), strict=True)
    return min(Fraction(price) * Fraction(taken) + Fraction(lost) for taken, lost in both)


@given(st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_machines_are_shared_in_no_better_way(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, max_jobs=4, max_gpus=8, max_machines=3, max_instances=5))
    jobs, capacity, simulator = instance.jobs, instance.setting.capacity, instance.simulator()
    ways, eta = placement_bound.Ways(instance), Fraction(instance.setting.slowdown.contention)
    every = list(itertools.islice(_decisions(simulator, list(range(len(jobs))), capacity.tolist()), 2000))
    rows = data.draw(st.sampled_from(every)).tolist()
    load = [Fraction(0)] * len(capacity)
    own = {(j, k): Fraction(int(jobs.intensity[j] * jobs.need[j, 0] * count), 1000) for j, k, count in rows}
    for (_, k), part in own.items():
        load[k] += part
    for j in {j for j, _, _ in rows}:
        mine = {k: part for (i, k), part in own.items() if i == j}
        taken = sum((part / load[k] for k, part in mine.items() if part), Fraction(0)) / len(capacity)
        near = max((load[k] - part) / max(1, int(capacity[k, 0])) for k, part in mine.items())
        lost = 1 - 1 / (1 + eta * Fraction(int(jobs.intensity[j]), 1000) * near)
        for price in (0.0, 0.01, 0.3, 1.0, 7.0, 1e3):
            assert least_cost(ways, j, price) <= Fraction(price) * taken + lost


def test_ways_to_share_machines_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    slowdown = {"communication": 0, "contention": 1}
    pair = placement_bound.Ways(alike([job(1.0, gpus=4)], machines=2, slowdown=slowdown))
    cost, part = pair.paid(np.array([0.0, 0.1, 100.0]))  # two machines
    assert part[0] == pytest.approx([0.5, 0.5, 0.25], rel=1e-2)  # a machine alone, or half of it
    assert cost[0] == pytest.approx([0.0, 0.05, 25.0 + 1.0 / 3.0], rel=1e-2)
    gang = placement_bound.Ways(alike([job(1.0, instances=10)], machines=2, slowdown=slowdown))
    cost, part = gang.paid(np.array([0.0, 1e3]))
    assert part[0] == pytest.approx([1.0, 0.5 + 0.125], rel=1e-2)  # two machines, or 8 GPUs and 2 of 8
    none = placement_bound.Ways(alike([job(1.0) | {"intensity": 0.0}], machines=2, slowdown=slowdown))
    assert none.paid(np.array([5.0]))[0].tolist() == [[0.0]]
    share = np.linspace(0.0, 1.0, 10_001)  # of the GPUs of a machine, by neighbours
    one = placement_bound.Ways(alike([job(1.0, gpus=3)], machines=2, slowdown=slowdown))
    taken, lost = 3.0 / (3.0 + np.minimum(8.0 * share, 5.0)), 1.0 - 1.0 / (1.0 + share)
    for price in (0.01, 0.5, 1.0, 2.0, 10.0):
        exact = float((price * taken / 2.0 + lost).min())
        assert exact * (1.0 - 2e-2) <= one.paid(np.array([price]))[0].item() <= exact
    monkeypatch.setattr(placement_bound, "MOST_PARTS", 79)
    many = placement_bound.Ways(alike([job(1.0, instances=10)], machines=2, slowdown=slowdown))
    assert many.paid(np.array([1e3]))[0].tolist() == [[0.0]]


def test_many_shares_of_machines_are_rounded_down() -> None:
    slowdown = {"communication": 0, "contention": 1}
    instance = alike([job(1.0, gpus=21, instances=2000)], machines=2000, gpus=41, slowdown=slowdown)
    ways = placement_bound.Ways(instance)
    assert 0.999 < Fraction(ways.taken[0, -1]) / Fraction(21, 41) <= 1


def test_what_running_jobs_lose_counts_once() -> None:
    """Of a running job the last tick is not whole, so that part of it is lost already."""
    small = [(3, 3, 500), (4, 3, 1000), (2, 2, 500), (4, 2, 1000)]
    jobs = [job(0.001 * d, instances=c) | {"intensity": 0.001 * b} for d, c, b in small]
    jobs[2]["submit"] = 0.001
    held = [{"gpus": gpus, "cpus": 1, "memory": 1} for gpus in (4, 3)]
    slowdown = {"communication": 0, "contention": 1}
    instance = PlacementInstance(machines=held, jobs=jobs, price=1, slowdown=slowdown)
    prices, lane = np.array([[0.3, 0.0, 0.0, 0.0, 0.0]]), np.arange(4)
    certificate = Certificate((), np.array([0, 5]), prices, lane=lane, until=np.zeros(4, dtype=np.int64))
    costs = placement_bound.tariff(instance, certificate)
    every = by_enumeration(instance, Budget(0.0, None))
    found = by_branch_and_bound(instance, Budget(0.0, None), tariff=costs)
    assert found.schedule is not None
    assert instance.units(found.schedule) == found.units == every.units == 18_000


def test_prices_of_machines_count_contention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_bound, "MOST_PACKED", 0)
    slowdown = {"communication": 0, "contention": 1}
    instance = alike([job(10.0, gpus=4)] * 6, machines=3, slowdown=slowdown)
    found = lower_bound(instance)
    assert 75.0 <= found.value <= offline(instance).value == 90.0
    monkeypatch.setattr(placement_bound, "LANE_SUMS", 0)
    assert lower_bound(instance).value == 60.0


@given(st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_prices_in_lanes_in_fractions(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, max_jobs=5))
    certificate = in_lanes(instance, data)
    jobs, times, rows = instance.jobs, certificate.times.tolist(), certificate.rows or ()
    pairs = [counted(instance, row) for row in rows]
    gpus, total = counted(instance, Row(0, 0))
    ways = placement_bound.Ways(instance)
    ticks, price = Fraction(0), []
    for line, begin, end in zip(certificate.prices.tolist(), times, times[1:], strict=False):
        here = [
            j for j in range(len(jobs)) if jobs.submit[j] < end and begin < certificate.until[j]
        ]  # those with a price of their own
        own = {j: Fraction(line[len(rows) + 1 + int(certificate.lane[j])]) for j in here}
        sets = (s for size in range(len(here) + 1) for s in itertools.combinations(here, size))
        most = max(sum((own[j] for j in s), Fraction(0)) for s in sets if sum(gpus[j] for j in s) <= total)
        ticks -= (sum(map(Fraction, line[: len(rows) + 1])) + most) * (end - begin)
        shares = [
            sum(Fraction(p) * int(c[j]) / max(1, t) for p, (c, t) in zip(line, pairs, strict=False))
            + least_cost(ways, j, line[len(rows)])
            for j in range(len(jobs))
        ]
        price.append([shares[j] + own.get(j, Fraction(0)) for j in range(len(jobs))])
    for j in range(len(jobs)):
        submit, duration = int(jobs.submit[j]), int(jobs.duration[j])
        corners = {submit, *times, *(t - duration for t in times)}
        mine = [[line[j]] for line in price]
        ticks += min(
            s + duration - submit + _paid(s, s + duration, times, mine, [Fraction(1)])
            for s in corners
            if s >= submit
        )
    market = placement_bound.market_of(instance, certificate)
    found = market.respond(certificate.times, certificate.prices, certificate.losses).bound
    assert Fraction(found) <= ticks
    assert float(ticks) - found <= 1e-6 * (1.0 + abs(float(ticks)))


@given(st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_prices_in_lanes_prove_a_bound_of_any_schedule(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, max_jobs=5))
    bound, schedule = check_certificate(instance, in_lanes(instance, data)), data.draw(schedules(instance))
    assert bound.value <= instance.cost(schedule)


def test_a_gang_in_lanes_does_not_run_beside_a_long_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_bound, "MOST_PACKED", 0)
    instance = alike([job(100.0), job(10.0, gpus=8)])
    found = lower_bound(instance)
    assert found.certificate.lane.tolist() == [0, 1]
    assert 119.9 <= found.value <= 120.0 == offline(instance, method="enumeration").value
    assert check_certificate(instance, found.certificate).value == found.value
    monkeypatch.setattr(placement_bound, "LANE_SUMS", 0)
    assert lower_bound(instance).value < 119.0


@pytest.mark.parametrize("seed", range(3))
def test_lanes_prove_more_than_rows_where_gangs_wait(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = generate("large", seed, jobs=60, cluster="small", rho=6.0)
    found = lower_bound(instance)
    assert check_certificate(instance, found.certificate).units == found.units
    assert found.value <= instance.cost(list_schedule(instance))
    monkeypatch.setattr(placement_bound, "LANE_SUMS", 0)
    assert found.value > lower_bound(instance).value


def any_prices(instance: PlacementInstance, data: Any) -> Certificate:
    made: Certificate = data.draw(st.sampled_from([of_jobs, random_prices, in_lanes]))(instance, data)
    return made


@given(st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_at_every_epoch_any_prices_prove_a_bound_of_the_end(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, max_jobs=6))
    costs = placement_exact.costs_of(instance, placement_bound.tariff(instance, any_prices(instance, data)))
    schedule = data.draw(schedules(instance))
    cost, simulator, epochs = instance.units(schedule), instance.simulator(), 0
    while simulator.advance():
        low = int(priced_cost(simulator.table, simulator.state, costs))
        assert instance.units_of_cost(simulator.waited, simulator.used) <= low <= cost
        begun = np.flatnonzero(schedule.start == simulator.now)
        simulator.start(schedule.rows[np.isin(schedule.rows[:, 0], begun)])
        epochs += 1
    assert epochs > 0
    assert priced_cost(simulator.table, simulator.state, costs) == cost


@given(st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_at_the_first_epoch_prices_prove_what_they_prove_of_the_whole(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, max_jobs=6))
    certificate = any_prices(instance, data)
    first = int(instance.jobs.submit[0])
    if certificate.times[0] < first:  # before the first epoch nothing runs, but capacity was worth something
        times = np.concatenate([[first], certificate.times[certificate.times > first]])
        prices = certificate.prices[len(certificate.times) - len(times) :]
        certificate = replace(certificate, times=times, prices=prices)
    costs = placement_exact.costs_of(instance, placement_bound.tariff(instance, certificate))
    simulator = instance.simulator()
    simulator.advance()
    low = int(priced_cost(simulator.table, simulator.state, costs))
    trivial, units = sum_of_durations(instance).units, check_certificate(instance, certificate).units
    assert max(low, trivial) >= units - 2 * WEIGHT_UNIT - 1e-9 * units


@given(st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_branch_and_bound_by_any_prices_finds_what_the_enumeration_finds(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, max_jobs=3))
    tariff = placement_bound.tariff(instance, any_prices(instance, data))
    found = by_branch_and_bound(instance, Budget(0.0, None), tariff=tariff)
    assert found.units == by_enumeration(instance, Budget(0.0, None)).units
    assert found.schedule is not None
    assert instance.units(found.schedule) == found.units


def contending(seed: int, longest: int, contention: list[float]) -> PlacementInstance:
    """Six jobs, all there at first, of so many ticks at most, on two machines where they slow each other."""
    rng = np.random.default_rng(seed)
    jobs = [
        {"submit": 0, "duration": t / 1000, "instances": n, "gpus": 1, "cpus": 0, "memory": 0, "intensity": x}
        for t, n, x in zip(
            rng.integers(1, longest + 1, 6).tolist(),
            rng.integers(1, 3, 6).tolist(),
            rng.choice([0.4, 0.7, 1.0], 6).tolist(),
            strict=True,
        )
    ]
    data = {
        "problem": "placement",
        "version": 1,
        "machines": [{"gpus": 4, "cpus": 1, "memory": 1}] * 2,
        "price": 1.0,
        "slowdown": {"communication": 1.0, "contention": float(rng.choice(contention))},
        "window": 6,
        "jobs": jobs,
    }
    return PlacementInstance.from_dict(data)


@pytest.mark.parametrize("seed", range(6))
def test_no_price_of_losses_near_the_best_ones_proves_too_much(seed: int) -> None:
    """Where contention is large, bounds near the optimum are above it if anything about losses is wrong."""
    instance = contending(seed, 9000, [1.0, 2.0])
    best = by_branch_and_bound(instance, Budget(0.0, None))
    certificate, schedule = lower_bound(instance).certificate, best.schedule
    assert certificate.rows is None
    assert best.units is not None
    assert schedule is not None
    runs = schedule.finish - schedule.start
    assert (runs <= placement_bound.Packed(instance).longest).all()
    for factor in (0.5, 1.0, 2.0, 8.0):
        other = replace(certificate, losses=factor * certificate.losses)
        assert check_certificate(instance, other).units <= best.units
        costs = placement_exact.costs_of(instance, placement_bound.tariff(instance, other))
        simulator = instance.simulator()
        while simulator.advance():
            assert priced_cost(simulator.table, simulator.state, costs) <= best.units
            begun = np.flatnonzero(schedule.start == simulator.now)
            simulator.start(schedule.rows[np.isin(schedule.rows[:, 0], begun)])


@pytest.mark.parametrize("seed", range(12))
def test_jobs_of_few_ticks_that_slow_each_other_are_proved_as_without_prices(seed: int) -> None:
    """What is left of their work are fractions of ticks, which prices of jobs may not round up."""
    instance = contending(seed, 9, [0.1, 0.2, 0.3])
    found, plain = offline(instance, gap=0.0), offline(instance, method="branch-and-bound", gap=0.0)
    assert (found.value, found.bound) == (plain.value, plain.bound) == (plain.value, plain.value)


@given(instances(min_jobs=2, max_jobs=5), st.floats(0.1, 0.9))
@hypothesis_settings(max_examples=25, deadline=None)
def test_a_search_for_cheap_schedules_alone_proves_a_bound(instance: PlacementInstance, share: float) -> None:
    best = by_branch_and_bound(instance, Budget(0.0, None)).units
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement_exact, "SHARES", (share,))
        found = by_branch_and_bound(instance, Budget(0.0, None))
    assert found.schedule is not None
    assert best is not None
    assert found.units is not None
    root = placement_exact.root_bound(instance)
    start = instance.units(list_schedule(instance))
    assert min(best, root + int(share * (start - root))) <= found.units <= best
    assert best <= instance.units(found.schedule)


def test_prices_of_two_jobs_by_hand() -> None:
    two = alike([job(10.0)] * 2, gpus=2, slowdown={"communication": 0, "contention": 1})
    certificate = Certificate(None, np.array([0, 10_000]), np.ones((1, 2)), np.ones(2))
    assert check_certificate(two, certificate).value == 26.667  # 2 x 20 - 10 x (2 - 2 / 3), rounded up


def test_prices_of_jobs_count_contention() -> None:
    instance = alike([job(10.0)] * 6, gpus=6, slowdown={"communication": 0, "contention": 1})
    assert lower_bound(instance, plain=True).value == 60.0
    bound = lower_bound(instance)
    assert bound.certificate.rows is None
    assert bound.value >= 1.1 * 60.0
    assert check_certificate(instance, bound.certificate).value == bound.value


def test_many_jobs_have_no_prices_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [job(10.0, gpus=2)] * 9
    assert lower_bound(alike(jobs)).certificate.rows is None
    own = Certificate(None, np.array([0, 1000]), np.zeros((1, 9)), np.ones(9))
    for name, most in (("MOST_PACKED", 8), ("MOST_WAYS", 100)):
        with monkeypatch.context() as patch:
            patch.setattr(placement_bound, name, most)
            assert lower_bound(alike(jobs)).certificate.rows == rows_of(alike(jobs))
            with pytest.raises(InputError, match="ways to place some of the jobs"):
                check_certificate(alike(jobs), own)


def test_the_clock_leaves_the_sum_of_durations() -> None:
    instance = alike([job(10.0, gpus=8)] * 5)
    assert lower_bound(instance, Budget(0.0, 0.0)).value == sum_of_durations(instance).value == 50.0


def test_the_same_bytes_twice() -> None:
    found = [lower_bound(alike([job(float(i + 1), gpus=3) for i in range(12)])) for _ in range(2)]
    assert found[0].value == found[1].value
    np.testing.assert_array_equal(found[0].certificate.prices, found[1].certificate.prices)


def test_it_ends_within_the_gap_of_the_schedule() -> None:
    instance = alike([job(10.0, gpus=8)] * 5)
    told: list[tuple[float, str, float]] = []

    def progress(done: float, text: str, *, value: float = math.nan, bound: float = math.nan) -> None:
        assert math.isnan(value)
        told.append((done, text, bound))

    lower_bound(instance, Budget(10.0, None), progress)
    assert not told  # the sum of durations is near enough
    rough: Bound = lower_bound(instance, Budget(0.1, None), progress)
    assert 150.0 - rough.value <= 0.1 * rough.value
    assert all(0.0 <= done <= 1.0 for done, *_ in told)
    parts = [done for done, *_ in told]
    assert parts == sorted(parts)
    assert told[-1][1].startswith("volume round")
    assert told[-1][2] == pytest.approx(rough.value)


def test_a_program_that_highs_cannot_solve_leaves_the_prices_to_the_volume_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = alike([job(10.0, gpus=8)] * 5)
    unknown = highspy.HighsModelStatus.kUnknown
    monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda _: unknown)
    assert lower_bound(instance, Budget(0.1, None)).value > 1.3 * sum_of_durations(instance).value


@pytest.mark.parametrize(
    ("seed", "durations", "submits"),
    [
        (28, [1e4, 3.3, 0.001], [0.0, 1e8 - 0.001, 5e7, 5e7 + 0.001, 1e8]),  # rounding decides on a tick
        (4, [1e8, 1e7, 12345.678, 3.3, 0.001], [0.0, 1e5, 5e7 + 0.001, 1e8]),  # HiGHS does not solve it
    ],
)
def test_the_certificate_gives_the_same_bound_again(
    seed: int, durations: list[float], submits: list[float]
) -> None:
    rng = np.random.default_rng(seed)
    sampled = rng.choice(durations, 14), rng.integers(3, 9, 14), rng.choice(submits, 14)
    columns = (column.tolist() for column in sampled)
    instance = alike([job(d, g, submit=s) for d, g, s in zip(*columns, strict=True)], machines=1 + seed % 2)
    bound = lower_bound(instance)
    assert check_certificate(instance, bound.certificate).value == bound.value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prices": np.array([[-1.0], [0.0]])}, r"certificate.prices\[0\]\[0\]: -1"),
        ({"prices": np.array([[math.nan], [0.0]])}, r"certificate.prices\[0\]\[0\]: nan"),
        ({"prices": np.array([[0.0], [1e305]])}, r"certificate.prices\[1\]\[0\]: 1e\+305"),
        ({"prices": np.zeros((1, 1))}, "certificate.times: 3 of them, expected 2"),
        ({"times": np.array([0, 5, 5])}, "not ascending"),
        ({"times": np.array([1, 5, 6])}, "not ascending from the first submission"),
        ({"rows": (Row(3, 0),)}, "is no resource or level"),
        ({"rows": (Row(0, -1),)}, "is no resource or level"),
        ({"rows": None}, "certificate.losses"),
        ({"rows": None, "losses": np.array([-1.0])}, r"certificate.losses\[0\]: -1"),
        ({"lane": np.array([1]), "until": np.array([5])}, r"certificate.lane\[0\]: 1"),
        ({"lane": np.array([0]), "until": np.array([-5])}, r"certificate.until\[0\]: -5"),
        ({"lane": np.array([0])}, "certificate.until: "),
    ],
)
def test_bad_certificates_are_refused(change: dict[str, Any], message: str) -> None:
    good = Certificate((Row(0, 0),), np.array([0, 5, 9]), np.zeros((2, 1)))
    instance = alike([job(10.0)])
    assert check_certificate(instance, good).value == 10.0
    with pytest.raises(InputError, match=message):
        check_certificate(instance, replace(good, **change))


def test_lanes_with_too_many_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = alike([job(10.0)])
    good = Certificate(
        (), np.array([0, 5, 9]), np.ones((2, 2)), lane=np.zeros(1, dtype=np.int64), until=np.array([9])
    )
    assert check_certificate(instance, good).value == 10.0
    for name, most in (("LANE_SUMS", 15), ("LANE_PRICES", 1), ("LANE_INTERVALS", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(placement_bound, name, most)
            with pytest.raises(InputError, match="3 of them need too many sums of GPUs or prices"):
                check_certificate(instance, good)


def test_jobs_that_wait_longer_than_their_lanes_keep_the_prices_of_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placement_bound, "MOST_PACKED", 0)
    monkeypatch.setattr(placement_bound, "LINGER", -0.9)  # lanes end long before the jobs have run
    instance = alike([job(10.0 + i, gpus=3 + i % 4) for i in range(12)])
    found = lower_bound(instance)
    assert len(found.certificate.lane) == 12
    monkeypatch.setattr(placement_bound, "LANE_SUMS", 0)
    assert found.value > lower_bound(instance).value


def test_two_jobs_in_a_lane_at_the_same_time_are_refused() -> None:
    good = Certificate(
        (), np.array([0, 5, 9]), np.ones((2, 2)), lane=np.zeros(2, dtype=np.int64), until=np.array([5, 9])
    )
    instance = alike([job(0.01), job(0.01, submit=0.006)])
    assert check_certificate(instance, good).value == 0.02
    with pytest.raises(InputError, match=r"certificate\.lane: jobs 0 and 1 are in one at the same time"):
        check_certificate(instance, replace(good, until=np.array([6, 9])))
