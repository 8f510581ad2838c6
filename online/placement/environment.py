"""Environments of PettingZoo (two agents) and Gymnasium (one) over the simulator of the placement problem.

A step is a decision epoch. The actions are priorities of the waiting jobs and affinities of every job to
every machine, carried out as by :func:`.placing.place`: the jobs are tried in descending order of priority,
each on machines in descending order of affinity, ties to the older job and the lower index, and a job that
does not fit is passed over. At every epoch some job fits: every step starts at least one, and no action is
infeasible. With ``wait`` a job may be held back though it fits, until the next arrival or completion.

Both environments need the extra "environments" of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ...models.base import InputError
from ...models.draw import choose, truth, whole
from ...models.placement import kernels
from ...models.placement.instance import MOST_TICKS, PlacementInstance
from ...models.placement.jobs import LARGEST, seconds
from ...models.placement.reward import Meter, refuse_free_jobs
from ...models.placement.simulator import Simulator
from ..views import Seen, draw, missing
from ..views import scores as action_of
from .view import AGENTS, HOUR, JOBS, arrays, may_wait, parts, shape_of, starts

try:
    import gymnasium
    from gymnasium import spaces
    from pettingzoo import ParallelEnv
except ModuleNotFoundError as error:
    raise missing(error) from error

REWARDS = ("aligned", "printed")

Source = PlacementInstance | Callable[[int], PlacementInstance]
"""An instance that every episode plays, or a function that makes one from a seed."""


class Stage:
    """The common part of both environments: episodes, observations as arrays of fixed sizes, and rewards.

    Parameters
    ----------
    source
        An instance that every episode plays, or a function that makes one from a seed, always with the same
        number of machines.
    window
        N: how many of the oldest waiting jobs the agents see, and may start; fewer, if the window of the
        instance is smaller.
    reward
        "aligned", see :class:`.reward.Meter`, or "printed", reward (3) with dollars and minutes, where a job
        fails if it is in the window, is not held back, and does not start.
    scaled
        Whether all that is seen lies between 0 and 1, see :class:`.view.PlacementView`, and rewards between
        -1 and 0: they are divided by ``scale``.
    wait
        Whether jobs of priorities below 0 are held back: they do not start before the next epoch, which is
        the next arrival or completion. Where nothing runs and nothing else starts, nobody knows of an event
        to wait for: the first in their order that fits starts all the same.

    Attributes
    ----------
    instance, simulator
        The instance, and its simulation; None before the first reset.
    over
        Whether no epoch is left.
    machines
        M.
    scale
        The seconds that a reward of 1 stands for: 1, or with ``scaled`` what no step of the instance costs
        more than.

    Raises
    ------
    InputError
        For a source that is neither, an instance without jobs, one with another number of machines than
        those before, or, with the printed reward, a job that pays nothing, or ``scaled``.
    """

    def __init__(
        self, source: Source, window: int, reward: str, scaled: bool = False, wait: bool = False
    ) -> None:
        self._window, self._wait = whole("window", window, 1), truth("wait", wait)
        self._reward = choose(reward, REWARDS, "reward")
        self._scaled = truth("scaled", scaled)
        if self._scaled and reward == "printed":
            raise InputError("scaled: True, but the printed reward has no largest value to scale by")
        self.scale = 1.0
        self._source = source
        self.instance: PlacementInstance | None = None
        self.simulator: Simulator | None = None
        self.over = True
        self.machines = 0
        self.machines = len(self._draw(0).setting.capacity)

    def _draw(self, seed: int) -> PlacementInstance:
        """Return the instance of a seed, checked."""
        made: PlacementInstance = draw(self._source, seed, PlacementInstance)
        if not len(made.jobs):
            raise InputError("jobs: none, so that there is nothing to decide")
        if self.machines and len(made.setting.capacity) != self.machines:
            raise InputError(
                f"machines: {len(made.setting.capacity)} with seed {seed}, but {self.machines} with seed 0"
            )
        if self._reward == "printed":
            refuse_free_jobs(made)
        return made

    def reset(self, seed: int) -> Seen:
        """Begin an episode with the instance of this seed and return what is seen at its first epoch."""
        self.instance = instance = self._draw(seed)
        window = min(self._window, instance.setting.window)
        self.simulator = Simulator(instance.table, instance.setting.slowdown.contention, window)
        self._meter = Meter(instance, self.simulator)
        self.scale = costliest_step(instance) if self._scaled else 1.0
        self.over = not self.simulator.advance()
        return self.observe()

    def observe(self) -> Seen:
        """Return the observation of now: "jobs", "machines" and "mask", new arrays."""
        simulator, _ = self._playing()
        state, table = simulator.state, simulator.table
        columns = table.instances, table.need, table.submit
        return arrays(
            simulator.pending,
            columns,
            simulator.now,
            state.free,
            table.capacity,
            self._window,
            scaled=self._scaled,
        )

    def _playing(self) -> tuple[Simulator, PlacementInstance]:
        """Return the simulation and its instance."""
        if self.simulator is None or self.instance is None:
            raise InputError("there is no episode: the environment must be reset first")
        return self.simulator, self.instance

    def step(self, priorities: np.ndarray | None, affinities: np.ndarray | None) -> tuple[float, float]:
        """Carry out priorities and affinities; return the reward and the cost of the step, in seconds.

        Without priorities the oldest job comes first; without affinities jobs are consolidated.
        """
        simulator, instance = self._playing()
        waiting = simulator.pending
        sizes, needs = instance.jobs.instances[waiting], instance.jobs.need[waiting]
        state, idle = simulator.state, not simulator.state.clock[kernels.RUNNING]
        given = waiting, sizes, needs, priorities, affinities, self._wait, bool(idle)
        rows = starts(simulator.table.capacity, state.free, *given)
        waited, used = simulator.waited, simulator.used
        simulator.start(rows)
        self.over = not simulator.advance()
        cost = instance.weighted(simulator.waited - waited, simulator.used - used)
        if self._reward == "aligned":
            return self._meter.aligned() / self.scale, cost
        if self._wait and priorities is not None:
            waiting = waiting[priorities[: len(waiting)] >= 0.0]
        return self._meter.printed(np.setdiff1d(waiting, rows[:, 0])), cost

    def info(self, cost: float = 0.0) -> dict[str, float]:
        """Return the info of a step: its cost and the time now, in seconds."""
        return {"cost": cost, "time": seconds(self._playing()[0].now)}

    def seen_space(self) -> spaces.Dict:
        """Return the space of what is seen."""
        hours = float(np.ceil(MOST_TICKS / HOUR))
        job = np.array([LARGEST, LARGEST, LARGEST, LARGEST, hours], dtype=np.float32)
        machine = np.array([LARGEST, LARGEST, LARGEST, 1.0], dtype=np.float32)
        if self._scaled:
            job, machine = np.ones_like(job), np.ones_like(machine)
        return spaces.Dict(
            {
                "jobs": spaces.Box(np.zeros((self._window, 5), np.float32), np.tile(job, (self._window, 1))),
                "machines": spaces.Box(
                    np.zeros((self.machines, 4), np.float32), np.tile(machine, (self.machines, 1))
                ),
                "mask": spaces.MultiBinary(self._window),
            }
        )

    def shape(self, agent: str) -> tuple[int, ...]:
        """Return the shape of what an agent decides: (N,), (N, M), or both side by side."""
        return shape_of(agent, self._window, self.machines)

    def scores(self, given: Any, agent: str) -> np.ndarray:
        """Return an action as an array; refuse a wrong one, or any if no episode is under way."""
        if self.over:
            raise InputError("the episode is over, or there is none yet: the environment must be reset")
        return action_of(given, f"action of {agent}", self.shape(agent))


def costliest_step(instance: PlacementInstance) -> float:
    """Return seconds that no step of an instance costs more than, whatever is decided.

    In a step each job is in the system no longer than the longest of all takes with the largest slowdown:
    while nothing that waits fits, or what fits is held back, something runs, and when that has ended the
    machines are empty.
    """
    longest = int(float(instance.jobs.duration.max()) * instance.setting.slowdown.worst) + 2
    gpus = int(instance.setting.capacity[:, 0].sum())
    return instance.weighted(len(instance.jobs) * longest, gpus * longest)


def _action_space(shape: tuple[int, ...]) -> spaces.Box:
    """Return the space of scores; only order, and with ``wait`` sign, count: any finite numbers will do."""
    return spaces.Box(-1.0, 1.0, shape, np.float32)


class ParallelEnvironment(ParallelEnv):  # type: ignore[misc]
    """Ordering and placement as two agents that act at the same time and share the reward.

    Each sees a dictionary of arrays:

    - "jobs", shape (N, 5): of each waiting job, the oldest first, the number of instances; GPUs, cores and GB
      of each instance; how many hours it has waited. Zeros beyond the last one.
    - "machines", shape (M, 4): what is free of GPUs, cores and GB, and the utilisation, the largest share of
      a resource in use. The bandwidth of the paper is no part of the model.
    - "mask", shape (N,): 1 where there is a job.

    In the paper the one sees the jobs and the other the machines, and the rest reaches them as messages; here
    both see both. ``ordering`` answers with priorities, shape (N,), and ``placement`` with affinities, shape
    (N, M); only their order counts, and with ``wait`` whether a priority is below 0. The info of each has the
    "cost" of the step and the "time", in seconds.

    ``reset(seed=s)`` plays the instance of seed s; without a seed, that of a seed drawn from the generator
    that the last one given has set up. Parameters, attributes and errors are those of :class:`Stage`.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "clairvoyant_placement", "render_modes": []}

    def __init__(
        self,
        source: Source,
        window: int = JOBS,
        reward: str = "aligned",
        scaled: bool = False,
        wait: bool = False,
    ) -> None:
        self.stage = Stage(source, window, reward, scaled, wait)
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.render_mode = None
        self.observation_spaces = {agent: self.stage.seen_space() for agent in AGENTS}
        self.action_spaces = {agent: _action_space(self.stage.shape(agent)) for agent in AGENTS}
        self._rng = np.random.default_rng()

    @property
    def instance(self) -> PlacementInstance | None:
        """The instance."""
        return self.stage.instance

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Box:
        """Return the action space of an agent."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, float]]]:
        """Begin an episode; see the class. There are no options."""
        if seed is None:
            seed = int(self._rng.integers(2**32))
        else:
            self._rng = np.random.default_rng(seed)
        seen = self.stage.reset(seed)
        self.agents = list(AGENTS)
        return self._each(seen), {agent: self.stage.info() for agent in AGENTS}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, float]]
    ]:
        """Carry out the priorities and affinities of the two agents and go on to the next epoch.

        An action that is missing, of another shape or not finite is an InputError, and so is a step when the
        episode is over.
        """
        priorities, affinities = (self.stage.scores(actions.get(agent), agent) for agent in AGENTS)
        reward, cost = self.stage.step(priorities, affinities)
        over = self.stage.over
        if over:
            self.agents = []
        return (
            self._each(self.stage.observe()),
            dict.fromkeys(AGENTS, reward),
            dict.fromkeys(AGENTS, over),
            dict.fromkeys(AGENTS, False),
            {agent: self.stage.info(cost) for agent in AGENTS},
        )

    @staticmethod
    def _each(seen: Seen) -> dict[str, Seen]:
        """Give each agent arrays of its own."""
        first, second = AGENTS
        return {first: seen, second: {name: array.copy() for name, array in seen.items()}}


class SingleEnvironment(gymnasium.Env[Any, np.ndarray]):
    """One agent that decides on order, placement or both.

    It gets the observations, rewards and infos of :class:`ParallelEnvironment`, with the same seeds.

    Parameters
    ----------
    source, window, reward, scaled, wait
        See :class:`Stage`.
    agent
        "both": the action has shape (N, 1 + M), priorities in the first column and affinities in the others.
        "ordering": priorities, shape (N,), and each job goes where it spans the fewest machines.
        "placement": affinities, shape (N, M), and the oldest job comes first.

    Raises
    ------
    InputError
        As :class:`Stage`, for an unknown agent, and for ``wait`` with the agent "placement".
    """

    def __init__(
        self,
        source: Source,
        window: int = JOBS,
        reward: str = "aligned",
        agent: str = "both",
        scaled: bool = False,
        wait: bool = False,
    ) -> None:
        self.agent = choose(agent, ("both", *AGENTS), "agent")
        self.stage = Stage(source, window, reward, scaled, may_wait(wait, agent))
        self.observation_space = self.stage.seen_space()
        self.action_space = _action_space(self.stage.shape(self.agent))

    @property
    def instance(self) -> PlacementInstance | None:
        """The instance."""
        return self.stage.instance

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode, see :class:`ParallelEnvironment`. There are no options."""
        super().reset(seed=seed)
        sampled = int(self.np_random.integers(2**32)) if seed is None else seed
        return self.stage.reset(sampled), self.stage.info()

    def step(self, action: Any) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Carry out the scores and go on to the next epoch; refuse as :class:`ParallelEnvironment` does."""
        scores = self.stage.scores(action, self.agent)
        priorities, affinities = parts(scores, self.agent)
        reward, cost = self.stage.step(priorities, affinities)
        return self.stage.observe(), reward, self.stage.over, False, self.stage.info(cost)
