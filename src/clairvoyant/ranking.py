"""Every policy of a problem on a fixed public set of instances, beside the optimum of each."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import api
from .analysis.engine.engine import Progress
from .comparing import Comparison, compare, players_of
from .models.base import ClairvoyantError, InputError, Instance
from .models.shown import html_table
from .online.base import Policy
from .problems import also_seen, find, in_words, players, rival

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from .analysis.claim import Table
    from .analysis.report import Shown
    from .analysis.stage import Stage
    from .online.named import PolicyRow

RUNS = 3
"""Runs per instance of a policy that draws at random."""

LEVEL = 0.05
"""A corrected p below it tells a policy apart from the first of its group."""

MOST = 120.0
"""Where the axis of a picture ends, in per cent, unless a share is above it: the same in all pictures."""

HEADS = (
    *("policy", "% of the optimum, at least", "at most"),
    *("behind the first", "from (95 %, uncorrected)", "to (95 %, uncorrected)"),
    *("p (corrected after Holm)", f"told apart (p < {LEVEL:g})", "ms per decision"),
)

CAPTION = (
    "Mean share of the optimum (%): a bar ends at what is certified, its outline at what is possible. Pale "
    "bars are told apart from the first of their group, full ones are not: by the tables, where policies are "
    "compared on the same instances, as means alone cannot tell. All pictures have the same axis, but "
    "where a share lies beyond it."
)


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """What every policy of a problem earned on the instances of its leaderboard.

    Its measure is the *share of the optimum*, of which 100 % is the best: total / optimum, or optimum / total
    where less is better. It lies between the share of the dual bound and that of the incumbent.

    Attributes
    ----------
    problem
        Its name.
    comparison
        All runs, as :func:`clairvoyant.compare` returns them.
    families
        The family of each instance, by the name that it has in the comparison.
    sees
        What each policy sees before it decides: those that see the same are a group.
    left_out
        Policies and families of traces that are not on the board or, with infeasible decisions or playing in
        one family alone, have no rank on it, each with the reason.
    instances
        The instances, by the same names.
    """

    problem: str
    comparison: Comparison
    families: Mapping[str, str]
    sees: Mapping[str, frozenset[str]]
    left_out: Mapping[str, str]
    instances: Mapping[str, Instance]

    def to_frame(self) -> DataFrame:
        """Return one row per run: those of the comparison, with ``family``, ``low`` and ``high``.

        The last two are the ends of the share of the optimum, NaN where nothing positive is known of it.
        """
        frame = self.comparison.to_frame()
        minimised = find(self.problem).part("instance").minimised
        frame.insert(1, "family", [self.families[name] for name in frame["instance"]])
        value, bound, total = frame["optimum_value"], frame["optimum_bound"], frame["total"]
        ends = (bound / total, value / total) if minimised else (total / bound, total / value)
        known = (total > 0.0) & (bound > 0.0) if minimised else (bound > 0.0) & (value > 0.0)
        frame["low"], frame["high"] = np.minimum(*ends).where(known), np.maximum(*ends).where(known)
        return frame

    def summary(self) -> DataFrame:
        """Return one row per policy, the groups after each other, the best of each group first.

        ``group`` says what the policies of a group see. ``low`` and ``high`` are the ends of the mean share
        over all instances, of which each counts with the mean over its runs. ``behind`` is how far the share
        is behind that of the first of the group, on the same instances, with ``from`` and ``to`` (95 % by
        Student's t) and ``p``, by Wilcoxon's signed-rank test, corrected after Holm within the group; NaN for
        the first. ``infeasible`` counts infeasible decisions, and ``ms`` is the mean time per decision.
        Columns ``family.NAME`` have the share in a family.

        A share is NaN where that of one of its runs is, of an infeasible one or beside nothing positive, and
        the mean share where a policy plays in one family alone.
        Who has none is last in the group, and compared with nobody.
        """
        return self._summary.copy()

    @cached_property
    def _summary(self) -> DataFrame:
        import pandas as pd

        frame = self.to_frame()
        each, by_family = (
            frame.groupby(["policy", by], sort=False)[["low", "high"]].agg(_mean)
            for by in ("instance", "family")
        )
        seconds, events, broken = (
            frame.groupby("policy")[name].sum() for name in ("seconds", "events", "infeasible")
        )
        ends = each.groupby("policy").agg(_mean)
        ends[each.groupby("policy").size() < len(self.families)] = math.nan
        rows = []
        for sees in sorted(set(self.sees.values()), key=lambda group: (len(group), sorted(group))):
            group = [policy for policy, seen in self.sees.items() if seen == sees]
            group.sort(key=lambda policy: -ends["low"].fillna(-math.inf)[policy])
            for policy, behind in zip(group, _behind([each["low"][one] for one in group]), strict=True):
                row = {"policy": policy, "group": _group(self.problem, sees), **ends.loc[policy], **behind}
                row["infeasible"] = int(broken[policy])
                row["ms"] = 1e3 * seconds[policy] / events[policy] if events[policy] else math.nan
                shares = by_family["low"][policy]
                rows.append(row | {f"family.{name}": share for name, share in shares.items()})
        return pd.DataFrame(rows)

    def ranked(self) -> DataFrame:
        """Return the rows of :meth:`summary` of who is not left out."""
        told = self.summary()
        return told[~told["policy"].isin(self.left_out)]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the optimum of every policy that has a rank, group below group.

        A bar ends at the lower of the certified ends, its outline at the other. Who is told apart from the
        first of the group is pale.
        """
        from .analysis.plots import INK, looks_of, name_axes, name_rows, new_figure, stacked_rows

        told = self.ranked()
        blocks = {group: [*part["policy"]] for group, part in told.groupby("group", sort=False)}
        names, begins = stacked_rows(blocks)
        axes = new_figure(height=0.9 + 0.22 * len(names))[1] if ax is None else ax
        looks, rows = looks_of(told["policy"], {}), told.set_index("policy")
        for begin, policies in zip(begins, blocks.values(), strict=True):
            for place, policy in enumerate(policies, begin):
                low, high = (100 * rows[end][policy] for end in ("low", "high"))
                colour = looks[policy].colour
                faint = 0.35 if rows["p"][policy] < LEVEL else 1.0
                axes.barh(place, low, 0.7, color=colour, alpha=faint)
                axes.barh(place, high - low, 0.7, low, fill=False, edgecolor=colour)
        axes.axvline(100.0, color=INK, lw=1)
        axes.set_xlim(right=max(MOST, 100.0 * told["high"].max()))
        axes.grid(visible=False, axis="y")
        name_rows(axes, names, [name for name in names if name in blocks and len(blocks) > 1])
        return name_axes(axes, "% of the optimum", "")

    def shown(self) -> Shown:
        """Return what the page of the leaderboards shows."""
        from .analysis.claim import Figure, Table
        from .analysis.plots import new_figure, to_svg
        from .analysis.report import Shown
        from .analysis.report.tables import policy_table

        told, stage = self.ranked(), find(self.problem).part("leaderboard")
        families = [name for name in told if name.startswith("family.")]
        names = tuple(name.removeprefix("family.") for name in families)
        tables = [
            Table(f"{self.problem}, policies that {group}", (*HEADS, *names), cells(part, families))
            for group, part in told.groupby("group", sort=False)
        ]
        picture, axes = new_figure(height=0.9 + 0.22 * (len(told) + told["group"].nunique()))
        self.plot(axes)
        known = {name.partition(":")[0] for name in self.sees}
        ours = [row for row in api.policy_table(self.problem) if row.name in known]
        digests = tuple((name, one.digest()[:12]) for name, one in self.instances.items())
        folded = [
            replace(policy_table(in_words(ours)), title=f"Policies of {self.problem}"),
            Table(f"Instances of {self.problem}", ("instance", "digest"), digests),
        ]
        traces = {one.name: self.left_out.get(one.name, "") for one in stage.families if one.trace}
        return Shown(
            self.problem,
            [*self._about(stage, told, ours)],
            Figure(f"leaderboard-{self.problem}", CAPTION, to_svg(picture)),
            tables,
            self._families(stage),
            folded,
            {name: self._why(name, stage) for name in self.left_out if name not in traces},
            traces,
        )

    def _about(self, stage: Stage, told: DataFrame, ours: Iterable[PolicyRow]) -> Iterator[str]:
        """Yield what is ranked, what it is compared with, and what all policies see."""
        record, some = find(self.problem), next(iter(self.instances.values()))
        if stage.total:
            share = "the optimum / the total" if type(some).minimised else "the total / the optimum"
            yield f"Ranked by {share}. The total is {stage.total.format_map(some.to_dict())}."
        best = api.list_oracles(self.problem)[rival(self.problem) or ""].description
        limit = f"; sought for at most {stage.time_limit:g} s an instance" if stage.time_limit else ""
        yield f"The optimum: {best}{limit}."
        if "" in record.sight:
            yield f"All policies see before they decide: {record.sight['']}."
        above = [*told.loc[told["low"] > 1.0 + 1e-9, "policy"]] if stage.fixed else []
        if above:
            yield f"More than 100 % is no error: the optimum is {best}, and policies may do otherwise."
        for row in ours:
            if row.name in above and row.proven:
                yield f"Of ``{row.name}`` ({row.source}) is proven: {row.guarantee}."

    def _families(self, stage: Stage) -> Table:
        """Return how many instances each family has, how large they are and how they are made."""
        from .analysis.claim import table

        rows = []
        for family in stage.families:
            here = [name for name in self.instances if self.families[name] == family.name]
            if not here:
                continue
            facts = [self.instances[name].facts() for name in here]
            counts = {
                key: [one[key] for one in facts] for key, count in facts[0].items() if type(count) is int
            }
            ends = {key: dict.fromkeys((min(some), max(some))) for key, some in counts.items() if any(some)}
            holds = ", ".join(
                f"{key} {' to '.join(f'{end:,}' for end in some)}" for key, some in ends.items()
            )
            options = ", ".join(f"{key}={value}" for key, value in family.options.items())
            last = f" to {here[-1].split()[-1]}" if len(here) > 1 else ""
            which = f"{len(here)}, {here[0].removeprefix(f'{family.name}, ')}{last}"
            rows.append((family.name, which, holds, options or "defaults"))
        heads = "family | instances | of each | options of the generator"
        return table(f"Families of {self.problem}. Every instance counts alike", heads, rows)

    def _why(self, name: str, stage: Stage) -> str:
        """Return why a policy has no rank, with the share in the family where it plays."""
        if name not in stage.only:
            return self.left_out[name]
        share = self._summary.set_index("policy")[f"family.{stage.only[name][0]}"][name]
        there = "" if math.isnan(share) else f"; its share there is {100.0 * share:.2f} %"
        return f"{self.left_out[name]}{there}"

    def _repr_html_(self) -> str:
        """Return the summary as a table for a notebook."""
        told = self.summary()
        rows = [[f"{v:,.4g}" if isinstance(v, float) else str(v) for v in row] for row in told.to_numpy()]
        return html_table(f"{self.problem}: shares of the optimum", rows, list(told))

    def __repr__(self) -> str:
        return f"Leaderboard of {self.problem}:\n{self.summary().to_string(index=False)}"


def cells(part: DataFrame, families: Sequence[str] = ()) -> tuple[tuple[Any, ...], ...]:
    """Return the cells of the table of a group; shares are in per cent, and p is rounded up."""
    import pandas as pd

    told = {
        "p": [_rounded_up(p) for p in part["p"]],
        "apart": [None if math.isnan(p) else "yes" if p < LEVEL else "no" for p in part["p"]],
    }
    columns = [
        part["policy"],
        _fixed(100.0 * part[["low", "high"]]),
        _fixed(100.0 * part[["behind", "from", "to"]]),
        pd.DataFrame(told, part.index, dtype=object),
        _fixed(part[["ms"]]),
        _fixed(100.0 * part[[*families]]),
    ]
    return tuple(map(tuple, pd.concat(columns, axis="columns").to_numpy().tolist()))


def _rounded_up(p: float) -> Decimal:
    """Return p with four decimals, or more where it would not be below the level any more."""
    places = (Decimal(p).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING) for digits in (4, 6, 9))
    level = Decimal(str(LEVEL))
    return next((one for one in places if math.isnan(p) or (one < level) == (p < LEVEL)), Decimal(p))


