"""One record per problem, the only registry: whoever needs to know what there is for a problem asks here.

Other distributions add to it through entry points: whole problems in the group ``clairvoyant.problems`` (a
:class:`Problem`), and policies for problems that are there in the group ``clairvoyant.policies`` (a class),
likewise oracles (``clairvoyant.oracles``, an :class:`~clairvoyant.oracles.base.OracleEntry`) and claims
(``clairvoyant.claims``, a :class:`~clairvoyant.analysis.claim.Claim`). What is broken is left out, with one
warning.
"""

from __future__ import annotations

import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import import_module
from multiprocessing import parent_process
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from .models.base import ClairvoyantError, InputError, Instance
from .models.draw import choose
from .online.base import Traits
from .oracles.base import OracleEntry
from .oracles.generic import oracles as generic_oracles

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .analysis.claim import Claim, Paper, Table
    from .analysis.stage import Stage
    from .online.named import PolicyRow

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What a problem may be called: names become names of files."""
UNNAMED = "is not made of the letters A to Z, digits, dots, hyphens and underscores"

TAKEN = {"problem", "size", "seed", "trace", "option", "options", "out", "target", "json", "as_json", "help"}
"""Names that options of ``clairvoyant generate`` have already."""

LATE = {"kit", "target", "benchmark"}
"""Parts that load much: they are looked at when they are used."""

GROUPS = ("problems", "policies", "oracles", "claims")
"""What other distributions add, each by entry points of a group."""

LONGEST = 500
"""Most characters of what a warning says of an error."""

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
    or instances that declare their offline optimisation as a program. Without the rest, something is missing
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
    generate, from_trace, from_table
        Functions of a size, a seed and options, of a folder of traces and options, and of a table of one's
        own, its machines, the columns and options, that return an instance.
    formats
        The published formats that are read, by their names in ``models/formats.py``: for each what
        ``from_trace`` takes, or a function of a path and options that returns an instance.
    options
        What ``clairvoyant generate`` offers by name, beside ``--size`` and ``--seed``.
    oracles
        Oracles by name; those that name another problem as theirs are left out. The first one is the default.
        By default the generic oracle of the declared program.
    rival
        The oracle that policies are compared with; the first one by default.
    policies
        Classes of policies by name; those that play another problem are left out.
    claims, facts, paper
        What an audit checks, a function of its mode and seed that returns tables of instances for the
        report, and the :class:`~clairvoyant.analysis.claim.Paper` that the claims are about. Without claims,
        an audit checks what holds for any problem.
    bounds
        A function of an instance that returns, by name, what theorems bound the regret or the ratio by.
    ratio
        Where policies are judged by optimum / total (total / optimum where less is better) and not by regret:
        a function of an optimum and a total that returns the interval in which this lies.
    measures
        What else is told of a run: a function of an instance and its decisions that returns numbers by name.
    template
        The source of a policy to start from, for ``clairvoyant new-policy``: a text with ``$name`` for its
        name and ``$kind`` for its class.
    holdings
        Who holds what over time: a function of an instance, and of the decisions of a run or that of an
        oracle, that returns :class:`clairvoyant.analysis.holdings.Holdings`.
    plot_schedules
        A function of an instance, of such decisions by label, and of axes or None, that draws Gantt charts of
        them and returns the axes.
    plot_regret
        A function of an instance, of lists of runs by label, and of axes or None, that draws the regret over
        time and returns the axes.
    sight
        What policies see before they decide, in words: under "" what all of them see, and under what
        ``traits.sees`` may name what that adds.
    view
        What a trained model sees and does: a class that makes :class:`clairvoyant.online.views.View`.
    environment
        A function of a source and options that returns an environment of Gymnasium; by default that of the
        view, where there is one.
    leaderboard
        The instances on which ``clairvoyant leaderboard`` lets all policies play, a
        :class:`clairvoyant.analysis.stage.Stage`.
    worst_case
        A search for the instance on which a policy regrets most.
    kit
        What :func:`clairvoyant.testing.check_policy` needs to know, a :class:`clairvoyant.testing.Kit`; one
        made from ``generate`` by default.
    target
        What ``make fuzz``, and an audit without claims, need to know of oracles of its own, a
        :class:`clairvoyant.testing.kit.Target`.
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
    from_table: Callable[..., Instance] | str | None = None
    formats: Mapping[str, Mapping[str, Any] | Callable[..., Instance] | str] = field(default_factory=dict)
    options: Mapping[str, Option] = field(default_factory=dict)
    oracles: Mapping[str, OracleEntry] | str | None = None
    rival: str | None = None
    policies: Mapping[str, type[Any]] | str = field(default_factory=dict)
    claims: Sequence[Claim] | str = ()
    facts: Callable[[str, int], Sequence[Table]] | str | None = None
    paper: Paper | str | None = None
    bounds: Callable[[Any], dict[str, float]] | str | None = None
    ratio: Callable[[Any, float], tuple[float, float]] | str | None = None
    measures: Callable[[Any, Any], dict[str, float]] | str | None = None
    template: str | None = None
    holdings: Callable[[Any, Any], Any] | str | None = None
    plot_schedules: Callable[[Any, Mapping[str, Any], Any], Any] | str | None = None
    plot_regret: Callable[[Any, Mapping[str, Any], Any], Any] | str | None = None
    sight: Mapping[str, str] = field(default_factory=dict)
    view: Callable[..., Any] | str | None = None
    environment: Callable[..., Any] | str | None = None
    leaderboard: Stage | str | None = None
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
        """Return a part, loading it if need be: an InputError if there is none."""
        found = getattr(self, part)
        if found is None:
            raise InputError(f"problem: {self.name!r} has no {part.replace('_', ' ')}")
        if isinstance(found, str) and part not in {"name", "summary", "rival"}:
            found = self._load(part, found)
        if part in {"kit", "target"}:
            self._refuse_wrong(part, found)
        return found

    def reader(self, name: Any) -> tuple[Callable[..., Instance], Mapping[str, Any]]:
        """Return the function that reads a published format, and what it takes for that."""
        found = self.formats[choose(name, self.formats, "format")]
        if isinstance(found, Mapping):
            return self.part("from_trace"), found
        return (self._load("formats", found) if isinstance(found, str) else found), {}

    def _load(self, part: str, text: str) -> Any:
        """Return what a text ``package.module:name`` means."""
        module, _, name = text.partition(":")
        try:
            return getattr(import_module(module, __package__), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise PluginError(f"problem {self.name!r}: {part}: {text!r} cannot be loaded: {error}") from error

    def _refuse_wrong(self, part: str, found: Any) -> None:
        """Raise an error for a kit or a target that is none; they are looked at when they are used."""
        from .testing.kit import PARTS

        kind, why = PARTS[part], ""
        if not isinstance(found, kind):
            why = f"it is a {type(found).__name__}, not a {kind.__module__}.{kind.__qualname__}"
        elif part == "kit" and found.problem != self.name:
            why = f"it is of the problem {found.problem!r}"
        if why:
            raise PluginError(f"problem {self.name!r}: {part}: {why}")


GRAPH = {
    "slots": Option("Length of the horizon.", int),
    "ports": Option("Number of ports, where jobs arrive.", int),
    "servers": Option("Number of servers.", int),
    "arrival_probability": Option("Of a job per port and slot.", float),
}
"""Options of all that plays on ports and servers."""

REQUESTS = {
    "alibaba-2018": {"requests": "v2018"},
    "alibaba-gpu-2023": {"requests": "gpu-2023", "machines": "gpu-2023"},
}
"""Published formats that hold requests and machines."""

OF_ALLOCATION = GRAPH | {
    "density": Option("Mean number of ports per server.", float),
    "utility": Option("linear, log, reciprocal, poly or mix."),
    "contention": Option("Multiplies all demands.", float),
}

ARRIVALS = {"arrivals": "the arrivals of the slot"}
SLOTS_BEFORE = ARRIVALS | {"": "the arrivals of the slots before, and what they have earned there"}
CHANNELS_BEFORE = ARRIVALS | {"": "what the channels that they chose have earned in the slots before"}

OURS = (
    Problem(
        name="allocation",
        summary="divisible resources for jobs at ports; OGASched",
        instance=".models.allocation.instance:AllocationInstance",
        generate=".models.allocation.generate:generate",
        from_trace=".models.allocation.trace:from_trace",
        from_table=".models.allocation.table:from_table",
        formats=REQUESTS,
        options=OF_ALLOCATION,
        oracles=".oracles.allocation:ORACLES",
        rival="stationary",
        policies=".online.allocation:POLICIES",
        sight=SLOTS_BEFORE,
        template=".online.allocation.template:TEMPLATE",
        claims=".analysis.allocation:CLAIMS",
        facts=".analysis.allocation:facts",
        paper=".analysis.allocation:PAPER",
        leaderboard=".analysis.allocation.stage:STAGE",
        bounds=".analysis.allocation.regret:bounds",
        worst_case=".analysis.allocation.worst_case:worst_case",
        view=".online.allocation.view:AllocationView",
        holdings=".analysis.allocation.measures:holdings",
        plot_regret=".analysis.allocation.regret:plot_runs",
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
        formats=REQUESTS,
        options=OF_ALLOCATION,
        oracles=".oracles.allocation:ORACLES",
        rival="gang",
        policies=".online.allocation:POLICIES",
        sight=SLOTS_BEFORE,
        template=".online.allocation.template:GANG_TEMPLATE",
        leaderboard=".analysis.allocation.stage:GANG",
        holdings=".analysis.allocation.measures:holdings",
        plot_regret=".analysis.allocation.regret:plot_runs",
        kit=".testing.allocation:GANG_KIT",
        target=".testing.allocation:GANG_TARGET",
    ),
    Problem(
        name="selection",
        summary="channels with unknown gains under the capacities of a cluster; ESDP",
        instance=".models.selection.instance:SelectionInstance",
        generate=".models.selection.generate:generate",
        from_trace=".models.selection.trace:from_trace",
        from_table=".models.selection.table:from_table",
        formats=REQUESTS,
        options=GRAPH
        | {
            "density": Option("Probability that a channel joins a port and a server.", float),
            "capacity": Option("Devices in the cluster, one number for all kinds or one for each.", list),
        },
        oracles=".oracles.selection:ORACLES",
        rival="clairvoyant",
        policies=".online.selection:POLICIES",
        sight=CHANNELS_BEFORE,
        template=".online.selection.template:TEMPLATE",
        claims=".analysis.selection:CLAIMS",
        facts=".analysis.selection:facts",
        paper=".analysis.selection:PAPER",
        leaderboard=".analysis.selection.stage:STAGE",
        bounds=".analysis.selection.regret:bounds",
        view=".online.selection.view:SelectionView",
        holdings=".analysis.selection.measures:holdings",
        plot_schedules=".analysis.selection.measures:plot_schedules",
        plot_regret=".analysis.selection.regret:plot_runs",
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
        formats=REQUESTS,
        options=GRAPH | {"capacity": Option("The fewest and the most devices on a server.", list)},
        oracles=".oracles.selection:ORACLES",
        rival="gang",
        policies=".online.selection:POLICIES",
        sight=CHANNELS_BEFORE,
        template=".online.selection.template:GANG_TEMPLATE",
        leaderboard=".analysis.selection.stage:GANG",
        holdings=".analysis.selection.measures:holdings",
        plot_schedules=".analysis.selection.measures:plot_schedules",
        plot_regret=".analysis.selection.regret:plot_runs",
        kit=".testing.selection:GANG_KIT",
        target=".testing.selection:GANG_TARGET",
    ),
    Problem(
        name="admission",
        summary="machine learning jobs to admit and to schedule on arrival; OASiS",
        instance=".models.admission.instance:AdmissionInstance",
        generate=".models.admission.generate:generate",
        from_trace=".models.admission.trace:from_trace",
        from_table=".models.admission.table:from_table",
        formats={
            "alibaba-gpu-2020": {"arrivals": "pai-2020", "machines": "pai-2020"},
            "google-2011": {"arrivals": "google-2011"},
        },
        options={
            "jobs": Option("Number of jobs.", int),
            "horizon": Option("Number of slots.", int),
            "fit": Option("Draw every job until it is feasible or short; or any, as drawn first."),
        },
        oracles=".oracles.admission:ORACLES",
        rival="offline",
        policies=".online.admission:POLICIES",
        sight={
            "": "all of the jobs that arrive in the slot, and which jobs were done in the slots before",
            "announced": "the announced price range",
        },
        template=".online.admission.template:TEMPLATE",
        claims=".analysis.admission:CLAIMS",
        facts=".analysis.admission:facts",
        paper=".analysis.admission:PAPER",
        leaderboard=".analysis.admission.stage:STAGE",
        bounds=".analysis.admission.competitive:bounds",
        ratio=".analysis.admission.competitive:ratio",
        view=".online.admission.view:AdmissionView",
        holdings=".analysis.admission.measures:holdings",
        plot_schedules=".analysis.admission.measures:plot_schedules",
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
        from_table=".models.placement.table:from_table",
        formats={
            "alibaba-gpu-2020": {"source": "pai-2020"},
            "alibaba-gpu-2023": {"source": "gpu-2023"},
            "philly": {"source": "philly"},
            "swf": ".models.placement.swf:from_swf",
        },
        options={
            "jobs": Option("Number of jobs.", int),
            "contention": Option("eta of the slowdown.", float),
            "cluster": Option("small, medium or large (8, 16, 32 machines) for the same jobs."),
            "rho": Option("Load on the small cluster.", float),
        },
        oracles=".oracles.placement:ORACLES",
        rival="offline",
        policies=".online.placement:POLICIES",
        sight={
            "": "the jobs that wait, up to the window, without their durations; those that run or have "
            "ended; what is free on each machine",
            "durations": "durations",
            "estimates": "estimates of durations",
        },
        template=".online.placement.template:TEMPLATE",
        claims=".analysis.placement:CLAIMS",
        facts=".analysis.placement:facts",
        paper=".analysis.placement:PAPER",
        leaderboard=".analysis.placement.stage:STAGE",
        ratio=".analysis.placement.measures:ratio",
        measures=".analysis.placement.measures:measures",
        view=".online.placement.view:PlacementView",
        environment=".online.placement.environment:SingleEnvironment",
        holdings=".analysis.placement.measures:holdings",
        plot_schedules=".analysis.placement.gantt:plot_schedules",
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
    return _known() | _others().things


def find(name: Any) -> Problem:
    """Return the record of a problem; an InputError that lists those that there are, if it is none."""
    ours = _known()
    known = ours if isinstance(name, str) and name in ours else problems()
    return known[choose(name, known, "problem")]


def oracles(name: str) -> dict[str, OracleEntry]:
    """Return the oracles of a problem by name, the default first."""
    return _joined(name, "oracles", f"an oracle of {name!r}")


def policies(name: str | None = None) -> dict[str, type[Any]]:
    """Return the policies of one problem, or of all, by name.

    Without a problem, a name that several problems use stands as ``problem/name``. If there is no such
    problem, or no policy for it, that is an InputError.
    """
    if name is None:
        found = [(key, p, one) for p in problems() for key, one in players(p).items()]
        uses = [key for key, _, _ in found]
        return {key if uses.count(key) == 1 else f"{p}/{key}": one for key, p, one in found}
    found_here = players(find(name).name)
    if not found_here:
        raise InputError(f"problem: {name!r} has no policies")
    return found_here


def players(name: str) -> dict[str, type[Any]]:
    """Return the policies of a problem by name, if it has any."""
    return _joined(name, "policies", f"a policy of {name!r}")


def claims() -> list[Claim]:
    """Return the claims of all problems, in the order of the problems, and then those that were added."""
    every = [
        (key not in _listed(name, "claims"), claim)
        for name in problems()
        for key, claim in _joined(name, "claims", "a claim").items()
    ]
    return [claim for _, claim in sorted(every, key=itemgetter(0))]


def owner(problem: str, what: str = "problems", name: str = "") -> str | None:
    """Return which distribution brings a problem, or what of it; ``None`` for what is ours.

    ``what`` and ``name`` are "policies", "oracles" or "claims", and the name of one.
    """
    if what == "problems" or name in _listed(problem, what):
        return _others().owners.get(problem)
    return _added(what).owners.get((problem, name))


def papers() -> dict[str, Paper]:
    """Return the papers that there are claims about, by problem."""
    return {name: problem.part("paper") for name, problem in problems().items() if problem.has("paper")}


def facts(findings: Iterable[tuple[Claim, Any]], mode: str, seed: int) -> dict[str, Sequence[Table]]:
    """Return, by problem, the facts about the instances that claims were checked on, with their origin."""
    checked, tables = {claim.problem for claim, _ in findings}, dict[str, Sequence[Any]]()
    for name, problem in problems().items():
        if name in checked and problem.has("facts"):
            try:
                tables[name] = [*problem.part("facts")(mode, seed)]
            except (Exception, SystemExit) as error:
                if owner(name) is None:
                    raise
                _warn_once(f"the facts of {name!r}, from {owner(name)}, are left out: {one_line(error)}")
    return tables


def read_instance(data: Mapping[str, Any]) -> Instance:
    """Return an instance made from the JSON object of its file, which says of which problem it is."""
    return find(data.get("problem")).part("instance").from_dict(data)


def rival(name: str) -> str | None:
    """Return the oracle that policies are compared with, or ``None`` if the problem has no oracle.

    If the record names one that is not there, that is a PluginError.
    """
    return known_oracle(name, "rival", find(name).rival) or next(iter(oracles(name)), None)


def also_seen(name: str, sees: Iterable[str]) -> str:
    """Return in words what a policy sees before it decides, besides what all of the problem see."""
    return ", ".join(find(name).sight.get(part, part) for part in sorted(sees)) or "nothing"


def in_words(rows: Iterable[PolicyRow]) -> list[PolicyRow]:
    """Return rows of policies for people, with what each sees in words."""
    return [replace(row, sees=(also_seen(row.problem, row.sees),)) for row in rows]


def known_oracle(problem: str, part: str, oracle: str | None) -> str | None:
    """Return the oracle that a part of a problem's record names, if any; a PluginError if it is not there."""
    known = oracles(problem)
    if oracle is None or oracle in known:
        return oracle
    listed = ", ".join(known) or "none"
    raise PluginError(f"problem {problem!r}: {part}: {oracle!r} is not one of its oracles: {listed}")


