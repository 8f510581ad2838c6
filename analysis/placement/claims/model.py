"""Claims about the model and its definitions, NP-hardness, the window, and the cases of Figure 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import combinations, combinations_with_replacement, islice

import numpy as np

from ....models.placement.generate import generate
from ....models.placement.instance import PlacementInstance
from ....models.placement.jobs import TICKS
from ....models.placement.placing import place
from ....models.placement.schedule import Schedule
from ....online.base import Policy
from ....online.placement import POLICIES, FifoFirstFit
from ....oracles.base import WhyStopped
from ....oracles.placement.optimum import ORACLES
from ...claim import Context, Finding, Register, Verdict, amended_if, finding, holds_if, table
from ...experiments import seeds, spread, track
from ...optima import relied_on
from ...study import Statement, conclude, judge
from ..measures import measures_of
from .theory import EAGER, HEURISTICS, MINUTE, by_keys, cluster, moves, schedule_by, schedules

claim = Register("placement")


@claim("definitions", "Sec. 3", Verdict.HOLDS, ours=True)
def definitions(context: Context) -> Finding:
    """The fee is p C n d, the JCT finish less submission; jobs run to their end, all instances at once, and
    start at an arrival or an end that leaves room for them.

    Schedules of small random instances without and with slowdown, job by job.
    """
    every = [definitions_broken(instance, s) for instance, s in schedules(context)]
    wrong = {f"jobs with a wrong {name}": sum(broken[name] for broken in every) for name in every[0]}
    return finding(
        holds_if(not any(wrong.values())),
        f"In {len(every)} schedules fee, JCT, gangs and starts are as defined, job by job.",
        wrong,
    )


def definitions_broken(instance: PlacementInstance, schedule: Schedule) -> dict[str, int]:
    """Return how many jobs of a schedule break the definitions of Sec. 3."""
    jobs, job, count = instance.jobs, schedule.rows[:, 0], schedule.rows[:, 2]
    hours = (schedule.finish - schedule.start) / (3600 * TICKS)
    fees = instance.setting.price * jobs.instances * jobs.need[:, 0] * hours
    wrong = {
        "fee": abs(instance.fees(schedule) - fees) > 1e-12,
        "JCT": instance.completion_times(schedule) != (schedule.finish - jobs.submit) / TICKS,
        "gang": np.bincount(job, weights=count, minlength=len(jobs)) != jobs.instances,
        "epoch": ~np.isin(schedule.start, np.concatenate([jobs.submit, schedule.finish])),
    }
    return {name: int(broken.sum()) for name, broken in wrong.items()}


@claim("printed-sums", "(3), Sec. 5.1.4", Verdict.HOLDS_AMENDED)
def printed_sums(context: Context) -> Finding:
    """The averages are sums over 0 to |J|, and 0 to N', divided by |J| and N'.

    Small random schedules against sums with one term more. Amended: as many as they are divided by.
    """
    off = []
    for instance, s in schedules(context):
        times, mean = instance.completion_times(s) / MINUTE, measures_of(instance, s)["JCT (min)"]
        total, least = times.sum() / len(times), times.min() / len(times)
        off.append((abs(total + least - mean) / mean, abs(total - mean) / mean))
    as_printed, amended = np.max(off, axis=0) <= 1e-9
    return finding(
        amended_if(as_printed, amended),
        "As printed a mean has one term too many: even the least JCT, counted twice, moves it.",
        assumes="Jobs are numbered from 1 or from 0; either way |J| + 1 terms name a job that is not there.",
        remark="In (3) with N' = 1 the sum would have two terms.",
    )


def slowed(gpus: int, eta: float) -> float:
    """Return by how much a job is slowed down beside jobs on all other GPUs of its machine, simulated."""
    rows = [(0, 60, 1, 1), *[(0, 600, 1, 1)] * (gpus - 1)]
    instance = cluster(1, gpus, rows, (0.0, eta), origin="a full machine")
    return float(schedule_by(FifoFirstFit(), instance).finish[0] / instance.jobs.duration[0])


def figure_1() -> PlacementInstance:
    """Return the case of Figure 1 with eta = 1."""
    note = "a job beside two light ones on 4 GPUs, and a heavy one that comes an hour later (cf. Figure 1)"
    rows = [(0, 180, 1, 1), *[(0, 600, 1, 1, 0, 0.25)] * 2, (60, 600, 1, 1)]
    return cluster(1, 4, rows, (0.0, 1.0), origin=note)


@claim(
    "twofold-slowdown",
    "Sec. 1, Figure 1",
    Verdict.NOT_CHECKABLE,
    choices=("eta, how much jobs slow each other down: 0.5 and 1",),
)
def twofold_slowdown(_context: Context) -> Finding:
    """A job that is placed on a machine later can slow another one down nearly twofold.

    What our model says, simulated; a measurement would be needed to check it.
    """
    rows = [
        (gpus, eta, slowed(gpus, eta), 1.0 + eta * (gpus - 1) / gpus) for gpus in (4, 8) for eta in (0.5, 1.0)
    ]
    if any(abs(simulated - expected) > 1e-5 for *_, simulated, expected in rows):
        raise RuntimeError(f"jobs are not slowed down as they should be: {rows}")
    late, heads = figure_1(), "GPUs | eta | simulated | 1 + eta (G - 1) / G"
    took = float(late.completion_times(schedule_by(FifoFirstFit(), late))[0]) / MINUTE
    return finding(
        Verdict.NOT_CHECKABLE,
        "How much real jobs slow each other down is a measurement that no trace here has.",
        {"Figure 1, job of 180 min, takes (min)": took},
        table("Slowdown of a job on one GPU of a full machine, all intensities 1", heads, rows),
        remark="In our model eta = 1 comes near twofold.",
    )


def packing(sizes: Sequence[int]) -> PlacementInstance:
    """Return jobs of one second, one per number with as many GPUs, and two machines of half the sum."""
    rows = [(0, 1 / MINUTE, 1, size) for size in sizes]
    return cluster(2, sum(sizes) // 2, rows, origin=f"partition of {', '.join(map(str, sizes))}")


def can_be_split(sizes: Sequence[int]) -> bool:
    """Return whether numbers can be split into two parts of equal sum, by enumeration."""
    half, rest = divmod(sum(sizes), 2)
    return rest == 0 and half in (sum(part) for r in range(len(sizes) + 1) for part in combinations(sizes, r))


def number_sets(largest: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield all sets (with repetition) of 2 to ``most`` numbers that no single number splits by its size."""
    for count in range(2, most + 1):
        for sizes in combinations_with_replacement(range(1, largest + 1), count):
            if sum(sizes) % 2 == 0 and 2 * max(sizes) <= sum(sizes):
                yield sizes


