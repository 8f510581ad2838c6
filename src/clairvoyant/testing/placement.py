"""Placement: what the policy checks need, and Hypothesis strategies.

>>> from hypothesis import given
>>> @given(instances(max_jobs=3))
... def test_every_job_fits_somewhere(instance):
...     assert (instance.fewest <= len(instance.setting.capacity)).all()
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..models.placement import kernels
from ..models.placement.instance import PlacementInstance, taken_schedule
from ..models.placement.schedule import Schedule

__all__ = ["Schedule", "instances", "schedules"]

TIMES = st.sampled_from([1, 2, 3, 5, 0.5, 1.25, 10])
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
    """
    machine = st.fixed_dictionaries(
        {
            "gpus": st.integers(0, max_gpus) | st.just(max_gpus),
            "cpus": st.sampled_from([8, 4, 2.5]),
            "memory": st.sampled_from([16, 8, 32]),
        }
    )
    alike = st.builds(lambda one, count: [one] * count, machine, st.integers(1, max_machines))
    machines = draw(alike | st.lists(machine, min_size=1, max_size=max_machines))
    jobs = draw(st.lists(_jobs(machines, max_instances), min_size=min_jobs, max_size=max_jobs))
    level = st.sampled_from([0, 0.5, 1, 2])
    return PlacementInstance(
        machines=machines,
        jobs=jobs,
        price=2.84,
        slowdown={
            "communication": draw(level) if slowdowns else 0,
            "contention": draw(level) if slowdowns and contention else 0,
        },
        gpu_weight=draw(st.sampled_from([0, 0.1, 1])) if gpu_weights else 0,
        window=draw(st.sampled_from([64, 1, 2, 3])) if windows else 64,
    )


@st.composite
def _jobs(draw: st.DrawFn, machines: list[dict[str, Any]], max_instances: int) -> dict[str, Any]:
    """Draw a job that fits on these machines: an instance fits on one of them, and all on all of them."""
    largest = machines[draw(st.integers(0, len(machines) - 1))]
    gpus = draw(st.integers(0, largest["gpus"]))
    job = {
        "gpus": gpus,
        "cpus": draw(st.sampled_from([1, 0.5, 2, largest["cpus"]] + ([0] if gpus else []))),
        "memory": draw(st.sampled_from([1, 2, 4, largest["memory"], 0])),
    }
    held = sum(_room(machine, job) for machine in machines)
    return {
        "submit": draw(SUBMITS),
        "duration": draw(TIMES),
        "instances": draw(st.integers(1, min(max_instances, held))),
        **job,
        "intensity": draw(st.sampled_from([1, 0.5, 0, 0.25])),
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
        for job in draw(st.permutations(simulator.pending.tolist())):
            if draw(st.booleans()) or (idle and at == 0):
                order = np.array(draw(st.permutations(range(len(free)))))
                need, instances = instance.jobs.need[job], instance.jobs.instances[job]
                rows = np.concatenate([rows, np.zeros((len(free), 3), dtype=np.int64)])
                at = kernels.fill(free, need, instances, order, job, rows, at)
        rows = rows[:at]
        simulator.begin(rows[np.lexsort((rows[:, 1], rows[:, 0]))])
    return taken_schedule(simulator)
