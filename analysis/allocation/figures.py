"""Claims about Fig. 2 to 7: each is drawn again, and what the text says of it is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...online.play import play
from ..claim import Claim, Context, Figure, Finding, Table, Verdict
from ..experiments import Statement, all_of, lead, positive, seeds, spread, track, verdict
from ..statistics import growth_exponent
from .experiments import (
    BASELINES,
    BINPACKING,
    CONSTANT,
    DRF,
    EVERYONE,
    FAIRNESS,
    HEURISTICS,
    OGASCHED,
    SPREADING,
    STEPS,
    TABLE_1,
    WHO_SEES,
    Contender,
    Setup,
    averages,
    bars,
    curves,
    grid,
    instance,
    optima,
    rewards,
    statement_table,
    strongest,
    with_step,
)

FIG_2 = Setup(slots=8000, overhead=(0.4, 0.6), contention=11.0)
FIG_5 = Setup("large", slots=10000)
STATED = {DRF: 11.33, FAIRNESS: 7.75, BINPACKING: 13.89, SPREADING: 13.44}
"""By how many per cent OGASched is said to outperform each heuristic (Sec. 4.1 and the abstract)."""

OPTIMUM = "stationary optimum"
CONTENTION = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


def _running_means(who: Contender, setup: Setup, sampled: range, points: np.ndarray) -> np.ndarray:
    """Return average rewards until each slot, shape (seeds, points)."""
    return np.array([np.cumsum(rewards(who, setup, seed))[points - 1] / points for seed in sampled])


def _points(slots: int) -> np.ndarray:
    """Return about 60 numbers of slots from 1 to ``slots``, denser at the beginning."""
    return np.unique(np.geomspace(1, slots, 60).round().astype(np.int64))


def _ahead(who: Contender, rival: Contender, setup: Setup, sampled: range, at: str) -> Statement:
    gap = lead(averages(who, setup, sampled), averages(rival, setup, sampled))
    return Statement(
        f"{who.label} is ahead of {rival.label} {at}", f"{spread(gap, 1, True)} %", positive(gap)
    )


def _fails(statements: list[Statement]) -> int:
    return sum(s.agrees is False for s in statements)


# --- Fig. 2 and 5: over time -----------------------------------------------------------------------------


def _over_time(context: Context, name: str, setup: Setup, sampled: range) -> Finding:
    slots = setup.slots or 0
    points = _points(slots)
    means = {who: _running_means(who, setup, sampled, points) for who in track(context, EVERYONE)}
    early = int(np.searchsorted(points, min(10, slots)))
    late = int(np.searchsorted(points, slots // 8))
    ratio = {(who, other): means[who] / means[other] for who in OGASCHED for other in HEURISTICS}
    statements = [_ahead(who, other, setup, sampled, "at the end") for who in OGASCHED for other in BASELINES]
    for who in OGASCHED:
        rise = 100 * (ratio[who, FAIRNESS][:, -1] - ratio[who, FAIRNESS][:, late])
        statements.append(
            Statement(
                f"{who.label} still gains on FAIRNESS after slot {points[late]}",
                f"{spread(rise, 2, True)} points",
                positive(rise),
            )
        )
    if name == "figure-2":
        for other in (DRF, FAIRNESS):
            start = lead(means[other][:, early], means[CONSTANT][:, early])
            statements.append(
                Statement(
                    f"{other.label} is ahead of {CONSTANT.label} at slot {points[early]}",
                    f"{spread(start, 1, True)} %",
                    positive(start),
                )
            )
    end = {who: [lead(means[who][:, -1], means[other][:, -1]) for other in HEURISTICS] for who in OGASCHED}
    fairness = HEURISTICS.index(FAIRNESS)
    best = strongest(HEURISTICS, setup, sampled)
    return Finding(
        verdict(statements),
        f"After {slots} slots OGASched stands at {spread(end[CONSTANT][fairness], 1, True)} % (constant "
        f"step) and {spread(end[TABLE_1][fairness], 1, True)} % (step of Table 1) against FAIRNESS, "
        f"{spread(end[CONSTANT][0], 1, True)} % and {spread(end[TABLE_1][0], 1, True)} % against DRF; the "
        f"best heuristic is {best.label}. {_fails(statements)} of {len(statements)} statements fail, "
        f"{sum(s.agrees is None for s in statements)} are undecided.",
        {
            "slots": slots,
            "instances": len(sampled),
            **{
                f"lead of {who.label} over {other.label} (%)": round(float(end[who][i].mean()), 2)
                for who in OGASCHED
                for i, other in enumerate(HEURISTICS)
            },
        },
        tables=(
            statement_table(statements),
            Table(
                f"Lead of OGASched after {slots} slots (%), 95 % half widths over {len(sampled)} instances. "
                f"{WHO_SEES}. {STEPS}.",
                ("over", "printed (of Fig. 2)", *(who.label for who in OGASCHED)),
                tuple(
                    (
                        other.label,
                        f"{STATED[other]:+.2f}" if other in STATED and name == "figure-2" else "",
                        *(spread(end[who][i], 2, True) for who in OGASCHED),
                    )
                    for i, other in enumerate(HEURISTICS)
                ),
            ),
            Table(
                f"Average reward until slot t, 95 % half widths over {len(sampled)} instances. {WHO_SEES}",
                ("algorithm", "decides", *(f"t = {points[i]}" for i in _few(points))),
                tuple(
                    (who.label, who.decides, *(spread(means[who][:, i], 0) for i in _few(points)))
                    for who in EVERYONE
                ),
            ),
        ),
        figures=_time_curves(name, points, means, ratio),
    )


def _time_curves(
    name: str,
    points: np.ndarray,
    means: dict[Contender, np.ndarray],
    ratio: dict[tuple[Contender, Contender], np.ndarray],
) -> tuple[Figure, ...]:
    """Return averages, sums and ratios over time."""
    return (
        curves(
            f"{name}a",
            "Average reward until slot t.",
            points,
            {"average reward per slot": {who.label: means[who] for who in EVERYONE}},
            "slot t",
            log="x",
        ),
        curves(
            f"{name}b",
            "Accumulated reward.",
            points,
            {"accumulated reward": {who.label: means[who] * points for who in EVERYONE}},
            "slot t",
        ),
        curves(
            f"{name}c",
            "Average reward of OGASched over that of each heuristic; above 1 OGASched is ahead.",
            points,
            {
                f"{who.label} / heuristic": {other.label: ratio[who, other] for other in HEURISTICS}
                for who in OGASCHED
            },
            "slot t",
            log="x",
        ),
    )


def _few(points: np.ndarray) -> list[int]:
    """Return the indices of about six points, the last included."""
    return sorted({int(i) for i in np.linspace(0, len(points) - 1, 7)[1:]})


def _check_figure_2(context: Context) -> Finding:
    setup = replace(FIG_2, slots=context.pick(160, 8000, 8000))
    return _over_time(context, "figure-2", setup, seeds(context, 3, 5, 20))


def _check_figure_5(context: Context) -> Finding:
    small = {"ports": 40, "servers": 200, "slots": 40}
    setup = replace(FIG_5, **context.pick(small, {"slots": 200}, {}))
    return _over_time(context, "figure-5", setup, seeds(context, 3, 3, 3))


# --- Fig. 3, 6, 7: sweeps --------------------------------------------------------------------------------


def _sweep(setups: list[Setup], sampled: range) -> dict[str, np.ndarray]:
    """Return rewards per slot by label, the stationary optimum first, shape (seeds, setups)."""
    found = {OPTIMUM: np.stack([optima(setup, sampled) for setup in setups], axis=1)}
    for who in EVERYONE:
        found[who.label] = np.stack([averages(who, setup, sampled) for setup in setups], axis=1)
    return found


def _least_lead(who: Contender, found: dict[str, np.ndarray], groups: list[str], of: str) -> Statement:
    """Say whether OGASched leads the best of the four heuristics in every group.

    Leads are in per cent of the stationary optimum: rewards of heuristics may be near zero.
    """
    best, leads = [], []
    for g in range(len(groups)):
        column = {label: values[:, g] for label, values in found.items()}
        best.append(max((other.label for other in BASELINES), key=lambda label: float(column[label].mean())))
        leads.append(100.0 * (column[who.label] - column[best[g]]) / column[OPTIMUM].mean())
    worst = int(np.argmin([values.mean() for values in leads]))
    return Statement(
        f"{who.label} leads whatever {of}",
        f"least lead {spread(leads[worst], 1, True)} % of the stationary optimum (over {best[worst]}, "
        f"{groups[worst]})",
        all_of([positive(v) for v in leads]),
    )


def _of_contention(
    levels: tuple[float, ...], found: dict[str, np.ndarray], fall: dict[str, np.ndarray]
) -> list[Statement]:
    """Return the statements about the contention level: up to 1, and from there on, where rewards fall."""
    one = levels.index(1.0)
    by_fairness = found[CONSTANT.label] / found[FAIRNESS.label] * 100
    shrinks = by_fairness[:, one] - by_fairness[:, -1]
    rise = {label: lead(values[:, one], values[:, 0]) for label, values in found.items()}
    return [
        Statement(
            "rewards rise with contention from 0.1 to 1",
            f"{CONSTANT.label} {spread(rise[CONSTANT.label], 0, True)} %",
            all_of([positive(v) for v in rise.values()]),
        ),
        Statement(
            "rewards fall when contention rises beyond 1",
            f"to {levels[-1]:g}: {CONSTANT.label} {spread(fall[CONSTANT.label], 0, True)} %, stationary "
            f"optimum {spread(fall[OPTIMUM], 0, True)} %",
            positive(-fall[CONSTANT.label]),
        ),
        Statement(
            "the lead shrinks when contention rises beyond 1",
            f"{CONSTANT.label} over FAIRNESS, {levels[-1]:g} against 1: {spread(-shrinks, 1, True)} points",
            positive(shrinks),
        ),
    ]


def _check_figure_3(context: Context) -> Finding:
    sampled = seeds(context, 3, 4, 10)
    slots = context.pick(60, 300, 2000)
    servers = context.pick((16, 32, 64), (32, 64, 128, 256, 512), (32, 64, 128, 256, 512, 1024))
    ports = context.pick((5, 20), (5, 10, 20, 40), (5, 10, 20, 40, 80))
    levels = context.pick((0.1, 1.0, 20.0), CONTENTION, CONTENTION)
    fewer = context.pick({"servers": 32}, {}, {})
    sweeps = {
        "|R|": ("servers", servers, [Setup(slots=slots, servers=n) for n in servers]),
        "|L|": ("job types", ports, [Setup(slots=slots, ports=n, **fewer) for n in ports]),
        "the contention level": (
            "contention",
            levels,
            [Setup(slots=slots, contention=c, **fewer) for c in levels],
        ),
    }
    found = {of: _sweep(setups, sampled) for of, (_, _, setups) in track(context, sweeps.items())}
    groups = {of: [f"{head} {x:g}" for x in xs] for of, (head, xs, _) in sweeps.items()}
    statements = [_least_lead(who, found[of], groups[of], f"{of} is") for of in sweeps for who in OGASCHED]
    by_servers, by_ports, by_level = found.values()
    power = {of: growth_exponent(sweeps[of][1], found[of][CONSTANT.label]) for of in ("|R|", "|L|")}
    by_fairness = {of: found[of][CONSTANT.label] / found[of][FAIRNESS.label] * 100 for of in sweeps}
    middle = by_fairness["|R|"][:, len(servers) // 2] - by_fairness["|R|"][:, [0, -1]].max(axis=1)
    statements += [
        Statement(
            "the lead first grows, then shrinks with |R|",
            f"lead of {CONSTANT.label} over FAIRNESS at {servers[len(servers) // 2]} servers against the "
            f"larger of {servers[0]} and {servers[-1]}: {spread(middle, 1, True)} points",
            positive(middle),
        ),
        Statement(
            "all algorithms earn more with more servers",
            f"each of them from {servers[0]} to {servers[-1]}",
            all_of([positive(lead(v[:, -1], v[:, 0])) for v in by_servers.values()]),
        ),
        Statement(
            "|L| has a weaker effect than |R| (density fixed)",
            f"{CONSTANT.label}: |R|^{power['|R|'].mean:.2f}, |L|^{power['|L|'].mean:.2f}",
            positive(np.array(_slopes(servers, by_servers) - _slopes(ports, by_ports))),
        ),
    ]
    fall = {label: lead(v[:, -1], v[:, levels.index(1.0)]) for label, v in by_level.items()}
    statements += _of_contention(levels, by_level, fall)
    return Finding(
        verdict(statements),
        f"{_fails(statements)} of {len(statements)} statements fail, those that do are in the table. "
        f"Over contention, from 1 to {levels[-1]:g} OGASched "
        f"gains {spread(fall[CONSTANT.label], 0, True)} %. Larger demands only widen the feasible set (3), "
        "so the stationary optimum cannot fall with it.",
        {
            "slots": slots,
            "instances": len(sampled),
            "exponent of |R|": str(power["|R|"]),
            "exponent of |L| (density fixed)": str(power["|L|"]),
            **{
                f"{label}, contention 1 to {levels[-1]:g} (%)": round(float(v.mean()), 1)
                for label, v in fall.items()
            },
        },
        tables=(
            statement_table(statements),
            *(
                grid(f"Reward per slot over {of}, {slots} slots", "algorithm", groups[of], found[of])
                for of in sweeps
            ),
        ),
        figures=tuple(
            _sweep_curves(f"figure-3{letter}", of, sweeps[of][1], found[of])
            for letter, of in zip("abc", sweeps, strict=True)
        ),
    )


def _sweep_curves(name: str, of: str, sizes: Sequence[float], found: dict[str, np.ndarray]) -> Figure:
    """Return rewards over a size, and OGASched's over those of the heuristics."""
    return curves(
        name,
        f"Reward per slot over {of}, and OGASched over each heuristic.",
        sizes,
        {
            "reward per slot": {who.label: found[who.label] for who in EVERYONE},
            "OGASched (constant) / heuristic": {
                other.label: found[CONSTANT.label] / found[other.label] for other in HEURISTICS
            },
        },
        {"|R|": "servers |R|", "|L|": "job types |L|"}.get(of, "contention level"),
        log="x",
    )


