"""Regret, Theorem 1 and its tightened form, regret over time, and the worst arrivals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from clairvoyant.analysis.allocation import regret
from clairvoyant.analysis.allocation.claims import theory
from clairvoyant.analysis.allocation.claims.projection import row
from clairvoyant.analysis.allocation.worst_case import worst_case
from clairvoyant.models.allocation import geometry
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.base import InputError
from clairvoyant.online.allocation import Ogasched
from clairvoyant.online.play import play
from clairvoyant.oracles.allocation.optimum import dynamic, stationary
from clairvoyant.testing.allocation import instances


def certified_regret(instance: AllocationInstance) -> float:
    bound = stationary(instance).bound
    assert bound is not None
    return bound - play(Ogasched(), instance).total


def test_theorem_1_is_the_printed_expression() -> None:
    instance = theory.six_slot_example(1000)
    # D^2 = 2 a c = 2 and G^2 = 101 (0 + 1 * 1)
    assert regret.theorem_1(instance) == pytest.approx(np.sqrt(2 * 1000) * np.sqrt(101))
    # D' = D and G' = G: D^2 / (2 eta) + T eta G^2 / 2 is D G sqrt(T) for the constant step.
    assert regret.theorem_1_tightened(instance) == pytest.approx(regret.theorem_1(instance))
    assert regret.theorem_1(instance.with_arrivals(np.zeros((0, 101)))) == 0.0


def test_the_printed_step_breaks_the_bound_and_the_constant_step_keeps_it() -> None:
    instance = theory.six_slot_example(1000)
    best = stationary(instance).value
    assert best - play(Ogasched(step="per-slot"), instance).total == pytest.approx(582, abs=1)
    assert (
        best - play(Ogasched(), instance).total < regret.theorem_1(instance) == pytest.approx(449.4, abs=0.1)
    )


@given(instance=instances())
@hypothesis_settings(max_examples=20, deadline=None)
def test_claims_judge_the_certified_regret(instance: AllocationInstance) -> None:
    assert theory.certified(instance) == (certified_regret(instance), stationary(instance).bound)


@given(instance=instances())
@hypothesis_settings(max_examples=40, deadline=None)
def test_regret_keeps_both_bounds(instance: AllocationInstance) -> None:
    found = certified_regret(instance)
    scale = 1e-6 * max(1.0, stationary(instance).value)
    assert found <= regret.theorem_1(instance) + scale
    assert found <= regret.theorem_1_tightened(instance) + scale
    copies = instance.copies()
    assert certified_regret(copies) <= regret.theorem_1(copies) + scale


@given(instance=instances())
@hypothesis_settings(max_examples=40, deadline=None)
def test_tightened_sizes_are_smaller_and_still_valid(instance: AllocationInstance) -> None:
    s = instance.setting
    rng = np.random.default_rng(0)
    assert geometry.tight_diameter(s) <= geometry.diameter(s) + 1e-9 * geometry.diameter(s)
    norms = geometry.tight_gradient_norms(s)
    assert (norms <= geometry.gradient_norms(s) * (1 + 1e-9) + 1e-12).all()
    movable = (s.edge_demand > 0) & (s.capacity[s.server] > 0)
    for _ in range(5):
        y, z = (s.project(rng.normal(0, 3, s.shape)) for _ in range(2))
        assert np.linalg.norm(y - z) <= geometry.tight_diameter(s) * (1 + 1e-9) + 1e-9
        g = s.supergradient(y, np.ones(s.ports)) * movable
        squares = np.bincount(s.port, weights=(g**2).sum(axis=1), minlength=s.ports)
        assert (squares <= norms * (1 + 1e-9) + 1e-9).all()


def test_copies_count_in_the_bound_only_once_seen() -> None:
    base = row([1.0, 1.0], 1.0, [[1, 0], [3, 0], [0, 0]])
    assert regret.most_jobs(base).tolist() == [[1, 1], [3, 1], [3, 1]]
    copies = base.copies()
    assert regret.most_jobs(copies).tolist() == [[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]


def test_regret_over_time_ends_at_the_regret_of_the_run() -> None:
    played = [generate("tiny", seed, slots=30) for seed in range(3)]
    curves = regret.regret_curves(Ogasched, played, dynamic=True)
    assert curves.slots[0] == 1
    assert curves.slots[-1] == 30
    assert curves.dynamic is not None
    for n, instance in enumerate(played):
        total = play(Ogasched(), instance).total
        best, ceiling = stationary(instance), dynamic(instance)
        assert best.bound is not None
        assert ceiling.bound is not None
        assert curves.stationary[n, -1] == pytest.approx(best.bound - total, rel=1e-6)
        assert curves.dynamic[n, -1] == pytest.approx(ceiling.bound - total, rel=1e-6)
        assert (curves.dynamic[n] >= curves.stationary[n] - 1e-6 * ceiling.bound).all()


def test_regret_over_time_refuses_what_it_cannot_compare() -> None:
    for played in ([], [generate("tiny", 0, slots=0)], [generate("tiny", 0, slots=n) for n in (2, 3)]):
        with pytest.raises(InputError, match="lengths"):
            regret.regret_curves(Ogasched, played)


def test_plot_regret_labels_its_axes_and_every_curve() -> None:
    played = [generate("tiny", seed, slots=20) for seed in range(3)]
    axes = regret.plot_regret([regret.regret_curves(Ogasched, played, dynamic=True)])
    assert axes.get_xlabel() == "slots t"
    assert "reward" in axes.get_ylabel()
    legend = axes.get_legend()
    assert legend is not None
    labels = {text.get_text() for text in legend.get_texts()}
    assert {"ogasched, stationary regret", "ogasched, dynamic regret", "Theorem 1"} <= labels


def test_only_the_band_of_a_regret_that_cannot_be_negative_ends_at_0() -> None:
    wide, two = np.array([[0.0, 1.0], [100.0, 90.0]]), np.ones(2)
    found = regret.RegretCurves("ogasched", np.array([1, 2]), wide, wide, two, two)
    bands = regret.plot_regret([found]).collections[::2]
    stationary, dynamic = (float(np.array(one.get_paths()[0].vertices)[:, 1].min()) for one in bands)
    assert stationary < 0.0
    assert dynamic == 0.0


def test_worst_case_is_the_maximum_over_all_sequences() -> None:
    instance = generate("tiny", 1, ports=2, slots=3)
    found = worst_case(Ogasched, instance, evaluations=64)
    regrets = []
    for bits in itertools.product((0, 1), repeat=6):
        played = instance.with_arrivals(np.array(bits).reshape(3, 2))
        regrets.append(stationary(played, gap=1e-9).value - play(Ogasched(), played).total)
    assert found.exhaustive
    assert found.evaluations == 64
    assert found.regret == pytest.approx(max(regrets))
    assert found.regret <= found.bound == regret.theorem_1(found.instance)


def test_worst_case_search_is_reproducible_and_never_above_the_enumeration() -> None:
    instance = generate("tiny", 1, ports=2, slots=3)
    exact = worst_case(Ogasched, instance, evaluations=64).regret
    seen: list[float] = []
    first = worst_case(Ogasched, instance, seed=5, evaluations=40, progress=lambda f, _text: seen.append(f))
    again = worst_case(Ogasched, instance, seed=5, evaluations=40)
    assert not first.exhaustive
    assert first.regret <= exact + 1e-9
    assert (first.regret, first.instance) == (again.regret, again.instance)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    own = stationary(instance).value - play(Ogasched(), instance).total
    assert first.regret >= own - 1e-6


def test_worst_case_without_slots_and_without_evaluations() -> None:
    none = worst_case(Ogasched, generate("tiny", 0, slots=0), evaluations=1)
    assert none.exhaustive
    assert none.regret == 0.0
    with pytest.raises(InputError, match="evaluations: 0"):
        worst_case(Ogasched, generate("tiny", 0), evaluations=0)
