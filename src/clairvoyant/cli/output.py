"""The output of the command line: tables and JSON on standard output, progress on standard error."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..models.shown import number as number
from .interrupt import OVER, ctrl_c

PLAIN_WIDTH = 110
"""Columns of a table that is not printed on a terminal."""

UNLIMITED = 10**6
"""Columns of other text there."""

BETWEEN = 3
"""Columns of the terminal between two of a table."""

LINE_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal to draw a bar on."""

UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls (C0, DEL, C1), separators of lines, directions of writing, halves of characters."""

DRAW_EVERY = 0.1
"""Seconds between two updates of the bar."""


def plain(value: Any) -> Any:
    """Return the value as JSON knows it: arrays as lists, enumerations, infinities as text, NaN as null."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (frozenset, set)):
        return sorted(plain(item) for item in value)
    if isinstance(value, float):
        return str(value) if math.isinf(value) else None if math.isnan(value) else value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "tolist"):  # numpy arrays and scalars, without importing numpy
        return plain(value.tolist())
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    return str(value)


def json_text(value: Mapping[str, Any]) -> str:
    """Return one JSON object on one line."""
    return json.dumps(plain(value), allow_nan=False).replace("\x7f", "\\u007f")  # DEL is left as it is


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on one line of standard output; a Ctrl-C from now on cannot cut it short."""
    text = json_text(value)
    ctrl_c.phase = OVER
    click.echo(text)


def interval(low: float, high: float, scale: float | None = None) -> str:
    """Return an interval for people: one number where its ends are hardly apart beside the scale, or low."""
    from ..intervals import as_one

    one = as_one(low, high, low if scale is None else scale)
    if one is not None:
        return f"{one:,.4g}"
    return f"{low:,.4g} or more" if math.isinf(high) else f"{low:,.4g} to {high:,.4g}"


def visible(text: str) -> str:
    r"""Return a text on one line, with what a terminal obeys or hides written out: ESC as ``\x1b``.

    Names, paths and messages come from files of strangers: control characters would move the cursor, fill the
    clipboard or change colours, others turn the order of letters round. Halves of characters cannot be
    printed at all.
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def line(text: str = "", indent: str = "") -> None:
    """Print a line of text, on a terminal as several where it is too long, without breaking words."""
    wrapper = textwrap.TextWrapper(
        width() or UNLIMITED,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    for part in wrapper.wrap(visible(text)) or [""]:
        click.echo(part)


def log(text: str) -> None:
    """Print a line on standard error; whether anybody can read it does not matter."""
    try:
        click.echo(visible(text), err=True)
    except OSError:
        to_nowhere(sys.stderr)


def to_nowhere(stream: Any) -> None:
    """Redirect a stream that cannot be written: the interpreter would complain when it flushes it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def log_lines(text: str) -> None:
    """Print lines on standard error."""
    for part in text.rstrip("\n").split("\n"):
        log(part)


def heading(text: str) -> None:
    """Print a line that stands out."""
    from rich.text import Text

    _render(Text(visible(text), style="bold"), width() or UNLIMITED)


def entry(title: str, texts: Iterable[str]) -> None:
    """Print a title that stands out, and below it texts, each on lines of its own."""
    heading(title)
    for text in filter(None, texts):
        line(text, "  ")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; columns whose name begins with ``>`` hold numbers and are aligned to the right.

    Where there is little room heads wrap, and columns that are too many follow below, beside the first once
    more. Cells never wrap, and nothing is cut.
    """
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.table import Table

    heads = [column.removeprefix(">") for column in columns]
    cells = [[visible(cell) for cell in row] for row in rows]
    least, full = (
        [max(map(cell_len, [*texts, *(row[i] for row in cells)]), default=0) for i, texts in enumerate(parts)]
        for parts in ([head.split() for head in heads], [[head] for head in heads])
    )
    room, end = width() or PLAIN_WIDTH, 0
    while end < len(columns):
        shown = [0, *range(max(end, 1), len(columns))]
        while (left := room + BETWEEN - sum(least[i] + BETWEEN for i in shown)) < 0 and len(shown) > 2:
            shown.pop()
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for i in shown:
            wide = min(full[i], least[i] + max(0, left))
            left -= wide - least[i]
            table.add_column(heads[i], justify="left" if columns[i] == heads[i] else "right", width=wide)
        for row in cells:
            table.add_row(*(row[i] for i in shown))
        if end:
            line()
        _render(table, UNLIMITED)
        end = shown[-1] + 1


def print_pairs(pairs: Mapping[str, str | Sequence[str]]) -> None:
    """Print names and values, one pair per line, the values aligned; a list of them below each other."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for name, value in pairs.items():
        for i, part in enumerate([value] if isinstance(value, str) else value):
            table.add_row("" if i else visible(name), visible(part))
    _render(table, width() or PLAIN_WIDTH)


def width() -> int | None:
    """Return how many columns people read standard output in; None if it is no terminal."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size().columns if known else None


def _render(renderable: Any, columns: int) -> None:
    """Print what rich can render, text as it stands: ``[0]`` is an index, not markup."""
    from rich.console import Console

    console = Console(width=columns, markup=False, highlight=False, emoji=False)
    # Captured, so that rich neither pads lines nor ends the program when the reader goes away.
    with console.capture() as captured:
        console.print(renderable)
    for text in captured.get().splitlines():
        click.echo(text.rstrip())


class Reporter:
    """Takes notes of how far a long job is; prints one in five seconds as a line."""

    def __init__(self) -> None:
        self.fraction, self.note = 0.0, ""
        self._next = time.monotonic() + LINE_EVERY

    def __call__(self, fraction: float, note: str) -> None:
        """Note the fraction done, 0 to 1, and what is being done.

        A Ctrl-C that nobody is dealing with, since some library swallowed it, is raised again.
        """
        if ctrl_c.pending and not isinstance(sys.exc_info()[1], KeyboardInterrupt):
            raise KeyboardInterrupt
        self._show(fraction, note)
        self.fraction, self.note = fraction, note

    def _show(self, fraction: float, note: str) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_EVERY
            log(f"{fraction:4.0%} {note}")

    def begins(self, note: str) -> None:
        """Show at once that a last part begins."""
        self._next = 0.0
        self(1.0, note)

    def finished(self, text: str) -> None:
        """Report that a part is done."""
        log(text)


class _Bar(Reporter):
    """Takes notes and shows them beside a bar that moves."""

    def __init__(self, update: Any) -> None:
        super().__init__()
        self._update = update
        self._next = 0.0

    def _show(self, fraction: float, note: str) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + DRAW_EVERY
            self._update(completed=fraction, note=visible(note))

    def finished(self, text: str) -> None:
        """Show nothing: the bar moves on, and the result will be printed."""


@contextmanager
def progress(what: str) -> Iterator[Reporter]:
    """Show on standard error how far a job is, while it runs: a bar on a terminal, else lines."""
    if not sys.stderr.isatty():
        yield Reporter()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console = Console(stderr=True)
    rest = Column(ratio=1, no_wrap=True)  # what the others leave: its end alone is cut
    columns = (
        TextColumn("{task.description}", markup=False),
        *([BarColumn(10)] if console.width >= 80 else []),  # the note says more
        *(TaskProgressColumn(), TimeElapsedColumn()),
        TextColumn("{task.fields[note]}", markup=False, table_column=rest),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task(visible(what), total=1.0, note="")
        yield _Bar(lambda **fields: bar.update(task, **fields))


def options(given: Mapping[str, Iterable[object]]) -> str:
    """Return options with their values as they are given in a shell, each after a space."""
    return "".join(f" {name} {shlex.quote(str(one))}" for name, values in given.items() for one in values)


def check_writable(path: Path, *, read: Iterable[Path] = ()) -> None:
    """Raise before any work is done if a file could not be written in the end, or is one that is read."""
    from ..models.base import InputError

    try:
        if path.exists() and any(one.exists() and path.samefile(one) for one in read):
            raise InputError(f"{path}: cannot be written: it is read")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: cannot be written: it is not a plain file")
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(descriptor)
        Path(name).unlink()
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def check_folder(path: Path) -> None:
    """Make a folder, or raise before any work is done if nothing could be written into it."""
    from ..models.base import make_folder

    make_folder(path)
    check_writable(path / "index.html")