@cache
def _known() -> dict[str, Problem]:
    return {problem.name: problem for problem in OURS}


def _joined(problem: str, what: str, one: str) -> dict[str, Any]:
    """Return what a record lists and what was added to it; who takes a name that is taken is left out."""
    listed, added = _listed(problem, what), _added(what)
    more = added.things.get(problem, {})
    for name in more.keys() & listed.keys():
        whose = added.owners[problem, name]
        _warn_once(f"{name!r} of {whose} is left out: {one} has this name already")
    return {**listed, **{name: thing for name, thing in more.items() if name not in listed}}


def _listed(name: str, what: str) -> dict[str, Any]:
    """Return the policies, oracles or claims that the record of a problem lists."""
    record = find(name)
    if what == "claims":
        return {claim.id: claim for claim in record.part("claims")}
    if what == "policies":
        known = record.part("policies")
        for key, one in known.items():
            if one.traits.problem != name and one.traits.problem not in problems():
                why = f"its traits name the problem {one.traits.problem!r}, which there is not"
                _warn_once(f"the policy {key!r} of {name!r} is left out: {why}")
        return {key: one for key, one in known.items() if one.traits.problem == name}
    known = record.part("oracles") if record.has("oracles") else generic_oracles(name)
    return {key: one for key, one in known.items() if one.problem == name}


