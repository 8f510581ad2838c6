"""Instances from trace files, and the facts computed from them, on a made-up folder and on the real one."""

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clairvoyant.models import sources, traces
from clairvoyant.models.allocation import draw, profile
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.trace import from_trace
from clairvoyant.models.base import InputError

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("CLAIRVOYANT_TRACES", ROOT.parent / "shared" / "traces"))

HOUR = 3600
PODS = "alibaba-gpu-v2023/openb_pod_list_gpuspec33.csv.gz"
PAI = "alibaba-gpu-v2020/pai_machine_spec.csv"


def made_up() -> dict[str, str]:
    """Return the texts of a miniature folder in the format of the real one; every number is invented."""
    pods = []
    for hour in range(40):
        pods += [f"a{hour},4000,8192,1,500,,LS,Running,{hour * HOUR},,"] * (1 + hour % 3)
        pods += [f"b{hour},8000,16384,1,1000,T4|V100M16,BE,Failed,{hour * HOUR + 1800},{10**6},"]
    pods += [f"c{i},16000,65536,0,0,,LS,Pending,{i * HOUR},," for i in range(20)]
    pods += ["d,32000,1024,8,1000,G2,LS,Running,0,,", "none,0,0,0,0,,LS,Running,0,,"]
    tasks = [f"M{i % 3},{i},j_{i},1,Terminated,{i * 600},{i * 600 + 60},100,0.5" for i in range(300)]
    tasks += ["M1,1,j_x,1,Running,5,0,,0.25"] * 12
    serving = [f"i{i},CN,app_0,64,64,0,0,1,1,320.0,320.0,1,1,-1,{i * 900},," for i in range(100)]
    serving += [f"h{i},HN,app_1,8,8,1,1,25,25,40.0,40.0,1,1,8,,," for i in range(30)]
    nodes = ["n0,64000,262144,2,T4"] * 20 + ["n1,32000,131072,0,"] * 15 + ["n2,96000,393216,8,G2"] * 12
    return {
        PAI: "\n".join(["m,P100,64,512,2"] * 30 + ["m,CPU,96,512,0"] * 10 + ["m,V100,96,384,8"] * 20 + [""]),
        "alibaba-gpu-v2020/pai.csv": table(
            ",hourofyear,job_name,hour", [f"{i},{600.0 + i},{100 + i % 24},{i}" for i in range(72)]
        ),
        "alibaba-gpu-v2020/alibaba_trace_sub.head30000.csv.gz": table(
            "job_id,arrival_s,service_sec,gpu_count", [f"j{i},{i * 300.0},60.0,1" for i in range(500)]
        ),
        "alibaba-gpu-v2023/openb_node_list_all_node.csv": table("sn,cpu_milli,memory_mib,gpu,model", nodes),
        PODS: table(
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
            "scheduled_time",
            pods,
        ),
        "alibaba-spot-gpu-v2026/node_info_df.csv": table(
            "gpu_model,gpu_capacity_num,cpu_num,node_name", [f"A10,1,128,{i}" for i in range(30)]
        ),
        "alibaba-v2018/Task_1.csv.gz": "\n".join([*tasks, ""]),
        "alibaba-gpu-v2025/disaggregated_DLRM_trace.csv.gz": table(
            "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,"
            "memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,"
            "scheduled_time,deletion_time",
            serving,
        ),
        "google-2011/derived-job_submits_per_5min.csv.gz": table(
            "bin_start_s,submits,class0,class1,class2,class3",
            [f"{600 + 300 * i},{60 + i % 7},0,0,0,0" for i in range(600)],
        ),
        "tpu-slices/tpu_job_size.csv": table(
            "# slice id, topology, slice shape, slice size, duration (sec), probability (%)",
            ["0,T3D_NT,1x1x1,1,0,2.5", "1,T3D_T,4x4x8,128,0,16.0", "2,T3D_NT,4x4x8,128,0,1.5"],
        ),
    }


def table(header: str, rows: list[str]) -> str:
    return "\n".join([header, *rows, ""])


