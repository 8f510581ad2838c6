"""Confidence intervals of means (Student t, over independent seeds), and growth laws of curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..models.base import InputError
from ..models.checks import refuse_first

Samples = npt.ArrayLike

EXACT = 1e-12  # relative differences below this are rounding


class Band(NamedTuple):
    """A mean and the ends of its confidence interval, point by point; NaN ends where one sample is all."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Interval(NamedTuple):
    """The same of one number."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        if np.isnan(self.low):
            return f"{self.mean:.4g} (one sample)"
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


def mean_band(samples: Samples, confidence: float = 0.95) -> Band:
    """Return the mean over seeds, which run along the first axis, and its Student t interval, point by point.

    It covers the mean with this confidence, if the samples are normal; these are finite, and at least one.
    """
    from scipy.special import stdtrit

    values = _finite("samples", samples)
    if values.ndim == 0 or len(values) == 0:
        raise InputError(f"samples: no sample along the first axis of shape {values.shape}")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence: {confidence!r} is not between 0 and 1")
    mean, count = values.mean(axis=0), len(values)
    half = np.full_like(mean, np.nan)
    if count > 1:
        quantile = float(stdtrit(count - 1, (1.0 + confidence) / 2.0))
        half = quantile * values.std(axis=0, ddof=1) / np.sqrt(count)
    return Band(mean, mean - half, mean + half)


def mean_interval(samples: Samples, confidence: float = 0.95) -> Interval:
    """Return the mean of a list of numbers, one per seed, and its Student t interval."""
    values = _finite("samples", samples)
    if values.ndim != 1:
        raise InputError(f"samples: {values.ndim} dimensions do not fit, expected one number per seed")
    return Interval(*map(float, mean_band(values, confidence)))


def prediction_interval(samples: Samples) -> Interval:
    """Return the mean of samples, one per seed, and the interval in which one more lies with 95 %."""
    mean, _low, high = mean_interval(samples)
    half = (high - mean) * np.sqrt(np.size(np.asarray(samples)) + 1.0)
    return Interval(mean, mean - half, mean + half)


def p_of_mean(samples: Samples) -> float:
    """Return p of a two-sided t test of the mean being 0: 1 for one sample or only 0s, 0 for equal others."""
    return _p_of_t(_finite("samples", samples), 0.0, 0.0)


def p_of_next(samples: Samples, number: float) -> float:
    """Return how likely one more sample is as far from the mean as a number: 1 for a single sample."""
    return _p_of_t(_finite("samples", samples), number, 1.0)


def _p_of_t(samples: np.ndarray, number: float, more: float) -> float:
    from scipy.special import stdtr

    if samples.size < 2:
        return 1.0
    scale = max(abs(samples).max(), abs(number)) or 1.0
    parts = samples / scale  # of which no square is lost
    away = abs(parts.mean() - number / scale)
    error = parts.std(ddof=1) * np.sqrt(more + 1.0 / samples.size)
    if away <= EXACT:  # digits beyond these are rounding
        return 1.0
    return float(2.0 * stdtr(samples.size - 1, -away / error)) if error > EXACT else 0.0


def holm(p: Sequence[float]) -> list[float]:
    """Return p values corrected for their number, after Holm: each may be compared with one level.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    raised = [(len(p) - i) * p[j] for i, j in enumerate(order)]
    result = np.empty(len(p))
    result[order] = np.minimum(np.maximum.accumulate([0.0, *raised])[1:], 1.0)
    return [float(value) for value in result]


def growth_exponent(x: Samples, y_samples: Samples) -> Interval:
    """Return the exponent a of y ~ x^a: the least-squares slope of log y over log x, seed by seed.

    Measurements have shape (seeds, sizes), or (sizes,) for one seed. All are positive; two sizes differ.
    """
    sizes = _positive("x", x)
    measured = np.atleast_2d(_positive("y_samples", y_samples))
    if sizes.ndim != 1 or measured.ndim != 2 or measured.shape[1] != sizes.size:
        raise InputError(f"y_samples: shape {measured.shape} does not fit {sizes.size} sizes")
    if np.unique(sizes).size < 2:
        raise InputError("x: a slope needs at least two different sizes")
    return mean_interval(_line(np.log(sizes), np.log(measured))[0])


