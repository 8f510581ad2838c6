"""The stationary and per-slot oracles: three solvers agree, bounds hold, decisions replay, theory is kept."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize

from clairvoyant.models.allocation import interior_point, utility
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.program import stationary_program
from clairvoyant.models.base import InputError
from clairvoyant.models.program import Solved, SolverError
from clairvoyant.online.play import Replay, play
from clairvoyant.oracles.allocation import optimum as allocation
from clairvoyant.oracles.allocation.optimum import METHODS, ORACLES, dynamic, prefix_optima, stationary
from clairvoyant.oracles.base import Budget, OracleError, WhyStopped
from clairvoyant.testing.allocation import degenerate, instances, ordinary

KNOWN = {**ordinary(), **degenerate()}
WIDE = st.sampled_from([0.0, 1e-6, 1e-3, 1.0, 2.0, 1e3, 1e6]) | st.floats(1e-9, 1e6)


def changed(instance: AllocationInstance, **fields: Any) -> AllocationInstance:
    return AllocationInstance.from_dict({**instance.to_dict(), **fields})


def single(kind: str, *, n: int = 1, a: float = 2.0, c: float = 1.5, beta: float = 0.5) -> AllocationInstance:
    """``n`` jobs at each of two ports that share one server of one kind."""
    return AllocationInstance(
        edges=[[0, 0], [1, 0]],
        demand=[[a], [a]],
        capacity=[[c]],
        overhead=[beta],
        utility_kind=[[kind]],
        alpha=[[1.0]],
        arrivals=[[n, n]],
    )


def by_slsqp(instance: AllocationInstance) -> float:
    """The stationary value by a general-purpose solver, from several starts; a lower bound in any case."""
    s = instance.setting
    n = instance.arrival_counts.astype(float)
    edges, kinds = s.shape
    ports = range(s.ports)

    def loss(x: np.ndarray) -> float:
        return float(n @ x[: s.ports] - n @ s.gains(x[s.ports :].reshape(s.shape)))

    def slack(x: np.ndarray) -> np.ndarray:
        y = x[s.ports :].reshape(s.shape)
        spare = x[: s.ports, None] - s.overhead * s.port_sums(y)
        return np.concatenate([spare.ravel(), (s.capacity - s.server_sums(y)).ravel()])

    best = 0.0
    for share in (0.02, 0.3):
        start = np.concatenate([np.ones(s.ports), s.project(share * s.edge_demand).ravel()])
        box = [(0.0, None) for _ in ports] + [(0.0, a) for a in s.edge_demand.ravel()]
        found = optimize.minimize(
            loss,
            start,
            method="SLSQP",
            bounds=box,
            constraints={"type": "ineq", "fun": slack},
            options={"maxiter": 500, "ftol": 1e-12},
        )
        y = s.project(found.x[s.ports :].reshape(edges, kinds))
        best = max(best, float(n @ s.port_rewards(y)))
    return best


# Values known in closed form.


def test_linear_value_in_closed_form() -> None:
    found = stationary(single("linear", n=3))
    assert found.value == pytest.approx(3 * 0.5 * 1.5, rel=1e-8)


def test_equal_ports_share_a_full_server_equally() -> None:
    found = stationary(single("log", beta=0.25))
    np.testing.assert_allclose(found.decision, [[0.75], [0.75]], rtol=1e-6)


def test_a_port_stops_where_its_gain_meets_its_overhead() -> None:
    found = stationary(single("log", a=5.0, c=20.0))
    np.testing.assert_allclose(found.decision, [[1.0], [1.0]], rtol=1e-4)  # 1 / (1 + y) = beta
    assert found.value == pytest.approx(2 * (np.log(2.0) - 0.5), rel=1e-8)


@pytest.mark.parametrize("kind", utility.KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_held_where_overhead_eats_every_gain(kind: str, method: str) -> None:
    found = stationary(single(kind, beta=1.0), method=method)
    assert found.value == 0.0
    assert found.bound == pytest.approx(0.0, abs=1e-7)


# Three solvers.


@settings(max_examples=40, deadline=None)
@given(instances(max_jobs=3, min_slots=1))
def test_interior_point_agrees_with_cvxpy(instance: AllocationInstance) -> None:
    ours, theirs = stationary(instance), stationary(instance, method="cvxpy")
    assert ours.value == pytest.approx(theirs.value, rel=1e-6, abs=1e-6)
    assert ours.bound is not None
    assert ours.bound >= theirs.value * (1.0 - 1e-12)
    assert ours.gap is not None
    assert ours.gap <= 1e-8
    assert not instance.violations(ours.decision)


@settings(max_examples=25, deadline=None)
@given(instances(max_jobs=3, min_slots=1, families=["linear"]))
def test_scs_is_a_third_opinion_on_linear_programs(instance: AllocationInstance) -> None:
    solved = stationary_program(instance).solve(solver="SCS", eps=1e-9, max_iters=200_000)
    assert solved.value == pytest.approx(stationary(instance).value, rel=1e-6, abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(instances(max_ports=3, max_servers=2, max_kinds=2, min_slots=1, min_edges=1))
def test_a_general_purpose_solver_finds_nothing_better(instance: AllocationInstance) -> None:
    found = stationary(instance)
    other = by_slsqp(instance)
    assert found.bound is not None
    assert other <= found.bound + 1e-9
    assert other == pytest.approx(found.value, rel=1e-3, abs=1e-3)


@settings(max_examples=100, deadline=None)
@given(instances(sizes=WIDE, max_jobs=10_000, min_slots=1))
def test_any_scale_is_solved_to_the_gap(instance: AllocationInstance) -> None:
    s, n = instance.setting, instance.arrival_counts
    found = stationary(instance)
    assert found.bound is not None
    limit = np.minimum(s.edge_demand, s.capacity[s.server])
    gross = float(n @ s.gains(limit))  # what gains and overhead are made of; they may cancel to nothing
    assert abs(found.bound - found.value) <= 1e-8 * max(1.0, found.bound) + 1e-13 * gross
    assert found.value == pytest.approx(float(instance.rewards(found.decision).sum()), abs=1e-13 * gross)


def test_multipliers_that_drift_from_the_weights_still_give_a_bound() -> None:
    """Utilities from 1e-6 to 1.3 beside limits of 1e5: the iterates lose sum_k w = N to rounding."""
    instance = AllocationInstance(
        edges=[[p, r] for p in range(3) for r in range(2)],
        demand=[[130000.0, 180000.0], [120000.0, 90000.0], [110000.0, 70000.0]],
        capacity=[[0.0, 130000.0], [50000.0, 130000.0]],
        overhead=[1.0, 1.0],
        utility_kind=[["poly", "linear"]] * 2,
        alpha=[[1e-6, 1.3], [1.3, 0.5]],
        arrivals=[[10, 0, 10]],
    )
    found = stationary(instance)
    assert found.bound is not None
    assert found.bound >= found.value
    assert found.gap is not None
    assert found.gap <= 1e-6


@pytest.mark.parametrize("name", KNOWN)
def test_degenerate_instances_have_certified_optima(name: str) -> None:
    for oracle in (stationary, dynamic):
        gap = oracle(KNOWN[name]).gap
        assert gap is not None
        assert gap <= 1e-8


@pytest.mark.parametrize("name", ["no slots", "no jobs", "no edges", "zero capacity", "zero demand"])
@pytest.mark.parametrize("method", METHODS)
def test_where_nothing_can_be_had_zero_is_proved(name: str, method: str) -> None:
    found = stationary(KNOWN[name], method=method)
    if method == "interior point":
        assert (found.value, found.bound) == (0.0, 0.0)
        assert found.why_stopped is WhyStopped.PROVED
        assert dynamic(KNOWN[name]).why_stopped is WhyStopped.PROVED
    assert found.value == 0.0
    assert found.bound == pytest.approx(0.0, abs=1e-6)


def test_default_size_meets_the_gap_with_every_family() -> None:
    for family in ("mix", *utility.KINDS):
        instance = generate("default", seed=3, utility=family, slots=200)
        found = stationary(instance)
        assert found.why_stopped is WhyStopped.GAP_REACHED
        assert not instance.violations(found.decision)


def test_a_complete_graph_is_solved_too() -> None:
    found = stationary(generate("default", seed=3, density=10.0, servers=20))
    assert found.why_stopped is WhyStopped.GAP_REACHED
    assert "'structured interior point method: gap reached after" in repr(found)


# Theory.


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), instances(min_slots=1))
def test_numbering_does_not_matter(random: Any, instance: AllocationInstance) -> None:
    s = instance.setting
    ports, servers, kinds = (np.array(random.sample(range(n), n)) for n in (s.ports, s.servers, s.kinds))
    new_port, new_server = np.argsort(ports), np.argsort(servers)
    other = AllocationInstance(
        edges=[[new_port[p], new_server[r]] for p, r in s.edges.tolist()],
        demand=s.demand[ports][:, kinds],
        capacity=s.capacity[servers][:, kinds],
        overhead=s.overhead[kinds],
        utility_kind=np.array(utility.KINDS)[s.kind][servers][:, kinds],
        alpha=s.alpha[servers][:, kinds],
        arrivals=instance.arrivals[:, ports],
    )
    assert stationary(other).value == pytest.approx(stationary(instance).value, rel=1e-7, abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(instances(min_slots=1))
def test_more_capacity_or_more_jobs_is_never_worse(instance: AllocationInstance) -> None:
    value = stationary(instance).value
    roomier = changed(instance, capacity=(1.5 * instance.setting.capacity + 0.25).tolist())
    busier = instance.with_arrivals(instance.arrivals + 1)
    for other in (roomier, busier):
        bound = stationary(other).bound
        assert bound is not None
        assert bound >= value * (1.0 - 1e-12)


@settings(max_examples=40, deadline=None)
@given(instances(max_jobs=3))
def test_the_best_of_every_slot_is_at_least_the_best_for_all(instance: AllocationInstance) -> None:
    bound = dynamic(instance).bound
    assert bound is not None
    assert bound >= stationary(instance).value * (1.0 - 1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data(), instances(max_jobs=3, min_slots=1))
def test_no_decision_beats_its_slots_optimum(data: st.DataObject, instance: AllocationInstance) -> None:
    s = instance.setting
    y = s.project(data.draw(arrays(float, s.shape, elements=st.floats(-1.0, 12.0))))
    per_slot = dynamic(instance).certificate.per_slot
    assert (instance.rewards(y) <= per_slot[:, 1] + 1e-9).all()
    assert (per_slot[:, 0] <= per_slot[:, 1] + 1e-9).all()


@settings(max_examples=40, deadline=None)
@given(instances(max_jobs=3))
def test_replay_of_the_oracles_decisions_gives_their_value(instance: AllocationInstance) -> None:
    still = stationary(instance)
    moving = dynamic(instance)
    steps = [still.decision] * instance.setting.slots
    assert play(Replay(steps, "allocation"), instance).total == pytest.approx(still.value, rel=1e-12)
    run = play(Replay(moving.decision, "allocation"), instance)
    assert run.total == pytest.approx(moving.value, rel=1e-12)
    np.testing.assert_allclose(run.rewards, moving.certificate.per_slot[:, 0], rtol=1e-9, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.data(), instances(max_jobs=3))
def test_prefix_optima_are_the_optima_of_the_prefixes(
    data: st.DataObject, instance: AllocationInstance
) -> None:
    ends = data.draw(st.lists(st.integers(0, instance.setting.slots), max_size=4))
    values, bounds = prefix_optima(instance, ends)
    for t, value, bound in zip(ends, values, bounds, strict=True):
        expected = stationary(instance.with_arrivals(instance.arrivals[:t]))
        assert (value, bound) == (expected.value, expected.bound)


def test_prefixes_beyond_the_horizon_are_refused() -> None:
    with pytest.raises(InputError, match=r"slots\[1\]: 13 is not"):
        prefix_optima(KNOWN["single jobs"], [1, 13])


# Time, progress, limits.


@pytest.mark.parametrize("seconds", [0.0, 0.005])
@pytest.mark.parametrize("oracle", [stationary, dynamic])
def test_an_early_stop_leaves_an_honest_interval(
    oracle: Any, seconds: float, monkeypatch: pytest.MonkeyPatch, ticking: type[Budget]
) -> None:
    instance = generate("default", seed=1, servers=12, slots=60)
    exact = oracle(instance)
    monkeypatch.setattr(allocation, "Budget", ticking)
    early = oracle(instance, time_limit=seconds)
    assert early.value <= exact.bound
    assert early.bound >= exact.value
    assert early.seconds <= seconds + 0.005
    assert early.why_stopped is WhyStopped.TIME_LIMIT
    if seconds == 0.0:
        assert early.gap > 1e-3
    if oracle is dynamic:
        run = play(Replay(early.decision, "allocation"), instance)
        assert run.total == pytest.approx(early.value, rel=1e-12)
        assert (early.certificate.per_slot[:, 1] >= exact.certificate.per_slot[:, 0]).all()


def test_cvxpy_out_of_time_holds_nothing_with_a_bound() -> None:
    instance = generate("tiny")
    early = stationary(instance, method="cvxpy", time_limit=0.0)
    assert early.value == 0.0
    assert early.why_stopped is WhyStopped.TIME_LIMIT
    assert early.bound is not None
    assert early.bound >= stationary(instance).value


def test_a_loose_gap_stops_sooner() -> None:
    instance = generate("default", seed=1)
    counts = instance.arrival_counts.astype(float)
    loose = interior_point.solve(instance.setting, counts, interior_point.within(1e-2))
    tight = interior_point.solve(instance.setting, counts, interior_point.within(1e-8))
    assert loose.iterations < tight.iterations
    found = stationary(instance, gap=1e-2)
    assert found.gap is not None
    assert 1e-8 < found.gap <= 1e-2


def test_a_gap_beyond_floating_point_stalls_with_an_honest_bound() -> None:
    found = stationary(generate("tiny"), gap=0.0)
    assert found.why_stopped is WhyStopped.STALLED
    assert found.gap is not None
    assert found.gap < 1e-10


@pytest.mark.parametrize("oracle", [stationary, dynamic])
@pytest.mark.parametrize("method", METHODS)
def test_progress_ends_near_one_and_never_leaves_the_range(oracle: Any, method: str) -> None:
    seen: list[float] = []
    options = {"method": method} if oracle is stationary else {}
    oracle(generate("tiny"), progress=lambda done, _text: seen.append(done), **options)
    assert seen
    assert all(0.0 <= done <= 1.0 for done in seen)
    if method == "interior point":
        assert seen == sorted(seen)
        assert seen[-1] > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method: 'magic' is not one of interior point, cvxpy"),
        ({"gap": -1.0}, "gap: -1.0"),
        ({"time_limit": -1.0}, "time_limit: -1.0"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        stationary(generate("tiny"), **options)


def test_decisions_that_were_not_kept_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = KNOWN["several jobs"]
    kept = dynamic(instance)
    monkeypatch.setattr(allocation, "KEPT_BYTES", 0)
    found = dynamic(instance)
    assert len(found.decision) == instance.setting.slots
    for mine, theirs in zip(found.decision, kept.decision[:], strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert not theirs.flags.writeable


def test_a_certificate_that_proves_nothing_leaves_the_bound_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "certified", lambda *_: (np.inf, 0.0))
    found = stationary(KNOWN["single jobs"])
    assert found.bound is None
    assert found.gap is None
    assert found.why_stopped is WhyStopped.STALLED


# What the oracle does not take on trust.


def test_an_infeasible_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = KNOWN["single jobs"]
    monkeypatch.setattr(type(instance.setting), "project", lambda s, _y: 2.0 * s.edge_demand + 1.0)
    with pytest.raises(OracleError, match="infeasible: demand"):
        stationary(instance)


def test_a_bound_below_the_value_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "certified", lambda *_: (1e-3, 0.0))
    with pytest.raises(OracleError, match="is below the value"):
        stationary(KNOWN["single jobs"])


def test_an_unknown_status_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    program = stationary_program(KNOWN["single jobs"])
    monkeypatch.setattr(type(program), "solve", lambda _self, **_: Solved("infeasible", None, {}))
    with pytest.raises(OracleError, match="status 'infeasible' for a problem that has an optimum"):
        stationary(KNOWN["single jobs"], method="cvxpy")


def test_a_solver_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: Any, **_: Any) -> Solved:
        raise SolverError("CLARABEL: broken")

    monkeypatch.setattr(type(stationary_program(KNOWN["single jobs"])), "solve", fail)
    with pytest.raises(OracleError, match="CLARABEL: broken"):
        stationary(KNOWN["single jobs"], method="cvxpy")


def test_a_solver_without_solution_leaves_an_honest_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    program = stationary_program(KNOWN["single jobs"])
    monkeypatch.setattr(type(program), "solve", lambda _self, **_: Solved("user_limit", None, {}))
    found = stationary(KNOWN["single jobs"], method="cvxpy", time_limit=100.0)
    assert found.why_stopped is WhyStopped.TIME_LIMIT
    assert found.bound is not None
    assert found.bound > found.value == 0.0


# The pieces of the interior point method.


def test_dominant_cholesky_keeps_full_accuracy_where_the_plain_one_breaks() -> None:
    spare = 1e-20  # a Laplacian plus next to nothing: pivots far below the rounding of its diagonal
    rows = np.array([[spare, -1.0, -2.0], [0.0, spare, -3.0], [0.0, 0.0, spare]])
    assert interior_point._dominant_cholesky(rows)
    assert rows[2, 2] == pytest.approx(np.sqrt(3 * spare), rel=1e-12)


def test_plain_cholesky_drops_a_lost_pivot_and_refuses_what_is_not_finite() -> None:
    singular = np.ones((2, 2))
    assert interior_point._cholesky(singular)
    x = np.array([1.0, 1.0])
    interior_point._solve(singular, x)
    np.testing.assert_allclose(x, [1.0, 0.0], atol=1e-50)
    assert not interior_point._cholesky(np.array([[np.nan]]))
    assert not interior_point._dominant_cholesky(np.array([[np.inf]]))


def test_inverse_from_the_factor() -> None:
    rng = np.random.default_rng(0)
    half = rng.random((5, 5))
    matrix = half @ half.T + np.eye(5)
    factor, inverse = matrix.copy(), np.zeros((5, 5))
    assert interior_point._cholesky(factor)
    interior_point._add_inverse(factor, inverse)
    np.testing.assert_allclose(np.triu(inverse), np.triu(np.linalg.inv(matrix)), rtol=1e-10)


def test_the_listed_oracles_run() -> None:
    assert set(ORACLES) == {"stationary", "dynamic", "gang"}
    for entry in ORACLES.values():
        assert entry.description
        assert entry.guarantee
        if entry.problem == "allocation":
            gap = entry.function(generate("tiny")).gap
            assert gap is not None
            assert gap <= 1e-8


def test_importing_the_oracles_loads_no_solver() -> None:
    code = (
        "import sys, clairvoyant.oracles.allocation\n"
        "print([m for m in ('cvxpy', 'pyomo', 'numba', 'highspy', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
