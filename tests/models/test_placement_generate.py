"""Generated placement instances: the published facts, the load, determinism, what changes what, origin."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import clairvoyant
from clairvoyant.models.base import InputError
from clairvoyant.models.placement import generate as module
from clairvoyant.models.placement.generate import CLUSTERS, SIZES, generate
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.slowdown import Slowdown

DEFAULT = generate()


@cache
def many() -> PlacementInstance:
    """Return enough jobs to see the distributions."""
    return generate("large", jobs=10_000)


def jobs_of(instance: PlacementInstance) -> list[dict[str, Any]]:
    """Return the jobs without their submissions."""
    return [{**job, "submit": 0} for job in instance.to_dict()["jobs"]]


# --- sizes --------------------------------------------------------------------------------------------------


def test_the_sizes_are_what_they_say() -> None:
    sizes = {size: generate(size).facts() for size in SIZES}
    assert {
        size: [facts[name] for name in ("jobs", "machines", "GPUs")] for size, facts in sizes.items()
    } == {
        "tiny": [6, 2, 8],
        "default": [400, 8, 64],
        "large": [4000, 8, 64],
    }
    assert DEFAULT.setting.capacity.tolist() == [[8, 96_000, 512_000]] * 8
    assert generate("tiny").setting.capacity.tolist() == [[4, 48_000, 256_000]] * 2
    assert DEFAULT.setting.slowdown == Slowdown(1.0, 0.5)
    assert (DEFAULT.setting.price, DEFAULT.setting.gpu_weight, DEFAULT.setting.window) == (2.84, 0.0, 64)


@pytest.mark.parametrize("seed", range(8))
def test_on_tiny_instances_jobs_are_in_each_others_way(seed: int) -> None:
    instance = generate("tiny", seed)
    submit, duration = instance.jobs.submit, instance.jobs.duration
    running = (submit <= submit[:, None]) & (submit[:, None] < submit + duration)
    assert (running @ instance.jobs.gpus).max() > 8  # if all of them could start at once
    assert instance.jobs.instances.max() <= 6


# --- the facts of the traces --------------------------------------------------------------------------------


def sampled(batches: int = 60) -> np.ndarray:
    """Return rows (duration, instances, GPUs, cores, GB) as they are drawn, whether they fit or not."""
    rng = np.random.default_rng(5)
    return np.concatenate([module._candidates(rng, SIZES["large"]) for _ in range(batches)])


DRAWN = sampled()


@pytest.mark.parametrize(
    ("size", "share"),
    [(1, 0.7696), (2, 0.03157), (8, 0.01297), (10, 0.0363), (20, 0.02223), (50, 0.01293), (100, 0.0045)],
)
def test_gang_sizes_have_the_shares_of_the_tasks(size: int, share: float) -> None:
    found = (DRAWN[:, 1] == size).sum()
    assert stats.binomtest(int(found), len(DRAWN), share).pvalue > 1e-4


@pytest.mark.parametrize(("size", "share"), [(8, 0.1377), (32, 0.03463), (64, 0.009033)])
def test_large_gangs_are_as_frequent_as_among_the_tasks(size: int, share: float) -> None:
    assert stats.binomtest(int((DRAWN[:, 1] > size).sum()), len(DRAWN), share).pvalue > 1e-4
    assert DRAWN[:, 1].max() <= 400
    assert DRAWN[:, 1].mean() == pytest.approx(5.15, abs=0.4)


def test_durations_are_lognormal_and_correlated_with_gangs() -> None:
    logs = np.log10(DRAWN[:, 0])
    assert logs.mean() == pytest.approx(2.86, abs=0.02)
    assert logs.std() == pytest.approx(0.93, abs=0.03)
    assert DRAWN[:, 0].min() == 5.0
    assert DRAWN[:, 0].max() == 172_800.0
    assert stats.spearmanr(DRAWN[:, 0], DRAWN[:, 1]).statistic == pytest.approx(0.18, abs=0.02)
    medians = [
        np.median(DRAWN[(low <= DRAWN[:, 1]) & (DRAWN[:, 1] <= high), 0])
        for low, high in ((1, 1), (2, 8), (9, 32), (33, 400))
    ]
    assert medians == sorted(medians)
    # of the tasks: 445, 747, 1647, 2308 s
    assert (np.array(medians) < 1.7 * np.array([445, 747, 1647, 2308])).all()
    assert (np.array(medians) > np.array([445, 747, 1647, 2308]) / 1.7).all()


def test_instances_have_gpus_cores_and_memory_like_pods() -> None:
    gpus, cores, memory = DRAWN[:, 2], DRAWN[:, 3], DRAWN[:, 4]
    for count, share in module.GPUS.items():
        assert stats.binomtest(int((gpus == count).sum()), len(gpus), share).pvalue > 1e-4
    # One GPU: a part of one (4 cores, 14.9 GB) or a whole one (11.4, 47), 44 % and 56 %.
    medians = {1: ((4, 14.9), (11.4, 47)), 2: ((16.2, 65),) * 2, 8: ((70, 270), (88, 320))}
    for count, (low, high) in medians.items():
        mine = gpus == count
        assert low[0] * 0.98 <= np.median(cores[mine]) <= high[0] * 1.02
        assert low[1] * 0.98 <= np.median(memory[mine]) <= high[1] * 1.02
    joint = np.corrcoef(np.log(cores), np.log(memory))[0, 1]
    assert joint == pytest.approx(0.88, abs=0.03)


def relative_variance(times: np.ndarray, seconds: float, span: float) -> float:
    """Return (Fano factor - 1) / mean count of the counts in bins of so many seconds, over four offsets."""
    found = []
    for offset in np.arange(4) * seconds / 4:
        counts = np.bincount(((times + offset) // seconds).astype(np.int64))[1 : int(span // seconds)]
        found.append((counts.var() / counts.mean() - 1.0) / counts.mean())
    return float(np.mean(found))


def test_arrivals_follow_the_hour_of_the_day_and_are_as_bursty_as_those_of_the_tasks() -> None:
    days = 60
    runs = [np.array(module.draw_submissions(s, 100_000, days * 86_400.0)) for s in range(4)]
    for times in runs:
        assert (np.diff(times) >= 0).all()
        assert times[-1] == days * 86_400.0
        hours = np.bincount((times // 3600).astype(np.int64) % 24, minlength=24) / len(times) * 24
        assert np.corrcoef(hours, module.HOURLY)[0, 1] > 0.9
    short, long = (np.mean([relative_variance(t, s, days * 86_400.0) for t in runs]) for s in (300.0, 3600.0))
    assert short == pytest.approx((2.561 - 1) / 3.085, abs=0.05)  # Poisson: 0
    assert long == pytest.approx((6.652 - 1) / 37.01, abs=0.03)


def test_intensities_are_uniform_hundredths() -> None:
    hundredths = many().jobs.intensity / 10
    assert (hundredths == np.round(hundredths)).all()
    assert stats.kstest(hundredths / 100, "uniform").statistic < 0.02


def test_every_job_fits_on_the_small_cluster_and_few_are_drawn_again() -> None:
    assert (many().fewest <= 8).all()
    assert many().jobs.instances.max() <= 64
    (again,) = (text for text in many().origin.filled if "drawn again" in text)
    count, total = (int(word.replace(",", "")) for word in again.split()[:3:2])
    assert total == 10_000 + count
    assert 0.009 < count / total < 0.05  # over 64 instances: 0.9 %; and those with much per instance


# --- the load -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rho", [None, 0.05, 0.8, 3.0])
def test_the_load_is_that_of_the_reference_cluster(size: str, rho: float | None) -> None:
    instance = generate(size, 2, rho=rho)
    assert instance.offered_load == pytest.approx(SIZES[size].rho if rho is None else rho, rel=1e-5)


def test_the_clusters_have_the_same_jobs_and_the_loads_of_the_paper() -> None:
    instances = {name: generate("large", 4, jobs=500, cluster=name) for name in CLUSTERS}
    small, medium, large = instances.values()
    assert small.to_dict()["jobs"] == medium.to_dict()["jobs"] == large.to_dict()["jobs"]
    assert [len(instance.setting.capacity) for instance in instances.values()] == [8, 16, 32]
    loads = [instance.offered_load for instance in instances.values()]
    assert loads == pytest.approx([0.8, 0.4, 0.2], rel=1e-6)
    assert small == generate("large", 4, jobs=500) == generate("large", 4, jobs=500, machines=8)


def test_on_fewer_machines_the_jobs_fit_there() -> None:
    instance = generate("default", 1, machines=2)
    assert (instance.fewest <= 2).all()
    assert instance.offered_load == pytest.approx(0.8 * 4, rel=1e-6)  # rho is that of 8 machines


def test_the_paper_s_month_and_a_half() -> None:
    """4,000 jobs at a load of 0.8 on 64 GPUs take weeks, as the paper's fee implies, not a day."""
    days = [generate("large", seed).facts()["hours of submissions"] / 24 for seed in range(3)]
    assert all(20 < d < 60 for d in days)


