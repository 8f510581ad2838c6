"""Training jobs: exact work and numbers of parameter servers, sigmoid utilities (Secs. III and V.A)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..base import frozen
from ..fields import Field, Number, Record, complete

MOST_CHUNKS = 10_000
LARGEST = 1e9
"""The largest amount, time, size, bandwidth and priority; the smallest bandwidth is its inverse."""

DECIMALS = 6
UNIT = 10**DECIMALS
"""Amounts of resources are whole multiples of 1 / UNIT, so that sums of them are exact."""

INSENSITIVE, SENSITIVE, CRITICAL = "insensitive", "sensitive", "critical"
CLASSES = (INSENSITIVE, SENSITIVE, CRITICAL)
"""The utility classes of Sec. V.A: decay 0, decay below :data:`CRITICAL_DECAY`, and the rest."""

CRITICAL_DECAY = 4.0


def exact(value: float) -> Fraction:
    """Return a number as its shortest decimal says it: 0.1 is 1/10."""
    return Fraction(repr(float(value)))


def units(array: np.ndarray) -> np.ndarray:
    """Return amounts as whole multiples of 1e-6, read-only."""
    return frozen(np.rint(array * UNIT).astype(np.int64))


AMOUNT: dict[str, Any] = {"high": LARGEST, "unit": UNIT}
COUNT: dict[str, Any] = {"low": 1, "high": LARGEST, "integer": True}
BANDWIDTH = Number(low=1.0 / LARGEST, high=LARGEST)
"""What is divided by is so large that quotients, and so work, are finite."""


JOB = Record(
    Field("arrival", Number(low=1, high="T", integer=True), "the first slot in which it may run"),
    Field("epochs", Number(**COUNT), "E: how often the data is trained"),
    Field(
        "chunks", Number(low=1, high=MOST_CHUNKS, integer=True), "N: chunks of data; at most N workers run"
    ),
    Field("minibatches", Number(**COUNT), "M: mini-batches in a chunk"),
    Field("minibatch_time", Number(high=LARGEST), "slots that a worker takes for a mini-batch"),
    Field(
        "gradient_size",
        Number(high=LARGEST),
        "size of the gradients of a mini-batch, in the unit of bandwidth times slots",
    ),
    Field("worker_bandwidth", BANDWIDTH, "b, of a worker"),
    Field("server_bandwidth", BANDWIDTH, "B, of a parameter server"),
    Field("worker_demand", Number(("R",), **AMOUNT), "what a worker takes of each resource"),
    Field("server_demand", Number(("R",), **AMOUNT), "what a parameter server takes of each resource"),
    Field("utility.priority", Number(high=LARGEST, above=True), "gamma1"),
    Field("utility.decay", Number(high=LARGEST), "gamma2"),
    Field("utility.target", Number(high=LARGEST), "gamma3"),
)


@dataclass(frozen=True, eq=False)
class Job:
    """One training job, as it is known from its arrival on; every array is read-only.

    If it is done ``delay`` slots after its arrival it earns gamma1 / (1 + exp(gamma2 (delay - gamma3))).

    Attributes
    ----------
    index
        Its place in the order of arrival, from 0; jobs of the same slot stand in the order of the instance.
    """

    index: int
    arrival: int
    epochs: int
    chunks: int
    minibatches: int
    minibatch_time: float
    gradient_size: float
    worker_bandwidth: float
    server_bandwidth: float
    worker_demand: np.ndarray
    server_demand: np.ndarray
    priority: float
    decay: float
    target: float

    @cached_property
    def chunk_time(self) -> Fraction:
        """Worker-slots that a chunk takes in an epoch, m = M (tau + 2 e / b), exactly."""
        round_trip = 2 * exact(self.gradient_size) / exact(self.worker_bandwidth)
        return self.minibatches * (exact(self.minibatch_time) + round_trip)

    @cached_property
    def work(self) -> int:
        """W = ceil(E N m): worker-slots until the job is done (2), exactly."""
        return math.ceil(self.epochs * self.chunks * self.chunk_time)

    @cached_property
    def shortest(self) -> int:
        """ceil(W / N) = ceil(E m): slots that the job takes with all its workers."""
        return -(-self.work // self.chunks)

    @cached_property
    def servers_for(self) -> np.ndarray:
        """ceil(y b / B) for y = 0, ..., N: parameter servers that y workers need (6), shape (N + 1,)."""
        ratio = exact(self.worker_bandwidth) / exact(self.server_bandwidth)
        p, q = ratio.numerator, ratio.denominator
        table = [min(-(-y * p // q), MOST_CHUNKS + 1) for y in range(self.chunks + 1)]
        return frozen(np.array(table, dtype=np.int64))

    @cached_property
    def worker_units(self) -> np.ndarray:
        """``worker_demand`` in whole multiples of 1e-6, shape (R,)."""
        return units(self.worker_demand)

    @cached_property
    def server_units(self) -> np.ndarray:
        """``server_demand`` in whole multiples of 1e-6, shape (R,)."""
        return units(self.server_demand)

    @property
    def kind(self) -> str:
        """Its utility class: "insensitive", "sensitive" or "critical"."""
        return INSENSITIVE if self.decay == 0.0 else SENSITIVE if self.decay < CRITICAL_DECAY else CRITICAL

    def utility(self, delay: Any) -> Any:
        """Return f_i(delay), where the delay is completion slot minus arrival slot; arrays are welcome."""
        x = self.decay * (np.asarray(delay, dtype=np.float64) - self.target)
        small = np.exp(-abs(x))
        value = self.priority * np.where(x >= 0.0, small, 1.0) / (1.0 + small)
        return value if np.ndim(delay) else float(value)

    def log_utility(self, delay: float) -> float:
        """Return ln f_i(delay), which does not underflow."""
        return math.log(self.priority) - float(np.logaddexp(0.0, self.decay * (delay - self.target)))

    def utilities(self, horizon: int) -> np.ndarray:
        """Return f_i for completion in the slots a_i, ..., T, shape (T - a_i + 1,)."""
        return self.utility(np.arange(horizon - self.arrival + 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return JOB.write(self)

    @classmethod
    def from_dict(cls, data: Any, index: int, resources: int, horizon: int) -> Job:
        """Read the JSON form of ``jobs[index]`` of an instance; refuse wrong fields by name."""
        return cls(index=index, **JOB.read(data, f"jobs[{index}]", {"R": resources, "T": horizon}))


@dataclass(frozen=True, eq=False)
class Rest(Job):
    """What is left of a job in some slot, as a job that arrives then; it earns as much when it is done.

    Of the fields that only its work depends on, those of the whole job stand here.
    """

    left: int  # worker-slots of work

    @classmethod
    def of(cls, job: Job, slot: int, left: int) -> Rest:
        """Return what is left from a slot on, not before the arrival: ``left`` worker-slots, at least 1."""
        known = {field.name: getattr(job, field.name) for field in fields(Job)}
        return cls(**known | {"arrival": slot, "target": job.target - (slot - job.arrival)}, left=left)

    @cached_property
    def work(self) -> int:
        """Worker-slots until it is done."""
        return self.left


complete(Job, JOB)