def _fixed(numbers: DataFrame) -> DataFrame:
    """Return numbers with the same decimals, two to four: so many, if four do, that only 0 looks like 0."""
    digits = (d for d in (2, 3) if (numbers.round(d).ne(0.0) | numbers.eq(0.0)).all(axis=None))
    places = next(digits, 4)
    return numbers.map(lambda number: Decimal(f"{number:.{places}f}"))


def _group(problem: str, sees: frozenset[str]) -> str:
    """Return what a group of policies does, by which it is called."""
    return f"also see {also_seen(problem, sees)}" if sees else "see what all see"


def _mean(shares: Any) -> float:
    """Return the mean of shares; NaN if one of them is."""
    return float(shares.mean(skipna=False))


def _behind(shares: Sequence[Any]) -> Iterator[dict[str, float]]:
    """Yield how far each is behind the first, paired by instance; NaN where a share of one is."""
    from .analysis.statistics import holm, paired

    first = shares[0]
    known = [one.notna().all() and 1 < len(one) == len(first) for one in shares]
    others = [one for one, there in zip(shares[1:], known[1:], strict=True) if known[0] and there]
    found = [paired(first, one.loc[first.index]) for one in others]
    told = iter(zip(found, holm([one.p for one in found]), strict=True))
    for i, there in enumerate(known):
        behind = dict.fromkeys(("behind", "from", "to", "p"), math.nan)
        if i and known[0] and there:
            one, p = next(told)
            behind = dict(zip(behind, (*one.difference, p), strict=True))
        yield behind


