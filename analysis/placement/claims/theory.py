"""Claims about Appendix A and reward (3): what schedules trade, and what the reward asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ....models.base import Origin
from ....models.placement import kernels
from ....models.placement.generate import generate
from ....models.placement.instance import PlacementInstance, taken_schedule
from ....models.placement.jobs import TICKS
from ....models.placement.reward import Meter, aligned_rewards, printed_rewards, unavoidable
from ....models.placement.schedule import NOTHING, Schedule
from ....models.placement.setting import Observation, Setting
from ....models.placement.simulator import Simulator
from ....online.base import Policy, Traits
from ....online.placement import POLICIES, FifoConsolidate, FifoFirstFit, FifoLoadBalance
from ....online.play import play
from ...claim import Context, Figure, Finding, Register, Table, Verdict, amended_if, holds_if
from ...experiments import lead, policy_seed, seeds, spread, track
from ...plots import name_axes, new_figure, to_svg
from ...study import Statement, judge, settled, statements
from ..measures import gpu_ticks

claim = Register("placement")

LEVELS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
"""kappa and eta of the small instances."""

HEURISTICS = (
    *("fifo-firstfit", "fifo-loadbalance", "drf-firstfit", "drf-loadbalance", "tetris"),
    *("fifo-consolidate", "sjf-consolidate"),
)

MINUTE = 60.0

ROUNDING = 50
"""Ticks and GPU-ticks: under contention jobs end at whole ticks, so that sums differ by a few of them."""


@dataclass
class Lazy:
    """Lazy: wait until nothing runs, then start the oldest job on the fewest machines.

    Parameters
    ----------
    together
        Whether all pending jobs that fit start then, in the order of submission; by default only the oldest.
    """

    together: bool = False
    name: str = field(default="lazy", init=False)
    traits: ClassVar[Traits] = Traits(problem="placement")

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Take note of the machines."""
        self._eager = FifoConsolidate()
        self._eager.start(setting, rng)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now."""
        if len(observation.running):
            return NOTHING
        rows = self._eager.decide(observation)
        return rows if self.together else rows[rows[:, 0] == observation.jobs[0]]


def schedule_by(policy: Policy, instance: PlacementInstance, seed: int = 0) -> Schedule:
    """Play a policy and return its schedule."""
    decisions = play(policy, instance, seed, keep_decisions=True).decisions
    return instance.schedule_of(decisions or ())


def cluster(
    machines: int,
    gpus: int,
    rows: Sequence[tuple[float, float, int, int]],
    slowdown: tuple[float, float] = (0.0, 0.0),
    *,
    origin: str,
) -> PlacementInstance:
    """Return equal machines that have only GPUs, and jobs (submit and duration in min, instances, GPUs each).

    The slowdown is kappa and eta; all intensities are 1.
    """
    return PlacementInstance(
        machines=[{"gpus": gpus, "cpus": 0, "memory": 0}] * machines,
        jobs=[
            {
                "submit": MINUTE * submit,
                "duration": MINUTE * duration,
                "instances": instances,
                "gpus": each,
                "cpus": 0,
                "memory": 0,
            }
            for submit, duration, instances, each in rows
        ],
        slowdown={"communication": slowdown[0], "contention": slowdown[1]},
        origin=Origin(origin),
    )


def every_decision(instance: PlacementInstance, simulator: Simulator) -> Iterator[tuple[np.ndarray, bool]]:
    """Yield every decision that is feasible now, and whether no pending job fits any more after it.

    Of decisions that differ only in which of equal empty machines they use, one is enough.
    """
    jobs, waiting = instance.jobs, simulator.pending.tolist()
    capacity = instance.setting.capacity

    def extend(place: int, free: np.ndarray, rows: list[tuple[int, int, int]]) -> Iterator[Any]:
        if place == len(waiting):
            yield rows, free
            return
        yield from extend(place + 1, free, rows)
        job = waiting[place]
        for counts in _placements(capacity, free, jobs.need[job], int(jobs.instances[job])):
            taken = free - np.array(counts)[:, None] * jobs.need[job]
            more = [(job, k, count) for k, count in enumerate(counts) if count]
            yield from extend(place + 1, taken, rows + more)

    for rows, free in extend(0, simulator.state.free, []):
        decision = np.array(rows, dtype=np.int64).reshape(-1, 3)
        if simulator.feasible(decision):
            left = set(waiting) - set(decision[:, 0].tolist())
            yield decision, not any(kernels.fits(free, jobs.need[i], jobs.instances[i]) for i in left)


def _placements(
    capacity: np.ndarray, free: np.ndarray, need: np.ndarray, instances: int
) -> Iterator[tuple[int, ...]]:
    """Yield how many instances of a job run on each machine, in every way that fits."""
    room = [int(kernels.room(line, need, instances)) for line in free]
    empty = (free == capacity).all(axis=1)
    alike = [
        (k, m)
        for m in range(len(free))
        for k in range(m)
        if empty[k] and empty[m] and (capacity[k] == capacity[m]).all()
    ]
    for counts in product(*(range(most + 1) for most in room)):
        if sum(counts) == instances and all(counts[k] >= counts[m] for k, m in alike):
            yield counts


def every_end(instance: PlacementInstance) -> Iterator[tuple[Simulator, bool]]:
    """Yield the end of every schedule over the decision epochs, and whether it is eager.

    Eager is a schedule in which, at every epoch, jobs start until no pending one fits. For tiny instances.
    """

    def visit(simulator: Simulator, eager: bool) -> Iterator[tuple[Simulator, bool]]:
        if not simulator.advance():
            yield simulator, eager
            return
        for rows, full in every_decision(instance, simulator):
            branch = instance.simulator()
            kernels.copy_state(simulator.state, branch.state)
            branch.start(rows)
            yield from visit(branch, eager and full)

    return visit(instance.simulator(), True)


def pareto_front(points: np.ndarray) -> np.ndarray:
    """Return the different points (smaller is better) that no other one dominates, by the first column.

    Differences of at most :data:`ROUNDING` do not count: a point is dominated by one that is no worse but for
    them, and better by more.
    """
    kept: list[np.ndarray] = []
    for point in np.unique(points, axis=0):
        better = (points <= point + ROUNDING).all(axis=1) & (points < point - ROUNDING).any(axis=1)
        again = any((np.abs(point - other) <= ROUNDING).all() for other in kept)
        if not better.any() and not again:
            kept.append(point)
    return np.array(kept, dtype=points.dtype).reshape(-1, 2)


class Solved(NamedTuple):
    """All schedules of a small instance; points are (sum of completion times, GPU time paid), in ticks.

    Attributes
    ----------
    instance
        The instance.
    points, eager
        Those of every schedule, shape (m, 2), and whether it is eager, shape (m,).
    lazy, together, first
        Those of :class:`Lazy` in both readings, and of FIFO-FirstFit, shape (2,).
    """

    instance: PlacementInstance
    points: np.ndarray
    eager: np.ndarray
    lazy: np.ndarray
    together: np.ndarray
    first: np.ndarray

    @property
    def least(self) -> np.ndarray:
        """The least of both, each on its own."""
        result: np.ndarray = self.points.min(axis=0)
        return result

    @property
    def front(self) -> np.ndarray:
        """The Pareto front."""
        return pareto_front(self.points)


def point_of(instance: PlacementInstance, schedule: Schedule) -> np.ndarray:
    """Return the sum of completion times and the GPU time paid, in ticks."""
    return np.array([(schedule.finish - instance.jobs.submit).sum(), gpu_ticks(instance, schedule)])


def solve_all(instance: PlacementInstance) -> Solved:
    """Return all schedules of a tiny instance, and those of lazy and eager policies."""
    ends = [(end.waited, end.used, eager) for end, eager in every_end(instance)]
    table = np.array(ends, dtype=np.int64).reshape(-1, 3)
    ours = [
        point_of(instance, schedule_by(policy, instance))
        for policy in (Lazy(), Lazy(together=True), FifoFirstFit())
    ]
    return Solved(instance, table[:, :2], table[:, 2] > 0, *ours)


def small_instance(seed: int, level: tuple[float, float]) -> PlacementInstance:
    """Return 3 random jobs on two machines of 4 GPUs, or 4 on one of 8; 1 to 6 min, 1 to 3 GPUs each."""
    rng = np.random.default_rng(seed)
    machines = int(rng.integers(1, 3))
    rows = []
    for submit in np.sort(rng.integers(0, 4, 5 - machines)).tolist():
        instances = int(rng.integers(1, 3))
        rows.append((float(submit), float(rng.integers(1, 7)), instances, int(rng.integers(1, 4))))
    note = f"small random instance, seed {seed}, kappa {level[0]:g}, eta {level[1]:g}"
    return cluster(machines, 8 // machines, rows, level, origin=note)


@lru_cache(maxsize=4096)
def solved(seed: int, level: tuple[float, float]) -> Solved:
    """Return all schedules of the small random instance of a seed."""
    return solve_all(small_instance(seed, level))


def survey(context: Context) -> dict[tuple[float, float], list[Solved]]:
    """Return the solved small instances of a check by level, the same ones for all claims."""
    chosen = [(level, seed) for level in LEVELS for seed in seeds(context, 8, 24, 200)]
    result: dict[tuple[float, float], list[Solved]] = {level: [] for level in LEVELS}
    for level, seed in track(context, chosen):
        result[level].append(solved(seed, level))
    return result


# Appendix A


def in_order() -> PlacementInstance:
    """Return two jobs that each need the only GPU, the shorter one first: lazy loses nothing."""
    rows = [(0.0, 1.0, 1, 1), (0.0, 2.0, 1, 1)]
    return cluster(1, 1, rows, origin="two jobs for one GPU, the shorter one first")


@claim(
    "lazy-fee",
    "Appendix A",
    Verdict.HOLDS_AMENDED,
    says="Lazy scheduling, where a job waits until all others are done, gives the least durations and fees.",
    how="Against all schedules of small random instances, with and without communication and contention. "
    "Amended: if jobs start one by one.",
    choices=("whether all jobs that fit start together once the cluster is empty, or one",),
)
def lazy_fee(context: Context) -> Finding:
    known = [s for some in survey(context).values() for s in some]
    alone, together = (
        [float(getattr(s, name)[1] / s.least[1]) for s in known] for name in ("lazy", "together")
    )
    rows = tuple(
        (name, sum(factor == 1.0 for factor in found), max(found))
        for name, found in (("one", alone), ("all that fit", together))
    )
    return Finding(
        amended_if(max(together) == 1.0 and max(alone) == 1.0, max(alone) == 1.0, Verdict.REFUTED),
        "One job at a time pays the least of all schedules; jobs that start together contend, and may pay "
        "more.",
        {"small instances": len(known)},
        tables=(Table("Fee of lazy", ("start together", "the least of all", "fee / least, largest"), rows),),
        assumes="A job alone on the fewest machines runs for exactly its duration, and nothing makes it "
        "shorter.",
        remark="The text has a job wait for the durations of all before it, which is one at a time.",
        proof="" if max(alone) == 1.0 else "See the table.",
    )


@claim(
    "lazy-jct",
    "Appendix A",
    Verdict.HOLDS_AMENDED,
    says="Lazy has almost the worst JCT: a job waits for the durations of all before it.",
    how="Against all schedules of small random instances, and against every heuristic on generated "
    "workloads. Amended: on workloads, whose jobs leave room for others.",
)
def lazy_jct(context: Context) -> Finding:
    known = [s for some in survey(context).values() for s in some]
    relative = np.array([s.lazy[0] / s.points[:, 0].max() for s in known])
    best = sum(bool(s.lazy[0] == s.least[0]) for s in known)
    jobs = context.pick(60, 150, 400)
    sampled = [generate("default", seed, jobs=jobs) for seed in seeds(context, 3, 8, 20)]
    lazy = np.array([_mean_jct(Lazy(), i) for i in sampled])
    judged = judge(
        [
            Statement(
                f"the mean JCT of lazy is above that of {name}",
                {"": lead(lazy, np.array([_mean_jct(POLICIES[name](), i) for i in sampled]))},
                "%",
            )
            for name in HEURISTICS
        ]
    )
    small = solve_all(in_order())
    return Finding(
        amended_if(
            small.lazy[0] > small.least[0] and best == 0,
            settled(judged) is Verdict.HOLDS,
            settled(judged),
        ),
        f"On generated workloads lazy is behind {sum(one.word == 'holds' for one in judged)} of "
        f"{len(judged)} heuristics; where every job needs the whole cluster it can be the best of all.",
        {
            "small instances": len(known),
            "lazy has the least JCT": best,
            "JCT of lazy / worst of all schedules, mean": float(relative.mean()),
        },
        tables=(statements(judged, [""], f"{len(sampled)} workloads of {jobs} jobs, rho = 0.8"),),
        counterexample=small.instance,
        small=context.mode == "quick",
        assumes="Jobs start one by one. How bad it is depends on the load.",
        remark="The wait is the sum of all durations before only if all jobs are submitted at once.",
    )


def _mean_jct(policy: Policy, instance: PlacementInstance) -> float:
    """Return the mean completion time of a policy's schedule in minutes."""
    return float(instance.completion_times(schedule_by(policy, instance)).mean()) / MINUTE


