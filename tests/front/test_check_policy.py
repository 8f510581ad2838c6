"""Policies that break the contract, each in one way, are caught by the right check, which names the cause."""

import functools
import random
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import make_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from clairvoyant.models.allocation.episode import SlotEpisode
from clairvoyant.models.allocation.gang import AllocationGangInstance
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.setting import Feedback, Observation, Setting
from clairvoyant.models.base import InputError
from clairvoyant.online.allocation import Drf, Fairness
from clairvoyant.online.base import Traits
from clairvoyant.testing import (
    CHECKS,
    PolicyCheckError,
    ProblemCheckError,
    Subject,
    check_policy,
    policy_checks,
    register_kit,
)
from clairvoyant.testing import allocation as kit
from clairvoyant.testing.checks import _hand_over
from clairvoyant.testing.generic import find_kit
from clairvoyant.testing.graph import Snapshot, canonical, reachable
from clairvoyant.testing.kit import KITS

COMMITS = Traits(problem="allocation")
LOOKS = Traits(problem="allocation", sees=frozenset({"arrivals"}))


class Idle:
    """A user's own class, without any base class: it holds nothing, ever."""

    name = "idle"
    traits = COMMITS

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        self._setting, self._rng = setting, rng
        self._y = np.zeros(setting.shape)

    def decide(self, observation: Observation) -> np.ndarray:
        return self._y


def part(policy: Any, share: float) -> np.ndarray:
    """Return a feasible decision that tells from which number it was made."""
    setting = policy._setting
    result: np.ndarray = setting.project(share * setting.edge_demand)
    return result


def failure(make: Any, check: str, **options: Any) -> str:
    """Return what one check has to say about a policy."""
    with pytest.raises(PolicyCheckError) as error:
        dict(policy_checks(make, **options))[check]()
    return str(error.value)


def failing(make: Any) -> set[str]:
    """Return the names of all checks that a policy does not pass."""
    found = set()
    for name, check in policy_checks(make):
        try:
            check()
        except PolicyCheckError:
            found.add(name)
    return found


# ------------------------------------------------------------------ good ones pass


def test_a_run_that_several_checks_look_at_is_known_by_its_instance_and_seed() -> None:
    subject = Subject(Fairness, find_kit("allocation"), None, (3, 4))
    one, other = (kit.ordinary()[name] for name in ("single jobs", "several jobs"))
    run = subject.usual(one, "here")
    assert subject.usual(kit.ordinary()["single jobs"], "there", 3) is run
    assert (run.digest, run.seed) == (one.digest(), 3)
    assert subject.usual(one, "here", 4).seed == 4
    assert subject.usual(other, "here").digest == other.digest()


def test_a_class_of_ones_own_passes() -> None:
    check_policy(Idle)
    check_policy(Idle())
    check_policy(lambda: Idle())
    check_policy(Fairness(share="all"), instances=kit.ordinary().values(), seeds=[3])


def test_a_random_policy_that_uses_its_generator_passes() -> None:
    class Coin(Idle):
        traits = Traits(problem="allocation", randomised=True)

        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, self._rng.random())

    check_policy(Coin)


def test_a_policy_for_one_instance_is_checked_on_it() -> None:
    one = kit.ordinary()["single jobs"]
    names = [name for name, _ in policy_checks(Drf, instances={"mine": one})]
    assert names == [check.__name__ for check in CHECKS]
    check_policy(Drf, instances={"mine": one})


def test_a_policy_that_remembers_what_it_has_seen_does_not_peek() -> None:
    class Historian(Idle):
        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            super().start(setting, rng)
            self.seen = np.zeros((setting.slots, setting.ports))

        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, 0.1 * self.seen.mean() if self.seen.size else 0.0)

        def learn(self, feedback: Feedback) -> None:
            self.seen[feedback.slot] = feedback.arrivals

    check_policy(Historian)


def test_a_printed_algorithm_may_say_that_it_is_infeasible() -> None:
    class Greedy(Idle):
        traits = Traits(problem="allocation", feasible=False)

        def decide(self, observation: Observation) -> np.ndarray:
            return 2.0 * self._setting.edge_demand

    check_policy(Greedy)


