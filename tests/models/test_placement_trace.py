"""Placement instances from trace files, on a made-up folder and on the real one where it is at hand."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clairvoyant
from clairvoyant.models import sources
from clairvoyant.models.base import InputError
from clairvoyant.models.placement.generate import CLUSTERS
from clairvoyant.models.placement.instance import PlacementInstance
from clairvoyant.models.placement.trace import from_trace

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("CLAIRVOYANT_TRACES", ROOT.parent / "shared" / "traces"))

PAI = "alibaba-gpu-v2020/alibaba_trace_sub.head30000.csv.gz"
PHILLY = "philly/philly.csv.gz"
PODS = "alibaba-gpu-v2023/openb_pod_list_gpuspec33.csv.gz"
FILES = {"pai-2020": PAI, "philly": PHILLY, "gpu-2023": PODS}

POD_COLUMNS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    "scheduled_time"
)


def pod(cpus: int, memory: int, gpus: int, times: tuple[int, int, int | str], phase: str = "Failed") -> str:
    """Return a pod's line; cores, GB, and when it is created, deleted and started."""
    create, delete, start = times
    return f"p,{1000 * cpus},{1024 * memory},{gpus},1000,,LS,{phase},{create},{delete},{start}"


def made_up() -> dict[str, list[str]]:
    """Return the lines of a miniature folder in the format of the real one; every number is invented."""
    gangs = [1, 1, 2, 1, 8, 65, 1, 16, 64, 3]
    return {
        PAI: [
            "job_id,arrival_s,service_sec,gpu_count",
            *(f"ali-{i},{100.0 + 50 * i},{30.0 + i},{gangs[i % 10]}" for i in range(600)),
        ],
        # the latest first, as in no order; and a blank line at the end
        PHILLY: [
            "timestamp,duration,num_gpus,gpu_time,cluster",
            *(
                f"2017-10-{9 - i // 60:02d} 07:{59 - i % 60:02d}:30,{60.0 + i},{(1, 1, 4, 128)[i % 4]},1.0,c"
                for i in range(480)
            ),
            "",
        ],
        PODS: [
            POD_COLUMNS,
            *(
                pod(2 + i % 11, 8 + i % 7, 1, (1000 + 10 * i, 5000 + 20 * i, 1003 + 10 * i))
                for i in range(420)
            ),
            *(pod(9, 30, 0, (20_000 + i, 30_000, 20_000 + i)) for i in range(30)),
            *(pod(16 * g, 32 * g, g, (40_000, 50_000, 40_500)) for g in (2, 4)),
            pod(88, 300, 8, (60_000, 61_000, 60_000)),
            *[pod(97, 1, 0, (60_001, 61_000, 60_500))] * 2,  # too large
            *[pod(1, 1, 1, (60_002, 61_000, ""), "Pending")] * 3,  # never started
            pod(1, 1, 1, (60_003, 61_000, 61_000)),  # takes no time
            pod(1, 1, 1, (60_004, 99_000, 60_005), "Running"),  # runs until the end
            pod(1, 1, 1, (60_005, 99_000, 60_006), "Succeeded"),
        ],
    }


def write(folder: Path, name: str, lines: list[str]) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join([*lines, ""]).encode()
    path.write_bytes(gzip.compress(text, mtime=0))


def changed(folder: Path, name: str, lines: list[str]) -> Path:
    """Write the miniature folder with one file changed."""
    for other, usual in made_up().items():
        write(folder, other, lines if other == name else usual)
    return folder


