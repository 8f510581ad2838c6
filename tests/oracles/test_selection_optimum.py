"""Oracles of selection: three solvers and enumeration agree, bounds hold, and no answer goes unchecked."""

import math
import signal
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import clairvoyant as cv
from clairvoyant import api, problems
from clairvoyant.models.base import InputError
from clairvoyant.models.program import PyomoProgram, Solved, SolverError
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.knapsack import Choice, Knapsack
from clairvoyant.models.selection.program import index_program
from clairvoyant.models.selection.setting import Setting
from clairvoyant.online.play import Replay, play
from clairvoyant.oracles.base import Budget, OracleError, WhyStopped
from clairvoyant.oracles.selection import optimum as selection
from clairvoyant.oracles.selection.optimum import clairvoyant, index_bound, index_optimum, relaxed_bounds
from clairvoyant.testing.selection import instances

METHODS = ("dp", "highs", "cp-sat")
WEIGHTS = st.sampled_from([0.0, 1.0, 0.25]) | st.floats(0.0, 2.0, allow_subnormal=False)
LAMBDAS = st.floats(1e-3, 1e3)


def made(
    seed: int = 0, *, channels: int = 24, capacity: int = 10, slots: int = 40, chance: float = 0.6
) -> SelectionInstance:
    rng = np.random.default_rng(seed)
    return SelectionInstance(
        edges=[(e % 4, e // 4) for e in range(channels)],
        demand=rng.integers(1, 3, (channels, 3)),
        capacity=[capacity] * 3,
        mean=rng.random(channels),
        arrivals=(rng.random((slots, 4)) < chance).astype(int),
    )


def huge(slots: int = 3, channels: int = 12) -> SelectionInstance:
    """Demands without a common divisor and capacities of a hundred million: no table holds them."""
    rng = np.random.default_rng(7)
    return SelectionInstance(
        edges=[(e % 4, e // 4) for e in range(channels)],
        demand=rng.integers(10_000_000, 60_000_000, (channels, 2)),
        capacity=[150_000_001, 170_000_003],
        mean=rng.random(channels),
        arrivals=np.ones((slots, 4), dtype=int),
    )


def sets(setting: Setting, arrivals: np.ndarray) -> list[np.ndarray]:
    everything = (np.array(bits, dtype=bool) for bits in product([0, 1], repeat=setting.channels))
    return [x for x in everything if not setting.violations(x, arrivals)]


def index_of(x: np.ndarray, v: np.ndarray, q: np.ndarray) -> float:
    return float(v @ x + math.sqrt(q @ x))


@given(instances(max_slots=3, max_channels=7))
@hypothesis_settings(max_examples=25, deadline=None)
def test_three_solvers_agree_with_enumeration(instance: SelectionInstance) -> None:
    setting = instance.setting
    best = sum(max(float(instance.mean @ x) for x in sets(setting, a)) for a in instance.arrivals)
    for method in METHODS:
        optimum = clairvoyant(instance, method=method)
        assert optimum.value == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert optimum.bound is not None
        assert best <= optimum.bound + 1e-12
        assert optimum.gap is not None
        assert optimum.gap <= 1e-8
        assert optimum.why_stopped in (WhyStopped.PROVED, WhyStopped.GAP_REACHED)
        assert not instance.violations(optimum.decision)


@pytest.mark.parametrize("method", METHODS)
def test_playing_the_decision_gives_the_value(method: str) -> None:
    instance = made(slots=12)
    optimum = clairvoyant(instance, method=method)
    run = play(Replay(optimum.decision, "selection"), instance)
    assert run.total == pytest.approx(optimum.value, rel=1e-14)
    assert run.infeasible == 0


def test_solvers_agree_on_a_larger_instance() -> None:
    instance = made(1, slots=30)
    found = [clairvoyant(instance, method=method) for method in METHODS]
    assert [o.value for o in found[1:]] == pytest.approx([found[0].value] * 2, rel=1e-10)
    assert found[0].why_stopped is WhyStopped.PROVED
    words = [o.method.split(",")[0] for o in found]
    assert words == ["dynamic program over capacities", "HiGHS through Pyomo", "CP-SAT"]


def test_the_certificate_adds_up() -> None:
    instance = made()
    optimum = clairvoyant(instance)
    held = optimum.certificate
    np.testing.assert_array_equal(held.patterns[held.index], instance.arrivals)
    np.testing.assert_array_equal(held.x[held.index], optimum.decision)
    assert len(held.patterns) < instance.setting.slots
    value, bound = held.per_slot.sum(axis=0)
    assert value == pytest.approx(optimum.value, rel=1e-13)
    assert bound == pytest.approx(optimum.bound, rel=1e-11)
    assert (held.pattern_bound >= held.pattern_value).all()
    with pytest.raises(ValueError, match="read-only"):
        optimum.decision[0, 0] = True


def test_no_capacity_no_jobs_and_no_slots_are_worth_nothing() -> None:
    some = made(slots=3)
    cases: dict[str, dict[str, Any]] = {
        "no channels": {"edges": [], "demand": np.zeros((0, 3)), "mean": [], "cost": []},
        "no capacity": {"capacity": [0, 0, 0]},
        "no jobs": {"arrivals": 0 * some.arrivals},
        "no slots": {"arrivals": np.zeros((0, 4)), "ports": 4},
        "no utility": {"mean": 0 * some.mean},
    }
    for change in cases.values():
        instance = SelectionInstance.from_dict(some.to_dict() | change)
        for method in METHODS:
            optimum = clairvoyant(instance, method=method)
            assert (optimum.value, optimum.gap) == (0.0, 0.0)
            assert optimum.decision.shape == (instance.setting.slots, instance.setting.channels)


def test_channels_that_need_nothing_are_all_taken() -> None:
    instance = SelectionInstance.from_dict(made(slots=3).to_dict() | {"demand": np.zeros((24, 3))})
    for method in METHODS:
        decision = clairvoyant(instance, method=method).decision
        np.testing.assert_array_equal(decision, instance.arrivals[:, instance.setting.port] > 0)


@given(st.data())
@hypothesis_settings(max_examples=25, deadline=None)
def test_more_capacity_and_more_jobs_are_worth_no_less(data: st.DataObject) -> None:
    instance = data.draw(instances(min_slots=1))
    value = clairvoyant(instance).value
    setting = instance.setting
    more = data.draw(arrays(np.int64, setting.kinds, elements=st.integers(0, 3)))
    roomy = SelectionInstance.from_dict(instance.to_dict() | {"capacity": setting.capacity + more})
    assert clairvoyant(roomy).value >= value - 1e-12
    busy = instance.with_arrivals(np.ones_like(instance.arrivals))
    assert clairvoyant(busy).value >= value - 1e-12


@given(st.permutations(range(4)), st.permutations(range(12)), st.integers(0, 5))
@hypothesis_settings(max_examples=15, deadline=None)
def test_names_of_ports_and_order_of_channels_do_not_matter(
    ports: list[int], channels: list[int], seed: int
) -> None:
    plain = made(seed, channels=12, capacity=6, slots=8)
    s = plain.setting
    other = SelectionInstance(
        edges=np.column_stack([np.array(ports)[s.edges[:, 0]], s.edges[:, 1]])[channels],
        demand=s.demand[channels],
        capacity=s.capacity,
        mean=plain.mean[channels],
        arrivals=plain.arrivals[:, np.argsort(ports)],
    )
    assert clairvoyant(other).value == pytest.approx(clairvoyant(plain).value, rel=1e-12)


def test_capacities_beyond_every_table_go_to_highs_and_say_so() -> None:
    instance = huge()
    optimum = clairvoyant(instance)
    size = "the table of the dynamic program would take 2.3 EiB"
    assert optimum.method == f"HiGHS ({size}), once per arrival pattern"
    best = max(float(instance.mean @ x) for x in sets(instance.setting, np.ones(4)))
    assert optimum.value == pytest.approx(3 * best, rel=1e-9)
    assert clairvoyant(instance, method="cp-sat").value == pytest.approx(optimum.value, rel=1e-9)


def test_sizes_are_told_in_units_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = made().setting
    for size, text in ((100, "100.0 B"), (3 * 2**40 + 2**38, "3.2 TiB"), (2**90, "1.1e+09 EiB")):
        monkeypatch.setattr(setting.knapsack, "table_bytes", size)
        assert selection.table_size(setting) == text


@pytest.mark.parametrize("method", METHODS)
def test_without_time_there_is_an_honest_interval(method: str) -> None:
    instance = made()
    whole = clairvoyant(instance)
    cut = clairvoyant(instance, method=method, time_limit=0.0)
    assert cut.why_stopped is WhyStopped.TIME_LIMIT
    assert cut.bound is not None
    assert 0.5 * whole.value < cut.value <= whole.value * (1 + 1e-12)
    assert whole.value <= cut.bound < 1.5 * whole.value
    assert not instance.violations(cut.decision)


class Clock(Budget):
    """Time that is up after a number of looks at it."""

    looks = 2

    @property
    def over(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("method", METHODS)
def test_patterns_that_time_does_not_reach_are_bounded(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "Budget", Clock)
    monkeypatch.setattr(selection, "CHUNK_BYTES", 1)
    instance = made()
    optimum = clairvoyant(instance, method=method, time_limit=1e9)
    held = optimum.certificate
    closed = held.pattern_bound - held.pattern_value < 1e-6
    assert 2 <= closed.sum() < len(closed)
    assert closed[np.bincount(held.index).argmax()]
    assert optimum.why_stopped is WhyStopped.TIME_LIMIT
    whole = clairvoyant(instance, method="dp").certificate
    assert (held.pattern_bound >= whole.pattern_value).all()


def test_a_solver_that_runs_out_of_time_leaves_the_greedy_set() -> None:
    instance = made(channels=100, capacity=60, slots=1, chance=1.0)
    for method in ("highs", "cp-sat"):
        cut = clairvoyant(instance, method=method, time_limit=1e-3)
        assert cut.bound is not None
        assert 0.0 < cut.value <= cut.bound


@given(instances(min_slots=1, max_slots=4))
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_relaxation_bounds_the_optimum(instance: SelectionInstance) -> None:
    bounds = relaxed_bounds(instance.setting, instance.mean, instance.arrivals)
    assert (bounds >= clairvoyant(instance).certificate.per_slot[:, 0]).all()


def test_progress_is_told() -> None:
    told: list[tuple[float, str]] = []
    clairvoyant(made(), progress=lambda done, text: told.append((done, text)))
    assert told[-1][0] == 1.0
    assert told[-1][1].endswith("arrival patterns")
    told.clear()
    setting = made().setting
    for method in selection.INDEX_METHODS:
        weights = np.linspace(0, 1, 24)
        index_optimum(
            setting, weights, weights, method=method, progress=lambda done, text: told.append((done, text))
        )
    assert told[0] == (0.0, "tables and search")
    assert told[-1][0] == 1.0


# The index.


@given(st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_index_agrees_with_enumeration(data: st.DataObject) -> None:
    instance = data.draw(instances(min_slots=1, max_slots=1, max_channels=7))
    setting, arrivals = instance.setting, instance.arrivals[0]
    v, q = (data.draw(arrays(float, setting.channels, elements=WEIGHTS)) for _ in range(2))
    best = max(index_of(x, v, q) for x in sets(setting, arrivals))
    optimum = index_optimum(setting, v, q, arrivals)
    assert optimum.value == pytest.approx(best, rel=1e-10, abs=1e-10)
    assert optimum.bound is not None
    assert optimum.bound >= best * (1 - 1e-14)
    assert optimum.why_stopped is WhyStopped.PROVED
    assert not setting.violations(optimum.decision, arrivals)
    assert index_bound(setting, v, q, arrivals, data.draw(LAMBDAS)) >= best


@given(st.data())
@hypothesis_settings(max_examples=12, deadline=None)
def test_the_outer_approximation_finds_the_same_index(data: st.DataObject) -> None:
    instance = data.draw(instances(min_slots=1, max_slots=1, min_channels=1, max_channels=7))
    setting, arrivals = instance.setting, instance.arrivals[0]
    v, q = (data.draw(arrays(float, setting.channels, elements=WEIGHTS)) for _ in range(2))
    assume(not ((q > 0) & (q < 1e-6)).any())
    best = max(index_of(x, v, q) for x in sets(setting, arrivals))
    optimum = index_optimum(setting, v, q, arrivals, method="highs")
    assert optimum.value == pytest.approx(best, rel=1e-8, abs=1e-8)
    assert optimum.bound is not None
    assert optimum.bound >= best * (1 - 1e-14)
    assert optimum.gap is not None
    assert optimum.gap <= 1e-8


def test_a_program_that_highs_presolves_wrongly_is_solved() -> None:
    # HiGHS 1.14 with presolve calls 0.707 the optimum of the exported program; the optimum is 1.
    instance = SelectionInstance(
        edges=[(p, r) for p in range(2) for r in range(3)],
        demand=[[3, 1], [2, 1], [3, 1], [2, 1], [3, 3], [2, 0]],
        capacity=[2, 5],
        mean=np.zeros(6),
        arrivals=[[1, 1]],
    )
    v, q = [0, 0, 0, 0, 0, 1], [0, 0, 0, 0.5, 0, 0]
    optimum = index_optimum(instance.setting, v, q, method="highs")
    assert optimum.value == 1.0
    assert optimum.gap is not None
    assert optimum.gap <= 1e-8


def test_tiny_variances_are_bounded_from_above() -> None:
    setting = made().setting
    v, q = np.linspace(0, 1, 24), np.geomspace(1e-30, 1, 24)
    found = [index_optimum(setting, v, q, method=method) for method in selection.INDEX_METHODS]
    assert found[1].value == pytest.approx(found[0].value, rel=1e-8)
    assert found[1].bound is not None
    assert found[0].value <= found[1].bound <= found[0].value * (1 + 1e-5)


@pytest.mark.parametrize("method", selection.INDEX_METHODS)
def test_the_certificate_of_an_index_can_be_computed_again(method: str) -> None:
    rng = np.random.default_rng(2)
    setting, arrivals = made().setting, np.array([1, 1, 0, 1])
    v, q = rng.random(24), rng.random(24)
    optimum = index_optimum(setting, v, q, arrivals, method=method)
    held = optimum.certificate
    assert optimum.bound is not None
    for lam, bound in zip(held.lambdas, held.bounds, strict=True):
        assert index_bound(setting, v, q, arrivals, lam) == bound >= optimum.bound
    outer = index_program(setting, v, q, arrivals, held.lambdas).solve()
    assert outer.value is not None
    assert outer.value >= optimum.value - 1e-6
    if method == "highs":
        assert outer.value == pytest.approx(optimum.value, rel=1e-6)


def test_a_best_multiplier_is_the_root_of_the_optimums_variance() -> None:
    # Without conflicts between channels the bound at lambda = sqrt(q.x) is the optimum itself.
    setting = made(capacity=1000).setting
    v, q = np.linspace(0, 1, 24), np.linspace(1, 0, 24)
    optimum = index_optimum(setting, v, q)
    assert optimum.decision.all()
    assert index_bound(setting, v, q, None, math.sqrt(q.sum())) == pytest.approx(optimum.value, rel=1e-10)


@pytest.mark.parametrize("method", selection.INDEX_METHODS)
def test_an_index_without_time_has_an_honest_interval(method: str) -> None:
    instance = made(channels=60, capacity=20)
    rng = np.random.default_rng(0)
    v, q = rng.random(60), 5.0 * rng.random(60)
    whole = index_optimum(instance.setting, v, q)
    cut = index_optimum(instance.setting, v, q, method=method, time_limit=0.0)
    assert cut.bound is not None
    assert 0.0 < cut.value <= whole.value * (1 + 1e-12)
    assert whole.value * (1 - 1e-12) <= cut.bound < 2.0 * whole.value
    if method == "highs":
        assert cut.why_stopped is WhyStopped.TIME_LIMIT


@pytest.mark.parametrize("method", selection.INDEX_METHODS)
def test_an_index_where_nothing_can_be_chosen_is_zero(method: str) -> None:
    setting = made(capacity=0).setting
    optimum = index_optimum(setting, np.ones(24), np.ones(24), method=method)
    assert (optimum.value, optimum.why_stopped) == (0.0, WhyStopped.PROVED)
    assert not optimum.decision.any()


# What is refused, and what is not believed.


def test_bad_input_is_refused_by_name() -> None:
    instance = made(slots=2)
    setting, ones = instance.setting, np.ones(24)
    cases: list[tuple[Any, str]] = [
        (lambda: clairvoyant(instance, method="lp"), "method: 'lp' is not one of dp, highs, cp-sat"),
        (lambda: clairvoyant(instance, gap=-1.0), "gap: -1.0 is not"),
        (lambda: clairvoyant(instance, time_limit=-1.0), "time_limit: -1.0 is not"),
        (lambda: index_optimum(setting, ones, ones, method="dp"), "method: 'dp' is not one of search, highs"),
        (lambda: index_optimum(setting, -ones, ones), r"v\[0\]: -1 is not a finite number of at least 0"),
        (lambda: index_optimum(setting, ones, ones[:3]), "q: shape 3 does not fit, expected 24"),
        (lambda: index_optimum(setting, ones, math.inf * ones), r"q\[0\]: inf is not a finite number"),
        (lambda: index_optimum(setting, ones, ones, [1, 0, 1, 3]), r"arrivals\[3\]: 3 is not a whole"),
        (lambda: index_bound(setting, ones, ones, None, 0.0), "lambda: 0.0 is not positive"),
        (lambda: index_bound(setting, ones, ones, None, 2.3e-308), "lambda: 2.3e-308 is too small"),
    ]
    for call, message in cases:
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.parametrize(
    ("sets_", "bound", "message"),
    [
        (lambda x: x | True, 1e9, r"pattern \d takes \d+ of 10 devices \[0\]"),
        (lambda x: x, -1.0, r"the bound .* of pattern \d is below the value"),
    ],
)
def test_a_wrong_table_is_an_error(
    monkeypatch: pytest.MonkeyPatch, sets_: Any, bound: float, message: str
) -> None:
    def wrong(_self: Knapsack, values: Any, patterns: Any) -> Any:
        x = np.zeros((len(patterns), len(values)), dtype=bool)
        return sets_(x), np.zeros(len(patterns)), np.full(len(patterns), bound)

    monkeypatch.setattr(Knapsack, "best_of_patterns", wrong)
    with pytest.raises(OracleError, match=message):
        clairvoyant(made())


def test_a_set_of_closed_ports_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_self: Knapsack, v: np.ndarray, *_: Any, **__: Any) -> Choice:
        x = np.zeros(len(v), dtype=bool)
        x[-1] = True
        return Choice(x, 1.0, 9.0, 0, (), 0)

    monkeypatch.setattr(Knapsack, "best", wrong)
    with pytest.raises(OracleError, match="takes channel 23, whose port has no job"):
        index_optimum(made().setting, np.ones(24), np.ones(24), [1, 1, 1, 0])


def test_a_status_that_is_not_known_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PyomoProgram, "solve", lambda *_, **__: Solved("provenInfeasible", None, {}))
    with pytest.raises(
        OracleError, match="HiGHS: status 'provenInfeasible' for a program that has an optimum"
    ):
        clairvoyant(made(), method="highs")

    def fail(*_: Any, **__: Any) -> Solved:
        raise SolverError("broken")

    monkeypatch.setattr(PyomoProgram, "solve", fail)
    with pytest.raises(OracleError, match="broken"):
        index_optimum(made().setting, np.ones(24), np.ones(24), method="highs")
    from ortools.sat.python import cp_model

    monkeypatch.setattr(cp_model.CpSolver, "solve", lambda *_: cp_model.INFEASIBLE)
    monkeypatch.setattr(cp_model.CpSolver, "status_name", lambda *_: "INFEASIBLE")
    with pytest.raises(OracleError, match="CP-SAT: status INFEASIBLE for a program that has an optimum"):
        clairvoyant(made(), method="cp-sat")


@pytest.mark.parametrize("value", [1e-3, 1.0, 24.0])
def test_what_a_solver_takes_too_much_is_left_out_and_its_word_proves_nothing(
    value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = made(slots=1, chance=1.0)
    best, index = clairvoyant(instance), index_optimum(instance.setting, instance.mean, np.ones(24))
    said = Solved("convergenceCriteriaSatisfied", value, {"x": np.ones(24)}, bound=value)
    monkeypatch.setattr(PyomoProgram, "solve", lambda *_, **__: said)
    found = clairvoyant(instance, method="highs")
    assert not instance.violations(found.decision)
    assert found.bound is not None
    assert 0.0 < found.value <= best.value <= found.bound
    if value < 24.0:  # no solution that is said to be better ends the search early
        assert found.bound == pytest.approx(best.bound, rel=1e-8)
    other = index_optimum(instance.setting, instance.mean, np.ones(24), method="highs")
    assert other.bound is not None
    assert 0.0 < other.value <= index.value + 1e-12 <= other.bound + 1e-9


def test_the_record_knows_the_oracles() -> None:
    for problem, rival in (("selection", "clairvoyant"), ("selection-gang", "gang")):
        entries = problems.oracles(problem)
        assert problems.rival(problem) == rival
        assert entries[rival].problem == problem


@pytest.mark.parametrize("method", METHODS)
def test_demands_of_one_beside_millions_leave_the_bound_true(method: str) -> None:
    mean = np.array([0.4241800134272965, 0.0631317983415246, 0.7746502534740964])
    mean = np.append(mean, [0.43637785513178884, 0.8519161021165079, 0.5333831921540545])
    instance = SelectionInstance(
        edges=[(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (3, 0)],
        demand=[
            *([1, 248314928], [1, 744944781], [496629854, 248314928]),
            *([744944782, 496629855], [1, 496629854], [248314928, 496629854]),
        ],
        capacity=[248314930, 1738204489],
        mean=mean,
        arrivals=[[1, 1, 1, 1]],
    )
    best = mean[[0, 4, 5]].sum()
    found = clairvoyant(instance, method=method)
    assert found.bound is not None
    assert found.value == pytest.approx(best)
    assert best - 1e-12 <= found.bound <= best + 1e-7


CALM = {"placement": {"jobs": 3, "contention": 0.0}}


@pytest.mark.parametrize("problem", ["selection", "selection-gang", "admission", "placement"])
def test_ctrl_c_is_raised_after_cp_sat_as_before(problem: str) -> None:
    """CP-SAT's own handler would leave none behind, and Ctrl-C would kill this process."""
    cv.solve(
        api.generate(problem, size="tiny", seed=1, **CALM.get(problem, {})), method="cp-sat", time_limit=20
    )
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
