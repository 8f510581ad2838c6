"""The page of verdicts is that of the claims."""

import re
from pathlib import Path

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
    assert shown == {claim.id: claim.expected.value for claim in claims}
