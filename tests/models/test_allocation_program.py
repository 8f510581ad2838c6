"""Declared programs: printed, exported, read back by another solver, and handed to several solvers."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import highspy
import numpy as np
import pytest

import clairvoyant
from clairvoyant import api
from clairvoyant.models.allocation.gang import AllocationGangInstance, generate_gang
from clairvoyant.models.allocation.gang_program import gang_program
from clairvoyant.models.allocation.generate import generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.program import stationary_program
from clairvoyant.models.base import InputError
from clairvoyant.models.mixed import bound_of
from clairvoyant.models.program import CAREFUL, Program, PyomoProgram, SolverError
from clairvoyant.oracles.allocation.optimum import gang, stationary

LINEAR = generate("tiny", seed=2, utility="linear")
MIXED = generate("tiny", seed=2)
GANG = generate_gang(LINEAR, 0)


def read_back(path: Path) -> float:
    """The optimum of an exported file, by HiGHS alone."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    return float(highs.getInfo().objective_function_value)


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("program", ["linear", "gang"])
def test_an_exported_program_has_the_same_optimum(tmp_path: Path, ending: str, program: str) -> None:
    path = tmp_path / f"program.{ending}"
    declared: Program
    if program == "linear":
        declared, value = stationary_program(LINEAR), stationary(LINEAR).value
    else:
        declared, value = gang_program(GANG.setting, GANG.arrival_counts), gang(GANG).value
    declared.export(path)
    assert read_back(path) == pytest.approx(value, rel=1e-6)
    assert list(tmp_path.iterdir()) == [path]


def test_columns_carry_the_names_of_the_variables(tmp_path: Path) -> None:
    stationary_program(LINEAR).export(tmp_path / "a.lp")
    text = (tmp_path / "a.lp").read_text()
    edges, kinds = LINEAR.setting.shape
    assert all(f" y_{e}_{k} " in text for e in range(edges) for k in range(kinds))
    assert " p_0 " in text


def test_a_curved_program_names_what_is_not_linear(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"linear programs only, and \d+ log and \d+ poly utilities are not"):
        stationary_program(MIXED).export(tmp_path / "a.lp")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("program", [stationary_program(LINEAR), gang_program(GANG.setting, [1, 1, 1])])
def test_exports_that_cannot_be_written_are_refused(tmp_path: Path, program: Program) -> None:
    with pytest.raises(InputError, match=r"a\.txt: the name of an exported program ends in \.lp or \.mps"):
        program.export(tmp_path / "a.txt")
    with pytest.raises(InputError, match="cannot be written"):
        program.export(tmp_path / "missing" / "a.lp")


def test_print_shows_the_equations_beside_the_declaration() -> None:
    text = str(stationary_program(MIXED))
    assert "sum_l y[l,r,k] <= c[r,k]       for all r, k        (4)" in text
    assert "N_alpha @ log1p" in text
    assert "sum_l @ y <= c" in text
    text = str(gang_program(GANG.setting, GANG.arrival_counts))
    assert "b v[l,q] <= sum_r y[l,q,r,k] <= a v[l,q]" in text
    assert "v : Size=" in text


@pytest.mark.parametrize("solver", ["CLARABEL", "HIGHS", "SCS", "OSQP", "scipy"])
def test_a_linear_program_goes_to_any_solver(solver: str) -> None:
    if solver == "OSQP":
        options: dict[str, Any] = {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 200_000}
    else:
        options = {"eps": 1e-9} if solver == "SCS" else {}
    solved = stationary_program(LINEAR).solve(solver=solver, **options)
    assert solved.status == "optimal"
    assert solved.value == pytest.approx(stationary(LINEAR).value, rel=1e-5)
    assert solved.variables["y"].shape == LINEAR.setting.shape


def test_multipliers_of_the_overhead_sum_to_the_weights() -> None:
    solved = stationary_program(MIXED).solve()
    np.testing.assert_allclose(solved.duals["overhead"].sum(axis=1), MIXED.arrival_counts, rtol=1e-6)
    assert solved.duals["capacity"].shape == MIXED.setting.capacity.shape


def test_a_slots_program_takes_the_setting_and_the_arrivals() -> None:
    x = np.array([1, 0, 2])
    solved = stationary_program(MIXED.setting, x).solve()
    assert solved.value == pytest.approx(stationary(MIXED.with_arrivals([x])).value, rel=1e-6)


def test_bad_weights_and_unknown_solvers_are_refused() -> None:
    with pytest.raises(InputError, match=r"weights\[1\]: -1 is not"):
        stationary_program(MIXED, [1.0, -1.0, 1.0])
    with pytest.raises(InputError, match="weights: shape 2 does not fit, expected 3"):
        gang_program(GANG.setting, [1.0, 1.0])
    with pytest.raises(InputError, match="solver: 'nosuch' is not one of CLARABEL"):
        stationary_program(MIXED).solve(solver="nosuch")
    with pytest.raises(InputError, match="Pyomo cannot reach 'cbc_missing'"):
        gang_program(GANG.setting, GANG.arrival_counts).solve(solver="cbc_missing")


def test_a_solver_that_cannot_take_the_problem_is_an_error() -> None:
    with pytest.raises(SolverError, match="HIGHS"):
        stationary_program(MIXED).solve(solver="HIGHS")


