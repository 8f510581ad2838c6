"""What files hold, declared once: the checks, the JSON form and the JSON Schema of a field come from there.

A :class:`Record` is a list of fields, each of a *kind*: numbers, names, texts, other records. A kind reads a
value, writes it and says in a JSON Schema what it reads. Lengths are named ("L", "K"): the first list that
has one says what it is, and all others must have the same; a constructor may say it beforehand.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .checks import (
    MOST_WHOLE,
    InputError,
    ShapeError,
    choose,
    need,
    numbers,
    real,
    refuse_first,
    refuse_unknown,
    things,
    whole,
)

Sizes = dict[str, int]
"""Lengths of axes, and whatever else limits a number, by name."""


class Kind(ABC):
    """What a field may hold."""

    @abstractmethod
    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return a checked value, or raise an InputError that calls it ``where``."""

    def write(self, value: Any) -> Any:
        """Return the JSON form of what was read."""
        return value.tolist() if isinstance(value, np.ndarray) else value

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what is read; never stricter than :meth:`read`."""


@dataclass(frozen=True)
class Field:
    """One field of a record."""

    name: str  # its name; that of a field within an object has a dot, as in ``utility.alpha``
    kind: Kind
    meaning: str
    optional: bool = False  # whether it may be left out
    null: bool = False  # whether null means the same as leaving it out
    absent: Any = None  # what is left out when it is written
    argument: str = ""  # what constructors call it, and the digest; by default the last part of its name
    # The attribute that holds it: of the ``setting`` unless it is ``hidden``; by default the argument.
    at: str = ""
    hidden: bool = False  # whether policies are not shown it before they start
    counts: bool = True  # whether instances that differ in it are different

    def __post_init__(self) -> None:
        argument = self.argument or self.name.rpartition(".")[2]
        object.__setattr__(self, "argument", argument)
        object.__setattr__(self, "at", self.at or argument)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the field, with its meaning."""
        schema = {"description": self.meaning} | self.kind.schema()
        if self.null:
            schema["type"] = [schema["type"], "null"]
            if "enum" in schema:
                schema["enum"] = [*schema["enum"], None]
        return schema


