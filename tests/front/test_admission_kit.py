"""The check kit of the admission problem: what it draws is what it says, and peeking is caught."""

import itertools
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.admission.episode import SlotEpisode
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.schedule import NOTHING, Deployment, Schedule
from clairvoyant.models.admission.setting import Feedback, Observation, Setting
from clairvoyant.online.admission import Drf
from clairvoyant.online.base import Traits
from clairvoyant.online.play import Replay, play
from clairvoyant.testing import PolicyCheckError, check_policy, policy_checks
from clairvoyant.testing import admission as kit
from clairvoyant.testing.generic import find_kit

SEES = frozenset({"announced"})
BLIND = Traits(problem="admission")
TOLD = Traits(problem="admission", sees=SEES)


# ------------------------------------------------------------------ what is drawn


@given(kit.instances())
@hypothesis_settings(max_examples=60, deadline=None)
def test_drawn_instances_can_be_written_and_read(instance: AdmissionInstance) -> None:
    assert AdmissionInstance.from_dict(instance.to_dict()) == instance


@given(kit.instances(max_horizon=3, max_machines=1, max_resources=1, min_jobs=2, max_jobs=2, max_chunks=2))
@hypothesis_settings(max_examples=40, deadline=None)
def test_drawn_instances_keep_their_limits(instance: AdmissionInstance) -> None:
    s = instance.setting
    assert s.horizon <= 3
    assert max(len(s.worker_servers), len(s.parameter_servers)) <= 1
    assert len(s.resources) == 1
    assert len(instance.jobs) == 2
    assert all(job.chunks <= 2 for job in instance.jobs)


def test_most_drawn_instances_have_jobs_that_can_finish() -> None:
    sampled = []

    @given(kit.instances(min_jobs=1))
    @hypothesis_settings(max_examples=150, deadline=None, derandomize=True, database=None)
    def draw(instance: AdmissionInstance) -> None:
        sampled.append(len(instance.jobs) - len(instance.never))

    draw()
    assert sum(n > 0 for n in sampled) > 0.5 * len(sampled)
    assert sum(n > 1 for n in sampled) > 0.1 * len(sampled)


def broken(instance: AdmissionInstance, schedule: Schedule) -> set[str]:
    """Return the names of what a schedule breaks, by plain loops over exact numbers."""
    s, found = instance.setting, set()
    sides = (schedule.workers.tolist(), schedule.servers.tolist())
    machines = (s.worker_servers, s.parameter_servers)
    for rows, has in zip(sides, machines, strict=True):
        keys = [tuple(row[:3]) for row in rows]
        for t, i, h, n in rows:
            found |= {"slot"} if not 1 <= t <= s.horizon else set()
            found |= {"job"} if not 0 <= i < len(instance.jobs) else set()
            found |= {"machine"} if not 0 <= h < len(has) else set()
            found |= {"count"} if n < 0 else set()
        found |= {"twice"} if len(set(keys)) < len(keys) else set()
    if found:
        return found
    done = [0] * len(instance.jobs)
    for slot in range(1, s.horizon + 1):
        now = [[row[1:] for row in rows if row[0] == slot] for rows in sides]
        for job in instance.jobs:
            y, z = (sum(n for i, _, n in rows if i == job.index) for rows in now)
            ratio = Fraction(repr(job.worker_bandwidth)) / Fraction(repr(job.server_bandwidth))
            found |= {"arrival"} if y + z and slot < job.arrival else set()
            found |= {"finished"} if y + z and done[job.index] >= job.work else set()
            found |= {"chunks"} if y > job.chunks else set()
            found |= {"bandwidth"} if z < min(y, job.chunks) * ratio else set()
            found |= {"servers"} if z > y else set()
            done[job.index] += y
        for rows, has, name in zip(now, machines, ("worker", "server"), strict=True):
            for h, r in itertools.product(range(len(has)), range(len(s.resources))):
                taken = sum(
                    n * Fraction(repr(float(getattr(instance.jobs[i], f"{name}_demand")[r])))
                    for i, at, n in rows
                    if at == h
                )
                found |= {f"{name} capacity"} if taken > Fraction(repr(float(has[h, r]))) else set()
    unfinished = (0 < n < job.work for n, job in zip(done, instance.jobs, strict=True))
    return found | ({"work"} if any(unfinished) else set())


