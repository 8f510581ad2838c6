"""Exact methods for the best schedules of all jobs: branch and price, HiGHS on declared programs, CP-SAT."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.program import able, compact_program, least_ratio
from ...models.admission.schedule import Schedule
from ...models.base import InputError
from ...models.mixed import bound_of
from ...models.program import CAREFUL, PyomoProgram, SolverError, in_highs, linear_of, power_of_two
from ...models.stopwatch import library
from .. import cp_sat
from ..base import Budget, OracleError, PartProgress, Report, checked, rounding
from .bound import Priced
from .branch import Branching, Limits, affordable

TOLERANCE = 1e-9
"""HiGHS's tolerance on rows, with limits below 2^12."""

HIGHS_SHARE = 0.5
"""The part of the time in which HiGHS looks for a schedule; the rest is for the bound."""

SECONDS_PER_TERM = 5e-5
"""The estimated time to declare a term of a program and to pass it to HiGHS."""

MOST_NODES = 10_000
"""Nodes of branch and price, far more than there is time for."""

GROWING = 0.95
"""The part of the time in which the tree grows; in the rest, the bounds of its leaves are computed again."""

LARGEST_ROW = 2**62
"""The largest number that a row of CP-SAT may reach."""


@dataclass(frozen=True, eq=False)
class Part:
    """The result of one method on an instance."""

    # The best schedule it holds, checked by the instance; ``None`` if it makes none.
    schedule: Schedule | None
    bound: float | None  # no schedule earns more; ``None`` if nothing is proven
    method: str
    tree: _Search | None = None  # that of branch and price, to go on with


def by_branching(
    instance: AdmissionInstance,
    budget: Budget,
    progress: PartProgress | None = None,
    start: Schedule | None = None,
    capacity: Priced | None = None,
    tree: _Search | None = None,
) -> Part:
    """Solve (14)-(18) by branch and price (:class:`.branch.Branching`).

    The bound is what the prices of all leaves prove, by :meth:`.branch.Program.bound`.
    It begins at prices of ``capacity``, or goes on with the ``tree`` of an earlier :class:`Part`. Other
    arguments and the result are as for :func:`by_highs`.
    """
    first = _first_schedule(instance, start)
    if not affordable(instance):
        return Part(first, _ceiling(instance), "tables of branch and price too large")
    search = _Search(instance, budget, first, capacity) if tree is None else tree
    search.budget = budget.part(GROWING)
    search.met([first.workers, first.servers])

    def with_value(done: float, text: str, *, value: float = math.nan, bound: float = math.nan) -> None:
        del value
        if progress is not None:
            progress(done, text, value=search.value, bound=bound)

    search.grow(MOST_NODES, with_value)
    bound = min(_ceiling(instance), max(0.0, search.proved(lambda: budget.over)))
    part = _part(instance, search.schedule, None, bound, "branch and price")
    return replace(part, tree=search)


class _Search(Branching):
    """Branch and price, and the best schedule that was met."""

    def __init__(
        self, instance: AdmissionInstance, budget: Budget, first: Schedule, capacity: Priced | None = None
    ) -> None:
        super().__init__(instance, budget, capacity)
        self.schedule, self.value = first, _value(instance, first)

    @property
    def most(self) -> float:
        """The bound at which a leaf holds nothing better, but for the gap."""
        return self.value * (1.0 + 0.5 * self.budget.gap)

    def proof(self, number: int, limits: Limits) -> float | None:
        """Return what prices prove of a leaf; ``None`` if nothing is in it."""
        return self.program.bound(self.prices[number], limits)

    def met(self, decision: list[Any]) -> None:
        """Take a solution of a program as the best schedule if it is one, and better."""
        schedule = Schedule(*(np.array(side, dtype=np.int64).reshape(-1, 4) for side in decision))
        if not self.instance.violations(schedule):  # the solver's tolerance may be a worker
            value = _value(self.instance, schedule)
            if value > self.value:
                self.schedule, self.value = schedule, value


