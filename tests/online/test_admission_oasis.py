"""OASiS: the contract, its prices, its choices against brute force, and what is proved of steep prices."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from clairvoyant.models.admission.cluster import Usage
from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import Job, exact
from clairvoyant.models.admission.prices import price_range
from clairvoyant.models.admission.schedule import Offer, Schedule
from clairvoyant.models.admission.setting import Observation, Setting
from clairvoyant.models.base import InputError
from clairvoyant.online.admission.oasis import HIGHEST, Oasis, OasisPrinted
from clairvoyant.online.play import play
from clairvoyant.testing import policy_checks
from clairvoyant.testing.admission import instances, ordinary

CLOSE = 1e-9
ONE_SLOT: dict[str, Any] = {
    "arrival": 1,
    "epochs": 1,
    "chunks": 1,
    "minibatches": 1,
    "minibatch_time": 1,
    "gradient_size": 0,
    "worker_bandwidth": 1,
    "server_bandwidth": 1,
    "worker_demand": [1],
    "server_demand": [1],
}
VARIANTS: dict[str, dict[str, Any]] = {
    "as printed": {"floor": False},
    "with a floor": {},
    "estimated": {"bounds": "estimated"},
    "scaled": {"scale": 0.5},
    "steep": {"steep": True, "floor": False},
    "estimated and steep": {"bounds": "estimated", "steep": True},
}
# What is listed is checked in full with the others; of its other settings one instance and one seed tell.
ONE: dict[str, Any] = {"instances": [ordinary()["scarce machines"]], "seeds": (0,)}
CHECKS = [
    pytest.param(check, id=f"{name}: {check_name}")
    for name, options in VARIANTS.items()
    for check_name, check in policy_checks(lambda options=options: Oasis(**options), **ONE)
    if options
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_contract(check: Any) -> None:
    check()


def test_a_job_is_accepted_however_little_it_is_worth() -> None:
    plain = ordinary()["ample machines"]
    data = plain.to_dict()
    for job in data["jobs"]:
        job["utility"]["priority"] *= 2.0**-30
    first, second = Oasis(), Oasis()
    play(first, plain)
    play(second, AdmissionInstance.from_dict(data))
    assert second.plans.keys() == first.plans.keys() != set()
    assert [2.0**30 * one for one in second.payoffs.values()] == pytest.approx([*first.payoffs.values()])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": "guessed"}, "bounds: 'guessed' is not one of exact, estimated"),
        ({"scale": 0.0}, "scale: 0.0 is not positive and finite"),
        ({"scale": math.inf}, "scale: inf is not positive and finite"),
        ({"scale": math.nan}, "scale: nan is not positive and finite"),
        ({"scale": "1"}, "scale: '1' is not a number"),
        ({"scale": True}, "scale: True is not a number"),
        ({"floor": 1}, "floor: 1 is not true or false"),
        ({"steep": None}, "steep: None is not true or false"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    for kind in (Oasis, OasisPrinted):
        with pytest.raises(InputError) as caught:
            kind(**options)
        assert str(caught.value) == message


def test_only_what_is_proved_is_claimed() -> None:
    for steep, floor, scale, bounds in itertools.product(
        (True, False), (True, False), (1.0, 2.0), ("exact", "estimated")
    ):
        for kind in (Oasis, OasisPrinted):
            policy = kind(bounds=bounds, scale=scale, floor=floor, steep=steep)
            proved = kind is Oasis and not floor and scale == 1.0 and bounds == "exact"
            assert (policy.traits.guarantee != "none") == proved
            assert policy.traits.sees == ({"announced"} if bounds == "exact" else set())
    assert Oasis.traits.guarantee == "none"


def test_exact_bounds_must_be_announced() -> None:
    policy, instance = Oasis(), generate("tiny", 0)
    policy.start(instance.setting, np.random.default_rng(0))
    with pytest.raises(InputError, match="announced"):
        policy.decide(Observation(instance.jobs[0].arrival, instance.jobs[:1], None))


def price(
    lower: float, upper: float, taken: float, capacity: float, options: dict[str, Any], share: float
) -> float:
    """Return the price (22) of one resource of one machine, or its steep version."""
    upper = max(lower, upper + math.log(options.get("scale", 1.0)))
    if not options.get("steep"):
        part = taken / capacity
    elif share < 1.0:
        part = min(1.0, taken / ((1.0 - share) * capacity))
    else:
        part = float(taken > 0)
    return math.exp(lower + (upper - lower) * part)


def every_price(policy: Oasis, setting: Setting, usage: Usage, options: dict[str, Any]) -> list[np.ndarray]:
    """Return all prices of both sides at this usage, one by one."""
    result = []
    lowers = policy.range.lower(options.get("floor", True))
    uppers = (policy.range.upper_workers, policy.range.upper_servers)
    sides = ((setting.worker_units, usage.workers), (setting.server_units, usage.servers))
    for (capacity, taken), lower, upper in zip(sides, lowers, uppers, strict=True):
        prices = np.zeros(taken.shape)
        for t, h, r in np.ndindex(*taken.shape):
            if capacity[h, r] and np.isfinite(upper[r]) and np.isfinite(lower):
                amounts = (float(taken[t, h, r]), float(capacity[h, r]))
                prices[t, h, r] = price(lower, float(upper[r]), *amounts, options, policy.range.share)
        result.append(prices)
    return result


def slot_choices(job: Job, worker_room: np.ndarray, server_room: np.ndarray) -> Iterator[tuple[Any, Any]]:
    """Yield every deployment of a job in a slot under (3), (6) and (7), nothing included."""
    b, capacity = exact(job.worker_bandwidth), exact(job.server_bandwidth)
    for y in itertools.product(*(range(n + 1) for n in worker_room)):
        for z in itertools.product(*(range(n + 1) for n in server_room)):
            if sum(z) <= sum(y) <= job.chunks and b * sum(y) <= capacity * sum(z):
                yield y, z


def best_payoff(job: Job, usage: Usage, prices: list[np.ndarray]) -> float:
    """Return the largest payoff of the schedules that fit, by trying all of them; 0 if none is positive."""
    setting = usage.setting
    rooms = (usage.worker_room(job), usage.server_room(job))
    shares = (setting.worker_share(job), setting.server_share(job))
    unit = [
        (p[job.arrival - 1 :] * np.where(np.isfinite(share), share, 0.0)).sum(axis=2)
        for p, share in zip(prices, shares, strict=True)
    ]
    best, done = 0.0, {0: 0.0}
    for s in range(len(rooms[0])):
        least: dict[int, float] = {}
        for y, z in slot_choices(job, rooms[0][s], rooms[1][s]):
            cost = float(y @ unit[0][s] + z @ unit[1][s])
            least[sum(y)] = min(cost, least.get(sum(y), math.inf))
        reached: dict[int, float] = {}
        for (w, before), (count, cost) in itertools.product(done.items(), least.items()):
            if w + count >= job.work:
                best = max(best, job.utility(s) - before - cost)
            else:
                reached[w + count] = min(before + cost, reached.get(w + count, math.inf))
        done = reached
    return best


def check_every_decision(instance: AdmissionInstance, options: dict[str, Any]) -> None:
    """Replay a run job by job with prices and best schedules of the test's own."""
    policy = Oasis(**options)
    run = play(policy, instance, keep_decisions=True)
    setting, usage = instance.setting, Usage(instance.setting)
    estimated = options.get("bounds") == "estimated"
    ranges = policy.range
    for job in instance.jobs:
        if estimated:
            policy.range = price_range(setting, instance.jobs[: job.index + 1])
        prices = every_price(policy, setting, usage, options)
        scale = max(job.utility(0), 1e-300)
        wanted = best_payoff(job, usage, prices)
        assert policy.payoffs[job.index] == pytest.approx(wanted, rel=1e-7, abs=1e-9 * scale)
        assert (job.index in policy.plans) == (policy.payoffs[job.index] > 0.0)
        if job.index in policy.plans:
            plan = policy.plans[job.index]
            assert plan.payoff == policy.payoffs[job.index]
            usage.add(job, plan.schedule)
    policy.range = ranges
    accepted = Schedule.join([plan.schedule for plan in policy.plans.values()])
    assert instance.violations(accepted) == []
    assert run.decisions is not None
    assert instance.rewards(Schedule.of_deployments(run.decisions)) == pytest.approx(
        instance.rewards(accepted)
    )
    assert run.total == pytest.approx(
        sum(
            instance.jobs[i].utility(p.completion - instance.jobs[i].arrival) for i, p in policy.plans.items()
        )
    )
    assert (policy.usage.workers == usage.workers).all()
    assert (policy.usage.servers == usage.servers).all()
    for found, expected in zip(
        (policy.worker_prices, policy.server_prices),
        every_price(policy, setting, usage, options),
        strict=True,
    ):
        has = expected > 0.0
        np.testing.assert_allclose(found[has], expected[has], rtol=CLOSE)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_every_job_gets_the_best_of_all_schedules_at_the_prices(options: dict[str, Any]) -> None:
    @settings(deadline=None, max_examples=25)
    @given(instances(max_horizon=3, max_chunks=3))
    def check(instance: AdmissionInstance) -> None:
        check_every_decision(instance, options)

    check()


