"""Selection instances from trace files, on a made-up folder and on the real one where it is at hand."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant
from clairvoyant.models import sources
from clairvoyant.models.base import InputError
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.trace import from_trace

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("CLAIRVOYANT_TRACES", ROOT.parent / "shared" / "traces"))

PAI = "alibaba-gpu-v2020/pai_machine_spec.csv"
TASKS = "alibaba-v2018/Task_1.csv.gz"
PODS = "alibaba-gpu-v2023/openb_pod_list_gpuspec33.csv.gz"


def made_up() -> dict[str, list[str]]:
    """Return the lines of a miniature folder in the format of the real one; every number is invented."""
    tasks = [f"M1,1,a_{i},1,Terminated,{i * 100},{i * 100 + 60},50,0.25" for i in range(400)]
    tasks += [f"M1,1,b_{i},1,Terminated,{i * 600},{i * 600 + 60},100,0.5" for i in range(60)]
    tasks += [f"M1,1,c_{i},1,Terminated,{i * 1200},{i * 1200 + 60},,0.5" for i in range(30)]
    pod = "{},{},{},{},{},{},LS,Running,{},,"
    pods = [pod.format(f"p{i}", 4000, 8192, 1, 500, "", i * 300) for i in range(60)]
    pods += [pod.format(f"q{i}", 8000, 16384, 1, 1000, "T4|V100M16", i * 600) for i in range(40)]
    pods += [pod.format(f"r{i}", 16000, 65536, 0, 0, "", i * 900) for i in range(20)]
    return {
        PAI: ["m,P100,64,512,2"] * 30 + ["m,CPU,96,512,0"] * 10 + ["m,V100,96,384,8"] * 20,
        TASKS: tasks,
        PODS: [
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,x,y",
            *pods,
        ],
        "alibaba-gpu-v2020/pai.csv": [
            ",hourofyear,job_name,hour",
            *(f"{i},{600.0 + i},{i % 3},{i}" for i in range(72)),
        ],
        "alibaba-spot-gpu-v2026/node_info_df.csv": [
            "gpu_model,gpu_capacity_num,cpu_num,node_name",
            *(f"A10,1,128,{i}" for i in range(30)),
        ],
        "google-2011/derived-job_submits_per_5min.csv.gz": [
            "bin_start_s,submits,class0,class1,class2,class3",
            *(f"{600 + 300 * i},{i % 4},0,0,0,0" for i in range(200)),
        ],
    }


def write(folder: Path, name: str, lines: list[str]) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join([*lines, ""]).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


@pytest.fixture(scope="module")
def miniature(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    for name, lines in made_up().items():
        write(folder, name, lines)
    return folder


@pytest.fixture(params=["made-up", "real"] if REAL.is_dir() else ["made-up"])
def folder(request: pytest.FixtureRequest, miniature: Path) -> Path:
    """Return each folder of traces at hand: what is asserted of one holds of the other."""
    return REAL if request.param == "real" else miniature


SMALL: dict[str, Any] = {"ports": 3, "servers": 12, "density": 0.5}

# --- instances from any folder ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"requests": "gpu-2023", "slot_seconds": 1800},
        {"requests": "gpu-2023", "constraints": False, "levels": 5, "slot_seconds": 1800},
        {"arrivals": "pai-2020", "slot_seconds": 3600, "thin": 0.5},
        {"arrivals": "google-2011", "slots": 100},
        {"machines": "spot-2026", "kinds": ["CPU", "GPU"]},
        {"kinds": ["GPU"], "exact": True},
        {"size": "tiny", "tightness": 1.0},
        {"density": 0.0, "noise": "bernoulli"},
        {"tightness": 0.0, "cost_scale": 0.0},
    ],
    ids=str,
)
def test_traces_give_valid_instances(options: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    instance = from_trace(folder, **SMALL | options)
    s = instance.setting
    names = list(options.get("kinds", ["CPU", "MEM", "GPU"]))
    assert (s.ports, s.kinds) == (3, len(names))
    assert s.slots > 0
    assert instance.arrivals.sum() > 0
    assert s.demand.max(initial=0) <= options.get("levels", 2)
    assert (s.capacity >= 1).all()
    assert (s.capacity <= np.maximum(s.demand.sum(axis=0), 1)).all()
    instance.save(tmp_path / "instance.json")
    again = SelectionInstance.load(tmp_path / "instance.json")
    assert again == instance
    assert again.origin == instance.origin

    real, filled = "; ".join(instance.origin.real), "; ".join(instance.origin.filled)
    requests = options.get("requests", "v2018")
    arrivals = options.get("arrivals", requests)
    assert instance.origin.source.startswith("trace (")
    for name in names:
        assert f"{name} (" in real  # in the capacities
    assert sources.MACHINES[options.get("machines", "pai-2020")].file in real
    assert {**sources.EVENTS, **sources.REQUESTS}[arrivals].file in real
    if names != ["GPU"]:
        assert sources.REQUESTS[requests].file in real
    assert (f"demand of GPU: of pods of {PODS}" in filled) == (requests == "v2018")
    assert ("split over the ports" in filled) == ("arrivals" in options)
    assert ("each kept with probability 0.5" in filled) == ("thin" in options)
    for column in ("edges", "demand: in", "capacity: scaled", "at most one", "cost", "mean", "sample path"):
        assert column in filled


def test_a_port_demands_the_same_on_every_server(folder: Path) -> None:
    s = from_trace(folder, **SMALL | {"density": 1.0, "constraints": False}).setting
    assert s.channels == 36
    for port in range(3):
        assert len(np.unique(s.demand[s.port == port], axis=0)) == 1
    assert s.demand.max(axis=0).tolist() == [2, 2, 2]


@pytest.mark.parametrize("levels", [1, 2, 3, 10])
def test_demands_keep_the_order_and_the_size_of_the_requests(levels: int, folder: Path) -> None:
    asked = sources.requests(folder, "gpu-2023", constraints=True).classes[:3]
    s = from_trace(folder, requests="gpu-2023", ports=3, servers=60, density=1.0, levels=levels).setting
    for k, name in enumerate(sources.UNITS):
        amounts = np.array([sources.amount(item, name) for item in asked])
        demand = s.demand[s.port_start[:3], k]
        assert (demand == np.ceil(amounts * levels / amounts.max() - 1e-9)).all()
        assert ((demand == 0) == (amounts == 0)).all()


@pytest.mark.parametrize("tightness", [0.1, 0.25, 0.5])
def test_capacities_are_in_proportion_and_as_tight_as_asked(tightness: float, folder: Path) -> None:
    total = sum(t.count for t in sources.machine_types(folder, "pai-2020"))
    s = from_trace(folder, ports=3, servers=total, density=0.2, exact=True, tightness=tightness).setting
    needed = s.demand.sum(axis=0)
    assert (s.capacity / needed).mean() == pytest.approx(tightness, abs=(0.5 / needed).mean() + 1e-9)
    held = [
        sum(t.count * sources.amount(t, name) / unit for t in sources.machine_types(folder, "pai-2020"))
        for name, (unit, _) in sources.UNITS.items()
    ]
    want = np.array(held) * (s.capacity.sum() / sum(held))
    assert np.abs(s.capacity - want).max() <= 2.0  # rounding only


def test_arrivals_are_the_requests_of_the_class_one_at_a_time(folder: Path) -> None:
    found = sources.requests(folder, "v2018")
    instance = from_trace(folder, **SMALL, start=0.0, slot_seconds=1200, slots=15)
    for port in range(3):
        times = found.time[found.member == port]
        want = [int(((times >= t) & (times < t + 1200)).any()) for t in range(0, 15 * 1200, 1200)]
        assert instance.arrivals[:, port].tolist() == want


def test_totals_are_split_over_the_ports(folder: Path) -> None:
    found = sources.events(folder, "pai-2020")
    instance = from_trace(folder, **SMALL, arrivals="pai-2020", slot_seconds=3600, slots=24)
    jobs = instance.arrivals.sum(axis=1)
    assert (jobs <= found.count[:24]).all()
    assert ((jobs > 0) == (found.count[:24] > 0)).all()


def test_thinning_only_takes_arrivals_away(folder: Path) -> None:
    options: dict[str, Any] = SMALL | {"kinds": ["CPU"]}
    full, some, few, none = (from_trace(folder, **options, thin=p) for p in (1.0, 0.6, 0.3, 0.0))
    assert (few.arrivals <= some.arrivals).all()
    assert (some.arrivals <= full.arrivals).all()
    assert none.arrivals.sum() == 0
    total = full.arrivals.sum()
    assert some.arrivals.sum() == pytest.approx(0.6 * total, abs=5 * np.sqrt(0.24 * total))
    assert some.path.tolist() == full.path.tolist()


def test_gpu_requests_stay_on_machines_with_the_right_gpus(folder: Path) -> None:
    options: dict[str, Any] = {"requests": "gpu-2023", "servers": 60, "ports": 3, "density": 1.0}
    asked = sources.requests(folder, "gpu-2023", constraints=True).classes[:3]
    bound, free = from_trace(folder, **options), from_trace(folder, **options, constraints=False)
    assert free.setting.channels == 180
    assert any(item.gpu > 0 for item in asked)
    for port, item in enumerate(asked):
        count = int((bound.setting.port == port).sum())
        assert (count < 60) == (item.gpu > 0 or bool(item.allowed))
    assert set(map(tuple, bound.setting.edges.tolist())) <= set(map(tuple, free.setting.edges.tolist()))


def test_a_trace_instance_is_decided_by_its_seed(folder: Path, tmp_path: Path) -> None:
    for i, seed in enumerate((4, 4, 5)):
        from_trace(folder, **SMALL, seed=seed).save(tmp_path / str(i))
    one, two, other = ((tmp_path / str(i)).read_bytes() for i in range(3))
    assert one == two
    assert one != other


def test_real_columns_do_not_depend_on_the_seed(folder: Path) -> None:
    one, two = (from_trace(folder, **SMALL | {"density": 1.0}, exact=True, seed=seed) for seed in (1, 2))
    assert one.arrivals.tolist() == two.arrivals.tolist()
    for a, b in zip(*(x.setting.demand[x.setting.port_start[:3], :2] for x in (one, two)), strict=True):
        assert a.tolist() == b.tolist()


def test_the_front_door_is_the_function(folder: Path) -> None:
    assert clairvoyant.from_trace("selection", folder, **SMALL) == from_trace(folder, **SMALL)


def test_the_default_takes_the_v2018_jobs_on_pai_machines(folder: Path) -> None:
    ports = 8 if folder == REAL else 3
    instance = from_trace(folder, ports=ports)
    s = instance.setting
    assert (s.ports, s.kinds) == (ports, 3)
    assert s.demand[:, :2].max() == 2
    assert 1 <= instance.facts()["channels at once at most"] < s.channels
    if folder == REAL:
        assert s.slots == 960
        assert set(np.unique(s.demand[:, :2])) == {1, 2}
        assert 0.3 < instance.arrivals.mean() < 0.8


# --- the made-up folder, number by number -------------------------------------------------------------------


def test_the_numbers_of_the_made_up_folder(miniature: Path) -> None:
    instance = from_trace(
        miniature, ports=3, servers=60, density=1.0, exact=True, constraints=False, start=0.0, slots=4
    )
    s = instance.setting
    first = s.demand[s.port_start[:3]]
    assert first[:, :2].tolist() == [[1, 1], [2, 2], [0, 2]]  # half a core, a core, none; 1.28, 2.56, 2.56 GB
    assert set(first[:, 2].tolist()) <= {0, 1, 2}
    held = np.array([30 * 64 / 8 + 30 * 96 / 8, 40 * 512 / 64 + 20 * 384 / 64, 30 * 2 + 20 * 8])
    needed = s.demand.sum(axis=0)
    factor = 0.25 / (held / needed).mean()
    assert s.capacity.tolist() == np.rint(factor * held).tolist()
    assert instance.arrivals.tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 0, 0]]


def test_kinds_that_nobody_asks_for_or_no_machine_has(tmp_path: Path) -> None:
    for name, lines in made_up().items():
        write(tmp_path, name, ["m,CPU,96,512,0"] * 5 if name == PAI else lines)
    s = from_trace(tmp_path, **SMALL, requests="gpu-2023", constraints=False).setting
    assert s.capacity[2] == 0  # no machine has a card
    assert (s.capacity[:2] >= 1).all()
    assert (
        from_trace(tmp_path, **SMALL | {"density": 1.0}, requests="gpu-2023").setting.demand[:, 2].max() == 0
    )
    for name in (TASKS, PODS):
        head = [made_up()[PODS][0]] if name == PODS else []
        write(tmp_path, name, head + made_up()[name][-20:])
    write(tmp_path, PAI, made_up()[PAI])
    s = from_trace(tmp_path, ports=1, servers=12, density=1.0, slot_seconds=1200).setting
    assert s.demand[0].tolist() == [0, 2, 0]  # neither cores nor, as the pods that are left, cards
    assert s.capacity.tolist() == [1, 6, 1]


@given(st.integers(1, 6), st.floats(0.0, 1.0, allow_subnormal=False), st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_capacity_is_never_too_small_nor_needlessly_large(
    miniature: Path, levels: int, tightness: float, seed: int
) -> None:
    s = from_trace(
        miniature, **SMALL, requests="gpu-2023", levels=levels, tightness=tightness, seed=seed, slots=3
    ).setting
    assert (s.capacity >= 1).all()
    assert (s.capacity <= np.maximum(s.demand.sum(axis=0), 1)).all()


# --- bad traces and arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [PAI, TASKS, PODS])
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    for other, lines in made_up().items():
        if other != name:
            write(tmp_path, other, lines)
    with pytest.raises(InputError, match=f"{name}: cannot be read: No such file"):
        from_trace(tmp_path, **SMALL)


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    for name, lines in made_up().items():
        write(tmp_path, name, [line.replace(",50,", ",half,") for line in lines] if name == TASKS else lines)
    with pytest.raises(InputError, match=r"Task_1\.csv\.gz: row 0: plan_cpu: 'half' is not a finite number"):
        from_trace(tmp_path, **SMALL)


def test_the_pods_are_not_read_where_no_gpu_is_wanted(tmp_path: Path) -> None:
    for name in (PAI, TASKS):
        write(tmp_path, name, made_up()[name])
    instance = from_trace(tmp_path, **SMALL, kinds=["CPU", "MEM"])
    assert instance.setting.kinds == 2
    assert "GPU" not in str(instance.origin)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "size: 'huge' is not one of tiny, default, large"),
        ({"machines": "mainframe"}, "machines: 'mainframe' is not one of pai-2020, gpu-2023, spot-2026"),
        ({"machines": "spot-2026"}, "machines: the source gives no MEM of its machines; leave that kind out"),
        ({"requests": "none"}, "requests: 'none' is not one of gpu-2023, v2018, dlrm-2025"),
        ({"arrivals": "none"}, "arrivals: 'none' is not one of pai-2020, pai-tasks-2020, google-2011"),
        ({"kinds": []}, "kinds: an empty list leaves no kind of device"),
        ({"kinds": ["TPU"]}, r"kinds\[0\]: 'TPU' is not one of CPU, MEM, GPU"),
        ({"kinds": ["CPU", "CPU"]}, r"kinds\[1\]: 'CPU' stands twice"),
        ({"kinds": 3}, "kinds: 3 is not a list of names"),
        ({"ports": 4}, "ports: 4 is more than the 3 request classes of v2018"),
        ({"ports": 0}, "ports: 0 is not a whole number of at least 1"),
        ({"servers": 0}, "servers: 0 is not a whole number of at least 1"),
        ({"density": 2}, "density: 2 is not at least 0 and at most 1"),
        ({"levels": 0}, "levels: 0 is not a whole number of at least 1"),
        ({"levels": 1.5}, r"levels: 1\.5 is not a whole number"),
        ({"tightness": 1.5}, r"tightness: 1\.5 is not at least 0 and at most 1"),
        ({"thin": -0.5}, r"thin: -0\.5 is not at least 0 and at most 1"),
        ({"seed": -3}, "seed: -3 is not a whole number of at least 0"),
        ({"slots": -1}, "slots: -1 is not a whole number"),
        ({"slots": 1000}, "slots: 1000 is more than the 127 of 300 s that the trace holds"),
        ({"slot_seconds": 0}, "slot_seconds: 0 is not at least 1"),
        ({"start": -1.0}, r"start: -1\.0 is not at least 0"),
        ({"arrivals": "pai-2020"}, "slot_seconds: 300 is no multiple of the 3600 s that"),
        ({"exact": 1}, "exact: 1 is neither true nor false"),
        ({"constraints": None}, "constraints: None is neither true nor false"),
        ({"noise": "cauchy"}, "noise: 'cauchy' is not one of"),
        ({"cost_scale": -1}, "cost_scale: -1 is not at least 0"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str, miniature: Path) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        from_trace(miniature, **SMALL | options)
