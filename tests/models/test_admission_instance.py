"""The admission instance: its files, its equality, what it refuses, what breaks a constraint, its episode."""

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import MOST_CHUNKS
from clairvoyant.models.admission.schedule import Deployment, Schedule
from clairvoyant.models.base import DecisionError, InputError, Origin, Violation
from clairvoyant.online.play import Replay, play
from clairvoyant.testing.admission import instances, schedules
from clairvoyant.testing.graph import reachable


def first() -> dict[str, Any]:
    """Return a job with W = ceil(2 * 2 * 0.75) = 3 that needs a parameter server for two workers."""
    return {
        "arrival": 1,
        "epochs": 2,
        "chunks": 2,
        "minibatches": 1,
        "minibatch_time": 0.75,
        "gradient_size": 0,
        "worker_bandwidth": 1,
        "server_bandwidth": 2,
        "worker_demand": [1, 1],
        "server_demand": [0, 1],
        "utility": {"priority": 10, "decay": 0, "target": 3},
    }


def second() -> dict[str, Any]:
    """Return a job with W = ceil(3 * 2 * (0.1 + 2 * 0.05 / 0.1)) = 7 and 0.3 / 0.1 workers to a server."""
    return {
        "arrival": 2,
        "epochs": 1,
        "chunks": 3,
        "minibatches": 2,
        "minibatch_time": 0.1,
        "gradient_size": 0.05,
        "worker_bandwidth": 0.1,
        "server_bandwidth": 0.3,
        "worker_demand": [0, 0.5],
        "server_demand": [0, 0.25],
        "utility": {"priority": 8, "decay": 1.5, "target": 2},
    }


def fields() -> dict[str, Any]:
    """Return a small instance in JSON form: 4 slots, 2 + 2 machines, 2 jobs, and a third that cannot run."""
    return {
        "problem": "admission",
        "version": 1,
        "horizon": 4,
        "resources": ["gpu", "memory"],
        "worker_servers": [[2, 4], [1, 2.5]],
        "parameter_servers": [[0, 3], [0, 1]],
        "jobs": [first(), second(), first() | {"arrival": 4}],
        "origin": {"source": "written for a test", "real": [], "filled": ["all"]},
    }


def small(**changes: Any) -> AdmissionInstance:
    return AdmissionInstance.from_dict(fields() | changes)


def with_job(**changes: Any) -> AdmissionInstance:
    """Return the small instance with fields of ``jobs[1]`` changed."""
    return small(jobs=[first(), second() | changes, first() | {"arrival": 4}])


WORKERS = [(1, 0, 0, 2), (2, 0, 0, 1), (2, 1, 1, 3), (3, 1, 1, 3), (4, 1, 0, 1)]
SERVERS = [(1, 0, 0, 1), (2, 0, 0, 1), (2, 1, 1, 1), (3, 1, 0, 1), (4, 1, 1, 1)]


def schedule(workers: Any = WORKERS, servers: Any = SERVERS) -> Schedule:
    """Return a schedule, by default one that gets the first two jobs done."""
    return Schedule(workers, servers)


# --- files, equality, digest --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["instance.json", "instance.json.gz"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"jobs": []},
        {"jobs": [], "worker_servers": [], "parameter_servers": []},
        {"announced": small(horizon=9).announced.to_dict()},
    ],
    ids=["small", "no jobs", "nothing", "announced"],
)
def test_a_round_trip_keeps_every_byte(name: str, changes: dict[str, Any], tmp_path: Path) -> None:
    one, two = tmp_path / name, tmp_path / f"again-{name}"
    instance = small(**changes)
    instance.save(one)
    again = clairvoyant.load(one)
    again.save(two)
    assert one.read_bytes() == two.read_bytes()
    assert isinstance(again, AdmissionInstance)
    assert again == instance
    assert again.digest() == instance.digest()
    assert again.announced.to_dict() == instance.announced.to_dict()
    assert again.origin == Origin("written for a test", (), ("all",))


@given(instances())
@settings(max_examples=40, deadline=None)
def test_the_json_form_gives_the_instance_back(instance: AdmissionInstance) -> None:
    text = json.dumps(instance.to_dict())
    again = AdmissionInstance.from_dict(json.loads(text))
    assert again == instance
    assert json.dumps(again.to_dict()) == text
    assert again.announced.to_dict() == instance.announced.to_dict()
    assert again.never == instance.never


def test_problem_and_version_come_first() -> None:
    assert list(small().to_dict())[:2] == ["problem", "version"]


def test_the_digest_does_not_change_between_releases() -> None:
    assert small().digest() == "b4df9001a73f9093"


