"""Linear Pyomo programs in whole numbers, as models of CP-SAT whose bounds are exact."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..models.base import InputError
from ..models.program import PyomoProgram
from ..models.stopwatch import library
from . import cp_sat
from .base import rounding

EXACT_BITS = 20
"""CP-SAT takes rows whose numbers are whole multiples of 2^-EXACT_BITS: all others would be rounded."""

MOST_EXACT = 2.0**26
"""Objectives of such numbers are whole and exact if they reach no more than this."""

LARGEST_ROW = 2**62
"""The largest number that a row or a variable of CP-SAT may reach."""


class WholeModel(NamedTuple):
    """A CP-SAT model whose objective is a program's, less ``offset`` and times 2^``bits``, at most.

    It is that if it is ``exact``.
    """

    model: Any
    variables: list[tuple[Any, Any]]
    bits: int
    offset: float
    exact: bool

    def objective(self, bound: float) -> tuple[float, float]:
        """Return what is surely not below the program's objective by one of the model, and its rounding."""
        if self.exact:  # what CP-SAT says is less than half off the whole number that it has
            return math.ldexp(round(bound), -self.bits) + self.offset, 0.0
        above = math.ldexp(bound, -self.bits) + self.offset
        lost = cp_sat.lost(self.bits) + rounding(0, abs(above) + abs(self.offset))
        return above + lost, 2.0 * lost


def whole_model(program: PyomoProgram) -> WholeModel | str:
    """Return a program for CP-SAT, or why it is none."""
    cp_model = library("ortools.sat.python.cp_model")
    try:
        form = program.maximised_form()
    except InputError as error:
        return str(error)
    for column in form.columns:
        if not (column.is_integer() and column.has_lb() and column.has_ub()):
            return f"variable {column.name} is not whole or has no limits"
        if math.ceil(column.lb) > math.floor(column.ub):
            return f"variable {column.name} has no whole number within its limits"
        if max(abs(column.lb), abs(column.ub)) > LARGEST_ROW:
            return f"variable {column.name} has limits beyond 2^62"
    model = cp_model.CpModel()
    x = [model.new_int_var(math.ceil(c.lb), math.floor(c.ub), "") for c in form.columns]
    most = [max(abs(c.lb), abs(c.ub)) for c in form.columns]
    matrix, fixed = form.A.tocsr(), {j for j, top in enumerate(most) if top == 0}
    for row, (entry, limit) in enumerate(zip(form.rows, map(float, form.rhs), strict=True)):
        here = slice(*matrix.indptr[row : row + 2])
        columns = matrix.indices[here].tolist()
        entries = [0.0 if j in fixed else n for j, n in zip(columns, matrix.data[here].tolist(), strict=True)]
        scaled = [math.ldexp(number, EXACT_BITS) for number in (*entries, limit)]
        reach = sum(abs(n) * most[j] for n, j in zip(scaled, columns, strict=False)) + abs(scaled[-1])
        if not (all(number.is_integer() for number in scaled) and reach <= LARGEST_ROW):
            return f"constraint {entry.constraint.name} has numbers that are not whole, or too large"
        unit = math.gcd(*map(int, scaled)) or 1
        *numbers, last = (int(number) // unit for number in scaled)
        low = last if entry.bound_type <= 0 else cp_model.INT_MIN
        high = last if entry.bound_type >= 0 else cp_model.INT_MAX
        total = sum(n * x[j] for n, j in zip(numbers, columns, strict=True))
        model.add_linear_constraint(total, low, high)
    costs = form.c.toarray()[0].tolist() if form.columns else []
    costs = [0.0 if j in fixed else cost for j, cost in enumerate(costs)]
    reach = math.fsum(abs(cost) * top for cost, top in zip(costs, most, strict=True))
    bits, offset = cp_sat.BITS - math.frexp(reach)[1], float(form.c_offset[0])
    exact = all(math.ldexp(number, EXACT_BITS).is_integer() for number in (*costs, offset))
    exact = exact and reach + abs(offset) < MOST_EXACT
    bits = EXACT_BITS if exact else bits
    whole = [round(math.ldexp(cost, bits)) for cost in costs]
    for number, cost, top in zip(whole, costs, most, strict=True):
        offset += math.ldexp(abs(number - math.ldexp(cost, bits)) * top, -bits)
    model.maximize(sum(number * one for number, one in zip(whole, x, strict=True)))
    return WholeModel(model, list(zip(form.columns, x, strict=True)), bits, offset, exact)
