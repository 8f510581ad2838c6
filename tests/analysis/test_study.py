"""Studies: statements are judged together, over all that a text leaves open."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clairvoyant.analysis import study as study_module
from clairvoyant.analysis.claim import (
    HEADLINE,
    MODES,
    PARAGRAPH,
    Claim,
    Context,
    Finding,
    Register,
    Verdict,
    Why,
    in_words,
)
from clairvoyant.analysis.experiments import spread
from clairvoyant.analysis.findings import from_dict, to_dict
from clairvoyant.analysis.statistics import (
    holm,
    mean_interval,
    p_of_mean,
    p_of_next,
    prediction_interval,
)
from clairvoyant.analysis.study import (
    ORACLE,
    WORDS,
    Fact,
    Judged,
    Lab,
    Printed,
    Statement,
    Study,
    amounts,
    how_sure,
    in_readings,
    judge,
    settled,
    statements,
)
from clairvoyant.models.allocation.generate import generate

PLUS, MINUS, OPEN = np.array([1.0, 1.1, 0.9, 1.05]), -np.array([1.0, 1.1, 0.9, 1.05]), np.array([-1.0, 1.0])
SIGNS = {True: PLUS, False: MINUS, None: OPEN}


class Who(NamedTuple):
    """A contender that earns a number for every unit of load."""

    label: str
    rate: float


def averages(who: Who, setup: float, seeds: Sequence[int]) -> np.ndarray:
    """Return a reward with noise that all contenders share."""
    noise = np.array([np.random.default_rng(seed).normal(0.0, 0.01) for seed in seeds])
    result: np.ndarray = who.rate * setup + noise
    return result


LAB = Lab("allocation", "Made up.", averages, lambda setup, seeds: np.full(len(seeds), 3.0 * setup), "reward")


def study(**scenarios: float) -> Study:
    """Return a study of two contenders at two loads, where scenarios multiply the load."""
    turned = {name: (lambda setup, by=by: by * setup) for name, by in (scenarios or {"": 1.0}).items()}
    settings = {"load 1": 1.0, "load 2": 2.0}
    return Study.run(Context(), LAB, [Who("good", 2.0), Who("bad", 1.0)], settings, range(5), turned)


@given(st.lists(st.floats(0.0, 1.0), max_size=8))
def test_holm_keeps_the_order_and_never_lowers_a_p_value(p: list[float]) -> None:
    """It is at most Bonferroni's correction, and rejects what Holm's own steps reject."""
    adjusted = holm(p)
    assert all(a >= q - 1e-15 for a, q in zip(adjusted, p, strict=True))
    assert all(a <= min(1.0, len(p) * q) + 1e-15 for a, q in zip(adjusted, p, strict=True))
    rejected = set()
    for step, i in enumerate(np.argsort(p, kind="stable")):
        if p[i] * (len(p) - step) > 0.05:
            break
        rejected.add(int(i))
    assert {i for i, a in enumerate(adjusted) if a <= 0.05} == rejected


def test_p_values_are_those_of_the_t_tests() -> None:
    """Of the mean against 0; of a number against one more sample, which is where the interval ends at 5 %."""
    samples = np.array([1.0, 2.0, 4.0, 3.5])
    assert p_of_mean(samples) == pytest.approx(stats.ttest_1samp(samples, 0.0).pvalue)
    low, high = prediction_interval(samples)[1:]
    assert [p_of_next(samples, end) for end in (low, high)] == pytest.approx([0.05, 0.05])
    assert mean_interval(samples).low > low
    assert (p_of_mean([1.0]), p_of_next([1.0], 7.0)) == (1.0, 1.0)
    assert (p_of_mean([0.0, 0.0]), p_of_mean([2.0, 2.0]), p_of_mean([0.1] * 10)) == (1.0, 0.0, 0.0)
    assert p_of_next([1 / 3] * 5, 0.333) == 0.0
    assert p_of_next([0.1] * 10, 0.1) == p_of_next([0.7] * 6, 0.7) == 1.0
    assert (p_of_next([2.0, 2.0], 2.0), p_of_next([2.0, 2.0], 2.1)) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("signs", "word"),
    [
        ((True, True), "holds"),
        ((False, False), "against"),
        ((True, False), "depends"),
        ((True, None), "undecided"),
        ((False, None), "undecided"),
        ((None, None), "undecided"),
        ((True, None, False), "depends"),
    ],
)
def test_a_statement_needs_every_scenario(signs: tuple[bool | None, ...], word: str) -> None:
    """One sign over all that is open, or none."""
    samples = {str(i): SIGNS[sign] for i, sign in enumerate(signs)}
    (one,) = judge([Statement("s", samples)], samples)
    assert (one.signs, one.word) == (signs, word)


def test_a_statement_about_places_needs_every_place_and_names_the_worst() -> None:
    """One place that is clearly against refutes it; one that is open leaves it open."""
    for columns, sign in (((PLUS, PLUS), True), ((PLUS, MINUS), False), ((PLUS, PLUS * 0.0), None)):
        one = Statement("s", {"": np.stack(columns, axis=1)}, "%", places=("here", "there"))
        (found,) = judge([one])
        assert found.signs == (sign,)
    assert found.finds == ("+0.0 ± 0.0 % (there)",)
    mixed = np.stack([PLUS, [-1.0, 1.0, -1.0, 1.0]], axis=1)
    assert judge([Statement("s", {"": mixed})])[0].signs == (None,)


def test_many_statements_need_more_than_one() -> None:
    """What decides a statement alone does not decide it among forty."""
    samples = {"": np.array([1.0, 2.0, 0.5, 1.9, 0.3])}
    assert 0.01 < p_of_mean(samples[""]) < 0.05
    assert judge([Statement("s", samples)])[0].word == "holds"
    assert {one.word for one in judge([Statement("s", samples)] * 40)} == {"undecided"}


def test_a_printed_number_is_compared_with_one_more_run() -> None:
    """Far outside the interval of the mean it may still be one run; beyond that of a run it is not ours."""
    samples = {"": np.array([9.0, 10.0, 11.0, 10.5, 9.5])}
    assert mean_interval(samples[""]).high < 11.5
    for number, word in ((11.5, "undecided"), (15.0, "against")):
        assert judge([Printed("p", samples, number=number)])[0].word == word


def test_one_sample_is_told_without_an_interval() -> None:
    one, two = np.array([2.0]), np.array([2.0, 4.0])
    assert Printed("p", {"": one}, "GB", number=1.0).found("") == "2.0 GB"
    assert Printed("p", {"": two}, "GB", number=1.0).found("").startswith("3.0, one run -")
    assert (spread(one, 1, sign=True), spread(two)) == ("+2.0", "3.0 ± 12.7")


def test_what_is_known_takes_no_part_in_the_family() -> None:
    """Facts beside a statement leave its test as it is."""
    samples = {"": np.array([1.0, 2.0, 0.5, 1.9, 0.3])}
    facts = [Fact(str(i), "seen", agrees=True) for i in range(40)]
    assert judge([Statement("s", samples), *facts])[0].word == "holds"


def test_readings_are_counted_in_which_all_statements_hold_and_in_which_one_does_not() -> None:
    signs = [(True, True, None, None), (True, None, False, None), (True, True, True, True)]
    judged = [Judged("s", (), one, "") for one in signs]
    assert in_readings(judged) == (1, 1, 4)
    assert how_sure(judged) == "sure in some readings, false in some and undecided in some"
    assert how_sure(judged[:1], "units") == "sure in some units and undecided in some"
    assert how_sure(judged[2:]) == "sure in all readings"
    assert [amounts(some) for some in (judged, judged[:2], judged[2:])] == [
        *(("some", "some"), ("some", "some"), ("all", "none"))
    ]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["holds", "holds"], Verdict.HOLDS),
        (["holds", "undecided"], Verdict.UNDETERMINED),
        (["undecided"], Verdict.UNDETERMINED),
        ([], Verdict.UNDETERMINED),
        (["holds", "depends"], Verdict.UNDETERMINED),
        (["holds", "against"], Verdict.NOT_REPRODUCED),
        (["undecided", "against"], Verdict.NOT_REPRODUCED),
        (["depends", "against"], Verdict.NOT_REPRODUCED),
    ],
)
def test_a_claim_of_several_parts_needs_all(words: list[str], verdict: Verdict) -> None:
    """One undecided part leaves it open; one that is against decides it."""
    for order in itertools.permutations(words):
        assert settled(Judged("s", ("",), (None,), word) for word in order) is verdict


def test_a_study_finds_what_was_put_in() -> None:
    """Leads, rises and the figure are those of the made-up rewards."""
    made = study()
    said = [*made.leads("good", ["bad"]), made.rises("bad"), made.rises("bad", falls=True)]
    assert [one.word for one in judge(said)] == ["holds", "holds", "against"]
    assert said[1].samples[""].mean() == pytest.approx(100.0, abs=5.0)
    quick = Study.run(Context("quick"), LAB, [Who("good", 2.0)], {"load 1": 1.0}, range(5), slots=7)
    register = Register("allocation")
    register("c", "Sec. 2", Verdict.HOLDS, says="s", how="h")(lambda _: made.finding("Good leads.", []))
    assert [register.claims[0].find(Context(mode)).small for mode in MODES] == [True, False, False]
    assert quick.finding("Good earns more.", []).numbers["slots"] == 7
    finding = made.finding("Good leads.", said[:2], made.figure("f", "Rewards.", "load", (1, 2)))
    assert (finding.verdict, finding.faults) == (Verdict.HOLDS, [])
    assert finding.numbers == {"instances": 5, "statements": 2, "statements, holds": 2}
    assert finding.tables[1].columns == ("setting", ORACLE, "good", "bad")
    assert [row[:2] for row in finding.tables[1].rows] == [("load 1", "3.0 ± 0.0"), ("load 2", "6.0 ± 0.0")]
    assert made.finding("No.", said).verdict.value == "not reproduced"


@pytest.mark.parametrize("x", [None, (1, 2)])
def test_bands_keep_to_what_the_lab_holds_for_possible(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    for name in ("curves", "bars_of"):
        monkeypatch.setattr(study_module, name, lambda *_, possible, **__: asked.append(possible))
    made = study()
    bounded = replace(made, lab=replace(LAB, possible=(0.0, 9.0)))
    for one in (made, bounded):
        one.figure("f", "Rewards.", "load", x)
    bounded.figure("f", "Rewards.", "load", x, possible=(1.0, 2.0))
    assert asked == [(-np.inf, np.inf), (0.0, 9.0), (1.0, 2.0)]


def test_a_study_over_what_is_open_depends_on_it() -> None:
    """A negative load turns the sign: neither "holds" nor "not reproduced"."""
    made = study(as_is=1.0, turned=-1.0)
    said = made.leads("good", ["bad"])
    finding = made.finding("It depends.", said)
    assert finding.verdict is Verdict.UNDETERMINED
    assert finding.tables[0].columns == ("statement", "found, as_is", "found, turned", "in all")
    assert finding.tables[0].rows[0][-1] == "depends"
    assert len(made.figure("f", "Rewards.", "load").svg) > 1000
    assert judge([Fact("f", "seen", agrees=True)], made.found)[0] == (
        "f",
        ("seen",) * 2,
        (True, True),
        "holds",
    )


@pytest.mark.parametrize("other", [PLUS, np.array([-1.0, 1.0] * 2), MINUS])
def test_what_is_said_of_every_place_is_against_as_soon_as_one_place_is(other: np.ndarray) -> None:
    for samples in (np.stack([MINUS, other], axis=1), np.stack([other, MINUS], axis=1)):
        (found,) = judge([Statement("it rises", {"": samples}, places=("here", "there"))])
        assert (found.signs, found.word) == ((False,), "against")


def test_many_readings_are_rows_in_which_a_statement_is_named_once() -> None:
    """Five are; four are columns. No cell of what was found, no sign and no word is lost."""
    four = study(**{str(i): float(i) for i in range(1, 5)})
    assert len(statements(judge(four.leads("good", ["bad"]), four.found), four.found, "").columns) == 6
    five = study(**{str(i): float(i) for i in range(1, 5)}, turned=-1.0)
    judged = judge([*five.leads("good", ["bad"]), five.rises("bad")], five.found)
    made = statements(judged, five.found, "Made up.")
    assert made.columns == ("statement", "reading", "found", "sign", "in all")
    assert [row[0] for row in made.rows] == [judged[0].says, *[""] * 4, judged[1].says, *[""] * 4]
    assert [row[4] for row in made.rows] == ["depends", *[""] * 4, judged[1].word, *[""] * 4]
    cells = [row[1:4] for row in made.rows]
    signs = [["holds"] * 4 + ["does not"], [WORDS[sign] for sign in judged[1].signs]]
    assert cells[:5] == list(zip(five.found, judged[0].finds, signs[0], strict=True))
    assert cells[5:] == list(zip(five.found, judged[1].finds, signs[1], strict=True))
    grid = five.grid("Rewards")
    assert grid.columns == ("reading", "setting", ORACLE, "good", "bad")
    assert [row[:2] for row in grid.rows[:3]] == [("1", "load 1"), ("", "load 2"), ("2", "load 1")]
    assert grid.rows[:8] == four.grid("Rewards").rows
    assert len(five.finding("It depends.", five.leads("good", ["bad"])).tables) == 2


def test_a_finding_needs_evidence_and_short_texts() -> None:
    """Refuted is only what an instance or a proof refutes; headlines and paragraphs have their limits."""
    assert Finding(Verdict.REFUTED, "No.").faults == ["refuted without a counterexample or a proof"]
    assert not Finding(Verdict.REFUTED, "No.", proof="As 1 < 2.").faults
    assert not Finding(Verdict.REFUTED, "No.", counterexample=generate("tiny")).faults
    long = " ".join(["word"] * (HEADLINE + 1))
    assert Finding(Verdict.HOLDS, long).faults == [f"headline: {HEADLINE + 1} words, more than {HEADLINE}"]
    two = " ".join(["word"] * PARAGRAPH) + "\n\n" + " ".join(["word"] * (PARAGRAPH + 1))
    (fault,) = Finding(Verdict.HOLDS, "Yes.", remark=two).faults
    assert fault == f"remark: {PARAGRAPH + 1} words in a paragraph, more than {PARAGRAPH}"


SIGNS_OF = st.dictionaries(
    st.sampled_from("abc"),
    st.fixed_dictionaries({name: st.sampled_from([True, False, None]) for name in ("one", "other")}),
    max_size=3,
)


def expecting(**more: Any) -> Claim:
    """Return a claim that expects to be undetermined."""
    register = Register("allocation")
    register("c", "Sec. 2", Verdict.UNDETERMINED, says="s", how="h", **more)(
        lambda _context: Finding(Verdict.HOLDS, "")
    )
    return register.claims[0]


@given(SIGNS_OF)
@pytest.mark.hypothesis
def test_what_is_undetermined_says_why(signs: dict[str, dict[str, bool | None]]) -> None:
    """It depends where a statement has both signs; two readings that a claim names are in this order."""
    finding = Finding(Verdict.UNDETERMINED, "Open.", signs=signs)
    values = [(by["one"], by["other"]) for by in signs.values()]
    turned = (True, False) in values or (False, True) in values
    assert finding.why is (Why.DEPENDS if turned else Why.SAMPLES if signs else Why.LACKING)
    assert expecting().as_expected(finding)
    assert [expecting(because=why).as_expected(finding) for why in Why] == [why is finding.why for why in Why]
    for turns in (("one", "other"), ("other", "one")):
        wanted = any((by[turns[0]], by[turns[1]]) == (True, False) for by in signs.values())
        claim = expecting(turns=turns)
        assert claim.because is Why.DEPENDS
        assert claim.as_expected(finding) is wanted
        assert claim.as_expected(replace(finding, small=True))
        assert not claim.as_expected(replace(finding, verdict=Verdict.HOLDS))
    assert not expecting(turns=("one", "missing")).as_expected(finding)
    assert all(Finding(verdict, "").why is None for verdict in Verdict if verdict is not Verdict.UNDETERMINED)


def test_a_finding_of_statements_keeps_their_signs() -> None:
    """By statement and scenario, also as a file; two that say the same would hide one another."""
    made = study(as_is=1.0, turned=-1.0)
    finding = made.finding("It depends.", [*made.leads("good", ["bad"]), Fact("f", "seen", agrees=True)])
    leads = "good is ahead of bad (everywhere)"
    assert finding.signs == {
        leads: {"as_is": True, "turned": False},
        "f": dict.fromkeys(("as_is", "turned"), True),
    }
    assert expecting(turns=("as_is", "turned")).as_expected(finding)
    assert not expecting(turns=("turned", "as_is")).as_expected(finding)
    data = json.loads(json.dumps(to_dict(finding)))
    again = from_dict(data, lambda _data: generate("tiny"))
    assert (again.signs, again.why, in_words(again.verdict, again.why)) == (
        finding.signs,
        Why.DEPENDS,
        "undetermined (depends)",
    )
    with pytest.raises(ValueError, match="two statements say"):
        made.finding("Twice.", 2 * made.leads("good", ["bad"]))


def test_claims_stand_on_their_checks() -> None:
    """In the order in which they are written."""
    claim = Register("allocation")

    @claim("b", "Sec. 2", Verdict.HOLDS, says="It holds.", how="By hand.", choices=["units"])
    def b(_context: Context) -> Finding:
        return Finding(Verdict.HOLDS, "It holds.")

    @claim("a", "our own", Verdict.UNDETERMINED, ours=True)
    def a(_context: Context) -> Finding:
        """It may, in words
        of two lines.

        By hand.
        """
        return Finding(Verdict.UNDETERMINED, "Open.")

    assert [(one.id, one.check, one.ours, one.choices, one.says, one.how) for one in claim.claims] == [
        ("allocation/b", b, False, ("units",), "It holds.", "By hand."),
        ("allocation/a", a, True, (), "It may, in words of two lines.", "By hand."),
    ]
    with pytest.raises(ValueError, match="c: the docstring of its check has to say"):
        claim("c", "Sec. 2", Verdict.HOLDS, says="It holds.")(lambda _context: Finding(Verdict.HOLDS, ""))
    with pytest.raises(ValueError, match="d: neither a verdict is expected, nor is said why"):
        claim("d", "Sec. 2", says="It may.", how="By hand.")
    claim("e", "Sec. 2", because=Why.SAMPLES, says="It may.", how="By hand.")(b)
    assert claim.claims[-1].expected is Verdict.UNDETERMINED
