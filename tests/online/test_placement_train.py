"""Training of networks: plans, rewards, what is learned, files from which it goes on, and the command."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant.analysis.engine.cells import Answer, Cell, State
from clairvoyant.analysis.engine.processes import Processes
from clairvoyant.analysis.engine.worker import answer
from clairvoyant.api import nearly_optimal
from clairvoyant.cli import commands
from clairvoyant.models.base import PART, InputError
from clairvoyant.models.placement.generate import generate
from clairvoyant.models.placement.instance import PlacementInstance, taken_schedule
from clairvoyant.models.placement.kernels import start_by_rank
from clairvoyant.models.placement.schedule import Schedule
from clairvoyant.online.placement.learned import checkpoint, policies, training
from clairvoyant.online.placement.learned.design import LITERAL, Design, Readings
from clairvoyant.online.placement.learned.drawing import Move, one_thread
from clairvoyant.online.placement.learned.features import Scene
from clairvoyant.online.placement.learned.learner import DivergedError, collect
from clairvoyant.online.placement.learned.plan import (
    MOST_INSTANCES,
    TEST,
    TRAINING,
    VALIDATION,
    VARIATES,
    Plan,
    Progress,
    Training,
    Trial,
)
from clairvoyant.online.placement.learned.rollout import Played, Reference, Track, lessons, play, reference
from clairvoyant.online.placement.learned.training import Trainer, evaluate, train
from clairvoyant.testing.placement import instances, schedules

SMALL: dict[str, Any] = {"hidden": 8, "heads": 2, "history": 3}


def data(**changes: Mapping[str, Any] | int) -> dict[str, Any]:
    """Return a plan that takes a second, as TOML gives it; tables are changed key by key."""
    usual: dict[str, Any] = {
        "version": 1,
        "seed": 3,
        "design": {"name": "da-mc", **SMALL},
        "jobs": {"size": "tiny", "rho": 2.0},
        "training": {"iterations": 3, "episodes": 2, "jobs": 8, "epochs": 2, "minibatch": 16},
        "validation": {"instances": 2, "jobs": 8, "every": 1},
        "test": {"instances": 2, "jobs": 8},
    }
    for name, value in changes.items():
        usual[name] = usual.get(name, {}) | value if isinstance(value, dict) else value
    return usual


def toml(content: Mapping[str, Any]) -> str:
    """Return a plan as text; JSON's values are TOML's."""
    plain = [f"{key} = {json.dumps(v)}" for key, v in content.items() if not isinstance(v, dict)]
    tables = [
        "\n".join([f"[{name}]", *(f"{key} = {json.dumps(v)}" for key, v in table.items())])
        for name, table in content.items()
        if isinstance(table, dict)
    ]
    return "\n".join([*plain, *tables, ""])


def weights(path: Path) -> dict[str, bytes]:
    """Return the bytes of all networks in a file."""
    found = checkpoint.read(path)
    return {
        f"{part}.{name}": value.tobytes()
        for part in ("actor", "critic")
        for name, value in found.get(part, {}).items()
    }


def outcome(folder: Path) -> tuple[Any, ...]:
    """Return all that a training leaves but its speed."""
    lines = [json.loads(line) for line in (folder / "progress.jsonl").read_text().splitlines()]
    told = [{name: value for name, value in line.items() if name != "speed"} for line in lines]
    result = (folder / "result.json").read_bytes()
    return weights(folder / "best.npz"), weights(folder / "last.npz"), result, told


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("name", ["da-mc", "das", "dl2", "rifling"])
def test_a_gpu_learns_the_same_but_for_rounding(name: str, tmp_path: Path) -> None:
    plan = Plan.of(data(design={"name": name}))
    mine, theirs = (Trainer(plan, torch.device(where)) for where in ("cuda", "cpu"))
    first = torch.cat([one.flatten() for one in theirs.learner.actor.parameters()]).clone()
    assert mine.iterate().steps == theirs.iterate().steps
    assert all(one.is_cuda for one in mine.learner.actor.parameters())
    own, other = (
        torch.cat([one.detach().cpu().flatten() for one in each.learner.actor.parameters()]) - first
        for each in (mine, theirs)
    )
    assert (own - other).norm() < 0.1 * other.norm()
    checkpoint.write(tmp_path / "last.npz", mine.state())
    again = Trainer(plan, torch.device("cuda"))
    again.restore(tmp_path / "last.npz")
    assert again.iterate().steps == mine.iterate().steps


# Plans


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(toml(data()))
    return path


def test_a_plan_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(toml(data()))
    plan = Plan.load(path)
    assert plan.design == Design(placement="gaussian", **SMALL)
    assert (plan.seed, plan.training.iterations, plan.validation.every) == (3, 3, 1)
    assert Plan.of(plan.to_dict()) == plan
    assert Plan.of(json.loads(json.dumps(plan.to_dict()))).to_dict() == plan.to_dict()
    assert not {"numbers", "folder"} & {*plan.to_dict(), *plan.to_dict()["training"], *plan.to_dict()["test"]}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"version": 2}, "version: 2; plans have version = 1"),
    ({"version": True}, "version: True; "),
    ({"surplus": 1}, "surplus: unknown field"),
    ({"seed": -1}, "seed: -1 is not a whole number"),
    ({"seed": "x"}, "seed: 'x' is not a whole number"),
    ({"design": 3}, "design: 3 is not a table"),
    ({"design": {"name": "dal"}}, "design.name: 'dal' is not one of das, "),
    ({"design": {"colour": 1}}, "design.colour: unknown field"),
    ({"design": {"hidden": 2.5}}, "design.hidden: 2.5 is not a whole number"),
    ({"design": {"heads": 3}}, "design.heads: 3 does not divide hidden"),
    ({"design": {"message": 1}}, "design.message: 1 is neither true nor false"),
    ({"design": {"ordering": "fifo", "placement": "consolidate"}}, "design: neither .* is learned"),
    ({"design": {"features": "estimates"}}, "jobs.estimate_error: missing, but design.features"),
    ({"jobs": {"speed": 1}}, "jobs.speed: unknown field; expected one of cluster, clusters, "),
    ({"jobs": {"seed": 1}}, r"jobs.seed: not here; \[training\] draws them"),
    ({"jobs": {"jobs": 1}}, r"jobs.jobs: not here; \[training\], "),
    ({"jobs": {"rho": -1.0}}, "jobs.rho: -1.0 is not at least 0"),
    ({"jobs": {"rho": 0}}, "jobs.rho: 0.0 is so small"),
    ({"jobs": {"size": "huge"}}, "jobs.size: 'huge' is not one of"),
    ({"jobs": {"machines": 0}}, "jobs.machines: 0 is not a whole number of at least 1"),
    ({"jobs": {"contention": "x"}}, "jobs.contention: 'x' is not a finite number"),
    ({"jobs": {"gpu_weight": -1}}, r"jobs.gpu_weight: -1"),
    ({"jobs": {"cluster": "small"}}, "jobs.cluster: 'small' is not for tiny instances"),
    ({"jobs": {"cluster": "small", "clusters": ["small"]}}, "jobs.cluster: not beside jobs.clusters"),
    ({"jobs": {"machines": 2, "clusters": ["small"]}}, "jobs.machines: not beside jobs.clusters"),
    ({"jobs": {"clusters": "small"}}, "jobs.clusters: 'small' is not a list"),
    ({"jobs": {"clusters": []}}, "jobs.clusters: names no cluster"),
    ({"jobs": {"clusters": ["small", "x"]}}, r"jobs.clusters\[1\]: 'x' is not one of"),
    ({"training": 1}, "training: 1 is not a table"),
    ({"training": {"speed": 1}}, "training.speed: unknown field"),
    ({"training": {"iterations": 0}}, "training.iterations: 0 is not a whole number of at least 1"),
    ({"training": {"jobs": True}}, "training.jobs: True is not a whole number"),
    ({"training": {"imitation": 4}}, "training.imitation: 4 of only 3 iterations"),
    ({"optima": {}}, "optima: nothing imitates them; training.imitation says"),
    ({"optima": 3}, "optima: 3 is not a table"),
    (
        {"optima": {}, "training": {"imitation": 1}, "jobs": {"gpu_weight": -1}},
        r"jobs.gpu_weight: -1",
    ),
    (
        {
            "optima": {},
            "design": {"ordering": "linear", "placement": "linear", "features": "capacity"}
            | {"prior": "patient", "holds": True},
            "training": {"method": "evolution", "epochs": 4, "minibatch": 512},
        },
        'optima: not with training.method "evolution"',
    ),
    ({"optima": {"size": "tiny"}}, "optima.size: unknown field"),
    ({"optima": {"instances": 0}}, "optima.instances: 0 is not a whole number of at least 1"),
    ({"optima": {"gap": -0.1}}, "optima.gap: -0.1 is not at least 0"),
    ({"optima": {"rho": 1e-5}, "training": {"imitation": 1}}, "optima: rho: 1e-05 is so small"),
    ({"training": {"pairs": 5}}, 'training.pairs: has no effect with training.method "gradient"'),
    ({"training": {"spread": 0.5}}, 'training.spread: has no effect with training.method "gradient"'),
    ({"training": {"variate": "all"}}, "training.variate: 'all' is not one of ahead"),
    ({"training": {"learning_rate": 0}}, "training.learning_rate: 0 is not at least 1e-09"),
    ({"training": {"discount": 1.5}}, "training.discount: 1.5 is not at least 0 and at most 1"),
    ({"training": {"numbers": [0, 99]}}, "training.numbers: not without jobs.trace"),
    ({"validation": {"every": 0}}, "validation.every: 0 is not"),
    ({"validation": {"patience": 0}}, "validation.patience: 0 is not a whole number of at least 1"),
    ({"validation": {"patience": 2.0}}, "validation.patience: 2.0 is not a whole number"),
    ({"validation": {"episodes": 1}}, "validation.episodes: unknown field"),
    ({"test": {"instances": 10**9}}, "test.instances: 1000000000 is not"),
    ({"test": {"numbers": 3}}, "test.numbers: 3 is not a pair"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_plan_that_cannot_be(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    content = data() | changes if "surplus" in changes else data(**changes)
    path.write_text(toml(content))
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: {message}"):
        Plan.load(path)


def test_readings_are_checked() -> None:
    for given_, message in (
        ({"matern": "free"}, "design.readings.matern: 'free' is not one of sound, literal"),
        ({"sigma": "sound"}, "design.readings.sigma: unknown field"),
        (1, "design.readings: 1 is not a table"),
    ):
        with pytest.raises(InputError, match=message):
            Plan.of(data(design={"readings": given_}))
    literal = {"readings": {"window": LITERAL}}
    with pytest.raises(InputError, match=r"^optima: not with literal window"):
        Plan.of(data(design=literal, training={"imitation": 1}, optima={}))
    heard = {"name": "das", **SMALL, "outcomes": 1.0}
    assert Plan.of(data(design=heard)).design.in_steps == ("outcomes",)
    with pytest.raises(InputError, match=r"^optima: not with outcomes$"):
        Plan.of(data(design=heard, training={"imitation": 1}, optima={}))
    for other in ({"name": "da-mc"}, {"readings": {"walk": LITERAL}}):
        with pytest.raises(InputError, match=r'design\.outcomes: needs placement = "process", in its sound'):
            Plan.of(data(design=heard | other))
    for weight in (-1.0, float("nan"), "much"):
        with pytest.raises(InputError, match=r"^design\.outcomes: "):
            Plan.of(data(design=heard | {"outcomes": weight}))
    with pytest.raises(InputError, match=r"jobs\.price: 0\.0, but reward|jobs\.price: 0, but reward"):
        Plan.of(data(design={"readings": {"reward": LITERAL}}, jobs={"price": 0}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version = ", "no TOML: "),
        (b"\xff", "cannot be read: not UTF-8"),
        (b"version = 1\nseed = " + 5000 * b"1", "no TOML: "),
        (b"version = 1\n[training]\nlearning_rate = 1" + 400 * b"0", "training.learning_rate: 1"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_no_plan(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: {message}"):
        Plan.load(path)


def test_jobs_that_cannot_be_made_are_refused_before_any_work(tmp_path: Path) -> None:
    """Whether a load is possible depends on the number of jobs and on the seed."""
    with pytest.raises(InputError, match=r"^jobs\.rho: 0\.01 is so small"):
        Plan.of(data(jobs={"size": "default", "cluster": "small", "rho": 0.01}, test={"jobs": 4000}))
    usual = generate("tiny", 0, jobs=2)

    def refuse(_plan: Plan, part: int, number: int, _jobs: int, _turn: int = 0) -> PlacementInstance:
        if (part, number) == (TEST, 1):
            raise InputError("rho: too small")
        return usual

    plan = Plan.of(data())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "instance", refuse)
        with pytest.raises(InputError, match=r"^test: jobs\.rho: too small"):
            train(plan, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_imitation_needs_something_that_learns_by_it() -> None:
    design = {"name": "rifling", "readings": {"mean": LITERAL}}
    with pytest.raises(InputError, match=r"^training\.imitation: nothing learns by it"):
        Plan.of(data(design=design, training={"imitation": 1}))


def test_the_parts_share_no_instance() -> None:
    plan = Plan.of(data(jobs={"size": "default", "clusters": ["small", "medium"]}))
    rng = np.random.default_rng(0)
    sampled = [one for i in range(20) for one in plan.lesson(i, rng)]
    judged = [
        one
        for part, trial in ((VALIDATION, plan.validation), (TEST, plan.test))
        for one in plan.judged(part, trial)
    ]
    digests = [one.digest() for one in (*sampled, *judged)]
    assert len(set(digests)) == len(digests) == 40 + 4 + 4
    assert [len(one.setting.capacity) for one in judged] == [8, 8, 16, 16] * 2
    # whatever the plan says
    assert VALIDATION + MOST_INSTANCES <= TEST
    assert TEST + MOST_INSTANCES <= TRAINING


PAI = "alibaba-gpu-v2020/alibaba_trace_sub.head30000.csv.gz"
PODS = "alibaba-gpu-v2023/openb_pod_list_gpuspec33.csv.gz"
POD = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    "scheduled_time"
)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A miniature folder of traces; every number is invented."""
    folder = tmp_path_factory.mktemp("plans") / "traces"
    tasks = [f"ali-{i},{100.0 + 50 * i},{30.0 + i},{(1, 1, 2, 1)[i % 4]}" for i in range(120)]
    pods = [f"p,{1000 * (2 + i)},8192,1,1000,,LS,Failed,{100 + i},{200 + i},{101 + i}" for i in range(9)]
    for name, lines in (
        (PAI, ["job_id,arrival_s,service_sec,gpu_count", *tasks]),
        (PODS, [POD, *pods, "p,4000,8192,2,1000,,LS,Failed,400,500,401"]),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))
    return folder


