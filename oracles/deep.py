"""Recursion as deep as it has to be: Python's own ends after some hundred calls."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any


def unrolled(first: Generator[Any, Any, Any]) -> Any:
    """Run a function that calls itself by ``yield``, and return what it returns.

    ``first`` is a call of a generator function. Whatever it yields is a call of one too, whose result it is
    sent. What any of them raises ends all of them.
    """
    calls, result = [first], None
    while calls:
        try:
            calls.append(calls[-1].send(result))
            result = None
        except StopIteration as end:
            calls.pop()
            result = end.value
    return result
