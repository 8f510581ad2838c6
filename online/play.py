"""The loop that plays a policy on an instance, and what comes out of it."""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..models.base import InputError, Instance
from .base import Policy, Traits


@dataclass(frozen=True, eq=False)
class Run:
    """One policy on one instance with one seed.

    Attributes
    ----------
    policy, seed, digest
        The policy's name, the seed of its generator, and the digest of the instance.
    rewards
        Reward of every event, in order (its cost where the problem minimises).
    infeasible
        Number of infeasible decisions; always 0 unless the run was made with ``enforce=False``.
    decisions
        The decisions, if they were asked for.
    seconds
        Wall-clock time of the whole loop; the only part that differs between two runs of the same seed.
    """

    policy: str
    seed: int
    digest: str
    rewards: np.ndarray
    infeasible: int = 0
    decisions: tuple[Any, ...] | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def total(self) -> float:
        """Sum of the rewards."""
        return float(self.rewards.sum())

    def __repr__(self) -> str:
        return (
            f"Run({self.policy!r}, seed={self.seed}, events={len(self.rewards)}, total={self.total:.9g}, "
            f"digest={self.digest}, {self.seconds:.3g} s)"
        )


def play(
    policy: Policy,
    instance: Instance,
    seed: int = 0,
    *,
    keep_decisions: bool = False,
    enforce: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Play a policy on an instance and check every decision it makes.

    Parameters
    ----------
    policy
        See :class:`Policy`. It is started afresh, so the same object can be played again.
    instance
        The instance; the policy is handed its setting and one observation at a time, never the instance.
    seed
        Decides everything random in the policy.
    keep_decisions
        Whether the run holds a copy of every decision.
    enforce
        With False, infeasible decisions are counted and rewarded as they stand, for printed algorithms only.
    progress
        Called after every event with the number of events so far.

    Raises
    ------
    InputError
        If the policy is for another problem.
    DecisionError
        If a decision is infeasible, naming the constraints it breaks.
    """
    check_member(policy, instance.problem)
    begin = time.perf_counter()
    policy.start(instance.setting, policy_stream(seed))
    learn = getattr(policy, "learn", None)
    episode = instance.episode(policy.traits.sees)
    rewards: list[float] = []
    decisions: list[Any] = []
    infeasible = 0
    for observation in episode:
        decision = policy.decide(observation)
        outcome = episode.apply(decision, enforce=enforce)
        rewards.append(outcome.reward)
        infeasible += not outcome.feasible
        if keep_decisions:
            decisions.append(copy.deepcopy(decision))  # the policy may use its buffer again
        if learn is not None:
            learn(outcome.feedback)
        if progress is not None:
            progress(len(rewards))
    return Run(
        policy=policy.name,
        seed=seed,
        digest=instance.digest(),
        rewards=np.array(rewards, dtype=np.float64),
        infeasible=infeasible,
        decisions=tuple(decisions) if keep_decisions else None,
        seconds=time.perf_counter() - begin,
    )


def policy_stream(seed: int) -> np.random.Generator:
    """Return the generator a policy gets for a seed.

    The seed is hashed first: the generator must not tell it, or a policy could draw the instance of the same
    seed again and so know the future.
    """
    hashed = hashlib.sha256(f"policy/{seed}".encode()).digest()
    return np.random.default_rng(int.from_bytes(hashed, "little"))


def check_member(policy: Any, problem: str) -> None:
    """Raise if ``policy`` lacks a member of the protocol or is for another problem."""
    for member in ("name", "traits", "start", "decide"):
        if not hasattr(policy, member):
            raise InputError(f"policy: {type(policy).__name__} has no member {member!r}")
    if policy.traits.problem != problem:
        raise InputError(
            f"policy: {policy.name} plays {policy.traits.problem!r}, the instance is {problem!r}"
        )


class Replay:
    """A policy that plays back given decisions, one per event, to show that an oracle's value is reached."""

    name = "replay"

    def __init__(self, decisions: Iterable[Any], problem: str) -> None:
        self.decisions = list(decisions)
        self.traits = Traits(problem=problem)
        self._next = 0

    def start(self, setting: Any, rng: np.random.Generator) -> None:
        """Begin again with the first decision."""
        self._next = 0

    def decide(self, observation: Any) -> Any:
        """Return the next decision."""
        self._next += 1
        return self.decisions[self._next - 1]
