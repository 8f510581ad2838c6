"""The protocol of a policy, so that a user's own class needs no base class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..models.base import InputError


@dataclass(frozen=True)
class Traits:
    """The declared traits of a policy; ``check_policy`` tests every entry but the source.

    Attributes
    ----------
    problem
        The problem it plays, e.g. "allocation".
    sees
        Parts of the current event seen before the decision, e.g. {"arrivals"}; empty if it commits first.
    randomised
        Whether two seeds may lead to different decisions.
    guarantee, proven
        The guarantee it has and where that is proven; "none" and "" where there is none.
    feasible
        Whether every decision is feasible; False only for printed algorithms kept to show that they are not.
    source
        Who published it, and where; "ours" with what it builds upon; "" where that is not stated.

    Raises
    ------
    InputError
        If ``sees`` is a text instead of a set.
    """

    problem: str
    sees: frozenset[str] = frozenset()
    randomised: bool = False
    guarantee: str = "none"
    proven: str = ""
    feasible: bool = True
    source: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.sees, str):
            raise InputError(f"sees: {self.sees!r} is a text; write {{{self.sees!r}}}")
        object.__setattr__(self, "sees", frozenset(self.sees))


@runtime_checkable
class Policy(Protocol):
    """Anything with these members can be played; ``learn(feedback)`` is optional.

    ``name`` and ``traits`` may be plain attributes of the class or of the object.
    """

    @property
    def name(self) -> str:
        """The name of the policy in tables."""
        ...

    @property
    def traits(self) -> Traits:
        """The declared traits of the policy."""
        ...

    def start(self, setting: Any, rng: np.random.Generator) -> None:
        """Forget everything and prepare for an instance with this setting."""
        ...

    def decide(self, observation: Any) -> Any:
        """Return the decision for what is seen now."""
        ...


def shown_arrivals(observation: Any) -> np.ndarray:
    """Return the arrivals of a slot; an InputError if they are not shown."""
    if observation.arrivals is None:
        raise InputError("observation: this policy needs to see the arrivals, but was not shown them")
    return observation.arrivals
