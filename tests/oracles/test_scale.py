"""Rewards in another unit change no decision and no status: nothing in an oracle is absolute."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.setting import Setting
from clairvoyant.oracles.admission import optimum as admission
from clairvoyant.oracles.allocation import optimum as allocation
from clairvoyant.oracles.base import Budget, Optimum, OracleError, WhyStopped, rounding, why_stopped
from clairvoyant.oracles.selection import gang as selection_gang
from clairvoyant.oracles.selection import optimum as selection
from clairvoyant.testing import admission as draw_admission
from clairvoyant.testing import allocation as draw_allocation
from clairvoyant.testing import selection as draw_selection
from clairvoyant.testing import selection_gang as draw_gangs

SMALL = 2.0**-34
"""What is to be multiplied by much is first made as small as this; dividing by it is exact."""

EXACT = (2.0**-34, 2.0**30)
"""Powers of four: square roots of rewards are exact multiples as well."""

DECIMAL = (1e-10, 1e9)


def scaled(instance: Any, factor: float) -> Any:
    """Return an instance with all rewards multiplied."""
    data = instance.to_dict()
    if isinstance(instance, AdmissionInstance):
        for job in data["jobs"]:
            job["utility"]["priority"] *= factor
    elif isinstance(instance, AllocationInstance):
        data["overhead"] = [beta * factor for beta in data["overhead"]]
        data["utility"]["alpha"] = [[a * factor for a in row] for row in data["utility"]["alpha"]]
    else:
        data["mean"] = [v * factor for v in data["mean"]]
        data["noise"] = {"kind": "none"}
        data.pop("path", None)
    return type(instance).from_dict(data)


def parts(decision: Any) -> list[np.ndarray]:
    """Return a decision as arrays."""
    if isinstance(decision, np.ndarray):
        return [decision]
    return [decision.workers, decision.servers] if hasattr(decision, "workers") else list(decision)


@dataclass(frozen=True)
class Case:
    """An oracle with one of its methods, and instances for it.

    ``agree`` is how far apart the values of two runs may be that round otherwise: the gap they stop at.
    """

    oracle: Callable[[Any], Optimum]
    instances: st.SearchStrategy[Any]
    agree: float


CHANNELS = draw_selection.instances(max_slots=3, max_channels=6, noises=["none"])
GANGS = draw_gangs.gang_instances(max_slots=2)
JOBS = draw_admission.instances(max_horizon=3, max_jobs=3)
PORTS = draw_allocation.instances(max_slots=2, families=["linear", "log", "poly"])


def index(method: str) -> Callable[[SelectionInstance], Optimum]:
    """Return the index of a slot in which every port has a job; spreads are squares of rewards."""
    return lambda instance: selection.index_optimum(
        instance.setting, instance.mean, np.square(instance.mean[::-1]), method=method
    )


def method(oracle: Callable[..., Optimum], name: str) -> Callable[[Any], Optimum]:
    return lambda instance: oracle(instance, method=name)


CASES = {
    **{f"selection {m}": Case(method(selection.clairvoyant, m), CHANNELS, 1e-8) for m in selection.METHODS},
    **{f"index {m}": Case(index(m), CHANNELS, 1e-8) for m in selection.INDEX_METHODS},
    **{
        f"selection-gang {m}": Case(method(selection_gang.gang, m), GANGS, 1e-8)
        for m in selection_gang.METHODS
    },
    **{f"admission {m}": Case(method(admission.offline, m), JOBS, 1e-6) for m in admission.METHODS},
    **{f"allocation {m}": Case(method(allocation.stationary, m), PORTS, 1e-7) for m in allocation.METHODS},
    "allocation dynamic": Case(allocation.dynamic, PORTS, 1e-7),
}


def both(case: Case, data: st.DataObject, factor: float) -> tuple[Optimum, Optimum]:
    """Return the optima of an instance and of the same with other rewards."""
    sampled = data.draw(case.instances)
    if hasattr(sampled, "mean"):  # a multiple of a smaller one might be no normal number
        assume(not ((sampled.mean > 0.0) & (sampled.mean < 1e-9)).any())
    instance = scaled(sampled, SMALL if factor > 1.0 else 1.0)
    return case.oracle(instance), case.oracle(scaled(instance, factor))


@pytest.mark.parametrize("factor", EXACT)
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=6, derandomize=True, database=None)
@given(data=st.data())
def test_rewards_in_another_unit_change_nothing_else(name: str, factor: float, data: st.DataObject) -> None:
    before, after = both(CASES[name], data, factor)
    assert before.bound is not None
    assert (after.value, after.bound) == (factor * before.value, factor * before.bound)
    assert (after.why_stopped, after.gap) == (before.why_stopped, before.gap)
    for one, other in zip(parts(before.decision), parts(after.decision), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("factor", DECIMAL)
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=4, derandomize=True, database=None)
@given(data=st.data())
def test_where_units_round_only_rounding_changes(name: str, factor: float, data: st.DataObject) -> None:
    case = CASES[name]
    before, after = both(case, data, factor)
    assert before.bound is not None
    assert after.bound is not None
    near = case.agree * max(before.bound, before.scale)
    assert after.value / factor == pytest.approx(before.value, abs=near, rel=0)
    assert after.bound / factor == pytest.approx(before.bound, abs=near, rel=0)
    assert after.why_stopped is before.why_stopped


# Where rewards are as small as numbers are.


@pytest.mark.parametrize("scale", [1.0, 1e-10, 1e-300, 1e-307])
@pytest.mark.parametrize("method", admission.METHODS)
def test_two_jobs_of_next_to_no_utility_are_both_done(method: str, scale: float) -> None:
    found = admission.offline(two_jobs(2.0 * scale), method=method)
    assert found.value == pytest.approx(2.0 * scale, rel=1e-12)
    assert found.why_stopped in (WhyStopped.PROVED, WhyStopped.GAP_REACHED)


def two_jobs(priority: float) -> AdmissionInstance:
    """Two jobs that share a machine if they take turns; each earns half of its priority."""
    ones = ("arrival", "minibatches", "minibatch_time", "worker_bandwidth", "server_bandwidth")
    utility = {"priority": priority, "decay": 0, "target": 0}
    needs = {"gradient_size": 0, "worker_demand": [2], "server_demand": [0], "utility": utility}
    job: dict[str, Any] = {**dict.fromkeys(ones, 1), **needs}
    return AdmissionInstance(
        horizon=2,
        resources=["devices"],
        worker_servers=[[4]],
        parameter_servers=[[1]],
        jobs=[{**job, "epochs": 1, "chunks": 2}, {**job, "epochs": 2, "chunks": 1}],
    )


def three_channels(scale: float) -> SelectionInstance:
    """The first channel leaves no room for the two others, which are worth more together."""
    return SelectionInstance(
        edges=[[0, 0], [0, 1], [0, 2]],
        demand=[[3], [2], [2]],
        capacity=[4],
        mean=[scale, 0.6 * scale, 0.6 * scale],
        arrivals=[[1]],
        seed=0,
    )


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-10, 1e-300, 4e-308])
@pytest.mark.parametrize("method", selection.METHODS)
def test_channels_of_next_to_no_worth_are_chosen_as_others_are(method: str, scale: float) -> None:
    late = selection.clairvoyant(three_channels(scale), method=method, time_limit=0.0)
    assert (late.value, late.why_stopped) == (scale, WhyStopped.TIME_LIMIT)
    found = selection.clairvoyant(three_channels(scale), method=method)
    assert found.value == pytest.approx(1.2 * scale, rel=1e-12)
    assert found.why_stopped in (WhyStopped.PROVED, WhyStopped.GAP_REACHED)


def test_channels_worth_little_beside_closed_ones_are_chosen_too() -> None:
    """What a pattern does not let one choose sets no scale."""
    instance = SelectionInstance(
        edges=[[0, 0], [0, 1], [0, 2], [1, 0]],
        demand=[[3], [2], [2], [1]],
        capacity=[4],
        mean=[1e-20, 0.6e-20, 0.6e-20, 1.0],
        arrivals=[[1, 0]],
        seed=0,
    )
    for name in selection.METHODS:
        assert selection.clairvoyant(instance, method=name).value == pytest.approx(1.2e-20, rel=1e-12)


def relaxed(setting: Setting, mean: np.ndarray, arrivals: np.ndarray) -> Fraction:
    """The least over kinds of the best fractional set, in rationals."""
    usable = setting.open(arrivals) & (setting.demand <= setting.capacity).all(axis=1)
    worth = [Fraction(v) if able else Fraction(0) for v, able in zip(mean.tolist(), usable, strict=True)]
    found = []
    for demand, capacity in zip(setting.demand.T.tolist(), setting.capacity.tolist(), strict=True):
        total, left = sum((v for v, d in zip(worth, demand, strict=True) if d == 0), Fraction(0)), capacity
        dense = [(v / d, d) for v, d in zip(worth, demand, strict=True) if d > 0 and v > 0]
        for density, d in sorted(dense, reverse=True):
            total += density * min(d, left)
            left -= min(d, left)
        found.append(total)
    return min(found)


@pytest.mark.parametrize("scale", [1e-300, 1e-308, 5e-324])
def test_relaxations_next_to_zero_are_rounded_up(scale: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        instance = SelectionInstance(
            edges=[[0, r] for r in range(6)],
            demand=rng.integers(1, 2**30, (6, 2)),
            capacity=rng.integers(2**29, 2**31, 2),
            mean=[0.5] * 6,
            arrivals=[[1]],
            seed=0,
        )
        mean = scale * rng.integers(1, 4, 6)
        bound = selection.relaxed_bounds(instance.setting, mean, instance.arrivals)[0]
        exact = relaxed(instance.setting, mean, instance.arrivals[0])
        assert exact <= Fraction(float(bound)) <= exact * (1 + Fraction(1, 10**9)) + Fraction(1e-322)


@settings(max_examples=20, derandomize=True, database=None)
@given(CHANNELS, st.sampled_from([1e-300, 1e-308, 2.0**-1022]))
def test_bounds_of_sets_next_to_zero_are_rounded_up(instance: SelectionInstance, scale: float) -> None:
    mean = np.maximum(instance.mean, 1.0 + instance.mean) * scale
    x, _, bounds = instance.setting.knapsack.best_of_patterns(mean, instance.arrivals)
    for row, bound in zip(x, bounds, strict=True):
        assert Fraction(float(bound)) >= sum((Fraction(v) for v in mean[row].tolist()), Fraction(0))


# The judge.


def test_the_judge_tells_rounding_from_a_gap() -> None:
    budget = Budget(1e-6, None)
    for unit in (1e-300, 1e-10, 1.0, 1e9):
        slack = rounding(10, unit)

        def why(bound: float, unit: float = unit, slack: float = slack) -> WhyStopped:
            return why_stopped(unit, bound, budget, rounding=slack, otherwise=WhyStopped.STALLED)

        assert why(unit + 0.5 * slack) is WhyStopped.PROVED
        assert why(unit * (1.0 + 1e-9)) is WhyStopped.GAP_REACHED
        assert why(unit * 1.01) is WhyStopped.STALLED
        assert why(2.0 * unit) is WhyStopped.STALLED


def test_nothing_is_proved_where_rounding_is_all_there_is() -> None:
    least = 5e-324
    why = why_stopped(
        least, 2.0 * least, Budget(0.1, None), rounding=rounding(10, least), otherwise=WhyStopped.STALLED
    )
    assert why is WhyStopped.STALLED


def test_nothing_is_proved_without_a_bound_and_no_time_is_told_before_the_gap() -> None:
    over = Budget(1e-6, 0.0)
    for bound, why in ((None, WhyStopped.TIME_LIMIT), (2.0, WhyStopped.TIME_LIMIT), (1.0, WhyStopped.PROVED)):
        assert why_stopped(1.0, bound, over, rounding=0.0, otherwise=WhyStopped.STALLED) is why


@pytest.mark.parametrize("oracle", [allocation.stationary, allocation.dynamic])
@pytest.mark.parametrize("unit", [1.0, 1e-10])
def test_where_nothing_pays_the_gap_is_none(oracle: Callable[..., Optimum], unit: float) -> None:
    """Gains below the overhead leave an optimum of 0, and gains equal to it a bound of rounding alone."""
    below, equal = (oracle(one_port(alpha * unit, unit)) for alpha in (0.5, 1.0))
    assert (below.value, below.bound, below.gap, below.why_stopped) == (0.0, 0.0, 0.0, WhyStopped.PROVED)
    assert equal.bound is not None
    assert equal.gap is not None
    assert 0.0 == equal.value < equal.bound < 1e-12 * unit
    assert equal.gap < 1e-7


def one_port(alpha: float, overhead: float, size: float = 1.0, family: str = "linear") -> AllocationInstance:
    return AllocationInstance(
        edges=[[0, 0]],
        demand=[[size]],
        capacity=[[2.0 * size]],
        overhead=[overhead],
        utility_kind=[[family]],
        alpha=[[alpha]],
        arrivals=[[1]],
    )


def test_a_port_that_loses_hides_no_other() -> None:
    """The first port would gain and pay 1e50, and holds nothing; the second earns 1."""
    instance = AllocationInstance(
        edges=[[0, 0], [1, 1]],
        demand=[[1e50], [1.0]],
        capacity=[[1e50], [2.0]],
        overhead=[1.0],
        utility_kind=[["linear"], ["linear"]],
        alpha=[[0.7], [2.0]],
        arrivals=[[1, 1]],
    )
    for name in allocation.METHODS:
        found = allocation.stationary(instance, method=name)
        assert found.value == pytest.approx(1.0, rel=1e-7)
        assert found.why_stopped in (WhyStopped.PROVED, WhyStopped.GAP_REACHED)


@pytest.mark.parametrize("unit", [1.0, 1e-10])
def test_a_gap_that_is_asked_for_is_reached_with_the_rounding_of_the_bound(unit: float) -> None:
    """The method starts in the middle of the box, at half of what there is to earn."""
    found = allocation.stationary(one_port(unit, 0.0), gap=0.5)
    assert found.gap is not None
    assert found.gap <= 0.5
    assert found.why_stopped is WhyStopped.GAP_REACHED


# Resources in another unit.


@pytest.mark.parametrize("size", [1e-40, 1e-9, 1.0, 1e9, 1e40])
def test_limits_count_in_their_own_unit(size: float) -> None:
    setting = one_port(1.0, 0.5, size).setting
    ones = np.ones(1, dtype=np.int64)
    for y, broken in ((1.0, []), (1.5, ["demand"]), (3.0, ["demand", "capacity"]), (-0.5, ["nonnegative"])):
        decision = np.full((1, 1), y * size)
        assert [found.constraint for found in setting.violations(decision)] == broken
        assert setting.evaluate(decision, ones)[1] is not bool(broken)


@pytest.mark.parametrize("step", [1.0, 1e9])
def test_projections_onto_small_capacities_are_feasible(step: float) -> None:
    """Far away, the last digit of the dual variable is much beside a small capacity."""
    setting = AllocationInstance(
        edges=[[p, 0] for p in range(5)],
        demand=[[1e-9]] * 5,
        capacity=[[2.3e-9]],
        overhead=[0.0],
        utility_kind=[["linear"]],
        alpha=[[1.0]],
        arrivals=[[1] * 5],
    ).setting
    away = step * (1.0 + 1e-9 * np.arange(5.0)[:, None] / 7.0)
    assert not setting.violations(setting.project(away))


@pytest.mark.parametrize("family", ["linear", "log", "poly"])
@pytest.mark.parametrize("size", [1e-20, 1.0, 1e9, 1e40])
@pytest.mark.parametrize("reward", [1e-10, 1.0, 1e9, 1e40])
def test_solvers_behind_cvxpy_take_every_scale(family: str, size: float, reward: float) -> None:
    instance = one_port(2.0 * reward, min(1.0, 0.5 * reward), size, family)
    exact = allocation.stationary(instance)
    found = allocation.stationary(instance, method="cvxpy")
    assert exact.bound is not None
    assert found.value == pytest.approx(exact.bound, rel=1e-6)
    assert found.gap is not None
    assert found.gap <= 1e-6


def test_an_answer_that_cvxpy_cannot_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy

    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("Cannot unpack invalid solution\nin many lines")

    monkeypatch.setattr(cvxpy.Problem, "unpack_results", fail)
    with pytest.raises(OracleError, match=r"^HIGHS: Cannot unpack invalid solution$"):
        allocation.stationary(one_port(1.0, 0.5), method="cvxpy")
