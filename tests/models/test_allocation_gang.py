"""Gang scheduling: the sound set, the printed set and its counterexamples, and the mixed-integer optimum."""

from collections.abc import Callable
from itertools import chain, product, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cvxpy
import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.models.allocation import gang_search, utility
from clairvoyant.models.allocation.gang import (
    AllocationGangInstance,
    generate_gang,
    printed_counterexample,
    printed_is_empty,
    printed_violations,
)
from clairvoyant.models.allocation.gang_bound import (
    FREE,
    OFF,
    ON,
    AllocationGangCertificate,
    Prices,
    Proven,
    bound_of,
    gang_bound,
    presolve,
)
from clairvoyant.models.allocation.gang_relaxation import Answer, Relaxation
from clairvoyant.models.allocation.gang_search import best_gang
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.base import DecisionError, InputError
from clairvoyant.online.play import Replay, play
from clairvoyant.oracles.allocation.optimum import gang, stationary
from clairvoyant.oracles.base import Optimum, OracleError, WhyStopped
from clairvoyant.testing.allocation import gang_instances, instances

cp: Any = cvxpy  # its types are incomplete
TINY = generate_gang(generate("tiny", seed=1), 0, tasks=2, floor=0.5, minimum=1)


@st.composite
def gangs(draw: st.DrawFn, /, **limits: Any) -> AllocationGangInstance:
    """Draw a tiny gang instance: at most 2 ports, 2 servers, 2 kinds, 2 tasks per port."""
    base = draw(instances(max_ports=2, max_servers=2, max_kinds=2, min_slots=1, max_slots=2, **limits))
    kinds = base.setting.kinds
    sizes = st.sampled_from([0.0, 0.5, 1.0, 2.0])
    demand, floor, minimum = [], [], []
    for _ in range(base.setting.ports):
        tasks = draw(st.integers(0, 2))
        rows = [[draw(sizes) for _ in range(kinds)] for _ in range(tasks)]
        demand.append(rows)
        floor.append([[a * draw(st.sampled_from([0.0, 0.5, 1.0])) for a in row] for row in rows])
        minimum.append(draw(st.integers(0, tasks)))
    return AllocationGangInstance(base, demand=demand, floor=floor, minimum=minimum)


def values_of(instance: AllocationGangInstance) -> Callable[[np.ndarray], float | None]:
    """The best value where exactly the given tasks are scheduled, declared afresh; None if impossible."""
    s = instance.setting
    n = instance.arrival_counts.astype(float)
    y = cp.Variable((max(1, s.shape[0]), s.kinds), nonneg=True)
    on = cp.Parameter(max(1, len(s.task_port)), nonneg=True)
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

    def solve(choice: np.ndarray) -> float | None:
        on.value = np.resize(choice, on.shape)
        problem.solve(solver="CLARABEL")
        return float(problem.value) if problem.status.startswith("optimal") else None

    return solve


def brute_force(instance: AllocationGangInstance) -> float:
    """The best value over all choices of tasks."""
    s = instance.setting
    best, value = 0.0, values_of(instance)
    for choice in product([0.0, 1.0], repeat=len(s.task_port)):
        on = np.array(choice)
        count = np.bincount(s.task_port, weights=on, minlength=s.ports)
        if ((count == 0) | (count >= s.minimum)).all():
            best = max(best, value(on) or 0.0)
    return best


@settings(max_examples=30, deadline=None)
@given(gangs())
def test_the_program_finds_the_best_choice_of_tasks(instance: AllocationGangInstance) -> None:
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
def test_files_and_equality(instance: AllocationGangInstance) -> None:
    again = AllocationGangInstance.from_dict(instance.to_dict())
    assert again == instance
    assert again.digest() == instance.digest()
    assert "tasks=" in repr(again)


def test_save_and_load(tmp_path: Path) -> None:
    TINY.save(tmp_path / "gang.json.gz")
    loaded = AllocationGangInstance.load(tmp_path / "gang.json.gz")
    assert loaded == TINY
    assert loaded.origin == TINY.base.origin
    assert loaded.with_arrivals(TINY.arrivals[:1]) != TINY