def late_comer() -> PlacementInstance:
    """Return a job of 10 min, and one of 1 min that comes a minute later, for one GPU."""
    rows = [(0.0, 10.0, 1, 1), (1.0, 1.0, 1, 1)]
    return cluster(1, 1, rows, origin="a short job comes after a long one, for one GPU")


def no_surprise() -> PlacementInstance:
    """Return three jobs for two GPUs, all there from the start, whose best schedule leaves a GPU idle."""
    rows = [(0.0, 1.0, 1, 1), (0.0, 3.0, 1, 2), (0.0, 10.0, 1, 1)]
    return cluster(1, 2, rows, origin="all jobs are there from the start, and it is best to leave a GPU idle")


@claim(
    "eager-jct",
    "Appendix A",
    Verdict.REFUTED,
    says="Eager scheduling, whenever there is room, minimises the waiting and so the JCT.",
    how="The best eager schedule against the best of all, by enumeration: two instances by hand without any "
    "slowdown, and small random ones.",
)
def eager_jct(context: Context) -> Finding:
    two, three = solve_all(late_comer()), solve_all(no_surprise())
    gap = [(float(s.points[s.eager, 0].min()), float(s.least[0])) for s in (two, three)]
    lines = []
    for level, some in survey(context).items():
        best = np.array([s.points[s.eager, 0].min() / s.least[0] for s in some])
        beyond = sum(bool(s.points[s.eager, 0].min() > s.least[0] + ROUNDING) for s in some)
        fifo = np.array([s.first[0] / s.least[0] for s in some])
        beaten = sum(bool(s.lazy[0] < s.first[0] - ROUNDING) for s in some)
        lines.append((*level, len(some), beyond, float(best.max()), float(fifo.max()), beaten))
    rows = tuple(
        (name, *(value / 60 / TICKS for value in pair))
        for name, pair in zip(("two jobs, one GPU", "three jobs, two GPUs"), gap, strict=True)
    )
    columns = (
        *("kappa", "eta", "instances", "optimum is not eager", "best eager / optimum, largest"),
        *("FIFO-FirstFit / optimum, largest", "lazy beats FIFO-FirstFit"),
    )
    return Finding(
        holds_if(all(eager <= best for eager, best in gap), Verdict.REFUTED),
        "Starting what fits keeps a short job waiting behind a long one: every eager schedule of two jobs on "
        "one GPU is worse than waiting.",
        {"eager schedules beaten (instances)": sum(line[3] for line in lines)},
        tables=(
            Table("Sum of JCT (min)", ("instance", "best eager", "optimum"), rows),
            Table(
                "Sum of JCT on small random instances, beside the optimum over all schedules",
                columns,
                tuple(lines),
            ),
        ),
        counterexample=two.instance,
        assumes="No communication, no contention. In the second instance all jobs are there from the start.",
    )


