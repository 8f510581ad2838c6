"""The checker of certificates: its numbers, what it refuses, and that it needs nothing but Python."""

import ast
import copy
import gzip
import inspect
import itertools
import json
import math
import operator
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant import verify
from clairvoyant.models.admission.schedule import Offer, cheapest_schedule
from clairvoyant.models.base import InputError, Instance
from clairvoyant.oracles.allocation import optimum as gangs
from clairvoyant.oracles.base import Optimum, OracleError, WhyStopped
from clairvoyant.problems import read_instance
from clairvoyant.testing import admission, allocation, placement, selection, selection_gang
from clairvoyant.testing.kit import times
from clairvoyant.verify import RejectedError, UnreadableError, check, derive

Run = Callable[..., Any]
POSITIVE = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12).filter(bool) | st.floats(
    1e-60, 1e60
).map(Fraction)
TIGHT = Fraction(1, 2**120)
EXACT = Context(150, Emin=-(10**6), Emax=10**6)


def as_decimal(x: Fraction) -> Decimal:
    return EXACT.divide(Decimal(x.numerator), Decimal(x.denominator))


# Numbers


@settings(max_examples=50)
@given(POSITIVE)
@example(Fraction(1))
@example(Fraction(1, 3))
@example(Fraction(2**60 - 1))
@example(Fraction(1, 10**60))
def test_logarithms_are_enclosed(y: Fraction) -> None:
    p, q, scale = y.numerator + y.denominator, y.denominator, y.denominator << verify.BITS
    low, high = (Fraction(verify.log(p, q, scale, up), scale) for up in (False, True))
    known = Fraction(EXACT.ln(EXACT.add(1, as_decimal(y))))  # an independent library, with 150 digits
    assert (
        low * (1 - Fraction(1, 10**80)) <= known <= high * (1 + Fraction(1, 10**80))
    )  # ... all but the last
    assert 0 < high - low <= TIGHT * high


@settings(max_examples=50)
@given(POSITIVE, st.booleans())
def test_numbers_are_rounded_outwards(x: Fraction, up: bool) -> None:
    rounded = Fraction(verify.decimal(x, up))
    assert (rounded >= x) if up else (rounded <= x)
    assert abs(rounded - x) <= Fraction(1, 10**19) * x


FAMILY = st.sampled_from(verify.FAMILIES)
SOME = st.fractions(Fraction(1, 1000), 1000, max_denominator=10**4)


@settings(max_examples=50)
@given(FAMILY, SOME, st.integers(1, 9), st.just(Fraction(0)) | SOME, SOME, st.integers(0, 64))
def test_a_conjugate_is_the_largest_of_what_it_bounds(
    family: str, alpha: Fraction, n: int, cost: Fraction, limit: Fraction, step: int
) -> None:
    unit, (scale, paid, least) = verify.scaled(alpha, cost, limit)
    most = Fraction(verify.conjugate(family, scale, n, paid * unit, least, unit), unit**3 << verify.BITS)

    def gain(y: Fraction, up: bool) -> Fraction:
        unit, (scale, taken) = verify.scaled(alpha, y)
        return Fraction(verify.gain(family, scale, taken, unit, up), unit**3 << verify.BITS)

    def payoff(y: Fraction) -> Fraction:
        return n * gain(y, up=False) - cost * y

    assert payoff(limit * step / 64) <= most
    low, high = 0.0, float(limit)  # the maximum by golden section, in floats
    for _ in range(90):
        a, b = high - 0.618 * (high - low), low + 0.618 * (high - low)
        low, high = (a, high) if payoff(Fraction(a)) < payoff(Fraction(b)) else (low, b)
    best = max(payoff(limit), *(payoff(Fraction(y)) for y in (low, high, 0.0)))
    assert best <= most
    assert most <= best + Fraction(1, 10**7) * (n * gain(limit, up=True) + cost * limit)
    assert gain(limit, up=True) - gain(limit, up=False) <= TIGHT * gain(limit, up=True)


# Instances


FREE: dict[str, Any] = {"search": 0, "times": [0], "prices": []}
"""A proof of placement without any prices."""


@settings(max_examples=40)
@given(
    st.one_of(
        *(kit.instances() for kit in (allocation, selection)),
        selection_gang.gang_instances(),
        allocation.gang_instances(),
        placement.instances(estimates=True),
        placement.instances(),
        admission.instances() | st.sampled_from(list(admission.degenerate().values())),
    )
)
def test_the_digest_is_that_of_the_package(instance: Instance) -> None:
    data = json.loads(json.dumps(instance.to_dict()))
    if instance.problem == "allocation":
        assert verify.Instance(data, by=1).digest == instance.digest()
        data["copy_of"] = [0] * instance.setting.ports
        assert verify.Instance(data, by=1).digest == cv.AllocationInstance.from_dict(data).digest()
    elif instance.problem == "allocation-gang":
        data["edges"].reverse()
        data["copy_of"] = [0] * instance.setting.ports
        assert verify.AllocationGang(data).digest == cv.AllocationGangInstance.from_dict(data).digest()
        del data["copy_of"]
        assert verify.AllocationGang(data).digest == instance.digest()
    elif instance.problem == "placement":
        assert verify.Placement(data, FREE).digest == instance.digest()
        data["jobs"].reverse()  # ties are in another order then
        assert verify.Placement(data, FREE).digest == cv.PlacementInstance.from_dict(data).digest()
    elif instance.problem == "admission":
        assert verify.Admission(data).digest == instance.digest()
        data["jobs"].reverse()  # which moves those of the same slot
        assert verify.Admission(data).digest == cv.AdmissionInstance.from_dict(data).digest()
    else:
        assert verify.Selection(data).digest == instance.digest()
        data["path"] = instance.path.tolist()  # type: ignore[attr-defined]
        data[
            "edges" if "edges" in data else "channels"
        ].reverse()  # every list with an entry per channel moves
        assert verify.Selection(data).digest == type(instance).from_dict(data).digest()


def test_what_is_left_out_of_a_file_has_its_default() -> None:
    data = cv.generate("selection", "tiny", 1).to_dict()
    for gone in ("cost", "ports", "origin"):
        data.pop(gone, None)
    assert verify.Selection(data).digest == cv.SelectionInstance.from_dict(data).digest()
    data["arrivals"] = []
    assert verify.Selection(data).digest == cv.SelectionInstance.from_dict(data).digest()
    data = cv.generate("placement", "tiny", 1).to_dict()
    for gone in ("gpu_weight", "window", "origin"):
        data.pop(gone, None)
    data["jobs"] = [{name: x for name, x in job.items() if name != "intensity"} for job in data["jobs"]]
    assert verify.Placement(data, FREE).digest == cv.PlacementInstance.from_dict(data).digest()


