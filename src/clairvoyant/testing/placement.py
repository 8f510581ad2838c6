"""Placement: what the policy checks need, and Hypothesis strategies.

>>> from hypothesis import given
>>> @given(instances(max_jobs=3))
... def test_every_job_fits_somewhere(instance):
...     assert (instance.fewest <= len(instance.setting.capacity)).all()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from ..models.placement import kernels
from ..models.placement.episode import read_starts
from ..models.placement.generate import generate
from ..models.placement.instance import PlacementInstance, taken_schedule
from ..models.placement.jobs import LARGEST, LONGEST, TICKS
from ..models.placement.schedule import Schedule
from ..models.placement.simulator import Simulator, rooms
from .kit import LONG, Kit, Target, afresh
from .strategies import among, integers, orders

__all__ = ["CONSTRAINTS", "Schedule", "alter", "degenerate", "faults", "instances", "ordinary", "schedules"]
__all__ += ["secrets"]

CONSTRAINTS = (
    *("job", "machine", "count", "twice", "window", "gang", "capacity", "progress"),
    *("start", "finish"),
)
"""Everything that a schedule can break."""

TIMES = st.sampled_from([1, 2, 3, 5, 0.5, 1.25, 10])
LEVELS = st.sampled_from([0, 0.5, 1, 2])
INTENSITIES = st.sampled_from([1, 0.5, 0, 0.25])
SUBMITS = st.sampled_from([0, 0, 1, 2, 0.5, 4, 7])


@st.composite
def instances(
    draw: st.DrawFn,
    *,
    max_machines: int = 3,
    min_jobs: int = 0,
    max_jobs: int = 6,
    max_gpus: int = 4,
    max_instances: int = 4,
    slowdowns: bool = True,
    contention: bool = True,
    gpu_weights: bool = True,
    windows: bool = True,
    estimates: bool = False,
) -> PlacementInstance:
    """Draw an instance; it shrinks towards few machines and jobs, equal times and no slowdown.

    Machines may differ and may have no GPUs, jobs may need none; every job fits on the empty machines.

    Parameters
    ----------
    max_machines, min_jobs, max_jobs, max_gpus, max_instances
        Limits of the sizes.
    slowdowns, contention, gpu_weights, windows
        Whether jobs may be slowed down at all, may contend, whether GPU-seconds may count in the cost, and
        whether the window may be small.
    estimates
        Whether the jobs have estimates.
    """
    machines = draw(_machines(max_gpus, max_machines))
    one = _jobs(machines, max_instances, estimates)
    jobs = draw(st.lists(one, min_size=min_jobs, max_size=max_jobs))
    return PlacementInstance(
        machines=machines,
        jobs=jobs,
        price=2.84,
        slowdown={
            "communication": draw(LEVELS) if slowdowns else 0,
            "contention": draw(LEVELS) if slowdowns and contention else 0,
        },
        gpu_weight=draw(among(0, 0.1, 1)) if gpu_weights else 0,
        window=draw(among(64, 1, 2, 3)) if windows else 64,
    )


@cache
def _machines(max_gpus: int, most: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return the strategy of at most so many machines, often alike."""
    machine = st.fixed_dictionaries(
        {
            "gpus": st.integers(0, max_gpus) | st.just(max_gpus),
            "cpus": st.sampled_from([8, 4, 2.5]),
            "memory": st.sampled_from([16, 8, 32]),
        }
    )
    alike = st.builds(lambda one, count: [one] * count, machine, st.integers(1, most))
    return alike | st.lists(machine, min_size=1, max_size=most)


@st.composite
def _jobs(
    draw: st.DrawFn, machines: list[dict[str, Any]], max_instances: int, estimates: bool
) -> dict[str, Any]:
    """Draw a job that fits on these machines: an instance fits on one of them, and all on all of them."""
    largest = machines[draw(integers(0, len(machines) - 1))]
    gpus = draw(integers(0, largest["gpus"]))
    job = {
        "gpus": gpus,
        "cpus": draw(among(1, 0.5, 2, largest["cpus"], *([0] if gpus else []))),
        "memory": draw(among(1, 2, 4, largest["memory"], 0)),
    }
    fitting = sum(_room(machine, job) for machine in machines)
    return {
        "submit": draw(SUBMITS),
        "duration": draw(TIMES),
        "instances": draw(integers(1, min(max_instances, fitting))),
        **job,
        "intensity": draw(INTENSITIES),
        **({"estimate": draw(TIMES)} if estimates else {}),
    }


