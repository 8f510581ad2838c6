"""What people read: the result first, as wide as the terminal, nothing cut; and what searches tell."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clairvoyant as cv
from clairvoyant import api
from clairvoyant.cli import output
from clairvoyant.cli.rendering import FOREMOST, foremost, policy_scores, print_claims, print_scores
from clairvoyant.oracles.base import Optimum, WhyStopped
from clairvoyant.problems import problems, rival

Run = Callable[..., Any]  # of tests/front/conftest.py
PROBLEMS = sorted(problems())
WORDS = st.text("abcdefg", min_size=1, max_size=12)


@pytest.fixture
def columns() -> int:
    """Return the width of a narrow terminal."""
    return 60


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Heads of one or more words, of texts or numbers, and rows of cells that are one word each."""
    heads = draw(st.lists(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=9))
    marked = [f"{draw(st.sampled_from(['', '>']))}{head}" for head in heads]
    row = st.tuples(*(WORDS for _ in heads)).map(list)
    return marked, draw(st.lists(row, min_size=1, max_size=4))


@settings(max_examples=50)
@given(table=tables(), width=st.integers(20, 120))
def test_a_table_is_never_cut_and_cells_never_wrap(
    table: tuple[list[str], list[list[str]]], width: int
) -> None:
    columns, rows = table
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setattr("clairvoyant.cli.output.click.echo", said.append)
        output.print_table(columns, rows)
    longest = [
        max(len(word) for word in [*head.strip(">").split(), *cells])
        for head, *cells in zip(columns, *rows, strict=True)
    ]
    least = max(longest[0] + output.BETWEEN + one for one in longest[1:]) if longest[1:] else longest[0]
    assert all(len(row) <= max(width, least) for row in said)
    words = Counter(" ".join(said).split())
    cells = Counter(cell for row in rows for cell in row)
    heads = {word for head in columns for word in head.strip(">").split()}
    assert words >= cells
    assert words.keys() - cells.keys() - heads <= {"─" * len(one) for one in words}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_result_comes_first_and_nothing_is_cut(
    problem: str, run: Run, tmp_path: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    policy = next(iter(cv.list_policies(problem)))
    said = {
        "generate": run("generate", problem, "--size", "tiny", "--seed", 1, "--out", "x.json").out,
        "solve": run("solve", "x.json").out,
        "play": run("play", "x.json", "--policy", policy).out,
        "policies": run("policies", "--problem", problem).out,
        "oracles": run("oracles", "--problem", problem).out,
    }
    digest = cv.load("x.json").digest()
    first = {"generate": "written to x.json", "solve": f"{rival(problem)} optimum ", "play": "policy"}
    for command, text in said.items():
        assert "…" not in text, command
        assert all(len(line) <= columns for line in text.splitlines()), command
        if command in first:
            assert first[command] in "".join(text.splitlines(keepends=True)[:3])
            assert text.index(f"{problem} {digest} (x.json)") > text.index(first[command])
    filled = cv.load("x.json").origin.filled
    assert "listed with -v" in said["solve"]
    told = run("play", "x.json", "--policy", policy, "--no-optimum", "--verbose").out
    assert "listed with -v" not in told
    assert all(" ".join(one.split()) in " ".join(told.split()) for one in filled)


def test_what_is_piped_is_a_line_each(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    output.line("word " * 60)
    output.entry("title " * 60, ["text " * 60, ""])
    assert [len(line.split()) for line in capfd.readouterr().out.splitlines()] == [60, 60, 60]


@pytest.mark.parametrize(
    ("bound", "slot", "said"),
    [
        (100.0005, 20.0, "20"),
        (110.0, 20.0, "20 to 30"),
        (None, 20.0, "20 or more"),
        (100.0, 20.0, "20"),
        (100.0 + 1e-8, 25.0 + 1e-9, "0"),
    ],
)
def test_a_regret_is_told_with_what_is_not_proved(
    bound: float | None, slot: float, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    optimum = Optimum(100.0, bound, None, WhyStopped.TIME_LIMIT, "made up", 0.0, problem="allocation")
    played = cv.Run("drf", 0, "x", np.full(4, slot), problem="allocation")
    policy = api.make_policy("drf", "allocation")
    scores = {"drf": policy_scores(policy, [played], optimum, None)}
    told = {"optimum": {"oracle": "stationary"} | optimum.facts, "bounds": None, "policies": scores}
    print_scores({"minimised": False, "unit": "", **told}, by_ratio=False)
    cells = re.split(r"\s{2,}", capfd.readouterr().out.splitlines()[2].strip())
    assert cells[2:4] == [f"{4 * slot:g}", said]
    assert scores["drf"]["regret"] == 100.0 - played.total


# The end of an audit


def judged(name: str, where: str, verdict: cv.Verdict, **more: Any) -> tuple[cv.Claim, cv.Finding]:
    shown = more.pop("counterexample", None)
    proof = "1 < 2" if verdict is cv.Verdict.REFUTED and shown is None else ""
    found = cv.Finding(verdict, f"What was found of {name}.", counterexample=shown, proof=proof)
    return cv.Claim(name, where, "It is so.", "By trying.", verdict, lambda _: found, **more), found


THEIRS = "statements of the paper hold"
AGAINST = [
    judged("b/figure", "Fig. 2", cv.Verdict.REFUTED, counterexample=object()),
    judged("b/theorem", "Theorem 9", cv.Verdict.NOT_REPRODUCED),
    judged("a/open", "Theorem 1", cv.Verdict.UNDETERMINED),
    judged("a/ours", "Theorem 2", cv.Verdict.REFUTED, ours=True, counterexample=object()),
    judged("a/text", "Sec. 1", cv.Verdict.REFUTED, counterexample=object()),
    judged("a/proof", "Theorem 3", cv.Verdict.REFUTED),
    judged("a/table", "Table 2", cv.Verdict.REFUTED, counterexample=object()),
    judged("a/lemma", "(12), Lemma 1", cv.Verdict.REFUTED, counterexample=object()),
    judged("a/holds", "Theorem 4", cv.Verdict.HOLDS),
]


def test_the_weightiest_verdicts_of_each_paper_come_first_in_turn() -> None:
    wanted = ["b/figure", "a/lemma", "b/theorem", "a/table", "a/text", "a/proof"]
    assert [claim.id for claim, _ in foremost(AGAINST)] == wanted
    many = [judged(f"a/{n}", "Table 1", cv.Verdict.REFUTED) for n in range(30)]
    assert [claim.id for claim, _ in foremost(many)] == [f"a/{n}" for n in range(FOREMOST)]
    assert foremost(AGAINST[2:4]) == []


@pytest.mark.parametrize("verbose", [False, True])
def test_an_audit_ends_with_a_line_for_each_paper(
    verbose: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    claim, _ = judged("allocation/wrong", "Table 9", cv.Verdict.HOLDS)
    wrong = claim, cv.Finding(cv.Verdict.UNDETERMINED, "It is open.", remark="Nobody knows.")
    held = judged("allocation/right", "Table 8", cv.Verdict.HOLDS_AMENDED)
    print_claims([held, *AGAINST, wrong], verbose)
    said = capfd.readouterr().out.splitlines()
    assert said[0] == "allocation/wrong (Table 9): undetermined (nothing to judge), expected: holds"
    assert said[1:3] == ["  It is open.", "  Nobody knows."]
    assert said[-4:] == [
        f"allocation (OGASched): 0 of 2 {THEIRS}, 1 amended, 1 undetermined",
        f"b: 0 of 2 {THEIRS}, 1 refuted, 1 not reproduced",
        f"a: 1 of 6 {THEIRS}, 4 refuted, 1 undetermined; 0 of 1 statement of our own holds, 1 refuted",
        "11 claims: 1 NOT as expected",
    ]
    assert ("  What was found of a/holds." in said) == verbose
    assert "  What was found of a/lemma." in said


# While an oracle searches


def known_so_far(text: str) -> tuple[float, float]:
    """Return the incumbent and the dual bound that a text of progress begins with."""
    pair = re.match(r"incumbent (\S+), dual bound ([^\s;]+)", text)
    assert pair is not None, text
    value, bound = (math.nan if one == "none" else float(one.replace(",", "")) for one in pair.groups())
    return value, bound


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        ("allocation", {}),
        ("allocation", {"oracle": "dynamic"}),
        ("allocation-gang", {}),
        ("selection", {}),
        ("selection-gang", {"method": "cp-sat"}),
        ("admission", {}),
        ("admission", {"method": "cp-sat"}),
        ("placement", {}),
        ("placement", {"method": "cp-sat"}),
    ],
)
def test_a_search_tells_incumbent_and_dual_bound(problem: str, options: dict[str, Any]) -> None:
    """They only improve, and none is beyond what is found and proved in the end."""
    told: list[str] = []
    sizes = {"placement": {"jobs": 5, "contention": 0.0}, "admission": {}}
    instance = api.generate(problem, "tiny", 2, **sizes.get(problem, {"slots": 8}))
    found = cv.solve(instance, progress=lambda _done, text: told.append(text), **options)
    sign = -1.0 if instance.minimised else 1.0
    pairs = sign * np.array([known_so_far(text) for text in told])
    value, bound = sign * found.value, sign * (math.inf if found.bound is None else found.bound)
    rounding = 1e-5 * abs(value)
    assert (pairs[:, 0] <= value + rounding).all()
    assert not (pairs[:, 1] < value - rounding).any()
    assert (np.diff(pairs[:, 0]) >= 0.0).all()
    assert not (np.diff(pairs[:, 1]) > 0.0).any()
    np.testing.assert_allclose(pairs[-1], [value, bound], rtol=1e-5)


@pytest.mark.parametrize(("problem", "method"), [("placement", "search"), ("admission", "lagrangian")])
def test_what_a_search_is_finding_is_told_at_once(
    problem: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only when a part of it ends: bounds by prices, and the incumbent of annealing."""
    told: list[str] = []
    monkeypatch.setattr("clairvoyant.oracles.placement.search.MOST_ROUNDS", 2000)
    monkeypatch.setattr("clairvoyant.oracles.placement.bound.VOLUME_WORK", 1e6)
    monkeypatch.setattr("clairvoyant.oracles.placement.bound.PACKED_WORK", 1e6)
    monkeypatch.setattr("clairvoyant.oracles.admission.search.ROUNDS_PER_JOB", 20)
    instance = api.generate(problem, "tiny", 4, jobs=30)
    cv.solve(instance, method=method, gap=0.0, progress=lambda _done, text: told.append(text))
    parts = {"placement": ("volume round", "annealing"), "admission": ("volume method", "search round")}
    for which, part in enumerate(parts[problem]):
        within = {known_so_far(text)[1 - which] for text in told if part in text}
        assert len(within) > 1, part


def test_progress_on_a_narrow_terminal_shows_both(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(output, "DRAW_EVERY", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    note = "incumbent 107132, dual bound 109.88"
    for columns in ("60", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        with output.progress("offline") as report:
            report(0.5, f"{note}; search round 1200, value 105")
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capfd.readouterr().err)
        assert re.search(rf"offline .*50% 0:00:00 {note}", shown)
