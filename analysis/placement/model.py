"""Claims about the model and its definitions, and arithmetic on the numbers that the paper prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...models.base import Origin
from ...models.placement import kernels
from ...models.placement.generate import gang_law, generate
from ...models.placement.instance import PRICE, WINDOW, PlacementInstance, taken_schedule
from ...models.placement.jobs import TICKS
from ...models.placement.placing import place
from ...models.placement.schedule import Schedule
from ...models.placement.setting import Observation, Setting
from ...online.base import Policy, Traits
from ...online.placement import (
    DrfFirstFit,
    DrfLoadBalance,
    FifoConsolidate,
    FifoFirstFit,
    FifoLoadBalance,
    SjfConsolidate,
    Tetris,
)
from ...oracles.base import Budget, WhyStopped
from ...oracles.placement.exact import by_branch_and_bound
from ..claim import Claim, Context, Finding, Table, Verdict, amended_if, holds_if
from ..experiments import curves, seeds, spread, track
from .theory import LEVELS, MINUTE, by_keys, cluster, every_end, schedule_by, small_instance


class Row(NamedTuple):
    """A row of Table 1: JCT in minutes and fee in dollars on three clusters, and their printed averages."""

    kind: str
    jct: tuple[float, float, float]
    fee: tuple[float, float, float]
    average: tuple[float, float]


def _row(kind: str, *printed: float) -> Row:
    s_jct, s_fee, m_jct, m_fee, l_jct, l_fee, jct, fee = printed
    return Row(kind, (s_jct, m_jct, l_jct), (s_fee, m_fee, l_fee), (jct, fee))


TABLE_1 = {
    "FIFO-FirstFit": _row("heuristic", 720.228, 51.685, 171.282, 51.684, 110.316, 51.219, 333.942, 51.529),
    "FIFO-LoadBalance": _row("heuristic", 715.776, 51.559, 162.102, 50.9, 112.29, 51.112, 330.054, 51.189),
    "DRF-FirstFit": _row("heuristic", 862.242, 52.055, 164.778, 51.354, 109.098, 52.325, 378.708, 51.911),
    "DRF-LoadBalance": _row("heuristic", 852.984, 51.798, 173.106, 51.908, 113.556, 51.924, 379.884, 51.877),
    "Tetris": _row("heuristic", 813.48, 51.668, 176.688, 52.567, 113.364, 53.109, 367.842, 52.448),
    "MALO": _row("metaheuristic", 708.858, 51.675, 182.862, 51.129, 111.66, 51.233, 334.458, 51.346),
    "MOSA": _row("metaheuristic", 759.222, 51.783, 173.4, 51.998, 109.422, 51.933, 347.346, 51.905),
    "DL2": _row("learned", 721.083, 51.166, 160.1, 50.97, 110.215, 51.08, 330.468, 51.072),
    "RIFLING": _row("learned", 717.576, 51.16, 176.676, 50.98, 109.872, 51.039, 334.708, 51.06),
    "DA": _row("ours", 697.732, 51.106, 173.354, 51.097, 108.821, 51.025, 326.636, 51.076),
    "DA+MC": _row("ours", 680.861, 50.952, 163.456, 50.941, 109.854, 50.701, 318.057, 50.865),
    "DA+RWGP": _row("ours", 686.894, 51.029, 157.071, 50.856, 107.896, 50.439, 317.287, 50.684),
    "DAS": _row("ours", 638.046, 50.484, 155.003, 50.019, 108.7, 50.354, 300.584, 50.286),
}
"""Table 1."""

CLUSTERS = ("Small", "Medium", "Large")
GPUS = (64, 128, 256)
BASELINES = tuple(name for name, row in TABLE_1.items() if row.kind != "ours")

TEST_JOBS = 4000
"""A fifth of 20,000 jobs (Sec. 5.1.2)."""

DAILY_JOBS = 17_000
"""Jobs per day of the production cluster (Sec. 5.2)."""

PAI_GPUS = 6742
"""GPUs of that cluster, by its published list of machines (``pai_machine_spec``)."""

SUBSAMPLE = (20_000, 24.8)
"""The first rows of the published 8.2 % sub-sample of its tasks, and the days over which they arrive."""

SUBSAMPLE_MEANS = (7.98, 92.1)
"""GPU-hours, and minutes of duration, of a task in these rows, those of more than 64 GPUs left out.

