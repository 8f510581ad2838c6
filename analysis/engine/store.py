"""Where results of cells are kept: a file that one process writes, and that anybody may read.

A process that is killed loses nothing that it has handed over. There is one writer at a time. Where a file
system cannot lock, results are lines of JSON, each on the disk before the next.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from ...models.base import InputError, make_folder, reason
from .cells import Answer, Cell, State

FORMAT = 1

JOURNAL = ".jsonl"
"""What the name of a store ends in that is lines of JSON."""

MANY = 500
"""How many keys are looked up at once."""

COLUMNS = ("key", "name", "function", "arguments", "state", "attempts", "error", "seconds", "result", "used")

DEEP = ("arguments", "result")
"""Columns that are text of JSON in a database."""

log = logging.getLogger("clairvoyant")


class Store(ABC):
    """Results by key, and the only process that writes them.

    Parameters
    ----------
    path
        The file; it is made unless it is there, with its folder.

    Raises
    ------
    InputError
        If the file cannot be read and written, is something else, or another process writes it now.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def known(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return what is known of these cells, by key, and note that it was used."""

    @abstractmethod
    def add(self, answers: Sequence[tuple[Cell, Answer]]) -> None:
        """Keep what became of cells, in place of what was known of them; it is safe when this returns."""

    @abstractmethod
    def forget(self, keys: Iterable[str]) -> None:
        """Drop what is known of these cells."""

    @abstractmethod
    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all that is kept, as :func:`read_rows` does."""

    @abstractmethod
    def close(self) -> None:
        """Let others write."""

    def remove(self) -> None:
        """Delete it: nothing is to go on from it."""
        for name in (self.path.name + end for end in ("", "-wal", "-shm", ".lock")):
            self.path.with_name(name).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def shrink(self, most: int) -> int:
        """Drop what has not been used for longest until no more than ``most`` bytes remain; return how many.

        What is counted are the bytes of the results, of names and of errors.
        """
        rows = sorted(self.rows(), key=lambda row: -row["used"])
        kept, dropped = 0, []
        for row in rows:
            kept += size_of(row)
            if kept > most:
                dropped.append(row["key"])
        self.forget(dropped)
        return len(dropped)


def size_of(row: Mapping[str, Any]) -> int:
    """Return about how many bytes a row takes."""
    return 200 + sum(len(json.dumps(row[name])) for name in ("name", "arguments", "error", "result"))


def open_store(path: Path) -> Store:
    """Open a store for writing: SQLite, or lines of JSON if the name ends so or nothing can be locked there.

    Raises
    ------
    InputError
        As for :class:`Store`.
    """
    make_folder(path.parent)
    if path.suffix == JOURNAL:
        return Journal(path)
    try:
        return Database(path)
    except NoLocksError:
        other = path.with_name(path.name + JOURNAL)
        log.warning("%s: files cannot be locked there; results are kept in %s", path, other.name)
        return Journal(other)


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
    except (BlockingIOError, FileNotFoundError) as error:
        os.close(descriptor)
        raise InputError(f"{path}: another process is writing this store") from error
    except OSError as error:
        os.close(descriptor)
        raise NoLocksError(str(error)) from error
    return descriptor


class Database(Store):
    """A store in SQLite, with a lock in a file beside it; readers may look at it meanwhile."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lock = _lock(path.with_name(path.name + ".lock"))
        try:
            self._file = _connect(path, write=True)
            with closing(self._file.execute("SELECT coalesce(max(used), 0) FROM cell")) as found:
                self._use = found.fetchone()[0] + 1
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, sqlite3.Error):
                raise InputError(f"{path}: cannot be used: {_why(error)}") from error
            raise

    def known(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return what is known of these cells, by key, and note that it was used."""
        wanted, found = list(keys), {}
        for first in range(0, len(wanted), MANY):
            part = wanted[first : first + MANY]
            marks = ", ".join("?" * len(part))
            query = f"SELECT {', '.join(COLUMNS)} FROM cell WHERE key IN ({marks})"  # noqa: S608 - marks only
            for values in self._do(query, part):
                found[values[0]] = _answer(_read(values))
            self._do(f"UPDATE cell SET used = ? WHERE key IN ({marks})", [self._use, *part])  # noqa: S608
        return found

    def add(self, answers: Sequence[tuple[Cell, Answer]]) -> None:
        """Keep what became of cells, in place of what was known of them; it is safe when this returns."""
        marks = ", ".join("?" * len(COLUMNS))
        rows = [_row(cell, answer, self._use) for cell, answer in answers]
        self._do("BEGIN IMMEDIATE")
        try:
            for row in rows:
                values = [json.dumps(row[n]) if n in DEEP else row[n] for n in COLUMNS]
                self._do(f"INSERT OR REPLACE INTO cell VALUES ({marks})", values)  # noqa: S608
            self._do("COMMIT")
        except BaseException:
            if self._file.in_transaction:
                self._file.rollback()
            raise

    def forget(self, keys: Iterable[str]) -> None:
        """Drop what is known of these cells, and give back the room that it took."""
        dropped = [(key,) for key in keys]
        if dropped:
            self._do("BEGIN IMMEDIATE")
            self._file.executemany("DELETE FROM cell WHERE key = ?", dropped)
            self._do("COMMIT")
            self._do("VACUUM")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all that is kept."""
        return _rows_of(self._file)

    def close(self) -> None:
        """Let others write."""
        self._file.close()
        os.close(self._lock)

    def _do(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._file.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise InputError(f"{self.path}: cannot be written: {_why(error)}") from error


def _connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a database of results."""
    mode = "rwc" if write else "ro"
    file = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=5.0
    )
    try:
        if write:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = NORMAL")
            file.execute(
                "CREATE TABLE IF NOT EXISTS cell (key TEXT PRIMARY KEY, name TEXT, function TEXT, "
                "arguments TEXT, state TEXT, attempts INTEGER, error TEXT, seconds REAL, result TEXT, "
                "used INTEGER)"
            )
            file.execute(f"PRAGMA user_version = {FORMAT}")
        file.execute(f"SELECT {', '.join(COLUMNS)} FROM cell LIMIT 1")  # noqa: S608
    except BaseException:
        file.close()
        raise
    return file