def recorded(**changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan on traces that lie beside it."""
    ranges = {"training": [0, 60], "validation": [60, 80], "test": [80, 110]}
    parts = {name: {"numbers": numbers} | dict(changes.get(name, {})) for name, numbers in ranges.items()}
    made = data(**parts)
    made["jobs"] = {"trace": "traces", "machines": 2} | dict(changes.get("jobs", {}))
    return made


def test_a_plan_on_traces_keeps_the_parts_apart(traces: Path) -> None:
    plan = Plan.of(recorded(), traces.parent)
    rng = np.random.default_rng(0)
    durations = {
        "training": {d for i in range(40) for one in plan.lesson(i, rng) for d in one.jobs.duration.tolist()},
        "validation": {
            d for one in plan.judged(VALIDATION, plan.validation) for d in one.jobs.duration.tolist()
        },
        "test": {d for one in plan.judged(TEST, plan.test) for d in one.jobs.duration.tolist()},
    }
    # task i takes 30 + i seconds: durations say which tasks those are
    assert durations["training"] == {1000 * (30 + i) for i in range(60)}
    assert durations["validation"] == {1000 * (30 + i) for i in range(60, 76)}
    assert durations["test"] == {1000 * (30 + i) for i in range(80, 96)}
    assert plan.to_dict()["jobs"]["trace"] == "traces"  # as it was given, from wherever it was read
    assert plan.to_dict()["training"]["numbers"] == [0, 60]
    assert Plan.of(plan.to_dict(), traces.parent) == plan


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"jobs": {"trace": 3}}, "jobs.trace: 3 is not the name of a folder"),
        ({"jobs": {"trace": "nowhere"}}, "jobs.trace: .*nowhere: no such folder"),
        ({"jobs": {"source": "borg"}}, "jobs.source: 'borg' is not one of"),
        ({"jobs": {"first": 3}}, "jobs.first: not here; "),
        ({"training": {"numbers": [0, 7]}}, r"training.numbers: \[0, 7\] are 7 jobs; 8 are needed"),
        (
            {"training": {"numbers": [0, 61]}},
            r"validation.numbers: \[60, 80\] overlaps \[0, 61\] of training",
        ),
        ({"test": {"numbers": [70, 100]}}, r"test.numbers: \[70, 100\] overlaps \[60, 80\] of validation"),
        ({"test": {"numbers": [80, 95]}}, r"test.numbers: \[80, 95\] are 15 jobs; 16 are needed"),
        ({"test": {"numbers": [80, 1000]}}, "test.numbers: 920 from number 80 on are more than"),
        ({"validation": {"numbers": [80, 60]}}, r"validation.numbers: \[80, 60\] does not increase"),
        ({"validation": {"numbers": None}}, "validation.numbers: missing, but there is jobs.trace"),
    ],
)
def test_a_plan_on_traces_that_cannot_be(changes: dict[str, Any], message: str, traces: Path) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Plan.of(recorded(**changes), traces.parent)


def test_training_on_traces_goes_through(traces: Path, tmp_path: Path) -> None:
    path = traces.parent / "plan.toml"
    path.write_text(toml(recorded(jobs={"rho": 0.5})))
    result = train(Plan.load(path), tmp_path)
    assert len(result["test"]) == 2
    assert train(Plan.load(path), tmp_path) == result
    lines = gzip.decompress((traces / PAI).read_bytes()).replace(b",3", b",4")
    for kept in (PAI, PODS):
        (tmp_path / "other" / "traces" / kept).parent.mkdir(parents=True)
    (tmp_path / "other" / "traces" / PAI).write_bytes(gzip.compress(lines, mtime=0))
    shutil.copy(traces / PODS, tmp_path / "other" / "traces" / PODS)
    shutil.copy(path, tmp_path / "other")
    with pytest.raises(InputError, match="is of this plan on other jobs"):
        train(Plan.load(tmp_path / "other" / "plan.toml"), tmp_path)


@pytest.mark.skipif(not policies.members("da-mc-patient"), reason="needs networks")
def test_a_policy_forgets_its_last_run_and_trains_as_it_plays() -> None:
    """Also what it has seen of jobs that have ended, by which networks that wait go."""
    first, second = (generate("default", n, jobs=150, rho=2.0, cluster="small") for n in (1, 2))
    policy = policies.TRAINED["da-mc-patient"]()
    fresh = cv.play(policy, second).total
    cv.play(policy, first)
    assert cv.play(policy, second).total == fresh
    assert play(policy.networks(), second, reference(second), None).cost == pytest.approx(fresh)


# What an episode costs and what is rewarded


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_the_reference_knows_its_cost_at_any_time(sampled: st.DataObject) -> None:
    one = sampled.draw(instances(min_jobs=1))
    taken = sampled.draw(schedules(one))
    known = Reference(one, taken)
    submit, gpus, weight = one.jobs.submit, one.jobs.gpus, one.setting.gpu_weight
    assert known.total == pytest.approx(one.cost(taken), rel=1e-12)
    for tick in {
        0,
        int(taken.finish.max()) + 5,
        *submit.tolist(),
        *taken.start.tolist(),
        *(taken.finish - 1).tolist(),
    }:
        waited = np.clip(tick - submit, 0, taken.finish - submit).sum()
        used = (np.clip(tick - taken.start, 0, taken.finish - taken.start) * gpus).sum()
        assert known.until(tick) == pytest.approx((waited + weight * used) / 1000.0, rel=1e-12, abs=1e-9)
        assert known.present(tick) == ((submit <= tick) & (tick < taken.finish)).sum()


def any_move(scene: Scene, rng: np.random.Generator) -> Move:
    """Start some of what fits, in any order, on any machines; something, if nothing runs."""
    seen = scene.observation
    count, machines = len(seen.jobs), len(seen.free)
    ranked = np.array([rng.permutation(machines) for _ in range(count)])
    order = rng.permutation(count)
    rows = start_by_rank(seen.free.copy(), seen.jobs, seen.instances, seen.need, order, ranked, False)
    kept = [job for job in np.unique(rows[:, 0]) if rng.random() < 0.7]
    if kept or len(seen.running):
        rows = rows[np.isin(rows[:, 0], kept)]
    return Move(
        rows,
        np.zeros(count, dtype=np.float32),
        np.empty(0, dtype=np.int64),
        np.empty((0, machines), np.float32),
        None,
    )


def wandering(track: Track, rng: np.random.Generator) -> Track:
    """Play a track to its end by moves at random."""
    while (scene := track.look()) is not None:
        track.step(scene, any_move(scene, rng))
    return track


@settings(max_examples=40, deadline=None)
@given(instances(min_jobs=1), st.integers(0, 2**32 - 1), st.sampled_from(VARIATES))
def test_rewards_add_up_to_the_cost(one: PlacementInstance, seed: int, variate: str) -> None:
    known = reference(one)
    track = Track(one, known, Design(**SMALL), np.random.default_rng(0), variate)
    wandering(track, np.random.default_rng(seed))
    assert track.cost == pytest.approx(one.cost(taken_schedule(track.episode.simulator)), rel=1e-12)
    wanted = (0.0 if variate == "none" else known.total) - track.cost
    found = sum(step.reward for step in track.steps)
    assert found * track.scale == pytest.approx(wanted, rel=1e-9, abs=1e-9 * known.total)


@settings(max_examples=20, deadline=None)
@given(instances(min_jobs=1, estimates=True), st.integers(0, 2**32 - 1))
def test_what_is_ahead_follows_the_prior(one: PlacementInstance, seed: int) -> None:
    design = Design(features="estimates", prior="estimates", **SMALL)
    known = reference(one)
    track = wandering(Track(one, known, design, np.random.default_rng(0)), np.random.default_rng(seed))
    shortest = cv.play("sjf-estimate-consolidate", one).total
    found = sum(step.reward for step in track.steps)
    assert found * track.scale == pytest.approx(shortest - track.cost, rel=1e-9, abs=1e-9 * known.total)


@pytest.mark.parametrize("variate", ["ahead", "accrued"])
def test_fifo_consolidate_itself_earns_nothing(variate: str) -> None:
    one = cv.generate("placement", size="tiny", seed=4, jobs=30)
    assert isinstance(one, PlacementInstance)
    known = reference(one)
    track = Track(one, known, Design(**SMALL), np.random.default_rng(0), variate)
    for rows in one.decisions(known.schedule):
        scene = track.look()
        assert scene is not None
        track.step(scene, any_move(scene, np.random.default_rng(0))._replace(rows=rows))
    assert track.look() is None
    assert [step.reward for step in track.steps] == pytest.approx([0.0] * len(track.steps), abs=1e-9)
    assert track.played().above == pytest.approx(0.0, abs=1e-9)


# What is learned


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    with one_thread():
        yield


HARD = {"size": "tiny", "machines": 4, "rho": 1.2, "communication": 4.0, "contention": 4.0}
"""Jobs that a bad choice of machines costs much."""


def test_the_objective_improves() -> None:
    """On instances that are not trained on, with the same noise before and after.

    With each of six seeds what it costs above FIFO-Consolidate fell to 29 to 65 per cent, and with advantages
    of the wrong sign to 78 per cent or more.
    """
    plan = Plan.of(
        {
            "version": 1,
            "seed": 4,
            "design": {"name": "da-mc", "hidden": 16},
            "jobs": HARD,
            "training": {"iterations": 6, "episodes": 8, "jobs": 30, "minibatch": 128},
            "validation": {"instances": 8, "jobs": 30},
        }
    )
    trainer = Trainer(plan)
    judged = [(one, reference(one)) for one in plan.judged(VALIDATION, plan.validation)]

    def cost() -> float:
        networks, rng = trainer.learner.actor.networks(), np.random.default_rng(5)
        return float(np.mean([play(networks, *one, rng).above for one in judged]))

    before = cost()
    for _ in range(plan.training.iterations):
        trainer.iterate()
    assert cost() < 0.72 * before


@pytest.mark.parametrize(("name", "share"), [("da-mc", 0.9), ("dl2", 0.6), ("rifling", 0.98)])
def test_imitation_comes_closer(name: str, share: float) -> None:
    one = Plan.of(data(design={"name": name}, jobs={"rho": 4.0, "machines": 3}, training={"jobs": 30}))
    trainer = Trainer(one)
    student, rng = trainer.learner, trainer.rng
    episodes = lessons(student.actor, one.lesson(0, rng), rng, trainer.noise, "ahead")
    trainer._group(episodes)
    samples = collect(episodes, student.device)
    distances = [float(student._distance(samples).detach())]
    for _ in range(6):
        student.imitate(episodes, rng)
        distances.append(float(student._distance(samples).detach()))
    assert distances[-1] < share * distances[0], distances


HOLDING = {"name": "da-mc", "features": "capacity", "prior": "patient", "holds": True}


def followed(
    design: Mapping[str, Any], machines: int, seed: int
) -> tuple[Played, Schedule, PlacementInstance]:
    """Return an optimum of few jobs, played as training plays it, and what it is of."""
    plan = Plan.of(data(design=design, training={"imitation": 1}, optima={"machines": machines, "rho": 20.0}))
    one = plan.small()[seed]
    best = nearly_optimal(one, 0.01)
    networks = Trainer(plan, solve=nearly_optimal).learner.actor.networks()
    return play(networks, one, reference(one), None, taught=best), best, one


@pytest.mark.parametrize("design", [{"name": "da-mc"}, {"name": "das"}, {"name": "dl2"}, HOLDING])
@pytest.mark.parametrize("seed", range(4))
def test_an_optimum_is_played_as_it_is(design: Mapping[str, Any], seed: int) -> None:
    """On one machine there is nothing but the starts; FIFO-Consolidate would start other jobs first."""
    made, best, one = followed(design, 1, seed)
    assert made.cost == pytest.approx(one.cost(best), rel=1e-12)
    assert made.above < -1e-6 or one.cost(best) == pytest.approx(reference(one).total)


@pytest.mark.parametrize("seed", range(4))
def test_what_an_optimum_teaches(seed: int) -> None:
    """Order, machines and waiting are told by its starts and rows, job by job."""
    made, best, one = followed(HOLDING, 2, seed)
    epochs = np.unique(np.concatenate([one.jobs.submit, best.finish]))
    share = np.zeros((6, 2))
    np.add.at(share, (best.rows[:, 0], best.rows[:, 1]), best.rows[:, 2])
    share /= share.sum(1, keepdims=True)
    assert len(made) <= len(epochs)
    for d in range(len(made)):
        ranks = -made.priorities[made.rows[d] : made.rows[d + 1]]
        assert sorted(ranks) == [*range(len(ranks))]
        tried = slice(made.begun[d], made.begun[d + 1])
        assert (np.diff(ranks[made.place[tried]]) > 0).all()  # by their starts
        for aim in made.affinities[tried]:
            assert np.abs(share - aim).sum(1).min() < 1e-6
        assert {*made.hold[tried]} <= {-1.0, 1.0}
    assert (made.hold < 0.0).sum() == 6  # each job starts once


@pytest.mark.parametrize(
    ("design", "share"),
    [({"name": "da-mc"}, 0.9), ({"name": "das"}, 0.9), ({"name": "dl2"}, 0.9), (HOLDING, 0.9)],
)
def test_imitation_of_optima_comes_closer(design: Mapping[str, Any], share: float) -> None:
    asked = {"instances": 12, "rho": 20.0}
    one = Plan.of(data(design=design, training={"imitation": 1, "learning_rate": 0.01}, optima=asked))
    trainer = Trainer(one, solve=nearly_optimal)
    student, rng = trainer.learner, trainer.rng
    episodes = trainer._followed()
    assert trainer._followed() is episodes  # solved once
    samples = collect(episodes, student.device)
    distances = [float(student._distance(samples, True).detach())]
    for name in ("priorities", "affinities", "hold"):  # what the optima do is what counts
        done = getattr(samples, name)
        other = float(student._distance(samples._replace(**{name: 0.5 * done}), True).detach())
        assert (other != distances[0]) == bool(done.numel()), name
    for _ in range(6):
        student.imitate(episodes, rng, optima=True)
        distances.append(float(student._distance(samples, True).detach()))
    assert distances[-1] < share * distances[0], distances


def test_jobs_start_where_nothing_else_would_happen() -> None:
    """A schedule that agents cannot follow to the end leaves no job behind."""
    plan = Plan.of(data(training={"imitation": 1}, optima={}))
    one, far = plan.small()[0], np.full(6, 10**12)
    rows = np.array([(job, 0, 1) for job in range(6)])
    networks = Trainer(plan, solve=nearly_optimal).learner.actor.networks()
    made = play(networks, one, reference(one), None, taught=Schedule(far, far + 1, rows))
    assert made.begun[-1] == 6
    assert [*np.diff(made.begun)].count(0) > 0  # as long as something would happen, all wait


def test_what_was_imitated_is_played() -> None:
    """Networks that have seen one optimum again and again play it, but where jobs wait though nothing runs.

    Of eight instances they played one or two optimally before, six after.
    """
    learning = {"imitation": 1, "epochs": 120, "minibatch": 64, "learning_rate": 0.01}
    plan = Plan.of(data(design=HOLDING, training=learning, optima={"rho": 20.0, "instances": 8}))
    before, after = [], []
    for one in plan.small():
        trainer, known, best = Trainer(plan, solve=nearly_optimal), reference(one), nearly_optimal(one, 0.01)
        student = trainer.learner
        lesson = play(student.actor.networks(), one, known, None, taught=best)
        before.append(play(student.actor.networks(), one, known, None).cost / lesson.cost)
        student.imitate([lesson], trainer.rng, optima=True)
        after.append(play(student.actor.networks(), one, known, None).cost / lesson.cost)
    played = [(np.array(ratios) < 1.0 + 1e-9).sum() for ratios in (before, after)]
    assert played[0] <= 2
    assert played[1] >= 5, after


def test_optima_that_are_not_proved_are_left_out() -> None:
    plan = Plan.of(data(training={"imitation": 1}, optima={"instances": 3, "gap": 0.25}))
    asked = list[tuple[str, float]]()

    def some(one: PlacementInstance, gap: float) -> Schedule | None:
        asked.append((one.digest(), gap))
        return None if len(asked) == 2 else reference(one).schedule

    assert len(Trainer(plan, solve=some)._followed()) == 2
    assert asked == [(one.digest(), 0.25) for one in plan.small()]
    with pytest.raises(InputError, match=r"^optima: no instance could be proved"):
        Trainer(plan, solve=lambda _one, _gap: None).iterate()
    with pytest.raises(InputError, match=r"^optima: nothing is at hand that solves"):
        Trainer(plan)


@pytest.mark.parametrize("variate", ["ahead", "accrued", "none"])
def test_every_variate_trains(variate: str) -> None:
    trainer = Trainer(Plan.of(data(training={"variate": variate})))
    told = [trainer.iterate() for _ in range(2)]
    assert [one.iteration for one in told] == [1, 2]


@pytest.mark.parametrize("reading", list(Readings.__dataclass_fields__))
def test_literal_readings_train(reading: str, tmp_path: Path) -> None:
    crowded = reading == "window"  # more than the 24 jobs that are drawn
    plan = Plan.of(
        data(
            design={"name": "da-mc" if crowded else "das", "readings": {reading: LITERAL}},
            jobs={"rho": 40.0} if crowded else {},
            training={"iterations": 1} | ({"jobs": 32, "episodes": 1} if crowded else {}),
            validation={"instances": 1, "every": 1},
            test={"instances": 1},
        )
    )
    result = train(plan, tmp_path)
    assert np.isfinite([row["cost"] for row in result["test"]]).all()
    assert plan.design.readings.literal(reading)


# Files


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "made" / "here"
    told: list[Progress] = []
    result = train(Plan.of(data()), folder, told.append)
    assert [one.iteration for one in told] == [1, 2, 3]
    assert result == json.loads((folder / "result.json").read_text())
    return folder


def test_progress_is_told_and_logged(whole: Path) -> None:
    lines = [json.loads(line) for line in (whole / "progress.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == [1, 2, 3]
    assert [line["best"] for line in lines] == np.minimum.accumulate(
        [line["validation"] for line in lines]
    ).tolist()
    assert all(line["speed"] > 0.0 and line["iterations"] == 3 for line in lines)
    assert all(one["steps"] < other["steps"] for one, other in pairwise(lines))


def test_the_result_is_that_of_the_best_networks(whole: Path) -> None:
    plan = Plan.of(data())
    result = json.loads((whole / "result.json").read_text())
    assert evaluate(plan, checkpoint.restored(whole / "best.npz")) == result
    for row, one in zip(result["test"], plan.judged(TEST, plan.test), strict=True):
        assert row["digest"] == one.digest()
        run = cv.play("fifo-consolidate", one)
        assert row["reference"]["cost"] == pytest.approx(run.total, rel=1e-12)
        played = cv.play(f"das:checkpoint={whole / 'best.npz'}", one)
        assert row["cost"] == pytest.approx(played.total, rel=1e-12)


class Killed(BaseException):
    """What no code of ours expects."""


@pytest.mark.parametrize(
    ("name", "optima"), [("das", {}), ("rifling", {}), ("dl2", {}), ("da-mc", {"optima": {"instances": 3}})]
)
def test_stopped_after_any_iteration_it_goes_on_the_same(
    name: str, optima: Mapping[str, Any], tmp_path: Path
) -> None:
    plan = Plan.of(data(design={"name": name}, training={"imitation": 2 if optima else 1}, **optima))
    assert Plan.of(plan.to_dict()) == plan
    train(plan, tmp_path / "whole", None, nearly_optimal)

    def stop(_told: Progress) -> None:
        raise Killed

    for _ in range(3):
        with pytest.raises(Killed):
            train(plan, tmp_path / "stopped", stop, nearly_optimal)
    train(plan, tmp_path / "stopped", stop, nearly_optimal)  # all iterations are done
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "whole")


def judged_as(values: Sequence[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the validations after the iterations come to these values."""
    monkeypatch.setattr(Trainer, "validate", lambda self: values[self.iteration - 1])


@pytest.mark.parametrize(
    ("values", "patience", "after"),
    [
        ([5.0, 4.0, 3.0, 2.0, 1.0, 0.0], 2, 6),  # better to the end
        ([5.0, 4.0, 3.0, 9.0, 1.0, 0.0], 2, 4),  # the mean of the last two is not below that of two before
        ([5.0, 4.0, 4.0, 5.0, 1.0, 0.0], 2, 4),  # as good is not better
        ([5.0, 9.0, 9.0, 0.0, 0.0, 0.0], 3, 6),  # too few validations to tell
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1, 2),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], None, 6),
    ],
)
def test_a_training_ends_where_validations_get_no_better(
    values: list[float], patience: int | None, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_as(values, monkeypatch)
    validation = {} if patience is None else {"patience": patience}
    plan = Plan.of(data(training={"iterations": 6}, validation=validation))
    assert plan.to_dict()["validation"].get("patience") == patience
    assert Plan.of(plan.to_dict()) == plan

    def stop(_told: Progress) -> None:
        raise Killed

    for done in range(after):
        assert training.standing(plan, tmp_path / "stopped") == (done, False)
        with pytest.raises(Killed):
            train(plan, tmp_path / "stopped", stop)
    assert training.standing(plan, tmp_path / "stopped") == (after, True)
    train(plan, tmp_path / "stopped", stop)  # nothing is left
    train(plan, tmp_path / "whole")
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "whole")
    assert len((tmp_path / "whole" / "progress.jsonl").read_text().splitlines()) == after
    told = checkpoint.read(tmp_path / "whole" / "last.npz")
    assert (told["iteration"], told["validations"]) == (after, values[:after])
    assert checkpoint.read(tmp_path / "whole" / "best.npz")["best"] == min(values[:after])


