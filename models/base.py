"""What every problem has in common: instances, their files, violations and errors.

An *instance* has two halves. Its ``setting`` is what a policy may know before it starts; what nature reveals
is handed out event by event through an *episode*. A policy never sees the instance itself.
"""

from __future__ import annotations

import gzip
import hashlib
import inspect
import json
import os
import stat
import tempfile
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from .checks import MOST_WHOLE as MOST_WHOLE
from .checks import SMALLEST as SMALLEST
from .checks import ClairvoyantError as ClairvoyantError
from .checks import InputError as InputError
from .checks import did_you_mean as did_you_mean
from .checks import need as need
from .checks import numbers as numbers
from .checks import refuse_unknown as refuse_unknown
from .checks import things as things
from .fields import Field, Record, Text, complete
from .shown import Shown, sizes

if TYPE_CHECKING:  # where nothing is said of the setting or of decisions, they are anything
    from typing_extensions import TypeVar as WithDefault

    SettingType = WithDefault("SettingType", default=Any)
    DecisionType = WithDefault("DecisionType", default=Any)
else:
    SettingType, DecisionType = TypeVar("SettingType"), TypeVar("DecisionType")

FORMAT_VERSION = 1

GZIPPED = b"\x1f\x8b"
"""What gzipped files begin with."""

MOST_BYTES = 2**28
"""The most that is read from a file, 256 MiB once it is unpacked."""


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
        return _ORIGIN.write(self)

    @classmethod
    def from_dict(cls, data: Any) -> Origin:
        """Read the JSON form; refuse unknown or malformed fields by name."""
        return _ORIGIN.read(data, "origin", {})


_ORIGIN = Record(
    Field("source", Text(), "what made the instance"),
    Field("real", Text(listed=True), "which of its columns are real", optional=True),
    Field("filled", Text(listed=True), "which are filled in, and how", optional=True),
    make=Origin,
)
ORIGIN = Field(
    "origin",
    _ORIGIN,
    "`source`, and lists of what is `real` and what is `filled` in; no effect on any result",
    optional=True,
    hidden=True,
    counts=False,
)
"""The field of every instance."""


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


