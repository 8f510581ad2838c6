"""Gang scheduling: the sound set, the printed set and its counterexamples, and the mixed-integer optimum."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.models.allocation import gang_program as gang_module
from clairvoyant.models.allocation.gang import (
    GangInstance,
    generate_gang,
    printed_counterexample,
    printed_is_empty,
    printed_violations,
)
from clairvoyant.models.allocation.gang_program import best_gang
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.base import DecisionError, InputError
from clairvoyant.models.program import PyomoProgram, Solved, SolverError
from clairvoyant.online.play import Replay, play
from clairvoyant.oracles.allocation import certificate_bound, gang, gang_relaxation, stationary
from clairvoyant.oracles.base import OracleError, WhyStopped
from clairvoyant.testing.allocation import gang_instances, instances

cp: Any = cvxpy  # its types are incomplete
TINY = generate_gang(generate("tiny", seed=1), 0, tasks=2, floor=0.5, minimum=1)


@st.composite
def gangs(draw: st.DrawFn) -> GangInstance:
    """Draw a tiny gang instance: at most 2 ports, 2 servers, 2 kinds, 2 tasks per port."""
    base = draw(instances(max_ports=2, max_servers=2, max_kinds=2, min_slots=1, max_slots=2))
    kinds = base.setting.kinds
    sizes = st.sampled_from([0.0, 0.5, 1.0, 2.0])
    demand, floor, minimum = [], [], []
    for _ in range(base.setting.ports):
        tasks = draw(st.integers(0, 2))
        rows = [[draw(sizes) for _ in range(kinds)] for _ in range(tasks)]
        demand.append(rows)
        floor.append([[a * draw(st.sampled_from([0.0, 0.5, 1.0])) for a in row] for row in rows])
        minimum.append(draw(st.integers(0, tasks)))
    return GangInstance(base, demand=demand, floor=floor, minimum=minimum)


def given_tasks(instance: GangInstance, on: np.ndarray) -> float | None:
    """The best value where exactly the tasks ``on`` are scheduled, declared afresh; None if impossible."""
    s = instance.setting
    n = instance.arrival_counts.astype(float)
    y = cp.Variable((max(1, s.shape[0]), s.kinds), nonneg=True)
    zero = cp.Constant(0.0)
    limits, gain = [], zero
    for g in range(len(s.task_port)):
        held = [y[i] for i in range(s.shape[0]) if s.pair_task[i] == g] or [np.zeros(s.kinds) + zero]
        limits += [sum(held) >= on[g] * s.task_floor[g], sum(held) <= on[g] * s.task_demand[g]]
    for r, k in product(range(s.base.servers), range(s.kinds)):
        used = [y[i, k] for i in range(s.shape[0]) if s.base.server[s.pair_edge[i]] == r]
        limits.append(sum(used, zero) <= s.base.capacity[r, k])
    for port in range(s.ports):
        paid = []
        for k in range(s.kinds):
            total = zero
            for e in np.flatnonzero(s.base.port == port):
                each = sum((y[i, k] for i in range(s.shape[0]) if s.pair_edge[i] == e), zero)
                alpha, family = s.base.edge_alpha[e, k], s.base.edge_kind[e, k]
                f = (alpha * each, alpha * cp.log1p(each), 1 / alpha - cp.inv_pos(each + alpha))
                gain += n[port] * (f[family] if family < 3 else alpha * (cp.sqrt(each + 1.0) - 1.0))
                total += each
            paid.append(s.base.overhead[k] * total)
        gain -= n[port] * (cp.maximum(*paid) if len(paid) > 1 else paid[0])
    problem = cp.Problem(cp.Maximize(gain), limits)
    problem.solve(solver="CLARABEL")
    return float(problem.value) if problem.status.startswith("optimal") else None


def brute_force(instance: GangInstance) -> float:
    """The best value over all choices of tasks."""
    s = instance.setting
    best = 0.0
    for choice in product([0.0, 1.0], repeat=len(s.task_port)):
        on = np.array(choice)
        count = np.bincount(s.task_port, weights=on, minlength=s.ports)
        if ((count == 0) | (count >= s.minimum)).all():
            best = max(best, given_tasks(instance, on) or 0.0)
    return best


@settings(max_examples=30, deadline=None)
@given(gangs())
def test_the_program_finds_the_best_choice_of_tasks(instance: GangInstance) -> None:
    found = gang(instance)
    assert found.value == pytest.approx(brute_force(instance), rel=1e-5, abs=1e-5)
    assert found.bound is not None
    assert found.bound >= found.value
    assert found.gap is not None
    assert found.gap <= 1e-6
    assert not instance.violations(found.decision)
    steps = [found.decision] * instance.setting.slots
    assert play(Replay(steps, "allocation-gang"), instance).total == pytest.approx(found.value, rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(gangs())
def test_files_and_equality(instance: GangInstance) -> None:
    again = GangInstance.from_dict(instance.to_dict())
    assert again == instance
    assert again.digest() == instance.digest()
    assert "tasks=" in repr(again)


def test_save_and_load(tmp_path: Path) -> None:
    TINY.save(tmp_path / "gang.json.gz")
    loaded = GangInstance.load(tmp_path / "gang.json.gz")
    assert loaded == TINY
    assert loaded.origin == TINY.base.origin
    assert loaded.with_arrivals(TINY.arrivals[:1]) != TINY


def test_one_task_without_floor_is_the_fractional_problem() -> None:
    base = generate("tiny", seed=4)
    wide = base.setting.demand * base.setting.servers  # a task's demand counts over all servers
    free = GangInstance(
        base, demand=wide[:, None].tolist(), floor=(0 * wide[:, None]).tolist(), minimum=[0] * 3
    )
    cap = base.to_dict() | {"demand": wide.tolist()}
    relaxed = stationary(type(base).from_dict(cap))
    found = gang(free)
    assert found.value <= relaxed.bound + 1e-6  # type: ignore[operator]
    held = free.setting.task_sums(found.decision)
    if (held < wide - 1e-9).all():
        assert found.value == pytest.approx(relaxed.value, rel=1e-5)


# Feasibility, read from y alone. Two ports with two tasks each share one server of one kind.


def two_ports(minimum: int = 2, floor: float = 1.0, capacity: float = 4.0) -> GangInstance:
    base = generate("tiny").to_dict() | {
        "edges": [[0, 0], [1, 0]],
        "demand": [[2.0], [2.0]],
        "capacity": [[capacity]],
        "overhead": [0.25],
        "utility": {"kind": [["linear"]], "alpha": [[1.0]]},
        "arrivals": [[1, 1], [0, 2]],
    }
    base.pop("names", None)
    gang_part = {
        "demand": [[[1.0], [1.0]]] * 2,
        "floor": [[[floor], [floor]]] * 2,
        "minimum": [minimum] * 2,
    }
    return GangInstance.from_dict(base | {"problem": "allocation-gang", "gang": gang_part})


@pytest.mark.parametrize(
    ("y", "broken"),
    [
        ([0, 0, 0, 0], []),
        ([1, 1, 0, 0], []),
        ([1, 1, 1, 1], []),
        ([1, 0, 0, 0], ["minimum[0]"]),
        ([1, 0.5, 0, 0], ["floor[0][1][0]"]),
        ([1, 1, 1.5, 1], ["demand[1][0][0]", "capacity[0][0]"]),
        ([1, 1, 0, -1], ["nonnegative[1][0][1][0]"]),
        (
            [np.nan, 1, 0, 0],
            ["nonnegative[0][0][0][0]", "floor[0][0][0]", "demand[0][0][0]", "capacity[0][0]"],
        ),
    ],
)
def test_every_constraint_is_named_with_its_place(y: list[float], broken: list[str]) -> None:
    found = two_ports().violations(np.array(y, dtype=float)[:, None])
    assert [str(v).split(" ")[0] for v in found] == broken


def test_a_task_without_floor_may_count_while_it_holds_nothing() -> None:
    assert not two_ports(floor=0.0).violations([[1.0], [0.0], [0.0], [0.0]])
    assert two_ports(floor=0.5).violations([[1.0], [0.0], [0.0], [0.0]])


def test_an_infeasible_decision_stops_the_run() -> None:
    instance = two_ports()
    half = np.array([[0.5], [1.0], [0.0], [0.0]])
    with pytest.raises(DecisionError, match=r"slot 0: infeasible decision: floor\[0\]\[0\]\[0\]"):
        play(Replay([half, half], "allocation-gang"), instance)
    loose = play(Replay([half, half], "allocation-gang"), instance, enforce=False)
    assert loose.infeasible == 2
    np.testing.assert_allclose(loose.rewards, instance.rewards(half))


@pytest.mark.parametrize("decision", [np.zeros((3, 1)), "none"])
def test_a_decision_of_the_wrong_form_is_refused(decision: Any) -> None:
    with pytest.raises(InputError, match="decision: "):
        two_ports().violations(decision)


def test_scarce_capacity_runs_one_job_or_none() -> None:
    assert gang(two_ports(capacity=3.0)).value == pytest.approx(3 * 0.75 * 2)  # port 1 yields 3 jobs
    assert gang(two_ports(capacity=1.9)).value == 0.0
    assert gang(two_ports(capacity=1.9, minimum=1)).value == pytest.approx(3 * 0.75)


# The set as printed in 3.5.


def test_the_printed_set_is_not_all_or_nothing() -> None:
    instance = printed_counterexample(capacity=1.0, minimum=2)
    for epsilon in (0.5, 1e-3, 1e-9):
        y = np.array([[1.0 - epsilon], [epsilon]])
        assert printed_violations(instance.setting, y) == []
        assert instance.violations(y)
    assert not printed_is_empty(instance.setting)
    assert gang(instance).value == 0.0


def test_the_printed_set_is_empty_without_capacity() -> None:
    instance = printed_counterexample(capacity=0.0, minimum=1)
    assert printed_is_empty(instance.setting)
    assert [str(v) for v in printed_violations(instance.setting, [[0.0], [0.0]])] == [
        "minimum[0] exceeded by 1"
    ]
    assert not instance.violations([[0.0], [0.0]])


def test_the_printed_set_names_what_is_broken() -> None:
    setting = printed_counterexample(capacity=1.0, minimum=2).setting
    names = [v.constraint for v in printed_violations(setting, [[2.0], [-0.5]])]
    assert names == ["minimum", "nonnegative", "demand", "capacity"]


# Bad input.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"minimum": [3, 0, 0]}, r"gang.minimum\[0\]: 3 is more than the port's 2 tasks"),
        ({"minimum": [0.5, 0, 0]}, r"gang.minimum\[0\]: 0.5 is not a whole number"),
        ({"minimum": [0, 0]}, "gang.minimum: shape 2 does not fit, expected 3"),
        ({"demand": []}, "gang.demand: expected a list of 3 lists, one per port"),
        ({"demand": [[[1.0]], [], []]}, r"gang.demand\[0\]: shape 1x1 does not fit, expected anyx2"),
        ({"floor": [[], [], []]}, r"gang.floor\[0\]: 0 tasks, but gang.demand has 2"),
        ({"floor": [[[9e9, 0], [0, 0]]] * 3}, r"gang.floor\[0\]\[0\]\[0\]: 9e\+09 is more than the demand"),
        ({"floor": [[[-1, 0], [0, 0]]] * 3}, r"gang.floor\[0\]\[0\]\[0\]: -1 is not a finite number"),
        ({"size": 3}, "gang.size: unknown field"),
    ],
)
def test_bad_fields_are_named(change: dict[str, Any], message: str) -> None:
    data = TINY.to_dict()
    with pytest.raises(InputError, match=message):
        GangInstance.from_dict(data | {"gang": data["gang"] | change})


@pytest.mark.parametrize("gang_part", [None, [1], {"demand": []}])
def test_a_malformed_gang_object_is_refused(gang_part: Any) -> None:
    data = TINY.to_dict() | {"gang": gang_part}
    if gang_part is None:
        del data["gang"]
    with pytest.raises(InputError, match="gang"):
        GangInstance.from_dict(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": 0}, "tasks: 0 is not at least 1"),
        ({"floor": 1.5}, "floor: 1.5 is not between 0 and 1"),
        ({"minimum": 3}, r"gang.minimum\[0\]: 3 is more than"),
    ],
)
def test_generator_arguments_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        generate_gang(TINY.base, 0, **options)


# The search.


def test_an_early_stop_leaves_an_honest_interval() -> None:
    instance = generate_gang(generate("default", seed=1, servers=24), 0)
    exact = gang(instance, gap=1e-5)
    assert exact.bound is not None
    for seconds in (0.0, 0.3):
        early = gang(instance, time_limit=seconds)
        assert early.bound is not None
        assert early.value <= exact.bound
        assert early.bound >= exact.value
        assert early.seconds < seconds + 2.0
    assert gang(instance, time_limit=0.0).why_stopped is WhyStopped.TIME_LIMIT


def test_progress_and_gap() -> None:
    seen: list[float] = []
    found = gang(TINY, gap=1e-3, progress=lambda done, _text: seen.append(done))
    assert seen
    assert found.gap is not None
    assert found.gap <= 1e-3


def test_nothing_to_schedule_is_proved() -> None:
    idle = TINY.with_arrivals(np.zeros((0, 3)))
    assert gang(idle).why_stopped is WhyStopped.PROVED
    assert gang(idle).bound == 0.0


def test_perturbed_weights_need_not_be_whole() -> None:
    found = best_gang(TINY.setting, TINY.arrival_counts + 0.37)
    assert found.closed
    assert found.value <= found.bound
    with pytest.raises(InputError, match="weights"):
        best_gang(TINY.setting, -np.ones(3))


UNIT = gang_module.Units.scaled(TINY.setting, TINY.arrival_counts).worth * TINY.arrival_counts.max()


def scripted(monkeypatch: pytest.MonkeyPatch, solved: Solved) -> None:
    monkeypatch.setattr(PyomoProgram, "solve", lambda _self, **_: solved)


def test_a_solver_without_solution_is_an_error_unless_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, Solved("maxTimeLimit", None, {}, bound=0.5))
    found = gang(TINY)
    assert found.value == 0.0
    assert found.bound == pytest.approx(0.5 * UNIT, rel=1e-6)
    scripted(monkeypatch, Solved("error", None, {}))
    with pytest.raises(OracleError, match="HiGHS ended with error on a program that has a solution"):
        gang(TINY)


def test_an_infeasible_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    s = TINY.setting
    values = {"y": np.ones(s.shape), "v": np.ones(len(s.task_port)), "z": np.zeros(s.base.shape)}
    scripted(monkeypatch, Solved("optimal", 1.0, values))
    with pytest.raises(SolverError, match="infeasible gang allocation: demand"):
        best_gang(s, TINY.arrival_counts)
    monkeypatch.setattr(gang_module, "_settled", lambda _setting, _v, y: y)
    with pytest.raises(OracleError, match="the allocation is infeasible: demand"):
        gang(TINY, gap=1e9)


def test_a_search_that_cannot_be_tightened_ends_with_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    s = TINY.setting
    values = {"y": np.zeros(s.shape), "v": np.zeros(len(s.task_port)), "z": np.zeros(s.base.shape)}
    scripted(monkeypatch, Solved("optimal", 0.0, values, bound=0.25))
    found = gang(TINY)
    assert found.why_stopped is WhyStopped.STALLED
    assert found.value == 0.0
    assert found.bound == pytest.approx(0.25 * UNIT, rel=1e-6)


def test_a_bound_below_the_value_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = PyomoProgram.solve
    monkeypatch.setattr(PyomoProgram, "solve", lambda self, **o: replace(solve(self, **o), bound=1e-3))
    with pytest.raises(OracleError, match=r"bound .* is below the value"):
        gang(TINY)


def scaled(base: AllocationInstance, factor: np.ndarray) -> AllocationInstance:
    """All devices of kind k counted in units of 1 / factor[k]; the rewards of linear utilities stay."""
    s = base.setting
    return AllocationInstance(
        edges=s.edges,
        demand=s.demand * factor,
        capacity=s.capacity * factor,
        overhead=s.overhead / factor * factor.min(),
        utility_kind=np.full(s.capacity.shape, "linear"),
        alpha=s.alpha / factor * factor.min(),
        arrivals=base.arrivals,
    )


@pytest.mark.parametrize("factor", [(1e-12, 1e-12), (1e12, 1e12), (1.0, 1e9), (1e-9, 1e3)])
@pytest.mark.parametrize("seed", range(4))
def test_units_do_not_matter(seed: int, factor: tuple[float, float]) -> None:
    base = generate("tiny", seed, slots=20)
    plain, other = (gang(generate_gang(scaled(base, np.array(f)), seed)) for f in ((1.0, 1.0), factor))
    assert plain.bound is not None
    assert other.bound is not None
    assert plain.value > 1.0
    assert other.value == pytest.approx(plain.value * min(factor), rel=2e-6, abs=0.0)
    assert other.bound == pytest.approx(plain.bound * min(factor), rel=2e-6, abs=0.0)


def test_numbers_too_large_for_floating_point_are_refused() -> None:
    data = TINY.to_dict()
    data["utility"] = {"kind": [["linear"] * 2] * 3, "alpha": [[1.7e308] * 2] * 3}
    with pytest.raises(InputError, match=r"utility.alpha\[0\]\[0\]: 1.7e\+308 is not"):
        GangInstance.from_dict(data)


@given(instance=gang_instances())
@settings(max_examples=25, deadline=None)
def test_the_certificate_of_a_gang_optimum_is_checked_without_the_solver(instance: GangInstance) -> None:
    optimum = gang(instance)
    relaxed = gang_relaxation(instance.setting)
    own = optimum.certificate
    ceiling = certificate_bound(relaxed, own.weights, own.w, own.price)
    assert optimum.value <= ceiling
    assert optimum.bound is not None
    assert optimum.bound <= ceiling
    assert not relaxed.violations(np.minimum(instance.setting.totals(optimum.decision), relaxed.edge_demand))