# Certificates


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Return the files of an instance and a certificate of every oracle that writes some."""
    folder = tmp_path_factory.mktemp("certificates")
    files = {}
    for number, (problem, oracle) in enumerate(ORACLES):
        instance = SMALL[problem]()
        file, target = folder / f"{number}.json", folder / f"{number}.certificate.json.gz"
        instance.save(file)
        found = nothing(instance, oracle) if problem in TREES else cv.solve(instance, oracle)
        found.save_certificate(target)
        files[f"{problem}/{oracle}"] = (file, target)
    return files


def nothing(instance: Any, oracle: str) -> Optimum:
    """Return the decision to do nothing as an optimum: the search for a tree finds a better one."""
    x = np.zeros((instance.setting.slots, instance.setting.channels))
    found = Optimum(0.0, None, x, WhyStopped.STALLED, "none", 0.0, problem=instance.problem, oracle=oracle)
    writer = cv.list_oracles(instance.problem)[oracle].writer
    return replace(found, digest=instance.digest(), instance=instance, writer=writer)


ORACLES = (
    ("allocation", "stationary"),
    ("allocation", "dynamic"),
    ("selection", "clairvoyant"),
    ("selection-gang", "gang"),
    ("placement", "offline"),
    ("admission", "offline"),
    ("allocation-gang", "gang"),
)
NAMES = ["/".join(one) for one in ORACLES]
TREES = ("selection", "selection-gang")
SMALL: dict[str, Callable[[], Instance]] = {
    "allocation": lambda: allocation.ordinary()["several jobs"],
    "selection": lambda: cv.generate("selection", "default", 1, slots=2, servers=20),
    "selection-gang": lambda: cv.generate("selection-gang", "default", 1, slots=1, ports=2, servers=3),
    "placement": lambda: cv.generate("placement", "tiny", 7),
    "admission": lambda: cv.generate("admission", "tiny", 1),
    "allocation-gang": lambda: cv.generate("allocation-gang", "tiny", 1),
}


def test_certificates_of_all_oracles_that_write_some_are_among_these() -> None:
    assert {problem for problem, _ in ORACLES} == set(verify.CHECKERS) == set(SMALL)
    written = {
        (entry.problem, name.rpartition("/")[2])
        for name, entry in cv.list_oracles().items()
        if entry.writer is not None
    }
    assert written == set(ORACLES)


def read(files: tuple[Path, Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    return verify.read_object(str(files[0])), verify.read_object(str(files[1]))


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_alone_without_any_package(made: Any, name: str, tmp_path: Path) -> None:
    alone = tmp_path / "alone.py"
    shutil.copy(verify.__file__, alone)
    command = [sys.executable, "-I", "-S", str(alone), *map(str, made[name])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"accepted: {name}, instance {cv.load(made[name][0]).digest()}\n")


def test_it_imports_the_standard_library_alone_and_can_be_read_in_an_evening() -> None:
    text = Path(verify.__file__).read_text(encoding="utf-8")
    names = {
        (node.module or "" if isinstance(node, ast.ImportFrom) else alias.name).partition(".")[0]
        for node in ast.walk(ast.parse(text, feature_version=(3, 11)))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert names <= sys.stdlib_module_names
    assert lines_that_hold_code_or_docstrings(text) < 900


def lines_that_hold_code_or_docstrings(text: str) -> int:
    """Return how many lines of a program are neither empty nor nothing but a comment."""
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())


def change(certificate: Any, path: str, how: Callable[[Any], Any]) -> Any:
    """Return a certificate with one place changed; a path is names and numbers with dots."""
    other = copy.deepcopy(certificate)
    node, *rest = other, *path.split(".")
    for step in rest[:-1]:
        node = node[int(step) if isinstance(node, list) else step]
    last: Any = int(rest[-1]) if isinstance(node, list) else rest[-1]
    node[last] = how(node[last])
    return other


def put(certificate: Any, path: str, value: Any) -> Any:
    """Return a certificate with another value at one place."""
    return change(certificate, path, lambda _: value)


def largest(rows: list[Any]) -> tuple[str, float]:
    """Return where the largest number of nested lists stands, and the number."""
    if not isinstance(rows, list):
        return "", rows
    at, (below, most) = max(enumerate(map(largest, rows)), key=lambda one: one[1][1])
    return f".{at}{below}", most


def dearer(uses: Any) -> Any:
    """Return prices times 1.5."""
    if not isinstance(uses[0], dict) or "feasible" not in uses[0]:
        return times(uses, 1.5)
    return [times(use, 1.5) | {"feasible": use["feasible"]} for use in uses]


def up(x: float) -> float:
    return math.nextafter(x, math.inf)


@pytest.mark.parametrize("name", NAMES)
def test_what_changes_the_statement_is_rejected(made: Any, name: str) -> None:
    data, certificate = read(made[name])
    prices = "proof.price" if name.startswith("allocation/") else "proof.prices"
    if name.startswith("placement"):
        certificate = change(certificate, "proof.search", lambda _: 0)  # which would not need these prices
        certificate["claims"] = derive(data, certificate).claims
    for path, how in (
        ("claims.value", lambda text: str(Decimal(text) * Decimal("0.999"))),
        ("claims.value", lambda text: f"{text}1"),
        ("claims.bound", lambda text: str(Decimal(text) + 1)),
        ("claims.gap", lambda _: "0.5"),
        ("digest", lambda text: text[::-1]),
        ("problem", lambda text: "selection" if text != "selection" else "allocation"),
        (prices, dearer),
    ):
        with pytest.raises(RejectedError):
            check(data, change(certificate, path, how))
    for path in ("proof", "decision", "oracle", "version"):
        with pytest.raises(UnreadableError):
            check(data, change(certificate, path, lambda _: None))
    assert check(data, certificate).claims == certificate["claims"]


@pytest.mark.parametrize("name", NAMES)
def test_another_instance_is_another_statement(made: Any, name: str) -> None:
    data, certificate = read(made[name])
    known = {
        "allocation": ("overhead.0",),
        "allocation-gang": ("overhead.0", "gang.floor.0.0.0"),
        "selection": ("seed", "mean.0"),
        "selection-gang": ("seed", "mean.0"),
        "admission": ("jobs.0.utility.priority",),
        "placement": ("price", "jobs.0.cpus"),
    }
    for path in known[data["problem"]]:
        with pytest.raises(RejectedError, match="instance"):
            derive(change(data, path, lambda x: x + 1 if isinstance(x, int) else 0.5 * x), certificate)


@pytest.mark.parametrize("name", NAMES[:2])
def test_an_allocation_keeps_its_limits(made: Any, name: str) -> None:
    data, certificate = read(made[name])
    instance = cv.load(made[name][0])
    assert isinstance(instance, cv.AllocationInstance)
    with pytest.raises(RejectedError, match="has less of a kind"):
        derive(data, put(certificate, "decision.0", instance.setting.edge_demand.tolist()))
    share = largest(certificate["proof"]["w"])[0]
    with pytest.raises(RejectedError, match="adds up to more than"):
        derive(data, change(certificate, f"proof.w{share}", lambda x: x * 1.01))


def by_hand(capacity: float, y: list[float], **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an instance of two ports and one server, and a certificate without prices."""
    data = {
        "problem": "allocation",
        "version": 1,
        "edges": [[0, 0], [1, 0]],
        "demand": [[1.0], [1.0]],
        "capacity": [[capacity]],
        "overhead": [0.0],
        "utility": {"kind": [["linear"]], "alpha": [[1.0]]},
        "arrivals": [[1, 1]],
    } | fields
    proof: dict[str, Any] = {"w": [[[0.0], [0.0]]], "price": [[[0.0]]]}
    certificate: dict[str, Any] = {
        "version": 1,
        "problem": "allocation",
        "oracle": "stationary",
        "claims": {},
    }
    certificate |= {
        "digest": verify.Instance(data, by=1).digest,
        "decision": [[[x] for x in y]],
        "proof": proof,
    }
    return data, certificate


def test_no_tolerance_is_granted() -> None:
    assert derive(*by_hand(2.0, [1.0, 1.0])).claims == {"value": "2", "bound": "2", "gap": "0"}
    with pytest.raises(RejectedError, match="above the demand"):
        derive(*by_hand(3.0, [1.0, up(1.0)]))
    assert derive(*by_hand(1.5, [0.75, 0.75])).value == "1.5"
    with pytest.raises(RejectedError, match="has less of a kind"):
        derive(*by_hand(1.5, [0.75, up(0.75)]))
    with pytest.raises(UnreadableError):
        derive(*by_hand(1.5, [0.75, -1e-300]))


def test_what_is_no_dyadic_number_is_rounded_outwards() -> None:
    third = {"utility": {"kind": [["reciprocal"]], "alpha": [[2.0]]}}  # each earns 1 / (2 (1 + 2))
    data, certificate = by_hand(2.0, [1.0, 1.0], **third)
    found = verify.check_allocation(data, "stationary", certificate["decision"], certificate["proof"])
    assert found.value < Fraction(1, 3) < found.bound
    assert found.bound - found.value < Fraction(1, 2**120)
    statement = derive(data, certificate)
    assert statement.value == "0." + 20 * "3"
    assert statement.bound == "0." + 19 * "3" + "4"
    assert 0 < Fraction(statement.gap) < Fraction(1, 2**110)


def test_gangs_by_hand() -> None:
    data: dict[str, Any] = {
        "problem": "selection-gang",
        "version": 1,
        "channels": [[0, 0], [0, 1], [1, 0], [2, 1]],
        "task_port": [0, 0, 1],
        "demand": [[1], [2], [1]],
        "capacity": [[2], [1]],
        "minimum": [2, 1],
        "mean": [0.5, 0.75, 0.25, 0.375],
        "noise": {"kind": "none"},
        "arrivals": [[1, 0], [1, 1], [0, 1], [1, 0]],
        "seed": 7,
    }
    free, dear = [[0.0], [0.0]], [[0.0], [0.5]]
    proof = {"prices": [free, dear], "trees": [0, 0, 1]}  # of the arrivals (0, 1), (1, 0) and (1, 1)
    certificate: dict[str, Any] = {"version": 1, "problem": "selection-gang", "oracle": "gang", "claims": {}}
    certificate |= {
        "digest": verify.Selection(data).digest,
        "decision": [[3], [1, 2], [1, 2]],
        "proof": proof,
    }
    found = derive(data, certificate)
    assert found.value == str(0.375 + 2 * 1.0 + 1.0)
    assert found.bound == str(0.375 + 2 * (0.75 + 0.25) + 0.5 + max(0.5, 0.75 - 0.5) + 0.25)
    for tree, bound in (
        ([1, 1, 0], 0.5 + 0.5 + 0.25),  # where channel 1 is off: 0.5 for what is left, and channels 0 and 2
        ([2, 0, 1], 0.5 + 0.25 + 0.25),  # without channel 2 the job lacks a task; channel 0 does not fit
    ):
        assert derive(data, put(certificate, "proof.trees.1", tree)).bound == str(0.375 + 2 * bound + 1.25)
    with pytest.raises(UnreadableError, match="no choice here"):
        derive(data, put(certificate, "proof.trees.1", [3, 0, 0]))
    slot = verify.Slot(verify.Selection(data), (1, 0), 8)
    nothing_to_pay = [[0], [0]]
    assert slot.bound(set(), {2}, nothing_to_pay) == 0  # the job cannot run, and need not
    assert slot.bound({0}, {2}, nothing_to_pay) is None  # it must, and cannot
    assert slot.bound({0, 1}, set(), nothing_to_pay) is None  # one task with two channels
    assert slot.bound({0, 2}, set(), nothing_to_pay) is None  # more than there is
    pays, gets = [2, 0, 0], [4, 0]  # in eighths: task 0 pays a quarter, and job 0 gets a half for each task
    assert (
        slot.bound(set(), set(), (pays, [0, 0])) == 2 + 4 + 2
    )  # channel 0 or 2, channel 1, what task 0 pays
    assert slot.bound(set(), set(), (pays, gets)) == 6 + 8 + max(0, 2 - 2 * 4)
    assert slot.bound({1}, set(), (pays, gets)) == 6 + 8 + 2 - 2 * 4  # where the job must run
    assert slot.bound({1}, {0, 2}, (pays, gets)) == 8 + 2 - 2 * 4
    assert slot.bound({0, 2}, set(), (pays, gets)) is None
    use = {"tasks": [0.25, 0.0, 0.0], "jobs": [0.0, 0.0]}
    apart = put(certificate, "proof", {"prices": [free, dear, use], "trees": [0, 2, 1]})
    assert derive(data, apart).bound == str(0.375 + 2 * 1.0 + 1.25)
    for wrong in ({"tasks": [0.25, 0.0, 0.0]}, use | {"jobs": [0.0, -1.0]}, use | {"tasks": [0.25]}):
        with pytest.raises(UnreadableError):
            derive(data, put(apart, "proof.prices.2", wrong))
    for on, why in (
        ([1], "a job runs less than its minimum"),
        ([0, 1], "a task has two channels"),
        ([0, 2], "more demands than devices"),
        ([3], "a port without a job"),
    ):
        with pytest.raises(RejectedError, match=why):
            derive(data, put(certificate, "decision.1", on))


