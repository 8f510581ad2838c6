"""An independent simulator of the placement problem, written from docs/instance-files.md alone."""

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant.analysis.placement.measures import measures
from clairvoyant.models.base import DecisionError
from clairvoyant.models.placement import Observation
from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.oracles.placement.optimum import METHODS, offline
from clairvoyant.testing.placement import instances, schedules

NAMES = ("gpus", "cpus", "memory")
Rows = Sequence[Sequence[int]]

# --- What stands in the document -------------------------------------------------------------------------


@cache
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


def rate(data: dict[str, Any], i: int, running: Iterable[int], places: dict[int, dict[int, int]]) -> int:
    """Return the millionths of a tick of work that a job does in a tick."""
    jobs, worst = data["jobs"], 1.0
    eta, beta = float(data["slowdown"]["contention"]), float(jobs[i].get("intensity", 1))
    for k in places[i]:
        others = [j for j in running if j != i and k in places[j]]
        load = sum(ticks(jobs[j].get("intensity", 1)) * jobs[j]["gpus"] * places[j][k] for j in others)
        if load:
            worst = max(worst, 1.0 + eta * beta * (load / (1000 * data["machines"][k]["gpus"])))
    return math.floor(1e6 / worst)


def amounts(thing: dict[str, Any]) -> list[int]:
    """Return the GPUs, and thousandths of cores and GB, of a machine or an instance."""
    return [thing["gpus"], ticks(thing["cpus"]), ticks(thing["memory"])]