def test_an_interrupted_solver_says_so() -> None:
    solved = stationary_program(MIXED).solve(solver="CLARABEL", max_iter=1)
    assert solved.status == "user_limit"


def test_an_instance_without_edges_has_a_program() -> None:
    empty = AllocationInstance.from_dict({**MIXED.to_dict(), "edges": []})
    assert stationary_program(empty).solve().value == pytest.approx(0.0, abs=1e-9)


def test_pyomo_reaches_highs_by_its_general_interface_too() -> None:
    program = gang_program(GANG.setting, GANG.arrival_counts)
    direct = program.solve()
    other = program.solve(solver="appsi_highs", time_limit=1e6)
    assert other.value == pytest.approx(direct.value, rel=1e-6)
    assert direct.value is not None
    proved = bound_of(program, direct.value, 1e-7 * direct.value, lambda: False, 1e-9)
    assert proved == pytest.approx(direct.value, rel=1e-6)
    np.testing.assert_allclose(other.variables["u"], direct.variables["u"], atol=1e-6)


def test_an_infeasible_model_has_a_status_and_no_value() -> None:
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.reward = pyo.Objective(expr=model.x, sense=pyo.maximize)
    model.limit = pyo.Constraint(expr=model.x >= 2)
    solved = PyomoProgram(model, {"x": ()}, title="none", equations=()).solve()
    assert solved.value is None
    assert not solved.variables
    assert solved.status != "convergenceCriteriaSatisfied"


def test_a_solver_that_pyomo_cannot_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyomo.environ as pyo

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no licence")

    driver = SimpleNamespace(available=lambda **_: True, solve=fail)
    monkeypatch.setattr(pyo, "SolverFactory", lambda _name: driver)
    with pytest.raises(SolverError, match="gurobi: no licence"):
        gang_program(GANG.setting, GANG.arrival_counts).solve(solver="gurobi")


def test_a_model_that_highs_cannot_write_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(highspy.Highs, "writeModel", lambda *_: highspy.HighsStatus.kError)
    with pytest.raises(SolverError, match="HiGHS could not write the model"):
        stationary_program(LINEAR).export(tmp_path / "a.lp")
    assert not list(tmp_path.iterdir())


def test_a_solver_that_finds_nothing_leaves_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    program = stationary_program(MIXED)
    monkeypatch.setattr(type(program.problem), "unpack_results", lambda *_: None)
    solved = program.solve()
    assert solved.value is None
    assert not solved.variables


def test_translation_counts_against_the_time_limit() -> None:
    instance = AllocationGangInstance.from_dict(GANG.to_dict())
    solved = gang_program(instance.setting, instance.arrival_counts).solve(time_limit=1e-6)
    assert (solved.status, solved.value, solved.bound) == ("maxTimeLimit", None, None)


def smallest_wrong() -> Any:
    """Minimise 3 x + 4 z over x + z >= 2.5 and 0 <= x, z <= 6 with z whole: 7.5, at x = 2.5."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0.0, 6.0))
    model.z = pyo.Var(bounds=(0, 6), domain=pyo.Integers)
    model.cost = pyo.Objective(expr=3.0 * model.x + 4.0 * model.z)
    model.need = pyo.Constraint(expr=model.x + model.z >= 2.5)
    return model


def test_highs_without_presolve_is_right_where_its_presolve_is_wrong() -> None:
    program = PyomoProgram(
        smallest_wrong(), {"x": (), "z": ()}, title="", equations=(), highs_options=CAREFUL
    )
    right = program.solve()
    assert right.value == pytest.approx(7.5, abs=1e-9)
    assert right.bound is None  # HiGHS's is not believed
    assert bound_of(program, 12.0, 0.0, lambda: False, 1e-9) == pytest.approx(7.5, abs=1e-9)
    wrong = PyomoProgram(smallest_wrong(), {"x": (), "z": ()}, title="", equations=()).solve()
    assert wrong.status == right.status
    # A wrong optimum. If this fails, HiGHS is another one than 1.14: CAREFUL may go.
    assert wrong.value == pytest.approx(12.0, abs=1e-9)


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        ("allocation-gang", {}),
        ("selection", {"method": "highs"}),
        ("selection-gang", {"method": "highs"}),
        ("admission", {"method": "highs"}),
        ("placement", {"method": "program"}),
    ],
)
def test_presolve_is_off_wherever_the_answer_is_of_whole_numbers(
    monkeypatch: pytest.MonkeyPatch, problem: str, options: dict[str, Any]
) -> None:
    seen = []
    run = highspy.Highs.run

    def watched(highs: Any) -> Any:
        seen.append((len(highs.getLp().integrality_) > 0, highs.getOptionValue("presolve")[1]))
        return run(highs)

    monkeypatch.setattr(highspy.Highs, "run", watched)
    sizes: dict[str, dict[str, Any]] = {"placement": {"jobs": 4, "contention": 0.0}, "admission": {"jobs": 2}}
    size = sizes.get(problem, {"slots": 3})
    clairvoyant.solve(api.generate(problem, size="tiny", seed=1, **size), **options)
    assert any(whole for whole, _ in seen) or problem == "allocation-gang"
    assert seen
    assert {presolve for whole, presolve in seen if whole or problem == "allocation-gang"} == {"off"}
