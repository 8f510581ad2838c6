"""The placement instance: its files, its equality, what it refuses, what breaks a schedule, its numbers."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant
from clairvoyant.models.base import DecisionError, InputError, Origin
from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.models.placement.slowdown import Slowdown
from clairvoyant.online.play import Replay, play
from clairvoyant.testing.placement import instances, schedules

MACHINE = {"gpus": 4, "cpus": 8, "memory": 16}


def job(**changes: Any) -> dict[str, Any]:
    """Return a job of 10 s with one instance that takes a GPU, a core and a GB, submitted at 0."""
    usual = {"submit": 0, "duration": 10, "instances": 1, "gpus": 1, "cpus": 1, "memory": 1}
    return usual | changes


def fields() -> dict[str, Any]:
    """Return a small instance in JSON form: 2 machines of 4 GPUs, 3 jobs, of which the last has no GPU."""
    return {
        "problem": "placement",
        "version": 1,
        "machines": [MACHINE, MACHINE | {"cpus": 6.5}],
        "jobs": [
            job(instances=5),
            job(submit=1.25, duration=3.001, gpus=2, intensity=0.5),
            job(submit=2, gpus=0, cpus=0.125, memory=0),
        ],
        "price": 3.6,
        "slowdown": {"communication": 1, "contention": 0.5},
        "gpu_weight": 0.25,
        "window": 5,
        "origin": {"source": "written for a test", "real": [], "filled": ["all"]},
    }


def small(**changes: Any) -> PlacementInstance:
    return PlacementInstance.from_dict(fields() | changes)


def with_job(**changes: Any) -> PlacementInstance:
    """Return the small instance with the fields of its second job changed."""
    return small(jobs=[job(), job(submit=3) | changes])


def alone(*jobs: dict[str, Any], **changes: Any) -> PlacementInstance:
    """Return jobs on two machines of 4 GPUs without any slowdown."""
    return PlacementInstance(**({"machines": [MACHINE, MACHINE], "jobs": list(jobs)} | changes))


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["instance.json", "instance.json.gz"])
@pytest.mark.parametrize("changes", [{}, {"jobs": []}, {"machines": [{"gpus": 99, "cpus": 9, "memory": 9}]}])
def test_a_round_trip_keeps_every_byte(name: str, changes: dict[str, Any], tmp_path: Path) -> None:
    instance = small(**changes)
    instance.save(tmp_path / name)
    raw = (tmp_path / name).read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    again = clairvoyant.load(tmp_path / name)
    assert again == instance
    assert again.digest() == instance.digest()
    assert again.origin == instance.origin
    again.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == raw
    assert list(json.loads(text))[:2] == ["problem", "version"]


@given(instances())
@settings(max_examples=30)
def test_the_json_form_gives_the_instance_back(instance: PlacementInstance) -> None:
    again = PlacementInstance.from_dict(json.loads(json.dumps(instance.to_dict())))
    assert again == instance
    assert again.digest() == instance.digest()
    for name in ("submit", "duration", "instances", "need", "intensity"):
        assert getattr(again.jobs, name).tolist() == getattr(instance.jobs, name).tolist()


@given(instances(min_jobs=1, estimates=True), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_estimates_stay_with_their_jobs(instance: PlacementInstance, rng: Any) -> None:
    assert instance.jobs.estimate is not None
    data = json.loads(json.dumps(instance.to_dict()))
    again = PlacementInstance.from_dict(data)
    assert again == instance
    assert again.jobs.estimate is not None
    assert again.jobs.estimate.tolist() == instance.jobs.estimate.tolist()
    numbered = [one | {"estimate": i + 1} for i, one in enumerate(data["jobs"])]
    rng.shuffle(numbered)
    mixed = PlacementInstance.from_dict(data | {"jobs": numbered})
    assert mixed.jobs.estimate is not None
    want = sorted(numbered, key=lambda one: one["submit"])
    assert mixed.jobs.estimate.tolist() == [1000 * one["estimate"] for one in want]


def with_estimates(*estimates: Any) -> PlacementInstance:
    """Return the small instance with the estimates of its jobs; None for a job without."""
    pairs = zip(fields()["jobs"], estimates, strict=True)
    return small(jobs=[one if e is None else one | {"estimate": e} for one, e in pairs])


def test_without_estimates_nothing_is_as_much_as_said_of_them(tmp_path: Path) -> None:
    instance = small()
    instance.save(tmp_path / "instance.json")
    assert "estimate" not in (tmp_path / "instance.json").read_text()
    assert "estimate" not in dict(instance.content())
    assert instance.jobs.estimate is None
    assert small(jobs=[]).jobs.estimate is None


def test_with_estimates_the_instance_is_another_one() -> None:
    instance, other = with_estimates(5, 0.001, 1e8), with_estimates(5, 0.002, 1e8)
    assert instance.jobs.estimate is not None
    assert instance.jobs.estimate.tolist() == [5000, 1, 10**11]
    assert len({one.digest() for one in (small(), instance, other)}) == 3
    assert [one["estimate"] for one in instance.to_dict()["jobs"]] == [5, 0.001, 1e8]
    assert instance.facts() == small().facts()
    with pytest.raises(ValueError, match="read-only"):
        instance.jobs.estimate[0] = 1


@pytest.mark.parametrize(
    ("estimates", "message"),
    [
        ((5, None, 5), r"jobs\[1\]\.estimate: missing, but jobs\[0\] has one; either all jobs have"),
        ((None, None, 5), r"jobs\[0\]\.estimate: missing, but jobs\[2\] has one"),
        ((5, 5, None), r"jobs\[2\]\.estimate: missing, but jobs\[0\] has one"),
        ((5, 0, 5), r"jobs\[1\]\.estimate: 0 is not at least 0\.001 and at most 1e\+08"),
        ((5, 5, -1), r"jobs\[2\]\.estimate: -1 is not at least 0\.001"),
        ((5, 5, 1.1e8), r"jobs\[2\]\.estimate: 110000000\.0 is not at least"),
        ((5, 0.0015, 5), r"jobs\[1\]\.estimate: 0\.0015 has more than 3 decimals"),
        ((math.nan, 5, 5), r"jobs\[0\]\.estimate: nan is not a finite number"),
        (("5", 5, 5), r"jobs\[0\]\.estimate: '5' is not a finite number"),
        ((True, 5, 5), r"jobs\[0\]\.estimate: True is not a finite number"),
    ],
    ids=str,
)
def test_a_bad_or_missing_estimate_is_named(estimates: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        with_estimates(*estimates)


def test_an_estimate_of_null_is_no_estimate_left_out() -> None:
    listed = [one | {"estimate": None} for one in fields()["jobs"]]
    with pytest.raises(InputError, match=r"^jobs\[0\]\.estimate: None is not a finite number"):
        small(jobs=listed)


def test_the_numbers_are_those_of_the_file() -> None:
    instance = small()
    assert instance.to_dict()["jobs"] == fields()["jobs"]
    assert instance.to_dict() == fields()
    assert instance.jobs.submit.tolist() == [0, 1250, 2000]
    assert instance.jobs.duration.tolist() == [10_000, 3001, 10_000]
    assert instance.jobs.need.tolist() == [[1, 1000, 1000], [2, 1000, 1000], [0, 125, 0]]
    assert instance.jobs.intensity.tolist() == [1000, 500, 1000]
    assert instance.jobs.gpus.tolist() == [5, 2, 0]
    assert instance.setting.capacity.tolist() == [[4, 8000, 16_000], [4, 6500, 16_000]]
    assert instance.fewest.tolist() == [2, 1, 1]


def test_the_digest_does_not_change_between_releases() -> None:
    assert small().digest() == "bbe0a2ea71ff7aee"


def test_what_may_be_left_out_has_its_usual_value() -> None:
    data = {name: value for name, value in fields().items() if name not in ("gpu_weight", "window", "origin")}
    instance = PlacementInstance.from_dict(data)
    assert (instance.setting.gpu_weight, instance.setting.window) == (0.0, 64)
    assert instance.origin == Origin("given by hand")
    assert (alone().setting.price, alone().setting.slowdown) == (2.84, Slowdown(0.0, 0.0))


def test_equality_is_by_value_and_ignores_the_origin() -> None:
    one, other = small(), small(origin={"source": "elsewhere"})
    assert one == other
    assert hash(one) == hash(other)
    assert one != alone()
    assert one.origin != other.origin
    assert one != fields()


@pytest.mark.parametrize(
    "changes",
    [
        {"machines": [MACHINE, MACHINE]},
        {"machines": [MACHINE, MACHINE | {"cpus": 6.5}, MACHINE]},
        {"jobs": fields()["jobs"][:2]},
        {"price": 3.7},
        {"slowdown": {"communication": 1.5, "contention": 0.5}},
        {"slowdown": {"communication": 1, "contention": 0}},
        {"gpu_weight": 0.251},
        {"window": 6},
        *({"jobs": [*fields()["jobs"][:2], fields()["jobs"][2] | change]} for change in (
            {"submit": 2.001}, {"duration": 9}, {"instances": 2}, {"gpus": 1}, {"cpus": 0.126},
            {"memory": 0.001}, {"intensity": 0.999},
        )),
    ],
    ids=str,
)  # fmt: skip
def test_every_number_counts_for_equality(changes: dict[str, Any]) -> None:
    assert small(**changes) != small()
    assert small(**changes).digest() != small().digest()


def test_jobs_are_sorted_by_submission_and_ties_stay_as_they_were_given() -> None:
    given = [job(submit=2, cpus=2), job(submit=1, cpus=3), job(submit=2, cpus=4), job(submit=1, cpus=5)]
    instance = alone(*given)
    assert [entry["cpus"] for entry in instance.jobs.to_list()] == [3, 5, 2, 4]
    assert alone(*instance.jobs.to_list()) == instance


@given(instances(min_jobs=2), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_only_the_order_of_jobs_submitted_together_counts(instance: PlacementInstance, rng: Any) -> None:
    data = instance.to_dict()
    together = [
        [entry for entry in data["jobs"] if entry["submit"] == time]
        for time in {entry["submit"] for entry in data["jobs"]}
    ]
    rng.shuffle(together)
    mixed = [entry for block in together for entry in block]
    assert PlacementInstance.from_dict(data | {"jobs": mixed}) == instance


def test_arrays_are_read_only() -> None:
    instance = small()
    jobs = instance.jobs
    arrays = [instance.setting.capacity, jobs.submit, jobs.duration, jobs.instances, jobs.need]
    for array in (*arrays, jobs.intensity, instance.fewest, *instance.table):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


# --- what is refused ----------------------------------------------------------------------------------------

TOO_MANY = r"has more than 3 decimals"


@pytest.mark.parametrize("name", ["submit", "duration", "cpus", "memory", "intensity"])
@pytest.mark.parametrize("value", ["1", None, True, math.nan, math.inf, -math.inf, [1], -1, -0.001])
def test_a_number_of_a_job_that_is_none_or_negative_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.{name}: {re_value(value)} is not"):
        with_job(**{name: value})


@pytest.mark.parametrize("name", ["submit", "duration", "cpus", "memory", "intensity"])
@pytest.mark.parametrize("value", [0.1234, 0.0005, 0.1 + 0.2])
def test_more_than_three_decimals_are_named(name: str, value: float) -> None:
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.{name}: {value} (has more|is not)"):
        with_job(**{name: value})


@pytest.mark.parametrize("name", ["instances", "gpus"])
@pytest.mark.parametrize("value", ["1", None, True, 1.5, 1.0, math.nan, -1, 10**9])
def test_a_count_that_is_not_whole_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.{name}: {re_value(value)} is not a whole number"):
        with_job(**{name: value})


def re_value(value: Any) -> str:
    return str(value).replace("[", r"\[").replace("]", r"\]") if not isinstance(value, str) else f"'{value}'"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"duration": 0}, r"^jobs\[1\]\.duration: 0 is not at least 0\.001 and at most 1e\+08"),
        ({"duration": 2e8}, r"^jobs\[1\]\.duration: 200000000\.0 is not at least"),
        ({"submit": 1e9}, r"^jobs\[1\]\.submit: 1000000000\.0 is not at least 0 and at most 1e\+08"),
        ({"instances": 0}, r"^jobs\[1\]\.instances: 0 is not a whole number of at least 1"),
        ({"intensity": 1.001}, r"^jobs\[1\]\.intensity: 1\.001 is not at least 0 and at most 1"),
        ({"cpus": 1e7}, r"^jobs\[1\]\.cpus: 10000000\.0 is not at least 0 and at most 1e\+06"),
        ({"gpus": 0, "cpus": 0, "memory": 0}, r"^jobs\[1\]: gpus, cpus and memory are all 0"),
        ({"gpu": 1}, r"^jobs\[1\]\.gpu: unknown field"),
    ],
)
def test_a_bad_job_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_job(**changes)


@pytest.mark.parametrize("name", ["submit", "duration", "instances", "gpus", "cpus", "memory"])
def test_a_missing_field_of_a_job_is_named(name: str) -> None:
    without = {key: value for key, value in job().items() if key != name}
    with pytest.raises(InputError, match=rf"^jobs\[1\]\.{name}: missing field$"):
        small(jobs=[job(), without])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"jobs": {"0": job()}}, r"^jobs: .* is not a list"),
        ({"jobs": "abc"}, r"^jobs: 'abc' is not a list"),
        ({"jobs": [job(), 7]}, r"^jobs\[1\]: 7 is not an object"),
        ({"machines": []}, r"^machines: \[\] is not a list of at least one machine"),
        ({"machines": MACHINE}, r"^machines: .* is not a list of at least one machine"),
        ({"machines": [MACHINE, 3]}, r"^machines\[1\]: 3 is not an object"),
        ({"machines": [MACHINE, {"gpus": 4, "cpus": 8}]}, r"^machines\[1\]\.memory: missing field"),
        ({"machines": [MACHINE | {"disk": 3}]}, r"^machines\[0\]\.disk: unknown field"),
        ({"machines": [MACHINE | {"gpus": 3.5}]}, r"^machines\[0\]\.gpus: 3\.5 is not a whole number"),
        ({"machines": [MACHINE | {"gpus": -1}]}, r"^machines\[0\]\.gpus: -1 is not a whole number"),
        ({"machines": [MACHINE | {"cpus": -1}]}, r"^machines\[0\]\.cpus: -1 is not at least 0"),
        ({"machines": [MACHINE | {"cpus": 0.0001}]}, rf"^machines\[0\]\.cpus: 0\.0001 {TOO_MANY}"),
        ({"machines": [MACHINE | {"memory": 2e6}]}, r"^machines\[0\]\.memory: 2000000\.0 is not at least 0"),
        ({"price": -1}, r"^price: -1 is not at least 0"),
        ({"price": math.nan}, r"^price: nan is not a finite number"),
        ({"price": "2"}, r"^price: '2' is not a finite number"),
        ({"slowdown": None}, r"^slowdown: None is not an object"),
        ({"slowdown": 0.5}, r"^slowdown: 0\.5 is not an object"),
        ({"slowdown": {"communication": 1}}, r"^slowdown\.contention: missing field"),
        ({"slowdown": {"communication": 1, "contention": 0, "eta": 1}}, r"^slowdown\.eta: unknown field"),
        ({"slowdown": {"communication": -0.1, "contention": 0}}, r"^slowdown\.communication: -0\.1 is not"),
        (
            {"slowdown": {"communication": 0, "contention": 11}},
            r"^slowdown\.contention: 11 is not at least 0",
        ),
        ({"slowdown": {"communication": 0, "contention": 1e300}}, r"^slowdown\.contention: 1e\+300 is not"),
        ({"slowdown": {"communication": math.inf, "contention": 0}}, r"^slowdown\.communication: inf is not"),
        ({"gpu_weight": -1}, r"^gpu_weight: -1 is not at least 0"),
        ({"gpu_weight": 0.1234}, rf"^gpu_weight: 0\.1234 {TOO_MANY}"),
        ({"gpu_weight": 1e9}, r"^gpu_weight: 1000000000\.0 is not at least 0 and at most 1e\+06"),
        ({"window": 0}, r"^window: 0 is not a whole number of at least 1"),
        ({"window": 2.5}, r"^window: 2\.5 is not a whole number"),
        ({"horizon": 3}, r"^horizon: unknown field"),
        ({"origin": 3}, r"^origin: 3 is not an object"),
    ],
    ids=str,
)
def test_what_is_refused_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small(**changes)


@pytest.mark.parametrize("name", ["machines", "jobs", "price", "slowdown"])
def test_a_missing_field_is_named(name: str) -> None:
    data = {key: value for key, value in fields().items() if key != name}
    with pytest.raises(InputError, match=rf"^{name}: missing field$"):
        PlacementInstance.from_dict(data)


def test_an_error_inside_a_file_names_the_file_and_the_field(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(fields() | {"jobs": [job(submit=-2)]}), encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.json: jobs\[0\]\.submit: -2 is not at least 0"):
        clairvoyant.load(path)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"gpus": 5}, r"an instance needs 5 GPUs, the largest machine has 4$"),
        ({"cpus": 8.001}, r"an instance needs 8\.001 cores, the largest machine has 8$"),
        (
            {"gpus": 9, "memory": 100},
            r"an instance needs 9 GPUs, the largest machine has 4; an instance needs 100 GB of memory, .*20$",
        ),
        ({"instances": 9}, r"the empty machines hold 8 of 9 instances$"),
        ({"instances": 5, "cpus": 3}, r"the empty machines hold 4 of 5 instances$"),
        # each is on some machine, but not both on the same one
        ({"cpus": 7, "memory": 17}, r"the empty machines hold 0 of 1 instances$"),
        (
            {"gpus": 0, "cpus": 0, "memory": 0.001, "instances": 40_000},
            r"the empty machines hold 36000 of 40000 instances$",
        ),
    ],
    ids=str,
)
def test_a_job_that_no_machines_can_hold_is_refused_with_what_is_missing(
    changes: dict[str, Any], why: str
) -> None:
    machines = [MACHINE, MACHINE | {"cpus": 6.5, "memory": 20}]
    with pytest.raises(InputError, match=rf"^jobs\[1\]: the job submitted at 7\.5 s can never run: {why}"):
        alone(job(submit=9), job(submit=7.5) | changes, machines=machines)


def test_how_many_such_jobs_there_are_is_told() -> None:
    with pytest.raises(
        InputError, match=r"^jobs\[2\]: the job submitted at 1 s .*; other jobs that do not fit either: 2$"
    ):
        alone(job(), job(submit=2, gpus=5), job(submit=1, gpus=5), job(submit=3, gpus=5))


def test_jobs_that_take_longer_than_can_be_counted_are_refused() -> None:
    with pytest.raises(InputError, match=r"^jobs: together they may take .* s, too long to count in ms"):
        alone(*[job(duration=1e8)] * 500, slowdown=Slowdown(10, 10))


# --- what is allowed ----------------------------------------------------------------------------------------


def test_there_may_be_no_jobs() -> None:
    instance = small(jobs=[])
    empty = Schedule(np.zeros(0), np.zeros(0), np.zeros((0, 3)))
    assert instance.violations(empty) == []
    assert instance.cost(empty) == 0.0
    assert instance.decisions(empty) == ()
    assert instance.offered_load == 0.0
    assert instance.facts()["jobs"] == 0
    assert instance.decision_facts(empty) == {}
    assert instance.schedule_of([]).rows.shape == (0, 3)
    assert list(instance.episode(frozenset())) == []


def test_a_job_without_gpus_and_a_machine_without_any_are_allowed() -> None:
    bare = {"gpus": 0, "cpus": 0.5, "memory": 0}
    instance = alone(job(gpus=0, cpus=0.5, memory=0), machines=[bare], slowdown=Slowdown(10, 10))
    schedule = instance.schedule_of([[(0, 0, 1)]])
    assert schedule.finish.tolist() == [10_000]
    assert instance.fees(schedule).tolist() == [0.0]
    assert instance.cost(schedule) == 10.0
    assert instance.offered_load == 0.0


def test_the_widest_numbers_are_allowed() -> None:
    instance = alone(job(submit=1e8, duration=1e8), job(duration=0.001), slowdown=Slowdown(10, 10))
    schedule = instance.schedule_of([[(0, 0, 1)], [(1, 1, 1)]])
    assert schedule.finish.tolist() == [1, 2 * 10**11]


# --- numbers of a schedule, worked out by hand --------------------------------------------------------------


def two_jobs(**changes: Any) -> PlacementInstance:
    """Return a gang of 6 one-GPU instances for 10 s, and a job of 2 GPUs for 4 s submitted at 1."""
    return alone(job(instances=6), job(submit=1, duration=4, gpus=2), price=3.6, gpu_weight=0.5, **changes)


SPREAD = [(0, 0, 4), (0, 1, 2)]


def test_cost_fees_and_completion_times_by_hand() -> None:
    instance = two_jobs()
    schedule = instance.schedule_of([SPREAD, [(1, 1, 1)]])
    assert schedule.start.tolist() == [0, 1000]
    assert schedule.finish.tolist() == [10_000, 5000]
    assert instance.completion_times(schedule).tolist() == [10.0, 4.0]
    assert instance.fees(schedule) == pytest.approx([3.6 * 6 * 10 / 3600, 3.6 * 2 * 4 / 3600], rel=1e-12)
    assert instance.cost(schedule) == 10 + 4 + 0.5 * (6 * 10 + 2 * 4)
    assert instance.offered_load == (6 * 10 + 2 * 4) / (8 * 1)
    assert instance.facts()["GPU-hours of work"] == pytest.approx(68 / 3600, rel=1e-12)
    assert instance.decision_facts(schedule) == {
        "mean_jct_seconds": 7.0,
        "mean_fee_dollars": pytest.approx((0.06 + 0.008) / 2, rel=1e-12),
        "makespan_seconds": 10.0,
    }


def test_waiting_counts_for_completion_but_not_for_the_fee() -> None:
    instance = two_jobs()
    schedule = instance.schedule_of([[], [(1, 0, 1)], SPREAD])
    assert schedule.start.tolist() == [5000, 1000]
    assert instance.completion_times(schedule).tolist() == [15.0, 4.0]
    assert instance.cost(schedule) == 15 + 4 + 0.5 * 68


def test_spanning_more_machines_takes_longer_by_hand() -> None:
    # comm(2) / comm(2) = 1 for the gang of 6; a gang of 2 on 2 machines takes 1 + 1/2 of its duration
    gang = job(instances=2, duration=4)
    instance = alone(job(instances=6), gang, slowdown=Slowdown(1.0, 0.0))
    assert instance.schedule_of([[*SPREAD, (1, 1, 2)]]).finish.tolist() == [10_000, 4000]
    assert alone(gang, slowdown=Slowdown(1.0, 0.0)).schedule_of([[(0, 0, 1), (0, 1, 1)]]).finish.tolist() == [
        6000
    ]


def test_contention_slows_down_by_hand() -> None:
    # on machine 1 the gang has half of the GPUs, the other job the other half: 1 + 0.8 * 1 * 0.5 * 0.5 = 1.2
    machines = {"slowdown": Slowdown(0.0, 0.8)}
    instance = alone(job(instances=2), job(duration=6, gpus=2, intensity=0.5), **machines)
    schedule = instance.schedule_of([[(0, 1, 2), (1, 1, 1)]])
    assert schedule.finish[1] == pytest.approx(7200, abs=1)
    # 6 s of its work are done by then, and the other 4 s at full speed
    assert schedule.finish[0] == pytest.approx(11_200, abs=2)
    apart = instance.schedule_of([[(0, 0, 2), (1, 1, 1)]])
    assert apart.finish.tolist() == [10_000, 6000]


@given(st.data())
@settings(max_examples=40)
def test_the_cost_is_the_sum_of_completion_times_and_weighted_gpu_seconds(data: st.DataObject) -> None:
    instance = data.draw(instances())
    schedule = data.draw(schedules(instance))
    jcts = instance.completion_times(schedule).sum()
    ran = (schedule.finish - schedule.start) / 1000.0
    weighted = instance.setting.gpu_weight * (instance.jobs.gpus * ran).sum()
    assert instance.cost(schedule) == pytest.approx(jcts + weighted, rel=1e-9, abs=1e-9)
    assert instance.fees(schedule) == pytest.approx(2.84 * instance.jobs.gpus * ran / 3600, rel=1e-12)
    assert (ran >= instance.jobs.duration / 1000.0 - 1e-9).all()
    assert (schedule.start >= instance.jobs.submit).all()


# --- what breaks a schedule ---------------------------------------------------------------------------------


def made(start: list[int], finish: list[int], *rows: tuple[int, int, int]) -> Schedule:
    return Schedule(np.array(start), np.array(finish), np.array(rows, dtype=np.int64).reshape(-1, 3))


LAST = (1, 1, 1)


@pytest.mark.parametrize(
    ("schedule", "broken"),
    [
        (made([0, 1000], [10_000, 5000], *SPREAD, LAST), []),
        # the second job has to wait if the gang takes its place
        (made([0, 1000], [10_000, 5000], *SPREAD, (1, 0, 1)), [("capacity", (1000, 0, 0), 2.0)]),
        (made([0, 1000], [10_000, 5000], (0, 0, 5), (0, 1, 1), LAST), [("capacity", (0, 0, 0), 1.0)]),
        (made([0, 1000], [10_000, 5000], (0, 0, 4), (0, 1, 1), LAST), [("gang", (0, 0), 1.0)]),
        (made([0, 1000], [10_000, 5000], (0, 0, 4), (0, 1, 4), LAST), [("gang", (0, 0), 2.0)]),
        (made([0, 1000], [10_000, 5000], *SPREAD, (0, 1, 1), LAST), [("twice", (0, 0, 1), 1.0)]),
        (made([0, 1000], [10_000, 5000], (0, 0, 4), (0, 2, 2), LAST), [("machine", (0, 0, 2), 1.0)]),
        (made([0, 1000], [10_000, 5000], (0, -1, 4), (0, 1, 2), LAST), [("machine", (0, 0, -1), 1.0)]),
        (made([0, 1000], [10_000, 5000], (0, 0, 6), (0, 1, 0), LAST), [("count", (0, 0, 1), 1.0)]),
        (made([0, 0], [10_000, 4000], *SPREAD, LAST), [("window", (0, 1), 1.0)]),  # not yet submitted
        # 2 s is no decision epoch: nothing happens then
        (made([0, 2000], [10_000, 6000], *SPREAD, LAST), [("start", (1,), 1.0)]),
        (made([0, 99_000], [10_000, 103_000], *SPREAD, LAST), [("start", (1,), 1.0)]),
        (made([0, 1000], [10_000, 5000], *SPREAD, LAST, (2, 0, 1)), [("job", (2,), 1.0)]),
        (made([0, 1000], [10_000, 5000], *SPREAD, LAST, (-1, 0, 1)), [("job", (-1,), 1.0)]),
        (made([0, 1000], [10_001, 5000], *SPREAD, LAST), [("finish", (0,), 1.0)]),
        (made([0, 1000], [9000, 4000], *SPREAD, LAST), [("finish", (0,), 1000.0), ("finish", (1,), 1000.0)]),
        # the last job never starts: the simulation cannot come to its end
        (made([0, -1], [10_000, -1], *SPREAD), [("progress", (10_000,), 1.0)]),
    ],
    ids=str,
)
def test_what_a_schedule_breaks_is_named(schedule: Schedule, broken: list[Any]) -> None:
    found = two_jobs().violations(schedule)
    assert [(v.constraint, v.index) for v in found][: len(broken)] == [(b[0], b[1]) for b in broken]
    assert bool(found) == bool(broken)
    for violation, (_, _, excess) in zip(found, broken, strict=False):
        assert excess is None or violation.excess == excess


def test_what_breaks_a_cpu_or_memory_capacity_is_told_in_cores_and_gb() -> None:
    instance = alone(job(gpus=0, cpus=6.5, memory=10), job(gpus=0, cpus=3, memory=6.25))
    both = made([0, 0], [10_000, 10_000], (0, 0, 1), (1, 0, 1))
    assert [str(v) for v in instance.violations(both)] == [
        "capacity[0][0][1] exceeded by 1.5",
        "capacity[0][0][2] exceeded by 0.25",
    ]


def test_a_job_beyond_the_window_cannot_start() -> None:
    instance = alone(job(), job(), window=1)
    found = instance.violations(made([0, 0], [10_000, 10_000], (0, 0, 1), (1, 0, 1)))
    assert [(v.constraint, v.index) for v in found] == [("window", (0, 1))]
    later = instance.schedule_of([[(0, 0, 1)], [(1, 0, 1)]])  # one decision per epoch: the next is an end
    assert later.start.tolist() == [0, 10_000]
    assert instance.violations(later) == []


def test_only_a_schedule_of_all_jobs_is_judged() -> None:
    with pytest.raises(InputError, match="list is not a Schedule"):
        two_jobs().violations([SPREAD])
    with pytest.raises(InputError, match=r"schedule\.start: 1 jobs, expected 2"):
        two_jobs().violations(made([0], [10_000], *SPREAD))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [1], [(0, 0, 1)]), r"schedule\.start\[0\]: 0\.5 is not"),
        (([0], [math.nan], [(0, 0, 1)]), r"schedule\.finish\[0\]: nan is not"),
        (([0], ["x"], [(0, 0, 1)]), r"schedule\.finish"),
        (([-2], [1], [(0, 0, 1)]), r"schedule\.start\[0\]: -2"),
        (([0], [1], [(0, 0)]), r"schedule\.rows: shape 1 x 2 does not fit"),
        (([0], [1], [(0, 0, 0.5)]), r"schedule\.rows\[0\]\[2\]: 0\.5 is not"),
    ],
    ids=str,
)
def test_a_malformed_schedule_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Schedule(*arguments)


# --- decisions and schedules --------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=40)
def test_a_schedule_is_what_its_decisions_make(data: st.DataObject) -> None:
    instance = data.draw(instances())
    schedule = data.draw(schedules(instance))
    assert instance.violations(schedule) == []
    decisions = instance.decisions(schedule)
    again = instance.schedule_of(decisions)
    for name in ("start", "finish", "rows"):
        assert getattr(again, name).tolist() == getattr(schedule, name).tolist()
    run = play(Replay(decisions, "placement"), instance, keep_decisions=True)
    assert run.total == pytest.approx(instance.cost(schedule), rel=1e-12)
    assert run.decisions is not None
    assert instance.schedule_of(run.decisions).finish.tolist() == schedule.finish.tolist()
    for i in range(len(instance.jobs)):
        assert schedule.of_job(i)[:, 1].sum() == instance.jobs.instances[i]


@given(st.data())
@settings(max_examples=20)
def test_a_schedule_whose_end_is_moved_is_found_out(data: st.DataObject) -> None:
    instance = data.draw(instances(min_jobs=1))
    schedule = data.draw(schedules(instance))
    i = data.draw(st.integers(0, len(instance.jobs) - 1))
    finish = schedule.finish.copy()
    finish[i] += 3
    found = instance.violations(Schedule(schedule.start, finish, schedule.rows))
    assert [(v.constraint, v.index, v.excess) for v in found] == [("finish", (i,), 3.0)]


def test_the_number_of_decisions_must_be_that_of_the_epochs() -> None:
    instance = two_jobs()
    with pytest.raises(InputError, match="decisions: 1 of them, but the instance goes on"):
        instance.schedule_of([SPREAD])
    with pytest.raises(InputError, match="decisions: 3 of them, but there are 2 epochs"):
        instance.schedule_of([SPREAD, [LAST], []])


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ([(0, 0, 6)], r"time 0 s: infeasible decision: capacity\[0\]\[0\] exceeded by 2"),
        ([(1, 0, 1)], r"time 0 s: infeasible decision: window\[1\]"),
        ([(0, 0, 2)], r"time 0 s: infeasible decision: gang\[0\] exceeded by 4"),
        ([(7, 0, 1)], r"job\[7\]"),
        ([(0, 0, 2**52), (0, 1, 2**52)], r"gang\[0\].*capacity"),
    ],
)
def test_an_infeasible_decision_is_refused(decision: Any, message: str) -> None:
    with pytest.raises(DecisionError, match=message) as caught:
        two_jobs().schedule_of([decision, [LAST]])
    assert caught.value.violations


@pytest.mark.parametrize("decision", [None, 3, "start", [(0, 0)], [(0, 0, 0.5)], [[math.nan, 0, 1]], {}])
def test_a_decision_of_the_wrong_form_is_refused(decision: Any) -> None:
    with pytest.raises(InputError, match=r"^decision"):
        two_jobs().schedule_of([decision])


# --- what a policy sees -------------------------------------------------------------------------------------


def test_an_epoch_shows_what_waits_runs_and_has_ended() -> None:
    instance = two_jobs(window=1)
    episode = instance.episode(frozenset({"durations"}))
    seen = []
    for observation in episode:
        seen.append(observation)
        episode.apply([SPREAD, [LAST]][len(seen) - 1])
    one, two = seen
    assert (one.time, one.jobs.tolist(), one.waiting) == (0, [0], 1)
    assert (one.submit.tolist(), one.instances.tolist(), one.need.tolist()) == ([0], [6], [[1, 1000, 1000]])
    assert one.free.tolist() == instance.setting.capacity.tolist()
    assert one.duration is not None
    assert one.duration.tolist() == [10_000]
    assert (two.time, two.jobs.tolist()) == (1000, [1])
    assert two.running.tolist() == [list(row) for row in SPREAD]
    assert two.free[:, 0].tolist() == [0, 2]
    assert two.ended.shape == (0, 3)


@pytest.mark.parametrize(
    "sees",
    [set(), {"durations"}, {"estimates"}, {"durations", "estimates"}],
    ids=lambda sees: "+".join(sorted(sees)) or "nothing",
)
def test_durations_and_estimates_are_seen_only_if_asked_for(sees: set[str]) -> None:
    instance = with_estimates(5, 6, 7)
    observation = next(iter(instance.episode(frozenset(sees))))
    want = {"durations": [10_000], "estimates": [5000]}
    for what, found in (("durations", observation.duration), ("estimates", observation.estimate)):
        if what in sees:
            assert found is not None
            assert found.tolist() == want[what]
            assert not found.flags.writeable
        else:
            assert found is None


def test_estimates_that_are_not_there_cannot_be_seen() -> None:
    with pytest.raises(InputError, match=r"^estimates: .* have none; .*estimate_error=0\.5"):
        small().episode(frozenset({"estimates"}))
    assert list(small(jobs=[]).episode(frozenset({"estimates"}))) == []  # there is nothing to see


def test_the_simulation_of_an_episode_goes_along() -> None:
    instance = two_jobs()
    episode, times = instance.episode(frozenset()), []
    for observation in episode:
        assert episode.simulator.now == observation.time
        times.append(observation.time)
        episode.apply([SPREAD, [LAST]][len(times) - 1])
    assert times == [0, 1000]
    assert instance.violations(taken_schedule(episode.simulator)) == []


def test_what_has_ended_is_told_once() -> None:
    instance = alone(job(duration=1), job(submit=3, duration=1), job(submit=9))
    ended = [[0, 0, 1000]], [[1, 3000, 4000]]
    episode, found = instance.episode(frozenset()), []
    for observation in episode:
        found.append(observation.ended.tolist())
        episode.apply([(int(observation.jobs[0]), 0, 1)])
    assert found == [[], *ended]
