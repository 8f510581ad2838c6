"""The cases of a fuzzing campaign: a damaged file, oracles that check each other, or damaged certificates.

:mod:`clairvoyant.testing.fuzz` runs them by the thousand.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from .. import api
from ..models.base import InputError, Instance
from ..models.placement.instance import PlacementInstance
from ..online.play import Replay, play
from ..oracles.base import CANCELLED, UNCERTIFIED, Optimum, WhyStopped
from ..oracles.placement.certificate import MOST_JOBS
from ..problems import known_oracle, problems
from ..verify import MINIMISED, RejectedError, Statement, UnreadableError, check, derive, read_object
from .kit import Target

ORACLE_SECONDS = 0.5
"""Time limit of an oracle; the incumbent is judged as well."""

ROUNDING = 1e-9
"""By how much of its size a value may be off when it is computed in another order."""

DAMAGED = 4
"""Damaged copies of a certificate that are tried."""


class ContradictionError(AssertionError):
    """Two results contradict each other, or an error message is none."""


TARGETS: Mapping[str, Target] = {
    name: problem.part("target") for name, problem in problems().items() if problem.has("target")
}


def cross_check(target: Target, instance: Instance) -> str:
    """Check all oracles and quick policies of a problem against each other on one instance.

    Raises
    ------
    ContradictionError
        If two of them contradict each other.
    """
    again = type(instance).from_dict(json.loads(json.dumps(instance.to_dict())))
    _demand(again == instance, "the file of an instance gives another instance")
    found = dict(_all_optima(instance))
    sign = -1.0 if instance.minimised else 1.0
    ceiling = known_oracle(instance.problem, "target: ceiling", target.ceiling)
    for label, one in found.items():
        replayed = _replayed(target, instance, one)
        _demand(_near(replayed, one.value), f"{label}: the replay earns {replayed!r}, not {one.value!r}")
        for name, other in found.items():
            if other.bound is None or not _bounds(name, label):
                continue
            _demand(
                _at_most(sign * one.value, sign * other.bound),
                f"the value {one.value!r} of {label} is beyond the bound {other.bound!r} of {name}",
            )
    for policy, total in _totals(instance):
        for label, one in found.items():
            if label.split("/")[0] == ceiling and one.bound is not None:
                _demand(
                    _at_most(sign * total, sign * one.bound),
                    f"{policy} makes {total!r}, beyond the bound {one.bound!r} of {label}",
                )
    proved = sum(one.why_stopped is WhyStopped.PROVED for one in found.values())
    return "all proved" if proved == len(found) else "agreed"


def _bounds(name: str, label: str) -> bool:
    """Return whether an oracle's bound holds for another one's value: the same oracle, or per slot."""
    return name.split("/")[0] == label.split("/")[0] or name == "dynamic"


def _at_most(value: float, bound: float) -> bool:
    return value <= bound + ROUNDING * max(abs(value), abs(bound))


def _demand(holds: bool, message: str) -> None:
    if not holds:
        raise ContradictionError(message)


def _near(one: float, other: float) -> bool:
    return _at_most(one, other) and _at_most(other, one)


def _all_optima(instance: Instance) -> Iterator[tuple[str, Optimum]]:
    """Yield what every oracle and method that takes the instance finds."""
    for name, entry in api.list_oracles(instance.problem).items():
        for method in entry.methods or (None,):
            chosen = {} if method is None else {"method": method}
            try:
                one = api.solve(instance, name, time_limit=ORACLE_SECONDS, **chosen)
            except InputError:  # an exact method may take small or simple instances only, and says so
                continue
            yield name if method is None else f"{name}/{method}", one


def _replayed(target: Target, instance: Instance, one: Optimum) -> float:
    decisions = target.replay(instance, one.decision)
    return play(Replay(decisions, instance.problem), instance).total


def _totals(instance: Instance) -> Iterator[tuple[str, float]]:
    """Yield the totals of the policies that need no networks and keep every constraint."""
    for name, kind in api.list_policies(instance.problem).items():
        policy = kind()
        if policy.traits.feasible and ".learned." not in type(policy).__module__:
            try:
                yield name, play(policy, instance).total
            except InputError:  # an instance without estimates has none to show
                continue


EXTREME: tuple[Any, ...] = (
    *(0, -1, 1, 0.5, 1e-10, 1e9, 2**31, 2**53, 2**63, 1e30, 1e300, 1e-300, 5e-324, math.nan, math.inf),
    *(10**400, True, None, "", "1", "\x1b[2J\x00", [], [[]], {}, {"x": 1}),
)
"""The replacements of a value in a damaged file."""

FAULTS = ("extreme", "extreme", "scale", "scale", "remove", "double", "rename", "other")


@st.composite
def damaged(draw: st.DrawFn, data: dict[str, Any]) -> bytes:
    """Draw the bytes of an instance file with one to three faults in its values, fields or bytes."""
    data = json.loads(json.dumps(data))
    for _ in range(draw(st.integers(0, 3))):
        _spoil(draw(st.randoms(use_true_random=False)), data)
    text = json.dumps(data).encode()
    match draw(st.sampled_from(["none", "none", "none", "none", "byte", "cut", "twice", "nested"])):
        case "byte":
            at = draw(st.integers(0, len(text) - 1))
            text = text[:at] + bytes([draw(st.integers(0, 255))]) + text[at + 1 :]
        case "cut":
            text = text[: draw(st.integers(0, len(text)))]
        case "twice":
            text = b'{"version": 1,' + text[1:]
        case "nested":
            text = text.replace(b"[", b"[" * draw(st.integers(2, 5000)), 1)
    return text


def _spoil(rng: Random, data: Any) -> None:
    """Change one place of a JSON value: replace, scale, remove, double or rename what stands there."""
    places = list(_places(data))
    if not places:
        return
    node, key = rng.choice(places)
    match rng.choice(FAULTS):
        case "extreme":
            node[key] = rng.choice(EXTREME)
        case "scale":
            node[key] = _each(node[key], 10.0 ** rng.randint(-320, 308))
        case "remove":
            del node[key]
        case "double" if isinstance(node, list):
            node.insert(key, node[key])
        case "rename" if isinstance(node, dict):
            node[rng.choice(["x", "\x1b]0;x\x07", ""])] = node.pop(key)
        case _:
            here, there = rng.choice(places)
            node[key] = json.loads(json.dumps(here[there]))


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a JSON value with every key of it."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from _places(node[key])


def _each(node: Any, factor: float) -> Any:
    """Return a JSON value with every number in it multiplied."""
    if isinstance(node, list):
        return [_each(child, factor) for child in node]
    if isinstance(node, dict):
        return {key: _each(child, factor) for key, child in node.items()}
    is_number = isinstance(node, (int, float)) and not isinstance(node, bool)
    return float(node) * factor if is_number and abs(node) < sys.float_info.max else node


def check_file(text: bytes, packed: bool) -> str:
    """Read a damaged file: refused in one line, or an instance that can be solved, played and written.

    Raises
    ------
    ContradictionError
        If it is neither.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.json.gz" if packed else "x.json")
        path.write_bytes(gzip.compress(text, 1) if packed else text)
        try:
            instance = api.load(path)
            again = Path(folder, "again.json")
            instance.save(again)
            _demand(api.load(again) == instance, "what is written is read as another instance")
            instance.remarks(), instance.facts()
            for name in api.list_oracles(instance.problem):
                api.solve(instance, name, time_limit=0.0)
            for _ in _totals(instance):
                pass
        except InputError as error:
            _demand(len(str(error).splitlines()) == 1, f"the message is not one line: {error!r}")
            return "refused"
    return "taken"


