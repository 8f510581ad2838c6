"""What every problem has in common: instances, their files, violations and errors.

An *instance* has two halves. Its ``setting`` is what a policy may know before it starts; what nature reveals
is handed out event by event through an *episode*. A policy never sees the instance itself.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import json
import os
import re
import stat
import sys
import tempfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

if TYPE_CHECKING:  # where nothing is said of the setting or of decisions, they are anything
    from typing_extensions import TypeVar as WithDefault

    SettingType = WithDefault("SettingType", default=Any)
    DecisionType = WithDefault("DecisionType", default=Any)
else:
    SettingType, DecisionType = TypeVar("SettingType"), TypeVar("DecisionType")

FORMAT_VERSION = 1

MOST_WHOLE = 2**53 - 1
"""The largest whole number that is read: up to here all of them are exact, in every program and format."""

SMALLEST = sys.float_info.min
"""The number nearest to 0 that is read, 2.2e-308: below it floats lose digits."""

MOST_BYTES = 2**28
"""The most that is read from a file, 256 MiB once it is unpacked."""


class ClairvoyantError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(ClairvoyantError, ValueError):
    """Input that cannot be used: it names the field, the index and the value, before any work is done."""


class DecisionError(ClairvoyantError):
    """A decision breaks a constraint; ``violations`` lists every broken one."""

    def __init__(self, message: str, violations: list[Violation]) -> None:
        super().__init__(message)
        self.violations = violations

    @classmethod
    def at(cls, when: str, broken: list[Violation], told: Iterable[Any] | None = None) -> Self:
        """Return the error for a decision at that time; ``told`` is what to say of each broken constraint."""
        first = "; ".join(str(one) for one in list(broken if told is None else told)[:3])
        more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
        return cls(f"{when}: infeasible decision: {first}{more}", broken)


@dataclass(frozen=True)
class Violation:
    """One broken constraint: its name, where it is broken, and by how much (in the constraint's own unit)."""

    constraint: str
    index: tuple[int, ...]
    excess: float

    def __str__(self) -> str:
        where = "".join(f"[{i}]" for i in self.index)
        return f"{self.constraint}{where} exceeded by {self.excess:.6g}"


@dataclass(frozen=True)
class Origin:
    """Where an instance comes from: which of its columns are real, which are filled in, and how.

    It is stored in the instance and printed with every result; it has no effect on any result.
    """

    source: str
    real: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [self.source]
        if self.real:
            parts.append("real: " + ", ".join(self.real))
        if self.filled:
            parts.append("filled: " + ", ".join(self.filled))
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"source": self.source, "real": list(self.real), "filled": list(self.filled)}

    @classmethod
    def from_dict(cls, data: Any) -> Origin:
        """Read the JSON form; refuse unknown or malformed fields by name."""
        if not isinstance(data, Mapping):
            raise InputError(f"origin: {data!r} is not an object")
        refuse_unknown(data, {"source", "real", "filled"}, "origin.")
        lists = {}
        for key in ("real", "filled"):
            value = data.get(key, [])
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise InputError(f"origin.{key}: {value!r} is not a list of strings")
            lists[key] = tuple(value)
        if not isinstance(data.get("source"), str):
            raise InputError(f"origin.source: {data.get('source')!r} is not a string")
        return cls(data["source"], lists["real"], lists["filled"])


@dataclass(frozen=True)
class Outcome:
    """What a decision led to.

    ``reward`` is the cost where the problem minimises; ``feedback`` is what the policy may learn from it.
    """

    reward: float
    feasible: bool
    feedback: Any


class Episode(Protocol):
    """One pass through an instance: iterate for observations, answer each with ``apply``."""

    def __iter__(self) -> Iterator[Any]:
        """Yield in order what a policy decides on, frozen; it shares nothing with what scores."""
        ...

    def apply(self, decision: Any, *, enforce: bool = True) -> Outcome:
        """Score the decision for the current observation.

        With ``enforce`` an infeasible decision raises :class:`DecisionError`; without it the decision is
        rewarded as it stands and the outcome says that it was infeasible.
        """
        ...


