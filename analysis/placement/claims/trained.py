"""Runs of trained networks: which trainings there are, how they play, and comparisons over both seeds.

Two things are random: the jobs, and the training. A comparison says what both leave open: it pairs the means
over all trainings by trace, and it has an interval over the training seeds of both designs.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....models.base import InputError
from ....models.placement.instance import PlacementInstance, taken_schedule
from ....models.placement.schedule import Schedule
from ....models.placement.setting import Observation
from ....models.placement.state import THOUSAND
from ....online.placement import POLICIES
from ....online.placement.learned import policies
from ....online.placement.learned.plan import TEST, VALIDATION
from ...claim import Context, Figure, Finding, Table, Verdict
from ...experiments import SEEDS_APART, seeds, spread, track
from ...plots import PALETTE, new_figure, plot_bars, to_svg
from ...statistics import Interval, Paired, mean_band, mean_interval, paired
from ..experiments import (
    FEE,
    FIFO_C,
    JCT,
    NOTE,
    Contender,
    Outcome,
    Setup,
    excess,
    instance,
    outcome,
    p_value,
    shown,
)
from ..measures import measures_of

if TYPE_CHECKING:
    from ....online.placement.learned.networks import Actor

FEWEST = 2
"""Trainings of a design without which nothing is said about it: of one, the spread cannot be seen."""

QUICK_MEMBERS = 2
"""Trainings of a design that quick mode plays."""

ROUNDING = 9
"""Digits after the point of a difference in per cent that are more than rounding."""

LEARNED = {
    "da": "DA",
    "da-mc": "DA+MC",
    "da-rwgp": "DA+RWGP",
    "das": "DAS",
    "dl2": "DL2",
    "rifling": "RIFLING",
    "clone-ppo": "Clone-then-PPO",
    "da-mc-capacity": "DA+MC-Capacity",
    "da-mc-estimates": "DA+MC-Estimates",
}
"""Names and labels of the networks that are policies of their own."""

RL = "rl"
"""The extra that the networks need."""

UNSEEN = "Jobs of seeds that no training has seen; all trainings that come with the package. "
"""Begins what many claims say of how they are checked."""

UNTIL = (
    "The networks were trained for minutes of one core, far below the budget of the paper: whatever the "
    "differences are, they decide nothing. Comparisons are not corrected for their number."
)
"""What claims on trained networks rest on."""

OTHER_SETTINGS = (
    "Settings unlike those of Appendix D: DAS and its ablations have 32 hidden units (64 in print, as DL2 "
    "and RIFLING have), gamma is 0.5 (0.98), the weight of the entropy 0 (0.03), the learning rate 0.01 (at "
    "most 0.0001), an episode has 200 jobs (1,000). placement/ladder has DA+MC with the printed ones."
)
"""Where our trainings differ from what is printed."""

ESTIMATES = 0.5
"""Standard deviation of the logarithm of the error of the estimates that the networks were trained with."""

WORSE_ESTIMATES = 1.5
"""The same of worse ones, which they have not seen."""


@dataclass(frozen=True)
class Group:
    """Networks of one design, one per training seed; or a policy that is not trained, alone."""

    label: str
    members: tuple[Contender, ...]

    def __len__(self) -> int:
        return len(self.members)

    @property
    def networks(self) -> bool:
        """Whether it is not a policy of another kind."""
        return not self.members or issubclass(POLICIES[self.members[0].policy], policies.Learned)


def alone(who: Contender) -> Group:
    """Return a policy that is not trained."""
    return Group(who.label, (who,))


def trained(name: str, label: str, context: Context) -> Group:
    """Return the trained networks of a name; those without a policy of their own are played as DA+MC."""
    numbers = policies.members(name)
    if context.mode == "quick":
        numbers = numbers[:QUICK_MEMBERS]
    if name in POLICIES:
        return Group(label, tuple(Contender(f"{label} {n}", name, (("member", n),)) for n in numbers))
    files = {n: str(_file(name, n)) for n in numbers}
    made = (Contender(f"{label} {n}", "da-mc", (("checkpoint", path),)) for n, path in files.items())
    return Group(label, tuple(made))


def _file(name: str, member: int) -> Path:
    return policies.SHIPPED / f"{name}-{member}.pt"


def untrained(design: str, label: str, count: int) -> Group:
    """Return networks of a design as they are before training, by so many seeds."""
    settings = ((("design", design), ("seed", seed)) for seed in range(count))
    return Group(label, tuple(Contender(f"{label} {dict(s)['seed']}", "untrained", s) for s in settings))


def too_few(groups: Sequence[Group]) -> Finding | None:
    """Return a finding that says which designs have too few trainings, None if all have enough."""
    return None if all(len(group) >= FEWEST for group in groups) else lacking(groups)


def lacking(groups: Sequence[Group]) -> Finding:
    """Return a finding that says which of some designs have too few trainings."""
    few = [f"{group.label} ({len(group)})" for group in groups if len(group) < FEWEST]
    return Finding(
        Verdict.NOT_CHECKABLE,
        f"At least {FEWEST} trainings of each design are needed to tell it from its seed.",
        {f"seeds of {group.label}": len(group) for group in groups},
        remark=f"There are too few networks of {', '.join(few)}.",
    )


# --- Playing -----------------------------------------------------------------------------------------------

AT_PLAY = 1
"""tau at play. Means of the actions are their prior means, so that the past has nothing to tell: every tau
decides the same (placement/figure-5-history plays several), and the shortest is the fastest."""

_KNOWN: dict[tuple[Contender, Setup], dict[int, Outcome]] = defaultdict(dict)


def outcomes(who: Contender, setup: Setup, sampled: Sequence[int]) -> list[Outcome]:
    """Return what a contender does on each instance; networks play what is new to them side by side."""
    if not issubclass(POLICIES[who.policy], policies.Learned):
        return [outcome(who, setup, seed) for seed in sampled]
    known = _KNOWN[who, setup]
    rest = [seed for seed in sampled if seed not in known]
    made = [instance(setup, seed) for seed in rest]
    for seed, one, schedule in zip(rest, made, side_by_side(who, made), strict=True):
        known[seed] = Outcome(one.cost(schedule), measures_of(one, schedule), schedule)
    return [known[seed] for seed in sampled]


def side_by_side(
    who: Contender, sampled: Sequence[PlacementInstance], tau: int = AT_PLAY, *, contention: bool = True
) -> list[Schedule]:
    """Return the schedules of a learned policy, epoch by epoch on all instances of equally many machines.

    Without ``contention`` the networks see the same beta of all jobs, 0.5.
    """
    from ....online.placement.learned.acting import Memory, act, one_thread
    from ....online.placement.learned.features import Eyes

    policy = learned(who)
    actor = with_history(policy.networks(), tau)
    if actor.design.draws_jobs:
        raise InputError(f"{who.label}: draws jobs at random, which is not played side by side")
    eyes = [Eyes(one.setting, actor.design.sees_estimates) for one in sampled]
    episodes = [one.episode(policy.traits.sees) for one in sampled]
    memories = [Memory() for _ in sampled]
    streams = [iter(episode) for episode in episodes]

    def look(at: Iterable[int]) -> dict[int, Scene]:
        seen = ((k, next(streams[k], None)) for k in at)
        known = ((k, one if contention else _alike(one)) for k, one in seen if one is not None)
        return {k: eyes[k].look(observation) for k, observation in known}

    with one_thread():
        scenes = look(range(len(sampled)))
        while scenes:
            moves = act(actor, list(scenes.values()), [memories[k] for k in scenes], None)
            for k, move in zip(scenes, moves, strict=True):
                episodes[k].apply(move.rows)
            scenes = look(scenes)
    return [taken_schedule(episode.simulator) for episode in episodes]


def _alike(seen: Observation) -> Observation:
    """Return what is seen with a beta of 0.5 of every job."""
    return replace(seen, intensity=np.full_like(seen.intensity, THOUSAND // 2))


def learned(who: Contender) -> policies.Learned:
    """Return the policy of a contender whose networks decide."""
    policy = who.make()
    if not isinstance(policy, policies.Learned):
        raise InputError(f"{who.label}: {who.policy} has no networks")
    return policy


def with_history(actor: Actor, tau: int) -> Actor:
    """Return the same networks with another length of the history, which no weight depends on."""
    if actor.design.placement != "process":
        return actor
    changed = copy.copy(actor)
    changed.design = replace(actor.design, history=tau)
    return changed


def play_all(context: Context, cells: Iterable[tuple[Group, Setup]], sampled: Sequence[int]) -> None:
    """Make all runs first, so that progress is reported."""
    for who, setup in track(context, [(w, setup) for group, setup in cells for w in group.members]):
        outcomes(who, setup, sampled)


def values(group: Group, setup: Setup, sampled: Sequence[int], measure: str) -> np.ndarray:
    """Return a measure of each training on each instance, shape (members, seeds)."""
    return np.array(
        [[found.measures[measure] for found in outcomes(who, setup, sampled)] for who in group.members]
    )


# --- Comparing ---------------------------------------------------------------------------------------------


class Versus(NamedTuple):
    """How trainings of one design differ from a rival, in per cent of its mean on each instance.

    Attributes
    ----------
    over_traces
        Paired over the instances, of means over the trainings.
    over_trainings
        The difference of the means over the instances, and its Welch interval over the trainings of both.
    by_seed
        Of each training, the mean over the instances, shape (members,).
    """

    over_traces: Paired
    over_trainings: Interval
    by_seed: np.ndarray

    @property
    def ahead(self) -> int:
        """How many trainings are below the rival."""
        return int((self.by_seed < 0.0).sum())

    @property
    def sign(self) -> int | None:
        """1 or -1 if both, the traces and the trainings, surely say so, 0 if all is equal, else ``None``."""
        by_trace = self.over_traces.sign()
        if not by_trace:
            return by_trace
        _, low, high = self.over_trainings
        return by_trace if (low > 0.0 if by_trace > 0 else high < 0.0) else None

    def __str__(self) -> str:
        if self.over_traces.equal:
            return "no difference"
        if len(self.by_seed) == 1:
            return shown(self.over_traces)
        low, high = self.by_seed.min(), self.by_seed.max()
        return (
            f"{shown(self.over_traces)[:-1]}, seeds {low:+.1f} to {high:+.1f} %, {self.ahead} of "
            f"{len(self.by_seed)} below)"
        )


def below(found: Versus) -> bool | None:
    """Return whether the first is below: False if it is surely above or always equal, None if undecided."""
    return None if found.sign is None else found.sign < 0


def contrast(ours: np.ndarray, theirs: np.ndarray) -> Versus:
    """Compare differences in per cent from one base, shapes (members, seeds): ours less theirs."""
    gap = np.round(ours - theirs.mean(0), ROUNDING)
    return Versus(
        paired(gap.mean(0), np.zeros(gap.shape[1])), _welch(ours.mean(1), theirs.mean(1)), gap.mean(1)
    )


def compare(a: Group, b: Group, setup: Setup, sampled: Sequence[int], measure: str) -> Versus:
    """Compare two groups on the same instances: a less b, in per cent of b's mean on each of them."""
    ours, theirs = (values(group, setup, sampled, measure) for group in (a, b))
    base = theirs.mean(0)
    return contrast(excess(ours, base), excess(theirs, base))


