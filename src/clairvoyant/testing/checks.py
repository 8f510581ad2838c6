"""The checks that every policy of every problem has to pass."""

from __future__ import annotations

import copy
import inspect
import random
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from itertools import count
from typing import Any
from unittest import mock

import numpy as np

from ..models import draw
from ..models.base import ClairvoyantError, DecisionError, InputError, Instance
from ..models.copying import copied
from ..online.base import Traits
from ..online.guard import TamperError, plain
from ..online.play import Replay, Run, check_member, play
from .generic import find_kit
from .graph import Snapshot, canonical, reachable
from .kit import Kit, PolicyCheckError, ProblemCheckError


class UncheckedWarning(UserWarning):
    """A check could not look at everything; the message names it, and what is missing for that."""


@dataclass(frozen=True)
class Subject:
    """What a check works on.

    Attributes
    ----------
    make
        Returns a policy that has not been played yet.
    kit
        What is known about the problem.
    given
        Instances that take the place of the kit's ordinary ones, or ``None``.
    seeds
        Seeds to play with.
    runs
        What :meth:`usual` has played, by the digest of the instance and the seed.
    """

    make: Callable[[], Any]
    kit: Kit
    given: Mapping[str, Instance] | None
    seeds: tuple[int, ...]
    runs: dict[tuple[str, int], Run] = field(default_factory=dict)

    def instances(self) -> Mapping[str, Instance]:
        """Return fresh instances, so that no check suffers from what a policy did to another one's."""
        if self.given is None:
            return self.kit.ordinary()
        return {name: type(one).from_dict(one.to_dict()) for name, one in self.given.items()}

    def long(self) -> Mapping[str, Instance]:
        """Return fresh instances of many events, unless others were given."""
        return self.kit.long() if self.given is None else {}

    def generated(self, seeds: Iterable[int]) -> Mapping[str, Instance]:
        """Return what the generator makes of these seeds, unless others were given or there is none."""
        if self.given is not None or self.kit.sampled is None:
            return {}
        return {f"generated, tiny, seed {seed}": self.kit.sampled(seed) for seed in seeds}

    def play(
        self,
        policy: Any,
        instance: Instance,
        where: str,
        seed: int | None = None,
        most: int | None = None,
    ) -> Run:
        """Play, keeping the decisions; whatever goes wrong becomes an explanation."""
        enforce = policy.traits.feasible
        seed = self.seeds[0] if seed is None else seed
        try:
            return play(policy, instance, seed, keep_decisions=True, enforce=enforce, most=most)
        except DecisionError as error:
            raise PolicyCheckError(
                f"an infeasible decision on instance {where!r}: {error}. Probable cause: a limit that is not "
                "looked at, or rounding; if the decisions are meant to be infeasible, say so with "
                "traits.feasible=False"
            ) from error
        except Exception as error:
            told = f"{type(error).__name__} on instance {where!r}: {error}"
            if _by_episode(error, policy, instance):
                where = f"in the episode of {type(instance).__name__}, which is to refuse what is no decision"
                raise ProblemCheckError(f"{told}, {where}") from error
            raise PolicyCheckError(f"{told}. {_probable(error)}") from error

    def usual(self, instance: Instance, where: str, seed: int | None = None) -> Run:
        """Return the run of a new policy, which is played once for all checks."""
        seed = self.seeds[0] if seed is None else seed
        key = instance.digest(), seed
        if key not in self.runs:
            self.runs[key] = self.play(self.make(), instance, where, seed)
        return self.runs[key]


def _by_episode(error: Exception, policy: Any, instance: Instance) -> bool:
    """Return whether an error that is none of ours went through the episode, and not through the policy."""
    if isinstance(error, ClairvoyantError):
        return False
    inside = [frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__)]
    try:
        kind = type(instance.episode(frozenset()))
    except Exception:  # noqa: BLE001 - whatever the code of others does
        return True
    return all(one is not policy for one in inside) and any(type(one) is kind for one in inside)


def _probable(error: Exception) -> str:
    """Guess why a policy could not be played at all."""
    if isinstance(error, TamperError):
        return (
            "Probable cause: it means to be scored by something else than what is so, or keeps things there"
        )
    if "read-only" in str(error) or "WRITEABLE" in str(error):
        return (
            "Probable cause: it writes into an array of its setting, observation or feedback; copy that first"
        )
    if isinstance(error, TypeError | AttributeError) and "None" in str(error):
        return (
            "Probable cause: it uses what it does not declare to see in traits.sees; that part of the "
            "observation is None"
        )
    return "Probable cause: start() or decide() does not expect such an instance"


