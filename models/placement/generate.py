"""Synthetic instances, fitted to what is published of Alibaba's GPU clusters of 2020 and 2023.

The laws are those of the files ``alibaba_trace_sub`` (gang sizes, durations, arrivals) and
``openb_pod_list`` (CPUs and memory), of which only summary figures stand here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy as np

from ..base import InputError, Origin
from ..draw import choose, given, real, streams, takes, whole
from ..stopwatch import library
from .instance import PRICE, WINDOW, PlacementInstance
from .jobs import LARGEST, LONGEST, RESOURCES, TICKS, UNITS
from .slowdown import Slowdown

stream = streams("jobs", "intensity", "arrivals", "bursts", "pods", "estimates")

CLUSTERS = {"small": 8, "medium": 16, "large": 32}
"""Machines of the clusters of Sec. 5.1.3."""

MACHINE = {"gpus": 8, "cpus": 96.0, "memory": 512.0}
"""A machine of PAI with 8 V100 GPUs."""
HALF_MACHINE = {"gpus": 4, "cpus": 48.0, "memory": 256.0}

RHO = 0.8
"""The load on the Small cluster."""
COMMUNICATION, CONTENTION = 1.0, 0.5
"""kappa and eta, unless they are given; no trace says anything about them."""

COMMONEST = (1, 2, 3, 4, 5, 8, 10, 12, 15, 16, 20, 25, 30, 40, 50, 100)
SHARES = (
    *(0.7696, 0.03157, 0.01493, 0.015, 0.01577, 0.01297, 0.0363, 0.008433),
    *(0.004633, 0.01237, 0.02223, 0.004533, 0.0108, 0.006533, 0.01293, 0.0045),
)
"""The commonest gang sizes and their shares (alibaba_trace_sub, 30,000 tasks)."""
RANGES = ((1, 8, 0.8623), (9, 32, 0.10307), (33, 64, 0.0256), (65, 400, 0.00903))
"""From which to which gang size, and the share of the tasks there; the same source."""

TINY_SHARES = {1: 0.25, 2: 0.25, 3: 0.2, 4: 0.15, 6: 0.15}
"""Gang sizes of tiny instances, such that a few jobs are in each other's way on 8 GPUs."""

GPUS = {1: 0.9765, 2: 0.0165, 4: 0.002, 8: 0.005}
"""GPUs of an instance: 2 and 8 by ``plan_gpu`` of all tasks with a GPU, 4 by the pods."""

LOG_DURATION = (2.86, 0.93)
"""Mean and standard deviation of the decimal logarithm of the seconds."""
TINY_LOG_DURATION = (2.86, 0.4)
"""Those of tiny instances, so that not one job is most of the cost."""
SHORTEST, CAPPED = 5.0, 172_800.0
"""The range of durations, in seconds."""
RANK_CORRELATION = 0.18
"""Of gang size and duration (Spearman's)."""
GANG_CORRELATION = 0.25
"""The correlation of two normal variables that gives :data:`RANK_CORRELATION` for these gang sizes."""

FRACTION = 0.44
"""Share of the instances with one GPU that would do with a part of it."""
AT = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
CPUS = {
    0: (1.0, 3.152, 3.152, 4.0, 8.0, 11.908, 12.0),
    1: (1.0, 3.152, 9.81, 11.4, 12.0, 18.708, 24.2),
    2: (6.0, 6.0, 15.65, 16.2, 17.4, 30.2, 30.2),
    4: (32.0, 32.0, 32.2, 32.2, 32.2, 60.2, 60.2),
    8: (64.0, 64.03, 64.2, 88.0, 88.0, 120.0, 120.2),
}
MEMORY = {
    0: (2.0, 5.469, 5.469, 14.9, 29.802, 46.0, 46.0),
    1: (2.0, 5.469, 24.0, 47.0, 48.0, 76.0, 123.0),
    2: (42.0, 42.0, 64.0, 65.0, 65.0, 157.0, 157.0),
    4: (128.0, 128.0, 129.0, 129.0, 129.0, 313.0, 313.0),
    8: (256.0, 256.15, 257.0, 320.0, 320.0, 705.75, 720.0),
}
"""Cores and GB of an instance by its GPUs, 0 for a part of one: quantiles at :data:`AT` (pods of 2023)."""
LOG_CORRELATION = 0.88
"""Of the logarithms of cores and memory."""

