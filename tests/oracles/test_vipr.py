"""Proofs in the VIPR format: a checker of our own, the public one where it can be built, and enumeration."""

import itertools
import math
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant.models.base import InputError
from clairvoyant.oracles.selection.vipr import ViprFile
from clairvoyant.testing import allocation, selection, selection_gang
from clairvoyant.verify import RejectedError, Selection, Slot

SOURCES = Path(os.environ.get("CLAIRVOYANT_VIPR", ""), "viprchk.cpp")


class WrongError(Exception):
    """A file that does not prove what it says."""


def must(holds: bool, message: str) -> None:
    if not holds:
        raise WrongError(message)


class Row(NamedTuple):
    """A constraint: its entries, -1 for at most, 1 for at least or 0 for equal, and its right side."""

    entries: dict[int, Fraction]
    sense: int
    right: Fraction

    def holds(self, x: dict[int, Fraction]) -> bool:
        slack = sum((a * x.get(j, 0) for j, a in self.entries.items()), -self.right)
        return slack == 0 or slack * self.sense > 0

    def dominates(self, other: "Row") -> bool:
        if not self.entries and not self.holds({}):
            return True
        if self.entries != other.entries or self.sense not in (0, other.sense):
            return False
        return self.right == other.right or (self.right - other.right) * other.sense > 0


class Checker:
    """A checker after the specification of the format, version 1.0, for maximisation.

    It shares nothing with what writes the files. ``low`` and ``high`` enclose the optimum of the program, all
    of whose columns are whole numbers; ``program`` is its rows.
    """

    def __init__(self, text: str) -> None:
        self._tokens = iter(" ".join(line for line in text.split("\n") if line[:1] != "%").split())
        self._expect("VER", "1.0", "VAR")
        self.names = [self._next() for _ in range(self._whole())]
        self._expect("INT")
        whole = {self._whole() for _ in range(self._whole())}
        must(whole == set(range(len(self.names))), "columns that are not whole")
        self._expect("OBJ", "max")
        self.objective = self._entries()
        self._expect("CON")
        count, _ = self._whole(), self._whole()
        self.program = [self._row() for _ in range(count)]
        self._expect("RTP", "range")
        self.low, self.high = Fraction(self._next()), Fraction(self._next())
        self._expect("SOL")
        worth = [self._solution() for _ in range(self._whole())]
        must(max(worth, default=self.low - 1) >= self.low, "no solution is worth the lower end of the range")
        self._expect("DER")
        self._rows, self._assumed = list(self.program), [set[int]() for _ in self.program]
        for _ in range(self._whole()):
            row = self._row()
            self._assumed.append(self._reason(row))
            self._rows.append(row)
            must(int(self._next()) == -1, "a line that ends early")
        must(next(self._tokens, None) is None, "more than was announced")
        must(not self._assumed[-1], "an assumption is left")
        must(self._rows[-1].dominates(Row(self.objective, -1, self.high)), "the upper end is not derived")

    def _next(self) -> str:
        return next(self._tokens, "")

    def _expect(self, *words: str) -> None:
        for word in words:
            must(self._next() == word, f"no {word} where it should be")

    def _whole(self) -> int:
        number = self._next()
        must(number.isdecimal(), f"{number!r} is no whole number")
        return int(number)

    def _pairs(self, limit: int) -> dict[int, Fraction]:
        pairs = [(self._whole(), Fraction(self._next())) for _ in range(self._whole())]
        must(len(dict(pairs)) == len(pairs) and all(i < limit for i, _ in pairs), "wrong indices")
        return {i: number for i, number in pairs if number}

    def _entries(self) -> dict[int, Fraction]:
        return self._pairs(len(self.names))

    def _row(self) -> Row:
        _, sense, right = self._next(), "LEG".find(self._next()) - 1, Fraction(self._next())
        first = self._next()
        if first == "OBJ":
            return Row(self.objective, sense, right)
        self._tokens = itertools.chain([first], self._tokens)
        return Row(self._entries(), sense, right)

    def _solution(self) -> Fraction:
        self._next()
        x = self._entries()
        must(all(number.denominator == 1 for number in x.values()), "a solution that is not whole")
        must(all(row.holds(x) for row in self.program), "a solution that is not feasible")
        return sum((a * x.get(j, 0) for j, a in self.objective.items()), Fraction(0))

    def _reason(self, row: Row) -> set[int]:
        """Check the reason of a line, and return what it assumes."""
        self._expect("{")
        kind, assumed = self._next(), {len(self._rows)}
        if kind in ("lin", "rnd"):
            factors = self._pairs(len(self._rows))
            must(self._combined(factors, kind == "rnd").dominates(row), f"{kind}: another line follows")
            assumed = set().union(*(self._assumed[i] for i in factors))
        elif kind == "uns":
            one, first, two, second = (self._whole() for _ in range(4))
            must(max(one, first, two, second) < len(self._rows), "uns: wrong indices")
            must(self._rows[one].dominates(row) and self._rows[two].dominates(row), "uns: too weak")
            must(self._split(self._rows[first], self._rows[second]), "uns: a case is missing")
            assumed = (self._assumed[one] - {first}) | (self._assumed[two] - {second})
        else:
            must(kind == "asm", f"no reason: {kind!r}")
        self._expect("}")
        return assumed

    def _combined(self, factors: dict[int, Fraction], rounded: bool) -> Row:
        total: dict[int, Fraction] = {}
        right, senses = Fraction(0), set()
        for i, factor in factors.items():
            entries, sense, limit = self._rows[i]
            right += factor * limit
            senses.add(sense * (1 if factor > 0 else -1))
            for j, a in entries.items():
                total[j] = total.get(j, Fraction(0)) + factor * a
        senses.discard(0)
        must(len(senses) <= 1, "limits of different sides are added")
        sense = senses.pop() if senses else 0
        if rounded:
            must(sense != 0 and all(a.denominator == 1 for a in total.values()), "it cannot be rounded")
            right = Fraction(math.floor(right) if sense < 0 else math.ceil(right))
        return Row({j: a for j, a in total.items() if a}, sense, right)

    @staticmethod
    def _split(one: Row, two: Row) -> bool:
        low, high = sorted((one, two), key=lambda row: row.sense)
        whole = all(a.denominator == 1 for a in (*low.entries.values(), low.right))
        return whole and (low.sense, high.sense) == (-1, 1) and high == Row(low.entries, 1, low.right + 1)