A part of a GPU counts as one, so the GPU-hours are if anything too many.
"""

P_VALUES = {"JCT": (0.0002, 0.0006, 0.04911), "fee": (0.0588, 0.0570, 0.0792)}
"""Table 3: DAS against RIFLING on the Small, Medium and Large cluster."""


def column(metric: str, where: int | None) -> dict[str, float]:
    """Return a column of Table 1: "jct" or "fee" on a cluster by its number, ``None`` for the average."""
    which = ("jct", "fee").index(metric)
    return {
        name: row.average[which] if where is None else (row.jct, row.fee)[which][where]
        for name, row in TABLE_1.items()
    }


COLUMNS = {**{name: k for k, name in enumerate(CLUSTERS)}, "average": None}
"""Where the columns of Table 1 are, by name."""


# Sec. 3: definitions


def _check_definitions(context: Context) -> Finding:
    wrong = {"fee": 0, "JCT": 0, "gang": 0, "epoch": 0}
    count = 0
    for level in LEVELS:
        for seed in track(context, seeds(context, 3, 5, 60)):
            instance = small_instance(seed, level)
            for number, (end, _) in enumerate(every_end(instance)):
                if number % 50:
                    continue
                s = taken_schedule(end)
                count += 1
                for name, broken in definitions_broken(instance, s).items():
                    wrong[name] += broken
    return Finding(
        holds_if(not any(wrong.values())),
        f"In {count} schedules of small instances the fee of every job is p C n d and its JCT the time from "
        "submission to end, worked out job by job; all instances of a job run at once, to its end; and "
        "every start is at an arrival or an end of a job.",
        {"schedules": count, **{f"jobs with a wrong {name}": value for name, value in wrong.items()}},
    )


def definitions_broken(instance: PlacementInstance, schedule: Schedule) -> dict[str, int]:
    """Return how many jobs of a schedule break the definitions of Sec. 3, each worked out job by job."""
    jobs, broken = instance.jobs, dict.fromkeys(("fee", "JCT", "gang", "epoch"), 0)
    events = {*jobs.submit.tolist(), *schedule.finish.tolist()}
    fees, times = instance.fees(schedule), instance.completion_times(schedule)
    for i in range(len(jobs)):
        start, finish = int(schedule.start[i]), int(schedule.finish[i])
        gpus = int(jobs.instances[i]) * int(jobs.need[i, 0])
        fee = instance.setting.price * gpus * (finish - start) / (3600 * TICKS)
        broken["fee"] += bool(abs(fees[i] - fee) > 1e-12)
        broken["JCT"] += bool(times[i] != (finish - int(jobs.submit[i])) / TICKS)
        broken["gang"] += int(schedule.of_job(i)[:, 1].sum()) != int(jobs.instances[i])
        broken["epoch"] += start not in events
    return broken


def _check_sums(_context: Context) -> Finding:
    value = TABLE_1["DAS"].jct[0]
    printed, meant = ((TEST_JOBS + more) * value / TEST_JOBS for more in (1, 0))
    return Finding(
        amended_if(printed == value, meant == value),
        "A sum from 0 to |J| has |J| + 1 terms, one from 0 to N' in (3) has N' + 1, over |J| and N'. If all "
        f"of {TEST_JOBS} jobs took {value:g} min, the printed mean would be {printed:.3f}; in (3) with "
        "N' = 1 it would be twice the value. As many terms as the divisor are meant.",
        {"mean of equal values as printed (min)": printed, "the value (min)": value},
    )


def slowed(gpus: int, eta: float) -> float:
    """Return by how much a job is slowed down beside jobs on all other GPUs of its machine, simulated."""
    rows = [(0.0, 60.0, 1, 1), *[(0.0, 600.0, 1, 1)] * (gpus - 1)]
    instance = cluster(1, gpus, rows, (0.0, eta), origin="a full machine")
    s = schedule_by(FifoFirstFit(), instance)
    return float(s.finish[0] / instance.jobs.duration[0])


def figure_1(eta: float) -> PlacementInstance:
    """Return a job beside two light ones on 4 GPUs, and a heavy one that comes later (cf. Figure 1)."""
    machine = {"gpus": 4, "cpus": 0, "memory": 0}
    rows = [(0.0, 180.0, 1.0), (0.0, 600.0, 0.25), (0.0, 600.0, 0.25), (60.0, 600.0, 1.0)]
    return PlacementInstance(
        machines=[machine],
        jobs=[
            {
                "submit": MINUTE * at,
                "duration": MINUTE * takes,
                "instances": 1,
                "gpus": 1,
                "cpus": 0,
                "memory": 0,
                "intensity": beta,
            }
            for at, takes, beta in rows
        ],
        slowdown={"communication": 0, "contention": eta},
        origin=Origin("a job beside two light ones, and a heavy one that comes an hour later"),
    )


def _check_twofold(_context: Context) -> Finding:
    lines = []
    for gpus in (4, 8):
        for eta in (0.5, 1.0):
            found, formula = slowed(gpus, eta), 1.0 + eta * (gpus - 1) / gpus
            if abs(found - formula) > 1e-5:
                raise RuntimeError(
                    f"{gpus} GPUs, eta {eta:g}: slowed down by {found}, but should be by {formula}"
                )
            lines.append((gpus, eta, found, formula))
    late = figure_1(1.0)
    took = float(late.completion_times(schedule_by(FifoFirstFit(), late))[0]) / MINUTE
    return Finding(
        Verdict.NOT_CHECKABLE,
        "How much real jobs slow each other down is a measurement; no trace here has it. In our model a job "
        f"on one of four GPUs, as in Figure 1, takes at most {lines[1][2]:.4g} times as long with eta = 1 "
        f"({lines[0][2]:.4g} with our default of 0.5), on one of eight GPUs {lines[3][2]:.4g} times: eta = 1 "
        "is what comes near twofold. A job of 3 h beside two light ones, which a heavy one joins after an "
        f"hour, takes {took / 60:.3g} h; nobody could have told when it started.",
        {
            "four GPUs, eta = 1": lines[1][2],
            "eight GPUs, eta = 1": lines[3][2],
            "Figure 1, job of 180 min, takes (min)": took,
        },
        tables=(
            Table(
                "Slowdown of a job on one GPU of a full machine, all intensities 1",
                ("GPUs", "eta", "simulated", "1 + eta (G - 1) / G"),
                tuple(lines),
            ),
        ),
    )


# NP-hardness


def packing(sizes: Sequence[int]) -> PlacementInstance:
    """Return jobs of one second, one for each number and with as many GPUs, and two machines of half the sum.

    All of them run at once, and take one second each in the system, if and only if the numbers can be split
    into two parts of equal sum.
    """
    half = sum(sizes) // 2
    job = {"submit": 0, "duration": 1, "instances": 1, "cpus": 0, "memory": 0}
    return PlacementInstance(
        machines=[{"gpus": half, "cpus": 0, "memory": 0}] * 2,
        jobs=[job | {"gpus": size} for size in sizes],
        origin=Origin(f"partition of {', '.join(map(str, sizes))}"),
    )


def can_be_split(sizes: Sequence[int]) -> bool:
    """Return whether numbers can be split into two parts of equal sum, by enumeration."""
    half, rest = divmod(sum(sizes), 2)
    parts = (sum(part) for r in range(len(sizes) + 1) for part in combinations(sizes, r))
    return rest == 0 and half in parts


def number_sets(largest: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield all sets (with repetition) of 2 to ``most`` numbers that no single number splits by its size."""
    for count in range(2, most + 1):
        for sizes in combinations_with_replacement(range(1, largest + 1), count):
            if sum(sizes) % 2 == 0 and 2 * max(sizes) <= sum(sizes):
                yield sizes


def _check_np_hard(context: Context) -> Finding:
    sets = list(number_sets(*context.pick((4, 4), (5, 5), (6, 6))))
    agree = possible = 0
    for sizes in track(context, sets):
        instance = packing(sizes)
        found = by_branch_and_bound(instance, Budget(0.0, None))
        if found.schedule is None or found.why_stopped is not WhyStopped.PROVED:
            raise RuntimeError(f"{sizes}: {found.method} proved nothing")
        at_once = instance.cost(found.schedule) == len(sizes)
        agree += at_once == can_be_split(sizes)
        possible += can_be_split(sizes)
    return Finding(
        holds_if(agree == len(sets)),
        "Jobs of one second with a_i GPUs, and two machines of half the sum: the sum of JCT is n seconds if "
        "and only if the a_i can be split into two equal sums, which is NP-hard to tell. So is the offline "
        "problem, without contention, communication or gangs; with M machines strongly so (3-partition). "
        f"On all {len(sets)} sets of small numbers ({possible} can be split) the optimum agreed with "
        f"enumeration in {agree}.",
        {"sets of numbers": len(sets), "can be split": possible, "optimum agrees": agree},
    )


