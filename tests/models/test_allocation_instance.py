"""The allocation instance: its files, its equality, what it refuses, its reward and its feasible set."""

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.models.allocation import utility
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.allocation.setting import Names
from clairvoyant.models.base import DecisionError, InputError, Origin, Violation


def fields() -> dict[str, Any]:
    """Return a small instance in JSON form: 2 ports, 3 servers, 2 kinds, 4 slots; server 2 has no port."""
    return {
        "problem": "allocation",
        "version": 1,
        "edges": [[1, 1], [0, 0], [1, 0]],
        "demand": [[1.0, 2.0], [3.0, 0.5]],
        "capacity": [[2.0, 1.0], [4.0, 0.25], [1.0, 0.0]],
        "overhead": [0.3, 0.5],
        "utility": {
            "kind": [["linear", "log"], ["reciprocal", "poly"], ["log", "log"]],
            "alpha": [[1.0, 1.25], [1.5, 1.0], [1.0, 1.0]],
        },
        "arrivals": [[1, 0], [0, 2], [0, 0], [3, 1]],
        "names": {"ports": ["training", "serving"], "kinds": ["CPU", "GPU"]},
        "origin": {"source": "written for a test", "real": [], "filled": ["all"]},
    }


def small(**changes: Any) -> AllocationInstance:
    return AllocationInstance.from_dict(fields() | changes)


@st.composite
def instances(draw: st.DrawFn) -> AllocationInstance:
    """Draw small instances with any graph, any utilities and several arrivals per port."""
    ports, servers, kinds, slots = (draw(st.integers(low, 4)) for low in (1, 1, 1, 0))
    pairs = [[p, r] for p in range(ports) for r in range(servers)]
    amount = st.sampled_from([0.0, 0.5, 1.0, 3.0]) | st.floats(1e-9, 10.0)

    def table(rows: int, columns: int, values: st.SearchStrategy[Any]) -> list[list[Any]]:
        return [[draw(values) for _ in range(columns)] for _ in range(rows)]

    return AllocationInstance(
        edges=draw(st.lists(st.sampled_from(pairs), unique_by=tuple)),
        demand=table(ports, kinds, amount),
        capacity=table(servers, kinds, amount),
        overhead=[draw(st.just(0.0) | st.floats(1e-50, 1.0)) for _ in range(kinds)],
        utility_kind=table(servers, kinds, st.sampled_from(utility.KINDS)),
        alpha=table(servers, kinds, st.floats(0.1, 3.0)),
        arrivals=np.array(table(slots, ports, st.integers(0, 3)), dtype=np.int64).reshape(slots, ports),
    )


