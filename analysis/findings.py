"""Findings as files, and in the form of JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from ..models.base import InputError, Instance, make_folder, write_whole
from .claim import Claim, Context, Figure, Finding, Table, Verdict, in_words

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""What a problem, a claim and a figure may be called: these names become file names."""

TEXTS = ("assumes", "proof", "remark")  # the paragraphs of a finding
ReadInstance = Callable[[Mapping[str, Any]], Instance]  # returns the instance of the JSON object of its file


def check_id(claim: Claim) -> None:
    """Refuse an id that cannot name files."""
    if not re.fullmatch(f"{NAME}/{NAME}", claim.id):
        raise InputError(f"claim: {claim.id!r} is not of the form problem/name")
    if claim.problem.lower() == "index":
        raise InputError(f"claim: {claim.id!r}: its page would be the first page of the report")


def command(claim: Claim | None, context: Context, chosen: str = "") -> str:
    """Return the command that regenerates the results of a claim, or of all that the options have chosen."""
    asked = f" --claim {claim.id}" if claim else chosen
    mode = {"quick": " --quick", "default": "", "full": " --full"}[context.mode]
    seed = f" --seed {context.seed}" if context.seed else ""
    return f"clairvoyant audit{asked}{mode}{seed}"


def figure_file(figure: Figure) -> str:
    """Return where the file of a figure lies in the folder of the audit."""
    return f"figures/{figure.name}.svg"


def counterexample_file(claim: Claim) -> str:
    """Return where the file of a counterexample lies in the folder of the audit."""
    return f"counterexamples/{claim.id}.json"


def to_dict(finding: Finding) -> dict[str, Any]:
    """Return the finding in the form of JSON, from which :func:`from_dict` makes it again.

    A TypeError says that a number or a cell of a table is no text, number, truth value or None.
    """
    told = {name: getattr(finding, name) for name in ("verdict", "headline", *TEXTS)} | vars(finding)
    return told | {
        "verdict": finding.verdict.value,
        "numbers": {name: _plain(value) for name, value in finding.numbers.items()},
        "tables": [
            vars(one) | {"columns": list(one.columns), "rows": [[*map(_plain, row)] for row in one.rows]}
            for one in finding.tables
        ],
        "figures": [vars(figure) for figure in finding.figures],
        "counterexample": None if finding.counterexample is None else finding.counterexample.to_dict(),
        "signs": {says: dict(by_reading) for says, by_reading in finding.signs.items()},
        "optima": dict(finding.optima),
    }


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, (str, int, float)):
        raise TypeError(f"{value!r} is no text, number, truth value or None")
    return plain


def from_dict(data: Mapping[str, Any], read: ReadInstance) -> Finding:
    """Make a finding from what :func:`to_dict` returned; ``read`` makes its counterexample."""
    tables, example = data["tables"], data["counterexample"]
    made = {
        "verdict": Verdict(data["verdict"]),
        "tables": tuple(Table(t["title"], tuple(t["columns"]), tuple(map(tuple, t["rows"]))) for t in tables),
        "figures": tuple(Figure(**figure) for figure in data["figures"]),
        "counterexample": None if example is None else read(example),
    }
    return Finding(**{field.name: data[field.name] for field in fields(Finding)} | made)


def write_files(out: Path, claim: Claim, finding: Finding, context: Context) -> None:
    """Write a finding, its figures and its counterexample into the folder of the audit."""
    for figure in finding.figures:
        _write(out / figure_file(figure), figure.svg + "\n")
    example = out / counterexample_file(claim)
    if finding.counterexample is None:
        example.unlink(missing_ok=True)  # one of an earlier audit
    else:
        make_folder(example.parent)
        finding.counterexample.save(example)
    text = json.dumps(_json(_described(claim, finding, context)), indent=1, ensure_ascii=False)
    _write(out / "findings" / f"{claim.id}.json", text + "\n")


def _described(claim: Claim, finding: Finding, context: Context) -> dict[str, Any]:
    """Return what stands in the file of a finding, which names other files instead of holding them."""
    example = None if finding.counterexample is None else counterexample_file(claim)
    figures = [
        {"name": one.name, "caption": one.caption, "file": figure_file(one)} for one in finding.figures
    ]
    return {
        "claim": claim.id,
        **{name: getattr(claim, name) for name in ("where", "says", "how", "ours", "choices")},
        "expected": in_words(*claim.stands(context.mode)),
        "mode": context.mode,
        "seed": context.seed,
        "command": command(claim, context),
        "found": in_words(finding.verdict, finding.why),
        **(to_dict(finding) | {"figures": figures, "counterexample": example}),
    }


def _json(value: Any) -> Any:
    """Return the value with texts for the numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    return value


def _write(path: Path, text: str) -> None:
    make_folder(path.parent)
    write_whole(path, text.encode())