@pytest.fixture(scope="module")
def miniature(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    return changed(folder, "", [])


@pytest.fixture(scope="module")
def shortened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 2,000 rows of each of the real files, to be read quickly."""
    folder = tmp_path_factory.mktemp("real")
    for name in FILES.values():
        with gzip.open(REAL / name, "rt", encoding="utf-8") as file:
            write(folder, name, [line.rstrip("\n") for _, line in zip(range(2001), file, strict=False)])
    return folder


@pytest.fixture(params=["miniature", "shortened"] if REAL.is_dir() else ["miniature"])
def folder(request: pytest.FixtureRequest) -> Path:
    """Return each folder of traces at hand: what is asserted of one holds of the other."""
    found: Path = request.getfixturevalue(request.param)
    return found


FIT = {
    "miniature": {"pai-2020": 540, "philly": 360, "gpu-2023": 454},
    "real": {"pai-2020": 29_729, "philly": 82_244, "gpu-2023": 7216},
}
"""Jobs of the whole files that fit on the Small cluster."""


@pytest.mark.parametrize("which", FIT if REAL.is_dir() else ["miniature"])
@pytest.mark.parametrize("source", FILES)
def test_the_whole_files_are_read(which: str, source: str, miniature: Path) -> None:
    fit = FIT[which][source]
    with pytest.raises(InputError, match=rf"^jobs: 9 .* are more than the {fit} of {source} that fit"):
        from_trace(REAL if which == "real" else miniature, source=source, jobs=9, first=fit - 8)


# --- instances from any folder ------------------------------------------------------------------------------


@pytest.mark.parametrize("source", FILES)
@pytest.mark.parametrize(
    "options",
    [{}, {"size": "tiny"}, {"jobs": 50, "first": 70, "rho": 0.6}, {"jobs": 0}, {"cluster": "large"}],
    ids=str,
)
def test_traces_give_valid_instances(
    source: str, options: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    instance = from_trace(folder, source=source, **{"jobs": 200, **options})
    count = options.get("jobs", 200)
    assert len(instance.jobs) == count
    machines = 2 if "size" in options else CLUSTERS[options.get("cluster", "small")]
    assert len(instance.setting.capacity) == machines
    assert (instance.fewest <= machines).all()
    assert instance.jobs.submit.min(initial=0) == 0
    if "rho" in options:
        assert instance.offered_load == pytest.approx(options["rho"], rel=1e-4)
    instance.save(tmp_path / "instance.json")
    again = PlacementInstance.load(tmp_path / "instance.json")
    assert again == instance
    assert again.origin == instance.origin

    real, filled = "; ".join(instance.origin.real), "; ".join(instance.origin.filled)
    first = options.get("first", 0)
    which = f"jobs {first} to {first + count - 1}" if count else "no jobs"
    assert instance.origin.source == f"trace ({source}, {which}, seed 0)"
    assert f"of {FILES[source]}" in real
    assert "order, submission" in real
    assert ("cores and memory" in real.partition("jobs:")[2]) == (source == "gpu-2023")
    assert (PODS in filled) == (source != "gpu-2023")
    assert ("submissions: times" in filled) == ("rho" in options)
    for part in ("GPUs", "intensity: uniform", "slowdown"):
        assert part in filled


@pytest.mark.parametrize("source", FILES)
def test_what_is_real_is_that_of_the_file(source: str, folder: Path) -> None:
    found = sources.job_list(folder, source)
    assert (np.diff(found.submit) >= 0).all()
    assert (found.duration > 0).all()
    instance = from_trace(folder, source=source, jobs=300)
    jobs = instance.jobs
    fits = found.gpus <= 64
    if found.requests is not None:
        fits &= (found.requests <= [96, 512]).all(axis=1)
    mine = np.flatnonzero(fits)[:300]
    assert jobs.gpus.tolist() == found.gpus[mine].tolist()
    assert jobs.duration.tolist() == np.round(1000 * found.duration[mine]).tolist()
    since = found.submit[mine] - found.submit[mine[0]]
    assert jobs.submit.tolist() == np.round(1000 * since).tolist()
    if found.requests is not None:
        assert (jobs.need[:, 1:] / 1000).tolist() == found.requests[mine].tolist()
        assert set(jobs.instances.tolist()) == {1}


@pytest.mark.parametrize("source", ["pai-2020", "philly"])
def test_cores_and_memory_are_those_of_a_pod_with_as_many_gpus(source: str, folder: Path) -> None:
    pods = sources.pod_shapes(folder)
    instance = from_trace(folder, source=source, jobs=300)
    for gpus, cores, memory in np.unique(instance.jobs.need, axis=0).tolist():
        assert [cores / 1000, memory / 1000] in pods[gpus].tolist()
    if source == "philly":
        assert set(instance.jobs.need[:, 0]) == {1}
    else:
        assert set(instance.jobs.need[:, 0]) <= {1, 2, 4, 8}
        assert (instance.jobs.need[:, 0] == 1).mean() > 0.8


def test_segments_of_the_same_seed_share_no_job(folder: Path) -> None:
    whole = from_trace(folder, jobs=400, seed=2).to_dict()["jobs"]
    start = [0]
    for first in (0, 100, 200, 300):
        part = from_trace(folder, jobs=100, first=first, seed=2).to_dict()["jobs"]
        of_whole = whole[first : first + 100]
        assert [{**job, "submit": 0} for job in part] == [{**job, "submit": 0} for job in of_whole]
        times = [round(job["submit"] - of_whole[0]["submit"], 3) for job in of_whole]
        assert [job["submit"] for job in part] == times
        start.append(times[-1])
    assert max(start) > 0


def test_the_clusters_have_the_same_jobs(folder: Path) -> None:
    jobs = [from_trace(folder, jobs=100, cluster=name, rho=0.8).to_dict()["jobs"] for name in CLUSTERS]
    assert jobs[0] == jobs[1] == jobs[2]
    loads = [from_trace(folder, jobs=100, cluster=name, rho=0.8).offered_load for name in CLUSTERS]
    assert loads == pytest.approx([0.8, 0.4, 0.2], rel=1e-4)


def test_estimates_are_drawn_beside_the_jobs_and_belong_to_them(folder: Path) -> None:
    plain, sure, unsure = (from_trace(folder, jobs=100, seed=2, estimate_error=e) for e in (None, 0, 0.8))
    for instance in (sure, unsure):
        jobs = [{k: v for k, v in job.items() if k != "estimate"} for job in instance.to_dict()["jobs"]]
        assert jobs == plain.to_dict()["jobs"]
    assert plain.jobs.estimate is None
    assert not any("estimates" in text for text in plain.origin.filled)
    assert sure.jobs.estimate is not None
    assert sure.jobs.estimate.tolist() == sure.jobs.duration.tolist()
    assert unsure.jobs.estimate is not None
    errors = np.log(unsure.jobs.estimate / unsure.jobs.duration)
    assert 0.5 < errors.std() < 1.1
    assert "estimates: the duration times a lognormal error of sigma 0.8" in unsure.origin.filled
    part = from_trace(folder, jobs=30, first=50, seed=2, estimate_error=0.8, cluster="large")
    assert part.jobs.estimate is not None
    assert part.jobs.estimate.tolist() == unsure.jobs.estimate[50:80].tolist()


def test_the_load_scales_the_time_axis(folder: Path) -> None:
    recorded, scaled = (from_trace(folder, jobs=100, rho=rho) for rho in (None, 0.5))
    times, wanted = (instance.jobs.submit / 1000 for instance in (scaled, recorded))
    factor = times[-1] / wanted[-1]
    assert times == pytest.approx(wanted * factor, abs=0.002)
    (told,) = (text for text in scaled.origin.filled if text.startswith("submissions: times"))
    assert float(told.split()[2].rstrip(",")) == pytest.approx(factor, rel=1e-3)
    assert told.endswith("such that the load on 8 machines is 0.5")


@pytest.mark.parametrize("source", FILES)
def test_a_trace_instance_is_decided_by_its_seed(source: str, folder: Path, tmp_path: Path) -> None:
    for i, seed in enumerate((4, 4, 5)):
        from_trace(folder, source=source, jobs=60, seed=seed).save(tmp_path / str(i))
    one, two, other = ((tmp_path / str(i)).read_bytes() for i in range(3))
    assert one == two
    assert one != other


def test_the_front_door_is_the_function(folder: Path) -> None:
    assert clairvoyant.from_trace("placement", folder, size="tiny") == from_trace(folder, size="tiny")


# --- the made-up folder -------------------------------------------------------------------------------------


def left_out(instance: PlacementInstance) -> str:
    (told,) = (text for text in instance.origin.filled if text.startswith("jobs left out"))
    return told


def test_what_is_left_out_is_counted(miniature: Path) -> None:
    assert left_out(from_trace(miniature, jobs=9)) == (
        "jobs left out: 60 of 600 that are too large for the cluster"
    )
    assert left_out(from_trace(miniature, jobs=9, source="philly")) == (
        "jobs left out: 120 of 480 that are too large for the cluster"
    )
    assert left_out(from_trace(miniature, jobs=9, source="gpu-2023")) == (
        "jobs left out: 3 that never started, 1 that still ran at the end, 1 that take no time, "
        "2 of 456 that are too large for the cluster"
    )
    assert len(from_trace(miniature, jobs=540).jobs) == 540


def test_pods_of_every_number_of_gpus_are_jobs_of_one_instance(miniature: Path) -> None:
    instance = from_trace(miniature, source="gpu-2023", jobs=454)
    counts = np.bincount(instance.jobs.gpus, minlength=9)
    assert counts.tolist() == [30, 421, 1, 0, 1, 0, 0, 0, 1]
    # created at 1010, started at 1013, deleted at 5020
    assert (instance.jobs.submit[1], instance.jobs.duration[1]) == (10_000, 4_007_000)


def test_times_of_philly_are_sorted(miniature: Path) -> None:
    instance = from_trace(miniature, source="philly", jobs=3, first=43)
    # the 44th of those with at most 64 GPUs; minutes 0, 1, 2 have 128, 4, 1, 1, ... GPUs from the last line
    lines = sorted(line for line in made_up()[PHILLY][1:-1] if ",128," not in line)
    assert (instance.jobs.duration / 1000).tolist() == [float(line.split(",")[1]) for line in lines[43:46]]


def test_a_gang_takes_only_pods_with_which_it_fits(miniature: Path) -> None:
    instance = from_trace(miniature, jobs=540)
    full = instance.jobs.gpus == 64
    assert full.sum() == 60
    one_gpu = full & (instance.jobs.need[:, 0] == 1)
    assert one_gpu.sum() > 20
    # 64 instances of one GPU: 8 on each machine of 96 cores, so that none takes more than 12
    assert instance.jobs.need[one_gpu, 1].max() == 12_000
    assert len(np.unique(instance.jobs.need[one_gpu, 1])) > 5


def test_on_fewer_machines_fewer_jobs_fit(miniature: Path) -> None:
    instance = from_trace(miniature, jobs=100, machines=2)
    assert instance.jobs.gpus.max() == 16
    assert "of 600 that are too large" in left_out(instance)


# --- bad traces and arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize("source", FILES)
def test_only_what_is_needed_is_read_and_a_missing_file_is_named(source: str, tmp_path: Path) -> None:
    needed = {FILES[source], PODS}
    for name in needed:
        write(tmp_path, name, made_up()[name])
    assert len(from_trace(tmp_path, source=source, jobs=5).jobs) == 5
    for name in needed:
        (tmp_path / name).unlink()
        with pytest.raises(InputError, match=f"{name}: cannot be read: No such file"):
            from_trace(tmp_path, source=source, jobs=5)
        write(tmp_path, name, made_up()[name])


@pytest.mark.parametrize("source", FILES)
def test_truncated_gzip_data_is_told(source: str, tmp_path: Path) -> None:
    changed(tmp_path, "", [])
    path = tmp_path / FILES[source]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=rf"{path.name}: cannot be read: damaged gzip data"):
        from_trace(tmp_path, source=source, jobs=5)


@pytest.mark.parametrize(
    ("source", "column"),
    [
        *(("pai-2020", name) for name in ("arrival_s", "service_sec", "gpu_count")),
        *(("philly", name) for name in ("timestamp", "duration", "num_gpus")),
        *(("gpu-2023", name) for name in sources.JOBS["gpu-2023"].columns),
    ],
)
def test_a_missing_column_is_named_with_those_expected(source: str, column: str, tmp_path: Path) -> None:
    file = FILES[source]
    header, *rows = made_up()[file]
    names = [f"{name}s" if name == column else name for name in header.split(",")]
    changed(tmp_path, file, [",".join(names), *rows])
    wanted = ", ".join(sources.JOBS[source].columns)
    with pytest.raises(InputError, match=rf"no column {column}; expected {wanted}, found .*{column}s"):
        from_trace(tmp_path, source=source, jobs=5)


@pytest.mark.parametrize(
    ("source", "row", "message"),
    [
        ("pai-2020", "ali,many,30,1", r"row 600: arrival_s: 'many' is not a finite number of at least 0"),
        ("pai-2020", "ali,-5,30,1", r"row 600: arrival_s: '-5' is not"),
        ("pai-2020", "ali,5,nan,1", r"row 600: service_sec: 'nan' is not"),
        ("pai-2020", "ali,5,30,0", r"row 600: gpu_count: '0' is not a finite number of at least 1"),
        ("pai-2020", "ali,5,30,1.5", r"row 600: gpu_count: '1\.5' is not a whole number"),
        ("pai-2020", "ali,5,30", r"row 600: 3 columns, expected 4"),
        ("philly", "yesterday,30,1,30,c", r"row 481: timestamp: 'yesterday' is no time like 2017-10-09"),
        ("philly", "2017-10-09 07:01:55,-3,1,30,c", r"row 481: duration: '-3' is not"),
        ("gpu-2023", pod(1, 1, 1, (-1, 5, 3)), r"row \d+: creation_time: '-1' is not"),
        ("gpu-2023", pod(1, 1, 1, (1, 5, "soon")), r"row \d+: scheduled_time: 'soon' is not"),
        ("gpu-2023", pod(1, 1, 1, (1, 5, 3)).replace("1000,1024", "x,1024"), r"row \d+: cpu_milli: 'x' is"),
    ],
    ids=str,
)
def test_a_damaged_row_is_named(source: str, row: str, message: str, tmp_path: Path) -> None:
    file = FILES[source]
    changed(tmp_path, file, [*made_up()[file], row])
    if source == "philly":
        message = message.replace("481", "480")
        changed(tmp_path, file, [*made_up()[file][:-1], row])
    with pytest.raises(InputError, match=rf"{Path(file).name}: {message}"):
        from_trace(tmp_path, source=source, jobs=5)


def test_a_blank_line_is_no_row_at_the_end_but_one_in_the_middle(tmp_path: Path) -> None:
    header, *rows = made_up()[PAI]
    changed(tmp_path, PAI, [header, *rows, "", ""])
    assert len(from_trace(tmp_path, jobs=540).jobs) == 540
    changed(tmp_path, PAI, [header, *rows[:7], "", *rows[7:]])
    with pytest.raises(InputError, match=r"row 7: 0 columns, expected 4"):
        from_trace(tmp_path, jobs=5)


def test_pods_without_a_kind_of_gpus_are_no_obstacle_but_for_one(tmp_path: Path) -> None:
    header, *rows = made_up()[PODS]
    changed(tmp_path, PODS, [header, *(row for row in rows if row.split(",")[3] in ("0", "1"))])
    assert set(from_trace(tmp_path, jobs=500).jobs.need[:, 0]) == {1}
    changed(tmp_path, PODS, [header, *(row for row in rows if row.split(",")[3] != "1")])
    with pytest.raises(InputError, match=rf"^{PODS}: no pod with one GPU$"):
        from_trace(tmp_path, jobs=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "size: 'huge' is not one of tiny, default, large"),
        ({"source": "helios"}, "source: 'helios' is not one of pai-2020, philly, gpu-2023"),
        ({"seed": -3}, "seed: -3 is not a whole number of at least 0"),
        ({"jobs": -1}, "jobs: -1 is not a whole number"),
        ({"jobs": 600}, "jobs: 600 from number 0 on are more than the 540 of pai-2020 that fit"),
        (
            {"jobs": 41, "first": 500},
            "jobs: 41 from number 500 on are more than the 540 of pai-2020 that fit",
        ),
        ({"first": -1}, "first: -1 is not a whole number"),
        ({"machines": 0}, "machines: 0 is not a whole number of at least 1"),
        ({"cluster": "huge"}, "cluster: 'huge' is not one of small, medium, large"),
        ({"cluster": "small", "machines": 4}, "cluster: 'small' and machines 4 cannot both be given"),
        ({"cluster": "small", "size": "tiny"}, "cluster: 'small' is not for tiny instances"),
        ({"rho": 0}, "rho: 0.* is so small"),
        ({"rho": "fast"}, "rho: 'fast' is not a finite number"),
        ({"rho": 0.5, "jobs": 1}, r"rho: 0\.5: the load of these jobs cannot be set"),
        ({"estimate_error": -1}, "estimate_error: -1 is not at least 0 and at most 10"),
        ({"contention": -1}, r"slowdown\.contention: -1 is not at least 0"),
        ({"window": 0}, "window: 0 is not"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str, miniature: Path) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        from_trace(miniature, **{"jobs": 20, **options})
