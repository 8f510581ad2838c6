"""Time and memory of the admission problem: the schedule of a job, and the offline optimum by each method."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np

import clairvoyant
from clairvoyant._warmup import exercise
from clairvoyant.models.admission import search as ruin_and_recreate
from clairvoyant.models.admission.jobs import Job
from clairvoyant.models.admission.schedule import Deployment, Offer, cheapest_schedule, printed_schedule
from clairvoyant.models.admission.setting import Observation, Setting
from clairvoyant.online.admission import ElasticFlow, Oasis, RollingHorizon
from clairvoyant.oracles.admission.bound import Priced, columns, volume
from clairvoyant.oracles.admission.search import search
from clairvoyant.oracles.base import Budget

from .measure import Row, certificate, interval, peak_memory, proofs, solved, timed

METHODS = ("auto", "highs", "cp-sat", "lagrangian")
JOBS = 200
OFFERS = 20
MILPS = 3
SOLVE_SECONDS = 60.0
COLUMN_SECONDS = 60.0
SEARCH_ROUNDS = 3000
MILP_SECONDS = 20.0
"""The solver of (27) gives up after this; its time is then a lower bound."""


class Watched(Oasis):
    """OASiS with a clock around every job, which keeps what some of them were offered."""

    def __init__(self, keep: int) -> None:
        super().__init__()
        self._every = keep

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Start, with the clock at zero."""
        self.seconds: list[float] = []
        self.offers: list[tuple[Job, Offer]] = []
        super().start(setting, rng)

    def decide(self, observation: Observation) -> Deployment:
        """Decide by the clock; what jobs are offered is taken down before."""
        for job in observation.jobs:
            if job.index % self._every == 0 and setting_allows(self, job):
                self.offers.append((job, self.offer(job)))
        start = time.perf_counter()
        deployment = super().decide(observation)
        spent = time.perf_counter() - start
        self.seconds += [spent / len(observation.jobs) for _ in observation.jobs]
        return deployment


def setting_allows(policy: Oasis, job: Job) -> bool:
    """Return whether a job can finish at all."""
    return policy.usage.setting.why_never(job) is None


