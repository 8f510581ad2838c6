"""Studies: who earns what where, over all that a text leaves open, and the verdict that follows.

A :class:`Study` crosses scenarios (readings of what the text leaves open), contenders, settings and seeds
into paired samples. Statements about these samples are judged together, by :func:`judge`::

    study = Study.run(context, LAB, (OURS, *OTHERS), {"rho = 0.2": ..., "rho = 0.8": ...}, seeds, UNITS)
    said = [study.rises("ESDP"), *study.leads("ESDP", others)]
    return study.finding("ESDP earns more with more jobs, as printed.", said)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .claim import Context, Figure, Finding, Table, Verdict, finding, table
from .experiments import bars_of, curves, lead, spread, track
from .plots import ANY, Range
from .statistics import holm, mean_band, mean_interval, p_of_mean, p_of_next, prediction_interval

LEVEL = 0.05  # of all tests of a claim together: the chance to decide any of them wrongly
AS_IS = {"": lambda setup: setup}  # the scenario of a text that leaves nothing open which a setup holds
MOST = 4  # scenarios that a table of statements has columns for; more of them are rows

WORDS = {True: "holds", False: "does not", None: "undecided"}

Scenarios = Mapping[str, Callable[[Any], Any]]
"""Readings of what a text leaves open, by name: each turns a setup into that of this reading."""


class Test(NamedTuple):
    """One test of a statement: its p value (None: no test), what it says if that is small, and otherwise."""

    p: float | None
    small: bool | None
    otherwise: bool | None


@dataclass(frozen=True)
class Statement:
    """One thing a text says: that the mean of samples is positive."""

    says: str
    """The statement, in our words."""
    samples: Mapping[str, np.ndarray]
    """By scenario, shape (seeds,); or (seeds, places), where it is said of every place."""
    unit: str = ""
    digits: int = 1
    places: Sequence[str] = ()
    """The names of the places."""

    def tests(self, scenario: str) -> list[Test]:
        """Return a t test per place."""
        return [Test(p_of_mean(c), bool(c.mean() > 0.0), None) for c in self._columns(scenario)]

    def found(self, scenario: str) -> str:
        """Return mean and half width, at the place where the interval ends lowest."""
        columns = self._columns(scenario)
        lows = [mean if np.isnan(low) else low for mean, low, _ in map(mean_interval, columns)]
        worst = int(np.argmin(lows))
        text = f"{spread(columns[worst], self.digits, True)} {self.unit}".strip()
        return f"{text} ({self.places[worst]})" if self.places else text

    def _columns(self, scenario: str) -> np.ndarray:
        return np.atleast_2d(self.samples[scenario].T)


@dataclass(frozen=True)
class Printed(Statement):
    """One number that a text prints of one run: it disagrees if one more run of ours would not be there.

    That it agrees is never said: the wider samples are spread, the more numbers are in reach.
    """

    number: float = 0.0

    def tests(self, scenario: str) -> list[Test]:
        """Return one test: whether the number could be one more sample."""
        return [Test(p_of_next(self.samples[scenario], self.number), False, None)]

    def found(self, scenario: str) -> str:
        """Return the mean, and the interval in which one more run lies; of one run, what it is."""
        mean, low, high = prediction_interval(self.samples[scenario])
        d = self.digits
        more = "" if np.isnan(low) else f", one run {low:.{d}f} to {high:.{d}f}"
        return f"{mean:.{d}f}{more} {self.unit}".strip()


@dataclass(frozen=True)
class Fact:
    """What is found without samples, whatever the scenario, and whether that agrees (None: undecided)."""

    says: str
    finds: str
    agrees: bool | None

    def tests(self, _scenario: str) -> list[Test]:
        """Return what is known; it takes part in no family of tests."""
        return [Test(None, False, self.agrees)]

    def found(self, _scenario: str) -> str:
        """Return what was found."""
        return self.finds


Said = Statement | Fact


class Judged(NamedTuple):
    """A statement with what was found and its sign in each scenario."""

    says: str
    finds: tuple[str, ...]
    signs: tuple[bool | None, ...]
    word: str
    """Of all: "holds" or "against" where they agree on it, "depends" if some differ, else "undecided"."""


def scenarios_of(said: Sequence[Said]) -> list[str]:
    """Return the scenarios that statements have samples of; facts alone have the one without a name."""
    return next(([*one.samples] for one in said if isinstance(one, Statement)), [""])


def judge(said: Sequence[Said], scenarios: Iterable[str] | None = None) -> list[Judged]:
    """Judge statements together: all their tests, in all scenarios, are one family, corrected after Holm."""
    names = scenarios_of(said) if scenarios is None else list(scenarios)
    tests = [[one.tests(name) for name in names] for one in said]
    adjusted = iter(holm([test.p for row in tests for cell in row for test in cell if test.p is not None]))

    def decided(test: Test) -> bool | None:
        return test.small if test.p is not None and next(adjusted) <= LEVEL else test.otherwise

    result = []
    for one, row in zip(said, tests, strict=True):
        places = [[*map(decided, cell)] for cell in row]
        signs = tuple(False if False in some else None if None in some else True for some in places)
        result.append(Judged(one.says, tuple(map(one.found, names)), signs, _word(signs)))
    return result


def _word(signs: Sequence[bool | None]) -> str:
    if {True, False} <= set(signs):
        return "depends"
    return "holds" if signs and all(signs) else "against" if set(signs) == {False} else "undecided"


def middle(judged: Sequence[Judged]) -> Judged:
    """Return what is said of most of an odd number of statements: the middle sign in each scenario."""
    columns = zip(*(one.signs for one in judged), strict=True)
    signs = tuple(sorted(column, key=(False, None, True).index)[len(column) // 2] for column in columns)
    return Judged(f"most of: {'; '.join(one.says for one in judged)}", (), signs, _word(signs))


def settled(judged: Iterable[Judged]) -> Verdict:
    """Return the verdict on statements that are all said together.

    "not reproduced" if one is against in every scenario, "holds" if all do in every one, else "undetermined".
    """
    words = {one.word for one in judged}
    if "against" in words:
        return Verdict.NOT_REPRODUCED
    return Verdict.HOLDS if words == {"holds"} else Verdict.UNDETERMINED


def statements(judged: Sequence[Judged], scenarios: Iterable[str], note: str) -> Table:
    """Return the table of statements: a column per scenario, or a row where there are more than MOST."""
    names, rows = list(scenarios), list[tuple[str, ...]]()
    title = f"What the text says, statement by statement. Mean ± 95 % half width over seeds. {note}".strip()
    for one in judged:
        signs = [WORDS[sign] for sign in one.signs]
        if len(names) > MOST:
            words = [one.word, *[""] * (len(names) - 1)]
            rows += named_once(one.says, zip(names, one.finds, signs, words, strict=True))
        elif len(names) > 1:
            cells = [f"{found}: {sign}" for found, sign in zip(one.finds, signs, strict=True)]
            rows.append((one.says, *cells, one.word))
        else:
            rows.append((one.says, *one.finds, one.word))
    if len(names) > MOST:
        return table(title, "statement | reading | found | sign | in all", rows)
    heads = [f"found, {name}" if name else "found" for name in names]
    return Table(title, ("statement", *heads, "in all"), tuple(rows))


def named_once(name: str, rows: Iterable[Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """Yield rows with a name before the first, and nothing before the others."""
    for at, row in enumerate(rows):
        yield "" if at else name, *row


@dataclass(frozen=True)
class Lab:
    """How samples of a problem are made."""

    problem: str
    note: str
    """Ends titles and captions."""
    averages: Callable[[Any, Any, Sequence[int]], np.ndarray]
    """Returns what a contender earns in a setup on each seed, shape (seeds,)."""
    optima: Callable[[Any, Sequence[int]], np.ndarray] | None
    """Returns what the oracle earns there, if that is shown."""
    unit: str
    """Of both: the axis of the figure."""
    possible: Range = ANY
    """What both can be, which bands of figures do not leave."""


ORACLE = "oracle"  # label of what the oracle earns


@dataclass(frozen=True)
class Study:
    """Paired samples of contenders in settings."""

    lab: Lab
    found: Mapping[str, Mapping[str, np.ndarray]]
    """``found[scenario][label]``, shape (seeds, settings); the oracle first, as :data:`ORACLE`."""
    heads: Sequence[str]
    """The names of the settings."""
    seeds: Sequence[int]
    """Of the instances."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """What else the numbers of its findings say of all runs, such as their slots."""

    @classmethod
    def run(
        cls,
        context: Context,
        lab: Lab,
        who: Iterable[Any],
        settings: Mapping[str, Any],
        seeds: Sequence[int],
        scenarios: Scenarios = AS_IS,
        **numbers: Any,
    ) -> Study:
        """Play all contenders, each of which has a ``label``, in all setups of all scenarios.

        Other keywords are the study's ``numbers``.
        """
        players = list(who)
        found: dict[str, dict[str, list[np.ndarray]]] = {name: {} for name in scenarios}
        for name, setup in track(context, [(n, s) for n in scenarios for s in settings.values()]):
            there, setup = found[name], scenarios[name](setup)
            if lab.optima is not None:
                there.setdefault(ORACLE, []).append(lab.optima(setup, seeds))
            for one in players:
                there.setdefault(one.label, []).append(lab.averages(one, setup, seeds))
        stacked = {n: {k: np.stack(v, axis=1) for k, v in there.items()} for n, there in found.items()}
        return cls(lab, stacked, list(settings), seeds, numbers)

    def samples(self, of: Callable[[Mapping[str, np.ndarray]], np.ndarray]) -> dict[str, np.ndarray]:
        """Return a function of what was found, in each scenario."""
        return {name: of(found) for name, found in self.found.items()}

    def rises(self, who: str, low: int = 0, high: int = -1, *, falls: bool = False) -> Statement:
        """Say that a contender earns more (or less) in one setting than in another, in per cent."""
        return Statement(
            f"{who} earns {'less' if falls else 'more'} at {self.heads[high]} than at {self.heads[low]}",
            self.samples(lambda f: (-1.0 if falls else 1.0) * lead(f[who][:, high], f[who][:, low])),
            "%",
        )

    def leads(self, ours: str, others: Iterable[str], places: Sequence[int] | None = None) -> list[Statement]:
        """Say of each of the others that ours is ahead of it in every setting, or in these, in per cent."""
        at = list(range(len(self.heads)) if places is None else places)
        heads = [self.heads[i] for i in at]
        where = heads[0] if len(at) == 1 else "everywhere" if places is None else ", ".join(heads)
        return [
            Statement(
                f"{ours} is ahead of {other}" + (f" ({where})" if where else ""),
                self.samples(lambda f, other=other: lead(f[ours], f[other])[:, at]),  # type: ignore[misc]
                "%",
                places=heads if len(at) > 1 else (),
            )
            for other in others
        ]

    def grid(self, title: str) -> Table:
        """Return mean and half width of who earns what: a row per reading and setting, a column per label."""
        counts = sorted({len(v) for found in self.found.values() for v in found.values()})
        note = f". {' or '.join(map(str, counts))} instances, mean ± 95 % half width. {self.lab.note}"
        rows = [("reading", "setting", *next(iter(self.found.values())))]
        for name, found in self.found.items():
            cells = (map(spread, v.T) for v in found.values())
            rows += named_once(name, zip(self.heads, *cells, strict=True))
        heads, *others = rows if any(self.found) else [row[1:] for row in rows]
        return Table(title + note, heads, tuple(others))

    def figure(
        self,
        name: str,
        caption: str,
        axis: str,
        x: Sequence[float] | None = None,
        log: str = "",
        possible: Range | None = None,
    ) -> Figure:
        """Return a panel per scenario: curves over ``x`` with bands over seeds, or bars per setting."""
        more: Any = {"problem": self.lab.problem, "note": self.lab.note}
        more["possible"] = possible or self.lab.possible
        if x is not None:
            panels = {f"{self.lab.unit}\n{s}": found for s, found in self.found.items()}
            return curves(name, caption, x, panels, axis, log, **more)
        groups = [f"{head}{f', {s}' if s else ''}" for s in self.found for head in self.heads]
        series = {
            who: mean_band(np.concatenate([found[who] for found in self.found.values()], axis=1))
            for who in next(iter(self.found.values()))
        }
        return bars_of(name, caption, groups, series, self.lab.unit, **more)

    def finding(
        self,
        headline: str,
        said: Sequence[Said],
        *shown: Table | Figure | None,
        title: str = "",
        numbers: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Finding:
        """Return what :func:`conclude` does, and who earned what, under a title or the unit of the lab."""
        more = {"note": self.lab.note} | more
        numbers = {"instances": len(self.seeds), **self.numbers, **(numbers or {})}
        return conclude(headline, said, *shown, self.grid(title or self.lab.unit), numbers=numbers, **more)


def conclude(
    headline: str,
    said: Sequence[Said],
    *shown: Table | Figure | None,
    scenarios: Iterable[str] | None = None,
    note: str = "",
    numbers: Mapping[str, Any] | None = None,
    verdict: Callable[[Sequence[Judged]], Verdict] | Verdict | None = None,
    **more: Any,
) -> Finding:
    """Judge statements, by default in the scenarios that they have samples of, and return the finding.

    Their table, whose title ends with the note, stands before what else is shown; how many there are of each
    word stands behind the numbers. The verdict is that of :func:`settled` unless another one, or what finds
    it from what was judged, is given. ``more`` are other fields of the finding.
    """
    names = scenarios_of(said) if scenarios is None else list(scenarios)
    judged = judge(said, names)
    verdict = verdict or settled
    final = verdict if isinstance(verdict, Verdict) else verdict(judged)
    numbers = {**(numbers or {}), **counted(judged)}
    more = {"small": None, "signs": signs_of(judged, names)} | more
    return finding(final, headline, numbers, statements(judged, names, note), *shown, **more)


def tally(said: Sequence[Said], scenarios: Iterable[str] | None = None) -> str:
    """Return in how many comparisons, of every statement in every scenario, one is ahead, for a headline."""
    signs = [sign for one in judge(said, scenarios) for sign in one.signs]
    ahead, behind = signs.count(True), signs.count(False)
    return f"surely ahead in {ahead} of {len(signs)} comparisons, surely behind in {behind}"


def in_readings(judged: Sequence[Judged]) -> tuple[int, int, int]:
    """Return in how many readings all these statements hold, in how many one does not, and of how many."""
    columns = [*zip(*(one.signs for one in judged), strict=True)]
    return sum(map(all, columns)), sum(False in column for column in columns), len(columns)


def amounts(judged: Sequence[Judged]) -> tuple[str, str]:
    """Return in words what :func:`in_readings` counts: in how many all hold, in how many one does not."""
    held, against, of = in_readings(judged)
    return some(held, of), some(against, of)


def how_sure(judged: Sequence[Judged], readings: str = "readings") -> str:
    """Say in words in how many readings all these statements are sure, or one is surely false."""
    held, against, of = in_readings(judged)
    counts = {"sure": held, "false": against, "undecided": of - held - against}
    parts = [f"{word} in {some(n, of)}" for word, n in counts.items() if n]
    parts[0] += f" {readings}"
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def some(count: int, of: int) -> str:
    """Return in a word how many of some readings these are, for a headline."""
    return "none" if not count else "all" if count == of else "most" if 2 * count > of else "some"


def signs_of(judged: Iterable[Judged], scenarios: Iterable[str] = ("",)) -> dict[str, dict[str, bool | None]]:
    """Return the signs of judged statements, which differ in what they say, by statement and scenario."""
    names, signs = list(scenarios), dict[str, dict[str, bool | None]]()
    for one in judged:
        if one.says in signs:
            raise ValueError(f"two statements say {one.says!r}")
        signs[one.says] = dict(zip(names, one.signs, strict=True))
    return signs


def counted(judged: Sequence[Judged]) -> dict[str, int]:
    """Return how many statements there are of each word, for the numbers of a finding."""
    words = [one.word for one in judged]
    counts = {word: words.count(word) for word in ("holds", "against", "depends", "undecided")}
    return {"statements": len(words), **{f"statements, {word}": n for word, n in counts.items() if n}}
