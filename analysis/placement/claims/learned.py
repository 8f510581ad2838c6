"""Claims about the networks that come with the package: those of the paper, and our own.

They were trained and chosen on instances of other seeds than those that are played here
(:mod:`...online.placement.learned.plan`), for minutes of one core. Until they are trained longer, what they
do decides nothing: the checks show differences with intervals over traces and trainings, and no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from ...claim import Context, Finding, Register, Why, table
from ...experiments import spread
from ..experiments import (
    CLUSTERS,
    FIFO_C,
    FIFO_LB,
    HEURISTICS,
    NOTE,
    SJF_C,
    Contender,
    Setup,
    instance,
    outcome,
)
from . import trained
from .evaluation import BUDGETS, LEVEL, RATES, differ
from .trained import SJF_E, Group, base_setup, contest

claim = Register("placement")
of_networks = partial(claim, because=Why.LACKING)

UNSEEN = "Jobs of seeds that no training has seen; all trainings that come with the package. "
OTHER_SETTINGS = (
    "Settings unlike those of Appendix D: DAS and its ablations have 32 hidden units (64 in print, as DL2 "
    "and RIFLING have), gamma is 0.5 (0.98), the weight of the entropy 0 (0.03), the learning rate 0.01 (at "
    "most 0.0001), an episode has 200 jobs (1,000). placement/ladder has DA+MC with the printed ones."
)
"""Where our trainings differ from what is printed."""

FIFO, HEURISTIC = FIFO_C.label, [who.label for who in HEURISTICS]


def against(ours: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the pairs of each of ours with each of the others."""
    return [f"{a} - {b}" for a, b in product(ours, others)]


def unseen(context: Context, **options: Any) -> Finding:
    """Compare pairs of policies on instances by which no networks were chosen."""
    return contest(trained.held_out(context), **options)


def compared(name: str, where: str, what: str, pairs: Sequence[str], *, how: str, **more: Any) -> None:
    """Claim something of pairs of policies."""
    options = {key: more.pop(key) for key in ("places", "shown", "remark") if key in more}
    of_networks(name, where, how=UNSEEN + how, **more)(partial(unseen, what=what, pairs=pairs, **options))


def clusters(context: Context) -> dict[str, Setup]:
    """Return the same jobs on the three clusters."""
    return {cluster.capitalize(): base_setup(context).on(cluster) for cluster in CLUSTERS}


def by_rate(context: Context) -> dict[str, Setup]:
    """Return the same jobs at three arrival rates."""
    base = base_setup(context)
    setups = {name: replace(base, rho=base.rho * rate) for name, rate in RATES.items()}
    return {f"{name} load (rho {setup.rho:g})": setup for name, setup in setups.items()}


SIGMAS = (trained.ESTIMATES, 1.5)
"""Of the error of the estimates: as in the training, and worse."""


def by_error(context: Context) -> dict[str, Setup]:
    """Return the same jobs with estimates of these errors."""
    base = base_setup(context)
    return {f"Sigma-{sigma:g}, Small": replace(base, estimate_error=sigma) for sigma in SIGMAS}


compared(
    "table-1-trained",
    "Table 1, Sec. 5.2",
    "DAS against its rivals",
    against(["das"], [*HEURISTIC, "dl2", "rifling", *(who.label for who in BUDGETS), FIFO]),
    says="DAS outperforms all competitors in all cases.",
    how=f"Small, Medium and Large with the same jobs, trained on Small; metaheuristics in full mode. "
    f"{OTHER_SETTINGS}",
    places=clusters,
    remark="FIFO-Consolidate is none of the paper's baselines.",
)
compared(
    "ablation-trained",
    "Sec. 5.3, Table 1",
    "Designs with a module more, against those without",
    ["da-mc - da", "da-rwgp - da", "das - da-mc", "das - da-rwgp", "da - dl2", "da - rifling"],
    says="Messages and the random walk process each improve both metrics.",
    how="The four variants on Small, two by two. " + OTHER_SETTINGS,
    remark="When means of the actions are played the process changes no decision "
    "(`placement/mean-actions`): what it adds can only come from the training.",
)

HEADS = ("da-mc-h1", "da-mc-h2", "da-mc", "da-mc-h8")

compared(
    "figure-5-heads",
    "Figure 5(a, b), Sec. 5.4",
    "Fewer heads against more, and each against RIFLING",
    [*(f"{a} - {b}" for a, b in combinations(HEADS, 2)), *against(HEADS, ["rifling"])],
    says="With 4 heads the fee is the least and the JCT the largest; RIFLING is behind with any number.",
    how="DA+MC with 1, 2, 4 and 8 heads on Small. " + OTHER_SETTINGS,
    remark="Figure 5 shows DAS, averaged over three clusters; of how many trainings is not said. DA+MC "
    "has 4 heads unless another number is named.",
)
compared(
    "figure-7-trained",
    "Figure 7, Appendix E",
    "DAS against RIFLING by the arrival rate",
    ["das - rifling", f"das - {FIFO}", f"rifling - {FIFO}"],
    says="DAS is better than RIFLING in fee at each arrival rate and in JCT at most of them; its gain in JCT "
    "grows with the rate, that in fee is the largest at Normal.",
    how="Half, once and twice the arrival rate on Small. " + OTHER_SETTINGS,
    places=by_rate,
)
compared(
    "reward-trained",
    "Sec. 5.2, (3)",
    "Training by reward (3)",
    ["da-mc-printed - untrained da-mc", "da-mc - untrained da-mc", "da-mc - da-mc-printed"],
    says="Reward (3) is effective.",
    how="DA+MC trained by it against untrained networks, on Small; beside it, the aligned reward.",
    remark="Besides the reward the two trainings differ in that the aligned one is cut and has a control "
    "variate.",
)