def _welch(a: np.ndarray, b: np.ndarray) -> Interval:
    """Return the difference of two means and its 95 % interval (Welch); a single number has no spread."""
    from scipy import stats

    if len(a) < FEWEST and len(b) < FEWEST:
        gap = float(a.mean() - b.mean())
        return Interval(gap, gap, gap)
    if len(b) < FEWEST:
        return mean_interval(a - b.mean())
    if len(a) < FEWEST:
        return mean_interval(a.mean() - b)
    gap = float(a.mean() - b.mean())
    parts = np.array([float(x.var(ddof=1)) / len(x) for x in (a, b)])
    total = float(parts.sum())
    if total == 0.0:
        return Interval(gap, gap, gap)
    freedom = total**2 / float((parts**2 / (np.array([len(a), len(b)]) - 1)).sum())
    half = float(stats.t.ppf(0.975, freedom)) * total**0.5
    return Interval(gap, gap - half, gap + half)


# --- Showing -----------------------------------------------------------------------------------------------

MEASURES = (JCT, FEE)
WORD = {JCT: "JCT", FEE: "fee"}
"""What measures are called in sentences."""


def level_table(title: str, groups: Sequence[Group], setup: Setup, sampled: Sequence[int]) -> Table:
    """Return JCT and fee of each group, and how far its trainings are apart."""
    rows = []
    for group in groups:
        cells: list[str | int] = [group.label, len(group) if len(group) > 1 else "-"]
        for measure in MEASURES:
            found = values(group, setup, sampled, measure)
            cells += [spread(found.mean(0), 2), ends(found.mean(1), 2)]
        rows.append(tuple(cells))
    return Table(
        f"{title}: means over {len(sampled)} instances (± 95 % half width), and the least and the largest "
        f"mean of a seed, of its training or, where there was none, of its first weights. {NOTE}",
        ("policy", "seeds", "JCT (min)", "JCT by seed (min)", "fee ($)", "fee by seed ($)"),
        tuple(rows),
    )