class Simulation:
    """What happens from epoch to epoch; jobs are numbered by submission."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.jobs = sorted(data["jobs"], key=lambda job: ticks(job["submit"]))
        self.data, self.now = data | {"jobs": self.jobs}, 0
        self.coming, self.pending, self.running = list(range(len(self.jobs))), list[int](), list[int]()
        self.left: dict[int, int] = {}
        self.start: dict[int, int] = {}
        self.places: dict[int, dict[int, int]] = {}
        self.ended: list[tuple[int, int, int]] = []
        self.costs: list[int] = []

    @property
    def window(self) -> list[int]:
        return self.pending[: self.data.get("window", 64)]

    def free(self) -> list[list[int]]:
        free = [amounts(machine) for machine in self.data["machines"]]
        for i in self.running:
            for k, count in self.places[i].items():
                free[k] = [f - count * a for f, a in zip(free[k], amounts(self.jobs[i]), strict=True)]
        return free

    def fits(self, i: int) -> bool:
        asked = amounts(self.jobs[i])
        rooms = [min(f // a for f, a in zip(has, asked, strict=True) if a) for has in self.free()]
        return bool(sum(rooms) >= self.jobs[i]["instances"])

    def advance(self) -> bool:
        """Go on to the next decision epoch and tell whether there is one."""
        while self.running or self.coming:
            rates = {i: rate(self.data, i, self.running, self.places) for i in self.running}
            events = [self.now - (-self.left[i] // rates[i]) for i in self.running]
            events += [ticks(self.jobs[i]["submit"]) for i in self.coming[:1]]
            self.wait(min(events) - self.now, rates)
            for i in [i for i in self.running if self.left[i] <= 0]:
                self.running.remove(i)
                self.ended.append((i, self.start[i], self.now))
            while self.coming and ticks(self.jobs[self.coming[0]]["submit"]) == self.now:
                self.pending.append(self.coming.pop(0))
            if any(self.fits(i) for i in self.window):
                self.costs.append(0)
                return True
        return False

    def wait(self, time: int, rates: dict[int, int]) -> None:
        gpus = sum(self.jobs[i]["gpus"] * self.jobs[i]["instances"] for i in self.running)
        weight, inside = ticks(self.data.get("gpu_weight", 0)), len(self.pending) + len(self.running)
        if self.costs:
            self.costs[-1] += time * (1000 * inside + weight * gpus)
        self.left |= {i: self.left[i] - rates[i] * time for i in self.running}
        self.now += time

    def is_feasible(self, rows: Rows) -> bool:
        free, window = self.free(), self.window
        if not rows:
            return bool(self.running or self.coming)
        for i, k, count in rows:
            if i not in window or not 0 <= k < len(free) or count < 1:
                return False
            free[k] = [f - count * a for f, a in zip(free[k], amounts(self.jobs[i]), strict=True)]
        placed = {i: sum(count for j, _, count in rows if j == i) for i, _, _ in rows}
        return (
            len({(i, k) for i, k, _ in rows}) == len(rows)
            and all(count == self.jobs[i]["instances"] for i, count in placed.items())
            and min(min(has) for has in free) >= 0
        )

    def begin(self, rows: Rows) -> None:
        for i in sorted({i for i, _, _ in rows}):
            self.places[i] = {k: count for j, k, count in rows if j == i}
            self.left[i] = 10**6 * work(self.data, self.jobs[i], len(self.places[i]))
            self.start[i] = self.now
            self.pending.remove(i)
            self.running.append(i)

    def measures(self) -> dict[str, float]:
        """Return what `clairvoyant play` prints of the schedule, when all jobs have ended."""
        n, gpus = len(self.jobs), [job["gpus"] * job["instances"] for job in self.jobs]
        taken = sorted(end - ticks(self.jobs[i]["submit"]) for i, _, end in self.ended)
        used = sum(gpus[i] * (end - start) for i, start, end in self.ended)
        last, first = max(end for _, _, end in self.ended), ticks(self.jobs[0]["submit"])

        def percentile(share: float) -> float:
            place = share * (n - 1)
            low = taken[math.floor(place)]
            return (low + (place % 1) * (taken[math.ceil(place)] - low)) / 60_000

        everything = sum(machine["gpus"] for machine in self.data["machines"]) * (last - first)
        return {
            "JCT (min)": sum(taken) / n / 60_000,
            "median (min)": percentile(0.5),
            "p95 (min)": percentile(0.95),
            "p99 (min)": percentile(0.99),
            "fee ($)": self.data["price"] * used / n / 3_600_000,
            "makespan (h)": last / 3_600_000,
            "GPU use (%)": 100 * used / everything if everything else 0.0,
        }


# --- Whether that is what happens ------------------------------------------------------------------------


def as_read(instance: PlacementInstance) -> dict[str, Any]:
    """Return what the file of an instance holds, with its jobs in another order but for those of a tick."""
    data: dict[str, Any] = json.loads(json.dumps(instance.to_dict()))
    return data | {"jobs": sorted(data["jobs"], key=lambda job: random.Random(job["submit"]).random())}


def judged(instance: PlacementInstance, schedule: Schedule) -> tuple[list[int], float]:
    """Let the simulator play the starts and rows of a schedule, and return the ends and the cost."""
    simulation = Simulation(as_read(instance))
    while simulation.advance():
        rows = [row for row in schedule.rows.tolist() if schedule.start[row[0]] == simulation.now]
        assert simulation.is_feasible(rows)
        simulation.begin(rows)
    return [end for _, _, end in sorted(simulation.ended)], sum(simulation.costs) / 10**6


def see_the_same(seen: Observation, simulation: Simulation, told: int) -> None:
    """Compare an observation with the state of the simulation; ``told`` ends were seen before."""
    window = [simulation.jobs[i] for i in simulation.window]
    rows = [(i, k, count) for i in simulation.running for k, count in sorted(simulation.places[i].items())]
    assert (seen.time, seen.jobs.tolist()) == (simulation.now, simulation.window)
    assert seen.waiting == len(simulation.pending)
    assert seen.submit.tolist() == [ticks(job["submit"]) for job in window]
    assert seen.instances.tolist() == [job["instances"] for job in window]
    assert seen.need.tolist() == [amounts(job) for job in window]
    assert seen.intensity.tolist() == [ticks(job.get("intensity", 1)) for job in window]
    assert seen.free.tolist() == simulation.free()
    assert list(map(tuple, seen.running.tolist())) == rows
    assert list(map(tuple, seen.ended.tolist())) == simulation.ended[told:]
    assert seen.duration is not None
    assert seen.duration.tolist() == [ticks(job["duration"]) for job in window]


def lockstep(instance: Any, choose: Callable[[Simulation], Iterable[Rows]]) -> list[float]:
    """Play on both sides the first feasible one of the decisions that are chosen; return the costs."""
    episode, simulation, told = instance.episode(frozenset({"durations"})), Simulation(as_read(instance)), 0
    costs = []
    for seen in episode:
        assert simulation.advance()
        see_the_same(seen, simulation, told)
        told = len(simulation.ended)
        for rows in choose(simulation):
            if simulation.is_feasible(rows):
                outcome = episode.apply(rows)
                break
            with pytest.raises(DecisionError):
                episode.apply(rows)
        simulation.begin(rows)
        costs.append(outcome.reward)
        assert outcome.feedback.cost == outcome.reward
    assert not simulation.advance()
    assert costs == [cost / 10**6 for cost in simulation.costs]
    return costs


THOUSANDTHS = st.integers(0, 1000).map(lambda whole: whole / 1000)
DURATIONS = st.integers(1, 10_000) | st.integers(1, 10**11)
PARAMETERS = st.floats(0, 10, allow_subnormal=False) | THOUSANDTHS


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
@hypothesis_settings(max_examples=50, deadline=None)
def test_the_simulator_counts_the_same_milliseconds(data: st.DataObject) -> None:
    instance = data.draw(odd_instances())
    schedule = data.draw(schedules(instance))
    assert judged(instance, schedule) == (schedule.finish.tolist(), instance.cost(schedule))


def tried(data: st.DataObject, simulation: Simulation) -> Iterator[Rows]:
    """Yield rows that may be damaged, and in the end such as are feasible."""
    places = st.integers(-1, len(simulation.data["machines"]))
    row = st.tuples(st.integers(-1, len(simulation.jobs)), places, st.integers(0, 3))
    for _ in range(data.draw(st.integers(0, 2))):
        yield data.draw(st.lists(row, max_size=3))
    rows: list[tuple[int, int, int]] = []
    free, waits = simulation.free(), bool(simulation.running or simulation.coming)
    for i in data.draw(st.permutations(simulation.window)):
        asked, left, mine = amounts(simulation.jobs[i]), simulation.jobs[i]["instances"], []
        if waits and data.draw(st.booleans()):
            continue
        for k in data.draw(st.permutations(range(len(free)))):
            count = min([left, *(f // a for f, a in zip(free[k], asked, strict=True) if a)])
            if count:
                mine.append((i, k, count))
                left -= count
        if not left:
            rows += mine
            for _, k, count in mine:
                free[k] = [f - count * a for f, a in zip(free[k], asked, strict=True)]
            if data.draw(st.integers(0, 3)) == 3:  # an instance less, or one on another machine
                yield [*rows[:-1], (i, k, count - 1)]
                yield [*rows[:-1], (i, (k + 1) % len(free), count)]
    yield rows


@given(st.data(), odd_instances(windows=True))
@hypothesis_settings(max_examples=40, deadline=None)
def test_both_have_the_same_epochs_windows_verdicts_and_costs(data: st.DataObject, instance: Any) -> None:
    assert PlacementInstance.from_dict(as_read(instance)) == instance
    lockstep(instance, lambda simulation: tried(data, simulation))


@pytest.mark.parametrize(
    ("window", "rows", "feasible"),
    [
        (2, [[0, 0, 2], [1, 1, 1], [1, 0, 0]], False),
        (2, [[0, 0, 1], [1, 1, 1], [0, 1, 1], [1, 0, 1]], True),
        (2, [], True),
        (2, [[0, 0, 1], [0, 0, 1]], False),
        (2, [[0, 0, 2], [0, 1, 0]], False),
        (2, [[0, 0, 1]], False),
        (2, [[0, 0, 2], [1, 0, 2]], False),
        (2, [[1, 0, 2]], False),
        (2, [[0, 2, 2]], False),
        (2, [[0, -1, 2]], False),
        (2, [[-1, 0, 2]], False),
        (2, [[2, 0, 2]], False),
        (2, [[3, 0, 2]], False),
        (1, [[0, 0, 2]], True),
        (1, [[1, 0, 1], [1, 1, 1]], False),
        (1, [[0, 0, 1], [1, 1, 1], [0, 1, 1], [1, 0, 1]], False),
    ],
)
def test_every_rule_is_broken_by_itself(window: int, rows: Rows, feasible: bool) -> None:
    job = {"submit": 0, "duration": 1, "instances": 2, "gpus": 1, "cpus": 1, "memory": 0.5}
    instance = PlacementInstance(
        machines=[{"gpus": 2, "cpus": 4, "memory": 8}] * 2,
        jobs=[job, job | {"memory": 4.001}, job | {"submit": 0.001}],
        window=window,
    )
    episode, simulation = instance.episode(frozenset()), Simulation(as_read(instance))
    assert simulation.advance()
    assert simulation.is_feasible(rows) == feasible
    with nullcontext() if feasible else pytest.raises(DecisionError):
        episode.apply(rows)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"window": 1, "gpu_weight": 0.125, "rho": 2.0},
    {"window": 3, "contention": 1.0, "communication": 0.0, "estimate_error": 0.5, "rho": 1.5},
    {"communication": 2.0, "contention": 0.0, "price": 1.5, "machines": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(
    "policy", ["fifo-firstfit", "fifo-consolidate:strict=true", "drf-loadbalance", "tetris", "mosa"]
)
def test_the_simulator_gets_the_same_costs(tmp_path: Path, options: dict[str, Any], policy: str) -> None:
    path = tmp_path / "file.json"
    instance: Any = cv.generate("placement", size="tiny", seed=3, jobs=20, **options)
    instance.save(path)
    run = cv.play(policy, instance, seed=1, keep_decisions=True)
    assert run.decisions is not None
    simulation = Simulation(json.loads(path.read_text(encoding="utf-8")))
    for decision in run.decisions:
        assert simulation.advance()
        assert simulation.is_feasible(decision.tolist())
        simulation.begin(decision.tolist())
    assert not simulation.advance()
    assert run.rewards.tolist() == [cost / 10**6 for cost in simulation.costs]
    assert measures(instance, run.decisions) == pytest.approx(simulation.measures(), rel=1e-12)
    given = iter(run.decisions)
    assert lockstep(instance, lambda _: [next(given).tolist()]) == run.rewards.tolist()


@given(st.data(), odd_instances(max_jobs=3, max_machines=2, max_instances=2))
@hypothesis_settings(max_examples=15, deadline=None)
def test_no_schedule_is_below_a_bound_by_the_simulator(
    data: st.DataObject, instance: PlacementInstance
) -> None:
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
    simulator.start(np.array([[i, 0, 1] for i in range(3)]))
    assert simulator.state.speed[0] == 691655
    assert not simulator.advance()
    schedule = taken_schedule(simulator)
    assert judged(instance, schedule) == (schedule.finish.tolist(), instance.cost(schedule))