class Instance(ABC, Generic[SettingType]):
    """One problem to schedule: immutable, validated when made, equal by value.

    Subclasses set ``problem`` and provide the setting, the episode, the dictionary form and the content that
    identifies them; saving, loading, hashing and equality come from here.
    """

    problem: ClassVar[str]
    minimised: ClassVar[bool] = False  # whether rewards are costs, so that less is better
    unit: ClassVar[str] = ""  # what rewards are counted in, where they have a unit
    revealed: ClassVar[tuple[str, ...]] = ()  # lists of the JSON form with an entry per event, in their order
    shows: ClassVar[frozenset[str]] = frozenset()  # what a policy may ask to see of an event
    setting: SettingType  # what a policy may know before it starts
    origin: Origin

    @abstractmethod
    def episode(self, sees: frozenset[str]) -> Episode:
        """Return a fresh pass through the instance for a policy that sees these things before deciding."""

    @abstractmethod
    def violations(self, decision: Any) -> list[Violation]:
        """List every constraint the decision breaks; empty if it is feasible."""

    def kept(self, decision: Any) -> Any:
        """Return the form in which a run keeps a decision that is plain data and was applied."""
        return decision

    def facts(self) -> dict[str, float]:
        """Return the numbers that say how large the instance is, by name: what its JSON form has lists of."""
        return {name: len(value) for name, value in self.to_dict().items() if isinstance(value, list)}

    def remarks(self) -> list[str]:
        """Return what a reader should know of the instance before any result, one line each."""
        return []

    def decision_facts(self, decision: Any) -> dict[str, Any]:
        """Return what is told of an oracle's decision besides its value, by name."""
        return {}

    def content(self) -> Iterator[tuple[str, Any]]:
        """Yield (name, array or JSON value) pairs that together identify the instance."""
        yield from ((name, value) for name, value in self.to_dict().items() if name != "origin")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, ``problem`` and ``version`` first."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build an instance from its JSON form.

        Raises
        ------
        InputError
            Naming the field, the index and the value at fault.
        """

    def digest(self) -> str:
        """Return a hash of the content: equal instances, equal digests, on every machine and in every run."""
        cached = self.__dict__.get("_digest")
        if cached is None:
            hasher = hashlib.sha256(f"{self.problem}/{FORMAT_VERSION}".encode())
            for name, value in self.content():
                hasher.update(name.encode())
                if isinstance(value, np.ndarray):
                    little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
                    hasher.update(f"{little.shape}{little.dtype.kind}".encode())
                    hasher.update(little.tobytes())
                else:
                    hasher.update(json.dumps(value, sort_keys=True).encode())
            cached = hasher.hexdigest()[:16]
            self.__dict__["_digest"] = cached
        return str(cached)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return self.problem == other.problem and self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the instance as JSON, gzipped if the name ends in ``.gz``; nothing is left half-written.

        Raises
        ------
        InputError
            If the file cannot be written, or would be larger than what is read.
        """
        target = path_of("path", path)
        text = (json.dumps(self.to_dict(), separators=(",", ":")) + "\n").encode()
        if len(text) > MOST_BYTES:
            raise InputError(
                f"{target}: not written: it would hold {len(text) / 2**20:.0f} MiB, and no file of more than "
                f"{MOST_BYTES / 2**20:.0f} MiB is read"
            )
        write_whole(target, gzip.compress(text, mtime=0) if target.suffix == ".gz" else text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an instance written by :meth:`save`.

        Raises
        ------
        InputError
            If the file is missing, truncated, not JSON, of another problem or version, or invalid.
        """
        data = read_object(path_of("path", path))
        if data.get("problem") != cls.problem:
            raise InputError(f"{path}: problem: {data.get('problem')!r} is not {cls.problem!r}")
        try:
            return cls.from_dict(data)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


def reason(error: Exception) -> str:
    """Return why something failed, without the path that the system repeats."""
    return getattr(error, "strerror", None) or str(error)


def path_of(field: str, value: Any) -> Path:
    """Return a path, or raise an InputError for what is none, such as a name with a NUL."""
    try:
        path = Path(value)
    except TypeError as error:
        raise InputError(f"{field}: {value!r} is not a path") from error
    if "\0" in str(path):
        raise InputError(f"{field}: {value!r} is not a path: it holds a NUL")
    return path


def regular(path: Path) -> Path:
    """Return the path if a regular file is there: a device may never end, a pipe may never begin.

    Raises
    ------
    InputError
        If there is none, or one of more than :data:`MOST_BYTES`.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        raise InputError(f"{path}: cannot be read: {reason(error)}") from error
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path}: cannot be read: it is not a regular file")
    _refuse_long(path, found.st_size)
    return path


