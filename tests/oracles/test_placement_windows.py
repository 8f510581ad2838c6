"""Bounds by branching on windows of starts: against enumeration, plain branch and bound, and any schedule."""

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.placement import kernels
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.oracles.base import Budget
from clairvoyant.oracles.placement import exact, windows
from clairvoyant.oracles.placement.bound import Packed, Pricing, tariff
from clairvoyant.oracles.placement.exact import Branching, by_branch_and_bound, by_enumeration, costs_of
from clairvoyant.oracles.placement.exact_kernels import DEAD, priced_cost
from clairvoyant.oracles.placement.optimum import offline
from clairvoyant.testing.placement import instances, schedules


def longest_first(instance: PlacementInstance) -> Schedule:
    """A schedule that leaves much to find."""
    simulator = instance.simulator()
    given = simulator.table, simulator.state, simulator.contention, simulator.window
    kernels.run_by_keys(*given, -instance.jobs.duration.astype(np.float64), kernels.LOAD_BALANCE, True)
    return taken_schedule(simulator)


def tree(instance: PlacementInstance, rounds: int = 60) -> windows.Windows:
    """A tree whose root has had a few rounds on prices of jobs."""
    schedule = longest_first(instance)
    pricing = Pricing(instance, schedule)
    for k, _ in enumerate(pricing.steps(endless=False, parted=True)):
        if k > rounds and pricing.name.startswith("Lagrangian prices of jobs in"):
            pricing.done = 1.0
            break
    assert pricing.of_jobs is not None
    return windows.Windows(Branching(instance, schedule), pricing)


def parts(grown: windows.Windows) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """The first and the last starts of each leaf, and its bound."""
    return [(*leaf.found.market.windows.T, low) for low, _, leaf in grown._heap]


def holding(grown: windows.Windows, start: np.ndarray) -> list[int]:
    """The bounds of the leaves in which all jobs start in their windows."""
    return [low for first, last, low in parts(grown) if ((first <= start) & (start <= last)).all()]


def result(steps: Generator[float, None, int | None]) -> int | None:
    """What steps return in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: int | None = end.value
            return found


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch and bound gives up after some forty steps, until there are a few leaves."""
    monkeypatch.setattr(exact, "SLICE", 2000)
    monkeypatch.setattr(exact, "SLICE_SECONDS", 1.0)
    for name, value in (
        ("AS_LONG", 0.0),
        ("LEAST_WORK", 0.0),
        ("WHOLE_WORK", 0.0),
        ("ROUNDS", 12),
        ("MOST_LEAVES", 5),
    ):
        monkeypatch.setattr(windows, name, value)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("seed", range(8))
def test_a_split_tree_proves_what_the_plain_branch_and_bound_proves(seed: int) -> None:
    instance = generate("tiny", seed, jobs=7, machines=2, rho=3.0)
    plain = by_branch_and_bound(instance, Budget(0.0, None))
    assert plain.units is not None
    assert plain.schedule is not None
    grown, lows, leaves = tree(instance), [0], set()
    for _ in grown.steps(0.0):
        lows.append(grown.low)
        if len(grown._heap) not in leaves:
            leaves.add(len(grown._heap))
            assert all(low <= plain.units for low in holding(grown, plain.schedule.start))
            assert not grown._heap or len(holding(grown, plain.schedule.start)) == 1
    assert lows == sorted(lows)
    assert grown.low == grown.branching.best == plain.units
    assert max(leaves) == windows.MOST_LEAVES


@pytest.mark.usefixtures("impatient")
@given(st.data())
@hypothesis_settings(max_examples=25, deadline=None)
def test_every_schedule_is_in_one_leaf_and_costs_no_less_than_its_bound(data: Any) -> None:
    instance = data.draw(instances(min_jobs=2, max_jobs=5))
    drawn = data.draw(st.lists(schedules(instance), min_size=1, max_size=3))
    grown, leaves = tree(instance, 20), {0}
    for _ in grown.steps(0.0):
        if len(grown._heap) in leaves:
            continue
        leaves.add(len(grown._heap))
        for schedule in drawn:
            (low,) = holding(grown, schedule.start)
            assert max(low, grown.low) <= instance.units(schedule)
        for first, last, _ in parts(grown):  # no start is between two leaves, or in both
            assert len(holding(grown, first)) == len(holding(grown, last)) == 1
            for job in np.flatnonzero(first > instance.jobs.submit):
                before = first - (np.arange(len(first)) == job)
                assert len(holding(grown, before)) == 1
    assert grown.low == grown.branching.best


