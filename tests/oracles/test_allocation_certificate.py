"""The bound by weak duality: never below any allocation's value, and the same by other arithmetic."""

import math
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.setting import Setting
from clairvoyant.models.allocation.utility import KINDS
from clairvoyant.models.base import InputError
from clairvoyant.oracles.allocation.optimum import Certificate, certificate_bound, stationary
from clairvoyant.testing.allocation import degenerate, instances, ordinary

KNOWN = {**ordinary(), **degenerate()}


@st.composite
def proof(draw: st.DrawFn, instance: AllocationInstance) -> Certificate:
    """Draw any certificate, good or bad, of normal numbers."""
    s = instance.setting
    part = draw(arrays(float, (s.ports, s.kinds), elements=st.sampled_from([0.0, 1.0]) | st.floats(0.0, 1.0)))
    part[part.sum(axis=1) <= 1e-9] = 1.0
    counts = instance.arrival_counts.astype(float)
    prices = st.sampled_from([0.0, 0.5, 1.0, 3.0]) | st.floats(0.0, 20.0, allow_subnormal=False)
    price = draw(arrays(float, (s.servers, s.kinds), elements=prices))
    w = part * (counts / part.sum(axis=1))[:, None]
    return Certificate(counts, np.where(w < sys.float_info.min, 0.0, w), price)


def gain(kind: int, alpha: float, y: float) -> float:
    """f(y) of (27), by the book."""
    match KINDS[kind]:
        case "linear":
            return alpha * y
        case "log":
            return alpha * math.log1p(y)
        case "reciprocal":
            return 1.0 / alpha - 1.0 / (y + alpha)
        case _:
            return alpha * math.sqrt(y + 1.0) - alpha


def inner_maximum(kind: int, alpha: float, weight: float, cost: float, limit: float) -> float:
    """Max of weight f(y) - cost y over [0, limit] by golden section; the function is concave."""
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    low, high = 0.0, limit
    for _ in range(200):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if weight * gain(kind, alpha, a) - cost * a < weight * gain(kind, alpha, b) - cost * b:
            low = a
        else:
            high = b
    return max(weight * gain(kind, alpha, y) - cost * y for y in (0.0, low, high, limit))


def by_hand(setting: Setting, proof: Certificate) -> float:
    """The bound once more, from its definition."""
    terms = (proof.price * setting.capacity).ravel().tolist()
    for port, server in setting.edges.tolist():
        for k in range(setting.kinds):
            cost = proof.w[port, k] * setting.overhead[k] + proof.price[server, k]
            limit = min(setting.demand[port, k], setting.capacity[server, k])
            kind, alpha = int(setting.kind[server, k]), float(setting.alpha[server, k])
            terms.append(inner_maximum(kind, alpha, proof.weights[port], cost, limit))
    return math.fsum(terms)


def in_rationals(setting: Setting, proof: Certificate) -> Fraction:
    """The bound of an all-linear setting without any rounding."""
    total = sum(
        Fraction(proof.price[r, k]) * Fraction(setting.capacity[r, k])
        for r in range(setting.servers)
        for k in range(setting.kinds)
    )
    for port, server in setting.edges.tolist():
        n = Fraction(proof.weights[port])
        sum_w = sum(map(Fraction, proof.w[port].tolist()))
        for k in range(setting.kinds):
            w = Fraction(proof.w[port, k]) * n / sum_w if sum_w else Fraction(0)
            cost = w * Fraction(setting.overhead[k]) + Fraction(proof.price[server, k])
            limit = min(Fraction(setting.demand[port, k]), Fraction(setting.capacity[server, k]))
            total += max(Fraction(0), n * Fraction(setting.alpha[server, k]) - cost) * limit
    return Fraction(total)


@settings(max_examples=50, deadline=None)
@given(st.data(), instances(max_jobs=3))
def test_any_certificate_is_above_any_allocation(data: st.DataObject, instance: AllocationInstance) -> None:
    s = instance.setting
    given_proof = data.draw(proof(instance))
    point = data.draw(arrays(float, s.shape, elements=st.floats(-2.0, 12.0)))
    value = float(given_proof.weights @ s.port_rewards(s.project(point)))
    bound = certificate_bound(s, given_proof.weights, given_proof.w, given_proof.price)
    assert bound >= value - 1e-9 * abs(value)
    assert bound >= stationary(instance).value * (1.0 - 1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data(), instances(max_jobs=3))
