"""Decisions of the networks in training: drawn, in many simulations side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from ....models.placement.setting import Observation
from ....models.placement.state import CONSOLIDATE, FIRST_FIT
from .design import Design
from .features import JOB_FEATURES, MACHINE_FEATURES, PAIR_FEATURES, Scene
from .networks import Actor, Normal, Past
from .outcomes import Outcomes

RULES = {"first-fit": FIRST_FIT, "consolidate": CONSOLIDATE}


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread: the networks are small, and sums come out the same every time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Batch(NamedTuple):
    """Scenes side by side, padded to N waiting jobs."""

    # jobs, machines, pairs: shapes (B, N, 14), (B, M, 6) and (B, N, M, 5).
    jobs: Tensor
    machines: Tensor
    pairs: Tensor
    # mask, fits: where there is a job, and where there is one that fits, shape (B, N).
    mask: Tensor
    fits: Tensor


def stack(scenes: Sequence[Scene], device: torch.device) -> Batch:
    """Put scenes of equally many machines side by side."""
    b, m = len(scenes), len(scenes[0].machines)
    n = max(len(scene.jobs) for scene in scenes)
    jobs = np.zeros((b, n, len(JOB_FEATURES)), dtype=np.float32)
    machines = np.empty((b, m, len(MACHINE_FEATURES)), dtype=np.float32)
    pairs = np.zeros((b, n, m, len(PAIR_FEATURES)), dtype=np.float32)
    mask, fits = np.zeros((2, b, n), dtype=np.bool_)
    for i, scene in enumerate(scenes):
        w = len(scene.jobs)
        jobs[i, :w], machines[i], pairs[i, :w] = scene.jobs, scene.machines, scene.pairs
        mask[i, :w], fits[i, :w] = True, scene.fits
    return Batch(*(torch.from_numpy(a).to(device) for a in (jobs, machines, pairs, mask, fits)))


@dataclass
class Memory:
    """The memory of the Gaussian process in one simulation: the last placed jobs, the newest last.

    Read literally, the last decisions instead, each with the rows of all jobs. Where there are ``outcomes``,
    these count, and not what was drawn.
    """

    points: list[Tensor] = field(default_factory=list)
    residual: list[Tensor] = field(default_factory=list)
    outcomes: Outcomes | None = None

    def keep(self, points: Tensor, residual: Tensor, most: int) -> None:
        """Note one more of them and forget what is older than the last ``most``."""
        self.points = [*self.points, points][-most:]
        self.residual = [*self.residual, residual][-most:]


class Move(NamedTuple):
    """The decision at one decision epoch."""

    rows: np.ndarray  # the starts: (job, machine, count)
    priorities: np.ndarray  # shape (w,)
    # Places in the window of the jobs that start, in the order in which they were placed, shape (s,).
    started: np.ndarray
    affinities: np.ndarray  # of those jobs, shape (s, M); (s, 0) if placement is not learned
    past: Past | None  # the memory of the process, for those jobs, or None


def draw(normal: Normal, generator: torch.Generator | None) -> Tensor:
    """Return a draw of a distribution, or its mean without a generator."""
    if generator is None:
        return normal.mean
    noise = torch.randn(normal.mean.shape, generator=generator, device=generator.device).to(
        normal.mean.device
    )
    if normal.factor is None:
        return normal.mean + normal.variance.sqrt() * noise
    return normal.mean + (normal.factor @ noise[..., None])[..., 0]


def recall(
    design: Design,
    scenes: Sequence[Scene],
    memories: Sequence[Memory],
    which: Tensor,
    place: Tensor,
    like: Tensor,
) -> Past:
    """Return the memory for each pair of a simulation and a job; ``like`` has shape (P, M, d)."""
    if design.outcomes > 0.0:
        return _recall_outcomes(design.history, scenes, memories, which, like)
    t, (_, m, d) = design.history, like.shape
    points, residual = like.new_zeros(len(memories), t, m, d), like.new_zeros(len(memories), t, m)
    known = torch.zeros(len(memories), t, dtype=torch.bool, device=like.device)
    if design.readings.literal("history"):
        return _recall_rows(t, memories, which, place, like)
    for i, memory in enumerate(memories):
        count = len(memory.points)
        if count:
            points[i, :count], residual[i, :count] = torch.stack(memory.points), torch.stack(memory.residual)
            known[i, :count] = True
    return Past(points[which], residual[which], known[which])


def _recall_outcomes(
    t: int, scenes: Sequence[Scene], memories: Sequence[Memory], which: Tensor, like: Tensor
) -> Past:
    """Return what the last placed jobs that have run came to, on their machines, for each pair."""
    n, (_, m, d) = len(memories), like.shape
    points, residual = like.new_zeros(n, t, m, d), like.new_zeros(n, t, m)
    known = torch.zeros(n, t, m, dtype=torch.bool, device=like.device)
    for i, (scene, memory) in enumerate(zip(scenes, memories, strict=True)):
        for j, (one, off) in enumerate(cast(Outcomes, memory.outcomes).recent(scene.observation)):
            points[i, j] = torch.from_numpy(one.job * one.around)
            residual[i, j, one.machines], known[i, j, one.machines] = off, True
    return Past(points[which], residual[which], known[which])


def _recall_rows(t: int, memories: Sequence[Memory], which: Tensor, place: Tensor, like: Tensor) -> Past:
    """Return the same row of the last decisions, for each pair."""
    p, m, d = like.shape
    points, residual = like.new_zeros(p, t, m, d), like.new_zeros(p, t, m)
    known = torch.zeros(p, t, dtype=torch.bool, device=like.device)
    for i, (track, row) in enumerate(zip(which.tolist(), place.tolist(), strict=True)):
        memory = memories[track]
        for j, (x, y) in enumerate(zip(memory.points, memory.residual, strict=True)):
            if row < len(x):
                points[i, j], residual[i, j], known[i, j] = x[row], y[row], True
    return Past(points, residual, known)


@torch.no_grad()
def act(
    actor: Actor, scenes: Sequence[Scene], memories: Sequence[Memory], generator: torch.Generator | None
) -> list[Move]:
    """Return the decision in each scene, and add it to the memories.

    Jobs that do not fit are given no affinities, as they cannot start whatever those are; only the literal
    reading of the history needs them. Actions are drawn, or without a generator their means.
    """
    design = actor.design
    device = next(actor.parameters()).device
    batch = stack(scenes, device)
    encoded, machines = actor.encode(batch.jobs, batch.machines, batch.mask)
    if actor.ordering is not None:
        priorities = draw(actor.ordering(encoded, batch.mask, batch.jobs), generator).cpu().numpy()
    else:
        priorities = np.tile(-np.arange(batch.mask.shape[1], dtype=np.float32), (len(scenes), 1))
    if actor.placement is None:
        rule = RULES[design.placement]
        return [_by_rule(s, priorities[i, : len(s.jobs)], rule) for i, s in enumerate(scenes)]
    rows = design.readings.literal("history")
    which, place = (batch.mask if rows else batch.fits).nonzero(as_tuple=True)
    jobs, around = encoded[which, place], machines[which]
    points, past = None, None
    if design.placement == "process":
        points = actor.placement.points(jobs, around)
        past = recall(design, scenes, memories, which, place, points)
    normal, mean = actor.affinities(jobs, around, batch.pairs[which, place], past, generator is not None)
    scores = draw(normal, generator)
    moves, first = [], 0
    counts = torch.bincount(which, minlength=len(scenes)).tolist()
    for i, (scene, memory) in enumerate(zip(scenes, memories, strict=True)):
        last = first + counts[i]
        there = place[first:last].cpu().numpy()
        rows_of, started, picked = _by_rank(scene, priorities[i], there, scores[first:last])
        moves.append(
            Move(
                rows_of,
                priorities[i, : len(scene.jobs)],
                started,
                scores[first:last][picked].numpy(force=True),
                None if past is None else Past(*(part[first:last][picked] for part in past)),
            )
        )
        if memory.outcomes is not None:
            seen_as = encoded[i].numpy(force=True), machines[i].numpy(force=True)
            memory.outcomes.note(scene.observation, rows_of, *seen_as)
        elif points is not None:
            _note(design, memory, points[first:last], (scores - mean)[first:last], picked, rows)
        first = last
    return moves


def _note(
    design: Design, memory: Memory, points: Tensor, residual: Tensor, picked: list[int], rows: bool
) -> None:
    """Note the placed jobs in the memory, or all rows."""
    if rows:
        memory.keep(points, residual, design.history)
        return
    for j in picked:
        memory.keep(points[j], residual[j], design.history)


def _by_rule(scene: Scene, priorities: np.ndarray, rule: int) -> Move:
    """Decide by priorities, and place by a rule."""
    from ....models.placement.kernels import start_by_rule

    seen = scene.observation
    # Where only the free machines count, load is not needed; capacities serve ties alone.
    order = np.argsort(-priorities, kind="stable")
    rows = start_by_rule(seen.free, seen.free, seen.jobs, seen.instances, seen.need, order, rule, False)
    started = _places(seen, rows)
    return Move(rows, priorities, started, np.empty((len(started), 0), dtype=np.float32), None)


def _places(seen: Observation, rows: np.ndarray) -> np.ndarray:
    """Return the places in the window of the jobs of rows, in their order, each once."""
    _, first = np.unique(rows[:, 0], return_index=True)
    return np.searchsorted(seen.jobs, rows[np.sort(first), 0])


def _by_rank(
    scene: Scene, priorities: np.ndarray, places: np.ndarray, scores: Tensor
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Decide by priorities and affinities, the latter of the jobs at ``places``.

    Returns the rows, the places of the jobs that start, and where those stand among ``places``.
    """
    from ....models.placement.kernels import start_by_rank

    seen = scene.observation
    order = np.argsort(-priorities[places], kind="stable")
    ranked = np.argsort(-scores.cpu().numpy(), axis=1, kind="stable")
    rows = start_by_rank(
        seen.free.copy(), seen.jobs[places], seen.instances[places], seen.need[places], order, ranked, False
    )
    started = _places(seen, rows)
    return rows, started, np.searchsorted(places, started).tolist()
