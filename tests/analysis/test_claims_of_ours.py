"""Claims that say where the papers' algorithms stand against the best policies that are here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clairvoyant.analysis.admission.claims import figures
from clairvoyant.analysis.admission.claims import ours as admission
from clairvoyant.analysis.allocation.claims import ours as allocation
from clairvoyant.analysis.allocation.claims import readings
from clairvoyant.analysis.claim import Claim, Context, Finding, Verdict, Why
from clairvoyant.analysis.experiments import SEEDS_APART, apart, seeds
from clairvoyant.analysis.placement import experiments as runs
from clairvoyant.analysis.placement.claims import ours as placement
from clairvoyant.analysis.selection.claims import ours as selection
from clairvoyant.analysis.study import Statement, tally
from clairvoyant.problems import find

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="runs take minutes where kernels run as plain Python"
)

PARTS = {"allocation": allocation, "selection": selection, "admission": admission, "placement": placement}
QUICK = Context("quick")
PAPERS = {"OGASched (from nothing)", "OGASched (constant)", "ESDP (g = ln t)", "OASiS", "RRH"}
PAPERS |= {who.label for who in runs.HEURISTICS}


def claim_of(problem: str) -> Claim:
    claims: list[Claim] = find(problem).part("claims")
    (found,) = [one for one in claims if one.id == f"{problem}/beyond-the-paper"]
    return found


@cache
def finding(problem: str) -> Finding:
    return claim_of(problem).find(QUICK)


@pytest.mark.parametrize("problem", PARTS)
class TestClaims:
    def test_give_the_expected_verdict_and_can_be_shown(self, problem: str) -> None:
        told: list[float] = []
        found = claim_of(problem).find(replace(QUICK, progress=told.append))
        assert claim_of(problem).ours
        assert claim_of(problem).as_expected(found)
        assert (found.faults, told[-1]) == ([], 1.0)
        assert found == finding(problem)

    def test_tables_are_complete(self, problem: str) -> None:
        for table in finding(problem).tables:
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
        texts = [finding(problem).headline, *map(str, finding(problem).tables)]
        assert not [text for text in texts if re.search(r"\bnan\b|\binf\b", text)]
        json.dumps(finding(problem).numbers)

    def test_another_seed_gives_another_finding(self, problem: str) -> None:
        assert claim_of(problem).find(Context("quick", 1)).tables != finding(problem).tables

    @pytest.mark.parametrize(
        ("best", "verdict"),
        [("house", Verdict.HOLDS), ("paper", Verdict.NOT_REPRODUCED), ("none", Verdict.UNDETERMINED)],
    )
    def test_whoever_is_planted_as_better_is_found(
        self, problem: str, best: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        PLANT[problem](monkeypatch, best)
        found = claim_of(problem).find(QUICK)
        assert found.verdict is verdict
        signs = {sign for by_reading in found.signs.values() for sign in by_reading.values()}
        assert signs == {{"house": True, "paper": False, "none": None}[best]}
        if problem == "allocation":
            word = {"house": "sure", "paper": "false", "none": "undecided"}[best]
            assert f"ahead of OGASched from both starts is {word} in all readings" in found.headline
        elif problem == "selection":
            assert ("all of the settings" in found.headline) is (best == "house")
        else:
            total = int(re.findall(r"of (\d+) comparisons", found.headline)[0])
            ahead, behind = total * (best == "house"), total * (best == "paper")
            assert f"ahead in {ahead} of {total} comparisons, surely behind in {behind}" in found.headline
        if best == "none":
            assert found.why is Why.SAMPLES


def earned(best: str, label: str, seed: int) -> float:
    """Return 10 for whoever is best and 5 for the others, and a little that differs by seed and contender."""
    here = label in PAPERS if best == "paper" else label not in PAPERS
    noise = np.random.default_rng([seed, *label.encode()]).normal(0.0, 0.01)
    return float((10.0 if here and best != "none" else 5.0) + noise)


def averages(best: str) -> Callable[..., np.ndarray]:
    def of(who: Any, _setup: Any, sampled: Sequence[int]) -> np.ndarray:
        return np.array([earned(best, who.label, seed) for seed in sampled])

    return of


def optima(_setup: Any, sampled: Sequence[int]) -> np.ndarray:
    return np.full(len(sampled), 11.0)


def plant_allocation(monkeypatch: pytest.MonkeyPatch, best: str) -> None:
    monkeypatch.setattr(readings, "LAB", replace(readings.LAB, averages=averages(best)))


def plant_selection(monkeypatch: pytest.MonkeyPatch, best: str) -> None:
    lab = replace(selection.PER_SLOT, averages=averages(best), optima=optima)
    monkeypatch.setattr(selection, "PER_SLOT", lab)


def plant_admission(monkeypatch: pytest.MonkeyPatch, best: str) -> None:
    monkeypatch.setattr(admission, "LAB", replace(figures.LAB, averages=averages(best)))


def plant_placement(monkeypatch: pytest.MonkeyPatch, best: str) -> None:
    real = runs.outcome(runs.FIFO_FF, runs.Setup(5), 0)

    def outcome(who: runs.Contender, _setup: runs.Setup, seed: int) -> runs.Outcome:
        cost = 100.0 / earned(best, who.label, seed)
        return replace(real, measures={runs.JCT: cost, runs.FEE: 2.0 * cost})

    monkeypatch.setattr(runs, "outcome", outcome)


PLANT = {
    "allocation": plant_allocation,
    "selection": plant_selection,
    "admission": plant_admission,
    "placement": plant_placement,
}


@given(st.integers(0, 50), st.sampled_from(["quick", "default", "full"]))
def test_instances_apart_are_those_of_no_other_check_and_no_other_seed(seed: int, mode: str) -> None:
    context = Context(mode, seed)
    ours, others = apart(context, 3, 30, 30), seeds(context, 3, 30, 700)
    assert len(ours) == len(seeds(context, 3, 30, 30))
    assert not set(ours) & set(others)
    assert set(ours) <= set(range(SEEDS_APART * seed, SEEDS_APART * (seed + 1)))


def test_those_that_play_are_those_that_are_named() -> None:
    made = {who.label: who.make() for who in (allocation.HEDGE, *allocation.STARTS.values())}
    starts = [getattr(made[label], "start_at", None) for label in made]
    assert [one.name for one in made.values()] == ["hedge", "ogasched", "ogasched"]
    assert starts == [None, "zero", "fair"]
    assert {getattr(made[who.label], "step", "") for who in allocation.STARTS.values()} == {"constant"}
    assert [who.make().name for who in selection.KNOWING.values()] == ["escb-v", "gaussian-thompson"]
    keeping, rolling = admission.KEEPING.make(), admission.ROLLING.make()
    assert keeping.name == rolling.name == "rolling-horizon"
    assert [vars(one)["keep"] for one in (rolling, keeping)] == [False, True]
    assert [vars(one)["forecast"] for one in (rolling, keeping)] == [False, True]
    assert placement.PATIENT.make().name == "drf-patient"


def test_the_best_heuristic_has_the_least_geometric_mean() -> None:
    setup, sampled = runs.Setup(30, "small", 2.0), range(3)
    for measure in (runs.JCT, runs.FEE):
        found = placement.best(setup, sampled, measure)
        means = {who: np.prod(runs.samples(who, setup, sampled, measure)) for who in runs.HEURISTICS}
        assert means[found] == min(means.values())


def test_the_tally_counts_every_comparison_once() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0.0, 0.1, (3, 8))
    said = [
        Statement("a", {"x": 5.0 + noise[0], "y": -5.0 + noise[1]}),
        Statement("b", {"x": noise[2], "y": 5.0 + noise[0]}),
    ]
    assert tally(said, ("x", "y")) == "surely ahead in 2 of 4 comparisons, surely behind in 1"