def by_highs(
    instance: AdmissionInstance,
    budget: Budget,
    progress: PartProgress | None = None,
    start: Schedule | None = None,
    capacity: Priced | None = None,
    tree: _Search | None = None,
) -> Part:
    """Solve the compact program (1)-(13) by HiGHS, whose bound is not believed: it can be wrong (1.14).

    The bound is that of branch and price, which begins with the schedule that HiGHS has found; where its
    tables are too large, that of our own branch and bound on the linear relaxation (:mod:`.models.mixed`),
    which is seldom tight. It is cut to the sum of the jobs' best utilities.

    Too large a program is not even declared; the bound is then the sum of the jobs' best utilities. ``start``
    is a warm start, such as a policy's schedule; jobs that it does not finish are left out. Returned is the
    best one of the start and what was found, with a bound. A schedule that fails the instance's own check
    is an OracleError.
    """
    first = _first_schedule(instance, start)
    ceiling = _ceiling(instance)
    if not _in_time(instance, budget):
        return Part(first, ceiling, "integer program too large for the time")
    program = compact_program(instance)
    half = None if progress is None else partial(_within, progress, 0.0, HIGHS_SHARE)
    values = _highs(program, budget.part(HIGHS_SHARE), half, _start(instance, first))
    if values is not None:
        found = Schedule(_rows(values, "y"), _rows(values, "z"))
        if not _near_miss(instance, found):
            first = max(first, tidied(instance, found), key=lambda one: _value(instance, one))
    method = "integer program (Pyomo, HiGHS)"
    if affordable(instance):
        half = None if progress is None else partial(_within, progress, HIGHS_SHARE, 1.0)
        part = by_branching(instance, budget, half, first, capacity, tree)
        return replace(part, method=f"{method} and branch and price")
    value = _value(instance, first)
    allowed = 0.5 * budget.gap * value
    bound = bound_of(program, value, allowed, lambda: budget.over, TOLERANCE)
    bound = ceiling if bound is None else min(ceiling, bound + rounding(len(instance.jobs), abs(bound)))
    return _part(instance, first, None, bound, f"{method} and branch and bound on multipliers")


def _within(progress: PartProgress, low: float, high: float, done: float, text: str, **told: float) -> None:
    """Tell the progress of a part, from ``low`` to ``high``."""
    progress(low + (high - low) * min(1.0, max(0.0, done)), text, **told)


def _highs(
    program: PyomoProgram,
    budget: Budget,
    progress: PartProgress | None,
    start: dict[tuple[Any, ...], float] | None,
) -> dict[tuple[Any, ...], int] | None:
    """Maximise a program in whole variables that has a solution.

    Returns the variables (name, index...) that are not 0, rounded, or ``None`` if none were found.
    """
    highspy = library("highspy")

    options = {
        **CAREFUL,
        "random_seed": 0,
        "mip_feasibility_tolerance": TOLERANCE,
        "primal_feasibility_tolerance": TOLERANCE,
        "mip_rel_gap": 0.5 * budget.gap,
        "mip_abs_gap": 0.0,
        "time_limit": budget.left,
    }
    try:
        highs, keys, unit = _in_highs(program, options)
    except SolverError as error:
        raise OracleError(str(error)) from error
    if not keys:
        return {}
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = [start.get(key, 0.0) for key in keys]
        highs.setSolution(solution)
    _run(highs, budget, progress, unit)
    status, info = highs.getModelStatus(), highs.getInfo()
    known = highspy.HighsModelStatus
    if status not in (known.kOptimal, known.kTimeLimit, known.kInterrupt):
        raise OracleError(f"HiGHS ended with {highs.modelStatusToString(status)}")
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    rounded = np.rint(highs.getSolution().col_value).astype(np.int64).tolist()
    return {key: value for key, value in zip(keys, rounded, strict=True) if value}


def _in_highs(program: PyomoProgram, options: dict[str, Any]) -> tuple[Any, list[tuple[Any, ...]], float]:
    """Return HiGHS with a program, its columns' (name, index...), and the unit of its objective."""
    form = program.maximised_form()
    linear = linear_of(form)
    unit = power_of_two(-float(linear.cost.min(initial=0.0))) or 1.0
    highs = in_highs(
        -linear.cost / unit,
        (linear.matrix.indptr, linear.matrix.indices, linear.matrix.data),
        linear.rows,
        linear.columns,
        options,
        maximise=True,
        whole=True,
    )
    return highs, [(column.parent_component().name, *column.index()) for column in form.columns], unit


def _run(highs: Any, budget: Budget, progress: PartProgress | None, unit: float) -> None:
    """Run HiGHS, and end it when the time is up, also within a linear relaxation."""
    highspy = library("highspy")

    report = Report(progress)
    within = highspy.cb.HighsCallbackType.kCallbackMipInterrupt

    def watch(kind: Any, _: str, out: Any, into: Any, __: Any) -> None:
        found = out.mip_primal_bound * unit, out.mip_dual_bound * unit
        go_on = kind != within or report.gap("HiGHS", *found, believed=False)
        into.user_interrupt = budget.over or not go_on

    highs.setCallback(watch, None)
    for name in ("kCallbackMipInterrupt", "kCallbackSimplexInterrupt"):
        highs.startCallback(getattr(highspy.cb.HighsCallbackType, name))
    highs.run()
    report.finish()


