"""The claims on the placement model, Appendix A, reward (3) and the printed numbers; what they rest on."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict
from clairvoyant.analysis.placement.claims import CLAIMS, model, table_1, theory
from clairvoyant.analysis.placement.claims.ledger import LEDGER
from clairvoyant.models.placement import kernels
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.models.placement.jobs import TICKS
from clairvoyant.models.placement.reward import printed_rewards
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.online.placement import FifoConsolidate, FifoFirstFit, FifoLoadBalance
from clairvoyant.oracles.base import Budget
from clairvoyant.oracles.placement.exact import by_branch_and_bound, by_enumeration
from clairvoyant.testing.placement import instances

CHECKED = [*model.claim.claims, *table_1.claim.claims, *theory.claim.claims]


def fresh(name: str) -> Finding:
    return next(c for c in CHECKED if c.id == f"placement/{name}").find(Context("quick", seed=0))


check = lru_cache(fresh)


@pytest.mark.parametrize("claim", CHECKED, ids=lambda claim: claim.id.split("/")[1])
def test_verdict_is_the_expected_one(claim: Claim) -> None:
    seen: list[float] = []
    finding = claim.find(Context("quick", seed=0, progress=seen.append))
    assert claim.as_expected(finding)
    assert finding.faults == []
    assert finding.numbers or finding.tables or finding.remark
    assert all(0 <= fraction <= 1 for fraction in seen)
    for table in finding.tables:
        assert table.rows
        assert all(len(line) == len(table.columns) for line in table.rows)
    for figure in finding.figures:
        assert figure.name.startswith("placement-")
        assert figure.svg.startswith("<svg")


@pytest.mark.parametrize("name", ["window", "hard-trade-off", "reward-misaligned"])
def test_same_seed_same_finding(name: str) -> None:
    assert check(name) == fresh(name)


def test_ids_are_unique_and_the_ledger_is_complete() -> None:
    """It knows every claim of the paper, names no other, and leaves out no number."""
    ids = [claim.id for claim in CLAIMS]
    assert len(set(ids)) == len(ids)
    assert {claim.problem for claim in CLAIMS} == {"placement"}
    named = {f"placement/{name}" for names in LEDGER.values() if isinstance(names, tuple) for name in names}
    assert named == {claim.id for claim in CLAIMS if not claim.ours}
    for pattern, most in (
        (r"\((\d+)\)", 18),
        (r"Figure (\d)", 7),
        (r"Table (\d)", 3),
        (r"Proposition (\d)", 2),
        (r"Algorithm (\d)", 1),
        (r"Footnote (\d)", 4),
    ):
        found = [int(m[1]) for item in LEDGER if (m := re.fullmatch(pattern, item))]
        assert sorted(found) == list(range(1, most + 1)), pattern


@pytest.mark.parametrize(
    ("cost", "mean"),
    [(None, (10 + 11) / 2), (0.0, (12 + 2) / 2), (3.0, (15 + 2) / 2)],
    ids=["to the end", "free", "an interruption costs 3"],
)
def test_a_short_job_interrupts_a_long_one_by_hand(cost: float | None, mean: float) -> None:
    assert model.mean_time([0.0, 1.0], [10.0, 2.0], cost) == pytest.approx(mean)


@pytest.mark.parametrize(
    ("rule", "columns"), model.RULES.items(), ids=lambda one: one if isinstance(one, str) else ""
)
def test_another_rule_is_told_from_what_the_text_says(
    rule: str, columns: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every rule in the place of another one is found out."""
    for other, own in model.RULES.items():
        if own != columns:
            with monkeypatch.context() as patch:
                patch.setattr(model, "RULES", {rule: own})
                found = model.baselines(Context("quick"))
            assert found.verdict is Verdict.UNDETERMINED, other


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), min_size=1, max_size=6))
def test_preempting_for_nothing_is_never_worse(jobs: list[tuple[int, int]]) -> None:
    """The shortest remaining time first is optimal; where no job comes later, none is interrupted."""
    submit, takes = (list(map(float, column)) for column in zip(*sorted(jobs), strict=True))
    free, costly, to_the_end = (model.mean_time(submit, takes, cost) for cost in (0.0, 5.0, None))
    assert free <= min(costly, to_the_end) + 1e-9
    together = [0.0] * len(takes)
    assert model.mean_time(together, takes, 5.0) == model.mean_time(together, takes, None)


