"""``clairvoyant import``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from . import output as out
from . import rendering
from .parts import DONE, FILE, Command, as_json, chosen_options, completes, problem_names


@click.command(
    "import",
    cls=Command,
    short_help="Make an instance from a table of your own.",
    example="import jobs.csv --machines machines.csv --map submit=begin,duration=took:min --out jobs.json.gz",
)
@click.argument("table", type=FILE)
@click.option("--machines", type=FILE, required=True, help="Table of the machines, or of kinds with a count.")
@click.option("--problem", shell_complete=completes(problem_names), default="placement", show_default=True)
@click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN[:UNIT]",
    help="Which column is which; those of the machines are machines.FIELD.",
)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Any other option, by name.")
@click.option("--out", "target", type=FILE, required=True, help="File to write; gzipped if it ends in .gz.")
@as_json
def import_table(
    table: Path,
    machines: Path,
    problem: str,
    columns: Sequence[str],
    options: Sequence[str],
    target: Path,
    as_json: bool,
) -> int:
    """Make an instance from a TABLE of jobs, CSV or Parquet, and write it to a file.

    Columns are found by usual names, in any case and spelling: submit, arrival time, Run Time (min),
    num_gpus, ... Times are in seconds unless the name of a column or --map states another unit; time stamps
    are read as such. What was read from where, and what was filled in, is stored in the file and printed.
    """
    from .. import api
    from ..models.base import InputError

    out.check_writable(target)
    if target.exists() and any(one.exists() and target.samefile(one) for one in (table, machines)):
        raise InputError(f"{target}: is a table that is read")
    named: dict[str, str] = {}
    for text in [part for one in columns for part in re.split(r",(?=[\w.]+=)", one)]:
        field, equals, column = text.partition("=")
        if not (field and equals and column):
            raise InputError(f"--map: {text!r} is not FIELD=COLUMN")
        if field in named:
            raise InputError(f"--map: {field} is given twice")
        named[field] = column
    taken = {"table", "machines", "columns"}
    instance = api.from_table(
        problem, table, machines=machines, columns=named, **chosen_options({}, options, taken)
    )
    instance.save(target)
    described = rendering.instance_facts(target, instance)
    if as_json:
        out.print_json(described)
        return DONE
    out.line(f"written to {target}")
    out.line()
    rendering.print_instance(described)
    return DONE