EAGER = {"FIFO-FirstFit": kernels.FIRST_FIT, "FIFO-Consolidate": kernels.CONSOLIDATE}


@claim(
    "eager-fee",
    "Appendix A",
    Verdict.HOLDS_AMENDED,
    says="Eager has a much higher fee than lazy, as jobs contend and communicate.",
    how="Fees of FIFO-FirstFit and FIFO-Consolidate beside lazy on generated workloads. Amended: higher, if "
    "there is contention.",
    choices=("kappa and eta, what communication and contention cost", "the placing rule"),
)
def eager_fee(context: Context) -> Finding:
    jobs = context.pick(60, 150, 400)
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in EAGER}
    for kappa, eta in track(context, ((0.0, 0.0), (1.0, 0.0), (0.0, 0.5), (1.0, 0.5), (1.0, 1.0))):
        more: dict[str, list[float]] = {name: [] for name in EAGER}
        for seed in seeds(context, 10, 10, 40):
            i = generate("default", seed, jobs=jobs, communication=kappa, contention=eta)
            least = float(i.fees(schedule_by(Lazy(), i)).sum())
            for name, rule in EAGER.items():
                paid = float(i.fees(by_keys(i, np.arange(jobs), rule)).sum())
                more[name].append(100.0 * (paid / least - 1.0))
        for name, values in more.items():
            found[name][f"kappa {kappa:g}, eta {eta:g}"] = np.array(values)
    free, alone, *contended = next(iter(found.values()))
    none = max(float(np.abs(of[free]).max()) for of in found.values())
    said = [Statement(f"{name} pays more than lazy", of, "%") for name, of in found.items()]
    if none > 1e-9:
        raise RuntimeError(f"without slowdown fees differ by {none} %")
    judged = judge(said, contended)
    note = f"{jobs} jobs, rho = 0.8"
    return Finding(
        Verdict.HOLDS_AMENDED if settled(judged) is Verdict.HOLDS else settled(judged),
        "Where jobs contend eager pays more than lazy; without communication and contention every schedule "
        "pays the same.",
        {"no slowdown: largest difference (%)": none},
        tables=(statements(judged, contended, note), statements(judge(said, [alone]), [alone], note)),
        small=context.mode == "quick",
        assumes="kappa and eta are our assumptions, as the paper gives no model.",
        remark="How much more is paid depends on them and on the placing rule, so whether it is much cannot "
        "be said.",
    )


