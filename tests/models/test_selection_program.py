"""The declared 0/1 programs of selection: against enumeration, printed, exported, and changed in place."""

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clairvoyant.models.base import InputError
from clairvoyant.models.program import PyomoProgram
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.program import (
    add_cut,
    budget_program,
    index_program,
    slot_program,
    whole_statistics,
)
from clairvoyant.models.selection.setting import Setting
from clairvoyant.testing.selection import instances

RNG = np.random.default_rng(5)
SOME = SelectionInstance(
    edges=[(p, r) for p in range(3) for r in range(3)],
    demand=RNG.integers(1, 4, (9, 2)),
    capacity=[6, 7],
    mean=RNG.random(9),
    arrivals=[[1, 0, 1], [1, 1, 1]],
).setting
V, Q = RNG.random(9), RNG.random(9)
UPSILON, SIGMA2 = RNG.integers(0, 9, 9), RNG.integers(0, 99, 9)
ARRIVALS = np.array([1, 0, 1])


def feasible(setting: Setting, arrivals: np.ndarray) -> Iterator[np.ndarray]:
    for bits in product([0, 1], repeat=setting.channels):
        x = np.array(bits, dtype=float)
        if not setting.violations(x, arrivals):
            yield x


def programs() -> dict[str, tuple[PyomoProgram, float]]:
    """Each program with its optimum by enumeration."""
    sets = list(feasible(SOME, ARRIVALS))
    reach = max(float(UPSILON @ x) for x in sets) - 1
    lambdas = (0.5, 1.5)
    chord = np.sqrt(Q.min())

    def outer(x: np.ndarray) -> float:
        return float(V @ x + min(Q @ x / chord, *(Q @ x / (2 * a) + a / 2 for a in lambdas)))

    return {
        "slot": (slot_program(SOME, V, ARRIVALS), max(float(V @ x) for x in sets)),
        "budget": (
            budget_program(SOME, UPSILON, SIGMA2, int(reach), ARRIVALS),
            max(float(SIGMA2 @ x) for x in sets if UPSILON @ x >= reach),
        ),
        "index": (index_program(SOME, V, Q, ARRIVALS, lambdas), max(map(outer, sets))),
    }


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("name", ["slot", "budget", "index"])
def test_a_program_and_its_exported_file_have_the_optimum_of_enumeration(
    tmp_path: Path, name: str, ending: str
) -> None:
    program, optimum = programs()[name]
    assert program.solve().value == pytest.approx(optimum, abs=1e-6)
    path = tmp_path / f"program.{ending}"
    program.export(path)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")  # it is wrong on some small mixed-integer programs
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(optimum, abs=1e-6)


def test_print_shows_the_equations_beside_the_declaration() -> None:
    text = str(programs()["budget"][0])
    assert "sum_e Upsilon[e] x[e] >= s                         (20)" in text
    assert "sum_e a[e,k] x[e] <= c[k]    for all k             (2)" in text
    assert "x[0] : job[0]" in text
    assert "P4(s) at s = " in text
    assert "z <= q.x / (2 lambda) + lambda / 2" in str(programs()["index"][0])
    assert "(7)" in str(programs()["slot"][0])


def test_names_of_variables_and_rows_are_in_the_file(tmp_path: Path) -> None:
    programs()["index"][0].export(tmp_path / "a.lp")
    text = (tmp_path / "a.lp").read_text()
    assert all(f"x({e})" in text for e in range(9))
    assert all(name in text for name in ("capacity(2)", "arrival(8)", "chord", "tangent(2)", " z"))


@given(instances(min_slots=1, max_slots=2, min_channels=1, max_channels=6), st.booleans())
@hypothesis_settings(max_examples=25, deadline=None)
def test_the_slot_program_is_the_best_set_of_the_slot(instance: SelectionInstance, scaled: bool) -> None:
    setting, arrivals = instance.setting, instance.arrivals[0]
    solved = slot_program(setting, instance.mean, arrivals, scaled=scaled).solve()
    best = max(float(instance.mean @ x) for x in feasible(setting, arrivals))
    assert solved.value == pytest.approx(best, abs=1e-6)
    assert not setting.violations(np.round(solved.variables["x"]), arrivals)


