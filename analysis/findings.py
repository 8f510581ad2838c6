"""Findings as files, and in the form of JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..models.base import InputError, Instance, make_folder, write_whole
from .claim import Claim, Context, Figure, Finding, Table, Verdict

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""What a problem, a claim and a figure may be called: these names become file names."""

TEXTS = ("assumes", "proof", "remark")
"""The paragraphs of a finding."""

ReadInstance = Callable[[Mapping[str, Any]], Instance]
"""Returns the instance of the JSON object of its file."""


def check_id(claim: Claim) -> None:
    """Refuse an id that cannot name files.

    Raises
    ------
    InputError
        Naming the id.
    """
    if not re.fullmatch(f"{NAME}/{NAME}", claim.id):
        raise InputError(f"claim: {claim.id!r} is not of the form problem/name")


def command(claim: Claim, context: Context) -> str:
    """Return the command that regenerates the results of a claim."""
    mode = {"quick": " --quick", "default": "", "full": " --full"}[context.mode]
    seed = f" --seed {context.seed}" if context.seed else ""
    return f"clairvoyant audit --claim {claim.id}{mode}{seed}"


def figure_file(figure: Figure) -> Path:
    """Return where the file of a figure lies in the folder of the audit."""
    return Path("figures", f"{figure.name}.svg")


def counterexample_file(claim: Claim) -> Path:
    """Return where the file of a counterexample lies in the folder of the audit."""
    return Path("counterexamples", f"{claim.id}.json")


def to_dict(finding: Finding) -> dict[str, Any]:
    """Return the finding in the form of JSON, from which :func:`from_dict` makes it again.

    Raises
    ------
    TypeError
        If a number or a cell of a table is no text, number, truth value or None.
    """
    return {
        "verdict": finding.verdict.value,
        "headline": finding.headline,
        **{name: getattr(finding, name) for name in TEXTS},
        "numbers": {name: _plain(value) for name, value in finding.numbers.items()},
        "tables": [
            {
                "title": table.title,
                "columns": list(table.columns),
                "rows": [[_plain(cell) for cell in row] for row in table.rows],
            }
            for table in finding.tables
        ],
        "figures": [vars(figure) for figure in finding.figures],
        "counterexample": None if finding.counterexample is None else finding.counterexample.to_dict(),
        "small": finding.small,
    }


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, (str, int, float)):
        raise TypeError(f"{value!r} is no text, number, truth value or None")
    return plain


def from_dict(data: Mapping[str, Any], read: ReadInstance) -> Finding:
    """Make a finding from what :func:`to_dict` returned; ``read`` makes its counterexample."""
    tables = (
        Table(table["title"], tuple(table["columns"]), tuple(map(tuple, table["rows"])))
        for table in data["tables"]
    )
    example = data["counterexample"]
    return Finding(
        Verdict(data["verdict"]),
        data["headline"],
        dict(data["numbers"]),
        tuple(tables),
        tuple(Figure(**figure) for figure in data["figures"]),
        None if example is None else read(example),
        data["small"],
        **{name: data[name] for name in TEXTS},
    )


def write_files(out: Path, claim: Claim, finding: Finding, context: Context) -> None:
    """Write a finding, its figures and its counterexample into the folder of the audit.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
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
    data = to_dict(finding)
    data["figures"] = [
        {"name": figure.name, "caption": figure.caption, "file": figure_file(figure).as_posix()}
        for figure in finding.figures
    ]
    data["counterexample"] = None if finding.counterexample is None else counterexample_file(claim).as_posix()
    return {
        "claim": claim.id,
        "where": claim.where,
        "says": claim.says,
        "how": claim.how,
        "ours": claim.ours,
        "choices": list(claim.choices),
        "expected": claim.expected.value,
        "mode": context.mode,
        "seed": context.seed,
        "command": command(claim, context),
        **data,
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
