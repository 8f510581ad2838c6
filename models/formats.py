"""The published formats that are read by name: what each is, where it is from, and what is read of it."""

from __future__ import annotations

from typing import NamedTuple

from .sources import EVENTS, JOBS, MACHINES, REQUESTS, Source


class Format(NamedTuple):
    """A published format.

    Attributes
    ----------
    about
        What it holds.
    where
        Who publishes it, under which name.
    files
        The files that are read, where they lie in the folder of traces; "" where any file is of the format.
    filled
        What it does not say, and what stands for it.
    """

    about: str
    where: str
    files: tuple[Source, ...]
    filled: str


PODS = JOBS["gpu-2023"]
FORMATS = {
    "alibaba-2018": Format(
        "tasks of batch jobs, with planned cores and memory, on machines without GPUs",
        "alibaba/clusterdata on GitHub, cluster-trace-v2018",
        (REQUESTS["v2018"], MACHINES["pai-2020"], REQUESTS["gpu-2023"]),
        "machines are those of alibaba-gpu-2020; GPUs, utilities, edges and means are drawn",
    ),
    "alibaba-gpu-2020": Format(
        "training tasks on the GPU cluster PAI: start, duration and GPUs; its machines",
        "alibaba/clusterdata on GitHub, cluster-trace-gpu-v2020",
        (JOBS["pai-2020"], MACHINES["pai-2020"], EVENTS["pai-2020"], PODS),
        "cores and memory of jobs are those of pods of alibaba-gpu-2023; of jobs to admit all but the slots",
    ),
    "alibaba-gpu-2023": Format(
        "pods with GPUs, shares of GPUs, cores, memory and times; machines of a cluster of many GPU models",
        "alibaba/clusterdata on GitHub, cluster-trace-gpu-v2023",
        (MACHINES["gpu-2023"], REQUESTS["gpu-2023"], PODS),
        "as jobs nothing; as requests utilities, edges and means are drawn",
    ),
    "google-2011": Format(
        "how many jobs were submitted in every five minutes, counted from all job events",
        "google/cluster-data on GitHub, ClusterData2011_2",
        (EVENTS["google-2011"],),
        "all but the slots of jobs is drawn; machines are of Amazon EC2",
    ),
    "philly": Format(
        "training jobs on a GPU cluster: submission, duration and GPUs",
        "msr-fiddle/philly-traces on GitHub, as a table of timestamp, duration and num_gpus",
        (JOBS["philly"], PODS),
        "one GPU for each instance; cores and memory are those of pods of alibaba-gpu-2023",
    ),
    "swf": Format(
        "the Standard Workload Format: logs of parallel machines, a job per line of 18 fields",
        "Parallel Workloads Archive, Hebrew University of Jerusalem",
        (
            Source(
                "",
                (
                    *("submit time", "run time", "allocated processors", "requested processors"),
                    *("requested time", "status"),
                ),
                "as each log states; cite those who gave it",
                header=False,
            ),
        ),
        "a processor is an instance with one core, or one GPU (option processors); machines are MaxNodes and "
        "MaxProcs of the header if none are given",
    ),
}
"""What ``from_table(..., format=NAME)`` reads, by name; the record of a problem says which it knows."""
