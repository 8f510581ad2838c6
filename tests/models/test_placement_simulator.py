"""The compiled simulator against one that is slow and plainly right, and what the rules promise."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.placement_simpy import simulate
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.placement import kernels
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.models.placement.simulator import Simulator, blank_state
from clairvoyant.testing.placement import instances, schedules

RESOURCES = ("gpus", "cpus", "memory")
UNIT = 1_000_000
"""Work of a tick without contention; speeds are rounded down to whole units."""

Placed = dict[int, int]


def exact(value: float) -> Fraction:
    """Return the decimal number that a JSON file says."""
    return Fraction(str(value))


class Slow:
    """The definition in whole numbers and fractions, everything computed anew at every event.

    It reads the file form of an instance, and is given the placements of the jobs that start at each tick.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.machines = [[exact(m[r]) for r in RESOURCES] for m in data["machines"]]
        self.jobs = data["jobs"]
        self.needs = [[exact(job[r]) for r in RESOURCES] for job in self.jobs]
        self.beta = [exact(job.get("intensity", 1)) for job in self.jobs]
        self.submit = [self.ticks(job["submit"]) for job in self.jobs]
        self.kappa, self.eta = (exact(data["slowdown"][name]) for name in ("communication", "contention"))
        self.window = data["window"]
        self.now = 0
        self.left: dict[int, int] = {}  # the work left of the jobs that run
        self.placed: dict[int, Placed] = {}
        self.arrived: set[int] = set()
        self.start: dict[int, int] = {}
        self.finish: dict[int, int] = {}
        self.waited = self.used = 0

    @staticmethod
    def ticks(seconds: float) -> int:
        """Return so many seconds in whole milliseconds."""
        ticks = exact(seconds) * 1000
        assert ticks.denominator == 1
        return int(ticks)

    def free(self) -> list[list[Fraction]]:
        """Return what is free on each machine."""
        return [
            [
                has - sum((self.placed[i].get(k, 0) * self.needs[i][r] for i in self.left), Fraction(0))
                for r, has in enumerate(machine)
            ]
            for k, machine in enumerate(self.machines)
        ]

    def room(self, job: int, free: list[Fraction]) -> int:
        """Return how many instances of a job a machine with so much free holds."""
        fits = [math.floor(has / n) for has, n in zip(free, self.needs[job], strict=True) if n]
        most: int = self.jobs[job]["instances"]
        return min([most, *fits])

    def fewest(self, job: int) -> int:
        """Return the fewest empty machines that hold a job."""
        rooms = sorted((self.room(job, machine) for machine in self.machines), reverse=True)
        return next(k for k in range(len(rooms) + 1) if sum(rooms[:k]) >= self.jobs[job]["instances"])

    def alone(self, job: int, spans: int) -> int:
        """Return the ticks that a job takes alone on so many machines: rounded, halves up."""
        cost = [1 + self.kappa * Fraction(k - 1, k) for k in (spans, self.fewest(job))]
        return math.floor(self.ticks(self.jobs[job]["duration"]) * cost[0] / cost[1] + Fraction(1, 2))

    def speed(self, job: int) -> int:
        """Return the work that a job does in a tick: that of its worst machine, in floats, rounded down."""
        worst, ideal = 1.0, Fraction(1)
        for k in self.placed[job]:
            others = Fraction(0)
            for j in self.left:
                if j != job and self.placed[j].get(k) and self.needs[j][0]:
                    others += self.beta[j] * self.placed[j][k] * self.needs[j][0] / self.machines[k][0]
            worst = max(worst, 1.0 + float(self.eta) * float(self.beta[job]) * float(others))
            ideal = max(ideal, 1 + self.eta * self.beta[job] * others)
        speed = math.floor(UNIT / worst)
        assert abs(speed - UNIT / ideal) <= 1
        return speed

    def waiting(self) -> list[int]:
        """Return the jobs that wait, the oldest first."""
        return sorted(self.arrived - set(self.start))

    def is_epoch(self) -> bool:
        """Tell whether a job of the window fits."""
        free = self.free()
        return any(
            sum(self.room(job, machine) for machine in free) >= self.jobs[job]["instances"]
            for job in self.waiting()[: self.window]
        )

    def begin(self, placements: dict[int, Placed]) -> None:
        """Start jobs now."""
        assert set(placements) <= set(self.waiting()[: self.window])
        for job, placed in placements.items():
            self.start[job], self.placed[job] = self.now, placed
            self.left[job] = self.alone(job, len(placed)) * UNIT
        assert all(has >= 0 for machine in self.free() for has in machine)

    def to_next_event(self) -> bool:
        """Go on to the next arrival or completion, completions first; return whether there is one."""
        speeds = {job: self.speed(job) for job in self.left}
        times = [self.now + math.ceil(Fraction(left, speeds[i])) for i, left in self.left.items()]
        times += [t for i, t in enumerate(self.submit) if i not in self.arrived]
        if not times:
            return False
        passed = min(times) - self.now
        self.waited += passed * (len(self.arrived) - len(self.finish))
        gpus = sum((sum(self.placed[i].values()) * self.needs[i][0] for i in self.left), Fraction(0))
        self.used += passed * int(gpus)
        self.now += passed
        for job, speed in speeds.items():
            self.left[job] -= passed * speed
            if self.left[job] <= 0:
                del self.left[job]
                self.finish[job] = self.now
        self.arrived |= {i for i, t in enumerate(self.submit) if t == self.now}
        return True