def side_by_side() -> PlacementInstance:
    """Return two jobs and two machines: apart from each other both are done at once, at the least fee."""
    rows = [(0.0, 1.0, 1, 1), (0.0, 1.0, 1, 1)]
    return cluster(2, 2, rows, (1.0, 1.0), origin="two jobs, two machines: one schedule is best in both")


def crowded() -> PlacementInstance:
    """Return four jobs on one machine that all fit at once, and contend if they do."""
    rows = [(0.0, float(duration), 1, 2) for duration in (1, 2, 4, 6)]
    return cluster(1, 8, rows, (1.0, 1.0), origin="four jobs that fit at once and contend")


@claim(
    "hard-trade-off",
    "Appendix A, Remark in Sec. 3, Sec. 5.2",
    Verdict.HOLDS_AMENDED,
    says="JCT and fee are proven to be in a hard trade-off.",
    how="Pareto fronts over all schedules of small instances. Amended: in some instances they are.",
)
def hard_trade_off(context: Context) -> Finding:
    known, lines = survey(context), []
    for level, some in known.items():
        sizes = np.array([len(s.front) for s in some])
        both = sum(bool((s.points[s.eager] <= s.least + ROUNDING).all(axis=1).any()) for s in some)
        lines.append(
            (*level, len(some), int((sizes == 1).sum()), both, float(sizes.mean()), int(sizes.max()))
        )
    none, crowd = solve_all(side_by_side()), solve_all(crowded())
    alone, total = sum(line[3] for line in lines), sum(line[2] for line in lines)
    columns = (
        *("kappa", "eta", "instances", "one schedule is best in both", "and it is eager"),
        *("points on the front, mean", "largest"),
    )
    return Finding(
        amended_if(
            alone == 0 and len(none.front) > 1, len(crowd.front) > 1 and alone < total, Verdict.REFUTED
        ),
        f"{alone} of {total} small instances have a schedule that is best in both; others have a trade-off.",
        {
            "small instances": total,
            "with a schedule best in both": alone,
            "schedules not dominated, two jobs on two machines": len(none.front),
            "schedules not dominated, four jobs that contend": len(crowd.front),
        },
        tables=(Table("Pareto fronts of small random instances, over all schedules", columns, tuple(lines)),),
        figures=(_front_figure(crowd),),
        counterexample=none.instance,
        assumes="Two policies that differ prove nothing about all others. Without slowdown all schedules "
        "have one fee.",
    )


