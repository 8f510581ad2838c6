"""``clairvoyant import`` and ``clairvoyant formats``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from . import output as out
from . import rendering
from .parts import DONE, FILE, Command, as_json, chosen_options, completes, format_names, problem_names


@click.command(
    "import",
    cls=Command,
    short_help="Make an instance from a table of your own, or from published traces.",
    example="import jobs.csv --machines machines.csv --map submit=begin,duration=took:min --out jobs.json.gz",
)
@click.argument("table", type=FILE)
@click.option("--machines", type=FILE, help="Table of the machines, or of kinds with a count.")
@click.option("--ports", type=FILE, help="Table of the ports (types of service), where requests are rows.")
@click.option("--edges", type=FILE, help="Table of the pairs of a port and a server that it may use.")
@click.option("--slot", help="Length of a slot, where requests have times: seconds, or 5min.")
@click.option("--problem", shell_complete=completes(problem_names), default="placement", show_default=True)
@click.option(
    "--format",
    "published",
    metavar="NAME",
    shell_complete=completes(format_names),
    help="A published format; see `clairvoyant formats`. TABLE is then its file or folder.",
)
@click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN[:UNIT]",
    help="Which column is which, or a number for all rows; those of further tables are machines.FIELD, "
    "ports.FIELD or edges.FIELD.",
)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Any other option, by name.")
@click.option("--out", "target", type=FILE, required=True, help="File to write; gzipped if it ends in .gz.")
@as_json
def import_table(
    table: Path,
    problem: str,
    published: str | None,
    columns: Sequence[str],
    options: Sequence[str],
    target: Path,
    as_json: bool,
    **named: Any,
) -> int:
    """Make an instance from a TABLE of jobs or requests, CSV or Parquet, and write it to a file.

    Columns are found by usual names, in any case and spelling: submit, arrival time, Run Time (min),
    num_gpus, ... Times are in seconds unless the name of a column or --map states another unit; time stamps
    are read as such. What was read from where, and what was filled in, is stored in the file and printed.
    """
    from .. import api

    out.check_writable(target, read=[table, *(one for one in named.values() if isinstance(one, Path))])
    chosen = chosen_options(named, options, {"table", "columns", "format"})
    instance = api.from_table(problem, table, columns=_mapped(columns), format=published, **chosen)
    instance.save(target)
    described = rendering.instance_facts(target, instance)
    if as_json:
        out.print_json(described)
        return DONE
    out.line(f"written to {target}")
    out.line()
    rendering.print_instance(described)
    return DONE


def _mapped(columns: Sequence[str]) -> dict[str, str]:
    """Return which column is which, from texts such as ``submit=begin,duration=took:min``."""
    from ..models.base import InputError

    named: dict[str, str] = {}
    for text in [part for one in columns for part in re.split(r",(?=[\w.]+=)", one)]:
        field, equals, column = text.partition("=")
        if not (field and equals and column):
            raise InputError(f"--map: {text!r} is not FIELD=COLUMN")
        if field in named:
            raise InputError(f"--map: {field} is given twice")
        named[field] = column
    return named


@click.command(cls=Command, short_help="List the published formats.", example="formats")
@as_json
def formats(as_json: bool) -> int:
    """List the published formats that `import --format` reads: what each is, and what is read of it."""
    from ..models.formats import FORMATS
    from ..problems import problems

    rows: list[dict[str, Any]] = [
        {
            "format": name,
            "problems": [key for key, one in problems().items() if name in one.formats],
            "about": one.about,
            "published by": one.where,
            "files": [
                {"file": file.file, "columns": file.columns, "terms": file.terms} for file in one.files
            ],
            "filled": one.filled,
        }
        for name, one in FORMATS.items()
    ]
    if as_json:
        out.print_json({"formats": rows})
        return DONE
    for (name, one), row in zip(FORMATS.items(), rows, strict=True):
        out.heading(name)
        read = [f"{file.file or 'a file'} ({file.terms}): {', '.join(file.columns)}" for file in one.files]
        out.print_pairs(
            {
                "what": one.about,
                "published": one.where,
                "read": read,
                "filled in": one.filled,
                "problems": ", ".join(row["problems"]),
            }
        )
        out.line()
    return DONE