def by_cp_sat(
    instance: AdmissionInstance,
    budget: Budget,
    progress: PartProgress | None = None,
    start: Schedule | None = None,
) -> Part:
    """Solve (1)-(13) by CP-SAT, in a model of its own: done[i,t] says that job i is done by slot t.

    All numbers are whole. Utilities are scaled by 2^bits and rounded up, so that nothing is worth more; the
    bound is CP-SAT's in these numbers, cut to the sum of the jobs' best utilities. Arguments and result are
    as for :func:`by_highs`; amounts that are too large for 64 bits are an OracleError.
    """
    first = _first_schedule(instance, start)
    ceiling = _ceiling(instance)
    if not _in_time(instance, budget):
        return Part(first, ceiling, "constraint program too large for the time")
    model = library("ortools.sat.python.cp_model").CpModel()
    bits, report = cp_sat.bits(len(instance.jobs), ceiling), Report(progress)
    sides = _cp_sat_model(model, instance, bits)
    _hint(model, sides, first)

    def follow(value: float, above: float) -> bool:
        return report.gap("CP-SAT", math.ldexp(value, -bits), math.ldexp(above, -bits))

    solver, _ = cp_sat.run(model, budget, follow, relative_gap_limit=0.5 * budget.gap)
    report.finish()
    found, bound = None, ceiling
    if solver is not None:
        rows = [[(*key, solver.value(x)) for key, x in side.items()] for side in sides]
        schedule = Schedule(*(np.array(side, dtype=np.int64).reshape(-1, 4) for side in rows))
        found = tidied(instance, schedule)
        bound = min(bound, cp_sat.bound(solver, bits))
    return _part(instance, first, found, bound, "constraint programming (CP-SAT)")