@st.composite
def instances_and_points(draw: st.DrawFn) -> tuple[AllocationInstance, np.ndarray, np.ndarray]:
    """Draw an instance and two feasible decisions, often on the boundary."""
    instance = draw(instances())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    setting = instance.setting

    def point() -> np.ndarray:
        return setting.project(rng.normal(0.5, 1.0, setting.shape) * (setting.edge_demand + 0.1))

    return instance, point(), point()


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["instance.json", "instance.json.gz"])
def test_a_round_trip_keeps_every_byte(name: str, tmp_path: Path) -> None:
    first, second = tmp_path / name, tmp_path / f"again-{name}"
    instance = small()
    instance.save(first)
    again = AllocationInstance.load(first)
    again.save(second)
    assert first.read_bytes() == second.read_bytes()
    assert again == instance
    assert again.digest() == instance.digest()
    assert again.setting.names == Names(("training", "serving"), (), ("CPU", "GPU"))
    assert again.origin == Origin("written for a test", (), ("all",))
    assert (first.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


@given(instances())
@settings(max_examples=40, deadline=None)
def test_the_json_form_gives_the_instance_back(instance: AllocationInstance) -> None:
    text = json.dumps(instance.to_dict())
    again = AllocationInstance.from_dict(json.loads(text))
    assert again == instance
    assert json.dumps(again.to_dict()) == text


def test_an_origin_reads_well() -> None:
    assert str(Origin("by hand")) == "by hand"
    assert str(Origin("trace", ("CPU", "GPU"), ("TPU",))) == "trace; real: CPU, GPU; filled: TPU"


def test_problem_and_version_come_first() -> None:
    assert list(small().to_dict())[:2] == ["problem", "version"]


def test_the_digest_does_not_change_between_releases() -> None:
    assert small().digest() == "84caeb73838e59d2"


def test_equality_is_by_value_and_ignores_labels() -> None:
    assert small() == small()
    assert hash(small()) == hash(small())
    assert small() == small(names={}, origin={"source": "elsewhere"})
    assert small() == small(edges=[[0, 0], [1, 0], [1, 1]])  # the order of the edges is free
    assert small() == small(capacity=[[2.0, 1.0], [4.0, 0.25], [1.0, -0.0]])  # -0.0 is 0.0
    assert small() != small(arrivals=[[1, 0]])
    assert small() != "allocation"


@pytest.mark.parametrize(
    "change",
    [
        {"edges": [[0, 0], [1, 0]]},
        {"demand": [[1.0, 2.0], [3.0, 0.6]]},
        {"capacity": [[2.0, 1.0], [4.0, 0.25], [1.0, 1.0]]},
        {"overhead": [0.3, 0.4]},
        {"utility": fields()["utility"] | {"alpha": [[1.0, 1.25], [1.5, 1.0], [1.0, 2.0]]}},
        {"utility": fields()["utility"] | {"kind": [["linear", "log"], ["log", "poly"], ["log", "log"]]}},
        {"arrivals": [[1, 0], [0, 2], [0, 0], [3, 2]]},
        {"copy_of": [0, 0]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_number_counts_for_equality(change: dict[str, Any]) -> None:
    assert small(**change) != small()


def test_arrays_are_read_only() -> None:
    instance = small()
    s = instance.setting
    for array in (
        s.edges,
        s.demand,
        s.capacity,
        s.overhead,
        s.kind,
        s.alpha,
        s.edge_demand,
        instance.arrivals,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_given_arrays_are_copied() -> None:
    arrivals = np.ones((2, 2), dtype=np.int64)
    instance = small(arrivals=arrivals)
    arrivals[:] = 7
    assert instance.arrivals.max() == 1


def test_repr_shows_the_size() -> None:
    assert "ports=2, servers=3, kinds=2, edges=3, slots=4" in repr(small())


def damaged(data: bytes) -> dict[str, bytes]:
    """Return damaged contents of an instance file by what is wrong with them."""
    return {
        "truncated": data[: len(data) // 2],
        "binary": bytes(range(256)),
        "list": b"[1, 2]",
        "deep": b"[" * 100_000,
        "empty": b"",
    }


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("truncated", "not a complete JSON text"),
        ("binary", "cannot be read"),
        ("list", "the file holds list, not one object"),
        ("deep", "not a complete JSON text"),
        ("empty", "not a complete JSON text"),
    ],
)
def test_damaged_files_are_refused_by_name(kind: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.json"
    path.write_bytes(damaged(json.dumps(fields()).encode())[kind])
    with pytest.raises(InputError, match=message) as caught:
        AllocationInstance.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw[: len(raw) // 2], "cannot be read|damaged gzip"),
        (lambda raw: raw[:-3], "cannot be read|damaged gzip"),
        (lambda raw: raw[:20] + bytes([raw[20] ^ 255]) + raw[21:], "cannot be read|damaged gzip"),
        (lambda _: b"not gzip at all", "cannot be read"),
    ],
    ids=["half", "without its end", "one byte changed", "plain text"],
)
def test_damaged_gzip_is_refused(change: Callable[[bytes], bytes], message: str, tmp_path: Path) -> None:
    path = tmp_path / "instance.json.gz"
    path.write_bytes(change(gzip.compress(json.dumps(fields()).encode(), mtime=0)))
    with pytest.raises(InputError, match=message):
        AllocationInstance.load(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            AllocationInstance.load(path)


@pytest.mark.parametrize("version", [0, 2, "1", 1.5, True, None])
def test_another_version_is_refused(version: Any, tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(fields() | {"version": version}), encoding="utf-8")
    with pytest.raises(InputError, match=f"version: {version!r} is not supported, expected 1"):
        AllocationInstance.load(path)


def test_another_problem_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(fields() | {"problem": "placement"}), encoding="utf-8")
    with pytest.raises(InputError, match="problem: 'placement' is not 'allocation'"):
        AllocationInstance.load(path)


def test_an_error_inside_a_file_names_the_file_and_the_field(tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(fields() | {"overhead": [0.3, -0.5]}), encoding="utf-8")
    with pytest.raises(InputError, match=r"instance\.json: overhead\[1\]: -0\.5 is not"):
        AllocationInstance.load(path)


def test_unwritable_output_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        small().save(tmp_path / "no such folder" / "instance.json")
    folder = tmp_path / "folder.json"  # exists, and is no file
    folder.mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        small().save(folder)
    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []


def test_saving_replaces_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    path.write_text("old", encoding="utf-8")
    small().save(path)
    assert AllocationInstance.load(path) == small()
    assert [p.name for p in tmp_path.iterdir()] == ["instance.json"]


# --- bad input: the message holds field, index and value ----------------------------------------------------


def table(field: str, index: tuple[int, ...], value: Any) -> Any:
    """Return a field of the small instance with one entry replaced."""
    copy = json.loads(json.dumps(fields()[field]))
    inner = copy
    for i in index[:-1]:
        inner = inner[i]
    inner[index[-1]] = value
    return copy


NUMBERS = [
    ("demand", (1, 0)),
    ("capacity", (2, 1)),
    ("overhead", (1,)),
    ("arrivals", (3, 1)),
    ("edges", (2, 0)),
]


@pytest.mark.parametrize(("field", "index"), NUMBERS, ids=[field for field, _ in NUMBERS])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "-1 is not"),
        (math.nan, "nan is not"),
        (math.inf, "inf is not"),
        (-math.inf, "-inf is not"),
        (True, "True is not a number"),
        ("2", "'2' is not a number"),
        (None, "None is not a number"),
        ([1], r"\[1\] is not a number"),
    ],
    ids=["negative", "nan", "inf", "-inf", "bool", "string", "null", "list"],
)
def test_a_bad_number_is_named(field: str, index: tuple[int, ...], value: Any, shown: str) -> None:
    where = field + "".join(rf"\[{i}\]" for i in index)
    with pytest.raises(InputError, match=f"^{where}: {shown}"):
        small(**{field: table(field, index, value)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"overhead": [0.3, 1.5]}, r"overhead\[1\]: 1\.5 is not a finite number of at least 0 and at most 1"),
        ({"overhead": []}, "overhead: empty"),
        ({"overhead": 0.5}, r"overhead: 0\.5 is not a list"),
        ({"demand": [[1.0, 2.0], [3.0]]}, r"demand\[1\]: length 1 differs from 2 of the first row"),
        ({"demand": [[1.0, 2.0], 3.0]}, r"demand\[1\]: 3\.0 is not a list"),
        ({"demand": [[1.0, 2.0, 3.0]] * 2}, "demand: shape 2 x 3 does not fit, expected n x 2"),
        ({"demand": []}, "demand: empty; an instance needs at least one port"),
        ({"demand": [[1e400, 2.0], [3.0, 0.5]]}, r"demand\[0\]\[0\]: inf is not"),
        ({"demand": [[10**400, 2.0], [3.0, 0.5]]}, r"demand\[0\]\[0\]: a whole number beyond"),
        ({"capacity": []}, "capacity: empty"),
        ({"capacity": [[1.0], [2.0]]}, "capacity: shape 2 x 1 does not fit, expected n x 2"),
        ({"arrivals": [[1, 0.5]]}, r"arrivals\[0\]\[1\]: 0\.5 is not a whole number"),
        ({"arrivals": [[1, 0, 1]]}, "arrivals: shape 1 x 3 does not fit, expected n x 2"),
        ({"arrivals": [[2.0**40, 0]]}, r"arrivals\[0\]\[0\]: 1099511627776 is not a whole number"),
        ({"arrivals": "none"}, "arrivals: 'none' is not a list"),
        ({"edges": [[0, 0], [1, 3]]}, r"edges\[1\]\[1\]: 3 is out of range for 3 servers"),
        ({"edges": [[0, 0], [2, 0]]}, r"edges\[1\]\[0\]: 2 is out of range for 2 ports"),
        ({"edges": [[0, 0], [1, 1], [0, 0]]}, r"edges\[2\]: \[0, 0\] stands twice"),
        ({"edges": [[0, 0, 0]]}, "edges: shape 1 x 3 does not fit, expected n x 2"),
        ({"edges": [[0, 0.5]]}, r"edges\[0\]\[1\]: 0\.5 is not a whole number"),
        ({"edges": 3}, "edges: 3 is not a list"),
        ({"edges": None}, "edges: None is not a list"),
        ({"utility": "log"}, "utility: 'log' is not an object with kind and alpha"),
        ({"names": {"ports": ["one"]}}, r"names\.ports: \['one'\] is not a list of 2 names"),
        ({"names": {"ports": ["one", 2]}}, r"names\.ports\[1\]: 2 is not a string"),
        ({"names": {"colour": []}}, r"names\.colour: unknown field; expected one of kinds, ports, servers"),
        ({"names": 3}, "names: 3 is not an object"),
        ({"names": []}, r"names: \[\] is not an object"),
        ({"origin": "here"}, "origin: 'here' is not an object"),
        ({"origin": {"source": 3}}, r"origin\.source: 3 is not a string"),
        ({"origin": {}}, r"origin\.source: missing field"),
        ({"origin": {"source": "x", "real": "y"}}, r"origin\.real: 'y' is not a list of strings"),
        ({"origin": {"source": "x", "filled": [1]}}, r"origin\.filled\[0\]: 1 is not a string"),
        ({"origin": {"source": "x", "by": 1}}, r"origin\.by: unknown field"),
        ({"copy_of": [0, 2]}, r"copy_of\[1\]: 2 is not a whole number of at least 0 and at most 1"),
        ({"copy_of": [0]}, "copy_of: shape 1 does not fit, expected 2"),
        ({"capacities": []}, "capacities: unknown field; expected one of arrivals, capacity"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        small(**changes)


@pytest.mark.parametrize(
    ("kind", "alpha", "message"),
    [
        ("cubic", 1.0, r"utility\.kind\[1\]\[0\]: 'cubic' is not one of linear, log, reciprocal, poly"),
        (2, 1.0, r"utility\.kind\[1\]\[0\]: 2 is not one of"),
        ("log", -1.0, r"utility\.alpha\[1\]\[0\]: -1 is not a finite number of at least 0"),
        ("log", math.nan, r"utility\.alpha\[1\]\[0\]: nan is not"),
        ("reciprocal", 0.0, r"utility\.alpha\[1\]\[0\]: 0 is not positive, as reciprocal needs"),
    ],
)
def test_a_bad_utility_is_named(kind: Any, alpha: float, message: str) -> None:
    good = fields()["utility"]
    good["kind"][1][0], good["alpha"][1][0] = kind, alpha
    with pytest.raises(InputError, match=f"^{message}"):
        small(utility=good)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": [["log", "log"]]}, r"utility\.kind: expected a list of 3 lists of names"),
        ({"kind": "log"}, r"utility\.kind: expected a list of 3 lists of names"),
        (
            {"kind": [["log", "log"], ["log"], ["log", "log"]]},
            r"utility\.kind\[1\]: \['log'\] is not a list of 2",
        ),
        ({"alpha": [[1.0, 1.0]]}, r"utility\.alpha: shape 1 x 2 does not fit, expected 3 x 2"),
        ({"beta": 1}, r"utility\.beta: unknown field"),
    ],
)
def test_a_misshapen_utility_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        small(utility=fields()["utility"] | change)


