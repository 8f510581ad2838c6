"""Claims about the figures of Sec. V: total utility, timeliness, performance ratio, and inaccurate U / L."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...models.admission.jobs import CRITICAL, SENSITIVE
from ...online.admission.oasis import Oasis
from ...online.play import play
from ..claim import Claim, Context, Figure, Finding, Table, Verdict, holds_if
from ..experiments import Statement, all_of, lead, policy_seed, positive, seeds, spread, track, verdict
from ..plots import INK, new_figure, plot_bars, to_svg
from ..statistics import mean_interval
from .experiments import (
    DORM,
    FITS,
    NOTE,
    NOTE_TESTBED,
    OASIS,
    PAPER,
    QUICK_BASELINES,
    TESTBED,
    Contender,
    Place,
    Setup,
    bound,
    curves,
    gantt,
    grid,
    instance,
    outcome,
    scaled,
    searched,
    statement_table,
    totals,
    utilisation_figure,
)
from .measures import mean_prices

BOUND = "bound on the optimum"


def counted(statements: Sequence[Statement]) -> str:
    """Return in words how many of the statements hold, fail and are undecided."""
    signs = [s.agrees for s in statements]
    return (
        f"Of {len(signs)} statements, true: {signs.count(True)}, false: {signs.count(False)}, undecided: "
        f"{signs.count(None)}."
    )


# --- Fig. 3 and 8: total utility -------------------------------------------------------------------------


def _least(gaps: np.ndarray, heads: Sequence[str]) -> str:
    """Return the least mean of ``gaps[seed, place]``, and where it is."""
    worst = int(np.argmin(gaps.mean(axis=0)))
    return f"least lead {spread(gaps[:, worst], 1, True)} ({heads[worst]})"


def _ahead(
    levels: Sequence[int], found: Mapping[str, Mapping[str, np.ndarray]], dorm: Mapping[str, np.ndarray]
) -> list[Statement]:
    """Return the statements about the leads of OASiS, by number of jobs and kind of jobs."""
    heads, statements = [f"{jobs} jobs" for jobs in levels], []
    for fit, table in found.items():
        if fit in dorm:
            gap = table[OASIS.label][:, 0] - dorm[fit][:, 0]
            says = f"OASiS is ahead of Dorm ({levels[0]} {fit} jobs; with more, its programs take too long)"
            statements.append(Statement(says, spread(gap, 1, True), positive(gap)))
        for other in QUICK_BASELINES:
            gaps = table[OASIS.label] - table[other.label]
            grows = gaps[:, -1] - gaps[:, 0]
            statements += [
                Statement(
                    f"OASiS is ahead of {other.label} at every number of jobs ({fit} jobs)",
                    _least(gaps, heads),
                    all_of([positive(gap) for gap in gaps.T]),
                ),
                Statement(
                    f"and by more with {levels[-1]} than with {levels[0]} jobs",
                    f"the lead changes by {spread(grows, 1, True)}",
                    positive(grows),
                ),
            ]
    return statements


def _by_jobs(
    levels: Sequence[int],
    found: Mapping[str, dict[str, np.ndarray]],
    limits: Mapping[str, np.ndarray],
    checked: int,
) -> tuple[Figure, Figure]:
    """Return total utilities by number of jobs, and those of some instances beside their bounds."""
    return (
        curves(
            "figure-3",
            "Total utility by number of jobs.",
            levels,
            {f"total utility ({fit} jobs)": table for fit, table in found.items()},
            "jobs",
        ),
        curves(
            "figure-3-bound",
            f"Total utility, and a certified bound on what any schedule can earn, means over the first "
            f"{checked} of the instances.",
            levels,
            {
                f"total utility ({fit} jobs)": {
                    label: values[:checked].mean(axis=0, keepdims=True)
                    for label, values in (table | {BOUND: limits[fit]}).items()
                }
                for fit, table in found.items()
            },
            "jobs",
        ),
    )


def _earned(jobs: int, found: Mapping[str, Mapping[str, np.ndarray]], at: int) -> str:
    """Return in words what OASiS and the others earn at a number of jobs."""
    earned = (
        f"{spread(table[OASIS.label][:, at])} on {fit} jobs, against "
        + ", ".join(f"{spread(table[other.label][:, at])} ({other.label})" for other in QUICK_BASELINES)
        for fit, table in found.items()
    )
    return f"With {jobs} jobs OASiS earns {'; '.join(earned)}."


def _check_figure_3(context: Context) -> Finding:
    sampled = seeds(context, 5, 5, 10)
    levels = context.pick((15, 70), (10, 60, 150), (20, 50, 100, 200, 300, 400))
    T, machines = context.pick((50, 12), (100, 25), (300, 50))
    checked = context.pick(1, 2, 3)
    found: dict[str, dict[str, np.ndarray]] = {}
    dorm: dict[str, np.ndarray] = {}
    limits: dict[str, np.ndarray] = {}
    for fit in track(context, FITS):
        places = [Setup(jobs, T, machines, machines, fit) for jobs in levels]
        found[fit] = {who.label: totals(who, places, sampled) for who in (OASIS, *QUICK_BASELINES)}
        if context.mode != "quick":
            dorm[fit] = totals(DORM, places[:1], sampled)
        limits[fit] = np.array([[bound(place, seed) for place in places] for seed in sampled[:checked]])
    heads = [f"{jobs} jobs" for jobs in levels]
    statements = _ahead(levels, found, dorm)
    last = {fit: {label: values[:, -1] for label, values in table.items()} for fit, table in found.items()}
    return Finding(
        verdict(statements),
        " ".join(_earned(levels[at], found, at) for at in (0, -1)) + " " + counted(statements),
        {
            "instances": len(sampled),
            "horizon": T,
            "machines of each kind": machines,
            **{
                f"{label}, {levels[-1]} {fit} jobs": round(float(values.mean()), 2)
                for fit, ends in last.items()
                for label, values in ends.items()
            },
            **{
                f"certified bound, {levels[-1]} {fit} jobs": round(float(values[:, -1].mean()), 1)
                for fit, values in limits.items()
            },
        },
        tables=(
            statement_table(statements),
            *(
                grid(
                    f"Total utility, {fit} jobs, T = {T}, {machines} + {machines} machines", "", heads, table
                )
                for fit, table in found.items()
            ),
            Table(
                f"Certified bound on the optimum, mean over {checked} of the instances. {NOTE}",
                ("", *heads),
                tuple(
                    (f"{fit} jobs", *(round(float(v), 1) for v in values.mean(axis=0)))
                    for fit, values in limits.items()
                ),
            ),
            *(
                grid(
                    f"Total utility of Dorm, {levels[0]} {fit} jobs",
                    "",
                    ["total utility"],
                    {DORM.label: found},
                )
                for fit, found in dorm.items()
            ),
        ),
        figures=(
            *_by_jobs(levels, found, limits, checked),
            utilisation_figure(
                "figure-3-utilisation",
                f"Use of the machines, mean over the resources, {levels[-1]} short jobs.",
                Setup(levels[-1], T, machines, machines, "short"),
                (OASIS, *QUICK_BASELINES),
                sampled,
            ),
            *_of_one_run(Setup(levels[-1], T, machines, machines, "short"), sampled[0]),
        ),
    )


def _of_one_run(setup: Setup, seed: int) -> tuple[Figure, Figure]:
    """Return the Gantt chart and the prices over time of OASiS on one instance."""
    made, policy = instance(setup, seed), Oasis()
    play(policy, made, policy_seed(seed))
    s, slots = made.setting, np.arange(1, setup.horizon + 1)
    panels = {}
    for side, prices, capacity in (
        ("workers", policy.worker_prices, s.worker_servers),
        ("parameter servers", policy.server_prices, s.parameter_servers),
    ):
        mean = mean_prices(prices, capacity)
        panels[f"price, {side}"] = {
            name: mean[None, :, r] for r, name in enumerate(s.resources) if mean[0, r] > 0.0
        }
    plan = outcome(OASIS, setup, seed).schedule
    return (
        gantt(
            "figure-3-gantt",
            "Workers and parameter servers of jobs over time under OASiS, one instance.",
            made,
            {"workers": (plan, "workers"), "parameter servers": (plan, "servers")},
        ),
        curves(
            "figure-3-prices",
            "Prices of OASiS at the end of the run on the same instance: what all of a resource would cost "
            "in a slot, mean over the machines that have it.",
            slots,
            panels,
            "slot",
            log="y",
        ),
    )


DORM_INSTANCES = 20
"""Dorm plays on so many instances at most: its programs take longer than all else together."""


def _on_testbed(context: Context) -> tuple[range, tuple[Contender, ...]]:
    """Return instance seeds and players at the size of the testbed; for a smoke test without Dorm."""
    return seeds(context, 25, 80, 300), context.pick((OASIS, *QUICK_BASELINES), PAPER, PAPER)


def _played(who: Contender, sampled: range) -> range:
    """Return on which instances a contender plays."""
    return sampled[:DORM_INSTANCES] if who == DORM else sampled


def _check_figure_8(context: Context) -> Finding:
    sampled, players = _on_testbed(context)
    found = {
        who.label: totals(who, [TESTBED], _played(who, sampled))[:, 0] for who in track(context, players)
    }
    ours = found[OASIS.label]
    gaps = {label: ours[: len(theirs)] - theirs for label, theirs in found.items() if label != OASIS.label}
    statements = [
        Statement(f"OASiS is ahead of {label}", f"{spread(gap, 1, True)}", positive(gap))
        for label, gap in gaps.items()
    ]
    figure, ax = new_figure(height=0.9 + 0.35 * len(players))
    bands = np.array([mean_interval(values) for values in found.values()]).T
    plot_bars(ax, list(found), {"total utility": (bands[0], bands[1], bands[2])})
    ax.set_xlabel("total utility")
    text = f"Total utility at the size of the testbed, in simulation. {NOTE_TESTBED}."
    return Finding(
        verdict(statements),
        f"In simulation, with 12 jobs, 10 slots and 7 + 2 machines like those of the testbed, OASiS earns "
        f"{spread(ours)}: "
        + ", ".join(f"{spread(gap, 1, True)} against {label}" for label, gap in gaps.items())
        + ". The testbed itself is not at hand. "
        + counted(statements),
        {
            "instances": len(sampled),
            **{label: round(float(values.mean()), 2) for label, values in found.items()},
        },
        tables=(
            statement_table(statements, note=NOTE_TESTBED),
            Table(
                f"Total utility at the size of the testbed, in simulation, 95 % half widths. {NOTE_TESTBED}",
                ("", "total utility", "instances"),
                tuple((label, spread(values), len(values)) for label, values in found.items()),
            ),
        ),
        figures=(Figure("admission-figure-8", text, to_svg(figure)),),
    )


# --- Fig. 4 and 9: timeliness ----------------------------------------------------------------------------


RESAMPLED = 1000
"""How often the jobs are drawn again, with replacement, for an interval."""


def _late(who: Contender, place: Place, sampled: Sequence[int], kind: str) -> np.ndarray:
    """Return completion - arrival - target of the jobs of a class that are done, on all instances."""
    return np.concatenate([outcome(who, place, seed).timeliness[kind].late for seed in sampled])


def _distance(late: np.ndarray) -> np.ndarray:
    return abs(late.mean(axis=-1))


def _deviation(late: np.ndarray) -> np.ndarray:
    return late.std(axis=-1, ddof=1)


def _more(
    ours: np.ndarray, theirs: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]
) -> tuple[str, bool | None]:
    """Tell how much more a measure is of their jobs than of ours, and whether it surely is (bootstrap)."""
    if min(len(ours), len(theirs)) < 3:
        return "too few jobs done", None
    rng = np.random.default_rng(0)
    samples = [measure(v[rng.integers(0, len(v), (RESAMPLED, len(v)))]) for v in (theirs, ours)]
    low, high = np.percentile(samples[0] - samples[1], [2.5, 97.5])
    gap = float(measure(theirs) - measure(ours))
    return f"{gap:+.2f} [{low:.2f}, {high:.2f}]", True if low > 0 else False if high < 0 else None


def _mostly(statements: Sequence[Statement]) -> bool:
    """Return whether at least half of the statements are borne out."""
    return 2 * sum(s.agrees is True for s in statements) >= len(statements)


def _timeliness_finding(
    name: str,
    places: Mapping[str, Place],
    sampled: range,
    players: Sequence[Contender],
    text: str,
    note: str = NOTE,
) -> Finding:
    """Return the finding about how well targets are met in some places."""
    statements, tables, numbers, done = [], [], {}, []
    for title, place in places.items():
        for kind in (SENSITIVE, CRITICAL):
            late = {who: _late(who, place, _played(who, sampled), kind) for who in players}
            share = {
                who: 100.0
                * np.array(
                    [outcome(who, place, seed).timeliness[kind].done for seed in _played(who, sampled)]
                )
                for who in players
            }
            for measure, what in ((_distance, "mean closest to zero"), (_deviation, "smallest deviation")):
                found = {who: _more(late[OASIS], late[who], measure) for who in players[1:]}
                statements.append(
                    Statement(
                        f"OASiS has the {what} ({title}, {kind})",
                        "the others have more by "
                        + ", ".join(f"{who.label} {gap}" for who, (gap, _) in found.items()),
                        all_of([sign for _, sign in found.values()]),
                    )
                )
            tables.append(
                Table(
                    f"Completion - arrival - target (slots) of time-{kind} jobs that are done, {title}, "
                    f"{len(sampled)} instances. {note}",
                    ("", "mean", "standard deviation", "jobs done (%)", "jobs done"),
                    tuple(
                        (
                            who.label,
                            round(float(v.mean()), 2) if len(v) else "none",
                            round(float(v.std(ddof=1)), 2) if len(v) > 1 else "none",
                            _known(share[who]),
                            len(v),
                        )
                        for who, v in late.items()
                    ),
                )
            )
            for who, v in late.items():
                numbers[f"{who.label}, {kind}, {title}: done (%)"] = round(float(np.nanmean(share[who])), 2)
                if len(v):
                    numbers[f"{who.label}, {kind}, {title}: mean (slots)"] = round(float(v.mean()), 3)
            most = max(players[1:], key=lambda who: float(np.nanmean(share[who])))
            done.append(f"{_known(share[OASIS])} % ({title}, {kind}; {most.label} {_known(share[most])} %)")
    return Finding(
        holds_if(verdict(statements) is Verdict.HOLDS and _mostly(statements)),
        f"{text} A job that is never done has no completion time and counts in the share alone. OASiS gets "
        f"done: {'; '.join(done)}. " + counted(statements),
        {"instances": len(sampled), **numbers},
        tables=(
            statement_table(statements, note=f"Brackets: 95 % over the jobs, as if independent. {note}"),
            *tables,
        ),
        figures=tuple(
            _late_figure(f"{name}{letter}", title, place, sampled, players, note)
            for letter, (title, place) in zip("ab", places.items(), strict=False)
        ),
    )


def _known(samples: np.ndarray) -> str:
    """Return mean and half width of the samples that are known, as text."""
    known = samples[~np.isnan(samples)]
    return spread(known) if len(known) > 1 else "too few"


def _late_figure(
    name: str, title: str, place: Place, sampled: range, players: Sequence[Contender], note: str
) -> Figure:
    figure, ax = new_figure(height=1.0 + 0.5 * len(players))
    series = {}
    for kind in (SENSITIVE, CRITICAL):
        late = [_late(who, place, _played(who, sampled), kind) for who in players]
        mean = np.array([v.mean() if len(v) else 0.0 for v in late])
        half = np.array([v.std(ddof=1) if len(v) > 1 else np.nan for v in late])
        series[kind] = (mean, mean - half, mean + half)
    plot_bars(ax, [who.label for who in players], series, band="standard deviation of the jobs")
    ax.set_xlabel("completion - arrival - target (slots)")
    text = (
        f"How well targets are met by the jobs that are done, {title}, {len(sampled)} instances; no bar: no "
        f"job is done. {note}."
    )
    return Figure(f"admission-{name}", text, to_svg(figure))


def _check_figure_4(context: Context) -> Finding:
    sampled = seeds(context, 6, 5, 10)
    jobs, T, machines = context.pick((80, 60, 20), (150, 100, 40), (200, 100, 50))
    places = {f"{fit} jobs": Setup(jobs, T, machines, machines, fit, classes=(0.0, 0.5, 0.5)) for fit in FITS}
    return _timeliness_finding(
        "figure-4",
        places,
        sampled,
        (OASIS, *QUICK_BASELINES),
        f"{jobs} jobs, half of them time-sensitive and half time-critical, T = {T}, {machines} + {machines} "
        "machines; without Dorm, whose programs take too long at this size.",
    )


def _check_figure_9(context: Context) -> Finding:
    sampled, players = _on_testbed(context)
    return _timeliness_finding(
        "figure-9",
        {"12 jobs": TESTBED},
        sampled,
        players,
        "In simulation, with 12 jobs, 10 slots and 7 + 2 machines like those of the testbed, which is not at "
        "hand.",
        NOTE_TESTBED,
    )


# --- Fig. 5: performance ratio ---------------------------------------------------------------------------

STATED = (1.1, 1.5)
"""The performance ratios that the paper observes."""

MARGIN = 0.05
"""Ratios within this of the range stated count as inside."""

TREND = 0.25
"""A change of the ratio that is surely smaller than this is no clear trend."""


def ratio(place: Setup, seed: int) -> tuple[float, float, float]:
    """Return what OASiS earns, and OPT: what a schedule earns, maybe OASiS's own, and a certified bound."""
    best, earned = searched(place, seed), outcome(OASIS, place, seed).total
    return earned, max(best.value, earned), best.bound


