"""Tables of one's own: columns found by usual names, times and units read, every fault by row and column."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from .base import InputError, Origin, did_you_mean, path_of, read_text, regular
from .checks import real
from .stopwatch import library

if TYPE_CHECKING:
    from narwhals import DataFrame

SECONDS = {
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
"""Units of time, in seconds."""

GIGABYTES = {
    **dict.fromkeys(("mb", "mib"), 1e-3),
    **dict.fromkeys(("gb", "gib"), 1.0),
    **dict.fromkeys(("tb", "tib"), 1e3),
}
"""Units of memory, in GB; the 7 % between GB and GiB are not corrected."""

SLOTS = {"slot": 1.0, "slots": 1.0}
UNITS = {"moment": SECONDS, "span": SECONDS, "memory": GIGABYTES, "slots": SLOTS | SECONDS}
UNITS |= {"whole": {}, "amount": {}, "name": {}}
"""What columns may be: a point in time, a length of time, memory, a number of slots, a whole number, any
number, a name. Slots have no unit: those of time are known, and refused."""

CALLED = {"moment": "a time", "whole": "a whole number", "name": "a name"}
"""What a cell has to be, where that is not a number."""

NOTHING = {"na", "n/a", "nan", "null", "none", "<na>", "#n/a"}
"""What cells hold, in small letters, that are empty, unless they are names."""

OURS = {"span": " s", "memory": " GB"}
"""Our units, as errors tell limits in them."""

CLOCK = re.compile(r"(?:(\d+)(?:-| days? ))?(\d{1,6}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)")
"""A length of time as clocks show it: hours, minutes and seconds, before them days."""

MOST_SECONDS = 1e11
"""No time is as late as this in seconds: it would be milliseconds."""

LARGEST = 1e15
"""The most that any number of a table may be."""

ROUNDED = 2.0**-49
"""By such a part a quotient may be off a whole number by rounding alone."""

MOST_MACHINES = 100_000
"""The most machines that a table may stand for."""

MOST_FAULTS = 5
"""Faults that one error names."""

LONGEST = 60
"""Most characters of a cell that an error shows."""

RESOURCES = {
    "gpus": "gpu numgpu numgpus gpucount gpurequest cards",
    "cpus": "cpu cores numcpu numcpus cpurequest vcpus",
    "memory": "mem ram memoryrequest",
}
"""What machines have, where it is not said otherwise, and other usual names of it."""


class Wanted(NamedTuple):
    """A column that is looked for.

    Attributes
    ----------
    name, names
        What it is called here, and other usual names with blanks between them, as :func:`plain` writes them.
    kind
        One of :data:`UNITS`.
    usual
        What stands for a missing column; None: it has to be there.
    decimals
        How many the format holds; None: all of them.
    low, high
        The least and the most that is allowed, in our unit.
    hint
        What else to say where it is missing and has to be there.
    """

    name: str
    names: str
    kind: str
    usual: float | str | None = None
    decimals: int | None = 0
    low: float = 0.0
    high: float = LARGEST
    hint: str = ""


@dataclass(frozen=True)
class Columns:
    """What was read: values by name, and what there is to say of them.

    Attributes
    ----------
    values
        By the names of the columns wanted, shape (rows,); a missing one holds what is usual.
    real, filled
        What came from the table, and what was put in: for the origin of an instance.
    """

    values: dict[str, np.ndarray]
    real: tuple[str, ...]
    filled: tuple[str, ...]


def read_frame(table: Any, what: str) -> DataFrame[Any]:
    """Return a table as a data frame.

    Parameters
    ----------
    table
        The path of a CSV file (divided by commas, semicolons or tabs; gzipped if it ends in ``.gz``) or of a
        Parquet file, a frame of any library that narwhals knows, such as pandas, polars or PyArrow, or a
        mapping or list that pandas makes one of.
    what
        Names the table in errors.

    Raises
    ------
    InputError
        For a file that cannot be read, or what is no table.
    """
    nw, pd = library("narwhals"), library("pandas")

    if isinstance(table, str | os.PathLike):
        table = _of_file(path_of(what, table))
    elif isinstance(table, Mapping | list | tuple):
        try:
            table = pd.DataFrame(table)
        except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
            raise InputError(f"{what}: no table: {_one_line(error)}") from error
    if isinstance(table, pd.DataFrame):
        table = table.set_axis([str(name) for name in table.columns], axis=1)
    try:
        frame = nw.from_native(table)
    except TypeError as error:
        raise InputError(f"{what}: {type(table).__name__} is no table, nor the path of one") from error
    except nw.exceptions.DuplicateError as error:
        name = re.findall(r"'(.*?)' \d+ times", str(error))[0]
        raise InputError(f"{what}: column {name!r} is there twice") from error
    if not isinstance(frame, nw.LazyFrame):
        return frame
    try:
        return frame.collect()
    except Exception as error:  # whatever the library raises that computes the frame only now
        raise InputError(f"{what}: no table: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


def _of_file(path: Any) -> Any:
    pd = library("pandas")

    if str(path).endswith(".parquet"):
        try:
            return pd.read_parquet(regular(path))
        except ImportError as error:
            raise InputError(f'{path}: reading Parquet needs: pip install "clairvoyant[parquet]"') from error
        except (ArithmeticError, LookupError, NotImplementedError, OSError, ValueError) as error:
            raise InputError(f"{path}: no Parquet table: {_one_line(error)}") from error
    text = read_text(path).removeprefix("\ufeff")
    if "\0" in text or text.startswith("PK\x03\x04"):
        raise InputError(f"{path}: no CSV table: not a text; save a sheet as CSV")
    divider = max(",;\t", key=text.partition("\n")[0].count)
    wrong = pd.errors.ParserWarning  # of rows that have more cells than there are heads
    try:
        heads = [name.strip() for name in next(csv.reader(io.StringIO(text), delimiter=divider), [])]
        with warnings.catch_warnings():
            warnings.simplefilter("error", wrong)
            frame = pd.read_csv(
                io.StringIO(text),
                sep=divider,
                skipinitialspace=True,
                index_col=False,
                dtype=str,
                keep_default_na=False,
                na_values=[""],
            )
    except (ValueError, csv.Error, pd.errors.ParserError, wrong) as error:
        why = _too_long(text, divider) or _one_line(error)
        raise InputError(f"{path}: no CSV table: {why}") from error
    twice = [name for i, name in enumerate(heads) if name in heads[:i]]
    if twice:
        raise InputError(f"{path}: column {twice[0]!r} is there twice")
    return frame


def _too_long(text: str, divider: str) -> str:
    """Return which row of a CSV table has more cells than its first line has names; "" for none."""
    with suppress(csv.Error):  # of a cell that is too long for it
        heads, *rows = [row for row in csv.reader(io.StringIO(text), delimiter=divider) if row] or [[]]
        for i, row in enumerate(rows):
            if (many := max((j for j, cell in enumerate(row, 1) if cell), default=0)) > len(heads):
                return f"row {i} has {many} cells, and the first line names {len(heads)} columns"
    return ""


def plain(name: object) -> str:
    """Return a name of a column in small letters, without units in brackets and what divides words."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"[(\[].*?[)\]]", "", str(name).lower()))


