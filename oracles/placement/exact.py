"""Exact methods for the best placement of all jobs: CP-SAT, branch and bound, HiGHS, and an enumeration.

Costs are whole numbers inside, millionths of a second (:meth:`.PlacementInstance.units_of_cost`). Every
schedule is played through the simulator and costed by the instance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...models.base import InputError
from ...models.mixed import bound_of
from ...models.placement import kernels
from ...models.placement.instance import MOST_SUM, WEIGHT_UNIT, PlacementInstance, taken_schedule
from ...models.placement.jobs import TICKS
from ...models.placement.program import placement_program, refuse_contention, steps
from ...models.placement.schedule import NOTHING, Schedule
from ...models.placement.simulator import Simulator, blank_state, rooms, stacked
from ...models.stopwatch import library
from .. import cp_sat
from ..base import Budget, OracleError, PartProgress, Report, WhyStopped, checked, rounding
from .exact_kernels import (
    BEST,
    CUT,
    NODES,
    STEPS,
    Costs,
    Tariff,
    Tree,
    cheapest_later,
    explore,
    least_cost,
    open_root,
)
from .search import gap

MILLION = TICKS * WEIGHT_UNIT
"""Units of cost in a second."""

TOLERANCE = 1e-6
"""The margin on the bound of the program, in steps of cost and relative to its part above the unavoidable."""

FEASIBLE = 1e-9
"""HiGHS's tolerance on rows and reduced costs in linear programs that prove a bound."""

ROUNDING = 2.0**-50
"""A further margin relative to the whole bound, because it is a floating-point number."""

MOST_TINY = 100
MOST_LEAVES = 2_000_000
"""The most jobs and machines of an enumeration, and the most complete schedules."""

SHARES = 0.2, 0.25, 1 / 3, 0.5, 1.0
"""How much of the rest of the gap each search of the tree is to close; what cannot cost less waits."""

SLICE, SLICE_SECONDS = 10**7, 0.25
"""Steps of the branch and bound between two looks at the clock, times the squares of jobs and machines; and
about the seconds that a core takes for them."""

SECONDS_PER_ENTRY = 5e-4
"""The estimated time to declare the program and to pass it to HiGHS, by the number of machines times the
square of that of jobs; in between the clock cannot be read."""

MOST_BYTES = 2**30
"""The most memory of the branch and bound for its path."""

SEEN_BYTES = 2**27
"""The most memory of the branch and bound for states that it has seen."""

UNIT_ROUNDOFF = 2.0**-53

NEVER = 2**60
"""The last start of a job that may start at any time."""

BRANCHED = "branch and bound over the decision epochs"

MOST_PAIRS = 1_000
"""Up to so many pairs of jobs, times machines, CP-SAT gets the constraints that every job starts early."""


class Exact(NamedTuple):
    """The result of one method on an instance."""

    schedule: Schedule | None  # the best schedule it holds, checked by the instance
    # In whole millionths of a second: no schedule costs less; ``None`` if nothing is proven.
    units: int | None
    why_stopped: WhyStopped  # why it ended
    method: str  # the method, and over which schedules, in words

    @property
    def bound(self) -> float | None:
        """The bound in seconds."""
        return None if self.units is None else self.units / MILLION


def by_enumeration(
    instance: PlacementInstance, budget: Budget, progress: PartProgress | None = None
) -> Exact:
    """Try every decision at every epoch, without any bound or symmetry: a judge for tiny instances.

    The time limit is checked before every decision; if it is over, there is no bound, and perhaps no
    schedule. More than ``MOST_TINY`` jobs or machines, or more than ``MOST_LEAVES`` schedules, are an
    InputError.
    """
    method = "enumeration of all decisions at the decision epochs"
    n, machines = len(instance.jobs), len(instance.setting.capacity)
    if max(n, machines) > MOST_TINY:
        raise InputError(
            f"instance: {n} jobs on {machines} machines are too many to enumerate (at most {MOST_TINY})"
        )
    report = Report(progress)
    best, schedule, why = instance.costliest + 1, None, WhyStopped.PROVED
    try:
        for leaf, end in enumerate(_ends(instance.simulator(), budget), 1):
            if leaf > MOST_LEAVES:
                raise InputError(f"instance: more than {MOST_LEAVES} schedules, too many to enumerate")
            units = instance.units_of_cost(end.waited, end.used)
            if units < best:
                best, schedule = units, checked(instance, taken_schedule(end))
            if not report(0.0, f"{leaf} schedules", value=best / MILLION):
                break
    except _TimeUpError:
        why = WhyStopped.TIME_LIMIT
    report.finish()
    return Exact(schedule, best if why is WhyStopped.PROVED else None, why, method)


