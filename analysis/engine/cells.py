"""Cells: pieces of work that do not depend on each other, each known by a hash of all that matters to it."""

from __future__ import annotations

import enum
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...models.base import ClairvoyantError

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds the layers."""

LIBRARIES = ("numpy", "scipy", "numba", "highspy", "ortools", "cvxpy", "clarabel", "pyomo", "torch")
"""Other people's packages that results may depend on."""

LAYERS = ("models", "oracles", "online", "analysis")

GROUPS = ("problems", "policies", "oracles", "claims")
"""What other distributions add, by their entry points."""

SOURCE = (".py", ".json", ".pt")


class EngineError(ClairvoyantError):
    """Cells cannot be run at all."""


class State(enum.Enum):
    """How a cell ended. There is no "running": what a crash leaves behind is simply not there."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed out"


@dataclass(frozen=True)
class Cell:
    """One piece of work.

    Attributes
    ----------
    key
        What identifies its result; see :func:`key_of`.
    name
        What people call it.
    function
        ``package.module:name`` of a function of ``arguments`` and of a callback that takes the fraction done.
        It returns what JSON can hold, and is called in a process of its own.
    arguments
        What JSON can hold.
    """

    key: str
    name: str
    function: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What became of a cell.

    Attributes
    ----------
    state
        How it ended.
    result
        What its function returned; None unless it is done.
    error
        Why it failed: the traceback, or what ended its process; empty if it is done.
    seconds
        How long the last attempt took.
    attempts
        How many times it was begun; a cell whose process was killed is begun again.
    """

    state: State
    result: Any = None
    error: str = field(default="")
    seconds: float = 0.0
    attempts: int = 1


def key_of(**parts: Any) -> str:
    """Return a hash of what JSON can hold; equal parts, equal keys."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def versions() -> dict[str, str]:
    """Return the versions of Clairvoyant, of what others add to it, and of libraries that results rest on."""
    others = [one.dist for group in GROUPS for one in entry_points(group=f"clairvoyant.{group}")]
    found = {dist.name: dist.version for dist in others if dist is not None}
    for name in ("clairvoyant", *LIBRARIES):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


@cache
def source_of(layers: tuple[str, ...], rooms: tuple[str, ...] | None = None) -> str:
    """Return a hash of the source in these layers, and of the versions of libraries.

    It is kept in this process until ``source_of.cache_clear()``.

    Parameters
    ----------
    layers
        Such as "models".
    rooms
        Only what is common to a layer, and the rooms of these problems; all by default.
    """
    files = []
    for layer in layers:
        for path in (ROOT / layer).rglob("*"):
            place = path.relative_to(ROOT / layer).parts
            if path.suffix in SOURCE and (rooms is None or len(place) == 1 or place[0] in rooms):
                files.append(path)
    return key_of(versions=versions(), files=hash_of(files, ROOT))


def hash_of(files: Iterable[Path], root: Path) -> str:
    """Return a hash of the names, below ``root``, and the bytes of files."""
    hasher = hashlib.sha256()
    for path in sorted(files):
        with path.open("rb") as stream:
            contents = hashlib.file_digest(stream, "sha256").hexdigest()
        hasher.update(f"{path.relative_to(root).as_posix()}\n{contents}\n".encode())
    return hasher.hexdigest()


def source_of_module(name: str) -> str:
    """Return a hash of the source of the package that a loaded module is in, or of its own file.

    What was typed in, and lies in no file, is known by nothing: it is another one each time.
    """
    package = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
    if package is not None and Path(package).name == "__init__.py":
        root = Path(package).resolve().parent
        return hash_of((path for path in root.rglob("*") if path.suffix in SOURCE), root)
    place = getattr(sys.modules[name], "__file__", None)
    if place is None or not Path(place).is_file():
        return uuid4().hex
    return hash_of([Path(place)], Path(place).parent)