def write(folder: Path, name: str, text: str) -> Path:
    """Write one trace file, gzipped if its name says so."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture(scope="module")
def miniature(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    for name, text in made_up().items():
        write(folder, name, text)
    return folder


@pytest.fixture(params=["made-up", "real"] if REAL.is_dir() else ["made-up"])
def folder(request: pytest.FixtureRequest, miniature: Path) -> Path:
    """Return each folder of traces at hand: what is asserted of one holds of the other."""
    return REAL if request.param == "real" else miniature


SMALL: dict[str, Any] = {"ports": 3, "servers": 12}

# --- instances from any folder ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"machines": "gpu-2023", "exact": True},
        {"machines": "spot-2026", "kinds": ["CPU", "GPU", "NPU"]},
        {"requests": "v2018", "ports": 2, "slot_seconds": 1200},
        {"requests": "dlrm-2025", "ports": 2},
        {"requests": "dlrm-2025", "ports": 2, "arrivals": "gpu-2023"},
        {"arrivals": "pai-2020", "thin": 0.1},
        {"arrivals": "pai-tasks-2020", "slot_seconds": 600},
        {"arrivals": "google-2011", "slot_seconds": 300, "slots": 100},
        {"size": "tiny", "clip": True},
    ],
    ids=str,
)
def test_traces_give_valid_instances(options: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    instance = from_trace(folder, **SMALL | options)
    s = instance.setting
    assert s.slots > 0
    assert instance.arrivals.sum() > 0
    assert s.demand.max() > 0
    y = s.project(s.edge_demand)
    assert instance.violations(y) == []
    assert np.isfinite(instance.rewards(y)).all()
    instance.save(tmp_path / "instance.json")
    again = AllocationInstance.load(tmp_path / "instance.json")
    assert again == instance
    assert again.origin == instance.origin

    real, filled = "; ".join(instance.origin.real), "; ".join(instance.origin.filled)
    assert instance.origin.source.startswith("trace (")
    for name in s.names.kinds:
        assert (name in filled) == (name in draw.FILLED)
        assert (name in real) == (name in sources.UNITS)
    assert sources.MACHINES[options.get("machines", "pai-2020")].file in real
    assert sources.REQUESTS[options.get("requests", "gpu-2023")].file in real
    arrivals = options.get("arrivals", options.get("requests", "gpu-2023"))
    assert {**sources.EVENTS, **sources.REQUESTS}[arrivals].file in real
    assert ("split over the ports" in filled) == ("arrivals" in options)
    assert "arrivals: " in real
    if options.get("requests", "gpu-2023") != "gpu-2023":  # no other source names GPU models
        assert "which GPU models" not in real


def test_a_trace_instance_is_decided_by_its_seed(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        from_trace(folder, **SMALL, seed=4).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert len({from_trace(folder, **SMALL, seed=seed).digest() for seed in range(4)}) == 4


def test_real_columns_do_not_depend_on_the_seed(folder: Path) -> None:
    one, two = (from_trace(folder, **SMALL, exact=True, seed=seed) for seed in (1, 2))
    assert one.arrivals.tolist() == two.arrivals.tolist()
    assert one.setting.demand[:, :3].tolist() == two.setting.demand[:, :3].tolist()
    assert sorted(one.setting.capacity[:, :3].tolist()) == sorted(two.setting.capacity[:, :3].tolist())


def test_filled_devices_can_be_switched_off(folder: Path) -> None:
    instance = from_trace(folder, **SMALL, filled=False)
    assert instance.setting.names.kinds == ("CPU", "MEM", "GPU")
    assert not any(name in str(instance.origin) for name in draw.FILLED)


def test_gpu_requests_stay_on_machines_with_the_right_gpus(folder: Path) -> None:
    ports = 30 if folder == REAL else 4
    asked = sources.requests(folder, "gpu-2023", constraints=True).classes[:ports]
    instance = from_trace(folder, ports=ports, servers=60, machines="gpu-2023", density=2.0)
    models = [name.split(":")[0] for name in instance.setting.names.servers]
    cards = instance.setting.capacity[:, 2]
    assert any(item.allowed for item in asked)
    assert cards.min() == 0.0
    for port, server in instance.setting.edges.tolist():
        assert asked[port].gpu == 0 or cards[server] > 0
        assert not asked[port].allowed or models[server] in asked[port].allowed


def test_arrivals_are_the_requests_of_the_class(folder: Path) -> None:
    found = sources.requests(folder, "gpu-2023")
    instance = from_trace(folder, **SMALL, constraints=False, start=0.0, slot_seconds=2 * HOUR, slots=15)
    for port in range(3):
        times = found.time[found.member == port]
        want = [int(((times >= t) & (times < t + 2 * HOUR)).sum()) for t in range(0, 30 * HOUR, 2 * HOUR)]
        assert instance.arrivals[:, port].tolist() == want


def test_totals_are_kept_when_they_are_split(folder: Path) -> None:
    found = sources.events(folder, "pai-2020")
    instance = from_trace(folder, **SMALL, arrivals="pai-2020", slots=24)
    assert instance.arrivals.sum(axis=1).tolist() == found.count[:24].tolist()
    one_by_one = from_trace(folder, **SMALL, arrivals="pai-2020", slots=24, clip=True)
    assert one_by_one.arrivals.tolist() == np.minimum(instance.arrivals, 1).tolist()
    thinned = from_trace(folder, **SMALL, arrivals="pai-2020", slots=24, thin=0.25)
    assert (thinned.arrivals <= instance.arrivals).all()
    total = instance.arrivals.sum()
    assert thinned.arrivals.sum() == pytest.approx(total / 4, abs=4 * np.sqrt(3 * total / 16))


def test_exact_servers_are_in_proportion(folder: Path) -> None:
    types = sources.machine_types(folder, "pai-2020")
    total = sum(t.count for t in types)
    instance = from_trace(folder, ports=3, servers=total, exact=True)
    for t in types:
        row = [t.cpu / 8, float(t.memory or 0) / 64, t.gpu]
        same = (instance.setting.capacity[:, :3] == row).all(axis=1).sum()
        assert same == sum(u.count for u in types if (u.cpu, u.memory, u.gpu) == (t.cpu, t.memory, t.gpu))


# --- the made-up folder, number by number -------------------------------------------------------------------


def test_columns_are_read_as_documented(miniature: Path) -> None:
    assert sources.machine_types(miniature, "pai-2020")[0] == sources.MachineType(
        "P100", 64.0, 512.0, 2.0, 30
    )
    assert [(t.name, t.memory) for t in sources.machine_types(miniature, "gpu-2023")] == [
        *(("T4", 256.0), ("CPU", 128.0), ("G2", 384.0))
    ]
    assert sources.machine_types(miniature, "spot-2026") == (
        sources.MachineType("A10", 128.0, None, 1.0, 30),
    )
    pods = sources.requests(miniature, "gpu-2023", constraints=True).classes
    assert pods == (
        sources.RequestClass(4.0, 8.0, 0.5, 79),
        sources.RequestClass(8.0, 16.0, 1.0, 40, ("T4", "V100M16")),
        sources.RequestClass(16.0, 64.0, 0.0, 20),
        sources.RequestClass(32.0, 1.0, 8.0, 1, ("G2",)),
    )
    tasks = sources.requests(miniature, "v2018").classes
    assert tasks == (sources.RequestClass(1.0, 2.56, 0.0, 300), sources.RequestClass(0.0, 1.28, 0.0, 12))
    serving = sources.requests(miniature, "dlrm-2025")
    assert serving.classes == (
        sources.RequestClass(64.0, 320.0, 0.0, 100),
        sources.RequestClass(8.0, 40.0, 1.0, 30),
    )
    assert np.isnan(serving.time[100:]).all()
    assert sources.events(miniature, "google-2011").time[0] == 19 * HOUR
    assert sources.events(miniature, "pai-tasks-2020").time[0] / HOUR % 24 == 2.75
    assert sources.tpu_slices(miniature) == {1: 2.5, 128: 17.5}


def test_pai_names_of_gpu_models_are_understood(miniature: Path) -> None:
    """The second class asks for a T4 or a V100 with 16 GB, which PAI's machines simply call V100."""
    instance = from_trace(miniature, ports=3, servers=40, density=3.0)
    names = instance.setting.names.servers
    assert {names[r].split(":")[0] for p, r in instance.setting.edges.tolist() if p == 1} == {"V100"}
    assert "density (no more than" in str(instance.origin)
    assert instance.setting.density < 3.0
    free = from_trace(miniature, ports=3, servers=40, density=3.0, constraints=False)
    assert free.setting.density == 3.0
    assert "GPU models" not in str(free.origin)


