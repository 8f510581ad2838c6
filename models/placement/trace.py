"""Instances from traces: jobs of a real cluster on machines of 8 GPUs; what the trace lacks is drawn."""

from __future__ import annotations

import os
from typing import Annotated, NamedTuple, Unpack

import numpy as np

from .. import sources
from ..base import InputError, Origin
from ..draw import takes, whole
from ..sources import JobList
from .generate import (
    ASSUMED,
    GPUS,
    Options,
    Size,
    draw_estimates,
    draw_intensities,
    gang_law,
    instances_that_fit,
    origin_of_estimates,
    origin_of_machines,
    planned,
    span,
    stream,
    stretched,
)
from .instance import PlacementInstance
from .jobs import RESOURCES


class TraceOptions(Options, total=False):
    """Options of :func:`from_trace` besides the folder, with their defaults."""

    source: Annotated[str, "pai-2020"]
    size: Annotated[str, "default", '"tiny", "default" or "large": sets what is not given otherwise.']
    seed: Annotated[int, 0]
    first: Annotated[int, 0, "The first of the jobs that fit, >= 0."]


@takes(TraceOptions)
def from_trace(folder: str | os.PathLike[str], **options: Unpack[TraceOptions]) -> PlacementInstance:
    """Make an instance from a folder of traces; ``origin`` lists what is real and what is filled.

    The jobs of the source are sorted by submission and those left out that do not fit on the empty reference
    cluster (that of the size, or fewer ``machines``); ``jobs`` of the others are taken from number ``first``
    on, so that instances whose ranges do not overlap share no job if the seed is the same. The first of them
    is submitted at time 0. What is filled:

    - "pai-2020": GPUs of an instance, by how likely they and the number of instances are given their product;
      cores and memory, those of a pod of 2023 with as many GPUs.
    - "philly": one GPU for each instance; cores and memory as above.
    - "gpu-2023": nothing; a pod is a job of one instance. Some need no GPU; a share of a GPU is counted as a
      whole one. The first 7 % of the pods are spread over four months, the others over one.

    A pod is drawn among those with which the job fits on the reference cluster.

    Parameters
    ----------
    source
        "pai-2020" (Alibaba's PAI), "philly" (Microsoft) or "gpu-2023" (pods at Alibaba).
    cluster, estimate_error, gpu_weight, window, price
        As in :func:`.generate.generate`.
    rho
        The load on the reference cluster, > 0: the time axis is scaled accordingly. By default it stays as
        recorded. "pai-2020" holds 8.2 % of all tasks: the whole cluster had 12.2 times its load.
    """
    plan = planned(options["size"], options["seed"], options)
    source, seed, preset, count = options["source"], plan.seed, plan.preset, plan.jobs
    start = whole("first", options["first"], 0)
    found = sources.job_list(folder, source)
    filled = _filled(folder, source, found, seed, preset, min(plan.machines, preset.machines))
    kept = np.flatnonzero(filled.fits)
    if start + count > len(kept):
        raise InputError(
            f"jobs: {count} from number {start} on are more than the {len(kept)} of {source} that fit"
        )
    mine = kept[start : start + count]
    gpu_seconds = float((found.gpus[mine] * found.duration[mine]).sum())
    submits, scaled = _submissions(found.submit[mine], gpu_seconds, preset, plan.rho)
    (real_machines, assumed), notes = origin_of_machines(preset), origin_of_estimates(plan.sigma)
    which = f"jobs {start} to {start + count - 1}" if count else "no jobs"
    origin = Origin(
        f"trace ({source}, {which}, seed {seed})",
        real=(*real_machines, f"jobs: {REAL[source]} of {sources.JOBS[source].file}"),
        filled=(*assumed, *filled.notes, *_left_out(found, kept), *scaled, *notes, *ASSUMED),
    )
    return plan.instance(_rows(found, filled, mine, submits, seed, plan.sigma), origin)


REAL = {
    "pai-2020": "order, submission (the start of the task), duration and GPUs",
    "philly": "order, submission, duration and GPUs",
    "gpu-2023": "order, submission, duration (from start to deletion), GPUs, cores and memory",
}
"""The real columns of the jobs of each source."""


class Filled(NamedTuple):
    """Instances and their needs of all jobs of a source, whether they fit, and what ``origin`` says of them.

    ``instances`` and ``fits`` have shape (n,), ``need`` (GPUs, cores and GB of each instance) has (n, 3).
    """

    instances: np.ndarray
    need: np.ndarray
    fits: np.ndarray
    notes: tuple[str, ...]


