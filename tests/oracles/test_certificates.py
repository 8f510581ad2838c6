"""Certificates of the oracles: accepted, as is reported, and as enumeration finds."""

import inspect
import itertools
import json
import math
import sys
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant import api, verify
from clairvoyant.models.base import InputError
from clairvoyant.models.selection.instance import ChannelInstance
from clairvoyant.oracles.admission import branch
from clairvoyant.oracles.admission import certificate as jobs
from clairvoyant.oracles.allocation.certificate import _exactly as exactly
from clairvoyant.oracles.allocation.certificate import feasible
from clairvoyant.oracles.base import Budget, Optimum, OracleError, WhyStopped
from clairvoyant.oracles.placement.bound import sum_of_durations
from clairvoyant.oracles.placement.exact import by_enumeration
from clairvoyant.oracles.selection import certificate as trees
from clairvoyant.testing import admission, allocation, campaigns, fuzz, placement, selection, selection_gang
from clairvoyant.testing.kit import times

LONG_SEARCH = "CPU jobs and machines without GPUs"
"""It takes the checker seconds."""

EDGE: list[tuple[str, Any]] = [
    *((name, one) for name, one in allocation.degenerate().items()),
    *((name, one) for name, one in allocation.degenerate_gangs().items()),
    *((name, one) for name, one in selection.degenerate().items()),
    *((name, one) for name, one in selection_gang.degenerate_gangs().items()),
    *((name, one) for name, one in placement.degenerate().items() if name != LONG_SEARCH),
    *((name, one) for name, one in admission.degenerate().items()),
]


@pytest.mark.parametrize(("name", "instance"), EDGE, ids=[f"{one.problem}: {name}" for name, one in EDGE])
@settings(max_examples=1)
@given(data=st.data())
def test_certificates_at_the_edge_of_what_is_allowed(name: str, instance: Any, data: st.DataObject) -> None:
    assert campaigns.check_certificates(instance, data) in {"all certified", "verified"}, name


@settings(max_examples=12)
@given(
    allocation.instances(max_slots=3),
    st.sampled_from([1e-9, 1e-3, 1.0, 1e9]),
    st.sampled_from([1e-9, 1.0, 1e9]),
    st.data(),
)
def test_allocations_of_all_scales(instance: Any, devices: float, money: float, data: st.DataObject) -> None:
    given = instance.to_dict()
    for name in ("demand", "capacity"):
        given[name] = times(given[name], devices)
    given["utility"]["alpha"] = times(given["utility"]["alpha"], money)
    campaigns.check_certificates(cv.AllocationInstance.from_dict(given), data)


GANGS = allocation.gang_instances(max_ports=3, min_edges=2, min_slots=1, max_slots=2)


@settings(max_examples=25)
@given(GANGS, st.sampled_from([1e-9, 1e-3, 1.0, 1e9]), st.sampled_from([1e-9, 1.0, 1e9]), st.data())
def test_gangs_of_allocation_of_all_scales(
    instance: Any, devices: float, money: float, data: st.DataObject
) -> None:
    given = instance.to_dict()
    given["capacity"] = times(given["capacity"], devices)
    given["gang"] |= {name: times(given["gang"][name], devices) for name in ("demand", "floor")}
    given["utility"]["alpha"] = times(given["utility"]["alpha"], money)
    campaigns.check_certificates(cv.AllocationGangInstance.from_dict(given), data)


@settings(max_examples=30)
@given(GANGS, st.data())
def test_gangs_become_feasible_without_any_tolerance(instance: Any, data: st.DataObject) -> None:
    """What earns about as much is feasible exactly; where it lacks more than rounding, tasks hold nothing."""
    of, optimum = verify.AllocationGang(instance.to_dict()), cv.solve(instance, time_limit=2.0)
    off = data.draw(st.sampled_from([0.0, 1e-12, 1e-9, 0.3]))
    signs = data.draw(
        st.lists(st.sampled_from([-1, 1]), min_size=optimum.decision.size, max_size=optimum.decision.size)
    )
    near = optimum.decision * (1.0 + off * np.reshape(signs, optimum.decision.shape))
    pairs = exactly(of, near)
    earned = of.earned([[Fraction(*one) for one in row] for row in pairs])  # an error if a limit is broken
    if off <= 1e-9:
        assert float(earned) == pytest.approx(optimum.value, rel=1e-6, abs=1e-6 * optimum.scale)