def _slopes(sizes: tuple[int, ...], found: dict[str, np.ndarray]) -> np.ndarray:
    """Return the exponent of growth of OGASched's reward, seed by seed."""
    return np.array([growth_exponent(sizes, one).mean for one in found[CONSTANT.label]])


def _check_figure_6(context: Context) -> Finding:
    sampled = seeds(context, 3, 3, 10)
    levels = context.pick((1.0, 5.0, 20.0), CONTENTION, CONTENTION)
    players = (*OGASCHED, DRF, FAIRNESS)
    parts = {
        (who, what): np.zeros((len(sampled), len(levels))) for who in players for what in ("gain", "penalty")
    }
    for column, level in track(context, enumerate(levels)):
        setup = Setup(slots=context.pick(60, 300, 2000), contention=level)
        for row, seed in enumerate(sampled):
            drawn_instance = instance(setup, seed)
            s, x = drawn_instance.setting, drawn_instance.arrivals
            for who in players:
                decisions = play(who.make(), drawn_instance, keep_decisions=True).decisions or ()
                both = [(n @ s.gains(y), n @ s.penalties(y)) for n, y in zip(x, decisions, strict=True)]
                parts[who, "gain"][row, column], parts[who, "penalty"][row, column] = np.mean(both, axis=0)
    high = [i for i, level in enumerate(levels) if level >= 1.0]
    beyond = [levels[i] for i in high]
    slope = {key: np.array([growth_exponent(beyond, v[high]).mean for v in parts[key]]) for key in parts}
    statements = [
        Statement(
            f"the penalty of {who.label} rises with contention",
            f"{spread(lead(parts[who, 'penalty'][:, -1], parts[who, 'penalty'][:, 0]), 0, True)} % from "
            f"{levels[0]:g} to {levels[-1]:g}",
            positive(parts[who, "penalty"][:, -1] - parts[who, "penalty"][:, 0]),
        )
        for who in players
    ] + [
        Statement(
            f"and more slowly than contention itself (beyond 1): {who.label}",
            f"contention^{spread(slope[who, 'penalty'], 2)}; its gain: "
            f"contention^{spread(slope[who, 'gain'], 2)}",
            positive(1.0 - slope[who, "penalty"]),
        )
        for who in players
    ]
    text = [f"{level:g}" for level in levels]
    return Finding(
        verdict(statements),
        "The penalty rises more slowly than contention, but not than the gain: beyond contention 1 like "
        f"its power {spread(slope[CONSTANT, 'penalty'], 2)} for OGASched with the constant step, "
        f"{spread(slope[TABLE_1, 'penalty'], 2)} with the step of Table 1, "
        f"{spread(slope[FAIRNESS, 'penalty'], 2)} for FAIRNESS; the gain like "
        f"{spread(slope[CONSTANT, 'gain'], 2)}, {spread(slope[TABLE_1, 'gain'], 2)} and "
        f"{spread(slope[FAIRNESS, 'gain'], 2)}.",
        {
            "instances": len(sampled),
            **{
                f"exponent of the {what}, {who.label}": round(float(slope[who, what].mean()), 3)
                for who, what in parts
            },
        },
        tables=(
            statement_table(statements),
            grid(
                "Gain and penalty per slot by contention level",
                "algorithm",
                text,
                {f"{who.label}, {what}": values for (who, what), values in parts.items()},
                digits=1,
            ),
        ),
        figures=(
            curves(
                "figure-6",
                "Computation gain and overhead penalty per slot by contention level.",
                levels,
                {
                    f"{what} per slot": {who.label: parts[who, what] for who in players}
                    for what in ("gain", "penalty")
                },
                "contention level",
                log="x",
            ),
        ),
    )


