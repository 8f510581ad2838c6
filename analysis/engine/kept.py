"""Runs and optima that are computed once: taken from a store, or handed over to be kept as they are found.

Within :func:`keeping` a result is looked for by its key, and believed only if it is whole; one that is not
there is computed and handed over. Without it, as in a library or a test, it is computed. The functions of a
problem's ``experiments.py`` call :func:`run_of`, :func:`optimum_of` and :func:`result_of`, and remember what
these return for as long as the process lives. Data are numbers, texts and arrays by name, and such again.
"""

from __future__ import annotations

import logging
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from ...models import stopwatch
from ...models.base import InputError, Instance
from ...online.base import Policy
from ...online.play import Run
from ...online.play import play as play_watched
from ...online.views import Predicted
from ...oracles.base import Optimum, OracleEntry, WhyStopped
from . import identity
from .cells import Answer, Cell, State, key_of

Data = dict[str, Any]

FORM = 1  # the form in which data are kept
CHECK = "check"  # the name under which a result holds a hash of its key and of all else in it

log = logging.getLogger("clairvoyant")


Look = Callable[[str], Answer | None]
"""Returns what is known by a key; None if nothing is. An InputError says that it is damaged."""

Keep = Callable[[Cell, Answer], None]  # is handed what was computed

_session: ContextVar[tuple[Look, Keep] | None] = ContextVar("kept", default=None)


@contextmanager
def keeping(look: Look, keep: Keep) -> Iterator[None]:
    """Let results be taken from a store by their keys, and handed over to be kept there."""
    token = _session.set((look, keep))
    try:
        yield
    finally:
        _session.reset(token)


def play(policy: Policy, instance: Instance, seed: int = 0, **options: Any) -> Run[Any]:
    """Return :func:`.play.play` with these options; policies of ours, which pass its check, are trusted."""
    return play_watched(policy, instance, seed, trusted=_ours(policy), **options)


def decided(policy: Policy, instance: Instance, seed: int = 0, **options: Any) -> np.ndarray:
    """Return what a policy decides in every slot when played so; decisions are arrays of one shape."""
    return np.array(play(policy, instance, seed, keep_decisions=True, **options).decisions)


def _ours(policy: Policy) -> bool:
    """Return whether all that plays is of the package: its own class, and no model or view of somebody."""
    made, module = type(policy), type(policy).__module__
    there = module.startswith(f"{identity.PACKAGE}.online.") and not isinstance(policy, Predicted)
    return there and getattr(sys.modules[module], made.__qualname__, None) is made


def run_of(
    policy: Policy,
    instance: Instance,
    seed: int,
    reduce: Callable[[Any, Run[Any]], Data],
    *,
    decisions: bool = True,
    measures: Callable[..., Any] | None = None,
) -> Data:
    """Return what is kept of a run: what ``reduce`` makes of the instance and the run.

    Of the runs of some problems more is measured than their total; the data then hold it as ``measures``.
    """

    def compute() -> tuple[Data, Data, bool]:
        run = play(policy, instance, seed, keep_decisions=decisions)
        data = reduce(instance, run)
        return identity.told_of_run(run, data["measures"] if measures else {}), data, True

    parts = partial(identity.parts_of_run, policy, seed, type(instance), measures)
    return _kept(identity.PLAYED, f"{policy.name} on", instance, parts, compute, reduce)


def optimum_of(
    name: str,
    entry: OracleEntry,
    instance: Instance,
    options: Mapping[str, Any],
    reduce: Callable[[Any, Optimum[Any]], Data] | None = None,
) -> Data:
    """Return what is kept of an optimum: by default what a sweep keeps, :func:`.identity.told_of_optimum`.

    What a time limit has ended is not kept: on another day it would be another one.
    """

    def compute() -> tuple[Data, Data, bool]:
        optimum = entry.optimum(name, instance, **options)
        told = identity.told_of_optimum(optimum)
        data = told if reduce is None else reduce(instance, optimum)
        return told, data, optimum.why_stopped is not WhyStopped.TIME_LIMIT

    parts = partial(identity.parts_of_optimum, name, entry.function, options, type(instance))
    return _kept(identity.SOLVED, f"{name} of", instance, parts, compute, reduce)


