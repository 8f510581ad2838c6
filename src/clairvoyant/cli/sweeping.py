"""``clairvoyant sweep`` and ``clairvoyant store``."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import output as out
from .parts import DONE, FAILED, FILE, Choice, Command, as_json, stopped, store_file

if TYPE_CHECKING:
    from ..sweeping import Forecast, Plan

UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
MOST_SHOWN = 10
"""How many cells that failed are told one by one."""

STATES = {"failed": "failed", "timed-out": "timed out"}
"""How the command line calls what a cell ended as, and what the store calls it."""

table_file = click.option("--out", "table", type=FILE, help="File for the table: .csv or .parquet.")


class Size(click.ParamType[int]):
    """A number of bytes, or one with K, M, G or T after it."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)(?:i?b)?", value.strip().lower())
        if found is None:
            self.fail(f"{value!r} is not a size such as 500M or 2G", param, ctx)
        return int(float(found[1]) * UNITS[found[2]])


@click.command(
    cls=Command,
    short_help="Run policies and oracles on many instances, by a plan.",
    example="sweep plan.toml --workers 2 --out table.csv",
)
@click.argument("file", type=FILE, metavar="PLAN")
@store_file
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default one per core.")
@click.option("--dask", metavar="ADDRESS", help="A Dask cluster, in place of processes; or local:N workers.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option(
    "--retry", type=Choice([*STATES]), multiple=True, help="Compute anew what has failed or timed out."
)
@click.option(
    "--store-size",
    type=Size(),
    envvar="CLAIRVOYANT_STORE_SIZE",
    help="Drop in the end what was not used for longest, until the store is no larger (500M, 2G).",
)
@table_file
@as_json
def sweep(
    file: Path,
    store: Path | None,
    workers: int | None,
    dask: str | None,
    dry_run: bool,
    retry: Sequence[str],
    store_size: int | None,
    table: Path | None,
    as_json: bool,
) -> int:
    """Run policies and oracles on many instances, as the PLAN says, a TOML file.

    docs/sweeps.md describes plans. What the store holds is not computed again: an interrupted sweep goes on
    where it stopped, and one whose plan was extended does what is new. The exit status is 1 if a cell failed
    or timed out.
    """
    from .. import sweeping, tables
    from ..analysis.engine.engine import Interrupted

    if dask is not None and workers is not None:
        raise click.UsageError("--workers and --dask exclude each other; a local cluster is --dask local:N")
    plan = sweeping.Plan.read(file)
    kept = store or sweeping.default_store()
    if dry_run:
        return _forecast(
            sweeping.forecast(plan, kept, [STATES[state] for state in retry]),
            kept,
            workers or _local(dask) or os.cpu_count() or 1,
            as_json,
        )
    if table is not None:
        tables.check_table(table)
        out.check_writable(table, read=[file, kept])
    with out.progress("sweep") as report:
        try:
            with ExitStack() as stack:
                executor = None if dask is None else stack.enter_context(_cluster(dask, plan))
                frame = sweeping.sweep(
                    plan,
                    store=kept,
                    workers=workers,
                    executor=executor,
                    retry=[STATES[state] for state in retry],
                    store_size=store_size,
                    progress=report,
                )
        except Interrupted as error:
            return stopped(f": {error}", as_json, saved=error.saved, total=error.total)
    if table is not None:
        tables.write_table(frame, table)
    states = dict(Counter(frame["state"]))
    failures = [_failure(row) for row in frame[frame["state"] != "done"].to_dict("records")]
    described = {"store": str(kept), "states": states, **tables.summary(frame), "failures": failures}
    if as_json:
        out.print_json(described)
    else:
        _print_sweep(described)
    return FAILED if failures else DONE


def _failure(row: dict[str, Any]) -> dict[str, Any]:
    """Return what became of a cell; of a traceback, the reason is what was raised."""
    from ..analysis.engine.cells import raised

    who = next((row[name] for name in ("policy", "oracle") if isinstance(row[name], str)), "making it")
    return {"cell": who, "instance": row["instance"], "state": row["state"], "why": raised(row["error"])}


def _print_sweep(described: dict[str, Any]) -> None:
    """Print one row per problem and policy, one per oracle, what went wrong, and where results are."""
    if described["policies"]:
        rows = [_scores(row) for row in described["policies"]]
        out.print_table(
            [
                "policy",
                "problem",
                ">cells",
                ">mean total",
                "compared",
                ">mean",
                ">instances",
                ">s / decision",
            ],
            rows,
        )
        out.line()
    if described["oracles"]:
        rows = [
            [
                row["oracle"],
                row["problem"],
                out.number(row["cells"]),
                _with_unit(row["value"], row["unit"]),
                "none" if row["gap"] is None else f"{row['gap']:.1e}",
                f"{row['seconds']:.3g}",
            ]
            for row in described["oracles"]
        ]
        out.print_table(["oracle", "problem", ">cells", ">mean value", ">largest gap", ">mean s"], rows)
        out.line()
    for row in described["policies"]:
        if row["infeasible"]:
            broken = f"{row['infeasible']:,} decisions were infeasible"
            out.line(f"{row['policy']}: {broken}; such runs are not compared")
    for row in [*described["policies"], *described["oracles"]]:
        if row["failed"]:
            who, of = row.get("policy", row.get("oracle")), row["cells"] + row["failed"]
            out.line(
                f"{who}: {row['failed']:,} of {of:,} cells failed or timed out; its means are of the others"
            )
    failures = described["failures"]
    if failures:
        for row in failures[:MOST_SHOWN]:
            out.line(f"{row['state']}: {row['cell']} on {row['instance']}: {row['why']}")
        if len(failures) > MOST_SHOWN:
            out.line(f"and {len(failures) - MOST_SHOWN:,} more; --out TABLE.csv lists all")
        out.line("these are kept; --retry failed, or timed-out, computes them anew")
        out.line()
    out.line("cells: " + ", ".join(f"{number:,} {state}" for state, number in described["states"].items()))
    out.line(f"store: {described['store']}")