@pytest.mark.parametrize(
    "name", ["eager-jct", "lazy-jct", "hard-trade-off", "reward-misaligned", "case-placement", "window"]
)
def test_counterexamples_survive_a_file(name: str) -> None:
    found = check(name).counterexample
    assert isinstance(found, PlacementInstance)
    assert PlacementInstance.from_dict(found.to_dict()) == found


# All schedules of an instance


@settings(max_examples=25, deadline=None)
@given(instances(min_jobs=1, max_jobs=3, max_machines=2, max_instances=2))
def test_the_best_of_all_schedules_is_that_of_the_oracle(instance: PlacementInstance) -> None:
    ends = [end for end, _ in theory.every_end(instance)]
    best = min(instance.units_of_cost(end.waited, end.used) for end in ends)
    found = by_enumeration(instance, Budget(0.0, None)).schedule
    assert found is not None
    assert instance.cost(found) * 1e6 == pytest.approx(best)
    assert not instance.violations(taken_schedule(ends[-1]))


@settings(max_examples=25, deadline=None)
@given(instances(min_jobs=1, max_jobs=3, max_machines=2, max_instances=2, windows=False))
def test_policies_that_pass_nothing_over_are_eager(instance: PlacementInstance) -> None:
    solved = theory.solve_all(instance)
    eager = {tuple(point) for point in solved.points[solved.eager].tolist()}
    for policy in (FifoFirstFit(), FifoConsolidate()):
        point = theory.point_of(policy, instance)
        if (instance.setting.capacity == instance.setting.capacity[0]).all():
            assert tuple(point.tolist()) in eager
    lazy = theory.point_of(theory.Lazy(), instance)
    assert tuple(lazy.tolist()) in {tuple(point) for point in solved.points.tolist()}


@settings(max_examples=25, deadline=None)
@given(instances(min_jobs=1, max_jobs=5))
def test_lazy_runs_one_job_at_a_time_at_the_least_fee(instance: PlacementInstance) -> None:
    schedule = theory.schedule_by(theory.Lazy(), instance)
    order = np.argsort(schedule.start)
    assert (schedule.start[order][1:] >= schedule.finish[order][:-1]).all()
    if (instance.setting.capacity == instance.setting.capacity[0]).all():
        assert (schedule.finish - schedule.start == instance.jobs.duration).all()


def test_lazy_waits_for_all_durations_before_if_all_jobs_are_there() -> None:
    crowd = theory.CROWDED
    schedule = theory.schedule_by(theory.Lazy(), crowd)
    assert schedule.start.tolist() == [0, *np.cumsum(crowd.jobs.duration)[:-1].tolist()]


def test_lazy_in_the_other_reading_starts_all_that_fit() -> None:
    schedule = theory.schedule_by(theory.Lazy(together=True), theory.NO_SURPRISE)
    assert schedule.start.tolist() == [0, 600_000, 0]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_the_front_is_what_nothing_dominates(sampled: list[tuple[int, int]]) -> None:
    points = 1000 * np.array(sampled)
    front = theory.pareto_front(points)
    naive = {
        tuple(p)
        for p in points.tolist()
        if not any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in points.tolist())
    }
    assert {tuple(p) for p in front.tolist()} == naive
    assert (np.diff(front[:, 0]) > 0).all()
    assert (np.diff(front[:, 1]) < 0).all()


def test_a_front_does_not_count_rounding() -> None:
    points = np.array([[1000, 3000], [1020, 2000], [1000, 2000], [1010, 1990]])
    assert theory.pareto_front(points).tolist() == [[1000, 2000]]


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, 4.0])
def test_exact_optima_lie_on_the_front(weight: float) -> None:
    crowd = theory.solve_all(theory.CROWDED)
    costs = (1000 * crowd.points[:, 0] + round(1000 * weight) * crowd.points[:, 1]) / 1e6
    least = theory.pareto_front(crowd.points)
    front = (1000 * least[:, 0] + round(1000 * weight) * least[:, 1]) / 1e6
    instance = PlacementInstance.from_dict(crowd.instance.to_dict() | {"gpu_weight": weight})
    found = by_branch_and_bound(instance, Budget(0.0, None))
    assert found.schedule is not None
    assert instance.cost(found.schedule) == pytest.approx(costs.min(), abs=1e-9)
    assert front.min() == pytest.approx(costs.min(), abs=theory.ROUNDING / TICKS * (1 + weight))


# Appendix A


