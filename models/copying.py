"""Copies that share no memory with what they were made from."""

from __future__ import annotations

import pickle
from typing import Any, TypeVar

Thing = TypeVar("Thing")


def packed(thing: Any) -> tuple[bytes, list[bytes | bytearray]]:
    """Return what :func:`unpacked` makes an equal thing of: a pickle, and the memory of its arrays apart."""
    memory: list[bytes | bytearray] = []

    def apart(buffer: pickle.PickleBuffer) -> None:
        raw = buffer.raw()
        memory.append(bytes(raw) if raw.readonly else bytearray(raw))

    return pickle.dumps(thing, 5, buffer_callback=apart), memory


def unpacked(pack: tuple[bytes, list[bytes | bytearray]]) -> Any:
    """Return the thing of a pack; its read-only arrays are on memory that nobody can make writeable."""
    data, memory = pack
    return pickle.loads(data, buffers=memory)  # noqa: S301 - the pack is our own


def copied(thing: Thing) -> Thing:
    """Return an equal thing that shares no memory with it, caches included."""
    result: Thing = unpacked(packed(thing))
    return result
