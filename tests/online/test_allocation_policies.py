"""Every policy that comes with the package: the contract, and its exact behaviour."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant import problems
from clairvoyant.api import make_policy, policy_table
from clairvoyant.models.allocation import geometry, kernels, utility
from clairvoyant.models.allocation.gang import AllocationGangInstance, AllocationGangSetting, generate_gang
from clairvoyant.models.allocation.gang_search import best_gang
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.setting import Feedback, Observation, Setting
from clairvoyant.models.base import InputError
from clairvoyant.online.allocation import (
    BinPacking,
    Drf,
    Fairness,
    Ogasched,
    OgaschedPrinted,
    PerturbedLeader,
    Spreading,
)
from clairvoyant.online.allocation import kernels as _kernels
from clairvoyant.online.allocation.gang import leader_bounds, reward_caps
from clairvoyant.online.allocation.ogasched import STEPS, fair_share
from clairvoyant.online.allocation.printed import printed_projection
from clairvoyant.online.base import Policy
from clairvoyant.online.play import play, policy_stream
from clairvoyant.oracles.allocation.optimum import dynamic, gang, stationary
from clairvoyant.problems import OURS, policies
from clairvoyant.testing import allocation as kit
from clairvoyant.testing import policy_checks

RNG = np.random.default_rng(0)  # for policies that draw nothing
LISTED = {**policies("allocation"), **policies("allocation-gang")}
VARIANTS: dict[str, Callable[[], Any]] = {
    **LISTED,
    "fairness, all": lambda: Fairness(share="all"),
    "binpacking, quota 1": lambda: BinPacking(quota=1.0),
    "ogasched, per-slot": lambda: Ogasched(step="per-slot"),
    "ogasched, decay, fair": lambda: Ogasched(step="decay", start_at="fair"),
}
# What is listed is checked in full; of another setting of it one instance and one seed tell.
ONE: dict[str, Any] = {"instances": [kit.ordinary()["several jobs"]], "seeds": (0,)}
CHECKS = [
    pytest.param(check, id=f"{name}: {check_name}")
    for name, make in VARIANTS.items()
    for check_name, check in policy_checks(make, **({} if name in LISTED else ONE))
]


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check: Callable[[], None]) -> None:
    check()


# ------------------------------------------------------------------ heuristics


def by_hand(
    *,
    edges: list[list[int]],
    demand: list[list[float]],
    capacity: list[list[float]],
    arrivals: list[list[int]],
    overhead: list[float] | None = None,
    family: str = "linear",
) -> AllocationInstance:
    shape = np.shape(capacity)
    return AllocationInstance(
        edges=edges,
        demand=demand,
        capacity=capacity,
        overhead=overhead or [0.5] * shape[1],
        utility_kind=np.full(shape, family, dtype=object),
        alpha=np.ones(shape),
        arrivals=arrivals,
    )


def decide(policy: Policy, instance: AllocationInstance, slot: int = 0) -> dict[tuple[int, int], list[float]]:
    """Return what a policy gives in one slot, by (port, server)."""
    policy.start(instance.setting, RNG)
    y = policy.decide(Observation(slot, instance.arrivals[slot]))
    return {(p, r): row.tolist() for (p, r), row in zip(instance.setting.edges.tolist(), y, strict=True)}


TWO_SERVERS = by_hand(
    edges=[[0, 0], [1, 0], [2, 0], [0, 1], [1, 1]],
    demand=[[3.0, 1.0], [2.0, 2.0], [1.0, 1.0]],
    capacity=[[4.0, 4.0], [2.0, 4.0]],
    arrivals=[[1, 1, 1], [0, 1, 1], [0, 2, 1]],
)
"""Dominant shares: port 0: 3/6 and 1/8; port 1: 2/6 and 2/8; port 2, on server 0 only: 1/4 and 1/4."""


def test_drf_serves_in_ascending_order_of_the_dominant_share() -> None:
    assert decide(Drf(), TWO_SERVERS) == {
        (2, 0): [1.0, 1.0],  # first, at share 1/4
        (1, 0): [2.0, 2.0],  # then 1/3
        (1, 1): [2.0, 2.0],
        (0, 0): [1.0, 1.0],  # last, at 1/2: one device of kind 0 is left
        (0, 1): [0.0, 1.0],
    }


def test_the_dominant_share_is_the_largest_one_and_not_their_sum() -> None:
    wide = by_hand(
        edges=[[0, 0], [1, 0]], demand=[[3.0, 0.0], [2.0, 2.0]], capacity=[[4.0, 4.0]], arrivals=[[1, 1]]
    )
    assert decide(Drf(), wide) == {(0, 0): [2.0, 0.0], (1, 0): [2.0, 2.0]}


def test_drf_leaves_out_ports_without_jobs() -> None:
    got = decide(Drf(), TWO_SERVERS, slot=1)
    assert got[0, 0] == got[0, 1] == [0.0, 0.0]
    assert got[2, 0] == [1.0, 1.0]


def test_drf_gives_ties_to_the_smaller_port_and_ignores_kinds_that_are_nowhere() -> None:
    alike = by_hand(
        edges=[[0, 0], [1, 0]], demand=[[3.0, 1.0], [3.0, 0.0]], capacity=[[4.0, 0.0]], arrivals=[[1, 1]]
    )
    assert decide(Drf(), alike) == {(0, 0): [3.0, 0.0], (1, 0): [1.0, 0.0]}


def test_utilisation_is_the_mean_of_shares_over_the_kinds_that_a_server_has() -> None:
    """Server 0 is used by 0.45 (18 of 40, twice), server 1, which has no kind 1, by 0.75 (6 of 8)."""
    instance = by_hand(
        edges=[[0, 0], [1, 1], [2, 0], [2, 1]],
        demand=[[24.0, 24.0], [8.0, 0.0], [1.0, 0.0]],
        capacity=[[40.0, 40.0], [8.0, 0.0]],
        arrivals=[[1, 1, 1]],
    )
    taken = {(0, 0): [18.0, 18.0], (1, 1): [6.0, 0.0]}
    assert decide(Spreading(), instance) == {**taken, (2, 0): [1.0, 0.0], (2, 1): [0.5, 0.0]}
    assert decide(BinPacking(), instance) == {**taken, (2, 0): [0.5, 0.0], (2, 1): [1.0, 0.0]}


def test_fairness_among_arrived_ports() -> None:
    got = decide(Fairness(), TWO_SERVERS, slot=1)
    assert got == {
        (0, 0): [0.0, 0.0],
        (1, 0): [2.0, 2.0],  # 4 * 2/3 and 4 * 2/3 are more than it wants
        (2, 0): [1.0, 1.0],
        (0, 1): [0.0, 0.0],
        (1, 1): [2.0, 2.0],
    }
    assert decide(Fairness(), TWO_SERVERS)[0, 0] == pytest.approx([4.0 * 3 / 6, 4.0 * 1 / 4])


def test_fairness_as_printed_counts_all_ports() -> None:
    got = decide(Fairness(share="all"), TWO_SERVERS, slot=1)
    assert got[1, 0] == pytest.approx([4.0 * 2 / 6, 4.0 * 2 / 4])
    assert got[2, 0] == pytest.approx([4.0 * 1 / 6, 1.0])
    assert got[1, 1] == pytest.approx([2.0 * 2 / 5, 2.0])
    assert got[0, 0] == [0.0, 0.0]


def test_both_readings_of_fairness_agree_when_every_port_has_jobs() -> None:
    assert decide(Fairness(), TWO_SERVERS) == decide(Fairness(share="all"), TWO_SERVERS)


FULLEST = by_hand(
    edges=[[0, 0], [1, 0], [1, 1]], demand=[[1.0], [1.0]], capacity=[[4.0], [4.0]], arrivals=[[1, 1]]
)


def test_binpacking_takes_the_fullest_server_and_spreading_the_emptiest() -> None:
    """Port 0 fills a quarter of server 0; port 1 takes half of the 2 it could hold, on one server."""
    assert decide(BinPacking(quota=0.5), FULLEST) == {(0, 0): [0.5], (1, 0): [1.0], (1, 1): [0.0]}
    assert decide(Spreading(quota=0.5), FULLEST) == {(0, 0): [0.5], (1, 0): [0.0], (1, 1): [1.0]}


def test_utilisation_leaves_out_kinds_without_capacity() -> None:
    """Server 0 has no kind 1; that must not make it look half empty."""
    instance = by_hand(
        edges=[[0, 0], [0, 1], [1, 0], [1, 1]],
        demand=[[2.0, 2.0], [2.0, 0.0]],
        capacity=[[4.0, 0.0], [4.0, 8.0]],
        arrivals=[[1, 1]],
    )
    # After port 0: server 0 at 1/2, server 1 at (1/2 + 1/4) / 2.
    assert decide(BinPacking(quota=1.0), instance)[0, 1] == [2.0, 2.0]
    assert decide(BinPacking(quota=0.5), instance) == {
        (0, 0): [2.0, 0.0],
        (0, 1): [0.0, 2.0],
        (1, 0): [2.0, 0.0],  # at 1/2 against 1/8
        (1, 1): [0.0, 0.0],
    }


@given(kit.instances(min_slots=1, max_slots=3, min_edges=1))
@hypothesis_settings(max_examples=60, deadline=None)
def test_binpacking_equals_spreading_where_the_quota_is_everything(instance: AllocationInstance) -> None:
    packed, spread = (
        play(policy(quota=1.0), instance, keep_decisions=True).decisions for policy in (BinPacking, Spreading)
    )
    assert packed is not None
    assert spread is not None
    rounding = 1e-12 * max(1.0, instance.setting.capacity.max())  # they add up in different orders
    assert all(np.allclose(a, b, rtol=0, atol=rounding) for a, b in zip(packed, spread, strict=True))


@given(kit.instances(min_slots=1, max_slots=3), st.floats(0.01, 1.0))
@hypothesis_settings(max_examples=60, deadline=None)
def test_no_port_takes_more_than_its_quota(instance: AllocationInstance, quota: float) -> None:
    setting = instance.setting
    most = quota * np.diff(setting.port_start)[:, None] * setting.demand
    for policy in (BinPacking(quota=quota), Spreading(quota=quota)):
        for y in play(policy, instance, keep_decisions=True).decisions or ():
            assert (setting.port_sums(y) <= most * (1 + 1e-12) + 1e-12).all()


@pytest.mark.parametrize("policy", [Drf(), Fairness(), BinPacking(), Spreading()], ids=lambda p: p.name)
def test_heuristics_say_when_they_are_not_shown_the_arrivals(policy: Policy) -> None:
    policy.start(TWO_SERVERS.setting, RNG)
    with pytest.raises(InputError, match="needs to see the arrivals"):
        policy.decide(Observation(0, None))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fairness(share="some"), "share: 'some' is not one of arrived, all"),
        (lambda: BinPacking(quota=0.0), r"quota: 0.0 is not in \(0, 1\]"),
        (lambda: Spreading(quota=1.5), r"quota: 1.5 is not in \(0, 1\]"),
        (lambda: Ogasched(step="big"), "step: 'big' is not one of constant, per-slot, adagrad, decay"),
        (lambda: Ogasched(start_at="full"), "start_at: 'full' is not one of zero, fair"),
        (lambda: PerturbedLeader(eps=0.0), "eps: 0.0 is not at least 1e-50"),
        (lambda: PerturbedLeader(time_limit=np.nan), "time_limit: nan is not a finite number"),
        (lambda: Ogasched(eta0=-1.0), r"eta0: -1.0 is not at least 1e-50 and at most 1e\+50"),
        (lambda: Ogasched(decay=np.nan), "decay: nan is not a finite number"),
        (lambda: Ogasched(decay=1e308), "decay: 1e.308 is not at least 1e-50 and at most 1e.50$"),
        (
            lambda: PerturbedLeader(eps=1e-310),
            "eps: 1e-310 is nearer to 0 than 2.2e-308|eps: .* at least 1e-50",
        ),
    ],
)
def test_settings_out_of_range(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


# ------------------------------------------------------------------ OGASched


def bisect_projection(setting: Setting, z: np.ndarray) -> np.ndarray:
    """Project row by row, finding rho / 2 by bisection down to neighbouring floats."""
    y = np.zeros_like(z)
    for r in range(setting.servers):
        here = np.flatnonzero(setting.server == r)
        for k in range(setting.kinds):
            row, a, c = z[here, k], setting.edge_demand[here, k], setting.capacity[r, k]
            low, high = 0.0, max(0.0, row.max(initial=0.0))
            if np.clip(row, 0.0, a).sum() > c:
                for _ in range(200):
                    middle = 0.5 * (low + high)
                    low, high = (middle, high) if np.clip(row - middle, 0, a).sum() > c else (low, middle)
                row = row - high
            y[here, k] = np.clip(row, 0.0, a)
    return y


def literal_ogasched(instance: AllocationInstance, step: str, start: str) -> list[np.ndarray]:
    """Algorithm 1 with an exact projection, written down with numpy as it stands in the paper."""
    s = instance.setting
    diameter = np.sqrt(2.0 * sum(s.demand[:, k].max() * s.capacity[:, k].sum() for k in range(s.kinds)))
    varpi = utility.slope_at_zero(s.kind, s.alpha).max(axis=1)
    norms = np.zeros(s.ports)
    for port, server in s.edges:
        norms[port] += s.overhead.max() ** 2 + s.kinds * varpi[server] ** 2
    tight, squares = geometry.tight_diameter(s), 0.0
    most = np.ones(s.ports)
    y = np.zeros(s.shape) if start == "zero" else fair_share(s)
    decisions = []
    for t, x in enumerate(instance.arrivals):
        decisions.append(y)
        gradient = np.zeros(s.shape)
        for e, (port, server) in enumerate(s.edges):
            held = y[s.port == port].sum(axis=0)
            dominant = int(np.argmax(s.overhead * held))
            slope = utility.slope(s.kind[server], s.alpha[server], y[e])
            gradient[e] = x[port] * (slope - s.overhead * (np.arange(s.kinds) == dominant))
        most = np.maximum(most, x)
        length = np.linalg.norm(gradient)
        squares += float(length) ** 2
        eta = {
            "constant": diameter / np.sqrt((most**2 @ norms) * s.slots) if norms.any() else 0.0,
            "per-slot": diameter / (length * np.sqrt(s.slots)) if length > 0 else 0.0,
            "adagrad": tight / np.sqrt(2.0 * squares) if squares > 0 else 0.0,
            "decay": 25.0 * 0.9999**t,
        }[step]
        y = bisect_projection(s, y + eta * gradient)
    return decisions


@pytest.mark.parametrize("start", ["zero", "fair"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", sorted(kit.ordinary()))
def test_ogasched_equals_algorithm_1_written_literally(name: str, step: str, start: str) -> None:
    instance = kit.ordinary()[name]
    got = play(Ogasched(step=step, start_at=start), instance, keep_decisions=True).decisions
    for y, want in zip(got or (), literal_ogasched(instance, step, start), strict=True):
        assert y == pytest.approx(want, rel=1e-9, abs=1e-9)


@given(kit.instances(min_edges=1, min_slots=2, max_slots=5), st.sampled_from(STEPS))
@hypothesis_settings(max_examples=40, deadline=None)
def test_ogasched_equals_algorithm_1_on_any_instance(instance: AllocationInstance, step: str) -> None:
    """Where two kinds of overhead nearly tie, rounding decides which is charged: these are left out."""
    want = literal_ogasched(instance, step, "zero")
    charges = instance.setting.overhead * [instance.setting.port_sums(y) for y in want]
    ordered = np.sort(charges, axis=2)
    if instance.setting.kinds > 1:
        lead = ordered[:, :, -1] - ordered[:, :, -2]
        assume(((lead > 1e-6) | (ordered[:, :, -1] == 0.0)).all())
    got = play(Ogasched(step=step), instance, keep_decisions=True).decisions
    for y, literal in zip(got or (), want, strict=True):
        assert y == pytest.approx(literal, rel=1e-6, abs=1e-6)


def test_the_constant_step_is_d_over_g_root_t() -> None:
    """One port, server and kind, f(y) = y, beta = 1/2: from 0, y(2) is eta times a gradient of 1 - 1/2."""
    one = by_hand(edges=[[0, 0]], demand=[[9.0]], capacity=[[8.0]], arrivals=[[1]] * 16)
    diameter, norm = np.sqrt(2 * 9.0 * 8.0), np.sqrt(0.5**2 + 1.0)
    assert geometry.diameter(one.setting) == pytest.approx(diameter)
    second = (play(Ogasched(), one, keep_decisions=True).decisions or ())[1]
    assert second[0, 0] == pytest.approx(diameter / (norm * np.sqrt(16)) * 0.5)


def test_several_jobs_at_once_count_in_the_constant_step_once_they_are_seen() -> None:
    one = by_hand(edges=[[0, 0]], demand=[[9.0]], capacity=[[8.0]], arrivals=[[1], [3], [1], [0]])
    first, second, third, fourth = play(Ogasched(), one, keep_decisions=True).decisions or ()
    eta = np.sqrt(2 * 9.0 * 8.0) / (np.sqrt(0.5**2 + 1.0) * np.sqrt(4))
    assert first[0, 0] == 0.0
    assert second[0, 0] == pytest.approx(eta * 0.5)
    assert third[0, 0] == pytest.approx(eta * 0.5 + (eta / 3) * 3 * 0.5)
    assert fourth[0, 0] == pytest.approx(third[0, 0] + (eta / 3) * 0.5)


def test_a_given_start_is_the_first_decision() -> None:
    y = fair_share(TWO_SERVERS.setting)
    first = (play(Ogasched(start_at=y), TWO_SERVERS, keep_decisions=True).decisions or ())[0]
    assert first == pytest.approx(y, abs=0)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.full((5, 2), 100.0), r"start_at: infeasible: demand\[0\]\[0\]\[0\] exceeded by 97"),
        (np.zeros((4, 2)), r"shape \(4, 2\) does not fit, expected \(5, 2\)"),
    ],
)
def test_a_start_that_does_not_fit(start: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        play(Ogasched(start_at=start), TWO_SERVERS)


def test_copies_must_start_at_zero() -> None:
    with pytest.raises(InputError, match='must be "zero" for copies of ports'):
        play(Ogasched(start_at="fair"), TWO_SERVERS.copies())


@pytest.mark.parametrize("name", [*(f"ogasched:step={step}" for step in STEPS), "follow-leader", "hedge"])
def test_decisions_do_not_depend_on_copies_that_are_seen_later(name: str) -> None:
    """Sec. 3.4: copies are made when first seen; knowing of them from the start must change nothing."""
    calm = kit.ordinary()["single jobs"]
    busy = calm.arrivals.copy()
    busy[7:] *= 3
    long, short = calm.with_arrivals(busy).copies(), calm.copies()
    assert long.setting.ports > short.setting.ports
    # The first copy of each port, in terms of the ports it stems from.
    stems_from = long.setting.copy_of
    assert stems_from is not None
    first = np.flatnonzero(np.diff(stems_from, prepend=-1))
    known = np.isin(long.setting.port, first)
    policies = [make_policy(name, "allocation") for _ in range(2)]
    runs = [play(*given, keep_decisions=True) for given in zip(policies, (long, short), strict=True)]
    decisions = [run.decisions or () for run in runs]
    for t in range(8):
        assert decisions[0][t][known] == pytest.approx(decisions[1][t], rel=1e-12, abs=1e-12)
        assert not decisions[0][t][~known].any()
    assert decisions[0][9][~known].any()


# ------------------------------------------------------------------ theorem 1, and what nobody can beat


PATTERNS = ("turns", "halves", "port 0 alone every 6th slot")


def with_pattern(instance: AllocationInstance, pattern: str, slots: int) -> AllocationInstance:
    """Return the instance with one job or none, arriving in a pattern that is hard for gradient ascent."""
    t, port = np.arange(slots)[:, None], np.arange(instance.setting.ports)
    if pattern == "turns":
        x = t % len(port) == port
    elif pattern == "halves":
        x = (t < slots // 2) == (port % 2 == 0)
    else:
        x = (t % 6 == 0) == (port == 0)
    return instance.with_arrivals(x.astype(np.int64))


def with_adversary(instance: AllocationInstance, slots: int) -> AllocationInstance:
    """Return the instance with a job, in every slot, only where OGASched is about to earn least."""
    x = np.zeros((slots, instance.setting.ports), dtype=np.int64)
    setting = instance.with_arrivals(x).setting
    policy = Ogasched()
    policy.start(setting, RNG)
    for t in range(slots):
        earned = setting.port_rewards(policy.decide(Observation(t, None)))
        x[t, np.argmin(earned)] = 1
        policy.learn(Feedback(t, x[t], 0.0))
    return instance.with_arrivals(x)


def assert_theorem_1(instance: AllocationInstance) -> float:
    """Compare the regret with (22), (25) for the jobs that arrived at once; return their ratio."""
    setting = instance.setting
    most = np.maximum(1, instance.arrivals.max(axis=0, initial=0))
    norm = np.sqrt(most**2 @ geometry.gradient_norms(setting))
    bound = geometry.diameter(setting) * norm * np.sqrt(setting.slots)
    rival = stationary(instance).bound
    assert rival is not None
    regret = rival - play(Ogasched(), instance).total
    assert regret <= bound + 1e-6 * max(1.0, abs(rival))
    return regret / bound if bound > 0 else 0.0


@given(kit.instances(min_slots=1, max_slots=8, max_jobs=3))
@hypothesis_settings(max_examples=60, deadline=None)
def test_theorem_1_is_never_violated(instance: AllocationInstance) -> None:
    assert_theorem_1(instance)


@given(kit.instances(min_slots=1, max_slots=8, max_jobs=3))
@hypothesis_settings(max_examples=30, deadline=None)
def test_theorem_1_is_never_violated_with_copies_of_ports(instance: AllocationInstance) -> None:
    assert_theorem_1(instance.copies())


@given(kit.instances(min_edges=1), st.sampled_from(PATTERNS), st.sampled_from([12, 60]))
@hypothesis_settings(max_examples=40, deadline=None)
def test_theorem_1_under_hard_patterns(instance: AllocationInstance, pattern: str, slots: int) -> None:
    assert_theorem_1(with_pattern(instance, pattern, slots))


@given(kit.instances(min_edges=1), st.sampled_from([12, 60]))
@hypothesis_settings(max_examples=40, deadline=None)
def test_theorem_1_against_an_adaptive_adversary(instance: AllocationInstance, slots: int) -> None:
    assert_theorem_1(with_adversary(instance, slots))


def six_to_one(slots: int) -> AllocationInstance:
    """One device that port 0 wants every 6th slot and 100 other ports together at all other times."""
    ports = 101
    instance = by_hand(
        edges=[[p, 0] for p in range(ports)],
        demand=[[1.0]] * ports,
        capacity=[[1.0]],
        overhead=[0.0],
        arrivals=[[0] * ports],
    )
    return with_pattern(instance, "port 0 alone every 6th slot", slots)


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="takes a minute if kernels are interpreted"
)
def test_the_step_of_26_breaks_theorem_1_and_the_constant_step_does_not() -> None:
    instance = six_to_one(1000)
    rival = stationary(instance).value
    setting = instance.setting
    bound = geometry.diameter(setting) * np.sqrt(geometry.gradient_norms(setting).sum() * setting.slots)
    assert bound == pytest.approx(449.4, abs=0.1)
    assert rival - play(Ogasched(step="per-slot"), instance).total == pytest.approx(582, abs=1)
    assert 0.0 < assert_theorem_1(instance) < 0.45


@given(kit.instances(min_slots=1, max_slots=4))
@hypothesis_settings(max_examples=25, deadline=None)
def test_no_policy_earns_more_than_the_optimum_of_the_slot(instance: AllocationInstance) -> None:
    best = dynamic(instance).certificate.per_slot[:, 1]
    for make in VARIANTS.values():
        policy = make()
        if policy.traits.feasible and policy.traits.problem == "allocation":
            rewards = play(policy, instance).rewards
            assert (rewards <= best + 1e-9 * np.maximum(1.0, np.abs(best))).all(), policy.name


# ------------------------------------------------------------------ perturbed leader


def gangs(slots: int = 30) -> AllocationGangInstance:
    base = kit.ordinary()["single jobs"]
    arrivals = np.random.default_rng(5).integers(0, 2, (slots, base.setting.ports))
    return generate_gang(base.with_arrivals(arrivals), seed=0)


def test_the_leader_plays_the_best_response_to_a_grid_point_above_the_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The point is p + (1 / eps) z for whole z, and lies in s + [0, 1 / eps); p is drawn once."""
    asked: list[np.ndarray] = []

    def remember(setting: AllocationGangSetting, weights: np.ndarray, **_: Any) -> Any:
        asked.append(weights)
        return SimpleNamespace(y=np.zeros(setting.shape))

    monkeypatch.setattr("clairvoyant.models.allocation.gang_search.best_gang", remember)
    instance = gangs()
    width, counts = 4.0, np.vstack([np.zeros(4), instance.arrivals.cumsum(axis=0)])
    policy = PerturbedLeader(eps=1 / width)
    policy.start(instance.setting, np.random.default_rng(3))
    p = np.random.default_rng(3).uniform(0.0, width, 4)
    points = []
    for t in range(30):
        policy.decide(Observation(t, None))
        points.append(asked[-1])
        policy.learn(Feedback(t, instance.arrivals[t], 0.0))
    ahead = points - counts[:30]
    assert ((ahead >= -1e-12) & (ahead < width)).all()
    steps = (points - p) / width
    assert steps == pytest.approx(np.round(steps), abs=1e-12)
    assert np.array_equal(points[0], p)
    distinct = [points[0], *(b for a, b in pairwise(points) if not np.array_equal(a, b))]
    assert len(asked) == len(distinct) == policy.solved < 20  # lazy: solved only when the point moves


