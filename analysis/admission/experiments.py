"""Runs that the claims of Sec. V share: who plays where, what comes out of it, and where the optimum lies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, NamedTuple

from ...models.admission.generate import generate, testbed
from ...models.admission.instance import AdmissionInstance
from ...models.admission.schedule import Schedule
from ...online.admission import POLICIES
from ...online.play import Run
from ...oracles.admission.bound import volume
from ...oracles.admission.search import search
from ...oracles.base import Budget
from ..engine.kept import result_of, run_of
from ..experiments import Listed, policy_seed

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


@dataclass(frozen=True)
class Setup:
    """Arguments of the generator, without the seed."""

    jobs: int
    horizon: int
    worker_machines: int
    server_machines: int
    fit: str = "feasible"
    longest: int = 15
    priority: tuple[float, float] = (1.0, 100.0)
    classes: tuple[float, float, float] = (0.1, 0.55, 0.35)
    swapped: bool = False


@dataclass(frozen=True)
class Enlarged:
    """The testbed of Sec. V.B with several times as many machines and jobs."""

    times: int = 1


Place = Setup | Enlarged


class Contender(Listed):
    """A policy of this problem with its settings, known by its label."""

    table = POLICIES


OASIS = Contender("OASiS", "oasis")
RRH = Contender("RRH", "rrh")
DORM = Contender("Dorm", "dorm", (("gap", 0.2), ("nodes", 1)))
"""With a wider gap and fewer nodes than by default, and still by far the slowest."""

QUICK_BASELINES = (Contender("FIFO", "fifo"), Contender("DRF", "drf"), RRH)
"""Those that can play hundreds of jobs; the integer programs of Dorm take minutes then."""


@cache
def instance(place: Place, seed: int) -> AdmissionInstance:
    """Return the instance of a place and an instance seed."""
    if isinstance(place, Enlarged):
        made = testbed(seed, place.times)
    else:
        made = generate("large", seed, **asdict(place))
    _ = made.never  # the jobs that runs copy take along what this computes of them
    return made


class Outcome(NamedTuple):
    """What a contender does on an instance: (1), and the schedule itself."""

    total: float
    schedule: Schedule


def _scheduled(_instance: AdmissionInstance, run: Run[Any]) -> dict[str, Any]:
    schedule = Schedule.of_deployments(run.decisions)
    return {"total": run.total, "workers": schedule.workers, "servers": schedule.servers}


@cache
def outcome(who: Contender, place: Place, seed: int) -> Outcome:
    """Return what a contender does on the instance of this seed; made or looked up once per process."""
    found = run_of(who.make(), instance(place, seed), policy_seed(seed), _scheduled)
    return Outcome(found["total"], Schedule(found["workers"], found["servers"]))


ROUNDS, FEW_ROUNDS = (50, 100), (20, 30)
"""Rounds of the volume method and of the search, few enough for seconds; no clock decides what is found."""


def _searched(sampled: AdmissionInstance, seed: int, rounds: int, iterations: int) -> dict[str, Any]:
    prices = volume(sampled, Budget(0.0, None), rounds=rounds)
    schedule = search(sampled, prices, Budget(0.0, None), seed, iterations=iterations)
    if broken := sampled.violations(schedule):
        raise RuntimeError(f"the search returned an infeasible schedule: {broken[0]}")
    return {"value": float(sampled.rewards(schedule).sum()), "bound": prices.bound}


@cache
def searched(place: Place, seed: int, rounds: tuple[int, int] = ROUNDS) -> tuple[float, float]:
    """Return what a schedule found by search earns, and a certified bound of what any schedule earns."""
    found = result_of(_searched, instance(place, seed), policy_seed(seed), *rounds)
    return float(found["value"]), float(found["bound"])