def unit_in(name: object, units: Mapping[str, float]) -> str:
    """Return the unit in a name, all that is in brackets or else its last word; "" if that is none."""
    inside = re.findall(r"[(\[](.*?)[)\]]", str(name).lower())
    words = re.findall(r"[^\W_]+", str(name).lower())
    unit = inside[-1].strip() if inside else words[-1] if len(words) > 1 else ""
    return unit if unit in units else ""


def by_table(columns: Mapping[str, str] | None, *tables: str) -> dict[str, dict[str, str]]:
    """Return which column is which for each further table, and under "" for the first one.

    Those of a further table begin with its name and a dot: ``{"machines.gpus": "cards"}``.
    """
    found: dict[str, dict[str, str]] = {name: {} for name in ("", *tables)}
    for key, place in (columns or {}).items():
        table, dot, field = str(key).partition(".")
        found[table if dot and table in tables else ""][field if dot and table in tables else key] = place
    return found


def read_columns(
    frame: DataFrame[Any], wanted: Sequence[Wanted], given: Mapping[str, str], what: str, *, fill: bool = True
) -> Columns:
    """Read the columns of a table.

    Parameters
    ----------
    frame
        The table.
    wanted
        The columns.
    given
        Which column of the table is which, by the names of those wanted; ``NAME:UNIT`` states its unit. A
        number that is the name of no column stands for all rows.
    what
        Names the table in errors.
    fill
        Whether empty cells hold what is usual.

    Raises
    ------
    InputError
        Naming the rows and columns at fault, the first :data:`MOST_FAULTS` of them, and how many there are.
    """
    names = [one.name for one in wanted]
    for name in given:
        if name not in names:
            raise InputError(f"columns: {name!r} is not one of {', '.join(names)}{did_you_mean(name, names)}")
    faults: list[str] = []
    values, real, notes = {}, [], []
    for one in wanted:
        place, unit = _place(frame, one, given, what)
        if place is None:
            if one.usual is None:
                raise InputError(
                    f"{what}: no column for {one.name}; there are {', '.join(frame.columns)}. "
                    f"Say which it is: {one.name}=COLUMN{one.hint}"
                )
            if known(one.usual):
                notes.append(f"{what}: {one.name}: {_told(one.usual)}")
            values[one.name] = np.full(len(frame), one.usual, object if one.kind == "name" else np.float64)
            continue
        constant = place not in frame.columns
        cells = np.full(len(frame), place, dtype=object) if constant else _cells(frame, place, one.kind)
        values[one.name], wrong, note = _read(cells, one, unit)
        if fill and one.usual is not None and known(one.usual):
            empty = np.array([cell is None for cell in cells], dtype=bool)
            values[one.name][empty], wrong[empty] = one.usual, False
            if empty.any():
                notes.append(f"{what}: {one.name}: {_told(one.usual)} in {empty.sum()} rows without")
        expected = CALLED.get(one.kind, "a number") + _limits(one, values[one.name], note)
        where = f"{what}: {one.name if constant else place}"
        faults += [f"{where}: row {i}: {_shown(cells[i])} is not {expected}" for i in np.flatnonzero(wrong)]
        if constant:
            notes.append(f"{what}: {one.name}: {place}{note} in all rows")
        else:
            real.append(f"{what}: {one.name} from column {place!r}{note}")
    refuse(faults)
    rounded = _round(values, wanted)
    return Columns(values, tuple(real), (*notes, *(f"{what}: {note}" for note in rounded)))