# The window N


def backfill() -> PlacementInstance:
    """Return three jobs of which the third can start at once, if it is among those that are looked at."""
    rows = [(0.0, 10.0, 1, 1), (0.0, 10.0, 1, 2), (0.0, 10.0, 1, 1)]
    return cluster(1, 2, rows, origin="the third job fits beside the first one, the second does not")


def _check_window(context: Context) -> Finding:
    sizes = context.pick((2, 8, 64), (2, 8, 24, 64, 256), (2, 8, 24, 64, 256, 512))
    jobs = context.pick(150, 400, 800)
    sampled = [generate("default", seed, jobs=jobs, rho=4.0) for seed in seeds(context, 3, 12, 20)]
    rules = {"FIFO-FirstFit": kernels.FIRST_FIT, "FIFO-Consolidate": kernels.CONSOLIDATE}
    found: dict[str, np.ndarray] = {}
    for name, rule in rules.items():
        table = np.empty((len(sampled), len(sizes)))
        for row, i in enumerate(track(context, sampled)):
            order = np.arange(jobs)
            all_of_them = i.completion_times(by_keys(i, order, rule, jobs)).mean()
            for c, window in enumerate(sizes):
                table[row, c] = i.completion_times(by_keys(i, order, rule, window)).mean() / all_of_them
        found[name] = table
    tiny = backfill()
    pair = [float(tiny.completion_times(by_keys(tiny, np.arange(3), window=w)).sum()) / 60 for w in (1, 3)]
    least = {name: table[:, 0] for name, table in found.items()}
    usual = max(float(table[:, sizes.index(WINDOW)].mean()) for table in found.values())
    return Finding(
        holds_if(pair[0] != pair[1]),
        "Three jobs, two GPUs: the JCT of FIFO adds up to "
        f"{pair[0]:g} min if one pending job is looked at, to {pair[1]:g} if all are. On generated workloads "
        f"(rho = 4) the mean JCT with N = {sizes[0]} is {spread(least['FIFO-FirstFit'], 2)} times "
        f"(FIFO-FirstFit) and {spread(least['FIFO-Consolidate'], 2)} times (FIFO-Consolidate) that with "
        f"all, with N = 64 {usual:.3g} times at most. We take the oldest 64, the same for every policy.",
        {
            "three jobs: N = 1 (min)": pair[0],
            "three jobs: all (min)": pair[1],
            "workloads": len(sampled),
            **{
                f"{name}: JCT with N = {w} / with all, mean": float(t[:, c].mean())
                for name, t in found.items()
                for c, w in enumerate(sizes)
            },
        },
        figures=(
            curves(
                "window",
                "Mean JCT if only the N oldest pending jobs may start, relative to all of them.",
                np.array(sizes, dtype=np.float64),
                {"mean JCT / with all pending jobs": found},
                "N (jobs)",
                log="x",
                problem="placement",
                note=f"{len(sampled)} generated workloads of {jobs} jobs, rho = 4",
            ),
        ),
        counterexample=tiny,
    )


# Sec. 5.5, Figure 6


@dataclass
class Opening:
    """Carries out given decisions first and then follows a policy.

    Parameters
    ----------
    policy
        Whom to follow.
    first
        The decisions to begin with, rows (job, machine, count).
    """

    policy: Policy
    first: Sequence[Sequence[tuple[int, int, int]]]
    name: str = field(default="opening", init=False)
    traits: ClassVar[Traits] = Traits(problem="placement", sees=frozenset({"durations"}))

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Begin again."""
        self.policy.start(setting, rng)
        self._left = [np.array(rows, dtype=np.int64).reshape(-1, 3) for rows in self.first]

    def decide(self, observation: Observation) -> Any:
        """Return the next given decision, or the policy's."""
        return self._left.pop(0) if self._left else self.policy.decide(observation)


def eight_machines(jobs: Sequence[tuple[float, float, int, int, float]], origin: str) -> PlacementInstance:
    """Return the Small cluster without any slowdown; rows are submit and duration in min, C, GPUs, cores."""
    names = ("submit", "duration", "instances", "gpus", "cpus")
    return PlacementInstance(
        machines=[{"gpus": 8, "cpus": 96, "memory": 512}] * 8,
        jobs=[
            dict(zip(names, (MINUTE * submit, MINUTE * takes, *rest), strict=True)) | {"memory": 8}
            for submit, takes, *rest in jobs
        ],
        origin=Origin(origin),
    )


def figure_6c() -> tuple[PlacementInstance, list[list[tuple[int, int, int]]]]:
    """Return an instance as Figure 6(c) is told, and how it begins: j6 on machine 7, j7 on machine 3.

    j6 takes more cores than j7; j8 comes a minute later and needs few cores, j9 another minute later and
    needs so many that machine 7 has none for it. Either takes more than half of a machine's GPUs for each of
    its four instances.
    """
    jobs = [
        (0.0, 600.0, 1, 2, 64.0),
        (0.0, 600.0, 1, 2, 16.0),
        (1.0, 60.0, 4, 5, 16.0),
        (2.0, 60.0, 4, 6, 80.0),
    ]
    note = "after Figure 6(c): j6 on machine 7, j7 on machine 3, then j8 and the CPU-intensive j9"
    return eight_machines(jobs, note), [[(0, 7, 1), (1, 3, 1)]]


OTHERS: tuple[Callable[[], Policy], ...] = (
    *(FifoFirstFit, FifoLoadBalance, DrfFirstFit, DrfLoadBalance, Tetris),
    *(FifoConsolidate, SjfConsolidate),
)