def leaderboard(
    problem: str,
    policies: str | Policy | Iterable[str | Policy] | Mapping[str, str | Policy] = (),
    *,
    traces: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Play every policy of a problem on a fixed public set of instances, and set it beside the optimum.

    The instances are recipes, each with the digest of what it makes: who gets the same digest plays the same
    game. Runs and optima are kept in a store, as those of :func:`compare` are, so that a second call, or one
    after Ctrl-C, computes only what is missing. Optima that are not proved within the time limit of the board
    count with their certified bound.

    Parameters
    ----------
    problem
        Its name.
    policies
        Further policies to set beside ours, as :func:`compare` takes them.
    traces
        The folder of traces; without it the families of traces are left out.
    workers, store, progress
        As for :func:`compare`.

    Raises
    ------
    InputError
        For a problem without a leaderboard, for traces that are no folder, and what :func:`compare` refuses.
    ClairvoyantError
        If an instance is not the one that the board means: its digest is another.
    Interrupted
        After Ctrl-C.
    """
    import pandas as pd

    stage: Stage = find(problem).part("leaderboard")
    if traces is not None and not Path(traces).is_dir():
        raise InputError(f"traces: {traces}: no such folder")
    left_out = dict(stage.without)
    ours, more = (
        players_of(some, problem) for some in ([*_able(problem, stage, left_out), *stage.also], policies)
    )
    for name in filter(ours.__contains__, more):
        raise InputError(f"policies: {name!r} is on the board already")
    everyone = ours | more
    instances, families = dict[str, Instance](), dict[str, str]()
    for family in stage.families:
        if not family.trace:
            make = partial(api.generate, problem)
        elif traces is not None:
            make = partial(api.from_trace, problem, traces)
        else:
            left_out[family.name] = "no folder of traces is given"
            continue
        for name, options, digest in family.recipes():
            instances[name], families[name] = make(**options), family.name
            found = instances[name].digest()
            if not found.startswith(digest):
                raise ClairvoyantError(
                    f"{name}: digest {found} does not begin with {digest}, as on the board"
                )
    playing = {name: spec or player for name, (spec, player) in everyone.items()}
    compared = partial(
        compare, seeds=RUNS, time_limit=stage.time_limit, workers=workers, store=store, progress=progress
    )
    few = {name: playing.pop(name) for name in stage.only}
    parts = [compared(instances, playing)]
    for name, (home, why) in stage.only.items():
        here = {key: one for key, one in instances.items() if families[key] == home}
        parts.append(compared(here, {name: few[name]}))
        left_out[name] = f"it plays in the family {home!r} alone: {why}"
    comparison = replace(parts[0], frame=pd.concat([part.frame for part in parts], ignore_index=True))
    broken = comparison.frame.groupby("policy")["infeasible"].sum()
    for name, count in broken[broken > 0].items():
        left_out[str(name)] = f"{count:,} infeasible decisions, so its shares mean nothing"
    sees = {name: player.traits.sees for name, (_, player) in everyone.items()}
    return Leaderboard(problem, comparison, families, sees, left_out, instances)


def _able(problem: str, stage: Stage, left_out: dict[str, str]) -> Iterator[str]:
    """Yield the policies that play by their defaults; say why of those that do not."""
    for name, kind in players(problem).items():
        if name in stage.without:
            continue
        if not kind.traits.feasible:
            left_out[name] = "its decisions are not always feasible"
            continue
        try:
            api.make_policy(name, problem)
        except InputError as error:
            left_out[name] = str(error)
        else:
            yield name
