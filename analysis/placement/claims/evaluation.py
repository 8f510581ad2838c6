"""Claims about the baselines of DAS: Table 1, search, the optimum, cluster sizes, arrival rates."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ....models.placement.generate import HOURLY, generate
from ....models.placement.instance import PlacementInstance
from ....models.placement.jobs import TICKS
from ....models.placement.placing import place
from ....models.placement.setting import Observation
from ....online.base import Policy, Traits
from ....online.play import play, policy_stream
from ....oracles.base import Optimum
from ...claim import Context, Figure, Finding, Register, Table, Verdict
from ...experiments import policy_seed, seeds, spread, track
from ...plots import to_svg
from ...study import Fact, Judged, Printed, Said, Statement, counted, judge, settled, statements
from ..experiments import (
    CLUSTERS,
    DRF_FF,
    FEE,
    FIFO_C,
    FIFO_FF,
    FIFO_LB,
    HEURISTICS,
    JCT,
    NOTE,
    OURS,
    SJF_C,
    Contender,
    Setup,
    bars,
    bound,
    curves,
    excess,
    followed,
    instance,
    measure_table,
    optimum,
    outcome,
    queue_over_time,
    samples,
)
from ..gantt import gantt_panels
from ..measures import above, ratio
from .table_1 import TABLE_1

claim = Register("placement")

LOADS = "load of the clusters (rho on Small)"
SLOWDOWN = "how much jobs slow each other down: kappa and eta"
MODEL = (
    "Jobs are fitted to public traces; kappa and eta are assumptions, as the paper gives none, nor the rate."
)


def places(context: Context, jobs: int, quick: int = 120) -> dict[str, Setup]:
    """Return the setups of what the paper leaves open: loads and slowdown."""
    jobs = context.pick(quick, jobs, 4000)
    known = {
        "rho 0.8": Setup(jobs),
        "rho 2": Setup(jobs, rho=2.0),
        "rho 8": Setup(jobs, rho=8.0),
        "rho 2, no slowdown": Setup(jobs, rho=2.0, communication=0.0, contention=0.0),
        "rho 2, eta 1": Setup(jobs, rho=2.0, contention=1.0),
    }
    return known if context.mode != "quick" else {name: known[name] for name in list(known)[1:4]}


def ahead(
    ours: Contender, other: Contender, where: Mapping[str, Setup], sampled: Sequence[int], measure: str = JCT
) -> dict[str, np.ndarray]:
    """Return by how many per cent another one is above ours, instance by instance, in each setup."""
    return {
        name: excess(samples(other, setup, sampled, measure), samples(ours, setup, sampled, measure))
        for name, setup in where.items()
    }


def play_all(context: Context, cells: Iterable[tuple[Contender, Setup]], sampled: Sequence[int]) -> None:
    """Make all runs first, so that progress is reported."""
    for who, setup in track(context, cells):
        for seed in sampled:
            outcome(who, setup, seed)


def said_of(judged: Iterable[Judged], word: str = "holds") -> int:
    """Return how many statements came to this word."""
    return sum(one.word == word for one in judged)


def found(
    context: Context,
    headline: str,
    judged: Sequence[Judged],
    scenarios: Iterable[str],
    sampled: Sequence[int],
    *,
    verdict: Verdict | None = None,
    tables: Sequence[Table] = (),
    figures: Sequence[Figure] = (),
    assumes: str = MODEL,
    remark: str = "",
) -> Finding:
    """Return the finding on statements that were judged together."""
    return Finding(
        settled(judged) if verdict is None else verdict,
        headline,
        {"instances": len(sampled), **counted(judged)},
        tables=(statements(judged, scenarios, NOTE), *tables),
        figures=tuple(figures),
        small=context.mode == "quick",
        assumes=assumes,
        remark=remark,
    )


# --- Table 1 -----------------------------------------------------------------------------------------------


def printed_lead(who: str, cluster: int, measure: str) -> float:
    """Return by how many per cent a policy is above FIFO-FirstFit in Table 1."""
    ours, theirs = (
        (TABLE_1[name].jct if measure == JCT else TABLE_1[name].fee)[cluster] for name in (who, FIFO_FF.label)
    )
    return above(ours, theirs)


@claim(
    "table-1-heuristics",
    "Table 1, heuristic rows",
    Verdict.UNDETERMINED,
    says="How far the heuristics are from FIFO-FirstFit in JCT and fee, on three clusters.",
    how="Paired runs; each printed difference is compared with where the difference in one more run of ours "
    "lies.",
    choices=(LOADS, SLOWDOWN),
)
def table_1_heuristics(context: Context) -> Finding:
    sampled, where = seeds(context, 6, 6, 20), places(context, 200)
    if context.mode != "quick":
        where["rho 64"] = replace(where["rho 2"], rho=64.0)  # jobs wait on Large, too
    clusters = context.pick(CLUSTERS[:1], CLUSTERS, CLUSTERS)
    play_all(context, [(w, s.on(c)) for s in where.values() for c in clusters for w in HEURISTICS], sampled)
    said = []
    for at, cluster in enumerate(clusters):
        on = {name: setup.on(cluster) for name, setup in where.items()}
        for measure in (JCT, FEE):
            for who in HEURISTICS[1:]:
                runs = ahead(FIFO_FF, who, on, sampled, measure)
                number = printed_lead(who.label, at, measure)
                what = f"{cluster.capitalize()}, {measure.split()[0]}"
                says = f"{what}: {who.label} is {number:+.1f} % from FIFO-FirstFit"
                said.append(Printed(says, runs, "%", number=number))
    judged = judge(said, where)
    first = where["rho 2"]
    series = {
        who.label: np.column_stack([ahead(FIFO_FF, who, {"": first.on(c)}, sampled)[""] for c in clusters])
        for who in HEURISTICS[1:]
    }
    return found(
        context,
        f"{said_of(judged)} of {len(judged)} printed differences are within reach of one run of ours at "
        f"every load and slowdown, {said_of(judged, 'depends')} at some, {said_of(judged, 'against')} at "
        f"none.",
        judged,
        where,
        sampled,
        figures=(
            bars(
                "table-1",
                f"JCT against that of FIFO-FirstFit; negative is better. {first.jobs} jobs, rho 2 on Small.",
                [c.capitalize() for c in clusters],
                series,
                "JCT against FIFO-FirstFit (%)",
            ),
        ),
        remark="Absolute numbers cannot be checked: neither the rate of the trace nor the slowdown is given.",
    )


def mosa(label: str, iterations: int) -> Contender:
    """Return MOSA with so many iterations."""
    return Contender(label, "mosa", (("iterations", iterations),))


def malo(label: str, iterations: int) -> Contender:
    """Return MALO with so many iterations and 50 solutions."""
    return Contender(label, "malo", (("iterations", iterations), ("population", 50)))


MOSA, MALO = mosa("MOSA", 50), malo("MALO", 100)
"""With the budgets of Table 2, its two rows taken as swapped."""

AS_PRINTED = (mosa("MOSA as printed", 100), malo("MALO as printed", 50))
WITHOUT_SEARCH = (mosa("MOSA without search", 0), malo("MALO without search", 0))


@claim(
    "table-1-metaheuristics",
    "Table 1, Sec. 5.2",
    Verdict.UNDETERMINED,
    says="Metaheuristics perform better than heuristics, as they explore at random.",
    how="Paired runs of MOSA and MALO with the budgets of Table 2 on Small, against the five heuristics and "
    "against themselves without search.",
    choices=(
        LOADS,
        "whether the rows of Table 2 are swapped",
        "what is searched and what plans the search begins with: ours",
    ),
)
def table_1_metaheuristics(context: Context) -> Finding:
    sampled, jobs = seeds(context, 5, 10, 20), context.pick(20, 40, 1000)
    low, high = Setup(jobs), Setup(jobs, rho=2.0)
    where = {
        "rho 0.8": (low, (MOSA, MALO)),
        "rho 2": (high, (MOSA, MALO)),
        "rho 2, rows as printed": (high, AS_PRINTED),
    }
    players = (*HEURISTICS, MOSA, MALO, *AS_PRINTED, *WITHOUT_SEARCH)
    play_all(context, [(w, s) for s, found in where.values() for w in (*HEURISTICS, *found)], sampled)

    def less(at: int, other: Contender) -> dict[str, np.ndarray]:
        return {name: ahead(found[at], other, {"": s}, sampled)[""] for name, (s, found) in where.items()}

    better = [
        Statement(f"{name} has less JCT than {other.label}", less(at, other), "%")
        for at, name in enumerate(("MOSA", "MALO"))
        for other in HEURISTICS
    ]
    searched = [
        Statement(f"its search lowers the JCT of {name}", less(at, WITHOUT_SEARCH[at]), "%")
        for at, name in enumerate(("MOSA", "MALO"))
    ]
    judged = judge([*better, *searched], where)
    beside, own = judged[: len(better)], judged[len(better) :]
    return found(
        context,
        f"In {said_of(beside)} of {len(beside)} comparisons with heuristics MOSA and MALO surely lead, in "
        f"{said_of(beside, 'against')} they surely do not; search surely helps {said_of(own)} of 2.",
        judged,
        where,
        sampled,
        verdict=settled(beside),
        tables=[
            measure_table(
                f"Small cluster, rho {setup.rho:g}, {jobs} jobs",
                "policy",
                {w.label: [outcome(w, setup, seed).measures for seed in sampled] for w in who},
            )
            for setup, who in ((low, (*HEURISTICS, MOSA, MALO, *WITHOUT_SEARCH)), (high, players))
        ],
        remark="Both begin with FIFO and shortest estimate first on as few machines as possible. They "
        "estimate durations and foresee no arrivals.",
    )


# --- The price of search -----------------------------------------------------------------------------------

BUDGETS = (MOSA, MALO)
MUCH = 10.0
"""How many times slower is "much less efficient" (a threshold of ours)."""


def seconds_per_decision(policy: Policy, sampled: PlacementInstance, seed: int) -> float:
    """Return the mean CPU seconds of the decisions of a run."""
    policy.start(sampled.setting, policy_stream(seed))
    spent, count = 0.0, 0
    episode = sampled.episode(policy.traits.sees)
    for observation in episode:
        start = time.process_time()
        decision = policy.decide(observation)
        spent += time.process_time() - start
        count += 1
        episode.apply(decision)
    return spent / count


@claim(
    "search-cost",
    "Sec. 2.1, Sec. 5.2",
    Verdict.HOLDS,
    says="Metaheuristics are much less efficient.",
    how=f"CPU time of a decision over that of FIFO-FirstFit, with the budgets of Table 2; {MUCH:g} times is "
    f"much.",
)
def search_cost(context: Context) -> Finding:
    sampled = seeds(context, 2, 3, 10)
    setup = Setup(context.pick(30, 60, 300), rho=2.0)
    for who in (FIFO_FF, *BUDGETS):
        play(who.make(), generate("tiny", 0, jobs=4))  # compiles
    took = {
        who.label: np.array(
            [seconds_per_decision(who.make(), instance(setup, s), policy_seed(s)) for s in sampled]
        )
        for who in track(context, (FIFO_FF, *BUDGETS))
    }
    often = {who: took[who.label] >= MUCH * took[FIFO_FF.label] for who in BUDGETS}
    said = [
        Fact(
            f"a decision takes {who.label} at least {MUCH:g} times as long as FIFO-FirstFit",
            f"on {times.sum()} of {len(sampled)} instances",
            bool(times.all()),
        )
        for who, times in often.items()
    ]
    return found(
        context,
        f"A decision of MOSA and MALO takes at least {MUCH:g} times as long as one of FIFO-FirstFit on "
        f"{min(int(times.sum()) for times in often.values())} of {len(sampled)} instances.",
        judge(said),
        [""],
        sampled,
        assumes=f"{MUCH:g} times is a threshold of ours.",
        remark='That they are "about 50 times slower than DAS" needs DAS. Times are not stored.',
    )


def _gantt(setup: Setup, seed: int, best: Optimum) -> Figure:
    """Return charts of the optimum and of FIFO-FirstFit on one instance."""
    sampled = instance(setup, seed)
    share = outcome(FIFO_FF, setup, seed).cost / best.value
    name = "Optimum" if best.gap == 0.0 else "Best schedule found"
    panels = {name: best.decision, FIFO_FF.label: outcome(FIFO_FF, setup, seed).schedule}
    text = (
        f"{name} and FIFO-FirstFit on the instance where that is furthest from it ({share:.2f} times the "
        f"JCT): {len(sampled.jobs)} jobs, numbered by submission, on 2 machines of 4 GPUs; below each chart, "
        f"how many jobs wait. {NOTE}."
    )
    return Figure("placement-gantt", text, to_svg(gantt_panels(sampled, panels)))


# --- Sec. 2.1: how far heuristics are from the optimum -----------------------------------------------------


@claim(
    "sub-optimal",
    "Sec. 2.1",
    Verdict.HOLDS,
    says="Heuristics are often sub-optimal.",
    how="Against the exact optimum on small instances: often is more often than not. Beside it, the distance "
    "from a certified bound on large ones.",
)
def sub_optimal(context: Context) -> Finding:
    players = (*HEURISTICS, *OURS)
    sampled, many = seeds(context, 12, 20, 30), seeds(context, 3, 5, 20)
    tiny = Setup(context.pick(6, 6, 8), None, 3.0, size="tiny")
    base = Setup(context.pick(60, 200, 1000), rho=2.0)
    for seed in track(context, sampled):
        optimum(tiny, seed)
    best = [optimum(tiny, seed) for seed in sampled]
    intervals = {
        who: np.array(
            [ratio(o, outcome(who, tiny, seed).cost) for o, seed in zip(best, sampled, strict=True)]
        )
        for who in players
    }
    said = [
        Statement(
            f"{who.label} is above the optimum more often than not",
            {"": 100.0 * (intervals[who][:, 0] > 1.0 + 1e-9) - 50.0},
            "points above 50 %",
        )
        for who in HEURISTICS
    ]
    gaps = {
        who: np.array(
            [
                [above(outcome(who, base.on(c), s).measures[JCT], bound(base.on(c), s)) for c in CLUSTERS]
                for s in many
            ]
        )
        for who in players
    }
    worst = int(np.argmax(intervals[FIFO_FF][:, 0]))
    proved = sum(o.gap == 0.0 for o in best)
    judged = judge(said)
    return found(
        context,
        f"{said_of(judged)} of {len(said)} heuristics of the paper surely miss the optimum of small "
        f"instances more often than not.",
        judged,
        [""],
        sampled,
        tables=(
            Table(
                f"Cost over optimum, {tiny.jobs} jobs on 2 x 4 GPUs, {len(sampled)} instances, {proved} "
                f"optima proved. {NOTE}",
                ("policy", "mean", "most", "optimal on"),
                tuple(
                    (
                        who.label,
                        round(float(of[:, 0].mean()), 3),
                        round(float(of[:, 0].max()), 3),
                        int((of[:, 1] <= 1.0 + 1e-9).sum()),
                    )
                    for who, of in intervals.items()
                ),
            ),
            Table(
                f"JCT above a certified bound (%), {base.jobs} jobs, rho 2 on Small, {len(many)} instances, "
                f"mean ± 95 % half width. {NOTE}",
                ("policy", *(c.capitalize() for c in CLUSTERS)),
                tuple((who.label, *(spread(column) for column in of.T)) for who, of in gaps.items()),
            ),
        ),
        figures=(
            bars(
                "gap",
                f"JCT above a certified bound, {base.jobs} jobs, rho 2 on Small.",
                [c.capitalize() for c in CLUSTERS],
                {who.label: of for who, of in gaps.items()},
                "JCT above the bound (%)",
            ),
            _gantt(tiny, sampled[worst], best[worst]),
        ),
        remark="Optimum and bound know all jobs and durations beforehand, so the gap is in part the price of "
        "not knowing.",
    )


# --- Sec. 5.2: the size of the cluster, JCT and fee --------------------------------------------------------


def apart(a: Contender, b: Contender, setup: Setup, sampled: Sequence[int]) -> np.ndarray:
    """Return by how many per cent the JCT of two contenders differ, seed by seed."""
    return abs(excess(samples(a, setup, sampled, JCT), samples(b, setup, sampled, JCT)))


@claim(
    "cluster-size",
    "Sec. 5.2, Appendix E",
    Verdict.UNDETERMINED,
    says="For the same jobs scheduling decisions matter less on a larger cluster.",
    how="JCT on three clusters, and how far apart two orders and two placing rules are in it, paired.",
    choices=(LOADS, SLOWDOWN),
)
def cluster_size(context: Context) -> Finding:
    sampled, where = seeds(context, 10, 10, 20), places(context, 200)
    pairs = {
        "order of jobs (DRF or FIFO)": (DRF_FF, FIFO_FF),
        "placing (LoadBalance or FirstFit)": (FIFO_LB, FIFO_FF),
    }
    players = (FIFO_FF, FIFO_LB, DRF_FF)
    play_all(context, [(w, s.on(c)) for s in where.values() for c in CLUSTERS for w in players], sampled)
    said: list[Said] = [
        Statement(
            f"the JCT of the same jobs is smaller on {large.capitalize()} than on {small.capitalize()}",
            {
                name: excess(*(samples(FIFO_FF, s.on(c), sampled, JCT) for c in (small, large)))
                for name, s in where.items()
            },
            "%",
        )
        for small, large in pairwise(CLUSTERS)
    ]
    said += [
        Statement(
            f"the {what} matters less on Large than on Small",
            {
                name: apart(*pair, s.on("small"), sampled) - apart(*pair, s.on("large"), sampled)
                for name, s in where.items()
            },
            "points",
        )
        for what, pair in pairs.items()
    ]
    judged = judge(said, where)
    order, placing = (one.signs for one in judged[-2:])
    first = where["rho 2"]
    return found(
        context,
        f"In {len(where)} cases of load and slowdown order surely matters less on Large in "
        f"{order.count(True)}, placing in {placing.count(True)}, and placing surely more in "
        f"{placing.count(False)}.",
        judged,
        where,
        sampled,
        verdict=settled(judged),
        figures=(
            bars(
                "cluster-size",
                f"How far apart two policies are in JCT, whichever is ahead; {first.jobs} jobs, rho 2 on "
                f"Small.",
                [c.capitalize() for c in CLUSTERS],
                {
                    what: np.column_stack([apart(*pair, first.on(c), sampled) for c in CLUSTERS])
                    for what, pair in pairs.items()
                },
                "absolute difference of the JCT (%)",
            ),
        ),
    )


@claim(
    "stronger-baselines",
    "Sec. 5.1.5, Sec. 5.2",
    Verdict.HOLDS,
    says="The comparison lacks two simple rules that are better than FIFO-FirstFit on Small where jobs "
    "contend: FIFO on as few machines as possible, and shortest job first if durations are known.",
    how="Both against FIFO-FirstFit, paired.",
    ours=True,
    choices=(LOADS, SLOWDOWN),
)
def stronger_baselines(context: Context) -> Finding:
    sampled = seeds(context, 10, 20, 20)
    where = {name: setup for name, setup in places(context, 200).items() if setup.contention}
    players = (FIFO_FF, FIFO_LB, *OURS)
    play_all(context, [(w, s) for s in where.values() for w in players], sampled)
    said = [
        Statement(f"{who.label} has less JCT than FIFO-FirstFit", ahead(who, FIFO_FF, where, sampled), "%")
        for who in OURS
    ]
    judged = judge(said, where)
    sure = [sum(sign is True for sign in one.signs) for one in judged]
    series = {
        who.label: np.column_stack(list(ahead(FIFO_FF, who, where, sampled).values())) for who in players[1:]
    }
    return found(
        context,
        f"FIFO on as few machines as possible is surely ahead of FIFO-FirstFit at {sure[0]} of {len(where)} "
        f"loads and slowdowns, shortest job first at {sure[1]}.",
        judged,
        where,
        sampled,
        figures=(
            bars(
                "stronger-baselines",
                f"JCT against that of FIFO-FirstFit; negative is better. Small, {where['rho 2'].jobs} jobs.",
                list(where),
                series,
                "JCT against FIFO-FirstFit (%)",
            ),
        ),
        remark="SJF-Consolidate knows the durations, so it says what they would be worth.",
    )


def tau(pairs: np.ndarray) -> float:
    """Return Kendall's rank correlation of two columns."""
    from scipy import stats

    return float(stats.kendalltau(pairs[:, 0], pairs[:, 1]).statistic)