def _no_trend(change: np.ndarray) -> bool | None:
    """Return whether a change is no clear trend: False if its 95 % interval does not hold 0."""
    if len(change) < 2:
        return None
    _, low, high = mean_interval(change)
    return False if low > 0 or high < 0 else True if max(-low, high) < TREND else None


def _trends(
    found: Mapping[tuple[int, float], np.ndarray], machines: Sequence[int], highs: Sequence[float]
) -> list[Statement]:
    """Return the statements about trends, with more machines and with a wider range of priorities."""
    by_size = _changes(
        found, [(machines[0], high) for high in highs], [(machines[-1], high) for high in highs]
    )
    by_range = _changes(found, [(n, highs[0]) for n in machines], [(n, highs[-1]) for n in machines])
    trends = (
        ("more servers", f"from {machines[0]} to {machines[-1]} machines", machines, by_size),
        ("larger U / L", f"from priorities up to {highs[0]:g} to {highs[-1]:g}", highs, by_range),
    )
    return [
        Statement(
            f"no clear trend with {what} (here: a change that is surely below {TREND:g})",
            f"{one}: {spread(change, 2, True) if len(change) > 1 else 'too few instances'}",
            _no_trend(change),
        )
        for what, one, levels, change in trends
        if len(levels) > 1
    ]


