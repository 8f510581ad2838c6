"""Claims about Fig. 2, 3 and 5 to 7: each is drawn again, and what the text says of it is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...claim import Context, Figure, Finding, Register, Verdict
from ...experiments import lead, seeds, track
from ...statistics import growth_exponent
from ...study import ORACLE, Said, Scenarios, Statement, Study
from ..experiments import (
    BASELINES,
    DRF,
    EVERYONE,
    FAIRNESS,
    OGASCHED,
    Contender,
    Setup,
    bars,
    optima,
    rewards,
)
from .readings import (
    CHOICES,
    LAB,
    UNITS,
    Found,
    ahead,
    by_step,
    earnings,
    finding,
    leads,
    panels,
    parts,
    rises,
)
from .tables import FIG_2, STATED

claim = Register("allocation")

FIG_5 = Setup("large", slots=10000)


# --- Fig. 2 and 5: over time -----------------------------------------------------------------------------


def _over_time(
    context: Context, setup: Setup, sampled: range, who: Sequence[Contender], scenarios: Scenarios = UNITS
) -> Study:
    """Return average rewards until each slot; the settings of the study are the slots."""
    slots = setup.slots or 0
    points = np.unique([*np.geomspace(1, slots, 40).round().astype(int), slots // 8, min(10, slots)])
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, turn in track(context, scenarios.items()):
        found[name] = {
            one.label: np.array(
                [np.cumsum(rewards(one, turn(setup), s))[points - 1] / points for s in sampled]
            )
            for one in who
        }
    return Study(LAB, found, [str(p) for p in points], sampled)


def _time_curves(name: str, study: Study) -> tuple[Figure, ...]:
    """Return averages, sums and ratios over time, a panel per scenario."""
    points = np.array([int(head) for head in study.heads])
    shown: dict[str, tuple[str, str, Callable[[Found], dict[str, np.ndarray]]]] = {
        "a": ("Average reward until slot t.", "reward per slot", dict),
        "b": ("Accumulated reward.", "reward", lambda f: {who: v * points for who, v in f.items()}),
        "c": ("Reward of OGASched over that of each heuristic; above 1 it is ahead.", "ratio", _ratios),
    }
    return tuple(
        panels(
            f"{name}{letter}",
            caption,
            "slot t",
            points,
            {f"{unit}\n{scenario}": of(f) for scenario, f in study.found.items()},
            "x",
        )
        for letter, (caption, unit, of) in shown.items()
    )


def _ratios(found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return rewards of OGASched over those of the heuristics."""
    return {
        f"{who.label.removeprefix('OGASched ')} / {other.label}": found[who.label] / found[other.label]
        for who in OGASCHED
        for other in (DRF, FAIRNESS)
    }


def _at(study: Study, columns: Sequence[int]) -> Study:
    """Return the study with these settings only."""
    found = {n: {who: v[:, list(columns)] for who, v in f.items()} for n, f in study.found.items()}
    return Study(study.lab, found, [study.heads[c] for c in columns], study.seeds)


