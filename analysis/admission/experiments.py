"""Runs that the claims of Sec. V share: who plays on what, what comes out of it, and pictures of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ...models.admission.generate import generate, testbed
from ...models.admission.instance import AdmissionInstance
from ...models.admission.schedule import Schedule
from ...online.admission import POLICIES
from ...online.base import Policy
from ...online.play import Run
from .. import experiments
from ..claim import Figure
from ..engine.kept import result_of, run_of
from ..experiments import policy_seed
from ..plots import new_figure, plot_gantt, to_svg
from .measures import Shares, Timeliness, counts, shares, timeliness, total_utility, utilisation

NOTE = (
    "Synthetic instances with the ranges of Sec. V.A; jobs are drawn again until they can finish by T in the "
    'empty cluster (fit "feasible") or within 15 slots besides (fit "short")'
)
"""Stands in every table and caption."""

NOTE_TESTBED = (
    "Synthetic instances like the testbed of Sec. V.B; jobs are drawn again until they can finish by T in "
    "the empty cluster"
)
"""Stands there instead where the instances are those of the testbed."""

FITS = ("feasible", "short")

curves = partial(experiments.curves, problem="admission", note=NOTE)
bars = partial(experiments.bars, problem="admission", note=NOTE)


@dataclass(frozen=True)
class Setup:
    """Arguments of the generator, without the seed."""

    jobs: int
    horizon: int
    worker_machines: int
    server_machines: int
    fit: str = "feasible"
    priority: tuple[float, float] = (1.0, 100.0)
    classes: tuple[float, float, float] = (0.1, 0.55, 0.35)
    swapped: bool = False


TESTBED = "testbed"
"""Stands for a setup of the testbed."""

Place = Setup | str


@dataclass(frozen=True)
class Contender:
    """A policy with its settings, known by its label."""

    label: str
    policy: str
    settings: tuple[tuple[str, Any], ...] = ()

    def make(self) -> Policy:
        """Return the policy."""
        made: Policy = POLICIES[self.policy](**dict(self.settings))
        return made


OASIS = Contender("OASiS", "oasis")
FIFO = Contender("FIFO", "fifo")
DRF = Contender("DRF", "drf")
RRH = Contender("RRH", "rrh")
DORM = Contender("Dorm", "dorm", (("gap", 0.2), ("nodes", 1)))
"""With a wider gap and fewer nodes than by default, and still by far the slowest."""

QUICK_BASELINES = (FIFO, DRF, RRH)
"""Those that can play hundreds of jobs; the integer programs of Dorm take minutes then."""

BASELINES = (*QUICK_BASELINES, DORM)
PAPER = (OASIS, *BASELINES)


def scaled(percent: float, floor: bool) -> Contender:
    """Return OASiS with U / L at this percentage of its actual value, with or without the floor on L."""
    return Contender(
        f"OASiS, {percent:g} %, floor {floor}", "oasis", (("scale", percent / 100.0), ("floor", floor))
    )


@lru_cache(maxsize=32)
def instance(place: Place, seed: int) -> AdmissionInstance:
    """Return the instance of a place and an instance seed."""
    return testbed(seed) if isinstance(place, str) else generate("large", seed, **asdict(place))


@dataclass(frozen=True)
class Outcome:
    """What a contender does on an instance: (1), the jobs served, and the schedule itself."""

    total: float
    shares: Shares
    timeliness: dict[str, Timeliness]
    schedule: Schedule


def _scheduled(_instance: AdmissionInstance, run: Run[Any]) -> dict[str, Any]:
    schedule = Schedule.of_deployments(run.decisions)
    return {"total": run.total, "workers": schedule.workers, "servers": schedule.servers}


@cache
def outcome(who: Contender, place: Place, seed: int) -> Outcome:
    """Return what a contender does on the instance of this seed; made or looked up once per process."""
    sampled = instance(place, seed)
    found = run_of(who.make(), sampled, policy_seed(seed), _scheduled)
    schedule = Schedule(found["workers"], found["servers"])
    return Outcome(found["total"], shares(sampled, schedule), timeliness(sampled, schedule), schedule)


BOUND_ROUNDS, SEARCH_ROUNDS = 300, 3000
"""Rounds of the volume method and of the search, few enough for seconds; no clock decides what is found."""


def _bounded(sampled: AdmissionInstance, rounds: int) -> dict[str, Any]:
    from ...oracles.admission.bound import volume
    from ...oracles.base import Budget

    return {"bound": volume(sampled, Budget(0.0, None), rounds=rounds).bound}


@cache
def bound(place: Place, seed: int) -> float:
    """Return a certified bound of what any schedule earns, by the volume method."""
    return float(result_of(_bounded, instance(place, seed), BOUND_ROUNDS)["bound"])


class Enclosed(NamedTuple):
    """A good schedule, what it earns, and a certified bound of what any schedule earns."""

    schedule: Schedule
    value: float
    bound: float


def _searched(sampled: AdmissionInstance, seed: int, rounds: int, iterations: int) -> dict[str, Any]:
    from ...oracles.admission.bound import volume
    from ...oracles.admission.search import search
    from ...oracles.base import Budget

    prices = volume(sampled, Budget(0.0, None), rounds=rounds)
    schedule = search(sampled, prices, Budget(0.0, None), seed, iterations=iterations)
    return {"workers": schedule.workers, "servers": schedule.servers, "bound": prices.bound}


@cache
def searched(place: Place, seed: int) -> Enclosed:
    """Return a good schedule, checked by the instance, and a certified bound; no clock cuts either off."""
    sampled = instance(place, seed)
    found = result_of(_searched, sampled, policy_seed(seed), 2 * BOUND_ROUNDS, SEARCH_ROUNDS)
    schedule = Schedule(found["workers"], found["servers"])
    if broken := sampled.violations(schedule):
        raise RuntimeError(f"the search returned an infeasible schedule: {broken[0]}")
    return Enclosed(schedule, total_utility(sampled, schedule), float(found["bound"]))


def totals(who: Contender, places: Sequence[Place], sampled: Sequence[int]) -> np.ndarray:
    """Return the total utility on each instance seed and place, shape (seeds, places)."""
    return np.array([[outcome(who, place, seed).total for place in places] for seed in sampled])


# --- Pictures of one schedule ----------------------------------------------------------------------------

MOST_ROWS = 30
"""More jobs than these are not drawn in one picture: their names would overlap."""


def gantt(
    name: str, caption: str, sampled: AdmissionInstance, panels: Mapping[str, tuple[Schedule, str]]
) -> Figure:
    """Return a figure of when jobs run and with how many, one panel per schedule and side.

    ``panels[what]`` holds a schedule and its side, "workers" or "servers"; ``what`` is counted. Rows are the
    first :data:`MOST_ROWS` jobs by arrival that run in one of the panels, and the caption says so.
    """
    tables = {what: getattr(counts(sampled, schedule), side) for what, (schedule, side) in panels.items()}
    busy = np.flatnonzero(np.any([table.any(axis=1) for table in tables.values()], axis=0))
    rows = busy[:MOST_ROWS].tolist()
    kinds = [sampled.jobs[i].kind for i in rows]
    figure, axes = new_figure(len(panels), height=1.1 + 0.17 * max(5, len(rows)))
    for ax, (what, table) in zip(np.atleast_1d(np.array(axes, dtype=object)), tables.items(), strict=True):
        plot_gantt(ax, [str(i) for i in rows], table[rows], kinds, what)
    shown = f"all {len(rows)}" if len(rows) == len(busy) else f"the first {len(rows)} of {len(busy)}"
    text = f"{caption} Rows: {shown} jobs that run ({len(sampled.jobs)} arrive). {NOTE}."
    return Figure(f"admission-{name}", text, to_svg(figure))


def utilisation_figure(
    name: str, caption: str, place: Place, players: Sequence[Contender], sampled: Sequence[int]
) -> Figure:
    """Return how full the machines are over time: the mean over the resources, with bands over seeds."""
    panels: dict[str, dict[str, np.ndarray]] = {}
    for side, name_of in (("workers", "workers"), ("servers", "parameter servers")):
        panels[f"use (%), {name_of}"] = {
            who.label: np.array([_used(place, seed, who, side) for seed in sampled]) for who in players
        }
    slots = np.arange(1, instance(place, sampled[0]).setting.horizon + 1)
    return curves(name, caption, slots, panels, "slot")


def _used(place: Place, seed: int, who: Contender, side: str) -> np.ndarray:
    sampled = instance(place, seed)
    used = getattr(utilisation(sampled, outcome(who, place, seed).schedule), side)
    result: np.ndarray = 100.0 * np.nanmean(used[:, ~np.isnan(used[0])], axis=1)
    return result
