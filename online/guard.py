"""Guards against tampering: the inputs of a policy and the scoring stay unchanged; its decision is read once.

A policy is scored by other objects than its inputs, so changing these gains nothing; here it is detected.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from functools import cached_property, lru_cache
from itertools import chain, compress, islice
from operator import attrgetter, is_, is_not, ne
from types import FunctionType
from typing import Any

import numpy as np
from numpy import fromiter  # by its own name: a policy may replace what NumPy calls so

from ..models.base import ClairvoyantError, InputError, Instance
from ..models.checks import refuse_masked
from ..models.copying import copied

ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})

CODE_OF = attrgetter("__code__")


class TamperError(ClairvoyantError):
    """A policy changed its inputs, or the code that scores it."""


def plain(decision: Any) -> Any:
    """Return a decision as data of our own: arrays, lists, tuples, dictionaries, numbers and texts.

    It is read here and never again, so that it does not matter what class it is of or what becomes of it.
    Anything else is an InputError.
    """
    kind = type(decision)
    if kind in ATOMS:
        return decision
    if isinstance(decision, np.ndarray) or hasattr(kind, "__array__"):
        refuse_masked(decision, "decision")
        array = np.array(np.asarray(decision))  # what its class returns may be an array that it keeps
        return plain(array.tolist()) if array.dtype.hasobject else array
    if isinstance(decision, str):
        return str.__str__(decision)  # whatever its class says that its text is
    for atom in (int, float):
        if isinstance(decision, atom):
            return atom(decision)
    if isinstance(decision, list):
        return [plain(part) for part in decision]
    if isinstance(decision, tuple):
        return tuple(plain(part) for part in decision)
    if isinstance(decision, Mapping):
        return {plain(key): plain(value) for key, value in decision.items()}
    raise InputError(
        f"decision: {kind.__name__} is none of an array, a list, a tuple, a dictionary, a number and a text"
    )


class Seal:
    """An object passed to a policy, and the objects and bytes that it consisted of then.

    Compared are dataclasses, tuples and arrays. What is computed when first used (``cached_property``) may
    appear, and is not compared.

    ``name`` is what it is called in errors.
    """

    def __init__(self, name: str, obj: Any) -> None:
        self._objects: list[tuple[str, Any, type, dict[str, Any], frozenset[str]]] = []
        self._names: list[str] = []
        self._arrays: list[np.ndarray] = []
        parts = [(name, obj)]
        for path, part in parts:  # which grow
            kind: Any = type(part)
            if isinstance(part, np.ndarray):
                self._names.append(path)
                self._arrays.append(part)
            elif isinstance(part, tuple):
                parts += [(f"{path}[{i}]", inner) for i, inner in enumerate(part)]
            elif kind not in ATOMS and _has_fields(kind):
                caches = caches_of(kind)
                before = {key: value for key, value in vars(part).items() if key not in caches}
                self._objects.append((path, part, kind, before, caches))
                parts += [(f"{path}.{key}", v) for key, v in before.items() if type(v) not in ATOMS]
        self._bytes = [array.tobytes() for array in self._arrays]

    def broken(self) -> str | None:
        """Return the path of a part that is not as it was; ``None`` if all are."""
        for path, part, kind, before, caches in self._objects:
            if type(part) is not kind:
                return f"the class of {path}"
            now = part.__dict__
            same = all(map(is_, now.values(), before.values())) and len(now) >= len(before)
            if not same or (len(now) > len(before) and not caches.issuperset(islice(now, len(before), None))):
                for key in [*before, *now.keys() - caches]:
                    if now.get(key, self) is not before.get(key, self):
                        return f"{path}.{key}"
        now_bytes = [array.tobytes() for array in self._arrays]
        if now_bytes != self._bytes:
            return next(compress(self._names, map(ne, now_bytes, self._bytes)))
        return None


@lru_cache
def _has_fields(kind: Any) -> bool:
    """Return whether objects of a class are dataclasses that hold their fields in a dictionary."""
    return kind.__dictoffset__ != 0 and is_dataclass(kind)


@lru_cache
def caches_of(kind: Any) -> frozenset[str]:
    """Return the names of what objects of a class compute when it is first used."""
    return frozenset(
        key
        for base in kind.__mro__
        for key, value in vars(base).items()
        if isinstance(value, cached_property)
    )


class Watch:
    """The code that scores, and whether it has been replaced.

    Compared after every decision are the modules of the classes that score, as far as they are of the problem
    or of this package, those beside them, that of :class:`.Outcome` and that of :class:`.Run`, and all
    classes of these modules. Of problems that are not ours, the modules beside are not: policies may be
    there. Compared at last are the code of all their functions, NumPy, and the other modules that models and
    this loop are made of.

    ``kind`` is the class of the instance, and the others those of what else scores: its setting and its
    episode.
    """

    def __init__(self, kind: type, *others: type) -> None:
        room = kind.__module__.rpartition(".")[0]
        places = {base.__module__ for each in (kind, *others) for base in each.__mro__}
        names = {name for name in places if name.rpartition(".")[0] == room or name.startswith(OURS)} | ALWAYS
        self._loaded = [*sys.modules]
        if room.startswith(OURS):
            names |= {name for name in self._loaded if name.startswith(f"{room}.")}
        self._modules = {name: sys.modules[name] for name in sorted(names)}
        spaces = {name: vars(module) for name, module in self._modules.items()}
        self._spaces = spaces | {
            f"{name}.{kind.__qualname__}": vars(kind)
            for name, space in spaces.items()
            for kind in list(space.values())
            if isinstance(kind, type) and kind.__module__ == name
        }
        self._values = [space.values() for space in self._spaces.values()]  # which follow what changes
        self._keep()
        self._functions = [part for part in self._contents if isinstance(part, FunctionType)]
        self._codes = [*map(CODE_OF, self._functions)]
        self._code_places = _places(self._codes)
        beside = (n for n in self._loaded if n not in names and (n == "numpy" or BESIDE.fullmatch(n)))
        spaces = {name: vars(sys.modules[name]) for name in beside}
        self._beside = [(name, space, _parts(name, space)) for name, space in spaces.items()]
        self.changed: str | None = None  # by a policy, as a run has found

    def _keep(self) -> None:
        self._before = {name: dict(space) for name, space in self._spaces.items()}
        self._contents = [*chain.from_iterable(self._values)]
        self._places = _places(self._contents)

    def broken(self) -> str | None:
        """Return the name of something that has been replaced or added; ``None`` if nothing has."""
        if _places(chain.from_iterable(self._values)) == self._places:
            return None
        for name, space in self._spaces.items():
            before = self._before[name]
            for key in (space.keys() | before.keys()) - MAY_COME:
                if space.get(key, self) is not before.get(key, self):
                    return f"{name}.{key}"
        self._keep()
        return None

    def broken_at_last(self) -> str | None:
        """Compare also what is not compared after every decision: the code of functions, NumPy, and more."""
        if _places(map(CODE_OF, self._functions)) != self._code_places:
            now = map(CODE_OF, self._functions)
            changed = next(compress(self._functions, map(is_not, now, self._codes)))
            return f"the code of {changed.__module__}.{changed.__qualname__}"
        for name, space, before in self._beside:
            if not all(map(is_, map(space.get, before), before.values())):
                return next(f"{name}.{key}" for key, value in before.items() if space.get(key) is not value)
        return self.broken()

    def found(self, changed: str | None) -> str | None:
        """Remember what a run has found, and return it."""
        self.changed = self.changed if changed is None else changed
        return changed

    def outdated(self) -> bool:
        """Return whether a watch made now would differ."""
        return (
            self._loaded != [*sys.modules]
            or any(sys.modules[name] is not module for name, module in self._modules.items())
            or self.broken_at_last() is not None
        )


def _parts(name: str, space: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that is in NumPy, or the functions and classes of another module, by name."""
    return {key: part for key, part in space.items() if name == "numpy" or callable(part)}