def _check_figure_7(context: Context) -> Finding:
    sampled = seeds(context, 3, 3, 20)
    slots = context.pick(80, 1000, 2000)
    families = ["linear", "log", "reciprocal", "poly"]
    found: dict[str, np.ndarray] = {}
    for column, family in track(context, enumerate(families)):
        for label, values in _sweep([Setup(slots=slots, utility=family)], sampled).items():
            found.setdefault(label, np.zeros((len(sampled), len(families))))[:, column] = values[:, 0]
    linear, rest = found[CONSTANT.label][:, 0], found[CONSTANT.label][:, 1:].max(axis=1)
    statements = [
        Statement(
            "linear utilities give far more than the others",
            f"{CONSTANT.label}: {spread(linear / rest, 2)} times the next",
            positive(linear / rest - 1.5),
        ),
        *(_least_lead(who, found, families, "the utilities are") for who in OGASCHED),
        *(
            Statement(
                f"all reciprocal: {who.label} is ahead of FAIRNESS",
                f"{spread(gap, 1, True)} per slot",
                positive(gap),
            )
            for who in OGASCHED
            for gap in [found[who.label][:, 2] - found[FAIRNESS.label][:, 2]]
        ),
    ]
    return Finding(
        verdict(statements),
        f"Linear utilities give {spread(linear / rest, 1)} times the reward of the next family. OGASched's "
        f"{statements[1].finds} with the constant step, "
        f"{statements[2].finds} with that of Table 1. With all-reciprocal utilities its lead over FAIRNESS "
        f"is {statements[3].finds} and {statements[4].finds}.",
        {
            "slots": slots,
            "instances": len(sampled),
            "linear against the next family (times)": round(float(np.mean(linear / rest)), 2),
        },
        tables=(
            statement_table(statements),
            grid(f"Reward per slot by utility family, {slots} slots", "algorithm", families, found, digits=1),
        ),
        figures=(
            bars(
                "figure-7",
                f"Accumulated reward after {slots} slots by utility family.",
                families,
                {label: slots * values for label, values in found.items() if label != OPTIMUM},
                "accumulated reward",
            ),
        ),
    )


