"""Decisions of the networks in play, by the means of their actions; nothing here needs PyTorch."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from ....models.base import frozen
from ....models.placement.instance import PlacementInstance, taken_schedule
from ....models.placement.schedule import Schedule
from ....models.placement.setting import Observation, Setting
from .features import Eyes
from .outcomes import Outcomes
from .process import deviations
from .weights import Networks, encodings

SAMPLED = 24
"""N of the literal reading of the window."""


class Decision(NamedTuple):
    """The decision at one decision epoch."""

    rows: np.ndarray  # the starts: (job, machine, count)
    priorities: np.ndarray  # shape (w,)
    # Places in the window of the jobs that start, in the order in which they were placed, shape (s,).
    started: np.ndarray
    affinities: np.ndarray  # of those jobs, shape (s, M); (s, 0) if placement is not learned


class Scores(NamedTuple):
    """The agents' view of every waiting job at one decision epoch; NaN for the parts that are not learned."""

    # priorities, priority_deviations: mean and standard deviation of each priority, shape (w,).
    priorities: np.ndarray
    priority_deviations: np.ndarray
    # affinities, affinity_deviations: those of each affinity, shape (w, M).
    affinities: np.ndarray
    affinity_deviations: np.ndarray


class Player:
    """Networks in one simulation.

    The random walk process does not move the means: it learns by how much affinities were off them, and means
    that are played are off by nothing. So it changes no decision, and only :meth:`scores` shows what it says;
    unless it learns from ``outcomes``, with a weight above 0; at 0, that of its training.
    """

    def __init__(
        self, networks: Networks, setting: Setting, rng: np.random.Generator, outcomes: float = 0.0
    ) -> None:
        self._networks, self._rng, self._setting = networks, rng, setting
        self._eyes = Eyes(setting, networks.design.sees_estimates)
        weight, history = outcomes or networks.design.outcomes, networks.design.history
        self._outcomes = Outcomes(setting, self._eyes, history, weight) if weight > 0.0 else None
        self._rows = networks.design.readings.literal("history")
        # What the process remembers: encoded jobs and machines of the last placed jobs, or, read literally,
        # of the last decisions, then all jobs of each.
        self._past: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=networks.design.history)
        # When each job began, and for how long the jobs that have ended ran together, and their number.
        self._began: dict[int, int] = {}
        self._ended = np.zeros(2, dtype=np.int64)

    def decide(self, seen: Observation) -> Decision:
        """Return the decision now."""
        from .kernels import decide

        networks = self._networks
        if networks.design.linear:
            rows, order = self._by_scores(seen, self._times(seen)[1])
            started = list(dict.fromkeys(rows[:, 0].tolist()))
            self._began.update(dict.fromkeys(started, seen.time))
            place = np.searchsorted(seen.jobs, started)
            return Decision(rows, order, place, np.empty((len(place), 0), dtype=np.float32))
        one = sampled(seen, self._rng) if networks.design.draws_jobs else seen
        estimate, capacity = self._eyes.note(one), self._eyes.capacity
        all_ = (one.time, one.jobs, one.submit, one.instances, one.need, one.intensity)
        *decision, encoded, around = decide(
            networks.shape,
            networks.weights,
            encodings(networks, len(one.jobs)),
            capacity,
            self._eyes.known,
            (*all_, estimate, one.waiting, one.free, one.running),
            self._times(one),
            self._shift(one),
        )
        made = Decision(*decision)
        if self._outcomes is not None:
            self._outcomes.note(one, made.rows, encoded, around)
        self._began.update(dict.fromkeys(made.rows[:, 0].tolist(), one.time))
        if networks.design.placement == "process":
            jobs = (encoded,) if self._rows else encoded[made.started]
            self._past.extend((job, around) for job in jobs)
        return made

    def _by_scores(self, seen: Observation, ended: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that start now under the linear design, and the scores of the jobs, shape (w,)."""
        from .linear_kernels import decide

        estimate, setting, slow = self._eyes.note(seen), self._setting, self._setting.slowdown
        all_ = (seen.time, seen.jobs, seen.submit, seen.instances, seen.need, seen.intensity)
        found: tuple[np.ndarray, np.ndarray] = decide(
            self._networks.scores,
            (slow.communication, slow.contention, setting.window),
            setting.capacity,
            self._eyes.known,
            (*all_, estimate, seen.waiting, seen.free, seen.running),
            ended,
        )
        return found

    def _shift(self, seen: Observation) -> np.ndarray:
        """Return what is added to the affinities of the jobs, shape (w, M); empty if nothing is."""
        if self._outcomes is None:
            return np.empty((0, len(self._eyes.capacity)), dtype=np.float32)
        from .kernels import encode

        scene, networks = self._eyes.look(seen), self._networks
        seen_as = scene.jobs, scene.machines, encodings(networks, len(scene.jobs))
        encoded = encode(networks.shape, networks.weights, *seen_as)
        return self._outcomes.shift(networks, seen, *encoded).astype(np.float32)

    def _times(self, seen: Observation) -> np.ndarray:
        """Return for how long all running jobs have run together and their number; the same of the ended."""
        for job, start, finish in seen.ended.tolist():
            self._ended += (finish - start, 1)
            self._began.pop(job, None)
        elapsed = [seen.time - self._began.get(job, seen.time) for job in {*seen.running[:, 0].tolist()}]
        return np.array([[sum(elapsed), len(elapsed)], self._ended])

    def scores(self, seen: Observation) -> Scores:
        """Return the agents' view of all waiting jobs, those that do not fit included; decides nothing."""
        from .kernels import means_and_variances

        networks = self._networks
        if networks.design.linear:
            new = [finish - start for job, start, finish in seen.ended.tolist() if job in self._began]
            _, ranks = self._by_scores(seen, self._ended + np.array([sum(new), len(new)]))
            unknown = np.full((2, len(ranks), len(seen.free)), np.nan)
            return Scores(ranks, np.full(len(ranks), np.nan), *unknown)
        scene = self._eyes.look(seen)
        w, m = len(scene.jobs), len(scene.machines)
        priorities, affinities, encoded, around = means_and_variances(
            networks.shape,
            networks.weights,
            encodings(networks, w),
            scene.jobs,
            scene.machines,
            scene.pairs,
        )
        order = priorities[:, 0], np.sqrt(priorities[:, 1])
        if not networks.design.learns_places:
            return Scores(*order, *np.full((2, w, m), np.nan))
        mean = affinities[..., 0]
        if (shift := self._shift(seen)).size:
            mean = mean + shift
        if networks.design.placement == "process":
            known = self._outcomes.known(seen) if self._outcomes is not None else ([*self._past],)
            spread = deviations(networks, encoded, around, *known)
        else:
            spread = np.sqrt(affinities[..., 1])
        return Scores(*order, mean, spread)


def taken_by(
    networks: Networks, instance: PlacementInstance, rng: np.random.Generator | None = None
) -> Schedule:
    """Return the schedule of networks on an instance; the generator draws the jobs where the design does."""
    sees = frozenset({"estimates"}) if networks.design.sees_estimates else frozenset[str]()
    player = Player(networks, instance.setting, np.random.default_rng(0) if rng is None else rng)
    episode = instance.episode(sees)
    for seen in episode:
        episode.apply(player.decide(seen).rows)
    return taken_schedule(episode.simulator)


def sampled(seen: Observation, rng: np.random.Generator) -> Observation:
    """Return the observation of a random sample of the jobs, as the literal reading of the window has it."""
    if len(seen.jobs) <= SAMPLED:
        return seen
    from dataclasses import replace

    kept = np.sort(rng.choice(len(seen.jobs), SAMPLED, replace=False))
    columns = ("jobs", "submit", "instances", "need", "intensity")
    some: dict[str, Any] = {name: frozen(getattr(seen, name)[kept]) for name in columns}
    if seen.estimate is not None:
        some["estimate"] = frozen(seen.estimate[kept])
    return replace(seen, **some)