def _front_figure(s: Solved) -> Figure:
    """Return all schedules of an instance, the front, and where lazy and eager stand."""
    figure, ax = new_figure()
    minute = 60.0 * TICKS
    cloud, front = np.unique(s.points, axis=0) / minute, s.front / minute
    hours = s.instance.setting.price / 60.0
    ax.plot(cloud[:, 0], hours * cloud[:, 1], ".", markersize=2, alpha=0.4, label="a schedule")
    ax.plot(front[:, 0], hours * front[:, 1], "-o", markersize=4, label="not dominated")
    for name, marker, point in (("lazy", "s", s.lazy), ("eager", "^", s.first)):
        ax.plot(point[0] / minute, hours * point[1] / minute, marker, markersize=9, label=name)
    name_axes(ax, "sum of JCT (min)", "sum of fees ($)")
    ax.legend()
    count = len(s.instance.jobs)
    caption = (
        f"All schedules of {count} jobs that contend on one machine of 8 GPUs (eta = 1), by enumeration."
    )
    return Figure("placement-trade-off", caption, to_svg(figure))


def by_keys(
    instance: PlacementInstance,
    keys: np.ndarray,
    rule: int = kernels.CONSOLIDATE,
    window: int | None = None,
) -> Schedule:
    """Return the schedule if waiting jobs are tried by ascending key and placed by a rule.

    The window is the instance's unless it is given.
    """
    simulator = instance.simulator()
    if window is not None:
        simulator.window = window
    kernels.run_by_keys(
        *(simulator.table, simulator.state, simulator.contention, simulator.window),
        *(np.asarray(keys, dtype=np.float64), rule, False),
    )
    return taken_schedule(simulator)