def _cp_sat_model(model: Any, instance: AdmissionInstance, bits: int) -> list[dict[Any, Any]]:
    """Declare (1)-(13) in whole numbers; return y and z by (slot, job, machine), slots from 1."""
    setting, objective = instance.setting, []
    sides: list[dict[Any, Any]] = [{}, {}]
    for job in able(instance):
        most, ratio = setting.most_workers(job), least_ratio(job, setting.most_workers(job))
        rooms = (setting.worker_room(job).tolist(), setting.server_room(job).tolist())
        slots = range(job.arrival, setting.horizon + 1)
        sums: list[list[Any]] = [[], []]
        for t in slots:
            for side, room, total in zip(sides, rooms, sums, strict=True):
                xs = {(t, job.index, h): room[h] for h in range(len(room)) if room[h]}
                side.update({key: model.new_int_var(0, top, "") for key, top in xs.items()})
                total.append(sum(side[key] for key in xs))
            y, z = sums[0][-1], sums[1][-1]
            model.add(y <= most)  # (3)
            model.add(ratio.numerator * y <= ratio.denominator * z)  # (6)
            model.add(z <= y)  # (7)
        done = [model.new_bool_var("") for _ in slots]
        for first, second in itertools.pairwise(done):
            model.add_implication(first, second)
        model.add(sum(sums[0]) == job.work * done[-1])  # (2), and nothing runs after the work is done (8)
        for s, literal in enumerate(done[:-1]):
            model.add(sum(sums[0][: s + 1]) >= job.work * literal)
        best = job.utility(-(-job.work // most) - 1)  # what it would earn by an earlier slot does not count
        useful = np.minimum(job.utilities(setting.horizon), best).tolist()
        scaled = [math.ceil(math.ldexp(f, bits)) for f in useful] + [0]
        objective += [(now - later) * d for now, later, d in zip(scaled, scaled[1:], done, strict=False)]
    capacities = (setting.worker_units, setting.server_units)
    for side, capacity, needs in zip(
        sides, capacities, (instance.worker_needs, instance.server_needs), strict=True
    ):
        _cp_sat_capacities(model, side, capacity, needs)
    model.maximize(sum(objective))
    return sides


def _cp_sat_capacities(model: Any, x: dict[Any, Any], capacity: np.ndarray, needs: np.ndarray) -> None:
    """Add the rows (4) or (5) of every machine, resource and slot."""
    here: dict[tuple[int, int], list[int]] = {}
    for t, i, h in x:
        here.setdefault((t, h), []).append(i)
    for (t, h), jobs in here.items():
        for r, limit in enumerate(capacity[h].tolist()):
            asking = [i for i in jobs if needs[i, r]]
            if not asking:
                continue
            unit = math.gcd(limit, *needs[asking, r].tolist())
            whole = [int(needs[i, r]) // unit for i in asking]
            if len(asking) * (limit // unit) > LARGEST_ROW:
                raise OracleError(f"CP-SAT: the amounts of resource {r} on machine {h} are too large for it")
            model.add(sum(n * x[t, i, h] for n, i in zip(whole, asking, strict=True)) <= limit // unit)


def _hint(model: Any, sides: list[dict[Any, Any]], first: Schedule) -> None:
    """Give CP-SAT a warm start."""
    for side, rows in zip(sides, (first.workers, first.servers), strict=True):
        hinted = {(t, i, h): count for t, i, h, count in rows.tolist()}
        for key, x in side.items():
            model.add_hint(x, hinted.get(key, 0))


def _start(instance: AdmissionInstance, schedule: Schedule) -> dict[tuple[Any, ...], float]:
    """Return the variables of the compact program that a tidy schedule makes positive."""
    found: dict[tuple[Any, ...], float] = {}
    for name, rows in (("y", schedule.workers), ("z", schedule.servers)):
        for slot, i, h, count in rows.tolist():
            found[name, i, h, slot - 1] = count
            total = (name.upper(), i, slot - 1)
            found[total] = found.get(total, 0) + count
    completions = instance.completions(schedule).tolist()
    return found | {("u", i, slot - 1): 1 for i, slot in enumerate(completions) if slot}


def _rows(values: dict[tuple[Any, ...], int], name: str) -> np.ndarray:
    """Return the rows (slot, job, machine, count) of y or z."""
    rows = [(key[3] + 1, key[1], key[2], count) for key, count in values.items() if key[0] == name]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _near_miss(instance: AdmissionInstance, schedule: Schedule) -> bool:
    """Return whether a schedule exceeds amounts by less than HiGHS tells apart; its bound holds anyway."""
    setting, broken = instance.setting, instance.violations(schedule)
    sides = {"worker capacity": setting.worker_servers, "server capacity": setting.parameter_servers}
    near = (
        one.constraint in sides and one.excess <= TOLERANCE * sides[one.constraint].max() for one in broken
    )
    return bool(broken) and all(near)


def tidied(instance: AdmissionInstance, schedule: Schedule) -> Schedule:
    """Return a schedule without what earns nothing: unfinished jobs, spare workers and parameter servers."""
    parts = []
    for i in schedule.jobs.tolist():
        job, mine = instance.jobs[i], schedule.of_job(i)
        workers, servers = mine.workers.copy(), mine.servers.copy()
        if workers[:, 3].sum() < job.work:
            continue
        workers[:, 3] = _first(workers[:, 3], job.work)
        for slot in np.unique(servers[:, 0]).tolist():
            here = servers[:, 0] == slot
            needed = job.servers_for[workers[workers[:, 0] == slot, 3].sum()]
            servers[here, 3] = _first(servers[here, 3], int(needed))
        parts.append(Schedule(workers, servers))
    return checked(instance, Schedule.join(parts))


def _first_schedule(instance: AdmissionInstance, start: Schedule | None) -> Schedule:
    """Return the warm start, by default the empty schedule."""
    if start is None:
        return Schedule.empty()
    for broken in instance.violations(start):
        if broken.constraint != "work":  # unfinished jobs are left out
            raise InputError(f"start: {broken}")
    return tidied(instance, start)


def _first(counts: np.ndarray, total: int) -> np.ndarray:
    """Return how many of each count are among the first ``total``."""
    before = np.cumsum(counts) - counts
    return np.clip(total - before, 0, counts)


def _value(instance: AdmissionInstance, schedule: Schedule) -> float:
    return math.fsum(instance.rewards(schedule).tolist())


def _part(
    instance: AdmissionInstance, first: Schedule, found: Schedule | None, bound: float, method: str
) -> Part:
    """Return the better schedule, and a bound that rounding does not put below its value."""
    best = first
    if found is not None and _value(instance, found) > _value(instance, first):
        best = found
    value = _value(instance, best)
    if bound < value - rounding(len(instance.jobs), value):
        raise OracleError(f"{method}: the bound {bound!r} is below the value {value!r}")
    return Part(best, max(bound, value), method)


def _ceiling(instance: AdmissionInstance) -> float:
    """Return the sum of what the jobs would earn if each had the machines for itself."""
    most = ((job, instance.setting.most_workers(job)) for job in able(instance))
    total = math.fsum(job.utility(-(-job.work // workers) - 1) for job, workers in most)
    return total + rounding(len(instance.jobs), total)


def _in_time(instance: AdmissionInstance, budget: Budget) -> bool:
    """Return whether the terms of a program can be passed to the solver in the time left."""
    if math.isinf(budget.left):
        return True
    machines = len(instance.setting.worker_units) + len(instance.setting.server_units)
    width = machines * len(instance.setting.resources)
    slots = np.array([instance.setting.horizon - job.arrival + 1 for job in able(instance)], dtype=np.float64)
    return float((slots * (width + slots)).sum()) * SECONDS_PER_TERM < budget.left
