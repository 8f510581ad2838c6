"""Searches that anneal cool by rounds: a longer run begins with all of a shorter one, and is never worse."""

import ast
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.analysis.allocation.worst_case import worst_case
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.allocation.generate import generate
from clairvoyant.online.allocation.ogasched import Ogasched
from clairvoyant.oracles.admission import search as admission_search
from clairvoyant.oracles.admission.bound import volume
from clairvoyant.oracles.admission.search import search
from clairvoyant.oracles.annealing import cooling
from clairvoyant.oracles.base import Budget
from clairvoyant.testing.admission import instances

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("first", [1, 3, 10])
def test_cooling_falls_again_and_again_for_twice_as_long(first: int) -> None:
    heats = np.array(list(itertools.islice(cooling(first, 1e-3, 1e-6), 15 * first)))
    begin = 0
    for length in (first, 2 * first, 4 * first, 8 * first):
        leg = heats[begin : begin + length]
        assert leg == pytest.approx(1e-3 * 1e-3 ** (np.arange(length) / length))
        begin += length


class Asked(Budget):
    """A budget that is spent when it has been asked so often; its clock says nothing of use."""

    def __init__(self, most: float) -> None:
        super().__init__(0.0, 1.0)
        self.most, self.asked = most, 0

    @property
    def over(self) -> bool:
        self.asked += 1
        return self.asked > self.most

    @property
    def seconds(self) -> float:
        return math.sin(self.asked)


@given(instances(max_horizon=5, max_machines=3, max_jobs=8, max_chunks=5), st.integers(0, 5))
@hypothesis_settings(max_examples=15, deadline=None)
def test_more_rounds_or_time_are_never_worse_in_admission(instance: AdmissionInstance, seed: int) -> None:
    prices = volume(instance, Budget(0.0, None), rounds=20)

    def worth(budget: Budget, rounds: int) -> float:
        found = search(instance, prices, budget, seed, iterations=rounds)
        return float(instance.rewards(found).sum())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission_search, "FIRST", 3)
        patch.setattr(admission_search, "BATCH", 1)
        numbers = (0, 1, 2, 3, 5, 9, 20, 60)
        in_rounds = [worth(Budget(0.0, None), rounds) for rounds in numbers]
        in_time = [worth(Asked(rounds), 10**9) for rounds in numbers]
    assert in_rounds == sorted(in_rounds)
    assert in_time == in_rounds


@pytest.mark.parametrize("seed", range(3))
def test_more_evaluations_never_find_less_regret(seed: int) -> None:
    instance = generate("tiny", seed, ports=2, slots=3)
    found = [worst_case(Ogasched, instance, seed=seed, evaluations=most) for most in (1, 8, 12, 40, 64)]
    regrets = [worst.regret for worst in found]
    assert regrets == sorted(regrets)
    assert found[-1].exhaustive
    assert not found[-2].exhaustive


def clocks(source: str) -> list[str]:
    """Return the modules with clocks that some source imports."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return [name for name in names if name.partition(".")[0] in ("time", "datetime")]


def test_no_policy_looks_at_a_clock() -> None:
    """Only what plays or trains them does, to tell how long that took."""
    seen = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "online").rglob("*.py")
        if clocks(path.read_text(encoding="utf-8"))
    }
    assert seen <= {"online/play.py", "online/placement/learned/training.py"}
    assert clocks("def late():\n    from time import perf_counter") == ["time"]