def _rows_of(file: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for values in file.execute(f"SELECT {', '.join(COLUMNS)} FROM cell ORDER BY key"):  # noqa: S608
        yield _read(values)


def _read(values: Sequence[Any]) -> dict[str, Any]:
    row = dict(zip(COLUMNS, values, strict=True))
    return row | {name: json.loads(row[name]) for name in DEEP}


def _why(error: sqlite3.Error) -> str:
    if "not a database" in str(error) or "no such" in str(error):
        return "it is not a store of results"
    return str(error)


class Journal(Store):
    """A store of lines of JSON; the last line that names a key counts, and one that is torn is none."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._mark = path.with_name(path.name + ".lock")
        self._lock = _mark(self._mark)
        try:
            self._rows = {row["key"]: row for row in _lines(path)}
            self._use = max((row["used"] for row in self._rows.values()), default=0) + 1
            self._write(self._rows.values())
            self._file = path.open("ab")
        except BaseException as error:
            self._unlock()
            if isinstance(error, OSError):
                raise InputError(f"{path}: cannot be used: {reason(error)}") from error
            raise

    def known(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return what is known of these cells, by key, and note that it was used."""
        found = {key: self._rows[key] for key in keys if key in self._rows}
        for row in found.values():
            row["used"] = self._use
        return {key: _answer(row) for key, row in found.items()}

    def add(self, answers: Sequence[tuple[Cell, Answer]]) -> None:
        """Keep what became of cells, in place of what was known of them; it is safe when this returns."""
        rows = [_row(cell, answer, self._use) for cell, answer in answers]
        try:
            self._file.write(b"".join(_line(row) for row in rows))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {reason(error)}") from error
        self._rows |= {row["key"]: row for row in rows}

    def forget(self, keys: Iterable[str]) -> None:
        """Drop what is known of these cells, and give back the room that it took."""
        dropped = set(keys)
        self._rows = {key: row for key, row in self._rows.items() if key not in dropped}
        self._file.close()
        self._write(self._rows.values())
        self._file = self.path.open("ab")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all that is kept."""
        return iter(sorted(self._rows.values(), key=lambda row: str(row["key"])))

    def close(self) -> None:
        """Let others write."""
        self._file.close()
        self._unlock()

    def _unlock(self) -> None:
        os.close(self._lock)
        self._mark.unlink(missing_ok=True)

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write the file anew: without what is torn, replaced or dropped."""
        part = self.path.with_name(f".{self.path.name}.new")
        with part.open("wb") as stream:
            stream.writelines(_line(row) for row in rows)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(self.path)


def _mark(path: Path) -> int:
    """Make a file that says which process writes; refuse if one is there whose process still runs."""
    for _ in range(2):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError as error:
            host, _, process = path.read_text().partition(" ")
            if host != os.uname().nodename or (process.isdigit() and Path(f"/proc/{process}").exists()):
                raise InputError(
                    f"{path}: process {process} on {host} writes this store; delete the file if it is gone"
                ) from error
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {reason(error)}") from error
        else:
            os.write(descriptor, f"{os.uname().nodename} {os.getpid()}".encode())
            return descriptor
    raise InputError(f"{path}: another process has begun to write this store")


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a journal; a last line that a crash has torn is passed over, any other is refused."""
    if not path.exists():
        return
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason(error)}") from error
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            if not isinstance(row, dict) or set(row) != set(COLUMNS):
                raise ValueError("it is no row of a store")
        except ValueError as error:
            if number == len(lines) and not line.endswith(b"\n"):
                return
            raise InputError(f"{path}: line {number} is damaged: {error}") from error
        yield row


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return all that a store holds, sorted by key, whoever writes it now.

    Each row holds key, name, function, arguments, state (as text), attempts, error, seconds, result and
    ``used``, the number of the last run of the engine that used it.

    Raises
    ------
    InputError
        If there is no store, or it is damaged.
    """
    other = path.with_name(path.name + JOURNAL)
    if path.suffix == JOURNAL or (not path.exists() and other.exists()):
        journal = path if path.suffix == JOURNAL else other
        if not journal.exists():
            raise InputError(f"{journal}: cannot be read: there is no such file")
        rows = {row["key"]: row for row in _lines(journal)}
        return [rows[key] for key in sorted(rows)]
    if not path.exists():
        raise InputError(f"{path}: cannot be read: there is no such file")
    try:
        with closing(_connect(path, write=False)) as file:
            return list(_rows_of(file))
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be read: {_why(error)}") from error


def _row(cell: Cell, answer: Answer, use: int) -> dict[str, Any]:
    return {
        "key": cell.key,
        "name": cell.name,
        "function": cell.function,
        "arguments": dict(cell.arguments),
        "state": answer.state.value,
        "attempts": answer.attempts,
        "error": answer.error,
        "seconds": answer.seconds,
        "result": answer.result,
        "used": use,
    }


def _answer(row: Mapping[str, Any]) -> Answer:
    return Answer(State(row["state"]), row["result"], row["error"], row["seconds"], row["attempts"])