@dataclass(frozen=True)
class Number(Kind):
    """A number, or nested lists of numbers, read as an array."""

    axes: tuple[str | int, ...] = ()  # lengths of the nested lists; a number is one that is fixed
    # low, high: from what to what, both included; a text is looked up among the sizes.
    low: float = 0.0
    high: float | str = np.inf
    above: bool = False  # whether it must be more than ``low``
    integer: bool = False  # whether it must be whole
    least: float = 0.0  # the smallest that is not 0, of numbers from 0 on
    unit: int = 0  # if not 0, it must be a whole multiple of 1 / unit, a power of ten
    some: str = ""  # what an instance needs, where the lists must not be empty
    each: str = ""  # where rows of the first axis have lengths of their own: what it counts

    def __post_init__(self) -> None:
        if self.least and (self.low != 0.0 or self.above):
            raise InputError(f"least: {self.least:g} is for numbers from 0 on, not from {self.low:g}")

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return a number, a read-only array, or a list of arrays if ``each`` row has lengths of its own."""
        if not self.axes:
            return self._single(value, where, self._highest(sizes))
        if not self.each:
            return self._array(value, where, self.axes, sizes)
        count = sizes[str(self.axes[0])]
        if not isinstance(value, (list, tuple)) or len(value) != count:
            raise InputError(f"{where}: expected a list of {count} lists, one per {self.each}")
        own = {k: n for k, n in sizes.items() if k not in self.axes[:-1]}
        return [self._array(rows, f"{where}[{i}]", self.axes[1:], dict(own)) for i, rows in enumerate(value)]

    def _highest(self, sizes: Sizes) -> float:
        return sizes[self.high] if isinstance(self.high, str) else self.high

    def _single(self, value: Any, where: str, high: float) -> float:
        if self.integer:
            return whole(where, value, int(self.low), high)
        number = real(where, value, self.low, high)
        if self.above and number == self.low:
            raise InputError(f"{where}: {value!r} is not above {self.low:g}")
        if 0.0 < number < self.least:
            raise InputError(f"{where}: {value!r} {self._too_small}")
        if not self.unit or number.is_integer():
            return number
        exact = round(number * self.unit) / self.unit
        if exact != number:
            raise InputError(f"{where}: {value!r} {self._too_fine}")
        return exact

    def _array(self, value: Any, where: str, axes: tuple[str | int, ...], sizes: Sizes) -> np.ndarray:
        shape = tuple(sizes.get(n) if isinstance(n, str) else n for n in axes)
        high = self._highest(sizes)
        try:
            array = numbers(value, where, shape, low=self.low, high=high, integer=self.integer)
        except ShapeError as error:
            error.axes = [str(n) for n in axes if n in sizes]
            raise
        if self.above:
            refuse_first(array == self.low, array, where, f"is not above {self.low:g}")
        if self.least:
            refuse_first((array > 0) & (array < self.least), array, where, self._too_small)
        if self.unit:
            parts = np.where(np.rint(array) == array, 0.0, array)  # others may be too large to multiply
            refuse_first(np.rint(parts * self.unit) / self.unit != parts, array, where, self._too_fine)
        if self.some and not array.size:
            raise InputError(f"{where}: empty; an instance needs {self.some}")
        for name, count in zip(axes, array.shape, strict=True):
            sizes.setdefault(str(name), count)
        return array

    @property
    def _too_small(self) -> str:
        return f"is neither 0 nor at least {self.least:g}"

    @property
    def _too_fine(self) -> str:
        return f"has more than {len(str(self.unit)) - 1} decimals"

    def write(self, value: Any) -> Any:
        """Return nested lists of numbers, or a number."""
        return [rows.tolist() for rows in value] if self.each else super().write(value)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema; decimals and what sizes limit are not in it."""
        high = np.inf if isinstance(self.high, str) else self.high
        high = min(high, MOST_WHOLE) if self.integer else high
        schema: dict[str, Any] = {"type": "integer" if self.integer else "number"}
        if self.least:
            schema["anyOf"] = [{"const": 0}, {"minimum": self.least}]
        elif self.low > -np.inf:
            schema["exclusiveMinimum" if self.above else "minimum"] = plain(self.low)
        schema |= {} if high == np.inf else {"maximum": plain(high)}
        for n in reversed(self.axes):
            exactly = (
                {"minItems": n, "maxItems": n} if isinstance(n, int) else {"minItems": 1} if self.some else {}
            )
            schema = {"type": "array", "items": schema} | exactly
        return schema


def plain(number: float) -> float:
    """Return a number without a fraction as a whole one."""
    return int(number) if abs(number) <= MOST_WHOLE and number == int(number) else number


@dataclass(frozen=True)
class Choice(Kind):
    """One of some names, or lists of lists of them, read as an array of their places among them."""

    names: tuple[str, ...]
    axes: tuple[str, ...] = ()

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the name, or the array of places."""
        if not self.axes:
            return choose(value, self.names, where)
        codes = {name: code for code, name in enumerate(self.names)}
        rows, (count, width) = super().write(value), (sizes[n] for n in self.axes)
        if not isinstance(rows, (list, tuple)) or len(rows) != count:
            raise InputError(f"{where}: expected a list of {count} lists of names")
        found = []
        for r, row in enumerate(rows):
            if not isinstance(row, (list, tuple)) or len(row) != width:
                raise InputError(f"{where}[{r}]: {row!r} is not a list of {width} names")
            found.append([codes[choose(name, codes, f"{where}[{r}][{k}]")] for k, name in enumerate(row)])
        array = np.array(found, dtype=np.int64).reshape(count, width)
        array.setflags(write=False)
        return array

    def write(self, value: Any) -> Any:
        """Return the names."""
        return [[self.names[code] for code in row] for row in value.tolist()] if self.axes else value

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        schema: dict[str, Any] = {"type": "string", "enum": list(self.names)}
        return {"type": "array", "items": {"type": "array", "items": schema}} if self.axes else schema


@dataclass(frozen=True)
class Text(Kind):
    """A text, or a list of texts, read as a tuple: with an axis as many as that says, else any number.

    ``names`` are at least one, none empty and none twice; they say how long their axis is.
    """

    listed: bool = False
    axis: str = ""
    names: bool = False

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the text, or the tuple of texts."""
        if not self.listed:
            if not isinstance(value, str):
                raise InputError(f"{where}: {value!r} is not a string")
            return value
        count = sizes.get(self.axis, -1)
        if not isinstance(value, (list, tuple)) or count not in (-1, len(value)) or len(value) < self.names:
            told = "strings" if count < 0 else f"{count} {things(count, 'names')}"
            wanted = "at least one name" if self.names else told
            raise InputError(f"{where}: {value!r} is not a list of {wanted}")
        for i, text in enumerate(value):
            if not isinstance(text, str) or (self.names and not text):
                raise InputError(f"{where}[{i}]: {text!r} is not a {'name' if self.names else 'string'}")
            if self.names and text in value[:i]:
                raise InputError(f"{where}[{i}]: {text!r} stands twice")
        if self.axis:
            sizes[self.axis] = len(value)
        return tuple(value)

    def write(self, value: Any) -> Any:
        """Return the text, or the list of texts."""
        return list(value) if self.listed else value

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        items = {"type": "string"} | ({"minLength": 1} if self.names else {})
        several = {"minItems": 1, "uniqueItems": True} if self.names else {}
        return {"type": "array", "items": items} | several if self.listed else items