def placements(schedule: Schedule, tick: int) -> dict[int, Placed]:
    """Return what starts at a tick in a schedule."""
    jobs = np.flatnonzero(schedule.start == tick).tolist()
    return {job: {k: count for k, count in schedule.of_job(job).tolist()} for job in jobs}  # noqa: C416


def job(submit: float = 0, duration: float = 1, **fields: Any) -> dict[str, Any]:
    """Return a job of one instance with one GPU."""
    plain = {"instances": 1, "gpus": 1, "cpus": 0, "memory": 0}
    return {"submit": submit, "duration": duration, **plain, **fields}


def cluster(
    jobs: list[dict[str, Any]], gpus: tuple[int, ...] = (4, 4), kappa: float = 0, eta: float = 0, **other: Any
) -> PlacementInstance:
    """Return an instance on machines with so many GPUs."""
    return PlacementInstance(
        machines=[{"gpus": g, "cpus": 8, "memory": 8} for g in gpus],
        jobs=jobs,
        slowdown={"communication": kappa, "contention": eta},
        **other,
    )


def rows_of(*rows: Sequence[int]) -> np.ndarray:
    """Return rows (job, machine, count)."""
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def run(instance: PlacementInstance, *decisions: np.ndarray) -> Simulator:
    """Return the simulation after these decisions, one per epoch, at its end."""
    simulator = instance.simulator()
    for decision in decisions:
        assert simulator.advance()
        assert simulator.feasible(decision)
        simulator.start(decision)
    assert not simulator.advance()
    return simulator


@hypothesis_settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_core_follows_the_definition_to_the_tick(data: st.DataObject) -> None:
    instance = data.draw(instances())
    schedule = data.draw(schedules(instance))
    core, slow = instance.simulator(), Slow(instance.to_dict())
    while slow.to_next_event():
        if not slow.is_epoch():
            continue
        assert core.advance()
        assert (core.now, core.waited, core.used) == (slow.now, slow.waited, slow.used)
        assert core.pending.tolist() == slow.waiting()[: slow.window]
        assert core.state.clock[kernels.PENDING] == len(slow.waiting())
        assert core.state.free.tolist() == [
            [int(has * unit) for has, unit in zip(machine, (1, 1000, 1000), strict=True)]
            for machine in slow.free()
        ]
        starting = placements(schedule, slow.now)
        rows = rows_of(*((i, k, c) for i, placed in starting.items() for k, c in placed.items()))
        assert core.feasible(rows)
        core.start(rows)
        slow.begin(starting)
    assert not core.advance()
    ours = taken_schedule(core)
    for name in ("start", "finish"):
        told = getattr(slow, name)
        expected = [told[i] for i in range(len(instance.jobs))]
        assert getattr(ours, name).tolist() == getattr(schedule, name).tolist() == expected
    assert np.array_equal(ours.rows, schedule.rows)
    assert (core.waited, core.used) == (slow.waited, slow.used)
    assert instance.violations(schedule) == []


