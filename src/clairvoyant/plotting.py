"""Pictures of runs, optima and comparisons: every function draws into the axes it is given and returns them.

Without axes there is a figure of its own: ``axes.figure`` is what a notebook shows and ``savefig`` writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .comparing import Comparison
from .models.base import ClairvoyantError, InputError, Instance
from .online.play import Run
from .oracles.base import Optimum
from .problems import Problem, find, problems

if TYPE_CHECKING:
    from ipywidgets import Widget
    from matplotlib.axes import Axes

    from .analysis.holdings import Holdings

Result = Run | Optimum
Results = Result | Sequence[Result] | Mapping[str, Result]
"""A sequence, not any iterable: so type checkers see what a dictionary of both kinds is."""


def plot_regret(
    instance: Instance, runs: Run | Iterable[Run] | Mapping[str, Run | Iterable[Run]], ax: Axes | None = None
) -> Axes:
    """Draw the regret of runs over the slots, with the bound of the theorem of a policy that has one.

    For allocation, the regret after t slots is against the best fixed decision for those t slots, which for
    gangs is searched for at each of up to 25 t; for selection, against the sum of the best decisions of the
    slots. It is the upper end where optima are enclosed.

    Parameters
    ----------
    instance
        What was played.
    runs
        Runs of it; those of one policy are a line, with a band where there are several seeds: 95 % by
        Student's t. A mapping gives them other labels.
    ax
        Where to draw; a figure of its own by default.

    Raises
    ------
    InputError
        For runs of another instance, or with infeasible decisions; for a problem without slots, or whose
        policies are judged by their ratio.
    """
    draw = _part(instance, "plot_regret", "no regret over slots (see clairvoyant.compare)")
    found: dict[str, list[Run]] = {}
    for label, given in runs.items() if isinstance(runs, Mapping) else (("", one) for one in _several(runs)):
        for run in _several(given):
            if not isinstance(run, Run):
                raise InputError(f"results: {type(run).__name__} is no run")
            _refuse_other(instance, run)
            if run.infeasible:
                raise InputError(f"runs: {run.policy} has infeasible decisions, {run.infeasible} of them")
            found.setdefault(label or run.policy, []).append(run)
    if not found:
        raise InputError("runs: there is none")
    axes: Axes = draw(instance, found, ax)
    return axes


def plot_schedule(instance: Instance, results: Results, ax: Axes | None = None) -> Axes:
    """Draw when what runs, as a Gantt chart: of a run, of an optimum, or of several below each other.

    In placement a row is a GPU and a bar a job, by its number; in admission a row is a job, and the height of
    its bar the number of its workers; in selection a row is a port, with the number of its channels.

    Parameters
    ----------
    instance
        What was played and solved.
    results
        A run that has kept its decisions, an optimum, several of these, or these by label. They share the
        axis of time.
    ax
        Where to draw; a figure of its own, as high as it takes, by default.

    Raises
    ------
    InputError
        For what belongs to another instance, a run without its decisions, or allocation, where every port
        holds shares all the time.
    """
    draw = _part(instance, "plot_schedules", "no schedule that could be drawn")
    axes: Axes = draw(instance, _decisions(instance, results), ax)
    return axes


def plot_utilization(
    instance: Instance, results: Results, ax: Axes | None = None, *, resource: str | None = None
) -> Axes:
    """Draw the share of the capacity in use over time, from 0 to 1.

    Parameters
    ----------
    instance, results, ax
        As for :func:`plot_schedule`.
    resource
        One by name, such as "GPUs"; by default the mean share of all resources that there are.

    Raises
    ------
    InputError
        As :func:`plot_schedule`, for any problem; for an unknown resource, listing those there are.
    """
    from .analysis.holdings import plot_shares
    from .analysis.plots import new_figure

    held = _holdings(instance, results)
    for one in held.values():
        one.chosen(resource)
    return plot_shares(new_figure()[1] if ax is None else ax, held, resource)


def plot_holdings(
    instance: Instance, results: Results, time: float, ax: Axes | None = None, *, resource: str | None = None
) -> Axes:
    """Draw who holds what at a time: a bar per machine and resource, stacked by job or port.

    Parameters
    ----------
    instance, results, ax, resource
        As for :func:`plot_utilization`.
    time
        The slot; in placement, seconds.

    Raises
    ------
    InputError
        As :func:`plot_utilization`.
    """
    from .analysis.holdings import plot_held
    from .analysis.plots import new_figure

    held = _holdings(instance, results)
    axes = new_figure(height=_height(held, resource))[1] if ax is None else ax
    return plot_held(axes, held, time, resource)


def plot_ratio(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the interval in which the ratio of each policy lies, of a comparison.

    A thick bar is the certified interval of the mean over the instances, a thin one that for the
    mean over all instances of the kind. Below 1 there is nothing: nobody is better than the optimum.

    Raises
    ------
    InputError
        For a comparison by regret or totals, which its own ``plot`` draws.
    """
    if not isinstance(comparison, Comparison):
        raise InputError(f"comparison: {type(comparison).__name__} is none; clairvoyant.compare returns one")
    if comparison.measure != "ratio":
        measure = comparison.measure or "totals"
        raise InputError(f"comparison: {comparison.problem} is compared by {measure}; plot() draws that")
    return comparison.plot(ax)


