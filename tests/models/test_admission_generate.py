"""Generated admission instances: the settings of the paper, fit, determinism, what changes what, origin."""

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import clairvoyant
from clairvoyant.models.admission import generate as module
from clairvoyant.models.admission.generate import SIZES, generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.jobs import CLASSES, Job
from clairvoyant.models.admission.machines import C4, P2_G3, sampled
from clairvoyant.models.base import InputError

DEFAULT = generate()


@cache
def many() -> AdmissionInstance:
    """Return enough jobs as they are drawn first to see the distributions."""
    return generate(horizon=100, jobs=3000, fit="any")


def all_but(instance: AdmissionInstance, *names: str) -> dict[str, Any]:
    return {key: value for key, value in instance.to_dict().items() if key not in (*names, "origin")}


def column(instance: AdmissionInstance, name: str) -> np.ndarray:
    return np.array([getattr(job, name) for job in instance.jobs])


# --- the paper's settings -----------------------------------------------------------------------------------


def test_the_sizes_are_what_they_say() -> None:
    sizes = {size: generate(size).facts() for size in SIZES}
    names = ("jobs", "slots", "worker machines", "parameter-server machines")
    assert {size: [facts[name] for name in names] for size, facts in sizes.items()} == {
        "tiny": [4, 5, 2, 2],
        "default": [10, 10, 5, 5],
        "large": [200, 300, 50, 50],
    }
    assert generate("tiny").works.max() <= 15


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("epochs", 50, 200),
        ("chunks", 5, 100),
        ("minibatches", 10, 100),
        ("minibatch_time", 0.001, 0.1),
        ("gradient_size", 8 * 30 / 3600, 8 * 575 / 3600),
        ("worker_bandwidth", 100, 5000),
        ("server_bandwidth", 5000, 20000),
        ("priority", 1, 100),
        ("target", 1, 15),
    ],
)
def test_jobs_are_uniform_over_the_ranges_of_the_paper(name: str, low: float, high: float) -> None:
    found = column(many(), name)
    step = 1 if name in ("epochs", "chunks", "minibatches") else 0
    assert found.min() >= low - 1e-4
    assert found.max() <= high + 1e-4
    assert stats.kstest(found, stats.uniform(low - step / 2, high - low + step).cdf).statistic < 0.035


def test_demands_are_uniform_and_hold_the_bandwidth() -> None:
    workers = np.array([job.worker_demand for job in many().jobs])
    servers = np.array([job.server_demand for job in many().jobs])
    for r, (low, high) in enumerate([(0, 4), (1, 10), (2, 32), (5, 10)]):
        for side, least in ((workers, low), (servers, low if r else 0)):
            most = high if r or side is workers else 0
            counts = np.unique(side[:, r], return_counts=True)
            assert counts[0].tolist() == list(range(least, most + 1))
            expected = len(many().jobs) / len(counts[0])
            assert np.abs(counts[1] - expected).max() <= 5 * math.sqrt(expected)
    assert workers[:, 4].tolist() == column(many(), "worker_bandwidth").tolist()
    assert servers[:, 4].tolist() == column(many(), "server_bandwidth").tolist()


def test_classes_have_the_shares_and_decays_of_the_paper() -> None:
    kinds = [job.kind for job in many().jobs]
    for kind, share in zip(CLASSES, (0.1, 0.55, 0.35), strict=True):
        assert kinds.count(kind) / 3000 == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 3000))
    for kind, low, high in (("sensitive", 0.01, 1.0), ("critical", 4.0, 6.0)):
        decays = [job.decay for job in many().jobs if job.kind == kind]
        assert stats.kstest(decays, stats.uniform(low, high - low).cdf).statistic < 0.05
    assert abs(np.corrcoef(column(many(), "priority"), column(many(), "epochs"))[0, 1]) < 5 / math.sqrt(3000)


def test_arrivals_follow_the_day_in_the_google_trace_and_leave_out_the_end() -> None:
    arrivals = column(many(), "arrival")
    assert (arrivals.min(), arrivals.max()) == (1, 90)
    weights = np.resize(module.HOURLY, 100)[:90]
    counts = np.bincount(arrivals - 1, minlength=90)
    assert stats.chisquare(counts, 3000 * weights / weights.sum()).pvalue > 1e-3
    assert stats.chisquare(counts).pvalue < 0.05  # so it is not the uniform one
    assert np.mean(module.HOURLY) == pytest.approx(1.0, abs=0.005)


