"""Declared optimisation problems: written once, beside the paper's equations, and passed to any solver.

A :class:`Program` wraps a CVXPY or a Pyomo model. It can be printed, exported as an LP or MPS file, and
solved by every solver that its modelling library knows. The libraries are imported when first needed.
"""

from __future__ import annotations

import math
import os
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from . import stopwatch
from .base import ClairvoyantError, InputError, write_whole
from .cones import empty_by_cones, proven_by_cones
from .duality import Linear, all_limits, proven
from .stopwatch import library

CAREFUL = {"presolve": "off"}
"""Options of HiGHS for programs in 0/1 variables: its presolve (1.14) takes the optimum, and its bound, away
from some small ones."""

SOLVER_TOLERANCE = 1e-10
"""HiGHS's tolerance on rows, 0/1 and optimality conditions in programs in which every limit is 1."""

TIGHT: dict[str, Any] = {
    "mip_feasibility_tolerance": SOLVER_TOLERANCE,
    "primal_feasibility_tolerance": SOLVER_TOLERANCE,
    "dual_feasibility_tolerance": SOLVER_TOLERANCE,
    "small_matrix_value": 1e-12,
}
"""Options of HiGHS for such programs."""


def power_of_two(number: float) -> float:
    """Return the largest power of two that is at most a positive number, 0.0 for 0.

    As a unit of a solver's input it makes the solver's tolerances relative to the instance, and
    dividing by it rounds nothing.
    """
    return math.ldexp(1.0, math.frexp(number)[1] - 1) if number > 0.0 else 0.0


class SolverError(ClairvoyantError):
    """A solver failed, or reported a status that we do not know."""


def in_highs(
    cost: Any,
    matrix: tuple[Any, Any, Any],
    rows: tuple[Any, Any],
    columns: tuple[Any, Any],
    options: Mapping[str, Any],
    *,
    maximise: bool = False,
    whole: bool = False,
    offset: float = 0.0,
    names: Sequence[str] = (),
) -> Any:
    """Return HiGHS, silent and on one thread, with a linear program that is made of arrays.

    ``cost`` is that of each column; they and ``offset`` make the objective. The matrix is starts of the
    columns, and rows and values of the entries. Rows and columns have lower and upper limits, possibly
    infinite; ``whole`` makes all columns whole numbers. An option or a program that HiGHS refuses is a
    SolverError.
    """
    highspy = library("highspy")

    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = len(rows[0]), len(cost)
    lp.sense_ = highspy.ObjSense.kMaximize if maximise else highspy.ObjSense.kMinimize
    lp.offset_, lp.col_cost_, lp.col_names_ = offset, cost, list(names)
    lp.row_lower_, lp.row_upper_ = rows
    lp.col_lower_, lp.col_upper_ = columns
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(cost) if whole else []
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix
    highs = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        if highs.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise SolverError(f"HiGHS refuses the option {name} = {value!r}")
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refuses the program")
    return highs


class Rows:
    """The rows of a linear program as they are gathered, block by block."""

    def __init__(self) -> None:
        self.count = 0
        self.limits: list[tuple[np.ndarray, np.ndarray]] = []
        self.entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def add(self, low: Any, high: Any, count: int, *entries: tuple[Any, Any, Any]) -> np.ndarray:
        """Add rows between limits, with entries (row among them, column, value); return their numbers."""
        numbers = np.arange(self.count, self.count + count)
        self.count += count
        self.limits.append((np.full(count, low, np.float64), np.full(count, high, np.float64)))
        for row, column, value in entries:
            self.fill(numbers[row], column, value)
        return numbers

    def fill(self, row: Any, column: Any, value: Any) -> None:
        """Add entries of rows that are there."""
        row, column, value = np.broadcast_arrays(row, column, value)
        self.entries.append((row, column, value.astype(np.float64)))

    def gathered(self, columns: int) -> tuple[tuple[Any, Any, Any], tuple[Any, Any]]:
        """Return the matrix with so many columns, and the limits, as :func:`in_highs` takes them."""
        row, column, value = (np.concatenate(parts) for parts in zip(*self.entries, strict=True))
        low, high = (np.concatenate(parts) for parts in zip(*self.limits, strict=True))
        shape = (self.count, columns)
        matrix = library("scipy.sparse").csc_array((value, (row, column)), shape=shape)
        return (matrix.indptr, matrix.indices, matrix.data), (low, high)


