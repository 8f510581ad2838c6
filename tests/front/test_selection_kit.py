"""The check kit of the selection problem: what it draws is what it says, and peeking is caught."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, find, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.selection.episode import SlotEpisode
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.setting import Feedback, Observation, Setting
from clairvoyant.online.base import Traits
from clairvoyant.online.selection import Greedy, Lcf
from clairvoyant.testing import PolicyCheckError, check_policy, policy_checks
from clairvoyant.testing import selection as kit
from clairvoyant.testing.generic import find_kit

SEES = frozenset({"arrivals"})
COMMITS = Traits(problem="selection")
LOOKS = Traits(problem="selection", sees=SEES)


# ------------------------------------------------------------------ what is drawn


@given(kit.instances())
@hypothesis_settings(max_examples=60, deadline=None)
def test_drawn_instances_can_be_written_and_read(instance: SelectionInstance) -> None:
    again = SelectionInstance.from_dict(instance.to_dict())
    assert again == instance
    assert np.array_equal(again.path, instance.path)


@given(kit.instances(max_ports=2, max_servers=4, max_kinds=1, min_slots=2, max_slots=3, min_channels=3))
@hypothesis_settings(max_examples=40, deadline=None)
def test_drawn_instances_keep_their_limits(instance: SelectionInstance) -> None:
    s = instance.setting
    assert s.ports <= 2
    assert s.servers <= 4
    assert s.kinds == 1
    assert 2 <= s.slots <= 3
    assert s.channels >= min(3, s.ports * s.servers)


@st.composite
def slots_with(draw: st.DrawFn, *, feasible: bool) -> tuple[Setting, np.ndarray, np.ndarray]:
    """Draw a setting, the arrivals of a slot, and a decision."""
    setting = draw(kit.settings())
    arrivals = np.array(draw(st.lists(st.integers(0, 1), min_size=setting.ports, max_size=setting.ports)))
    return setting, arrivals, draw(kit.decisions(setting, arrivals, feasible=feasible))


def broken(setting: Setting, x: np.ndarray, arrivals: np.ndarray) -> set[tuple[str, int]]:
    """Return what a decision breaks, by plain loops."""
    found = {("binary", e) for e in range(setting.channels) if x[e] not in (0.0, 1.0)}
    for e, (port, _) in enumerate(setting.edges):
        if x[e] != 0.0 and not arrivals[port]:
            found.add(("arrival", e))
    for k in range(setting.kinds):
        with np.errstate(invalid="ignore"):
            used = sum(setting.demand[e, k] * x[e] for e in range(setting.channels))
        if not used <= setting.capacity[k]:
            found.add(("capacity", k))
    return found


@given(slots_with(feasible=True))
@hypothesis_settings(max_examples=80, deadline=None)
def test_feasible_decisions_break_nothing(sampled: tuple[Setting, np.ndarray, np.ndarray]) -> None:
    setting, arrivals, x = sampled
    assert setting.violations(x, arrivals) == []
    assert setting.feasible(x, arrivals)
    assert broken(setting, x, arrivals) == set()


@given(slots_with(feasible=False))
@hypothesis_settings(max_examples=50, deadline=None)
@pytest.mark.filterwarnings("ignore:invalid value encountered")  # zero devices times infinity
def test_infeasible_decisions_break_something_in_the_right_place(
    sampled: tuple[Setting, np.ndarray, np.ndarray],
) -> None:
    setting, arrivals, x = sampled
    violations = setting.violations(x, arrivals)
    assert violations
    assert {(one.constraint, *one.index) for one in violations} == broken(setting, x, arrivals)
    assert not setting.feasible(x, arrivals)


def first_drawn(feasible: bool, condition: Callable[[Setting, np.ndarray, np.ndarray], bool]) -> Any:
    """Return a draw that meets a condition."""
    only = hypothesis_settings(phases=[Phase.generate], max_examples=1000, derandomize=True)
    return find(slots_with(feasible=feasible), lambda sampled: condition(*sampled), settings=only)


@pytest.mark.parametrize("constraint", ["binary", "arrival", "capacity"])
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_every_constraint_gets_broken_alone(constraint: str) -> None:
    setting, arrivals, x = first_drawn(
        False,
        lambda setting, arrivals, x: (
            {one.constraint for one in setting.violations(x, arrivals)} == {constraint}
        ),
    )
    assert broken(setting, x, arrivals)


def test_feasible_decisions_may_fill_the_capacity() -> None:
    setting, arrivals, x = first_drawn(
        True, lambda setting, _, x: x.sum() >= 2 and bool((x @ setting.demand == setting.capacity).any())
    )
    assert setting.feasible(x, arrivals)


# ------------------------------------------------------------------ the kit


def test_kits_of_both_problems_are_registered() -> None:
    assert find_kit("selection").problem == "selection"
    assert find_kit("selection-gang").problem == "selection-gang"


def test_ordinary_instances_have_no_two_channels_alike_and_bind() -> None:
    for name, instance in kit.ordinary().items():
        s = instance.setting
        assert len(np.unique(instance.mean)) == s.channels
        assert (s.demand.sum(axis=0) > s.capacity).any() == (name != "ample capacity")
        assert 0 < instance.arrivals.sum() < instance.arrivals.size


@pytest.mark.parametrize("name", kit.degenerate())
def test_degenerate_instances_can_be_decided_for(name: str) -> None:
    instance = kit.degenerate()[name]
    s = instance.setting
    assert SelectionInstance.from_dict(instance.to_dict()) == instance
    assert 0 <= s.most_channels <= s.channels
    assert instance.violations(np.zeros((s.slots, s.channels))) == []


@pytest.mark.parametrize("sees", [frozenset[str](), SEES], ids=["commits", "looks"])
@pytest.mark.parametrize("name", kit.ordinary())
def test_altered_instances_differ_only_in_what_is_not_yet_shown(name: str, sees: frozenset[str]) -> None:
    instance = kit.ordinary()[name]
    for event in range(instance.setting.slots):
        others = list(kit.alter(instance, event, sees, ()))
        shown = event + ("arrivals" in sees)
        changed = set()
        for other in others:
            assert other != instance
            for key in ("edges", "demand", "capacity", "cost", "ports", "slots"):
                assert np.array_equal(getattr(other.setting, key), getattr(instance.setting, key))
            assert np.array_equal(other.arrivals[:shown], instance.arrivals[:shown])
            assert np.array_equal(other.path[:event], instance.path[:event])
            for key in ("arrivals", "path", "mean"):
                if not np.array_equal(getattr(other, key), getattr(instance, key)):
                    changed.add(key)
        last = instance.setting.slots - 1
        assert changed == {"path", "mean"} | ({"arrivals"} if event < last or not sees else set())


@given(kit.instances(min_slots=1), st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_drawn_instances_can_be_altered(instance: SelectionInstance, data: st.DataObject) -> None:
    event = data.draw(st.integers(0, instance.setting.slots - 1))
    for other in kit.alter(instance, event, SEES, ()):
        assert other != instance
        assert np.array_equal(other.path[:event], instance.path[:event])
        assert np.array_equal(other.arrivals[: event + 1], instance.arrivals[: event + 1])


def test_secrets_are_the_arrivals_the_path_and_the_means() -> None:
    instance = kit.ordinary()["scarce devices"]
    arrivals, path, mean = kit.secrets(instance)
    assert arrivals is instance.arrivals
    assert path is instance.path
    assert mean is instance.mean


@pytest.mark.parametrize("name", ["nothing to earn", "everything sure"])
def test_means_that_slots_show_as_they_are_are_no_secret(name: str) -> None:
    instance = kit.degenerate()[name]
    assert all(secret is not instance.mean for secret in kit.secrets(instance))


@pytest.mark.usefixtures("small_tables")
def test_honest_policies_pass_without_noise() -> None:
    """What they are shown, and hold, is then equal to the means."""
    plain = kit.ordinary()["ample capacity"].to_dict() | {"noise": {"kind": "none"}}
    check_policy(Greedy, instances=[SelectionInstance.from_dict(plain)])


# ------------------------------------------------------------------ policies that peek


class Idle:
    """A user's own class, without any base class: it chooses nothing, ever."""

    name = "idle"
    traits = COMMITS

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        self._setting = setting

    def decide(self, observation: Observation) -> np.ndarray:
        return np.zeros(self._setting.channels)


