"""Keep what an audit found as docs/findings/PROBLEM.json, of which the pages of errata are made.

``python .ci/findings.py reports``, after ``make audit``. ``tests/front/test_docs.py`` says when. What was
kept of claims that the audit did not check stays; that of a single one is in ``reports/claims``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from clairvoyant.analysis.claim import Claim
from clairvoyant.problems import OURS, read_instance

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "findings"
MODE = {"mode": "default", "seed": 0}
SMALL, ROWS = 2000, 16
"""The most characters of an instance and rows of a table that a page shows."""


def kept(claim: Claim, audit: Path) -> dict[str, Any]:
    """Return what is kept of the finding of a claim in the folder of an audit: no figures, nothing large."""
    found: dict[str, Any] = json.loads((audit / "findings" / f"{claim.id}.json").read_text("utf-8"))
    if {key: found.pop(key) for key in MODE} != MODE:
        raise SystemExit(f"{claim.id}: found otherwise than with {MODE}")
    del found["figures"], found["expected"], found["small"]
    found["tables"] = [one for one in found["tables"] if len(one["rows"]) <= ROWS]
    if found["counterexample"]:
        text = (audit / found["counterexample"]).read_text("utf-8")
        told = {"file": found["counterexample"]}
        if len(text) <= SMALL:
            found["counterexample"] = told | {"instance": json.loads(text)}
        else:
            facts = read_instance(json.loads(text)).facts()
            found["counterexample"] = told | {"facts": ", ".join(f"{key}: {facts[key]:g}" for key in facts)}
    return found


def page(problem: str, claims: list[Claim], audit: Path, before: str) -> str:
    """Return the text of a problem's file, whose text was another one before."""
    old = {one["claim"]: one for one in json.loads(before)["findings"]}
    lines = []
    for claim in claims:
        checked = (audit / "findings" / f"{claim.id}.json").exists()
        found = kept(claim, audit) if checked else old[claim.id]
        lines.append(json.dumps(found, ensure_ascii=False))
    common = json.dumps({"problem": problem, **MODE})[:-1]
    return f'{common}, "findings": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    for problem in OURS:
        if claims := [*problem.part("claims")]:
            path = FOLDER / f"{problem.name}.json"
            text = page(problem.name, claims, Path(sys.argv[1]), path.read_text(encoding="utf-8"))
            path.write_text(text, encoding="utf-8")