@pytest.mark.parametrize("name", ["edges", "demand", "capacity", "overhead", "utility", "arrivals"])
def test_a_missing_field_is_named(name: str) -> None:
    data = fields()
    del data[name]
    with pytest.raises(InputError, match=f"^{name}: missing field"):
        AllocationInstance.from_dict(data)


@pytest.mark.parametrize("name", ["kind", "alpha"])
def test_a_missing_part_of_the_utility_is_named(name: str) -> None:
    data = fields()
    del data["utility"][name]
    with pytest.raises(InputError, match=f"^utility.{name}: missing field"):
        AllocationInstance.from_dict(data)


# --- degenerate instances are valid -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"arrivals": []},
        {"arrivals": np.zeros((0, 2))},
        {"arrivals": [[0, 0], [0, 0]]},
        {"edges": []},
        {"edges": [[0, 2]]},
        {"capacity": [[0.0, 0.0]] * 3},
        {"demand": [[0.0, 0.0]] * 2},
    ],
    ids=["T=0", "T=0 as array", "no arrivals", "no edges", "port without edges", "no capacity", "no demand"],
)
def test_degenerate_instances_are_valid(changes: dict[str, Any], tmp_path: Path) -> None:
    instance = small(**changes)
    instance.save(tmp_path / "instance.json")
    assert AllocationInstance.load(tmp_path / "instance.json") == instance
    setting = instance.setting
    y = setting.project(setting.edge_demand)
    assert instance.violations(y) == []
    assert instance.rewards(y).shape == (setting.slots,)
    assert np.isfinite(instance.rewards(y)).all()
    assert [outcome.feasible for outcome in replay(instance, y)] == [True] * setting.slots