def test_lazy_is_best_where_the_shorter_job_comes_first() -> None:
    solved = theory.solve_all(theory.IN_ORDER)
    assert sorted({total / 60 / TICKS for total in solved.points[:, 0].tolist()}) == [4.0, 5.0]
    for policy in (theory.Lazy(), FifoFirstFit()):
        assert theory.point_of(policy, theory.IN_ORDER).tolist() == solved.least.tolist()


@pytest.mark.parametrize(
    ("instance", "eager", "best"), [(theory.LATE_COMER, 20.0, 13.0), (theory.NO_SURPRISE, 20.0, 19.0)]
)
def test_waiting_beats_every_eager_schedule(instance: PlacementInstance, eager: float, best: float) -> None:
    solved = theory.solve_all(instance)
    assert solved.points[solved.eager, 0].min() / 60 / TICKS == eager
    found = by_enumeration(instance, Budget(0.0, None)).schedule
    assert found is not None
    assert instance.completion_times(found).sum() / 60 == best
    assert solved.points[:, 1].min() == solved.points[:, 1].max()


def test_lists_of_jobs_for_one_gpu_agree_with_sums_by_hand() -> None:
    order = theory.ONE_GPU
    found = {taken_schedule(end).finish.tobytes() for end, eager in theory.every_end(order) if eager}
    by_hand = set()
    for first in permutations(range(3)):
        finish = np.zeros(3, dtype=np.int64)
        finish[list(first)] = np.cumsum(order.jobs.duration[list(first)])
        by_hand.add(finish.tobytes())
    assert found == by_hand


def test_two_jobs_on_two_machines_have_a_schedule_that_is_best_in_both() -> None:
    solved = theory.solve_all(theory.SIDE_BY_SIDE)
    assert theory.pareto_front(solved.points).tolist() == [[120_000, 120_000]]
    assert len(np.unique(solved.points, axis=0)) > 1


def test_eager_is_dominated_where_four_jobs_contend() -> None:
    crowd = theory.solve_all(theory.CROWDED)
    front = theory.pareto_front(crowd.points)
    assert len(front) == 8
    first, lazy = (theory.point_of(policy, crowd.instance) for policy in (FifoFirstFit(), theory.Lazy()))
    same = crowd.points[np.abs(crowd.points[:, 0] - first[0]) <= theory.ROUNDING]
    assert same[:, 1].min() < first[1] - 60 * TICKS
    assert lazy.tolist() == front[-1].tolist()


def test_without_slowdown_nothing_changes_the_fee() -> None:
    with pytest.raises(RuntimeError, match="without slowdown fees differ by 1"):
        theory.above(Context("quick"), range(2), lambda _: (1.0, 1.01), [0, 1], jobs=5)
    assert theory.above(Context("quick"), range(2), lambda _: (1.0, 1.01), [0], jobs=5)


def test_the_window_of_by_keys_is_that_of_the_instance() -> None:
    tiny, order = model.BACKFILL, np.arange(3)
    assert theory.by_keys(tiny, order, window=1).start.tolist() == [0, 600_000, 1_200_000]
    assert theory.by_keys(tiny, order).start.tolist() == [0, 600_000, 0]
    instance = generate("tiny", 3)
    by_rule = theory.by_keys(instance, np.arange(len(instance.jobs)), kernels.FIRST_FIT)
    assert by_rule.finish.tolist() == theory.schedule_by(FifoFirstFit(), instance).finish.tolist()


# Reward (3)


def test_reward_3_by_hand_of_two_small_jobs_and_a_large_one() -> None:
    instance = theory.cluster(2, 2, [(0, 2, 1, 1)] * 2 + [(1, 2, 1, 2)], origin="by hand")
    fee = 2.84 * 2 / 60
    packed, spread = (theory.schedule_by(p, instance) for p in (FifoFirstFit(), FifoLoadBalance()))
    assert (instance.completion_times(packed) / 60).tolist() == [2, 2, 2]
    assert (instance.completion_times(spread) / 60).tolist() == [2, 2, 3]
    assert (
        instance.fees(packed).tolist() == instance.fees(spread).tolist() == pytest.approx([fee, fee, 2 * fee])
    )
    three_at_once = (1 / (fee * 2) + 1 / (fee * 2) + 1 / (2 * fee * 2)) / 3
    two_then_one = (1 / (fee * 2) + 1 / (fee * 2)) / 2 + 1 / (2 * fee * 3)
    assert printed_rewards(instance, packed).sum() == pytest.approx(three_at_once)
    assert printed_rewards(instance, spread).sum() == pytest.approx(two_then_one)
    assert three_at_once < two_then_one