class _TimeUpError(Exception):
    """The time is up in the middle of something that proves nothing before its end."""


def _look(budget: Budget) -> None:
    """Look at the clock, and raise if the time is up."""
    if budget.over:
        raise _TimeUpError


def _ends(simulator: Simulator, budget: Budget) -> Iterator[Simulator]:
    """Yield the simulation in the end for every sequence of decisions from here on."""
    if not simulator.advance():
        yield simulator
        return
    free = simulator.state.free
    for rows in _decisions(simulator, simulator.pending.tolist(), free.tolist()):
        _look(budget)
        if simulator.feasible(rows):
            after = _copy(simulator)
            after.start(rows)
            yield from _ends(after, budget)


def _decisions(simulator: Simulator, jobs: list[int], free: list[list[int]]) -> Iterator[np.ndarray]:
    """Yield every way to start some of these jobs on what is free, as sorted rows."""
    if not jobs:
        yield NOTHING
        return
    job, rest = jobs[0], jobs[1:]
    yield from _decisions(simulator, rest, free)
    need, instances = simulator.table.need[job].tolist(), int(simulator.table.instances[job])
    for counts in _spreads([_room(row, need, instances) for row in free], instances):
        left = [
            [have - count * asked for have, asked in zip(row, need, strict=True)]
            for row, count in zip(free, counts, strict=True)
        ]
        mine = [(job, k, count) for k, count in enumerate(counts) if count]
        for rows in _decisions(simulator, rest, left):
            yield np.concatenate([np.array(mine, dtype=np.int64), rows])