class Instance(Shown, Generic[SettingType]):
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

    def told(self) -> tuple[str, dict[str, str]]:
        """Return the problem and its size, and below them the unit of rewards, the origin and the digest."""
        size = sizes(self.facts())
        rewards = [self.unit and f"in {self.unit}", "less is better" if self.minimised else ""]
        known = [(len(self.origin.real), "real"), (len(self.origin.filled), "filled in")]
        origin = [self.origin.source, *(f"{count} {what}" for count, what in known if count)]
        pairs = {"rewards": "; ".join(filter(None, rewards))} if any(rewards) else {}
        pairs |= {"origin": "; ".join(origin), "digest": self.digest()}
        return f"{self.problem}: {size}" if size else self.problem, pairs

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
        """Build an instance from its JSON form; refuse what is wrong by field, index and value."""

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

        It is an InputError if the file cannot be written, or would be larger than what is read.
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

        A file that is missing, truncated, not JSON, of another problem or version, or invalid, is an
        InputError.
        """
        data = read_object(path_of("path", path))
        if data.get("problem") != cls.problem:
            raise InputError(f"{path}: problem: {data.get('problem')!r} is not {cls.problem!r}")
        try:
            return cls.from_dict(data)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


REFUSES = """Raises
------
InputError
    Naming the field, the index and the value at fault."""
"""What the docstring of a class of instances ends with."""


class Declared(Instance[SettingType]):
    """An instance whose fields are declared: files, content and a JSON Schema come from there.

    Subclasses set ``declared``. Constructors read each field by its ``reader``, and keep it where it says.
    """

    declared: ClassVar[Record]

    def __init_subclass__(cls) -> None:
        """Say in the docstring what the fields are."""
        super().__init_subclass__()
        if "declared" in vars(cls):
            text = inspect.cleandoc(cls.__doc__ or "")
            cls.__doc__ = text if "\nRaises\n" in text else f"{text}\n\n{REFUSES}"
            complete(cls, cls.declared, "Parameters")

    def _values(self) -> Iterator[tuple[Field, Any]]:
        values = (
            (one, getattr(self if one.hidden else self.setting, one.at)) for one in self.declared.fields
        )
        return self.declared.present(values)

    def content(self) -> Iterator[tuple[str, Any]]:
        """Yield what identifies the instance: what is declared to count."""
        for one, value in self._values():
            if one.counts:
                yield one.argument, value if isinstance(value, np.ndarray) else one.kind.write(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, ``problem`` and ``version`` first."""
        head = {"problem": self.problem, "version": FORMAT_VERSION}
        return head | self.declared.written(self._values())

    @classmethod
    def given(cls, data: Any) -> dict[str, Any]:
        """Return the fields of a JSON form by their names, unread but for the origin."""
        found = cls.declared.given(data, also=("problem", "version"))
        return found | ({"origin": Origin.from_dict(found["origin"])} if "origin" in found else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build an instance from its JSON form; see the class for what is refused."""
        return cls.of(cls.given(data))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Build an instance from fields by their names."""
        return cls(**{one.argument: given[one.name] for one in cls.declared.fields if one.name in given})

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of files: whatever is read has this form."""
        schema = cls.declared.schema()
        head = {"problem": {"const": cls.problem}, "version": {"const": FORMAT_VERSION}}
        return (
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": cls.problem}
            | schema
            | {"properties": head | schema["properties"], "required": [*head, *schema["required"]]}
        )


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

    An InputError if there is none, or one of more than :data:`MOST_BYTES`.
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

    What is damaged, or holds more than :data:`MOST_BYTES`, is an InputError; it is not unpacked further.
    """
    try:
        with regular(path).open("rb") as stream:
            packed = stream.peek(len(GZIPPED))[: len(GZIPPED)] == GZIPPED
            if packed != (path.suffix == ".gz"):
                what, must = ("gzipped", "must") if packed else ("not gzipped", "must not")
                raise InputError(f"{path}: cannot be read: it is {what}, so its name {must} end in .gz")
            data = (gzip.GzipFile(fileobj=stream) if packed else stream).read(MOST_BYTES + 1)
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
    """Make a folder unless it is there; an InputError if that is not possible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        raise InputError(f"{path}: cannot be made a folder: {reason(error)}") from error


def remove_parts(folder: Path) -> None:
    """Remove what writers that were killed have left in a folder that nobody else writes into."""
    for part in folder.glob(f".*{PART}"):
        part.unlink(missing_ok=True)


def decided(decision: Any, shape: tuple[int, ...], axes: str = "", wanted: str = "") -> np.ndarray:
    """Return a decision as a contiguous float array, or raise an InputError for another shape or type.

    ``axes`` say what the axes are, and ``wanted`` what a policy that gave None should have given; without it
    None is refused as any other shape.
    """
    if decision is None and wanted:
        raise InputError(f"decision: None; decide() must return {wanted}")
    array = floats(decision)
    if array.shape != shape:
        raise InputError(f"decision: shape {array.shape} does not fit, expected {shape}{axes}")
    return array


def floats(decision: Any) -> np.ndarray:
    """Return what a policy gave as a contiguous float array, or raise an InputError if it is none."""
    try:
        given = np.asarray(decision)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"decision: not an array of numbers: {error}") from error
    if given.dtype.kind not in "biuf":
        _refuse_others(given, decision)
    try:
        return np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"decision: not an array of numbers: {error}") from error


def _refuse_others(given: np.ndarray, decision: Any) -> None:
    """Raise an InputError for the first entry of a decision that is no number, if there is one."""
    if given.dtype.kind == "c":
        raise InputError("decision: not an array of numbers: they are complex")
    never = given.dtype.kind in "mMV"  # times and bytes
    for index, one in np.ndenumerate(given if never else np.asarray(decision, dtype=object)):
        if never or one is None or isinstance(one, (str, bytes, date, timedelta)):
            place = "".join(f"[{i}]" for i in index)
            raise InputError(f"decision{place}: {one!r} is not a number")


def frozen(array: np.ndarray) -> np.ndarray:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def frozen_copy(array: np.ndarray) -> np.ndarray:
    """Return a read-only copy."""
    return frozen(np.array(array, order="C"))
