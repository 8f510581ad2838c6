"""The page of verdicts is that of the claims."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clairvoyant.analysis.claim import Claim, Context, Finding, Table, Verdict, Why, in_words
from clairvoyant.models.base import InputError
from clairvoyant.problems import find, problems

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "verdicts.md"


def test_the_page_names_every_claim_with_its_verdict() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        problem = re.findall(r"`([a-z-]+)`", section.splitlines()[0])[0]
        for name, verdict in re.findall(
            r"^\| ([\w-]+)(?: \(ours\))? \| ([^|]+) \|", section, flags=re.MULTILINE
        ):
            if name != "claim":
                shown[f"{problem}/{name}"] = verdict
    claims = [claim for name in problems() for claim in find(name).part("claims")]
    assert shown == {claim.id: in_words(claim.expected, claim.because) for claim in claims}
    for claim in claims:
        assert (claim.because is not None) == (claim.expected is Verdict.UNDETERMINED), claim.id
        assert len(claim.turns) in (0, 2), claim.id
        assert pickle.dumps(claim), claim.id  # an audit hands it to processes


def test_the_page_counts_what_is_claimed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    counted = {
        verdict: [int(number) for number in numbers.split("|")]
        for verdict, numbers in re.findall(
            r"^\| ([^|]+) \|[^|]*\|((?: \d+ \|){3} \d+) \|$", text, re.MULTILINE
        )
    }
    papers = ("allocation", "selection", "admission", "placement")
    claims = [find(name).part("claims") for name in papers]
    told = [[in_words(claim.expected, claim.because) for claim in of] for of in claims]
    assert counted.pop("all") == [len(of) for of in told]
    assert counted == {verdict: [of.count(verdict) for of in told] for verdict in counted}
    assert {*counted} == {verdict for of in told for verdict in of}


def claimed(found: object, expected: object = Verdict.REFUTED, **more: Any) -> Claim:
    return Claim("placement/mine", "here", "it holds", "look", expected, lambda _context: found, **more)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("problem", [name for name in problems() if find(name).part("claims")])
def test_at_full_size_the_verdicts_are_those_that_were_kept(problem: str) -> None:
    file = DOCS / "findings" / "full" / f"{problem}.json"
    kept = {one["claim"]: one["found"] for one in json.loads(file.read_text("utf-8"))["findings"]}
    assert kept == {claim.id: in_words(*claim.stands("full")) for claim in find(problem).part("claims")}


def test_what_is_expected_is_that_of_the_mode() -> None:
    proved = Finding(Verdict.REFUTED, "no", proof="1 < 2")
    claim = claimed(proved, Verdict.UNDETERMINED, because=Why.SAMPLES, at_full=Verdict.REFUTED)
    by_mode = {mode: claim.find(Context(mode)) for mode in ("default", "full")}
    assert {mode: claim.as_expected(found) for mode, found in by_mode.items()} == {
        "default": False,
        "full": True,
    }
    undecided = replace(claim.find(Context("full")), verdict=Verdict.UNDETERMINED)
    assert undecided.why is Why.LACKING
    assert not claim.as_expected(undecided)
    for why in Why:
        assert replace(claim, at_full=why).as_expected(undecided) is (why is Why.LACKING)


def test_what_is_refuted_without_evidence_is_not_as_expected() -> None:
    bare, proved = Finding(Verdict.REFUTED, "no"), Finding(Verdict.REFUTED, "no", proof="1 < 2")
    assert not claimed(bare).as_expected(bare)
    assert claimed(proved).as_expected(proved)
    wordy = Finding(Verdict.REFUTED, 26 * "no ", proof="1 < 2")
    assert not claimed(wordy).as_expected(wordy)


def test_what_is_no_finding_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"^placement/mine: its check returned NoneType, not a Finding$"):
        claimed(None).find(Context())
    with pytest.raises(InputError, match=r"^verdict: 'refuted' is no clairvoyant\.analysis"):
        Finding("refuted", "no")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^headline: 5 is no text$"):
        Finding(Verdict.HOLDS, 5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^placement/mine: expected: 'refuted' is no clairvoyant"):
        claimed(None, "refuted")
    with pytest.raises(InputError, match=r"^mode: 'fast' is not one of quick, default, full"):
        Context("fast")
    with pytest.raises(InputError, match=r"^rows\[1\]: 1 cells, but there are 2 columns$"):
        Table("t", ("a", "b"), ((1, 2), (1,)))
