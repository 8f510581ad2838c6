"""Whole episodes, and what they cost more or less than a reference on the same jobs.

Soundly read designs play an episode in one compiled call, :func:`play`. Some literal readings need what only
Python does: they play decision by decision, many episodes side by side, :func:`roll`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from ....models.placement.state import DONE, RUNNING
from .acting import sampled
from .design import Design
from .drawing import Memory, Move, act
from .features import HOLD_FEATURES, NO_ESTIMATES, Eyes, Scene
from .networks import Actor, Past
from .outcomes import Outcomes
from .weights import Networks, encodings


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

    def until(self, ticks: np.ndarray) -> np.ndarray:
        """Return its cost until ticks, in seconds."""
        return np.interp(ticks, self._times, self._cost)

    def present(self, ticks: np.ndarray) -> np.ndarray:
        """Return how many jobs are in its system at ticks."""
        gone = np.searchsorted(self._finish, ticks, side="right")
        return np.searchsorted(self._submit, ticks, side="right") - gone


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


@dataclass(frozen=True)
class Played:
    """An episode as training needs it: D decisions about J rows of waiting jobs, which start S jobs.

    With an agent that lets jobs wait, S counts all that might have started.
    """

    # rows, begun: where the waiting and the started jobs of each decision begin, shape (D + 1,).
    rows: np.ndarray
    begun: np.ndarray
    jobs: np.ndarray  # shape (J, 14), see :data:`.features.JOB_FEATURES`
    fits: np.ndarray  # whether each job fits, shape (J,)
    priorities: np.ndarray  # shape (J,)
    machines: np.ndarray  # shape (D, M, 6)
    whole: np.ndarray  # numbers of the whole state, for the critic, shape (D, GLOBALS)
    reward: np.ndarray  # of each decision, shape (D,)
    place: np.ndarray  # of each started job in the window, in the order of placement, shape (S,)
    pairs: np.ndarray  # shape (S, M, 5)
    affinities: np.ndarray  # shape (S, M); (S, 0) if placement is not learned
    # about, hold, free_to_hold: features, shape (S, 6), what lets each wait if it is above 0, and whether it
    # may, both of shape (S,); or all of shape (0, ...).
    about: np.ndarray
    hold: np.ndarray
    free_to_hold: np.ndarray
    # The memory of the process at each started job: points, residuals, and which there are; or nothing.
    past: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    cost: float  # seconds
    above: float  # by how many per cent the cost is above that of the reference

    def __len__(self) -> int:
        return len(self.reward)


def above(cost: float, known: Reference) -> float:
    """Return by how many per cent a cost is above that of FIFO-Consolidate."""
    return 100.0 * (cost / known.total - 1.0)


def _whole(
    clock: np.ndarray, free: np.ndarray, cost: np.ndarray, known: Reference, scale: float
) -> np.ndarray:
    """Return numbers of the whole state: queue, running jobs, the same of the reference, use of GPUs.

    ``clock`` has tick, and how many jobs wait and run, of each decision, ``free`` the mean share of free
    GPUs, and ``cost`` that so far.
    """
    now, waiting, running = clock[:, :3].T
    other = known.present(now)
    ahead = np.tanh((cost - known.until(now)) / scale / 8.0)
    mine = waiting + running
    columns = waiting / 16.0, running / 16.0, other / 16.0, (mine - other) / 8.0, free, ahead
    return np.stack(columns, 1).astype(np.float32)


def _keys(instance: PlacementInstance, design: Design) -> np.ndarray:
    """Return by which keys the prior tries jobs.

    The shortest estimate first, or as FIFO-Consolidate; none if it is DRF-Patient.
    """
    if design.prior == "patient":
        return np.empty(0, dtype=np.int64)
    if design.prior == "estimates" and instance.jobs.estimate is not None:
        return instance.jobs.estimate.copy()  # writeable as the others: kernels compile once
    return np.arange(len(instance.jobs))


def play(
    networks: Networks,
    instance: PlacementInstance,
    known: Reference,
    generator: np.random.Generator | None,
    variate: str = "none",
    taught: Schedule | None = None,
) -> Played:
    """Play an episode with actions drawn by a generator, or by their means without one.

    With a schedule they are what it does, as far as agents can: its jobs are tried by their starts, none
    before it, first on the machines that have most of their instances there.
    """
    from .episode_kernels import episode, kept_of, teacher

    design, setting, n = networks.design, instance.setting, len(instance.jobs)
    sees = frozenset({"estimates"}) if design.sees_estimates else frozenset[str]()
    instance.episode(sees)  # refuses jobs without estimates, if these are seen
    width = design.hidden if design.placement == "process" else 0
    kept = kept_of(n, len(setting.capacity), setting.window, width, design.holds)
    table, draws, looks_ahead = instance.table, generator is not None, variate == "ahead"
    d = episode(
        (networks.shape, networks.weights, networks.process, encodings(networks, min(n, setting.window))),
        (setting.slowdown.contention, setting.window, design.history, draws, looks_ahead),
        table,
        blank_state(table),
        blank_state(table),
        _keys(instance, design),
        instance.jobs.estimate if sees else NO_ESTIMATES,
        teacher(taught, len(setting.capacity)),
        generator if draws else np.random.default_rng(0),
        kept,
    )
    j, s = kept.rows[d], kept.begun[d]
    clock, scale = kept.clock[: d + 1], known.total / n
    cost = np.array([instance.weighted(*both) for both in clock[:, 3:]])
    if looks_ahead:
        final = np.array([instance.weighted(*both) for both in kept.final[: d + 1]])
        reward = -np.diff(final) / scale
    else:
        reward = -np.diff(cost) / scale
        if variate == "accrued":
            until = known.until(clock[:, 0])
            until[-1] = known.total
            reward += np.diff(until) / scale
    places = design.learns_places
    return Played(
        kept.rows[: d + 1],
        kept.begun[: d + 1],
        kept.jobs[:j],
        kept.fits[:j],
        kept.priorities[:j],
        kept.machines[:d],
        _whole(clock[:-1], kept.machines[:d, :, 0].mean(1), cost[:-1], known, scale),
        reward,
        kept.place[:s],
        kept.pairs[:s],
        kept.affinities[:s] if places else kept.affinities[:s, :0],
        kept.about[:s],
        kept.hold[:s],
        kept.free_to_hold[:s],
        _past(kept.points[:s], kept.residual[:s], kept.begun[: d + 1], design.history) if width else None,
        float(cost[-1]),
        above(float(cost[-1]), known),
    )


def _past(
    points: np.ndarray, residual: np.ndarray, begun: np.ndarray, history: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what was remembered at each started job: the last jobs that earlier decisions started."""
    before = np.repeat(begun[:-1], np.diff(begun))
    place = before[:, None] - np.minimum(history, before)[:, None] + np.arange(history)
    known = place < before[:, None]
    place[~known] = 0
    then, off = points[place], residual[place]
    then[~known], off[~known] = 0.0, 0.0
    return then, off, known


