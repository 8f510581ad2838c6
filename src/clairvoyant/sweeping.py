"""Sweeps: policies and oracles on many instances, as cells that the engine runs and whose results are kept.

A plan crosses what it lists; ``docs/sweeps.md`` describes it. What a cell is known by is the digest of its
instance, its policy or oracle with all settings, its seed and the source that matters to it: a plan that is
extended computes only what is new, and two plans share what they have in common.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import json
import logging
import os
import statistics
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import api
from .analysis.engine import identity
from .analysis.engine.cells import Answer, Cell, ChangedError, State, hash_of, key_of, look_again
from .analysis.engine.engine import Executor, Progress, run_cells, stands
from .analysis.engine.kept import believed, signed
from .analysis.engine.processes import Limits, Processes
from .analysis.engine.store import Store, answer_of, open_store, place_of, read_rows
from .models.base import InputError, Instance, need, path_of, read_text, refuse_unknown, regular
from .models.draw import choose, choose_some, real, whole
from .online.base import Policy
from .problems import find, problems
from .tables import SWEPT, Row, frame_of

if TYPE_CHECKING:
    from pandas import DataFrame

log = logging.getLogger(__package__)

MOST_SEEDS = 10**6
"""More of them are a slip of the pen."""

INSTANCES_AT_HAND = 4
"""How many instances a worker keeps, for the cells to come."""


@dataclass(frozen=True)
class Recipe:
    """How an instance is made: what a worker is sent in place of it."""

    problem: str
    # What the generator or the reader of traces takes, ``size`` and ``seed`` included.
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    # file, trace: the file it is in, or the folder of traces it is made from; None for both if it is
    # generated.
    file: str | None = None
    trace: str | None = None

    def make(self) -> Instance:
        """Return the instance."""
        if self.file is not None:
            return api.load(self.file, self.problem)
        if self.trace is not None:
            return api.from_trace(self.problem, self.trace, **self.options)
        return api.generate(self.problem, **self.options)

    @property
    def name(self) -> str:
        """What people call it."""
        if self.file is not None:
            return Path(self.file).name
        options = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.problem}{f' of {self.trace}' if self.trace else ''} {options}"

    def cell(self, contents: str, source: str) -> Cell:
        """Return the cell that makes the instance and finds its digest.

        ``contents`` is a hash of what it is made of besides its options, ``source`` one of the source that
        makes it.
        """
        recipe = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        key = key_of(problem=self.problem, options=self.options, contents=contents, source=source)
        told = {"recipe": recipe, "instance": self.name, "version": source[:8], "key": key}
        told["contents"] = contents
        return Cell(key, self.name, f"{SWEPT}describe", told)


def _contents(file: str | None, trace: str | None) -> str:
    """Return a hash of what is in a file, or in a folder of traces."""
    if file is not None:
        path = regular(path_of("files", file))
        return hash_of([path], path.parent)
    if trace is not None:
        folder = path_of("trace", trace)
        return hash_of((path for path in folder.rglob("*") if path.is_file()), folder)
    return ""


# What a worker does.


@lru_cache(INSTANCES_AT_HAND)
def _made(recipe: str, digest: str) -> Instance:
    instance = Recipe(**json.loads(recipe)).make()
    if instance.digest() != digest:
        why = "its file, traces or generator have changed, or the generator does not obey its seed"
        raise InputError(f"instance: digest {instance.digest()} is not {digest}, as it was planned: {why}")
    return instance


def _instance(arguments: Mapping[str, Any]) -> Instance:
    return _made(json.dumps(arguments["recipe"]), arguments["digest"])


def describe(arguments: Mapping[str, Any], _report: Callable[[float], None]) -> dict[str, Any]:
    """Make an instance; return its digest and its facts, signed. It is refused if its files have changed."""
    recipe = Recipe(**arguments["recipe"])
    instance = recipe.make()
    if _contents(recipe.file, recipe.trace) != arguments["contents"]:  # the key is of what was there before
        raise InputError(f"{recipe.file or recipe.trace}: it has changed meanwhile; give the command again")
    return signed(arguments["key"], {"digest": instance.digest(), "facts": instance.facts()})


def source_of_instances(problem: str) -> str:
    """Return a hash of the source that makes instances of a problem."""
    return identity.source_for(problem, describe, ("models",), find(problem).part("instance"))


def played(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Play a policy; return what :func:`told_of_run` tells, signed."""
    instance = _instance(arguments)
    policy = api.make_policy(arguments["policy"], instance.problem)
    if key_of(settings=identity.settings_of(policy)) != arguments["settings"]:
        raise InputError(
            f"policy: {policy.name}: what it holds, or a file that it names, is not what was meant"
        )
    _refuse_changed(policy, instance, arguments)  # as it was loaded
    told = told_of(policy, instance, arguments["policy_seed"], report)
    _refuse_changed(policy, instance, arguments)  # what was loaded meanwhile
    return signed(arguments["key"], told)