@claim("np-hard", "Abstract, Sec. 1", Verdict.HOLDS)
def np_hard(context: Context) -> Finding:
    """The scheduling problem is NP-hard.

    Partition as a case of it: proven optima on all sets of small numbers against enumeration.
    """
    sets = list(number_sets(*context.pick((4, 4), (5, 4), (6, 6))))
    agree, possible = 0, sum(map(can_be_split, sets))
    for sizes in track(context, sets):
        found = relied_on("offline", ORACLES["offline"], packing(sizes), method="branch-and-bound", gap=0.0)
        if found.why_stopped is not WhyStopped.PROVED:
            raise RuntimeError(f"{sizes}: {found.method} proved nothing")
        agree += (found.value == len(sizes)) == can_be_split(sizes)
    return finding(
        holds_if(agree == len(sets), Verdict.UNDETERMINED),
        "Partition is a special case: two machines of half the sum, jobs of one second with a_i GPUs.",
        {"sets of numbers": len(sets), "can be split": possible, "optimum agrees": agree},
        assumes="The offline problem; without contention, communication or gangs.",
        remark="The sum of JCT is n seconds if and only if the a_i split.",
    )


BACKFILL = cluster(
    1,
    2,
    [(0, 10, 1, n) for n in (1, 2, 1)],
    origin="the third job fits beside the first one, the second does not",
)


