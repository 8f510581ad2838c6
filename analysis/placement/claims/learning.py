"""Claims about the networks of the paper, trained: Table 1 and 3, Figures 5(a, b) and 7.

The networks are those that come with the package. They were trained and chosen on instances of other seeds
than those that are played here (:mod:`...online.placement.learned.plan`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ...claim import Claim, Context, Finding, Table, Verdict
from ...experiments import Statement, seeds, spread
from ...statistics import mean_interval
from ..experiments import (
    CLUSTERS,
    FEE,
    HEURISTICS,
    JCT,
    NOTE,
    Contender,
    Setup,
    excess,
    instance,
    settled,
    statement_table,
)
from ..measures import above
from .evaluation import (
    LEVEL,
    MALO,
    MOSA,
    RATES,
    as_amended,
    at_level,
)
from .table_1 import BASELINES, TABLE_1, column
from .trained import (
    CONTROLS,
    FIFO,
    JUDGED,
    MEASURES,
    OTHER_SETTINGS,
    UNSEEN,
    WORD,
    Group,
    Versus,
    alone,
    base_setup,
    below_all,
    chart,
    claimed,
    compare,
    contrast,
    counted,
    ends,
    enough,
    joined,
    learned_claim,
    level_table,
    outcomes,
    play_all,
    refuting,
    too_few,
    traces,
    trained,
    trainings,
    untrained,
    values,
    versus_table,
    width,
)

# --- Table 1 -----------------------------------------------------------------------------------------------


def _paper(context: Context) -> dict[str, Group]:
    """Return the designs of the paper that learn."""
    labels = {
        "da": "DA",
        "da-mc": "DA+MC",
        "da-rwgp": "DA+RWGP",
        "das": "DAS",
        "dl2": "DL2",
        "rifling": "RIFLING",
    }
    return {label: trained(name, label, context) for name, label in labels.items()}


def _check_table_1(context: Context) -> Finding:
    paper = _paper(context)
    if (missing := too_few(list(paper.values()))) is not None:
        return missing
    das, rifling, dl2 = paper["DAS"], paper["RIFLING"], paper["DL2"]
    simple = [alone(who) for who in HEURISTICS]
    searches = [alone(MOSA), alone(MALO)]
    beside = enough([trained("clone-ppo", "Clone-then-PPO", context)])
    blank = untrained("das", "untrained DAS", context.pick(2, CONTROLS, 10))
    rivals = [*simple, *searches, dl2, rifling]
    everyone = [*rivals, *list(paper.values())[:4], *beside, blank, FIFO]
    sampled, small = traces(context), base_setup(context)
    places = {cluster: small.on(cluster) for cluster in CLUSTERS}
    few = [*simple, dl2, rifling, das, FIFO]
    field = {c: everyone if c == "small" or context.mode == "full" else few for c in CLUSTERS}
    play_all(context, [(group, places[c]) for c in CLUSTERS for group in field[c]], sampled)

    def each(a: Group, b: Group, measure: str) -> dict[str, Versus]:
        return {c.capitalize(): compare(a, b, setup, sampled, measure) for c, setup in places.items()}

    there = {c: [b for b in rivals if b in field[c]] for c in CLUSTERS}
    best = [below_all(das, there[c], c, places[c], sampled, m) for c in CLUSTERS for m in MEASURES]
    learned, rules = joined("the learned baselines", [dl2, rifling]), joined("the heuristics", simple)
    rest = [
        claimed(
            f"DL2 and RIFLING are on average below the five heuristics in {WORD[m]}", each(learned, rules, m)
        )
        for m in MEASURES
    ]
    rest += [claimed("RIFLING has a lower fee than DL2", each(rifling, dl2, FEE))]
    rest += [claimed("DL2 has a lower JCT than RIFLING", each(dl2, rifling, JCT))]
    ours = {m: compare(das, FIFO, small, sampled, m) for m in MEASURES}
    to_rifling = {m: compare(das, rifling, small, sampled, m) for m in MEASURES}
    printed = above(TABLE_1["DAS"].jct[0], TABLE_1["RIFLING"].jct[0])
    refused = {places[c]: group for c, group in there.items()}
    return Finding(
        settled(best),
        f"Of {len(best)} statements that DAS is below all of its rivals in a column of Table 1, "
        f"{counted(best)}. On Small, DAS against RIFLING: JCT {to_rifling[JCT]}, printed {printed:.1f} %; "
        f"fee {to_rifling[FEE]}. DAS against FIFO-Consolidate, which the paper does not compare with: JCT "
        f"{ours[JCT]}; fee {ours[FEE]}. Surely not above DAS: {refuting(das, refused, sampled)}. The "
        "networks were trained for minutes of one processor core; the paper does not say for how long.",
        {
            "instances": len(sampled),
            "jobs": small.jobs,
            **trainings(everyone),
            **{
                f"DAS over {b.label} on Small, {WORD[m]} (%)": round(found.over_traces.difference.mean, 2)
                for b, both in ((rifling, to_rifling), (FIFO, ours))
                for m, found in both.items()
            },
        },
        tables=(
            statement_table([*best, *rest]),
            *(
                level_table(f"{c.capitalize()}, {s.jobs} jobs", field[c], s, sampled)
                for c, s in places.items()
            ),
            *(
                versus_table(
                    f"{c.capitalize()}, DAS and its rivals, and all against FIFO-Consolidate",
                    [*((das, b) for b in there[c]), *((a, FIFO) for a in field[c][:-1])],
                    s,
                    sampled,
                )
                for c, s in places.items()
            ),
        ),
        figures=tuple(
            chart(
                f"table-1-{c}",
                f"Trained networks and baselines on {c.capitalize()}.",
                field[c][:-1],
                FIFO,
                s,
                sampled,
            )
            for c, s in places.items()
        ),
    )


# --- Sec. 5.3: ablation ------------------------------------------------------------------------------------

STEPS = (("DA+MC", "DA"), ("DA+RWGP", "DA"), ("DAS", "DA+MC"), ("DAS", "DA+RWGP"))
"""Designs, and the same without one of the modules."""


def _check_ablation(context: Context) -> Finding:
    paper = _paper(context)
    if (missing := too_few(list(paper.values()))) is not None:
        return missing
    sampled, small = traces(context), base_setup(context)
    play_all(context, [(group, small) for group in (*paper.values(), FIFO)], sampled)
    pairs = [(paper[a], paper[b]) for a, b in STEPS]
    found = {(a.label, b.label, m): compare(a, b, small, sampled, m) for a, b in pairs for m in MEASURES}
    statements = [
        claimed(f"{a} is below {b} in {WORD[m]}", {"Small": one}) for (a, b, m), one in found.items()
    ]
    agents = [(paper["DA"], paper[name]) for name in ("DL2", "RIFLING")]
    beside = [
        claimed(
            f"{a.label} is below {b.label} in JCT (beside)", {"Small": compare(a, b, small, sampled, JCT)}
        )
        for a, b in agents
    ]
    return Finding(
        as_amended(statements, []),
        f"On Small, of {len(statements)} statements that a module improves a metric, {counted(statements)}. "
        f"DAS against DA: JCT {compare(paper['DAS'], paper['DA'], small, sampled, JCT)}. When means of the "
        "actions are played the process changes no decision (placement/mean-actions), so what it adds can "
        "only come from what it did to the training. The paper does not say how many trainings it averages.",
        {
            "instances": len(sampled),
            "jobs": small.jobs,
            **trainings(list(paper.values())),
            **{
                f"{a} over {b}, {WORD[m]} (%)": round(one.over_traces.difference.mean, 2)
                for (a, b, m), one in found.items()
            },
        },
        tables=(
            statement_table([*statements, *beside]),
            level_table("Small, rho 0.8", [*paper.values(), FIFO], small, sampled),
            versus_table(
                "Small, rho 0.8",
                [*pairs, *agents, *((group, FIFO) for group in paper.values())],
                small,
                sampled,
            ),
        ),
    )


# --- Table 3: tests over jobs ------------------------------------------------------------------------------


def _check_table_3(context: Context) -> Finding:
    das, rifling = trained("das", "DAS", context), trained("rifling", "RIFLING", context)
    if (missing := too_few([das, rifling])) is not None:
        return missing
    sampled, small = seeds(context, 6, 20, 30), Setup(context.pick(60, 150, 1000))
    play_all(context, [(group, small) for group in (das, rifling, FIFO)], sampled)
    tests = {
        "two trainings of DAS": list(combinations(das.members, 2)),
        "two trainings of RIFLING": list(combinations(rifling.members, 2)),
        "a training of DAS and one of RIFLING": [(a, b) for a in das.members for b in rifling.members],
    }
    rates = {
        (name, of): np.array([_share_significant(pairs, small, seed, of) for seed in sampled])
        for name, pairs in tests.items()
        for of in ("JCT", "fee")
    }
    statements = [
        Statement(
            f"{name} differ with p < {LEVEL:g} over the jobs of a trace in about {100 * LEVEL:g} % of the "
            f"pairs ({of})",
            f"in {spread(found)} %",
            at_level(found),
        )
        for (name, of), found in rates.items()
        if name.startswith("two")
    ]
    over = {m: compare(das, rifling, small, sampled, m) for m in MEASURES}
    listed = "; ".join(f"{name} in {spread(rates[name, 'JCT'])} %" for name in tests)
    return Finding(
        settled(statements),
        "Table 3 does not say what its test pairs; we read: the same jobs under two schedulers. That test "
        f"finds p < {LEVEL:g} for the JCT between {listed} of the pairs. Two trainings of one design are one "
        "method: what the test finds between two designs may be seeds alone. Over traces, all trainings "
        f"in, DAS against RIFLING: JCT {over[JCT]}; fee {over[FEE]}.",
        {
            "instances": len(sampled),
            "jobs": small.jobs,
            **trainings([das, rifling]),
            **{
                f"p < {LEVEL:g}, {name}, {of} (%)": round(float(v.mean()), 1)
                for (name, of), v in rates.items()
            },
            "DAS and RIFLING, p over traces, JCT": round(over[JCT].over_traces.p, 4),
            "DAS and RIFLING, p over traces, fee": round(over[FEE].over_traces.p, 4),
        },
        tables=(
            statement_table(statements),
            Table(
                f"How often the Wilcoxon test over the jobs of a trace finds p < {LEVEL:g}, {len(sampled)} "
                f"instances of {small.jobs} jobs. {NOTE}",
                ("between", "pairs per instance", "JCT (% of the pairs)", "fee (% of the pairs)"),
                tuple(
                    (name, len(pairs), spread(rates[name, "JCT"]), spread(rates[name, "fee"]))
                    for name, pairs in tests.items()
                ),
            ),
            versus_table("Small, rho 0.8", [(das, rifling), (das, FIFO), (rifling, FIFO)], small, sampled),
        ),
    )


def _share_significant(
    pairs: Sequence[tuple[Contender, Contender]], setup: Setup, seed: int, of: str
) -> float:
    """Return in how many per cent of the pairs the test over the jobs of a trace finds a difference."""
    from scipy import stats

    made = instance(setup, seed)
    taken = {"JCT": made.completion_times, "fee": made.fees}[of]
    count = 0
    for a, b in pairs:
        (one,), (other,) = (outcomes(who, setup, [seed]) for who in (a, b))
        difference = taken(one.schedule) - taken(other.schedule)
        difference = difference[difference != 0.0]
        count += bool(len(difference)) and float(stats.wilcoxon(difference).pvalue) < LEVEL
    return 100.0 * count / len(pairs)


# --- Untrained networks ------------------------------------------------------------------------------------


def _lead_in_print(cluster: int) -> float:
    """Return by how many per cent DAS is below the best baseline in JCT on a cluster in Table 1."""
    jct = column("jct", cluster)
    return -above(jct["DAS"], min(jct[name] for name in BASELINES))


def _check_untrained(context: Context) -> Finding:
    das = trained("das", "DAS", context)
    if (missing := too_few([das])) is not None:
        return missing
    sampled, small = traces(context), base_setup(context)
    blank = untrained("das", "untrained DAS", context.pick(3, 10, 20))
    groups, places = (das, blank, FIFO), {cluster: small.on(cluster) for cluster in CLUSTERS}
    play_all(context, [(group, s) for s in places.values() for group in groups], sampled)
    wide = {(g.label, c): _width(g, s, sampled) for c, s in places.items() for g in (das, blank)}
    printed = {c: _lead_in_print(at) for at, c in enumerate(CLUSTERS)}
    statements = [
        Statement(
            f"{c.capitalize()}: {len(blank)} untrained networks are as far apart in JCT as DAS and the best "
            f"baseline in Table 1, {gain:.1f} %",
            f"{spread(wide[blank.label, c])} points of per cent between the worst and the best",
            _reaches(wide[blank.label, c], gain),
        )
        for c, gain in printed.items()
    ]
    beside = [
        claimed(
            f"training on Small lowers the {WORD[m]} (beside)",
            {c.capitalize(): compare(das, blank, s, sampled, m) for c, s in places.items()},
        )
        for m in MEASURES
    ]
    against = "; ".join(
        f"{c.capitalize()} {compare(blank, FIFO, s, sampled, JCT)}" for c, s in places.items()
    )
    width = {g.label: ", ".join(spread(wide[g.label, c]) for c in CLUSTERS) for g in (das, blank)}
    return Finding(
        as_amended(statements[1:], statements[:1]),
        f"Between the worst and the best of {len(blank)} networks that never learned are on Small, Medium "
        f"and Large {width[blank.label]} points of JCT, of {len(das)} trained ones {width[das.label]} (told "
        "apart on other traces: 0 if all are alike). In Table 1 DAS leads by "
        f"{', '.join(f'{gain:.1f}' for gain in printed.values())} %, with one training for all we know. JCT "
        f"of untrained networks against FIFO-Consolidate: {against}.",
        {
            "instances": len(sampled),
            "jobs": small.jobs,
            **trainings([das, blank]),
            **{
                f"worst to best, {label}, {c} (%)": round(float(v.mean()), 2)
                for (label, c), v in wide.items()
            },
            **{f"lead of DAS in Table 1, {c} (%)": round(gain, 2) for c, gain in printed.items()},
        },
        tables=(
            statement_table([*statements, *beside]),
            *(level_table(c.capitalize(), groups, s, sampled) for c, s in places.items()),
            *(
                versus_table(c.capitalize(), [(das, blank), (das, FIFO), (blank, FIFO)], s, sampled)
                for c, s in places.items()
            ),
        ),
    )


def _width(group: Group, setup: Setup, sampled: Sequence[int]) -> np.ndarray:
    """Return how far the worst training is above the best in JCT, in per cent of FIFO-Consolidate's."""
    return width(excess(values(group, setup, sampled, JCT), values(FIFO, setup, sampled, JCT)[0]))


