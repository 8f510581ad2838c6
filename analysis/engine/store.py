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
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Self

from ...models.base import InputError, make_folder, reason
from .cells import Answer, Cell, State

FORMAT = 2
"""Stores of format 1 are read, too, and are of this one as soon as they are opened for writing."""

APPLICATION = 0x434C5659
"""What a database of ours says of itself, as SQLite's ``application_id``."""

JOURNAL = ".jsonl"
"""What the name of a store ends in that is lines of JSON."""

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

SELECT = f"SELECT {', '.join(KINDS)} FROM cell"  # noqa: S608 - these names alone
SELECT_FIRST = SELECT.replace("computed, exceeded", "used, '{}'")
"""The same of a store of format 1."""

TYPES = {name: {int: "INTEGER", int | float: "REAL"}.get(kind, "TEXT") for name, kind in KINDS.items()}
CREATE = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items()).replace("TEXT", "TEXT PRIMARY KEY", 1)
"""The columns of a database."""

DEEP = ("arguments", "result", "exceeded")
"""Columns that are text of JSON in a database."""

SECOND = (
    "BEGIN; ALTER TABLE cell ADD COLUMN computed INTEGER; ALTER TABLE cell ADD COLUMN exceeded TEXT; "
    "UPDATE cell SET computed = used, exceeded = '{}'; PRAGMA user_version = 2; COMMIT"
)
"""What makes a database of format 1 one of format 2."""

NO_STORE = "it is not a store of results"

log = logging.getLogger("clairvoyant")


