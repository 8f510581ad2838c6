"""Gangs of the selection problem: sound set, programs, searches, oracle, policy and generators."""

import inspect
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clairvoyant.analysis.selection.claims import gangs as claims
from clairvoyant.models.base import DecisionError, InputError
from clairvoyant.models.program import PyomoProgram, Solved, SolverError
from clairvoyant.models.selection import gang_generate, gang_program
from clairvoyant.models.selection.gang import (
    SelectionGangInstance,
    SelectionGangSetting,
    printed_counterexample,
)
from clairvoyant.models.selection.gang_generate import from_trace, generate, split
from clairvoyant.models.selection.gang_program import (
    best_gang,
    best_gang_index,
    ceiling,
    every_decision,
    literal_program,
    most_tasks,
)
from clairvoyant.models.selection.generate import generate as generate_base
from clairvoyant.models.selection.setting import Observation
from clairvoyant.online.play import Replay, play
from clairvoyant.online.selection.gang import GangEsdp
from clairvoyant.online.selection.variances import GangEscbV
from clairvoyant.oracles.base import OracleError, WhyStopped
from clairvoyant.oracles.selection.gang import METHODS, gang
from clairvoyant.testing import policy_checks
from clairvoyant.testing.selection_gang import (
    degenerate_gangs,
    gang_instances,
    ordinary_gangs,
)

PROBLEM = "selection-gang"
BINDING = ordinary_gangs()["capacity binds"]
MIDDLE = generate("default", 3, slots=6)


def brute_force(setting: SelectionGangSetting, arrivals: np.ndarray) -> np.ndarray:
    """All feasible decisions, by the rows of the sound form written out once more, from all 0/1 vectors."""
    kept = []
    for x in product([0, 1], repeat=setting.channels):
        load = np.zeros_like(setting.capacity)
        tasks = [0] * setting.tasks
        jobs = [0] * setting.ports
        for e, chosen in enumerate(x):
            q, r = setting.pairs[e]
            load[r] += chosen * setting.demand[q]
            tasks[q] += chosen
            jobs[setting.task_port[q]] += chosen
        fine = all(n == 0 or (arrivals[p] and n >= setting.minimum[p]) for p, n in enumerate(jobs))
        if fine and max(tasks, default=0) <= 1 and (load <= setting.capacity).all():
            kept.append(x)
    return np.array(kept, dtype=float).reshape(len(kept), setting.channels)


@settings(max_examples=40, deadline=None)
@given(gang_instances(min_slots=1))
def test_all_oracles_find_the_best_of_all_decisions(instance: SelectionGangInstance) -> None:
    s = instance.setting
    every = [brute_force(s, arrivals) for arrivals in instance.arrivals]
    want = sum((decisions @ instance.mean).max() for decisions in every)
    for method in METHODS:
        found = gang(instance, method=method)
        assert found.value == pytest.approx(want, abs=1e-7)
        assert found.bound is not None
        assert found.value <= found.bound
        assert found.bound >= want - 1e-12
        assert found.why_stopped in (WhyStopped.PROVED, WhyStopped.GAP_REACHED)
        assert not instance.violations(found.decision)
        run = play(Replay(found.decision, PROBLEM), instance)
        assert run.total == pytest.approx(found.value, rel=1e-12)
        np.testing.assert_array_equal(
            run.rewards.round(9), found.certificate.pattern_value[found.certificate.index].round(9)
        )
    for arrivals, decisions in zip(instance.arrivals, every, strict=True):
        listed = every_decision(s, arrivals)
        assert listed is not None
        assert {tuple(x) for x in listed} == {tuple(x) for x in decisions}
        assert all(s.feasible(x, arrivals) for x in decisions)
        assert ceiling(s, instance.mean, arrivals) >= (decisions @ instance.mean).max() - 1e-12