@claim("window", "Appendix D, Sec. 3", Verdict.HOLDS, ours=True, choices=("N: 2 to 512",))
def window_matters(context: Context) -> Finding:
    """The JCT depends on N, of how many pending jobs some may start; its value is not given.

    An instance of three jobs; FIFO-FirstFit and FIFO-Consolidate on generated workloads by N.
    """
    jobs, sizes = context.pick(150, 200, 800), context.pick((2, 8, 64), (2, 8, 24, 64), (2, 8, 24, 64, 512))
    sampled = [generate("default", seed, jobs=jobs, rho=4.0) for seed in seeds(context, 3, 4, 20)]

    def jct(i: PlacementInstance, window: int, rule: int = EAGER["FIFO-Consolidate"]) -> float:
        return float(i.completion_times(by_keys(i, np.arange(len(i.jobs)), rule, window)).mean()) / MINUTE

    rows = []
    for name, rule in track(context, EAGER.items()):
        times = np.array([[jct(i, n, rule) for n in (*sizes, jobs)] for i in sampled])
        rows.append((name, *(spread(column, 3) for column in (times[:, :-1] / times[:, -1:]).T)))
    one, every = (jct(BACKFILL, window) for window in (1, 3))
    title = f"JCT if N jobs may start, over that with all; {len(sampled)} workloads of {jobs} jobs, rho = 4"
    return finding(
        holds_if(one != every),
        "Three jobs on two GPUs already take longer if only the oldest may start.",
        {"three jobs, mean JCT: N = 1 (min)": one, "three jobs, mean JCT: all (min)": every},
        table(title, " | ".join(("placing", *(f"N = {n}" for n in sizes))), rows),
        counterexample=BACKFILL,
    )