@given(instances(min_jobs=1), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_only_the_order_of_jobs_that_arrive_together_counts(instance: AdmissionInstance, rng: Any) -> None:
    data = instance.to_dict()
    groups: dict[int, list[dict[str, Any]]] = {}
    for job in data["jobs"]:
        groups.setdefault(job["arrival"], []).append(job)
    slots = [job["arrival"] for job in data["jobs"]]
    rng.shuffle(slots)
    again = AdmissionInstance.from_dict({**data, "jobs": [groups[slot].pop(0) for slot in slots]})
    assert again == instance
    assert hash(again) == hash(instance)
    assert again.to_dict() == instance.to_dict()
    assert [job.index for job in again.jobs] == list(range(len(again.jobs)))
    arrivals = [job.arrival for job in again.jobs]
    assert arrivals == sorted(arrivals)


def test_jobs_of_the_same_slot_stay_as_they_were_given() -> None:
    jobs = [second() | {"arrival": 3, "epochs": 3}, first() | {"arrival": 3}, second()]
    assert [job.epochs for job in small(jobs=jobs).jobs] == [1, 3, 2]
    assert small(jobs=jobs) != small(jobs=[jobs[1], jobs[0], jobs[2]])


def test_equality_is_by_value_and_ignores_the_origin() -> None:
    assert small() == small(origin={"source": "elsewhere"})
    assert with_job(minibatch_time=-0.0) == with_job(minibatch_time=0)
    assert with_job(worker_demand=[-0.0, 0.5]) == small()
    assert small() != small(announced=small().announced.to_dict())  # what is told does not follow the jobs
    assert small() != "admission"


CHANGES = [
    {"horizon": 5},
    {"resources": ["gpu", "ram"]},
    {"worker_servers": [[2, 4], [1, 2.500001]]},
    {"parameter_servers": [[0, 3], [0, 1], [0, 0]]},
    {"jobs": [first(), second()]},
    *(
        {"jobs": [first(), second() | change, first() | {"arrival": 4}]}
        for change in (
            {"arrival": 3},
            {"epochs": 2},
            {"chunks": 2},
            {"minibatches": 3},
            {"minibatch_time": 0.1000001},
            {"gradient_size": 0.04},
            {"worker_bandwidth": 0.2},
            {"server_bandwidth": 0.4},
            {"worker_demand": [0, 0.5 + 1e-6]},
            {"server_demand": [1e-6, 0.25]},
            {"utility": {"priority": 8, "decay": 1.5, "target": 2.5}},
            {"utility": {"priority": 8, "decay": 1.25, "target": 2}},
            {"utility": {"priority": 9, "decay": 1.5, "target": 2}},
        )
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=[str(i) for i in range(len(CHANGES))])
def test_every_number_counts_for_equality(change: dict[str, Any]) -> None:
    assert small(**change) != small()
    assert small(**change).digest() != small().digest()


def test_arrays_are_read_only_and_copied() -> None:
    given = np.array([[2.0, 4.0], [1.0, 2.5]])
    instance = small(worker_servers=given)
    given[0, 0] = 7.0
    assert instance.setting.worker_servers[0, 0] == 2.0
    for array in (schedule().workers, schedule().servers):
        assert not array.flags.writeable
    for thing in (instance.setting, *instance.jobs, instance.announced):
        names = [name for name in dir(thing) if not name.startswith("__")]
        arrays = [a for a in (getattr(thing, name) for name in names) if isinstance(a, np.ndarray)]
        assert arrays
        assert not any(array.flags.writeable for array in arrays)
    for array in (instance.works, instance.worker_needs, instance.server_needs):
        assert not array.flags.writeable


def test_what_a_policy_holds_leads_nowhere() -> None:
    instance = small()
    episode = instance.episode(frozenset({"announced"}))
    observation = next(iter(episode))
    outcome = episode.apply(deployments(schedule())[0])
    with pytest.raises(AttributeError):
        observation.slot = 3  # type: ignore[misc]
    later = {id(job) for job in instance.jobs[1:]}
    hidden = later | {id(thing) for thing in (instance, instance.jobs, instance.works, episode)}
    for root in (observation, outcome.feedback, instance.setting):
        assert [path for path, thing in reachable(root, "held") if id(thing) in hidden] == []


# --- what is refused ----------------------------------------------------------------------------------------


WHOLE = [(name, 1) for name in ("epochs", "chunks", "minibatches")]
REAL = ["minibatch_time", "gradient_size", "worker_bandwidth", "server_bandwidth"]


@pytest.mark.parametrize("name", ["epochs", "chunks", "minibatches", "arrival"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "1", None, True, math.nan, math.inf, [1], 10**10])
def test_a_number_that_must_be_whole_and_positive_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.{name}: .* is not a whole number of at least 1"):
        with_job(**{name: value})


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("value", [-0.5, "1", None, False, math.nan, math.inf, -math.inf, [1], 2e9])
def test_a_number_out_of_range_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.{name}: .* is not "):
        with_job(**{name: value})


@pytest.mark.parametrize("name", ["worker_bandwidth", "server_bandwidth"])
def test_no_bandwidth_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.{name}: 0 is not at least 1e-09"):
        with_job(**{name: 0})


@pytest.mark.parametrize("name", ["priority", "decay", "target"])
@pytest.mark.parametrize("value", [-0.5, "1", None, math.nan, math.inf, 2e9])
def test_a_bad_utility_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.utility\.{name}: .* is not "):
        with_job(utility={"priority": 8, "decay": 1.5, "target": 2} | {name: value})


@pytest.mark.parametrize("name", ["worker_demand", "server_demand"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0], r": shape 1 does not fit, expected 2; R is 2 by resources$"),
        ([0, 1, 2], r": shape 3 does not fit, expected 2; R is 2 by resources$"),
        ([[0, 1]], r"\[0\]: \[0, 1\] is not a number$"),
        ([0, -1], r"\[1\]: -1 is not a finite number of at least 0"),
        ([0, math.nan], r"\[1\]: nan is not a finite number"),
        ([math.inf, 0], r"\[0\]: inf is not a finite number"),
        ([0, 2e9], r"\[1\]: 2e\+09|\[1\]: 2000000000 is not a finite number .* at most 1000000000"),
        ([0, "1"], r"\[1\]: '1' is not a number$"),
        ([0, True], r"\[1\]: True is not a number$"),
        ([0, 0.1234567], r"\[1\]: 0\.1234567 has more than 6 decimals$"),
        (3, r": 3 is not a list$"),
    ],
)
def test_a_bad_demand_is_named(name: str, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.{name}{message}"):
        with_job(**{name: value})


@pytest.mark.parametrize("name", ["worker_servers", "parameter_servers"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1]], r": shape 1 x 1 does not fit, expected n x 2; R is 2 by resources$"),
        ([[1, 2], [1]], r"\[1\]: length 1 differs from 2 of the first row$"),
        ([1, 2], r"\[0\]: 1 is not a list$"),
        ([[1, 2], [1, -1]], r"\[1\]\[1\]: -1 is not a finite number of at least 0"),
        ([[1, 2], [math.nan, 1]], r"\[1\]\[0\]: nan is not a finite number"),
        ([[1, 2], [1, math.inf]], r"\[1\]\[1\]: inf is not a finite number"),
        ([[1, None]], r"\[0\]\[1\]: None is not a number$"),
        ([[1, 1e-7]], r"\[0\]\[1\]: 1e-07 has more than 6 decimals$"),
        ([[1, 1.1e9]], r"\[0\]\[1\]: 1100000000 is not a finite number .* at most 1000000000$"),
        ("many", r": 'many' is not a list$"),
    ],
)
def test_bad_machines_are_named(name: str, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=rf"^{name}{message}"):
        small(**{name: value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 0}, r"^horizon: 0 is not a whole number of at least 1 and at most 10000$"),
        ({"horizon": 2.0}, r"^horizon: 2\.0 is not a whole number"),
        ({"horizon": 10**6}, r"^horizon: 1000000 is not a whole number"),
        ({"horizon": 3}, r"^jobs\[2\]\.arrival: 4 is not a whole number of at least 1 and at most 3$"),
        ({"resources": []}, r"^resources: \[\] is not a list of at least one name$"),
        ({"resources": "gpu"}, r"^resources: 'gpu' is not a list"),
        ({"resources": ["gpu", ""]}, r"^resources\[1\]: '' is not a name$"),
        ({"resources": ["gpu", 3]}, r"^resources\[1\]: 3 is not a name$"),
        ({"resources": ["gpu", "gpu"]}, r"^resources\[1\]: 'gpu' stands twice$"),
        (
            {"resources": ["gpu"]},
            r"^worker_servers: shape 2 x 2 does not fit, expected n x 1; R is 1 by resources$",
        ),
        ({"jobs": {}}, r"^jobs: \{\} is not a list$"),
        ({"jobs": None}, r"^jobs: None is not a list$"),
        ({"jobs": [first(), 3]}, r"^jobs\[1\]: 3 is not an object$"),
        ({"jobs": [first() | {"arrival": 5}]}, r"^jobs\[0\]\.arrival: 5 is not .* at most 4$"),
        ({"jobs": [first() | {"colour": 1}]}, r"^jobs\[0\]\.colour: unknown field"),
        (
            {"jobs": [first() | {"utility": 5}]},
            r"^jobs\[0\]\.utility: 5 is not an object with priority, decay and target$",
        ),
        (
            {"jobs": [first() | {"utility": {"priority": 1, "decay": 0}}]},
            r"^jobs\[0\]\.utility\.target: missing",
        ),
        (
            {"jobs": [first() | {"utility": {"priority": 1, "decay": 0, "target": 0, "gamma": 1}}]},
            r"^jobs\[0\]\.utility\.gamma: unknown field",
        ),
        (
            {"jobs": [first() | {"utility": {"priority": 0, "decay": 0, "target": 0}}]},
            r"^jobs\[0\]\.utility\.priority: 0 is not above 0$",
        ),
        (
            {"jobs": [first() | {"chunks": MOST_CHUNKS + 1}]},
            rf"^jobs\[0\]\.chunks: {MOST_CHUNKS + 1} is not a whole number .* at most {MOST_CHUNKS}$",
        ),
        (
            {"jobs": [first() | {"minibatch_time": 0}]},
            r"^jobs\[0\]\.minibatch_time: 0 with gradient_size 0 leaves no work to do$",
        ),
        ({"slots": 4}, r"^slots: unknown field"),
        ({"origin": {"source": 3}}, r"^origin\.source: 3 is not a string$"),
        ({"announced": 3}, r"^announced: 3 is not an object$"),
        ({"announced": {}}, r"^announced\.upper_workers: missing field$"),
        (
            {"announced": small().announced.to_dict() | {"upper_workers": [1.0]}},
            r"^announced\.upper_workers: \[1\.0\] is not a list of 2 numbers$",
        ),
        (
            {"announced": small().announced.to_dict() | {"upper_servers": [1.0, "2"]}},
            r"^announced\.upper_servers\[1\]: '2' is not a finite number$",
        ),
        (
            {"announced": small().announced.to_dict() | {"floor_servers": math.nan}},
            r"^announced\.floor_servers: nan is not a finite number",
        ),
        (
            {"announced": small().announced.to_dict() | {"share": 1.5}},
            r"^announced\.share: 1\.5 is not at least 0 and at most 1$",
        ),
        (
            {"announced": small().announced.to_dict() | {"share": None}},
            r"^announced\.share: None is not a finite number$",
        ),
    ],
)
def test_what_is_refused_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small(**changes)