def has_certificates(problem: str) -> bool:
    """Return whether an oracle of a problem writes certificates."""
    return any(entry.writer is not None for entry in api.list_oracles(problem).values())


def check_certificates(instance: Instance, data: st.DataObject) -> str:
    """Let all oracles write certificates: they are accepted as they are, and nothing false is if damaged.

    Raises
    ------
    ContradictionError
        If one is not, or a damaged one proves what another one refutes.
    """
    found = []
    for name, entry in api.list_oracles(instance.problem).items():
        if entry.writer is not None:
            optimum = api.solve(instance, name, time_limit=ORACLE_SECONDS)
            given, certificate, optimum = _certified(instance, optimum)
            statement = check(given, certificate)
            _demand(statement == optimum.statement, f"{name}: what is read is not what was written")
            beyond = _beyond(instance, optimum)
            _agree(name, optimum, statement, tight=not beyond)
            found.append(optimum.status.endswith("certificate verified"))
            known = found[-1] or beyond or optimum.why_stopped is not WhyStopped.PROVED
            _demand(known, f"{name}: {optimum.status}")
            for _ in range(DAMAGED):
                damaged_one = json.loads(json.dumps(certificate))
                _spoil(data.draw(st.randoms(use_true_random=True)), damaged_one)  # not as the clock makes it
                _refuse_false(given, damaged_one, statement)
    return "all certified" if all(found) else "verified"


