"""Lagrangian bounds: above every optimum, equal to the linear relaxation where that can be enumerated."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import Job
from clairvoyant.models.admission.market import Market, Volume, groups
from clairvoyant.models.admission.program import able
from clairvoyant.models.admission.schedule import TooLargeError, cheapest_schedule
from clairvoyant.oracles.admission import bound as admission_bound
from clairvoyant.oracles.admission.bound import (
    Priced,
    columns,
    lagrangian_bound,
    volume,
    without_prices,
)
from clairvoyant.oracles.admission.search import search
from clairvoyant.oracles.base import Budget
from clairvoyant.testing.admission import instances

from .admission_stages import begun, staged

MOST_SCHEDULES = 400
FOREVER = (0.0, None)


def spreads(count: int, room: list[int]) -> list[tuple[int, ...]]:
    """All ways to put some units on machines."""
    return [x for x in itertools.product(*(range(min(n, count) + 1) for n in room)) if sum(x) == count]


def schedules(instance: AdmissionInstance, job: Job) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """All schedules of a job in the empty cluster: utility, workers and servers [slot, machine]."""
    setting = instance.setting
    rooms = (setting.worker_room(job).tolist(), setting.server_room(job).tolist())
    found: list[tuple[float, np.ndarray, np.ndarray]] = []

    def extend(slot: int, left: int, rows: list[Any]) -> None:
        assume(len(found) <= MOST_SCHEDULES)
        if left == 0:
            idle = ((0,) * len(rooms[0]), (0,) * len(rooms[1]))
            full = [idle] * (job.arrival - 1) + rows + [idle] * (setting.horizon - slot + 1)
            y, z = (np.array([row[side] for row in full], dtype=np.int64) for side in (0, 1))
            found.append((job.utility(slot - 1 - job.arrival), y, z))
            return
        if slot > setting.horizon:
            return
        for count in range(min(left, job.chunks) + 1):
            servers = spreads(int(job.servers_for[count]), rooms[1])
            for pair in itertools.product(spreads(count, rooms[0]), servers):
                extend(slot + 1, left - count, [*rows, pair])

    if job.index not in instance.never:
        extend(job.arrival, job.work, [])
    return found


def relaxation(instance: AdmissionInstance) -> tuple[float, float]:
    """The linear relaxation of (14) over all schedules, and its integer optimum."""
    from scipy.optimize import LinearConstraint, milp

    setting = instance.setting
    worth, jobs, takes = [], [], []
    for job in instance.jobs:
        for utility, y, z in schedules(instance, job):
            worth.append(utility)
            jobs.append(job.index)
            used = (y[:, :, None] * job.worker_units, z[:, :, None] * job.server_units)
            takes.append(np.concatenate([side.ravel() for side in used]))
    if not worth:
        return 0.0, 0.0
    limits = [
        np.tile(units.ravel(), setting.horizon) for units in (setting.worker_units, setting.server_units)
    ]
    limit = np.concatenate(limits)
    once = np.array(jobs) == np.arange(len(instance.jobs))[:, None]
    rows = np.vstack([once, np.array(takes).T / np.maximum(1, limit)[:, None]])
    upper = np.concatenate([np.ones(len(once)), (limit > 0).astype(float)])
    limits_ = LinearConstraint(rows.astype(float), -np.inf, upper)
    found = [
        milp(-np.array(worth), constraints=limits_, integrality=whole, options={"mip_rel_gap": 0.0})
        for whole in (0, 1)
    ]
    assert all(result.success for result in found)
    return -found[0].fun, -found[1].fun


TINY = instances(max_horizon=3, max_machines=2, max_jobs=3, max_chunks=3)


@given(TINY)
@hypothesis_settings(max_examples=15, deadline=None)
def test_columns_give_the_linear_relaxation_and_volume_is_not_below(instance: AdmissionInstance) -> None:
    linear, optimum = relaxation(instance)
    found = columns(instance, Budget(*FOREVER))
    rough = volume(instance, Budget(*FOREVER), rounds=150)
    assert found.bound == pytest.approx(linear, rel=1e-7, abs=1e-9)
    assert rough.bound >= linear - 1e-9 * max(1.0, linear)
    assert rough.bound <= linear + 0.05 * max(1.0, linear)
    assert min(found.bound, rough.bound) >= optimum - 1e-9 * max(1.0, optimum)


@given(TINY, st.data())
@hypothesis_settings(max_examples=25, deadline=None)
def test_any_prices_prove_a_bound(instance: AdmissionInstance, data: st.DataObject) -> None:
    _, optimum = relaxation(instance)
    setting = instance.setting
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    scale = data.draw(st.sampled_from([0.0, 0.1, 10.0]))
    prices = [
        scale * rng.random((setting.horizon, *u.shape)) for u in (setting.worker_units, setting.server_units)
    ]
    bound, payoffs = lagrangian_bound(instance, prices[0], prices[1])
    assert bound >= optimum - 1e-9 * max(1.0, optimum)
    assert (payoffs >= 0.0).all()


@pytest.mark.parametrize("seed", range(10))
def test_rounding_takes_no_bound_below_its_terms(seed: int) -> None:
    instance = generate("tiny", seed)
    setting = instance.setting
    free = [np.zeros((setting.horizon, *u.shape)) for u in (setting.worker_units, setting.server_units)]
    bound, payoffs = lagrangian_bound(instance, free[0], free[1])
    assert Fraction(bound) >= sum(map(Fraction, payoffs.tolist())) > 0


def hull_and_exact(instance: AdmissionInstance, seed: int) -> tuple[np.ndarray, np.ndarray]:
    market = Market(instance.setting, able(instance))
    rng = np.random.default_rng(seed)
    sampled = [30.0 * rng.random(shape) * (rng.random(shape) < 0.5) for shape in market.shapes]
    prices = (sampled[0], sampled[1])
    exact = []
    for i, job in enumerate(market.jobs):
        plan = cheapest_schedule(job, market.offer(i, prices))
        exact.append(0.0 if plan is None else max(0.0, plan.payoff))
    return market.respond(prices).payoffs, np.array(exact)


@given(instances(max_horizon=6, max_machines=4, min_jobs=1, max_jobs=5, max_chunks=8), st.integers(0, 9))
@hypothesis_settings(max_examples=40, deadline=None)
def test_convex_hulls_bound_the_payoffs(instance: AdmissionInstance, seed: int) -> None:
    assume(len(instance.never) < len(instance.jobs))
    hull, exact = hull_and_exact(instance, seed)
    assert (hull >= exact - 1e-9).all()


def made(seed: int = 0, **options: Any) -> AdmissionInstance:
    return generate(
        "tiny", seed, **{"jobs": 12, "horizon": 12, "worker_machines": 1, "server_machines": 1, **options}
    )


def test_what_the_jobs_take_adds_up_to_the_bound() -> None:
    market = Market(made().setting, able(made()))
    rng = np.random.default_rng(1)
    worker, server = (5.0 * rng.random(shape) for shape in market.shapes)
    found = market.respond((worker, server))
    paid = (worker * found.used_workers).sum() + (server * found.used_servers).sum()
    worths = {float(u) for job in market.jobs for u in job.utilities(12)}
    gained = found.payoffs.sum() + paid
    chosen = np.flatnonzero(found.payoffs).tolist()
    assert len(chosen) > 1
    options = [[u for u in market.jobs[i].utilities(12) if u >= found.payoffs[i]] for i in chosen]
    assert worths
    assert min(map(min, options)) > 0.0
    assert gained <= sum(map(max, options)) + 1e-9
    assert gained >= sum(map(min, options)) - 1e-9


@pytest.mark.parametrize("make", [volume, columns])
def test_prices_prove_the_bound_again(make: Any) -> None:
    instance = made(2)
    found = make(instance, Budget(*FOREVER))
    bound, payoffs = lagrangian_bound(instance, found.worker_prices, found.server_prices)
    assert bound == pytest.approx(found.bound, rel=1e-9)
    np.testing.assert_allclose(payoffs, found.payoffs, rtol=1e-8, atol=1e-8)
    assert found.bound < without_prices(instance).bound
    assert (found.worker_prices >= 0.0).all()
    with pytest.raises(ValueError, match="read-only"):
        found.worker_prices[0, 0, 0] = 1.0
    # the sum of the certificate, written out
    paid = (found.worker_prices * instance.setting.worker_servers).sum()
    paid += (found.server_prices * instance.setting.parameter_servers).sum()
    assert paid + found.payoffs.sum() == pytest.approx(found.bound, rel=1e-8)


def test_volume_comes_close_to_columns() -> None:
    instance = made(1)
    rough = volume(instance, Budget(*FOREVER))
    exact = columns(instance, Budget(*FOREVER), start=rough)
    assert exact.bound <= rough.bound * (1.0 + 1e-9)
    assert rough.bound <= 1.01 * exact.bound


@given(instances(max_horizon=6, max_machines=4, min_jobs=1, max_jobs=9, max_chunks=8), st.integers(1, 3))
@hypothesis_settings(max_examples=40, deadline=None)
def test_samples_of_the_jobs_only_begin_the_prices(instance: AdmissionInstance, fewest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission_bound, "FEWEST", fewest)
        patch.setattr(admission_bound, "COARSER", 2)
        assert admission_bound.samples(len(instance.jobs)) or len(instance.jobs) < 2 * fewest
        found = volume(instance, Budget(*FOREVER), rounds=40)
        at_once = volume(instance, Budget(*FOREVER), rounds=0)
    again, _ = lagrangian_bound(instance, found.worker_prices, found.server_prices)
    assert found.bound == pytest.approx(again, rel=1e-9)
    assert found.bound <= at_once.bound * (1.0 + 1e-9) <= without_prices(instance).bound * (1.0 + 2e-9)
    for prices in (found, at_once):
        schedule = search(instance, prices, Budget(*FOREVER), iterations=30)
        assert prices.bound >= instance.rewards(schedule).sum()


def test_a_sample_has_its_part_of_the_capacity() -> None:
    instance = made(3)
    jobs = able(instance)
    twice, once = Market(instance.setting, [*jobs, *jobs]), Market(instance.setting, jobs, 0.5)
    rng = np.random.default_rng(0)
    prices = twice.split(rng.random(sum(int(np.prod(shape)) for shape in twice.shapes)))
    all_of_it, half = twice.respond(prices), once.respond(prices)
    assert half.bound == pytest.approx(all_of_it.bound / 2.0, rel=1e-12)
    first, second = Volume(twice), Volume(once)
    assert second.excess == pytest.approx(first.excess / 2.0, rel=1e-12, abs=1e-12)
    for _ in range(50):
        first.step()
        second.step()
    assert second.prices == pytest.approx(first.prices, rel=1e-6, abs=1e-9)
    assert 2.0 * second.bound == pytest.approx(first.bound, rel=1e-9)
    assert first.bound < 0.9 * Volume(twice).bound


def test_samples_halve_the_way_to_the_best_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = generate("large", 0, jobs=400, horizon=30, fit="short")
    assert admission_bound.samples(400) == [16, 4]
    work = admission_bound.begin_work(instance) / admission_bound.volume_work(instance)
    sampled = volume(instance, Budget(*FOREVER), rounds=1)
    monkeypatch.setattr(admission_bound, "samples", lambda _: [])
    plain, best = (volume(instance, Budget(*FOREVER), rounds=n) for n in (math.ceil(1 + work), 200))
    assert sampled.bound - best.bound < 0.5 * (plain.bound - best.bound)


@pytest.mark.parametrize("steps", [1, 3, 4])
def test_prices_of_samples_count_when_they_are_interrupted(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission_bound, "STEP", 0.0)
    monkeypatch.setattr(admission_bound, "SAMPLED_ROUNDS", 2)
    monkeypatch.setattr(admission_bound, "FEWEST", 5)
    instance = made(4, jobs=20)
    best = begun(instance, Budget(*FOREVER))
    before, stage = best.bound, admission_bound.by_volume(best)
    for _ in range(steps):
        next(stage)
    stage.close()
    assert (best.bound < 0.999 * before) == (steps == 4)


def test_prices_without_prices_are_those_at_zero() -> None:
    instance = made(3)
    zero = without_prices(instance)
    bound, payoffs = lagrangian_bound(instance, zero.worker_prices, zero.server_prices)
    assert zero.bound == pytest.approx(bound, rel=1e-9)
    np.testing.assert_allclose(payoffs, zero.payoffs, rtol=1e-12)


def test_equal_machines_form_a_group_and_there_are_few_groups() -> None:
    capacity = np.array([[4, 7], [2, 7], [4, 7], [2, 8]])
    member = groups(capacity)
    assert [len({tuple(capacity[h]) for h in np.flatnonzero(member == g)}) for g in range(3)] == [1, 1, 1]
    many = np.column_stack([np.arange(40), np.repeat([1, 2], 20)])
    assert groups(many).tolist() == [0] * 20 + [1] * 20
    assert groups(np.zeros((0, 2), dtype=np.int64)).tolist() == []


def test_machines_that_differ_in_everything_still_bound() -> None:
    rng = np.random.default_rng(0)
    base = made(0).to_dict()
    base["worker_servers"] = (rng.integers(10, 60, (30, 5)) * 1.0).tolist()
    base["parameter_servers"] = (rng.integers(10, 60, (30, 5)) * 1.0).tolist()
    instance = AdmissionInstance.from_dict(base)
    found = volume(instance, Budget(*FOREVER), rounds=200)
    again, _ = lagrangian_bound(instance, found.worker_prices, found.server_prices)
    assert again == pytest.approx(found.bound, rel=1e-9)


def test_without_time_the_bound_is_honest() -> None:
    instance = made(2)
    zero = without_prices(instance).bound
    for make in (volume, columns):
        found = make(instance, Budget(0.0, 0.0))
        assert found.bound == pytest.approx(zero, rel=1e-9)


def test_no_job_that_can_finish_is_worth_nothing() -> None:
    data = made(0).to_dict()
    data["worker_servers"] = []
    instance = AdmissionInstance.from_dict(data)
    assert volume(instance, Budget(*FOREVER)).bound == 0.0
    assert columns(instance, Budget(*FOREVER)).bound == 0.0


def test_too_large_a_job_keeps_the_bound_of_its_hull(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = made(2)
    exact = volume(instance, Budget(*FOREVER), rounds=100)
    monkeypatch.setattr(admission_bound, "TABLE", 0)
    hull = volume(instance, Budget(*FOREVER), rounds=100)
    assert hull.bound >= exact.bound * (1.0 - 1e-9)
    np.testing.assert_array_equal(hull.worker_prices, exact.worker_prices)


def test_progress_goes_from_0_to_1_and_may_interrupt() -> None:
    instance = made(1)
    for stage in (admission_bound.by_volume, admission_bound.by_columns):
        told: list[tuple[float, float]] = []

        def hear(done: float, _: str, *, bound: float, into: Any = told, **__: float) -> None:
            into.append((done, bound))

        part = staged(stage)(instance, Budget(0.0, 1e9), hear)
        assert told
        assert told == sorted(told, key=lambda pair: (pair[0], -pair[1]))
        assert part.bound <= told[-1][1] * (1.0 + 1e-9)

        def stop(*_: Any, **__: float) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            staged(stage)(instance, Budget(*FOREVER), stop)


def test_what_was_done_before_the_time_was_over_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is that of the last round, not that of the last one at which it is offered anyway."""
    monkeypatch.setattr(admission_bound, "STEP", 0.0)
    instance = made(1)
    for stage, make in ((admission_bound.by_volume, volume), (admission_bound.by_columns, columns)):
        best = begun(instance, Budget(*FOREVER))
        steps = stage(best)
        for _ in range(5):
            next(steps)
        before = best.bound
        steps.close()
        assert best.bound < before
        assert best.bound == pytest.approx(best.certificate.bound)
        assert best.bound >= make(instance, Budget(*FOREVER)).bound * (1.0 - 1e-9)


