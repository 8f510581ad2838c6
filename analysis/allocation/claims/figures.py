"""Claims about Fig. 2, 3 and 5 to 7: each is drawn again, and what the text says of it is checked."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ...claim import Context, Finding, Register, Verdict
from ...experiments import Contender, lead, seeds
from ...plots import POSITIVE
from ...study import ORACLE, Scenarios, Statement, Study
from .. import experiments as runs
from ..experiments import BASELINES, DRF, EVERYONE, FAIRNESS, FAIRNESS_LITERAL, OGASCHED, Setup
from ..regret import checkpoints
from . import readings
from .readings import CHOICES, OURS, ahead, below_proportion, by_step, leads, on, ours, rises, usual, varied

claim = Register("allocation")

LEVEL = "contention {:g}"

over_fairness = partial(ahead, theirs=FAIRNESS.label)


@claim(
    "figure-2",
    "Fig. 2, Sec. 4.1",
    turns=("1 core, 1 GB; OGASched (Table 1)", "8 cores, 64 GB; OGASched (Table 1)"),
    choices=readings.AGAINST_FAIRNESS,
)
def _figure_2(context: Context) -> Finding:
    """OGASched starts behind DRF and FAIRNESS, overtakes them, still gains later, and leads all four.

    Average reward over time in the setting of Fig. 2, over readings.
    """
    here, setup = on(context), readings.fig_2(context)
    slots = setup.slots or 0
    points = checkpoints(slots, 40).tolist()
    whole, ends, end = (
        here.over_time(EVERYONE, setup, at) for at in (points, [10, slots // 8, slots], [slots])
    )

    def behind(other: Contender) -> Statement:
        says = f"{other.label} is ahead of OGASched at slot 10"
        return ours(ends, says, lambda f, who: -ahead(f, who, other.label)[:, 0])

    says, others = f"its leads still grow after slot {slots // 8}", [one.label for one in BASELINES]
    last = ours(ends, says, partial(readings.gained, since=1), readings.LAB.unit, places=others)
    return readings.finding(
        ends,
        "OGASched learns where utilities are curved; where it passes the heuristics units and step decide.",
        [*leads(end, " at the end"), behind(DRF), behind(FAIRNESS), last],
        whole.figure("figure-2", "Average reward until slot t.", "slot t", points, "x"),
        title="Average reward until slot t",
    )


LARGE: Scenarios = {
    f"{name}, density {d:g}": lambda setup, turn=turn, d=d: turn(replace(setup, density=d))  # type: ignore[misc]
    for name, turn in readings.UNITS.items()
    for d in (2.5, 10.0)
    if name != "4 cores, 32 GB"
}
"""Readings of the large setting: its density is not printed either."""


@claim(
    "figure-5",
    "Fig. 5, Sec. 4.3",
    Verdict.NOT_REPRODUCED,
    choices=(*readings.AGAINST_FAIRNESS, "density of the graph: 2.5 or 10 ports a server"),
)
def _figure_5(context: Context) -> Finding:
    """At the large scale (100 job types, 1024 servers) OGASched still leads.

    The large size as printed; an eighth of the servers and 40 slots outside the full mode.
    """
    less = context.pick({"ports": 20, "servers": 30, "slots": 30}, {"servers": 128, "slots": 40}, {})
    setup = replace(Setup("large", slots=10000), **less)
    here, slots = on(context, seeds(context, 3, 7, 6), LARGE), setup.slots or 0
    points = checkpoints(slots, 40).tolist()
    whole, end = (here.over_time(EVERYONE, setup, at) for at in (points, [slots]))
    some = slice(context.pick(3, 3, 6))  # of the optima, which take long
    best = {n: runs.optima(turn(setup), here.seeds[some])[:, None] for n, turn in here.scenarios.items()}
    forms = [FAIRNESS.label, FAIRNESS_LITERAL.label]
    found = [{**{who: end.found[n][who][some] for who in forms}, ORACLE: v} for n, v in best.items()]
    most = {who: round(max(float(ahead(f, ORACLE, who).mean()) for f in found), 1) for who in forms}
    return readings.finding(
        end,
        "OGASched trails DRF in every reading, and FAIRNESS where that divides a server among the ports with "
        "jobs.",
        leads(end),
        whole.figure("figure-5", "Average reward until slot t.", "slot t", points, "x"),
        numbers={f"largest lead of the stationary optimum over {who} (%)": v for who, v in most.items()},
    )


@claim("figure-3", "Fig. 3, Sec. 4.2", Verdict.NOT_REPRODUCED, choices=readings.AGAINST_FAIRNESS)
def _figure_3(context: Context) -> Finding:
    """OGASched leads at every scale and contention; rewards grow with |R|, less with |L|, and fall with
    contention beyond 1.

    Sweeps over servers, job types and contention over readings of the setting, with the stationary optimum
    beside contention; OGASched alone over contention on more instances.
    """
    servers = context.pick((32, 128, 256), (32, 128, 256), (32, 64, 128, 256, 512))
    ports = context.pick((10, 20), (10, 20), (5, 10, 20, 40))
    levels = context.pick((0.1, 1.0, 20.0), (0.1, 1.0, 20.0), (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0))
    here, there = (on(context, seeds(context, 3, default, 20)) for default in (7, 15))
    by_servers = here.play(EVERYONE, varied(context, "servers {}", "servers", servers))
    by_ports = here.play(EVERYONE, varied(context, "ports {}", "ports", ports))
    by_level = here.play(EVERYONE, varied(context, LEVEL, "contention", levels), readings.WITH_OPTIMA)
    more = there.play(
        (*OGASCHED, FAIRNESS, FAIRNESS_LITERAL), varied(context, LEVEL, "contention", (0.1, 1.0, levels[-1]))
    )
    middle, ten, one = len(servers) // 2, ports.index(10), levels.index(1.0)
    growth, times = f"earns more with {servers[-1]} servers than with {servers[0]}", ports[-1] // 10
    contended = f"at contention {levels[-1]:g} than at 1"
    over = by_step(by_servers, over_fairness)
    more_servers = rises(by_servers, OURS, "", middle).samples
    more_ports = rises(by_ports, OURS, "", ten).samples
    best = [found[ORACLE][:, one:] for found in by_level.found.values()]
    never = all(bool((np.diff(values, axis=1) >= -1e-6 * values[:, 1:]).all()) for values in best)
    return readings.finding(
        by_level,
        "OGASched's reward rises with contention beyond 1 in every reading; who leads at which scale depends "
        "on units and step.",
        [
            *leads(by_servers, " whatever |R| is"),
            *leads(by_ports, " whatever |L| is"),
            *leads(by_level, " whatever the contention is"),
            *(rises(by_servers, who, growth) for who in (OURS, DRF.label, FAIRNESS.label)),
            Statement(
                "the lead over FAIRNESS first grows, then shrinks with |R|",
                {name: v[:, [middle]] - v[:, [0, -1]] for name, v in over.items()},
                "points",
                places=(f"than at {servers[0]}", f"than at {servers[-1]}"),
            ),
            Statement(
                f"{times} times |R| brings OGASched more than {times} times |L|",
                {name: more_servers[name] - more_ports[name] for name in more_servers},
                "points",
            ),
            rises(more, OURS, "earns more at contention 1 than at 0.1", 0, 1),
            rises(more, OURS, f"earns less {contended}", -1, 1),
            *(rises(by_level, who.label, f"earns less {contended}", -1, one) for who in (DRF, FAIRNESS)),
            ours(
                by_level,
                f"the lead over FAIRNESS is smaller {contended}",
                lambda f, who: -np.diff(over_fairness(f, who)[:, [one, -1]])[:, 0],
                "points",
            ),
        ],
        by_servers.figure("figure-3a", "Reward per slot over the servers.", "servers", servers, "x"),
        by_ports.figure("figure-3b", "Reward per slot over the job types.", "job types", ports, "x"),
        by_level.figure("figure-3c", "Reward per slot over the contention.", "contention", levels, "x"),
        title="Average reward per slot over contention",
        assumes="When |L| grows, the density stays.",
        numbers={
            "instances, OGASched alone over contention": len(more.seeds),
            "stationary optimum never falls with contention beyond 1": never,
        },
        remark="A larger demand only loosens (3), so the stationary optimum cannot fall. "
        + readings.as_printed(here, *(usual(context, contention=level) for level in (1.0, levels[-1]))),
    )


@claim("figure-6", "Fig. 6, Sec. 4.2", Verdict.HOLDS, choices=CHOICES)
def _figure_6(context: Context) -> Finding:
    """The overhead penalty per slot rises slowly with the contention level.

    Gain and penalty per slot apart, by contention level from 1; slowly being less than in proportion.
    """
    here, setup = on(context, seeds(context, 3, 10, 20)), Setup(slots=context.pick(10, 20, 2000))
    levels = context.pick((1.0, 20.0), (1.0, 20.0), (1.0, 2.0, 5.0, 10.0, 20.0))

    def by_level(part: int, unit: str) -> Study:
        def of(who: Contender, turned: Setup, seed: int) -> list[float]:
            return [runs.parts(who, replace(turned, contention=level), seed)[part] for level in levels]

        return here.measure(OGASCHED, setup, map(LEVEL.format, levels), of, unit)

    gain, penalty = by_level(0, "gain per slot"), by_level(1, "penalty per slot")
    rising = f"the penalty rises from contention {levels[0]:g} to {levels[-1]:g}"
    slowly = "and less than in proportion to it (1 less the exponent)"
    return readings.finding(
        penalty,
        "OGASched's overhead penalty rises with contention, far less than in proportion, in every reading.",
        [
            ours(penalty, rising, lambda f, who: lead(f[who][:, -1], f[who][:, 0])),
            ours(penalty, slowly, lambda f, who: below_proportion(levels, f[who]), "", digits=2),
        ],
        gain.grid("Gain per slot by contention level"),
        penalty.figure("figure-6", "Penalty by contention level.", "contention", levels, "x", POSITIVE),
        title="Penalty per slot by contention level",
    )


FAMILIES = ("linear", "log", "reciprocal", "poly")


@claim("figure-7", "Fig. 7, Sec. 4.2", Verdict.NOT_REPRODUCED, choices=readings.AGAINST_EVERYONE)
def _figure_7(context: Context) -> Finding:
    """Linear utilities give far more reward than the others, and OGASched leads with each of the four.

    Each utility family alone, over readings of the setting.
    """
    here = on(context, seeds(context, 3, 7, 20))
    study = here.play(runs.ALL_FORMS, varied(context, "{}", "utility", FAMILIES))
    says = "OGASched earns more with linear utilities than with each of the others"
    last = "all reciprocal: OGASched is ahead of FAIRNESS"
    coarse, fine = (  # the units decide the scale
        replace(study, found={units: {who.label: study.found[units][who.label] for who in EVERYONE}})
        for units in ("8 cores, 64 GB", "1 core, 1 GB")
    )
    said = [
        ours(study, says, lambda f, who: lead(f[who][:, [0]], f[who][:, 1:]), places=FAMILIES[1:]),
        *leads(study, " whatever the utilities are"),
        ours(study, last, lambda f, who: over_fairness(f, who)[:, FAMILIES.index("reciprocal")]),
        readings.linear(study),
    ]
    return readings.finding(
        study,
        readings.by_linear(said),
        said,
        coarse.figure("figure-7a", "Reward by utility family.", ""),
        fine.figure("figure-7b", "Reward by utility family.", ""),
        title="Average reward per slot by utility family",
        remark=readings.hindsight(here),
    )