def _reaches(found: np.ndarray, limit: float) -> bool | None:
    """Return whether a mean over the instances is at least a limit: ``None`` if its interval holds that."""
    _, low, high = mean_interval(found)
    return True if low >= limit else False if high < limit else None


# --- Figure 5 ----------------------------------------------------------------------------------------------

HEADS = {"da-mc-h1": 1, "da-mc-h2": 2, "da-mc": 4, "da-mc-h8": 8}
"""Networks of DA+MC by their number of heads."""


def _check_heads(context: Context) -> Finding:
    groups = {
        h: trained(name, f"DA+MC, {h} heads" if h > 1 else "DA+MC, 1 head", context)
        for name, h in HEADS.items()
    }
    rifling = trained("rifling", "RIFLING", context)
    if (missing := too_few([*groups.values(), rifling])) is not None:
        return missing
    sampled, small = traces(context), base_setup(context)
    everyone = [*groups.values(), rifling, FIFO]
    play_all(context, [(group, small) for group in everyone], sampled)
    statements = [
        claimed(
            "the fee is the lowest with 4 heads",
            {f"against {h}": compare(groups[4], groups[h], small, sampled, FEE) for h in (1, 2, 8)},
        ),
        claimed(
            "the JCT is the highest with 4 heads",
            {f"{h} against 4": compare(groups[h], groups[4], small, sampled, JCT) for h in (1, 2, 8)},
        ),
        *(
            claimed(
                f"the {WORD[m]} is below that of RIFLING with any number of heads",
                {str(h): compare(group, rifling, small, sampled, m) for h, group in groups.items()},
            )
            for m in MEASURES
        ),
    ]
    own = {m: compare(groups[4], FIFO, small, sampled, m).by_seed for m in MEASURES}
    return Finding(
        settled(statements),
        f"DA+MC with 1, 2, 4 and 8 heads on Small: {counted(statements)}. The trainings with 4 heads alone "
        f"are from {ends(own[JCT], 1, '+')} % in JCT and {ends(own[FEE], 1, '+')} % in fee against "
        "FIFO-Consolidate. Figure 5 shows DAS, averaged over three clusters; the paper does not say of how "
        "many trainings.",
        {"instances": len(sampled), "jobs": small.jobs, **trainings(everyone)},
        tables=(
            statement_table(statements),
            level_table("Small, rho 0.8", everyone, small, sampled),
            versus_table(
                "Small, rho 0.8",
                [(a, b) for a, b in combinations(groups.values(), 2)] + [(a, FIFO) for a in groups.values()],
                small,
                sampled,
            ),
        ),
    )


