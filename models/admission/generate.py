"""Synthetic instances: the simulation and the testbed of the paper (Secs. V.A and V.B).

The unit of bandwidth is Mbps and a slot is an hour (20 minutes in the testbed), so that gradients of e MB
have a size of 8 e / 3600 Mbps times slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy as np

from ..base import InputError, Origin, things
from ..draw import choose, given, interval, real, streams, takes, truth, whole
from .instance import MOST_SLOTS, AdmissionInstance
from .jobs import LARGEST, Job, units
from .machines import C4, P2_G3, RESOURCES, STORAGE, Types, sampled, spread
from .setting import Setting, room

stream = streams("workers", "servers", "arrivals", "jobs", "utility")

SLOT_SECONDS = 3600.0
MEGABIT = 8.0
"""Mbit in a MB."""

HOURLY = (
    *(1.35, 1.01, 0.97, 0.94, 1.16, 0.84, 0.83, 0.88, 0.95, 0.93, 1.05, 1.01),
    *(0.97, 0.98, 0.93, 1.07, 1.18, 1.15, 1.05, 1.04, 1.02, 0.95, 0.88, 0.83),
)
"""Jobs of the Google trace (clusterdata-2011-2, one cell) by the hour of the day, relative to their mean."""

FITS = ("feasible", "short", "any")
SHORT = 15
"""A "short" job takes no more slots than this unless told otherwise: the largest target of Sec. V.A."""

SENSITIVE, CRITICAL, TARGET = (0.01, 1.0), (4.0, 6.0), (1.0, 15.0)
"""Ranges of gamma_2 of time-sensitive and time-critical jobs, and of gamma_3 (Sec. V.A)."""

MOST_DRAWS = 4_000_000
"""The most draws of a job until one fits."""


@dataclass(frozen=True)
class Ranges:
    """From what to what a job's numbers are drawn uniformly: those of Sec. V.A, times in slots."""

    epochs: tuple[int, int] = (50, 200)
    chunks: tuple[int, int] = (5, 100)
    minibatches: tuple[int, int] = (10, 100)
    minibatch_time: tuple[float, float] = (0.001, 0.1)

    def __str__(self) -> str:
        ranges = (self.epochs, self.chunks, self.minibatches, self.minibatch_time)
        pairs = zip(("E", "N", "M", "tau"), ranges, strict=True)
        return ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in pairs)


GRADIENT = (30, 575)
"""Size of the gradients in MB (Sec. V.A)."""
WORKER_BANDWIDTH, SERVER_BANDWIDTH = (100, 5_000), (5_000, 20_000)
"""b_i and B_i in Mbps (Sec. V.A)."""
WORKER = ((0, 4), (1, 10), (2, 32), (5, 10))
SERVER = ((0, 0), (1, 10), (2, 32), (5, 10))
"""GPUs, vCPUs, GB of memory and GB of storage of a worker and of a parameter server (Sec. V.A)."""


@dataclass(frozen=True)
class Size:
    """Default parameters of a named size."""

    jobs: int
    horizon: int
    machines: int
    ranges: Ranges


SIZES = {
    "tiny": Size(4, 5, 2, Ranges((1, 3), (1, 4), (1, 4), (0.05, 0.3))),
    "default": Size(10, 10, 5, Ranges()),  # Fig. 5
    "large": Size(200, 300, 50, Ranges()),  # Figs. 3 and 6
}


class DrawnOptions(TypedDict, total=False):
    """Options of both :func:`generate` and :func:`.trace.from_trace`, with their defaults."""

    jobs: Annotated[int | None, None, "Number of jobs, >= 0; more of them leave the others as they are."]
    horizon: Annotated[int | None, None, "T, the number of slots, >= 1; generated ones are hours."]
    worker_machines: Annotated[int | None, None, "H, the number of machines for workers, >= 0."]
    server_machines: Annotated[int | None, None, "K, the number of machines for parameter servers, >= 0."]
    fit: Annotated[str, "feasible"]
    longest: Annotated[int, SHORT, 'The most slots that a "short" job takes in the empty cluster, >= 1.']
    priority: Annotated[tuple[float, float], (1.0, 100.0), "(smallest, largest) gamma_1, above 0."]
    classes: Annotated[Sequence[float], (0.1, 0.55, 0.35)]


class GenerateOptions(DrawnOptions, total=False):
    """Options of :func:`generate` besides size and seed, with their defaults."""

    swapped: Annotated[bool, False]


