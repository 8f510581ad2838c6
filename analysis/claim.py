"""Claims: one statement of one paper each, how it is checked, and the finding."""

from __future__ import annotations

import enum
import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..models.base import InputError, Instance
from ..models.draw import choose
from .optima import in_all, noting

MODES = ("quick", "default", "full")
EXTRAS = {"rl": "torch"}  # the module that each optional part of the package brings, by the name of the extra
HEADLINE, PARAGRAPH = 25, 80  # most words of a headline and of a paragraph


class Verdict(enum.Enum):
    """The verdict of a check on a statement, each with evidence of its own kind."""

    HOLDS = "holds"
    HOLDS_AMENDED = "holds amended"
    """As printed it does not, or not everywhere; with the amendment that the finding states it does."""
    REFUTED = "refuted"
    """A counterexample or a proof, within the paper's own assumptions."""
    NOT_REPRODUCED = "not reproduced"
    """Runs are against it over everything that its text leaves open."""
    UNDETERMINED = "undetermined"
    """Its sign depends on what the text leaves open, or the samples do not decide."""
    VACUOUS = "vacuous"
    """True, but it implies nothing at the sizes it is used for."""
    NOT_CHECKABLE = "not checkable here"
    """It needs what is not here: data, hardware, an extra."""


class Why(enum.Enum):
    """Why a finding is undetermined."""

    DEPENDS = "depends"
    """A statement surely holds in one reading of what the text leaves open, and surely not in another."""
    SAMPLES = "too few samples"
    """No statement does: runs do not decide them all."""
    LACKING = "nothing to judge"
    """No statement was judged: what would decide is not here, or not in the text."""


def in_words(verdict: Verdict, why: Why | None) -> str:
    """Return a verdict as text, with the reason of one that is undetermined."""
    return f"{verdict.value} ({why.value})" if why else verdict.value


def holds_if(condition: bool, otherwise: Verdict = Verdict.REFUTED) -> Verdict:
    """Return "holds", or what it is otherwise."""
    return Verdict.HOLDS if condition else otherwise


def amended_if(as_printed: bool, amended: bool, otherwise: Verdict = Verdict.REFUTED) -> Verdict:
    """Return "holds" if the printed form does, "holds amended" if only the amended one does."""
    return Verdict.HOLDS if as_printed else Verdict.HOLDS_AMENDED if amended else otherwise


@dataclass(frozen=True)
class Table:
    """A table of results: a title, column heads with units, and rows of text or numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InputError(f"rows[{i}]: {len(row)} cells, but there are {len(self.columns)} columns")


def table(title: str, heads: str, rows: Iterable[Iterable[Any]]) -> Table:
    """Return a table; its column heads stand in one text, with " | " between them."""
    return Table(title, tuple(heads.split(" | ")), tuple(map(tuple, rows)))


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
    headline
        What was found, in one plain sentence of at most :data:`HEADLINE` words for a reader of the paper.
    numbers
        The figures behind the verdict, by name (with unit where there is one).
    counterexample
        Where the statement fails on an instance: the smallest such instance known.
    small
        Whether the samples were too small to count on a decision, so that "undetermined" is no surprise. None
        stands for those that are so in quick mode, as of all statements; the claim fills in whether they are.
    assumes
        The assumptions that the verdict rests on: those of the paper, and what we had to choose.
    proof
        Why the statement cannot hold, step by step, where no instance shows it.
    signs
        Whether each judged statement holds (None: undecided), by statement and reading of an open text.
    optima
        How many optima the verdict rests on, by what proves them; see :mod:`.optima`. The claim fills it in.
    mode
        That of the check, which decides what is expected. The claim fills it in.
    remark
        What else a reader should know. Like ``assumes`` and ``proof`` it consists of paragraphs of at most
        :data:`PARAGRAPH` words, with an empty line between them.
    """

    verdict: Verdict
    headline: str
    numbers: dict[str, float | int | str | bool] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    counterexample: Instance | None = None
    small: bool | None = False
    assumes: str = ""
    proof: str = ""
    remark: str = ""
    signs: Mapping[str, Mapping[str, bool | None]] = field(default_factory=dict)
    optima: Mapping[str, int] = field(default_factory=dict)
    mode: str = "default"

    def __post_init__(self) -> None:
        if not isinstance(self.verdict, Verdict):
            raise InputError(f"verdict: {self.verdict!r} is no clairvoyant.analysis.claim.Verdict")
        if not isinstance(self.headline, str):
            raise InputError(f"headline: {self.headline!r} is no text")

    @property
    def why(self) -> Why | None:
        """Why it is undetermined, if it is."""
        if self.verdict is not Verdict.UNDETERMINED:
            return None
        depends = any({True, False} <= {*by_reading.values()} for by_reading in self.signs.values())
        return Why.DEPENDS if depends else Why.SAMPLES if self.signs else Why.LACKING

    @property
    def faults(self) -> list[str]:
        """What keeps it from being shown to anybody: evidence that is missing, texts that are too long."""
        found = []
        if self.verdict is Verdict.REFUTED and self.counterexample is None and not self.proof:
            found.append("refuted without a counterexample or a proof")
        if (words := len(self.headline.split())) > HEADLINE:
            found.append(f"headline: {words} words, more than {HEADLINE}")
        for name in ("assumes", "proof", "remark"):
            lengths = [len(text.split()) for text in getattr(self, name).split("\n\n")]
            found += [
                f"{name}: {n} words in a paragraph, more than {PARAGRAPH}" for n in lengths if n > PARAGRAPH
            ]
        return found