def gang_by_hand(y: list[Any], tree: Any, *prices: Any, **gang: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an instance with one port of two tasks, one server and one kind, and a certificate.

    Prices are those of a leaf: feasible, w, price, and more and less of both tasks.
    """
    data, certificate = by_hand(2.5, [])
    data |= {"problem": "allocation-gang", "edges": [[0, 0]], "demand": [[9.0]], "overhead": [0.25]}
    data |= {"arrivals": [[2], [1]]}
    data["gang"] = {"demand": [[[1.0], [2.0]]], "floor": [[[0.5], [2.0]]], "minimum": [1]} | gang
    names = ("feasible", "w", "price", "more", "less")
    told = [
        dict(zip(names, (feasible, [[w]], [[price]], [[x] for x in more], [[x] for x in less]), strict=True))
        for feasible, w, price, more, less in prices
    ]
    certificate |= {"problem": "allocation-gang", "oracle": "gang", "proof": {"tree": tree, "prices": told}}
    return data, certificate | {"digest": verify.AllocationGang(data).digest, "decision": [[x] for x in y]}


def test_gangs_of_allocation_by_hand() -> None:
    none = (1, 0.0, 0.0, (0.0, 0.0), (0.0, 0.0))
    # three jobs, each of which earns 3/4 a device; of 2.5 devices both tasks can have a half, and two
    best = [[1, 2], [2, 1]]
    assert derive(*gang_by_hand(best, 0, none)).claims == {"value": "5.625", "bound": "7.5", "gap": "0.25"}
    for use, bound in (
        ((1, 3.0, 0.0, (0.0, 0.0), (0.0, 0.0)), 2.5 * 2.25),
        ((1, 3.0, 1.0, (0.0, 0.0), (0.0, 0.0)), 2.5 + 2.5 * 1.25),
        ((1, 3.0, 0.0, (2.25, 2.25), (0.0, 0.0)), 2.25 * (1 + 2)),  # of what their demands are
        ((1, 3.0, 0.0, (0.25, 1.25), (0.0, 0.0)), 0.25 + 2.5 + 2.5 * 2),  # the least of both counts
        ((1, 3.0, 2.25, (0.0, 0.0), (1.0, 0.0)), 2.5 * 2.25 - 0.5 + 2.5),  # floors of what must run
    ):
        assert Fraction(derive(*gang_by_hand(best, [0, 0, 0], use)).bound) == Fraction(bound), use
    both = [0, 1, [1, 1, 0]]  # one of the tasks alone earns 2.25 and 4.5
    alone, dear = (1, 3.0, 0.0, (0.0, 0.0), (0.0, 0.0)), (1, 3.0, 0.0, (2.25, 2.25), (0.0, 0.0))
    assert derive(*gang_by_hand(best, both, alone, dear)).bound == "5.625"
    # both tasks cannot have more than there is: two and a half are the least of what runs
    lacks = (0, 0.0, 1.0, (0.0, 0.0), (1.0, 1.0))
    many = {"floor": [[[1.0], [2.0]]]}
    with pytest.raises(RejectedError, match="do not prove that nothing is feasible"):
        derive(*gang_by_hand([[0, 1], [2, 1]], [0, 0, [1, 0, 1]], alone, lacks))
    found = derive(*gang_by_hand([[0, 1], [2, 1]], [0, 0, [1, 0, 1]], dear, lacks, **many))
    assert (found.value, found.bound) == ("4.5", "4.5")
    job = [2, 0, [0, 0, [1, 0, 1]]]  # the job, and then its tasks
    assert derive(*gang_by_hand([[0, 1], [2, 1]], job, dear, lacks, **many)).bound == "4.5"
    lose, paid = (1, 3.0, 2.25, (0.0, 0.0), (1.0, 0.0)), (1, 3.0, 9.0, (0.0, 0.0), (0.0, 0.0))
    loses = gang_by_hand(best, [2, 0, 1], none, lose, minimum=[2])  # a job that must run brings its floors
    assert Fraction(derive(*loses).bound) == Fraction(2.5 * 2.25 + 2.5 - 0.5)
    # a task that runs, and its job that does not
    never = gang_by_hand(best, [2, [0, 0, 1], 2], none, paid, dear, minimum=[0])
    assert derive(*never).bound == "6.75"
    must = gang_by_hand([[0, 1], [0, 1]], [0, 0, [1, 0, 1]], dear, lacks, **many, minimum=[2])
    assert (derive(*must).value, derive(*must).bound) == ("0", "0")
    with pytest.raises(UnreadableError, match="no choice here"):
        derive(*gang_by_hand(best, [3, 0, 0], none))
    for feasible, w in ((1, up(3.0)), (0, 5e-324)):
        with pytest.raises(RejectedError, match="adds up to more than its jobs"):
            derive(*gang_by_hand(best, 0, (feasible, w, 9.0, (0.0, 0.0), (99.0, 99.0))))


@pytest.mark.parametrize(
    ("y", "why"),
    [
        ([[10**30 - 1, 2 * 10**30], [2, 1]], "task 0 holds less than its floor"),
        ([[10**30 + 1, 10**30], [0, 1]], "more than its demand"),
        ([[10**30 + 1, 2 * 10**30], [2, 1]], "a server has less of a kind"),
        ([[1, 2], [1, 1]], "task 1 holds less than its floor"),
        ([[1, 3], [0, 1]], "task 0 holds less than its floor"),
        ([[-1, 2], [2, 1]], "a whole number"),
        ([[1, 0], [2, 1]], "divides by 0"),
        ([[1, 2]], "not a list of 2"),
        ([[0.5, 1], [2, 1]], "a whole number"),
    ],
)
def test_a_gang_keeps_its_limits_exactly(y: list[Any], why: str) -> None:
    none = (1, 0.0, 0.0, (0.0, 0.0), (0.0, 0.0))
    with pytest.raises((RejectedError, UnreadableError), match=why):
        derive(*gang_by_hand(y, 0, none))


@pytest.mark.parametrize(
    ("alpha", "floor", "bound"),
    [
        (0.5, 2.0, 3 * 0.5 * 2),
        (0.25, 0.5, 3 * 0.25 * 2),
        (0.2, 0.5, 3 * 0.2 * 2 * 0.8**2),  # cut twice, after the task that cannot run
        (0.2, 1.7, 0.0),
    ],
)
def test_what_a_job_cannot_gain_its_overhead_of_is_not_held(alpha: float, floor: float, bound: float) -> None:
    """Two devices gain twice alpha, which pays the overhead of 8 alpha devices."""
    none = (1, 0.0, 0.0, (0.0, 0.0), (0.0, 0.0))
    gang = {"demand": [[[2.0], [9.0]]], "floor": [[[floor], [9.0]]], "minimum": [1]}
    data, certificate = gang_by_hand([[0, 1], [0, 1]], 0, none, **gang)
    data["utility"] = {"kind": [["linear"]], "alpha": [[alpha]]}
    certificate["digest"] = verify.AllocationGang(data).digest
    assert float(derive(data, certificate).bound) == pytest.approx(bound, rel=1e-12)


def test_a_gang_keeps_its_minimum() -> None:
    none = (1, 0.0, 0.0, (0.0, 0.0), (0.0, 0.0))
    with pytest.raises(RejectedError, match="job 0 runs less than its minimum"):
        derive(*gang_by_hand([[0, 1], [2, 1]], 0, none, minimum=[2]))
    idle = {"minimum": [2], "floor": [[[0.0], [2.0]]]}  # a task without a floor may run and hold nothing
    assert derive(*gang_by_hand([[0, 1], [2, 1]], 0, none, **idle)).value == "4.5"
    wrongs: tuple[dict[str, Any], ...] = (
        {"floor": [[[0.5]]]},
        {"minimum": []},
        {"demand": [[[1.0], [2.0]], [[1.0]]], "floor": [[[1.0], [2.0]], [[1.0]]]},
    )
    for wrong in wrongs:
        data, certificate = gang_by_hand([[0, 1], [2, 1]], 0, none)
        with pytest.raises(UnreadableError):
            derive(data | {"gang": data["gang"] | wrong}, certificate)


@st.composite
def gang_prices(draw: st.DrawFn, instance: Any) -> dict[str, Any]:
    """Draw any prices for an instance, and any tree."""
    s, counts = instance.setting, instance.arrival_counts.tolist()
    dear = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0])

    def rows(n: int) -> Any:
        return [[draw(dear) for _ in range(s.kinds)] for _ in range(n)]

    prices = []
    for feasible in (1, 1, draw(st.integers(0, 1))):
        parts = [[draw(st.integers(0, 4)) for _ in range(s.kinds)] for _ in counts]
        w = [[x * n * feasible / (4.0 * s.kinds) for x in row] for row, n in zip(parts, counts, strict=True)]
        use = {"feasible": feasible, "w": w, "price": rows(s.base.servers)}
        prices.append(use | {name: rows(len(s.task_port)) for name in ("more", "less")})
    tree: Any = draw(st.integers(0, 2))
    for _ in range(draw(st.integers(0, 3))):
        choice = draw(st.integers(0, len(s.task_port) + s.ports - 1))
        tree = [choice, *draw(st.permutations([tree, draw(st.integers(0, 2))]))]
    return {"tree": tree, "prices": prices}


@settings(max_examples=60)
@given(allocation.gang_instances(min_slots=1, max_slots=2, min_edges=2, max_ports=3), st.data())
def test_no_gang_earns_more_than_prices_and_branches_allow(instance: Any, data: st.DataObject) -> None:
    optimum = cv.solve(instance, time_limit=2.0)
    decision, _ = optimum.writer(instance, optimum)  # type: ignore[misc]
    certificate = {"version": 1, "problem": "allocation-gang", "oracle": "gang", "digest": instance.digest()}
    certificate |= {"claims": {}, "decision": decision, "proof": data.draw(gang_prices(instance))}
    try:
        found = derive(instance.to_dict(), certificate)  # an error too if the value is above the bound
    except RejectedError as error:
        assert "do not prove that nothing is feasible" in str(error)  # noqa: PT017
    else:
        assert float(found.value) == pytest.approx(optimum.value, rel=1e-8, abs=1e-8 * optimum.scale)


def leaves(tree: Any, path: str) -> list[str]:
    return (
        [path]
        if isinstance(tree, int)
        else [at for side in (1, 2) for at in leaves(tree[side], f"{path}.{side}")]
    )


@pytest.mark.parametrize("name", NAMES[2:4])
def test_trees_and_channels_are_checked(made: Any, name: str) -> None:
    data, certificate = read(made[name])
    trees = certificate["proof"]["trees"]
    number, tree = max(enumerate(trees), key=lambda one: len(str(one[1])))
    assert isinstance(tree, list), "no tree has branches"
    path = f"proof.trees.{number}"
    changes: list[tuple[str, Any]] = [
        *((leaf, None) for leaf in leaves(tree, path)[:3]),  # removed
        (leaves(tree, path)[0], len(certificate["proof"]["prices"])),
        (path, tree[:2]),
        (path, [10**6, *tree[1:]]),
        (path, [-1, *tree[1:]]),
        (path, [True, *tree[1:]]),
    ]
    for place, other in changes:
        with pytest.raises(UnreadableError):
            derive(data, put(certificate, place, other))
    root = leaves(tree, path)[0]
    pruned = change(certificate, path, lambda _: int(tree_at(certificate, root)))  # one leaf in place of all
    swapped = change(certificate, path, lambda _: [tree[0], tree[2], tree[1]])
    value, bound = (Fraction(certificate["claims"][one]) for one in ("value", "bound"))
    for other in (pruned, swapped):
        found = derive(data, other)
        assert Fraction(found.bound) > bound
        with pytest.raises(RejectedError, match="not what it claims"):
            check(data, other)
    on = certificate["decision"][number]
    assert on
    for wrong in (list(range(len(data["mean"]))), [*on, on[0]]):
        with pytest.raises(RejectedError, match=r"two channels|more demands|minimum"):
            derive(data, put(certificate, f"decision.{number}", wrong))
    less = derive(data, change(certificate, f"decision.{number}", lambda _: []))
    assert Fraction(less.value) < value


def tree_at(certificate: Any, path: str) -> Any:
    node = certificate
    for step in path.split("."):
        node = node[int(step) if isinstance(node, list) else step]
    return node


JOB = {"submit": 0, "duration": 1, "instances": 2, "gpus": 1, "cpus": 0, "memory": 0}


def cluster(*jobs: dict[str, Any], gpus: int = 2, **fields: Any) -> dict[str, Any]:
    """Return an instance of two machines."""
    machine = {"gpus": gpus, "cpus": 1, "memory": 1}
    data = {"problem": "placement", "version": 1, "machines": [machine] * 2, "price": 1, "jobs": list(jobs)}
    return data | {"slowdown": {"communication": 0.5, "contention": 1}} | fields


def checked(data: dict[str, Any], decision: Any, **proof: Any) -> verify.Derived:
    return verify.check_placement(data, "offline", decision, FREE | proof)


def numbers_of(found: verify.Derived) -> list[float]:
    return [float(found.value), float(found.bound)]


@pytest.mark.parametrize(
    ("first", "gpus", "best"),
    [({"duration": 3}, 1, 1 + 2 + 5), ({"gpus": 2}, 2, 1 + 1 + 2), ({"instances": 4}, 2, 1 + 1 + 2)],
)
def test_who_is_not_equal_need_not_go_first(first: dict[str, Any], gpus: int, best: int) -> None:
    data = cluster(JOB | first, JOB, JOB, gpus=gpus, slowdown={"communication": 0, "contention": 0})
    assert verify.Placement(data, FREE).search(10**9) == best * 10**6


def test_a_schedule_by_hand() -> None:
    both = cluster(JOB, JOB | {"submit": 0.5, "intensity": 0.5})
    assert checked(both, [[0, [[0, 2]]], [500, [[1, 2]]]]).value == 2
    # spread over both machines, each takes 1.25 s, and beside another one 1 + 0.5 / 2 times as long
    apart = [[0, [[0, 1], [1, 1]]], [500, [[0, 1], [1, 1]]]]
    # the first has 750 ticks of work left when it is slowed down to 0.8 a tick, and so takes 938 of them;
    # the second has then done 750.4 of its 1250, and takes 500 more
    taken = Fraction(1438 + (1938 - 500), 1000)
    assert checked(both, apart).value == taken
    assert checked(both | {"gpu_weight": 0.125}, apart).value == taken * (1 + 2 * Fraction(1, 8))
    # of two neighbours the one with more GPUs counts: 2 of 4, so that 1250 ticks do 833.3325 and 167 follow
    three = cluster(JOB, JOB | {"instances": 1}, JOB, gpus=4, slowdown={"communication": 0, "contention": 1})
    beside = [[0, [[0, 1], [1, 1]]], [0, [[0, 1]]], [0, [[1, 2]]]]
    assert checked(three, beside).value == Fraction(1250 + 1250 + 1417, 1000)
    short = cluster(JOB | {"duration": 0.003})  # 3.75 ticks, rounded to the nearest
    assert checked(short, apart[:1]).value == Fraction(4, 1000)
    later = [[0, [[0, 2]]], [1000, [[0, 2]]]]
    assert checked(both, later).value == 1 + 1.5
    assert checked(both, later, search=1).bound == 2


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        ([[0, [[0, 2]]], [501, [[1, 2]]]], "job 1 does not start when it may"),  # there is no event then
        ([[0, [[0, 2]]], [0, [[1, 2]]]], "job 1 does not start when it may"),
        ([[0, [[0, 2]]], [500, [[0, 2]]]], "job 1 does not start where it fits"),
        ([[0, [[0, 2]]], [500, [[0, 1], [1, 1]]]], "job 1 does not start where it fits"),
        ([[0, [[0, 1]]], [500, [[1, 2]]]], "job 0 does not start whole"),
        ([[0, [[0, 2], [1, 0]]], [500, [[1, 2]]]], "job 0 does not start whole"),
        ([[0, [[0, 3]]], [500, [[1, 2]]]], "job 0 does not start whole"),
        ([[0, [[0, 2]]]], "not a list of 2"),
        ([[0, [[0, 2]]], [500, [[1, 1], [1, 1]]]], "a machine stands twice"),
        ([[0, [[0, 2]]], [500, [[2, 2]]]], ": 2 is not a whole number from 0 to 1"),
        ([[0, [[0, 2]]], [500, [[-1, 2]]]], "a whole number"),
        ([[0, [[0, 2]]], [500, []]], "job 1 does not start whole"),
        ([[0.5, [[0, 2]]], [500, [[1, 2]]]], "a whole number"),
    ],
)
def test_a_schedule_keeps_the_rules(decision: Any, why: str) -> None:
    data = cluster(JOB, JOB | {"submit": 0.5})
    certificate = {"version": 1, "problem": "placement", "oracle": "offline", "claims": {}, "proof": FREE}
    certificate |= {"digest": verify.Placement(data, FREE).digest, "decision": decision}
    with pytest.raises((RejectedError, UnreadableError), match=why):
        derive(data, certificate)


@pytest.mark.parametrize(
    "fields",
    [
        {"gpu_weight": 0.1234},
        {"jobs": [JOB | {"duration": 1.0005}]},
        {"jobs": [JOB | {"submit": 1e-4}]},
        {"jobs": [JOB | {"intensity": 0.33333}]},
        {"jobs": [JOB | {"memory": 0.0001}]},
        {"machines": [{"gpus": 2, "cpus": 1.00001, "memory": 1}] * 2},
    ],
)
def test_more_decimals_than_the_format_holds_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UnreadableError, match="too many decimals"):
        verify.Placement(cluster(JOB) | fields, FREE)
    with pytest.raises(cv.InputError, match="decimals"):
        cv.PlacementInstance.from_dict(cluster(JOB) | fields)


def test_nobody_moves_up_in_the_window_of_an_epoch() -> None:
    data = cluster(JOB, JOB | {"instances": 1}, gpus=4, window=1)
    with pytest.raises(RejectedError, match="job 1 does not start when it may"):
        checked(data, [[0, [[0, 2]]], [0, [[1, 1]]]])
    assert numbers_of(checked(data, [[0, [[0, 2]]], [1000, [[1, 1]]]], search=1)) == [3, 3]
    assert numbers_of(checked(data | {"window": 2}, [[0, [[0, 2]]], [0, [[1, 1]]]], search=1)) == [2, 2]


def test_prices_of_a_placement_by_hand() -> None:
    data = cluster(*[JOB] * 3, slowdown={"communication": 0, "contention": 0})
    decision = [[0, [[0, 2]]], [0, [[1, 2]]], [1000, [[0, 2]]]]
    assert numbers_of(checked(data, decision)) == [4, 3]
    # at 1/8 a GPU until 1 s, a job pays 250 ticks if it starts at once; all 4 GPUs are paid with 500
    for price, bound in ((0.125, 3 + 3 * 0.25 - 0.5), (0.5, 3 + 3 * 1 - 2), (1.0, 3 + 3 * 1 - 4)):
        found = checked(data, decision, times=[0, 1000], prices=[[price, 0.0, 0.0]])
        assert numbers_of(found) == [4, max(3, bound)]
    for ticks in ([], [1, 2], [0, 0], [0, 2, 1]):
        with pytest.raises((UnreadableError, IndexError)):
            checked(data, decision, times=ticks, prices=[[0.0] * 3] * (len(ticks) - 1))


@settings(max_examples=100)
@given(st.sets(st.integers(1, 40)), st.data(), st.integers(0, 50), st.integers(1, 20))
def test_the_least_end_is_that_of_the_best_of_all_starts(
    ticks: set[int], data: st.DataObject, first: int, time: int
) -> None:
    price = [[data.draw(st.integers(0, 64)) / 8, 0.0, 0.0] for _ in ticks]
    of = verify.Placement(cluster(JOB), FREE | {"times": [0, *sorted(ticks)], "prices": price})
    assert of.least(0, first, time) == min(of.end(0, start, time) for start in range(first, 1000))


@pytest.mark.parametrize(
    ("ticks", "price", "time", "end"),
    [
        ([10, 12, 1000], [8, 0, 8], 11, 12 + 9 * 16),  # from 1 to 12, though it pays from 1 to 10
        ([20], [0.5625], 20, 40),  # from 20 on, though it waits so long: else it pays 22.5
        ([20], [0.5], 20, 40),
        ([20], [0.4375], 20, 20 + 17.5),
    ],
)
def test_the_least_end_by_hand(ticks: list[int], price: list[float], time: int, end: float) -> None:
    proof = {"times": [0, *ticks], "prices": [[p, 0.0, 0.0] for p in price]}
    of = verify.Placement(cluster(JOB), FREE | proof)
    assert of.least(0, 0, time) == end * of.scale


def test_what_runs_holds_what_it_has_at_the_prices() -> None:
    jobs = [JOB] * 3 + [JOB | {"submit": 0.5}]
    proof = FREE | {"times": [0, 1000], "prices": [[0.125, 0.0, 0.0]]}
    of = verify.Placement(cluster(*jobs, slowdown={"communication": 0, "contention": 0}), proof)
    run = of.after(verify.Run())
    assert run is not None
    run = of.after(of.started(of.started(run, 0, {0: 2}), 1, {1: 2}))
    assert run is not None
    assert (run.now, run.cost, run.waiting) == (500, 3 * 500 * 1000, (2, 3))
    # 500 ticks and 125 for them, twice; then 1000 and 125, for half of them; less 4 GPUs for 500 ticks
    assert of.bound(run) == run.cost + (2 * (500 + 125) + 2 * (1000 + 125) - 250) * 1000


def test_what_is_minimised_is_told_as_costs(made: Any) -> None:
    statement = check(*read(made["placement/offline"]))
    assert statement.gap == "0"
    assert statement.lines[1:4] == [
        f"the decision is feasible and costs at most {statement.value}",
        f"no feasible decision costs less than {statement.bound}",
        "both are equal: it is optimal",
    ]
    data, certificate = read(made["placement/offline"])
    weaker = derive(data, put(certificate, "proof.search", 0))
    assert Fraction(weaker.bound) < Fraction(weaker.value) == Fraction(statement.value)
    assert weaker.lines[3] == f"the gap between them is {weaker.gap}"


def test_a_search_that_is_too_long_is_rejected(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data, certificate = read(made["placement/offline"])
    monkeypatch.setattr(verify, "MOST_STEPS", 100)
    with pytest.raises(RejectedError, match="too many steps"):
        derive(data, certificate)
    of = verify.Placement(cluster(JOB | {"instances": 18}, gpus=9), FREE)
    run = of.after(verify.Run())
    assert run is not None
    assert of.ways(run, 0) == [{0: 9, 1: 9}]
    monkeypatch.setattr(verify, "MOST_STEPS", 99)
    with pytest.raises(RejectedError, match="too many ways"):
        of.ways(run, 0)


@settings(max_examples=100)
@given(st.data(), st.lists(st.integers(0, 12), min_size=1, max_size=2), st.integers(1, 5))
def test_a_bound_of_what_fills_a_machine_is_no_less_than_the_most(
    data: st.DataObject, left: list[int], steps: int
) -> None:
    needs = st.lists(st.integers(0, 4), min_size=len(left), max_size=len(left))
    items = data.draw(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), needs), max_size=4))
    most, all_steps = verify.fullest(items, left, MANY)
    bound, taken = verify.fullest(items, left, steps)
    assert bound >= most
    assert taken <= min(steps, all_steps)


def test_what_fills_a_machine_is_not_looked_for_without_end() -> None:
    """Workers that pay what they need, and nearly none of the sets of them fills a machine."""
    needs = [1000 + 17 * (number**3 % 60) for number in range(60)]
    items = sorted(((need + number % 4, 10, [need]) for number, need in enumerate(needs)), reverse=True)
    most, steps = verify.fullest(items, [20_001], 500)
    assert steps < 500
    assert 20_001 <= most <= 20_001 * (1.0 + 3 / 1000) + 1  # parts pay no more


def test_what_a_writer_cannot_prove_is_an_error_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaf(*_: Any) -> None:
        raise RejectedError("it is too much")

    monkeypatch.setattr(verify.Admission, "leaf", leaf)
    optimum = cv.solve(cv.generate("admission", size="tiny", seed=1))
    with pytest.raises(OracleError, match="certificate is rejected: it is too much"):
        optimum.verified()


def test_tables_are_smaller_where_there_are_many_channels(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data, certificate = read(made["selection/clairvoyant"])
    use = certificate | {"proof": {"prices": [], "trees": ["table"] * len(certificate["proof"]["trees"])}}
    known = derive(data, use)
    assert known.bound == derive(data, certificate).bound
    monkeypatch.setattr(verify, "MOST_STATES", 256)  # a single amount
    with pytest.raises(UnreadableError, match="a table is too large"):
        derive(data, use)


def test_files_that_memory_does_not_hold_are_refused(
    made: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    files = [*map(str, made["selection/clairvoyant"])]
    assert verify.main(files) == 0
    with monkeypatch.context() as patch:
        patch.setitem(verify.CHECKERS["selection"], "clairvoyant", full)
        assert verify.main(files) == 2
        assert "MemoryError" in capsys.readouterr().err
    monkeypatch.setattr("json.loads", full)
    assert verify.main(files) == 2
    assert "cannot be read: MemoryError" in capsys.readouterr().err


def test_a_search_is_deeper_than_calls_of_python_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty unlike jobs, each of which takes both machines: some 1,800 levels."""
    monkeypatch.setattr(verify, "MOST_STEPS", 2000)
    jobs = [JOB | {"duration": number} for number in range(1, 61)]
    of = verify.Placement(cluster(*jobs, gpus=1), FREE)
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 60)
    try:
        with pytest.raises(RejectedError, match="the search takes too many steps"):
            of.search(10**12)
    finally:
        sys.setrecursionlimit(usual)


