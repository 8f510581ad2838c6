"""Claims about the numbers that the paper prints: Table 1, what the text says of it, and Tables 2 and 3."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np

from ....models.placement.generate import gang_law
from ....models.placement.instance import PRICE
from ...claim import Context, Finding, Register, Table, Verdict, Why, amended_if, finding, holds_if, table
from ...statistics import holm

claim = Register("placement")

PRINTED = "Nothing is run: printed numbers are compared with each other, and no spread over seeds is printed."
"""What most verdicts here rest on."""


def in_print(verdict: Verdict, headline: str, *shown: Table, **more: Any) -> Finding:
    """Return a finding on printed numbers, which are its proof."""
    proof = "The printed numbers contradict it: see above." if verdict is Verdict.REFUTED else ""
    return Finding(verdict, headline, tables=shown, **{"assumes": PRINTED, "proof": proof, **more})


TABLE_1 = {
    "FIFO-FirstFit": (720.228, 51.685, 171.282, 51.684, 110.316, 51.219, 333.942, 51.529),
    "FIFO-LoadBalance": (715.776, 51.559, 162.102, 50.9, 112.29, 51.112, 330.054, 51.189),
    "DRF-FirstFit": (862.242, 52.055, 164.778, 51.354, 109.098, 52.325, 378.708, 51.911),
    "DRF-LoadBalance": (852.984, 51.798, 173.106, 51.908, 113.556, 51.924, 379.884, 51.877),
    "Tetris": (813.48, 51.668, 176.688, 52.567, 113.364, 53.109, 367.842, 52.448),
    "MALO": (708.858, 51.675, 182.862, 51.129, 111.66, 51.233, 334.458, 51.346),
    "MOSA": (759.222, 51.783, 173.4, 51.998, 109.422, 51.933, 347.346, 51.905),
    "DL2": (721.083, 51.166, 160.1, 50.97, 110.215, 51.08, 330.468, 51.072),
    "RIFLING": (717.576, 51.16, 176.676, 50.98, 109.872, 51.039, 334.708, 51.06),
    "DA": (697.732, 51.106, 173.354, 51.097, 108.821, 51.025, 326.636, 51.076),
    "DA+MC": (680.861, 50.952, 163.456, 50.941, 109.854, 50.701, 318.057, 50.865),
    "DA+RWGP": (686.894, 51.029, 157.071, 50.856, 107.896, 50.439, 317.287, 50.684),
    "DAS": (638.046, 50.484, 155.003, 50.019, 108.7, 50.354, 300.584, 50.286),
}
"""Table 1: JCT in minutes and fee in dollars on three clusters, and their printed averages."""

CLUSTERS = ("Small", "Medium", "Large")
METRICS = ("jct", "fee")
BASELINES = tuple(TABLE_1)[:9]
GROUPS = {"heuristic": BASELINES[:5], "metaheuristic": BASELINES[5:7], "learned": BASELINES[7:]}
LEARNED = GROUPS["learned"]
COLUMNS = {name: at for at, name in enumerate((*CLUSTERS, "average"))}  # of Table 1

DAILY_JOBS = 17_000  # in the production cluster (Sec. 5.2)
PAI_GPUS = 6742  # of that cluster, by its published list of machines (``pai_machine_spec``)
SUBSAMPLE = (20_000, 24.8)  # first rows of the published 8.2 % of its tasks, and the days of their arrivals
SUBSAMPLE_MEANS = (7.98, 92.1)
"""GPU-hours, and minutes of duration, of a task in these rows, those of more than 64 GPUs left out.

