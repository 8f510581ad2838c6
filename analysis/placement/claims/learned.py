"""Claims about the networks that come with the package: those of the paper, and our own.

They were trained and chosen on instances of other seeds than those that are played here
(:mod:`...online.placement.learned.plan`). What decides, and which networks were trained too briefly to
decide anything, is said at :func:`.trained.contest`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ...claim import Context, Figure, Finding, Register, Table, Verdict, Why, finding, table
from ...experiments import spread
from ...plots import name_axes, new_figure, plot_bands, to_svg
from ...study import Statement, conclude
from .. import experiments as runs
from ..experiments import CLUSTERS, FEE, FIFO_C, FIFO_LB, HEURISTICS, JCT, NOTE, SJF_C, Setup, excess
from . import trained
from .evaluation import BUDGETS, RATES, words
from .ours import PATIENT
from .trained import SJF_E, base_setup, contest

claim = Register("placement")

UNSEEN = "Jobs of seeds that no training has seen; all trainings that come with the package. "
CHOICES = {
    trained.by_settings: "settings of the training: ours, those of Appendix D, and these with more passes, "
    "as many as there are networks of all that is compared (two seeds)",
    trained.by_passes: "from how many jobs DAS learns, as how often it meets each of its 16,000 is "
    "not said: from as many, or from ten times as many",
    trained.by_jobs: "from how many jobs all of them learn: 96,000, or 384,000 (two seeds)",
    trained.by_load: "load under which networks learned: rho 0.8, as all others, and rho 2; there, how long",
}

FIFO, HEURISTIC = FIFO_C.label, [who.label for who in HEURISTICS]


def against(ours: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the pairs of each of ours with each of the others."""
    return [f"{a} - {b}" for a, b in product(ours, others)]


STRAW = against(["dl2", "rifling"], ["FIFO-FirstFit"])
"""Whether the learned rivals are better than the simplest rule."""

MODULES = ["da-mc - da", "da-rwgp - da", "das - da-mc", "das - da-rwgp"]
"""Each design of the ablation that has a module more than another."""


def compared(name: str, where: str, what: str, pairs: Sequence[str], *, how: str, **more: Any) -> None:
    """Claim something of pairs of policies, which samples do not decide.

    Other keywords are "says", "ours", "because", "at_full" and those of :func:`contest`.
    """
    known = {"says", "ours", "because", "at_full"} & more.keys()
    told = {"because": Why.SAMPLES} | {key: more.pop(key) for key in known}
    choices = (CHOICES[more["settings"]],) if "settings" in more else ()
    check = partial(contest, what=what, pairs=pairs, **more)
    claim(name, where, how=UNSEEN + how, choices=choices, **told)(check)


def clusters(context: Context) -> dict[str, Setup]:
    """Return the same jobs on the three clusters."""
    return {cluster.capitalize(): replace(base_setup(context), cluster=cluster) for cluster in CLUSTERS}


def long_on_small(context: Context) -> dict[str, Setup]:
    """Return the three clusters; on Small so many jobs that they wait, as they do in a long run."""
    known = clusters(context)
    return known | {"Small": replace(known["Small"], jobs=context.pick(20, 400, 1000))}


def by_rate(context: Context) -> dict[str, Setup]:
    """Return the same jobs at three arrival rates."""
    base = base_setup(context)
    return {name: replace(base, rho=base.rho * rate) for name, rate in RATES.items()}


WEIGHTS = (1, 10, 100)
"""Of outcomes, in the unit of affinities by that of the logarithm of a slowdown."""


def loads(context: Context) -> dict[str, Setup]:
    """Return Small where there is room and where there is little, with jobs enough for outcomes to count."""
    base = replace(base_setup(context), jobs=context.pick(60, 60, 1000))
    return {f"Small, rho {rho:g}": replace(base, rho=rho) for rho in (base.rho, ROOM["small"])}


SIGMAS = (trained.ESTIMATES, 1.5)
"""Of the error of the estimates: as in the training, and worse."""