def test_the_profile_of_the_made_up_folder(miniature: Path, tmp_path: Path) -> None:
    assert profile.main([str(miniature), str(tmp_path / "one.json")]) == 0
    assert profile.main([str(miniature), str(tmp_path / "two.json")]) == 0
    text = (tmp_path / "one.json").read_bytes()
    assert text == (tmp_path / "two.json").read_bytes()
    facts = json.loads(text)
    assert [t["name"] for t in facts["machines"]["pai-2020"]["types"]] == ["P100", "V100", "CPU"]
    pods = facts["requests"]["gpu-2023"]
    assert pods["requests"] == 140
    assert pods["classes"] == [
        {"cpu": 4.0, "memory": 8.0, "gpu": 0.5, "count": 79},
        {"cpu": 8.0, "memory": 16.0, "gpu": 1.0, "count": 40},
        {"cpu": 16.0, "memory": 64.0, "gpu": 0.0, "count": 20},
    ]  # the class with one pod is left out
    hourly = facts["arrivals"]["pai-2020"]
    counts = 100 + np.arange(72) % 24
    assert hourly["mean_per_hour"] == counts.mean()
    assert hourly["fano_per_hour"] == pytest.approx(counts.var() / counts.mean(), abs=1e-4)
    assert hourly["by_hour"] == pytest.approx((100 + np.arange(24)) / 111.5, abs=1e-4)
    assert facts["tpu_slices"]["percent_by_chips"] == {"1": 2.5, "128": 17.5}


