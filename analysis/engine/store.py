"""Where results of cells are kept: a file that one process writes, and that anybody may read.

A process that is killed loses nothing that it has handed over. There is one writer at a time. Where a file
system cannot lock, results are lines of JSON, each on the disk before the next.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Self

from ...models.base import InputError, make_folder, reason
from .cells import Answer, Cell, State

FORMAT = 2

APPLICATION = 0x434C5659  # what a database of ours says of itself, as SQLite's ``application_id``
JOURNAL = ".jsonl"  # what the name of a store ends in that is lines of JSON

KINDS: dict[str, Any] = {
    "key": str,
    "name": str,
    "function": str,
    "arguments": dict,
    "state": str,
    "attempts": int,
    "error": str,
    "seconds": int | float,
    "result": object,
    "used": int,
    "computed": int,
    "exceeded": dict,
}
"""What a row holds; see :func:`read_rows`."""

DEEP = ("arguments", "result", "exceeded")  # what is text of JSON in a database

CREATE = (
    f"BEGIN; CREATE TABLE cell ({', '.join(KINDS)}, PRIMARY KEY (key)); "
    f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; COMMIT"
)
SELECT = f"SELECT {', '.join(KINDS)} FROM cell"  # noqa: S608 - these names alone
INSERT = f"INSERT OR REPLACE INTO cell VALUES ({', '.join(f':{name}' for name in KINDS)})"  # noqa: S608
RENAME = (
    "UPDATE cell SET name = :name, function = :function, arguments = :arguments "
    "WHERE key = :key AND (function <> :function OR json_extract(arguments, '$.passing'))"
)
USE = "UPDATE cell SET used = :used WHERE key = :key AND used < :used"

NO_STORE = "it is not a store of results"
LITTLE = 2**20  # free bytes of a disk on which SQLite may fail for want of more

log = logging.getLogger("clairvoyant")


class Store:
    """Results by key in a database, and the only process that writes them; others may read meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with ExitStack() as opened, _told(path):
            self._file = self._open(opened)
            (last,) = self._file.execute("SELECT coalesce(max(used), 0) FROM cell").fetchone()
            self._use, self._opened = last + 1, opened.pop_all()

    def _open(self, opened: ExitStack) -> sqlite3.Connection:
        """Return the database, of which no other process writes what is in the file."""
        opened.callback(os.close, _lock(self.path.with_name(self.path.name + ".lock")))
        return opened.enter_context(closing(_connect(self.path, "rwc")))

    def known(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return what is known of these cells, by key, and note that it was used."""
        found = _answers(self.path, self._file, keys)
        if found:
            self._write(USE, [{"key": key, "used": self._use} for key in found])
        return found

    def look(self, key: str) -> Answer | None:
        """Return what is known of one cell, and note that it was used; None if nothing is."""
        return self.known([key]).get(key)

    def add(self, answers: Sequence[tuple[Cell, Answer]]) -> None:
        """Keep what became of cells, in place of what was known of them; it is safe when this returns."""
        self._write(INSERT, [_packed(_row(cell, answer, self._use)) for cell, answer in answers])

    def rename(self, cells: Iterable[Cell]) -> None:
        """Let what is known of cells bear their names and arguments, unless a sweep has given it others.

        That is where another function has found it, or by arguments that say that they are ``passing``.
        """
        self._write(RENAME, [_packed(_told_of(cell)) for cell in cells])

    def forget(self, keys: Iterable[str]) -> None:
        """Drop what is known of these cells, and give back the room that it took."""
        dropped = [{"key": key} for key in keys]
        if dropped:
            self._write("DELETE FROM cell WHERE key = :key", dropped)
            self._tidy()

    def rows(self, function: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield what a function of cells has found, or all that is kept, as :func:`read_rows` does."""
        return _rows_of(self.path, self._file, "WHERE ? IN (function, '')", function or "")

    def shrink(self, most: int) -> int:
        """Drop what was not used for longest, until ``most`` bytes remain; return how many rows."""
        sizes = sorted((-row["used"], row["key"], size_of(row)) for row in self.rows())
        kept = itertools.accumulate(size for _, _, size in sizes)
        dropped = [key for (_, key, _), total in zip(sizes, kept, strict=True) if total > most]
        self.forget(dropped)
        return len(dropped)

    def close(self) -> None:
        """Let others write."""
        self._opened.close()

    def remove(self) -> None:
        """Delete it: nothing is to go on from it."""
        for end in ("", "-wal", "-shm", ".lock"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def _write(self, statement: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Do a statement for every row, by its key, or for none."""
        with _told(self.path), self._file:  # which ends the transaction
            self._file.execute("BEGIN IMMEDIATE")
            self._changed([row["key"] for row in rows if self._file.execute(statement, row).rowcount])

    def _changed(self, keys: Sequence[str]) -> None:
        """Do what else a change of these rows takes: nothing, as the database is the file."""

    def _tidy(self) -> None:
        """Give back the room of what was dropped."""
        with _told(self.path):
            self._file.execute("VACUUM")


class _Journal(Store):
    """A store of lines of JSON, which are a database in memory while they are written.

    The last line that names a key counts, and one that is torn is none.
    """

    def _open(self, opened: ExitStack) -> sqlite3.Connection:
        mark = self.path.with_name(self.path.name + ".lock")
        _mark(mark)
        opened.callback(mark.unlink, missing_ok=True)
        self._file = opened.enter_context(closing(sqlite3.connect(":memory:", isolation_level=None)))
        self._file.executescript(CREATE)
        self._file.executemany(INSERT, map(_packed, _journal(self.path).values()))
        self._tidy()
        return self._file

    def _changed(self, keys: Sequence[str]) -> None:
        """Append lines."""
        if keys:
            end = self.path.stat().st_size
            with _undone(self.path, lambda: os.truncate(self.path, end)):  # what is torn is passed over, too
                _put(self.path, "ab", _rows_of(self.path, self._file, *_by_key(keys)))

    def _tidy(self) -> None:
        """Write the file anew, without what is torn, replaced or dropped."""
        part = self.path.with_name(f".{self.path.name}.new")
        with _undone(self.path, part.unlink):
            _put(part, "wb", self.rows())
            part.replace(self.path)


def size_of(row: Mapping[str, Any]) -> int:
    """Return about how many bytes a row takes: its texts, and 200 for the rest."""
    return 200 + sum(len(json.dumps(row[name])) for name in ("name", "arguments", "error", "result"))


def open_store(path: Path) -> Store:
    """Open a store for writing: SQLite, or lines of JSON if the name ends so or nothing can be locked there.

    It is made unless it is there, with its folder.

    Raises
    ------
    InputError
        If the file cannot be read and written, is something else, or another process writes it now.
    """
    make_folder(path.parent)
    _refuse_devices(path)
    if path.suffix == JOURNAL:
        return _Journal(path)
    try:
        return Store(path)
    except NoLocksError:
        other = path.with_name(path.name + JOURNAL)
        log.warning("%s: files cannot be locked there; results are kept in %s", path, other.name)
        return _Journal(other)


def _refuse_devices(path: Path) -> None:
    """Raise for what is there and is no regular file: a pipe may never begin."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: cannot be read: it is not a regular file")


class NoLocksError(Exception):
    """The file system does not know locks."""


def _lock(path: Path) -> int:
    """Lock a file for as long as it is open, and return its descriptor."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason(error)}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(descriptor), path.stat()):  # who wrote has just removed it
            raise BlockingIOError
    except OSError as error:
        os.close(descriptor)
        if not isinstance(error, BlockingIOError | FileNotFoundError):
            raise NoLocksError(str(error)) from error
        message = "another process is writing this store; wait for it, or name another store"
        raise InputError(f"{path.with_suffix('')}: {message}") from error
    return descriptor


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say what is the matter with a database."""
    try:
        yield
    except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:  # the others: of lines made elsewhere
        why = NO_STORE if "not a database" in str(error) or "no such" in str(error) else str(error)
        with suppress(OSError):  # the folder may be gone
            if why == "disk I/O error" and (free := shutil.disk_usage(path.parent).free) < LITTLE:
                why += f"; the disk may be full, {free:,} bytes are free"
        raise InputError(f"{path}: cannot be used: {why}") from error


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a database of results: "rwc" to write, "ro" to read, "ro&immutable=1" where nobody writes."""
    address = f"{path.absolute().as_uri()}?mode={mode}"
    with _told(path), ExitStack() as opened:
        file = sqlite3.connect(address, uri=True, isolation_level=None, timeout=5.0)
        opened.callback(file.close)
        (tables,) = file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables == 0 and mode == "rwc":
            file.execute("PRAGMA journal_mode = WAL")
            file.executescript(CREATE)
        (whose,) = file.execute("PRAGMA application_id").fetchone()
        (version,) = file.execute("PRAGMA user_version").fetchone()
        file.execute("PRAGMA synchronous = NORMAL")
        if whose != APPLICATION:
            raise InputError(f"{path}: cannot be used: {NO_STORE}")
        if version != FORMAT:
            raise InputError(f"{path}: cannot be used: its format is {version}, and only {FORMAT} is known")
        opened.pop_all()
    return file


def _by_key(keys: Iterable[str]) -> tuple[str, str]:
    """Return what chooses the rows of these keys, and its value."""
    return "WHERE key IN (SELECT value FROM json_each(?))", json.dumps([*keys])


def _rows_of(path: Path, file: sqlite3.Connection, which: str = "", *values: str) -> Iterator[dict[str, Any]]:
    with _told(path):
        for found in file.execute(f"{SELECT} {which} ORDER BY key", values):
            yield _read(path, found)


def _answers(path: Path, file: sqlite3.Connection, keys: Iterable[str]) -> dict[str, Answer]:
    return {row["key"]: answer_of(row) for row in _rows_of(path, file, *_by_key(keys))}


def _read(path: Path, values: Sequence[Any]) -> dict[str, Any]:
    row = dict(zip(KINDS, values, strict=True))
    try:
        return _checked(row | {name: json.loads(row[name]) for name in DEEP})
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cell {row['key']!r} is damaged ({error}); delete the file") from error


def _checked(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row if it is one; a ValueError says what is wrong."""
    if row.keys() != KINDS.keys():
        raise ValueError("it is no row of a store")
    for name, kinds in KINDS.items():
        if not isinstance(row[name], kinds):
            raise ValueError(f"{name}: {row[name]!r} is not right")
    State(row["state"])
    for name, limit in row["exceeded"].items():
        if name not in {"seconds", "memory"} or not isinstance(limit, int | float):
            raise ValueError(f"exceeded: {row['exceeded']!r} is not right")
    return row


@contextmanager
def _undone(path: Path, undo: Callable[[], object]) -> Iterator[None]:
    """Undo what cannot be written, and say so."""
    try:
        yield
    except OSError as error:
        with suppress(OSError):
            undo()
        raise InputError(f"{path}: cannot be used: {reason(error)}") from error


def _mark(path: Path) -> None:
    """Make a file that says which process writes; refuse if one is there whose process still runs."""
    here = os.uname().nodename
    try:
        stream = path.open("x")
    except FileExistsError as error:
        host, _, process = path.read_text().partition(" ")
        if host != here or (process.isdigit() and _runs(int(process))):
            who = f"process {process} on {host}" if host else "a process that does not say which"
            raise InputError(f"{path}: {who} writes this store; delete the file if it is gone") from error
        path.unlink(missing_ok=True)
        _mark(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason(error)}") from error
    else:
        with _undone(path, path.unlink), stream:
            stream.write(f"{here} {os.getpid()}")


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _journal(path: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a journal; a last line that a crash has torn is passed over, others are refused."""
    rows = {}
    try:
        lines = path.read_bytes().split(b"\n") if path.exists() else []
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason(error)}") from error
    for number, line in enumerate(lines[:-1], start=1):
        try:
            row = _checked(dict(json.loads(line)))
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"{path}: line {number} is damaged ({error}); delete the file") from error
        rows[row["key"]] = row
    return rows


def place_of(path: Path) -> Path | None:
    """Return where the results of a store are, which may be lines of JSON beside it; None if nowhere."""
    return next((place for place in (path, path.with_name(path.name + JOURNAL)) if place.exists()), None)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return all that a store holds, sorted by key, whoever writes it now.

    A row says of a run of the engine by number that it was ``computed`` by it, and which ``used`` it last.

    Raises
    ------
    InputError
        If there is no store, or it is damaged.
    """
    place = place_of(path)
    if place is None:
        raise InputError(f"{path}: cannot be read: there is no such file")
    _refuse_devices(place)
    if place.suffix == JOURNAL:
        return [row for _, row in sorted(_journal(place).items())]
    try:
        file = _connect(path, "ro")
    except InputError:
        # Where nothing can be written SQLite cannot read what others may write; then nobody does.
        if path.with_name(path.name + "-wal").exists() or os.access(path.parent, os.W_OK):
            raise
        file = _connect(path, "ro&immutable=1")
    with closing(file):
        return list(_rows_of(path, file))


@contextmanager
def looking(path: Path) -> Iterator[Callable[[str], Answer | None]]:
    """Let results be looked up by their keys in a store that another process writes; None if there is none.

    Of lines of JSON those are known that were there first. An InputError says that a result is damaged.
    """
    if path.suffix == JOURNAL:
        rows = cache(lambda: _journal(path))
        yield lambda key: answer_of(rows()[key]) if key in rows() else None
        return
    with closing(_connect(path, "ro")) as file:
        yield lambda key: _answers(path, file, [key]).get(key)


def _told_of(cell: Cell) -> dict[str, Any]:
    """Return what a row says of its cell."""
    return vars(cell) | {"name": printable(cell.name), "arguments": dict(cell.arguments)}


def _row(cell: Cell, answer: Answer, use: int) -> dict[str, Any]:
    texts = {"state": answer.state.value, "error": printable(answer.error)}
    more = {"exceeded": dict(answer.exceeded), "used": use, "computed": use}
    return _told_of(cell) | vars(answer) | texts | more


def _packed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as a database takes it."""
    return {name: json.dumps(value) if name in DEEP else value for name, value in row.items()}


def _put(path: Path, mode: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as lines, which are on the disk when this returns."""
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    with path.open(mode, buffering=0) as stream:
        while data:
            data = data[stream.write(data) :]
        os.fsync(stream.fileno())


def printable(text: str) -> str:
    """Return a text with halves of characters, which no file holds, written out."""
    return text.encode(errors="backslashreplace").decode()


def answer_of(row: Mapping[str, Any]) -> Answer:
    """Return the answer that a row holds."""
    named = {field.name: row[field.name] for field in fields(Answer)}
    return Answer(**named | {"state": State(row["state"])})
