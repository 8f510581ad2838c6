"""Claims about trained networks: single decisions, time, and distance from the optimum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ....models.placement.instance import PlacementInstance
from ....online.placement.learned.acting import Player
from ...claim import Context, Finding, Register, Verdict, Why, finding, holds_if, table
from ...experiments import policy_seed, seeds, spread, track
from ...study import Fact, conclude
from .. import experiments as runs
from ..experiments import CLUSTERS, FIFO_C, FIFO_FF, JCT, NOTE, SJF_C, Contender, Setup, instance, outcome
from ..measures import ratio
from . import trained
from .evaluation import BUDGETS, seconds_of_decisions
from .model import Opening, case_6a, eight_machines
from .table_1 import INFERENCE
from .trained import PAPER, Group, told, with_networks

claim = Register("placement")


def case(who: Contender, made: PlacementInstance, opening: Opening) -> tuple[np.ndarray, np.ndarray]:
    """Return what networks answer by means of their actions at the first epoch after an opening.

    Priorities of the waiting jobs, shape (w,), and affinities of those that start, shape (s, M).
    """
    player = Player(trained.learned(who).networks(), made.setting, np.random.default_rng(0))
    episode = made.episode(frozenset())
    for step, observation in enumerate(episode):
        decision = player.decide(observation)
        if step == len(opening):
            return decision.priorities, decision.affinities
        episode.apply(np.array(opening[step], dtype=np.int64).reshape(-1, 3))
    raise RuntimeError("the opening lasts until the end of the instance")


def of_das(networks: Iterable[Group]) -> list[Group]:
    """Return those of DAS, by :func:`.trained.readings_of`, that were not trained too briefly to decide."""
    return [one for one in networks if one.label in trained.readings_of("das") and not one.brief]


@claim("case-priority", "Sec. 5.5, Figure 6(a)", because=Why.LACKING)
@with_networks("das", "da", readings=True)
def case_priority(context: Context, *networks: Group) -> Finding:
    """That the job which fits gets the highest priority shows that messages from the machines reach the
    ordering agent.

    The case as told, in both orders of submission, and on an empty cluster, where the other job fits too;
    networks with and without messages, by our settings and the printed ones, at both loads and for longer,
    and untrained ones.
    """

    def lead(who: Contender, made: PlacementInstance, opening: Opening, *jobs: int) -> float:
        """Return by how much the priority of the job that fits is above that of the other one."""
        return float(np.diff(case(who, made, opening)[0][[*jobs]])[0])

    groups = (*networks, trained.untrained("das", context.pick(3, 20, 100)))
    rows, by_state = [], {}
    for group in track(context, groups):
        leads = np.array([[lead(who, *told) for told in case_6a().values()] for who in group.members])
        by_state[group.label] = int(((leads[:, :2] > 0.0).all(1) & (leads[:, 2:] < 0.0).all(1)).sum())
        moved = round(float(np.abs(leads[:, :2] - leads[:, 2:]).mean()), 4)
        rows.append((group.label, len(group), *(leads > 0.0).sum(0).tolist(), by_state[group.label], moved))
    das = of_das(networks)
    decided, many = sum(by_state[one.label] for one in das), sum(map(len, das))
    return finding(
        holds_if(decided == many > 0, Verdict.UNDETERMINED),
        f"The machines decide which job is first under {decided} of {many} trained networks of DAS; the "
        f"picture alone does not tell why.",
        table(
            "Networks that give the job which fits the higher priority; turned: it is the older one; empty: "
            "the other one would fit, too. DA has no messages",
            f"networks | of | {' | '.join(case_6a())} | busy first, empty second | mean change, both",
            rows,
        ),
        small=context.quick,
        assumes=told(groups),
        remark="Messages would show if the job came first where the other does not fit, and second where it "
        "does, in either order of submission.",
    )


CONTENDING = 5  # the machine of j4 in Figure 6(b)
ALIKE = (1, 2, 3, 4, 6)  # the machines that run j3 alone


def case_6b(cores: float) -> tuple[PlacementInstance, Opening]:
    """Return a case after Figure 6(b): j3 on five machines, j4 on one, two are full; then j5 comes.

    j3 and j4 take 4 GPUs of each of their machines, and j3 takes 16 cores there; ``cores`` are those of j4.
    """
    jobs = [(0, 60, 2, 8, 16), (0, 60, 5, 4, 16), (0, 60, 1, 4, cores), (1, 60, 1, 2, 8)]
    opening = [(0, 0, 1), (0, 7, 1), *((1, k, 1) for k in ALIKE), (2, CONTENDING, 1)]
    return eight_machines(jobs, f"after Figure 6(b), j4 takes {cores:g} cores"), [opening]


@claim("case-affinity", "Sec. 5.5, Figure 6(b)", because=Why.LACKING)
@with_networks("das", "da-mc", readings=True)
def case_affinity(context: Context, *networks: Group) -> Finding:
    """The process detects contention: the machine of the contending job has the least affinity.

    The case as told, with a job that takes more cores than the others, and with one that takes the same: it
    holds if networks, by our settings and the printed ones, at both loads and for longer, tell that machine
    from the others there, too.
    """
    rows = []
    for group in track(context, (*networks, trained.untrained("das", context.pick(3, 20, 100)))):
        cases = ([case(who, *case_6b(cores))[1][0] for who in group.members] for cores in (64.0, 16.0))
        heavy, same = map(np.array, cases)
        least = int((heavy[:, CONTENDING] < heavy[:, ALIKE].min(1)).sum())
        gap = float(np.abs(same[:, CONTENDING] - same[:, ALIKE[0]]).max())
        rows.append((group.label, len(group), least, gap))
    das = [one.label for one in of_das(networks)]
    detected = [least == many and gap > 0.0 for name, many, least, gap in rows if name in das]
    return finding(
        holds_if(bool(das) and all(detected), Verdict.UNDETERMINED),
        "Where the contending job takes as much as the others, its machine gets the same affinity as theirs.",
        {"largest difference where amounts are the same": max(row[3] for row in rows)},
        table(
            "Affinities of j5 in the case of Figure 6(b)",
            "networks | of | m5 the least, j4 takes 64 cores | largest |m5 - m1|, j4 takes 16 cores",
            rows,
        ),
        small=context.quick,
        assumes="What is free and in use are the features here. Bandwidth, which the paper names besides, "
        "and a history of affinities, are not there: either might tell the machines apart.",
    )


MUCH, PRINTED_COST = 10.0, 50.0
"""How many times slower is much less efficient (a threshold of ours), and how many times slower than DAS."""
SCALES = (0.1, 1.0, 10.0)
"""Multiples of a threshold of ours with which the result is told, too."""


@claim(
    "search-cost",
    "Sec. 2.1, Sec. 5.2",
    because=Why.SAMPLES,
    says="Metaheuristics are much less efficient, about 50 times as slow as DAS.",
    how="CPU time of a decision, with the budgets of Table 2, over that of FIFO-FirstFit and that of DAS.",
    choices=("how policies are implemented: ours are compiled, networks too",),
)
@with_networks("das")
def search_cost(context: Context, das: Group) -> Finding:
    sampled, setup = seeds(context, 2, 3, 10), Setup(context.pick(20, 30, 300), rho=2.0)
    took, learned = {}, das.members[0]
    for who in track(context, (FIFO_FF, learned, *BUDGETS)):
        seconds_of_decisions(who.make(), instance(Setup(4), sampled[0]), 0)  # loads and compiles
        made = ((instance(setup, seed), policy_seed(seed)) for seed in sampled)
        took[who] = np.array([seconds_of_decisions(who.make(), *one).mean() for one in made])
    times = {(who, of): took[who] / took[of] for who in BUDGETS for of in (FIFO_FF, learned)}
    often = [int((times[who, FIFO_FF] >= MUCH).sum()) for who in BUDGETS]
    many, much = len(sampled), f"at least {MUCH:g} times as long as"
    said = [
        Fact(f"a decision takes {who.label} {much} FIFO-FirstFit", f"on {n} of {many} instances", n == many)
        for who, n in zip(BUDGETS, often, strict=True)
    ]
    for who in BUDGETS:
        says = f"a decision takes {who.label} about {PRINTED_COST:g} times as long as DAS"
        said.append(Fact(says, f"{trained.ends(times[who, learned], 0)} times", None))
    least, limits = np.minimum(*(times[who, FIFO_FF] for who in BUDGETS)), [MUCH * by for by in SCALES]
    both = "instances on which both take at least"
    return conclude(
        f"MOSA and MALO take {much} FIFO-FirstFit on {min(often)} of {many} instances; 50 times DAS "
        f"depends on the programs.",
        said,
        numbers={"instances": many}
        | {f"{both} {x:g} times as long": int((least >= x).sum()) for x in limits},
        assumes=f"{MUCH:g} times is a threshold of ours. The paper's programs are not at hand.",
    )


NEGLIGIBLE = 1.0
"""Per cent of the mean JCT below which the time of decisions is negligible (a threshold of ours)."""


@claim(
    "decision-time",
    "Appendix F, Sec. 5.2",
    Verdict.HOLDS,
    says="The time of decisions is negligible beside the JCT.",
    how=f"CPU time of the decisions of DAS on three clusters; negligible is less than "
    f" {NEGLIGIBLE:g} % of the mean JCT, a threshold of ours.",
)
@with_networks("das")
def decision_time(context: Context, das: Group) -> Finding:
    jobs, seed, who = context.pick(20, 40, 400), seeds(context, 1, 1, 1)[0], das.members[0]
    seconds_of_decisions(who.make(), instance(Setup(4), seed), 0)  # loads and compiles
    rows, said = [], []
    for cluster, printed in track(context, zip(CLUSTERS, INFERENCE, strict=True)):
        setup, name = Setup(jobs, cluster), cluster.capitalize()
        everyone = (one.make() for one in (who, *BUDGETS))
        took = [seconds_of_decisions(one, instance(setup, seed), policy_seed(seed)).sum() for one in everyone]
        per_job, *search = (float(one) / jobs for one in took)
        share = 100.0 * per_job / (60.0 * outcome(who, setup, seed).measures[JCT])
        times = (round(1000.0 * one, 2) for one in (per_job, printed, *search))
        rows.append((name, *times, round(per_job / printed, 3), share))
        says = f"{name}: the time of all decisions is less than {NEGLIGIBLE:g} % of the JCT"
        said.append(Fact(says, f"{'less' if share < NEGLIGIBLE else 'more'} than that", share < NEGLIGIBLE))
    limits = [NEGLIGIBLE * by for by in SCALES]
    return conclude(
        f"All decisions together take less than {NEGLIGIBLE:g} % of the mean JCT on "
        f"{sum(one.agrees is True for one in said)} of {len(said)} clusters.",
        said,
        table(
            f"CPU time of the decisions per job, {jobs} jobs, this run; MOSA and MALO with the budget of "
            f"Table 2. {NOTE}",
            "cluster | DAS (ms) | DAS in print (ms) | MOSA (ms) | MALO (ms) | DAS, here / in print | DAS, "
            "share of the JCT (%)",
            rows,
        ),
        numbers={f"clusters below {x:g} %": sum(row[-1] < x for row in rows) for x in limits},
        assumes="One thread of this machine. The times are those of this run.",
    )


OURS = ("clone-ppo", "da-mc-capacity", "evolved", "da-mc-estimates", "evolved-estimates")


@claim("learned-gap", "Sec. 2.1", Verdict.HOLDS, ours=True)
@with_networks(*PAPER, *OURS)
def learned_gap(context: Context, *networks: Group) -> Finding:
    """No policy is below the certified bound or the optimum; how far the learned ones are above them.

    A bound by prices on Small; the optimum over the decision epochs, contention included, by
    branch and bound on tiny instances.
    """
    groups = (*networks, *(Group(who.label, (who,)) for who in (FIFO_FF, FIFO_C, SJF_C, trained.SJF_E)))
    sampled, many, sigma = seeds(context, 3, 8, 30), seeds(context, 3, 3, 20), trained.ESTIMATES
    tiny = Setup(context.pick(6, 6, 8), None, 3.0, size="tiny", estimate_error=sigma)
    base = replace(trained.base_setup(context), estimate_error=sigma)
    best = [runs.optimum(tiny, seed, certify=context.mode == "full") for seed in sampled]
    least = np.array([runs.bound(base, seed) for seed in many])
    runs.play_all(context, [(who, base) for group in groups for who in group.members], many)
    gaps = {g.label: runs.excess(trained.values(g, base, many, JCT), least) for g in groups}
    proved = np.array([one.gap == 0.0 for one in best])
    rows, lowest = [], np.inf
    for group in groups:
        played = [[outcome(who, tiny, seed).cost for seed in sampled] for who in group.members]
        found = np.array([[ratio(*both)[0] for both in zip(best, each, strict=True)] for each in played])
        lowest = found[:, proved].min(initial=lowest)
        above = gaps[group.label].mean(0)
        ends = (round(float(of(above)), 1) for of in (np.median, np.min, np.max))
        share = (spread(found.mean(0), 3), trained.ends(found.mean(1), 3), round(float(found.max()), 2))
        rows.append((group.label, len(group) if len(group) > 1 else "-", *ends, *share))
    said = [
        Fact(
            f"no run is below the certified bound ({base.jobs} jobs on Small)",
            f"the least is {min(float(of.min()) for of in gaps.values()):.1f} % above it",
            bool(all((of >= -1e-7).all() for of in gaps.values())),
        ),
        Fact(
            f"no run is below a proved optimum ({tiny.jobs} jobs on 2 x 4 GPUs)",
            f"the least total / optimum is {lowest:.3f}",
            bool(lowest >= 1.0 - 1e-9) if proved.any() else None,
        ),
    ]
    medians = {group.label: float(np.median(gaps[group.label].mean(0))) for group in networks}
    return conclude(
        f"With {base.jobs} jobs on Small FIFO-Consolidate is {np.median(gaps[FIFO_C.label]):.1f} % above a "
        f"certified bound in the median, the networks {min(medians.values()):.1f} to "
        f"{max(medians.values()):.1f} %.",
        said,
        table(
            f"JCT above a certified bound ({len(many)} instances of {base.jobs} jobs on Small), and total "
            f"over optimum ({len(sampled)} instances of {tiny.jobs} jobs on 2 x 4 GPUs); SJF knows "
            f"durations, and the two with estimates know those with an error of sigma {sigma:g}. {NOTE}",
            "policy | seeds | above the bound, median (%) | least | most | total / optimum | by seed | most",
            rows,
        ),
        note=NOTE,
        numbers={
            "optima": len(sampled),
            "proved": int(proved.sum()),
            "DAS above the certified bound, median (%)": medians["das"],
        },
        assumes="Optimum and bound know all jobs and durations beforehand.",
    )