@pytest.mark.parametrize("name", ["horizon", "resources", "worker_servers", "parameter_servers", "jobs"])
def test_a_missing_field_is_named(name: str) -> None:
    data = fields()
    del data[name]
    with pytest.raises(InputError, match=f"^{name}: missing field$"):
        AdmissionInstance.from_dict(data)


@pytest.mark.parametrize("name", list(first()))
def test_a_missing_field_of_a_job_is_named(name: str) -> None:
    job = first()
    del job[name]
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.{name}: missing field$"):
        small(jobs=[second(), job])


def test_an_error_inside_a_file_names_the_file_and_the_field(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    data = fields()
    data["jobs"][1]["chunks"] = 0
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.json: jobs\[1\]\.chunks: 0 is not a whole number"):
        clairvoyant.load(path)


# --- jobs that can never run --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"worker_bandwidth": 0.4}, "a worker has more bandwidth than a parameter server"),
        ({"worker_demand": [3, 0]}, "no machine holds a worker"),
        ({"worker_demand": [2, 4.000001]}, "no machine holds a worker"),
        ({"server_demand": [1, 0]}, "no machine holds a parameter server"),
        ({"server_demand": [0, 3.5]}, "no machine holds a parameter server"),
        ({"epochs": 2}, "14 worker-slots of work, at most 3 in each of the 3 slots left"),
        ({"arrival": 3}, "7 worker-slots of work, at most 3 in each of the 2 slots left"),
        (
            {"worker_demand": [2, 0], "worker_bandwidth": 0.3, "minibatch_time": 5},
            "32 worker-slots of work, at most 1 in each of the 3 slots left",
        ),
    ],
)
def test_a_job_that_can_never_finish_is_kept_and_told(changes: dict[str, Any], why: str) -> None:
    instance = with_job(**changes)
    index = next(j.index for j in instance.jobs if j.priority == 8)
    assert instance.never == {index: why, 2: "3 worker-slots of work, at most 2 in each of the 1 slots left"}
    assert instance.facts()["jobs that can never finish"] == 2
    assert len(instance.jobs) == 3
    assert AdmissionInstance.from_dict(instance.to_dict()) == instance


