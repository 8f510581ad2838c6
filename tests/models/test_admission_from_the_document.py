"""An independent simulator of the admission problem, written from docs/instance-files.md alone."""

import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant.testing.admission import CONSTRAINTS, faults, instances, schedules

Rows = Sequence[Sequence[int]]
SIDES = (("worker_servers", "worker_demand"), ("parameter_servers", "server_demand"))

# --- What stands in the document -------------------------------------------------------------------------


def exact(number: float) -> Fraction:
    return Fraction(repr(number))


def in_order(data: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(data["jobs"], key=lambda job: int(job["arrival"]))


def work(job: dict[str, Any]) -> int:
    time: Fraction = exact(job["minibatch_time"]) + 2 * exact(job["gradient_size"]) / exact(
        job["worker_bandwidth"]
    )
    return math.ceil(int(job["epochs"]) * int(job["chunks"]) * int(job["minibatches"]) * time)


def servers_for(job: dict[str, Any], workers: int) -> int:
    return math.ceil(workers * exact(job["worker_bandwidth"]) / exact(job["server_bandwidth"]))


def utility(job: dict[str, Any], delay: int) -> float:
    gamma1, gamma2, gamma3 = (job["utility"][name] for name in ("priority", "decay", "target"))
    x = gamma2 * (delay - gamma3)
    return float(gamma1 / (1 + math.exp(x)) if x < 700 else gamma1 * math.exp(-x))


def is_feasible(data: dict[str, Any], slot: int, decision: Sequence[Rows], done: dict[int, int]) -> bool:
    jobs = in_order(data)
    sides = [[row for row in rows if row[2] != 0] for rows in decision]
    for rows, (machines, _) in zip(sides, SIDES, strict=True):
        if not all(0 <= i < len(jobs) and 0 <= h < len(data[machines]) and n > 0 for i, h, n in rows):
            return False
        if len({(i, h) for i, h, _ in rows}) < len(rows):
            return False
    y, z = (Counter({i: sum(n for j, _, n in rows if j == i) for i, _, _ in rows}) for rows in sides)
    for i in {*y, *z}:
        job = jobs[i]
        if slot < job["arrival"] or done[i] >= work(job) or y[i] > job["chunks"]:
            return False
        if not servers_for(job, y[i]) <= z[i] <= y[i]:
            return False
    for rows, (machines, demand) in zip(sides, SIDES, strict=True):
        for h, has in enumerate(data[machines]):
            for r, most in enumerate(has):
                if sum(n * exact(jobs[i][demand][r]) for i, g, n in rows if g == h) > exact(most):
                    return False
    return True


def simulate(
    data: dict[str, Any], decisions: Sequence[Sequence[Rows]]
) -> Iterator[tuple[float, bool, list[int]]]:
    """Yield the reward of every slot, whether its decision is feasible, and the jobs that are done in it."""
    jobs, done = in_order(data), defaultdict[int, int](int)
    for slot, decision in enumerate(decisions, start=1):
        feasible, before = is_feasible(data, slot, decision, done), dict(done)
        for i, _, n in decision[0]:
            done[i] += n
        ended = [i for i, job in enumerate(jobs) if before.get(i, 0) < work(job) <= done[i]]
        yield sum(utility(jobs[i], slot - jobs[i]["arrival"]) for i in ended), feasible, ended


def rooms(data: dict[str, Any], job: dict[str, Any], side: int) -> list[int]:
    """Return how many workers or servers of a job fit on each empty machine, at most N."""
    machines, demand = SIDES[side]
    pairs = [list(zip(job[demand], has, strict=True)) for has in data[machines]]
    return [min([job["chunks"], *(exact(c) // exact(q) for q, c in pair if q)]) for pair in pairs]


def can_finish(data: dict[str, Any], job: dict[str, Any]) -> bool:
    workers, servers = (sum(rooms(data, job, side)) for side in (0, 1))
    if job["worker_bandwidth"] > job["server_bandwidth"]:
        return False
    most = max(y for y in range(min(job["chunks"], workers) + 1) if servers_for(job, y) <= servers)
    return work(job) <= int(data["horizon"] - job["arrival"] + 1) * most


def logarithm(job: dict[str, Any], delay: int) -> float:
    x = job["utility"]["decay"] * (delay - job["utility"]["target"])
    return math.log(job["utility"]["priority"]) - (x if x > 700 else math.log1p(math.exp(x)))


def announced(data: dict[str, Any]) -> dict[str, Any]:
    """Return the price range of all jobs that can finish."""
    jobs = [job for job in data["jobs"] if can_finish(data, job)]
    result: dict[str, Any] = {"share": 0.0}
    for side, ((machines, demand), name) in enumerate(zip(SIDES, ("workers", "servers"), strict=True)):
        total = [math.fsum(has[r] for has in data[machines]) for r in range(len(data["resources"]))]
        upper: list[float | None] = [None] * len(total)
        volumes, lasts, floors = [], [], []
        for job in jobs:
            w = [q / c if q else 0.0 for q, c in zip(job[demand], total, strict=True)]
            best = logarithm(job, math.ceil(Fraction(work(job), job["chunks"])) - 1)
            for r, share in enumerate(w):
                if share > 0 and (upper[r] is None or best - math.log(share) > (upper[r] or 0.0)):
                    upper[r] = best - math.log(share)
            if any(w):
                volumes.append(math.log(work(job)) + math.log(sum(w)))
                last = logarithm(job, data["horizon"] - job["arrival"])
                lasts.append(last - volumes[-1])
                floors.append(max(last, math.log(job["utility"]["priority"] / 100)) - volumes[-1])
            for n, has in zip(rooms(data, job, side), data[machines], strict=True):
                for q, c in zip(job[demand], has, strict=True):
                    result["share"] = max(result["share"], n * q / c if c else 0.0)
        kinds = sum(c > 0 for c in total)
        shift = min(volumes) - math.log(4 * data["horizon"] * kinds) if volumes else 0.0
        result[f"upper_{name}"] = upper
        result[f"lower_{name}"] = min(lasts) + shift if volumes else None
        result[f"floor_{name}"] = min(floors) + shift if volumes else None
    return result


# --- Whether that is what happens ------------------------------------------------------------------------


def as_read(instance: Any) -> dict[str, Any]:
    """Return what the file of an instance holds, with its jobs in another order but for those of a slot."""
    data: dict[str, Any] = json.loads(json.dumps(instance.to_dict()))
    key = {slot: random.Random(slot).random() for slot in range(data["horizon"] + 1)}
    return data | {"jobs": sorted(data["jobs"], key=lambda job: key[job["arrival"]])}


def agree(instance: Any, data: dict[str, Any], decisions: Sequence[Any]) -> list[bool]:
    """Let both judge the decisions, feasible or not, and return the verdicts."""
    episode = instance.episode(frozenset({"announced"}))
    plain = [[np.asarray(rows).reshape(-1, 3).tolist() for rows in decision] for decision in decisions]
    judged = list(simulate(data, plain))
    for slot, (seen, (reward, feasible, ended)) in enumerate(zip(episode, judged, strict=True), start=1):
        outcome = episode.apply(decisions[slot - 1], enforce=False)
        assert (seen.slot, outcome.feedback.slot) == (slot, slot)
        assert [job.to_dict() for job in seen.jobs] == [
            job for job in in_order(data) if job["arrival"] == slot
        ]
        assert outcome.feasible == feasible
        assert outcome.reward == pytest.approx(reward, rel=1e-12)
        assert list(outcome.feedback.completed) == ended
        assert same_range(seen.announced.to_dict(), announced(data))
    return [feasible for _, feasible, _ in judged]


def same_range(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    flat = [[item for name in sorted(one) for item in np.ravel(one[name])] for one in (ours, theirs)]
    return all(a is b or a == pytest.approx(b, rel=1e-9, abs=1e-9) for a, b in zip(*flat, strict=True))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"jobs": 12, "horizon": 9, "worker_machines": 2, "server_machines": 1},
    {"fit": "short", "classes": (0.4, 0.3, 0.3), "priority": (1.0, 2.0)},
    {"fit": "any", "swapped": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(
    "policy",
    [
        *(
            "oasis",
            "oasis:bounds=estimated",
            "oasis-printed",
            "fifo",
            "drf",
            "rrh",
            "dorm",
            "rolling-horizon",
        ),
        "elasticflow",
    ],
)
def test_the_simulator_gets_the_same_rewards(tmp_path: Path, options: dict[str, Any], policy: str) -> None:
    path = tmp_path / "file.json"
    instance = cv.generate("admission", size="tiny", seed=6, **options)
    instance.save(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    run = cv.play(policy, instance, seed=1, keep_decisions=True)
    assert run.decisions is not None
    assert all(agree(instance, data, run.decisions))
    plain = [[rows.tolist() for rows in decision] for decision in run.decisions]
    rewards = [reward for reward, _, _ in simulate(data, plain)]
    assert run.rewards == pytest.approx(rewards, rel=1e-12)
    assert run.total == pytest.approx(sum(rewards), rel=1e-12)


@given(st.data(), instances(min_jobs=1), st.booleans())
@hypothesis_settings(max_examples=60)
def test_the_simulator_finds_the_same_feasible(data: st.DataObject, instance: Any, good: bool) -> None:
    broken = [name for name in CONSTRAINTS if name not in ("slot", "work")]  # these two are none of a slot
    schedule = data.draw(schedules(instance)) if good else data.draw(faults(instance, broken))[1]
    assert cv.AdmissionInstance.from_dict(as_read(instance)) == instance
    decisions = schedule.deployments(instance.setting.horizon)
    assert all(agree(instance, as_read(instance), decisions)) == good


def small(horizon: int, time: float) -> dict[str, Any]:
    """Return an instance of two jobs, each of three chunks that take a worker so many slots."""
    data: dict[str, Any] = {"problem": "admission", "version": 1}
    job: dict[str, Any] = {"arrival": 1, "epochs": 1, "chunks": 3, "minibatches": 1, "minibatch_time": time}
    job["gradient_size"] = 0
    job |= {"worker_bandwidth": 1, "server_bandwidth": 2, "worker_demand": [0.1], "server_demand": [0.1]}
    job |= {"utility": {"priority": 10, "decay": 5, "target": 2}}
    data |= {"horizon": horizon, "resources": ["gpu"], "jobs": [job, job | {"arrival": 2}]}
    return data | {"worker_servers": [[0.3], [0.1]], "parameter_servers": [[0.3]]}


def test_a_job_may_pause_move_and_never_finish_but_not_run_on() -> None:
    data = small(6, 1.1)  # work of 3.3, so 4 worker-slots
    instance = cv.AdmissionInstance.from_dict(data)
    run, other = ([[0, 0, 3]], [[0, 0, 2]]), ([[0, 1, 1]], [[0, 0, 1]])
    nothing: tuple[Any, Any] = ([], [])
    late = [nothing, run, nothing, other, nothing, other]  # done in slot 4, and not to run in slot 6
    assert agree(instance, as_read(instance), late) == [True] * 5 + [False]
    more = [run, run, ([[1, 1, 1]], [[1, 0, 1]]), nothing, nothing, nothing]  # the second job is never done
    assert agree(instance, as_read(instance), more) == [True] * 6


@pytest.mark.parametrize(
    ("workers", "servers", "feasible"),
    [
        ([[0, 0, 3], [1, 1, 1]], [[0, 0, 2], [1, 0, 1]], True),
        ([[0, 0, 0], [1, 1, 1]], [[1, 0, 1], [0, 0, 0]], True),
        ([[0, 0, 1], [0, 0, 1]], [[0, 0, 1]], False),
        ([[0, 0, 3], [0, 1, -1]], [[0, 0, 1]], False),
        ([[-1, 0, 1]], [[-1, 0, 1]], False),
        ([[2, 0, 1]], [[2, 0, 1]], False),
        ([[0, -1, 1]], [[0, 0, 1]], False),
        ([[0, 0, 1]], [[0, 1, 1]], False),
        ([[0, 0, 3], [0, 1, 1]], [[0, 0, 2]], False),
        ([[0, 0, 3]], [[0, 0, 1]], False),
        ([[0, 0, 1]], [[0, 0, 2]], False),
        ([], [[0, 0, 1]], False),
        ([[0, 1, 1], [1, 1, 1]], [[0, 0, 1], [1, 0, 1]], False),
    ],
)
def test_every_rule_is_broken_by_itself(workers: Rows, servers: Rows, feasible: bool) -> None:
    instance = cv.AdmissionInstance.from_dict(small(2, 100.0))
    assert agree(instance, as_read(instance), [([], []), (workers, servers)]) == [True, feasible]
