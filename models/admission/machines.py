"""Machines of Amazon EC2 and what Sec. V.A draws around them.

GPUs, vCPUs and memory are those that Amazon's documentation publishes for its instance types (the pages
"Compute optimized instances" and "Accelerated computing instances"). None of these types has a disk of its
own; :data:`STORAGE` is ours, and so large that it never decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

RESOURCES = ("GPU", "vCPU", "memory GB", "storage GB", "bandwidth Mbps")

STORAGE = 1000.0
"""GB of storage of a machine whose source names none."""

NIC = (20, 50)
"""Range of the bandwidth of a machine in Gbps, drawn whole (Sec. V.A)."""

Types = Mapping[str, tuple[float, float, float]]
"""GPUs, vCPUs and memory in GB of machine types, by name."""

C4: Types = {
    "c4.large": (0, 2, 3.75),
    "c4.xlarge": (0, 4, 7.5),
    "c4.2xlarge": (0, 8, 15),
    "c4.4xlarge": (0, 16, 30),
    "c4.8xlarge": (0, 36, 60),
}
P2_G3: Types = {
    "p2.xlarge": (1, 4, 61),
    "p2.8xlarge": (8, 32, 488),
    "p2.16xlarge": (16, 64, 732),
    "g3.4xlarge": (1, 16, 122),
    "g3.8xlarge": (2, 32, 244),
    "g3.16xlarge": (4, 64, 488),
}


def spread(uniforms: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """Turn numbers from [0, 1) into whole numbers from ``low`` to ``high``, each equally likely."""
    return low + np.floor(uniforms * (high - low + 1))


def equipped(devices: Sequence[Sequence[float]], uniforms: np.ndarray) -> np.ndarray:
    """Give machines with (GPU, vCPU, memory) storage and, by luck in [0, 1), a bandwidth, shape (n, 5)."""
    result = np.zeros((len(devices), len(RESOURCES)))
    result[:, :3] = np.array(devices, dtype=np.float64).reshape(-1, 3)
    result[:, 3] = STORAGE
    result[:, 4] = 1000.0 * spread(uniforms, *NIC)
    return result


def sampled(rng: np.random.Generator, types: Types, count: int) -> np.ndarray:
    """Draw machines, every type equally likely, shape (count, 5); a larger count only adds rows."""
    uniforms = rng.random((count, 2))
    known = list(types.values())
    return equipped([known[int(k)] for k in spread(uniforms[:, 0], 0, len(known) - 1)], uniforms[:, 1])