class Told(Protocol):
    """What was read of a table, and has something to say of it."""

    @property
    def real(self) -> tuple[str, ...]:
        """What came from the table."""
        ...

    @property
    def filled(self) -> tuple[str, ...]:
        """What was put in."""
        ...


def origin_of(*tables: Told, real: Iterable[str] = (), filled: Iterable[str] = ()) -> Origin:
    """Return the origin of an instance made from tables, and of what there is to say besides."""
    return Origin(
        "table",
        (*(text for one in tables for text in one.real), *real),
        (*(text for one in tables for text in one.filled), *filled),
    )


def refuse(faults: Sequence[str]) -> None:
    """Raise one error for all faults, if there are any: the first are named, the others counted."""
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise InputError("; ".join(faults[:MOST_FAULTS]) + more)


def known(usual: float | str) -> bool:
    """Return whether something stands for what is missing: a text that says it, or a number but NaN."""
    return usual != "" if isinstance(usual, str) else not math.isnan(usual)


def _told(usual: float | str) -> str:
    return usual if isinstance(usual, str) else f"{usual:g}"


def _shown(cell: Any) -> str:
    """Return a cell as an error shows it."""
    if cell is None:
        return "an empty cell"
    if isinstance(cell, int) and cell.bit_length() > 2048:
        return "a number so long"
    text = repr(cell.item() if isinstance(cell, np.generic) else cell)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _place(frame: DataFrame[Any], one: Wanted, given: Mapping[str, str], what: str) -> tuple[str | None, str]:
    """Return the column of the table or the number for all rows, None if there is none, and its unit."""
    place, unit = _column_of(frame, one, given, what)
    if one.kind == "slots" and unit not in ("", *SLOTS):
        why = f"{one.name} is a number of slots, not of {unit!r}; convert it, and name the column otherwise"
        raise InputError(f"{what}: {place}: {why}")
    return place, unit


