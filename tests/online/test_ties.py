"""What `clairvoyant policies` says about ties, on instances that are full of them."""

from typing import Any

import numpy as np
import pytest

import clairvoyant as cv
from clairvoyant.models.admission import AdmissionInstance
from clairvoyant.models.admission.schedule import Offer
from clairvoyant.models.allocation import AllocationInstance
from clairvoyant.models.placement import PlacementInstance
from clairvoyant.models.selection import SelectionInstance
from clairvoyant.online.admission.oasis import Oasis, OasisPrinted
from clairvoyant.online.allocation.printed import printed_projection
from clairvoyant.online.named import row
from clairvoyant.online.placement.metaheuristics import blank_archive


def decisions(policy: Any, instance: Any) -> Any:
    """Return the decisions of a run, after a comparison with those of another."""
    first, second = (cv.play(policy, instance, seed=1, keep_decisions=True).decisions for _ in range(2))
    assert first is not None
    assert second is not None
    for one, other in zip(first, second, strict=True):
        assert str(one) == str(other)
    return first


def test_every_policy_names_its_source_and_what_happens_to_ties() -> None:
    known = cv.list_policies().items()  # those of other distributions are none of our business
    listed = [row(name, one) for name, one in known if one.__module__.startswith("clairvoyant.")]
    assert len(listed) > 40
    assert [policy.name for policy in listed if "ties" not in policy.summary] == []
    assert [policy.name for policy in listed if len(policy.source) < len("ours: X")] == []


# --- allocation -------------------------------------------------------------------------------------------


def alike(**fields: Any) -> AllocationInstance:
    """Return three ports and two servers, each with room for two ports, all alike."""
    given: dict[str, Any] = {"edges": [(p, r) for r in range(2) for p in range(3)], "demand": [[1.0]] * 3}
    given |= {"capacity": [[2.0]] * 2, "overhead": [0.0], "arrivals": [[1, 1, 1]]}
    given |= {"utility_kind": [["linear"]] * 2, "alpha": [[1.0]] * 2}
    return AllocationInstance(**given | fields)


@pytest.mark.parametrize(
    ("policy", "servers"),
    [
        ("drf", [[1, 1, 0], [1, 1, 0]]),
        ("fairness", [[2 / 3] * 3] * 2),
        ("binpacking:quota=0.5", [[1, 1, 0], [0, 0, 1]]),
        ("spreading:quota=0.5", [[1, 0, 1], [0, 1, 0]]),
    ],
)
def test_ports_and_servers_go_by_their_numbers(policy: str, servers: list[list[float]]) -> None:
    (y,) = decisions(policy, alike())
    assert y.reshape(2, 3) == pytest.approx(np.array(servers))


def test_the_smallest_of_the_dominant_kinds_is_charged() -> None:
    two = {"demand": [[1.0, 1.0]] * 3, "capacity": [[2.0, 2.0]] * 2, "overhead": [0.5, 0.5]}
    instance = alike(
        **two, utility_kind=[["linear"] * 2] * 2, alpha=[[1.0] * 2] * 2, arrivals=[[1, 1, 1]] * 2
    )
    played = decisions("ogasched:step=decay,eta0=0.1", instance)
    assert played[1] == pytest.approx(np.array([[0.05, 0.1]] * 6))


def test_only_the_smallest_port_of_the_largest_entries_is_capped_as_printed() -> None:
    setting = alike(edges=[(p, 0) for p in range(3)], capacity=[[2.5]] * 2).setting
    y, _ = printed_projection(setting, np.array([[3.0], [3.0], [1.0]]), repaired=True)
    assert y.tolist() == [[1.0], [1.5], [0.0]]


def test_the_perturbed_leader_repeats_itself() -> None:
    assert (
        len(decisions("perturbed-leader", cv.generate("allocation-gang", size="tiny", slots=5, ports=2))) == 5
    )


