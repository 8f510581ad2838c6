"""Tables of one's own: columns found by usual names, times and units read, every fault by row and column."""

from __future__ import annotations

import io
import math
import os
import re
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
    low
        The least that is allowed.
    """

    name: str
    names: str
    kind: str
    usual: float | None = None
    decimals: int = 0
    low: float = 0.0


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
    if isinstance(table, Mapping) or (isinstance(table, Sequence) and not isinstance(table, str | bytes)):
        return pd.DataFrame(table)
    if isinstance(table, pd.DataFrame):
        return table
    if hasattr(table, "to_pandas"):
        return table.to_pandas()
    raise InputError(f"{what}: {type(table).__name__} is no table, nor the path of one")


def _of_file(path: Any) -> DataFrame:
    pd = library("pandas")

    if str(path).endswith(".parquet"):
        try:
            return pd.read_parquet(path)
        except (ImportError, OSError, ValueError) as error:
            raise InputError(f"{path}: {error}") from error
    text = read_text(path)
    try:
        return pd.read_csv(io.StringIO(text), skipinitialspace=True)
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"{path}: no CSV table: {error}") from error


def plain(name: object) -> str:
    """Return a name of a column in small letters, without units in brackets and what divides words."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"[(\[].*?[)\]]", "", str(name).lower()))


def unit_in(name: object, units: Mapping[str, float]) -> str:
    """Return the unit at the end of a name, in brackets or after what divides words; "" if there is none."""
    words = re.split(r"[^a-z]+", str(name).lower().rstrip(")] "))
    return words[-1] if len(words) > 1 and words[-1] in units else ""


def read_columns(frame: DataFrame, wanted: Sequence[Wanted], given: Mapping[str, str], what: str) -> Columns:
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
    values, real, filled = {}, [], []
    for one in wanted:
        place, unit = _place(frame, one, given, what)
        if place is None:
            if one.usual is None:
                raise InputError(
                    f"{what}: no column for {one.name}; there are {', '.join(map(str, frame.columns))}. "
                    f"Say which it is: {one.name}=COLUMN"
                )
            if not math.isnan(one.usual):
                filled.append(f"{what}: {one.name}: {one.usual:g}")
            values[one.name] = np.full(len(frame), one.usual)
            continue
        column, usual = frame[place], one.usual
        if usual is not None and not math.isnan(usual) and (empty := int(column.isna().sum())):
            column = column.fillna(usual / UNITS[one.kind].get(unit, 1.0))
            filled.append(f"{what}: {one.name}: {usual:g} in {empty} rows without")
        values[one.name], note = _numbers(column, one, unit, f"{what}: {place}", faults)
        real.append(f"{what}: {one.name} from column {place!r}{note}")
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise InputError("; ".join(faults[:MOST_FAULTS]) + more)
    rounded = _round(values, wanted)
    return Columns(values, tuple(real), (*filled, *(f"{what}: {note}" for note in rounded)))


def _place(frame: DataFrame, one: Wanted, given: Mapping[str, str], what: str) -> tuple[Any, str]:
    """Return the column of the table, None if there is none, and its unit as stated or by its name."""
    units = UNITS[one.kind]
    if one.name in given:
        place, unit = given[one.name], ""
        if place not in frame.columns:
            place, _, unit = place.partition(":")
        if place not in frame.columns:
            there = [str(name) for name in frame.columns]
            raise InputError(f"{what}: no column {place!r}{did_you_mean(place, there)}")
        if unit and unit not in units:
            raise InputError(f"columns: {one.name}: {unit!r} is not one of {', '.join(units)}")
        return place, unit or unit_in(place, units)
    for place in frame.columns:
        unit = unit_in(place, units)
        name = plain(place)
        if {name, name.removesuffix(unit)} & {plain(one.name), *one.names.split()}:
            return place, unit
    return None, ""


def _numbers(column: Series, one: Wanted, unit: str, where: str, faults: list[str]) -> tuple[np.ndarray, str]:
    """Return a column as numbers in our unit, and its unit as text; append what is wrong."""
    pd = library("pandas")

    scale = UNITS[one.kind].get(unit, 1.0)
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~np.isfinite(values)
    if one.kind == "moment" and len(column) and wrong.all():
        moments = pd.to_datetime(column, errors="coerce", utc=True, format="mixed")
        since = pd.Timestamp(0, tz="UTC")
        values = (moments - since).dt.total_seconds().to_numpy(dtype=np.float64)
        wrong, scale, unit = ~np.isfinite(values), 1.0, "time stamps"
    kind = {"moment": "a time", "whole": "a whole number"}.get(one.kind, "a number")
    with np.errstate(invalid="ignore"):
        small = ~wrong & (values < one.low) & (one.kind != "moment")
        wrong |= small | ((one.kind == "whole") & (values != np.floor(values)))
    least = "" if one.kind == "moment" else f" of at least {one.low:g}"
    shown = column.astype(object)
    faults += [f"{where}: row {i}: {shown.iloc[i]!r} is not {kind}{least}" for i in np.flatnonzero(wrong)]
    return scale * values, f" ({unit})" if unit else ""


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
