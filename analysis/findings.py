"""Findings as files: what an audit leaves behind, and what an interrupted one goes on from."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..models.base import InputError, Instance, make_folder, regular, remove_parts, write_whole
from .claim import Claim, Context, Figure, Finding, Table, Verdict

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""What a problem, a claim and a figure may be called: these names become file names."""


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
        "summary": finding.summary,
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
        data["summary"],
        dict(data["numbers"]),
        tuple(tables),
        tuple(Figure(**figure) for figure in data["figures"]),
        None if example is None else read(example),
        data["small"],
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


class Partial:
    """The findings of an audit that is not complete yet, in one SQLite file.

    Findings saved under another key (mode, seed, version, source) are dropped: they may be out of date.

    Parameters
    ----------
    path
        The file; it is made unless it is there.
    key
        What the findings depend on.

    Raises
    ------
    InputError
        If the file cannot be written, is something else, or belongs to an audit that runs now.
    """

    def __init__(self, path: Path, key: Mapping[str, Any]) -> None:
        self.path = path
        text = json.dumps(key, sort_keys=True)
        if path.exists():
            regular(path)
        try:
            with ExitStack() as opened:
                self._file = sqlite3.connect(path, timeout=0.5, isolation_level=None)
                opened.callback(self._file.close)
                self._file.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._file.execute("BEGIN EXCLUSIVE")
                self._file.execute(
                    "CREATE TABLE IF NOT EXISTS finding (key TEXT, claim TEXT PRIMARY KEY, data TEXT)"
                )
                self._file.execute("DELETE FROM finding WHERE key != ?", (text,))
                self._file.execute("COMMIT")
                opened.pop_all()
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be used: {_reason(error)}") from error
        self._key = text
        below = (path.parent.glob(part) for part in ("figures", "findings/*", "counterexamples/*"))
        for folder in (path.parent, *chain.from_iterable(below)):  # nobody else writes there now
            remove_parts(folder)

    def load(self, read: ReadInstance) -> dict[str, Finding]:
        """Return the findings saved so far, by claim.

        Raises
        ------
        InputError
            If the file is damaged.
        """
        try:
            rows = self._file.execute("SELECT claim, data FROM finding")
            return {claim: from_dict(json.loads(data), read) for claim, data in rows}
        except (sqlite3.Error, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{self.path}: it is damaged ({error}); delete it") from error

    def add(self, claim: Claim, finding: Finding) -> None:
        """Save a finding."""
        row = (self._key, claim.id, json.dumps(to_dict(finding)))
        self._file.execute("INSERT OR REPLACE INTO finding VALUES (?, ?, ?)", row)

    def close(self) -> None:
        """Leave the file for the next audit."""
        self._file.close()

    def remove(self) -> None:
        """Delete the file: the audit is complete."""
        self._file.close()
        self.path.unlink()


def _reason(error: sqlite3.Error) -> str:
    if "locked" in str(error):
        return "another audit is writing into this folder"
    if "not a database" in str(error):
        return "it was not written by an audit; delete it"
    return str(error)