# ------------------------------------------------------------------ infeasible, or not a policy at all


def test_infeasible_decisions() -> None:
    class Greedy(Idle):
        def decide(self, observation: Observation) -> np.ndarray:
            return 1.5 * self._setting.edge_demand

    message = failure(Greedy, "feasible_decisions")
    assert message.startswith(
        "policy 'idle' fails feasible_decisions: an infeasible decision on instance 'single jobs'"
    )
    assert "demand[0][0][0] exceeded by" in message
    assert "Probable cause: a limit that is not looked at" in message
    with pytest.raises(PolicyCheckError, match=r"^policy 'idle' fails \w+: an infeasible decision"):
        check_policy(Greedy)


def test_decisions_that_are_infeasible_at_the_edge_of_what_is_allowed() -> None:
    class Share(Fairness):
        def decide(self, observation: Observation) -> np.ndarray:
            s = self._setting
            with np.errstate(all="ignore"):
                y: np.ndarray = s.capacity[s.server] * s.edge_demand / s.server_demand[s.server] / 1e3
                return y

    assert "feasible_decisions" not in failing(Share)
    assert "an infeasible decision on instance 'zero demand'" in failure(Share, "degenerate_instances")


def test_rewards_that_are_not_finite() -> None:
    class Endless(Idle):
        traits = Traits(problem="allocation", feasible=False)

        def decide(self, observation: Observation) -> np.ndarray:
            return np.full(self._setting.shape, np.inf)

    with np.errstate(all="ignore"):
        message = failure(Endless, "feasible_decisions")
    assert "event 0 of instance 'single jobs' is rewarded with" in message
    assert "Probable cause: an overflow or a division by zero" in message


def test_a_policy_that_fails_on_degenerate_instances() -> None:
    class First(Idle):
        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            super().start(setting, rng)
            self._first = setting.edges[0]

    message = failure(First, "degenerate_instances")
    assert "IndexError on instance 'no edges'" in message
    assert "Probable cause: start() or decide() does not expect such an instance" in message
    assert failing(First) == {"degenerate_instances"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "its name is ''"),
        ({"name": 7}, "its name is 7"),
        ({"learn": 3}, "Odd.learn is no method but 3"),
        ({"decide": 3}, "Odd.decide is no method but 3"),
    ],
)
def test_members_of_the_wrong_kind(change: dict[str, Any], message: str) -> None:
    assert message in failure(type("Odd", (Idle,), change), "members")


def test_a_missing_member() -> None:
    class Mute:
        name = "mute"
        traits = COMMITS

        def decide(self, observation: Observation) -> None: ...

    assert "policy 'mute' fails members: InputError: policy: Mute has no member 'start'" in failure(
        Mute, "members"
    )


@pytest.mark.parametrize(
    ("thing", "message"), [(3, "3 is neither a policy nor makes one"), (object, "object has no traits")]
)
def test_what_is_no_policy(thing: Any, message: str) -> None:
    with pytest.raises(PolicyCheckError, match=message):
        check_policy(thing)


def test_a_policy_of_an_unknown_problem() -> None:
    with pytest.raises(InputError, match="problem: 'cooking' is not one of allocation"):
        check_policy(type("Cook", (Idle,), {"traits": Traits(problem="cooking")}))


def test_no_seeds() -> None:
    with pytest.raises(InputError, match="seeds: empty"):
        check_policy(Idle, seeds=[])


# ------------------------------------------------------------------ peeking


class Spy(Idle):
    """Finds the instance in the local variables of the loop that plays it."""

    def decide(self, observation: Observation) -> np.ndarray:
        frame: Any = sys._getframe(1)
        while "episode" not in frame.f_locals or not isinstance(frame.f_locals["episode"], SlotEpisode):
            frame = frame.f_back
        return part(self, self.share(frame.f_locals["episode"]._instance.arrivals, observation.slot))

    def share(self, arrivals: np.ndarray, slot: int) -> float:
        return 0.01 * float(arrivals.sum())


