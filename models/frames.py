"""Tables of one's own: columns found by usual names, times and units read, every fault by row and column."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .base import InputError, did_you_mean, path_of, read_text
from .stopwatch import library

if TYPE_CHECKING:
    from pandas import DataFrame, Series

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

UNITS = {"moment": SECONDS, "span": SECONDS, "memory": GIGABYTES, "whole": {}, "amount": {}}
"""What columns may be: a point in time, a length of time, memory, a whole number, any number."""

MOST_SECONDS = 1e11
"""No time is as late as this in seconds: it would be milliseconds."""

LARGEST = 1e15
"""The most that any number of a table may be."""

MOST_MACHINES = 100_000
"""The most machines that a table may stand for."""

MOST_FAULTS = 5
"""Faults that one error names."""


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
        How many the format holds.
    low, high
        The least and the most that is allowed, in our unit.
    """

    name: str
    names: str
    kind: str
    usual: float | None = None
    decimals: int = 0
    low: float = 0.0
    high: float = LARGEST


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


def read_frame(table: Any, what: str) -> DataFrame:
    """Return a table as a data frame: that of a CSV or Parquet file, or of pandas or polars.

    Raises
    ------
    InputError
        For a file that cannot be read, or what is no table.
    """
    pd = library("pandas")

    if isinstance(table, str | os.PathLike):
        return _of_file(path_of(what, table))
    if not isinstance(table, pd.DataFrame):
        if not isinstance(table, Mapping | list | tuple) and not hasattr(table, "to_pandas"):
            raise InputError(f"{what}: {type(table).__name__} is no table, nor the path of one")
        try:
            table = table.to_pandas() if hasattr(table, "to_pandas") else pd.DataFrame(table)
        except (ValueError, TypeError) as error:
            raise InputError(f"{what}: no table: {error}") from error
    twice = [str(name) for name in table.columns[table.columns.duplicated()]]
    if twice:
        raise InputError(f"{what}: column {twice[0]!r} is there twice")
    return table


def _of_file(path: Any) -> DataFrame:
    pd = library("pandas")

    if str(path).endswith(".parquet"):
        try:
            return pd.read_parquet(path)
        except (ImportError, OSError, ValueError) as error:
            raise InputError(f"{path}: {error}") from error
    text = read_text(path).removeprefix("\ufeff")
    heads = [name.strip() for name in next(csv.reader(io.StringIO(text)), [])]
    twice = [name for i, name in enumerate(heads) if name in heads[:i]]
    if twice:
        raise InputError(f"{path}: column {twice[0]!r} is there twice")
    wrong = pd.errors.ParserWarning  # of rows that have more cells than there are heads
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", wrong)
            return pd.read_csv(io.StringIO(text), skipinitialspace=True, index_col=False)
    except (ValueError, pd.errors.ParserError, wrong) as error:
        raise InputError(f"{path}: no CSV table: {error}") from error


def plain(name: object) -> str:
    """Return a name of a column in small letters, without units in brackets and what divides words."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"[(\[].*?[)\]]", "", str(name).lower()))


def unit_in(name: object, units: Mapping[str, float]) -> str:
    """Return the unit at the end of a name, in brackets or after what divides words; "" if there is none."""
    words = re.split(r"[^a-z]+", str(name).lower().rstrip(")] "))
    return words[-1] if len(words) > 1 and words[-1] in units else ""


def read_columns(
    frame: DataFrame, wanted: Sequence[Wanted], given: Mapping[str, str], what: str, *, fill: bool = True
) -> Columns:
    """Read the columns of a table.

    Parameters
    ----------
    frame
        The table.
    wanted
        The columns.
    given
        Which column of the table is which, by the names of those wanted; ``NAME:UNIT`` states its unit.
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
                    f"{what}: no column for {one.name}; there are {', '.join(map(str, frame.columns))}. "
                    f"Say which it is: {one.name}=COLUMN"
                )
            if not math.isnan(one.usual):
                notes.append(f"{what}: {one.name}: {one.usual:g}")
            values[one.name] = np.full(len(frame), one.usual)
            continue
        column, usual = frame[place], one.usual
        known = fill and usual is not None and not math.isnan(usual)
        if known and usual is not None and (empty := int(column.isna().sum())):
            column = column.astype(object).fillna(usual / UNITS[one.kind].get(unit, 1.0))
            notes.append(f"{what}: {one.name}: {usual:g} in {empty} rows without")
        values[one.name], note = _numbers(column, one, unit, f"{what}: {place}", faults)
        real.append(f"{what}: {one.name} from column {place!r}{note}")
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise InputError("; ".join(faults[:MOST_FAULTS]) + more)
    rounded = _round(values, wanted)
    return Columns(values, tuple(real), (*notes, *(f"{what}: {note}" for note in rounded)))