@hypothesis_settings(max_examples=30, deadline=None)
@given(st.data())
def test_nothing_is_exceeded_and_every_job_runs_once_and_whole(data: st.DataObject) -> None:
    instance = data.draw(instances())
    schedule, jobs = data.draw(schedules(instance)), instance.jobs
    assert (schedule.start >= jobs.submit).all()
    assert (schedule.finish > schedule.start).all()
    for tick in schedule.start.tolist():
        used = np.zeros_like(instance.setting.capacity)
        for i, k, count in schedule.rows.tolist():
            if schedule.start[i] <= tick < schedule.finish[i]:
                used[k] += count * jobs.need[i]
        assert (used <= instance.setting.capacity).all()
    placed = np.zeros(len(jobs), dtype=np.int64)
    np.add.at(placed, schedule.rows[:, 0], schedule.rows[:, 2])
    assert placed.tolist() == jobs.instances.tolist()
    assert (schedule.rows[:, 2] > 0).all()


@hypothesis_settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_integrals_over_time_are_completion_times_and_gpu_seconds(data: st.DataObject) -> None:
    instance = data.draw(instances())
    schedule = data.draw(schedules(instance))
    simulator = run(instance, *instance.decisions(schedule))
    assert simulator.waited == (schedule.finish - instance.jobs.submit).sum()
    assert simulator.used == (instance.jobs.gpus * (schedule.finish - schedule.start)).sum()
    assert simulator.state.clock[kernels.DONE] == len(instance.jobs)
    assert sorted(simulator.state.ended.tolist()) == list(range(len(instance.jobs)))
    assert np.array_equal(simulator.state.free, instance.setting.capacity)
    assert not simulator.state.load.any()
    assert simulator.state.clock[kernels.IN_USE] == 0


@hypothesis_settings(max_examples=40, deadline=None)
@given(st.data())
def test_without_contention_a_job_takes_its_duration_on_as_many_machines(data: st.DataObject) -> None:
    instance = data.draw(instances(contention=False))
    schedule = data.draw(schedules(instance))
    for i in range(len(instance.jobs)):
        spans = len(schedule.of_job(i))
        assert schedule.finish[i] - schedule.start[i] == instance.table.duration[i, spans]


@hypothesis_settings(max_examples=50, deadline=None)
@given(st.data())
def test_alone_on_the_fewest_machines_a_job_takes_its_duration_and_never_less_on_more(
    data: st.DataObject,
) -> None:
    one = data.draw(instances(min_jobs=1, max_jobs=1, max_machines=4))
    schedule = data.draw(schedules(one))
    spans, fewest = len(schedule.rows), int(one.fewest[0])
    lasts = int(schedule.finish[0] - schedule.start[0])
    assert fewest == Slow(one.to_dict()).fewest(0)
    assert spans >= fewest
    assert lasts >= one.jobs.duration[0]
    if spans == fewest:
        assert lasts == one.jobs.duration[0]
    possible = one.table.duration[0][one.table.duration[0] >= 0]
    assert (np.diff(possible) >= 0).all()
    assert possible[0] == one.jobs.duration[0]
    assert lasts in possible