def test_killed_between_any_two_files_it_goes_on_the_same(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = checkpoint.write

    def dying(count: int, *, after: bool) -> Callable[[Path, Mapping[str, Any]], None]:
        """Return what dies before or after it writes the file of that number."""
        left = count

        def write(path: Path, content: Mapping[str, Any]) -> None:
            nonlocal left
            left -= 1
            if left or after:
                usual(path, content)
            if not left:
                raise Killed

        return write

    plan, starts = Plan.of(data()), 0
    # before and after best.npz of an iteration, if it is written, and its last.npz; the log lies between
    for count, after in ((1, False), (1, True), (2, False), (2, True)) * 3:
        monkeypatch.setattr(checkpoint, "write", dying(count, after=after))
        try:
            train(plan, tmp_path)
        except Killed:
            starts += 1
    monkeypatch.setattr(checkpoint, "write", usual)
    train(plan, tmp_path)
    assert starts >= 6
    assert outcome(tmp_path) == outcome(whole)


DYING = """
import os, signal, sys
from clairvoyant.cli.commands import main
from clairvoyant.online.placement.learned.learner import Learner

usual, calls = Learner.improve, []

def improve(*arguments):
    usual(*arguments)
    calls.append(None)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

Learner.improve = improve
main(["train", sys.argv[1], "--out", sys.argv[2]])
"""
"""A training that is killed in its second iteration, when the networks have learned and nothing is saved."""


def test_killed_by_the_system_it_goes_on_the_same(whole: Path, file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "training"
    command = [sys.executable, "-c", DYING, str(file), str(folder)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["best.npz", "last.npz", "progress.jsonl"]
    assert checkpoint.read(folder / "last.npz")["iteration"] == 1
    train(Plan.load(file), folder)
    assert outcome(folder) == outcome(whole)


def test_a_torn_line_of_the_log_is_taken_back(whole: Path, tmp_path: Path) -> None:
    def stop(told: Progress) -> None:
        if told.iteration == 2:
            raise Killed

    with pytest.raises(Killed):
        train(Plan.of(data()), tmp_path, stop)
    with (tmp_path / "progress.jsonl").open("a") as log:
        log.write('{"iteration": 3, "itera')
    train(Plan.of(data()), tmp_path)
    assert outcome(tmp_path) == outcome(whole)


def test_the_seed_decides_the_networks() -> None:
    found = []
    for seed in (3, 4):
        trainer = Trainer(Plan.of(data(seed=seed)))
        begun = {name: value.clone() for name, value in trainer.learner.actor.state_dict().items()}
        trainer.iterate()
        found.append((begun, trainer.learner.actor.state_dict()))
    for i in range(2):
        assert any(not torch.equal(found[0][i][name], found[1][i][name]) for name in found[0][i])
    again = Trainer(Plan.of(data()))
    again.iterate()
    for name, value in again.learner.actor.state_dict().items():
        assert torch.equal(value, found[0][1][name]), name


@pytest.mark.parametrize("name", ["best.npz", "last.npz"])
def test_a_folder_of_another_training_is_refused(name: str, whole: Path, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes((whole / name).read_bytes())
    with pytest.raises(
        InputError, match=rf"{name}: is of a training by another plan \(seed is 3 there, 4 here\)"
    ):
        train(Plan.of(data(seed=4, training={"jobs": 9})), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_files_that_do_not_go_together_are_refused(whole: Path, tmp_path: Path) -> None:
    plan = Plan.of(data())
    (tmp_path / "last.npz").write_bytes((whole / "last.npz").read_bytes())
    with pytest.raises(InputError, match=r"best.npz: missing, but"):
        train(plan, tmp_path)
    for name in ("best.npz", "last.npz"):
        (tmp_path / name).write_bytes((whole / "best.npz").read_bytes())
    with pytest.raises(InputError, match=r"last.npz: critic is missing: no training can go on from there"):
        train(plan, tmp_path)
    (tmp_path / "last.npz").write_bytes((whole / "last.npz").read_bytes())
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(InputError, match=r"result.json: cannot be read: "):
        train(plan, tmp_path)
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(InputError, match=r"result.json: is no result of this plan"):
        train(plan, tmp_path)
    (tmp_path / "result.json").unlink()
    assert train(plan, tmp_path) == json.loads((whole / "result.json").read_text())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file: cannot be made"):
        train(plan, tmp_path / "file")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"iteration": "two"}, r"iteration: 'two' is not a whole number"),
        ({"iteration": -5}, r"iteration: -5 is not a whole number"),
        ({"iteration": 4}, r"iteration: 4 is not a whole number of at least 0 and at most 3"),
        ({"steps": None}, r"steps: None is not a whole number"),
        ({"best": math.nan}, r"best: nan is not a finite number"),
        ({"rng": "{}"}, r"no training can go on from there"),
        ({"noise": 3}, r"no training can go on from there"),
        ({"optimiser": {}}, r"no training can go on from there"),
        ({"optimiser": {"0.step": np.ones(1)}}, r"no training can go on from there"),
        ({"optimiser": {"0.step": np.array(np.inf)}}, r"no training can go on from there"),
        ({"optimiser": {"0.step": np.array(1.0)}}, r"no training can go on from there"),
        ({"optimiser": {"99.step": np.array(1.0)}}, r"no training can go on from there"),
    ],
)
def test_a_state_that_cannot_be_gone_on_from(
    changes: dict[str, Any], message: str, whole: Path, tmp_path: Path
) -> None:
    (tmp_path / "best.npz").write_bytes((whole / "best.npz").read_bytes())
    checkpoint.write(tmp_path / "last.npz", checkpoint.read(whole / "last.npz") | changes)
    with pytest.raises(InputError, match=rf"^checkpoint: .*last\.npz: {message}"):
        train(Plan.of(data()), tmp_path)


@pytest.mark.parametrize("content", [b"hello\n", b"{}\n", b"[1]\n", b'{"iteration": "x"}\n', b"\xff\xfe\n"])
def test_a_log_that_is_none_is_refused(content: bytes, whole: Path, tmp_path: Path) -> None:
    for name in ("best.npz", "last.npz"):
        (tmp_path / name).write_bytes((whole / name).read_bytes())
    (tmp_path / "progress.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=r"progress\.jsonl: is no log of a training"):
        train(Plan.of(data()), tmp_path)
    assert (tmp_path / "progress.jsonl").read_bytes() == content


def test_a_full_disk_leaves_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint.write(tmp_path / "last.npz", {"a": 1})
    saved = (tmp_path / "last.npz").read_bytes()

    def full(_path: Path, _target: Path) -> None:
        raise OSError(28, "No room")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"last\.npz: cannot be written: No room$"):
        checkpoint.write(tmp_path / "last.npz", {"a": 2})
    assert [path.name for path in tmp_path.iterdir()] == ["last.npz"]
    assert (tmp_path / "last.npz").read_bytes() == saved


def test_what_a_killed_training_has_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    left = tmp_path / f".last.npz.abcdefgh{PART}"
    left.write_bytes(b"half")
    train(Plan.of(data()), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "best.npz",
        "last.npz",
        "progress.jsonl",
        "result.json",
    ]


@pytest.mark.parametrize("name", ["progress.jsonl", "last.npz", "best.npz"])
def test_what_is_no_regular_file_is_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=r"is not a regular file|is no log of a training"):
        train(Plan.of(data()), tmp_path)