# --- selection --------------------------------------------------------------------------------------------


def one_of_three(edges: Any = ((0, 0), (1, 0), (2, 0)), **fields: Any) -> SelectionInstance:
    given: dict[str, Any] = {"demand": [[1]] * 3, "capacity": [1], "mean": [0.5] * 3}
    given["arrivals"] = np.ones((7, 1 + max(port for port, _ in edges)))
    return SelectionInstance(edges=edges, **given | fields)


@pytest.mark.parametrize(
    ("policy", "on"), [("hswf", [0] * 7), ("lcf", [0] * 7), ("lwtf", [0, 1, 2, 0, 1, 2, 0])]
)
def test_of_equal_ports_the_smaller_comes_first(policy: str, on: list[int]) -> None:
    assert [int(np.flatnonzero(x)[0]) for x in decisions(policy, one_of_three())] == on
    for x in decisions(policy, one_of_three(edges=[(0, 2), (0, 0), (0, 1)], capacity=[2])):
        assert x.tolist() == [True, True, False]


@pytest.mark.parametrize("policy", ["esdp", "esdp-printed", "escb", "cucb", "greedy"])
def test_of_equal_decisions_the_last_one_stays(policy: str) -> None:
    played = decisions(policy, one_of_three())
    assert np.sum(played[:3], axis=0).tolist() == [1, 1, 1]  # every channel is tried
    assert played[3].tolist() == played[2].tolist()


def test_of_equal_gang_decisions_late_tasks_rest_or_take_low_servers() -> None:
    data = cv.generate("selection-gang", size="tiny", seed=1).to_dict()
    data |= {
        "channels": [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]],
        "task_port": [0, 1, 2],
        "demand": [[1]] * 3,
    }
    data |= {"capacity": [[1], [1]], "minimum": [1, 1, 1], "mean": [0.5] * 5, "noise": {"kind": "none"}}
    instance = type(cv.generate("selection-gang", size="tiny")).from_dict(data | {"arrivals": [[1, 1, 1]]})
    (x,) = decisions("esdp-gang", instance)
    assert np.flatnonzero(x).tolist() == [1, 2]  # task 2 rests, task 1 takes server 0, and so task 0 server 1


# --- admission --------------------------------------------------------------------------------------------


def two_jobs(slots: int, **fields: Any) -> AdmissionInstance:
    """Return two equal jobs of one slot, on two machines for workers and one for parameter servers."""
    job: dict[str, Any] = {"arrival": 1, "epochs": 1, "chunks": 1, "minibatches": 1, "minibatch_time": 1}
    job |= {"gradient_size": 0, "worker_bandwidth": 1, "server_bandwidth": 1, "worker_demand": [1]}
    job |= {"server_demand": [1], "utility": {"priority": 2, "decay": 0, "target": 0}}
    return AdmissionInstance(
        horizon=slots,
        resources=["gpu"],
        worker_servers=[[1], [1]],
        parameter_servers=[[1]],
        jobs=[job | fields] * 2,
    )


@pytest.mark.parametrize("policy", ["fifo", "drf", "rrh", "rolling-horizon", "elasticflow"])
def test_of_equal_jobs_the_first_in_the_file_runs_on_the_first_machine(policy: str) -> None:
    first, second, *_ = decisions(policy, two_jobs(3))
    assert first.workers.tolist() == [[0, 0, 1]]
    assert second.workers[:, 0].tolist() == [1]


class Fixed:
    """Prices that nothing changes."""

    price = 0.0

    def offer(self, job: Any) -> Offer:
        """Return what two machines for workers and one for servers offer in three slots."""
        workers, servers = np.ones((3, 2), dtype=np.int64), np.full((3, 1), 9)
        return Offer(workers, np.full((3, 2), self.price), servers, np.zeros((3, 1)))


class FixedOasis(Fixed, Oasis):
    """OASiS at fixed prices."""