def linear_of(form: Any) -> Linear:
    """Return Pyomo's linear form of what is maximised as what is minimised."""
    matrix, sense = form.A.tocsc(), np.array([kind for _, kind in form.rows], dtype=np.int64)
    limit = np.array(form.rhs, dtype=np.float64)
    return Linear(
        -form.c.toarray()[0] if form.columns else np.zeros(0),
        matrix,
        (np.where(sense > 0, -np.inf, limit), np.where(sense < 0, np.inf, limit)),
        (
            np.array([-np.inf if x.lb is None else x.lb for x in form.columns], dtype=np.float64),
            np.array([np.inf if x.ub is None else x.ub for x in form.columns], dtype=np.float64),
        ),
        np.array([x.is_integer() for x in form.columns], dtype=bool),
        -float(form.c_offset[0]),
    )


@dataclass(frozen=True, eq=False)
class Solved:
    """A solver's report; nothing here is checked, that is the oracles' work."""

    status: str  # the modelling library's word for how it ended, e.g. "optimal" or "user_limit"
    value: float | None  # the objective, ``None`` if the solver holds no solution
    # Values by the names used in the declaration; empty if there is no solution.
    variables: Mapping[str, np.ndarray]
    # Multipliers (>= 0 for inequalities) by the names of the constraints, where the solver has them.
    duals: Mapping[str, np.ndarray] = field(default_factory=dict)
    # What multipliers prove of the objective; ``None`` with whole variables, see :func:`.mixed.bound_of`.
    bound: float | None = None
    # Whether the bound holds only if no variable without limits is twice as large as the solver says.
    guessed: bool = False
    # Up to which distance from 0 of variables without limits multipliers over cones prove that nothing keeps
    # all limits: see :func:`.cones.empty_by_cones`; of linear programs, :func:`.mixed.without_solution`.
    empty: float = 0.0


Decisions = Callable[[Mapping[str, np.ndarray]], Sequence[Any]]
"""Turns the variables of a solution, by name, into decisions, one for each event."""


