"""Claims about Fig. 2, 3 and 5 to 7: each is drawn again, and what the text says of it is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...claim import Context, Figure, Finding, Register, Verdict
from ...experiments import lead, seeds, track
from ...plots import POSITIVE
from ...statistics import growth_exponent
from ...study import ORACLE, Said, Scenarios, Statement, Study
from .. import experiments as runs
from ..experiments import BASELINES, DRF, FAIRNESS, OGASCHED, Contender, Setup
from . import readings
from .readings import CHOICES, LAB, UNITS, ahead, by_step, leads, ours, panels, rises, sample, units, usual

claim = Register("allocation")


# --- Fig. 2 and 5: over time -----------------------------------------------------------------------------


def _over_time(
    context: Context, setup: Setup, sampled: range, who: Sequence[Contender], scenarios: Scenarios
) -> Study:
    """Return average rewards until each slot; the settings of the study are the slots."""
    slots = setup.slots or 0
    points = np.unique([*np.geomspace(1, slots, 40).round().astype(int), slots // 8, min(10, slots)])

    def until(one: Contender, turned: Setup) -> np.ndarray:
        return np.array([np.cumsum(runs.rewards(one, turned, s))[points - 1] / points for s in sampled])

    found = {
        name: {one.label: until(one, turn(setup)) for one in who}
        for name, turn in track(context, scenarios.items())
    }
    return Study(LAB, found, [str(p) for p in points], sampled, context.quick, {"slots": slots})


def _over_slots(name: str, study: Study) -> Figure:
    """Return averages until each slot, a panel per scenario."""
    points = [int(head) for head in study.heads]
    return panels(name, "Average reward until slot t.", "slot t", points, study)


def _at(study: Study, columns: Sequence[int]) -> Study:
    """Return the study with these settings only."""
    found = {n: {who: v[:, list(columns)] for who, v in f.items()} for n, f in study.found.items()}
    return replace(study, found=found, heads=[study.heads[c] for c in columns])


@claim(
    "figure-2",
    "Fig. 2, Sec. 4.1",
    Verdict.UNDETERMINED,
    turns=("1 core, 1 GB; OGASched (Table 1)", "8 cores, 64 GB; OGASched (Table 1)"),
    says="OGASched starts behind DRF and FAIRNESS, overtakes them, still gains later, and leads all four.",
    how="Average reward over time in the setting of Fig. 2, over readings.",
    choices=CHOICES,
)
def _figure_2(context: Context) -> Finding:
    setup = readings.fig_2(context)
    study = _over_time(context, setup, sample(context), runs.EVERYONE, units(context))
    early, late = study.heads.index("10"), study.heads.index(str((setup.slots or 0) // 8))
    ends = _at(study, (early, late, len(study.heads) - 1))
    said: list[Said] = [*leads(_at(study, (len(study.heads) - 1,)), where=" at the end")]
    for label in (DRF.label, FAIRNESS.label):
        says = f"{label} is ahead of OGASched at slot {study.heads[early]}"
        said.append(ours(ends, says, lambda f, who, label=label: ahead(f, label, who)[:, 0]))  # type: ignore[misc]
    gains = f"OGASched still gains on FAIRNESS after slot {study.heads[late]}"
    said.append(ours(ends, gains, lambda f, who: readings.gained(f, who, 1), "points"))
    return readings.finding(
        ends,
        "OGASched learns where utilities are curved; where it passes the heuristics units and step decide.",
        said,
        _over_slots("figure-2", study),
        title="Average reward until slot t",
    )


def _denser(name: str, density: float, setup: Setup) -> Setup:
    """Return the setup in these units with a density."""
    turned: Setup = UNITS[name](replace(setup, density=density))
    return turned


LARGE: Scenarios = {
    f"{name}, density {density:g}": partial(_denser, name, density)
    for name in ("8 cores, 64 GB", "2 cores, 16 GB", "1 core, 1 GB", "public code")
    for density in (2.5, 10.0)
}
"""Readings of the large setting: its density is not printed either."""


@claim(
    "figure-5",
    "Fig. 5, Sec. 4.3",
    Verdict.NOT_REPRODUCED,
    says="At the large scale (100 job types, 1024 servers) OGASched still leads.",
    how="The large size as printed; an eighth of the servers and 80 slots outside the full mode.",
    choices=(*CHOICES, "density of the graph: 2.5 or 10 ports a server"),
)
def _figure_5(context: Context) -> Finding:
    less = context.pick({"ports": 20, "servers": 30, "slots": 30}, {"servers": 128, "slots": 80}, {})
    setup, sampled = replace(Setup("large", slots=10000), **less), seeds(context, 3, 5, 5)
    large = units(context, LARGE)
    study = _over_time(context, setup, sampled, (*OGASCHED, *BASELINES), large)
    end = _at(study, (len(study.heads) - 1,))
    above = [
        ahead({**end.found[n], ORACLE: runs.optima(turn(setup), sampled)[:, None]}, ORACLE, FAIRNESS.label)
        for n, turn in large.items()
    ]
    most = round(max(float(values.mean()) for values in above), 1)
    return readings.finding(
        end,
        "OGASched trails DRF and FAIRNESS in every reading; even the stationary optimum trails FAIRNESS.",
        leads(end),
        _over_slots("figure-5", study),
        title=f"Average reward per slot after {setup.slots} slots",
        numbers={"largest lead of the stationary optimum over FAIRNESS (%)": most},
    )


# --- Fig. 3, 6, 7: sweeps --------------------------------------------------------------------------------


def _sweep(
    context: Context,
    of: str,
    levels: Sequence[float],
    who: Sequence[Contender] = (*OGASCHED, *BASELINES),
    sampled: range | None = None,
    optima: bool = False,
) -> Study:
    """Return who earns what at each level of one argument of the generator."""
    setups = {f"{of} {level:g}": usual(context, **{of: level}) for level in levels}
    lab = replace(LAB, optima=runs.optima) if optima else LAB
    return readings.played(context, who, setups, sampled or (), lab)


@claim(
    "figure-3",
    "Fig. 3, Sec. 4.2",
    Verdict.NOT_REPRODUCED,
    says="OGASched leads at every scale and contention; rewards grow with |R|, less with |L|, and fall with "
    "contention beyond 1.",
    how="Sweeps over servers, job types and contention over readings of the setting, with the stationary "
    "optimum beside contention; OGASched alone over contention on more instances.",
    choices=CHOICES,
)
def _figure_3(context: Context) -> Finding:
    servers = context.pick((32, 128, 256), (32, 128, 256), (32, 64, 128, 256, 512))
    ports = context.pick((10, 20), (10, 20), (5, 10, 20, 40))
    levels = context.pick((0.1, 1.0, 20.0), (0.1, 1.0, 20.0), (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0))
    by_servers = _sweep(context, "servers", servers)
    by_ports = _sweep(context, "ports", ports)
    by_level = _sweep(context, "contention", levels, optima=True)
    more = _sweep(context, "contention", (0.1, 1.0, levels[-1]), OGASCHED, seeds(context, 3, 20, 20))
    slots, one = usual(context).slots, levels.index(1.0)
    said: list[Said] = [
        *leads(by_servers, where=" whatever |R| is"),
        *leads(by_ports, where=" whatever |L| is"),
        *leads(by_level, where=" whatever the contention is"),
        *_of_scale(by_servers, servers, by_ports, ports),
        *_of_contention(by_level, more, one),
    ]
    best = [found[ORACLE][:, one:] for found in by_level.found.values()]
    never = all(bool((np.diff(values, axis=1) >= -1e-6 * values[:, 1:]).all()) for values in best)
    return readings.finding(
        by_level,
        "OGASched's reward rises with contention beyond 1 in every reading; who leads at which scale depends "
        "on units and step.",
        said,
        readings.earnings(by_servers, f"Average reward per slot over the servers, {slots} slots"),
        readings.earnings(by_ports, f"Average reward per slot over the job types, {slots} slots"),
        panels("figure-3a", "Reward per slot over the servers.", "servers", servers, by_servers),
        panels("figure-3b", "Reward per slot over the job types.", "job types", ports, by_ports),
        panels("figure-3c", "Reward per slot over the contention.", "contention", levels, by_level),
        title=f"Average reward per slot over contention, {slots} slots",
        assumes="When |L| grows, the density stays.",
        numbers={
            "instances, OGASched alone over contention": len(more.seeds),
            "stationary optimum never falls with contention beyond 1": never,
        },
        remark="A larger demand only loosens (3), so the stationary optimum cannot fall.",
    )


def _of_scale(
    by_servers: Study, servers: Sequence[int], by_ports: Study, ports: Sequence[int]
) -> list[Statement]:
    """Return what the text says of the scale besides the leads."""
    over = by_step(by_servers, lambda f, who: ahead(f, who, FAIRNESS.label))
    middle, ten = len(servers) // 2, ports.index(10)
    more = by_step(by_servers, lambda f, who: lead(f[who][:, -1], f[who][:, middle]))
    types = by_step(by_ports, lambda f, who: lead(f[who][:, -1], f[who][:, ten]))
    ends = f"earns more with {servers[-1]} servers than with {servers[0]}"
    return [
        rises(by_servers, f"OGASched {ends}"),
        *(rises(by_servers, f"{who.label} {ends}", who=who.label) for who in (DRF, FAIRNESS)),
        Statement(
            "the lead over FAIRNESS first grows, then shrinks with |R|",
            {name: v[:, [middle]] - v[:, [0, -1]] for name, v in over.items()},
            "points",
            places=(f"than at {servers[0]}", f"than at {servers[-1]}"),
        ),
        Statement(
            f"{ports[-1] // 10} times |R| brings OGASched more than {ports[-1] // 10} times |L|",
            {name: more[name] - types[name] for name in more},
            "points",
        ),
    ]


def _of_contention(by_level: Study, more: Study, one: int) -> list[Statement]:
    """Return what the text says of the contention level, 1 being at index ``one``.

    What it says of OGASched alone is tested on ``more`` instances, at 0.1, 1 and the highest level.
    """
    less = f"earns less at {by_level.heads[-1]} than at 1"
    return [
        rises(more, "OGASched earns more at contention 1 than at 0.1", 0, 1),
        rises(more, f"OGASched {less}", -1, 1),
        *(rises(by_level, f"{who.label} {less}", -1, one, who.label) for who in (DRF, FAIRNESS)),
        ours(
            by_level,
            f"the lead over FAIRNESS is smaller at {by_level.heads[-1]} than at 1",
            lambda f, who: -np.diff(ahead(f, who, FAIRNESS.label)[:, [one, -1]])[:, 0],
            "points",
        ),
    ]


@claim(
    "figure-6",
    "Fig. 6, Sec. 4.2",
    Verdict.HOLDS,
    says="The overhead penalty per slot rises slowly with the contention level.",
    how="Gain and penalty per slot apart, by contention level from 1; slowly being less than in proportion.",
    choices=CHOICES,
)
def _figure_6(context: Context) -> Finding:
    sampled, slots = seeds(context, 3, 16, 20), context.pick(10, 20, 2000)
    levels = context.pick((1.0, 20.0), (1.0, 20.0), (1.0, 2.0, 5.0, 10.0, 20.0))
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, turn in track(context, units(context).items()):
        found[name] = {}
        for one in OGASCHED:
            both = [
                readings.parts(one, turn(Setup(slots=slots, contention=level)), sampled) for level in levels
            ]
            gain, penalty = np.moveaxis(np.array(both), 0, -1)
            found[name] |= {f"{one.label}, gain": gain, f"{one.label}, penalty": penalty}
    heads = [f"contention {level:g}" for level in levels]
    study = Study(LAB, found, heads, sampled, context.quick, {"slots": slots})
    said = [
        ours(
            study,
            f"the penalty rises from contention {levels[0]:g} to {levels[-1]:g}",
            lambda f, who: lead(f[f"{who}, penalty"][:, -1], f[f"{who}, penalty"][:, 0]),
        ),
        ours(
            study,
            "and less than in proportion to it (1 less the exponent)",
            lambda f, who: 1.0 - _exponent(levels, f[f"{who}, penalty"]),
            "",
            digits=2,
        ),
    ]
    return readings.finding(
        study,
        "OGASched's overhead penalty rises with contention, far less than in proportion, in every reading.",
        said,
        panels("figure-6", "Gain and penalty by contention level.", "contention", levels, study, POSITIVE),
        title="Gain and penalty per slot by contention level",
    )


def _exponent(levels: Sequence[float], grown: np.ndarray) -> np.ndarray:
    """Return the exponent with which something grows, seed by seed."""
    return np.array([growth_exponent(levels, one).mean for one in grown])


FAMILIES = ("linear", "log", "reciprocal", "poly")


@claim(
    "figure-7",
    "Fig. 7, Sec. 4.2",
    Verdict.NOT_REPRODUCED,
    says="Linear utilities give far more reward than the others, and OGASched leads with each of the four.",
    how="Each utility family alone, over readings of the setting.",
    choices=CHOICES,
)
def _figure_7(context: Context) -> Finding:
    setups = {family: usual(context, utility=family) for family in FAMILIES}
    everyone = (*OGASCHED, *BASELINES)
    study = readings.played(context, everyone, setups)
    said = [
        ours(
            study,
            "OGASched earns more with linear utilities than with each of the others",
            lambda f, who: lead(f[who][:, [0]], f[who][:, 1:]),
            places=FAMILIES[1:],
        ),
        *leads(study, where=" whatever the utilities are"),
    ]
    reciprocal = "all reciprocal: OGASched is ahead of FAIRNESS"
    said.append(ours(study, reciprocal, lambda f, who: ahead(f, who, FAIRNESS.label)[:, 2]))
    ends = ("8 cores, 64 GB", "1 core, 1 GB")
    shown = {who.label: np.hstack([study.found[name][who.label] for name in ends]) for who in everyone}
    groups = [f"{family}, {name}" for name in ends for family in FAMILIES]
    return readings.finding(
        study,
        "Linear utilities give most, as printed, but with them OGASched trails all four in every reading.",
        said,
        runs.bars("figure-7", "Reward by utility family and units.", groups, shown, "reward per slot"),
        title="Average reward per slot by utility family",
    )


CLAIMS = claim.claims