class Spy(Idle):
    """Finds the instance in the local variables of the loop that plays it."""

    traits = LOOKS

    def decide(self, observation: Observation) -> np.ndarray:
        frame: Any = sys._getframe(1)
        while "episode" not in frame.f_locals or not isinstance(frame.f_locals["episode"], SlotEpisode):
            frame = frame.f_back
        instance: Any = frame.f_locals["episode"]._instance
        slot, setting = observation.slot, self._setting
        arrivals = instance.arrivals[slot] if observation.arrivals is None else observation.arrivals
        return setting.knapsack.best(self.values(instance, slot), open=setting.open(arrivals)).x

    def values(self, instance: SelectionInstance, slot: int) -> np.ndarray:
        return np.ones(self._setting.channels)


def failure(make: Any, check: str, **options: Any) -> str:
    """Return what one check has to say about a policy."""
    with pytest.raises(PolicyCheckError) as error:
        dict(policy_checks(make, **options))[check]()
    return str(error.value)


def knows(what: Callable[[SelectionInstance, int], np.ndarray]) -> type[Spy]:
    class Knowing(Spy):
        def values(self, instance: SelectionInstance, slot: int) -> np.ndarray:
            return what(instance, slot)

    return Knowing


PEEKS: dict[str, Callable[[SelectionInstance, int], np.ndarray]] = {
    "the means": lambda instance, _: instance.mean,
    "what channels are about to show": lambda instance, slot: instance.path[slot],
    "the end of the path": lambda instance, _: instance.path[-1],
    "the arrivals of the next slot": lambda instance, slot: (
        1.0 + instance.setting.open(instance.arrivals[min(slot + 1, len(instance.arrivals) - 1)])
    ),
}