def by_hand(**changed: str) -> str:
    """Return a proof, by hand, that x + y is at most 1 if 2 x + 2 y <= 3; some of its lines changed."""
    lines = {
        "head": "% by hand\nVER 1.0\nVAR 2\nx y\nINT 2\n0 1\nOBJ max\n2 0 1 1 1\nCON 3 2",
        "rows": "C0 G 0 1 0 1\nC1 G 0 1 1 1\nC2 L 3 2 0 2 1 2",
        "claim": "RTP range 1 1\nSOL 1\nbest 1 1 1\nDER 9",
        "off": "D3 L 0 1 0 1 { asm } -1",
        "off twice": "D4 L 3/2 1 1 1 { lin 2 2 1/2 0 -1 } -1",
        "off rounded": "D5 L 1 1 1 1 { rnd 1 4 1 } -1",
        "off done": "D6 L 1 OBJ { lin 2 3 1 5 1 } -1",
        "on": "D7 G 1 1 0 1 { asm } -1",
        "on rounded": "D8 L 0 1 1 1 { rnd 2 2 1/2 7 -1 } -1",
        "on at most": "D9 L 1 1 0 1 { rnd 2 2 1/2 1 -1 } -1",
        "on done": "D10 L 1 OBJ { lin 2 8 1 9 1 } -1",
        "both": "D11 L 1 OBJ { uns 6 3 10 7 } -1",
    }
    return "\n".join((lines | changed).values())


def test_our_checker_accepts_what_is_right() -> None:
    found = Checker(by_hand())
    assert found.low == found.high == 1
    assert found.names == ["x", "y"]


