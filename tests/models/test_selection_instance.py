"""The selection instance: its files, its equality, what it refuses, its rewards, noise and episode."""

import json
import math
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import clairvoyant
from clairvoyant.models.base import DecisionError, InputError, Origin, Violation
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.noise import NOISES, clipped_mean, draw_path, location_of
from clairvoyant.models.selection.setting import Observation
from clairvoyant.testing.graph import reachable


def fields() -> dict[str, Any]:
    """Return a small instance in JSON form: 3 ports, 4 channels, 2 kinds, 3 slots; port 2 has no channel."""
    return {
        "problem": "selection",
        "version": 1,
        "edges": [[0, 0], [0, 2], [1, 0], [1, 1]],
        "demand": [[1, 2], [2, 1], [1, 1], [0, 2]],
        "capacity": [3, 3],
        "cost": [0.125, 0.25, 0.0, 0.5],
        "mean": [0.5, 0.75, 0.25, 0.0],
        "noise": {"kind": "clipped-normal", "scale": [0.25, 0.0, 0.5, 0.125]},
        "arrivals": [[1, 0, 1], [1, 1, 0], [0, 0, 0]],
        "seed": 7,
        "origin": {"source": "written for a test", "real": [], "filled": ["all"]},
    }


PATH = [[0.0, 0.25, 0.5, 1.0], [1.0, 0.0, 0.125, 0.5], [0.5, 0.5, 0.5, 0.5]]


def small(**changes: Any) -> SelectionInstance:
    return SelectionInstance.from_dict(fields() | changes)


@st.composite
def instances(draw: st.DrawFn) -> SelectionInstance:
    """Draw small instances: any channels, noise and arrivals, with or without a recorded sample path."""
    ports, servers, kinds = (draw(st.integers(1, 3)) for _ in range(3))
    slots = draw(st.integers(0, 4))
    pairs = [[p, r] for p in range(ports) for r in range(servers)]
    edges = draw(st.lists(st.sampled_from(pairs), unique_by=tuple))
    noise = draw(st.sampled_from(NOISES))
    share = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0.0, 1.0, allow_subnormal=False)

    def table(rows: int, columns: int, values: st.SearchStrategy[Any]) -> np.ndarray:
        return np.array([[draw(values) for _ in range(columns)] for _ in range(rows)]).reshape(rows, columns)

    count = len(edges)
    return SelectionInstance(
        edges=edges,
        demand=table(count, kinds, st.integers(0, 3)),
        capacity=[draw(st.integers(0, 6)) for _ in range(kinds)],
        mean=[draw(share) for _ in edges],
        noise=noise,
        scale=[draw(st.floats(0.0, 2.0, allow_subnormal=False)) for _ in edges]
        if noise == "clipped-normal"
        else None,
        arrivals=table(slots, ports, st.integers(0, 1)),
        seed=draw(st.integers(0, 2**53 - 1)),
        cost=draw(st.none() | st.just([draw(st.floats(0.0, 3.0, allow_subnormal=False)) for _ in edges])),
        path=table(slots, count, share) if draw(st.booleans()) else None,
        ports=ports,
    )


# --- files, equality, digest --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["instance.json", "instance.json.gz"])
@pytest.mark.parametrize("changes", [{}, {"path": PATH}, {"arrivals": [], "ports": 3}], ids=str)
def test_a_round_trip_keeps_every_byte(name: str, changes: dict[str, Any], tmp_path: Path) -> None:
    first, second = tmp_path / name, tmp_path / f"again-{name}"
    instance = small(**changes)
    instance.save(first)
    again = clairvoyant.load(first)
    again.save(second)
    assert first.read_bytes() == second.read_bytes()
    assert isinstance(again, SelectionInstance)
    assert again == instance
    assert again.digest() == instance.digest()
    assert again.setting.ports == 3
    assert again.path.tolist() == instance.path.tolist()
    assert again.origin == Origin("written for a test", (), ("all",))


