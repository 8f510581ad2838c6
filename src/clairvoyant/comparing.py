"""Compare policies with each other and with the optimum: the same instances, the same seeds."""

from __future__ import annotations

import math
import os
import re
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from . import api, tables
from .analysis.engine.cells import Cell, State, look_again, raised
from .analysis.engine.engine import Interrupted, Progress, run_cells
from .analysis.engine.kept import believed
from .analysis.engine.processes import Processes
from .analysis.engine.store import open_store
from .models.base import ClairvoyantError, InputError, Instance, path_of
from .models.draw import real, whole
from .models.shown import html_table
from .online.base import Policy
from .online.play import check_member, episode_for
from .problems import find, rival
from .sweeping import Block, Recipe, default_store, options_of, source_of_instances, told_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class Comparison:
    """What policies earned on instances, beside what was possible.

    Attributes
    ----------
    problem
        The problem of all instances.
    measure
        "regret", "ratio", or "" where no optimum is known: what ``low`` and ``high`` are the ends of.
    unit
        The unit of totals.
    frame
        One row per instance, policy and seed; see :meth:`to_frame`.
    """

    problem: str
    measure: str
    unit: str
    frame: DataFrame

    def to_frame(self) -> DataFrame:
        """Return a copy of the table of all runs.

        Its columns: ``instance``, ``digest``, ``policy``, ``seed``; ``total``, the number of ``infeasible``
        decisions; ``optimum_value`` and ``optimum_bound``, the incumbent and the dual bound; ``low`` and
        ``high``, between which the regret or the ratio lies; ``events`` and ``seconds`` of the run; and
        ``measure.NAME`` for what else is measured of runs of the problem.
        """
        return self.frame.copy()

    def summary(self) -> DataFrame:
        """Return one row per policy, in the order given.

        ``total`` is the mean over instances, of which each counts with the mean over its seeds. The mean
        regret or ratio lies between ``low`` and ``high``: certified, on these instances. ``from`` and ``to``
        are the ends of an interval for the mean over all instances of the kind, 95 % by Student's t, with the
        certified ends; NaN for one instance. ``ms`` is the mean time per decision, NaN without any.
        """
        import pandas as pd

        from .analysis.statistics import mean_interval

        rows = []
        for policy, part in self.frame.groupby("policy", sort=False):
            by_instance = part.groupby("instance", sort=False)[["total", "low", "high"]]
            each = by_instance.agg(lambda values: values.mean(skipna=False))
            row = {"policy": policy, "instances": len(each), "total": each["total"].mean()}
            row |= {"low": each["low"].mean(skipna=False), "high": each["high"].mean(skipna=False)}
            finite = each[["low", "high"]].map(math.isfinite).all(axis=None)
            ends = [mean_interval(each[end]) for end in ("low", "high")] if finite else None
            least = 1.0 if self.measure == "ratio" else -math.inf
            row |= {"from": max(least, ends[0].low) if ends and len(each) > 1 else math.nan}
            row |= {"to": ends[1].high if ends else math.nan}
            row["infeasible"] = int(part["infeasible"].sum())
            events = part["events"].sum()
            rows.append(row | {"ms": 1e3 * part["seconds"].sum() / events if events else math.nan})
        return pd.DataFrame(rows)

    def pairs(self) -> DataFrame:
        """Return one row per two policies: by how much the total of the first is above that of the other.

        Policies with infeasible decisions are left out: their totals were not possible. Two policies are
        compared on the instances that both have played, and left out if there are none.

        ``difference`` is the mean over instances, between ``from`` and ``to`` with 95 % by Student's t; ``p``
        is that of Wilcoxon's signed-rank test, corrected after Holm for the number of pairs.
        """
        import pandas as pd

        from .analysis.statistics import holm, paired

        totals = self.frame.groupby(["policy", "instance"], sort=False)["total"].mean().unstack()
        broken = {*self.frame.loc[self.frame["infeasible"] > 0, "policy"]}
        names = [name for name in dict.fromkeys(self.frame["policy"]) if name not in broken]
        both = ((a, b, totals.loc[[a, b]].dropna(axis="columns")) for a, b in combinations(names, 2))
        found = [(a, b, paired(of.loc[a], of.loc[b])) for a, b, of in both if of.size]
        rows = [
            {"policy": a, "other": b, **dict(zip(("difference", "from", "to"), one.difference, strict=True))}
            for a, b, one in found
        ]
        return pd.DataFrame(rows).assign(p=holm([one.p for _, _, one in found])) if rows else pd.DataFrame()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table of all runs, as CSV or Parquet by the name of the file.

        Raises
        ------
        InputError
            If the name ends in neither, or the file cannot be written.
        """
        tables.write_table(self.frame, path_of("path", path))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every policy's regret or ratio, or its total where no optimum is known.

        A thick bar is the certified interval of the mean, a thin one that for the mean of the kind.
        """
        from .analysis.plots import MARKERS, looks_of, new_figure, plain

        axes = new_figure(height=1.0 + 0.35 * self.frame["policy"].nunique())[1] if ax is None else ax
        told = self.summary()
        looks = looks_of(told["policy"], {})
        for place, row in enumerate(told.to_dict("records")):
            low, high = (row["low"], row["high"]) if self.measure else (row["total"],) * 2
            look, level = looks[row["policy"]], [place, place]
            if not math.isnan(row["from"]):
                axes.plot([row["from"], row["to"]], level, "-", color=look.colour, lw=1)
            if math.isinf(high):  # nothing is proven: the interval has no end
                axes.annotate(
                    "",
                    (1.0, place),
                    (low, place),
                    ("axes fraction", "data"),
                    "data",
                    arrowprops={"arrowstyle": "->", "color": look.colour},
                )
            axes.plot([low, high], level, "-", color=look.colour, lw=5, solid_capstyle="butt")
            axes.plot([low], [place], MARKERS[look.place], color=look.colour, ms=6)
        axes.set_yticks(range(len(told)), [*map(plain, told["policy"])])
        axes.set_ylim(len(told) - 0.5, -0.5)
        unit = f" ({self.unit})" if self.unit and self.measure != "ratio" else ""
        thin = "" if told["from"].isna().all() else "; thin lines: the mean of the kind, 95 %"
        axes.set_xlabel(f"{self.measure or 'total'}{unit}{thin}")
        return axes

    def _repr_html_(self) -> str:
        """Return the summary as a table for a notebook."""
        told = self.summary()
        rows = [[f"{v:,.4g}" if isinstance(v, float) else str(v) for v in row] for row in told.to_numpy()]
        unit = f"; totals in {self.unit}" if self.unit else ""
        return html_table(f"{self.problem}: {self.measure or 'total'}{unit}", rows, list(told))

    def __repr__(self) -> str:
        told = self.summary().dropna(axis="columns", how="all")
        unit = f"; totals in {self.unit}" if self.unit else ""
        what = f"{self.measure} between low and high" if self.measure else "total"
        kind = "; that of the kind between from and to, 95 %" if "to" in told else ""
        return f"Comparison of {self.problem}, {what}{unit}{kind}:\n{told.to_string(index=False)}"


