"""The placement problem for a trained model: arrays in, priorities and affinities out."""

from __future__ import annotations

import numpy as np

from ...models.base import InputError, frozen
from ...models.compiled import njit
from ...models.draw import choose, truth, whole
from ...models.placement.jobs import TICKS, UNITS
from ...models.placement.setting import Feedback, Observation, Setting
from ..views import Seen

JOBS = 24
"""N: how many of the oldest waiting jobs the agents see."""

AGENTS = ("ordering", "placement")
HOUR = 3600.0 * TICKS
EIGHT = 8.0
"""The instances of a job that are one half when scaled."""


class PlacementView:
    """What the environments of this problem show and do, for a policy; see :mod:`.environment`.

    With ``scaled`` every number that is seen lies between 0 and 1: of the jobs, n / (8 + n) of n instances,
    the GPUs, cores and GB of each instance as parts of what the largest machine has of them, and h / (1 + h)
    of h hours; of the machines, what is free as parts of what they have.

    Parameters
    ----------
    window, agent, scaled, wait
        As for :class:`.environment.SingleEnvironment`. The instance may let more jobs start than the window
        shows; these wait until they are among the oldest.
    """

    problem = "placement"
    sees: frozenset[str] = frozenset()

    def __init__(
        self, *, window: int = JOBS, agent: str = "both", scaled: bool = False, wait: bool = False
    ) -> None:
        self._window = whole("window", window, 1)
        self._agent = choose(agent, ("both", *AGENTS), "agent")
        self._scaled = truth("scaled", scaled)
        self._wait = may_wait(wait, agent)

    def fit(self, setting: Setting) -> None:
        """Take the number of machines."""
        self._machines = len(setting.capacity)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each array that is seen."""
        return {"jobs": (self._window, 5), "machines": (self._machines, 4), "mask": (self._window,)}

    def action_shape(self) -> tuple[int, ...]:
        """Return the shape of what the agent decides."""
        return shape_of(self._agent, self._window, self._machines)

    def start(self, setting: Setting) -> None:
        """Begin; another number of machines is an InputError."""
        if len(setting.capacity) != self._machines:
            raise InputError(f"instance: {len(setting.capacity)} machines, expected {self._machines}")
        self._capacity = setting.capacity

    def look(self, observation: Observation) -> Seen:
        """Return "jobs", "machines" and "mask"."""
        self._now = o = observation
        waiting = np.arange(min(self._window, len(o.jobs)))
        columns = np.array(o.instances), np.array(o.need), np.array(o.submit)
        free = np.array(o.free)
        return arrays(waiting, columns, o.time, free, self._capacity, self._window, scaled=self._scaled)

    def decide(self, action: np.ndarray) -> np.ndarray:
        """Return the starts, rows (job, machine, count)."""
        o, w = self._now, min(self._window, len(self._now.jobs))
        jobs = np.array(o.jobs[:w])
        sizes, needs = np.array(o.instances[:w]), np.array(o.need[:w])
        given = *parts(action, self._agent), self._wait, not len(o.running)
        return frozen(starts(self._capacity, o.free, jobs, sizes, needs, *given))

    def learn(self, feedback: Feedback) -> None:
        """Nothing: the next observation says all."""


def shape_of(agent: str, window: int, machines: int) -> tuple[int, ...]:
    """Return the shape of what an agent decides: (N,), (N, M), or both side by side."""
    many = {"ordering": (), "placement": (machines,), "both": (1 + machines,)}
    return (window, *many[agent])


def may_wait(wait: bool, agent: str) -> bool:
    """Return whether jobs may be held back; refuse it to an agent without priorities."""
    if truth("wait", wait) and agent == "placement":
        raise InputError("wait: True, but the agent 'placement' gives no priorities to wait by")
    return wait


def parts(action: np.ndarray, agent: str) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return priorities and affinities of an action; None for what the agent does not decide."""
    if agent == "ordering":
        return action, None
    return (None, action) if agent == "placement" else (action[:, 0], action[:, 1:])