GROWTHS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"ln t": np.log, "sqrt t": np.sqrt, "t": lambda t: t}
"""The laws f(t) that a cumulative curve may grow by, by name."""


def law_errors(t: Samples, curves: Samples) -> dict[str, np.ndarray]:
    """Fit a ln t + b, a sqrt t + b and a t + b to cumulative curves; return how badly each law predicts them.

    Each law is fitted by least squares to the part of each curve up to half of the last t. Its error on a
    curve, shape (seeds,), is the root mean square error on the rest, relative to the largest magnitude. All
    laws have two coefficients, so no penalty is needed. Criteria such as that of Akaike suppose independent
    residuals; the residuals of a cumulative curve are sums of all that went before, so thousands of slots
    would count as thousands of observations where there are a few. Here a curve counts once.

    Curves have shape (seeds, P), or (P,) for one seed. Where on the scale the P points lie decides what
    counts: evenly spaced ones weigh every slot the same. Two or more lie in the first half.
    """
    slots = _positive("t", t)
    values = np.atleast_2d(_finite("curves", curves))
    if slots.ndim != 1 or values.ndim != 2 or values.shape[1] != slots.size:
        raise InputError(f"curves: shape {values.shape} does not fit t of shape {slots.shape}")
    for i in np.flatnonzero(np.diff(slots) <= 0)[:1]:
        raise InputError(f"t[{i + 1}]: {slots[i + 1]:g} does not come after {slots[i]:g}")
    early = slots <= 0.5 * slots[-1]
    if early.sum() < 2:
        raise InputError(f"t: {early.sum()} points up to half of the last are too few for a fit")
    scale = abs(values).max(axis=1)
    scale[scale == 0.0] = 1.0
    error = dict[str, np.ndarray]()
    for name, law in GROWTHS.items():
        a, b = _line(law(slots[early]), values[:, early])
        missed = values[:, ~early] - a[:, None] * law(slots[~early]) - b[:, None]
        error[name] = np.sqrt((missed**2).mean(axis=1)) / scale
    return error


def _line(f: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and offset of each row of ``values`` over f by least squares."""
    centred = f - f.mean()
    slope: np.ndarray = values @ centred / (centred @ centred)
    return slope, values.mean(axis=1) - slope * f.mean()


class Paired(NamedTuple):
    """The paired difference of two measurements on the same seeds."""

    difference: Interval  # the mean difference and its Student t interval
    p: float  # of the two-sided Wilcoxon signed-rank test, whose null is symmetry about 0; 1 if all are 0


def paired(a: Samples, b: Samples) -> Paired:
    """Compare two measurements of one length, paired by seed: ``a`` less ``b``.

    Differences of 0, up to rounding, count in the mean, but not in the test (as Wilcoxon treats them).
    """
    from scipy import stats

    ours, theirs = _finite("a", a), _finite("b", b)
    if ours.shape != theirs.shape:
        raise InputError(f"b: shape {theirs.shape} differs from {ours.shape} of a")
    same = abs(ours - theirs) <= EXACT * np.maximum(abs(ours), abs(theirs))
    difference = np.where(same, 0.0, ours - theirs)
    other = difference[difference != 0.0]
    return Paired(mean_interval(difference), float(stats.wilcoxon(other).pvalue) if other.size else 1.0)


def _finite(field: str, values: Samples) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    refuse_first(~np.isfinite(array), array, field, "is not a finite number")
    return array


def _positive(field: str, values: Samples) -> np.ndarray:
    array = _finite(field, values)
    refuse_first(array <= 0, array, field, "is not positive")
    return array