def test_machines_are_published_types_with_bandwidth_of_the_paper() -> None:
    setting = generate(worker_machines=400, server_machines=400, jobs=0).setting
    assert setting.resources == ("GPU", "vCPU", "memory GB", "storage GB", "bandwidth Mbps")
    for machines, types in ((setting.worker_servers, P2_G3), (setting.parameter_servers, C4)):
        found, counts = np.unique(machines[:, :3], axis=0, return_counts=True)
        assert {tuple(row) for row in found.tolist()} == {tuple(map(float, t)) for t in types.values()}
        assert stats.chisquare(counts).pvalue > 1e-3
        assert set(machines[:, 3]) == {1000.0}
        assert set(machines[:, 4]) == {1000.0 * g for g in range(20, 51)}


def test_as_printed_no_worker_that_needs_a_gpu_can_run() -> None:
    swapped = generate("large", fit="any", swapped=True)
    assert (swapped.setting.worker_servers[:, 0] == 0).all()
    assert (swapped.setting.parameter_servers[:, 0] > 0).all()
    needy = {job.index for job in swapped.jobs if job.worker_demand[0] > 0}
    assert len(needy) > 100
    assert {swapped.never[i] for i in needy} == {"no machine holds a worker"}
    fitting = generate(swapped=True, jobs=3)
    assert not fitting.never
    assert not any(job.worker_demand[0] for job in fitting.jobs)


def test_gradients_are_in_mbps_times_slots() -> None:
    """Sending and receiving e MB over b Mbps takes 16 e / b seconds."""
    for job in DEFAULT.jobs:
        megabytes = job.gradient_size * 3600 / 8
        assert megabytes == pytest.approx(round(megabytes), abs=0.03)
        trip = float(job.chunk_time) / job.minibatches - job.minibatch_time
        assert trip == pytest.approx(16 * round(megabytes) / (3600 * job.worker_bandwidth), rel=2e-3)


# --- fit ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.sampled_from(["tiny", "default"]))
@settings(max_examples=12, deadline=None)
def test_feasible_jobs_can_finish(seed: int, size: str) -> None:
    instance = generate(size, seed)
    assert instance.never == {}
    for job in instance.jobs:
        assert job.work <= instance.setting.most_workers(job) * (instance.setting.horizon - job.arrival + 1)