@pytest.mark.parametrize("kappa", [0, 0.3, 1, 10])
@pytest.mark.parametrize("duration", [0.001, 0.003, 1, 7.777, 1e8])
def test_the_table_of_durations_is_comm_rounded_to_the_nearest_tick(kappa: float, duration: float) -> None:
    instance = cluster([job(duration=duration, instances=8)], gpus=(4, 4, 4, 4), kappa=kappa)
    slow = Slow(instance.to_dict())
    assert instance.table.duration[0, :2].tolist() == [-1, -1]
    for spans in (2, 3, 4):
        ideal = Fraction(slow.ticks(duration)) * (1 + exact(kappa) * Fraction(spans - 1, spans))
        ideal /= 1 + exact(kappa) / 2
        assert abs(int(instance.table.duration[0, spans]) - ideal) <= Fraction(501, 1000)


@hypothesis_settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_job_elsewhere_changes_nothing(data: st.DataObject) -> None:
    instance = data.draw(instances(windows=False))
    schedule = data.draw(schedules(instance))
    plain, machines = instance.to_dict(), len(instance.setting.capacity)
    plain["machines"].append({"gpus": 0, "cpus": 0, "memory": 1})  # it holds no other job
    late = data.draw(st.sampled_from([0, 1, 3.5, 100]))
    plain["jobs"].append({"submit": late, "duration": 2, "instances": 1, "gpus": 0, "cpus": 0, "memory": 1})
    more = PlacementInstance.from_dict(plain)
    at = int(np.searchsorted(instance.jobs.submit, late * 1000, side="right"))  # its index: the last of ties
    ids = np.arange(len(instance.jobs))
    ids[at:] += 1
    rows = schedule.rows.copy()
    rows[:, 0] = ids[rows[:, 0]]
    tick = int(late * 1000)
    both = Schedule(
        np.insert(schedule.start, at, tick),
        np.insert(schedule.finish, at, tick + 2000),
        np.concatenate([rows, rows_of((at, machines, 1))]),
    )
    assert more.violations(both) == []


@hypothesis_settings(max_examples=40, deadline=None)
@given(st.data())
def test_identical_machines_may_change_places(data: st.DataObject) -> None:
    instance = data.draw(instances(max_machines=4))
    schedule = data.draw(schedules(instance))
    capacity = instance.setting.capacity.tolist()
    mixed = data.draw(st.permutations(range(len(capacity))))
    to = {k: mixed[k] for k in range(len(capacity))}
    machines = [instance.to_dict()["machines"][mixed.index(k)] for k in range(len(capacity))]
    other = PlacementInstance.from_dict({**instance.to_dict(), "machines": machines})
    rows = [[i, to[k], count] for i, k, count in schedule.rows.tolist()]
    assert other.violations(Schedule(schedule.start, schedule.finish, rows_of(*rows))) == []
    if len({tuple(machine) for machine in capacity}) == 1:
        assert other == instance


def test_beside_seven_gpus_of_others_a_job_takes_1_875_times_as_long() -> None:
    pair = cluster([job(duration=8), job(duration=100, gpus=7)], gpus=(8,), eta=1)
    ends = taken_schedule(run(pair, rows_of((0, 0, 1), (1, 0, 1)))).finish
    assert 15_000 <= ends[0] <= 15_001  # 8 s times 1.875; speeds are rounded down to millionths
    slowed = 1 + 1 / 8  # the large one has one GPU of another beside it, for as long as that runs
    assert ends[1] == pytest.approx(100_000 + 15_000 * (1 - 1 / slowed), abs=2)