@settings(max_examples=60, deadline=None)
@given(instance=gang_instances(min_slots=1, max_slots=1), data=st.data())
def test_the_index_is_that_of_the_best_of_all_decisions(
    instance: SelectionGangInstance, data: st.DataObject
) -> None:
    s, arrivals = instance.setting, instance.arrivals[0]
    numbers = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0.0, 4.0, allow_subnormal=False)
    widths = st.sampled_from([0.0, 0.5, 1.0, 1e-20]) | st.floats(4e-8, 4.0) | st.floats(0.0, 1e-6)
    v, q = (
        np.array(data.draw(st.lists(each, min_size=s.channels, max_size=s.channels)))
        for each in (numbers, widths)
    )
    untried = np.array(
        data.draw(st.lists(st.booleans(), min_size=s.channels, max_size=s.channels)), dtype=bool
    )
    start = data.draw(st.none() | st.floats(0.01, 5.0))
    every = brute_force(s, arrivals)
    count = every @ untried
    index = every @ np.where(untried, 0.0, v) + np.sqrt(every @ np.where(untried, 0.0, q))
    want = index[count == count.max()].max()
    most_sets = data.draw(st.sampled_from([0, gang_program.MOST_SETS]))
    for listed in (None, every_decision(s, arrivals)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gang_program, "MOST_SETS", most_sets)
            found = best_gang_index(s, v, q, arrivals, untried=untried, start=start, listed=listed)
        assert found.closed
        assert found.marked == count.max()
        assert found.value == pytest.approx(want, abs=1e-6)
        assert found.value <= found.bound
        assert found.bound >= want - 1e-9
        assert s.feasible(found.x, arrivals)
    assert most_tasks(s, untried, arrivals).marked == count.max()


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, 1.0), st.integers(2, 12))
def test_a_bound_of_equal_values_loses_no_task_by_rounding(value: float, count: int) -> None:
    """All tasks fit, though not on one server: what they earn is a multiple of the value, after rounding."""
    instance = SelectionGangInstance(
        channels=[[q, r] for q in range(count) for r in range(2)],
        task_port=[0] * count,
        demand=[[1]] * count,
        capacity=[[count - 1]] * 2,
        minimum=[1],
        mean=[value] * (2 * count),
        arrivals=[[1]],
    )
    for time_limit in (0.0, 1e-3, None):
        found = gang(instance, method="highs", time_limit=time_limit)
        assert found.bound is not None
        assert Fraction(found.bound) >= count * Fraction(value) * (1 - Fraction(1, 2**52))
    assert found.value == pytest.approx(count * value, rel=1e-15)
    assert found.why_stopped is WhyStopped.PROVED


@pytest.mark.parametrize("least", [1e-9, 1e-12, 1e-18, 1e-30, 5e-324])
def test_widths_that_no_solver_tells_apart_have_the_best_index_all_the_same(least: float) -> None:
    s, jobs = BINDING.setting, np.ones(3, dtype=int)
    every = brute_force(s, jobs)
    for few in range(s.channels):  # the first ones are wide, or the last ones
        for q in (np.where(np.arange(s.channels) < few, 0.5, least), np.linspace(least, 1.0, s.channels)):
            for v in (np.zeros(s.channels), np.linspace(0.0, 1.0, s.channels)[::-1]):
                want = (every @ v + np.sqrt(every @ q)).max()
                found = best_gang_index(s, v, q, jobs)
                assert found.closed
                assert want - 1e-9 <= found.bound <= want + 1e-6
                assert found.value == pytest.approx(want, abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5), st.integers(0, 9))
def test_the_largest_sets_are_those_of_enumeration(demand: list[tuple[int, int]], room: int) -> None:
    needs, capacity = np.array(demand, dtype=np.int64).reshape(-1, 2), np.array([room, 7])
    every = [np.array(x) for x in product((False, True), repeat=len(needs))]
    fit = [x for x in every if (x @ needs <= capacity).all()]
    largest = [x for x in fit if not any((y >= x).all() and (y > x).any() for y in fit)]
    found = gang_program._largest(needs, capacity)
    assert found is not None
    assert {tuple(x) for x in found} == {tuple(x) for x in largest}


def two_tasks(**options: Any) -> SelectionGangInstance:
    return SelectionGangInstance(
        channels=[[0, 0], [1, 0]],
        task_port=[0, 1],
        demand=[[1], [1]],
        capacity=[[2]],
        minimum=[1, 1],
        mean=[1.0, 0.5],
        **options,
    )


