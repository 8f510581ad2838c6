"""Regret and ratio of a run: the interval in which they lie, whatever is not proved about the optimum."""

from __future__ import annotations

import logging
import math
from typing import NamedTuple

from .models.base import InputError
from .online.play import Run
from .oracles.base import Optimum
from .problems import PluginError, Problem, find, rival

__all__ = ["Interval", "as_one", "interval_of", "ratio", "regret"]

NARROW = 1e-5
"""Ends are hardly apart if they are closer than such a part of the scale."""

ROUNDING = 2.0**-40
"""By such a part of the scale, and no more, the sums behind an end are rounded."""

CONTRADICTION = 1e-6
"""A ratio below 1 by more than this is no rounding: totals and bounds are known to a billionth or so."""


class Interval(NamedTuple):
    """The two ends between which a number certainly lies.

    Attributes
    ----------
    low
        The end by the incumbent of the optimum.
    high
        The end by its dual bound; infinite where no bound is proved.
    """

    low: float
    high: float


def regret(run: Run, optimum: Optimum) -> Interval:
    """Return how far a run is from the optimum, as a difference, at least 0 if the optimum can do all.

    It is the optimum less the total (the total less the optimum where less is better), in the unit of
    rewards. It may be negative where the policy may do more than the optimum it is compared with, such as
    the best fixed allocation.

    Parameters
    ----------
    run
        What :func:`clairvoyant.play` returned.
    optimum
        What :func:`clairvoyant.solve` returned for the same instance.

    Raises
    ------
    InputError
        If they are of different instances, if the optimum is by another oracle than the one that policies
        of the problem are compared with, or if the run has infeasible decisions.
    """
    _refuse_apart(run, optimum)
    return _regret(run.total, optimum)


def ratio(run: Run, optimum: Optimum) -> Interval:
    """Return how far a run is from the optimum, as a factor of at least 1.

    It is the optimum over the total (the total over the optimum where less is better). A factor below 1, of
    which a warning is logged, contradicts the bound: the oracle, the instance or the policy is at fault.

    Parameters
    ----------
    run
        What :func:`clairvoyant.play` returned.
    optimum
        What :func:`clairvoyant.solve` returned for the same instance.

    Raises
    ------
    InputError
        As for :func:`regret`; and for a problem whose policies are judged by regret alone.
    """
    _refuse_apart(run, optimum)
    if not find(run.problem).has("ratio"):
        raise InputError(f"run: {run.problem!r} has no ratio, but a regret: use clairvoyant.regret")
    return interval_of(run.problem, run.total, optimum)


def interval_of(problem: str, total: float, optimum: Optimum, *, possible: bool = True) -> Interval:
    """Return the ratio of a total, or of a mean of totals, if the problem has one, else the regret.

    A ratio is at least 1 if the total was ``possible``; one that is not even so, but for rounding, is
    returned as it is, with a warning.
    """
    record = find(problem)
    if not record.has("ratio"):
        return _regret(total, optimum)
    low, high = _ratio_of(record, optimum, total)
    if possible and high < 1.0 - CONTRADICTION:
        logging.getLogger("clairvoyant").warning(
            f"a total of {total:.9g} is better than what is proved to be possible, {optimum.bound:.9g}: the "
            "oracle, the instance or the policy is at fault"
        )
        return Interval(low, high)
    low = max(1.0, low) if possible else low
    return Interval(low, max(low, high))


def _ratio_of(record: Problem, optimum: Optimum, total: float) -> tuple[float, float]:
    """Return the two ends of a ratio; a PluginError if they are no interval."""
    found, why = record.part("ratio")(optimum, total), "is no pair (low, high) of numbers"
    try:
        low, high = map(float, found if isinstance(found, tuple | list) else ())
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if low - high > CONTRADICTION * max(1.0, abs(low), abs(high)):
        low, why = math.nan, "has its low end above the high one"
    if math.isnan(low) or math.isnan(high):
        raise PluginError(f"problem {record.name!r}: ratio: {found!r:.60} for a total of {total:.9g} {why}")
    return low, high


def as_one(low: float, high: float, scale: float) -> float | None:
    """Return the one number that people are shown for an interval; None if its ends are too far apart.

    It is the low end, but 0 where 0 lies between the ends, up to rounding: no more is known then.

    Parameters
    ----------
    low, high
        The ends.
    scale
        What they are hardly apart beside: the optimum, of a regret.
    """
    scale = abs(scale)
    if math.isinf(low):
        return low
    if high - low > NARROW * scale:
        return None
    return 0.0 if low <= ROUNDING * scale and high >= -ROUNDING * scale else low


def _regret(total: float, optimum: Optimum) -> Interval:
    sign = -1.0 if optimum.minimised else 1.0
    high = math.inf if optimum.bound is None else sign * (optimum.bound - total)
    return Interval(sign * (optimum.value - total), high)


def _refuse_apart(run: Run, optimum: Optimum) -> None:
    """Raise an InputError for a run and an optimum that cannot be compared."""
    if not isinstance(run, Run):
        raise InputError(f"run: {type(run).__name__} is no run; see clairvoyant.play")
    if not isinstance(optimum, Optimum):
        raise InputError(f"optimum: {type(optimum).__name__} is no optimum; see clairvoyant.solve")
    if not optimum.digest:
        raise InputError("optimum: does not say of which instance it is; take it from clairvoyant.solve")
    if run.digest != optimum.digest:
        raise InputError(f"optimum: of the instance {optimum.digest}, but the run is on {run.digest}")
    if optimum.oracle != (other := rival(run.problem)):
        raise InputError(
            f"optimum: by the oracle {optimum.oracle!r}, but policies of {run.problem!r} are compared with "
            f"{other!r}"
        )
    if run.infeasible:
        raise InputError(f"run: {run.infeasible} of its decisions are infeasible, so its total means nothing")