@dataclass
class Step:
    """One decision of one simulation, as training needs it."""

    scene: Scene
    move: Move
    clock: tuple[int, int, int]  # the tick, and how many jobs wait and run
    spent: float  # the cost so far, seconds
    reward: float = 0.0  # its reward until the next decision


@dataclass
class Track:
    """One simulation in training, played decision by decision.

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
        sees = frozenset({"estimates"}) if self.design.sees_estimates else frozenset[str]()
        self.episode: JobEpisode = self.instance.episode(sees)
        self._observations: Iterator[Observation] = iter(self.episode)
        self._eyes = Eyes(self.instance.setting, self.design.sees_estimates)
        if self.design.outcomes > 0.0:
            seen = self.instance.setting, self._eyes, self.design.history
            self.memory.outcomes = Outcomes(*seen, self.design.outcomes)
        self._meter = Meter(self.instance, self.episode.simulator)
        self._printed = self.design.readings.literal("reward")
        self.scale = self.reference.total / len(self.instance.jobs)
        setting = self.instance.setting
        self._scratch = blank_state(self.instance.table)
        self._rule = setting.slowdown.contention, setting.window, _keys(self.instance, self.design)
        over = followed(self.instance, self._rule[-1])
        self._ends = np.array([over.waited, over.used])

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
        step = Step(scene, move, (now, scene.observation.waiting, int(clock[RUNNING])), self.cost)
        waiting = simulator.pending if self._printed else None
        if self.variate == "ahead" and not self._printed:
            step.reward = -self._more(rows) / self.scale
        cost = self.episode.apply(rows).reward
        self.cost += cost
        if waiting is not None:
            step.reward = self._meter.printed(np.setdiff1d(waiting, rows[:, 0]))
        elif self.variate == "accrued":
            over = clock[DONE] == len(self.instance.jobs)
            until, before = self.reference.until(np.array([simulator.now, now]))
            until = self.reference.total if over else until
            step.reward = (until - before - cost) / self.scale
        elif self.variate == "none":
            step.reward = -cost / self.scale
        self.steps.append(step)

    def _more(self, rows: np.ndarray) -> float:
        """Return how much more is paid in the end if the prior takes over after these starts, in seconds.

        That is FIFO-Consolidate, unless the shortest estimate goes first in the design.
        """
        from .episode_kernels import taken_over

        simulator, before = self.episode.simulator, self.instance.weighted(*self._ends)
        ended = np.zeros(2, dtype=np.int64)  # of no concern: the rule goes by keys
        fixed = simulator.table, simulator.state, self._scratch
        taken_over(*fixed, *self._rule, ended, rows, self._ends)
        return self.instance.weighted(*self._ends) - before

    def played(self) -> Played:
        """Return the whole episode, when it is over."""
        scenes, moves = [step.scene for step in self.steps], [step.move for step in self.steps]
        free = np.array([scene.machines[:, 0].mean() for scene in scenes])
        clock, spent = (
            np.array([step.clock for step in self.steps]),
            np.array([step.spent for step in self.steps]),
        )
        pasts = [move.past for move in moves if move.past is not None]
        return Played(
            np.cumsum([0, *(len(scene.jobs) for scene in scenes)]),
            np.cumsum([0, *(len(move.started) for move in moves)]),
            np.concatenate([scene.jobs for scene in scenes]),
            np.concatenate([scene.fits for scene in scenes]),
            np.concatenate([move.priorities for move in moves]),
            np.stack([scene.machines for scene in scenes]),
            _whole(clock, free, spent, self.reference, self.scale),
            np.array([step.reward for step in self.steps]),
            np.concatenate([move.started for move in moves]),
            np.concatenate([scene.pairs[move.started] for scene, move in zip(scenes, moves, strict=True)]),
            np.concatenate([move.affinities for move in moves]),
            *NEVER,
            _joined(pasts) if pasts else None,
            self.cost,
            above(self.cost, self.reference),
        )


NEVER = np.empty((0, len(HOLD_FEATURES)), np.float32), np.empty(0, np.float32), np.empty(0, np.bool_)
"""What is kept of jobs that might wait where none may."""


def _joined(pasts: Sequence[Past]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    points, residual, known = (torch.cat(parts).numpy(force=True) for parts in zip(*pasts, strict=True))
    return points, residual, known


def roll(tracks: Sequence[Track], actor: Actor, generator: torch.Generator | None) -> list[Played]:
    """Play all simulations to their ends, side by side, and return the episodes.

    Networks decide, without a generator by the means of their actions.
    """
    open_ = [(track, scene) for track in tracks if (scene := track.look()) is not None]
    while open_:
        scenes, memories = [scene for _, scene in open_], [track.memory for track, _ in open_]
        moves = act(actor, scenes, memories, generator)
        following = []
        for (track, scene), move in zip(open_, moves, strict=True):
            track.step(scene, move)
            ahead = track.look()
            if ahead is not None:
                following.append((track, ahead))
        open_ = following
    return [track.played() for track in tracks]


def lessons(
    actor: Actor,
    instances: Sequence[PlacementInstance],
    rng: np.random.Generator,
    noise: torch.Generator,
    variate: str,
) -> list[Played]:
    """Play instances by actions drawn from networks; ``noise`` draws those of decisions made one by one."""
    known = [reference(one) for one in instances]
    if not actor.design.in_steps:
        networks, seeds = actor.networks(), rng.integers(2**63, size=len(instances))
        return [
            play(networks, one, other, np.random.default_rng(seed), variate)
            for one, other, seed in zip(instances, known, seeds, strict=True)
        ]
    tracks = [Track(*pair, actor.design, rng, variate) for pair in zip(instances, known, strict=True)]
    return roll(tracks, actor, noise)