def test_a_policy_of_gangs_plays_on_after_any_number_of_uses() -> None:
    s = two_tasks(arrivals=[[1, 1]]).setting
    for uses in (100, 18_000, 10**9):
        policy = GangEscbV()
        policy.start(s, np.random.default_rng(0))
        policy._seen.count[:] = [uses, 1]
        policy._seen.total[:] = [uses, 0.5]
        policy._seen.squares[:] = [uses, 0.25]
        policy._listed[np.array([1, 1]).tobytes()] = None  # as where decisions are many
        np.testing.assert_array_equal(policy.decide(Observation(uses, np.array([1, 1]))), [1.0, 1.0])


@pytest.mark.parametrize("few", [True, False])
def test_a_policy_of_gangs_plays_on_where_averages_are_below_the_least_normal_number(
    few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not few:
        monkeypatch.setattr(gang_program, "every_decision", lambda *_: None)
    policy = GangEscbV()
    play(policy, two_tasks(path=[[2.5e-308, 0.0], [0.0, 0.0]] * 2, arrivals=[[1, 1]] * 4))
    assert 0.0 < policy._seen.mean[0] < 2.2e-308


@pytest.mark.parametrize("size", [5e-324, 3e-324 * 7, 1e-310, 1e-307])
def test_an_index_of_tiny_numbers_is_within_its_bound(size: float) -> None:
    s, jobs = BINDING.setting, np.ones(3, dtype=int)
    v = size * np.arange(s.channels)
    found = best_gang_index(s, v, np.zeros(s.channels), jobs)
    want = max(sum(map(Fraction, v[x > 0.0])) for x in brute_force(s, jobs))
    assert want <= Fraction(found.bound)
    assert found.value <= found.bound
    assert found.value == pytest.approx(float(want), rel=1e-6)


def test_the_literal_and_the_sound_program_as_declared_agree_with_the_search() -> None:
    s, jobs = BINDING.setting, np.ones(3, dtype=int)
    sound = gang_program.gang_program(s, BINDING.mean, jobs)
    solved = sound.solve()
    assert solved.value == pytest.approx(best_gang(s, BINDING.mean, jobs).value, abs=1e-6)
    for text in ("y[l] <= 1_l(t)", "m_l y[l]", "launch", "capacity"):
        assert text in str(sound)
    assert s.feasible(np.round(solved.variables["x"]), jobs)


def test_printed_a_task_on_two_servers_counts_as_two_tasks() -> None:
    s, jobs = BINDING.setting, np.ones(3, dtype=int)
    printed = literal_program(s, BINDING.mean, jobs).solve()
    assert printed.value is not None
    assert printed.value > best_gang(s, BINDING.mean, jobs).bound
    assert [str(v).split(" ")[0] for v in s.violations(np.round(printed.variables["x"]), jobs)] == ["once[0]"]


@pytest.mark.parametrize("ending", [".lp", ".mps"])
def test_programs_are_exported(tmp_path: Path, ending: str) -> None:
    for name, program in (("sound", gang_program.gang_program), ("literal", literal_program)):
        path = tmp_path / f"{name}{ending}"
        program(BINDING.setting, BINDING.mean, BINDING.arrivals[0]).export(path)
        assert path.stat().st_size > 200


def test_the_smallest_instance_has_no_printed_decision_and_a_sound_one() -> None:
    smallest = printed_counterexample()
    assert claims.printed_is_empty(smallest.setting, smallest.arrivals[0])
    assert not claims.printed_is_empty(smallest.setting, np.ones(1, dtype=int))
    assert smallest.violations([[0.0]]) == []
    assert gang(smallest).value == 0.0


def test_a_port_without_channels_makes_the_printed_program_infeasible() -> None:
    instance = degenerate_gangs()["no channels"]
    assert claims.printed_is_empty(instance.setting, np.ones(3, dtype=int))
    free = SelectionGangInstance.from_dict(instance.to_dict() | {"minimum": [0, 0, 0]})
    assert not claims.printed_is_empty(free.setting, np.zeros(3, dtype=int))


# Symmetry, monotonicity, units.


@settings(max_examples=15, deadline=None)
@given(instance=gang_instances(min_slots=1), seed=st.integers(0, 99))
def test_the_order_in_the_file_and_the_names_of_servers_do_not_matter(
    instance: SelectionGangInstance, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    data = instance.to_dict()
    order = rng.permutation(instance.setting.channels)
    shuffled = data | {key: [data[key][i] for i in order] for key in ("channels", "mean")}
    if "scale" in data["noise"]:
        shuffled["noise"] = data["noise"] | {"scale": [data["noise"]["scale"][i] for i in order]}
    assert SelectionGangInstance.from_dict(shuffled) == instance
    name = rng.permutation(instance.setting.servers)
    renamed = data | {
        "channels": [[q, int(name[r])] for q, r in data["channels"]],
        "capacity": [data["capacity"][i] for i in np.argsort(name)],
    }
    other = SelectionGangInstance.from_dict(renamed)
    assert gang(other).value == pytest.approx(gang(instance).value, abs=1e-7)


@settings(max_examples=15, deadline=None)
@given(gang_instances(min_slots=1))
def test_more_devices_more_jobs_and_a_smaller_minimum_earn_no_less(instance: SelectionGangInstance) -> None:
    data, value = instance.to_dict(), gang(instance).value
    wide = (1 + instance.setting.capacity).tolist()
    loose = np.maximum(instance.setting.minimum - 1, 0).tolist()
    for change in ({"capacity": wide}, {"minimum": loose}, {"arrivals": 0 * instance.arrivals + 1}):
        assert gang(SelectionGangInstance.from_dict(data | change)).value >= value - 1e-7


@pytest.mark.parametrize("unit", [1, 1000, 2**17])
def test_units_of_devices_do_not_matter(unit: int) -> None:
    data = BINDING.to_dict()
    s = BINDING.setting
    scaled = SelectionGangInstance.from_dict(
        data | {"demand": (unit * s.demand).tolist(), "capacity": (unit * s.capacity).tolist()}
    )
    assert gang(scaled).value == pytest.approx(gang(BINDING).value, abs=1e-7)
    short = SelectionGangInstance.from_dict(
        data | {"demand": (unit * s.demand + 1).tolist(), "capacity": (unit * s.capacity).tolist()}
    )
    assert gang(short).value == pytest.approx(gang(short, method="cp-sat").value, abs=1e-7)


# Feasibility. Two ports with two tasks each and one with one task; all tasks reach both servers.


@pytest.mark.parametrize(
    ("chosen", "arrivals", "broken"),
    [
        ({}, [0, 0, 0], []),
        ({0: 1, 4: 1}, [1, 1, 1], ["minimum[0]"]),
        ({4: 1}, [1, 0, 1], ["arrival[4]"]),
        ({4: 1, 5: 1}, [1, 1, 1], ["once[2]"]),
        ({4: 0.5}, [1, 1, 1], ["binary[4]", "minimum[1]"]),
        ({4: -1}, [1, 1, 1], ["binary[4]", "minimum[1]"]),
        ({2: 1, 4: 1, 0: 1}, [1, 1, 1], ["capacity[0][0]"]),
        ({8: np.nan}, [1, 1, 1], ["binary[8]", "once[4]", "minimum[2]", "capacity[0][0]"]),
    ],
)
def test_every_constraint_is_named_with_its_place(
    chosen: dict[int, float], arrivals: list[int], broken: list[str]
) -> None:
    s, x = BINDING.setting, np.zeros(10)
    for e, amount in chosen.items():
        x[e] = amount
    found = [str(violation).split(" ")[0] for violation in s.violations(x, np.array(arrivals))]
    assert found == broken
    assert s.feasible(x, np.array(arrivals)) is (not broken)


def test_an_infeasible_decision_stops_the_run() -> None:
    x = np.zeros((6, 10))
    x[2, 0] = 1.0
    with pytest.raises(DecisionError, match=r"slot 2: infeasible decision: .*minimum\[0\] exceeded by 1"):
        play(Replay(x, PROBLEM), BINDING.with_arrivals(np.ones((6, 3))))


@pytest.mark.parametrize("decision", [None, "none", np.zeros(3)])
def test_a_decision_of_the_wrong_form_is_refused(decision: Any) -> None:
    with pytest.raises(InputError, match="decision: "):
        BINDING.setting.violations(decision)


# Files.


@settings(max_examples=25, deadline=None)
@given(gang_instances())
def test_files_and_equality(instance: SelectionGangInstance) -> None:
    again = SelectionGangInstance.from_dict(instance.to_dict())
    assert again == instance
    assert again.digest() == instance.digest()
    assert "tasks=" in repr(again)
    np.testing.assert_array_equal(again.path, instance.path)
    recorded = SelectionGangInstance.from_dict(instance.to_dict() | {"path": instance.path.tolist()})
    np.testing.assert_array_equal(recorded.path, instance.path)
    assert (recorded == instance) is False


def test_save_and_load(tmp_path: Path) -> None:
    BINDING.save(tmp_path / "gang.json.gz")
    assert SelectionGangInstance.load(tmp_path / "gang.json.gz") == BINDING
    assert BINDING.facts()["channels at once at most"] == BINDING.setting.most_channels == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"channels": [[0, 0], [0, 0]]}, r"channels\[1\]: \[0, 0\] stands twice"),
        ({"channels": [[9, 0]]}, r"channels\[0\]\[0\]: 9 is out of range for 5 tasks"),
        ({"channels": [[0, 2]]}, r"channels\[0\]\[1\]: 2 is out of range for 2 servers"),
        ({"channels": [[0.5, 0]]}, r"channels\[0\]\[0\]: 0.5 is not a whole number"),
        ({"task_port": [0, 0, 2, 1, 2]}, r"task_port\[3\]: 1 after 2; ports must ascend"),
        ({"task_port": [0, 0, 1, 2, 3]}, r"task_port\[4\]: 3 is out of range for 3 ports"),
        ({"demand": [[1]]}, "demand: shape 1 x 1 does not fit, expected 5 x 1"),
        ({"demand": [[1], [0.5], [1], [1], [1]]}, r"demand\[1\]\[0\]: 0.5 is not a whole number"),
        ({"capacity": []}, "capacity: "),
        ({"capacity": [[], []]}, "capacity: empty"),
        ({"capacity": [[-1], [2]]}, r"capacity\[0\]\[0\]: -1 is not a whole number"),
        ({"minimum": [1, 1]}, "minimum: shape 2 does not fit, expected 3"),
        ({"minimum": [1, 1, -1]}, r"minimum\[2\]: -1 is not a whole number"),
        ({"mean": [2.0] * 10}, r"mean\[0\]: 2 is not a finite number of at least 0 and at most 1"),
        ({"mean": [0.5]}, "mean: shape 1 does not fit, expected 10"),
        ({"noise": {"kind": "loud"}}, "noise.kind: 'loud' is not one of"),
        ({"noise": {"kind": "clipped-normal"}}, "noise.scale: missing field"),
        ({"arrivals": [[2, 0, 0]]}, r"arrivals\[0\]\[0\]: 2 is not a whole number"),
        ({"seed": -1}, "seed: -1 is not a whole number"),
        ({"path": [[0.5]]}, "path: shape 1 x 1 does not fit, expected 6 x 10"),
        ({"ports": 0}, "ports: 0 is not a whole number"),
        ({"cost": [0.0]}, "cost: unknown field"),
        ({"noise": None}, "noise: None is not an object"),
    ],
)
def test_bad_fields_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SelectionGangInstance.from_dict(BINDING.to_dict() | change)


