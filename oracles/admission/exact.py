"""Exact stages for the best schedules of all jobs: branch and price, HiGHS on declared programs, CP-SAT."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...models.admission.instance import AdmissionInstance
from ...models.admission.program import able, compact_program, least_ratio
from ...models.admission.schedule import Schedule
from ...models.mixed import MOST_NODES, bound_of
from ...models.program import CAREFUL, PyomoProgram, SolverError, in_highs, linear_of, power_of_two
from ...models.stopwatch import library
from .. import cp_sat
from ..base import OracleError, Report, checked, rounding
from ..turns import STEP, Stage
from .bound import without_prices
from .branch import Branching, Limits, affordable
from .incumbent import Best

TOLERANCE = 1e-9
"""HiGHS's tolerance on rows, with limits below 2^12."""

SECONDS_PER_TERM = 5e-5
"""The estimated time to declare a term of a program and to pass it to HiGHS."""

PROGRAM_WORK, FILL_WORK, LOOK_WORK = 6e-7, 1e-7, 3e-9
"""The work of a linear program of branch and price, for its rows to the power of 1.5; of a step of the search
for fillings; and of HiGHS between two looks at whether to go on, for the square of rows and columns."""

TOO_LARGE = "too large for the time"

LARGEST_ROW = 2**62
"""The largest number that a row of CP-SAT may reach."""


def by_branching(best: Best) -> Stage:
    """Solve (14)-(18) by branch and price (:class:`.branch.Branching`), from the prices so far on.

    The bound is what the prices of all leaves prove, by :meth:`.branch.Program.bound`. Where the tables are
    too large, nothing is done.
    """
    if not affordable(best.instance):
        return
    tree = Tree(best)
    for node in itertools.count():
        before, steps = tree.programs, tree.program.steps
        tree.grow(1)
        whole = tree.ended or _power_of_two(node)
        proved = tree.proved((lambda: best.budget.over) if whole else (lambda: True))
        best.limit(max(0.0, proved), "branch and price")
        best.tell(f"branch and price, node {node}")
        work = PROGRAM_WORK * tree.program.rows**1.5 * (tree.programs - before + 1)
        yield work + FILL_WORK * (tree.program.steps - steps)
        if tree.ended:
            return


def _power_of_two(n: int) -> bool:
    """Return whether a number is one, or 0."""
    return n & (n - 1) == 0


class Tree(Branching):
    """Branch and price, which offers what it meets. Unlike the checker it knows limits on machines."""

    split = True

    def __init__(self, best: Best) -> None:
        super().__init__(best.instance, best.budget, best.certificate)
        self.best = best

    @property
    def most(self) -> float:
        """The bound at which a leaf holds nothing better, but for the gap."""
        return self.best.value * (1.0 + 0.5 * self.budget.gap)

    def proof(self, number: int, limits: Limits) -> float | None:
        """Return what prices prove of a leaf; ``None`` if nothing is in it."""
        return self.program.bound(self.prices[number], limits)

    def met(self, decision: list[Any]) -> None:
        """Offer a solution of a program if it is a schedule."""
        schedule = Schedule(*(np.array(side, dtype=np.int64).reshape(-1, 4) for side in decision))
        if not self.instance.violations(schedule):  # the solver's tolerance may be a worker
            self.best.offer(schedule, "branch and price")


def by_highs(best: Best) -> Stage:
    """Solve the compact program (1)-(13) by HiGHS, whose bound is not believed: it can be wrong (1.14).

    A bound is for branch and price; where its tables are too large, it is that of our own branch and bound on
    the linear relaxation (:mod:`.models.mixed`), which is seldom tight. A schedule that fails the instance's
    own check is an OracleError.
    """
    instance, declaring = best.instance, declaring_work(best.instance)
    yield declaring
    if declaring >= best.budget.left:
        best.tell(TOO_LARGE)
        yield math.inf
    program = compact_program(instance)
    with contextlib.closing(_Stepped(program, best)) as solver:
        looks = max(1, int(STEP / solver.work))
        for step in itertools.count(1):
            for values in solver.found(looks):
                found = Schedule(_rows(values, "y"), _rows(values, "z"))
                if not _near_miss(instance, found):
                    best.offer(tidied(instance, found), "integer program (Pyomo, HiGHS)")
            best.tell("HiGHS")
            yield solver.work * looks
            if not affordable(instance) and _power_of_two(step):
                _relaxed(best, program, step)
                yield solver.work * step
            if solver.ended:
                break
    nodes = 1
    while not affordable(instance) and nodes < MOST_NODES:
        nodes = min(4 * nodes, MOST_NODES)
        _relaxed(best, program, nodes)
        yield solver.work * nodes


def _relaxed(best: Best, program: PyomoProgram, nodes: int) -> None:
    """Bound by so many nodes of our own branch and bound."""
    budget, allowed = best.budget, 0.5 * best.budget.gap * best.value
    found = bound_of(program, best.value, allowed, lambda: budget.over, TOLERANCE, nodes)
    if found is not None:
        bound = found + rounding(len(best.instance.jobs), abs(found))
        best.limit(bound, "branch and bound on multipliers")


