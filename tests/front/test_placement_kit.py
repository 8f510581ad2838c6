"""The check kit of the placement problem: what it draws is what it says, and peeking is caught."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import stats

from clairvoyant.models.base import DecisionError
from clairvoyant.models.placement.episode import JobEpisode
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.schedule import NOTHING, Schedule
from clairvoyant.models.placement.setting import Feedback, Observation, Setting
from clairvoyant.online.base import Traits
from clairvoyant.online.placement import POLICIES, FifoFirstFit, SjfConsolidate, SjfEstimateConsolidate
from clairvoyant.online.play import Replay, play
from clairvoyant.testing import PolicyCheckError, check_policy, policy_checks
from clairvoyant.testing import placement as kit
from clairvoyant.testing.generic import find_kit
from clairvoyant.testing.graph import canonical

SEES = frozenset({"durations"})
HEARS = frozenset({"estimates"})
VIEWS = {"blind": frozenset[str](), "told": SEES, "guessing": HEARS, "told all": SEES | HEARS}
BLIND = Traits(problem="placement")
TOLD = Traits(problem="placement", sees=SEES)
GUESSING = Traits(problem="placement", sees=HEARS)
ALL = Traits(problem="placement", sees=SEES | HEARS)
SCARCE = [kit.ordinary()["scarce machines"]]


# ------------------------------------------------------------------ what is drawn


@given(kit.instances(), kit.instances(min_jobs=1, estimates=True))
@hypothesis_settings(max_examples=60, deadline=None)
def test_drawn_instances_can_be_written_and_read(plain: PlacementInstance, other: PlacementInstance) -> None:
    for instance in (plain, other):
        assert PlacementInstance.from_dict(instance.to_dict()) == instance
    assert plain.jobs.estimate is None
    assert other.jobs.estimate is not None


@given(
    kit.instances(
        max_machines=2, min_jobs=2, max_jobs=3, max_gpus=1, max_instances=2, slowdowns=False, windows=False
    )
)
@hypothesis_settings(max_examples=40, deadline=None)
def test_drawn_instances_keep_their_limits(instance: PlacementInstance) -> None:
    s, jobs = instance.setting, instance.jobs
    assert len(s.capacity) <= 2
    assert 2 <= len(jobs) <= 3
    assert s.capacity[:, 0].max() <= 1
    assert jobs.instances.max() <= 2
    assert s.slowdown.communication == s.slowdown.contention == 0.0
    assert s.window == 64


def test_many_drawn_instances_have_jobs_that_wait_and_jobs_on_several_machines() -> None:
    waits, spans = [], []

    @given(kit.instances(min_jobs=2))
    @hypothesis_settings(max_examples=100, deadline=None, derandomize=True, database=None)
    def draw(instance: PlacementInstance) -> None:
        run = play(FifoFirstFit(), instance, keep_decisions=True)
        schedule = instance.schedule_of(run.decisions or ())
        waits.append((schedule.start > instance.jobs.submit).any())
        spans.append((np.bincount(schedule.rows[:, 0]) > 1).any())

    draw()
    assert sum(waits) > 0.2 * len(waits)
    assert sum(spans) > 0.1 * len(spans)


@given(kit.instances(), st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_drawn_schedules_break_nothing(instance: PlacementInstance, data: st.DataObject) -> None:
    schedule = data.draw(kit.schedules(instance))
    assert instance.violations(schedule) == []
    run = play(Replay(instance.decisions(schedule), "placement"), instance, keep_decisions=True)
    assert run.total == pytest.approx(instance.cost(schedule), rel=1e-12)
    again = instance.schedule_of(run.decisions or ())
    assert canonical(again) == canonical(schedule)


@given(kit.instances(min_jobs=1), st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_drawn_faults_break_what_they_say(instance: PlacementInstance, data: st.DataObject) -> None:
    constraint, schedule = data.draw(kit.faults(instance))
    found = {one.constraint for one in instance.violations(schedule)}
    assert constraint in found
    if constraint not in ("job", "finish"):
        with pytest.raises(DecisionError) as error:
            play(Replay(instance.decisions(schedule), "placement"), instance)
        assert {one.constraint for one in error.value.violations} == (
            {"progress"} if "start" in found else found
        )


@st.composite
def faulty(draw: st.DrawFn, constraint: str) -> tuple[PlacementInstance, Schedule]:
    """Draw an instance and a schedule that breaks a constraint."""
    instance = draw(kit.instances(min_jobs=1))
    return instance, draw(kit.faults(instance, [constraint]))[1]


@pytest.mark.parametrize("constraint", kit.CONSTRAINTS)
def test_every_constraint_gets_broken(constraint: str) -> None:
    only = hypothesis_settings(phases=[Phase.generate], max_examples=500, derandomize=True, database=None)
    instance, schedule = find(faulty(constraint), lambda _: True, settings=only)
    assert constraint in {one.constraint for one in instance.violations(schedule)}


# ------------------------------------------------------------------ the kit


def test_the_kit_is_registered() -> None:
    assert find_kit("placement").problem == "placement"


def test_ordinary_instances_have_no_two_jobs_alike_and_more_than_the_window_holds() -> None:
    for name, instance in kit.ordinary().items():
        jobs = instance.jobs
        assert len(np.unique(jobs.submit)) == len(np.unique(jobs.duration)) == len(jobs)
        assert jobs.estimate is not None
        assert len(np.unique(jobs.estimate)) == len(jobs)
        assert 0.1 < stats.spearmanr(jobs.estimate, jobs.duration).statistic < 0.95
        assert len(np.unique(np.column_stack([jobs.need, jobs.instances]), axis=0)) > 0.7 * len(jobs)
        assert len(jobs) > instance.setting.window
        assert jobs.instances.max() > 1
        run = play(FifoFirstFit(), instance, keep_decisions=True)
        assert len(run.rewards) >= 8
        schedule = instance.schedule_of(run.decisions or ())
        assert (schedule.start > jobs.submit).mean() > (0.5 if name != "ample machines" else 0.0)
        assert (np.bincount(schedule.rows[:, 0]) > 1).any()


@pytest.mark.parametrize("name", kit.degenerate())
def test_degenerate_instances_can_be_decided_for(name: str) -> None:
    instance = kit.degenerate()[name]
    assert (instance.jobs.estimate is None) == (len(instance.jobs) == 0)
    assert PlacementInstance.from_dict(instance.to_dict()) == instance
    run = play(Last(), instance, keep_decisions=True)
    schedule = instance.schedule_of(run.decisions or ())
    assert instance.violations(schedule) == []
    assert run.total == pytest.approx(instance.cost(schedule), rel=1e-12)


def epochs(policy: Any, instance: PlacementInstance, sees: frozenset[str], count: int) -> list[Any]:
    """Return what a policy is handed at the first epochs of an instance, and its decisions but the last."""
    episode, told = instance.episode(sees), []
    policy.start(instance.setting, np.random.default_rng(0))
    for observation in episode:
        told.append(canonical(observation))
        if len(told) == count:
            break
        decision = policy.decide(observation)
        told += [canonical(decision), canonical(episode.apply(decision).feedback)]
        count += 2
    return told


def check_alterations(
    policy: Any, instance: PlacementInstance, event: int, sees: frozenset[str]
) -> list[PlacementInstance]:
    """Return the altered instances, after all that is shown up to an event has been found to be the same."""
    decisions = play(policy, instance, keep_decisions=True).decisions or ()
    want = epochs(policy, instance, sees, event + 1)
    others = list(kit.alter(instance, event, sees, decisions))
    for other in others:
        assert other != instance
        assert other.to_dict() | {"jobs": 0} == instance.to_dict() | {"jobs": 0}
        assert epochs(policy, other, sees, event + 1) == want
    return others


def player(sees: frozenset[str]) -> Any:
    """Return a policy that uses what is seen."""
    if "estimates" in sees:
        return SjfEstimateConsolidate()
    return SjfConsolidate() if sees else FifoFirstFit()


@pytest.mark.parametrize("sees", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("name", kit.ordinary())
def test_altered_instances_show_the_same_up_to_the_event(name: str, sees: frozenset[str]) -> None:
    instance = kit.ordinary()[name]
    policy = player(sees)
    count = len(play(policy, instance).rewards)
    lengths = set()
    for event in range(count):
        others = check_alterations(policy, instance, event, sees)
        lengths |= {len(other.jobs) - len(instance.jobs) for other in others}
        alike = [other for other in others if len(other.jobs) == len(instance.jobs)]
        changed = [(other.jobs.duration != instance.jobs.duration).any() for other in alike]
        assert event == count - 1 or "durations" in sees or any(changed)
        believed = [(estimates_of(other) != estimates_of(instance)).all() for other in alike]
        assert any(believed) == ("estimates" not in sees)
    assert lengths >= {0, 1}
    assert min(lengths) < -3


@given(st.booleans(), st.sampled_from(list(VIEWS.values())), st.booleans(), st.data())
@hypothesis_settings(max_examples=50, deadline=None)
def test_drawn_instances_can_be_altered(
    estimates: bool, sees: frozenset[str], lazy: bool, data: st.DataObject
) -> None:
    sees = sees if estimates else sees - HEARS
    instance = data.draw(kit.instances(min_jobs=1, estimates=estimates))
    policy = Last() if lazy else FifoFirstFit()
    events = len(play(policy, instance).rewards)
    event = data.draw(st.integers(0, events - 1))
    assert check_alterations(policy, instance, event, sees)


def test_running_jobs_are_altered_so_that_they_still_run() -> None:
    instance = kit.ordinary()["scarce machines"]
    run = play(FifoFirstFit(), instance, keep_decisions=True)
    schedule = instance.schedule_of(run.decisions or ())
    event = 9
    now = int(np.unique(schedule.start)[event])
    running = np.flatnonzero((schedule.start < now) & (schedule.finish > now))
    assert len(running)
    shorter, longer = np.zeros(len(instance.jobs), dtype=bool), np.zeros(len(instance.jobs), dtype=bool)
    for other in kit.alter(instance, event, frozenset(), run.decisions or ()):
        if len(other.jobs) == len(instance.jobs):
            shorter |= other.jobs.duration < instance.jobs.duration
            longer |= other.jobs.duration > instance.jobs.duration
    assert shorter[running].any()
    assert longer[running].all()
    done = np.flatnonzero((schedule.finish <= now) & (schedule.start >= 0))
    assert len(done)
    assert not (shorter | longer)[done].any()


def test_secrets_are_what_the_jobs_are_like() -> None:
    instance = kit.ordinary()["scarce machines"]
    table, *columns = kit.secrets(instance)
    assert table is instance.table.duration
    jobs = instance.jobs
    for found, want in zip(
        columns,
        (jobs.submit, jobs.duration, jobs.instances, jobs.need, jobs.intensity, jobs.estimate),
        strict=True,
    ):
        assert found is want
    plain = PlacementInstance(machines=[{"gpus": 1, "cpus": 1, "memory": 1}], jobs=[])
    assert len(list(kit.secrets(plain))) == 6
    assert kit.shown(instance) == 4


# ------------------------------------------------------------------ policies of one's own


class Last:
    """A user's own class, without any base class: the youngest job first, on the last machines first.

    If it is not in the mood, it starts none, as long as something runs.
    """

    name = "last"
    traits = BLIND

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        self._setting = setting

    def mood(self, observation: Observation) -> bool:
        return True

    def decide(self, observation: Observation) -> np.ndarray:
        free, rows = observation.free.copy(), []
        if len(observation.running) and not self.mood(observation):
            return NOTHING
        for p in range(len(observation.jobs))[::-1]:
            need, left, mine = observation.need[p], int(observation.instances[p]), []
            for k in range(len(free))[::-1]:
                asked = need > 0
                count = min(left, int((free[k][asked] // need[asked]).min()))
                if count:
                    mine.append((int(observation.jobs[p]), k, count))
                    left -= count
            if left == 0:
                rows += mine
                for _, k, count in mine:
                    free[k] -= count * need
        return np.array(rows, dtype=np.int64).reshape(-1, 3)


def failure(make: Any, check: str, **options: Any) -> str:
    """Return what one check has to say about a policy."""
    with pytest.raises(PolicyCheckError) as error:
        dict(policy_checks(make, **options))[check]()
    return str(error.value)


def test_a_class_of_ones_own_passes() -> None:
    check_policy(Last)


def test_a_class_that_waits_passes() -> None:
    class Moody(Last):
        def mood(self, observation: Observation) -> bool:
            return observation.waiting % 2 == 0 and observation.time % 3 != 0

    check_policy(Moody)


# ------------------------------------------------------------------ policies that peek


class Spy(Last):
    """Finds the instance in the local variables of the loop that plays it, and is moved by what is there."""

    def mood(self, observation: Observation) -> bool:
        frame: Any = sys._getframe(1)
        while "episode" not in frame.f_locals or not isinstance(frame.f_locals["episode"], JobEpisode):
            frame = frame.f_back
        instance: Any = frame.f_locals["episode"]._instance
        return self.good(instance, observation)

    def good(self, instance: PlacementInstance, observation: Observation) -> bool:
        return True


def knows(what: Callable[[PlacementInstance, Observation], bool], traits: Traits = BLIND) -> type[Spy]:
    class Knowing(Spy):
        def good(self, instance: PlacementInstance, observation: Observation) -> bool:
            return what(instance, observation)

    Knowing.traits = traits
    return Knowing


def estimates_of(instance: PlacementInstance) -> np.ndarray:
    assert instance.jobs.estimate is not None
    return instance.jobs.estimate


FUTURE: dict[str, Callable[[PlacementInstance, Observation], bool]] = {
    "how many jobs come": lambda instance, _: len(instance.jobs) % 2 == 0,
    "how large the last job is": lambda instance, _: bool(instance.jobs.gpus[-1] % 2),
    "whether a job comes soon": lambda instance, seen: bool(
        (np.abs(instance.jobs.submit - seen.time - 1500) < 1500).any()
    ),
    "how intense the last job is": lambda instance, _: instance.jobs.intensity[-1] > 450,
    "what the last user believes": lambda instance, _: estimates_of(instance)[-1] % 2 == 0,
    "how long all jobs take": lambda instance, _: instance.jobs.duration.sum() % 2 == 0,
}
NOW: dict[str, Callable[[PlacementInstance, Observation], bool]] = {
    "how long the oldest takes": lambda instance, seen: instance.jobs.duration[seen.jobs[0]] % 2 == 0,
    "whether the youngest is long": lambda instance, seen: instance.jobs.duration[seen.jobs[-1]] > 20000,
    "how long a running job takes": lambda instance, seen: (
        instance.jobs.duration[seen.running[0, 0]] > seen.time
    ),
}


@pytest.mark.parametrize("what", FUTURE)
@pytest.mark.parametrize("traits", [BLIND, TOLD, GUESSING, ALL], ids=VIEWS)
def test_knowing_what_is_not_shown(what: str, traits: Traits) -> None:
    message = failure(knows(FUTURE[what], traits), "no_peeking")
    assert "changes when the future is altered from event" in message
    assert "Probable cause: it knows what has not happened yet" in message


@pytest.mark.parametrize("what", NOW)
def test_knowing_durations_without_declaring_it(what: str) -> None:
    for traits, hidden in ((BLIND, "durations, estimates"), (GUESSING, "durations")):
        message = failure(knows(NOW[what], traits), "no_peeking", instances=SCARCE)
        assert f"changes when the {hidden} of an event is altered" in message
    dict(policy_checks(knows(NOW[what], TOLD), instances=SCARCE))["no_peeking"]()


BELIEVED: dict[str, Callable[[PlacementInstance, Observation], bool]] = {
    "of the oldest": lambda instance, seen: estimates_of(instance)[seen.jobs[0]] > 20000,
    "of the youngest": lambda instance, seen: estimates_of(instance)[seen.jobs[-1]] > 20000,
    "of a running job": lambda instance, seen: estimates_of(instance)[seen.running[0, 0]] > 20000,
}


@pytest.mark.parametrize("what", BELIEVED)
def test_knowing_estimates_without_declaring_it(what: str) -> None:
    for traits, hidden in ((BLIND, "durations, estimates"), (TOLD, "estimates")):
        message = failure(knows(BELIEVED[what], traits), "no_peeking", instances=SCARCE)
        assert f"changes when the {hidden} of an event is altered" in message
    dict(policy_checks(knows(BELIEVED[what], GUESSING), instances=SCARCE))["no_peeking"]()


class SpyFirst(SjfConsolidate):
    """Shortest job first without declaring it: the durations come from where they are not to be had."""

    traits = BLIND

    def order(self, observation: Observation) -> np.ndarray:
        frame: Any = sys._getframe(1)
        while "episode" not in frame.f_locals or not isinstance(frame.f_locals["episode"], JobEpisode):
            frame = frame.f_back
        instance = frame.f_locals["episode"]._instance
        return np.argsort(instance.jobs.duration[observation.jobs], kind="stable")


@pytest.mark.parametrize("strict", [False, True])
def test_shortest_first_by_stealth(strict: bool) -> None:
    message = failure(lambda: SpyFirst(strict), "no_peeking")
    assert "changes when the durations, estimates of an event is altered" in message


def test_knowing_what_waits_beyond_the_window() -> None:
    def beyond(instance: PlacementInstance, seen: Observation) -> bool:
        arrived = int(np.searchsorted(instance.jobs.submit, seen.time, side="right"))
        return bool(instance.jobs.duration[seen.jobs[-1] + 1 : arrived].sum() % 4 < 2)

    def believed(instance: PlacementInstance, seen: Observation) -> bool:
        arrived = int(np.searchsorted(instance.jobs.submit, seen.time, side="right"))
        return bool(estimates_of(instance)[seen.jobs[-1] + 1 : arrived].sum() % 4 < 2)

    for traits in (BLIND, TOLD, GUESSING, ALL):
        for what in (beyond, believed):
            assert "the future is altered" in failure(knows(what, traits), "no_peeking")


def test_knowing_the_past_is_no_offence() -> None:
    def past(instance: PlacementInstance, seen: Observation) -> bool:
        jobs = instance.jobs
        ended = seen.ended[:, 0]
        return bool((jobs.need[seen.jobs].sum() + jobs.duration[ended].sum()) % 2)

    dict(policy_checks(knows(past)))["no_peeking"]()


def test_shortest_first_without_declaring_it() -> None:
    class Undeclared(Last):
        def decide(self, observation: Observation) -> np.ndarray:
            assert observation.duration is not None
            return NOTHING

    assert "fails feasible_decisions: AssertionError" in failure(Undeclared, "feasible_decisions")


def test_a_policy_that_declares_nothing_sees_no_estimate() -> None:
    class Undeclared(Last):
        def decide(self, observation: Observation) -> np.ndarray:
            order = np.argsort(observation.estimate + 0)  # type: ignore[operator]
            return super().decide(observation) if len(order) else NOTHING

    assert "it uses what it does not declare to see" in failure(Undeclared, "feasible_decisions")

    class Declared(Undeclared):
        traits = GUESSING

    check_policy(Declared)


def test_given_instances_need_the_estimates_that_a_policy_sees() -> None:
    (one,) = list(kit.ordinary().values())[:1]
    bare = [{k: v for k, v in job.items() if k != "estimate"} for job in one.jobs.to_list()]
    plain = PlacementInstance.from_dict(one.to_dict() | {"jobs": bare})
    check_policy(FifoFirstFit, instances=[plain])
    message = failure(SjfEstimateConsolidate, "feasible_decisions", instances=[plain])
    assert "the jobs of the instance have none; give every job an estimate" in message


def test_a_name_for_what_cannot_be_seen() -> None:
    class Wrong(Last):
        traits = Traits(problem="placement", sees=frozenset({"duration"}))

    assert "there is only durations, estimates to see" in failure(Wrong, "declared_traits")


# ------------------------------------------------------------------ policies that cheat in other ways


@pytest.mark.parametrize(
    "secret",
    [
        *("instance", "table", "durations", "estimates"),
        *("copy of durations", "copy of estimates", "copy of needs", "end of submissions"),
    ],
)
def test_holding_what_nature_has_yet_to_reveal(secret: str) -> None:
    one = kit.ordinary()["scarce machines"]
    held: Any = {
        "instance": one,
        "table": one.table,
        "durations": one.jobs.duration[:2],
        "estimates": estimates_of(one)[:2],
        "copy of durations": one.jobs.duration.copy(),
        "copy of estimates": estimates_of(one).copy(),
        "copy of needs": one.jobs.need[1:].copy(),
        "end of submissions": one.jobs.submit[-5:].copy(),
    }[secret]

    class Informed(Last):
        def decide(self, observation: Observation) -> np.ndarray:
            assert held is not None
            return super().decide(observation)

    message = failure(Informed, "holds_no_instance", instances={"known": one})
    assert "can be reached as policy class.decide closure over held" in message


def test_holding_as_much_as_an_observation_shows_is_no_offence() -> None:
    one = kit.ordinary()["scarce machines"]
    held = one.jobs.submit[-4:].copy()

    class Informed(Last):
        def decide(self, observation: Observation) -> np.ndarray:
            assert len(held)
            return super().decide(observation)

    check_policy(Informed, instances={"known": one})


def test_keeping_the_instance() -> None:
    one = kit.ordinary()["scarce machines"]

    class Keeper(Last):
        def __init__(self) -> None:
            self.instance = one

    message = failure(Keeper, "holds_no_instance", instances={"known": one})
    assert "the instance can be reached as policy.instance" in message


def test_an_observation_that_leads_to_the_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    class Leaky(JobEpisode):
        def apply(self, decision: Any, *, enforce: bool = True) -> Any:
            outcome = super().apply(decision, enforce=enforce)
            feedback: Any = Feedback(self._instance.jobs.duration)  # type: ignore[arg-type]
            return type(outcome)(outcome.reward, outcome.feasible, feedback)

    monkeypatch.setattr(PlacementInstance, "episode", lambda self, sees: Leaky(self, sees))
    assert "feedback.cost" in failure(Last, "nothing_handed_over")


def test_waiting_for_a_better_time_that_never_comes() -> None:
    class Idle(Last):
        def decide(self, observation: Observation) -> np.ndarray:
            return NOTHING

    message = failure(Idle, "feasible_decisions")
    assert "progress exceeded by" in message


@pytest.mark.parametrize(("factor", "broken"), [(2, "gang"), (0, "count"), (-1, "count")])
def test_infeasible_decisions(factor: int, broken: str) -> None:
    class Wrong(Last):
        def decide(self, observation: Observation) -> np.ndarray:
            return super().decide(observation) * [1, 1, factor]

    message = failure(Wrong, "feasible_decisions")
    assert "an infeasible decision on instance 'scarce machines'" in message
    assert broken in message


def test_machines_that_are_full() -> None:
    class Crowding(Last):
        def decide(self, observation: Observation) -> np.ndarray:
            return np.column_stack([observation.jobs, 0 * observation.jobs, observation.instances])[:1]

    assert "capacity[0]" in failure(Crowding, "feasible_decisions")


def test_decisions_of_no_use() -> None:
    class Silent(Last):
        def decide(self, observation: Observation) -> Any:
            return None

    assert "decide() must return rows (job, machine, count)" in failure(Silent, "feasible_decisions")


def test_randomness_from_elsewhere() -> None:
    rng = np.random.default_rng(0)

    class Moody(Last):
        def mood(self, observation: Observation) -> bool:
            return bool(rng.random() < 0.5)

    assert "it draws random numbers from elsewhere" in failure(Moody, "reproducible")


def test_undeclared_randomness() -> None:
    class Moody(Last):
        def start(self, setting: Setting, rng: np.random.Generator) -> None:
            super().start(setting, rng)
            self._rng = rng

        def mood(self, observation: Observation) -> bool:
            return bool(self._rng.random() < 0.5)

    assert "traits.randomised is False" in failure(Moody, "declared_traits")


def test_something_left_over_from_the_run_before() -> None:
    class Growing(Last):
        count = 0

        def mood(self, observation: Observation) -> bool:
            self.count += 1
            return self.count % 3 == 0

    assert "start() leaves something over" in failure(Growing, "start_resets")


def test_writing_into_an_observation() -> None:
    class Vandal(Last):
        def decide(self, observation: Observation) -> np.ndarray:
            observation.free[0] = 0
            return NOTHING

    assert "Probable cause: it writes into an array" in failure(Vandal, "feasible_decisions")


@given(
    kit.instances(min_jobs=1, estimates=True),
    st.sampled_from(["fifo-consolidate", "sjf-consolidate", "sjf-estimate-consolidate", "tetris"]),
)
@hypothesis_settings(max_examples=40, deadline=None)
def test_observations_are_consistent(instance: PlacementInstance, name: str) -> None:
    policy, jobs = POLICIES[name](), instance.jobs
    policy.start(instance.setting, np.random.default_rng(0))
    episode = instance.episode(policy.traits.sees)
    time = -1
    started: set[int] = set()
    ended: set[int] = set()
    for seen in episode:
        assert seen.time > time
        time = seen.time
        arrived = set(np.flatnonzero(jobs.submit <= time).tolist())
        window = sorted(arrived - started)
        assert seen.waiting == len(window)
        assert seen.jobs.tolist() == window[: instance.setting.window]
        for key in ("submit", "instances", "need", "intensity"):
            assert np.array_equal(getattr(seen, key), getattr(jobs, key)[seen.jobs])
        for what, found, column in (
            ("durations", seen.duration, jobs.duration),
            ("estimates", seen.estimate, jobs.estimate),
        ):
            assert (found is not None) == (what in policy.traits.sees)
            assert found is None or (column is not None and np.array_equal(found, column[seen.jobs]))
        ended |= set(seen.ended[:, 0].tolist())
        assert (seen.ended[:, 2] <= time).all()
        assert set(seen.running[:, 0].tolist()) == started - ended
        used = np.zeros_like(seen.free)
        np.add.at(used, seen.running[:, 1], seen.running[:, 2:] * jobs.need[seen.running[:, 0]])
        assert np.array_equal(seen.free, instance.setting.capacity - used)
        assert not any(value.flags.writeable for value in vars(seen).values() if hasattr(value, "flags"))
        decision = policy.decide(seen)
        started |= set(decision[:, 0].tolist())
        episode.apply(decision)
    assert started == set(range(len(jobs)))
