"""Claims about trained networks: single decisions, history, time, and distance from the optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....models.placement.instance import PlacementInstance
from ....online.play import play, policy_stream
from ...claim import Context, Figure, Finding, Register, Table, Verdict, holds_if
from ...experiments import policy_seed, seeds, spread, track
from ...plots import new_figure, plot_bars, to_svg
from ...study import Fact, judge, settled, statements
from ..experiments import (
    CLUSTERS,
    FIFO_FF,
    JCT,
    NOTE,
    SJF_C,
    Contender,
    Setup,
    bound,
    excess,
    instance,
    optimum,
)
from ..measures import ratio
from .evaluation import BUDGETS, seconds_per_decision
from .model import eight_machines, figure_6a
from .table_1 import INFERENCE, SLOWER
from .trained import (
    AT_PLAY,
    ESTIMATES,
    FEWEST,
    FIFO,
    LEARNED,
    RL,
    SJF_E,
    UNTIL,
    Group,
    alone,
    ends,
    held_out,
    lacking,
    learned,
    outcomes,
    play_all,
    side_by_side,
    too_few,
    trained,
    trainings,
    untrained,
    values,
    with_history,
)

if TYPE_CHECKING:
    from ....online.placement.learned.networks import Actor


claim = Register("placement")


# --- Figure 5(c, d) -----------------------------------------------------------------------------------------

TAUS = (4, 6, 8, 10)


@claim(
    "figure-5-history",
    "Figure 5(c, d), Sec. 5.4",
    Verdict.UNDETERMINED,
    says="JCT and fee are the least with a history of tau = 8.",
    how="The trained networks of DAS with other lengths of the history at play.",
    extra=RL,
    choices=("tau at play: 1, 4, 6, 8, 10",),
)
def figure_5_history(context: Context) -> Finding:
    context = held_out(context)
    das = trained("das", "DAS", context)
    if (missing := too_few([das])) is not None:
        return missing
    sampled = seeds(context, 1, 2, 5)
    small = Setup(context.pick(20, 60, 400), rho=2.0)
    made = [instance(small, seed) for seed in sampled]
    same, count = 0, 0
    for who in track(context, das.members):
        shipped = [
            play(who.make(), one, policy_seed(seed), keep_decisions=True)
            for one, seed in zip(made, sampled, strict=True)
        ]
        own = [one.schedule_of(run.decisions or ()) for one, run in zip(made, shipped, strict=True)]
        for tau in (1, *TAUS):
            for one, other in zip(own, side_by_side(who, made, tau), strict=True):
                count += 1
                same += bool(np.array_equal(one.start, other.start) and np.array_equal(one.rows, other.rows))
    return Finding(
        Verdict.UNDETERMINED,
        f"Whatever tau is at play, {same} of {count} schedules are those that the networks make with the tau "
        f"of their training.",
        {
            "instances": len(sampled),
            "jobs": small.jobs,
            **trainings([das]),
            "schedules": count,
            "equal": same,
        },
        small=context.mode == "quick",
        assumes="Means of the actions are taken, so that the process learns nothing from the past "
        "(`placement/mean-actions`).",
        remark="Figure 5(c, d) can show trainings with other taus, or sampled actions.",
    )


# --- Figure 6 ----------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """What networks see at one decision epoch, and what they answer by means of their actions.

    Attributes
    ----------
    priorities
        Of the waiting jobs, shape (w,).
    affinities
        Of the jobs that start, in that order, shape (s, M).
    """

    priorities: np.ndarray
    affinities: np.ndarray


def case(who: Contender, made: PlacementInstance, opening: Sequence[Sequence[tuple[int, int, int]]]) -> Case:
    """Return the answer of networks at the first epoch after an opening."""
    from ....online.placement.learned.acting import Memory, act, one_thread
    from ....online.placement.learned.features import Eyes

    actor: Actor = with_history(learned(who).networks(), AT_PLAY)
    eyes = Eyes(made.setting, actor.design.sees_estimates)
    episode = made.episode(frozenset())
    left = list(opening)
    for observation in episode:
        scene = eyes.look(observation)
        if left:
            episode.apply(np.array(left.pop(0), dtype=np.int64).reshape(-1, 3))
            continue
        with one_thread():
            (move,) = act(actor, [scene], [Memory()], None)
        return Case(move.priorities, move.affinities.numpy())
    raise RuntimeError("the opening lasts until the end of the instance")


BLOCKED = (1.0, 60.0, 8, 7, 8.0)
FITTING = (1.0, 60.0, 1, 1, 8.0)
"""The jobs of Figure 6(a): 8 instances of 7 GPUs, and one that fits; see :func:`.model.figure_6a`."""


def case_6a() -> dict[str, tuple[PlacementInstance, list[list[tuple[int, int, int]]], int, int]]:
    """Return cases after Figure 6(a), each with its opening and the places of the two jobs in the queue."""
    busy, opening = figure_6a()
    first = (0.0, 60.0, 1, 2, 8.0)
    turned = eight_machines(
        [first, FITTING, BLOCKED], "after Figure 6(a), the job that fits is the older one"
    )
    empty = eight_machines([BLOCKED, FITTING], "after Figure 6(a), on an empty cluster")
    empty_turned = eight_machines([FITTING, BLOCKED], "after Figure 6(a), on an empty cluster, turned")
    return {
        "busy": (busy, opening, 0, 1),
        "busy, turned": (turned, opening, 1, 0),
        "empty": (empty, [], 0, 1),
        "empty, turned": (empty_turned, [], 1, 0),
    }


def _lead(who: Contender, name: str) -> float:
    """Return by how much the priority of the job that fits is above that of the other one."""
    made, opening, blocked, fitting = case_6a()[name]
    found = case(who, made, opening).priorities
    return float(found[fitting] - found[blocked])


@claim(
    "case-priority",
    "Sec. 5.5, Figure 6(a)",
    Verdict.UNDETERMINED,
    says="That the job which fits gets the highest priority shows that messages from the machines reach the "
    "ordering agent.",
    how="The case as told, in both orders of submission, and on an empty cluster, where the other job fits "
    "too; trained networks with and without messages, and untrained ones.",
    extra=RL,
)
def case_priority(context: Context) -> Finding:
    context = held_out(context)
    das, da = trained("das", "DAS", context), trained("da", "DA (no messages)", context)
    if (missing := too_few([das, da])) is not None:
        return missing
    blank = untrained("das", "untrained DAS", context.pick(3, 20, 100))
    groups, names = (das, da, blank), tuple(case_6a())
    leads = {
        group.label: np.array([[_lead(who, name) for name in names] for who in group.members])
        for group in track(context, groups)
    }
    first = {label: (found > 0.0).sum(0).tolist() for label, found in leads.items()}
    by_state = {
        label: int(((found[:, :2] > 0.0).all(1) & (found[:, 2:] < 0.0).all(1)).sum())
        for label, found in leads.items()
    }
    moved = {label: float(np.abs(found[:, :2] - found[:, 2:]).mean()) for label, found in leads.items()}
    return Finding(
        Verdict.HOLDS if by_state[das.label] == len(das) else Verdict.UNDETERMINED,
        f"The machines decide which job is first under {by_state[das.label]} of {len(das)} trained networks; "
        f"the picture alone does not tell why.",
        {
            **{f"first in the printed order, {label}": counts[0] for label, counts in first.items()},
            **trainings(groups),
        },
        tables=(
            Table(
                "Networks that give the job which fits the higher priority; turned: it is the older one; "
                "empty: the other one would fit, too",
                (
                    "networks",
                    "of",
                    *names,
                    "busy first, empty second, both orders",
                    "mean change, busy to empty",
                ),
                tuple(
                    (
                        group.label,
                        len(group),
                        *first[group.label],
                        by_state[group.label],
                        round(moved[group.label], 4),
                    )
                    for group in groups
                ),
            ),
        ),
        small=context.mode == "quick",
        assumes=UNTIL,
        remark="Messages would show if the job came first where the other does not fit, and second where it "
        "does, in either order of submission. A job that does not fit is passed over "
        "(`placement/case-ordering`).",
    )


CONTENDING = 5
"""The machine of j4 in Figure 6(b)."""

ALIKE = (1, 2, 3, 4, 6)
"""The machines that run j3 alone."""


def case_6b(cores: float) -> tuple[PlacementInstance, list[list[tuple[int, int, int]]]]:
    """Return a case after Figure 6(b): j3 on five machines, j4 on one, two are full; then j5 comes.

    j3 and j4 take 4 GPUs of each of their machines, and j3 takes 16 cores there; ``cores`` are those of j4.
    """
    jobs = [
        (0.0, 60.0, 2, 8, 16.0),
        (0.0, 60.0, 5, 4, 16.0),
        (0.0, 60.0, 1, 4, cores),
        (1.0, 60.0, 1, 2, 8.0),
    ]
    opening = [(0, 0, 1), (0, 7, 1), *((1, k, 1) for k in ALIKE), (2, CONTENDING, 1)]
    return eight_machines(jobs, f"after Figure 6(b), j4 takes {cores:g} cores"), [opening]


@claim(
    "case-affinity",
    "Sec. 5.5, Figure 6(b)",
    Verdict.UNDETERMINED,
    says="The process detects contention: the machine of the contending job has the least affinity.",
    how="The case as told, with a job that takes more cores than the others, and with one that takes the "
    "same: it holds if networks tell that machine from the others there, too.",
    extra=RL,
)
def case_affinity(context: Context) -> Finding:
    context = held_out(context)
    das, mc = trained("das", "DAS", context), trained("da-mc", "DA+MC (no process)", context)
    if (missing := too_few([das, mc])) is not None:
        return missing
    blank = untrained("das", "untrained DAS", context.pick(3, 20, 100))
    groups = (das, mc, blank)
    least, gaps = {}, {}
    for group in track(context, groups):
        heavy, same = (
            np.array([case(who, *case_6b(cores)).affinities[0] for who in group.members])
            for cores in (64.0, 16.0)
        )
        least[group.label] = int((heavy[:, CONTENDING] < heavy[:, ALIKE].min(1)).sum())
        gaps[group.label] = float(np.abs(same[:, CONTENDING] - same[:, ALIKE[0]]).max())
    return Finding(
        holds_if(least[das.label] == len(das) and gaps[das.label] > 0.0, Verdict.UNDETERMINED),
        "Where the contending job takes as much as the others, its machine gets the same affinity as theirs.",
        {"largest difference where amounts are the same": max(gaps.values()), **trainings(groups)},
        tables=(
            Table(
                "Affinities of j5 in the case of Figure 6(b)",
                ("networks", "of", "m5 the least, j4 takes 64 cores", "largest |m5 - m1|, j4 takes 16 cores"),
                tuple((g.label, len(g), least[g.label], gaps[g.label]) for g in groups),
            ),
        ),
        small=context.mode == "quick",
        assumes="What is free and in use are the features here. Bandwidth, which the paper names besides, "
        "and a history of affinities, are not there: either might tell the machines apart.",
        remark="Machines that are equal in all features get equal affinities from any function of them.",
    )


# --- Appendix F --------------------------------------------------------------------------------------------

NEGLIGIBLE = 1.0
"""Per cent of the mean JCT below which the time of decisions is negligible (a threshold of ours)."""

SURELY_FASTER = 10.0
"""A search that takes less than this many times as long as DAS is not 50 times slower, whatever the noise."""


@claim(
    "decision-time",
    "Appendix F, Sec. 5.2",
    Verdict.HOLDS,
    says="The time of decisions is negligible beside the JCT.",
    how=f"CPU time of the decisions of DAS (32 hidden units, 64 in print) on three clusters; negligible is "
    f"less than {NEGLIGIBLE:g} % of the mean JCT, a threshold of ours.",
    extra=RL,
)
def decision_time(context: Context) -> Finding:
    context = held_out(context)
    das = trained("das", "DAS", context)
    if (missing := too_few([das])) is not None:
        return missing
    jobs = context.pick(20, 60, 400)
    places = {cluster: Setup(jobs, cluster) for cluster in CLUSTERS}
    seed, who = seeds(context, 1, 1, 1)[0], das.members[0]
    seconds_per_decision(who.make(), instance(Setup(4), seed), 0)  # loads and compiles
    rows: list[tuple[Any, ...]] = []
    share: dict[str, float] = {}
    for at, (cluster, setup) in track(context, enumerate(places.items())):
        sampled = instance(setup, seed)
        per_job = _seconds_per_job(who, sampled, seed)
        jct = 60.0 * outcomes(who, setup, [seed])[0].measures[JCT]
        search = {one.label: _seconds_per_job(one, sampled, seed) for one in BUDGETS}
        share[cluster] = 100.0 * per_job / jct
        rows.append(
            (
                cluster.capitalize(),
                round(1000.0 * per_job, 2),
                round(1000.0 * INFERENCE[at], 1),
                round(per_job / INFERENCE[at], 3),
                share[cluster],
                *(round(1000.0 * one, 2) for one in search.values()),
            )
        )
    judged = judge(
        [
            Fact(
                f"{c.capitalize()}: the time of all decisions is less than {NEGLIGIBLE:g} % of the JCT",
                f"{'less' if part < NEGLIGIBLE else 'more'} than that",
                part < NEGLIGIBLE,
            )
            for c, part in share.items()
        ]
    )
    times = ("DAS (ms)", "DAS in print (ms)", "here / in print", "DAS, share of the JCT (%)")
    searches = (f"{who.label}, budget of Table 2 (ms)" for who in BUDGETS)
    return Finding(
        settled(judged),
        f"All decisions together take less than {NEGLIGIBLE:g} % of the mean JCT on "
        f"{sum(one.word == 'holds' for one in judged)} of {len(judged)} clusters.",
        {"jobs": jobs},
        tables=(
            statements(judged, [""], NOTE),
            Table(
                f"CPU time of the decisions per job, {jobs} jobs, this run. {NOTE}",
                ("cluster", *times, *searches),
                tuple(rows),
            ),
        ),
        small=context.mode == "quick",
        assumes="One thread of this machine. The times are those of this run.",
        remark=f"Whether metaheuristics are {SLOWER} times slower than DAS is a matter of how both are "
        f"programmed: see the table.",
    )


def _seconds_per_job(who: Contender, sampled: PlacementInstance, seed: int) -> float:
    """Return the CPU seconds of all decisions of a run, by the number of jobs."""
    epochs = 0
    policy = who.make()
    policy.start(sampled.setting, policy_stream(policy_seed(seed)))
    episode = sampled.episode(policy.traits.sees)
    for observation in episode:
        epochs += 1
        episode.apply(policy.decide(observation))
    return seconds_per_decision(who.make(), sampled, policy_seed(seed)) * epochs / len(sampled.jobs)


# --- The distance to the optimum ---------------------------------------------------------------------------

SLACK = 1e-9
"""Rounding that a relative distance may have."""


@claim(
    "learned-gap",
    "Sec. 2.1",
    Verdict.HOLDS,
    says="No policy is below the certified bound or the optimum; how far the learned ones are above them.",
    how="A bound by prices of capacity on Small; the optimum over the decision epochs, contention included, "
    "by branch and bound on tiny instances.",
    extra=RL,
    ours=True,
)
def learned_gap(context: Context) -> Finding:
    context = held_out(context)
    asked = [trained(name, label, context) for name, label in LEARNED.items()]
    groups = [group for group in asked if len(group) >= FEWEST]
    if not groups:
        return lacking(asked)
    groups += [alone(FIFO_FF), FIFO, alone(SJF_C), alone(SJF_E)]
    sampled, many = seeds(context, 3, 8, 30), seeds(context, 2, 5, 20)
    tiny = Setup(context.pick(5, 6, 8), None, 3.0, size="tiny", estimate_error=ESTIMATES)
    base = replace(Setup(context.pick(20, 100, 1000)), estimate_error=ESTIMATES)
    best = [optimum(tiny, seed) for seed in sampled]
    least = np.array([bound(base, seed) for seed in many])
    play_all(context, [(group, base) for group in groups], many)
    gaps = {g.label: excess(values(g, base, many, JCT), least) for g in groups}
    found = {
        g.label: np.array(
            [
                [ratio(o, one.cost)[0] for o, one in zip(best, outcomes(who, tiny, sampled), strict=True)]
                for who in g.members
            ]
        )
        for g in groups
    }
    proved = np.array([o.gap == 0.0 for o in best])
    judged = judge(
        [
            Fact(
                f"no run is below the certified bound ({base.jobs} jobs on Small)",
                f"the least is {min(float(v.min()) for v in gaps.values()):.1f} % above it",
                bool(all((v >= -100.0 * SLACK).all() for v in gaps.values())),
            ),
            Fact(
                f"no run is below a proved optimum ({tiny.jobs} jobs on 2 x 4 GPUs)",
                f"the least total / optimum is "
                f"{min(float(v[:, proved].min(initial=np.inf)) for v in found.values()):.3f}",
                bool(all((v[:, proved] >= 1.0 - SLACK).all() for v in found.values()))
                if proved.any()
                else None,
            ),
        ]
    )
    above = gaps[FIFO.label].mean(0)
    learned = [float(np.median(gaps[g.label].mean(0))) for g in groups if g.networks]
    return Finding(
        settled(judged),
        f"With {base.jobs} jobs on Small FIFO-Consolidate is {np.median(above):.1f} % above a certified "
        f"bound in the median, the networks {min(learned):.1f} to {max(learned):.1f} %.",
        {"instances with a bound": len(many), "tiny instances": len(sampled), "proved": int(proved.sum())},
        tables=(
            statements(judged, [""], NOTE),
            Table(
                f"JCT above a certified bound ({len(many)} instances of {base.jobs} jobs on Small), and "
                f"total over optimum ({len(sampled)} instances of {tiny.jobs} jobs on 2 x 4 GPUs); SJF knows "
                f"durations, and the two with estimates know those with an error of sigma {ESTIMATES:g}. "
                f"{NOTE}",
                (
                    *("policy", "seeds", "median above the bound (%)", "least (%)", "most (%)"),
                    *("total / optimum", "by seed", "most"),
                ),
                tuple(
                    (
                        g.label,
                        len(g) if len(g) > 1 else "-",
                        *(round(float(of(gaps[g.label].mean(0))), 1) for of in (np.median, np.min, np.max)),
                        spread(found[g.label].mean(0), 3),
                        ends(found[g.label].mean(1), 3),
                        round(float(found[g.label].max()), 2),
                    )
                    for g in groups
                ),
            ),
        ),
        figures=(_gap_chart(groups, gaps, base, many),),
        small=context.mode == "quick",
        assumes="Optimum and bound know all jobs and durations beforehand.",
    )


def _gap_chart(
    groups: Sequence[Group], gaps: Mapping[str, np.ndarray], base: Setup, many: Sequence[int]
) -> Figure:
    figure, ax = new_figure(height=max(3.3, 0.32 * len(groups)))
    found = np.column_stack([gaps[group.label].mean(0) for group in groups])
    curve = (np.median(found, axis=0), found.min(0), found.max(0))
    plot_bars(ax, [group.label for group in groups], {"median": curve}, band="least to largest")
    ax.set_xlabel("JCT above the bound (%)")
    return Figure(
        "placement-learned-gap",
        f"JCT above a certified lower bound that no policy can pass: median and range of {len(many)} "
        f"instances of {base.jobs} jobs on Small, rho 0.8, means over the seeds of the networks. {NOTE}.",
        to_svg(figure),
    )


CLAIMS = claim.claims
