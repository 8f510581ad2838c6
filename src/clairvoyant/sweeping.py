"""Sweeps: policies and oracles on many instances, as cells that the engine runs and whose results are kept.

A plan crosses what it lists; ``docs/sweeps.md`` describes it. What a cell is known by is the digest of its
instance, its policy or oracle with all settings, its seed and the source that matters to it: a plan that is
extended computes only what is new, and two plans share what they have in common.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
import statistics
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import api
from .analysis.engine.cells import (
    Answer,
    Cell,
    State,
    hash_of,
    key_of,
    source_of,
    source_of_module,
)
from .analysis.engine.engine import Executor, Progress, run_cells
from .analysis.engine.processes import Limits, Processes
from .analysis.engine.store import Store, open_store, read_rows
from .models.base import InputError, Instance, need, path_of, read_bytes, read_text, refuse_unknown
from .models.draw import real, whole
from .oracles.base import Optimum, WhyStopped
from .problems import find, rival

if TYPE_CHECKING:
    from pandas import DataFrame

HERE = __name__

INSTANCES_AT_HAND = 4
"""How many instances a worker keeps, for the cells to come."""


@dataclass(frozen=True)
class Recipe:
    """How an instance is made: what a worker is sent in place of it.

    Attributes
    ----------
    problem
        Its problem.
    file, trace
        The file it is in, or the folder of traces it is made from; None for both if it is generated.
    options
        What the generator or the reader of traces takes, ``size`` and ``seed`` included.
    """

    problem: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
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
    def key(self) -> str:
        """What identifies the instance before it is made."""
        contents = ""
        if self.file is not None:
            contents = key_of(bytes=read_bytes(path_of("file", self.file)).hex())
        elif self.trace is not None:
            files = [path for path in sorted(path_of("trace", self.trace).rglob("*")) if path.is_file()]
            contents = key_of(
                files=[[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in files]
            )
        parts = dataclasses.asdict(replace(self, file=None, trace=None))
        return key_of(
            kind="instance", recipe=parts, contents=contents, source=_source(self.problem, "models")
        )

    @property
    def name(self) -> str:
        """What people call it."""
        if self.file is not None:
            return Path(self.file).name
        options = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.problem}{f' of {self.trace}' if self.trace else ''} {options}"


def _source(problem: str, *layers: str, others: Iterable[Any] = ()) -> str:
    """Return a hash of the source that matters: these layers, the problem's rooms, what others brought."""
    room = find(problem).room
    modules = {getattr(one, "func", one).__module__ for one in (*others, find(problem).part("instance"))}
    foreign = sorted(module for module in modules if module.partition(".")[0] != __package__)
    return key_of(source=source_of(layers, (room,)), foreign=[source_of_module(module) for module in foreign])


# What a worker does.


@lru_cache(INSTANCES_AT_HAND)
def _made(recipe: str, digest: str | None) -> Instance:
    instance = Recipe(**json.loads(recipe)).make()
    if digest is not None and instance.digest() != digest:
        raise InputError(f"instance: digest {instance.digest()} is not the expected {digest}")
    return instance


def _instance(arguments: Mapping[str, Any]) -> Instance:
    return _made(json.dumps(arguments["recipe"]), arguments.get("digest"))


def describe(arguments: Mapping[str, Any], _report: Callable[[float], None]) -> dict[str, Any]:
    """Make an instance; return its digest and its facts."""
    instance = _instance(arguments)
    return {"digest": instance.digest(), "facts": instance.facts()}


