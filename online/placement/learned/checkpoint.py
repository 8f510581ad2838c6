"""Files of trained networks. They hold numbers and text only, so that a file from a stranger runs no code."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ....models.base import InputError
from .design import Design
from .networks import Actor

FORMAT = "clairvoyant placement networks"
VERSION = 1


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a checkpoint; whoever reads meanwhile finds the old one or the new one, whole."""
    beside = path.with_name(path.name + ".part")
    torch.save({"format": FORMAT, "version": VERSION, **content}, beside)
    beside.replace(path)


def read(path: Path) -> dict[str, Any]:
    """Read a checkpoint.

    Raises
    ------
    InputError
        If there is no such file, or it is no checkpoint, or one of another version.
    """
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"checkpoint: {path}: {error.strerror or error}") from error
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise InputError(
            f"checkpoint: {path} is no file of networks that numbers and text make up"
        ) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"checkpoint: {path} is no file of networks of this package")
    if found.get("version") != VERSION:
        raise InputError(
            f"checkpoint: {path} has version {found.get('version')!r}; this package reads {VERSION}"
        )
    return found


def restored(path: Path) -> Actor:
    """Return the networks of both agents in a checkpoint, ready to decide.

    Raises
    ------
    InputError
        As :func:`read`, and if the weights do not have the shapes that the design says, or are not finite.
    """
    found = read(path)
    actor = Actor(Design.of(found["design"]))
    fit(actor, found["actor"], path)
    return actor.eval()


def fit(module: torch.nn.Module, weights: Any, path: Path) -> None:
    """Put weights into a module, or raise an InputError that names the first that does not fit."""
    expected = module.state_dict()
    if not isinstance(weights, Mapping):
        raise InputError(f"checkpoint: {path} holds no weights")
    for name in sorted(expected.keys() | weights.keys()):
        if name not in weights or name not in expected:
            where = "missing" if name not in weights else "unknown to the design"
            raise InputError(f"checkpoint: {path}: {name} is {where}")
        here, there = tuple(weights[name].shape), tuple(expected[name].shape)
        if here != there:
            raise InputError(f"checkpoint: {path}: {name} has shape {here}, the design says {there}")
        if not torch.isfinite(weights[name]).all():
            raise InputError(f"checkpoint: {path}: {name} is not finite")
    module.load_state_dict(dict(weights))
