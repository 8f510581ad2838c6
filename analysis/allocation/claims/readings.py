"""What Sec. 4 leaves open, as scenarios: units, requirements, machines, and the step of OGASched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ....online.play import play
from ...claim import Figure, Finding, Table
from ...experiments import curves, lead, spread
from ...study import Lab, Said, Scenarios, Statement, Study, counted, judge, settled, statements
from ..experiments import BASELINES, OGASCHED, STEPS, WHO_SEES, Contender, Setup, averages, instance, optima

LAB = Lab("allocation", f"{WHO_SEES}. {STEPS}.", averages, optima, "reward per slot")


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

Found = Mapping[str, np.ndarray]


def readings(study: Study) -> list[str]:
    """Return the names of all pairs of a scenario and a step of OGASched."""
    return [f"{name}; {who.label}" for name in study.found for who in OGASCHED]


def by_step(study: Study, of: Callable[[Found, str], np.ndarray]) -> dict[str, np.ndarray]:
    """Return a function of what was found and of OGASched's label, in each scenario with each step."""
    return {f"{n}; {who.label}": of(found, who.label) for n, found in study.found.items() for who in OGASCHED}


def leads(study: Study, others: Iterable[Contender] = BASELINES, where: str = "") -> list[Statement]:
    """Say of each of the others that OGASched is ahead of it in every setting."""
    heads = study.heads if len(study.heads) > 1 else ()
    return [
        Statement(
            f"OGASched is ahead of {other.label}{where or ' everywhere' * bool(heads)}",
            by_step(study, lambda f, who, label=other.label: ahead(f, who, label)),  # type: ignore[misc]
            "%",
            places=heads,
        )
        for other in others
    ]


def ahead(found: Found, ours: str, theirs: str) -> np.ndarray:
    """Return leads in per cent of the larger of two mean rewards: either may be near zero or negative."""
    top = np.maximum(abs(found[ours].mean(axis=0)), abs(found[theirs].mean(axis=0)))
    result: np.ndarray = 100.0 * (found[ours] - found[theirs]) / top
    return result


def rises(study: Study, says: str, low: int = 0, high: int = -1, *, sign: float = 1.0) -> Statement:
    """Say that OGASched earns more in one setting than in another, or less with a negative sign, in %."""
    samples = by_step(study, lambda f, who: sign * lead(f[who][:, high], f[who][:, low]))
    return Statement(says, samples, "%")


def finding(
    study: Study,
    headline: str,
    said: Sequence[Said],
    *,
    title: str,
    tables: Sequence[Table] = (),
    small: bool = False,
    **more: Any,
) -> Finding:
    """Return the finding over all scenarios and both steps; its last table is who earns what.

    Parameters
    ----------
    study
        Whose scenarios the samples of the statements cross with the steps.
    headline
        What was found.
    said
        What the text says.
    title
        Of the table of who earns what.
    tables
        Others.
    small
        Whether samples are too small to count on a decision.
    more
        Other fields of the finding.
    """
    names = readings(study)
    judged = judge(said, names)
    numbers = {
        "instances": len(study.seeds),
        "readings": len(names),
        **counted(judged),
        **more.pop("numbers", {}),
    }
    shown = (statements(judged, names, f"{WHO_SEES}."), *tables, earnings(study, title))
    return Finding(settled(judged), headline, numbers=numbers, tables=shown, small=small, **more)


def earnings(study: Study, title: str, digits: int = 0) -> Table:
    """Return mean and half width of who earns what in every scenario, as one table."""
    rows = [
        (name, label, *(spread(column, digits) for column in values.T))
        for name, found in study.found.items()
        for label, values in found.items()
    ]
    text = f"{title}. {len(study.seeds)} instances, mean ± 95 % half width. {study.lab.note}"
    return Table(text, ("units", "algorithm", *study.heads), tuple(rows))


def panels(
    name: str, caption: str, axis: str, x: Any, found: Mapping[str, Mapping[str, np.ndarray]], log: str = ""
) -> Figure:
    """Return a figure with a panel per scenario; ``found[scenario][curve]`` has shape (seeds, points)."""
    return curves(name, caption, x, found, axis, log, problem="allocation", note=WHO_SEES)


def parts(who: Contender, setup: Setup, sampled: Sequence[int]) -> np.ndarray:
    """Return computation gain and overhead penalty per slot, shape (2, seeds)."""
    found = []
    for seed in sampled:
        drawn = instance(setup, seed)
        decisions = play(who.make(), drawn, keep_decisions=True).decisions or ()
        s = drawn.setting
        both = [(x @ s.gains(y), x @ s.penalties(y)) for x, y in zip(drawn.arrivals, decisions, strict=True)]
        found.append(np.mean(both, axis=0))
    return np.array(found).T
