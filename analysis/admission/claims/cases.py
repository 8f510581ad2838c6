"""Instances and runs of OASiS that the claims on prices, duals and the competitive ratio share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ....models.admission.instance import AdmissionInstance
from ....models.base import Origin
from ....online.admission.oasis import Oasis
from ....oracles.admission.optimum import HIGHS, ORACLES
from ...claim import Context, Finding, Verdict, finding, holds_if
from ...engine.kept import play
from ...experiments import seeds, track
from ...optima import relied_on, remembered
from .. import competitive
from ..competitive import Duals, Step

TIE = 1e-6
"""Sums of utilities that differ by less, relative to the larger, are the same: tolerances of solvers."""

HAND = ((10.0, 10.0), (10.0, 100.0), (10.0, 1000.0), (1000.0, 1e6))
"""Capacity and F of the instances by hand: 10 with w = s = 6, 1000 with w = s = 1 and N = W = 600."""


def plain_job(
    worker: Any, server: Any, worth: float = 100.0, decay: float = 0.0, target: float = 0.0, **changes: Any
) -> dict[str, Any]:
    """Return a job of one chunk and one slot, what it is worth at its target, with changes of its fields."""
    return {
        **dict.fromkeys(("arrival", "epochs", "chunks", "minibatches", "minibatch_time"), 1),
        **dict.fromkeys(("worker_bandwidth", "server_bandwidth"), 1),
        "gradient_size": 0,
        "worker_demand": np.atleast_1d(worker),
        "server_demand": np.atleast_1d(server),
        "utility": {"priority": 2.0 * worth, "decay": decay, "target": target},
        **changes,
    }


def cluster(
    jobs: Sequence[dict[str, Any]],
    workers: Any = 10.0,
    servers: Any = 10.0,
    *,
    horizon: int = 1,
    resources: Sequence[str] = (),
    origin: str = "given by hand",
) -> AdmissionInstance:
    """Return an instance from what the machines of each kind have; a number is one machine, one resource."""
    workers, servers = np.atleast_2d(workers), np.atleast_2d(servers)
    return AdmissionInstance(
        horizon=horizon,
        resources=resources or [f"r{r}" for r in range(workers.shape[1])],
        worker_servers=workers,
        parameter_servers=servers,
        jobs=jobs,
        origin=Origin(origin),
    )


def by_hand(capacity: float, utility: float) -> AdmissionInstance:
    """Return two jobs of which only one fits: worth 1, and then worth more; see :data:`HAND`."""
    demand, chunks = (6.0, 1) if capacity == 10.0 else (1.0, 600)
    note = f"only one of the jobs fits, the one worth 1 comes first, the other is worth {utility:g}"
    jobs = [plain_job(demand, demand, worth, chunks=chunks) for worth in (1.0, utility)]
    return cluster(jobs, capacity, capacity, origin=note)


def random_instance(seed: int) -> AdmissionInstance:
    """Return a small instance with contention: utilities over three decades, mostly in rising order."""
    rng = np.random.default_rng(seed)
    slots, workers, servers, kinds = (int(rng.choice(few)) for few in ((1, 1, 2, 3), (1, 2), (1, 2), (1, 2)))
    count, size = int(rng.integers(3, 9)), int(rng.choice([4, 6, 10, 24]))
    utilities = 10.0 ** rng.uniform(0.0, 3.0, count)
    if rng.random() < 0.75:
        utilities.sort()
    jobs = []
    for arrival, utility in zip(np.sort(rng.integers(1, slots + 1, count)), utilities, strict=True):
        chunks, decay = int(rng.integers(1, 4)), float(rng.choice([0.0, 0.5, 5.0]))
        time, wide = float(rng.choice([0.5, 1.0, 1.7])), float(rng.choice([1.0, 2.0]))
        demands, target = (rng.integers(0, 5, kinds), rng.integers(0, 5, kinds)), int(rng.integers(0, 3))
        some = {"arrival": int(arrival), "chunks": chunks, "minibatch_time": time, "server_bandwidth": wide}
        jobs.append(plain_job(*demands, float(utility), decay, target, **some))
    return cluster(
        jobs,
        rng.integers(size // 2, size + 1, (workers, kinds)),
        rng.integers(size // 2, size + 1, (servers, kinds)),
        horizon=slots,
        origin=f"small random instance with contention, seed {seed}",
    )


@dataclass(frozen=True, eq=False)
class Played:
    """A run of OASiS, what it earned, the ends between which the optimum lies, and its duals and steps."""

    instance: AdmissionInstance
    policy: Oasis
    earned: float
    least: float
    most: float
    duals: Duals
    steps: tuple[Step, ...]

    @property
    def ratio(self) -> float:
        """The least that OPT / ALG can be; 0 / 0 is 1."""
        return competitive.over(self.least, self.earned)

    @property
    def sizes(self) -> tuple[float, float, float]:
        """alpha, x and x0."""
        r = self.instance.announced
        return r.alpha(), r.share, competitive.least_share(self.instance)

    @property
    def final(self) -> competitive.Prices:
        """The prices of all machines in the end, from what is taken of them."""
        return competitive.prices_of(self.policy, self.policy.usage)


def run(instance: AdmissionInstance, ends: tuple[float, float], steep: bool = False) -> Played:
    """Play OASiS with the exact range and without floor."""
    policy = Oasis(floor=False, steep=steep)
    earned = play(policy, instance).total
    steps = tuple(competitive.steps(instance, policy))
    return Played(instance, policy, earned, *ends, competitive.duals(instance, policy), steps)


def optimum(instance: AdmissionInstance) -> tuple[float, float]:
    """Return between what the optimum of an instance lies, by HiGHS."""
    found = relied_on("offline", ORACLES["offline"], instance, method=HIGHS, gap=1e-9)
    if found.bound is None:
        raise RuntimeError(f"{instance.origin}: {found.method} proved nothing")
    return found.value, found.bound


@remembered
def solved(seed: int) -> tuple[AdmissionInstance, tuple[float, float]]:
    """Return the random instance of a seed, and between what its optimum lies."""
    instance = random_instance(seed)
    return instance, optimum(instance)


@remembered
def random_run(seed: int, steep: bool) -> Played:
    return run(*solved(seed), steep)


@cache
def hand_run(capacity: float, utility: float, steep: bool = False) -> Played:
    """Return the run on an instance by hand; its optimum is the second job."""
    return run(by_hand(capacity, utility), (utility, utility), steep)


def runs(context: Context, steep: bool = False) -> list[Played]:
    """Return the runs on random instances, the same ones for all claims."""
    return [random_run(seed, steep) for seed in track(context, seeds(context, 40, 60, 1000))]


def worthwhile(context: Context, steep: bool = False) -> list[Played]:
    """Return those of them in which the optimum earns something."""
    return [r for r in runs(context, steep) if r.least > 0.0]


def holds_unless(
    wrong: Sequence[AdmissionInstance], checked: bool, headline: str, *shown: Any, **more: Any
) -> Finding:
    """Return the finding that a statement that was checked holds, unless it is wrong on some instances."""
    verdict = Verdict.REFUTED if wrong else holds_if(checked, Verdict.UNDETERMINED)
    return finding(verdict, headline, *shown, counterexample=next(iter(wrong), None), **more)


def below(small: float, large: float) -> bool:
    """Return whether a sum of utilities is at most another one, but for tolerances."""
    return small <= large + TIE * max(abs(small), abs(large))


CAPACITY = 1000
"""Of the machine of :func:`rising`."""

SMALL_JOBS = (100, 1e30, 1, 1)
"""Of :func:`rising`: jobs that take 1 % of the machine at most, which Appendix E.B may call much less."""


def rising(parts: int, highest: float, last: int, server: int = 0) -> tuple[AdmissionInstance, float]:
    """Return jobs with rising utilities that OASiS takes until better ones do not fit, and the optimum.

    Where ``highest`` is more than a file may hold, all utilities are scaled down, which changes no ratio.

    A job takes 1 / ``parts`` of the only machine, and is worth barely more than it costs, at least 1 for this
    size. A job that takes ``last`` thousandths follows before the last place is filled, so that this place is
    too small for any of the ``parts`` jobs worth ``highest`` that come at the end; 0: the machine is filled.
    Each takes ``server`` thousandths of the machine for parameter servers, whose prices are left out if 0.
    """
    size, scale = CAPACITY // parts, min(1.0, 1e8 / highest)
    demands = [size] * ((CAPACITY - (size if last else 0)) // size) + [last] * bool(last)
    taken, best = np.cumsum([0, *demands[:-1]]), scale * highest
    note = f"rising utilities up to {highest:g}, shares of 1/{parts}, a last job of {last}/{CAPACITY}"

    def made(worths: Iterable[float]) -> AdmissionInstance:
        given = zip([*demands, *[size] * parts], [*worths, *[best] * parts], strict=True)
        jobs = [plain_job(demand, server, worth) for demand, worth in given]
        return cluster(jobs, CAPACITY, CAPACITY if server else 0.0, origin=note)

    least = scale * np.array(demands) / size
    worths = least
    for _ in range(20):  # prices depend on utilities, by their ends alone: few passes suffice
        r = made(worths).announced
        span = r.upper_workers[0] - r.lower_workers
        cost = np.array(demands) * np.exp(r.lower_workers + span * taken / CAPACITY)
        if server:
            used = server * np.arange(len(demands)) / CAPACITY
            cost += server * np.exp(r.lower_servers + (r.upper_servers[0] - r.lower_servers) * used)
        before, worths = worths, np.minimum(best, np.maximum(least, cost / CAPACITY * (1.0 + 1e-6)))
        if (worths == before).all():
            return made(worths), parts * best
    raise RuntimeError(f"{note}: utilities and prices do not settle")


@cache
def rising_run(parts: int, highest: float, last: int, server: int = 0, *, steep: bool = False) -> Played:
    """Return the run on rising utilities."""
    instance, best = rising(parts, highest, last, server)
    return run(instance, (best, best), steep)


def rising_runs(context: Context, steep: bool = False) -> dict[int, list[Played]]:
    """Return the runs on rising utilities, by 1 / share."""
    powers = context.pick((2.0,), (1.0, 3.0), (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0))
    every = context.pick((5, 10), (2, 5, 10, 20, 100), (2, 4, 5, 10, 20, 50, 100))
    return {
        n: [
            rising_run(n, 10.0**power, last, steep=steep)
            for power in powers
            for last in sorted({0, max(1, CAPACITY // n // 10), max(1, CAPACITY // n // 2)})
        ]
        for n in every
    }


def never_done() -> AdmissionInstance:
    """Return an instance whose only job does not fit the machines."""
    return cluster([plain_job(11.0, 11.0, 1.0)], origin="a worker takes 11 of the 10 that a machine has")


def late_job(arrival: int, epochs: int, horizon: int) -> AdmissionInstance:
    """Return one job that is late after a slot and takes as many as it has epochs."""
    job = plain_job(1.0, 1.0, 50.0, decay=5.0, target=1.0, arrival=arrival, epochs=epochs)
    return cluster([job], horizon=horizon)