def _check_figure_6c(_context: Context) -> Finding:
    instance, opening = figure_6c()
    lines = []
    least = float(instance.jobs.duration[2:].sum()) / TICKS / MINUTE
    printed = [*opening, [(2, k, 1) for k in (4, 5, 6, 7)]]
    for policy, first in ((FifoFirstFit(), printed), *((make(), opening) for make in OTHERS)):
        s = schedule_by(Opening(policy, first), instance)
        where = ", ".join(map(str, s.of_job(2)[:, 0].tolist()))
        waits = float(s.start[3] - instance.jobs.submit[3]) / TICKS / MINUTE
        jct = float(instance.completion_times(s)[2:].sum()) / MINUTE
        lines.append(("as printed" if first is printed else policy.name, where, waits, jct))
    blocked = {name: waits > 0.0 for name, _, waits, _ in lines[1:]}
    named = ("fifo-firstfit", "fifo-loadbalance", "drf-firstfit", "drf-loadbalance")
    free = [name for name, is_blocked in blocked.items() if not is_blocked]
    return Finding(
        amended_if(
            all(blocked.values()) and not lines[0][2],
            all(blocked[name] for name in named) and not lines[0][2],
        ),
        "Built as the text tells it, with numbers of our own: FirstFit puts j8 on machines "
        f"{lines[1][1]}, LoadBalance on {lines[2][1]}, as printed, and j9 waits {lines[1][2]:g} min until j8 "
        f"is done. The paper's choice lets it start at once. So do {' and '.join(free)}, which reach the "
        f"optimum, {least:g} min of JCT of both jobs, by filling machines that are in use first, without any "
        "model of similarity or uncertainty.",
        {
            "as printed: j9 waits (min)": lines[0][2],
            "policies that block j9": sum(blocked.values()),
            "policies that do not": len(free),
            "optimum of both JCTs (min)": least,
        },
        tables=(
            Table(
                "The case of Figure 6(c), after j6 and j7 have been placed",
                ("policy", "machines of j8", "j9 waits (min)", "JCT of j8 and j9 (min)"),
                tuple(lines),
            ),
        ),
        counterexample=instance,
    )


def figure_6a() -> tuple[PlacementInstance, list[list[tuple[int, int, int]]]]:
    """Return an instance as Figure 6(a) is told: j1 needs 7 GPUs on each of 8 machines, one is in use."""
    jobs = [(0.0, 60.0, 1, 2, 8.0), (1.0, 60.0, 8, 7, 8.0), (1.0, 60.0, 1, 1, 8.0)]
    return eight_machines(jobs, "after Figure 6(a): j1 cannot start, j2 can"), [[(0, 0, 1)]]


def _check_figure_6a(_context: Context) -> Finding:
    instance, opening = figure_6a()
    episode = instance.episode(frozenset())
    starts: dict[tuple[bool, int], list[int]] = {}
    for step, observation in enumerate(episode):
        if step == 0:
            episode.apply(opening[0])
            continue
        for strict in (False, True):
            for first in (1, 2):
                rows = place(observation, 1.0 * (observation.jobs == first), np.zeros((2, 8)), strict=strict)
                starts[strict, first] = sorted(set(rows[:, 0].tolist()))
        break
    same = starts[False, 1] == starts[False, 2]
    return Finding(
        Verdict.VACUOUS if same else Verdict.HOLDS,
        "j1 needs 7 GPUs on each of the 8 machines, and cannot start while anyone has two GPUs of one. If a "
        "job that does not fit is passed over, j2 starts whatever the priorities are: first in first out "
        "does the same, and the priority of 0.69 decides nothing. It matters only if such a job holds back "
        f"all others: with j1 first {len(starts[True, 1])} jobs start then, with j2 first "
        f"{len(starts[True, 2])}. The paper does not say which.",
        {
            "passed over: both orders start the same": same,
            "held back: jobs that start with j1 first": len(starts[True, 1]),
            "held back: jobs that start with j2 first": len(starts[True, 2]),
        },
    )


# Table 1


def _check_averages(_context: Context) -> Finding:
    lines: list[tuple[Any, ...]] = []
    for name, row in TABLE_1.items():
        for metric, values, printed in zip(("JCT", "fee"), (row.jct, row.fee), row.average, strict=True):
            exact = float(np.mean(values))
            lines.append((name, metric, printed, exact, printed - exact))
    off = [line for line in lines if abs(line[4]) > 0.0025]
    far = max(lines, key=lambda line: abs(line[4]))
    rest = max(abs(line[4]) for line in lines if line not in off)
    return Finding(
        holds_if(not off),
        f"{len(lines) - len(off)} of {len(lines)} averages are those of the three clusters, to {rest:.2g}. "
        f"The {far[1]} of {far[0]} is not: {far[2]:g} is printed, {far[3]:.3f} is the average of the "
        "row.",
        {"averages": len(lines), "wrong": len(off), "largest difference": far[4]},
        tables=(
            Table(
                "Averages of Table 1 that are off by more than 0.0025",
                ("scheduler", "metric", "printed", "of the row", "difference"),
                tuple(off),
            ),
        )
        if off
        else (),
    )


def _check_das_best(_context: Context) -> Finding:
    lines: list[tuple[Any, ...]] = []
    for metric in ("jct", "fee"):
        for k, name in enumerate(CLUSTERS):
            values = column(metric, k)
            best = min(BASELINES, key=values.__getitem__)
            lines.append(
                (name, metric, best, values[best], values["DAS"], 100 * (1 - values["DAS"] / values[best]))
            )
    wins = sum(line[5] > 0 for line in lines)
    large = column("jct", 2)
    return Finding(
        holds_if(wins == len(lines)),
        f"DAS has the least printed value in {wins} of {len(lines)} columns beside the nine baselines; on "
        f"the Large cluster by {lines[2][5]:.2g} % of JCT. Its own variant DA+RWGP has a smaller JCT there, "
        f"{large['DA+RWGP']} against {large['DAS']}. No spread is printed, so "
        "how much of this is chance cannot be seen.",
        {"columns": len(lines), "DAS is best of the ten": wins, "least lead (%)": min(x[5] for x in lines)},
        tables=(
            Table(
                "DAS beside the best of the nine baselines in every column",
                ("cluster", "metric", "best baseline", "its value", "DAS", "lead (%)"),
                tuple(lines),
            ),
        ),
    )


def _check_best_learned(_context: Context) -> Finding:
    jct = column("jct", None)
    learned = {name: jct[name] - jct["DAS"] for name, row in TABLE_1.items() if row.kind == "learned"}
    closest = min(BASELINES, key=lambda name: jct[name])
    least = min(learned.values())
    return Finding(
        amended_if(round(least) >= 34, round(learned["RIFLING"]) >= 34),
        f"34 minutes is the distance to RIFLING ({learned['RIFLING']:.1f}), which has the larger JCT of the "
        f"two learned baselines. To DL2, the other one, it is {learned['DL2']:.1f}, and to the best "
        f"baseline, {closest}, a heuristic, {jct[closest] - jct['DAS']:.1f} min. Nearly all of it comes from "
        f"the Small cluster ({TABLE_1['RIFLING'].jct[0] - TABLE_1['DAS'].jct[0]:.1f} min there, "
        f"{TABLE_1['RIFLING'].jct[2] - TABLE_1['DAS'].jct[2]:.2g} on the Large one).",
        {
            **{f"JCT less than {name} by (min)": value for name, value in learned.items()},
            f"JCT less than {closest} by (min)": jct[closest] - jct["DAS"],
        },
    )