@pytest.mark.parametrize("seed", range(3))
def test_prices_stay_between_l_and_u_and_reach_them(seed: int) -> None:
    instance = generate("default", seed)
    exact_range = instance.announced
    for steep in (False, True):
        policy = Oasis(steep=steep)
        play(policy, instance)
        lower, lower_servers = exact_range.lower(floor=True)
        for prices, low, upper, taken, capacity in (
            (policy.worker_prices, lower, exact_range.upper_workers, policy.usage.workers, 0),
            (policy.server_prices, lower_servers, exact_range.upper_servers, policy.usage.servers, 1),
        ):
            has = (instance.setting.worker_units, instance.setting.server_units)[capacity] > 0
            here = np.broadcast_to(has & np.isfinite(upper), prices.shape)
            high = np.broadcast_to(np.exp(np.maximum(upper, low)), prices.shape)
            assert (prices[here] >= math.exp(low) * (1.0 - CLOSE)).all()
            assert (prices[here] <= high[here] * (1.0 + CLOSE)).all()
            assert prices[here & (taken == 0)] == pytest.approx(math.exp(low))


def test_a_scale_of_one_changes_nothing_and_a_small_one_makes_prices_flat() -> None:
    instance = generate("default", 1)
    plain, same, flat = Oasis(), Oasis(scale=1), Oasis(scale=1e-300)
    for policy in (plain, same, flat):
        play(policy, instance)
    assert plain.payoffs == same.payoffs
    priced = flat.worker_prices > 0.0
    assert flat.worker_prices[priced] == pytest.approx(math.exp(instance.announced.floor_workers))
    assert len(set(plain.worker_prices[priced].tolist())) > 1


