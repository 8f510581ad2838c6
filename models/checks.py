"""Checks of what is given: each refusal is one line with the field, the index and the value."""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np

MOST_WHOLE = 2**53 - 1
"""The largest whole number that is read: up to here all of them are exact, in every program and format."""

MOST_LISTED = 50
"""Most names that a refusal lists."""

SMALLEST = sys.float_info.min
"""The number nearest to 0 that is read, 2.2e-308: below it floats lose digits."""


class ClairvoyantError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(ClairvoyantError, ValueError):
    """Input that cannot be used: it names the field, the index and the value, before any work is done."""


class ShapeError(InputError):
    """Numbers in another shape; ``axes`` names those of its axes whose lengths something else has said."""

    axes: Sequence[str] = ()


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return what ends the refusal of an unknown name: the known one that is most like it, if any is.

    Those that begin with it come first; if they all go on for long, up to three are named.
    """
    if not isinstance(name, str) or not name:
        return ""
    options = list(known)
    begun = [one for one in options if one.startswith(name)]
    close = difflib.get_close_matches(name, begun or options, 1) or begun[:3]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def things(number: float, names: str) -> str:
    """Return what so many things are called: "jobs that can never finish", of which there may be one."""
    return re.sub("s(?= of | that | per | at |$)", "", names, count=1) if number == 1 else names


def refuse_unknown(data: Mapping[str, Any], known: set[str], prefix: str = "") -> None:
    """Raise for the first key that is not known, or for what is no object."""
    _refuse_no_object(data, prefix)
    for key in data:
        if key not in known:
            expected = ", ".join(sorted(known))
            raise InputError(
                f"{prefix}{key}: unknown field; expected one of {expected}{did_you_mean(key, sorted(known))}"
            )


def _refuse_no_object(data: Any, prefix: str) -> None:
    if not isinstance(data, Mapping):
        raise InputError(f"{prefix.rstrip('.') or 'instance'}: {data!r} is not an object")


def need(data: Mapping[str, Any], key: str, prefix: str = "") -> Any:
    """Return a field that must be there."""
    _refuse_no_object(data, prefix)
    if key not in data:
        raise InputError(f"{prefix}{key}: missing field")
    return data[key]


def whole(field: str, value: Any, low: int, high: float = math.inf) -> int:
    """Return a whole number from ``low`` to ``high``, or raise an InputError."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        upper = "" if high == math.inf else f" and at most {high:.0f}"
        raise InputError(f"{field}: {_shown(value)} is not a whole number of at least {low}{upper}")
    if int(value) > MOST_WHOLE:
        raise InputError(f"{field}: {_shown(value)} {TOO_LARGE}")
    return int(value)