# --- Fig. 4: step sizes ----------------------------------------------------------------------------------


def _check_figure_4(context: Context) -> Finding:
    sampled = seeds(context, 3, 3, 10)
    slots = context.pick(200, 1000, 8000)
    setup = Setup(slots=slots)
    initial = (0.1, 1.0, 5.0, 25.0, 100.0)
    decays = (0.9, 0.99, 0.995, 0.999, 0.9999, 1.0001)
    by_start = {f"eta0 {eta:g}": with_step(eta, 0.9999) for eta in initial}
    by_decay = {f"decay {decay:g}": with_step(25.0, decay) for decay in decays}
    everyone = dict.fromkeys([*by_start.values(), *by_decay.values()])
    mean = {who: averages(who, setup, sampled) for who in track(context, everyone)}
    constant = averages(CONSTANT, setup, sampled)
    inside = max(
        (with_step(25.0, d) for d in decays if 0.995 <= d <= 0.9999), key=lambda who: float(mean[who].mean())
    )
    outside = max((with_step(25.0, d) for d in decays if d < 0.995), key=lambda who: float(mean[who].mean()))
    worst = min(mean, key=lambda who: float(mean[who].mean()))
    best = max(mean, key=lambda who: float(mean[who].mean()))
    loss = -lead(mean[worst], mean[best])
    direction = lead(mean[with_step(25.0, 0.9999)], mean[with_step(25.0, 1.0001)])
    range_lead = lead(mean[inside], mean[outside])
    harsh = replace(setup, utility="reciprocal", slots=min(slots, 1000))
    negative = np.array(
        [100 * (rewards(with_step(100.0, 0.9999), harsh, seed) < 0).mean() for seed in sampled]
    )
    mild = np.array([100 * (rewards(worst, setup, seed) < 0).mean() for seed in sampled])
    statements = [
        Statement(
            "a wrong step costs much",
            f"{worst.label} earns {spread(loss)} % less than {best.label}",
            positive(loss - 5.0),
        ),
        Statement(
            "with a wrong step the reward is negative in many slots",
            f"all-reciprocal utilities, eta0 = 100: {spread(negative)} % of the slots; the default mix, "
            f"{worst.label}: {spread(mild)} %",
            positive(negative),
        ),
        Statement(
            "decay 0.9999 is better than 1.0001 (eta0 = 25)",
            f"{spread(direction, 2, True)} %",
            positive(direction),
        ),
        Statement(
            "decays from 0.995 to 0.9999 are best (eta0 = 25)",
            f"the best inside, {inside.label}, against {outside.label}: {spread(range_lead, 1, True)} %",
            positive(range_lead),
        ),
    ]
    return Finding(
        verdict(statements),
        f"A wrong step: {statements[0].finds}. Decay 0.9999 against 1.0001: {spread(direction, 2)} %. "
        f"The range [0.995, 0.9999] at eta0 = 25: {statements[3].finds}. The constant step of the theory, "
        f"without any tuning, earns {spread(lead(constant, mean[best]), 1, True)} % against the best of the "
        "grid.",
        {
            "slots": slots,
            "instances": len(sampled),
            "worst against best (%)": round(float(-loss.mean()), 2),
            "0.9999 against 1.0001 (%)": round(float(direction.mean()), 3),
            "best of the stated range against the best below it (%)": round(float(range_lead.mean()), 2),
            "constant step against the best of the grid (%)": round(
                float(lead(constant, mean[best]).mean()), 2
            ),
            "negative slots, all-reciprocal, eta0 = 100 (%)": round(float(negative.mean()), 2),
        },
        tables=(
            statement_table(statements),
            Table(
                f"Reward per slot of OGASched by step, {slots} slots, 95 % half widths over {len(sampled)} "
                "instances. OGASched decides before it sees the slot's arrivals; all start from the fair "
                "share",
                ("step", "reward per slot", "against the constant step (%)"),
                tuple(
                    (who.label, spread(values), spread(lead(values, constant), 1, True))
                    for who, values in (*mean.items(), (CONSTANT, constant))
                ),
            ),
        ),
        figures=_step_curves(setup, sampled, decays),
    )