def played(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Play a policy; return its total, how many decisions were infeasible, seconds, and what is measured."""
    instance = _instance(arguments)
    problem = find(instance.problem)
    policy = api.make_policy(arguments["policy"], instance.problem)
    events = getattr(instance.setting, "slots", getattr(instance.setting, "horizon", None))
    measures = problem.part("measures") if problem.has("measures") else None
    run = api.play(
        policy,
        instance,
        arguments["seed"],
        keep_decisions=measures is not None,
        enforce=policy.traits.feasible,
        progress=lambda event: report(event / events if events else 0.0),
    )
    return {
        "total": run.total,
        "events": len(run.rewards),
        "infeasible": run.infeasible,
        "seconds": run.seconds,
        "measures": {} if measures is None else measures(instance, run.decisions),
    }


def solved(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Solve an instance; return value, bound and gap, why and how it stopped, and seconds."""
    instance = _instance(arguments)
    optimum = api.solve(
        instance, arguments["oracle"], progress=lambda part, _note: report(part), **arguments["options"]
    )
    return {
        "value": optimum.value,
        "bound": optimum.bound,
        "gap": optimum.gap,
        "why_stopped": optimum.why_stopped.value,
        "method": optimum.method,
        "seconds": optimum.seconds,
        "scale": optimum.scale,
        "minimised": optimum.minimised,
    }


# What a plan asks for.

BLOCK = {
    "problem",
    "size",
    "seeds",
    "options",
    "trace",
    "files",
    "policies",
    "policy_seeds",
    "oracles",
    "gap",
    "time_limit",
}


@dataclass(frozen=True)
class Plan:
    """What is crossed with what: blocks of instances, policies and oracles, and what a cell may take.

    Attributes
    ----------
    blocks
        The tables ``[[sweep]]`` of the plan, checked.
    limits
        What a cell may take.
    """

    blocks: Sequence[Mapping[str, Any]]
    limits: Limits = dataclasses.field(default_factory=Limits)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a plan from a TOML file.

        Raises
        ------
        InputError
            If the file cannot be read, or is no plan, naming the field and the value.
        """
        file = path_of("plan", path)
        try:
            data = tomllib.loads(read_text(file))
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{file}: not TOML: {error}") from error
        try:
            return cls.from_dict(data)
        except InputError as error:
            raise InputError(f"{file}: {error}") from error

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Read a plan: ``sweep``, a list of blocks, and optionally ``limits``.

        Raises
        ------
        InputError
            Naming the field and the value at fault.
        """
        refuse_unknown(data, {"sweep", "limits"})
        blocks = need(data, "sweep")
        if not isinstance(blocks, list) or not blocks:
            raise InputError(f"sweep: {blocks!r} is not a list of at least one block")
        limits = data.get("limits", {})
        refuse_unknown(limits, {"seconds", "memory_mib"}, "limits.")
        seconds = real("limits.seconds", limits["seconds"], 0.001) if "seconds" in limits else None
        memory = whole("limits.memory_mib", limits["memory_mib"], 1) if "memory_mib" in limits else None
        checked = [_block(block, f"sweep[{i}].") for i, block in enumerate(blocks)]
        return cls(checked, Limits(seconds, None if memory is None else memory * 2**20))

    def recipes(self) -> Iterator[tuple[Mapping[str, Any], Recipe]]:
        """Yield every instance with the block that asks for it."""
        for block in self.blocks:
            for recipe in _recipes(block):
                yield block, recipe


def _block(block: Any, at: str) -> dict[str, Any]:
    """Return a block with its defaults."""
    refuse_unknown(block, BLOCK, at)
    found = {
        "options": {},
        "policies": [],
        "oracles": [],
        "policy_seeds": 1,
        "seeds": 1,
        "files": None,
    } | block
    try:
        problem = find(need(block, "problem")).name
        for name in ("policies", "oracles"):
            if not isinstance(found[name], list):
                raise InputError(f"{name}: {found[name]!r} is not a list of names")
        for spec in found["policies"]:
            api.make_policy(spec, problem)
        for name in found["oracles"]:
            api.oracle_name(problem, str(name).partition(":")[0])
        if not found["policies"] and not found["oracles"]:
            raise InputError("policies: neither these nor oracles are given; there is nothing to compute")
        if not isinstance(found["options"], Mapping):
            raise InputError(f"options: {found['options']!r} is not a table")
        for name in ("seeds", "policy_seeds"):
            found[name] = _seeds(name, found[name])
        if found["files"] is not None and (found["options"] or {"size", "trace"} & block.keys()):
            raise InputError("files: with them go no size, options or trace")
    except InputError as error:
        raise InputError(f"{at}{error}") from error
    return found


def _seeds(name: str, value: Any) -> list[int]:
    """Return seeds: as many as a number says, from 0 on, or those of a list."""
    if isinstance(value, list):
        return [whole(f"{name}[{i}]", seed, 0) for i, seed in enumerate(value)]
    return list(range(whole(name, value, 1)))


def _recipes(block: Mapping[str, Any]) -> Iterator[Recipe]:
    """Yield the instances of a block: every combination of what it lists."""
    if block["files"] is not None:
        yield from (Recipe(block["problem"], file=str(Path(file).absolute())) for file in block["files"])
        return
    lists = {name: value if isinstance(value, list) else [value] for name, value in block["options"].items()}
    if "size" in block:
        lists = {"size": block["size"] if isinstance(block["size"], list) else [block["size"]]} | lists
    lists["seed"] = block["seeds"]
    trace = None if "trace" not in block else str(Path(block["trace"]).absolute())
    for values in itertools.product(*lists.values()):
        yield Recipe(block["problem"], dict(zip(lists, values, strict=True)), trace=trace)


def instance_cells(plan: Plan) -> dict[str, Cell]:
    """Return the cells that make the plan's instances and find their digests, by the key of the recipe."""
    found: dict[str, Cell] = {}
    for _, recipe in plan.recipes():
        arguments = {"recipe": dataclasses.asdict(recipe)}
        found.setdefault(recipe.key, Cell(recipe.key, recipe.name, f"{HERE}:describe", arguments))
    return found


def run_cells_of(plan: Plan, described: Mapping[str, Answer]) -> list[Cell]:
    """Return the cells that play and solve, for the instances whose digests are known."""
    found: list[Cell] = []
    for block, recipe in plan.recipes():
        answer = described.get(recipe.key)
        if answer is not None and answer.state is State.DONE:
            found += _cells(block, recipe, answer.result["digest"])
    return found


def _cells(block: Mapping[str, Any], recipe: Recipe, digest: str) -> Iterator[Cell]:
    problem, who = recipe.problem, {"recipe": dataclasses.asdict(recipe), "digest": digest}
    for oracle in block["oracles"]:
        name, _, method = str(oracle).partition(":")
        options = {key: block[key] for key in ("gap", "time_limit") if key in block}
        options |= {"method": method} if method else {}
        entry = api.list_oracles(problem)[name]
        parts = {"oracle": name, "options": options}
        source = _source(problem, "models", "oracles", others=[entry.function])
        key = key_of(kind="solve", problem=problem, digest=digest, source=source, **parts)
        yield Cell(key, f"{oracle} on {recipe.name}", f"{HERE}:solved", who | parts)
    for spec in block["policies"]:
        policy = api.make_policy(spec, problem)
        source = _source(problem, "models", "online", others=[policy])
        settings = _settings(policy)
        for seed in block["policy_seeds"] if policy.traits.randomised else block["policy_seeds"][:1]:
            key = key_of(
                kind="play", problem=problem, digest=digest, source=source, seed=seed, settings=settings
            )
            arguments = who | {"policy": spec, "seed": seed}
            yield Cell(key, f"{spec} on {recipe.name}", f"{HERE}:played", arguments)


def _settings(policy: Any) -> list[Any]:
    """Return the class of a policy and all its settings; of a file that one names, what it holds."""
    found: list[Any] = [type(policy).__module__, type(policy).__qualname__]
    for field in dataclasses.fields(policy) if dataclasses.is_dataclass(policy) else ():
        value = getattr(policy, field.name) if field.init else None
        held = Path(value) if isinstance(value, str | os.PathLike) else None
        if held is not None and held.is_file():
            value = hash_of([held], held.parent)
        found.append(
            [field.name, value if isinstance(value, int | float | str | bool | None) else repr(value)]
        )
    return found


# What is run, and what comes out of it.


def default_store() -> Path:
    """Return where results are kept by default: ``CLAIRVOYANT_STORE``, or a file in the user's cache."""
    given = os.environ.get("CLAIRVOYANT_STORE")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(cache, "clairvoyant", "store.sqlite")


def sweep(
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    retry: Collection[str] = (),
    progress: Progress | None = None,
) -> DataFrame:
    """Compute what a plan asks for and is not in the store yet, and return the table of its results.

    Parameters
    ----------
    plan
        A plan, what its TOML file holds, or the path of that file; ``docs/sweeps.md`` describes it.
    store
        The file in which results are kept; by default ``CLAIRVOYANT_STORE``, or one in the user's cache.
    workers
        Processes; by default one per core.
    executor
        What computes, in the place of processes: a :class:`clairvoyant.analysis.engine.cluster.Cluster`.
    retry
        "failed", "timed out": what ended so is computed anew.
    progress
        Called with the fraction done and a text.

    Returns
    -------
    pandas.DataFrame
        As :func:`results` does, of the cells of the plan.

    Raises
    ------
    InputError
        For a plan that is none, a store that cannot be used, or one that another process writes.
    Interrupted
        After Ctrl-C; it says how much is kept.
    """
    chosen = read_plan(plan)
    again = {State(one) for one in retry}
    with open_store(path_of("store", store or default_store())) as kept:
        if executor is not None:
            return _table(kept, _run(chosen, kept, executor, again, progress))
        with Processes(workers, chosen.limits) as processes:
            return _table(kept, _run(chosen, kept, processes, again, progress))


def read_plan(plan: Plan | Mapping[str, Any] | str | os.PathLike[str]) -> Plan:
    """Return a plan, however it is given."""
    if isinstance(plan, Plan):
        return plan
    return Plan.from_dict(plan) if isinstance(plan, Mapping) else Plan.load(plan)


def _run(
    plan: Plan, store: Store, executor: Executor, retry: Collection[State], progress: Progress | None
) -> set[str]:
    """Run all cells of a plan; return their keys."""
    instances = instance_cells(plan)
    described = run_cells([*instances.values()], store, executor, retry=retry, progress=progress)
    cells = run_cells_of(plan, described)
    return {*described, *run_cells(cells, store, executor, retry=retry, progress=progress)}


@dataclass(frozen=True)
class Forecast:
    """What a sweep would do.

    Attributes
    ----------
    cells, known, failed
        How many cells there are that play and solve, how many of them are done, and how many have failed or
        timed out; without those of instances whose digests are not known yet, which are ``unmade``.
    unmade
        How many instances must be made before it is known what there is of their cells.
    seconds
        How long all that is not done takes one worker, by the median of cells of the same policy or oracle
        and problem in the store; None if there are cells of which none was measured.
    """

    cells: int
    known: int
    failed: int
    unmade: int
    seconds: float | None


def forecast(plan: Plan | Mapping[str, Any] | str | os.PathLike[str], store: Path | None = None) -> Forecast:
    """Say what a sweep would do, without doing anything.

    Raises
    ------
    InputError
        For a plan that is none, or a store that cannot be read.
    """
    chosen, path = read_plan(plan), store or default_store()
    rows = {row["key"]: row for row in read_rows(path)} if path.exists() else {}
    instances = instance_cells(chosen)
    answers = {
        key: Answer(State(rows[key]["state"]), rows[key]["result"]) for key in instances if key in rows
    }
    cells = {cell.key: cell for cell in run_cells_of(chosen, answers)}
    unmade = [recipe for _, recipe in chosen.recipes() if recipe.key not in answers]
    per_recipe = Counter(recipe.key for recipe in unmade)
    todo = [cell for key, cell in cells.items() if key not in rows]
    took: dict[Any, list[float]] = {}
    for row in rows.values():
        if row["state"] == State.DONE.value:
            took.setdefault(_sort(row["arguments"]), []).append(row["seconds"])
    known = all(_sort(cell.arguments) in took for cell in todo) and not unmade
    return Forecast(
        len(cells),
        sum(rows[key]["state"] == State.DONE.value for key in cells if key in rows),
        sum(rows[key]["state"] != State.DONE.value for key in cells if key in rows),
        len(per_recipe),
        sum(statistics.median(took[_sort(cell.arguments)]) for cell in todo) if known else None,
    )


def _sort(arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what sort of cell it is: its problem, and policy or oracle."""
    problem = arguments.get("recipe", {}).get("problem")
    return problem, arguments.get("policy"), arguments.get("oracle"), json.dumps(arguments.get("options"))


def results(store: str | os.PathLike[str] | None = None) -> DataFrame:
    """Return what a store holds of plays and solutions, as a table with one row per cell.

    Columns: ``problem``, ``instance`` (what it was made of), ``digest``, the options of the instance with
    ``option.`` before their names, ``policy`` or ``oracle`` with ``policy_seed``, ``method``, then
    ``state``, ``error``, ``attempts``; of a play ``total``, ``infeasible``, ``seconds`` and what the problem
    measures (``measure.``); of a solution ``value``, ``bound``, ``gap``, ``why_stopped``, ``seconds``. Where
    the store holds the optimum that the policies of a problem are compared with, a play has it as
    ``optimum_value`` and ``optimum_bound``, and ``regret`` or ``ratio`` as an interval: ``_low``, ``_high``.

    Raises
    ------
    InputError
        If there is no store, or it is damaged.
    """
    return _frame(read_rows(path_of("store", store or default_store())))


def _table(store: Store, keys: Collection[str]) -> DataFrame:
    return _frame([row for row in store.rows() if row["key"] in keys])


def _frame(rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    import pandas as pd

    runs = [row for row in rows if row["function"] in (f"{HERE}:played", f"{HERE}:solved")]
    optima: dict[str, Mapping[str, Any]] = {}
    for row in runs:
        arguments, result = row["arguments"], row["result"]
        problem = arguments["recipe"]["problem"]
        if "oracle" in arguments and result is not None and arguments["oracle"] == rival(problem):
            best = optima.get(arguments["digest"])
            optima[arguments["digest"]] = result if best is None else _tighter(best, result)
    return pd.DataFrame([_tidy(row, optima) for row in runs])


def _tighter(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the optimum with the smaller gap."""
    gaps = [math.inf if each["gap"] is None else each["gap"] for each in (one, other)]
    return one if gaps[0] <= gaps[1] else other


def _tidy(row: Mapping[str, Any], optima: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row of the table of results."""
    arguments, result = row["arguments"], row["result"] or {}
    recipe = Recipe(**arguments["recipe"])
    found = {"problem": recipe.problem, "instance": recipe.name, "digest": arguments["digest"]}
    found |= {f"option.{name}": value for name, value in recipe.options.items()}
    found |= {name: arguments[name] for name in ("policy", "oracle") if name in arguments}
    if "policy" in arguments:
        found["policy_seed"] = arguments["seed"]
    found |= {name: row[name] for name in ("state", "error", "attempts")}
    measures = result.get("measures", {})
    plain = {name: value for name, value in result.items() if name not in {"measures", "scale", "minimised"}}
    found |= plain | {f"measure.{name}": value for name, value in measures.items()}
    best = optima.get(arguments["digest"])
    if "total" in result and best is not None:
        found |= compared(recipe.problem, result["total"], best)
    return found


def compared(problem: str, total: float, best: Mapping[str, Any]) -> dict[str, Any]:
    """Return the optimum beside a total, and the interval of its regret or ratio."""
    optimum: Optimum = Optimum(
        best["value"],
        best["bound"],
        None,
        WhyStopped(best["why_stopped"]),
        best["method"],
        best["seconds"],
        minimised=best["minimised"],
        scale=best["scale"],
    )
    found = {"optimum_value": optimum.value, "optimum_bound": optimum.bound}
    record = find(problem)
    if record.has("ratio"):
        low, high = record.part("ratio")(optimum, total)
        return found | {"ratio_low": low, "ratio_high": high}
    sign = -1.0 if optimum.minimised else 1.0
    bound = math.inf * sign if optimum.bound is None else optimum.bound
    return found | {"regret_low": sign * (optimum.value - total), "regret_high": sign * (bound - total)}