def real(field: str, value: Any, low: float, high: float = math.inf) -> float:
    """Return a finite number from ``low`` to ``high``, or raise an InputError."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{field}: {value!r} is not a finite number")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise InputError(f"{field}: {_shown(value)} is not a finite number")
    if 0.0 < abs(result) < SMALLEST:
        raise InputError(f"{field}: {value!r} {TOO_SMALL}")
    if not low <= result <= high:
        upper = "" if high == math.inf else f" and at most {high:g}"
        raise InputError(f"{field}: {value!r} is not at least {low:g}{upper}")
    return result + 0.0  # -0.0 becomes 0.0, so that equal numbers give equal digests


def _shown(value: Any) -> str:
    """Return a number as an error tells it: Python does not print thousands of digits."""
    return repr(value) if not isinstance(value, int) or value.bit_length() <= 2048 else "a number so long"


def choose(name: Any, known: Iterable[str], field: str) -> str:
    """Return ``name`` if it is known, or raise an InputError that lists what is, the likest name last."""
    options = list(known)
    if not isinstance(name, str) or name not in options:
        there = ", ".join(options) if len(options) <= MOST_LISTED else f"the {len(options)} there are"
        raise InputError(f"{field}: {name!r} is not one of {there}{did_you_mean(name, options)}")
    return name


def numbers(
    value: Any,
    field: str,
    shape: tuple[int | None, ...],
    *,
    low: float = 0.0,
    high: float = np.inf,
    integer: bool = False,
) -> np.ndarray:
    """Turn nested lists or an array into a read-only array of checked numbers.

    ``None`` in the shape stands for any length; ``low`` and ``high`` are both allowed. The first entry at
    fault is refused by field, index and value.
    """
    array = _regular(value, field, len(shape))
    if array.size == 0 and len(shape) == 2 and array.ndim == 1 and shape[1] is not None:
        array = array.reshape(0, shape[1])
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        expected = " x ".join("n" if n is None else str(n) for n in shape)
        got = " x ".join(map(str, array.shape)) or "a single number"
        raise ShapeError(f"{field}: shape {got} does not fit, expected {expected}")
    if not _sound(array, low, high, integer):
        ok = np.isfinite(array) & (array >= low) & (array <= high)
        if integer:
            ok &= array == np.floor(array)
        kind = "a whole number" if integer else "a finite number"
        upper = "" if high == np.inf else f" and at most {high:.12g}"
        refuse_first(~ok, array, field, f"is not {kind} of at least {low:.12g}{upper}")
        refuse_first((array != 0.0) & (abs(array) < SMALLEST), array, field, TOO_SMALL)
        if integer:
            refuse_first(abs(array) > MOST_WHOLE, array, field, TOO_LARGE)
    array = array + 0.0  # -0.0 becomes 0.0, so that equal numbers give equal digests
    result = np.asarray(array, dtype=np.int64 if integer else np.float64, order="C")
    result.setflags(write=False)
    return result


def _sound(array: np.ndarray, low: float, high: float, integer: bool) -> bool:
    """Tell at a glance that numbers are as they have to be; others are looked at closely."""
    if not array.size:
        return True
    least, most = float(array.min()), float(array.max())  # no number if any entry is none
    if not (low <= least and most <= high and abs(least) < np.inf and abs(most) < np.inf):
        return False
    if integer:
        return max(-least, most) <= MOST_WHOLE and bool((array == np.floor(array)).all())
    return least >= SMALLEST or not ((array != 0.0) & (abs(array) < SMALLEST)).any()


TOO_SMALL = "is nearer to 0 than 2.2e-308, where numbers lose digits"
TOO_LARGE = f"is beyond {MOST_WHOLE}, up to which whole numbers are exact"


def refuse_first(wrong: np.ndarray, array: np.ndarray, field: str, why: str) -> None:
    """Raise for the first entry that is wrong."""
    if not wrong.any():
        return
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = "".join(f"[{i}]" for i in index)
    raise InputError(f"{field}{where}: {repr(float(array[index])).removesuffix('.0')} {why}")


def refuse_masked(array: Any, field: str) -> None:
    """Raise for the first entry of a masked array that is masked: what lies below it is no number."""
    if isinstance(array, np.ma.MaskedArray):
        refuse_first(np.ma.getmaskarray(array), array.data, field, "is masked")


def _is_row(node: Any) -> bool:
    return isinstance(node, (list, tuple)) or (isinstance(node, np.ndarray) and node.ndim > 0)


def _is_plain(value: Any, depth: int) -> bool:
    """Tell at a glance that lists are regular and hold numbers; others are looked at closely."""
    level = [value]
    for _ in range(depth):
        if not {*map(type, level)} <= {list, tuple} or len({*map(len, level)}) > 1:
            return False
        level = list(chain.from_iterable(level))
    return {*map(type, level)} <= {int, float}


def _regular(value: Any, field: str, depth: int) -> np.ndarray:
    """Return a float array, or say which entry is not a number or which row has another length."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        refuse_masked(value, field)
        return value.astype(np.float64)
    if _is_plain(value, depth):
        with suppress(OverflowError):  # of a whole number, which is then looked for
            return np.asarray(value, dtype=np.float64)

    def walk(node: Any, index: tuple[int, ...]) -> None:
        where = field + "".join(f"[{i}]" for i in index)
        if len(index) == depth:
            if isinstance(node, bool) or not isinstance(node, (int, float, np.integer, np.floating)):
                raise InputError(f"{where}: {node!r} is not a number")
            if isinstance(node, int) and abs(node) > sys.float_info.max:
                raise InputError(f"{where}: a whole number beyond 1.8e308 is too large")
            return
        if not _is_row(node):
            raise InputError(f"{where}: {node!r} is not a list")
        first = len(node[0]) if len(node) and _is_row(node[0]) else None
        for i, child in enumerate(node):
            walk(child, (*index, i))
            if first is not None and len(child) != first:
                raise InputError(f"{where}[{i}]: length {len(child)} differs from {first} of the first row")

    walk(value, ())
    return np.asarray(value, dtype=np.float64)
