"""Copies that share no memory with what they were made from."""

from __future__ import annotations

import pickle
from typing import Any, TypeVar

Object = TypeVar("Object")


def packed(value: Any) -> tuple[bytes, list[bytes | bytearray]]:
    """Return what :func:`unpacked` makes an equal object of: a pickle, and the memory of its arrays."""
    memory: list[bytes | bytearray] = []

    def keep(buffer: pickle.PickleBuffer) -> None:
        raw = buffer.raw()
        memory.append(bytes(raw) if raw.readonly else bytearray(raw))

    return pickle.dumps(value, 5, buffer_callback=keep), memory


def unpacked(pack: tuple[bytes, list[bytes | bytearray]]) -> Any:
    """Return the object of a pack; its read-only arrays are in memory that cannot be made writeable."""
    data, memory = pack
    return pickle.loads(data, buffers=memory)  # noqa: S301 - the pack is our own


def copied(value: Object) -> Object:
    """Return an equal object that shares no memory with the given one, caches included."""
    return unpacked(packed(value))
