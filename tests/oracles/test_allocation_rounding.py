"""No decision that counts as feasible earns what is above a bound, at any scale, of any number of terms."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.allocation import gang_bound
from clairvoyant.models.allocation.gang import AllocationGangInstance
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.setting import TOLERANCE
from clairvoyant.oracles.allocation.optimum import dynamic, gang, stationary
from clairvoyant.testing.allocation import decisions, instances


def alike(
    ports: int, size: float, family: str, *, alpha: float = 1.0, overhead: float = 0.0, jobs: int = 1
) -> AllocationInstance:
    """Return ports with equal demands, at one server of one kind that has room for one of them."""
    return AllocationInstance(
        edges=[[port, 0] for port in range(ports)],
        demand=[[size]] * ports,
        capacity=[[size]],
        overhead=[overhead],
        utility_kind=[[family]],
        alpha=[[alpha]],
        arrivals=[[jobs] * ports],
    )


def earned(instance: Any, y: Any) -> float:
    """Return what a feasible decision earns in the first slot."""
    array = np.array(y, dtype=float)
    reward, feasible = instance.setting.evaluate(array, instance.arrivals[0])
    assert feasible
    assert instance.violations(array) == []
    assert float(instance.rewards(array)[0]) == pytest.approx(reward, rel=1e-12, abs=0.0)
    return float(reward)


def bound_of(instance: Any) -> float:
    """Return what no decision earns that keeps all limits, in an instance of one slot."""
    found = (gang if isinstance(instance, AllocationGangInstance) else stationary)(instance)
    assert found.bound is not None
    return found.bound


@pytest.mark.parametrize(
    ("instance", "y"),
    [
        (alike(1, 1.0, "reciprocal", alpha=1e-10, overhead=0.1), [[-1e-10 * (1.0 + 1e-12)]]),
        (alike(2, 1e11, "log", overhead=0.1), [[-90.0], [-90.0]]),
        (alike(3, 1e11, "log", overhead=0.1), [[-90.0]] * 3),
        (alike(1, 1.0, "linear", alpha=1e40), [[1.0 + 0.9e-9]]),
    ],
)
def test_what_is_beyond_a_limit_within_the_tolerance_earns_what_the_limit_does(
    instance: AllocationInstance, y: Sequence[Sequence[float]]
) -> None:
    limits = np.clip(y, 0.0, instance.setting.edge_demand)
    assert earned(instance, y) == earned(instance, limits) <= bound_of(instance)


def test_what_is_below_zero_makes_no_room_for_others() -> None:
    """The tolerance of a demand that is much above the capacity is as much as the capacity."""
    instance = AllocationInstance.from_dict(alike(2, 1e9, "linear").to_dict() | {"capacity": [[1.0]]})
    y = np.array([[-0.9], [1.9]])
    assert not instance.setting.evaluate(y, instance.arrivals[0])[1]
    assert [broken.constraint for broken in instance.violations(y)] == ["capacity"]


@given(st.data(), st.floats(-40.0, 40.0), st.floats(-40.0, 40.0))
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_feasible_decision_earns_no_more_than_the_tolerance_of_the_capacities_above_the_bound(
    data: st.DataObject, size: float, scale: float
) -> None:
    first = data.draw(instances(min_slots=1, max_slots=1, min_edges=1))
    plain = first.to_dict()
    for name in ("demand", "capacity"):
        plain[name] = (10.0**size * np.array(plain[name])).tolist()
    plain["utility"]["alpha"] = (10.0**scale * np.array(plain["utility"]["alpha"])).tolist()
    instance = AllocationInstance.from_dict(plain)
    setting = instance.setting
    shape = (setting.shape[0] * setting.shape[1],)
    nudges = [data.draw(st.sampled_from([0.0, 0.9, -0.9])) for _ in range(shape[0])]
    y = setting.project(10.0**size * data.draw(decisions(first.setting)))
    y += TOLERANCE * np.array(nudges).reshape(setting.shape) * setting.edge_demand
    reward, feasible = setting.evaluate(y, instance.arrivals[0])
    assert feasible == (instance.violations(y) == [])
    held = setting.held(y)
    gross = float(instance.arrivals[0] @ (setting.gains(held) + setting.penalties(held)))
    rounding = (y.size + 8) * 2.0**-52 * gross
    if feasible:
        assert reward <= (1.0 + TOLERANCE) * bound_of(instance) + rounding


@pytest.mark.parametrize("ports", [1, 3])
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("size", [1e-50, 1e-17, 1.2e-16, 1.5e-8, 1e-3, 2.0, 1e30])
def test_the_logarithm_of_a_little_more_than_one_is_not_lost(ports: int, jobs: int, size: float) -> None:
    """As one logarithm of a product they would be 0, or twice as much, at sizes of about 1e-16."""
    instance = alike(ports, size, "log", jobs=jobs)
    y = np.full((ports, 1), size / ports)
    want = jobs * ports * float(np.log1p(size / ports))
    assert earned(instance, y) == pytest.approx(want, rel=1e-15 * (ports + 4), abs=0.0)
    assert earned(instance, y) <= bound_of(instance) * (1.0 + 1e-15)


def gang_of(
    base: AllocationInstance, demand: list[float], floor: list[float], minimum: int
) -> AllocationGangInstance:
    """Return a gang instance of one port, whose tasks have these demands and floors of its one kind."""
    return AllocationGangInstance(
        base, demand=[[[a] for a in demand]], floor=[[[b] for b in floor]], minimum=[minimum]
    )


POLE = alike(1, 1.0, "reciprocal", alpha=1e-12)
"""Where next to nothing earns almost everything."""


@pytest.mark.parametrize(
    ("instance", "y"),
    [
        (gang_of(POLE, [2.0], [2.0], 1), [[1e-9]]),
        (gang_of(POLE, [1.0], [0.5], 1), [[-1e-12 * (1.0 - 1e-12)]]),
        (gang_of(POLE, [1.0, 2.0], [0.0, 2.0], 2), [[0.9e-9], [0.0]]),
        (gang_of(POLE, [1.0, 2.0], [0.0, 2.0], 2), [[0.9e-9], [0.9e-9]]),
    ],
)
def test_what_counts_as_nothing_earns_nothing(instance: AllocationGangInstance, y: Any) -> None:
    assert earned(instance, y) == 0.0 <= bound_of(instance)


@pytest.mark.parametrize("floor", [0.0, 0.9e-9])
def test_a_task_that_needs_next_to_nothing_earns_by_it_what_it_may(floor: float) -> None:
    instance = gang_of(POLE, [1.0], [floor], 1)
    assert earned(instance, [[0.9e-9]]) == POLE.setting.port_rewards(np.array([[0.9e-9]]))[0] > 1e11
    assert earned(instance, [[0.9e-9]]) <= bound_of(instance)


def test_a_small_floor_that_nothing_keeps_is_none_that_is_kept() -> None:
    """The second task has no device in reach: the first one may not run."""
    base = AllocationInstance(
        edges=[[0, 0]],
        demand=[[1.0, 1.0]],
        capacity=[[1.0, 0.0]],
        overhead=[0.0, 0.0],
        utility_kind=[["linear", "linear"]],
        alpha=[[1.0, 1.0]],
        arrivals=[[1]],
    )
    instance = AllocationGangInstance(
        base, demand=[[[1.0, 1.0]] * 2], floor=[[[0.5, 0.0], [0.0, 0.9e-9]]], minimum=[2]
    )
    assert bound_of(instance) == 0.0
    broken = instance.violations(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert [(one.constraint, one.excess) for one in broken] == [("minimum", 1.0)]


MANY, EACH = 60_000, 0.9915
"""So many numbers, added one after the other, make a sum that is too small by 1.6e-12 of it."""


@pytest.fixture(scope="module")
def wide() -> AllocationInstance:
    """Return one port at very many servers, each of which has what the port takes there."""
    return AllocationInstance(
        edges=[[0, server] for server in range(MANY)],
        demand=[[EACH]],
        capacity=[[EACH]] * MANY,
        overhead=[0.0],
        utility_kind=[["linear"]] * MANY,
        alpha=[[1.0]] * MANY,
        arrivals=[[1], [2]],
    )


def test_the_bound_of_slots_that_time_does_not_reach_allows_for_all_terms(wide: AllocationInstance) -> None:
    found = dynamic(wide, time_limit=0.0)
    assert found.bound is not None
    assert Fraction(found.bound) >= 3 * MANY * Fraction(EACH)


def test_a_floor_that_takes_all_of_very_many_servers_can_be_kept(wide: AllocationInstance) -> None:
    whole = MANY * Fraction(EACH)
    floor = float(whole) if Fraction(float(whole)) <= whole else math.nextafter(float(whole), 0.0)
    instance = gang_of(wide, [2.0 * floor], [floor], 1)
    assert Fraction(bound_of(instance)) >= 3 * whole
    assert earned(instance, np.full((MANY, 1), EACH)) > 0.0


def test_a_demand_is_cut_to_no_less_than_what_all_gains_together_pay_for() -> None:
    base = AllocationInstance(
        edges=[[0, server] for server in range(MANY)],
        demand=[[EACH, 1e6]],
        capacity=[[EACH, 10.0]] * MANY,
        overhead=[0.0, 1.0],
        utility_kind=[["linear"] * 2] * MANY,
        alpha=[[1.0, 0.0]] * MANY,
        arrivals=[[1]],
    )
    setting = AllocationGangInstance(base, demand=[[[1e6, 1e6]]], floor=[[[0.0, 0.0]]], minimum=[1]).setting
    cut = float(gang_bound.presolve(setting, [1.0]).demand[0, 1])
    assert MANY * Fraction(EACH) <= Fraction(cut) < 1e5


@given(
    st.lists(st.tuples(st.integers(0, 2), st.floats(0.0, 1e50, allow_subnormal=False)), max_size=40),
    st.sampled_from([1, 500]),
)
def test_sums_are_not_rounded_down(rows: list[tuple[int, float]], times: int) -> None:
    port = np.array([one for one, _ in rows] * times, dtype=np.int64)
    sums = gang_bound._added(np.array([[size] for _, size in rows] * times).reshape(-1, 1), port, 3)
    for one in range(3):
        exact = times * sum((Fraction(size) for at, size in rows if at == one), Fraction(0))
        assert (
            exact
            <= Fraction(float(sums[one, 0]))
            <= exact * (1 + (times * len(rows) + 1) * Fraction(1, 2**51))
        )


def test_one_number_is_its_sum() -> None:
    assert gang_bound._added(np.array([[0.1], [0.3]]), np.array([0, 2]), 3).tolist() == [[0.1], [0.0], [0.3]]
