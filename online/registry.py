"""The policies there are, and how to make one from text such as ``fairness:share=all``."""

from __future__ import annotations

import dataclasses
import types
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..models.base import InputError, did_you_mean


def _registered() -> list[type[Any]]:
    """Return every policy of every room; the rooms load here, not with the layer."""
    from . import admission, allocation, placement, selection

    rooms = (allocation, selection, admission, placement)
    return [policy for room in rooms for policy in room.POLICIES.values()]


def policies(problem: str | None = None) -> dict[str, type[Any]]:
    """Return the policies of one problem, or of all, by name.

    Without a problem, a name that several problems use stands as ``problem/name``.

    Raises
    ------
    InputError
        If there is no policy for the problem.
    """
    found = _registered()
    if problem is None:
        uses = Counter(policy.name for policy in found)
        return {p.name if uses[p.name] == 1 else f"{p.traits.problem}/{p.name}": p for p in found}
    chosen = {policy.name: policy for policy in found if policy.traits.problem == problem}
    if not chosen:
        known = sorted({policy.traits.problem for policy in found})
        raise InputError(
            f"problem: {problem!r} has no policies; there are some for {', '.join(known)}"
            f"{did_you_mean(problem, known)}"
        )
    return chosen


def make_policy(text: str, problem: str | None = None) -> Any:
    """Make a policy from ``name`` or ``name:setting=value,setting=value``.

    The policy's ``name`` becomes the text, so that two settings of one policy can be told apart in a table.

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
        For an unknown policy, an unknown or doubled setting, or a value that does not fit, listing what does.
    """
    if not isinstance(text, str):
        raise InputError(f"policy: {text!r} is not a name")
    name, colon, rest = text.partition(":")
    name = name.removeprefix(f"{problem}/")
    known = policies(problem)
    if name not in known:
        there = f"there are {', '.join(sorted(known))}{did_you_mean(name, known)}"
        raise InputError(f"policy: {name!r} {_why_not(name, problem)}; {there}")
    kind = known[name]
    hints = get_type_hints(kind)
    allowed = {f.name: hints[f.name] for f in dataclasses.fields(kind) if f.init}
    chosen: dict[str, Any] = {}
    for part in rest.split(",") if colon else []:
        key, equals, value = part.partition("=")
        if key not in allowed:
            valid = ", ".join(allowed) or "none"
            raise InputError(
                f"policy {name}: setting {key!r} is unknown; its settings are: "
                f"{valid}{did_you_mean(key, allowed)}"
            )
        if not equals:
            raise InputError(f"policy {name}: setting {key!r} has no value; write {key}=value")
        if key in chosen:
            raise InputError(f"policy {name}: setting {key!r} is given twice")
        chosen[key] = _read(value, allowed[key], f"policy {name}: {key}")
    try:
        policy = kind(**chosen)
    except InputError as error:
        raise InputError(f"policy {name}: {error}") from error
    policy.name = text
    return policy


def _why_not(name: str, problem: str | None) -> str:
    """Say why a name is that of no policy of the problem."""
    others = [policy.traits.problem for policy in _registered() if policy.name == name]
    if not others:
        return "is unknown"
    if problem is not None:
        return f"plays {others[0]!r}, not {problem!r}"
    return f"is {' or '.join(f'{p}/{name}' for p in others)}"


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    str: (str, "text"),
    Any: (str, "text"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: ({"true": True, "false": False}.__getitem__, "true or false"),
}


def _read(value: str, hint: Any, where: str) -> Any:
    """Turn text into a value of the annotated type."""
    if get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint):
        if value == "none":
            return None
        hint = next(arg for arg in get_args(hint) if arg is not type(None))
    if hint not in _READERS:
        raise InputError(f"{where}: cannot be given as text; make the policy in Python")
    reader, expected = _READERS[hint]
    try:
        return reader(value)
    except (ValueError, KeyError) as error:
        raise InputError(f"{where}: {value!r} is not {expected}") from error


@dataclass(frozen=True)
class PolicyRow:
    """One line of the list of policies.

    Attributes
    ----------
    name, problem, summary
        What it is called, what it plays, and the first line of its description.
    settings
        Its settings with their defaults.
    sees, randomised, guarantee, proven, feasible
        Its traits, see :class:`Traits`.
    """

    name: str
    problem: str
    summary: str
    settings: dict[str, Any]
    sees: tuple[str, ...]
    randomised: bool
    guarantee: str
    proven: str
    feasible: bool


def policy_table(problem: str | None = None) -> list[PolicyRow]:
    """Return one row per policy, of one problem or of all."""
    return [_row(name, policy) for name, policy in policies(problem).items()]


def _row(name: str, policy: type[Any]) -> PolicyRow:
    traits = policy.traits
    return PolicyRow(
        name=name,
        problem=traits.problem,
        summary=(policy.__doc__ or "").strip().partition("\n")[0],
        settings={f.name: f.default for f in dataclasses.fields(policy) if f.init},
        sees=tuple(sorted(traits.sees)),
        randomised=traits.randomised,
        guarantee=traits.guarantee,
        proven=traits.proven,
        feasible=traits.feasible,
    )