class Program(ABC):
    """A declared problem with its title and the equations it stands for, one per line.

    ``decisions``, where a declaration has it, makes decisions of a solution. Whole variables are passed
    as whole numbers; solvers break limits of the others by a tolerance, which is for it to cut off.
    """

    title: str
    equations: tuple[str, ...]
    decisions: Decisions | None = None

    def __str__(self) -> str:
        lines = [self.title, "", *(f"  {line}" for line in self.equations), "", self.declaration()]
        return "\n".join(lines)

    @abstractmethod
    def declaration(self) -> str:
        """Return the model as the modelling library prints it."""

    @property
    @abstractmethod
    def maximised(self) -> bool:
        """Whether more of the objective is better."""

    @abstractmethod
    def zeros(self) -> dict[str, np.ndarray]:
        """Return every variable of a solution by its name, all of them 0 or at their limit next to it.

        An InputError names one between whose limits there is nothing.
        """

    @abstractmethod
    def whole(self) -> dict[str, np.ndarray]:
        """Return for every variable by its name whether it is a whole number, entry by entry."""

    @property
    @abstractmethod
    def mixed(self) -> bool:
        """Whether some variable is a whole number."""

    @abstractmethod
    def linear_form(self) -> Linear:
        """Return a linear program as arrays: what is maximised with the other sign."""

    @abstractmethod
    def solve(self, *, solver: str, **options: Any) -> Solved:
        """Hand the problem to a solver of the modelling library; an InputError if it does not know that."""

    @abstractmethod
    def _write(self, path: Path) -> None:
        """Write the model to a file whose name ends in .lp or .mps."""

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the problem as an LP or MPS file, by the ending of its name; nothing is left half-written.

        Another ending, a file that cannot be written, or a problem that is not linear, is an InputError.
        """
        target = Path(path)
        if target.suffix not in (".lp", ".mps"):
            raise InputError(f"{target}: the name of an exported program ends in .lp or .mps")
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder) / f"program{target.suffix}"
            self._write(draft)
            data = draft.read_bytes()
        write_whole(target, data)


def _next_to_0(name: str, low: Any, high: Any, whole: Any) -> np.ndarray:
    """Return for each variable of a name 0, or its limit next to it; see :meth:`Program.zeros`."""
    least, most = np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)
    for index in np.argwhere(~(least <= most))[:1]:
        at, place = tuple(index), [*map(int, index)] or ""
        what = "whole number" if np.broadcast_to(whole, least.shape)[at] else "number"
        raise InputError(f"variable {name}{place}: no {what} lies between {low[at]:g} and {high[at]:g}")
    return np.clip(np.zeros(least.shape), least, most)


class Declares(Protocol):
    """An instance that says what its offline optimum is: enough for :mod:`clairvoyant.oracles.generic`."""

    def program(self) -> Program:
        """Declare the offline problem, with ``decisions`` whose rewards add up to its objective."""
        ...


class CvxpyProgram(Program):
    """A problem declared in CVXPY.

    Parameters
    ----------
    problem
        The ``cvxpy.Problem``.
    variables, constraints
        Its parts by name.
    title, equations
        For people to read.
    curved
        The non-linear part of the problem, in words, if it has one.
    decisions
        See :class:`Program`.

    Raises
    ------
    InputError
        If the problem is not convex by CVXPY's rules.
    """

    def __init__(
        self,
        problem: Any,
        variables: Mapping[str, Any],
        constraints: Mapping[str, Any],
        *,
        title: str,
        equations: tuple[str, ...],
        curved: str = "",
        decisions: Decisions | None = None,
    ) -> None:
        if not problem.is_dcp():
            raise InputError("problem: it is not convex by CVXPY's rules")
        self.problem = problem
        self.variables = dict(variables)
        self.constraints = dict(constraints)
        self.title = title
        self.equations = equations
        self.curved = "" if self.linear else curved or "it is not linear"
        self.decisions = decisions

    @property
    def maximised(self) -> bool:
        """Whether more of the objective is better."""
        return type(self.problem.objective).__name__ == "Maximize"

    def zeros(self) -> dict[str, np.ndarray]:
        """Return every variable by its name, all of them 0 or at their limit next to it."""
        found = {}
        for name, whole in self.whole().items():
            low, high = self.variables[name].get_bounds()
            found[name] = _next_to_0(name, low, high, whole)
        return found

    def whole(self) -> dict[str, np.ndarray]:
        """Return for every variable by its name whether it is whole or 0/1, entry by entry."""
        found = {name: np.zeros(variable.shape, dtype=bool) for name, variable in self.variables.items()}
        for name, variable in self.variables.items():
            for index in (variable.boolean_idx, variable.integer_idx):  # an array for each dimension
                if len(index):
                    found[name][tuple(index) if variable.shape else ()] = True
        return found

    @property
    def mixed(self) -> bool:
        """Whether some variable is a whole number."""
        return bool(self.problem.is_mixed_integer())

    @property
    def linear(self) -> bool:
        """Whether the problem is a linear program, but for whole variables."""
        return bool(self.problem.is_qp() and self.problem.objective.args[0].is_pwl())

    def linear_form(self) -> Linear:
        """Return the linear program that CVXPY makes of it: what is maximised with the other sign."""
        data, _, inverse = self.problem.get_problem_data(library("cvxpy").HIGHS)
        cost, matrix, rows, (low, high) = _rows_and_columns(data)
        whole, binary = np.zeros(len(cost), dtype=bool), np.array(data["bool_vars_idx"], dtype=np.int64)
        whole[data["int_vars_idx"]], whole[binary] = True, True
        lower, upper = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        lower[binary], upper[binary] = np.maximum(lower[binary], 0.0), np.minimum(upper[binary], 1.0)
        return Linear(cost, matrix, rows, (lower, upper), whole, float(inverse[-1]["offset"]))

    def declaration(self) -> str:
        """Return CVXPY's print of the problem."""
        return str(self.problem)

    def solve(self, *, solver: str = "", **options: Any) -> Solved:
        """Solve with a solver that CVXPY knows: by default HiGHS if linear, else Clarabel."""
        cvxpy = library("cvxpy")

        chosen = (solver or ("HIGHS" if self.linear else "CLARABEL")).upper()
        known: list[str] = cvxpy.installed_solvers()
        if chosen not in known:
            raise InputError(f"solver: {solver!r} is not one of {', '.join(known)}")
        try:
            with warnings.catch_warnings():  # the status that we return says the same
                warnings.filterwarnings("ignore", "Solution may be inaccurate")
                data, chain, inverse = self.problem.get_problem_data(chosen, solver_opts=options)
                unit = _unit_of(data) if chosen == "CLARABEL" else 1.0
                data, raw, unit = self._answer(data, chain, inverse, options, unit)
        except (cvxpy.error.SolverError, ValueError) as error:  # ValueError: an answer that CVXPY cannot read
            raise SolverError(f"{chosen}: {str(error).splitlines()[0]}") from error
        sign, offset = -1.0 if self.maximised else 1.0, float(inverse[-1]["offset"])
        proved, guessed = self._bound(chosen, data, raw)
        bound = sign * (proved * unit + offset) if math.isfinite(proved) else None
        met = {variable.id for variable in self.problem.variables()}
        if any(one.value is None and one.id in met for one in self.variables.values()):
            doubted = chosen == "CLARABEL" and str(self.problem.status).startswith("infeasible")
            empty = empty_by_cones(data, np.array(raw.z)) if doubted else 0.0
            return Solved(self.problem.status, None, {}, bound=bound, guessed=guessed, empty=empty)
        duals = {name: part.dual_value for name, part in self.constraints.items()}
        return Solved(
            status=self.problem.status,
            value=float(self.problem.value),
            variables={
                name: np.asarray(v.value) if v.id in met else np.full(v.shape, np.nan)
                for name, v in self.variables.items()
            },
            duals={name: np.asarray(dual) * unit for name, dual in duals.items() if dual is not None},
            bound=bound,
            guessed=guessed,
        )

    def _answer(
        self, data: Any, chain: Any, inverse: Any, options: Mapping[str, Any], unit: float
    ) -> tuple[Any, Any, float]:
        """Return what a solver gets and answers, with costs in a unit; or in 1, if it finds nothing so."""
        given = data | {name: data[name] / unit for name in ("c", "P") if name in data and unit != 1.0}
        try:
            raw = chain.solve_via_data(self.problem, given, solver_opts=options)
            self.problem.unpack_results(raw, chain, inverse)
        except library("cvxpy").error.SolverError:
            if unit == 1.0:
                raise
            return self._answer(data, chain, inverse, options, 1.0)
        if unit != 1.0 and str(self.problem.status).startswith(("infeasible", "unbounded")):
            return self._answer(data, chain, inverse, options, 1.0)
        return given, raw, unit

    def _bound(self, solver: str, data: Any, raw: Any) -> tuple[float, bool]:
        """Return what the multipliers of HiGHS or Clarabel prove of CVXPY's minimisation, but for its offset.

        It is minus infinity if they prove nothing; and whether it rests on a guess.
        """
        if self.mixed or self.problem.status not in ("optimal", "optimal_inaccurate"):
            return -math.inf, False  # a simplex or an interior point that is cut off may be on either side
        if solver == "HIGHS":
            linear = self.linear_form()
            return proven(linear, all_limits(linear), np.array(raw["solution"].row_dual)), False
        if solver == "CLARABEL":
            return proven_by_cones(data, np.array(raw.x), np.array(raw.z))
        return -math.inf, False

    def _write(self, path: Path) -> None:
        cvxpy = library("cvxpy")

        if not self.linear:
            raise InputError(f"{path.suffix} files hold linear programs only, and {self.curved}")
        data, _, inverse = self.problem.get_problem_data(cvxpy.HIGHS)
        sign = -1.0 if self.maximised else 1.0  # CVXPY passes a minimisation to solvers
        cost, matrix, rows, columns = _rows_and_columns(data)
        highs = in_highs(
            sign * cost,
            (matrix.indptr, matrix.indices, matrix.data),
            rows,
            columns,
            {},
            maximise=self.maximised,
            offset=sign * inverse[-1]["offset"],
            names=_column_names(data["param_prob"].variables),
        )
        if highs.writeModel(str(path)) == library("highspy").HighsStatus.kError:
            raise SolverError("HiGHS could not write the model")


