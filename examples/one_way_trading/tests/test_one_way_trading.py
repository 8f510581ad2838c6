"""The policies keep their contract and their ratios, and the program sells all at the highest price."""

import pytest
from one_way_trading import OneWayTrading, Reservation, Setting, Threshold, generate, least, tight, worst

import clairvoyant as cv
from clairvoyant.testing import UncheckedWarning, check_policy


@pytest.mark.parametrize("policy", [Threshold, Reservation])
def test_a_policy_keeps_the_contract(policy: type) -> None:
    with pytest.warns(UncheckedWarning, match="degenerate_instances does not check all"):
        check_policy(policy)


@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_is_the_highest_price_and_nobody_does_worse_than_promised(seed: int) -> None:
    instance = generate("default", seed)
    optimum = cv.solve(instance).value
    assert optimum == pytest.approx(instance.prices.max())
    assert optimum <= cv.play(Threshold(), instance).total * tight(instance.setting) * (1 + 1e-9)
    assert optimum <= cv.play(Reservation(), instance).total * 10**0.5 * (1 + 1e-9)


@pytest.mark.parametrize("high", [2.0, 10.0, 100.0])
def test_policy_and_linear_program_meet_at_the_ratio_of_the_theorem(high: float) -> None:
    c = tight(Setting(1.0, high))
    assert 0.97 * c <= least(high, 60) <= c
    assert 0.97 * c <= worst(Threshold(), high, 25) <= c * (1 + 1e-6)
    assert tight(Setting(3.0, 3.0)) == pytest.approx(1.0)


def test_prices_that_cannot_differ_do_not() -> None:
    assert set(generate("tiny", 1, high=1.0).prices) == {1.0}


def test_a_market_without_prices_or_with_one_out_of_range_is_refused() -> None:
    with pytest.raises(cv.InputError, match="prices: there is none"):
        OneWayTrading(low=1.0, high=2.0, prices=[])
    with pytest.raises(cv.InputError, match=r"prices\[1\]: 3 is not"):
        OneWayTrading(low=1.0, high=2.0, prices=[1.0, 3.0])