def test_equal_machines_and_equal_jobs_change_places() -> None:
    data = cluster(JOB | {"instances": 3}, JOB | {"instances": 1}, gpus=3)
    of = verify.Placement(data, FREE)
    run = of.after(verify.Run())
    assert run is not None
    assert of.ways(run, 0) == [{0: 3}, {0: 2, 1: 1}]
    assert len(of.ways(of.started(run, 0, {0: 2, 1: 1}), 1)) == 2  # no longer equal
    machine = {"gpus": 3, "cpus": 1, "memory": 1}
    unlike = {"machines": [machine, machine | {"cpus": 2}]}
    assert len(verify.Placement(data | unlike, FREE).ways(run, 0)) == 4
    for first, second in ((1, 2), (2, 1)):  # wherever the other one goes, they do not share a machine
        unlike = {"machines": [machine | {"gpus": 4, "cpus": cpus} for cpus in (first, second)]}
        of = verify.Placement(cluster(JOB, JOB) | unlike, FREE)
        assert of.search(10**9) == 2 * 10**6
    steps = []
    for other in (JOB, JOB | {"intensity": 0.5}):
        of = verify.Placement(cluster(JOB, JOB, other, gpus=1), FREE)
        assert of.search(10**9) == (1000 + 2000 + 3000) * 1000
        steps.append(of.steps)
    assert steps[0] < steps[1]


