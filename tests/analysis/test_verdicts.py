"""The page of verdicts is that of the claims."""

import re
from pathlib import Path

from clairvoyant.analysis.claim import Verdict, in_words
from clairvoyant.problems import find, problems

PAGE = Path(__file__).parents[2] / "docs" / "verdicts.md"


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