def _refuse_changed(policy: Policy, instance: Instance, arguments: Mapping[str, Any]) -> None:
    """Raise a ChangedError if somebody's source is not that which the key of a run was made of."""
    now, meant = identity.brought_by(policy, type(instance)), arguments["brought"]
    for module in sorted(now.keys() | meant.keys()):
        if now.get(module) != meant.get(module):
            raise ChangedError(f"{module}: its source, or that of what it imports, changed meanwhile")


def told_of(policy: Policy, instance: Instance, seed: int, report: Callable[[float], None]) -> dict[str, Any]:
    """Play a policy; return what :func:`told_of_run` tells."""
    problem = find(instance.problem)
    events = getattr(instance.setting, "slots", getattr(instance.setting, "horizon", None))
    measures = problem.part("measures") if problem.has("measures") else None
    run = api.play(
        policy,
        instance,
        seed,
        keep_decisions=measures is not None,
        enforce=policy.traits.feasible,
        progress=lambda event: report(event / events if events else 0.0),
    )
    measured = {} if measures is None else measures(instance, run.decisions)
    return identity.told_of_run(run, measured)


def solved(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Solve an instance; return what :func:`told_of_optimum` tells, signed."""
    instance = _instance(arguments)
    options = arguments["options"]
    optimum = api.solve(instance, arguments["oracle"], progress=lambda part, _note: report(part), **options)
    return signed(arguments["key"], identity.told_of_optimum(optimum))


# What a plan asks for.

FIELDS = {
    *("problem", "size", "seeds", "options", "trace", "files"),
    *("policies", "policy_seeds", "oracles", "gap", "time_limit"),
}


@dataclass(frozen=True)
class Block:
    """Instances of one problem, and what is run on every one of them."""

    problem: str
    recipes: Sequence[Recipe]
    # policies, policy_seeds: names with settings, and the seeds of those that draw at random.
    policies: Sequence[str]
    policy_seeds: Sequence[int]
    oracles: Sequence[tuple[str, Mapping[str, Any]]]  # names with the options of each

    @classmethod
    def from_dict(cls, data: Any) -> Block:
        """Read a table ``[[sweep]]`` of a plan; refuse wrong fields by name and value."""
        refuse_unknown(data, FIELDS)
        problem = find(need(data, "problem")).name
        policies = _names(data, "policies")
        for i, spec in enumerate(policies):
            try:
                api.make_policy(spec, problem)
            except InputError as error:
                raise InputError(f"policies[{i}]: {error}") from error
        limits = {name: real(name, data[name], 0.0) for name in ("gap", "time_limit") if name in data}
        oracles = [(name, options_of(problem, name, limits)) for name in _names(data, "oracles")]
        if not policies and not oracles:
            raise InputError("policies: neither these nor oracles are given; there is nothing to compute")
        return cls(problem, _recipes(problem, data), policies, _seeds(data, "policy_seeds"), oracles)

    @property
    def sorts(self) -> list[Sort]:
        """What is run on every instance."""
        record, found = find(self.problem), []
        kind = record.part("instance")
        for asked, options in self.oracles:
            name = asked.partition(":")[0]
            function = api.list_oracles(self.problem)[name].function
            parts = identity.parts_of_optimum(name, function, options, kind)
            found.append(
                Sort(asked, identity.SOLVED, {"oracle": name, "options": options, "asked": asked}, parts)
            )
        measures = record.part("measures") if record.has("measures") else None
        for spec in self.policies:
            policy = api.make_policy(spec, self.problem)
            for seed in self.policy_seeds if policy.traits.randomised else (0,):
                parts = identity.parts_of_run(policy, seed, kind, measures)
                settings = key_of(settings=parts["settings"])
                told = {"policy": spec, "policy_seed": seed, "settings": settings}
                told["brought"] = identity.brought_by(policy, kind)
                found.append(Sort(spec, identity.PLAYED, told, parts))
        return found


@dataclass(frozen=True)
class Sort:
    """One thing that is run on instances: its name, function, arguments, and what its results depend on."""

    name: str
    function: str
    arguments: Mapping[str, Any]
    parts: Mapping[str, Any]

    def cell(self, made: Cell, digest: str) -> Cell:
        """Return the cell that runs it on what another cell has made."""
        problem = made.arguments["recipe"]["problem"]
        key = identity.key_for(self.function, problem, digest, self.parts)
        who = {**made.arguments, "digest": digest, "source": self.parts["source"][:8], "key": key}
        return Cell(key, f"{self.name} on {made.name}", SWEPT + self.function, {**who, **self.arguments})


def _names(data: Mapping[str, Any], field: str) -> list[str]:
    value = data.get(field, [])
    if not isinstance(value, list):
        raise InputError(f"{field}: {value!r} is not a list of names")
    for i, name in enumerate(value):
        if not isinstance(name, str):
            raise InputError(f"{field}[{i}]: {name!r} is not a name")
        if name in value[:i]:
            raise InputError(f"{field}[{i}]: {name!r} stands twice")
    return value


def _seeds(data: Mapping[str, Any], field: str) -> list[int]:
    """Return seeds: as many as a number says, from 0 on, or those of a list."""
    value = data.get(field, 1)
    if value == []:
        raise InputError(f"{field}: an empty list leaves nothing to run")
    if isinstance(value, list):
        return [whole(f"{field}[{i}]", seed, 0) for i, seed in enumerate(value)]
    return list(range(whole(field, value, 1, MOST_SEEDS)))


def options_of(problem: str, spec: str, limits: Mapping[str, float]) -> dict[str, Any]:
    """Return the options of an oracle that is called ``name`` or ``name:method``, given or by default."""
    name, colon, method = spec.partition(":")
    entry = api.list_oracles(problem)[choose(name, api.list_oracles(problem), "oracles")]
    asked = {"method": choose(method, entry.methods, f"oracles: {name}")} if colon else {}
    return {**_by_default(entry), **limits, **asked}


def _by_default(entry: Any) -> dict[str, Any]:
    """Return what an oracle takes by default as method, gap and time limit, as a plan would name it."""
    found = {name: one.default for name, one in inspect.signature(entry.function).parameters.items()}
    told = {name: found[name] for name in ("gap", "time_limit") if isinstance(found.get(name), int | float)}
    method = {"method": found["method"]} if found.get("method") in entry.methods else {}
    return method | {name: float(value) for name, value in told.items()}


def _recipes(problem: str, data: Mapping[str, Any]) -> list[Recipe]:
    """Return the instances of a block: the files, or every combination of what it lists."""
    if "files" in data:
        for field in ("size", "seeds", "options", "trace"):
            if field in data:
                raise InputError(f"{field}: cannot be combined with files, which are instances already")
        files = _names(data, "files")
        if not files:
            raise InputError("files: an empty list leaves nothing to run")
        return [Recipe(problem, file=str(regular(path_of("files", file)).absolute())) for file in files]
    options = data.get("options", {})
    if not isinstance(options, Mapping):
        raise InputError(f"options: {options!r} is not a table")
    given = {**({"size": data["size"]} if "size" in data else {}), **options}
    trace = data.get("trace")
    function = find(problem).part("generate" if trace is None else "from_trace")
    taken = inspect.signature(function).parameters
    for name in given:
        if name not in taken or name in {"seed", "folder"}:
            choose(name, [one for one in taken if one not in {"seed", "folder"}], "options")
    lists = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    lists["seed"] = _seeds(data, "seeds")
    for name, values in lists.items():
        if not values:
            raise InputError(f"{name}: an empty list leaves no instance")
        try:
            json.dumps(values)
        except TypeError as error:
            raise InputError(f"{name}: {values!r} is not made of numbers and texts") from error
    if trace is not None:
        if not path_of("trace", trace).is_dir():
            raise InputError(f"trace: {trace!r} is not a folder")
        trace = str(Path(trace).absolute())
    combined = itertools.product(*lists.values())
    return [Recipe(problem, dict(zip(lists, values, strict=True)), trace=trace) for values in combined]


@dataclass(frozen=True)
class Plan:
    """What is crossed with what, and what a cell may take."""

    blocks: Sequence[Block]  # the tables ``[[sweep]]`` of the plan
    limits: Limits = dataclasses.field(default_factory=Limits)

    @classmethod
    def read(cls, plan: PlanLike) -> Plan:
        """Return a plan: one that is there, what a TOML file holds, or what is in the file of this path."""
        if isinstance(plan, Plan):
            return plan
        if isinstance(plan, Mapping):
            return cls.from_dict(plan)
        file = path_of("plan", plan)
        text = read_text(file)  # its errors name the file
        try:
            return cls.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{file}: not TOML: {error}") from error
        except InputError as error:
            raise InputError(f"{file}: {error}") from error

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Read a plan: ``sweep``, a list of blocks, and optionally ``limits``; refuse others by name."""
        refuse_unknown(data, {"sweep", "limits"})
        tables = need(data, "sweep")
        if not isinstance(tables, list) or not tables:
            raise InputError(f"sweep: {tables!r} is not a list of at least one block")
        limits = data.get("limits", {})
        refuse_unknown(limits, {"seconds", "memory_mib"}, "limits.")
        seconds = real("limits.seconds", limits["seconds"], 0.001) if "seconds" in limits else None
        memory = whole("limits.memory_mib", limits["memory_mib"], 1) if "memory_mib" in limits else None
        blocks = []
        for i, table in enumerate(tables):
            try:
                blocks.append(Block.from_dict(table))
            except InputError as error:
                raise InputError(f"sweep[{i}]: {error}") from error
        return cls(blocks, Limits(seconds, None if memory is None else memory * 2**20))

    def made(self) -> list[tuple[Block, Cell]]:
        """Return the cells that make instances, each with the block that asks for it."""
        look_again()
        contents = cache(_contents)
        found = []
        for block in self.blocks:
            source, recipes = source_of_instances(block.problem), block.recipes
            found += [(block, one.cell(contents(one.file, one.trace), source)) for one in recipes]
        return found


PlanLike = Plan | Mapping[str, Any] | str | os.PathLike[str]
Made = Sequence[tuple[Block, Cell]]


def _sorts(made: Made) -> Iterator[tuple[Cell, list[Sort]]]:
    """Yield what makes an instance with what is run on it."""
    of_blocks: dict[int, list[Sort]] = {}
    for block, cell in made:
        if id(block) not in of_blocks:
            of_blocks[id(block)] = block.sorts
        yield cell, of_blocks[id(block)]


def _cells(made: Made, answers: Mapping[str, Answer]) -> list[Cell]:
    """Return what plays and solves, for the instances whose digests are known."""
    return [
        sort.cell(cell, answer.result["digest"])
        for cell, sorts in _sorts(made)
        if (answer := answers.get(cell.key)) is not None and answer.state is State.DONE
        for sort in sorts
    ]


# What is run, and what comes out of it.


def default_store() -> Path:
    """Return where results are kept by default: ``CLAIRVOYANT_STORE``, or a file in the user's cache."""
    given = os.environ.get("CLAIRVOYANT_STORE")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(cache, "clairvoyant", "store.sqlite")


def sweep(
    plan: PlanLike,
    *,
    store: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    retry: Collection[str] = (),
    store_size: int | None = None,
    progress: Progress | None = None,
) -> DataFrame:
    """Compute what a plan asks for and is not in the store yet, and return the table of its results.

    Parameters
    ----------
    plan
        The path of a TOML file, which ``docs/sweeps.md`` describes, or what such a file holds.
    store
        The file in which results are kept; by default ``CLAIRVOYANT_STORE``, or one in the user's cache.
    workers
        Processes; by default one per core.
    executor
        What computes, in the place of processes: a :class:`clairvoyant.analysis.engine.cluster.Cluster`, with
        its own limits in the place of those of the plan.
    retry
        "failed", "timed out": what ended so is computed anew.
    store_size
        Bytes that the store may take in the end; what was not used for longest is dropped. Any by default.
    progress
        Called with the fraction done and a text.

    Returns
    -------
    pandas.DataFrame
        As :func:`results` does, in the order of the plan, and with its names.

    Raises
    ------
    InputError
        For a plan that is none, a store that cannot be used, or one that another process writes.
    Interrupted
        After Ctrl-C; it says how much is kept.
    EngineError
        If cells cannot be run at all.
    """
    chosen, again = Plan.read(plan), _again(retry)
    if store_size is not None:
        whole("store_size", store_size, 0)
    with open_store(path_of("store", store or default_store())) as kept:
        if executor is not None:
            rows = _run(chosen, kept, executor, again, progress)
        else:
            with Processes(workers, chosen.limits) as processes:
                rows = _run(chosen, kept, processes, again, progress)
        if store_size is not None:
            kept.shrink(store_size)
    return frame_of(rows)


def _again(retry: Collection[str]) -> set[State]:
    """Return the states that are to be computed anew."""
    names = retry if isinstance(retry, str) else [*retry]
    return {State(one) for one in choose_some("retry", names, [state.value for state in State])}


def _run(
    plan: Plan, store: Store, executor: Executor, retry: Collection[State], progress: Progress | None
) -> list[Row]:
    """Run all cells of a plan; return what became of them."""
    made = plan.made()
    instances = [cell for _, cell in made]
    share = 1.0 / (1.0 + sum(len(sorts) for _, sorts in _sorts(made)) / len(instances))
    tell = progress or (lambda _fraction, _text: None)
    described = run_cells(
        instances,
        store,
        executor,
        retry=retry,
        progress=lambda fraction, text: tell(share * fraction, text),
        believe=believed,
        what="instances",
    )
    cells = _cells(made, described)
    answers = run_cells(
        cells,
        store,
        executor,
        retry=retry,
        progress=lambda fraction, text: tell(share + (1.0 - share) * fraction, text),
        believe=believed,
    )
    store.rename(cells)
    return _rows(instances, cells, described | answers)


def _rows(instances: Iterable[Cell], cells: Iterable[Cell], answers: Mapping[str, Answer]) -> list[Row]:
    """Return what is known of cells, and of instances that could not be made; what is named alike once."""
    found: dict[tuple[str, str], Row] = {}
    for cell in instances:
        if cell.key in answers and answers[cell.key].state is not State.DONE:
            found[cell.key, cell.name] = Row(cell.arguments, answers[cell.key])
    for cell in cells:
        if cell.key in answers:
            found[cell.key, cell.name] = Row(cell.arguments, answers[cell.key])
    return [*found.values()]


@dataclass(frozen=True)
class Forecast:
    """What a sweep would do."""

    cells: int  # how many there are that play and solve
    # done, failed: how many of them are done; how many have failed or timed out.
    done: int
    failed: int
    # instances, unmade: how many instances there are, and how many must be made before it is known what there
    # is of their cells, which count as not done.
    instances: int
    unmade: int
    # How long one worker takes for all that there is nothing of, by the medians of what plays and solves in
    # the same way on the same problem in the store.
    seconds: float
    unknown: int  # how many cells are not in ``seconds``, for the store has none of their kind


def forecast(
    plan: PlanLike, store: str | os.PathLike[str] | None = None, retry: Collection[str] = ()
) -> Forecast:
    """Say what a sweep would do, without doing anything."""
    path = path_of("store", store or default_store())
    rows = {row["key"]: row for row in read_rows(path)} if place_of(path) is not None else {}
    chosen, again = Plan.read(plan), _again(retry)
    known = _answers(rows.values())
    answers = {key: answer for key, answer in known.items() if stands(answer, again, chosen.limits)}
    made = chosen.made()
    cells = {cell.key: cell for cell in _cells(made, answers)}
    took: dict[str, list[float]] = {}
    for row in rows.values():
        if row["state"] == State.DONE.value:
            took.setdefault(_kind(row["arguments"]), []).append(row["seconds"])
    todo = [_kind(cell.arguments) for key, cell in cells.items() if key not in answers]
    unmade = {cell.key: cell for _, cell in made if cell.key not in answers}
    making = [_kind(cell.arguments) for cell in unmade.values()]
    for cell, sorts in _sorts(made):
        if cell.key in unmade:
            todo += [_kind({**cell.arguments, **sort.arguments}) for sort in sorts]
    states = Counter(answers[key].state for key in cells if key in answers)
    return Forecast(
        cells=states.total() + len(todo),
        done=states[State.DONE],
        failed=states.total() - states[State.DONE],
        instances=len({cell.key for _, cell in made}),
        unmade=len(unmade),
        seconds=sum(statistics.median(took[kind]) for kind in todo + making if kind in took),
        unknown=sum(kind not in took for kind in todo),
    )


def _kind(arguments: Mapping[str, Any]) -> str:
    """Return what cells have in common that take about as long."""
    told = [arguments.get(name) for name in ("policy", "oracle", "options")]
    return json.dumps([arguments.get("recipe", {}).get("problem"), *told])


def _answers(rows: Iterable[Mapping[str, Any]]) -> dict[str, Answer]:
    found = {row["key"]: answer_of(row) for row in rows}
    return {key: answer for key, answer in found.items() if believed(key, answer)}


def _known(row: Mapping[str, Any]) -> bool:
    """Return whether the problem of a row is installed; say so if it is not, or if none is named."""
    problem = row["arguments"].get("recipe", {}).get("problem")
    if problem is None:
        log.warning("what is kept as %s does not say of which instance it is; it is left out", row["key"])
        return False
    if problem in problems():
        return True
    log.warning("results of problem %r are left out: it is not installed", problem)
    return False


def _newest(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return what no later row replaces: one of the same instance, policy or oracle, settings and seed.

    What is named in the same way is the same, and what is the same by another name, too; but a file may hold
    another instance by now.
    """
    kept, seen = [], set[str]()
    for row in sorted(rows, key=lambda row: (row["computed"], row["used"]), reverse=True):
        arguments = row["arguments"]
        digest, recipe = arguments.get("digest"), arguments["recipe"]
        instances = (digest, None if digest and recipe.get("file") else recipe)
        whats = (
            (arguments.get("settings"), arguments.get("policy"))
            if "policy" in arguments
            else (_solves(arguments),)
        )
        who = (row["function"], arguments.get("policy_seed"))
        names = {json.dumps([who, *one]) for one in itertools.product(instances, whats) if one[0]}
        if seen.isdisjoint(names):
            kept.append(row)
            seen |= names
    return kept


def _solves(arguments: Mapping[str, Any]) -> list[Any]:
    """Return the oracle of a cell that solves, with all its options; nothing of one that does not."""
    if "oracle" not in arguments:
        return []
    name, known = arguments["oracle"], api.list_oracles(arguments["recipe"]["problem"])
    return [name, {**(_by_default(known[name]) if name in known else {}), **arguments["options"]}]


def results(
    store: str | os.PathLike[str] | None = None, *, plan: PlanLike | None = None, versions: str = "newest"
) -> DataFrame:
    """Return what a store holds of plays and solutions, as a table with one row per cell.

    Columns: ``problem``, ``instance`` (its name), ``digest``, the options of the instance with ``option.``
    before their names; ``policy`` and ``policy_seed``, or ``oracle`` and ``method``; ``state``, ``error``,
    ``attempts``, ``seconds``; of a play ``total``, ``events``, ``infeasible`` and what the problem measures
    (``measure.``); of a solution ``value``, ``bound``, ``gap``, ``why_stopped``. Where the table holds the
    optimum that the policies of a problem are compared with, found on the same version of the instance's own
    source, a play has it as ``optimum_value`` and ``optimum_bound``, and its regret or ratio as an interval:
    ``regret_low``, ``regret_high``, ``ratio_low``, ``ratio_high``. ``minimised`` and ``unit`` say what totals
    are, ``source`` tells versions of the package apart. An instance that could not be made has a row of its
    own.

    Parameters
    ----------
    store
        The file; by default ``CLAIRVOYANT_STORE``, or one in the user's cache.
    plan
        Only what this plan asks for, of the source that is installed now. By default all that there is.
    versions
        Without a plan: "newest", which is one row for each instance, policy with settings and seed, or oracle
        with options, the one that was computed last; or "all".

    Raises
    ------
    InputError
        If there is no store, or it is damaged; for a plan that is none.
    """
    choose(versions, ("newest", "all"), "versions")
    rows = read_rows(path_of("store", store or default_store()))
    if plan is not None:
        answers, made = _answers(rows), Plan.read(plan).made()
        return frame_of(_rows([cell for _, cell in made], _cells(made, answers), answers))
    ours: list[Any] = [row for row in rows if row["function"].startswith(SWEPT) and _known(row)]
    ours = [row for row in ours if believed(row["key"], answer_of(row))]
    ours = sorted(_newest(ours) if versions == "newest" else ours, key=lambda row: (row["name"], row["key"]))
    making = SWEPT + describe.__name__
    wanted = [row for row in ours if row["function"] != making or row["state"] != State.DONE.value]
    return frame_of([Row(row["arguments"], answer_of(row)) for row in wanted])