def by_error(context: Context) -> dict[str, Setup]:
    """Return Small with estimates of these errors, and clusters under load: Small, in full mode all."""
    base, first, loaded = base_setup(context), SIGMAS[0], under_load(context)
    places = {f"Sigma-{sigma:g}, Small": replace(base, estimate_error=sigma) for sigma in SIGMAS}
    return places | {f"Sigma-{first:g}, {on}": replace(of, estimate_error=first) for on, of in loaded.items()}


compared(
    "table-1-trained",
    "Table 1, Sec. 5.2",
    "DAS against its rivals",
    against(["das"], [*HEURISTIC, "dl2", "rifling", *(who.label for who in BUDGETS)]),
    says="DAS outperforms all competitors in all cases.",
    how="Small, Medium and Large with the same jobs, trained on Small; metaheuristics in full mode.",
    places=clusters,
    beside=[*against(["das"], [FIFO]), *STRAW],
    settings=trained.by_settings,
    remark="FIFO-Consolidate is none of the paper's baselines.",
)
compared(
    "ablation-trained",
    "Sec. 5.3, Table 1",
    "Designs with a module more, against those without",
    MODULES,
    says="Messages and the random walk process each improve both metrics.",
    how="The four variants on Small, two by two.",
    beside=["da - dl2", "da - rifling"],
    settings=trained.by_settings,
    remark="When means of the actions are played the process changes no decision "
    "(`placement/mean-actions`): what it adds can only come from the training.",
)

HEADS = ["das-h1", "das-h2", "das", "das-h8"]
TAUS = ["das-t4", "das-t6", "das", "das-t10"]
WITHOUT = "Figure 5 shows the average over three clusters; of how many trainings is not said. "
"""What the text on it leaves out."""


def without(das: Iterable[str]) -> list[str]:
    """Return the names without that of DAS as it is."""
    return [name for name in das if name != "das"]


