"""The campaigns against the toolkit: they find nothing here, they find what is planted, and they resume."""

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clairvoyant import api, problems
from clairvoyant.models.allocation.instance import AllocationInstance
from clairvoyant.models.base import InputError
from clairvoyant.testing import campaigns, fuzz
from clairvoyant.testing.campaigns import TARGETS, ContradictionError, cross_check
from clairvoyant.testing.generic import find_kit


@pytest.mark.parametrize("problem", TARGETS)
def test_damaged_files_are_refused_or_instances(problem: str) -> None:
    line = fuzz.run_chunk("files", problem, seed=0, chunk=0, cases=25)
    assert line["failure"] is None, line["failure"]["trace"]
    assert sum(line["counts"].values()) == 25
    assert set(line["counts"]) == {"refused", "taken"}


@pytest.mark.parametrize("problem", TARGETS)
def test_oracles_and_policies_agree(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "ORACLE_SECONDS", 0.2)
    line = fuzz.run_chunk("instances", problem, seed=0, chunk=0, cases=5)
    assert line["failure"] is None, line["failure"]["trace"]
    assert sum(line["counts"].values()) == 5


@pytest.mark.parametrize("problem", TARGETS)
def test_a_wrong_oracle_is_found(monkeypatch: pytest.MonkeyPatch, problem: str) -> None:
    instance = next(iter(find_kit(problem).ordinary().values()))
    first, off = next(iter(api.list_oracles(problem))), 2.0 if instance.minimised else 0.5
    real = cache(partial(api.solve, instance))
    for wrong, factor, told in (("value", 1.001, "replay"), ("bound", off, "beyond the bound")):

        def solve(_instance: Any, oracle: str, **options: Any) -> Any:
            found = real(oracle, **options)
            worse = {wrong: getattr(found, wrong) * factor} if oracle == first else {}  # noqa: B023
            return replace(found, **worse)

        monkeypatch.setattr(api, "solve", solve)
        monkeypatch.setattr(campaigns, "ORACLE_SECONDS", 0.1)
        with pytest.raises(ContradictionError, match=told):
            cross_check(TARGETS[problem], instance)


def test_a_crash_of_a_reader_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    real = AllocationInstance.from_dict.__func__  # type: ignore[attr-defined]

    def broken(cls: Any, data: Any) -> Any:
        try:
            return real(cls, data)
        except InputError as error:
            raise KeyError(str(error)) from error

    monkeypatch.setattr(AllocationInstance, "from_dict", classmethod(broken))
    line = fuzz.run_chunk("files", "allocation", seed=0, chunk=0, cases=25)
    assert line["failure"] is not None
    assert "KeyError" in line["failure"]["trace"]
    assert len(line["failure"]["case"]) < 400


def test_a_campaign_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: type[Any]
) -> None:
    monkeypatch.setattr(fuzz, "CHUNK", 5)
    monkeypatch.setattr(fuzz, "Processes", here)
    asked = partial(fuzz.fuzz, tmp_path, seed=1, instances=1, problems=("selection",), workers=1)
    lines = asked(files=3, report=lambda _: None)
    log = tmp_path / "fuzz.jsonl"
    log.write_text(log.read_text() + '{"key": "0123", "na')  # a line that was being written

    told: list[str] = []
    assert len(here.ran) == 2
    assert asked(files=3, report=told.append) == lines
    assert len(here.ran) == 2
    assert told == ["2 chunks of up to 5 cases, 2 of them done before"]
    more = asked(files=8, report=told.append)
    assert [line["cases"] for line in more] == [5, 3, 1]
    assert told[1] == "3 chunks of up to 5 cases, 1 of them done before"


def test_the_same_seed_draws_the_same_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    def sampled(seed: int) -> list[bytes]:
        texts: list[bytes] = []

        def keep(text: bytes, _packed: bool) -> str:
            texts.append(text)
            return "seen"

        monkeypatch.setattr(fuzz, "check_file", keep)
        fuzz.run_chunk("files", "selection", seed=seed, chunk=0, cases=10)
        return texts

    assert sampled(1) == sampled(1) != sampled(2)


def test_the_exit_status_says_whether_something_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def line(failure: Any) -> list[dict[str, Any]]:
        return [
            {"campaign": "files", "problem": "selection", "chunk": 0, "counts": {"refused": 2}}
            | {"failure": failure}
        ]

    runner, arguments = CliRunner(), ["--problem", "selection", "--out", str(tmp_path)]
    monkeypatch.setattr(fuzz, "fuzz", lambda *_, **__: line(None))
    good = runner.invoke(fuzz.main, arguments)
    assert good.exit_code == 0
    assert "files, selection: 2 refused" in good.output
    monkeypatch.setattr(fuzz, "fuzz", lambda *_, **__: line({"case": "{\x1b[2J}", "trace": "KeyError: 'x'"}))
    bad = runner.invoke(fuzz.main, arguments)
    assert bad.exit_code == 1
    assert "KeyError: 'x'" in bad.output
    assert r"{\x1b[2J}" in bad.output


def test_numbers_beyond_all_floats_are_left_as_they_are() -> None:
    assert campaigns._each({"x": [10**400, 2, True, "y"]}, 0.5) == {"x": [10**400, 1.0, True, "y"]}


def test_every_problem_has_a_target() -> None:
    assert set(TARGETS) == {problem.name for problem in problems.OURS}
