"""The front door with an overload per problem: written by .ci/doors.py, not by hand."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, overload

import numpy as np

from .models.admission.instance import AdmissionInstance
from .models.admission.schedule import Schedule as AdmissionSchedule
from .models.allocation.gang import AllocationGangInstance
from .models.allocation.instance import AllocationInstance
from .models.base import Episode, Instance, Violation
from .models.placement.instance import PlacementInstance
from .models.placement.schedule import Schedule as PlacementSchedule
from .models.selection.gang import SelectionGangInstance
from .models.selection.instance import SelectionInstance
from .online.base import Policy
from .online.play import Run
from .oracles.base import Optimum, ProgressCallback

ProblemName = Literal[
    "allocation", "allocation-gang", "selection", "selection-gang", "admission", "placement"
]

class OtherInstance(Protocol):
    """An instance of no problem of ours: those give its name as a literal, which is no such attribute."""

    problem: ClassVar[str]

    def episode(self, sees: frozenset[str]) -> Episode: ...
    def violations(self, decision: Any) -> list[Violation]: ...
    def digest(self) -> str: ...

@overload
def generate(
    problem: Literal["allocation"],
    size: str = "default",
    seed: int = 0,
    *,
    ports: int | None = None,
    servers: int | None = None,
    density: float | None = None,
    contention: float | None = None,
    utility: str | Mapping[str, float] = "mix",
    alpha: tuple[float, float] = (1.0, 1.5),
    overhead: tuple[float, float] | None = None,
    kinds: Sequence[str] | None = None,
    filled: bool = True,
    units: tuple[float, float] = (8.0, 64.0),
    integer: bool = False,
    slots: int | None = None,
    arrival_probability: float = 0.7,
    counts: bool = False,
    fano: float = 1.0,
    pattern: str = "flat",
    slots_per_day: int = 24,
    machines: str = "pai-2020",
    requests: str = "gpu-2023",
) -> AllocationInstance: ...
@overload
def generate(
    problem: Literal["allocation-gang"],
    size: str = "default",
    seed: int = 0,
    *,
    tasks: int = 2,
    floor: float = 0.5,
    minimum: int | None = None,
    ports: int | None = None,
    servers: int | None = None,
    density: float | None = None,
    contention: float | None = None,
    utility: str | Mapping[str, float] = "mix",
    alpha: tuple[float, float] = (1.0, 1.5),
    overhead: tuple[float, float] | None = None,
    kinds: Sequence[str] | None = None,
    filled: bool = True,
    units: tuple[float, float] = (8.0, 64.0),
    integer: bool = False,
    slots: int | None = None,
    arrival_probability: float = 0.7,
    counts: bool = False,
    fano: float = 1.0,
    pattern: str = "flat",
    slots_per_day: int = 24,
    machines: str = "pai-2020",
    requests: str = "gpu-2023",
) -> AllocationGangInstance: ...
@overload
def generate(
    problem: Literal["selection"],
    size: str = "default",
    seed: int = 0,
    *,
    ports: int | None = None,
    servers: int | None = None,
    density: float | None = None,
    noise: str = "clipped-normal",
    cost_scale: float = 0.1,
    slots: int | None = None,
    capacity: int | Sequence[int] | None = None,
    arrival_probability: float = 0.9,
    demand: tuple[int, int] = (1, 2),
    kinds: int | None = None,
) -> SelectionInstance: ...
@overload
def generate(
    problem: Literal["selection-gang"],
    size: str = "default",
    seed: int = 0,
    *,
    slots: int | None = None,
    ports: int | None = None,
    servers: int | None = None,
    kinds: int | None = None,
    tasks: tuple[int, int] | None = None,
    reach: int | None = None,
    demand: tuple[int, int] = (1, 2),
    capacity: tuple[int, int] | None = None,
    minimum: int | None = None,
    arrival_probability: float = 0.9,
    noise: str = "clipped-normal",
) -> SelectionGangInstance: ...
@overload
def generate(
    problem: Literal["admission"],
    size: str = "default",
    seed: int = 0,
    *,
    jobs: int | None = None,
    horizon: int | None = None,
    worker_machines: int | None = None,
    server_machines: int | None = None,
    fit: str = "feasible",
    longest: int = 15,
    priority: tuple[float, float] = (1.0, 100.0),
    classes: Sequence[float] = (0.1, 0.55, 0.35),
    swapped: bool = False,
) -> AdmissionInstance: ...
@overload
def generate(
    problem: Literal["placement"],
    size: str = "default",
    seed: int = 0,
    *,
    jobs: int | None = None,
    machines: int | None = None,
    cluster: str | None = None,
    rho: float | None = None,
    communication: float = 1.0,
    contention: float = 0.5,
    estimate_error: float | None = None,
    gpu_weight: float = 0.0,
    window: int = 64,
    price: float = 2.84,
) -> PlacementInstance: ...
@overload
def from_trace(
    problem: Literal["allocation"],
    folder: str | os.PathLike[str],
    *,
    machines: str = "pai-2020",
    arrivals: str | None = None,
    size: str = "default",
    slots: int | None = None,
    start: float | None = None,
    exact: bool = False,
    constraints: bool = True,
    thin: float = 1.0,
    seed: int = 0,
    ports: int | None = None,
    servers: int | None = None,
    density: float | None = None,
    contention: float | None = None,
    utility: str | Mapping[str, float] = "mix",
    alpha: tuple[float, float] = (1.0, 1.5),
    overhead: tuple[float, float] | None = None,
    kinds: Sequence[str] | None = None,
    filled: bool = True,
    units: tuple[float, float] = (8.0, 64.0),
    integer: bool = False,
    requests: str = "gpu-2023",
    slot_seconds: float = 3600.0,
    clip: bool = False,
) -> AllocationInstance: ...
@overload
def from_trace(
    problem: Literal["allocation-gang"],
    folder: str | os.PathLike[str],
    *,
    tasks: int = 2,
    floor: float = 0.5,
    minimum: int | None = None,
    machines: str = "pai-2020",
    arrivals: str | None = None,
    size: str = "default",
    slots: int | None = None,
    start: float | None = None,
    exact: bool = False,
    constraints: bool = True,
    thin: float = 1.0,
    seed: int = 0,
    ports: int | None = None,
    servers: int | None = None,
    density: float | None = None,
    contention: float | None = None,
    utility: str | Mapping[str, float] = "mix",
    alpha: tuple[float, float] = (1.0, 1.5),
    overhead: tuple[float, float] | None = None,
    kinds: Sequence[str] | None = None,
    filled: bool = True,
    units: tuple[float, float] = (8.0, 64.0),
    integer: bool = False,
    requests: str = "gpu-2023",
    slot_seconds: float = 3600.0,
    clip: bool = False,
) -> AllocationGangInstance: ...
@overload
def from_trace(
    problem: Literal["selection"],
    folder: str | os.PathLike[str],
    *,
    machines: str = "pai-2020",
    arrivals: str | None = None,
    size: str = "default",
    slots: int | None = None,
    start: float | None = None,
    exact: bool = False,
    constraints: bool = True,
    thin: float = 1.0,
    seed: int = 0,
    ports: int | None = None,
    servers: int | None = None,
    density: float | None = None,
    noise: str = "clipped-normal",
    cost_scale: float = 0.1,
    requests: str = "v2018",
    slot_seconds: float = 300.0,
    levels: int = 2,
    tightness: float = 0.25,
    kinds: Sequence[str] = ("CPU", "MEM", "GPU"),
) -> SelectionInstance: ...
@overload
def from_trace(
    problem: Literal["selection-gang"],
    folder: str | os.PathLike[str],
    *,
    tasks: tuple[int, int] = (2, 3),
    minimum: int | None = None,
    machines: str = "pai-2020",
    arrivals: str | None = None,
    size: str = "default",
    slots: int | None = None,
    start: float | None = None,
    exact: bool = False,
    constraints: bool = True,
    thin: float = 1.0,
    seed: int = 0,
    ports: int | None = None,
    servers: int | None = None,
    density: float | None = None,
    noise: str = "clipped-normal",
    cost_scale: float = 0.1,
    requests: str = "v2018",
    slot_seconds: float = 300.0,
    levels: int = 2,
    tightness: float = 0.25,
    kinds: Sequence[str] = ("CPU", "MEM", "GPU"),
) -> SelectionGangInstance: ...
@overload
def from_trace(
    problem: Literal["admission"],
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    horizon: int | None = None,
    worker_machines: int | None = None,
    server_machines: int | None = None,
    fit: str = "feasible",
    longest: int = 15,
    priority: tuple[float, float] = (1.0, 100.0),
    classes: Sequence[float] = (0.1, 0.55, 0.35),
    arrivals: str = "google-2011",
    machines: str = "ec2",
    size: str = "default",
    seed: int = 0,
    slot_seconds: float = 3600.0,
    start: float | None = None,
) -> AdmissionInstance: ...
@overload
def from_trace(
    problem: Literal["placement"],
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    machines: int | None = None,
    cluster: str | None = None,
    rho: float | None = None,
    communication: float = 1.0,
    contention: float = 0.5,
    estimate_error: float | None = None,
    gpu_weight: float = 0.0,
    window: int = 64,
    price: float = 2.84,
    source: str = "pai-2020",
    size: str = "default",
    seed: int = 0,
    first: int = 0,
) -> PlacementInstance: ...
@overload
def load(path: str | os.PathLike[str], problem: Literal["allocation"]) -> AllocationInstance: ...
@overload
def load(path: str | os.PathLike[str], problem: Literal["allocation-gang"]) -> AllocationGangInstance: ...
@overload
def load(path: str | os.PathLike[str], problem: Literal["selection"]) -> SelectionInstance: ...
@overload
def load(path: str | os.PathLike[str], problem: Literal["selection-gang"]) -> SelectionGangInstance: ...
@overload
def load(path: str | os.PathLike[str], problem: Literal["admission"]) -> AdmissionInstance: ...
@overload
def load(path: str | os.PathLike[str], problem: Literal["placement"]) -> PlacementInstance: ...
@overload
def load(path: str | os.PathLike[str], problem: None = None) -> Instance: ...
@overload
def solve(
    instance: AllocationInstance,
    oracle: Literal["stationary", "allocation/stationary"] | None = None,
    *,
    method: Literal["interior point", "cvxpy"] = "interior point",
    gap: float = 1e-08,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]: ...
@overload
def solve(
    instance: AllocationInstance,
    oracle: Literal["dynamic", "allocation/dynamic"],
    *,
    gap: float = 1e-08,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]: ...
@overload
def solve(
    instance: AllocationGangInstance,
    oracle: Literal["gang", "allocation-gang/gang"] | None = None,
    *,
    gap: float = 1e-06,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]: ...
@overload
def solve(
    instance: SelectionInstance,
    oracle: Literal["clairvoyant", "selection/clairvoyant"] | None = None,
    *,
    method: Literal["dp", "highs", "cp-sat"] = "dp",
    gap: float = 1e-08,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]: ...
@overload
def solve(
    instance: SelectionGangInstance,
    oracle: Literal["gang", "selection-gang/gang"] | None = None,
    *,
    method: Literal["highs", "cp-sat"] = "highs",
    gap: float = 1e-08,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[np.ndarray]: ...
@overload
def solve(
    instance: AdmissionInstance,
    oracle: Literal["offline", "admission/offline"] | None = None,
    *,
    method: Literal["auto", "branch-and-price", "highs", "cp-sat", "lagrangian"] = "auto",
    gap: float = 1e-06,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[AdmissionSchedule]: ...
@overload
def solve(
    instance: PlacementInstance,
    oracle: Literal["offline", "placement/offline"] | None = None,
    *,
    method: Literal["auto", "search", "branch-and-bound", "cp-sat", "program", "enumeration"] = "auto",
    gap: float = 1e-06,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum[PlacementSchedule]: ...
@overload
def solve(
    instance: OtherInstance,
    oracle: str | None = None,
    *,
    method: str = ...,
    gap: float = ...,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Optimum: ...
def play(
    policy: str | Policy,
    instance: Instance,
    seed: int = 0,
    *,
    keep_decisions: bool = False,
    enforce: bool = True,
    progress: Callable[[int], None] | None = None,
    isolated: bool = False,
) -> Run: ...
def make_policy(text: str, problem: str | None = None) -> Any: ...
