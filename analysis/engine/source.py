"""What source is there now: found without any heavy library, as every process of the engine says it first."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).parents[2]  # clairvoyant's folder; in a checkout its layers are links

SOURCE = (".py", ".json", ".npz")

LIBRARIES = ("numpy", "scipy", "numba", "highspy", "ortools", "cvxpy", "clarabel", "pyomo", "torch")
"""Other people's packages that results may depend on."""

_known: dict[str, tuple[object, str]] = {}
"""What the system said of every file that was read, and the hash of it."""


def contents(others: Sequence[str]) -> str:
    """Return a hash of the source of Clairvoyant and of others, and of which libraries are installed.

    The others are packages, or modules of none, by name; they are not imported here.
    """
    told = {"": joined(hashes(PACKAGE, links=True))}
    for name in others:
        spec = find_spec(name)
        if spec is not None and spec.has_location:
            for root in spec.submodule_search_locations or (str(spec.origin),):
                told[f"{name} {root}"] = joined(hashes(Path(root)))
    libraries = [name for name in installed() if name.partition("-")[0] in LIBRARIES]
    return joined(told | dict.fromkeys(libraries, ""))


def hashes(root: Path, *, links: bool = False) -> dict[str, str]:
    """Return a hash of every file of source in a folder, or of one file, by its place in it.

    Files are read again only where the system says that they have changed. Folders that are links are looked
    into where ``links`` says so; what cannot be looked into has no files.
    """
    found, top = {}, os.fspath(root)
    for path in [top] if root.is_file() else _files(top, links):
        with suppress(FileNotFoundError):  # an editor's mark, or just deleted
            found[path[len(top) + 1 :]] = known_hash(path)
    return dict(sorted(found.items()))


def _files(root: str, links: bool) -> Iterator[str]:
    """Yield the path of every file of source in a folder."""
    for folder, folders, names in os.walk(root, followlinks=links):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (f"{folder}/{name}" for name in names if name.endswith(SOURCE))


def known_hash(path: str) -> str:
    """Return a hash of a file, which is read again only where the system says that it has changed."""
    stat = os.stat(path)  # noqa: PTH116 - of many files
    state = stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino
    if _known.get(path, (None, ""))[0] != state:
        with Path(path).open("rb") as stream:
            _known[path] = state, hashlib.file_digest(stream, "sha256").hexdigest()
    return _known[path][1]


def joined(found: Mapping[str, str]) -> str:
    """Return one hash of what :func:`hashes` returns."""
    text = "".join(f"{place}\n{one}\n" for place, one in sorted(found.items()))
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def installed() -> list[str]:
    """Return what the folders of libraries say of their versions, such as ``numpy-2.1.0.dist-info``."""
    names: list[str] = []
    for folder in filter(None, sys.path):
        with suppress(OSError), os.scandir(folder) as entries:  # nothing can be imported from there either
            names += (entry.name for entry in entries if entry.name.endswith("-info"))
    return sorted(names)
