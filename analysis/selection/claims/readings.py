"""What the text of Sec. 4 leaves open, as data: a game is a setup and the rules by which it is played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....models.selection.setting import Setting
from ....online.base import Policy
from ....online.selection import Hswf, Lcf, Lwtf
from ...claim import Context
from ...experiments import Contender, seeds
from ...plots import POSITIVE
from ...study import Lab, Scenarios, Study
from .. import experiments as runs
from ..experiments import Setup

NOTE = "AOU: expected net utility per slot, on synthetic instances with the distributions of Table 3"
"""Ends every title and caption: what is measured, and where."""


class _ByMean:
    """Ranks ports by the mean over their channels in place of the sum; ties: the smaller port."""

    _setting: Setting

    def rank(self) -> np.ndarray:
        """Return the sums of the baseline, each over the number of channels of the port, or 1."""
        sums: np.ndarray = super().rank()  # type: ignore[misc]
        return sums / np.maximum(np.bincount(self._setting.port, minlength=len(sums)), 1)


class HswfMean(_ByMean, Hswf):
    """HSWF by means; ties: the smaller port."""


class LcfMean(_ByMean, Lcf):
    """LCF by means; ties: the smaller port."""


BASELINES: dict[str, dict[str, Callable[..., Policy]]] = {
    "HSWF": {"sum": Hswf, "mean": HswfMean},
    "LCF": {"sum": Lcf, "mean": LcfMean},
    "LWTF": {"sum": Lwtf, "mean": Lwtf},
}
"""The baselines of Sec. 4, by what a port is ranked by."""


@dataclass(frozen=True)
class Game:
    """A setup and the rules by which it is played.

    ``plan``: whether ESDP decides over "all ports" and drops the channels of those without jobs, as printed,
    or over the "ports with jobs" (the feasible set of P3); alpha counts only for the former. ``misfit``:
    whether baselines "stop" at the first channel that does not fit or "skip" it. ``rank``: whether a port is
    ranked by the "sum" or the "mean" over its channels. ``until``: how many slots count, by default all.
    """

    setup: Setup = field(default_factory=Setup)
    plan: str = "all ports"
    delta: str = "loglog"
    g: str = "full"
    alpha: float = 0.5
    misfit: str = "stop"
    rank: str = "sum"
    until: int | None = None

    def but(self, **changes: Any) -> Game:
        """Return the same game with other rules or another setup, by the names of their fields."""
        own = {f.name for f in fields(self)}
        setup = replace(self.setup, **{k: v for k, v in changes.items() if k not in own})
        return replace(self, setup=setup, **{k: v for k, v in changes.items() if k in own})


class Who(NamedTuple):
    """A contender of the paper, whatever its rules."""

    label: str


ESDP, OTHERS = "ESDP", tuple(BASELINES)


def player(label: str, game: Game) -> Contender:
    """Return the policy that plays a game under a label of the paper."""
    if label in BASELINES:
        make = partial(BASELINES[label][game.rank], misfit=game.misfit)
        return Contender(f"{label}, {game.rank}, {game.misfit}", make)
    kind = runs.PRINTED if game.plan == "all ports" else runs.ESDP
    return runs.variant(kind, game.delta, game.g, game.alpha)


def averages(who: Who, game: Game, sampled: Sequence[int]) -> np.ndarray:
    """Return the average AOU per slot on each instance seed."""
    made = player(who.label, game)
    return np.array([runs.rewards(made, game.setup, seed)[: game.until].mean() for seed in sampled])


def optima(game: Game, sampled: Sequence[int], relied: bool = False) -> np.ndarray:
    """Return the clairvoyant optimum per slot on each instance seed; ``relied``: a verdict rests on it."""
    per_slot = [runs.optimum(game.setup, seed, relied=relied) for seed in sampled]
    return np.array([values[: game.until].mean() for values in per_slot])


LAB = Lab("selection", NOTE, averages, optima, "expected net utility per slot", POSITIVE)
AGAINST_OPTIMA = replace(LAB, optima=partial(optima, relied=True))

CHANGES: dict[str, dict[str, Any]] = {
    "c = 12, all ports": {},
    "rho = 0.4": {"arrival_probability": 0.4},
    "ESDP plans for ports with jobs": {"plan": "ports with jobs"},
    "c = 2": {"capacity": 2},
    "c = 24": {"capacity": 24},
    "baselines skip what does not fit": {"misfit": "skip"},
    "ports ranked by means": {"rank": "mean"},
    "costs in full": {"cost_scale": 1.0},
    "rho = 0.4, ports with jobs": {"arrival_probability": 0.4, "plan": "ports with jobs"},
    "c = 2, ports with jobs, T = 1000": {"capacity": 2, "plan": "ports with jobs", "slots": 1000},
    "costs in full, ports with jobs": {"cost_scale": 1.0, "plan": "ports with jobs"},
    "c = 2, costs in full, ports with jobs": {"capacity": 2, "cost_scale": 1.0, "plan": "ports with jobs"},
}
"""What each reading changes of the first: all ports, c = 12, rho = 0.9, stop, sums, a tenth of the costs.

Table 3 prints capacities of 1 to 2 in an undefined unit, and costs in full.

The arrival probability of 0.9 comes on top of the arrivals that the trace has in a slot, whose length the
text does not give; our sample of that trace has a job in 16 % of the slots of a
port where a slot takes a minute, and in 55 % where it takes five.
"""

SINGLE = tuple(name for name, change in CHANGES.items() if len(change) <= 1)
"""The readings that change one thing."""

PLANS = (*SINGLE[:3], "rho = 0.4, ports with jobs")
"""What ESDP plans for, crossed with the arrivals: these two decide who is ahead."""

SIZES = ("c = 2", "c = 24", "costs in full")
"""What ESDP alone plays besides: capacities and costs as Table 3 prints them, and larger capacities."""

OPEN = (
    "whether ESDP plans for all ports or for those with jobs",
    "what the arrivals of the trace leave of rho (0.9 or 0.4)",
    "the unit of the capacities (c = 12, 2 or 24)",
    "whether baselines stop at, or skip, what does not fit",
    "whether ports are ranked by the sum or the mean over their channels",
    "the scale of the costs (a tenth, or in full)",
)
"""What the readings of :data:`CHANGES` are about; the first two are those of :data:`PLANS`."""


def readings(*names: str) -> Scenarios:
    """Return these readings of :data:`CHANGES`."""
    return {name: partial(Game.but, **CHANGES[name]) for name in names}


def sweep(
    context: Context,
    settings: Mapping[str, Mapping[str, Any]],
    slots: Sequence[int] = (30, 60, 2000),
    instances: tuple[int, int, int] = (3, 8, 10),
    names: Sequence[str] = PLANS,
    who: Sequence[str] = (ESDP, *OTHERS),
    lab: Lab | None = None,
) -> Study:
    """Return who earns what in each setting under each reading; three values are for the three modes.

    The quick mode has the first two readings alone.
    """
    base = Game(Setup(slots=context.pick(*slots)))
    games = {head: base.but(**more) for head, more in settings.items()}
    sampled, scenarios = seeds(context, *instances), readings(*names[: 2 if context.quick else None])
    players = [Who(w) for w in who]
    return Study.run(context, lab or LAB, players, games, sampled, scenarios, slots=base.setup.slots)
