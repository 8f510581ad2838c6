"""The policies of the selection problem: the contract, and that each decides by its index."""

import itertools
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.api import make_policy, policy_table
from clairvoyant.models.base import InputError
from clairvoyant.models.selection import knapsack
from clairvoyant.models.selection.generate import generate
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.setting import Feedback, Observation, Setting
from clairvoyant.online.base import Policy
from clairvoyant.online.play import play
from clairvoyant.online.selection import (
    POLICIES,
    Aescb,
    Cucb,
    CucbV,
    Escb,
    EscbV,
    Esdp,
    EsdpPrinted,
    GaussianThompson,
    Greedy,
    Hswf,
    Lcf,
    Lwtf,
    Thompson,
    printed,
)
from clairvoyant.online.selection.esdp import scaled, scaling
from clairvoyant.online.selection.printed import FORMS, algorithm_2, algorithm_2_repaired, select
from clairvoyant.online.selection.statistics import DELTAS, GS, Statistics, delta, g
from clairvoyant.problems import policies
from clairvoyant.testing import policy_checks
from clairvoyant.testing import selection as kit

RNG = np.random.default_rng(0)  # for policies that draw nothing
INDEXED: dict[str, Callable[[], Any]] = {
    "esdp": Esdp,
    "esdp, log": lambda: Esdp(delta="log", g="log"),
    "esdp, loglog-7": lambda: Esdp(delta="loglog-7", g="loglog"),
    "esdp, logloglog": lambda: Esdp(delta="logloglog"),
    "escb": Escb,
    "escb, log": lambda: Escb(g="log"),
    "aescb": Aescb,
    "aescb, log": lambda: Aescb(g="log"),
    "cucb": Cucb,
    "greedy": Greedy,
    "escb-v": EscbV,
    "escb-v, prior 0.5": lambda: EscbV(prior=0.5),
    "cucb-v": CucbV,
}
BASELINES = [kind(misfit=misfit) for kind in (Hswf, Lcf, Lwtf) for misfit in ("stop", "skip")]
LISTED = policies("selection")
VARIANTS: dict[str, Callable[[], Any]] = {
    **LISTED,
    "hswf, skip": lambda: Hswf(misfit="skip"),
    "esdp-printed, small alpha": lambda: EsdpPrinted(alpha=0.1),
}
# What is listed is checked in full; of another setting of it one instance and one seed tell.
ONE: dict[str, Any] = {"instances": [kit.ordinary()["scarce devices"]], "seeds": (0,)}
CHECKS = [
    pytest.param(check, id=f"{name}: {check_name}")
    for name, make in VARIANTS.items()
    for check_name, check in policy_checks(make, **({} if name in LISTED else ONE))
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.usefixtures("small_tables")
def test_contract(check: Callable[[], None]) -> None:
    check()


# ------------------------------------------------------------------ by brute force


def feasible_sets(setting: Setting, open_: np.ndarray) -> list[np.ndarray]:
    """Return all of Omega(t)."""
    choices = itertools.product(*([False, True] if o else [False] for o in open_))
    every = (np.array(x, dtype=bool) for x in choices)
    return [x for x in every if (x @ setting.demand <= setting.capacity).all()]


class Reference:
    """The statistics of a run so far, by their definitions (8) to (10)."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.seen: list[list[float]] = [[] for _ in range(setting.channels)]
        self.m = max(int(x.sum()) for x in feasible_sets(setting, np.ones(setting.channels, dtype=bool)))

    def learn(self, feedback: Feedback) -> None:
        for e, utility in zip(feedback.channels, feedback.utility, strict=True):
            self.seen[e].append(utility)

    def index(self, policy: Any, slot: int, e: int) -> tuple[float, float]:
        """Return value and spread of a channel that was tried."""
        n, t = len(self.seen[e]), slot + 1
        mean = sum(self.seen[e]) / n
        match policy:
            case Greedy():
                return mean, 0.0
            case Cucb():
                return mean + math.sqrt(1.5 * math.log(t) / n), 0.0
            case EscbV() | CucbV():
                prior = policy.prior if isinstance(policy, EscbV) else 0.0
                variance = (sum((z - mean) ** 2 for z in self.seen[e]) + prior / 4) / (n + prior)
                if isinstance(policy, EscbV):
                    return mean, 2 * math.log(t) * variance / n
                return min(1.0, mean + math.sqrt(2 * variance * math.log(t) / n) + math.log(t) / n), 0.0
            case Escb():
                return mean, float(g(policy.g, t, self.m)) / (2 * n)
            case Aescb():
                step = self.setting.channels * max(1.0, math.log(self.m)) ** 2 / t / self.m
                return math.ceil(mean / step) * step, float(g(policy.g, t, self.m)) / (2 * n)
        m = policy.alpha * self.setting.channels if isinstance(policy, EsdpPrinted) else self.m
        xi = math.ceil(m / delta(policy.delta, t))
        return math.ceil(xi * mean), math.ceil(xi**2 * float(g(policy.g, t, m)) / (2 * n))

    def score(self, policy: Any, slot: int, x: np.ndarray) -> tuple[int, float]:
        """Return what is maximised lexicographically: the number of untried channels, and the index."""
        untried = sum(not self.seen[e] for e in np.flatnonzero(x))
        tried = [self.index(policy, slot, int(e)) for e in np.flatnonzero(x) if self.seen[e]]
        value = sum(v for v, _ in tried)
        if isinstance(policy, EsdpPrinted):
            m = policy.alpha * self.setting.channels
            value = min(value, math.floor(math.ceil(m / delta(policy.delta, slot + 1)) * m))
        return untried, value + math.sqrt(sum(q for _, q in tried))


def steps(policy: Policy, instance: SelectionInstance) -> Iterator[tuple[Observation, np.ndarray, Feedback]]:
    """Play, and yield what happens in each slot before the policy learns of it."""
    policy.start(instance.setting, RNG)
    episode = instance.episode(policy.traits.sees)
    for observation in episode:
        x = np.array(policy.decide(observation))
        feedback = episode.apply(x).feedback
        yield observation, x, feedback
        if hasattr(policy, "learn"):
            policy.learn(feedback)


TINY = kit.instances(max_ports=3, max_kinds=2, min_slots=1, max_slots=8, max_channels=6, min_channels=1)


@pytest.mark.parametrize("name", INDEXED)
@given(instance=TINY)
@hypothesis_settings(max_examples=15, deadline=None)
def test_every_decision_is_the_best_by_its_index(name: str, instance: SelectionInstance) -> None:
    policy = INDEXED[name]()
    reference = Reference(instance.setting)
    for seen, x, feedback in steps(policy, instance):
        allowed = feasible_sets(instance.setting, instance.setting.open(instance.arrivals[seen.slot]))
        untried, index = reference.score(policy, seen.slot, x)
        best = max(reference.score(policy, seen.slot, other) for other in allowed)
        assert untried == best[0]
        assert index == pytest.approx(best[1], rel=1e-9, abs=1e-9)
        reference.learn(feedback)


@pytest.mark.parametrize("name", INDEXED)
def test_every_decision_of_a_long_run_is_the_best_by_its_index(name: str) -> None:
    """In a short run most channels are untried, or used as often, and no width of a confidence shows."""
    instance = generate("tiny", 1, slots=200)
    policy, setting = INDEXED[name](), instance.setting
    reference, sets = Reference(setting), feasible_sets(setting, np.ones(setting.channels, dtype=bool))
    for seen, x, feedback in steps(policy, instance):
        shut = ~setting.open(instance.arrivals[seen.slot])
        allowed = np.array([one for one in sets if not (one & shut).any()], dtype=float)
        untried = np.array([not one for one in reference.seen], dtype=float)
        known = [(0.0, 0.0) if u else reference.index(policy, seen.slot, e) for e, u in enumerate(untried)]
        value, spread = np.array(known).T
        fresh, index = allowed @ untried, allowed @ value + np.sqrt(allowed @ spread)
        assert x @ untried == fresh.max()
        assert x @ value + math.sqrt(x @ spread) == pytest.approx(index[fresh == fresh.max()].max(), rel=1e-9)
        reference.learn(feedback)


@pytest.mark.parametrize("make", [Esdp, Escb, EscbV])
@given(instance=TINY, gap=st.sampled_from([0.01, 0.3]))
@hypothesis_settings(max_examples=10, deadline=None)
def test_with_a_gap_no_index_is_further_from_the_best_than_told(
    make: Callable[..., Any], instance: SelectionInstance, gap: float
) -> None:
    policy, furthest = make(gap=gap), 0.0
    reference = Reference(instance.setting)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knapsack, "SMALL_TABLE", 0)
        patch.setattr(knapsack, "CORE", 1)
        for seen, x, feedback in steps(policy, instance):
            allowed = feasible_sets(instance.setting, instance.setting.open(instance.arrivals[seen.slot]))
            untried, index = reference.score(policy, seen.slot, x)
            best = max(reference.score(policy, seen.slot, other) for other in allowed)
            assert untried == best[0]
            assert best[1] <= (1.0 + gap) * index + 1e-9
            if untried == 0 and best[1] > 0.0:
                furthest = max(furthest, 1.0 - index / best[1])
            reference.learn(feedback)
    assert furthest - 1e-9 <= policy.largest_gap <= gap / (1.0 + gap) + 1e-9


def test_aescb_misses_the_index_of_escb_by_no_more_than_its_delta() -> None:
    instance = generate("default", 2, slots=150)
    setting, policy, exact = instance.setting, Aescb(), Escb()
    exact.start(setting, RNG)
    delta_1 = setting.channels * math.log(setting.most_channels) ** 2
    missed = []
    for seen, x, feedback in steps(policy, instance):
        v, q = exact.index(seen.slot)
        there = setting.open(instance.arrivals[seen.slot])
        if not exact._statistics.untried.any():
            best = setting.knapsack.best(v, q, there).value
            missed.append((best - v @ x - math.sqrt(q @ x)) * (seen.slot + 1) / delta_1)
        exact.learn(feedback)
    assert len(missed) > 100
    assert 0.0 < max(missed) <= 1.0


def printed_decisions_are_the_best(instance: SelectionInstance, alpha: float) -> None:
    policy = EsdpPrinted(alpha=alpha)
    reference = Reference(instance.setting)
    every = feasible_sets(instance.setting, np.ones(instance.setting.channels, dtype=bool))
    for seen, x, feedback in steps(policy, instance):
        scores = [reference.score(policy, seen.slot, other) for other in every]
        best = max(scores)
        close = [
            other & instance.setting.open(instance.arrivals[seen.slot])
            for other, (untried, index) in zip(every, scores, strict=True)
            if untried == best[0] and index >= best[1] * (1 - 1e-9) - 1e-9
        ]
        assert any(np.array_equal(x, one) for one in close)
        reference.learn(feedback)


@given(TINY, st.sampled_from([0.0, 0.2, 0.5, 1.0]))
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_printed_decision_is_the_best_for_all_ports_less_those_without_jobs(
    instance: SelectionInstance, alpha: float
) -> None:
    printed_decisions_are_the_best(instance, alpha)


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.45])
def test_every_printed_decision_of_a_long_run_is_the_best(alpha: float) -> None:
    printed_decisions_are_the_best(generate("tiny", 0, slots=200), alpha)


@given(TINY, st.integers(0, 5))
@hypothesis_settings(max_examples=30, deadline=None)
def test_thompson_plays_the_best_response_to_its_draw(instance: SelectionInstance, seed: int) -> None:
    policy, rng = Thompson(), np.random.default_rng(seed)
    setting = instance.setting
    won, lost = np.ones(setting.channels), np.ones(setting.channels)
    policy.start(setting, np.random.default_rng(seed))
    episode = instance.episode(policy.traits.sees)
    for slot, observation in enumerate(episode):
        x = policy.decide(observation)
        means = rng.beta(won, lost)
        allowed = feasible_sets(setting, setting.open(instance.arrivals[slot]))
        best = max(means @ other for other in allowed)
        assert means @ x == pytest.approx(best, rel=1e-9)
        feedback = episode.apply(x).feedback
        policy.learn(feedback)
        uniforms = rng.random(len(feedback.channels))
        for e, utility, below in zip(feedback.channels, feedback.utility, uniforms, strict=True):
            won[e] += below < utility
            lost[e] += below >= utility


def test_thompson_turns_utilities_into_as_many_successes() -> None:
    instance = kit.ordinary()["normal noise"]
    instance = instance.with_arrivals(np.ones((400, instance.setting.ports)))
    policy = Thompson()
    play(policy, instance, seed=1)
    won, lost = policy._won - 1, policy._lost - 1
    tried = won + lost > 30
    assert tried.any()
    error = won[tried] / (won + lost)[tried] - instance.mean[tried]
    assert (abs(error) < 4 * 0.5 / np.sqrt((won + lost)[tried])).all()


# ------------------------------------------------------------------ untried channels


def by_hand(
    demand: list[list[int]],
    capacity: list[int],
    arrivals: list[list[int]],
    edges: list[list[int]] | None = None,
    mean: list[float] | None = None,
    cost: list[float] | None = None,
) -> SelectionInstance:
    count = len(demand)
    return SelectionInstance(
        edges=edges if edges is not None else [[e, 0] for e in range(count)],
        demand=demand,
        capacity=capacity,
        mean=mean if mean is not None else [0.5] * count,
        arrivals=arrivals,
        cost=cost,
    )


def chosen(policy: Policy, instance: SelectionInstance) -> list[list[int]]:
    """Return the channels that a policy chooses in every slot."""
    return [np.flatnonzero(x).tolist() for _, x, _ in steps(policy, instance)]


@pytest.mark.parametrize("name", INDEXED)
def test_as_many_untried_channels_as_fit_come_first(name: str) -> None:
    """Two small ones go before the large one, which then goes before all that earn more."""
    instance = by_hand([[2], [1], [1]], [2], [[1, 1, 1]] * 3, mean=[0.0, 1.0, 1.0])
    assert chosen(INDEXED[name](), instance)[:2] == [[1, 2], [0]]


@pytest.mark.parametrize("name", INDEXED)
def test_unreachable_channels_delay_nothing(name: str) -> None:
    """Channel 0 never fits and port 1 never has a job; the others are played in every slot."""
    instance = by_hand([[3], [1], [1], [1]], [2], [[1, 0, 1, 1]] * 6)
    assert chosen(INDEXED[name](), instance) == [[2, 3]] * 6


def test_the_printed_algorithm_waits_for_a_port_without_jobs() -> None:
    """It solves for all ports, so the untried channel of the idle port comes first again and again."""
    instance = by_hand([[1], [1]], [1], [[0, 1]] * 5)
    assert sum(map(len, chosen(EsdpPrinted(), instance))) <= 1
    assert chosen(Esdp(), instance) == [[1]] * 5


# ------------------------------------------------------------------ statistics


def test_the_sequences_at_given_slots() -> None:
    one, two = math.log(2), math.log(math.log(2) + 1)
    assert delta("log", 1) == pytest.approx(1 / (one + 1))
    assert delta("loglog", 1) == pytest.approx(1 / (two + 1))
    assert delta("loglog-7", 1) == pytest.approx(1 / two)
    assert delta("logloglog", 1) == pytest.approx(1 / (math.log(two + 1) + 1))
    assert g("full", 1, 3) == pytest.approx(one + 12 * two)
    assert g("loglog", 1, 3) == pytest.approx(12 * two)
    assert g("log", 1, 3) == pytest.approx(one)


@pytest.mark.parametrize("name", DELTAS)
def test_delta_is_positive_and_falls(name: str) -> None:
    values = delta(name, np.concatenate([np.arange(1, 10_000), np.logspace(4, 300, 50)]))
    assert (values > 0).all()
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize("name", GS)
def test_g_is_positive_and_grows(name: str) -> None:
    values = g(name, np.arange(1, 10_000), 5)
    assert (values > 0).all()
    assert (np.diff(values) > 0).all()


@pytest.mark.parametrize("name", DELTAS)
def test_a_sequence_does_not_depend_on_how_many_slots_are_asked_for(name: str) -> None:
    values = delta(name, np.arange(1, 100))
    assert [float(delta(name, t)) for t in range(1, 100)] == values.tolist()
    assert delta(name, np.arange(1, 38)).tolist() == values[:37].tolist()


@given(kit.instances(max_slots=8), st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_statistics_by_their_definition(instance: SelectionInstance, data: st.DataObject) -> None:
    setting = instance.setting
    known = Statistics(setting.channels)
    uses, earned = np.zeros(setting.channels), np.zeros(setting.channels)
    for slot in range(setting.slots):
        x = data.draw(kit.decisions(setting))
        channels = np.flatnonzero(x)
        known.update(Feedback(slot, channels, instance.path[slot, channels]))
        uses += x
        earned += x * instance.path[slot]
    assert np.array_equal(known.count, uses)
    assert np.array_equal(known.untried, uses == 0)
    for e in range(setting.channels):
        assert known.mean[e] == (earned[e] / uses[e] if uses[e] else 0.0)
        assert known.spread(3.0)[e] == (3.0 / uses[e] if uses[e] else 0.0)
    assert ((known.mean >= 0) & (known.mean <= 1)).all()


@given(TINY, st.sampled_from(sorted(DELTAS)), st.integers(1, 5000), st.sampled_from([0.0, 0.1, 1.0]))
@hypothesis_settings(max_examples=80, deadline=None)
def test_the_rounded_index_is_near_the_exact_one(
    instance: SelectionInstance, name: str, t: int, gap: float
) -> None:
    """max (v-hat.x + sqrt(q.x)) - the same at ESDP's choice is at most delta(t) + sqrt(m) / xi(t).

    With a gap it is more by up to gap / (1 + gap) of the largest.
    """
    setting = instance.setting
    m = setting.most_channels
    if m == 0:
        return
    xi = float(scaling(delta(name, t), m))
    v, q = instance.mean, float(g("full", t, m)) / (2 * (1 + setting.cost * 7))
    upsilon, sigma2 = scaled(v, q, xi)
    assert (upsilon == [math.ceil(xi * one) for one in v]).all()
    assert (sigma2 == [math.ceil(xi * xi * one) for one in q]).all()
    every = feasible_sets(setting, np.ones(setting.channels, dtype=bool))
    exact = max(v @ x + math.sqrt(q @ x) for x in every)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knapsack, "SMALL_TABLE", knapsack.SMALL_TABLE if gap == 0.0 else 0)
        patch.setattr(knapsack, "CORE", 1)
        ours = setting.knapsack.best(upsilon, sigma2, gap=gap).x
    most = delta(name, t) + math.sqrt(m) / xi + gap / (1.0 + gap) * exact
    assert exact - (v @ ours + math.sqrt(q @ ours)) <= most + 1e-9


# ------------------------------------------------------------------ the baselines


def in_turn(policy: Any, instance: SelectionInstance) -> Iterator[list[int]]:
    """Yield what a baseline has to choose, by plain loops."""
    s = instance.setting
    seen: list[list[float]] = [[] for _ in range(s.channels)]
    served = [-1] * s.ports
    for slot in range(s.slots):
        channels = [np.flatnonzero(s.port == p).tolist() for p in range(s.ports)]
        means = [sum(one) / len(one) if one else 0.0 for one in seen]
        score = {
            "hswf": [-sum(means[e] for e in channels[p]) for p in range(s.ports)],
            "lcf": [sum(s.cost[e] for e in channels[p]) for p in range(s.ports)],
            "lwtf": [-(slot - served[p]) for p in range(s.ports)],
        }[policy.name]
        left, x = s.capacity.tolist(), []
        wanted = [
            e for p in sorted(range(s.ports), key=lambda p: (score[p], p)) if instance.arrivals[slot, p]
            for e in channels[p]
        ]  # fmt: skip
        for e in wanted:
            if all(a <= c for a, c in zip(s.demand[e], left, strict=True)):
                x.append(e)
                left = [c - a for a, c in zip(s.demand[e], left, strict=True)]
            elif policy.misfit == "stop":
                break
        yield sorted(x)
        for e in sorted(x):
            seen[e].append(instance.path[slot, e])
            served[s.port[e]] = slot


@pytest.mark.parametrize("policy", BASELINES, ids=repr)
@given(instance=kit.instances(min_slots=1, max_slots=8, noises=["bernoulli", "none"]))
@hypothesis_settings(max_examples=40, deadline=None)
def test_baselines_against_plain_loops(policy: Policy, instance: SelectionInstance) -> None:
    assert chosen(policy, instance) == list(in_turn(policy, instance))


@pytest.mark.parametrize("policy", BASELINES, ids=repr)
def test_baselines_against_plain_loops_in_a_long_run(policy: Policy) -> None:
    instance = generate("tiny", 1, slots=200, noise="bernoulli")
    assert chosen(policy, instance) == list(in_turn(policy, instance))


def test_a_baseline_stops_at_the_first_misfit_or_skips_it() -> None:
    instance = by_hand([[1], [3], [1]], [3], [[1, 1, 1]], cost=[0.0, 1.0, 2.0])
    assert chosen(Lcf(), instance) == [[0]]
    assert chosen(Lcf(misfit="skip"), instance) == [[0, 2]]


def test_who_waits_longest_comes_first() -> None:
    """Being absent is waiting, too: in slot 3 port 0 was last served in slot 0."""
    instance = by_hand([[1], [1], [1]], [1], [[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 0], [0, 1, 1]])
    assert chosen(Lwtf(), instance) == [[0], [1], [2], [0], [1]]


def test_the_lowest_cost_and_the_highest_utility_of_a_port_come_first() -> None:
    instance = by_hand(
        [[1]] * 3,
        [2],
        [[1, 1]] * 4,
        edges=[[0, 0], [1, 0], [1, 1]],
        mean=[0.875, 0.5, 0.5],
        cost=[0.75, 0.5, 0.5],
    )
    assert chosen(Lcf(), instance) == [[0, 1]] * 4  # 0.75 < 0.5 + 0.5
    # without estimates port 0 goes first; then its 0.875 stays ahead of port 1, of which only 0.5 is known
    assert chosen(Hswf(), instance) == [[0, 1]] * 4
    assert chosen(Hswf(), instance.with_arrivals([[0, 1]] + [[1, 1]] * 2)) == [[1, 2]] * 3


# ------------------------------------------------------------------ Algorithm 2


def literal(
    upsilon: np.ndarray, sigma2: np.ndarray, demand: np.ndarray, capacity: np.ndarray, s_max: int
) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 2 line by line, with every x(s, c', i) as a vector."""
    count = len(sigma2)
    values: dict[Any, float] = {}
    x: dict[Any, np.ndarray] = {}
    for s in range(s_max + 1):
        for c in itertools.product(*(range(k + 1) for k in capacity)):
            values[s, c, count] = 0.0 if s == 0 else -np.inf
            for i in range(count, -1, -1):
                x[s, c, i] = np.zeros(count, dtype=bool)  # line 1
            for i in range(count - 1, -1, -1):
                values[s, c, i] = values[s, c, i + 1]
                if not any(c):
                    continue
                before = max(s - upsilon[i], 0), tuple(np.maximum(c - demand[i], 0).tolist()), i + 1
                values[s, c, i] = max(values[before] + sigma2[i], values[s, c, i + 1])
                if values[s, c, i] != values[s, c, i + 1]:
                    x[s, c, i] = x[before].copy()
                    x[s, c, i][i] = True
                    if (x[s, c, i] @ demand > c).any():
                        values[s, c, i] = values[s, c, i + 1]
                        x[s, c, i] = x[s, c, i + 1]
    top = tuple(capacity.tolist())
    return np.array([x[s, top, 0] for s in range(s_max + 1)]), np.array(
        [values[s, top, 0] for s in range(s_max + 1)]
    )


@st.composite
def programs(draw: st.DrawFn, least: int = 0) -> tuple[Any, ...]:
    count, kinds = draw(st.integers(0, 5)), draw(st.integers(1, 2))

    def whole(low: int, high: int, *shape: int) -> np.ndarray:
        size = math.prod(shape)
        numbers = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return np.array(numbers, dtype=np.int64).reshape(shape)

    return (
        whole(0, 3, count),
        whole(0, 9, count),
        whole(least, 3, count, kinds),
        whole(0, 4, kinds),
        draw(st.integers(0, 8)),
    )


@given(programs())
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_compiled_algorithm_2_is_the_printed_one(program: tuple[Any, ...]) -> None:
    x, values = algorithm_2(*program)
    want, worth = literal(*program)
    assert np.array_equal(values, worth)
    assert np.array_equal(x, want)


@given(programs())
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_repaired_algorithm_2_is_exact(program: tuple[Any, ...]) -> None:
    upsilon, sigma2, demand, capacity, s_max = program
    x, values = algorithm_2_repaired(*program)
    every = np.array(list(itertools.product([0, 1], repeat=len(sigma2))))
    every = every[(every @ demand <= capacity).all(axis=1)]
    for s in range(s_max + 1):
        reach = every[every @ upsilon >= s]
        assert values[s] == (max(reach @ sigma2) if len(reach) else -np.inf)
        if len(reach):
            assert x[s] @ sigma2 == values[s]
            assert x[s] @ upsilon >= s
            assert (x[s] @ demand <= capacity).all()
        else:
            assert not x[s].any()


@given(programs(least=1))
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_values_of_algorithm_2_are_right_where_every_demand_is_positive(
    program: tuple[Any, ...],
) -> None:
    assert np.array_equal(algorithm_2(*program)[1], algorithm_2_repaired(*program)[1])


@given(programs())
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_selection_of_21_is_the_best_index_counted_up_to_the_largest_s(
    program: tuple[Any, ...],
) -> None:
    upsilon, sigma2, demand, capacity, s_max = program
    x, values = algorithm_2_repaired(*program)
    s, best = select(x, values, sigma2, "dropped")
    every = np.array(list(itertools.product([0, 1], repeat=len(sigma2))))
    every = every[(every @ demand <= capacity).all(axis=1)]
    want = max(np.minimum(every @ upsilon, s_max) + np.sqrt(every @ sigma2))
    assert s + np.sqrt(values[s]) == pytest.approx(want)
    assert min(best @ upsilon, s_max) + np.sqrt(best @ sigma2) == pytest.approx(want)


def test_algorithm_2_lacks_a_branch() -> None:
    program = ([1, 1], [2, 3], [[1], [1]], [1], 0)
    x, values = algorithm_2(*program)
    assert x.tolist() == [[False, False]]
    assert values.tolist() == [3.0]
    assert algorithm_2_repaired(*program)[0].tolist() == [[False, True]]


def test_an_s_that_nothing_reaches_wins_as_printed() -> None:
    x, values = algorithm_2([2], [4], [[1]], [1], 8)
    assert values.tolist() == [4.0, 4.0, 4.0] + [-np.inf] * 6
    for form in ("printed", "values"):
        s, best = select(x, values, [4], form)
        assert (s, best.tolist()) == (8, [False])
    s, best = select(x, values, [4], "dropped")
    assert (s, best.tolist()) == (2, [True])
    assert s + math.sqrt(values[s]) == 4.0


def test_an_s_too_small_selects_wrongly() -> None:
    """Upsilon.x reaches 3, but S(t) ends at 1: the channel with the wider confidence wins."""
    program = ([3, 1], [1, 4], [[1], [1]], [1])
    whole = select(*algorithm_2_repaired(*program, 3), [1, 4], "dropped")[1]
    cut = select(*algorithm_2_repaired(*program, 1), [1, 4], "dropped")[1]
    assert whole.tolist() == [True, False]
    assert cut.tolist() == [False, True]


def test_the_three_forms_of_21_differ() -> None:
    """At s = 1 the value is 25 with x = 0, at s = 2 it is 9 with its x, and nothing reaches s = 3."""
    x, values = algorithm_2([2, 1], [9, 25], [[1], [1]], [1], 6)
    assert values.tolist() == [25.0, 25.0, 9.0] + [-np.inf] * 4
    assert x[:3].tolist() == [[False, False], [False, False], [True, False]]
    assert [select(x, values, [9, 25], form)[0] for form in FORMS] == [6, 1, 2]
    with pytest.raises(InputError, match="form: 'other' is not one of printed, values, dropped"):
        select(x, values, [9, 25], "other")


@pytest.mark.parametrize("solve", [algorithm_2, algorithm_2_repaired])
def test_bad_input_to_algorithm_2(solve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    good: dict[str, Any] = {"upsilon": [1], "sigma2": [2], "demand": [[1]], "capacity": [1], "s_max": 1}
    for change, message in (
        ({"upsilon": [0.5]}, r"upsilon\[0\]: 0.5 is not a whole number"),
        ({"sigma2": [-1]}, r"sigma2\[0\]: -1 is not a whole number"),
        ({"demand": [[1, 2]]}, "demand: shape 1 x 2 does not fit, expected 1 x 1"),
        ({"s_max": -1}, "s_max: -1 is not a whole number"),
        ({"s_max": 1.5}, "s_max: 1.5 is not a whole number"),
        ({"capacity": [2**31]}, r"capacity: the dense table over s, c' and i would take [\d,]+ bytes"),
    ):
        with pytest.raises(InputError, match=message):
            solve(**{**good, **change})
    monkeypatch.setattr(printed, "TABLE_BYTES", 10)
    with pytest.raises(InputError, match="more than 10"):
        solve(**good)


def test_sums_beyond_single_precision_are_exact() -> None:
    """2^24 + 1 is the first whole number that single precision cannot hold."""
    program = ([1, 1], [2**24, 1], [[1], [1]], [2], 2)
    for solve in (algorithm_2, algorithm_2_repaired):
        x, values = solve(*program)
        assert values.tolist() == [2**24 + 1] * 3
        assert x.all()


# ------------------------------------------------------------------ settings, list, errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("esdp:delta=none", "policy esdp: delta: 'none' is not one of loglog, log, loglog-7, logloglog"),
        ("esdp:g=big", "policy esdp: g: 'big' is not one of full, loglog, log"),
        ("escb:g=big", "policy escb: g: 'big' is not one of full, loglog, log"),
        ("aescb:g=big", "policy aescb: g: 'big' is not one of full, loglog, log"),
        *(
            (f"{who}:gap=2", f"policy {who}: gap: 2.0 is not at least 0 and at most 1")
            for who in ("esdp", "escb", "escb-v")
        ),
        ("esdp-printed:alpha=2", "policy esdp-printed: alpha: 2.0 is not in [0, 1]"),
        ("esdp-printed:alpha=nan", "policy esdp-printed: alpha: nan is not in [0, 1]"),
        ("esdp-printed:g=big", "policy esdp-printed: g: 'big' is not one of full, loglog, log"),
        ("hswf:misfit=wait", "policy hswf: misfit: 'wait' is not one of stop, skip"),
    ],
)
def test_settings_that_do_not_exist(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        make_policy(text, "selection")
    assert str(error.value) == message


@pytest.mark.parametrize("field", ["delta", "g"])
def test_sequences_that_do_not_exist(field: str) -> None:
    with pytest.raises(InputError, match=f"{field}: 'big' is not one of"):
        {"delta": lambda: delta("big", 1), "g": lambda: g("big", 1, 1)}[field]()


@pytest.mark.parametrize("name", sorted(POLICIES.keys() - {"esdp-gang", "escb-v-gang"}))
def test_every_policy_needs_to_see_the_arrivals(name: str) -> None:
    instance = kit.ordinary()["scarce devices"]
    policy = make_policy(name, "selection")
    policy.start(instance.setting, RNG)
    with pytest.raises(InputError, match="needs to see the arrivals"):
        policy.decide(Observation(0, None))


def test_drawn_means_have_the_variance_of_the_mean_and_are_not_negative() -> None:
    """Three samples of 0.2, 0.4, 0.6 and one of variance 1/4 beside: (0.08 + 0.25) / 4 / 3."""
    policy = GaussianThompson()
    policy.start(kit.ordinary()["scarce devices"].setting, np.random.default_rng(1))
    for utility in (0.2, 0.4, 0.6):
        policy.learn(Feedback(0, np.array([0]), np.array([utility])))
    means = np.array([policy.index(9)[0] for _ in range(20_000)])
    assert not means[:, 1:].any()
    assert (means >= 0.0).all()
    assert np.median(means[:, 0]) == pytest.approx(0.4, abs=0.01)
    inner = np.quantile(means[:, 0], [0.25, 0.75])
    assert np.diff(inner) / (2 * 0.67449) == pytest.approx(math.sqrt(0.33 / 4 / 3), rel=0.05)


@pytest.mark.parametrize("prior", [0.0, -1.0, math.nan])
def test_the_prior_of_variances_is_above_0(prior: float) -> None:
    with pytest.raises(InputError, match="prior: "):
        EscbV(prior=prior)


def test_the_list_of_policies_says_who_has_a_guarantee() -> None:
    rows = {row.name: row for row in policy_table("selection")}
    assert set(rows) == POLICIES.keys() - {"esdp-gang", "escb-v-gang"}
    assert [name for name, row in rows.items() if row.guarantee != "none"] == ["cucb"]
    assert [name for name, row in rows.items() if row.randomised] == ["thompson", "gaussian-thompson"]
    assert all(row.sees == ("arrivals",) and row.feasible for row in rows.values())
    assert rows["esdp"].settings == {"delta": "loglog", "g": "full", "gap": 0.0}
    assert rows["esdp-printed"].settings == {"delta": "loglog", "g": "full", "alpha": 0.5}


def test_cucb_keeps_its_bound() -> None:
    instance = kit.ordinary()["scarce devices"]
    instance = instance.with_arrivals(np.ones((300, instance.setting.ports)))
    m, count, slots = instance.setting.most_channels, instance.setting.channels, 300
    bound = 4 * math.sqrt(1.5 * m * count * slots * math.log(slots)) + m * count * (1 + math.pi**2 / 3)
    regret = slots * instance.setting.knapsack.best(instance.mean).value - play(Cucb(), instance).total
    assert 0 < regret < bound


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="takes minutes if kernels are interpreted"
)
def test_the_printed_algorithm_has_linear_regret_where_capacity_binds() -> None:
    """It tends to the best set for all ports and loses what is closed; the slope is that of this set."""
    instance = kit.ordinary()["scarce devices"]
    setting, slots = instance.setting, 1500
    arrivals = np.random.default_rng(1).integers(0, 2, (slots, setting.ports))
    instance = instance.with_arrivals(arrivals)
    best = np.array([setting.knapsack.best(instance.mean, open=setting.open(row)).value for row in arrivals])
    everywhere = setting.knapsack.best(instance.mean).x & arrivals.astype(bool)[:, setting.port]
    slope = (best - everywhere @ instance.mean)[slots // 2 :].mean()
    printed_, aware = (
        (best - play(make(g="log"), instance).rewards)[slots // 2 :].mean() for make in (EsdpPrinted, Esdp)
    )
    assert printed_ == pytest.approx(slope, rel=0.15)
    assert aware < 0.3 * slope