def result_of(function: Callable[..., Data], instance: Instance, *arguments: Any) -> Data:
    """Return what a function finds by models and oracles; JSON can hold its arguments."""

    def compute() -> tuple[Data, Data, bool]:
        data = function(instance, *arguments)
        return data, data, True

    def parts() -> Data:
        source = identity.source_for(instance.problem, function, ("models", "oracles"), type(instance))
        return {"arguments": arguments, "source": source, "form": FORM}

    kind = f"{function.__module__}:{function.__qualname__}"
    return _kept(kind, f"{function.__name__.strip('_')} of", instance, parts, compute, None)


def _kept(
    kind: str,
    what: str,
    instance: Instance,
    parts: Callable[[], Data],
    compute: Callable[[], tuple[Data, Data, bool]],
    reduce: Callable[..., Data] | None,
) -> Data:
    """Return data from the store if they are there; else they are computed and, if lasting, kept.

    What is computed is that which a sweep keeps under the key of the parts, data, and whether they last. Data
    that are reduced have a key of their own, and are kept beside the other.
    """
    session = _session.get()
    if session is None:
        return compute()[1]
    look, keep = session
    own = key = identity.key_for(kind, instance.problem, instance.digest(), parts())
    if reduce is not None:
        own = key_of(of=key, by=identity.source_of_function(reduce), form=FORM)
    found = _looked_up(look, own)
    if found is not None:
        return found
    begin = stopwatch.now()
    told, data, lasting = compute()
    seconds = stopwatch.now() - begin
    new = {own: data} if lasting else {}
    if lasting and own != key and _looked_up(look, key) is None:  # or it has the name that a sweep gave it
        new = {key: told, own: data}
    arguments = {"problem": instance.problem, "digest": instance.digest()}
    for one, result in new.items():
        cell = Cell(one, f"{what} {instance.problem} {instance.digest()}", f"{__name__}:kept", arguments)
        keep(cell, Answer(State.DONE, signed(one, result), "", seconds))
    return data


def _looked_up(look: Look, key: str) -> Data | None:
    """Return what the store knows by a key, if it is whole."""
    try:
        answer = look(key)
    except InputError as error:
        log.warning("%s; it is computed anew", error)
        return None
    if answer is None or answer.state is not State.DONE or not believed(key, answer):
        return None
    found: Data = unpacked(answer.result)
    del found[CHECK]
    return found


def signed(key: str, result: Mapping[str, Any]) -> Data:
    """Return a result in the form of JSON, with a hash of its key and of all that is in it."""
    found = packed(result)
    return {**found, CHECK: key_of(key=key, result=found)}


def intact(key: str, result: Any) -> bool:
    """Return whether a result is whole, and that of this key."""
    if not isinstance(result, dict):
        return False
    rest = {name: value for name, value in result.items() if name != CHECK}
    return result.get(CHECK) == key_of(key=key, result=rest)


def believed(key: str, answer: Answer) -> bool:
    """Return whether an answer has no result, or one that is whole and of its key; say so if it has not."""
    if answer.state is not State.DONE or intact(key, answer.result):
        return True
    log.warning("what is kept as %s is damaged, or of something else; it is not used", key)
    return False


def packed(data: Any, where: str = "result") -> Any:
    """Return data in the form of JSON, from which :func:`unpacked` makes them again, bit by bit.

    An InputError names what JSON would give another name: 1 would come back as "1", and in another order.
    """
    if isinstance(data, Mapping):
        for name in data:
            if not isinstance(name, str):
                raise InputError(f"{where}: the name {name!r} is not a text")
        return {name: packed(value, f"{where}[{name!r}]") for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [packed(value, f"{where}[{index}]") for index, value in enumerate(data)]
    if isinstance(data, np.generic):  # a number of NumPy's
        return data.item()
    if not isinstance(data, np.ndarray):
        return data
    held = zlib.compress(np.ascontiguousarray(data).tobytes(), 1)
    return {"dtype": data.dtype.str, "shape": list(data.shape), "bytes": b64encode(held).decode()}


def unpacked(data: Any) -> Any:
    """Return what was packed, with lists in place of tuples."""
    if isinstance(data, list):
        return [*map(unpacked, data)]
    if not isinstance(data, Mapping):
        return data
    if data.keys() != {"dtype", "shape", "bytes"}:
        return {name: unpacked(value) for name, value in data.items()}
    held = zlib.decompress(b64decode(data["bytes"]))
    return np.frombuffer(held, dtype=data["dtype"]).reshape(data["shape"]).copy()
