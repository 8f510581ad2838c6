"""A kit made from a generator alone: it finds what it can, and says by name what it cannot look at."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from clairvoyant.models.allocation.episode import SlotEpisode
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.setting import Observation, Setting
from clairvoyant.models.base import InputError, Instance, Origin, Outcome, frozen
from clairvoyant.online.allocation import POLICIES, Fairness
from clairvoyant.online.base import Traits
from clairvoyant.problems import PluginError
from clairvoyant.testing import (
    CHECKS,
    PolicyCheckError,
    ProblemCheckError,
    Subject,
    UncheckedWarning,
    generic_kit,
)
from clairvoyant.testing.checks import _named
from clairvoyant.testing.generic import _secrets
from clairvoyant.testing.kit import LONG, Kit


@pytest.fixture
def kit(monkeypatch: pytest.MonkeyPatch) -> Kit:
    """What is known of the allocation problem if its instances say only what they reveal and show."""
    monkeypatch.setattr(AllocationInstance, "revealed", ("arrivals",))
    monkeypatch.setattr(AllocationInstance, "shows", frozenset({"arrivals"}))
    return generic_kit("allocation", generate)


def failing(make: Any, kit: Kit) -> set[str]:
    """The names of all checks that a policy does not pass."""
    found, subject = set(), Subject(make, kit, None, (0, 1))
    for check in CHECKS:
        try:
            check(subject)
        except PolicyCheckError:
            found.add(check.__name__)
    return found


class Spy:
    """Finds what is to come in the local variables of the loop that plays it."""

    name, traits = "spy", Traits("allocation", sees=frozenset({"arrivals"}))

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        self._setting = setting

    def decide(self, observation: Observation) -> np.ndarray:
        frame: Any = sys._getframe(1)
        while "episode" not in frame.f_locals or not isinstance(frame.f_locals["episode"], SlotEpisode):
            frame = frame.f_back
        factor = self.factor(frame.f_locals["episode"]._instance.arrivals, observation.slot)
        return self._setting.project(factor * self._setting.edge_demand)

    def factor(self, arrivals: np.ndarray, slot: int) -> float:
        return 1.0 / (1.0 + float(arrivals[slot + 1 :].sum()))


class Undeclared(Spy):
    traits = Traits(problem="allocation")

    def factor(self, arrivals: np.ndarray, slot: int) -> float:
        return 1.0 / (1.0 + float(arrivals[slot].sum()))


class Late(Spy):
    def factor(self, arrivals: np.ndarray, slot: int) -> float:
        return 1.0 / (1.0 + float(arrivals[slot + 1 :].sum())) if slot > 50 else 1.0


class Fragile(Fairness):
    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        super().start(setting, rng)
        self.part = 1.0 / setting.slots


class Keeper(Fairness):
    def __deepcopy__(self, memo: Any) -> Any:
        return self


def test_our_own_policies_pass(kit: Kit) -> None:
    assert [failing(POLICIES[name], kit) for name in ("ogasched", "fairness")] == [set(), set()]


@pytest.mark.parametrize(
    ("make", "checks"),
    [
        (Spy, {"no_peeking"}),
        (Undeclared, {"no_peeking"}),
        (Late, {"no_peeking"}),
        (Fragile, {"degenerate_instances"}),
    ],
)
def test_what_breaks_the_contract_is_found(kit: Kit, make: type[Any], checks: set[str]) -> None:
    assert failing(make, kit) == checks


def test_a_policy_that_holds_what_is_revealed_is_found(kit: Kit) -> None:
    keeper = Keeper()
    held = [generate("tiny", seed).arrivals[1:].astype(float) for seed in range(3)]
    keeper.held = held  # type: ignore[attr-defined]
    assert "holds_no_instance" in failing(lambda: keeper, kit)


def test_instances_are_cut_altered_and_prolonged(kit: Kit) -> None:
    assert kit.observable == {"arrivals"}
    assert {name: one.facts()["slots"] for name, one in kit.degenerate().items()} == {
        "no events": 0,
        "one event": 1,
        "events alike": generate("tiny", 0).setting.slots,
    }
    (long,) = kit.long().values()
    assert long.facts()["slots"] >= LONG
    one = generate("tiny", 0)
    for sees, same in ((frozenset({"arrivals"}), 3), (frozenset[str](), 2)):
        others = list(kit.alter(one, 2, sees, ()))
        assert others
        for other in others:
            assert isinstance(other, AllocationInstance)
            assert other.setting.slots == one.setting.slots  # else a policy would be told
            np.testing.assert_array_equal(other.arrivals[:same], one.arrivals[:same])
            assert not np.array_equal(other.arrivals, one.arrivals)
    assert not list(kit.alter(one, 2, frozenset({"something else"}), ()))


@pytest.mark.parametrize(
    ("revealed", "why"),
    [
        ("arrivals", "revealed: 'arrivals' is a text, not a tuple of texts"),
        (("arrival",), r"revealed: 'arrival' is no list of the JSON form; lists are .*arrivals"),
        (
            ("arrivals", "capacity"),
            "revealed: the lists arrivals, capacity of the JSON form have different lengths",
        ),
    ],
)
def test_what_names_no_events_is_refused(monkeypatch: pytest.MonkeyPatch, revealed: Any, why: str) -> None:
    monkeypatch.setattr(AllocationInstance, "revealed", revealed)
    with pytest.raises(PluginError, match=f"^problem 'allocation': {why}"):
        generic_kit("allocation", generate)


def test_a_generator_that_does_not_obey_its_seed_is_refused() -> None:
    seeds = count()
    with pytest.raises(PluginError, match="generate gives different instances for size tiny and seed 0"):
        generic_kit("allocation", lambda size, _seed: generate(size, next(seeds)))


def test_an_instance_that_raises_another_error_is_the_fault_of_its_problem(kit: Kit) -> None:
    def refuse(_data: Any) -> AllocationInstance:
        raise ValueError("no slots at all")

    with (
        mock.patch.object(AllocationInstance, "from_dict", refuse),
        pytest.raises(
            ProblemCheckError, match="from_dict raises ValueError: no slots at all; of what is no instance"
        ),
    ):
        kit.degenerate()


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([[1, 2], [3, 4]], [[[1, 2], [3, 4]]]),
        ([[1, 2], [3], []], []),
        ([[[1], [2]], [[1, 2], [3]]], []),
        ([{"p": 1}, {"p": 2, "w": 3}, {"w": 4}], [[1, 2], [3, 4]]),
        ([{"p": "a"}, {"p": 2}], []),
        ([], []),
    ],
)
def test_numbers_of_events_of_one_shape_are_looked_for(rows: list[Any], found: list[Any]) -> None:
    told = SimpleNamespace(revealed=("rows",), to_dict=lambda: {"rows": rows})
    assert [one.tolist() for one in _secrets(told)] == found  # type: ignore[arg-type]


@dataclass(frozen=True)
class Lots:
    """What is seen of an event of the problem below: an array of any length, and what has no fields."""

    lots: np.ndarray


class Bare:
    """The same, without fields, a value to print, or attributes that can be set."""

    __slots__ = ("lots",)

    def __init__(self, lots: np.ndarray) -> None:
        object.__setattr__(self, "lots", lots)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(name)


class Market(Instance):
    """Events are lists of numbers of any length; a decision is the number that is taken."""

    problem = "market"
    revealed = ("lots",)
    seen: Any = Lots

    def __init__(self, lots: Any) -> None:
        self.setting, self.lots = None, [list(map(float, one)) for one in lots]
        self.origin = Origin("made by hand")

    def to_dict(self) -> dict[str, Any]:
        return {"problem": self.problem, "version": 1, "lots": self.lots}

    @classmethod
    def from_dict(cls, data: Any) -> "Market":
        return cls(data["lots"])

    def episode(self, sees: frozenset[str]) -> Any:
        assert not sees
        return Stall(self)

    def violations(self, decision: Any) -> list[Any]:
        assert decision is not None
        return []


class Stall:
    """A pass through a market."""

    def __init__(self, market: Market) -> None:
        self._market = market

    def __iter__(self) -> Iterator[Any]:
        for lot in self._market.lots:
            yield self._market.seen(frozen(np.array(lot)))

    def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
        assert enforce
        return Outcome(float(decision), True, None)


class Taker:
    """Takes the largest number."""

    name, traits = "taker", Traits("market")

    def start(self, setting: Any, rng: np.random.Generator) -> None:
        pass

    def decide(self, seen: Any) -> float:
        return float(seen.lots.max(initial=0.0))


def draw_market(_size: str, seed: int) -> Market:
    rng = np.random.default_rng(seed)
    return Market([rng.random(int(rng.integers(1, 5))).tolist() for _ in range(12)])


@pytest.mark.parametrize("seen", [Lots, Bare])
def test_a_correct_problem_with_events_of_any_length_passes(
    seen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Market, "seen", seen)
    kit = generic_kit("market", draw_market)
    assert {"holds_no_instance", "nothing_handed_over"} <= kit.unchecked.keys()
    assert failing(Taker, kit) == set()


def test_what_such_a_problem_shows_beside_its_fields_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(2):

        def leak(self: Stall, at: int = at) -> Iterator[Any]:
            for lot in self._market.lots:
                seen = (Lots, Bare)[at](frozen(np.array(lot)))
                more = {"lots": frozen(np.array([*lot, len(self._market.lots)]))}
                object.__setattr__(seen, *(("more", more) if at == 0 else ("lots", more["lots"])))
                yield seen

        monkeypatch.setattr(Stall, "__iter__", leak)
        assert "no_peeking" in failing(Taker, generic_kit("market", draw_market))


def test_what_cannot_be_checked_is_said_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AllocationInstance, "shows", frozenset({"arrivals"}))
    silent = generic_kit("allocation", generate)
    assert set(silent.unchecked) == {
        *("degenerate_instances", "no_peeking", "holds_no_instance", "nothing_handed_over")
    }
    assert "AllocationInstance.revealed names no lists" in silent.unchecked["no_peeking"]
    assert not silent.degenerate()
    assert not silent.long()
    subject = Subject(Fairness, silent, None, (0, 1))
    for check in CHECKS:
        if check.__name__ in silent.unchecked:
            with pytest.warns(UncheckedWarning, match=f"allocation: {check.__name__} does not check all: "):
                _named(check, subject)()
        else:
            _named(check, subject)()


def test_a_generator_with_streams_of_its_own_is_said(kit: Kit) -> None:
    made = {seed: generate("tiny", seed) for seed in range(20)}
    own = generic_kit("allocation", lambda _size, seed: made[seed])
    assert "does not draw from" in own.unchecked["tries_no_seeds"]
    assert set(kit.unchecked) == {"degenerate_instances"}


def test_what_is_seen_in_part_and_what_allows_no_change_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AllocationInstance, "revealed", ("arrivals",))
    monkeypatch.setattr(AllocationInstance, "shows", frozenset({"arrivals", "weather"}))
    assert "seen in part" in generic_kit("allocation", generate).unchecked["no_peeking"]
    refused = partial(refuse, AllocationInstance.from_dict)
    monkeypatch.setattr(AllocationInstance, "from_dict", refused)
    assert "no change of what is revealed" in generic_kit("allocation", generate).unchecked["no_peeking"]


def refuse(*_: Any) -> Any:
    raise InputError("arrivals: are what they are")
