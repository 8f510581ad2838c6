"""Ruin and recreate: what is placed is what is taken, and machines that are packed anew hold the same."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clairvoyant.models.admission import search
from clairvoyant.models.admission import search_kernels as kernels
from clairvoyant.models.admission.generate import generate
from clairvoyant.models.admission.instance import AdmissionInstance
from clairvoyant.models.admission.program import able
from clairvoyant.models.admission.search import Search
from clairvoyant.testing.admission import instances


def begun(instance: AdmissionInstance, seed: int, *weights: np.ndarray | float, even: float = 1.0) -> Search:
    rng, setting = np.random.default_rng(seed), instance.setting
    sides = (setting.worker_units, setting.server_units)
    factors = weights or (even, even)
    workers, servers = (
        rng.random((setting.horizon, *units.shape)).T * factor
        for units, factor in zip(sides, factors, strict=True)
    )
    return Search(setting, able(instance), (workers.T, servers.T), rng)


def packed_anew(search: Search, noise: float) -> None:
    given, held = search._given, search._held
    for side in range(2):
        for t in range(search.setting.horizon):
            kernels.repack(given, held, side, t, noise, search._packs[side], search.rng)


def concentrations(search: Search) -> list[float]:
    given, held = search._given, search._held
    sides = zip(held.free, given.prices, given.members, strict=True)
    slots = range(search.setting.horizon)
    return [kernels.concentration(*side, t) for side in sides for t in slots]


def totals(instance: AdmissionInstance, search: Search) -> list[np.ndarray]:
    """Return how many of each job run in each slot now; what is free has to be the rest."""
    placements, setting, found = search.placements, instance.setting, []
    for side, name in enumerate(("worker", "server")):
        units, free = getattr(setting, f"{name}_units"), search._held.free[side]
        taken, total = np.zeros_like(free), np.zeros((setting.horizon, len(search.jobs)), dtype=np.int64)
        for i, (job, placed) in enumerate(zip(search.jobs, placements, strict=True)):
            for t, h, count in [] if placed is None else getattr(placed, f"{name}s").tolist():
                taken[t, :, h] += count * getattr(job, f"{name}_units")
                total[t, i] += count
        np.testing.assert_array_equal(free + taken, np.broadcast_to(units.T, free.shape))
        found.append(total)
    for workers, servers, job, placed in zip(
        *(side.T for side in found), search.jobs, placements, strict=True
    ):
        assert workers.sum() == (0 if placed is None else job.work)
        np.testing.assert_array_equal(servers, job.servers_for[workers])
    earned = [0.0 if placed is None else placed.utility for placed in placements]
    assert search.value == pytest.approx(sum(earned), rel=1e-6)
    schedule = search.schedule()
    assert not instance.violations(schedule)
    assert instance.rewards(schedule).sum() == pytest.approx(search.best_value, rel=1e-6)
    return found


@given(instances(max_horizon=4, max_machines=5, max_jobs=6, max_chunks=5), st.integers(0, 9))
@hypothesis_settings(max_examples=30, deadline=None)
def test_packing_anew_moves_between_machines_alone(instance: AdmissionInstance, seed: int) -> None:
    assume(able(instance))
    search = begun(instance, seed)
    search.greedy(0.0)
    before, dense = totals(instance, search), concentrations(search)
    packed_anew(search, 0.3)
    for now, then in zip(totals(instance, search), before, strict=True):
        np.testing.assert_array_equal(now, then)
    for denser, was in zip(concentrations(search), dense, strict=True):
        assert denser >= was * (1.0 - 1e-9)
    search.rounds(np.full(5, 1e9))
    totals(instance, search)


@given(instances(max_horizon=5, max_machines=5, max_jobs=8, max_chunks=5), st.integers(0, 9))
@hypothesis_settings(max_examples=30, deadline=None)
def test_a_round_without_heat_that_loses_is_undone(instance: AdmissionInstance, seed: int) -> None:
    assume(able(instance))
    state = begun(instance, seed)
    state.greedy(0.0)
    with patch.object(search, "PACKED", 0):  # what is packed anew costs something else, and is not undone
        for heat in (1e9, 0.0, 0.0, 1e9, 0.0, 0.0):
            before = state._held.earned.sum() - search.THRIFT * state._held.spent.sum()
            state.rounds(np.full(1, heat))
            after = state._held.earned.sum() - search.THRIFT * state._held.spent.sum()
            assert heat or after >= before - 1e-9 * abs(before)
            totals(instance, state)


@given(instances(max_horizon=6, max_machines=4, max_jobs=8, max_chunks=5), st.integers(0, 9))
@hypothesis_settings(max_examples=40, deadline=None)
def test_weights_of_slots_and_groups_are_factors_on_their_prices(
    instance: AdmissionInstance, seed: int
) -> None:
    assume(able(instance))
    rng, plain = np.random.default_rng(seed), begun(instance, seed)
    weights = [2.0 ** rng.integers(-3, 4, len(ones)) for ones in plain._even]
    sides = (weights[1][plain._given.members[0]], weights[2][plain._given.members[1]])
    dear = begun(instance, seed, *(np.outer(side, weights[0]) for side in sides))
    for i in range(len(plain.jobs)):
        kernels.enter(plain._given, plain._held, i, 0.5, tuple(weights), plain._scratch)
        dear.insert(i, 0.5)
    for one, other in zip(plain.placements, dear.placements, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            np.testing.assert_array_equal(one.workers, other.workers)
            np.testing.assert_array_equal(one.servers, other.servers)


def test_unsure_prices_are_drawn_anew_in_every_round() -> None:
    sure, unsure = (begun(generate("default", 0, jobs=20), 0, even=1e-4) for _ in range(2))
    found = []
    for state, spread in ((sure, 0.0), (unsure, 1.0)):
        state.greedy(0.0)
        seen = set()
        for _ in range(100):
            state.rounds(np.full(1, 1e9), unsure=spread)
            seen |= {placed.workers.tobytes() for placed in state.placements if placed is not None}
        found.append(len(seen))
    assert found[0] < found[1]


def test_packing_anew_makes_room_for_a_large_worker() -> None:
    data = generate("tiny", 0, jobs=3, horizon=1).to_dict()
    data["resources"] = ["GPU"]
    data["worker_servers"], data["parameter_servers"] = [[4.0], [4.0]], [[3.0]]
    for job, demand in zip(data["jobs"], (2.0, 2.0, 4.0), strict=True):
        job |= {"arrival": 1, "epochs": 1, "chunks": 1, "minibatches": 1, "minibatch_time": 1.0}
        job |= {"gradient_size": 0.0, "worker_bandwidth": 1.0, "server_bandwidth": 1.0}
        job |= {"worker_demand": [demand], "server_demand": [1.0]}
    search = begun(AdmissionInstance.from_dict(data), 0)
    for i in range(2):
        search.restore(i, np.array([[0, i, 1]]), np.array([[0, 0, 1]]))
    search.insert(2, 0.0)
    assert search.placements[2] is None
    packed_anew(search, 0.0)
    search.insert(2, 0.0)
    assert [placed is not None for placed in search.placements] == [True] * 3