compared(
    "figure-5-heads",
    "Figure 5(a, b), Sec. 5.4",
    "Numbers of heads, and RIFLING",
    [
        *(f"{pair}: fee" for pair in against(["das"], without(HEADS))),
        *(f"{pair}: JCT" for pair in against(without(HEADS), ["das"])),
        *against(HEADS, ["rifling"]),
    ],
    says="With 4 heads the fee is the least and the JCT the largest; RIFLING is behind with any number.",
    how="DAS trained with 1, 2, 4 and 8 heads, on Small.",
    settings=trained.by_jobs,
    remark=WITHOUT + "DAS has 4 heads unless another number is named.",
)
compared(
    "figure-5-history",
    "Figure 5(c, d), Sec. 5.4",
    "Lengths of the history, and RIFLING",
    [*against(["das"], without(TAUS)), *against(TAUS, ["rifling"])],
    says="JCT and fee are the least with a history of tau = 8; RIFLING is behind with any.",
    how="DAS trained with a tau of 4, 6, 8 and 10, on Small.",
    settings=trained.by_jobs,
    remark=WITHOUT + "DAS has a tau of 8 unless another one is named. When means of the actions are played "
    "tau changes no decision (`placement/mean-actions`): what it does can only come from the training.",
)
compared(
    "figure-7-trained",
    "Figure 7, Appendix E",
    "DAS against RIFLING by the arrival rate",
    ["das - rifling"],
    says="DAS is better than RIFLING in fee at each arrival rate and in JCT at most of them; its gain in JCT "
    "grows with the rate, that in fee is the largest at Normal.",
    how="Half, once and twice the arrival rate on Small.",
    places=by_rate,
    beside=[f"das - {FIFO}", f"rifling - {FIFO}"],
    settings=trained.by_settings,
    most="JCT",
    further=[("JCT", "High", "Low"), ("fee", "Normal", "Low"), ("fee", "Normal", "High")],
)
compared(
    "reward-trained",
    "Sec. 5.2, (3)",
    "Training by reward (3)",
    ["da-mc-printed - untrained da-mc"],
    says="Reward (3) is effective.",
    how="DA+MC trained by it against untrained networks, on Small; beside it, the aligned reward.",
    beside=["da-mc - untrained da-mc", "da-mc - da-mc-printed"],
    remark="Besides the reward the two trainings differ in that the aligned one is cut and has a control "
    "variate.",
)
compared(
    "letter-trained",
    "Sec. 4, Algorithm 1",
    "DAS with every formula as printed",
    [f"{trained.LITERAL} - untrained das"],
    because=Why.SAMPLES,
    at_full=Verdict.NOT_REPRODUCED,
    says="DAS as printed learns to schedule.",
    how="All readings to the letter, the settings of Appendix D; as many jobs as the paper has, or ten times "
    "as many; against untrained networks, on Small.",
    settings=trained.by_passes,
    beside=["das - untrained das", f"{trained.LITERAL} - {FIFO}"],
    remark="Where a formula cannot be followed as it stands, `docs/training.md` says what is nearest to it. "
    "By the letter the mean of affinities is 0, so that in play only the order of jobs is learned, and the "
    "first machines are taken. What more than ten times the jobs would do is open.",
)
compared(
    "outcomes-pay",
    "Sec. 4.2",
    "DAS with a process that learns from outcomes",
    [*(f"{trained.OUTCOMES}{weight} - das" for weight in WEIGHTS), "das-outcomes - das"],
    at_full=Verdict.NOT_REPRODUCED,
    says="The process pays once it learns from outcomes, the slowdowns of the jobs placed last.",
    how="DAS with and without, at two loads on Small: the same networks, with three weights of the outcomes "
    "in play, and networks trained with a weight of 10 (das-outcomes).",
    ours=True,
    places=loads,
    many=3,
    remark="Of machines that look alike the process thinks alike, so that it hardly moves their ranks.",
)
compared(
    "beats-consolidate",
    "Sec. 5.2",
    "Our network against rules",
    [f"da-mc-capacity - {FIFO}"],
    says="A learned scheduler that knows neither durations nor estimates is better than FIFO-Consolidate in "
    "JCT and fee.",
    how="DA+MC with capacity features and consolidation as prior mean, on three clusters.",
    ours=True,
    places=long_on_small,
    many=8,
    beside=[f"da-mc-capacity - {FIFO_LB.label}", f"{FIFO_LB.label} - {FIFO}"],
    remark="It sees beta, how much jobs contend, which is none of the features of the paper. The "
    "networks were trained on Medium and Large.",
)
ROOM = {"small": 2.0, "medium": 1.6, "large": 3.2}
"""Loads (rho on Small) at which each cluster leaves something to win."""

RIVALS = ["FIFO-LoadBalance", "DRF-LoadBalance", "Tetris", FIFO, PATIENT.label, trained.BYLOAD.label]
"""Simple rules that know no durations, without FirstFit, which is far behind LoadBalance at these loads."""
BLIND = ("evolved", "da-mc-patient")
"""Learned policies that know neither durations nor estimates, and start out from the best of the rules."""

MANY = 8
"""Instances on which they meet the rules."""

GPU_WEIGHT = 0.25
"""Minutes of JCT that a minute of a GPU counts for in the cost that our networks were trained by."""


def with_room(context: Context) -> dict[str, Setup]:
    """Return every cluster under load; that needs jobs enough."""
    base = Setup(context.pick(20, 200, 1000))
    return {f"{on.capitalize()}, rho {rho:g}": replace(base, cluster=on, rho=rho) for on, rho in ROOM.items()}


def under_load(context: Context) -> dict[str, Setup]:
    """Return Small under load; in full mode every cluster."""
    return dict([*with_room(context).items()][: None if context.mode == "full" else 1])


