"""Files of trained networks. They hold numbers and text only, so that a file from a stranger runs no code."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ....models.base import MOST_BYTES, InputError, regular, write_whole
from .design import Design
from .networks import Actor

FORMAT = "clairvoyant placement networks"
VERSION = 1

REFUSED = "is no whole file of networks, or holds more than numbers and text; it is not read"

UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, pickle.UnpicklingError, EOFError, MemoryError),
    *(RuntimeError, ValueError, LookupError, TypeError, AttributeError, AssertionError, ArithmeticError),
)
"""The errors that reading a damaged or foreign file may raise."""


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a checkpoint; whoever reads meanwhile finds the old one or the new one, whole."""
    packed = io.BytesIO()
    torch.save({"format": FORMAT, "version": VERSION, **content}, packed)
    write_whole(path, packed.getvalue())


def read(path: Path) -> dict[str, Any]:
    """Read a checkpoint; an InputError if there is no such file, or it is none, or one of another version."""
    found = _numbers_and_text(path)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"checkpoint: {path} is no file of networks of this package")
    if type(found.get("version")) is not int or found["version"] != VERSION:
        raise InputError(
            f"checkpoint: {path} has version {found.get('version')!r}; this package reads {VERSION}"
        )
    return found


def _numbers_and_text(path: Path) -> Any:
    """Return the content of a file, if it is complete and all numbers and text."""
    try:
        with zipfile.ZipFile(regular(path)) as packed:
            parts = packed.infolist()
            # What is packed tightly is not ours, and could unpack to more than the memory.
            ours = all(one.compress_type == zipfile.ZIP_STORED for one in parts)
            small = sum(one.file_size for one in parts) <= MOST_BYTES
            whole = ours and small and packed.testzip() is None
        if whole:
            return torch.load(path, map_location="cpu", weights_only=True)
    except InputError as error:
        raise InputError(f"checkpoint: {error}") from error
    except OSError as error:
        raise InputError(f"checkpoint: {path}: cannot be read: {error.strerror or error}") from error
    except UNREADABLE as error:
        raise InputError(f"checkpoint: {path} {REFUSED}") from error
    raise InputError(f"checkpoint: {path} {REFUSED}")


def restored(path: Path) -> Actor:
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
    actor = Actor(design)
    fit(actor, found.get("actor"), path)
    return actor.eval()


def fit(module: torch.nn.Module, weights: Any, path: Path) -> None:
    """Put weights into a module, or raise an InputError that names the first that does not fit."""
    expected = module.state_dict()
    if not isinstance(weights, Mapping) or not all(isinstance(name, str) for name in weights):
        raise InputError(f"checkpoint: {path} holds no weights")
    for name in sorted(expected.keys() | weights.keys()):
        if name not in weights or name not in expected:
            where = "missing" if name not in weights else "unknown to the design"
            raise InputError(f"checkpoint: {path}: {name} is {where}")
        _refuse_other(f"checkpoint: {path}: {name}", weights[name], expected[name])
    module.load_state_dict(dict(weights))


def _refuse_other(where: str, weight: Any, expected: torch.Tensor) -> None:
    """Raise an InputError unless a weight is an array of finite numbers like the expected one."""
    if (
        not isinstance(weight, torch.Tensor)
        or weight.is_nested
        or weight.layout != torch.strided
        or weight.is_meta
    ):
        raise InputError(f"{where} is no array")
    here, there = tuple(weight.shape), tuple(expected.shape)
    if here != there:
        raise InputError(f"{where} has shape {here}, the design says {there}")
    if weight.dtype != expected.dtype:
        raise InputError(f"{where} has numbers of type {weight.dtype}, the design says {expected.dtype}")
    if not torch.isfinite(weight).all():
        raise InputError(f"{where} is not finite")