def test_one_task_without_floor_is_the_fractional_problem() -> None:
    base = generate("tiny", seed=4)
    wide = base.setting.demand * base.setting.servers  # a task's demand counts over all servers
    free = AllocationGangInstance(
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


def two_ports(minimum: int = 2, floor: float = 1.0, capacity: float = 4.0) -> AllocationGangInstance:
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
    return AllocationGangInstance.from_dict(base | {"problem": "allocation-gang", "gang": gang_part})


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
        ({"demand": [[[1.0]], [], []]}, r"gang.demand\[0\]: shape 1 x 1 does not fit, expected n x 2"),
        ({"floor": [[], [], []]}, r"gang.floor\[0\]: 0 tasks, but gang.demand has 2"),
        ({"floor": [[[9e9, 0], [0, 0]]] * 3}, r"gang.floor\[0\]\[0\]\[0\]: 9e\+09 is more than the demand"),
        ({"floor": [[[-1, 0], [0, 0]]] * 3}, r"gang.floor\[0\]\[0\]\[0\]: -1 is not a finite number"),
        ({"size": 3}, "gang.size: unknown field"),
    ],
)
def test_bad_fields_are_named(change: dict[str, Any], message: str) -> None:
    data = TINY.to_dict()
    with pytest.raises(InputError, match=message):
        AllocationGangInstance.from_dict(data | {"gang": data["gang"] | change})


@pytest.mark.parametrize("gang_part", [None, [1], {"demand": []}])
def test_a_malformed_gang_object_is_refused(gang_part: Any) -> None:
    data = TINY.to_dict() | {"gang": gang_part}
    if gang_part is None:
        del data["gang"]
    with pytest.raises(InputError, match="gang"):
        AllocationGangInstance.from_dict(data)


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
    assert 0.0 < found.value <= found.bound <= found.value * (1 + 1e-6)
    for wrong in (-np.ones(3), [1, 1, 1e51]):
        with pytest.raises(InputError, match="weights"):
            best_gang(TINY.setting, wrong)


# What HiGHS says is a proposal.


def lying(monkeypatch: pytest.MonkeyPatch, lie: Any) -> None:
    """Let HiGHS's answers pass through ``lie`` first."""
    solve = Relaxation.solve

    def other(self: Relaxation, fixed: np.ndarray, seconds: float) -> Answer | None:
        answer = solve(self, fixed, seconds)
        return answer if answer is None else lie(self, fixed, answer)

    monkeypatch.setattr(Relaxation, "solve", other)


SCARCE = generate_gang(
    generate("tiny", seed=3, ports=2, servers=2, slots=10, contention=6.0), 3, tasks=2, floor=0.75, minimum=2
)
EMPTY = Prices(
    np.zeros((SCARCE.setting.ports, SCARCE.setting.kinds)),
    np.zeros(SCARCE.setting.base.capacity.shape),
    np.zeros(SCARCE.setting.task_demand.shape),
    empty=True,
)
LIES = {
    "there is nothing": lambda _s, _f, _a: Answer(EMPTY),
    "a ray of multipliers": lambda _s, _f, a: Answer(
        None if a.prices is None else a.prices._replace(empty=True)
    ),
    "prices of nothing": lambda _s, _f, a: a._replace(
        prices=None
        if a.prices is None
        else Prices(a.prices.w, 0 * a.prices.price, 0 * a.prices.task_price, a.prices.empty)
    ),
    "prices without sense": lambda _s, _f, a: a._replace(
        prices=None if a.prices is None else a.prices._replace(task_price=-7.0 * a.prices.task_price)
    ),
    "too much": lambda _s, _f, a: a if a.y is None else a._replace(y=3.0 * a.y + 1.0),
    "other tasks": lambda _s, _f, a: a if a.y is None else a._replace(v=1.0 - a.v),
    "no solution": lambda _s, _f, a: Answer(a.prices),
    "no prices": lambda _s, _f, a: a._replace(prices=None),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize(("seed", "servers"), [(4, 1), (5, 2)])
def test_a_lie_of_the_solver_moves_neither_value_nor_bound_beyond_the_truth(
    monkeypatch: pytest.MonkeyPatch, lie: str, seed: int, servers: int
) -> None:
    base = generate("tiny", seed=seed, ports=2, servers=servers, slots=10, contention=6.0)
    few = generate_gang(base, seed, tasks=2, floor=0.75, minimum=2)  # solved by few linear programs
    truth = gang(few, gap=1e-9)
    assert truth.bound is not None
    assert len(truth.certificate.branch) > 1
    lying(monkeypatch, LIES[lie])
    found = gang(few)
    assert not few.violations(found.decision)
    assert found.value <= truth.bound
    assert found.bound is not None
    assert found.bound >= truth.value
    assert found.bound == pytest.approx(gang_bound(few.setting, found.certificate), rel=1e-12)
    if found.why_stopped is not WhyStopped.STALLED:
        assert found.value == pytest.approx(truth.value, rel=2e-6)


def test_a_status_that_is_not_known_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = highspy.HighsModelStatus.kSolveError
    monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda _: failed)
    with pytest.raises(OracleError, match="HiGHS ended with Solve error"):
        gang(SCARCE)


