"""Claims about the networks that come with the package: those of the paper, and our own.

They were trained and chosen on instances of other seeds than those that are played here
(:mod:`...online.placement.learned.plan`), for minutes of one core. Until they are trained longer, what they
do decides nothing: the checks show differences with intervals over traces and trainings, and no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ...claim import Context, Figure, Finding, Register, Table, Verdict
from ...experiments import spread
from ..experiments import CLUSTERS, FIFO_LB, HEURISTICS, NOTE, SJF_C, Contender, Setup, excess, instance
from ..measures import measures_of
from .evaluation import LEVEL, MALO, MOSA, RATES, differ
from .trained import (
    ESTIMATES,
    FIFO,
    MEASURES,
    OTHER_SETTINGS,
    RL,
    SJF_E,
    UNSEEN,
    UNTIL,
    WORD,
    WORSE_ESTIMATES,
    Group,
    Versus,
    alone,
    base_setup,
    below,
    chart,
    compare,
    contrast,
    held_out,
    lacking,
    level_table,
    outcomes,
    play_all,
    side_by_side,
    too_few,
    traces,
    trained,
    untrained,
    values,
    versus_table,
)

claim = Register("placement")

Places = Mapping[str, Setup]


def contest(
    context: Context,
    what: str,
    pairs: Sequence[tuple[Group, Group]],
    places: Places,
    *,
    picture: str = "",
    tables: Sequence[Table] = (),
    remark: str = "",
) -> Finding:
    """Return how the first of each pair stands against the second, in JCT and fee, at each place.

    ``what`` begins the headline, which says how many comparisons are sure.
    """
    if (missing := too_few([group for group, _ in pairs if group.networks])) is not None:
        return missing
    everyone = list(dict.fromkeys(group for pair in pairs for group in pair))
    sampled = traces(context)
    play_all(context, [(group, setup) for setup in places.values() for group in everyone], sampled)
    shown: list[Table] = []
    figures: list[Figure] = []
    for name, setup in places.items():
        shown.append(versus_table(name, pairs, setup, sampled))
        shown.append(level_table(name, everyone, setup, sampled))
        if picture:
            rest = [group for group in everyone if group is not FIFO]
            file = f"{picture}-{name.split(',')[0].lower()}" if len(places) > 1 else picture
            figures.append(chart(file, f"{name}.", rest, FIFO, setup, sampled))
    signs = [
        below(compare(a, b, setup, sampled, m))
        for setup in places.values()
        for a, b in pairs
        for m in MEASURES
    ]
    first = next(iter(places.values()))
    numbers: dict[str, float | int | str | bool] = {
        "instances": len(sampled),
        "jobs": first.jobs,
        **{
            f"{a.label} over {b.label}, {WORD[m]} (%)": round(
                compare(a, b, first, sampled, m).over_traces.difference.mean, 2
            )
            for a, b in pairs
            for m in MEASURES
        },
    }
    return Finding(
        Verdict.UNDETERMINED,
        f"{what}: surely ahead in {signs.count(True)} of {len(signs)} comparisons, surely not in "
        f"{signs.count(False)}; trained too briefly to decide.",
        numbers,
        tables=(*shown, *tables),
        figures=tuple(figures),
        small=context.mode == "quick",
        assumes=UNTIL,
        remark=remark,
    )


def small(context: Context) -> Places:
    """Return the Small cluster alone."""
    return {"Small, rho 0.8": base_setup(context)}


def clusters(context: Context) -> Places:
    """Return the same jobs on the three clusters."""
    return {cluster.capitalize(): base_setup(context).on(cluster) for cluster in CLUSTERS}


def paper(context: Context) -> dict[str, Group]:
    """Return the designs of the paper that learn, by label."""
    labels = ("DA", "DA+MC", "DA+RWGP", "DAS", "DL2", "RIFLING")
    return {label: trained(label.lower().replace("+", "-"), label, context) for label in labels}


# --- The paper's designs -----------------------------------------------------------------------------------


@claim(
    "table-1-trained",
    "Table 1, Sec. 5.2",
    Verdict.UNDETERMINED,
    says="DAS outperforms all competitors in all cases.",
    how=f"{UNSEEN}Small, Medium and Large with the same jobs, trained on Small; metaheuristics in full mode. "
    f"{OTHER_SETTINGS}",
    extra=RL,
)
def table_1_trained(context: Context) -> Finding:
    context, known = held_out(context), paper(context)
    das = known["DAS"]
    rivals = [*(alone(who) for who in HEURISTICS), known["DL2"], known["RIFLING"]]
    searches = [alone(who) for who in (MOSA, MALO)] if context.mode == "full" else []
    pairs = [(das, rival) for rival in (*rivals, *searches, FIFO)]
    return contest(
        context,
        "DAS against its rivals",
        pairs,
        clusters(context),
        picture="table-1",
        remark="FIFO-Consolidate is none of the paper's baselines.",
    )


@claim(
    "ablation-trained",
    "Sec. 5.3, Table 1",
    Verdict.UNDETERMINED,
    says="Messages and the random walk process each improve both metrics.",
    how=UNSEEN + "The four variants on Small, two by two. " + OTHER_SETTINGS,
    extra=RL,
)
def ablation_trained(context: Context) -> Finding:
    context, known = held_out(context), paper(context)
    steps = [("DA+MC", "DA"), ("DA+RWGP", "DA"), ("DAS", "DA+MC"), ("DAS", "DA+RWGP")]
    steps += [("DA", "DL2"), ("DA", "RIFLING")]
    return contest(
        context,
        "Designs with a module more, against those without",
        [(known[a], known[b]) for a, b in steps],
        small(context),
        remark="When means of the actions are played the process changes no decision "
        "(`placement/mean-actions`): what it adds can only come from the training.",
    )


@claim(
    "figure-5-heads",
    "Figure 5(a, b), Sec. 5.4",
    Verdict.UNDETERMINED,
    says="With 4 heads the fee is the least and the JCT the largest; RIFLING is behind with any number.",
    how=UNSEEN + "DA+MC with 1, 2, 4 and 8 heads on Small. " + OTHER_SETTINGS,
    extra=RL,
)
def figure_5_heads(context: Context) -> Finding:
    context, rifling = held_out(context), paper(context)["RIFLING"]
    names = {"da-mc-h1": "1 head", "da-mc-h2": "2 heads", "da-mc": "4 heads", "da-mc-h8": "8 heads"}
    groups = [trained(name, f"DA+MC, {label}", context) for name, label in names.items()]
    return contest(
        context,
        "Fewer heads against more, and each against RIFLING",
        [*combinations(groups, 2), *((group, rifling) for group in groups)],
        small(context),
        remark="Figure 5 shows DAS, averaged over three clusters; of how many trainings is not said.",
    )


@claim(
    "figure-7-trained",
    "Figure 7, Appendix E",
    Verdict.UNDETERMINED,
    says="DAS is better than RIFLING in fee at each arrival rate and in JCT at most of them; its gain in JCT "
    "grows with the rate, that in fee is the largest at Normal.",
    how=UNSEEN + "Half, once and twice the arrival rate on Small. " + OTHER_SETTINGS,
    extra=RL,
)
def figure_7_trained(context: Context) -> Finding:
    context, known, base = held_out(context), paper(context), base_setup(context)
    levels = {
        f"{name} load (rho {base.rho * rate:g})": replace(base, rho=base.rho * rate)
        for name, rate in RATES.items()
    }
    pairs = [(known["DAS"], known["RIFLING"]), (known["DAS"], FIFO), (known["RIFLING"], FIFO)]
    return contest(
        context,
        "DAS against RIFLING by the arrival rate",
        pairs,
        levels,
    )


@claim(
    "reward-trained",
    "Sec. 5.2, (3)",
    Verdict.UNDETERMINED,
    says="Reward (3) is effective.",
    how=UNSEEN + "DA+MC trained by it against untrained networks, on Small; beside it, the aligned reward.",
    extra=RL,
)
def reward_trained(context: Context) -> Finding:
    context = held_out(context)
    printed, aligned = (trained(name, LADDER[name], context) for name in ("da-mc-printed", "da-mc"))
    blank = untrained("da-mc", "untrained DA+MC", context.pick(2, 5, 10))
    return contest(
        context,
        "Training by reward (3)",
        [(printed, blank), (aligned, blank), (aligned, printed)],
        small(context),
        remark="Besides the reward the two trainings differ in that the aligned one is cut and has a control "
        "variate.",
    )


@claim(
    "table-3-trained",
    "Table 3, Appendix G",
    Verdict.UNDETERMINED,
    says="A Wilcoxon signed-rank test over the jobs tells whether one design is better than another.",
    how="The test over the jobs of a trace between two trainings of the same design, which it should tell "
    "apart as often "
    "as its level says. " + OTHER_SETTINGS,
    extra=RL,
    ours=True,
)
def table_3_trained(context: Context) -> Finding:
    context, known = held_out(context), paper(context)
    das, rifling = known["DAS"], known["RIFLING"]
    if (missing := too_few([das, rifling])) is not None:
        return missing
    sampled, setup = traces(context), base_setup(context)
    tests = {
        "two trainings of DAS": list(combinations(das.members, 2)),
        "two trainings of RIFLING": list(combinations(rifling.members, 2)),
        "a training of DAS and one of RIFLING": [(a, b) for a in das.members for b in rifling.members],
    }
    rows = tuple(
        (
            name,
            len(pairs),
            *(
                spread(np.array([_share_significant(pairs, setup, seed, of) for seed in sampled]))
                for of in ("JCT", "fee")
            ),
        )
        for name, pairs in tests.items()
    )
    same = [_share_significant(tests["two trainings of DAS"], setup, seed, "JCT") for seed in sampled]
    title = f"How often the Wilcoxon test over the jobs of a trace finds p < {LEVEL:g}. {NOTE}"
    columns = ("between", "pairs per instance", "JCT (% of the pairs)", "fee (% of the pairs)")
    found = contest(
        context,
        "DAS against RIFLING",
        [(das, rifling)],
        small(context),
        tables=(Table(title, columns, rows),),
        remark="`placement/test-over-jobs` shows the same without networks.",
    )
    return replace(
        found,
        headline=f"Over the jobs of a trace the test tells two trainings of DAS apart in "
        f"{np.mean(same):.0f} % of pairs (JCT), its level being {100 * LEVEL:g} %.",
    )


def _share_significant(
    pairs: Sequence[tuple[Contender, Contender]], setup: Setup, seed: int, of: str
) -> float:
    """Return in how many per cent of the pairs the test over the jobs of a trace finds a difference."""
    made = instance(setup, seed)
    taken = {"JCT": made.completion_times, "fee": made.fees}[of]
    count = 0
    for a, b in pairs:
        (one,), (other,) = (outcomes(who, setup, [seed]) for who in (a, b))
        count += differ(taken(one.schedule), taken(other.schedule))
    return 100.0 * count / len(pairs)


# --- Ours --------------------------------------------------------------------------------------------------


@claim(
    "beats-consolidate",
    "Sec. 5.2",
    Verdict.UNDETERMINED,
    says="A learned scheduler that knows neither durations nor estimates is better than FIFO-Consolidate in "
    "JCT and fee.",
    how=f"{UNSEEN}DA+MC with capacity features and consolidation as prior mean, on three clusters; with beta "
    f"hidden, too.",
    extra=RL,
    ours=True,
)
def beats_consolidate(context: Context) -> Finding:
    context = held_out(context)
    capacity, places = trained("da-mc-capacity", "DA+MC-Capacity", context), clusters(context)
    if (missing := too_few([capacity])) is not None:
        return missing
    sampled = traces(context)
    rows = []
    for name, setup in list(places.items())[1:]:
        blind = _without_beta(capacity, setup, sampled)
        rows.append((name, *(str(blind[m]) for m in MEASURES)))
    title = "With every beta hidden from the same networks (0.5 in its place), against FIFO-Consolidate"
    return contest(
        context,
        "Our network against rules",
        [(capacity, FIFO), (capacity, alone(FIFO_LB)), (alone(FIFO_LB), FIFO)],
        places,
        picture="capacity",
        tables=(Table(title, ("cluster", *WORD.values()), tuple(rows)),),
        remark="It sees beta, how much jobs contend, which is none of the features of the paper. The "
        "networks were trained on Medium and Large.",
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


@claim(
    "beats-every-rule",
    "Sec. 5.2",
    Verdict.UNDETERMINED,
    says="A learned scheduler is better in JCT and fee than every simple rule that knows no durations, on "
    "every cluster.",
    how=UNSEEN + "The same networks against FIFO-Consolidate and the five heuristics of the paper.",
    extra=RL,
    ours=True,
)
def beats_every_rule(context: Context) -> Finding:
    context = held_out(context)
    capacity = trained("da-mc-capacity", "DA+MC-Capacity", context)
    rules = [*(alone(who) for who in HEURISTICS), FIFO]
    return contest(
        context,
        "Our network against every rule",
        [(capacity, rule) for rule in rules],
        clusters(context),
    )


@claim(
    "estimates-pay",
    "Sec. 5.2",
    Verdict.UNDETERMINED,
    says="Given estimates of the durations, a learned scheduler is better than FIFO-Consolidate, and than "
    "SJF by the same estimates.",
    how=f"{UNSEEN}Small, estimates with a lognormal error of sigma {ESTIMATES:g}, and {WORSE_ESTIMATES:g} "
    f"beside.",
    extra=RL,
    ours=True,
)
def estimates_pay(context: Context) -> Finding:
    context = held_out(context)
    estimates = trained("da-mc-estimates", "DA+MC-Estimates", context)
    base = base_setup(context)
    sigmas = (ESTIMATES, WORSE_ESTIMATES)
    places = {f"Sigma-{sigma:g}, Small": replace(base, estimate_error=sigma) for sigma in sigmas}
    rivals = (FIFO, alone(SJF_E), alone(SJF_C))
    return contest(
        context,
        "Our network with estimates against rules",
        [(estimates, rival) for rival in rivals],
        places,
        picture="estimates",
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


@claim(
    "ladder",
    "Sec. 5.3",
    Verdict.UNDETERMINED,
    says="Capacity features, consolidation as prior mean, longer training, wider networks, the settings of "
    "Appendix D and imitation each improve DA+MC.",
    how=UNSEEN + "Each against DA+MC on Small, as far as there are networks.",
    extra=RL,
    ours=True,
)
def ladder(context: Context) -> Finding:
    context = held_out(context)
    groups = {name: trained(name, label, context) for name, label in LADDER.items()}
    there = {name: group for name, group in groups.items() if too_few([group]) is None}
    steps = [(there[a], there[b]) for a, b, _ in ADDED if a in there and b in there]
    if not steps:
        return lacking([*groups.values()])
    blank = untrained("da-mc", "untrained DA+MC", context.pick(2, 5, 10))
    rows = tuple((LADDER[a], what) for a, _, what in ADDED if a in there)
    return contest(
        context,
        "What was added to DA+MC, and each against rules",
        [*steps, (there["da-mc"], blank), *((group, FIFO) for group in there.values())],
        small(context),
        picture="ladder",
        tables=(Table("What was changed", ("networks", "change"), rows),),
    )


CLAIMS = claim.claims