def told_from(policy: Policy, instance: PlacementInstance) -> np.ndarray:
    """Return whether the first start of an epoch at which two jobs fit is as the columns of RULES say."""
    capacity, found = instance.setting.capacity, []
    for seen, rows in moves(policy, instance):
        needs = np.maximum(seen.need, 0)[:, None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(needs > 0, seen.free[None] // needs, np.inf).min(axis=2)
        fit = room.sum(axis=1) >= seen.instances
        if fit.sum() > 1:
            shares = (seen.instances[:, None] * seen.need / capacity.sum(axis=0)).max(axis=1)
            at = int(np.flatnonzero(seen.jobs == rows[0, 0])[0])
            used, has_room = rows[rows[:, 0] == rows[0, 0], 1], np.flatnonzero(room[at] > 0)
            load = (1.0 - seen.free / capacity).max(axis=1)
            oldest = seen.submit[at] <= seen.submit[fit].min()
            smallest = shares[at] <= shares[fit].min() + 1e-12
            least = load[used].min() <= load[has_room].min() + 1e-12
            found.append((oldest, smallest, has_room[0] in used, least))
    return np.array(found, dtype=bool).reshape(-1, 4)


RULES = dict(zip(HEURISTICS, ((0, 2), (0, 3), (1, 2), (1, 3)), strict=False))
"""Which of these the text says of a rule: the oldest job, the smallest dominant share; the first machine, the
least loaded one."""


@claim("baselines", "Sec. 5.1.5", Verdict.HOLDS)
def baselines(context: Context) -> Finding:
    """FIFO begins with the oldest job, DRF with the smallest dominant share; FirstFit takes the first
    available machine, LoadBalance the least loaded.

    The first start of each epoch at which several jobs fit, on generated workloads.
    """
    sampled = [generate("default", seed, jobs=100, rho=4.0) for seed in seeds(context, 6, 6, 20)]
    rows, good, count, differ = [], 0, 0, True
    for name, columns in track(context, RULES.items()):
        told = np.concatenate([told_from(POLICIES[name](), one) for one in sampled])
        good, count = good + int(told[:, columns].all(axis=1).sum()), count + len(told)
        differ &= not np.delete(told, columns, axis=1).all(axis=0).any()
        rows.append((name, *(100.0 * told.mean(axis=0)).tolist()))
    heads = "rule | oldest job | smallest share | first machine | least loaded"
    return finding(
        holds_if(good == count and differ, Verdict.UNDETERMINED),
        f"Of {count} first choices among several jobs {good} are as the text says of the rule, and the rules "
        f"{'can' if differ else 'cannot'} be told from each other.",
        table("How often the first start of an epoch is so (%)", heads, rows),
        assumes="Shares are those of all machines together, the load of one is that of its fullest resource.",
    )


def mean_time(submit: Sequence[float], takes: Sequence[float], cost: float | None) -> float:
    """Return the mean completion time of jobs that have a cluster in turn, the shortest one first.

    After each interruption a job takes ``cost`` longer; with None jobs run to their end.
    """
    waiting: list[tuple[float, int]] = []
    begun = [False] * len(takes)
    now, total, arrived, running = 0.0, 0.0, 0, -1
    while waiting or arrived < len(takes):
        now = now if waiting else max(now, submit[arrived])
        while arrived < len(takes) and submit[arrived] <= now:
            heappush(waiting, (takes[arrived], arrived))
            arrived += 1
        left, job = heappop(waiting)
        left += (cost or 0.0) * (begun[job] and job != running)
        begun[job], running = True, job
        until = np.inf if cost is None or arrived == len(takes) else submit[arrived]
        if now + left > until:
            heappush(waiting, (left - (until - now), job))
            now = until
        else:
            now += left
            total += now - submit[job]
    return total / len(takes)


@claim(
    "preemption",
    "Sec. 3",
    turns=("600 min", "0 min"),
    choices=("what an interruption costs: nothing to ten hours",),
)
def preemption(context: Context) -> Finding:
    """Jobs run to their end, as a scheduler that preempts them may bring extra overhead.

    Shortest first, to the end, against shortest remaining time, where interruptions cost minutes.
    """
    costs, sampled = (0.0, 1.0, 10.0, 60.0, 600.0), seeds(context, 6, 20, 40)
    found = []
    for seed in track(context, sampled):
        jobs = generate("default", seed, jobs=200).jobs
        takes = jobs.duration / (60.0 * TICKS)
        submit = (jobs.submit * (takes.sum() / 0.8 / jobs.submit[-1])).tolist()
        to_the_end, *preempting = (mean_time(submit, takes.tolist(), cost) for cost in (None, *costs))
        found.append(100.0 * (np.array(preempting) / to_the_end - 1.0))
    samples = dict(zip([f"{cost:g} min" for cost in costs], np.array(found).T, strict=True))
    said = [Statement("running to the end has less JCT than preempting", samples, "%")]
    signs = judge(said, samples)[0].signs
    better = max((c for c, sign in zip(costs, signs, strict=True) if sign is False), default=0.0)
    return conclude(
        f"Preemption surely pays in JCT up to {better:g} minutes per interruption, if durations are known; "
        f"the paper gives no overhead.",
        said,
        numbers={"instances": len(sampled)},
        assumes="Every job needs the whole cluster; durations are known to both, and who preempts heeds no "
        "cost. The load is 0.8.",
        remark="That the free resources change all the time is no reason against preemption.",
    )


def eight_machines(jobs: Sequence[tuple[float, ...]], origin: str) -> PlacementInstance:
    """Return the Small cluster without any slowdown; rows are submit and duration in min, C, GPUs, cores."""
    return cluster(8, 8, jobs, origin=origin, cpus=96, memory=(512, 8))


Opening = list[list[tuple[int, int, int]]]
"""Decisions at the first epochs."""


def figure_6c() -> tuple[PlacementInstance, Opening]:
    """Return an instance as Figure 6(c) is told, and how it begins: j6 on machine 7, j7 on machine 3.

    Then come j8 with few cores and j9 with more than machine 7 has left, for four machines each.
    """
    jobs = [(0, 600, 1, 2, 64), (0, 600, 1, 2, 16), (1, 60, 4, 5, 16), (2, 60, 4, 6, 80)]
    note = "after Figure 6(c): j6 on machine 7, j7 on machine 3, then j8 and the CPU-intensive j9"
    return eight_machines(jobs, note), [[(0, 7, 1), (1, 3, 1)]]


@claim("case-placement", "Sec. 5.5, Figure 6(c)", Verdict.HOLDS_AMENDED)
def case_placement(_context: Context) -> Finding:
    """FirstFit and LoadBalance place j8 so that j9 cannot start; others hardly find the best either.

    An instance as told, played by baselines and two heuristics of ours. Amended: the baselines do not.
    """
    instance, opening = figure_6c()
    theirs = (*HEURISTICS[:5], "mosa", "malo")
    played = {"as printed": (FifoFirstFit(), [*opening, [(2, k, 1) for k in (4, 5, 6, 7)]])}
    played |= {name: (POLICIES[name](), opening) for name in (*theirs, *HEURISTICS[5:])}
    rows = []
    for name, (policy, first) in played.items():
        s = schedule_by(policy, instance, first)
        where = ", ".join(map(str, s.of_job(2)[:, 0].tolist()))
        waits = float(s.start[3] - instance.jobs.submit[3]) / TICKS / MINUTE
        rows.append((name, where, waits, float(instance.completion_times(s)[2:].sum()) / MINUTE))
    blocked = {name: waits > 0.0 for name, _, waits, _ in rows}
    free = [name for name in HEURISTICS if not blocked[name]]
    named = not blocked["as printed"] and all(blocked[name] for name in theirs)
    least = float(instance.jobs.duration[2:].sum()) / TICKS / MINUTE
    heads = "policy | machines of j8 | j9 waits (min) | JCT of j8 and j9 (min)"
    return finding(
        amended_if(named and not free, named, Verdict.UNDETERMINED),
        f"FirstFit, LoadBalance, Tetris, MOSA and MALO block j9; only {len(free)} heuristics of ours find "
        "the best choice, though they model no similarity either.",
        {"optimum of both JCTs (min)": least},
        table("The case of Figure 6(c), after j6 and j7 have been placed", heads, rows),
        counterexample=instance,
        assumes="Built as the text tells it, with GPUs, cores and durations of our own. DL2 and RIFLING are "
        "not played.",
    )


def case_6a() -> dict[str, tuple[PlacementInstance, Opening, int, int]]:
    """Return cases after Figure 6(a), each with its opening and the places of the two jobs in the queue.

    The first needs 7 GPUs on each of 8 machines, of which one is in use on the busy cluster, as told, and
    none on the empty one; the other fits. Turned, the job that fits is the older one.
    """
    blocked, fitting = (1, 60, 8, 7, 8), (1, 60, 1, 1, 8)
    cases: dict[str, tuple[PlacementInstance, Opening, int, int]] = {}
    for name, first in (("busy", [(0, 60, 1, 2, 8)]), ("empty", [])):
        opening = [[(0, 0, 1)]] if first else []
        made = eight_machines([*first, blocked, fitting], f"after Figure 6(a), {name}")
        turned = eight_machines([*first, fitting, blocked], f"after Figure 6(a), {name}, turned")
        cases |= {name: (made, opening, 0, 1), f"{name}, turned": (turned, opening, 1, 0)}
    return cases


@claim(
    "case-ordering",
    "Sec. 5.5, Figure 6(a)",
    turns=("held back", "passed over"),
    choices=("whether a job that does not fit is passed over, or holds back all others",),
)
def case_ordering(_context: Context) -> Finding:
    """That the job which fits gets the highest priority shows that the ordering agent decides well.

    What starts with either order: if that is the same, the order shows nothing.
    """
    instance, opening, *_ = case_6a()["busy"]
    _, (seen, _) = islice(moves(FifoFirstFit(), instance, opening), 2)
    rows = []
    for rule, strict in (("passed over", False), ("held back", True)):
        for first in (1, 2):
            started = place(seen, 1.0 * (seen.jobs == first), np.zeros((2, 8)), strict=strict)
            names = [f"j{job}" for job in np.unique(started[:, 0])]
            rows.append((rule, f"j{first} first", ", ".join(names) or "none"))
    signs = {rule: len({what for one, _, what in rows if one == rule}) > 1 for rule, *_ in rows}
    verdict = holds_if(any(signs.values()), Verdict.VACUOUS)
    return finding(
        verdict if len({*signs.values()}) == 1 else Verdict.UNDETERMINED,
        "j1 cannot start; where such a job is passed over, j2 starts whatever the priorities are.",
        table("Jobs that start", "a job that does not fit is | order | start", rows),
        signs={"the order decides what starts": signs},
        assumes="j1 needs 7 GPUs on each of the 8 machines, of which one has 6 free.",
    )
