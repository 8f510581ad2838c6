"""What generators and trace readers of all problems share: options, checks of them, and random streams."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, get_type_hints

import numpy as np

from .checks import InputError as InputError
from .checks import choose as choose
from .checks import real as real
from .checks import whole as whole

P = ParamSpec("P")
T = TypeVar("T")


def takes(options: type) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Give ``**options`` that a TypedDict declares their defaults, and say them in the function's signature.

    The TypedDict declares each option once, as ``Annotated[type, default]`` or, with what the docstring is to
    say of it where it does not do so itself, ``Annotated[type, default, meaning]``.
    """
    hints = get_type_hints(options, include_extras=True)
    meanings = {name: hint.__metadata__[1] for name, hint in hints.items() if len(hint.__metadata__) > 1}

    def declare(function: Callable[P, T]) -> Callable[P, T]:
        own = inspect.signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=hint.__metadata__[0], annotation=hint.__origin__
            )
            for name, hint in hints.items()
            if name not in own.parameters
        ]
        signature = own.replace(parameters=[*kept, *more])

        @wraps(function)
        def filled(*args: P.args, **given: P.kwargs) -> T:
            bound = signature.bind(*args, **given)
            bound.apply_defaults()
            return function(*bound.args, **bound.kwargs)

        filled.__signature__ = signature  # type: ignore[attr-defined]
        filled.__doc__ = _told(function.__doc__ or "", signature.parameters, meanings)
        return filled

    return declare


SHARED = {
    "folder": "Folder of traces in the layout that ``models/sources.py`` names; nothing else is read.",
    "seed": "Decides every draw; >= 0.",
}
"""What arguments of the same name mean in all of them."""

FILES = "For an argument out of range, or a file that is missing, damaged, malformed or too short."


def _told(text: str, names: Collection[str], meanings: Mapping[str, str]) -> str:
    """Return a docstring with what it does not say of arguments and errors: those all share, then options."""
    text, header = inspect.cleandoc(text), "Parameters\n----------\n"
    if header not in text:
        return text

    def entries(known: Mapping[str, str]) -> list[str]:
        mute = (n for n in known if not re.search(rf"^(\w.*, )?{n}(, .*)?$", text, re.MULTILINE))
        return [f"{name}\n    {known[name]}" for name in mute if name in names]

    before, _, after = text.partition(header)
    own, _, rest = after.partition("\n\n")
    if "Raises\n" not in rest:
        why = FILES if "folder" in names else "Naming the argument and its value."
        rest += f"Raises\n------\nInputError\n    {why}"
    return before + header + "\n".join([*entries(SHARED), own, *entries(meanings)]) + "\n\n" + rest


def given(value: T | None, default: T) -> T:
    """Return an option, or what stands for it where it is not given."""
    return default if value is None else value


def streams(*names: str) -> Callable[[int, str], np.random.Generator]:
    """Return a function of a seed and one of these names: each name has an independent random stream.

    Whatever is drawn from a stream of its own does not change when something else is drawn otherwise. Further
    names go to the end, so that the streams of the others stay as they are.
    """

    def stream(seed: int, name: str) -> np.random.Generator:
        """Return the random stream of one quantity."""
        return np.random.default_rng(source(seed, names.index(name)))

    return stream


def source(seed: int, stream: int) -> np.random.SeedSequence:
    """Return what a stream of every generator and trace reader draws from."""
    return np.random.SeedSequence(seed, spawn_key=(stream,))


def truth(field: str, value: Any) -> bool:
    """Return True or False, or raise an InputError for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{field}: {value!r} is neither true nor false")
    return bool(value)


def interval(field: str, value: Any, high: float = math.inf) -> tuple[float, float]:
    """Return a pair (smallest, largest) of numbers from 0 to ``high``, or raise an InputError."""
    first, last = (real(f"{field}[{i}]", v, 0.0, high) for i, v in enumerate(pair(field, value)))
    if first > last:
        raise InputError(f"{field}: {value!r} does not increase")
    return first, last


def whole_interval(field: str, value: Any, high: float = math.inf) -> tuple[int, int]:
    """Return a pair (smallest, largest) of whole numbers from 0 to ``high``, or raise an InputError."""
    first, last = (whole(f"{field}[{i}]", v, 0, high) for i, v in enumerate(pair(field, value)))
    if first > last:
        raise InputError(f"{field}: {value!r} does not increase")
    return first, last


def pair(field: str, value: Any) -> Sequence[Any]:
    """Return a sequence of two, or raise an InputError."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise InputError(f"{field}: {value!r} is not a pair (smallest, largest)")
    return value


def choose_some(field: str, names: Any, known: Iterable[str]) -> tuple[str, ...]:
    """Return a list of known names, none of them twice, or raise an InputError."""
    if not isinstance(names, Sequence) or isinstance(names, str):
        raise InputError(f"{field}: {names!r} is not a list of names")
    for i, name in enumerate(names):
        choose(name, known, f"{field}[{i}]")
        if name in names[:i]:
            raise InputError(f"{field}[{i}]: {name!r} stands twice")
    return tuple(names)