@pytest.mark.parametrize("field", ["channels", "task_port", "demand", "capacity", "minimum", "mean", "seed"])
def test_a_missing_field_is_named(field: str) -> None:
    data = BINDING.to_dict()
    del data[field]
    with pytest.raises(InputError, match=f"{field}: missing field"):
        SelectionGangInstance.from_dict(data)


# Generators.


def test_generated_instances_are_reproducible_and_streams_are_apart() -> None:
    one = generate("tiny", 5)
    assert one == generate("tiny", 5) != generate("tiny", 6)
    assert one.setting.channels <= 8
    longer = generate("tiny", 5, slots=30)
    np.testing.assert_array_equal(longer.path[:12], one.path)
    np.testing.assert_array_equal(longer.arrivals[:12], one.arrivals)
    rarer = generate("tiny", 5, arrival_probability=0.3)
    assert (rarer.arrivals <= one.arrivals).all()
    np.testing.assert_array_equal(rarer.mean, one.mean)
    assert (generate("tiny", 5, capacity=(9, 9)).setting.demand == one.setting.demand).all()
    assert (MIDDLE.setting.minimum >= 1).all()
    assert any("minimum" in line for line in one.origin.filled)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "vast"}, "size: 'vast' is not one of"),
        ({"seed": -1}, "seed: -1"),
        ({"tasks": (2, 1)}, "tasks: "),
        ({"ports": 0}, "ports: 0"),
        ({"reach": -1}, "reach: -1"),
        ({"demand": (1, 2.5)}, r"demand\[1\]: 2.5"),
        ({"capacity": 3}, "capacity: 3"),
        ({"minimum": -1}, "minimum: -1"),
        ({"arrival_probability": 1.5}, "arrival_probability: 1.5"),
        ({"noise": "loud"}, "noise: 'loud' is not one of"),
    ],
)
def test_generator_arguments_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        generate(**options)