def _beside_the_best(place: Setup, seed: int) -> Figure:
    best, plan = searched(place, seed).schedule, outcome(OASIS, place, seed).schedule
    return gantt(
        "figure-5-gantt",
        "Workers of the best schedule found and of OASiS on one instance.",
        instance(place, seed),
        {"workers (best found)": (best, "workers"), "workers (OASiS)": (plan, "workers")},
    )


def _check_figure_5(context: Context) -> Finding:
    sampled = seeds(context, 3, 3, 5)
    machines = context.pick((10, 20), (10, 20), (10, 20, 40, 80))
    ranges = context.pick(((1.0, 100.0),), ((1.0, 10.0), (1.0, 100.0)), RANGES)
    places = {
        (n, high): Setup(10, 10, n // 2, n // 2, priority=(low, high))
        for n in machines
        for low, high in ranges
    }
    found = {
        key: np.array([ratio(place, seed) for seed in sampled])
        for key, place in track(context, places.items())
    }
    every = np.concatenate(list(found.values()))
    proved = every[:, 2] - every[:, 1] <= 1e-2 * every[:, 2]
    nothing = every[:, 0] <= 1e-9 * every[:, 2]
    some = every[~nothing]
    least, most = some[:, 1] / some[:, 0], some[:, 2] / some[:, 0]
    above = int((least > STATED[1] + MARGIN).sum() + nothing.sum())
    below = int((most < STATED[0] - MARGIN).sum())
    inside = int(((least >= STATED[0] - MARGIN) & (most <= STATED[1] + MARGIN)).sum())
    medians = [_inside(rows) for rows in found.values()]
    statements = [
        Statement(
            f"the ratio is {STATED[0]:g} to {STATED[1]:g} (here: give or take {MARGIN:g}, on every instance)",
            f"of {len(every)} instances surely inside: {inside}, above: {above}, below: {below}",
            False if above or below else True if inside == len(every) else None,
        ),
        Statement(
            f"the median ratio is {STATED[0]:g} to {STATED[1]:g} in every setting (give or take {MARGIN:g})",
            f"of {len(found)} settings surely inside: {medians.count(True)}, outside: {medians.count(False)}",
            all_of(medians),
        ),
        *_trends(found, machines, [high for _, high in ranges]),
    ]
    summed = some[:, 1].sum() / some[:, 0].sum()
    return Finding(
        verdict(statements),
        f"With 10 jobs and T = 10 schedules found earn {np.median(least):.2f} times what OASiS earns in the "
        f"median, {least.min():.2f} to {least.max():.2f} times; certified bounds are {np.median(most):.2f} "
        f"times that in the median. The optimum is proved within 1 % on {int(proved.sum())} of {len(every)} "
        f"instances. OASiS earns nothing on {int(nothing.sum())}. " + counted(statements),
        {
            "instances": len(every),
            "proved within 1 %": int(proved.sum()),
            "OASiS earns nothing": int(nothing.sum()),
            "least ratio of a schedule found": round(float(least.min()), 3),
            "median ratio of a schedule found": round(float(np.median(least)), 3),
            "largest ratio of a schedule found": round(float(least.max()), 3),
            "median ratio of the bound": round(float(np.median(most)), 3),
            "sum of optima over sum of OASiS": round(float(summed), 3),
            "inside the range stated": inside,
            "above": above,
            "below": below,
        },
        tables=(
            statement_table(statements),
            Table(
                f"Best schedule found over OASiS, 10 jobs, T = 10, {len(sampled)} instances each. {NOTE}",
                (
                    "machines",
                    "priority up to",
                    "least",
                    "median",
                    "most",
                    "OASiS earns nothing",
                    "proved within 1 %",
                ),
                tuple(_ratio_row(key, rows) for key, rows in found.items()),
            ),
        ),
        figures=(
            _ratio_figure(found, machines, [high for _, high in ranges]),
            _beside_the_best(next(iter(places.values())), sampled[0]),
        ),
    )


def _inside(rows: np.ndarray) -> bool | None:
    """Return whether the median ratio of a setting is in the range stated; ``None`` if it is not known."""
    earned = np.maximum(rows[:, 0], 1e-300)
    least, most = np.median(rows[:, 1] / earned), np.median(rows[:, 2] / earned)
    if least > STATED[1] + MARGIN or most < STATED[0] - MARGIN:
        return False
    return True if least >= STATED[0] - MARGIN and most <= STATED[1] + MARGIN else None


RANGES = ((1.0, 10.0), (1.0, 30.0), (1.0, 100.0))
"""Of the priorities, in ascending order of U / L."""

Key = tuple[int, float]
"""Number of machines of both kinds together, and the largest priority."""


def _ratios(rows: np.ndarray) -> np.ndarray:
    """Return the ratio of what a schedule earns to OASiS, on the instances where OASiS earns something."""
    earned = rows[:, 0] > 1e-9 * rows[:, 2]
    result: np.ndarray = rows[earned, 1] / rows[earned, 0]
    return result


def _changes(found: Mapping[Key, np.ndarray], first: Sequence[Key], last: Sequence[Key]) -> np.ndarray:
    """Return by how much the ratio is larger in some places, seed by seed where both ratios are finite."""
    changes = []
    for one, other in zip(first, last, strict=True):
        for a, b in zip(found[one], found[other], strict=True):
            before, after = _ratios(a[None]), _ratios(b[None])
            changes += [after[0] - before[0]] if len(before) and len(after) else []
    return np.array(changes)


def _ratio_row(key: Key, rows: np.ndarray) -> tuple[object, ...]:
    r = _ratios(rows)
    numbers = (r.min(), np.median(r), r.max()) if len(r) else ()
    shown = tuple(round(float(v), 2) for v in numbers) or ("none",) * 3
    proved = int((rows[:, 2] - rows[:, 1] <= 1e-2 * rows[:, 2]).sum())
    return (key[0], f"{key[1]:g}", *shown, len(rows) - len(r), proved)


def _ratio_figure(found: Mapping[Key, np.ndarray], machines: Sequence[int], highs: Sequence[float]) -> Figure:
    groups = [f"{n} machines" for n in machines]
    series = {}
    for high in highs:
        known = [_ratios(found[n, high]) for n in machines]
        mid, low, top = (
            np.array([f(r) if len(r) else np.nan for r in known]) for f in (np.median, np.min, np.max)
        )
        series[f"priority up to {high:g}"] = (np.nan_to_num(mid), low, top)
    figure, ax = new_figure(height=1.2 + 0.3 * len(machines) * len(highs))
    plot_bars(ax, groups, series, band="least and most")
    ax.axvspan(*STATED, alpha=0.25, color=INK, linewidth=0, zorder=0, label="stated in the paper")
    ax.legend()
    ax.set_xlabel("best schedule found / OASiS")
    text = (
        "Best schedule found over OASiS for 10 jobs and T = 10, median over the instances on which OASiS "
        f"earns anything. {NOTE}."
    )
    return Figure("admission-figure-5", text, to_svg(figure))


# --- Fig. 6: inaccurate U / L ----------------------------------------------------------------------------


NOTICEABLE = 10.0
"""A gain of fewer per cent of the total utility than these is not the effect of Fig. 6 (ours)."""


def _noticeable(gain: np.ndarray) -> bool | None:
    """Return whether a gain in % is positive; False if it is below :data:`NOTICEABLE` for sure."""
    _, low, high = mean_interval(gain)
    return True if low > 0.0 else False if high < NOTICEABLE else None


def _check_figure_6(context: Context) -> Finding:
    sampled = seeds(context, 10, 10, 20)
    levels = (1, 10, 100, 1_000, 10_000)
    jobs, horizon = context.pick((200, 100), (200, 100), (400, 300))
    printed, with_floor = ("short", False), ("short", True)
    kinds = context.pick(
        (printed,), (printed, with_floor, ("feasible", True)), (*itertools.product(FITS, (False, True)),)
    )
    found = {}
    for fit, floor in track(context, kinds):
        place = Setup(jobs, horizon, 50, 50, fit)
        runs = [totals(scaled(x, floor), [place], sampled) for x in levels]
        label = f"{fit} jobs, " + ("with a floor on L" if floor else "L as printed")
        found[label] = np.concatenate(runs, axis=1)
    middle = levels.index(100)
    gains = {
        label: lead(values[:, :middle].mean(axis=1), values[:, middle + 1 :].mean(axis=1))
        for label, values in found.items()
    }
    statements = [
        Statement(
            f"an underestimated U / L earns more than an overestimated one ({label})",
            f"{spread(gain, 1, True)} %",
            _noticeable(gain),
        )
        for label, gain in gains.items()
    ]
    heads = [f"{x:g} %" for x in levels]
    shown = "; ".join(f"{spread(gain, 1, True)} % ({label})" for label, gain in gains.items())
    ranges = instance(Setup(jobs, horizon, 50, 50, "short"), sampled[0]).announced
    return Finding(
        verdict(statements),
        f"With {jobs} jobs, U / L underestimated (mean of {', '.join(heads[:middle])}) earns more than "
        f"overestimated ({', '.join(heads[middle + 1 :])}) by {shown}. f(T - a) of critical jobs makes U / L "
        "as printed so large that factors of it hardly matter. " + counted(statements),
        {
            "instances": len(sampled),
            **{
                f"under- over overestimated (%), {label}": round(float(g.mean()), 2)
                for label, g in gains.items()
            },
            "ln U / L, short jobs, with the floor": round(ranges.alpha(True), 1),
            "ln U / L, short jobs, as printed": round(ranges.alpha(False), 1),
        },
        tables=(
            statement_table(statements),
            grid(
                f"Total utility of OASiS with U / L at a percentage of its value, {jobs} jobs, "
                f"T = {horizon}, 50 + 50 machines",
                "",
                heads,
                found,
            ),
        ),
        figures=(
            curves(
                "figure-6",
                "Total utility of OASiS with inaccurate U / L.",
                levels,
                {"total utility": found},
                "U / L used, % of its actual value",
                log="x",
            ),
        ),
    )


CLAIMS: list[Claim] = [
    Claim(
        "admission/figure-3",
        "Fig. 3, Sec. V.A",
        "OASiS has the largest total utility of all, by more the more jobs there are.",
        "Total utility of all policies by the number of jobs on paired instances, and a certified bound.",
        Verdict.FAILS,
        _check_figure_3,
    ),
    Claim(
        "admission/figure-4",
        "Fig. 4, Sec. V.A",
        "Completion less target time is closest to zero with OASiS, for time-sensitive and for time-critical "
        "jobs, with the smallest variance.",
        "Mean and deviation over the jobs that are done, and beside them the share that is done. It holds if "
        "no statement fails and at least half are borne out.",
        Verdict.FAILS,
        _check_figure_4,
    ),
    Claim(
        "admission/figure-5",
        "Fig. 5, Sec. V.A",
        "For 10 jobs the optimum is 1.1 to 1.5 times what OASiS earns, without a clear trend in the number "
        "of servers or in U / L.",
        "What the best schedule found and a certified bound are over OASiS, on every instance; a ratio is "
        "outside if both are, by more than 0.05.",
        Verdict.FAILS,
        _check_figure_5,
    ),
    Claim(
        "admission/figure-6",
        "Fig. 6, Sec. V.A",
        "When resources are scarce an underestimated U / L leads to a higher total utility than an "
        "overestimated one.",
        "OASiS with U / L scaled, with L as printed and with a floor on it, on instances with more jobs than "
        f"fit. It fails where the gain is below {NOTICEABLE:g} % for sure (a threshold of ours).",
        Verdict.FAILS,
        _check_figure_6,
    ),
    Claim(
        "admission/figure-8",
        "Fig. 8, Sec. V.B",
        "On the testbed OASiS has the largest total utility of all.",
        "A simulation with the testbed's machines and jobs like its own.",
        Verdict.FAILS,
        _check_figure_8,
    ),
    Claim(
        "admission/figure-9",
        "Fig. 9, Sec. V.B",
        "On the testbed completion less target time is closest to zero with OASiS.",
        "A simulation with the testbed's machines and jobs like its own; judged like Fig. 4.",
        Verdict.FAILS,
        _check_figure_9,
    ),
]
