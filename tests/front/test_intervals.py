"""Regret and ratio: the interval that holds them, whatever is not proved, and the same one everywhere."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant import api
from clairvoyant.intervals import as_one, interval_of
from clairvoyant.oracles.allocation import ORACLES
from clairvoyant.oracles.base import Optimum, WhyStopped
from clairvoyant.problems import PluginError, Problem, find

MEASURES = {"allocation": "regret", "selection": "regret", "admission": "ratio", "placement": "ratio"}
AMOUNTS = st.floats(0.125, 1e6)


def optimum_of(value: float, bound: float | None, minimised: bool) -> Optimum[None]:
    return Optimum(value, bound, None, WhyStopped.TIME_LIMIT, "made up", 0.0, minimised=minimised)


@given(problem=st.sampled_from(sorted(MEASURES)), ends=st.tuples(AMOUNTS, AMOUNTS), data=st.data())
def test_the_interval_holds_the_truth_wherever_the_optimum_lies(
    problem: str, ends: tuple[float, float], data: st.DataObject
) -> None:
    minimised = find(problem).part("instance").minimised
    low, high = sorted(ends)
    best = data.draw(st.floats(low, high))
    total = best * data.draw(st.floats(1.0, 9.0) if minimised else st.floats(0.125, 1.0))
    value, bound = (high, low) if minimised else (low, high)
    found = interval_of(problem, total, optimum_of(value, bound, minimised))
    if MEASURES[problem] == "regret":
        truth = total - best if minimised else best - total
    else:
        truth = total / best if minimised else best / total
    slack = 1e-9 * max(abs(end) for end in found)
    assert found.low - slack <= truth <= found.high + slack
    assert MEASURES[problem] == "regret" or 1.0 <= found.low <= found.high
    open_ended = interval_of(problem, total, optimum_of(value, None, minimised))
    assert open_ended.low == pytest.approx(found.low)
    assert open_ended.high == math.inf


@pytest.mark.parametrize(("problem", "total"), [("placement", 50.0), ("admission", 200.0)])
def test_a_total_better_than_what_is_proved_is_told_and_no_ratio_of_one(
    problem: str, total: float, caplog: pytest.LogCaptureFixture
) -> None:
    minimised = find(problem).part("instance").minimised
    optimum = optimum_of(100.0, 100.0, minimised)
    assert interval_of(problem, total, optimum) == (0.5, 0.5)
    assert (
        f"a total of {total:g} is better than what is proved to be possible, 100: the oracle" in caplog.text
    )
    caplog.clear()
    assert interval_of(problem, total, optimum, possible=False) == (0.5, 0.5)
    nearly = 100.0 * (1.0 - 1e-9 if minimised else 1.0 + 1e-9)
    assert interval_of(problem, nearly, optimum) == (1.0, 1.0)
    assert caplog.text == ""


@pytest.mark.parametrize("found", [(math.nan, 2.0), (1.0, math.nan), (5.0, 2.0), 3.0, (1.0, 2.0, 3.0), "12"])
def test_what_is_no_interval_is_no_ratio(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Problem, "part", lambda _self, _name: lambda _optimum, _total: found)
    with pytest.raises(
        PluginError, match=r"^problem 'placement': ratio: .* for a total of 9 (is no pair|has its low)"
    ):
        interval_of("placement", 9.0, optimum_of(8.0, 7.0, True))


@pytest.mark.parametrize(
    "ends", [(-2.0, -2.0), (-5e12, -5e12), (1e-300, 0.0), (math.inf, math.inf), [1.0, 2.0]]
)
def test_any_two_ends_in_order_are_an_interval(ends: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Problem, "part", lambda _self, _name: lambda _optimum, _total: ends)
    found = interval_of("placement", 9.0, optimum_of(8.0, 7.0, True), possible=False)
    assert found == (ends[0], max(ends))


@given(low=st.floats(-1e3, 1e3), apart=st.floats(0.0, 0.1), optimum=st.floats(-1e4, 1e4))
def test_one_number_is_shown_only_where_the_ends_tell_no_more(
    low: float, apart: float, optimum: float
) -> None:
    one, high = as_one(low, low + apart, optimum), low + apart
    assert (one is None) == (high - low > 1e-5 * abs(optimum))
    rounding = abs(optimum) * 1e-12
    assert one is None or low - rounding <= one <= high + rounding
    assert one in (None, 0.0, low)
    assert one != low or not low <= 0.0 <= high or low == 0.0


@pytest.mark.parametrize(
    ("low", "high", "one"),
    [
        (-6e-9, 2e-9, 0.0),
        (7e-15, 1.4e-5, 0.0),
        (-6e-9, -6e-9, -6e-9),
        (-1e-12, -1e-12, 0.0),
        (0.0, 1.0, None),
    ],
)
def test_what_the_gap_of_the_optimum_leaves_open_is_shown_as_nothing(
    low: float, high: float, one: float | None
) -> None:
    assert as_one(low, high, 33.7) == one


@pytest.mark.usefixtures("compared_here")
@pytest.mark.parametrize(("problem", "policy"), [("allocation", "drf"), ("placement", "fifo-firstfit")])
def test_play_compare_and_python_say_the_same(
    problem: str, policy: str, run: Callable[..., Any], tmp_path: Path
) -> None:
    instance, path, out = api.generate(problem, "tiny", 1), tmp_path / "x.json", tmp_path / "runs.csv"
    instance.save(path)
    played, optimum = cv.play(policy, instance), cv.solve(instance)
    regret, measure = cv.regret(played, optimum), MEASURES[problem]
    sign = -1.0 if instance.minimised else 1.0
    assert regret.low == pytest.approx(sign * (optimum.value - played.total))
    assert regret.low <= regret.high
    wanted = regret if measure == "regret" else cv.ratio(played, optimum)
    told = run("play", path, "--policy", policy, "--json", "--out", out).json["policies"][policy]
    assert (told[measure], told[f"{measure}_at_most"]) == pytest.approx(wanted, rel=1e-6)
    frame = cv.compare(instance, [policy]).to_frame()
    assert (frame["low"][0], frame["high"][0]) == pytest.approx(wanted, rel=1e-6)
    import pandas as pd

    events = pd.read_csv(out)
    assert set(frame) <= set(events)
    np.testing.assert_allclose(events["reward"], played.rewards)
    assert (events["low"][0], events["high"][0]) == pytest.approx(wanted, rel=1e-6)


def test_what_cannot_be_compared_is_refused_by_name() -> None:
    one, other = (cv.generate("allocation", "tiny", seed) for seed in (1, 2))
    played, optimum = cv.play("drf", one), cv.solve(one)
    untyped: Any = cv
    for call, message in (
        (lambda: untyped.regret(played.total, optimum), "^run: float is no run"),
        (lambda: untyped.regret(played, optimum.value), "^optimum: float is no optimum"),
        (lambda: cv.regret(played, ORACLES["stationary"].function(one)), "take it from clairvoyant.solve"),
        (lambda: cv.regret(played, cv.solve(other)), f"{other.digest()}, but the run is on {one.digest()}"),
        (lambda: cv.regret(played, cv.solve(one, "dynamic")), "'dynamic', but policies of 'allocation' are"),
        (
            lambda: cv.regret(replace(played, infeasible=2), optimum),
            "^run: 2 of its decisions are infeasible",
        ),
        (lambda: cv.ratio(played, optimum), "^run: 'allocation' has no ratio, but a regret"),
    ):
        with pytest.raises(cv.InputError, match=message):
            call()