def test_knowing_the_whole_future() -> None:
    message = failure(Spy, "no_peeking")
    assert "its decision in event 0 of instance 'single jobs' changes when the future is altered" in message
    assert "Probable cause: it knows what has not happened yet" in message


def test_knowing_the_next_slot() -> None:
    class Ahead(Spy):
        traits = LOOKS

        def share(self, arrivals: np.ndarray, slot: int) -> float:
            return 0.2 * float(arrivals[slot + 1, 0]) if slot + 1 < len(arrivals) else 0.0

    assert "changes when the future is altered" in failure(Ahead, "no_peeking")


def test_seeing_the_arrivals_without_declaring_it() -> None:
    class Undeclared(Spy):
        def share(self, arrivals: np.ndarray, slot: int) -> float:
            return 0.2 * float(arrivals[slot, 0])

    message = failure(Undeclared, "no_peeking")
    assert "changes when the arrivals of an event is altered" in message
    assert "Probable cause: it knows arrivals, which traits.sees does not declare" in message
    Undeclared.traits = LOOKS
    assert failing(Undeclared) == set()


def test_using_arrivals_that_are_not_shown() -> None:
    class Blind(Fairness):
        traits = COMMITS

        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, 0.1 * observation.arrivals.sum())  # type: ignore[union-attr]

    message = failure(Blind, "feasible_decisions")
    assert "AttributeError on instance 'single jobs'" in message
    assert "uses what it does not declare to see in traits.sees" in message


def informed(instance: AllocationInstance, how: str) -> Callable[[], Any]:
    """Return what makes a policy that holds on to an instance in one of many ways."""

    class Closure(Idle):
        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, 0.01 * float(instance.arrivals.sum()))

    class Attribute(Idle):
        def __init__(self) -> None:
            self.secret: Any = {
                "attribute": instance,
                "copy": instance.arrivals.copy(),
                "end of a copy": instance.arrivals[3:].copy(),
                "view": instance.arrivals[::2],
                "partial": functools.partial(np.add, instance),
                "method": instance.rewards,
                "episode": instance.episode(frozenset()),
                "generator": (row for row in instance.arrivals),
                "weak reference": weakref.ref(instance),
                "default": lambda x=instance: x,
                "deep": {"a": [deque([SimpleNamespace(b=(instance,))])]},
                "key": {instance: 1},
                "memory": memoryview(instance.arrivals),  # type: ignore[arg-type]
                "objects": np.array([None, instance], dtype=object),
                "slots": Slotted(instance),
            }.get(how)

        def __deepcopy__(self, memo: Any) -> Any:
            return self

    return Closure if how == "closure" else Attribute


class Slotted:
    __slots__ = ("empty", "inside")

    def __init__(self, inside: Any) -> None:
        self.inside = inside


WAYS = (
    *("closure", "attribute", "copy", "end of a copy", "view", "partial", "method", "episode", "generator"),
    *("weak reference", "default", "deep", "key", "memory", "objects", "slots"),
)


@pytest.mark.parametrize("how", WAYS)
def test_holding_the_instance(how: str) -> None:
    one = kit.ordinary()["single jobs"]
    message = failure(informed(one, how), "holds_no_instance", instances={"known": one})
    assert "can be reached as policy" in message
    assert "before start on instance 'known'" in message
    assert "Probable cause: the policy was made with the instance in hand" in message
    if how == "closure":
        assert "the instance can be reached as policy class.decide closure over instance" in message


def test_holding_another_instance_is_no_offence() -> None:
    """A policy may have been trained on other instances."""
    trained_on = kit.ordinary()["several jobs"]
    dict(policy_checks(informed(trained_on, "attribute"), instances=[kit.ordinary()["single jobs"]]))[
        "holds_no_instance"
    ]()


GLOBAL = kit.ordinary()["single jobs"]


def test_knowing_the_instance_from_a_global_variable() -> None:
    class Worldly(Idle):
        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, (lambda: 0.01 * GLOBAL.arrivals.sum())())

    message = failure(Worldly, "holds_no_instance", instances=[GLOBAL])
    assert "policy class.decide global GLOBAL" in message