def test_what_one_server_lacks_is_moved_from_another() -> None:
    """Two tasks that fill both servers: the second has to make room for the first."""
    instance = cv.AllocationGangInstance(
        cv.AllocationInstance(
            edges=[[0, 0], [1, 0], [1, 1]],
            demand=[[1.0], [1.0]],
            capacity=[[1.0], [0.5]],
            overhead=[0.0],
            utility_kind=[["linear"], ["linear"]],
            alpha=[[1.0], [1.0]],
            arrivals=[[1, 1]],
        ),
        demand=[[[0.7]], [[0.8]]],
        floor=[[[0.7]], [[0.8]]],
        minimum=[1, 1],
    )
    of = verify.AllocationGang(instance.to_dict())
    found = [Fraction(*row[0]) for row in exactly(of, np.array([[0.65], [0.35], [0.45]]))]
    assert [found[0], found[1] + found[2]] == [Fraction(0.7), Fraction(0.8)]
    assert found[0] + found[1] <= 1
    assert found[2] <= Fraction(1, 2)
    of.capacity[0][0] = Fraction(0.99)  # not enough for both
    found = [Fraction(*row[0]) for row in exactly(of, np.array([[0.65], [0.35], [0.45]]))]
    assert [found[0], found[1] + found[2]] == [0, Fraction(0.8)]


def test_gains_and_charges_that_cancel_are_certified_up_to_their_rounding() -> None:
    """A device gains 1, and costs all of it but the last digit: 1.5 of them earn 1.7e-16, told as 2.2e-16."""
    base = cv.AllocationInstance(
        edges=[[0, 0]],
        demand=[[0.0]],
        capacity=[[2.0]],
        overhead=[math.nextafter(1.0, 0.0)],
        utility_kind=[["linear"]],
        alpha=[[1.0]],
        arrivals=[[1]],
    )
    gangs = cv.AllocationGangInstance(base, demand=[[[1.5]]], floor=[[[0.75]]], minimum=[0])
    found = cv.solve(gangs).verified()
    assert found.certified
    assert found.statement is not None
    assert float(found.statement.value) == pytest.approx(3 * 2.0**-54, rel=1e-15)
    assert not replace(found, value=1e-12).certified


def test_prices_that_do_not_show_that_nothing_is_feasible_are_left_out() -> None:
    instance = cv.generate("allocation-gang", "tiny", 1)
    optimum = cv.solve(instance)
    kept = optimum.certificate
    empty = tuple(None if one is None else one._replace(empty=True) for one in kept.prices)
    replaced = replace(optimum, certificate=replace(kept, prices=empty)).verified()
    assert "not certified: the certificate proves a gap of" in replaced.status
    assert replaced.statement is not None
    assert float(replaced.statement.bound) > optimum.value


@settings(max_examples=15)
@given(admission.instances(), st.sampled_from([1e-3, 1.0, 1e9]), st.sampled_from([1e-9, 1.0, 1e7]), st.data())
def test_admissions_of_all_scales(instance: Any, amounts: float, money: float, data: st.DataObject) -> None:
    given = instance.to_dict()
    for name in ("worker_servers", "parameter_servers"):
        given[name] = in_millionths(given[name], amounts)
    for job in given["jobs"]:
        job["utility"]["priority"] *= money
        for name in ("worker_demand", "server_demand"):
            job[name] = in_millionths(job[name], amounts)
    assert campaigns.check_certificates(cv.AdmissionInstance.from_dict(given), data) == "all certified"


def in_millionths(rows: Any, factor: float) -> Any:
    """Return amounts times a factor, with 6 decimals, and 1e9 at most."""
    if isinstance(rows, list):
        return [in_millionths(row, factor) for row in rows]
    return min(1e9, round(rows * factor, 6))


def test_a_tree_proves_more_than_the_oracle_did(tmp_path: Path) -> None:
    instance = cv.generate("admission", "tiny", 2)
    optimum = cv.solve(instance, time_limit=0.0)
    assert optimum.gap is not None
    assert optimum.gap > 0.01
    certified = optimum.save_certificate(tmp_path / "c.json")
    assert certified.statement is not None
    assert float(certified.statement.gap) < 1e-12
    assert float(certified.statement.value) == pytest.approx(cv.solve(instance).value, rel=1e-12)


