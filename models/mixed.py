"""Branch and bound on linear programs with whole variables: every bound is proved by multipliers.

HiGHS's own branch and bound (1.14) can cut off the optimum of small programs with whole and other variables,
and then reports a bound that is wrong, with presolve or without it. Its linear programs are trusted no more
than their multipliers: these prove the bound of each node by weak duality, or that it has no solution.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .duality import Linear, is_empty, proven
from .program import Program, in_highs, power_of_two
from .stopwatch import library

MOST_NODES = 20_000
"""The most linear programs by default."""

WHOLE = 1e-6
"""A whole variable this near to a whole number counts as whole, unless a known solution is farther away."""


class Node(NamedTuple):
    """A part of the solutions: none of it is below its bound; ``limits`` are those of the whole variables."""

    bound: float
    number: int
    column: int  # the one to branch on, -1 for none
    at: float  # its value
    whole: bool  # whether it counts as whole, as all others do
    limits: tuple[np.ndarray, np.ndarray]


class _Tree:
    """The open nodes, best first, and HiGHS with the relaxation."""

    def __init__(self, linear: Linear, tolerance: float) -> None:
        kinds = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        options = {"presolve": "off", "small_matrix_value": 1e-12} | dict.fromkeys(kinds, tolerance)
        self.linear, self.columns = linear, np.flatnonzero(linear.whole)
        matrix = linear.matrix
        self.unit = power_of_two(float(np.abs(linear.cost).max(initial=0.0))) or 1.0
        self.highs = in_highs(
            linear.cost / self.unit,
            (matrix.indptr, matrix.indices, matrix.data),
            linear.rows,
            linear.columns,
            options,
        )
        self.count = 0

    def node(self, limits: tuple[np.ndarray, np.ndarray], above: float) -> Node:
        """Return the node of these limits of the whole variables, which is part of one with a bound."""
        self.count += 1
        lower, upper = (side.copy() for side in self.linear.columns)
        lower[self.columns], upper[self.columns] = limits
        if (lower > upper).any():
            return self._closed(math.inf, limits)
        self.highs.changeColsBounds(len(self.columns), self.columns.astype(np.int32), *limits)
        self.highs.run()
        known, status = library("highspy").HighsModelStatus, self.highs.getModelStatus()
        if status == known.kInfeasible:
            ray = self.highs.getDualRay()
            empty = any(is_empty(self.linear, (lower, upper), s * np.array(ray[2])) for s in (1.0, -1.0))
            return self._closed(math.inf if empty else above, limits)
        if status != known.kOptimal:
            return self._closed(above, limits)
        solution = self.highs.getSolution()
        bound = max(above, proven(self.linear, (lower, upper), self.unit * np.array(solution.row_dual)))
        x = np.clip(solution.col_value, lower, upper)  # whole ones beyond by rounding are whole
        off = np.abs(x - np.rint(x))[self.columns]
        if not off.any():
            return self._closed(bound, limits)
        column = int(off.argmax())
        at = float(x[self.columns[column]])
        return Node(bound, self.count, column, at, bool(off[column] <= WHOLE), limits)

    def _closed(self, bound: float, limits: tuple[np.ndarray, np.ndarray]) -> Node:
        """Return a node that is not branched on."""
        return Node(bound, self.count, -1, 0.0, True, limits)

    def halves(self, node: Node) -> tuple[Node, Node]:
        """Return the nodes where a variable is at most, and at least, the whole number beside its value."""
        lower, upper = (side.copy() for side in node.limits)
        upper[node.column] = math.floor(node.at)
        lower[node.column] = math.floor(node.at) + 1.0
        return self.node((node.limits[0], upper), node.bound), self.node((lower, node.limits[1]), node.bound)


def bound_of(
    program: Program,
    value: float | None,
    allowed: float,
    over: Callable[[], bool],
    tolerance: float,
    nodes: int = MOST_NODES,
) -> float | None:
    """Return a bound on the objective of a linear program with whole variables, in its own sense.

    ``value`` is that of a known solution, if there is one; the others are those of :func:`lower_bound`.
    """
    linear, sign = program.linear_form(), -1.0 if program.maximised else 1.0
    known = math.inf if value is None else sign * value - linear.offset
    found = lower_bound(linear, known, allowed, over, tolerance, nodes)
    return None if found is None or math.isinf(found) else sign * (found + linear.offset)


def without_solution(program: Program, over: Callable[[], bool], tolerance: float) -> bool:
    """Return whether multipliers prove in time that nothing keeps all limits of a linear program."""
    linear = program.linear_form()
    linear = linear._replace(cost=np.zeros_like(linear.cost))
    return lower_bound(linear, math.inf, 0.0, over, tolerance) == math.inf


def lower_bound(
    linear: Linear,
    value: float,
    allowed: float,
    over: Callable[[], bool],
    tolerance: float,
    nodes: int = MOST_NODES,
) -> float | None:
    """Return a number that no solution of a program, which is minimised, is below.

    Parameters
    ----------
    linear
        The program.
    value
        The objective of a known solution; infinite if there is none.
    allowed
        The search may end this far below it.
    over
        Says whether time is up, which ends it, too; the relaxation is solved in any case.
    tolerance
        Of HiGHS on rows and reduced costs.
    nodes
        The most linear programs; what is open after them limits the bound.

    Returns
    -------
    float or None
        Infinity if it is proved that there is no solution, ``None`` if nothing is proved.
    """
    tree = _Tree(linear, tolerance)
    lower, upper = linear.columns
    open_nodes = [tree.node((lower[tree.columns], upper[tree.columns]), -math.inf)]
    closed, enough = math.inf, value - allowed
    while open_nodes and open_nodes[0].bound < min(enough, closed):
        if tree.count >= nodes or over():
            break
        node = heapq.heappop(open_nodes)
        if node.column < 0 or (node.whole and math.isinf(value)):
            closed = min(closed, node.bound)
            continue
        for half in tree.halves(node):
            heapq.heappush(open_nodes, half)
    bound = min([closed, *(node.bound for node in open_nodes[:1])])
    return bound if bound > -math.inf else None
