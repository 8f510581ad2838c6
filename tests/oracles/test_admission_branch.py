"""Branch and price of admission: its kernels against enumeration, and bounds from any prices and trees."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.program import in_highs
from clairvoyant.oracles.admission import branch, exact
from clairvoyant.oracles.admission import branch_kernels as kernels
from clairvoyant.oracles.admission.bound import Priced
from clairvoyant.oracles.admission.branch import Program, affordable, leaves
from clairvoyant.oracles.admission.certificate import _renumbered, of_schedule
from clairvoyant.oracles.admission.exact import Tree
from clairvoyant.oracles.admission.optimum import offline
from clairvoyant.oracles.base import Budget, WhyStopped
from clairvoyant.oracles.deep import unrolled
from clairvoyant.testing.admission import instances
from clairvoyant.verify import check_admission

from .admission_stages import begun, by_branching, by_cp_sat, by_highs

SEEDS = st.integers(0, 2**32 - 1)
TINY = instances(max_jobs=3, max_horizon=3, max_chunks=3)


def machine(seed: int, machines: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rooms, needs and what small machines have, for three jobs and two resources."""
    rng = np.random.default_rng(seed)
    needs, has = rng.integers(0, 4, (3, 2)), rng.integers(0, 8, (machines, 2))
    rooms = np.full((machines, 3), 3)
    for h, i in itertools.product(range(machines), range(3)):
        rooms[h, i] = min([3, *(has[h, r] // needs[i, r] for r in range(2) if needs[i, r])])
    return rooms, needs.astype(float), has.astype(float)


def ways(rooms: np.ndarray, needs: np.ndarray, has: np.ndarray) -> list[np.ndarray]:
    """All that fits on a machine."""
    every = (np.array(counts) for counts in itertools.product(*(range(n + 1) for n in rooms)))
    return [counts for counts in every if (counts @ needs <= has).all()]


MOST = kernels.MOST_TRIES


@given(SEEDS, st.sampled_from([(0, 1), (0, 4), (0, MOST), (kernels.FEW_TRIES, MOST)]))
@hypothesis_settings(max_examples=150, deadline=None)
def test_no_filling_pays_more_than_its_bound(seed: int, tries: tuple[int, int]) -> None:
    rooms, needs, has = machine(seed)
    rng, best = np.random.default_rng(seed), np.zeros(3, dtype=np.int64)
    price = [rng.integers(0, 4, 3) / 4.0, needs @ rng.random(2), rng.random(3)][seed % 3]
    most = max(price @ counts for counts in ways(rooms[0], needs, has[0]))
    run = kernels.fill if tries[0] else kernels.fill.py_func
    with patch.object(kernels, "FEW_TRIES", tries[0]), np.errstate(divide="ignore"):  # as compiled
        bound, steps = run(price, rooms[0], needs, has[0], tries[1], best)
    assert steps <= sum(tries) + 2  # each of two searches ends with the step that is too many
    assert most * (1.0 - 1e-15) <= bound < math.inf  # sums of prices may be rounded otherwise here
    assert (best <= rooms[0]).all()
    assert (best @ needs <= has[0]).all()
    if tries[1] == MOST:
        near = 1e-12 if tries[0] else 1e-10  # weighed sums have more rounding
        assert price @ best == pytest.approx(most, rel=near)
        assert bound == pytest.approx(most, rel=near)


@given(SEEDS, st.integers(1, 6), st.integers(1, 4))
@hypothesis_settings(max_examples=200, deadline=None)
def test_weights_of_resources_are_multipliers_of_the_linear_program(seed: int, jobs: int, width: int) -> None:
    """What fills the weighted sum in parts is worth what the linear program is, where all limits count."""
    rng, weights = np.random.default_rng(seed), np.zeros(width)
    share, room = rng.integers(0, 5, (jobs, width)) / 4.0, rng.integers(1, 4, jobs)
    share[:, 0] += 0.25  # everybody takes something
    price = 10.0 ** rng.integers(-9, 9) * (rng.integers(1, 4, jobs) if seed % 2 else 1e-3 + rng.random(jobs))
    kernels.weigh(price, share, room, weights)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0) or not weights.any()
    total = share @ weights
    with np.errstate(divide="ignore"):  # nothing is dear if all find room
        order = np.argsort(-price / total, kind="stable")
    found = kernels.in_parts(price, room, order, total[order], 1.0)
    limits = [(0, most) for most in room]
    exact = linprog(-price / price.max(), share.T, np.ones(width), bounds=limits)
    assert found == pytest.approx(-exact.fun * price.max(), rel=1e-9)


def test_weights_are_found_where_many_steps_have_no_length() -> None:
    """By the steepest column alone, the simplex method goes round in circles here."""
    rng, weights = np.random.default_rng(31883), np.zeros(10)
    share = np.minimum(1.0, rng.integers(0, 3, (20, 10)) / rng.integers(2, 12))
    share[share.sum(axis=1) == 0.0, 0] = 0.5
    room = np.maximum(1, np.floor(1.0 / share.max(axis=1) + 1e-9)).astype(np.int64)
    kernels.weigh(share.sum(axis=1), share, room, weights)
    np.testing.assert_allclose(weights, 0.1)  # all that runs earns what it takes


def crowded(jobs: int, machines: int, *, equal: bool) -> AdmissionInstance:
    """Many resources, each of which some jobs need: fillings are hard to search."""
    rng, width = np.random.default_rng(1), 8
    job: dict[str, Any] = {"arrival": 1, "epochs": 3, "chunks": 3, "minibatches": 1, "minibatch_time": 1}
    job |= {"gradient_size": 0, "worker_bandwidth": 1, "server_bandwidth": 1}
    job |= {"utility": {"priority": 1.0, "decay": 0.0, "target": 0.0}}
    needs = rng.integers(1, 60, (2, jobs, width)).tolist()
    has = rng.integers(90, 110, (machines, 2, width))
    workers, servers = (np.repeat(has[:1], machines, axis=0) if equal else has).transpose(1, 0, 2).tolist()
    return AdmissionInstance(
        horizon=4,
        resources=[f"r{r}" for r in range(width)],
        worker_servers=workers,
        parameter_servers=servers,
        jobs=[job | {"worker_demand": a, "server_demand": b} for a, b in zip(*needs, strict=True)],
    )


def test_all_machines_share_the_steps_of_a_search() -> None:
    """However many they are and however hard they are to fill, prices are answered soon."""
    rooms, needs, has, first, filled = Program(crowded(60, 20, equal=False))._arrays[0]
    price = np.random.default_rng(0).random((4, 60))
    bounds = []
    for most in (10**4, 10**9):
        with patch.object(kernels, "ALL_TRIES", most):
            bound, steps = kernels.fill_all.py_func(price, rooms, needs, has, first, filled)
        assert steps <= most + 4 * 20 * 2 * (kernels.FEW_TRIES + 1)
        bounds.append(bound)
    assert bounds[0] >= bounds[1] * (1.0 - 1e-9)  # what is not searched is bounded by less


def test_equal_machines_are_filled_once() -> None:
    few, many = (Program(crowded(30, machines, equal=True)) for machines in (1, 7))
    price = np.random.default_rng(0).random((2, 4, 30))
    assert many._fill(price) == pytest.approx(7 * few._fill(price), rel=1e-12)
    assert many.steps == few.steps > 0
    for (*_, filled), (*_, alone) in zip(many._arrays, few._arrays, strict=True):
        np.testing.assert_array_equal(filled, np.repeat(alone, 7, axis=1))


def test_steps_are_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a time limit, "auto" would else take hours where machines are hard to fill."""
    begun_, works = begun(crowded(20, 3, equal=False), Budget(0.0, None)), []
    for per_step in (0.0, 1.0):
        monkeypatch.setattr(exact, "FILL_WORK", per_step)
        works.append(next(exact.by_branching(begun_)))
    assert works[1] > works[0] + 1000.0


def test_fillings_of_many_jobs_are_bounded_by_all_resources_together() -> None:
    """By one resource at a time, the search for the best fillings does not end in as many steps."""
    instance, rng = generate("default", 2, jobs=50), np.random.default_rng(0)
    rooms, needs, has, *_ = Program(instance)._arrays[0]
    worth = np.array([job.utility(0) / job.work for job in instance.jobs])
    best, nothing, within = np.zeros(50, dtype=np.int64), np.zeros(0), (kernels.MOST_TRIES, kernels.NEAR)
    found = []
    for _, (room, one) in itertools.product(range(10), zip(rooms, has, strict=True)):
        price = worth * np.exp(0.3 * rng.standard_normal(50))
        order = np.argsort(-price * room)[: np.count_nonzero(room)]
        alone, _ = kernels.descend(price, room, needs, one, order, nothing, within, best)
        before = price @ best
        together, _ = kernels.fill(price, room, needs, one, MOST, best)
        assert before * (1.0 - 1e-9) <= price @ best <= together
        found.append((price @ best, together, alone))
    earned, together, alone = np.sum(found, axis=0)
    assert together <= 1.001 * earned < 0.9 * alone


def test_prices_of_capacity_are_what_a_job_pays_where_that_is_least() -> None:
    """Machines on which nothing of the job fits do not count: each instance here has some."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        instance = generate("default", seed)
        setting, shapes = instance.setting, ("worker_units", "server_units")
        sides = [rng.random((setting.horizon, *getattr(setting, name).shape)) for name in shapes]
        found = branch.asked(instance, Priced(0.0, sides[0], sides[1], np.zeros(0), ""))
        rooms = (setting.worker_room, setting.server_room)
        assert any((room(job) == 0).any() for room in rooms for job in instance.jobs)
        for job in instance.jobs:
            for side, demand, room in (
                (0, job.worker_demand, setting.worker_room(job)),
                (1, job.server_demand, setting.server_room(job)),
            ):
                costs = [sides[side][:, h] @ demand for h in np.flatnonzero(room)]
                wanted = np.min(costs, axis=0) if job.index not in instance.never else np.zeros(1)
                here = slice(job.arrival - 1, None)
                assert found[side, here, job.index] == pytest.approx(wanted[here] if costs else 0.0)
                assert not found[side, : job.arrival - 1, job.index].any()


@given(SEEDS)
@hypothesis_settings(max_examples=60, deadline=None)
def test_what_is_packed_fits_and_is_whole(seed: int) -> None:
    rooms, needs, has = machine(seed, machines=2)
    counts = np.random.default_rng(seed).integers(0, 4, 3)
    placed = np.zeros(rooms.shape, dtype=np.int64)
    if kernels.pack(counts, rooms, needs, has, placed):
        assert placed.sum(axis=0).tolist() == counts.tolist()
        assert (placed <= rooms).all()
        assert (placed @ needs <= has).all()
    else:
        assert any(not (counts <= one).all() for one in ways(rooms[0], needs, has[0]))


@given(SEEDS, st.booleans())
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_best_run_is_that_of_enumeration(seed: int, must: bool) -> None:
    rng, servers = np.random.default_rng(seed), np.array([0, 1, 1, 2])
    arrival, work = int(rng.integers(1, 3)), int(rng.integers(1, 6))
    earned, price = np.sort(rng.random(4))[::-1].copy(), rng.random((2, 4)) / 4.0
    low, high = rng.integers(0, 2, 4) * (rng.random(4) < 0.3), rng.integers(0, 4, 4)
    ends, counts = (int(rng.integers(0, 3)), int(rng.integers(2, 5))), np.zeros(4, dtype=np.int64)
    low[: arrival - 1] = 0
    gain, done = kernels.best_run(
        (arrival, work, earned, servers), low, high, ends, -math.inf if must else 0.0, price, counts
    )
    best = -math.inf if must else 0.0
    for y in itertools.product(*(range(n, m + 1) for n, m in zip(low, high, strict=True))):
        y = (0,) * (arrival - 1) + y[arrival - 1 :]
        last = max((t + 1 for t in range(4) if y[t]), default=0)
        # more than the work is of no use, but may be what the least numbers ask for
        if sum(y) >= work and ends[0] <= last <= ends[1]:
            cost = sum(price[0, t] * y[t] + price[1, t] * servers[y[t]] for t in range(4))
            best = max(best, earned[last - arrival] - cost)
    assert gain == pytest.approx(best)
    if done:
        assert counts.sum() >= work
        assert (counts[done:] == 0).all()


@given(TINY, st.sampled_from([0.0, 0.5, 1.0, 1.001, 2.0]))
@hypothesis_settings(max_examples=25, deadline=None)
def test_any_prices_bound_all_schedules(instance: AdmissionInstance, scale: float) -> None:
    best = by_cp_sat(instance, Budget(0.0, None))
    value = math.fsum(instance.rewards(best.schedule).tolist())
    search = Tree(begun(instance, Budget(0.0, None)))
    search.grow(2)
    bounds = [Program(instance).bound(scale * price, {}) for price in search.prices]
    assert all(bound is not None and bound >= value for bound in bounds)


@given(TINY, st.integers(1, 4))
@hypothesis_settings(max_examples=25, deadline=None)
def test_a_tree_that_is_cut_off_still_bounds(instance: AdmissionInstance, nodes: int) -> None:
    whole = by_branching(instance, Budget(0.0, None))
    part = by_branching(instance, Budget(0.0, None), steps=nodes)
    assert part.bound >= math.fsum(instance.rewards(whole.schedule).tolist())


@pytest.mark.parametrize("gap", [0.0, 0.05])
@pytest.mark.parametrize("jobs", [4, 8, 12])
def test_bounds_hold_at_every_node(jobs: int, gap: float) -> None:
    """Leaves that are closed count as well: no bound is below the optimum."""
    for seed in range(8):
        instance = generate("tiny", seed, jobs=jobs)
        optimum = by_branching(instance, Budget(0.0, None))
        best = begun(instance, Budget(gap, None))
        bounds: list[float] = []
        with patch.object(best, "limit", lambda bound, *_, into=bounds: into.append(bound)):
            for _ in itertools.islice(exact.by_branching(best), 40):
                pass
        assert min(bounds) >= math.fsum(instance.rewards(optimum.schedule).tolist())


def test_progress_does_not_tell_the_bound_of_highs() -> None:
    told: list[tuple[str, float]] = []
    for seed in range(3):
        by_highs(
            generate("tiny", seed),
            Budget(0.0, None),
            lambda _, text, *, bound=math.nan, **__: told.append((text, bound)),
        )
    assert {text for text, _ in told} >= {"HiGHS"}
    assert all(math.isnan(bound) for text, bound in told if text == "HiGHS")


@given(TINY, st.sampled_from([0.0, 0.3]), st.integers(1, 12))
@hypothesis_settings(max_examples=25, deadline=None)
def test_a_tree_proves_what_its_leaves_prove(instance: AdmissionInstance, gap: float, nodes: int) -> None:
    search = Tree(begun(instance, Budget(gap, None)))
    tree = search.grow(nodes)
    each = [search.bound(number, limits) for number, limits in leaves(tree)]
    assert search.proved(lambda: False) == max(each)
    assert search.proved(lambda: True) >= max(each) * (1.0 - 1e-9)


def every_decision(instance: AdmissionInstance) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """All decisions of one slot: workers (I, H), servers (I, K), and what they earn."""
    setting, jobs, found = instance.setting, range(len(instance.jobs)), []
    rooms = [
        np.array([room(job) for job in instance.jobs]) for room in (setting.worker_room, setting.server_room)
    ]
    hypothesis.assume(math.prod(int(n) + 1 for room in rooms for n in room.flat) <= 1000)
    every = [
        [np.reshape(counts, room.shape) for counts in itertools.product(*(range(n + 1) for n in room.flat))]
        for room in rooms
    ]
    for workers, servers in itertools.product(*every):
        runs = workers.sum(axis=1).astype(int)
        earned = [instance.jobs[i].utility(0) if runs[i] >= instance.jobs[i].work else 0.0 for i in jobs]
        ends = all(runs[i] in (0, instance.jobs[i].work) for i in jobs)
        able = all(n <= job.chunks for n, job in zip(runs, instance.jobs, strict=True))
        enough = able and all(
            instance.jobs[i].servers_for[n] <= servers[i].sum() <= n for i, n in enumerate(runs)
        )
        sides = (
            (workers, instance.worker_needs, setting.worker_units),
            (servers, instance.server_needs, setting.server_units),
        )
        if ends and enough and all((one.T @ needs <= units).all() for one, needs, units in sides):
            found.append((workers, servers, math.fsum(earned)))
    return found


@given(instances(min_jobs=1, max_jobs=2, max_horizon=1, max_chunks=2), SEEDS, st.integers(1, 3))
@hypothesis_settings(max_examples=300, deadline=None)
def test_limits_on_machines_keep_all_that_keeps_them(
    instance: AdmissionInstance, seed: int, count: int
) -> None:
    """Prices bound whatever keeps the limits of a leaf."""
    rng, jobs = np.random.default_rng(seed), len(instance.jobs)
    hypothesis.assume(jobs > 0)
    machines = [len(instance.setting.worker_units), len(instance.setting.server_units)]
    limits: branch.Limits = {}
    for _ in range(count):
        side = int(rng.integers(0, 2))
        if machines[side]:
            key = int(rng.integers(0, jobs)), 1, side, int(rng.integers(0, machines[side]))
            limits[key] = [(0, int(rng.integers(0, 2))), (int(rng.integers(1, 3)), math.inf)][
                int(rng.integers(0, 2))
            ]
    price = rng.integers(0, 3, (2, 1, jobs)) * max(job.utility(0) for job in instance.jobs) / 4.0
    kept = [
        earned
        for *sides, earned in every_decision(instance)
        if all(least <= sides[side][i, h] <= most for (i, _, side, h), (least, most) in limits.items())
    ]
    bound = Program(instance).bound(price, limits)
    if kept:
        assert bound is not None
        assert max(kept) <= bound


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("limit", "jobs"), [((0, 0), 1), ((0, 1), 2), ((1, math.inf), 2), ((2, math.inf), None)]
)
def test_what_has_to_run_on_a_machine_is_paid_and_takes_room(
    side: int, limit: tuple[int, float], jobs: int | None
) -> None:
    instance = alike(2, 5e8)
    limits: branch.Limits = {(0, 1, side, 0): limit}
    price = np.zeros((2, 1, 2))
    price[side] = [job.utility(0) for job in instance.jobs]  # jobs gain nothing, machines are paid all
    paid = None if jobs is None else pytest.approx(price[side, 0, -jobs:].sum(), rel=1e-9)
    assert Program(instance).bound(price, limits) == paid


def test_what_has_to_run_leaves_no_room_for_what_does_not_fit_beside_it() -> None:
    """Of a resource of which nothing is left, nobody takes a share."""
    program, price = Program(crowded(12, 1, equal=True)), np.ones((2, 4, 12))
    needs = program._arrays[0][1]
    left = program._arrays[0][2][0] - needs[0]
    limits: branch.Limits = {(0, 1, 0, 0): (1, math.inf)}
    program._limit(limits)
    room, *_ = program._here[0, 0, 0]
    assert (room == [min(np.append(left // need, 2 if i == 0 else 3)) for i, need in enumerate(needs)]).all()
    assert math.isfinite(program.bound(price, limits) or math.nan)


def test_machines_that_are_filled_in_parts_are_branched_upon() -> None:
    """Two machines hold halves of two fillings each, which is all of every job; none holds half a job."""
    apart = [[(0, 2), (0, 3), (1, 2), (1, 3)], [(0, 1), (0, 3), (2, 1), (2, 3)]]  # on each of the machines
    pairs = [(h, pair) for h in range(2) for pair in apart[h]]
    job: dict[str, Any] = {"arrival": 1, "epochs": 1, "chunks": 1, "minibatches": 1, "minibatch_time": 1}
    job |= {"gradient_size": 0, "worker_bandwidth": 1, "server_bandwidth": 1, "server_demand": [0] * 8}
    job |= {"utility": {"priority": 1, "decay": 0, "target": 0}}  # earns 1/2
    instance = AdmissionInstance(
        horizon=1,
        resources=[f"r{r}" for r in range(8)],
        worker_servers=[[1 if h == own else 2 for h, _ in pairs] for own in range(2)],
        parameter_servers=[[0] * 8],
        jobs=[job | {"worker_demand": [int(i in pair) for _, pair in pairs]} for i in range(4)],
    )
    optimum = offline(instance, gap=1e-9)
    assert optimum.value == pytest.approx(1.5)
    assert optimum.why_stopped in (WhyStopped.PROVED, WhyStopped.GAP_REACHED)
    _, proof = of_schedule(instance, optimum)  # whose checker knows no such branches
    assert all(len(what) < 3 for _, limits in leaves(proof["tree"]) for what in limits)


@given(TINY, st.integers(1, 4))
@hypothesis_settings(max_examples=25, deadline=None)
def test_a_tree_goes_on_growing_where_it_was(instance: AdmissionInstance, nodes: int) -> None:
    search, again = (Tree(begun(instance, Budget(0.0, None))) for _ in range(2))
    for _ in range(nodes):
        again.grow(1)
    assert search.grow(nodes) == again.grow(0)
    assert [price.tolist() for price in search.prices] == [price.tolist() for price in again.prices]
    assert search.best.value == again.best.value
    assert search.programs == again.programs


def test_a_tree_goes_on_after_its_time_was_over() -> None:
    """Nothing is lost where the clock cut off: not the node it was at, nor a schedule from elsewhere."""
    instance = generate("tiny", 0)
    whole = by_branching(instance, Budget(0.0, None))
    value = math.fsum(instance.rewards(whole.schedule).tolist())
    tree = Tree(begun(instance, Budget(0.0, None)))
    with patch.object(Program, "solve", lambda *_: None):
        tree.grow(1)
    assert not tree.ended
    assert tree.proved(lambda: True) > value * (1.0 + 1e-6)
    other = Tree(begun(instance, Budget(0.0, None), start=whole.schedule))
    assert tree.most < other.most == pytest.approx(value)
    for one in (tree, other):
        while not one.ended:
            one.grow(1)
        assert one.proved(lambda: True) == pytest.approx(value, rel=1e-8)
        assert one.best.value == pytest.approx(value)


def test_leaves_have_the_limits_of_their_branches() -> None:
    tree: Any = [0, 3, [1, 2, 4, 5, 6], 7]
    assert list(leaves(tree)) == [
        (5, {(0,): (0, 3), (1, 2): (0, 4)}),
        (6, {(0,): (0, 3), (1, 2): (5, math.inf)}),
        (7, {(0,): (4, math.inf)}),
    ]


def test_a_tree_may_be_as_deep_as_it_likes() -> None:
    tree: Any = 0
    for slot in range(5000):
        tree = [0, slot, 1, tree]
    assert [number for number, _ in leaves(tree)] == [1] * 5000 + [0]
    copied = unrolled(_renumbered(tree, [1, 0]))
    assert (copied[:3], [number for number, _ in leaves(copied)]) == ([0, 4999, 0], [0] * 5000 + [1])


def test_two_jobs_that_want_one_place_pay_what_one_earns() -> None:
    one: dict[str, Any] = {
        "arrival": 1,
        "epochs": 1,
        "chunks": 1,
        "minibatches": 1,
        "minibatch_time": 1,
        "gradient_size": 0,
    }
    one |= {"worker_bandwidth": 1, "server_bandwidth": 1, "worker_demand": [1], "server_demand": [1]}
    one |= {"utility": {"priority": 8, "decay": 0, "target": 0}}  # earns 4
    place: dict[str, Any] = {"worker_servers": [[1]], "parameter_servers": [[2]]}
    instance = AdmissionInstance(horizon=1, resources=["cpu"], **place, jobs=[one, one])
    for price, bound in ((0.0, 8.0), (1.0, 7.0), (4.0, 4.0), (5.0, 5.0)):
        prices = np.array([[[price, price]], [[0.0, 0.0]]])
        assert Program(instance).bound(prices, {}) == pytest.approx(bound, rel=1e-9)
    part = by_branching(instance, Budget(0.0, None))
    assert part.bound == pytest.approx(4.0, rel=1e-9)


def alike(count: int, amount: float, amounts: float = 1e9, **utility: float) -> AdmissionInstance:
    """Jobs of one worker and one server that both need such an amount of the only machines."""
    told = {"priority": 1.0, "decay": 0.0, "target": 2.0} | utility
    job: dict[str, Any] = {"arrival": 1, "epochs": 1, "chunks": 1, "minibatches": 1, "minibatch_time": 1}
    job |= {"gradient_size": 0, "worker_bandwidth": 1, "server_bandwidth": 1}
    job |= {"worker_demand": [amount], "server_demand": [amount]}
    jobs = [job | {"utility": told | {"priority": told["priority"] * (1.0 + 0.01 * i)}} for i in range(count)]
    place: dict[str, Any] = {"worker_servers": [[amounts]], "parameter_servers": [[amounts]]}
    return AdmissionInstance(horizon=1, resources=["cpu"], **place, jobs=jobs)


SMALL = st.sampled_from([2.3e-308, 1e-307, 1e-306, 1e-300, 1.0])
FEW = st.sampled_from([(4, 5e8), (7, 3e8), (13, 1e8 - 1e-6), (4, 0.5)])


@given(SMALL, FEW, st.sampled_from([0.0, 1.0, 5.0]), st.floats(0.0, 2.0))
@hypothesis_settings(max_examples=60, deadline=None)
def test_bounds_hold_down_to_the_least_numbers(
    priority: float, few: tuple[int, float], decay: float, price: float
) -> None:
    instance = alike(*few, priority=priority, decay=decay, target=0.0)
    earned = sorted((Fraction(job.utility(0)) for job in instance.jobs), reverse=True)
    best = sum(earned[: int(1e9 // few[1])])
    prices = np.full((2, 1, few[0]), price * float(earned[-1]))
    bound = Program(instance).bound(prices, {})
    assert bound is not None
    assert best <= Fraction(bound)
    part = by_branching(instance, Budget(1e-9, None))
    assert best <= Fraction(part.bound) <= best * (1 + Fraction(1, 10**8)) + 100 * Fraction(math.ulp(0.0))


HUGE: dict[str, Any] = {"epochs": 10**6, "chunks": 10**4, "minibatches": 10**9, "server_bandwidth": 0.5}


@pytest.mark.parametrize("never", [{"worker_demand": [9]}, HUGE])
def test_jobs_that_can_never_finish_do_not_matter(never: dict[str, Any]) -> None:
    """Neither for whether there is a tree, nor for its unit, nor for the certificate."""
    told = alike(3, 1, 1)
    jobs = told.to_dict()["jobs"]
    # their utilities are next to nothing beside that one, and so is what they lose by waiting
    other = {"arrival": 1, "utility": {"priority": 1.9e6, "decay": 0.0, "target": 0.0}} | never
    small = [job | {"utility": job["utility"] | {"priority": 1e-4 * (2 + i)}} for i, job in enumerate(jobs)]
    place: dict[str, Any] = {"worker_servers": [[1]], "parameter_servers": [[1]]}
    instance = AdmissionInstance(
        horizon=2, resources=["cpu"], **place, jobs=[*jobs[:1], *small, jobs[0] | other]
    )
    assert instance.never.keys() == {4}
    assert affordable(instance)
    optimum = offline(instance, method="branch-and-price", gap=1e-9)
    assert optimum.why_stopped in (WhyStopped.PROVED, WhyStopped.GAP_REACHED)
    shown = check_admission(instance.to_dict(), "", *of_schedule(instance, optimum))
    assert shown.bound <= shown.value * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("never", ["bandwidth", "delay"])
def test_what_no_job_can_earn_is_no_unit(never: str) -> None:
    job: dict[str, Any] = {"arrival": 1, "epochs": 2, "chunks": 2, "minibatches": 1, "minibatch_time": 1}
    job |= {"gradient_size": 0, "worker_bandwidth": 1, "server_bandwidth": 1}
    job |= {"worker_demand": [1], "server_demand": [1], "utility": {"priority": 1, "decay": 30, "target": 0}}
    small = job | {"utility": {"priority": 1e-3, "decay": 1, "target": 1}}
    dear = small | {"worker_bandwidth": 3, "utility": {"priority": 1e9, "decay": 1, "target": 1}}
    jobs = [dear, *[small] * 5] if never == "bandwidth" else [job] * 4
    place: dict[str, Any] = {"worker_servers": [[2], [1]], "parameter_servers": [[3]]}
    instance = AdmissionInstance(horizon=3, resources=["cpu"], **place, jobs=jobs)
    best, part = (solve(instance, Budget(1e-9, None)) for solve in (by_cp_sat, by_branching))
    value = math.fsum(instance.rewards(best.schedule).tolist())
    assert value <= part.bound <= value * (1.0 + 1e-8)
    assert math.fsum(instance.rewards(part.schedule).tolist()) >= value * (1.0 - 1e-8)


def test_packings_are_found_where_amounts_differ_much() -> None:
    """By HiGHS's own tolerance, a machine holds a little more than it has: the packing is then refused."""
    job: dict[str, Any] = {
        "arrival": 1,
        "chunks": 3,
        "epochs": 1,
        "minibatches": 1,
        "minibatch_time": 1,
        "gradient_size": 0,
    }
    job |= {"worker_bandwidth": 1, "server_bandwidth": 7, "utility": {"priority": 1, "decay": 0, "target": 0}}
    needs = [[4.0, 199999.999999], [30.0, 0.003], [600.0, 400000.0], [20.0, 0.0]]
    jobs = [job | {"worker_demand": need, "server_demand": [0, 0]} for need in needs]
    instance = AdmissionInstance(
        horizon=1,
        resources=["r0", "r1"],
        worker_servers=[[400000.0, 1000000.0], [11000000.0, 100.00001]],
        parameter_servers=[[700.0, 0.08]],
        jobs=jobs,
    )
    found = Program(instance)._packed(0, np.array([3, 3, 1, 1]), Budget(0.0, None))
    np.testing.assert_array_equal(found, [[3, 0, 1, 0], [0, 3, 0, 1]])


def test_a_packing_that_exceeds_an_amount_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "pack", lambda *_: False)
    counts, budget = np.array([1, 1]), Budget(0.0, None)
    program = Program(alike(2, 5e8))
    np.testing.assert_array_equal(program._packed(0, counts, budget), [[1, 1]])
    assert Program(alike(2, 500000000.000001))._packed(0, counts, budget) is None  # HiGHS takes that as 5e8
    solved = in_highs

    def planted(*of: Any, **options: Any) -> Any:
        highs = solved(*of, **options)
        return SimpleNamespace(
            run=highs.run,
            getModelStatus=highs.getModelStatus,
            getSolution=lambda: SimpleNamespace(col_value=[2.0, 1.0]),  # one more than fits
        )

    monkeypatch.setattr(branch, "in_highs", planted)
    assert program._packed(0, counts, budget) is None