WRONG = {
    "an infeasible solution": {"claim": "RTP range 1 1\nSOL 1\nbest 2 0 1 1 1\nDER 9"},
    "a solution of halves": {"claim": "RTP range 1 1\nSOL 1\nbest 2 0 1/2 1 1/2\nDER 9"},
    "a solution worth too little": {"claim": "RTP range 1 1\nSOL 1\nbest 0\nDER 9"},
    "no solution": {"claim": "RTP range 1 1\nSOL 0\nDER 9"},
    "too high a claim": {"claim": "RTP range 1 1/2\nSOL 1\nbest 1 1 1\nDER 9"},
    "wrong multipliers": {"off twice": "D4 L 3/2 1 1 1 { lin 2 2 1/3 0 -1 } -1"},
    "the other side": {"off twice": "D4 G 3/2 1 1 1 { lin 2 2 1/2 0 -1 } -1"},
    "limits of different sides": {"off twice": "D4 L 3/2 1 1 1 { lin 2 2 1/2 0 1 } -1"},
    "a tighter line than follows": {"off twice": "D4 L 1 1 1 1 { lin 2 2 1/2 0 -1 } -1"},
    "rounding of fractions": {"on rounded": "D8 L 0 1 1 1/2 { rnd 2 2 1/4 7 -1/2 } -1"},
    "rounding the wrong way": {"off rounded": "D5 L 1/2 1 1 1 { rnd 1 4 1 } -1"},
    "a line of the future": {"off done": "D6 L 1 OBJ { lin 1 11 1 } -1"},
    "a case twice": {"both": "D11 L 1 OBJ { uns 6 3 6 3 } -1"},
    "an assumption that is left": {"both": "D11 L 1 OBJ { lin 1 6 1 } -1"},
    "cases with a gap between them": {"on": "D7 G 2 1 0 1 { asm } -1"},
    "cases of fractions": {"off": "D3 L 1/2 1 0 1 { asm } -1", "on": "D7 G 3/2 1 0 1 { asm } -1"},
    "an unknown reason": {"on done": "D10 L 1 OBJ { sol } -1"},
    "a column of fractions": {"head": "VER 1.0\nVAR 2\nx y\nINT 1\n0\nOBJ max\n2 0 1 1 1\nCON 3 2"},
    "a missing line": {"both": ""},
}


NOT_PUBLIC = {"an unknown reason", "a column of fractions", "a line of the future"}
"""What the public checker knows, ends before, or does not look at."""


@pytest.mark.parametrize("changed", WRONG.values(), ids=WRONG)
def test_our_checker_rejects_what_is_wrong(changed: dict[str, str]) -> None:
    with pytest.raises((WrongError, ValueError)):
        Checker(by_hand(**changed))


def files(instance: Any) -> list[str]:
    """Return the proofs of the optimum of an instance, checked."""
    optimum = cv.solve(instance)
    assert optimum.vipr is not None
    return [text for _, text in optimum.vipr(instance, optimum)]