# --- determinism --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_the_same_seed_gives_the_same_bytes(size: str, tmp_path: Path) -> None:
    for i, seed in enumerate((3, 3, 4)):
        generate(size, seed).save(tmp_path / str(i))
    one, two, other = ((tmp_path / str(i)).read_bytes() for i in range(3))
    assert one == two
    assert one != other


KNOWN_SUMS = {
    "tiny": [2605119, 5554650, 12, 2380],
    "default": [40669212189, 2378446953, 1613, 206500],
    "large": [5466223024502, 21629338110, 16942, 2052690],
}
"""Of submission times and durations (ms), GPUs and intensities, with the seed 1."""


def test_the_draws_do_not_change_between_releases() -> None:
    """Up to the last digits, which exp and log of another processor may change."""
    sums = {}
    for size in SIZES:
        jobs = generate(size, 1).jobs
        sums[size] = [int(x.sum()) for x in (jobs.submit, jobs.duration, jobs.gpus, jobs.intensity)]
    assert sums == {size: pytest.approx(known, rel=1e-6) for size, known in KNOWN_SUMS.items()}


def test_more_jobs_leave_the_others_as_they_are() -> None:
    few, more = generate(seed=2, jobs=10), generate(seed=2, jobs=3000)
    assert jobs_of(more)[:10] == jobs_of(few)