def members(subject: Subject) -> None:
    """Have a name, traits, start(setting, rng), decide(observation), and perhaps learn(feedback)."""
    policy = subject.make()
    check_member(policy, subject.kit.problem)
    if not isinstance(policy.name, str) or not policy.name:
        raise PolicyCheckError(f"its name is {policy.name!r}; it should be a text that is not empty")


def feasible_decisions(subject: Subject) -> None:
    """Keep every constraint in every decision; the rewards are finite.

    A policy that declares ``feasible=False`` is excused from the constraints.
    """
    for where, instance in subject.instances().items():
        for seed in subject.seeds:
            _finite(subject.usual(instance, where, seed), where)


def degenerate_instances(subject: Subject) -> None:
    """Cope with every valid instance: no events, nothing to give away, one of each, huge numbers."""
    for where, instance in subject.kit.degenerate().items():
        _finite(subject.play(subject.make(), instance, where), where)


def _finite(run: Run, where: str) -> None:
    for event in np.flatnonzero(~np.isfinite(run.rewards))[:1]:
        raise PolicyCheckError(
            f"event {event} of instance {where!r} is rewarded with {run.rewards[event]}. Probable cause: "
            "an overflow or a division by zero in its decision"
        )


def no_peeking(subject: Subject) -> None:
    """Decide the same as long as all that may be seen is the same.

    The instance is altered from some event on, so that it also has another digest. All decisions up to that
    event must stay bit by bit; for a policy that does not see the event before it decides, the event itself
    is altered, too.
    """
    sees, tried = subject.make().traits.sees, set[tuple[str, int]]()
    _compare(subject, subject.kit.observable, tried, "the future", "what has not happened yet")
    if sees != subject.kit.observable:
        hidden = ", ".join(sorted(subject.kit.observable - sees))
        secret = f"{hidden}, which traits.sees does not declare"
        _compare(subject, sees, tried, f"the {hidden} of an event", secret)