# Numbers that are no longer finite


@pytest.mark.parametrize(
    ("design", "weight", "value", "message"),
    [
        ("da-mc", "ordering.mean.weight", np.nan, "iteration 2 of 3: the objective of the agents is nan"),
        ("das", "placement.log_scale", np.nan, "iteration 2 of 3: a covariance has no factors any more"),
        ("das", "placement.log_scale", np.inf, "iteration 2 of 3: "),
    ],
)
def test_numbers_that_go_astray_end_a_training(
    design: str, weight: str, value: float, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Trainer._iterate

    def poisoned(self: Trainer) -> Progress:
        if self.iteration == 1:
            with torch.no_grad():
                self.learner.actor.get_parameter(weight).fill_(value)
        return usual(self)

    plan = Plan.of(data(design={"name": design}))
    monkeypatch.setattr(Trainer, "_iterate", poisoned)
    with pytest.raises(
        DivergedError, match=f"training: {message}.*; what was saved after iteration 1 is untouched"
    ):
        train(plan, tmp_path)
    monkeypatch.setattr(Trainer, "_iterate", usual)
    assert checkpoint.read(tmp_path / "last.npz")["iteration"] == 1
    assert len((tmp_path / "progress.jsonl").read_text().splitlines()) == 1
    train(plan, tmp_path)  # from there


def test_weights_that_go_astray_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(Plan.of(data()))

    def spoil(*_arguments: Any) -> None:
        with torch.no_grad():
            trainer.learner.critic.out.bias.fill_(np.inf)

    monkeypatch.setattr(trainer.learner, "improve", spoil)
    with pytest.raises(
        DivergedError, match=r"iteration 1 of 3: critic.out.bias is no longer finite; nothing was saved"
    ):
        trainer.iterate()


# The command


class Printed:
    """Exit status and what a command printed."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


Run = Callable[..., Printed]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # the width of tables is then that of no terminal

    def call(*arguments: object) -> Printed:
        capfd.readouterr()
        status = commands.main([str(argument) for argument in arguments])
        return Printed(status, *capfd.readouterr())

    return call


def test_the_command_trains_once_and_tells_the_result(run: Run, file: Path, whole: Path) -> None:
    first = run("train", file, "--seed", 3)
    assert first.status == 0, first.err
    assert outcome(file.parent / "reports/training/plan-3") == outcome(whole)
    for i in (1, 2, 3):
        found = (
            rf"iteration {i}/3, [\d,]+ steps, [\d,]+/s, against FIFO-Consolidate: cost [-+].* %, "
            r"validation [-+].* %, best [-+].* %\n"
        )
        assert re.search(found, first.err), first.err
    assert "clairvoyant play FILE --policy da-mc:checkpoint=reports/training/plan-3/best.npz" in first.out
    assert max(map(len, first.out.splitlines())) <= 110
    second = run("train", file)
    assert second.out == first.out
    assert second.err == "note: the training has ended: nothing is trained again\n"
    told = json.loads(run("train", file, "--json").out)
    rows = json.loads((whole / "result.json").read_text())["test"]
    (one,) = told["clusters"].values()
    for name in ("jct", "fee", "cost"):
        differences = [row[name] - row["reference"][name] for row in rows]
        assert one["difference"][name]["mean"] == pytest.approx(np.mean(differences))
        # two samples: the quantile of Student's t is 12.7
        half = 12.706 * np.std(differences, ddof=1) / np.sqrt(2.0)
        assert one["difference"][name]["high"] - one["difference"][name]["mean"] == pytest.approx(
            half, rel=1e-4
        )
        assert one["trained"][name] == pytest.approx(np.mean([row[name] for row in rows]))
        shares = [100.0 * (row[name] / row["reference"][name] - 1.0) for row in rows]
        assert one["per_cent"][name]["mean"] == pytest.approx(np.mean(shares))
        assert f"{one['per_cent'][name]['mean']:+.3g} [" in first.out


def test_an_interrupted_training_says_how_it_goes_on(
    run: Run, file: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Trainer.iterate

    def interrupted(self: Trainer) -> Progress:
        if self.iteration == stop:
            raise KeyboardInterrupt
        return usual(self)

    monkeypatch.setattr(Trainer, "iterate", interrupted)
    stop = 0
    early = run("train", file, "--out", "there")
    assert (early.status, early.out) == (130, "")
    assert early.err.endswith("interrupted before anything was saved; the same command begins anew\n")
    stop = 2
    late = run("train", file, "--out", "there", "--json")
    assert late.status == 130
    assert json.loads(late.out) == {"interrupted": True, "folder": "there", "iteration": 2, "iterations": 3}
    assert late.err.endswith(
        "interrupted after iteration 2 of 3, saved in there; the same command goes on from it\n"
    )
    stop = -1
    rest = run("train", file, "--out", "there")
    assert rest.status == 0
    assert rest.err.startswith("note: goes on after iteration 2 of 3 in there\n")
    assert outcome(file.parent / "there") == outcome(whole)


def test_the_command_refuses_in_one_line(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> str:
        printed = run("train", *arguments)
        assert (printed.status, printed.out, printed.err.count("\n")) == (2, "", 1), printed.err
        return printed.err

    assert "plan.toml: no TOML" not in refused(file, "--seed", -1)
    assert "none.toml: cannot be read: No such file" in refused("none.toml")
    assert "plan.toml: cannot be made" in refused(file, "--out", file)
    file.write_text(toml(data(training={"speed": 1})))
    assert "plan.toml: training.speed: unknown field" in refused(file)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert refused("none.toml").endswith('training needs it: pip install "clairvoyant[rl]"\n')
    assert not (file.parent / "reports").exists()


def test_what_is_solved_for_a_training_is_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optima, answers = {"optima": {"instances": 3, "jobs": 3}}, iter([True, False, True])
    file = tmp_path / "small.toml"
    file.write_text(toml(data(training={"imitation": 1}, **optima)))
    solve = nearly_optimal
    monkeypatch.setattr(cv.api, "nearly_optimal", lambda *one: solve(*one) if next(answers) else None)
    told = run("train", file).err
    assert "note: 3 small instances are solved before\n" in told
    assert "3 of 3 small instances solved, 2 of them proved\n" in told


def test_several_seeds_are_trained_in_processes_of_their_own(
    run: Run, file: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("train", file, "--seed", 4, "--out", "alone").status == 0
    told = json.loads(run("train", file, "--seed", 3, "--seeds", 2, "--workers", 1, "--json").out)
    assert [Path(one["folder"]).name for one in told["trainings"]] == ["plan-3", "plan-4"]
    assert told["failed"] == {}
    assert outcome(file.parent / "reports/training/plan-3") == outcome(whole)
    assert outcome(file.parent / "reports/training/plan-4") == outcome(file.parent / "alone")

    def here(_self: Processes, cells: Iterable[Cell]) -> Iterator[list[tuple[Cell, Answer]]]:
        for cell in cells:
            told = answer({"function": cell.function, "arguments": dict(cell.arguments)}, BytesIO())
            state = State.FAILED if "error" in told else State.DONE
            yield [(cell, Answer(state, told.get("result"), told.get("error", "")))]

    monkeypatch.setattr(Processes, "run", here)  # what a process does is the same in this one
    file.write_text(file.read_text().replace("iterations = 3", "iterations = 4"))
    other = run("train", file, "--seed", 4, "--seeds", 2)  # the folder of seed 4 is that of another plan
    assert other.status == 1
    assert other.err.count("seed 4: ") == 1
    assert "plan-5" in other.out


def test_the_command_fails_where_numbers_go_astray(run: Run, file: Path) -> None:
    file.write_text(toml(data(design={"name": "das"}, training={"learning_rate": 10.0, "iterations": 50})))
    printed = run("train", file)
    assert (printed.status, printed.out) == (1, "")
    assert re.search(
        r"^failed: training: iteration \d+ of 50: .*(saved|untouched)$", printed.err, re.MULTILINE
    )


def test_the_front_door_trains(file: Path, tmp_path: Path, whole: Path) -> None:
    told: list[Progress] = []
    result = cv.train(file, tmp_path / "out", progress=told.append)
    assert result == json.loads((whole / "result.json").read_text())
    assert len(told) == 3
    plan = Plan.load(file)
    assert cv.train(plan, tmp_path / "out", seed=3) == result


def test_interval_of_one_instance_is_none(run: Run, file: Path) -> None:
    content = data(
        jobs={"price": 0}, training={"iterations": 1}, validation={"instances": 1}, test={"instances": 1}
    )
    file.write_text(toml(content))
    printed = run("train", file)
    assert printed.status == 0, printed.err
    assert printed.out.count("(one sample)") == 5  # no share of a fee of 0


# The document


DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "training.md"


def test_the_document_names_every_field() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    kinds = (Plan, Training, Trial, Design, Readings, Progress)
    names = {name for kind in kinds for name in kind.__annotations__} - {"folder"}
    assert not [name for name in names if f"`{name}`" not in text and f"`[{name}]`" not in text]
    usual = {name: getattr(Training(), name) for name in Training.__dataclass_fields__}
    for name, value in usual.items():
        (row,) = [
            line for line in text.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1]
        ][:1]
        shown = row.split("|")[2]
        assert value is None or f"{value:g}" in shown if not isinstance(value, str) else value in shown, name


def test_the_plans_of_the_document_are_valid(traces: Path) -> None:
    first, second = re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    plan = Plan.of(tomllib.loads(first))
    assert (plan.training.iterations, plan.validation.every, plan.test.instances) == (50, 5, 12)
    content = tomllib.loads("version = 1\n" + second)
    assert content["jobs"].pop("trace") == "../traces"
    small = {"jobs": content["jobs"] | {"trace": "traces"}}
    ranges = {"training": ([0, 60], 8), "validation": ([60, 80], 2), "test": ([80, 110], 2)}
    for name, (numbers, jobs) in ranges.items():
        assert len(content[name]["numbers"]) == 2
        small[name] = content[name] | {"numbers": numbers, "jobs": jobs}
    assert Plan.of(content | small, traces.parent).recorded