class _Stepped:
    """HiGHS on a program in whole variables, in a thread of its own, which waits between steps."""

    def __init__(self, program: PyomoProgram, best: Best) -> None:
        options = {
            **CAREFUL,
            "random_seed": 0,
            "mip_feasibility_tolerance": TOLERANCE,
            "primal_feasibility_tolerance": TOLERANCE,
            "mip_rel_gap": 0.5 * best.budget.gap,
            "mip_abs_gap": 0.0,
            "time_limit": best.budget.left,
        }
        try:
            self._highs, self._keys = _in_highs(program, options)
        except SolverError as error:
            raise OracleError(str(error)) from error
        self.work = LOOK_WORK * (len(self._keys) + self._highs.getNumRow()) ** 2
        self.ended = not self._keys
        self._budget, self._left, self._stop = best.budget, 0, False
        self._new: list[Any] = []
        self._raised: BaseException | None = None
        self._turn, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        if not self.ended:
            self._begin(_start(best.instance, tidied(best.instance, best.decision)))

    def _begin(self, start: dict[tuple[Any, ...], float]) -> None:
        """Give HiGHS a start, and let it wait for its first step."""
        highspy = library("highspy")
        solution = highspy.HighsSolution()
        solution.col_value = [start.get(key, 0.0) for key in self._keys]
        self._highs.setSolution(solution)
        self._highs.setCallback(self._watch, None)
        for name in ("kCallbackMipInterrupt", "kCallbackMipImprovingSolution"):
            self._highs.startCallback(getattr(highspy.cb.HighsCallbackType, name))
        self._thread.start()

    def _run(self) -> None:
        self._turn.acquire()
        try:
            self._highs.run()
        except BaseException as error:  # noqa: BLE001 - raised again by found
            self._raised = error
        self.ended = True
        self._done.release()

    def _watch(self, kind: Any, _: str, out: Any, into: Any, __: Any) -> None:
        """Keep a new solution; or count a look, and wait if it is the last of the step."""
        if kind == library("highspy").cb.HighsCallbackType.kCallbackMipImprovingSolution:
            self._new.append(np.array(out.mip_solution))
            return
        self._left -= 1
        if self._left <= 0 and not self._stop:
            self._done.release()
            self._turn.acquire()
        into.user_interrupt = self._stop or self._budget.over

    def found(self, looks: int) -> Iterator[dict[tuple[Any, ...], int]]:
        """Go on for so many looks; yield new solutions, as (name, index...) of what is not 0, rounded."""
        if self.ended:
            return
        self._left = looks
        self._turn.release()
        self._done.acquire()
        if self._raised is not None:
            raise self._raised
        if self.ended:
            self._check()
        new, self._new = self._new, []
        for solution in new:
            rounded = np.rint(solution).astype(np.int64).tolist()
            yield {key: value for key, value in zip(self._keys, rounded, strict=True) if value}

    def _check(self) -> None:
        """Refuse an end that is none, and take the last solution."""
        known, highspy = library("highspy").HighsModelStatus, library("highspy")
        status, info = self._highs.getModelStatus(), self._highs.getInfo()
        if status not in (known.kOptimal, known.kTimeLimit, known.kInterrupt):
            raise OracleError(f"HiGHS ended with {self._highs.modelStatusToString(status)}")
        if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            self._new.append(np.array(self._highs.getSolution().col_value))

    def close(self) -> None:
        """End the thread, whatever interrupts that: HiGHS must not be there any more when Python ends."""
        interrupted: KeyboardInterrupt | None = None
        self._stop = True
        self._turn.release()
        while self._thread.is_alive():
            try:
                self._thread.join()
            except KeyboardInterrupt as error:
                interrupted = error
        self._highs = None  # which holds on to this object for its callback
        if interrupted is not None:
            raise interrupted


def _in_highs(program: PyomoProgram, options: dict[str, Any]) -> tuple[Any, list[tuple[Any, ...]]]:
    """Return HiGHS with a program, and its columns' (name, index...)."""
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
    return highs, [(column.parent_component().name, *column.index()) for column in form.columns]


def by_cp_sat(best: Best) -> Stage:
    """Solve (1)-(13) by CP-SAT, in a model of its own: done[i,t] says that job i is done by slot t.

    All numbers are whole. Utilities are scaled by 2^bits and rounded up, so that nothing is worth more; the
    bound is CP-SAT's in these numbers. Amounts that are too large for 64 bits are an OracleError.
    """
    instance, most = best.instance, without_prices(best.instance).bound
    if declaring_work(instance) >= best.budget.left:
        best.tell(TOO_LARGE)
        yield math.inf
    model = library("ortools.sat.python.cp_model").CpModel()
    bits, report = (
        cp_sat.bits(len(instance.jobs), most),
        Report(lambda _, *told, **found: best.tell(*told, **found)),
    )
    sides = _cp_sat_model(model, instance, bits)
    _hint(model, sides, tidied(instance, best.decision))

    def follow(value: float, above: float) -> bool:
        return report.gap("CP-SAT", math.ldexp(value, -bits), math.ldexp(above, -bits))

    solver, _ = cp_sat.run(model, best.budget, follow, relative_gap_limit=0.5 * best.budget.gap)
    report.finish()
    if solver is not None:
        rows = [[(*key, solver.value(x)) for key, x in side.items()] for side in sides]
        schedule = Schedule(*(np.array(side, dtype=np.int64).reshape(-1, 4) for side in rows))
        best.offer(tidied(instance, schedule), "constraint programming (CP-SAT)")
        best.limit(cp_sat.bound(solver, bits), "constraint programming (CP-SAT)")
    yield 0.0


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


def _first(counts: np.ndarray, total: int) -> np.ndarray:
    """Return how many of each count are among the first ``total``."""
    before = np.cumsum(counts) - counts
    return np.clip(total - before, 0, counts)


def declaring_work(instance: AdmissionInstance) -> float:
    """Return the estimated seconds in which a program is declared and passed to a solver."""
    machines = len(instance.setting.worker_units) + len(instance.setting.server_units)
    width = machines * len(instance.setting.resources)
    slots = np.array([instance.setting.horizon - job.arrival + 1 for job in able(instance)], dtype=np.float64)
    return float((slots * (width + slots)).sum()) * SECONDS_PER_TERM