def versus_table(
    title: str, pairs: Iterable[tuple[Group, Group]], setup: Setup, sampled: Sequence[int]
) -> Table:
    """Return a comparison per pair: traces, test and trainings, of JCT and fee."""
    rows = []
    for a, b in pairs:
        cells: list[str] = [f"{a.label} - {b.label}"]
        for measure in MEASURES:
            found = compare(a, b, setup, sampled, measure)
            mean, low, high = found.over_traces.difference
            ahead = "-" if len(a) == 1 else f"{found.ahead} of {len(a)}"
            cells += [
                f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]",
                p_value(found.over_traces.p),
                ends(found.by_seed, 2, "+"),
                ahead,
            ]
        rows.append(tuple(cells))
    columns = (f"{word} {what}" for word in WORD.values() for what in ("(%)", "p", "by seed (%)", "ahead"))
    return Table(
        f"{title}: mean difference with its 95 % interval (t) and p of the Wilcoxon signed-rank test, of "
        f"means over the seeds of the networks, paired over {len(sampled)} instances; the least and the "
        f"largest mean difference of a seed, and how many are below. {NOTE}",
        ("policies", *columns),
        tuple(rows),
    )


def chart(
    name: str, caption: str, groups: Sequence[Group], base: Group, setup: Setup, sampled: Sequence[int]
) -> Figure:
    """Return bars of JCT and fee against a base, with intervals over instances; a point per seed."""
    figure, ax = new_figure(height=max(3.3, 0.45 * len(groups)))
    series, points = {}, []
    for index, (label, measure) in enumerate((("JCT", JCT), ("fee", FEE))):
        against = values(base, setup, sampled, measure).mean(0)
        found = [excess(values(group, setup, sampled, measure), against) for group in groups]
        bands = mean_band(np.column_stack([one.mean(0) for one in found]))
        series[label] = bands
        at = [row - 0.2 + 0.4 * index for row in range(len(groups))]
        points += [(x, y) for one, y in zip(found, at, strict=True) if len(one) > 1 for x in one.mean(1)]
    plot_bars(ax, [group.label for group in groups], series)
    if points:
        x, y = np.array(points).T
        ax.plot(x, y, "D", color=PALETTE[3], markersize=3.5, label="one seed")
        ax.legend()
    ax.set_xlabel(f"against {base.label} (%)")
    return Figure(
        f"placement-{name}",
        f"{caption} JCT and fee against those of {base.label}; negative is better. {len(sampled)} instances "
        f"of {setup.jobs} jobs. {NOTE}.",
        to_svg(figure),
    )


