"""Keep what an audit found as docs/findings/PROBLEM.json, of which the pages of errata are made.

``python .ci/findings.py reports``, after ``make audit``. ``tests/front/test_docs.py`` says when.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from clairvoyant.analysis.claim import Claim
from clairvoyant.problems import OURS, read_instance

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "findings"
SMALL, ROWS = 2000, 16
"""The most characters of an instance and rows of a table that a page shows."""


def kept(claim: Claim, audit: Path) -> dict[str, Any]:
    """Return what is kept of the finding of a claim in the folder of an audit: no figures, nothing large."""
    found: dict[str, Any] = json.loads((audit / "findings" / f"{claim.id}.json").read_text("utf-8"))
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


def page(problem: str, claims: list[Claim], audit: Path) -> str:
    """Return the text of a problem's file."""
    findings = [kept(claim, audit) for claim in claims]
    common = {key: findings[0][key] for key in ("mode", "seed")}
    for one in findings:
        if {key: one.pop(key) for key in common} != common:
            raise SystemExit(f"{one['claim']}: found in another mode or with another seed than {common}")
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in findings)
    return f'{{"problem": "{problem}", {json.dumps(common)[1:-1]}, "findings": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for problem in OURS:
        if claims := [*problem.part("claims")]:
            text = page(problem.name, claims, Path(sys.argv[1]))
            (FOLDER / f"{problem.name}.json").write_text(text, encoding="utf-8")