def milp(job: Job, offer: Offer) -> tuple[float, bool]:
    """Return the best payoff (27) by HiGHS, and whether that was proved in :data:`MILP_SECONDS`.

    Binary u[s] marks the deadline; y and z are the workers and parameter servers on every machine in every
    slot, (2), (3), (6), (7), (30) and (31).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    slots, machines = offer.worker_room.shape
    stores = offer.server_room.shape[1]
    eye, deadline = np.eye(slots), np.zeros((slots, slots))
    y, z = np.kron(eye, np.ones((1, machines))), np.kron(eye, np.ones((1, stores)))
    no_y, no_z = np.zeros_like(y), np.zeros_like(z)
    usable = np.triu(np.ones((slots, slots)))  # slot s, if the deadline is s or later
    most = np.minimum(job.chunks, offer.worker_room.sum(axis=1))[:, None] * usable
    one = np.ones((1, slots))
    constraints = [
        LinearConstraint(np.hstack([one, no_y[:1], no_z[:1]]), -np.inf, 1.0),
        LinearConstraint(np.hstack([-job.work * one, one @ y, no_z[:1]]), 0.0, np.inf),
        LinearConstraint(np.hstack([-most, y, no_z]), -np.inf, 0.0),
        LinearConstraint(
            np.hstack([deadline, job.worker_bandwidth * y, -job.server_bandwidth * z]), -np.inf, 0.0
        ),
        LinearConstraint(np.hstack([deadline, -y, z]), -np.inf, 0.0),
    ]
    utility = job.utilities(job.arrival + slots - 1)
    cost = np.concatenate([-utility, offer.worker_cost.ravel(), offer.server_cost.ravel()])
    room = np.concatenate([np.ones(slots), offer.worker_room.ravel(), offer.server_room.ravel()])
    found = milp(
        cost,
        constraints=constraints,
        integrality=np.ones(len(cost)),
        bounds=Bounds(0.0, room.astype(np.float64)),
        options={"time_limit": MILP_SECONDS, "mip_rel_gap": 1e-9},
    )
    return (-float(found.fun) if found.fun is not None else -np.inf), found.status == 0


def compile_all() -> Row:
    """Compile every kernel on a tiny instance, and let the rivals import what they need."""
    tiny = clairvoyant.generate("admission", size="tiny", seed=0)

    def load() -> None:
        exercise("admission")
        watched = Watched(1)
        clairvoyant.play(watched, tiny)
        for job, offer in watched.offers:
            assert np.isclose(best(job, offer), max(0.0, milp(job, offer)[0]), atol=1e-6)
            printed_schedule(job, offer)

    return Row("admission: compile (or load from cache) all kernels", timed(load))


def best(job: Job, offer: Offer) -> float:
    """Return the best payoff, at least 0, by our subroutine."""
    plan = cheapest_schedule(job, offer)
    return 0.0 if plan is None else max(0.0, plan.payoff)


def large(jobs: int, horizon: int, machines: int, **options: Any) -> clairvoyant.AdmissionInstance:
    """Return an instance with so many machines for workers, and as many for parameter servers."""
    half = {"worker_machines": machines, "server_machines": machines}
    return clairvoyant.generate("admission", size="large", jobs=jobs, horizon=horizon, **half, **options)


def schedules(horizon: int, machines: int, targets: tuple[float, float]) -> Iterator[Row]:
    """Measure OASiS per job along a run, beside the printed program and a MILP on some of the same offers.

    The targets are for the median and the 99 % quantile, in ms.
    """
    sampled = large(JOBS, horizon, machines)
    watched = Watched(JOBS // OFFERS)
    clairvoyant.play(watched, sampled)
    label = f"OASiS per job, T={horizon}, {2 * machines} machines"
    offers = watched.offers
    ours = [1e3 * timed(lambda: cheapest_schedule(job, offer, 0.0)) for job, offer in offers]  # noqa: B023
    printed, solver, proved = [], [], 0
    for job, offer in offers:
        printed.append(1e3 * timed(lambda: printed_schedule(job, offer)))  # noqa: B023
    for job, offer in offers[:: max(1, len(offers) // MILPS)]:
        found: list[tuple[float, bool]] = []
        solver.append(1e3 * timed(lambda: found.append(milp(job, offer))))  # noqa: B023
        payoff, done = found[0]
        proved += done
        assert payoff <= best(job, offer) + 1e-5, "no solver finds a better schedule than the exact one"
        assert not done or np.isclose(payoff, best(job, offer), atol=1e-4)
    spent = 1e3 * np.array(watched.seconds)
    yield Row(f"{label}: median", float(np.median(spent)), targets[0], unit="ms")
    yield Row(f"{label}: 99 % quantile", float(np.quantile(spent, 0.99)), targets[1], unit="ms")
    ours_here, theirs = statistics.fmean(ours), statistics.fmean(printed)
    label = f"best schedule alone, T={horizon}, {2 * machines} machines: mean"
    yield Row(label, ours_here, None, f"printed program ({len(offers)} jobs)", theirs, "ms")
    yield Row(
        label,
        ours_here,
        None,
        f"MILP of (27), HiGHS ({len(solver)} jobs)",
        statistics.fmean(solver),
        "ms",
        note=f"({proved} proved within {MILP_SECONDS:.0f} s)",
    )


def all_ties(horizon: int, machines: int, target: float) -> Row:
    """Measure the best schedule where all machines and slots cost the same, by the slowest of some jobs."""
    sampled = large(JOBS, horizon, machines, fit="feasible")
    setting = sampled.setting
    spent = []
    for job in sampled.jobs[:: max(1, JOBS // OFFERS)]:
        slots = horizon - job.arrival + 1
        rooms = [np.tile(room, (slots, 1)) for room in (setting.worker_room(job), setting.server_room(job))]
        each = 0.5 * job.utility(job.shortest) / (2 * job.work)
        offer = Offer(rooms[0], np.full(rooms[0].shape, each), rooms[1], np.full(rooms[1].shape, each))
        spent.append(1e3 * timed(lambda: cheapest_schedule(job, offer)))  # noqa: B023
    label = f"best schedule, everything costs the same, T={horizon}, {2 * machines} machines: slowest"
    return Row(label, max(spent), target, unit="ms", note=f"(of {len(spent)} jobs)")


def optima(machines: int, target: float, seeds: range) -> Iterator[Row]:
    """Measure the proof of the optimum of 10 jobs in 10 slots, beside each single method on the same ones."""
    half = machines // 2
    sampled = [
        clairvoyant.generate("admission", seed=seed, worker_machines=half, server_machines=half)
        for seed in seeds
    ]
    found, spent = solved(sampled, METHODS, SOLVE_SECONDS)
    label = f"optimum of 10 jobs, T=10, {machines} machines: median of {len(sampled)}"
    for method in METHODS[1:]:
        proved = proofs(found[method])
        for mine, other in zip(found["auto"], found[method], strict=True):
            assert other.value <= mine.bound + 1e-6
            assert mine.value <= other.bound + 1e-6
        yield Row(
            label,
            spent["auto"],
            target,
            method,
            spent[method],
            note=f"({proved} of {len(sampled)} proved within {SOLVE_SECONDS:.0f} s)",
        )


class Clocked:
    """A policy with a clock of the processor's time around every slot."""

    def start(self, setting: Setting, rng: np.random.Generator) -> None:
        """Start, with the clock at zero."""
        self.slowest = 0.0
        super().start(setting, rng)

    def decide(self, observation: Observation) -> Deployment:
        """Decide by the clock."""
        start = time.process_time()
        deployment = super().decide(observation)
        self.slowest = max(self.slowest, time.process_time() - start)
        return deployment


