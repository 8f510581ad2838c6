"""What the trace files say about machines, requests and arrivals, in one shape for all of them.

Cores for CPUs, GB (or GiB, as the source says; the 7 % between them is not corrected) for memory, cards for
GPUs, seconds for times.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from .base import InputError
from .draw import choose
from .traces import column, number, read_table

Folder = str | os.PathLike[str]
Key = TypeVar("Key", bound=tuple[Any, ...])
Item = TypeVar("Item", "MachineType", "RequestClass")

UNITS = {"CPU": (8.0, "8 cores"), "MEM": (64.0, "64 GB"), "GPU": (1.0, "1 card")}
"""Size of one device of the real kinds, such that a usual machine has about ten of each of them."""

V2018_MEMORY = 512.0
"""GB taken for 100 % of a machine's memory in v2018, whose memory is normalised (the commonest PAI size)."""

SAME_MODEL = {"V100": "V100M16"}
"""Names that PAI's machines and the pods' constraints give to the same GPU model."""

GOOGLE_CLOCK = 19 * 3600.0 - 600.0
"""Seconds to add to Google's clock for a clock that starts at midnight: 600 s is 19:00 there."""

PAI_CLOCK = 931_500.0 + 8 * 3600.0
"""Seconds to add to the clock of PAI's tasks for one that starts at midnight in UTC+8."""


@dataclass(frozen=True)
class MachineType:
    """Machines that are alike: GPU model, cores, memory (``None`` if unknown), cards, and their number."""

    name: str
    cpu: float
    memory: float | None
    gpu: float
    count: int


@dataclass(frozen=True)
class RequestClass:
    """Requests that are alike: cores, memory, cards (a fraction if shared) of one job on one machine.

    ``allowed`` lists the GPU models the request may run on; empty means any.
    """

    cpu: float
    memory: float
    gpu: float
    count: int
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Requests:
    """Single requests in the order of the file: the class of each and its arrival time (NaN if unknown)."""

    classes: tuple[RequestClass, ...]
    member: np.ndarray
    time: np.ndarray


@dataclass(frozen=True)
class Events:
    """Arrivals without classes: times in seconds, and how many arrive at each; ``bin`` seconds are lumped."""

    time: np.ndarray
    count: np.ndarray
    bin: float