def _check_daily_saving(_context: Context) -> Finding:
    fee = column("fee", None)
    saving = fee["RIFLING"] - fee["DAS"]
    printed = saving * DAILY_JOBS
    gpu_hours = fee["RIFLING"] / PRICE * DAILY_JOBS
    share = saving / fee["RIFLING"]
    most = share * PAI_GPUS * 24 * PRICE
    return Finding(
        amended_if(most > 10_000.0, printed > 10_000.0),
        f"{saving:.3f} dollars for each of {DAILY_JOBS:,} jobs are {printed:,.0f} dollars a day. But jobs of "
        f"{fee['RIFLING']:.2f} dollars take {fee['RIFLING'] / PRICE:.1f} GPU-hours, so that many need "
        f"{gpu_hours / 24:,.0f} GPUs all day long; the cluster has {PAI_GPUS:,} of all kinds. If all "
        f"are always paid for at this price, {100 * share:.2f} % of it are {most:,.0f} dollars.",
        {
            "saving a day as printed ($)": printed,
            "GPUs that so many jobs need": gpu_hours / 24,
            "GPUs of the cluster": PAI_GPUS,
            "saving a day if all GPUs are always in use ($)": most,
        },
    )


def _check_load(_context: Context) -> Finding:
    hours = column("fee", None)["DAS"] / PRICE
    rates = {"17,000 a day": float(DAILY_JOBS), "8.2 % sub-sample": SUBSAMPLE[0] / SUBSAMPLE[1]}
    lines: list[tuple[Any, ...]] = []
    for name, gpus in zip(CLUSTERS, GPUS, strict=True):
        days = TEST_JOBS * hours / gpus / 24
        loads = [rate * hours / 24 / gpus for rate in rates.values()]
        lines.append((name, gpus, days, TEST_JOBS / days, *loads))
    arrive = TEST_JOBS / DAILY_JOBS * 24
    gpu_hours, minutes = SUBSAMPLE_MEANS
    jct = TABLE_1["DAS"].jct[2]
    return Finding(
        holds_if(min(lines[-1][4:]) <= 1.0),
        f"The fees mean {hours:.1f} GPU-hours a job, {lines[0][2]:.0f} days of all 64 GPUs for {TEST_JOBS:,} "
        f"jobs and {lines[2][2]:.0f} days of all 256. At {DAILY_JOBS:,} jobs a day they are all there after "
        f"{arrive:.1f} h: {lines[0][4]:.0f} times what the Small cluster can do, {lines[2][4]:.0f} times the "
        f"Large one. But the printed mean JCT there is {jct:.0f} min, little more than the mean duration of "
        f"{minutes:.0f} min of jobs of up to 64 GPUs in the published sub-sample of 8.2 %: that of a nearly "
        f"empty cluster. A load below 1 on Small needs at most {lines[0][3]:.0f} jobs a day; even the "
        f"sub-sample comes {lines[0][5]:.1f} times too fast. And its jobs take {gpu_hours:.1f} GPU-hours on "
        f"average, {gpu_hours * PRICE:.0f} dollars. So rate and jobs were others; the load is a parameter "
        "here.",
        {
            "GPU-hours per job": hours,
            "days of the Small cluster": lines[0][2],
            "load of the Small cluster at the printed rate": lines[0][4],
            "load of the Large cluster at the printed rate": lines[2][4],
            "most jobs a day for a load below 1, Small": lines[0][3],
            "GPU-hours per job, sub-sample": gpu_hours,
        },
        tables=(
            Table(
                "The work of 4,000 jobs at the fee of DAS, 2.84 dollars per GPU-hour",
                (
                    *("cluster", "GPUs", "days of work", "jobs a day at load 1"),
                    *(f"load at {name}" for name in rates),
                ),
                tuple(lines),
            ),
        ),
    )


def _check_improvement(_context: Context) -> Finding:
    lines: list[tuple[Any, ...]] = []
    for name in BASELINES:
        mine, das = TABLE_1[name].jct, TABLE_1["DAS"].jct
        minutes = [a - b for a, b in zip(mine, das, strict=True)]
        lines.append((name, *(100 * m / a for m, a in zip(minutes, mine, strict=True)), *minutes))
    relative, absolute = (
        [line[0] for line in lines if not line[at] > line[at + 1] > line[at + 2]] for at in (1, 4)
    )
    rifling = next(line for line in lines if line[0] == "RIFLING")
    return Finding(
        amended_if(not relative, not absolute),
        "In minutes the lead in JCT over each of the nine baselines falls from Small to Medium to Large. In "
        f"per cent it does not: over RIFLING it is {rifling[1]:.1f}, {rifling[2]:.1f}, {rifling[3]:.1f} %. "
        f"It does not fall over {len(relative)} baselines: {', '.join(relative)}.",
        {"baselines": len(lines), "not falling (%)": len(relative), "not falling (min)": len(absolute)},
        tables=(
            Table(
                "By how much the JCT of DAS is below that of a baseline",
                (
                    *("baseline", "Small (%)", "Medium (%)", "Large (%)"),
                    *("Small (min)", "Medium (min)", "Large (min)"),
                ),
                tuple(lines),
            ),
        ),
    )


def _check_categories(_context: Context) -> Finding:
    kinds = ("heuristic", "metaheuristic", "learned")
    groups = {kind: [row.average for row in TABLE_1.values() if row.kind == kind] for kind in kinds}
    lines: list[tuple[Any, ...]] = [
        (kind, len(rows), *(float(f([r[m] for r in rows])) for m in (0, 1) for f in (min, np.mean, max)))
        for kind, rows in groups.items()
    ]
    pairs = list(zip(kinds[1:], kinds[:-1], strict=True))
    each = all(max(r[m] for r in groups[a]) < min(r[m] for r in groups[b]) for a, b in pairs for m in (0, 1))
    means = all(
        np.mean([r[m] for r in groups[a]]) < np.mean([r[m] for r in groups[b]])
        for a, b in pairs
        for m in (0, 1)
    )
    balance, others = TABLE_1["FIFO-LoadBalance"].average, ("MALO", "MOSA")
    beaten = [n for n in others if balance[0] < TABLE_1[n].average[0] and balance[1] < TABLE_1[n].average[1]]
    return Finding(
        amended_if(each, means),
        "The means of the three groups are in this order, in JCT and in fee. Scheduler by scheduler they are "
        f"not: FIFO-LoadBalance, a heuristic, has the least average JCT of all baselines ({balance[0]}), and "
        f"is better than {' and '.join(beaten)} in both. The heuristics with more JCT "
        "than both are those that are not first in first out.",
        {
            "mean JCT, heuristics (min)": lines[0][3],
            "mean JCT, metaheuristics (min)": lines[1][3],
            "mean JCT, learned (min)": lines[2][3],
            "metaheuristics worse in both than FIFO-LoadBalance": len(beaten),
        },
        tables=(
            Table(
                "Averages of Table 1 by group",
                (
                    *("group", "schedulers", "JCT, least", "JCT, mean", "JCT, largest"),
                    *("fee, least", "fee, mean", "fee, largest"),
                ),
                tuple(lines),
            ),
        ),
    )


