"""Time and memory of the placement problem: the simulator, the policies, the exact oracles, the bound."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import clairvoyant
from clairvoyant._warmup import exercise
from clairvoyant.models.placement import kernels
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.models.placement.simulator import Simulator
from clairvoyant.online.placement.environment import ParallelEnvironment
from clairvoyant.oracles.base import Budget
from clairvoyant.oracles.placement import search
from clairvoyant.oracles.placement.bound import lower_bound
from clairvoyant.oracles.placement.optimum import PRICES, SEARCH_ALONE

from . import placement_simpy
from .measure import Row, certificate, interval, median_of, peak_memory, proofs, solved, timed

JOBS = 4000
CLUSTERS = ("small", "medium", "large")
SEARCH_JOBS = 400
STEPS = 4000
SOLVE_SECONDS = 60.0
HEURISTICS = (
    *("fifo-firstfit", "fifo-loadbalance", "drf-firstfit", "drf-loadbalance"),
    *("tetris", "fifo-consolidate", "sjf-consolidate"),
)
PACKING = ("drf-byload", "drf-patient", "drf-fgd", "easy-estimate-consolidate")


def workload(jobs: int, cluster: str) -> PlacementInstance:
    """Return a generated workload, the same jobs on every cluster."""
    return generate("large", 0, jobs=jobs, cluster=cluster)


def compile_all() -> Row:
    """Compile every kernel on a tiny instance, and let the rivals import what they need."""
    tiny = generate("tiny", 0, estimate_error=0.5)

    def load() -> None:
        exercise("placement")
        by_submission(tiny)
        placement_simpy.simulate(tiny)

    return Row("placement: compile (or load from cache) all kernels", timed(load))


def by_submission(instance: PlacementInstance) -> Simulator:
    """Simulate FIFO-FirstFit in the compiled core alone."""
    one = instance.simulator()
    keys = np.arange(len(instance.jobs), dtype=np.float64)
    kernels.run_by_keys(
        one.table, one.state, one.contention, one.window, keys, kernels.FIRST_FIT, strict=False
    )
    return one


def simulators() -> Iterator[Row]:
    """Measure the compiled simulator under FIFO-FirstFit beside SimPy with the same rules."""
    for cluster in CLUSTERS:
        sampled = workload(JOBS, cluster)
        ours = median_of(3, lambda: by_submission(sampled))  # noqa: B023
        found: list[Any] = []
        theirs = timed(lambda: found.append(placement_simpy.simulate(sampled)))  # noqa: B023
        schedule = taken_schedule(by_submission(sampled))
        assert np.array_equal(found[0][0], schedule.start)
        assert np.array_equal(found[0][1], schedule.finish)
        label = f"simulator, {JOBS} jobs, FIFO-FirstFit, {len(sampled.setting.capacity)} machines"
        yield Row(label, ours, 0.4, "SimPy", theirs)


def heuristics() -> Iterator[Row]:
    """Measure whole runs of the heuristics, every decision checked, beside the core under one of them."""
    for cluster in CLUSTERS:
        sampled = workload(JOBS, cluster)
        spent = {
            name: min(timed(lambda: clairvoyant.play(name, sampled)) for _ in range(2))  # noqa: B023
            for name in HEURISTICS
        }
        slowest = max(spent, key=lambda name: spent[name])
        label = f"run of {JOBS} jobs, {len(sampled.setting.capacity)} machines"
        yield Row(f"{label}: {slowest}, the slowest heuristic", spent[slowest], 0.4)
        yield Row(f"{label}: median heuristic", statistics.median(spent.values()), 0.4)


def packing() -> Iterator[Row]:
    """Measure the rules that pack, wait and backfill under load, beside FIFO-Consolidate on the same jobs."""
    sampled = generate("large", 0, jobs=JOBS, cluster="small", rho=1.6, estimate_error=0.5)
    theirs = median_of(3, lambda: clairvoyant.play("fifo-consolidate", sampled))
    for name in PACKING:
        runs: list[Any] = []
        ours = median_of(3, lambda: runs.append(clairvoyant.play(name, sampled)))  # noqa: B023
        each = f"({1e6 * ours / len(runs[0].rewards):.0f} us a decision)"
        yield Row(
            f"run of {JOBS} jobs, 8 machines: {name}", ours, None, "fifo-consolidate", theirs, note=each
        )


def metaheuristics() -> Iterator[Row]:
    """Measure the searching policies beside FIFO-FirstFit on the same jobs."""
    sampled = generate("large", 0, jobs=SEARCH_JOBS, cluster="small", estimate_error=0.5)
    theirs = median_of(3, lambda: clairvoyant.play("fifo-firstfit", sampled))
    for name in ("mosa", "malo", "rolling-horizon", "rolling-horizon-estimate"):
        ours = timed(lambda: clairvoyant.play(name, sampled))  # noqa: B023
        yield Row(f"run of {SEARCH_JOBS} jobs, 8 machines: {name}", ours, None, "fifo-firstfit", theirs)


def environment() -> Row:
    """Measure steps of the parallel environment with random priorities and affinities."""
    sampled = workload(JOBS, "small")
    env = ParallelEnvironment(sampled)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    shapes = {agent: env.action_space(agent).shape for agent in env.possible_agents}
    actions = [{a: rng.random(s, dtype=np.float32) for a, s in shapes.items()} for _ in range(64)]

    def steps() -> None:
        for i in range(STEPS):
            if not env.agents:
                env.reset(seed=0)
            env.step(actions[i % len(actions)])

    spent = timed(steps)
    return Row(
        f"environment: {STEPS} steps of both agents, 8 machines", spent, note=f"({STEPS / spent:,.0f}/s)"
    )


def ten_jobs(seed: int, machines: int, jobs: int, contention: float = 0.0) -> PlacementInstance:
    """Return a small instance to be solved exactly: machines of 4 GPUs, gangs of up to 4 instances."""
    return generate("tiny", seed, jobs=jobs, machines=machines, contention=contention)


def optima(jobs: int, machines: int, target: float | None, seeds: range) -> Iterator[Row]:
    """Measure proofs by CP-SAT without contention, beside branch and bound on the same instances."""
    sampled = [ten_jobs(seed, machines, jobs) for seed in seeds]
    label = f"optimum of {jobs} jobs, {machines} machines of 4 GPUs: median of {len(sampled)}"
    yield from _beside(label, sampled, "cp-sat", "branch-and-bound", target)


def contended(jobs: int, machines: int, seeds: range) -> Iterator[Row]:
    """Measure proofs by branch and bound under contention, beside plain enumeration."""
    sampled = [ten_jobs(seed, machines, jobs, 0.5) for seed in seeds]
    label = f"optimum of {jobs} jobs under contention, {machines} machines: median of {len(sampled)}"
    yield from _beside(label, sampled, "branch-and-bound", "enumeration", None)


def _beside(
    label: str, sampled: list[PlacementInstance], mine: str, other: str, target: float | None
) -> Iterator[Row]:
    found, spent = solved(sampled, (mine, other), SOLVE_SECONDS)
    proved = {method: proofs(results) for method, results in found.items()}
    for first, second in zip(found[mine], found[other], strict=True):
        assert first.bound <= second.value + 1e-6
        assert second.bound <= first.value + 1e-6
    yield Row(
        f"{label}, {mine}",
        spent[mine],
        target,
        other,
        spent[other],
        note=f"({proved[mine]} and {proved[other]} of {len(sampled)} proved within {SOLVE_SECONDS:.0f} s)",
    )


def bounds(sizes: tuple[tuple[int, str, float | None], ...]) -> Iterator[Row]:
    """Measure the certified bound, and how far above it the best schedule found is."""
    for jobs, cluster, target in sizes:
        sampled = workload(jobs, cluster)
        found: list[Any] = []
        ours = timed(lambda: found.append(lower_bound(sampled, Budget(0.0, SOLVE_SECONDS))))  # noqa: B023
        label = f"certified bound of {jobs} jobs, {len(sampled.setting.capacity)} machines"
        yield Row(label, ours, target, note=f"({found[0].method})")
        spent = timed(lambda: found.append(clairvoyant.solve(sampled, time_limit=SOLVE_SECONDS)))  # noqa: B023
        gap = 100.0 * (found[1].value / found[1].bound - 1.0)
        yield Row(
            f"certified interval of the same, at most {SOLVE_SECONDS:.0f} s", spent, note=f"({gap:.1f} %)"
        )


def intervals(seconds: float, seeds: Sequence[int]) -> Iterator[Row]:
    """Measure how far above its bound the best schedule is where exact solving ends, and under load.

    The bound by prices of GPUs, cores and memory as such stands beside, from the first instance.
    """
    for label, asked, size, options in (
        ("20 jobs on 2 x 4 GPUs, rho 1.5", 3.0, "tiny", {"jobs": 20, "machines": 2, "rho": 1.5}),
        ("30 jobs on 2 x 4 GPUs, rho 1.5", 8.0, "tiny", {"jobs": 30, "machines": 2, "rho": 1.5}),
        ("200 jobs, 8 machines, rho 0.8", 1.5, "large", {"jobs": 200, "cluster": "small"}),
        ("200 jobs, 8 machines, rho 1.6", 5.0, "large", {"jobs": 200, "cluster": "small", "rho": 1.6}),
        ("1,000 jobs, 16 machines, rho 1.6", 4.0, "large", {"jobs": 1000, "cluster": "medium", "rho": 1.6}),
        ("4,000 jobs, 8 machines, rho 0.8", 15.0, "large", {"jobs": 4000, "cluster": "small"}),
    ):
        sampled = [generate(size, seed, **options) for seed in seeds]
        row = interval(label, sampled, seconds, asked)
        share = PRICES / (PRICES + SEARCH_ALONE)
        whole, plain = (
            lower_bound(sampled[0], Budget(0.0, share * seconds), plain=plain).value
            for plain in (False, True)
        )
        lower = 100.0 * (1.0 - plain / whole)
        yield replace(row, note=f"{row.note} bound {lower:.1f} % lower by prices of GPUs, cores and memory")


def searches(rounds: int, sizes: tuple[tuple[int, str], ...]) -> Iterator[Row]:
    """Measure the search for schedules beside itself with rounds that simulate from the beginning on."""
    for jobs, cluster in sizes:
        instance = generate("large", 1, jobs=jobs, cluster=cluster, rho=1.6)

        def searched() -> None:
            search.search(instance, Budget(0.0, None), rounds=rounds)  # noqa: B023

        ours = timed(searched)
        with mock.patch.object(search, "MOST_KEPT", 1):
            theirs = timed(searched)
        label = f"search of {jobs:,} jobs, {len(instance.setting.capacity)} machines, {rounds} rounds"
        yield Row(label, ours, None, "whole simulations", theirs)


def learning() -> Iterator[Row]:
    """Measure the learned schedulers; only now PyTorch is loaded."""
    from . import placement_learning

    yield from placement_learning.measure()


def memory() -> Row:
    """Measure the peak memory of a heuristic at the paper's size."""
    before, ours = peak_memory(
        "tiny = c.generate('placement', size='tiny')\nc.play('fifo-firstfit', tiny)",
        "i = c.generate('placement', size='large'); c.play('fifo-firstfit', i)",
    )
    return Row("peak memory, FIFO-FirstFit, 4,000 jobs", ours, unit="GB", note=f"{before:.2f} before")


def measure(full: bool) -> Iterator[Row]:
    """Yield every measurement; ``full`` takes more instances and larger ones."""
    yield compile_all()
    yield from simulators()
    yield from heuristics()
    yield from packing()
    yield from metaheuristics()
    yield environment()
    yield from learning()
    yield from optima(10, 2, 10.0, range(10 if full else 5))
    yield from optima(12, 4, None, range(5 if full else 2))
    yield from contended(4, 2, range(4 if full else 2))
    sizes = ((200, "small", 5.0),)
    yield from intervals(60.0 if full else 12.0, (0, 1, 2, 3) if full else (0, 1))
    yield from searches(2000, ((200, "small"), (1000, "medium")) if full else ((200, "small"),))
    yield from bounds((*sizes, (4000, "small", None), (4000, "large", None)) if full else sizes)
    yield from certificate("tiny", generate("tiny", 1), "offline")
    yield memory()