def starts(
    capacity: np.ndarray,
    free: np.ndarray,
    waiting: np.ndarray,
    sizes: np.ndarray,
    needs: np.ndarray,
    priorities: np.ndarray | None,
    affinities: np.ndarray | None,
    wait: bool,
    idle: bool,
) -> np.ndarray:
    """Return which of the waiting jobs start where: rows (job, machine, count).

    Without priorities the oldest job comes first; without affinities jobs are consolidated. With ``wait``
    jobs of priorities below 0 are held back; if then nothing starts though nothing runs (``idle``), the first
    in their order that fits does.
    """
    w = len(waiting)
    order = np.arange(w) if priorities is None else np.argsort(-priorities[:w], kind="stable")
    given = capacity, free, waiting, sizes, needs, affinities
    if not wait or priorities is None:
        return _started(order, *given)
    rows = _started(order[priorities[order] >= 0.0], *given)
    if len(rows) or not idle:
        return rows
    rows = _started(order, *given)
    return rows[rows[:, 0] == rows[0, 0]]


def _started(
    order: np.ndarray,
    capacity: np.ndarray,
    free: np.ndarray,
    waiting: np.ndarray,
    sizes: np.ndarray,
    needs: np.ndarray,
    affinities: np.ndarray | None,
) -> np.ndarray:
    """Return the rows that start if jobs are tried in an order of places, those of a job together."""
    from ...models.placement import kernels

    left = free.copy()
    if affinities is None:
        rule = kernels.CONSOLIDATE
        rows = kernels.start_by_rule(capacity, left, waiting, sizes, needs, order, rule, strict=False)
    else:
        ranked = np.argsort(-affinities[: len(waiting)], axis=1, kind="stable")
        rows = kernels.start_by_rank(left, waiting, sizes, needs, order, ranked, strict=False)
    return np.asarray(rows)


def arrays(
    waiting: np.ndarray,
    columns: tuple[np.ndarray, np.ndarray, np.ndarray],
    now: int,
    free: np.ndarray,
    capacity: np.ndarray,
    window: int,
    *,
    scaled: bool,
) -> Seen:
    """Return what is seen of the waiting jobs, at most ``window``, and of the machines.

    ``columns`` are the instances, needs and submissions of all jobs, of which ``waiting`` are the places.
    """
    jobs = np.zeros((window, 5), dtype=np.float32)
    machines = np.empty((len(capacity), 4), dtype=np.float32)
    mask = np.zeros(window, dtype=np.int8)
    instances, need, submit = columns
    _look_at_jobs(waiting, instances, need, submit, now, jobs, mask)
    _look_at_machines(free, capacity, machines)
    if scaled:
        jobs[:, 0] /= EIGHT + jobs[:, 0]
        jobs[:, 1:4] = _of(jobs[:, 1:4], capacity.max(axis=0) / np.array(UNITS))
        jobs[:, 4] /= 1.0 + jobs[:, 4]
        machines[:, :3] = _of(machines[:, :3], capacity / np.array(UNITS))
    return {"jobs": jobs, "machines": machines, "mask": mask}


def _of(amounts: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return amounts as parts of the most that there is, at most 1 whatever is rounded; 0 where none is."""
    share = np.divide(amounts, most, out=np.zeros(amounts.shape), where=most > 0)
    return np.minimum(1.0, share)


@njit(cache=True)
def _look_at_jobs(waiting, instances, need, submit, now, jobs, mask):  # type: ignore[no-untyped-def]
    """Write the features of the waiting jobs into ``jobs`` and 1 for each into ``mask``."""
    for p in range(waiting.size):
        job = waiting[p]
        jobs[p, 0] = instances[job]
        for r in range(3):
            jobs[p, 1 + r] = need[job, r] / UNITS[r]
        jobs[p, 4] = (now - submit[job]) / HOUR
        mask[p] = 1


@njit(cache=True)
def _look_at_machines(free, capacity, machines):  # type: ignore[no-untyped-def]
    """Write the features of the machines into ``machines``."""
    for k in range(free.shape[0]):
        used = 0.0
        for r in range(3):
            machines[k, r] = free[k, r] / UNITS[r]
            if capacity[k, r] > 0:
                used = max(used, 1.0 - free[k, r] / capacity[k, r])
        machines[k, 3] = used