def _refuse_long(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise InputError(f"{path}: cannot be read: it holds more than {MOST_BYTES // 2**20} MiB")


def read_bytes(path: Path) -> bytes:
    """Return what a regular file holds, unpacked if its name ends in ``.gz``.

    Raises
    ------
    InputError
        If there is no such file, or it is damaged, or holds more than :data:`MOST_BYTES`; it is not unpacked
        further.
    """
    try:
        with regular(path).open("rb") as stream:
            data = (gzip.GzipFile(fileobj=stream) if path.suffix == ".gz" else stream).read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        damaged = "" if getattr(error, "strerror", None) else "damaged gzip data: "
        raise InputError(f"{path}: cannot be read: {damaged}{reason(error)}") from error
    _refuse_long(path, len(data))
    return data


def read_text(path: Path) -> str:
    """Return the UTF-8 text in a file; see :func:`read_bytes`."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: not UTF-8: {error}") from error


def read_object(path: Path) -> dict[str, Any]:
    """Read the one JSON object in a file, checking everything that is common to all problems."""
    text = read_text(path)
    try:
        data = json.loads(text, object_pairs_hook=_without_doubles)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:  # ValueError: a number of thousands of digits, too
        raise InputError(f"{path}: not a complete JSON text: {error}") from error
    if not isinstance(data, dict):
        raise InputError(f"{path}: the file holds {type(data).__name__}, not one object")
    if data.get("version") != FORMAT_VERSION or isinstance(data.get("version"), bool):
        raise InputError(
            f"{path}: version: {data.get('version')!r} is not supported, expected {FORMAT_VERSION}"
        )
    return data


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, or raise if it has a field twice: readers differ in which of them counts."""
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        raise InputError(f"{next(name for name in names if names.count(name) > 1)}: the field stands twice")
    return data


PART = ".cv-part"
"""How the name of a file ends that is not written to its end yet."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that readers see either the old one or the whole new one."""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:  # Ctrl-C too must leave nothing behind; it is raised again
            Path(name).unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        raise InputError(f"{path}: cannot be written: {reason(error)}") from error


def make_folder(path: Path) -> None:
    """Make a folder unless it is there.

    Raises
    ------
    InputError
        If that is not possible.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        raise InputError(f"{path}: cannot be made a folder: {reason(error)}") from error


def remove_parts(folder: Path) -> None:
    """Remove what writers that were killed have left in a folder that nobody else writes into."""
    for part in folder.glob(f".*{PART}"):
        part.unlink(missing_ok=True)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return what ends the refusal of an unknown name: the known one that is most like it, if any is."""
    close = difflib.get_close_matches(name, list(known), 1) if isinstance(name, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


def things(number: float, names: str) -> str:
    """Return what so many things are called: "jobs that can never finish", of which there may be one."""
    return re.sub("s(?= of | that | per | at |$)", "", names, count=1) if number == 1 else names


def refuse_unknown(data: Mapping[str, Any], known: set[str], prefix: str = "") -> None:
    """Raise for the first key that is not known, or for what is no object."""
    _refuse_no_object(data, prefix)
    for key in data:
        if key not in known:
            expected = ", ".join(sorted(known))
            raise InputError(
                f"{prefix}{key}: unknown field; expected one of {expected}{did_you_mean(key, sorted(known))}"
            )


def _refuse_no_object(data: Any, prefix: str) -> None:
    if not isinstance(data, Mapping):
        raise InputError(f"{prefix.rstrip('.') or 'instance'}: {data!r} is not an object")


def need(data: Mapping[str, Any], key: str, prefix: str = "") -> Any:
    """Return a field that must be there."""
    _refuse_no_object(data, prefix)
    if key not in data:
        raise InputError(f"{prefix}{key}: missing field")
    return data[key]


def fields(data: Any, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of an instance's JSON form that are there, and its ``origin`` read.

    Raises
    ------
    InputError
        For a field that is not known, or one that must be there and is not.
    """
    known = (*required, *optional)
    refuse_unknown(data, {*known, "problem", "version", "origin"})
    found = {name: need(data, name) for name in known if name in data or name in required}
    return found | ({"origin": Origin.from_dict(data["origin"])} if "origin" in data else {})


def decided(decision: Any, shape: tuple[int, ...], axes: str = "", wanted: str = "") -> np.ndarray:
    """Return a decision as a contiguous float array.

    Parameters
    ----------
    decision
        What a policy gave.
    shape, axes
        The shape it must have, and what its axes are.
    wanted
        What a policy that gave None should have given; by default that is refused as any other shape.

    Raises
    ------
    InputError
        For another shape or type.
    """
    if decision is None and wanted:
        raise InputError(f"decision: None; decide() must return {wanted}")
    try:
        array = np.ascontiguousarray(decision, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"decision: not an array of numbers: {error}") from error
    if array.shape != shape:
        raise InputError(f"decision: shape {array.shape} does not fit, expected {shape}{axes}")
    return array


def frozen(array: np.ndarray) -> np.ndarray:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def frozen_copy(array: np.ndarray) -> np.ndarray:
    """Return a read-only copy."""
    return frozen(np.array(array, order="C"))


def numbers(
    value: Any,
    field: str,
    shape: tuple[int | None, ...],
    *,
    low: float = 0.0,
    high: float = np.inf,
    integer: bool = False,
) -> np.ndarray:
    """Turn nested lists or an array into a read-only array of checked numbers.

    Parameters
    ----------
    value
        Nested lists of numbers, or an array.
    field
        Name used in error messages.
    shape
        Expected shape; ``None`` where any length will do.
    low, high
        Allowed range, both ends included.
    integer
        Whether every number must be whole.

    Raises
    ------
    InputError
        Naming the field, the index and the value of the first entry at fault.
    """
    array = _regular(value, field, len(shape))
    if array.size == 0 and len(shape) == 2 and array.ndim == 1 and shape[1] is not None:
        array = array.reshape(0, shape[1])
    expected = "x".join("any" if n is None else str(n) for n in shape)
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        got = "x".join(map(str, array.shape)) or "a single number"
        raise InputError(f"{field}: shape {got} does not fit, expected {expected}")
    ok = np.isfinite(array) & (array >= low) & (array <= high)
    if integer:
        ok &= array == np.floor(array)
    kind = "a whole number" if integer else "a finite number"
    upper = "" if high == np.inf else f" and at most {high:.12g}"
    _refuse_first(~ok, array, field, f"is not {kind} of at least {low:.12g}{upper}")
    _refuse_first((array != 0.0) & (abs(array) < SMALLEST), array, field, TOO_SMALL)
    if integer:
        _refuse_first(abs(array) > MOST_WHOLE, array, field, TOO_LARGE)
    array = array + 0.0  # -0.0 becomes 0.0, so that equal numbers give equal digests
    result = np.array(array, dtype=np.int64 if integer else np.float64, order="C")
    result.setflags(write=False)
    return result


TOO_SMALL = "is nearer to 0 than 2.2e-308, where numbers lose digits"
TOO_LARGE = f"is beyond {MOST_WHOLE}, up to which whole numbers are exact"


def _refuse_first(wrong: np.ndarray, array: np.ndarray, field: str, why: str) -> None:
    """Raise for the first entry that is wrong."""
    if not wrong.any():
        return
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = "".join(f"[{i}]" for i in index)
    raise InputError(f"{field}{where}: {repr(float(array[index])).removesuffix('.0')} {why}")


def _is_row(node: Any) -> bool:
    return isinstance(node, (list, tuple)) or (isinstance(node, np.ndarray) and node.ndim > 0)


def _regular(value: Any, field: str, depth: int) -> np.ndarray:
    """Return a float array, or say which entry is not a number or which row has another length."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        return value.astype(np.float64)

    def walk(node: Any, index: tuple[int, ...]) -> None:
        where = field + "".join(f"[{i}]" for i in index)
        if len(index) == depth:
            if isinstance(node, bool) or not isinstance(node, (int, float, np.integer, np.floating)):
                raise InputError(f"{where}: {node!r} is not a number")
            if isinstance(node, int) and abs(node) > sys.float_info.max:
                raise InputError(f"{where}: a whole number beyond 1.8e308 is too large")
            return
        if not _is_row(node):
            raise InputError(f"{where}: {node!r} is not a list")
        first = len(node[0]) if len(node) and _is_row(node[0]) else None
        for i, child in enumerate(node):
            walk(child, (*index, i))
            if first is not None and len(child) != first:
                raise InputError(f"{where}[{i}]: length {len(child)} differs from {first} of the first row")

    walk(value, ())
    return np.asarray(value, dtype=np.float64)
