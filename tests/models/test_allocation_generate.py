"""Generated allocation instances: the settings of the paper, determinism, common random numbers, origin."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.models import sources
from clairvoyant.models.allocation import draw, profile, utility
from clairvoyant.models.allocation.generate import SIZES, generate
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.base import InputError

DEFAULT = generate()
LARGE = generate("large")
TINY_SUMS = [56.165, 38.0, 0.784131277848386, 7.096193906985153, 14.0]
DEFAULT_SUMS = [10287.557046875, 4081.0, 2.1994439625704794, 958.6990349651505, 13910.0]
"""Of what all edges ask for, of capacities, overheads, alpha and arrivals, with the seeds 1 and 0."""


def binding(instance: AllocationInstance) -> float:
    """Share of (server, kind) rows with devices whose ports may together ask for more than there is."""
    s = instance.setting
    return float(((s.server_demand > s.capacity) & (s.capacity > 0)).mean())


# --- the paper's settings -----------------------------------------------------------------------------------


def test_default_is_table_1() -> None:
    s = DEFAULT.setting
    assert (s.ports, s.servers, s.kinds, s.slots) == (10, 128, 6, 2000)
    assert s.names.kinds == ("CPU", "MEM", "GPU", "NPU", "TPU", "FPGA")
    assert s.density == 2.5
    assert 1.0 <= s.alpha.min() < 1.05
    assert 1.45 < s.alpha.max() <= 1.5
    assert (s.overhead >= 0.3).all()
    assert (s.overhead <= 0.5).all()
    assert set(np.unique(DEFAULT.arrivals)) == {0, 1}
    assert DEFAULT.arrivals.mean() == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / DEFAULT.arrivals.size))
    assert {utility.KINDS[k] for k in np.unique(s.kind)} == set(utility.KINDS)


def test_large_is_section_4_3() -> None:
    s = LARGE.setting
    assert (s.ports, s.servers, s.kinds, s.slots) == (100, 1024, 6, 10_000)
    assert s.density == 10.0
    assert (s.overhead >= 0.01).all()
    assert (s.overhead <= 0.015).all()
    assert len(set(map(tuple, s.demand[:, :3].tolist()))) >= 60  # as many request classes as the profile has


def test_tiny_can_be_enumerated() -> None:
    s = generate("tiny").setting
    assert (s.ports, s.servers, s.kinds, s.slots) == (3, 3, 2, 6)
    assert 2 ** (s.ports * s.slots) < 300_000


@pytest.mark.parametrize("seed", range(5))
def test_default_contention_binds_most_rows_but_not_all(seed: int) -> None:
    share = binding(generate(seed=seed, slots=0))
    assert 0.5 <= share <= 0.85
    assert binding(generate(seed=seed, slots=0, contention=1.0)) < 0.1
    assert binding(generate(seed=seed, slots=0, contention=100.0)) > share


def test_contention_multiplies_the_requirements_and_nothing_else() -> None:
    one, ten = generate(slots=5, contention=1.0), generate(slots=5, contention=10.0)
    assert ten.setting.demand.tolist() == (10 * one.setting.demand).tolist()
    assert ten.with_arrivals(one.arrivals).to_dict() | {"demand": 0} == one.to_dict() | {"demand": 0}


def test_real_kinds_are_machines_and_requests_of_the_profile() -> None:
    unit = [sources.UNITS[name][0] for name in ("CPU", "MEM", "GPU")]
    machines = {(t.cpu, t.memory, t.gpu) for t in profile.machine_types("pai-2020")}
    classes = [(c.cpu, c.memory, c.gpu) for c in profile.request_classes("gpu-2023")]
    assert {tuple(row) for row in (DEFAULT.setting.capacity[:, :3] * unit).tolist()} <= machines
    for row in (DEFAULT.setting.demand[:, :3] * unit / 10.0).tolist():
        assert min(np.abs(np.subtract(row, c)).max() for c in classes) < 1e-9
    assert len(set(map(tuple, DEFAULT.setting.demand[:, :3].tolist()))) == 10  # no class twice


def test_machine_types_come_by_their_shares() -> None:
    types = profile.machine_types("pai-2020")
    count = Counter(name.split(":")[0] for name in generate(servers=5000, slots=0).setting.names.servers)
    for name in {t.name for t in types}:
        share = sum(t.count for t in types if t.name == name) / sum(t.count for t in types)
        assert count[name] / 5000 == pytest.approx(share, abs=4 * np.sqrt(share / 5000))


def test_filled_kinds_keep_their_stated_ranges() -> None:
    s = generate(servers=2000, ports=300, density=1.0, contention=1.0, slots=0).setting
    for k, name in enumerate(s.names.kinds):
        if name in draw.FILLED:
            fill = draw.FILLED[name]
            assert set(np.unique(s.capacity[:, k])) == set(fill.capacities)
            assert set(np.round(np.unique(s.demand[:, k]) * 10)) == set(range(fill.tenths + 1))


# --- origin -------------------------------------------------------------------------------------------------


def test_origin_says_synthetic_and_names_what_is_real_and_what_is_filled() -> None:
    text = str(DEFAULT.origin)
    assert text.startswith("synthetic (default, seed 0)")
    real, filled = " ".join(DEFAULT.origin.real), " ".join(DEFAULT.origin.filled)
    for name in sources.UNITS:
        assert name in real
        assert name not in filled
    for name in (*draw.FILLED, "edges", "utility", "alpha", "overhead", "arrivals: Bernoulli(0.7)"):
        assert name in filled
    assert "alibaba-gpu-v2020/pai_machine_spec.csv" in real
    assert "alibaba-gpu-v2023/openb_pod_list_gpuspec33.csv.gz" in real


def test_filled_devices_can_be_switched_off() -> None:
    bare = generate(slots=20, filled=False)
    full = generate(slots=20)
    assert bare.setting.names.kinds == ("CPU", "MEM", "GPU")
    assert bare.setting.capacity.tolist() == full.setting.capacity[:, :3].tolist()
    assert bare.setting.demand.tolist() == full.setting.demand[:, :3].tolist()
    assert bare.setting.edges.tolist() == full.setting.edges.tolist()
    assert bare.arrivals.tolist() == full.arrivals.tolist()
    assert not any(name in str(bare.origin) for name in draw.FILLED)


def test_only_filled_kinds_have_no_real_columns() -> None:
    instance = generate("tiny", kinds=["NPU", "FPGA"])
    assert instance.setting.names.kinds == ("NPU", "FPGA")
    assert instance.origin.real == ()


def test_units_scale_cpu_and_mem_and_nothing_else() -> None:
    usual, fine = generate("tiny", 3, kinds=draw.KINDS), generate("tiny", 3, kinds=draw.KINDS, units=(2, 16))
    factor = np.array([4.0, 4.0, 1.0, 1.0, 1.0, 1.0])
    assert np.allclose(fine.setting.demand, usual.setting.demand * factor, rtol=1e-12)
    assert np.allclose(fine.setting.capacity, usual.setting.capacity * factor, rtol=1e-12)
    assert fine.setting.alpha.tolist() == usual.setting.alpha.tolist()
    assert fine.setting.edges.tolist() == usual.setting.edges.tolist()
    assert "CPU (2 cores)/MEM (16 GB)" in str(fine.origin)
    assert generate("tiny", 3, units=(8.0, 64.0), integer=False).digest() == generate("tiny", 3).digest()


def test_integer_requirements_are_rounded_up() -> None:
    whole, parts = generate(slots=0, integer=True), generate(slots=0)
    assert whole.setting.demand.tolist() == np.ceil(parts.setting.demand).tolist()
    assert "demand: rounded up to whole devices" in str(whole.origin)
    assert whole.setting.capacity.tolist() == parts.setting.capacity.tolist()


def test_uniform_amounts_fill_the_ranges_of_the_public_code() -> None:
    drawn: dict[str, Any] = {"machines": "uniform", "requests": "uniform", "units": (1.0, 1.0)}
    s = generate(slots=0, servers=4000, ports=300, density=20.0, contention=0.4, **drawn).setting
    low, high = np.array(list(draw.RANGES.values()), dtype=float).T
    assert s.names.kinds == tuple(draw.RANGES)
    assert (s.capacity.min(axis=0) == low).all()
    assert (s.capacity.max(axis=0) == high).all()
    assert np.abs(s.capacity.mean(axis=0) / ((low + high) / 2) - 1.0).max() < 0.05
    assert (s.capacity == np.floor(s.capacity)).all()
    assert ((s.demand >= 0.4 * low) & (s.demand <= 0.4 * high)).all()
    assert (s.demand != np.floor(s.demand)).any()
    text = str(generate("tiny", **drawn).origin)
    assert "CPU (in 1 core; capacity and demand uniform on 1 to 128)" in text
    assert "alibaba" not in text


# --- determinism and common random numbers ------------------------------------------------------------------


def test_a_seed_decides_every_byte(tmp_path: Path) -> None:
    for name in ("one", "two"):
        generate(seed=7, slots=50).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_draws_do_not_change_between_releases() -> None:
    """Up to the last digits, which exp and log of another processor may change."""

    def summed(instance: AllocationInstance) -> list[float]:
        s = instance.setting
        return [float(x.sum()) for x in (s.edge_demand, s.capacity, s.overhead, s.alpha, instance.arrivals)]

    assert summed(generate("tiny", 1)) == pytest.approx(TINY_SUMS, rel=1e-9)
    assert summed(DEFAULT) == pytest.approx(DEFAULT_SUMS, rel=1e-9)


def test_seeds_differ() -> None:
    assert len({generate("tiny", seed).digest() for seed in range(20)}) == 20


def same_setting(one: AllocationInstance, two: AllocationInstance) -> bool:
    return one.with_arrivals([]) == two.with_arrivals([])


def test_the_first_slots_do_not_depend_on_the_horizon() -> None:
    settings_of: list[dict[str, Any]] = [{}, {"counts": True, "pattern": "pai-2020"}]
    for options in settings_of:
        short, long = generate(slots=30, **options), generate(slots=90, **options)
        assert long.arrivals[:30].tolist() == short.arrivals.tolist()
        assert same_setting(short, long)


@given(
    low=st.floats(0.0, 0.99, allow_subnormal=False),
    high=st.floats(0.0, 0.99, allow_subnormal=False),
    counts=st.booleans(),
    fano=st.floats(1.0, 20.0),
)
@settings(max_examples=25, deadline=None)
def test_more_probability_only_adds_arrivals(low: float, high: float, counts: bool, fano: float) -> None:
    low, high = sorted((low, high))
    options: dict[str, Any] = {"slots": 40, "counts": counts, "fano": fano}
    few, many = (generate(arrival_probability=p, **options) for p in (low, high))
    assert (few.arrivals <= many.arrivals).all()
    assert same_setting(few, many)


def test_arrivals_do_not_depend_on_the_graph() -> None:
    one, two = generate(slots=9), generate(slots=9, density=3.0, servers=20, contention=3.0, utility="log")
    assert one.arrivals.tolist() == two.arrivals.tolist()


def test_more_servers_and_ports_only_add_to_the_columns() -> None:
    few, many = generate(slots=0, servers=20, ports=5), generate(slots=0, servers=50, ports=90)
    assert many.setting.capacity[:20, :3].tolist() == few.setting.capacity[:, :3].tolist()
    assert many.setting.demand[:5, :3].tolist() == few.setting.demand[:, :3].tolist()


# --- the graph ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("density", [2.0, 2.5, 3.0, 10.0])
def test_density_is_reached_exactly(density: float) -> None:
    assert generate(slots=0, density=density).setting.density == density


@given(
    ports=st.integers(1, 12),
    servers=st.integers(1, 12),
    share=st.floats(0.0, 1.0, allow_subnormal=False),
    seed=st.integers(0, 99),
)
@settings(max_examples=100, deadline=None)
def test_nobody_is_left_out_where_edges_suffice(ports: int, servers: int, share: float, seed: int) -> None:
    s = generate("tiny", seed, ports=ports, servers=servers, density=share * ports).setting
    count = round(share * ports * servers)
    assert len(s.edges) == count
    assert len(set(s.port.tolist())) >= min(ports, count)
    assert len(set(s.server.tolist())) >= min(servers, count)


@given(low=st.floats(0.0, 10.0, allow_subnormal=False), high=st.floats(0.0, 10.0, allow_subnormal=False))
@settings(max_examples=25, deadline=None)
def test_more_density_only_adds_edges(low: float, high: float) -> None:
    few, many = (
        set(map(tuple, generate(slots=0, servers=16, density=d).setting.edges.tolist()))
        for d in sorted((low, high))
    )
    assert few <= many


def test_every_graph_is_equally_likely_beyond_the_cover() -> None:
    """Every pair is an edge about equally often: the cover prefers no port and no server."""
    seen = np.zeros((4, 6))
    for seed in range(400):
        edges = generate("tiny", seed, slots=0, ports=4, servers=6, density=2.0).setting.edges
        seen[edges[:, 0], edges[:, 1]] += 1
    assert seen.sum() == 400 * 12
    assert np.abs(seen / 400 - 0.5).max() < 4 * 0.5 / np.sqrt(400)


# --- utilities ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", utility.KINDS)
def test_one_family(name: str) -> None:
    instance = generate(slots=3, utility=name)
    assert {utility.KINDS[k] for k in np.unique(instance.setting.kind)} == {name}
    assert np.isfinite(instance.rewards(instance.setting.project(instance.setting.edge_demand))).all()


@pytest.mark.parametrize(
    ("wanted", "shares"),
    [
        ("mix", [0.25, 0.25, 0.25, 0.25]),
        ({"linear": 1, "poly": 3}, [0.25, 0, 0, 0.75]),
        ({"log": 0.5, "reciprocal": 0.5, "linear": 0.0}, [0, 0.5, 0.5, 0]),
    ],
)
def test_mixes_follow_their_weights(wanted: Any, shares: list[float]) -> None:
    kind = generate(slots=0, servers=2000, utility=wanted).setting.kind
    found = np.bincount(kind.ravel(), minlength=4) / kind.size
    assert found == pytest.approx(shares, abs=4 * 0.5 / np.sqrt(kind.size))
    assert (found[np.array(shares) == 0] == 0).all()


def test_ranges_of_alpha_and_overhead() -> None:
    s = generate(slots=0, alpha=(2.0, 2.0), overhead=(0.0, 0.1)).setting
    assert (s.alpha == 2.0).all()
    assert (s.overhead <= 0.1).all()


# --- arrivals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "want"), [(0.0, 0.0), (1.0, 1.0), (0.3, 0.3)])
def test_bernoulli(rho: float, want: float) -> None:
    x = generate(arrival_probability=rho, slots=3000).arrivals
    assert x.mean() == pytest.approx(want, abs=4 * np.sqrt(0.25 / x.size))


@pytest.mark.parametrize("fano", [1.0, 1.5, 6.0])
def test_counts_have_the_stated_spread_and_the_same_slots(fano: float) -> None:
    single = generate(slots=20_000).arrivals
    counts = generate(slots=20_000, counts=True, fano=fano).arrivals
    assert ((counts > 0) == (single > 0)).all()
    assert counts.var() / counts.mean() == pytest.approx(fano, rel=0.05)


def test_poisson_counts_have_their_mean() -> None:
    counts = generate(slots=20_000, counts=True).arrivals
    assert counts.mean() == pytest.approx(-np.log(0.3), rel=0.01)
    assert (counts == 2).mean() == pytest.approx(0.3 * np.log(0.3) ** 2 / 2, rel=0.03)


def test_a_daily_pattern_follows_the_profile() -> None:
    rate = profile.by_hour("pai-2020")
    x = generate(slots=24 * 1500, pattern="pai-2020").arrivals
    found = x.reshape(1500, 24, 10).mean(axis=(0, 2))
    assert found == pytest.approx(1 - 0.3**rate, abs=4 * 0.5 / np.sqrt(15_000))
    halves = generate(slots=48, pattern="pai-2020", slots_per_day=48, arrival_probability=0.99).arrivals
    assert halves.shape == (48, 10)
    assert "daily rhythm of alibaba-gpu-v2020/pai.csv" in str(generate("tiny", pattern="pai-2020").origin)
    assert "variance / mean 2" in str(generate("tiny", counts=True, fano=2.0).origin)


# --- bad arguments ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": "huge"}, "size: 'huge' is not one of tiny, default, large"),
        ({"units": (0, 64)}, r"units\[0\]: 0 is not at least 0.001"),
        ({"units": 8.0}, r"units: 8\.0 is not a pair"),
        ({"integer": 1}, "integer: 1 is neither true nor false"),
        ({"machines": "uniform"}, "machines: 'uniform' and requests 'gpu-2023' are not both 'uniform'"),
        ({"requests": "uniform"}, "machines: 'pai-2020' and requests 'uniform' are not both 'uniform'"),
        ({"seed": -1}, "seed: -1 is not a whole number of at least 0"),
        ({"seed": 1.5}, r"seed: 1\.5 is not a whole number"),
        ({"seed": True}, "seed: True is not a whole number"),
        ({"slots": -1}, "slots: -1 is not a whole number of at least 0"),
        ({"slots": 2.0}, r"slots: 2\.0 is not a whole number"),
        ({"ports": 0}, "ports: 0 is not a whole number of at least 1"),
        ({"servers": "8"}, "servers: '8' is not a whole number"),
        ({"density": 11.0}, r"density: 11\.0 is not at least 0 and at most 10"),
        ({"density": -0.5}, r"density: -0\.5 is not at least 0"),
        ({"density": float("nan")}, "density: nan is not a finite number"),
        ({"density": "2"}, "density: '2' is not a finite number"),
        ({"density": True}, "density: True is not a finite number"),
        ({"arrival_probability": 1.2}, r"arrival_probability: 1\.2 is not at least 0 and at most 1"),
        (
            {"arrival_probability": 1.0, "counts": True},
            "arrival_probability: 1 leaves the number of jobs open",
        ),
        ({"contention": -1}, "contention: -1 is not at least 0"),
        ({"contention": float("inf")}, "contention: inf is not a finite number"),
        ({"utility": "cubic"}, "utility: 'cubic' is not one of linear, log, reciprocal, poly, mix"),
        ({"utility": 3}, "utility: 3 is neither a name nor a mapping"),
        ({"utility": {"cubic": 1}}, "utility: 'cubic' is not one of linear, log, reciprocal, poly"),
        ({"utility": {"log": -1}}, r"utility\.log: -1 is not at least 0"),
        ({"utility": {"log": 0}}, r"utility: \{'log': 0\} gives no family a positive weight"),
        ({"alpha": (1.5, 1.0)}, r"alpha: \(1\.5, 1\.0\) does not increase"),
        ({"alpha": 1.0}, r"alpha: 1\.0 is not a pair"),
        ({"alpha": (1.0,)}, r"alpha: \(1\.0,\) is not a pair"),
        ({"alpha": "ab"}, "alpha: 'ab' is not a pair"),
        ({"alpha": (-1.0, 1.0)}, r"alpha\[0\]: -1\.0 is not at least 0"),
        ({"overhead": (0.5, 1.5)}, r"overhead\[1\]: 1\.5 is not at least 0 and at most 1"),
        ({"kinds": "CPU"}, "kinds: 'CPU' is not a list of names"),
        ({"kinds": ["CPU", "DPU"]}, r"kinds\[1\]: 'DPU' is not one of CPU, MEM, GPU, NPU, TPU, FPGA"),
        ({"kinds": ["CPU", "CPU"]}, r"kinds\[1\]: 'CPU' stands twice"),
        ({"kinds": []}, r"kinds: \[\] leaves no kind of device"),
        ({"kinds": ["NPU"], "filled": False}, r"kinds: \['NPU'\] leaves no kind of device"),
        ({"fano": 0.5}, r"fano: 0\.5 is not at least 1"),
        ({"pattern": "weekly"}, "pattern: 'weekly' is not one of pai-2020, google-2011"),
        ({"slots_per_day": 0}, "slots_per_day: 0 is not a whole number of at least 1"),
        ({"machines": "mainframe"}, "machines: 'mainframe' is not one of pai-2020, gpu-2023"),
        ({"requests": "none"}, "requests: 'none' is not one of gpu-2023, v2018, dlrm-2025"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        generate(**arguments)


def test_numpy_numbers_are_numbers() -> None:
    assert generate("tiny", np.int64(3), ports=np.int32(2), density=np.float32(1.5)) == generate(  # type: ignore[arg-type]
        "tiny", 3, ports=2, density=1.5
    )


# --- other sources ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machines", ["pai-2020", "gpu-2023"])
@pytest.mark.parametrize("requests", ["gpu-2023", "v2018", "dlrm-2025"])
@pytest.mark.parametrize("size", SIZES)
def test_every_source_and_size_gives_a_valid_instance(size: str, machines: str, requests: str) -> None:
    instance = generate(size, 3, slots=4, machines=machines, requests=requests)
    assert AllocationInstance.from_dict(json.loads(json.dumps(instance.to_dict()))) == instance
    assert profile.load()["machines"][machines]["source"] in str(instance.origin)
    assert profile.load()["requests"][requests]["source"] in str(instance.origin)


def test_the_profile_holds_facts_and_names_its_sources() -> None:
    facts = profile.load()
    for group in ("machines", "requests", "arrivals"):
        for entry in facts[group].values():
            assert entry["source"]
            assert entry["terms"]
    for name in facts["machines"]:
        types = profile.machine_types(name)
        assert min(t.count for t in types) >= profile.LEAST
        assert sum(t.count for t in types) <= facts["machines"][name]["machines"]
    for name in facts["requests"]:
        assert min(c.count for c in profile.request_classes(name)) >= profile.LEAST
    for name in facts["arrivals"]:
        assert profile.by_hour(name).shape == (24,)
        assert profile.by_hour(name).mean() == pytest.approx(1.0, abs=1e-3)