def _step_curves(setup: Setup, sampled: range, decays: tuple[float, ...]) -> tuple[Figure, ...]:
    """Return accumulated rewards over time by the first step, and by its decay."""
    points = _points(setup.slots or 0)
    groups = (
        ("a", "eta0 (decay 0.9999)", [with_step(eta, 0.9999) for eta in (0.1, 1.0, 25.0, 100.0)]),
        ("b", "decay (eta0 = 25)", [with_step(25.0, d) for d in decays[:1] + decays[2:]]),
    )
    return tuple(
        curves(
            f"figure-4{letter}",
            f"Accumulated reward of OGASched by {what}.",
            points,
            {
                "accumulated reward": {
                    who.label: _running_means(who, setup, sampled, points) * points
                    for who in (*group, CONSTANT)
                }
            },
            "slot t",
        )
        for letter, what, group in groups
    )


CLAIMS: list[Claim] = [
    Claim(
        "allocation/figure-2",
        "Fig. 2, Sec. 4.1",
        "Over 8000 slots OGASched starts behind DRF and FAIRNESS, overtakes them and leads all four "
        "heuristics.",
        "Average and accumulated reward and ratios over time (beta in [0.4, 0.6], contention 11), both "
        "steps.",
        Verdict.FAILS,
        _check_figure_2,
    ),
    Claim(
        "allocation/figure-3",
        "Fig. 3, Sec. 4.2",
        "OGASched leads at every scale and contention; rewards grow with |R|, less with |L|, and fall with "
        "contention beyond 1.",
        "Sweeps over servers, job types and contention, with the stationary optimum beside them.",
        Verdict.FAILS,
        _check_figure_3,
    ),
    Claim(
        "allocation/figure-4",
        "Fig. 4, Sec. 4.1",
        "The step has a large effect; decays from 0.995 to 0.9999 are best, and 0.9999 is better than "
        "1.0001.",
        "Rewards over a grid of eta0 and decay, with the constant step beside them.",
        Verdict.FAILS,
        _check_figure_4,
    ),
    Claim(
        "allocation/figure-5",
        "Fig. 5, Sec. 4.3",
        "At the large scale (100 job types, 1024 servers) OGASched still leads.",
        "The large size (beta in [0.01, 0.015], contention 5); the full 10000 slots only in the full audit.",
        Verdict.FAILS,
        _check_figure_5,
    ),
    Claim(
        "allocation/figure-6",
        "Fig. 6, Sec. 4.2",
        "The overhead penalty per slot rises slowly with the contention level.",
        "Gain and penalty per slot apart, by contention level.",
        Verdict.HOLDS,
        _check_figure_6,
    ),
    Claim(
        "allocation/figure-7",
        "Fig. 7, Sec. 4.2",
        "Linear utilities give far more reward than the others, and OGASched leads with each of the four.",
        "Each utility family alone.",
        Verdict.FAILS,
        _check_figure_7,
    ),
]