@claim(
    "jct-and-fee",
    "Sec. 5.2, Appendix A",
    Verdict.NOT_REPRODUCED,
    says="Among the baselines a low JCT and a low fee hardly go together.",
    how="Rank correlation of JCT and fee over the five heuristics in paired runs on Small: in a trade-off it "
    "is negative. Beside it, with our two.",
    choices=(LOADS, SLOWDOWN),
)
def jct_and_fee(context: Context) -> Finding:
    sampled = seeds(context, 10, 30, 40)
    where = {name: s for name, s in places(context, 200).items() if s.contention}  # else there is one fee
    players = (*HEURISTICS, *OURS)
    play_all(context, [(w, s) for s in where.values() for w in players], sampled)
    said = [
        Statement(
            f"over {of} a lower JCT goes with a higher fee",
            {
                name: np.array(
                    [
                        -tau(np.array([[outcome(w, s, seed).measures[m] for m in (JCT, FEE)] for w in who]))
                        for seed in sampled
                    ]
                )
                for name, s in where.items()
            },
            "(Kendall's tau, sign turned)",
            2,
        )
        for who, of in ((HEURISTICS, "the five heuristics"), (players, "these and our two"))
    ]
    taus = [-float(turned.mean()) for turned in said[0].samples.values()]
    judged = judge(said, where)
    return found(
        context,
        f"JCT and fee of the heuristics have a rank correlation of {min(taus):.2f} to {max(taus):.2f}, by "
        f"load and slowdown; a trade-off needs a negative one.",
        judged,
        where,
        sampled,
        verdict=settled(judged[:1]),
        assumes=MODEL + " Without slowdown all fees are equal.",
        remark="What is placed on fewer machines runs shorter, costs less and frees its GPUs sooner. Five "
        "baselines are few, and learned ones are not among them.",
    )