@pytest.mark.parametrize("limit", ["MOST_NODES", "MOST_STEPS"])
def test_admission_leaves_open_what_takes_too_long(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimum = cv.solve(cv.generate("admission", "tiny", 2))
    monkeypatch.setattr(branch if limit == "MOST_STEPS" else jobs, limit, 1)
    certified = optimum.save_certificate(tmp_path / "c.json")
    assert "not certified: the certificate proves a gap of 0." in certified.status


def hard_to_fill(jobs: int, machines: int, chunks: int, resources: int) -> cv.AdmissionInstance:
    """Return jobs of two or more slots, and machines of several resources that many sets of workers fill."""
    rng = np.random.default_rng(1)
    amounts = rng.integers(60_000, 140_000, (jobs, resources)) / 1000
    job: dict[str, Any] = {
        "arrival": 1,
        "epochs": 3,
        "chunks": chunks,
        "minibatches": 1,
        "minibatch_time": 1.0,
    }
    job |= {"gradient_size": 0.0, "worker_bandwidth": 1.0, "server_bandwidth": 10.0}
    job |= {"server_demand": [0.0] * resources}
    return cv.AdmissionInstance(
        horizon=6,
        resources=[f"r{k}" for k in range(resources)],
        worker_servers=(1000.0 + rng.integers(0, 300, (machines, resources))).tolist(),
        parameter_servers=[[1.0] * resources],
        jobs=[
            job
            | {
                "worker_demand": row.tolist(),
                "utility": {"priority": float(rng.integers(50, 100)), "decay": 0.1, "target": 3.0},
            }
            for row in amounts
        ],
    )


@pytest.mark.parametrize("limit", [0.0, 0.001, 0.4])
def test_making_a_certificate_of_admission_ends_by_a_count_of_its_work(
    limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the same on all machines; one more program, or prices of a leaf, may be under way then."""
    optimum = cv.solve(hard_to_fill(10, 8, 20, 4), method="lagrangian")
    monkeypatch.setattr(jobs, "MOST_WORK", limit)
    did: list[tuple[float, int]] = []
    grown = jobs._Search.grow

    def grow(search: Any, nodes: int) -> Any:
        tree = grown(search, nodes)
        did.append((search.work, search.programs))
        return tree

    monkeypatch.setattr(jobs._Search, "grow", grow)
    first, second = (optimum.writer(optimum.instance, optimum) for _ in range(2))  # type: ignore[misc]
    assert first == second
    assert did[0] == did[1]
    work, programs = did[0]
    assert limit <= work <= limit + jobs.STEP_WORK * verify.MOST_FILLS
    assert programs == (limit > 0.0) or limit == 0.4
    statement = optimum.verified().statement
    assert statement is not None
    assert float(statement.gap) > 0.0


def test_the_checker_fills_machines_in_so_many_steps_in_all() -> None:
    """However many chunks jobs have: hundreds of workers of each may be on a machine."""
    of = verify.Admission(hard_to_fill(6, 3, 700, 3).to_dict())
    of.has = [[[50 * x for x in row] for row in rows] for rows in of.has]
    of.jobs = [(*job[:-1], [[700] * len(rows) for rows in of.has]) for job in of.jobs]
    of.prices = [[[[10**30 + i for i in range(6)]] * of.T] * 2]
    assert of.paid(0) > 0
    assert of.steps <= verify.MOST_FILLS


@settings(max_examples=20)
@given(allocation.instances(max_slots=3), st.sampled_from(["stationary", "dynamic"]), st.data())
def test_no_allocation_is_beyond_the_bound(instance: Any, oracle: str, data: st.DataObject) -> None:
    optimum = cv.solve(instance, oracle)
    decision, proof = optimum.writer(instance, optimum)  # type: ignore[misc]
    others = [feasible(instance.setting, data.draw(allocation.decisions(instance.setting))) for _ in decision]
    certificate = {"version": 1, "problem": "allocation", "oracle": oracle, "digest": instance.digest()}
    certificate |= {"claims": {}, "decision": [y.tolist() for y in others], "proof": proof}
    found = verify.derive(instance.to_dict(), certificate)  # an error if the value is above the bound
    held = others * len(instance.arrivals) if oracle == "stationary" else None
    if held is not None:
        total = sum(
            float(x @ instance.setting.port_rewards(y)) for x, y in zip(instance.arrivals, held, strict=True)
        )
        assert float(found.value) == pytest.approx(total, rel=1e-9, abs=1e-9 * float(found.bound) + 1e-12)


ANY = st.one_of(
    allocation.instances(max_slots=3),
    selection.instances(max_slots=2),
    selection_gang.gang_instances(max_slots=2),
)
DIGITS = 12
"""Significant digits that are printed of a value and a bound."""


@settings(max_examples=30)
@given(ANY, st.data())
def test_what_is_reported_is_exact_to_the_last_printed_digit(instance: Any, data: st.DataObject) -> None:
    names = [name for name, one in cv.list_oracles(instance.problem).items() if one.writer is not None]
    optimum = cv.solve(instance, data.draw(st.sampled_from(names))).verified()
    assert optimum.certified
    assert optimum.statement is not None
    assert optimum.bound is not None

    def beyond(reported: float, exactly: str) -> Fraction:
        """Return by how much a number is above the exact one, less the last digit that is printed of it."""
        digit = Fraction(10) ** (math.floor(math.log10(reported)) + 1 - DIGITS) if reported else Fraction(0)
        cancelled = Fraction(optimum.scale) / 2**26  # where gains and charges cancel, to their rounding
        return abs(Fraction(f"{reported:.{DIGITS}g}") - Fraction(exactly)) - digit - cancelled

    assert beyond(optimum.value, optimum.statement.value) <= 0
    assert beyond(optimum.bound, optimum.statement.bound) <= 0 or optimum.bound > Fraction(
        optimum.statement.bound  # prices of single slots are found again, and may be better
    )


def scaled(given: dict[str, Any], proof: dict[str, Any], factor: float) -> dict[str, Any]:
    """Return an instance that earns so many times as much, and change what proves its optimum alike."""
    if "gang" in given:
        kept = ("feasible", "w")
        proof["prices"] = [times(use, factor) | {name: use[name] for name in kept} for use in proof["prices"]]
        utility = given["utility"] | {"alpha": times(given["utility"]["alpha"], factor)}
        return given | {"utility": utility, "overhead": times(given["overhead"], factor)}
    proof["prices" if "prices" in proof else "price"] = times(proof.get("prices", proof.get("price")), factor)
    if "mean" in given:
        return given | {"mean": times(given["mean"], factor)}
    utility = given["utility"] | {"alpha": times(given["utility"]["alpha"], factor)}
    return given | {"utility": utility, "overhead": times(given["overhead"], factor)}


@settings(max_examples=30)
@given(ANY | GANGS, st.integers(1, 40), st.data())
def test_a_certificate_scales_with_its_instance(instance: Any, power: int, data: st.DataObject) -> None:
    given = json.loads(json.dumps(instance.to_dict()))
    if "utility" in given:  # alpha of "reciprocal" is no factor
        kinds = [
            ["log" if kind == "reciprocal" else kind for kind in row] for row in given["utility"]["kind"]
        ]
        given["utility"]["kind"] = kinds
    instance = type(instance).from_dict(given)
    name = next(name for name, one in cv.list_oracles(instance.problem).items() if one.writer is not None)
    optimum = cv.solve(instance, name)
    assert optimum.writer is not None
    decision, proof = optimum.writer(instance, optimum)
    oracle = optimum.oracle
    checker = verify.CHECKERS[instance.problem][oracle]
    before = checker(given, oracle, decision, proof)
    factor = 2.0**-power if "utility" not in given or data.draw(st.booleans()) else 2.0**power
    with pytest.MonkeyPatch.context() as patch:  # what is scaled up need not be within the limits of files
        patch.setattr(verify, "LARGEST", dict.fromkeys(verify.LARGEST, 1e300))
        after = checker(scaled(given, proof, factor), oracle, decision, proof)
    grid = max(abs(before.value), abs(before.bound)) * Fraction(factor) / 2**96  # of what is rounded
    assert abs(after.value - before.value * Fraction(factor)) <= grid
    assert abs(after.bound - before.bound * Fraction(factor)) <= grid
    assert after.digest != before.digest or not before.bound


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("problem", ["selection", "selection-gang", "allocation", "admission", "placement"])
def test_what_a_certificate_proves_beyond_its_oracle_counts(problem: str, seed: int) -> None:
    found = cv.solve(api.generate(problem, "tiny", seed))
    assert found.bound is not None
    sign = -1.0 if found.minimised else 1.0
    loose = replace(found, bound=found.bound + sign * abs(found.bound), why_stopped=WhyStopped.GAP_REACHED)
    certified = loose.verified()
    assert certified.statement is not None
    assert certified.bound is not None
    beyond = sign * (Fraction(certified.bound) - Fraction(certified.statement.bound))
    assert 0 <= beyond <= Fraction(math.ulp(certified.bound))
    assert (certified.why_stopped is WhyStopped.PROVED) == (certified.statement.gap == "0")
    assert certified.certified
    tight = replace(found, bound=certified.bound - sign * math.ulp(certified.bound)).verified()
    assert sign * tight.bound < sign * certified.bound  # type: ignore[operator]


def test_what_is_shown_of_an_optimum_says_what_its_certificate_proves() -> None:
    optimum = cv.solve(cv.generate("selection", "tiny", 1))
    certified = optimum.verified()
    assert optimum.statement is None
    assert certified.statement is not None
    said = f"it earns at least {certified.statement.value}, and nothing more than {certified.statement.bound}"
    for shown in (optimum.summary(), optimum._repr_html_()):
        assert "certificate" not in shown
    for shown in (certified.summary(), certified._repr_html_()):
        assert said in shown
        assert "proved, certificate verified" in shown
    less = replace(certified, minimised=True)
    assert said.replace("earns at least", "costs at most").replace("more than", "less than") in less.summary()


def best_by_enumeration(instance: Any) -> Fraction:
    """Return the sum of the slots' optima, exactly, by trying all sets of channels."""
    mean = [Fraction(x) for x in instance.mean.tolist()]
    sets = [np.array(x, dtype=float) for x in itertools.product([0, 1], repeat=len(mean))]
    total = Fraction(0)
    for arrivals in instance.arrivals:
        allowed = [x for x in sets if not instance.setting.violations(x, arrivals)]
        total += max(sum((m for m, on in zip(mean, x, strict=True) if on), Fraction(0)) for x in allowed)
    return total


SMALL = st.one_of(
    selection.instances(max_slots=2, max_channels=5), selection_gang.gang_instances(max_slots=2)
).filter(lambda instance: instance.setting.channels <= 6)
NO_SOLVER: Any = {"method": "none", "seconds": 0.0, "bound": None, "why_stopped": WhyStopped.STALLED}


def of_nothing(instance: ChannelInstance) -> Optimum:
    """Return the decision to do nothing, as an optimum that can be certified."""
    oracle = "gang" if instance.problem == "selection-gang" else "clairvoyant"
    x = np.zeros((instance.setting.slots, instance.setting.channels))
    found = Optimum(0.0, decision=x, **NO_SOLVER, problem=instance.problem, oracle=oracle)
    writer = cv.list_oracles(instance.problem)[oracle].writer
    return replace(found, digest=instance.digest(), instance=instance, writer=writer)


@settings(max_examples=30)
@given(SMALL, st.sampled_from([0, trees.TABLE_WORK]), st.sampled_from([1.0, 1e-9, 1e-300]))
def test_selections_are_those_of_enumeration(instance: Any, table: int, factor: float) -> None:
    if instance.mean.min(initial=1.0) * factor < 1e-300:
        factor = 1.0
    instance = type(instance).from_dict(selection.scaled(instance.to_dict(), factor))
    best = best_by_enumeration(instance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TABLE_WORK", table)
        decision, proof = trees.of_slots(instance, of_nothing(instance))
    certificate = {"version": 1, "problem": instance.problem, "oracle": of_nothing(instance).oracle}
    certificate |= {"digest": instance.digest(), "claims": {}, "decision": decision, "proof": proof}
    found = verify.derive(instance.to_dict(), certificate)
    slack = best / 10**19
    assert best / (1 + Fraction(1, 2**40)) <= Fraction(found.value) + slack  # up to where leaves are closed
    assert Fraction(found.value) <= best <= Fraction(found.bound)
    assert Fraction(found.bound) <= best * (1 + Fraction(1, 2**40)) + slack
    assert not table or "table" in proof["trees"] or instance.problem != "selection" or not proof["trees"]


def rows(schedule: Any) -> Any:
    """Return a schedule as certificates have it."""
    return [[start, schedule.of_job(job).tolist()] for job, start in enumerate(schedule.start.tolist())]


THOUSANDTHS = st.integers(0, 1000).map(lambda whole: whole / 1000)


@settings(max_examples=50)
@given(st.data(), placement.instances(max_gpus=8))
def test_a_schedule_costs_what_the_package_says(data: st.DataObject, instance: Any) -> None:
    given = instance.to_dict() | {"gpu_weight": data.draw(THOUSANDTHS)}
    given["slowdown"] = {name: data.draw(st.floats(0, 10, width=16)) for name in given["slowdown"]}
    for job in given["jobs"]:
        job |= {"intensity": data.draw(THOUSANDTHS), "duration": data.draw(st.integers(1, 10**6)) / 1000}
    instance = cv.PlacementInstance.from_dict(given)
    schedule = data.draw(placement.schedules(instance))
    free = {"search": 0, "times": [0], "prices": []}
    found = verify.check_placement(given, "offline", rows(schedule), free)
    assert found.value == Fraction(instance.units(schedule), 10**6)
    assert found.bound == Fraction(sum_of_durations(instance).units, 10**6)


@settings(max_examples=30)
@given(st.data(), placement.instances(min_jobs=1))
def test_what_the_package_refuses_is_rejected(data: st.DataObject, instance: Any) -> None:
    known = ("machine", "count", "twice", "window", "gang", "capacity", "progress", "start")
    _, schedule = data.draw(placement.faults(instance, known))
    certificate = {"version": 1, "problem": "placement", "oracle": "offline", "digest": instance.digest()}
    certificate |= {"claims": {}, "decision": rows(schedule)}
    certificate |= {"proof": {"search": 0, "times": [0], "prices": []}}
    with pytest.raises((verify.RejectedError, verify.UnreadableError)):
        verify.derive(instance.to_dict(), certificate)


@st.composite
def prices(draw: st.DrawFn) -> dict[str, Any]:
    """Draw any prices of GPUs, thousandths of cores and of GB."""
    times = sorted(draw(st.sets(st.integers(1, 15_000), max_size=6)))
    dear = st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0, 2.0])
    price = [[draw(dear), draw(dear) / 1024, draw(dear) / 4096] for _ in times]
    return {"search": 0, "times": [0, *times], "prices": price}


@settings(max_examples=50)
@given(st.data(), placement.instances(max_jobs=3, max_machines=2, max_instances=3), prices())
def test_whatever_the_prices_they_prove_no_more_than_the_optimum(
    data: st.DataObject, instance: Any, proof: Any
) -> None:
    best = by_enumeration(instance, Budget(0.0, None))
    decision = rows(data.draw(placement.schedules(instance)))
    given, optimum = instance.to_dict(), Fraction(best.units or 0, 10**6)
    assert verify.check_placement(given, "offline", decision, proof).bound <= optimum
    assert verify.check_placement(given, "offline", decision, proof | {"search": 1}).bound == optimum
    of = verify.Placement(given, proof)
    assert of.search(best.units or 0) == of.search(10**18) == best.units


@settings(max_examples=15)
@given(
    placement.instances(max_jobs=4),
    st.sampled_from(["auto", "search", "branch-and-bound", "cp-sat"]),
    st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_placements_of_all_methods_and_scales(instance: Any, method: str, factor: float) -> None:
    given = instance.to_dict()
    for job in given["jobs"]:
        job |= {name: round(job[name] * factor, 3) or 0.001 for name in ("submit", "duration")}
    instance = cv.PlacementInstance.from_dict(given)
    with tempfile.TemporaryDirectory() as folder:
        found = cv.solve(instance, method=method).save_certificate(Path(folder, "c.json"))
    statement, proved = found.statement, found.why_stopped is WhyStopped.PROVED
    assert statement is not None
    assert Fraction(statement.value) == Fraction(instance.units(found.decision), 10**6)
    assert not proved or statement.gap == "0"


@settings(max_examples=20)
@given(st.data(), st.sampled_from([0.0, 1e-16, 1e-10]))
def test_decisions_become_feasible_without_any_tolerance(data: st.DataObject, over: float) -> None:
    setting = data.draw(allocation.settings(min_edges=1))
    y = data.draw(allocation.decisions(setting)) * (1.0 + over)
    y = np.minimum(y, setting.edge_demand * (1.0 + over)) - over
    found = feasible(setting, y)
    exact = [[Fraction(x) for x in row] for row in found.tolist()]
    for e, (port, server) in enumerate(setting.edges.tolist()):
        assert all(0 <= x <= a for x, a in zip(exact[e], setting.demand[port].tolist(), strict=True))
        here = [exact[i] for i in np.flatnonzero(setting.server == server)]
        for k, capacity in enumerate(setting.capacity[server].tolist()):
            assert sum(row[k] for row in here) <= capacity
    assert np.abs(found - np.maximum(y, 0.0)).max(initial=0.0) <= 2e-9 * setting.edge_demand.max(initial=0.0)


def test_a_leaf_that_is_left_open_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_NODES", 0)
    monkeypatch.setattr(trees, "TABLE_WORK", 0)
    optimum = cv.solve(selection.ordinary()["scarce devices"])
    assert (optimum.why_stopped, optimum.status) == (
        WhyStopped.PROVED,
        f"proved by {optimum.method}, not certified",
    )
    told = optimum.save_certificate(tmp_path / "c.json").status
    assert told.startswith(f"proved by {optimum.method}, not certified: the certificate proves a gap of 0.")
    monkeypatch.undo()
    certified = optimum.save_certificate(tmp_path / "c.json")
    assert certified.facts["why_stopped"] == "proved, certificate verified"
    assert "proved, certificate verified" in certified.summary()
    assert certified.statement is not None
    assert math.isclose(float(certified.statement.value), optimum.value, rel_tol=1e-15)


def depth(tree: Any) -> int:
    """Return how many branches in a row a tree has at most."""
    nodes, deepest = [(tree, 0)], 0
    while nodes:
        node, above = nodes.pop()
        deepest = max(deepest, above)
        nodes += [(side, above + 1) for side in node[-2:]] if isinstance(node, list) else []
    return deepest


@settings(max_examples=20)
@given(
    selection.instances(max_slots=2) | selection_gang.gang_instances(max_slots=2),
    st.integers(0, 3),
)
def test_no_tree_of_selection_is_deeper_than_readers_bear(instance: Any, most: int) -> None:
    optimum = cv.solve(instance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "MOST_DEPTH", most)
        patch.setattr(trees, "TABLE_WORK", 0)
        _, proof = trees.of_slots(instance, optimum)
        certified = optimum.verified()
    assert max(map(depth, proof["trees"]), default=0) <= most
    assert certified.statement is not None
    value = Fraction(optimum.verified().statement.value)  # type: ignore[union-attr]
    assert Fraction(certified.statement.bound) >= value


def test_a_tree_is_deeper_than_calls_of_python_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = 2 * np.random.default_rng(0).integers(50, 100, (160, 1))
    instance = cv.SelectionInstance(
        edges=[[0, e] for e in range(len(devices))],
        demand=devices,
        capacity=[int(devices.sum() // 4 * 2 + 1)],  # an odd number, which no set takes
        mean=devices[:, 0] / 256.0,
        arrivals=[[1]],
    )
    monkeypatch.setattr(trees, "MOST_NODES", 180)
    optimum = cv.solve(instance)
    trees.of_slots(cv.generate("selection", "tiny", 0), cv.solve(cv.generate("selection", "tiny", 0)))
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 120)
    try:
        proof = trees.of_slots(instance, optimum)[1]
    finally:
        sys.setrecursionlimit(usual)
    assert depth(proof["trees"][0]) > 120
    assert json.loads(json.dumps(proof)) == proof


@pytest.mark.parametrize(
    "instance",
    [
        cv.generate("selection", size="default", seed=1, slots=8),
        cv.generate(
            "selection-gang", size="default", seed=6, slots=8
        ),  # more than 2,000 nodes by prices alone
    ],
    ids=["plain", "gang"],
)
def test_value_and_bound_are_equal_to_the_last_digit(instance: Any, tmp_path: Path) -> None:
    optimum = cv.solve(instance)
    statement = optimum.save_certificate(tmp_path / "c.json").statement
    assert statement is not None
    assert statement.gap == "0"


def test_what_stopped_early_is_certified_as_far_as_it_came(tmp_path: Path) -> None:
    for oracle in ("stationary", "dynamic"):
        optimum = cv.solve(allocation.ordinary()["several jobs"], oracle, time_limit=0.0)
        certified = optimum.save_certificate(tmp_path / "c.json")
        assert certified.status == "time limit, certificate verified"
        assert certified.statement is not None
        assert float(certified.statement.value) <= float(certified.statement.bound) < math.inf


def test_who_writes_no_certificates_says_so(tmp_path: Path) -> None:
    optimum = cv.solve(allocation.ordinary_gangs()["one server"], time_limit=0.0)
    with pytest.raises(
        InputError, match="proofs of allocation-gang/gang are not written as certificates yet"
    ):
        replace(optimum, writer=None).save_certificate(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("kit", "name", "wrong"),
    [
        (allocation, "verify.conjugate", lambda *_: Fraction(0)),
        (SimpleNamespace(ordinary=allocation.ordinary_gangs), "verify.conjugate", lambda *_: Fraction(0)),
        (SimpleNamespace(ordinary=allocation.ordinary_gangs), "verify.most_of_job", lambda *_: None),
        (selection, "verify.Slot.best_option", lambda *_: [0]),
        (placement, "verify.Placement.bound", lambda *_: 0),
        (SimpleNamespace(ordinary=selection_gang.ordinary_gangs), "verify.Slot.best_set", lambda *_: 0),
        (admission, "verify.fullest", lambda *_: (0, 0)),
        (admission, "verify.Admission._best", lambda *_: 0),
    ],
)
def test_the_campaign_notices_a_wrong_checker(
    kit: Any, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "TABLE_WORK", 0)
    monkeypatch.setattr(verify, "MOST_STEPS", 1000)
    monkeypatch.setattr(f"clairvoyant.{name}", wrong)

    @settings(max_examples=1, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.data())
    def noticed(data: st.DataObject) -> None:
        with pytest.raises((campaigns.ContradictionError, OracleError)):
            campaigns.check_certificates(next(iter(kit.ordinary().values())), data)

    noticed()


def test_the_campaign_of_certificates_finds_nothing() -> None:
    line = fuzz.run_chunk("certificates", "selection", seed=0, chunk=0, cases=5)
    assert (line["failure"], line["counts"]) == (None, {"all certified": 5})
    assert [name for name in campaigns.TARGETS if campaigns.has_certificates(name)] == [
        "allocation",
        "allocation-gang",
        "selection",
        "selection-gang",
        "admission",
        "placement",
    ]


def test_the_campaign_notices_what_is_accepted_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    optimum = cv.solve(selection.ordinary()["scarce devices"])
    given, certificate, certified = campaigns._certified(optimum.instance, optimum)
    assert certified.statement is not None
    false = certificate | {"claims": certificate["claims"] | {"gap": "0.1"}}
    campaigns._refuse_false(given, false, certified.statement)
    worse = certified.statement._replace(bound="1")  # what another certificate is said to prove
    with pytest.raises(campaigns.ContradictionError, match="contradicts"):
        campaigns._refuse_false(given, certificate, worse)
    monkeypatch.setattr(campaigns, "check", verify.derive)  # which does not look at claims
    with pytest.raises(campaigns.ContradictionError, match="is accepted in place of"):
        campaigns._refuse_false(given, false, certified.statement)


def test_a_certificate_that_is_rejected_is_not_written(tmp_path: Path) -> None:
    optimum = cv.solve(allocation.ordinary()["several jobs"])
    target = tmp_path / "c.json"

    def wrong(instance: Any, found: Any) -> Any:
        decision, proof = optimum.writer(instance, found)  # type: ignore[misc]
        return [times(y, 3.0) for y in decision], proof

    with pytest.raises(OracleError, match="is rejected: "):
        replace(optimum, writer=wrong).save_certificate(target)
    with pytest.raises(OracleError, match="not of the instance"):
        replace(optimum, digest="0" * 16).save_certificate(target)
    assert not target.exists()