# --- Figure 7 ----------------------------------------------------------------------------------------------


def _check_figure_7(context: Context) -> Finding:
    das, rifling = trained("das", "DAS", context), trained("rifling", "RIFLING", context)
    if (missing := too_few([das, rifling])) is not None:
        return missing
    sampled, base = traces(context), base_setup(context)
    levels = {name: replace(base, rho=base.rho * rate) for name, rate in RATES.items()}
    play_all(context, [(group, s) for s in levels.values() for group in (das, rifling, FIFO)], sampled)
    at = {
        m: {name: compare(das, rifling, setup, sampled, m) for name, setup in levels.items()}
        for m in MEASURES
    }
    more = {
        m: {name: _excess_of(das, rifling, setup, sampled, m) for name, setup in levels.items()}
        for m in MEASURES
    }
    grows = {
        "High against Low": _step(more[JCT], "High", "Low"),
        "Normal against Low": _step(more[JCT], "Normal", "Low"),
        "High against Normal": _step(more[JCT], "High", "Normal"),
    }
    most = {f"Normal against {other}": _step(more[FEE], "Normal", other) for other in ("Low", "High")}
    statements = [
        claimed(
            "DAS has a lower JCT than RIFLING at Normal and High",
            {name: one for name, one in at[JCT].items() if name != "Low"},
        ),
        claimed("DAS has a lower fee than RIFLING at each level", at[FEE]),
        claimed("the gain of DAS in JCT over RIFLING grows with the load (points)", grows),
        claimed("the gain of DAS in fee over RIFLING is the largest at Normal (points)", most),
    ]
    return Finding(
        settled(statements),
        "DAS against RIFLING at arrival rates "
        f"{', '.join(f'{n} (rho {s.rho:g})' for n, s in levels.items())}: JCT "
        + "; ".join(f"{n} {one}" for n, one in at[JCT].items())
        + f". Of {len(statements)} statements of Appendix E, {counted(statements)}. The networks were "
        "trained at Normal alone.",
        {
            "instances": len(sampled),
            "jobs": base.jobs,
            **trainings([das, rifling]),
            **{
                f"DAS over RIFLING, {name}, {WORD[m]} (%)": round(one.over_traces.difference.mean, 2)
                for m, by_level in at.items()
                for name, one in by_level.items()
            },
        },
        tables=(
            statement_table(statements),
            *(
                level_table(f"{n} load (rho {s.rho:g})", [das, rifling, FIFO], s, sampled)
                for n, s in levels.items()
            ),
            *(
                versus_table(
                    f"{n} load (rho {s.rho:g})", [(das, rifling), (das, FIFO), (rifling, FIFO)], s, sampled
                )
                for n, s in levels.items()
            ),
        ),
    )