def test_the_built_in_profile_is_what_the_script_computes() -> None:
    """From the real folder where it is at hand; without it, the file must be the script's own form."""
    facts = profile.facts(REAL) if REAL.is_dir() else profile.load()
    assert profile.text(facts).encode() == profile.FILE.read_bytes()


def test_the_script_reports_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert profile.main([]) == 2
    assert "usage:" in capsys.readouterr().err
    assert profile.main([str(tmp_path / "nowhere"), str(tmp_path / "out.json")]) == 2
    assert "no such folder of traces" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


# --- bad traces ---------------------------------------------------------------------------------------------


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such folder of traces"):
        from_trace(tmp_path / "nowhere")


@pytest.mark.parametrize("name", [PAI, PODS])
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    for other, text in made_up().items():
        if other != name:
            write(tmp_path, other, text)
    with pytest.raises(InputError, match=f"{re.escape(name)}: cannot be read: No such file"):
        from_trace(tmp_path, **SMALL)


def broken(tmp_path: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """Write the made-up folder with one file changed byte-wise."""
    for other, text in made_up().items():
        path = write(tmp_path, other, text)
        if other == name:
            path.write_bytes(change(path.read_bytes()))
    return tmp_path


def packed(change: Callable[[str], str]) -> Callable[[bytes], bytes]:
    return lambda raw: gzip.compress(change(gzip.decompress(raw).decode()).encode(), mtime=0)


def swap(old: str, new: str) -> Callable[[bytes], bytes]:
    """Replace the first occurrence of a text inside gzip data."""
    return packed(lambda text: text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (PODS, lambda raw: raw[:200], "cannot be read: damaged gzip data"),
        (PODS, lambda raw: raw[:100] + b"\xff\xff\xff" + raw[103:], "cannot be read: damaged gzip data"),
        (PODS, lambda _: b"plain text", "cannot be read"),
        (PODS, swap("gpu_spec", "spec"), "no column gpu_spec; expected cpu_milli, .*found name"),
        (PODS, swap("cpu_milli,memory_mib", "cores,gb"), "no column cpu_milli, memory_mib;"),
        (PODS, packed(lambda text: text.splitlines()[0]), "no rows"),
        (PODS, packed(lambda _: ""), "no rows"),
        (PODS, packed(lambda text: text + "torn,1,2\n"), "row 141: 3 columns, expected 11"),
        (PODS, swap("4000", "many"), "row 0: cpu_milli: 'many' is not a finite number"),
        (PODS, swap("4000", "-4"), "row 0: cpu_milli: '-4' is not a finite number of at least 0"),
        (PODS, swap("4000", "nan"), "row 0: cpu_milli: 'nan' is not"),
        (PAI, lambda _: b"", "no rows"),
        (PAI, lambda raw: raw.replace(b"64,512", b"64", 1), "row 0: 4 columns, expected 5"),
        (PAI, lambda raw: raw.replace(b"512", b"", 1), "row 0: cap_mem: '' is not a finite number"),
        (PAI, lambda _: b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_damaged_files_are_named(
    name: str, change: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"{re.escape(name)}: ({message})"):
        from_trace(broken(tmp_path, name, change), **SMALL)


def test_a_file_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(InputError, match=r"x\.csv: cannot be read"):
        traces.read_table(tmp_path, "x.csv", ["a"])


def test_a_trace_without_times_is_refused(tmp_path: Path) -> None:
    name = "alibaba-gpu-v2025/disaggregated_DLRM_trace.csv.gz"
    change = packed(lambda text: re.sub(r"-1,\d+,,", "-1,,,", text))
    with pytest.raises(InputError, match="arrivals: the trace gives the time of no request"):
        from_trace(broken(tmp_path, name, change), requests="dlrm-2025", ports=2)


# --- bad arguments ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "size: 'huge' is not one of tiny, default, large"),
        ({"machines": "mainframe"}, "machines: 'mainframe' is not one of pai-2020, gpu-2023, spot-2026"),
        ({"requests": "none"}, "requests: 'none' is not one of gpu-2023, v2018, dlrm-2025"),
        (
            {"arrivals": "none"},
            "arrivals: 'none' is not one of pai-2020, pai-tasks-2020, google-2011, gpu-2023",
        ),
        ({"machines": "spot-2026"}, "machines: the source gives no MEM of its machines; leave that kind out"),
        ({"ports": 5, "constraints": True}, "ports: 5 is more than the 4 request classes of gpu-2023"),
        ({"ports": 0}, "ports: 0 is not a whole number of at least 1"),
        ({"servers": 0}, "servers: 0 is not a whole number of at least 1"),
        ({"seed": -3}, "seed: -3 is not a whole number of at least 0"),
        ({"slots": 1000}, "slots: 1000 is more than the 38 of 3600 s that the trace holds"),
        ({"slots": -1}, "slots: -1 is not a whole number"),
        ({"slot_seconds": 0}, "slot_seconds: 0 is not at least 1"),
        ({"slot_seconds": 1e7}, r"slot_seconds: from 0 s the trace holds no whole slot of 1e\+07 s"),
        ({"start": 1e9}, r"slot_seconds: from 1e\+09 s the trace holds no whole slot of 3600 s"),
        ({"start": -1.0}, r"start: -1\.0 is not at least 0"),
        (
            {"arrivals": "pai-2020", "slot_seconds": 300},
            "slot_seconds: 300 is no multiple of the 3600 s that",
        ),
        ({"thin": 1.5}, r"thin: 1\.5 is not at least 0 and at most 1"),
        ({"density": 4}, "density: 4 is not at least 0 and at most 3"),
        ({"contention": -1}, "contention: -1 is not at least 0"),
        ({"kinds": ["DPU"]}, r"kinds\[0\]: 'DPU' is not one of"),
        ({"utility": "cubic"}, "utility: 'cubic' is not one of"),
        ({"alpha": (2.0, 1.0)}, r"alpha: \(2\.0, 1\.0\) does not increase"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str, miniature: Path) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        from_trace(miniature, **SMALL | options)
