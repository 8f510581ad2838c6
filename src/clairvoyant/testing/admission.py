"""Admission: what the policy checks need, and Hypothesis strategies.

>>> from hypothesis import given
>>> @given(instances(max_jobs=3))
... def test_nothing_earns_nothing(instance):
...     assert not instance.rewards(Schedule.empty()).any()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from ..models.admission.generate import generate
from ..models.admission.instance import AdmissionInstance
from ..models.admission.jobs import LARGEST, MOST_CHUNKS, Job
from ..models.admission.schedule import Schedule
from ..models.admission.setting import room
from .kit import LONG, Kit, Target, afresh
from .strategies import among, integers, orders

__all__ = ["CONSTRAINTS", "Schedule", "alter", "degenerate", "faults", "instances", "jobs", "ordinary"]
__all__ += ["schedules", "secrets"]

AMOUNTS = st.sampled_from([1, 0.1, 0.3, 0.5, 1, 2, 0, 0.25, 3])
CAPACITIES = st.sampled_from([4, 6, 3, 5, 2.5, 8, 2, 4, 10, 3, 5, 1, 0.3, 0])
TIMES = st.sampled_from([1, 0.1, 0.5, 0.4, 1, 0.25, 0.3, 1.5])
BANDWIDTHS = st.sampled_from([(1, 1), (1, 3), (0.1, 0.3), (2, 3), (1, 2), (0.1, 0.1), (2, 6), (3, 4), (3, 2)])
FEW = st.sampled_from([1, 1, 2])
GRADIENTS = st.sampled_from([0, 0, 0.05])
PRIORITIES = st.sampled_from([1, 2, 10, 100]) | st.floats(0.5, 100.0)
NONE: st.SearchStrategy[list[list[float]]] = st.just([])
DECAYS = st.sampled_from([0, 0.5, 1, 5])

CONSTRAINTS = (
    *("slot", "job", "machine", "twice", "count", "arrival", "finished", "chunks", "bandwidth", "servers"),
    *("worker capacity", "server capacity", "work"),
)
"""Everything that a schedule can break."""


@st.composite
def jobs(draw: st.DrawFn, *, horizon: int, resources: int, max_chunks: int = 4) -> dict[str, Any]:
    """Draw one job in its JSON form; it may be unable ever to finish."""
    amounts = _lists(AMOUNTS, resources, resources)
    worker_bandwidth, server_bandwidth = draw(BANDWIDTHS)
    return {
        "arrival": draw(_arrivals(horizon)),
        "epochs": draw(FEW),
        "chunks": draw(integers(1, max_chunks)),
        "minibatches": draw(FEW),
        "minibatch_time": draw(TIMES),
        "gradient_size": draw(GRADIENTS),
        "worker_bandwidth": worker_bandwidth,
        "server_bandwidth": server_bandwidth,
        "worker_demand": draw(amounts),
        "server_demand": draw(amounts),
        "utility": {
            "priority": draw(PRIORITIES),
            "decay": draw(DECAYS),
            "target": draw(integers(0, horizon + 2)),
        },
    }


@st.composite
def instances(
    draw: st.DrawFn,
    *,
    max_horizon: int = 4,
    max_machines: int = 2,
    max_resources: int = 2,
    min_jobs: int = 0,
    max_jobs: int = 4,
    max_chunks: int = 4,
) -> AdmissionInstance:
    """Draw an instance; it shrinks towards few slots, machines and jobs.

    Machines may have nothing, jobs may demand nothing or too much, and some jobs cannot finish.

    Parameters
    ----------
    max_horizon, max_machines, max_resources, min_jobs, max_jobs, max_chunks
        Limits of the sizes; the machines are those of each kind.
    """
    horizon = draw(_horizons(max_horizon))
    resources = draw(integers(1, max_resources))
    machines = NONE if draw(integers(0, 9)) == 9 else _machines(resources, max_machines)
    one = _jobs(horizon, resources, max_chunks)
    return AdmissionInstance(
        horizon=horizon,
        resources=[f"r{r}" for r in range(resources)],
        worker_servers=draw(machines),
        parameter_servers=draw(machines),
        jobs=draw(_lists(one, min_jobs, max_jobs)),
    )


@cache
def _lists(elements: st.SearchStrategy[Any], least: int, most: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(elements, min_size=least, max_size=most)


@cache
def _arrivals(horizon: int) -> st.SearchStrategy[int]:
    return st.just(1) | st.integers(1, (horizon + 1) // 2) | st.integers(1, horizon)


@cache
def _horizons(most: int) -> st.SearchStrategy[int]:
    return st.integers(most // 2 + 1, most) | st.integers(1, most)


@cache
def _machines(resources: int, most: int) -> st.SearchStrategy[list[list[float]]]:
    """Return the strategy of what machines have: of one to as many as there may be, often of as many."""
    machine = _lists(CAPACITIES, resources, resources)
    return _lists(machine, min(1, most), most) | _lists(machine, most, most)


@cache
def _jobs(horizon: int, resources: int, max_chunks: int) -> st.SearchStrategy[dict[str, Any]]:
    return jobs(horizon=horizon, resources=resources, max_chunks=max_chunks)


@st.composite
def schedules(draw: st.DrawFn, instance: AdmissionInstance) -> Schedule:
    """Draw a feasible schedule; it shrinks towards the empty one.

    Jobs are taken in a random order and run in random slots, on machines in a random order, while they fit;
    one that does not get done is left out.
    """
    setting = instance.setting
    free = [np.repeat(has[None], setting.horizon, 0) for has in (setting.worker_units, setting.server_units)]
    sides: list[list[tuple[int, int, int, int]]] = [[], []]
    for i in draw(orders(len(instance.jobs))):
        job = instance.jobs[i]
        if not draw(st.booleans()) or setting.why_never(job) is not None:
            continue
        left, trial = job.work, [side.copy() for side in free]
        mine: list[list[tuple[int, int, int, int]]] = [[], []]
        tried = [draw(orders(side.shape[1])) for side in free]
        for slot in range(job.arrival, setting.horizon + 1):
            wanted = draw(_numbers(job.chunks)) if left > 0 else 0
            rows = _fit(job, wanted, [side[slot - 1] for side in trial], tried)
            left -= sum(count for _, count in rows[0])
            for new, found in zip(mine, rows, strict=True):
                new += [(slot, i, machine, count) for machine, count in found]
        if left <= 0:
            free = trial
            sides = [old + new for old, new in zip(sides, mine, strict=True)]
    return Schedule(*(np.array(side, dtype=np.int64).reshape(-1, 4) for side in sides))


@cache
def _numbers(most: int) -> st.SearchStrategy[int]:
    return st.integers(1, most) | st.just(most) | st.just(0)


def _fit(
    job: Job, wanted: int, free: list[np.ndarray], orders: list[list[int]]
) -> list[list[tuple[int, int]]]:
    """Take room for at most so many workers and their parameter servers; return (machine, count) of both."""
    needs = (job.worker_units, job.server_units)
    rooms = [room(has, need, job.chunks) for has, need in zip(free, needs, strict=True)]
    count = min(wanted, int(rooms[0].sum()))
    while job.servers_for[count] > min(int(rooms[1].sum()), count):
        count -= 1
    rows: list[list[tuple[int, int]]] = [[], []]
    for side, (left, need) in enumerate(zip((count, int(job.servers_for[count])), needs, strict=True)):
        for machine in orders[side]:
            taken = min(left, int(rooms[side][machine]))
            if taken:
                rows[side].append((machine, taken))
                free[side][machine] -= taken * need
                left -= taken
    return rows


@st.composite
def faults(
    draw: st.DrawFn, instance: AdmissionInstance, constraints: Sequence[str] = CONSTRAINTS
) -> tuple[str, Schedule]:
    """Draw the name of a constraint and a schedule that breaks it, and perhaps others as well.

    The schedule is a feasible one with a row too many, changed or left out. Where this cannot break the
    constraint, as without jobs, the draw is rejected.

    Parameters
    ----------
    instance
        The instance.
    constraints
        The names to choose from.
    """
    good, s = draw(schedules(instance)), instance.setting
    constraint = draw(among(*constraints))
    counts = [{tuple(row[:3]): row[3] for row in rows.tolist()} for rows in (good.workers, good.servers)]
    side = int(constraint in ("servers", "server capacity"))
    machines, needs, units = (
        (len(s.worker_units), instance.worker_needs, s.worker_units),
        (len(s.server_units), instance.server_needs, s.server_units),
    )[side]
    assume((instance.jobs or constraint == "job") and (machines or constraint == "machine"))
    i, h = (draw(integers(0, max(n - 1, 0))) for n in (len(instance.jobs), machines))
    slot, count, more = draw(integers(1, s.horizon)), 1, []
    match constraint:
        case "slot":
            slot = draw(st.sampled_from([0, -1, s.horizon + 1]))
        case "job":
            i = draw(st.sampled_from([-1, len(instance.jobs)]))
        case "machine":
            h = draw(st.sampled_from([-1, machines]))
        case "count":
            count = -1
        case "chunks" | "servers":
            count = instance.jobs[i].chunks + 1
        case "arrival":
            i = draw(st.sampled_from([job.index for job in instance.jobs if job.arrival > 1] or [-1]))
            assume(i >= 0)
            slot = draw(st.integers(1, instance.jobs[i].arrival - 1))
        case "finished":
            ends = instance.completions(good)
            early = np.flatnonzero((ends > 0) & (ends < s.horizon)).tolist()
            assume(early)
            i = draw(st.sampled_from(early))
            slot = draw(st.integers(int(ends[i]) + 1, s.horizon))
        case "worker capacity" | "server capacity":
            asked = np.flatnonzero(needs[i]).tolist()
            assume(asked)
            r = draw(st.sampled_from(asked))
            count = int(units[h, r] // needs[i, r]) + 1
        case _:
            assume(counts[0])
            slot, i, h = draw(st.sampled_from(sorted(counts[0])))
            count = counts[0][slot, i, h]
            if constraint == "twice":
                more = [(slot, i, h, count)]
            elif constraint == "bandwidth":
                counts[1] = {key: n for key, n in counts[1].items() if key[:2] != (slot, i)}
            else:
                count = min(count, instance.jobs[i].work - 1)
                counts = [{key: n for key, n in one.items() if key[1] != i} for one in counts]
                assume(count)
    counts[side][slot, i, h] = count
    rows = [[(*key, n) for key, n in one.items()] for one in counts]
    rows[side] += more
    return constraint, Schedule(*(np.array(one, dtype=np.int64).reshape(-1, 4) for one in rows))


def _job(arrival: int, **fields: Any) -> dict[str, Any]:
    """Return a job of one resource that needs two worker-slots, with some fields changed."""
    plain = {"epochs": 1, "chunks": 2, "minibatches": 1, "minibatch_time": 1, "gradient_size": 0}
    needs = {"worker_bandwidth": 1, "server_bandwidth": 2, "worker_demand": [1], "server_demand": [1]}
    utility = {name: fields.pop(name, value) for name, value in UTILITY.items()}
    return {"arrival": arrival, **plain, **needs, **fields, "utility": utility}


UTILITY = {"priority": 10, "decay": 0.5, "target": 2}


def _random(seed: int, *, horizon: int = 6, count: int = 7, machines: int = 2, size: float = 4.0) -> Any:
    """Return a small instance in which no two jobs are alike."""
    rng = np.random.default_rng(seed)
    arrivals = np.sort(rng.integers(1, horizon - 1, count))
    arrivals[0] = 1
    listed = [
        _job(
            int(arrival),
            epochs=int(rng.integers(1, 3)),
            chunks=int(rng.integers(2, 5)),
            minibatch_time=float(rng.choice([0.5, 0.75, 1.0])),
            gradient_size=float(rng.choice([0.0, 0.05])),
            server_bandwidth=int(rng.integers(1, 4)),
            worker_demand=(0.5 + rng.integers(0, 4, 2) / 4).tolist(),
            server_demand=(0.5 + rng.integers(0, 3, 2) / 4).tolist(),
            priority=round(float(rng.uniform(1.0, 100.0)), 3),
            decay=float(rng.choice([0.0, 0.8, 5.0])),
            target=int(rng.integers(1, horizon)),
        )
        for arrival in arrivals
    ]
    capacity = [[size + h, size + 0.5 * h] for h in range(machines)]
    return AdmissionInstance(
        horizon=horizon,
        resources=["gpu", "memory"],
        worker_servers=capacity,
        parameter_servers=capacity[::-1],
        jobs=listed,
    )


@afresh
def ordinary() -> dict[str, AdmissionInstance]:
    """Return the instances that policies are checked on: scarce, ample, and with a job that cannot run."""
    mixed = _random(2, horizon=5, count=5, machines=3, size=1.5).to_dict()
    mixed["jobs"].append({**mixed["jobs"][0], "worker_bandwidth": 9, "arrival": 2})
    return {
        "scarce machines": _random(0, size=2.0),
        "ample machines": _random(1, count=5, size=20.0),
        "a job that cannot run": AdmissionInstance.from_dict(mixed),
    }


@afresh
def long() -> dict[str, AdmissionInstance]:
    """Return an instance of many slots."""
    return {"many slots": _random(4, horizon=LONG, count=40, size=2.0)}


@afresh
def degenerate() -> dict[str, AdmissionInstance]:
    """Return instances at the edge of what is allowed."""

    def made(listed: list[dict[str, Any]], **fields: Any) -> AdmissionInstance:
        plain: dict[str, Any] = {"horizon": 4, "resources": ["r"]}
        machines = {"worker_servers": [[2], [2]], "parameter_servers": [[2], [2]]}
        return AdmissionInstance(**{**plain, **machines, "jobs": listed, **fields})

    some = [_job(1), _job(1, priority=20), _job(2, epochs=2), _job(4)]
    most = {"epochs": int(LARGEST), "minibatches": int(LARGEST), "minibatch_time": LARGEST}
    many = {"minibatch_time": 0.5, "worker_demand": [0.01], "server_demand": [0.01]}
    nothing = {"worker_demand": [0], "server_demand": [0]}
    huge = [LARGEST, LARGEST - 1]
    return {
        "no jobs": made([]),
        "no machines": made(some, worker_servers=[], parameter_servers=[]),
        "no machines for workers": made(some, worker_servers=[]),
        "no machines for parameter servers": made(some, parameter_servers=[]),
        "no jobs and no machines": made([], worker_servers=[], parameter_servers=[]),
        "one slot": made([_job(1), _job(1, priority=20), _job(1, epochs=9)], horizon=1),
        "one job": made([_job(2)]),
        "jobs that never can run": made(
            [_job(1, worker_bandwidth=3), _job(1, worker_demand=[3]), _job(1, epochs=99), _job(4, epochs=2)]
        ),
        "more jobs than fit in the last slot": made([_job(4)] * 5),
        "zero demand": made([_job(t, **nothing) for t in (1, 1, 2, 4)]),
        "workers for nothing": made([_job(t, worker_demand=[0]) for t in (1, 1, 2, 4)]),
        "zero capacity": made(some, worker_servers=[[0]], parameter_servers=[[0], [0]]),
        "zero demand and capacity": made([_job(1, **nothing)], worker_servers=[[0]], parameter_servers=[[0]]),
        "one machine with nothing": made(some, worker_servers=[[0], [2]], parameter_servers=[[2], [0]]),
        "all alike": made([_job(1)] * 4 + [_job(2)] * 4),
        "work of one": made([_job(1, chunks=1), _job(2, chunks=500, minibatch_time=0.002)]),
        "decimals": made(
            [_job(1, chunks=3, minibatch_time=0.1, epochs=10, worker_bandwidth=0.1, server_bandwidth=0.3)] * 2
            + [_job(2, worker_demand=[0.1], server_demand=[0.3], chunks=6)] * 2,
            worker_servers=[[0.3], [1.1]],
            parameter_servers=[[0.3], [1.1]],
        ),
        "critical": made([_job(t, decay=LARGEST, target=0, epochs=2) for t in (1, 1, 2)]),
        "late is worth nothing": made([_job(1, decay=900, target=0, chunks=1)] * 3, horizon=9),
        "many chunks": made([_job(1, chunks=500, **many), _job(2, chunks=400, **many)]),
        "huge numbers": made(
            [
                _job(1, worker_demand=[LARGEST / 2], server_demand=[LARGEST], priority=LARGEST),
                _job(1, worker_demand=[LARGEST], server_demand=[LARGEST], worker_bandwidth=LARGEST),
                _job(2, worker_demand=[1e-6], server_demand=[1e-6], priority=1e-9, target=LARGEST),
                _job(2, chunks=MOST_CHUNKS, **most),
                _job(
                    3,
                    worker_demand=[LARGEST / 4 + 0.25],
                    server_demand=[1],
                    target=LARGEST,
                    decay=LARGEST,
                ),
            ],
            worker_servers=[[c] for c in huge],
            parameter_servers=[[c] for c in huge],
        ),
        "much time": made([_job(200, epochs=9), _job(399)], horizon=400),
        "resources that nobody asks for": made(
            [_job(t, worker_demand=[1, 0], server_demand=[0, 1]) for t in (1, 2)],
            resources=["r", "q"],
            worker_servers=[[2, 5]],
            parameter_servers=[[5, 2]],
        ),
        "announced wrongly": made(some, announced=made([_job(3, priority=1e-3)]).announced.to_dict()),
    }


def alter(
    instance: AdmissionInstance, event: int, sees: frozenset[str], _decisions: Sequence[Any]
) -> Iterator[AdmissionInstance]:
    """Yield instances with the same setting that differ in what was not shown when ``event`` is decided.

    These are the jobs that arrive in later slots: none, others in another order, or one more. Who sees
    "announced" is given the same U and L in all of them; for others these may change, also alone.
    """
    data, slot = instance.to_dict(), event + 1
    if "announced" in sees:
        data["announced"] = instance.announced.to_dict()
    else:
        changed = {name: _more(value) for name, value in instance.announced.to_dict().items()}
        yield AdmissionInstance.from_dict(
            {**data, "announced": {**changed, "share": 1.0 - changed["share"] / 4}}
        )
    shown, later = (
        [job for job in data["jobs"] if (job["arrival"] > slot) == late] for late in (False, True)
    )
    last, resources = instance.setting.horizon, len(instance.setting.resources)
    others = [{**job, **_swapped(job), "arrival": last + slot + 1 - job["arrival"]} for job in later]
    changes = [[], others] if later else []
    if slot < last:
        changes.append(
            [*later, _job(slot + 1, **{side: [0.5] * resources for side in DEMANDS}, priority=500)]
        )
    for change in changes:
        yield AdmissionInstance.from_dict({**data, "jobs": [*shown, *change]})


def _more(value: Any) -> Any:
    """Return other logarithms than these; null stays."""
    if isinstance(value, list):
        return [_more(one) for one in value]
    return None if value is None else value + 1.0


DEMANDS = ("worker_demand", "server_demand")


def _swapped(job: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a job that takes less at another time and is worth something else."""
    utility = {**job["utility"], "priority": 101.0 / (1.0 + job["utility"]["priority"])}
    return {"epochs": 1, "minibatches": 1, "worker_demand": job["server_demand"], "utility": utility}


def secrets(instance: AdmissionInstance) -> Iterator[np.ndarray]:
    """Yield what nature reveals of the jobs: arrivals, work, demands, and parameters of the utilities."""
    yield np.array([job.arrival for job in instance.jobs])
    yield np.array([job.priority for job in instance.jobs])
    yield instance.works
    yield instance.worker_needs
    yield instance.server_needs


KIT = Kit(
    "admission",
    ordinary,
    degenerate,
    AdmissionInstance.shows,
    alter,
    secrets,
    long=long,
    sampled=partial(generate, "tiny"),
)


def scaled(data: dict[str, Any], factor: float) -> dict[str, Any]:
    """Return the JSON form of an instance with its rewards multiplied, as far as that is allowed."""
    for job in data["jobs"]:
        utility = job["utility"]
        utility["priority"] = min(utility["priority"] * factor, 1e9)  # the most that is allowed
    return data


TARGET = Target(
    instances(),
    scaled,
    lambda instance, schedule: schedule.deployments(instance.setting.horizon),
    "offline",
)