def _check_rifling(_context: Context) -> Finding:
    names, places = list(COLUMNS), list(COLUMNS.values())
    lowest = [min(BASELINES, key=column("fee", w).__getitem__) for w in places]
    longer = [column("jct", w)["RIFLING"] > column("jct", w)["DL2"] for w in places]
    shorter = [name for name, more in zip(names, longer, strict=True) if not more]
    return Finding(
        amended_if(set(lowest) == {"RIFLING"} and all(longer), lowest[-1] == "RIFLING" and longer[-1]),
        "On average it is so: RIFLING has the least fee of the baselines (by "
        f"{column('fee', None)['DL2'] - column('fee', None)['RIFLING']:.3f} dollars) and more JCT "
        f"than DL2. Cluster by cluster it is not: the least fee on {names[1]} is that of {lowest[1]}, and "
        f"RIFLING's JCT is below DL2's on {' and '.join(shorter)}.",
        {
            "columns in which RIFLING has the least fee": lowest.count("RIFLING"),
            "more JCT than DL2": sum(longer),
        },
        tables=(
            Table(
                "Baselines in Table 1",
                ("cluster", "least fee", "JCT of RIFLING (min)", "JCT of DL2 (min)"),
                tuple(
                    (n, low, column("jct", w)["RIFLING"], column("jct", w)["DL2"])
                    for n, w, low in zip(names, places, lowest, strict=True)
                ),
            ),
        ),
    )


def _check_ablation(_context: Context) -> Finding:
    steps = (("DA", "DA+MC"), ("DA", "DA+RWGP"), ("DA+MC", "DAS"), ("DA+RWGP", "DAS"))
    lines: list[tuple[Any, ...]] = []
    for less, more in steps:
        gains = [column(m, w)[less] - column(m, w)[more] for w in (0, 1, 2) for m in ("jct", "fee")]
        row = TABLE_1[less], TABLE_1[more]
        mean = [float(np.mean(getattr(row[0], m)) - np.mean(getattr(row[1], m))) for m in ("jct", "fee")]
        lines.append((f"{less} to {more}", *gains, *mean))
    worse = [line[0] for line in lines if min(line[1:7]) <= 0]
    return Finding(
        amended_if(not worse, all(min(line[7:]) > 0 for line in lines)),
        "On average over the clusters each module lowers both numbers. Column by column "
        f"{len(worse)} of {len(lines)} steps do not: {', '.join(worse)}, both in JCT on the Large cluster "
        f"(by {-lines[0][5]:.2f} and {-lines[3][5]:.2f} min). No spread over seeds is printed.",
        {"steps": len(lines), "steps with a column that gets worse": len(worse)},
        tables=(
            Table(
                "What adding a module gains (JCT in min, fee in $)",
                (
                    *("step", "Small JCT", "Small fee", "Medium JCT", "Medium fee", "Large JCT", "Large fee"),
                    *("mean JCT", "mean fee"),
                ),
                tuple(lines),
            ),
        ),
    )


def _check_dual_agent(_context: Context) -> Finding:
    learned = [name for name, row in TABLE_1.items() if row.kind == "learned"]
    lines: list[tuple[Any, ...]] = []
    for name, where in COLUMNS.items():
        jct, fee = column("jct", where), column("fee", where)
        lines.append((name, *(of[who] for of in (jct, fee) for who in ("DA", *learned))))
    count = len(learned)
    less = [line[0] for line in lines if line[1] < min(line[2 : 2 + count])]
    cheaper = [line[0] for line in lines if line[2 + count] < min(line[3 + count :])]
    behind = max(100 * (line[2 + count] / min(line[3 + count :]) - 1) for line in lines)
    longer = [line for line in lines if line[0] not in less]
    exceptions = ", ".join(f"{line[0]} ({line[1]} against {min(line[2 : 2 + count])})" for line in longer)
    return Finding(
        amended_if(len(less) == len(lines), "average" in less),
        f"DA has less JCT than {' and '.join(learned)} in {', '.join(less)}, not on {exceptions}."
        f" Its fee is the least in the columns {', '.join(cheaper)}, and elsewhere at most "
        f"{behind:.2f} % above the least, which is competitive.",
        {"columns": len(lines), "less JCT": len(less), "less fee": len(cheaper)},
        tables=(
            Table(
                "DA and the learned baselines in Table 1",
                ("column", *(f"{m} of {who}" for m in ("JCT", "fee") for who in ("DA", *learned))),
                tuple(lines),
            ),
        ),
    )


SAID_JCT = 300.0
"""Minutes that the average JCT is said to exceed (Appendix F)."""

INFERENCE = (0.0132, 0.0138, 0.0156)
"""Seconds that DAS takes per job on the three clusters (Appendix F)."""

SLOWER = 50
"""How many times slower than DAS metaheuristics are said to be (Sec. 5.2)."""


def _check_300_minutes(_context: Context) -> Finding:
    das = TABLE_1["DAS"]
    below = [f"{name} ({jct:.0f})" for name, jct in zip(CLUSTERS, das.jct, strict=True) if jct <= SAID_JCT]
    return Finding(
        amended_if(not below, das.average[0] > SAID_JCT),
        f"The average over the clusters is {das.average[0]:.1f} min for DAS. On two of them it is less than "
        f"{SAID_JCT:g}: {', '.join(below)}. What follows holds on each: a decision of "
        f"{max(INFERENCE)} s is next to nothing of {min(das.jct):.0f} min.",
        {"average (min)": das.average[0], "clusters with less": len(below)},
    )