def test_instances_that_hand_over_the_future(monkeypatch: pytest.MonkeyPatch) -> None:
    class Leaky(SlotEpisode):
        def __iter__(self) -> Iterator[Observation]:
            for observation in super().__iter__():
                yield Observation(observation.slot, self._instance.arrivals[observation.slot])

    monkeypatch.setattr(AllocationInstance, "episode", lambda self, sees: Leaky(self, "arrivals" in sees))
    message = failure(Fairness, "nothing_handed_over")
    assert "what nature has yet to reveal can be reached as observation.arrivals" in message


def test_observations_that_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loose(SlotEpisode):
        def __iter__(self) -> Iterator[Any]:
            for observation in super().__iter__():
                yield SimpleNamespace(slot=observation.slot, arrivals=observation.arrivals)

    monkeypatch.setattr(AllocationInstance, "episode", lambda self, sees: Loose(self, "arrivals" in sees))
    assert "observation.slot can be set. Probable cause: its class is not frozen" in failure(
        Fairness, "nothing_handed_over"
    )


def test_arrays_that_can_be_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    class Writable(SlotEpisode):
        def __iter__(self) -> Iterator[Observation]:
            for observation in super().__iter__():
                yield Observation(observation.slot, np.array(observation.arrivals))

    monkeypatch.setattr(AllocationInstance, "episode", lambda self, sees: Writable(self, "arrivals" in sees))
    assert "observation.arrivals can be written to" in failure(Fairness, "nothing_handed_over")


def fault_of(
    monkeypatch: pytest.MonkeyPatch, episode: type[SlotEpisode], check: str, make: Any = Idle
) -> str:
    """Return what a check says of the problem where the episodes are of this class."""
    monkeypatch.setattr(AllocationInstance, "episode", lambda self, sees: episode(self, "arrivals" in sees))
    message = failure(make, check)
    with pytest.raises(ProblemCheckError):
        dict(policy_checks(make))[check]()
    assert message.startswith(f"problem 'allocation' fails {check}: ")
    return message


def test_what_an_episode_does_by_itself_is_no_fault_of_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Writable(SlotEpisode):
        def __iter__(self) -> Iterator[Observation]:
            for observation in super().__iter__():
                yield Observation(observation.slot, np.zeros(3))

    class Noisy(SlotEpisode):
        def apply(self, decision: Any, *, enforce: bool = True) -> Any:
            outcome = super().apply(decision, enforce=enforce)
            return type(outcome)(random.random(), outcome.feasible, outcome.feedback)

    said = fault_of(monkeypatch, Writable, "nothing_handed_over", Fairness)
    assert "observation.arrivals can be written to" in said
    assert said.endswith(", which AllocationInstance and its episode decide")
    assert "changes a global random generator" in fault_of(monkeypatch, Noisy, "own_generator")
    for check in ("reproducible", "start_resets", "declared_traits", "tries_no_seeds"):
        assert "its episode draws random numbers from elsewhere" in fault_of(monkeypatch, Noisy, check)


def test_an_episode_that_shows_what_is_to_come_is_found_in_whatever_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Telling(SlotEpisode):
        def __iter__(self) -> Iterator[Any]:
            for observation in super().__iter__():
                yield self.told(observation)

        def told(self, observation: Observation) -> Any:
            total = int(self._instance.arrivals.sum())
            return make_dataclass("Seen", ["slot", "arrivals", "total"], frozen=True)(
                observation.slot, observation.arrivals, total
            )

    class Listing(Telling):
        def told(self, observation: Observation) -> Any:
            later = tuple(map(tuple, self._instance.arrivals[observation.slot :].tolist()))
            return make_dataclass("Seen", ["slot", "arrivals", "later"], frozen=True)(
                observation.slot, observation.arrivals, later
            )

    for leak in (Telling, Listing):
        said = fault_of(monkeypatch, leak, "no_peeking", Fairness)
        assert "the observation of event 0 of instance" in said
        assert "changes when the future is altered from event 0 on" in said
        assert said.endswith("AllocationInstance and its episode show what nobody may know yet")