# Admission


@settings(max_examples=40)
@given(
    admission.instances()
    | st.sampled_from(list(admission.degenerate().values()))
    | st.builds(lambda seed: cv.generate("admission", "default", seed), st.integers(0, 99))
)
def test_work_and_numbers_of_servers_are_those_of_the_package(instance: Any) -> None:
    for job, known in zip(instance.jobs, verify.Admission(instance.to_dict()).jobs, strict=True):
        arrival, work, chunks, share, most, _ = known
        assert (arrival, work, chunks) == (job.arrival, job.work, job.chunks)
        assert most == min(work, instance.setting.most_workers(job))
        few = range(min(chunks, 50) + 1)
        assert [min(math.ceil(y * share), 10_001) for y in few] == job.servers_for[: len(few)].tolist()


@settings(max_examples=60)
@given(st.floats(1e-300, 1e9), st.floats(-2000, 2000) | st.sampled_from([0.0, 1e-300, 1024.0, -1024.0]))
def test_a_sigmoid_is_enclosed(top: float, x: float) -> None:
    low, high = verify.sigmoid(Fraction(top), Fraction(x))
    power = EXACT.exp(as_decimal(Fraction(x)))
    known = Fraction(EXACT.divide(as_decimal(Fraction(top)), EXACT.add(1, power)))
    assert low * (1 - Fraction(1, 10**80)) <= known <= high * (1 + Fraction(1, 10**80))
    if abs(x) <= 1024:
        assert high - low <= Fraction(3, 10**50) * high
    assert x != 0 or low == high == Fraction(top) / 2


MANY = 2**12
"""More steps than it takes to fill a machine."""

ITEMS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 3), st.tuples(st.integers(0, 5), st.integers(0, 5))),
    max_size=4,
)