def test_splitting_keeps_ports_servers_arrivals_and_noise() -> None:
    base = generate_base("default", 2, slots=5)
    split_up = split(base, 2, tasks=(1, 3), minimum=1)
    s = split_up.setting
    assert (s.ports, s.servers, s.kinds, s.slots) == (base.setting.ports, base.setting.servers, 3, 5)
    np.testing.assert_array_equal(split_up.arrivals, base.arrivals)
    assert s.fits.all()
    assert {tuple(pair) for pair in np.column_stack([s.port, s.server]).tolist()} == {
        tuple(edge) for edge in base.setting.edges.tolist()
    }
    assert split_up == split(base, 2, tasks=(1, 3), minimum=1)
    with pytest.raises(InputError, match="tasks: "):
        split(base, 2, tasks=(3, 1))


def test_traces_are_split_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    base = generate_base("tiny", 4)
    asked: list[Any] = []

    def read(folder: str, **options: Any) -> Any:
        asked.append((folder, options))
        return base

    monkeypatch.setattr(gang_generate, "base_from_trace", read)
    made = from_trace("traces", seed=4, tasks=(1, 2), slot_seconds=60.0)
    assert made == split(base, 4, tasks=(1, 2))
    assert made.origin.source.startswith("gangs of ")
    [(folder, options)] = asked
    assert (folder, options["seed"], options["noise"], options["slot_seconds"]) == (
        "traces",
        4,
        "clipped-normal",
        60.0,
    )
    assert {"tasks", "minimum"} == set(inspect.signature(from_trace).parameters) - {"folder", *options}