def test_feedback_that_shows_what_is_to_come_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Telling(SlotEpisode):
        def apply(self, decision: Any, *, enforce: bool = True) -> Any:
            outcome = super().apply(decision, enforce=enforce)
            return type(outcome)(outcome.reward, outcome.feasible, int(self._instance.arrivals.sum()))

    said = fault_of(monkeypatch, Telling, "no_peeking", Fairness)
    assert "the feedback of event 0 of instance" in said


def test_an_episode_that_fails_is_no_fault_of_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(SlotEpisode):
        def apply(self, decision: Any, *, enforce: bool = True) -> Any:
            raise ZeroDivisionError("by zero")

    class Bad(Fairness):
        def decide(self, observation: Observation) -> np.ndarray:
            raise ZeroDivisionError("by zero")

    assert "Probable cause: start() or decide()" in failure(Bad, "feasible_decisions")
    said = fault_of(monkeypatch, Failing, "feasible_decisions", Fairness)
    assert "ZeroDivisionError on instance" in said
    assert ": by zero, in the episode of AllocationInstance, which is to refuse" in said

    def fails(_self: AllocationInstance, _sees: frozenset[str]) -> Any:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(AllocationInstance, "episode", fails)
    with pytest.raises(ProblemCheckError, match="by zero, in the episode of AllocationInstance"):
        dict(policy_checks(Fairness))["feasible_decisions"]()


def test_what_a_policy_calls_of_the_episode_is_its_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    class Open(SlotEpisode):
        def __iter__(self) -> Iterator[Any]:
            for observation in super().__iter__():
                yield make_dataclass("Seen", ["slot", "ask"], frozen=True)(observation.slot, self.ask)

        def ask(self) -> Any:
            raise ZeroDivisionError("by zero")

    class Asks(Fairness):
        def decide(self, observation: Any) -> Any:
            return observation.ask()

    monkeypatch.setattr(AllocationInstance, "episode", lambda self, sees: Open(self, "arrivals" in sees))
    assert failure(Asks, "feasible_decisions").startswith("policy 'fairness' fails feasible_decisions: ")


def test_an_error_of_a_policy_inside_of_the_episode_is_its_own_fault() -> None:
    class Given(Fairness):
        def decide(self, observation: Observation) -> Any:
            return np.full(3, np.nan)  # which the episode refuses

    said = failure(Given, "feasible_decisions")
    assert "InputError" in said
    assert said.startswith("policy ")


def test_a_future_that_fails_the_episode_is_the_fault_of_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting(SlotEpisode):
        def __iter__(self) -> Iterator[Observation]:
            if self._instance.arrivals[-1].sum() % 2:
                raise ZeroDivisionError("odd")
            return super().__iter__()

    said = fault_of(monkeypatch, Counting, "no_peeking", Idle)
    assert "ZeroDivisionError on instance" in said


def test_what_a_policy_makes_of_what_it_is_handed_is_its_own_fault() -> None:
    class Opens(Fairness):
        def decide(self, observation: Observation) -> np.ndarray:
            assert observation.arrivals is not None
            opened = observation.arrivals.copy()
            object.__setattr__(observation, "arrivals", opened)
            return super().decide(observation)

    with pytest.raises(PolicyCheckError) as caught:
        _hand_over(
            Subject(Opens, kit.KIT, None, (0, 1)), Opens(), kit.ordinary()["single jobs"], "single jobs"
        )
    assert "observation.arrivals can be written to" in str(caught.value)
    assert not isinstance(caught.value, ProblemCheckError)
    message = failure(Opens, "nothing_handed_over")
    assert message.startswith("policy 'fairness' fails nothing_handed_over: ")


# ------------------------------------------------------------------ not reproducible, or not forgetful