class ClockedHorizon(Clocked, RollingHorizon):
    """The rolling horizon with a clock."""


class ClockedFlow(Clocked, ElasticFlow):
    """ElasticFlow with a clock."""


def rolling(jobs: int, target: float | None) -> Iterator[Row]:
    """Measure the slowest slot of the rolling horizon, as it is and where it keeps, and of ElasticFlow."""
    sampled = large(jobs, 100, 50, fit="short")
    theirs = clairvoyant.play("oasis", sampled).total
    keeping = ClockedHorizon(keep=True, forecast=True)
    for label, policy in (
        ("rolling-horizon", ClockedHorizon()),
        ("rolling-horizon:keep=true,forecast=true", keeping),
        ("elasticflow", ClockedFlow()),
    ):
        ours = clairvoyant.play(policy, sampled).total
        yield Row(
            f"{label}, {jobs} jobs, T=100, 100 machines: slowest slot, CPU",
            policy.slowest,
            target,
            note=f"(utility {ours:.0f}, OASiS {theirs:.0f})",
        )


def intervals(jobs: int, seconds: float, seeds: Sequence[int]) -> Row:
    """Measure how far below its bound the best schedule is at 100 slots and 100 machines."""
    sampled = [large(jobs, 100, 50, seed=seed, fit="short") for seed in seeds]
    return interval(f"{jobs} jobs, T=100, 100 machines", sampled, seconds, 2.0)


def memory() -> Row:
    """Measure the peak memory of OASiS at the paper's size."""
    before, ours = peak_memory(
        "tiny = c.generate('admission', size='tiny')\nc.play('oasis', tiny)",
        "i = c.generate('admission', size='large'); c.play('oasis', i)",
    )
    return Row(
        "peak memory, OASiS, 200 jobs, T=300, 100 machines", ours, unit="GB", note=f"{before:.2f} before"
    )


def at_scale(jobs: int, target: float) -> Iterator[Row]:
    """Measure certified bounds and the search at 100 slots and 100 machines, by volume method and columns."""
    sampled = large(jobs, 100, 50, fit="short")
    found: list[Priced] = []
    ours = timed(lambda: found.append(volume(sampled, Budget(0.0, None))))
    theirs = timed(lambda: found.append(columns(sampled, Budget(0.0, COLUMN_SECONDS))))
    loose = 100.0 * (found[0].bound / found[1].bound - 1.0)
    yield Row(
        f"certified bound of {jobs} jobs, T=100, 100 machines, by the volume method",
        ours,
        target,
        "column generation",
        theirs,
        note=f"(the rival's bound is {loose:.3f} % lower)",
    )
    value: list[float] = []
    limit, bound = Budget(0.0, SOLVE_SECONDS), min(f.bound for f in found)
    spent = timed(lambda: value.append(sampled.rewards(search(sampled, found[0], limit, 0)).sum()))
    label = f"search for a schedule of {jobs} jobs, T=100, 100 machines"
    yield Row(label, spent, note=f"({100.0 * (1.0 - value[0] / bound):.1f} % below the bound)")
    cpu, gaps = [], []
    for parts in ({}, {"PACKED": 0, "THRIFT": 0.0}):
        with patch.multiple(ruin_and_recreate, **parts) if parts else nullcontext():
            start = time.process_time()
            schedule = search(sampled, found[0], Budget(0.0, None), 0, iterations=SEARCH_ROUNDS)
            cpu.append(time.process_time() - start)
        gaps.append(100.0 * (1.0 - sampled.rewards(schedule).sum() / bound))
    note = f"({gaps[0]:.1f} % below the bound, the rival {gaps[1]:.1f} %)"
    plain = "no packing anew, no thrift"
    yield Row(f"{label}, {SEARCH_ROUNDS} rounds: CPU", cpu[0], None, plain, cpu[1], note=note)


def measure(full: bool) -> Iterator[Row]:
    """Yield every measurement; ``full`` takes more instances and 400 jobs."""
    yield compile_all()
    yield from schedules(100, 40, (0.2, 1.0))
    yield from schedules(300, 50, (0.6, 3.0))
    yield all_ties(100, 40, 75.0)
    yield all_ties(300, 50, 250.0)
    yield from optima(10, 8.0, range(5 if full else 3))
    yield from optima(20, 1.0, range(5 if full else 3))
    yield from certificate("10 jobs, T=10, 10 machines", clairvoyant.generate("admission", seed=1), "offline")
    yield from at_scale(100, 10.0)
    yield intervals(100, 60.0 if full else 12.0, (0, 1, 2, 3) if full else (0, 1))
    if full:
        yield from at_scale(400, 41.0)
    yield from rolling(100, 1.0)
    if full:
        yield from rolling(400, None)
    yield memory()