def test_an_answer_that_highs_is_not_sure_of_is_used_as_far_as_it_proves_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    truth = gang(SCARCE)
    unknown = highspy.HighsModelStatus.kUnknown
    status = highspy.Highs.getModelStatus
    optimal = highspy.HighsModelStatus.kOptimal
    monkeypatch.setattr(
        highspy.Highs, "getModelStatus", lambda h: unknown if status(h) == optimal else status(h)
    )
    found = gang(SCARCE)
    assert found.value == pytest.approx(truth.value, rel=2e-6)
    assert found.why_stopped is truth.why_stopped


@pytest.mark.parametrize("call", ["setOptionValue", "passModel"])
def test_what_highs_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setattr(highspy.Highs, call, lambda *_: highspy.HighsStatus.kError)
    with pytest.raises(OracleError, match="HiGHS refuses the"):
        gang(SCARCE)


def test_a_bound_below_the_value_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = chain([Proven(1e9, 0.0, 0.0)], repeat(Proven(1e-3, 0.0, 0.0)))
    monkeypatch.setattr(gang_search, "bound_of", lambda *_: next(bounds))
    with pytest.raises(OracleError, match=r"the bound 0.001 is below the value"):
        gang(SCARCE)


def test_an_infeasible_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    best = best_gang(SCARCE.setting, SCARCE.arrival_counts)
    monkeypatch.setattr(
        "clairvoyant.oracles.allocation.optimum.best_gang",
        lambda *_, **__: best._replace(y=2.0 * best.y + 1.0),
    )
    with pytest.raises(OracleError, match="the allocation is infeasible"):
        gang(SCARCE)


def test_the_presolve_of_highs_is_off() -> None:
    relaxation = Relaxation(presolve(SCARCE.setting, SCARCE.arrival_counts), lambda: False)
    assert relaxation._highs.getOptionValue("presolve")[1] == "off"


# The certificate.


@st.composite
def leaves(draw: st.DrawFn) -> tuple[AllocationGangInstance, np.ndarray, Prices]:
    """Draw an instance, what a leaf has fixed of its tasks and jobs, and any prices at all."""
    instance = draw(gangs())
    s = instance.setting
    number = st.sampled_from([0.0, 0.25, 1.0, 3.0]) | st.floats(0.0, 10.0)

    def array(shape: tuple[int, ...], elements: st.SearchStrategy[float]) -> np.ndarray:
        size = int(np.prod(shape))
        return np.reshape(draw(st.lists(elements, min_size=size, max_size=size)), shape)

    fixed = array((len(s.task_port) + s.ports,), st.sampled_from([FREE, FREE, OFF, ON])).astype(np.int64)
    w = array((s.ports, s.kinds), number)
    prices = Prices(
        w * (instance.arrival_counts / np.maximum(w.sum(axis=1), 1e-300))[:, None],
        array(s.base.capacity.shape, number),
        array(s.task_demand.shape, number | number.map(lambda x: -x)),
        empty=draw(st.booleans()),
    )
    return instance, fixed, prices


