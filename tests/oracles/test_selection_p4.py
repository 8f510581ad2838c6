"""All P4(s): against enumeration and HiGHS, the printed counterexamples, and what (21) selects."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clairvoyant.models.base import InputError
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.program import budget_program
from clairvoyant.models.selection.setting import Setting
from clairvoyant.oracles.base import OracleError
from clairvoyant.oracles.selection import kernels as p4_kernels
from clairvoyant.oracles.selection import p4
from clairvoyant.oracles.selection.p4 import UNATTAINABLE, p4_optima, select
from clairvoyant.testing.selection import instances

STATISTIC = st.integers(0, 6) | st.sampled_from([0, 40])


def one_port(demand: Any, capacity: Any) -> Setting:
    rows = np.reshape(demand, (len(demand), len(capacity)))
    return SelectionInstance(
        edges=[(0, r) for r in range(len(rows))],
        demand=rows,
        capacity=capacity,
        mean=np.zeros(len(rows)),
        arrivals=[[1]],
    ).setting


def enumerated(
    setting: Setting, upsilon: np.ndarray, sigma2: np.ndarray, arrivals: np.ndarray, s_max: int
) -> list[int]:
    """V(s) for s = 0..s_max by looking at every set."""
    best = [UNATTAINABLE] * (s_max + 1)
    for bits in product([0, 1], repeat=setting.channels):
        x = np.array(bits)
        if not setting.violations(x, arrivals):
            for s in range(min(s_max, int(upsilon @ x)) + 1):
                best[s] = max(best[s], int(sigma2 @ x))
    return best


@given(st.data())
@hypothesis_settings(max_examples=50, deadline=None)
def test_every_p4_agrees_with_enumeration(data: st.DataObject) -> None:
    instance = data.draw(instances(min_slots=1, max_slots=1, max_channels=7))
    setting, arrivals = instance.setting, instance.arrivals[0]
    upsilon, sigma2 = (data.draw(arrays(np.int64, setting.channels, elements=STATISTIC)) for _ in range(2))
    s_max = data.draw(st.none() | st.integers(0, 50))
    found = p4_optima(setting, upsilon, sigma2, arrivals, s_max)
    assert found.values.tolist() == enumerated(setting, upsilon, sigma2, arrivals, found.s_max)
    for s, value in enumerate(found.values.tolist()):
        corner = found.corner(s)
        if corner is None:
            assert value == UNATTAINABLE
        else:
            x = found.x[corner]
            assert not setting.violations(x, arrivals)
            assert (int(sigma2 @ x), upsilon @ x >= s) == (value, True)
    if s_max is None:
        assert found.corner(found.s_max) is not None


def test_every_p4_agrees_with_highs() -> None:
    rng = np.random.default_rng(1)
    setting = one_port(rng.integers(1, 3, (24, 3)), [9, 9, 9])
    upsilon, sigma2 = rng.integers(1, 30, 24), rng.integers(0, 500, 24)
    found = p4_optima(setting, upsilon, sigma2)
    for s in range(0, found.s_max + 1, 12):
        solved = budget_program(setting, upsilon, sigma2, s).solve()
        assert solved.value == pytest.approx(found.values[s], abs=1e-6)
    assert budget_program(setting, upsilon, sigma2, found.s_max + 1).solve().status == "provenInfeasible"


@given(st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_selection_is_the_best_index_of_the_rounded_statistics(data: st.DataObject) -> None:
    setting = data.draw(instances(max_channels=8)).setting
    upsilon, sigma2 = (data.draw(arrays(np.int64, setting.channels, elements=STATISTIC)) for _ in range(2))
    chosen = select(p4_optima(setting, upsilon, sigma2))
    best = setting.knapsack.best(upsilon.astype(float), sigma2.astype(float))
    assert chosen.score == pytest.approx(best.value, rel=1e-12)
    assert chosen.score == pytest.approx(upsilon @ chosen.x + math.sqrt(sigma2 @ chosen.x), rel=1e-12)


def test_a_channel_that_is_skipped_keeps_what_came_before() -> None:
    # Item 1: Algorithm 2 as printed forgets x(i + 1) here and returns the empty set.
    found = p4_optima(one_port([1, 1], [1]), [1, 1], [2, 3])
    assert found.values.tolist() == [3, 3]
    assert found.x[found.corner(0) or 0].tolist() == [False, True]


def test_unattainable_levels_are_dropped() -> None:
    # Item 2: s = 8 with x = 0 would score 8, above the true 2 + sqrt(4).
    found = p4_optima(one_port([1], [1]), [2], [4], s_max=8)
    assert found.values.tolist() == [4, 4, 4] + 6 * [UNATTAINABLE]
    chosen = select(found)
    assert (chosen.s, chosen.score, chosen.x.tolist()) == (2, 4.0, [True])


def test_levels_that_end_too_early_select_another_set() -> None:
    # Item 3: with S = {0, 1, 2} the set worth 5 + sqrt(1) counts as 2 + sqrt(1) only.
    setting = one_port([1, 1], [1])
    whole, cut = (select(p4_optima(setting, [5, 0], [1, 16], s_max=end)) for end in (None, 2))
    assert (whole.s, whole.score, whole.x.tolist()) == (5, 6.0, [True, False])
    assert (cut.s, cut.score, cut.x.tolist()) == (0, 4.0, [False, True])


def test_more_than_a_word_of_channels() -> None:
    rng = np.random.default_rng(3)
    setting = one_port(np.ones((150, 1)), [4])
    upsilon, sigma2 = rng.integers(0, 50, 150), rng.integers(0, 50, 150)
    found = p4_optima(setting, upsilon, sigma2)
    assert found.value[0] == np.sort(sigma2)[-4:].sum()
    assert found.reach[-1] == np.sort(upsilon)[-4:].sum()
    assert (found.x.sum(axis=1) <= 4).all()
    assert found.x[:, 128:].any()
    loose = p4_optima(one_port(np.ones((150, 1)), [150]), upsilon, sigma2)
    assert loose.x.tolist() == [[True] * 150]


def test_channels_that_need_nothing_are_always_taken() -> None:
    found = p4_optima(one_port([0, 1, 1], [1]), [3, 1, 0], [5, 0, 2])
    assert found.x[:, 0].all()
    assert found.values.tolist() == [7, 7, 7, 7, 5]


@pytest.mark.parametrize(("demand", "capacity"), [(np.zeros((0, 1)), [3]), ([1, 2], [0])])
def test_where_nothing_fits_only_zero_is_attainable(demand: Any, capacity: list[int]) -> None:
    setting = one_port(demand, capacity)
    ones = np.ones(setting.channels)
    found = p4_optima(setting, ones, ones, s_max=2)
    assert found.values.tolist() == [0, UNATTAINABLE, UNATTAINABLE]
    assert (select(found).s, select(found).score) == (0, 0.0)


@given(st.permutations(range(6)))
@hypothesis_settings(max_examples=20, deadline=None)
def test_the_order_of_the_channels_does_not_matter(order: list[int]) -> None:
    demand = np.array([[1, 2], [2, 1], [3, 3], [1, 1], [2, 2], [1, 3]])
    upsilon, sigma2 = np.array([3, 1, 4, 1, 5, 9]), np.array([2, 6, 5, 3, 5, 8])
    plain = p4_optima(one_port(demand, [5, 6]), upsilon, sigma2)
    other = p4_optima(one_port(demand[order], [5, 6]), upsilon[order], sigma2[order])
    assert other.values.tolist() == plain.values.tolist()


def test_large_capacities_need_no_table() -> None:
    # The dense table would have 10^18 states; 2^8 sets use few of them.
    rng = np.random.default_rng(4)
    demand = rng.integers(300_000, 600_000, (8, 3))
    setting = one_port(demand, [1_000_000] * 3)
    upsilon, sigma2 = rng.integers(0, 9, 8), rng.integers(0, 9, 8)
    found = p4_optima(setting, upsilon, sigma2)
    assert found.values.tolist() == enumerated(setting, upsilon, sigma2, np.ones(1), found.s_max)


def test_what_does_not_fit_in_memory_says_how_large_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    high = 2**31
    setting = one_port(np.full((3, 3), high - 1), [high] * 3)
    with pytest.raises(
        InputError, match=r"9\.90e\+27 capacity vectors are more than can be numbered; divide"
    ):
        p4_optima(setting, [1, 1, 1], [1, 1, 1])
    monkeypatch.setattr(p4, "MOST_BYTES", 2**10)
    setting = one_port(2 ** np.arange(12), [2**11])
    message = r"table of 2049 capacity vectors would take .* after 4 of 12 channels; solve budget_program"
    with pytest.raises(InputError, match=message):
        p4_optima(setting, np.arange(12), np.ones(12))


def test_bad_input_is_refused_by_name() -> None:
    setting = one_port([1, 1], [1])
    with pytest.raises(InputError, match=r"upsilon\[1\]: 0.5 is not a whole number"):
        p4_optima(setting, [1, 0.5], [1, 1])
    with pytest.raises(InputError, match=r"sigma2\[0\]: -1 is not a whole number of at least 0"):
        p4_optima(setting, [1, 1], [-1, 1])
    with pytest.raises(InputError, match=r"sigma2: shape 1 does not fit, expected 2"):
        p4_optima(setting, [1, 1], [1])
    with pytest.raises(InputError, match=r"arrivals\[0\]: 2 is not a whole number"):
        p4_optima(setting, [1, 1], [1, 1], [2])
    with pytest.raises(InputError, match=r"s_max: -3 is not a whole number"):
        p4_optima(setting, [1, 1], [1, 1], s_max=-3)
    found = p4_optima(setting, [1, 1], [1, 1], s_max=2**40)
    assert found.corner(2**30) is None
    with pytest.raises(InputError, match=r"s: \d+ is not a whole number from 0 to 1099511627776"):
        found.corner(2**41)
    large = p4_optima(setting, [2**52, 2**52], [1, 1], s_max=2**62)
    assert (large.corner(2**52), large.corner(2**52 + 1), large.corner(large.s_max)) == (0, None, None)
    with pytest.raises(InputError, match=r"s_max: 1\.0 is not a whole number"):
        p4_optima(setting, [1, 1], [1, 1], s_max=1.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"s_max: \d+ is too many values to write out"):
        assert found.values is None


def test_a_wrong_staircase_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
        return np.array([1]), np.array([9]), np.array([[1]], dtype=np.uint64), 1, 2

    monkeypatch.setattr(p4_kernels, "sweep", wrong)
    with pytest.raises(OracleError, match=r"the set of s = 1 fails the check: \[True, False\]"):
        p4_optima(one_port([1, 1], [1]), [1, 1], [1, 1])
