"""Leaders, the hedge over one, the optimum of a slot, the step without a scale: what is promised of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.allocation import geometry, utility
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.base import InputError
from clairvoyant.online.allocation import FollowLeader, Hedge, Ogasched, SlotOptimum
from clairvoyant.online.play import play
from clairvoyant.oracles.allocation.optimum import dynamic, stationary
from clairvoyant.testing import allocation as kit

from .test_allocation_policies import PATTERNS, with_pattern


def bound_of(instance: AllocationInstance) -> float:
    """Return what no allocation that is held in every slot exceeds, rounding included."""
    bound = stationary(instance).bound
    assert bound is not None
    return bound + 1e-6 * max(1.0, abs(bound))


@given(kit.instances(min_slots=1, max_slots=30, max_jobs=2), st.sampled_from([1.1, 2.0]))
@hypothesis_settings(max_examples=25, deadline=None)
def test_the_leader_is_the_optimum_of_the_counts_when_it_is_found_again(
    instance: AllocationInstance, growth: float
) -> None:
    decisions = play(FollowLeader(growth=growth), instance, keep_decisions=True).decisions or ()
    counts, again = np.ones(instance.setting.ports), 0.0
    for slot, y in enumerate(decisions):
        if slot >= again:
            again = max(slot + 1.0, slot * growth)
            held, known = y, counts.copy()
            oracle = stationary(instance.with_arrivals(known[None, :].astype(np.int64)))
            earned = float(known @ instance.setting.port_rewards(held))
            assert earned == pytest.approx(oracle.value, rel=1e-5, abs=1e-9)
        assert np.array_equal(y, held)
        counts += instance.arrivals[slot]


def regret_of_the_hedge(instance: AllocationInstance) -> float:
    """Return how much the better expert, who plays alone, is ahead of the hedge, over what is promised."""
    hedge = Hedge()
    earned = play(hedge, instance).total
    alone = [play(one, instance).rewards for one in (Ogasched(start_at="fair"), FollowLeader())]
    squares = float(((alone[0] - alone[1]) ** 2).sum())
    best = max(float(rewards.sum()) for rewards in alone)
    assert hedge.squares == pytest.approx(squares, rel=1e-9, abs=1e-12)
    promised = 2.0 * math.sqrt((1.0 + math.log(2.0) / 4.0) * squares)
    assert best - earned <= promised + 1e-9 * max(1.0, abs(best))
    setting = instance.setting
    most = np.maximum(1, instance.arrivals.max(axis=0, initial=0))
    norm = np.sqrt(most**2 @ geometry.gradient_norms(setting))
    theorem_1 = geometry.diameter(setting) * norm * np.sqrt(setting.slots)
    assert bound_of(instance) - earned <= theorem_1 + promised + 1e-6 * max(1.0, abs(best))
    return (best - earned) / promised if promised > 0.0 else 0.0


@given(kit.instances(min_slots=1, max_slots=12, max_jobs=3))
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_hedge_keeps_its_guarantee(instance: AllocationInstance) -> None:
    regret_of_the_hedge(instance)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_hedge_keeps_its_guarantee_under_hard_patterns(pattern: str) -> None:
    """In turns the leader is wrong again and again, and the hedge comes near to OGASched."""
    assert regret_of_the_hedge(with_pattern(generate("tiny", seed=3), pattern, 200)) > -1.0


def test_the_hedge_follows_who_leads() -> None:
    instance = generate("tiny", seed=1, slots=400)
    totals = [play(one, instance).total for one in (Ogasched(start_at="fair"), FollowLeader(), Hedge())]
    assert totals[2] >= max(totals[:2]) - 0.02 * abs(max(totals[:2]))
    assert totals[2] > min(totals[:2])


def gradients(instance: AllocationInstance, decisions: list[np.ndarray]) -> float:
    """Return the root of the sum of |g(t)|^2."""
    rows = [instance.setting.supergradient(y, x) for y, x in zip(decisions, instance.arrivals, strict=True)]
    return float(np.sqrt(sum((row**2).sum() for row in rows)))


@given(kit.instances(min_edges=1), st.sampled_from(PATTERNS), st.sampled_from([12, 60]))
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_step_without_a_scale_keeps_its_guarantee(
    instance: AllocationInstance, pattern: str, slots: int
) -> None:
    instance = with_pattern(instance, pattern, slots)
    run = play(Ogasched(step="adagrad"), instance, keep_decisions=True)
    promised = math.sqrt(2.0) * geometry.tight_diameter(instance.setting)
    promised *= gradients(instance, list(run.decisions or ()))
    assert bound_of(instance) - run.total <= promised + 2e-6 * max(1.0, abs(run.total))


@pytest.mark.parametrize("factor", [2.0**-10, 0.5])
def test_the_step_without_a_scale_does_the_same_in_other_units_of_reward(factor: float) -> None:
    instance = generate("tiny", seed=1, utility="linear")
    data = instance.to_dict()
    data["utility"]["alpha"] = (factor * np.array(data["utility"]["alpha"])).tolist()
    data["overhead"] = (factor * np.array(data["overhead"])).tolist()
    one, other = (
        play(Ogasched(step="adagrad"), scaled, keep_decisions=True)
        for scaled in (instance, AllocationInstance.from_dict(data))
    )
    assert other.total == factor * one.total != 0.0
    assert np.array_equal(one.decisions or (), other.decisions or ())


@given(kit.instances(min_slots=1, max_slots=6, max_jobs=3))
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_optimum_of_the_slot_is_what_the_oracle_finds(instance: AllocationInstance) -> None:
    policy = SlotOptimum()
    rewards = play(policy, instance).rewards
    for reward, (low, _) in zip(rewards, dynamic(instance).certificate.per_slot, strict=True):
        assert reward >= (1.0 - 1e-6) * low - 1e-9 * max(1.0, abs(low))
        assert reward >= (1.0 - policy.largest_gap) * low - 1e-13 * max(1.0, abs(low))


def wide(seed: int, scale: float) -> AllocationInstance:
    """Return an instance of a few slots in which amounts and utilities are from 10^-scale to 10^scale."""
    rng = np.random.default_rng(seed)
    ports, servers, kinds = 3, 3, 2

    def amounts(*shape: int) -> np.ndarray:
        return np.where(rng.random(shape) < 0.2, 0.0, 10.0 ** rng.uniform(-scale, scale, shape))

    return AllocationInstance(
        edges=[[p, r] for p in range(ports) for r in range(servers) if rng.random() < 0.8],
        demand=amounts(ports, kinds),
        capacity=amounts(servers, kinds),
        overhead=rng.choice([0.0, 1e-50, 0.1, 1.0], kinds),
        utility_kind=rng.choice(utility.KINDS, (servers, kinds)).tolist(),
        alpha=10.0 ** rng.uniform(-scale, scale, (servers, kinds)),
        arrivals=rng.integers(0, 3, (4, ports)),
    )


def near_cost(excess: float) -> AllocationInstance:
    """Return an instance in which a device earns so much more than its overhead, a share of 1."""
    return AllocationInstance(
        edges=[[0, 0]],
        demand=[[1.0]],
        capacity=[[1.0]],
        overhead=[1.0],
        utility_kind=[["linear"]],
        alpha=[[1.0 + excess]],
        arrivals=[[1]],
    )


def best_alone(instance: AllocationInstance, slot: int) -> float:
    """Return what a port or a solver's allocation earns in a slot at least, found without our method."""
    s, arrivals = instance.setting, instance.arrivals[slot : slot + 1]
    full = s.project(s.edge_demand)
    alone = [float(arrivals[0] @ s.port_rewards(np.where(on, full, 0.0))) for on in ([[True]], [[False]])]
    return max(*alone, stationary(instance.with_arrivals(arrivals), method="cvxpy").value)


