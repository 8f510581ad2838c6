"""Every policy of a problem on a fixed public set of instances, beside the optimum of each."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import api
from .analysis.engine.engine import Progress
from .comparing import Comparison, compare, players_of
from .models.base import ClairvoyantError, InputError, Instance
from .models.shown import html_table
from .online.base import Policy
from .problems import find, players, rival

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from .analysis.report import Shown
    from .analysis.stage import Stage

RUNS = 3
"""Runs per instance of a policy that draws at random."""


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
    """

    problem: str
    comparison: Comparison
    families: Mapping[str, str]
    sees: Mapping[str, frozenset[str]]
    left_out: Mapping[str, str]

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
                row = {"policy": policy, "group": _group(sees), **ends.loc[policy], **behind}
                row["infeasible"] = int(broken[policy])
                row["ms"] = 1e3 * seconds[policy] / events[policy] if events[policy] else math.nan
                shares = by_family["low"][policy]
                rows.append(row | {f"family.{name}": share for name, share in shares.items()})
        return pd.DataFrame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the optimum of every policy, group below group.

        A bar lies between the certified ends; the mark is at the lower one.
        """
        from .analysis.plots import MARKERS, looks_of, name_axes, name_rows, new_figure, stacked_rows

        told = self.summary()
        blocks = {group: [*part["policy"]] for group, part in told.groupby("group", sort=False)}
        names, begins = stacked_rows(blocks)
        axes = new_figure(height=0.9 + 0.22 * len(names))[1] if ax is None else ax
        looks, rows = looks_of(told["policy"], {}), told.set_index("policy")
        for begin, policies in zip(begins, blocks.values(), strict=True):
            for place, policy in enumerate(policies, begin):
                low, high, look = 100 * rows["low"][policy], 100 * rows["high"][policy], looks[policy]
                axes.plot([low, high], [place, place], color=look.colour, lw=4, solid_capstyle="butt")
                axes.plot([low], [place], MARKERS[look.place], color=look.colour, ms=5)
        name_rows(axes, names, [name for name in names if name in blocks and len(blocks) > 1])
        return name_axes(axes, "share of the optimum (%)", "")

    def shown(self) -> Shown:
        """Return what the page of the leaderboards shows."""
        from .analysis.claim import Figure, Table
        from .analysis.plots import new_figure, to_svg
        from .analysis.report import Shown

        told = self.summary()
        families = [name for name in told if name.startswith("family.")]
        heads = "policy | % of the optimum, at least | at most | behind the first | from | to | p (Holm)"
        heads += " | ms per decision"
        names = tuple(name.removeprefix("family.") for name in families)
        columns = ["low", "high", "behind", "from", "to", *families]
        told[columns] = (100.0 * told[columns]).round(2)
        told[["p", "ms"]] = told[["p", "ms"]].map(lambda value: float(f"{value:.3g}"))
        order = ["policy", *columns[:5], "p", "ms", *families]
        tables = [
            Table(f"{self.problem}, {group}", (*heads.split(" | "), *names), _rows(part[order]))
            for group, part in told.groupby("group", sort=False)
        ]
        digests = (
            self.comparison.frame.groupby("instance", sort=False)["digest"].first().str[:12].reset_index()
        )
        instances = Table(f"Instances of {self.problem}", ("instance", "digest"), _rows(digests))
        picture, axes = new_figure(height=0.9 + 0.22 * (len(told) + told["group"].nunique()))
        self.plot(axes)
        caption = (
            "Share of the optimum (%): a bar lies between the certified ends, the mark is at the lower one."
        )
        figure = Figure(f"leaderboard-{self.problem}", caption, to_svg(picture))
        entry = api.list_oracles(self.problem)[rival(self.problem) or ""]
        return Shown(self.problem, entry.description, figure, tables, instances, self.left_out)

    def _repr_html_(self) -> str:
        """Return the summary as a table for a notebook."""
        told = self.summary()
        rows = [[f"{v:,.4g}" if isinstance(v, float) else str(v) for v in row] for row in told.to_numpy()]
        return html_table(f"{self.problem}: shares of the optimum", rows, list(told))

    def __repr__(self) -> str:
        return f"Leaderboard of {self.problem}:\n{self.summary().to_string(index=False)}"


def _rows(frame: DataFrame) -> tuple[tuple[Any, ...], ...]:
    """Return the rows of a table, as a page shows them."""
    return tuple(map(tuple, frame.to_numpy().tolist()))


def _group(sees: frozenset[str]) -> str:
    """Return what a group of policies is called."""
    return f"policies that see {', '.join(sorted(sees))}" if sees else "policies that commit first"


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
        left_out[str(name)] = f"{count:,} infeasible decisions, so its shares mean nothing and it stands last"
    sees = {name: player.traits.sees for name, (_, player) in everyone.items()}
    return Leaderboard(problem, comparison, families, sees, left_out)


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
