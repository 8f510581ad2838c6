"""Training jobs: exact work and numbers of parameter servers, sigmoid utilities (Secs. III and V.A)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..base import InputError, frozen, need, numbers, refuse_unknown
from ..draw import real, whole

MOST_CHUNKS = 10_000
LARGEST = 1e9
"""The largest amount, time, size, bandwidth and priority; the smallest bandwidth is its inverse."""

DECIMALS = 6
UNIT = 10**DECIMALS
"""Amounts of resources are whole multiples of 1 / UNIT, so that sums of them are exact."""

FIELDS = (
    *("arrival", "epochs", "chunks", "minibatches", "minibatch_time", "gradient_size"),
    *("worker_bandwidth", "server_bandwidth", "worker_demand", "server_demand", "utility"),
)
INSENSITIVE, SENSITIVE, CRITICAL = "insensitive", "sensitive", "critical"
CLASSES = (INSENSITIVE, SENSITIVE, CRITICAL)
"""The utility classes of Sec. V.A: decay 0, decay below :data:`CRITICAL_DECAY`, and the rest."""

CRITICAL_DECAY = 4.0


def exact(value: float) -> Fraction:
    """Return a number as its shortest decimal says it: 0.1 is 1/10."""
    return Fraction(repr(float(value)))


def units(array: np.ndarray, field: str) -> np.ndarray:
    """Return amounts as whole multiples of 1e-6, read-only.

    Raises
    ------
    InputError
        For an amount with more than six decimals, naming field, index and value.
    """
    scaled = np.rint(array * UNIT)
    for index in np.argwhere(scaled / UNIT != array)[:1]:
        where = "".join(f"[{i}]" for i in index)
        raise InputError(f"{field}{where}: {float(array[tuple(index)])!r} has more than {DECIMALS} decimals")
    result: np.ndarray = scaled.astype(np.int64)
    result.setflags(write=False)
    return result


@dataclass(frozen=True, eq=False)
class Job:
    r"""One training job, as it is known from its arrival on; every array is read-only.

    Attributes
    ----------
    index
        Its place in the order of arrival, from 0; jobs of the same slot stand in the order of the instance.
    arrival
        a_i, the first slot in which it may run, from 1 to the horizon.
    epochs, chunks, minibatches
        E_i, N_i and M_i: how often the data is trained, data chunks, mini-batches per chunk. No more than
        N_i workers run at a time.
    minibatch_time
        tau_i: slots that a worker takes for a mini-batch.
    gradient_size
        e_i: size of the gradients of a mini-batch, in bandwidth unit times slots.
    worker_bandwidth, server_bandwidth
        b_i of a worker and B_i of a parameter server.
    worker_demand, server_demand
        w_i^r and s_i^r: what a worker and a parameter server take of each resource, shape (R,).
    priority, decay, target
        gamma_1, gamma_2 and gamma_3 of the utility gamma_1 / (1 + exp(gamma_2 (delay - gamma_3))).
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
        return units(self.worker_demand, f"jobs[{self.index}].worker_demand")

    @cached_property
    def server_units(self) -> np.ndarray:
        """``server_demand`` in whole multiples of 1e-6, shape (R,)."""
        return units(self.server_demand, f"jobs[{self.index}].server_demand")

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
        result: np.ndarray = self.utility(np.arange(horizon - self.arrival + 1))
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        data = {name: getattr(self, name) for name in FIELDS[:-3]}
        for name in ("worker_demand", "server_demand"):
            data[name] = getattr(self, name).tolist()
        return {**data, "utility": {name: getattr(self, name) for name in ("priority", "decay", "target")}}

    @classmethod
    def from_dict(cls, data: Any, index: int, resources: int, horizon: int) -> Job:
        """Read the JSON form of the job that the instance calls ``jobs[index]``.

        Raises
        ------
        InputError
            Naming the field, the index and the value at fault.
        """
        at = f"jobs[{index}]"
        if not isinstance(data, Mapping):
            raise InputError(f"{at}: {data!r} is not an object")
        refuse_unknown(data, set(FIELDS), f"{at}.")
        values = {name: need(data, name, f"{at}.") for name in FIELDS}
        utility = values.pop("utility")
        if not isinstance(utility, Mapping):
            raise InputError(f"{at}.utility: {utility!r} is not an object")
        refuse_unknown(utility, {"priority", "decay", "target"}, f"{at}.utility.")
        priority, decay, target = (
            real(f"{at}.utility.{name}", need(utility, name, f"{at}.utility."), 0.0, LARGEST) + 0.0
            for name in ("priority", "decay", "target")
        )
        if priority == 0.0:
            raise InputError(f"{at}.utility.priority: {utility['priority']!r} is not above 0")
        job = cls(
            index=index,
            arrival=whole(f"{at}.arrival", values["arrival"], 1, horizon),
            epochs=whole(f"{at}.epochs", values["epochs"], 1, LARGEST),
            chunks=whole(f"{at}.chunks", values["chunks"], 1, MOST_CHUNKS),
            minibatches=whole(f"{at}.minibatches", values["minibatches"], 1, LARGEST),
            minibatch_time=real(f"{at}.minibatch_time", values["minibatch_time"], 0.0, LARGEST) + 0.0,
            gradient_size=real(f"{at}.gradient_size", values["gradient_size"], 0.0, LARGEST) + 0.0,
            worker_bandwidth=_positive(f"{at}.worker_bandwidth", values["worker_bandwidth"]),
            server_bandwidth=_positive(f"{at}.server_bandwidth", values["server_bandwidth"]),
            worker_demand=_amounts(f"{at}.worker_demand", values["worker_demand"], resources),
            server_demand=_amounts(f"{at}.server_demand", values["server_demand"], resources),
            priority=priority,
            decay=decay,
            target=target,
        )
        if job.work == 0:
            raise InputError(f"{at}.minibatch_time: 0 with gradient_size 0 leaves no work to do")
        return job


def _positive(field: str, value: Any) -> float:
    """Return what is divided by: it is so large that quotients, and so work, are finite."""
    return real(field, value, 1.0 / LARGEST, LARGEST)


def _amounts(field: str, value: Any, resources: int) -> np.ndarray:
    array = numbers(value, field, (resources,), high=LARGEST)
    units(array, field)
    return array