A part of a GPU counts as one, so the GPU-hours are if anything too many.
"""


def column(metric: str, where: int = -1) -> dict[str, float]:
    """Return a column of Table 1: "jct" or "fee" on a cluster by its number, by default the average."""
    return {name: row[METRICS.index(metric) :: 2][where] for name, row in TABLE_1.items()}


@claim(
    "table-1-averages",
    "Table 1",
    Verdict.REFUTED,
    choices=("how JCTs are rounded before they are averaged: to 0.001 minutes or to 0.0001 hours",),
)
def table_1_averages(_context: Context) -> Finding:
    """The last two columns are the averages of the clusters.

    All 26 of them from the printed numbers, the JCTs rounded in minutes and in hours.
    """
    lines: list[tuple[Any, ...]] = []
    for name, row in TABLE_1.items():
        for metric, (*values, printed) in (("JCT", row[::2]), ("fee", row[1::2])):
            exact = float(np.mean(values))
            hours = 60.0 * round(exact / 60.0, 4) if metric == "JCT" else "--"
            lines.append((name, metric, printed, exact, printed - exact, hours))
    off = [line for line in lines if abs(line[4]) > 0.001 + 1e-9]
    wrong = [line for line in off if line[5] == "--" or abs(line[2] - line[5]) > 1e-6]
    heads = "scheduler | metric | printed | of the row | difference | of the row, rounded in hours"
    which = " and ".join(f"{n}'s {m} ({d:+.4f})" for n, m, _p, _x, d, _h in wrong)
    return finding(
        holds_if(not wrong),
        f"{len(wrong)} of {len(lines)} printed averages are not those of their rows, JCTs rounded in hours "
        f"or not: {which}.",
        {"averages": len(lines), "wrong": len(wrong), "right in hours alone": len(off) - len(wrong)},
        table("Averages of Table 1 that are off by more than 0.001", heads, off),
        assumes="An average of three numbers of three decimals can be off by 0.001. All JCTs of the "
        "heuristics and metaheuristics are multiples of 0.006 minutes: hours of four decimals.",
        proof=" ".join(f"{n}, {m}: {x:.4f}, not {p:g}." for n, m, p, x, *_ in wrong),
    )


@claim("das-best", "Sec. 5.2, Table 1", Verdict.HOLDS)
def das_best(_context: Context) -> Finding:
    """DAS is better than all competitors in all cases.

    The printed numbers: DAS and the nine baselines, six columns.
    """
    lines: list[tuple[Any, ...]] = []
    for metric, name in product(METRICS, CLUSTERS):
        values = column(metric, COLUMNS[name])
        best = min(BASELINES, key=values.__getitem__)
        lead = 100 * (1 - values["DAS"] / values[best])
        lines.append((name, metric, best, values[best], values["DAS"], lead))
    wins = sum(line[5] > 0 for line in lines)
    heads = "cluster | metric | best baseline | its value | DAS | lead (%)"
    return in_print(
        holds_if(wins == len(lines)),
        f"In print DAS has the least value in {wins} of {len(lines)} columns beside the nine baselines.",
        table("DAS beside the best of the nine baselines in every column", heads, lines),
        remark="Its own variant DA+RWGP has a smaller JCT than DAS on the Large cluster.",
    )


@claim("34-minutes", "Sec. 1, Table 1", Verdict.HOLDS)
def less_by_34_minutes(_context: Context) -> Finding:
    """DAS takes 34 minutes of JCT per job less than the best learned scheduler.

    The printed averages; the best is RIFLING, as Section 5.2 says of all baselines.
    """
    jct, small = column("jct"), column("jct", COLUMNS["Small"])
    less = {name: jct[name] - jct["DAS"] for name in LEARNED}
    part = (small["RIFLING"] - small["DAS"]) / (len(CLUSTERS) * less["RIFLING"])
    return in_print(
        holds_if(round(less["RIFLING"]) == 34),
        "34 minutes is the distance to RIFLING; to DL2, the learned scheduler with less JCT, it is 30.",
        numbers={f"JCT less than {name} by (min)": value for name, value in less.items()},
        remark="RIFLING has the least fee of the baselines. "
        f"Of these 34 minutes {100.0 * part:.0f} % come from the Small cluster.",
    )


@claim("daily-saving", "Sec. 1, Sec. 5.2", Verdict.HOLDS_AMENDED)
def daily_saving(_context: Context) -> Finding:
    """More than ten thousand dollars are saved every day in a production cluster with 17,000 jobs a day.

    The printed fees and rate, and the cluster's published list of machines. Amended: as their product.
    """
    fee = column("fee")
    saving = fee["RIFLING"] - fee["DAS"]
    printed = saving * DAILY_JOBS
    most = saving / fee["RIFLING"] * PAI_GPUS * 24 * PRICE
    return in_print(
        amended_if(most > 10_000.0, printed > 10_000.0),
        "The product of the printed numbers is above ten thousand, but so many jobs need nearly twice the "
        "GPUs that the cluster has.",
        numbers={
            "saving a day as printed ($)": printed,
            "GPUs that so many jobs need": fee["RIFLING"] / PRICE * DAILY_JOBS / 24,
            "GPUs of the cluster": PAI_GPUS,
            "saving a day if all GPUs are always in use ($)": most,
        },
        assumes="The price per GPU hour is that of the paper; the GPUs are those of the published list.",
    )


IN_A_ROW, FIFTH = "test jobs in a row", "a random fifth"
"""Readings of "split into training and test sets with a ratio of 8 : 2", of jobs sorted by submission."""


@claim(
    "load-of-table-1",
    "Table 1, Sec. 5.1",
    choices=(
        "rate of the trace: 17,000 jobs a day, or that of its published sub-sample",
        "whether the test set is 4,000 jobs in a row, at the full rate, or a random fifth, at a fifth of it",
    ),
    turns=(f"8.2 % sub-sample, {FIFTH}", f"17,000 a day, {IN_A_ROW}"),
)
def load_of_table_1(_context: Context) -> Finding:
    """The fees and completion times are those of the jobs of the trace on these clusters.

    Work by the printed fee, against the rate of the test jobs and the GPUs of the clusters: it holds if the
    load on Large is at most 1. Nothing is run.
    """
    hours = column("fee")["DAS"] / PRICE
    known = {"17,000 a day": float(DAILY_JOBS), "8.2 % sub-sample": SUBSAMPLE[0] / SUBSAMPLE[1]}
    rates = {f"{n}, {split}": r / by for split, by in ((IN_A_ROW, 1), (FIFTH, 5)) for n, r in known.items()}
    lines: list[tuple[Any, ...]] = []
    for name, gpus in zip(CLUSTERS, (64, 128, 256), strict=True):
        days = 4000 * hours / gpus / 24  # a fifth of 20,000 jobs (Sec. 5.1.2)
        lines.append((name, gpus, days, 4000 / days, *(r * hours / 24 / gpus for r in rates.values())))
    heads = " | ".join(
        ("cluster | GPUs | days of work | jobs a day at load 1", *(f"load at {r}" for r in rates))
    )
    possible = dict(zip(rates, (load <= 1.0 for load in lines[-1][4:]), strict=True))
    against = [*possible.values()].count(False)
    small = dict(zip(rates, lines[0][4:], strict=True))
    least = min(small, key=lambda rate: small[rate])
    wait = 720.0 * (small[least] - 1.0) * lines[0][2] / small[least]
    return finding(
        holds_if(not against, Verdict.UNDETERMINED if any(possible.values()) else Verdict.NOT_REPRODUCED),
        f"In {against} of {len(possible)} readings the printed fees are more work than Large can do; in the "
        f"other, load on Small is {small[least]:.2f}.",
        {
            "GPU-hours per job, by the fee": hours,
            "GPU-hours per job, sub-sample": SUBSAMPLE_MEANS[0],
            f"wait on Small in strict order, mean, {least} (min)": wait,
            "mean JCT of DAS on Small (min)": column("jct", 0)["DAS"],
            "mean JCT of DAS on Large (min)": column("jct", 2)["DAS"],
            "mean duration of a job of the sub-sample (min)": SUBSAMPLE_MEANS[1],
        },
        table("The work of 4,000 jobs at the fee of DAS, 2.84 dollars per GPU-hour", heads, lines),
        signs={"the work is no more than Large can do": possible},
        assumes="All jobs are there at the original speed of the trace (Appendix E), and a GPU does an hour "
        "of work in an hour.",
        remark="The printed JCT on Large is little above the mean duration: hardly a job can wait there. At "
        "the least load on Small all that arrives in order waits for days, if jobs are a stream that fills "
        "GPUs; who starts short jobs first need not.",
    )


@claim("improvement-by-size", "Sec. 5.2, Appendix E", Verdict.HOLDS_AMENDED)
def improvement_by_size(_context: Context) -> Finding:
    """The larger the cluster, the less JCT is gained by DAS.

    The printed numbers against each of the nine baselines. Amended: in minutes.
    """
    *jct, das = np.array([TABLE_1[name][:6:2] for name in (*BASELINES, "DAS")])
    minutes = jct - das
    percent = 100 * minutes / jct
    falling, falling_minutes = ((np.diff(less) < 0.0).all(axis=1).sum() for less in (percent, minutes))
    heads = " | ".join(("baseline", *(f"{name} ({unit})" for unit in ("%", "min") for name in CLUSTERS)))
    rows = zip(BASELINES, *percent.T.tolist(), *minutes.T.tolist(), strict=True)
    return in_print(
        amended_if(falling == len(jct), falling_minutes == len(jct)),
        f"In minutes the lead of DAS falls with the size of the cluster over every baseline; in per cent it "
        f"does not over {len(jct) - falling}.",
        table("By how much the JCT of DAS is below that of a baseline", heads, rows),
    )


@claim("three-groups", "Sec. 5.2, Abstract", Verdict.HOLDS_AMENDED)
def three_groups(_context: Context) -> Finding:
    """Heuristics are the worst, metaheuristics better, learned schedulers better still.

    The printed averages, one by one and by group. Amended: the means of the groups.
    """
    groups = {kind: np.array([TABLE_1[name][6:] for name in of]) for kind, of in GROUPS.items()}
    pairs = list(pairwise(groups.values()))
    each = all((worse.min(axis=0) > better.max(axis=0)).all() for worse, better in pairs)
    means = all((worse.mean(axis=0) > better.mean(axis=0)).all() for worse, better in pairs)
    heads = "group | schedulers | JCT, least | JCT, mean | JCT, most | fee, least | fee, mean | fee, most"
    rows = []
    for kind, found in groups.items():
        rows.append((kind, len(found), *(float(f(of)) for of in found.T for f in (np.min, np.mean, np.max))))
    return in_print(
        amended_if(each, means),
        "The means of the groups are in this order; but a heuristic, FIFO-LoadBalance, has the least JCT of "
        "all baselines.",
        table("Averages of Table 1 by group", heads, rows),
    )


@claim("rifling", "Sec. 5.2", Verdict.HOLDS_AMENDED)
def rifling(_context: Context) -> Finding:
    """Of the baselines RIFLING has the least fee, and slightly more JCT than DL2.

    The printed numbers, cluster by cluster. Amended: on average.
    """
    rows = []
    for name, at in COLUMNS.items():
        fee, jct = column("fee", at), column("jct", at)
        rows.append((name, min(BASELINES, key=fee.__getitem__), jct["RIFLING"], jct["DL2"]))
    right = {name: least == "RIFLING" and more > less for name, least, more, less in rows}
    return in_print(
        amended_if(all(right.values()), right["average"]),
        f"On average RIFLING has the least fee and more JCT than DL2; cluster by cluster both are so on "
        f"{sum(right[name] for name in CLUSTERS)} of three.",
        table("Baselines in Table 1", "cluster | least fee | JCT of RIFLING (min) | JCT of DL2 (min)", rows),
    )


@claim("ablation", "Sec. 5.3, Table 1", Verdict.HOLDS_AMENDED)
def ablation(_context: Context) -> Finding:
    """Message communication and the random walk process each improve both metrics.

    The printed numbers, column by column. Amended: on average.
    """
    lines: list[tuple[Any, ...]] = []
    for less, more in (("DA", "DA+MC"), ("DA", "DA+RWGP"), ("DA+MC", "DAS"), ("DA+RWGP", "DAS")):
        gains = [a - b for a, b in zip(TABLE_1[less][:6], TABLE_1[more][:6], strict=True)]
        lines.append((f"{less} to {more}", *gains, float(np.mean(gains[::2])), float(np.mean(gains[1::2]))))
    heads = " | ".join(("step", *(f"{name} {m}" for name in (*CLUSTERS, "mean") for m in ("JCT", "fee"))))
    worse = [line[0] for line in lines if min(line[1:7]) <= 0]
    return in_print(
        amended_if(not worse, all(min(line[7:]) > 0 for line in lines)),
        f"On average each module lowers both numbers; {len(worse)} of {len(lines)} steps raise the JCT on "
        f"the Large cluster.",
        table("What adding a module gains (JCT in min, fee in $)", heads, lines),
    )


@claim("dual-agent", "Sec. 5.3, Table 1", Verdict.HOLDS_AMENDED)
def dual_agent(_context: Context) -> Finding:
    """DA, without its modules, has a better JCT and a competitive fee compared with learned baselines.

    The printed numbers, column by column. Amended: on average, but not on Medium.
    """
    who = ("DA", *LEARNED)
    found = {name: [column(m, at)[one] for m in METRICS for one in who] for name, at in COLUMNS.items()}
    heads = " | ".join(("column", *(f"{m} of {one}" for m in ("JCT", "fee") for one in who)))
    behind = max(100 * (line[3] / min(line[4:]) - 1) for line in found.values())
    less = [name for name, line in found.items() if line[0] < min(line[1:3])]
    return in_print(
        amended_if(len(less) == len(found), "average" in less),
        f"DA has less JCT than both learned baselines in {len(less)} of {len(found)} columns, Medium "
        f"excepted, and nearly the least fee.",
        table("DA and the learned baselines in Table 1", heads, ((n, *line) for n, line in found.items())),
        numbers={"columns": len(found), "less JCT": len(less), "fee above the least at most (%)": behind},
    )


INFERENCE = (0.0132, 0.0138, 0.0156)  # seconds that DAS takes per job on the three clusters (Appendix F)
SLOWER = 50  # times, than DAS: what the text says of metaheuristics (Sec. 5.2)


@claim("300-minutes", "Appendix F, Table 1", Verdict.HOLDS)
def more_than_300_minutes(_context: Context) -> Finding:
    """The average JCT in Table 1 is more than 300 minutes, so the time of decisions can be ignored.

    The printed numbers of DAS: the average over the clusters, and the time of a decision beside the least.
    """
    jcts, most = dict(zip(COLUMNS, TABLE_1["DAS"][::2], strict=True)), max(INFERENCE) / 60.0
    below = [name for name in CLUSTERS if jcts[name] <= 300.0]
    return in_print(
        holds_if(jcts["average"] > 300.0 and most < 0.01 * min(jcts.values())),
        f"The average over the clusters is above 300 minutes, on {len(below)} of them it is not; the time of "
        f"a decision is negligible on each.",
        numbers={f"{name} (min)": jct for name, jct in jcts.items()} | {"a decision, at most (min)": most},
    )


@claim(
    "inapplicable",
    "Sec. 5.2, Appendix F",
    because=Why.LACKING,
    choices=("bursts of arrivals, and how the time of metaheuristics grows with the cluster",),
)
def inapplicable(_context: Context) -> Finding:
    """About 50 times slower than DAS, metaheuristics are inapplicable in production clusters.

    The printed times against the printed rate of jobs: it holds if a decision takes longer than passes
    between two jobs on average.
    """
    every, takes = 86_400 / DAILY_JOBS, SLOWER * max(INFERENCE)
    return finding(
        holds_if(takes >= every, Verdict.UNDETERMINED),
        "By the printed numbers a metaheuristic decides about a job in less than a second, and a job arrives "
        "every five.",
        {"seconds per job, at most": takes, "seconds between jobs": every},
        assumes="Jobs come evenly, at the printed 17,000 a day.",
        remark="Appendix F calls the time of DAS negligible beside the JCT; so is 50 times that, by Table 1.",
    )


@claim("table-1-trade-off", "Remark in Sec. 3, Appendix A, Table 1", because=Why.SAMPLES)
def table_1_trade_off(_context: Context) -> Finding:
    """Table 1 shows that JCT and fee are in a trade-off.

    Rank correlation of JCT and fee over the baselines, and who is beaten in both by none: shown if the
    correlation is clearly negative on every cluster, corrected for three tests (Holm).
    """
    from scipy.stats import spearmanr

    lines: list[tuple[Any, ...]] = []
    for name, where in COLUMNS.items():
        jct, fee = column("jct", where), column("fee", where)
        rank = spearmanr([jct[b] for b in BASELINES], [fee[b] for b in BASELINES])
        front = [b for b in BASELINES if not any(jct[o] < jct[b] and fee[o] < fee[b] for o in BASELINES)]
        lines.append((name, float(rank.statistic), float(rank.pvalue), len(front), ", ".join(front)))
    heads = "cluster | rank correlation | p | beaten by none in both | who"
    apart = [line for line in lines if line[0] in CLUSTERS]
    corrected = holm([p for _, _, p, *_ in apart])
    signs = {line[0]: line[1] < 0.0 if p < 0.05 else None for line, p in zip(apart, corrected, strict=True)}
    return finding(
        holds_if(all(signs.values()), Verdict.UNDETERMINED),
        f"No baseline is best in both, in {sum(line[3] > 1 for line in lines)} of {len(lines)} columns; but "
        f"those with less JCT have, if anything, less fee.",
        table("JCT and fee of the nine baselines in Table 1", heads, lines),
        signs={"JCT and fee are in a trade-off": signs},
        assumes="A trade-off is a negative correlation. Nine baselines are few. The last row is the mean of "
        "the others, and not judged.",
    )


@claim("significance", "Sec. 5.2, Appendix G, Table 3", Verdict.HOLDS_AMENDED)
def significance(_context: Context) -> Finding:
    """p-values below 0.05 for JCT and 0.10 for the fee show that the improvements are significant.

    The printed numbers, at 5 % and by Holm's correction. Amended: the numbers are below these bounds.
    """
    printed = {"JCT": (0.0002, 0.0006, 0.04911), "fee": (0.0588, 0.0570, 0.0792)}
    tests = [(m, name, p) for m, ps in printed.items() for name, p in zip(CLUSTERS, ps, strict=True)]
    corrected = holm([p for *_, p in tests])
    bounds = all(p < (0.05 if metric == "JCT" else 0.10) for metric, _, p in tests)
    lines = ((*test, fixed) for test, fixed in zip(tests, corrected, strict=True))
    kept = sum(p < 0.05 for p in corrected)
    return in_print(
        amended_if(bounds and kept == len(tests), bounds),
        f"The p-values are below the printed bounds; at 5 %, corrected for six tests, {kept} of six "
        f"improvements are significant.",
        table("Table 3, DAS against RIFLING", "metric | cluster | p | p by Holm", lines),
        remark="The test compares jobs, not trainings: what another seed gives cannot be seen in it.",
    )


@claim("job-sizes", "Sec. 5.1.2, Appendix G, Figure 4(a)", Verdict.HOLDS)
def job_sizes(_context: Context) -> Finding:
    """Most jobs need few GPUs, no more than 4, and some more than 32.

    The shares of gang sizes in the published sub-sample of the trace.
    """
    sizes, cumulated = gang_law(None)
    few, most, all_ = (100 * float(cumulated[sizes <= limit][-1]) for limit in (4, 32, 64))
    return finding(
        holds_if(few > 50.0 and most < 100.0, Verdict.NOT_REPRODUCED),
        f"{few:.0f} % of the tasks of the published sub-sample need at most 4 GPUs, {100 - most:.1f} % more "
        f"than 32.",
        {"at most 4 (%)": few, "more than 32 (%)": 100 - most, "more than 64 (%)": 100 - all_},
        assumes="A part of a GPU counts as one there. Tasks of more than 64 do not fit on the Small cluster.",
    )


@claim(
    "table-2",
    "Table 2, Appendix D",
    Verdict.NOT_CHECKABLE,
    choices=("which of the two rows is whose: `table-1-metaheuristics` plays both readings",),
)
def table_2(_context: Context) -> Finding:
    """MALO's settings are a temperature, a cooling ratio and 50 iterations.

    Reading; nothing to run.
    """
    return finding(
        Verdict.NOT_CHECKABLE,
        "The row of MALO has the settings of annealing, that of MOSA those of a population; nothing tells "
        "what was run.",
        assumes="The row of MALO: initial temperature 400, cooling ratio 0.99, 50 iterations; that of MOSA: "
        "100 iterations, 50 solutions.",
        remark="MOSA is annealing; MALO, ant lions with differential evolution, has a population. We take "
        "the rows as swapped. In the text that we have the second row has lost its name.",
    )
