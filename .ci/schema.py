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
from clairvoyant.models.fields import Choice, Field, Kind, List, Number, Record, Text
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


def amounts(kind: Number) -> Iterator[str]:
    """Yield what numbers there may be."""
    if kind.integer:
        yield "whole"
    high = kind.high if isinstance(kind.high, str) else f"{kind.high:.12g}".replace("e+", "e")
    if kind.least:
        yield f"0 or {kind.least:g} to {high}"
    elif high == "inf" or kind.above:
        yield f"{'>' if kind.above else '>='} {kind.low:g}" + ("" if high == "inf" else f", at most {high}")
    else:
        yield f"{kind.low:g} to {high}"
    if kind.unit:
        yield f"at most {len(str(kind.unit)) - 1} decimals"


def shape(kind: Kind) -> str:
    """Return what a value looks like."""
    axes = "".join(f"[{n}]" for n in getattr(kind, "axes", ()))
    if isinstance(kind, Number):
        return ", ".join([axes, *amounts(kind)] if axes else amounts(kind))
    if isinstance(kind, Choice):
        *first, last = (f"`{name}`" for name in kind.names)
        return (f"{axes}, " if axes else "") + f"{', '.join(first)} or {last}"
    if isinstance(kind, Text):
        one = "names, none twice" if kind.names else "texts"
        return (f"[{kind.axis}], {one}" if kind.axis else f"list of {one}") if kind.listed else "text"
    if isinstance(kind, List):
        return "list of objects" + (", at least one" if kind.some else "")
    schema = kind.schema()
    types = schema["items"]["type"] if schema["type"] == "array" else schema["type"]
    return ("list, each " if schema["type"] == "array" else "") + " or ".join(types)


def rows(fields: tuple[Field, ...], within: str = "") -> Iterator[str]:
    """Yield the rows of a table, those of an object's fields after its own if it may be left out."""
    for one in fields:
        nested = isinstance(one.kind, Record)
        told = [*filter(None, ["object" if nested else shape(one.kind), "optional" if one.optional else ""])]
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