@settings(deadline=None, max_examples=40)
@given(instances(max_jobs=6))
def test_estimates_are_the_range_of_the_jobs_that_have_arrived(instance: AdmissionInstance) -> None:
    policy = Oasis(bounds="estimated")
    play(policy, instance)
    expected = price_range(instance.setting, instance.jobs).to_dict()
    for name, value in policy.range.to_dict().items():
        wanted = expected[name]
        if isinstance(value, list):
            assert [v is None for v in value] == [v is None for v in wanted]
            assert [v for v in value if v is not None] == pytest.approx([v for v in wanted if v is not None])
        else:
            assert value == (wanted if wanted is None else pytest.approx(wanted))


@settings(deadline=None, max_examples=40)
@given(instances(max_jobs=6))
def test_the_printed_programme_earns_at_least_what_its_plans_say(instance: AdmissionInstance) -> None:
    """A plan breaks no rule but that it may run on when the work is done; the job stops then."""
    policy = OasisPrinted()
    run = play(policy, instance)
    planned = Schedule.join([p.schedule for p in policy.plans.values()])
    assert {v.constraint for v in instance.violations(planned)} <= {"finished"}
    ends = instance.completions(planned)
    earned = 0.0
    for i, plan in policy.plans.items():
        assert plan.payoff > 0.0
        assert ends[i] <= plan.completion
        earned += instance.jobs[i].utility(ends[i] - instance.jobs[i].arrival)
    assert run.total == pytest.approx(earned)