@given(instances())
@settings(max_examples=40, deadline=None)
def test_the_json_form_gives_the_instance_back(instance: SelectionInstance) -> None:
    text = json.dumps(instance.to_dict())
    again = SelectionInstance.from_dict(json.loads(text))
    assert again == instance
    assert json.dumps(again.to_dict()) == text
    assert again.path.tolist() == instance.path.tolist()


def test_problem_and_version_come_first() -> None:
    assert list(small().to_dict())[:2] == ["problem", "version"]


def test_the_digest_does_not_change_between_releases() -> None:
    assert small().digest() == "b11ddad474797341"


@given(instances(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_channels_is_free(instance: SelectionInstance, rng: Any) -> None:
    data = instance.to_dict()
    order = list(range(instance.setting.channels))
    rng.shuffle(order)
    for name in ("edges", "demand", "mean", "cost"):
        data[name] = [data[name][i] for i in order]
    if "scale" in data["noise"]:
        data["noise"] = data["noise"] | {"scale": [data["noise"]["scale"][i] for i in order]}
    if "path" in data:
        data["path"] = [[row[i] for i in order] for row in data["path"]]
    again = SelectionInstance.from_dict(data)
    assert again == instance
    assert hash(again) == hash(instance)
    assert again.to_dict() == instance.to_dict()


def test_equality_is_by_value_and_ignores_the_origin() -> None:
    assert small() == small(origin={"source": "elsewhere"})
    assert small() == small(ports=3)
    assert small() == small(mean=[0.5, 0.75, 0.25, -0.0])  # -0.0 is 0.0
    assert small(path=PATH) == small(path=PATH, seed=8)  # a recorded path leaves the seed nothing to decide
    assert small() != small(path=PATH)
    assert small() != "selection"


@pytest.mark.parametrize(
    "change",
    [
        {"edges": [[0, 0], [0, 2], [1, 0], [1, 3]]},
        {"demand": [[1, 2], [2, 1], [1, 1], [1, 2]]},
        {"capacity": [3, 4]},
        {"cost": [0.125, 0.25, 0.0, 0.25]},
        {"mean": [0.5, 0.75, 0.25, 1.0]},
        {"noise": {"kind": "clipped-normal", "scale": [0.25, 0.0, 0.5, 0.25]}},
        {"noise": {"kind": "none"}},
        {"noise": {"kind": "bernoulli"}},
        {"arrivals": [[1, 0, 1], [1, 1, 0], [0, 0, 1]]},
        {"arrivals": [[1, 0, 1], [1, 1, 0]]},
        {"seed": 8},
    ],
    ids=str,
)
def test_every_number_counts_for_equality(change: dict[str, Any]) -> None:
    assert small(**change) != small()


def test_arrays_are_read_only_and_copied() -> None:
    arrivals = np.ones((2, 3), dtype=np.int64)
    instance = small(arrivals=arrivals)
    arrivals[:] = 0
    assert instance.arrivals.min() == 1
    s = instance.setting
    for array in (s.edges, s.demand, s.capacity, s.cost, s.port, s.port_start):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    for array in (instance.mean, instance.scale, instance.arrivals, instance.path):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_setting_says_what_is_where() -> None:
    s = small().setting
    assert (s.ports, s.servers, s.channels, s.kinds, s.slots) == (3, 3, 4, 2, 3)
    assert s.port.tolist() == [0, 0, 1, 1]
    assert s.port_start.tolist() == [0, 2, 4, 4]
    assert s.open(np.array([0, 1, 1])).tolist() == [False, False, True, True]
    assert "ports=3, servers=3, kinds=2, channels=4, slots=3" in repr(small())


# --- what is unusual and allowed ----------------------------------------------------------------------------


def test_no_channels_no_arrivals_and_no_slots_are_valid(tmp_path: Path) -> None:
    bare = SelectionInstance(edges=[], demand=[], capacity=[2, 1], mean=[], arrivals=[[1, 1], [0, 1]])
    assert (bare.setting.channels, bare.setting.servers, bare.setting.ports) == (0, 0, 2)
    assert bare.path.shape == (2, 0)
    assert bare.rewards(np.zeros((2, 0))).tolist() == [0.0, 0.0]
    quiet = small(arrivals=np.zeros((5, 3), dtype=np.int64))
    assert quiet.violations(np.zeros((5, 4))) == []
    empty = small(arrivals=[], ports=3)
    assert empty.setting.slots == 0
    assert empty.path.shape == (0, 4)
    assert empty.rewards(np.zeros((0, 4))).shape == (0,)
    assert list(empty.episode(frozenset())) == []
    for i, instance in enumerate((bare, quiet, empty)):
        instance.save(tmp_path / f"{i}.json")
        assert SelectionInstance.load(tmp_path / f"{i}.json") == instance


def test_without_arrivals_the_channels_say_how_many_ports_there_are() -> None:
    data = {name: fields()[name] for name in ("edges", "demand", "capacity", "mean")}
    assert SelectionInstance(**data, arrivals=[]).setting.ports == 2
    assert SelectionInstance(**data, arrivals=np.zeros((0, 5))).setting.ports == 5


def test_other_arrivals_leave_nature_as_it_is() -> None:
    for instance in (small(), small(path=PATH)):
        other = instance.with_arrivals([[1, 1, 1], [0, 1, 0]])
        assert other.setting.slots == 2
        assert other.arrivals.tolist() == [[1, 1, 1], [0, 1, 0]]
        assert other.path.tolist() == instance.path[:2].tolist()
        assert other.with_arrivals(instance.arrivals[:2]) == instance.with_arrivals(instance.arrivals[:2])
    assert small().with_arrivals(small().arrivals) == small()
    with pytest.raises(InputError, match="arrivals: 4 slots are more than the 3 recorded ones"):
        small(path=PATH).with_arrivals(np.ones((4, 3)))


# --- bad input: the message holds field, index and value ----------------------------------------------------


def table(field: str, index: tuple[int, ...], value: Any) -> Any:
    """Return a field of the small instance with one entry replaced."""
    copy = json.loads(json.dumps((fields() | {"path": PATH})[field]))
    inner = copy
    for i in index[:-1]:
        inner = inner[i]
    inner[index[-1]] = value
    return copy


NUMBERS = [
    *(("demand", (1, 0)), ("capacity", (1,)), ("cost", (2,)), ("mean", (3,))),
    *(("arrivals", (2, 1)), ("edges", (2, 1)), ("path", (1, 3))),
]


@pytest.mark.parametrize(("field", "index"), NUMBERS, ids=[field for field, _ in NUMBERS])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "-1 is not"),
        (math.nan, "nan is not"),
        (math.inf, "inf is not"),
        (True, "True is not a number"),
        ("2", "'2' is not a number"),
        (None, "None is not a number"),
        ([1], r"\[1\] is not a number"),
    ],
    ids=["negative", "nan", "inf", "bool", "string", "null", "list"],
)
def test_a_bad_number_is_named(field: str, index: tuple[int, ...], value: Any, shown: str) -> None:
    where = field + "".join(rf"\[{i}\]" for i in index)
    with pytest.raises(InputError, match=f"^{where}: {shown}"):
        small(**{field: table(field, index, value)})