def allowed(instance: AllocationGangInstance, fixed: np.ndarray, on: np.ndarray) -> bool:
    """Whether the tasks ``on`` make whole jobs and agree with what a leaf has fixed."""
    s = instance.setting
    count = np.bincount(s.task_port, weights=on, minlength=s.ports)
    tasks, jobs = np.split(fixed, [len(s.task_port)])
    whole = ((count == 0) | (count >= s.minimum)).all()
    kept = ((tasks == FREE) | (tasks == on)).all()
    idle, runs = (count[jobs == OFF] == 0).all(), (count[jobs == ON] >= s.minimum[jobs == ON]).all()
    return bool(whole and kept and idle and runs)


@settings(max_examples=40, deadline=None)
@given(leaves())
def test_no_allocation_of_a_leaf_is_above_the_bound_of_any_prices(
    leaf: tuple[AllocationGangInstance, np.ndarray, Prices],
) -> None:
    instance, fixed, prices = leaf
    s, n = instance.setting, instance.arrival_counts
    bound = bound_of(presolve(s, n), fixed, prices).bound
    best, solve = None, values_of(instance)
    for choice in product([0.0, 1.0], repeat=len(s.task_port)):
        on = np.array(choice)
        losing = (n == 0)[s.task_port]  # jobs that never come are left alone
        if allowed(instance, fixed, on) and not on[losing].any():
            value = solve(on)
            best = value if best is None or (value is not None and value > best) else best
    if best is not None and best >= 0.0:
        assert bound >= best - 1e-6


def test_a_ray_proves_that_nothing_is_feasible_only_where_nothing_is() -> None:
    instance = two_ports(capacity=3.0)  # each of the two jobs needs 2
    reduced = presolve(instance.setting, instance.arrival_counts)
    ray = Prices(np.zeros((2, 1)), np.ones((1, 1)), -np.ones((4, 1)), empty=True)
    both, one = np.array([ON] * 4 + [FREE] * 2), np.array([ON, ON, FREE, FREE, FREE, FREE])
    assert bound_of(reduced, both, ray).bound == -np.inf
    assert bound_of(reduced, one, ray).bound == np.inf
    jobs = np.array([FREE] * 4 + [ON] * 2)
    assert bound_of(reduced, jobs, ray).bound == -np.inf


@given(instance=gang_instances())
@settings(max_examples=25, deadline=None)
def test_the_certificate_of_a_gang_optimum_is_checked_without_the_solver(
    instance: AllocationGangInstance,
) -> None:
    optimum = gang(instance)
    again = gang_bound(instance.setting, optimum.certificate)
    assert optimum.bound == max(again, optimum.value)
    assert again >= optimum.value * (1 - 1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prices": ()}, "branch: shape"),
        ({"branch": [0, -1, -1], "child": [(0, 0)] * 3}, "prices.0.: missing at a leaf|child: not a tree"),
        ({"branch": [0, -1, -1], "child": [(1, 7), (0, 0), (0, 0)]}, r"child\[0\]\[1\]: 7 is not a whole"),
        ({"branch": [99, -1, -1], "child": [(1, 2), (0, 0), (0, 0)]}, r"branch\[0\]: 99 is not a whole"),
        ({"branch": [-1, -1, -1]}, r"prices\[0\]: missing at a leaf"),
    ],
)
def test_a_certificate_that_is_no_tree_is_refused(change: dict[str, Any], message: str) -> None:
    s = SCARCE.setting
    even = np.repeat(SCARCE.arrival_counts[:, None] / s.kinds, s.kinds, axis=1)
    leaf = Prices(even, np.zeros(s.base.capacity.shape), np.zeros(s.task_demand.shape))
    good = {
        "branch": [0, -1, -1],
        "child": [(1, 2), (0, 0), (0, 0)],
        "prices": (None, leaf, leaf),
    }
    assert gang_bound(s, AllocationGangCertificate(SCARCE.arrival_counts, **good)) > 0.0  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        gang_bound(s, AllocationGangCertificate(SCARCE.arrival_counts, **(good | change)))  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["w", "price"])
