"""Reading trace files: CSV tables, plain or gzipped, whose columns are checked before any is used."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from .base import read_text
from .checks import MOST_WHOLE, SMALLEST, TOO_LARGE, TOO_SMALL, InputError, things

Row = Mapping[str, str]


def read_table(
    folder: str | os.PathLike[str], name: str, columns: Sequence[str], *, header: bool = True
) -> list[dict[str, str]]:
    """Return the named columns of a CSV file in a folder of traces: for each row its texts by column.

    The file is gzipped if the name ends in ``.gz``. Without a header, ``columns`` are the names of all
    columns, in order. What is missing, damaged or empty, and a row of another length, is an InputError.
    """
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: no such folder of traces")
    path = Path(folder) / name
    try:
        rows = list(csv.reader(io.StringIO(read_text(path))))
    except csv.Error as error:
        raise InputError(f"{path}: no CSV table: {error}") from error
    while rows and not rows[-1]:  # blank lines at the end
        rows.pop()
    names = rows.pop(0) if header and rows else list(columns)
    missing = [column for column in columns if column not in names]
    if missing:
        raise InputError(
            f"{path}: no column {', '.join(missing)}; expected {', '.join(columns)}, found {', '.join(names)}"
        )
    if not rows:
        raise InputError(f"{path}: no rows")
    for i, row in enumerate(rows):
        if len(row) != len(names):
            found, expected = (
                f"{len(row)} {things(len(row), 'columns')}",
                f"{len(names)} ({', '.join(names)})",
            )
            raise InputError(f"{path}: row {i}: {found}, expected {expected}")
    places = [(column, names.index(column)) for column in columns]
    return [{column: row[place] for column, place in places} for row in rows]


def number(row: Row, column: str, where: str, *, low: float = 0.0) -> float:
    """Return one entry as a number from ``low`` to 2^53; refuse others by place and column."""
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= low):
        raise InputError(f"{where}: {column}: {row[column]!r} is not a finite number of at least {low:g}")
    if 0.0 < abs(value) < SMALLEST:
        raise InputError(f"{where}: {column}: {row[column]!r} {TOO_SMALL}")
    if value > MOST_WHOLE:
        raise InputError(f"{where}: {column}: {row[column]!r} {TOO_LARGE}")
    return value


def column(rows: Sequence[Row], name: str, where: str) -> list[float]:
    """Return a whole column as numbers; see :func:`number`."""
    return [number(row, name, f"{where}: row {i}") for i, row in enumerate(rows)]