@pytest.mark.parametrize("source", ["numpy", "random"])
def test_the_global_random_generator(source: str) -> None:
    class Dice(Idle):
        traits = Traits(problem="allocation", randomised=True)

        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, random.random() if source == "random" else np.random.rand())  # noqa: NPY002 - bad

    message = failure(Dice, "own_generator")
    assert "changes a global random generator" in message
    assert "Probable cause: it uses random or numpy.random directly; use the rng handed to start()" in message
    message = failure(Dice, "reproducible")
    assert "two runs on instance 'single jobs' with seed 0 differ from event 0 on" in message
    assert "random numbers from elsewhere than the rng" in message


def test_seeding_the_global_generator_is_no_way_out() -> None:
    class Seeder(Idle):
        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            super().start(setting, rng)
            np.random.seed(0)  # noqa: NPY002 - bad

    assert failing(Seeder) == {"own_generator"}


def test_a_generator_of_its_own() -> None:
    class Entropy(Idle):
        traits = Traits(problem="allocation", randomised=True)

        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, np.random.default_rng().random())

    assert {"reproducible", "start_resets"} <= failing(Entropy)


class Hoarder(Idle):
    """Counts its decisions over all its runs."""

    def __init__(self) -> None:
        self.count = 0

    def decide(self, observation: Observation) -> np.ndarray:
        self.count += 1
        return part(self, 1.0 / self.count)


@pytest.mark.parametrize("make", [Hoarder, Hoarder()], ids=["class", "object"])
def test_state_left_over_between_runs(make: Any) -> None:
    message = failure(make, "start_resets")
    assert "one policy object, played on instance 'single jobs' after others, differs from event 0" in message
    assert "Probable cause: start() leaves something over from the run before" in message
    assert failing(make) == {"start_resets"}


def test_state_left_over_in_the_class() -> None:
    class Shared(Idle):
        runs: list[int] = []  # noqa: RUF012 - the mistake that is meant

        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            super().start(setting, rng)
            self.runs.append(1)

        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, 1.0 / len(self.runs))

    assert {"reproducible", "start_resets"} <= failing(Shared)


# ------------------------------------------------------------------ traits


def test_randomness_that_is_not_declared() -> None:
    class Coin(Idle):
        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, self._rng.random())

    message = failure(Coin, "declared_traits")
    assert "traits.randomised is False, but seeds 0 and 1 on instance 'single jobs' differ" in message
    assert failing(Coin) == {"declared_traits"}


@pytest.mark.parametrize("share", [lambda _: 0.5, lambda rng: rng.random()])
def test_declared_randomness_that_no_seed_decides(share: Any) -> None:
    class Fixed(Idle):
        traits = Traits(problem="allocation", randomised=True)

        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            super().start(setting, rng)
            self.mine = np.random.default_rng(5)

        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, share(self.mine))

    assert "on no instance it draws from the rng handed to start()" in failure(Fixed, "declared_traits")
    assert failing(Fixed) == {"declared_traits"}


@pytest.mark.parametrize("draw", [lambda rng: rng.random(), lambda rng: rng.spawn(1)[0].random()])
def test_randomness_that_decides_nothing_here_is_randomness(draw: Any) -> None:
    class Careful(Idle):
        traits = Traits(problem="allocation", randomised=True)

        def decide(self, observation: Observation) -> np.ndarray:
            return part(self, 0.5 if draw(self._rng) < 2.0 else 1.0)

    assert failing(Careful) == set()


def test_seeing_what_is_not_there() -> None:
    wrong = type("Wrong", (Idle,), {"traits": Traits(problem="allocation", sees=frozenset({"arrival"}))})
    assert "traits.sees names arrival; of allocation there is only arrivals to see" in failure(
        wrong, "declared_traits"
    )


@pytest.mark.parametrize(("guarantee", "proven"), [("regret <= 1", ""), ("none", "Theorem 7")])
def test_a_guarantee_without_its_source(guarantee: str, proven: str) -> None:
    traits = Traits(problem="allocation", guarantee=guarantee, proven=proven)
    message = failure(type("Wrong", (Idle,), {"traits": traits}), "declared_traits")
    assert f"traits.guarantee is {guarantee!r} and traits.proven is {proven!r}" in message