@takes(GenerateOptions)
def generate(size: str = "default", seed: int = 0, **options: Unpack[GenerateOptions]) -> AdmissionInstance:
    """Return a random instance with the ranges of Sec. V.A; equal arguments, equal instances.

    Workers go on EC2 P2 and G3 machines and parameter servers on C4 machines, every type equally likely: the
    paper says it the other way round, but C4 machines have no GPU. Jobs arrive in the first nine tenths of
    the slots, as in the testbed, more of them in the hours in which the Google trace has more.

    The ranges of the paper rarely give a job that can be done by T. A job that does not ``fit`` is drawn
    again, all but its arrival and its utility; ``origin`` says how many draws that took. Of size "large" the
    work of feasible jobs is about 17 times what the GPUs can do by T, that of short ones twice.

    Parameters
    ----------
    size
        "tiny" (4 jobs, 5 slots, 2 + 2 machines, and jobs of a few worker-slots: small enough to enumerate),
        "default" (10 jobs, 10 slots, 5 + 5 machines: the optimum can be proved) or "large" (200 jobs, 300
        slots, 50 + 50 machines: the paper's); it sets what is not given otherwise.
    fit
        "feasible" (a job can finish by T in the empty cluster), "short" (within ``longest`` slots besides) or
        "any" (as drawn first).
    classes
        Shares of time-insensitive, time-sensitive and time-critical jobs, which add up to 1.
    swapped
        Put workers on C4 and parameter servers on P2 and G3 machines, as printed: then no worker that needs a
        GPU can run.

    Raises
    ------
    InputError
        Naming the argument and its value; also if a job does not fit after four million draws.
    """
    plan = planned(size, seed, options)
    types = (C4, P2_G3) if truth("swapped", options["swapped"]) else (P2_G3, C4)
    workers, servers = (
        sampled(stream(plan.seed, side), kind, count)
        for side, kind, count in zip(("workers", "servers"), types, plan.machines, strict=True)
    )
    return assemble(
        plan,
        Setting(plan.horizon, RESOURCES, workers, servers),
        weights=np.resize(HOURLY, plan.horizon),
        slot_seconds=SLOT_SECONDS,
        origin=Origin(
            f"synthetic ({size}, seed {seed})",
            real=(
                f"machines for workers: GPU, vCPU and memory of {_families(types[0])}",
                f"machines for parameter servers: GPU, vCPU and memory of {_families(types[1])}",
                "arrivals: jobs by hour of the day in the Google trace of 2011",
            ),
            filled=("machines: each type equally likely",),
        ),
    )


def _families(types: Types) -> str:
    return "EC2 " + " and ".join(dict.fromkeys(name.split(".")[0].upper() for name in types))


class Plan(NamedTuple):
    """:class:`DrawnOptions`, checked; ``machines`` are those for workers and for servers."""

    seed: int
    preset: Size
    machines: tuple[int, int]
    horizon: int
    jobs: int
    options: DrawnOptions


def planned(size: str, seed: int, o: DrawnOptions) -> Plan:
    """Check options, and take what is not given from the size."""
    preset = SIZES[choose(size, SIZES, "size")]
    seed = whole("seed", seed, 0)
    workers = whole("worker_machines", given(o["worker_machines"], preset.machines), 0)
    servers = whole("server_machines", given(o["server_machines"], preset.machines), 0)
    horizon = whole("horizon", given(o["horizon"], preset.horizon), 1, MOST_SLOTS)
    return Plan(seed, preset, (workers, servers), horizon, whole("jobs", given(o["jobs"], preset.jobs), 0), o)