def against_best(name: str, places: Mapping[str, Setup], context: Context) -> list[Table]:
    """Return where networks stand against the best rule of each place and, in full mode, above a bound."""
    sampled, rows = trained.traces(context, MANY), []
    groups = [trained.group_of(one, context) for one in (name, *RIVALS)]
    for place, setup in places.items():
        per_fee = 60.0 * GPU_WEIGHT / runs.instance(setup, sampled[0]).setting.price
        jct, fee = ([trained.values(who, setup, sampled, of) for who in groups] for of in (JCT, FEE))
        cost = [a + per_fee * b for a, b in zip(jct, fee, strict=True)]
        bounds = [runs.bound(setup, seed) for seed in sampled] if context.mode == "full" else []
        for measure, (ours, *theirs) in {"JCT": jct, "fee": fee, "cost": cost}.items():
            best = min(range(len(RIVALS)), key=lambda at: float(np.log(theirs[at]).mean()))
            above = [excess(one.mean(0), np.array(bounds)) for one in (ours, theirs[best]) if bounds]
            shown = [spread(of) for of in above if measure == "JCT"] or "--"
            rows.append((place, measure, *trained.compare(ours, theirs[best]).row(RIVALS[best]), *shown))
    title = (
        f"{name} against the rule that is the best one on the same {len(sampled)} instances; the cost is JCT "
        f"and {GPU_WEIGHT:g} of the time of GPUs; how far both are above a certified bound. {NOTE}"
    )
    heads = "place | measure | above the rule (%) | rule | by seed (%) | ahead | above a bound (%) | rule (%)"
    return [table(title, heads, rows)]


@claim(
    "beats-every-rule",
    "Sec. 5.2",
    says="A learned scheduler is better in JCT and fee than the best simple rule that knows no durations, "
    "on every cluster under load.",
    how=f"{UNSEEN}Linear scores found by evolution, or DA+MC that learns to wait, against "
    f"{', '.join(RIVALS)}; beside, the best rule of each place.",
    because=Why.SAMPLES,
    ours=True,
)
def beats_every_rule(context: Context) -> Finding:
    pairs = against(BLIND, RIVALS)
    beside = against(["da-mc-capacity"] if context.mode == "full" else [], RIVALS)

    def shown(context: Context) -> list[Table]:
        return [one for name in BLIND for one in against_best(name, with_room(context), context)]

    what = "Against rules"
    return contest(context, what, pairs, with_room, beside=beside, either=True, many=MANY, shown=shown)


def das_against_best(context: Context) -> list[Table]:
    """Return where DAS stands under load, trained at either load, against the best rule of each place."""
    places = under_load(context)
    names = trained.by_load(["das"]).values()
    return [one for by in names for one in against_best(by.get("das", "das"), places, context)]


compared(
    "table-1-loaded",
    "Table 1, Sec. 5.2",
    "DAS against its rivals where jobs wait",
    against(["das"], [*HEURISTIC, "dl2", "rifling"]),
    says="DAS outperforms all competitors in all cases.",
    how=f"Table 1 at loads with something to win, Small at rho {ROOM['small']:g}, in full mode Medium at "
    f"{ROOM['medium']:g} and Large at {ROOM['large']:g}; DAS trained on Small at rho 0.8 or 2; beside, the "
    "best simple rule of each place.",
    places=under_load,
    many=MANY,
    beside=[*against(["das"], [FIFO, PATIENT.label]), *STRAW],
    settings=trained.by_load,
    shown=das_against_best,
)
compared(
    "ablation-loaded",
    "Sec. 5.3, Table 1",
    "A module more, where jobs wait",
    MODULES,
    says="Messages and the random walk process each improve both metrics.",
    how=f"The four variants on Small at rho {ROOM['small']:g}, in full mode on the others under load too, "
    "trained on Small at rho 2 or 0.8, two by two.",
    places=under_load,
    many=MANY,
    settings=trained.by_load,
)
compared(
    "estimates-pay",
    "Sec. 5.2",
    "With estimates",
    against(["evolved-estimates", "da-mc-estimates"], [FIFO, SJF_E.label, trained.SJF_P.label]),
    at_full=Verdict.HOLDS,
    says="Given estimates of the durations, a learned scheduler is better than FIFO-Consolidate, and than "
    "SJF by the same estimates, patient or not.",
    how=f"Linear scores found by evolution, or DA+MC; Small, a lognormal error of sigma {SIGMAS[0]:g} or "
    f"{SIGMAS[1]:g}, and under load, in full mode on every cluster; SJF by durations beside.",
    either=True,
    ours=True,
    beside=[f"da-mc-estimates - {SJF_C.label}"],
    places=by_error,
)