@pytest.mark.parametrize(
    "options",
    [
        {"rho": 0.3},
        {"machines": 12},
        {"cluster": "large"},
        {"communication": 0, "contention": 2},
        {"gpu_weight": 0.5, "window": 7, "price": 1},
    ],
    ids=str,
)
def test_nothing_else_changes_the_jobs(options: dict[str, Any]) -> None:
    assert jobs_of(generate(seed=1, **options)) == jobs_of(generate(seed=1))
    changed = generate(seed=1, **options).to_dict()["jobs"] != generate(seed=1).to_dict()["jobs"]
    assert changed == ("rho" in options)


def test_every_quantity_has_a_stream_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = generate(seed=1).to_dict()["jobs"]
    monkeypatch.setattr(module, "draw_intensities", lambda _seed, count: [0.5] * count)
    after = generate(seed=1).to_dict()["jobs"]
    assert [{**job, "intensity": 0} for job in after] == [{**job, "intensity": 0} for job in before]
    assert after != before


# --- estimates ----------------------------------------------------------------------------------------------


def estimates_of(instance: PlacementInstance) -> np.ndarray:
    """Return the estimates in ticks."""
    assert instance.jobs.estimate is not None
    return instance.jobs.estimate


def without_estimates(instance: PlacementInstance) -> list[dict[str, Any]]:
    return [{k: v for k, v in job.items() if k != "estimate"} for job in instance.to_dict()["jobs"]]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("sigma", [0, 0.5, 10])
def test_estimates_leave_the_jobs_exactly_as_they_are(size: str, sigma: float) -> None:
    plain, estimated = generate(size, 1), generate(size, 1, estimate_error=sigma)
    assert plain.jobs.estimate is None
    assert without_estimates(estimated) == plain.to_dict()["jobs"]
    assert estimated.digest() != plain.digest()
    others = [[t for t in one.origin.filled if "estimates:" not in t] for one in (plain, estimated)]
    assert others[0] == others[1]


def test_who_never_errs_knows_the_durations() -> None:
    for seed in range(3):
        instance = generate(seed=seed, estimate_error=0)
        assert estimates_of(instance).tolist() == instance.jobs.duration.tolist()
    assert "estimates: the duration times a lognormal error of sigma 0" in instance.origin.filled


def test_the_logarithm_of_the_error_is_normal_with_the_deviation_asked_for() -> None:
    z = {}
    for sigma in (0.5, 1.5):
        instance = generate("large", 3, jobs=10_000, estimate_error=sigma)
        z[sigma] = np.log(estimates_of(instance) / instance.jobs.duration) / sigma
        assert stats.kstest(z[sigma], "norm").pvalue > 1e-3
        assert abs(stats.spearmanr(z[sigma], instance.jobs.duration).statistic) < 0.04
        assert f"estimates: the duration times a lognormal error of sigma {sigma}" in instance.origin.filled
    assert z[0.5] == pytest.approx(z[1.5], abs=0.01)  # the same users, who err by more; rounded to ticks


def test_estimates_are_at_least_a_tick_and_no_longer_than_a_duration_may_be() -> None:
    found = estimates_of(generate("large", estimate_error=10))
    assert found.min() == 1
    assert found.max() == 10**11


