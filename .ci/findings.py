"""Keep what an audit found as docs/findings/PROBLEM.json, of which the pages of errata are made.

``python .ci/findings.py reports``, after ``make audit``. ``tests/front/test_docs.py`` says when. What was
kept of claims that the audit did not check stays; that of a single one is in ``reports/claims``.
``python .ci/findings.py FOLDER full``, after an audit with ``--full``, keeps verdicts, headlines, numbers
and what was decided in docs/findings/full/.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from clairvoyant.analysis.claim import Claim
from clairvoyant.problems import OURS, read_instance

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "findings"
SHORT = ("claim", "says", "found", "headline", "numbers")
"""What is kept of an audit with ``--full``."""
SMALL, ROWS = 2000, 40
"""The most characters of an instance and rows of a table that a page shows."""


def kept(claim: Claim, audit: Path, mode: str = "default") -> dict[str, Any]:
    """Return what is kept of the finding of a claim in the folder of an audit: no figures, nothing large."""
    found: dict[str, Any] = json.loads((audit / "findings" / f"{claim.id}.json").read_text("utf-8"))
    if (found.pop("mode"), found.pop("seed")) != (mode, 0):
        raise SystemExit(f"{claim.id}: found otherwise than in the mode {mode} with seed 0")
    if mode == "full":
        signs = (
            (says, {r: s for r, s in of.items() if s is not None}) for says, of in found["signs"].items()
        )
        return {name: found[name] for name in SHORT} | {"decided": {says: of for says, of in signs if of}}
    del found["figures"], found["expected"], found["small"], found["optima"]
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


def page(problem: str, claims: list[Claim], audit: Path, before: str, mode: str = "default") -> str:
    """Return the text of a problem's file, whose text was another one before."""
    old = {one["claim"]: one for one in json.loads(before)["findings"]}
    for claim in claims:
        if (audit / "findings" / f"{claim.id}.json").exists():
            old[claim.id] = kept(claim, audit, mode)
    lines = [json.dumps(old[claim.id], ensure_ascii=False) for claim in claims if claim.id in old]
    common = json.dumps({"problem": problem, "mode": mode, "seed": 0})[:-1]
    return f'{common}, "findings": [\n' + ",\n".join(lines) + "\n]}\n"


def main(audit: Path, mode: str) -> None:
    """Write the files of the problems that the audit has checked claims of."""
    folder = FOLDER if mode == "default" else FOLDER / mode
    for problem in OURS:
        if (audit / "findings" / problem.name).is_dir():
            path = folder / f"{problem.name}.json"
            before = path.read_text(encoding="utf-8") if path.exists() else '{"findings": []}'
            text = page(problem.name, [*problem.part("claims")], audit, before, mode)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(sys.argv[2:] or ["default"]))