def test_the_leader_perturbs_by_default_as_its_bound_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[np.ndarray] = []

    def remember(setting: AllocationGangSetting, weights: np.ndarray, **_: Any) -> Any:
        asked.append(weights)
        return SimpleNamespace(y=np.zeros(setting.shape))

    monkeypatch.setattr("clairvoyant.models.allocation.gang_search.best_gang", remember)
    setting, policy = gangs().setting, PerturbedLeader()
    policy.start(setting, np.random.default_rng(3))
    policy.decide(Observation(0, None))
    bounds = leader_bounds(setting)
    width = np.sqrt(bounds.reward * bounds.arrivals * setting.slots / bounds.diameter)
    assert asked[0] == pytest.approx(np.random.default_rng(3).uniform(0.0, width, setting.ports))


def test_the_leader_commits_the_best_response() -> None:
    instance = gangs(slots=1)
    first = (play(PerturbedLeader(eps=0.5), instance, seed=1, keep_decisions=True).decisions or ())[0]
    weights = policy_stream(1).uniform(0.0, 2.0, 4)
    best = best_gang(instance.setting, weights)
    assert weights @ instance.setting.port_rewards(first) == pytest.approx(best.value, rel=1e-6)


def test_the_default_eps_balances_both_parts_of_the_bound() -> None:
    instance = gangs()
    bounds = leader_bounds(instance.setting)
    assert bounds.arrivals == 4
    assert bounds.diameter == bounds.reward == reward_caps(instance.setting).sum()
    eps = np.sqrt(bounds.diameter / (bounds.reward * bounds.arrivals * 30))
    by_default, given_eps = (play(PerturbedLeader(eps=e), instance, seed=2).rewards for e in (None, eps))
    assert np.array_equal(by_default, given_eps)
    spread = bounds.reward * bounds.arrivals * 30
    assert bounds.regret(30) == pytest.approx(bounds.diameter / eps + eps * spread)


