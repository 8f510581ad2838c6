"""Whole episodes, many side by side, and what they cost more or less than a reference on the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from ....models.placement.episode import JobEpisode, read_starts
from ....models.placement.instance import PlacementInstance, taken_schedule
from ....models.placement.jobs import TICKS
from ....models.placement.reward import Meter
from ....models.placement.schedule import Schedule
from ....models.placement.setting import Observation
from ....models.placement.simulator import Simulator, blank_state
from ....models.placement.state import DONE, PENDING, RUNNING
from .acting import sampled
from .design import Design
from .drawing import Memory, Move, act, act_without_process
from .features import Eyes, Scene
from .networks import Actor


class Reference:
    """The cost of a policy, the control variate, on an instance over time.

    ``schedule`` is the policy's, and ``total`` its cost, in seconds.
    """

    def __init__(self, instance: PlacementInstance, schedule: Schedule) -> None:
        self.schedule = schedule
        gpus, weight = instance.jobs.gpus, instance.setting.gpu_weight
        times = np.concatenate([instance.jobs.submit, schedule.start, schedule.finish])
        n = len(gpus)
        change = np.concatenate([np.ones(n), weight * gpus, -1.0 - weight * gpus])
        order = np.argsort(times, kind="stable")
        self._times = times[order].astype(np.float64)
        rate = np.cumsum(change[order])
        self._cost = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(self._times))]) / TICKS
        self._submit, self._finish = instance.jobs.submit, np.sort(schedule.finish)
        self.total = float(self._cost[-1])

    def until(self, tick: float) -> float:
        """Return its cost until a tick, in seconds."""
        return float(np.interp(tick, self._times, self._cost))

    def present(self, tick: int) -> int:
        """Return how many jobs are in its system at a tick."""
        gone = np.searchsorted(self._finish, tick, side="right")
        return int(np.searchsorted(self._submit, tick, side="right") - gone)


def followed(instance: PlacementInstance, keys: np.ndarray) -> Simulator:
    """Return the end of a simulation in which jobs are tried by ascending key, on the fewest machines."""
    from ....models.placement.kernels import CONSOLIDATE, run_by_keys

    simulator, setting = instance.simulator(), instance.setting
    eta = setting.slowdown.contention
    run_by_keys(simulator.table, simulator.state, eta, setting.window, keys, CONSOLIDATE, False)
    return simulator


def reference(instance: PlacementInstance) -> Reference:
    """Return the cost of FIFO-Consolidate on an instance."""
    return Reference(instance, taken_schedule(followed(instance, np.arange(len(instance.jobs)))))


@dataclass
class Step:
    """One decision of one simulation, as training needs it."""

    scene: Scene
    move: Move
    whole: np.ndarray  # numbers of the whole state, for the critic, shape (GLOBALS,)
    reward: float = 0.0  # its reward until the next decision


@dataclass
class Track:
    """One simulation in training.

    ``cost`` is that so far, and ``scale`` the mean cost of a job under the reference, both in seconds.
    """

    instance: PlacementInstance
    reference: Reference
    design: Design
    rng: np.random.Generator
    variate: str = "ahead"
    memory: Memory = field(default_factory=Memory)
    steps: list[Step] = field(default_factory=list)
    cost: float = 0.0

    def __post_init__(self) -> None:
        sees = frozenset({"estimates"}) if self.design.features == "estimates" else frozenset()
        self.episode: JobEpisode = self.instance.episode(sees)
        self._observations: Iterator[Observation] = iter(self.episode)
        self._eyes = Eyes(self.instance.setting, self.design.features == "estimates")
        self._meter = Meter(self.instance, self.episode.simulator)
        self._printed = self.design.readings.literal("reward")
        self.scale = self.reference.total / len(self.instance.jobs)
        self._scratch = blank_state(self.instance.table)
        self._keys: np.ndarray = np.arange(len(self.instance.jobs))
        self._final = self.reference.total
        estimate = self.instance.jobs.estimate  # the episode has refused jobs without, if they are seen
        if self.design.prior == "estimates" and self.variate == "ahead" and estimate is not None:
            self._keys = estimate
            simulator = followed(self.instance, self._keys)
            self._final = self.instance.weighted(simulator.waited, simulator.used)

    def look(self) -> Scene | None:
        """Return the next observation, None if it is over."""
        seen = next(self._observations, None)
        if seen is None:
            return None
        return self._eyes.look(sampled(seen, self.rng) if self.design.draws_jobs else seen)

    def step(self, scene: Scene, move: Move) -> None:
        """Carry out a move and note what it earns."""
        simulator = self.episode.simulator
        now, rows, clock = simulator.now, read_starts(move.rows), simulator.state.clock
        step = Step(scene, move, self._whole(scene, now))
        waiting = simulator.pending if self._printed else None
        if self.variate == "ahead" and not self._printed:
            final = self._taken_over(scene, rows)
            step.reward = (self._final - final) / self.scale
            self._final = final
        cost = self.episode.apply(rows).reward
        self.cost += cost
        if waiting is not None:
            step.reward = self._meter.printed(np.setdiff1d(waiting, rows[:, 0]))
        elif self.variate == "accrued":
            over = clock[DONE] == len(self.instance.jobs)
            until = self.reference.total if over else self.reference.until(simulator.now)
            step.reward = (until - self.reference.until(now) - cost) / self.scale
        elif self.variate == "none":
            step.reward = -cost / self.scale
        self.steps.append(step)

    def _taken_over(self, scene: Scene, rows: np.ndarray) -> float:
        """Return the final cost if the prior takes over after this decision, in seconds.

        That is FIFO-Consolidate, unless the shortest estimate goes first in the design.
        """
        from .kernels import taken_over

        simulator, setting = self.episode.simulator, self.instance.setting
        whole = len(scene.jobs) == min(setting.window, int(simulator.state.clock[PENDING]))
        waited, used = taken_over(
            simulator.table,
            simulator.state,
            self._scratch,
            setting.slowdown.contention,
            setting.window,
            self._keys,
            whole,
            rows,
        )
        return self._final if waited < 0 else self.instance.weighted(waited, used)

    def _whole(self, scene: Scene, now: int) -> np.ndarray:
        """Return numbers of the whole state: queue, running jobs, the same of the reference, use of GPUs."""
        seen = scene.observation
        running = int(self.episode.simulator.state.clock[RUNNING])
        mine, other = seen.waiting + running, self.reference.present(now)
        free = scene.machines[:, 0]
        ahead = (self.cost - self.reference.until(now)) / self.scale
        return np.array(
            [
                seen.waiting / 16.0,
                running / 16.0,
                other / 16.0,
                (mine - other) / 8.0,
                free.mean(),
                np.tanh(ahead / 8.0),
            ],
            dtype=np.float32,
        )


Mover = Callable[[Sequence[Scene], Sequence[Memory]], list[Move]]


def roll(tracks: Sequence[Track], mover: Mover) -> None:
    """Play all simulations to their ends, side by side."""
    open_ = [(track, scene) for track in tracks if (scene := track.look()) is not None]
    while open_:
        moves = mover([scene for _, scene in open_], [track.memory for track, _ in open_])
        following = []
        for (track, scene), move in zip(open_, moves, strict=True):
            track.step(scene, move)
            ahead = track.look()
            if ahead is not None:
                following.append((track, ahead))
        open_ = following


def by_network(actor: Actor, generator: torch.Generator | None) -> Mover:
    """Return the deciding function of networks; without a generator it is by the means of their actions."""
    if generator is None or actor.design.placement == "process":
        return lambda scenes, memories: act(actor, scenes, memories, generator)
    networks = actor.networks()
    return lambda scenes, _memories: act_without_process(networks, scenes, generator)
