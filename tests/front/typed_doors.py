"""What type checkers see through the front door; `make lint` checks it, nothing runs it.

A comment that an error is expected is itself an error where there is none.
"""

from collections.abc import Callable
from typing import assert_type

import numpy as np

import clairvoyant as cv
from clairvoyant.models.admission.schedule import Schedule as AdmissionSchedule
from clairvoyant.models.placement import Setting as PlacementSetting
from clairvoyant.models.selection import Feedback, Observation, Setting
from clairvoyant.testing import parametrize_with_checks


def instances_are_those_of_the_problem() -> None:
    assert_type(cv.generate("allocation", slots=3), cv.AllocationInstance)
    assert_type(cv.generate("selection-gang", "tiny", 1, tasks=(1, 2)), cv.SelectionGangInstance)
    assert_type(cv.from_trace("admission", "folder", jobs=3), cv.AdmissionInstance)
    assert_type(cv.load("file", "placement"), cv.PlacementInstance)
    assert_type(cv.load("file").digest(), str)
    assert_type(cv.load("file", problem=None).digest(), str)
    assert_type(cv.generate("placement").setting, PlacementSetting)


def what_is_misspelt_is_an_error() -> None:
    cv.generate("alocation")  # type: ignore[call-overload]
    cv.generate("allocation", sluts=3)  # type: ignore[call-overload]
    cv.generate("allocation", slots="three")  # type: ignore[call-overload]
    cv.generate("placement", slots=3)  # type: ignore[call-overload]
    cv.from_trace("selection", "folder", jobs=3)  # type: ignore[call-overload]
    cv.load("file", "chess")  # type: ignore[call-overload]
    cv.generate("allocation").setting.capacities  # type: ignore[attr-defined]  # noqa: B018
    cv.solve(cv.generate("allocation"), gaps=1e-3)  # type: ignore[call-overload]
    cv.solve(cv.generate("allocation"), "gang")  # type: ignore[call-overload]
    cv.solve(cv.generate("allocation-gang"), oracle="nope")  # type: ignore[call-overload]
    cv.solve(cv.generate("selection"), "selection-gang/gang")  # type: ignore[call-overload]
    cv.solve(cv.generate("selection-gang"), oracle="nope")  # type: ignore[call-overload]
    cv.solve(cv.generate("admission"), "clairvoyant")  # type: ignore[call-overload]
    cv.solve(cv.generate("placement"), "stationary")  # type: ignore[call-overload]
    cv.solve(cv.generate("placement"), method="nope")  # type: ignore[call-overload]
    cv.solve(cv.generate("allocation"), "dynamic", method="cvxpy")  # type: ignore[call-overload]
    cv.play("drf", cv.generate("allocation"), seeds=3)  # type: ignore[call-arg]


def optima_hold_the_decisions_of_the_problem(instance: cv.Instance) -> None:
    assert_type(cv.solve(cv.generate("selection"), time_limit=3.0), cv.Optimum[np.ndarray])
    assert_type(cv.solve(cv.generate("allocation"), "dynamic").decision, np.ndarray)
    assert_type(cv.solve(cv.generate("admission")).decision, AdmissionSchedule)
    assert_type(cv.solve(cv.generate("allocation"), "allocation/dynamic").decision, np.ndarray)
    assert_type(cv.solve(cv.generate("placement"), method="search").gap, float | None)
    assert_type(cv.solve(instance, time_limit=3.0).value, float)
    assert_type(cv.solve(instance, "whatever", method="there is").value, float)


class Theirs(cv.Instance):
    """Instances of a problem that is not ours, whose oracles have any name."""

    problem = "theirs"


def instances_of_other_problems_have_other_oracles(theirs: Theirs) -> None:
    assert_type(cv.solve(theirs).value, float)
    assert_type(cv.solve(theirs, "best", method="any").value, float)
    cv.solve("instance.json")  # type: ignore[call-overload]


def plays_are_typed(instance: cv.Instance) -> None:
    run, optimum = cv.play("drf", instance), cv.solve(instance)
    assert_type(run.total, float)
    assert_type(cv.regret(run, optimum), cv.Interval)
    assert_type(cv.ratio(run, optimum).high, float)
    assert_type((run.summary(), optimum.summary(), instance.summary()), tuple[str, str, str])
    cv.regret(run, optimum.value)  # type: ignore[arg-type]
    cv.ratio("drf", optimum)  # type: ignore[arg-type]


class Nothing:
    """A policy for selection that selects nothing, with the types that its room exports."""

    name = "nothing"
    traits = cv.Traits(problem="selection")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        self.channels = setting.channels

    def decide(self, observation: Observation) -> np.ndarray:
        return np.zeros(self.channels, dtype=bool)

    def learn(self, feedback: Feedback) -> None:
        assert_type(feedback.channels, np.ndarray)


def ones_own_policy_is_a_policy() -> None:
    policy: cv.Policy = Nothing()
    cv.play(policy, cv.generate("selection"))
    cv.play(Nothing(), cv.generate("selection"))


@parametrize_with_checks(Nothing, seeds=(0,))
def checks_are_typed(check: Callable[[], None]) -> None:
    check()
