"""The loop that plays a policy on an instance, and what comes out of it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType
from typing import Any, Generic

import numpy as np

from ..models import stopwatch
from ..models.base import ClairvoyantError, DecisionType, Episode, InputError, Instance, things
from ..models.copying import copied
from ..models.shown import Shown, amount
from .base import Policy, Traits
from .guard import Seal, caches_of, plain, refuse, watch
from .isolated import Isolated, PolicyError

OURS = __name__.partition(".")[0]
"""The package whose policies are ours."""

ASKED = "asked"
"""The attribute of an error that says which policy was asked when it was raised, for what or when."""


@dataclass(frozen=True, eq=False)
class Run(Shown, Generic[DecisionType]):
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
        The decisions as plain data, if they were requested.
    seconds
        Wall-clock time of the whole loop, without loading libraries and compiling kernels; the only part that
        differs between two runs of the same seed on one machine.
    problem, unit, minimised
        The problem of the instance, the unit of rewards, and whether these are costs.
    """

    policy: str
    seed: int
    digest: str
    rewards: np.ndarray
    infeasible: int = 0
    decisions: tuple[DecisionType, ...] | None = None
    seconds: float = field(default=0.0, compare=False)
    problem: str = ""
    unit: str = ""
    minimised: bool = False

    @property
    def total(self) -> float:
        """Sum of the rewards."""
        return float(self.rewards.sum())

    def told(self) -> tuple[str, dict[str, str]]:
        """Return the total, and below it what it is made of, the seed, the time and the instance."""
        events, better = len(self.rewards), "; less is better" if self.minimised else ""
        pairs = {"rewards": f"{events:,} {things(events, 'events')} of {self.problem}{better}"}
        if self.infeasible:
            pairs["infeasible"] = f"{self.infeasible:,} decisions, so the total means nothing"
        each = f", {1e3 * self.seconds / events:.3g} ms per decision" if events else ""
        pairs |= {"seed": str(self.seed), "time": f"{self.seconds:.3g} s{each}", "instance": self.digest}
        return f"{self.policy}: total {amount(self.total, self.unit)}", pairs

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
    isolated: bool = False,
    most: int | None = None,
    trusted: bool = False,
) -> Run:
    """Play a policy on an instance and check every decision it makes.

    The scoring copy is one to which no input of the policy refers; ``docs/policies.md`` says which cheats
    this prevents, which are noticed, and which only a process of its own keeps out.

    Parameters
    ----------
    policy
        See :class:`Policy`. It is started afresh, so the same object can be played again.
    instance
        The instance; the policy receives a copy of its setting and one observation at a time, never the
        instance.
    seed
        Decides everything random in the policy.
    keep_decisions
        Whether the run holds the decisions, as plain data.
    enforce
        With False, infeasible decisions are counted and rewarded as they stand, for printed algorithms only.
    progress
        Called after every event with the number of events so far.
    isolated
        Whether a copy of the policy plays in a process of its own that is handed messages only. The run is
        the same; what the policy notes in itself is not in the object here.
    trusted
        Whether it is compared at the start and at the end alone whether the policy has changed its setting or
        the code that scores it, and not after every decision, which takes half of a run of cheap decisions.
        Decisions are checked all the same. For policies that are known not to.

    Raises
    ------
    InputError
        If the policy is for another problem, or is to be isolated and cannot be pickled, or declares to see
        what the instance does not show, or if the episode pays what is no finite number for a feasible
        decision.
    DecisionError
        If a decision is infeasible, naming the constraints it breaks.
    TamperError
        If the policy changes what it was handed, or the code that scores it, and that is noticed.
    PolicyError
        If a policy ends the process, or an isolated one raises an error.
    """
    check_member(policy, instance.problem)
    mine, setting = copied(instance), copied(instance.setting)
    with Isolated(policy) if isolated else nullcontext(policy) as player:
        run = _play(player, mine, setting, seed, keep_decisions, enforce, progress, most, trusted)
    _keep_caches(instance, mine, setting)
    return run


def episode_for(policy: Policy, instance: Instance) -> Episode:
    """Return a fresh pass through an instance for what a policy declares to see.

    Raises
    ------
    InputError
        If the instance does not show that.
    """
    if unknown := sorted(policy.traits.sees - instance.shows):
        shown = ", ".join(sorted(instance.shows)) or "nothing"
        raise InputError(
            f"{policy.name}: traits.sees names {', '.join(map(repr, unknown))}; of {instance.problem} there "
            f"is only {shown} to see"
        )
    return instance.episode(policy.traits.sees)


