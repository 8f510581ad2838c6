"""Claims about our own networks: what they gain over FIFO-Consolidate, and which step gives what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...claim import Claim, Context, Finding, Table, Verdict
from ...experiments import Statement
from ..experiments import (
    CLUSTERS,
    FEE,
    FIFO_LB,
    HEURISTICS,
    JCT,
    SJF_C,
    Setup,
    excess,
    instance,
    settled,
    statement_table,
)
from ..measures import measures_of
from .evaluation import as_amended
from .trained import (
    CONTROLS,
    ESTIMATES,
    FIFO,
    JUDGED,
    MEASURES,
    SJF_E,
    UNSEEN,
    WORD,
    WORSE_ESTIMATES,
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
    enough,
    lacking,
    learned_claim,
    level_table,
    play_all,
    refuting,
    side_by_side,
    too_few,
    traces,
    trained,
    trainings,
    untrained,
    values,
    versus_table,
)

# --- Ours --------------------------------------------------------------------------------------------------


def _check_capacity(context: Context) -> Finding:
    ours = trained("da-mc-capacity", "DA+MC-Capacity", context)
    if (missing := too_few([ours])) is not None:
        return missing
    sampled, small = traces(context, 20, 40), base_setup(context)
    places = {cluster: small.on(cluster) for cluster in CLUSTERS}
    beside = [alone(who) for who in (*HEURISTICS, SJF_C)]
    play_all(context, [(group, s) for s in places.values() for group in (ours, *beside, FIFO)], sampled)
    found = {(c, m): compare(ours, FIFO, s, sampled, m) for c, s in places.items() for m in MEASURES}
    statements = [
        claimed(
            f"{c.capitalize()}: {ours.label} is below FIFO-Consolidate in {WORD[m]}", {c.capitalize(): one}
        )
        for (c, m), one in found.items()
    ]
    text = "; ".join(
        f"{c.capitalize()} " + ", ".join(f"{WORD[m]} {_brief(found[c, m])}" for m in MEASURES) for c in places
    )
    balance = alone(FIFO_LB)
    rule = "; ".join(f"{c.capitalize()} {compare(ours, balance, s, sampled, JCT)}" for c, s in places.items())
    home = [s for s in statements if not s.says.startswith("Small")]
    blind = {c: _without_beta(ours, s, sampled) for c, s in places.items() if c != "small"}
    without = "; ".join(
        f"{c.capitalize()} " + ", ".join(f"{WORD[m]} {_brief(one)}" for m, one in found_blind.items())
        for c, found_blind in blind.items()
    )
    return Finding(
        as_amended(home, [s for s in statements if s not in home]),
        "DA+MC that also sees what room each job has and how much jobs contend (beta, which is none of the "
        f"features of the paper), and starts out from FIFO-Consolidate, against it: {text}. It knows no "
        "durations and no estimates. The networks were trained on Medium and Large. With every beta hidden "
        f"from the same networks (0.5 in its place): {without}. "
        f"JCT against FIFO-LoadBalance: {rule} (placement/beats-every-rule says more).",
        {
            "instances": len(sampled),
            "jobs": small.jobs,
            **trainings([ours]),
            **{
                f"{c.capitalize()}, {WORD[m]} (%)": round(v.over_traces.difference.mean, 2)
                for (c, m), v in found.items()
            },
            **{f"{c.capitalize()}, {WORD[m]}, seeds ahead": v.ahead for (c, m), v in found.items()},
            **{
                f"{c.capitalize()}, {WORD[m]}, beta hidden (%)": round(v.over_traces.difference.mean, 2)
                for c, both in blind.items()
                for m, v in both.items()
            },
        },
        tables=_ours_tables(statements, ours, beside, places, sampled),
        figures=tuple(
            chart(f"capacity-{c}", f"{ours.label} on {c.capitalize()}.", [ours, *beside], FIFO, s, sampled)
            for c, s in places.items()
        ),
    )


def _without_beta(ours: Group, setup: Setup, sampled: Sequence[int]) -> dict[str, Versus]:
    """Compare networks that are not told how much jobs contend with FIFO-Consolidate."""
    made = [instance(setup, seed) for seed in sampled]
    taken = [side_by_side(who, made, contention=False) for who in ours.members]
    measured = [[measures_of(one, s) for one, s in zip(made, each, strict=True)] for each in taken]
    against = {m: values(FIFO, setup, sampled, m) for m in MEASURES}
    return {
        m: contrast(
            excess(np.array([[one[m] for one in each] for each in measured]), against[m][0]),
            np.zeros((1, len(sampled))),
        )
        for m in MEASURES
    }


def _brief(found: Versus) -> str:
    """Return a difference with its interval over the traces, and how many seeds are below."""
    mean, low, _ = found.over_traces.difference
    return f"{mean:+.1f} ± {mean - low:.1f} % ({found.ahead} of {len(found.by_seed)} seeds below)"


def _ours_tables(
    statements: Sequence[Statement],
    ours: Group,
    beside: Sequence[Group],
    places: Mapping[str, Setup],
    sampled: Sequence[int],
) -> tuple[Table, ...]:
    """Return the statements, and for each place the levels and the comparisons."""
    tables = [statement_table(statements)]
    for name, setup in places.items():
        tables.append(level_table(name.capitalize(), [ours, *beside, FIFO], setup, sampled))
        pairs = [*((ours, b) for b in (FIFO, *beside)), *((a, FIFO) for a in beside)]
        tables.append(versus_table(name.capitalize(), pairs, setup, sampled))
    return tuple(tables)


def _check_every_rule(context: Context) -> Finding:
    ours = trained("da-mc-capacity", "DA+MC-Capacity", context)
    if (missing := too_few([ours])) is not None:
        return missing
    sampled, small = traces(context, 20, 40), base_setup(context)
    places = {cluster: small.on(cluster) for cluster in CLUSTERS}
    rules = [*(alone(who) for who in HEURISTICS), FIFO]
    play_all(context, [(group, s) for s in places.values() for group in (ours, *rules)], sampled)
    statements = [below_all(ours, rules, c, s, sampled, m) for c, s in places.items() for m in MEASURES]
    best = {
        c: min(rules, key=lambda rule: float(values(rule, s, sampled, JCT).mean())) for c, s in places.items()
    }
    found = {c: compare(ours, best[c], s, sampled, JCT) for c, s in places.items()}
    text = "; ".join(f"{c.capitalize()} {best[c].label}, {one}" for c, one in found.items())
    return Finding(
        settled(statements),
        f"The rule with the least mean JCT that knows no durations, and {ours.label} against it: {text}. Of "
        f"{len(statements)} statements that it is below all {len(rules)} rules, {counted(statements)}. "
        f"Surely not above it: {refuting(ours, dict.fromkeys(places.values(), rules), sampled)}.",
        {
            "instances": len(sampled),
            "jobs": small.jobs,
            **trainings([ours]),
            **{f"{c.capitalize()}: least JCT of a rule": best[c].label for c in places},
            **{
                f"{c.capitalize()}: {ours.label} against it, JCT (%)": round(
                    one.over_traces.difference.mean, 2
                )
                for c, one in found.items()
            },
        },
        tables=(
            statement_table(statements),
            *(
                versus_table(c.capitalize(), [(ours, b) for b in rules], s, sampled)
                for c, s in places.items()
            ),
        ),
    )


def _check_estimates(context: Context) -> Finding:
    ours = trained("da-mc-estimates", "DA+MC-Estimates", context)
    if (missing := too_few([ours])) is not None:
        return missing
    sampled, small = traces(context, 20, 40), base_setup(context)
    errors = (ESTIMATES, WORSE_ESTIMATES)
    places = {f"Small, sigma {sigma:g}": replace(small, estimate_error=sigma) for sigma in errors}
    rival, known = alone(SJF_E), alone(SJF_C)
    play_all(context, [(group, s) for s in places.values() for group in (ours, rival, known, FIFO)], sampled)
    found = {
        (name, b.label, m): compare(ours, b, s, sampled, m)
        for name, s in places.items()
        for b in (FIFO, rival)
        for m in MEASURES
    }
    statements = [
        claimed(f"{name}: {ours.label} is below {b} in {WORD[m]}", {name: one})
        for (name, b, m), one in found.items()
    ]
    first = next(iter(places))
    decisive = [s for s in statements if s.says.startswith(first)]
    sure = decisive[:1]
    text = "; ".join(
        f"against {b}: " + ", ".join(f"{WORD[m]} {found[first, b, m]}" for m in MEASURES)
        for b in (FIFO.label, rival.label)
    )
    return Finding(
        as_amended(sure, decisive[1:]),
        f"Given estimates with an error of sigma {ESTIMATES:g}, as in its training, {text}. With sigma "
        f"{WORSE_ESTIMATES:g} its JCT is {found[f'Small, sigma {WORSE_ESTIMATES:g}', FIFO.label, JCT]} "
        "against FIFO-Consolidate. SJF by the same estimates is the fair rival: FIFO-Consolidate does not "
        "use them.",
        {
            "instances": len(sampled),
            "jobs": small.jobs,
            **trainings([ours]),
            **{
                f"{name}, over {b}, {WORD[m]} (%)": round(v.over_traces.difference.mean, 2)
                for (name, b, m), v in found.items()
            },
        },
        tables=_ours_tables(statements, ours, [rival, known], places, sampled),
        figures=tuple(
            chart(f"estimates-{n}", f"{ours.label}, {name}.", [ours, rival, known], FIFO, s, sampled)
            for n, (name, s) in enumerate(places.items())
        ),
    )


LADDER = {
    "da-mc": "DA+MC",
    "da-mc-printed": "DA+MC, reward (3)",
    "da-mc-long": "DA+MC, four times as long",
    "da-mc-wide": "DA+MC, 64 hidden units",
    "da-mc-settings": "DA+MC, Appendix D",
    "da-mc-prior": "DA+MC, prior",
    "da-mc-features": "DA+MC, capacity features",
    "da-mc-capacity": "DA+MC-Capacity",
    "clone-ppo": "Clone-then-PPO",
}
"""DA+MC, and what was changed."""

ADDED = (
    ("da-mc-long", "da-mc", "training four times as long"),
    ("da-mc-wide", "da-mc", "64 hidden units in the place of 32"),
    ("da-mc-settings", "da-mc", "the settings of Appendix D, 24,000 jobs in the place of 19,200"),
    ("da-mc-prior", "da-mc", "consolidation as prior mean"),
    ("da-mc-features", "da-mc", "capacity features"),
    ("da-mc-capacity", "da-mc", "both, trained five times as long, on Medium and Large"),
    ("clone-ppo", "da-mc", "imitating FIFO-Consolidate in the first 4 of 12 iterations"),
)


def _check_ladder(context: Context) -> Finding:
    groups = {name: trained(name, label, context) for name, label in LADDER.items()}
    if (missing := too_few([groups["da-mc"]])) is not None:
        return missing
    there = {name: group for name, group in groups.items() if enough([group])}
    steps = [(there[a], there[b], what) for a, b, what in ADDED if a in there and b in there]
    if not steps:
        return lacking([groups[a] for a, _, _ in ADDED])
    sampled, small = traces(context), base_setup(context)
    blank = untrained("da-mc", "untrained DA+MC", context.pick(2, CONTROLS, 10))
    everyone = [*there.values(), blank, FIFO]
    play_all(context, [(group, small) for group in everyone], sampled)
    statements = [
        claimed(f"{what}: less {WORD[m]}", {f"{a.label} against {b.label}": compare(a, b, small, sampled, m)})
        for a, b, what in steps
        for m in MEASURES
    ]
    text = "; ".join(f"{group.label} {compare(group, FIFO, small, sampled, JCT)}" for group in there.values())
    absent = [label for name, label in LADDER.items() if name not in there]
    return Finding(
        settled(statements),
        f"JCT on Small against FIFO-Consolidate: {text}. Of {len(statements)} statements that a step lowers "
        "a "
        f"metric, {counted(statements)}." + (f" Not there: {', '.join(absent)}." if absent else ""),
        {
            "instances": len(sampled),
            "jobs": small.jobs,
            **trainings(everyone),
            **{
                f"{group.label} over FIFO-Consolidate, {WORD[m]} (%)": round(
                    compare(group, FIFO, small, sampled, m).over_traces.difference.mean, 2
                )
                for group in there.values()
                for m in MEASURES
            },
        },
        tables=(
            statement_table(statements),
            level_table("Small, rho 0.8", everyone, small, sampled),
            versus_table(
                "Small, rho 0.8",
                [*((a, b) for a, b, _ in steps), *((a, FIFO) for a in everyone[:-1])],
                small,
                sampled,
            ),
        ),
        figures=(chart("ladder", "What was added to DA+MC, on Small.", everyone[:-1], FIFO, small, sampled),),
    )


def _check_reward(context: Context) -> Finding:
    printed, aligned = (trained(name, LADDER[name], context) for name in ("da-mc-printed", "da-mc"))
    if (missing := too_few([printed, aligned])) is not None:
        return missing
    sampled, small = traces(context, 20, 40), base_setup(context)
    blank = untrained("da-mc", "untrained DA+MC", context.pick(2, CONTROLS, 10))
    everyone = [printed, aligned, blank, FIFO]
    play_all(context, [(group, small) for group in everyone], sampled)
    effective = [
        claimed(
            f"training by reward (3) lowers the {WORD[m]}",
            {"against untrained": compare(printed, blank, small, sampled, m)},
        )
        for m in MEASURES
    ]
    better = [
        claimed(
            f"training by the aligned reward gives a lower {WORD[m]} than by reward (3) (beside)",
            {"Small": compare(aligned, printed, small, sampled, m)},
        )
        for m in MEASURES
    ]
    return Finding(
        settled(effective),
        f"DA+MC trained by reward (3), against {len(blank)} untrained networks: JCT "
        f"{compare(printed, blank, small, sampled, JCT)}; fee "
        f"{compare(printed, blank, small, sampled, FEE)}. "
        "Trained by the aligned reward, against that: JCT "
        f"{compare(aligned, printed, small, sampled, JCT)}; fee "
        f"{compare(aligned, printed, small, sampled, FEE)}. Besides the reward they differ in that the "
        "aligned one is cut and has a control variate.",
        {"instances": len(sampled), "jobs": small.jobs, **trainings(everyone)},
        tables=(
            statement_table([*effective, *better]),
            level_table("Small, rho 0.8", everyone, small, sampled),
            versus_table(
                "Small, rho 0.8",
                [(printed, blank), (aligned, blank), (aligned, printed), *((a, FIFO) for a in everyone[:-1])],
                small,
                sampled,
            ),
        ),
    )


CLAIMS: list[Claim] = [
    learned_claim(
        "beats-consolidate",
        "Our own",
        "A learned scheduler that knows neither durations nor estimates is better than FIFO-Consolidate in "
        "JCT and fee.",
        UNSEEN
        + "DA+MC with capacity features and consolidation as prior mean, on three clusters. Amended: on "
        + "Medium and Large, for which it was trained. "
        + JUDGED,
        Verdict.HOLDS_AMENDED,
        _check_capacity,
    ),
    learned_claim(
        "beats-every-rule",
        "Our own",
        "A learned scheduler is better in JCT and fee than every simple rule that knows no durations, on "
        "every cluster.",
        UNSEEN + "The same networks against FIFO-Consolidate and the five heuristics of the paper, on three "
        "clusters. " + JUDGED,
        Verdict.FAILS,
        _check_every_rule,
    ),
    learned_claim(
        "estimates-pay",
        "Our own",
        "Given estimates of the durations, a learned scheduler is better than FIFO-Consolidate, and than "
        "SJF by the same estimates.",
        UNSEEN
        + f"Small, estimates with a lognormal error of sigma {ESTIMATES:g}, and {WORSE_ESTIMATES:g} beside "
        "it. Amended: in JCT, and against FIFO-Consolidate alone. " + JUDGED,
        Verdict.HOLDS_AMENDED,
        _check_estimates,
    ),
    learned_claim(
        "ladder",
        "Our own",
        "Capacity features, consolidation as prior mean, longer training, wider networks, the settings of "
        "Appendix D and imitation each improve DA+MC.",
        UNSEEN + "Each against DA+MC on Small, as far as there are networks. " + JUDGED,
        Verdict.FAILS,
        _check_ladder,
    ),
    learned_claim(
        "reward-trained",
        "Sec. 5.2, (3)",
        "Reward (3) is effective.",
        UNSEEN
        + "DA+MC trained by it against untrained networks, on Small; beside it, the aligned reward. "
        + JUDGED,
        Verdict.NOT_CHECKABLE,
        _check_reward,
    ),
]