@of_networks(
    "table-3-trained",
    "Table 3, Appendix G",
    says="A Wilcoxon signed-rank test over the jobs tells whether one design is better than another.",
    how=UNSEEN
    + "The test over the jobs of a trace between two trainings of the same design, which it should "
    "tell apart as often as its level says. " + OTHER_SETTINGS,
    ours=True,
)
@trained.with_networks("das", "rifling")
def table_3_trained(context: Context, das: Group, rifling: Group) -> Finding:
    setup = base_setup(context)
    tests = {
        "two trainings of DAS": list(combinations(das.members, 2)),
        "two trainings of RIFLING": list(combinations(rifling.members, 2)),
        "a training of DAS and one of RIFLING": list(product(das.members, rifling.members)),
    }
    shares = {
        name: np.array([_share_significant(pairs, setup, seed) for seed in trained.traces(context)])
        for name, pairs in tests.items()
    }
    title = f"How often the Wilcoxon test over the jobs of a trace finds p < {LEVEL:g}. {NOTE}"
    heads = "between | pairs per instance | JCT (% of the pairs) | fee (% of the pairs)"
    rows = ((name, len(tests[name]), *map(spread, of.T)) for name, of in shares.items())
    remark = "`placement/test-over-jobs` shows the same without networks."
    shown = [table(title, heads, rows)]
    found = contest(context, "DAS against RIFLING", ["das - rifling"], shown=shown, remark=remark)
    return replace(
        found,
        headline=f"Over the jobs of a trace the test tells two trainings of DAS apart in "
        f"{shares['two trainings of DAS'][:, 0].mean():.0f} % of pairs (JCT), its level being "
        f"{100 * LEVEL:g} %.",
    )


def _share_significant(pairs: Sequence[tuple[Contender, Contender]], setup: Setup, seed: int) -> list[float]:
    """Return in how many per cent of the pairs the test over the jobs of a trace differs: JCT and fee."""
    made = instance(setup, seed)
    runs = [[outcome(who, setup, seed).schedule for who in pair] for pair in pairs]
    taken = (made.completion_times, made.fees)
    return [100.0 * float(np.mean([differ(of(a), of(b)) for a, b in runs])) for of in taken]


compared(
    "beats-consolidate",
    "Sec. 5.2",
    "Our network against rules",
    [*against(["da-mc-capacity"], [FIFO, FIFO_LB.label]), f"{FIFO_LB.label} - {FIFO}"],
    says="A learned scheduler that knows neither durations nor estimates is better than FIFO-Consolidate in "
    "JCT and fee.",
    how="DA+MC with capacity features and consolidation as prior mean, on three clusters.",
    ours=True,
    places=clusters,
    remark="It sees beta, how much jobs contend, which is none of the features of the paper. The "
    "networks were trained on Medium and Large.",
)
compared(
    "beats-every-rule",
    "Sec. 5.2",
    "Our network against every rule",
    against(["da-mc-capacity"], [*HEURISTIC, FIFO]),
    says="A learned scheduler is better in JCT and fee than every simple rule that knows no durations, on "
    "every cluster.",
    how="The same networks against FIFO-Consolidate and the five heuristics of the paper.",
    ours=True,
    places=clusters,
)
compared(
    "estimates-pay",
    "Sec. 5.2",
    "Our network with estimates against rules",
    against(["da-mc-estimates"], [FIFO, SJF_E.label, SJF_C.label]),
    says="Given estimates of the durations, a learned scheduler is better than FIFO-Consolidate, and than "
    "SJF by the same estimates.",
    how=f"Small, estimates with a lognormal error of sigma {SIGMAS[0]:g}, and {SIGMAS[1]:g} beside.",
    ours=True,
    places=by_error,
)

ADDED = {
    "da-mc-long": "training four times as long",
    "da-mc-wide": "64 hidden units in the place of 32",
    "da-mc-settings": "the settings of Appendix D, 24,000 jobs in the place of 19,200",
    "da-mc-prior": "consolidation as prior mean",
    "da-mc-features": "capacity features",
    "da-mc-capacity": "both, trained five times as long, on Medium and Large",
    "clone-ppo": "imitating FIFO-Consolidate in the first 4 of 12 iterations",
}
"""What was changed of DA+MC."""

compared(
    "ladder",
    "Sec. 5.3",
    "What was added to DA+MC, and each against rules",
    [
        *against(ADDED, ["da-mc"]),
        "da-mc - untrained da-mc",
        *against(["da-mc", "da-mc-printed", *ADDED], [FIFO]),
    ],
    says="Capacity features, consolidation as prior mean, longer training, wider networks, the settings of "
    "Appendix D and imitation each improve DA+MC.",
    how="Each against DA+MC on Small.",
    ours=True,
    shown=[table("What was changed", "networks | change", ADDED.items())],
)