@settings(max_examples=80)
@given(ITEMS, st.tuples(st.integers(0, 12), st.integers(0, 12)))
def test_a_machine_is_filled_as_enumeration_does(items: list[Any], left: Any) -> None:
    numbers = itertools.product(*(range(limit + 1) for _, limit, _ in items))
    sums = [
        sum(price * n for (price, _, _), n in zip(items, ns, strict=True))
        for ns in numbers
        if all(sum(a[r] * n for (_, _, a), n in zip(items, ns, strict=True)) <= left[r] for r in (0, 1))
    ]
    assert verify.fullest(items, list(left), MANY)[0] == max(sums)


@pytest.mark.parametrize("needs", [[(0, 0)], [(1, 0), (0, 1)], [(1, 0), (0, 0), (0, 1)]])
def test_a_machine_is_filled_at_once_with_what_fits_together(needs: list[tuple[int, int]]) -> None:
    items = [(1, 6, needs[i % len(needs)]) for i in range(60)]
    assert verify.fullest(items, [360, 360], MANY)[0] == 360


@st.composite
def priced(draw: st.DrawFn) -> tuple[Any, verify.Admission]:
    """Draw an instance, and what the checker makes of it with some prices, which are taken as number 0."""
    instance = draw(admission.instances(max_horizon=3, max_jobs=3, max_chunks=3))
    of = verify.Admission(instance.to_dict())
    price = st.sampled_from([0.0, 0.0, 0.3, 1.0, 5.0, 40.0])
    row = st.lists(price, min_size=len(of.jobs), max_size=len(of.jobs))
    side = st.lists(row, min_size=of.T, max_size=of.T)
    of.prices = verify.multiples(verify.changed([[draw(side), draw(side)]], Fraction), of.scale)
    return instance, of


def gains_of(of: verify.Admission, i: int, keeps: Callable[[int, tuple[int, ...]], bool]) -> list[int]:
    """Return what a job earns less what it pays in all its schedules of which something holds.

    That is told the slot in which the job is done, 0 for never, and the workers from its arrival on.
    """
    arrival, work, chunks, share, _, rooms = of.jobs[i]
    pays = [[row[i] for row in rows[arrival - 1 :]] for rows in of.prices[0]]
    gains = []
    for ys in itertools.product(range(chunks + 1), repeat=of.T + 1 - arrival):
        zs = [math.ceil(y * share) for y in ys]
        fits = all(y <= sum(rooms[0]) and z <= min(y, sum(rooms[1])) for y, z in zip(ys, zs, strict=True))
        done = max((t for t, y in enumerate(ys, start=arrival) if y), default=0)
        if fits and sum(ys) == (work if done else 0) and keeps(done, ys):
            paid = sum(itertools.starmap(operator.mul, zip([*ys, *zs], [*pays[0], *pays[1]], strict=True)))
            gains.append((of.earned[i][done - arrival][1] if done else 0) - paid)
    return gains


@settings(max_examples=60)
@given(priced(), st.data())
def test_the_best_schedule_is_that_of_enumeration(given: Any, data: st.DataObject) -> None:
    _, of = given
    for i, (arrival, _, chunks, *_) in enumerate(of.jobs):
        first, last = sorted(data.draw(st.tuples(st.integers(0, of.T + 1), st.integers(0, of.T + 1))))
        slot = data.draw(st.integers(arrival, of.T))
        low, high = sorted(data.draw(st.tuples(st.integers(0, chunks), st.integers(0, chunks))))

        def keeps(done: int, ys: tuple[int, ...]) -> bool:
            return first <= (done or of.T + 1) <= last and low <= ys[slot - arrival] <= high  # noqa: B023

        gains = gains_of(of, i, keeps)
        best = of.best(0, i, (((i,), (first, last)), ((i, slot), (low, high))))
        assert not gains or (best is not None and best >= max(gains))
        if not low and first <= arrival:  # else it may be done sooner than it earns for
            assert best == max(gains, default=None)


@settings(max_examples=60)
@given(priced())
def test_the_best_schedule_is_that_of_the_package(given: Any) -> None:
    instance, of = given
    setting = instance.setting
    for job in instance.jobs:
        for delay, (low, high) in enumerate(of.earned[job.index]):
            x = Fraction(job.decay) * (delay - Fraction(job.target))
            known = [of.scale * end for end in verify.sigmoid(Fraction(job.priority), x)]
            assert known[0] - 1 < low <= known[0] <= known[1] <= high < known[1] + 1
        slots = [t - 1 for t in range(job.arrival, of.T + 1)]
        sides = []
        for prices, room in zip(
            of.prices[0], (setting.worker_room(job), setting.server_room(job)), strict=True
        ):
            each = np.array([[prices[t][job.index] / of.scale] for t in slots])
            sides += [np.tile(room, (len(slots), 1)), np.tile(each, (1, len(room)))]
        plan = cheapest_schedule(job, Offer(*sides)) if job.index not in instance.never else None
        best = of.best(0, job.index, ())
        assert best is not None
        payoff = 0.0 if plan is None else max(0.0, plan.payoff)
        assert best / of.scale == pytest.approx(payoff, rel=1e-9, abs=1e-9)


def rows_of(schedule: Any) -> list[Any]:
    """Return a schedule as a certificate has it."""
    return [schedule.workers.tolist(), schedule.servers.tolist()]


@settings(max_examples=50)
@given(priced(), st.data())
def test_no_schedule_earns_more_than_prices_and_branches_allow(given: Any, data: st.DataObject) -> None:
    instance, of = given
    schedule = data.draw(admission.schedules(instance))
    value = of.value(rows_of(schedule))
    assert value / of.scale == pytest.approx(float(instance.rewards(schedule).sum()), rel=1e-12, abs=1e-200)
    tree: Any = 0
    for _ in range(data.draw(st.integers(0, 3)) if instance.jobs else 0):
        i = data.draw(st.integers(0, len(instance.jobs) - 1))
        slot = data.draw(st.lists(st.integers(1, of.T), max_size=1))
        tree = [i, *slot, data.draw(st.integers(0, of.T + 1)), *data.draw(st.permutations([tree, 0]))]
    bound = verify.largest(tree, {}, of.leaf, of.sides, 1, "tree")
    assert bound is not None
    assert bound >= value


def test_a_tree_may_be_as_deep_as_it_likes() -> None:
    tree: Any = 3
    for choice in range(3000):
        tree = [choice, choice % 3, tree]
    met = list[int]()

    def leaf(number: int, limits: dict[int, bool]) -> int | None:
        met.append(len(limits))
        return None if number == 2 else number

    assert verify.largest(tree, {}, leaf, partial(verify.off_or_on, range(3000)), 4, "tree") == 3
    assert met == [*range(1, 3001), 3000]  # from the root down, the first side first


@settings(max_examples=100)
@given(st.data(), st.lists(st.integers(0, 12), min_size=1, max_size=2))
def test_the_fullest_machine_is_that_of_enumeration_in_any_order(
    data: st.DataObject, left: list[int]
) -> None:
    needs = st.lists(st.integers(0, 4), min_size=len(left), max_size=len(left))
    some = st.tuples(st.integers(1, 9), st.integers(0, 3), needs)
    items = data.draw(st.lists(some, max_size=4))
    want = 0
    for way in itertools.product(*(range(limit + 1) for _, limit, _ in items)):
        rows = [[n * a for a in needs] for n, (*_, needs) in zip(way, items, strict=True)]
        if all(sum(row[r] for row in rows) <= has for r, has in enumerate(left)):
            want = max(want, sum(n * price for n, (price, *_) in zip(way, items, strict=True)))
    for order in (items, sorted(items, reverse=True)):
        assert verify.fullest(list(order), left, MANY)[0] == want


def test_who_needs_nothing_multiplies_nothing() -> None:
    """All of it is taken, and no other number is tried: there are a million."""
    items = [(price, 10**6, [0, 0]) for price in range(1, 9)] + [(100, 3, [2, 1])]
    assert verify.fullest(items, [5, 5], 9 * 10**6)[0] == 10**6 * 36 + 200


def test_a_machine_may_be_filled_with_hundreds_of_jobs() -> None:
    assert verify.fullest([(3, 2, [5])] * 300, [2_000], MANY)[0] == 400 * 3
    assert verify.fullest([(3, 2, [5])] * 300, [1 << 60], MANY)[0] == 600 * 3


@settings(max_examples=50)
@given(st.data(), admission.instances())
def test_a_schedule_that_breaks_a_constraint_is_refused(data: st.DataObject, instance: Any) -> None:
    constraints = [one for one in admission.CONSTRAINTS if one != "twice"]  # such rows are added up
    _, schedule = data.draw(admission.faults(instance, constraints))
    with pytest.raises((RejectedError, IndexError, UnreadableError)):
        verify.Admission(instance.to_dict()).value(rows_of(schedule))