# --- What the claims share ----------------------------------------------------------------------------------

FIFO = alone(FIFO_C)
SJF_E = Contender("SJF-Estimate-Consolidate", "sjf-estimate-consolidate")


def base_setup(context: Context) -> Setup:
    """Return Small at rho 0.8, with as many jobs as the mode says."""
    return Setup(context.pick(20, 60, 1000))


def traces(context: Context, default: int = 8, full: int = 20) -> range:
    """Return the instance seeds of a comparison."""
    return seeds(context, 3, default, full)


def trainings(groups: Iterable[Group]) -> dict[str, float | int | str | bool]:
    """Return how many networks there are of each group that has several, as numbers of a finding."""
    return {f"seeds of {group.label}": len(group) for group in groups if len(group) > 1}


def ends(found: np.ndarray, digits: int, sign: str = "") -> str:
    """Return the least and the largest number of the trainings as text; a dash for one alone."""
    if len(found) == 1:
        return "-"
    return f"{found.min():{sign}.{digits}f} to {found.max():{sign}.{digits}f}"


def held_out(context: Context) -> Context:
    """Return a context whose instances are none of those by which networks were chosen or tested."""
    if SEEDS_APART * (context.seed + 1) <= VALIDATION:
        return context
    return replace(context, seed=context.seed + TEST)


if TYPE_CHECKING:
    from ....online.placement.learned.features import Scene