HOURLY = (
    *(1.417, 1.181, 0.722, 0.692, 0.950, 0.904, 0.962, 1.005, 0.786, 0.867, 1.260, 1.377),
    *(1.191, 1.086, 1.075, 1.105, 1.100, 1.315, 1.090, 0.931, 0.881, 0.751, 0.687, 0.665),
)
"""Arrivals by hour of the day (UTC+8) relative to their mean (alibaba_trace_sub)."""
BIN = 300.0
"""Seconds over which the rate of arrivals stays the same."""
HOUR_VARIANCE, BIN_VARIANCE = 0.09, 0.49
"""Variances of the random factors of each hour and of each bin of the rate, both of mean 1.

With them the relative variance of the rate, (Fano factor - 1) / mean count, is what the source has: 0.51 of
5 minutes (Fano 2.56, mean 3.08) and 0.15 of an hour (6.65, 37.0); that the source is a sample of all tasks
does not change it.
"""

MOST_ERROR = 10.0
"""The largest standard deviation of the logarithm of an estimate's error."""

BATCH = 1024
MOST_DRAWS = 1_000_000
"""The most draws of a job until one fits."""


@dataclass(frozen=True)
class Size:
    """Default parameters of a named size."""

    jobs: int
    machines: int
    machine: dict[str, float]
    shares: dict[int, float] | None
    log_duration: tuple[float, float]
    rho: float


SIZES = {
    "tiny": Size(6, 2, HALF_MACHINE, TINY_SHARES, TINY_LOG_DURATION, 3.0),
    "default": Size(400, CLUSTERS["small"], MACHINE, None, LOG_DURATION, RHO),
    "large": Size(4000, CLUSTERS["small"], MACHINE, None, LOG_DURATION, RHO),  # the test set of Sec. 5.1.2
}


class Workload(NamedTuple):
    """Jobs in their JSON form, in the order of their submission, and how many draws they took."""

    jobs: list[dict[str, Any]]
    draws: int


class Options(TypedDict, total=False):
    """Options of :func:`generate` and :func:`.trace.from_trace`, with their defaults."""

    jobs: Annotated[int | None, None, "Number of jobs, >= 0."]
    machines: Annotated[int | None, None, "Number of machines, >= 1."]
    cluster: Annotated[str | None, None]
    rho: Annotated[float | None, None]
    communication: Annotated[float, COMMUNICATION, "kappa of the slowdown."]
    contention: Annotated[float, CONTENTION, "eta of the slowdown."]
    estimate_error: Annotated[float | None, None]
    gpu_weight: Annotated[float, 0.0]
    window: Annotated[int, WINDOW]
    price: Annotated[float, PRICE]


@takes(Options)
def generate(size: str = "default", seed: int = 0, **options: Unpack[Options]) -> PlacementInstance:
    """Return a random instance whose jobs look like those of PAI; equal arguments, equal instances.

    The jobs and their submissions are made for a reference cluster, that of the size, and do not depend on
    ``cluster`` or ``machines``: with rho 0.8 they are a load of 0.8, 0.4 and 0.2 on the Small, Medium and
    Large cluster. Jobs that do not fit on the empty reference cluster, or on fewer ``machines``, are drawn
    again; ``origin`` says how many.

    Parameters
    ----------
    size
        "tiny" (6 jobs on 2 machines of 4 GPUs, with small gangs: can be solved exactly), "default" (400 jobs
        on the Small cluster, 8 machines of 8 GPUs, 96 cores and 512 GB) or "large" (4,000 jobs, as many as
        in the paper's test set); it sets what is not given otherwise.
    jobs
        Number of jobs, >= 0. More jobs leave the others as they are, but for their submissions.
    cluster
        "small", "medium" or "large": 8, 16 or 32 machines; instead of ``machines``, and not for "tiny".
    rho
        The load of the reference cluster: GPU-seconds of all jobs by those of all its GPUs until the last
        submission; > 0; that of the instance's own machines is ``instance.offered_load``. The paper's fee
        implies that 4,000 jobs take 46 days of 64 GPUs, its rate of arrivals that they arrive within about
        one: this decides it.
    estimate_error
        The standard deviation of the logarithm of the error of the users' estimates, 0 to 10; see
        :func:`draw_estimates`. With 0 they know the durations; by default there are no estimates. Nothing
        else depends on it.
    gpu_weight, window, price
        As in :class:`.instance.PlacementInstance`.

    Raises
    ------
    InputError
        Naming the argument and its value; also if a job does not fit after a million draws.
    """
    plan = planned(size, seed, options)
    load = given(plan.rho, plan.preset.rho)
    found = workload(plan.seed, plan.jobs, load, plan.preset, min(plan.machines, plan.preset.machines))
    estimates = draw_estimates(plan.seed, [job["duration"] for job in found.jobs], plan.sigma)
    jobs = [job | estimate for job, estimate in zip(found.jobs, estimates, strict=True)]
    return plan.instance(jobs, _origin(size, plan.seed, plan.preset, load, found, plan.sigma))