@given(st.data())
@hypothesis_settings(max_examples=25, deadline=None)
def test_in_windows_of_any_schedule_prices_prove_no_more_than_it_costs(data: Any) -> None:
    """At every epoch; once a window is over in which a waiting job did not start, nothing goes on."""
    instance = data.draw(instances(min_jobs=1, max_jobs=5))
    schedule, n = data.draw(schedules(instance)), len(instance.jobs)
    room = st.lists(st.sampled_from((0, 0, 1, 900, 2**40)), min_size=n, max_size=n)
    first = np.maximum(instance.jobs.submit, schedule.start - np.array(data.draw(room)))
    market = Packed(instance).within(np.stack([first, schedule.start + np.array(data.draw(room))], axis=1))
    times = np.unique(np.concatenate([instance.jobs.submit[:1], schedule.start, schedule.finish]))
    draws = np.random.default_rng(data.draw(st.integers(0, 99)))
    prices = draws.uniform(0.0, 2.0, (len(times) - 1, n)) * draws.integers(0, 2, (len(times) - 1, n))
    losses = draws.uniform(0.0, 2.0, n)
    costs = costs_of(instance, tariff(instance, market.certificate(times, prices, losses), market))
    late = market.windows[:, 1].argmin()
    for changed in (False, True):
        simulator, cost, n = instance.simulator(), instance.units(schedule), len(instance.jobs)
        while simulator.advance():
            low = int(priced_cost(simulator.table, simulator.state, costs))
            over = np.isin(np.arange(n), kernels.waiting(simulator.state))
            over &= simulator.now > market.windows[:, 1]
            assert (low == DEAD) == bool(over.any())
            assert changed or low <= cost
            begun = np.flatnonzero(schedule.start == simulator.now)
            begun = begun[begun != late] if changed else begun
            simulator.start(schedule.rows[np.isin(schedule.rows[:, 0], begun)])
            idle = simulator.state.clock[kernels.RUNNING] == 0
            if changed and idle and simulator.state.clock[kernels.ARRIVED] == n:
                break


@given(st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_most_valuable_set_is_that_of_all_sets(data: Any) -> None:
    contending = st.integers(0, 9).map(lambda seed: generate("tiny", seed, jobs=7, rho=4.0))
    instance = data.draw(instances(min_jobs=1, max_jobs=7, max_machines=3) | contending)
    packed, n = Packed(instance), len(instance.jobs)
    draws = np.random.default_rng(data.draw(st.integers(0, 99)))
    times = np.sort(draws.integers(0, 10**6, 9)) + np.arange(9)
    prices = draws.choice([0.0, 1e-9, 0.3, 1.0, 7.5], (8, n)) * draws.uniform(0.5, 1.0, (8, n))
    prices[1::2] = prices[::2]  # the best set stays the best
    losses = draws.choice([0.0, 1.0, 30.0], n)
    loss, _ = packed.loss(losses)
    held = (packed.sets[:, None] >> np.arange(n)) & 1
    value = prices @ held.T - loss
    unknown = held @ (instance.jobs.submit[:, None] >= times[1:]) > 0
    most = np.where(unknown.T, -np.inf, value).max(axis=1)
    worth, used, _ = packed.capacity(times, prices, losses)
    np.testing.assert_allclose(worth, most, rtol=1e-12, atol=1e-12)
    chosen = (used * prices).sum(axis=1) - loss[np.searchsorted(packed.sets, used @ 2.0 ** np.arange(n))]
    np.testing.assert_allclose(chosen, most, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_proves_in_windows_what_enumeration_finds(seed: int) -> None:
    instance = generate("tiny", seed, jobs=3, machines=2, rho=4.0)
    found, best = offline(instance, gap=0.0), by_enumeration(instance, Budget(0.0, None))
    assert best.units is not None
    assert round(1e6 * found.value) == round(1e6 * (found.bound or 0.0)) == best.units


@pytest.mark.slow
def test_windows_prove_more_than_prices_do() -> None:
    """Where prices and the plain branch and bound leave a gap, of about as much work."""
    instance = generate("tiny", 3, jobs=18, machines=2, rho=1.5)
    found, pricing = offline(instance, gap=0.05), Pricing(instance, longest_first(instance))
    for _ in pricing.steps(endless=False, parted=True):
        pass
    assert pricing.bound().value < 0.95 * found.value
    assert found.gap is not None
    assert found.gap <= 0.05


@given(st.data())
@hypothesis_settings(max_examples=25, deadline=None)
def test_in_windows_of_one_tick_the_branch_and_bound_finds_the_schedule(data: Any) -> None:
    instance = data.draw(instances(min_jobs=1, max_jobs=4))
    best = by_enumeration(instance, Budget(0.0, None))
    assert best.schedule is not None
    start = best.schedule.start
    market = Packed(instance).within(np.stack([start, start], axis=1))
    prices = np.zeros((0, len(start)))
    costs = costs_of(instance, tariff(instance, market.certificate(start[:1], prices, market.losses), market))
    branching = Branching(instance, longest_first(instance))
    found = result(branching.search(costs, branching.best, 0.0))
    assert found == branching.best == best.units