def _room(machine: dict[str, Any], job: dict[str, Any]) -> int:
    """Return how many instances fit on a machine, at most 100."""
    return int(min([100, *(machine[r] // job[r] for r in ("gpus", "cpus", "memory") if job[r])]))


@st.composite
def schedules(draw: st.DrawFn, instance: PlacementInstance) -> Schedule:
    """Draw a feasible schedule, as a random policy makes it: any jobs, on machines in any order, or none."""
    simulator = instance.simulator()
    while simulator.advance():
        free, rows, at = simulator.state.free.copy(), np.zeros((64, 3), dtype=np.int64), 0
        idle = simulator.state.clock[kernels.RUNNING] == 0
        pending = simulator.pending.tolist()
        for job in [pending[i] for i in draw(orders(len(pending)))]:
            if draw(st.booleans()) or (idle and at == 0):
                order = np.array(draw(orders(len(free))))
                need, instances = instance.jobs.need[job], instance.jobs.instances[job]
                rows = np.concatenate([rows, np.zeros((len(free), 3), dtype=np.int64)])
                at = kernels.fill(free, need, instances, order, job, rows, at)
        rows = rows[:at]
        simulator.start(rows[np.lexsort((rows[:, 1], rows[:, 0]))])
    return taken_schedule(simulator)


@st.composite
def faults(
    draw: st.DrawFn, instance: PlacementInstance, constraints: Sequence[str] = CONSTRAINTS
) -> tuple[str, Schedule]:
    """Draw the name of a constraint and a schedule that breaks it, and perhaps others as well.

    The schedule is a feasible one with a time or a row changed. Where this cannot break the constraint, as
    without jobs, the draw is rejected.

    Parameters
    ----------
    instance
        The instance.
    constraints
        The names to choose from.
    """
    assume(len(instance.jobs))
    constraint = draw(among(*constraints))
    good = draw(schedules(instance))
    start, finish, rows = good.start.copy(), good.finish.copy(), good.rows.tolist()
    at = draw(integers(0, len(rows) - 1))
    job, _, count = rows[at]
    capacity = instance.setting.capacity
    match constraint:
        case "job":
            rows.append([draw(st.sampled_from([-1, len(instance.jobs)])), 0, 1])
        case "machine":
            rows[at][1] = draw(st.sampled_from([-1, len(capacity)]))
        case "count":
            rows[at][2] = draw(st.sampled_from([0, -1, -count]))
        case "twice":
            rows.append([*rows[at][:2], draw(st.integers(1, count))])
        case "gang":
            rows[at][2] = count + draw(st.sampled_from([1, 1, -1] if count > 1 else [1]))
        case "capacity":
            fitting = np.array([rooms(capacity, need, int(capacity.max())) for need in instance.jobs.need])
            least = fitting.min(axis=1)
            job = draw(st.sampled_from([-1, *np.flatnonzero(least < instance.jobs.instances).tolist()]))
            assume(job >= 0)
            k = draw(st.sampled_from(np.flatnonzero(fitting[job] == least[job]).tolist()))
            rows = [row for row in rows if row[0] != job]
            rows.append([job, k, int(instance.jobs.instances[job])])
        case "window":
            early = np.unique(good.start[good.start < instance.jobs.submit[job]])
            assume(len(early))
            start[job] = draw(st.sampled_from(early.tolist()))
        case "progress":
            start[:] = -1
        case "start":
            start[:] = finish.max() + 1
        case _:
            finish[job] += draw(st.sampled_from([-1, 1, TICKS]))
    return constraint, Schedule(start, finish, np.array(rows))


def _random(
    seed: int, machines: list[tuple[int, int, int]], *, count: int, gap: float = 3.0, **fields: Any
) -> PlacementInstance:
    """Return a small instance in which no two jobs are alike and no two events at the same time.

    Parameters
    ----------
    seed
        Decides everything.
    machines
        The GPUs, cores and GB of each.
    count
        Number of jobs.
    gap
        Mean time between submissions; the mean duration is about 30 s.
    fields
        Further fields of the instance.
    """
    rng, errors = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    names = ("gpus", "cpus", "memory")
    largest = [max(machines, key=lambda has: (has[0], has[1]))] * 2 + [min(machines)]
    submits = np.cumsum(rng.exponential(gap, count)).round(3)
    listed = []
    for i, submit in enumerate(submits.tolist()):
        has = largest[i % 3]
        need = (int(rng.integers(has[0] > 0, has[0] // 2 + 1)), *rng.integers(1, 6, 2).tolist())
        fitting = sum(min(have // n for have, n in zip(other, need, strict=True) if n) for other in machines)
        listed.append(
            {
                "submit": submit,
                "duration": round(float(rng.lognormal(3.0, 0.8)), 3) + 1.0,
                "instances": min(fitting, int(rng.choice([1, 1, 1, 2, 3, 5]))),
                **dict(zip(names, need, strict=True)),
                "intensity": round(float(rng.uniform(0.2, 1.0)), 3),
            }
        )
        listed[i]["estimate"] = round(listed[i]["duration"] * float(errors.lognormal(0.0, 1.0)) + 1.0, 3)
    return PlacementInstance(
        machines=[dict(zip(names, has, strict=True)) for has in machines], jobs=listed, **fields
    )


@afresh
def ordinary() -> dict[str, PlacementInstance]:
    """Return the instances that policies are checked on: scarce, ample and different machines.

    The window is shorter than the list of jobs in all of them, and users err in their estimates.
    """
    both = {"communication": 1.0, "contention": 0.5}
    differing = [(4, 16, 32), (0, 24, 24), (4, 12, 64)]
    return {
        "scarce machines": _random(0, [(4, 16, 32)] * 3, count=13, gap=2.5, slowdown=both, window=4),
        "ample machines": _random(1, [(8, 32, 64)] * 4, count=10, slowdown=both, gpu_weight=0.1, window=8),
        "machines that differ": _random(
            2, differing, count=11, gap=1.5, slowdown=both | {"contention": 2.0}, window=3
        ),
    }


@afresh
def long() -> dict[str, PlacementInstance]:
    """Return an instance of many jobs, and so of more decision epochs."""
    return {"many jobs": _random(5, [(8, 32, 64)] * 2, count=LONG + 20, window=8)}


PLAIN = {"submit": 0, "duration": 10, "estimate": 7, "instances": 1, "gpus": 1, "cpus": 1, "memory": 1}


def _jobs_with(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a plain job for each of these, with these fields changed."""
    return [PLAIN | change for change in changes]


@afresh
def degenerate() -> dict[str, PlacementInstance]:
    """Return instances at the edge of what is allowed; their jobs have estimates."""
    plain = {"gpus": 2, "cpus": 8, "memory": 8}
    none = plain | {"gpus": 0}
    some = _jobs_with(
        {}, {"submit": 1, "instances": 3}, {"submit": 2, "gpus": 2, "estimate": 5}, {"submit": 30}
    )
    worst = {"communication": 10.0, "contention": 10.0}

    def made(jobs: list[dict[str, Any]], machines: Any = (plain, plain), **fields: Any) -> PlacementInstance:
        slowdown = {"communication": 1.0, "contention": 1.0}
        return PlacementInstance(**{"machines": list(machines), "jobs": jobs, "slowdown": slowdown, **fields})

    cpu_jobs = _jobs_with(*({"gpus": 0, "submit": t, "instances": 1 + t, "cpus": 3} for t in range(4)))
    most = int(LARGEST)
    huge = dict.fromkeys(plain, most)
    huge_jobs = _jobs_with(
        {"instances": most, "cpus": 0.001, "memory": 0, "estimate": LONGEST},
        {"duration": LONGEST, "instances": 2, "estimate": 0.001, **huge},
        {"submit": LONGEST, "duration": 0.001, "gpus": most, "cpus": 0, "memory": LARGEST - 0.001},
        {"submit": LONGEST, "instances": 3, "gpus": most // 2},
    )
    return {
        "no jobs": made([]),
        "no jobs, no GPUs": made([], [none]),
        "one job": made(_jobs_with({"submit": 3})),
        "one machine": made([job | {"instances": 1} for job in some], [plain]),
        "one instance too many for one machine": made(_jobs_with(*[{"instances": 3}] * 3)),
        "no GPUs": made(cpu_jobs, [none, none]),
        "CPU jobs and machines without GPUs": made(some + cpu_jobs, [plain, none, plain]),
        "CPU jobs on GPU machines": made(cpu_jobs),
        "only memory is asked for": made(
            _jobs_with(*({"gpus": 0, "cpus": 0, "memory": m, "submit": m} for m in (1, 8, 5, 3)))
        ),
        "machines with nothing": made(some, [dict.fromkeys(plain, 0), plain, plain]),
        "all at once": made([job | {"submit": 5} for job in some]),
        "all alike": made(_jobs_with(*[{"instances": 2}] * 9)),
        "window of 1": made(some + _jobs_with({"instances": 4}, {}), window=1),
        "every job takes everything": made(_jobs_with(*({"instances": 4, "submit": t} for t in range(4)))),
        "many small jobs": made(_jobs_with(*({"submit": t // 7, "duration": 1 + t % 5} for t in range(60)))),
        "more wait than the window holds": made(_jobs_with(*[{}] * 20), window=3),
        "events at the same time": made(
            _jobs_with(*({"submit": 5 * t, "duration": 5} for t in range(6))),
            slowdown={**worst, "contention": 0},
        ),
        "worst slowdown": made(some * 2, slowdown=worst),
        "no contention at intensity 0": made([job | {"intensity": 0} for job in some]),
        "times of a tick": made(_jobs_with(*[{"duration": 0.001, "estimate": 0.001, "instances": 3}] * 4)),
        "long idle": made(_jobs_with({}, {"submit": LONGEST})),
        "huge numbers": made(huge_jobs, [huge, huge], slowdown={**worst, "contention": 0}),
        "thousandths": made(
            _jobs_with(*[{"cpus": 0.001, "memory": 2.667, "gpus": 0, "instances": 3}] * 3),
            [none, {"gpus": 0, "cpus": 0.005, "memory": 8}],
        ),
        "free GPUs": made(some, price=0.0),
        "GPUs dearer than time": made(some, gpu_weight=1e6),
    }


def alter(
    instance: PlacementInstance, event: int, sees: frozenset[str], decisions: Sequence[Any]
) -> Iterator[PlacementInstance]:
    """Yield instances with the same setting that differ in what was not shown when ``event`` is decided.

    The decisions are played up to that epoch. Nothing then is known of the jobs that are submitted later:
    there may be none, others, or one more. The jobs beyond the window have only been counted, so that they
    may need something else. Unless durations are seen, those of the jobs that are not done may be others,
    too; the jobs that run still do so. Unless estimates are seen, those of all jobs may be others.
    """
    simulator = _played(instance, decisions[:event])
    changes = [*_other_future(instance, simulator), *_other_bodies(instance, simulator)]
    if "durations" not in sees:
        changes += _other_durations(instance, simulator)
    if "estimates" not in sees:
        changes += _other_estimates(instance)
    for jobs in changes:
        other = PlacementInstance.from_dict(instance.to_dict() | {"jobs": jobs})
        if other != instance:
            yield other


def _played(instance: PlacementInstance, decisions: Sequence[Any]) -> Simulator:
    """Return the simulation at the epoch after these decisions."""
    simulator = instance.simulator()
    simulator.advance()
    for decision in decisions:
        simulator.start(read_starts(decision))
        simulator.advance()
    return simulator


BODY = ("instances", "gpus", "cpus", "memory")


def _other_future(instance: PlacementInstance, simulator: Simulator) -> Iterator[list[dict[str, Any]]]:
    """Yield lists of jobs with others after now: none, the same in another order, one more."""
    jobs, now = instance.jobs.to_list(), simulator.now
    arrived = int(simulator.state.clock[kernels.ARRIVED])
    shown, later = jobs[:arrived], jobs[arrived:]
    if later:
        yield shown
        first, last = now + 1, int(instance.jobs.submit[-1])
        yield shown + [
            _given(job, other, submit=(first + last - round(job["submit"] * TICKS)) / TICKS)
            for job, other in zip(later, [*later[1:], jobs[0]], strict=True)
        ]
    if now < LONGEST * TICKS:
        yield [*jobs, _given(jobs[0], jobs[-1], submit=(now + 1) / TICKS, duration=0.001)]


def _given(job: dict[str, Any], other: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a job that needs what another one does, takes as long as it, and is less intense than itself.

    Its user believes what that of the other one does.
    """
    taken = {name: other[name] for name in (*BODY, "duration", "estimate") if name in other}
    return job | taken | {"intensity": round(job.get("intensity", 1.0) / 2, 3)} | fields


def _other_bodies(instance: PlacementInstance, simulator: Simulator) -> Iterator[list[dict[str, Any]]]:
    """Yield a list of jobs in which those that wait beyond the window are others, if there are any."""
    jobs = instance.jobs.to_list()
    state = simulator.state
    beyond = kernels.waiting(state)[simulator.window :].tolist()
    if beyond:
        longer = {
            i: {name: min(LONGEST, 2 * jobs[i][name]) for name in ("duration", "estimate") if name in jobs[i]}
            for i in beyond
        }
        changed = {i: _given(jobs[i], jobs[i - 1], **longer[i]) for i in beyond}
        yield [changed.get(i, job) for i, job in enumerate(jobs)]


def _other_durations(instance: PlacementInstance, simulator: Simulator) -> Iterator[list[dict[str, Any]]]:
    """Yield lists of jobs in which those that are not done take longer, or are in another order of length.

    A running job takes at least a tick longer than it has run by now, so that it is not done yet: it does at
    most a tick's work in a tick.
    """
    jobs, state, now = instance.jobs.to_list(), simulator.state, simulator.now
    done = set(state.ended[: state.clock[kernels.DONE]].tolist())
    least = np.where(state.start < 0, 0, now - state.start) + 1
    mine = instance.jobs.duration
    going = [i for i in range(len(jobs)) if i not in done]
    span = int(mine[going].min() + mine[going].max()) + TICKS
    changes = (2 * mine + TICKS, np.where(mine > least, (mine + least) // 2, 2 * mine), span - mine)
    for ticks in changes:
        taken = np.clip(ticks, least, int(LONGEST) * TICKS)
        chosen = {i: jobs[i] | {"duration": int(taken[i]) / TICKS} for i in going}
        yield [chosen.get(i, job) for i, job in enumerate(jobs)]


def _other_estimates(instance: PlacementInstance) -> Iterator[list[dict[str, Any]]]:
    """Yield lists of jobs with longer estimates, and with estimates in another order, if there are any."""
    jobs, mine = instance.jobs.to_list(), instance.jobs.estimate
    if mine is not None:
        for ticks in (2 * mine + TICKS, mine.min() + mine.max() - mine):
            taken = np.clip(ticks, 1, int(LONGEST) * TICKS) / TICKS
            yield [job | {"estimate": estimate} for job, estimate in zip(jobs, taken.tolist(), strict=True)]


def secrets(instance: PlacementInstance) -> Iterator[np.ndarray]:
    """Yield what nature reveals of the jobs."""
    yield instance.table.duration
    for name in ("submit", "duration", "instances", "need", "intensity"):
        yield getattr(instance.jobs, name)
    if instance.jobs.estimate is not None:
        yield instance.jobs.estimate


def shown(instance: PlacementInstance) -> int:
    """Return how many jobs an observation may show: those of the window."""
    return instance.setting.window


DRAWN = partial(generate, "tiny", estimate_error=0.5)

KIT = Kit("placement", ordinary, degenerate, PlacementInstance.shows, alter, secrets, shown, long, DRAWN)


def scaled(data: dict[str, Any], factor: float) -> dict[str, Any]:
    """Return the JSON form of an instance with its rewards multiplied, as far as that is allowed."""
    data["gpu_weight"] = data.get("gpu_weight", 0) * min(max(factor, 1.0), 1e6)  # it has three decimals
    return data


TARGET = Target(
    instances(max_jobs=4), scaled, lambda instance, schedule: instance.decisions(schedule), "offline"
)
