"""Generated selection instances: the settings of the paper, determinism, common random numbers, origin."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import clairvoyant
from clairvoyant import api
from clairvoyant.models.base import InputError
from clairvoyant.models.selection.generate import SIZES, generate
from clairvoyant.models.selection.instance import SelectionInstance
from clairvoyant.models.selection.noise import NOISES

DEFAULT = generate()


def by_pair(instance: SelectionInstance) -> dict[tuple[int, int], tuple[Any, ...]]:
    """Return demand, mean, cost and scale of every channel by its ports and servers."""
    s = instance.setting
    rows = zip(s.edges.tolist(), s.demand.tolist(), instance.mean, s.cost, instance.scale, strict=True)
    return {tuple(edge): (tuple(a), mean, cost, scale) for edge, a, mean, cost, scale in rows}


def all_but(instance: SelectionInstance, *names: str) -> dict[str, Any]:
    return {key: value for key, value in instance.to_dict().items() if key not in (*names, "origin")}


# --- the paper's settings -----------------------------------------------------------------------------------


def test_default_is_table_3() -> None:
    s = DEFAULT.setting
    assert (s.ports, s.kinds, s.slots) == (8, 3, 2000)
    assert s.servers <= 40
    assert s.capacity.tolist() == [12, 12, 12]
    assert set(np.unique(s.demand)) == {1, 2}
    assert set(np.unique(DEFAULT.arrivals)) == {0, 1}
    assert DEFAULT.noise == "clipped-normal"
    assert DEFAULT.arrivals.mean() == pytest.approx(0.9, abs=5 * np.sqrt(0.09 / DEFAULT.arrivals.size))


def test_large_is_the_same_graph_with_twice_the_capacity_over_four_times_the_slots() -> None:
    large = generate("large")
    assert large.setting.capacity.tolist() == [24, 24, 24]
    assert large.setting.slots == 8000
    assert all_but(large, "capacity", "arrivals") == all_but(DEFAULT, "capacity", "arrivals")
    assert large.arrivals[:2000].tolist() == DEFAULT.arrivals.tolist()


def test_the_literal_capacity_lets_two_channels_be_on() -> None:
    literal = generate(capacity=2)
    assert all_but(literal, "capacity") == all_but(DEFAULT, "capacity")
    assert (literal.setting.demand.min(axis=0) >= 1).all()  # so no more than two fit
    assert literal.facts()["channels at once at most"] <= 2


def test_channels_are_as_many_as_the_density_says() -> None:
    counts = [generate(seed=seed, slots=0).setting.channels for seed in range(60)]
    assert np.mean(counts) == pytest.approx(32, abs=5 * np.sqrt(320 * 0.1 * 0.9 / 60))
    tiny = [generate("tiny", seed).setting for seed in range(60)]
    assert 4.5 < np.mean([s.channels for s in tiny]) < 7.5
    assert {(s.ports, s.kinds, s.slots, *s.capacity.tolist()) for s in tiny} == {(3, 2, 12, 4, 4)}


def test_utilities_and_costs_have_the_distributions_of_table_3() -> None:
    one = generate(ports=60, servers=60, density=1.0, slots=0)
    mu, price = one.scale / 0.5, one.setting.cost / 0.1
    assert stats.kstest(mu, stats.uniform(0.1, 0.9).cdf).pvalue > 1e-3
    assert stats.kstest(price, stats.norm(1.5, 0.1 * np.sqrt(3)).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(mu, price)[0, 1]) < 5 / np.sqrt(len(mu))
    share = [float((one.setting.demand[:, k] == 1).mean()) for k in range(3)]
    assert share == pytest.approx([0.5] * 3, abs=5 * 0.5 / np.sqrt(len(mu)))


def test_the_mean_is_that_of_the_clipped_utility() -> None:
    """Draw Z, take off the cost and clip, as the text says; nothing else may be done to a channel."""
    one = generate(seed=3, slots=0)
    mu = one.scale / 0.5
    rng = np.random.default_rng(17)
    z = np.clip(rng.normal(mu, mu / 2, (100_000, len(mu))) - one.setting.cost, 0.0, 1.0)
    error = z.std(axis=0) / np.sqrt(len(z))
    assert (np.abs(z.mean(axis=0) - one.mean) <= 5 * error).all()
    path = generate(seed=3, slots=40_000).path
    assert (np.abs(path.mean(axis=0) - one.mean) <= 5 * path.std(axis=0) / np.sqrt(len(path))).all()


def test_costs_at_the_literal_scale_leave_next_to_nothing() -> None:
    literal = generate(cost_scale=1.0, slots=0)
    mu = literal.scale / 0.5
    assert (mu - literal.setting.cost < 0).mean() > 0.9
    assert literal.mean.mean() < 0.02
    assert literal.setting.cost == pytest.approx(10 * DEFAULT.setting.cost)
    assert (literal.mean <= DEFAULT.mean).all()
    free = generate(cost_scale=0.0, slots=0)
    assert (free.setting.cost == 0).all()
    assert (free.mean >= DEFAULT.mean).all()


@pytest.mark.parametrize("noise", NOISES)
def test_the_mean_does_not_depend_on_the_noise(noise: str) -> None:
    other = generate(noise=noise, slots=100)
    assert other.noise == noise
    assert other.mean.tolist() == DEFAULT.mean.tolist()
    assert other.setting.cost.tolist() == DEFAULT.setting.cost.tolist()
    if noise == "bernoulli":
        assert set(np.unique(other.path)) == {0.0, 1.0}
    if noise == "none":
        assert (other.path == other.mean).all()


# --- determinism --------------------------------------------------------------------------------------------


@given(st.sampled_from(sorted(SIZES)), st.integers(0, 2**53 - 2))
@settings(max_examples=20, deadline=None)
def test_equal_arguments_give_equal_instances(size: str, seed: int) -> None:
    one, two = (generate(size, seed, slots=20) for _ in range(2))
    assert one == two
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    assert one.path.tolist() == two.path.tolist()
    assert one != generate(size, seed + 1, slots=20)


def test_the_sample_path_has_a_seed_of_its_own() -> None:
    seeds = [generate("tiny", seed).seed for seed in range(200)]
    assert len(set(seeds)) == 200
    assert all(found != seed for seed, found in enumerate(seeds))


def test_a_saved_instance_is_the_generated_one(tmp_path: Path) -> None:
    for size in ("tiny", "default"):
        one = generate(size, 5)
        one.save(tmp_path / "instance.json.gz")
        again = SelectionInstance.load(tmp_path / "instance.json.gz")
        assert again == one
        assert again.origin == one.origin
        assert again.path.tolist() == one.path.tolist()


def test_the_front_door_is_the_function() -> None:
    assert clairvoyant.generate("selection", "tiny", 3, capacity=5) == generate("tiny", 3, capacity=5)
    listed = api.generate("selection", "tiny", 3, demand=[1, 3])
    assert listed == generate("tiny", 3, demand=(1, 3))


# --- one argument changes one thing -------------------------------------------------------------------------

SEED = st.integers(0, 2**32)
SHARE = st.floats(0.0, 1.0, allow_subnormal=False)


@given(SEED, SHARE, SHARE)
@settings(max_examples=40, deadline=None)
def test_more_density_only_adds_channels(seed: int, one: float, other: float) -> None:
    few, many = (by_pair(generate("tiny", seed, density=d)) for d in sorted((one, other)))
    assert few.items() <= many.items()


@given(SEED, st.integers(0, 40), st.integers(0, 40), st.sampled_from(NOISES))
@settings(max_examples=40, deadline=None)
def test_more_slots_leave_the_first_ones_as_they_are(seed: int, one: int, other: int, noise: str) -> None:
    short, long = (generate("tiny", seed, slots=t, noise=noise) for t in sorted((one, other)))
    slots = short.setting.slots
    assert long.arrivals[:slots].tolist() == short.arrivals.tolist()
    assert long.path[:slots].tolist() == short.path.tolist()
    assert all_but(long, "arrivals", "ports") == all_but(short, "arrivals", "ports")


@given(SEED, SHARE, SHARE)
@settings(max_examples=40, deadline=None)
def test_more_probability_only_adds_jobs(seed: int, one: float, other: float) -> None:
    few, many = (generate("tiny", seed, arrival_probability=p) for p in sorted((one, other)))
    assert (few.arrivals <= many.arrivals).all()
    assert all_but(few, "arrivals") == all_but(many, "arrivals")
    assert few.path.tolist() == many.path.tolist()


@given(SEED, st.integers(0, 30), st.lists(st.integers(0, 30), min_size=2, max_size=2))
@settings(max_examples=30, deadline=None)
def test_capacity_changes_nothing_else(seed: int, one: int, two: list[int]) -> None:
    same, each = generate("tiny", seed, capacity=one), generate("tiny", seed, capacity=two)
    assert same.setting.capacity.tolist() == [one, one]
    assert each.setting.capacity.tolist() == two
    assert all_but(same, "capacity") == all_but(each, "capacity")
    assert same.path.tolist() == each.path.tolist()


@given(SEED, st.integers(0, 4), st.integers(0, 4))
@settings(max_examples=30, deadline=None)
def test_demand_keeps_its_range_and_changes_nothing_else(seed: int, low: int, width: int) -> None:
    one, other = generate("tiny", seed, demand=(low, low + width)), generate("tiny", seed)
    found = one.setting.demand
    assert ((found >= low) & (found <= low + width)).all()
    if low > 0:  # what takes no device of a kind costs nothing there
        assert all_but(one, "demand") == all_but(other, "demand")
    else:
        assert (one.setting.cost[(found == 0).all(axis=1)] == 0).all()
        assert (one.setting.cost <= other.setting.cost).all()


@given(SEED, st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_more_kinds_leave_the_demands_of_the_first_ones(seed: int, one: int, other: int) -> None:
    few, many = (generate("tiny", seed, kinds=k) for k in sorted((one, other)))
    kinds = few.setting.kinds
    assert many.setting.demand[:, :kinds].tolist() == few.setting.demand.tolist()
    assert many.arrivals.tolist() == few.arrivals.tolist()
    assert (many.setting.cost >= few.setting.cost).all()


def test_extreme_options_are_valid(tmp_path: Path) -> None:
    for options in (
        {"density": 0.0},
        {"density": 1.0, "arrival_probability": 1.0},
        {"arrival_probability": 0.0},
        {"slots": 0},
        {"capacity": 0},
        {"demand": (0, 0)},
        {"ports": 1, "servers": 1, "kinds": 1},
    ):
        one = generate("tiny", 1, **options)
        one.save(tmp_path / "instance.json")
        assert SelectionInstance.load(tmp_path / "instance.json") == one
    assert generate("tiny", density=0.0).setting.channels == 0
    assert generate("tiny", density=1.0).setting.channels == 12
    assert generate("tiny", arrival_probability=0.0).arrivals.sum() == 0
    assert generate("tiny", arrival_probability=1.0).arrivals.min() == 1


# --- origin and bad arguments -------------------------------------------------------------------------------


def test_origin_says_that_nothing_is_real() -> None:
    assert DEFAULT.origin.source == "synthetic (default, seed 0)"
    assert DEFAULT.origin.real == ()
    filled = "; ".join(DEFAULT.origin.filled)
    for column in ("edges", "demand", "capacity", "arrivals: Bernoulli(0.9)", "cost", "mean", "sample path"):
        assert column in filled


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "size: 'huge' is not one of tiny, default, large"),
        ({"seed": -1}, "seed: -1 is not a whole number of at least 0"),
        ({"seed": 1.5}, r"seed: 1\.5 is not a whole number"),
        ({"slots": -1}, "slots: -1 is not a whole number of at least 0"),
        ({"ports": 0}, "ports: 0 is not a whole number of at least 1"),
        ({"servers": True}, "servers: True is not a whole number"),
        ({"kinds": 0}, "kinds: 0 is not a whole number of at least 1"),
        ({"kinds": ["CPU"]}, r"kinds: \['CPU'\] is not a whole number"),
        ({"density": 1.5}, r"density: 1\.5 is not at least 0 and at most 1"),
        ({"density": "thin"}, "density: 'thin' is not a finite number"),
        ({"capacity": -1}, "capacity: -1 is not a whole number of at least 0"),
        ({"capacity": 1.5}, r"capacity: 1\.5 is not a whole number"),
        ({"capacity": 2**40}, "capacity: 1099511627776 is not a whole number .* at most 2147483648"),
        ({"capacity": [4, 4, 4]}, r"capacity: \[4, 4, 4\] has not one number for each of the 2 kinds"),
        ({"capacity": [4, 0.5]}, r"capacity\[1\]: 0\.5 is not a whole number"),
        ({"capacity": "4"}, "capacity: '4' is not a whole number"),
        ({"arrival_probability": -0.1}, r"arrival_probability: -0\.1 is not at least 0 and at most 1"),
        ({"arrival_probability": float("nan")}, "arrival_probability: nan is not a finite number"),
        ({"demand": 2}, r"demand: 2 is not a pair \(smallest, largest\)"),
        ({"demand": (1, 1.5)}, r"demand\[1\]: 1\.5 is not a whole number"),
        ({"demand": (2, 1)}, r"demand: \(2, 1\) does not increase"),
        ({"demand": (-1, 1)}, r"demand\[0\]: -1 is not a whole number"),
        ({"noise": "cauchy"}, "noise: 'cauchy' is not one of clipped-normal, bernoulli, none"),
        ({"cost_scale": -0.5}, r"cost_scale: -0\.5 is not at least 0"),
        ({"cost_scale": None}, "cost_scale: None is not a finite number"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        generate(**({"size": "tiny"} | options))