def _filled(
    folder: str | os.PathLike[str], source: str, found: JobList, seed: int, preset: Size, machines: int
) -> Filled:
    if found.requests is not None:
        need = np.column_stack([found.gpus, found.requests])
        fits = instances_that_fit(need, preset.machine, machines) >= 1
        return Filled(
            np.ones(len(need), dtype=np.int64),
            need,
            fits,
            ("GPUs: a share of one is counted as a whole one",),
        )
    uniforms = stream(seed, "pods").random((len(found.gpus), 2))
    pods = {
        gpus: _sorted_pods(gpus, shapes, preset, machines)
        for gpus, shapes in sources.pod_shapes(folder).items()
        if gpus in GPUS
    }
    if 1 not in pods:
        raise InputError(f"{sources.JOBS['gpu-2023'].file}: no pod with one GPU")
    law = GPUS if source == "pai-2020" else {1: 1.0}
    gpus = _gpus_of_instances(found.gpus, law, pods, uniforms[:, 0])
    fits = gpus > 0
    instances = found.gpus // np.maximum(gpus, 1)
    need = np.zeros((len(gpus), 3))
    need[:, 0] = gpus
    for g, (most, shapes) in pods.items():
        mine = np.flatnonzero(gpus == g)
        choices = np.searchsorted(-most, -instances[mine], side="right")
        need[mine, 1:] = shapes[(uniforms[mine, 1] * choices).astype(np.int64)]
    split = (
        "GPUs of an instance: 1, 2, 4 or 8, by how likely they and the number of instances are"
        if source == "pai-2020"
        else "GPUs of an instance: 1"
    )
    pod = f"cores and memory of an instance: of a pod with as many GPUs of {sources.JOBS['gpu-2023'].file}"
    return Filled(instances, need, fits, (split, pod))


def _sorted_pods(gpus: int, shapes: np.ndarray, preset: Size, machines: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many instances like each pod fit, the most first, and cores and GB of each."""
    most = instances_that_fit(np.column_stack([np.full(len(shapes), gpus), shapes]), preset.machine, machines)
    order = np.argsort(-most, kind="stable")
    return most[order], shapes[order]


def _gpus_of_instances(
    total: np.ndarray,
    law: dict[int, float],
    pods: dict[int, tuple[np.ndarray, np.ndarray]],
    uniforms: np.ndarray,
) -> np.ndarray:
    """Draw the GPUs of each instance given those of the job; 0 if it does not fit, shape (n,).

    The probability of g GPUs is that of g times that of total / g instances, where g divides the total and
    there is a pod of g GPUs with which that many instances fit.
    """
    _, cumulated = gang_law(None)
    share = np.diff(cumulated, prepend=[0.0, 0.0])  # by size, from 0
    weights = np.zeros((len(law), len(total)))
    for row, (g, probability) in enumerate(law.items()):
        instances = total // g
        possible = (total % g == 0) & (instances <= (pods[g][0][0] if g in pods else 0))
        weights[row, possible] = probability * (share[instances[possible]] if len(law) > 1 else 1.0)
    cumulated = np.cumsum(weights, axis=0)
    place = (uniforms * cumulated[-1] >= cumulated).sum(axis=0)
    return np.array([*law, 0])[np.where(cumulated[-1] > 0.0, place, len(law))]


def _submissions(
    times: np.ndarray, gpu_seconds: float, preset: Size, rho: float | None
) -> tuple[list[float], tuple[str, ...]]:
    """Return the times of submission from 0 on, scaled to a given load if any, and what ``origin`` says."""
    since = times - times[:1]
    if rho is None or not len(since):
        return stretched(since, float(since[-1]) if len(since) else 0.0), ()
    last = span(gpu_seconds, preset.machines * preset.machine["gpus"], rho)
    if since[-1] == 0.0 or last == 0.0:
        raise InputError(f"rho: {rho!r}: the load of these jobs cannot be set: they take no GPUs or no time")
    text = f"submissions: times {last / since[-1]:.4g}, such that the load on {preset.machines} machines is "
    return stretched(since, last), (f"{text}{rho:g}",)


def _left_out(found: JobList, kept: np.ndarray) -> tuple[str, ...]:
    large = len(found.submit) - len(kept)
    dropped = list(found.dropped)
    if large:
        dropped.append(f"{large:,} of {len(found.submit):,} that are too large for the cluster")
    return (f"jobs left out: {', '.join(dropped)}",) if dropped else ()


def _rows(
    found: JobList, filled: Filled, mine: np.ndarray, submits: list[float], seed: int, sigma: float | None
) -> list[dict[str, float]]:
    """Return the jobs in their JSON form; what is drawn of a job depends on its place in the source."""
    durations = np.maximum(np.round(found.duration, 3), 0.001)
    intensities = draw_intensities(seed, len(durations))
    estimates = draw_estimates(seed, durations, sigma)
    instances = filled.instances[mine].tolist()
    result = []
    for i, row in enumerate(mine.tolist()):
        job = {"submit": submits[i], "duration": durations[row].item(), "instances": instances[i]}
        job |= estimates[row]
        job |= dict(zip(RESOURCES, filled.need[row].tolist(), strict=True))
        result.append(job | {"gpus": int(filled.need[row, 0]), "intensity": intensities[row]})
    return result