# What other distributions add.


class _Brought(NamedTuple):
    """What other distributions bring, and the name of the one that brings it."""

    things: dict[str, Any]
    owners: dict[Any, str]


@cache
def _others() -> _Brought:
    """Return the problems of other distributions that can be used, by name."""
    found: dict[str, Problem] = {}

    def take(_name: str, problem: Any) -> str:
        _check(problem, {**_known(), **found})
        found[problem.name] = problem
        return str(problem.name)

    return _Brought(found, _take_all("problems", take))


def _check(problem: Any, taken: Mapping[str, Problem]) -> None:
    """Raise an error for a record that cannot be used, naming what it lacks."""
    if not isinstance(problem, Problem):
        raise PluginError(f"it is a {type(problem).__name__}, not a clairvoyant.problems.Problem")
    if not NAME.fullmatch(problem.name):
        raise PluginError(f"name: {problem.name!r} {UNNAMED}")
    if problem.name in taken:
        raise PluginError(f"name: there is a problem {problem.name!r} already")
    for part in fields(problem):
        if problem.has(part.name) and part.name not in LATE:
            problem.part(part.name)
    kind = problem.part("instance")
    if not (isinstance(kind, type) and issubclass(kind, Instance)):
        raise PluginError(f"instance: {kind!r} is no subclass of clairvoyant.Instance")
    if kind.problem != problem.name:
        raise PluginError(f"instance: {kind.__name__} is of the problem {kind.problem!r}")
    for name, option in problem.options.items():
        if not isinstance(option, Option) or name in TAKEN or not name.isidentifier():
            raise PluginError(f"options: {name!r} is taken, or no name of a clairvoyant.problems.Option")
    if problem.has("template") and not isinstance(problem.part("template"), str):
        raise PluginError("template: it is no text")
    if problem.has("generate"):
        try:
            inspect.signature(problem.part("generate")).bind("tiny", 0)
        except TypeError as error:
            raise PluginError(f"generate: it does not take a size and a seed: {error}") from error
    for policy in problem.part("policies").values():
        _place_of_policy("", policy)
    for name, oracle in problem.part("oracles").items() if problem.has("oracles") else ():
        _place_of_oracle(name, oracle)
    ids = [_place_of_claim("", claim) for claim in problem.part("claims")]
    for place in ids:
        if place[0] != problem.name or ids.count(place) > 1:
            raise PluginError(f"claims: {place[1]!r} is there twice, or of another problem")


