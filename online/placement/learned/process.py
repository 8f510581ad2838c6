"""What the random walk process says of affinities in play. See :mod:`.gaussian`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ....models.base import ClairvoyantError
from .weights import SCALARS, Networks

TERMS = 12
"""Walks of up to so many steps less one: beta is at most 1, and 1 / 12! is below the rounding of float32."""

GEOMETRIC_TERMS = 16

JITTER, MORE_JITTER = 1e-5, (1e-4, 1e-3)
"""Added to the diagonal of a covariance before it is factored; and then as long as rounding leaves it without
factors, as of machines that are alike it does once in millions of times."""


def deviations(
    networks: Networks,
    jobs: np.ndarray,
    around: np.ndarray,
    past: Sequence[tuple[np.ndarray, np.ndarray]],
    where: Sequence[np.ndarray] | None = None,
) -> np.ndarray:
    """Return the standard deviations of the affinities of encoded jobs to encoded machines, shape (w, M).

    ``past`` is what is remembered: encoded jobs, each with the machines then, or, read literally, the jobs of
    decisions, of which the same row counts; ``where`` are the machines of each that count, by default all.
    The values then do not matter for how sure the process is.
    """
    counts = None if where is None else _numbers(where, len(around))
    result = np.empty((len(jobs), len(around)))
    for row, job in enumerate(jobs):
        if networks.design.readings.literal("history"):
            known = [(then[row], machines) for then, machines in past if row < len(then)]
        else:
            known = list(past)
        seen = np.stack([_points(networks, *one) for one in ((job, around), *known)])
        result[row] = np.sqrt(_variances(networks, seen.astype(np.float64), counts) + JITTER)
    return result


def _points(networks: Networks, job: np.ndarray, machines: np.ndarray) -> np.ndarray:
    """Return the machines as seen by a job, shape (M, d)."""
    if networks.design.readings.literal("representation"):
        return (machines * job) @ machines.T
    return machines * job


def _numbers(where: Sequence[np.ndarray], machines: int) -> np.ndarray:
    """Return the numbers of some machines of each job, among those of all jobs."""
    found = [t * machines + some for t, some in enumerate(where)]
    return np.concatenate([*found, np.empty(0, dtype=np.int64)])


def _variances(networks: Networks, seen: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the variances (14) at the first graph, shape (M,), given the T others.

    ``seen`` are the machines as seen by each job, shape (1 + T, M, d), and ``counts`` the numbers of those of
    the others that count, by default all.
    """
    kernel, log_noise = _covariance(networks, seen)
    m = seen.shape[1]
    if counts is not None:
        some = np.concatenate([np.arange(m), m + counts])
        kernel = kernel[np.ix_(some, some)]
    if networks.design.readings.literal("process"):  # of whole graphs: all machines share one variance
        return np.full(m, _given(kernel, 1, log_noise)[0, 0])
    literal = networks.design.readings.literal("matern")
    found = _given(_projected(kernel) if literal else kernel, m, log_noise)
    return np.diagonal(_projected(found) if literal else found)


def _covariance(networks: Networks, seen: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the covariance (12) of machines as seen by each job, or of whole graphs; and the log noise."""
    points, psi, scale, log_noise = _nodes(networks, seen)
    if networks.design.readings.literal("process"):
        sums = psi.mean(1)
        return np.asarray(scale * sums @ sums.T), log_noise
    every, nodes = (part.reshape(-1, part.shape[-1]) for part in (points, psi))
    return scale * _similar(networks, every, every) * (nodes @ nodes.T), log_noise


def _nodes(networks: Networks, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return points (machines as seen by each job) in lengthscales, features, scale of (12), log noise."""
    scalars = {name: float(networks.arrays[f"placement.{name}"]) for name in SCALARS}
    points = seen / np.exp(scalars["log_lengthscale"])
    weight = 1.0 / (1.0 + np.exp(-scalars["walk"]))
    geometric = networks.design.readings.literal("walk")
    psi = walks(_similar(networks, points, points) / points.shape[1], weight, geometric=geometric)
    scale = np.exp(scalars["log_scale"]) * (1.0 - weight if geometric else np.exp(-weight))
    return points, psi, scale, scalars["log_noise"]


def _similar(networks: Networks, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the kernel (11) between points, shape (..., len(a), len(b)); both may be stacks of graphs."""
    far, to = ((points * points).sum(-1) for points in (a, b))
    square = far[..., :, None] + to[..., None, :] - 2.0 * a @ np.swapaxes(b, -1, -2)
    square = np.maximum(square, 0.0)
    return matern(square * square if networks.design.readings.literal("matern") else square)


def shifts(
    networks: Networks,
    jobs: np.ndarray,
    around: np.ndarray,
    past: Sequence[tuple[np.ndarray, np.ndarray]],
    outcomes: Sequence[tuple[np.ndarray, float]],
) -> np.ndarray:
    """Return by how much outcomes move affinities of encoded jobs to encoded machines, (13), shape (w, M).

    Of each encoded job of ``past``, with the machines then, ``outcomes`` has the machines it was put on and
    by how much their affinities were off.
    """
    w, m = len(jobs), len(around)
    of = _numbers([where for where, _ in outcomes], m)
    off = np.concatenate([np.full(len(where), by) for where, by in outcomes])
    seen = np.stack([_points(networks, *one) for one in (*((job, around) for job in jobs), *past)])
    points, psi, scale, log_noise = _nodes(networks, seen.astype(np.float64))
    parts = [part.reshape((w + len(past)) * m, -1) for part in (points, psi)]
    (now, new), (then, known) = ([part[at] for part in parts] for at in (slice(w * m), w * m + of))
    gram = scale * _similar(networks, then, then) * (known @ known.T) + np.exp(log_noise) * np.eye(len(of))
    with _explained():
        weights = np.linalg.solve(gram, off)
    moved = (scale * _similar(networks, now, then) * (new @ known.T)) @ weights
    return np.asarray(moved.reshape(w, m))


def matern(square: np.ndarray) -> np.ndarray:
    """Return the kernel (11), nu = 5/2, of squared distances in lengthscales."""
    g = np.sqrt(5.0 * square)
    return np.asarray((1.0 + g + g * g / 3.0) * np.exp(-g))


def walks(adjacency: np.ndarray, weight: float, *, geometric: bool) -> np.ndarray:
    """Return the features of the nodes of a graph, or of several, shape (..., M, terms)."""
    counts, factors = [np.ones(adjacency.shape[:-1])], [1.0]
    for step in range(1, GEOMETRIC_TERMS if geometric else TERMS):
        counts.append((adjacency @ counts[-1][..., None])[..., 0])
        factors.append(factors[-1] * (weight if geometric else weight / step))
    return np.stack(counts, -1) * np.sqrt(factors)


def _given(kernel: np.ndarray, m: int, log_noise: float) -> np.ndarray:
    """Return the covariance of the first m points, given noisy values of the others."""
    gram = kernel[m:, m:] + np.exp(log_noise) * np.eye(len(kernel) - m)
    with _explained():
        factor = np.linalg.cholesky(gram)
    white = np.linalg.solve(factor, kernel[m:, :m])
    return np.asarray(kernel[:m, :m] - white.T @ white)


@contextmanager
def _explained() -> Iterator[None]:
    """Raise a ClairvoyantError where a covariance is singular."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise ClairvoyantError(
            "with the weights of these networks the process has no covariance here"
        ) from error


def _projected(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest positive semi-definite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