@dataclass(frozen=True)
class Plan:
    """:class:`Options`, checked; ``rho`` is None if they leave it to the size."""

    seed: int
    preset: Size
    jobs: int
    machines: int
    rho: float | None
    slowdown: Slowdown
    sigma: float | None
    options: Options

    def instance(self, jobs: list[dict[str, Any]], origin: Origin) -> PlacementInstance:
        """Put an instance together from jobs in their JSON form."""
        return PlacementInstance(
            machines=[self.preset.machine] * self.machines,
            jobs=jobs,
            price=self.options["price"],
            slowdown=self.slowdown,
            gpu_weight=self.options["gpu_weight"],
            window=self.options["window"],
            origin=origin,
        )


def planned(size: str, seed: int, o: Options) -> Plan:
    """Check options, and take what is not given from the size."""
    preset, error = SIZES[choose(size, SIZES, "size")], o["estimate_error"]
    return Plan(
        whole("seed", seed, 0),
        preset,
        whole("jobs", given(o["jobs"], preset.jobs), 0),
        _machine_count(preset, o["machines"], o["cluster"]),
        None if o["rho"] is None else real("rho", o["rho"], 0.0),
        Slowdown(o["communication"], o["contention"]),
        None if error is None else real("estimate_error", error, 0.0, MOST_ERROR),
        o,
    )


def _machine_count(preset: Size, machines: int | None, cluster: str | None) -> int:
    """Return the number of machines, given it, the name of a cluster, or neither."""
    if cluster is None:
        return whole("machines", preset.machines if machines is None else machines, 1, 10**6)
    if machines is not None:
        raise InputError(f"cluster: {cluster!r} and machines {machines!r} cannot both be given")
    if preset.machine is not MACHINE:
        raise InputError(f"cluster: {cluster!r} is not for tiny instances; give machines")
    return CLUSTERS[choose(cluster, CLUSTERS, "cluster")]


def workload(seed: int, count: int, rho: float, reference: Size, machines: int) -> Workload:
    """Draw jobs that fit on so many empty machines, and submissions that make them a load of ``rho``.

    The reference says what the machines are, how many there are for the load, and the laws of the jobs.
    """
    found, draws = draw_jobs(seed, count, reference, machines)
    gpu_seconds = sum(job["duration"] * job["instances"] * job["gpus"] for job in found)
    last = span(gpu_seconds, reference.machines * reference.machine["gpus"], rho) if count else 0.0
    columns = zip(draw_submissions(seed, count, last), found, draw_intensities(seed, count), strict=True)
    return Workload(
        [{"submit": submit, **job, "intensity": intensity} for submit, job, intensity in columns], draws
    )


def span(gpu_seconds: float, gpus: float, rho: float) -> float:
    """Return when the last job is submitted for a load of rho, in seconds; refuse a rho that is too small."""
    result = gpu_seconds / (gpus * rho) if rho > 0.0 else np.inf
    if result > LONGEST:
        raise InputError(f"rho: {rho!r} is so small that jobs are submitted later than {LONGEST:g} s")
    return float(result)