def replay(instance: AllocationInstance, y: np.ndarray) -> list[Any]:
    """Play one decision in every slot."""
    episode = instance.episode(frozenset())
    return [episode.apply(y) for _ in episode]


# --- reward, supergradient, feasible set --------------------------------------------------------------------


def f(kind: str, alpha: float, y: float) -> float:
    """Utility (27), letter by letter."""
    if kind == "linear":
        return alpha * y
    if kind == "log":
        return alpha * math.log(y + 1)
    if kind == "reciprocal":
        return 1 / alpha - 1 / (y + alpha)
    return alpha * math.sqrt(y + 1) - alpha


def literal_reward(data: dict[str, Any], y: dict[tuple[int, int], list[float]], x: list[int]) -> float:
    """Reward of a slot, (5) and (7) letter by letter, from the JSON form of an instance."""
    total = 0.0
    for l, jobs in enumerate(x):  # noqa: E741 (the paper's letter)
        gain, held = 0.0, [0.0] * len(data["overhead"])
        for port, r in data["edges"]:
            if port == l:
                for k, amount in enumerate(y[l, r]):
                    gain += f(data["utility"]["kind"][r][k], data["utility"]["alpha"][r][k], amount)
                    held[k] += amount
        total += jobs * (gain - max(beta * h for beta, h in zip(data["overhead"], held, strict=True)))
    return total