def _place_of_policy(_name: str, policy: Any) -> tuple[str, str]:
    """Return problem and name of a class of policies; raise an error for what is none."""
    members: dict[str, Any] = {"name": str, "traits": Traits, "start": Callable, "decide": Callable}
    lacks = [name for name, kind in members.items() if not isinstance(getattr(policy, name, None), kind)]
    if lacks:
        raise PluginError(f"{policy!r} is no policy: it lacks {', '.join(lacks)}")
    if not isinstance(policy, type):
        raise PluginError(f"{policy!r} is an object; give its class")
    found: Any = policy
    if not NAME.fullmatch(found.name):
        raise PluginError(f"name: {found.name!r} {UNNAMED}")
    inspect.signature(found).bind()  # raises an error if it cannot be made without settings
    return found.traits.problem, found.name


def _place_of_oracle(name: str, oracle: Any) -> tuple[str, str]:
    """Return problem and name of an oracle; raise an error for what is none."""
    if not isinstance(oracle, OracleEntry):
        raise PluginError(
            f"an oracle is a {type(oracle).__name__}, not a clairvoyant.oracles.base.OracleEntry"
        )
    taken = inspect.signature(oracle.function).parameters
    lacks = [option for option in ("gap", "time_limit", "progress") if option not in taken]
    if lacks and all(one.kind is not one.VAR_KEYWORD for one in taken.values()):
        raise PluginError(f"oracle {name!r}: its function does not take {', '.join(lacks)}")
    return oracle.problem, name