# --- Figure 4: the jobs ------------------------------------------------------------------------------------

FEW, BIG = 4, 32
"""GPUs of the jobs that are small (Appendix G) and big (Sec. 5.1.2: more than these)."""


@claim(
    "figure-4",
    "Figure 4, Appendix G",
    Verdict.HOLDS,
    says="Most jobs need few GPUs and are short, a certain proportion needs more than 32.",
    how="The jobs that our generator makes. It says whether they are like those of the paper, no more.",
)
def figure_4(context: Context) -> Finding:
    sampled = seeds(context, 4, 10, 20)
    jobs = context.pick(500, 1000, 4000)
    few, big, short = (np.zeros(len(sampled)) for _ in range(3))
    for row, seed in track(context, enumerate(sampled)):
        made = instance(Setup(jobs), seed)
        gpus, ticks = made.jobs.gpus, made.jobs.duration
        few[row] = 100.0 * (gpus <= FEW).mean()
        big[row] = 100.0 * (gpus > BIG).mean()
        short[row] = 100.0 * (ticks < ticks.mean()).mean()
    said = [
        Statement(f"most jobs need at most {FEW} GPUs", {"": few - 50.0}, "points above 50 %"),
        Statement(f"some need more than {BIG} GPUs", {"": big}, "%"),
        Statement("fewer do than need few", {"": few - big}, "points"),
        Statement("most are shorter than the mean", {"": short - 50.0}, "points above 50 %"),
    ]
    return found(
        context,
        f"Of the generated jobs {few.mean():.0f} % need at most {FEW} GPUs, {big.mean():.1f} % more than "
        f"{BIG}, and most are short.",
        judge(said),
        [""],
        sampled,
        assumes="The laws are fitted to public traces of the same clusters; the paper's own list of jobs is "
        "not published.",
    )