def _column_of(
    frame: DataFrame[Any], one: Wanted, given: Mapping[str, str], what: str
) -> tuple[str | None, str]:
    """Return column or number, and its unit, whether that may be so or not."""
    units = UNITS[one.kind]
    if one.name in given:
        place, unit = str(given[one.name]), ""
        if place not in frame.columns:
            place, _, unit = place.partition(":")
        number = one.kind != "name" and math.isfinite(_number(place))
        if place not in frame.columns and not number:
            raise InputError(f"{what}: no column {place!r}{did_you_mean(place, frame.columns)}")
        if unit and unit not in units:
            able = SLOTS if one.kind == "slots" else units
            known = f"is not one of {', '.join(able)}" if able else "is given, but it has no unit"
            raise InputError(f"columns: {one.name}: {unit!r} {known}")
        return place, unit or unit_in(place, units)
    found = {place: unit_in(place, units) for place in frame.columns}
    called = {place: {plain(place), plain(place).removesuffix(unit)} for place, unit in found.items()}
    exact = [place for place in found if plain(one.name) in called[place]]
    alike = exact or [place for place in found if called[place] & {*one.names.split()}]
    if len(alike) > 1:
        raise InputError(f"{what}: {one.name}: is it {alike[0]!r} or {alike[1]!r}? Say: {one.name}=COLUMN")
    if not alike:
        return None, ""
    inside = re.findall(r"[(\[](.*?)[)\]]", alike[0])
    if inside and not found[alike[0]] and one.kind not in ("whole", "name"):
        why = f"is not one of {', '.join(units)}" if units else "cannot be read"
        raise InputError(f"{what}: {alike[0]}: the unit {inside[-1]!r} {why}; say: {one.name}=COLUMN")
    return alike[0], found[alike[0]]


def _cells(frame: DataFrame[Any], place: str, kind: str) -> np.ndarray:
    """Return a column as plain objects, with None in empty cells, whatever library holds it."""
    pd = library("pandas")

    def empty(cell: Any) -> bool:
        if isinstance(cell, str):  # a name may be "NA"
            return kind != "name" and cell.strip().lower() in NOTHING
        return cell is pd.NA or cell is pd.NaT or (isinstance(cell, float | np.floating) and np.isnan(cell))

    found = (None if empty(cell) else cell for cell in frame[place].to_list())
    return np.fromiter(found, dtype=object, count=len(frame))


