"""The exact search in the feasible sets, against enumeration."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant.models.base import InputError
from clairvoyant.models.program import SolverError
from clairvoyant.models.selection import kernels, knapsack
from clairvoyant.models.selection.core import best_prices
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.knapsack import Choice, Knapsack
from clairvoyant.models.selection.program import best_by_program
from clairvoyant.models.selection.setting import Setting

WHOLE = st.integers(0, 4).map(float)
NUMBER = WHOLE | st.floats(0.0, 5.0, allow_subnormal=False).map(lambda v: round(v, 6))


@st.composite
def problems(draw: st.DrawFn, *, most: int = 6) -> dict[str, Any]:
    count, kinds = draw(st.integers(0, most)), draw(st.integers(1, 3))
    entries = st.integers(0, draw(st.sampled_from([2, 5])))
    instance = SelectionInstance(
        edges=[[e % 3, e // 3] for e in range(count)],
        demand=np.array(draw(st.lists(entries, min_size=count * kinds, max_size=count * kinds))).reshape(
            count, kinds
        ),
        capacity=draw(st.lists(st.integers(0, 10), min_size=kinds, max_size=kinds)),
        mean=np.zeros(count),
        arrivals=np.ones((1, 3), dtype=np.int64),
    )

    def numbers() -> np.ndarray:
        return np.array(draw(st.lists(NUMBER, min_size=count, max_size=count)), dtype=np.float64)

    def flags() -> np.ndarray:
        return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool)

    return {
        "setting": instance.setting,
        "values": numbers(),
        "spread": numbers() if draw(st.booleans()) else np.zeros(count),
        "open": flags() if draw(st.booleans()) else np.ones(count, dtype=bool),
        "first": flags() if draw(st.booleans()) else None,
        "guess": flags() if draw(st.booleans()) else None,
        "cap": draw(st.sampled_from([math.inf, math.inf, 2.0])),
    }


def subsets(setting: Setting, allowed: np.ndarray) -> Any:
    every = np.indices((2,) * setting.channels).reshape(setting.channels, 2**setting.channels).T
    fits = np.all(every @ setting.demand <= setting.capacity, axis=1)
    return every[fits & ~every[:, ~allowed].any(axis=1)]


def objective(problem: dict[str, Any], x: np.ndarray) -> tuple[int, float]:
    first = np.zeros(len(x), dtype=bool) if problem["first"] is None else problem["first"]
    others = x * ~first
    line = min(float(problem["values"] @ others), problem["cap"])
    return int(x @ first), line + math.sqrt(float(problem["spread"] @ others))


def solve(problem: dict[str, Any], setting: Setting | None = None, gap: float = 0.0) -> Choice:
    more = {name: problem[name] for name in ("first", "guess", "cap")}
    box = Knapsack(problem["setting"] if setting is None else setting)
    return box.best(problem["values"], problem["spread"], problem["open"], gap=gap, **more)


def check(problem: dict[str, Any], tolerance: float = 1e-9) -> None:
    best = max(objective(problem, x) for x in subsets(problem["setting"], problem["open"]))
    found = solve(problem)
    count, value = objective(problem, found.x.astype(np.int64))
    assert not problem["setting"].violations(found.x)
    assert not found.x[~problem["open"]].any()
    assert count == found.first == best[0]
    assert value == pytest.approx(best[1], abs=1e-9)
    assert found.value == pytest.approx(value, abs=1e-9)
    assert best[1] <= found.bound <= found.value + tolerance


@settings(deadline=None, max_examples=60)
@given(problems())
def test_the_best_set_is_that_of_enumeration(problem: dict[str, Any]) -> None:
    check(problem)


@pytest.mark.parametrize("size", [512, 128, 1])
def test_lumped_tables_give_the_same_optimum(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack, "TABLE_BYTES", size)

    @settings(deadline=None, max_examples=40)
    @given(problems())
    def inner(problem: dict[str, Any]) -> None:
        check(problem)

    inner()


@pytest.mark.parametrize(("tables", "nodes"), [(1, 1), (1, 2**13), (4, 1)])
def test_every_way_to_branch_gives_the_same_optimum(
    tables: int, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knapsack, "TABLES", tables)
    monkeypatch.setattr(knapsack, "MOST_NODES", nodes)
    monkeypatch.setattr(knapsack, "CHUNK", nodes)

    @settings(deadline=None, max_examples=40)
    @given(problems())
    def inner(problem: dict[str, Any]) -> None:
        check(problem)

    inner()


@pytest.mark.parametrize("core", [1, 3])
def test_what_prices_decide_beforehand_costs_nothing(core: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack, "SMALL_TABLE", 0)
    monkeypatch.setattr(knapsack, "CORE", core)

    @settings(deadline=None, max_examples=80)
    @given(problems(most=9))
    def inner(problem: dict[str, Any]) -> None:
        check(problem)

    inner()


@pytest.mark.parametrize("small", [0, knapsack.SMALL_TABLE])
def test_numbers_of_any_size_have_a_bound(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack, "SMALL_TABLE", small)
    monkeypatch.setattr(knapsack, "CORE", 2)
    sizes = st.sampled_from([5e-324, 1e-322, 1e-308, 1e-200, 1e-165, 1e-40, 1e-17, 1.0, 1e80, 1e140])

    @settings(deadline=None, max_examples=150)
    @given(problems(), st.lists(sizes, min_size=12, max_size=12))
    def inner(problem: dict[str, Any], scales: list[float]) -> None:
        count = problem["setting"].channels
        values, spread = (
            np.where(problem[name] > 0.0, problem[name] * scale, 0.0)
            for name, scale in (("values", scales[:count]), ("spread", scales[6 : 6 + count]))
        )
        problem |= {"values": values, "spread": spread, "cap": math.inf}
        best = max(objective(problem, x) for x in subsets(problem["setting"], problem["open"]))
        found = solve(problem)
        reached = objective(problem, found.x.astype(np.int64))
        gross = float(values.sum()) + math.sqrt(float(spread.sum()))
        assert found.first == reached[0] == best[0]
        assert best[1] * (1.0 - 1e-15) <= found.bound <= found.value + 1e-9 * gross + 1e-161
        assert reached[1] >= best[1] - 1e-9 * gross

    inner()


def test_what_bonuses_hide_is_in_the_bound() -> None:
    setting = SelectionInstance(
        edges=[[0, e] for e in range(3)],
        demand=[[1], [2], [1]],
        capacity=[2],
        mean=[0.0] * 3,
        arrivals=[[1]],
    ).setting  # beside the last one the first fits, whose value is less than rounding of the other's
    first = np.array([False, False, True])
    for values, spread in (([1e-17, 1.0, 0.0], np.zeros(3)), (np.zeros(3), [1e-17, 1.0, 0.0])):
        found = setting.knapsack.best(values, spread, first=first)
        assert found.first == 1
        assert found.bound >= max(1e-17, math.sqrt(spread[0]))


def test_the_root_of_the_least_number_counts() -> None:
    setting = SelectionInstance(
        edges=[[0, 0]], demand=[[1]], capacity=[1], mean=[0.0], arrivals=[[1]]
    ).setting
    found = setting.knapsack.best([0.0], [5e-324])
    assert found.x.tolist() == [True]
    assert math.sqrt(5e-324) == found.value <= found.bound


def test_few_channels_are_not_enough_for_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    for seed in range(30):
        setting = cv.generate("selection", seed=seed, slots=0).setting
        values, spread = rng.random(setting.channels), rng.random(setting.channels)
        whole = setting.knapsack.best(values, spread)
        with monkeypatch.context() as patch:
            patch.setattr(knapsack, "SMALL_TABLE", 0)
            patch.setattr(knapsack, "CORE", 1)
            found = setting.knapsack.best(values, spread)
            near = setting.knapsack.best(values, spread, gap=2e-3)
        assert whole.value * (1.0 - 1e-12) <= near.bound <= 1.002 * near.value * (1.0 + 1e-12)
        assert found.value == pytest.approx(whole.value, rel=1e-9)
        assert whole.value * (1.0 - 1e-12) <= found.bound <= whole.value * (1.0 + 1e-9)


@pytest.mark.parametrize("small", [0, 2**20])
def test_a_search_with_a_gap_says_what_it_may_have_missed(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knapsack, "SMALL_TABLE", small)
    monkeypatch.setattr(knapsack, "CORE", 1)

    @settings(deadline=None, max_examples=60)
    @given(problems(most=9), st.sampled_from([0.03, 0.1, 0.2]))
    def inner(problem: dict[str, Any], gap: float) -> None:
        best = max(objective(problem, x) for x in subsets(problem["setting"], problem["open"]))
        found = solve(problem, gap=gap)
        assert not problem["setting"].violations(found.x)
        assert objective(problem, found.x.astype(np.int64)) == pytest.approx((best[0], found.value), abs=1e-9)
        assert found.value <= best[1] + 1e-9
        assert best[1] <= found.bound <= (1.0 + gap) * found.value + 1e-9

    inner()


@settings(deadline=None, max_examples=40)
@given(problems(most=8), st.booleans())
def test_reduced_values_say_what_differing_from_them_costs(problem: dict[str, Any], whole: bool) -> None:
    setting, first = problem["setting"], problem["first"]
    fits = setting.knapsack.fits
    first = np.zeros(len(fits), dtype=bool) if first is None or whole else first
    v, q = np.where(first, 0.0, problem["values"]), np.where(first, 0.0, problem["spread"])
    if whole:
        v, q = np.floor(v), 0.0 * q
    sets = subsets(setting, fits)
    goal = int((sets @ first).max(initial=0))
    found = best_prices(v[fits], q[fits], setting.demand[fits], setting.capacity, first[fits], goal)
    for x in sets[sets @ first == goal]:
        against = (x[fits] > 0) != (found.reduced > 0.0)
        cost = abs(found.reduced[against]).sum()
        assert v @ x + math.sqrt(q @ x) <= found.beyond(cost) + 1e-9


def test_a_channel_that_as_many_others_exceed_as_fit_is_not_needed() -> None:
    values = np.array([3.0, 1.0, 2.0, 2.0, 0.5])
    nothing, demand = np.zeros(5), np.array([[2], [2], [2], [2], [1]])
    for capacity, second in ((5, True), (4, False)):  # with the second, at most 4 and 3 are in a set
        kept = kernels.undominated(values, nothing, nothing > 0.0, demand, np.array([capacity]))
        assert kept.tolist() == [True, second, True, True, True]


@pytest.mark.parametrize("small", [0, 2**20])
def test_of_equal_sets_the_guess_stays(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack, "SMALL_TABLE", small)
    edges = [[0, e] for e in range(4)]
    setting = SelectionInstance(
        edges=edges, demand=[[1]] * 4, capacity=[2], mean=[0] * 4, arrivals=[[1]]
    ).setting
    guess = np.array([False, True, False, True])
    assert setting.knapsack.best([0.5] * 4, [0.1] * 4, guess=guess).x.tolist() == guess.tolist()


def test_a_thousand_channels_are_searched_exactly() -> None:
    """HiGHS proves the same by tangents."""
    rng = np.random.default_rng(7)
    setting = cv.generate("selection", ports=50, servers=200, capacity=24, seed=2, slots=1).setting
    assert setting.channels > 900
    values, spread = rng.uniform(0.1, 0.5, setting.channels), rng.uniform(0.1, 2.0, setting.channels)
    found = setting.knapsack.best(values, spread)
    none = np.zeros(setting.channels)
    x, bound = best_by_program(setting, values, spread, none, 0, 1.0)
    assert not setting.violations(found.x)
    assert found.value == pytest.approx(values @ x + math.sqrt(spread @ x), rel=1e-9)
    assert found.value <= found.bound <= found.value * (1 + 1e-9)
    assert bound >= found.value - 1e-9


@settings(deadline=None, max_examples=40)
@given(problems(), st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), max_size=6))
def test_all_patterns_at_once_are_the_patterns_one_by_one(
    problem: dict[str, Any], rows: list[list[int]]
) -> None:
    setting, patterns = problem["setting"], np.array(rows, dtype=np.int64).reshape(-1, 3)
    x, values, bounds = setting.knapsack.best_of_patterns(problem["values"], patterns)
    assert x.shape == (len(patterns), setting.channels)
    for row, arrivals in enumerate(patterns):
        allowed = setting.open(arrivals)
        best = max(float(problem["values"] @ s) for s in subsets(setting, allowed))
        assert not setting.violations(x[row], arrivals)
        assert values[row] == pytest.approx(best, abs=1e-12)
        assert best <= bounds[row] <= values[row] + 1e-9


@settings(deadline=None, max_examples=40)
@given(problems(), st.floats(1e-3, 1e3))
def test_every_multiplier_gives_a_bound(problem: dict[str, Any], lam: float) -> None:
    problem |= {"first": None, "cap": math.inf}
    surrogate = {**problem, "values": problem["values"] + problem["spread"] / (2 * lam)}
    bound = solve({**surrogate, "spread": np.zeros_like(problem["spread"])}).bound + lam / 2
    assert solve(problem).value <= bound + 1e-9


@settings(deadline=None, max_examples=40)
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_channels_does_not_matter(problem: dict[str, Any], random: Any) -> None:
    s = problem["setting"]
    order = list(range(s.channels))
    random.shuffle(order)
    other = {k: v[order] if isinstance(v, np.ndarray) else v for k, v in problem.items()}
    shuffled = Setting(s.edges, s.demand[order], s.capacity, s.cost, s.ports, s.slots)
    ours, theirs = solve(problem), solve(other, shuffled)
    assert (ours.first, ours.value) == pytest.approx((theirs.first, theirs.value), abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(problems(), st.integers(0, 2))
def test_more_capacity_is_never_worse(problem: dict[str, Any], more: int) -> None:
    problem |= {"first": None}
    s = problem["setting"]
    larger = Setting(s.edges, s.demand, s.capacity + more, s.cost, s.ports, s.slots)
    assert solve(problem, larger).bound >= solve(problem).value - 1e-9


def test_many_equal_channels_are_no_trouble() -> None:
    count = 60
    instance = SelectionInstance(
        edges=[[0, r] for r in range(count)],
        demand=np.ones((count, 2), dtype=np.int64),
        capacity=[20, 25],
        mean=np.full(count, 0.5),
        arrivals=[[1]],
    )
    setting = instance.setting
    untried = np.arange(count) < 15
    found = setting.knapsack.best(np.full(count, 0.5), np.full(count, 0.25), first=untried)
    assert found.first == 15
    assert found.value == pytest.approx(5 * 0.5 + math.sqrt(5 * 0.25))
    assert setting.most_channels == 20


def test_huge_capacities_and_demands_are_searched_exactly() -> None:
    rng = np.random.default_rng(5)
    count = 14
    demand = rng.integers(10**5, 10**6, (count, 3))
    instance = SelectionInstance(
        edges=[[e % 2, e] for e in range(count)],
        demand=demand,
        capacity=[3_000_003, 2_900_017, 3_100_001],
        mean=rng.random(count),
        arrivals=[[1, 1]],
    )
    setting = instance.setting
    assert not setting.knapsack.exact
    assert setting.knapsack.table_bytes > 10**18
    values, spread = rng.random(count), rng.random(count)
    every = np.array(list(itertools.product((0, 1), repeat=count)))
    every = every[(every @ setting.demand <= setting.capacity).all(axis=1)]
    best = (every @ values + np.sqrt(every @ spread)).max()
    assert setting.knapsack.best(values, spread).value == pytest.approx(best, abs=1e-9)
    with pytest.raises(InputError, match=r"capacity: the table would take [\d,]+ bytes"):
        setting.knapsack.best_of_patterns(values, np.ones((1, 2)))


@pytest.mark.parametrize("lumped", [True, False])
def test_a_stopped_search_keeps_an_honest_interval(lumped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack, "TABLES", 1)
    monkeypatch.setattr(knapsack, "MOST_NODES", 1)
    monkeypatch.setattr(knapsack, "CHUNK", 1)
    if lumped:
        monkeypatch.setattr(knapsack, "TABLE_BYTES", 2**18)
    instance = cv.generate("selection", seed=4)
    rng = np.random.default_rng(0)
    setting = instance.setting
    values, spread = rng.random(setting.channels), rng.random(setting.channels)
    stopped = Knapsack(setting).best(values, spread, stop=lambda: True)
    whole = Knapsack(setting).best(values, spread)
    assert stopped.nodes <= 1 < whole.nodes
    assert stopped.value <= whole.value <= stopped.bound
    assert not setting.violations(stopped.x)


def huge(count: int, kinds: int) -> Setting:
    rng = np.random.default_rng(0)
    return SelectionInstance(
        edges=[[e % 2, e] for e in range(count)],
        demand=rng.integers(10**8, 2 * 10**8, (count, kinds)),
        capacity=[2 * 10**9] * kinds,
        mean=np.zeros(count),
        arrivals=[[1, 1]],
    ).setting


def test_where_lumped_tables_bound_badly_programs_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = huge(100, 5)
    monkeypatch.setattr(knapsack, "LONG_SEARCH", 2**13)
    assert not setting.knapsack.exact
    assert setting.most_channels == 15
    found = setting.knapsack.best(np.ones(100), np.full(100, 0.25))
    assert not setting.violations(found.x)
    assert found.value == pytest.approx(15 + math.sqrt(0.25 * 15))
    assert found.value <= found.bound <= 1.02 * found.value  # the proof is cut off


def test_programs_give_the_optimum_of_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack, "TABLE_BYTES", 1)
    monkeypatch.setattr(knapsack, "TABLES", 1)
    monkeypatch.setattr(knapsack, "CHUNK", 1)
    monkeypatch.setattr(knapsack, "LONG_SEARCH", 1)

    @settings(deadline=None, max_examples=25)
    @given(problems())
    def inner(problem: dict[str, Any]) -> None:
        check(problem, 1e-7)

    inner()


def test_more_kinds_than_an_array_has_dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack, "TABLE_BYTES", 2**20)
    demand = np.array([[2] * 70, [1] * 70, [2] * 69 + [1]])
    setting = SelectionInstance(
        edges=[[0, 0], [0, 1], [0, 2]], demand=demand, capacity=[3] * 70, mean=[0] * 3, arrivals=[[1]]
    ).setting
    assert setting.most_channels == 2
    assert setting.knapsack.best([1.0, 0.5, 1.25]).value == 1.75


def test_a_number_of_channels_that_is_not_proved_is_refused() -> None:
    found = Choice(np.ones(3, dtype=bool), 3.0, 3.0 + 1e-9, 0, (0.0,), 0)
    assert found.count == 3
    with pytest.raises(SolverError, match=r"the most channels at once are 3 to 4\.2: not proved"):
        _ = replace(found, bound=4.2).count


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0], r"values: shape \(1,\) does not fit, expected \(2,\)"),
        ([1.0, -0.5], r"values\[1\]: -0.5 is not a finite number of at least 0"),
        ([np.nan, 1.0], r"values\[0\]: nan is not"),
        ([np.inf, 1.0], r"values\[0\]: inf is not"),
    ],
)
def test_bad_values_are_refused(values: list[float], message: str) -> None:
    instance = SelectionInstance(
        edges=[[0, 0], [0, 1]], demand=[[1], [1]], capacity=[1], mean=[0, 0], arrivals=[[1]]
    )
    with pytest.raises(InputError, match=message):
        instance.setting.knapsack.best(values)
    with pytest.raises(InputError, match=message):
        instance.setting.knapsack.best_of_patterns(values, np.ones((1, 1)))


def test_knapsacks_hold_nothing_that_can_be_written_to() -> None:
    box = cv.generate("selection", size="tiny").setting.knapsack
    arrays = [value for value in vars(box).values() if isinstance(value, np.ndarray)]
    assert len(arrays) >= 5
    assert not any(array.flags.writeable for array in arrays)