HOURS = 6
"""The number of busiest hours, and of quietest ones, that are compared (ours)."""


def by_hours(submit: np.ndarray) -> float:
    """Return by how many per cent more jobs come in the sub-sample's busiest hours than in its quietest."""
    busy = np.argsort(HOURLY)
    counts = np.bincount(submit // (3600 * TICKS) % 24, minlength=24)
    return above(float(counts[busy[-HOURS:]].sum()), float(counts[busy[:HOURS]].sum()))


@claim(
    "figure-4-hours",
    "Figure 4(b), Sec. 5.1.2",
    Verdict.HOLDS,
    says="How many jobs are submitted depends on the hour of the day.",
    how=f"Generated jobs in the {HOURS} hours that are the busiest in the public sub-sample against the "
    f"{HOURS} quietest, and against what the sub-sample has.",
)
def figure_4_hours(context: Context) -> Finding:
    sampled, jobs = seeds(context, 6, 10, 20), context.pick(1000, 1000, 4000)
    more = np.array([by_hours(instance(Setup(jobs), s).jobs.submit) for s in track(context, sampled)])
    hourly = np.sort(HOURLY)
    known = above(float(hourly[-HOURS:].sum()), float(hourly[:HOURS].sum()))
    said = [
        Statement("more jobs come in the busy hours", {"": more}, "% more"),
        Printed(f"in the sub-sample {known:.0f} % more do", {"": more}, "% more", number=known),
    ]
    return found(
        context,
        f"In the {HOURS} busiest hours {more.mean():.0f} % more generated jobs are submitted than in the "
        f"{HOURS} quietest; {known:.0f} % in the public sub-sample.",
        judge(said),
        [""],
        sampled,
        assumes="Hours are those of the public sub-sample (UTC+8). The numbers of Figure 4(b) are not "
        "printed.",
    )


# --- Figure 7: the arrival rate ----------------------------------------------------------------------------

RATES = {"Low": 0.5, "Normal": 1.0, "High": 2.0}
"""Levels of Figure 7 and how much faster jobs arrive."""


Levels = Mapping[str, Sequence[Setup]]
"""By what is left open, the setups of the three levels."""


def gains(
    levels: Levels, sampled: Sequence[int], better: Contender, other: Contender, measure: str
) -> dict[str, np.ndarray]:
    """Return by how many per cent the better one is below, shape (levels, seeds)."""
    return {
        name: np.array(
            [-excess(*(samples(who, s, sampled, measure) for who in (better, other))) for s in three]
        )
        for name, three in levels.items()
    }


def _by_rate(levels: Levels, sampled: Sequence[int], players: Sequence[Contender]) -> tuple[Figure, ...]:
    """Return measures by the arrival rate, and the queue at the highest one, in the last of the scenarios."""
    (name, three), players = list(levels.items())[-1], list(players)
    waiting, waits = queue_over_time(players, three[-1], sampled)
    panels = {
        f"{measure.split()[0]} against FIFO-FirstFit (%)": {
            who.label: -gains(levels, sampled, who, FIFO_FF, measure)[name].T for who in players[1:]
        }
        for measure in (JCT, FEE)
    }
    return (
        curves(
            "figure-7",
            f"JCT and fee by the arrival rate; negative is better. {name}, {three[0].jobs} jobs.",
            list(RATES.values()),
            panels,
            "arrival rate, relative to Normal",
        ),
        curves(
            "queue",
            f"Jobs that wait, over time, at High load, Small cluster, {three[0].jobs} jobs.",
            waiting,
            {"jobs waiting": waits},
            "time until the last submission (%)",
        ),
    )


@claim(
    "figure-7",
    "Figure 7, Appendix E",
    Verdict.UNDETERMINED,
    says="JCT and its improvement grow with the arrival rate; the fee is improved the most at the Normal "
    "one.",
    how="Arrivals at half, once and twice the rate for the same jobs on Small; better ordering and placing "
    "by heuristics in place of DAS and RIFLING.",
    choices=("load at the Normal rate", "who stands for the better scheduler"),
)
def figure_7(context: Context) -> Finding:
    sampled, jobs = seeds(context, 10, 12, 20), context.pick(200, 300, 4000)
    levels = {
        f"rho {rho:g} at Normal": [Setup(jobs, rho=rho * rate) for rate in RATES.values()]
        for rho in context.pick((2.0,), (0.8, 2.0), (0.8, 2.0))
    }
    players = (FIFO_FF, FIFO_LB, FIFO_C, SJF_C)
    play_all(context, [(w, s) for three in levels.values() for s in three for w in players], sampled)

    def change(says: str, found: Mapping[str, np.ndarray], high: int, low: int) -> Statement:
        return Statement(says, {name: of[high] - of[low] for name, of in found.items()}, "points")

    order = gains(levels, sampled, SJF_C, FIFO_C, JCT)
    rule, saved = (gains(levels, sampled, FIFO_C, FIFO_FF, measure) for measure in (JCT, FEE))
    said: list[Said] = [
        Statement(
            f"the JCT of {who.label} is larger at High than at Low",
            {
                name: excess(*(samples(who, three[i], sampled, JCT) for i in (2, 0)))
                for name, three in levels.items()
            },
            "%",
        )
        for who in players[:3]
    ]
    what = "the gain in JCT of {} is larger at High than Low"
    said += [
        change(what.format("a better order (SJF- over FIFO-Consolidate)"), order, 2, 0),
        change(what.format("better placing (FIFO-Consolidate over -FirstFit)"), rule, 2, 0),
        change("the fee saved by better placing is larger at Normal than Low", saved, 1, 0),
        change("... and smaller at High than Normal", saved, 1, 2),
    ]
    judged = judge(said, levels)
    return found(
        context,
        f"With the arrival rate JCT surely grows for {said_of(judged[:3])} of 3 heuristics, its improvement "
        f"in {said_of(judged[3:5])} of 2, fees as said in {said_of(judged[5:])} of 2.",
        judged,
        levels,
        sampled,
        verdict=settled(judged),
        figures=_by_rate(levels, sampled, players),
        remark="Figure 7 is about DAS and RIFLING; here heuristics stand for better ordering and better "
        "placing, and the order is clairvoyant.",
    )


# --- Appendix G: what a test over jobs says ----------------------------------------------------------------


class RandomFit:
    """FIFO on machines in random order; two seeds are equally good."""

    name = "fifo-randomfit"
    traits = Traits(problem="placement", randomised=True)

    def start(self, setting: object, rng: np.random.Generator) -> None:
        """Take the random numbers."""
        self._rng = rng

    def decide(self, observation: Observation) -> np.ndarray:
        """Return the rows (job, machine, count) that start now."""
        jobs, machines = len(observation.jobs), len(observation.free)
        return place(observation, -np.arange(jobs), self._rng.random((jobs, machines)))


LEVEL = 0.05


def differ(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether a two-sided Wilcoxon signed-rank test over the jobs finds a difference."""
    from scipy import stats

    difference = one - other
    difference = difference[difference != 0.0]
    return bool(len(difference)) and bool(stats.wilcoxon(difference).pvalue < LEVEL)


def rejections(setup: Setup, sampled: Sequence[int], pairs: int) -> dict[str, np.ndarray]:
    """Return in how many per cent of pairs of equal policies a test over the jobs finds a difference."""
    rates = {"JCT": np.zeros(len(sampled)), "fee": np.zeros(len(sampled))}
    for row, seed in enumerate(sampled):
        made = instance(setup, seed)
        for pair in range(pairs):
            runs = [
                play(RandomFit(), made, policy_seed(seed) + 2 * pair + i, keep_decisions=True) for i in (0, 1)
            ]
            one, other = (followed(made, run.decisions or ()) for run in runs)
            for name, of in (("JCT", made.completion_times), ("fee", made.fees)):
                rates[name][row] += 100.0 * differ(of(one), of(other)) / pairs
    return rates


@claim(
    "test-over-jobs",
    "Table 3, Appendix G",
    Verdict.NOT_REPRODUCED,
    says="A Wilcoxon signed-rank test on JCT and fee of the jobs shows that an improvement is significant.",
    how="The test over the jobs of a trace for two seeds of one randomised policy: it may find a difference "
    "as often as its level says.",
    choices=(LOADS, "what is paired: jobs of one trace under two schedulers is our reading"),
)
def test_over_jobs(context: Context) -> Finding:
    sampled, pairs = seeds(context, 20, 20, 30), context.pick(3, 3, 10)
    jobs = context.pick(100, 150, 1000)
    where = {f"rho {rho:g}": Setup(jobs, rho=rho) for rho in (2.0, 4.0)}
    rates = {name: rejections(setup, sampled, pairs) for name, setup in track(context, where.items())}
    said = [
        Statement(
            f"equal policies differ with p < {LEVEL:g} in at most {100 * LEVEL:g} % of the pairs ({of})",
            {name: 100.0 * LEVEL - rate[of] for name, rate in rates.items()},
            "points below the level",
        )
        for of in ("JCT", "fee")
    ]
    often = [float(of.mean()) for rate in rates.values() for of in rate.values()]
    return found(
        context,
        f"Over the jobs of a trace the test tells a policy from itself in {min(often):.0f} to "
        f"{max(often):.0f} % of cases, its level being {100 * LEVEL:g} %.",
        judge(said, where),
        where,
        sampled,
        assumes="The jobs of one trace are not independent: a delay of one passes on to those behind it.",
        remark="FIFO with two random orders of the machines is the same policy. What is compared must be "
        "paired over traces.",
    )


CLAIMS = claim.claims
