"""The optima that the verdict of a check rests on, and what proves each of them.

A check asks an oracle by :func:`relied_on`, or tells by :func:`rest_on` what it has found otherwise. Within
:func:`noting`, as when a claim is checked, certificates are written in memory and verified wherever the
oracle writes them; without it, as in a library, an oracle is asked and that is all.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, TypeVar

from ..models.base import Instance
from ..oracles.base import VERIFIED, Optimum, OracleEntry

Found = TypeVar("Found")

_noted: ContextVar[dict[str, str]] = ContextVar("optima")


@contextmanager
def noting() -> Iterator[dict[str, str]]:
    """Collect what proves the optima that are relied on: a text by the name of each."""
    found: dict[str, str] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def relied_on(name: str, entry: OracleEntry, instance: Instance, **options: Any) -> Optimum[Any]:
    """Return the optimum of an instance by the oracle of this name, and note what proves it."""
    found = entry.optimum(name, instance, **options)
    if _noted.get(None) is not None:
        rest_on(name, instance, prover(name, entry, instance, found))
    return found


def prover(name: str, entry: OracleEntry, instance: Instance, found: Optimum[Any]) -> str:
    """Return what proves an optimum: its certificate, which is verified here, or else what proved its bound.

    What is kept of it depends on :data:`.CHECKER` as well. A certificate that fails is an OracleError.
    """
    if entry.writer is not None and entry.named(name, instance, found).verified().certified:
        return VERIFIED
    return method_of(found)


def method_of(found: Optimum[Any]) -> str:
    """Return what proved the bound of an optimum, without the size of the search."""
    return re.sub(r", [\d,]+ nodes?$", "", found.method.rpartition("bound: ")[2])


def rest_on(name: str, instance: Instance, proved_by: str) -> None:
    """Note that a verdict rests on what an oracle finds of an instance, and what proves that."""
    _noted.get({})[f"{name} of {instance.problem} {instance.digest()}"] = proved_by


def remembered(function: Callable[..., Found]) -> Callable[..., Found]:
    """Return a function that computes once what it is asked for, and notes its optima every time."""
    signature = inspect.signature(function)

    @cache
    def made(*arguments: Any, **named: Any) -> tuple[Found, dict[str, str]]:
        with noting() as noted:
            return function(*arguments, **named), noted

    @wraps(function)
    def again(*arguments: Any, **named: Any) -> Found:
        asked = signature.bind(*arguments, **named)
        asked.apply_defaults()
        found, noted = made(*asked.args, **asked.kwargs)
        _noted.get({}).update(noted)
        return found

    return again


def in_all(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return how many optima of several findings are proved by what, those with certificates first."""
    total = sum(map(Counter, counts), Counter[str]())
    return {one: total[one] for one in sorted(total, key=lambda one: (one != VERIFIED, one))}


def share(optima: Mapping[str, int]) -> str:
    """Return what counts say of the certificates."""
    others = [f"{prover} ({count:,})" for prover, count in optima.items() if prover != VERIFIED]
    text = f"{optima.get(VERIFIED, 0):,} of {sum(optima.values()):,} have a verified certificate"
    return text + (f"; the others rest on {'; '.join(others)}" if others else "")
