"""The declared program of placement: printed, exported, and its solutions are schedules of its value."""

from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from clairvoyant.models.base import InputError
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.program import placement_program, steps
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.models.program import Solved
from clairvoyant.testing.placement import instances

MACHINES = [{"gpus": 2, "cpus": 4, "memory": 8}, {"gpus": 1, "cpus": 4, "memory": 8}]


def job(**parts: Any) -> dict[str, Any]:
    return {"submit": 0, "duration": 4, "instances": 1, "gpus": 1, "cpus": 1, "memory": 1, **parts}


SMALL = PlacementInstance(
    machines=MACHINES,
    jobs=[job(), job(duration=2, gpus=2), job(submit=0.5, instances=3, duration=1.5), job(gpus=0)],
    slowdown={"communication": 1, "contention": 0},
    gpu_weight=0.5,
)


def solved(instance: PlacementInstance) -> Solved:
    result = placement_program(instance).solve(gap=0.0)
    assert result.value is not None
    return result


def read(instance: PlacementInstance, result: Solved) -> tuple[Schedule, float]:
    """The schedule of a solution, and what its ends cost."""
    start, finish = (np.rint(result.variables[name] * steps(instance)).astype(np.int64) for name in "se")
    counts = np.rint(result.variables["c"]).astype(np.int64)
    i, k = np.nonzero(counts)
    schedule = Schedule(start, finish, np.column_stack([i, k, counts[i, k]]))
    return schedule, instance.cost(schedule)


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_an_exported_program_has_the_same_optimum(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"program.{ending}"
    placement_program(SMALL).export(path)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(solved(SMALL).value, abs=1e-6)


def test_names_and_equations_are_there_to_be_read(tmp_path: Path) -> None:
    program = placement_program(SMALL)
    program.export(tmp_path / "a.lp")
    text = (tmp_path / "a.lp").read_text()
    for name in (
        "s(0)",
        "e(3)",
        "c(2_1)",
        "z(3_2)",
        "x(0_1)",
        "b(1_0)",
        "y(0_2_1)",
        "gang(2)",
        "capacity(0_0_0)",
    ):
        assert name in text
    text = str(program)
    assert "4 jobs, 2 machines, steps of 0.5 s" in text
    assert "sum_k c[i,k] = C_i" in text
    assert "capacity : Size=" in text


@given(instances(max_jobs=3, contention=False, windows=False))
@hypothesis_settings(max_examples=40, deadline=None)
def test_a_solution_is_a_feasible_schedule_of_its_value(instance: PlacementInstance) -> None:
    """Machines hold what runs at any time, gangs are whole, and the objective is the instance's cost."""
    if not len(instance.jobs):
        return
    result = solved(instance)
    schedule, cost = read(instance, result)
    assert result.value == pytest.approx(cost, abs=1e-5)
    jobs, table = instance.jobs, instance.table
    for i in range(len(jobs)):
        mine = schedule.of_job(i)
        assert mine[:, 1].sum() == jobs.instances[i]
        assert schedule.finish[i] - schedule.start[i] == table.duration[i, len(mine)]
        assert schedule.start[i] >= jobs.submit[i]
    for when in schedule.start.tolist():
        runs = (schedule.start <= when) & (when < schedule.finish)
        rows = schedule.rows[runs[schedule.rows[:, 0]]]
        used = np.zeros_like(instance.setting.capacity)
        np.add.at(used, rows[:, 1], rows[:, 2:] * jobs.need[rows[:, 0]])
        assert (used <= instance.setting.capacity).all()


def test_steps_divide_all_times() -> None:
    assert steps(SMALL) == 500
    assert steps(PlacementInstance(machines=MACHINES, jobs=[])) == 1
    assert steps(PlacementInstance(machines=MACHINES, jobs=[job(duration=6), job(submit=4)])) == 2000


def test_no_jobs_make_an_empty_program(tmp_path: Path) -> None:
    program = placement_program(PlacementInstance(machines=MACHINES, jobs=[]))
    assert "0 jobs" in str(program)
    program.export(tmp_path / "empty.lp")
    assert (tmp_path / "empty.lp").read_text()


def test_contention_and_a_narrow_window_are_refused() -> None:
    with pytest.raises(InputError, match=r"slowdown\.contention: 0\.5 is above 0"):
        placement_program(
            PlacementInstance(machines=MACHINES, jobs=[], slowdown={"communication": 0, "contention": 0.5})
        )
    with pytest.raises(InputError, match="window: 1 is less than the 2 jobs"):
        placement_program(PlacementInstance(machines=MACHINES, jobs=[job(), job()], window=1))