@given(kit.gang_instances(max_ports=2, max_servers=2, max_kinds=2, max_slots=0))
@hypothesis_settings(max_examples=25, deadline=None)
def test_no_port_earns_more_than_its_cap(instance: AllocationGangInstance) -> None:
    caps = reward_caps(instance.setting)
    for port, cap in enumerate(caps):
        alone = best_gang(instance.setting, np.eye(len(caps))[port]).value
        assert 0.0 <= alone <= cap * (1 + 1e-6) + 1e-9


def test_the_expected_regret_of_the_leader_keeps_its_bound() -> None:
    instance = gangs(slots=20)
    best = gang(instance).bound
    assert best is not None
    regrets = [best - play(PerturbedLeader(), instance, seed).total for seed in range(5)]
    mean, error = np.mean(regrets), np.std(regrets, ddof=1) / np.sqrt(5)
    assert mean + 3 * error <= leader_bounds(instance.setting).regret(20)
    assert mean < 0.5 * best  # it learns, which the bound alone does not say


def test_ports_that_lose_are_left_out_and_nothing_is_gained_from_nothing() -> None:
    losing = kit.degenerate()["overhead above every gain"]
    instance = generate_gang(losing, seed=0)
    assert leader_bounds(instance.setting).regret(instance.setting.slots) == 0.0
    assert not play(PerturbedLeader(), instance).rewards.any()