@given(instances_and_points())
@settings(max_examples=80, deadline=None)
def test_reward_equals_the_formula(sampled: tuple[AllocationInstance, np.ndarray, np.ndarray]) -> None:
    instance, y, _ = sampled
    data = instance.to_dict()
    by_edge = {(p, r): y[e].tolist() for e, (p, r) in enumerate(data["edges"])}
    want = [literal_reward(data, by_edge, x) for x in data["arrivals"]]
    assert instance.rewards(y) == pytest.approx(want, rel=1e-11, abs=1e-11)
    outcomes = replay(instance, y)
    assert [o.reward for o in outcomes] == pytest.approx(want, rel=1e-11, abs=1e-11)
    assert [o.feedback.reward for o in outcomes] == [o.reward for o in outcomes]
    total = instance.arrival_counts @ instance.setting.port_rewards(y)
    assert total == pytest.approx(sum(want), rel=1e-11, abs=1e-10)


@given(instances_and_points())
@settings(max_examples=80, deadline=None)
def test_supergradient_bounds_the_reward_everywhere(
    sampled: tuple[AllocationInstance, np.ndarray, np.ndarray],
) -> None:
    """Concavity: q(z) <= q(y) + g (z - y) for every y and z, also where the maximum of (10) has ties."""
    instance, y, z = sampled
    setting = instance.setting
    for x in [*instance.arrivals, np.ones(setting.ports, dtype=np.int64)]:
        for at in (y, np.zeros_like(y)):
            bound = setting.evaluate(at, x)[0] + (setting.supergradient(at, x) * (z - at)).sum()
            assert setting.evaluate(z, x)[0] <= bound + 1e-9 * (1 + abs(bound))


@given(instances_and_points())
@settings(max_examples=40, deadline=None)
def test_supergradient_is_the_derivative_where_there_is_one(
    sampled: tuple[AllocationInstance, np.ndarray, np.ndarray],
) -> None:
    instance, y, z = sampled
    setting, h = instance.setting, 1e-6
    x = np.arange(1, setting.ports + 1)
    middle, direction = 0.5 * (y + z) + 0.1, y - z
    weighted = np.sort(setting.port_sums(middle) * setting.overhead, axis=1)
    if setting.kinds > 1 and (weighted[:, -1] - weighted[:, -2]).min() < 1e-3:
        return  # a tie of the maximum: not differentiable

    def reward(step: float) -> float:
        return setting.evaluate(middle + step * direction, x)[0]

    slope = (setting.supergradient(middle, x) * direction).sum()
    assert (reward(h) - reward(-h)) / (2 * h) == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_ties_of_the_overhead_go_to_the_smallest_kind() -> None:
    instance = small(overhead=[0.5, 0.5])
    setting = instance.setting
    slope = utility.slope_at_zero(setting.edge_kind, setting.edge_alpha)
    g = setting.supergradient(np.zeros(setting.shape), np.ones(2, dtype=np.int64))
    assert (slope - g).tolist() == [[0.5, 0.0]] * 3


