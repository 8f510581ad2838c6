"""Claims about Appendix A and reward (3): what schedules trade, and what the reward asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, islice, product
from typing import Any, NamedTuple

import numpy as np

from ....models.base import Origin
from ....models.placement import kernels
from ....models.placement.generate import generate
from ....models.placement.instance import PlacementInstance, taken_schedule
from ....models.placement.reward import aligned_rewards, printed_rewards, unavoidable
from ....models.placement.schedule import NOTHING, Schedule
from ....models.placement.setting import Observation
from ....models.placement.simulator import Simulator
from ....online.base import Policy
from ....online.placement import POLICIES, FifoConsolidate
from ....online.play import policy_stream
from ...claim import Context, Finding, Register, Verdict, Why, amended_if, finding, holds_if, table
from ...experiments import lead, seeds, track
from ...study import Judged, Statement, conclude, judge, settled, statements
from .. import experiments as runs
from ..measures import gpu_ticks

claim = Register("placement")

LEVELS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))  # kappa and eta of the small instances
HEURISTICS = tuple(who.policy for who in (*runs.HEURISTICS, *runs.OURS))  # names of the policies
EAGER = {"FIFO-FirstFit": kernels.FIRST_FIT, "FIFO-Consolidate": kernels.CONSOLIDATE}
"""Placing rules of policies that start the oldest job that fits, by name."""

MINUTE = 60.0
ROUNDING = 50
"""Ticks and GPU-ticks: under contention jobs end at whole ticks, so that sums differ by a few of them."""


@dataclass
class Lazy(FifoConsolidate):
    """Lazy: wait until nothing runs, then start the oldest job on the fewest machines, or all that fit."""

    together: bool = False
    name: str = field(default="lazy", init=False)

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now."""
        if len(observation.running):
            return NOTHING
        rows = super().decide(observation)
        return rows if self.together else rows[rows[:, 0] == observation.jobs[0]]


def moves(
    policy: Policy, instance: PlacementInstance, first: Sequence[Any] = (), seed: int = 0
) -> Iterator[tuple[Observation, np.ndarray]]:
    """Yield what a policy sees and decides at every epoch; ``first`` are decisions that are given."""
    policy.start(instance.setting, policy_stream(seed))
    given, episode = iter(first), instance.episode(policy.traits.sees)
    for observation in episode:
        decision = np.array(next(given, None) or policy.decide(observation), dtype=np.int64).reshape(-1, 3)
        yield observation, decision
        episode.apply(decision)


def schedule_by(
    policy: Policy, instance: PlacementInstance, first: Sequence[Any] = (), seed: int = 0
) -> Schedule:
    """Return the schedule of decisions that are given, and then of a policy."""
    return runs.followed(instance, (decision for _, decision in moves(policy, instance, first, seed)))


def cluster(
    machines: int,
    gpus: int,
    rows: Iterable[tuple[float, ...]],
    slowdown: tuple[float, float] = (0.0, 0.0),
    *,
    origin: str,
    cpus: int = 0,
    memory: tuple[int, int] = (0, 0),
) -> PlacementInstance:
    """Return equal machines and jobs; slowdown is kappa and eta, memory that of a machine and of an instance.

    A row is submit and duration in min, instances, GPUs and CPUs of each (0 by default), intensity (1).
    """
    names = ("submit", "duration", "instances", "gpus", "cpus", "intensity")
    return PlacementInstance(
        machines=[{"gpus": gpus, "cpus": cpus, "memory": memory[0]}] * machines,
        jobs=[
            {"cpus": 0, "memory": memory[1]}
            | dict(zip(names, (MINUTE * submit, MINUTE * takes, *rest), strict=False))
            for submit, takes, *rest in rows
        ],
        slowdown=dict(zip(("communication", "contention"), slowdown, strict=True)),
        origin=Origin(origin),
    )


