"""Admission instances from trace files, on a made-up folder and on the real one where it is at hand."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clairvoyant
from clairvoyant.models import sources
from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.trace import from_trace
from clairvoyant.models.base import InputError

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("CLAIRVOYANT_TRACES", ROOT.parent / "shared" / "traces"))

PAI = "alibaba-gpu-v2020/pai_machine_spec.csv"
NODES = "alibaba-gpu-v2023/openb_node_list_all_node.csv"
GOOGLE = "google-2011/derived-job_submits_per_5min.csv.gz"
MACHINES = {"pai-2020": PAI, "gpu-2023": NODES}


def made_up() -> dict[str, list[str]]:
    """Return the lines of a miniature folder in the format of the real one; every number is invented."""
    return {
        PAI: ["m,P100,64,512,2"] * 30 + ["m,CPU,96,512,0"] * 10 + ["m,V100,96,384,8"] * 20,
        NODES: [
            "sn,cpu_milli,memory_mib,gpu,model",
            *["n,64000,262144,2,P100"] * 6,
            *["n,32000,131072,0,"] * 4,
            *["n,96000,786432,8,V100M16"] * 5,
        ],
        "alibaba-gpu-v2020/pai.csv": [
            ",hourofyear,job_name,hour",
            *(f"{i},{600.0 + i},{i % 3},{i}" for i in range(72)),
        ],
        # A lot in the fourth hour, and next to nothing in the others.
        GOOGLE: [
            "bin_start_s,submits,class0,class1,class2,class3",
            *(f"{600 + 300 * i},{90 if i // 12 == 3 else i % 4},0,0,0,0" for i in range(200)),
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


SMALL: dict[str, Any] = {"size": "tiny"}

# --- instances from any folder ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"machines": "pai-2020"},
        {"machines": "gpu-2023", "fit": "any"},
        {"arrivals": "pai-2020", "jobs": 9},
        {"horizon": 12, "slot_seconds": 1200, "fit": "short"},
        {"worker_machines": 3, "server_machines": 1, "machines": "pai-2020"},
        {"priority": (5, 5), "classes": (0, 0, 1)},
        {"jobs": 0},
    ],
    ids=str,
)
def test_traces_give_valid_instances(options: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    instance = from_trace(folder, **SMALL | options)
    s = instance.setting
    assert s.horizon == options.get("horizon", 5)
    assert len(instance.jobs) == options.get("jobs", 4)
    assert len(s.worker_servers) == options.get("worker_machines", 2)
    assert len(s.parameter_servers) == options.get("server_machines", 2)
    if options.get("fit") != "any":
        assert instance.never == {}
    instance.save(tmp_path / "instance.json")
    again = AdmissionInstance.load(tmp_path / "instance.json")
    assert again == instance
    assert again.origin == instance.origin

    real, filled = "; ".join(instance.origin.real), "; ".join(instance.origin.filled)
    machines, arrivals = options.get("machines", "ec2"), options.get("arrivals", "google-2011")
    assert instance.origin.source == f"trace ({arrivals} arrivals, {machines} machines, seed 0)"
    assert (MACHINES[machines] if machines != "ec2" else "EC2 P2 and G3 (workers) and C4") in real
    assert sources.EVENTS[arrivals].file in real
    assert f"a slot being {options.get('slot_seconds', 3600)} s" in filled
    for part in ("storage", "demands of workers", "demands of parameter servers", "fit ", "utility"):
        assert part in filled


@pytest.mark.parametrize("machines", list(MACHINES))
def test_machines_with_gpus_are_for_workers_and_the_others_for_servers(machines: str, folder: Path) -> None:
    options: dict[str, Any] = {"machines": machines, "worker_machines": 40, "server_machines": 40, "jobs": 0}
    s = from_trace(folder, **options).setting
    types = {(t.gpu, t.cpu, t.memory) for t in sources.machine_types(folder, machines)}
    for rows, with_gpu in ((s.worker_servers, True), (s.parameter_servers, False)):
        assert {tuple(row) for row in rows[:, :3].tolist()} <= types
        assert ((rows[:, 0] > 0) == with_gpu).all()
        assert set(rows[:, 3]) == {1000.0}
        assert (rows[:, 4] % 1000 == 0).all()
        assert rows[:, 4].min() >= 20_000
        assert rows[:, 4].max() <= 50_000


def test_arrivals_are_as_often_as_in_the_trace(folder: Path) -> None:
    instance = from_trace(folder, horizon=10, jobs=1500, fit="any", seed=3)
    found = np.bincount([job.arrival for job in instance.jobs], minlength=11)[1:]
    events = sources.events(folder, "google-2011")
    first = events.time.min()
    first -= first % 3600
    slot = ((events.time - first) // 3600).astype(int)
    wanted = np.bincount(slot[slot < 9], weights=events.count[slot < 9], minlength=9)
    assert found[9] == 0  # nobody arrives in the last tenth
    expected = 1500 * wanted / wanted.sum()
    assert (np.abs(found[:9] - expected) <= 5 * np.sqrt(expected) + 1).all()


def test_the_jobs_are_drawn_as_those_of_the_generator(folder: Path) -> None:
    one, other = from_trace(folder, fit="any", seed=7), generate(fit="any", seed=7)
    assert one.setting.worker_servers.tolist() == other.setting.worker_servers.tolist()
    assert one.setting.parameter_servers.tolist() == other.setting.parameter_servers.tolist()
    sampled, wanted = (
        sorted(json.dumps({**job.to_dict(), "arrival": 0}) for job in x.jobs) for x in (one, other)
    )
    assert sampled == wanted


def test_a_trace_instance_is_decided_by_its_seed(folder: Path, tmp_path: Path) -> None:
    for i, seed in enumerate((4, 4, 5)):
        from_trace(folder, **SMALL, machines="pai-2020", seed=seed).save(tmp_path / str(i))
    one, two, other = ((tmp_path / str(i)).read_bytes() for i in range(3))
    assert one == two
    assert one != other


def test_the_front_door_is_the_function(folder: Path) -> None:
    assert clairvoyant.from_trace("admission", folder, **SMALL) == from_trace(folder, **SMALL)


def test_the_start_moves_the_window(miniature: Path) -> None:
    """The fourth hour from the first bin, at 19:00, has nearly all arrivals of the made-up folder."""
    for start, slot in ((None, 4), (68_400.0, 4), (75_600.0, 2)):
        arrivals = [
            job.arrival for job in from_trace(miniature, **SMALL, jobs=200, fit="any", start=start).jobs
        ]
        assert arrivals.count(slot) > 170


# --- bad traces and arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), [(GOOGLE, {}), (PAI, {"machines": "pai-2020"})])
def test_a_missing_file_is_named(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    for other, lines in made_up().items():
        if other != name:
            write(tmp_path, other, lines)
    with pytest.raises(InputError, match=f"{name}: cannot be read: No such file"):
        from_trace(tmp_path, **SMALL | options)


def test_only_what_is_needed_is_read(tmp_path: Path) -> None:
    write(tmp_path, GOOGLE, made_up()[GOOGLE])
    assert len(from_trace(tmp_path, **SMALL).jobs) == 4


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    write(tmp_path, GOOGLE, [*made_up()[GOOGLE], "60900,many,0,0,0,0"])
    with pytest.raises(InputError, match=r"derived-job_submits_per_5min\.csv\.gz: row 200: submits: 'many'"):
        from_trace(tmp_path, **SMALL)


def test_a_window_without_arrivals_is_told(tmp_path: Path) -> None:
    write(tmp_path, GOOGLE, [made_up()[GOOGLE][0], *(f"{600 + 300 * i},0,0,0,0,0" for i in range(200))])
    with pytest.raises(InputError, match=r"^arrivals: no job arrives in these slots$"):
        from_trace(tmp_path, **SMALL)
    assert from_trace(tmp_path, **SMALL, jobs=0).jobs == ()


def test_a_source_without_machines_of_a_kind_is_told(tmp_path: Path) -> None:
    write(tmp_path, GOOGLE, made_up()[GOOGLE])
    for line, kind in (("m,P100,64,512,2", "without"), ("m,CPU,96,512,0", "with")):
        write(tmp_path, PAI, [line] * 4)
        with pytest.raises(InputError, match=rf"^machines: pai-2020 has no machine {kind} GPU$"):
            from_trace(tmp_path, **SMALL, machines="pai-2020")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "size: 'huge' is not one of tiny, default, large"),
        ({"machines": "mainframe"}, "machines: 'mainframe' is not one of ec2, pai-2020, gpu-2023"),
        ({"arrivals": "none"}, "arrivals: 'none' is not one of pai-2020, pai-tasks-2020, google-2011"),
        ({"seed": -3}, "seed: -3 is not a whole number of at least 0"),
        ({"jobs": -1}, "jobs: -1 is not a whole number"),
        ({"horizon": 0}, "horizon: 0 is not a whole number of at least 1"),
        ({"horizon": 50}, "horizon: 50 is more than the 16 of 3600 s that the trace holds"),
        ({"slot_seconds": 0}, "slot_seconds: 0 is not at least 1"),
        ({"slot_seconds": 500}, "slot_seconds: 500 is no multiple of the 300 s that"),
        ({"start": -1.0}, r"start: -1\.0 is not at least 0"),
        ({"worker_machines": -1}, "worker_machines: -1 is not a whole number"),
        ({"server_machines": 1.5}, r"server_machines: 1\.5 is not a whole number"),
        ({"fit": "tight"}, "fit: 'tight' is not one of feasible, short, any"),
        ({"priority": (2, 1)}, r"priority: \(2, 1\) does not increase"),
        ({"classes": [1]}, r"classes: \[1\] is not a list of three shares"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str, miniature: Path) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        from_trace(miniature, **SMALL | options)