def allowed(instance: Any, pattern: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield all sets of channels that a slot allows, as 0 and 1."""
    for x in itertools.product([0, 1], repeat=instance.setting.channels):
        if not instance.setting.violations(np.array(x, dtype=float), np.array(pattern)):
            yield x


SMALL = st.one_of(
    selection.instances(max_slots=2, max_channels=5), selection_gang.gang_instances(max_slots=2)
).filter(lambda instance: instance.setting.channels <= 6)


@settings(max_examples=25)
@given(SMALL, st.sampled_from([1.0, 1e-9, 1e9]))
def test_the_range_has_the_optimum_and_the_program_is_that_of_the_slot(instance: Any, factor: float) -> None:
    if instance.mean.min(initial=1.0) * factor >= 1e-300:
        instance = type(instance).from_dict(selection.scaled(instance.to_dict(), factor))
    mean = [Fraction(x) for x in instance.mean.tolist()]
    patterns = np.unique(instance.arrivals, axis=0).tolist()
    for pattern, text in zip(patterns, files(instance), strict=True):
        found, sets = Checker(text), set(allowed(instance, pattern))
        best = max(sum((m for m, on in zip(mean, x, strict=True) if on), Fraction(0)) for x in sets)
        assert found.low <= best <= found.high <= best * (1 + Fraction(1, 2**40))
        assert found.low >= best / (1 + Fraction(1, 2**40))
        assert found.objective == {e: m for e, m in enumerate(mean) if m}
        columns = itertools.product(*([0, 1] for _ in found.names))
        points = (dict(enumerate(map(Fraction, point))) for point in columns)
        feasible = {
            tuple(int(x[e]) for e in range(len(mean)))
            for x in points
            if all(row.holds(x) for row in found.program)
        }
        assert feasible == sets


def any_tree(rng: random.Random, usable: list[int], prices: int, depth: int = 5) -> Any:
    """Return a tree that branches on any channels, none of them twice on a path."""
    if not usable or depth == 0 or rng.random() < 0.1:
        return rng.randrange(prices)
    channel = rng.choice(usable)
    rest = [e for e in usable if e != channel]
    return [channel, *(any_tree(rng, rest, prices, depth - 1) for _ in range(2))]


def leaves(
    slot: Slot, node: Any, prices: list[Any], on: set[int], off: set[int]
) -> Iterator[tuple[int | None, bool]]:
    """Yield the bounds of a tree's leaves, as the checker of certificates finds them, and by what."""
    if isinstance(node, list):
        yield from leaves(slot, node[1], prices, on, off | {node[0]})
        yield from leaves(slot, node[2], prices, on | {node[0]}, off)
    else:
        bound = slot.bound(on, off, prices[node])
        nothing = bound is None or bound < 0  # less than 0 is a contradiction
        yield None if nothing else bound, isinstance(prices[node], tuple)


def crowded(rng: random.Random) -> Any:
    """Return an instance of two jobs of at most three tasks on two servers."""
    tasks = sorted(rng.randrange(2) for _ in range(rng.randint(1, 6)))
    pairs = [(task, server) for task in range(len(tasks)) for server in range(2) if rng.random() < 0.8]
    pairs = pairs or [(0, 0)]
    return cv.SelectionGangInstance(
        channels=pairs,
        task_port=tasks,
        demand=[[rng.randint(0, 2)] for _ in tasks],
        capacity=[[rng.randint(0, 4)] for _ in range(2)],
        minimum=[rng.randint(0, 4) for _ in range(2)],
        mean=[rng.randrange(9) / 8 for _ in pairs],
        arrivals=[[int(rng.random() < 0.9) for _ in range(2)]],
    )


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.none() | selection.instances(min_slots=1, max_slots=1))
def test_every_leaf_is_derived_with_the_bound_of_the_certificate(seed: int, plain: Any) -> None:
    rng = random.Random(seed)
    instance = crowded(rng) if plain is None else plain
    of, pattern = Selection(instance.to_dict()), instance.arrivals[0].tolist()
    scale = max([8, *(mean.denominator for mean in of.mean)])
    some = [0, 1, 2, 3, 5, 9, 60]
    prices: list[Any] = [
        [[rng.choice(some) * scale // 8 for _ in row] for row in of.capacity] for _ in range(3)
    ]
    if of.gang:
        shape = (of.sizes["Q"], of.sizes["L"])
        prices += [tuple([rng.choice(some) * scale // 8 for _ in range(n)] for n in shape) for _ in range(3)]
    slot = Slot(of, pattern, scale)
    on: list[int] = []
    for e in rng.sample(slot.usable, len(slot.usable)):
        with suppress(RejectedError):
            slot.value([*on, e])
            on.append(e)
    for _ in range(6):
        tree = any_tree(rng, slot.usable, len(prices))
        text = ViprFile(of, pattern, prices, scale).text(["any tree"], on, tree)
        found = Checker(text)
        assert found.low == Fraction(slot.value(on), scale)
        derived = [line.split() for line in text.splitlines() if "{ lin" in line]
        derived = [words for words in derived if words[3] in ("OBJ", "0")]  # not what a server earns
        bounds = [Fraction(words[2]) if words[3] == "OBJ" else None for words in derived]
        known = list(leaves(slot, tree, prices, set(), set()))
        assert len(bounds) == len(known)
        for bound, (most, apart) in zip(bounds, known, strict=True):
            if not (apart and bound is None):  # what refutes a job as a whole is not looked for there
                assert bound == (None if most is None else Fraction(most, scale))
        assert found.high == max(bound for bound in bounds if bound is not None)


def test_a_tree_may_be_as_deep_as_it_likes() -> None:
    instance = selection.ordinary()["scarce devices"]
    of, pattern = Selection(instance.to_dict()), instance.arrivals[0].tolist()
    scale = max(mean.denominator for mean in of.mean)
    tree: Any = 0
    for _ in range(2000):
        tree = [0, tree, 0]
    prices = [[[0 for _ in row] for row in of.capacity]]
    text = ViprFile(of, pattern, prices, scale).text(["deep"], [], tree)
    assert text.count("{ uns") == 2000


@pytest.mark.parametrize("use", [[[80]], ([80, 80, 80], [90])], ids=["prices", "what tasks pay"])
def test_a_bound_below_0_is_a_contradiction(use: Any) -> None:
    three = cv.SelectionGangInstance(
        channels=[[0, 0], [1, 0], [2, 0]],
        task_port=[0, 0, 0],
        demand=[[1], [1], [1]],
        capacity=[[2]],
        minimum=[3],
        mean=[0.5, 0.5, 0.5],
        arrivals=[[1]],
    )
    of = Selection(three.to_dict())
    bound = Slot(of, [1], 8).bound({0}, set(), use)  # tasks 1 and 2 fit, but not both
    assert bound is not None
    assert bound < 0
    text = ViprFile(of, [1], [[[0]], use], 8).text(["too large a job"], [], [0, 0, 1])
    assert Checker(text).high == 0
    assert len([line for line in text.splitlines() if line.split()[3:4] == ["0"] and "lin" in line]) == 1


def grown() -> str:
    """Return a proof with several branches."""
    crowded = cv.generate("selection-gang", size="tiny", seed=0, slots=1, ports=4, tasks=(2, 3))
    (text,) = files(crowded.with_arrivals(np.ones((1, 4))))
    return text


def test_a_real_proof_does_not_survive_any_of_these_faults() -> None:
    text = grown()
    found = Checker(text)
    lines = text.splitlines()
    derived = lines.index(next(line for line in lines if line.startswith("DER"))) + 1
    split = next(i for i, line in enumerate(lines) if " OBJ { uns " in line)
    assert text.count(" uns ") >= 2
    assert " rnd " in text
    lower = f"RTP range {found.low} {found.high}"
    assert lower in lines
    lines[derived - 1] = f"DER {len(lines) - derived - 1}"  # a line less
    for i in range(derived, len(lines), 1 + (len(lines) - derived) // 20):
        with pytest.raises((WrongError, ValueError)):
            Checker("\n".join(lines[:i] + lines[i + 1 :]))
    for old, new in (
        (lower, f"RTP range {found.low} {found.high - Fraction(1, 2**70)}"),
        (lower, f"RTP range {found.low + Fraction(1, 2**70)} {found.high}"),
        (lines[split], lines[split].replace(" OBJ", " 0")),
        (" asm ", " lin 0 "),
        (" uns ", " uns 0 0 "),
        ("OBJ max\n", "OBJ min\n"),
    ):
        assert old in text
        with pytest.raises((WrongError, ValueError)):
            Checker(text.replace(old, new, 1))


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Build the public checker; return what gives it a file, and returns what it prints if it accepts."""
    if not SOURCES.is_file():
        pytest.skip("needs the sources of the public checker: CLAIRVOYANT_VIPR names their folder `code`")
    compiler = shutil.which("g++")
    probe = [str(compiler), "-E", "-x", "c++", "-", "-o", os.devnull]
    if compiler is None or subprocess.run(probe, input=b"#include <gmpxx.h>", check=False).returncode:
        pytest.skip("needs g++ and GMP to build the public checker")
    folder = tmp_path_factory.mktemp("vipr")
    version = "#define VIPR_VERSION_MAJOR 1\n#define VIPR_VERSION_MINOR 1\n"  # what its CMake would write
    (folder / "CMakeConfig.hpp").write_text(version)
    program, file = folder / "viprchk", folder / "proof.vipr"
    options = [
        "-O1",
        "-DNDEBUG",
        "-std=c++14",
        f"-I{folder}",
        str(SOURCES),
        "-lgmpxx",
        "-lgmp",
        "-o",
        str(program),
    ]
    subprocess.run([compiler, *options], check=True)

    def run(text: str) -> str:
        file.write_text(text)
        done = subprocess.run([program, file], capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    return run


def test_the_public_checker_agrees(public: Callable[[str], str]) -> None:
    cases = [*selection.ordinary().values(), *selection_gang.ordinary_gangs().values()]
    cases += [*selection.degenerate().values(), *selection_gang.degenerate_gangs().values()]
    for text in itertools.chain.from_iterable(map(files, cases)):
        found = Checker(text)
        assert f"Successfully verified optimal value range [{found.low}, {found.high}]." in public(text)
    text, found = grown(), Checker(grown())
    tighter = f"RTP range {found.low} {found.high - Fraction(1, 2**70)}"
    assert not public(text.replace(f"RTP range {found.low} {found.high}", tighter))
    assert public(by_hand())
    for fault, changed in WRONG.items():
        if fault not in NOT_PUBLIC:
            assert not public(by_hand(**changed)), fault


def test_who_has_no_programs_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vipr: the proofs of allocation/stationary are not written"):
        cv.solve(allocation.ordinary()["several jobs"], time_limit=0.0).save_vipr(tmp_path)


def test_files_are_named_by_instance_and_pattern(tmp_path: Path) -> None:
    instance = selection_gang.ordinary_gangs()["capacity binds"]
    written = cv.solve(instance).save_vipr(tmp_path / "new")
    patterns = np.unique(instance.arrivals, axis=0).tolist()
    assert [path.name for path in written] == [
        f"{instance.digest()}-pattern-{n}.vipr" for n in range(len(patterns))
    ]
    for pattern, path in zip(patterns, written, strict=True):
        slots = int((instance.arrivals == pattern).all(axis=1).sum())
        assert f"arrivals {pattern}, in {slots} slots" in path.read_text()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file: cannot be made a folder"):
        cv.solve(instance).save_vipr(tmp_path / "file")
