"""The faults of ``make mutants`` can be planted, and whoever should notice them exists."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from clairvoyant.problems import find, problems

ROOT = Path(__file__).parents[2]


def test_every_fault_can_be_planted_once(mutants: ModuleType) -> None:
    """What it replaces stands there once, and the result is another program."""
    assert len(mutants.MUTANTS) >= 40
    assert len({one.name for one in mutants.MUTANTS}) == len(mutants.MUTANTS)
    for one in mutants.MUTANTS:
        text = mutants.planted(one, ROOT)
        assert text != (ROOT / one.file).read_text("utf-8")
        compile(text, one.file, "exec")


def test_the_tests_and_the_claims_of_every_fault_exist(mutants: ModuleType) -> None:
    ids = {claim.id for name in problems() for claim in find(name).part("claims")}
    for one in mutants.MUTANTS:
        assert one.tests.split()
        assert one.claims.split()
        assert all((ROOT / test).is_file() for test in one.tests.split())
        assert set(one.claims.split()) <= ids


def test_a_fault_that_stands_nowhere_is_refused(mutants: ModuleType, tmp_path: Path) -> None:
    tmp_path.joinpath("a.py").write_text("x = 1\nx = 1\n")
    for old in ("x = 1", "y = 1"):
        with pytest.raises(ValueError, match=r"times in a\.py"):
            mutants.planted(mutants.Mutant("m", "a.py", old, "", "", ""), tmp_path)


@pytest.mark.parametrize(("statuses", "found"), [((0, 0), (False, False)), ((1, 1), (True, True))])
def test_a_fault_is_taken_out_again_whoever_noticed(
    mutants: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    statuses: tuple[int, int],
    found: tuple[bool, bool],
) -> None:
    """It is there while tests and claims run again, and compiled kernels that may hold it are dropped."""
    room = tmp_path / "models" / "a"
    room.mkdir(parents=True)
    source, stale = room / "k.py", room / "k.nbi"
    source.write_text("njit(x)\n")
    answers, seen = iter((0, 0, *statuses)), []

    def run(_folder: Path, *_command: str) -> tuple[int, str]:
        seen.append((source.read_text(), stale.exists()))
        stale.touch()
        return next(answers), ""

    monkeypatch.setattr(mutants, "run", run)
    result = mutants.judge(mutants.Mutant("m", "models/a/k.py", "x", "y", "t", "c"), tmp_path, set())
    assert (result["killed"], result["noticed"]) == found
    assert [text for text, _ in seen] == ["njit(x)\n"] * 2 + ["njit(y)\n"] * 2
    assert seen[2][1] is False
    assert source.read_text() == "njit(x)\n"
    assert not stale.exists()


@pytest.mark.parametrize("statuses", [(1,), (0, 1), (0, 0, 2), (0, 0, 1, 124)])
def test_what_cannot_be_run_shows_nothing(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statuses: tuple[int, ...]
) -> None:
    """Tests that fail without the fault, that cannot be collected, or that take too long."""
    source = tmp_path / "models" / "a" / "k.py"
    source.parent.mkdir(parents=True)
    source.write_text("x\n")
    answers = iter((*statuses, *(0,) * 4))
    monkeypatch.setattr(mutants, "run", lambda *_: (next(answers), "said"))
    with pytest.raises(RuntimeError, match="said"):
        mutants.judge(mutants.Mutant("m", "models/a/k.py", "x", "y", "t", "c"), tmp_path, set())
    assert source.read_text() == "x\n"


def test_what_passes_without_a_fault_is_asked_once(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "models" / "a" / "k.py"
    source.parent.mkdir(parents=True)
    source.write_text("x\n")
    asked: list[str] = []

    def run(_folder: Path, *command: str) -> tuple[int, str]:
        asked.append(command[-1])
        return 0, ""

    monkeypatch.setattr(mutants, "run", run)
    sound: set[str] = set()
    for claim in ("c", "d"):
        mutants.judge(mutants.Mutant("m", "models/a/k.py", "x", "y", "t", claim), tmp_path, sound)
    assert asked == ["t", "c", "t", "c", "d", "t", "d"]