def test_the_printed_programme_decides_by_the_whole_schedule() -> None:
    """A chunk takes 0.4, so that one worker a slot trains two of five: three slots, though two are enough.

    At a price of 1 a slot the job is worth 2.5 by then, less than the 3 that it costs; cut off when its work
    is done it would pay. A second job finds the third slot taken, though nothing runs there.
    """
    job = {**ONE_SLOT, "chunks": 5, "minibatch_time": 0.4, "server_demand": [0]}
    sure: dict[str, Any] = {"priority": 200, "decay": 0, "target": 1}

    def instance(*utilities: dict[str, Any]) -> AdmissionInstance:
        jobs = [{**job, "utility": utility} for utility in utilities]
        one: dict[str, Any] = {"worker_servers": [[1]], "parameter_servers": [[1]]}
        return AdmissionInstance(horizon=4, resources=["r"], jobs=jobs, **one)

    class Priced(OasisPrinted):
        def offer(self, job: Job) -> Offer:
            return replace(super().offer(job), worker_cost=np.ones((4, 1)))

    assert play(Priced(), instance({"priority": 5, "decay": 0, "target": 1})).total == 0.0
    assert play(Priced(), instance({"priority": 6.2, "decay": 0, "target": 1})).total == pytest.approx(3.1)
    policy = OasisPrinted()
    run = play(policy, instance(sure, sure), keep_decisions=True)
    assert policy.plans[0].completion == 3
    assert policy.usage.workers[:, 0, 0].tolist() == [10**6] * 3 + [0]
    assert run.decisions is not None
    assert [len(workers) for workers, _ in run.decisions] == [1, 1, 0, 0]
    assert list(policy.plans) == [0]


def test_the_printed_programme_loses_a_job_that_the_exact_one_takes() -> None:
    utility = {"priority": 200, "decay": 0, "target": 1}
    job = {**ONE_SLOT, "chunks": 2, "minibatch_time": 2.5, "utility": utility}
    machines: dict[str, Any] = {"worker_servers": [[10]], "parameter_servers": [[10]]}
    instance = AdmissionInstance(horizon=3, resources=["r"], jobs=[job], **machines)
    assert play(Oasis(), instance).total == 100.0
    assert play(OasisPrinted(), instance).total == 0.0


def optimum(instance: AdmissionInstance) -> float:
    """Return the largest utility of all schedules, by trying all of them."""
    setting = instance.setting

    def schedules(job: Job, usage: Usage) -> Iterator[tuple[float, Schedule]]:
        rooms = (usage.worker_room(job), usage.server_room(job))

        def extend(s: int, done: int, rows: list[Any]) -> Iterator[tuple[float, Schedule]]:
            if done >= job.work:
                sides = [[r for side, r in rows if side == which] for which in (0, 1)]
                yield (
                    job.utility(s - 1),
                    Schedule(*(np.array(side, dtype=np.int64).reshape(-1, 4) for side in sides)),
                )
            elif s < len(rooms[0]):
                for y, z in slot_choices(job, rooms[0][s], rooms[1][s]):
                    more = [
                        (side, (job.arrival + s, job.index, h, n))
                        for side, counts in enumerate((y, z))
                        for h, n in enumerate(counts)
                        if n
                    ]
                    yield from extend(s + 1, done + sum(y), rows + more)

        yield from extend(0, 0, [])

    def best(i: int, usage: Usage) -> float:
        if i == len(instance.jobs):
            return 0.0
        job = instance.jobs[i]
        found = best(i + 1, usage)
        for utility, schedule in schedules(job, usage):
            usage.add(job, schedule)
            found = max(found, utility + best(i + 1, usage))
            usage.add(job, schedule, sign=-1)
        return found

    return best(0, Usage(setting))