def test_the_same_bytes_every_time() -> None:
    found = [volume(made(4), Budget(*FOREVER), rounds=60) for _ in range(2)]
    assert found[0].bound == found[1].bound
    assert math.isfinite(found[0].bound)
    np.testing.assert_array_equal(found[0].worker_prices, found[1].worker_prices)


def test_columns_may_begin_at_prices_at_which_nothing_pays() -> None:
    instance = generate("tiny", 0)
    usual = volume(instance, Budget(*FOREVER))
    dear = [np.full_like(prices, 1e6) for prices in (usual.worker_prices, usual.server_prices)]
    start = replace(usual, worker_prices=dear[0], server_prices=dear[1], bound=1e12)
    found = [columns(instance, Budget(*FOREVER), begin).bound for begin in (start, usual)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def one_kind(jobs: list[dict[str, Any]], **place: Any) -> AdmissionInstance:
    job: dict[str, Any] = {"arrival": 1, "epochs": 1, "chunks": 1, "minibatches": 1, "minibatch_time": 1}
    job |= {"gradient_size": 0, "worker_bandwidth": 1, "server_bandwidth": 1}
    job |= {"worker_demand": [1], "server_demand": [1]}
    return AdmissionInstance(resources=["cpu"], jobs=[job | one for one in jobs], **place)


@given(
    st.sampled_from([(4, 5e8), (7, 3e8), (13, 1e8 - 1e-6)]),
    st.sampled_from([0.0, 700.0, 716.0, 728.0, 735.0, 741.0]),
    st.sampled_from([2.3e-308, 1e-307, 1e-300, 1.0]),
)
@hypothesis_settings(max_examples=40, deadline=None)
def test_bounds_hold_down_to_the_least_numbers(few: tuple[int, float], decay: float, priority: float) -> None:
    count, amount = few
    needs = {"worker_demand": [amount], "server_demand": [amount], "epochs": 2}
    told = [{"priority": priority * (1.0 + 0.01 * i), "decay": decay, "target": 0} for i in range(count)]
    place = {"worker_servers": [[1e9]], "parameter_servers": [[1e9]]}
    instance = one_kind([needs | {"utility": one} for one in told], horizon=2, **place)
    earned = sorted((Fraction(job.utility(1)) for job in instance.jobs), reverse=True)
    best = sum(earned[: int(1e9 // amount)])
    for found in (volume(instance, Budget(1e-6, None)), columns(instance, Budget(1e-6, None))):
        assert best <= Fraction(found.bound)
        again, _ = lagrangian_bound(instance, found.worker_prices, found.server_prices)
        assert best <= Fraction(again)


def by_volume(instance: AdmissionInstance) -> Priced:
    return volume(instance, Budget(*FOREVER), rounds=20)


def by_columns(instance: AdmissionInstance) -> Priced:
    return columns(instance, Budget(*FOREVER), rounds=20)


MAKERS = (by_volume, by_columns)


def test_a_job_that_no_program_can_handle_is_bounded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = made(3)
    usual = [make(instance) for make in MAKERS]

    def too_large(job: Job, *_: Any) -> None:
        raise TooLargeError(f"jobs[{job.index}]")

    monkeypatch.setattr(admission_bound, "cheapest_schedule", too_large)
    for found, exact in zip([make(instance) for make in MAKERS], usual, strict=True):
        assert found.bound >= exact.bound * (1.0 - 1e-9)
        alone, _ = lagrangian_bound(instance, found.worker_prices, found.server_prices)
        assert alone >= found.bound * (1.0 - 1e-9)


def test_what_is_too_large_for_the_program_has_a_bound() -> None:
    rng, horizon = np.random.default_rng(6), 10_000
    utility = {"priority": 1e6, "decay": 0, "target": 8110}
    large = {"chunks": 4, "minibatch_time": 8901.5, "worker_bandwidth": 3, "server_bandwidth": 4}
    place = {"worker_servers": [[1], [1], [2]], "parameter_servers": [[1], [2]]}
    instance = one_kind([large | {"utility": utility}], horizon=horizon, **place)
    workers, servers = (np.sort(rng.random((horizon, n)), axis=0)[:, :, None] for n in (3, 2))
    with pytest.raises(TooLargeError, match="more than the exact program can handle"):
        cheapest_schedule(
            instance.jobs[0], admission_bound._offer(instance, instance.jobs[0], workers, servers), 0.0
        )
    bound, payoffs = lagrangian_bound(instance, workers, servers)
    assert payoffs[0] == without_prices(instance).payoffs[0]
    assert bound > payoffs[0]