# ------------------------------------------------------------------ the instance, and what is kept


def test_writing_into_the_setting() -> None:
    class Careless(Idle):
        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            setting.capacity[:] *= 2.0

    message = failure(Careless, "feasible_decisions")
    assert "ValueError on instance 'single jobs': " in message
    assert "Probable cause: it writes into an array of its setting, observation or feedback" in message


@pytest.mark.parametrize("array", ["capacity", "edge_demand", "overhead"])
def test_forcing_its_way_into_the_setting(array: str) -> None:
    class Forger(Idle):
        def decide(self, observation: Observation) -> np.ndarray:
            target = getattr(self._setting, array)
            target.setflags(write=True)
            target[:] += 1
            target.setflags(write=False)
            return self._y

    message = failure(Forger, "instance_unchanged")
    assert "ValueError on instance 'single jobs': cannot set WRITEABLE flag" in message
    assert "Probable cause: it writes into an array of its setting, observation or feedback" in message


def test_replacing_a_field_of_the_setting() -> None:
    class Swapper(Idle):
        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            super().start(setting, rng)
            object.__setattr__(setting, "slots", setting.slots - 1)

    message = failure(Swapper, "feasible_decisions")
    assert "TamperError on instance 'single jobs': policy 'idle' changed setting.slots in start" in message
    assert "Probable cause: it means to be scored by something else than what is so" in message


def test_hiding_something_in_the_setting() -> None:
    class Smuggler(Idle):
        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            super().start(setting, rng)
            vars(setting)["note"] = "for the next run"

    assert "changed setting.note in start" in failure(Smuggler, "feasible_decisions")


def test_writing_into_the_instance() -> None:
    one = kit.ordinary()["single jobs"]

    class Vandal(Idle):
        def decide(self, observation: Observation) -> np.ndarray:
            arrivals = find_instance("known").arrivals
            arrivals.setflags(write=True)
            arrivals[-1] = 7
            return self._y

    def find_instance(where: str) -> Any:
        frame: Any = sys._getframe(1)
        while frame.f_locals.get("where") != where or "instance" not in frame.f_locals:
            frame = frame.f_back
        return frame.f_locals["instance"]

    message = failure(Vandal, "instance_unchanged", instances={"known": one})
    assert "a run changes instance.arrivals.flags.writeable, instance.arrivals.values of " in message
    assert "Probable cause: it computes in place in an array of its setting" in message


# ------------------------------------------------------------------ kits, strategies and helpers


@pytest.mark.parametrize("problem", ["allocation", "allocation-gang", "selection", "selection-gang"])
def test_kits_keep_their_promises(problem: str) -> None:
    known = find_kit(problem)
    assert len(known.degenerate()) >= 8
    for instance in known.ordinary().values():
        one: Any = instance
        for event in range(one.setting.slots):
            for sees in (frozenset[str](), known.observable):
                for other in known.alter(instance, event, sees, ()):
                    changed: Any = other
                    same = event + (sees == known.observable)
                    assert np.array_equal(changed.arrivals[:same], one.arrivals[:same])
                    assert changed.digest() != instance.digest()
                    assert changed.setting.slots == one.setting.slots


def test_kits_are_made_afresh_by_every_call() -> None:
    first, second = kit.ordinary(), kit.ordinary()
    assert first == second
    assert all(first[name] is not second[name] for name in first)


def test_another_problem_registers_its_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = find_kit("allocation")
    monkeypatch.setitem(KITS, "cooking", mine)  # as it is to be found afterwards: not at all
    register_kit(
        type(mine)("cooking", mine.ordinary, mine.degenerate, mine.observable, mine.alter, mine.secrets)
    )
    assert find_kit("cooking").problem == "cooking"


def test_the_kit_of_a_room_loads_when_it_is_first_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not KITS
    monkeypatch.setattr("clairvoyant.testing.allocation", kit)  # as it is to be found afterwards
    monkeypatch.delitem(sys.modules, "clairvoyant.testing.allocation")
    assert find_kit("allocation-gang").problem == "allocation-gang"


