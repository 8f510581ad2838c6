"""Figures of the tables that sweeps give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..models.base import InputError
from ..models.draw import choose, choose_some
from .plots import name_axes, new_figure, plot_bands
from .statistics import mean_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


def plot_results(
    frame: DataFrame,
    x: str,
    ax: Axes | None = None,
    *,
    policies: Sequence[str] | None = None,
    bands: bool = True,
) -> Axes:
    """Draw the mean ratio or regret of each policy over an option of the instances.

    A line lies in the middle of the mean lower and the mean upper end, which are one where optima are proven.
    The band reaches from the lower end of the confidence interval of the one to the upper end of that of the
    other; the samples are instances, over each of which policy seeds are averaged. Whatever else the table
    varies is averaged over: filter it before. Where a run of a policy has failed, was infeasible, or is
    compared with no optimum because that failed, it has no point.

    Parameters
    ----------
    frame
        What :func:`clairvoyant.results` or :func:`clairvoyant.sweep` returns, of one problem.
    x
        The column of numbers to draw over, such as "option.rho".
    policies
        Which to draw, in this order; all by default.
    bands
        Whether bands are drawn, which so many policies may hide behind.

    Raises
    ------
    InputError
        If the table has no such column or numbers in it, several problems, nothing that was compared with an
        optimum, or an end that is not known, because an optimum has no proven bound.
    """
    choose(x, frame.columns, "x")
    compared = frame.dropna(subset=[x])
    compared = compared[compared[["ratio_low", "regret_low"]].notna().any(axis=1)]
    problems = list(compared["problem"].unique())
    if len(problems) != 1:
        wanted = (
            "nothing in it is compared with an optimum" if not problems else f"it holds {', '.join(problems)}"
        )
        raise InputError(f"frame: {wanted}; expected policies of one problem with optima")
    measure = "ratio" if compared["ratio_low"].notna().any() else "regret"
    ends = [f"{measure}_low", f"{measure}_high"]
    for row in compared[~np.isfinite(compared[ends[1]])].itertuples():
        raise InputError(
            f"{ends[1]}: {row.policy} on {row.instance}: {measure} has no upper end: no proven optimum"
        )
    known = list(dict.fromkeys(compared["policy"]))
    chosen = known if policies is None else choose_some("policies", policies, known)
    try:
        places = np.sort(compared[x].unique().astype(float))
    except (TypeError, ValueError) as error:
        raise InputError(f"x: {x} does not hold numbers: {error}") from error
    ax = new_figure()[1] if ax is None else ax
    means = compared.groupby(["policy", x, "digest"])[ends].mean()
    alone = frame["policy"].notna() & frame[["ratio_low", "regret_low"]].isna().all(axis=1)
    broken = frame[(frame["state"] != "done") | (frame["infeasible"] > 0) | alone]
    without = {*zip(broken["policy"], broken[x], strict=True)}
    curves = {}
    for policy in chosen:
        there, points = means.loc[policy], np.full((3, len(places)), np.nan)
        for i, at in enumerate(places):
            if at in there.index and (policy, at) not in without:
                points[:, i] = _point(there.loc[at].to_numpy())
        curves[policy] = (points[0], *(points[1:] if bands else np.full((2, len(places)), np.nan)))
    plot_bands(ax, places, curves)
    if ax.get_xscale() == "linear" and (places == np.round(places)).all():
        ax.locator_params(axis="x", integer=True)  # there are no 1.25 machines
    unit = compared["unit"].iloc[0]
    share = "total / optimum" if compared["minimised"].iloc[0] else "optimum / total"
    name = f"ratio: {share}" if measure == "ratio" else "regret" + (f" ({unit})" if unit else "")
    return name_axes(ax, x.removeprefix("option."), name)


def _point(samples: np.ndarray) -> tuple[float, float, float]:
    """Return the middle and the band of intervals, of shape (instances, 2)."""
    low, high = (mean_band(samples[:, end]) for end in (0, 1))
    return float(low.mean + high.mean) / 2.0, float(low.low), float(high.high)
