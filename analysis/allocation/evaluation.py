"""Claims about the tables and the text of Sec. 4; the figures are in :mod:`.figures`."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from ...models.allocation import geometry
from ...models.allocation.generate import SIZES, generate
from ...models.allocation.instance import AllocationInstance
from ...online.allocation import BinPacking, Drf, Fairness, Ogasched, Spreading
from ...online.play import play
from ..claim import Claim, Context, Finding, Table, Verdict, amended_if, holds_if
from ..experiments import lead, positive, seeds, spread, track
from ..statistics import growth_exponent, mean_interval
from . import figures
from .experiments import (
    BASELINES,
    BINPACKING,
    CONSTANT,
    DRF,
    EVERYONE,
    FAIRNESS,
    FAIRNESS_LITERAL,
    HEURISTICS,
    OGASCHED,
    PER_SLOT,
    SPREADING,
    STEPS,
    TABLE_1,
    WHO_SEES,
    Contender,
    Setup,
    averages,
    bars,
    by_horizon,
    curves,
    instance,
    optima,
    strongest,
)

HORIZONS = (1000, 2000, 5000, 10000)
COLUMNS = (
    *((f"T = {slots}", Setup(slots=slots)) for slots in HORIZONS),
    *((f"rho = {rho}", Setup(arrival_probability=rho)) for rho in (0.3, 0.5, 0.7, 0.9)),
    *((f"density {density}", Setup(density=density)) for density in (2.0, 2.5, 3.0)),
)
"""The columns of Table 2. T = 2000 and rho = 0.7 are both the defaults: eleven columns, ten settings."""

PRINTED = {
    "OGASched": (
        *(2578.53, 2886.33, 2911.37, 3104.98),
        *(1904.87, 2154.18, 3117.29, 2938.22),
        *(2816.18, 2904.51, 3127.47),
    ),
    "DRF": (
        *(2422.47, 2493.02, 2449.23, 2497.85),
        *(1364.53, 2086.59, 2503.01, 2755.41),
        *(2417.08, 2786.94, 2795.42),
    ),
    "FAIRNESS": (
        *(2532.24, 2582.80, 2552.41, 2436.22),
        *(1295.53, 1997.19, 2628.02, 2873.84),
        *(2501.54, 2857.60, 2918.98),
    ),
    "BINPACKING": (
        *(2386.01, 2449.15, 2444.32, 2365.13),
        *(1246.39, 1897.79, 2518.98, 2740.19),
        *(2374.31, 2757.71, 2829.19),
    ),
    "SPREADING": (
        *(2382.01, 2466.71, 2436.60, 2362.88),
        *(1250.67, 1888.06, 2519.37, 2737.93),
        *(2382.87, 2766.07, 2836.37),
    ),
}
"""Table 2 as printed: average reward per slot."""

HEADS = tuple(head for head, _ in COLUMNS)
MIXES = ("mix", "linear", "log", "reciprocal", "poly")
SITUATIONS = {
    **{f"utility {name}": Setup(utility=name) for name in MIXES},
    **{f"contention {level:g}": Setup(contention=level) for level in (0.5, 2.0, 20.0)},
    **{f"rho = {rho}": Setup(arrival_probability=rho) for rho in (0.3, 0.9)},
    **{f"density {density:g}": Setup(density=density) for density in (2.0, 3.0)},
    "beta in [0.8, 1]": Setup(overhead=(0.8, 1.0)),
    "real kinds only": Setup(filled=False),
}
"""The defaults ("utility mix") and what differs from them; the last has no NPU, TPU and FPGA."""


# --- Table 1 ---------------------------------------------------------------------------------------------


def _check_table_1(context: Context) -> Finding:
    sampled = seeds(context, 2, 5, 20)
    made = [instance(Setup(), seed) for seed in track(context, sampled)]
    first, step = made[0].setting, Ogasched("decay")
    unit = instance(Setup(contention=1.0), sampled[0]).setting
    alpha = np.concatenate([i.setting.alpha.ravel() for i in made])
    beta = np.concatenate([i.setting.overhead for i in made])
    arrived = np.array([i.arrivals.mean() for i in made])
    contention = float(first.demand.sum() / unit.demand.sum())

    def span(values: np.ndarray) -> str:
        return f"drawn from {values.min():.3f} to {values.max():.3f}"

    rows = (
        ("job types |L|", 10, first.ports, first.ports == 10),
        ("servers |R|", 128, first.servers, first.servers == 128),
        ("device kinds K", 6, first.kinds, first.kinds == 6),
        ("slots T", 2000, first.slots, first.slots == 2000),
        ("range of alpha", "[1, 1.5]", span(alpha), alpha.min() >= 1.0 and alpha.max() <= 1.5),
        ("range of beta", "[0.3, 0.5]", span(beta), beta.min() >= 0.3 and beta.max() <= 0.5),
        ("initial step eta0", 25, step.eta0, step.eta0 == 25),
        ("decay", 0.9999, step.decay, step.decay == 0.9999),
        (
            "arrival probability rho",
            0.7,
            f"arrivals per port and slot {spread(arrived, 4)}",
            bool(abs(arrived.mean() - 0.7) < 0.01),
        ),
        (
            "contention level",
            10,
            f"demands {contention:g} times those of level 1",
            abs(contention - 10) < 1e-9,
        ),
        ("graph density", "not given", f"{first.density:g}", True),
    )
    agree = [bool(row[3]) for row in rows]
    return Finding(
        holds_if(all(agree)),
        f"{sum(agree)} of {len(agree)} rows agree: the defaults are those of the generator's default size "
        "where they are printed. The graph density of the defaults is not printed; ours is "
        f"{SIZES['default'].density:g}.",
        {
            "parameters": 10,
            "reproduced": sum(bool(row[3]) for row in rows[:10]),
            "instances drawn": len(sampled),
        },
        tables=(
            Table(
                "Table 1",
                ("parameter", "paper", "ours", "agrees"),
                tuple((*row[:3], "yes" if yes else "no") for row, yes in zip(rows, agree, strict=True)),
            ),
        ),
    )


# --- Table 2 ---------------------------------------------------------------------------------------------


def _table_2(context: Context, sampled: range) -> dict[Contender, np.ndarray]:
    """Return average rewards per algorithm, shape (seeds, columns)."""
    shrink = context.pick(20, 1, 1)
    lengths = [slots // shrink for slots in HORIZONS]
    others = [replace(setup, slots=2000 // shrink) for _, setup in COLUMNS[len(HORIZONS) :]]
    results = {}
    for who in track(context, EVERYONE):
        first = by_horizon(who, Setup(), sampled, lengths)
        rest = [averages(who, setup, sampled) for setup in others]
        results[who] = np.concatenate([first, np.stack(rest, axis=1)], axis=1)
    return results


def _check_table_2(context: Context) -> Finding:
    sampled = seeds(context, 3, 4, 20)
    ours = _table_2(context, sampled)
    names = {CONSTANT: "OGASched", TABLE_1: "OGASched", FAIRNESS_LITERAL: "FAIRNESS"}
    rows: list[tuple[str, ...]] = []
    for name, values in PRINTED.items():
        rows.append((name, "printed", "", *(f"{v:.2f}" for v in values)))
        rows += [
            (who.label, "ours", who.decides, *(spread(column, 0) for column in table.T))
            for who, table in ours.items()
            if names.get(who, who.label) == name
        ]
    printed = np.array(list(PRINTED.values()))
    best = np.max([ours[who].mean(axis=0) for who in BASELINES], axis=0)
    ahead = {who: ours[who].mean(axis=0) > best for who in OGASCHED}
    clear = {
        who: [
            [positive(lead(ours[who][:, c], ours[other][:, c])) for other in BASELINES]
            for c in range(len(HEADS))
        ]
        for who in OGASCHED
    }
    behind = {who: sum(False in column for column in clear[who]) for who in OGASCHED}
    column = {head: c for c, head in enumerate(HEADS)}

    def change(low: str, high: str) -> tuple[str, str, str]:
        a, b = column[low], column[high]
        both = [spread(lead(ours[who][:, b], ours[who][:, a]), 1, True) + " %" for who in OGASCHED]
        return (f"{100 * (printed[0, b] / printed[0, a] - 1):+.1f} %", both[0], both[1])

    fairest = sum(ours[FAIRNESS][:, c].mean() == best[c] for c in range(len(HEADS)))
    total = len(HEADS)
    shape = (
        (
            "columns with OGASched first",
            f"{int((printed[0] > printed[1:].max(axis=0)).sum())} of {total}",
            *(f"{int(ahead[who].sum())} of {total}" for who in OGASCHED),
        ),
        (
            "columns with OGASched clearly behind a heuristic",
            f"0 of {total}",
            *(f"{behind[w]} of {total}" for w in OGASCHED),
        ),
        (
            "columns with FAIRNESS best of the four heuristics",
            f"{int((printed[2] == printed[1:].max(axis=0)).sum())} of {total}",
            *(f"{fairest} of {total}",) * 2,
        ),
        ("OGASched, T = 1000 to 10000", *change("T = 1000", "T = 10000")),
        ("OGASched, rho = 0.3 to 0.7", *change("rho = 0.3", "rho = 0.7")),
        ("OGASched, rho = 0.7 to 0.9", *change("rho = 0.7", "rho = 0.9")),
        ("OGASched, density 2 to 3", *change("density 2.0", "density 3.0")),
    )
    return Finding(
        holds_if(max(int(ahead[who].sum()) for who in OGASCHED) == total),
        "In shape: with the constant step OGASched has the largest mean in "
        f"{int(ahead[CONSTANT].sum())} of {total} columns and is clearly behind a heuristic in "
        f"{behind[CONSTANT]}; with the step of Table 1 {int(ahead[TABLE_1].sum())} and {behind[TABLE_1]}. "
        "The printed instances cannot be recovered, so absolute rewards are no test.",
        {
            "instances": len(sampled),
            **{f"columns first, {who.label}": int(ahead[who].sum()) for who in OGASCHED},
            **{f"columns clearly behind, {who.label}": behind[who] for who in OGASCHED},
            "columns with FAIRNESS the best heuristic": int(fairest),
        },
        tables=(
            Table(
                f"Table 2: average reward per slot, ours with 95 % half widths over {len(sampled)} "
                f"instances. {WHO_SEES}. {STEPS}.",
                ("algorithm", "source", "decides", *HEADS),
                tuple(rows),
            ),
            Table(
                f"Shape of Table 2. {WHO_SEES}",
                ("pattern", "printed", "ours, constant step", "ours, step of Table 1"),
                shape,
            ),
        ),
    )


def _check_consistency(_context: Context) -> Finding:
    default, again = HEADS.index("T = 2000"), HEADS.index("rho = 0.7")
    pairs = {name: (values[default], values[again]) for name, values in PRINTED.items()}
    differ = {name: 100 * (b / a - 1) for name, (a, b) in pairs.items()}
    leads = np.array(
        [
            [100 * (PRINTED["OGASched"][c] / PRINTED[w.label][c] - 1) for w in BASELINES]
            for c in range(len(HEADS))
        ]
    )
    stated = np.array([figures.STATED[who] for who in BASELINES])
    away = np.abs(leads - stated).max(axis=1)
    nearest = int(away.argmin())
    return Finding(
        holds_if(all(a == b for a, b in pairs.values())),
        "T = 2000 and rho = 0.7 are both the defaults, yet OGASched is printed as "
        f"{pairs['OGASched'][0]:.2f} and {pairs['OGASched'][1]:.2f} ({differ['OGASched']:+.1f} %) while the "
        f"heuristics move by at most {max(abs(differ[w.label]) for w in BASELINES):.1f} %. At T = 2000 the "
        f"lead over DRF is {leads[default, 0]:+.1f} %, not {figures.STATED[DRF]} %; no column has the four "
        f"leads of the abstract (nearest: {HEADS[nearest]}, off by {away[nearest]:.1f} points; those were "
        "measured for Fig. 2, whose setting is another).",
        {
            **{f"{name}, T = 2000 to rho = 0.7 (%)": round(value, 2) for name, value in differ.items()},
            **{
                f"lead over {w.label} at T = 2000 (%)": round(float(leads[default, i]), 2)
                for i, w in enumerate(BASELINES)
            },
            "nearest column to the abstract": HEADS[nearest],
            "its largest distance (points)": round(float(away[nearest]), 2),
        },
        tables=(
            Table(
                "One setting, printed twice: average reward per slot",
                ("algorithm", "T = 2000", "rho = 0.7", "difference (%)"),
                tuple((name, *pairs[name], f"{differ[name]:+.2f}") for name in PRINTED),
            ),
            Table(
                "Lead of OGASched in the printed Table 2 (%)",
                ("column", *(who.label for who in BASELINES), "largest distance from the abstract (points)"),
                (
                    ("abstract", *(f"{v:+.2f}" for v in stated), ""),
                    *(
                        (head, *(f"{v:+.2f}" for v in leads[c]), f"{away[c]:.2f}")
                        for c, head in enumerate(HEADS)
                    ),
                ),
            ),
        ),
    )


def _check_rho(context: Context) -> Finding:
    levels = (0.3, 0.5, 0.7, 0.9)
    sampled = seeds(context, 3, 5, 20)
    setups = [Setup(arrival_probability=rho, slots=context.pick(100, 1000, 2000)) for rho in levels]
    lines: dict[str, list[np.ndarray]] = {"stationary optimum": [], **{who.label: [] for who in OGASCHED}}
    for setup in track(context, setups):
        lines["stationary optimum"].append(optima(setup, sampled))
        for who in OGASCHED:
            lines[who.label].append(averages(who, setup, sampled))
    found = {label: np.stack(values, axis=1) for label, values in lines.items()}
    change = {label: lead(values[:, 3], values[:, 2]) for label, values in found.items()}
    nested = all(
        bool((instance(b, seed).arrivals >= instance(a, seed).arrivals).all())
        for a, b in itertools.pairwise(setups)
        for seed in sampled
    )
    rises = {label: bool((np.diff(values, axis=1) > 0).all()) for label, values in found.items()}
    slope = growth_exponent(levels, found["stationary optimum"])
    table = PRINTED["OGASched"][HEADS.index("rho = 0.3") : HEADS.index("rho = 0.9") + 1]
    printed = 100 * (table[3] / table[2] - 1)
    return Finding(
        holds_if(not all(rises.values())),
        "On nested arrivals the stationary optimum cannot fall, since every port's reward at the optimum is "
        "at least zero and more arrivals only add to it. From rho = 0.7 to 0.9 it changes by "
        f"{spread(change['stationary optimum'])} % (2/7 is 28.6 %), OGASched by "
        f"{spread(change[CONSTANT.label])} % (constant step) and {spread(change[TABLE_1.label])} % (step of "
        f"Table 1), on every instance; printed: {printed:+.1f} %.",
        {
            "instances": len(sampled),
            "arrivals nested": nested,
            **{f"{k}, change from 0.7 to 0.9 (%)": round(float(v.mean()), 2) for k, v in change.items()},
            "stationary optimum grows like rho to the power": str(slope),
            "printed change (%)": round(printed, 2),
        },
        tables=(
            Table(
                f"Average reward per slot over rho, 95 % half widths over {len(sampled)} instances. "
                f"{WHO_SEES}",
                ("", *(f"rho = {rho}" for rho in levels), "0.7 to 0.9 (%)"),
                (
                    ("OGASched, printed", *(f"{v:.2f}" for v in table), f"{printed:+.1f}"),
                    *(
                        (label, *(spread(v) for v in values.T), spread(change[label], 1, True))
                        for label, values in found.items()
                    ),
                ),
            ),
        ),
        figures=(
            curves(
                "rho",
                "Average reward per slot over the arrival probability, on nested arrivals.",
                levels,
                {"reward per slot": found},
                "arrival probability rho",
            ),
        ),
    )


# --- Comparisons -----------------------------------------------------------------------------------------


def alternating(slots: int) -> AllocationInstance:
    """Return two ports that take turns at one device: seeing the arrivals is worth all of it."""
    return AllocationInstance(
        edges=[(0, 0), (1, 0)],
        demand=[[1.0], [1.0]],
        capacity=[[1.0]],
        overhead=[0.0],
        utility_kind=[["linear"]],
        alpha=[[1.0]],
        arrivals=[[t % 2, 1 - t % 2] for t in range(slots)],
    )


def _totals(instance: AllocationInstance) -> dict[str, float]:
    """Return what each policy earns, by name."""
    policies = (Ogasched(), Drf(), Fairness(), BinPacking(1.0), Spreading(1.0))
    return {policy.name: play(policy, instance).total for policy in policies}


def _check_always_best(context: Context) -> Finding:
    sampled = seeds(context, 3, 5, 20)
    slots = context.pick(100, 600, 2000)
    rows: list[tuple[str, ...]] = []
    leads: dict[Contender, list[np.ndarray]] = {who: [] for who in OGASCHED}
    cost: list[np.ndarray] = []
    limited = 0
    for name, setup in track(context, SITUATIONS.items()):
        setup = replace(setup, slots=slots)
        rival = strongest(HEURISTICS, setup, sampled)
        theirs = averages(rival, setup, sampled)
        possible = lead(optima(setup, sampled), theirs)
        limited += positive(possible) is False
        for who in OGASCHED:
            leads[who].append(lead(averages(who, setup, sampled), theirs))
        cost.append(lead(averages(TABLE_1, setup, sampled), averages(CONSTANT, setup, sampled)))
        rows.append(
            (
                name,
                rival.label,
                spread(theirs, 0),
                spread(possible, 1, True),
                *(spread(leads[who][-1], 1, True) for who in OGASCHED),
                spread(cost[-1], 1, True),
            )
        )
    signs = {who: [positive(v) for v in leads[who]] for who in OGASCHED}
    means = {who: [float(v.mean()) for v in leads[who]] for who in OGASCHED}
    worse = [positive(v) for v in cost].count(False)
    small = alternating(8)
    totals = _totals(small)
    return Finding(
        holds_if(all(sign is not False for sign in signs[CONSTANT] + signs[TABLE_1])),
        f"Against the best heuristic OGASched stands between {min(means[CONSTANT]):+.0f} % and "
        f"{max(means[CONSTANT]):+.0f} % (constant step), {min(means[TABLE_1]):+.0f} % and "
        f"{max(means[TABLE_1]):+.0f} % (step of Table 1); clearly behind in {signs[CONSTANT].count(False)} "
        f"and {signs[TABLE_1].count(False)} of {len(rows)} situations, undecided in "
        f"{signs[CONSTANT].count(None)} and {signs[TABLE_1].count(None)}. In {limited} even the clairvoyant "
        "stationary optimum is clearly below that heuristic: no step size helps, for the heuristic sees "
        f"the arrivals. The step of Table 1 clearly loses to the constant one in {worse}. With two ports "
        f"that take turns at one device heuristics earn {totals['drf']:g} in 8 slots, OGASched "
        f"{totals['ogasched']:g}.",
        {
            "situations": len(rows),
            "instances per situation": len(sampled),
            **{f"worst, {who.label} (%)": round(min(means[who]), 2) for who in OGASCHED},
            **{f"best, {who.label} (%)": round(max(means[who]), 2) for who in OGASCHED},
            **{f"clearly behind, {who.label}": signs[who].count(False) for who in OGASCHED},
            "all-linear, constant step (%)": round(means[CONSTANT][MIXES.index("linear")], 2),
            "step of Table 1 clearly below the constant step": worse,
            "stationary optimum clearly below the best heuristic": limited,
            **{f"counterexample, {name}": total for name, total in totals.items()},
        },
        tables=(
            Table(
                f"Lead over the best heuristic (%), {slots} slots, 95 % half widths over {len(sampled)} "
                f"instances. {WHO_SEES}. {STEPS}.",
                (
                    "situation (else defaults)",
                    "best heuristic",
                    "its reward per slot",
                    "stationary optimum",
                    *(who.label for who in OGASCHED),
                    "step of Table 1 against the constant one",
                ),
                tuple(rows),
            ),
        ),
        figures=(
            bars(
                "always-best",
                "Lead of OGASched over the best heuristic of each situation.",
                list(SITUATIONS),
                {who.label: np.stack(leads[who], axis=1) for who in OGASCHED},
                "lead over the best heuristic (%)",
            ),
        ),
        counterexample=small,
    )


def unfair(first_seed: int, count: int) -> tuple[AllocationInstance, float, float]:
    """Return the tiny instance on which DRF is furthest ahead of FAIRNESS, and the rewards of the two."""
    tried = []
    for seed in range(first_seed, first_seed + count):
        tiny = generate("tiny", seed)
        tried.append((tiny, play(Drf(), tiny).total, play(Fairness(), tiny).total))
    return max(tried, key=lambda found: found[1] - found[2])


def _check_fairness(context: Context) -> Finding:
    sampled = seeds(context, 8, 8, 20)
    slots = context.pick(60, 500, 2000)
    others = (DRF, BINPACKING, SPREADING)
    rows, found = [], {}
    for name, setup in track(context, SITUATIONS.items()):
        setup = replace(setup, slots=slots)
        rival = strongest(others, setup, sampled)
        theirs = averages(rival, setup, sampled)
        both = [averages(who, setup, sampled) - theirs for who in (FAIRNESS, FAIRNESS_LITERAL)]
        found[name] = [positive(v) for v in both]
        rows.append((name, rival.label, spread(theirs, 1), *(spread(v, 1, True) for v in both)))
    arrived, literal = ([sign[i] for sign in found.values()] for i in range(2))
    counterexample, drf, fairness = unfair(sampled[0], context.pick(50, 200, 1000))
    printed = np.array([PRINTED[who.label] for who in BASELINES])
    elsewhere = [HEADS[c] for c in np.flatnonzero(printed.argmax(axis=0) != BASELINES.index(FAIRNESS))]
    always = arrived.count(True) == len(arrived) and drf <= fairness
    return Finding(
        amended_if(always, found["utility mix"][0] is True),
        "Read as a share among the ports that have jobs, FAIRNESS leads the other three clearly in "
        f"{arrived.count(True)} of {len(arrived)} situations, is clearly behind in {arrived.count(False)} "
        f"and undecided in {arrived.count(None)} (DRF matches it where contention is low). Read literally, "
        f"as a share of all ports, it leads in {literal.count(True)} and is clearly behind in "
        f"{literal.count(False)}. The printed Table 2 itself has another one first in {len(elsewhere)} "
        f"columns ({', '.join(elsewhere)}), and on a tiny instance DRF earns {drf:.2f} where FAIRNESS earns "
        f"{fairness:.2f}.",
        {
            "situations": len(rows),
            "instances per situation": len(sampled),
            **{
                f"{reading}: {word}": signs.count(value)
                for reading, signs in (("arrived ports", arrived), ("literal", literal))
                for word, value in (("clearly best", True), ("clearly behind", False), ("undecided", None))
            },
            "printed columns with another one first": len(elsewhere),
            "counterexample, DRF": round(drf, 6),
            "counterexample, FAIRNESS": round(fairness, 6),
        },
        tables=(
            Table(
                f"Lead of FAIRNESS over the best of DRF, BINPACKING, SPREADING (reward per slot), {slots} "
                f"slots, 95 % half widths over {len(sampled)} instances. All of them see the arrivals before "
                "they decide",
                (
                    "situation (else defaults)",
                    "best of the others",
                    "its reward per slot",
                    "FAIRNESS, arrived ports",
                    "FAIRNESS, literal",
                ),
                tuple(rows),
            ),
        ),
        counterexample=counterexample,
    )


def _check_quota(context: Context) -> Finding:
    sampled = seeds(context, 2, 5, 20)
    quotas = (0.25, 0.5, 0.75, 0.9, 1.0)
    setup = Setup(slots=context.pick(100, 500, 2000))
    rows, share = [], {}
    for quota in track(context, quotas):
        runs = {
            kind: [play(kind(quota), instance(setup, seed)).rewards for seed in sampled]
            for kind in (BinPacking, Spreading)
        }
        packed, scattered = (np.stack(runs[kind]) for kind in (BinPacking, Spreading))
        busy = np.stack([instance(setup, seed).arrivals.any(axis=1) for seed in sampled])
        share[quota] = 100 * float((~np.isclose(packed, scattered, rtol=1e-9))[busy].mean())
        gap = lead(scattered.mean(axis=1), packed.mean(axis=1))
        rows.append(
            (
                quota,
                spread(packed.mean(axis=1)),
                spread(scattered.mean(axis=1)),
                spread(gap, 2, True),
                f"{share[quota]:.1f}",
            )
        )
    differ = all(share[quota] > 0 for quota in quotas)
    return Finding(
        amended_if(differ, all(share[quota] > 0 for quota in quotas if quota < 1)),
        "With quota 1, when a job may take min(a, what is left) on every server it reaches (as DRF does), "
        f"the order of its servers has no effect and the two coincide in {100 - share[1.0]:.0f} % of the "
        "slots. They are two policies only with a limit on what one job takes in total, which the paper "
        f"does not give; we make it a parameter, 0.75 unless stated, where they differ in {share[0.75]:.0f} "
        "% of the slots.",
        {
            "instances": len(sampled),
            **{f"slots with different rewards (%), quota {q:g}": round(v, 3) for q, v in share.items()},
        },
        tables=(
            Table(
                f"BINPACKING and SPREADING by quota, reward per slot, {setup.slots} slots, 95 % half widths "
                f"over {len(sampled)} instances. Both see the arrivals before they decide",
                (
                    "quota (part of |R_l| a)",
                    "BINPACKING",
                    "SPREADING",
                    "SPREADING against BINPACKING (%)",
                    "slots with different rewards (%)",
                ),
                tuple(rows),
            ),
        ),
    )


# --- Step sizes and horizon ------------------------------------------------------------------------------


def norms(setup: Setup, seed: int) -> np.ndarray:
    """Return the gradient norm of every slot of OGASched with the step (26), zero where nothing arrives."""
    sampled = instance(setup, seed)
    decisions = play(PER_SLOT.make(), sampled, keep_decisions=True).decisions or ()
    gradients = (
        sampled.setting.supergradient(y, x) for y, x in zip(decisions, sampled.arrivals, strict=True)
    )
    return np.array([float(np.linalg.norm(g)) for g in gradients])


def _steps(setup: Setup, seed: int) -> np.ndarray:
    """Return the step (26) of every slot, NaN where it is 0/0."""
    setting = instance(setup, seed).setting
    norm = norms(setup, seed)
    return np.divide(
        geometry.diameter(setting),
        norm * np.sqrt(setting.slots),
        out=np.full_like(norm, np.nan),
        where=norm > 0,
    )


def constant_step(setup: Setup, seed: int) -> float:
    """Return D/(G sqrt T), the step for which Theorem 1 is proven."""
    setting = instance(setup, seed).setting
    return geometry.diameter(setting) / float(np.sqrt(geometry.gradient_norms(setting).sum() * setting.slots))


def _check_eta0(context: Context) -> Finding:
    sampled = seeds(context, 3, 5, 20)
    setup = Setup(slots=context.pick(200, 1000, 2000))
    slots = setup.slots or 0
    own, proven = [], []
    for seed in track(context, sampled):
        own.append(float(np.nanmedian(_steps(setup, seed))))
        proven.append(constant_step(setup, seed))
    step = np.array(own)
    last = 25 * 0.9999 ** (slots - 1)
    reward = {who: averages(who, setup, sampled) for who in (CONSTANT, PER_SLOT, TABLE_1)}
    loss = {who: lead(reward[TABLE_1], reward[who]) for who in (CONSTANT, PER_SLOT)}
    near = bool((last <= 10 * step).any())
    better = [positive(v) for v in loss.values()]
    return Finding(
        holds_if(near or False not in better),
        f"The step of Table 1 falls from 25 to {last:.1f} in {slots} slots, while "
        f"(26) has the median {spread(step, 2)} and the constant step is {spread(np.array(proven), 3)}: "
        f"{25 / step.mean():.0f} times smaller than 25. The step of Table 1 earns "
        f"{spread(loss[CONSTANT], 1, True)} % against "
        f"the constant step, {spread(loss[PER_SLOT], 1, True)} % against (26).",
        {
            "instances": len(sampled),
            "slots": slots,
            "median of (26)": round(float(step.mean()), 4),
            "D/(G sqrt T)": round(float(np.mean(proven)), 4),
            "eta0 / median of (26)": round(float(25 / step.mean()), 1),
            "reward against the constant step (%)": round(float(loss[CONSTANT].mean()), 2),
            "reward against (26) (%)": round(float(loss[PER_SLOT].mean()), 2),
        },
        tables=(
            Table(
                f"Step sizes and rewards on the defaults, {slots} slots, 95 % half widths over "
                f"{len(sampled)} instances. OGASched decides before it sees the slot's arrivals; all start "
                "from the fair share",
                ("step", "size", "reward per slot"),
                (
                    ("constant, D/(G sqrt T)", spread(np.array(proven), 3), spread(reward[CONSTANT])),
                    ("(26), per slot", f"median {spread(step, 3)}", spread(reward[PER_SLOT])),
                    ("Table 1, 25 * 0.9999^t", f"25 to {last:.1f}", spread(reward[TABLE_1])),
                ),
            ),
        ),
    )


def _check_step_grows(context: Context) -> Finding:
    sampled = seeds(context, 3, 5, 20)
    slots = context.pick(400, 1000, 4000)
    tenths = 10
    rows, shown = [], {}
    for utility in track(context, ("mix", "log")):
        setup = Setup(slots=slots, utility=utility)
        means = np.array([np.nanmean(_steps(setup, seed).reshape(tenths, -1), axis=1) for seed in sampled])
        relative = means / means[:, :1]
        shown[f"(26), utility {utility}"] = relative
        rows.append(
            (
                utility,
                spread(means[:, 0], 3),
                spread(means[:, -1], 3),
                spread(lead(*relative.T[[-1, 0]]), 2, True),
            )
        )
    shown["D/(G sqrt T)"] = np.ones((len(sampled), tenths))
    change = lead(shown["(26), utility mix"][:, -1], shown["(26), utility mix"][:, 0])
    bound = mean_interval(change)
    return Finding(
        holds_if(bound.low > 5.0),
        "In (26) T is the horizon, a constant; only the gradient's norm can move it. From the first to the "
        f"last tenth of {slots} slots the mean step changes by {spread(change, 2, True)} %; it "
        "fluctuates with the arrivals. D/(G sqrt T), for which Theorem 1 is proven, is constant by "
        "definition.",
        {
            "instances": len(sampled),
            "slots": slots,
            "change from first to last tenth (%)": round(bound.mean, 3),
            "lower end (%)": round(bound.low, 3),
            "upper end (%)": round(bound.high, 3),
        },
        tables=(
            Table(
                f"Mean of the step (26) over {slots} slots, 95 % half widths over {len(sampled)} instances. "
                "OGASched decides before it sees the slot's arrivals",
                ("utilities", "first tenth", "last tenth", "change (%)"),
                tuple(rows),
            ),
        ),
        figures=(
            curves(
                "step-26",
                "The step (26) by tenth of the horizon, relative to the first tenth.",
                np.arange(1, tenths + 1),
                {"mean step / that of the first tenth": shown},
                "tenth of the horizon",
            ),
        ),
    )


def _check_increasing(context: Context) -> Finding:
    sampled = seeds(context, 5, 5, 20)
    lengths = context.pick((100, 400, 1600), (500, 1000, 2000, 4000), (1000, 2000, 5000, 10000))
    setup = Setup()
    best = np.stack([optima(replace(setup, slots=n), sampled) for n in lengths], axis=1)
    raw = {
        who: by_horizon(who, setup, sampled, lengths) for who in track(context, (*OGASCHED, FAIRNESS, DRF))
    }
    part = {who: 100 * values / best for who, values in raw.items()}
    gain = {who: values[:, -1] - values[:, 0] for who, values in part.items()}
    plain = {who: lead(values[:, -1], values[:, 0]) for who, values in raw.items()}
    net = {who: gain[who] - gain[FAIRNESS] for who in OGASCHED}
    return Finding(
        holds_if(
            positive(gain[CONSTANT]) is True and False not in map(positive, (*net.values(), gain[TABLE_1]))
        ),
        "OGASched learns, slowly: measured against the best stationary allocation of the same slots, which "
        f"takes out the luck of the arrivals, it gains {spread(gain[CONSTANT], 2)} points (constant step) "
        f"and {spread(gain[TABLE_1], 2)} points (step of Table 1) from T = {lengths[0]} to {lengths[-1]}. "
        f"FAIRNESS, which cannot learn, gains {spread(gain[FAIRNESS], 2)} by the same measure, as hindsight "
        f"is worth less over more slots; beyond that OGASched gains {spread(net[CONSTANT], 2, True)} and "
        f"{spread(net[TABLE_1], 2, True)} points. The plain average changes by "
        f"{spread(plain[CONSTANT], 1, True)} % and {spread(plain[TABLE_1], 1, True)} %.",
        {
            "instances": len(sampled),
            **{
                f"{w.label}, gain (points of the optimum)": round(float(v.mean()), 3) for w, v in gain.items()
            },
            **{
                f"{w.label}, change of the plain average (%)": round(float(v.mean()), 3)
                for w, v in plain.items()
            },
        },
        tables=(
            Table(
                f"Reward as part of the stationary optimum (%), 95 % half widths over {len(sampled)} "
                f"instances. {WHO_SEES}",
                ("algorithm", "decides", *(f"T = {n}" for n in lengths), "plain average, first to last (%)"),
                tuple(
                    (w.label, w.decides, *(spread(v, 2) for v in part[w].T), spread(plain[w], 1, True))
                    for w in part
                ),
            ),
        ),
        figures=(
            curves(
                "horizon",
                "Reward as part of the best stationary allocation of the same slots.",
                lengths,
                {"part of the stationary optimum (%)": {w.label: v for w, v in part.items()}},
                "horizon T (slots)",
                log="x",
            ),
        ),
    )


# --- Abstract and machine --------------------------------------------------------------------------------


def _check_abstract(context: Context) -> Finding:
    sampled = seeds(context, 5, 8, 40)
    setup = replace(figures.FIG_2, slots=context.pick(200, 2000, 2000))
    leads = {
        (who, other): lead(averages(who, setup, sampled), averages(other, setup, sampled))
        for other in track(context, HEURISTICS)
        for who in OGASCHED
    }

    def covers(who: Contender, other: Contender) -> bool:
        interval = mean_interval(leads[who, other])
        return interval.low <= figures.STATED[other] <= interval.high

    inside = {who: sum(covers(who, other) for other in figures.STATED) for who in OGASCHED}
    behind = {
        who: ", ".join(o.label for o in figures.STATED if positive(leads[who, o]) is False) or "none"
        for who in OGASCHED
    }
    stated = ", ".join(f"{spread(leads[CONSTANT, o], 1, True)} % over {o.label}" for o in figures.STATED)
    column = HEADS.index("T = 2000")
    return Finding(
        holds_if(inside[TABLE_1] == len(figures.STATED)),
        "In the setting of Fig. 2, where the four numbers come from, with the step of Table 1 "
        f"OGASched is clearly behind {behind[TABLE_1]}. With the constant step its "
        f"leads are {stated}; clearly behind {behind[CONSTANT]}. {inside[CONSTANT]} of "
        "the four printed leads lie in our 95 % intervals then. The paper's own instances cannot be "
        "recovered.",
        {
            "instances": len(sampled),
            **{
                f"lead of {who.label} over {other.label} (%)": round(float(values.mean()), 2)
                for (who, other), values in leads.items()
            },
        },
        tables=(
            Table(
                f"Lead of OGASched (%), beta in [0.4, 0.6], contention 11, {setup.slots} slots, 95 % half "
                f"widths over {len(sampled)} instances. {WHO_SEES}. {STEPS}.",
                (
                    "over",
                    "abstract",
                    "Table 2, T = 2000 (defaults)",
                    *(who.label for who in OGASCHED),
                ),
                tuple(
                    (
                        other.label,
                        f"{figures.STATED[other]:+.2f}" if other in figures.STATED else "",
                        f"{100 * (PRINTED['OGASched'][column] / PRINTED[other.label][column] - 1):+.2f}"
                        if other in figures.STATED
                        else "",
                        *(spread(leads[who, other], 2, True) for who in OGASCHED),
                    )
                    for other in HEURISTICS
                ),
            ),
        ),
    )


def _check_running_time(_context: Context) -> Finding:
    return Finding(
        Verdict.NOT_CHECKABLE,
        "Both times are of a machine and a program that are not available; no time of ours can confirm or "
        "refute them, and the audit prints none. What the same runs take here is measured by `make bench`.",
        {
            "printed, T = 8000, 10 ports, 128 servers (hours)": 1,
            "printed, T = 10000, 100 ports, 1024 servers (hours)": 15,
        },
    )


CLAIMS: list[Claim] = [
    Claim(
        "allocation/table-1",
        "Table 1",
        "The default settings.",
        "Each parameter beside that of the default size of our generator.",
        Verdict.HOLDS,
        _check_table_1,
    ),
    Claim(
        "allocation/table-2",
        "Table 2",
        "Average rewards in ten settings; OGASched leads in every column.",
        "All columns and algorithms again, with intervals over instances; the shape is compared, not the "
        "level.",
        Verdict.FAILS,
        _check_table_2,
    ),
    Claim(
        "allocation/table-2-consistency",
        "Table 2, abstract",
        "The printed numbers belong together.",
        "From the printed numbers alone: equal settings must have equal rewards.",
        Verdict.FAILS,
        _check_consistency,
    ),
    Claim(
        "allocation/rho-monotone",
        "Sec. 4.2, second finding",
        "OGASched's reward falls when the arrival probability goes from 0.7 to 0.9.",
        "Stationary optimum and OGASched on nested arrivals.",
        Verdict.FAILS,
        _check_rho,
    ),
    Claim(
        "allocation/always-best",
        "Sec. 4.2, first finding",
        "OGASched earns more than every baseline in every setting.",
        "Lead over the best heuristic by utility family, contention, arrivals, density and overhead.",
        Verdict.FAILS,
        _check_always_best,
    ),
    Claim(
        "allocation/fairness-best",
        "Sec. 4.1",
        "FAIRNESS is the best of the heuristics.",
        "Both readings of FAIRNESS against the best of the other three, by situation; tiny instances "
        "searched.",
        Verdict.HOLDS_AMENDED,
        _check_fairness,
    ),
    Claim(
        "allocation/binpacking-spreading",
        "Sec. 4, baselines",
        "BINPACKING and SPREADING are two policies with opposite preferences.",
        "Their rewards slot by slot, by the part of the greatest possible allocation that one job may take.",
        Verdict.HOLDS_AMENDED,
        _check_quota,
    ),
    Claim(
        "allocation/eta0",
        "Table 1, Sec. 4",
        "eta0 and decay tune the step around the value (26), and this serves the reward.",
        "The step of Table 1 beside (26) and D/(G sqrt T): sizes and rewards.",
        Verdict.FAILS,
        _check_eta0,
    ),
    Claim(
        "allocation/step-26-grows",
        "Sec. 4.1, on (26)",
        "(26) makes the step larger and larger as time goes on.",
        "The step (26) by tenth of the horizon; less than 5 % from first to last counts as no growth.",
        Verdict.FAILS,
        _check_step_grows,
    ),
    Claim(
        "allocation/increasing-T",
        "Sec. 4.2, first finding",
        "OGASched's performance rises with the horizon.",
        "Reward as part of the stationary optimum of the same slots, over the horizon.",
        Verdict.HOLDS,
        _check_increasing,
    ),
    Claim(
        "allocation/abstract-improvement",
        "Abstract, Sec. 1",
        "OGASched outperforms the four heuristics by 11.33, 7.75, 13.89 and 13.44 %.",
        "The four leads in the setting of Fig. 2, with intervals over instances, both step sizes.",
        Verdict.FAILS,
        _check_abstract,
    ),
    Claim(
        "allocation/running-time",
        "Captions of Fig. 2 and 5",
        "8000 slots take an hour at the default size, 10000 slots 15 hours at the large one.",
        "Not at all: it is a statement about one machine and one program.",
        Verdict.NOT_CHECKABLE,
        _check_running_time,
    ),
    *figures.CLAIMS,
]