def _place_of_claim(_name: str, claim: Any) -> tuple[str, str]:
    """Return problem and id of a claim; raise an error for what is none."""
    from .analysis.claim import EXTRAS, Claim

    if not isinstance(claim, Claim):
        raise PluginError(f"a claim is a {type(claim).__name__}, not a clairvoyant.Claim")
    if not callable(claim.check) or claim.extra not in {"", *EXTRAS}:
        raise PluginError(f"{claim.id!r}: its check is no function, or its extra none of {', '.join(EXTRAS)}")
    if not NAME.fullmatch(claim.id.partition("/")[2]):
        raise PluginError(f"{claim.id!r} is not of the form problem/name")
    return claim.problem, claim.id


@cache
def _added(what: str) -> _Brought:
    """Return the policies, oracles or claims that other distributions add, by problem and name."""
    places = {"policies": _place_of_policy, "oracles": _place_of_oracle, "claims": _place_of_claim}
    found: dict[str, dict[str, Any]] = {}

    def take(name: str, thing: Any) -> tuple[str, str]:
        problem, key = places[what](name, thing)
        if key in found.setdefault(find(problem).name, {}):
            raise PluginError(f"another distribution adds {key!r} to {problem!r} already")
        found[problem][key] = thing
        return problem, key

    return _Brought(found, _take_all(what, take))


