"""The best gang decision of a slot, linear or by index: 0/1 programs in Pyomo, solved by HiGHS."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .. import stopwatch
from ..base import SMALLEST, frozen_copy, numbers
from ..mixed import bound_of
from ..program import CAREFUL, SOLVER_TOLERANCE, TIGHT, PyomoProgram, SolverError, power_of_two
from ..stopwatch import library
from .gang_channels import GangChannels

EQUATIONS = (
    "maximise    sum_e v~[e] x[e]",
    "subject to  y[l] <= 1_l(t)                            for all l",
    "            sum_r x[q,r] <= y[l]                      for all tasks q of l",
    "            sum_{q,r} x[q,r] >= m_l y[l]              for all l",
    "            sum_{l,q} a[q,k] x[q,r] <= c[r,k]         for all r, k",
    "            x, y binary",
)
LITERAL_EQUATIONS = (
    "maximise    sum_e v~[e] x[e]",
    "subject to  x[q,r] <= 1_l(t)                          for all l, q, r",
    "            sum_{q,r} x[q,r] >= m_l                   for all l",
    "            sum_{l,q} a[q,k] x[q,r] <= c[r,k]         for all r, k",
    "            x binary",
)
MOST_LISTED = 4096
"""The most decisions that :func:`every_decision` lists."""

MOST_SETS = 2**10
"""The most sets of channels of a server that a program chooses among."""

LARGEST_WHOLE = 2.0**50
"""Sums of whole numbers below this are exact."""

MOST_ROUNDS = 1000
MOST_FREE_ROUNDS = 5
MOST_NODES = 1000
"""Linear programs that prove a bound."""

MARGIN = 1e-9
"""Part of :func:`ceiling` that is added to a bound, for what the rounding of a program takes from it."""

ROUNDED = 1 + Fraction(1, 2**50)
"""A sum of values is no more than so many times what it is after rounding."""

LEAST_SPREAD = 1e-8
"""Squared widths that differ by more than this factor get cuts whose coefficients differ by less."""

LEAST_RISE = 2e-12
"""The least positive coefficient of a cut: HiGHS leaves out those up to 1e-12, whatever it is told."""

TOLERANCE = 1e-7
"""Distance of bound and value, beyond the margin, at which an index search ends."""


class GangChoice(NamedTuple):
    """A decision x[channel] and what is known about it."""

    x: np.ndarray  # the decision, feasible by our own check, shape (E,)
    value: float  # its value, computed by ourselves
    # No feasible decision is worth more, by multipliers of linear programs (:mod:`..mixed`), whatever HiGHS
    # says; for an index, none with as many untried channels.
    bound: float
    closed: bool  # whether the gap was reached; if not, time or :data:`MOST_NODES` were up
    # Marked channels among the chosen ones, for an index the untried ones; 0 where none are marked.
    marked: int = 0


def gang_program(setting: GangChannels, mean: Any, arrivals: Any) -> PyomoProgram:
    """Declare the sound 0/1 program of a slot with means v~: variables ``x`` (E,) and ``y`` (L,)."""
    pyo = library("pyomo.environ")

    v = numbers(mean, "mean", (setting.channels,), low=-np.inf)
    jobs = numbers(arrivals, "arrivals", (setting.ports,), integer=True, high=1)
    m = pyo.ConcreteModel("gang")
    m.x = pyo.Var(range(setting.channels), domain=pyo.Binary)
    m.y = pyo.Var(range(setting.ports), domain=pyo.Binary)
    m.utility = pyo.Objective(expr=_weighted(v, m.x), sense=pyo.maximize)
    m.launch = pyo.ConstraintList()
    m.once = pyo.ConstraintList()
    m.minimum = pyo.ConstraintList()
    for p in range(setting.ports):
        m.launch.add(m.y[p] <= int(jobs[p]))
    _jobs(m, setting, np.arange(setting.channels), range(setting.ports))
    _capacity(m, setting)
    return PyomoProgram(
        m,
        {"x": (setting.channels,), "y": (setting.ports,)},
        title=f"The best gang decision of a slot ({setting.tasks} tasks of {setting.ports} ports)",
        equations=EQUATIONS,
        highs_options=CAREFUL,
    )


def literal_program(setting: GangChannels, mean: Any, arrivals: Any) -> PyomoProgram:
    """Declare the program as printed: every port, with a job or without, must run m_l tasks.

    Parameters and errors are those of :func:`gang_program`; the only variable is ``x`` (E,). That a job that
    is not there runs nothing is (4). The variable ``nothing`` is zero; it stands in the rows of ports
    without channels.
    """
    pyo = library("pyomo.environ")

    v = numbers(mean, "mean", (setting.channels,), low=-np.inf)
    jobs = numbers(arrivals, "arrivals", (setting.ports,), integer=True, high=1)
    m = pyo.ConcreteModel("gang as printed")
    m.x = pyo.Var(range(setting.channels), domain=pyo.Binary)
    m.nothing = pyo.Var(bounds=(0.0, 0.0))
    m.utility = pyo.Objective(expr=_weighted(v, m.x), sense=pyo.maximize)
    m.arrival = pyo.ConstraintList()
    m.minimum = pyo.ConstraintList()
    for e, p in enumerate(setting.port.tolist()):
        m.arrival.add(m.x[e] <= int(jobs[p]))
    for p in range(setting.ports):
        chosen = sum(m.x[e] for e in np.flatnonzero(setting.port == p).tolist())
        m.minimum.add(m.nothing + chosen >= int(setting.minimum[p]))
    _capacity(m, setting)
    return PyomoProgram(
        m,
        {"x": (setting.channels,)},
        title=f"The gang program as printed ({setting.tasks} tasks of {setting.ports} ports)",
        equations=LITERAL_EQUATIONS,
        highs_options=CAREFUL,
    )


def _weighted(values: np.ndarray, x: Any) -> Any:
    return sum(float(value) * x[e] for e, value in enumerate(values.tolist()))


def _jobs(m: Any, setting: GangChannels, channels: np.ndarray, ports: Any) -> None:
    """Add the rows of tasks and jobs, over these channels and ports."""
    task = setting.task[channels]
    for p in ports:
        low, high = np.searchsorted(setting.task_port, [p, p + 1]).tolist()
        m.minimum.add(
            sum(m.x[e] for e in channels[(task >= low) & (task < high)].tolist())
            - int(setting.minimum[p]) * m.y[p]
            >= 0
        )
        for q in range(low, high):
            m.once.add(sum(m.x[e] for e in channels[task == q].tolist()) - m.y[p] <= 0)


def _capacity(m: Any, setting: GangChannels) -> None:
    """Add the rows of servers and kinds as printed."""
    pyo = library("pyomo.environ")

    m.capacity = pyo.ConstraintList()
    demand = setting.demand[setting.task]
    for r in range(setting.servers):
        for k in range(setting.kinds):
            takers = np.flatnonzero((setting.server == r) & (demand[:, k] > 0)).tolist()
            if takers:
                used = sum(int(demand[e, k]) * m.x[e] for e in takers)
                m.capacity.add(used <= int(setting.capacity[r, k]))


def usable(setting: GangChannels, arrivals: np.ndarray) -> np.ndarray:
    """Return which channels some feasible decision might choose, shape (E,).

    Their ports have a job, their tasks fit on their servers while those are empty, and at least m_l of the
    job's tasks fit somewhere.
    """
    able = setting.open(arrivals) & setting.fits
    task = np.bincount(setting.task[able], minlength=setting.tasks) > 0
    many = np.bincount(setting.task_port, weights=task, minlength=setting.ports)
    return able & (many >= setting.minimum)[setting.port]


def ceiling(setting: GangChannels, values: np.ndarray, arrivals: np.ndarray) -> float:
    """Return a bound on values.x without a solver: each task on its best server, servers without limits."""
    best = np.zeros(setting.tasks)
    able = usable(setting, arrivals)
    np.maximum.at(best, setting.task[able], values[able])
    return math.fsum(best.tolist())


class _Search:
    """The 0/1 program over the usable channels, its servers as tight as can be, with index z and cuts."""

    def __init__(self, setting: GangChannels, arrivals: np.ndarray, end: float) -> None:
        pyo = library("pyomo.environ")

        self.setting = setting
        self.arrivals = arrivals
        self.end = end
        self.channels = np.flatnonzero(usable(setting, arrivals))
        self.model = m = pyo.ConcreteModel("gang search")
        ports = np.unique(setting.port[self.channels]).tolist()
        m.x = pyo.Var(self.channels.tolist(), domain=pyo.Binary)
        m.y = pyo.Var(ports, domain=pyo.Binary)
        m.z = pyo.Var(bounds=(0.0, None))
        m.held = pyo.VarList(bounds=(0.0, 1.0))
        m.once = pyo.ConstraintList()
        m.minimum = pyo.ConstraintList()
        m.capacity = pyo.ConstraintList()
        m.cut = pyo.ConstraintList()
        _jobs(m, setting, self.channels, ports)
        server = setting.server[self.channels]
        for r in np.unique(server).tolist():
            self._room(r, self.channels[server == r])
        self.program = PyomoProgram(
            m, {"x": (setting.channels,)}, title="", equations=(), highs_options=CAREFUL
        )

    def _room(self, r: int, here: np.ndarray) -> None:
        """Declare what server ``r`` can hold of some channels: a convex combination of sets that fit.

        These are the largest ones, so that the relaxation is as tight as one server allows. Where they are
        many, the capacities in units of themselves stand for them.
        """
        m, (capacity, demand) = self.model, (self.setting.capacity[r], self.setting.demand[self.setting.task])
        if (demand[here].sum(axis=0) <= capacity).all():
            return
        sets = _largest(demand[here], capacity)
        if sets is None:
            for share in (demand[here] / np.maximum(capacity, 1)).T:
                if share.sum() > 1.0:
                    m.capacity.add(
                        sum(float(a) * m.x[int(e)] for a, e in zip(share, here, strict=True)) <= 1.0
                    )
            return
        held = [m.held.add() for _ in sets]
        m.capacity.add(sum(held) <= 1)
        for i, e in enumerate(here.tolist()):
            m.capacity.add(m.x[e] <= sum(y for y, one in zip(held, sets, strict=True) if one[i]))

    def cut(self, rise: np.ndarray, offset: float) -> None:
        """Add z <= rise.x + offset, of which HiGHS leaves nothing out: small coefficients are raised."""
        m = self.model
        kept = np.where(rise > 0.0, np.maximum(rise, LEAST_RISE), 0.0)
        total = sum(float(kept[e]) * m.x[e] for e in self.channels.tolist())
        m.cut.add(m.z - total <= offset)

    def best(self, values: np.ndarray, gap: float, *, index: bool = False) -> tuple[np.ndarray | None, float]:
        """Maximise values.x, plus z for an index; return a decision, ``None`` if time is up, and what it is.

        That is the objective as HiGHS says it, infinity if there is no decision.
        """
        pyo = library("pyomo.environ")

        m = self.model
        m.del_component("worth")
        total = sum(float(values[e]) * m.x[e] for e in self.channels.tolist())
        m.worth = pyo.Objective(expr=total + m.z if index else total, sense=pyo.maximize)
        left = self.end - stopwatch.now()
        if left <= 0.0:
            return None, math.inf
        solved = self.program.solve(
            time_limit=None if math.isinf(left) else left,
            gap=gap,
            mip_abs_gap=0.0,
            mip_heuristic_run_feasibility_jump=False,  # takes longer than all the rest
            **TIGHT,
        )
        if solved.value is None:
            if solved.status == "maxTimeLimit":
                return None, math.inf
            raise SolverError(f"HiGHS ended with {solved.status} on a program that has a solution")
        return self._settled(solved.variables["x"]), solved.value

    def bound(self, value: float, allowed: float) -> float:
        """Return a bound on the last objective, of which ``value`` is known, by multipliers alone.

        Nothing that is ``allowed`` is looked for; after :data:`MOST_NODES`, or when time is up, it is less
        tight.
        """
        known = value if math.isfinite(value) else None
        found = bound_of(self.program, known, allowed, self._late, SOLVER_TOLERANCE, MOST_NODES)
        return math.inf if found is None else found

    def _late(self) -> bool:
        return stopwatch.now() >= self.end

    def _settled(self, raw: np.ndarray) -> np.ndarray:
        """Return the solver's x rounded to 0 and 1; raise if it is infeasible."""
        x = np.where(raw > 0.5, 1.0, 0.0)
        broken = self.setting.violations(x, self.arrivals)
        if broken:
            raise SolverError(f"HiGHS returned an infeasible gang decision: {broken[0]}")
        return x