def test_admission_by_hand() -> None:
    data = cv.AdmissionInstance(
        horizon=2,
        resources=["gpu"],
        worker_servers=[[3.5]],
        parameter_servers=[[2]],
        jobs=[
            {
                "arrival": 1,
                "epochs": 1,
                "chunks": 2,
                "minibatches": 1,
                "minibatch_time": 1,
                "gradient_size": 0,
            }
            | {"worker_bandwidth": 1, "server_bandwidth": 2, "worker_demand": [n], "server_demand": [1]}
            | {"utility": {"priority": top, "decay": 0, "target": 1}}
            for n, top in ((1, 16.0), (2, 12.0))
        ],
    ).to_dict()  # job 0 needs two GPUs for a slot, job 1 needs four: it has one worker in each slot
    free = [[[0.0, 0.0]] * 2] * 2
    paid = [[[0.5, 2.0], [1.0, 3.0]], free[0]]
    first = [[[1, 0, 0, 2]], [[1, 0, 0, 1]]]
    certificate: dict[str, Any] = {"version": 1, "problem": "admission", "oracle": "offline", "claims": {}}
    certificate |= {"digest": verify.Admission(data).digest, "decision": first}
    certificate |= {"proof": {"prices": [free, paid], "tree": 0}}
    found = derive(data, certificate)
    assert (found.value, found.bound, found.gap) == ("8", "14", "0.429")
    for tree, bound in (
        (1, 2.5 + 4.0 + (8 - 1.0) + (6 - 5.0)),  # in a slot there is room for one worker of each job
        ([0, 2, [1, 2, 1, 0], 0], 14.5),
        ([0, 2, 0, [0, 2, 1, 0]], 14.0),  # what is nowhere does not count
        ([0, 1, 0, 0, 0], 14.0),
        ([0, 1, 3, 0, 1], 14.0),  # it cannot have four workers
        ([1, 1, 1, 0], 14.0),  # nor can job 1 be done in slot 1
        ([1, 1, 0, 1], 14.5),
        ([1, 2, 0, [0, 2, 0, 0]], 14.0),
        ([1, 1, 0, 0, 0], 14.0),
        ([1, 1, 0, [0, 2, 0, 0], [0, 2, 1, 1]], 14.5),  # job 1 cannot wait in slot 1, and be done
    ):
        assert derive(data, put(certificate, "proof.tree", tree)).bound == str(bound).removesuffix(".0"), tree
    for decision, why in (
        ([[[1, 0, 0, 2]], [[1, 0, 0, 3]]], "a machine has less"),
        ([[[1, 0, 0, 4]], [[1, 0, 0, 2]]], "a machine has less"),
        ([[[1, 0, 0, 2]], []], "wrong servers"),
        ([[[1, 0, 0, 1]], [[1, 0, 0, 1]]], "never done"),
        ([[[1, 0, 0, 2], [2, 0, 0, 1]], [[1, 0, 0, 1], [2, 0, 0, 1]]], "when done"),
        ([[[3, 0, 0, 2]], [[3, 0, 0, 1]]], "before its arrival"),
        ([[[0, 0, 0, 2]], [[0, 0, 0, 1]]], "before its arrival"),
        ([[[1, 0, 0, 3]], [[1, 0, 0, 2]]], "too many workers"),
    ):
        with pytest.raises(RejectedError, match=why):
            derive(data, put(certificate, "decision", decision))


def test_trees_and_schedules_are_checked(made: Any) -> None:
    data, certificate = read(made["admission/offline"])
    tree = certificate["proof"]["tree"]
    assert isinstance(tree, list), "the tree has no branches"
    paths = [
        path
        for path in ("proof.tree", "proof.tree.2", "proof.tree.3")
        if isinstance(tree_at(certificate, path), int)
    ]
    assert paths
    for place, other in (
        *((path, None) for path in paths),  # removed
        *((path, len(certificate["proof"]["prices"])) for path in paths),
        ("proof.tree", tree[:3]),
        ("proof.tree", [*tree, 0, 0]),
        ("proof.tree.1", float(tree[1]) + 0.5),
        ("proof.prices.0", certificate["proof"]["prices"][0][:1]),
        ("decision", certificate["decision"][:1]),
        ("decision.0.0.1", len(data["jobs"])),
        ("decision.0.0.2", len(data["worker_servers"])),
        ("oracle", "online"),
    ):
        with pytest.raises(UnreadableError):
            derive(data, put(certificate, place, other))
    swapped = change(certificate, "proof.tree", lambda node: [*node[:-2], node[-1], node[-2]])
    with pytest.raises(RejectedError, match="not what it claims"):
        check(data, swapped)
    less = derive(data, put(certificate, "decision", [[], []]))
    assert less.value == "0"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("jobs.0.epochs", 0),
        ("jobs.0.arrival", 0),
        ("jobs.0.utility.priority", -1.0),
        ("worker_servers.0.0", -1.0),
        ("worker_servers.0.0", 1e-7),
        ("resources", []),
        ("horizon", 2.5),
        *((f"jobs.0.{name}", 100.0) for name in ("epochs", "chunks", "minibatches")),  # 100.0 * 7/100 > 7
        ("colour", 1),
    ],
)
def test_what_is_no_instance_of_admission_is_refused(made: Any, place: str, value: Any) -> None:
    data, certificate = read(made["admission/offline"])
    other = data | {place: value} if "." not in place else put(data, place, value)
    with pytest.raises(UnreadableError):
        derive(other, certificate)