def test_negative_prices_are_refused(part: str) -> None:
    found = gang(TINY).certificate
    leaf = int(np.flatnonzero(found.branch < 0)[0])
    prices = list(found.prices)
    prices[leaf] = prices[leaf]._replace(**{part: getattr(prices[leaf], part) - 1.0})
    forged = AllocationGangCertificate(found.weights, found.branch, found.child, tuple(prices))
    with pytest.raises(InputError, match=rf"prices\[{leaf}\].{part}\[0\]\[\d\]: -"):
        gang_bound(TINY.setting, forged)


# The time limit, by a clock that ticks once a look.


@pytest.mark.parametrize("ticks", [0, 1, 2, 5, 20, 36, 38, 40, 45, 60])
def test_nothing_is_built_or_solved_after_the_time(monkeypatch: pytest.MonkeyPatch, ticks: int) -> None:
    truth = gang(SCARCE, gap=1e-9)
    assert truth.bound is not None
    now = 0

    def tick() -> float:
        nonlocal now
        now += 1
        return float(now)

    def in_time(method: Any) -> Any:
        def checked(*arguments: Any) -> Any:
            assert now < 1 + ticks  # the limit counts from the first look
            return method(*arguments)

        return checked

    monkeypatch.setattr(gang_search, "stopwatch", SimpleNamespace(now=tick))
    for owner, name in (
        (Relaxation, "__init__"),
        (Relaxation, "_declare"),
        (highspy.Highs, "passModel"),
        (highspy.Highs, "run"),
    ):
        monkeypatch.setattr(owner, name, in_time(getattr(owner, name)))
    found = best_gang(SCARCE.setting, SCARCE.arrival_counts, time_limit=float(ticks))
    assert not SCARCE.violations(found.y)
    assert 0.0 <= found.value <= truth.bound
    assert found.bound >= truth.value
    assert found.bound == gang_bound(SCARCE.setting, found.certificate)


# Magnitudes: examples that failed.


def one_task(
    alpha: float, demand: float, *, family: str = "linear", overhead: float = 0.0, floor: float = 0.0
) -> AllocationGangInstance:
    """One port, server and kind, three devices, and two tasks, of which one demands nothing."""
    base = AllocationInstance(
        edges=[[0, 0]],
        demand=[[1.0]],
        capacity=[[3.0]],
        overhead=[overhead],
        utility_kind=[[family]],
        alpha=[[alpha]],
        arrivals=[[1]],
    )
    return AllocationGangInstance(base, demand=[[[0.0], [demand]]], floor=[[[0.0], [floor]]], minimum=[1])


def check(found: Optimum, value: float) -> None:
    assert found.value == pytest.approx(value, rel=1e-12, abs=0.0)
    assert found.bound is not None
    assert found.value <= found.bound <= value * (1 + 1e-12)
    assert found.why_stopped is WhyStopped.PROVED


def test_a_bound_is_not_below_the_value() -> None:
    check(gang(one_task(1.2, 50.0)), 3.6)


@pytest.mark.parametrize("seed", range(20))
def test_demands_beyond_what_there_is_with_overhead(seed: int) -> None:
    alpha = float(np.random.default_rng(seed).uniform(0.31, 3.0))
    check(gang(one_task(alpha, 5000.0, overhead=0.3)), 3.0 * (alpha - 0.3))