def by_order(
    sampled: Sequence[int], jobs: int, kappa: float, eta: float
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return JCT and fee above first in first out (%) by the order, on the instance of every seed."""
    points: dict[str, list[tuple[float, float]]] = {}
    for seed in sampled:
        i = generate("default", seed, jobs=jobs, rho=4.0, window=10**6, communication=kappa, contention=eta)
        value = i.jobs.gpus * i.jobs.duration
        orders = {"fifo": np.arange(jobs), "most valuable": -value, "shortest": i.jobs.duration}
        for name, keys in orders.items():
            s = by_keys(i, keys)
            points.setdefault(name, []).append((i.completion_times(s).mean(), i.fees(s).mean()))
    table = {name: np.array(found) for name, found in points.items()}
    base = table.pop("fifo")
    return {name: tuple((100.0 * (found / base - 1.0)).T) for name, found in table.items()}


@claim(
    "high-value-first",
    "Sec. 5.2, Sec. 5.4",
    Verdict.UNDETERMINED,
    says="Large and long jobs first gives a lower fee, at the price of a higher JCT.",
    how="The same placement rule with the jobs of the most GPU-hours first, first in first out, and shortest "
    "first, on generated workloads; paired.",
    choices=("kappa and eta, what communication and contention cost",),
)
def high_value_first(context: Context) -> Finding:
    jobs, sampled = context.pick(100, 200, 400), seeds(context, 20, 80, 200)
    levels = ((0.0, 0.0), (1.0, 0.0), (0.0, 0.5), (1.0, 0.5), (1.0, 1.0))
    found = {
        f"kappa {kappa:g}, eta {eta:g}": by_order(sampled, jobs, kappa, eta)
        for kappa, eta in track(context, levels)
    }
    free, *slowed = found
    same = all(abs(fee).max() < 1e-9 for _, fee in found[free].values())
    first = {name: found[name]["most valuable"] for name in slowed}
    fee = Statement("the fee is lower", {name: -cost for name, (_, cost) in first.items()}, "%", 2)
    jct = Statement("the JCT is higher", {name: more for name, (more, _) in first.items()}, "%")
    judged = judge([fee, jct], slowed)
    words, later = [one.word for one in judged], [float(more.mean()) for more, _ in first.values()]
    outcome = Verdict.HOLDS_AMENDED if words == ["holds"] * 2 and same else Verdict.UNDETERMINED
    rows = tuple(
        (level, name, spread(more, 1, True), spread(cost, 2, True))
        for level, of in found.items()
        for name, (more, cost) in of.items()
    )
    title = (
        f"Above first in first out, {len(sampled)} workloads of {jobs} jobs, rho = 4, mean ± 95 % half width"
    )
    return Finding(
        Verdict.NOT_REPRODUCED if "against" in words else outcome,
        f"Most GPU-hours first costs {min(later):.0f} to {max(later):.0f} % more JCT, by the slowdown; the "
        f"fee is surely lower in {judged[0].signs.count(True)} of {len(slowed)} cases.",
        {"workloads": len(sampled), **{f"{one.says}: {one.word}": True for one in judged}},
        tables=(
            statements(judged, slowed, title),
            Table(title, ("slowdown", "first", "JCT (%)", "fee (%)"), rows),
        ),
        small=context.mode == "quick",
        assumes="kappa and eta are our assumptions. Without them no order changes the fee.",
    )


# Reward (3)


def packed_or_spread() -> PlacementInstance:
    """Return two small jobs on two machines, and one that needs a whole machine a minute later."""
    rows = [(0.0, 2.0, 1, 1), (0.0, 2.0, 1, 1), (1.0, 2.0, 1, 2)]
    return cluster(2, 2, rows, origin="whoever spreads the two small jobs keeps the third waiting")


def one_gpu() -> PlacementInstance:
    """Return three jobs for one GPU, all there from the start."""
    rows = [(0.0, 4.0, 1, 1), (0.0, 3.0, 1, 1), (0.0, 2.0, 1, 1)]
    return cluster(1, 1, rows, origin="three jobs for one GPU")


def two_orders() -> PlacementInstance:
    """Return two jobs that cannot run together."""
    rows = [(0.0, 3.0, 1, 1), (0.0, 5.0, 1, 2)]
    return cluster(1, 2, rows, origin="two jobs that cannot run together")


@dataclass(frozen=True, eq=False)
class Scores:
    """What every heuristic does on one workload.

    Attributes
    ----------
    jct, fee
        Means in minutes and dollars, shape (policies,).
    rewards
        Sum of reward (3) by the seconds of a unit of time, shape (policies,).
    largest
        Of the jobs' terms 1 / (fee x JCT), the share of the largest tenth, shape (policies,).
    """

    jct: np.ndarray
    fee: np.ndarray
    rewards: dict[float, np.ndarray]
    largest: np.ndarray


UNITS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0}


def rewards_of(instance: PlacementInstance, decisions: Sequence[np.ndarray]) -> dict[float, float]:
    """Return the sum of reward (3) over a run by the unit of time in seconds; all of the window is tried."""
    simulator = instance.simulator()
    meters = {unit: Meter(instance, simulator) for unit in UNITS.values()}
    sums = dict.fromkeys(meters, 0.0)
    simulator.advance()
    for rows in decisions:
        failed = np.setdiff1d(simulator.pending, rows[:, 0])
        simulator.start(rows)
        simulator.advance()
        for unit, meter in meters.items():
            sums[unit] += meter.printed(failed, unit=unit)
    return sums


@lru_cache(maxsize=64)
def scores(seed: int, jobs: int) -> Scores:
    """Play the heuristics on a generated workload with rho = 1.5 and work out their rewards."""
    instance = generate("default", seed, jobs=jobs, rho=1.5)
    jct, fee, largest = [], [], []
    rewards: dict[float, list[float]] = {unit: [] for unit in UNITS.values()}
    for name in HEURISTICS:
        run = play(POLICIES[name](), instance, policy_seed(seed), keep_decisions=True)
        s = instance.schedule_of(run.decisions or ())
        times, fees = instance.completion_times(s) / MINUTE, instance.fees(s)
        jct.append(float(times.mean()))
        fee.append(float(fees.mean()))
        terms = np.sort(1.0 / (times * fees))
        largest.append(float(terms[-(jobs // 10) :].sum() / terms.sum()))
        for unit, total in rewards_of(instance, run.decisions or ()).items():
            rewards[unit].append(total)
    columns = {unit: np.array(sums) for unit, sums in rewards.items()}
    return Scores(np.array(jct), np.array(fee), columns, np.array(largest))


def workloads(context: Context) -> list[Scores]:
    """Return the scored workloads of a check, the same ones for all claims."""
    jobs = context.pick(60, 100, 400)
    return [scores(seed, jobs) for seed in track(context, seeds(context, 3, 8, 30))]


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's rank correlation."""
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)


