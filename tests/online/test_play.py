"""The loop that plays a policy, and what comes out of it."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import clairvoyant as cv
from clairvoyant import api
from clairvoyant.models.allocation.episode import SlotEpisode
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.setting import Feedback, Observation, Setting
from clairvoyant.models.base import DecisionError, InputError, Outcome
from clairvoyant.online.allocation import Fairness, Ogasched
from clairvoyant.online.base import Policy, Traits
from clairvoyant.online.play import Replay, Run, play, policy_stream
from clairvoyant.testing.allocation import ordinary


def instance() -> AllocationInstance:
    return ordinary()["single jobs"]


class Constant:
    """Commits the same decision in every slot."""

    name = "constant"
    traits = Traits(problem="allocation")

    def __init__(self, factor: float = 0.0) -> None:
        self.factor = factor

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        self.y = self.factor * setting.edge_demand

    def decide(self, observation: Observation) -> np.ndarray:
        return self.y


class Coin(Constant):
    """Holds nothing, or a random part of what fits."""

    name = "coin"
    traits = Traits(problem="allocation", randomised=True)

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        self._setting, self._rng = setting, rng

    def decide(self, observation: Observation) -> np.ndarray:
        return self._setting.project(self._rng.random(self._setting.shape))


def test_what_a_policy_sees_is_a_set_of_names_and_no_text() -> None:
    assert Traits("allocation", sees={"arrivals"}).sees == frozenset({"arrivals"})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"sees: 'arrivals' is a text; write {'arrivals'}"):
        Traits("allocation", sees="arrivals")  # type: ignore[arg-type]


def test_a_class_without_base_class_is_a_policy() -> None:
    assert isinstance(Constant(), Policy)
    assert not isinstance(object(), Policy)


def test_a_run_holds_rewards_and_where_they_come_from() -> None:
    one = instance()
    run = play(Fairness(), one, seed=7)
    assert (run.policy, run.seed, run.digest) == ("fairness", 7, one.digest())
    assert run.rewards.shape == (one.setting.slots,)
    assert run.total == run.rewards.sum()
    assert (run.infeasible, run.decisions) == (0, None)
    assert run.seconds > 0
    assert repr(run).startswith("Run('fairness', seed=7, events=12, total=")


def test_rewards_are_those_of_the_instance() -> None:
    one = instance()
    y = one.setting.project(np.full(one.setting.shape, 0.7))
    run = play(Replay([y] * one.setting.slots, "allocation"), one)
    assert run.rewards == pytest.approx(one.rewards(y), rel=1e-12)


def test_replay_gives_decisions_and_rewards_again() -> None:
    one = instance()
    run = play(Fairness(), one, keep_decisions=True)
    assert run.decisions is not None
    again = Replay(run.decisions, "allocation")
    for _ in range(2):  # it begins again with every run
        replayed = play(again, one, keep_decisions=True)
        assert np.array_equal(replayed.rewards, run.rewards)


def test_kept_decisions_are_copies() -> None:
    """OGASched hands out the same buffer in every slot."""
    decisions = play(Ogasched(), instance(), keep_decisions=True).decisions
    assert decisions is not None
    assert not any(np.shares_memory(a, b) for a, b in pairwise(decisions))
    assert not np.array_equal(decisions[0], decisions[-1])


@pytest.mark.parametrize("most", [0, 1, 5, 12, 99])
def test_a_run_ends_after_so_many_events(most: int) -> None:
    asked: list[int] = []
    run = play(Fairness(), instance(), keep_decisions=True, progress=asked.append, most=most)
    whole = play(Fairness(), instance(), keep_decisions=True)
    assert asked == [*range(1, min(most, 12) + 1)]
    assert np.array_equal(run.rewards, whole.rewards[:most])
    assert np.array_equal(run.decisions or (), (whole.decisions or ())[:most])


def test_an_infeasible_decision_is_an_error_with_every_broken_constraint() -> None:
    one = instance()
    with pytest.raises(DecisionError) as error:
        play(Constant(2.0), one)
    message = str(error.value)
    assert message.startswith("slot 0: infeasible decision: demand[0][0][0] exceeded by ")
    assert message.count("exceeded by") == 3
    assert message.endswith(f" and {len(error.value.violations) - 3} more")
    assert error.value.violations == one.violations(2.0 * one.setting.edge_demand)
    first = error.value.violations[0]
    assert first.excess == pytest.approx(one.setting.demand[0, 0])


def test_a_single_broken_constraint_stands_alone() -> None:
    one = instance()
    y = np.zeros(one.setting.shape)
    y[0, 1] = -0.25
    with pytest.raises(
        DecisionError, match=r"^slot 0: infeasible decision: nonnegative\[0\]\[0\]\[1\] exceeded by 0.25$"
    ):
        play(Replay([y], "allocation"), one)


def test_without_enforcement_infeasible_decisions_are_counted_and_rewarded() -> None:
    one = instance()
    run = play(Constant(2.0), one, enforce=False)
    assert run.infeasible == one.setting.slots
    assert run.rewards == pytest.approx(one.rewards(2.0 * one.setting.edge_demand))
    assert play(Constant(0.0), one, enforce=False).infeasible == 0


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (np.zeros((2, 2)), r"decision: shape \(2, 2\) does not fit, expected \(\d+, 2\) \(edges, kinds\)"),
        ("all of it", "decision: 'all of it' is not a number"),
        (None, "decision: None; decide"),
        (np.ma.masked_equal([[0.0, 3.0]], 3.0), r"^replay: event 0: decision\[0\]\[1\]: 3 is masked"),
    ],
)
def test_a_decision_of_the_wrong_shape_or_type(decision: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        play(Replay([decision], "allocation"), instance())


@pytest.mark.parametrize(
    "problem",
    ["allocation", "allocation-gang", "selection", "selection-gang", "admission", "placement"],
)
def test_what_is_no_decision_is_told_with_policy_and_event(problem: str) -> None:
    one = api.generate(problem, "tiny", 1)
    (first, *_) = cv.play(next(iter(cv.list_policies(problem))), one, keep_decisions=True).decisions or ()
    for wrong in (np.zeros((2, 2, 2)), object()):
        with pytest.raises(InputError, match=r"^replay: event 1: decision: "):
            play(Replay([first, wrong], problem), one)


@pytest.mark.parametrize("reward", [float("nan"), float("-inf")])
def test_a_reward_that_is_no_finite_number_is_an_error(
    reward: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SlotEpisode, "apply", lambda *_, **__: Outcome(reward, True, None))
    with pytest.raises(InputError, match=r"event 0 pays (nan|-inf), which is no finite number"):
        play(Constant(), instance())


def test_the_wrong_problem() -> None:
    with pytest.raises(InputError, match=r"^policy: replay plays 'selection', the instance is 'allocation'$"):
        play(Replay([], "selection"), instance())


@pytest.mark.parametrize("member", ["name", "traits", "start", "decide"])
def test_a_policy_without_a_member(member: str) -> None:
    class Partial:
        pass

    for name in ("name", "traits", "start", "decide"):
        if name != member:
            setattr(Partial, name, getattr(Constant, name))
    with pytest.raises(InputError, match=f"^policy: Partial has no member '{member}'$"):
        play(Partial(), instance())  # type: ignore[arg-type]


def test_progress_is_told_after_every_event() -> None:
    told: list[int] = []
    play(Constant(), instance(), progress=told.append)
    assert told == list(range(1, 13))


def test_the_seed_decides_what_is_random() -> None:
    runs = [play(Coin(), instance(), seed).rewards for seed in (1, 1, 2)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_learn_is_optional_and_gets_the_arrivals_and_the_reward() -> None:
    class Learner(Constant):
        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            super().start(setting, rng)
            self.heard: list[Feedback] = []

        def learn(self, feedback: Feedback) -> None:
            self.heard.append(feedback)

    one, policy = instance(), Learner(0.1)
    run = play(policy, one)
    assert [f.slot for f in policy.heard] == list(range(12))
    assert [f.reward for f in policy.heard] == run.rewards.tolist()
    assert np.array_equal([f.arrivals for f in policy.heard], one.arrivals)


@pytest.mark.parametrize(
    "sees", [frozenset(), frozenset({"arrivals"})], ids=["commits first", "sees arrivals"]
)
def test_only_who_declares_it_sees_the_arrivals(sees: frozenset[str]) -> None:
    class Looker(Constant):
        traits = Traits(problem="allocation", sees=sees)

        def decide(self, observation: Observation) -> np.ndarray:
            self.seen = observation.arrivals
            return self.y

    policy = Looker()
    play(policy, instance())
    assert (policy.seen is not None) == bool(sees)


def test_runs_without_slots() -> None:
    empty = instance().with_arrivals(np.zeros((0, 4)))
    run = play(Constant(), empty, keep_decisions=True)
    assert isinstance(run, Run)
    assert (run.total, run.decisions, len(run.rewards)) == (0.0, (), 0)


def test_the_generator_does_not_tell_the_seed() -> None:
    assert policy_stream(0).random() == policy_stream(0).random()
    assert policy_stream(0).random() != policy_stream(1).random()
    told = policy_stream(7).bit_generator.seed_seq
    assert isinstance(told, np.random.SeedSequence)
    assert told.entropy != 7
    assert policy_stream(7).random() != np.random.default_rng(7).random()


def test_what_an_instance_does_not_show_cannot_be_seen() -> None:
    class Looker(Constant):
        name, traits = "looker", Traits(problem="allocation", sees=frozenset({"arival", "arrivals"}))

    told = r"^looker: traits\.sees names 'arival'; of allocation there is only arrivals to see$"
    with pytest.raises(InputError, match=told):
        play(Looker(), instance())