def _excess_of(
    ours: Group, theirs: Group, setup: Setup, sampled: Sequence[int], measure: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return by how many per cent two groups are above the mean of the second, (members, seeds) each."""
    a, b = (values(group, setup, sampled, measure) for group in (ours, theirs))
    return excess(a, b.mean(0)), excess(b, b.mean(0))


def _step(found: Mapping[str, tuple[np.ndarray, np.ndarray]], here: str, there: str) -> Versus:
    """Compare the lead of one group over another between two settings, in points of per cent."""
    (a, b), (c, d) = found[here], found[there]
    return contrast(a - c, b - d)


CLAIMS: list[Claim] = [
    learned_claim(
        "table-1-trained",
        "Table 1, Sec. 5.2",
        "DAS outperforms all competitors in all cases.",
        UNSEEN
        + "Small, Medium and Large with the same jobs, trained on Small; the competitors of Table 1 (on "
        "Medium and Large "
        + "without metaheuristics, but in full mode). "
        + JUDGED
        + " It fails if DAS is surely not below one of them. Beside it the groups, RIFLING and DL2. "
        + OTHER_SETTINGS,
        Verdict.FAILS,
        _check_table_1,
    ),
    learned_claim(
        "ablation-trained",
        "Sec. 5.3, Table 1",
        "Messages and the random walk process each improve both metrics.",
        UNSEEN + "The four variants on Small, two by two; open while some statements are undecided and none "
        "fails. Beside it, DA and the learned baselines. " + JUDGED + " " + OTHER_SETTINGS,
        Verdict.NOT_CHECKABLE,
        _check_ablation,
    ),
    learned_claim(
        "table-3-trained",
        "Table 3, Appendix G; our own",
        "A Wilcoxon signed-rank test over the jobs tells whether one design is better than another.",
        "The test over the jobs of a trace between two trainings of the same design: it fails if it finds a "
        "difference for sure more often than its level says (interval over the traces, for these trainings). "
        "Beside it the test over traces. " + OTHER_SETTINGS,
        Verdict.FAILS,
        _check_table_3,
    ),
    learned_claim(
        "untrained-spread",
        "Table 1; our own",
        "Networks of DAS that never learned are as far apart in JCT as DAS and the best baseline in Table 1.",
        "Ten seeds of the first weights. The worst and the best are chosen on one half of the traces and "
        "compared on the other. Amended: on Medium and Large.",
        Verdict.HOLDS_AMENDED,
        _check_untrained,
    ),
    learned_claim(
        "figure-5-heads",
        "Figure 5(a, b), Sec. 5.4",
        "With 4 heads the fee is the least and the JCT the largest; RIFLING is behind with any number.",
        UNSEEN + "DA+MC with 1, 2, 4 and 8 heads on Small. " + JUDGED + " " + OTHER_SETTINGS,
        Verdict.NOT_CHECKABLE,
        _check_heads,
    ),
    learned_claim(
        "figure-7-trained",
        "Figure 7, Appendix E",
        "DAS is better than RIFLING in fee at each arrival rate and in JCT at most of them; its gain in JCT "
        "grows with the rate, that in fee is the largest at Normal.",
        UNSEEN
        + "Half, once and twice the arrival rate on Small; the JCT at Normal and High. "
        + JUDGED
        + " "
        + OTHER_SETTINGS,
        Verdict.NOT_CHECKABLE,
        _check_figure_7,
    ),
]