@given(kit.instances())
@hypothesis_settings(max_examples=50, deadline=None)
def test_drawn_instances_can_be_written_and_read(instance: AllocationInstance) -> None:
    assert AllocationInstance.from_dict(instance.to_dict()) == instance


@given(kit.gang_instances())
@hypothesis_settings(max_examples=50, deadline=None)
def test_drawn_gang_instances_can_be_written_and_read(instance: AllocationGangInstance) -> None:
    assert AllocationGangInstance.from_dict(instance.to_dict()) == instance
    assert instance.violations(np.zeros(instance.setting.shape)) == []


@given(kit.settings().flatmap(lambda s: kit.decisions(s).map(lambda y: (s, y))))
@hypothesis_settings(max_examples=50, deadline=None)
def test_feasible_decisions_are_feasible(sampled: tuple[Setting, np.ndarray]) -> None:
    setting, y = sampled
    assert setting.violations(y) == []


@given(kit.settings(min_edges=1).flatmap(lambda s: kit.decisions(s, feasible=False).map(lambda y: (s, y))))
@hypothesis_settings(max_examples=80, deadline=None)
def test_infeasible_decisions_are_infeasible(sampled: tuple[Setting, np.ndarray]) -> None:
    setting, y = sampled
    assert setting.violations(y)


def test_canonical_forms_are_equal_bit_by_bit() -> None:
    def decision(last: float) -> Any:
        return (
            SimpleNamespace,
            {"a": [1, 2.5, np.array([1.0, last])]},
            {3, 4},
            Observation(0, np.zeros(2)),
            None,
        )

    assert canonical(decision(0.5)) == canonical(decision(0.5))
    assert canonical(decision(0.0)) != canonical(decision(-0.0))
    assert canonical(np.zeros(2)) != canonical(np.zeros(2, dtype=np.float32))
    assert canonical(np.nan) == canonical(np.nan)
    assert canonical(np.array([1, "a"], dtype=object)) == canonical([1, "a"])


def test_a_snapshot_finds_changes_of_every_kind() -> None:
    held = SimpleNamespace(numbers=[1, 2], table={"a": 1}, inside=Slotted(3), function=lambda: None)
    before = Snapshot(held, "held")
    assert before.changes() == []
    held.numbers.append(3)
    held.table["a"] = 2
    held.inside.inside = 4
    assert before.changes() == ["held.inside.inside", "held.numbers.[2]", "held.table.['a']"]


def test_the_walk_ends_in_circles_and_skips_what_is_empty() -> None:
    circle: list[Any] = []
    circle.append(circle)

    class Later(Idle):
        def decide(self, observation: Observation) -> np.ndarray:
            return part(never, 1.0)

    compiled = type("Dispatcher", (), {"__module__": "numba.core"})()
    compiled.compiler = [1]  # of a compiled function, nothing is followed: it knows the whole compiler
    spent = (row for row in [0])
    list(spent)
    paths = [
        path for path, _ in reachable([circle, Later(), spent, compiled], "root", __name__.partition(".")[0])
    ]
    never: Any = None
    assert "root[0]" in paths
    assert "root[3]" in paths
    assert "root[3].compiler" not in paths
    assert never is None


def test_a_json_form_that_leaves_something_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = AllocationInstance.to_dict

    def cut(self: AllocationInstance) -> dict[str, Any]:
        form = whole(self)
        return form | {"arrivals": form["arrivals"][:-1]}

    monkeypatch.setattr(AllocationInstance, "to_dict", cut)
    said = failure(Fairness, "reproducible")
    assert "and the one that is made from its JSON form show or pay something else" in said

    def lacking(self: AllocationInstance) -> dict[str, Any]:
        return {name: value for name, value in whole(self).items() if name != "arrivals"}

    monkeypatch.setattr(AllocationInstance, "to_dict", lacking)
    assert "something else (InputError: arrivals: missing field)" in failure(Fairness, "reproducible")
    monkeypatch.undo()
    dict(policy_checks(Fairness))["reproducible"]()
