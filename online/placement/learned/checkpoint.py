"""Files of trained networks: NumPy's ``.npz`` without pickles, so that a file from a stranger is data.

One member, ``about``, is JSON in UTF-8: format, version, a hash of all the rest, and what is no array; every
other one is an array, named after where it stands. Equal contents are equal bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....models.base import MOST_BYTES, InputError, regular, write_whole
from ....models.draw import real
from .design import Design
from .weights import Networks, shapes

FORMAT = "clairvoyant placement networks"
VERSION = 2

ABOUT = "about"
REFUSED = "is no whole file of networks; it is not read"

UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, MemoryError, RecursionError),
    *(RuntimeError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError),
)
"""The errors that reading a damaged or foreign file may raise."""


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a checkpoint; whoever reads meanwhile finds the old one or the new one, whole.

    A value is an array, a mapping of names to arrays, or what JSON can hold.
    """
    arrays, told = {}, {}
    for name, value in content.items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif isinstance(value, Mapping) and value and all(isinstance(x, np.ndarray) for x in value.values()):
            arrays |= {f"{name}/{key}": one for key, one in value.items()}
        else:
            told[name] = value
    about = {"format": FORMAT, "version": VERSION, **told}
    about["hash"] = _hash(about, arrays)
    text = json.dumps(about, sort_keys=True).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as whole:
        for name, array in ((ABOUT, np.frombuffer(text, dtype=np.uint8)), *sorted(arrays.items())):
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
            # A ZipInfo without a time has that of 1980, so that equal contents are equal bytes.
            whole.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    write_whole(path, packed.getvalue())


def _hash(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of all that a file says."""
    told = {name: value for name, value in about.items() if name != "hash"}
    found = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        found.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(np.asarray(array, order="C").tobytes())
    return found.hexdigest()


def read(path: Path) -> dict[str, Any]:
    """Return the content of a checkpoint as :func:`write` took it.

    An InputError if there is no such file, or it is none, one of another version, or damaged.
    """
    arrays = _arrays(path)
    about = _about(arrays.pop(ABOUT, None), path)
    if about.get("format") != FORMAT:
        raise InputError(f"checkpoint: {path} is no file of networks of this package")
    if type(about.get("version")) is not int or about["version"] != VERSION:
        raise InputError(
            f"checkpoint: {path} has version {about.get('version')!r}; this package reads {VERSION}"
        )
    if about.get("hash") != _hash(about, arrays):
        raise InputError(f"checkpoint: {path} is damaged: its hash is not that of its content")
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        table, _, key = name.partition("/")
        if key:
            found.setdefault(table, {})[key] = array
        else:
            found[name] = array
    return found | {name: value for name, value in about.items() if name not in ("format", "version", "hash")}


def _about(text: np.ndarray | None, path: Path) -> dict[str, Any]:
    """Return what a file says of itself; an InputError if that is nothing."""
    try:
        found = json.loads(b"" if text is None else text.tobytes())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f"checkpoint: {path} is no file of networks of this package")
    return found


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Return all members of a file, if it is complete and all arrays of numbers."""
    try:
        with zipfile.ZipFile(regular(path)) as packed:
            parts = packed.infolist()
            # What is packed tightly is not ours, and could unpack to more than the memory.
            ours = all(one.compress_type == zipfile.ZIP_STORED for one in parts)
            if ours and sum(one.file_size for one in parts) <= MOST_BYTES:
                return dict(_read(packed, one) for one in parts)
    except InputError as error:
        raise InputError(f"checkpoint: {error}") from error
    except OSError as error:
        raise InputError(f"checkpoint: {path}: cannot be read: {error.strerror or error}") from error
    except UNREADABLE as error:
        raise InputError(f"checkpoint: {path} {REFUSED}") from error
    raise InputError(f"checkpoint: {path} {REFUSED}")


def _read(packed: zipfile.ZipFile, one: zipfile.ZipInfo) -> tuple[str, np.ndarray]:
    """Return name and array of a member; nothing is made before it is known to be as long as it says."""
    whole = io.BytesIO(packed.read(one))
    if np.lib.format.read_magic(whole) != (1, 0):
        raise ValueError("another version of the format")
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(whole)
    if by_columns:
        raise ValueError("arrays are written row by row")
    return one.filename.removesuffix(".npy"), np.frombuffer(whole.read(), dtype=kind).reshape(shape)


def restored(path: Path) -> Networks:
    """Return the networks of both agents in a checkpoint, ready to decide.

    If there is no design, or the weights do not have the shapes that it says, or are not finite, that is an
    InputError.
    """
    found = read(path)
    if not isinstance(found.get("design"), Mapping):
        raise InputError(f"checkpoint: {path} holds no design")
    try:
        design = Design.of(found["design"])
    except InputError as error:
        raise InputError(f"checkpoint: {path}: {error}") from error
    return Networks(design, fitting(found.get("actor"), shapes(design), path))


def numbers(found: Mapping[str, Any], name: str, path: Path) -> list[float]:
    """Return a list of finite numbers of a checkpoint; an InputError if it is none."""
    given = found.get(name)
    if not isinstance(given, list):
        raise InputError(f"checkpoint: {path}: {name}: {given!r} is no list")
    return [real(f"checkpoint: {path}: {name}[{i}]", x, -math.inf) for i, x in enumerate(given)]


def fitting(weights: Any, expected: Mapping[str, tuple[int, ...]], path: Path) -> dict[str, np.ndarray]:
    """Return weights if they have these shapes; else an InputError names the first that does not fit."""
    if not isinstance(weights, Mapping):
        raise InputError(f"checkpoint: {path} holds no weights")
    for name in sorted(expected.keys() | weights.keys()):
        if name not in weights or name not in expected:
            where = "missing" if name not in weights else "unknown to the design"
            raise InputError(f"checkpoint: {path}: {name} is {where}")
        _refuse_other(f"checkpoint: {path}: {name}", weights[name], expected[name])
    return {name: weights[name] for name in expected}


def _refuse_other(where: str, weight: Any, expected: tuple[int, ...]) -> None:
    """Raise an InputError unless a weight is an array of finite numbers of this shape."""
    if not isinstance(weight, np.ndarray):
        raise InputError(f"{where} is no array")
    if weight.shape != expected:
        raise InputError(f"{where} has shape {weight.shape}, the design says {expected}")
    if weight.dtype != np.float32:
        raise InputError(f"{where} has numbers of type {weight.dtype}; they are to be float32")
    if not np.isfinite(weight).all():
        raise InputError(f"{where} is not finite")
