"""What Sec. 4 leaves open, as scenarios: units, requirements, machines, and the step of OGASched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ....online.allocation.printed import OgaschedPrinted
from ...claim import Context, Figure, Finding, Table
from ...engine.kept import play
from ...experiments import Contender, lead, seeds, track
from ...statistics import Samples, growth_exponent
from ...study import Lab, Printed, Said, Scenarios, Statement, Study, in_readings, judge, scenarios_of
from .. import experiments as runs
from ..experiments import BASELINES, DRF, FAIRNESS, FAIRNESS_LITERAL, LIMITED, OGASCHED, PUBLIC_CODE, Setup

LAB = Lab("allocation", f"{runs.WHO_SEES}. {runs.STEPS}.", runs.averages, None, "reward per slot")
WITH_OPTIMA = replace(LAB, optima=runs.optima)


def _ranges(setup: Setup) -> Setup:
    """Return what the paper's public code draws; its utilities are linear unless a figure varies them."""
    utility = "linear" if setup.utility == "mix" else setup.utility
    return replace(setup, units=(1.0, 1.0), machines="uniform", requests="uniform", utility=utility)


UNITS: Scenarios = {
    "8 cores, 64 GB": lambda setup: setup,
    "the same, whole requirements": partial(replace, integer=True),
    "4 cores, 32 GB": partial(replace, units=(4.0, 32.0)),
    "2 cores, 16 GB": partial(replace, units=(2.0, 16.0)),
    "1 core, 1 GB": partial(replace, units=(1.0, 1.0)),
    "ranges of the public code": _ranges,
}
"""Units of a CPU and a MEM device, and where capacities and requirements come from.

Cores and GB are how the public code counts.
"""

WHOLE: Scenarios = {
    "1 core, 1 GB, whole requirements": partial(replace, units=(1.0, 1.0), integer=True),
    "ranges of the public code, whole requirements": lambda setup: replace(_ranges(setup), integer=True),
}
"""Sec. 2.1 has requirements in whole numbers; crossed with fine units in one claim, as it hardly matters."""

PUBLIC = Setup("default", 10, 20, 20, 5.5, 0.8, 0.4, overhead=(0.01, 0.1), filled=False)
SETTING: Scenarios = {"setting of the public code": lambda _setup: _ranges(PUBLIC)}
"""All of it that the generator has, whatever the setup. Its density is that of 1 to 10 ports a server."""

NOT_THERE = (
    "The public code's setting has 10 slots. Three things of it are not here: its graph (every server has as "
    "many ports), its reciprocal utility, which a linear setting does not use, and its own faults, "
    "such as a step that is undone."
)

FINEST: Scenarios = {"1 % of a core, 1 GB": partial(replace, units=(0.01, 1.0))}
"""How the traces count that the paper names. Heuristics earn less than nothing then, unlike in the paper."""

OPEN = (
    "units of CPU and MEM (from 8 cores and 64 GB to 1 core and 1 GB)",
    "whether requirements are whole numbers",
    "machines and requests: classes of the traces, or the ranges of the paper's public code",
)
"""The choices behind :data:`UNITS`."""

CHOICES = (*OPEN, "the step: eta0 decay^t of Table 1, or D/(G sqrt T) around (26)")

FORM = "FAIRNESS: a share of all ports of a server, as printed, or of those that have jobs"
AGAINST_FAIRNESS = (*CHOICES, FORM)

QUOTA = "how much one job may take in all under BINPACKING and SPREADING: 0.25, 0.75 or 1 of |R_l| a"
AGAINST_EVERYONE = (*AGAINST_FAIRNESS, QUOTA)

REWARD = "Average reward per slot"

OURS = "OGASched"
"""What statements call it, with whichever step."""

Found = Mapping[str, np.ndarray]
Of = Callable[[Found, str], np.ndarray]
Measured = Callable[[Contender, Setup, int], Any]

STEPS = {who.label: who.label for who in (*OGASCHED, PUBLIC_CODE)}
"""The labels of OGASched with each step, by their names in readings; those who play count."""

FORMS = {
    "": {},
    ", FAIRNESS of all ports": {FAIRNESS.label: FAIRNESS_LITERAL.label},
    **{f", quota {part:g}": {k: v.label for k, v in swap.items()} for part, swap in LIMITED.items()},
}
"""Readings of the heuristics: whose labels stand for others. The steps are crossed with those who play."""


