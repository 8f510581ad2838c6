"""Policies by name: made from text such as ``fairness:share=all``, and described in a row."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..models.base import InputError, did_you_mean
from ..models.draw import choose


def make(
    text: str,
    known: Mapping[str, type[Any]],
    problem: str | None,
    all_there_are: Callable[[], list[type[Any]]],
) -> Any:
    """Make a policy from ``name`` or ``name:setting=value``; see :func:`clairvoyant.make_policy`.

    ``known`` are the policies to look among, of one ``problem`` if that is given; ``all_there_are`` returns
    those of all problems, to say what an unknown name may have meant.
    """
    if not isinstance(text, str):
        raise InputError(f"policy: {text!r} is not a name")
    name, colon, rest = text.partition(":")
    name = name.removeprefix(f"{problem}/")
    if name not in known:
        why = _elsewhere(name, problem, all_there_are())
        if why is None:
            choose(name, sorted(known), "policy")  # raises
        there = f"there are {', '.join(sorted(known))}{did_you_mean(name, known)}"
        raise InputError(f"policy: {name!r} {why}; {there}")
    return made(known[name], name, rest if colon else None, text)


def made(kind: type[Any], name: str, settings: str | None, text: str) -> Any:
    """Make a policy of a class from settings as text, if any; the whole ``text`` becomes its name."""
    hints = get_type_hints(kind)
    allowed = {f.name: hints[f.name] for f in _settings(kind)}
    chosen: dict[str, Any] = {}
    for part in settings.split(",") if settings is not None else []:
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
    if hasattr(policy, "name") and not isinstance(getattr(kind, "name", None), property):
        object.__setattr__(policy, "name", text)  # one that remembers nothing may be frozen
    return policy


def _settings(kind: type[Any]) -> list[dataclasses.Field[Any]]:
    """Return the settings of a policy: the fields of a dataclass, and none of any other class."""
    return [f for f in dataclasses.fields(kind) if f.init] if dataclasses.is_dataclass(kind) else []


def _elsewhere(name: str, problem: str | None, all_there_are: list[type[Any]]) -> str | None:
    """Say which problems a policy plays that is none of the problem; ``None`` if there is no such policy."""
    others = [policy.traits.problem for policy in all_there_are if policy.name == name]
    if not others:
        return None
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
    """One line of the list of policies."""

    # name, problem, summary: what it is called, what it plays, and the first line of its description.
    name: str
    problem: str
    summary: str
    settings: dict[str, Any]  # its settings with their defaults
    # sees, randomised, guarantee, proven, feasible, source: its traits, see :class:`Traits`.
    sees: tuple[str, ...]
    randomised: bool
    guarantee: str
    proven: str
    feasible: bool
    source: str


def row(name: str, policy: type[Any]) -> PolicyRow:
    """Describe a policy."""
    traits = policy.traits
    return PolicyRow(
        name=name,
        problem=traits.problem,
        summary=(policy.__doc__ or "").strip().partition("\n")[0],
        settings={f.name: f.default for f in _settings(policy)},
        sees=tuple(sorted(traits.sees)),
        randomised=traits.randomised,
        guarantee=traits.guarantee,
        proven=traits.proven,
        feasible=traits.feasible,
        source=traits.source,
    )
