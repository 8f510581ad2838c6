"""Decisions with extreme numbers: one error that says what is broken, and no warning of NumPy before it."""

import copy
import math
import warnings
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant import api
from clairvoyant.models.allocation.gang import printed_violations
from clairvoyant.models.base import DecisionError, InputError, floats
from clairvoyant.problems import OURS

POLICIES = {
    "allocation": "spreading",
    "allocation-gang": "perturbed-leader",
    "selection": "lcf",
    "selection-gang": "esdp-gang",
    "admission": "fifo",
    "placement": "fifo-firstfit",
}
EXTREME = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 1e30, -1.0, 0.5, 2**53, 2**63, -(10**400)]


SCHEDULES = {"selection", "selection-gang"}
"""Problems whose instances check the decisions of all slots at once."""


@cache
def played(problem: str) -> tuple[Any, tuple[Any, ...]]:
    """Return an instance and feasible decisions on it."""
    instance = api.generate(problem, "tiny", 1)
    run = cv.play(POLICIES[problem], instance, keep_decisions=True)
    return instance, run.decisions or ()


def listed(decision: Any) -> Any:
    """Return a decision as lists, which can be changed."""
    if isinstance(decision, np.ndarray):
        return listed(decision.astype(float).tolist())
    return [listed(one) for one in decision] if isinstance(decision, (list, tuple)) else decision


def places(node: Any, at: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Return where numbers stand in nested lists."""
    if isinstance(node, list):
        return [place for i, one in enumerate(node) for place in places(one, (*at, i))]
    return [at]


def changed(decision: Any, new: dict[tuple[int, ...], float]) -> Any:
    """Return a decision as lists with other numbers in these places."""
    result = copy.deepcopy(decision)
    for place, number in new.items():
        node = result
        for key in place[:-1]:
            node = node[key]
        node[place[-1]] = number
    return result


@pytest.mark.parametrize("problem", [one.name for one in OURS])
@given(data=st.data())
@settings(max_examples=60)
def test_an_extreme_decision_is_paid_or_refused_without_a_warning(problem: str, data: st.DataObject) -> None:
    instance, decisions = played(problem)
    event = data.draw(st.sampled_from([e for e, one in enumerate(decisions) if places(listed(one))]))
    plain = listed(decisions[event])
    new = st.dictionaries(st.sampled_from(places(plain)), st.sampled_from(EXTREME), min_size=1, max_size=4)
    decision, enforce = changed(plain, data.draw(new)), data.draw(st.booleans())
    episode = instance.episode(frozenset())
    whole = [*decisions[:event], decision, *decisions[event + 1 :]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for now, _ in enumerate(episode):
            if now == event:
                break
            episode.apply(decisions[now])
        with suppress(DecisionError, InputError):
            found = episode.apply(decision, enforce=enforce)
            assert found.feasible or not enforce
            assert math.isfinite(found.reward) or not found.feasible
        with suppress(InputError):
            assert isinstance(instance.violations(whole if problem in SCHEDULES else decision), list)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_an_infinite_entry_of_a_gang_decision_is_one_error(bad: float) -> None:
    instance, decisions = played("allocation-gang")
    broken = decisions[0].copy()
    broken[0, 0] = bad
    episode = instance.episode(frozenset())
    next(iter(episode))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DecisionError, match=r"^slot 0: infeasible decision: \w+\[\d\]"):
            episode.apply(broken)
        assert printed_violations(instance.setting, broken)


def test_numbers_of_any_type_are_numbers() -> None:
    for one in (np.True_, np.float16(1), np.int8(1), Decimal(1), Fraction(1), np.array(1.0), True, 1):
        assert (
            floats([one, 1.0]).tolist() == floats(np.array([one, 1.0], dtype=object)).tolist() == [1.0, 1.0]
        )
    with pytest.raises(InputError, match=r"^decision\[1\]: None is not a number$"):
        floats([np.True_, None])


@pytest.mark.parametrize("problem", ["allocation", "allocation-gang", "selection", "selection-gang"])
@pytest.mark.parametrize("odd", [10**400, 1j], ids=["too long", "complex"])
def test_what_is_no_float_is_refused(problem: str, odd: complex) -> None:
    instance, decisions = played(problem)
    episode = instance.episode(frozenset())
    next(iter(episode))
    odd_array = np.full(decisions[0].shape, odd)
    for decision in (odd_array, odd_array.tolist()):
        with pytest.raises(InputError, match=r"^decision: not an array of numbers: "):
            episode.apply(decision)