def test_orders_of_three_jobs_are_ranked_wrongly_by_hand() -> None:
    """With jobs of 1, 100, 2 minutes in this order JCT is larger than with 2, 1, 100, and so is reward."""
    price, rewards = 2.84 / 60, {}
    for order in permutations((100.0, 2.0, 1.0)):
        ends = np.cumsum(order)
        for failing, waiting in (("all that wait", (2, 1, 0)), ("none", (0, 0, 0))):
            steps = [
                (1 / (price * d * t) - 0.1 * n) / (1 + n)
                for d, t, n in zip(order, ends, waiting, strict=True)
            ]
            rewards[failing, round(60 * float(ends.sum()))] = sum(steps)
    for failing, wrong in (("all that wait", 2), ("none", 1)):
        found = theory.orders(failing == "none")
        assert {(failing, round(jct)): reward for jct, _, reward in found} == pytest.approx(
            {key: value for key, value in rewards.items() if key[0] == failing}
        )
        assert theory.wrong_pairs(found) == wrong
    counts = [int(n) for n in check("reward-misaligned").numbers.values()]
    assert counts == [2, 2, 2, 1, 1, 1]


def test_a_reward_of_jct_alone_ranks_no_pair_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theory, "printed_rewards", lambda i, s, *_, **__: -i.completion_times(s))
    assert fresh("reward-misaligned").verdict is Verdict.HOLDS


def test_the_order_of_two_jobs_depends_on_the_unit_by_hand() -> None:
    instance = theory.TWO_ORDERS
    price = 2.84 / 60
    for unit, sign in ((1.0, -1), (60.0, 1), (3600.0, 1)):
        scale = 60 / unit
        short = 1 / (price * 3 * 3 * scale) - 0.1 * 2 + 1 / (price * 10 * 8 * scale) * 2
        long = 1 / (price * 10 * 5 * scale) - 0.1 + 1 / (price * 3 * 8 * scale) * 2
        assert np.sign(short - long) == sign
        found = [
            printed_rewards(instance, theory.by_keys(instance, np.array(keys)), unit=unit).sum()
            for keys in ([0, 1], [1, 0])
        ]
        assert found == pytest.approx([short / 2, long / 2])


# The model


def test_broken_definitions_are_seen() -> None:
    instance, opening = model.figure_6c()
    good = theory.schedule_by(FifoFirstFit(), instance, opening)
    assert not any(model.definitions_broken(instance, good).values())
    start = good.start.copy()
    start[3] += 1
    assert model.definitions_broken(instance, Schedule(start, good.finish, good.rows))["epoch"] == 1
    rows = good.rows.copy()
    rows[-1, 2] += 1
    assert model.definitions_broken(instance, Schedule(good.start, good.finish, rows))["gang"] == 1


@pytest.mark.parametrize(("gpus", "eta", "factor"), [(4, 1.0, 1.75), (8, 1.0, 1.875), (4, 0.5, 1.375)])
def test_the_slowdown_on_a_full_machine(gpus: int, eta: float, factor: float) -> None:
    assert model.slowed(gpus, eta) == pytest.approx(factor, abs=1e-5)


def test_figure_1_by_hand() -> None:
    late = model.figure_1()
    before, after = 1 + (0.25 + 0.25) / 4, 1 + (0.25 + 0.25 + 1) / 4
    left = 180 - 60 / before
    taken = late.completion_times(theory.schedule_by(FifoFirstFit(), late))[0] / 60
    assert taken == pytest.approx(60 + left * after, abs=1e-3)


@pytest.mark.parametrize(("sizes", "yes"), [((3, 1, 1, 1), True), ((3, 3, 2), False), ((2, 2, 1, 1), True)])
def test_partition_as_placement(sizes: tuple[int, ...], yes: bool) -> None:
    instance = model.packing(sizes)
    assert model.can_be_split(sizes) is yes
    found = by_enumeration(instance, Budget(0.0, None)).schedule
    assert found is not None
    assert (instance.cost(found) == len(sizes)) is yes


def test_the_sets_of_numbers_are_those_that_fit() -> None:
    sets = list(model.number_sets(4, 4))
    assert len(sets) == len(set(sets))
    assert (1, 1, 2) in sets
    assert (3, 3, 4) in sets
    assert (1, 3) not in sets