def _scores(row: dict[str, Any]) -> list[str]:
    share = "total / optimum" if row["minimised"] else "optimum / total"
    compared = {"ratio": share, "regret": "regret", None: ""}[row["measure"]]
    return [
        row["policy"],
        row["problem"],
        out.number(row["cells"]),
        _with_unit(row["total"], row["unit"]),
        compared,
        "" if row["measure"] is None else out.interval(row["low"], row["high"]),
        out.number(row["instances"]) if row["measure"] else "",
        f"{row['seconds']:.2g}",
    ]


def _with_unit(value: float, unit: str) -> str:
    return out.number(value) + (f" {unit}" if unit else "")


def _cluster(address: str, plan: Plan) -> Any:
    """Return the Dask cluster at an address, or one of N processes for ``local:N``."""
    from ..analysis.engine.cluster import Cluster

    count = _local(address)
    return Cluster(address, plan.limits) if count is None else Cluster.local(count, plan.limits)


def _local(address: str | None) -> int | None:
    """Return the N of ``local:N``; None for another address."""
    where, _, count = (address or "").partition(":")
    if where != "local":
        return None
    if not count.isdecimal() or int(count) < 1:
        raise click.UsageError(f"--dask {address}: local:N needs a number of processes")
    return int(count)


def _forecast(found: Forecast, store: Path, workers: int, as_json: bool) -> int:
    from ..analysis.engine.engine import duration
    from ..models.base import things

    if as_json:
        out.print_json({"store": str(store), "workers": workers, "forecast": found})
        return DONE
    todo = found.cells - found.done - found.failed
    out.line(f"{found.cells:,} {things(found.cells, 'cells')} on {found.instances:,} instances")
    out.line(f"{found.done:,} are done, {found.failed:,} have failed or timed out, {todo:,} are to do")
    if found.unmade:
        out.line(f"{found.unmade:,} instances have yet to be made; of their cells some may be known then")
    if todo:
        told = f"about {duration(found.seconds / workers)}" if found.unknown < todo else "none is measured"
        more = f", and {found.unknown:,} cells of which none was measured" if 0 < found.unknown < todo else ""
        out.line(f"time with {workers} {things(workers, 'workers')}: {told}{more}")
    out.line(f"store: {store}")
    return DONE


@click.command(
    cls=Command,
    short_help="Look at the results that are kept, or empty the store.",
    example="store --shrink 500M",
)
@store_file
@click.option(
    "--shrink", type=Size(), help="Drop what was not used for longest, down to this size (500M, 2G)."
)
@click.option("--forget", type=Choice([*STATES, "all"]), help="Drop what has failed, timed out, or all.")
@table_file
@click.option(
    "--versions",
    type=Choice(["newest", "all"]),
    default="newest",
    show_default=True,
    help="What the table holds of cells that were computed by several versions of the source.",
)
@as_json
def store(
    store: Path | None,
    shrink: int | None,
    forget: str | None,
    table: Path | None,
    versions: str,
    as_json: bool,
) -> int:
    """Print how much a store of results holds, drop some of it, or write it as a table."""
    from .. import sweeping, tables
    from ..analysis.engine.store import open_store, place_of, read_rows, size_of

    path = store or sweeping.default_store()
    if table is not None:
        tables.check_table(table)
        out.check_writable(table, read=[path])
    rows = read_rows(path)  # refuses a file that is not there
    before = len(rows)
    if shrink is not None or forget is not None:
        with open_store(path) as kept:
            state = STATES.get(forget or "")
            kept.forget([row["key"] for row in rows if forget == "all" or row["state"] == state])
            if shrink is not None:
                kept.shrink(shrink)
            rows = [*kept.rows()]
    if table is not None:
        tables.write_table(sweeping.results(path, versions=versions), table)
    place = place_of(path) or path
    kinds: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        kinds.setdefault(_kind(row), []).append(row["seconds"])
    described = {
        "store": str(place),
        "file_bytes": place.stat().st_size,
        "bytes": sum(map(size_of, rows)),
        "cells": len(rows),
        "dropped": before - len(rows),
        "states": dict(Counter(row["state"] for row in rows)),
        "kinds": [
            {"kind": kind, "problem": problem, "cells": len(seconds), "seconds": sum(seconds)}
            for (kind, problem), seconds in sorted(kinds.items())
        ],
    }
    if as_json:
        out.print_json(described)
    else:
        _print_store(described)
    return DONE


def _kind(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a cell does, and for which problem."""
    arguments = row["arguments"]
    problem = arguments.get("recipe", arguments).get("problem", "")
    return row["function"].rpartition(":")[2], str(problem)


def _print_store(described: Mapping[str, Any]) -> None:
    """Print one row per kind of cell and problem, then what there is in all."""
    from ..analysis.engine.engine import duration

    rows = [
        [row["kind"], row["problem"], out.number(row["cells"]), duration(row["seconds"])]
        for row in described["kinds"]
    ]
    if rows:
        out.print_table(["kind", "problem", ">cells", ">took"], rows)
        out.line()
    states = ", ".join(f"{number:,} {state}" for state, number in described["states"].items())
    dropped = f", {described['dropped']:,} dropped" if described["dropped"] else ""
    out.line(f"cells: {states or 'none'}{dropped}")
    out.line(
        f"size: {described['bytes'] / 2**20:.3g} MiB, in a file of {described['file_bytes'] / 2**20:.3g} MiB"
    )
    out.line(f"store: {described['store']}")