ADDED = [f"da-mc-{what}" for what in ("long", "wide", "settings", "prior", "features", "capacity")]
ADDED += ["clone-ppo", "da-mc-optima"]


def changed(context: Context) -> list[Table]:
    """Return in which settings the networks were trained otherwise than those of DA+MC."""
    base, *plans = (trained.trained(name, context).plan() for name in ("da-mc", *ADDED))
    rows = [(n, trained.changes(p, dict.fromkeys(p, "-") | base)) for n, p in zip(ADDED, plans, strict=True)]
    return [table("What was changed, and in brackets what DA+MC has", "networks | change", rows)]


compared(
    "ladder",
    "Sec. 5.3",
    "What was added to DA+MC",
    against(ADDED, ["da-mc"]),
    says="Capacity features, consolidation as prior mean, longer training, wider networks, the settings of "
    "Appendix D and imitation, of FIFO-Consolidate or of optima, each improve DA+MC.",
    how="Each against DA+MC on Small.",
    ours=True,
    beside=["da-mc - untrained da-mc", *against(["da-mc", "da-mc-printed", *ADDED], [FIFO])],
    shown=changed,
)

STILL = 1.0
"""Points of the cost of FIFO-Consolidate within which a validation stays there (a threshold of ours)."""


def learning_curves() -> dict[str, list[np.ndarray]]:
    """Return curves on record of designs with enough trainings, by seed, each of shape (2, points).

    Decisions learned from, and the validation after them in per cent above FIFO-Consolidate. A curve has two
    points or more in its last third.
    """
    found = defaultdict(list)
    for name, kept in sorted(trained.records().items()):
        curve = np.array(kept["curve"] or [(0, 0)], dtype=np.float64).T
        if (curve[0] >= curve[0, -1] * 2.0 / 3.0).sum() > 1:
            found[name.rpartition("-")[0]].append(curve)
    return {name: of for name, of in found.items() if len(of) >= trained.FEWEST}


def moved(curve: np.ndarray) -> float:
    """Return by how much the validation rises over the last third of a curve, on its least-squares line."""
    x, y = curve[:, curve[0] >= curve[0, -1] * 2.0 / 3.0]
    return float(np.polyfit(x / x[-1], y, 1)[0]) / 3.0


PIECES = 20
"""Parts of a training whose means a picture shows: validations jump by more than all learning does."""


