"""Stages that take turns: by their work alone, so that what a longer run does begins with a shorter one's."""

import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.admission.generate import generate
from clairvoyant.oracles.admission.incumbent import Best
from clairvoyant.oracles.base import Budget
from clairvoyant.oracles.turns import Stage, Turn, in_turns

from .admission_stages import begun

WORK = st.lists(st.floats(0.01, 5.0), max_size=12)


class Steps(Budget):
    """Time for so many looks at whether it is over."""

    looks = 0

    @property
    def over(self) -> bool:
        self.looks += 1
        return self.looks > self.time_limit


def log_of(limit: float | None, works: Iterable[list[float]], **turns: Any) -> list[str]:
    """The steps of stages a, b, c... and how they end."""
    log: list[str] = []

    def stage(name: str, each: list[float]) -> Stage:
        try:
            for work in each:
                log.append(name)
                yield work
        finally:
            log.append(f"{name} closed")

    best = begun(generate("tiny", 0), Steps(0.0, limit))
    lists = {key: value if isinstance(value, list) else [value] * 9 for key, value in turns.items()}
    made = [
        Turn(stage("abc"[i], each), **{"share": 1.0, **{key: value[i] for key, value in lists.items()}})
        for i, each in enumerate(works)
    ]
    in_turns(best, made)
    return log


@given(st.lists(WORK, min_size=1, max_size=3), st.integers(0, 20), st.integers(0, 20), st.floats(0.1, 9.0))
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_longer_run_begins_with_a_shorter_one(
    works: list[list[float]], short: int, more: int, most: float
) -> None:
    given_ = {"share": [1.0, 2.0, 3.0], "ahead": [0.0, 1.0, 0.0], "most": [math.inf, most, math.inf]}
    first, second = (
        [name for name in log_of(limit, works, **given_) if "closed" not in name]
        for limit in (short, short + more)
    )
    assert second[: len(first)] == first


@given(WORK, WORK, st.floats(0.5, 4.0))
@hypothesis_settings(max_examples=60, deadline=None)
def test_shares_are_kept_but_for_a_step(one: list[float], other: list[float], share: float) -> None:
    log = log_of(None, [one, other], share=[1.0, share])
    spent, at = [0.0, 0.0], [0, 0]
    for name in log:
        if name in ("a", "b"):
            i = "ab".index(name)
            late = [spent[0], spent[1] / share]
            if at[1 - i] < len([one, other][1 - i]):  # the other has steps left
                assert late[i] <= late[1 - i]
            spent[i] += [one, other][i][at[i]]
            at[i] += 1
    assert sorted(log) == sorted(["a"] * len(one) + ["b"] * len(other) + ["a closed", "b closed"])


def test_who_is_ahead_begins_and_who_has_done_the_most_is_closed() -> None:
    log = log_of(None, [[1.0] * 4, [1.0] * 4], ahead=[0.0, 2.5], most=[math.inf, 3.0])
    assert log == ["b", "b", "b", "b closed", "a", "a", "a", "a", "a closed"]


def test_infinite_work_ends_all_and_closes_all() -> None:
    log = log_of(None, [[1.0, math.inf], [1.0] * 9])
    assert log == ["a", "b", "a", "b closed", "a closed"]


def test_all_are_closed_whatever_one_raises() -> None:
    closed = []

    def bad() -> Stage:
        try:
            yield 1.0
            yield 1.0
        finally:
            raise RuntimeError("at the end")

    def good(name: str) -> Stage:
        try:
            yield 1.0
            raise ValueError("on the way")
        finally:
            closed.append(name)

    best: Best = begun(generate("tiny", 0), Budget(0.0, None))
    with pytest.raises(RuntimeError, match="at the end"):
        in_turns(best, [Turn(good("first"), 1.0), Turn(bad(), 1.0), Turn(good("last"), 1.0)])
    assert sorted(closed) == ["first", "last"]


def test_what_is_told_never_gets_worse_and_the_fraction_never_falls() -> None:
    told: list[tuple[float, str]] = []
    best = Best(
        generate("tiny", 0),
        Budget(0.0, None),
        lambda done, text: told.append((done, text)),
        (begun(generate("tiny", 0), Budget(0.0, None)).decision, "start"),
        (100.0, "proof", None),
        terms=3,
    )
    best.tell("a", value=10.0, bound=80.0)
    best.tell("b", bound=90.0)
    best.tell("c", value=5.0)
    assert [text for _, text in told] == [f"incumbent 10, dual bound 80; {name}" for name in "abc"]
    assert [done for done, _ in told] == [0.125] * 3