def usual(context: Context, slots: int = 2000, **changes: Any) -> Setup:
    """Return the defaults, or what differs from them; outside the full mode a part of the slots."""
    return Setup(slots=slots // context.pick(100, 50, 1), **changes)


def varied(context: Context, text: str, argument: str, values: Iterable[Any]) -> dict[str, Setup]:
    """Return the usual setup with each value of an argument, by a text with a place for the value."""
    return {text.format(value): usual(context, **{argument: value}) for value in values}


def fig_2(context: Context) -> Setup:
    """Return the setting of Fig. 2."""
    return Setup(slots=context.pick(100, 100, 8000), overhead=(0.4, 0.6), contention=11.0)


@dataclass(frozen=True)
class Place:
    """Where contenders play: on the instances of these seeds, in all scenarios."""

    context: Context
    seeds: Sequence[int]
    scenarios: Scenarios

    def play(self, who: Iterable[Contender], settings: Mapping[str, Setup], lab: Lab = LAB) -> Study:
        """Return average rewards in settings; where these have as many slots, they are one of the numbers."""
        slots = _slots(settings.values())
        return Study.run(self.context, lab, who, settings, self.seeds, self.scenarios, **slots)

    def measure(
        self, who: Sequence[Contender], setup: Setup, heads: Iterable[Any], of: Measured, unit: str = LAB.unit
    ) -> Study:
        """Return what a function finds of a contender, a setup and a seed: a number for each head."""
        found = {
            name: {one.label: np.array([of(one, turn(setup), seed) for seed in self.seeds]) for one in who}
            for name, turn in track(self.context, self.scenarios.items())
        }
        lab = replace(LAB, unit=unit)
        return Study(lab, found, [*map(str, heads)], self.seeds, _slots([setup]))

    def over_time(
        self, who: Sequence[Contender], setup: Setup, slots: Sequence[int], accumulated: bool = False
    ) -> Study:
        """Return average rewards until each of these slots, or their sums."""
        at = np.array(slots)

        def until(one: Contender, turned: Setup, seed: int) -> Any:
            return np.cumsum(runs.rewards(one, turned, seed))[at - 1] / (1 if accumulated else at)

        return self.measure(who, setup, slots, until, "accumulated reward" if accumulated else LAB.unit)


def _slots(setups: Iterable[Setup]) -> dict[str, Any]:
    slots = {setup.slots for setup in setups}
    return {"slots": slots.pop()} if len(slots) == 1 and None not in slots else {}


def on(context: Context, sampled: Sequence[int] = (), scenarios: Scenarios = UNITS) -> Place:
    """Return the place of most claims, or another; only the full mode has the units between the ends."""
    left_out = context.pick(("the same", "4 cores", "2 cores"), ("4 cores", "2 cores"), ())
    kept = {name: turn for name, turn in scenarios.items() if not name.startswith(left_out)}
    return Place(context, sampled or seeds(context, 3, 8, 20), kept)


def by_step(study: Study, of: Of, names: Mapping[str, str] = STEPS) -> dict[str, np.ndarray]:
    """Return a function of what was found and of a label, by scenario and name of the label in readings.

    Readings of OGASched are crossed with those of the heuristics, which stand in the place of others.
    """
    plays = {who for found in study.found.values() for who in found}
    forms = {form: swap for form, swap in FORMS.items() if names is STEPS and {*swap.values()} <= plays}
    return {
        f"{n}{form}; {name}": of({**found, **{who: found[label] for who, label in swap.items()}}, who)
        for form, swap in (forms or {"": {}}).items()
        for n, found in study.found.items()
        for name, who in names.items()
        if who in plays
    }


def ours(
    study: Study, says: str, of: Of, unit: str = "%", names: Mapping[str, str] = STEPS, **more: Any
) -> Statement:
    """Say that a function of what was found and of a label is positive, by default of OGASched's."""
    return Statement(says, by_step(study, of, names), unit, **more)


def ahead(found: Found, ours: str, theirs: str) -> np.ndarray:
    """Return leads in per cent of the larger of two mean rewards: either may be near zero or negative."""
    top = np.maximum(abs(found[ours].mean(axis=0)), abs(found[theirs].mean(axis=0)))
    return np.asarray(100.0 * (found[ours] - found[theirs]) / top)


def leads(study: Study, where: str = "") -> list[Statement]:
    """Say of each of the others that OGASched is ahead of it in every setting."""
    places = study.heads if len(study.heads) > 1 else ()
    others = [who.label for who in BASELINES]
    return [
        ours(study, f"OGASched is ahead of {who}{where}", partial(ahead, theirs=who), places=places)
        for who in others
    ]


def linear(study: Study) -> Statement:
    """Say that OGASched is ahead of DRF with linear utilities, a setting of the study."""
    at = next(i for i, head in enumerate(study.heads) if head.endswith("linear"))
    says = "with linear utilities OGASched is ahead of DRF"
    return ours(study, says, lambda f, who: ahead(f, who, DRF.label)[:, at])


def by_linear(said: Sequence[Said]) -> str:
    """Return the headline of statements of which :func:`linear` is the last."""
    judged = judge(said)
    _, behind, of = in_readings(judged[-1:])
    where = "in every reading" if behind == of else f"in {behind} of {of} readings"
    words = {one.word for one in judged if "PACKING" in one.says or "SPREADING" in one.says}
    quota = "; BINPACKING and SPREADING lead or trail by what a job may take" if words == {"depends"} else ""
    return f"With linear utilities OGASched is surely behind DRF {where}{quota}."


def hindsight(place: Place) -> str:
    """Return a remark: how far the best stationary allocation is from DRF with linear utilities."""
    setups = [turn(usual(place.context, utility="linear")) for turn in place.scenarios.values()]
    rewards = [(runs.optima(one, place.seeds), runs.averages(DRF, one, place.seeds)) for one in setups]
    most = max(float(lead(*both).mean()) for both in rewards)
    return f"With linear utilities the best stationary allocation is at most {most:+.1f} % ahead of DRF."


def as_printed(place: Place, low: Setup, high: Setup) -> str:
    """Return a remark: how the reward changes between setups with the projection as printed."""

    def earned(setup: Setup) -> np.ndarray:
        made = [runs.instance(setup, seed) for seed in place.seeds[:5]]
        return np.array(
            [play(OgaschedPrinted(start_at="fair"), one, enforce=False).rewards.mean() for one in made]
        )

    more = [float(lead(earned(turn(high)), earned(turn(low))).mean()) for turn in place.scenarios.values()]
    return (
        f"With the printed, infeasible projection rewards change by {min(more):+.0f} to {max(more):+.0f} %."
    )


def printed_leads(study: Study, says: str, numbers: Mapping[Contender, float]) -> list[Statement]:
    """Say that OGASched leads each contender by a printed number (%); the text has places for both."""

    def over(other: Contender, number: float) -> Statement:
        samples = by_step(study, lambda f, who: lead(f[who], f[other.label]).mean(axis=1))
        return Printed(says.format(other.label, number), samples, "%", number=number)

    return [over(*printed) for printed in numbers.items()]


def gained(found: Found, who: str, others: Sequence[Contender] = BASELINES, since: int = 0) -> np.ndarray:
    """Return by how much leads over others, in rewards per slot, grow from a column to the last."""
    leads = np.stack([found[who] - found[one.label] for one in others], axis=-1)
    return np.asarray(leads[:, -1] - leads[:, since])


def rises(study: Study, who: str, does: str, low: int = 0, high: int = -1) -> Statement:
    """Say that a contender, or OGASched with each step, earns more in one setting than in another, in %."""

    def gain(found: Found, own: str) -> np.ndarray:
        earned = found[own if who == OURS else who]
        return lead(earned[:, high], earned[:, low])

    return ours(study, f"{who} {does}", gain)


def below_proportion(sizes: Samples, grown: np.ndarray) -> np.ndarray:
    """Return one less the exponent with which something grows over the sizes, seed by seed."""
    return np.array([1.0 - growth_exponent(sizes, one).mean for one in grown])


def finding(
    study: Study,
    headline: str,
    said: Sequence[Said],
    *shown: Table | Figure,
    title: str = REWARD,
    numbers: Mapping[str, Any] | None = None,
    **more: Any,
) -> Finding:
    """Return the finding of a study, with the number of its readings, and who sees what as its note."""
    more |= {"numbers": {"readings": len(scenarios_of(said)), **(numbers or {})}, "note": f"{runs.WHO_SEES}."}
    return study.finding(headline, said, *shown, title=title, **more)