@dataclass(frozen=True)
class JobList:
    """Jobs of a trace in the order of their submission, and which were left out; every array has shape (n,).

    ``submit`` and ``duration`` are in seconds, ``gpus`` are the cards of each job. ``requests`` are cores and
    memory of each, shape (n, 2), or ``None`` if the source does not say. ``dropped`` says why how many rows
    were left out.
    """

    submit: np.ndarray
    duration: np.ndarray
    gpus: np.ndarray
    requests: np.ndarray | None
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A trace file, the columns that are read, and the terms its publisher set."""

    file: str
    columns: tuple[str, ...]
    terms: str
    header: bool = True

    def rows(self, folder: Folder) -> list[dict[str, str]]:
        """Read the file; see :func:`clairvoyant.models.traces.read_table`."""
        return read_table(folder, self.file, self.columns, header=self.header)


RESEARCH = "for study or research purposes"
MACHINES = {
    "pai-2020": Source(
        "alibaba-gpu-v2020/pai_machine_spec.csv",
        ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"),
        "CC BY 4.0",
        header=False,
    ),
    "gpu-2023": Source(
        "alibaba-gpu-v2023/openb_node_list_all_node.csv",
        ("cpu_milli", "memory_mib", "gpu", "model"),
        RESEARCH,
    ),
    "spot-2026": Source(
        "alibaba-spot-gpu-v2026/node_info_df.csv", ("gpu_model", "gpu_capacity_num", "cpu_num"), RESEARCH
    ),
}
REQUESTS = {
    "gpu-2023": Source(
        "alibaba-gpu-v2023/openb_pod_list_gpuspec33.csv.gz",
        ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time"),
        RESEARCH,
    ),
    "v2018": Source(
        "alibaba-v2018/Task_1.csv.gz",
        (
            *("task_name", "instance_num", "job_name", "task_type", "status"),
            *("start_time", "end_time", "plan_cpu", "plan_mem"),
        ),
        RESEARCH,
        header=False,
    ),
    "dlrm-2025": Source(
        "alibaba-gpu-v2025/disaggregated_DLRM_trace.csv.gz",
        ("cpu_request", "gpu_request", "memory_request", "creation_time"),
        RESEARCH,
    ),
}
EVENTS = {
    "pai-2020": Source("alibaba-gpu-v2020/pai.csv", ("hourofyear", "job_name"), "CC BY 4.0"),
    "pai-tasks-2020": Source(
        "alibaba-gpu-v2020/alibaba_trace_sub.head30000.csv.gz",
        ("arrival_s",),
        "CC BY 4.0 (the copy: none stated)",
    ),
    "google-2011": Source(
        "google-2011/derived-job_submits_per_5min.csv.gz", ("bin_start_s", "submits"), "CC BY 4.0"
    ),
}
PODS = (
    *("cpu_milli", "memory_mib", "num_gpu", "pod_phase"),
    *("creation_time", "deletion_time", "scheduled_time"),
)
JOBS = {
    "pai-2020": Source(
        "alibaba-gpu-v2020/alibaba_trace_sub.head30000.csv.gz",
        ("arrival_s", "service_sec", "gpu_count"),
        "CC BY 4.0 (the copy: none stated)",
    ),
    "philly": Source("philly/philly.csv.gz", ("timestamp", "duration", "num_gpus"), "CC BY 4.0"),
    "gpu-2023": Source("alibaba-gpu-v2023/openb_pod_list_gpuspec33.csv.gz", PODS, RESEARCH),
}
TPU_SLICES = Source(
    "tpu-slices/tpu_job_size.csv",
    ("slice id", "topology", "slice shape", "slice size", "duration", "probability"),
    "Jouppi et al., ISCA '23, table 2",
    header=False,
)


def machine_types(folder: Folder, name: str) -> tuple[MachineType, ...]:
    """Return the machine types of a source, commonest first."""
    source = MACHINES[choose(name, MACHINES, "machines")]
    rows = source.rows(folder)
    read = {"pai-2020": _pai_machine, "gpu-2023": _gpu_machine, "spot-2026": _spot_machine}[name]
    counts = Counter(read(row, f"{source.file}: row {i}") for i, row in enumerate(rows))
    return tuple(MachineType(*key, count) for key, count in _by_count(counts))


def requests(folder: Folder, name: str, *, constraints: bool = False) -> Requests:
    """Return the requests of a source and their classes, commonest class first.

    With ``constraints`` requests that differ only in the GPU models they allow are classes of their own.
    Requests for nothing at all are left out.
    """
    source = REQUESTS[choose(name, REQUESTS, "requests")]
    rows = source.rows(folder)
    read = {"gpu-2023": _pod, "v2018": _task, "dlrm-2025": _serving}[name]
    keys: list[tuple[float, float, float, tuple[str, ...]]] = []
    times = []
    for i, row in enumerate(rows):
        cpu, memory, gpu, allowed, time = read(row, f"{source.file}: row {i}")
        if cpu or memory or gpu:
            keys.append((cpu, memory, gpu, allowed if constraints else ()))
            times.append(time)
    ordered = _by_count(Counter(keys))
    place = {key: i for i, (key, _) in enumerate(ordered)}
    classes = tuple(RequestClass(cpu, gb, gpu, n, models) for (cpu, gb, gpu, models), n in ordered)
    return Requests(classes, np.array([place[key] for key in keys]), np.array(times))


def events(folder: Folder, name: str) -> Events:
    """Return the arrivals of a source that has no classes; the clocks start at midnight."""
    source = EVENTS[choose(name, EVENTS, "arrivals")]
    rows = source.rows(folder)
    start, *rest = (np.array(column(rows, title, source.file)) for title in source.columns)
    if name == "pai-tasks-2020":
        return Events(start + PAI_CLOCK, np.ones(len(start)), 0.0)
    count = rest[0]
    if name == "pai-2020":
        return Events(start * 3600, count, 3600.0)
    return Events(start + GOOGLE_CLOCK, count, 300.0)


def job_list(folder: Folder, name: str) -> JobList:
    """Return the jobs of a source that lists them, by submission, ties as they stand there.

    Of "gpu-2023" each pod is a job, a share of a GPU counts as one, and pods that never started or still ran
    when the trace ended are left out, since nobody knows how long they take. Jobs that take no time are left
    out of all sources.
    """
    source = JOBS[choose(name, JOBS, "source")]
    rows, where = source.rows(folder), source.file
    found = {"pai-2020": _pai_jobs, "philly": _philly_jobs, "gpu-2023": _pod_jobs}[name](rows, where)
    lasting = found.duration > 0.0
    if not lasting.all():
        found = _kept(found, lasting, f"{int((~lasting).sum()):,} that take no time")
    return _kept(found, np.argsort(found.submit, kind="stable"))


def pod_shapes(folder: Folder) -> dict[int, np.ndarray]:
    """Return cores and GB of the pods of 2023 by their number of GPUs, a share of one counting as one."""
    source = JOBS["gpu-2023"]
    pods: dict[int, list[tuple[float, float]]] = {}
    for i, row in enumerate(source.rows(folder)):
        cards, cores, memory = _pod_shape(row, f"{source.file}: row {i}")
        pods.setdefault(cards, []).append((cores, memory))
    return {cards: np.array(shapes) for cards, shapes in sorted(pods.items())}


def tpu_slices(folder: Folder) -> dict[int, float]:
    """Return the published share, in percent, of every TPU slice size in chips."""
    share: dict[int, float] = {}
    for i, row in enumerate(TPU_SLICES.rows(folder)):
        if row["slice id"].startswith("#"):
            continue
        where = f"{TPU_SLICES.file}: row {i}"
        size = int(number(row, "slice size", where, low=1))
        share[size] = share.get(size, 0.0) + number(row, "probability", where)
    return share


def _by_count(counts: Counter[Key]) -> list[tuple[Key, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], tuple(map(str, item[0]))))


def _pai_machine(row: dict[str, str], where: str) -> tuple[str, float, float | None, float]:
    return (
        row["gpu_type"],
        number(row, "cap_cpu", where),
        number(row, "cap_mem", where),
        number(row, "cap_gpu", where),
    )


def _gpu_machine(row: dict[str, str], where: str) -> tuple[str, float, float | None, float]:
    cores, memory = number(row, "cpu_milli", where) / 1000, number(row, "memory_mib", where) / 1024
    return row["model"] or "CPU", cores, round(memory, 4), number(row, "gpu", where)


def _spot_machine(row: dict[str, str], where: str) -> tuple[str, float, float | None, float]:
    return row["gpu_model"], number(row, "cpu_num", where), None, number(row, "gpu_capacity_num", where)


def _kept(found: JobList, which: np.ndarray, dropped: str | None = None) -> JobList:
    """Return some of the jobs: a mask or their places."""
    requests = None if found.requests is None else found.requests[which]
    left_out = found.dropped if dropped is None else (*found.dropped, dropped)
    return JobList(found.submit[which], found.duration[which], found.gpus[which], requests, left_out)


def _cards(row: dict[str, str], title: str, where: str, low: int) -> int:
    cards = number(row, title, where, low=low)
    if not cards.is_integer():
        raise InputError(f"{where}: {title}: {row[title]!r} is not a whole number")
    return int(cards)


def _pai_jobs(rows: list[dict[str, str]], file: str) -> JobList:
    submit, duration = (np.array(column(rows, title, file)) for title in ("arrival_s", "service_sec"))
    gpus = [_cards(row, "gpu_count", f"{file}: row {i}", 1) for i, row in enumerate(rows)]
    return JobList(submit, duration, np.array(gpus), None, ())


def _philly_jobs(rows: list[dict[str, str]], file: str) -> JobList:
    submit = np.array([_instant(row, "timestamp", f"{file}: row {i}") for i, row in enumerate(rows)])
    gpus = [_cards(row, "num_gpus", f"{file}: row {i}", 1) for i, row in enumerate(rows)]
    return JobList(submit, np.array(column(rows, "duration", file)), np.array(gpus), None, ())


def _instant(row: dict[str, str], title: str, where: str) -> float:
    """Return a date and time of day as seconds since 1970, the clock being that of the source."""
    try:
        return datetime.fromisoformat(row[title]).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise InputError(f"{where}: {title}: {row[title]!r} is no time like 2017-10-09 07:01:55") from error


def _pod_shape(row: dict[str, str], where: str) -> tuple[int, float, float]:
    """Return cards, cores and GB of a pod."""
    cores, memory = number(row, "cpu_milli", where) / 1000, number(row, "memory_mib", where) / 1024
    return _cards(row, "num_gpu", where, 0), round(cores, 3), round(memory, 3)


def _pod_jobs(rows: list[dict[str, str]], file: str) -> JobList:
    shapes, times = [], []
    end = max(column(rows, "deletion_time", file))
    waiting = running = 0
    for i, row in enumerate(rows):
        where = f"{file}: row {i}"
        shape, gone = _pod_shape(row, where), number(row, "deletion_time", where)
        if not row["scheduled_time"]:
            waiting += 1
        elif row["pod_phase"] == "Running" and gone == end:
            running += 1
        else:
            begin = number(row, "scheduled_time", where)
            times.append((number(row, "creation_time", where), max(0.0, gone - begin)))
            shapes.append(shape)
    table, time = np.array(shapes).reshape(-1, 3), np.array(times).reshape(-1, 2)
    counts = ((waiting, "that never started"), (running, "that still ran at the end"))
    dropped = tuple(f"{count:,} {what}" for count, what in counts if count)
    return JobList(time[:, 0], time[:, 1], table[:, 0].astype(np.int64), table[:, 1:], dropped)


Parsed = tuple[float, float, float, tuple[str, ...], float]


def _pod(row: dict[str, str], where: str) -> Parsed:
    cards = number(row, "num_gpu", where)
    share = number(row, "gpu_milli", where) / 1000 if cards == 1 else 1.0
    allowed = tuple(sorted({model for model in row["gpu_spec"].split("|") if model}))
    memory = round(number(row, "memory_mib", where) / 1024, 4)
    time = number(row, "creation_time", where)
    return number(row, "cpu_milli", where) / 1000, memory, cards * share, allowed, time


def _task(row: dict[str, str], where: str) -> Parsed:
    planned = {key: row[key] or "0" for key in ("plan_cpu", "plan_mem")}  # empty where nothing is planned
    cores, percent = (number(planned, key, where) for key in planned)
    return cores / 100, round(percent * V2018_MEMORY / 100, 4), 0.0, (), number(row, "start_time", where)


def _serving(row: dict[str, str], where: str) -> Parsed:
    size = [number(row, key, where) for key in ("cpu_request", "memory_request", "gpu_request")]
    time = number(row, "creation_time", where) if row["creation_time"] else np.nan
    return size[0], size[1], size[2], (), time


def shares(items: Sequence[MachineType] | Sequence[RequestClass]) -> np.ndarray:
    """Return the share of each type or class, adding up to one."""
    counts = np.array([item.count for item in items], dtype=np.float64)
    return counts / counts.sum()


def sampled(rng: np.random.Generator, items: Sequence[Item], count: int) -> list[Item]:
    """Draw types or classes by their shares; a larger count only adds to the list."""
    places = np.searchsorted(np.cumsum(shares(items)), rng.random(count), side="right")
    return [items[min(i, len(items) - 1)] for i in places]


def servers(
    rng: np.random.Generator, types: Sequence[MachineType], count: int, exact: bool = False
) -> list[MachineType]:
    """Draw types by their shares or, if ``exact``, in proportion (largest remainders) and random order."""
    if not exact:
        return sampled(rng, types, count)
    want = shares(types) * count
    number_of = np.floor(want).astype(np.int64)
    number_of[np.argsort(number_of - want, kind="stable")[: count - number_of.sum()]] += 1
    return [types[i] for i in rng.permutation(np.repeat(np.arange(len(types)), number_of))]


def amount(item: MachineType | RequestClass, kind: str) -> float:
    """Return the cores ("CPU"), GB ("MEM") or cards ("GPU") of a machine or a request.

    If the source does not say it, that is an InputError.
    """
    result = {"CPU": item.cpu, "MEM": item.memory, "GPU": item.gpu}[kind]
    if result is None:
        raise InputError(
            f"machines: the source gives no {kind} of its machines; leave that kind out of `kinds`"
        )
    return result


def may_run(request: RequestClass, machine: MachineType) -> bool:
    """Return whether a machine has GPUs if the request needs some, and of a model that the request allows."""
    if request.gpu > 0 and machine.gpu == 0:
        return False
    return not request.allowed or SAME_MODEL.get(machine.name, machine.name) in request.allowed


def commonest(found: Requests, count: int, name: str) -> tuple[RequestClass, ...]:
    """Return the commonest request classes of a source, one for each port, or raise if there are fewer."""
    if len(found.classes) < count:
        raise InputError(f"ports: {count} is more than the {len(found.classes)} request classes of {name}")
    return found.classes[:count]
