"""Every method looks at its budget in time, and more rounds or time never give a worse schedule.

No clock is asked here: a budget counts how often it is asked, and is spent after a number of times.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.base import InputError
from clairvoyant.models.placement import kernels
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.oracles.base import Budget, WhyStopped
from clairvoyant.oracles.placement import bound as placement_bound
from clairvoyant.oracles.placement import exact as placement_exact
from clairvoyant.oracles.placement import exact_kernels as placement_kernels
from clairvoyant.oracles.placement import optimum
from clairvoyant.oracles.placement import search as placement_search
from clairvoyant.oracles.placement import search_kernels as search_kernels
from clairvoyant.oracles.placement.bound import lower_bound
from clairvoyant.oracles.placement.exact import (
    by_branch_and_bound,
    by_cpsat,
    by_enumeration,
    by_program,
    list_schedule,
    root_bound,
)
from clairvoyant.oracles.placement.search import search
from clairvoyant.testing.placement import instances


class Asked(Budget):
    """A budget that is spent when it has been asked so often; its clock says nothing of use."""

    def __init__(self, most: float, gap: float = 0.0) -> None:
        super().__init__(gap, 1.0)
        self.most, self.asked = most, 0

    @property
    def over(self) -> bool:
        self.asked += 1
        return self.asked > self.most

    @property
    def seconds(self) -> float:
        return math.sin(self.asked)

    @property
    def left(self) -> float:
        return math.inf


def gangs(count: int, gpus: tuple[int, ...], size: int, **options: Any) -> PlacementInstance:
    """Return an instance of gangs that come one a second and are in each other's way."""
    rng = np.random.default_rng(count)
    plain = {"gpus": 1, "cpus": 0, "memory": 0}
    jobs = [
        {
            "submit": i,
            "duration": int(rng.integers(5, 50)),
            "instances": int(rng.integers((size + 1) // 2, size + 1)),
            **plain,
        }
        for i in range(count)
    ]
    machines = [{"gpus": g, "cpus": 1, "memory": 1} for g in gpus]
    return PlacementInstance(machines=machines, jobs=jobs, **options)


SLOW: dict[str, Any] = {"slowdown": {"communication": 1.0, "contention": 0.5}}
METHODS = (by_enumeration, by_branch_and_bound, by_cpsat, by_program)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(1, 6))
def test_spreads_are_all_there_are(rooms: list[int], instances: int) -> None:
    expected = [
        counts
        for counts in itertools.product(*(range(room + 1) for room in rooms))
        if sum(counts) == instances
    ]
    assert list(placement_exact._spreads(rooms, instances)) == expected


@pytest.mark.parametrize("gpus", [(10_000,), (10_000, 0, 0, 0), (5_000, 5_000, 1, 0), (10_000,) * 3])
@pytest.mark.parametrize("most", [0, 1, 2, 5, 20])
def test_an_enumeration_of_large_gangs_ends_when_its_budget_does(
    gpus: tuple[int, ...], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance, calls, budget = gangs(6, gpus, 10_000), [0], Asked(most)
    plain = placement_exact._spreads

    def counted(*given: Any) -> Any:
        calls[0] += 1
        assert calls[0] < 10_000, "too many steps between two looks at the budget"
        return plain(*given)

    monkeypatch.setattr(placement_exact, "_spreads", counted)
    found = by_enumeration(instance, budget)
    assert budget.asked == most + 1
    assert found.why_stopped is WhyStopped.TIME_LIMIT
    assert found.bound is None


@pytest.mark.parametrize("shape", [(101, (4,)), (2, (1,) * 101)])
def test_an_enumeration_refuses_what_is_not_tiny(shape: tuple[int, tuple[int, ...]]) -> None:
    with pytest.raises(InputError, match=r"too many to enumerate \(at most 100\)"):
        by_enumeration(gangs(shape[0], shape[1], 2), Budget(0.0, None))


def test_the_longest_path_of_an_enumeration_is_not_too_deep_for_python() -> None:
    """A window of one: nothing is left to decide, and there is one epoch per job."""
    job = {"submit": 0, "duration": 1, "instances": 1, "gpus": 1, "cpus": 0, "memory": 0}
    machines = [{"gpus": 1, "cpus": 0, "memory": 0}]
    instance = PlacementInstance(machines=machines, jobs=[job] * 100, window=1)
    assert by_enumeration(instance, Budget(0.0, None)).bound == 5050.0


@pytest.mark.parametrize("contention", [0.0, 0.5])
@pytest.mark.parametrize("count", [5, 40, 150])
def test_the_branch_and_bound_makes_few_steps_between_two_looks(
    count: int, contention: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Choices, skipped spreads and epochs are all steps; their number falls with jobs and machines."""
    instance = gangs(count, (9, 8, 7, 6), 20, slowdown={"communication": 1.0, "contention": contention})
    plain, made = placement_kernels.explore, []

    def watched(table: Any, tree: Any, *given: Any) -> Any:
        before = int(tree.cursor[placement_kernels.STEPS])
        done = plain(table, tree, *given)
        made.append(int(tree.cursor[placement_kernels.STEPS]) - before)
        return done

    monkeypatch.setattr(placement_exact, "explore", watched)
    monkeypatch.setattr(placement_exact, "SLICE", 10**5)
    found = by_branch_and_bound(instance, Asked(12))  # of which 8 go to the list schedules
    assert 0 < len(made) <= 4
    assert max(made) * (count**2 + 4**2) <= 10**5
    assert found.bound is not None
    assert found.why_stopped is WhyStopped.TIME_LIMIT


@given(instances(max_jobs=5, max_gpus=3))
@hypothesis_settings(max_examples=25, deadline=None)
def test_the_branch_and_bound_is_the_same_step_by_step(instance: PlacementInstance) -> None:
    with pytest.MonkeyPatch.context() as patch:
        whole = by_branch_and_bound(instance, Budget(0.0, None))
        patch.setattr(placement_exact, "SLICE", 1)
        steps = by_branch_and_bound(instance, Budget(0.0, None))
    assert (whole.units, whole.method, whole.why_stopped) == (steps.units, steps.method, steps.why_stopped)
    assert whole.schedule is not None
    assert steps.schedule is not None
    assert np.array_equal(whole.schedule.rows, steps.schedule.rows)


@pytest.mark.parametrize("most", [0, 9, 30, 50, 100])
def test_declaring_for_cp_sat_ends_when_the_budget_does(most: int) -> None:
    instance, budget = gangs(30, (9,) * 4, 20), Asked(most)
    found = by_cpsat(instance, budget)
    assert budget.asked <= most + 2  # the list schedules and the model, each once too often
    assert found.why_stopped is WhyStopped.TIME_LIMIT
    assert found.method.endswith("too large for the time")
    assert found.units == root_bound(instance)


def test_the_program_is_not_declared_where_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    class Short(Asked):
        @property
        def left(self) -> float:
            return 1.0

    monkeypatch.setattr(placement_exact, "placement_program", lambda _: pytest.fail("declared"))
    found = by_program(gangs(30, (9,) * 4, 20), Short(100))
    assert found.why_stopped is WhyStopped.TIME_LIMIT
    assert found.method.endswith("too large for the time")


def test_without_time_one_list_schedule_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, made = kernels.run_by_keys, []

    def counted(*given: Any) -> None:
        made.append(given)
        plain(*given)

    monkeypatch.setattr(kernels, "run_by_keys", counted)
    instance = gangs(5, (4, 4), 4)
    for most, lists in ((0, 1), (1, 2), (7, 8), (100, 9)):
        made.clear()
        list_schedule(instance, Asked(most))
        assert len(made) == lists


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
@hypothesis_settings(max_examples=8, deadline=None)
def test_every_method_ends_with_a_spent_budget_and_proves_nothing_wrong(
    method: Any, data: st.DataObject
) -> None:
    instance = data.draw(instances(max_jobs=3, max_machines=2, contention=False, windows=False))
    best = by_enumeration(instance, Budget(0.0, None)).units
    assert best is not None
    budget = Asked(data.draw(st.integers(0, 12)))
    found = method(instance, budget)
    assert found.units is None or found.units <= best
    if found.schedule is not None:
        assert best <= instance.units(found.schedule)


@given(instances(min_jobs=2, max_jobs=9), st.lists(st.integers(0, 400), min_size=2, max_size=4))
@hypothesis_settings(max_examples=25, deadline=None)
def test_more_time_never_lowers_the_bound(instance: PlacementInstance, most: list[int]) -> None:
    bounds = [lower_bound(instance, Asked(looks)).units for looks in sorted(most)]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("few", [1, 10**6])
def test_a_longer_run_never_ends_worse(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In all that it takes turns at, with prices of lanes at first or of jobs alone."""
    monkeypatch.setattr(placement_bound, "FEW_WAYS", few)
    monkeypatch.setattr(placement_bound, "FIRST_WORK", 1e5)
    monkeypatch.setattr(placement_exact, "SLICE", 10**5)
    monkeypatch.setattr(optimum, "STEP", 1e-3)
    monkeypatch.setattr(optimum, "PRICES_FIRST", 1e-3)
    monkeypatch.setattr(placement_exact, "SLICE_SECONDS", 1e-2)
    instance, found = gangs(9, (4, 4, 3), 8, **SLOW), []
    for most in (0, 5, 12, 30, 70, 150, 300, 3000):
        monkeypatch.setattr(optimum, "Budget", lambda gap, _, most=most: Asked(most, gap))
        found.append(optimum.offline(instance, gap=0.0, time_limit=1.0))
    values, bounds = [one.value for one in found], [one.bound or 0.0 for one in found]
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    assert values[-1] < values[0]
    assert bounds[-1] > bounds[0]
    assert found[-1].why_stopped is WhyStopped.PROVED
    assert "decision epochs" in found[-1].method


def test_prices_end_where_nothing_is_too_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs contend for lack of better places, but none of them waits, and there is no room for lanes."""
    monkeypatch.setattr(placement_bound, "LANE_SUMS", 0)
    job = {"duration": 50, "instances": 4, "gpus": 1, "cpus": 0, "memory": 0}
    machines = [{"gpus": 8, "cpus": 1, "memory": 1}] * 30
    instance = PlacementInstance(machines=machines, jobs=[{"submit": i, **job} for i in range(50)], **SLOW)
    pricing = placement_bound.Pricing(instance, list_schedule(instance))
    assert sum(1 for _ in pricing.steps(endless=True)) < 1000
    assert instance.units(list_schedule(instance)) > pricing.proved == pricing.bound().units


def test_many_jobs_or_machines_need_no_room_for_packings() -> None:
    packings = placement_bound._Packings(gangs(41, (1,) * 20_000, 3))
    assert packings.ways is None
    assert not packings.more
    assert sum(array.nbytes for array in packings._given[2]) < 10**7


@pytest.mark.parametrize("at_once", [1, 2, 7])
def test_packings_are_the_same_with_pauses(at_once: int) -> None:
    instance = gangs(6, (4, 4, 3), 5, **SLOW)
    whole, parts = placement_bound._Packings(instance), placement_bound._Packings(instance)
    assert len(list(whole.steps(whole.most + 1))) == 1
    for until in range(at_once, 2000, at_once):
        assert all(work > 0.0 for work in parts.steps(until))
    assert whole.ways is not None
    assert parts.ways is not None
    assert 10 < len(whole.ways[0]) < 2000
    for one, other in zip(whole.ways, parts.ways, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("most", [0, 1, 3, 10])
def test_the_bound_looks_at_its_budget_in_every_round(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, answers = placement_bound.Market.respond, [0]

    def counted(*given: Any) -> Any:
        answers[0] += 1
        return plain(*given)

    monkeypatch.setattr(placement_bound.Market, "respond", counted)
    lower_bound(gangs(40, (9,) * 4, 20), Asked(most))
    assert answers[0] <= most + 3  # two at first, one at the end


@pytest.mark.parametrize("machines", [2, 40, 400])
def test_the_search_looks_at_its_budget_after_little_work(
    machines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, rounds = search_kernels.plan, search_kernels.search_rounds
    planned, done = [], []

    def watched_plan(table: Any, factor: float, batch: Any, *given: Any) -> Any:
        planned.append(len(batch))
        return plan(table, factor, batch, *given)

    def watched_rounds(*given: Any) -> Any:
        assert given[-1] * machines <= placement_search.BATCH_WORK
        done.append(rounds(*given))
        return done[-1]

    monkeypatch.setattr(search_kernels, "plan", watched_plan)
    monkeypatch.setattr(search_kernels, "search_rounds", watched_rounds)
    monkeypatch.setattr(placement_search, "MOST_TRIES", 0)
    count = 60
    # ten parts of plans, played ten times, and six times rounds
    search(gangs(count, (6,) * machines, 3 * machines), Asked(56))
    work = count * machines
    assert max(planned) == 1 or max(planned) * work <= placement_search.PLAN_BATCH_WORK
    assert max(done) <= placement_search.MOST_BATCH
    assert sum(done) > len(done) > 1
    assert len(planned) + len(done) <= 46


@given(instances(max_jobs=8, max_gpus=6), st.integers(0, 5))
@hypothesis_settings(max_examples=25, deadline=None)
def test_more_rounds_are_never_worse(instance: PlacementInstance, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement_search, "MOST_ROUNDS", 45)  # cools down after 3, 9, 21, 45 rounds
        patch.setattr(placement_search, "MOST_BATCH", 4)
        costs = [
            instance.units(search(instance, Budget(0.0, None), seed=seed, rounds=rounds)[0])
            for rounds in (0, 1, 2, 5, 9, 20, 50, 200)
        ]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize(("seed", "options"), [(0, {}), (1, SLOW)])
def test_more_time_is_never_worse_and_the_clock_changes_nothing(
    seed: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement_search, "MOST_BATCH", 20)
    monkeypatch.setattr(placement_search, "MOST_TRIES", 6)
    instance = gangs(20, (4, 4, 3), 8, **options)
    costs = [
        instance.units(search(instance, Asked(most), seed=seed)[0]) for most in (0, 7, 14, 28, 49, 77, 133)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
    budget = Asked(90)
    found, _ = search(instance, budget, seed=seed)
    for seconds in (0.0, 1e9):

        class Still(Asked):
            @property
            def seconds(self) -> float:
                return seconds  # noqa: B023

        again, _ = search(instance, Still(90), seed=seed)
        assert np.array_equal(found.start, again.start)
        assert np.array_equal(found.rows, again.rows)


@given(instances(max_jobs=8, max_gpus=6))
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_best_runs_again_whatever_made_it(instance: PlacementInstance) -> None:
    if not len(instance.jobs):
        return
    state = placement_search.Searching(instance)
    best = state._best
    for part in (state._lists(), state._plans(), state._rollouts(np.random.default_rng(0))):
        assert all(work > 0.0 for work in part)
        assert best.run(best.genome(), math.inf) == best.cost == state.cost
    assert instance.units(state.schedule()) == best.cost


def anneal_and_run_again(instance: PlacementInstance, seed: int, most: int) -> None:
    """Anneal a little, and compare the trail with that of a whole run of its genome, epoch by epoch."""
    state = placement_search.Searching(instance)
    for _ in itertools.chain(state._lists(), state._rollouts(np.random.default_rng(seed))):
        pass
    best, names = state._best, ("start", "finish", "spans", "by_start")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement_search, "MOST_KEPT", most)
        patch.setattr(placement_search, "MOST_ROUNDS", 400)
        chain = placement_search._Chain(best, np.random.default_rng(seed))
    trail = chain.trail
    for _ in range(10):
        chain.go(20)
        whole = placement_search.new_trail(instance, 10**9)
        assert best.run(chain.genomes[0], math.inf, whole) == chain.costs[0]
        assert best.run(chain.genomes[2], math.inf) == chain.costs[1] == best.cost
        for name in names:
            assert np.array_equal(getattr(trail, name), getattr(whole, name)), name
        assert all(
            np.array_equal(mine[:spans], other[:spans])
            for mine, other, spans in zip(trail.rows, whole.rows, trail.spans, strict=True)
        )
        epochs = kept(whole)
        assert kept(trail).items() <= epochs.items()
        assert trail.size[search_kernels.EVERY] > 1 or len(kept(trail)) == len(epochs)
        assert trail.size[search_kernels.IDLE] <= whole.size[search_kernels.IDLE]
    assert instance.units(best.schedule()) == best.cost


def kept(trail: search_kernels.Trail) -> dict[int, tuple[Any, ...]]:
    """Return what a trail says of each of its epochs, by tick."""
    found = {}
    for tick, *sums, slot in np.array(trail.course)[:, : trail.size[search_kernels.KEPT]].T.tolist():
        count = trail.running[slot]
        work = dict(zip(trail.jobs[slot, :count].tolist(), trail.work[slot, :count].tolist(), strict=True))
        found[tick] = (*sums, trail.oldest[slot], trail.pending[slot], sorted(work.items()))
    return found


@given(instances(min_jobs=1, max_jobs=8, max_gpus=6), st.integers(0, 5), st.sampled_from([1, 40, 10**6]))
@hypothesis_settings(max_examples=60, deadline=None)
def test_rounds_that_come_back_to_the_trail_are_whole_runs(
    instance: PlacementInstance, seed: int, most: int
) -> None:
    anneal_and_run_again(instance, seed, most)


@pytest.mark.parametrize(("seed", "most"), [(0, 10**6), (1, 10**6), (2, 1000)])
def test_rounds_that_come_back_to_the_trail_are_whole_runs_of_many_jobs(seed: int, most: int) -> None:
    anneal_and_run_again(generate("tiny", seed, jobs=60, machines=3, rho=0.8), seed, most)


def test_a_round_simulates_no_more_than_it_changes() -> None:
    instance = generate("tiny", 0, jobs=300, machines=3, rho=0.5)
    state = placement_search.Searching(instance)
    for _ in state._lists():
        pass
    chain = placement_search._Chain(state._best, np.random.default_rng(0))
    epochs = chain.trail.size[search_kernels.KEPT]
    fresh = []
    for _ in range(100):
        chain.go(1)
        fresh.append(chain.trail.size[search_kernels.FRESH])
    assert np.median(fresh) < epochs / 20


def test_quiet_jobs_go_where_they_contend_the_least_and_preferred_machines_win_ties() -> None:
    job = {"duration": 10, "instances": 1, "cpus": 0, "memory": 0}
    asked = [(0, 2, 1.0), (1, 1, 0.5), (1, 1, 1.0), (3, 3, 0.0)]
    jobs = [{**job, "submit": at, "gpus": gpus, "intensity": beta} for at, gpus, beta in asked]
    instance = PlacementInstance(machines=[{"gpus": 4, "cpus": 1, "memory": 1}] * 3, jobs=jobs)

    best = placement_search._Best(instance)
    plain = np.zeros(4, dtype=np.int64)
    genome = placement_search._genome(np.arange(4.0), instance.jobs.submit, plain, np.zeros((4, 1, 2), int))

    def machines(rule: int) -> list[int]:
        best.run(genome._replace(rule=np.full(4, rule)), math.inf)
        state = best.other
        return [int(state.rows[state.first[i], 0]) for i in range(len(jobs))]

    assert machines(kernels.CONSOLIDATE) == [0, 0, 0, 1]
    assert machines(search_kernels.QUIET) == [0, 1, 2, 1]
    assert machines(search_kernels.QUIET + 1 + 2) == [2, 2, 2, 0]


def reserved(
    instance: PlacementInstance,
    patience: float,
    ends: list[int],
    lasts: float = 1.0,
) -> tuple[float, Any]:
    """Run list schedules with reservations, oldest job first, in parts that end at some ticks."""
    blank = instance.simulator().state
    slow, window = instance.setting.slowdown.contention, instance.setting.window
    setting = slow, window, float(instance.units_of_cost(0, 1))
    keys, waits = np.arange(len(instance.jobs), dtype=np.float64), np.full(len(instance.jobs), patience)
    kernels.advance(instance.table, blank, slow, window)
    for end in [*ends, search_kernels.NEVER]:
        if blank.clock[kernels.DONE] < len(instance.jobs):
            expected = lasts * instance.jobs.duration
            cost = search_kernels.run_reserved(
                instance.table, blank, setting, keys, waits, expected, end, math.inf
            )
    return cost, blank


@given(instances(min_jobs=1, max_jobs=8, max_gpus=6))
@hypothesis_settings(max_examples=60, deadline=None)
def test_with_endless_patience_it_is_the_list_schedule(instance: PlacementInstance) -> None:
    one = instance.simulator()
    keys = np.arange(len(instance.jobs), dtype=np.float64)
    kernels.run_by_keys(
        one.table, one.state, one.contention, one.window, keys, kernels.CONSOLIDATE, strict=False
    )
    cost, state = reserved(instance, math.inf, [])
    assert np.array_equal(state.start, one.state.start)
    assert cost == instance.units(taken_schedule(one))


@given(instances(min_jobs=1, max_jobs=8, max_gpus=6), st.integers(0, 4000), st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_parts_of_a_run_with_reservations_make_the_whole(
    instance: PlacementInstance, patience: int, data: Any
) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, 20_000), max_size=4)))
    cost, whole = reserved(instance, patience, [])
    in_parts, state = reserved(instance, patience, ends)
    assert np.array_equal(state.start, whole.start)
    assert in_parts == cost
    one = instance.simulator()
    kernels.copy_state(whole, one.state)
    assert cost == instance.units(taken_schedule(one))


def test_a_reservation_keeps_room_for_a_gang() -> None:
    asked = [(0, 15, 1), (1, 5, 2), (10, 15, 1), (12, 2, 1), (12.5, 4, 1), (20, 15, 1), (30, 15, 1)]
    names = ("submit", "duration", "gpus")
    common = {"instances": 1, "cpus": 0, "memory": 0}
    instance = PlacementInstance(
        machines=[{"gpus": 2, "cpus": 1, "memory": 1}],
        jobs=[{**dict(zip(names, one, strict=True)), **common} for one in asked],
    )
    gang, short, longer = 1, 3, 4
    patient, hasty = reserved(instance, math.inf, [])[1], reserved(instance, 0.0, [])[1]
    assert patient.start[gang] == 45_000  # a GPU is taken until then
    assert hasty.start[gang] == 15_000
    assert hasty.start[short] == 12_000
    assert hasty.start[longer] >= 20_000
    assert reserved(instance, 0.0, [], lasts=2.0)[1].start[short] >= 20_000

    best, none = placement_search._Best(instance), np.zeros(7, dtype=np.int64)
    genome = placement_search._genome(np.arange(7.0), instance.jobs.submit, none, np.zeros((7, 1, 2), int))
    genome.reserves[gang] = 1
    best.run(genome, math.inf)
    assert best.other.start.tolist() == hasty.start.tolist()
    genome.release[gang] = 16_000  # it reserves no earlier
    best.run(genome, math.inf)
    assert best.other.start[gang] == 25_000
    assert best.other.start[longer] == 17_000


def test_a_reservation_is_for_the_first_time_at_which_the_gang_fits() -> None:
    asked = [(0, 10, 1), (0, 30, 1), (1, 5, 2), (2, 5, 1), (3, 20, 1)]
    jobs = [
        {"submit": at, "duration": lasts, "instances": 1, "gpus": gpus, "cpus": 0, "memory": 0}
        for at, lasts, gpus in asked
    ]
    instance = PlacementInstance(machines=[{"gpus": 3, "cpus": 1, "memory": 1}], jobs=jobs)
    assert reserved(instance, 0.0, [])[1].start.tolist() == [0, 0, 10_000, 2_000, 15_000]


def test_annealing_also_starts_from_what_a_strict_list_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_search, "MOST_TRIES", 0)
    instance = generate("default", 0, jobs=200, rho=1.6)
    listed, maker = search(instance, Budget(0.0, None), rounds=0)
    assert maker == "least duration x share^1, strictly"
    found, maker = search(instance, Budget(0.0, None), rounds=400)
    assert maker == "least duration x share^1, strictly, improved by annealing"
    assert instance.cost(found) < 0.995 * instance.cost(listed)