def _check_inapplicable(_context: Context) -> Finding:
    every = 86_400 / DAILY_JOBS
    takes = [SLOWER * one for one in INFERENCE]
    share = max(takes) / (60 * min(TABLE_1["DAS"].jct))
    return Finding(
        holds_if(max(takes) >= every),
        f"{SLOWER} times the printed {INFERENCE[0]} to {INFERENCE[2]} s of DAS is {min(takes):.2f} to "
        f"{max(takes):.2f} s a job. Of {DAILY_JOBS} a day one arrives every {every:.1f} s on average, "
        f"so such a scheduler keeps up, and it is {100 * share:.3f} % of the least average JCT; Appendix F "
        "calls DAS's own time negligible beside the JCT. The printed numbers give no reason why "
        "metaheuristics could not be applied; bursts of arrivals, larger clusters and how their time grows "
        "are not in them.",
        {
            "seconds per job, at most": max(takes),
            "seconds between jobs": every,
            "of the least JCT (%)": 100 * share,
        },
    )


def _check_opposite(_context: Context) -> Finding:
    from scipy.stats import spearmanr

    lines: list[tuple[Any, ...]] = []
    for name, where in COLUMNS.items():
        jct, fee = column("jct", where), column("fee", where)
        ranks = [spearmanr([jct[b] for b in g], [fee[b] for b in g]) for g in (BASELINES, TABLE_1)]
        lines.append((name, *(float(v) for rank in ranks for v in (rank.statistic, rank.pvalue))))
    least = [set(sorted(BASELINES, key=column(metric, None).__getitem__)[:5]) for metric in ("jct", "fee")]
    both = len(least[0] & least[1])
    sure = sum(line[2] < 0.05 for line in lines[:3])
    return Finding(
        holds_if(all(line[1] < 0 for line in lines)),
        "If the two were in each other's way, schedulers with less JCT would have more fee. In Table 1 it is "
        "the other way round: the rank correlation of JCT and fee over the nine baselines is "
        f"{', '.join(f'{line[1]:+.2f}' for line in lines[:3])} on the three clusters (p < 0.05 on {sure} of "
        f"them: nine are few), {lines[3][1]:+.2f} on average, over all 13 rows {lines[3][3]:+.2f}. Of the "
        f"five baselines with the least average JCT, {both} are among the five with the least average fee.",
        {
            **{f"rank correlation, baselines, {line[0]}": line[1] for line in lines},
            "among the best five of nine in both": both,
        },
        tables=(
            Table(
                "Spearman's rank correlation of JCT and fee in Table 1",
                ("cluster", "9 baselines", "p (9)", "all 13 rows", "p (13)"),
                tuple(lines),
            ),
        ),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of a family of tests, corrected by Holm's procedure."""
    order = np.argsort(p_values, kind="stable")
    result, top = np.empty(len(p_values)), 0.0
    for rank, i in enumerate(order.tolist()):
        top = max(top, min(1.0, (len(p_values) - rank) * p_values[i]))
        result[i] = top
    return [float(p) for p in result]


def _check_p_values(_context: Context) -> Finding:
    tests = [
        (metric, name, p) for metric, ps in P_VALUES.items() for name, p in zip(CLUSTERS, ps, strict=True)
    ]
    corrected = holm([p for *_, p in tests])
    lines = [(*test, fixed) for test, fixed in zip(tests, corrected, strict=True)]
    bounds = all(p < (0.05 if metric == "JCT" else 0.10) for metric, _, p in tests)
    five = sum(p < 0.05 for *_, p in tests)
    kept = sum(p < 0.05 for p in corrected)
    return Finding(
        amended_if(bounds and five == len(tests), bounds),
        "The printed numbers are below the two printed bounds. At the usual 5 % no difference in fee is "
        f"significant ({five} of {len(tests)} tests, all JCT), and with Holm's correction for six tests "
        f"{kept} are: JCT on Small and Medium. The test compares jobs, not trainings, so what another seed "
        "gives cannot be seen.",
        {"tests": len(tests), "p < 0.05": five, "p < 0.05 by Holm": kept},
        tables=(Table("Table 3", ("metric", "cluster", "p", "p by Holm"), tuple(lines)),),
    )


def _check_job_sizes(_context: Context) -> Finding:
    sizes, cumulated = gang_law(None)
    up_to = {limit: float(cumulated[sizes <= limit][-1]) for limit in (4, 32, 64)}
    few, many = up_to[4], 1.0 - up_to[32]
    return Finding(
        holds_if(few > 0.5 and many > 0.0),
        f"By the published sub-sample of the same trace {100 * few:.0f} % of the tasks need at most 4 GPUs, "
        f"{100 * many:.1f} % more than 32, and {100 * (1 - up_to[64]):.2g} % more than the 64 of the Small "
        "cluster, which are left out. Parts of a GPU count as one there, so these are numbers of instances.",
        {"at most 4 GPUs (%)": 100 * few, "more than 32 GPUs (%)": 100 * many},
    )


def _check_table_2(_context: Context) -> Finding:
    parts = {
        "initial temperature 400": "annealing",
        "cooling ratio 0.99": "annealing",
        "50 iterations": "both",
        "100 iterations": "both",
        "50 solutions": "ant lion (population)",
    }
    lines = tuple((name, "MALO" if n < 3 else "MOSA", of) for n, (name, of) in enumerate(parts.items()))
    wrong = sum((row == "MALO") == (of != "annealing") for _, row, of in lines if of != "both")
    return Finding(
        Verdict.NOT_CHECKABLE,
        "Nothing can be run to find out what was run. A temperature and a cooling ratio belong to annealing, "
        "which MOSA is and MALO, ant lions with differential evolution, is not; a number of solutions "
        f"belongs to a population. {3 - wrong} of the 3 settings that tell the two apart stand in the row of "
        "the other one, so we take the two rows as swapped. In the text that we have the second row has "
        "lost its name; it stands between MALO and DL2, so we read it as MOSA's.",
        {"settings that tell them apart": 3, "in the other's row": 3 - wrong},
        tables=(Table("Table 2, the two metaheuristics", ("setting", "row", "belongs to"), lines),),
    )


CLAIMS = [
    Claim(
        "placement/definitions",
        "Sec. 3",
        "The fee is p C n d, the JCT finish less submission; jobs run to their end, all instances at once, "
        "and start at an arrival or an end that leaves room for them.",
        "Schedules of small random instances, job by job.",
        Verdict.HOLDS,
        _check_definitions,
    ),
    Claim(
        "placement/printed-sums",
        "(3), Sec. 5.1.4",
        "The averages are sums over 0 to |J|, and 0 to N', divided by |J| and N'.",
        "The mean of equal values. Amended: as many terms as what they are divided by.",
        Verdict.HOLDS_AMENDED,
        _check_sums,
    ),
    Claim(
        "placement/twofold-slowdown",
        "Sec. 1, Figure 1",
        "A job that is placed on a machine later can slow another one down nearly twofold.",
        "What our model says, simulated; a measurement would be needed to check it.",
        Verdict.NOT_CHECKABLE,
        _check_twofold,
    ),
    Claim(
        "placement/np-hard",
        "Abstract, Sec. 1",
        "The scheduling problem is NP-hard.",
        "Partition as a case of it: proven optima on all sets of small numbers against enumeration.",
        Verdict.HOLDS,
        _check_np_hard,
    ),
    Claim(
        "placement/window",
        "Appendix D, Sec. 3; our own",
        "The JCT depends on N, of how many pending jobs some may start; its value is not given.",
        "An instance of three jobs; FIFO-FirstFit and FIFO-Consolidate on generated workloads by N.",
        Verdict.HOLDS,
        _check_window,
    ),
    Claim(
        "placement/case-ordering",
        "Sec. 5.5, Figure 6(a)",
        "That the job which fits gets the highest priority shows that the ordering agent decides well.",
        "An instance as told; what starts with either order. Vacuous if jobs that do not fit are passed "
        "over, as we do by default.",
        Verdict.VACUOUS,
        _check_figure_6a,
    ),
    Claim(
        "placement/case-placement",
        "Sec. 5.5, Figure 6(c)",
        "FirstFit and LoadBalance place j8 so that j9 cannot start; the best choice is hard for others, too.",
        "An instance as told, played by seven heuristics. Amended: FirstFit and LoadBalance do.",
        Verdict.HOLDS_AMENDED,
        _check_figure_6c,
    ),
    Claim(
        "placement/table-1-averages",
        "Table 1",
        "The last two columns are the averages of the clusters.",
        "All 26 of them from the printed numbers.",
        Verdict.FAILS,
        _check_averages,
    ),
    Claim(
        "placement/das-best",
        "Sec. 5.2, Table 1",
        "DAS is better than all competitors in all cases.",
        "The printed numbers: DAS and the nine baselines, six columns.",
        Verdict.HOLDS,
        _check_das_best,
    ),
    Claim(
        "placement/34-minutes",
        "Sec. 1, Table 1",
        "DAS takes 34 minutes of JCT per job less than the best learned scheduler.",
        "The printed averages. Amended: less than RIFLING, the learned one with the least fee.",
        Verdict.HOLDS_AMENDED,
        _check_best_learned,
    ),
    Claim(
        "placement/daily-saving",
        "Sec. 1, Sec. 5.2",
        "More than ten thousand dollars are saved every day in a production cluster with 17,000 jobs a day.",
        "The printed fees and rate, and the cluster's published list of machines. Amended: as a product of "
        "printed numbers.",
        Verdict.HOLDS_AMENDED,
        _check_daily_saving,
    ),
    Claim(
        "placement/load-of-table-1",
        "Table 1, Sec. 5.1",
        "The fees and completion times are those of the jobs of the trace on these clusters.",
        "Work by the printed fee, against the rate of the trace and the GPUs of the clusters: it holds if "
        "one of two rates, 17,000 jobs a day or that of the published sub-sample, is a load of at most 1 on "
        "Large.",
        Verdict.FAILS,
        _check_load,
    ),
    Claim(
        "placement/improvement-by-size",
        "Sec. 5.2, Appendix E",
        "The larger the cluster, the less JCT is gained by DAS.",
        "The printed numbers against each of the nine baselines. Amended: in minutes.",
        Verdict.HOLDS_AMENDED,
        _check_improvement,
    ),
    Claim(
        "placement/three-groups",
        "Sec. 5.2, Abstract",
        "Heuristics are the worst, metaheuristics better, learned schedulers better still.",
        "The printed averages, one by one and by group. Amended: the means of the groups.",
        Verdict.HOLDS_AMENDED,
        _check_categories,
    ),
    Claim(
        "placement/rifling",
        "Sec. 5.2",
        "Of the baselines RIFLING has the least fee, and slightly more JCT than DL2.",
        "The printed numbers, cluster by cluster. Amended: on average.",
        Verdict.HOLDS_AMENDED,
        _check_rifling,
    ),
    Claim(
        "placement/ablation",
        "Sec. 5.3, Table 1",
        "Message communication and the random walk process each improve both metrics.",
        "The printed numbers, column by column. Amended: on average.",
        Verdict.HOLDS_AMENDED,
        _check_ablation,
    ),
    Claim(
        "placement/dual-agent",
        "Sec. 5.3, Table 1",
        "DA, without its modules, has a better JCT and a competitive fee compared with learned baselines.",
        "The printed numbers, column by column. Amended: on average, but not on Medium.",
        Verdict.HOLDS_AMENDED,
        _check_dual_agent,
    ),
    Claim(
        "placement/300-minutes",
        "Appendix F, Table 1",
        "The average JCT in Table 1 is more than 300 minutes, so the time of decisions can be ignored.",
        "The printed numbers of DAS, by cluster. Amended: the average over the clusters is.",
        Verdict.HOLDS_AMENDED,
        _check_300_minutes,
    ),
    Claim(
        "placement/inapplicable",
        "Sec. 5.2, Appendix F",
        "About 50 times slower than DAS, metaheuristics are inapplicable in production clusters.",
        "The printed times against the printed rate of jobs: it fails if a decision takes less time than "
        "passes between two jobs on average.",
        Verdict.FAILS,
        _check_inapplicable,
    ),
    Claim(
        "placement/table-1-trade-off",
        "Remark in Sec. 3, Appendix A, Table 1",
        "Table 1 shows that JCT and fee are in a trade-off.",
        "Rank correlation of JCT and fee over the baselines: shown if it is negative in every column.",
        Verdict.FAILS,
        _check_opposite,
    ),
    Claim(
        "placement/significance",
        "Sec. 5.2, Appendix G, Table 3",
        "p-values below 0.05 for JCT and 0.10 for the fee show that the improvements are significant.",
        "The printed numbers, at 5 % and by Holm's correction. Amended: the numbers are below these bounds.",
        Verdict.HOLDS_AMENDED,
        _check_p_values,
    ),
    Claim(
        "placement/job-sizes",
        "Sec. 5.1.2, Appendix G, Figure 4(a)",
        "Most jobs need few GPUs, no more than 4, and some more than 32.",
        "The shares of gang sizes in the published sub-sample of the trace.",
        Verdict.HOLDS,
        _check_job_sizes,
    ),
    Claim(
        "placement/table-2",
        "Table 2, Appendix D",
        "MALO's settings are a temperature, a cooling ratio and 50 iterations.",
        "Reading; nothing to run.",
        Verdict.NOT_CHECKABLE,
        _check_table_2,
    ),
]