def test_figure_6c_begins_as_told() -> None:
    instance, opening = model.figure_6c()
    for policy, machines, waits in (
        (FifoFirstFit(), [0, 1, 2, 3], 59.0),
        (FifoLoadBalance(), [0, 1, 2, 4], 59.0),
        (FifoConsolidate(), [0, 1, 3, 7], 0.0),
    ):
        schedule = theory.schedule_by(policy, instance, opening)
        assert not instance.violations(schedule)
        assert schedule.of_job(0).tolist() == [[7, 1]]
        assert schedule.of_job(1).tolist() == [[3, 1]]
        assert schedule.of_job(2)[:, 0].tolist() == machines
        assert (schedule.start[3] - instance.jobs.submit[3]) / TICKS / 60 == waits
    assert check("case-placement").tables[0].rows[0][2] == 0.0


# The paper's numbers


def test_table_1_is_complete() -> None:
    assert len(table_1.TABLE_1) == 13
    assert len(table_1.BASELINES) == 9
    assert table_1.column("jct", 0)["DAS"] == 638.046
    assert table_1.column("fee", 2)["DAS"] == 50.354
    assert table_1.column("fee", 3)["RIFLING"] == 51.06


def test_two_averages_of_table_1_are_wrong_and_seven_are_those_of_hours() -> None:
    found = check("table-1-averages")
    rows = found.tables[0].rows
    assert len(rows) == 9
    assert (found.numbers["wrong"], found.numbers["right in hours alone"]) == (2, 7)
    line = max(rows, key=lambda row: abs(row[4]))
    assert line[:3] == ("DA+RWGP", "fee", 50.684)
    assert line[3] == pytest.approx((51.029 + 50.856 + 50.439) / 3)
    by_name = {row[:2]: row for row in rows}
    assert by_name["FIFO-LoadBalance", "JCT"][5] == pytest.approx(5.5009 * 60)
    assert by_name["FIFO-LoadBalance", "JCT"][2] == 330.054


def test_the_daily_saving_by_hand() -> None:
    found = check("daily-saving").numbers
    assert found["saving a day as printed ($)"] == pytest.approx(17_000 * 0.774)
    assert found["GPUs that so many jobs need"] == pytest.approx(17_000 * 51.06 / 2.84 / 24)
    most = 6742 * 24 * 2.84 * 0.774 / 51.06
    assert found["saving a day if all GPUs are always in use ($)"] == pytest.approx(most)


def test_the_work_of_table_1_takes_46_days() -> None:
    found = check("load-of-table-1")
    (table,) = found.tables
    small, _, large = table.rows
    assert small[2] == pytest.approx(4000 * 50.286 / 2.84 / 64 / 24)
    assert 46 < small[2] < 46.2
    assert large[4] == pytest.approx(17_000 / 24 * 50.286 / 2.84 / 256)
    assert large[7] == pytest.approx(20_000 / 24.8 / 5 / 24 * 50.286 / 2.84 / 256)  # a random fifth of them
    (signs,) = found.signs.values()
    assert [*signs.values()] == [False, False, False, True]


def test_34_minutes_are_those_to_the_worse_of_the_learned() -> None:
    assert "Of these 34 minutes 78 % come from the Small cluster." in check("34-minutes").remark
    found = check("34-minutes").numbers
    assert found["JCT less than DL2 by (min)"] == pytest.approx(29.884)
    assert found["JCT less than RIFLING by (min)"] == pytest.approx(34.124)


def test_metaheuristics_would_keep_up_by_the_printed_times() -> None:
    numbers = check("inapplicable").numbers
    assert numbers["seconds per job, at most"] == pytest.approx(0.78)
    assert numbers["seconds between jobs"] == pytest.approx(5.082, abs=1e-3)


def test_only_the_average_is_more_than_300_minutes() -> None:
    numbers = check("300-minutes").numbers
    assert numbers["average (min)"] == 300.584
    assert [float(numbers[f"{name} (min)"]) > 300.0 for name in table_1.CLUSTERS] == [True, False, False]


def test_the_dual_agent_is_behind_on_medium_alone() -> None:
    found = check("dual-agent")
    assert (found.numbers["columns"], found.numbers["less JCT"]) == (4, 3)
    medium = found.tables[0].rows[1]
    assert medium[:3] == ("Medium", 173.354, 160.1)
