"""Cells: pieces of work that do not depend on each other, each known by a hash of all that matters to it."""

from __future__ import annotations

import ast
import enum
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...models.base import ClairvoyantError
from .source import LIBRARIES, PACKAGE, contents, fingerprint, hash_of_file, hashes, installed, joined

LAYERS = ("models", "oracles", "online", "analysis")

GROUPS = ("problems", "policies", "oracles", "claims")
"""What other distributions add, by their entry points."""


class EngineError(ClairvoyantError):
    """Cells cannot be run at all."""


class State(enum.Enum):
    """How a cell ended. There is no "running": what a crash leaves behind is simply not there."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed out"


@dataclass(frozen=True)
class Cell:
    """One piece of work."""

    key: str
    """What identifies its result; see :func:`key_of`."""
    name: str
    """What people call it."""
    function: str
    """``package.module:name`` of a function of ``arguments`` and of a callback that takes the fraction done.

    It returns what JSON can hold, and is called in a process of its own."""
    arguments: Mapping[str, Any]
    """What JSON can hold."""


@dataclass(frozen=True)
class Answer:
    """What became of a cell."""

    state: State
    result: Any = None
    """What its function returned; None unless it is done."""
    error: str = field(default="")
    """Why it failed: the traceback, or what ended its process; empty if it is done."""
    seconds: float = 0.0
    """How long the last attempt took."""
    attempts: int = 1
    """How many times it was begun; a cell whose process was killed is begun again."""
    exceeded: Mapping[str, float] = field(default_factory=dict)
    """The limit that ended it: ``{"seconds": ...}``, or ``{"memory": ...}`` in bytes; empty if none did."""


def key_of(**parts: Any) -> str:
    """Return a hash of what JSON can hold; equal parts, equal keys."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


SOURCE_HASH = "source of clairvoyant"


def look_again() -> None:
    """Forget what source and versions there were; what has changed has other keys from now on."""
    before = _listed()
    for one in (_listed, snapshot, edition, whole, fingerprints):
        one.cache_clear()
    if _listed() != before:
        versions.cache_clear()
        others.cache_clear()
    fingerprints()  # before any key, so that no process may run what is newer than the keys


@cache
def _listed() -> list[str]:
    return installed()


@cache
def versions() -> dict[str, str]:
    """Return the versions of Clairvoyant, of what others add to it, and of libraries that results rest on."""
    found = {one.dist.name: one.dist.version for one in _brought() if one.dist is not None}
    for name in ("clairvoyant", *LIBRARIES):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def _brought() -> list[EntryPoint]:
    """Return what others add; nothing where a damaged file hides it, of which :mod:`..problems` warns."""
    try:
        return [one for group in GROUPS for one in entry_points(group=f"clairvoyant.{group}")]
    except Exception:  # noqa: BLE001 - whatever reading such a file raises
        return []


@cache
def others() -> tuple[str, ...]:
    """Return the packages in which others bring something."""
    names = {one.value.partition(":")[0].partition(".")[0].strip() for one in _brought()}
    return tuple(sorted(name for name in names if name.isidentifier()))


@cache
def snapshot() -> dict[str, str]:
    """Return a hash of every file of Clairvoyant's source, by its place, as it was at the last look."""
    return hashes(PACKAGE, links=True)


@cache
def edition() -> dict[str, str]:
    """Return the versions of Clairvoyant and of all libraries, and a hash of its source, at the last look."""
    return versions() | {SOURCE_HASH: joined(snapshot())}


@cache
def whole() -> str:
    """Return a hash of all source and of which libraries were installed at the last look."""
    return contents(others())


@cache
def fingerprints() -> set[str]:
    """Return what processes may say of themselves that run the source of the last look."""
    found = {fingerprint(others())}
    whole()
    return found


def is_ours(told: str) -> bool:
    """Return whether a process runs the source of the last look, which may have been written anew since."""
    if told not in fingerprints() and told == fingerprint(others()) and contents(others()) == whole():
        fingerprints().add(told)
    return told in fingerprints()


def changed() -> str:
    """Say how the source differs from what it was at the last look."""
    before, now = snapshot(), hashes(PACKAGE, links=True)
    places = sorted(place for place in before.keys() | now.keys() if before.get(place) != now.get(place))
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{places[0]}{more} changed meanwhile" if places else "it is not the one here"


def source_of(layers: tuple[str, ...], rooms: tuple[str, ...] | None = None) -> str:
    """Return a hash of the source in these layers at the last look, and of the versions of libraries.

    With rooms it is that of what is common to a layer, and of the rooms of these problems.
    """
    found = {}
    for place, one in snapshot().items():
        layer, *inside = place.split("/")
        if layer in layers and (rooms is None or len(inside) == 1 or inside[0] in rooms):
            found[place] = one
    return key_of(versions=versions(), files=joined(found))


def hash_of(files: Iterable[Path], root: Path) -> str:
    """Return a hash of the names, below ``root``, and the bytes of files."""
    return joined({path.relative_to(root).as_posix(): hash_of_file(path) for path in files})


def source_of_module(name: str) -> str:
    """Return one hash of what :func:`sources_of_module` tells."""
    return joined(sources_of_module(name))


def sources_of_module(name: str) -> dict[str, str]:
    """Return hashes of the package, or else the file, of a loaded module, and of those that it imports.

    What is installed does not count among these. What was typed in, and lies in no file, is known by nothing:
    it is another one each time.
    """
    top = name.partition(".")[0]
    modules = (sys.modules.get(one) for one in (top, name))
    places = (_place(getattr(one, "__file__", None), getattr(one, "__path__", None)) for one in modules)
    start = next(filter(None, places), None)
    if start is None:
        return {top: uuid4().hex}
    found, waiting = {}, {top: start}
    while waiting:
        top, place = waiting.popitem()
        found[top] = joined(hashes(place))
        if top != PACKAGE.name:
            files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
            waiting |= {one: at for file in files for one, at in _imported(file) if one not in found}
    return found


def _place(file: str | None, folders: Iterable[str] | None) -> Path | None:
    """Return the folder of a package, with an ``__init__.py`` or without, or else the file of a module."""
    for found in [file] if file else folders or ():
        path = Path(found).resolve()
        path = path.parent if path.name == "__init__.py" else path
        if path.exists():
            return path
    return None


def _imported(file: Path) -> Iterator[tuple[str, Path]]:
    """Yield the packages and modules of one's own that a file imports, and where they are."""
    try:
        nodes = [*ast.walk(ast.parse(file.read_bytes()))]
    except SyntaxError:  # it can be imported by nobody
        return
    names = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
    names |= {
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }
    for top in sorted({name.partition(".")[0] for name in names} - {PACKAGE.name, "__main__"}):
        spec = None
        if top not in sys.stdlib_module_names:
            with suppress(ValueError):  # one that was made by hand lies in no file
                spec = find_spec(top)
        place = None if spec is None else _place(spec.origin, spec.submodule_search_locations)
        if place is None or {"site-packages", "dist-packages"} & {*place.parts}:
            continue
        if place.is_dir() or place.suffix == ".py":
            yield top, place