# The oracle.


def test_an_early_stop_leaves_an_honest_interval() -> None:
    exact = gang(MIDDLE)
    assert exact.bound is not None
    late = gang(MIDDLE, time_limit=0.0)
    assert late.why_stopped is WhyStopped.TIME_LIMIT
    assert late.value == 0.0
    assert late.bound is not None
    assert late.bound >= exact.value
    assert gang(MIDDLE, time_limit=0.0, method="cp-sat").bound == late.bound


def test_patterns_that_are_late_use_those_that_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from clairvoyant.oracles.selection import gang as selection_gang

    arrivals = np.array([[1, 1, 0]] * 3 + [[1, 0, 0], [1, 1, 1]])
    instance = BINDING.with_arrivals(arrivals)
    exact = gang(instance)
    calls: list[Any] = []

    def slow(*given: Any) -> Any:
        calls.append(given)
        given[-1].time_limit = 0.0
        return best_gang(*given[:3])

    monkeypatch.setattr(selection_gang, "_by_highs", slow)
    early = gang(instance, time_limit=1000.0)
    assert len(calls) == 1
    certificate = early.certificate
    assert not instance.violations(early.decision)
    np.testing.assert_array_equal(early.decision[4], early.decision[0])
    assert certificate.per_slot[3, 0] == 0.0
    assert certificate.per_slot[3, 1] <= certificate.per_slot[0, 1]
    assert early.bound is not None
    assert early.value <= exact.value + 1e-9 <= early.bound + 1e-8


