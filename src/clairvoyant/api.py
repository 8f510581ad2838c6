"""The front door: the same handful of functions for every problem."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from . import locating
from .models.base import InputError, Instance, did_you_mean, path_of, read_object
from .models.draw import choose, truth, whole
from .online import named
from .online.base import Policy
from .online.play import Run, check_member
from .online.play import play as play_policy
from .oracles.base import Optimum, WhyStopped
from .problems import PluginError, find, oracles, owner, policies, problems, read_instance

if TYPE_CHECKING:
    from .analysis.claim import Claim, Finding
    from .online.placement.learned.plan import Plan, Progress

__all__ = [
    "__version__",
    "from_table",
    "from_trace",
    "generate",
    "list_oracles",
    "list_policies",
    "load",
    "make_policy",
    "play",
    "solve",
    "train",
]

__version__ = version("clairvoyant")


def load(path: str | os.PathLike[str], problem: str | None = None) -> Instance:
    """Read an instance of any problem; the file says of which.

    Parameters
    ----------
    path
        The file, gzipped or not.
    problem
        The problem it has to be of; any by default.

    Raises
    ------
    InputError
        If the file cannot be read, or is no valid instance, naming the field, the index and the value; if it
        is an instance of another problem.
    """
    wanted = None if problem is None else find(problem).name
    data = read_object(path_of("path", path))
    try:
        if wanted is not None and data.get("problem") != wanted:
            raise InputError(f"problem: {data.get('problem')!r} is not {problem!r}")
        return read_instance(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def generate(problem: str, size: str = "default", seed: int = 0, **options: Any) -> Instance:
    """Return a synthetic instance; equal arguments, equal instances.

    Parameters
    ----------
    problem
        Its name; see :func:`clairvoyant.problems.problems`.
    size
        "tiny", "default" or "large".
    seed
        Decides every draw.
    **options
        What the problem's generator takes; see ``generate`` in ``clairvoyant.models.<problem>.generate``, for
        gangs in ``gang_generate`` beside it.

    Raises
    ------
    InputError
        Naming the argument and its value.
    """
    record = find(problem)
    function = record.part("generate")
    made = function(size, seed, **_known(function, options, f"generate {problem!r}"))
    if not isinstance(made, Instance):
        raise PluginError(f"problem {record.name!r}: generate returned {made!r:.60}, which is no instance")
    return made


def from_trace(problem: str, folder: str | os.PathLike[str], **options: Any) -> Instance:
    """Return an instance made from a folder of traces; its ``origin`` says which columns are real.

    Parameters
    ----------
    problem
        As for :func:`generate`.
    folder
        The folder that holds the traces.
    **options
        What the problem's reader takes; see ``from_trace`` in ``clairvoyant.models.<problem>.trace``, for
        gangs in ``gang_generate`` beside it.

    Raises
    ------
    InputError
        For a missing or damaged file, or an argument, by name and value.
    """
    function = find(problem).part("from_trace")
    return function(path_of("folder", folder), **_known(function, options, f"from_trace {problem!r}"))


def from_table(
    problem: str,
    table: Any,
    *,
    machines: Any = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - what everybody calls it
    **options: Any,
) -> Instance:
    """Return an instance made from tables of one's own, or read from what others have published.

    Its ``origin`` says what was read from where, and what was filled in.

    Parameters
    ----------
    problem
        One whose jobs or requests are rows: "allocation", "selection", "admission" or "placement".
    table
        A row per job or request: a CSV file (``.csv``, ``.csv.gz``) or a Parquet file, a data frame of
        pandas, polars, PyArrow or another library that narwhals knows, or a mapping of columns. With
        ``format``, the file or the folder of traces.
    machines
        The machines, likewise: a row for each, or for each kind with a ``count``.
    columns
        Which column of the table is which, where its name does not say: ``{"submit": "begin", "duration":
        "took:min"}``, with the unit after the colon. A number stands for all rows: ``{"gpus": "1"}``. Columns
        of the machines begin with ``machines.``.
    format
        The name of a published format, which :data:`clairvoyant.models.formats.FORMATS` describes, such as
        "philly" or "swf": its columns are known. Folders are read by :func:`from_trace`.
    **options
        What the problem's reader takes; see ``from_table`` in ``clairvoyant.models.<problem>.table``, and for
        a format ``from_trace`` in ``clairvoyant.models.<problem>.trace`` or ``from_swf`` in
        ``clairvoyant.models.placement.swf``.

    Raises
    ------
    InputError
        Naming the table, the rows and the columns at fault, with the values.
    """
    if not isinstance(columns, Mapping | None):
        raise InputError(f"columns: {columns!r} is not a mapping of fields to columns")
    if machines is not None:
        options = {"machines": machines, **options}
    if format is not None:
        return _of_format(problem, table, format, columns, options)
    readable = [name for name, one in problems().items() if one.has("from_table")]
    if find(problem).name not in readable:
        raise InputError(f"problem: {problem!r} is not read from tables, but {' and '.join(readable)} are")
    function = find(problem).part("from_table")
    options = dict(_known(function, options, f"from_table {problem!r}"))
    for name, one in inspect.signature(function).parameters.items():
        if one.kind is one.KEYWORD_ONLY and one.default is one.empty and name not in options:
            raise InputError(f"{name}: has to be given for {problem!r}")
    return function(table, columns=columns, **options)


def _of_format(problem: str, path: Any, name: str, columns: Any, options: Mapping[str, Any]) -> Instance:
    """Read what others have published; see :func:`from_table`."""
    function, preset = find(problem).reader(name)
    if columns:
        raise InputError(f"columns: those of the format {name!r} are known")
    if preset and not isinstance(options.get("machines"), str | int | None):
        raise InputError(f"machines: a table of machines is not taken with the format {name!r}")
    found = {**preset, **_known(function, options, f"format {name!r}")}
    return function(path_of("table", path), **found)


def solve(instance: Instance, oracle: str | None = None, **options: Any) -> Optimum:
    """Return the best that was possible, with a certified bound.

    Parameters
    ----------
    instance
        Any instance.
    oracle
        One of ``list_oracles(instance.problem)``, by this name or as ``problem/name``; the first of them by
        default.
    **options
        ``gap`` (relative, to stop at), ``time_limit`` (seconds), ``progress`` (a function of the fraction
        done and a text), and what else the oracle takes.

    Raises
    ------
    InputError
        For an unknown oracle or option, by name.
    OracleError
        If a solver's answer does not survive our own check.
    """
    _refuse_other(instance)
    name = oracle_name(instance.problem, oracle)
    entry = list_oracles(instance.problem)[name]
    _known(entry.function, options, f"oracle {name!r}")
    if "method" in options:
        choose(options["method"], entry.methods, "method")
    return entry.named(name, instance, entry.optimum(name, instance, **options))


def oracle_name(problem: str, oracle: str | None = None) -> str:
    """Return the short name of an oracle of a problem, by default that of the first; refuse unknown ones."""
    known = list_oracles(problem)
    if isinstance(oracle, str):
        oracle = oracle.removeprefix(f"{problem}/")
    return next(iter(known)) if oracle is None else choose(oracle, known, "oracle")


def play(
    policy: str | Policy,
    instance: Instance,
    seed: int = 0,
    *,
    keep_decisions: bool = False,
    enforce: bool = True,
    progress: Callable[[int], None] | None = None,
    isolated: bool = False,
) -> Run:
    """Play a policy on an instance and check every decision it makes.

    Parameters
    ----------
    policy
        Any object with the members of :class:`Policy`, or a name with settings such as
        ``"ogasched:step=decay,eta0=25"``; see ``list_policies()``.
    instance, seed, keep_decisions, enforce, progress, isolated
        See :func:`clairvoyant.online.play.play`.

    Raises
    ------
    InputError
        For an unknown name or setting, or a policy of another problem.
    DecisionError
        If a decision is infeasible, naming the constraints it breaks.
    TamperError, PolicyError
        If the policy changes what it may only read; if it fails in a process of its own.
    """
    if isinstance(policy, Instance):
        raise InputError(f"policy: {type(policy).__name__} is an instance, which comes after the policy")
    if isinstance(policy, type):
        raise InputError(f"policy: {policy.__name__} is a class; give an object of it")
    _refuse_other(instance)
    whole("seed", seed, 0)
    player = make_policy(policy, instance.problem) if isinstance(policy, str) else policy
    return play_policy(
        player,
        instance,
        seed,
        keep_decisions=truth("keep_decisions", keep_decisions),
        enforce=truth("enforce", enforce),
        progress=progress,
        isolated=truth("isolated", isolated),
    )


def train(
    plan: str | os.PathLike[str] | Plan,
    folder: str | os.PathLike[str],
    *,
    seed: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """Train the networks of a learned scheduler by a plan, or go on where this has stopped in the folder.

    ``docs/training.md`` describes plans and results. With ``optima`` in the plan, small instances are solved
    first, which may take minutes. A checkpoint is played as
    ``"das:checkpoint=FOLDER/best.npz"``.

    Parameters
    ----------
    plan
        A plan, or the path of its TOML file.
    folder
        Where checkpoints, log and result are.
    seed
        In the place of that of the plan.
    progress
        Called after every iteration.

    Returns
    -------
    dict
        ``plan``, and ``test``: for each test instance the mean completion time ``jct`` (minutes), the mean
        ``fee`` (dollars) and the ``cost`` (seconds) of the best networks, and as ``reference`` the same of
        FIFO-Consolidate.

    Raises
    ------
    InputError
        Without PyTorch, for a plan that is none, or a folder that holds a training by another plan.
    ClairvoyantError
        If numbers are no longer finite; what was saved before remains.
    """
    chosen = read_plan(plan, seed)
    from .online.placement.learned import training

    return training.train(chosen, path_of("folder", folder), progress, nearly_optimal)


def nearly_optimal(instance: Instance, gap: float) -> Any:
    """Return the decision of an optimum that is proved to within a gap, None if the oracle ends without."""
    found = solve(instance, gap=gap)
    return found.decision if found.why_stopped in (WhyStopped.PROVED, WhyStopped.GAP_REACHED) else None


def read_plan(plan: str | os.PathLike[str] | Plan, seed: int | None = None) -> Plan:
    """Return a plan, with another seed if one is given; an InputError, with nothing read, without PyTorch."""
    from .online.placement.learned.plan import Plan

    given = plan if isinstance(plan, Plan) else path_of("plan", plan)
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        message = 'PyTorch is not installed, and training needs it: pip install "clairvoyant[rl]"'
        raise InputError(message) from error
    found = given if isinstance(given, Plan) else Plan.load(given)
    return found if seed is None else replace(found, seed=seed)


def make_policy(text: str, problem: str | None = None) -> Any:
    """Make a policy from ``name`` or ``name:setting=value,setting=value``.

    In the place of the name, ``module:Class`` or ``path/to/file.py:Class`` is a class of one's own; its
    module is imported. The policy's ``name`` becomes the text, so that two settings of one policy can be told
    apart in a table.

    Parameters
    ----------
    text
        Name and settings; a name that several problems use may stand as ``problem/name``. Values are read as
        the type of the setting; ``none`` stands for None where the setting allows it.
    problem
        Look only among the policies of this problem.

    Raises
    ------
    InputError
        For an unknown policy, an unknown or doubled setting, or a value that does not fit, listing what does;
        for a module or a class of one's own that cannot be used, saying where it fails.
    """
    wanted = locating.own(text) if isinstance(text, str) else None
    if wanted is None and isinstance(text, str) and text.endswith(".py"):
        raise InputError(f"policy: {text!r} names no class; write {text}:Class")
    known = {one.name for one in policies().values()}
    if wanted is None or wanted.where in known:
        return named.make(text, policies(problem), problem, lambda: [*policies().values()])
    try:
        policy = named.made(locating.class_of(wanted, sorted(known)), wanted.kind, wanted.settings, text)
    except (Exception, SystemExit) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"policy {wanted.kind}: {locating.fault(error) or error}") from error
    if problem is not None:
        check_member(policy, problem)
    return policy


def audit(*, catalogue: Sequence[Claim] | None = None, **options: Any) -> list[tuple[Claim, Finding]]:
    """Check claims and return their findings, in the order of the claims.

    Claims are chosen from the catalogue, by default all there are, and what holds for any problem for those
    of other distributions that have none. Options are those of :func:`clairvoyant.analysis.audit.run_audit`.
    What is unknown, or a folder that cannot be written, is an InputError before any work. After Ctrl-C an
    Interrupted says how many claims are saved; if a check of ours raises, that is a CheckError, after saving
    what is finished; if one of another distribution does, a ForeignCheckError has all other findings.
    """
    from ._own import catalogue as of_all
    from .analysis.audit import run_audit

    chosen, known = of_all() if catalogue is None else catalogue, problems()
    whose = {
        one.id: owner(one.problem, "claims", one.id) or owner(one.problem)
        for one in chosen
        if one.problem in known
    }
    owners = {name: distribution for name, distribution in whose.items() if distribution is not None}
    return run_audit(catalogue=chosen, read=read_instance, owners=owners, **options)


def list_policies(problem: str | None = None) -> dict[str, Any]:
    """Return the policies of one problem, or of all, by name: classes that can be called with settings."""
    return policies(problem)


def policy_table(problem: str | None = None) -> list[named.PolicyRow]:
    """Return one row per policy, of one problem or of all."""
    return [named.row(name, policy) for name, policy in policies(problem).items()]


def list_oracles(problem: str | None = None) -> dict[str, Any]:
    """Return the oracles of one problem, or of all, by name; one of several problems is ``problem/name``."""
    if problem is not None:
        return oracles(problem)
    found = [(name, p, entry) for p in problems() for name, entry in oracles(p).items()]
    uses = Counter(name for name, _, _ in found)
    return {name if uses[name] == 1 else f"{p}/{name}": entry for name, p, entry in found}


def _known(function: Callable[..., Any], options: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """Return the options if the function takes each of them; refuse the first that it does not."""
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name in options:
        if name not in names and not anything:
            raise InputError(
                f"{name}: {what} takes no such option; it takes {', '.join(names)}{did_you_mean(name, names)}"
            )
    return options


def _refuse_other(instance: Any) -> None:
    if isinstance(instance, (str, os.PathLike)):
        raise InputError(f"instance: {instance!r} is no instance; read a file with clairvoyant.load first")
    if not isinstance(instance, Instance):
        raise InputError(f"instance: {type(instance).__name__} is no instance")
