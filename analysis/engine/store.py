"""Where results of cells are kept: a file that one process writes, and that anybody may read.

A process that is killed loses nothing that it has handed over. There is one writer at a time.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

from ...models.base import InputError, make_folder, reason
from .cells import Answer, Cell, State

FORMAT = 2

APPLICATION = 0x434C5659  # what a database of ours says of itself, as SQLite's ``application_id``

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
    "WHERE key = :key AND function <> :function"
)
USE = "UPDATE cell SET used = :used WHERE key = :key AND used < :used"

NO_STORE = "it is not a store of results"


class Store:
    """Results by key in a database, and the only process that writes them; others may read meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with ExitStack() as opened, _told(path):
            opened.callback(os.close, _lock(path.with_name(path.name + ".lock")))
            self._file = opened.enter_context(closing(_connect(path, "rwc")))
            (last,) = self._file.execute("SELECT coalesce(max(used), 0) FROM cell").fetchone()
            self._use, self._opened = last + 1, opened.pop_all()

    def known(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return what is known of these cells, by key, and note that it was used."""
        found = _answers(self.path, self._file, keys)
        self._write(USE, [{"key": key, "used": self._use} for key in found])
        return found

    def look(self, key: str) -> Answer | None:
        """Return what is known of one cell, and note that it was used; None if nothing is."""
        return self.known([key]).get(key)

    def add(self, answers: Sequence[tuple[Cell, Answer]]) -> None:
        """Keep what became of cells, in place of what was known of them; it is safe when this returns."""
        self._write(INSERT, [_packed(_row(cell, answer, self._use)) for cell, answer in answers])

    def rename(self, cells: Iterable[Cell]) -> None:
        """Let what is known of cells bear their names and arguments where another function has found it."""
        self._write(RENAME, [_packed(_told_of(cell)) for cell in cells])

    def forget(self, keys: Iterable[str]) -> None:
        """Drop what is known of these cells, and give back the room that it took."""
        dropped = [{"key": key} for key in keys]
        if dropped:
            self._write("DELETE FROM cell WHERE key = :key", dropped)
            with _told(self.path):
                self._file.execute("VACUUM")

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
        """Do a statement for every row, or for none."""
        with _told(self.path), self._file:  # which ends the transaction
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany(statement, rows)


def size_of(row: Mapping[str, Any]) -> int:
    """Return about how many bytes a row takes: its texts, and 200 for the rest."""
    return 200 + sum(len(json.dumps(row[name])) for name in ("name", "arguments", "error", "result"))


def open_store(path: Path) -> Store:
    """Open a store for writing; it is made unless it is there, with its folder.

    An InputError says that the file cannot be read and written, or locked, is something else, or is being
    written by another process.
    """
    make_folder(path.parent)
    _refuse_devices(path)
    return Store(path)


def _refuse_devices(path: Path) -> None:
    """Raise for what is there and is no regular file: a pipe may never begin."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: cannot be read: it is not a regular file")


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
            why = f"files cannot be locked there ({reason(error)}); name a store on another file system"
            raise InputError(f"{path.with_suffix('')}: {why}") from error
        message = "another process is writing this store; wait for it, or name another store"
        raise InputError(f"{path.with_suffix('')}: {message}") from error
    return descriptor


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say what is the matter with a database."""
    try:
        yield
    except sqlite3.Error as error:
        other = "not a database" in str(error) or "no such" in str(error)
        why = NO_STORE if other else str(error)
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
    for name, kinds in KINDS.items():
        if not isinstance(row[name], kinds):
            raise ValueError(f"{name}: {row[name]!r} is not right")
    State(row["state"])
    for name, limit in row["exceeded"].items():
        if name not in {"seconds", "memory"} or not isinstance(limit, int | float):
            raise ValueError(f"exceeded: {row['exceeded']!r} is not right")
    return row


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return all that a store holds, sorted by key, whoever writes it now.

    A row says of a run of the engine by number that it was ``computed`` by it, and which ``used`` it last. An
    InputError says that there is no store, or that it is damaged.
    """
    if not path.exists():
        raise InputError(f"{path}: cannot be read: there is no such file")
    _refuse_devices(path)
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

    An InputError says that a result is damaged.
    """
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


def printable(text: str) -> str:
    """Return a text with halves of characters, which no file holds, written out."""
    return text.encode(errors="backslashreplace").decode()


def answer_of(row: Mapping[str, Any]) -> Answer:
    """Return the answer that a row holds."""
    named = {field.name: row[field.name] for field in fields(Answer)}
    return Answer(**named | {"state": State(row["state"])})