@pytest.mark.parametrize(("kappa", "spans", "factor"), [(0, 2, 1), (1, 2, 1.5), (1, 4, 1.75), (2, 3, 7 / 3)])
def test_a_job_on_more_machines_than_it_needs_takes_comm_times_as_long(
    kappa: float, spans: int, factor: float
) -> None:
    one = cluster([job(duration=12, instances=4)], gpus=(4,) * 4, kappa=kappa)
    counts = [4 // spans] * spans
    counts[0] += 4 - sum(counts)
    simulator = run(one, rows_of(*((0, k, count) for k, count in enumerate(counts))))
    assert simulator.state.finish.tolist() == [12_000 * factor]


def test_contention_is_that_of_the_worst_machine_and_only_while_it_lasts() -> None:
    # A gang over both machines; 2 of 4 GPUs of the second are taken for 3 s: factor 1 + 2/4.
    two = cluster([job(duration=10, instances=4), job(duration=2, gpus=2)], eta=1)
    simulator = run(two, rows_of((0, 0, 2), (0, 1, 2), (1, 1, 1)))
    slowed = 1 + 2 / 4
    assert simulator.state.finish[1] == 3000 + 1  # 2 s times 1.5, the speed rounded down to 666,666
    assert simulator.state.finish[0] == pytest.approx(10_000 + 3001 - 3001 / slowed, abs=2)
    apart = run(two, rows_of((0, 0, 4), (1, 1, 1)))
    assert apart.state.finish.tolist() == [10_000, 2000]


@pytest.mark.parametrize("beside", [(2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 0, 1), (2, 2, 1)])
def test_contention_on_several_machines_is_that_of_the_worst_wherever_it_is(beside: tuple[int, ...]) -> None:
    # A gang over three machines; beside it, so many of the 4 GPUs of each are others'. It does not add up.
    jobs = [job(duration=4, instances=6), *(job(duration=90, gpus=gpus) for gpus in beside if gpus)]
    rows = [(0, k, 2) for k in range(3)]
    rows += [(i, k, 1) for i, k in enumerate((k for k in range(3) if beside[k]), 1)]
    simulator = run(cluster(jobs, gpus=(4,) * 3, eta=1), rows_of(*rows))
    assert simulator.state.finish[0] == 6000 + 1  # 4 s times 1.5


def test_intensity_counts_for_both_sides() -> None:
    def ends(mine: float, other: float) -> int:
        jobs = [job(duration=1, gpus=2, intensity=mine), job(duration=9, gpus=2, intensity=other)]
        simulator = run(cluster(jobs, gpus=(4,), eta=1), rows_of((0, 0, 1), (1, 0, 1)))
        return int(simulator.state.finish[0])

    assert ends(1, 1) == 1501
    assert ends(0.5, 0.5) == pytest.approx(1125, abs=1)
    assert ends(0, 1) == ends(1, 0) == 1000


def test_a_job_without_gpus_suffers_from_others_but_slows_nobody_down() -> None:
    jobs = [job(duration=1, gpus=0, cpus=1), job(duration=3, gpus=2)]
    simulator = run(cluster(jobs, gpus=(4,), eta=1), rows_of((0, 0, 1), (1, 0, 1)))
    assert simulator.state.finish.tolist() == [1501, 3000]


def test_who_arrives_when_another_ends_finds_its_room_free() -> None:
    jobs = [job(0, 2, gpus=4), job(0, 2, gpus=4), job(2, 1, gpus=4), job(2, 1, gpus=4)]
    instance = cluster(jobs)
    simulator = run(instance, rows_of((0, 0, 1), (1, 1, 1)), rows_of((2, 1, 1), (3, 0, 1)))
    assert simulator.state.start.tolist() == [0, 0, 2000, 2000]
    assert simulator.state.ended.tolist() == [0, 1, 2, 3]  # ties in the order in which they started


def test_an_event_after_which_nothing_of_the_window_fits_is_no_epoch() -> None:
    # Job 1 needs everything and is alone in the window; job 2 would fit beside job 0.
    jobs = [job(0, 5), job(1, 1, instances=8), job(2, 1)]
    narrow = cluster(jobs, window=1)
    simulator = run(narrow, rows_of((0, 0, 1)), rows_of((1, 0, 4), (1, 1, 4)), rows_of((2, 0, 1)))
    assert simulator.state.start.tolist() == [0, 5000, 6000]
    wide = run(cluster(jobs), rows_of((0, 0, 1)), rows_of((2, 0, 1)), rows_of((1, 0, 4), (1, 1, 4)))
    assert wide.state.start.tolist() == [0, 5000, 2000]


def test_idling_skips_to_the_next_epoch() -> None:
    instance = cluster([job(0, 5), job(0, 1), job(9, 1)])
    nothing = rows_of()
    simulator = run(instance, rows_of((0, 0, 1)), nothing, rows_of((1, 0, 1), (2, 0, 1)))
    assert simulator.state.start.tolist() == [0, 9000, 9000]


def test_an_empty_list_of_jobs_is_over_at_once() -> None:
    simulator = run(cluster([]))
    assert (simulator.now, simulator.waited, simulator.used) == (0, 0, 0)
    schedule = taken_schedule(simulator)
    assert schedule.rows.shape == (0, 3)
    assert len(schedule.start) == 0


@hypothesis_settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_copy_of_a_state_goes_on_as_the_state_does(data: st.DataObject) -> None:
    instance = data.draw(instances(min_jobs=1))
    schedule = data.draw(schedules(instance))
    decisions = instance.decisions(schedule)
    half = data.draw(st.integers(0, len(decisions)))
    first = instance.simulator()
    for decision in decisions[:half]:
        first.advance()
        first.start(decision)
    second = instance.simulator()
    second.state = blank_state(instance.table)
    kernels.copy_state(first.state, second.state)
    for simulator in (first, second):
        for decision in decisions[half:]:
            assert simulator.advance()
            simulator.start(decision)
        assert not simulator.advance()
        again = taken_schedule(simulator)
        assert np.array_equal(again.finish, schedule.finish)
    for mine, copied in zip(first.state, second.state, strict=True):
        assert np.array_equal(mine, copied)
        assert not np.shares_memory(mine, copied)


def corrupt(data: st.DataObject, rows: list[list[int]], instance: PlacementInstance) -> list[list[int]]:
    """Change one thing about some rows."""
    numbers = st.sampled_from([-1, 0, 1, 2, 3, len(instance.setting.capacity), len(instance.jobs), 2**40])
    what = data.draw(st.sampled_from(["change", "drop", "add", "double", "nothing", "clear"]))
    at = data.draw(st.integers(0, max(0, len(rows) - 1)))
    rows = [list(row) for row in rows]
    if what == "change" and rows:
        rows[at][data.draw(st.integers(0, 2))] = data.draw(numbers)
    elif what == "drop" and rows:
        del rows[at]
    elif what == "add":
        rows.append([data.draw(numbers) for _ in range(3)])
    elif what == "double" and rows:
        rows.append(rows[at])
    elif what == "clear":
        rows = []
    return sorted(rows, key=lambda row: row[:2])


@hypothesis_settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_fast_check_and_the_list_of_violations_agree(data: st.DataObject) -> None:
    instance = data.draw(instances(min_jobs=1))
    schedule = data.draw(schedules(instance))
    simulator = instance.simulator()
    for decision in instance.decisions(schedule):
        simulator.advance()
        assert simulator.feasible(decision)
        assert simulator.violations(decision) == []
        tried = rows_of(*corrupt(data, decision.tolist(), instance))
        assert simulator.feasible(tried) == (simulator.violations(tried) == [])
        simulator.start(decision)


@pytest.mark.parametrize(
    ("rows", "constraint"),
    [
        ([(0, 0, 1), (0, 0, 1)], "twice"),
        ([(0, 0, 1)], "gang"),
        ([(0, 0, 2), (0, 1, 1)], "gang"),
        ([(0, 0, 0), (0, 1, 2)], "count"),
        ([(0, 0, 2), (0, 1, -1), (0, 2, 1)], "count"),
        ([(3, 0, 1)], "job"),
        ([(-1, 0, 1)], "job"),
        ([(0, 3, 2)], "machine"),
        ([(0, -1, 2)], "machine"),
        ([(2, 0, 1)], "window"),
        ([(0, 0, 2), (1, 0, 1)], "capacity"),
        ([], "progress"),
    ],
)
def test_each_fault_alone_is_found_by_both_checks(rows: list[tuple[int, int, int]], constraint: str) -> None:
    jobs = [job(instances=2, gpus=2), job(gpus=1), job(gpus=1)]
    simulator = cluster(jobs, gpus=(4, 4, 4), window=2).simulator()
    simulator.advance()
    assert not simulator.feasible(rows_of(*rows))
    assert constraint in {violation.constraint for violation in simulator.violations(rows_of(*rows))}
    assert simulator.feasible(rows_of((0, 0, 2), (1, 1, 1)))


@hypothesis_settings(max_examples=40, deadline=None)
@given(instances(max_jobs=8), st.sampled_from([0, 1, 2]), st.booleans(), st.randoms(use_true_random=False))
def test_a_run_by_keys_takes_what_each_rule_says(
    instance: PlacementInstance, rule: int, strict: bool, random: Any
) -> None:
    keys = [random.choice([0.0, 1.0, 2.0]) for _ in range(len(instance.jobs))]
    core, slow = instance.simulator(), Slow(instance.to_dict())
    kernels.run_by_keys(
        core.table, core.state, core.contention, core.window, np.array(keys, dtype=float), rule, strict
    )
    while slow.to_next_event():
        if slow.is_epoch():
            slow.begin(by_rule(slow, keys, rule, strict))
    assert core.state.start.tolist() == [slow.start[i] for i in range(len(keys))]
    assert core.state.finish.tolist() == [slow.finish[i] for i in range(len(keys))]


def by_rule(slow: Slow, keys: list[float], rule: int, strict: bool) -> dict[int, Placed]:
    """Return what starts if the waiting jobs are tried by key and placed by a rule."""
    free, started = slow.free(), {}
    for i in sorted(slow.waiting()[: slow.window], key=lambda i: (keys[i], i)):
        left, placed = slow.jobs[i]["instances"], {}
        for k in sorted(range(len(free)), key=machine_key(slow, free, i, rule)):
            count = min(left, slow.room(i, free[k]))
            if count:
                placed[k] = count
                left -= count
        if not left:
            started[i] = placed
            for k, count in placed.items():
                free[k] = [has - count * n for has, n in zip(free[k], slow.needs[i], strict=True)]
        elif strict:
            break
    return started


def machine_key(slow: Slow, free: list[list[Fraction]], i: int, rule: int) -> Callable[[int], Any]:
    """Return the key by which a rule sorts machines for a job, before any of it is placed."""
    if rule == kernels.FIRST_FIT:
        return lambda k: k
    if rule == kernels.LOAD_BALANCE:
        used = [
            max([1 - has / had for has, had in zip(now, was, strict=True) if had] or [Fraction(0)])
            for now, was in zip(free, slow.machines, strict=True)
        ]
        return lambda k: (used[k], k)
    rooms = [slow.room(i, now) for now in free]
    return lambda k: (-rooms[k], free[k][0], k)


@hypothesis_settings(max_examples=40, deadline=None)
@given(instances(max_jobs=8))
def test_a_plain_simpy_model_of_the_same_rules_gives_the_same_schedule(instance: PlacementInstance) -> None:
    core = instance.simulator()
    keys = np.arange(len(instance.jobs), dtype=np.float64)
    kernels.run_by_keys(
        core.table, core.state, core.contention, core.window, keys, kernels.FIRST_FIT, strict=False
    )
    start, finish = simulate(instance)
    assert start.tolist() == core.state.start.tolist()
    assert finish.tolist() == core.state.finish.tolist()


def test_a_generated_workload_is_the_same_in_simpy_to_the_tick() -> None:
    for seed in range(3):
        instance = generate("default", seed)
        core = instance.simulator()
        keys = np.arange(len(instance.jobs), dtype=np.float64)
        kernels.run_by_keys(
            core.table, core.state, core.contention, core.window, keys, kernels.FIRST_FIT, strict=False
        )
        start, finish = simulate(instance)
        assert np.array_equal(start, core.state.start)
        assert np.array_equal(finish, core.state.finish)