def _place(frame: DataFrame, one: Wanted, given: Mapping[str, str], what: str) -> tuple[Any, str]:
    """Return the column of the table, None if there is none, and its unit as stated or by its name."""
    units = UNITS[one.kind]
    if one.name in given:
        place, unit = str(given[one.name]), ""
        if place not in frame.columns:
            place, _, unit = place.partition(":")
        if place not in frame.columns:
            there = [str(name) for name in frame.columns]
            raise InputError(f"{what}: no column {place!r}{did_you_mean(place, there)}")
        if unit and unit not in units:
            raise InputError(f"columns: {one.name}: {unit!r} is not one of {', '.join(units)}")
        return place, unit or unit_in(place, units)
    found = {place: unit_in(place, units) for place in frame.columns}
    called = {place: {plain(place), plain(place).removesuffix(unit)} for place, unit in found.items()}
    exact = [place for place in found if plain(one.name) in called[place]]
    alike = exact or [place for place in found if called[place] & {*one.names.split()}]
    if len(alike) > 1:
        raise InputError(f"{what}: {one.name}: is it {alike[0]!r} or {alike[1]!r}? Say: {one.name}=COLUMN")
    if not alike:
        return None, ""
    inside = re.findall(r"[(\[](.*?)[)\]]", str(alike[0]))
    if inside and not found[alike[0]] and one.kind != "whole":
        known = f"is not one of {', '.join(units)}" if units else "cannot be read"
        raise InputError(f"{what}: {alike[0]}: the unit {inside[-1]!r} {known}; say: {one.name}=COLUMN")
    return alike[0], found[alike[0]]


def _numbers(column: Series, one: Wanted, unit: str, where: str, faults: list[str]) -> tuple[np.ndarray, str]:
    """Return a column as numbers in our unit, and its unit as text; append what is wrong."""
    pd = library("pandas")
    typed = getattr(column.dtype, "kind", "O")
    if typed in "cb" or (typed == "M" and one.kind != "moment") or (typed == "m" and one.kind != "span"):
        raise InputError(f"{where}: {column.dtype} is not read as {one.name}")
    shown = column.astype(object)
    if typed == "m":
        column, unit = column.dt.total_seconds(), "s"
    values = np.full(len(column), np.nan)
    if typed != "M":
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = ~np.isfinite(values)
    scale = UNITS[one.kind].get(unit, 1.0)
    if one.kind == "moment" and len(column) and wrong.all():
        dated = column.where(column.astype(str).str.match(r"\d"))  # "now" is no time of a table
        moments = pd.to_datetime(dated, errors="coerce", utc=True, format="ISO8601")
        since = pd.Timestamp(0, tz="UTC")
        values = (moments - since).dt.total_seconds().to_numpy(dtype=np.float64)
        wrong, scale, unit = ~np.isfinite(values), 1.0, "time stamps"
    values = scale * values
    kind = {"moment": "a time", "whole": "a whole number"}.get(one.kind, "a number")
    limits = f" of at least {one.low:g}" + (f" and at most {one.high:g}" if one.high < LARGEST else "")
    with np.errstate(invalid="ignore"):
        if one.kind == "moment":
            late = (np.abs(values) >= MOST_SECONDS) & (unit != "time stamps")
            limits = " in seconds: state its unit, as in submit=COLUMN:ms" if late.any() else ""
            wrong |= late
        else:
            wrong |= (values > one.high) | (values < one.low)
        wrong |= (one.kind == "whole") & (values != np.floor(values))
    faults += [f"{where}: row {i}: {shown.iloc[i]!r} is not {kind}{limits}" for i in np.flatnonzero(wrong)]
    return values, f" ({unit})" if unit else ""


def _round(values: dict[str, np.ndarray], wanted: Sequence[Wanted]) -> list[str]:
    """Round to what the format holds, and say of how many values that changed more than their last bits."""
    notes = []
    for one in wanted:
        rounded = np.round(values[one.name], one.decimals)
        moved = int((np.abs(rounded - values[one.name]) > 1e-9 * np.abs(rounded)).sum())
        if moved:
            notes.append(f"{one.name}: {moved} values rounded to {one.decimals} decimals")
        values[one.name] = rounded.astype(np.int64) if one.kind == "whole" else rounded
    return notes


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