def assemble(
    plan: Plan, setting: Setting, *, weights: np.ndarray, slot_seconds: float, origin: Origin
) -> AdmissionInstance:
    """Draw the jobs of a cluster and put an instance together.

    The plan's ``fit``, ``longest``, ``priority`` and ``classes`` are checked here. ``weights`` are jobs per
    slot up to a factor, shape (T,), of which those of the last tenth do not count; ``slot_seconds`` turns MB
    into Mbps times slots. To the origin of what is given that of what is drawn is added.
    """
    seed, count, ranges = plan.seed, plan.jobs, plan.preset.ranges
    priority, classes = plan.options["priority"], plan.options["classes"]
    fit = choose(plan.options["fit"], FITS, "fit")
    longest = whole("longest", plan.options["longest"], 1)
    utilities = draw_utilities(seed, count, priority, classes)

    def candidates(rng: np.random.Generator, slots: int) -> Iterator[tuple[int, dict[str, Any]]]:
        most = {"feasible": float(slots), "short": float(min(slots, longest)), "any": np.inf}[fit]
        return _candidates(rng, ranges, slot_seconds, most)

    arrivals = draw_arrivals(seed, count, weights)
    jobs, draws = draw_jobs(seed, setting, arrivals, utilities, candidates, fit, longest)
    last = last_arrival(setting.horizon)
    return _instance(
        setting,
        jobs,
        Origin(
            origin.source,
            origin.real,
            (
                *origin.filled,
                f"machines: {STORAGE:g} GB of storage, and from 20 to 50 Gbps",
                f"arrivals: {count} {things(count, 'jobs')} over the first {last} {things(last, 'slots')}",
                f"work: {ranges}, e {GRADIENT[0]} to {GRADIENT[1]} MB, a slot being {slot_seconds:g} s",
                "demands of workers: 0-4 GPU, 1-10 vCPU, 2-32 GB, 5-10 GB of storage, 0.1-5 Gbps",
                "demands of parameter servers: 1-10 vCPU, 2-32 GB, 5-10 GB of storage, 5-20 Gbps",
                _fit_text(fit, count, draws, longest),
                _utility_text(priority, classes),
            ),
        ),
    )


def _fit_text(fit: str, count: int, draws: int, longest: int = SHORT) -> str:
    what = {
        "feasible": "until it can finish in the empty cluster",
        "short": f"until it can finish in the empty cluster, within {longest} slots",
        "any": "once, whether it can finish or not",
    }[fit]
    kept = f"; {count} of {draws:,} draws were kept ({count / draws:.2g})" if draws > count else ""
    return f"fit {fit}: every job was drawn {what}{kept}"


def _utility_text(priority: Any, classes: Any) -> str:
    shares = ", ".join(f"{100 * share:g} %" for share in classes)
    return (
        f"utility: priority {priority[0]:g} to {priority[1]:g}, target {TARGET[0]:g} to {TARGET[1]:g}, "
        f"decay 0, {SENSITIVE[0]:g} to {SENSITIVE[1]:g} and {CRITICAL[0]:g} to {CRITICAL[1]:g}, "
        f"shares {shares}"
    )


def _instance(setting: Setting, jobs: list[dict[str, Any]], origin: Origin) -> AdmissionInstance:
    return AdmissionInstance(
        horizon=setting.horizon,
        resources=setting.resources,
        worker_servers=setting.worker_servers,
        parameter_servers=setting.parameter_servers,
        jobs=jobs,
        origin=origin,
    )


