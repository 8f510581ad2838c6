"""One record per problem, the only registry: whoever needs to know what there is for a problem asks here.

Other distributions add to it through entry points: whole problems in the group ``clairvoyant.problems`` (a
:class:`Problem`), and policies for problems that are there in the group ``clairvoyant.policies`` (a class),
likewise oracles (``clairvoyant.oracles``, an :class:`~clairvoyant.oracles.base.OracleEntry`) and claims
(``clairvoyant.claims``, a :class:`~clairvoyant.analysis.claim.Claim`). What is broken is left out, with one
warning.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from .models.base import ClairvoyantError, InputError, Instance
from .models.draw import choose
from .oracles.generic import oracles as generic_oracles

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .analysis.claim import Claim, Table
    from .oracles.base import OracleEntry

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What a problem may be called: names become names of files."""

log = logging.getLogger(__package__)


class PluginError(ClairvoyantError):
    """What another distribution adds cannot be used; the text says whose it is and what it lacks."""


class Option(NamedTuple):
    """An option of ``clairvoyant generate`` by its own name; any other is given as ``--option KEY=VALUE``.

    Attributes
    ----------
    help
        What it means, for this problem.
    kind
        What its text is read as: ``int``, ``float``, ``str``, or ``list`` for one number or several.
    """

    help: str
    kind: type = str


