"""Oracle of admission: every method proves tiny optima, replays, and keeps its promises."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.models.base import InputError
from clairvoyant.online.admission.fifo import Fifo
from clairvoyant.online.admission.oasis import Oasis
from clairvoyant.online.play import Replay, play
from clairvoyant.oracles.admission import branch, exact
from clairvoyant.oracles.admission import optimum as admission
from clairvoyant.oracles.admission import search as search_module
from clairvoyant.oracles.admission.bound import Priced, volume, without_prices
from clairvoyant.oracles.admission.exact import tidied
from clairvoyant.oracles.admission.incumbent import Best
from clairvoyant.oracles.admission.optimum import METHODS, lagrangian_bound, offline
from clairvoyant.oracles.admission.search import search
from clairvoyant.oracles.base import Budget, Optimum, OracleError, WhyStopped
from clairvoyant.oracles.turns import Stage
from clairvoyant.testing.admission import instances

from .admission_stages import by_cp_sat

NUMBERS = re.compile(r"(?:incumbent|dual bound) ([0-9.,e+]*[0-9])")
PROVEN = (WhyStopped.PROVED, WhyStopped.GAP_REACHED)
TINY = instances(max_horizon=3, max_machines=2, max_jobs=3, max_chunks=3)


def made(seed: int = 0, **options: Any) -> AdmissionInstance:
    sizes = {"jobs": 12, "horizon": 12, "worker_machines": 1, "server_machines": 1}
    return generate("tiny", seed, **{**sizes, **options})


def large(seed: int = 0) -> AdmissionInstance:
    return made(seed, jobs=80, horizon=30, worker_machines=2, server_machines=2, fit="short")


def check(instance: AdmissionInstance, optimum: Optimum) -> None:
    assert not instance.violations(optimum.decision)
    assert optimum.value == pytest.approx(instance.rewards(optimum.decision).sum(), rel=1e-12)
    assert optimum.bound is not None
    assert optimum.value <= optimum.bound
    priced = optimum.certificate
    bound, _ = lagrangian_bound(instance, priced.worker_prices, priced.server_prices)
    if optimum.why_stopped is not WhyStopped.TIME_LIMIT:  # a clock may cut off the last evaluation
        assert bound >= optimum.bound * (1.0 - 1e-9)
    assert bound <= priced.bound * (1.0 + 1e-9)


@given(TINY)
@hypothesis_settings(max_examples=10, deadline=None)
def test_exact_methods_agree_and_the_rest_bounds(instance: AdmissionInstance) -> None:
    found = {method: offline(instance, method=method) for method in METHODS}
    for optimum in found.values():
        check(instance, optimum)
    best = found["cp-sat"].value
    for method in ("auto", "branch-and-price", "highs", "cp-sat"):
        assert found[method].value == pytest.approx(best, rel=1e-6, abs=1e-12)
        assert found[method].why_stopped in PROVEN
    rough = found["lagrangian"]
    assert rough.value <= best * (1.0 + 1e-6) + 1e-12
    assert rough.bound is not None
    assert rough.bound >= best * (1.0 - 1e-6)


@given(TINY, st.randoms(use_true_random=False))
@hypothesis_settings(max_examples=8, deadline=None)
def test_the_order_of_machines_and_jobs_does_not_matter(instance: AdmissionInstance, random: Any) -> None:
    data = instance.to_dict()
    for name in ("worker_servers", "parameter_servers", "jobs"):
        random.shuffle(data[name])
    other = AdmissionInstance.from_dict(data)
    found = [offline(i, method="cp-sat").value for i in (instance, other)]
    assert found[0] == pytest.approx(found[1], rel=1e-6, abs=1e-12)
    bounds = [volume(i, Budget(0.0, None)).bound for i in (instance, other)]
    assert min(bounds) >= found[0] * (1.0 - 1e-9)


@given(TINY, st.integers(0, 2))
@hypothesis_settings(max_examples=8, deadline=None)
def test_more_of_anything_is_never_worse(instance: AdmissionInstance, which: int) -> None:
    data = instance.to_dict()
    if which == 0:
        data["jobs"] = data["jobs"][1:]
        fewer, more = AdmissionInstance.from_dict(data), instance
    else:
        side = ("worker_servers", "parameter_servers")[which - 1]
        data[side] = [*data[side], [2.0] * len(data["resources"])]
        fewer, more = instance, AdmissionInstance.from_dict(data)
    low, high = (offline(i, gap=1e-9).value for i in (fewer, more))
    assert low <= high * (1.0 + 1e-8) + 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_playing_the_decision_gives_the_value(method: str) -> None:
    instance = made(5, jobs=5, horizon=6)
    optimum = offline(instance, method=method, time_limit=20)
    check(instance, optimum)
    assert optimum.value > 0.0
    run = play(Replay(optimum.decision.deployments(instance.setting.horizon), "admission"), instance)
    assert run.total == pytest.approx(optimum.value, rel=1e-12)
    assert run.infeasible == 0


@pytest.mark.parametrize("seed", range(3))
def test_no_policy_beats_the_bound(seed: int) -> None:
    instance = made(seed)
    optimum = offline(instance, method="lagrangian", time_limit=0.2)
    assert optimum.bound is not None
    for policy in (Oasis(), Fifo()):
        assert play(policy, instance, seed).total <= optimum.bound * (1.0 + 1e-9)


def test_the_search_is_feasible_improves_and_stays_below_the_bound() -> None:
    instance = large()
    prices = volume(instance, Budget(0.0, None), rounds=200)
    values = []
    for rounds in (0, 30, 300):
        schedule = search(instance, prices, Budget(0.0, None), 0, iterations=rounds)
        assert not instance.violations(schedule)
        values.append(instance.rewards(schedule).sum())
    assert values == sorted(values)
    assert values[0] < values[-1] <= prices.bound


@given(instances(max_horizon=5, max_machines=3, max_jobs=6, max_chunks=5), st.integers(0, 9))
@hypothesis_settings(max_examples=30, deadline=None)
def test_the_search_keeps_every_constraint(instance: AdmissionInstance, seed: int) -> None:
    prices = volume(instance, Budget(0.0, None), rounds=40)
    schedule = search(instance, prices, Budget(0.0, None), seed, iterations=15)
    assert not instance.violations(schedule)
    assert instance.rewards(schedule).sum() <= prices.bound
    earned = instance.completions(schedule)
    assert set(np.flatnonzero(earned)) == set(schedule.jobs.tolist())


@given(instances(max_horizon=5, max_machines=3, max_jobs=8, max_chunks=5), st.integers(0, 9))
@hypothesis_settings(max_examples=30, deadline=None)
def test_the_search_goes_on_from_a_start(instance: AdmissionInstance, seed: int) -> None:
    prices = volume(instance, Budget(0.0, None), rounds=5)
    solved = by_cp_sat(instance, Budget(1e-2, None)).schedule
    optimum = tidied(instance, solved)

    def worth(start: Schedule | None, rounds: int) -> float:
        found = search(instance, prices, Budget(0.0, None), seed, iterations=rounds, start=start)
        assert not instance.violations(found)
        return float(instance.rewards(found).sum())

    best, alone = float(instance.rewards(optimum).sum()), worth(None, 0)
    for rounds in (0, 10):
        assert worth(optimum, rounds) >= max(best, alone) * (1.0 - 1e-8)
    assert worth(Schedule.empty(), 0) == alone


def test_a_job_alone_gets_what_it_is_worth() -> None:
    for seed in range(8):
        instance = made(seed, jobs=1)
        prices = without_prices(instance)
        schedule = search(instance, prices, Budget(0.0, None), iterations=0)
        assert instance.rewards(schedule).sum() == pytest.approx(prices.bound, rel=1e-8)


def test_the_search_does_not_strand_a_dear_resource_behind_a_free_one() -> None:
    data = made(0, jobs=2, horizon=1).to_dict()
    data["resources"] = ["CPU", "GPU"]
    data["worker_servers"], data["parameter_servers"] = [[4.0, 1.0], [8.0, 0.0]], [[2.0, 0.0]]
    for job, worker, priority in zip(data["jobs"], ([4.0, 0.0], [4.0, 1.0]), (9.0, 1.0), strict=True):
        job |= {"arrival": 1, "epochs": 1, "chunks": 1, "minibatches": 1, "minibatch_time": 1.0}
        job |= {"gradient_size": 0.0, "worker_bandwidth": 1.0, "server_bandwidth": 1.0}
        job |= {"worker_demand": worker, "server_demand": [1.0, 0.0]}
        job["utility"] = {"priority": priority, "decay": 0.0, "target": 1.0}
    instance = AdmissionInstance.from_dict(data)
    gpu = np.array([[[0.0, 0.25], [0.0, 0.25]]])
    prices = Priced(5.0, gpu, np.zeros((1, 1, 2)), np.array([4.5, 0.5]), "by hand")
    schedule = search(instance, prices, Budget(0.0, None), iterations=0)
    assert schedule.workers.tolist() == [[1, 0, 1, 1], [1, 1, 0, 1]]


def test_the_search_finds_tiny_optima() -> None:
    for seed in range(3):
        instance = made(seed, jobs=4, horizon=5)
        exact = by_cp_sat(instance, Budget(1e-4, None))
        rough = offline(instance, method="lagrangian")
        assert 0.9 * exact.bound <= rough.value <= exact.bound * (1.0 + 1e-9)


def test_the_same_bytes_without_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "SEARCH_WORK", 1.0)
    found = [offline(large(1), method="lagrangian") for _ in range(2)]
    assert (found[0].value, found[0].bound) == (found[1].value, found[1].bound)
    np.testing.assert_array_equal(found[0].decision.workers, found[1].decision.workers)
    np.testing.assert_array_equal(found[0].decision.servers, found[1].decision.servers)
    assert found[0].why_stopped is WhyStopped.ROUNDS
    check(large(1), found[0])
    assert found[0].gap is not None
    assert found[0].gap < 0.2


@pytest.mark.parametrize("method", METHODS)
def test_a_time_limit_of_zero_still_gives_an_interval(method: str) -> None:
    instance = made(1)
    optimum = offline(instance, method=method, time_limit=0)
    check(instance, optimum)
    assert optimum.value > 0.0
    assert optimum.why_stopped is WhyStopped.TIME_LIMIT
    assert optimum.bound == pytest.approx(without_prices(instance).bound, rel=1e-9)


@pytest.mark.parametrize("method", ["auto", "lagrangian"])
def test_a_time_limit_is_kept(method: str, monkeypatch: pytest.MonkeyPatch, ticking: type[Budget]) -> None:
    monkeypatch.setattr(admission, "Budget", ticking)
    optimum = offline(large(), method=method, gap=0.0, time_limit=1.0)
    assert optimum.seconds < 1.2
    assert optimum.why_stopped is WhyStopped.TIME_LIMIT
    check(large(), optimum)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_gain_is_proved(method: str) -> None:
    data = made(0).to_dict()
    for field in ("jobs", "worker_servers", "parameter_servers"):
        instance = AdmissionInstance.from_dict({**data, field: []})
        optimum = offline(instance, method=method)
        assert (optimum.value, optimum.bound) == (0.0, 0.0)
        assert optimum.why_stopped is WhyStopped.PROVED
        assert len(optimum.decision.workers) == 0


def test_a_wide_gap_is_reached_early() -> None:
    optimum = offline(large(), method="lagrangian", gap=0.5)
    assert optimum.why_stopped is WhyStopped.GAP_REACHED
    assert optimum.gap is not None
    assert optimum.gap <= 0.5


@pytest.mark.parametrize("work", [3.0, 0.0])
def test_of_many_jobs_prices_come_before_branch_and_price(
    monkeypatch: pytest.MonkeyPatch, work: float
) -> None:
    """Progress does not run backwards, also where HiGHS and branch and price follow each other."""
    instance, seen = generate("tiny", 1, jobs=6), []
    best = by_cp_sat(instance, Budget(0.0, None)).schedule
    for module in (admission, branch):
        monkeypatch.setattr(module, "FEW_JOBS", 6 * (work > 0.0))
    monkeypatch.setattr(admission, "FIRST_WORK", work)

    def progress(done: float, text: str) -> None:
        seen.append((done, text))

    optimum = offline(instance, progress=progress)
    check(instance, optimum)
    assert optimum.value == pytest.approx(float(instance.rewards(best).sum()))
    assert optimum.gap is not None
    assert optimum.gap <= 1e-6
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    told = [[float(x.replace(",", "")) for x in NUMBERS.findall(text)[:2]] for _, text in seen]
    assert [value for value, _ in told] == sorted(value for value, _ in told)
    assert [bound for _, bound in told] == sorted((bound for _, bound in told), reverse=True)
    assert min(bound for _, bound in told) >= optimum.value * (1.0 - 1e-5)  # six digits are told
    kinds = [kind for _, text in seen for kind in ("volume", "HiGHS", "branch and price") if kind in text]
    assert kinds[0] == ("branch and price" if work else "volume")
    assert kinds[-1] == "branch and price"


def test_unsure_prices_of_machines_find_the_best_schedule_on_few() -> None:
    """At sure ones, every job takes the same machines first, and 309.7 is the best that the search finds."""
    instance = generate("default", 1, jobs=25)
    prices = volume(instance, Budget(1e-6, None))
    found = search(instance, prices, Budget(1e-6, None), seed=3, iterations=2000)
    assert float(instance.rewards(found).sum()) > 331.69  # 331.9 is proved to be a bound


def test_branch_and_price_has_an_incumbent_of_the_search() -> None:
    """Where it is poor, nodes are left before their programs are solved, and nothing is proved."""
    told: list[str] = []
    instance = generate("default", 1, jobs=25)
    found = offline(instance, method="branch-and-price", gap=0.15, progress=lambda _, text: told.append(text))
    check(instance, found)
    assert any("search round" in text for text in told)
    assert found.gap is not None
    assert found.gap <= 0.15


def test_the_method_highs_asks_highs() -> None:
    for few in (5, 25):
        instance = generate("default", 2, jobs=few)
        assert "HiGHS" in offline(instance, method="highs", gap=0.3, time_limit=60.0).method


class Counted(Budget):
    """A second for every look at the clock, so that no real one ends anything."""

    looks = 0

    @property
    def seconds(self) -> float:
        self.looks += 1
        return float(self.looks)


@pytest.mark.parametrize("method", [method for method in METHODS if method != "cp-sat"])
@pytest.mark.parametrize("few", [0, 20])
def test_a_longer_run_never_ends_worse(method: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "Budget", Counted)
    monkeypatch.setattr(admission, "FIRST_WORK", 0.1)
    for module in (admission, branch):
        monkeypatch.setattr(module, "FEW_JOBS", few)
    for seed, jobs in ((3, 15), (1, 30)):
        instance, worst, least = made(seed, jobs=jobs), 0.0, math.inf
        for looks in (60, 100, 160, 300):
            found = offline(instance, method=method, gap=0.0, time_limit=looks)
            assert found.bound is not None
            assert found.value >= worst * (1.0 - 1e-12)
            assert found.bound <= least * (1.0 + 1e-12)
            worst, least = found.value, found.bound


@pytest.mark.parametrize("few", [0, 20])
def test_without_a_time_limit_no_clock_decides(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (admission, branch):
        monkeypatch.setattr(module, "FEW_JOBS", few)
    monkeypatch.setattr(admission, "EXACT_WORK", 0.2)
    instance, found = made(1, jobs=30), []
    for budget in (Budget, Counted):
        monkeypatch.setattr(admission, "Budget", budget)
        found.append(offline(instance))
    first, second = found
    assert (first.value, first.bound, first.method) == (second.value, second.bound, second.method)
    np.testing.assert_array_equal(first.decision.workers, second.decision.workers)
    assert first.why_stopped is WhyStopped.ROUNDS


def test_progress_goes_from_0_to_1_and_may_interrupt() -> None:
    seen: list[float] = []
    offline(made(1), method="auto", time_limit=3, progress=lambda done, _: seen.append(done))
    assert all(0.0 <= done <= 1.0 for done in seen)
    assert seen[-1] == 1.0

    def stop(_: float, __: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        offline(made(1), progress=stop)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "dp"}, "method: 'dp' is not one of auto, branch-and-price, highs, cp-sat, lagrangian"),
        ({"gap": -1.0}, "gap: -1.0"),
        ({"gap": math.nan}, "gap: nan"),
        ({"time_limit": -1}, "time_limit: -1"),
        ({"time_limit": "1"}, "time_limit: '1'"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        offline(made(), **options)


def test_an_infeasible_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Schedule(np.array([[1, 0, 0, 1]]), np.zeros((0, 4), dtype=np.int64))
    monkeypatch.setattr(admission, "search", lambda *_, **__: wrong)
    with pytest.raises(OracleError, match="greedy: infeasible"):
        offline(made(1))


def test_a_bound_below_the_value_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(best: Best) -> Stage:
        best.limit(0.0, "a wrong bound")
        yield 0.0

    monkeypatch.setattr(admission, "by_highs", wrong)
    with pytest.raises(OracleError, match=r"\(greedy\) is above the bound 0.0 \(a wrong bound\)"):
        offline(made(1), method="highs", gap=0.0)


def test_a_solver_that_makes_no_schedule_leaves_the_greedy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: Best) -> Stage:
        yield from ()

    for name in ("by_highs", "by_branching"):
        monkeypatch.setattr(admission, name, nothing)
    optimum = offline(made(1), method="highs")
    assert optimum.value > 0.0
    assert optimum.method == "schedule: greedy; bound: every job alone in the cluster"
    assert optimum.why_stopped is WhyStopped.STALLED
    assert offline(made(1), method="highs", time_limit=60.0).why_stopped is WhyStopped.STALLED


def test_a_step_that_takes_more_time_than_is_left_is_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "declaring_work", lambda _: 1e9)
    optimum = offline(made(1), method="cp-sat", gap=0.0, time_limit=1e6)
    assert optimum.why_stopped is WhyStopped.TIME_LIMIT
    assert optimum.seconds < 1e6


def test_the_entry_says_what_the_bound_rests_on() -> None:
    entry = admission.ORACLES["offline"]
    assert entry.function is offline
    assert entry.problem == "admission"
    assert entry.methods == METHODS
    assert "CP-SAT" in entry.guarantee


@pytest.mark.parametrize("method", METHODS)
def test_small_utilities_do_not_end_with_nothing(method: str) -> None:
    data = made(jobs=6, horizon=8).to_dict()
    for job in data["jobs"]:
        job["utility"]["priority"] = 1e-9
    assert offline(AdmissionInstance.from_dict(data), method=method).value > 0.0


@pytest.mark.parametrize("method", ["auto", "lagrangian"])
def test_jobs_too_large_to_price_exactly_keep_the_time_limit(
    method: str, monkeypatch: pytest.MonkeyPatch, ticking: type[Budget]
) -> None:
    data = made(jobs=4, horizon=40, worker_machines=20, server_machines=20).to_dict()
    for job in data["jobs"]:
        job |= {"chunks": 10_000, "epochs": 1, "minibatches": 1, "minibatch_time": 12.5, "gradient_size": 0}
        job |= {"worker_bandwidth": 1, "server_bandwidth": 29, "arrival": 1}
        job |= {side: [0.01] * len(data["resources"]) for side in ("worker_demand", "server_demand")}
    for side in ("worker_servers", "parameter_servers"):
        data[side] = [[7.0] * len(data["resources"])] * 20
    monkeypatch.setattr(admission, "Budget", ticking)
    optimum = offline(AdmissionInstance.from_dict(data), method=method, time_limit=0.1)
    assert optimum.seconds < 0.15
    assert 0.0 < optimum.value <= (optimum.bound or 0.0)
