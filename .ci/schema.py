"""Write docs/schema/*.json and the tables of fields in docs/instance-files.md from what instances declare.

``tests/front/test_schema_files.py`` says when this has to run again: ``python .ci/schema.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clairvoyant.models.base import ORIGIN
from clairvoyant.models.fields import Field, Record, look
from clairvoyant.problems import OURS

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "schema"
PAGE = ROOT / "docs" / "instance-files.md"
TABLE = re.compile(r"(<!-- fields: (\S+) -->\n).*?(<!-- end of fields -->\n)", re.DOTALL)
DECLARED = {problem.name: problem.part("instance") for problem in OURS}


def schemas() -> dict[Path, str]:
    """Return the text of every schema by its path."""
    return {
        FOLDER / f"{name}.json": json.dumps(kind.schema(), indent=2) + "\n" for name, kind in DECLARED.items()
    }


def rows(fields: tuple[Field, ...], within: str = "") -> Iterator[str]:
    """Yield the rows of a table, those of an object's fields after its own if it may be left out."""
    for one in fields:
        told = [look(one.kind), *(["optional"] if one.optional else [])]
        yield f"| `{within}{one.name}` | {', '.join(told)} | {one.meaning} |"
        if isinstance(one.kind, Record):
            yield from rows(one.kind.fields, f"{within}{one.name}.")


def table(name: str) -> str:
    """Return the table of a problem, of the records in one of its lists, or of what all problems have."""
    problem, _, field = name.partition(".")
    fields: tuple[Field, ...] = (ORIGIN,)
    if problem in DECLARED:
        declared: dict[str, Any] = {one.name: one for one in DECLARED[problem].declared.fields}
        base = DECLARED[problem.removesuffix("-gang")].declared.fields if problem.endswith("-gang") else ()
        fields = tuple(one for one in declared.values() if one is not ORIGIN and one not in base)
        fields = declared[field].kind.record.fields if field else fields
    return "\n".join(["| field | value | meaning |", "|---|---|---|", *rows(fields), ""])


def page(text: str) -> str:
    """Return the page with its tables as they are declared."""
    return TABLE.sub(lambda found: found[1] + table(found[2]) + found[3], text)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in schemas().items():
        path.write_text(text, encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