def dual(policy: Oasis, setting: Setting) -> float:
    """Return D_I, with mu_i as it was at arrival: (19) in shares of all capacity."""
    total = sum(policy.payoffs.values())
    for prices, units in (
        (policy.worker_prices, setting.worker_units),
        (policy.server_prices, setting.server_units),
    ):
        part = units / np.maximum(units.sum(axis=0), 1)
        total += float((prices * part).sum())
    return total


def check_steep(instance: AdmissionInstance) -> None:
    """Assert what the module's docstring proves."""
    policy = Oasis(steep=True, floor=False)
    run = play(policy, instance)
    best, share = optimum(instance), instance.announced.share
    assert dual(policy, instance.setting) >= best * (1.0 - CLOSE)
    if share < 1.0:
        exponent = share * instance.announced.alpha() / (1.0 - share)
        kappa = max(1.0, math.expm1(min(exponent, 700.0)) / share) if share else 1.0
        assert best <= 2.0 * kappa * run.total * (1.0 + CLOSE)


@settings(deadline=None, max_examples=60)
@given(instances(max_horizon=2, max_machines=1, max_jobs=3, max_chunks=2))
def test_steep_prices_give_a_dual_bound_and_the_guarantee(instance: AdmissionInstance) -> None:
    check_steep(instance)


def family(utilities: tuple[float, ...], capacity: float, amount: float) -> AdmissionInstance:
    """Return one slot and one machine of each kind, for jobs of one worker of the same size."""
    job = {**ONE_SLOT, "worker_demand": [amount], "server_demand": [amount]}
    return AdmissionInstance(
        horizon=1,
        resources=["r"],
        worker_servers=[[capacity]],
        parameter_servers=[[capacity]],
        jobs=[{**job, "utility": {"priority": 2.0 * u, "decay": 0, "target": 0}} for u in utilities],
    )


@pytest.mark.parametrize("large", [10.0, 100.0, 1000.0])
def test_printed_prices_lose_the_guarantee_of_theorem_4_where_steep_ones_keep_theirs(large: float) -> None:
    instance = family((1.0, large), 10, 6)
    policy = Oasis(floor=False)
    run = play(policy, instance)
    assert optimum(instance) == large
    assert run.total == 1.0  # the second job does not fit
    assert large / run.total > 2.0 * instance.announced.alpha()
    assert dual(policy, instance.setting) < large
    check_steep(instance)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_steep_prices_keep_their_guarantee_with_many_small_jobs(size: int) -> None:
    check_steep(family((1.0, 1.0, 3.0, 9.0, 27.0, 200.0), 10, size))


def test_a_job_as_large_as_a_machine_makes_every_machine_in_use_cost_u() -> None:
    instance = family((1.0, 5.0), 10, 10)
    policy = Oasis(steep=True, floor=False)
    assert instance.announced.share == 1.0
    assert play(policy, instance).total == 1.0
    assert policy.worker_prices[0, 0, 0] == pytest.approx(math.exp(instance.announced.upper_workers[0]))
    assert dual(policy, instance.setting) >= optimum(instance) == 5.0


def test_prices_stay_finite_where_the_announced_range_is_absurd() -> None:
    plain = family((1.0, 5.0), 10, 6)
    announced = {**plain.announced.to_dict(), "upper_workers": [1e300], "lower_workers": 1e299}
    instance = AdmissionInstance.from_dict({**plain.to_dict(), "announced": announced})
    policy = Oasis(floor=False)
    assert play(policy, instance).total == 0.0
    assert policy.worker_prices.max() == math.exp(HIGHEST)