def gang_law(shares: dict[int, float] | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the gang sizes and the probabilities that they are no larger.

    Within each of :data:`RANGES` what the commonest sizes leave goes to the others as 1 / size.
    """
    if shares is not None:
        return np.array(list(shares)), np.cumsum(list(shares.values()))
    sizes = np.arange(1, RANGES[-1][1] + 1)
    share = np.zeros(len(sizes))
    share[np.array(COMMONEST) - 1] = SHARES
    for low, high, total in RANGES:
        inside = slice(low - 1, high)
        others = np.where(share[inside] == 0.0, 1.0 / sizes[inside], 0.0)
        share[inside] += others * (total - share[inside].sum()) / others.sum()
    cumulated = np.cumsum(share)
    return sizes, cumulated / cumulated[-1]


def draw_jobs(seed: int, count: int, laws: Size, machines: int) -> tuple[list[dict[str, Any]], int]:
    """Draw jobs until they fit on so many empty machines; return them, and how many draws that took."""
    rng = stream(seed, "jobs")
    found: list[dict[str, Any]] = []
    draws = last = 0
    while len(found) < count:
        table = _candidates(rng, laws)
        fits = instances_that_fit(table[:, 2:], laws.machine, machines) >= table[:, 1]
        for k in np.flatnonzero(fits)[: count - len(found)].tolist():
            duration, instances, gpus, cpus, memory = table[k].tolist()
            job = {"duration": duration, "instances": int(instances), "gpus": int(gpus)}
            found.append(job | {"cpus": cpus, "memory": memory})
            last = draws + k + 1
        draws += BATCH
        if draws - last >= MOST_DRAWS:
            raise InputError(f"machines: none of {MOST_DRAWS:,} draws of a job fits on {machines}")
    return found, last


def instances_that_fit(need: np.ndarray, machine: Mapping[str, float], machines: int) -> np.ndarray:
    """Return how many instances fit on so many empty machines, for rows of GPUs, cores and GB, shape (n,)."""
    asked = np.rint(need * UNITS).astype(np.int64)
    capacity = np.rint(np.array([machine[name] for name in RESOURCES]) * UNITS).astype(np.int64)
    room = np.where(asked > 0, capacity // np.maximum(asked, 1), np.iinfo(np.int64).max)
    return machines * np.minimum(room.min(axis=1), int(LARGEST))


def _candidates(rng: np.random.Generator, laws: Size) -> np.ndarray:
    """Draw a batch of jobs: duration, instances, and GPUs, cores and GB of each instance."""
    ndtr = library("scipy.special").ndtr

    normal = rng.standard_normal((BATCH, 4))
    uniforms = rng.random((BATCH, 2))
    sizes, cumulated = gang_law(laws.shares)
    place = np.searchsorted(cumulated, ndtr(normal[:, 0]), side="right")
    instances = sizes[np.minimum(place, len(sizes) - 1)]
    mean, spread = laws.log_duration
    duration = 10.0 ** (mean + spread * _joined(normal[:, 0], normal[:, 1], GANG_CORRELATION))
    gpus = np.array(list(GPUS))[
        np.minimum(
            np.searchsorted(np.cumsum(list(GPUS.values())), uniforms[:, 0], side="right"), len(GPUS) - 1
        )
    ]
    kind = np.where((gpus == 1) & (uniforms[:, 1] < FRACTION), 0, gpus)
    ranks = ndtr(np.column_stack([normal[:, 2], _joined(normal[:, 2], normal[:, 3], LOG_CORRELATION)]))
    amounts = np.empty((BATCH, 2))
    for which in CPUS:
        for column, quantiles in enumerate((CPUS[which], MEMORY[which])):
            mine = kind == which
            amounts[mine, column] = np.exp(np.interp(ranks[mine, column], AT, np.log(quantiles)))
    times = np.round(np.clip(duration, SHORTEST, CAPPED), 3)
    return np.column_stack([times, instances, gpus, np.round(amounts, 3)])


def _joined(first: np.ndarray, other: np.ndarray, correlation: float) -> np.ndarray:
    """Return a standard normal variable with this correlation to the first one."""
    return correlation * first + np.sqrt(1.0 - correlation**2) * other


def draw_intensities(seed: int, count: int) -> list[float]:
    """Draw beta of each job, uniform in [0, 1] with two decimals; no trace says anything about it."""
    return np.round(stream(seed, "intensity").random(count), 2).tolist()


def draw_estimates(
    seed: int, durations: Sequence[float] | np.ndarray, sigma: float | None
) -> list[dict[str, float]]:
    """Draw what the user of each job believes that it takes: the duration times exp(sigma z).

    z is standard normal, and the same for any sigma. Estimates are whole ticks, at least one, and no longer
    than a duration may be. Returns the field "estimate" of each job in its JSON form, in seconds; without a
    sigma there are none.
    """
    if sigma is None:
        return [{} for _ in durations]
    z = stream(seed, "estimates").standard_normal(len(durations))
    ticks = np.rint(np.asarray(durations, dtype=np.float64) * TICKS * np.exp(sigma * z))
    return [{"estimate": estimate / TICKS} for estimate in np.clip(ticks, 1.0, LONGEST * TICKS).tolist()]


def origin_of_estimates(sigma: float | None) -> tuple[str, ...]:
    """Return the lines of ``origin.filled`` on the estimates."""
    return () if sigma is None else (f"estimates: the duration times a lognormal error of sigma {sigma:g}",)


def draw_submissions(seed: int, count: int, last: float) -> list[float]:
    """Draw the times of submission in seconds, ascending; the last one is given, and time 0 is midnight.

    Their rate is that of the hour of the day, times a random factor of the hour, times one of the bin.
    """
    if count == 0:
        return []
    bins = max(1, int(np.ceil(last / BIN)))
    edges = np.minimum(np.arange(bins + 1) * BIN, last)
    hour = (np.arange(bins) * BIN // 3600.0).astype(np.int64)
    rngs = stream(seed, "bursts").spawn(2)
    of_hour = rngs[0].gamma(1.0 / HOUR_VARIANCE, HOUR_VARIANCE, int(hour[-1]) + 1)
    of_bin = rngs[1].gamma(1.0 / BIN_VARIANCE, BIN_VARIANCE, bins)
    weights = np.array(HOURLY)[hour % 24] * of_hour[hour] * of_bin * np.diff(edges)
    total = np.concatenate([[0.0], np.cumsum(weights)])
    times = np.sort(np.interp(stream(seed, "arrivals").random(count) * total[-1], total, edges))
    return stretched(times, last)


def stretched(times: Sequence[float] | np.ndarray, last: float) -> list[float]:
    """Scale ascending times such that the last one is given, and round them to ms."""
    given = np.asarray(times, dtype=np.float64)
    factor = last / given[-1] if len(given) and given[-1] > 0.0 else 1.0
    return (np.round(given * factor * TICKS) / TICKS).tolist()


def _origin(size: str, seed: int, preset: Size, rho: float, found: Workload, sigma: float | None) -> Origin:
    real_parts, assumed = origin_of_machines(preset)
    return Origin(
        f"synthetic ({size}, seed {seed})",
        real=real_parts,
        filled=(*assumed, *_filled(preset, rho, found), *origin_of_estimates(sigma), *ASSUMED),
    )


def origin_of_machines(preset: Size) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines of ``origin`` on the machines of a size: of ``real`` and of ``filled``."""
    if preset.machine is MACHINE:
        return ("machines: GPUs, cores and memory of a V100 machine of PAI (2020)",), ()
    return (), ("machines: half a V100 machine of PAI (2020) each",)


ASSUMED = ("intensity: uniform in [0, 1]", "slowdown: the parameters are assumptions")


def _filled(preset: Size, rho: float, found: Workload) -> Iterator[str]:
    """Yield where what is drawn comes from."""
    mean, deviation = preset.log_duration
    law = f"lognormal (log10 mean {mean:g}, sd {deviation:g}, {SHORTEST:g} to {CAPPED:,.0f} s)"
    correlated = f"rank correlation to the gang size {RANK_CORRELATION:g}"
    if preset.shares is None:
        yield "gang sizes: by their shares in alibaba_trace_sub"
        yield f"durations: {law} as in alibaba_trace_sub, {correlated}"
    else:
        shares = ", ".join(f"{C}: {100 * share:g} %" for C, share in preset.shares.items())
        yield f"gang sizes: made up ({shares})"
        yield f"durations: made up, {law}"
    shares = ", ".join(f"{gpus}: {100 * share:g} %" for gpus, share in GPUS.items())
    yield f"GPUs of an instance: {shares} (tasks of 2020, pods of 2023)"
    yield "cores and memory of an instance: by quantiles of the pods of 2023 with as many GPUs"
    yield (
        "arrivals: by the hour of the day and as bursty as in alibaba_trace_sub, the time axis such that the "
        f"load on {preset.machines} machines is {rho:g}"
    )
    again = found.draws - len(found.jobs)
    if again:
        yield f"{again:,} of {found.draws:,} jobs drawn again: too large for the cluster"
