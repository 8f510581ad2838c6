"""What is seen of a slot before a decision: its arrivals by those alone who declare to see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clairvoyant import api

PROBLEMS = ("allocation", "allocation-gang", "selection", "selection-gang")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_arrivals_are_shown_to_those_alone_who_declare_to_see_them(problem: str) -> None:
    instance: Any = api.generate(problem, "tiny", 1)
    hidden = [observation.arrivals for observation in instance.episode(frozenset())]
    shown = [observation.arrivals for observation in instance.episode(frozenset({"arrivals"}))]
    assert hidden == [None] * instance.setting.slots
    assert np.array_equal(np.array(shown), instance.arrivals)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_what_is_shown_is_a_copy_that_cannot_be_written(problem: str) -> None:
    instance: Any = api.generate(problem, "tiny", 1)
    for observation in instance.episode(frozenset({"arrivals"})):
        assert not observation.arrivals.flags.writeable
        assert not np.shares_memory(observation.arrivals, instance.arrivals)