def test_equal_arrivals_are_searched_once_and_progress_is_told() -> None:
    seen: list[float] = []
    instance = BINDING.with_arrivals(np.array([[1, 1, 1], [0, 1, 1]] * 50))
    found = gang(instance, progress=lambda done, _text: seen.append(done))
    assert seen == [0.5, 1.0]
    assert found.certificate.per_slot.shape == (100, 2)
    assert found.value == pytest.approx(50 * found.certificate.pattern_value.sum())


def test_no_slots_and_bad_arguments() -> None:
    idle = gang(BINDING.with_arrivals(np.zeros((0, 3))))
    assert (idle.value, idle.bound, idle.why_stopped) == (0.0, 0.0, WhyStopped.PROVED)
    for bad, message in (({"method": "guess"}, "method: 'guess'"), ({"gap": -1}, "gap: -1")):
        with pytest.raises(InputError, match=message):
            gang(BINDING, **bad)


def scripted(monkeypatch: pytest.MonkeyPatch, solved: Solved) -> None:
    monkeypatch.setattr(PyomoProgram, "solve", lambda _self, **_: solved)


def test_answers_that_do_not_survive_our_check_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    best = best_gang(BINDING.setting, BINDING.mean, np.ones(3)).value
    scripted(monkeypatch, Solved("error", None, {}))
    with pytest.raises(OracleError, match="HiGHS ended with error"):
        gang(BINDING)
    scripted(monkeypatch, Solved("optimal", 1.0, {"x": np.ones(10)}))
    with pytest.raises(SolverError, match="infeasible gang decision: once"):
        best_gang(BINDING.setting, BINDING.mean, np.ones(3))
    alone = np.zeros(10)
    alone[4] = 1.0
    for said in (1e-3, 1.0, 99.0):  # the word of a solver proves nothing
        scripted(monkeypatch, Solved("optimal", said, {"x": alone}, bound=said))
        low = best_gang(BINDING.setting, BINDING.mean, np.ones(3))
        assert not low.closed
        assert low.value <= best <= low.bound
    scripted(monkeypatch, Solved("maxTimeLimit", None, {}))
    late = best_gang(BINDING.setting, BINDING.mean, np.ones(3))
    assert not late.closed
    assert late.value == 0.0
    assert best <= late.bound <= best + 1e-6  # multipliers alone
    monkeypatch.setattr(gang_program, "bound_of", lambda *_: 1e-3)
    scripted(monkeypatch, Solved("optimal", 1.0, {"x": alone}))
    with pytest.raises(OracleError, match=r"bound .* is below the value"):
        gang(BINDING.with_arrivals(np.ones((1, 3))))


def test_time_limits_of_the_searches_leave_bounds() -> None:
    s, jobs = MIDDLE.setting, np.ones(8)
    exact = best_gang_index(s, MIDDLE.mean, MIDDLE.mean, jobs)
    late = best_gang_index(s, MIDDLE.mean, MIDDLE.mean, jobs, time_limit=0.0)
    assert exact.closed
    assert not late.closed
    assert late.value <= exact.value <= exact.bound <= late.bound
    with pytest.raises(InputError, match=r"q\[0\]: -1"):
        best_gang_index(s, MIDDLE.mean, -np.ones(s.channels), jobs)
    with pytest.raises(InputError, match="arrivals: shape 2"):
        best_gang(s, MIDDLE.mean, [1, 1])


# The policy.


@pytest.mark.parametrize(
    ("name", "check"), [check for kind in (GangEsdp, GangEscbV) for check in policy_checks(kind)]
)
def test_the_policy_keeps_its_contract(name: str, check: Any) -> None:
    assert name
    check()


def test_the_policy_plays_what_is_too_large_to_list() -> None:
    assert every_decision(MIDDLE.setting, np.ones(8, dtype=int)) is None
    run = play(GangEsdp(), MIDDLE, keep_decisions=True)
    assert run.decisions is not None
    assert not MIDDLE.violations(np.array(run.decisions))
    optimum = gang(MIDDLE)
    assert optimum.bound is not None
    assert 0.0 < run.total <= optimum.bound
    # As many channels as possible are tried first: the first slot takes as many as fit.
    s, jobs = MIDDLE.setting, MIDDLE.arrivals[0]
    most = most_tasks(s, np.ones(s.channels, dtype=bool), jobs).marked
    assert run.decisions[0].sum() == most


