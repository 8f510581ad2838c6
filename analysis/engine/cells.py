"""Cells: pieces of work that do not depend on each other, each known by a hash of all that matters to it."""

from __future__ import annotations

import ast
import enum
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_path
from typing import Any, NamedTuple
from uuid import uuid4

from ...models.base import ClairvoyantError
from .source import LIBRARIES, PACKAGE, contents, hashes, installed, joined, known_hash

LAYERS = ("models", "oracles", "online", "analysis")

GROUPS = ("problems", "policies", "oracles", "claims")  # what other distributions add, by their entry points


class EngineError(ClairvoyantError):
    """Cells cannot be run at all."""


class ChangedError(ClairvoyantError):
    """What a cell rests on is not what its key was made of: there is no answer that could be kept."""


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


def raised(error: str) -> str:
    """Return the line that says what was raised, the first after the last place of a traceback."""
    last = error.rpartition("\n  File ")[2].strip("\n").splitlines() or [""]
    return next((line for line in last[1:] if line and not line.startswith(" ")), last[0])


def key_of(**parts: Any) -> str:
    """Return a hash of what JSON can hold; equal parts, equal keys."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:32]


SOURCE_HASH = "source of clairvoyant"


class Look(NamedTuple):
    """What source and libraries there were at a look."""

    files: Mapping[str, str]
    """A hash of every file of Clairvoyant's source, by its place."""
    others: tuple[str, ...]
    """The packages in which others bring something."""
    edition: Mapping[str, str]
    """The versions of Clairvoyant, what others add and libraries behind results, and a hash of the source."""
    contents: str
    """What a process says of itself that runs this source."""


def look_again() -> None:
    """Forget what source and versions there were; what has changed has other keys from now on."""
    last_look.cache_clear()
    source_of.cache_clear()
    last_look()  # before any key, so that no process may run what is newer than the keys


@cache
def last_look() -> Look:
    """Return what was seen at the last look."""
    files = hashes(PACKAGE, links=True)
    others, versions = _brought(tuple(installed()))
    return Look(files, others, versions | {SOURCE_HASH: joined(files)}, contents(others))


@cache
def _brought(_installed: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the packages in which others bring something, and versions; they change with what is installed.

    Nothing is brought where a damaged file hides it, of which :mod:`..problems` warns.
    """
    try:
        brought = [one for group in GROUPS for one in entry_points(group=f"clairvoyant.{group}")]
    except Exception:  # noqa: BLE001 - whatever reading such a file raises
        brought = []
    names = {one.value.partition(":")[0].partition(".")[0].strip() for one in brought}
    versions = {one.dist.name: one.dist.version for one in brought if one.dist is not None}
    for name in ("clairvoyant", *LIBRARIES):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "none"
    return tuple(sorted(name for name in names if name.isidentifier())), versions


def changed() -> str:
    """Say how the source differs from what it was at the last look."""
    before, now = last_look().files, hashes(PACKAGE, links=True)
    places = sorted(place for place in before.keys() | now.keys() if before.get(place) != now.get(place))
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{places[0]}{more} changed meanwhile" if places else "it is not the one here"


@cache
def source_of(layers: tuple[str, ...], rooms: tuple[str, ...] | None = None) -> str:
    """Return a hash of the source in these layers at the last look, and of the versions of libraries.

    With rooms it is that of what is common to a layer, and of the rooms of these problems.
    """
    found, seen = {}, last_look()
    for place, one in seen.files.items():
        layer, *inside = place.split("/")
        if layer in layers and (rooms is None or len(inside) == 1 or inside[0] in rooms):
            found[place] = one
    versions = {name: one for name, one in seen.edition.items() if name != SOURCE_HASH}
    return key_of(versions=versions, files=joined(found))


def hash_of(files: Iterable[Path], root: Path) -> str:
    """Return a hash of the names, below ``root``, and the bytes of files."""
    return joined({path.relative_to(root).as_posix(): known_hash(os.fspath(path)) for path in files})


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
            files = place.rglob("*.py") if place.is_dir() else [place]
            waiting |= _own({one for file in files for one in imported_by(file.read_bytes())} - found.keys())
    return found


def _place(file: str | None, folders: Iterable[str] | None) -> Path | None:
    """Return the folder of a package, with an ``__init__.py`` or without, or else the file of a module."""
    for found in [file] if file else folders or ():
        path = Path(found).resolve()
        path = path.parent if path.name == "__init__.py" else path
        if path.exists():
            return path
    return None


def place_of(name: str) -> Path | None:
    """Return the folder or the file that an import of a name would take, if it lies in one."""
    spec = None
    with suppress(ValueError):  # one that was made by hand lies in no file
        spec = find_spec(name)
    return None if spec is None else _place(spec.origin, spec.submodule_search_locations)


def _own(names: Iterable[str]) -> dict[str, Path]:
    """Return where the packages and modules of one's own among these lie: neither installed nor Python's."""
    pythons = {Path(get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    found = {}
    for name in names:
        place = place_of(name)
        if place is None or {"site-packages", "dist-packages"} & {*place.parts} or pythons & {*place.parents}:
            continue
        if place.is_dir() or place.suffix == ".py":
            found[name] = place
    return found


@lru_cache(10_000)
def imported_by(source: bytes) -> list[str]:
    """Return what a source imports, by its first name, that is not Clairvoyant's.

    Names that :func:`importlib.import_module` is called with count if they stand there as text.
    """
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except SyntaxError:  # it can be imported by nobody
        return []
    names = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    for node in nodes:
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            names |= {str(node.args[0].value)} if called in ("import_module", "__import__") else set()
    return sorted({name.partition(".")[0] for name in names} - {PACKAGE.name, "__main__", ""})