# ------------------------------------------------------------------ the printed projection


@pytest.mark.parametrize(
    ("z", "a", "c", "want"),
    [
        ([0.5], [1.0], 1.0, [1.0]),  # rho < 0; exact is 0.5
        (
            [3.0, 3.0, 1.0],
            [1.0, 1.0, 1.0],
            2.5,
            [1.0, 1.5, 0.0],
        ),  # only the first is capped; exact is 1, 1, 0.5
        ([3.0, 2.0], [3.0, 0.5], 3.0, [2.0, 1.0]),  # y2 > a2: sorted by z; exact is 2.5, 0.5
        ([-1.0, 0.0], [0.5, 0.5], 0.5, [0.0, 0.5]),  # entries of B2 set to zero; exact is 0, 0
        ([2.0], [1.0], 1.5, [1.0]),  # B3 is empty in (13)
    ],
)
def test_the_repaired_projection_is_still_wrong(
    z: list[float], a: list[float], c: float, want: list[float]
) -> None:
    y, ended = _kernels.printed_row(np.array(z), np.array(a), np.float64(c), True, 100)
    assert ended
    assert y == pytest.approx(want)


@pytest.mark.parametrize(
    ("z", "a", "c", "ends"),
    [([0.5], [1.0], 1.0, True), ([-1.0, 0.0], [0.5, 0.5], 0.5, False), ([3.0, 2.0], [3.0, 0.5], 3.0, True)],
)
def test_the_literal_projection_may_never_end(z: list[float], a: list[float], c: float, ends: bool) -> None:
    for limit in (20, 1000):
        assert _kernels.printed_row(np.array(z), np.array(a), np.float64(c), False, limit)[1] == ends