def _places(objects: Iterable[Any]) -> bytes:
    """Return where objects lie in memory, which tells lists apart as long as their objects are kept."""
    return fromiter(objects, object).tobytes()


def watch(*things: Any) -> Watch:
    """Return a watch over what is played and what scores with it, as all is now.

    It is that of the run before as long as nothing has changed since: comparing is faster than making one.
    """
    kinds = tuple(map(type, things))
    found = _MADE.get(kinds)
    if found is not None and found.changed is not None:
        if found.broken_at_last() is not None:
            raise TamperError(f"{found.changed} is still what a policy made of it; begin another process")
        found.changed = None
    if found is None or found.outdated():
        for old in [key for key, made in _MADE.items() if made.changed is None][: -MOST_KEPT + 1]:
            del _MADE[old]
        found = _MADE[kinds] = Watch(*kinds)
    return found


MOST_KEPT = 8
"""How many watches are kept, besides those that have found something."""

_MADE: dict[tuple[type, ...], Watch] = {}


OURS = f"{Instance.__module__.rpartition('.')[0]}."
"""The prefix of the packages of our own problems."""

BESIDE = re.compile(rf"{re.escape(OURS)}\w+|{re.escape(__package__)}\.\w+")
"""The names of modules, besides NumPy, of which functions and classes are compared at last."""

ALWAYS = {Instance.__module__, copied.__module__, f"{__package__}.play"}
"""Modules that score in every problem."""

MAY_COME = {"__warningregistry__", "__annotations__", "__annotations_cache__", "__slotnames__"}
"""Names that Python itself puts into a module or a class when they are first needed."""


def refuse(policy: Any, method: str, event: int | None, found: str | None) -> None:
    """Raise a TamperError if something was found that a policy changed, naming the method and the event."""
    if found is not None:
        when = "" if event is None else f" of event {event}"
        raise TamperError(f"policy {policy.name!r} changed {found} in {method}{when}; it may only be read")
