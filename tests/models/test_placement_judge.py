"""The format as docs/instance-files.md writes it down, computed by a stranger who knows nothing of us."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.oracles.placement.optimum import METHODS, offline
from clairvoyant.testing.placement import instances, schedules

NAMES = ("gpus", "cpus", "memory")


def ticks(seconds: float) -> int:
    """Return a number with three decimals, as it stands in the file, in thousandths."""
    return int(Fraction(repr(seconds)) * 1000)


def fewest(machines: list[dict[str, Any]], job: dict[str, Any]) -> int:
    """Return the fewest empty machines that hold a job."""
    asked = [name for name in NAMES if job[name]]
    rooms = [min(ticks(machine[name]) // ticks(job[name]) for name in asked) for machine in machines]
    held = [sum(sorted(rooms)[-k:]) for k in range(1, len(rooms) + 1)]
    return 1 + next(k for k, room in enumerate(held) if room >= job["instances"])


def work(data: dict[str, Any], job: dict[str, Any], spans: int) -> int:
    """Return the ticks that a job takes alone on so many machines."""
    kappa = float(data["slowdown"]["communication"])
    a, b = (1.0 + kappa * (K - 1) / K for K in (spans, fewest(data["machines"], job)))
    return math.floor(ticks(job["duration"]) * (a / b) + 0.5)


def rate(data: dict[str, Any], i: int, running: set[int], places: list[dict[int, int]]) -> int:
    """Return the millionths of a tick of work that a job does in a tick."""
    jobs, worst = data["jobs"], 1.0
    eta, beta = float(data["slowdown"]["contention"]), float(jobs[i].get("intensity", 1))
    for k in places[i]:
        others = [j for j in running if j != i and k in places[j]]
        load = sum(ticks(jobs[j].get("intensity", 1)) * jobs[j]["gpus"] * places[j][k] for j in others)
        if load:
            worst = max(worst, 1.0 + eta * beta * (load / (1000 * data["machines"][k]["gpus"])))
    return math.floor(1e6 / worst)


def judge(data: dict[str, Any], start: list[int], places: list[dict[int, int]]) -> tuple[list[int], float]:
    """Return when each job ends, in ticks, and what all of them cost, in seconds."""
    jobs, now = data["jobs"], 0
    left: dict[int, int] = {}
    finish: dict[int, int] = {}
    while len(finish) < len(jobs):
        rates = {i: rate(data, i, set(left), places) for i in left}
        ends = [now - (-left[i] // rates[i]) for i in left]
        later = min([*ends, *(s for i, s in enumerate(start) if i not in left and i not in finish)])
        left = {i: left[i] - rates[i] * (later - now) for i in left}
        finish |= {i: later for i in left if left[i] <= 0}
        left = {i: rest for i, rest in left.items() if rest > 0}
        now = later
        for i, s in enumerate(start):
            if s == now and i not in left and i not in finish:
                left[i] = 10**6 * work(data, jobs[i], len(places[i]))
    waited = sum(finish[i] - ticks(job["submit"]) for i, job in enumerate(jobs))
    used = sum(job["gpus"] * job["instances"] * (finish[i] - start[i]) for i, job in enumerate(jobs))
    cost = 1000 * waited + ticks(data["gpu_weight"]) * used
    return [finish[i] for i in range(len(jobs))], cost / 10**6


def judged(instance: PlacementInstance, schedule: Schedule) -> tuple[list[int], float]:
    """Let the judge read an instance's file and the starts and rows of a schedule."""
    places: list[dict[int, int]] = [{} for _ in instance.jobs.submit]
    for i, k, count in schedule.rows.tolist():
        places[i][k] = count
    return judge(instance.to_dict(), schedule.start.tolist(), places)


THOUSANDTHS = st.integers(0, 1000).map(lambda whole: whole / 1000)
DURATIONS = st.integers(1, 10_000) | st.integers(1, 10**11)
PARAMETERS = st.floats(0, 10) | THOUSANDTHS


@st.composite
def odd_instances(draw: st.DrawFn, /, **options: Any) -> PlacementInstance:
    """Draw an instance with any parameters, intensities and durations that a file can have."""
    data = draw(instances(max_gpus=8, **options)).to_dict()
    data["slowdown"] = {name: draw(PARAMETERS) for name in data["slowdown"]}
    data["gpu_weight"] = draw(THOUSANDTHS)
    for job in data["jobs"]:
        job |= {"intensity": draw(THOUSANDTHS), "duration": draw(DURATIONS) / 1000}
    return PlacementInstance.from_dict(data)


@given(st.data())
@hypothesis_settings(max_examples=100, deadline=None)
def test_a_stranger_counts_the_same_milliseconds(data: st.DataObject) -> None:
    instance = data.draw(odd_instances())
    schedule = data.draw(schedules(instance))
    assert judged(instance, schedule) == (schedule.finish.tolist(), instance.cost(schedule))


@given(st.data(), odd_instances(max_jobs=3, max_machines=2, max_instances=2))
@hypothesis_settings(max_examples=15, deadline=None)
def test_no_schedule_is_below_a_bound_by_the_judge(data: st.DataObject, instance: PlacementInstance) -> None:
    _, cost = judged(instance, data.draw(schedules(instance)))
    contends, jobs = instance.setting.slowdown.contention > 0.0, len(instance.jobs)
    for method in METHODS:
        if method == "program" and (contends or jobs > instance.setting.window):
            continue  # which it refuses
        optimum = offline(instance, method=method)
        assert optimum.bound is not None
        assert optimum.bound <= cost
        assert judged(instance, optimum.decision)[1] == optimum.value


@pytest.mark.parametrize("method", ["auto", "branch-and-bound", "enumeration"])
def test_the_worked_example_of_the_format(method: str) -> None:
    job = {"submit": 0, "duration": 1e8, "instances": 1, "gpus": 1, "cpus": 0, "memory": 0}
    instance = PlacementInstance(
        machines=[{"gpus": 2, "cpus": 0, "memory": 0}],
        jobs=[job | {"intensity": 0.7}, job | {"intensity": 0.3}],
        slowdown={"communication": 0, "contention": 0.9},
    )
    optimum = offline(instance, method=method)
    assert optimum.value == optimum.bound == 218900049.144
    assert judged(instance, optimum.decision) == ([109450024572] * 2, 218900049.144)


def test_the_order_of_operations_is_that_of_the_format() -> None:
    """With (eta beta) share, c is a double above that of eta (beta share): the rate is a millionth less."""
    eta = 1.572880418754194
    share = 2 * 741 / 4000
    assert 1e6 / (1.0 + eta * (0.765 * share)) == 691656.0
    job = {"submit": 0, "duration": 1e5, "instances": 1, "gpus": 1, "cpus": 0, "memory": 0}
    other = job | {"duration": 1e6, "intensity": 0.741}
    instance = PlacementInstance(
        machines=[{"gpus": 4, "cpus": 0, "memory": 0}],
        jobs=[job | {"intensity": 0.765}, other, other],
        slowdown={"communication": 0, "contention": eta},
    )
    simulator = instance.simulator()
    assert simulator.advance()
    simulator.begin(np.array([[i, 0, 1] for i in range(3)]))
    assert simulator.state.speed[0] == 691655
    assert not simulator.advance()
    schedule = taken_schedule(simulator)
    assert judged(instance, schedule) == (schedule.finish.tolist(), instance.cost(schedule))