def inversions(s: Scores, unit: float = MINUTE) -> tuple[int, int]:
    """Return the ordered pairs of policies of which one is better in both, and those with less reward."""
    better = (s.jct[:, None] <= s.jct) & (s.fee[:, None] <= s.fee)
    better &= (s.jct[:, None] < s.jct) | (s.fee[:, None] < s.fee)
    less = s.rewards[unit][:, None] < s.rewards[unit]
    return int(better.sum()), int((better & less).sum())


@claim(
    "reward-misaligned",
    "(3), Sec. 5.2",
    Verdict.REFUTED,
    says="Reward (3) optimises JCT and fee.",
    how="Exact rewards of two schedules of three jobs, one of which is better for every job; all orders of "
    "three jobs on one GPU; seven heuristics on generated workloads.",
    choices=("which jobs count as failed: none in the two schedules, else all that wait in the window",),
)
def reward_misaligned(context: Context) -> Finding:
    known = packed_or_spread()
    lines = []
    for name, policy in (("packed", FifoFirstFit()), ("spread", FifoLoadBalance())):
        s = schedule_by(policy, known)
        reward = float(printed_rewards(known, s).sum())
        jct = known.completion_times(s) / MINUTE
        lines.append((name, *jct.tolist(), float(known.fees(s).sum()), reward))
    packed, spread_ = lines
    dominated = all(p <= q for p, q in zip(packed[1:5], spread_[1:5], strict=True))
    order = one_gpu()
    every = [taken_schedule(end) for end, eager in every_end(order) if eager]
    cases = [(float(order.completion_times(s).sum()), float(printed_rewards(order, s).sum())) for s in every]
    wrong = sum(a[0] < b[0] and a[1] < b[1] - 1e-9 for a in cases for b in cases)
    some = workloads(context)
    pairs, inverted = (sum(counts) for counts in zip(*map(inversions, some), strict=True))
    with_fee, with_jct = (
        np.array([_rank_correlation(s.rewards[MINUTE], getattr(s, of)) for s in some])
        for of in ("fee", "jct")
    )
    numbers: dict[str, float | int | str | bool] = {
        "one GPU: pairs of orders ranked wrongly": wrong,
        "of two schedules the better one has less reward": dominated and packed[5] < spread_[5],
        "workloads": len(some),
        "least JCT has not the highest reward": sum(
            bool(s.rewards[MINUTE].argmax() != s.jct.argmin()) for s in some
        ),
        "pairs better in JCT and fee": pairs,
        "of these with a lower reward": inverted,
        "rank correlation with JCT, mean": float(with_jct.mean()),
        "rank correlation with fee, mean": float(with_fee.mean()),
    }
    columns = ("", "JCT 1 (min)", "JCT 2 (min)", "JCT 3 (min)", "fees ($)", "sum of reward (3)")
    return Finding(
        holds_if(not wrong, Verdict.REFUTED),
        f"Of three jobs on one GPU {wrong} pairs of orders are ranked wrongly: less JCT at the same fee has "
        "less reward.",
        numbers,
        tables=(
            Table("Orders of three jobs on one GPU", ("sum of JCT (s)", "sum of reward (3)"), tuple(cases)),
            Table("Two schedules of three jobs, one of which is no worse for any", columns, tuple(lines)),
        ),
        counterexample=order,
        assumes="Minutes and dollars. The rewards of a run are added up, one for each decision epoch; in the "
        "orders on one GPU a job ends at each.",
        remark="The mean over N' jobs makes it pay to let jobs finish in different steps. An aligned reward "
        "has a rank correlation of -1 with JCT where fees are equal.",
    )