def _unit_of(data: Any) -> float:
    """Return a power of two near to the largest cost of CVXPY's minimisation."""
    largest = max(
        float(np.abs(data["c"]).max(initial=0.0)), float(abs(data["P"]).max()) if "P" in data else 0.0
    )
    return power_of_two(largest) or 1.0


def _rows_and_columns(data: Any) -> tuple[Any, Any, tuple[Any, Any], tuple[Any, Any]]:
    """Return cost, matrix, and limits of rows and columns of CVXPY's minimisation."""
    matrix, equal = data["A"].tocsc(), data["dims"].zero
    lower = np.full(matrix.shape[0], -np.inf)
    lower[:equal] = data["b"][:equal]
    limits = ((data["lower_bounds"], -np.inf), (data["upper_bounds"], np.inf))
    low, high = (np.full(matrix.shape[1], free) if given is None else given for given, free in limits)
    return data["c"], matrix, (lower, data["b"]), (low, high)


def _column_names(variables: Any) -> list[str]:
    """Name the columns of CVXPY's matrix, y_3_1 for y[3, 1], in its (Fortran) order."""
    names = []
    for variable in variables:
        indices = np.indices(variable.shape).reshape(len(variable.shape), -1, order="F").T
        names += ["_".join(map(str, [variable.name(), *index])) for index in indices.tolist()]
    return names


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def _refuse_outside(name: str, variable: Any, shape: tuple[int, ...]) -> None:
    """Raise an InputError if a variable has an index beyond a shape."""
    for key in variable.keys() if hasattr(variable, "keys") else ():
        index = () if key is None else key if isinstance(key, tuple) else (key,)
        inside = len(index) == len(shape) and all(
            isinstance(i, int | np.integer) and 0 <= i < n for i, n in zip(index, shape, strict=True)
        )
        if not inside:
            raise InputError(f"variables: {name}: its index {key!r} is none of the shape {shape}")