def _compare(
    subject: Subject, sees: frozenset[str], tried: set[tuple[str, int]], altered: str, secret: str
) -> None:
    for where, instance in subject.instances().items():
        want = subject.usual(instance, where).decisions or ()
        for event in sorted({0, len(want) // 3, len(want) // 2, len(want) - 2} & set(range(len(want)))):
            _alter(subject, instance, where, sees, event, want, tried, (altered, secret))
    for where, instance in subject.long().items():
        want = subject.usual(instance, where).decisions or ()
        _alter(subject, instance, where, sees, 9 * len(want) // 10, want, tried, (altered, secret))


def _alter(
    subject: Subject,
    instance: Instance,
    where: str,
    sees: frozenset[str],
    event: int,
    want: Sequence[Any],
    tried: set[tuple[str, int]],
    told: tuple[str, str],
) -> None:
    """Raise if a decision up to an event changes when what follows is altered, in ways not tried yet."""
    altered, secret = told
    for other in subject.kit.alter(instance, event, sees, want):
        if (other.digest(), event) in tried:
            continue
        tried.add((other.digest(), event))
        _same_shown(subject, (instance, other), where, event, want, altered)
        got = subject.play(subject.make(), other, f"{where}, altered", most=event + 1).decisions or ()
        for i, (mine, other_one) in enumerate(zip(want[: event + 1], got, strict=False)):
            if canonical(mine) != canonical(other_one):
                raise PolicyCheckError(
                    f"its decision in event {i} of instance {where!r} changes when {altered} is "
                    f"altered from event {event} on. Probable cause: it knows {secret}, by another "
                    "way than its observations, or it is not reproducible"
                )


def _same_shown(
    subject: Subject,
    both: tuple[Instance, Instance],
    where: str,
    event: int,
    decisions: Sequence[Any],
    altered: str,
) -> None:
    """Raise if what is shown up to an event, after the same decisions, depends on what is altered."""
    try:
        mine, others = (_by_itself(subject, one, decisions, event) for one in both)
    except Exception as error:
        raise ProblemCheckError(
            f"{type(error).__name__} on instance {where!r}, altered from event {event} on, where the same "
            f"decisions were taken before: {error}"
        ) from error
    for i, ((seen, _, told), (other, _, their)) in enumerate(zip(mine, others, strict=False)):
        if (seen, told) != (other, their):
            what = "observation" if seen != other else "feedback"
            raise ProblemCheckError(
                f"the {what} of event {i} of instance {where!r} changes when {altered} is altered from event "
                f"{event} on: {type(both[0]).__name__} and its episode show what nobody may know yet"
            )


def tries_no_seeds(subject: Subject) -> None:
    """Decide the same whatever the generators draw: nobody gets at an instance by trying seeds.

    Instances of small seeds are played while the generators draw other numbers, and then as they are.
    """
    for where, instance in subject.generated(range(3)).items():
        with mock.patch.object(draw, "source", _other_source):
            first = subject.play(subject.make(), instance, where)
        _same(
            (subject, instance),
            first,
            subject.play(subject.make(), instance, where),
            f"runs on instance {where!r} differ when the generators draw other numbers,",
            "it generates instances itself and looks for the one that it plays, or it is not reproducible",
        )


def _other_source(seed: int, stream: int) -> np.random.SeedSequence:
    """Take the place of :func:`.draw.source`."""
    return np.random.SeedSequence(seed, spawn_key=(stream, 1))


def holds_no_instance(subject: Subject) -> None:
    """Hold neither the instance it plays nor its secrets, in attributes, closures or global variables.

    Instances of small seeds are looked for, too.
    """
    for where, instance in {**subject.instances(), **subject.generated(range(3))}.items():
        policy, secrets = subject.make(), _Secrets(subject.kit, instance)
        home = type(policy).__module__.partition(".")[0]
        for moment in ("before start", "after start"):
            for path, thing in reachable(policy, "policy", home):
                secrets.refuse(path, thing, f"{moment} on instance {where!r}")
            policy.start(instance.setting, np.random.default_rng(subject.seeds[0]))


def nothing_handed_over(subject: Subject) -> None:
    """Be handed nothing that leads to the future or that scores, by setting, observation or feedback.

    Observations and feedback are frozen, every array in them is read-only, and they share nothing with the
    instance. The decisions are first taken without the policy: what is found then is the problem's fault.
    """
    for where, instance in subject.instances().items():
        run, policy = subject.usual(instance, where), subject.make()
        replay: Any = Replay(run.decisions or (), subject.kit.problem)
        replay.traits = policy.traits
        try:
            _hand_over(subject, replay, instance, where)
        except PolicyCheckError as error:
            raise ProblemCheckError(
                f"{error}, which {type(instance).__name__} and its episode decide"
            ) from error
        _hand_over(subject, policy, instance, where)


def _hand_over(subject: Subject, policy: Any, instance: Instance, where: str) -> None:
    """Raise if a policy is handed what it must not have."""
    setting = copied(instance.setting)
    policy.start(setting, np.random.default_rng(subject.seeds[0]))
    episode, secrets = instance.episode(policy.traits.sees), _Secrets(subject.kit, instance)
    scores = {id(thing): path for path, thing in reachable(episode, "episode") if _can_change(thing)}
    for observation in episode:
        outcome = episode.apply(plain(policy.decide(observation)), enforce=policy.traits.feasible)
        if hasattr(policy, "learn"):
            policy.learn(outcome.feedback)
        handed = {"setting": setting, "observation": observation, "feedback": outcome.feedback}
        for name, root in handed.items():
            _refuse_open(name, root)
            for path, thing in reachable(root, name):
                secrets.refuse(path, thing, f"on instance {where!r}")
                if id(thing) in scores:
                    raise PolicyCheckError(
                        f"{path} is {scores[id(thing)]} itself, on instance {where!r}. Probable cause: "
                        "what is handed to policies is not copied"
                    )


def _can_change(thing: Any) -> bool:
    """Tell whether what a policy does to a thing would show elsewhere."""
    return isinstance(thing, np.ndarray) or (is_dataclass(thing) and not isinstance(thing, type))


def _refuse_open(name: str, root: Any) -> None:
    """Raise if attributes of an object can be set or an array in it can be written to."""
    for key in getattr(root, "__dict__", {}):
        try:
            setattr(root, key, getattr(root, key))
        except (AttributeError, TypeError):
            continue
        raise PolicyCheckError(f"{name}.{key} can be set. Probable cause: its class is not frozen")
    for path, thing in reachable(root, name):
        if isinstance(thing, np.ndarray) and thing.flags.writeable:
            raise PolicyCheckError(f"{path} can be written to. Probable cause: no setflags(write=False)")


class _Secrets:
    """What no policy may reach: the instance, its episode, and what nature has yet to reveal."""

    def __init__(self, kit: Kit, instance: Instance) -> None:
        self._instance, self._episode = instance, type(instance.episode(frozenset()))
        self._arrays, self._shown = tuple(kit.secrets(instance)), kit.shown(instance)

    def refuse(self, path: str, thing: Any, when: str) -> None:
        """Raise if a reachable object is one of these, or an array that holds one."""
        found = ""
        if isinstance(thing, Instance) and thing == self._instance:
            found = "the instance"
        elif isinstance(thing, self._episode):
            found = "the episode"
        elif isinstance(thing, np.ndarray) and any(_reveals(thing, a, self._shown) for a in self._arrays):
            found = "what nature has yet to reveal"
        if found:
            raise PolicyCheckError(
                f"{found} can be reached as {path}, {when}. Probable cause: the policy was made with the "
                "instance in hand, or what is handed to policies refers to it"
            )


def _reveals(array: np.ndarray, secret: np.ndarray, shown: int) -> bool:
    """Tell whether an array shares memory with a secret, or is a copy of it or of its end.

    A copy of at most ``shown`` entries is what an observation may hold.
    """
    if np.may_share_memory(array, secret) and np.shares_memory(array, secret):
        return True
    n = len(array) if array.ndim else 0
    tail = secret[len(secret) - n :]
    return shown < n <= len(secret) and tail.min() < tail.max() and np.array_equal(array, tail)


def reproducible(subject: Subject) -> None:
    """Do the same again with the same seed: the same bytes of decisions and rewards.

    So does an instance that is made from the JSON form of another one.
    """
    for where, instance in subject.instances().items():
        for seed in subject.seeds:
            first = subject.usual(instance, where, seed)
            second = subject.play(subject.make(), instance, where, seed)
            _same(
                (subject, instance),
                first,
                second,
                f"two runs on instance {where!r} with seed {seed} differ",
                "it draws random numbers from elsewhere than the rng handed to start()",
            )
        want = subject.usual(instance, where).decisions or ()
        told = ""
        try:
            copy = type(instance).from_dict(instance.to_dict())
            same = _by_itself(subject, copy, want) == _by_itself(subject, instance, want)
        except Exception as error:  # noqa: BLE001 - whatever the code of others does
            same, told = False, f" ({type(error).__name__}: {error})"
        if not same:
            raise ProblemCheckError(
                f"instance {where!r} and the one that is made from its JSON form show or pay something else"
                f"{told}. Probable cause: to_dict() or from_dict() leaves something out"
            )


_numbers = count(10**6)
"""Seeds of instances that no policy has played in this process."""


def start_resets(subject: Subject) -> None:
    """Forget everything in start(): an object that has played others goes as a new one does.

    One object plays all instances, and then again in another order. Some of them have never been played
    before, so that what is remembered for all objects of a class, and under whatever key, shows as well.
    """
    unseen = subject.generated(next(_numbers) for _ in range(5))
    every = [*unseen.items(), *subject.instances().items()]
    policy, first = subject.make(), dict[str, Run]()
    for where, instance in (*every, *every[-2::-1], *every[-1:]):
        run = subject.play(policy, instance, where)
        if where not in first:
            first[where] = run if where in unseen else subject.usual(instance, where)
        _same(
            (subject, instance),
            first[where],
            run,
            f"one policy object, played on instance {where!r} after others, differs",
            "start() leaves something over from the run before, in the object or in its class",
        )


def _same(played: tuple[Subject, Instance], first: Run, second: Run, what: str, cause: str) -> None:
    if _outcome(first) != _outcome(second):
        passes = [_by_itself(*played, first.decisions or ()) for _ in range(2)]
        if passes[0] != passes[1]:
            raise ProblemCheckError(
                f"{what}, and so does what is seen and paid where the policy's decisions are taken without "
                "it. Probable cause: its episode draws random numbers from elsewhere than the instance"
            )
        pairs = zip(first.decisions or (), second.decisions or (), strict=False)
        event = next((i for i, (a, b) in enumerate(pairs) if canonical(a) != canonical(b)), None)
        since = "in their rewards" if event is None else f"from event {event} on"
        raise PolicyCheckError(f"{what} {since}. Probable cause: {cause}")


def _outcome(run: Run) -> Any:
    return canonical([run.rewards, run.decisions])


def _by_itself(
    subject: Subject, instance: Instance, decisions: Sequence[Any], last: int | None = None
) -> list[Any]:
    """Return what is seen, paid and fed back when decisions are taken without the policy.

    The decision of the event ``last`` is not taken any more.
    """
    traits = subject.make().traits
    episode, told = instance.episode(traits.sees), list[Any]()
    for event, (observation, decision) in enumerate(zip(episode, decisions, strict=False)):
        seen = canonical(observation)
        if event == last:
            return [*told, (seen, None, None)]
        outcome = episode.apply(decision, enforce=traits.feasible)
        told.append((seen, canonical(outcome.reward), canonical(outcome.feedback)))
    return told


def own_generator(subject: Subject) -> None:
    """Leave the global random generators of ``random`` and ``numpy.random`` alone."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002 - to see that nobody uses it
    try:
        for where, instance in subject.instances().items():
            random.random()
            np.random.random()  # noqa: NPY002 - so that setting a seed shows, even if it is set a second time
            before = _global_state()
            run = subject.play(subject.make(), instance, where)
            after = _global_state()
            if after != before:
                _by_itself(subject, instance, run.decisions or ())
                if _global_state() != after:
                    raise ProblemCheckError(
                        f"a pass through instance {where!r} changes a global random generator. Probable "
                        "cause: its episode uses random or numpy.random directly"
                    )
                raise PolicyCheckError(
                    f"a run on instance {where!r} changes a global random generator. Probable cause: it uses "
                    "random or numpy.random directly; use the rng handed to start()"
                )
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002 - as it was found


def _global_state() -> Any:
    return canonical([random.getstate(), np.random.get_state()])  # noqa: NPY002 - to see that nobody uses it


def declared_traits(subject: Subject) -> None:
    """Declare the truth: what there is to see, a guarantee with its source, whether it is random."""
    traits = subject.make().traits
    unknown = sorted(traits.sees - subject.kit.observable)
    if unknown:
        raise PolicyCheckError(
            f"traits.sees names {', '.join(unknown)}; of {subject.kit.problem} there is only "
            f"{', '.join(sorted(subject.kit.observable)) or 'nothing'} to see. Probable cause: a "
            "misspelling, or a class of instances that does not name it in `shows`"
        )
    if (traits.guarantee not in ("", "none")) != bool(traits.proven):
        raise PolicyCheckError(
            f"traits.guarantee is {traits.guarantee!r} and traits.proven is {traits.proven!r}. Probable "
            "cause: a guarantee without a place where it is proven, or the reverse; without a guarantee they "
            'are "none" and ""'
        )
    if not traits.randomised:
        for where, instance in subject.instances().items():
            first, *others = (subject.usual(instance, where, seed) for seed in range(3))
            for other in others:
                _same(
                    (subject, instance),
                    first,
                    other,
                    f"traits.randomised is False, but seeds 0 and {other.seed} on instance {where!r} differ",
                    "it uses the rng, or another source of randomness",
                )
    elif not any(_draws(subject, instance, where) for where, instance in subject.instances().items()):
        raise PolicyCheckError(
            "traits.randomised is True, but on no instance it draws from the rng handed to start(). Probable "
            "cause: it is not random, or it draws from a generator of its own"
        )


class _Overheard:
    """A policy, and the generator that it was handed."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def start(self, setting: Any, rng: np.random.Generator) -> None:
        """Start the policy."""
        self.rng, self.before = rng, _generator_state(rng)
        self._policy.start(setting, rng)


def _draws(subject: Subject, instance: Instance, where: str) -> bool:
    """Return whether a run draws from the generator of the policy, or from children of that."""
    player = _Overheard(subject.make())
    subject.play(player, instance, where)
    return bool(_generator_state(player.rng) != player.before)


def _generator_state(rng: np.random.Generator) -> Any:
    bits: Any = rng.bit_generator
    return canonical([bits.state, bits.seed_seq.n_children_spawned])


def instance_unchanged(subject: Subject) -> None:
    """Leave the instance as it was, its setting and all that is derived from it included."""
    for where, instance in subject.instances().items():
        for key, value in inspect.getmembers_static(type(instance.setting)):
            if isinstance(value, cached_property):  # compute now what is computed when first used
                getattr(instance.setting, key)
        instance.digest()
        before = Snapshot(instance, "instance")
        subject.play(subject.make(), instance, where)
        changes = before.changes()
        if changes:
            raise PolicyCheckError(
                f"a run changes {', '.join(changes[:3])} of instance {where!r}. Probable cause: it computes "
                "in place in an array of its setting, or keeps things there; copy what is to be changed"
            )


CHECKS: tuple[Callable[[Subject], None], ...] = (
    members,
    start_resets,
    tries_no_seeds,
    feasible_decisions,
    declared_traits,
    degenerate_instances,
    own_generator,
    reproducible,
    holds_no_instance,
    no_peeking,
    nothing_handed_over,
    instance_unchanged,
)
"""Every check: first those on instances that have not been played yet, then by how much failures explain."""


def policy_checks(
    policy: Any,
    *,
    instances: Iterable[Instance] | Mapping[str, Instance] | None = None,
    seeds: Iterable[int] = (0, 1),
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the name of each check and a function that runs it, for ``pytest.mark.parametrize``.

    Parameters
    ----------
    policy
        A class or function without arguments that makes the policy, or a policy, of which copies are played.
    instances
        Instances to take the place of the ordinary ones; a policy made for one size needs its own.
        The degenerate ones stay.
    seeds
        Seeds to play with.

    Raises
    ------
    PolicyCheckError
        By a check that fails; at once, if there is no policy to speak of.
    InputError
        If nothing is known about the policy's problem, or there are no seeds.
    """
    made = not isinstance(policy, type) and hasattr(policy, "decide")
    if not made and not callable(policy):
        raise PolicyCheckError(f"policy: {policy!r} is neither a policy nor makes one")

    def make() -> Any:
        return copy.deepcopy(policy) if made else policy()

    example = make()
    traits = getattr(example, "traits", None)
    if not isinstance(traits, Traits):
        raise PolicyCheckError(
            f"members: {type(example).__name__} has no traits. Probable cause: it does not yet declare "
            "traits = Traits(problem=...), or it is not a policy"
        )
    named = instances if isinstance(instances, Mapping) or instances is None else _numbered(instances)
    subject = Subject(make, find_kit(traits.problem), named, tuple(seeds))
    if not subject.seeds:
        raise InputError("seeds: empty; a policy is played with at least one")
    for check in CHECKS:
        yield check.__name__, _named(check, subject)


def _numbered(instances: Iterable[Instance]) -> dict[str, Instance]:
    return {f"given {i}": instance for i, instance in enumerate(instances)}


def _named(check: Callable[[Subject], None], subject: Subject) -> Callable[[], None]:
    """Return a check without arguments whose failures name the check and the policy."""

    def run() -> None:
        missing = subject.kit.unchecked.get(check.__name__)
        if missing is not None:
            message = f"{subject.kit.problem}: {check.__name__} does not check all: {missing}"
            warnings.warn(message, UncheckedWarning, stacklevel=2)
        try:
            check(subject)
        except ProblemCheckError as error:
            raise ProblemCheckError(
                f"problem {subject.kit.problem!r} fails {check.__name__}: {error}"
            ) from error
        except (Exception, SystemExit) as error:
            name = getattr(subject.make(), "name", "")
            why = error if isinstance(error, PolicyCheckError) else f"{type(error).__name__}: {error}"
            raise PolicyCheckError(f"policy {name!r} fails {check.__name__}: {why}") from error

    return run


def check_policy(
    policy: Any,
    *,
    instances: Iterable[Instance] | Mapping[str, Instance] | None = None,
    seeds: Iterable[int] = (0, 1),
) -> None:
    """Check that a policy keeps its contract; silence means that it does.

    What the problem's kit does not let a check look at is said by an :class:`UncheckedWarning`.

    What is checked, and in which order, stands in :data:`CHECKS`. Parameters are those of
    :func:`policy_checks`.

    Raises
    ------
    PolicyCheckError
        For the first check that fails, naming it, the policy and the probable cause.
    ProblemCheckError
        In its place where the problem is at fault, whatever the policy.
    InputError
        If nothing is known about the policy's problem.
    """
    for _, check in policy_checks(policy, instances=instances, seeds=seeds):
        check()