def test_the_printed_projection_of_a_decision() -> None:
    """Server 0 binds and its demands are equal, where the printed form is right; server 1 has room."""
    instance = by_hand(
        edges=[[0, 0], [1, 0], [0, 1]],
        demand=[[2.0], [2.0]],
        capacity=[[2.0], [2.0], [1.0]],
        arrivals=[[1, 1]],
    )
    z = np.array([[1.5], [1.25], [0.5]])
    exact = instance.setting.project(z)
    y, endless = printed_projection(instance.setting, z, repaired=True)
    assert endless == 0
    assert y[:2] == pytest.approx(exact[:2])
    assert exact[2, 0] == 0.5
    assert y[2, 0] == 2.0
    z[:2] = [[0.0], [-9.0]]
    assert printed_projection(instance.setting, z, repaired=False)[1] == 1


def test_ogasched_as_printed_leaves_the_feasible_set() -> None:
    instance = kit.ordinary()["single jobs"]
    run = play(OgaschedPrinted(), instance, enforce=False)
    assert run.infeasible > 0
    assert OgaschedPrinted().traits.feasible is False


# ------------------------------------------------------------------ compiled = interpreted


def plain(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every compiled function of a module by the Python function it was made from."""
    for name, function in vars(module).copy().items():
        if hasattr(function, "py_func"):
            monkeypatch.setattr(module, name, function.py_func)


@pytest.mark.parametrize(
    "name", ["ogasched", "ogasched:step=per-slot", "ogasched-printed", "drf", "fairness"]
)
@pytest.mark.parametrize("instance", ["single jobs", "several jobs"])
def test_interpreted_policies_equal_compiled_ones(
    name: str, instance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = kit.ordinary()[instance]
    one = one.with_arrivals(one.arrivals[:5])
    fast = play(make_policy(name, "allocation"), one, keep_decisions=True, enforce=False).decisions
    plain(_kernels, monkeypatch)
    plain(kernels, monkeypatch)
    slow = play(make_policy(name, "allocation"), one, keep_decisions=True, enforce=False).decisions
    for a, b in zip(fast or (), slow or (), strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("policy", [BinPacking(), Spreading(quota=0.5), Fairness(share="all")], ids=repr)
def test_interpreted_heuristics_equal_compiled_ones(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    one = kit.degenerate()["one server without capacity"]
    fast = play(policy, one, keep_decisions=True).decisions
    plain(_kernels, monkeypatch)
    slow = play(policy, one, keep_decisions=True).decisions
    for a, b in zip(fast or (), slow or (), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("repaired", [True, False])
def test_the_interpreted_printed_row_equals_the_compiled_one(repaired: bool) -> None:
    rng = np.random.default_rng(3)
    python = getattr(_kernels.printed_row, "py_func", _kernels.printed_row)
    for _ in range(40):
        n = int(rng.integers(1, 5))
        row = (rng.normal(1.0, 1.5, n), rng.uniform(0.0, 2.0, n), rng.uniform(0.0, 3.0, 1)[0], repaired, 30)
        with np.errstate(divide="ignore", invalid="ignore"):  # (13) with an empty B3
            (y, ended), (slow, slow_ended) = _kernels.printed_row(*row), python(*row)
        assert y == pytest.approx(slow, nan_ok=True)
        assert ended == slow_ended


# ------------------------------------------------------------------ the list of policies


def test_the_list_of_policies_says_who_sees_what() -> None:
    rows = {row.name: row for row in policy_table("allocation")}
    assert rows["ogasched"].sees == ()
    assert rows["ogasched"].proven == "Theorem 1 of OGASched"
    assert rows["ogasched"].settings == {
        "step": "constant", "start_at": "zero", "eta0": 25.0, "decay": 0.9999,
    }  # fmt: skip
    assert rows["ogasched-printed"].feasible is False
    assert rows["follow-leader"].sees == rows["hedge"].sees == ()
    assert rows["slot-optimum"].sees == ("arrivals",)
    for name in ("drf", "fairness", "binpacking", "spreading"):
        assert rows[name].sees == ("arrivals",)
        assert rows[name].guarantee == "none"
    assert rows["binpacking"].settings == {"quota": 0.75}
    assert all(row.summary.endswith((".", ")")) for row in rows.values())


def test_listing_policies_loads_no_compiler() -> None:
    script = "import sys, clairvoyant.api as api; api.policy_table(); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_make_policy_reads_settings_by_their_type() -> None:
    assert make_policy("drf", "allocation") == Drf()
    policy = make_policy("ogasched:step=decay,eta0=3,decay=1")
    assert (policy.step, policy.eta0, policy.decay) == ("decay", 3.0, 1.0)
    assert policy.name == "ogasched:step=decay,eta0=3,decay=1"
    assert make_policy("fairness:share=all", "allocation").share == "all"


@dataclass
class Dummy:
    """Take settings of every type."""

    count: int = 1
    fast: bool = False
    limit: float | None = None
    table: list[int] = field(default_factory=list)
    name: str = field(default="drf", init=False)
    traits = Drf.traits.__class__(problem="selection", sees=frozenset({"b", "a"}))


@pytest.fixture
def two_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    def policies_of(problem: str) -> dict[str, type[Any]]:
        there: tuple[type[Any], ...] = (Drf, Fairness, Dummy)
        return {one.name: one for one in there if one.traits.problem == problem}

    monkeypatch.setattr(problems, "players", policies_of)


@pytest.mark.usefixtures("two_problems")
def test_a_name_that_two_problems_use() -> None:
    assert policies() == {"allocation/drf": Drf, "fairness": Fairness, "selection/drf": Dummy}
    assert policies("selection") == {"drf": Dummy}
    assert make_policy("drf", "allocation") == Drf()
    row = policy_table("selection")[0]
    assert (row.name, row.problem, row.sees) == ("drf", "selection", ("a", "b"))
    made = make_policy("drf:count=3,fast=true,limit=0.5", "selection")
    assert (made.count, made.fast, made.limit) == (3, True, 0.5)
    assert make_policy("drf:limit=none", "selection").limit is None


@pytest.mark.usefixtures("two_problems")
@pytest.mark.parametrize(
    ("text", "problem", "message"),
    [
        ("oga", None, "policy: 'oga' is not one of allocation/drf, fairness, selection/drf"),
        (
            "drf",
            None,
            (
                "policy: 'drf' is allocation/drf or selection/drf; "
                "there are allocation/drf, fairness, selection/drf"
            ),
        ),
        ("fairness", "selection", "policy: 'fairness' plays 'allocation', not 'selection'; there are drf"),
        ("drf", "cooking", f"problem: 'cooking' is not one of {', '.join(one.name for one in OURS)}"),
        ("fairness:part=1", None, "policy fairness: setting 'part' is unknown; its settings are: share"),
        ("fairness:name=x", None, "policy fairness: setting 'name' is unknown; its settings are: share"),
        ("drf:x=1", "allocation", "policy drf: setting 'x' is unknown; its settings are: none"),
        ("fairness:share", None, "policy fairness: setting 'share' has no value; write share=value"),
        ("fairness:share=all,share=all", None, "policy fairness: setting 'share' is given twice"),
        ("fairness:share=some", None, "policy fairness: share: 'some' is not one of arrived, all"),
        ("drf:count=1.5", "selection", "policy drf: count: '1.5' is not a whole number"),
        ("drf:fast=yes", "selection", "policy drf: fast: 'yes' is not true or false"),
        ("drf:limit=low", "selection", "policy drf: limit: 'low' is not a number"),
        ("drf:table=1", "selection", "policy drf: table: cannot be given as text; make the policy in Python"),
    ],
)
def test_make_policy_names_what_is_wrong(text: str, problem: str | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        make_policy(text, problem)
    assert str(error.value) == message


def test_a_step_that_grows_beyond_measure_is_refused_where_it_would() -> None:
    instance = AllocationInstance(
        edges=[[0, 0]], demand=[[1.0]], capacity=[[1.0]], overhead=[0.0],
        utility_kind=[["log"]], alpha=[[1.0]], arrivals=np.ones((400, 1)),
    )  # fmt: skip
    play(Ogasched("decay", decay=1.3), instance)
    with pytest.raises(InputError, match=r"decay: 1.4 gives steps beyond 1e\+50 in 400 slots"):
        play(Ogasched("decay", decay=1.4), instance)


def shared_device(overhead: float, alpha: float, slots: int) -> AllocationInstance:
    """Return two ports that want the one device there is, in every slot."""
    return AllocationInstance(
        edges=[[0, 0], [1, 0]],
        demand=[[1.0], [1.0]],
        capacity=[[1.0]],
        overhead=[overhead],
        utility_kind=[["linear"]],
        alpha=[[alpha]],
        arrivals=np.ones((slots, 2), dtype=np.int64),
    )


@pytest.mark.parametrize("step", STEPS)
def test_a_step_far_beyond_the_capacity_takes_it_all(step: str) -> None:
    """The projection of steps of 1e20 and more is no zero."""
    rewards = play(Ogasched(step), shared_device(0.0, 1e20, 5)).rewards
    assert rewards[0] == 0.0
    assert rewards[2:].tolist() == pytest.approx([1e20] * 3, rel=1e-12)


@pytest.mark.parametrize("step", ["constant", "per-slot", "adagrad"])
def test_the_least_overhead_still_makes_steps(step: str) -> None:
    instance = shared_device(1e-50, 0.0, 100)
    assert play(Ogasched(step, start_at="fair"), instance).rewards[-1] == 0.0