class Record(Kind):
    """An object with fields, in the order in which they are written.

    Parameters
    ----------
    *fields
        The fields; those whose names begin alike, up to a dot, are within an object of that name.
    make
        The class of the things that are made of the values; without it, they are dictionaries.
    """

    def __init__(self, *fields: Field, make: type = dict) -> None:
        self.fields, self._make = fields, make
        self._kinds = {one.name: one.kind for one in fields}
        self._groups: dict[str, Record | None] = {}
        for one in fields:
            head, dot, _ = one.name.partition(".")
            mine = (f for f in fields if f.name.startswith(f"{head}."))
            within = Record(*(replace(f, name=f.name.partition(".")[2]) for f in mine)) if dot else None
            self._groups.setdefault(head, within)
        self._required = {one.name.partition(".")[0] for one in fields if not one.optional}
        if make is not dict:
            complete(make, self)

    def given(self, data: Any, where: str = "", also: Collection[str] = ()) -> dict[str, Any]:
        """Return what an object holds by the fields' names, unread; refuse unknown and missing fields."""
        known, found = self._groups.keys(), {}
        if not isinstance(data, Mapping) or not self._required <= data.keys() <= known:
            refuse_unknown(data, {*known, *also}, where)
            for name in (name for name in known if name in self._required):
                need(data, name, where)
        for name, within in self._groups.items():
            if within is None and name in data:
                found[name] = data[name]
            elif within is not None and name in data:
                if not isinstance(data[name], Mapping):
                    parts = " and ".join(", ".join(within._groups).rsplit(", ", 1))
                    raise InputError(f"{where}{name}: {data[name]!r} is not an object with {parts}")
                found |= {f"{name}.{k}": v for k, v in within.given(data[name], f"{where}{name}.").items()}
        return found

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the thing that is made of the values."""
        given = self.given(value, f"{where}.")
        return self._make(
            **{
                one.argument: one.kind.read(given[one.name], f"{where}.{one.name}", sizes)
                for one in self.fields
                if one.name in given
            }
        )

    def reader(self, sizes: Sizes) -> Callable[[str, Any], Any]:
        """Return what reads the value of a field by its name, for constructors; None is what is left out."""
        null, before = {one.name for one in self.fields if one.null}, dict[str, str]()

        def read(name: str, value: Any) -> Any:
            kind = self._kinds[name]
            try:
                found = None if value is None and name in null else kind.read(value, name, sizes)
            except ShapeError as error:
                told = (f"; {n} is {sizes[n]} by {before[n]}" for n in error.axes if n in before)
                raise InputError(f"{error}{''.join(told)}") from error
            for axis in (*getattr(kind, "axes", ()), getattr(kind, "axis", "")):
                before.setdefault(axis, name)  # which has said how long it is
            return found

        return read

    def write(self, value: Any) -> dict[str, Any]:
        """Return the JSON form of a thing that has the fields as attributes."""
        return self.written(self.present((one, getattr(value, one.at)) for one in self.fields))

    @staticmethod
    def present(values: Iterable[tuple[Field, Any]]) -> Iterator[tuple[Field, Any]]:
        """Yield the fields that are not left out, and their values."""
        for one, value in values:
            if not (one.optional and type(value) is type(one.absent) and value == one.absent):
                yield one, value

    @staticmethod
    def written(values: Iterable[tuple[Field, Any]]) -> dict[str, Any]:
        """Return the JSON form of fields with these values."""
        data: dict[str, Any] = {}
        for one, value in values:
            head, dot, name = one.name.partition(".")
            (data.setdefault(head, {}) if dot else data)[name or head] = one.kind.write(value)
        return data

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        alone = {one.name: one.schema() for one in self.fields}
        return {
            "type": "object",
            "properties": {
                name: alone[name] if part is None else part.schema() for name, part in self._groups.items()
            },
            "required": [name for name in self._groups if name in self._required],
            "additionalProperties": False,
        }


@dataclass(frozen=True)
class List(Kind):
    """A list of records."""

    record: Record
    some: str = ""

    def read(self, value: Any, where: str, sizes: Sizes) -> list[Any]:
        """Return the things that are made of the records."""
        if not isinstance(value, (list, tuple)) or (self.some and not value):
            raise InputError(
                f"{where}: {value!r} is not a list{self.some and f' of at least one {self.some}'}"
            )
        return [self.record.read(one, f"{where}[{i}]", dict(sizes)) for i, one in enumerate(value)]

    def write(self, value: Any) -> list[Any]:
        """Return the JSON form of the things."""
        return [self.record.write(one) for one in value]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        return {"type": "array", "items": self.record.schema()} | ({"minItems": 1} if self.some else {})


def look(kind: Kind) -> str:
    """Return what a value looks like."""
    axes = "".join(f"[{n}]" for n in getattr(kind, "axes", ()))
    if isinstance(kind, Number):
        return ", ".join([axes, *_amounts(kind)] if axes else _amounts(kind))
    if isinstance(kind, Choice):
        *first, last = (f"`{name}`" for name in kind.names)
        return (f"{axes}, " if axes else "") + f"{', '.join(first)} or {last}"
    if isinstance(kind, Text):
        one = "names, none twice" if kind.names else "texts"
        return (f"[{kind.axis}], {one}" if kind.axis else f"list of {one}") if kind.listed else "text"
    if isinstance(kind, List):
        return "list of objects" + (", at least one" if kind.some else "")
    if isinstance(kind, Record):
        return "object"
    schema = kind.schema()
    types = schema["items"]["type"] if schema["type"] == "array" else schema["type"]
    return ("list, each " if schema["type"] == "array" else "") + " or ".join(types)


def _amounts(kind: Number) -> Iterator[str]:
    """Yield what numbers there may be."""
    if kind.integer:
        yield "whole"
    high = kind.high if isinstance(kind.high, str) else f"{kind.high:.12g}".replace("e+", "e")
    if kind.least:
        yield f"0 or {kind.least:g} to {high}"
    elif high == "inf" or kind.above:
        yield f"{'>' if kind.above else '>='} {kind.low:g}" + ("" if high == "inf" else f", at most {high}")
    else:
        yield f"{kind.low:g} to {high}"
    if kind.unit:
        yield f"at most {len(str(kind.unit)) - 1} decimals"


def complete(kind: type, record: Record, section: str = "Attributes") -> None:
    """Say in the docstring of a class what a record declares of its fields, where it does not say so itself.

    ``kind`` has the fields as attributes, or its constructor takes them, as its "Parameters".
    """
    text, header = inspect.cleandoc(kind.__doc__ or ""), f"{section}\n{'-' * len(section)}\n"
    entries = ""
    for one in record.fields:
        name = one.argument if section == "Parameters" else one.at
        stands = re.search(rf"^(\w.*, )?{name}(, .*)?$", text, re.MULTILINE)
        if name in inspect.signature(kind).parameters and not stands:
            inner = getattr(one.kind, "record", one.kind)
            told = [look(one.kind), *(["optional"] if one.optional else [])]
            told += [part.name for part in inner.fields] if isinstance(inner, Record) else []
            meaning = f"{one.meaning.removeprefix('see below; ')} ({', '.join(told)})"
            entries += (
                f"{name}\n{textwrap.indent(textwrap.fill(meaning, 104, break_on_hyphens=False), '    ')}\n"
            )
    if entries and header not in text:
        before, raises, after = text.partition("\n\nRaises\n------\n")
        text = f"{before}\n\n{header}{raises.lstrip(chr(10)) and raises[1:]}{after}"
    kind.__doc__ = text.replace(header, header + entries, 1).rstrip("\n")