def every_decision(instance: PlacementInstance, simulator: Simulator) -> Iterator[np.ndarray]:
    """Yield the feasible decisions as sorted rows (job, machine, count), equal empty machines in order."""
    jobs, waiting, free = instance.jobs, simulator.pending, simulator.state.free
    capacity, ways = instance.setting.capacity, []
    alike = [
        (k, m)
        for k, m in combinations(range(len(free)), 2)
        if (np.array([free[k], free[m], capacity[m]]) == capacity[k]).all()
    ]
    for job in waiting.tolist():
        gang = int(jobs.instances[job])
        room = [range(kernels.room(line, jobs.need[job], gang) + 1) for line in free]
        ways.append([counts for counts in product(*room) if sum(counts) in (0, gang)])
    for chosen in product(*ways):
        counts = np.array(chosen, dtype=np.int64).reshape(len(waiting), len(free))
        job, machine = np.nonzero(counts)
        rows = np.column_stack([waiting[job], machine, counts[job, machine]])
        if all(counts[:, k].tolist() >= counts[:, m].tolist() for k, m in alike) and simulator.feasible(rows):
            yield rows


def every_end(instance: PlacementInstance) -> Iterator[tuple[Simulator, bool]]:
    """Yield the end of every schedule, and whether jobs start in it at every epoch until none fits: eager."""
    need, gang = instance.jobs.need, instance.jobs.instances

    def visit(simulator: Simulator, eager: bool) -> Iterator[tuple[Simulator, bool]]:
        if not simulator.advance():
            yield simulator, eager
            return
        waiting = set(simulator.pending.tolist())
        for rows in every_decision(instance, simulator):
            branch = instance.simulator()
            kernels.copy_state(simulator.state, branch.state)
            branch.start(rows)
            left = waiting - set(rows[:, 0].tolist())
            full = not any(kernels.fits(branch.state.free, need[i], gang[i]) for i in left)
            yield from visit(branch, eager and full)

    return visit(instance.simulator(), True)


def pareto_front(points: np.ndarray) -> np.ndarray:
    """Return the different points (smaller is better) that no other dominates by more than ROUNDING."""
    kept: list[np.ndarray] = []
    for point in np.unique(points, axis=0):
        better = (points <= point + ROUNDING).all(axis=1) & (points < point - ROUNDING).any(axis=1)
        if not better.any() and not any((np.abs(point - other) <= ROUNDING).all() for other in kept):
            kept.append(point)
    return np.array(kept, dtype=points.dtype).reshape(-1, 2)


class Solved(NamedTuple):
    """Sum of completion times and GPU time paid (ticks) of all schedules, and their minima; who is eager."""

    instance: PlacementInstance
    points: np.ndarray
    least: np.ndarray
    eager: np.ndarray


def point_of(policy: Policy, instance: PlacementInstance) -> np.ndarray:
    """Return the sum of completion times and the GPU time paid under a policy, in ticks."""
    schedule = schedule_by(policy, instance)
    return np.array([(schedule.finish - instance.jobs.submit).sum(), gpu_ticks(instance, schedule)])


@lru_cache(maxsize=4096)
def solve_all(instance: PlacementInstance) -> Solved:
    """Return all schedules of a tiny instance."""
    ends = np.array([(end.waited, end.used, eager) for end, eager in every_end(instance)], dtype=np.int64)
    return Solved(instance, ends[:, :2], ends[:, :2].min(axis=0), ends[:, 2] > 0)


