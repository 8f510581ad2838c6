"""What a run and an optimum are known by, whoever asks for them, and what is told of them in the same words.

A sweep and an audit ask here, so that either takes from a store what the other has left there.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from copyreg import dispatch_table
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePath
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...models.base import InputError, Instance
from ...online.base import Policy
from ...online.play import Run
from ...oracles.base import Optimum
from .cells import hash_of, key_of, source_of, source_of_module

PACKAGE = __name__.partition(".")[0]
ANALYSES = f"{PACKAGE}.analysis."

PLAYED, SOLVED = "played", "solved"  # the kinds of what is run on an instance


def key_for(kind: str, instance: str, digest: str, parts: Mapping[str, Any]) -> str:
    """Return what a result of something done, as :data:`PLAYED`, to an instance of this problem is known by.

    The parts are all else that it depends on; see :func:`parts_of_run` and :func:`parts_of_optimum`.
    """
    return key_of(kind=kind, problem=instance, digest=digest, parts=parts)


def parts_of_run(
    policy: Policy, seed: int, instance: type[Instance], measures: Callable[..., Any] | None = None
) -> dict[str, Any]:
    """Return what a run depends on besides its instance, and what is measured of it besides its total.

    The seed of a policy that does not draw at random is 0.
    """
    return {
        "settings": settings_of(policy),
        "policy_seed": seed if policy.traits.randomised else 0,
        "source": source_for(instance.problem, told_of_run, ("models", "online"), policy, instance),
        "measures": "" if measures is None else key_of(source=_module_text(measures.__module__)),
    }


def parts_of_optimum(
    oracle: str, function: Callable[..., Optimum], options: Mapping[str, Any], instance: type[Instance]
) -> dict[str, Any]:
    """Return what an optimum depends on besides its instance; options that are left out have defaults."""
    taken = inspect.signature(function).parameters.values()
    defaults = {p.name: _told(p.default) for p in taken if p.kind is p.KEYWORD_ONLY and p.name != "progress"}
    return {
        "oracle": oracle,
        "options": defaults | dict(options),
        "source": source_for(instance.problem, told_of_optimum, ("models", "oracles"), function, instance),
    }


def told_of_run(run: Run[Any], measured: Mapping[str, float]) -> dict[str, Any]:
    """Return total, how many decisions there were and were infeasible, seconds, and what is measured."""
    return {
        "total": run.total,
        "events": len(run.rewards),
        "infeasible": run.infeasible,
        "seconds": run.seconds,
        "measures": dict(measured),
    }


def told_of_optimum(optimum: Optimum[Any]) -> dict[str, Any]:
    """Return the facts of an optimum, and what its bound may be off by."""
    return optimum.facts | {"scale": optimum.scale}


def settings_of(policy: Any) -> list[Any]:
    """Return the class of a policy and all its settings; of a file that one names, what it holds.

    The settings of a policy that is no dataclass are all that its object holds. An InputError names what
    cannot be told apart in another process.
    """
    found: list[Any] = [type(policy).__module__, type(policy).__qualname__]
    names = sorted(getattr(policy, "__dict__", {}))
    if dataclasses.is_dataclass(policy):
        names = [field.name for field in dataclasses.fields(policy) if field.init]
    for name in names:
        value = getattr(policy, name)
        held = Path(value) if isinstance(value, str | os.PathLike) else None
        if held is not None and held.is_file():
            value = hash_of([held], held.parent)
        try:
            found.append([name, _told(value)])
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            raise InputError(
                f"policy: {policy.name}: {name}: {type(value).__name__} cannot be told apart in another "
                f"process, so that results have no key ({error}); make it in start"
            ) from error
    return found


WRITTEN: tuple[type, ...] = (
    *(type, bytes, complex, range, slice, enum.Enum, PurePath, np.generic, np.ufunc, np.dtype),
    *(Decimal, Fraction, date, time, timedelta, type(...), type(NotImplemented)),
)
"""Of what is of these kinds, how it is written tells all."""


def _told(value: Any, within: tuple[int, ...] = ()) -> Any:
    """Return what tells a value in any process: all of an array, what collections and other objects hold.

    What an object holds is what would be pickled of it; a TypeError says that there is no such thing.
    """
    if type(value) is np.ndarray and not value.dtype.hasobject:
        return [value.dtype.str, list(value.shape), sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if isinstance(value, int | float | str | None):
        return value
    if isinstance(value, WRITTEN):
        return repr(value)
    kind, inside = type(value), (*within, id(value))
    name = [kind.__module__, kind.__qualname__]
    if id(value) in within:
        return name
    if isinstance(value, set | frozenset):
        return [*name, sorted(json.dumps(_told(one, inside)) for one in value)]
    if isinstance(value, list | tuple):
        return [*name, *(_told(one, inside) for one in value)]
    if isinstance(value, dict):
        return [*name, *([_told(one, inside) for one in pair] for pair in value.items())]
    if isinstance(value, FunctionType):  # what it does is source
        held = [
            [cell.cell_contents for cell in value.__closure__ or ()],
            value.__defaults__,
            value.__kwdefaults__,
        ]
        return [value.__module__, value.__qualname__, _told(held, inside)]
    compiled = getattr(value, "py_func", None)  # what numba has made of it
    if isinstance(compiled, FunctionType):
        return [*name, _told(compiled, inside)]
    if isinstance(value, ModuleType):
        return [*name, value.__name__]
    if kind is np.ndarray:
        return [*name, list(value.shape), _told(value.tolist(), inside)]
    if kind.__module__ == "torch.storage":  # PyTorch pickles its address, too
        return [*name, _told(getattr(value, "_untyped_storage", value).tolist(), inside)]
    parts = dispatch_table[kind](value) if kind in dispatch_table else value.__reduce_ex__(4)
    if isinstance(parts, str):  # it lies in a module
        return [*name, value.__module__, parts]
    made, arguments, *rest = parts
    held = [[*one] if isinstance(one, Iterator) else one for one in rest]
    return [*name, _told([made, arguments, *held], inside)]


def source_for(problem: str, function: Callable[..., Any], layers: tuple[str, ...], *others: Any) -> str:
    """Return a hash of the source that matters to results for a problem.

    That is the function that makes them, all in these layers that is not of another problem, and what others
    have brought: the packages that one of ``others`` comes from.
    """
    return key_of(
        source=source_of(layers, (problem.partition("-")[0],)),
        function=source_of_function(function),
        foreign=[*brought_by(*others).values()],
    )


def brought_by(*others: Any) -> dict[str, str]:
    """Return hashes of the source that others have brought, by their modules: none of the package's own."""
    modules = {str(getattr(one, "func", one).__module__) for one in others}
    foreign = sorted(module for module in modules if module.partition(".")[0] != PACKAGE)
    return {module: source_of_module(module) for module in foreign}


@cache
def _module_text(module: str) -> str:
    return inspect.getsource(sys.modules[module])


@cache
def source_of_function(function: Callable[..., Any]) -> str:
    """Return a hash of a function, and of the functions, classes and constants of analyses that it names."""
    names: dict[str, str] = {}
    waiting: list[Any] = [function]
    while waiting:
        one = waiting.pop()
        name = f"{one.__module__}:{one.__qualname__}"
        if name in names:
            continue
        names[name] = inspect.getsource(one)
        if not isinstance(one, FunctionType):
            continue
        for used in sorted(_names_in(one.__code__)):
            value = one.__globals__.get(used)
            if isinstance(value, bool | int | float | str | tuple):
                names[f"{one.__module__}:{used}"] = repr(value)
            elif isinstance(value, type | FunctionType) and value.__module__.startswith(ANALYSES):
                waiting.append(value)
    return key_of(names=names)


def _names_in(code: CodeType) -> Iterator[str]:
    """Yield the names that code, and functions within it, look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
