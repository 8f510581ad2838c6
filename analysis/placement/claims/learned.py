"""Claims about the networks that come with the package: those of the paper, and our own.

They were trained and chosen on instances of other seeds than those that are played here
(:mod:`...online.placement.learned.plan`), for minutes of one core. Until they are trained longer, what they
do decides nothing: the checks show differences with intervals over traces and trainings, and no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np

from ...claim import Context, Finding, Register, Verdict, Why, table
from ...experiments import spread
from ..experiments import CLUSTERS, FIFO_LB, HEURISTICS, NOTE, SJF_C, Contender, Setup, instance
from . import trained
from .evaluation import BUDGETS, LEVEL, RATES, differ
from .trained import FIFO, OTHER_SETTINGS, PAPER, RL, UNSEEN, Group, alone, base_setup, contest, with_networks

claim = Register("placement")


def by_networks(name: str, where: str, networks: Iterable[str], how: str, **more: Any) -> Any:
    """Register a check that is handed the networks of these names."""
    add = claim(name, where, Verdict.UNDETERMINED, because=Why.LACKING, how=UNSEEN + how, extra=RL, **more)
    return lambda check: add(with_networks(*networks)(check))


def clusters(context: Context) -> dict[str, Setup]:
    """Return the same jobs on the three clusters."""
    return {cluster.capitalize(): base_setup(context).on(cluster) for cluster in CLUSTERS}


# --- The paper's designs -----------------------------------------------------------------------------------


@by_networks(
    "table-1-trained",
    "Table 1, Sec. 5.2",
    ("das", "dl2", "rifling"),
    says="DAS outperforms all competitors in all cases.",
    how=f"Small, Medium and Large with the same jobs, trained on Small; metaheuristics in full mode. "
    f"{OTHER_SETTINGS}",
)
def table_1_trained(context: Context, das: Group, *learned: Group) -> Finding:
    searches = BUDGETS if context.mode == "full" else ()
    rivals = (*map(alone, HEURISTICS), *learned, *map(alone, searches), FIFO)
    return contest(
        context,
        "DAS against its rivals",
        [(das, rival) for rival in rivals],
        clusters(context),
        remark="FIFO-Consolidate is none of the paper's baselines.",
    )


@by_networks(
    "ablation-trained",
    "Sec. 5.3, Table 1",
    PAPER,
    says="Messages and the random walk process each improve both metrics.",
    how="The four variants on Small, two by two. " + OTHER_SETTINGS,
)
def ablation_trained(
    context: Context, da: Group, mc: Group, rwgp: Group, das: Group, dl2: Group, rifling: Group
) -> Finding:
    return contest(
        context,
        "Designs with a module more, against those without",
        [(mc, da), (rwgp, da), (das, mc), (das, rwgp), (da, dl2), (da, rifling)],
        remark="When means of the actions are played the process changes no decision "
        "(`placement/mean-actions`): what it adds can only come from the training.",
    )


@by_networks(
    "figure-5-heads",
    "Figure 5(a, b), Sec. 5.4",
    ("rifling", "da-mc-h1", "da-mc-h2", "da-mc", "da-mc-h8"),
    says="With 4 heads the fee is the least and the JCT the largest; RIFLING is behind with any number.",
    how="DA+MC with 1, 2, 4 and 8 heads on Small. " + OTHER_SETTINGS,
)
def figure_5_heads(context: Context, rifling: Group, *heads: Group) -> Finding:
    return contest(
        context,
        "Fewer heads against more, and each against RIFLING",
        [*combinations(heads, 2), *((group, rifling) for group in heads)],
        remark="Figure 5 shows DAS, averaged over three clusters; of how many trainings is not said. DA+MC "
        "has 4 heads unless another number is named.",
    )


@by_networks(
    "figure-7-trained",
    "Figure 7, Appendix E",
    ("das", "rifling"),
    says="DAS is better than RIFLING in fee at each arrival rate and in JCT at most of them; its gain in JCT "
    "grows with the rate, that in fee is the largest at Normal.",
    how="Half, once and twice the arrival rate on Small. " + OTHER_SETTINGS,
)
def figure_7_trained(context: Context, das: Group, rifling: Group) -> Finding:
    base = base_setup(context)
    rhos = {name: base.rho * rate for name, rate in RATES.items()}
    return contest(
        context,
        "DAS against RIFLING by the arrival rate",
        [(das, rifling), (das, FIFO), (rifling, FIFO)],
        {f"{name} load (rho {rho:g})": replace(base, rho=rho) for name, rho in rhos.items()},
    )


@by_networks(
    "reward-trained",
    "Sec. 5.2, (3)",
    ("da-mc-printed", "da-mc"),
    says="Reward (3) is effective.",
    how="DA+MC trained by it against untrained networks, on Small; beside it, the aligned reward.",
)
def reward_trained(context: Context, printed: Group, aligned: Group) -> Finding:
    blank = trained.untrained("da-mc", context.pick(2, 5, 10))
    return contest(
        context,
        "Training by reward (3)",
        [(printed, blank), (aligned, blank), (aligned, printed)],
        remark="Besides the reward the two trainings differ in that the aligned one is cut and has a control "
        "variate.",
    )


@by_networks(
    "table-3-trained",
    "Table 3, Appendix G",
    ("das", "rifling"),
    says="A Wilcoxon signed-rank test over the jobs tells whether one design is better than another.",
    how="The test over the jobs of a trace between two trainings of the same design, which it should tell "
    "apart as often as its level says. " + OTHER_SETTINGS,
    ours=True,
)
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
    found = contest(
        context,
        "DAS against RIFLING",
        [(das, rifling)],
        None,
        table(title, heads, rows),
        remark="`placement/test-over-jobs` shows the same without networks.",
    )
    return replace(
        found,
        headline=f"Over the jobs of a trace the test tells two trainings of DAS apart in "
        f"{shares['two trainings of DAS'][:, 0].mean():.0f} % of pairs (JCT), its level being "
        f"{100 * LEVEL:g} %.",
    )


def _share_significant(pairs: Sequence[tuple[Contender, Contender]], setup: Setup, seed: int) -> list[float]:
    """Return in how many per cent of the pairs the test over the jobs of a trace differs: JCT and fee."""
    made = instance(setup, seed)
    runs = [[trained.outcomes(who, setup, [seed])[0].schedule for who in pair] for pair in pairs]
    taken = (made.completion_times, made.fees)
    return [100.0 * float(np.mean([differ(of(a), of(b)) for a, b in runs])) for of in taken]


# --- Ours --------------------------------------------------------------------------------------------------


@by_networks(
    "beats-consolidate",
    "Sec. 5.2",
    ("da-mc-capacity",),
    says="A learned scheduler that knows neither durations nor estimates is better than FIFO-Consolidate in "
    "JCT and fee.",
    how="DA+MC with capacity features and consolidation as prior mean, on three clusters.",
    ours=True,
)
def beats_consolidate(context: Context, capacity: Group) -> Finding:
    return contest(
        context,
        "Our network against rules",
        [(capacity, FIFO), (capacity, alone(FIFO_LB)), (alone(FIFO_LB), FIFO)],
        clusters(context),
        remark="It sees beta, how much jobs contend, which is none of the features of the paper. The "
        "networks were trained on Medium and Large.",
    )


@by_networks(
    "beats-every-rule",
    "Sec. 5.2",
    ("da-mc-capacity",),
    says="A learned scheduler is better in JCT and fee than every simple rule that knows no durations, on "
    "every cluster.",
    how="The same networks against FIFO-Consolidate and the five heuristics of the paper.",
    ours=True,
)
def beats_every_rule(context: Context, capacity: Group) -> Finding:
    pairs = [(capacity, rule) for rule in (*map(alone, HEURISTICS), FIFO)]
    return contest(context, "Our network against every rule", pairs, clusters(context))


SIGMAS = (trained.ESTIMATES, 1.5)
"""Of the error of the estimates: as in the training, and worse."""


@by_networks(
    "estimates-pay",
    "Sec. 5.2",
    ("da-mc-estimates",),
    says="Given estimates of the durations, a learned scheduler is better than FIFO-Consolidate, and than "
    "SJF by the same estimates.",
    how=f"Small, estimates with a lognormal error of sigma {SIGMAS[0]:g}, and {SIGMAS[1]:g} beside.",
    ours=True,
)
def estimates_pay(context: Context, estimates: Group) -> Finding:
    return contest(
        context,
        "Our network with estimates against rules",
        [(estimates, rival) for rival in (FIFO, alone(trained.SJF_E), alone(SJF_C))],
        {f"Sigma-{sigma:g}, Small": replace(base_setup(context), estimate_error=sigma) for sigma in SIGMAS},
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


@by_networks(
    "ladder",
    "Sec. 5.3",
    ("da-mc", "da-mc-printed", *ADDED),
    says="Capacity features, consolidation as prior mean, longer training, wider networks, the settings of "
    "Appendix D and imitation each improve DA+MC.",
    how="Each against DA+MC on Small.",
    ours=True,
)
def ladder(context: Context, plain: Group, printed: Group, *added: Group) -> Finding:
    blank = trained.untrained("da-mc", context.pick(2, 5, 10))
    steps = [(group, plain) for group in added] + [(plain, blank)]
    rows = ((group.label, change) for group, change in zip(added, ADDED.values(), strict=True))
    return contest(
        context,
        "What was added to DA+MC, and each against rules",
        [*steps, *((group, FIFO) for group in (plain, printed, *added))],
        None,
        table("What was changed", "networks | change", rows),
    )


CLAIMS = claim.claims
