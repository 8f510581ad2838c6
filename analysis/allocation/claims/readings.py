"""What Sec. 4 leaves open, as scenarios: units, requirements, machines, and the step of OGASched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ....online.play import play
from ...claim import Context, Figure, Finding, Table, table
from ...experiments import lead, seeds, spread, track
from ...plots import ANY, Range
from ...study import Lab, Said, Scenarios, Statement, Study, conclude
from .. import experiments as runs
from ..experiments import BASELINES, FAIRNESS, OGASCHED, WHO_SEES, Contender, Setup, curves

LAB = Lab("allocation", f"{WHO_SEES}. {runs.STEPS}.", runs.averages, None, "reward per slot")


def _public_code(setup: Setup) -> Setup:
    """Return the setting of the paper's public code; its utilities are linear unless a figure varies them."""
    drawn = replace(setup, units=(1.0, 1.0), machines="uniform", requests="uniform")
    return replace(drawn, utility="linear") if setup.utility == "mix" else drawn


UNITS: Scenarios = {
    "8 cores, 64 GB": lambda setup: setup,
    "the same, whole requirements": partial(replace, integer=True),
    "4 cores, 32 GB": partial(replace, units=(4.0, 32.0)),
    "2 cores, 16 GB": partial(replace, units=(2.0, 16.0)),
    "1 core, 1 GB": partial(replace, units=(1.0, 1.0)),
    "public code": _public_code,
}
"""Units of a CPU and a MEM device, and where capacities and requirements come from.

Cores and GB are how the public code counts.
"""

FINEST: Scenarios = {"1 % of a core, 1 GB": partial(replace, units=(0.01, 1.0))}
"""How the traces count that the paper names. Heuristics earn less than nothing then, unlike in the paper."""

OPEN = (
    "units of CPU and MEM (from 8 cores and 64 GB to 1 core and 1 GB)",
    "whether requirements are whole numbers",
    "machines and requests: classes of the traces, or the ranges of the paper's public code",
)
"""The choices behind :data:`UNITS`."""

STEP = "the step: eta0 decay^t of Table 1, or D/(G sqrt T) around (26)"
CHOICES = (*OPEN, STEP)

HORIZONS = (1000, 2000, 5000, 10000)
"""The horizons of Table 2; 2000 is the default. Outside the full mode all are shorter by one factor."""

Found = Mapping[str, np.ndarray]


def sample(context: Context) -> range:
    """Return the instance seeds that most claims share, and with them their runs."""
    return seeds(context, 3, 10, 20)


def units(context: Context, more: Scenarios = UNITS) -> Scenarios:
    """Return the units, or these scenarios; for a smoke test without those between the ends."""
    left_out = ("the same", "4 cores", "2 cores") if context.quick else ()
    return {name: turn for name, turn in more.items() if not name.startswith(left_out)}