def last_arrival(horizon: int) -> int:
    """Return the last slot in which jobs arrive: nine tenths of the horizon, rounded up."""
    return -(-9 * horizon // 10)


def draw_arrivals(seed: int, count: int, weights: np.ndarray) -> list[int]:
    """Draw the slots in which jobs arrive, more where weights are larger; refuse weights that are all 0."""
    total = np.cumsum(weights[: last_arrival(len(weights))])
    if count > 0 and total[-1] <= 0.0:
        raise InputError("arrivals: no job arrives in these slots")
    uniforms = stream(seed, "arrivals").random(count) * total[-1]
    return (np.searchsorted(total, uniforms, side="right") + 1).tolist()


def draw_utilities(seed: int, count: int, priority: Any, classes: Any) -> list[dict[str, float]]:
    """Draw the utilities: priority, decay by class, target, each with two decimals."""
    low, high = interval("priority", priority, LARGEST)
    if round(low, 2) == 0.0:
        raise InputError(f"priority[0]: {priority[0]!r} is not at least 0.01")
    if not isinstance(classes, Sequence) or isinstance(classes, str) or len(classes) != 3:
        raise InputError(f"classes: {classes!r} is not a list of three shares")
    shares = [real(f"classes[{i}]", share, 0.0, 1.0) for i, share in enumerate(classes)]
    if abs(sum(shares) - 1.0) > 1e-9:
        raise InputError(f"classes: {classes!r} does not add up to 1")
    result = []
    for which, steep, much, when in stream(seed, "utility").random((count, 4)):
        decay = 0.0
        if which >= shares[0]:
            first, last = SENSITIVE if which < shares[0] + shares[1] else CRITICAL
            decay = first + steep * (last - first)
        values = (low + much * (high - low), decay, TARGET[0] + when * (TARGET[1] - TARGET[0]))
        result.append({name: round(float(v), 2) for name, v in zip(_UTILITY, values, strict=True)})
    return result


_UTILITY = ("priority", "decay", "target")


class NoJobFitsError(InputError):
    """So few machines, or so few slots, are left for a job that none of many draws fits."""


Candidates = Callable[[np.random.Generator, int], Iterator[tuple[int, dict[str, Any]]]]
"""Of a generator and the slots that are left: draws of a job with how many draws there were so far."""


def draw_jobs(
    seed: int,
    setting: Setting,
    arrivals: Sequence[int],
    utilities: Sequence[dict[str, float]],
    candidates: Candidates,
    fit: str,
    longest: int = SHORT,
) -> tuple[list[dict[str, Any]], int]:
    """Draw jobs until they fit; return them, and how many draws that took.

    Without machines, or if a job does not fit after :data:`MOST_DRAWS` draws, there is an InputError,
    in the latter case a :class:`NoJobFitsError`.
    """
    machines = (setting.worker_servers, setting.parameter_servers)
    if fit != "any" and len(arrivals) > 0 and min(map(len, machines)) == 0:
        raise InputError(f"fit: {fit!r}: without machines of both kinds no job can finish")
    found, draws = [], 0
    rngs = stream(seed, "jobs").spawn(len(arrivals))
    for i, (rng, arrival, utility) in enumerate(zip(rngs, arrivals, utilities, strict=True)):
        slots = setting.horizon - arrival + 1
        for tried, fields in candidates(rng, slots):
            if fit != "any" and not _may_fit(
                setting, fields, min(slots, longest) if fit == "short" else slots
            ):
                continue
            data = {**fields, "arrival": arrival, "utility": utility}
            if _fits(setting, Job.from_dict(data, i, len(RESOURCES), setting.horizon), fit, longest):
                found.append(data)
                draws += tried
                break
        else:
            raise NoJobFitsError(
                f"fit: {fit!r}: none of {MOST_DRAWS:,} draws of a job that arrives in slot {arrival} fits"
            )
    return found, draws


def _may_fit(setting: Setting, fields: dict[str, Any], slots: int) -> bool:
    """Return whether machines hold workers and parameter servers for what is to be done in so many slots.

    That costs less than to make the job, for which it is found exactly.
    """
    need, chunks = units(np.array(fields["worker_demand"])), fields["chunks"]
    workers = min(chunks, int(room(setting.worker_units, need, chunks).sum()))
    round_trip = 2.0 * fields["gradient_size"] / fields["worker_bandwidth"]
    chunk_time = fields["minibatches"] * (fields["minibatch_time"] + round_trip)
    if fields["epochs"] * chunks * chunk_time > slots * workers * (1.0 + 1e-9):
        return False
    need = units(np.array(fields["server_demand"]))
    return bool((need <= setting.server_units).all(axis=1).any())


def _fits(setting: Setting, job: Job, fit: str, longest: int) -> bool:
    if fit == "any":
        return True
    if setting.why_never(job) is not None:
        return False
    return fit == "feasible" or job.work <= longest * setting.most_workers(job)


def _candidates(
    rng: np.random.Generator, ranges: Ranges, slot_seconds: float, slots: float
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield draws of a job, leaving out those that take more than ``slots`` even with all their workers."""
    whole_ranges = (ranges.epochs, ranges.chunks, ranges.minibatches, GRADIENT)
    limits = np.array([*whole_ranges, *WORKER, WORKER_BANDWIDTH, *SERVER, SERVER_BANDWIDTH])
    low, high = ranges.minibatch_time
    start, batch = 0, 16
    while start < MOST_DRAWS:
        uniforms = rng.random((batch, 1 + len(limits)))
        time = np.round(low + uniforms[:, 0] * (high - low), 4)
        values = spread(uniforms[:, 1:], limits[:, 0], limits[:, 1])
        epochs, chunks, minibatches = values[:, :3].astype(np.int64).T
        gradient = np.round(values[:, 3] * MEGABIT / slot_seconds, 4)
        length = epochs * minibatches * (time + 2.0 * gradient / values[:, 8])
        for k in np.flatnonzero(length <= slots * (1.0 + 1e-9)).tolist():
            fields = {
                "epochs": int(epochs[k]),
                "chunks": int(chunks[k]),
                "minibatches": int(minibatches[k]),
                "minibatch_time": float(time[k]),
                "gradient_size": float(gradient[k]),
            }
            yield start + k + 1, fields | _demands(values[k, 4:9].tolist(), values[k, 9:].tolist())
        start += batch
        batch = min(4 * batch, 4096, MOST_DRAWS - start)


def _demands(worker: list[float], server: list[float]) -> dict[str, Any]:
    """Return demands as fields of a job; the bandwidths stand last in them."""
    return {
        "worker_demand": worker,
        "server_demand": server,
        "worker_bandwidth": worker[-1],
        "server_bandwidth": server[-1],
    }


TESTBED_SECONDS = 1200.0
TESTBED_SLOTS, TESTBED_JOBS = 10, 12
TESTBED_RUN = (2, 6)
"""Slots that a job of the testbed takes: 40 minutes to 2 hours."""
TESTBED_CONTAINER = ((0, 1), (1, 5), (2, 10), (0, 0), (1_000, 3_000))
"""The demand of a container of the testbed; storage is not given."""


def testbed(seed: int = 0, times: int = 1) -> AdmissionInstance:  # noqa: PT028 - no test
    """Return a random instance like those of the testbed (Sec. V.B): 12 jobs, 10 slots, 7 + 2 machines.

    The paper does not say how long a mini-batch takes. Here it takes as long as makes the job run for 2 to 6
    slots if it has the cluster for itself.

    Parameters
    ----------
    seed
        Decides every draw; >= 0.
    times
        How many times as many machines and jobs there are; >= 1.

    Raises
    ------
    InputError
        Naming the argument and its value.
    """
    seed, times = whole("seed", seed, 0), whole("times", times, 1)
    workers = [[1.0 if h < 4 else 0.0, 32.0, 80.0, 600.0, 11_000.0] for h in range(7)]
    servers = [[0.0, 8.0, 32.0, 1500.0, 11_000.0]] * 2
    setting = Setting(TESTBED_SLOTS, RESOURCES, np.array(workers * times), np.array(servers * times))
    count = TESTBED_JOBS * times
    priority, classes = (1.0, 100.0), (0.1, 0.55, 0.35)

    def candidates(rng: np.random.Generator, _slots: int) -> Iterator[tuple[int, dict[str, Any]]]:
        return _testbed_candidates(rng, setting)

    jobs, draws = draw_jobs(
        seed,
        setting,
        draw_arrivals(seed, count, np.ones(TESTBED_SLOTS)),
        draw_utilities(seed, count, priority, classes),
        candidates,
        "feasible",
    )
    return _instance(
        setting,
        jobs,
        Origin(
            f"synthetic (testbed, seed {seed})",
            real=("machines: cores, memory, storage and 4 GPUs on 4 machines as published in the paper",),
            filled=(
                "bandwidth of machines: one port of 10 and one of 1 Gbps",
                "arrivals: uniform over the first 9 slots",
                "work: E 4 to 30, 200 images in chunks of 20 or 30, 10 to a mini-batch, e 30 to 575 MB",
                "minibatch_time: such that the job alone runs for 2 to 6 slots of 20 minutes",
                "demands: containers of 0-1 GPU, 1-5 vCPU, 2-10 GB, 1-3 Gbps; parameter servers without GPU",
                _fit_text("feasible", count, draws),
                _utility_text(priority, classes),
            ),
        ),
    )


def _testbed_candidates(rng: np.random.Generator, setting: Setting) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield draws of a job whose time per mini-batch follows from how long it runs alone."""
    limits = np.array([*TESTBED_CONTAINER, (0, 0), *TESTBED_CONTAINER[1:], (4, 30), GRADIENT, TESTBED_RUN])
    for tried in range(1, MOST_DRAWS + 1):
        sampled = spread(rng.random(len(limits)), limits[:, 0], limits[:, 1]).tolist()
        worker, server, (epochs, megabytes, slots) = sampled[:5], sampled[5:10], sampled[10:]
        images = 20 if rng.random() < 0.5 else 30
        fields = {
            "epochs": int(epochs),
            "chunks": -(-200 // images),
            "minibatches": images // 10,
            "minibatch_time": 1.0,
            "gradient_size": round(megabytes * MEGABIT / TESTBED_SECONDS, 4),
            **_demands(worker, server),
        }
        blank = {"arrival": 1, "utility": dict.fromkeys(_UTILITY, 1.0)}
        most = setting.most_workers(Job.from_dict({**fields, **blank}, 0, len(RESOURCES), TESTBED_SLOTS))
        work = slots * most  # worker-slots
        batches = fields["epochs"] * fields["chunks"] * fields["minibatches"]
        time = work / batches - 2.0 * fields["gradient_size"] / worker[-1]
        if time > 0.0:
            yield tried, {**fields, "minibatch_time": np.floor(time * 1e6) / 1e6}