def test_feasible_decisions_have_no_violations() -> None:
    setting = small().setting
    assert setting.edges.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert setting.violations(np.zeros((3, 2))) == []
    assert setting.violations([[1.0, 0.5], [1.0, 0.5], [3.0, 0.25]]) == []  # every limit is just met


@pytest.mark.parametrize(
    ("y", "want"),
    [
        ([[-0.5, 0], [0, 0], [0, 0]], [Violation("nonnegative", (0, 0, 0), 0.5)]),
        ([[0, 0], [0, 0], [3.5, 0]], [Violation("demand", (1, 1, 0), 0.5)]),
        ([[1, 0], [1.5, 0], [0, 0]], [Violation("capacity", (0, 0), 0.5)]),
        (
            [[0, 0], [0, 0], [0, 1.0]],
            [Violation("demand", (1, 1, 1), 0.5), Violation("capacity", (1, 1), 0.75)],
        ),
    ],
)
def test_violations_name_constraint_index_and_excess(y: list[list[float]], want: list[Violation]) -> None:
    instance = small()
    assert instance.violations(y) == want
    assert not instance.setting.evaluate(np.array(y, dtype=np.float64), np.ones(2, dtype=np.int64))[1]


def test_a_violation_reads_well() -> None:
    assert str(Violation("capacity", (3, 1), 0.25)) == "capacity[3][1] exceeded by 0.25"


def test_not_a_number_breaks_every_limit() -> None:
    y = np.zeros((3, 2))
    y[2, 1] = np.nan
    assert [v.constraint for v in small().violations(y)] == ["nonnegative", "demand", "capacity"]