def horizons(context: Context) -> list[int]:
    """Return the horizons of Table 2 as they are played."""
    return [slots // context.pick(100, 50, 1) for slots in HORIZONS]


def usual(context: Context, **changes: Any) -> Setup:
    """Return the defaults, or what differs from them, with the slots that most claims share."""
    return Setup(slots=horizons(context)[1], **changes)


def fig_2(context: Context) -> Setup:
    """Return the setting of Fig. 2."""
    return Setup(slots=context.pick(100, 200, 8000), overhead=(0.4, 0.6), contention=11.0)


def played(
    context: Context,
    who: Sequence[Contender],
    settings: Mapping[str, Setup],
    sampled: Sequence[int] = (),
    lab: Lab = LAB,
) -> Study:
    """Return the study of settings with the usual slots, by default on the usual instances."""
    slots = usual(context).slots
    return Study.run(context, lab, who, settings, sampled or sample(context), units(context), slots=slots)


def over_horizons(context: Context, who: Sequence[Contender]) -> Study:
    """Return average rewards over the horizons of Table 2."""
    lengths, sampled = horizons(context), sample(context)
    found = {
        name: {one.label: runs.by_horizon(one, turn(Setup()), sampled, lengths) for one in who}
        for name, turn in track(context, units(context).items())
    }
    return Study(LAB, found, [f"T = {n}" for n in lengths], sampled, context.quick)


def readings(study: Study) -> list[str]:
    """Return the names of all pairs of a scenario and a step of OGASched."""
    return [f"{name}; {who.label}" for name in study.found for who in OGASCHED]


def by_step(study: Study, of: Callable[[Found, str], np.ndarray]) -> dict[str, np.ndarray]:
    """Return a function of what was found and of OGASched's label, in each scenario with each step."""
    return {f"{n}; {who.label}": of(found, who.label) for n, found in study.found.items() for who in OGASCHED}


def ours(
    study: Study, says: str, of: Callable[[Found, str], np.ndarray], unit: str = "%", **more: Any
) -> Statement:
    """Say that a function of what was found and of OGASched's label is positive, with each step."""
    return Statement(says, by_step(study, of), unit, **more)


def leads(study: Study, where: str = "") -> list[Statement]:
    """Say of each of the others that OGASched is ahead of it in every setting."""
    heads = study.heads if len(study.heads) > 1 else ()
    where = where or " everywhere" * bool(heads)

    def over(label: str) -> Statement:
        says = f"OGASched is ahead of {label}{where}"
        return ours(study, says, lambda f, who: ahead(f, who, label), places=heads)

    return [over(other.label) for other in BASELINES]


def ahead(found: Found, ours: str, theirs: str) -> np.ndarray:
    """Return leads in per cent of the larger of two mean rewards: either may be near zero or negative."""
    top = np.maximum(abs(found[ours].mean(axis=0)), abs(found[theirs].mean(axis=0)))
    result: np.ndarray = 100.0 * (found[ours] - found[theirs]) / top
    return result


def gained(found: Found, who: str, since: int = 0) -> np.ndarray:
    """Return how many points the ratio to FAIRNESS gains from a column to the last."""
    ratio: np.ndarray = 100.0 * found[who] / found[FAIRNESS.label]
    return ratio[:, -1] - ratio[:, since]


def rises(study: Study, says: str, low: int = 0, high: int = -1, who: str = "") -> Statement:
    """Say that a contender, by default OGASched, earns more in one setting than in another, in %."""
    return ours(study, says, lambda f, own: lead(f[who or own][:, high], f[who or own][:, low]))


def finding(
    study: Study, headline: str, said: Sequence[Said], *shown: Table | Figure, title: str, **more: Any
) -> Finding:
    """Return the finding over all scenarios and both steps; its last table, of this title, is who earns what.

    Besides, it shows tables and figures, and takes what :func:`conclude` takes.
    """
    names = readings(study)
    sizes = {"instances": len(study.seeds), "readings": len(names)}
    numbers = {**sizes, **study.numbers, **more.pop("numbers", {})}
    shown, more["small"] = (*shown, earnings(study, title)), study.small
    return conclude(headline, said, *shown, scenarios=names, note=f"{WHO_SEES}.", numbers=numbers, **more)


def earnings(study: Study, title: str) -> Table:
    """Return mean and half width of who earns what in every scenario, a row per setting if there are many."""
    text = f"{title}. {len(study.seeds)} instances, mean ± 95 % half width. {study.lab.note}"
    cells = {
        (name, label, head): spread(column, 0)
        for name, found in study.found.items()
        for label, values in found.items()
        for head, column in zip(study.heads, values.T, strict=True)
    }
    labels = list(dict.fromkeys(label for _, label, _ in cells))
    if len(study.heads) > 4:
        rows = ((n, h, *(cells[n, w, h] for w in labels)) for n in study.found for h in study.heads)
        return table(text, " | ".join(("units", "setting", *labels)), rows)
    rows = ((n, w, *(cells[n, w, h] for h in study.heads)) for n in study.found for w in labels)
    return table(text, " | ".join(("units", "algorithm", *study.heads)), rows)


def panels(name: str, caption: str, axis: str, x: Any, study: Study, possible: Range = ANY) -> Figure:
    """Return a figure with a panel per scenario, of curves over the settings on a log scale."""
    shown = {f"{study.lab.unit}\n{scenario}": found for scenario, found in study.found.items()}
    return curves(name, caption, x, shown, axis, "x", possible=possible)


def parts(who: Contender, setup: Setup, sampled: Sequence[int]) -> np.ndarray:
    """Return computation gain and overhead penalty per slot, shape (2, seeds)."""
    found = []
    for seed in sampled:
        drawn = runs.instance(setup, seed)
        decisions = play(who.make(), drawn, keep_decisions=True).decisions or ()
        s = drawn.setting
        both = [(x @ s.gains(y), x @ s.penalties(y)) for x, y in zip(drawn.arrivals, decisions, strict=True)]
        found.append(np.mean(both, axis=0))
    return np.array(found).T
