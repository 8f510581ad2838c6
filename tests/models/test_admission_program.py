"""The declared programs of admission: printed, exported, exact in whole numbers, and in order of value."""

import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import highspy
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.admission.cluster import Usage
from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import Job, exact
from clairvoyant.models.admission.program import (
    able,
    capacity_row,
    compact_program,
    least_ratio,
    schedule_program,
    timing,
)
from clairvoyant.models.admission.schedule import Offer, Plan, Schedule, cheapest_schedule
from clairvoyant.models.base import InputError
from clairvoyant.models.program import PyomoProgram, Solved
from clairvoyant.testing.admission import instances

SMALL = generate("tiny", 0)


def offer(instance: AdmissionInstance, job: Job, cost: float) -> Offer:
    """The empty cluster, where everything costs the same."""
    usage = Usage(instance.setting)
    rooms = (usage.worker_room(job), usage.server_room(job))
    return Offer(rooms[0], np.full(rooms[0].shape, cost), rooms[1], np.full(rooms[1].shape, cost))


def plans(instance: AdmissionInstance, costs: tuple[float, ...] = (0.0, 1e-3, 1.0)) -> list[Plan]:
    """Some schedules of every job that can finish."""
    found = [cheapest_schedule(job, offer(instance, job, cost)) for job in able(instance) for cost in costs]
    return [plan for plan in found if plan is not None]


def programs() -> dict[str, PyomoProgram]:
    return {
        "compact": compact_program(SMALL),
        "schedules": schedule_program(SMALL, plans(SMALL)),
    }


def solved(program: PyomoProgram) -> float:
    value = program.solve(gap=0.0).value
    assert value is not None
    return value


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("name", ["compact", "schedules"])
def test_an_exported_program_has_the_same_optimum(tmp_path: Path, name: str, ending: str) -> None:
    program = programs()[name]
    path = tmp_path / f"program.{ending}"
    program.export(path)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert abs(highs.getInfo().objective_function_value) == pytest.approx(solved(program), abs=1e-6)


def test_names_of_variables_and_rows_are_in_the_file(tmp_path: Path) -> None:
    compact_program(SMALL).export(tmp_path / "a.lp")
    text = (tmp_path / "a.lp").read_text()
    for name in ("u(0_0)", "y(0_0_0)", "z(0_0_0)", "Y(0_0)", "Z(0_0)", "once(0)", "work(0_4)", "stop(0_0)"):
        assert name in text
    assert "worker_capacity(0_" in text
    assert "server_capacity(0_" in text