class Store(ABC):
    """Results by key, and the only process that writes them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def known(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return what is known of these cells, by key, and note that it was used."""

    @abstractmethod
    def add(self, answers: Sequence[tuple[Cell, Answer]]) -> None:
        """Keep what became of cells, in place of what was known of them; it is safe when this returns."""

    @abstractmethod
    def rename(self, cells: Iterable[Cell]) -> None:
        """Let what is known of cells bear their names and arguments where another function has found it."""

    @abstractmethod
    def forget(self, keys: Iterable[str]) -> None:
        """Drop what is known of these cells, and give back the room that it took."""

    @abstractmethod
    def rows(self, function: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield what a function of cells has found, or all that is kept, as :func:`read_rows` does."""

    def look(self, key: str) -> Answer | None:
        """Return what is known of one cell, and note that it was used; None if nothing is."""
        return self.known([key]).get(key)

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
        """Drop what was not used for longest, until ``most`` bytes remain; return how many rows."""
        sizes = sorted((-row["used"], row["key"], size_of(row)) for row in self.rows())
        kept = itertools.accumulate(size for _, _, size in sizes)
        dropped = [key for (_, key, _), total in zip(sizes, kept, strict=True) if total > most]
        self.forget(dropped)
        return len(dropped)


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
        return _Database(path)
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
    except (BlockingIOError, FileNotFoundError) as error:
        os.close(descriptor)
        message = "another process is writing this store; wait for it, or name another store"
        raise InputError(f"{path.with_suffix('')}: {message}") from error
    except OSError as error:
        os.close(descriptor)
        raise NoLocksError(str(error)) from error
    return descriptor


class _Database(Store):
    """A store in SQLite, with a lock in a file beside it; readers may look at it meanwhile."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with ExitStack() as opened:
            self._lock = _lock(path.with_name(path.name + ".lock"))
            opened.callback(os.close, self._lock)
            self._file = _connect(path, "rwc")
            opened.callback(self._file.close)
            self._use = self._do("SELECT coalesce(max(used), 0) + 1 FROM cell")[0][0]
            opened.pop_all()

    def known(self, keys: Iterable[str]) -> dict[str, Answer]:
        wanted, found = iter(keys), {}
        while part := [*itertools.islice(wanted, 500)]:
            marks = ", ".join("?" * len(part))
            for values in self._do(f"{SELECT} WHERE key IN ({marks})", part):
                found[values[0]] = answer_of(_read(self.path, values))
            self._do(f"UPDATE cell SET used = ? WHERE key IN ({marks})", [self._use, *part])  # noqa: S608
        return found

    def add(self, answers: Sequence[tuple[Cell, Answer]]) -> None:
        marks = ", ".join("?" * len(KINDS))
        rows = [_row(cell, answer, self._use) for cell, answer in answers]
        values = [[json.dumps(row[name]) if name in DEEP else row[name] for name in KINDS] for row in rows]
        self._do_all(f"INSERT OR REPLACE INTO cell VALUES ({marks})", values)  # noqa: S608

    def rename(self, cells: Iterable[Cell]) -> None:
        statement = (
            "UPDATE cell SET name = :name, function = :function, arguments = :arguments "
            "WHERE key = :key AND function <> :function"
        )
        told = map(_told_of, cells)
        self._do_all(statement, [one | {"arguments": json.dumps(one["arguments"])} for one in told])

    def forget(self, keys: Iterable[str]) -> None:
        dropped = [[key] for key in keys]
        if dropped:
            self._do_all("DELETE FROM cell WHERE key = ?", dropped)
            self._do("VACUUM")

    def rows(self, function: str | None = None) -> Iterator[dict[str, Any]]:
        return _rows_of(self.path, self._file, function)

    def close(self) -> None:
        self._file.close()
        os.close(self._lock)

    def _do(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with _told(self.path):
            return self._file.execute(statement, values).fetchall()

    def _do_all(self, statement: str, rows: Sequence[Any]) -> None:
        """Do a statement for every row, or for none."""
        with _told(self.path), self._file:  # the file ends the transaction
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany(statement, rows)


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
    with _told(path):
        address = f"{path.absolute().as_uri()}?mode={mode}"
        file = sqlite3.connect(address, uri=True, isolation_level=None, timeout=5.0)
    with ExitStack() as opened:
        opened.callback(file.close)
        with _told(path):
            (tables,) = file.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables == 0 and mode == "rwc":
                file.execute("PRAGMA journal_mode = WAL")
                file.executescript(
                    f"BEGIN; CREATE TABLE cell ({CREATE}); PRAGMA application_id = {APPLICATION}; "
                    f"PRAGMA user_version = {FORMAT}; COMMIT"
                )
            (whose,) = file.execute("PRAGMA application_id").fetchone()
            (version,) = file.execute("PRAGMA user_version").fetchone()
            file.execute("PRAGMA synchronous = NORMAL")
        if whose != APPLICATION:
            raise InputError(f"{path}: cannot be used: {NO_STORE}")
        if version not in {1, FORMAT}:
            raise InputError(f"{path}: cannot be used: its format is {version}, and only {FORMAT} is known")
        if version == 1 and mode == "rwc":
            with _told(path):
                file.executescript(SECOND)
        opened.pop_all()
    return file


def _rows_of(path: Path, file: sqlite3.Connection, function: str | None = None) -> Iterator[dict[str, Any]]:
    with _told(path):
        (version,) = file.execute("PRAGMA user_version").fetchone()
        select = SELECT if version == FORMAT else SELECT_FIRST
        for values in file.execute(f"{select} WHERE ? IN (function, '') ORDER BY key", [function or ""]):
            yield _read(path, values)


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


class _Journal(Store):
    """A store of lines of JSON; the last line that names a key counts, and one that is torn is none."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._mark = path.with_name(path.name + ".lock")
        with ExitStack() as opened:
            _mark(self._mark)
            opened.callback(self._mark.unlink, missing_ok=True)
            self._rows = _journal(path)
            self._use = max((row["used"] for row in self._rows.values()), default=0) + 1
            self._begin()
            opened.pop_all()

    def known(self, keys: Iterable[str]) -> dict[str, Answer]:
        found = [self._rows[key] for key in keys if key in self._rows]
        self._append([row | {"used": self._use} for row in found if row["used"] < self._use])
        return {row["key"]: answer_of(row) for row in found}

    def add(self, answers: Sequence[tuple[Cell, Answer]]) -> None:
        self._append([_row(cell, answer, self._use) for cell, answer in answers])

    def rename(self, cells: Iterable[Cell]) -> None:
        told = [_told_of(cell) for cell in cells if cell.key in self._rows]
        named = [(self._rows[one["key"]], one) for one in told]
        self._append([row | one for row, one in named if row["function"] != one["function"]])

    def forget(self, keys: Iterable[str]) -> None:
        dropped = set(keys)
        self._rows = {key: row for key, row in self._rows.items() if key not in dropped}
        self._file.close()
        self._begin()

    def rows(self, function: str | None = None) -> Iterator[dict[str, Any]]:
        rows = sorted(self._rows.items())
        return iter([row for _, row in rows if function in {None, row["function"]}])

    def close(self) -> None:
        self._file.close()
        self._mark.unlink(missing_ok=True)

    def _append(self, rows: Sequence[dict[str, Any]]) -> None:
        data, end = _lines(rows), self.path.stat().st_size
        with _undone(self.path, lambda: os.truncate(self.path, end)):  # what is torn is passed over, too
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        self._rows |= {row["key"]: row for row in rows}

    def _begin(self) -> None:
        """Write the file anew, without what is torn, replaced or dropped, and open it."""
        part = self.path.with_name(f".{self.path.name}.new")
        with _undone(self.path, part.unlink):
            with part.open("wb") as stream:
                stream.write(_lines(self._rows.values()))
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(self.path)
            self._file = self.path.open("ab", buffering=0)


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
    me = f"{os.uname().nodename} {os.getpid()}"
    for _ in range(2):
        try:
            with path.open("x") as stream:
                stream.write(me)
        except FileExistsError as error:
            host, _, process = path.read_text().partition(" ")
            if host != os.uname().nodename or (process.isdigit() and _runs(int(process))):
                raise InputError(
                    f"{path}: process {process} on {host} writes this store; delete the file if it is gone"
                ) from error
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {reason(error)}") from error
        else:
            return
    raise InputError(f"{path}: another process has begun to write this store")


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
            row = dict(json.loads(line))
            row = _checked({"computed": row.get("used"), "exceeded": {}} | row)  # in format 1 there are none
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"{path}: line {number} is damaged ({error}); delete the file") from error
        rows[row["key"]] = row
    return rows


def place_of(path: Path) -> Path | None:
    """Return where the results of a store are, which may be lines of JSON beside it; None if nowhere."""
    places = (path, path.with_name(path.name + JOURNAL))
    return next((place for place in places if place.exists()), None)


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

    def look(key: str) -> Answer | None:
        with _told(path):
            found = file.execute(f"{SELECT} WHERE key = ?", [key]).fetchone()
        return None if found is None else answer_of(_read(path, found))

    with closing(_connect(path, "ro")) as file:
        yield look


def _told_of(cell: Cell) -> dict[str, Any]:
    """Return what a row says of its cell."""
    return vars(cell) | {"name": printable(cell.name), "arguments": dict(cell.arguments)}


def _row(cell: Cell, answer: Answer, use: int) -> dict[str, Any]:
    return _told_of(cell) | {
        "state": answer.state.value,
        "attempts": answer.attempts,
        "error": printable(answer.error),
        "seconds": answer.seconds,
        "result": answer.result,
        "used": use,
        "computed": use,
        "exceeded": dict(answer.exceeded),
    }


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def printable(text: str) -> str:
    """Return a text with halves of characters, which no file holds, written out."""
    return text.encode(errors="backslashreplace").decode()


def answer_of(row: Mapping[str, Any]) -> Answer:
    """Return the answer that a row holds."""
    named = {field.name: row[field.name] for field in fields(Answer)}
    return Answer(**named | {"state": State(row["state"])})