def test_the_closed_forms_agree_with_a_search(data: st.DataObject, instance: AllocationInstance) -> None:
    given_proof = data.draw(proof(instance))
    bound = certificate_bound(instance.setting, given_proof.weights, given_proof.w, given_proof.price)
    assert bound == pytest.approx(by_hand(instance.setting, given_proof), rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.data(), instances(max_jobs=3, families=["linear"]))
def test_rounding_never_lowers_the_bound(data: st.DataObject, instance: AllocationInstance) -> None:
    given_proof = data.draw(proof(instance))
    bound = certificate_bound(instance.setting, given_proof.weights, given_proof.w, given_proof.price)
    exact = in_rationals(instance.setting, given_proof)
    assert Fraction(bound) >= exact
    assert bound == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("size", [1.0, 1e-15, 1e-20])
@pytest.mark.parametrize("least", [1e-300, sys.float_info.min])
@settings(max_examples=20)
@given(st.data(), instances(max_jobs=3, families=["linear"]))
def test_products_that_underflow_never_lower_the_bound(
    least: float, size: float, data: st.DataObject, instance: AllocationInstance
) -> None:
    """Nothing is gained, and prices of next to nothing are paid for small capacities."""
    sampled = data.draw(proof(instance))
    price = np.ceil(sampled.price) * least
    s = instance.setting
    setting = replace(s, alpha=np.zeros(s.alpha.shape), demand=s.demand * size, capacity=s.capacity * size)
    bound = certificate_bound(setting, sampled.weights, sampled.w, price)
    assert Fraction(bound) >= in_rationals(setting, Certificate(sampled.weights, sampled.w, price))


def test_a_tie_of_gain_and_cost_is_not_lost_to_rounding() -> None:
    """The charges equal the gains, and rounding alone says which is larger; much is at stake."""
    rng = np.random.default_rng(0)
    n, many = 10.0, [[2.0**40] * 3]
    for _ in range(200):
        alpha = rng.dirichlet(np.ones(3))[None, :]
        one = AllocationInstance(
            edges=[[0, 0]],
            demand=many,
            capacity=many,
            overhead=[1.0] * 3,
            utility_kind=[["linear"] * 3],
            alpha=alpha,
            arrivals=[[10]],
        )
        found = Certificate(np.array([n]), n * alpha, np.zeros((1, 3)))
        bound = certificate_bound(one.setting, found.weights, found.w, found.price)
        assert Fraction(bound) >= in_rationals(one.setting, found)


# Clarabel fails on numbers of 1e12; that such a failure is an error is tested in test_oracle_allocation.py.
@pytest.mark.parametrize(
    ("method", "name"),
    [
        (m, name)
        for m in ("interior point", "cvxpy")
        for name in KNOWN
        if (m, name) != ("cvxpy", "huge numbers")
    ],
)
def test_the_oracles_certificate_gives_its_bound_again(method: str, name: str) -> None:
    found = stationary(KNOWN[name], method=method)
    proof = found.certificate
    assert found.bound == certificate_bound(KNOWN[name].setting, proof.weights, proof.w, proof.price)
    assert found.bound is not None
    assert found.bound >= found.value
    if (method, name) != ("cvxpy", "tiny numbers"):  # Clarabel stops early at 1e-12, with an honest bound
        assert found.bound <= found.value + 1e-6 * max(1.0, found.value)


ONE = ordinary()["single jobs"]


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("w", lambda w: 2.0 * w, r"w\[0\]: the sum .* is not the weight"),
        ("w", lambda w: -w, r"w\[0\]\[\d\]: -.* is not a finite number of at least 0"),
        ("w", lambda w: w[1:], "w: shape 3 x 2 does not fit, expected 4 x 2"),
        ("price", lambda price: price - 1e9, r"price\[0\]\[0\]: -"),
        ("price", lambda price: price * np.nan, r"price\[0\]\[0\]: nan"),
        ("weights", lambda n: np.append(n, 1.0), "weights: shape 5 does not fit, expected 4"),
    ],
)
def test_a_broken_certificate_is_refused(field: str, change: object, message: str) -> None:
    proof = stationary(ONE).certificate
    parts = {"weights": proof.weights, "w": proof.w, "price": proof.price}
    assert callable(change)
    parts[field] = change(parts[field])
    with pytest.raises(InputError, match=message):
        certificate_bound(ONE.setting, **parts)
