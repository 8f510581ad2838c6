"""What the checks need to know about a problem: the part ``kit`` of its record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any, TypeVar

import numpy as np
from hypothesis.strategies import SearchStrategy

from ..models.base import InputError, Instance
from ..models.copying import copied

Made = TypeVar("Made")


def _one(_: Any) -> int:
    return 1


def _none() -> Mapping[str, Instance]:
    return {}


def afresh(make: Callable[[], Made]) -> Callable[[], Made]:
    """Return what makes the same as ``make``: copies of what that made first, which is faster."""
    first = cache(make)

    @wraps(make)
    def again() -> Made:
        return copied(first())

    return again


LONG = 60
"""Events that a long instance has at least."""


class PolicyCheckError(AssertionError):
    """A policy breaks the contract. The message names the check, the policy and the probable cause."""


class ProblemCheckError(PolicyCheckError):
    """The problem breaks the contract, whatever the policy. The message names the check and the problem."""


@dataclass(frozen=True)
class Kit:
    """The part of the checks that depends on the problem.

    Attributes
    ----------
    problem
        Name of the problem.
    ordinary
        Returns small instances by name, made afresh by every call; no two events of one alike.
    degenerate
        Returns instances by name that are at the edge of what is allowed: no events, nothing to give away,
        huge numbers and so on.
    observable
        Everything that a policy may declare in ``traits.sees``.
    alter
        ``alter(instance, event, sees, decisions)`` returns instances with the same setting that differ only
        in what a policy which sees ``sees`` and took these decisions on the instance, one per event, has not
        been shown when it decides on that event (0-based). Where it does not depend on the decisions what
        happens when, they are of no account.
    secrets
        Returns the arrays of an instance that nature reveals; no policy may get at them.
    shown
        Returns how many entries of such an array one observation of an instance may rightly show; no copy
        as short as that gives a policy away.
    long
        Returns instances by name, made afresh by every call, with at least :data:`LONG` events, so that who
        peeks late is found; they are altered only in their last tenth.
    sampled
        Returns what anybody gets who generates a tiny instance from a seed; ``None`` where there is no
        generator.
    unchecked
        What the kit does not let a check look at, by the name of the check: it is said by a warning.
    """

    problem: str
    ordinary: Callable[[], Mapping[str, Instance]]
    degenerate: Callable[[], Mapping[str, Instance]]
    observable: frozenset[str]
    alter: Callable[[Any, int, frozenset[str], Sequence[Any]], Iterable[Instance]]
    secrets: Callable[[Any], Iterable[np.ndarray]]
    shown: Callable[[Any], int] = _one
    long: Callable[[], Mapping[str, Instance]] = _none
    sampled: Callable[[int], Instance] | None = None
    unchecked: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _refuse_uncallable(self, ("ordinary", "degenerate", "alter", "secrets", "shown", "long"))
        if not isinstance(self.observable, (frozenset, set)):
            raise InputError(f"observable: {self.observable!r} is no set of names")


KITS: dict[str, Kit] = {}
"""Those that were registered, by problem."""


def register_kit(kit: Kit) -> None:
    """Make the checks known for a problem, replacing what was known before."""
    KITS[kit.problem] = kit


@dataclass(frozen=True)
class Target:
    """What the campaigns need to know of a problem.

    Attributes
    ----------
    instances
        Strategy for small instances.
    scaled
        Returns the JSON form of an instance with all its rewards multiplied.
    replay
        Turns an oracle's decision on an instance into decisions, one per event, that earn its value.
    ceiling
        The oracle whose bound no policy can pass, or ``None``.
    """

    instances: SearchStrategy[Any]
    scaled: Callable[[dict[str, Any], float], dict[str, Any]]
    replay: Callable[[Any, Any], Any]
    ceiling: str | None

    def __post_init__(self) -> None:
        _refuse_uncallable(self, ("scaled", "replay"))
        if not isinstance(self.instances, SearchStrategy):
            raise InputError(f"instances: {self.instances!r} is no strategy of Hypothesis")
        if not isinstance(self.ceiling, str | None):
            raise InputError(f"ceiling: {self.ceiling!r} is no name of an oracle")


PARTS: dict[str, type[Any]] = {"kit": Kit, "target": Target}
"""What the parts of a problem's record must be."""


def _refuse_uncallable(one: Any, names: Iterable[str]) -> None:
    """Raise an error for a part that is to be a function and is none."""
    for name in names:
        if not callable(getattr(one, name)):
            raise InputError(f"{name}: {getattr(one, name)!r} is no function")


def times(node: Any, factor: float) -> Any:
    """Return a number, or nested lists and objects of numbers, times a factor."""
    if isinstance(node, dict):
        return {name: times(child, factor) for name, child in node.items()}
    return [times(child, factor) for child in node] if isinstance(node, list) else node * factor
