"""Claims: one statement of one paper each, how it is checked, and the finding."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from ..models.base import Instance

EXTRAS = {"rl": "torch"}
"""The module that each optional part of the package brings, by the name of the extra."""


class Verdict(enum.Enum):
    """The verdict of a check on a statement."""

    HOLDS = "holds"
    FAILS = "fails"
    HOLDS_AMENDED = "holds amended"
    VACUOUS = "vacuous"
    NOT_CHECKABLE = "not checkable here"


def holds_if(condition: bool) -> Verdict:
    """Return "holds" or "fails"."""
    return Verdict.HOLDS if condition else Verdict.FAILS


def amended_if(as_printed: bool, amended: bool) -> Verdict:
    """Return "holds" if the printed form does, "holds amended" if only the amended one does, else "fails"."""
    return Verdict.HOLDS if as_printed else Verdict.HOLDS_AMENDED if amended else Verdict.FAILS


@dataclass(frozen=True)
class Table:
    """A table of results: a title, column heads with units, and rows of text or numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A picture: a file name without ending, a caption, and the SVG text."""

    name: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    Attributes
    ----------
    verdict
        The verdict.
    summary
        One or two sentences with the figures that decide.
    numbers
        The figures behind the verdict, by name (with unit where there is one).
    tables, figures
        Results to look at.
    counterexample
        Where the statement fails on an instance: the smallest such instance known.
    small
        Whether the samples were too small to count on a decision, so that an open verdict is no surprise.
    """

    verdict: Verdict
    summary: str
    numbers: dict[str, float | int | str | bool] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    counterexample: Instance | None = None
    small: bool = False


@dataclass(frozen=True)
class Context:
    """The mode, seed and progress callback of a check.

    Attributes
    ----------
    mode
        "quick" (a smoke test), "default" (minutes) or "full" (the paper's sizes).
    seed
        Seed of everything random.
    progress
        Called with the fraction of this check that is done.
    """

    mode: str = "default"
    seed: int = 0
    progress: Callable[[float], None] = lambda _fraction: None

    def pick(self, quick: Any, default: Any, full: Any) -> Any:
        """Return the argument that belongs to the mode."""
        return {"quick": quick, "default": default, "full": full}[self.mode]


@dataclass(frozen=True)
class Claim:
    """One statement of one paper.

    Attributes
    ----------
    id
        "problem/name"; also names the files of its results.
    where
        Where it stands in the paper.
    says
        The statement, in our words.
    how
        How it is checked.
    expected
        The verdict we stand for; the audit fails if a run finds another.
    check
        The check itself.
    extra
        The extra of :data:`EXTRAS` that the check needs, if any. Where it is not installed, the audit says so
        instead of checking.
    """

    id: str
    where: str
    says: str
    how: str
    expected: Verdict
    check: Callable[[Context], Finding]
    extra: str = ""

    @property
    def lacks_extra(self) -> bool:
        """Whether the extra that the check needs is not installed."""
        return bool(self.extra) and find_spec(EXTRAS[self.extra]) is None

    def find(self, context: Context) -> Finding:
        """Check the claim, or say what must be installed first."""
        if not self.lacks_extra:
            return self.check(context)
        context.progress(1.0)
        return Finding(
            Verdict.NOT_CHECKABLE,
            f"Not checked: {EXTRAS[self.extra]} is not installed. "
            f'This installs it: pip install "clairvoyant[{self.extra}]"',
        )

    def as_expected(self, finding: Finding) -> bool:
        """Return whether a finding is the one we stand for.

        Where the extra is missing, or samples are too small, it may as well be open.
        """
        if self.lacks_extra or finding.small:
            return finding.verdict in (self.expected, Verdict.NOT_CHECKABLE)
        return finding.verdict is self.expected

    @property
    def problem(self) -> str:
        """The problem it belongs to."""
        return self.id.split("/", 1)[0]


def instance_table(problem: str, sampled: Mapping[str, Instance]) -> Table:
    """Return facts, digest and origin of generated instances of a problem, by size."""
    columns = ("size", *next(iter(sampled.values())).facts(), "digest", "origin")
    rows = tuple((size, *i.facts().values(), i.digest(), str(i.origin)) for size, i in sampled.items())
    return Table(f"Generated {problem} instances", columns, rows)