@dataclass(frozen=True, kw_only=True)
class Problem:
    """All that there is for a problem.

    Every part may be the thing itself or a text ``package.module:name``, which is loaded when it is first
    needed; :meth:`part` returns it. A problem needs a name and the class of its instances, and either oracles
    or instances that declare their offline optimization as a program. Without the rest, something is missing
    that the parts say.

    Attributes
    ----------
    name
        What files, commands and policies call it. A variant is named after the problem whose rooms it
        shares, with a hyphen: ``selection-gang``.
    summary
        What it is about, in one line.
    instance
        The class of the instances.
    generate, from_trace
        Functions of a size, a seed and options, and of a folder of traces and options, that return an
        instance.
    options
        What ``clairvoyant generate`` offers by name, beside ``--size`` and ``--seed``.
    oracles
        Oracles by name; those that name another problem as theirs are left out. The first one is the default.
        By default the generic oracle of the declared program.
    rival
        The oracle that policies are compared with; the first one by default.
    policies
        Classes of policies by name; those that play another problem are left out.
    claims, facts
        What an audit checks, and a function of its mode and seed that returns tables of instances for the
        report.
    bounds
        A function of an instance that returns, by name, what theorems bound the regret or the ratio by.
    ratio
        Where policies are judged by optimum / total (total / optimum where less is better) and not by regret:
        a function of an optimum and a total that returns the interval in which this lies.
    measures
        What else is told of a run: a function of an instance and its decisions that returns numbers by name.
    worst_case
        A search for the instance on which a policy regrets most.
    kit
        What :func:`clairvoyant.testing.check_policy` needs to know, a :class:`clairvoyant.testing.Kit`; one
        made from ``generate`` by default.
    target
        What ``make fuzz`` needs to know, a :class:`clairvoyant.testing.kit.Target`.
    small, besides
        Options of a tiny instance on which every method and policy has work to do, and a function that uses
        kernels which no listed oracle or policy uses: for ``clairvoyant warmup``.
    benchmark
        A function that yields measurements, for ``python -m benchmarks``.
    """

    name: str
    summary: str = ""
    instance: type[Instance] | str
    generate: Callable[..., Instance] | str | None = None
    from_trace: Callable[..., Instance] | str | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    oracles: Mapping[str, OracleEntry] | str | None = None
    rival: str | None = None
    policies: Mapping[str, type[Any]] | str = field(default_factory=dict)
    claims: Sequence[Claim] | str = ()
    facts: Callable[[str, int], Sequence[Table]] | str | None = None
    bounds: Callable[[Any], dict[str, float]] | str | None = None
    ratio: Callable[[Any, float], tuple[float, float]] | str | None = None
    measures: Callable[[Any, Any], dict[str, float]] | str | None = None
    worst_case: Callable[..., Any] | str | None = None
    kit: Any = None
    target: Any = None
    small: Mapping[str, Any] = field(default_factory=dict)
    besides: Callable[[], None] | str | None = None
    benchmark: str | None = None

    @property
    def room(self) -> str:
        """The name of its rooms: its own up to the first hyphen."""
        return self.name.partition("-")[0]

    def has(self, part: str) -> bool:
        """Tell whether the problem has something that may be missing."""
        return getattr(self, part) is not None

    def part(self, part: str) -> Any:
        """Return a part, loading it if need be.

        Raises
        ------
        InputError
            If the problem has none.
        PluginError
            If it cannot be loaded.
        """
        found = getattr(self, part)
        if found is None:
            raise InputError(f"problem: {self.name!r} has no {part.replace('_', ' ')}")
        if not isinstance(found, str) or part in {"name", "summary", "rival"}:
            return found
        module, _, name = found.partition(":")
        try:
            return getattr(import_module(module, __package__), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise PluginError(
                f"problem {self.name!r}: {part}: {found!r} cannot be loaded: {error}"
            ) from error


GRAPH = {
    "slots": Option("Length of the horizon.", int),
    "ports": Option("Number of ports, where jobs arrive.", int),
    "servers": Option("Number of servers.", int),
    "arrival_probability": Option("Of a job per port and slot.", float),
}
"""Options of all that plays on ports and servers."""

OF_ALLOCATION = GRAPH | {
    "density": Option("Mean number of ports per server.", float),
    "utility": Option("linear, log, reciprocal, poly or mix."),
    "contention": Option("Multiplies all demands.", float),
}

OURS = (
    Problem(
        name="allocation",
        summary="divisible resources for jobs at ports; OGASched",
        instance=".models.allocation.instance:AllocationInstance",
        generate=".models.allocation.generate:generate",
        from_trace=".models.allocation.trace:from_trace",
        options=OF_ALLOCATION,
        oracles=".oracles.allocation:ORACLES",
        rival="stationary",
        policies=".online.allocation:POLICIES",
        claims=".analysis.allocation:CLAIMS",
        facts=".analysis.allocation:facts",
        bounds=".analysis.allocation.regret:bounds",
        worst_case=".analysis.allocation.worst_case:worst_case",
        kit=".testing.allocation:KIT",
        target=".testing.allocation:TARGET",
        besides="._warmup:allocation",
        benchmark="benchmarks.allocation:measure",
    ),
    Problem(
        name="allocation-gang",
        summary="the same with tasks that start together or not at all",
        instance=".models.allocation.gang:AllocationGangInstance",
        generate=".models.allocation.gang_generate:generate",
        from_trace=".models.allocation.gang_generate:from_trace",
        options=OF_ALLOCATION,
        oracles=".oracles.allocation:ORACLES",
        rival="gang",
        policies=".online.allocation:POLICIES",
        kit=".testing.allocation:GANG_KIT",
        target=".testing.allocation:GANG_TARGET",
    ),
    Problem(
        name="selection",
        summary="channels with unknown gains under the capacities of a cluster; ESDP",
        instance=".models.selection.instance:SelectionInstance",
        generate=".models.selection.generate:generate",
        from_trace=".models.selection.trace:from_trace",
        options=GRAPH
        | {
            "density": Option("Probability that a channel joins a port and a server.", float),
            "capacity": Option("Devices in the cluster, one number for all kinds or one for each.", list),
        },
        oracles=".oracles.selection:ORACLES",
        rival="clairvoyant",
        policies=".online.selection:POLICIES",
        claims=".analysis.selection:CLAIMS",
        facts=".analysis.selection:facts",
        bounds=".analysis.selection.regret:bounds",
        kit=".testing.selection:KIT",
        target=".testing.selection:TARGET",
        besides="._warmup:selection",
        benchmark="benchmarks.selection:measure",
    ),
    Problem(
        name="selection-gang",
        summary="the same with gangs of tasks on servers of their own capacity",
        instance=".models.selection.gang:SelectionGangInstance",
        generate=".models.selection.gang_generate:generate",
        from_trace=".models.selection.gang_generate:from_trace",
        options=GRAPH | {"capacity": Option("The fewest and the most devices on a server.", list)},
        oracles=".oracles.selection:ORACLES",
        rival="gang",
        policies=".online.selection:POLICIES",
        kit=".testing.selection:GANG_KIT",
        target=".testing.selection:GANG_TARGET",
    ),
    Problem(
        name="admission",
        summary="machine learning jobs to admit and to schedule on arrival; OASiS",
        instance=".models.admission.instance:AdmissionInstance",
        generate=".models.admission.generate:generate",
        from_trace=".models.admission.trace:from_trace",
        options={
            "jobs": Option("Number of jobs.", int),
            "horizon": Option("Number of slots.", int),
            "fit": Option("Draw every job until it is feasible or short; or any, as drawn first."),
        },
        oracles=".oracles.admission:ORACLES",
        rival="offline",
        policies=".online.admission:POLICIES",
        claims=".analysis.admission:CLAIMS",
        facts=".analysis.admission:facts",
        bounds=".analysis.admission.competitive:bounds",
        ratio=".analysis.admission.competitive:ratio",
        kit=".testing.admission:KIT",
        target=".testing.admission:TARGET",
        benchmark="benchmarks.admission:measure",
    ),
    Problem(
        name="placement",
        summary="gangs of GPUs to place on machines, where neighbours slow down; DAS",
        instance=".models.placement.instance:PlacementInstance",
        generate=".models.placement.generate:generate",
        from_trace=".models.placement.trace:from_trace",
        options={
            "jobs": Option("Number of jobs.", int),
            "contention": Option("eta of the slowdown.", float),
            "cluster": Option("small, medium or large (8, 16, 32 machines) for the same jobs."),
            "rho": Option("Load on the small cluster.", float),
        },
        oracles=".oracles.placement:ORACLES",
        rival="offline",
        policies=".online.placement:POLICIES",
        claims=".analysis.placement:CLAIMS",
        facts=".analysis.placement:facts",
        ratio=".analysis.placement.measures:ratio",
        measures=".analysis.placement.measures:measures",
        kit=".testing.placement:KIT",
        target=".testing.placement:TARGET",
        small={"jobs": 3, "rho": 10.0, "contention": 0.0, "estimate_error": 0.5},
        besides="._warmup:placement",
        benchmark="benchmarks.placement:measure",
    ),
)
"""The problems of the four papers."""


def problems() -> dict[str, Problem]:
    """Return all problems by name: ours, and then those of other distributions."""
    return _known() | _others()


def find(name: Any) -> Problem:
    """Return the record of a problem.

    Raises
    ------
    InputError
        If there is none of this name, listing those that there are.
    """
    ours = _known()
    known = ours if isinstance(name, str) and name in ours else problems()
    return known[choose(name, known, "problem")]


def oracles(name: str) -> dict[str, OracleEntry]:
    """Return the oracles of a problem by name, the default first."""
    record = find(name)
    known = record.part("oracles") if record.has("oracles") else generic_oracles(name)
    listed = {key: one for key, one in known.items() if one.problem == name}
    added = {key: one for key, one in _added("oracles").items() if one.problem == name}
    return _joined(listed, added, f"an oracle of {name!r}")


def policies(name: str | None = None) -> dict[str, type[Any]]:
    """Return the policies of one problem, or of all, by name.

    Without a problem, a name that several problems use stands as ``problem/name``.

    Raises
    ------
    InputError
        If there is no such problem, or no policy for it.
    """
    if name is None:
        found = [(key, p, one) for p in problems() for key, one in _policies_of(p).items()]
        uses = [key for key, _, _ in found]
        return {key if uses.count(key) == 1 else f"{p}/{key}": one for key, p, one in found}
    found_here = _policies_of(find(name).name)
    if not found_here:
        raise InputError(f"problem: {name!r} has no policies")
    return found_here


def _policies_of(name: str) -> dict[str, type[Any]]:
    listed = {key: one for key, one in find(name).part("policies").items() if one.traits.problem == name}
    added = {one.name: one for one in _added("policies").values() if one.traits.problem == name}
    return _joined(listed, added, f"a policy of {name!r}")


def claims() -> list[Claim]:
    """Return the claims of all problems, in the order of the problems."""
    listed = [claim for problem in problems().values() for claim in problem.part("claims")]
    known = {claim.id: claim for claim in listed}
    added = {claim.id: claim for claim in _added("claims").values()}
    return list(_joined(known, added, "a claim").values()) if added else listed


def facts(findings: Iterable[tuple[Claim, Any]], mode: str, seed: int) -> list[Table]:
    """Return the facts about the instances that claims were checked on, with their origin."""
    checked = {claim.problem for claim, _ in findings}
    found = [problem for name, problem in problems().items() if name in checked and problem.has("facts")]
    return [table for problem in found for table in problem.part("facts")(mode, seed)]


def read_instance(data: Mapping[str, Any]) -> Instance:
    """Return an instance made from the JSON object of its file, which says of which problem it is.

    Raises
    ------
    InputError
        If it is no valid instance, naming the field, the index and the value.
    """
    instance: Instance = find(data.get("problem")).part("instance").from_dict(data)
    return instance


def rival(name: str) -> str | None:
    """Return the oracle that policies are compared with, or ``None`` if the problem has no oracle."""
    return find(name).rival or next(iter(oracles(name)), None)


@cache
def _known() -> dict[str, Problem]:
    return {problem.name: problem for problem in OURS}


def _joined(listed: Mapping[str, Any], added: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return what is there and what was added to it; who takes a name that is taken is left out."""
    for name in added.keys() & listed.keys():
        _warn_once(f"{name!r} of another distribution is left out: {what} has this name already")
    return {**listed, **{name: one for name, one in added.items() if name not in listed}}


# What other distributions add.


@cache
def _others() -> dict[str, Problem]:
    """Return the problems of other distributions that can be used."""
    found: dict[str, Problem] = {}
    for entry in _entries("problems"):
        try:
            problem = entry.load()
            _check(problem, {**_known(), **found})
        except Exception as error:  # noqa: BLE001 - whatever the code of others does while it loads
            _left_out(entry, error)
        else:
            found[problem.name] = problem
    return found


def _check(problem: Any, taken: Mapping[str, Problem]) -> None:
    """Raise an error for a record that cannot be used, naming what it lacks."""
    if not isinstance(problem, Problem):
        raise PluginError(f"it is a {type(problem).__name__}, not a clairvoyant.problems.Problem")
    if not NAME.fullmatch(problem.name):
        raise PluginError(f"name: {problem.name!r} is not made of letters, digits, dots and hyphens")
    if problem.name in taken:
        raise PluginError(f"name: there is a problem {problem.name!r} already")
    for part in fields(problem):
        if problem.has(part.name) and part.name != "benchmark":
            problem.part(part.name)
    kind = problem.part("instance")
    if not (isinstance(kind, type) and issubclass(kind, Instance)):
        raise PluginError(f"instance: {kind!r} is no subclass of clairvoyant.Instance")
    if kind.problem != problem.name:
        raise PluginError(f"instance: {kind.__name__} is of the problem {kind.problem!r}")


@cache
def _added(what: str) -> dict[str, Any]:
    """Return the policies, oracles or claims that other distributions add to problems."""
    member = {"policies": "traits", "oracles": "problem", "claims": "problem"}[what]
    found: dict[str, Any] = {}
    for entry in _entries(what):
        try:
            thing = entry.load()
            if not hasattr(thing, member):
                raise PluginError(f"{thing!r} has no {member}")
            of = thing.traits.problem if what == "policies" else thing.problem
            find(of)
        except Exception as error:  # noqa: BLE001 - whatever the code of others does while it loads
            _left_out(entry, error)
        else:
            found[entry.name] = thing
    return found


def _entries(what: str) -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=f"{__package__}.{what}"), key=lambda entry: entry.name)


def _left_out(entry: EntryPoint, error: Exception) -> None:
    whose = entry.dist.name if entry.dist is not None else entry.value
    text = " ".join(str(error).split()) or type(error).__name__
    _warn_once(f"{entry.name!r} of {whose} is left out: {text}")


@cache
def _warn_once(message: str) -> None:
    log.warning("%s", message)