def limits(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where the first number of every field of a schema stands, and what it may be."""
    for name, one in schema.get("properties", {}).items():
        yield from limits(one, f"{path}.{name}" if path else name)
    if "items" in schema:
        yield from limits(schema["items"], f"{path}.0")
    elif schema.get("type") in ("integer", "number"):
        yield path, schema


SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schema"


READ: dict[str, Callable[[Any], Any]] = {
    "allocation": verify.Allocation,
    "allocation-gang": verify.AllocationGang,
    "selection": verify.Selection,
    "selection-gang": verify.Selection,
    "placement": lambda data: verify.Placement(data, FREE),
    "admission": verify.Admission,
}


@pytest.mark.parametrize("problem", SMALL)
def test_no_number_is_beyond_the_limits_of_the_format(problem: str) -> None:
    """By the schema of the files: what the package does not load is no instance here either."""
    instance, read_it = SMALL[problem](), READ[problem]
    data = json.loads(json.dumps(instance.to_dict()))
    assert read_it(data).digest == instance.digest()
    tried = 0
    for path, limit in limits(json.loads((SCHEMAS / f"{problem}.json").read_text(encoding="utf-8"))):
        try:
            change(data, path, lambda value: value)
        except (KeyError, IndexError):
            continue  # a field that it does not have
        if path.startswith("announced"):  # on which nothing depends but the digest
            continue
        most = limit.get("maximum", math.inf)
        wrong = [-1, True, "1", most + 1 if most < 2**52 else 2 * most + 1 if most < 1e300 else math.inf]
        wrong += [0] if limit.get("minimum", 0) > 0 or "exclusiveMinimum" in limit else []
        for value in wrong:
            other = put(data, path, value)
            with pytest.raises(InputError):
                type(instance).from_dict(other)
            with pytest.raises((UnreadableError, *verify.MALFORMED)):
                read_it(other)
            tried += 1
    assert tried >= 24


@pytest.mark.parametrize(
    ("problem", "fields"),
    [
        ("selection", {"ports": 99}),
        ("selection", {"noise": {"kind": "none", "bar": 0}}),
        ("selection", {"noise": {"kind": "foo"}}),
        ("selection", {"seed": 5.0}),
        ("selection-gang", {"ports": 99}),
        ("selection-gang", {"noise": {"kind": "none", "bar": 0}}),
        ("allocation", {"utility": {"kind": [["linear"]], "alpha": [[1.0]], "beta": 1}}),
        ("placement", {"slowdown": {"communication": 1.0, "contention": 1.0, "other": 1.0}}),
        ("placement", {"window": 1e9}),
    ],
)
def test_what_the_package_does_not_load_is_no_instance(
    made: Any, problem: str, fields: dict[str, Any]
) -> None:
    name = next(name for name in NAMES if name.startswith(f"{problem}/"))
    data, certificate = read(made[name])
    with pytest.raises(InputError):
        read_instance(data | fields)
    with pytest.raises(UnreadableError, match=r"ports: not|unknown fields|not one of|not a whole"):
        derive(data | fields, certificate)
    for other in ((data | {"version": True}, certificate), (data, certificate | {"version": True})):
        with pytest.raises(UnreadableError, match="version: True is not a whole number"):
            derive(*other)


@pytest.mark.parametrize(
    ("problem", "place", "extra"),
    [
        ("placement", "jobs.0", "version"),
        ("placement", "jobs.0", "need"),
        ("placement", "machines.0", "colour"),
        ("admission", "jobs.0", "gpus"),
        ("admission", "jobs.0.utility", "epochs"),
    ],
)
def test_an_object_has_no_other_fields(made: Any, problem: str, place: str, extra: str) -> None:
    data, certificate = read(made[f"{problem}/offline"])
    other = change(data, place, lambda row: row | {extra: 1})
    with pytest.raises(InputError, match="unknown field"):
        type(SMALL[problem]()).from_dict(other)
    with pytest.raises(UnreadableError, match="unknown fields"):
        derive(other, certificate)


# Files and exit statuses


def test_the_exit_status_says_what_it_is(made: Any, tmp_path: Path, run: Run) -> None:
    file, target = made["selection/clairvoyant"]
    printed = run("verify", file, target)
    assert (printed.status, printed.err) == (0, "")
    assert printed.out.startswith("accepted: selection/clairvoyant")
    assert run("verify", file, target, "--json").json["accepted"] is True
    data, certificate = read(made["selection/clairvoyant"])
    false = tmp_path / "false.json"
    false.write_text(json.dumps(change(certificate, "claims.value", lambda _: "0")))
    for printed in (run("verify", file, false), run("verify", file, false, "--json")):
        assert printed.status == 1
    assert printed.json["accepted"] is False
    for status, arguments in (
        (0, [file, target]),
        (1, [file, false]),
        (2, [file, file]),
        (2, [target, file]),
        (2, [file]),
    ):
        assert verify.main(list(map(str, arguments))) == status
    assert data["problem"] == "selection"


def test_solve_writes_a_certificate_and_says_what_it_proves(made: Any, tmp_path: Path, run: Run) -> None:
    file, target = made["allocation/stationary"][0], tmp_path / "c.json"
    data = run("solve", file, "--certificate", target, "--json").json
    assert data["why_stopped"] == "gap reached, certificate verified"
    statement = check(*read((file, target)))
    assert data["certificate"] == {"file": str(target), **statement.claims}
    printed = run("solve", file, "--certificate", target)
    assert f"the proof is in {target}; " in printed.out
    assert "gap reached, certificate verified after " in printed.out


def test_solve_refuses_a_certificate_that_cannot_be_written_before_it_begins(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clairvoyant.api.solve", None)
    monkeypatch.setitem(gangs.ORACLES, "gang", replace(gangs.ORACLES["gang"], writer=None))
    file, target = tmp_path / "i.json", tmp_path / "c.json"
    allocation.ordinary_gangs()["one server"].save(file)
    printed = run("solve", file, "--certificate", target)
    assert (printed.status, printed.out, target.exists()) == (2, "", False)
    assert "the proofs of allocation-gang/gang are not written as certificates yet" in printed.err
    printed = run("solve", file, "--vipr", tmp_path / "proofs")
    assert (printed.status, printed.out, (tmp_path / "proofs").exists()) == (2, "", False)
    assert "the proofs of allocation-gang/gang are not written in this format" in printed.err
    SMALL["allocation"]().save(file)
    printed = run("solve", file, "--certificate", file)
    assert (printed.status, printed.out) == (2, "")
    assert "it is read" in printed.err


def test_the_page_on_certificates_runs_as_written(
    page: Callable[[str], Any], tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [words for _, *words in page("docs/certificates.md").commands()]
    printed = [run(*words) for words in commands]
    assert [one.status for one in printed] == [0] * len(commands)
    (told,) = (one.out for one, words in zip(printed, commands, strict=True) if words[0] == "verify")
    assert told.startswith("accepted: selection/clairvoyant")
    files = sorted(path.name for path in (tmp_path / "proofs").iterdir())
    assert f"{len(files)} proofs in the VIPR format are in proofs" in printed[-1].out
    assert files[0].endswith("-pattern-0.vipr")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b'{"version": 1, "version": 1}',
        b"[" * 10**5,
        b'{"version": 1}',
        b'{"a": NaN}',
        gzip.compress(b"{}", mtime=0)[:-4],
    ],
)
def test_what_is_no_certificate_has_status_2(text: bytes, made: Any, tmp_path: Path, run: Run) -> None:
    wrong = tmp_path / ("x.json.gz" if text.startswith(b"\x1f") else "x.json")
    wrong.write_bytes(text)
    file, target = made["selection/clairvoyant"]
    for arguments in ((file, wrong), (wrong, target), (file, tmp_path / "none.json")):
        printed = run("verify", *arguments)
        assert (printed.status, printed.out) == (2, "")
        assert printed.err.count("\n") == 1
        assert verify.main(list(map(str, arguments))) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"edges": [[0, 99], [0, 0]]},
        {"edges": [[0, 0], [0, 0]]},
        {"capacity": 3},
        {"capacity": [[-1.0]]},
        {"arrivals": [[0.5]]},
        {"utility": {"kind": [["cubic"]], "alpha": [[1.0]]}},
        {"utility": {"kind": [["reciprocal"]], "alpha": [[0.0]]}},
        {"utility": 3},
        {"overhead": [True]},
        {"demand": [[10**400]]},
        {"version": 2},
        {"problem": "scheduling"},
        {"unknown": 1},
    ],
)
def test_what_is_no_instance_is_unreadable(fields: dict[str, Any]) -> None:
    data, certificate = by_hand(2.0, [1.0, 1.0])
    with pytest.raises(UnreadableError):
        derive(data | fields, certificate)


@pytest.mark.parametrize(
    ("name", "path", "value", "why"),
    [
        ("selection/clairvoyant", "proof", [], "proof: not an object"),
        ("selection/clairvoyant", "proof", {"trees": []}, "a part lacks 'prices'"),
        ("selection/clairvoyant", "proof.prices", 3, "certificate: prices: not a list"),
        ("selection/clairvoyant", "proof.trees", "foo", "certificate: trees: not a list"),
        ("selection/clairvoyant", "proof.trees", [], "decision, proof.trees: not one per pattern"),
        (
            "selection/clairvoyant",
            "proof.trees.0",
            "foo",
            "proof.trees[0]: 'foo' is not a whole number from 0 to",
        ),
        ("selection/clairvoyant", "decision.0", 3, "decision[0]: not a list of rows"),
        (
            "selection/clairvoyant",
            "decision.0",
            ["foo"],
            "decision[0][0]: 'foo' is not a whole number from 0 to",
        ),
        ("selection/clairvoyant", "oracle", ["clairvoyant"], "oracle: not one of clairvoyant"),
        ("allocation/stationary", "proof.w", None, "certificate: w: not a list"),
        ("allocation-gang/gang", "proof.prices", {}, "certificate: prices: not a list"),
        ("admission/offline", "proof.prices", {"foo": 1}, "certificate: prices: not a list"),
        ("admission/offline", "decision", 3, "certificate: decision: not a list"),
        ("admission/offline", "decision.1", "foo", "decision[1]: not a list of rows"),
        ("placement/offline", "proof.times", 3, "certificate: times: not a list"),
        ("placement/offline", "decision.0.1", 3, "decision[0][1]: not a list of rows"),
        ("placement/offline", "decision.0", 3, "decision[0]: its parts are not [0, 1]"),
    ],
)
def test_what_is_malformed_is_told_by_its_field_and_not_in_words_of_python(
    name: str, path: str, value: Any, why: str, made: Any, tmp_path: Path, run: Run
) -> None:
    file, target = made[name]
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(put(read((file, target))[1], path, value)))
    printed = run("verify", file, wrong)
    assert (printed.status, printed.out) == (2, "")
    assert why in printed.err
    assert not any(words in printed.err for words in ("object is", "indices", "argument", "unpack"))


PLACES = {
    "allocation/stationary": ("decision.0.0.0", "proof.w.0.0.0", "proof.price.0.0.0"),
    "allocation/dynamic": ("decision.0.0.0", "proof.w.0.0.0", "proof.price.0.0.0"),
    "allocation-gang/gang": (
        *("decision.0.0.0", "decision.0.0.1", "proof.tree", "proof.prices.0.feasible"),
        *("proof.prices.0.w.0.0", "proof.prices.0.price.0.0", "proof.prices.0.less.0.0"),
    ),
    "selection/clairvoyant": ("decision.0.0", "proof.prices.0.0.0", "proof.trees.0"),
    "selection-gang/gang": ("decision.0.0", "proof.prices.0.0.0", "proof.prices.1.tasks.0", "proof.trees.0"),
    "admission/offline": (
        *(f"decision.{side}.0.{place}" for side in (0, 1) for place in range(4)),
        *("proof.prices.0.0.0.0", "proof.tree.0", "proof.tree.1", "proof.tree.2"),
    ),
    "placement/offline": (
        *("decision.0.0", "decision.0.1.0.0", "decision.0.1.0.1"),
        *("proof.search", "proof.times.0", "proof.prices.0.0"),
    ),
}
LIMITED = {"proof.tree", "proof.trees.0", "proof.tree.2", "proof.search", "proof.prices.0.feasible"}
"""Numbers of prices, and what is 0 or 1; numbers of jobs, machines and channels are among what follows."""
LIMITED_OF = {
    "selection/clairvoyant": {"decision.0.0"},
    "selection-gang/gang": {"decision.0.0"},
    "admission/offline": {"proof.tree.0", *(f"decision.{side}.0.{x}" for side in (0, 1) for x in (1, 2))},
    "placement/offline": {"decision.0.1.0.0"},
}


@pytest.mark.parametrize("name", NAMES)
def test_a_number_that_is_out_of_range_is_told_by_field_index_and_value(name: str, made: Any) -> None:
    data, certificate = read(made[name])
    for path in PLACES[name]:
        wrong: list[Any] = [-1, 10**400, True, math.nan, math.inf, None, "1", -0.5]
        wrong += [10**6] if path in LIMITED | LIMITED_OF.get(name, set()) else []
        field, *places = path.split(".")[path.startswith("proof") :]
        whole = f"{'proof.' * path.startswith('proof')}{field}"
        whole += "".join(f"[{one}]" if one.isdigit() else f"['{one}']" for one in places)
        assert isinstance(tree_at(certificate, path), (int, float) if path not in LIMITED else object)
        for value in wrong:
            told = f"{whole}: {value!r:.40} is not a "
            with pytest.raises(UnreadableError) as caught:
                derive(data, put(certificate, path, value))
            assert str(caught.value).startswith(told), (path, value)


@pytest.mark.parametrize("packed", [True, False])
def test_a_name_that_does_not_say_whether_a_file_is_gzipped_is_the_fault(
    packed: bool, made: Any, tmp_path: Path, run: Run
) -> None:
    file, target = made["selection/clairvoyant"]
    wrong = tmp_path / ("x.json" if packed else "x.json.gz")
    wrong.write_bytes(gzip.compress(file.read_bytes()) if packed else file.read_bytes())
    must = "must" if packed else "must not"
    for arguments in ((wrong, target), (file, wrong)):
        printed = run("verify", *arguments)
        assert (printed.status, printed.err) == (2, f"error: {wrong}: its name {must} end in .gz\n")
    printed = run("solve", wrong)
    assert printed.status == 2
    assert f"{wrong}: cannot be read: it is " in printed.err
    assert printed.err.endswith(f"gzipped, so its name {must} end in .gz\n")


def test_a_malformed_instance_is_told_as_wherever_one_is_read(made: Any, tmp_path: Path, run: Run) -> None:
    file, target = made["selection/clairvoyant"]
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(read((file, target))[0] | {"demand": 3}))
    printed = run("verify", wrong, target)
    assert (printed.status, printed.out) == (2, "")
    assert "wrong.json: demand: 3 is not a list" in printed.err
    data, certificate = read((file, target))
    none = {"arrivals": [], "ports": "rows"}  # a length of lists that is any
    with pytest.raises(UnreadableError):
        derive(data | none, certificate | {"decision": [], "proof": {"prices": [], "trees": []}})


def test_a_file_that_is_missing_is_named_once(tmp_path: Path) -> None:
    path = str(tmp_path / "nowhere.json")
    with pytest.raises(UnreadableError) as caught:
        verify.read_object(path)
    assert str(caught.value).count(path) == 1
    assert "No such file" in str(caught.value)