def means(curve: np.ndarray) -> np.ndarray:
    """Return the means of a curve over equal parts of the decisions, shape (2, n), without empty parts."""
    part = np.minimum(PIECES * curve[0] // curve[0, -1], PIECES - 1).astype(np.int64)
    many = np.bincount(part, minlength=PIECES)
    sums = np.array([np.bincount(part, row, PIECES) for row in curve])
    return np.asarray(sums[:, many > 0] / many[many > 0])


KINDS = {
    "-settings-long": "60 passes by the printed settings",
    "-settings-hours": "150 passes by the printed settings",
    "-settings": "printed settings",
    "-literal": "every formula as printed",
    "-loaded": "under load, our settings",
    "-literal-long": "every formula as printed",
    "-loaded-long": "longer under load, our settings",
}
"""The figure of learning curves, by how the names of networks end."""
LONGER = {f"{name}-long" for name in (*HEADS, *TAUS, "rifling")}


def kind_of(name: str) -> str:
    """Return the figure of learning curves in which the networks of a name are shown."""
    if name in trained.PAPER:
        return "our settings"
    if name in LONGER:
        return "longer, our settings"
    by_ending = next((of for ending, of in KINDS.items() if name.endswith(ending)), "")
    others = "evolution" if name.startswith("evolved") else "changes of da-mc"
    return by_ending or ("changes of das" if name.startswith("das-") else others)


def plot_learning(found: Mapping[str, Sequence[np.ndarray]]) -> list[Figure]:
    """Return the learning curves: the mean of the seeds of a design, and between which ends they lie.

    They end where the first of the seeds does. There is one figure of the designs of the paper, one for each
    of :data:`KINDS`, one of evolution, which learns from many more decisions, and one each of what is changed
    of DAS and of DA+MC.
    """
    kinds = defaultdict[str, dict[str, Any]](dict)
    for name, of in found.items():
        kind = kind_of(name)
        smooth = [means(one) for one in of]
        x, _y = min(smooth, key=lambda one: float(one[0][-1]))  # as far as all seeds go
        y = np.array([np.interp(x, *one) for one in smooth])
        changed = kind.removeprefix("changes of ")
        shown = name.removeprefix(f"{changed}-") if changed != kind else name  # for colours apart
        shown = shown.removesuffix("-long").removeprefix("das-") if name in LONGER else shown
        kinds[kind][shown] = x / 1000.0, (y.mean(0), y.min(0), y.max(0))
    figures = []
    for kind, curves in sorted(kinds.items(), reverse=True):
        panels = -(-len(curves) // 6)
        figure, axes = new_figure(panels, height=4.0)
        for number, (name, (x, bands)) in enumerate(curves.items()):
            ax = axes[number % panels] if panels > 1 else axes
            plot_bands(ax, x, {name: bands}, band="least to largest seed")
            name_axes(ax, "decisions learned from (thousands)", "cost above FIFO-Consolidate (%)")
        what = f"Validation, on jobs not learned from: means over each of {PIECES} parts of a training"
        caption = f"{what}, {kind}. {NOTE}."
        slug = kind.replace(",", "").replace(" ", "-")
        figures.append(Figure(f"placement-training-settled-{slug}", caption, to_svg(figure)))
    return figures


@claim("training-settled", "Appendix D", because=Why.SAMPLES, ours=True)
def training_settled(context: Context) -> Finding:
    """The trainings of the package are settled: going on by the same plan would change little.

    A line through the validations in the last third of each learning curve moves by less than one point of
    the cost of FIFO-Consolidate (a threshold of ours), neither down nor up: t intervals over the seeds.
    """
    found = learning_curves()
    context.progress(1.0)
    if not found:
        headline = f"No learning curves of {trained.FEWEST} trainings of a design are on record."
        return finding(Verdict.UNDETERMINED, headline, small=context.quick)
    change = {name: np.array([moved(one) for one in of]) for name, of in found.items()}
    what = f"the validation moves by less than {STILL:g} point"

    def within(limit: float) -> list[Statement]:
        room = {name: {"": np.column_stack([limit + by, limit - by])} for name, by in change.items()}
        return [Statement(f"{n}: {what}", by, "points to spare", 2, ("down", "up")) for n, by in room.items()]

    said = within(STILL)
    known = {limit: words(within(limit)) for limit in (STILL, 3.0 * STILL, 10.0 * STILL)}
    ends = {name: np.array([curve[:, -1] for curve in of]).T for name, of in found.items()}
    rows = [(n, len(x), round(x.mean()), spread(change[n], 2, True), spread(y)) for n, (x, y) in ends.items()]
    return conclude(
        f"In the last third of training, validations of {known[STILL].count('holds')} of {len(said)} designs "
        f"surely move by less than {STILL:g} point, of {known[STILL].count('against')} surely by more.",
        said,
        table(
            f"Lines through the last third of the learning curves. {NOTE}",
            "networks | seeds | decisions | moves (points) | cost above FIFO-Consolidate at the end (%)",
            rows,
        ),
        *plot_learning(found),
        numbers={f"designs settled at {by:g} (points)": of.count("holds") for by, of in known.items()},
        note=NOTE,
    )