def test_the_clusters_have_the_same_estimates_and_more_jobs_leave_the_others_theirs() -> None:
    def found(**options: Any) -> list[int]:
        result: list[int] = estimates_of(generate(seed=4, estimate_error=0.7, **options)).tolist()
        return result

    assert found() == found(cluster="medium") == found(cluster="large") == found(machines=12)
    assert found() == found(rho=2, contention=0, window=3)
    assert found(jobs=50) == found()[:50]
    assert generate(jobs=0, estimate_error=1).jobs.estimate is None


@given(seed=st.integers(0, 2**53 - 1), size=st.sampled_from(["tiny", "default"]), count=st.integers(0, 30))
@settings(max_examples=20)
def test_every_seed_gives_a_valid_instance(seed: int, size: str, count: int) -> None:
    instance = generate(size, seed, jobs=count)
    assert len(instance.jobs) == count
    again = PlacementInstance.from_dict(json.loads(json.dumps(instance.to_dict())))
    assert again == instance
    assert again.origin == instance.origin
    assert count == 0 or instance.offered_load == pytest.approx(SIZES[size].rho, rel=1e-3)


def test_the_front_door_is_the_function() -> None:
    wanted = generate("tiny", 3, rho=1.0)
    assert clairvoyant.generate("placement", size="tiny", seed=3, rho=1.0) == wanted


# --- origin and bad arguments -------------------------------------------------------------------------------


def test_the_origin_says_that_it_is_synthetic_and_from_what() -> None:
    for size, seed in (("default", 0), ("tiny", 7)):
        origin = generate(size, seed).origin
        assert origin.source == f"synthetic ({size}, seed {seed})"
        filled = "; ".join(origin.filled)
        for part in ("gang sizes", "durations", "GPUs of an instance", "cores and memory", "arrivals"):
            assert part in filled
        for part in ("intensity: uniform", "slowdown", f"load on {SIZES[size].machines} machines is"):
            assert part in filled
    assert "gang sizes: made up" in filled
    assert "half a V100 machine" in filled
    assert origin.real == ()
    assert DEFAULT.origin.real == ("machines: GPUs, cores and memory of a V100 machine of PAI (2020)",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "size: 'huge' is not one of tiny, default, large"),
        ({"seed": -1}, "seed: -1 is not a whole number of at least 0"),
        ({"seed": 1.5}, r"seed: 1\.5 is not a whole number"),
        ({"jobs": -1}, "jobs: -1 is not a whole number of at least 0"),
        ({"machines": 0}, "machines: 0 is not a whole number of at least 1"),
        ({"machines": "8"}, "machines: '8' is not a whole number"),
        ({"cluster": "tiny"}, "cluster: 'tiny' is not one of small, medium, large"),
        ({"cluster": "small", "machines": 8}, "cluster: 'small' and machines 8 cannot both be given"),
        ({"cluster": "small", "size": "tiny"}, "cluster: 'small' is not for tiny instances"),
        ({"rho": 0}, "rho: 0.* is so small"),
        ({"rho": -0.5}, r"rho: -0\.5 is not at least 0"),
        ({"rho": 1e-9}, r"rho: 1e-09 is so small that jobs are submitted later than 1e\+08 s"),
        ({"rho": float("nan")}, "rho: nan is not a finite number"),
        ({"communication": -1}, r"slowdown\.communication: -1 is not at least 0"),
        ({"estimate_error": -0.5}, r"estimate_error: -0\.5 is not at least 0 and at most 10"),
        ({"estimate_error": 11}, "estimate_error: 11 is not at least 0 and at most 10"),
        ({"estimate_error": float("inf")}, "estimate_error: inf is not a finite number"),
        ({"estimate_error": "much"}, "estimate_error: 'much' is not a finite number"),
        ({"contention": 10.5}, r"slowdown\.contention: 10\.5 is not at least 0 and at most 10"),
        ({"gpu_weight": -1}, "gpu_weight: -1 is not"),
        ({"window": 0}, "window: 0 is not"),
        ({"price": -1}, "price: -1 is not"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        generate(**{"size": "default", **options})


def test_a_job_that_never_fits_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DRAWS", 3000)
    never = module.Size(1, 1, {"gpus": 0, "cpus": 9.0, "memory": 9.0}, None, module.LOG_DURATION, 1.0)
    with pytest.raises(InputError, match=r"^machines: none of 3,000 draws of a job fits on 1$"):
        module.draw_jobs(0, 1, never, 1)
    assert module.draw_jobs(0, 0, never, 1) == ([], 0)
