"""Admission: what the policy checks need, and Hypothesis strategies.

>>> from hypothesis import given
>>> @given(instances(max_jobs=3))
... def test_nothing_earns_nothing(instance):
...     assert not instance.rewards(Schedule.empty()).any()
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ..models.admission.instance import AdmissionInstance, Schedule

__all__ = ["Schedule", "instances", "jobs"]

AMOUNTS = st.sampled_from([1, 0.1, 0.3, 0.5, 2, 0, 3])
CAPACITIES = st.sampled_from([2, 6, 4, 2.5, 1, 0.3, 0])
TIMES = st.sampled_from([1, 0.1, 0.5, 1.5, 0.4, 2.5])
BANDWIDTHS = st.sampled_from([(1, 1), (1, 3), (0.1, 0.3), (2, 3), (3, 2)])
DECAYS = st.sampled_from([0, 0.5, 1, 5])


@st.composite
def jobs(draw: st.DrawFn, *, horizon: int, resources: int, max_chunks: int = 4) -> dict[str, Any]:
    """Draw one job in its JSON form; it may be unable ever to finish."""
    amounts = st.lists(AMOUNTS, min_size=resources, max_size=resources)
    worker_bandwidth, server_bandwidth = draw(BANDWIDTHS)
    return {
        "arrival": draw(st.just(1) | st.integers(1, horizon)),
        "epochs": draw(st.integers(1, 2)),
        "chunks": draw(st.integers(1, max_chunks)),
        "minibatches": draw(st.integers(1, 2)),
        "minibatch_time": draw(TIMES),
        "gradient_size": draw(st.sampled_from([0, 0, 0.05])),
        "worker_bandwidth": worker_bandwidth,
        "server_bandwidth": server_bandwidth,
        "worker_demand": draw(amounts),
        "server_demand": draw(amounts),
        "utility": {
            "priority": draw(st.sampled_from([1, 2, 10, 100]) | st.floats(0.5, 100.0)),
            "decay": draw(DECAYS),
            "target": draw(st.integers(0, horizon + 2)),
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

    Machines may have nothing, jobs may demand nothing or too much, and many cannot finish.

    Parameters
    ----------
    max_horizon, max_machines, max_resources, min_jobs, max_jobs, max_chunks
        Limits of the sizes; the machines are those of each kind.
    """
    horizon = draw(st.integers(max_horizon // 2 + 1, max_horizon) | st.integers(1, max_horizon))
    resources = draw(st.integers(1, max_resources))
    machine = st.lists(CAPACITIES, min_size=resources, max_size=resources)
    few = st.lists(machine, min_size=min(1, max_machines), max_size=max_machines)
    machines = few | st.lists(machine, max_size=max_machines)
    one = jobs(horizon=horizon, resources=resources, max_chunks=max_chunks)
    return AdmissionInstance(
        horizon=horizon,
        resources=[f"r{r}" for r in range(resources)],
        worker_servers=draw(machines),
        parameter_servers=draw(machines),
        jobs=draw(st.lists(one, min_size=min_jobs, max_size=max_jobs)),
    )