@pytest.mark.parametrize(("field", "index"), [NUMBERS[0], NUMBERS[1], NUMBERS[4], NUMBERS[5]])
def test_a_number_that_must_be_whole_is_named(field: str, index: tuple[int, ...]) -> None:
    where = field + "".join(rf"\[{i}\]" for i in index)
    with pytest.raises(InputError, match=rf"^{where}: 0\.5 is not a whole number"):
        small(**{field: table(field, index, 0.5)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mean": [0.5, 1.25, 0, 0]}, r"mean\[1\]: 1\.25 is not a finite number of at least 0 and at most 1"),
        ({"mean": [0.5, 0.5]}, "mean: shape 2 does not fit, expected 4"),
        ({"mean": 0.5}, r"mean: 0\.5 is not a list"),
        ({"demand": [[1, 2], [2, 1], [1, 1]]}, "demand: shape 3 x 2 does not fit, expected 4 x 2"),
        ({"demand": [[1], [2], [1], [0]]}, "demand: shape 4 x 1 does not fit, expected 4 x 2"),
        ({"demand": [[1, 2], [2], [1, 1], [0, 2]]}, r"demand\[1\]: length 1 differs from 2"),
        ({"demand": table("demand", (0, 0), 2**31 + 1)}, r"demand\[0\]\[0\]: 2147483649 is not a whole"),
        ({"capacity": []}, "capacity: empty; an instance needs at least one kind of device"),
        ({"capacity": [1, 2**32]}, r"capacity\[1\]: 4294967296 is not a whole number"),
        ({"cost": [0.0]}, "cost: shape 1 does not fit, expected 4"),
        (
            {"arrivals": [[1, 2, 0]]},
            r"arrivals\[0\]\[1\]: 2 is not a whole number of at least 0 and at most 1",
        ),
        ({"arrivals": [[1, 0], [0]]}, r"arrivals\[1\]: length 1 differs from 2"),
        ({"arrivals": "none"}, "arrivals: 'none' is not a list"),
        ({"arrivals": [[1]]}, r"edges\[2\]\[0\]: 1 is out of range for 1 port$"),
        ({"arrivals": [[], []]}, "arrivals: no columns; an instance needs at least one port"),
        ({"arrivals": [[1, 0, 1]], "ports": 2}, "arrivals: shape 1 x 3 does not fit, expected n x 2"),
        ({"ports": 1}, r"edges\[2\]\[0\]: 1 is out of range for 1 port$"),
        ({"ports": 0}, "ports: 0 is not a whole number of at least 1"),
        ({"ports": 2.5}, r"ports: 2\.5 is not a whole number"),
        ({"ports": True}, "ports: True is not a whole number"),
        (
            {"ports": 2**31 + 1},
            "ports: 2147483649 is not a whole number of at least 1 and at most",
        ),
        ({"ports": 10**30}, "ports: 10{30} is not a whole number of at least 1 and at most 2147483648"),
        ({"edges": [[0, 0], [1, 1], [1, 0], [1, 1]]}, r"edges\[3\]: \[1, 1\] stands twice"),
        ({"edges": [[0, 0, 1]] * 4}, "edges: shape 4 x 3 does not fit, expected n x 2"),
        ({"noise": "none"}, "noise: 'none' is not an object with kind and scale"),
        ({"noise": {}}, r"noise\.kind: missing field"),
        (
            {"noise": {"kind": "cauchy"}},
            r"noise\.kind: 'cauchy' is not one of clipped-normal, bernoulli, none",
        ),
        ({"noise": {"kind": ["none"]}}, r"noise\.kind: \['none'\] is not one of"),
        ({"noise": {"kind": "none", "shape": 1}}, r"noise\.shape: unknown field"),
        ({"noise": {"kind": "clipped-normal"}}, r"noise\.scale: missing field"),
        ({"noise": {"kind": "clipped-normal", "scale": [1, 1]}}, r"noise\.scale: shape 2 does not fit"),
        (
            {"noise": {"kind": "clipped-normal", "scale": [1, -1, 1, 1]}},
            r"noise\.scale\[1\]: -1 is not a finite number of at least 0 and at most 1000000",
        ),
        (
            {"noise": {"kind": "bernoulli", "scale": [0, 0, 0.5, 0]}},
            r"noise\.scale\[2\]: 0\.5 has no meaning for bernoulli",
        ),
        ({"seed": -1}, "seed: -1 is not a whole number of at least 0"),
        ({"seed": 1.0}, r"seed: 1\.0 is not a whole number"),
        ({"seed": True}, "seed: True is not a whole number"),
        ({"path": PATH[:2]}, "path: shape 2 x 4 does not fit, expected 3 x 4"),
        ({"path": table("path", (0, 2), 1.5)}, r"path\[0\]\[2\]: 1\.5 is not a finite number of at least 0"),
        ({"colour": "red"}, "colour: unknown field; expected one of arrivals, capacity"),
        ({"origin": {"source": 3}}, r"origin\.source: 3 is not a string"),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else "",
)
def test_what_is_refused_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        small(**changes)


@pytest.mark.parametrize("name", ["edges", "demand", "capacity", "mean", "noise", "arrivals", "seed"])
def test_a_missing_field_is_named(name: str) -> None:
    data = fields()
    del data[name]
    with pytest.raises(InputError, match=f"^{name}: missing field"):
        SelectionInstance.from_dict(data)


def test_an_error_inside_a_file_names_the_file_and_the_field(tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(fields() | {"capacity": [3, 0.5]}), encoding="utf-8")
    with pytest.raises(InputError, match=r"instance\.json: capacity\[1\]: 0\.5 is not a whole number"):
        SelectionInstance.load(path)


# --- decisions, rewards, the episode ------------------------------------------------------------------------


def test_violations_name_constraint_index_and_excess() -> None:
    s = small().setting
    found = s.violations([1, 1, 0.25, 1], np.array([1, 0, 1]))
    assert found == [
        Violation("binary", (2,), 0.25),
        Violation("capacity", (0,), 0.25),
        Violation("capacity", (1,), 2.25),
        Violation("arrival", (2,), 0.25),
        Violation("arrival", (3,), 1.0),
    ]
    assert s.violations([0, 1, 1, 0]) == []
    assert str(s.violations([math.nan, 0, 0, 0])[0]) == "binary[0] exceeded by nan"
    schedule = np.zeros((3, 4))
    schedule[0, 2] = schedule[1, 2] = schedule[2, 0] = 1.0
    assert small().violations(schedule) == [
        Violation("arrival", (0, 2), 1.0),
        Violation("arrival", (2, 0), 1.0),
    ]


@given(instances(), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_feasible_means_without_violations(instance: SelectionInstance, seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = instance.setting
    for arrivals in instance.arrivals:
        x = (rng.random(s.channels) < 0.5) * rng.choice([1.0, 1.0, 1.0, 0.5])
        broken = s.violations(x, arrivals)
        assert s.feasible(x, arrivals) == (broken == [])
        slow = all(
            sum(int(s.demand[e, k]) * x[e] for e in range(s.channels)) <= s.capacity[k]
            for k in range(s.kinds)
        )
        assert slow == (not any(v.constraint == "capacity" for v in broken))


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (None, r"decision: None; decide\(\) must return an array"),
        ([1, 0], r"decision: shape \(2,\) does not fit, expected \(4,\)"),
        (["a"] * 4, r"decision\[0\]: 'a' is not a number"),
        ([[1, 0, 0, 0]], r"decision: shape \(1, 4\) does not fit"),
    ],
)
def test_a_decision_of_the_wrong_form_is_refused(decision: Any, message: str) -> None:
    episode = small().episode(frozenset())
    next(iter(episode))
    with pytest.raises(InputError, match=message):
        episode.apply(decision)


def test_rewards_are_means() -> None:
    instance = small(path=PATH)
    x = [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]
    assert instance.rewards(x).tolist() == [0.75, 0.75, 1.5]
    for bad in ([[1, 0, 1, 0]], [1, 0, 1, 0], []):
        with pytest.raises(InputError, match=r"expected \(3, 4\) \(slots, channels\)"):
            instance.rewards(bad)


def test_an_infeasible_decision_is_refused_or_reported() -> None:
    episode = small(path=PATH).episode(frozenset({"arrivals"}))
    next(iter(episode))
    with pytest.raises(DecisionError, match=r"slot 0: infeasible decision: capacity\[1\] exceeded by 2;"):
        episode.apply([1, 0, 1, 1])
    outcome = episode.apply([1, 0, 1, 1], enforce=False)
    assert not outcome.feasible
    assert outcome.reward == 0.75
    assert outcome.feedback.channels.tolist() == [0, 2, 3]


@given(instances(), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_an_episode_rewards_what_the_instance_does(instance: SelectionInstance, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.random((instance.setting.slots, instance.setting.channels)) < 0.5).astype(float)
    episode = instance.episode(frozenset({"arrivals"}))
    rewards, realised = [], []
    for observation in episode:
        assert observation.arrivals is not None
        assert observation.arrivals.tolist() == instance.arrivals[observation.slot].tolist()
        outcome = episode.apply(x[observation.slot], enforce=False)
        rewards.append(outcome.reward)
        feedback = outcome.feedback
        assert feedback.slot == observation.slot
        assert feedback.channels.tolist() == np.flatnonzero(x[feedback.slot]).tolist()  # of no other channel
        assert feedback.utility.tolist() == instance.path[feedback.slot, feedback.channels].tolist()
        realised.append(feedback.utility.sum())
    np.testing.assert_allclose(rewards, instance.rewards(x))
    np.testing.assert_allclose(realised, (x * instance.path).sum(axis=1))


def test_what_a_policy_holds_is_frozen_and_leads_nowhere() -> None:
    instance = small()
    assert instance.path.shape == (3, 4)  # drawn, so that there is something to find
    episode = instance.episode(frozenset({"arrivals"}))
    observation = next(iter(episode))
    outcome = episode.apply([1, 0, 0, 0])
    for held in (observation.arrivals, outcome.feedback.channels, outcome.feedback.utility):
        assert held is not None
        with pytest.raises(ValueError, match="read-only"):
            held[0] = 1
    with pytest.raises(AttributeError):
        observation.slot = 3  # type: ignore[misc]
    hidden = {id(thing) for thing in (instance, instance.mean, instance.path, instance.arrivals, episode)}
    for root in (observation, outcome.feedback, instance.setting):
        assert [path for path, thing in reachable(root, "held") if id(thing) in hidden] == []


def test_arrivals_are_seen_only_if_asked_for() -> None:
    assert [o.arrivals for o in small().episode(frozenset())] == [None] * 3
    assert next(iter(small().episode(frozenset()))) == Observation(0, None)


# --- noise --------------------------------------------------------------------------------------------------

LOCATION = st.floats(-3.0, 4.0)
SCALE = st.just(0.0) | st.floats(1e-3, 3.0)


@given(LOCATION, SCALE)
@settings(max_examples=60, deadline=None)
@example(0.0, 0.0)
@example(1.0, 0.0)
@example(-1.5, 0.01)
def test_the_closed_form_is_the_integral(location: float, scale: float) -> None:
    """E[clip(Z)] is the integral of P(Z > z) over z from 0 to 1."""
    got = float(clipped_mean(np.array([location]), np.array([scale]))[0])
    if scale == 0:
        assert got == min(1.0, max(0.0, location))
        return
    break_points = [p for p in (location - 5 * scale, location, location + 5 * scale) if 0 < p < 1]
    want, error = integrate.quad(
        lambda z: stats.norm.sf(z, location, scale), 0.0, 1.0, points=break_points or None, limit=200
    )
    assert error < 1e-7
    assert got == pytest.approx(want, abs=1e-8)
    assert 0.0 <= got <= 1.0


@given(st.floats(1e-3, 1.0 - 1e-3), st.floats(1e-3, 3.0))
@settings(max_examples=60, deadline=None)
def test_the_location_gives_the_mean_back(mean: float, scale: float) -> None:
    location = location_of(np.array([mean]), np.array([scale]))
    assert clipped_mean(location, np.array([scale]))[0] == pytest.approx(mean, abs=1e-12)


def test_a_mean_at_the_end_leaves_no_room_for_noise() -> None:
    mean, scale = np.array([0.0, 1.0, 0.3]), np.array([0.5, 0.5, 0.0])
    path = draw_path("clipped-normal", mean, scale, 50, 3)
    assert (path == mean).all()


@pytest.mark.parametrize("kind", NOISES)
def test_the_path_has_the_mean_within_five_standard_errors(kind: str) -> None:
    rng = np.random.default_rng(11)
    mean = np.concatenate([[0.0, 1.0, 1e-4], rng.random(20)])
    scale = np.concatenate([[0.5, 0.5, 0.5], rng.uniform(0.01, 1.0, 20)])
    path = draw_path(kind, mean, scale, 40_000, 5)
    assert path.min() >= 0.0
    assert path.max() <= 1.0
    error = path.std(axis=0) / math.sqrt(len(path))
    assert (np.abs(path.mean(axis=0) - mean) <= 5 * error + 1e-5).all()
    if kind != "none":
        assert (path[:, 3:].std(axis=0) > 0).all()
        correlation = np.corrcoef(path[:, 3:], rowvar=False) - np.eye(20)
        assert np.abs(correlation).max() < 5 / math.sqrt(len(path))


@given(st.sampled_from(NOISES), st.integers(0, 50), st.integers(0, 50), st.integers(0, 2**53 - 1))
@settings(max_examples=40, deadline=None)
def test_the_first_slots_do_not_depend_on_the_horizon(kind: str, one: int, other: int, seed: int) -> None:
    mean, scale = np.array([0.2, 0.7, 0.5]), np.array([0.1, 0.0, 0.6])
    short, long = (draw_path(kind, mean, scale, slots, seed) for slots in sorted((one, other)))
    assert long[: len(short)].tolist() == short.tolist()


def test_the_seed_decides_the_path() -> None:
    assert small().path.tolist() == small().path.tolist()
    assert small().path.tolist() != small(seed=8).path.tolist()
    assert small(path=PATH).path.tolist() == PATH


# --- networkx -----------------------------------------------------------------------------------------------


@given(instances())
@settings(max_examples=40, deadline=None)
def test_a_graph_gives_the_instance_back(instance: SelectionInstance) -> None:
    graph = instance.to_networkx()
    assert nx.is_bipartite(graph)
    assert graph.number_of_edges() == instance.setting.channels
    assert SelectionInstance.from_networkx(graph) == instance


def test_the_graph_carries_the_data_of_the_channels() -> None:
    graph = small(path=PATH).to_networkx()
    assert graph.edges[("port", 0), ("server", 2)] == {
        "demand": [2, 1],
        "mean": 0.75,
        "cost": 0.25,
        "scale": 0.0,
    }
    assert graph.degree[("port", 2)] == 0
    assert graph.graph["capacity"] == [3, 3]
    assert graph.graph["path"] == PATH


def broken_graph(change: str) -> nx.Graph:
    """Return the graph of the small instance with one thing wrong."""
    graph = small().to_networkx()
    edge = graph.edges[("port", 1), ("server", 0)]
    match change:
        case "node":
            graph.add_node("port 3")
        case "number":
            graph.add_node(("port", 7))
        case "edge":
            graph.add_edge(("port", 0), ("port", 1))
        case "mean" | "demand" | "scale" | "cost":
            del edge[change]
        case "value":
            edge["mean"] = 2
        case _:
            del graph.graph[change]
    return graph


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("node", "graph: node 'port 3' is neither"),
        ("number", r"graph: port numbers \[0, 1, 2, 7\] are not 0 to 3"),
        ("edge", r"graph: edge \('port', 0\) - \('port', 1\) does not join"),
        *(
            (name, rf"graph\.edges\[.'port', 1., .'server', 0.\]\.{name}: missing")
            for name in ("mean", "cost")
        ),
        *((name, rf"graph\.edges\[.*\]\.{name}: missing field") for name in ("demand", "scale")),
        *((name, rf"graph\.{name}: missing field") for name in ("capacity", "noise", "arrivals", "seed")),
        ("value", r"mean\[2\]: 2 is not a finite number"),
    ],
)
def test_a_malformed_graph_is_refused(change: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SelectionInstance.from_networkx(broken_graph(change))


# --- facts --------------------------------------------------------------------------------------------------


def test_facts_count_what_there_is() -> None:
    facts = small().facts()
    assert (facts["ports"], facts["servers"], facts["device kinds"], facts["channels"]) == (3, 3, 2, 4)
    assert (facts["slots"], facts["jobs"]) == (3, 4)
    assert facts["channels at once at most"] == 2


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200])
def test_a_scale_close_to_zero_is_no_noise(scale: float) -> None:
    mean = np.array([0.0, 0.25, 1.0])
    path = draw_path("clipped-normal", mean, np.full(3, scale), 4, 0)
    assert path == pytest.approx(np.broadcast_to(mean, (4, 3)), abs=1e-12)