def test_values_may_be_negative() -> None:
    values = V - 0.5
    solved = slot_program(SOME, values, ARRIVALS).solve()
    best = max(float(values @ x) for x in feasible(SOME, ARRIVALS))
    assert solved.value == pytest.approx(best, abs=1e-6)


def test_without_arrivals_every_port_has_a_job() -> None:
    free, given_ = slot_program(SOME, V).solve(), slot_program(SOME, V, np.ones(3)).solve()
    assert free.value == given_.value
    assert free.value is not None
    assert free.value > programs()["slot"][1]


def test_arrivals_can_be_changed_in_place() -> None:
    program = slot_program(SOME, V, np.ones(3))
    program.solve()
    for port, arrived in enumerate(ARRIVALS.tolist()):
        program.model.job[port] = arrived
    assert program.solve().value == pytest.approx(programs()["slot"][1], abs=1e-6)


def test_what_cannot_be_reached_is_infeasible() -> None:
    solved = budget_program(SOME, UPSILON, SIGMA2, 10_000).solve()
    assert solved.status == "provenInfeasible"
    assert solved.value is None
    assert budget_program(SOME, 0 * UPSILON, SIGMA2, 1).solve().value is None


@given(arrays(float, 9, elements=st.sampled_from([0.0, 0.25, 1.0, 4.0])))
@hypothesis_settings(max_examples=10, deadline=None)
def test_the_outer_approximation_closes_at_the_exact_index(q: np.ndarray) -> None:
    exact = max(float(V @ x + math.sqrt(q @ x)) for x in feasible(SOME, ARRIVALS))
    program = index_program(SOME, V, q, ARRIVALS)
    cuts: set[float] = set()
    while True:
        solved = program.solve()
        assert solved.value is not None
        assert solved.value >= exact - 1e-6
        lam = math.sqrt(q @ np.round(solved.variables["x"]))
        if lam == 0.0 or lam in cuts:
            break
        cuts.add(lam)
        add_cut(program, lam)
    assert solved.value == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: slot_program(SOME, V[:3]), r"values: shape 3 does not fit, expected 9"),
        (lambda: slot_program(SOME, [*V[:8], math.nan]), r"values\[8\]: nan is not a finite number"),
        (lambda: slot_program(SOME, V, [1, 2, 0]), r"arrivals\[1\]: 2 is not a whole number .* at most 1"),
        (lambda: slot_program(SOME, V, [1, 0]), r"arrivals: shape 2 does not fit, expected 3"),
        (lambda: budget_program(SOME, UPSILON + 0.5, SIGMA2, 0), r"upsilon\[0\]: .* is not a whole number"),
        (lambda: budget_program(SOME, UPSILON, -1 - SIGMA2, 0), r"sigma2\[0\]: -\d+ is not a whole number"),
        (lambda: budget_program(SOME, UPSILON, SIGMA2, -1), r"s: -1 is not a whole number of at least 0"),
        (lambda: index_program(SOME, V, -Q), r"q\[0\]: -.* is not a finite number of at least 0"),
        (lambda: index_program(SOME, V, Q, lambdas=[0.0]), r"lambda: 0.0 is not positive"),
        (lambda: add_cut(index_program(SOME, V, Q), math.inf), r"lambda: inf is not a finite number"),
    ],
)
def test_bad_input_is_refused_by_name(change: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        change()


def test_statistics_have_exact_sums() -> None:
    many = SelectionInstance(
        edges=[(0, r) for r in range(1025)],
        demand=np.ones((1025, 1)),
        capacity=[2],
        mean=np.zeros(1025),
        arrivals=[[1]],
    ).setting
    with pytest.raises(InputError, match=r"sigma2: the sum \d+ is more than 2\*\*62"):
        whole_statistics(many, np.zeros(1025), np.full(1025, 2.0**52))
    with pytest.raises(InputError, match=r"upsilon\[0\]: .* at most 4.50359962737e\+15"):
        whole_statistics(SOME, np.full(9, 2.0**53), SIGMA2)