@settings(max_examples=15, deadline=None)
@given(gang_instances(min_slots=4, max_slots=12))
def test_the_policy_tries_every_channel_it_can_and_waits_for_no_other(
    instance: SelectionGangInstance,
) -> None:
    run = play(GangEsdp(), instance, keep_decisions=True)
    tried = np.zeros(instance.setting.channels, dtype=bool)
    for x, arrivals in zip(run.decisions or (), instance.arrivals, strict=True):
        every = brute_force(instance.setting, arrivals)
        assert x @ ~tried == (every @ ~tried).max()
        tried |= x > 0


@settings(max_examples=15, deadline=None)
@given(gang_instances(min_slots=4, max_slots=12), st.sampled_from([0.5, 2.0]))
def test_the_index_with_variances_is_what_it_says_and_is_maximised(
    instance: SelectionGangInstance, prior: float
) -> None:
    policy = GangEscbV(prior=prior)
    policy.start(instance.setting, np.random.default_rng(0))
    seen: list[list[float]] = [[] for _ in range(instance.setting.channels)]
    episode = instance.episode(policy.traits.sees)
    for slot, observation in enumerate(episode):
        x = np.array(policy.decide(observation))
        mean = np.array([np.mean(one) if one else 0.0 for one in seen])
        width = np.array(
            [
                2 * np.log(slot + 1) * (len(one) * np.var(one) + prior / 4) / (len(one) + prior) / len(one)
                if one
                else 0.0
                for one in seen
            ]
        )
        every = brute_force(instance.setting, instance.arrivals[slot]).astype(float)
        tried = np.array([bool(one) for one in seen], dtype=bool)
        new = every @ ~tried
        best = (every @ mean + np.sqrt(every @ width))[new == new.max()].max()
        assert x @ ~tried == new.max()
        assert x @ mean + np.sqrt(x @ width) == pytest.approx(best, rel=1e-9, abs=1e-9)
        feedback = episode.apply(x).feedback
        for e, utility in zip(feedback.channels, feedback.utility, strict=True):
            seen[e].append(float(utility))
        policy.learn(feedback)


def test_rounding_is_that_of_the_paper_and_can_be_left_out() -> None:
    rng = np.random.default_rng(0)
    rounded, exact = GangEsdp(), GangEsdp(delta=None)
    for policy in (rounded, exact):
        play(policy, BINDING)
    m = BINDING.setting.most_channels
    (v, q), (plain_v, plain_q) = rounded.index(9), exact.index(9)
    xi = np.ceil(m * (np.log(np.log(11) + 1) + 1))
    for got, unit in ((v, xi), (q, xi**2)):
        np.testing.assert_allclose(got * unit, np.round(got * unit), atol=1e-9)
    exact.start(BINDING.setting, rng)
    assert not exact.index(0)[0].any()
    assert plain_v.shape == plain_q.shape == v.shape


def test_a_prior_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match=r"prior: 0\.0 is not at least 1e-06"):
        GangEscbV(prior=0.0)


@pytest.mark.parametrize("setting", [{"delta": "none"}, {"g": "none"}])
def test_unknown_sequences_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(setting))}: 'none' is not one of"):
        GangEsdp(**setting)


def test_the_policy_says_that_it_needs_arrivals() -> None:
    policy = GangEsdp()
    policy.start(BINDING.setting, np.random.default_rng(0))
    hidden = next(iter(BINDING.episode(frozenset())))
    with pytest.raises(InputError, match="needs to see the arrivals"):
        policy.decide(hidden)


def test_a_policy_says_how_far_its_indices_were_from_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, instance = GangEsdp(), generate("tiny", 3, slots=30)
    play(policy, instance)
    assert policy.unproved == 0
    assert policy.largest_gap <= 1e-6
    exact = gang_program.best_gang_index

    def late(*given: Any, **more: Any) -> Any:
        found = exact(*given, **more)
        return found._replace(bound=1.25 * found.value, closed=False)

    monkeypatch.setattr(gang_program, "best_gang_index", late)
    play(policy, instance)
    assert policy.unproved == len(instance.arrivals)
    assert policy.largest_gap == pytest.approx(0.2)
