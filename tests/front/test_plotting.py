"""Public plots: what is drawn is what was computed, in the axes that were given."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import clairvoyant as cv
from clairvoyant.analysis.admission.measures import utilisation
from clairvoyant.analysis.allocation import regret as allocation
from clairvoyant.analysis.placement.measures import measures
from clairvoyant.analysis.plots import MARKERS, candidates, to_svg
from clairvoyant.analysis.selection import regret as selection
from clairvoyant.analysis.statistics import mean_band
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.problems import find
from clairvoyant.testing.placement import instances

FIRST = {
    "allocation": "ogasched",
    "allocation-gang": "",
    "selection": "cucb",
    "selection-gang": "",
    "admission": "oasis",
    "placement": "fifo-firstfit",
}


def blank() -> Axes:
    return Figure().subplots()


def tiny(problem: str) -> tuple[Any, Any, Any]:
    """Return an instance, a run that has kept its decisions, and the optimum."""
    shorter: dict[str, Any] = {} if problem in ("admission", "placement") else {"slots": 12}
    generate: Any = cv.generate  # of any problem
    instance = generate(problem, size="tiny", seed=1, **shorter)
    name = next(iter(cv.list_policies(problem))) if "gang" in problem else FIRST[problem]
    return instance, cv.play(name, instance, keep_decisions=True), cv.solve(instance)


@pytest.fixture(scope="module")
def played() -> dict[str, tuple[Any, Any, Any]]:
    return {problem: tiny(problem) for problem in FIRST}


# Regret


def drawn(axes: Axes) -> dict[str, np.ndarray]:
    """Return the heights of every line by its label."""
    return {str(line.get_label()): np.asarray(line.get_ydata(), dtype=float) for line in axes.lines}


def test_lines_are_the_regret_and_only_the_bounds_of_the_policies_are_drawn() -> None:
    instance = cv.generate("allocation", size="tiny", seed=2, slots=30)
    runs = [cv.play(name, instance) for name in ("ogasched", "drf")]
    axes = blank()
    assert cv.plot_regret(instance, runs, axes) is axes
    best = cv.solve(instance, gap=1e-9).value
    for run in runs:
        regret = drawn(axes)[f"{run.policy}, stationary regret"]
        assert regret[-1] == pytest.approx(best - run.total, abs=1e-4 * best)
    bounds = allocation.bounds(instance)
    assert drawn(axes)["Theorem 1"].tolist() == [bounds["ogasched, theorem 1"]]
    assert "Theorem 1" not in drawn(cv.plot_regret(instance, runs[1:]))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("slots t", "regret after t slots (reward)")


def test_bands_are_over_seeds_and_a_bound_far_above_stays_in_sight() -> None:
    instance = cv.generate("selection", size="tiny", seed=1, slots=60)
    runs, cucb = [cv.play("thompson", instance, seed) for seed in range(3)], cv.play("cucb", instance)
    best = np.cumsum(instance.rewards(cv.solve(instance).decision))
    axes = cv.plot_regret(instance, {"mine": runs, "cucb": [cucb]})
    points = np.asarray(axes.lines[0].get_xdata(), dtype=int)
    expected = mean_band(np.array([best - np.cumsum(run.rewards) for run in runs])[:, points - 1])
    assert drawn(axes)["mine"] == pytest.approx(expected.mean, abs=1e-9)
    box = axes.collections[0].get_paths()[0].get_extents()
    possible = max(expected.low.min(), 0.0)  # nothing beats the best decision of each slot
    assert (box.y0, box.y1) == pytest.approx((possible, expected.high.max()), abs=1e-9)
    bound = selection.cucb_bound(instance)
    assert drawn(axes)["CUCB, bound in expectation"][-1] == pytest.approx(bound)
    assert bound > 10 * drawn(axes)["cucb"].max()
    assert axes.get_yscale() == "symlog"
    assert axes.get_ylim()[1] >= bound


@pytest.mark.parametrize("problem", ["allocation-gang", "selection-gang"])
def test_the_regret_of_gangs_ends_with_that_of_the_run(
    problem: str, played: dict[str, tuple[Any, Any, Any]]
) -> None:
    instance, run, best = played[problem]
    (regret,) = drawn(cv.plot_regret(instance, run)).values()
    low, high = cv.regret(run, best)
    assert low - 1e-6 * best.value <= regret[-1] <= high + 1e-6 * best.value
    assert len(regret) > 3
    assert (regret >= -1e-6 * best.value).all() or problem == "allocation-gang"


def test_a_policy_looks_the_same_in_every_plot(played: dict[str, tuple[Any, Any, Any]]) -> None:
    instance, run, best = played["selection"]
    look = candidates("cucb")[0]
    for axes in (cv.plot_regret(instance, run), cv.plot_utilization(instance, [best, run])):
        line = next(one for one in axes.lines if one.get_label() == "cucb")
        assert (line.get_color(), line.get_marker()) == (look.colour, MARKERS[look.place])


# Schedules


def spans(axes: Axes) -> list[tuple[float, float, float]]:
    """Return left end, right end and height of every bar of a Gantt chart."""
    boxes = [path.get_extents() for one in axes.collections for path in one.get_paths()]
    return sorted((box.x0, box.x1, box.height) for box in boxes)


@settings(max_examples=8, deadline=None)
@given(instances(min_jobs=1, max_jobs=5))
def test_bars_of_placement_are_the_schedule(instance: PlacementInstance) -> None:
    run = cv.play("fifo-firstfit", instance, keep_decisions=True)
    assert run.decisions is not None
    schedule = instance.schedule_of(run.decisions)
    axes = cv.plot_schedule(instance, {"one": run, "again": run})
    unit = axes.get_xlabel().removeprefix("time (").partition(")")[0]
    ticks = 1000 * {"s": 1, "minutes": 60, "hours": 3600, "days": 86400}[unit]
    drawn = spans(axes)
    for ends in zip(schedule.start / ticks, schedule.finish / ticks, strict=True):
        assert sum(bar[:2] == pytest.approx(ends) for bar in drawn) >= 2
    rows = np.where(instance.jobs.gpus > 0, instance.jobs.gpus, 0).sum()
    rows += sum(len(schedule.of_job(i)) for i in np.flatnonzero(instance.jobs.gpus == 0).tolist())
    assert sum(round(bar[2]) for bar in drawn) == 2 * rows

    used = cv.plot_utilization(instance, run, resource="GPUs").lines[0]
    x, y = (np.asarray(part, dtype=float) for part in (used.get_xdata(), used.get_ydata()))
    assert 0.0 <= y.min() <= y.max() <= 1.0
    if instance.setting.capacity[:, 0].sum():
        mean = (y[::2] * np.diff(x)[::2]).sum() / (x[-1] - x[0])
        assert 100 * mean == pytest.approx(measures(instance, run.decisions)["GPU use (%)"])


def test_bars_of_admission_hold_the_workers(played: dict[str, tuple[Any, Any, Any]]) -> None:
    instance, run, best = played["admission"]
    schedules = [Schedule.of_deployments(run.decisions), best.decision]
    axes = cv.plot_schedule(instance, [run, best])
    most = max(np.bincount(s.workers[:, 0] * 99 + s.workers[:, 1], s.workers[:, 3]).max() for s in schedules)
    area = sum(abs(_area(path.vertices)) for one in axes.collections for path in one.get_paths())
    assert area * most / 0.85 == pytest.approx(sum(s.workers[:, 3].sum() for s in schedules))
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["oasis", *(f"job {i}" for i in range(4)), "optimum", *(f"job {i}" for i in range(4))]


def _area(corners: Any) -> float:
    x, y = np.asarray(corners, dtype=float).T
    return float(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2


def test_utilization_of_admission_is_what_is_measured(played: dict[str, tuple[Any, Any, Any]]) -> None:
    instance, run, _ = played["admission"]
    sides = utilisation(instance, Schedule.of_deployments(run.decisions))
    for side, shares in (("workers", sides.workers), ("servers", sides.servers)):
        for r, name in enumerate(instance.setting.resources):
            line = cv.plot_utilization(instance, run, resource=f"{name} of {side}").lines[0]
            drawn = np.asarray(line.get_ydata(), dtype=float)[::2]
            assert drawn == pytest.approx(np.nan_to_num(shares[:, r]))


@pytest.mark.parametrize("problem", FIRST)
def test_the_share_of_all_is_the_mean_of_those_that_there_are(
    problem: str, played: dict[str, tuple[Any, Any, Any]]
) -> None:
    instance, run, _ = played[problem]
    held = find(problem).part("holdings")(instance, run.decisions)
    (line,) = cv.plot_utilization(instance, run).lines
    total = held.capacity.sum(axis=0)
    used = [
        [held.at(n).amount[:, r].sum() for n in range(len(held.times) - 1)] for r in np.flatnonzero(total)
    ]
    expected = np.mean(np.array(used) / total[total > 0][:, None], axis=0)
    assert np.asarray(line.get_ydata(), dtype=float)[::2] == pytest.approx(expected)


def test_allocation_has_no_schedule(played: dict[str, tuple[Any, Any, Any]]) -> None:
    instance, run, _ = played["allocation"]
    with pytest.raises(
        cv.InputError, match="'allocation' has no schedule that could be drawn; these have: sel"
    ):
        cv.plot_schedule(instance, run)


# Who holds what


@pytest.mark.parametrize("problem", FIRST)
def test_every_problem_says_who_holds_what(problem: str, played: dict[str, tuple[Any, Any, Any]]) -> None:
    instance, run, best = played[problem]
    axes = cv.plot_utilization(instance, [run, best])
    for line in axes.lines:
        values = np.asarray(line.get_ydata(), dtype=float)
        assert 0.0 <= values.min() <= values.max() <= 1.0 + 1e-9
    held = cv.plot_holdings(instance, [run, best], 3)
    assert [text.get_text() for text in held.get_yticklabels()].count("optimum") == 1
    ends = [bar.get_x() + bar.get_width() for bar in held.patches]  # type: ignore[attr-defined]
    assert max(ends, default=0.0) <= 1.0 + 1e-9


def test_bars_are_the_shares_of_the_servers(played: dict[str, tuple[Any, Any, Any]]) -> None:
    instance, run, _ = played["allocation"]
    axes = cv.plot_holdings(instance, run, 7)
    s = instance.setting
    taken = np.zeros(s.servers * s.kinds)
    for bar in axes.patches:
        taken[round(bar.get_y() + 0.4)] += bar.get_width()  # type: ignore[attr-defined]
    assert taken == pytest.approx((s.server_sums(run.decisions[7]) / s.capacity).ravel())


@pytest.mark.parametrize("problem", ["selection", "placement"])
def test_the_slider_shows_what_is_held(problem: str, played: dict[str, tuple[Any, Any, Any]]) -> None:
    pytest.importorskip("ipywidgets", reason="the extra notebooks is not installed")
    instance, run, best = played[problem]
    slider, picture = cv.explore(instance, [run, best]).children
    assert slider.description == ("slot" if problem == "selection" else "event")
    for value in (slider.max, (slider.min + slider.max) // 2):
        slider.value = value
        time = value
        if problem == "placement":
            schedules = [instance.schedule_of(run.decisions), best.decision]
            each = [np.unique([*s.start, *s.finish, instance.jobs.submit[0]])[:-1] for s in schedules]
            time = np.unique(np.concatenate(each))[value] / 1000
        figure = cv.plot_holdings(instance, [run, best], time).figure
        assert isinstance(figure, Figure)
        assert picture.value == to_svg(figure)


def test_without_the_extra_the_slider_names_it(
    monkeypatch: pytest.MonkeyPatch, played: dict[str, tuple[Any, Any, Any]]
) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(cv.ClairvoyantError, match=r'pip install "clairvoyant\[notebooks\]"'):
        cv.explore(*played["selection"][:2])


# Ratios


@pytest.mark.usefixtures("compared_here")
def test_intervals_are_those_of_the_comparison() -> None:
    found = cv.compare([cv.generate("admission", size="tiny", seed=n) for n in range(2)], ["oasis", "fifo"])
    axes = blank()
    assert cv.plot_ratio(found, axes) is axes
    told = found.summary()
    thick = [line for line in axes.lines if line.get_linewidth() == 5]
    assert [tuple(line.get_xdata()) for line in thick] == list(zip(told["low"], told["high"], strict=True))  # type: ignore[arg-type]
    endless = replace(found, frame=found.frame.assign(high=np.inf))
    assert len(cv.plot_ratio(endless).texts) == len(told)  # an arrow for each
    assert not axes.texts
    regret = cv.compare(cv.generate("selection", size="tiny", seed=1, slots=5), ["cucb"])
    with pytest.raises(
        cv.InputError, match=r"comparison: selection is compared by regret; plot\(\) draws that"
    ):
        cv.plot_ratio(regret)


# Manners


def test_nothing_is_left_in_pyplot(played: dict[str, tuple[Any, Any, Any]]) -> None:
    from matplotlib import pyplot as plt

    before = plt.get_fignums()
    instance, run, best = played["placement"]
    axes = blank()
    assert cv.plot_schedule(instance, [run, best], axes) is axes
    assert cv.plot_utilization(instance, best, axes) is axes
    assert cv.plot_holdings(instance, run, 0.0, axes) is axes
    assert cv.plot_schedule(instance, run) is not cv.plot_schedule(instance, run)
    assert plt.get_fignums() == before


def test_nothing_is_drawn_of_an_instance_in_which_nothing_happens() -> None:
    slots = cv.generate("selection", size="tiny", slots=0)
    cluster = PlacementInstance(machines=[{"gpus": 1, "cpus": 1, "memory": 1}], jobs=[])
    for instance, name in ((slots, "cucb"), (cluster, "fifo-firstfit")):
        results = [cv.play(name, instance, keep_decisions=True), cv.solve(instance)]
        for axes in (cv.plot_schedule(instance, results), cv.plot_holdings(instance, results, 0)):
            assert spans(axes) == []
            assert not axes.patches
        assert not any(len(line.get_xydata()) for line in cv.plot_utilization(instance, results).lines)  # type: ignore[arg-type]
        pytest.importorskip("ipywidgets", reason="the extra notebooks is not installed")
        with pytest.raises(cv.InputError, match="instance: nothing happens in it"):
            cv.explore(instance, results)
    with pytest.raises(cv.InputError, match="instance: it has no slots, over which there is no regret"):
        cv.plot_regret(slots, cv.play("cucb", slots))


def test_bad_input_is_refused(played: dict[str, tuple[Any, Any, Any]]) -> None:
    instance, run, best = played["placement"]
    other, theirs, _ = played["admission"]
    slotted = played["selection"][0]
    bare = cv.play("fifo-firstfit", instance)
    calls: list[tuple[Callable[[], object], str]] = [
        (
            lambda: cv.plot_regret(instance, run),
            r"'placement' has no regret over slots \(see clairvoyant.compare\); these have: allocation",
        ),
        (lambda: cv.plot_regret(slotted, theirs), "results: oasis was played on"),
        (lambda: cv.plot_regret(slotted, best), "Optimum is no run"),
        (lambda: cv.plot_schedule(instance, bare), "kept no decisions; play it with keep_decisions=True"),
        (lambda: cv.plot_schedule(instance, [run, run]), "two are 'fifo-firstfit'"),
        (lambda: cv.plot_schedule(instance, []), "there is none"),
        (lambda: cv.plot_schedule(instance, 3), "int is no run"),  # type: ignore[arg-type]
        (lambda: cv.plot_schedule("x", run), "instance: str is no instance"),  # type: ignore[arg-type]
        (
            lambda: cv.plot_schedule(cv.generate("placement", size="tiny", seed=2), best),
            "results: the optimum is that of .*, not of this instance",
        ),
        (
            lambda: cv.plot_schedule(cv.generate("placement", size="tiny", seed=2), replace(best, digest="")),
            "not for this instance",
        ),
        (lambda: cv.plot_utilization(instance, run, resource="GPU"), "resource: 'GPU' is not one of"),
        (lambda: cv.plot_ratio(run), "comparison: Run is none"),
    ]
    for call, message in calls:
        with pytest.raises(cv.InputError, match=message):
            call()
    assert other.digest() == theirs.digest