@pytest.mark.usefixtures("small_tables")
def test_a_class_of_ones_own_passes() -> None:
    check_policy(Idle)


@pytest.mark.parametrize("what", PEEKS)
def test_knowing_what_is_not_shown(what: str) -> None:
    message = failure(knows(PEEKS[what]), "no_peeking")
    assert "changes when the future is altered from event" in message
    assert "Probable cause: it knows what has not happened yet" in message


def test_knowing_the_past_is_no_offence() -> None:
    def past(instance: SelectionInstance, slot: int) -> np.ndarray:
        return np.asarray(instance.path[slot - 1] if slot else np.ones(instance.setting.channels))

    dict(policy_checks(knows(past)))["no_peeking"]()


def test_seeing_the_arrivals_without_declaring_it() -> None:
    undeclared = type("Undeclared", (Spy,), {"traits": COMMITS})
    message = failure(undeclared, "no_peeking")
    assert "changes when the arrivals of an event is altered" in message
    dict(policy_checks(Spy))["no_peeking"]()


@pytest.mark.parametrize("secret", ["instance", "arrivals", "path", "mean", "copy", "end of the path"])
def test_holding_what_nature_has_yet_to_reveal(secret: str) -> None:
    one = kit.ordinary()["scarce devices"]
    held = {
        "instance": one,
        "arrivals": one.arrivals,
        "path": one.path,
        "mean": one.mean,
        "copy": one.mean.copy(),
        "end of the path": one.path[4:].copy(),
    }[secret]

    class Informed(Idle):
        def decide(self, observation: Observation) -> np.ndarray:
            assert held is not None
            return np.zeros(self._setting.channels)

    message = failure(Informed, "holds_no_instance", instances={"known": one})
    assert "can be reached as policy class.decide closure over held" in message


def test_learning_from_channels_that_were_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Feedback that leads to the whole path is found by the check of what is handed over."""

    class Leaky(SlotEpisode):
        def apply(self, decision: Any, *, enforce: bool = True) -> Any:
            outcome = super().apply(decision, enforce=enforce)
            path = self._instance.path[self._slot]
            feedback = Feedback(self._slot, np.arange(0), path)
            return type(outcome)(outcome.reward, outcome.feasible, feedback)

    monkeypatch.setattr(SelectionInstance, "episode", lambda self, sees: Leaky(self, "arrivals" in sees))
    message = failure(Idle, "nothing_handed_over")
    assert "feedback.utility" in message or "feedback.channels" in message


@given(kit.instances(min_slots=1, min_channels=1))
@hypothesis_settings(max_examples=40, deadline=None)
def test_feedback_shows_the_chosen_channels_and_no_others(instance: SelectionInstance) -> None:
    assume(instance.setting.channels > 0)
    policy = Lcf(misfit="skip")
    policy.start(instance.setting, np.random.default_rng(0))
    episode = instance.episode(policy.traits.sees)
    for observation in episode:
        x = policy.decide(observation)
        outcome = episode.apply(x)
        assert outcome.feedback.channels.tolist() == np.flatnonzero(x).tolist()
        assert np.array_equal(outcome.feedback.utility, instance.path[observation.slot][x])
        assert outcome.reward == pytest.approx(float(instance.mean[x].sum()))