def small_instance(seed: int, level: tuple[float, float]) -> PlacementInstance:
    """Return 3 random jobs on two machines of 4 GPUs, or 4 on one of 8; 1 to 6 min, 1 to 3 GPUs each."""
    rng = np.random.default_rng(seed)
    machines = int(rng.integers(1, 3))
    rows = []
    for submit in np.sort(rng.integers(0, 4, 5 - machines)).tolist():
        instances = int(rng.integers(1, 3))
        rows.append((submit, int(rng.integers(1, 7)), instances, int(rng.integers(1, 4))))
    note = f"small random instance, seed {seed}, kappa {level[0]:g}, eta {level[1]:g}"
    return cluster(machines, 8 // machines, rows, level, origin=note)


def survey(context: Context) -> dict[tuple[float, float], list[Solved]]:
    """Return the solved small instances of a check by level, the same ones for all claims."""
    sampled = seeds(context, 8, 12, 200)
    return {
        level: [solve_all(small_instance(seed, level)) for seed in sampled]
        for level in track(context, LEVELS)
    }


@lru_cache(maxsize=256)
def some_schedules(seed: int, level: tuple[float, float]) -> list[tuple[PlacementInstance, Schedule]]:
    """Return every 50th schedule of the small random instance of a seed, with lambda = 0.25."""
    instance = PlacementInstance.from_dict(small_instance(seed, level).to_dict() | {"gpu_weight": 0.25})
    return [(instance, taken_schedule(end)) for end, _ in islice(every_end(instance), 0, None, 50)]


def schedules(context: Context) -> list[tuple[PlacementInstance, Schedule]]:
    """Return schedules of small random instances, the same ones for all claims."""
    sampled = track(context, list(product(seeds(context, 3, 5, 60), LEVELS)))
    return [one for seed, level in sampled for one in some_schedules(seed, level)]


IN_ORDER = cluster(1, 1, [(0, 1, 1, 1), (0, 2, 1, 1)], origin="two jobs for one GPU, the shorter one first")


@claim(
    "lazy-fee",
    "Appendix A",
    Verdict.HOLDS_AMENDED,
    choices=("whether all jobs that fit start together once the cluster is empty, or one",),
)
def lazy_fee(context: Context) -> Finding:
    """Lazy scheduling, where a job waits until all others are done, gives the least durations and fees.

    Against all schedules of small random instances. Amended: if jobs start one by one.
    """
    known, rows = [s for some in survey(context).values() for s in some], []
    for name, policy in (("one", Lazy()), ("all that fit", Lazy(together=True))):
        factors = np.array([point_of(policy, s.instance)[1] / s.least[1] for s in known])
        rows.append((name, int((factors == 1.0).sum()), float(factors.max())))
    alone, together = (row[2] == 1.0 for row in rows)
    return finding(
        amended_if(alone and together, alone),
        "One job at a time pays the least of all schedules; jobs that start together may contend.",
        {"small instances": len(known)},
        table("Fee of lazy", "start together | the least of all | fee / least, largest", rows),
        assumes="A job alone on the fewest machines runs for its duration, and nothing makes it shorter.",
    )


@claim("lazy-jct", "Appendix A", Verdict.HOLDS_AMENDED)
def lazy_jct(context: Context) -> Finding:
    """Lazy has almost the worst JCT: a job waits for the durations of all before it.

    All schedules of small instances; heuristics on workloads. Amended: on workloads with more room.
    """
    known = [s for some in survey(context).values() for s in some]
    best = sum(bool(point_of(Lazy(), s.instance)[0] == s.least[0]) for s in known)
    jobs = context.pick(60, 150, 400)
    sampled = [generate("default", seed, jobs=jobs) for seed in seeds(context, 3, 8, 20)]

    def jct(policy: Policy) -> np.ndarray:
        return np.array([i.completion_times(schedule_by(policy, i)).mean() for i in sampled])

    lazy = jct(Lazy())
    says = "the mean JCT of lazy is above that of {}".format
    said = [Statement(says(name), {"": lead(lazy, jct(POLICIES[name]()))}, "%") for name in HEURISTICS]
    always = best == 0 and point_of(Lazy(), IN_ORDER)[0] > solve_all(IN_ORDER).least[0]
    sure = sum(one.word == "holds" for one in judge(said))
    return conclude(
        f"On generated workloads lazy is behind {sure} of {len(said)} heuristics; where every job needs the "
        f"whole cluster it can be the best of all.",
        said,
        numbers={"small instances": len(known), "lazy has the least JCT": best},
        note=f"{len(sampled)} workloads of {jobs} jobs, rho = 0.8",
        verdict=lambda judged: amended_if(always, settled(judged) is Verdict.HOLDS, settled(judged)),
        counterexample=IN_ORDER,
        assumes="Jobs start one by one. How bad it is depends on the load.",
    )


LATE_COMER = cluster(1, 1, [(0, 10, 1, 1), (1, 1, 1, 1)], origin="a short job after a long one, for one GPU")
NO_SURPRISE = cluster(1, 2, [(0, 1, 1, 1), (0, 3, 1, 2), (0, 10, 1, 1)], origin="one GPU is to be left idle")


@claim("eager-jct", "Appendix A", Verdict.REFUTED)
def eager_jct(context: Context) -> Finding:
    """Eager scheduling, whenever there is room, minimises the waiting and so the JCT.

    The best eager schedule against the best of all: two instances by hand, and small random ones.
    """
    cases = {"two jobs by hand": [solve_all(LATE_COMER)], "three by hand": [solve_all(NO_SURPRISE)]}
    cases |= {f"kappa {kappa:g}, eta {eta:g}": some for (kappa, eta), some in survey(context).items()}
    rows = []
    for name, some in cases.items():
        best, least = np.array([(s.points[s.eager, 0].min(), s.least[0]) for s in some]).T
        rows.append((name, len(some), int((best > least + ROUNDING).sum()), float((best / least).max())))
    heads = " | instances | optimum is not eager | best eager / optimum, largest"
    return finding(
        holds_if(rows[0][2] == rows[1][2] == 0),
        "Starting what fits keeps a short job waiting behind a long one: every eager schedule of these two "
        "jobs is worse than waiting.",
        table("Sum of JCT, beside the optimum over all schedules", heads, rows),
        counterexample=LATE_COMER,
        assumes="By hand there is no slowdown. In the second instance all jobs are there from the start.",
    )


def amended(judged: Iterable[Judged]) -> Verdict:
    """Return the verdict on statements that are said of the amended form."""
    verdict = settled(judged)
    return Verdict.HOLDS_AMENDED if verdict is Verdict.HOLDS else verdict


def above(
    context: Context, sampled: range, of: Callable[[PlacementInstance], Any], fees: list[int], **options: Any
) -> dict[str, np.ndarray]:
    """Return ratios of costs on generated workloads less one (%) by kappa and eta, shape (seeds, costs).

    Without both, which stands first, those in the columns ``fees`` have to be equal.
    """
    found = {}
    for kappa, eta in track(context, ((0.0, 0.0), (1.0, 0.0), (0.0, 0.5), (1.0, 0.5), (1.0, 1.0))):
        options |= {"communication": kappa, "contention": eta}
        told = [of(generate("default", seed, **options)) for seed in sampled]
        found[f"kappa {kappa:g}, eta {eta:g}"] = 100.0 * (np.array(told) - 1.0)
    if (most := float(np.abs(next(iter(found.values()))[:, fees]).max())) > 1e-9:
        raise RuntimeError(f"without slowdown fees differ by {most} %")
    return found


@claim(
    "eager-fee",
    "Appendix A",
    Verdict.HOLDS_AMENDED,
    choices=("kappa and eta, what communication and contention cost", "the placing rule"),
)
def eager_fee(context: Context) -> Finding:
    """Eager has a much higher fee than lazy, as jobs contend and communicate.

    FIFO-FirstFit and FIFO-Consolidate beside lazy on workloads. Amended: higher, with contention.
    """
    jobs = context.pick(60, 150, 400)

    def fees(i: PlacementInstance) -> list[float]:
        least = i.fees(schedule_by(Lazy(), i)).sum()
        return [i.fees(by_keys(i, np.arange(jobs), rule)).sum() / least for rule in EAGER.values()]

    found = above(context, seeds(context, 10, 10, 40), fees, [0, 1], jobs=jobs)
    _, alone, *contended = found
    said = [
        Statement(f"{name} pays more than lazy", {level: of[:, k] for level, of in found.items()}, "%")
        for k, name in enumerate(EAGER)
    ]
    note = f"{jobs} jobs, rho = 0.8"
    return conclude(
        "Where jobs contend eager pays more than lazy; without any slowdown every schedule pays the same.",
        said,
        statements(judge(said, [alone]), [alone], note),
        scenarios=contended,
        note=note,
        verdict=amended,
        assumes="kappa and eta are our assumptions, as the paper gives no model.",
        remark="How much more depends on them and on the placing rule; whether it is much cannot be said.",
    )


SIDE_BY_SIDE = cluster(
    2, 2, [(0, 1, 1, 1)] * 2, (1.0, 1.0), origin="two jobs, two machines: one schedule is best in both"
)
CROWDED = cluster(1, 8, [(0, t, 1, 2) for t in (1, 2, 4, 6)], (1.0, 1.0), origin="four jobs that contend")


@claim("hard-trade-off", "Appendix A, Remark in Sec. 3, Sec. 5.2", Verdict.HOLDS_AMENDED)
def hard_trade_off(context: Context) -> Finding:
    """JCT and fee are proven to be in a hard trade-off.

    Pareto fronts over all schedules of small instances. Amended: in some instances they are.
    """
    rows = []
    for level, some in survey(context).items():
        sizes = np.array([len(pareto_front(s.points)) for s in some])
        rows.append((*level, len(some), int((sizes == 1).sum()), float(sizes.mean()), int(sizes.max())))
    none, crowd = (len(pareto_front(solve_all(one).points)) for one in (SIDE_BY_SIDE, CROWDED))
    _, _, total, alone, *_ = np.sum(rows, axis=0).astype(int).tolist()
    heads = "kappa | eta | instances | one schedule is best in both | points on the front, mean | largest"
    return finding(
        amended_if(alone == 0 and none > 1, crowd > 1 and alone < total),
        f"{alone} of {total} small instances have a schedule that is best in both; others have a trade-off.",
        {"not dominated, two jobs on two machines": none, "not dominated, four jobs that contend": crowd},
        table("Pareto fronts of small random instances, over all schedules", heads, rows),
        counterexample=SIDE_BY_SIDE,
        assumes="Two policies that differ prove nothing of others. Without slowdown there is but one fee.",
    )


def by_keys(
    instance: PlacementInstance, keys: np.ndarray, rule: int = kernels.CONSOLIDATE, window: int | None = None
) -> Schedule:
    """Return the schedule if jobs are tried by ascending key, of the instance's window or another one."""
    simulator = instance.simulator()
    simulator.window = simulator.window if window is None else window
    kernels.run_by_keys(
        *(simulator.table, simulator.state, simulator.contention, simulator.window),
        *(np.asarray(keys, dtype=np.float64), rule, False),
    )
    return taken_schedule(simulator)


@claim(
    "high-value-first",
    "Sec. 5.2, Sec. 5.4",
    because=Why.SAMPLES,
    choices=("kappa and eta, what communication and contention cost",),
)
def high_value_first(context: Context) -> Finding:
    """Large and long jobs first gives a lower fee, at the price of a higher JCT.

    The same placing with most GPU-hours first, and first in first out, on generated workloads.
    """
    jobs, sampled = context.pick(100, 200, 400), seeds(context, 20, 40, 200)

    def ratios(i: PlacementInstance) -> list[float]:
        first, fifo = (by_keys(i, keys) for keys in (-i.jobs.gpus * i.jobs.duration, np.arange(jobs)))
        return [of(first).mean() / of(fifo).mean() for of in (i.completion_times, i.fees)]

    _, *slowed = found = above(context, sampled, ratios, [1], jobs=jobs, rho=4.0, window=10**6)
    fee = Statement("the fee is lower", {name: -of[:, 1] for name, of in found.items()}, "%", 2)
    jct = Statement("the JCT is higher", {name: of[:, 0] for name, of in found.items()}, "%")
    later = [float(found[name][:, 0].mean()) for name in slowed]
    sure = judge([fee, jct], slowed)[0].signs.count(True)
    return conclude(
        f"Most GPU-hours first costs {min(later):.0f} to {max(later):.0f} % more JCT with {jobs} jobs; the "
        f"fee is surely lower in {sure} of {len(slowed)} cases.",
        [fee, jct],
        scenarios=slowed,
        note=f"{len(sampled)} workloads of {jobs} jobs, rho = 4, beside first in first out",
        verdict=amended,
        assumes="kappa and eta are our assumptions. Without them no order changes the fee.",
    )


ONE_GPU = cluster(1, 1, [(0, takes, 1, 1) for takes in (100, 2, 1)], origin="three jobs for one GPU")
TWO_ORDERS = cluster(1, 2, [(0, 3, 1, 1), (0, 5, 1, 2)], origin="two jobs that cannot run together")


def eager_ends(instance: PlacementInstance) -> list[Schedule]:
    """Return all eager schedules of a tiny instance."""
    return [taken_schedule(end) for end, eager in every_end(instance) if eager]


def orders(none_failed: int, unit: float = MINUTE) -> list[tuple[float, ...]]:
    """Return sums of JCT (s), fees ($) and reward (3) of all orders of three jobs on one GPU."""
    lines, i = [], ONE_GPU
    for s in eager_ends(i):
        tried = np.argsort(s.start)[:, None].tolist() if none_failed else None
        sums = (i.completion_times(s), i.fees(s), printed_rewards(i, s, tried, unit=unit))
        lines.append(tuple(float(v.sum()) for v in sums))
    return lines


def wrong_pairs(cases: Sequence[tuple[float, ...]]) -> int:
    """Return how many pairs have less JCT at no higher fee, and yet less reward."""
    return sum(a[0] < b[0] and a[1] <= b[1] + 1e-9 and a[2] < b[2] - 1e-9 for a in cases for b in cases)


@claim(
    "reward-misaligned",
    "(3), Sec. 5.2",
    Verdict.REFUTED,
    choices=("which jobs count as failed", "unit of time"),
)
def reward_misaligned(_context: Context) -> Finding:
    """Reward (3) optimises JCT and fee.

    Rewards of all orders of three jobs on one GPU, with all that wait counted as failed and with none.
    """
    wrong, failed = {}, ("all that wait", "none")
    for none, name in product((0, 1), ("second", "minute", "hour")):
        unit = {"second": 1.0, "minute": MINUTE, "hour": 60.0 * MINUTE}[name]
        wrong[f"pairs ranked wrongly, failed: {failed[none]}, in {name}s"] = wrong_pairs(orders(none, unit))
    cases = [(*some, none[2]) for some, none in zip(orders(0), orders(1), strict=True)]
    heads = "sum of JCT (s) | fees ($) | reward (3), all that wait failed | reward (3), none failed"
    return finding(
        holds_if(not any(wrong.values()), Verdict.REFUTED if all(wrong.values()) else Verdict.UNDETERMINED),
        "Orders of three jobs on one GPU are ranked wrongly, whether all that wait count as failed or none: "
        "less JCT has less reward.",
        wrong,
        table("Orders of three jobs on one GPU, (3) in minutes and dollars", heads, cases),
        counterexample=ONE_GPU,
        assumes="The rewards of a run, one for each decision epoch, are added up.",
    )


@claim("reward-small-jobs", "(3)", Verdict.HOLDS, ours=True)
def reward_small_jobs(context: Context) -> Finding:
    """A tenth of the jobs makes up most of the sum of 1 / (fee x JCT).

    Seven heuristics on generated workloads.
    """
    jobs, least = context.pick(60, 60, 400), []
    for seed in track(context, seeds(context, 3, 6, 30)):
        i, shares = generate("default", seed, jobs=jobs, rho=1.5), []
        for name in HEURISTICS:
            s = schedule_by(POLICIES[name](), i)
            terms = np.sort(1.0 / (i.completion_times(s) * i.fees(s)))
            shares.append(100.0 * terms[-(jobs // 10) :].sum() / terms.sum())
        least.append(min(shares))
    return conclude(
        f"A tenth of the jobs makes at least {min(least):.0f} % of the sum; the others hardly count.",
        [Statement("more than half of the sum", {"": np.array(least) - 50.0}, "points above 50 %")],
        note="The least share of all heuristics",
        assumes="1 / (fee x JCT) falls with the square of the duration, which spans four decades.",
    )


@claim("reward-units", "(3), Appendix D", Verdict.HOLDS, ours=True)
def reward_units(_context: Context) -> Finding:
    """How reward (3) ranks policies depends on its units, which are not given.

    Both orders of two jobs, with completion times in seconds, minutes, hours.
    """
    orders = sorted(eager_ends(TWO_ORDERS), key=lambda s: int(s.start[0]))  # the shorter job first, and last
    rows: list[tuple[Any, ...]] = []
    for name, unit in (("seconds", 1.0), ("minutes", MINUTE), ("hours", 60.0 * MINUTE)):
        rows.append((name, *(float(printed_rewards(TWO_ORDERS, s, unit=unit).sum()) for s in orders)))
    return finding(
        holds_if(rows[0][1] < rows[0][2] and rows[1][1] > rows[1][2]),
        "Of two jobs that cannot run together the shorter should be first in minutes, and last in seconds.",
        table("Sum of reward (3)", "unit of time | shorter job first | longer one first", rows),
        counterexample=TWO_ORDERS,
        assumes="A term per dollar and unit of time is added to a number of GPUs times alpha = 0.1.",
    )


@claim("reward-sound", "Instead of (3)", Verdict.HOLDS, ours=True)
def reward_sound(context: Context) -> Finding:
    """A reward that adds up to a constant less the cost of the schedule.

    Schedules of small random instances, with communication cost and contention.
    """
    off = [
        float(abs(aligned_rewards(i, s).sum() - unavoidable(i) + i.cost(s))) for i, s in schedules(context)
    ]
    return finding(
        holds_if(max(off) < 1e-6),
        "On every schedule the rewards add up to a constant less its cost, but for rounding.",
        {"schedules": len(off), "largest difference (s)": max(off)},
        assumes="No discount. A step pays -(jobs dt + lambda x GPU-time above the least), lambda = 1/4.",
    )