def _read(cells: np.ndarray, one: Wanted, unit: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Return a column in our unit, which of its cells are wrong, and its unit as text."""
    if one.kind == "name":
        names = np.fromiter((_name(cell) for cell in cells), dtype=object, count=len(cells))
        return names, names == "", ""
    values = np.fromiter((_number(cell) for cell in cells), dtype=np.float64, count=len(cells))
    scaled = UNITS[one.kind].get(unit, 1.0) * values
    note = f" ({unit})" if unit else ""
    if one.kind == "span":
        timed = np.fromiter((_span(cell) for cell in cells), dtype=np.float64, count=len(cells))
        scaled = np.where(np.isnan(timed), scaled, timed)
    # A number among time stamps is none.
    words = np.array([cell is not None for cell in cells], dtype=bool) & np.isnan(values)
    if one.kind == "moment" and 2 * words.sum() > (words | np.isfinite(values)).sum():
        scaled, note = _moments([c if word else None for c, word in zip(cells, words, strict=True)]), STAMPS
    with np.errstate(invalid="ignore"):
        if one.kind == "moment":
            wrong = (np.abs(scaled) >= MOST_SECONDS) & (note != STAMPS)
        else:
            wrong = (scaled > one.high) | (scaled < one.low)
        wrong |= (one.kind == "whole") & (scaled != np.floor(scaled))
    return scaled, wrong | ~np.isfinite(scaled), note


STAMPS = " (time stamps, in UTC where they name no zone)"


def _limits(one: Wanted, values: np.ndarray, note: str) -> str:
    """Return what an error says of the numbers that are allowed."""
    if one.kind == "name":
        return ""
    if one.kind == "moment":
        late = note != STAMPS and (np.abs(values[np.isfinite(values)]) >= MOST_SECONDS).any()
        return f" in seconds: state its unit, as in {one.name}=COLUMN:ms" if late else ""
    unit = OURS.get(one.kind, "")
    most = f" and at most {one.high:g}{unit}" if one.high < LARGEST else ""
    return f" of at least {one.low:g}{unit}{most}"


def _number(cell: Any) -> float:
    """Return a cell as a number, NaN if it is none."""
    if isinstance(cell, bool | np.bool_) or not isinstance(cell, str | Real | Decimal):
        return math.nan
    try:
        return math.nan if isinstance(cell, str) and "_" in cell else float(cell)
    except (ValueError, OverflowError):
        return math.nan


def _span(cell: Any) -> float:
    """Return a length of time that is typed or written as on a clock in seconds, NaN for anything else."""
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    parts = CLOCK.fullmatch(cell.strip()) if isinstance(cell, str) else None
    if parts is None:
        return math.nan
    return sum(
        float(part or 0) * size for part, size in zip(parts.groups(), (86400, 3600, 60, 1), strict=True)
    )


def _moments(cells: Iterable[Any]) -> np.ndarray:
    """Return time stamps in seconds since 1970, those without a zone as in UTC; NaN where there is none."""
    pd = library("pandas")

    def dated(cell: Any) -> Any:  # "now" is no time of a table, nor what pandas cannot count in nanoseconds
        text = re.match(r"\d{4}", cell) if isinstance(cell, str) else None
        year = cell.year if isinstance(cell, date) else int(text[0]) if text else 0
        return cell if 1700 <= year < 2200 else None

    stamps = pd.to_datetime([dated(cell) for cell in cells], errors="coerce", utc=True, format="ISO8601")
    since = (stamps - pd.Timestamp(0, tz="UTC")).total_seconds()
    return np.array(since, dtype=np.float64)


def _name(cell: Any) -> str:
    """Return a cell as a name, "" if it is empty; a whole number is called the same whatever its type."""
    if cell is None:
        return ""
    whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    return str(int(cell) if whole else cell).strip()


def _round(values: dict[str, np.ndarray], wanted: Sequence[Wanted]) -> list[str]:
    """Round to what the format holds, and say of how many values that changed more than their last bits."""
    notes = []
    for one in wanted:
        if one.decimals is None or one.kind == "name":
            continue
        rounded = np.round(values[one.name], one.decimals)
        moved = int((np.abs(rounded - values[one.name]) > 8.0 * np.spacing(np.abs(rounded))).sum())
        if moved:
            notes.append(f"{one.name}: {moved} values rounded to {one.decimals} decimals")
        values[one.name] = rounded.astype(np.int64) if one.kind == "whole" else rounded
    return notes


TIME = Wanted(
    "time",
    "timestamp datetime date submit submitted submittime arrival arrivaltime arrived created creationtime "
    "requested requesttime",
    "moment",
    decimals=None,
)
"""When something arrives, where slots are made of it."""

SLOT_HINT = ". Where there are times, give the length of a slot besides: slot=SECONDS"


def slot_seconds(slot: Any) -> float:
    """Return the length of a slot, which is a number of seconds or a text with a unit, such as "5min"."""
    parts = re.fullmatch(r"\s*(\d+\.?\d*)\s*([a-z]*)\s*", slot.lower()) if isinstance(slot, str) else None
    if parts is None:
        if isinstance(slot, str):
            raise InputError(
                f"slot: {slot!r} is no length of time: write seconds, 300, or a unit, 5min or 2h"
            )
        return real("slot", slot, 1e-3, LARGEST)
    number, unit = parts.groups()
    if unit and unit not in SECONDS:
        raise InputError(f"slot: {slot!r}: {unit!r} is not one of {', '.join(SECONDS)}")
    return real("slot", float(number) * SECONDS[unit or "s"], 1e-3, LARGEST)


def in_slots(read: Columns, name: str, length: float) -> tuple[np.ndarray, str]:
    """Return the slot, from 0, of each entry of the first column of a table, and what slots are.

    Times are in seconds; slot 0 begins at the last whole multiple of its length, counted from time 0 or from
    1970-01-01 in UTC, before all of them. A column that is not of :data:`TIME` holds slots already.
    """
    at = read.values[name]
    if name != TIME.name:
        return at, "slot"
    parts = at / length
    near = np.rint(parts)  # 0.3 / 0.1 is less than 3
    parts = np.where(np.abs(parts - near) <= ROUNDED * np.maximum(1.0, np.abs(near)), near, np.floor(parts))
    first = float(parts.min()) if len(at) else 0.0
    start = first * length
    since = f"{np.datetime64(int(start), 's')}Z" if STAMPS in read.real[0] else f"{start:.12g} s"
    return parts - first, f"slot of {length:g} s from {since}"


COUNT = Wanted("count", "number machines", "whole", 1.0, high=MOST_MACHINES)
"""How many machines a row stands for."""


def counts(machines: Columns) -> list[int]:
    """Return how many machines each row stands for.

    Raises
    ------
    InputError
        If there are more than :data:`MOST_MACHINES` in all.
    """
    found: list[int] = machines.values[COUNT.name].tolist()
    if sum(found) > MOST_MACHINES:
        raise InputError(f"machines: count: {sum(found)} machines in all are more than {MOST_MACHINES}")
    return found


def resource_names(resources: Any, reserved: set[str]) -> list[str]:
    """Return the names of resources, from a list or a text with commas; refuse those of other columns."""
    names = resources.split(",") if isinstance(resources, str) else resources
    if not isinstance(names, Sequence) or not names or not all(isinstance(n, str) and n for n in names):
        raise InputError(f"resources: {resources!r} is not a list of names")
    if taken := reserved & {*names}:
        raise InputError(f"resources: {min(taken)!r} is a column of the machines")
    for name in (one for i, one in enumerate(names) if one in names[:i]):
        raise InputError(f"resources: {name!r} stands twice")
    return list(names)


def amounts(resources: Sequence[str], kind: str, decimals: int | None = None, **more: Any) -> list[Wanted]:
    """Return the columns of so much of each resource; a missing one is 0."""
    kinds = ["memory" if (name, kind) == ("memory", "amount") else kind for name in resources]
    names = [RESOURCES.get(name, plain(name).removesuffix("s")) for name in resources]
    return [
        Wanted(name, usual, of, 0.0, decimals, **more)
        for name, usual, of in zip(resources, names, kinds, strict=True)
    ]