def _certified(instance: Instance, optimum: Optimum) -> tuple[dict[str, Any], dict[str, Any], Optimum]:
    """Return instance and certificate as they are read from files, and the optimum with its statement."""
    with tempfile.TemporaryDirectory() as folder:
        file, target = Path(folder, "instance.json"), Path(folder, "certificate.json.gz")
        instance.save(file)
        certified = optimum.save_certificate(target)
        return read_object(str(file)), read_object(str(target)), certified


def _beyond(instance: Instance, optimum: Optimum) -> bool:
    """Return whether a tree or prices of jobs proved more than certificates of many jobs hold, and say so."""
    many = isinstance(instance, PlacementInstance) and len(instance.jobs) > MOST_JOBS
    more = "branch and bound" in optimum.method or "prices of jobs" in optimum.method
    return many and more and UNCERTIFIED in optimum.status


def _agree(name: str, optimum: Optimum, statement: Statement, *, tight: bool) -> None:
    """Refuse a statement that does not agree with what the oracle reports, up to rounding.

    If ``tight``, it is to prove as much as that.
    """
    sign = -1.0 if optimum.minimised else 1.0
    value, bound = sign * float(statement.value), sign * float(statement.bound)
    slack = ROUNDING * max(abs(value), abs(bound)) + 1e-3 * ROUNDING * optimum.scale / CANCELLED
    known, above = sign * optimum.value, math.inf if optimum.bound is None else sign * optimum.bound
    within = known - slack <= value <= above + slack  # it may be better: a tree's search goes on
    _demand(within, f"{name}: {value!r} is verified, not {known!r}, of {above!r} at most")
    _demand(bound <= above + slack or not tight, f"{name}: the bound {bound!r} is verified, not {above!r}")


def _refuse_false(given: dict[str, Any], certificate: dict[str, Any], known: Statement) -> None:
    """Raise an error if a damaged certificate is accepted with another statement, or proves a false one."""
    try:
        other = derive(given, certificate)
    except (RejectedError, UnreadableError):
        return
    same = (other.problem, other.oracle, other.digest) == (known.problem, known.oracle, known.digest)
    sign = -1 if known.problem in MINIMISED else 1
    pairs = (other.value, known.bound), (known.value, other.bound)
    _demand(
        all(sign * Fraction(value) <= sign * Fraction(bound) for value, bound in pairs)
        if same
        else other.digest == known.digest,
        f"{other} contradicts {known}",
    )
    try:
        check(given, certificate)
    except RejectedError:
        return
    says = certificate["digest"], certificate["claims"]
    _demand(says == (known.digest, known.claims), f"{says} is accepted in place of {known}")