def finding(
    verdict: Verdict, headline: str, *shown: Mapping[str, Any] | Table | Figure | None, **more: Any
) -> Finding:
    """Return a finding; its numbers, tables and figures stand in any order, None among them is left out."""
    numbers = {name: value for one in shown if isinstance(one, Mapping) for name, value in one.items()}
    tables = tuple(one for one in shown if isinstance(one, Table))
    figures = tuple(one for one in shown if isinstance(one, Figure))
    return Finding(verdict, headline, numbers, tables, figures, **more)


@dataclass(frozen=True)
class Context:
    """The mode and the seed of a check, and what it tells the fraction of it that is done.

    The mode is "quick" (a smoke test), "default" (minutes) or "full" (the paper's sizes).
    """

    mode: str = "default"
    seed: int = 0
    progress: Callable[[float], None] = lambda _fraction: None

    def __post_init__(self) -> None:
        choose(self.mode, MODES, "mode")

    def pick(self, quick: Any, default: Any, full: Any) -> Any:
        """Return the argument that belongs to the mode."""
        return {"quick": quick, "default": default, "full": full}[self.mode]

    @property
    def quick(self) -> bool:
        """Whether samples are too small to count on a decision."""
        return self.mode == "quick"

    def rng(self, *salt: int) -> np.random.Generator:
        """Return a stream of random numbers of the seed; each check that shares one takes another salt."""
        return np.random.default_rng((self.seed, *salt))


Check = Callable[[Context], Finding]


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Have Python look for cycles of garbage less often.

    Every such look goes through all results that are remembered, and took a seventh of an audit.
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@dataclass(frozen=True)
class Claim:
    """One statement of one paper, or one of our own.

    Attributes
    ----------
    id
        "problem/name"; also names the files of its results.
    where
        Where it stands in the paper.
    says, how
        The statement, in our words, and how it is checked.
    expected
        The verdict we stand for; the audit fails if a run finds another.
    extra
        The extra of :data:`EXTRAS` that the check needs, if any. Without it the audit says so and no more.
    ours
        Whether it is a statement of our own.
    choices
        What the text leaves open and the check runs over, such as "units of CPU and MEM".
    because
        Why it is undetermined, where that is expected and said.
    turns
        Two readings: where "depends" is expected, some statement holds in the first and not in the second.
    at_full
        What is expected in full mode, where that is something else: a verdict, or why there is none.
    """

    id: str
    where: str
    says: str
    how: str
    expected: Verdict
    check: Check
    extra: str = ""
    ours: bool = False
    choices: tuple[str, ...] = ()
    because: Why | None = None
    turns: tuple[str, ...] = ()
    at_full: Verdict | Why | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.expected, Verdict):
            raise InputError(
                f"{self.id}: expected: {self.expected!r} is no clairvoyant.analysis.claim.Verdict"
            )

    @property
    def lacks_extra(self) -> bool:
        """Whether the extra that the check needs is not installed."""
        return bool(self.extra) and find_spec(EXTRAS[self.extra]) is None

    def find(self, context: Context) -> Finding:
        """Check the claim, or say what must be installed first."""
        if not self.lacks_extra:
            with noting() as noted, collecting_rarely():
                found = self.check(context)
            if not isinstance(found, Finding):
                raise InputError(f"{self.id}: its check returned {type(found).__name__}, not a Finding")
            optima = in_all([Counter(noted.values())]) if noted else found.optima
            small = context.quick if found.small is None else found.small
            return replace(found, optima=optima, mode=context.mode, small=small)
        context.progress(1.0)
        return Finding(
            Verdict.NOT_CHECKABLE,
            f"Not checked: {EXTRAS[self.extra]} is not installed. "
            f'This installs it: pip install "clairvoyant[{self.extra}]"',
            mode=context.mode,
        )

    def stands(self, mode: str) -> tuple[Verdict, Why | None]:
        """Return the verdict we stand for in a mode, and why it is undetermined where that is expected."""
        if mode != "full" or self.at_full is None:
            return self.expected, self.because
        if isinstance(self.at_full, Why):
            return Verdict.UNDETERMINED, self.at_full
        return self.at_full, None

    def as_expected(self, finding: Finding) -> bool:
        """Return whether a finding is the one we stand for.

        Where the extra is missing, or samples are too small, it may as well be open; else what is expected to
        be open has to be so for the same reason, and to turn between the same readings. What has
        :attr:`Finding.faults` is never as expected.
        """
        if finding.faults:
            return False
        expected, because = self.stands(finding.mode)
        if self.lacks_extra:
            return finding.verdict in (expected, Verdict.NOT_CHECKABLE)
        if finding.small:
            return finding.verdict in (expected, Verdict.UNDETERMINED, Verdict.NOT_CHECKABLE)
        turned = not self.turns or any(
            [by_reading.get(name) for name in self.turns] == [True, False]
            for by_reading in finding.signs.values()
        )
        return finding.verdict is expected and because in (None, finding.why) and turned

    @property
    def problem(self) -> str:
        """The problem it belongs to."""
        return self.id.split("/", 1)[0]