@pytest.mark.parametrize("family", ["linear", "log", "poly", "reciprocal"])
@pytest.mark.parametrize("floor", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("demand", [1e6, 1e10, 1e12, 1e16, 1e50])
def test_demands_are_cut_to_what_there_is(demand: float, floor: float, family: str) -> None:
    value = float(utility.value(np.array(utility.KINDS.index(family)), np.array(1.4), np.array(3.0)))
    check(gang(one_task(1.4, demand, family=family, floor=floor)), value)


@pytest.mark.parametrize("capacity", [1e6, 1e10, 1e16, 1e50])
def test_capacities_are_cut_to_what_gains_can_pay_for(capacity: float) -> None:
    data = one_task(1.4, capacity, family="log", overhead=0.25).to_dict() | {"capacity": [[capacity]]}
    found = gang(AllocationGangInstance.from_dict(data))
    value = 1.4 * np.log(1.4 / 0.25) - 0.25 * (1.4 / 0.25 - 1.0)
    assert found.value == pytest.approx(value, rel=1e-6)
    assert found.gap is not None
    assert found.gap <= 1e-6


def test_floors_that_fit_but_for_rounding_fit() -> None:
    data = two_ports().to_dict() | {"capacity": [[0.3]]}
    data["gang"] |= {"demand": [[[0.1], [0.2]], [[1.0], [1.0]]], "floor": [[[0.1], [0.2]], [[1.0], [1.0]]]}
    found = gang(AllocationGangInstance.from_dict(data))  # 0.1 + 0.2 is more than 0.3
    assert found.value == pytest.approx(0.3 * 0.75, rel=1e-11)
    data["gang"] |= {"demand": [[[0.1 + 0.2]], []], "floor": [[[0.1 + 0.2]], []], "minimum": [1, 0]}
    assert gang(AllocationGangInstance.from_dict(data)).value == pytest.approx(0.3 * 0.75, rel=1e-11)


def in_units(
    instance: AllocationGangInstance, rewards: float, devices: float = 1.0
) -> AllocationGangInstance:
    """Count devices in units of 1 / devices, and multiply all rewards; utilities are linear."""
    data = instance.to_dict()
    gang_part = data["gang"]

    def times(rows: Any, factor: float) -> Any:
        return [times(row, factor) for row in rows] if isinstance(rows, list) else rows * factor

    gang_part |= {key: times(gang_part[key], devices) for key in ("demand", "floor")}
    return AllocationGangInstance.from_dict(
        data
        | {
            "demand": times(data["demand"], devices),
            "capacity": times(data["capacity"], devices),
            "overhead": times(data["overhead"], rewards / devices),
            "utility": data["utility"] | {"alpha": times(data["utility"]["alpha"], rewards / devices)},
        }
    )


@pytest.mark.parametrize(
    ("rewards", "devices"),
    [(1e-10, 1.0), (1e9, 1.0), (2.0**-40, 1.0), (1e-7, 1e-7), (1e-10, 1e12), (1e-9, 1e-7), (1e9, 1e16)],
)
@pytest.mark.parametrize("seed", range(3))
def test_units_change_no_decision_and_no_status(seed: int, rewards: float, devices: float) -> None:
    base = generate("tiny", seed, slots=20, utility="linear", contention=9.0)
    plain = generate_gang(base, seed, tasks=3, floor=0.75, minimum=2)
    plain = in_units(plain, min(1.0, 1e-9 / rewards) if rewards > 1.0 else 1.0)  # an overhead is at most 1
    first, other = gang(plain), gang(in_units(plain, rewards, devices))
    assert first.value > 0.0
    assert other.why_stopped is first.why_stopped
    assert other.value == pytest.approx(first.value * rewards, rel=1e-9, abs=0.0)
    assert first.bound is not None
    assert other.bound == pytest.approx(first.bound * rewards, rel=1e-9, abs=0.0)
    np.testing.assert_allclose(other.decision, devices * first.decision, rtol=1e-6, atol=1e-9 * devices)


@settings(max_examples=40, deadline=None)
@given(
    gangs(families=("linear",)),
    st.sampled_from([1.0, 1e-10, 1e-7]),
    st.sampled_from([1.0, 1e-9, 1e-7, 1e7, 1e12]),
)
def test_units_do_not_matter_beside_every_choice_of_tasks(
    instance: AllocationGangInstance, rewards: float, devices: float
) -> None:
    best = brute_force(instance)
    if rewards / devices * instance.setting.base.overhead.max() > 1.0:
        devices = 1.0 / devices
    found = gang(in_units(instance, rewards, devices))
    assert found.value == pytest.approx(best * rewards, rel=1e-5, abs=1e-6 * rewards)
    assert found.bound is not None
    assert found.value <= found.bound <= found.value + 2e-6 * max(best, 1.0) * rewards


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


@pytest.mark.parametrize("factor", [(1e-12, 1e-12), (1e-7, 1e-7), (1e12, 1e12), (1.0, 1e9), (1e-9, 1e3)])
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
        AllocationGangInstance.from_dict(data)


# Ports that hide others, prices beyond numbers, and resources in another unit.


def beside_one(size: float, alpha: float, floor: float) -> AllocationGangInstance:
    """The first port gains ``alpha`` for every 1 that it pays, on ``size`` devices; the second earns 1."""
    base = AllocationInstance(
        edges=[[0, 0], [1, 1]],
        demand=[[1.0], [1.0]],
        capacity=[[size], [1.0]],
        overhead=[1.0],
        utility_kind=[["linear"], ["linear"]],
        alpha=[[alpha], [2.0]],
        arrivals=[[1, 1]],
    )
    return AllocationGangInstance(
        base, demand=[[[size]], [[1.0]]], floor=[[[floor]], [[0.5]]], minimum=[1, 1]
    )


@pytest.mark.parametrize("alpha", [0.6, 0.99999])
@pytest.mark.parametrize("floor", [0.0, 0.5])
@pytest.mark.parametrize("size", [1e12, 1e15, 1e20, 1e49])
def test_a_port_that_loses_hides_no_other(size: float, floor: float, alpha: float) -> None:
    check(gang(beside_one(size, alpha, floor * size)), 1.0)


@pytest.mark.parametrize("size", [1e15, 1e30])
def test_what_lies_in_the_rounding_of_other_sums_is_not_proved(size: float) -> None:
    """Gains of the first port equal what it pays: its sums cancel, and their rounding is more than 1."""
    found = gang(beside_one(size, 1.0, 0.0))
    assert found.value == 1.0
    assert found.bound is not None
    assert found.bound > 2.0
    assert found.why_stopped is WhyStopped.GAP_REACHED


@pytest.mark.parametrize(
    ("w", "price", "worth"),
    [([[1.0]], 1e308, [1e308, 1e308]), ([[1.0]], 1e308, [1.0, 1e308]), ([[1.0]], 1e308, [-1e308, -1e308])],
)
def test_prices_beyond_all_numbers_prove_nothing(w: Any, price: float, worth: list[float]) -> None:
    prices = Prices(np.array(w), np.array([[price]]), np.array(worth)[:, None])
    tree = np.array([-1]), np.zeros((1, 2), dtype=int), (prices,)
    assert gang_bound(one_task(1.2, 50.0).setting, AllocationGangCertificate(np.ones(1), *tree)) == np.inf


@pytest.mark.parametrize("size", [1e-40, 1e-10, 1.0, 1e10, 1e40])
def test_limits_of_tasks_count_in_their_own_unit(size: float) -> None:
    """One of two tasks, each of 1 to 2 sizes, on a server with 3 sizes."""
    data = one_task(1.0, 1.0).to_dict() | {"capacity": [[3.0 * size]]}
    tasks = {"demand": [[[2.0 * size]] * 2], "floor": [[[size]] * 2], "minimum": [1]}
    setting = AllocationGangInstance.from_dict(data | {"gang": tasks}).setting
    for first, second, broken in (
        (1.0, 0.0, []),
        (1.5, 1.5, []),
        (0.5, 0.0, ["floor"]),
        (2.5, 0.0, ["demand"]),
        (2.0, 1.5, ["capacity"]),
        (2.0, -0.1, ["nonnegative"]),
    ):
        y = size * np.array([[first], [second]])
        assert [found.constraint for found in setting.violations(y)][:1] == broken


def test_less_than_a_floor_is_noticed_where_capacity_is_scarce() -> None:
    instance = one_task(1.2, 1.0, floor=1e-8)
    scarce = AllocationGangInstance.from_dict(instance.to_dict() | {"capacity": [[1e-9]]})
    assert gang(scarce).bound == 0.0
    assert [found.constraint for found in scarce.violations([[0.0], [1e-9]])] == ["floor"]