def _play(
    policy: Policy,
    instance: Instance,
    setting: Any,
    seed: int,
    keep_decisions: bool,
    enforce: bool,
    progress: Callable[[int], None] | None,
    most: int | None,
    trusted: bool,
) -> Run:
    """Play on an instance that nobody else has; ``setting`` is the copy for the policy."""
    start = stopwatch.now()
    digest, name = instance.digest(), plain(policy.name)
    episode = episode_for(policy, instance)
    sealed, watched = Seal("setting", setting), watch(instance, instance.setting, episode)
    _ask(policy, "start", None, setting, policy_stream(seed))
    refuse(policy, "start", None, sealed.broken() or watched.found(watched.broken()))
    learns = getattr(policy, "learn", None) is not None
    rewards: list[float] = []
    decisions: list[Any] = []
    infeasible = 0
    for event, observation in enumerate(islice(episode, most)):
        seen = None if trusted else Seal("observation", observation)
        decided, whose = _ask(policy, "decide", event, observation), f"{name}: event {event}"
        decision = _taken(whose, plain, decided)
        if seen is not None:
            broken = sealed.broken() or seen.broken() or watched.found(watched.broken())
            refuse(policy, "decide", event, broken)
        outcome = _taken(whose, episode.apply, decision, enforce=enforce)
        if outcome.feasible and not math.isfinite(outcome.reward):
            raise InputError(
                f"instance: event {event} pays {float(outcome.reward)!r}, which is no finite number"
            )
        rewards.append(outcome.reward)
        infeasible += not outcome.feasible
        if keep_decisions:
            decisions.append(instance.kept(decision))
        if learns:
            shown = None if trusted else Seal("feedback", outcome.feedback)
            _ask(policy, "learn", event, outcome.feedback)
            if shown is not None:
                refuse(policy, "learn", event, sealed.broken() or shown.broken())
        if progress is not None:
            progress(len(rewards))
    refuse(policy, "one of its methods", None, sealed.broken() or watched.found(watched.broken_at_last()))
    return Run(  # nothing of the policy is asked any more
        policy=name,
        seed=seed,
        digest=digest,
        rewards=np.array(rewards, dtype=np.float64),
        infeasible=infeasible,
        decisions=tuple(decisions) if keep_decisions else None,
        seconds=stopwatch.now() - start,
        problem=instance.problem,
        unit=instance.unit,
        minimised=instance.minimised,
    )


def _ask(policy: Policy, method: str, event: int | None, *given: Any) -> Any:
    """Call a method of a policy; an error of one that is not ours says (:data:`ASKED`) whose it is."""
    try:
        return getattr(policy, method)(*given)
    except (Exception, SystemExit) as error:
        if type(policy).__module__.partition(".")[0] == OURS:
            raise
        where = f"{policy.name}: {method}()" + ("" if event is None else f" at event {event}")
        if isinstance(error, SystemExit):
            raise PolicyError(f"{where} ends the process: SystemExit({error.code!r})") from error
        vars(error)[ASKED] = where
        raise


def _taken(whose: str, take: Callable[..., Any], decision: Any, **options: Any) -> Any:
    """Return what a function makes of a decision; an error of ours says whose and when that was."""
    try:
        return take(decision, **options)
    except InputError as error:
        error.args = (f"{whose}: {error}",)
        raise
    except ClairvoyantError as error:
        vars(error)[ASKED] = whose
        raise


def _keep_caches(instance: Instance, mine: Instance, setting: Any) -> None:
    """Keep the cached properties of a run for the next run.

    What it computed on the setting that the policy had is computed anew: the policy may have changed it.
    """
    for key in caches_of(type(instance)) & vars(mine).keys():
        vars(instance).setdefault(key, vars(mine)[key])
    caches = caches_of(type(setting))  # type: ignore[arg-type]  # a class can be hashed
    for key in caches & getattr(setting, "__dict__", {}).keys():  # a tuple has none
        getattr(instance.setting, key)


def policy_stream(seed: int) -> np.random.Generator:
    """Return the generator a policy gets for a seed.

    The seed is hashed first: the generator must not show it, or a policy could draw the instance of the same
    seed again and so know the future.
    """
    hashed = hashlib.sha256(f"policy/{seed}".encode()).digest()
    random: ModuleType = stopwatch.library("numpy.random")  # which NumPy loads when it is first asked for
    generator: np.random.Generator = random.default_rng(int.from_bytes(hashed, "little"))
    return generator


def check_member(policy: Any, problem: str) -> None:
    """Raise if ``policy`` lacks a member of the protocol or is for another problem."""
    for member in ("name", "traits", "start", "decide"):
        if not hasattr(policy, member):
            raise InputError(f"policy: {type(policy).__name__} has no member {member!r}")
    if not isinstance(policy.traits, Traits):
        raise InputError(f"policy: traits of {type(policy).__name__}: {policy.traits!r} is no Traits")
    for method in ("start", "decide", "learn"):
        if not callable(found := getattr(policy, method, len)):
            raise InputError(f"policy: {type(policy).__name__}.{method} is no method but {found!r}")
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