def _limits(time_limit: Any, optimum: bool) -> dict[str, float]:
    if time_limit is not None and not optimum:
        raise InputError("time_limit: without an optimum there is nothing to limit")
    return {} if time_limit is None else {"time_limit": real("time_limit", time_limit, 0.0)}


def compare(
    instances: Instance | str | os.PathLike[str] | Iterable[Any] | Mapping[str, Any],
    policies: str | Policy | Iterable[str | Policy] | Mapping[str, str | Policy],
    seeds: int = 1,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    optimum: bool = True,
    workers: int | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Play policies on instances, and set what they earn beside the optimum.

    Processes compute the optima, and the runs of policies given by name. Each result is kept in a store, that
    of sweeps and audits, as soon as it is there: a second call, or one after Ctrl-C, computes only what is
    missing. A policy given as an object, whose class and state no other process may be able to import, is
    played in this one, run after run, and its results are not kept.

    Parameters
    ----------
    instances
        An instance or the path of one, several of these, or by the names that they shall have. All are of one
        problem.
    policies
        A name with settings, such as ``"ogasched:step=decay"``, or an object with the members of
        :class:`Policy`; several of these, or by the labels that they shall have.
    seeds
        Runs per instance of each policy that draws at random; any other is played once.
    seed
        The first of the seeds.
    time_limit
        Seconds for each optimum; by default as long as it takes. The certified bound counts either way.
    optimum
        Whether optima are computed.
    workers
        Processes; by default one per core.
    store
        The file in which results are kept; by default ``CLAIRVOYANT_STORE``, or one in the user's cache.
    progress
        Called with the fraction done and a text.

    Raises
    ------
    InputError
        For instances of several problems, names given twice, what :func:`play` and :func:`solve` refuse, or a
        store that cannot be used or that another process writes.
    ClairvoyantError
        If a run or an optimum fails; what has been found by then is kept.
    Interrupted
        After Ctrl-C; it says how much is kept.
    """
    import pandas as pd

    stage = _instances(instances)
    problem = find(next(iter(stage.values())).problem)
    players = players_of(policies, problem.name, least=1)
    against = rival(problem.name) if optimum else None
    runs = range(whole("seed", seed, 0), seed + whole("seeds", seeds, 1))
    limits = _limits(time_limit, optimum)
    for one in stage.values():  # what an instance cannot show is refused before all work
        for _, player in players.values():
            episode_for(player, one)
    specs = [spec for spec, _ in players.values() if spec is not None]
    oracles = [] if against is None else [(against, options_of(problem.name, against, limits))]
    kept = path_of("store", store or default_store())
    told = _computed(stage, Block(problem.name, (), specs, runs, oracles), kept, workers, progress)
    rows = []
    for name, instance in stage.items():
        best = told.get((name, against, None))
        for label, (spec, player) in players.items():
            for draw in runs if player.traits.randomised else runs[:1]:
                if spec is None:
                    run = _played_here(player, instance, draw, f"{label} on {name}", len(told), progress)
                else:
                    run = told[name, spec, draw if player.traits.randomised else 0]
                told_of_it = {"instance": name, "policy": label, "digest": instance.digest(), "seed": draw}
                rows.append(told_of_it | row_of(problem.name, run, best))
    measure = "" if against is None else "ratio" if problem.has("ratio") else "regret"
    return Comparison(problem.name, measure, problem.part("instance").unit, pd.DataFrame(rows))


def _computed(
    stage: Mapping[str, Instance], block: Block, store: Path, workers: int | None, progress: Progress | None
) -> dict[tuple[str, str | None, int | None], Mapping[str, Any]]:
    """Return what is known of optima, by instance and oracle, and of runs, by instance, name and seed."""
    look_again()
    source, sorts = source_of_instances(block.problem), block.sorts
    cells: dict[tuple[str, str | None, int | None], Cell] = {}
    if not sorts:
        return {}
    with TemporaryDirectory() as folder, Processes(workers) as processes, open_store(store) as kept:
        for i, (name, instance) in enumerate(stage.items()):
            file = Path(folder, f"{i}.json")
            instance.save(file)
            made = Recipe(block.problem, file=str(file)).cell("", source)
            # the file is gone soon, so that a sweep may rename what it finds
            told = {**made.arguments, "instance": name, "passing": True}
            made = replace(made, name=name, arguments=told)
            cells |= {
                (name, sort.name, sort.arguments.get("policy_seed")): sort.cell(made, instance.digest())
                for sort in sorts
            }
        answers = run_cells(
            [*cells.values()],
            kept,
            processes,
            retry=(State.FAILED, State.TIMED_OUT),
            progress=progress,
            believe=believed,
            what="runs and optima",
        )
    for cell in cells.values():
        if answers[cell.key].state is not State.DONE:
            kind, why = _told(answers[cell.key].error)
            raise (InputError if kind.endswith("InputError") else ClairvoyantError)(f"{cell.name}: {why}")
    return {who: answers[cell.key].result for who, cell in cells.items()}


def _told(trace: str) -> tuple[str, str]:
    """Return the type of an error and what it says, by its traceback; with its place in code of one's own."""
    last = raised(trace)
    kind, _, text = last.partition(": ")
    if "." in kind:  # an error of ours
        return kind, text
    homes = (str(Path(__file__).parent), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "<")
    frames = re.findall(r'^  File "(.+)", line (\d+), in (.+)$', trace, re.MULTILINE)
    own = [f"{file}, line {line}, in {name}: " for file, line, name in frames if not file.startswith(homes)]
    return kind, (own[-1] if own else "") + last


def _played_here(
    player: Policy, instance: Instance, seed: int, what: str, kept: int, progress: Progress | None
) -> Mapping[str, Any]:
    """Play an object in this process."""

    def tell(part: float) -> None:
        if progress is not None:
            progress(part, f"{what}, seed {seed}, in this process")

    try:
        return told_of(player, instance, seed, tell)
    except KeyboardInterrupt:
        raise Interrupted(kept, kept, "runs and optima") from None


def row_of(problem: str, run: Mapping[str, Any], best: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a row tells of a run, as ``told_of_run`` does, beside the optimum, if one is known."""
    told = {"total": run["total"], "infeasible": run["infeasible"]}
    told |= dict.fromkeys(("optimum_value", "optimum_bound", "low", "high"), math.nan)
    if best is not None and not run["infeasible"]:
        value, bound, low, high = tables.compared(problem, run["total"], best).values()
        bound = math.nan if bound is None else bound
        told |= {"optimum_value": value, "optimum_bound": bound, "low": low, "high": high}
    told |= {"events": run["events"], "seconds": run["seconds"]}
    return told | {f"measure.{name}": value for name, value in run["measures"].items()}


def _instances(given: Any) -> dict[str, Instance]:
    """Return instances by name: that of a file, or a number."""
    if isinstance(given, Instance | str | os.PathLike):
        given = [given]
    if not isinstance(given, Iterable):
        raise InputError(f"instances: {type(given).__name__} is no instance, nor several of them")
    if isinstance(given, Mapping):
        named: Sequence[tuple[str, Any]] = [(str(name), one) for name, one in given.items()]
    else:
        named = [(str(i) if isinstance(one, Instance) else str(one), one) for i, one in enumerate(given)]
    found: dict[str, Instance] = {}
    known: dict[str, str] = {}
    for name, one in named:
        if name in found:
            raise InputError(f"instances: {name!r} is given twice")
        found[name] = one if isinstance(one, Instance) else api.load(one)
        if (same := known.setdefault(found[name].digest(), name)) != name:
            raise InputError(f"instances: {same!r} and {name!r} are the same instance")
    if not found:
        raise InputError("instances: there is none")
    kinds = dict.fromkeys(one.problem for one in found.values())
    if len(kinds) > 1:
        raise InputError(f"instances: of several problems: {', '.join(kinds)}")
    return found


def players_of(given: Any, problem: str, least: int = 0) -> dict[str, tuple[str | None, Policy]]:
    """Return policies by label, each with the name and settings that it was given by; None for an object."""
    if isinstance(given, str | Policy):
        given = [given]
    if not isinstance(given, Iterable):
        raise InputError(f"policies: {type(given).__name__} is no policy, nor several of them")
    pairs = given.items() if isinstance(given, Mapping) else ((None, one) for one in given)
    found: dict[str, tuple[str | None, Policy]] = {}
    for label, one in pairs:
        player = api.make_policy(one, problem) if isinstance(one, str) else one
        if isinstance(player, type):
            raise InputError(f"policies: {player.__name__} is a class: give an object of it")
        check_member(player, problem)
        name = str(player.name if label is None else label)
        if name in found:
            raise InputError(f"policies: {name!r} is given twice")
        found[name] = one if isinstance(one, str) else None, player
    if len(found) < least:
        raise InputError("policies: there is none")
    return found