def _largest(demand: np.ndarray, capacity: np.ndarray) -> np.ndarray | None:
    """List the sets of rows that fit and can have no other one, shape (N, rows); ``None`` if many fit."""
    x, left = np.zeros((1, len(demand)), dtype=bool), capacity[None, :]
    for i, needs in enumerate(demand):
        room = (left >= needs).all(axis=1)
        more = x[room]
        more[:, i] = True
        x, left = np.concatenate([x, more]), np.concatenate([left, left[room] - needs])
        if len(x) > MOST_SETS:
            return None
    fits = (left[:, None, :] >= demand).all(axis=2) & ~x
    return x[~fits.any(axis=1)]


def _free(setting: GangChannels, values: np.ndarray, arrivals: np.ndarray) -> np.ndarray | None:
    """Return the decision that reaches :func:`ceiling`, each task on its best server, if it is feasible."""
    able = np.flatnonzero(usable(setting, arrivals) & (values > 0.0))
    order = able[np.lexsort((able, -values[able], setting.task[able]))]
    x = np.zeros(setting.channels)
    x[order[np.unique(setting.task[order], return_index=True)[1]]] = 1.0
    return x if setting.feasible(x, arrivals) else None


def best_gang(
    setting: GangChannels, values: Any, arrivals: Any, *, gap: float = 1e-9, time_limit: float | None = None
) -> GangChoice:
    """Maximise values.x over the gang set of a slot, exactly.

    Where every task can have its best server at once, that is the optimum, without a solver. Otherwise HiGHS
    finds the decision; the bound is that of our own branch and bound (:mod:`..mixed`) plus ``MARGIN``, or
    :func:`ceiling` if that is smaller; where all values are multiples of the least one above 0, the largest
    multiple that is not above it (but for its rounding).

    ``gap`` is the relative gap (bound - value) / |bound| to reach, beyond the margin. A search that runs out
    of ``time_limit`` seconds returns the incumbent (at worst none) and its bound. If HiGHS fails, or its
    decision is infeasible or better than the bound, there is a SolverError.
    """
    end = math.inf if time_limit is None else stopwatch.now() + time_limit
    v = numbers(values, "values", (setting.channels,), low=-np.inf)
    jobs = numbers(arrivals, "arrivals", (setting.ports,), integer=True, high=1)
    gross = ceiling(setting, v, jobs)
    nothing = GangChoice(np.zeros(setting.channels), 0.0, gross, gross <= 0.0)
    free = _free(setting, v, jobs)
    if free is not None:
        return nothing._replace(x=free, value=gross, closed=True)
    if stopwatch.now() >= end:
        return nothing
    margin = MARGIN * gross
    unit = power_of_two(float(v[usable(setting, jobs)].max()))
    worst = np.maximum(v, -2.0 * gross)  # who costs more than all can earn is not chosen
    search = _Search(setting, jobs, end)
    x, above = search.best(worst / unit, 0.25 * gap)
    bound = search.bound(above, 0.25 * gap * abs(above) if x is not None else 0.0)
    bound = min(gross, bound * unit + margin)
    least = float(v[v > 0.0].min())
    if float(np.abs(v).sum()) / least < LARGEST_WHOLE and not (v % least).any():
        bound = float(Fraction(bound) * ROUNDED // Fraction(least)) * least
    if x is None:
        return nothing._replace(bound=bound)
    value = total_value(v, x)
    _refuse_low(bound, value, gross)
    closed = bound - value <= gap * abs(bound) + margin
    return GangChoice(x, value, max(bound, value), closed)


def total_value(values: np.ndarray, x: np.ndarray) -> float:
    """Return values.x, correctly rounded."""
    return math.fsum(values[x > 0.0].tolist())


def _refuse_low(bound: float, value: float, gross: float) -> None:
    """Raise if a bound is below a value by more than rounding."""
    if bound < value - 1e-12 * gross:
        raise SolverError(f"the bound {bound!r} is below the value {value!r}")


def most_tasks(setting: GangChannels, marked: np.ndarray, arrivals: np.ndarray) -> GangChoice:
    """Choose as many of the marked channels as possible, exactly; ``marked`` is their number."""
    found = best_gang(setting, marked.astype(np.float64), arrivals, gap=0.0)
    if found.bound != found.value:
        raise SolverError(f"HiGHS left an interval of {found.value!r} to {found.bound!r} marked channels")
    return found._replace(marked=round(found.value))


def every_decision(setting: GangChannels, arrivals: np.ndarray) -> np.ndarray | None:
    """List the feasible decisions of a slot, shape (N, E), or return ``None`` if there are many.

    Tasks are added one after the other, each to every server where there is room, or to none. More than
    :data:`MOST_LISTED` decisions, or ways to begin one, are too many.
    """
    able = np.flatnonzero(usable(setting, arrivals))
    x = np.zeros((1, setting.channels))
    used = np.zeros((1, *setting.capacity.shape), dtype=np.int64)
    for q in np.unique(setting.task[able]):
        grown, filled = [x], [used]
        for e in able[setting.task[able] == q]:
            r = setting.server[e]
            room = (used[:, r] + setting.demand[q] <= setting.capacity[r]).all(axis=1)
            grown.append(x[room])
            grown[-1][:, e] = 1.0
            filled.append(used[room])
            filled[-1][:, r] += setting.demand[q]
        x, used = np.concatenate(grown), np.concatenate(filled)
        if len(x) > MOST_LISTED:
            return None
    running = np.zeros((len(x), setting.ports))
    np.add.at(running.T, setting.port, x.T)
    return frozen_copy(x[((running == 0) | (running >= setting.minimum)).all(axis=1)])


def best_gang_index(
    setting: GangChannels,
    v: Any,
    q: Any,
    arrivals: Any,
    *,
    untried: np.ndarray | None = None,
    time_limit: float | None = None,
    start: float | None = None,
    listed: np.ndarray | None = None,
) -> GangChoice:
    """Maximise the index v.x + sqrt(q.x) over the gang set of a slot, by outer approximation.

    For every lambda > 0, sqrt(q.x) <= q.x / (2 lambda) + lambda / 2, with equality at lambda = sqrt(q.x).
    While every task can have its best server at once, lambda alone is improved. Then 0/1 programs with a
    variable z <= q.x / (2 lambda) + lambda / 2 follow, one cut for every incumbent, beginning with
    z <= q.x / sqrt(smallest positive q), which holds since x is binary. HiGHS solves them; the bound of the
    last one is proved by our own branch and bound (:mod:`..mixed`). For widths that are far apart see
    :meth:`_Index.first_rise` and :meth:`_Index.rise`.

    As many untried channels as possible come first: each adds a bonus larger than any index.

    ``v`` and ``q`` are the estimated mean >= 0 and the squared width >= 0 of each channel, ignored where
    ``untried``. Bound and value may differ by :data:`TOLERANCE`, a part of the index, beyond the margin.
    ``start`` is the first lambda, for instance that of the slot before; any positive number gives the same
    index. If ``listed`` is the list of :func:`every_decision` for this slot, it is enumerated, and no program
    is solved.

    ``value`` and ``bound`` of the choice are those of the index, without any bonus; ``closed`` says also that
    no decision has more untried channels than ``marked``. An answer of HiGHS that fails our own check is a
    SolverError.
    """
    end = math.inf if time_limit is None else stopwatch.now() + time_limit
    jobs = numbers(arrivals, "arrivals", (setting.ports,), integer=True, high=1)
    spread, mean = _weights(q, "q", setting), _weights(v, "v", setting)
    first = np.zeros(setting.channels, dtype=bool) if untried is None else np.asarray(untried, dtype=bool)
    known = usable(setting, jobs) & ~first
    largest = max(mean[known].max(initial=0.0), math.sqrt(spread[known].max(initial=0.0)))
    unit = power_of_two(float(largest)) or 1.0
    line, square = (np.where(known, weights, 0.0) / unit for weights in (mean, spread))
    search = _Index(setting, line, square / unit, jobs, first)
    if listed is not None:
        search.go_through(listed)
    else:
        free = search.without_solver(None if start is None else start / unit)
        if not search.closed and stopwatch.now() < end:
            search.with_solver(_Search(setting, jobs, end), free)
    found = search.result()
    bound = found.bound * unit  # which rounds where the result is below the least normal number
    return found._replace(value=found.value * unit, bound=bound + (math.ulp(0.0) if bound > 0.0 else 0.0))


def _weights(given: Any, field: str, setting: GangChannels) -> np.ndarray:
    """Return checked weights of the channels; they may be nearer to 0 than the least normal number.

    Averages of tiny utilities are.
    """
    array = np.asarray(given, dtype=np.float64)
    numbers(np.where((array > 0.0) & (array < SMALLEST), SMALLEST, array), field, (setting.channels,))
    return array


class _Index:
    """The state of one search for the best index: the incumbent and the bound, both with the bonus.

    The largest term of the index is from 1 to 2, unless all are 0.
    """

    def __init__(
        self,
        setting: GangChannels,
        v: np.ndarray,
        q: np.ndarray,
        jobs: np.ndarray,
        untried: np.ndarray,
    ) -> None:
        self.setting, self.jobs, self.untried = setting, jobs, untried
        self.v, self.q = np.where(untried, 0.0, v), np.where(untried, 0.0, q)
        most = ceiling(setting, self.v, jobs) + math.sqrt(ceiling(setting, self.q, jobs))
        self.bonus = 2.0 ** math.ceil(math.log2(most + 1.0) + 0.5) if untried.any() else 0.0
        self.weight = self.v + self.bonus * untried
        self.apart = False  # whether HiGHS would not tell the widths of a cut apart
        self.gross = ceiling(setting, self.weight, jobs) + math.sqrt(ceiling(setting, self.q, jobs))
        self.margin = MARGIN * self.gross
        self.allowed = TOLERANCE * (most or 1.0)  # the bonus is at least 2
        self.x = np.zeros(setting.channels)
        self.value = 0.0
        self.bound = self.gross

    @property
    def closed(self) -> bool:
        """Whether bound and value are as close as asked for."""
        return self.bound - self.value <= self.allowed + self.margin

    def take(self, x: np.ndarray, bound: float) -> float:
        """Note a decision and a bound; return lambda = sqrt(q.x)."""
        width = math.sqrt(total_value(self.q, x))
        value = total_value(self.weight, x) + width
        if value > self.value:
            self.x, self.value = x, value
        self.bound = min(self.bound, bound)
        _refuse_low(self.bound, self.value, self.gross)
        return width

    def tangent(self, at: float) -> np.ndarray:
        """Return the coefficients of x in weight.x + q.x / (2 lambda)."""
        return self.weight + self.q / (2.0 * at)

    def go_through(self, listed: np.ndarray) -> None:
        """Take the best of all decisions."""
        count, index = listed @ self.untried, listed @ self.v + np.sqrt(listed @ self.q)
        best = listed[np.argmax(np.where(count == count.max(), index, -1.0))]
        self.take(best, self.bound)
        self.bound = self.value

    def without_solver(self, start: float | None) -> float:
        """Improve lambda while every task can have its best server; return the last one."""
        at = (
            start
            if start is not None and start > 0.0
            else math.sqrt(ceiling(self.setting, self.q, self.jobs))
        )
        for _ in range(MOST_FREE_ROUNDS):  # it may go in circles
            x = _free(self.setting, self.tangent(at), self.jobs) if at > 0.0 else None
            if x is None:
                break
            most = ceiling(self.setting, self.tangent(at), self.jobs)
            reached = self.take(x, most + 0.5 * at + 1e-15 * self.gross)
            if self.closed:
                break
            at = reached
        linear = None if self.q.any() else _free(self.setting, self.weight, self.jobs)
        if linear is not None:
            self.take(linear, ceiling(self.setting, self.weight, self.jobs))
        return at

    def first_rise(self, least: float) -> np.ndarray:
        """Return the coefficients of the first cut; ``least`` is the smallest positive q of those usable.

        Where widths are far apart, they are sqrt(q): the root of a sum is at most the sum of the roots.
        """
        return np.sqrt(self.q) if self.apart else self.q * (1.0 / math.sqrt(least))

    def rise(self, at: float) -> np.ndarray:
        """Return the coefficients of x in z <= q.x / (2 lambda) + lambda / 2, shape (E,).

        Where widths are far apart, they are cut to the largest sqrt(q.x) of all, Z: a chosen channel whose
        coefficient is cut allows z <= Z, and no z is larger. At the decision of lambda itself nothing is
        cut, since its q are at most lambda^2, and so its coefficients at most lambda / 2.
        """
        rise: np.ndarray = self.q * (0.5 / at)
        return np.minimum(rise, math.sqrt(ceiling(self.setting, self.q, self.jobs))) if self.apart else rise

    def with_solver(self, search: _Search, at: float) -> None:
        """Solve 0/1 programs with one cut more each time until the gap is closed or time is up."""
        able = self.q[search.channels]
        least = float(able[able > 0.0].min(initial=math.inf))
        self.apart = least < LEAST_SPREAD * float(able.max(initial=0.0))
        search.model.z.setub(math.sqrt(ceiling(self.setting, self.q, self.jobs)))  # for multipliers to prove
        search.cut(self.first_rise(least), 0.0)
        for _ in range(MOST_ROUNDS):
            if at > 0.0:
                search.cut(self.rise(at), 0.5 * at)
            x, above = search.best(self.weight, 0.25 * self.allowed / self.gross, index=True)
            if x is None:
                break
            at = self.take(x, self.bound)
            if above - self.value <= self.allowed + self.margin:
                break
        else:
            raise SolverError(f"the index is not closed after {MOST_ROUNDS} cuts")
        self.bound = min(self.bound, search.bound(above, 0.25 * self.allowed) + self.margin)
        _refuse_low(self.bound, self.value, self.gross)

    def result(self) -> GangChoice:
        """Return value and bound without the bonus."""
        count = int(self.x @ self.untried)
        value = total_value(self.v, self.x) + math.sqrt(total_value(self.q, self.x))
        bound = max(value, self.bound - self.bonus * count)
        return GangChoice(self.x, value, bound, self.closed, count)