@dataclass(frozen=True)
class Paper:
    """The paper that claims of a problem are about, and which of them a reader asks for first.

    Attributes
    ----------
    name
        What the paper is called for short: its algorithm.
    authors, title, venue, year
        Its citation.
    main
        Names of claims, without the problem: what opens the page says of them what stands and what does not.
    picture
        The name of a claim: its first figure stands beside them.
    number
        The name of a claim, that of one of its numbers, and what this number is: how far from the optimum.
    """

    name: str
    authors: str
    title: str
    venue: str
    year: int
    main: tuple[str, ...]
    picture: str
    number: tuple[str, str, str]


class Register:
    """Collects the claims of a file, in the order in which their checks stand there.

    ::

        claim = Register("selection")


        @claim("theorem-1", "Theorem 1, (28)", Verdict.REFUTED)
        def theorem_1(context: Context) -> Finding:
            '''The statement, in our words.

            How it is checked.
            '''
    """

    def __init__(self, problem: str) -> None:
        self.problem, self.claims = problem, list[Claim]()

    def __call__(
        self,
        name: str,
        where: str,
        expected: Verdict | None = None,
        *,
        says: str = "",
        how: str = "",
        choices: Sequence[str] = (),
        because: Why | None = None,
        turns: Sequence[str] = (),
        **more: Any,
    ) -> Callable[[Check], Check]:
        """Return what makes a function the check of a claim; ``more`` are other fields of :class:`Claim`.

        What it says, and how that is checked, are the paragraphs of the check's docstring unless given here.
        What turns, or is open because of something, is expected to be undetermined; all else has a verdict.
        """
        if expected is None and not (turns or because):
            raise ValueError(f"{name}: neither a verdict is expected, nor is said why there is none")
        verdict = expected or Verdict.UNDETERMINED
        more |= {"choices": tuple(choices), "turns": tuple(turns)}
        more["because"] = Why.DEPENDS if turns else because

        def add(check: Check) -> Check:
            statement, _, means = (check.__doc__ or "").partition("\n\n")
            said, checked = (" ".join(text.split()) for text in (says or statement, how or means))
            if not (said and checked):
                raise ValueError(f"{name}: the docstring of its check has to say what it checks, and how")
            self.claims.append(Claim(f"{self.problem}/{name}", where, said, checked, verdict, check, **more))
            return check

        return add


def instance_table(
    problem: str, mode: str, make: Callable[[str], Instance], others: Mapping[str, Instance] | None = None
) -> Table:
    """Return facts, digest and origin of instances of a problem: those made of a size, and others by name."""
    sizes = ("tiny", "default") if mode == "quick" else ("tiny", "default", "large")
    sampled = {size: make(size) for size in sizes} | dict(others or {})
    heads = " | ".join(("size", *next(iter(sampled.values())).facts(), "digest", "origin"))
    rows = [(size, *i.facts().values(), i.digest(), str(i.origin)) for size, i in sampled.items()]
    return table(f"Generated {problem} instances", heads, rows)