def test_jobs_that_can_never_finish_have_no_part_in_what_is_announced() -> None:
    one, two = small(), small(jobs=[first(), second()])
    assert one.never
    assert not two.never
    assert one.announced.to_dict() == two.announced.to_dict()


@pytest.mark.parametrize("side", ["worker_servers", "parameter_servers"])
def test_without_machines_no_job_can_run(side: str) -> None:
    instance = small(**{side: []})
    assert set(instance.never) == {0, 1, 2}


# --- exact work and exact numbers of parameter servers ------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "work"),
    [
        ({"epochs": 10, "chunks": 3, "minibatches": 1, "minibatch_time": 0.1, "gradient_size": 0}, 3),
        ({"epochs": 1, "chunks": 3, "minibatches": 10, "minibatch_time": 0.1, "gradient_size": 0}, 3),
        ({"epochs": 1, "chunks": 1, "minibatches": 3, "minibatch_time": 1.1, "gradient_size": 0}, 4),
        ({"epochs": 1, "chunks": 10, "minibatches": 7, "minibatch_time": 0.7, "gradient_size": 0}, 49),
        ({"epochs": 1, "chunks": 1, "minibatches": 1, "minibatch_time": 1e-9, "gradient_size": 0}, 1),
        ({"epochs": 1, "chunks": 1, "minibatches": 1, "minibatch_time": 0, "gradient_size": 0.15}, 3),
    ],
)
def test_work_is_rounded_up_exactly(changes: dict[str, Any], work: int) -> None:
    job = with_job(**changes).jobs[1]
    assert job.work == work
    assert job.shortest == -(-work // job.chunks)


def test_a_floating_point_ceil_would_be_wrong_here() -> None:
    assert math.ceil(0.1 * 10 * 3) == 3 != math.ceil(0.1 * 3 * 10)
    assert math.ceil(3 * 0.1 / 0.3) == 2  # where one parameter server is enough
    assert with_job().jobs[1].servers_for.tolist() == [0, 1, 1, 1]


@given(
    *(st.integers(1, 40) for _ in range(3)),
    *(st.integers(0, 5000) for _ in range(2)),
    *(st.integers(1, 3000) for _ in range(2)),
)
@settings(max_examples=100, deadline=None)
def test_work_and_servers_are_those_of_the_digits(
    epochs: int, chunks: int, minibatches: int, time: int, size: int, own: int, other: int
) -> None:
    tau, e, b, big = Fraction(time + 1, 1000), Fraction(size, 1000), Fraction(own, 100), Fraction(other, 100)
    job = with_job(
        epochs=epochs,
        chunks=chunks,
        minibatches=minibatches,
        minibatch_time=float(tau),
        gradient_size=float(e),
        worker_bandwidth=float(b),
        server_bandwidth=float(big),
    ).jobs[1]
    assert job.work == math.ceil(epochs * chunks * minibatches * (tau + 2 * e / b))
    assert job.shortest == math.ceil(epochs * minibatches * (tau + 2 * e / b))
    assert job.servers_for.tolist() == [min(math.ceil(y * b / big), 10_001) for y in range(chunks + 1)]


def test_capacity_is_exact_where_sums_of_decimals_are_not() -> None:
    assert 0.1 + 0.1 + 0.1 > 0.3
    job = second() | {"worker_demand": [0, 0.1], "epochs": 1, "minibatches": 1, "gradient_size": 0}
    job |= {"minibatch_time": 1.0}
    instance = small(jobs=[job], worker_servers=[[0, 0.3]])
    three = schedule([(2, 0, 0, 3)], [(2, 0, 0, 1)])
    assert instance.violations(three) == []
    assert instance.setting.worker_room(instance.jobs[0]).tolist() == [3]
    tight = small(jobs=[job], worker_servers=[[0, 0.299999]])
    assert tight.violations(three) == [Violation("worker capacity", (2, 0, 1), 1e-6)]


def test_utilities_are_sigmoids() -> None:
    one, two, _ = small().jobs
    assert [one.utility(d) for d in range(4)] == [5.0] * 4  # without decay half the priority at any time
    for delay in range(4):
        assert two.utility(delay) == pytest.approx(8 / (1 + math.exp(1.5 * (delay - 2))), rel=1e-12)
        assert two.log_utility(delay) == pytest.approx(math.log(two.utility(delay)), rel=1e-12)
    assert two.utilities(4).tolist() == [two.utility(d) for d in range(3)]
    assert (one.kind, two.kind) == ("insensitive", "sensitive")
    assert with_job(utility={"priority": 1, "decay": 4, "target": 1}).jobs[1].kind == "critical"
    late = with_job(utility={"priority": 1, "decay": 1e9, "target": 0}).jobs[1]
    assert (late.utility(3), late.log_utility(3)) == (0.0, -3e9)


# --- what breaks a constraint -------------------------------------------------------------------------------


def test_a_feasible_schedule_earns_the_utilities_of_what_is_done() -> None:
    instance = small()
    assert instance.violations(schedule()) == []
    assert instance.completions(schedule()).tolist() == [2, 4, 0]
    one, two, _ = instance.jobs
    assert instance.rewards(schedule()).tolist() == [0, one.utility(1), 0, two.utility(2)]


def test_nothing_is_feasible_and_earns_nothing() -> None:
    instance = small()
    assert instance.violations(Schedule.empty()) == []
    assert instance.rewards(Schedule.empty()).tolist() == [0] * 4
    assert instance.completions(Schedule.empty()).tolist() == [0] * 3


def without(rows: list[Any], *gone: Any) -> list[Any]:
    return [row for row in rows if row not in gone]


@pytest.mark.parametrize(
    ("workers", "servers", "broken"),
    [
        pytest.param(
            without(WORKERS, (4, 1, 0, 1)),
            without(SERVERS, (4, 1, 1, 1)),
            [("work", (1,), 1.0)],
            id="(2) work left undone",
        ),
        pytest.param(
            [*without(WORKERS, (4, 1, 0, 1)), (4, 1, 0, 4)],
            [*without(SERVERS, (4, 1, 1, 1)), (4, 1, 1, 2)],
            [("chunks", (4, 1), 1.0)],
            id="(3) more workers than chunks",
        ),
        pytest.param(
            [*WORKERS, (2, 2, 0, 2)],
            [*SERVERS, (2, 2, 0, 1)],
            [("arrival", (2, 2), 2.0), ("worker capacity", (2, 0, 0), 1.0), ("work", (2,), 1.0)],
            id="(4) and (9): a machine for workers overfull, before the arrival",
        ),
        pytest.param(
            [*without(WORKERS, (2, 1, 1, 3)), (2, 1, 0, 2), (2, 1, 1, 1)],
            [*without(SERVERS, (2, 0, 0, 1), (2, 1, 1, 1)), (2, 0, 1, 1), (2, 1, 1, 1)],
            [("server capacity", (2, 1, 1), 0.25)],
            id="(5) a machine for parameter servers overfull",
        ),
        pytest.param(
            WORKERS,
            without(SERVERS, (1, 0, 0, 1)),
            [("bandwidth", (1, 0), 1.0)],
            id="(6) no parameter server",
        ),
        pytest.param(
            WORKERS,
            [*without(SERVERS, (2, 0, 0, 1)), (2, 0, 0, 2)],
            [("servers", (2, 0), 1.0)],
            id="(7) more parameter servers than workers",
        ),
        pytest.param(
            WORKERS,
            [*SERVERS, (3, 0, 1, 1)],
            [("finished", (3, 0), 1.0), ("servers", (3, 0), 1.0), ("server capacity", (3, 1, 1), 0.0)][:2],
            id="(7), (8) a parameter server after the end",
        ),
        pytest.param(
            [*WORKERS, (3, 0, 0, 1)],
            [*SERVERS, (3, 0, 1, 1)],
            [("finished", (3, 0), 2.0)],
            id="(8) a job that is done goes on",
        ),
        pytest.param(
            [*WORKERS, (1, 1, 1, 1)],
            [*SERVERS, (1, 1, 1, 1)],
            [("arrival", (1, 1), 1.0), ("finished", (4, 1), 2.0)],
            id="(9) workers before the arrival, and so one too many at the end",
        ),
        pytest.param(
            WORKERS,
            [*SERVERS, (1, 1, 1, 1)],
            [("arrival", (1, 1), 1.0), ("servers", (1, 1), 1.0)],
            id="(10) a parameter server before the arrival",
        ),
        pytest.param(
            [*WORKERS, (1, 0, 1, -1)], SERVERS, [("count", (1, 0, 1), 1.0)], id="(12) a negative number"
        ),
        pytest.param(
            WORKERS, [*SERVERS, (1, 0, 1, -2)], [("count", (1, 0, 1), 2.0)], id="(13) a negative number"
        ),
        pytest.param([*WORKERS, (2, 0, 0, 1)], SERVERS, [("twice", (2, 0, 0), 1.0)], id="a row twice"),
        pytest.param([*WORKERS, (3, 3, 0, 1)], SERVERS, [("job", (3, 3), 1.0)], id="no such job"),
        pytest.param([*WORKERS, (3, -1, 0, 1)], SERVERS, [("job", (3, -1), 1.0)], id="no job"),
        pytest.param([*WORKERS, (3, 0, 2, 1)], SERVERS, [("machine", (3, 0, 2), 1.0)], id="no such machine"),
        pytest.param(WORKERS, [*SERVERS, (3, 0, -2, 1)], [("machine", (3, 0, -2), 2.0)], id="no machine"),
        pytest.param([*WORKERS, (5, 1, 0, 1)], SERVERS, [("slot", (5,), 1.0)], id="after the last slot"),
        pytest.param([*WORKERS, (0, 1, 0, 1)], SERVERS, [("slot", (0,), 1.0)], id="before the first slot"),
    ],
)
def test_what_is_broken_is_named(workers: list[Any], servers: list[Any], broken: list[Any]) -> None:
    instance = small()
    expected = {(name, index): excess for name, index, excess in broken}
    found = {(v.constraint, v.index): v.excess for v in instance.violations(schedule(workers, servers))}
    relevant = {key: excess for key, excess in found.items() if key[0] not in MALFORMED or key in expected}
    assert {key: pytest.approx(excess) for key, excess in expected.items()}.items() <= relevant.items()
    if not any(name in MALFORMED for name, *_ in broken):
        assert relevant.keys() == expected.keys()


MALFORMED = ("count", "twice", "job", "machine", "slot")


def judged(instance: AdmissionInstance, plan: Schedule) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield what a schedule of known jobs, machines and slots breaks, judged by fractions of the digits."""
    data = json.loads(json.dumps(instance.to_dict()))

    def f(value: float) -> Fraction:
        return Fraction(repr(float(value)))

    sides = [
        ("worker capacity", plan.workers.tolist(), data["worker_servers"], "worker_demand"),
        ("server capacity", plan.servers.tolist(), data["parameter_servers"], "server_demand"),
    ]
    done = [Fraction(0)] * len(data["jobs"])
    for i, job in enumerate(data["jobs"]):
        b = f(job["worker_bandwidth"])
        needed = job["epochs"] * job["chunks"] * job["minibatches"]
        needed *= f(job["minibatch_time"]) + 2 * f(job["gradient_size"]) / b
        for t in range(1, data["horizon"] + 1):
            y, z = (sum(n for slot, j, _, n in side[1] if (slot, j) == (t, i)) for side in sides)
            if y + z == 0:
                continue
            if t < job["arrival"]:
                yield "arrival", (t, i)
            if done[i] >= needed:
                yield "finished", (t, i)
            if y > job["chunks"]:
                yield "chunks", (t, i)
            if y * b > z * f(job["server_bandwidth"]):
                yield "bandwidth", (t, i)
            if z > y:
                yield "servers", (t, i)
            done[i] += y
        if 0 < done[i] < needed:
            yield "work", (i,)
    for name, rows, machines, demand in sides:
        for t in range(1, data["horizon"] + 1):
            for h, machine in enumerate(machines):
                for r, capacity in enumerate(machine):
                    here = ((data["jobs"][i][demand][r], n) for slot, i, k, n in rows if (slot, k) == (t, h))
                    if sum((f(amount) * n for amount, n in here), Fraction(0)) > f(capacity):
                        yield name, (t, h, r)


@st.composite
def any_rows(draw: st.DrawFn, instance: AdmissionInstance) -> Schedule:
    """Draw a feasible schedule with a few counts changed, or rows of known jobs, machines and slots."""
    good = draw(schedules(instance))
    sides = []
    for rows, machines in (
        (good.workers, len(instance.setting.worker_servers)),
        (good.servers, len(instance.setting.parameter_servers)),
    ):
        counts = {tuple(row[:3]): row[3] for row in rows.tolist()}
        if machines and instance.jobs:
            key = st.tuples(
                st.integers(1, instance.setting.horizon),
                st.integers(0, len(instance.jobs) - 1),
                st.integers(0, machines - 1),
            )
            if counts:
                key = st.sampled_from(sorted(counts)) | key
            for place in draw(st.lists(key, max_size=2)):
                counts[place] = draw(st.integers(0, 5))
        sides.append(np.array([(*place, n) for place, n in counts.items()], dtype=np.int64).reshape(-1, 4))
    return Schedule(*sides)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_violations_are_those_of_an_independent_judge(data: st.DataObject) -> None:
    instance = data.draw(instances(min_jobs=1))
    plan = data.draw(any_rows(instance))
    expected = set(judged(instance, plan))
    found = {(v.constraint, v.index) for v in instance.violations(plan)}
    crowded = {index for name, index in expected if name == "chunks"}  # with too many workers, not told apart

    def told(broken: set[tuple[str, tuple[int, ...]]]) -> set[tuple[str, tuple[int, ...]]]:
        return {(name, index) for name, index in broken if name != "bandwidth" or index not in crowded}

    assert told(found) == told(expected)
    assert all(v.excess > 0 for v in instance.violations(plan))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_drawn_schedules_are_feasible_and_replay_to_what_they_earn(data: st.DataObject) -> None:
    instance = data.draw(instances(min_jobs=1))
    plan = data.draw(schedules(instance))
    assert set(judged(instance, plan)) == set()
    horizon = instance.setting.horizon
    run = play(Replay(plan.deployments(horizon), problem="admission"), instance)
    ends = instance.completions(plan)
    expected = np.zeros(horizon)
    for job, end in zip(instance.jobs, ends.tolist(), strict=True):
        if end:
            expected[end - 1] += job.priority / (1 + math.exp(job.decay * (end - job.arrival - job.target)))
    assert run.rewards == pytest.approx(expected, rel=1e-12)
    assert instance.rewards(plan) == pytest.approx(expected, rel=1e-12)
    assert run.infeasible == 0


def test_numbers_too_large_to_add_are_still_too_large() -> None:
    big = [(2, 1, 1, 10**9)]
    found = {v.constraint: v.excess for v in with_job(worker_demand=[0, 1e9]).violations(schedule(big, []))}
    assert found["worker capacity"] == pytest.approx(1e18)
    assert found["chunks"] == 10**9 - 3
    assert found["bandwidth"] == 1


@pytest.mark.parametrize("counts", [[2**63 - 1], [2**62] * 2, [2**62] * 4 + [1], [-(2**63)]])
def test_counts_that_overflow_when_added_are_refused(counts: list[int]) -> None:
    nothing = {"worker_demand": [0, 0], "server_demand": [0, 0]}
    machines = [[1, 1]] * len(counts)
    instance = small(
        jobs=[first() | nothing | {"server_bandwidth": 1}],
        worker_servers=machines,
        parameter_servers=machines,
    )
    rows = np.array([(0, h, count) for h, count in enumerate(counts)], dtype=np.int64)
    with pytest.raises(InputError, match=r"^replay: event 0: decision\[0\]\[2\]: \S+ is not a whole number"):
        play(Replay([Deployment(rows, rows)] * 4, problem="admission"), instance)
    slots = np.column_stack([np.ones_like(rows[:, :1]), rows])
    with pytest.raises(InputError, match=r"^schedule\.workers\[0\]\[3\]: "):
        Schedule(slots, slots)


def test_machines_whose_amounts_overflow_when_added_are_refused() -> None:
    with pytest.raises(InputError, match=r"^worker_servers: all machines together have more than 4\.6"):
        small(worker_servers=[[1e9, 1]] * 5000)


# --- schedules ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 0, 0)], r"^schedule\.workers: shape 1 x 3 does not fit, expected n x 4$"),
        ([(1, 0, 0, 0.5)], r"^schedule\.workers\[0\]\[3\]: 0\.5 is not a whole number"),
        ([(1, 0, 0, math.nan)], r"^schedule\.workers\[0\]\[3\]: nan is not a whole number"),
        ([(1, 0, 0, "1")], r"^schedule\.workers\[0\]\[3\]: '1' is not a number$"),
        ([(1, 0, 0, True)], r"^schedule\.workers\[0\]\[3\]: True is not a number$"),
        (np.zeros((1, 3), dtype=np.int64), r"^schedule\.workers: shape \(1, 3\) does not fit"),
        (None, r"^schedule\.workers: None is not a list$"),
    ],
)
def test_a_malformed_schedule_is_refused(rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        schedule(rows, [])


def test_a_schedule_sorts_its_rows_and_drops_zeros() -> None:
    plan = schedule([(2, 1, 0, 1), (1, 1, 1, 0), (1, 1, 0, 2), (1, 0, 1, 3)], [])
    assert plan.workers.tolist() == [[1, 0, 1, 3], [1, 1, 0, 2], [2, 1, 0, 1]]
    assert plan.servers.shape == (0, 4)
    assert plan.jobs.tolist() == [0, 1]
    assert plan.of_job(1).workers.tolist() == [[1, 1, 0, 2], [2, 1, 0, 1]]


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_schedule_is_the_sum_of_its_jobs_and_of_its_slots(data: st.DataObject) -> None:
    instance = data.draw(instances())
    plan = data.draw(schedules(instance))
    joined = Schedule.join([plan.of_job(i) for i in reversed(plan.jobs.tolist())])
    slots = Schedule.of_deployments(plan.deployments(instance.setting.horizon))
    for again in (joined, slots):
        assert again.workers.tolist() == plan.workers.tolist()
        assert again.servers.tolist() == plan.servers.tolist()


@pytest.mark.parametrize("decision", [None, [], np.zeros((0, 4))])
def test_only_a_schedule_is_judged(decision: Any) -> None:
    with pytest.raises(InputError, match=r"^decision: \w+ is not a Schedule$"):
        small().violations(decision)


# --- episodes -----------------------------------------------------------------------------------------------


def deployments(plan: Schedule) -> list[Deployment]:
    return list(plan.deployments(4))


def test_a_slot_shows_the_jobs_that_arrive_in_it_and_pays_for_those_that_are_done() -> None:
    instance = small()
    episode = instance.episode(frozenset())
    seen, rewards, done = [], [], []
    for observation, deployment in zip(episode, deployments(schedule()), strict=True):
        seen.append((observation.slot, [job.index for job in observation.jobs]))
        outcome = episode.apply(deployment)
        assert outcome.feasible
        rewards.append(outcome.reward)
        done.append((outcome.feedback.slot, outcome.feedback.completed))
    assert seen == [(1, [0]), (2, [1]), (3, []), (4, [2])]
    assert rewards == instance.rewards(schedule()).tolist()
    assert done == [(1, ()), (2, (0,)), (3, ()), (4, (1,))]


def test_what_is_announced_is_seen_only_if_asked_for() -> None:
    instance = small()
    seen = next(iter(instance.episode(frozenset({"announced"})))).announced
    assert seen is not None
    assert seen.to_dict() == instance.announced.to_dict()
    other = small(announced=small(horizon=9).announced.to_dict())
    told = next(iter(other.episode(frozenset({"announced"})))).announced
    assert told is not None
    assert told.to_dict() == small(horizon=9).announced.to_dict() != instance.announced.to_dict()


def test_an_infeasible_deployment_is_refused_or_reported() -> None:
    instance = small()
    crowd = Deployment([(0, 0, 3)], [(0, 0, 2)])
    episode = instance.episode(frozenset())
    next(iter(episode))
    with pytest.raises(DecisionError, match=r"^slot 1: infeasible decision: .*chunks\[0\]") as caught:
        episode.apply(crowd)
    assert {v.constraint for v in caught.value.violations} == {"chunks", "worker capacity"}
    episode = instance.episode(frozenset())
    next(iter(episode))
    outcome = episode.apply(crowd, enforce=False)
    assert not outcome.feasible
    assert (outcome.reward, outcome.feedback.completed) == (5.0, (0,))


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (None, r"must return a Deployment"),
        (3, r"^decision: int is not a pair"),
        ([[]], r"^decision: list is not a pair"),
        (([(0, 0)], []), r"shape 1 x 2 does not fit"),
        (([(0, 0, 0.5)], []), r"0\.5 is not a whole number"),
        (([], [(0, 0, "1")]), r"'1' is not a number"),
    ],
)
def test_a_decision_of_the_wrong_form_is_refused(decision: Any, message: str) -> None:
    episode = small().episode(frozenset())
    next(iter(episode))
    with pytest.raises(InputError, match=message):
        episode.apply(decision)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_an_episode_judges_slots_as_the_instance_judges_schedules(data: st.DataObject) -> None:
    instance = data.draw(instances(min_jobs=1))
    plan = data.draw(any_rows(instance))
    episode = instance.episode(frozenset())
    feasible, rewards = [], []
    for _, deployment in zip(episode, plan.deployments(instance.setting.horizon), strict=True):
        outcome = episode.apply(deployment, enforce=False)
        feasible.append(outcome.feasible)
        rewards.append(outcome.reward)
    slots = {v.index[0] for v in instance.violations(plan) if v.constraint != "work"}
    assert [t + 1 for t, fine in enumerate(feasible) if not fine] == sorted(slots)
    assert rewards == pytest.approx(instance.rewards(plan).tolist(), rel=1e-12)


def test_facts_count_what_there_is() -> None:
    assert small().facts() == {
        "jobs": 3,
        "jobs that can never finish": 1,
        "slots": 4,
        "worker machines": 2,
        "parameter-server machines": 2,
        "resources": 2,
        "worker-slots of work": 13,
    }
    assert "jobs=3, horizon=4" in repr(small())


def test_jobs_that_can_never_finish_are_remarks() -> None:
    why = "3 worker-slots of work, at most 2 in each of the 1 slots left"
    assert small().remarks() == [f"jobs[2] can never finish: {why}"]
    assert small(jobs=[first()]).remarks() == []
    many = small(jobs=[first() | {"arrival": 4}] * 13).remarks()
    assert len(many) == 11
    assert many[-1] == "3 more jobs too"


def test_a_decision_is_told_by_the_jobs_it_gets_done() -> None:
    told = small().decision_facts(schedule())
    assert told == {"jobs_accepted": 2, "accepted": [0, 1], "done_in_slots": [2, 4]}
    told = small().decision_facts(Schedule.empty())
    assert told == {"jobs_accepted": 0, "accepted": [], "done_in_slots": []}
