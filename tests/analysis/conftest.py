"""What several tests of claims look up."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from clairvoyant.analysis.claim import Claim

Ledger = Mapping[str, tuple[str, ...] | str]

KINDS = r"(?:Theorem|Lemma|Definition|Proposition|Algorithm|Fig\.|Figure|Table|Footnote)"


def named(where: str) -> list[str]:
    """Return the numbered items that a place names; what it only stands before, after or between is none."""
    text = re.sub(r"(?i)(after|before|between) [^,]*", "", where)
    ranges = re.findall(r"\((\d+)\)(?: to |-)\((\d+)\)", text)
    within = (f"({n})" for first, last in ranges for n in range(int(first), int(last) + 1))
    return [*re.findall(rf"\(\d+\)|{KINDS} \d+", text), *within]


def items_of(claims: Sequence[Claim], ledger: Ledger) -> set[str]:
    """Return the items of a paper that claims or a ledger name; this one names claims on the paper alone."""
    theirs = [claim for claim in claims if not claim.ours]
    known = {claim.id.partition("/")[2] for claim in theirs}
    assert all(ledger.values())
    assert {name for entry in ledger.values() if isinstance(entry, tuple) for name in entry} <= known
    return {*ledger, *(item for claim in theirs for item in named(claim.where))}


@pytest.fixture(scope="session")
def items() -> Callable[[Sequence[Claim], Ledger], set[str]]:
    """Return :func:`items_of`, after a look at what it reads."""
    assert named("Proof of Theorem 1, (33)-(35)") == ["Theorem 1", "(33)", "(35)", "(33)", "(34)", "(35)"]
    assert named("Theorem 4, before Definition 2 and in E.B, after (19)") == ["Theorem 4"]
    return items_of