@claim(
    "reward-small-jobs",
    "(3)",
    Verdict.HOLDS,
    says="A tenth of the jobs makes up most of the sum of 1 / (fee x JCT).",
    how="Seven heuristics on generated workloads.",
    ours=True,
)
def reward_small_jobs(context: Context) -> Finding:
    share = np.array([s.largest.min() for s in workloads(context)])
    judged = judge([Statement("more than half of the sum", {"": 100.0 * share - 50.0}, "points above 50 %")])
    return Finding(
        settled(judged),
        f"A tenth of the jobs makes at least {100 * share.min():.0f} % of the sum; how the others are "
        f"scheduled hardly counts.",
        {"workloads": len(share), "share of a tenth of the jobs, mean (%)": 100.0 * float(share.mean())},
        tables=(statements(judged, [""], "The least share of all heuristics"),),
        assumes="1 / (fee x JCT) falls with the square of the duration, which spans four decades in the "
        "trace.",
    )


@claim(
    "reward-units",
    "(3), Appendix D",
    Verdict.HOLDS,
    says="How reward (3) ranks policies depends on its units, which are not given.",
    how="Both orders of two jobs, and seven heuristics on generated workloads, with completion times in "
    "seconds, minutes, hours.",
    ours=True,
)
def reward_units(context: Context) -> Finding:
    some = workloads(context)
    lines = []
    for name, unit in UNITS.items():
        to_jct = np.array([_rank_correlation(s.rewards[unit], s.jct) for s in some])
        to_minutes = np.array([_rank_correlation(s.rewards[unit], s.rewards[MINUTE]) for s in some])
        below = np.mean([float((s.rewards[unit] < 0).mean()) for s in some])
        lines.append((name, float(to_jct.mean()), float(to_minutes.mean()), 100.0 * float(below)))
    changed = sum(bool((np.argsort(s.rewards[1.0]) != np.argsort(s.rewards[3600.0])).any()) for s in some)
    known = two_orders()
    ends = [taken_schedule(end) for end, eager in every_end(known) if eager]
    short_first, long_first = sorted(ends, key=lambda s: int(s.start[0]))
    ahead = {
        name: float(np.diff([printed_rewards(known, s, unit=u).sum() for s in (long_first, short_first)])[0])
        for name, u in UNITS.items()
    }
    columns = ("unit", "rank correlation with JCT", "with the reward in minutes", "negative (% of runs)")
    return Finding(
        holds_if(ahead["seconds"] < 0.0 < ahead["minutes"], Verdict.REFUTED),
        "Of two jobs that cannot run together the shorter one should be first in minutes, and last in "
        "seconds.",
        {
            "workloads": len(some),
            "order of heuristics changes between seconds and hours": changed,
            **{f"two jobs: shorter first is better by, {name}": value for name, value in ahead.items()},
        },
        tables=(Table("Reward (3) of seven heuristics by the unit of time", columns, tuple(lines)),),
        counterexample=known,
        assumes="A term per dollar and unit of time is added to a number of GPUs times alpha = 0.1.",
    )


@claim(
    "reward-sound",
    "Instead of (3)",
    Verdict.HOLDS,
    says="A reward that adds up to a constant less the cost of the schedule.",
    how="Schedules of small random instances, with communication cost and contention.",
    ours=True,
)
def reward_sound(context: Context) -> Finding:
    worst, count = 0.0, 0
    for level in LEVELS:
        for seed in seeds(context, 4, 8, 60):
            data = small_instance(seed, level).to_dict() | {"gpu_weight": 0.25}
            instance = PlacementInstance.from_dict(data)
            for number, (end, _) in enumerate(every_end(instance)):
                if number % 50 == 0:
                    s = taken_schedule(end)
                    total = float(aligned_rewards(instance, s).sum())
                    worst = max(worst, abs(total - unavoidable(instance) + instance.cost(s)))
                    count += 1
    context.progress(1.0)
    return Finding(
        holds_if(worst < 1e-6, Verdict.REFUTED),
        "On every schedule the rewards add up to a constant less its cost, but for rounding.",
        {"schedules": count, "largest difference (s)": worst},
        assumes="No discount. The reward of a step is -(jobs in the system dt + lambda x GPU-time beyond "
        "what the work takes alone), lambda = 0.25.",
        proof="" if worst < 1e-6 else "See the numbers.",
    )


CLAIMS = claim.claims