@claim(
    "figure-2",
    "Fig. 2, Sec. 4.1",
    Verdict.UNDETERMINED,
    says="OGASched starts behind DRF and FAIRNESS, overtakes them, still gains later, and leads all four "
    "heuristics.",
    how="Average and accumulated reward and ratios over time in the setting of Fig. 2, over readings.",
    choices=CHOICES,
)
def _figure_2(context: Context) -> Finding:
    setup = replace(FIG_2, slots=context.pick(80, 200, 8000))
    study = _over_time(context, setup, seeds(context, 4, 8, 20), EVERYONE)
    early, late = study.heads.index("10"), study.heads.index(str((setup.slots or 0) // 8))
    ends = _at(study, (early, late, len(study.heads) - 1))
    said: list[Said] = [*leads(_at(study, (len(study.heads) - 1,)), where=" at the end")]
    said += [
        Statement(
            f"{other.label} is ahead of OGASched at slot {study.heads[early]}",
            by_step(ends, lambda f, who, label=other.label: ahead(f, label, who)[:, 0]),  # type: ignore[misc]
            "%",
        )
        for other in (DRF, FAIRNESS)
    ]
    said.append(
        Statement(
            f"OGASched still gains on FAIRNESS after slot {study.heads[late]}",
            by_step(ends, lambda f, who: 100.0 * np.diff((f[who] / f[FAIRNESS.label])[:, 1:])[:, 0]),
            "points",
        )
    )
    return finding(
        ends,
        "OGASched learns where utilities are curved; whether that takes it past the heuristics depends on "
        "units and step.",
        said,
        title="Average reward until slot t",
        figures=_time_curves("figure-2", study),
        numbers={"slots": setup.slots, **{f"printed lead over {w.label} (%)": n for w, n in STATED.items()}},
        small=context.mode == "quick",
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
    how="The large size with the printed overhead and contention, over readings; with an eighth of the "
    "servers and 80 slots outside the full mode.",
    choices=(*CHOICES, "density of the graph: 2.5 or 10 ports a server"),
)
def _figure_5(context: Context) -> Finding:
    less = context.pick({"ports": 20, "servers": 30, "slots": 30}, {"servers": 128, "slots": 80}, {})
    setup, sampled = replace(FIG_5, **less), seeds(context, 3, 5, 5)
    study = _over_time(context, setup, sampled, (*OGASCHED, *BASELINES), LARGE)
    end = _at(study, (len(study.heads) - 1,))
    above = {
        name: float(ahead({**f, ORACLE: best[:, None]}, ORACLE, FAIRNESS.label).mean())
        for (name, f), best in zip(
            end.found.items(), (optima(turn(setup), sampled) for turn in LARGE.values()), strict=True
        )
    }
    return finding(
        end,
        "At the large scale OGASched trails DRF and FAIRNESS in every reading; even the best stationary "
        "decision trails FAIRNESS.",
        leads(end),
        title=f"Average reward per slot after {setup.slots} slots",
        figures=_time_curves("figure-5", study),
        numbers={
            "slots": setup.slots,
            "largest lead of the stationary optimum over FAIRNESS (%)": round(max(above.values()), 1),
        },
        small=context.mode == "quick",
    )


# --- Fig. 3, 6, 7: sweeps --------------------------------------------------------------------------------


def _sweep(context: Context, of: str, levels: Sequence[Any], sampled: range, **fixed: Any) -> Study:
    """Return who earns what at each level of one argument of the generator."""
    setups = {f"{of} {level:g}": Setup(**{of: level, **fixed}) for level in levels}
    return Study.run(context, LAB, (*OGASCHED, *BASELINES), setups, sampled, UNITS)


@claim(
    "figure-3",
    "Fig. 3, Sec. 4.2",
    Verdict.UNDETERMINED,
    says="OGASched leads at every scale and contention; rewards grow with |R|, less with |L|, and fall with "
    "contention beyond 1.",
    how="Sweeps over servers, job types and contention over readings of the setting, with the stationary "
    "optimum beside them.",
    choices=(*CHOICES, "what stays when |L| grows (here the density)"),
)
def _figure_3(context: Context) -> Finding:
    sampled, slots = seeds(context, 4, 12, 12), context.pick(16, 25, 2000)
    servers = context.pick((16, 32, 64), (32, 128, 512), (32, 64, 128, 256, 512))
    ports = context.pick((5, 10, 20), (5, 10, 40), (5, 10, 20, 40))
    levels = context.pick((0.1, 1.0, 20.0), (0.1, 1.0, 5.0, 20.0), (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0))
    fewer = context.pick({"servers": 32}, {}, {})
    by_servers = _sweep(context, "servers", servers, sampled, slots=slots)
    by_ports = _sweep(context, "ports", ports, sampled, slots=slots, **fewer)
    by_level = _sweep(context, "contention", levels, sampled, slots=slots, **fewer)
    one = levels.index(1.0)
    said: list[Said] = [
        *leads(by_servers, where=" whatever |R| is"),
        *leads(by_ports, where=" whatever |L| is"),
        *leads(by_level, where=" whatever the contention is"),
        *_of_scale(by_servers, servers, by_ports, ports),
        *_of_contention(by_level, one),
    ]
    best = [found[ORACLE][:, one:] for found in by_level.found.values()]
    never = all(bool((np.diff(values, axis=1) >= -1e-6 * values[:, 1:]).all()) for values in best)
    sweeps = {
        "a": ("servers", servers, by_servers),
        "b": ("ports", ports, by_ports),
        "c": ("contention", levels, by_level),
    }
    return finding(
        by_level,
        "Rewards do not fall with contention beyond 1 where samples decide; who leads at which scale "
        "depends on units and step.",
        said,
        title=f"Average reward per slot over contention, {slots} slots",
        tables=(
            earnings(by_servers, f"Average reward per slot over the servers, {slots} slots"),
            earnings(by_ports, f"Average reward per slot over the job types, {slots} slots"),
        ),
        numbers={"slots": slots, "stationary optimum never falls with contention beyond 1": never},
        figures=tuple(
            panels(
                f"figure-3{letter}",
                f"Reward per slot over the {of}.",
                of,
                sizes,
                {f"reward per slot\n{name}": f for name, f in study.found.items()},
                log="x",
            )
            for letter, (of, sizes, study) in sweeps.items()
        ),
        remark="A larger demand only loosens (3), so every decision stays feasible and the stationary "
        "optimum cannot fall.",
        small=context.mode == "quick",
    )


def _change(found: Found, _who: str, label: str, low: int, high: int) -> np.ndarray:
    """Return by how many per cent a contender earns more in one setting than in another."""
    return lead(found[label][:, high], found[label][:, low])


def _of_scale(
    by_servers: Study, servers: Sequence[int], by_ports: Study, ports: Sequence[int]
) -> list[Statement]:
    """Return what the text says of the scale besides the leads."""
    over = by_step(by_servers, lambda f, who: ahead(f, who, FAIRNESS.label))
    middle, ten = len(servers) // 2, ports.index(10)
    more = by_step(by_servers, lambda f, who: lead(f[who][:, -1], f[who][:, middle]))
    types = by_step(by_ports, lambda f, who: lead(f[who][:, -1], f[who][:, ten]))
    return [
        rises(by_servers, f"OGASched earns more with {servers[-1]} servers than with {servers[0]}"),
        *(
            Statement(
                f"{other.label} earns more with {servers[-1]} servers than with {servers[0]}",
                by_step(by_servers, partial(_change, label=other.label, low=0, high=-1)),
                "%",
            )
            for other in (DRF, FAIRNESS)
        ),
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


def _of_contention(by_level: Study, one: int) -> list[Statement]:
    """Return what the text says of the contention level, 1 being at index ``one``."""
    last = by_level.heads[-1]
    shrinks = by_step(by_level, lambda f, who: -np.diff(ahead(f, who, FAIRNESS.label)[:, [one, -1]])[:, 0])
    return [
        rises(by_level, "OGASched earns more at contention 1 than at 0.1", 0, one),
        rises(by_level, f"OGASched earns less at {last} than at 1", one, -1, sign=-1.0),
        *(
            Statement(
                f"{other.label} earns less at {last} than at 1",
                by_step(by_level, partial(_change, label=other.label, low=-1, high=one)),
                "%",
            )
            for other in (DRF, FAIRNESS)
        ),
        Statement(f"the lead over FAIRNESS is smaller at {last} than at 1", shrinks, "points"),
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
    sampled, slots = seeds(context, 4, 6, 10), context.pick(10, 40, 2000)
    levels = context.pick((1.0, 5.0, 20.0), (1.0, 5.0, 20.0), (1.0, 2.0, 5.0, 10.0, 20.0))
    who = (*OGASCHED, FAIRNESS)
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, turn in track(context, UNITS.items()):
        found[name] = {}
        for one in who:
            both = [parts(one, turn(Setup(slots=slots, contention=level)), sampled) for level in levels]
            gain, penalty = np.moveaxis(np.array(both), 0, -1)
            found[name] |= {f"{one.label}, gain": gain, f"{one.label}, penalty": penalty}
    study = Study(LAB, found, [f"contention {level:g}" for level in levels], sampled)
    said = [
        Statement(
            f"the penalty rises from contention {levels[0]:g} to {levels[-1]:g}",
            by_step(study, lambda f, w: lead(f[f"{w}, penalty"][:, -1], f[f"{w}, penalty"][:, 0])),
            "%",
        ),
        Statement(
            "and less than in proportion to it (1 less the exponent)",
            by_step(study, lambda f, w: 1.0 - _exponent(levels, f[f"{w}, penalty"])),
            "",
            2,
        ),
    ]
    return finding(
        study,
        "OGASched's overhead penalty rises with contention, far less than in proportion, in every reading.",
        said,
        title="Gain and penalty per slot by contention level",
        figures=(
            panels(
                "figure-6",
                "Computation gain and overhead penalty per slot by contention level.",
                "contention level",
                levels,
                {f"per slot\n{name}": values for name, values in found.items()},
                log="x",
            ),
        ),
        small=context.mode == "quick",
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
    sampled, slots = seeds(context, 4, 8, 20), context.pick(20, 80, 2000)
    setups = {family: Setup(slots=slots, utility=family) for family in FAMILIES}
    study = Study.run(context, LAB, EVERYONE, setups, sampled, UNITS)
    said = [
        Statement(
            "OGASched earns more with linear utilities than with each of the others",
            by_step(study, lambda f, who: lead(f[who][:, [0]], f[who][:, 1:])),
            "%",
            places=FAMILIES[1:],
        ),
        *leads(study, where=" whatever the utilities are"),
        Statement(
            "all reciprocal: OGASched is ahead of FAIRNESS",
            by_step(study, lambda f, who: ahead(f, who, FAIRNESS.label)[:, 2]),
            "%",
        ),
    ]
    return finding(
        study,
        "Linear utilities give most reward, as printed, but with them OGASched trails every heuristic in "
        "every reading.",
        said,
        title=f"Average reward per slot by utility family, {slots} slots",
        figures=(
            bars(
                "figure-7",
                f"Accumulated reward after {slots} slots by utility family, in the coarsest and finest "
                "units.",
                [f"{family}, {name}" for name in ("8 cores, 64 GB", "1 core, 1 GB") for family in FAMILIES],
                {
                    who.label: slots
                    * np.concatenate(
                        [study.found[n][who.label] for n in ("8 cores, 64 GB", "1 core, 1 GB")], axis=1
                    )
                    for who in EVERYONE
                },
                "accumulated reward",
            ),
        ),
        small=context.mode == "quick",
    )


CLAIMS = claim.claims
