"""What a policy of the admission problem may know: setting, observations and feedback (Sec. III of OASiS).

Slots have numbers 1, ..., T, as in the paper; jobs, machines and resources count from 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base import InputError, frozen
from ..draw import real
from ..fields import Field, Kind, Number, Record, Sizes
from .jobs import UNIT, Job, units


@dataclass(frozen=True, eq=False)
class Setting:
    """What a policy may know before it starts; every array is read-only."""

    horizon: int
    resources: tuple[str, ...]
    worker_servers: np.ndarray
    parameter_servers: np.ndarray

    @cached_property
    def worker_units(self) -> np.ndarray:
        """``worker_servers`` in whole multiples of 1e-6, shape (H, R)."""
        return units(self.worker_servers)

    @cached_property
    def server_units(self) -> np.ndarray:
        """``parameter_servers`` in whole multiples of 1e-6, shape (K, R)."""
        return units(self.parameter_servers)

    @cached_property
    def worker_total(self) -> np.ndarray:
        """What all machines for workers have of each resource, shape (R,)."""
        return frozen(self.worker_units.sum(axis=0) / UNIT)

    @cached_property
    def server_total(self) -> np.ndarray:
        """What all machines for parameter servers have of each resource, shape (R,)."""
        return frozen(self.server_units.sum(axis=0) / UNIT)

    def worker_share(self, job: Job) -> np.ndarray:
        """w~_i^r: a worker's share of what all machines have, shape (R,); infinite where they have none."""
        return _share(job.worker_demand, self.worker_total)

    def server_share(self, job: Job) -> np.ndarray:
        """s~_i^r: a parameter server's share of what all machines have, shape (R,)."""
        return _share(job.server_demand, self.server_total)

    def worker_room(self, job: Job) -> np.ndarray:
        """How many workers of the job fit on each empty machine, at most N, shape (H,)."""
        return room(self.worker_units, job.worker_units, job.chunks)

    def server_room(self, job: Job) -> np.ndarray:
        """How many parameter servers of the job fit on each empty machine, at most N, shape (K,)."""
        return room(self.server_units, job.server_units, job.chunks)

    def most_workers(self, job: Job) -> int:
        """Return the most workers of the job that run in a slot of the empty cluster under (3)-(7)."""
        if job.worker_bandwidth > job.server_bandwidth:
            return 0
        return _most(job, self.worker_room(job), self.server_room(job))

    def why_never(self, job: Job) -> str | None:
        """Say why a job can never finish, even alone; ``None`` if it can."""
        slots = self.horizon - job.arrival + 1
        if job.worker_bandwidth > job.server_bandwidth:
            return "a worker has more bandwidth than a parameter server"
        rooms = {"worker": self.worker_room(job), "parameter server": self.server_room(job)}
        for what, room in rooms.items():
            if not room.any():
                return f"no machine holds a {what}"
        most = _most(job, *rooms.values())
        if most * slots < job.work:
            return f"{job.work} worker-slots of work, at most {most} in each of the {slots} slots left"
        return None

    def largest_share(self, job: Job) -> float:
        """Return the largest share of a resource of a machine that the job can take in a slot."""
        sides = (
            (self.worker_room(job), self.worker_units, job.worker_units),
            (self.server_room(job), self.server_units, job.server_units),
        )
        taken = [room[:, None] * need / np.maximum(has, 1) for room, has, need in sides]
        return float(max((t.max(initial=0.0) for t in taken), default=0.0))


def _most(job: Job, workers: np.ndarray, servers: np.ndarray) -> int:
    """Return the most workers that run in a slot where so many of both fit on each machine."""
    least = job.servers_for[: min(job.chunks, int(workers.sum())) + 1]
    return int(least.searchsorted(servers.sum(), side="right")) - 1


def _share(demand: np.ndarray, total: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(demand > 0.0, demand / total, 0.0)


def room(capacity: np.ndarray, demand: np.ndarray, most: int) -> np.ndarray:
    """Return how many times whole demands fit on each machine, at most ``most``, shape (machines,)."""
    from .kernels import room as counted

    result: np.ndarray = counted(capacity, demand, most)
    return result


@dataclass(frozen=True, eq=False)
class PriceRange:
    """Logarithms of U and L, infinite where files have null, and how large a job is beside a machine."""

    upper_workers: np.ndarray
    upper_servers: np.ndarray
    lower_workers: float
    lower_servers: float
    floor_workers: float
    floor_servers: float
    share: float

    def lower(self, floor: bool) -> tuple[float, float]:
        """Return ln L_1 and ln L_2, with or without the floor."""
        if floor:
            return self.floor_workers, self.floor_servers
        return self.lower_workers, self.lower_servers

    def alpha(self, floor: bool = False) -> float:
        """Return alpha = max(1, ln U_1^r / L_1, ln U_2^r / L_2) of Theorem 4."""
        pairs = zip((self.upper_workers, self.upper_servers), self.lower(floor), strict=True)
        spans = [upper - low for uppers, low in pairs for upper in uppers if np.isfinite(upper)]
        return float(max(1.0, *spans)) if spans else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; null stands for what no job asks for."""
        return PRICES.write(self)


@dataclass(frozen=True)
class Logarithm(Kind):
    """A logarithm, or a list of them, one per resource; null stands for what no job asks for."""

    missing: float
    listed: bool = False

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the number, or an array."""
        if not self.listed:
            return self.missing if value is None else real(where, value, -math.inf)
        if not isinstance(value, list | tuple) or len(value) != sizes["R"]:
            raise InputError(f"{where}: {value!r} is not a list of {sizes['R']} numbers")
        one = Logarithm(self.missing)
        return frozen(np.array([one.read(v, f"{where}[{r}]", sizes) for r, v in enumerate(value)]))

    def write(self, value: Any) -> Any:
        """Return the number or the list, null where there is none."""
        found = [float(v) if np.isfinite(v) else None for v in np.atleast_1d(value)]
        return found if self.listed else found[0]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        one = {"type": ["number", "null"]}
        return {"type": "array", "items": one} if self.listed else one


UPPER, LOWER = Logarithm(-math.inf, listed=True), Logarithm(math.inf)
PRICES = Record(
    Field(
        "upper_workers",
        UPPER,
        "[R], logarithms of the highest prices of workers; null where nobody asks for the resource",
    ),
    Field("upper_servers", UPPER, "[R], those of parameter servers"),
    Field("lower_workers", LOWER, "logarithm of the lowest price of workers without the floor, or null"),
    Field("lower_servers", LOWER, "that of parameter servers"),
    Field("floor_workers", LOWER, "logarithm of the lowest price of workers with the floor, or null"),
    Field("floor_servers", LOWER, "that of parameter servers"),
    Field("share", Number(high=1.0), "the largest share of a machine that a job takes in a slot"),
    make=PriceRange,
)


@dataclass(frozen=True)
class Observation:
    """What a policy sees before it decides.

    Attributes
    ----------
    slot
        t, from 1.
    jobs
        The jobs that arrive in this slot, in order.
    announced
        U and L of all jobs, those yet to come included; only for a policy that declares to see "announced".
    """

    slot: int
    jobs: tuple[Job, ...]
    announced: PriceRange | None


@dataclass(frozen=True)
class Feedback:
    """What a policy learns after its decision: the slot, and the jobs whose work was done in it."""

    slot: int
    completed: tuple[int, ...]