def test_print_shows_the_equations_beside_the_declaration() -> None:
    texts = {name: str(program) for name, program in programs().items()}
    for number in ("(1)", "(2)", "(3) (8)", "(4)", "(5)", "(6)", "(7)", "(9) (10)", "(11)-(13)"):
        assert number in texts["compact"]
    assert "sum_i w_i^r y[i,h,t] <= c_h^r" in texts["compact"]
    assert all(f"({number})" in texts["schedules"] for number in range(14, 19))
    assert "worker_capacity : Size=" in texts["compact"]
    assert "4 jobs, 5 slots, 2 + 2 machines, 5 resources" in texts["compact"]


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3)), min_size=1, max_size=3),
    st.integers(0, 40),
    st.integers(1, 10**12),
)
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_capacity_row_has_the_same_whole_solutions(
    terms: list[tuple[int, int]], capacity: int, unit: int
) -> None:
    needs, most = [n * unit for n, _ in terms], [m for _, m in terms]
    row = capacity_row(needs, most, capacity * unit + unit // 2)
    for x in product(*(range(m + 1) for m in most)):
        fits = sum(n * v for n, v in zip(needs, x, strict=True)) <= capacity * unit + unit // 2
        scaled = row is None or sum(n * v for n, v in zip(row.needs, x, strict=True)) <= row.limit
        assert fits == scaled
    if row is not None:
        assert math.gcd(*row.needs) == 1


@given(instances(min_jobs=1, max_chunks=40))
@hypothesis_settings(max_examples=40, deadline=None)
def test_the_tight_slope_asks_for_the_same_parameter_servers(instance: AdmissionInstance) -> None:
    for job in instance.jobs:
        true = exact(job.worker_bandwidth) / exact(job.server_bandwidth)
        for most in range(1, job.chunks + 1):
            ratio = least_ratio(job, most)
            assert ratio >= true
            assert all(math.ceil(y * ratio) == math.ceil(y * true) for y in range(most + 1))


def test_the_slope_of_a_single_worker_is_1() -> None:
    job = generate("default", 0).jobs[0]
    assert job.worker_bandwidth < job.server_bandwidth
    assert least_ratio(job, 1) == Fraction(1)


@given(instances(max_jobs=3))
@hypothesis_settings(max_examples=40, deadline=None)
def test_deadlines_and_cuts_hold_for_every_plan(instance: AdmissionInstance) -> None:
    """A job that is done by d has done the worker-slots of the cut by every slot t."""
    for plan in plans(instance):
        job = instance.jobs[plan.job]
        time = timing(instance.setting, job)
        end = plan.completion - 1
        assert end in time.deadlines
        rows = plan.schedule.workers
        for t, owed in time.cuts.items():
            assert rows[rows[:, 0] <= t + 1, 3].sum() >= owed[time.deadlines.index(end)]
        assert time.cuts[instance.setting.horizon - 1] == [job.work] * len(time.deadlines)
    never = set(range(len(instance.jobs))) - {job.index for job in able(instance)}
    assert never == set(instance.never)


def scheduled(solution: Solved) -> Schedule:
    """The schedule that a solved compact program stands for."""
    found = solution.variables
    sides = []
    for name in ("y", "z"):
        counts = np.rint(found[name]).astype(np.int64)
        i, h, t = np.nonzero(counts)
        sides.append(np.column_stack([t + 1, i, h, counts[i, h, t]]))
    return Schedule(*sides)


@given(instances(max_jobs=3))
@hypothesis_settings(max_examples=25, deadline=None)
def test_given_schedules_earn_no_more_than_the_best_which_is_a_schedule(
    instance: AdmissionInstance,
) -> None:
    assume(able(instance))
    chosen = schedule_program(instance, plans(instance))
    found = compact_program(instance).solve(gap=0.0)
    assert found.value is not None
    schedule = scheduled(found)
    assert instance.violations(schedule) == []
    assert float(instance.rewards(schedule).sum()) == pytest.approx(found.value, rel=1e-6, abs=1e-6)
    assert solved(chosen) <= found.value + 1e-6 * max(1.0, found.value)


def test_schedules_of_the_optimum_give_the_optimum() -> None:
    best = scheduled(compact_program(SMALL).solve(gap=0.0))
    completions = SMALL.completions(best)
    parts = [Plan(i, int(completions[i]), 0.0, 0.0, best.of_job(i)) for i in best.jobs.tolist()]
    program = schedule_program(SMALL, [*plans(SMALL), *parts])
    solution = program.solve(gap=0.0)
    assert solution.value == pytest.approx(solved(compact_program(SMALL)), abs=1e-6)
    assert solution.variables["x"].shape == (len(plans(SMALL)) + len(parts),)


def one_slot(machines: list[list[float]], workers: list[tuple[float, float]]) -> AdmissionInstance:
    """Jobs of one worker-slot, each with its demand and a utility of half its priority."""
    jobs = [
        {
            **dict.fromkeys(("arrival", "epochs", "chunks", "minibatches", "minibatch_time"), 1),
            "gradient_size": 0,
            **dict.fromkeys(("worker_bandwidth", "server_bandwidth"), 1),
            "worker_demand": [need],
            "server_demand": [0],
            "utility": {"priority": priority, "decay": 0, "target": 1},
        }
        for need, priority in workers
    ]
    return AdmissionInstance(
        horizon=1, resources=["cpu"], worker_servers=machines, parameter_servers=[[0]], jobs=jobs
    )


def test_a_job_is_chosen_once_and_machines_are_not_overfilled() -> None:
    """One machine, two jobs that need it whole: the better one, once."""
    instance = one_slot([[1]], [(1, 6), (1, 10)])
    given_plans = plans(instance, (0.0, 0.1))
    assert len(given_plans) == 4
    for program in (
        schedule_program(instance, given_plans),
        compact_program(instance),
    ):
        assert solved(program) == pytest.approx(5.0)


@pytest.mark.parametrize("machines", [[], [[0.0]], [[1.0]]])
def test_no_jobs_make_an_empty_program(machines: list[list[float]], tmp_path: Path) -> None:
    instance = AdmissionInstance(
        horizon=2, resources=["cpu"], worker_servers=machines, parameter_servers=machines, jobs=[]
    )
    for program in (compact_program(instance), schedule_program(instance, [])):
        assert "0 jobs" in str(program)
        program.export(tmp_path / "empty.lp")
        assert (tmp_path / "empty.lp").read_text()


def test_a_plan_that_breaks_a_constraint_is_refused() -> None:
    first = plans(SMALL)[0]
    crowded = first.schedule.workers.copy()
    crowded[:, 3] += 1000
    wrong = Plan(first.job, first.completion, 0.0, 0.0, Schedule(crowded, first.schedule.servers))
    with pytest.raises(InputError, match=r"plans\[1\]: chunks"):
        schedule_program(SMALL, [first, wrong])
    with pytest.raises(InputError, match=r"plans\[0\]: its schedule is not one of job 99"):
        schedule_program(SMALL, [Plan(99, first.completion, 0.0, 0.0, first.schedule)])
