"""Intervals over seeds against closed forms and how often they cover the truth; how curves grow."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clairvoyant.analysis.statistics import (
    GROWTHS,
    Interval,
    growth_exponent,
    law_errors,
    mean_band,
    mean_interval,
    p_of_mean,
    p_of_next,
    paired,
)
from clairvoyant.models.base import InputError


def test_two_samples_have_the_interval_of_the_cauchy_distribution() -> None:
    # With one degree of freedom the quantile is tan(0.475 pi), and the standard error |a - b| / 2.
    band = mean_band([[1.0], [4.0]])
    half = math.tan(0.475 * math.pi) * 1.5
    np.testing.assert_allclose([band.mean[0], band.low[0], band.high[0]], [2.5, 2.5 - half, 2.5 + half])


def test_three_samples_have_the_quantile_of_two_degrees_of_freedom() -> None:
    # In closed form: t = (2p - 1) sqrt(2 / (4 p (1 - p))).
    p = 0.95
    quantile = (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
    interval = mean_interval([1.0, 2.0, 6.0], confidence=0.9)
    half = quantile * math.sqrt((4 + 1 + 9) / 2 / 3)
    assert interval == pytest.approx((3.0, 3.0 - half, 3.0 + half))


def test_one_sample_has_no_interval() -> None:
    band = mean_band([[1.0, 2.0]])
    assert band.mean.tolist() == [1.0, 2.0]
    assert np.isnan(band.low).all()
    assert np.isnan(band.high).all()
    assert str(mean_interval([3.0])) == "3 (one sample)"


def test_an_interval_reads_well() -> None:
    assert str(Interval(0.5, 0.25, 0.75)) == "0.5 [0.25, 0.75]"


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    band = mean_band(np.random.default_rng(1).normal(7.0, 3.0, size=(4, 4000)), confidence=0.9)
    covered = np.mean((band.low <= 7.0) & (band.high >= 7.0))
    assert abs(covered - 0.9) < 4 * math.sqrt(0.09 / 4000)


@pytest.mark.parametrize("unit", [1e-170, 1e-310, 1.0, 1e150])
def test_what_is_sure_does_not_depend_on_the_unit(unit: float) -> None:
    some, many = np.array([1.0, -0.9, 2.0]), np.arange(1.0, 7.0)
    assert p_of_mean(some * unit) == pytest.approx(0.4971, rel=1e-3)
    assert p_of_next(some * unit, 9.0 * unit) == pytest.approx(p_of_next(some, 9.0), rel=1e-9)
    more, less = paired(many * unit, 0.0 * many), paired(0.0 * many, many * unit)
    assert more.difference.low > 0.0 > less.difference.high
    assert max(more.p, less.p) < 0.05


def test_rounding_is_no_difference() -> None:
    x = 51.67034084532541
    found = paired([np.nextafter(x, np.inf)] * 12, [x] * 12)
    assert (found.p, found.difference.mean, found.difference.low) == (1.0, 0.0, 0.0)
    assert paired([1e12] * 12, [1e12 + 10.0] * 12).p < 0.001


def test_a_power_law_has_its_exponent() -> None:
    x = np.array([10.0, 100.0, 1000.0])
    exponent = growth_exponent(x, [3.0 * x**0.5, 7.0 * x**0.7])
    assert exponent.mean == pytest.approx(0.6)
    half = math.tan(0.475 * math.pi) * 0.1
    assert (exponent.low, exponent.high) == pytest.approx((0.6 - half, 0.6 + half))


def test_one_seed_has_an_exponent_without_interval() -> None:
    exponent = growth_exponent([1.0, 2.0, 4.0], [5.0, 10.0, 20.0])
    assert exponent.mean == pytest.approx(1.0)
    assert math.isnan(exponent.low)


SLOTS = np.arange(20.0, 2001.0, 20.0)


def best_law(curves: npt.ArrayLike) -> tuple[str, Interval]:
    """Return the law that predicts best, and by how much the next best one predicts worse."""
    error = law_errors(SLOTS, curves)
    best, other = sorted(GROWTHS, key=lambda name: float(error[name].mean()))[:2]
    return best, mean_interval(error[other] - error[best])


@given(
    law=st.sampled_from(sorted(GROWTHS)),
    slopes=st.lists(st.floats(0.1, 100.0), min_size=2, max_size=5),
    offset=st.floats(-50.0, 50.0),
)
def test_a_curve_that_follows_a_law_is_told_whatever_its_coefficients(
    law: str, slopes: list[float], offset: float
) -> None:
    best, margin = best_law([a * GROWTHS[law](SLOTS) + offset for a in slopes])
    assert best == law
    assert margin.mean > 0


@given(
    law=st.sampled_from(sorted(GROWTHS)),
    seed=st.integers(0, 10**6),
    scale=st.floats(1e-3, 1e3),
)
def test_the_law_is_told_apart_from_noise_that_adds_up(law: str, seed: int, scale: float) -> None:
    """The errors of a cumulative curve are a random walk; the choice does not depend on the unit."""
    rng = np.random.default_rng(seed)
    rise = 300.0 * GROWTHS[law](SLOTS) / GROWTHS[law](SLOTS[-1:])
    noise = np.cumsum(rng.normal(0.0, 0.1, (8, len(SLOTS))), axis=1)
    (best, margin), (of_scaled, scaled) = best_law(rise + noise), best_law(scale * (rise + noise))
    assert best == of_scaled == law
    assert margin.low > 0.0
    assert scaled.mean == pytest.approx(margin.mean)


def test_pure_noise_decides_nothing_and_one_seed_never_does() -> None:
    walk = np.cumsum(np.random.default_rng(3).normal(size=(6, len(SLOTS))), axis=1)
    assert not best_law(walk)[1].low > 0.0
    assert not best_law(3.0 * SLOTS)[1].low > 0.0
    assert best_law(np.zeros((3, len(SLOTS))))[1] == Interval(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: mean_band([[1.0, np.nan]]), r"samples\[0\]\[1\]: nan is not a finite"),
        (lambda: mean_band(3.0), "no sample"),
        (lambda: mean_band(np.zeros((0, 3))), "no sample"),
        (lambda: mean_band([1.0, 2.0], confidence=1.0), "confidence: 1.0"),
        (lambda: mean_interval([[1.0, 2.0]]), "2 dimensions"),
        (lambda: growth_exponent([1.0, 2.0], [[1.0, 2.0], [3.0, 0.0]]), r"y_samples\[1\]\[1\]: 0 is not"),
        (lambda: growth_exponent([-1.0, 2.0], [1.0, 2.0]), r"x\[0\]: -1 is not positive"),
        (lambda: growth_exponent([1.0, 2.0], [1.0, 2.0, 3.0]), "does not fit 2 sizes"),
        (lambda: growth_exponent([2.0, 2.0], [1.0, 2.0]), "two different sizes"),
        (lambda: law_errors([1.0, 2.0, 4.0], [[1.0, 2.0]]), "does not fit t"),
        (lambda: law_errors([1.0, 4.0, 2.0], [1.0, 2.0, 3.0]), r"t\[2\]: 2 does not come after 4"),
        (lambda: law_errors([0.0, 1.0], [1.0, 2.0]), r"t\[0\]: 0 is not positive"),
        (lambda: law_errors([1.0, 3.0, 4.0], [1.0, 2.0, 3.0]), "1 points up to half"),
    ],
)
def test_what_cannot_be_computed_is_refused(wrong, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        wrong()