def _room(free: list[int], need: list[int], instances: int) -> int:
    """Return how many of so many instances fit into what is free on a machine."""
    return min([instances, *(have // asked for have, asked in zip(free, need, strict=True) if asked)])


def _spreads(rooms: list[int], instances: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to spread instances over machines with room for so many, as counts; no dead ends."""
    if not rooms:
        yield ()
        return
    rest = sum(rooms[1:])
    for count in range(max(0, instances - rest), min(rooms[0], instances) + 1):
        for others in _spreads(rooms[1:], instances - count):
            yield (count, *others)


def _copy(simulator: Simulator) -> Simulator:
    """Return a simulation at the same point."""
    result = Simulator(simulator.table, simulator.contention, simulator.window)
    kernels.copy_state(simulator.state, result.state)
    return result


def by_cpsat(instance: PlacementInstance, budget: Budget, progress: PartProgress | None = None) -> Exact:
    r"""Solve the problem without contention by CP-SAT: start times, and counts of instances on machines.

    Durations depend on the machines spanned. Starts at other times than decision epochs are allowed, which
    do not help without contention: the schedule is shifted to the left through the simulator, its jobs in the
    order of their starts and on the same machines.

    With contention (:math:`\eta > 0`), and without the limit of the window, this is a relaxation: the bound
    holds, and the schedule is what the simulator makes of the same order and machines.

    Returned is a bound, and the better one of what was found and some list schedules; without a clock that
    cuts in, the same for the same instance. If CP-SAT fails, that is an OracleError.
    """
    first = list_schedule(instance, budget)
    relaxed = _relaxations(instance)
    method = "constraint programming (CP-SAT)" + (f" without {relaxed}" if relaxed else "")
    if not len(instance.jobs):
        return _exact(instance, first, 0, budget, method)
    least = root_bound(instance)
    try:
        model = _CpModel(instance, first, least, budget)
    except _TimeUpError:
        return _exact(instance, first, least, budget, f"{method}: too large for the time")
    found, units, ended = model.solve(progress, relaxed=bool(relaxed))
    best = first
    if found is not None:
        schedule = _simulated(instance, *found)
        if not relaxed and instance.units(schedule) > model.value:
            raise OracleError(f"CP-SAT: its schedule costs {model.value} millionths, shifted left more")
        best = min(first, schedule, key=instance.units)
    return _exact(instance, best, max(least, units), budget, method, ended)


class _CpModel:
    """The problem without contention and window, declared for CP-SAT.

    Times are in units that divide all of them, and cost in what divides all its coefficients. While it is
    declared, the time limit of the budget is checked, again and again.
    """

    def __init__(self, instance: PlacementInstance, first: Schedule, least: int, budget: Budget) -> None:
        cp_model = library("ortools.sat.python.cp_model")

        self.instance, self.budget, self.model = instance, budget, cp_model.CpModel()
        self.value, self.least = instance.units(first), least
        self.durations = [_durations(instance, i) for i in range(len(instance.jobs))]
        self.unit = steps(instance)
        self.counts: dict[tuple[int, int], Any] = {}
        self.on: dict[tuple[int, int], Any] = {}
        self.start: list[Any] = []
        self.size: list[Any] = []
        self.end: list[Any] = []
        for i, latest in enumerate(self._latest()):
            _look(budget)
            self._declare_job(i, latest)
        self._declare_capacities()
        if len(self.start) ** 2 * len(instance.setting.capacity) <= MOST_PAIRS:
            self._declare_exclusions()
            self._declare_starts()
        self._break_symmetry()
        self._declare_cost(least)
        self._hint(first)

    def _latest(self) -> list[int]:
        """Return when each job ends at the latest, in units, in a schedule no worse than the first."""
        least = _least_units(self.instance)
        slack = self.value - sum(least.tolist())
        shortest = np.array([min(spans.values()) for spans in self.durations])
        last = self.instance.jobs.submit + shortest + slack // WEIGHT_UNIT
        return (last // self.unit).tolist()

    def _declare_job(self, i: int, latest: int) -> None:
        """Declare start, end and machines of a job."""
        model, instance, unit = self.model, self.instance, self.unit
        jobs, capacity = instance.jobs, instance.setting.capacity
        total = int(jobs.instances[i])
        machines = np.flatnonzero(room := rooms(capacity, jobs.need[i], total)).tolist()
        for k in machines:
            on = model.new_bool_var(f"on_{i}_{k}")
            count = on
            if total > 1:
                count = model.new_int_var(0, int(room[k]), f"c_{i}_{k}")
                model.add(count <= int(room[k]) * on)
                model.add(count >= on)
            self.on[i, k], self.counts[i, k] = on, count
        model.add(sum(self.counts[i, k] for k in machines) == total)
        size: Any = self._declare_span(i, [self.on[i, k] for k in machines])
        release = int(jobs.submit[i]) // unit
        start = model.new_int_var(release, latest - min(self.durations[i].values()) // unit, f"s_{i}")
        end = model.new_int_var(release + min(self.durations[i].values()) // unit, latest, f"e_{i}")
        self.start.append(start)
        self.size.append(size)
        self.end.append(end)

    def _declare_span(self, i: int, on: list[Any]) -> Any:
        """Return how long a job takes, depending on the machines that it spans where that matters."""
        spans, unit = self.durations[i], self.unit
        if len(set(spans.values())) == 1:
            return next(iter(spans.values())) // unit
        chosen = {K: self.model.new_bool_var(f"z_{i}_{K}") for K in spans}
        self.model.add_exactly_one(chosen.values())
        self.model.add(sum(on) == sum(K * z for K, z in chosen.items()))
        size = self.model.new_int_var(min(spans.values()) // unit, max(spans.values()) // unit, f"d_{i}")
        self.model.add(size == sum(spans[K] // unit * z for K, z in chosen.items()))
        return size

    def _declare_capacities(self) -> None:
        """Declare what the machines hold at any time, and, redundantly, what they hold together."""
        model, jobs = self.model, self.instance.jobs
        capacity = self.instance.setting.capacity
        whole = {
            i: model.new_interval_var(self.start[i], self.size[i], self.end[i], f"run_{i}")
            for i in range(len(jobs))
        }
        here = {
            (i, k): model.new_optional_interval_var(
                self.start[i], self.size[i], self.end[i], on, f"run_{i}_{k}"
            )
            for (i, k), on in self.on.items()
        }
        for r in range(capacity.shape[1]):
            for k, limit in enumerate(capacity[:, r].tolist()):
                _look(self.budget)
                asking = [i for i in range(len(jobs)) if (i, k) in here and jobs.need[i, r]]
                most = [
                    int(rooms(capacity[k : k + 1], jobs.need[i], int(jobs.instances[i]))[0]) for i in asking
                ]
                needs = [int(jobs.need[i, r]) for i in asking]
                self._declare_limit(
                    [here[i, k] for i in asking], needs, [self.counts[i, k] for i in asking], most, limit
                )
            asking = [i for i in range(len(jobs)) if jobs.need[i, r]]
            needs = [int(jobs.need[i, r]) for i in asking]
            totals = [int(jobs.instances[i]) for i in asking]
            if len(capacity) > 1:
                together = sum(capacity[:, r].tolist())
                self._declare_limit([whole[i] for i in asking], needs, totals, totals, together)

    def _declare_limit(
        self, runs: list[Any], needs: list[int], counts: list[Any], most: list[int], limit: int
    ) -> None:
        """Declare that needs times counts of what runs never exceed a limit, unless they cannot."""
        if sum(need * top for need, top in zip(needs, most, strict=True)) <= limit:
            return
        unit = math.gcd(*needs)
        demands = [need // unit * count for need, count in zip(needs, counts, strict=True)]
        self.model.add_cumulative(runs, demands, limit // unit)

    def _declare_exclusions(self) -> None:
        """Declare, redundantly, that of two jobs which all machines cannot hold at once one is done first."""
        jobs = self.instance.jobs
        total, whole = jobs.instances[:, None] * jobs.need, self.instance.setting.capacity.sum(axis=0)
        for i, j in itertools.combinations(range(len(jobs)), 2):
            if (total[i] + total[j] > whole).any():
                first = self.model.new_bool_var(f"b_{i}_{j}")
                self.model.add(self.end[i] <= self.start[j]).only_enforce_if(first)
                self.model.add(self.end[j] <= self.start[i]).only_enforce_if(first.negated())

    def _declare_starts(self) -> None:
        """Declare that each job starts when it is submitted, or when one ends on a machine that it takes.

        That holds in every optimum: any other job could start a unit earlier on the same machines, and every
        unit in the system costs something.
        """
        model, n = self.model, len(self.start)
        for j in range(n):
            at_once = model.new_bool_var(f"a_{j}")
            submit = int(self.instance.jobs.submit[j]) // self.unit
            model.add(self.start[j] == submit).only_enforce_if(at_once)
            after = []
            for i in range(n):
                shared = self._shared(i, j) if i != j else []
                if shared:
                    follows = model.new_bool_var(f"f_{i}_{j}")
                    model.add(self.start[j] == self.end[i]).only_enforce_if(follows)
                    model.add_bool_or([*shared, follows.negated()])
                    after.append(follows)
            model.add_bool_or([at_once, *after])

    def _shared(self, i: int, j: int) -> list[Any]:
        """Return, for each machine, a variable that is true only if both jobs are on it."""
        result = []
        for k in range(len(self.instance.setting.capacity)):
            if (i, k) in self.on and (j, k) in self.on:
                both = self.model.new_bool_var(f"m_{i}_{j}_{k}")
                self.model.add_implication(both, self.on[i, k])
                self.model.add_implication(both, self.on[j, k])
                result.append(both)
        return result

    def _break_symmetry(self) -> None:
        """Order equal jobs by their starts, and equal machines by the first job that they run."""
        instance, n = self.instance, len(self.instance.jobs)
        for i, j in equal_jobs(instance):
            self.model.add(self.start[i] <= self.start[j])
        kinds: dict[tuple[int, ...], int] = {}
        for k, has in enumerate(instance.setting.capacity.tolist()):
            before = kinds.get(tuple(has))
            kinds[tuple(has)] = k
            if before is None:
                continue
            for i in range(n):
                _look(self.budget)
                if (i, k) in self.on:
                    earlier = [self.on[j, before] for j in range(i + 1) if (j, before) in self.on]
                    self.model.add_bool_or([*earlier, self.on[i, k].negated()])

    def _declare_cost(self, least: int) -> None:
        """Declare the objective, which is no less than ``least``."""
        instance = self.instance
        weight = instance.units_of_cost(0, 1)
        gpus = instance.jobs.gpus.tolist()
        prices = [weight * gpus[i] for i in range(len(gpus))]
        varying = [
            price for price, spans in zip(prices, self.durations, strict=True) if len(set(spans.values())) > 1
        ]
        self.price = math.gcd(WEIGHT_UNIT, *varying)
        terms: list[Any] = [WEIGHT_UNIT // self.price * end for end in self.end]
        latest = self._latest()
        coefficients = [(WEIGHT_UNIT + price) // self.price for price in prices]
        self.reach = sum(many * last for many, last in zip(coefficients, latest, strict=True))
        fixed = -WEIGHT_UNIT * sum(instance.jobs.submit.tolist())
        for i, price in enumerate(prices):
            if isinstance(self.size[i], int):
                fixed += price * self.size[i] * self.unit
            elif price:
                terms.append(price // self.price * self.size[i])
        self.fixed = fixed
        step = self.price * self.unit
        self.model.add(sum(terms) >= -((fixed - least) // step))
        self.model.minimize(sum(terms))

    def _hint(self, first: Schedule) -> None:
        """Give CP-SAT a warm start."""
        hinted = {(i, k): count for i, k, count in first.rows.tolist()}
        for i, start in enumerate(self.start):
            self.model.add_hint(start, int(first.start[i]) // self.unit)
        for key, count in self.counts.items():
            self.model.add_hint(self.on[key], int(key in hinted))
            if count is not self.on[key]:
                self.model.add_hint(count, hinted.get(key, 0))

    def solve(
        self, progress: PartProgress | None, *, relaxed: bool
    ) -> tuple[tuple[np.ndarray, np.ndarray] | None, int, WhyStopped]:
        """Return the starts and rows that were found, if any, a bound in units of cost, and how it ended."""
        step, report = self.price * self.unit, Report(progress)

        def follow(*found: float) -> bool:
            value, bound = ((number * step + self.fixed) / MILLION for number in found)
            return report.gap("CP-SAT", math.nan if relaxed else value, bound)

        allowed = self.budget.gap * (self.least - self.instance.unavoidable) / step
        solver, whole = cp_sat.run(
            self.model,
            self.budget,
            follow,
            cp_model_probing_level=0,  # takes longer than many a search
            symmetry_level=0,  # the model breaks what there is
            absolute_gap_limit=max(0.5, math.floor(allowed)),  # the relative one counts more
            relative_gap_limit=0.0,
        )
        report.finish()
        if solver is None:
            return None, 0, WhyStopped.TIME_LIMIT
        starts = np.array([solver.value(start) * self.unit for start in self.start], dtype=np.int64)
        rows = [(*key, solver.value(count)) for key, count in self.counts.items() if solver.value(count)]
        self.value = round(solver.objective_value) * step + self.fixed
        bound = math.ceil(solver.best_objective_bound - rounding(0, float(self.reach))) * step + self.fixed
        ended = WhyStopped.ROUNDS if whole else WhyStopped.TIME_LIMIT
        return (starts, np.array(rows, dtype=np.int64)), bound, ended


def by_program(instance: PlacementInstance, budget: Budget, progress: PartProgress | None = None) -> Exact:
    """Solve the declared program by HiGHS; for tiny instances without contention, with a window for all jobs.

    Returned is a bound that multipliers prove, less a margin, and the better one of what was found, shifted
    to the left through the simulator, and some list schedules. If HiGHS fails, that is an OracleError.
    """
    refuse_contention(instance)
    first = list_schedule(instance, budget)
    method = "integer program (Pyomo, HiGHS)"
    if not len(instance.jobs):
        return _exact(instance, first, 0, budget, method)
    least = root_bound(instance)
    entries = len(instance.jobs) ** 2 * len(instance.setting.capacity)
    if entries * SECONDS_PER_ENTRY > budget.left:
        return _exact(instance, first, least, budget, f"{method}: too large for the time")
    program = placement_program(instance)
    limit = None if math.isinf(budget.time_limit) else 0.5 * budget.left
    allowed = 0.5 * budget.gap * (least - instance.unavoidable) / MILLION
    solved = program.solve(gap=0.0, time_limit=limit, mip_abs_gap=allowed)
    if solved.status not in ("convergenceCriteriaSatisfied", "maxTimeLimit"):
        raise OracleError(f"HiGHS ended with {solved.status}")
    best = first
    if solved.value is not None:
        schedule = _simulated(instance, *_program_rows(solved.variables))
        best = min(first, schedule, key=instance.units)
    found = bound_of(program, solved.value, allowed, lambda: budget.over, FEASIBLE)
    if found is not None and math.isfinite(found):
        step = math.gcd(WEIGHT_UNIT, instance.units_of_cost(0, 1)) * steps(instance)
        bound = found * MILLION
        beyond = bound - instance.unavoidable
        margin = TOLERANCE * (abs(beyond) + step) + ROUNDING * abs(bound)
        units = instance.unavoidable + math.ceil(beyond - margin)
        least = max(least, -(-units // step) * step)
    ended = WhyStopped.TIME_LIMIT if solved.status == "maxTimeLimit" else WhyStopped.STALLED
    result = _exact(instance, best, least, budget, method, ended)
    if progress is not None:
        told = f"{method}: {result.why_stopped.value}"
        progress(1.0, told, value=instance.units(best) / MILLION, bound=least / MILLION)
    return result


def _program_rows(values: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts, in steps, and the rows that a solution of the program stands for."""
    counts = np.rint(values["c"]).astype(np.int64)
    i, k = np.nonzero(counts)
    return values["s"], np.column_stack([i, k, counts[i, k]])


def by_branch_and_bound(
    instance: PlacementInstance,
    budget: Budget,
    progress: PartProgress | None = None,
    *,
    tariff: Tariff | None = None,
) -> Exact:
    r"""Search all decisions at the decision epochs, with contention, depth first.

    Equal machines with equal jobs on them, and equal jobs, are exchangeable; a state that is reached a second
    time at no less cost is left; without contention (and if the window holds all jobs), no job starts later
    than it could on the same machines. What is left at an epoch costs at least as much as
    :func:`.exact_kernels.least_cost` says, and :func:`.exact_kernels.priced_cost` by the prices of a
    bound. The tree is searched several times, at first only for schedules that cost little more than the
    bound: if there are none, that is the new bound (:data:`SHARES`).

    With contention (:math:`\eta > 0`), a job might do better to start between two epochs; such schedules are
    none that a policy can make, and the bound does not cover them.

    The clock is read every ``SLICE`` steps. A path that alone would take more than ``MOST_BYTES``, or costs
    too large for 64 bits, are an InputError.

    Parameters
    ----------
    tariff
        Prices of jobs, by default none.
    """
    refuse_too_large(instance)
    first = list_schedule(instance, budget)
    method = BRANCHED
    if not _relaxations(instance):
        method += " (others do not help without contention)"
    if not len(instance.jobs):
        return _exact(instance, first, 0, budget, method)
    branching, report = Branching(instance, first), Report(progress)
    for _ in branching.steps(budget.gap, lambda: tariff):
        shown = report.gap(branching.text, branching.best / MILLION, branching.low / MILLION)
        if budget.over or not shown:
            break
    report.finish()
    return _exact(instance, branching.schedule, branching.low, budget, f"{method}, {branching.text}")


class Branching:
    """The branch and bound of :func:`by_branch_and_bound`, step by step.

    Attributes
    ----------
    low
        No schedule costs less, in millionths of a second.
    """

    def __init__(self, instance: PlacementInstance, first: Schedule) -> None:
        self.instance, self.low = instance, 0
        self._tree, self._first, self._found = _tree(instance), first, False
        self._tree.cursor[BEST] = instance.units(first)
        setting, self._same = instance.setting, first_equal(instance.setting.capacity)
        self._fixed = setting.slowdown.contention, min(setting.window, len(instance.jobs))
        self._each = len(instance.jobs) ** 2 + len(self._same) ** 2

    @property
    def best(self) -> int:
        """The cost of the best schedule known, in millionths of a second."""
        return int(self._tree.cursor[BEST])

    @property
    def nodes(self) -> int:
        """How many epochs it has seen."""
        return int(self._tree.cursor[NODES])

    @property
    def text(self) -> str:
        """How far it is, in words."""
        return f"{self.nodes} nodes"

    @property
    def schedule(self) -> Schedule:
        """The best schedule of the tree so far, or the first one."""
        if not self._found:
            return self._first
        simulator = self.instance.simulator()
        kernels.copy_state(self._tree.best, simulator.state)
        return taken_schedule(simulator)

    def know(self, cost: int) -> None:
        """Search only for what costs less than this."""
        self._tree.cursor[BEST] = min(self.best, cost)

    def steps(self, within: float, prices: Callable[[], Tariff | None]) -> Iterator[float]:
        """Search the tree several times, by the prices of then, up to the gap ``within``; yield work."""
        for share in SHARES:
            costs = costs_of(self.instance, prices())
            self.low = max(self.low, self.root(costs))
            goal = self.low + int(share * (self.best - self.low))
            yield self._each * SLICE_SECONDS / SLICE
            self.low = max(self.low, (yield from self.search(costs, goal, within)) or 0)
            if gap(self.instance, self.best, self.low) <= within:
                return

    def root(self, costs: Costs) -> int:
        """Go to the root of the tree, and return what is proved there, the cost of the best at most."""
        self._tree.cursor[CUT] = self._tree.cursor[BEST]
        open_root(self.instance.table, self._tree, costs, *self._fixed, self._same)
        return min(self.best, int(self._tree.bound[0]))

    def search(
        self, costs: Costs, goal: int, within: float, work: float = math.inf
    ) -> Generator[float, None, int | None]:
        """Search from the root for schedules that cost less than the goal, with about so much work.

        Yield work; return a bound of the cost of all schedules in the windows of the prices of which no other
        is as good that the search would prefer (with a job earlier on the same machines, or equal jobs in
        order); that of the best known if none costs less; None if there was more work.
        """
        instance, cursor, done = self.instance, self._tree.cursor, False
        self.root(costs)
        while not done:
            best, before = self.best, int(cursor[STEPS])
            slack = max(best - goal, int(0.5 * within * (best - instance.unavoidable)))
            steps = max(1, SLICE // self._each)
            done = explore(instance.table, self._tree, costs, *self._fixed, slack, self._same, steps)
            self._found |= self.best < best
            spent = self._each * SLICE_SECONDS * (int(cursor[STEPS]) - before) / SLICE
            yield spent
            work -= spent
            if work <= 0.0 and not done:
                return None
        return min(self.best, int(cursor[CUT]))


def root_bound(instance: PlacementInstance) -> int:
    """Return the lower bound of :func:`.exact_kernels.least_cost` on all schedules, in units of cost.

    It holds with contention and for starts at any time. Costs that are too large for 64 bits are an
    InputError.
    """
    refuse_too_large(instance)
    simulator = instance.simulator()
    simulator.advance()
    return int(least_cost(instance.table, simulator.state, costs_of(instance), 2**62))


def refuse_too_large(instance: PlacementInstance) -> None:
    """Raise InputError if a cost in millionths of a second could leave what 64 bits hold."""
    if instance.costliest > MOST_SUM:
        raise InputError(
            f"instance: a schedule could cost {instance.costliest / MILLION:.3g} s, too much for exact "
            f"methods (at most {MOST_SUM / MILLION:.3g} s)"
        )


def _tree(instance: PlacementInstance) -> Tree:
    """Return the path of a search that has not begun; it has an epoch per arrival and completion at most."""
    n, machines = len(instance.jobs), len(instance.setting.capacity)
    depth = 2 * n + 1
    if 8 * depth * n * (6 * machines + 10) > MOST_BYTES:
        raise InputError(f"instance: {n} jobs on {machines} machines are too many for branch and bound")

    def table(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.int64)

    blank = blank_state(instance.table)
    key = 1 + n + n * machines
    seen = min(2 ** (n + 6), max(1, SEEN_BYTES // (8 * (key + 2))))
    return Tree(
        cursor=table(8),
        states=stacked(blank, depth),
        best=blank,
        bound=table(depth),
        jobs=table(depth, n),
        places=table(depth),
        status=table(depth, n),
        free=table(depth, n + 1, machines, 3),
        alike=table(depth, n + 1, machines),
        order=table(depth, n, machines),
        chosen=table(depth, n, machines),
        seen=table(seen, key),
        spent=table(seen, 2),
    )


def costs_of(instance: PlacementInstance, tariff: Tariff | None = None) -> Costs:
    """Return the input of the bounds at the epochs, by default without prices."""
    jobs, setting = instance.jobs, instance.setting
    weight = instance.units_of_cost(0, 1)
    total = jobs.instances[:, None] * jobs.need
    kind = np.arange(len(jobs))
    for i, j in equal_jobs(instance):
        kind[j] = kind[i]
    return Costs(
        second=WEIGHT_UNIT,
        gpu=weight,
        gpus=weight * jobs.gpus,
        least=np.array([min(_durations(instance, i).values()) for i in range(len(jobs))], dtype=np.int64),
        total=total,
        scarce=np.flatnonzero(total.sum(axis=0) > setting.capacity.sum(axis=0)),
        kind=kind,
        shift=not _relaxations(instance),
        tariff=_free(instance) if tariff is None else tariff,
    )


def first_equal(capacity: np.ndarray) -> np.ndarray:
    """Return for each machine the first one with the same capacity, shape (M,)."""
    _, first, kind = np.unique(capacity, axis=0, return_index=True, return_inverse=True)
    return first[kind.reshape(-1)].astype(np.int64)


def list_schedule(instance: PlacementInstance, budget: Budget | None = None) -> Schedule:
    """Return the best of some list schedules: by submission, duration and GPU-seconds; each placing rule.

    If the time is up, those that are made so far count, the first one in any case.
    """
    jobs = instance.jobs
    orders = (jobs.submit, jobs.duration, jobs.duration * np.maximum(jobs.gpus, 1))
    rules = (kernels.FIRST_FIT, kernels.LOAD_BALANCE, kernels.CONSOLIDATE)
    found: list[Simulator] = []
    for keys, rule in itertools.product(orders, rules):
        if found and budget is not None and budget.over:
            break
        simulator = instance.simulator()
        kernels.run_by_keys(
            simulator.table,
            simulator.state,
            simulator.contention,
            simulator.window,
            keys.astype(np.float64),
            rule,
            False,
        )
        found.append(simulator)
    best = min(found, key=lambda simulator: instance.units_of_cost(simulator.waited, simulator.used))
    return checked(instance, taken_schedule(best))


def equal_jobs(instance: PlacementInstance) -> Iterator[tuple[int, int]]:
    """Yield pairs of jobs that differ in their submission only, each with the next one of its kind.

    Exchanging them in a schedule in which the later one starts first changes neither cost nor capacity. The
    intensity counts only with contention.
    """
    jobs = instance.jobs
    contends = instance.setting.slowdown.contention > 0.0
    last: dict[tuple[int, ...], int] = {}
    for j in range(len(jobs)):
        intensity = int(jobs.intensity[j]) if contends else 0
        kind = (int(jobs.duration[j]), int(jobs.instances[j]), *jobs.need[j].tolist(), intensity)
        if kind in last:
            yield last[kind], j
        last[kind] = j


def _durations(instance: PlacementInstance, job: int) -> dict[int, int]:
    """Return how long a job takes without contention, by the number of machines that it may span."""
    return {K: d for K, d in enumerate(instance.table.duration[job].tolist()) if d > 0}


def _least_units(instance: PlacementInstance) -> np.ndarray:
    """Return the least cost of each job: its duration on the fewest machines, shape (n,)."""
    jobs = instance.jobs
    shortest = [min(_durations(instance, i).values()) for i in range(len(jobs))]
    weight = instance.units_of_cost(0, 1)
    return (WEIGHT_UNIT + weight * jobs.gpus) * np.array(shortest, dtype=np.int64)


def _relaxations(instance: PlacementInstance) -> str:
    """Return the parts of an instance that CP-SAT and HiGHS leave out, if any."""
    parts = ["contention"] if instance.setting.slowdown.contention > 0.0 else []
    if len(instance.jobs) > instance.setting.window:
        parts.append("the limit of the window")
    return " and ".join(parts)


def _simulated(instance: PlacementInstance, start: np.ndarray, rows: np.ndarray) -> Schedule:
    """Play jobs in the order of their starts on their machines, each as soon as it and its elders fit.

    Without contention, no job starts later than given if these starts are feasible.
    """
    simulator = instance.simulator()
    order = np.lexsort((np.arange(len(start)), start)).tolist()
    rows_of = [rows[rows[:, 0] == i] for i in range(len(start))]
    while simulator.advance():
        waiting, chosen = set(simulator.pending.tolist()), NOTHING
        arrived = int(simulator.state.clock[kernels.ARRIVED])
        for i in order.copy():
            if i in waiting:
                both = np.concatenate([chosen, rows_of[i]])
                if not simulator.feasible(both):
                    break
                chosen = both
                order.remove(i)
            elif i >= arrived:
                break
        simulator.start(chosen[np.lexsort((chosen[:, 1], chosen[:, 0]))])
    return taken_schedule(simulator)


def _exact(
    instance: PlacementInstance,
    schedule: Schedule,
    bound: int,
    budget: Budget,
    method: str,
    otherwise: WhyStopped = WhyStopped.TIME_LIMIT,
) -> Exact:
    """Check a schedule and its bound, and say how it ended, ``otherwise`` if the gap is not reached."""
    value = instance.units(checked(instance, schedule))
    if bound > value:
        raise OracleError(f"{method}: the bound {bound} is above the value {value}, in millionths of seconds")
    why = otherwise
    if bound == value:
        why = WhyStopped.PROVED
    elif gap(instance, value, bound) <= budget.gap:
        why = WhyStopped.GAP_REACHED
    return Exact(schedule, bound, why, method)


def _free(instance: PlacementInstance) -> Tariff:
    """Return prices of nothing."""
    n = len(instance.jobs)
    times, prices = instance.jobs.submit[:1], np.zeros((0, n))
    return tariff_of(instance, times, prices, np.zeros(0), np.zeros(n), np.ones(n), any_time(instance))


def any_time(instance: PlacementInstance) -> np.ndarray:
    """Return windows in which jobs may start at any time, their first and last ticks, shape (n, 2)."""
    submit = instance.jobs.submit
    return np.stack([submit, np.full_like(submit, NEVER)], axis=1)


def tariff_of(
    instance: PlacementInstance,
    times: np.ndarray,
    prices: np.ndarray,
    worth: np.ndarray,
    losses: np.ndarray,
    stretch: np.ndarray,
    windows: np.ndarray,
) -> Tariff:
    """Return prices of jobs, shape (K, n), and the worth of all machines, (K,), as the tree takes them.

    ``losses``, ``stretch`` and ``windows`` are as in :class:`.exact_kernels.Tariff`.
    """
    jobs, times = instance.jobs, np.array(times, dtype=np.int64)
    n, length = len(jobs), np.diff(times).astype(np.float64)
    least = np.array([min(_durations(instance, i).values()) for i in range(n)], dtype=np.int64)
    longest = np.ceil(least * stretch).astype(np.int64) + 2  # as longest_run
    none = np.zeros((1, n))
    price = np.concatenate([prices, none])
    paid = np.concatenate([none, prices * length[:, None]]).cumsum(axis=0)
    left = np.append((worth * length)[::-1].cumsum()[::-1], 0.0)
    corners = [times - run[:, None] for run in (np.zeros_like(least), least, longest)]
    starts = np.clip(np.concatenate(corners, axis=1), windows[:, :1], windows[:, 1:])
    # as Market._margin: at most so many roundings of each sum, of terms that come to no more than this
    latest = float(times[-1]) + float(longest.max(initial=0)) + float(jobs.submit.max(initial=0))
    scale = float(paid[-1].sum()) + float((1.0 + losses).sum()) * latest + float(left[0])
    margin = 8.0 * (len(times) + n + 8) * UNIT_ROUNDOFF * scale
    cheapest = np.full((n, starts.shape[1] + 1), np.inf)
    given = price, paid, np.append(worth, 0.0), left, np.sort(starts, axis=1), cheapest, losses, stretch
    tariff = Tariff(times, *given, windows, margin)
    cheapest_later(tariff, least)
    return tariff
