"""Regret, the certificate of a run, CUCB's bound, and what deciding for all ports costs."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.analysis.selection import regret
from clairvoyant.models.base import InputError
from clairvoyant.models.selection.generate import generate
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.online.play import play
from clairvoyant.online.selection import Cucb, Esdp, EsdpPrinted
from clairvoyant.online.selection.statistics import DELTAS, GS, Statistics, delta, g
from clairvoyant.oracles.selection.optimum import clairvoyant
from clairvoyant.testing.selection import degenerate, instances, ordinary

KNOWN = {**ordinary(), **degenerate()}
ROUNDING = 1e-9


def decisions_of(policy: Esdp | Cucb, instance: SelectionInstance) -> np.ndarray:
    run = play(policy, instance, keep_decisions=True)
    return np.array(run.decisions).reshape(instance.setting.slots, instance.setting.channels)


def check_strict(instance: SelectionInstance, name: str, width: str) -> None:
    """The theorem: after any slot the strict certificate is at least the regret."""
    x = decisions_of(Esdp(delta=name, g=width), instance)
    found = regret.certificate(instance, x, delta=name, g=width)
    measured = np.cumsum(found.optimum - instance.rewards(x))
    assert (np.cumsum(found.strict_per_slot) >= measured - ROUNDING * (1 + len(measured))).all()
    assert found.strict >= found.total
    if not found.missed.any():
        assert found.total == found.strict


@given(
    instance=instances(min_slots=1, max_slots=30),
    name=st.sampled_from(sorted(DELTAS)),
    width=st.sampled_from(sorted(GS)),
)
@hypothesis_settings(max_examples=50, deadline=None)
def test_the_strict_certificate_is_never_below_the_regret(
    instance: SelectionInstance, name: str, width: str
) -> None:
    check_strict(instance, name, width)


@pytest.mark.parametrize("name", KNOWN)
def test_the_strict_certificate_holds_at_the_edge_of_what_is_allowed(name: str) -> None:
    check_strict(KNOWN[name], "loglog", "log")


def test_the_certificate_is_its_formula_slot_by_slot() -> None:
    instance = generate("tiny", 3, slots=60)
    x = decisions_of(Esdp(g="log"), instance)
    found = regret.certificate(instance, x, g="log")
    best = clairvoyant(instance)
    known, m = Statistics(instance.setting.channels), instance.setting.most_channels
    for slot in range(60):
        t = slot + 1
        slack = float(delta("loglog", t))
        spread = known.spread(0.5 * float(g("log", t, m)))
        optimum = float(instance.mean @ best.decision[slot])
        cost = slack + math.sqrt(m) / math.ceil(m / slack) + 2 * math.sqrt(spread @ x[slot])
        untried = bool((known.untried & ((x[slot] > 0) | best.decision[slot])).any())
        assert found.untried[slot] == untried
        assert found.per_slot[slot] == pytest.approx(optimum if untried else min(optimum, cost))
        off = [
            abs((instance.mean - known.mean) @ y) - math.sqrt(spread @ y)
            for y in (x[slot], best.decision[slot])
        ]
        assert found.missed[slot] == (not untried and max(off) > 1e-12)
        used = np.flatnonzero(x[slot])
        known.count[used] += 1
        known.total[used] += instance.path[slot, used]


def test_slots_in_which_15_fails_count_the_whole_optimum_in_the_strict_form_only() -> None:
    """The path is far from the means: estimates are sure and wrong."""
    slots = 2000
    instance = SelectionInstance(
        edges=[[0, 0], [0, 1]],
        demand=[[1], [1]],
        capacity=[1],
        mean=[0.0, 1.0],
        arrivals=np.ones((slots, 1)),
        path=np.tile([1.0, 0.0], (slots, 1)),
    )
    x = decisions_of(Esdp(g="log"), instance)
    found = regret.certificate(instance, x, g="log")
    measured = regret.over_time(instance, instance.rewards(x))[-1]
    assert found.missed.sum() > slots / 2
    assert found.total < measured <= found.strict


def test_the_certificate_refuses_decisions_that_no_run_can_hold() -> None:
    instance = generate("tiny", 0, slots=5)
    shape = (5, instance.setting.channels)
    with pytest.raises(InputError, match=r"decisions: capacity\[\d\]\[\d\]"):
        regret.certificate(instance, np.ones(shape))
    with pytest.raises(InputError, match="shape"):
        regret.certificate(instance, np.zeros((4, shape[1])))
    with pytest.raises(InputError, match="delta: 'cubic'"):
        regret.certificate(instance, np.zeros(shape), delta="cubic")


def test_the_bound_of_cucb_is_its_formula() -> None:
    instance = generate("default", 0, slots=500)
    size = instance.setting.most_channels * instance.setting.channels
    expected = 4 * math.sqrt(1.5 * size * 500 * math.log(500)) + size * (1 + math.pi**2 / 3)
    assert regret.bounds(instance) == {"cucb, in expectation": pytest.approx(expected)}
    assert regret.cucb_bound(instance, 1) == pytest.approx(size * (1 + math.pi**2 / 3))
    assert regret.cucb_bound(instance, 0) == 0.0


@given(instance=instances(min_slots=1, max_slots=30))
@hypothesis_settings(max_examples=40, deadline=None)
def test_cucb_keeps_its_bound(instance: SelectionInstance) -> None:
    measured = regret.over_time(instance, play(Cucb(), instance).rewards)
    for t in range(1, instance.setting.slots + 1):
        assert measured[t - 1] <= regret.cucb_bound(instance, t) + ROUNDING * t


@given(instance=instances(max_slots=1, max_channels=6), rho=st.floats(0.0, 1.0, allow_subnormal=False))
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_blind_slope_is_what_enumeration_gives(instance: SelectionInstance, rho: float) -> None:
    s = instance.setting
    sets = np.array(list(product((0, 1), repeat=s.channels)), dtype=float)
    sets = sets[(sets @ s.demand <= s.capacity).all(axis=1)]
    expected = 0.0
    for pattern in product((0, 1), repeat=s.ports):
        chance = math.prod(rho if job else 1 - rho for job in pattern)
        allowed = sets[(sets[:, ~s.open(np.array(pattern))] == 0).all(axis=1)]
        expected += chance * float((allowed @ instance.mean).max())
    blind = max(rho * float(x @ instance.mean) for x in sets)
    slope = regret.blind_slope(instance, rho)
    assert slope == pytest.approx(expected - blind, abs=1e-9)
    assert slope >= -1e-9


def test_nothing_is_lost_by_deciding_for_all_ports_where_everything_fits() -> None:
    ample = generate("default", 1, slots=0, capacity=400)
    assert regret.blind_slope(ample, 0.9) == pytest.approx(0.0, abs=1e-9)
    assert regret.blind_slope(generate("default", 1, slots=0), 0.9) > 0.1


def test_two_ports_that_exclude_each_other_cost_rho_times_one_minus_rho() -> None:
    instance = SelectionInstance(
        edges=[[0, 0], [1, 1]], demand=[[1], [1]], capacity=[1], mean=[0.5, 0.5], arrivals=[[1, 1]]
    )
    assert regret.blind_slope(instance, 0.9) == pytest.approx(0.5 * 0.9 * 0.1)


@given(instance=instances(max_slots=1, max_channels=6, min_channels=1))
@hypothesis_settings(max_examples=60, deadline=None)
def test_no_positive_gap_is_reported_that_no_set_has(instance: SelectionInstance) -> None:
    s = instance.setting
    sets = np.array(list(product((0, 1), repeat=s.channels)), dtype=float)
    sets = sets[(sets @ s.demand <= s.capacity).all(axis=1)]
    gaps, ties = [math.inf], False
    for pattern in product((0, 1), repeat=s.ports):
        allowed = sets[(sets[:, ~s.open(np.array(pattern))] == 0).all(axis=1)]
        best = (allowed @ instance.mean).max()
        lost = best - allowed @ instance.mean
        gaps += lost[lost > regret.TIE * best].tolist()
        ties |= bool((lost <= regret.TIE * best).sum() > 1)
    found = regret.smallest_gap(instance)
    if ties:
        assert found >= min(gaps) - 1e-9
    else:
        assert found == pytest.approx(min(gaps))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e-200])
def test_a_gap_is_small_beside_the_optimum_and_not_as_such(scale: float) -> None:
    given: Any = {"edges": [[0, 0], [0, 1]], "capacity": [2], "demand": [[2], [2]], "arrivals": [[1]]}
    unequal, equal = (SelectionInstance(**given, mean=[first * scale, 0.8 * scale]) for first in (0.3, 0.8))
    assert regret.smallest_gap(unequal) == pytest.approx(0.5 * scale)
    assert regret.smallest_gap(equal) == math.inf


def test_patterns_are_listed_only_while_there_are_few() -> None:
    many = generate("tiny", 0, slots=0, ports=17)
    with pytest.raises(InputError, match="2\\^17"):
        regret.smallest_gap(many)
    with pytest.raises(InputError, match="probability"):
        regret.blind_slope(generate("tiny", 0, slots=0), 1.5)


def test_curves_end_at_the_regret_of_the_run_and_carry_their_bounds() -> None:
    played = [generate("tiny", seed, slots=30) for seed in range(3)]
    seen: list[float] = []
    curves = regret.regret_curves(Cucb, played, progress=seen.append)
    assert curves.slots[-1] == 30
    assert seen[-1] == 1.0
    (bound,) = curves.bounds.values()
    for n, instance in enumerate(played):
        best = clairvoyant(instance).bound
        assert best is not None
        assert curves.regret[n, -1] == pytest.approx(best - play(Cucb(), instance).total, abs=1e-6)
        assert bound[n, -1] == regret.cucb_bound(instance)
    assert regret.regret_curves(EsdpPrinted, played).bounds == {}


def test_curves_of_instances_that_cannot_be_compared_are_refused() -> None:
    for played in ([], [generate("tiny", 0, slots=0)], [generate("tiny", 0, slots=n) for n in (2, 3)]):
        with pytest.raises(InputError, match="lengths"):
            regret.regret_curves(Esdp, played)


def test_the_band_of_regret_ends_at_0() -> None:
    found = regret.RegretCurves("esdp", np.array([1, 2]), np.array([[0.0, 1.0], [100.0, 90.0]]), {})
    band = regret.plot_regret([found]).collections[0].get_paths()[0]
    assert np.array(band.vertices)[:, 1].min() == 0.0


def test_plot_regret_labels_its_axes_and_every_curve() -> None:
    played = [generate("tiny", seed, slots=20) for seed in range(3)]
    axes = regret.plot_regret([regret.regret_curves(make, played) for make in (Esdp, Cucb)])
    assert axes.get_xlabel() == "slots t"
    assert "reward" in axes.get_ylabel()
    legend = axes.get_legend()
    assert legend is not None
    labels = {text.get_text() for text in legend.get_texts()}
    assert {"esdp", "cucb", "CUCB, bound in expectation", "95 % confidence"} <= labels