@given(kit.instances(min_jobs=1), st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_drawn_schedules_break_nothing(instance: AdmissionInstance, data: st.DataObject) -> None:
    schedule = data.draw(kit.schedules(instance))
    assert instance.violations(schedule) == []
    assert broken(instance, schedule) == set()
    deployments = schedule.deployments(instance.setting.horizon)
    run = play(Replay(deployments, "admission"), instance)
    assert run.rewards == pytest.approx(instance.rewards(schedule))


@given(kit.instances(min_jobs=1), st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_drawn_faults_break_what_they_say(instance: AdmissionInstance, data: st.DataObject) -> None:
    constraint, schedule = data.draw(kit.faults(instance))
    found = {one.constraint for one in instance.violations(schedule)}
    assert constraint in found
    judged = broken(instance, schedule)
    if found & {"slot", "job", "machine", "twice", "count"}:
        assert judged <= found
    else:
        assert judged == found


@st.composite
def faulty(draw: st.DrawFn, constraint: str) -> tuple[AdmissionInstance, Schedule]:
    """Draw an instance and a schedule that breaks a constraint."""
    instance = draw(kit.instances(min_jobs=1))
    return instance, draw(kit.faults(instance, [constraint]))[1]


@pytest.mark.parametrize("constraint", kit.CONSTRAINTS)
def test_every_constraint_gets_broken(constraint: str) -> None:
    only = hypothesis_settings(phases=[Phase.generate], max_examples=500, derandomize=True, database=None)
    instance, schedule = find(faulty(constraint), lambda _: True, settings=only)
    assert constraint in broken(instance, schedule)


# ------------------------------------------------------------------ the kit


def test_the_kit_is_registered() -> None:
    assert find_kit("admission").problem == "admission"


def test_ordinary_instances_have_no_two_jobs_alike_and_several_that_can_finish() -> None:
    for name, instance in kit.ordinary().items():
        rows = {tuple(map(str, job.to_dict().values())) for job in instance.jobs}
        assert len(rows) == len(instance.jobs)
        assert len(instance.jobs) - len(instance.never) >= 4
        assert bool(instance.never) == (name == "a job that cannot run")
        needed = sum(job.work * job.worker_demand for job in instance.jobs)
        room = instance.setting.worker_total * instance.setting.horizon
        assert (needed > 0.5 * room).any() == (name != "ample machines")


@pytest.mark.parametrize("name", kit.degenerate())
def test_degenerate_instances_can_be_decided_for(name: str) -> None:
    instance = kit.degenerate()[name]
    assert AdmissionInstance.from_dict(instance.to_dict()) == instance
    assert instance.violations(Schedule.empty()) == []
    assert play(Idle(), instance).total == 0.0


@pytest.mark.parametrize("sees", [frozenset[str](), SEES], ids=["blind", "told"])
@pytest.mark.parametrize("name", kit.ordinary())
def test_altered_instances_differ_only_in_what_is_not_yet_shown(name: str, sees: frozenset[str]) -> None:
    instance = kit.ordinary()[name]
    last = instance.setting.horizon
    for event in range(last):
        shown = [job.to_dict() for job in instance.jobs if job.arrival <= event + 1]
        changed = set()
        for other in kit.alter(instance, event, sees, ()):
            assert other != instance
            assert other.to_dict() | {"jobs": 0, "announced": 0} == instance.to_dict() | {
                "jobs": 0,
                "announced": 0,
            }
            assert [job.to_dict() for job in other.jobs if job.arrival <= event + 1] == shown
            changed |= set() if other.to_dict()["jobs"] == instance.to_dict()["jobs"] else {"jobs"}
            told = other.announced.to_dict() == instance.announced.to_dict()
            assert told or not sees
            changed |= set() if told else {"announced"}
        want = ({"jobs"} if event + 1 < last else set()) | (set() if sees else {"announced"})
        assert changed == want


@given(kit.instances(), st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_drawn_instances_can_be_altered(instance: AdmissionInstance, data: st.DataObject) -> None:
    event = data.draw(st.integers(0, instance.setting.horizon - 1))
    shown = [job.to_dict() for job in instance.jobs if job.arrival <= event + 1]
    for other in kit.alter(instance, event, SEES, ()):
        assert other != instance
        assert other.announced.to_dict() == instance.announced.to_dict()
        assert [job.to_dict() for job in other.jobs if job.arrival <= event + 1] == shown


def test_secrets_are_what_the_jobs_are_like() -> None:
    instance = kit.ordinary()["scarce machines"]
    arrivals, priorities, works, *needs = kit.secrets(instance)
    assert arrivals.tolist() == [job.arrival for job in instance.jobs]
    assert priorities.tolist() == [job.priority for job in instance.jobs]
    assert works is instance.works
    assert needs[0] is instance.worker_needs
    assert needs[1] is instance.server_needs


# ------------------------------------------------------------------ policies that peek


class Idle:
    """A user's own class, without any base class: it runs nothing, ever."""

    name = "idle"
    traits = BLIND

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        self._setting = setting

    def decide(self, observation: Observation) -> Deployment:
        return NOTHING


class Spy(Idle):
    """Finds the instance in the local variables of the loop that plays it, and runs by what it sees there."""

    def decide(self, observation: Observation) -> Deployment:
        frame: Any = sys._getframe(1)
        while "episode" not in frame.f_locals or not isinstance(frame.f_locals["episode"], SlotEpisode):
            frame = frame.f_back
        instance: Any = frame.f_locals["episode"]._instance
        rows = [[job.index, 0, 1] for job in observation.jobs[:1]] if self.good(instance, observation) else []
        room = [self._setting.worker_room(instance.jobs[i])[0] for i, _, _ in rows]
        room += [self._setting.server_room(instance.jobs[i])[0] for i, _, _ in rows]
        return Deployment(rows, rows) if all(room) else NOTHING

    def good(self, instance: AdmissionInstance, observation: Observation) -> bool:
        return True


def knows(what: Callable[[AdmissionInstance, Observation], bool], traits: Traits = BLIND) -> type[Spy]:
    class Knowing(Spy):
        def good(self, instance: AdmissionInstance, observation: Observation) -> bool:
            return what(instance, observation)

    Knowing.traits = traits
    return Knowing


def failure(make: Any, check: str, **options: Any) -> str:
    """Return what one check has to say about a policy."""
    with pytest.raises(PolicyCheckError) as error:
        dict(policy_checks(make, **options))[check]()
    return str(error.value)


PEEKS: dict[str, Callable[[AdmissionInstance, Observation], bool]] = {
    "how many jobs come": lambda instance, _: len(instance.jobs) % 2 == 0,
    "what the last job is worth": lambda instance, _: instance.jobs[-1].priority < 50.0,
    "whether a job comes next": lambda instance, seen: any(
        job.arrival == seen.slot + 1 for job in instance.jobs
    ),
    "how much work there is": lambda instance, _: instance.works.sum() % 2 == 0,
}


def test_a_class_of_ones_own_passes() -> None:
    check_policy(Idle)


@pytest.mark.parametrize("what", PEEKS)
@pytest.mark.parametrize("traits", [BLIND, TOLD], ids=["blind", "told"])
def test_knowing_what_is_not_shown(what: str, traits: Traits) -> None:
    message = failure(knows(PEEKS[what], traits), "no_peeking")
    assert "changes when the future is altered from event" in message
    assert "Probable cause: it knows what has not happened yet" in message


def test_knowing_the_past_is_no_offence() -> None:
    def past(instance: AdmissionInstance, seen: Observation) -> bool:
        return sum(job.priority for job in instance.jobs if job.arrival <= seen.slot) % 2.0 < 1.0

    dict(policy_checks(knows(past)))["no_peeking"]()


def test_using_what_is_announced_without_declaring_it() -> None:
    def told(instance: AdmissionInstance, _: Observation) -> bool:
        return instance.announced.share in (0.25, 1.0)

    message = failure(knows(told), "no_peeking")
    assert "changes when the announced of an event is altered" in message
    dict(policy_checks(knows(told, TOLD)))["no_peeking"]()


@pytest.mark.parametrize("secret", ["instance", "works", "needs", "arrivals", "end of the priorities"])
def test_holding_what_nature_has_yet_to_reveal(secret: str) -> None:
    one = kit.ordinary()["scarce machines"]
    held = {
        "instance": one,
        "works": one.works,
        "needs": one.worker_needs[2:],
        "arrivals": np.array([job.arrival for job in one.jobs]),
        "end of the priorities": np.array([job.priority for job in one.jobs[-3:]]),
    }[secret]

    class Informed(Idle):
        def decide(self, observation: Observation) -> Deployment:
            assert held is not None
            return NOTHING

    message = failure(Informed, "holds_no_instance", instances={"known": one})
    assert "can be reached as policy class.decide closure over held" in message


def test_an_observation_that_leads_to_the_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    class Leaky(SlotEpisode):
        def apply(self, decision: Any, *, enforce: bool = True) -> Any:
            outcome = super().apply(decision, enforce=enforce)
            feedback: Any = Feedback(outcome.feedback.slot, self._instance.works)  # type: ignore[arg-type]
            return type(outcome)(outcome.reward, outcome.feasible, feedback)

    monkeypatch.setattr(AdmissionInstance, "episode", lambda self, sees: Leaky(self, "announced" in sees))
    assert "feedback.completed" in failure(Idle, "nothing_handed_over")


@given(kit.instances(min_jobs=1))
@hypothesis_settings(max_examples=40, deadline=None)
def test_observations_show_every_job_once_when_it_arrives(instance: AdmissionInstance) -> None:
    policy = Drf()
    policy.start(instance.setting, np.random.default_rng(0))
    episode = instance.episode(policy.traits.sees)
    seen, completed = [], []
    for observation in episode:
        assert observation.announced is None
        assert all(job.arrival == observation.slot for job in observation.jobs)
        seen += [job.index for job in observation.jobs]
        outcome = episode.apply(policy.decide(observation))
        completed += outcome.feedback.completed
    assert seen == list(range(len(instance.jobs)))
    assert len(set(completed)) == len(completed)
