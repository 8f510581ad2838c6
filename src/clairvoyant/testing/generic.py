"""Which kit a problem has: its own, or one made from its generator and what its instances reveal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from ..models import draw
from ..models.base import InputError, Instance
from ..problems import PluginError, find
from .graph import canonical
from .kit import KITS, LONG, Kit, ProblemCheckError

SEEDS = range(3)
"""Of the ordinary instances; those after them give other events."""

OTHERS = 8
"""Instances that events are taken from."""


def find_kit(problem: str) -> Kit:
    """Return the kit of a problem: the registered one, else that of its record, else a generic one.

    Raises
    ------
    InputError
        If there is no such problem, or it has no generator either.
    """
    if problem in KITS:
        return KITS[problem]
    record = find(problem)
    return record.part("kit") if record.has("kit") else generic_kit(problem, record.part("generate"))


def generic_kit(problem: str, generate: Callable[..., Instance]) -> Kit:
    """Return what can be known about a problem without a word on it.

    Ordinary instances are generated ones of size "tiny", and a long one is the beginning of one of size
    "default". Where the class of the instances names in ``revealed`` the lists of its JSON form that have an
    entry per event, these are cut, repeated and replaced. What then remains unchecked is told by name.

    Parameters
    ----------
    problem
        Its name.
    generate
        A function of a size and a seed.
    """
    tiny = partial(generate, "tiny")
    example = _sound(problem, tiny)
    alter = partial(_altered, tiny)
    unchecked = {"degenerate_instances": "no kit gives instances with extreme numbers or settings"}
    if not example.revealed:
        why = f"{type(example).__name__}.revealed names no lists of the JSON form with an entry per event"
        unchecked |= dict.fromkeys(("no_peeking", "holds_no_instance", "nothing_handed_over"), why)
    elif not any(
        True for seed in SEEDS for event in range(3) for _ in alter(tiny(seed), event, example.shows)
    ):
        unchecked["no_peeking"] = (
            "no change of what is revealed later gives an instance with the same setting"
        )
    elif len(example.shows) > 1:
        unchecked["no_peeking"] = "of an event that is seen in part, nothing is altered but what follows it"
    columns = [of for name in example.revealed for of in _columns(example.to_dict()[name])]
    if sum(1 for _ in _secrets(example)) < len(columns):
        why = "copies are looked for of events that are numbers, or as many numbers each, alone"
        unchecked |= dict.fromkeys(("holds_no_instance", "nothing_handed_over"), why)
    if not _drawn_by_streams(tiny, example):
        unchecked["tries_no_seeds"] = "the generator does not draw from clairvoyant.models.draw.streams"
    return Kit(
        problem,
        lambda: {f"tiny, seed {seed}": tiny(seed) for seed in SEEDS},
        lambda: _cut(tiny(0)),
        example.shows,
        alter,
        _secrets,
        long=partial(_long, generate),
        sampled=tiny,
        unchecked=unchecked,
    )


def _sound(problem: str, tiny: Callable[[int], Instance]) -> Instance:
    """Return an example; a PluginError if another call gives another one, or ``revealed`` names no list."""
    example, again = tiny(0), tiny(0)
    if not isinstance(example, Instance):
        raise PluginError(f"problem {problem!r}: generate returned {example!r:.60}, which is no instance")
    of, lists = example.revealed, {k: one for k, one in example.to_dict().items() if isinstance(one, list)}
    lacking = [name for name in of if name not in lists]
    why = ""
    if again != example:
        why = "generate gives different instances for size tiny and seed 0"
    elif isinstance(of, str):
        why = f"revealed: {of!r} is a text, not a tuple of texts"
    elif lacking:
        why = f"revealed: {lacking[0]!r} is no list of the JSON form; lists are {', '.join(lists) or 'none'}"
    elif len({len(lists[name]) for name in of}) > 1:
        why = f"revealed: the lists {', '.join(of)} of the JSON form have different lengths"
    if why:
        raise PluginError(f"problem {problem!r}: {why}")
    return example


def _events(instance: Instance) -> list[tuple[Any, ...]]:
    """Return what is revealed event by event."""
    data = instance.to_dict()
    return list(zip(*(data[field] for field in instance.revealed), strict=True))


def _with(instance: Instance, events: Sequence[tuple[Any, ...]]) -> list[Instance]:
    """Return the instance with other events; nothing if there is none."""
    data = instance.to_dict()
    data |= {field: [event[i] for event in events] for i, field in enumerate(instance.revealed)}
    try:
        return [type(instance).from_dict(data)]
    except InputError:
        return []
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise ProblemCheckError(
            f"{type(instance).__name__}.from_dict raises {told}; of what is no instance, it must be an "
            "InputError"
        ) from error


def _cut(instance: Instance) -> dict[str, Instance]:
    """Return instances with no events, one event, and one event again and again, as far as they are valid."""
    events = _events(instance) if instance.revealed else []
    kinds = {"no events": [], "one event": events[:1], "events alike": events[:1] * len(events)}
    return {name: one for name, few in kinds.items() if instance.revealed for one in _with(instance, few)}


def _long(generate: Callable[..., Instance]) -> dict[str, Instance]:
    """Return the beginning of an instance of many events, if there is one."""
    instance = generate("default", 0)
    events = _events(instance) if instance.revealed else []
    found = _with(instance, events[: 2 * LONG]) if len(events) >= LONG else []
    return dict(zip(["the beginning of a default one"], found, strict=False))


def _altered(
    tiny: Callable[[int], Instance],
    instance: Instance,
    event: int,
    sees: frozenset[str],
    _decisions: Sequence[Any] = (),
) -> Iterator[Instance]:
    """Yield instances with the same setting whose events differ after those that are shown at ``event``."""
    if not instance.revealed or (sees and sees != instance.shows):
        return
    events, setting = _events(instance), canonical(instance.setting)
    keep = event + (sees == instance.shows)
    later = events[keep:]
    tails = [[], later[::-1], events[: len(later)], events[max(0, keep - 1) : keep] * len(later)]
    tails += [_events(tiny(len(SEEDS) + i))[keep:] for i in range(OTHERS)]
    for tail in tails:
        for other in _with(instance, [*events[:keep], *tail]):
            if other != instance and canonical(other.setting) == setting:
                yield other


def _secrets(instance: Instance) -> Iterator[np.ndarray]:
    """Yield the numbers of the events, each kind as an array, where all have one shape."""
    data = instance.to_dict()
    for name in instance.revealed:
        for column in _columns(data[name]):
            try:
                array = np.asarray(column)
            except ValueError:  # entries of different shape
                continue
            if len(array) and array.dtype.kind in "iuf":
                yield array


def _columns(rows: list[Any]) -> Iterator[list[Any]]:
    """Yield rows, or if they are objects what they have of each key."""
    if any(isinstance(row, dict) for row in rows):
        known = [row for row in rows if isinstance(row, dict)]
        for key in dict.fromkeys(key for row in known for key in row):
            yield [row[key] for row in known if key in row]
    else:
        yield rows


def _drawn_by_streams(tiny: Callable[[int], Instance], example: Instance) -> bool:
    """Tell whether other random streams give another instance."""
    with mock.patch.object(draw, "source", lambda seed, stream: np.random.SeedSequence((seed, stream, 1))):
        return tiny(0) != example