def _refuse_endless(form: Any) -> None:
    """Raise an InputError that names what of a linear form of Pyomo's is no finite number."""
    if not np.isfinite([*form.c.data, *form.c_offset]).all():
        raise InputError("model: its objective has a number that is not finite")
    entries = form.A.tocoo()
    wrong = [*entries.row[~np.isfinite(entries.data)], *np.flatnonzero(np.isnan(np.asarray(form.rhs, float)))]
    if wrong:
        name = form.rows[min(wrong)].constraint.name
        raise InputError(f"model: constraint {name} has a number that is not finite")


class PyomoProgram(Program):
    """A problem declared in Pyomo.

    Parameters
    ----------
    model
        The ``ConcreteModel`` with one active objective.
    variables
        Names of its variables that a solution reports, each with the shape of the array it is read into.
    title, equations
        For people to read.
    highs_options
        Options of HiGHS, unless ``solve`` is given others.
    decisions
        See :class:`Program`.
    """

    def __init__(
        self,
        model: Any,
        variables: Mapping[str, tuple[int, ...]],
        *,
        title: str,
        equations: tuple[str, ...],
        highs_options: Mapping[str, Any] | None = None,
        decisions: Decisions | None = None,
    ) -> None:
        for name in variables:
            if model.component(name) is None:
                raise InputError(f"variables: {name!r} is no component of the model")
            _refuse_outside(name, model.component(name), tuple(variables[name]))
        self.model = model
        self.variables = dict(variables)
        self._highs: Any = None
        self.title = title
        self.equations = equations
        self.highs_options = {} if highs_options is None else dict(highs_options)
        self.decisions = decisions

    @property
    def maximised(self) -> bool:
        """Whether more of the objective is better."""
        return bool(self._objective().sense == library("pyomo.environ").maximize)

    def _objective(self) -> Any:
        """Return the objective; an InputError if there is not one."""
        kind = library("pyomo.environ").Objective
        found = [*self.model.component_data_objects(kind, active=True)]
        if len(found) != 1:
            names = ": " + ", ".join(one.name for one in found) if found else ""
            raise InputError(f"model: it has {len(found)} active objectives, not one{names}")
        return found[0]

    def zeros(self) -> dict[str, np.ndarray]:
        """Return every variable by its name, all of them 0 or at their limit next to it.

        What is fixed stays so.
        """
        found, every = {}, self.whole()
        for name, shape in self.variables.items():
            low, high = np.zeros(shape), np.zeros(shape)
            for index, x in getattr(self.model, name).items():
                low[index] = x.value if x.fixed else -np.inf if x.lb is None else x.lb
                high[index] = x.value if x.fixed else np.inf if x.ub is None else x.ub
            found[name] = _next_to_0(name, low, high, every[name])
        return found

    def whole(self) -> dict[str, np.ndarray]:
        """Return for every variable by its name whether it is whole or 0/1, entry by entry."""
        found = {name: np.zeros(shape, dtype=bool) for name, shape in self.variables.items()}
        for name, whole in found.items():
            for index, x in getattr(self.model, name).items():
                whole[index] = x.is_integer()
        return found

    @property
    def mixed(self) -> bool:
        """Whether some variable is a whole number."""
        variables = self.model.component_data_objects(library("pyomo.environ").Var)
        return any(x.is_integer() for x in variables)

    def linear_form(self) -> Linear:
        """Return the linear program that Pyomo makes of it: what is maximised with the other sign."""
        return linear_of(self.maximised_form())

    def declaration(self) -> str:
        """Return Pyomo's own print of the model."""
        import io

        stream = io.StringIO()
        self.model.pprint(stream)
        return stream.getvalue()

    def solve(self, *, solver: str = "highs", time_limit: float | None = None, **options: Any) -> Solved:
        """Solve with a solver that Pyomo knows; see the base class.

        HiGHS is called in this process, and solves a changed model again without a new translation. For every
        other solver, ``options`` go to the solver as they are.
        """
        if solver == "highs":
            return self._solve_with_highs(time_limit, options)
        pyo = library("pyomo.environ")

        driver = pyo.SolverFactory(solver)
        if not driver.available(exception_flag=False):
            raise InputError(f"solver: Pyomo cannot reach {solver!r} on this machine")
        extra = {} if time_limit is None else {"timelimit": time_limit}
        try:
            results = driver.solve(self.model, options=options, **extra)
        except (RuntimeError, ValueError) as error:
            raise SolverError(f"{solver}: {error}") from error
        status = str(results.solver.termination_condition)
        return Solved(status, float(pyo.value(self._objective())), self.values())

    def _solve_with_highs(self, time_limit: float | None, options: dict[str, Any]) -> Solved:
        Highs = library("pyomo.contrib.solver.solvers.highs").Highs

        start = stopwatch.now()
        if self._highs is None:
            self._objective()
            highs = Highs()
            incompatible = library("pyomo.contrib.solver.common.util").IncompatibleModelError
            try:
                highs.set_instance(self.model)
            except (incompatible, ValueError, NotImplementedError) as error:
                self.maximised_form()  # which says what is not linear
                raise InputError(f"model: {_one_line(error)}") from error
            self._highs = highs
        if time_limit is not None:  # the translation counts
            time_limit -= stopwatch.now() - start
            if time_limit <= 0.0:
                return Solved("maxTimeLimit", None, {})
        gap = options.pop("gap", None)
        result = self._highs.solve(
            self.model,
            time_limit=time_limit,
            rel_gap=gap,
            threads=1,
            solver_options={**self.highs_options, **options},
            load_solutions=False,
            raise_exception_on_nonoptimal_result=False,
        )
        status = result.termination_condition.name
        if status == "unknown" and self._empty():
            value = float(library("pyomo.environ").value(self._objective()))
            return Solved("convergenceCriteriaSatisfied", value, self.values(), bound=value)
        proved = status == "convergenceCriteriaSatisfied" and not self.mixed
        bound = self._proven(result.solution_loader.get_duals()) if proved else None
        if result.incumbent_objective is None:
            return Solved(status, None, {}, bound=bound)
        result.solution_loader.load_vars()
        return Solved(status, float(result.incumbent_objective), self.values(), bound=bound)

    def _proven(self, duals: Mapping[Any, float]) -> float | None:
        """Return the bound that multipliers of the constraints prove of what is declared, if any."""
        form, sign = self.maximised_form(), -1.0 if self.maximised else 1.0
        linear, y = linear_of(form), np.array([sign * duals.get(row.constraint, 0.0) for row in form.rows])
        bound = proven(linear, all_limits(linear), y)
        return sign * (bound + linear.offset) if math.isfinite(bound) else None

    def _empty(self) -> bool:
        """Whether HiGHS got no variables and no rows: it has no status for the optimum of that."""
        status = self._highs._solver_model.getModelStatus()
        return bool(status == library("highspy").HighsModelStatus.kModelEmpty)

    def values(self) -> dict[str, np.ndarray]:
        """Return the values of the model's variables; not a number where a solver has not met one."""
        found = {}
        for name, shape in self.variables.items():
            values = getattr(self.model, name).extract_values()
            array = np.zeros(shape)
            for index, value in values.items():
                array[index] = np.nan if value is None else value
            found[name] = array
        return found

    def maximised_form(self) -> Any:
        """Return Pyomo's linear form of the model, with the sign of what is maximised.

        An InputError names the objective, or the constraint, that is not linear, or not of finite numbers.
        """
        pyo, form = library("pyomo.environ"), library("pyomo.repn.plugins.standard_form")
        library("scipy.stats")  # Pyomo loads it, and most of SciPy, with its first matrix: in nobody's time
        try:
            found = form.LinearStandardFormCompiler().write(
                self.model, mixed_form=True, set_sense=pyo.maximize
            )
        except (ValueError, NotImplementedError) as error:  # Pyomo's InvalidExpressionError is one of them
            raise InputError(f"model: {_one_line(error)}") from error
        _refuse_endless(found)
        return found

    def _write(self, path: Path) -> None:
        self.model.write(str(path), io_options={"symbolic_solver_labels": True})