def test_short_jobs_take_fifteen_slots_at_most() -> None:
    long, short = (generate(horizon=100, jobs=20, fit=fit) for fit in ("feasible", "short"))
    for instance, bounded in ((long, False), (short, True)):
        least = [-(-job.work // instance.setting.most_workers(job)) for job in instance.jobs]
        assert instance.never == {}
        assert (max(least) <= 15) == bounded


@pytest.mark.parametrize("longest", [1, 3, 15])
def test_short_jobs_take_no_more_slots_than_are_given(longest: int) -> None:
    made = generate("large", jobs=15, horizon=100, fit="short", longest=longest)
    slots = [-(-job.work // made.setting.most_workers(job)) for job in made.jobs]
    assert longest // 2 < max(slots) <= longest
    assert f"within {longest} slots" in "; ".join(made.origin.filled)
    assert (made == generate("large", jobs=15, horizon=100, fit="short")) is (longest == 15)


@pytest.mark.parametrize("swapped", [False, True])
def test_what_cannot_fit_is_left_out_before_it_is_a_job(
    swapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That changes no instance, and spares most of the work."""
    options: dict[str, Any] = {"jobs": 8, "horizon": 30, "worker_machines": 3, "swapped": swapped}
    made, read = list[Job](), Job.from_dict

    def counted(*given: Any) -> Job:
        made.append(read(*given))
        return made[-1]

    monkeypatch.setattr(Job, "from_dict", counted)
    drawn = generate("large", 3, **options)
    spared = len(made)
    monkeypatch.setattr(module, "_may_fit", lambda *_: True)
    assert generate("large", 3, **options) == drawn
    assert 8 <= spared < (len(made) - spared) / 2


def test_the_ranges_rarely_give_a_job_that_fits() -> None:
    assert len(generate(fit="any", jobs=500).never) >= 495
    share = len(generate("large", fit="any").never) / 200
    assert 0.5 < share < 0.9


@pytest.mark.parametrize("options", [{"worker_machines": 0}, {"server_machines": 0}])
def test_without_machines_no_job_fits_and_this_is_told(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^fit: 'feasible': without machines of both kinds no job can"):
        generate("tiny", **options)
    assert len(generate("tiny", fit="any", **options).never) == 4
    assert generate("tiny", jobs=0, **options).jobs == ()


def test_where_no_draw_fits_this_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DRAWS", 128)
    with pytest.raises(
        module.NoJobFitsError, match=r"^fit: 'short': none of 128 draws of a job that arrives in slot \d"
    ):
        generate(fit="short")


# --- determinism, and what changes what ---------------------------------------------------------------------


@given(st.sampled_from(["tiny", "default"]), st.integers(0, 2**53 - 2))
@settings(max_examples=10, deadline=None)
def test_equal_arguments_give_equal_instances(size: str, seed: int) -> None:
    one, two = (generate(size, seed) for _ in range(2))
    assert one == two
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    assert one != generate(size, seed + 1)


def test_a_saved_instance_is_the_generated_one(tmp_path: Path) -> None:
    for size in ("tiny", "default"):
        one = generate(size, 5)
        one.save(tmp_path / "instance.json.gz")
        again = AdmissionInstance.load(tmp_path / "instance.json.gz")
        assert again == one
        assert again.origin == one.origin


def test_the_front_door_is_the_function() -> None:
    assert clairvoyant.generate("admission", "tiny", 3, jobs=6) == generate("tiny", 3, jobs=6)


@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(0, 12))
@settings(max_examples=15, deadline=None)
def test_more_jobs_leave_the_others_as_they_are(seed: int, one: int, other: int) -> None:
    few, many = (generate("tiny", seed, jobs=n) for n in sorted((one, other)))
    assert all_but(few, "jobs") == all_but(many, "jobs")
    left = [json.dumps(job.to_dict()) for job in many.jobs]
    for job in few.jobs:
        left.remove(json.dumps(job.to_dict()))
    assert len(left) == abs(one - other)


@given(st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_priorities_and_classes_change_nothing_else(seed: int) -> None:
    one = generate("tiny", seed)
    other = generate("tiny", seed, priority=(500, 500), classes=(0, 0, 1))
    for job, same in zip(one.to_dict()["jobs"], other.to_dict()["jobs"], strict=True):
        assert {**job, "utility": None} == {**same, "utility": None}
        assert same["utility"]["priority"] == 500
        assert same["utility"]["target"] == job["utility"]["target"]
    assert {job.kind for job in other.jobs} == {"critical"}
    assert {job.kind for job in generate("tiny", seed, classes=[1, 0, 0]).jobs} == {"insensitive"}


def test_more_machines_only_add_machines() -> None:
    few, many = (generate(worker_machines=n, server_machines=2 * n, fit="any").setting for n in (3, 8))
    assert many.worker_servers[:3].tolist() == few.worker_servers.tolist()
    assert many.parameter_servers[:6].tolist() == few.parameter_servers.tolist()
    rng = np.random.default_rng
    assert sampled(rng(1), C4, 9)[:4].tolist() == sampled(rng(1), C4, 4).tolist()


def test_fit_keeps_arrivals_and_utilities_and_the_jobs_that_fit() -> None:
    first, kept = generate("large", fit="any"), generate("large")
    for one, other in zip(first.jobs, kept.jobs, strict=True):
        assert (one.arrival, one.priority, one.decay, one.target) == (
            *(other.arrival, other.priority, other.decay),
            other.target,
        )
        same = json.dumps(one.to_dict()) == json.dumps(other.to_dict())
        assert same == (one.index not in first.never)


def test_extreme_options_are_valid(tmp_path: Path) -> None:
    for options in (
        {"jobs": 0},
        {"horizon": 1, "jobs": 2},
        {"jobs": 0, "worker_machines": 0, "server_machines": 0},
        {"worker_machines": 1, "server_machines": 1, "fit": "any"},
        {"classes": [0, 0, 1]},
        {"priority": (3, 3)},
    ):
        one = generate("tiny", 1, **options)
        one.save(tmp_path / "instance.json")
        assert AdmissionInstance.load(tmp_path / "instance.json") == one


# --- the testbed --------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32))
@settings(max_examples=8, deadline=None)
def test_the_testbed_is_that_of_the_paper(seed: int) -> None:
    instance = module.testbed(seed)
    s = instance.setting
    assert (len(instance.jobs), s.horizon) == (12, 10)
    assert s.worker_servers[:, :4].tolist() == [[1, 32, 80, 600]] * 4 + [[0, 32, 80, 600]] * 3
    assert s.parameter_servers[:, :4].tolist() == [[0, 8, 32, 1500]] * 2
    assert instance.never == {}
    for job in instance.jobs:
        assert 1 <= job.arrival <= 9
        assert 4 <= job.epochs <= 30
        assert (job.chunks, job.minibatches) in ((10, 2), (7, 3))
        assert 2 <= -(-job.work // s.most_workers(job)) <= 6
        for demand, least in ((job.worker_demand, 0), (job.server_demand, 0)):
            assert ((demand >= [least, 1, 2, 0, 1000]) & (demand <= [1, 5, 10, 0, 3000])).all()
        assert job.worker_bandwidth <= job.server_bandwidth
    assert instance == module.testbed(seed)
    assert "minibatch_time: such that the job alone runs for 2 to 6 slots" in "; ".join(
        instance.origin.filled
    )


def test_a_testbed_of_several_times_the_size_has_as_many_machines_and_jobs() -> None:
    one, three = module.testbed(1), module.testbed(1, 3)
    assert one == module.testbed(1, 1)
    assert len(three.jobs) == 3 * len(one.jobs)
    for side in ("worker_servers", "parameter_servers"):
        found = [getattr(i.setting, side).sum(axis=0).tolist() for i in (one, three)]
        assert found[1] == [3 * amount for amount in found[0]]
    with pytest.raises(InputError, match=r"^times: 0 is not"):
        module.testbed(1, 0)


def test_testbeds_of_different_seeds_differ() -> None:
    assert len({module.testbed(seed).digest() for seed in range(20)}) == 20


# --- origin and bad arguments -------------------------------------------------------------------------------


def test_origin_says_what_is_real_and_what_is_drawn() -> None:
    assert DEFAULT.origin.source == "synthetic (default, seed 0)"
    real, filled = "; ".join(DEFAULT.origin.real), "; ".join(DEFAULT.origin.filled)
    for part in ("of EC2 P2 and G3", "of EC2 C4", "Google trace"):
        assert part in real
    for part in (
        "storage",
        "20 to 50 Gbps",
        "arrivals: 10 jobs",
        "E 50 to 200",
        "demands",
        "utility",
        "35 %",
    ):
        assert part in filled
    kept = re.search(r"fit feasible: .*; 10 of ([\d,]+) draws were kept", filled)
    assert kept is not None
    assert int(kept[1].replace(",", "")) > 1000
    assert "draws were kept" not in str(generate("tiny", fit="any").origin)
    assert "E 1 to 3, N 1 to 4" in str(generate("tiny").origin)
    swapped = "; ".join(generate("tiny", fit="any", swapped=True).origin.real)
    assert "machines for workers: GPU, vCPU and memory of EC2 C4" in swapped


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "size: 'huge' is not one of tiny, default, large"),
        ({"seed": -1}, "seed: -1 is not a whole number of at least 0"),
        ({"jobs": -1}, "jobs: -1 is not a whole number of at least 0"),
        ({"jobs": 2.5}, r"jobs: 2\.5 is not a whole number"),
        ({"horizon": 0}, "horizon: 0 is not a whole number of at least 1"),
        ({"horizon": 10**6}, "horizon: 1000000 is not a whole number of at least 1 and at most 10000"),
        ({"worker_machines": -1}, "worker_machines: -1 is not a whole number"),
        ({"server_machines": True}, "server_machines: True is not a whole number"),
        ({"fit": "tight"}, "fit: 'tight' is not one of feasible, short, any"),
        ({"longest": 0}, "longest: 0 is not a whole number"),
        ({"priority": 3}, r"priority: 3 is not a pair \(smallest, largest\)"),
        ({"priority": (2, 1)}, r"priority: \(2, 1\) does not increase"),
        ({"priority": (0, 1)}, r"priority\[0\]: 0 is not at least 0\.01"),
        ({"priority": (1, math.inf)}, r"priority\[1\]: inf is not a finite number"),
        ({"classes": 3}, "classes: 3 is not a list of three shares"),
        ({"classes": [0.5, 0.5]}, r"classes: \[0\.5, 0\.5\] is not a list of three shares"),
        ({"classes": [0.5, 0.6, 0]}, r"classes: \[0\.5, 0\.6, 0\] does not add up to 1"),
        ({"classes": [1.5, -0.5, 0]}, r"classes\[0\]: 1\.5 is not at least 0 and at most 1"),
        ({"swapped": 1}, "swapped: 1 is neither true nor false"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        generate(**({"size": "tiny"} | options))


def test_a_bad_seed_of_the_testbed_is_named() -> None:
    with pytest.raises(InputError, match=r"^seed: -1 is not a whole number"):
        module.testbed(-1)