@given(instances_and_points(), st.floats(0.5, 2.0))
@settings(max_examples=40, deadline=None)
def test_the_compiled_check_agrees_with_the_list_of_violations(
    sampled: tuple[AllocationInstance, np.ndarray, np.ndarray], factor: float
) -> None:
    instance, y, _ = sampled
    for decision in (y, y * factor, y - 1e-3, y + 1e-3):
        _, feasible = instance.setting.evaluate(decision, np.zeros(instance.setting.ports, dtype=np.int64))
        assert feasible == (instance.violations(decision) == [])


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (np.zeros((2, 2)), r"decision: shape \(2, 2\) does not fit, expected \(3, 2\)"),
        ("all", "decision: 'all' is not a number"),
        ([["0"], ["0"], ["0"]], r"decision\[0\]\[0\]: '0' is not a number"),
        ([[0.0], [None], [0.0]], r"decision\[1\]\[0\]: None is not a number"),
        (np.zeros((3, 1), "m8[s]"), r"decision\[0\]\[0\]: .* is not a number"),
        (np.full((3, 1), b"0"), r"decision\[0\]\[0\]: b'0' is not a number"),
        ([[0.0], [0.0, 1.0], [0.0]], "decision: not an array of numbers"),
        (None, "decision: None; decide"),
    ],
)
def test_a_decision_of_another_shape_is_refused(decision: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        small().violations(decision)


def test_an_episode_refuses_infeasible_decisions_unless_told_otherwise() -> None:
    episode = small().episode(frozenset())
    slots = iter(episode)
    next(slots)
    too_much = np.full((3, 2), 9.0)
    with pytest.raises(DecisionError, match=r"slot 0: infeasible decision: .* and \d+ more") as caught:
        episode.apply(too_much)
    assert caught.value.violations == small().violations(too_much)
    assert not episode.apply(too_much, enforce=False).feasible
    one = np.zeros((3, 2))
    one[0, 0] = 1.5
    with pytest.raises(DecisionError, match=r"demand\[0\]\[0\]\[0\] exceeded by 0\.5$"):
        episode.apply(one)


def test_an_episode_shows_arrivals_only_to_those_who_declared_it() -> None:
    instance = small()
    assert [o.arrivals for o in instance.episode(frozenset())] == [None] * 4
    seen = list(instance.episode(frozenset({"arrivals"})))
    assert [o.slot for o in seen] == [0, 1, 2, 3]
    assert [o.arrivals.tolist() for o in seen if o.arrivals is not None] == instance.arrivals.tolist()
    for observation in seen:
        assert observation.arrivals is not None
        assert observation.arrivals.base is None  # a view would lead a policy to the future
        with pytest.raises(ValueError, match="read-only"):
            observation.arrivals[0] = 1


# --- copies, other arrivals, graphs -------------------------------------------------------------------------


def test_copies_split_several_arrivals() -> None:
    copies = small().copies()
    assert copies.setting.copy_of is not None
    assert copies.setting.copy_of.tolist() == [0, 0, 0, 1, 1]
    assert copies.arrivals.tolist() == [[1, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0] * 5, [1, 1, 1, 1, 0]]
    assert copies.setting.names.ports == (
        *("training, job 0", "training, job 1", "training, job 2"),
        *("serving, job 0", "serving, job 1"),
    )
    assert sorted(copies.setting.edges.tolist()) == [[0, 0], [1, 0], [2, 0], [3, 0], [3, 1], [4, 0], [4, 1]]
    assert copies.setting.capacity.tolist() == small().setting.capacity.tolist()
    assert AllocationInstance.from_dict(copies.to_dict()) == copies


def test_a_port_without_arrivals_keeps_one_copy() -> None:
    copies = small(arrivals=[[0, 2]]).copies()
    assert copies.setting.copy_of is not None
    assert copies.setting.copy_of.tolist() == [0, 1, 1]
    assert small(arrivals=[]).copies().setting.ports == 2


@given(instances_and_points())
@settings(max_examples=30, deadline=None)
def test_equal_copies_earn_what_the_port_earns(
    sampled: tuple[AllocationInstance, np.ndarray, np.ndarray],
) -> None:
    """A port with n jobs that each hold y earns n q(y): so do n copies that hold y each."""
    instance, y, _ = sampled
    copies = instance.copies()
    origin = copies.setting.copy_of
    assert origin is not None
    row = {(p, r): e for e, (p, r) in enumerate(instance.setting.edges.tolist())}
    same = [row[int(origin[p]), r] for p, r in copies.setting.edges.tolist()]
    assert copies.rewards(y[same]) == pytest.approx(instance.rewards(y), rel=1e-11, abs=1e-11)


def test_other_arrivals_keep_the_setting() -> None:
    other = small().with_arrivals([[1, 1]])
    assert other.setting.slots == 1
    assert other == small(arrivals=[[1, 1]])
    with pytest.raises(InputError, match="arrivals: shape 1 x 3"):
        small().with_arrivals([[1, 1, 1]])


def test_the_setting_describes_the_graph() -> None:
    s = small().setting
    assert (s.ports, s.servers, s.kinds, s.shape, s.density) == (2, 3, 2, (3, 2), 1.0)
    assert s.port.tolist() == [0, 1, 1]
    assert s.server.tolist() == [0, 0, 1]
    assert s.server_start.tolist() == [0, 2, 3, 3]
    assert s.port_edges.tolist() == [0, 1, 2]
    assert s.port_start.tolist() == [0, 1, 3]
    assert s.server_demand.tolist() == [[4.0, 2.5], [3.0, 0.5], [0.0, 0.0]]
    y = np.arange(6.0).reshape(3, 2)
    assert s.port_sums(y).tolist() == [[0, 1], [6, 8]]
    assert s.server_sums(y).tolist() == [[2, 4], [4, 5], [0, 0]]


@given(instances())
@settings(max_examples=30, deadline=None)
def test_a_graph_gives_the_instance_back(instance: AllocationInstance) -> None:
    graph = instance.to_networkx()
    assert nx.is_bipartite(graph)
    assert graph.number_of_edges() == len(instance.setting.edges)
    assert AllocationInstance.from_networkx(graph) == instance


def graph_with(change: Callable[[nx.Graph], object]) -> nx.Graph:
    graph = small().to_networkx()
    change(graph)
    return graph


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.add_node("port 7"), r'graph: node \'port 7\' is neither \("port", l\) nor'),
        (lambda g: g.add_node(("desk", 1)), r"graph: node \('desk', 1\) is neither"),
        (lambda g: g.add_node(("port", 7)), r"graph: port numbers \[0, 1, 7\] are not 0 to 2"),
        (lambda g: g.add_node(("port", "a")), r"graph: port numbers .* are not 0 to 2"),
        (lambda g: g.add_edge(("port", 0), ("port", 1)), r"graph: edge .* does not join a port and a server"),
        (lambda g: g.nodes["server", 1].pop("alpha"), r"graph\.server\[1\]\.alpha: missing field"),
        (lambda g: g.nodes["port", 0].pop("demand"), r"graph\.port\[0\]\.demand: missing field"),
        (lambda g: g.graph.pop("overhead"), r"graph\.overhead: missing field"),
        (lambda g: g.graph.pop("arrivals"), r"graph\.arrivals: missing field"),
        (lambda g: g.nodes["port", 1].update(demand=[1.0, -2.0]), r"demand\[1\]\[1\]: -2 is not"),
    ],
)
def test_a_bad_graph_is_named(change: Callable[[nx.Graph], object], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        AllocationInstance.from_networkx(graph_with(change))


def test_the_order_of_a_graph_is_free() -> None:
    graph = nx.Graph(**small().to_networkx().graph)
    whole = small().to_networkx()
    graph.add_nodes_from(reversed(list(whole.nodes(data=True))))
    graph.add_edges_from((v, u) for u, v in whole.edges)
    assert AllocationInstance.from_networkx(graph) == small()


# --- utilities ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", utility.KINDS)
@given(alpha=st.floats(0.1, 5.0), y=st.floats(0.0, 1e3))
@settings(max_examples=40, deadline=None)
def test_utilities_follow_27(name: str, alpha: float, y: float) -> None:
    kind = np.array([utility.KINDS.index(name)])
    scale, at, h = np.array([alpha]), np.array([y]), 1e-5 * (1 + y)
    assert utility.value(kind, scale, at)[0] == pytest.approx(f(name, alpha, y), rel=1e-9, abs=1e-12)
    slope = utility.slope(kind, scale, at)[0]
    rise = utility.value(kind, scale, at + h)[0] - utility.value(kind, scale, np.maximum(at - h, 0.0))[0]
    assert rise / (h + min(h, y)) == pytest.approx(slope, rel=1e-3 if y >= h else 1e-2, abs=1e-7)
    assert 0 <= slope <= utility.slope_at_zero(kind, scale)[0] * (1 + 1e-12)


@pytest.mark.parametrize("name", utility.KINDS)
@given(
    alpha=st.floats(0.1, 5.0),
    weight=st.floats(0.0, 5.0),
    price=st.floats(-1.0, 5.0),
    limit=st.floats(0.0, 9.0),
)
@settings(max_examples=60, deadline=None)
def test_the_best_response_beats_a_fine_grid(
    name: str, alpha: float, weight: float, price: float, limit: float
) -> None:
    kind, a = np.array([utility.KINDS.index(name)]), np.array([alpha])
    best = utility.best_response(kind, a, np.array([weight]), np.array([price]), np.array([limit]))[0]
    assert 0 <= best <= limit

    def worth(y: np.ndarray) -> np.ndarray:
        result: np.ndarray = weight * utility.value(kind, a, y) - price * y
        return result

    assert worth(np.array([best]))[0] >= worth(np.linspace(0, limit, 201)).max() - 1e-9 * (
        1 + abs(price) * limit
    )


@pytest.mark.parametrize(
    ("value", "message"), [(5e-300, "neither 0 nor at least 1e-50"), (1e300, "at most 1e.50")]
)
def test_sizes_that_floating_point_cannot_multiply_are_refused(value: float, message: str) -> None:
    data = small().to_dict()
    for field in ("demand", "capacity"):
        with pytest.raises(InputError, match=rf"{field}\[0\]\[1\]: .*{message}"):
            AllocationInstance.from_dict(data | {field: [[1.0, value], *data[field][1:]]})


@pytest.mark.parametrize("value", [2.3e-308, 1e-200, 0.99e-50])
def test_an_overhead_whose_square_may_vanish_is_refused(value: float) -> None:
    """The G of (22) would be 0, and so would the steps of OGASched, while there is something to pay."""
    with pytest.raises(InputError, match=r"overhead\[1\]: .* neither 0 nor at least 1e-50"):
        small(overhead=[0.5, value])
