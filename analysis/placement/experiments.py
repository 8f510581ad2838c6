"""Runs that the claims of Sec. 5 share: who plays on what, what comes out of it, and paired comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...models.placement.generate import COMMUNICATION, CONTENTION, RHO, generate
from ...models.placement.instance import PlacementInstance, taken_schedule
from ...models.placement.schedule import Schedule
from ...online.placement import POLICIES
from ...online.play import Run
from ...oracles.base import CHECKER, Optimum, WhyStopped
from ..claim import Context
from ..engine.kept import optimum_of, result_of, run_of
from ..experiments import Listed, policy_seed, track
from ..optima import method_of, prover, remembered, rest_on
from .measures import measures, measures_of

NOTE = (
    "Synthetic jobs fitted to public traces; how they slow each other down (kappa, eta) is an assumption, as "
    "the paper does not say"
)
"""Stands in every table and caption."""

JCT, FEE = "JCT (min)", "fee ($)"


@dataclass(frozen=True)
class Setup:
    """Arguments of the generator, without the seed; rho is the load on the Small cluster.

    Without an error of the estimates there are none; the jobs do not depend on it.
    """

    jobs: int
    cluster: str | None = "small"
    rho: float = RHO
    communication: float = COMMUNICATION
    contention: float = CONTENTION
    size: str = "large"
    estimate_error: float | None = None


class Contender(Listed):
    """A policy of this problem with its settings, known by its label."""

    table = POLICIES


FIFO_FF = Contender("FIFO-FirstFit", "fifo-firstfit")
FIFO_LB = Contender("FIFO-LoadBalance", "fifo-loadbalance")
DRF_FF = Contender("DRF-FirstFit", "drf-firstfit")
DRF_LB = Contender("DRF-LoadBalance", "drf-loadbalance")
TETRIS = Contender("Tetris", "tetris")
FIFO_C = Contender("FIFO-Consolidate", "fifo-consolidate")
SJF_C = Contender("SJF-Consolidate", "sjf-consolidate")  # it knows the durations
CLUSTERS = ("small", "medium", "large")
HEURISTICS = (FIFO_FF, FIFO_LB, DRF_FF, DRF_LB, TETRIS)  # those of Table 1, as the clusters are
OURS = (FIFO_C, SJF_C)


@lru_cache(maxsize=256)
def instance(setup: Setup, seed: int) -> PlacementInstance:
    """Return the instance of a setup and an instance seed."""
    return generate(seed=seed, **asdict(setup))


@dataclass(frozen=True)
class Outcome:
    """What a contender does on an instance: cost in seconds, measures and schedule."""

    cost: float
    measures: dict[str, float]
    schedule: Schedule


def _scheduled(sampled: PlacementInstance, run: Run[Any]) -> dict[str, Any]:
    schedule = followed(sampled, run.decisions or ())
    return {"cost": run.total, "measures": measures_of(sampled, schedule), "schedule": vars(schedule)}


@cache
def outcome(who: Contender, setup: Setup, seed: int) -> Outcome:
    """Return what a contender does on the instance of this seed; made or looked up once per process.

    Who sees no estimates plays the setup without them, as nothing else depends on them.
    """
    if setup.estimate_error is not None and "estimates" not in POLICIES[who.policy].traits.sees:
        return outcome(who, replace(setup, estimate_error=None), seed)
    found = run_of(who.make(), instance(setup, seed), policy_seed(seed), _scheduled, measures=measures)
    return Outcome(found["cost"], found["measures"], Schedule(**found["schedule"]))


def followed(sampled: PlacementInstance, decisions: Iterable[Any]) -> Schedule:
    """Return the schedule of the decisions of a run, which are feasible, without observing every epoch."""
    simulator = sampled.simulator()
    if simulator.follow(decisions) != (True, False):
        raise RuntimeError("the decisions of a run end before the instance does")
    return taken_schedule(simulator)


PATIENCE = 600.0  # seconds in which six jobs are always proved, and eight nearly always


def _solved(_instance: PlacementInstance, found: Optimum[Schedule]) -> dict[str, Any]:
    plain = ("value", "bound", "method", "seconds", "minimised", "scale")
    told = {"why_stopped": found.why_stopped.value, "decision": vars(found.decision)}
    return {"optimum": {name: getattr(found, name) for name in plain} | told, "prover": method_of(found)}


def _certified(sampled: PlacementInstance, found: Optimum[Schedule]) -> dict[str, Any]:
    from ...oracles.placement.optimum import ORACLES

    proof = {"prover": prover("offline", ORACLES["offline"], sampled, found), "checker": CHECKER}
    return _solved(sampled, found) | proof


@remembered
def optimum(setup: Setup, seed: int, certify: bool = False) -> Optimum[Schedule]:
    """Return the optimum over the decision epochs, as far as it is proved in :data:`PATIENCE`.

    It is the same whatever users estimate. Branch and bound alone proves the few jobs that this is asked of
    the soonest. On request all methods are taken and a certificate is verified, which may take long.
    """
    if setup.estimate_error is not None:
        return optimum(replace(setup, estimate_error=None), seed, certify)
    from ...oracles.placement.optimum import ORACLES

    name, sampled = "offline", instance(setup, seed)
    limits: dict[str, Any] = {"gap": 0.0, "time_limit": PATIENCE}
    limits |= {} if certify else {"method": "branch-and-bound"}
    kept = optimum_of(name, ORACLES[name], sampled, limits, _certified if certify else _solved)
    rest_on(name, sampled, kept["prover"])
    found = kept["optimum"]
    read = {"why_stopped": WhyStopped(found["why_stopped"]), "decision": Schedule(**found["decision"])}
    return Optimum(**found | read)


def _bounded(sampled: PlacementInstance) -> dict[str, Any]:
    from ...oracles.placement.bound import lower_bound

    return {"jct": lower_bound(sampled).jct}


@cache
def bound(setup: Setup, seed: int) -> float:
    """Return a certified lower bound of the mean JCT in minutes, after a number of rounds and not a time."""
    if setup.estimate_error is not None:
        return bound(replace(setup, estimate_error=None), seed)
    sampled = instance(setup, seed)
    return float(result_of(_bounded, sampled)["jct"]) / (60.0 * len(sampled.jobs))


def play_all(context: Context, cells: Iterable[tuple[Contender, Setup]], sampled: Sequence[int]) -> None:
    """Make all runs first, so that progress is reported."""
    for who, setup in track(context, cells):
        for seed in sampled:
            outcome(who, setup, seed)


def samples(who: Contender, setup: Setup, sampled: Iterable[int], measure: str) -> np.ndarray:
    """Return a measure on each instance seed, shape (seeds,)."""
    return np.array([outcome(who, setup, seed).measures[measure] for seed in sampled])


def excess(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return by how many per cent a is above b, instance by instance, so that every one counts the same."""
    return np.asarray(100.0 * (a - b) / b)