def check_the_gap(policy: SlotOptimum, instance: AllocationInstance) -> None:
    """Compare what a policy has earned in every slot with what it promises afterwards."""
    for slot, reward in enumerate(play(policy, instance).rewards.tolist()):
        best = best_alone(instance, slot)
        assert reward >= (1.0 - policy.largest_gap) * best - 1e-14 * abs(best)


@pytest.mark.parametrize("excess", [1e-9, 1e-12, 1e-13, 1e-14, 4e-16])
def test_the_gap_is_true_where_gains_and_overhead_cancel(excess: float) -> None:
    check_the_gap(SlotOptimum(), near_cost(excess))


@pytest.mark.parametrize(("seed", "scale"), [(9, 50.0), (1, 50.0), (3, 25.0), (4, 10.0)])
def test_the_gap_is_true_where_the_search_stalls(seed: int, scale: float) -> None:
    check_the_gap(SlotOptimum(), wide(seed, scale))


def test_a_search_that_stalls_says_so() -> None:
    policies = SlotOptimum(), FollowLeader()
    for policy in policies:
        play(policy, near_cost(1e-14))
        assert policy.largest_gap > 0.5
        play(policy, generate("tiny", seed=1))
        assert 0.0 < policy.largest_gap <= 1.001e-6


def test_a_bound_that_is_beyond_all_numbers_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from clairvoyant.online.allocation import leaders

    monkeypatch.setattr(leaders, "certificate_bound", lambda *_: math.nan)
    policy = SlotOptimum()
    play(policy, generate("tiny", seed=1))
    assert policy.largest_gap == 1.0


def test_the_optimum_of_a_slot_is_kept_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    from clairvoyant.online.allocation import leaders

    asked: list[list[float]] = []
    first = leaders.best_response

    def counted(setting, weights, gap):  # type: ignore[no-untyped-def]
        asked.append(weights.tolist())
        return first(setting, weights, gap)

    monkeypatch.setattr(leaders, "best_response", counted)
    instance = generate("tiny", seed=1)
    a, b, c = np.eye(3, instance.setting.ports, dtype=np.int64)
    instance = instance.with_arrivals(np.array([a, b, a, c, a, b]))
    play(SlotOptimum(), instance)
    assert len(asked) == 3
    asked.clear()
    monkeypatch.setattr(leaders, "MOST_KEPT_BYTES", 2 * 8 * math.prod(instance.setting.shape))
    play(SlotOptimum(), instance)
    assert [row.index(1.0) for row in asked] == [0, 1, 2, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FollowLeader(growth=1.0), "growth: 1.0 is not at least"),
        (lambda: FollowLeader(gap=0.0), "gap: 0.0 is not at least"),
        (lambda: SlotOptimum(gap=2.0), "gap: 2.0 is not at least"),
    ],
)
def test_settings_out_of_range(make: type[SlotOptimum], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