def _take_all(what: str, take: Callable[[str, Any], Any]) -> dict[Any, str]:
    """Load what other distributions offer; return whose it is, by what takes it. What raises is left out."""
    owners = {}
    for entry in _entries(what):
        try:
            with redirect_stdout(sys.stderr):  # which belongs to the results of commands
                owners[take(entry.name, entry.load())] = _whose(entry)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the code of others does while it loads
            _warn_once(f"{entry.name!r} of {_whose(entry)} is left out: {one_line(error)}")
    return owners


def packages() -> set[str]:
    """Return the names of the packages in which other distributions add something."""
    return {re.split("[.:]", entry.value)[0].strip() for what in GROUPS for entry in _entries(what)}


def _whose(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value


def _entries(what: str) -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points

    try:
        return sorted(entry_points(group=f"{__package__}.{what}"), key=lambda entry: entry.name)
    except Exception as error:  # noqa: BLE001 - a file of some distribution that holds no entry points
        _warn_once(f"all other distributions are left out: entry points: {one_line(error)}")
        return ()


def one_line(error: BaseException) -> str:
    """Return what a warning says of an error in the code of others: its kind, unless it is one of ours."""
    kind = "" if isinstance(error, ClairvoyantError) else f"{type(error).__name__}: "
    text = " ".join(f"{kind}{error}".split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:LONGEST])


@cache
def _warn_once(message: str) -> None:
    if parent_process() is None:  # worker processes find the same again
        log.warning("%s", message)