class FixedPrinted(Fixed, OasisPrinted):
    """OASiS as printed at fixed prices."""


@pytest.mark.parametrize("kind", [FixedOasis, FixedPrinted])
def test_a_job_that_is_worth_its_price_is_rejected_and_others_run_early(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = two_jobs(3, chunks=2, epochs=1)  # two worker-slots, worth 1 whenever they are done
    policy = kind()
    monkeypatch.setattr(kind, "price", 0.5)
    cv.play(policy, instance)
    assert policy.payoffs == {0: 0.0, 1: 0.0}
    assert policy.plans == {}
    monkeypatch.setattr(kind, "price", 0.25)
    job = instance.jobs[0]
    assert policy.plan(job, policy.offer(job)).schedule.workers.tolist() == [[1, 0, 0, 1], [1, 0, 1, 1]]
    (one,) = two_jobs(3).jobs[:1]
    assert policy.plan(one, policy.offer(one)).schedule.workers.tolist() == [[1, 0, 0, 1]]


def test_dorm_repeats_itself() -> None:
    assert sum(len(rows) for rows, _ in decisions("dorm", two_jobs(3))) == 2


# --- placement --------------------------------------------------------------------------------------------

JOB = {"submit": 0, "duration": 1, "estimate": 1, "instances": 1, "gpus": 1, "cpus": 1, "memory": 1}


@pytest.mark.parametrize(
    ("policy", "machines"),
    [
        *((f"{order}-firstfit", [0, 0, 1]) for order in ("fifo", "drf")),
        *((f"{order}-loadbalance", [0, 1, 0]) for order in ("fifo", "drf")),
        *((f"{order}-consolidate", [0, 0, 1]) for order in ("fifo", "drf", "sjf", "sjf-estimate")),
        *((policy, [0, 0, 1]) for policy in ("drf-byload", "drf-patient", "drf-fgd", "sjf-estimate-patient")),
        ("drf-byload:quiet=9", [0, 1, 0]),
        *((f"rolling-horizon{told}", [0, 0, 1]) for told in ("", "-estimate")),
        *((f"easy-estimate-consolidate:shortest={told}", [0, 0, 1]) for told in ("false", "true")),
        ("tetris", [0, 1, 0]),
    ],
)
def test_of_equal_jobs_the_first_in_the_file_and_of_machines_the_lower_index(
    policy: str, machines: list[int]
) -> None:
    instance = PlacementInstance(machines=[{"gpus": 2, "cpus": 8, "memory": 8}] * 2, jobs=[JOB] * 5)
    first, second = decisions(policy, instance)
    assert [row[:2] for row in sorted(first.tolist())[:3]] == [[i, k] for i, k in enumerate(machines)]
    assert sorted(first[:, 0].tolist()) == [0, 1, 2, 3]
    assert second.tolist() == [[4, 0, 1]]


def test_networks_to_which_all_machines_are_alike_take_the_lower_index() -> None:
    instance = PlacementInstance(machines=[{"gpus": 2, "cpus": 8, "memory": 8}] * 2, jobs=[JOB] * 5)
    first, second = decisions("untrained:design=rifling", instance)
    assert sorted(first.tolist()) == [[0, 0, 1], [1, 0, 1], [2, 1, 1], [3, 1, 1]]
    assert second.tolist() == [[4, 0, 1]]


def test_of_equal_plans_the_one_with_fewer_gpu_seconds_and_then_the_first_counts() -> None:
    from clairvoyant.online.placement.search_kernels import best, keep

    archive = blank_archive(1)
    for at, (waited, used) in enumerate([(10, 5), (10, 5), (12, 3), (12, 3)]):
        keep(archive, np.full(2, at / 4), waited, used, 1.0)
    assert archive.keys[best(archive, 1.0)].tolist() == [0.5, 0.5]
    assert archive.keys[best(archive, 0.0)].tolist() == [0.0, 0.0]
