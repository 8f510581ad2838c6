"""Runs of trained networks: which trainings there are, how they play, and comparisons over both seeds.

Two things are random: the jobs, and the training. A comparison says what both leave open: it pairs the means
over all trainings by trace, and it has an interval over the training seeds of both designs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import NamedTuple

import numpy as np

from ....models.base import InputError
from ....online.placement import POLICIES
from ....online.placement.learned import policies
from ....online.placement.learned.plan import TEST, VALIDATION
from ...claim import Check, Context, Finding, Table, Verdict, finding, table
from ...experiments import SEEDS_APART, seeds, track
from ...statistics import Interval, Paired, paired
from ..experiments import FEE, FIFO_C, HEURISTICS, JCT, NOTE, SJF_C, Contender, Setup, excess, outcome
from .evaluation import BUDGETS

FEWEST = 2
"""Trainings of a design without which nothing is said about it: of one, the spread cannot be seen."""

PAPER = ("da", "da-mc", "da-rwgp", "das", "dl2", "rifling")  # the designs of the paper that learn
SJF_E = Contender("SJF-Estimate-Consolidate", "sjf-estimate-consolidate")

RULES = {who.label: who for who in (*HEURISTICS, FIFO_C, SJF_C, SJF_E, *BUDGETS)}
"""The policies that are not trained; those that search are played in full mode alone."""

UNTIL = (
    "The networks were trained for minutes of one core, far below the budget of the paper: whatever the "
    "differences are, they decide nothing. Comparisons are not corrected for their number."
)

ESTIMATES = 0.5
"""Standard deviation of the logarithm of the error of the estimates that the networks were trained with."""


@dataclass(frozen=True)
class Group:
    """Networks of one design, one per training seed; or a policy that is not trained, alone."""

    label: str
    members: tuple[Contender, ...]

    def __len__(self) -> int:
        return len(self.members)


def group_of(name: str, context: Context) -> Group:
    """Return what a name stands for: a rule, alone; networks before any training; or trained ones."""
    if name in RULES:
        return Group(name, (RULES[name],))
    if name.startswith("untrained "):
        return untrained(name.removeprefix("untrained "), context.pick(2, 5, 10))
    return trained(name, context)


def trained(name: str, context: Context) -> Group:
    """Return the trained networks of a name; those without a policy of their own are played as DA+MC."""
    found = []
    for n in policies.members(name)[: FEWEST if context.quick else None]:
        file = ("checkpoint", str(policies.SHIPPED / f"{name}-{n}.npz"))
        policy, setting = (name, ("member", n)) if name in POLICIES else ("da-mc", file)
        found.append(Contender(f"{name} {n}", policy, (setting,)))
    return Group(name, tuple(found))


def untrained(design: str, count: int) -> Group:
    """Return networks of a design as they are before training, by so many seeds."""
    label, known = f"untrained {design}", ("design", design)
    seeded = (Contender(f"{label} {n}", "untrained", (known, ("seed", n))) for n in range(count))
    return Group(label, tuple(seeded))


def lacking(groups: Iterable[Group]) -> Finding | None:
    """Return the finding that there are too few trainings, if there are of any of these."""
    few = [f"{one.label} ({len(one)})" for one in groups if len(one) < FEWEST and one.label not in RULES]
    if not few:
        return None
    headline = f"At least {FEWEST} trainings of each design are needed to tell it from its seed."
    return finding(Verdict.NOT_CHECKABLE, headline, remark=f"There are too few networks of {', '.join(few)}.")


def with_networks(*names: str) -> Callable[[Callable[..., Finding]], Check]:
    """Hand a check the trained networks of these names, and no instance by which they were chosen or tested.

    Where there are too few trainings of a name the finding says so.
    """

    def wrap(check: Callable[..., Finding]) -> Check:
        @wraps(check)
        def run(context: Context) -> Finding:
            groups = [trained(name, context) for name in names]
            return lacking(groups) or check(held_out(context), *groups)

        return run

    return wrap


def learned(who: Contender) -> policies.Learned:
    """Return the policy of a contender whose networks decide."""
    policy = who.make()
    if not isinstance(policy, policies.Learned):
        raise InputError(f"{who.label}: {who.policy} has no networks")
    return policy


def play_all(context: Context, cells: Iterable[tuple[Group, Setup]], sampled: Sequence[int]) -> None:
    """Make all runs first, so that progress is reported."""
    for who, setup in track(context, [(w, setup) for group, setup in cells for w in group.members]):
        for seed in sampled:
            outcome(who, setup, seed)


def values(group: Group, setup: Setup, sampled: Sequence[int], measure: str) -> np.ndarray:
    """Return a measure of each training on each instance, shape (members, seeds)."""
    played = ((outcome(who, setup, seed) for seed in sampled) for who in group.members)
    return np.array([[one.measures[measure] for one in each] for each in played])


class Versus(NamedTuple):
    """How trainings of one design differ from a rival, in per cent of its mean on each instance.

    Means over the trainings are paired over the traces; means over the traces have a Welch interval over the
    trainings of both; and there is the mean of each training, shape (members,).
    """

    over_traces: Paired
    over_trainings: Interval
    by_seed: np.ndarray

    @property
    def below(self) -> bool | None:
        """Whether it is below, if both, traces and trainings, surely say so, or all is equal, else None."""
        sign = self.over_traces.sign()
        if not sign:
            return False if sign == 0 else None
        _, low, high = self.over_trainings
        return sign < 0 if (low > 0.0 if sign > 0 else high < 0.0) else None

    def row(self) -> list[str]:
        """Return mean and interval over the traces, p, the ends of the trainings, and how many are below."""
        mean, low, high = self.over_traces.difference
        p, many = self.over_traces.p, len(self.by_seed)
        ahead = f"{(self.by_seed < 0.0).sum()} of {many}" if many > 1 else "-"
        shown = "< 0.001" if p < 0.001 else f"{p:.3f}"
        return [f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]", shown, ends(self.by_seed, 2, "+"), ahead]


def compare(ours: np.ndarray, theirs: np.ndarray) -> Versus:
    """Compare values of shape (members, seeds), in per cent of the mean of theirs on each seed."""
    ours, theirs = (excess(one, theirs.mean(0)) for one in (ours, theirs))
    gap = np.round(ours - theirs.mean(0), 9)  # what is less is rounding
    welch = _welch(ours.mean(1), theirs.mean(1))
    return Versus(paired(gap.mean(0), np.zeros(gap.shape[1])), welch, gap.mean(1))


def _welch(a: np.ndarray, b: np.ndarray) -> Interval:
    """Return the difference of two means and its 95 % interval (Welch); a single number has no spread."""
    from scipy import stats

    gap = float(a.mean() - b.mean())
    many = [x for x in (a, b) if len(x) >= FEWEST]
    parts = np.array([x.var(ddof=1) / len(x) for x in many])
    if not parts.sum():
        return Interval(gap, gap, gap)
    freedom = parts.sum() ** 2 / (parts**2 / [len(x) - 1 for x in many]).sum()
    half = float(stats.t.ppf(0.975, freedom) * parts.sum() ** 0.5)
    return Interval(gap, gap - half, gap + half)


def contest(
    context: Context,
    what: str,
    pairs: Iterable[str],
    places: Callable[[Context], Mapping[str, Setup]] | None = None,
    shown: Sequence[Table] = (),
    remark: str = "",
) -> Finding:
    """Return how the first of each pair, "one - other", stands against the second, in JCT and fee.

    On Small or at each of the places. ``what`` begins the headline, which says how many comparisons are sure.
    """
    slow = () if context.mode == "full" else [who.label for who in BUDGETS]
    played = {pair: pair.split(" - ") for pair in pairs if pair.split(" - ")[1] not in slow}
    groups = {name: group_of(name, context) for both in played.values() for name in both}
    if few := lacking(groups.values()):
        return few
    sampled, signs, tables = traces(context), [], []
    setups = places(context) if places else {"Small, rho 0.8": base_setup(context)}
    play_all(context, [(group, setup) for setup in setups.values() for group in groups.values()], sampled)
    heads = [f"{word} {of}" for word in ("JCT", "fee") for of in ("(%)", "p", "by seed (%)", "ahead")]
    for place, setup in setups.items():
        rows = []
        for pair, both in played.items():
            jct, fee = (
                compare(*(values(groups[name], setup, sampled, measure) for name in both))
                for measure in (JCT, FEE)
            )
            signs += [jct.below, fee.below]
            rows.append((pair, *jct.row(), *fee.row()))
        title = (
            f"{place}: mean difference with its 95 % interval (t) and p of the Wilcoxon signed-rank test, of "
            f"means over the seeds of the networks, paired over {len(sampled)} instances; the least and the "
            f"largest mean difference of a seed, and how many are below. {NOTE}"
        )
        tables.append(table(title, " | ".join(("policies", *heads)), rows))
    return finding(
        Verdict.UNDETERMINED,
        f"{what}: surely ahead in {signs.count(True)} of {len(signs)} comparisons, surely not in "
        f"{signs.count(False)}; trained too briefly to decide.",
        {"instances": len(sampled), "jobs": setup.jobs},
        *tables,
        *shown,
        small=context.quick,
        assumes=UNTIL,
        remark=remark,
    )


def base_setup(context: Context) -> Setup:
    """Return Small at rho 0.8, with as many jobs as the mode says."""
    return Setup(context.pick(20, 60, 1000))


def traces(context: Context) -> range:
    """Return the instance seeds of a comparison."""
    return seeds(context, 3, 8, 20)


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
