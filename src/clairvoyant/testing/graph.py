"""The graph of objects reachable from an object: by a policy, and which of them it has changed."""

from __future__ import annotations

import dis
import functools
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np

_VALUES = (str, bytes, int, float, complex, type(None), np.generic, np.dtype)


def reachable(root: Any, name: str, home: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, object) for the root and everything that can be reached from it, nearest first.

    Followed are attributes, items, ``ndarray.base``, closures, default arguments, bound objects, weak
    references and local variables of generators.

    Parameters
    ----------
    root, name
        Where to begin, and what to call it in paths.
    home
        Top-level package whose classes and functions are followed too: attributes of classes, and the global
        variables that functions use. Those of other packages are not.
    """
    queue = deque([(name, root)])
    seen: dict[int, Any] = {}  # holds the objects, so that no identity is used twice
    while queue:
        path, obj = queue.popleft()
        if id(obj) not in seen and not isinstance(obj, (*_VALUES, ModuleType)):
            seen[id(obj)] = obj
            yield path, obj
            queue.extend(_children(path, obj, home))


def _children(path: str, obj: Any, home: str) -> Iterator[tuple[str, Any]]:
    """Yield what one step leads to."""
    match obj:
        case np.ndarray():
            yield f"{path}.base", obj.base
            if obj.dtype == object:
                yield from ((f"{path}[{i}]", value) for i, value in enumerate(obj.flat))
        case memoryview():
            yield f"{path}.obj", obj.obj
        case Mapping():
            yield from ((f"{path}[{key!r}]", value) for key, value in obj.items())
            yield from ((f"{path} key", key) for key in obj)
        case list() | tuple() | set() | frozenset() | deque():
            yield from ((f"{path}[{i}]", value) for i, value in enumerate(obj))
        case MethodType():
            yield f"{path}.__self__", obj.__self__
            yield f"{path}.__func__", obj.__func__
        case FunctionType():
            yield from _function(path, obj, home)
        case functools.partial():
            yield from ((f"{path}.{key}", getattr(obj, key)) for key in ("func", "args", "keywords"))
        case property():
            yield f"{path}.fget", obj.fget
        case staticmethod() | classmethod():
            yield f"{path}.__func__", obj.__func__
        case GeneratorType():
            yield f"{path} locals", dict(obj.gi_frame.f_locals) if obj.gi_frame else None
        case weakref.ref():
            yield f"{path}()", obj()
        case type():
            if _root(obj) == home:
                yield from ((f"{path}.{key}", value) for key, value in vars(obj).items())
                yield from ((f"{path} base class", base) for base in obj.__bases__)
        case _:
            yield f"{path} class", type(obj)
            yield from ((f"{path}.{key}", value) for key, value in _attributes(obj).items())


def _root(obj: Any) -> str:
    return str(getattr(obj, "__module__", None)).partition(".")[0]


def _attributes(obj: Any) -> dict[str, Any]:
    """Return the attributes that an object has of its own, in its dictionary or in slots."""
    if type(obj).__module__.startswith("numba"):  # a compiled function: it refers to the whole compiler
        return {}
    found = dict(getattr(obj, "__dict__", {}))
    for kind in type(obj).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for key in (slots,) if isinstance(slots, str) else slots:
            if hasattr(obj, key):
                found[key] = getattr(obj, key)
    return found


def _function(path: str, function: FunctionType, home: str) -> Iterator[tuple[str, Any]]:
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"{path} closure over {variable}", cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield f"{path} defaults", (function.__defaults__, function.__kwdefaults__)
    yield f"{path} attributes", vars(function)
    if _root(function) == home:
        for variable in sorted(_globals_used(function.__code__) & set(function.__globals__)):
            yield f"{path} global {variable}", function.__globals__[variable]


@functools.cache
def _globals_used(code: CodeType) -> frozenset[str]:
    """Return the global variables that a function reads, also inside of nested functions."""
    used = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return frozenset(used).union(*(_globals_used(c) for c in code.co_consts if isinstance(c, CodeType)))


class Snapshot:
    """The state of everything reachable from an object, to be compared with its state later."""

    def __init__(self, root: Any, name: str) -> None:
        self._states = [(path, obj, _state(obj)) for path, obj in reachable(root, name)]

    def changes(self) -> list[str]:
        """Return the paths of what has changed since, new attributes included unless they are caches."""
        found = []
        for path, obj, before in self._states:
            after = _state(obj)
            for key in before.keys() | after.keys():
                new_cache = key not in before and hasattr(type(obj), key)
                if before.get(key) != after.get(key) and not new_cache:
                    found.append(f"{path}.{key}")
        return sorted(found)


def _state(obj: Any) -> dict[str, Any]:
    """Return the mutable state of one object: the content of an array, or the identity of its parts."""
    if isinstance(obj, np.ndarray):
        return {"values": obj.tobytes(), "shape": obj.shape, "flags.writeable": obj.flags.writeable}
    if isinstance(obj, type | FunctionType):
        return {}
    if isinstance(obj, Mapping):
        return {f"[{key!r}]": _leaf(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple | set | frozenset | deque):
        return {f"[{i}]": _leaf(value) for i, value in enumerate(obj)}
    return {key: _leaf(value) for key, value in _attributes(obj).items()}


def _leaf(value: Any) -> Any:
    return repr(value) if isinstance(value, _VALUES) else id(value)


def _held(obj: Any) -> dict[str, Any]:
    """Return the attributes that an object has of its own, but for caches of what its class computes."""
    caches = [key for key in getattr(obj, "__dict__", {}) if hasattr(type(obj), key)]
    return {key: value for key, value in _attributes(obj).items() if key not in caches}


def canonical(value: Any) -> Any:
    """Return a form of a decision or observation that is equal exactly where the values are, bit by bit."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, float | np.floating):
        return type(value).__name__, float(value).hex()
    if isinstance(value, Mapping):
        return "mapping", tuple(sorted((repr(k), canonical(v)) for k, v in value.items()))
    if isinstance(value, set | frozenset):
        return "set", tuple(sorted(repr(canonical(v)) for v in value))
    if isinstance(value, list | tuple | np.ndarray):
        return "sequence", tuple(canonical(v) for v in value)
    if is_dataclass(value) and not isinstance(value, type):
        named = {f.name: getattr(value, f.name) for f in fields(value)}
        return type(value).__name__, canonical(_held(value) | named)
    shown: Any = type(value).__repr__
    if shown is object.__repr__ and not isinstance(value, type):  # which says where it is, not what
        return type(value).__name__, canonical(_held(value))
    return type(value).__name__, repr(value)
