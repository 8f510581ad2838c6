"""ElasticFlow: what is admitted is done by its deadline, with the least share that does, and the rest."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.api import make_policy
from clairvoyant.models.admission import AdmissionInstance
from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.jobs import Job
from clairvoyant.models.admission.schedule import Schedule
from clairvoyant.models.base import InputError
from clairvoyant.online.admission import ElasticFlow
from clairvoyant.online.admission.kernels import minimum_share
from clairvoyant.online.play import play
from clairvoyant.testing.admission import instances


class Watched(ElasticFlow):
    """Notes what is admitted."""

    def start(self, *given: Any) -> None:
        """Forget what was admitted."""
        super().start(*given)
        self.admitted: list[Job] = []

    def _judge(self, new: Job, slot: int) -> None:
        super()._judge(new, slot)
        self.admitted += [new] if new in self._left else []


def kept_its_word(instance: AdmissionInstance, worth: float) -> tuple[int, int]:
    """Check that just what is admitted runs, and ends by its deadline; return how many of how many."""
    policy = Watched(worth)
    schedule = Schedule.of_deployments(play(policy, instance, keep_decisions=True).decisions)
    done = instance.completions(schedule)
    assert set(schedule.jobs.tolist()) == {job.index for job in policy.admitted}
    for job in policy.admitted:
        delay = int(done[job.index]) - job.arrival
        assert 0 <= delay <= policy.deadline(job) - job.arrival
        assert job.utility(delay) >= worth * job.utility(0)
    return len(policy.admitted), len(instance.jobs)


@given(
    instances(max_horizon=8, max_machines=3, max_jobs=8, max_chunks=5), st.sampled_from([0.0, 0.5, 0.99, 1.0])
)
@hypothesis_settings(max_examples=40, deadline=None)
def test_what_is_admitted_is_done_by_its_deadline(instance: AdmissionInstance, worth: float) -> None:
    kept_its_word(instance, worth)


@pytest.mark.parametrize("seed", range(2))
def test_the_word_is_kept_under_load(seed: int) -> None:
    options: dict[str, Any] = {"worker_machines": 6, "server_machines": 6, "fit": "short"}
    admitted, jobs = kept_its_word(generate("large", seed, jobs=40, horizon=30, **options), 0.5)
    assert 5 < admitted < jobs - 5


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 3), st.integers(1, 6), st.integers(1, 30))
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_share_is_the_least_that_does(seed: int, slots: int, machines: int, most: int, work: int) -> None:
    """Beside a search through all shares, and all numbers of workers in each slot."""
    rng = np.random.default_rng(seed)
    free = [rng.integers(0, 7, (slots, machines, 2)) for _ in range(2)]
    needs = [rng.integers(0, 3, 2) for _ in range(2)]
    servers_for = -(-np.arange(most + 1) * int(rng.integers(1, 4)) // 3)
    rooms = [
        [sum(min([most] + [h[r] // n[r] for r in (0, 1) if n[r]]) for h in slot) for slot in side]
        for side, n in zip(free, needs, strict=True)
    ]
    can = [
        max(y for y in range(most + 1) if y <= room and servers_for[y] <= other)
        for room, other in zip(*rooms, strict=True)
    ]
    least = [y for y in range(1, most + 1) if sum(min(y, one) for one in can) >= work]
    before = [side.copy() for side in free]
    share, *placed = minimum_share(*free, *needs, servers_for, work)
    assert share == (least[0] if least else 0)
    for side, was, need, rows in zip(free, before, needs, placed, strict=True):
        assert (side == was - rows[:, :, None] * need).all()
        assert (side >= 0).all()
    if share:
        workers, servers = (rows.sum(axis=1) for rows in placed)
        assert workers.sum() == work
        assert servers.tolist() == servers_for[workers].tolist()
        assert (np.minimum(share, can) >= workers).all()


def job(arrival: int, work: int, target: float, decay: float = 50.0, **fields: Any) -> dict[str, Any]:
    """Return a job of so many chunks, each a worker-slot, worth it up to the target."""
    plain = {"epochs": 1, "chunks": work, "minibatches": 1, "minibatch_time": 1, "gradient_size": 0}
    needs = {"worker_bandwidth": 1, "server_bandwidth": 10, "worker_demand": [1], "server_demand": [1]}
    utility = {"priority": 1, "decay": decay, "target": target}
    return {"arrival": arrival, **plain, **needs, **fields, "utility": utility}


def ran(jobs: list[dict[str, Any]], machines: tuple[int, ...] = (4,), horizon: int = 5) -> list[list[int]]:
    """Return how many workers each job has in each slot."""
    machine = [[size] for size in machines]
    instance = AdmissionInstance(
        horizon=horizon, resources=["gpu"], worker_servers=machine, parameter_servers=[[9]], jobs=jobs
    )
    result = np.zeros((len(jobs), horizon), dtype=int)
    for slot, one in enumerate(play(ElasticFlow(), instance, keep_decisions=True).decisions or ()):
        np.add.at(result[:, slot], one.workers[:, 0], one.workers[:, 2])
    return result.tolist()


def test_shares_by_hand() -> None:
    # Alone, a job gets all that it can use: two in each of three slots would do.
    assert ran([job(1, 6, 2.5)]) == [[4, 2, 0, 0, 0]]
    assert ran([job(1, 6, 2.5), job(1, 6, 2.5)]) == [[2, 2, 2, 0, 0]] * 2
    # The urgent one is filled first, though it came later, and the third has no room by its deadline.
    urgent = ran([job(1, 4, 3.5), job(1, 8, 1.5), job(1, 1, 1.5)])
    assert urgent == [[0, 0, 4, 0, 0], [4, 4, 0, 0, 0], [0, 0, 0, 0, 0]]
    # What does not decay has time until the horizon, and makes room for what comes later.
    assert ran([job(1, 10, 0, decay=0), job(2, 4, 0.5)]) == [[4, 0, 4, 2, 0], [0, 4, 0, 0, 0]]
    # Of what is left over, the worker that takes the least comes first.
    large, small = job(1, 4, 3.5, worker_demand=[2]), job(1, 12, 3.5)
    assert ran([large, small], (9,)) == [[1, 2, 1, 0, 0], [7, 5, 0, 0, 0]]


def test_deadlines_by_hand() -> None:
    jobs = [job(2, 1, 3.0), job(2, 1, 2.9), job(2, 1, 0.0, decay=0.0), job(2, 1, 90.0), job(2, 1, 0.0)]
    instance = AdmissionInstance(
        horizon=9, resources=["gpu"], worker_servers=[[1]], parameter_servers=[[1]], jobs=jobs
    )
    policy = ElasticFlow()
    policy.start(instance.setting, np.random.default_rng(0))
    assert [policy.deadline(one) for one in instance.jobs] == [5, 4, 9, 9, 2]


@pytest.mark.parametrize("worth", ["-0.1", "1.5", "nan"])
def test_settings_out_of_range_are_named(worth: str) -> None:
    with pytest.raises(InputError, match=r"policy elasticflow: worth: "):
        make_policy(f"elasticflow:worth={worth}", "admission")