def explore(instance: Instance, results: Results, *, resource: str | None = None) -> Widget:
    """Return a slider over time, for a notebook, that shows who holds what; see :func:`plot_holdings`.

    Needs the extra "notebooks" of the package. The slider is the first of ``children``, the picture the
    second, as SVG in its ``value``. In placement a step of the slider is an event: something starts or ends.

    Parameters
    ----------
    instance, results, resource
        As for :func:`plot_holdings`; most useful with a run and the optimum.

    Raises
    ------
    InputError
        As :func:`plot_holdings`, and for an instance in which nothing happens.
    ClairvoyantError
        If the extra is not installed.
    """
    try:
        import ipywidgets
    except ModuleNotFoundError as error:
        message = f'explore needs the package {error.name}: pip install "clairvoyant[notebooks]"'
        raise ClairvoyantError(message) from error
    from .analysis.holdings import plot_held
    from .analysis.plots import new_figure, to_svg

    held = _holdings(instance, results)
    begins = np.unique(np.concatenate([one.times[:-1] for one in held.values()]))
    if not len(begins):
        raise InputError("instance: nothing happens in it")
    slots = next(iter(held.values())).unit == "slot"
    first = round(begins[0] + 0.5) if slots else 0
    slider = ipywidgets.IntSlider(
        first,
        first,
        first + len(begins) - 1,
        description="slot" if slots else "event",
        continuous_update=False,
    )
    picture = ipywidgets.HTML()

    def draw(_change: object = None) -> None:
        time = float(slider.value if slots else begins[slider.value])
        figure, axes = new_figure(height=_height(held, resource))
        plot_held(axes, held, time, resource)
        picture.value = to_svg(figure)

    slider.observe(draw, "value")
    draw()
    return ipywidgets.VBox([slider, picture])


def _height(held: Mapping[str, Holdings], resource: str | None) -> float:
    """Return the inches that a picture of who holds what takes."""
    from .analysis.holdings import bars_of

    return 0.9 + 0.2 * len(held) * (1 + len(bars_of(next(iter(held.values())), resource)))


def _part(instance: Instance, part: str, lacks: str) -> Any:
    """Return what draws instances of a problem; an InputError that says who can, if there is nothing."""
    if not isinstance(instance, Instance):
        raise InputError(f"instance: {type(instance).__name__} is no instance")
    problem: Problem = find(instance.problem)
    if not problem.has(part):
        able = ", ".join(name for name, one in problems().items() if one.has(part))
        raise InputError(f"instance: {problem.name!r} has {lacks}; these have: {able}")
    return problem.part(part)


def _several(given: Any) -> Iterable[Any]:
    """Return what is given, one or several."""
    if isinstance(given, Run | Optimum):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise InputError(f"results: {type(given).__name__} is no run, no optimum, nor several of them")
    return given


def _refuse_other(instance: Instance, result: Any) -> None:
    """Raise an InputError for a result of another instance; an optimum may not say of which it is."""
    if not isinstance(result, Run | Optimum):
        raise InputError(f"results: {type(result).__name__} is no run and no optimum")
    here = instance.digest()
    if result.digest not in (here, "" if isinstance(result, Optimum) else here):
        told, of = (
            (f"{result.policy} was played", "on")
            if isinstance(result, Run)
            else ("the optimum is that", "of")
        )
        raise InputError(f"results: {told} {of} {result.digest}, not {of} this instance, {here}")


def _decisions(instance: Instance, results: Any) -> dict[str, Any]:
    """Return by label what runs have kept, and what oracles have decided."""
    if isinstance(results, Mapping):
        labelled = [(str(label), one) for label, one in results.items()]
    else:
        labelled = [(getattr(one, "policy", "optimum"), one) for one in _several(results)]
    found: dict[str, Any] = {}
    for label, one in labelled:
        if label in found:
            raise InputError(f"results: two are {label!r}; give them as a mapping, with labels that differ")
        _refuse_other(instance, one)
        if isinstance(one, Optimum):
            found[label] = one.decision
            continue
        if one.decisions is None:
            raise InputError(f"results: {label} has kept no decisions; play it with keep_decisions=True")
        found[label] = one.decisions
    if not found:
        raise InputError("results: there is none")
    return found


def _holdings(instance: Instance, results: Any) -> dict[str, Holdings]:
    """Return by label who holds what."""
    make = _part(instance, "holdings", "nothing that says who holds what")
    return {label: make(instance, decided) for label, decided in _decisions(instance, results).items()}
